"""Where frames begin: bytes that look like one and are none, and bytes that a file ends with."""

from __future__ import annotations

import io
from typing import Any

import pytest

from amqpcodec import capture, v0_9_1
from amqpcodec import v1_0 as v1
from tests.capture.rows import rows
from tests.support import recording as make
from tests.support import v1_talk

ACK = v0_9_1.encode(1, v0_9_1.Basic.Ack(delivery_tag=7))
HEADER = v0_9_1.PROTOCOL_HEADER
START = 1001


GAP = b"a gap"
SEGMENT = 60_000


def stream(*pieces: bytes, syn: bool = True, answer: bytes = b"") -> bytes:
    """A capture of a client that says this, in a segment each; for GAP ten bytes are missing."""
    packets = make.opening() if syn else []
    if answer:
        packets.append(make.server(5001, answer))
    at = START
    for piece in pieces:
        if piece is GAP:
            at += 10
            continue
        for begin in range(0, len(piece), SEGMENT):
            part = piece[begin : begin + SEGMENT]
            packets.append(make.client(at, part))
            at += len(part)
    return make.pcap(packets)


def good(frame_rows: list[dict[str, Any]]) -> list[bytes]:
    return [row["frame"] for row in frame_rows if row["error"] is None]


def stats(octets: bytes, **how: Any) -> dict[str, Any]:
    return capture.stats(io.BytesIO(octets), **how)


@pytest.mark.parametrize("bad", [b"\1\0\0\0\0\0\3abc\xce", b"\2\0\1\0\0\0\x05\0\x3c\0\0\0\xce"])
def test_a_frame_that_is_too_short_for_its_type(bad: bytes) -> None:
    """It is none of another version, either."""
    frame_rows = rows(stream(HEADER + bad + ACK))
    assert [row["frame"] for row in frame_rows] == [HEADER, bad, ACK]
    assert frame_rows[1]["error"]
    assert good(frame_rows) == [HEADER, ACK]


def test_a_plausible_method_that_does_not_read() -> None:
    """The arguments have to be those of the method, where nothing else says that a frame begins."""
    false = b"\1\0\1\0\0\0\x05\0\x3c\0\x50x\xce"  # basic.ack without its number
    frame_rows = rows(stream(b"?" * 5 + false + ACK * 40, syn=False))
    assert good(frame_rows) == [ACK] * 40
    assert frame_rows[0]["frame"] == b"?" * 5 + false


@pytest.mark.parametrize("trailing_bytes", [b"", ACK[:1], ACK[:3]])
def test_a_header_after_a_line_at_the_end(trailing_bytes: bytes) -> None:
    """A header with nothing after it is one; what follows it otherwise has to be there to tell."""
    frame_rows = rows(stream(b"hello\n" + HEADER + trailing_bytes))
    assert (HEADER in good(frame_rows)) == (trailing_bytes == b"")


def test_a_header_after_a_line_and_its_frames_in_pieces() -> None:
    for split_offset in (1, 3, 4):
        frame_rows = rows(
            stream(b"hello\n" + HEADER + ACK[:split_offset], ACK[split_offset:] + ACK)
        )
        assert good(frame_rows) == [ACK, ACK]  # it has to be a method of channel 0
        begin = v0_9_1.encode(0, v0_9_1.Connection.TuneOk(1, 131072, 0))
        frame_rows = rows(
            stream(b"hello\n" + HEADER + begin[:split_offset], begin[split_offset:] + ACK)
        )
        assert good(frame_rows) == [HEADER, begin, ACK]


def test_much_without_a_frame_goes_out_before_the_end() -> None:
    junk = bytes(range(64, 128)) * 32
    frame_rows = rows(stream(*[junk] * 40, ACK * 60, syn=False), fields=["frame", "error", "flags"])
    assert good(frame_rows) == [ACK] * 60
    bad = [row["frame"] for row in frame_rows if row["error"]]
    assert b"".join(bad) == junk * 40
    assert 2 <= len(bad) <= 3
    assert max(map(len, bad)) <= (1 << 16) + 2 * len(junk)


@pytest.mark.parametrize(
    ("after", "begins"),
    [
        (ACK, True),
        (b"\1\0\1", True),
        (b"\x09\0\1", False),
        (b"\1\0\1\x7f\0\0\0" + bytes(20), False),
        (ACK[:-1] + b"?", False),
    ],
)
def test_what_stands_where_a_cut_frame_ends(after: bytes, begins: bool) -> None:
    body = v0_9_1.encode(1, v0_9_1.Body(b"b" * 50))
    frame_rows = rows(stream(HEADER + ACK + body[:20], GAP, body[30:] + after))
    frames = [row["frame"] for row in frame_rows if row["error"]]
    assert (body[30:] in frames) == begins
    assert good(frame_rows) == [HEADER, ACK, *([ACK] if after == ACK else [])]


# ---- what may stand between TCP and frames ----

TLS = b"\x16\3\1\0\4abcd"


@pytest.mark.parametrize(
    ("first", "connections"),
    [
        (TLS, 1),
        (TLS + TLS, 1),
        (TLS + b"\x16\4", 0),
        (b"\x17\3\3\0\4abcd", 0),
        (b"\x16\3\5\0\4abcd", 0),
        (b"\x16\3\1\x49\0abcd", 0),
        (b"\x16\3", 0),
    ],
)
def test_what_begins_as_tls_does(first: bytes, connections: int) -> None:
    assert stats(stream(first))["tls_connections"] == connections


@pytest.mark.parametrize("first", [b"GARBAGE", b"HTTP1.1 400", b"GET\t/", b"GE"])
def test_what_is_no_request(first: bytes) -> None:
    """Nor of another protocol."""
    frame_rows = rows(stream(first))
    assert [row["frame"] for row in frame_rows] == [first]


def test_any_bytes_of_the_port_of_tls_are_tls_where_the_beginning_is_missing() -> None:
    packets = make.packets([(0, b"\x80 no record")], port=5671)[2:]
    counters = stats(make.pcap(packets), ports=(5671,))
    assert (counters["tls_connections"], counters["skipped_bytes"]) == (1, 11)


@pytest.mark.parametrize("gap", [False, True])
def test_a_hello_in_pieces_before_an_end(gap: bool) -> None:
    """Seven bytes are enough to tell, also where no others follow."""
    pieces = [TLS[:3], TLS[3:7], *([GAP, b"abc"] if gap else [])]
    counters = stats(stream(*pieces))
    assert counters["tls_connections"] == 1
    assert counters["skipped_bytes"] == 7 + (3 if gap else 0)
    assert counters["gaps"] == 0


def test_a_gap_in_what_is_left_out() -> None:
    for first, count in ((b"AMQP\5\5\5\5", "other_protocols"), (TLS + b"\x17\3\3\0\1a", None)):
        counters = stats(stream(first, b"a" * 20, GAP, b"b" * 20))
        assert counters["gaps"] == 0
        assert counters["skipped_bytes"] >= 50
        if count:
            assert counters[count] == 1


# ---- a proxy's header ----


def test_lines_of_proxies() -> None:
    """The line is passed over; where its address is none, the packet's own stands in the row."""
    for address, src in (
        ("192.0.2.7", "192.0.2.7:40000"),
        ("1" * 60, "10.0.0.1:40000"),
        ("no-address", "10.0.0.1:40000"),
    ):
        line = f"PROXY TCP4 {address} 10.0.0.2 40000 5672\r\n".encode()
        (row,) = rows(stream(line + HEADER))
        assert row["frame"] == HEADER
        assert row["src"] in (src, "10.0.0.1:40000")


def test_a_binary_header_of_another_version_is_none() -> None:
    head = b"\r\n\r\n\0\r\nQUIT\n"
    assert stats(stream(head + b"\x21\0\0\0" + HEADER))["proxied_connections"] == 1
    assert stats(stream(head + b"\x11\0\0\0" + HEADER))["proxied_connections"] == 0


# ---- AMQP 1.0 ----


def test_heartbeats_are_found_midstream() -> None:
    beat = b"\0\0\0\x08\2\0\0\0"
    frames = [v1_talk.transfer(b"", n) for n in range(4)]
    for filler in (b"", b"?" * 9):
        frame_rows = rows(stream(filler + beat * 3 + b"".join(frames), syn=False))
        assert good(frame_rows) == [beat] * 3 + frames


@pytest.mark.parametrize(
    "false",
    [
        b"\0\0\0\x0d\2\0\0\0\0\x53\x14\x45?",  # a transfer without a handle
        b"\0\0\0\x0d\2\0\0\0\0\x53\x14\xc0\x00",
        b"\0\0\0\x08\2\1\0\0",  # SASL, and empty
    ],
)
def test_what_is_plausible_and_no_frame_of_1_0(false: bytes) -> None:
    frames = [v1_talk.transfer(b"", n) for n in range(4)]
    frame_rows = rows(stream(b"??" + false + b"".join(frames), syn=False))
    assert good(frame_rows) == frames


def test_only_transfers_are_larger_than_links_take() -> None:
    """Where nothing says that a frame begins, other frames of such a size are not believed."""
    frames = b"".join(v1_talk.transfer(b"", n) for n in range(4))
    for code, is_frame in ((0x14, True), (0x12, False)):
        head = (200_000).to_bytes(4, "big") + b"\2\0\0\0" + b"\0\x53" + bytes([code])
        fields = b"\xc0\2\1\x43" if code == 0x14 else b"\xc0\4\3\xa1\0\x43"
        frame = head + fields + bytes(200_000 - len(head) - len(fields))
        good_frames = good(rows(stream(b"??", frame, frames, syn=False)))
        assert (frame in good_frames) == is_frame
        assert good_frames[-4:] == v1_talk.frames_of(frames)


def test_a_header_after_a_cut_frame() -> None:
    outcome = v1.encode(0, v1.SaslOutcome(0, b"x" * 40))
    client_bytes = v1.PROTOCOL_HEADER + v1_talk.opening()
    frame_rows = rows(stream(v1.SASL_HEADER + outcome[:20], GAP, outcome[30:] + client_bytes))
    assert good(frame_rows) == [v1.SASL_HEADER, *v1_talk.frames_of(client_bytes)]


@pytest.mark.parametrize("other", [HEADER, b"AMQP\5\5\5\5"])
def test_a_header_of_another_protocol_after_one_of_1_0(other: bytes) -> None:
    frame_rows = rows(stream(v1.PROTOCOL_HEADER + other + ACK))
    assert good(frame_rows)[:2] == [v1.PROTOCOL_HEADER, other]
    assert (ACK in good(frame_rows)) == (other == HEADER)


OF_A_DELIVERY = {"delivery_id": 0, "delivery_tag": b"0", "message_format": 0}


@pytest.mark.parametrize("missing", ["delivery_tag", "message_format"])
@pytest.mark.parametrize(
    "other", [{"delivery_tag": b"01"}, {"delivery_tag": b"1"}, {"message_format": 7}]
)
def test_a_later_transfer_that_says_something_else_is_of_another_delivery(
    other: dict[str, Any], missing: str
) -> None:
    """Also where the first one did not say it."""
    complete_transfer = v1_talk.transfer(b"", 0, more=True)
    less = v1_talk.transfer(b"", 0, more=True, **{missing: None})
    for first, change, same in (
        (complete_transfer, {}, True),
        (complete_transfer, other, False),
        (less, {missing: None}, True),
        (less, {}, False),
    ):
        last = v1.encode(0, v1.Transfer(handle=0, **{**OF_A_DELIVERY, **change}), b"")
        client_bytes = v1.PROTOCOL_HEADER + v1_talk.opening() + first + last
        message_rows = rows(stream(client_bytes), level="message", fields=["frame", "flags"])[1:]
        assert [row["frame"] for row in message_rows] == ([first + last] if same else [first, last])


def test_a_performative_that_is_unknown_is_a_row() -> None:
    unknown = b"\0\0\0\x0c\2\0\0\1\0\x53\x77\x45"
    client_bytes = v1.PROTOCOL_HEADER + v1_talk.opening() + unknown + v1_talk.transfer(b"")
    message_rows = rows(stream(client_bytes), level="message", fields=["frame", "error"])
    assert [row["frame"] for row in message_rows] == [
        v1_talk.opening(), unknown, v1_talk.transfer(b"")
    ]  # fmt: skip
    assert message_rows[1]["error"]


def test_too_large_a_delivery_is_given_up() -> None:
    piece = v1_talk.transfer(bytes(4 << 20), None, more=True)
    first = v1_talk.transfer(b"", 0, more=True)
    client_bytes = v1.PROTOCOL_HEADER + v1_talk.opening() + first + piece * 17
    octets = stream(client_bytes, answer=v1.PROTOCOL_HEADER + v1_talk.opening(8 << 20))
    message_rows = rows(octets, level="message", fields=["flags", "error"])
    assert [row["flags"] for row in message_rows[:3]] == [[], [], ["truncated"]]
    assert len(message_rows) == 2 + 1 + 17 - 15
    assert all(row["error"] for row in message_rows[2:])
