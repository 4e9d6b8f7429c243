"""Segments of TCP to connections: ports, resets, openings that come late."""

from __future__ import annotations

import io
import struct

import pytest

from amqpcodec import _capture, capture
from amqpcodec import v0_9_1 as amqp
from tests.capture.rows import rows
from tests.support import recording as make

BEAT = amqp.encode(0, amqp.Heartbeat())
ACK = amqp.encode(1, amqp.Basic.Ack(delivery_tag=7))


@pytest.mark.parametrize("syn", [True, False])
def test_both_ports_are_wanted(syn: bool) -> None:
    """The opening tells who the client is; without it, the first who speaks is."""
    packets = [
        *make.opening(),
        make.client(1001, BEAT),
        make.server(5001, ACK),
        make.client(1009, BEAT),
    ]
    frame_rows = rows(
        make.pcap(packets[0 if syn else 2 :]),
        ports=(make.CLIENT[1], make.SERVER[1]),
        fields=["frame", "direction", "src"],
    )
    assert [row["direction"] for row in frame_rows] == ["client", "server", "client"]
    assert frame_rows[0]["src"] == "10.0.0.1:40000"


def test_a_connection_whose_first_packet_is_the_servers() -> None:
    """SYN and ACK are the server's, also where both ports are wanted."""
    packets = [make.opening()[1], make.server(5001, ACK), make.client(1001, BEAT)]
    frame_rows = rows(
        make.pcap(packets), ports=(make.CLIENT[1], make.SERVER[1]), fields=["frame", "direction"]
    )
    assert {(row["frame"], row["direction"]) for row in frame_rows} == {
        (ACK, "server"),
        (BEAT, "client"),
    }


def test_an_opening_amid_a_stream_is_of_another_connection() -> None:
    """Enough was seen to begin without an opening; one with other numbers is not its."""
    before = [make.client(900_000 + 8 * n, BEAT) for n in range(40)]
    packets = [*before, *make.opening(), make.client(1001, ACK)]
    frame_rows = rows(make.pcap(packets), fields=["frame", "connection_index"])
    assert [row["connection_index"] for row in frame_rows] == [0] * 40 + [1]
    # What came before the first bytes that were kept belongs to the same one.
    late = [make.client(1001, BEAT), *make.opening(), make.client(1009, ACK)]
    frame_rows = rows(make.pcap(late), fields=["frame", "connection_index"])
    assert [(row["frame"], row["connection_index"]) for row in frame_rows] == [(BEAT, 0), (ACK, 0)]
    # A SYN after which nothing but an acknowledgement was seen.
    packets = [make.client(900_000, b"", make.FIN), *make.opening(), make.client(1001, ACK)]
    assert len(rows(make.pcap(packets), fields=["frame"])) == 1


def many(packet: bytes, addresses: range) -> bytes:
    """The packet of a client, of as many as there are addresses, each with its port."""
    record = make.pcap([packet])[24:]
    at = record.index(b"\x0a\0\0\1\x0a\0\0\2")
    head, between, tail = record[:at], record[at + 4 : at + 8], record[at + 10 :]
    return b"".join(
        head + struct.pack(">I", n) + between + struct.pack(">H", n & 0xFFFF | 1 << 15) + tail
        for n in addresses
    )


def test_resets_that_nobody_asks_for_are_bounded() -> None:
    syn, reset = make.opening()[0], make.client(1001, b"", make.RST)
    core = _capture.CaptureReader(amqp.PROTOCOL, ["frame"], (5672,), True, True, 1000)
    core.begin("x", "x")
    core.feed(make.pcap([]))
    for first in range(0, (1 << 16) + 1, 4096):
        clients = range(first, min(first + 4096, (1 << 16) + 3))
        core.feed(many(syn, clients) + many(reset, clients))
        assert core.advance() is False
    assert core.counts()["resets"] == (1 << 16) + 3
    assert len(core.resets()) == 1 << 16
    assert core.resets() == []


def test_directions_that_a_file_ends_with_are_bounded() -> None:
    """Of very many, those that came last are known."""
    most = 1 << 13
    ends = _capture.CaptureEnds((5672,))
    octets = make.pcap([]) + many(make.client(1001, BEAT), range(most))
    assert ends.feed(octets) == len(octets)
    assert len(ends.ways()) == most
    more = many(make.client(1001, BEAT), range(most, most + 5))
    assert ends.feed(more) == len(more)
    assert len(ends.ways()) == 5


def test_a_part_of_a_frame_that_came_before_its_beginning() -> None:
    """Other rows go out while the rest of a frame waits whose first bytes were sent early."""
    frames = BEAT * 3 + ACK
    other = (make.CLIENT[0], 40_001)
    syn = make.segment(other, make.SERVER, 1000, b"", make.SYN)
    busy = make.segment(other, make.SERVER, 1001, BEAT * 3000)
    early, late = make.client(1001 + 8, frames[8:-5]), make.client(1001, frames[:8])
    last_segment = make.client(1001 + len(frames) - 5, frames[-5:])
    frame_rows = rows(
        make.pcap([*make.opening(), syn, early, late, busy, last_segment]),
        fields=["frame", "src", "flags"],
    )
    assert not any(row["flags"] for row in frame_rows)
    mine = [row["frame"] for row in frame_rows if row["src"] == "10.0.0.1:40000"]
    assert mine == [BEAT] * 3 + [ACK]
    assert [row["frame"] for row in frame_rows].index(ACK) == 3
    assert len(frame_rows) == 3004


def test_stats_of_ports_that_are_read_twice() -> None:
    counters = capture.stats(io.BytesIO(make.pcap([make.client(1001, BEAT)] * 3)))
    assert (counters["packets"], counters["retransmitted_bytes"]) == (3, 16)
