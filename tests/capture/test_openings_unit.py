"""Where connections begin: late openings, keep-alives, ports used again, other protocols."""

from __future__ import annotations

import io
import warnings
from typing import Any

import pytest

from amqpcodec import capture, v0_9_1, v1_0
from tests.capture.rows import rows
from tests.support import recording as make

HELLO = v0_9_1.PROTOCOL_HEADER
START = v0_9_1.encode(0, v0_9_1.Connection.Start())
START_OK = v0_9_1.encode(0, v0_9_1.Connection.StartOk())
BEAT = v0_9_1.encode(0, v0_9_1.Heartbeat())
PUBLISH = v0_9_1.encode(1, v0_9_1.Basic.Publish(exchange="x", routing_key="a-key"))


def stats(*packets: bytes | make.Record) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", capture.CaptureWarning)
        return capture.stats(io.BytesIO(make.pcap(packets)))


# ---- openings that come late


def talk(sides: int) -> list[bytes]:
    """An opening, a header and its answer, and 60 frames of each side."""
    payloads = [(0, HELLO), (1, START), (0, START_OK)]
    for _ in range(60):
        payloads += [(0, PUBLISH), (1, BEAT)]
    return make.packets(payloads)


@pytest.mark.parametrize("late", [1, 3, 20, 40, 80, 110])
@pytest.mark.parametrize("side", [0, 1])
def test_an_opening_that_comes_late(side: int, late: int) -> None:
    packets = talk(side)
    expected = [row["frame"] for row in rows(make.pcap(packets))]
    opening = packets.pop(side)
    packets.insert(late + side, opening)
    frame_rows = rows(make.pcap(packets))
    assert {row["connection_index"] for row in frame_rows} == {0}
    assert sorted(row["frame"] for row in frame_rows) == sorted(expected)
    assert not [row["error"] for row in frame_rows if row["error"]]
    counted = stats(*packets)
    assert (counted["connections"], counted["gaps"], counted["lost_bytes"]) == (1, 0, 0)
    assert counted["versions"] == {"0-9-1": 1}


def test_a_header_is_a_beginning_without_an_opening() -> None:
    packets = talk(0)
    for first in (1, 2):
        frame_rows = rows(make.pcap(packets[first:]))
        assert [row["flags"] for row in frame_rows if row["direction"] == "client"] == [[]] * 62
    assert stats(*packets[1:])["midstream"] == 0
    assert stats(*packets[2:])["midstream"] == 1  # the server's side


def test_an_opening_with_other_numbers_is_of_another_connection() -> None:
    packets = talk(0)[3:]
    for wrong in (998, 1002, 900_000):
        again = make.client(wrong, b"", make.SYN)
        counters = stats(*packets, again, make.client(wrong + 1, HELLO))
        assert counters["connections"] == 2, wrong


def test_an_opening_after_a_segment_of_which_nothing_was_captured() -> None:
    """It begins a connection: nothing tells how far before that segment it stands."""
    packets = talk(0)
    packet = make.client(1001, HELLO)
    headers_alone = make.Record(packet[: -len(HELLO)], make.START_NS, len(packet))
    counted = stats(headers_alone, *packets)
    assert (counted["connections"], counted["midstream"]) == (2, 0)
    frame_rows = rows(make.pcap([headers_alone, *packets]))
    expected = rows(make.pcap(packets))
    assert [row["frame"] for row in frame_rows if row["frame"]] == [
        row["frame"] for row in expected
    ]


# ---- keep-alives


def probe(side: int, sequence: int, byte: bytes) -> bytes:
    return (make.client, make.server)[side](sequence, byte)


@pytest.mark.parametrize("byte", [b"\0", b"\xff", b"\xce", b"A", b"\1", b"\3", b"G"])
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("times", [1, 3])
def test_a_keep_alive_before_the_first_frames(side: int, byte: bytes, times: int) -> None:
    ends = make.client, make.server
    packets = [probe(side, 1999, byte)] * times
    packets += [ends[side](2000 + len(PUBLISH) * n, PUBLISH) for n in range(3)]
    frame_rows = rows(make.pcap(packets))
    assert [(row["frame"], row["error"]) for row in frame_rows] == [(PUBLISH, None)] * 3
    assert [row["flags"] for row in frame_rows] == [["midstream"], [], []]
    counted = stats(*packets)
    assert (counted["errors"], counted["resyncs"]) == (0, 0)
    assert (counted["retransmitted_bytes"], counted["conflicting_bytes"]) == (times, 0)


def test_a_keep_alive_before_frames_of_1_0() -> None:
    frames = [v1_0.encode(0, v1_0.Flow(None, 1, n, 1)) for n in range(4)]
    packets, place = [probe(0, 1999, b"\0")], 2000
    for frame in frames:
        packets.append(make.client(place, frame))
        place += len(frame)
    frame_rows = rows(make.pcap(packets))
    assert [(row["frame"], row["error"]) for row in frame_rows] == [
        (frame_bytes, None) for frame_bytes in frames
    ]


@pytest.mark.parametrize("sides", [(0,), (1,), (0, 1)])
def test_nothing_but_keep_alives(sides: tuple[int, ...]) -> None:
    packets = [probe(side, 1999, b"\0") for _ in range(3) for side in sides]
    assert rows(make.pcap(packets)) == []
    assert stats(*packets)["retransmitted_bytes"] == 3 * len(sides)


def test_what_is_no_keep_alive_stays_a_row() -> None:
    """Two bytes, or one that came with others, are of a frame whose beginning is not there."""
    for packets in (
        [make.client(1998, b"\0\0"), make.client(2000, PUBLISH * 3)],
        [make.client(1999, b"\0" + PUBLISH * 3)],
    ):
        frame_rows = rows(make.pcap(packets))
        assert frame_rows[0]["error"] is not None
        assert [row["frame"] for row in frame_rows[1:]] == [PUBLISH] * 3


# ---- ports that are used again


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("number", [5_000_000, 900_000_000, 3_000_000_000])
def test_a_header_far_away_begins_another_connection(number: int, closed: bool) -> None:
    packets = make.packets([(0, HELLO), (1, START), (0, START_OK)])
    if closed:
        packets += [make.client(1100, b"", make.FIN), make.server(5100, b"", make.FIN)]
    for data in (HELLO, HELLO + START_OK):
        again = [make.client(number, data), make.client(number + len(data), BEAT)]
        frame_rows = rows(make.pcap([*packets[:5], *again]))
        assert [row["connection_index"] for row in frame_rows][-2:] == [1, 1]
        assert not [row for row in frame_rows if row["error"]]
        # sent again, it is the same one
        assert stats(*packets[:5], *again, again[0])["connections"] == 2


def test_a_header_inside_of_the_window_begins_nothing() -> None:
    packets = make.packets([(0, HELLO), (1, START), (0, START_OK)])
    assert stats(*packets, packets[2])["connections"] == 1
    assert stats(*packets, make.client(3000, HELLO))["connections"] == 1
    body = v0_9_1.encode(1, v0_9_1.Body(bytes(9000) + HELLO + bytes(9)))
    at = body.index(HELLO)
    place = 1001 + len(HELLO) + len(START_OK)
    pieces = [make.client(place, body[:at]), make.client(place + at, body[at:])]
    assert stats(*packets, *pieces)["connections"] == 1


# ---- other protocols

OTHERS = {
    "HTTP": [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /x HTTP/1.1\r\n\r\n",
        b"PUT /x HTTP/1.1\r\n\r\n",
        b"CONNECT x:1 HTTP/1.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
    "MQTT": [
        bytes.fromhex("100c00044d515454040200000000"),
        bytes.fromhex("10800100064d51497364700302"),
    ],
    "STOMP": [b"CONNECT\naccept-version:1.2\n\n\0", b"STOMP\r\nhost:x\r\n\r\n\0"],
    "SSH": [b"SSH-2.0-client\r\n"],
}


@pytest.mark.parametrize(
    ("name", "data"), [(name, data) for name, all_ in OTHERS.items() for data in all_]
)
@pytest.mark.parametrize("step", [1, 3, 6, 7, 1000])
def test_what_a_client_speaks_is_named(name: str, data: bytes, step: int) -> None:
    payloads = [(0, data[at : at + step]) for at in range(0, len(data), step)]
    packets = make.packets([*payloads, (1, HELLO)])
    (row,) = rows(make.pcap(packets))
    assert (row["direction"], row["frame"], row["error"]) == ("server", HELLO, None)
    counted = stats(*packets)
    assert (counted["other_protocols"], counted["other_protocol_names"]) == (1, {name: 1})
    assert (counted["skipped_bytes"], counted["errors"]) == (len(data), 0)
    # and where the server understands it
    counted = stats(*make.packets([*payloads, (1, b"\x20\2\0\0" + bytes(99)), (0, b"x" * 50)]))
    assert counted["other_protocol_names"] == {name: 1}
    assert counted["frames"] == {}


def test_tls_and_another_version() -> None:
    hello = bytes.fromhex("16030100a5010000a10303") + bytes(159)
    packets = make.packets([(0, hello), (1, HELLO)])
    assert [row["frame"] for row in rows(make.pcap(packets))] == [HELLO]
    assert stats(*packets)["tls_connections"] == 1
    header = b"AMQP\1\1\0\x0a"
    packets = make.packets([(0, header), (1, HELLO)])
    assert [row["frame"] for row in rows(make.pcap(packets))] == [header, HELLO]
    assert stats(*packets)["other_protocol_names"] == {"another version of AMQP": 1}


def test_a_warning_names_them() -> None:
    octets = make.pcap(make.packets([(0, OTHERS["MQTT"][0])]))
    with pytest.warns(capture.CaptureWarning, match="no frame of AMQP.*1 connection of MQTT"):
        list(capture.read(io.BytesIO(octets)))


# ---- copies that differ


def test_copies_that_differ_are_counted() -> None:
    packets = make.packets([(0, HELLO)])
    body = v0_9_1.encode(1, v0_9_1.Body(b"0123456789"))
    first, second = body[:12], body[12:]
    forged = bytes(byte ^ 0xFF for byte in first)
    # after the first copy, while the frame waits for its end
    segments = [make.client(1009, first), make.client(1009, forged), make.client(1021, second)]
    assert rows(make.pcap([*packets, *segments]))[1]["frame"] == body
    counted = stats(*packets, *segments)
    assert (counted["retransmitted_bytes"], counted["conflicting_bytes"]) == (12, 12)
    # the same bytes again are none
    same = [make.client(1009, first), make.client(1009, first), make.client(1021, second)]
    assert stats(*packets, *same)["conflicting_bytes"] == 0
    # after the frame became a row, no bytes of it are there to compare
    late = [make.client(1009, body), make.client(1009, forged)]
    counted = stats(*packets, *late)
    assert (counted["retransmitted_bytes"], counted["conflicting_bytes"]) == (12, 0)
    # among segments that wait, the first captured of those that begin at a place
    out_of_order = [make.client(1021, second), make.client(1021, b"\0" * len(second))]
    segments = [*out_of_order, make.client(1009, first)]
    assert rows(make.pcap([*packets, *segments]))[1]["frame"] == body
    assert stats(*packets, *segments)["conflicting_bytes"] == len(second) - second.count(0)
    # one that begins before another one
    segments = [make.client(1021, second), make.client(1011, first[2:] + b"\0\0"), packets[-1]]
    segments.append(make.client(1009, first[:2]))
    counted = stats(*packets, *segments)
    assert counted["conflicting_bytes"] == 2
    assert rows(make.pcap([*packets, *segments]))[1]["frame"] == first + b"\0\0" + second[2:]
