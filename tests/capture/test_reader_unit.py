"""The compiled reader by itself: what it refuses, and that one call keeps the others out."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest

import amqpcodec
from amqpcodec import _capture, v0_9, v1_0
from amqpcodec import v0_9_1 as amqp
from tests.support import recording as make
from tests.support import wrap
from tests.support.tls_talk import CLIENT, SERVER

#: A TLS record of a handshake, which is what connections over TLS begin with.
HELLO = b"\x16\3\1\0\x04abcd"
TLS = make.pcap(make.packets([(CLIENT, HELLO), (SERVER, HELLO)]))
BEAT = amqp.encode(0, amqp.Heartbeat())
PLAIN = make.pcap(make.packets([(CLIENT, amqp.encode(1, amqp.Basic.Ack(7)) * 3)]))
KEYS = make.block("<", 10, b"KSLT" + (4).to_bytes(4, "little") + b"keys")


class Between:
    """Layers that give nothing; what is set in place of a method is called instead."""

    brought = False

    def add_secrets(self, data: bytes) -> None:
        pass

    def receive(self, *args: Any) -> Sequence[tuple[int, bytes | int | None]]:
        return ()

    lost = receive

    def end(self, connection: int) -> None:
        pass

    def store(self) -> bytes:
        return b""

    def load(self, state: bytes) -> None:
        pass

    def counts(self) -> dict[str, Any]:
        return {}


def reader(ports: Any = (5671, 5672), batch_rows: int = 2, **more: Any) -> _capture.CaptureReader:
    return _capture.CaptureReader(
        amqp.PROTOCOL, ["file", "frame"], ports, True, True, batch_rows, **more
    )


def opened(octets: bytes, **more: Any) -> _capture.CaptureReader:
    core = reader(**more)
    core.begin("x", "x")
    core.feed(octets)
    return core


def read_all(core: _capture.CaptureReader) -> None:
    while core.advance() or core.advance(True):
        core.take()


CALLS: dict[str, Callable[[_capture.CaptureReader], Any]] = {
    "begin": lambda core: core.begin("y", "y"),
    "end": lambda core: core.end(),
    "peek": lambda core: core.peek(),
    "feed": lambda core: core.feed(b""),
    "advance": lambda core: core.advance(),
    "first": lambda core: core.first(PLAIN, len(PLAIN), True),
    "take": lambda core: core.take(),
    "take_rows": lambda core: core.take_rows(),
    "state": lambda core: core.state(),
    "resume": lambda core: core.resume(b""),
    "resets": lambda core: core.resets(),
    "release": lambda core: core.release(),
    "open_tap": lambda core: core.open_tap("y", "y"),
    "feed_tap": lambda core: core.feed_tap(0, b""),
    "advance_taps": lambda core: core.advance_taps(),
    "close_tap": lambda core: core.close_tap(0),
}


def test_a_call_keeps_the_others_out() -> None:
    """As from another thread: packets are read without the GIL."""
    between = Between()
    refused = []

    def receive(*args: Any) -> Sequence[Any]:
        for name, call in CALLS.items():
            with pytest.raises(RuntimeError, match="this reader is in use"):
                call(core)
            refused.append(name)
        return ()

    between.receive = receive  # type: ignore[method-assign]
    core = opened(TLS, layers=between)
    assert core.advance() is False
    assert refused == [*CALLS] * 2
    core.end()
    assert core.advance(True) is False
    assert core.counts()["connections"] == 1


class Lost(Exception):
    pass


@pytest.mark.parametrize("method", ["receive", "lost", "end", "add_secrets"])
def test_what_layers_raise_comes_out_of_advance(method: str) -> None:
    between = Between()
    packets = make.packets([(CLIENT, HELLO), (CLIENT, HELLO)])
    gap = make.pcap([*packets[:4], make.client(5000, HELLO)])
    octets = {"lost": gap, "add_secrets": make.section() + KEYS}.get(method, TLS)
    core = opened(octets, layers=between)

    def fail(*args: Any) -> Any:
        raise Lost

    setattr(between, method, fail)
    with pytest.raises(Lost):
        read_all(core)


def test_layers_of_files_that_are_read_at_once() -> None:
    between = Between()
    core = reader(layers=between)
    tap = core.open_tap("x", "x")
    core.feed_tap(tap, TLS)

    def fail(*args: Any) -> Any:
        raise Lost

    between.receive = fail  # type: ignore[method-assign]
    with pytest.raises(Lost):
        core.advance_taps()


def test_layers_that_give_what_is_of_no_use() -> None:
    """No bytes, an end twice, and bytes of a direction that is not theirs."""
    between = Between()
    beats = BEAT * 2

    def receive(connection: int, side: int, tls: bool, data: bytes) -> Sequence[Any]:
        return [(side, b""), (1 - side, beats), (side, beats), (side, None), (side, None)]

    between.receive = receive  # type: ignore[method-assign]
    core = opened(TLS, layers=between, batch_rows=100)
    assert core.advance() is False
    assert core.advance(True) is False
    batch = core.take()
    assert batch is not None
    assert pa.record_batch(batch).column("frame").to_pylist() == [BEAT] * 4


def test_without_layers_what_they_would_read_is_left_out() -> None:
    packets = [*make.packets([(CLIENT, HELLO), (CLIENT, HELLO)]), make.client(2000, HELLO)]
    blocks = [make.enhanced("<", 0, n, packet) for n, packet in enumerate(packets)]
    core = opened(b"".join([make.section(), make.interface("<", 1), KEYS, *blocks]))
    assert core.advance() is False
    assert core.advance(True) is False
    counters = core.counts()
    assert counters["skipped_bytes"] == 2000 + len(HELLO) - 1001
    assert counters["gaps"] == 0


def test_what_a_reader_does_not_take() -> None:
    for rows in (0, -1):
        with pytest.raises(ValueError, match="batch_rows is at least 1"):
            reader(batch_rows=rows)
    for port in (0, 65536, True, "5672"):
        with pytest.raises(ValueError, match="ports are numbers from 1 to 65535"):
            reader(ports=(port,))


def test_the_protocols_of_a_reader() -> None:
    with pytest.raises(ValueError, match="too many protocols"):
        reader(others=(v1_0.PROTOCOL, v0_9.PROTOCOL))
    with pytest.raises(ValueError, match="too many protocols"):
        reader(others=(v0_9.PROTOCOL,) * 9)


def test_a_protocol_that_has_other_types_for_the_same_method() -> None:
    """Its frames are told apart by what can be read."""
    other = amqpcodec.load_xml_spec(
        io.BytesIO(
            b"""<amqp major="0" minor="9" revision="1" port="5672">
            <class name="basic" handler="channel" index="60"><method name="ack" index="80">
            <field name="delivery-tag" type="shortstr"/><field name="multiple" type="bit"/>
            </method></class></amqp>"""
        )
    )
    core = _capture.CaptureReader(
        amqp.PROTOCOL, ["method"], (5672,), True, False, 100, others=(other.PROTOCOL,)
    )
    core.begin("x", "x")
    acks = other.encode(1, other.Basic.Ack("a long name of a tag")) * 3
    core.feed(make.pcap(make.packets([(CLIENT, amqp.encode(1, amqp.Basic.Ack(7)) + acks)])))
    assert core.advance() is False
    assert core.advance(True) is False
    batch = core.take()
    assert batch is not None
    assert pa.record_batch(batch).column("method").to_pylist() == ["basic.ack"] * 4
    assert core.counts()["frames"] == {"method": 4}


def test_calls_out_of_order() -> None:
    core = opened(PLAIN)
    with pytest.raises(ValueError, match="the file before has not ended"):
        core.begin("y", "y")
    with pytest.raises(ValueError, match="has begun already"):
        core.resume(b"")
    assert core.advance() is True
    with pytest.raises(ValueError, match="rows wait"):
        core.state()


def test_files_that_are_read_at_once_have_numbers() -> None:
    core = reader()
    for number in (-1, 0, 1):
        with pytest.raises(ValueError, match=f"no file is open by the number {number}"):
            core.feed_tap(number, PLAIN)
    tap = core.open_tap("x", "x")
    core.feed_tap(tap, PLAIN)
    assert core.advance_taps(until=0) == -1
    with pytest.raises(ValueError, match="wait to be read"):
        core.feed_tap(tap, PLAIN)
    assert core.advance_taps() == -2
    assert core.take_rows()
    assert core.take(True) is not None
    with pytest.raises(ValueError, match="have no state"):
        core.state()
    del core  # with a file that is open


def test_a_cut_state_is_damaged() -> None:
    core = opened(PLAIN[:24])
    assert core.advance() is False
    state = core.state()
    for end in range(len(state)):
        with pytest.raises(ValueError, match="damaged"):
            reader().resume(state[:end])
    reader().resume(state)


@pytest.mark.parametrize("names", [b"x", b"x name", b" name", b"9" * 19 + b" name", b"0 \xff"])
def test_a_state_with_names_that_are_none_is_damaged(names: bytes) -> None:
    core = opened(PLAIN[:24])
    assert core.advance() is False
    state = core.state()
    at = 4 + int.from_bytes(state[:4], "big")
    end = at + 4 + int.from_bytes(state[at : at + 4], "big")
    assert state[at + 4 : end] == b"0 x"
    with pytest.raises(ValueError, match="damaged"):
        reader().resume(state[:at] + len(names).to_bytes(4, "big") + names + state[end:])


def files_of(batch: Any) -> list[str]:
    return pa.record_batch(batch).column("file").to_pylist()


def test_rows_that_wait_keep_the_name_of_their_file() -> None:
    """Names that nothing tells of are forgotten after some files."""
    core = opened(PLAIN, batch_rows=1)
    assert core.advance() is True
    assert files_of(core.take()) == ["x"]
    for number in range(200):
        core.end()
        core.begin(f"{number}", "key")
    assert [files_of(core.take()) for _ in range(2)] == [["x"], ["x"]]


def test_files_that_are_read_at_once_keep_their_names() -> None:
    core = reader(batch_rows=1)
    taps = [core.open_tap(f"{number}", "key") for number in range(200)]
    core.feed_tap(taps[100], PLAIN)
    file_names = []
    while (which := core.advance_taps()) != -1:
        if which >= 0:
            core.close_tap(which)
        while (batch := core.take(True)) is not None:
            file_names += files_of(batch)
    assert file_names == ["100"] * 3


def test_connections_with_fragments_end_a_batch_at_a_time() -> None:
    """Packets that never became whole are read to their first hole at the end."""
    packets = []
    for number in range(6):
        ends = (f"10.0.0.{number}", 40_000), make.SERVER
        packet = make.ipv4(*ends, make.tcp(*ends, 1001, BEAT * 5))
        packets.append(make.ethernet(next(wrap.fragments(packet, number, lambda: 4))))
    core = opened(make.pcap(packets), batch_rows=1)
    assert core.advance() is False
    row_count = 0
    while core.advance(True):
        batch = core.take()
        while batch is not None:
            row_count += len(batch)
            batch = core.take()
    assert core.counts()["ip_fragments"] == 6
    assert core.counts()["connections"] == 6
    assert row_count >= 6


def test_connections_are_numbered_from_where_one_wants() -> None:
    core = opened(PLAIN)
    assert core.first_index == 0
    core.first_index = 7
    assert core.first_index == 7


def test_batches_and_rows_are_made_by_readers() -> None:
    for native_type in (_capture.CaptureBatch, _capture.CaptureRows):
        with pytest.raises(TypeError, match=r"made by|taken out of"):
            native_type()
    with pytest.raises(ValueError, match="no rows"):
        _capture.CaptureRows.__new__(_capture.CaptureRows).fill()
    core = opened(PLAIN, batch_rows=2)
    assert core.advance() is True
    (rows,) = core.take_rows()
    assert len(rows) == 2
    batch = rows.fill()
    assert repr(batch).startswith("<amqpcodec.capture.Batch: 2 rows of ")
    assert batch.names[0] in repr(batch)


def test_an_option_that_there_is_not() -> None:
    with pytest.raises(TypeError, match="a capture reader has no option colour, size"):
        reader(size=1, colour=2)


def test_a_gap_of_more_bytes_than_a_row_can_say() -> None:
    between = Between()
    lost = 1 << 60

    def receive(connection: int, side: int, tls: bool, data: bytes) -> Sequence[Any]:
        return [(side, BEAT), (side, lost), (side, BEAT * 3)] if side == CLIENT else []

    between.receive = receive  # type: ignore[method-assign]
    core = _capture.CaptureReader(
        amqp.PROTOCOL, ["error"], (5671, 5672), True, True, 100, layers=between
    )
    core.begin("x", "x")
    core.feed(TLS)
    assert core.advance() is False
    assert core.advance(True) is False
    batch = core.take()
    assert batch is not None
    errors = pa.record_batch(batch).column("error").to_pylist()
    assert errors == [None, f"{(1 << 56) - 1} bytes were not captured", None, None, None]
    assert core.counts()["lost_bytes"] == lost
