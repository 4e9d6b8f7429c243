"""What proves that bytes are missing, and where a frame that a gap cut has its end."""

from __future__ import annotations

import pytest

from amqpcodec import v0_9_1 as amqp
from amqpcodec import v1_0 as v1
from tests.capture.rows import rows
from tests.support import recording as make

BEAT = amqp.encode(0, amqp.Heartbeat())
ACK = amqp.encode(1, amqp.Basic.Ack(delivery_tag=7))
START = 1001


def read(*packets: bytes) -> list[dict]:
    return rows(make.pcap([*make.opening(), *packets]), fields=["flags", "error", "frame"])


@pytest.mark.parametrize("missing", [0, 1, 2, 3, 1000])
@pytest.mark.parametrize("captured_fin", [False, True])
def test_a_fin_takes_a_number_and_is_no_byte(missing: int, captured_fin: bool):
    """The server says what it has: one number more than was captured may be a FIN, two are a byte.

    Where the FIN was captured, the numbers are known to the last.
    """
    packets = make.talk(ACK, first=START)
    end = START + len(ACK)
    if captured_fin:
        packets.append(make.client(end, b"", make.FIN | make.ACK))
    frame_rows = read(*packets, make.server(5001, b"", make.ACK, end + missing))
    gaps = [row for row in frame_rows if row["flags"] == ["gap"]]
    assert frame_rows[0]["frame"] == ACK
    lost = missing if missing > 1 and not captured_fin else 0
    assert len(gaps) == (lost > 0) == len(frame_rows) - 1
    if gaps:
        assert gaps[0]["frame"] == b""
        assert f"{lost} bytes were not captured" in gaps[0]["error"]


def test_later_segments_tell_of_a_fin_as_well():
    """An ACK of the direction itself, after a FIN that was not captured."""
    end = START + len(ACK)
    frame_rows = read(*make.talk(ACK, first=START), make.client(end + 1, b"", make.ACK, 5001))
    assert [row["frame"] for row in frame_rows] == [ACK]
    frame_rows = read(*make.talk(ACK, first=START), make.client(end + 2, b"", make.ACK, 5001))
    assert [row["flags"] for row in frame_rows] == [[], ["gap"]]


def cut_in_two(end: bytes, after: bytes) -> list[dict]:
    """A body whose middle was not captured; its end byte is replaced, and bytes follow."""
    body = amqp.encode(1, amqp.Body(b"b" * 400))
    body = body[:-1] + end
    stream = ACK + body + after
    gap_start, gap_end = len(ACK) + 100, len(ACK) + 300
    return read(
        make.client(START, stream[:gap_start]), make.client(START + gap_end, stream[gap_end:])
    )


def test_the_frame_after_a_gap_begins_where_the_cut_one_ends():
    """One frame alone is believed there, since the frame that was cut ends with its end byte."""
    frame_rows = cut_in_two(b"\xce", ACK)
    assert [row["frame"] for row in frame_rows if row["error"] is None] == [ACK, ACK]
    assert [row["flags"] for row in frame_rows] == [
        *([], ["truncated"], ["gap"], ["gap", "truncated"], ["gap"]),
    ]


@pytest.mark.parametrize("after", [b"", v1.encode(0, v1.Detach(handle=0))])
def test_the_frame_of_1_0_after_a_gap_begins_where_the_cut_one_ends(after: bytes):
    """One frame alone is believed there, and so is the end of all."""
    first = v1.encode(0, v1.Begin(next_outgoing_id=0, incoming_window=1, outgoing_window=1))
    transfer = v1.encode(0, v1.Transfer(handle=0, delivery_id=0, delivery_tag=b"t"), bytes(400))
    stream = b"AMQP\0\1\0\0" + first + transfer + after
    gap_start, gap_end = len(stream) - len(after) - 300, len(stream) - len(after) - 100
    frame_rows = read(
        make.client(START, stream[:gap_start]), make.client(START + gap_end, stream[gap_end:])
    )
    good = [row["frame"] for row in frame_rows if row["error"] is None]
    assert good == [stream[:8], first, *([after] if after else [])]
    assert [row["flags"] for row in frame_rows] == [
        *([], [], ["truncated"], ["gap"], ["gap", "truncated"], *([["gap"]] if after else [])),
    ]


def test_no_frame_begins_where_the_cut_one_has_no_end():
    """The size that the cut frame announced was a lie, then; what follows has to prove itself."""
    # What looks like a frame, as it ends where the first of the others does.
    false_start = b"\x01\x00\x01\x00\x00\x00\x28"
    frame_rows = cut_in_two(b"\x00", false_start + b"x" * 20 + 40 * ACK)
    good = [row["frame"] for row in frame_rows if row["error"] is None]
    assert good == [ACK] * 41
    assert not any(row["error"] is None and row["frame"] != ACK for row in frame_rows)
    resync = [row for row in frame_rows if "resync" in row["flags"]]
    assert [row["frame"] for row in resync] == [ACK]


@pytest.mark.parametrize("is_opened", [False, True])
def test_a_header_behind_other_bytes_begins_nothing(is_opened: bool):
    """But where the connection was seen to open: something may stand before it."""
    sent = make.client(START, b"x" * 40 + amqp.PROTOCOL_HEADER)
    octets = make.pcap([*(make.opening() if is_opened else []), sent])
    frames = [row["frame"] for row in rows(octets, fields=["frame"])]
    assert frames.count(amqp.PROTOCOL_HEADER) == is_opened
