"""Records and blocks at the edge of their formats: short ones, wrong ones, unusual options."""

from __future__ import annotations

import struct

import pytest

from amqpcodec import _capture
from amqpcodec import v0_9_1 as amqp
from tests.capture.rows import rows
from tests.support import recording as make

BEAT = amqp.encode(0, amqp.Heartbeat())
PACKETS = [*make.opening(), make.client(1001, BEAT * 3)]


def opened() -> _capture.CaptureReader:
    core = _capture.CaptureReader(amqp.PROTOCOL, ["frame"], (5672,), True, True, 100)
    core.begin("x", "x")
    return core


def count(core: _capture.CaptureReader) -> int:
    """Rows of what was fed."""
    while core.advance():
        pass
    batch = core.take()
    return 0 if batch is None else len(batch)


def pcapng(*blocks: bytes, order: str = "<") -> bytes:
    """A section with one Ethernet interface, these blocks, and a packet with three frames."""
    packets = [make.enhanced(order, 0, n, packet) for n, packet in enumerate(PACKETS)]
    return b"".join([make.section(order), make.interface(order, 1), *blocks, *packets])


@pytest.mark.parametrize("octets", [make.pcap(PACKETS), pcapng()])
def test_a_file_that_comes_byte_by_byte(octets: bytes) -> None:
    core = opened()
    row_count = 0
    for at in range(len(octets)):
        core.feed(octets[at : at + 1])
        row_count += count(core)
    assert row_count == 3
    assert not core.damaged


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("seconds", [3600, -3600])
def test_the_offset_of_an_interfaces_clock(order: str, seconds: int) -> None:
    options = make.option(order, 14, struct.pack(order + "q", seconds)) + make.option(order, 0, b"")
    blocks = [make.enhanced(order, 0, 10_000_000, packet) for packet in PACKETS]
    octets = b"".join([make.section(order), make.interface(order, 1, options=options), *blocks])
    (timestamp,) = {row["timestamp"].timestamp() for row in rows(octets, fields=["timestamp"])}
    assert timestamp == 10 + seconds


def test_options_after_the_last_one_are_passed_over() -> None:
    order = "<"
    past = make.option(order, 14, struct.pack("<q", 99))
    for end in (make.option(order, 0, b""), struct.pack("<HH", 9, 200)):
        blocks = [make.enhanced(order, 0, 10_000_000, packet) for packet in PACKETS]
        head = make.interface(order, 1, options=end + past)
        frame_rows = rows(b"".join([make.section(order), head, *blocks]), fields=["timestamp"])
        assert {row["timestamp"].timestamp() for row in frame_rows} == {10.0}


WRONG = {
    "a section of no byte order": make.block("<", 0x0A0D0D0A, bytes(16)),
    "an interface without its link": make.block("<", 1, b"\1\0\0\0"),
    "a packet without its lengths": make.block("<", 6, bytes(16)),
    "a simple packet without its length": make.block("<", 3, b""),
    "a packet of no interface": make.enhanced("<", 1, 0, b"abcd"),
    "a packet that is longer than its block": make.block(
        "<", 6, bytes(12) + b"\5\0\0\0" * 2 + b"abcd"
    ),
    "an obsolete packet of no interface": make.block("<", 2, b"\1\0" + bytes(22)),
    "secrets without their length": make.block("<", 10, b"KSLT"),
    "secrets that are longer than their block": make.block("<", 10, b"KSLT\5\0\0\0abcd"),
    "a size below that of a block": b"\6\0\0\0\x08\0\0\0" + bytes(16),
    "a size that is no multiple of four": b"\6\0\0\0\x22\0\0\0" + bytes(40),
    "a packet beyond all limits": b"\6\0\0\0\0\0\0\x7f" + bytes(40),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_block_that_is_none_is_damage(name: str) -> None:
    octets = pcapng(WRONG[name])
    core = opened()
    core.feed(octets)
    assert count(core) == 0
    assert core.damaged
    assert core.at == octets.index(WRONG[name])


def test_a_record_is_looked_for_after_damage() -> None:
    octets = pcapng(WRONG["secrets without their length"])
    core = opened()
    core.feed(octets)
    assert count(core) == 0
    remainder = octets[core.at + 8 :]
    packets = remainder.index(make.enhanced("<", 0, 0, PACKETS[0]))
    assert core.first(remainder, len(remainder), True) == packets
    # Whether the last bytes are a record, those after them would have to tell.
    for size in (8, 13):
        assert core.first(remainder[: packets + size], packets + size, False) == -1
    assert core.first(b"\0\1\2\3" * 10, 40, True) == -1


@pytest.mark.parametrize(
    ("block_type", "is_known_type"), [(0x0BAD, True), (0x40000BAD, True), (17, False)]
)
def test_blocks_that_may_stand_after_damage(block_type: int, is_known_type: bool) -> None:
    """Custom ones, which may be copied or not, are of the format; others are none that is known."""
    core = opened()
    core.feed(pcapng(WRONG["secrets without their length"]))
    assert count(core) == 0
    blocks = make.block("<", block_type, b"some") * 20
    assert core.first(b"\xff" * 6 + blocks, 6 + len(blocks), True) == (6 if is_known_type else -1)


def test_an_outline_begins_with_a_new_reader() -> None:
    core = opened()
    core.feed(make.pcap(PACKETS))
    assert count(core) == 3
    with pytest.raises(ValueError, match="begins with a new reader"):
        _capture.CaptureOutline(core, 0, 1 << 20)
