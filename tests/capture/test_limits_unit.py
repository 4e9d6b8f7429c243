"""Limits of captures: open connections, interfaces, bytes of a frame, of a packet or block."""

from __future__ import annotations

import io
import struct

import pytest

from amqpcodec import capture
from amqpcodec import v0_9_1 as amqp
from tests.capture.rows import rows
from tests.support import recording as make
from tests.support.recording import segment_of, syn_of
from tests.support.v1_talk import AMQP, opening, transfer

ACK = amqp.encode(1, amqp.Basic.Ack(delivery_tag=7))
FIELDS = ["connection_index", "flags", "frame", "error"]


def talk(connections: int) -> list[bytes]:
    """The first one says half a frame before the others begin, and the rest at the end."""
    hosts = range(1, connections + 1)
    first = [syn_of(1), segment_of(1, ACK[:9])]
    return [
        *first,
        *map(syn_of, hosts[1:]),
        *(segment_of(i, ACK) for i in hosts[1:]),
        segment_of(1, ACK[9:], 1010),
    ]


def test_open_connections():
    """Those that were silent for longest end, and what they had begun is told."""
    rows_within_limit = rows(make.pcap(talk(4)), fields=FIELDS, order="none", open_connections=4)
    assert [row["frame"] for row in rows_within_limit] == [ACK] * 4
    assert {row["error"] for row in rows_within_limit} == {None}
    reader = capture.Reader(io.BytesIO(make.pcap(talk(4))), fields=["error"], open_connections=3)
    assert sum(map(len, reader)) == 5
    assert reader.stats()["connections"] == 5
    assert reader.stats()["midstream"] == 1
    rows_above_limit = rows(make.pcap(talk(4)), fields=FIELDS, order="none", open_connections=3)
    assert [row["frame"] for row in rows_above_limit] == [ACK[:9], ACK, ACK, ACK, ACK[9:]]
    assert [row["flags"] for row in rows_above_limit] == [
        ["truncated"],
        [],
        [],
        [],
        ["truncated", "midstream"],
    ]
    assert [row["connection_index"] for row in rows_above_limit] == [0, 1, 2, 3, 4]
    assert all(rows_above_limit[i]["error"] for i in (0, 4))


def test_a_state_has_as_many_as_may_be_open():
    octets = make.pcap(talk(4))
    reader = capture.Reader(io.BytesIO(octets), fields=FIELDS, open_connections=4)
    list(reader.read(len(octets) - 16 - len(talk(4)[-1])))
    state = reader.state()
    again = capture.Reader(io.BytesIO(octets), fields=FIELDS, open_connections=4)
    again.resume(state)
    assert sum(map(len, again)) == 1
    with pytest.raises(capture.StateError, match="than the reader's limit of open"):
        capture.Reader(io.BytesIO(octets), fields=FIELDS, open_connections=2).resume(state)


OLD = amqp.encode(1, amqp.Body(b"x" * 99))
NEW = transfer(b"x" * 99)
#: How a connection begins, and a frame of so many bytes, that say nothing of how many may be.
BEGUN = {
    "0-9-1": (amqp.PROTOCOL_HEADER, lambda size: OLD[:3] + struct.pack(">I", size - 8) + OLD[7:]),
    "1.0": (AMQP, lambda size: struct.pack(">I", size) + NEW[4:]),
    "1.0, opened": (AMQP + opening(), lambda size: struct.pack(">I", size) + NEW[4:]),
}


@pytest.mark.parametrize("kind", BEGUN)
@pytest.mark.parametrize(("more", "reports_error"), [(0, False), (1, True)])
def test_bytes_of_a_frame(kind: str, more: int, reports_error: bool):
    """The bytes of a larger one are not waited for: the next frame is looked for among them."""
    prefix, frame = BEGUN[kind]
    octets = make.pcap([*make.opening(), make.client(1001, prefix + frame((1 << 26) + more))])
    *_, last = rows(octets, fields=["error"])
    assert ("larger than frame_max" in last["error"]) is reports_error


@pytest.mark.parametrize(("count", "damaged"), [(1 << 16, False), ((1 << 16) + 1, True)])
def test_interfaces_of_a_section(count: int, damaged: bool):
    packets = [
        make.enhanced("<", 0, i, packet) for i, packet in enumerate((syn_of(1), segment_of(1, ACK)))
    ]
    octets = make.section() + make.interface("<", 1) * count + b"".join(packets)
    reader = capture.Reader(io.BytesIO(octets), fields=["frame"])
    assert sum(map(len, reader)) == (0 if damaged else 1)
    assert (reader.damaged is not None) is damaged


@pytest.mark.parametrize("files", ["rotation", "separate", "taps"])
@pytest.mark.parametrize("blocks", [False, True])
def test_bytes_of_a_record(files, blocks: bool):
    """A packet or block that says that it is larger is damage."""
    packets = [
        syn_of(1),
        segment_of(1, ACK),
        segment_of(1, amqp.encode(1, amqp.Body(b"x" * 500)), 1001 + len(ACK)),
    ]
    octets = make.pcap(packets)
    if blocks:
        parts = [make.enhanced("<", 0, i, packet) for i, packet in enumerate(packets)]
        octets = make.section() + make.interface("<", 1) + b"".join(parts)
    largest = len(packets[-1]) + (36 if blocks else 0)  # a block counts as a whole
    for limit, count in ((largest, 2), (largest - 4, 1)):
        source = io.BytesIO(octets)
        reader = capture.Reader(source, fields=["error"], files=files, record_bytes=limit)
        assert sum(map(len, reader)) == count
        damaged = reader.damaged
        assert (damaged is None) == (count == 2)
        assert damaged is None or "no record at byte" in damaged


@pytest.mark.parametrize("size", [50, 2000, 60_000])
def test_frames_above_tune_ok_are_refused_however_they_come(size: int):
    """Also in a message that one packet has as a whole."""
    stream = amqp.PROTOCOL_HEADER + amqp.encode(0, amqp.Connection.TuneOk(0, 4096, 0))
    stream += amqp.encode_message(1, amqp.Basic.Publish(), None, bytes(5000)) + ACK
    packets = [make.client(1001 + at, stream[at : at + size]) for at in range(0, len(stream), size)]
    octets = make.pcap([*make.opening(), *packets])
    message_rows = rows(octets, level="message", fields=["method", "error"])
    assert [row["method"] for row in message_rows if row["error"] is None] == [
        "connection.tune-ok",
        "basic.ack",
    ]
    assert any("larger than frame_max" in (row["error"] or "") for row in message_rows)
