"""AMQP over WebSocket, with and without TLS, as if there had been none."""

from __future__ import annotations

import random
import tracemalloc
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from amqpcodec import v0_9_1 as amqp
from amqpcodec.capture._layers import _websocket
from amqpcodec.capture._limits import LIMITS
from tests.capture.rows import rows
from tests.capture.test_tls_unit import EXPECTED, frames, in_two, stats
from tests.support import recording as make
from tests.support import v1_talk
from tests.support.plain_talk import TALK, message
from tests.support.recording import packets
from tests.support.tls_talk import CLIENT, SERVER, Payloads, Talker, split_segments
from tests.support.web_socket import (
    ANSWER,
    DEFLATE,
    EXTENSIONS,
    REQUEST,
    TEXT,
    Deflater,
    bomb,
    frame,
    over_web,
)


@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize("size", [1 << 20, 700, 11, 1])
@pytest.mark.parametrize("pieces", [1, 3])
def test_web_socket(extension: bytes, size: int, pieces: int):
    octets = make.pcap(packets(split_segments(over_web(TALK, extension, pieces), (size,))))
    assert frames(octets) == EXPECTED
    counters = stats(octets)
    assert (counters["websockets"], counters["other_protocols"], counters["skipped_bytes"]) == (
        1,
        0,
        0,
    )
    assert (counters["tls_connections"], counters["tls_reasons"], counters["errors"]) == (0, {}, 0)


def test_web_socket_over_tls():
    pytest.importorskip("cryptography")
    talker = Talker()
    octets = make.pcap(packets(split_segments(talker.talk(over_web(TALK)), (500,)), port=443))
    assert frames(octets, keylog=talker.keys, ports=(443,)) == EXPECTED
    counters = stats(octets, keylog=talker.keys, ports=(443,))
    assert (counters["websockets"], counters["tls_decrypted"]) == (1, 1)


def test_the_largest_frames_have_64_bits():
    talk = [TALK[0], (CLIENT, message(70_000))]
    octets = make.pcap(packets(split_segments(over_web(talk), (30_000,))))
    assert [len(data) for _, data in frames(octets)][-1] == 70_008


def test_states(tmp_path: Path):
    """Wherever the reading was interrupted, all goes on: in compressed messages too."""
    for extension in EXTENSIONS:
        talk = [*TALK[:3], (CLIENT, message(2000)), *TALK[4:]]
        sent = packets(split_segments(over_web(talk, extension, 2), (90,)))
        expected = frames(make.pcap(packets(talk)))
        at = 24
        for number, packet in enumerate(sent):
            at += 16 + len(packet)
            if number % 5:
                continue
            frame_rows, _ = in_two(make.pcap(sent), tmp_path / "x.pcap", at, None)
            assert frame_rows == expected


def test_the_other_direction_comes_first():
    payloads = over_web(TALK, EXTENSIONS[1])
    for side in (CLIENT, SERVER):
        turned = sorted(payloads, key=lambda payload: payload[0] != side)
        assert sorted(frames(make.pcap(packets(turned)))) == sorted(EXPECTED)


@pytest.mark.parametrize("missing", range(14, 40, 5))
def test_what_is_after_a_gap(missing: int):
    many = [(CLIENT, message(400, f"k{number}")) for number in range(40)]
    sent = packets(
        segment
        for part in over_web(TALK[:1] + many)[:-2]
        for segment in split_segments([part], (150,))
    )
    del sent[missing]
    frame_rows = rows(make.pcap(sent))
    published = sum(row["method"] == "basic.publish" for row in frame_rows)
    assert published >= 38
    assert stats(make.pcap(sent))["tls_reasons"] == {}


def test_whole_frames_are_missing():
    many = [(CLIENT, message(20, f"k{number}")) for number in range(40)]
    payloads = [
        payload
        for payload in over_web(TALK[:1] + many)[:-2]
        if payload[0] == CLIENT or len(payload[1]) > 99
    ]
    sent = packets(payloads)
    del sent[12:19]
    assert sum(row["method"] == "basic.publish" for row in rows(make.pcap(sent))) == 33


REFUSED = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"
NOT_TEXT = [
    (CLIENT, REQUEST % b""),
    (SERVER, ANSWER % b""),
    (CLIENT, frame(CLIENT, b"hello", TEXT)),
]


@pytest.mark.parametrize(
    ("payloads", "reasons"),
    [
        ([(CLIENT, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")], {_websocket.NO_UPGRADE: 2}),
        ([(CLIENT, b"GET / HTTP/1.1\r\nno header\r\n\r\n")], {_websocket.NO_UPGRADE: 2}),
        ([(CLIENT, b"GET /" + b"x" * 70_000)], {_websocket.NO_UPGRADE: 2}),
        ([(CLIENT, REQUEST % b""), (SERVER, REFUSED)], {_websocket.NO_UPGRADE: 2}),
        (
            [(CLIENT, REQUEST % b""), (SERVER, ANSWER % b"Sec-WebSocket-Extensions: x-new\r\n")],
            {_websocket.EXTENSION: 2},
        ),
        (NOT_TEXT, {_websocket.TEXT_FRAME: 1}),
        ([*NOT_TEXT[:2], (SERVER, b"\x93\0")], {_websocket.NO_FRAME: 1}),
        ([*NOT_TEXT[:2], (SERVER, b"\x82\x7f" + b"\x7f" * 8)], {_websocket.NO_FRAME: 1}),
        ([*NOT_TEXT[:2], (SERVER, b"\x80\1x")], {_websocket.NO_FRAME: 1}),
        ([*NOT_TEXT[:2], (SERVER, b"\xc2\1x")], {_websocket.NO_FRAME: 1}),
    ],
)
def test_what_is_no_web_socket(payloads: Payloads, reasons: dict[str, int]):
    for size in (60_000, 1000):
        counters = stats(make.pcap(packets(split_segments(payloads, (size,)))))
        assert counters["tls_reasons"] == reasons
        assert counters["skipped_bytes"] > 0
        assert counters["errors"] == 0
        assert counters["other_protocols"] == 1


@pytest.mark.parametrize("body", [zlib.compress(bytes(1 << 26), wbits=-15)[:-1], b"\xff" * 30])
def test_compressed_messages_that_are_too_large_or_damaged(body: bytes):
    """64 MiB in 64 KB, which is refused after a part of it; and what is not compressed."""
    payloads = [
        *NOT_TEXT[:1],
        (SERVER, ANSWER % (DEFLATE % b"")),
        (SERVER, frame(SERVER, body, rsv1=True)),
    ]
    counters = stats(make.pcap(packets(split_segments(payloads, (1400,)))))
    assert counters["tls_reasons"] == {_websocket.PACKED: 1}


def test_compressed_messages_are_bounded_together():
    """A message of 64 KB in 80 bytes goes; not one after another."""
    many = [(SERVER, amqp.encode(1, amqp.Body(bytes(1 << 16)))) for _ in range(200)]
    sent = make.pcap(packets(over_web([*TALK, *many], DEFLATE % b"")))
    counters = stats(sent)
    assert counters["tls_reasons"] == {_websocket.PACKED: 1}
    bodies = [len(data) for _, data in frames(sent) if len(data) > 1 << 16]
    most = _websocket.UNPACKED_START + LIMITS.websocket_ratio * len(sent)
    assert 16 <= len(bodies) <= most >> 16


def test_a_compressed_message_is_decompressed_in_pieces():
    """1 MB became 120 MB at once; now it is no more than a packet makes of it."""
    web = _websocket.WebSocket(
        lambda reason: pytest.fail(reason), replace(LIMITS, websocket_bytes=1 << 21)
    )
    web.receive(CLIENT, REQUEST % b"")
    web.receive(SERVER, ANSWER % (DEFLATE % b""))
    body = frame(SERVER, bomb(), rsv1=True)
    sizes = []
    tracemalloc.start()
    try:
        for at in range(0, len(body), 60_000):
            items = web.receive(SERVER, body[at : at + 60_000])
            sizes.append(sum(len(item) for _, item in items if isinstance(item, bytes)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sum(sizes) > 90_000_000
    assert peak < 32_000_000


@pytest.mark.parametrize("takeover", [True, False])
def test_pieces_of_a_compressed_message_change_nothing(takeover: bool):
    """Neither what it becomes, nor where it is refused."""
    noise = random.Random(3)
    packer = Deflater(takeover)
    bodies = [noise.randbytes(9000) + bytes(200_000), b"x" * 10, bytes(1 << 23), b"never"]
    stream = b"".join(frame(SERVER, packer(body), rsv1=True) for body in bodies)
    extension = DEFLATE % (b"" if takeover else b"; server_no_context_takeover")
    results = []
    for size in (1, 7, 1000, len(stream)):
        reasons: list[str] = []
        web = _websocket.WebSocket(reasons.append)
        web.receive(CLIENT, REQUEST % b"")
        web.receive(SERVER, ANSWER % extension)
        out = b""
        for at in range(0, len(stream), size):
            for _, item in web.receive(SERVER, stream[at : at + size]):
                out += item if isinstance(item, bytes) else b""
        results.append((len(out), zlib.crc32(out), reasons))
    assert results[1:] == results[:-1]
    assert 209_000 < results[0][0] < 209_000 + (3 << 20)
    assert results[0][2] == [_websocket.PACKED]


@pytest.mark.parametrize(("count", "waits"), [(1 << 18, True), ((1 << 18) + 1, False)])
def test_frames_that_wait_for_the_answer(count: int, waits: bool):
    reasons: list[str] = []
    web = _websocket.WebSocket(reasons.append)
    web.receive(CLIENT, REQUEST % b"")
    items = web.receive(CLIENT, frame(CLIENT, bytes(count - 14)))
    assert items == ([] if waits else [(CLIENT, None), (SERVER, None)])
    assert reasons == ([] if waits else [_websocket.NOT_CAPTURED] * 2)
    sizes = [len(item) for _, item in web.receive(SERVER, ANSWER % b"") if item is not None]
    assert sum(sizes) == (count - 14 if waits else 0)


@pytest.mark.parametrize(
    ("head", "is_frame"),
    [
        (b"\x82\x7f" + (1 << 30).to_bytes(8, "big"), True),
        (b"\x82\x7f" + ((1 << 30) + 1).to_bytes(8, "big"), False),
        (b"\x8a\0", True),  # a pong
        (b"\x8b\0", False),
    ],
)
def test_heads_that_are_read_and_those_that_end_a_direction(head: bytes, is_frame: bool):
    reasons: list[str] = []
    web = _websocket.WebSocket(reasons.append)
    web.receive(CLIENT, REQUEST % b"")
    web.receive(SERVER, ANSWER % b"")
    assert web.receive(SERVER, head) == ([] if is_frame else [(SERVER, None)])
    assert reasons == ([] if is_frame else [_websocket.NO_FRAME])


def test_answers_before_the_one_that_counts():
    """HTTP's 100 and 103, in the packet of 101 too."""
    before = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    payloads = over_web(TALK)
    payloads[1] = (SERVER, before + payloads[1][1])
    for size in (1 << 20, 10):
        assert frames(make.pcap(packets(split_segments(payloads, (size,))))) == EXPECTED
    payloads[1] = (SERVER, before * 3000 + payloads[1][1])
    assert stats(make.pcap(packets(split_segments(payloads, (60_000,)))))["websockets"] == 1


@pytest.mark.parametrize(
    ("protocol", "server_frames"),
    [
        ("0-9-1", [amqp.PROTOCOL_HEADER, amqp.encode(0, amqp.Connection.Start())]),
        ("1.0", [v1_talk.AMQP, v1_talk.opening()]),
    ],
)
def test_the_other_side_of_one_that_is_left_out(protocol: str, server_frames: list[bytes]):
    """A header shows what it speaks; what follows is left out as well."""
    answer = (SERVER, frame(SERVER, b"".join(server_frames)))
    octets = make.pcap(packets([*NOT_TEXT, answer]))
    assert [row["frame"] for row in rows(octets, protocol=protocol)] == server_frames[:1]
    assert stats(octets, protocol=protocol)["skipped_bytes"] >= len(server_frames[1])


WHOLE, PART, JUNK = bytearray(b"\x82\x05hello"), bytearray(b"\x82\x05hell"), bytearray(b"\xff" * 9)


@pytest.mark.parametrize(
    ("data", "at"),
    [
        (WHOLE, 0),
        (JUNK + WHOLE, 9),
        (JUNK + WHOLE + PART, 9),
        (PART, -1),  # one alone may be anything
        (JUNK + PART, -1),
        (WHOLE + JUNK, -1),
        (WHOLE * 3 + JUNK, -1),
        (JUNK + WHOLE * 4 + JUNK, 9),  # by chance no four of them follow each other
        (bytearray(b"\x82\0") * 5, -1),  # nor is one without data a sign
        (JUNK, -1),
        (bytearray(), -1),
    ],
)
def test_where_frames_go_on_after_a_gap(data, at):
    """Frames of a server, which are not masked, and what may stand before and after them."""
    assert _websocket._first_frame(data, SERVER) == at


@pytest.mark.parametrize(
    ("head", "is_one"),
    [
        (b"\x82\x7d", True),
        (b"\x82\x7e\x00\x7d", False),  # 125 bytes in the form of more
        (b"\x82\x7e\x00\x7e", True),
        (b"\x82\x7e\xff\xff", True),
        (b"\x82\x7f\0\0\0\0\0\0\xff\xff", False),
        (b"\x82\x7f\0\0\0\0\0\1\0\0", True),
    ],
)
def test_a_length_is_written_in_the_fewest_bytes(head: bytes, is_one: bool):
    """RFC 6455, 5.2: what says it otherwise is no place where frames go on."""
    assert _websocket._is_plausible(bytearray(head), 0, SERVER) == is_one
