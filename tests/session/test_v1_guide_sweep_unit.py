"""The programs of the guide of AMQP 1.0's session, with every end at every place.

A conversation is recorded between two engines; then its bytes come again, cut after every byte,
with what ends it right after them in the same read. The programs give a result or a typed error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from amqpcodec import AMQPCodecError
from amqpcodec import v1_0 as amqp
from amqpcodec.session import RemoteProtocolError, v1
from tests.paths import REPO

PAGE = (REPO / "docs" / "session-1.0.md").read_text(encoding="utf-8")
PROGRAMS = [
    example for example in re.findall(r"```python\n(.*?)```", PAGE, re.S) if "\ndef " in example
]
NAMES: dict[str, Any] = {}
for _program in PROGRAMS:
    exec(compile(_program, "session-1.0.md", "exec"), NAMES)

ADDRESS = ("peer", 5672)
ERROR = amqp.Error("amqp:resource-deleted", "gone")
#: What ends it: frames of the peer on channel 0, where the link has handle 0.
ENDINGS: dict[str, tuple[Any, ...]] = {
    "EOF": (),
    "detach": (amqp.Detach(0, True, ERROR),),
    "detach, to attach again": (amqp.Detach(0),),
    "end": (amqp.End(ERROR),),
    "close": (amqp.Close(ERROR),),
    "close without a reason": (amqp.Close(),),
    "all": (amqp.Detach(0, True, ERROR), amqp.End(ERROR), amqp.Close(ERROR)),
    "a mistake": (amqp.Open("twice"),),
}


class Wire:
    """In the place of a socket: gives the reads, and keeps what is sent."""

    def __init__(self, reads: list[bytes], *, broken: bool = False) -> None:
        self.reads = iter(reads)
        self.broken = broken  # whether sending fails once all reads were given
        self.ended = False
        self.sent = bytearray()

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.ended = True

    def sendall(self, data: bytes) -> None:
        if self.ended and self.broken:
            raise BrokenPipeError("the peer is gone")
        self.sent += data

    def recv(self, _: int) -> bytes:
        data = next(self.reads, b"")
        self.ended = self.ended or not data
        return data


class Talk(Wire):
    """An engine at the other end. reads: what it said, read by read."""

    def __init__(self, react: Any, **options: Any) -> None:
        super().__init__([])
        self.engine: Any = v1.Connection("server", container_id="peer", **options)
        self.react = react
        self.chunks: list[bytes] = []

    def recv(self, _: int) -> bytes:
        data = bytes(self.sent)
        self.sent.clear()
        for event in self.engine.receive_data(data):
            self.react(self.engine, event)
        self.chunks.append(self.engine.data_to_send())
        return self.chunks[-1]


def run(name: str, wire: Wire, *arguments: Any) -> Any:
    """A program of the guide with a wire in the place of the network."""
    program = NAMES[name]
    network = type("network", (), {"create_connection": staticmethod(lambda _: wire)})
    program.__globals__["socket"] = network
    return program(ADDRESS, *arguments)


def takes_messages(engine: Any, event: Any) -> None:
    """A server that gives more credit before it tells the outcome, in one write."""
    match event:
        case v1.AuthenticationRequested():
            engine.authenticate()
        case v1.ConnectionRequested():
            engine.accept()
        case v1.SessionRequested(session=session):
            session.accept()
        case v1.LinkRequested(link=link):
            link.accept()
            link.flow(1)
        case v1.DeliveryReceived(link=link, delivery=delivery):
            link.flow(1)
            delivery.accept()
            link.flow(2)


def gives_messages(engine: Any, event: Any) -> None:
    match event:
        case v1.ConnectionRequested():
            engine.accept()
        case v1.SessionRequested(session=session):
            session.accept()
        case v1.LinkRequested(link=link):
            link.accept()
        case v1.CreditChanged(link=link, credit=credit):
            for number in range(min(credit, 3)):
                link.send(amqp.Message(b"%d" % number), settled=number == 1)


def record(name: str, react: Any, *arguments: Any, **options: Any) -> tuple[list[bytes], Any]:
    talk = Talk(react, **options)
    result = run(name, talk, *arguments)
    return [data for data in talk.chunks if data], result


def places(reads: list[bytes]) -> Iterator[tuple[list[bytes], bytes]]:
    """(the reads before, the first bytes of the next one): after every byte."""
    for index, read in enumerate(reads):
        for count in range(1 if index else 0, len(read) + 1):
            yield reads[:index], read[:count]


def at_the_border_of_a_frame(data: bytes) -> bool:
    at = 0
    while at < len(data):
        size = data[at : at + 4]
        if len(size) < 4:
            return False
        at += 8 if size == b"AMQP" else int.from_bytes(size, "big")
    return at == len(data)


def frames(data: bytes, kind: type) -> list[Any]:
    """Frames of a kind in what a client sent. Its protocol headers are among them."""
    decoder = amqp.Decoder(0)
    return [frame for _, frame in decoder.feed(data) if type(frame) is kind]


def sweep(reads: list[bytes], ending: str) -> Iterator[tuple[list[bytes], bytes]]:
    """(the reads, what came of the conversation), with an ending wherever it fits."""
    data = b"".join(amqp.encode(0, frame) for frame in ENDINGS[ending])
    for before, part in places(reads):
        if not data or at_the_border_of_a_frame(part):
            yield [*before, part + data], b"".join(before) + part


SENDING, SENT = record("send_one", takes_messages, "q", b"x", sasl=v1.SaslServer(("PLAIN",), None))
RECEIVING, RECEIVED = record("receive_some", gives_messages, "q", 3)


def test_the_conversations() -> None:
    """Credit and the outcome come in one read; three messages in another."""
    assert amqp.Accepted() == SENT
    kinds = [type(frame) for _, frame in amqp.Decoder(0, opened=True).feed(SENDING[-1])]
    assert kinds == [amqp.Flow, amqp.Disposition, amqp.Flow]
    assert RECEIVED == [b"0", b"1", b"2"]
    kinds = [type(frame) for _, frame in amqp.Decoder(0, opened=True).feed(RECEIVING[-1])]
    assert kinds == [amqp.Begin, amqp.Attach, *[amqp.Transfer] * 3]


def attempt(name: str, wire: Wire, *arguments: Any) -> tuple[Any, Exception | None]:
    """(what a program returns, None) or (None, its typed error)."""
    try:
        return run(name, wire, *arguments), None
    except (OSError, AMQPCodecError) as error:
        return None, error


@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_message_is_sent_once_or_the_error_says_why(ending: str, broken: bool) -> None:
    disposition = amqp.encode(0, amqp.Disposition(amqp.Role.RECEIVER, 0, None, True, SENT))
    settled_at = b"".join(SENDING).index(disposition) + len(disposition)
    errors = results = 0
    for reads, came in sweep(SENDING, ending):
        wire = Wire(reads, broken=broken)
        result, error = attempt("send_one", wire, "q", b"x")
        sent = len(frames(bytes(wire.sent), amqp.Transfer))
        assert sent <= 1
        if error is None:
            results += 1
            assert (result, len(came) >= settled_at) == (SENT, True)
            continue
        errors += 1
        assert len(came) < settled_at or isinstance(error, RemoteProtocolError)
        if "has no outcome" in str(error):
            assert sent == 1
        elif "was not sent" in str(error):
            assert sent == 0
    assert errors
    assert results or ending == "a mistake"


@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.parametrize("ending", ENDINGS)
def test_messages_come_or_the_error_says_why(ending: str, broken: bool) -> None:
    complete = b"".join(RECEIVING)
    errors = results = 0
    for reads, came in sweep(RECEIVING, ending):
        result, error = attempt("receive_some", Wire(reads, broken=broken), "q", 3)
        if error is None:
            results += 1
            assert (result, came) == (RECEIVED, complete)
        else:
            errors += 1
            assert came != complete or isinstance(error, RemoteProtocolError)
    assert errors
    assert results or ending == "a mistake"


@pytest.mark.parametrize("program", ["send_one", "receive_some"])
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("at_once", [False, True])
def test_a_server_of_the_guide_answers_whatever_comes(
    program: str, ending: str, at_once: bool
) -> None:
    """What clients said, again: with every end at every place, read by read and at once."""
    chunks: list[bytes] = []
    options = {"sasl": v1.SaslServer(("PLAIN",), None)} if program == "send_one" else {}

    class Listening(Talk):
        def sendall(self, data: bytes) -> None:
            chunks.append(bytes(data))
            super().sendall(data)

    react = takes_messages if program == "send_one" else gives_messages
    run(program, Listening(react, **options), "q", b"x" if program == "send_one" else 3)
    chunks = [b"".join(chunks)] if at_once else [chunk for chunk in chunks if chunk]
    took = set()
    for reads, _ in sweep(chunks, ending):
        engine: Any = v1.Connection("server", **options)
        bodies: list[bytes] = []
        for read in reads:
            try:
                events = engine.receive_data(read)
            except RemoteProtocolError as error:
                events = error.events
            for event in events:
                if isinstance(event, v1.AuthenticationRequested):
                    engine.authenticate()
                NAMES["answer"](engine, event, bodies)
            engine.data_to_send()
        for event in engine.receive_eof():
            NAMES["answer"](engine, event, bodies)
        took.add(tuple(bodies))
    if program == "send_one" and not at_once:
        assert took == {(), (b"x",)}
    else:  # a client that does not wait is told what it did too early
        assert took == {()}


def test_a_server_of_the_guide_refuses_what_it_does_not_do() -> None:
    client: Any = v1.Connection("client")
    server: Any = v1.Connection("server")
    bodies: list[bytes] = []

    def pump() -> list[Any]:
        events: list[Any] = []
        for _ in range(4):
            for event in server.receive_data(client.data_to_send()):
                NAMES["answer"](server, event, bodies)
            events += client.receive_data(server.data_to_send())
        return events

    pump()
    session = client.begin()
    links = [
        session.attach_sender("a", amqp.Target(dynamic=True)),
        session.attach_receiver("b", "q"),
        session.attach_controller("c"),
    ]
    closed = [event for event in pump() if isinstance(event, v1.LinkClosed)]
    assert [event.link for event in closed] == links
    assert {event.error.condition for event in closed} == {"amqp:not-implemented"}
    sender = session.attach_sender("d", "q")
    for number in range(30):
        pump()
        sender.send(amqp.Message(b"%d" % number))
    pump()
    assert bodies == [b"%d" % number for number in range(30)]
