"""py-amqp's drop-in, piece by piece: seams, frames in and out, the transport, strictness."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Iterator
from types import FunctionType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from amqpcodec import _dropins
from amqpcodec.types import RawValue

pytest.importorskip("amqp")

from amqp import Message, abstract_channel, connection, method_framing, sasl, serialization, spec
from amqp.exceptions import FrameSyntaxError, UnexpectedFrame
from amqp.transport import TCPTransport

from amqpcodec.compat import CompatWarning
from amqpcodec.compat import amqp as drop_in
from tests.dropins.amqp_pipe import OctetPipe
from tests.support.growth import block_growth


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    drop_in.uninstall()
    drop_in.install()
    yield
    drop_in.uninstall()


def test_uninstall_puts_the_very_objects_back() -> None:
    holders = [serialization, method_framing, abstract_channel, connection, sasl]
    drop_in.uninstall()
    before = [dict(vars(holder)) for holder in holders]
    defaults = connection.Connection.__init__.__defaults__
    classes = dict(serialization.PROPERTY_CLASSES)
    drop_in.install()
    assert abstract_channel.loads is serialization.loads is not before[0]["loads"]
    assert connection.Connection.__init__.__defaults__[-2] is method_framing.frame_handler
    assert serialization.PROPERTY_CLASSES[60] is not classes[60]
    drop_in.uninstall()
    assert [dict(vars(holder)) for holder in holders] == before
    assert connection.Connection.__init__.__defaults__ is defaults
    assert classes == serialization.PROPERTY_CLASSES
    assert type(vars(TCPTransport.__mro__[1])["read_frame"]) is FunctionType


def test_warnings_name_what_somebody_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    drop_in.uninstall()
    stock = serialization.PROPERTY_CLASSES[60]

    def theirs(*arguments: Any) -> Any:
        return stock(*arguments)

    monkeypatch.setitem(serialization.PROPERTY_CLASSES, 60, theirs)
    with pytest.warns(CompatWarning, match=r"^PROPERTY_CLASSES\[60\] is not amqp's own"):
        drop_in.install()


@pytest.mark.parametrize(
    ("layout", "values"),
    [
        ("Bssbb", [0, "orders", "größe", True, False]),
        ("bbbbbbbbbb", [True, False, 1, None, 0, 7, True, True, False, True]),
        ("FsSs", [{"n": [1, 2**40, -(2**31), 1.5, None, b"b"]}, None, b"bytes", ""]),
        ("bob", [True, 7, True]),
        ("LlBo", [2**64 - 1, 2**32 - 1, 65535, 255]),
        ("sss", ["fewer"]),
        ("", []),
    ],
)
def test_arguments(layout: str, values: list[Any]) -> None:
    before = drop_in.fallbacks()
    octets = serialization.dumps(layout, values)
    read = serialization.loads(layout[: len(values)], octets + b"more", 0)
    assert drop_in.fallbacks() == before
    drop_in.uninstall()
    assert serialization.dumps(layout, values) == octets
    assert serialization.loads(layout[: len(values)], octets + b"more", 0) == read


def handled(frames: list[Any]) -> list[Any]:
    """What a frame handler hands over, messages as (frame, body, properties)."""
    got: list[Any] = []
    own = SimpleNamespace(bytes_recv=0)
    take = method_framing.frame_handler(own, lambda *a: got.append(a))
    for frame in frames:
        take(frame)
    assert own.bytes_recv == len(frames)
    return [
        (*one[:3], one[3] and (type(one[3]), one[3].body, one[3].properties, one[3].ready))
        for one in got
    ]


def written(frame_max: int, *frames: Any) -> list[bytes]:
    """What a frame writer writes, call by call."""
    got: list[bytes] = []
    own = SimpleNamespace(frame_max=frame_max, bytes_sent=0)
    write = method_framing.frame_writer(
        own, SimpleNamespace(write=lambda octets: got.append(bytes(octets)))
    )
    for frame in frames:
        write(*frame)
    assert own.bytes_sent == len(frames)
    return got


def split_frames(stream: bytes) -> list[Any]:
    frames = []
    while stream:
        size = int.from_bytes(stream[3:7], "big")
        frames.append((stream[0], int.from_bytes(stream[1:3], "big"), stream[7 : 7 + size]))
        stream = stream[size + 8 :]
    return frames


def message(body: Any, **more: Any) -> Message:
    return Message(body, application_headers={"n": 5, "t": "text"}, delivery_mode=2, **more)


DELIVER = (60, 60)
ARGUMENTS = b"\x01t\0\0\0\0\0\0\0\x05\0\x01e\x01k"


@pytest.mark.parametrize("size", [0, 1, 100, 4087, 4088, 4089, 20000])
@pytest.mark.parametrize("kind", [bytes, str])
def test_a_message_there_and_back(size: int, kind: Any) -> None:
    body: Any = "b" * size if kind is str else b"b" * size
    ack = (1, 7, (60, 80), b"\0" * 9, None)
    frames = [(1, 3, DELIVER, ARGUMENTS, message(body)), ack, (8, 0, None, None, None)]
    before = drop_in.fallbacks()
    ours = written(4096, *frames)
    assert drop_in.fallbacks() == before
    events = handled(split_frames(b"".join(ours)))
    assert drop_in.fallbacks() == before
    drop_in.uninstall()
    assert written(4096, *frames) == ours
    assert handled(split_frames(b"".join(ours))) == events
    assert [one[1] for one in events] == [DELIVER, (60, 80)]
    assert events[0][3][1] == b"b" * size or (size == 0 and not events[0][3][1])


@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_bodies_of_several_pieces_and_channels(kind: Any) -> None:
    ours = b"".join(
        written(500, *((1, n, DELIVER, ARGUMENTS, message(b"b" * 1200)) for n in (1, 2)))
    )
    frames = [
        (one[0], one[1], kind(one[2]) if one[0] == 3 else one[2]) for one in split_frames(ours)
    ]
    half = len(frames) // 2
    mixed = [one for pair in zip(frames[:half], frames[half:], strict=True) for one in pair]
    events = handled(mixed)
    drop_in.uninstall()
    assert handled(mixed) == events
    assert [one[3][1] for one in events] == [b"b" * 1200] * 2


def test_one_thread_writes_at_a_time() -> None:
    order: list[bytes] = []

    def slowly(octets: Any) -> None:
        order.append(bytes(octets))
        time.sleep(0.001)

    own = SimpleNamespace(frame_max=500, bytes_sent=0)
    write = method_framing.frame_writer(own, SimpleNamespace(write=slowly))

    def publish(channel: int) -> None:
        for _ in range(5):
            write(1, channel, (60, 40), b"args", message(b"b" * 1200))

    threads = [threading.Thread(target=publish, args=(n,)) for n in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    channels = [octets[2] for octets in order]
    messages = [channels[at : at + 5] for at in range(0, len(channels), 5)]
    assert [len(set(one)) for one in messages] == [1] * 20
    assert own.bytes_sent == 20


def test_a_lock_of_anothers_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    lock = MagicMock()
    monkeypatch.setattr(method_framing.threading, "Lock", lambda: lock)
    written(4096, (8, 0, None, None, None))
    assert (lock.acquire.call_count, lock.release.call_count) == (1, 1)


def test_a_write_that_fails_frees_the_writer() -> None:
    own = SimpleNamespace(frame_max=500, bytes_sent=0)
    write = method_framing.frame_writer(own, SimpleNamespace(write=lambda _: 1 / 0))
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            write(8, 0, None, None, None)
    assert own.bytes_sent == 0


def test_versions_that_have_no_lock_or_write_no_empty_body(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before 5.4.0, or 5.4.2: ours holds no lock, and leaves an empty body that does not fit."""
    codec = _dropins.AmqpCodec
    monkeypatch.setattr(_dropins, "AmqpCodec", lambda *parts: codec(*parts[:-2], False, False))
    drop_in.uninstall()
    lock = MagicMock()
    monkeypatch.setattr(method_framing.threading, "Lock", lambda: lock)
    drop_in.install()
    lock.reset_mock()
    small, large = ((1, 3, DELIVER, b"x" * size, message(b"")) for size in (50, 600))
    before = drop_in.fallbacks()
    small_octets = written(500, small)
    assert (lock.mock_calls, drop_in.fallbacks()) == ([], before)
    large_octets = written(500, large)
    assert drop_in.fallbacks() == {**before, "unusual value": before.get("unusual value", 0) + 1}
    drop_in.uninstall()
    assert (written(500, small), written(500, large)) == (small_octets, large_octets)


def test_a_frame_out_of_turn() -> None:
    own = SimpleNamespace(bytes_recv=0)
    take = method_framing.frame_handler(own, print)
    with pytest.raises(UnexpectedFrame, match="Received frame 3 while expecting type: 1"):
        take((3, 1, b"body"))
    assert take((8, 0, b"")) is False


def test_a_message_of_ones_own_is_asked() -> None:
    class Own(Message):
        def _serialize_properties(self) -> bytes:
            return b"\x10\x00\x01"

    stream = b"".join(written(4096, (1, 1, (60, 40), b"args", Own("body"))))
    assert split_frames(stream)[1][2][12:] == b"\x10\x00\x01"


class Pipe(OctetPipe):
    """A transport over bytes in memory that come in pieces, or not at all."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces
        super().__init__()

    def receive(self, size: int) -> bytes:
        if not self.pieces:
            raise TimeoutError
        piece = self.pieces.pop(0)
        if len(piece) > size:
            self.pieces.insert(0, piece[size:])
        return piece[:size]


def read_all(pipe: Pipe) -> list[Any]:
    """Frames up to a timeout."""
    got = []
    try:
        while True:
            got.append(pipe.read_frame())
    except TimeoutError:
        return got


FRAMES = b"\x01\0\x01\0\0\0\x05hello\xce\x08\0\0\0\0\0\0\xce"


@pytest.mark.parametrize("step", [1, 3, 7, 8, 12, 13, 100])
def test_frames_in_pieces(step: int) -> None:
    pipe = Pipe([FRAMES[at : at + step] for at in range(0, len(FRAMES), step)])
    assert pipe.read_frame() == (1, 1, b"hello")
    assert pipe.read_frame() == (8, 0, b"")


@pytest.mark.parametrize("offset", range(len(FRAMES)))
def test_a_timeout_loses_nothing(offset: int) -> None:
    pipe = Pipe([FRAMES[:offset]] if offset else [])
    got = []
    got += read_all(pipe)
    pipe.pieces = [FRAMES[offset:]]
    while len(got) < 2:
        got.append(pipe.read_frame())
    assert got == [(1, 1, b"hello"), (8, 0, b"")]
    assert pipe.connected


def test_a_frame_without_its_end() -> None:
    with pytest.raises(UnexpectedFrame, match="Received frame_end 0x21 while expecting 0xce"):
        Pipe([FRAMES[:12] + b"!"]).read_frame()


def test_one_value_does_not_end_the_stream() -> None:
    pairs = b"\x01nI\0\0\0\x05\x01pzqq"
    octets = b"\x28\0" + len(pairs).to_bytes(4, "big") + pairs + b"\x09"
    with pytest.raises(FrameSyntaxError):
        serialization.decode_properties_basic(octets, 0)
    drop_in.install(strict=False)
    properties, end = serialization.decode_properties_basic(octets, 0)
    assert properties == {
        "application_headers": {"n": 5, "p": RawValue("z", b"qq")},
        "priority": 9,
    }
    assert end == len(octets)
    assert Message("", **properties)._serialize_properties() == octets
    drop_in.install(strict=True)
    with pytest.raises(FrameSyntaxError):
        serialization.decode_properties_basic(octets, 0)


def test_sasl_writes_a_table() -> None:
    before = drop_in.calls()
    theirs = sasl.AMQPLAIN("guest", "secret").start(None)
    assert drop_in.calls() == before + 1
    drop_in.uninstall()
    assert sasl.AMQPLAIN("guest", "secret").start(None) == theirs


def test_nothing_leaks() -> None:
    frames = [(1, 3, DELIVER, ARGUMENTS, message(b"b" * 100, message_id="m" * 50))]
    stream = split_frames(b"".join(written(4096, *frames)))

    def once() -> None:
        written(4096, *frames)
        handled(stream)
        serialization._write_table({"k": [1, {"n": None}]}, io.BytesIO().write, [])
        try:
            serialization.loads("F", b"\0\0\0\x03\x01kz", 0)
        except FrameSyntaxError:
            pass
        try:
            serialization.dumps("F", [{"k": object()}])
        except FrameSyntaxError:
            pass

    assert block_growth(once, 1000) < 200


def test_spec_is_what_the_tests_take_it_for() -> None:
    assert spec.Basic.Deliver == DELIVER
