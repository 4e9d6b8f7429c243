"""py-amqp: what the drop-in keeps from frame to frame is never older than the client's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("amqp")

from amqp import Message, method_framing, serialization

from amqpcodec.compat import amqp as drop_in
from tests.dropins.amqp_pipe import OctetPipe

ACK = (1, 7, b"\0\x3c\0\x50" + b"\0" * 9)
DELIVER = (1, 7, b"\0\x3c\0\x3c\x01t\0\0\0\0\0\0\0\x05\0\x01e\x01k")
HEADER = (2, 7, b"\0\x3c\0\0\0\0\0\0\0\0\0\x01\x10\0\x02")
BODY = (3, 7, b"b")
FRAME = b"\x01\0\x01\0\0\0\x05hello\xce"


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    drop_in.uninstall()
    yield
    drop_in.uninstall()


def same(run: Callable[[], Any]) -> Any:
    """What a function gives, with the drop-in and without."""
    drop_in.uninstall()
    stock = run()
    drop_in.install()
    before = drop_in.calls()
    ours = run()
    assert ours == stock
    assert drop_in.calls() > before
    return ours


def exact(value: Any) -> Any:
    return type(value), value


COUNTS = [0, 255, 256, 257, 2**30 - 3, 2**60 - 3, 2**64 - 3, -3, -(2**40), True, 0.5]


@pytest.mark.parametrize("start", COUNTS, ids=repr)
def test_frames_are_counted_from_anything(start: Any) -> None:
    def counted() -> list[Any]:
        # a number that nobody else has
        own = SimpleNamespace(bytes_recv=type(start)(str(start)) if start is not True else start)
        take = method_framing.frame_handler(own, lambda *_: None)
        counts = []
        for _ in range(6):
            take(ACK)
            counts.append(exact(own.bytes_recv))
        return counts

    same(counted)


@pytest.mark.parametrize("start", [1000, 2**40])
def test_a_count_that_was_read_stays_as_it_was(start: int) -> None:
    def counted() -> list[Any]:
        own = SimpleNamespace(bytes_recv=int(str(start)), bytes_sent=int(str(start)), frame_max=500)
        take = method_framing.frame_handler(own, lambda *_: None)
        write = method_framing.frame_writer(own, SimpleNamespace(write=lambda _: None))
        read: list[Any] = []
        for _ in range(5):
            take(ACK)
            take(ACK)
            write(1, 7, (60, 80), b"\0" * 9, None)
            write(1, 7, (60, 80), b"\0" * 9, None)
            read.append((own.bytes_recv, own.bytes_sent))
        return read

    assert [one for one, _ in same(counted)] == [start + 2 * n for n in range(1, 6)]


def test_a_count_that_is_set_or_taken_away_between_frames() -> None:
    def counted() -> list[Any]:
        own = SimpleNamespace(bytes_recv=int("1000"))
        take = method_framing.frame_handler(own, lambda *_: None)
        counts: list[Any] = []
        for value in (None, int("5000"), 0.5, True, int("7000")):
            if value is not None:
                own.bytes_recv = value
            for _ in range(3):
                take(ACK)
            counts.append(exact(own.bytes_recv))
        del own.bytes_recv
        with pytest.raises(AttributeError):
            take(ACK)
        own.bytes_recv = int("9000")
        take(ACK)
        return [*counts, own.bytes_recv]

    assert same(counted)[-1] == 9001


def test_a_count_of_the_class_or_behind_a_property() -> None:
    class Watched:
        frame_max = 500
        bytes_sent = 1000
        counts: list[Any]

        @property
        def bytes_recv(self) -> int:
            return 1000

        @bytes_recv.setter
        def bytes_recv(self, value: int) -> None:
            self.counts.append(value)

    def counted() -> Any:
        own = Watched()
        own.counts = []
        take = method_framing.frame_handler(own, lambda *_: None)
        write = method_framing.frame_writer(own, SimpleNamespace(write=lambda _: None))
        for _ in range(3):
            take(ACK)
            write(1, 7, (60, 80), b"\0" * 9, None)
        return own.counts, vars(own)["bytes_sent"], Watched.bytes_sent

    assert same(counted) == ([1001, 1001, 1001], 1003, 1000)


def test_one_class_gets_a_property_between_frames() -> None:
    def counted() -> Any:
        class Plain:
            pass

        own: Any = Plain()
        own.bytes_recv = int("1000")
        take = method_framing.frame_handler(own, lambda *_: None)
        take(ACK)
        take(ACK)
        counts: list[int] = []
        Plain.bytes_recv = property(lambda _: 5, lambda _, value: counts.append(value))  # type: ignore[attr-defined]
        take(ACK)
        return counts, vars(own)

    assert same(counted) == ([6], {"bytes_recv": 1002})


def test_a_larger_frame_is_agreed_on_between_frames() -> None:
    def sizes() -> list[int]:
        got: list[int] = []
        own = SimpleNamespace(bytes_sent=0, frame_max=500)
        write = method_framing.frame_writer(
            own, SimpleNamespace(write=lambda octets: got.append(len(octets)))
        )
        for most in (500, 500, 4096, 300, 300):
            own.frame_max = most
            write(1, 7, (60, 40), b"args", Message(b"b" * 400))
        return got

    assert same(sizes)


@pytest.mark.parametrize("channels", [(7, 7, 7), (1, 2, 1, 2), (1, 300, 1, 300), (1, 1.0, True)])
def test_frames_of_channels_in_turn(channels: tuple[Any, ...]) -> None:
    def events() -> list[Any]:
        got: list[Any] = []
        own = SimpleNamespace(bytes_recv=0)
        take = method_framing.frame_handler(
            own, lambda n, kind, _, one: got.append((exact(n), kind, one and one.body))
        )
        for kind, _, payload in (ACK, DELIVER, HEADER, BODY, ACK, DELIVER):
            for channel in dict.fromkeys(channels):
                # a number that is equal, but another object, is the same channel
                take((kind, type(channel)(str(channel)), payload))
        return got

    same(events)


def test_readers_and_messages_that_are_changed_between_messages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Own(Message):
        pass

    def read() -> list[Any]:
        got: list[Any] = []
        own = SimpleNamespace(bytes_recv=0)
        take = method_framing.frame_handler(own, lambda *event: got.append(event[3]))

        def message() -> None:
            for frame in (DELIVER, HEADER, BODY):
                take(frame)

        message()
        with monkeypatch.context() as patched:
            message()
            patched.setattr(method_framing, "Message", Own)
            message()
            patched.undo()
            message()
            patched.setitem(serialization.PROPERTY_CLASSES, 60, lambda _, end: ({"own": 1}, end))
            message()
        message()
        return [(type(one), one.body, one.properties) for one in got]

    messages = same(read)
    assert [one[0] for one in messages] == [Message, Message, Own, Message, Message, Message]
    assert [one[2] for one in messages] == [
        *[{"delivery_mode": 2}] * 4,
        {"own": 1},
        {"delivery_mode": 2},
    ]


class Pipe(OctetPipe):
    """A transport over bytes in memory."""

    def __init__(self, name: str, octets: bytes) -> None:
        self.name = name
        self.remaining_bytes = octets
        self.readers: list[Any] = []
        super().__init__()

    def receive(self, size: int) -> bytes:
        self.readers.append(self.name)
        piece, self.remaining_bytes = self.remaining_bytes[:size], self.remaining_bytes[size:]
        return piece


def test_transports_in_turn_and_their_changes() -> None:
    def read() -> list[Any]:
        one, other = Pipe("one", FRAME * 5), Pipe("other", FRAME * 5)
        frames = [pipe.read_frame() for pipe in (one, other, one, one, other)]
        own = one._quick_recv
        one._quick_recv = lambda size: own(size).replace(b"e", b"E")
        frames.append(one.read_frame())
        one._read = lambda size, initial=False: (
            FRAME[:7] if initial else b"12345\xce"[-size:][:size]
        )
        frames.append(one.read_frame())
        del one._read
        one._quick_recv = own
        frames.append(one.read_frame())
        assert set(one.readers) == {"one"}
        assert set(other.readers) == {"other"}
        return frames

    assert len(same(read)) == 8


@pytest.mark.parametrize(
    ("layout", "octets"),
    [("sLbss", b"\x01t\0\0\0\0\0\0\0\x05\x03\x01e\x01k"), ("bLb", b"\x01" + b"\0" * 8 + b"\x01")],
)
def test_formats_in_turn(layout: str, octets: bytes) -> None:
    def read() -> list[Any]:
        def of(form: Any, data: bytes) -> Any:
            try:
                values, end = serialization.loads(form, data, 0)
                return [exact(value) for value in values], end
            except Exception as error:
                return type(error)

        forms = [layout, layout, "".join([*layout]), layout.encode(), "Lb", layout, layout]
        complete = [of(form, octets) for form in forms]
        return complete + [of(layout, octets[:n]) for n in range(len(octets))]

    same(read)
