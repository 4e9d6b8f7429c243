"""Streams to frames: whole, in order, and what is no frame as data."""

from __future__ import annotations

import datetime
import struct
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqpcodec import capture
from amqpcodec.capture import Frame
from tests.capture import recording as made
from tests.capture.recording import client, opening, server
from tests.paths import REPO

pytest.importorskip("pyarrow")

HEADER = b"AMQP\x00\x00\x09\x01"


def frame(kind: int, channel: int, payload: bytes, end: int = 0xCE) -> bytes:
    return struct.pack(">BHI", kind, channel, len(payload)) + payload + bytes([end])


OPEN_OK = frame(1, 0, b"\x00\x0a\x00\x29\x00")  # connection.open-ok
CHANNEL_OPEN = frame(1, 1, b"\x00\x14\x00\x0a\x00")
CLOSE_OK = frame(1, 1, b"\x00\x14\x00\x29")
BEAT = frame(8, 0, b"")
BODY = frame(3, 1, b"hello")


def frames(tmp_path: Path, packets, **more) -> list[Frame]:
    path = tmp_path / "made.pcap"
    path.write_bytes(made.pcap(packets, **more))
    return list(capture.frames(path))


def test_frames_over_packets(tmp_path):
    """Several in one packet, one over several, both directions in file order."""
    octets = HEADER + CHANNEL_OPEN + BODY
    found = frames(
        tmp_path,
        [
            *opening(),
            client(1001, octets[:10]),
            server(5001, OPEN_OK + BEAT),
            client(1011, octets[10:12]),
            client(1013, octets[12:]),
        ],
        nano=True,
    )
    assert [f.octets for f in found] == [HEADER, OPEN_OK, BEAT, CHANNEL_OPEN, BODY]
    assert [f.direction for f in found] == ["client", "server", "server", "client", "client"]
    assert [f.packet for f in found] == [3, 4, 4, 6, 6]
    first = made.START_NS // 1000
    assert [f.timestamp for f in found] == [first + 1000 * n for n in (2, 3, 3, 5, 5)]
    assert {f.connection for f in found} == {"10.0.0.1:40000 > 10.0.0.2:5672"}
    assert {f.connection_index for f in found} == {0}
    assert {f.error for f in found} == {None}


def test_file_order_is_that_of_completion(tmp_path):
    """A frame behind a hole counts from the packet that filled the hole, not from its own."""
    found = frames(
        tmp_path,
        [
            *opening(),
            client(1001 + 8, CHANNEL_OPEN),
            server(5001, OPEN_OK),
            client(1001, HEADER),
        ],
    )
    assert [f.octets for f in found] == [OPEN_OK, HEADER, CHANNEL_OPEN]
    assert [f.packet for f in found] == [4, 5, 3]


def test_a_packet_without_a_time(tmp_path):
    path = tmp_path / "made.pcapng"
    path.write_bytes(made.section() + made.interface("<", 1) + made.simple("<", client(1, HEADER)))
    (found,) = capture.frames(path)
    assert (found.octets, found.timestamp) == (HEADER, None)


@pytest.mark.parametrize(
    "tail",
    [
        BODY[:-1],  # cut by the end of the capture
        BODY[:3],
        b"A",
        frame(1, 1, b"\x00\x14\x00\x0a\x00", end=0xCD) + BODY,
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x03\x00\x01\xff\xff\xff\xf0" + bytes(40),
    ],
)
def test_a_malformed_tail_is_data(tmp_path, tail):
    """Nothing raises and nothing is lost."""
    found = frames(tmp_path, [*opening(), client(1001, HEADER + CHANNEL_OPEN + tail)])
    assert [f.octets for f in found[:2]] == [HEADER, CHANNEL_OPEN]
    assert [f.error for f in found[:2]] == [None, None]
    assert b"".join(f.octets for f in found[2:]) == tail
    assert found[2].error


def test_a_bad_frame_between_good_ones_is_one_item(tmp_path):
    unknown = frame(1, 1, b"\x00\x63\x00\x63")
    short = frame(1, 1, b"\x00\x14\x00\x0a\x05ab")
    found = frames(tmp_path, [*opening(), client(1001, HEADER + unknown + BODY + short + BEAT)])
    assert [f.octets for f in found] == [HEADER, unknown, BODY, short, BEAT]
    assert [bool(f.error) for f in found] == [False, True, False, True, False]


def test_behind_a_gap_nothing_is_guessed(tmp_path):
    """The frame that the gap cut and what follows it are items with an error, complete."""
    octets = HEADER + CHANNEL_OPEN + BODY + BEAT + CLOSE_OK
    lost = len(HEADER + CHANNEL_OPEN) + 4
    found = frames(
        tmp_path,
        [
            *opening(),
            client(1001, octets[:lost]),
            server(5001, OPEN_OK),
            client(1001 + lost + 3, octets[lost + 3 :]),
        ],
    )
    assert [f.octets for f in found if f.error is None] == [HEADER, CHANNEL_OPEN, OPEN_OK]
    cut, rest = (f for f in found if f.error)
    assert cut.octets == BODY[:4]
    assert rest.octets == octets[lost + 3 :]
    assert "3 octets" in rest.error


def test_a_stream_without_its_beginning(tmp_path):
    found = frames(tmp_path, [client(5, BODY + BEAT), server(9, b"lo" + OPEN_OK[7:])])
    assert [(f.octets, bool(f.error)) for f in found] == [
        (BODY, False),
        (BEAT, False),
        (b"lo" + OPEN_OK[7:], True),
    ]


def test_the_recording_of_the_demo():
    """What is in it was counted apart, by a walk over the size fields."""
    found = list(capture.frames(REPO / "demo" / "kombu_celery.pcap.gz"))
    assert len(found) == 1000
    assert not [f for f in found if f.error]
    assert len({f.connection for f in found}) == 7
    assert Counter(f.octets[0] for f in found) == {1: 533, 2: 230, 3: 230, ord("A"): 7}
    published = [f for f in found if f.octets[0] == 1 and f.octets[7:11] == b"\x00\x3c\x00\x28"]
    assert len(published) == 115
    assert {f.direction for f in published} == {"client"}
    begin = datetime.datetime.fromtimestamp(found[0].timestamp / 1e6, datetime.UTC)
    assert begin.isoformat(timespec="seconds") == "2026-11-21T00:56:02+00:00"
    assert [f.packet for f in found] == sorted(f.packet for f in found)


@st.composite
def damaged(draw) -> bytes:
    """A good file of one kind or the other, with some octets changed, cut out or put in."""
    octets = HEADER + CHANNEL_OPEN + BODY
    packets = [
        *opening(),
        client(1001, octets[:9]),
        server(5001, OPEN_OK),
        client(1010, octets[9:]),
    ]
    whole = made.pcap(packets)
    if draw(st.booleans()):
        whole = made.section() + made.interface("<", 1, 0, made.option("<", 9, b"\x06"))
        whole += b"".join(made.enhanced("<", 0, n, packet) for n, packet in enumerate(packets))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(whole)))
        new = draw(st.binary(max_size=4))
        whole = whole[:at] + new + whole[at + draw(st.sampled_from([len(new), 0, 1, 9])) :]
    return whole


@given(octets=damaged())
def test_damage_gives_frames_or_a_capture_error(tmp_path_factory, octets):
    """Nothing else is raised, and what comes out are octets of the file."""
    path = tmp_path_factory.getbasetemp() / "damaged"
    path.write_bytes(octets)
    try:
        loaded = capture.load(path)
    except capture.CaptureError:
        return
    found = list(loaded.frames())
    assert sum(len(f.octets) for f in found) == sum(len(bytes(s)) for s in loaded.streams)
    for one in found:
        assert one.octets
        assert one.error or one.octets[:4] == b"AMQP" or one.octets[-1] == 0xCE
