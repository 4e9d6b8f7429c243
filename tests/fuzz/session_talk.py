"""What fuzzing of sessions shares: inputs as scripts, and the promises of an engine of any version.

A script is a conversation: each step is a frame of the peer, made from the model and valid by
itself, or a call of the application. Frames gather in a flight, which is read before the next call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from random import Random
from typing import Any, TypeVar
from zlib import crc32

from amqpcodec.session import LocalProtocolError, RemoteProtocolError
from tests.fuzz.mutators import below
from tests.fuzz.target import chunks

T = TypeVar("T")

#: Events that a frame or a call may give, and bytes that may be sent for it, besides what was
#: outstanding: deliveries, requests, channels and links end once.
EVENTS, BYTES = 3, 2_000


class Script:
    """Bytes as choices; those that are missing are zero."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def __bool__(self) -> bool:
        return self.at < len(self.data)

    def byte(self) -> int:
        """The next byte."""
        at = self.at
        self.at = at + 1
        return self.data[at] if at < len(self.data) else 0

    def pick(self, options: Sequence[T]) -> T:
        """One of them; zero picks the first."""
        return options[self.byte() % len(options)]

    def likely(self, options: Sequence[T]) -> T:
        """The first of them more often than not."""
        byte = self.byte()
        return options[0 if byte < 140 else byte % len(options)]


class Talk:
    """An engine, its application and its peer, and what they may do to each other.

    Subclasses say how a flight is written, and what the application does with events.

    Attributes:
        module: the protocol's.
        closed_event: the last of all events.
    """

    engine: Any
    module: Any
    closed_event: type

    def __init__(self, script: Script, pieces: Random | None = None) -> None:
        """pieces: cuts the flights; None: each is read at once."""
        self.script = script
        self.pieces = pieces
        self.flight: list[bytes] = []
        self.steps = 0  # frames and calls
        self.outstanding = 0  # what has an event of its own when it ends
        self.payload = 0  # bytes that the application sends
        self.events = 0
        self.log: list[Any] = []
        self.sent: list[bytes] = []
        self.failed = False

    def step(self) -> None:
        """Do what the next bytes of the script say."""
        raise NotImplementedError

    @staticmethod
    def name_of(value: Any) -> Any:
        """A value of an event, comparable between two engines."""
        return repr(value)

    def summary(self, event: Any) -> tuple[Any, ...]:
        """An event as values that can be compared between two engines."""
        values = [self.name_of(getattr(event, field.name)) for field in fields(event)]
        return type(event).__name__, *values

    def give(self, frame: bytes) -> None:
        """Add a frame to the flight."""
        self.steps += 1
        self.flight.append(frame)

    def land(self) -> None:
        """Let the engine read the flight, then the application its events."""
        data, self.flight = b"".join(self.flight), []
        if not data or self.failed:
            return
        events: list[Any] = []
        for piece in [data] if self.pieces is None else chunks(data, self.pieces):
            try:
                events += self.engine.receive_data(piece)
            except RemoteProtocolError as error:
                events += error.events
                self.check_failure(error)
                break
        self.events += len(events)
        for event in events:
            self.check(event)
        self.log += events
        for event in events:
            self.answer(event)
        self.take_output()

    def take_output(self) -> None:
        """What the engine wants to send, which it forgets then."""
        before = self.engine.bytes_to_send
        data = self.engine.data_to_send()
        assert len(data) == before
        assert self.engine.bytes_to_send == 0
        self.sent.append(data)

    def call(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """A call of the application. What is refused changes nothing."""
        self.steps += 1
        before = self.engine.bytes_to_send
        try:
            return function(*arguments, **options)
        except LocalProtocolError:
            assert self.engine.bytes_to_send == before, "refused, and something was sent"
            return None

    def check_failure(self, error: RemoteProtocolError) -> None:
        """A fault of the peer is final, and the last event says so."""
        self.failed = True
        assert type(error.events[-1]) is self.closed_event, error.events
        assert self.engine.closed
        again = None
        try:
            self.engine.receive_data(b"x")
        except RemoteProtocolError as raised:
            again = raised
        assert again is not None, "the error came once only"
        assert again.events == []

    def check(self, event: Any) -> None:
        """What must hold of an event; subclasses count outcomes."""

    def answer(self, event: Any) -> None:
        """What the application does with an event."""

    def finish(self) -> None:
        """The end of the transport, and what must hold of the talk as a whole."""
        self.land()
        last = []
        if not self.failed:
            last = self.engine.receive_data(b"")  # what the application's calls brought about
            assert self.engine.receive_data(b"") == []
        last += self.engine.receive_eof()
        self.events += len(last)
        for event in last:
            self.check(event)
        self.log += last
        assert self.engine.closed
        assert self.engine.receive_eof() == []
        self.take_output()
        assert self.engine.next_timeout(1e9) is None
        assert self.engine.handle_timeout(2e9) == []
        assert self.engine.data_to_send() == b""
        assert self.events <= EVENTS * self.steps + self.outstanding + 10, self.events
        size = sum(map(len, self.sent))
        assert size <= BYTES * (self.steps + 3) + 2 * self.payload, size


# --- the promises of an input ---------------------------------------------------------------------


def talk_of(kind: type[Talk], data: bytes, *, in_pieces: bool = False) -> Talk:
    """The talk of an input, to its end. cut: its flights come in pieces."""
    script = Script(data)
    talk = kind(script, pieces_of(data) if in_pieces else None)
    while script:
        talk.step()
        if talk.engine.closed and talk.steps > 3:
            break
    talk.finish()
    return talk


def quick(kind: type[Talk], data: bytes) -> None:
    """The promises of one talk."""
    talk_of(kind, data)


def run(kind: type[Talk], data: bytes) -> None:
    """Also: chunking changes nothing, and what was sent can be read."""
    talk = talk_of(kind, data)
    same(talk, talk_of(kind, data, in_pieces=True))
    decoder = talk.module.Decoder(0)
    frames = list(decoder.feed(b"".join(talk.sent)))
    assert decoder.pending == 0
    assert len(frames) <= 3 * talk.steps + 2 * talk.outstanding + 10


def same(one: Talk, other: Talk) -> None:
    """Two talks with one script, read in other pieces, reported and sent the same."""
    events = [[talk.summary(event) for event in talk.log] for talk in (one, other)]
    assert events[0] == events[1], [
        pair for pair in zip(*events, strict=False) if pair[0] != pair[1]
    ][:1]
    assert b"".join(one.sent) == b"".join(other.sent)


def pieces_of(data: bytes) -> Random:
    """How to cut the flights of an input."""
    return Random(crc32(data))


def mutate(data: bytes, rng: Random) -> bytes:
    """Steps repeated, moved, dropped or changed; the head stays at times."""
    script = bytearray(data or b"\0")
    for _ in range(1 + below(rng, 3)):
        place = below(rng, len(script)) if script else 0
        size = 1 + below(rng, 24)
        how = below(rng, 6)
        if how == 0:
            script[place:place] = bytes(rng.getrandbits(8) for _ in range(size))
        elif how == 1:
            script[place:place] = script[place : place + size]
        elif how == 2:
            del script[place : place + size]
        elif how == 3:
            other = below(rng, len(script)) if script else 0
            script[place:place] = script[other : other + size]
        elif script:
            script[place] = below(rng, 256) if how == 4 else below(rng, 8)
    return bytes(script)


def random_scripts(seed: int, count: int, size: int) -> Iterable[bytes]:
    """Scripts to begin with."""
    rng = Random(seed)
    for number in range(count):
        yield bytes([number % 256]) + bytes(rng.getrandbits(8) for _ in range(below(rng, size)))
