"""A small AMQP 1.0 client for the live tests: a plain socket, and amqpcodec for every byte."""

from __future__ import annotations

import socket
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from amqpcodec import v1_0 as amqp

TIMEOUT = 15.0
S = amqp.Symbol


class Client:
    """One connection, with its sessions and links numbered as the caller says.

    What came and was not asked for stays in `waiting`; all bytes stay in `inbound`.
    """

    def __init__(self, address: tuple[str, int], *, frame_max: int = 65536) -> None:
        self.frame_max = frame_max
        self.decoder = amqp.MessageDecoder(frame_max=512)
        self.waiting: deque[tuple[int, Any]] = deque()
        self.inbound = bytearray()
        self.outbound_max = 512
        self.socket = socket.create_connection(address, timeout=TIMEOUT)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.deliveries: dict[int, int] = {}
        self.states: dict[tuple[int, int], Any] = {}

    # --- bytes

    def send(self, channel: int, *frames: Any) -> None:
        """Frames out."""
        self.socket.sendall(b"".join(amqp.encode(channel, frame) for frame in frames))

    def feed(self, chunk: bytes) -> None:
        """Bytes in."""
        self.inbound += chunk
        self.waiting.extend(self.decoder.feed(chunk))

    def wait(self, kind: type | tuple[type, ...], channel: int | None = None) -> Any:
        """The next of this kind; what is of another kind is left for later. Ends in time."""
        return self.wait_for(
            lambda at, event: isinstance(event, kind) and channel in (None, at), str(kind)
        )

    def wait_for(self, predicate: Callable[[int, Any], bool], what: str = "") -> Any:
        """The next event for which `predicate(channel, event)` is true."""
        deadline = time.monotonic() + TIMEOUT
        checked_count = 0
        while True:
            for i in range(checked_count, len(self.waiting)):
                channel, event = self.waiting[i]
                if predicate(channel, event):
                    del self.waiting[i]
                    return event
            checked_count = len(self.waiting)
            seconds = deadline - time.monotonic()
            if seconds <= 0:
                raise TimeoutError(f"no {what}; there is {list(self.waiting)[-3:]!r}")
            self.socket.settimeout(seconds)
            chunk = self.socket.recv(1 << 16)
            if not chunk:
                raise EOFError(f"closed before {what}; there is {list(self.waiting)[-3:]!r}")
            self.feed(chunk)

    def quiet(self, kind: type, seconds: float = 0.3) -> None:
        """Nothing of this kind comes for a while."""
        deadline = time.monotonic() + seconds
        while (remaining := deadline - time.monotonic()) > 0:
            self.socket.settimeout(remaining)
            try:
                self.feed(self.socket.recv(1 << 16))
            except TimeoutError:
                break
        assert not [event for _, event in self.waiting if isinstance(event, kind)]

    # --- the layers

    def sasl(self, mechanism: str, response: bytes | None = None) -> Any:
        """The SASL layer, up to its outcome."""
        self.send(0, amqp.ProtocolHeader(3, 1, 0, 0))
        header = self.wait(amqp.ProtocolHeader)
        assert header == amqp.ProtocolHeader(3, 1, 0, 0)
        offered = self.wait(amqp.SaslMechanisms).sasl_server_mechanisms
        assert mechanism in offered, offered
        self.send(0, amqp.SaslInit(S(mechanism), response, "localhost"))
        outcome = self.wait(amqp.SaslOutcome)
        return outcome.code

    def open(self, **more: Any) -> Any:
        """The AMQP layer; the peer's open."""
        self.send(0, amqp.ProtocolHeader(0, 1, 0, 0))
        assert self.wait(amqp.ProtocolHeader) == amqp.ProtocolHeader(0, 1, 0, 0)
        self.send(
            0,
            amqp.Open(
                "amqpcodec-live", "localhost", max_frame_size=self.frame_max, channel_max=20, **more
            ),
        )
        peer_open = self.wait(amqp.Open)
        self.decoder.frame_max = self.frame_max
        self.outbound_max = min(peer_open.max_frame_size, 65536)
        return peer_open

    def begin(self, channel: int = 0, window: int = 2048) -> Any:
        """A session; the peer's begin."""
        self.send(channel, amqp.Begin(None, 0, window, window, handle_max=100))
        self.deliveries[channel] = 0
        return self.wait(amqp.Begin)

    def sender(self, address: Any, handle: int = 0, channel: int = 0, **more: Any) -> Any:
        """A link to a node, with its first credit; the peer's attach."""
        target = amqp.Target(address) if isinstance(address, str) else address
        name = f"to-{address}-{channel}-{handle}" if isinstance(address, str) else f"tx-{handle}"
        self.send(
            channel,
            amqp.Attach(
                name, handle, amqp.Role.SENDER, source=amqp.Source("here"), target=target,
                initial_delivery_count=0, **more,
            ),
        )  # fmt: skip
        attach = self.wait_for(lambda _, e: isinstance(e, amqp.Attach) and e.name == name, name)
        self.wait_for(lambda _, e: isinstance(e, amqp.Flow) and bool(e.link_credit), "credit")
        return attach

    def receiver(
        self, address: str, handle: int = 1, channel: int = 0, credit: int = 0, **more: Any
    ) -> Any:
        """A link from a node; the peer's attach."""
        name = f"from-{address}-{channel}-{handle}"
        self.send(
            channel,
            amqp.Attach(
                name, handle, amqp.Role.RECEIVER, source=amqp.Source(address),
                target=amqp.Target("here"), **more,
            ),
        )  # fmt: skip
        attach = self.wait_for(lambda _, e: isinstance(e, amqp.Attach) and e.name == name, name)
        if credit:
            self.credit(credit, handle, channel)
        return attach

    def credit(self, credit: int, handle: int = 1, channel: int = 0, count: int = 0) -> None:
        """Let so many deliveries come. count: those that came before."""
        self.send(
            channel,
            amqp.Flow(0, 100_000, 0, 100_000, handle, delivery_count=count, link_credit=credit),
        )

    def transfer(
        self,
        message: Any,
        handle: int = 0,
        channel: int = 0,
        settled: bool = False,
        state: Any = None,
    ) -> int:
        """Send a message in as many transfers as it takes; its delivery-id."""
        number = self.deliveries[channel]
        self.deliveries[channel] += 1
        transfer = amqp.Transfer(
            handle, number, number.to_bytes(4, "big"), 0, settled=settled, state=state
        )
        self.socket.settimeout(TIMEOUT)
        self.socket.sendall(
            amqp.encode_message(channel, transfer, message, frame_max=self.outbound_max)
        )
        return number

    def outcome(self, number: int, channel: int = 0) -> Any:
        """The state that the peer gave a delivery of ours."""
        while (channel, number) not in self.states:
            disposition = self.wait(amqp.Disposition, channel)  # of one delivery or of several
            last = disposition.first if disposition.last is None else disposition.last
            for delivery_id in range(disposition.first, last + 1):
                self.states[channel, delivery_id] = disposition.state
        return self.states[channel, number]

    def settle(self, delivery: Any, state: Any, channel: int = 0) -> None:
        """Give a delivery that came its outcome."""
        number = delivery.transfer.delivery_id
        self.send(channel, amqp.Disposition(amqp.Role.RECEIVER, number, number, True, state))

    def close(self) -> None:
        """Close in order, and check that all that came encodes to its very bytes."""
        try:
            self.send(0, amqp.Close())
            self.wait(amqp.Close)
        finally:
            self.socket.close()
        self.check()

    def check(self) -> None:
        """Every frame that came, encoded again, is its bytes."""
        decoder = amqp.Decoder(frame_max=0)
        again = b"".join(
            amqp.encode(channel, frame) for channel, frame in decoder.feed(bytes(self.inbound))
        )
        assert again == bytes(self.inbound)
