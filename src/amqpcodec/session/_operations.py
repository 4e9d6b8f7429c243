"""What a client does on a channel, one call an operation.

Each returns the Request that the reply completes (a ``Replied`` event), or None with no_wait.
What it asks for and answers is the specification's; names of arguments are its, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from ._checks import check_channel_open, check_flow, check_method, is_usable
from ._output import VIEW_BYTES, frames_of, queue_frames
from ._settling import send_settling
from ._state import OPEN, AnyChannelState
from .errors import LocalProtocolError

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["Operations"]

RequestT = TypeVar("RequestT")


class Operations(Generic[RequestT]):
    """The operations of a Channel.

    All raise LocalProtocolError where the rules forbid them now or the version has not what is
    asked for, and EncodeError for a value that cannot be encoded; nothing is sent then. On a
    channel that is over, ack, nack, reject and cancel do nothing.
    """

    __slots__ = ("_state",)

    _state: AnyChannelState

    def _send(self, name: str, **arguments: Any) -> RequestT | None:
        """Send a method by name; the request that it is, or None where nothing answers it."""
        raise NotImplementedError

    def _request(self, name: str, **arguments: Any) -> RequestT:
        """Send a method by name that is always answered."""
        raise NotImplementedError

    # ---- exchanges ----

    @overload
    def declare_exchange(
        self,
        exchange: str,
        type: str = "direct",
        *,
        passive: bool = False,
        durable: bool = False,
        auto_delete: bool = False,
        internal: bool = False,
        no_wait: Literal[False] = False,
        arguments: dict[str, Any] | None = None,
    ) -> RequestT: ...

    @overload
    def declare_exchange(
        self,
        exchange: str,
        type: str = "direct",
        *,
        passive: bool = False,
        durable: bool = False,
        auto_delete: bool = False,
        internal: bool = False,
        no_wait: Literal[True],
        arguments: dict[str, Any] | None = None,
    ) -> None: ...

    @overload
    def declare_exchange(
        self,
        exchange: str,
        type: str = "direct",
        *,
        passive: bool = False,
        durable: bool = False,
        auto_delete: bool = False,
        internal: bool = False,
        no_wait: bool,
        arguments: dict[str, Any] | None = None,
    ) -> RequestT | None: ...

    def declare_exchange(
        self,
        exchange: str,
        type: str = "direct",
        *,
        passive: bool = False,
        durable: bool = False,
        auto_delete: bool = False,
        internal: bool = False,
        no_wait: bool = False,
        arguments: dict[str, Any] | None = None,
    ) -> RequestT | None:
        """Create an exchange, or with passive only ask whether it is there."""
        return self._send(
            "exchange.declare",
            exchange=exchange,
            type=type,
            passive=passive,
            durable=durable,
            auto_delete=auto_delete,
            internal=internal,
            no_wait=no_wait,
            arguments=arguments,
        )

    @overload
    def delete_exchange(
        self, exchange: str, *, if_unused: bool = False, no_wait: Literal[False] = False
    ) -> RequestT: ...

    @overload
    def delete_exchange(
        self, exchange: str, *, if_unused: bool = False, no_wait: Literal[True]
    ) -> None: ...

    @overload
    def delete_exchange(
        self, exchange: str, *, if_unused: bool = False, no_wait: bool
    ) -> RequestT | None: ...

    def delete_exchange(
        self, exchange: str, *, if_unused: bool = False, no_wait: bool = False
    ) -> RequestT | None:
        """Delete an exchange."""
        return self._send(
            "exchange.delete", exchange=exchange, if_unused=if_unused, no_wait=no_wait
        )

    @overload
    def bind_exchange(
        self,
        destination: str,
        source: str,
        routing_key: str = "",
        *,
        no_wait: Literal[False] = False,
        arguments: dict[str, Any] | None = None,
    ) -> RequestT: ...

    @overload
    def bind_exchange(
        self,
        destination: str,
        source: str,
        routing_key: str = "",
        *,
        no_wait: Literal[True],
        arguments: dict[str, Any] | None = None,
    ) -> None: ...

    @overload
    def bind_exchange(
        self,
        destination: str,
        source: str,
        routing_key: str = "",
        *,
        no_wait: bool,
        arguments: dict[str, Any] | None = None,
    ) -> RequestT | None: ...

    def bind_exchange(
        self,
        destination: str,
        source: str,
        routing_key: str = "",
        *,
        no_wait: bool = False,
        arguments: dict[str, Any] | None = None,
    ) -> RequestT | None:
        """Pass what an exchange (source) gets on to another (destination); RabbitMQ's."""
        return self._send(
            "exchange.bind",
            destination=destination,
            source=source,
            routing_key=routing_key,
            no_wait=no_wait,
            arguments=arguments,
        )

    @overload
    def unbind_exchange(
        self,
        destination: str,
        source: str,
        routing_key: str = "",
        *,
        no_wait: Literal[False] = False,
        arguments: dict[str, Any] | None = None,
    ) -> RequestT: ...

    @overload
    def unbind_exchange(
        self,
        destination: str,
        source: str,
        routing_key: str = "",
        *,
        no_wait: Literal[True],
        arguments: dict[str, Any] | None = None,
    ) -> None: ...

    @overload
    def unbind_exchange(
        self,
        destination: str,
        source: str,
        routing_key: str = "",
        *,
        no_wait: bool,
        arguments: dict[str, Any] | None = None,
    ) -> RequestT | None: ...

    def unbind_exchange(
        self,
        destination: str,
        source: str,
        routing_key: str = "",
        *,
        no_wait: bool = False,
        arguments: dict[str, Any] | None = None,
    ) -> RequestT | None:
        """Undo bind_exchange."""
        return self._send(
            "exchange.unbind",
            destination=destination,
            source=source,
            routing_key=routing_key,
            no_wait=no_wait,
            arguments=arguments,
        )

    # ---- queues ----

    @overload
    def declare_queue(
        self,
        queue: str = "",
        *,
        passive: bool = False,
        durable: bool = False,
        exclusive: bool = False,
        auto_delete: bool = False,
        no_wait: Literal[False] = False,
        arguments: dict[str, Any] | None = None,
    ) -> RequestT: ...

    @overload
    def declare_queue(
        self,
        queue: str = "",
        *,
        passive: bool = False,
        durable: bool = False,
        exclusive: bool = False,
        auto_delete: bool = False,
        no_wait: Literal[True],
        arguments: dict[str, Any] | None = None,
    ) -> None: ...

    @overload
    def declare_queue(
        self,
        queue: str = "",
        *,
        passive: bool = False,
        durable: bool = False,
        exclusive: bool = False,
        auto_delete: bool = False,
        no_wait: bool,
        arguments: dict[str, Any] | None = None,
    ) -> RequestT | None: ...

    def declare_queue(
        self,
        queue: str = "",
        *,
        passive: bool = False,
        durable: bool = False,
        exclusive: bool = False,
        auto_delete: bool = False,
        no_wait: bool = False,
        arguments: dict[str, Any] | None = None,
    ) -> RequestT | None:
        """Create a queue, or with passive only ask for it; the reply has its name and counts."""
        return self._send(
            "queue.declare",
            queue=queue,
            passive=passive,
            durable=durable,
            exclusive=exclusive,
            auto_delete=auto_delete,
            no_wait=no_wait,
            arguments=arguments,
        )

    @overload
    def bind_queue(
        self,
        queue: str,
        exchange: str,
        routing_key: str = "",
        *,
        no_wait: Literal[False] = False,
        arguments: dict[str, Any] | None = None,
    ) -> RequestT: ...

    @overload
    def bind_queue(
        self,
        queue: str,
        exchange: str,
        routing_key: str = "",
        *,
        no_wait: Literal[True],
        arguments: dict[str, Any] | None = None,
    ) -> None: ...

    @overload
    def bind_queue(
        self,
        queue: str,
        exchange: str,
        routing_key: str = "",
        *,
        no_wait: bool,
        arguments: dict[str, Any] | None = None,
    ) -> RequestT | None: ...

    def bind_queue(
        self,
        queue: str,
        exchange: str,
        routing_key: str = "",
        *,
        no_wait: bool = False,
        arguments: dict[str, Any] | None = None,
    ) -> RequestT | None:
        """Bind a queue to an exchange."""
        return self._send(
            "queue.bind",
            queue=queue,
            exchange=exchange,
            routing_key=routing_key,
            no_wait=no_wait,
            arguments=arguments,
        )

    def unbind_queue(
        self,
        queue: str,
        exchange: str,
        routing_key: str = "",
        *,
        arguments: dict[str, Any] | None = None,
    ) -> RequestT:
        """Undo bind_queue."""
        return self._request(
            "queue.unbind",
            queue=queue,
            exchange=exchange,
            routing_key=routing_key,
            arguments=arguments,
        )

    @overload
    def purge_queue(self, queue: str, *, no_wait: Literal[False] = False) -> RequestT: ...

    @overload
    def purge_queue(self, queue: str, *, no_wait: Literal[True]) -> None: ...

    @overload
    def purge_queue(self, queue: str, *, no_wait: bool) -> RequestT | None: ...

    def purge_queue(self, queue: str, *, no_wait: bool = False) -> RequestT | None:
        """Remove the messages that wait in a queue; the reply counts them."""
        return self._send("queue.purge", queue=queue, no_wait=no_wait)

    @overload
    def delete_queue(
        self,
        queue: str,
        *,
        if_unused: bool = False,
        if_empty: bool = False,
        no_wait: Literal[False] = False,
    ) -> RequestT: ...

    @overload
    def delete_queue(
        self, queue: str, *, if_unused: bool = False, if_empty: bool = False, no_wait: Literal[True]
    ) -> None: ...

    @overload
    def delete_queue(
        self, queue: str, *, if_unused: bool = False, if_empty: bool = False, no_wait: bool
    ) -> RequestT | None: ...

    def delete_queue(
        self, queue: str, *, if_unused: bool = False, if_empty: bool = False, no_wait: bool = False
    ) -> RequestT | None:
        """Delete a queue; the reply counts the messages that were in it."""
        return self._send(
            "queue.delete", queue=queue, if_unused=if_unused, if_empty=if_empty, no_wait=no_wait
        )

    # ---- messages ----

    def publish(
        self,
        exchange: str,
        routing_key: str,
        body: Buffer = b"",
        properties: Any = None,
        *,
        mandatory: bool = False,
        immediate: bool = False,
    ) -> int | None:
        """Publish a message.

        Args:
            exchange: "" for the one that takes the name of a queue as routing key.
            routing_key: at most 255 bytes.
            body: bytes are not copied if they are many: leave them until they are sent.
            properties: Basic.Properties of the protocol module, or None.
            mandatory: come back as Returned where no queue takes it.
            immediate: come back where no consumer takes it at once (RabbitMQ refuses it).

        Returns:
            its number, which Acked or Nacked will name; None on a channel without confirms.
        """
        state = self._state
        connection = state.connection
        if state.phase > OPEN or not connection.is_open:
            check_channel_open(state)
        if not state.flow_active:
            check_flow(state)
        if not connection.may_publish:
            check_method(connection, connection.publish_class)
        method = connection.publish_class(
            exchange=exchange, routing_key=routing_key, mandatory=mandatory, immediate=immediate
        )
        if state.ticket and "ticket" in method.FIELDS:
            method.ticket = state.ticket
        if type(body) is bytes and len(body) >= VIEW_BYTES:
            frames = frames_of(connection, state.number, method, properties, body)
            queue_frames(connection, frames)
        else:
            raw = connection.encode_message(
                state.number, method, properties, body, connection.frame_max
            )
            connection.out.append(raw)
            connection.out_bytes += len(raw)
        if not state.confirming:
            return None
        publications = state.publications
        publications.last = tag = publications.last + 1
        return tag

    @overload
    def consume(
        self,
        queue: str,
        consumer_tag: str = "",
        *,
        no_local: bool = False,
        no_ack: bool = False,
        exclusive: bool = False,
        no_wait: Literal[False] = False,
        arguments: dict[str, Any] | None = None,
    ) -> RequestT: ...

    @overload
    def consume(
        self,
        queue: str,
        consumer_tag: str = "",
        *,
        no_local: bool = False,
        no_ack: bool = False,
        exclusive: bool = False,
        no_wait: Literal[True],
        arguments: dict[str, Any] | None = None,
    ) -> None: ...

    @overload
    def consume(
        self,
        queue: str,
        consumer_tag: str = "",
        *,
        no_local: bool = False,
        no_ack: bool = False,
        exclusive: bool = False,
        no_wait: bool,
        arguments: dict[str, Any] | None = None,
    ) -> RequestT | None: ...

    def consume(
        self,
        queue: str,
        consumer_tag: str = "",
        *,
        no_local: bool = False,
        no_ack: bool = False,
        exclusive: bool = False,
        no_wait: bool = False,
        arguments: dict[str, Any] | None = None,
    ) -> RequestT | None:
        """Subscribe to a queue; ``request.consumer`` is what Delivered will name."""
        return self._send(
            "basic.consume",
            queue=queue,
            consumer_tag=consumer_tag,
            no_local=no_local,
            no_ack=no_ack,
            exclusive=exclusive,
            no_wait=no_wait,
            arguments=arguments,
        )

    @overload
    def cancel(self, consumer_tag: str, *, no_wait: Literal[True]) -> None: ...

    @overload
    def cancel(self, consumer_tag: str, *, no_wait: bool = False) -> RequestT | None: ...

    def cancel(self, consumer_tag: str, *, no_wait: bool = False) -> RequestT | None:
        """End a consumer; deliveries may come until the reply.

        A server ends one of its client's by this call. Where the channel is over, or the server
        ended the consumer before, it does nothing and gives None.
        """
        state = self._state
        if not is_usable(state):
            return None
        consumer = state.consumers.get(consumer_tag)
        if consumer is None or not consumer.active:
            if consumer_tag in state.cancelled:
                return None
            raise LocalProtocolError(f"channel {state.number} has no consumer {consumer_tag!r}")
        return self._send("basic.cancel", consumer_tag=consumer_tag, no_wait=no_wait)

    def get(self, queue: str, *, no_ack: bool = False) -> RequestT:
        """Take one message: the reply is a Message (basic.get-ok) or basic.get-empty."""
        return self._request("basic.get", queue=queue, no_ack=no_ack)

    def ack(self, delivery_tag: int, *, multiple: bool = False) -> None:
        """Acknowledge a delivery, or with multiple all up to it (0: all).

        A server confirms publications by it.
        """
        state = self._state
        connection = state.connection
        if state.phase > OPEN or not connection.is_open:
            return
        if not connection.may_ack:
            check_method(connection, connection.ack_class)
        method = connection.ack_class(delivery_tag=delivery_tag, multiple=multiple)
        send_settling(state, method, delivery_tag, multiple)

    def reject(self, delivery_tag: int, *, requeue: bool = True) -> None:
        """Refuse a delivery: back to its queue, or with requeue False away."""
        self._send("basic.reject", delivery_tag=delivery_tag, requeue=requeue)

    def nack(self, delivery_tag: int, *, multiple: bool = False, requeue: bool = True) -> None:
        """Refuse one delivery or all up to it; RabbitMQ's. A server refuses publications by it."""
        self._send("basic.nack", delivery_tag=delivery_tag, multiple=multiple, requeue=requeue)

    def recover(self, *, requeue: bool = True) -> RequestT | None:
        """Give back all deliveries that were not acknowledged; their tags are void then.

        0-8 and 0-9 answer it by nothing: None there.
        """
        return self._send("basic.recover", requeue=requeue)

    def qos(
        self, *, prefetch_count: int = 0, prefetch_size: int = 0, global_: bool = False
    ) -> RequestT:
        """Limit the deliveries that wait to be acknowledged; 0: no limit.

        prefetch_size counts bytes; global_ is for the whole channel.
        """
        return self._request(
            "basic.qos",
            prefetch_count=prefetch_count,
            prefetch_size=prefetch_size,
            global_=global_,
        )

    # ---- confirms, transactions, flow ----

    @overload
    def confirm(self, *, no_wait: Literal[False] = False) -> RequestT: ...

    @overload
    def confirm(self, *, no_wait: Literal[True]) -> None: ...

    @overload
    def confirm(self, *, no_wait: bool) -> RequestT | None: ...

    def confirm(self, *, no_wait: bool = False) -> RequestT | None:
        """Have publications numbered from 1 and confirmed; RabbitMQ's."""
        return self._send("confirm.select", no_wait=no_wait)

    def select_tx(self) -> RequestT:
        """Give the channel transactions."""
        return self._request("tx.select")

    def commit_tx(self) -> RequestT:
        """Make what was published and acknowledged since the last commit valid."""
        return self._request("tx.commit")

    def rollback_tx(self) -> RequestT:
        """Undo it: the deliveries wait to be acknowledged again."""
        return self._request("tx.rollback")

    def flow(self, active: bool) -> RequestT:
        """Ask the peer to stop (False) or start sending contents on this channel."""
        return self._request("channel.flow", active=active)
