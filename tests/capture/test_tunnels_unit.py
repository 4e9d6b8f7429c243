"""Tunnels, label stacks and IP fragments, one packet at a time."""

from __future__ import annotations

import io

import pytest

pytest.importorskip("pyarrow")

from amqpcodec import capture
from tests.capture.rows import rows
from tests.support import recording as make
from tests.support import wrap
from tests.support.recording import CLIENT, SERVER
from tests.support.wrap import (
    HEARTBEAT,
    HELLO,
    client_packet,
    client_packet6,
    contradicting_fragments,
    ethernet_fragments,
)


def stats(*packets: bytes) -> dict:
    return capture.stats(io.BytesIO(make.pcap(packets)))


@pytest.mark.parametrize("name", wrap.TUNNELS)
@pytest.mark.parametrize("packet", [client_packet(), client_packet6()])
def test_ends_are_those_inside(name, packet):
    (row,) = rows(make.pcap([wrap.TUNNELS[name](packet)]))
    assert (row["src"], row["frame"]) == (
        "10.0.0.1:40000" if packet == client_packet() else "[fd00::1]:40000",
        HELLO,
    )


@pytest.mark.parametrize("name", wrap.TUNNELS)
def test_a_tunnel_that_was_cut_in_its_headers(name):
    packet = wrap.TUNNELS[name](client_packet())
    for size in range(14, len(packet) - len(HELLO) - 20):
        counters = capture.stats(
            io.BytesIO(make.pcap([make.Record(packet[:size], 0, len(packet))]))
        )
        assert counters["skipped"] == {"headers cut": 1}, size
        assert counters["connections"] == 0


@pytest.mark.parametrize("name", wrap.TUNNELS)
def test_a_mirror_that_cuts_packets_leaves_a_gap(name):
    """The IP header inside tells how long the packet was, the one outside how much is there."""
    inside = make.ipv4(
        CLIENT, SERVER, make.tcp(CLIENT, SERVER, 1001, HELLO), total=20 + 20 + len(HELLO) + 100
    )
    after = make.ipv4(CLIENT, SERVER, make.tcp(CLIENT, SERVER, 1109, HEARTBEAT * 3))
    wrapped = [wrap.TUNNELS[name](packet) for packet in (inside, after)]
    frame_rows = rows(make.pcap([*make.opening(), *wrapped]))
    assert [row["frame"] for row in frame_rows] == [HELLO, b"", HEARTBEAT, HEARTBEAT, HEARTBEAT]
    assert frame_rows[1]["error"] == "100 bytes were not captured"


def test_what_is_no_tunnel():
    other = [
        wrap.udp(53, bytes(40)),
        wrap.udp(4789, bytes(8) + make.ethernet(client_packet())),  # no network identifier
        wrap.gre(0x0800, client_packet(), 0x4000),  # routing
        wrap.gre(0x880B, client_packet(), 1),  # PPTP
        wrap.gre(0, client_packet()),
        wrap.geneve(0, client_packet()),
    ]
    assert stats(*map(make.ethernet, other))["skipped"] == {"not TCP": len(other)}
    assert stats(make.ethernet(wrap.gre(0x8035, client_packet())))["skipped"] == {"not IP": 1}
    assert stats(wrap.mpls(b"\x10" + client_packet()[1:]))["skipped"] == {"not IP": 1}


def test_nesting_is_bounded():
    packet = client_packet()
    for depth in range(20):
        counts = stats(make.ethernet(packet))
        if depth <= 8:
            assert (counts["connections"], counts["skipped"]) == (1, {}), depth
        else:
            assert counts["skipped"] == {"tunnels within each other": 1}, depth
        packet = make.ipv4(*wrap.OUTER, packet, protocol=wrap.IP_IPV4)


@pytest.mark.parametrize("packet", [client_packet(HEARTBEAT * 5), client_packet6(HEARTBEAT * 5)])
def test_fragments_are_put_together(packet):
    split = ethernet_fragments(packet)
    frame_rows = rows(make.pcap(split[::-1]), fields=["frame", "packet", "error"])
    assert [row["frame"] for row in frame_rows] == [HEARTBEAT] * 5
    assert {row["packet"] for row in frame_rows} == {len(split)}  # the one that completed it
    counts = stats(*split)
    assert (counts["ip_fragments"], counts["ip_reassembled"]) == (len(split), 1)
    assert counts["skipped"] == {}


def test_fragments_of_two_packets_at_once():
    one, two = (
        ethernet_fragments(client_packet(HEARTBEAT * 5), 1),
        ethernet_fragments(client_packet6(HEARTBEAT * 5), 1),
    )
    mixed = [piece for pair in zip(one, two, strict=False) for piece in pair]
    mixed += [*one[len(two) :], *two[len(one) :]]
    assert len(rows(make.pcap(mixed))) == 10


def test_the_same_fragment_again():
    split = ethernet_fragments(client_packet(HEARTBEAT * 5))
    counts = stats(split[0], split[0], split[-1], split[-1], *split[1:-1])
    assert (counts["ip_reassembled"], counts["skipped"]) == (1, {"IP fragment": 2})


@pytest.mark.parametrize("kind", ["bytes", "shifted", "shorter", "two ends"])
def test_fragments_that_contradict_are_refused(kind):
    split = [make.ethernet(piece) for piece in contradicting_fragments(kind)]
    counts = stats(*split)
    assert counts["skipped"] == {"IP fragments that contradict": len(split)}
    assert (counts["connections"], counts["ip_reassembled"]) == (0, 0)


def test_what_never_becomes_whole_is_read_to_its_first_hole():
    split = ethernet_fragments(client_packet(HEARTBEAT * 5))
    later = make.ipv4(CLIENT, SERVER, make.tcp(CLIENT, SERVER, 1041, HEARTBEAT * 2))
    for seconds in (4, 6):
        packets = [
            *make.opening(),
            *split[:2],
            split[3],
            make.Record(make.ethernet(later), make.START_NS + seconds * 10**9),
        ]
        frame_rows = rows(make.pcap(packets), fields=["frame", "packet", "flags"])
        assert [row["frame"] for row in frame_rows] == [
            *(HEARTBEAT, HEARTBEAT[:4], b""),
            *(HEARTBEAT, HEARTBEAT),
        ]
        assert frame_rows[0]["packet"] == 5  # the newest of its fragments
        counts = stats(*packets)
        assert (counts["gaps"], counts["skipped"], counts["ip_fragments"]) == (1, {}, 3)


def test_a_fragment_without_the_first():
    assert stats(*ethernet_fragments(client_packet(HEARTBEAT * 5))[1:])["skipped"] == {
        "IP fragment": 3
    }


def test_a_first_fragment_that_was_cut_is_read_at_once():
    split = ethernet_fragments(client_packet(HEARTBEAT * 5), blocks=5)
    packets = [
        *make.opening(),
        make.Record(split[0][:-4], make.START_NS, len(split[0])),
        *split[1:],
    ]
    frame_rows = rows(make.pcap(packets))
    assert frame_rows[0]["frame"] == HEARTBEAT
    assert "late" not in frame_rows[0]["flags"]


def test_packets_that_wait_for_fragments_are_bounded():
    """Whole packets come out while thousands of others stay open."""
    open_ = [
        make.ethernet(make.ipv4(wrap.OUTER[0], wrap.OUTER[1], bytes(64), number=i, fragment=0x2000))
        for i in range(5000)
    ]
    counts = stats(*open_, *ethernet_fragments(client_packet(HEARTBEAT * 5), 65_000))
    assert counts["ip_reassembled"] == 1
    assert counts["skipped"] == {"IP fragment": 5000}


@pytest.mark.parametrize(("most", "reassembled_count"), [(0, 1), (20_000, 2), (1 << 23, 9)])
def test_fragment_bytes(most: int, reassembled_count: int):
    """Of nine packets those are put together that began last, so many as there is room for."""
    said_by = [
        make.ipv4(CLIENT, SERVER, make.tcp(CLIENT, SERVER, 1001 + 8 * i, HEARTBEAT))
        for i in range(9)
    ]
    split = [ethernet_fragments(packet, number) for number, packet in enumerate(said_by)]
    mixed = [fragments[0] for fragments in split] + [
        part for fragments in split[::-1] for part in fragments[1:]
    ]
    octets = io.BytesIO(make.pcap(mixed))
    reader = capture.Reader(octets, fields=["error"], order="none", fragment_bytes=most)
    [counts] = reader.count()
    assert counts["ip_reassembled"] == reassembled_count


def test_what_is_given_up_is_read_before_a_cut():
    """Even where the packet that takes its place waits for others: a state has nothing of it."""
    split = [
        ethernet_fragments(
            make.ipv4(CLIENT, SERVER, make.tcp(CLIENT, SERVER, at, HEARTBEAT * 5)), at, 5
        )
        for at in (1001, 1041)
    ]
    octets = make.pcap([split[0][0], split[1][0], *split[0][1:], *split[1][1:]])
    options = {"fields": ["frame", "error"], "order": "none", "fragment_bytes": 0}
    frame_rows = rows(octets, **options)
    assert any(row["error"] for row in frame_rows)
    for stop in range(24, len(octets), 8):
        first, second = (capture.Reader(io.BytesIO(octets), **options) for _ in range(2))
        before = sum(map(len, first.read(stop)))
        second.resume(first.state())
        assert before + sum(map(len, second)) == len(frame_rows)


def test_unusual_fragments():
    for fragment, size in ((0x2000, 12), (0x1FFF, 64), (0x2000, 0)):
        packet = make.ipv4(CLIENT, SERVER, bytes(size), fragment=fragment)
        assert stats(make.ethernet(packet))["skipped"] == {"malformed": 1}
