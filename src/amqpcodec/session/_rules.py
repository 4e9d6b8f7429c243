"""The rule book of a channel: what each method asks for, and what it changes.

One book for both roles. A rule that a method of the caller breaks is a LocalProtocolError; one
that a method of the peer breaks closes channel or connection with the reply code named here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast, overload

from . import _codes
from ._channel import Consumer, Request, State
from ._faults import ConnectionException
from ._tags import TransactionalDeliveries

__all__ = [
    "CHECKS",
    "EFFECTS",
    "REPLY_CHECKS",
    "REPLY_EFFECTS",
    "Fault",
    "take_delivery",
]

#: What a method asks for is checked once its frames are made, and changed once they are queued. A
#: delivery is noted with its check: nothing can refuse it afterwards.
#: (reply code, what is wrong).
Fault: TypeAlias = tuple[int, str]
Check: TypeAlias = "Callable[[State, Any], Fault | None]"
Effect: TypeAlias = "Callable[[State, Any, Request | None], object]"
ReplyCheck: TypeAlias = "Callable[[State, Request, Any], Fault | None]"
ReplyEffect: TypeAlias = "Callable[[State, Request, Any], None]"


def _asked(request: Request) -> Any:
    """The method of a request, of the class that its rule is for."""
    return request.method


def _check_consume(channel: State, method: Any) -> Fault | None:
    tag = method.consumer_tag
    consumer = channel.consumers.get(tag)
    if tag and consumer is not None and consumer.active:
        return _codes.CONSUMER_TAG_IN_USE, f"attempt to reuse consumer tag {tag!r}"
    if not tag and not channel.connection.model.expects_reply(method):
        return _codes.OUT_OF_TURN, "a consumer without a name needs the reply that names it"
    return None


def _do_consume(channel: State, method: Any, request: Request | None) -> None:
    consumer = Consumer(channel.channel, method.consumer_tag, method.queue, bool(method.no_ack))
    if request is not None:
        request.consumer = consumer
    if consumer.tag:
        # A refusal closes the channel, so that it need not be taken back.
        channel.consumers[consumer.tag] = consumer


def _check_consume_ok(channel: State, request: Request, reply: Any) -> Fault | None:
    requested_tag = _asked(request).consumer_tag
    if requested_tag and reply.consumer_tag != requested_tag:
        return (
            _codes.OUT_OF_TURN,
            f"consumer {requested_tag!r} was given the name {reply.consumer_tag!r}",
        )
    if not requested_tag and reply.consumer_tag in channel.consumers:
        text = f"consumer tag {reply.consumer_tag!r} is in use on this channel"
        return _codes.OUT_OF_TURN, text
    return None


def _do_consume_ok(channel: State, request: Request, reply: Any) -> None:
    consumer = request.consumer
    if consumer is not None and not consumer.tag:
        consumer.tag = reply.consumer_tag
        channel.consumers[consumer.tag] = consumer


def _do_cancel(channel: State, method: Any, request: Request | None) -> None:
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
        channel.leaving.append((channel.requests_made, consumer, False))
    else:
        del channel.consumers[method.consumer_tag]


def _do_cancel_ok(channel: State, request: Request, reply: Any) -> None:
    tag = _asked(request).consumer_tag
    if request.consumer is not None and channel.consumers.get(tag) is request.consumer:
        del channel.consumers[tag]


@overload
def take_delivery(channel: State, method: Any) -> Consumer: ...


@overload
def take_delivery(channel: State, method: Any, no_ack: bool) -> None: ...


def take_delivery(channel: State, method: Any, no_ack: bool | None = None) -> Consumer | None:
    """Note a basic.deliver, or with no_ack a basic.get-ok, that is sent or received.

    Returns:
        the consumer of basic.deliver.

    Raises:
        ConnectionException: it is for no consumer, or its tag was used before; no state changes.
    """
    consumer = None
    if no_ack is None:
        consumer = channel.consumers.get(method.consumer_tag)
        if consumer is None:
            text = f"delivery for {method.consumer_tag!r}, which is no consumer of this channel"
            raise ConnectionException(_codes.UNKNOWN_CONSUMER, text, method, channel.number)
        no_ack = consumer.no_ack
    deliveries = channel.deliveries
    tag = method.delivery_tag
    # Nothing names later what needs no acknowledgement. RabbitMQ gives each reply of direct
    # reply-to the tag of the delivery that comes next.
    if tag <= deliveries.last and not no_ack:
        text = f"delivery tag {tag} was used before"
        raise ConnectionException(_codes.TAG_USED_BEFORE, text, method, channel.number)
    if not no_ack:
        deliveries.last = tag
        deliveries.waiting.add(tag)
    if tag > channel.last_delivery:
        channel.last_delivery = tag
    return consumer


def _take_deliver(channel: State, method: Any) -> Fault | None:
    try:
        take_delivery(channel, method)
    except ConnectionException as fault:
        return fault.reply_code, fault.text
    return None


def _take_get_ok(channel: State, request: Request, reply: Any) -> Fault | None:
    try:
        take_delivery(channel, reply, bool(_asked(request).no_ack))
    except ConnectionException as fault:
        return fault.reply_code, fault.text
    return None


def _check_recover(channel: State, method: Any) -> Fault | None:
    # Spec: 0-8 and 0-9, basic.recover: "only allowed on non-transacted channels". 0-9-1 has not
    # this rule, and a recover that is answered.
    if channel.transactional and not channel.connection.model.has_recover_ok:
        return _codes.MODE_CONFLICT, "a channel with transactions does not recover"
    return None


def _do_recover(channel: State, method: Any, request: Request | None) -> None:
    channel.deliveries.forget()
    if channel.connection.model.expects_reply(method):
        channel.recovering.append(channel.deliveries.last)


def _do_recover_ok(channel: State, request: Request, reply: Any) -> None:
    # What was on its way when it was asked for went back as well; what a rollback gave back since
    # did not.
    channel.deliveries.forget(channel.recovering.popleft())


def _check_confirm(channel: State, method: Any) -> Fault | None:
    if channel.transactional:
        return _codes.MODE_CONFLICT, "cannot switch from tx to confirm mode"
    return None


def _do_confirm(channel: State, method: Any, request: Request | None) -> None:
    channel.confirming = True


def _check_tx_select(channel: State, method: Any) -> Fault | None:
    if channel.confirming:
        return _codes.MODE_CONFLICT, "cannot switch from confirm to tx mode"
    return None


def _do_tx_select(channel: State, method: Any, request: Request | None) -> None:
    channel.transactional = True
    channel.deliveries = channel.deliveries.transactional()


def _check_transactional(channel: State, method: Any) -> Fault | None:
    if not channel.transactional:
        return _codes.NO_TRANSACTION, "channel is not transactional"
    return None


def _do_commit(channel: State, method: Any, request: Request | None) -> None:
    cast("TransactionalDeliveries", channel.deliveries).commit()


def _do_rollback(channel: State, method: Any, request: Request | None) -> None:
    cast("TransactionalDeliveries", channel.deliveries).rollback()


def _do_access(channel: State, request: Request, reply: Any) -> None:
    """0-8, 0-9: later operations name the ticket that the server gave."""
    channel.ticket = reply.ticket


CHECKS: dict[str, Check] = {
    "basic.consume": _check_consume,
    "basic.deliver": _take_deliver,
    "basic.recover": _check_recover,
    "confirm.select": _check_confirm,
    "tx.select": _check_tx_select,
    "tx.commit": _check_transactional,
    "tx.rollback": _check_transactional,
}
EFFECTS: dict[str, Effect] = {
    "basic.consume": _do_consume,
    "basic.cancel": _do_cancel,
    "basic.recover": _do_recover,
    "basic.recover-async": _do_recover,
    "confirm.select": _do_confirm,
    "tx.select": _do_tx_select,
    "tx.commit": _do_commit,
    "tx.rollback": _do_rollback,
}
REPLY_CHECKS: dict[str, ReplyCheck] = {
    "basic.consume-ok": _check_consume_ok,
    "basic.get-ok": _take_get_ok,
}
REPLY_EFFECTS: dict[str, ReplyEffect] = {
    "access.request-ok": _do_access,
    "basic.consume-ok": _do_consume_ok,
    "basic.cancel-ok": _do_cancel_ok,
    "basic.recover-ok": _do_recover_ok,
}
