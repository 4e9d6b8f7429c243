"""Channels of AMQP 0-9-1, 0-9 and 0-8: which answer belongs to which message."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any

from .pending import PendingMessages
from .records import Message, Record

if TYPE_CHECKING:
    from .handler import MessageHandler

__all__ = ["Amqp0Connection"]

#: Requests of one channel that wait for their answer: a client sends few of them at once.
MAX_REQUESTS = 1000


class Channel:
    """What is open on a channel."""

    def __init__(self, traffic: MessageHandler) -> None:
        """It was just opened, or first seen."""
        self.consumers: OrderedDict[str, tuple[str | None, bool]] = OrderedDict()
        #: (queue, no-ack) of each basic.consume without an answer.
        self.consume_requests: deque[tuple[str | None, bool]] = deque(maxlen=MAX_REQUESTS)
        self.get_requests: deque[tuple[Record, str | None]] = deque(maxlen=MAX_REQUESTS)
        self.last_queue: str | None = None  # what an empty name means
        self.confirms = False
        self.published = 0
        self.acks = 0  # of the client
        self.unconfirmed = PendingMessages(traffic)
        self.unsettled = PendingMessages(traffic)


class Amqp0Connection:
    """A connection: its channels."""

    def __init__(self, traffic: MessageHandler) -> None:
        """Nothing was seen yet."""
        self.traffic = traffic
        self.channels: dict[int, Channel] = {}

    def observe(self, record: Record) -> bool | None:
        """Look at a record; False: the connection has ended."""
        self.traffic.on_record(record)
        method = record.method
        if method == "connection.close":
            for channel in self.channels.values():
                self._end(channel, record)
            return False
        channel = self._channel(record.ch)
        if method == "channel.close":
            self._end(channel, record)
            del self.channels[record.ch]
        elif method in _HANDLERS:
            _HANDLERS[method](self, channel, record)
        return None

    def _channel(self, number: int) -> Channel:
        if number not in self.channels:
            self.channels[number] = Channel(self.traffic)
        return self.channels[number]

    def _end(self, channel: Channel, record: Record) -> None:
        why = record.method
        for message in channel.unsettled.take_all():
            message.certain = message.certain or channel.acks > 0
            self.traffic.on_lost(message, record, why)
        for message in channel.unconfirmed.take_all():
            self.traffic.on_lost(message, record, why)

    def _publish(self, channel: Channel, record: Record) -> None:
        message = self._message(
            "publish", record, record.key if not record.exchange else None, None
        )
        if channel.confirms:
            channel.published += 1
            message.tag = channel.published
            channel.unconfirmed.add(message.tag, message)
        self.traffic.on_publish(message)

    def _message(self, kind: str, record: Record, queue: str | None, tag: Any) -> Message:
        return Message(kind, record, queue, tag)

    def _deliver(self, channel: Channel, record: Record) -> None:
        queue, no_ack = channel.consumers.get(record.consumer or "", (None, None))
        message = self._message("deliver", record, queue, record.tag)
        message.certain = no_ack is not None
        if not no_ack:
            channel.unsettled.add(record.tag, message)
        self.traffic.on_deliver(message)

    def _get(self, channel: Channel, record: Record) -> None:
        channel.get_requests.append((record, self._queue(channel, record)))

    def _get_ok(self, channel: Channel, record: Record) -> None:
        request, queue = channel.get_requests.popleft() if channel.get_requests else (None, None)
        if request is not None:
            self.traffic.on_get(request, record, queue)
        if record.method == "basic.get-empty":
            return
        message = self._message("get", record, queue, record.tag)
        message.certain = request is not None
        if request is None or not request.no_ack:
            channel.unsettled.add(record.tag, message)
        self.traffic.on_deliver(message)

    def _return(self, channel: Channel, record: Record) -> None:
        returned = self._message("return", record, None, None)
        # It comes before the confirm: what waits longest and has the same address.
        published = channel.unconfirmed.find(
            lambda message: message.exchange == record.exchange and message.key == record.key
        )
        self.traffic.on_return(published, returned, record)

    def _settle(self, channel: Channel, record: Record) -> None:
        outcome = record.method.partition(".")[2]
        of_client = record.by == "client"
        if of_client and record.requeue:
            outcome = f"{outcome}, requeue"
        unsettled = channel.unsettled if of_client else channel.unconfirmed
        channel.acks += of_client
        for message in unsettled.take(record.tag, bool(record.multiple)):
            if of_client:
                self.traffic.on_settle(message, record, outcome)
            else:
                self.traffic.on_confirm(message, record, outcome)

    def _recover(self, channel: Channel, record: Record) -> None:
        for message in channel.unsettled.take_all():
            self.traffic.on_settle(message, record, "recover")

    def _consume(self, channel: Channel, record: Record) -> None:
        consumer = (self._queue(channel, record), bool(record.no_ack))
        if record.no_wait:
            self._consumer(channel, record.consumer or "", consumer)
        else:
            channel.consume_requests.append(consumer)

    def _consume_ok(self, channel: Channel, record: Record) -> None:
        if channel.consume_requests:
            self._consumer(channel, record.consumer or "", channel.consume_requests.popleft())

    def _consumer(self, channel: Channel, tag: str, consumer: tuple[str | None, bool]) -> None:
        channel.consumers[tag] = consumer
        # Deliveries of a cancelled consumer may be on their way, so it is kept; but not for ever.
        if len(channel.consumers) > 10 * MAX_REQUESTS:
            channel.consumers.popitem(last=False)

    def _queue(self, channel: Channel, record: Record) -> str | None:
        return record.queue or channel.last_queue

    def _declared(self, channel: Channel, record: Record) -> None:
        channel.last_queue = record.queue

    def _confirm(self, channel: Channel, record: Record) -> None:
        channel.confirms = True

    def _open(self, channel: Channel, record: Record) -> None:
        self.channels[record.ch] = Channel(self.traffic)


_HANDLERS = {
    "basic.publish": Amqp0Connection._publish,
    "basic.deliver": Amqp0Connection._deliver,
    "basic.get": Amqp0Connection._get,
    "basic.get-ok": Amqp0Connection._get_ok,
    "basic.get-empty": Amqp0Connection._get_ok,
    "basic.return": Amqp0Connection._return,
    "basic.ack": Amqp0Connection._settle,
    "basic.nack": Amqp0Connection._settle,
    "basic.reject": Amqp0Connection._settle,
    "basic.recover": Amqp0Connection._recover,
    "basic.recover-async": Amqp0Connection._recover,
    "basic.consume": Amqp0Connection._consume,
    "basic.consume-ok": Amqp0Connection._consume_ok,
    "queue.declare-ok": Amqp0Connection._declared,
    "confirm.select": Amqp0Connection._confirm,
    "channel.open": Amqp0Connection._open,
}
