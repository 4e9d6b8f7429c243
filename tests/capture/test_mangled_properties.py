"""A recording mangled in every way that a capture may differ: the same frames come out."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

pytest.importorskip("pyarrow")

from tests.capture.rows import rows, streams
from tests.support import mangle
from tests.support import recording as make

LINKS = {
    "ethernet": (1, make.ethernet),
    "vlan": (1, lambda raw: make.ethernet(raw, 0x8100)),
    "qinq": (1, lambda raw: make.ethernet(raw, 0x88A8, 0x8100)),
    "padding": (1, lambda raw: make.ethernet(raw) + bytes(range(40))),
    "null": (0, lambda raw: b"\x02\0\0\0" + raw),
    "null big": (0, lambda raw: b"\0\0\0\x02" + raw),
    "raw 12": (12, lambda raw: raw),
    "raw 101": (101, lambda raw: raw),
    "loop": (108, lambda raw: b"\0\0\0\x02" + raw),
    "sll": (113, lambda raw: bytes(14) + b"\x08\0" + raw),
    "ipv4": (228, lambda raw: raw),
    "sll2": (276, lambda raw: b"\x08\0" + bytes(18) + raw),
}


@pytest.mark.parametrize("name", LINKS)
def test_link_types(parts, expected_streams, name):
    link, wrap = LINKS[name]
    assert streams(make.pcap(mangle.records(parts, wrap), link)) == expected_streams


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("nano", [False, True])
def test_file_kinds(parts, expected_streams, order, nano):
    assert streams(make.pcap(mangle.records(parts), order=order, nano=nano)) == expected_streams


@pytest.mark.parametrize("seed", range(3))
def test_mixed_pcapng(parts, expected_streams, seed):
    assert streams(mangle.mixed_pcapng(parts, seed)) == expected_streams


def test_seven_octets(parts, expected_streams):
    small = [part for part in parts if len(part.data) < 3000]
    dropped = len(parts) - len(small)
    assert dropped < 30
    items = list(mangle.split(parts, 7))
    assert streams(make.pcap(mangle.records(items))) == expected_streams


@pytest.mark.parametrize("seed", range(4))
def test_reordered_repeated_wrapped(parts, expected_streams, seed):
    items = mangle.wrapped(parts)
    items = mangle.repeated(list(mangle.split(items, 300)), seed)
    assert streams(make.pcap(mangle.records(mangle.shuffled(items, seed)))) == expected_streams


@pytest.mark.parametrize("side", ["client", "server"])
def test_one_direction(parts, expected_streams, side):
    captured_parts = [part for part in parts if part.from_client == (side == "client")]
    expected = {key: frames for key, frames in expected_streams.items() if key[1] == side}
    assert streams(make.pcap(mangle.records(captured_parts))) == expected


def test_no_syn(parts, expected_streams):
    captured_parts = [part for part in parts if not part.flags & make.SYN]
    octets = make.pcap(mangle.records(mangle.shuffled(captured_parts, 1)))
    assert streams(octets) == expected_streams
    # A client's protocol header is a beginning by itself.
    flagged = [row["direction"] for row in rows(octets) if "midstream" in row["flags"]]
    assert flagged == ["server"] * (len(expected_streams) // 2)


@pytest.mark.parametrize("seed", range(12))
def test_gaps(parts, expected_streams, seed):
    rng = random.Random(seed)
    items = list(mangle.split(parts, rng.choice([50, 300, 1400])))
    loss = rng.choice([0.002, 0.02, 0.2])
    captured_parts = [part for part in items if part.flags & make.SYN or rng.random() >= loss]
    expected = mangle.survivors(expected_streams, captured_parts)
    octets = make.pcap(mangle.records(captured_parts))
    actual_streams = streams(octets)
    for key, frames in expected.items():
        missing = list(frames)
        for frame in actual_streams.get(key, []):
            assert frame in missing, "an invented frame, or one out of order"
            del missing[: missing.index(frame) + 1]
        assert len(actual_streams.get(key, [])) == len(frames)
    assert actual_streams == expected
    if captured_parts != items:
        assert any(row["flags"] == ["gap"] for row in rows(octets))


def test_snaplen(parts, expected_streams):
    """A packet that was cut is a gap of its stream."""
    packets = [
        make.Record(make.ethernet(p.raw())[:200], p.time_ns, len(make.ethernet(p.raw())))
        for p in parts
    ]
    captured_parts = [replace(p, data=p.data[: 200 - 54]) for p in parts]
    assert streams(make.pcap(packets)) == mangle.survivors(expected_streams, captured_parts)


@pytest.mark.parametrize("missing_bytes", [0, 1, 15, 16, 17, 40, 5000])
def test_cut_file(parts, expected_streams, missing_bytes):
    octets = make.pcap(mangle.records(parts))
    actual_streams = streams(octets[: len(octets) - missing_bytes])
    for key, frames in actual_streams.items():
        assert expected_streams[key][: len(frames)] == frames
    if missing_bytes < 70:
        assert sum(map(len, actual_streams.values())) >= 999
