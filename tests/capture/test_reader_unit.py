"""The compiled reader by itself: what it refuses, and that one call keeps the others out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from amqpcodec import _capture
from amqpcodec import v0_9_1 as amqp
from tests.capture import recording as make
from tests.support.tls_talk import CLIENT, SERVER

#: A TLS record of a handshake, which is what connections over TLS begin with.
HELLO = b"\x16\3\1\0\x04abcd"
TLS = make.pcap(make.packets([(CLIENT, HELLO), (SERVER, HELLO)]))
PLAIN = make.pcap(make.packets([(CLIENT, amqp.encode(1, amqp.Basic.Ack(7)) * 3)]))
KEYS = make.block("<", 10, b"KSLT" + (4).to_bytes(4, "little") + b"keys")


class Between:
    """Layers that give nothing; what is set in place of a method is called instead."""

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
    return _capture.CaptureReader(amqp.PROTOCOL, None, ports, True, True, batch_rows, **more)


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


def test_what_a_reader_does_not_take() -> None:
    for rows in (0, -1):
        with pytest.raises(ValueError, match="batch_rows is at least 1"):
            reader(batch_rows=rows)
    for port in (0, 65536, True, "5672"):
        with pytest.raises(ValueError, match="ports are numbers from 1 to 65535"):
            reader(ports=(port,))


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


def test_connections_are_numbered_from_where_one_wants() -> None:
    core = opened(PLAIN)
    assert core.first_index == 0
    core.first_index = 7
    assert core.first_index == 7


def test_batches_and_rows_are_made_by_readers() -> None:
    for made in (_capture.CaptureBatch, _capture.CaptureRows):
        with pytest.raises(TypeError, match=r"made by|taken out of"):
            made()
    with pytest.raises(ValueError, match="no rows"):
        _capture.CaptureRows.__new__(_capture.CaptureRows).fill()
    core = opened(PLAIN, batch_rows=2)
    assert core.advance() is True
    (rows,) = core.take_rows()
    assert len(rows) == 2
    batch = rows.fill()
    assert repr(batch).startswith("<amqpcodec.capture.Batch: 2 rows of ")
    assert batch.names[0] in repr(batch)
