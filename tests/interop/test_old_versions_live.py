"""Live sessions in AMQP 0-8 and 0-9, and RabbitMQ's answers to protocol headers."""

from __future__ import annotations

import contextlib
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from amqpcodec import negotiate, v0_8, v0_9, v0_9_1
from tests.interop.client import TIMEOUT, brief, first_difference


class Session:
    """One connection in one version: methods out, whole messages in, every byte kept."""

    def __init__(self, address: tuple[str, int], amqp: Any, header: bytes) -> None:
        self.amqp = amqp
        self.decoder = amqp.MessageDecoder()
        self.pending_events: deque[tuple[int, Any]] = deque()
        self.inbound = b""
        self.received: list[tuple[int, Any]] = []
        self.socket = socket.create_connection(address, timeout=TIMEOUT)
        self.socket.sendall(header)

    def send(self, channel: int, method: Any) -> None:
        self.socket.sendall(self.amqp.encode(channel, method))

    def expect(self, channel: int, kind: type) -> Any:
        deadline = time.monotonic() + TIMEOUT
        while not self.pending_events:
            assert time.monotonic() < deadline
            chunk = self.socket.recv(65536)
            assert chunk, "the broker has closed the connection"
            self.inbound += chunk
            for item in self.decoder.feed(chunk):
                self.pending_events.append(item)
                self.received.append(item)
        on, event = self.pending_events.popleft()
        assert (on, type(event)) == (channel, kind), f"channel {on}: {brief(event)}"
        return event

    def call(self, channel: int, method: Any, reply: type) -> Any:
        """Send a method and receive its answer, which must be one of those that the class names."""
        assert reply in type(method).RESPONSES
        assert "client" in type(method).SENT_BY
        assert "server" in reply.SENT_BY
        self.send(channel, method)
        return self.expect(channel, reply)

    def encode_received(self) -> bytes:
        """What was decoded, encoded again."""
        out = []
        for channel, event in self.received:
            if type(event) is self.amqp.Message:
                content = (channel, event.method, event.properties, event.body)
                out.append(self.amqp.encode_message(*content))
            else:
                out.append(self.amqp.encode(channel, event))
        return b"".join(out)

    def open(self) -> Any:
        """From connection.start to an open channel 1; the start frame."""
        amqp = self.amqp
        start = self.expect(0, amqp.Connection.Start)
        own = amqp.Connection.StartOk(
            client_properties={"product": "amqpcodec tests", "version": 1},
            mechanism="PLAIN",
            response=b"\0guest\0guest",
            locale="en_US",
        )
        self.send(0, own)
        self.expect(0, amqp.Connection.Tune)
        self.send(0, amqp.Connection.TuneOk(channel_max=16, frame_max=131072))
        self.call(0, amqp.Connection.Open(virtual_host="/"), amqp.Connection.OpenOk)
        self.call(1, amqp.Channel.Open(), amqp.Channel.OpenOk)
        return start

    def close(self) -> None:
        amqp = self.amqp
        self.call(1, amqp.Channel.Close(200, "done"), amqp.Channel.CloseOk)
        self.call(0, amqp.Connection.Close(200, "done"), amqp.Connection.CloseOk)
        again = self.encode_received()
        assert again == self.inbound, first_difference(self.inbound, again)


@pytest.fixture
def session(broker: tuple[str, int]) -> Iterator[Callable[[ModuleType, bytes], Session]]:
    sessions: list[Session] = []

    def make(amqp: ModuleType, header: bytes) -> Session:
        sessions.append(Session(broker, amqp, header))
        return sessions[-1]

    yield make
    for one in sessions:
        with contextlib.suppress(OSError):
            one.socket.close()


# Version and header -> the module that speaks; RabbitMQ takes 0-9's header for 0-9-1, whose methods
# are byte for byte those of 0-9 as far as this session goes.
SESSIONS = [
    pytest.param(v0_8, b"AMQP\x01\x01\x08\x00", id="0-8"),
    pytest.param(v0_8, b"AMQP\x01\x01\x09\x01", id="0-8 by the letter"),
    pytest.param(v0_9_1, b"AMQP\x01\x01\x00\x09", id="header of 0-9"),
    pytest.param(v0_9, b"AMQP\x01\x01\x00\x09", id="0-9"),
]


@pytest.mark.parametrize(("amqp", "header"), SESSIONS)
def test_session(
    amqp: Any,
    header: bytes,
    session: Callable[[ModuleType, bytes], Session],
    unique: Callable[[str], str],
) -> None:
    negotiation = negotiate(header, letter=amqp is v0_9)
    assert negotiation.protocol is amqp
    client = session(amqp, header)
    start = client.open()
    assert (start.version_major, start.version_minor) == negotiation.start
    assert start.server_properties["product"] == "RabbitMQ"
    ticket: dict[str, Any] = {}
    if amqp is not v0_9_1:
        request = amqp.Access.Request(realm="/data", active=True, write=True, read=True)
        ticket = {"ticket": client.call(1, request, amqp.Access.RequestOk).ticket}

    exchange, queue = unique("exchange"), unique("queue")
    kind = {"exchange": exchange, "type": "direct", "auto_delete": True, **ticket}
    client.call(1, amqp.Exchange.Declare(**kind), amqp.Exchange.DeclareOk)
    settings = {"x-max-length": 100, "x-overflow": "drop-head"}
    declare = amqp.Queue.Declare(queue=queue, exclusive=True, arguments=settings, **ticket)
    assert client.call(1, declare, amqp.Queue.DeclareOk) == amqp.Queue.DeclareOk(queue)
    bind = amqp.Queue.Bind(queue=queue, exchange=exchange, routing_key="key", **ticket)
    client.call(1, bind, amqp.Queue.BindOk)

    headers = {"text": "größe", "number": -7, "nested": {"deep": {"": 2147483647}}}
    properties = amqp.Basic.Properties(
        content_type="text/plain",
        headers=headers,
        delivery_mode=2,
        priority=3,
        correlation_id="c",
        reply_to="r",
        expiration="60000",
        message_id="m",
        timestamp=1700000000,
        type="t",
        user_id="guest",
        app_id="a",
        cluster_id="k",
    )
    publish = amqp.Basic.Publish(exchange=exchange, routing_key="key", **ticket)
    for body in (b"", b"body", bytes(200_000)):
        client.socket.sendall(amqp.encode_message(1, publish, properties, body))
    consume = amqp.Basic.Consume(queue=queue, consumer_tag="tag", **ticket)
    assert client.call(1, consume, amqp.Basic.ConsumeOk).consumer_tag == "tag"
    for number, body in enumerate((b"", b"body", bytes(200_000)), 1):
        event = client.expect(1, amqp.Message)
        assert event.body == body
        assert event.properties.headers == headers
        assert (
            event.properties
            == amqp.decode(amqp.encode(1, amqp.Header(0, properties)))[2].properties
        )
        assert event.method == amqp.Basic.Deliver("tag", number, False, exchange, "key")
    client.send(1, amqp.Basic.Ack(delivery_tag=3, multiple=True))
    client.call(1, amqp.Basic.Cancel(consumer_tag="tag"), amqp.Basic.CancelOk)

    # A message that nobody takes comes back; one is fetched; then there is none.
    mandatory = amqp.Basic.Publish(exchange=exchange, routing_key="no", mandatory=True, **ticket)
    client.socket.sendall(amqp.encode_message(1, mandatory, None, b"lost"))
    returned = client.expect(1, amqp.Message)
    assert type(returned.method) is amqp.Basic.Return
    assert (returned.method.reply_code, returned.body) == (312, b"lost")
    client.socket.sendall(amqp.encode_message(1, publish, None, b"one"))
    get = amqp.Basic.Get(queue=queue, no_ack=True, **ticket)
    client.send(1, get)
    fetched = client.expect(1, amqp.Message)
    assert type(fetched.method) is amqp.Basic.GetOk
    assert (fetched.method.message_count, fetched.body) == (0, b"one")
    assert client.call(1, get, amqp.Basic.GetEmpty) == amqp.Basic.GetEmpty()

    client.call(1, amqp.Tx.Select(), amqp.Tx.SelectOk)
    client.call(1, amqp.Tx.Commit(), amqp.Tx.CommitOk)
    unbind = amqp.Queue.Unbind(queue=queue, exchange=exchange, routing_key="key", **ticket)
    client.call(1, unbind, amqp.Queue.UnbindOk)
    client.call(1, amqp.Queue.Purge(queue=queue, **ticket), amqp.Queue.PurgeOk)
    client.call(1, amqp.Queue.Delete(queue=queue, **ticket), amqp.Queue.DeleteOk)
    client.close()


@pytest.mark.parametrize("amqp", [v0_8, v0_9], ids=["0-8", "0-9"])
def test_an_error_closes_the_channel(
    amqp: Any, session: Callable[[ModuleType, bytes], Session]
) -> None:
    client = session(amqp, amqp.PROTOCOL_HEADER)
    client.open()
    client.send(1, amqp.Queue.Declare(queue="amqpcodec.no.such.queue", passive=True))
    close = client.expect(1, amqp.Channel.Close)
    assert (close.reply_code, close.class_id, close.method_id) == (404, 50, 10)
    assert close.reply_code == amqp.NOT_FOUND
    client.send(1, amqp.Channel.CloseOk())
    client.call(1, amqp.Channel.Open(), amqp.Channel.OpenOk)
    client.close()


@pytest.mark.parametrize("broker_says", ["0-8+rabbitmq"])
def test_recover_as_rabbitmq_has_it(
    broker_says: str, session: Callable[[ModuleType, bytes], Session], unique: Callable[[str], str]
) -> None:
    """What the published 0-8 lacks: a recover that is answered."""
    import amqpcodec

    amqp: Any = amqpcodec.protocol(broker_says)
    client = session(amqp, amqp.PROTOCOL_HEADER)
    client.open()
    queue = unique("queue")
    declare = amqp.Queue.Declare(queue=queue, exclusive=True)
    client.call(1, declare, amqp.Queue.DeclareOk)
    client.socket.sendall(amqp.encode_message(1, amqp.Basic.Publish(routing_key=queue), None, b"x"))
    client.send(1, amqp.Basic.Get(queue=queue))
    assert not client.expect(1, amqp.Message).method.redelivered
    client.call(1, amqp.Basic.Recover(requeue=True), amqp.Basic.RecoverOk)
    client.send(1, amqp.Basic.Get(queue=queue))
    assert client.expect(1, amqp.Message).method.redelivered
    client.close()


@pytest.mark.parametrize(
    "header",
    [
        b"AMQP\x01\x01\x00\x0a",
        b"AMQP\x00\x00\x09\x00",
        b"AMQP\x01\x01\x08\x01",
        b"AMQP\x00\x00\x0a\x00",
        b"HELO    ",
    ],
)
def test_what_is_refused_is_answered_as_negotiate_says(
    header: bytes, broker: tuple[str, int]
) -> None:
    negotiation = negotiate(header)
    assert not negotiation.accepted
    with socket.create_connection(broker, timeout=TIMEOUT) as peer:
        peer.sendall(header)
        octets = b""
        with contextlib.suppress(ConnectionResetError):  # behind its answer
            while chunk := peer.recv(100):
                octets += chunk
    assert octets == negotiation.reply
