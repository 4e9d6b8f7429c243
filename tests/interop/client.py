"""A small AMQP client for the live tests: a plain socket, and amqpcodec for every byte.

It waits with a deadline everywhere, keeps all bytes that came in, and can prove at the end that
what was decoded from them encodes to the same bytes again.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections import deque
from collections.abc import Iterable
from typing import Any

from amqpcodec import v0_9_1 as amqp

TIMEOUT = 15.0
IOV_MAX = 512  # buffers for one sendmsg; Linux takes 1024
CAPABILITIES = {
    "publisher_confirms": True,
    "exchange_exchange_bindings": True,
    "basic.nack": True,
    "consumer_cancel_notify": True,
    "connection.blocked": True,
    "authentication_failure_close": True,
}


class Client:
    """One connection.

    as_messages: receive Message events through MessageDecoder, otherwise frame by frame through
        Decoder.
    buffered: let the socket write into the decoder's own buffer, as BufferedProtocol does.
    The other options go to that decoder.
    """

    def __init__(
        self,
        address: tuple[str, int],
        *,
        as_messages: bool = False,
        buffered: bool = False,
        **options: Any,
    ) -> None:
        self.as_messages = as_messages
        self.buffered = buffered
        self.frame_max = 131072
        self.read_size = 1 << 16
        self.decoder = (amqp.MessageDecoder if as_messages else amqp.Decoder)(**options)
        self.pending_events: deque[tuple[int, Any]] = deque()
        self.inbound = bytearray()
        self.received: list[tuple[int, Any]] = []
        self.open = False
        self.socket = socket.create_connection(address, timeout=TIMEOUT)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    # --- out

    def send_octets(self, octets: bytes) -> None:
        self.socket.settimeout(TIMEOUT)
        self.socket.sendall(octets)

    def send(self, channel: int, *frames: Any) -> None:
        self.send_octets(b"".join(amqp.encode(channel, frame) for frame in frames))

    def send_parts(self, parts: Iterable[Any]) -> None:
        """Gathering writes: the buffers go to the kernel as they are, in some calls."""
        self.socket.settimeout(TIMEOUT)
        unsent = deque(memoryview(part).cast("B") for part in parts)
        while unsent:
            sent = self.socket.sendmsg([unsent[i] for i in range(min(IOV_MAX, len(unsent)))])
            while unsent and sent >= len(unsent[0]):
                sent -= len(unsent.popleft())
            if sent:
                unsent[0] = unsent[0][sent:]

    def publish(
        self,
        channel: int,
        body: Any,
        properties: Any = None,
        *,
        parts: bool = False,
        **arguments: Any,
    ) -> None:
        """basic.publish with content, in one piece or as a list of buffers."""
        content = (
            channel,
            amqp.Basic.Publish(**arguments),
            amqp.Basic.Properties() if properties is None else properties,
            body,
        )
        if parts:
            self.send_parts(amqp.encode_parts(*content, frame_max=self.frame_max))
        else:
            self.send_octets(amqp.encode_message(*content, frame_max=self.frame_max))

    # --- in

    def read_socket(self, deadline: float) -> Iterable[tuple[int, Any]]:
        """Wait for bytes and feed them; TimeoutError at the deadline, EOFError at the end."""
        self.socket.settimeout(max(deadline - time.monotonic(), 0.001))
        chunk, count = b"", 0
        with contextlib.suppress(ConnectionResetError):
            if self.buffered:
                buffer = self.decoder.get_buffer(self.read_size)
                count = self.socket.recv_into(buffer)
                chunk = bytes(memoryview(buffer)[:count])
            else:
                chunk = self.socket.recv(self.read_size)
        if not chunk:
            self.decoder.eof()
            raise EOFError("the broker has closed the connection")
        self.inbound += chunk
        return self.decoder.buffer_updated(count) if self.buffered else self.decoder.feed(chunk)

    def receive(self, timeout: float = TIMEOUT) -> tuple[int, Any]:
        """The next frame or event of any channel. EOFError when the peer has closed."""
        deadline = time.monotonic() + timeout
        while not self.pending_events:
            for item in self.read_socket(deadline):
                self.pending_events.append(item)
                self.received.append(item)
        return self.pending_events.popleft()

    def expect(self, channel: int, kind: type, timeout: float = TIMEOUT) -> Any:
        """The next event, which must be of that kind and on that channel."""
        on, event = self.receive(timeout)
        assert (on, type(event)) == (channel, kind), f"channel {on}: {brief(event)}"
        return event

    def call(self, channel: int, method: Any, reply: type) -> Any:
        """Send a method and receive its answer."""
        self.send(channel, method)
        return self.expect(channel, reply)

    def expect_content(self, channel: int, kind: type) -> Any:
        """The next message, whole: kind is the method that must carry it."""
        if self.as_messages:
            message = self.expect(channel, amqp.Message)
            assert type(message.method) is kind, brief(message)
            return message
        method = self.expect(channel, kind)
        header = self.expect(channel, amqp.Header)
        body = bytearray()
        while len(body) < header.body_size:
            payload = self.expect(channel, amqp.Body).payload
            assert payload, "an empty body frame"
            assert len(payload) <= self.frame_max - 8
            body += payload
        assert len(body) == header.body_size
        return amqp.Message(method, header.properties, bytes(body))

    def expect_nothing(self, seconds: float) -> None:
        """No frame arrives for that time."""
        try:
            on, event = self.receive(seconds)
        except TimeoutError:
            return
        raise AssertionError(f"channel {on}: {brief(event)}")

    def expect_eof(self, timeout: float = TIMEOUT) -> None:
        """The stream ends, and no byte of a frame is left over."""
        with contextlib.suppress(OSError):
            # RabbitMQ leaves the end to the client that has its close-ok (or to a timer of 30 s).
            self.socket.shutdown(socket.SHUT_WR)
        try:
            on, event = self.receive(timeout)
        except EOFError:
            self.open = False
            return
        raise AssertionError(f"channel {on}: {brief(event)}")

    # --- conversation

    def handshake(
        self,
        *,
        user: str = "guest",
        password: str = "guest",
        virtual_host: str = "/",
        channel_max: int = 2047,
        frame_max: int = 131072,
        heartbeat: int = 0,
        properties: dict[str, Any] | None = None,
    ) -> None:
        """From the protocol header to connection.open-ok."""
        self.send(0, amqp.ProtocolHeader())
        self.expect(0, amqp.Connection.Start)
        own = {"product": "amqpcodec tests", "capabilities": CAPABILITIES}
        start_ok = amqp.Connection.StartOk(
            client_properties=own if properties is None else properties,
            mechanism="PLAIN",
            response=f"\0{user}\0{password}".encode(),
            locale="en_US",
        )
        self.call(0, start_ok, amqp.Connection.Tune)
        tune_ok = amqp.Connection.TuneOk(
            channel_max=channel_max, frame_max=frame_max, heartbeat=heartbeat
        )
        self.send(0, tune_ok)
        self.frame_max = self.decoder.frame_max = frame_max
        self.call(0, amqp.Connection.Open(virtual_host=virtual_host), amqp.Connection.OpenOk)
        self.open = True

    def open_channel(self, channel: int = 1) -> int:
        self.call(channel, amqp.Channel.Open(), amqp.Channel.OpenOk)
        return channel

    def declare(self, channel: int = 1, **arguments: Any) -> str:
        """A queue that goes with the connection; its name is the broker's."""
        method = amqp.Queue.Declare(exclusive=True, arguments=arguments)
        return self.call(channel, method, amqp.Queue.DeclareOk).queue

    def count(self, queue: str, channel: int = 1) -> int:
        """The messages ready in a queue now. What was published just before may still be missing:
        the broker's queues answer this question ahead of their other work.
        """
        method = amqp.Queue.Declare(queue=queue, passive=True)
        return self.call(channel, method, amqp.Queue.DeclareOk).message_count

    def wait_for_count(self, queue: str, expected: int, channel: int = 1) -> None:
        """Wait until a queue holds that many ready messages."""
        deadline = time.monotonic() + TIMEOUT
        while (count := self.count(queue, channel)) != expected:
            assert time.monotonic() < deadline, f"{count} messages instead of {expected}"
            time.sleep(0.01)

    def get(self, queue: str, channel: int = 1, *, no_ack: bool = True) -> Any:
        self.send(channel, amqp.Basic.Get(queue=queue, no_ack=no_ack))
        return self.expect_content(channel, amqp.Basic.GetOk)

    def expect_empty(self, queue: str, channel: int = 1) -> None:
        """Nothing to get; the broker answers behind all that this channel has done before."""
        method = amqp.Basic.Get(queue=queue)
        assert self.call(channel, method, amqp.Basic.GetEmpty) == amqp.Basic.GetEmpty()

    def expect_channel_close(self, channel: int = 1) -> Any:
        """The broker closes the channel; agree."""
        close = self.expect(channel, amqp.Channel.Close)
        self.send(channel, amqp.Channel.CloseOk())
        return close

    def expect_close(self) -> Any:
        """The broker closes the connection; agree, and see the socket end."""
        close = self.expect(0, amqp.Connection.Close)
        self.open = False
        self.send(0, amqp.Connection.CloseOk())
        self.expect_eof()
        return close

    def close(self) -> None:
        """Close the connection in good order; what was still under way is read and left."""
        self.open = False
        self.send(0, amqp.Connection.Close(reply_code=200, reply_text="done"))
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline:
            if type(self.receive()[1]) is amqp.Connection.CloseOk:
                self.expect_eof()
                return
        raise AssertionError("no connection.close-ok")

    # --- afterwards

    def encode_received(self) -> bytes:
        """All that was decoded, encoded again: the broker's own bytes, if nothing was lost."""
        frames = []
        for channel, event in self.received:
            if type(event) is amqp.Message:
                content = (channel, event.method, event.properties, event.body)
                frames.append(amqp.encode_message(*content, frame_max=self.frame_max))
            else:
                frames.append(amqp.encode(channel, event))
        return b"".join(frames)

    def finish(self) -> None:
        """End of a test: close, and compare what was received with what it encodes to."""
        try:
            if self.open:
                self.close()
            again = self.encode_received()
            if again != self.inbound:
                raise AssertionError(first_difference(bytes(self.inbound), again))
        finally:
            self.socket.close()


def brief(event: Any) -> str:
    """An event for a failure's text; bodies can be megabytes."""
    if type(event) is amqp.Message:
        return f"Message({event.method!r:.300}, ..., body of {len(event.body)})"
    return f"{event!r:.500}"


def first_difference(came: bytes, again: bytes) -> str:
    """Where a re-encoded stream leaves the original."""
    place = next(
        (i for i, (a, b) in enumerate(zip(came, again, strict=False)) if a != b),
        min(len(came), len(again)),
    )
    low = max(place - 24, 0)
    return (
        f"received {len(came)} bytes, encoded {len(again)}; they differ at {place}:\n"
        f"  received {came[low : place + 24].hex(' ')}\n"
        f"  encoded  {again[low : place + 24].hex(' ')}"
    )
