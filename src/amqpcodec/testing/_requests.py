"""What clients ask for on a channel: a function for each method, which answers it or refuses."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any, TypeAlias

from .. import v0_9_1 as amqp
from ..session import PeerRequest
from ._arguments import consumer_options
from ._channels import REPLY_TO, ClientChannel, Subscription
from ._queues import Queue
from ._refusals import Refusal, not_modelled

__all__ = ["handle"]

Handler: TypeAlias = "Callable[[ClientChannel, Any, PeerRequest], None]"


def handle(channel: ClientChannel, request: PeerRequest) -> None:
    """Do what a client asks for.

    Raises:
        Refusal: it is wrong, or not modelled.
    """
    handler = _HANDLERS.get(type(request.method))
    if handler is None:
        raise not_modelled(f"the method {request.method.NAME}")
    handler(channel, request.method, request)


def _answer(request: PeerRequest, reply: Any, properties: Any = None, body: bytes = b"") -> None:
    if request.expects_response:
        request.respond(reply, properties, body)


def _queue(channel: ClientChannel, name: str) -> Queue:
    """A queue; "" is the last one that was declared on the channel."""
    return channel.host.queue(_queue_name(channel, name), channel.peer)


def _queue_name(channel: ClientChannel, name: str) -> str:
    if name:
        return name
    if channel.last_queue is None:
        raise Refusal(404, "no previously declared queue")
    return channel.last_queue


def _without_line_ends(name: str) -> str:
    """A name as RabbitMQ declares it."""
    return name.replace("\r", "").replace("\n", "")


# ---- exchanges ----


def _exchange_declare(
    channel: ClientChannel, method: amqp.Exchange.Declare, request: PeerRequest
) -> None:
    name = _without_line_ends(method.exchange)
    if method.passive:
        channel.host.check_not_default(name)
        channel.host.exchange(name)
    else:
        channel.host.declare_exchange(
            name,
            method.type,
            durable=method.durable,
            auto_delete=method.auto_delete,
            internal=method.internal,
            arguments=method.arguments,
        )
    _answer(request, amqp.Exchange.DeclareOk())


def _exchange_delete(
    channel: ClientChannel, method: amqp.Exchange.Delete, request: PeerRequest
) -> None:
    host = channel.host
    host.check_not_default(method.exchange)
    if method.exchange.startswith("amq."):
        text = f"deletion of system {host.exchange_text(method.exchange)} not allowed"
        raise Refusal(403, text)
    exchange = host.exchanges.get(method.exchange)  # RabbitMQ: deleting none is no mistake
    if exchange is not None:
        if method.if_unused and exchange.routes:
            raise Refusal(406, f"{host.exchange_text(exchange.name)} in use")
        host.delete_exchange(exchange)
    _answer(request, amqp.Exchange.DeleteOk())


def _exchange_bind(
    channel: ClientChannel, method: amqp.Exchange.Bind, request: PeerRequest
) -> None:
    channel.host.check_not_default(method.destination)
    source = channel.host.source(method.source)
    destination = channel.host.exchange(method.destination)
    channel.host.bind(source, destination, method.routing_key, method.arguments)
    _answer(request, amqp.Exchange.BindOk())


def _exchange_unbind(
    channel: ClientChannel, method: amqp.Exchange.Unbind, request: PeerRequest
) -> None:
    for name in (method.destination, method.source):
        channel.host.check_not_default(name)
    destination = channel.host.exchanges.get(method.destination)
    if destination is not None:  # RabbitMQ: unbinding what is missing is no mistake
        key = method.routing_key
        channel.host.unbind(method.source, destination, key, method.arguments, channel.peer)
    _answer(request, amqp.Exchange.UnbindOk())


# ---- queues ----


def _queue_declare(
    channel: ClientChannel, method: amqp.Queue.Declare, request: PeerRequest
) -> None:
    name = _without_line_ends(method.queue)
    if name == REPLY_TO or name in channel.node.replies:
        _answer(request, amqp.Queue.DeclareOk(name, 0, 1))
        return
    if method.passive:
        queue = channel.host.queue(name, channel.peer)
        queue.touch()
    else:
        queue = channel.host.declare_queue(
            name,
            channel.peer,
            durable=method.durable,
            exclusive=method.exclusive,
            auto_delete=method.auto_delete,
            arguments=method.arguments,
        )
    channel.last_queue = queue.name
    _answer(request, amqp.Queue.DeclareOk(queue.name, queue.ready, queue.consumer_count))


def _binding_key(channel: ClientChannel, queue: str, routing_key: str) -> str:
    """Where both are "", both stand for the last queue that was declared."""
    return routing_key or (channel.last_queue or "" if not queue else "")


def _queue_bind(channel: ClientChannel, method: amqp.Queue.Bind, request: PeerRequest) -> None:
    name = _queue_name(channel, method.queue)
    source = channel.host.source(method.exchange)
    queue = channel.host.queue(name, channel.peer)
    key = _binding_key(channel, method.queue, method.routing_key)
    channel.host.bind(source, queue, key, method.arguments)
    _answer(request, amqp.Queue.BindOk())


def _queue_unbind(channel: ClientChannel, method: amqp.Queue.Unbind, request: PeerRequest) -> None:
    name = _queue_name(channel, method.queue)
    channel.host.check_not_default(method.exchange)
    queue = channel.host.queues.get(name)
    if queue is not None:  # RabbitMQ: unbinding what is missing is no mistake
        key = _binding_key(channel, method.queue, method.routing_key)
        channel.host.unbind(method.exchange, queue, key, method.arguments, channel.peer)
    _answer(request, amqp.Queue.UnbindOk())


def _queue_purge(channel: ClientChannel, method: amqp.Queue.Purge, request: PeerRequest) -> None:
    _answer(request, amqp.Queue.PurgeOk(_queue(channel, method.queue).purge()))


def _queue_delete(channel: ClientChannel, method: amqp.Queue.Delete, request: PeerRequest) -> None:
    host = channel.host
    name = _queue_name(channel, method.queue)
    if name not in host.queues:  # RabbitMQ: no mistake
        _answer(request, amqp.Queue.DeleteOk(0))
        return
    queue = host.queue(name, channel.peer)
    if queue.is_quorum and (method.if_unused or method.if_empty):
        flag = "if-unused" if method.if_unused else "if-empty"
        raise Refusal(
            540,
            f"cannot delete {host.queue_text(name)}. queue.delete operations with {flag} flag set "
            "are not supported by quorum queues",
        )
    if method.if_unused and queue.subscribers:
        raise Refusal(406, f"{host.queue_text(queue.name)} in use")
    if method.if_empty and queue.ready:
        raise Refusal(406, f"{host.queue_text(queue.name)} not empty")
    _answer(request, amqp.Queue.DeleteOk(queue.ready))
    host.delete_queue(queue)


# ---- consumers ----


def _basic_qos(channel: ClientChannel, method: amqp.Basic.Qos, request: PeerRequest) -> None:
    if method.prefetch_size:
        raise Refusal(540, f"prefetch_size!=0 ({method.prefetch_size})")
    if method.global_:
        if not channel.node.profile.global_qos:
            raise Refusal(541, "Feature `global_qos` is deprecated.")
        if not channel.global_prefetch:
            channel.consumer_unacked = len(channel.unacked)  # RabbitMQ: also what was got
        channel.global_prefetch = method.prefetch_count
    else:
        channel.prefetch = method.prefetch_count
    _answer(request, amqp.Basic.QosOk())
    if method.global_:
        channel.node.feed([one.queue for one in channel.subscriptions.values()])


def _basic_consume(
    channel: ClientChannel, method: amqp.Basic.Consume, request: PeerRequest
) -> None:
    tag = method.consumer_tag or f"amq.ctag-{secrets.token_urlsafe(16)}"
    consumer = request.consumer
    assert consumer is not None  # the session makes it
    if method.queue == REPLY_TO:
        if not method.no_ack:
            raise Refusal(406, "reply consumer cannot acknowledge")
        if channel.reply_consumer is not None:
            raise Refusal(406, "reply consumer already set")
        _answer(request, amqp.Basic.ConsumeOk(tag))
        channel.consume_replies(consumer)
        return
    queue = _queue(channel, method.queue)
    where = channel.host.queue_text(queue.name)
    priority, timeout = consumer_options(method.arguments, where)
    options = queue.options
    is_quorum = options.queue_type == "quorum"
    if is_quorum and channel.global_prefetch:
        raise Refusal(540, f"{where} does not support global qos")
    exclusive = method.exclusive and not is_quorum  # which has no exclusive consumers
    is_shared = bool(queue.subscribers) or options.single_active_consumer
    if queue.exclusive_subscriber is not None or (exclusive and is_shared):
        raise Refusal(403, f"{where} in exclusive use")
    timeout = timeout or options.consumer_timeout or channel.node.consumer_timeout
    _answer(request, amqp.Basic.ConsumeOk(tag))
    channel.subscribe(Subscription(channel, consumer, queue, priority, exclusive, timeout))


def _basic_cancel(channel: ClientChannel, method: amqp.Basic.Cancel, request: PeerRequest) -> None:
    subscription = channel.subscriptions.get(method.consumer_tag)
    if subscription is not None:
        channel.unsubscribe(subscription)
    else:
        channel.stop_replies(method.consumer_tag)
    _answer(request, amqp.Basic.CancelOk(method.consumer_tag))


def _basic_get(channel: ClientChannel, method: amqp.Basic.Get, request: PeerRequest) -> None:
    queue = _queue(channel, method.queue)
    if queue.is_quorum and queue.options.single_active_consumer:
        raise Refusal(
            405,
            f"cannot obtain access to locked {channel.host.queue_text(queue.name)}. basic.get "
            "operations are not supported by quorum queues with single active consumer",
        )
    answer = channel.get(queue, method.no_ack)
    if answer is None:
        _answer(request, amqp.Basic.GetEmpty())
    else:
        _answer(request, *answer)


def _basic_recover(
    channel: ClientChannel, method: amqp.Basic.Recover, request: PeerRequest
) -> None:
    if not method.requeue:
        raise Refusal(540, "requeue=false")
    _answer(request, amqp.Basic.RecoverOk())
    channel.requeue(list(channel.unacked), counts=True)


# ---- the rest ----


def _confirm_select(
    channel: ClientChannel, method: amqp.Confirm.Select, request: PeerRequest
) -> None:
    _answer(request, amqp.Confirm.SelectOk())


def _channel_flow(channel: ClientChannel, method: amqp.Channel.Flow, request: PeerRequest) -> None:
    if not method.active:
        raise Refusal(540, "active=false")
    _answer(request, amqp.Channel.FlowOk(True))


def _tx_select(channel: ClientChannel, method: amqp.Tx.Select, request: PeerRequest) -> None:
    channel.begin()
    _answer(request, amqp.Tx.SelectOk())


def _tx_commit(channel: ClientChannel, method: amqp.Tx.Commit, request: PeerRequest) -> None:
    channel.commit()
    _answer(request, amqp.Tx.CommitOk())


def _tx_rollback(channel: ClientChannel, method: amqp.Tx.Rollback, request: PeerRequest) -> None:
    channel.rollback()
    _answer(request, amqp.Tx.RollbackOk())


_HANDLERS: dict[type, Handler] = {
    amqp.Exchange.Declare: _exchange_declare,
    amqp.Exchange.Delete: _exchange_delete,
    amqp.Exchange.Bind: _exchange_bind,
    amqp.Exchange.Unbind: _exchange_unbind,
    amqp.Queue.Declare: _queue_declare,
    amqp.Queue.Bind: _queue_bind,
    amqp.Queue.Unbind: _queue_unbind,
    amqp.Queue.Purge: _queue_purge,
    amqp.Queue.Delete: _queue_delete,
    amqp.Basic.Qos: _basic_qos,
    amqp.Basic.Consume: _basic_consume,
    amqp.Basic.Cancel: _basic_cancel,
    amqp.Basic.Get: _basic_get,
    amqp.Basic.Recover: _basic_recover,
    amqp.Confirm.Select: _confirm_select,
    amqp.Channel.Flow: _channel_flow,
    amqp.Tx.Select: _tx_select,
    amqp.Tx.Commit: _tx_commit,
    amqp.Tx.Rollback: _tx_rollback,
}
