"""What a client does on a channel, one call an operation.

Each returns the Request that the reply completes (a ``Replied`` event), or None with no_wait.
What it asks for and answers is the specification's; names of arguments are its, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from .errors import LocalProtocolError

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from ._channel import Channel
    from ._requests import Request

__all__ = ["Operations"]


class Operations:
    """The operations of a Channel.

    All raise LocalProtocolError where the rules forbid them now or the version has not what is
    asked for, and EncodeError for a value that cannot be encoded; nothing is sent then. On a
    channel that is over, ack, nack, reject and cancel do nothing.
    """

    __slots__ = ()

    def _request(self, name: str, **arguments: Any) -> Request | None:
        channel = cast("Channel", self)
        model = channel.connection.model
        if channel.ticket and "ticket" in model.method(name).FIELDS:
            arguments["ticket"] = channel.ticket
        return channel.send(model.make(name, **arguments))

    # ---- exchanges ----

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
    ) -> Request | None:
        """Create an exchange, or with passive only ask whether it is there."""
        return self._request(
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

    def delete_exchange(
        self, exchange: str, *, if_unused: bool = False, no_wait: bool = False
    ) -> Request | None:
        """Delete an exchange."""
        return self._request(
            "exchange.delete", exchange=exchange, if_unused=if_unused, no_wait=no_wait
        )

    def bind_exchange(
        self,
        destination: str,
        source: str,
        routing_key: str = "",
        *,
        no_wait: bool = False,
        arguments: dict[str, Any] | None = None,
    ) -> Request | None:
        """Pass what an exchange (source) gets on to another (destination); RabbitMQ's."""
        return self._request(
            "exchange.bind",
            destination=destination,
            source=source,
            routing_key=routing_key,
            no_wait=no_wait,
            arguments=arguments,
        )

    def unbind_exchange(
        self,
        destination: str,
        source: str,
        routing_key: str = "",
        *,
        no_wait: bool = False,
        arguments: dict[str, Any] | None = None,
    ) -> Request | None:
        """Undo bind_exchange."""
        return self._request(
            "exchange.unbind",
            destination=destination,
            source=source,
            routing_key=routing_key,
            no_wait=no_wait,
            arguments=arguments,
        )

    # ---- queues ----

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
    ) -> Request | None:
        """Create a queue, or with passive only ask for it; the reply has its name and counts."""
        return self._request(
            "queue.declare",
            queue=queue,
            passive=passive,
            durable=durable,
            exclusive=exclusive,
            auto_delete=auto_delete,
            no_wait=no_wait,
            arguments=arguments,
        )

    def bind_queue(
        self,
        queue: str,
        exchange: str,
        routing_key: str = "",
        *,
        no_wait: bool = False,
        arguments: dict[str, Any] | None = None,
    ) -> Request | None:
        """Bind a queue to an exchange."""
        return self._request(
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
    ) -> Request | None:
        """Undo bind_queue."""
        return self._request(
            "queue.unbind",
            queue=queue,
            exchange=exchange,
            routing_key=routing_key,
            arguments=arguments,
        )

    def purge_queue(self, queue: str, *, no_wait: bool = False) -> Request | None:
        """Remove the messages that wait in a queue; the reply counts them."""
        return self._request("queue.purge", queue=queue, no_wait=no_wait)

    def delete_queue(
        self,
        queue: str,
        *,
        if_unused: bool = False,
        if_empty: bool = False,
        no_wait: bool = False,
    ) -> Request | None:
        """Delete a queue; the reply counts the messages that were in it."""
        return self._request(
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
        channel = cast("Channel", self)
        connection = channel.connection
        if channel.state > 1 or not connection.is_open:
            channel.check_open()
        if not channel.flow_active:
            channel.check_flow()
        if connection.role == "server":
            connection.check_method(connection.publish_class)
        method = connection.publish_class(
            exchange=exchange, routing_key=routing_key, mandatory=mandatory, immediate=immediate
        )
        if channel.ticket and "ticket" in method.FIELDS:
            method.ticket = channel.ticket
        connection.queue_content(channel.number, method, properties, body)
        if not channel.confirming:
            return None
        publications = channel.publications
        publications.last = tag = publications.last + 1
        return tag

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
    ) -> Request | None:
        """Subscribe to a queue; ``request.consumer`` is what Delivered will name."""
        return self._request(
            "basic.consume",
            queue=queue,
            consumer_tag=consumer_tag,
            no_local=no_local,
            no_ack=no_ack,
            exclusive=exclusive,
            no_wait=no_wait,
            arguments=arguments,
        )

    def cancel(self, consumer_tag: str, *, no_wait: bool = False) -> Request | None:
        """End a consumer; deliveries may come until the reply.

        A server ends one of its client's by this call. Where the channel is over, or the server
        ended the consumer before, it does nothing and gives None.
        """
        channel = cast("Channel", self)
        if not channel.is_open:
            return None
        consumer = channel.consumers.get(consumer_tag)
        if consumer is None or not consumer.active:
            if channel._was_cancelled(consumer_tag):
                return None
            raise LocalProtocolError(f"channel {channel.number} has no consumer {consumer_tag!r}")
        return self._request("basic.cancel", consumer_tag=consumer_tag, no_wait=no_wait)

    def get(self, queue: str, *, no_ack: bool = False) -> Request | None:
        """Take one message: the reply is a Message (basic.get-ok) or basic.get-empty."""
        return self._request("basic.get", queue=queue, no_ack=no_ack)

    def ack(self, delivery_tag: int, *, multiple: bool = False) -> None:
        """Acknowledge a delivery, or with multiple all up to it (0: all).

        A server confirms publications by it.
        """
        channel = cast("Channel", self)
        connection = channel.connection
        if channel.state > 1 or not connection.is_open:
            return
        if not connection.may_ack:
            connection.check_method(connection.ack_class)
        channel.send_settling(
            connection.ack_class(delivery_tag=delivery_tag, multiple=multiple),
            delivery_tag,
            multiple,
        )

    def reject(self, delivery_tag: int, *, requeue: bool = True) -> None:
        """Refuse a delivery: back to its queue, or with requeue False away."""
        self._request("basic.reject", delivery_tag=delivery_tag, requeue=requeue)

    def nack(self, delivery_tag: int, *, multiple: bool = False, requeue: bool = True) -> None:
        """Refuse one delivery or all up to it; RabbitMQ's. A server refuses publications by it."""
        self._request("basic.nack", delivery_tag=delivery_tag, multiple=multiple, requeue=requeue)

    def recover(self, *, requeue: bool = True) -> Request | None:
        """Give back all deliveries that were not acknowledged; their tags are void then."""
        return self._request("basic.recover", requeue=requeue)

    def qos(
        self, *, prefetch_count: int = 0, prefetch_size: int = 0, global_: bool = False
    ) -> Request | None:
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

    def confirm(self, *, no_wait: bool = False) -> Request | None:
        """Have publications numbered from 1 and confirmed; RabbitMQ's."""
        return self._request("confirm.select", no_wait=no_wait)

    def select_tx(self) -> Request | None:
        """Give the channel transactions."""
        return self._request("tx.select")

    def commit_tx(self) -> Request | None:
        """Make what was published and acknowledged since the last commit valid."""
        return self._request("tx.commit")

    def rollback_tx(self) -> Request | None:
        """Undo it: the deliveries wait to be acknowledged again."""
        return self._request("tx.rollback")

    def flow(self, active: bool) -> Request | None:
        """Ask the peer to stop (False) or start sending contents on this channel."""
        return self._request("channel.flow", active=active)
