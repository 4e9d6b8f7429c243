"""A recording in tunnels and in fragments: the rows of the bare recording."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

pytest.importorskip("pyarrow")


from amqpcodec import capture
from tests.capture.rows import rows, streams
from tests.support import mangle, wrap
from tests.support import recording as make
from tests.support.batches import rows_of


def comparable_rows(octets: bytes) -> list[tuple]:
    """What rows say that does not depend on the bytes around a packet."""
    return [
        (row["direction"], row["src"], row["dst"], row["timestamp"], row["frame"], row["flags"])
        for row in rows(octets)
    ]


@pytest.mark.parametrize("name", wrap.TUNNELS)
def test_tunnels(parts, name):
    bare = make.pcap(mangle.records(parts))
    assert comparable_rows(make.pcap(mangle.records(parts, wrap.TUNNELS[name]))) == comparable_rows(
        bare
    )


@pytest.mark.parametrize("seed", range(4))
def test_each_packet_in_another_tunnel(parts, seed):
    rng = random.Random(seed)
    mixed = mangle.records(parts, lambda raw: rng.choice(list(wrap.TUNNELS.values()))(raw))
    assert comparable_rows(make.pcap(mixed)) == comparable_rows(make.pcap(mangle.records(parts)))


@pytest.mark.parametrize("seed", range(4))
def test_fragments_in_any_order(parts, expected_streams, seed):
    pieces = wrap.fragmented([part.raw() for part in parts], seed)
    octets = make.pcap(map(make.ethernet, pieces))
    assert streams(octets) == expected_streams


@pytest.mark.parametrize("tunnel", ["vxlan", "gre, all fields", "erspan ii"])
def test_fragments_of_tunnels(parts, expected_streams, tunnel):
    outer = [wrap.TUNNELS[tunnel](part.raw())[14:] for part in parts]
    octets = make.pcap(map(make.ethernet, wrap.fragmented(outer, 5)))
    assert streams(octets) == expected_streams


def test_fragments_in_a_tunnel_in_fragments(parts, expected_streams):
    inner = wrap.fragmented([part.raw() for part in parts], 1)
    outer = wrap.fragmented([wrap.vxlan(piece) for piece in inner], 2)
    assert streams(make.pcap(map(make.ethernet, outer))) == expected_streams


@pytest.mark.parametrize("seed", range(8))
def test_a_fragment_that_is_missing_is_a_gap(parts, expected_streams, seed):
    """Frames that lie before the hole of a packet come out, all others but those in it, too."""
    rng = random.Random(seed)
    lost = {number for number in range(len(parts)) if rng.random() < 0.05}
    pieces, surviving_parts = [], []
    for number, part in enumerate(parts):
        mine = list(wrap.fragments(part.raw(), number, lambda: rng.randint(5, 30)))
        if number in lost and len(mine) > 1:
            gone = rng.randrange(1, len(mine))
            byte_count = sum(len(piece) - 20 for piece in mine[:gone]) - 20
            surviving_parts.append(replace(part, data=part.data[:byte_count]))
            del mine[gone]
        else:
            surviving_parts.append(part)
        pieces += mine
    frames_by_stream = streams(make.pcap(map(make.ethernet, pieces)))
    assert frames_by_stream == mangle.survivors(expected_streams, surviving_parts)


@pytest.mark.parametrize("seed", range(3))
def test_a_state_at_any_packet(parts, seed, tmp_path):
    """A reader that goes on from a state gives what one reader gives."""
    rng = random.Random(seed)
    some = parts[: 3 * 60]
    pieces = wrap.fragmented([part.raw() for part in some], seed, 20)
    path = tmp_path / "fragments.pcap"
    path.write_bytes(make.pcap(map(make.ethernet, pieces)))
    names = ["frame", "error", "flags", "packet_offset", "position", "timestamp_ns"]

    def table(reader):
        return rows_of(reader)

    once = table(capture.Reader(path, fields=names, order="none"))
    cuts = sorted(rng.sample(range(24, path.stat().st_size), 12))
    rows, state = [], None
    for stop in [*cuts, None]:
        reader = capture.Reader(path, fields=names, order="none")
        if state is not None:
            reader.resume(state)
        rows += table(reader.read(stop=stop))
        if stop is not None:
            state = reader.state()
    assert rows == once
    assert reader.stats()["ip_reassembled"] > 50
