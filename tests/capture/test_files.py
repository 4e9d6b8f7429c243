"""pcap and pcapng, in every byte order and cut anywhere."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import pytest

from amqpcodec import capture
from amqpcodec.capture.files import CaptureCut, Packet, packets
from tests.capture import recording as made

DATA = [made.client(1, b"one"), made.server(1, b"three"), made.client(4, b"two")]
US = made.START_NS // 1000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file"


def read(path: Path, octets: bytes) -> list[Packet]:
    path.write_bytes(octets)
    return list(packets(path))


def read_cut(path: Path, octets: bytes) -> tuple[list[Packet], int]:
    """The packets before the cut, and how many octets were left over."""
    path.write_bytes(octets)
    kept = []
    try:
        for packet in packets(path):
            kept.append(packet)
    except CaptureCut as cut:
        return kept, cut.octets
    raise AssertionError("the file was read as a whole one")


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nano", [False, True])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_pcap(path, order, nano, pack):
    found = read(path, pack(made.pcap(DATA, order=order, nano=nano)))
    assert [bytes(packet.data) for packet in found] == DATA
    assert [packet.number for packet in found] == [1, 2, 3]
    tick = 1 if nano else 1000
    times = [made.START_NS + n * 1_000_000 for n in range(3)]
    assert [packet.timestamp_ns for packet in found] == [time // tick * tick for time in times]
    assert {packet.link_type for packet in found} == {1}


def test_pcap_link_type_leaves_the_frame_check_bits_out(path):
    assert read(path, made.pcap(DATA, link=0x50000001))[0].link_type == 1


def test_gzip_of_several_members(path):
    whole = made.pcap(DATA)
    found = read(path, gzip.compress(whole[:50]) + gzip.compress(whole[50:]))
    assert [bytes(packet.data) for packet in found] == DATA


def test_pcap_cut_anywhere_keeps_what_came_before(path):
    whole = made.pcap(DATA)
    ends = [24]
    for data in DATA:
        ends.append(ends[-1] + 16 + len(data))
    for size in range(5, len(whole)):
        if size in ends:
            assert len(read(path, whole[:size])) == ends.index(size)
        else:
            kept, octets = read_cut(path, whole[:size])
            count = max((n for n, end in enumerate(ends) if end < size), default=0)
            assert [bytes(packet.data) for packet in kept] == DATA[:count]
            assert octets == size - (ends[count] if size > 24 else 0)


def test_gzip_cut_keeps_what_could_be_unpacked(path):
    noise = bytes((n * n * 7 + n // 3) % 251 for n in range(20_000))
    data = [made.client(n * 1000, noise[n * 1000 : n * 1000 + 1000]) for n in range(20)]
    packed = gzip.compress(made.pcap(data), 1)
    kept, _ = read_cut(path, packed[: len(packed) * 3 // 4])
    assert 0 < len(kept) < 20
    assert [bytes(packet.data) for packet in kept] == data[: len(kept)]
    kept, octets = read_cut(path, packed[:-4])  # only the length at the end is missing
    assert (len(kept), octets) == (20, 0)


@pytest.mark.parametrize("octets", [b"", b"\xd4\xc3", b"GET / HTTP/1.1\r\n", gzip.compress(b"no")])
def test_not_a_capture(path, octets):
    path.write_bytes(octets)
    with pytest.raises(capture.CaptureError, match="neither pcap nor pcapng"):
        capture.streams(path)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_pcapng_blocks(path, order, pack):
    """Several interfaces, all three packet blocks, blocks of unknown kinds between them."""
    old = struct.pack(order + "HHIIII", 1, 0, US >> 32, US & 0xFFFFFFFF, len(DATA[2]), 999)
    found = read(
        path,
        pack(
            made.section(order)
            + made.block(order, 0x0BAD, b"skip me")
            + made.interface(order, 101)
            + made.interface(order, 1)
            + made.enhanced(order, 1, US, DATA[0])
            + made.block(order, 5, b"statistics")
            + made.simple(order, DATA[1])
            + made.block(order, 2, old + DATA[2])
            + made.enhanced(order, 0, US, DATA[1])
        ),
    )
    assert [bytes(packet.data) for packet in found] == [*DATA, DATA[1]]
    assert [packet.link_type for packet in found] == [1, 101, 1, 101]
    assert [packet.timestamp_ns for packet in found] == [US * 1000, None, US * 1000, US * 1000]
    assert [packet.wire_length for packet in found][2] == 999
    assert [packet.number for packet in found] == [1, 2, 3, 4]


def test_pcapng_sections_change_byte_order_and_interfaces(path):
    found = read(
        path,
        made.section("<")
        + made.interface("<", 101)
        + made.enhanced("<", 0, US, DATA[0])
        + made.section(">")
        + made.interface(">", 276)
        + made.enhanced(">", 0, US, DATA[1]),
    )
    assert [packet.link_type for packet in found] == [101, 276]
    assert [bytes(packet.data) for packet in found] == DATA[:2]


@pytest.mark.parametrize(
    ("resolution", "ticks"),
    [
        (None, US),
        (6, US),
        (9, made.START_NS),
        (3, made.START_NS // 10**6),
        (0, made.START_NS // 10**9),
        (0x80 | 20, (made.START_NS << 20) // 10**9),
    ],
)
@pytest.mark.parametrize("offset", [0, 3600, -3600])
def test_pcapng_timestamp_resolution_and_offset(path, resolution, ticks, offset):
    options = b"" if resolution is None else made.option("<", 9, bytes([resolution]))
    options = made.option("<", 2, b"eth0") + options
    if offset:
        options += made.option("<", 14, struct.pack("<q", offset))
    options += made.option("<", 0, b"")
    head = made.section() + made.interface("<", 1, 0, options)
    (packet,) = read(path, head + made.enhanced("<", 0, ticks, DATA[0]))
    unit = {None: 10**3, 6: 10**3, 9: 1, 3: 10**6, 0: 10**9, 0x94: 10**9 / 2**20}[resolution]
    assert 0 <= made.START_NS + offset * 10**9 - packet.timestamp_ns < unit + 1


def test_pcapng_simple_packet_is_cut_by_the_snap_length(path):
    head = made.section() + made.interface("<", 1, snap=60)
    (packet,) = read(path, head + made.simple("<", bytes(60), wire_length=99))
    assert (len(packet.data), packet.wire_length) == (60, 99)
    # A block is padded to four octets; the padding is no data.
    (packet,) = read(path, head + made.simple("<", bytes(57)))
    assert len(packet.data) == 57


@pytest.mark.parametrize(
    "damage",
    [
        made.enhanced("<", 0, US, DATA[1])[:-1],
        made.enhanced("<", 0, US, DATA[1])[:10],
        made.enhanced("<", 1, US, DATA[1]),  # no such interface
        made.block("<", 6, bytes(8)),  # shorter than its fixed fields
        made.block("<", 6, struct.pack("<IIIII", 0, 0, 0, 1000, 1000)),  # longer than its block
        struct.pack("<II", 6, 8) + bytes(8),  # a length below the least
        struct.pack("<II", 6, 0xFFFFFFFC) + bytes(8),
        made.section()[:8] + bytes(20),  # a section without a byte order
    ],
)
def test_pcapng_damage_keeps_what_came_before(path, damage):
    head = made.section() + made.interface("<", 1) + made.enhanced("<", 0, US, DATA[0])
    kept, octets = read_cut(path, head + damage)
    assert [bytes(packet.data) for packet in kept] == DATA[:1]
    assert octets == len(damage)


def test_load_tells_of_the_cut(path):
    path.write_bytes(made.pcap(DATA)[:-1])
    found = capture.load(path)
    assert found.packets == 2
    assert isinstance(found.cut, capture.CaptureError)
    assert [bytes(stream) for stream in found.streams] == [b"one", b"three"]
    path.write_bytes(made.pcap(DATA))
    assert capture.load(path).cut is None
