"""pika's drop-in, piece by piece: install and uninstall, seams, versions, the receive buffer."""

from __future__ import annotations

import struct
import sys
import threading
import warnings
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import pytest

import amqpcodec
from amqpcodec.types import RawValue

pytest.importorskip("pika")

import pika
from pika import data, exceptions, frame, spec
from pika.connection import Connection

from amqpcodec.compat import CompatError, CompatWarning
from amqpcodec.compat import pika as drop_in
from tests.support import amqp091_wire as w
from tests.support.growth import block_growth

SEAMS = [
    (frame, "decode_frame"),
    (frame.Method, "marshal"),
    (frame.Header, "marshal"),
    (frame.Body, "marshal"),
    (frame.Heartbeat, "marshal"),
    (data, "encode_short_string"),
    (data, "decode_short_string"),
    (data, "encode_table"),
    (data, "decode_table"),
    (data, "encode_value"),
    (data, "decode_value"),
    (Connection, "_on_data_available"),
    (Connection, "_send_message"),
]


def fallback_count() -> int:
    """How many calls were left to pika's own code."""
    return sum(drop_in.fallbacks().values())


POISON = b"\x01pz"  # a name, and a tag that nobody knows


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    drop_in.uninstall()
    yield
    drop_in.uninstall()


def test_uninstall_puts_the_very_objects_back() -> None:
    before = [vars(holder)[name] for holder, name in SEAMS]
    drop_in.install()
    assert all(
        vars(holder)[name] is not was for (holder, name), was in zip(SEAMS, before, strict=True)
    )
    assert drop_in.installed()
    drop_in.uninstall()
    assert all(vars(holder)[name] is was for (holder, name), was in zip(SEAMS, before, strict=True))
    assert all(type(was) is FunctionType for was in before)
    drop_in.uninstall()  # nothing to do


def test_install_twice_is_once() -> None:
    drop_in.install()
    first = frame.decode_frame
    drop_in.install()
    assert frame.decode_frame is first
    drop_in.uninstall()
    assert type(frame.decode_frame) is FunctionType


def test_threads_install_once() -> None:
    gate = threading.Barrier(8)
    functions = []

    def work() -> None:
        gate.wait()
        drop_in.install()
        functions.append(frame.decode_frame)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(functions) == 8
    assert len(set(map(id, functions))) == 1


def test_a_change_of_somebody_else_survives_uninstall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame, "decode_frame", frame.decode_frame)  # undone at the end
    drop_in.install()
    ours = frame.decode_frame

    def theirs(octets: bytes) -> Any:
        return ours(octets)

    frame.decode_frame = theirs
    drop_in.uninstall()
    assert frame.decode_frame is theirs
    assert frame.decode_frame(b"\x08\0\0\0\0\0\0\xce")[0] == 8  # and what it kept still works


def test_a_seam_that_somebody_changed_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    stock = frame.Body.marshal

    def theirs(self: Any) -> bytes:
        return stock(self) + b"theirs"

    monkeypatch.setattr(frame.Body, "marshal", theirs)
    with pytest.warns(CompatWarning, match=r"Body\.marshal is not pika's own"):
        drop_in.install()
    assert frame.Body(1, b"x").marshal().endswith(b"theirs")
    assert type(frame.Header.marshal) is not FunctionType
    drop_in.uninstall()
    assert frame.Body.marshal is theirs


def test_calls_are_counted() -> None:
    drop_in.install()
    calls, fallbacks = drop_in.calls(), fallback_count()
    octets = frame.Method(1, spec.Basic.Ack(5)).marshal()
    assert frame.decode_frame(octets)[1].method.delivery_tag == 5
    assert (drop_in.calls() - calls, fallback_count() - fallbacks) == (2, 0)
    with pytest.raises(KeyError):
        frame.decode_frame(octets.replace(b"\0\x3c\0\x50", b"\0\x3c\0\xff"))
    assert (drop_in.calls() - calls, fallback_count() - fallbacks) == (3, 1)
    drop_in.uninstall()
    assert drop_in.calls() - calls == 3
    frame.decode_frame(octets)
    assert drop_in.calls() - calls == 3


@pytest.mark.parametrize("name", ["a.b", "Pika", "pika ", ""])
def test_no_such_drop_in(name: str) -> None:
    with pytest.raises(ValueError, match="no drop-in for"):
        amqpcodec.install("pika", name)
    assert not drop_in.installed()


def test_install_by_name() -> None:
    amqpcodec.install("pika")
    assert drop_in.installed()


def test_the_client_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "pika"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(CompatError, match="pika, which is not installed"):
        drop_in.install()


def test_an_unknown_version_is_compared_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pika, "__version__", "9.9.9")
    warning_pattern = r"knows pika 1\.2\.0, .*1\.4\.4, and this is 9\.9\.9"
    with pytest.warns(CompatWarning, match=warning_pattern):
        drop_in.install()
    octets = frame.Method(1, spec.Basic.Ack(5)).marshal()
    frame.decode_frame(octets)
    assert fallback_count() <= drop_in.calls() - 2


def test_a_version_that_reads_otherwise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pika, "__version__", "9.9.9")
    stock = spec.BasicProperties.decode

    def decode(self: Any, encoded: bytes, offset: int = 0) -> Any:
        stock(self, encoded, offset)
        self.priority = None
        return self

    monkeypatch.setattr(spec.BasicProperties, "decode", decode)
    before = frame.decode_frame
    with pytest.raises(CompatError, match=r"gives other values .* The first: read frame"):
        drop_in.install()
    assert frame.decode_frame is before


def test_a_seam_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(data, "encode_value")
    with pytest.raises(CompatError, match="encode_value"):
        drop_in.install()
    assert type(frame.decode_frame) is FunctionType


def test_the_known_version_gives_no_warning() -> None:
    assert pika.__version__ in drop_in.VERSIONS
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drop_in.install()


# ---- a client whose floats are doubles, as pika's main branch has them ----


def test_floats_as_the_version_writes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    stock_encode, stock_decode = data.encode_value, data.decode_value

    def encode_value(pieces: list[bytes], value: Any) -> int:
        if isinstance(value, float):
            pieces.append(b"d" + struct.pack(">d", value))
            return 9
        return stock_encode(pieces, value)

    def decode_value(encoded: bytes, offset: int) -> Any:
        if encoded[offset : offset + 1] == b"d":
            return struct.unpack_from(">d", encoded, offset + 1)[0], offset + 9
        return stock_decode(encoded, offset)

    monkeypatch.setattr(data, "encode_value", encode_value)
    monkeypatch.setattr(data, "decode_value", decode_value)
    with pytest.warns(CompatWarning):  # these two are not pika's own
        drop_in.install()
    octets = frame.Header(1, 0, spec.BasicProperties(headers={"f": 0.1})).marshal()
    assert frame.decode_frame(octets)[1].properties.headers == {"f": 0.1}
    assert fallback_count() == 0 or drop_in.calls() > fallback_count()


def test_floats_of_1_4_4() -> None:
    drop_in.install()
    with pytest.raises(exceptions.UnsupportedAMQPFieldException):
        frame.Header(1, 0, spec.BasicProperties(headers={"f": 0.1})).marshal()
    assert frame.decode_frame(
        w.headers_frame(b"\x01fd\x40\x05\xbf\x0a\x8b\x14\x57\x69", 5, priority=9)
    )[1].properties.headers == {"f": 2}


# ---- strict=False ----


def test_one_value_does_not_end_the_stream() -> None:
    octets = w.headers_frame(b"\x01aI\0\0\0\x05" + POISON + b"abc", 5, priority=9)
    drop_in.install()
    with pytest.raises(exceptions.InvalidFieldTypeException):
        frame.decode_frame(octets)
    drop_in.install(strict=False)
    consumed, content_header = frame.decode_frame(octets)
    assert consumed == len(octets)
    assert content_header.properties.headers == {"a": 5, "p": RawValue("z", b"abc")}
    assert content_header.properties.priority == 9
    drop_in.install()
    with pytest.raises(exceptions.InvalidFieldTypeException):
        frame.decode_frame(octets)


@pytest.mark.parametrize(
    ("table", "headers"),
    [
        # values of a known size that pika cannot hold: what follows them is read
        (b"\x01tT" + b"\xff" * 8 + b"\x01nI\0\0\0\x01", {"t": RawValue("T", b"\xff" * 8), "n": 1}),
        (
            b"\x01dd\x7f\xf8\0\0\0\0\0\0\x01nV",
            {"d": RawValue("d", b"\x7f\xf8\0\0\0\0\0\0"), "n": None},
        ),
        # lengths beyond the end, in the table itself and within
        (b"\x01sS\0\0\0\x09abc", {"s": RawValue("S", b"\0\0\0\x09abc")}),
        (
            b"\x01fF\0\0\0\x05\x01pzqq\x01nt\x01",
            {"f": {"p": RawValue("z", b"qq")}, "n": True},
        ),
        (b"\x01aA\0\0\0\x04b\x01zq\x01nt\x01", {"a": [1, RawValue("z", b"q")], "n": True}),
        (b"\x01iI\0\0", {"i": RawValue("I", b"\0\0")}),
        (b"\x01nt\x01\x09ab", {"n": True, "": RawValue(None, b"\x09ab")}),
    ],
)
def test_what_a_raw_value_holds(table: bytes, headers: dict[str, Any]) -> None:
    drop_in.install(strict=False)
    _, content_header = frame.decode_frame(w.headers_frame(table, 5, priority=9))
    assert content_header.properties.headers == headers
    assert list(content_header.properties.headers) == list(headers)


def test_a_raw_value_is_written_as_it_came() -> None:
    drop_in.install(strict=False)
    octets = w.headers_frame(b"\x01aI\0\0\0\x05" + POISON + b"abc", 5, priority=9)
    assert frame.decode_frame(octets)[1].marshal() == octets


# ---- the receive buffer ----


class Reader(Connection):
    """A connection without a socket that keeps what it was given."""

    def __init__(self) -> None:
        self._frame_buffer = b""
        self.bytes_received = 0
        self.got: list[Any] = []
        self.then: Any = None

    def _process_frame(self, frame_value: Any) -> None:
        self.got.append(frame_value)
        if self.then:
            self.then()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


for missing in Connection.__abstractmethods__ if hasattr(Connection, "__abstractmethods__") else ():
    setattr(Reader, missing, lambda self, *a, **k: None)
Reader.__abstractmethods__ = frozenset()

ACKS = [frame.Method(1, spec.Basic.Ack(tag)) for tag in range(1, 6)]
STREAM = b"".join(ack.marshal() for ack in ACKS)


@pytest.mark.parametrize("step", [1, 7, 20, 21, 22, 1000])
def test_any_pieces(step: int) -> None:
    drop_in.install()
    reader = Reader()
    for at in range(0, len(STREAM), step):
        reader._on_data_available(STREAM[at : at + step])
        assert reader.bytes_received + len(reader._frame_buffer) == min(at + step, len(STREAM))
    assert reader.got == ACKS
    assert type(reader._frame_buffer) is bytes


def test_a_callback_that_raises_leaves_the_rest() -> None:
    drop_in.install()
    reader = Reader()

    def fail() -> None:
        if len(reader.got) == 2:
            raise LookupError

    reader.then = fail
    with pytest.raises(LookupError):
        reader._on_data_available(STREAM)
    assert reader._frame_buffer == STREAM[len(STREAM) // 5 * 2 :]
    reader.then = None
    reader._on_data_available(b"")
    assert reader.got == ACKS


@pytest.mark.parametrize("empty", [b"", bytearray()])
def test_a_reset_in_a_callback_drops_the_rest(empty: bytes | bytearray) -> None:
    drop_in.install()
    reader = Reader()

    def reset() -> None:
        if len(reader.got) == 3:
            reader._frame_buffer = empty

    reader.then = reset
    reader._on_data_available(STREAM)
    assert reader.got == ACKS[:3]
    assert reader._frame_buffer == b""


def test_a_call_within_a_call_goes_on_where_the_first_is() -> None:
    drop_in.install()
    reader = Reader()

    def more() -> None:
        if len(reader.got) == 2:
            reader._on_data_available(ACKS[0].marshal())

    reader.then = more
    reader._on_data_available(STREAM)
    assert reader.got == [*ACKS, ACKS[0]]
    assert reader._frame_buffer == b""


def test_a_bad_frame_stays_at_the_front() -> None:
    drop_in.install()
    reader = Reader()
    bad = STREAM[:-1] + b"x"
    with pytest.raises(exceptions.InvalidFrameError):
        reader._on_data_available(bad)
    assert len(reader.got) == 4
    assert reader._frame_buffer == bad[len(STREAM) // 5 * 4 :]


def test_a_reader_of_ones_own_is_asked() -> None:
    class Own(Reader):
        def _read_frame(self) -> Any:
            buffer_lengths.append(len(self._frame_buffer))
            return super()._read_frame()

    buffer_lengths: list[int] = []
    drop_in.install()
    reader = Own()
    reader._on_data_available(STREAM)
    assert reader.got == ACKS
    assert len(buffer_lengths) == 5


# ---- memory ----


def test_nothing_leaks() -> None:
    drop_in.install()
    good = frame.Header(
        1, 5, spec.BasicProperties(headers={"k": ["v", {"n": 2**40}]}, message_id="m" * 50)
    )
    octets = good.marshal()
    bad = octets[:-3] + b"\xff" + octets[-2:]

    def once() -> None:
        frame.decode_frame(octets)[1].marshal()
        frame.decode_frame(octets[:-1])
        try:
            frame.decode_frame(bad)
        except Exception:
            pass
        try:
            frame.Header(1, 5, spec.BasicProperties(headers={"k": object()})).marshal()
        except exceptions.UnsupportedAMQPFieldException:
            pass

    assert block_growth(once, 2000) < 200
