"""What real captures hold beside the data: each case once, by hand."""

from __future__ import annotations

import io
import random

import pytest

from amqpcodec import capture
from amqpcodec import v0_9_1 as amqp
from tests.capture.rows import rows, streams
from tests.support import recording as make
from tests.support.recording import ACK, FIN, RST, SYN, client, opening, server, talk

pa = pytest.importorskip("pyarrow")

HELLO = amqp.PROTOCOL_HEADER
HEARTBEAT = amqp.encode(0, amqp.Heartbeat())
ACKS = [amqp.encode(1, amqp.Basic.Ack(delivery_tag=n)) for n in range(5000)]
TUNE_OK = amqp.encode(0, amqp.Connection.TuneOk(frame_max=1 << 20))


def body(size: int, seed: int = 1) -> bytes:
    return amqp.encode(1, amqp.Body(random.Random(seed).randbytes(size)))


def frames(octets: bytes, **options) -> list[bytes]:
    return [row["frame"] for row in rows(octets, **options) if row["error"] is None]


def test_offloaded_segments_have_no_length():
    """Segments that the network card was to cut: 64 KiB and more, with a total length of 0."""
    large = HELLO + body(60000) + body(70000, 2)
    packet = make.ethernet(
        make.ipv4(
            make.CLIENT, make.SERVER, make.tcp(make.CLIENT, make.SERVER, 1001, large), total=0
        )
    )
    frame_rows = rows(make.pcap([*opening(), packet, *talk(HEARTBEAT, first=1001 + len(large))]))
    assert [row["frame_type"] for row in frame_rows] == [
        "protocol-header",
        "body",
        "body",
        "heartbeat",
    ]
    packet = make.ethernet(
        make.ipv6(
            make.CLIENT6, make.SERVER6, make.tcp(make.CLIENT6, make.SERVER6, 1, large), length=0
        )
    )
    assert len(frames(make.pcap([packet]))) == 3


def test_each_packet_twice():
    """As captures of a bridge, of all interfaces or of both ends of a cable hold them."""
    packets = [
        *opening(), *talk(HELLO, ACKS[0], ACKS[1] + ACKS[2]), server(5001, HEARTBEAT),
        client(1001 + 8 + 3 * len(ACKS[0]), b"", FIN | ACK), server(5009, b"", FIN | ACK),
    ]  # fmt: skip
    twice = [
        packet
        for original in packets
        for packet in (original, make.ethernet(original[14:], 0x8100))
    ]
    expected = streams(make.pcap(packets))
    assert streams(make.pcap(twice)) == expected
    assert streams(make.pcap([*packets[:2], *packets[:2], *twice])) == expected
    stats = capture.stats(io.BytesIO(make.pcap(twice)))
    assert (stats["connections"], stats["gaps"], stats["midstream"]) == (1, 0, 0)


def test_data_with_the_syn():
    packets = [client(1000, HELLO, SYN), server(5000, b"", SYN | ACK, 1009)]
    packets += talk(HEARTBEAT, first=1009)
    assert frames(make.pcap(packets)) == [HELLO, HEARTBEAT]
    # Not taken by the server: sent again without.
    packets = [
        client(1000, HELLO, SYN),
        server(5000, b"", SYN | ACK, 1001),
        *talk(HELLO, HEARTBEAT),
    ]
    assert frames(make.pcap(packets)) == [HELLO, HEARTBEAT]


def test_both_open_at_once():
    packets = [
        client(1000, b"", SYN),
        server(5000, b"", SYN),
        *talk(HELLO),
        server(5001, HEARTBEAT),
    ]
    frame_rows = rows(make.pcap(packets))
    assert [row["flags"] for row in frame_rows] == [[], []]
    assert {row["connection_index"] for row in frame_rows} == {0}


def test_probes_of_a_closed_window():
    """The next byte, again and again; then all of it."""
    at = 1001 + len(HELLO)
    packets = [
        *opening(),
        *talk(HELLO),
        *[client(at, ACKS[0][:1])] * 3,
        client(at, ACKS[0] + ACKS[1]),
    ]
    assert frames(make.pcap(packets)) == [HELLO, ACKS[0], ACKS[1]]


@pytest.mark.parametrize("garbage", [b"\0", b"\xce", b"\x01"])
def test_keep_alives_with_an_octet(garbage):
    at = 1001 + len(HELLO)
    alive = client(at - 1, garbage)
    packets = [*opening(), *talk(HELLO), *[alive] * 5, client(at, ACKS[0])]
    assert frames(make.pcap(packets)) == [HELLO, ACKS[0]]


def test_other_cuts_of_what_is_sent_again():
    stream = HELLO + b"".join(ACKS[:60])
    rng = random.Random(1)
    for _ in range(20):
        pieces = []
        for _ in range(60):
            start = rng.randrange(len(stream))
            pieces.append((start, stream[start : start + rng.randrange(1, 200)]))
        step = rng.randrange(20, 300)
        pieces += [(at, stream[at : at + step]) for at in range(0, len(stream), step)]
        rng.shuffle(pieces)
        packets = [*opening(), *(client(1001 + at, octets) for at, octets in pieces)]
        assert b"".join(frames(make.pcap(packets))) == stream


def test_refused_and_unanswered():
    packets = []
    for port in range(40000, 40300):
        ends = ("10.0.0.1", port), make.SERVER
        packets.append(make.segment(*ends, 7, b"", SYN))
        if port % 2:
            packets.append(make.segment(ends[1], ends[0], 0, b"", RST | ACK, 8))
    stats = capture.stats(io.BytesIO(make.pcap(packets)))
    assert (stats["connections"], stats["frames"], stats["gaps"]) == (300, {}, 0)


def scan(count: int) -> list[bytes]:
    """SYNs from so many addresses."""
    return [
        make.segment((f"172.{n >> 14}.{n >> 7 & 127}.{n & 127}", 40000), make.SERVER, n, b"", SYN)
        for n in range(count)
    ]


@pytest.mark.untraced
def test_many_that_are_never_closed_are_bounded():
    """Those that were silent for longest are given up."""
    some, more = scan(70_000)[:30_000], scan(70_000)[30_000:]
    begin = [*opening(), *talk(HELLO, ACKS[0][:9])]
    end = talk(ACKS[0][9:], ACKS[1], first=1018)
    busy = make.pcap([*begin, *some, end[0], *more, end[1]])
    assert frames(busy) == [HELLO, ACKS[0], ACKS[1]]
    silent = rows(make.pcap([*begin, *some, *more, *end]), fields=["frame", "connection_index"])
    assert [row["frame"] for row in silent][:2] == [HELLO, ACKS[0][:9]]
    assert silent[-1]["connection_index"] == 70_001


def test_same_ports_again_without_a_syn():
    """The second connection's opening was not captured: its numbers tell it from the first."""
    for start in (900_000_000, 3_000_000_000, 70_000_000):
        first = [*opening(), *talk(HELLO, ACKS[0])]
        last = 1009 + len(ACKS[0])
        first += [client(last, b"", FIN | ACK), server(5001, b"", FIN | ACK)]
        packets = first + talk(*ACKS[:200], first=start)
        frame_rows = rows(make.pcap(packets))
        assert [row["frame"] for row in frame_rows if not row["error"]] == [
            HELLO,
            ACKS[0],
            *ACKS[:200],
        ]
        assert not any("gap" in row["flags"] for row in frame_rows)
        assert len({row["connection"] for row in frame_rows}) == 2


def test_a_pause_of_gigabytes():
    """Capturing stopped for so long that numbers seem to go back."""
    packets = [*opening(), *talk(HELLO, ACKS[0])]
    packets += talk(*ACKS[:200], first=1009 + len(ACKS[0]) + 3_000_000_000)
    assert frames(make.pcap(packets)) == [HELLO, ACKS[0], *ACKS[:200]]


def test_a_load_balancer_says_who_it_is():
    """The PROXY protocol's header stands before the protocol header."""
    start_ok = amqp.encode(
        0, amqp.Connection.StartOk(mechanism="PLAIN", response=b"\0guest\0sesame")
    )
    client_frames = [HELLO, start_ok, TUNE_OK, *ACKS[:5]]
    line = b"PROXY TCP4 192.0.2.7 10.0.0.2 51234 5672\r\n"
    packets = [*opening(), *talk(line + client_frames[0], *client_frames[1:])]
    frame_rows = rows(make.pcap(packets), fields=["frame", "error", "flags", "peer", "src"])
    assert [row["frame"] for row in frame_rows] == client_frames
    assert {(row["error"], row["peer"], row["src"]) for row in frame_rows} == {
        (None, "192.0.2.7:51234", "10.0.0.1:40000")
    }
    assert capture.stats(io.BytesIO(make.pcap(packets)))["proxied_connections"] == 1
    hidden = rows(make.pcap(packets), redact=True)
    assert not any(b"sesame" in row["frame"] for row in hidden)


SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
TWO = bytes([192, 0, 2, 7, 10, 0, 0, 2, 200, 34, 22, 40])
SIX = bytes.fromhex("20010db8" + "0" * 23 + "7") + bytes(15) + b"\1" + b"\xc8\x22\x16\x28"
TOKENS = b"\x02\0\x05a.com" + b"\x20\0\x20" + b"\x01" * 32


@pytest.mark.parametrize(
    ("head", "peer"),
    [
        (SIGNATURE + b"\x21\x11\0\x0c" + TWO, "192.0.2.7:51234"),
        (SIGNATURE + b"\x21\x21\0\x24" + SIX, "[2001:db8::7]:51234"),
        (SIGNATURE + b"\x21\x11\0\x37" + TWO + TOKENS, "192.0.2.7:51234"),
        (SIGNATURE + b"\x20\x00\0\x00", None),  # the proxy itself
        (SIGNATURE + b"\x21\x31\0\xd8" + bytes(216), None),  # a socket of its machine
        (SIGNATURE + b"\x21\x11\0\x04" + TWO[:4], None),
        (b"PROXY TCP6 2001:db8::7 2001:db8::1 51234 5672\r\n", "[2001:db8::7]:51234"),
        (  # of 40 letters
            b"PROXY TCP6 0000:0000:0000:0000:0:abcd:192.0.200.117 ::1 51234 5672\r\n",
            "[::abcd:c000:c875]:51234",
        ),
        (b"PROXY UNKNOWN\r\n", None),
        (b"PROXY TCP4 nobody 10.0.0.2 51234 5672\r\n", None),
        (b"PROXY TCP4 999.1.1.1 10.0.0.2 51234 5672\r\n", None),
        (b"PROXY TCP4 2001:db8::7 10.0.0.2 51234 5672\r\n", None),  # of the other family
        (b"PROXY TCP6 192.0.2.7 2001:db8::1 51234 5672\r\n", None),
        (b"PROXY TCP6 fe80::1%\x1b[31m 2001:db8::1 51234 5672\r\n", None),  # with a scope
        (b"PROXY TCP5 192.0.2.7 10.0.0.2 51234 5672\r\n", None),
        (b"PROXY TCP4 192.0.2.7 10.0.0.2 99999 5672\r\n", None),
        (b"PROXY TCP4 192.0.2.7 10.0.0.2\r\n", None),
        (
            b"PROXY TCP4 192.0.2.7 10.0.0.2 51234 5672\r\n" + SIGNATURE + b"\x20\0\0\0",
            "192.0.2.7:51234",
        ),
    ],
)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_whom_a_proxy_speaks_for(head, peer, size):
    stream = head + HELLO + b"".join(ACKS[:3])
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    frame_rows = rows(make.pcap([*opening(), *talk(*pieces)]), fields=["frame", "error", "peer"])
    assert [(row["frame"], row["error"]) for row in frame_rows] == [
        (frame, None) for frame in (HELLO, *ACKS[:3])
    ]
    assert {row["peer"] for row in frame_rows} == {peer}


@pytest.mark.parametrize("size", [1, 1000])
def test_a_proxy_that_only_looks_whether_somebody_listens(size):
    head = SIGNATURE + b"\x20\0\0\0"
    pieces = [head[at : at + size] for at in range(0, len(head), size)]
    counts = capture.stats(io.BytesIO(make.pcap([*opening(), *talk(*pieces)])))
    assert (counts["proxied_connections"], counts["errors"]) == (1, 0)


@pytest.mark.parametrize(
    "head", [b"PROXY " + b"x" * 200, b"PROXIES\r\n", SIGNATURE[:-1] + b"?" * 20, b"PRO"]
)
@pytest.mark.parametrize("size", [1, 1000])
def test_what_is_no_header_of_a_proxy(head, size):
    stream = head + HELLO
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    counts = capture.stats(io.BytesIO(make.pcap([*opening(), *talk(*pieces)])))
    assert counts["proxied_connections"] == 0
    assert counts["errors"] == 1
    assert counts["frames"]["protocol-header"] == 1


@pytest.mark.parametrize("count", [30, 100, 1000])
def test_recorded_frames_inside_of_a_body(count):
    """Many whole frames, in a body whose beginning was lost, are still bytes of a body."""
    inner = b"".join(ACKS[:count])
    outer = amqp.encode(1, amqp.Body(bytes(300) + inner))
    packets = [*opening(), *talk(HELLO), *talk(outer[20:], *ACKS, first=1009 + 20)]
    frames = [row["frame"] for row in rows(make.pcap(packets)) if row["error"] is None]
    assert frames == [HELLO, *ACKS]


def test_frames_larger_than_usual_from_the_middle():
    """frame_max may have been raised; where tune-ok was not captured, nobody says so."""
    message = amqp.encode_message(
        1, amqp.Basic.Publish(routing_key="k"), amqp.Basic.Properties(), bytes(900_000), 1 << 20
    )
    stream = b"".join([body(5000)[100:], *[message] * 6])
    packets = talk(*[stream[at : at + 50_000] for at in range(0, len(stream), 50_000)])
    frame_rows = rows(make.pcap(packets), fields=["frame_type", "error"])
    assert sum(row["frame_type"] == "body" and not row["error"] for row in frame_rows) == 6


def test_simple_blocks_that_were_cut_without_saying_so():
    packet = client(1001, HELLO + HEARTBEAT)
    octets = (
        make.section() + make.interface("<", 1) + make.simple("<", packet[:-4], len(packet) + 96)
    )
    assert frames(octets) == [HELLO]


def test_resets_that_carry_text():
    packets = [*opening(), *talk(HELLO), server(5001, b"closed by policy", RST | ACK)]
    frame_rows = rows(make.pcap(packets))
    assert [row["frame"] for row in frame_rows] == [HELLO]


def test_lost_beginning_of_one_side_only():
    """The SYN-ACK was lost, and the first packet behind it."""
    packets = [opening()[0], *talk(HELLO)]
    packets += [
        server(5001 + 30, b"".join(ACKS[:3])[30:]),
        *talk(*ACKS[3:50], first=5001 + 63, side=server),
    ]
    frames_by_stream = streams(make.pcap(packets))
    assert frames_by_stream["10.0.0.1:40000", "server"] == ACKS[2:50]


def test_checksums_are_not_looked_at_and_padding_is_left_out():
    small = make.ethernet(
        make.ipv4(make.CLIENT, make.SERVER, make.tcp(make.CLIENT, make.SERVER, 1001))
    )
    padded = small + b"\x01\0\0\0\0\0"
    assert frames(make.pcap([*opening(), padded, *talk(HELLO), padded])) == [HELLO]


def test_sll2_with_a_vlan_and_ipv6():
    raw = make.ipv6(make.CLIENT6, make.SERVER6, make.tcp(make.CLIENT6, make.SERVER6, 1, HELLO))
    packet = b"\x81\0" + bytes(18) + b"\0\x05\x86\xdd" + raw
    assert frames(make.pcap([packet], link=276)) == [HELLO]


def test_every_reset_is_told():
    """More than are asked for at once."""
    ends = [("10.0.0.1", 30_000 + n) for n in range(3000)]
    packets = []
    for end in ends:
        packets.append(make.segment(end, make.SERVER, 1000, b"", SYN))
        packets.append(make.segment(end, make.SERVER, 1001, b"", RST))
    reader = capture.read(io.BytesIO(make.pcap(packets)))
    assert list(reader) == []
    assert [index for index, _, _ in reader.tcp_resets()] == list(range(3000))
    assert reader.tcp_resets() == []
    assert reader.stats()["resets"] == 3000
