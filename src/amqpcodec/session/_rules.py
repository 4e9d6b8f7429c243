"""The rule book of a channel: what each method asks for, and what it changes.

One book for both roles. A rule that a method of the caller breaks is a LocalProtocolError; one
that a method of the peer breaks closes channel or connection with the reply code named here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from ._requests import Consumer, Request

if TYPE_CHECKING:
    from ._channel import Channel

__all__ = ["CHECKS", "EFFECTS", "REPLY_CHECKS", "REPLY_EFFECTS", "Fault"]

#: (reply code, what is wrong).
Fault: TypeAlias = tuple[int, str]
Check: TypeAlias = "Callable[[Channel, Any], Fault | None]"
Effect: TypeAlias = "Callable[[Channel, Any, Request | None], None]"
ReplyCheck: TypeAlias = "Callable[[Channel, Request, Any], Fault | None]"
ReplyEffect: TypeAlias = "Callable[[Channel, Request, Any], None]"


def _check_consume(channel: Channel, method: Any) -> Fault | None:
    tag = method.consumer_tag
    known = channel.consumers.get(tag)
    if tag and known is not None and known.active:
        return 530, f"consumer tag {tag!r} is in use on this channel"
    if not tag and not channel.connection.model.expects_reply(method):
        return 503, "a consumer without a name needs the reply that names it"
    return None


def _do_consume(channel: Channel, method: Any, request: Request | None) -> None:
    consumer = Consumer(channel, method.consumer_tag, method.queue, bool(method.no_ack))
    if request is not None:
        request.consumer = consumer
    if consumer.tag:
        # A refusal closes the channel, so that it need not be taken back.
        channel.consumers[consumer.tag] = consumer


def _check_consume_ok(channel: Channel, request: Request, reply: Any) -> Fault | None:
    asked = request.method.consumer_tag
    if asked and reply.consumer_tag != asked:
        return 503, f"consumer {asked!r} was given the name {reply.consumer_tag!r}"
    if not asked and reply.consumer_tag in channel.consumers:
        return 503, f"consumer tag {reply.consumer_tag!r} is in use on this channel"
    return None


def _do_consume_ok(channel: Channel, request: Request, reply: Any) -> None:
    consumer = request.consumer
    if consumer is not None and not consumer.tag:
        consumer.tag = reply.consumer_tag
        channel.consumers[consumer.tag] = consumer


def _do_cancel(channel: Channel, method: Any, request: Request | None) -> None:
    """Of a client: what is under way still comes, until the reply."""
    consumer = channel.consumers.get(method.consumer_tag)
    if consumer is None:
        return
    consumer.active = False
    if request is not None:
        request.consumer = consumer
    if channel.connection.model.expects_reply(method):
        return
    if channel.connection.role == "client":
        channel.leaving.append((channel.made, consumer))
    else:
        del channel.consumers[method.consumer_tag]


def _do_cancel_ok(channel: Channel, request: Request, reply: Any) -> None:
    tag = request.method.consumer_tag
    if request.consumer is not None and channel.consumers.get(tag) is request.consumer:
        del channel.consumers[tag]


def _check_deliver(channel: Channel, method: Any) -> Fault | None:
    if method.consumer_tag not in channel.consumers:
        return 503, f"delivery for {method.consumer_tag!r}, which is no consumer of this channel"
    return _check_tag(channel, method)


def _check_tag(channel: Channel, method: Any) -> Fault | None:
    if method.delivery_tag <= channel.deliveries.last:
        return 503, f"delivery tag {method.delivery_tag} was used before"
    return None


def _do_deliver(channel: Channel, method: Any, request: Request | None) -> None:
    channel.deliveries.last = method.delivery_tag
    if not channel.consumers[method.consumer_tag].no_ack:
        channel.deliveries.waiting.add(method.delivery_tag)


def _check_get_ok(channel: Channel, request: Request, reply: Any) -> Fault | None:
    return _check_tag(channel, reply)


def _do_get_ok(channel: Channel, request: Request, reply: Any) -> None:
    channel.deliveries.last = reply.delivery_tag
    if not request.method.no_ack:
        channel.deliveries.waiting.add(reply.delivery_tag)


def _do_recover(channel: Channel, method: Any, request: Request | None) -> None:
    channel.deliveries.forget()


def _do_recover_ok(channel: Channel, request: Request, reply: Any) -> None:
    # What was on its way when it was asked for went back as well.
    channel.deliveries.forget()


def _check_confirm(channel: Channel, method: Any) -> Fault | None:
    if channel.transactional:
        return 406, "a channel with transactions cannot confirm"
    return None


def _do_confirm(channel: Channel, method: Any, request: Request | None) -> None:
    channel.confirming = True


def _check_tx_select(channel: Channel, method: Any) -> Fault | None:
    if channel.confirming:
        return 406, "a channel with confirms cannot have transactions"
    return None


def _do_tx_select(channel: Channel, method: Any, request: Request | None) -> None:
    channel.transactional = True


def _check_transactional(channel: Channel, method: Any) -> Fault | None:
    if not channel.transactional:
        return 406, "the channel has no transactions"
    return None


def _do_commit(channel: Channel, method: Any, request: Request | None) -> None:
    channel.settled_in_tx.clear()


def _do_rollback(channel: Channel, method: Any, request: Request | None) -> None:
    channel.deliveries.put_back(tuple(channel.settled_in_tx))
    channel.settled_in_tx.clear()


CHECKS: dict[str, Check] = {
    "basic.consume": _check_consume,
    "basic.deliver": _check_deliver,
    "confirm.select": _check_confirm,
    "tx.select": _check_tx_select,
    "tx.commit": _check_transactional,
    "tx.rollback": _check_transactional,
}
EFFECTS: dict[str, Effect] = {
    "basic.consume": _do_consume,
    "basic.cancel": _do_cancel,
    "basic.deliver": _do_deliver,
    "basic.recover": _do_recover,
    "basic.recover-async": _do_recover,
    "confirm.select": _do_confirm,
    "tx.select": _do_tx_select,
    "tx.commit": _do_commit,
    "tx.rollback": _do_rollback,
}
REPLY_CHECKS: dict[str, ReplyCheck] = {
    "basic.consume-ok": _check_consume_ok,
    "basic.get-ok": _check_get_ok,
}
REPLY_EFFECTS: dict[str, ReplyEffect] = {
    "basic.consume-ok": _do_consume_ok,
    "basic.cancel-ok": _do_cancel_ok,
    "basic.get-ok": _do_get_ok,
    "basic.recover-ok": _do_recover_ok,
}
