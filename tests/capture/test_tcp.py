"""Putting the segments of a connection in order."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqpcodec import capture
from amqpcodec.capture.files import Packet
from amqpcodec.capture.segments import read_segment
from amqpcodec.capture.tcp import Reassembly, Stream
from tests.capture import recording as made
from tests.capture.recording import ACK, FIN, RST, SYN, client, opening, server

LIMIT = 1 << 20


def reassemble(packets, ports=(5672,), limit: int = LIMIT) -> list[Stream]:
    reassembly = Reassembly(ports, limit)
    for number, (data, time_ns, wire_length) in enumerate(made.records(packets), 1):
        packet = Packet(number, time_ns, 1, memoryview(data), wire_length or len(data))
        assert reassembly.add(packet, read_segment(packet))
    return reassembly.finish()


def octets(packets, **more) -> list[bytes]:
    return [bytes(stream) for stream in reassemble(packets, **more)]


def test_both_directions():
    packets = [*opening(), client(1001, b"ab"), server(5001, b"xyz"), client(1003, b"c")]
    first, second = reassemble(packets)
    assert (bytes(first), bytes(second)) == (b"abc", b"xyz")
    assert (first.direction, second.direction) == ("client", "server")
    assert first.connection == second.connection == ("10.0.0.1:40000", "10.0.0.2:5672")
    assert not first.midstream
    assert not second.midstream
    assert [(c.offset, c.packet, c.ready) for c in first.chunks] == [(0, 3, 3), (2, 5, 5)]
    assert [c.timestamp_ns for c in first.chunks] == [
        made.START_NS + 2_000_000,
        made.START_NS + 4_000_000,
    ]


def test_one_side_alone_and_midstream():
    (stream,) = reassemble([server(7, b"ab"), server(9, b"c")])
    assert (bytes(stream), stream.direction, stream.midstream) == (b"abc", "server", True)
    (stream,) = reassemble([client(6, b"", SYN), client(7, b"abc")])
    assert (bytes(stream), stream.midstream) == (b"abc", False)


def test_data_in_the_syn_and_before_it():
    assert octets([client(6, b"ab", SYN), client(9, b"c")]) == [b"abc"]
    (stream,) = reassemble([client(7, b"ab"), client(6, b"", SYN), client(9, b"c")])
    assert (bytes(stream), stream.midstream) == (b"abc", False)


@pytest.mark.parametrize(
    "again",
    [
        client(1001, b"abc"),  # the same
        client(1001, b"XYZ"),  # what came first stays
        client(1002, b"b"),  # a part
        client(1003, b"X"),  # a keep-alive with an octet
        client(1003, b""),  # and without
        client(1001, b"abcd"),  # one more octet, which comes again below
        client(1000, b"", SYN),  # the SYN again
        server(5000, b"", SYN | ACK),
    ],
)
def test_retransmissions_and_overlaps(again):
    packets = [*opening(), client(1001, b"abc"), again, client(1004, b"de"), again]
    assert octets(packets)[0] == b"abcde"


def test_reordered_octets_wait():
    packets = [
        *opening(),
        client(1004, b"d"),
        client(1002, b"bcd"),
        client(1006, b"f"),
        client(1001, b"ab"),
        client(1005, b"e"),
    ]
    (stream, _) = reassemble(packets)
    assert bytes(stream) == b"abcdef"
    assert not stream.gaps
    # Carried by one packet, readable in order only from a later one on.
    assert [(bytes(c.data), c.packet, c.ready) for c in stream.chunks] == [
        (b"ab", 6, 6),
        (b"cd", 4, 6),
        (b"e", 7, 7),
        (b"f", 5, 7),
    ]


def test_a_gap_at_the_end_of_the_wait():
    packets = [*opening(), client(1001, b"ab"), client(1006, b"f"), client(1009, b"i")]
    (stream, _) = reassemble(packets)
    assert bytes(stream) == b"abfi"
    assert stream.gaps == [capture.Gap(2, 3), capture.Gap(6, 2)]
    assert [[bytes(c.data) for c in piece] for piece in stream.pieces()] == [
        [b"ab"],
        [b"f"],
        [b"i"],
    ]


def test_the_wait_is_bounded():
    packets = [*opening(), client(1001, b"a")]
    packets += [client(1003 + n * 10, b"." * 10) for n in range(10)]
    (stream, _) = reassemble(packets, limit=45)
    assert stream.gaps == [capture.Gap(1, 1)]
    assert bytes(stream) == b"a" + b"." * 100
    # Five segments went over the limit; the others came in order.
    assert [c.ready for c in stream.chunks] == [3] + [8] * 5 + [9, 10, 11, 12, 13]


def test_lost_octets_at_the_end():
    """The peer's acknowledgement or a FIN tells of octets that nothing follows."""
    first = [*opening(), client(1001, b"ab")]
    for last, gaps in [
        (server(5001, b"", ACK, 1003), []),
        (server(5001, b"", ACK, 1004), []),  # the FIN may be what is missing
        (server(5001, b"", ACK, 1011), [capture.Gap(2, 8)]),
        (server(5001, b"", RST | ACK, 1011), []),
        (client(1003, b"", FIN), []),
        (client(1008, b"", FIN), [capture.Gap(2, 5)]),
    ]:
        stream, _ = reassemble([*first, last])
        assert (bytes(stream), stream.gaps) == (b"ab", gaps)


def test_sequence_numbers_wrap():
    start = 2**32 - 3
    packets = [*opening(start - 1), client(start + 4, b"ef"), client(start, b"abcd")]
    packets += [client(start + 2, b"cdefg"), client(start, b"ab")]
    assert octets(packets)[0] == b"abcdefg"


def test_more_octets_than_sequence_numbers():
    """Offsets do not wrap: here by two gaps of a gigabyte and a half."""
    step = 3 << 29
    packets = [*opening(0), client(1, b"a"), client(1 + step, b"b")]
    packets += [client(1 + 2 * step, b"c"), client(1 + 3 * step, b"d")]
    (stream, _) = reassemble(packets, limit=0)
    assert bytes(stream) == b"abcd"
    assert [c.offset for c in stream.chunks] == [0, step, 2 * step, 3 * step]


def test_ports_used_again():
    packets = [*opening(), client(1001, b"old"), client(1004, b"", FIN)]
    packets += [*opening(9000, 7000), client(9001, b"new"), server(7001, b"yes")]
    found = reassemble(packets)
    assert [(s.connection_index, s.direction, bytes(s)) for s in found] == [
        (0, "client", b"old"),
        (0, "server", b""),
        (1, "client", b"new"),
        (1, "server", b"yes"),
    ]


def test_connections_apart():
    other = ("10.0.0.1", 40001)
    packets = [
        client(1, b"a"),
        made.segment(other, made.SERVER, 1, b"x"),
        client(2, b"b"),
        made.segment(other, made.SERVER, 2, b"y"),
    ]
    assert octets(packets) == [b"ab", b"xy"]


def test_what_a_reset_carries_is_no_stream():
    assert octets([*opening(), client(1001, b"a"), client(1002, b"why", RST)])[0] == b"a"


def test_ports():
    there, back = ("10.0.0.1", 5672), ("10.0.0.2", 5673)
    packets = [
        made.segment(there, back, 8, b"", SYN),
        made.segment(back, there, 8, b"", SYN | ACK),
        made.segment(there, back, 9, b"ab"),
        made.segment(back, there, 9, b"xy"),
    ]
    (back_stream, there_stream) = reassemble(packets)
    assert (back_stream.direction, bytes(back_stream)) == ("client", b"xy")
    assert (there_stream.direction, bytes(there_stream)) == ("server", b"ab")
    # Where both are wanted, who opened it is the client; also where only the answer was captured.
    for some in (packets, packets[1:]):
        first, second = reassemble(some, ports=(5672, 5673))
        assert (first.direction, bytes(first)) == ("client", b"ab")
        assert (second.direction, bytes(second)) == ("server", b"xy")


@given(
    data=st.binary(min_size=1, max_size=400),
    start=st.integers(0, 2**32 - 1) | st.integers(2**32 - 400, 2**32 - 1),
    seed=st.randoms(use_true_random=False),
)
def test_any_segmentation_gives_the_stream(data: bytes, start: int, seed: random.Random):
    """Cut anywhere, in any order, with repeats and overlaps."""
    cuts = sorted({0, len(data), *(seed.randrange(len(data)) for _ in range(6))})
    parts = list(itertools.pairwise(cuts))
    parts += [sorted(seed.choices(range(len(data) + 1), k=2)) for _ in range(4)]
    seed.shuffle(parts)
    packets = [client(start - 1, b"", SYN)]
    packets += [client(start + low, data[low:high]) for low, high in parts]
    (stream,) = reassemble(packets)
    assert bytes(stream) == data
    assert not stream.gaps
    ready = [chunk.ready for chunk in stream.chunks]
    assert ready == sorted(ready)
    for chunk in stream.chunks:
        assert chunk.packet <= chunk.ready
        low, high = parts[chunk.packet - 2]
        assert low <= chunk.offset < chunk.end <= high


def test_streams_of_a_file(tmp_path: Path):
    path = tmp_path / "made.pcap"
    path.write_bytes(made.pcap([*opening(), client(1001, b"ab"), server(5001, b"c")]))
    assert [bytes(stream) for stream in capture.streams(path)] == [b"ab", b"c"]
    assert capture.streams(path, ports=[5671]) == []
    assert capture.load(path, ports=[5671]).skipped == {"other ports": 4}
