"""A recording mangled in every way that a capture may differ: the same frames come out."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

pytest.importorskip("pyarrow")

from tests.capture import mangle
from tests.capture import recording as make
from tests.capture.rows import rows, streams

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
def test_link_types(parts, whole, name):
    link, wrap = LINKS[name]
    assert streams(make.pcap(mangle.records(parts, wrap), link)) == whole


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("nano", [False, True])
def test_file_kinds(parts, whole, order, nano):
    assert streams(make.pcap(mangle.records(parts), order=order, nano=nano)) == whole


@pytest.mark.parametrize("seed", range(3))
def test_mixed_pcapng(parts, whole, seed):
    assert streams(mangle.mixed_pcapng(parts, seed)) == whole


def test_seven_octets(parts, whole):
    small = [part for part in parts if len(part.data) < 3000]
    dropped = len(parts) - len(small)
    assert dropped < 30
    items = list(mangle.split(parts, 7))
    assert streams(make.pcap(mangle.records(items))) == whole


@pytest.mark.parametrize("seed", range(4))
def test_reordered_repeated_wrapped(parts, whole, seed):
    items = mangle.wrapped(parts)
    items = mangle.repeated(list(mangle.split(items, 300)), seed)
    assert streams(make.pcap(mangle.records(mangle.shuffled(items, seed)))) == whole


@pytest.mark.parametrize("side", ["client", "server"])
def test_one_direction(parts, whole, side):
    kept = [part for part in parts if part.from_client == (side == "client")]
    expected = {key: frames for key, frames in whole.items() if key[1] == side}
    assert streams(make.pcap(mangle.records(kept))) == expected


def test_no_syn(parts, whole):
    kept = [part for part in parts if not part.flags & make.SYN]
    octets = make.pcap(mangle.records(mangle.shuffled(kept, 1)))
    assert streams(octets) == whole
    # A client's protocol header is a beginning by itself.
    flagged = [row["direction"] for row in rows(octets) if "midstream" in row["flags"]]
    assert flagged == ["server"] * (len(whole) // 2)


@pytest.mark.parametrize("seed", range(12))
def test_gaps(parts, whole, seed):
    rng = random.Random(seed)
    items = list(mangle.split(parts, rng.choice([50, 300, 1400])))
    loss = rng.choice([0.002, 0.02, 0.2])
    kept = [part for part in items if part.flags & make.SYN or rng.random() >= loss]
    expected = mangle.survivors(whole, kept)
    octets = make.pcap(mangle.records(kept))
    found = streams(octets)
    for key, frames in expected.items():
        missing = list(frames)
        for frame in found.get(key, []):
            assert frame in missing, "an invented frame, or one out of order"
            del missing[: missing.index(frame) + 1]
        assert len(found.get(key, [])) == len(frames)
    assert found == expected
    if kept != items:
        assert any(row["flags"] == ["gap"] for row in rows(octets))


def test_snaplen(parts, whole):
    """A packet that was cut is a gap of its stream."""
    packets = [
        make.Record(make.ethernet(p.raw())[:200], p.time_ns, len(make.ethernet(p.raw())))
        for p in parts
    ]
    kept = [replace(p, data=p.data[: 200 - 54]) for p in parts]
    assert streams(make.pcap(packets)) == mangle.survivors(whole, kept)


@pytest.mark.parametrize("cut", [0, 1, 15, 16, 17, 40, 5000])
def test_cut_file(parts, whole, cut):
    octets = make.pcap(mangle.records(parts))
    found = streams(octets[: len(octets) - cut])
    for key, frames in found.items():
        assert whole[key][: len(frames)] == frames
    if cut < 70:
        assert sum(map(len, found.values())) >= 999
