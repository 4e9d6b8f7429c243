"""Edges of 0-x that a change of one sign or one check moves: each was once moved unnoticed."""

from __future__ import annotations

import decimal
import struct
import tracemalloc
from datetime import UTC, datetime
from typing import Any

import pytest

from amqpcodec import DecodeError
from amqpcodec import v0_9_1 as amqp
from amqpcodec.v0_9_1 import Basic
from tests.support.amqp091_wire import entry, headers_frame

LAST_SECOND = 253402300799  # 9999-12-31 23:59:59


def properties(table: bytes, **how: Any) -> Any:
    return amqp.decode(headers_frame(table), **how)[2].properties


def test_a_content_header_of_another_channel_makes_no_message() -> None:
    decoder = amqp.MessageDecoder(errors="frame")
    deliver = amqp.encode(1, Basic.Deliver("c", 1, False, "e", "r"))
    events = list(
        decoder.feed(deliver + headers_frame(b"", channel=2) + headers_frame(b"", channel=1))
    )
    assert [(channel, type(event).__name__) for channel, event in events] == [
        (2, "BadFrame"),
        (1, "Message"),
    ]
    with pytest.raises(DecodeError):
        list(amqp.MessageDecoder().feed(deliver + headers_frame(b"", channel=2)))


@pytest.mark.parametrize("seconds", [LAST_SECOND - 1, LAST_SECOND])
def test_a_timestamp_above_the_highest_is_an_int_also_after_one_of_that_day(seconds: int) -> None:
    decoder = amqp.Decoder()
    data = b"".join(
        amqp.encode(1, amqp.Header(0, Basic.Properties(timestamp=n, headers={})))
        for n in (seconds, LAST_SECOND + 1, seconds, LAST_SECOND + 2)
    )
    times = [frame.properties.timestamp for _, frame in decoder.feed(data)]
    day = datetime(9999, 12, 31, 23, 59, 59 - (LAST_SECOND - seconds), tzinfo=UTC)
    assert times == [day, LAST_SECOND + 1, day, LAST_SECOND + 2]


def test_a_table_that_is_assigned_has_none_of_the_old_bytes() -> None:
    basic_properties = properties(entry(b"n", b"b\x01"))
    assert basic_properties.headers == {"n": 1}
    assert basic_properties.raw_headers == entry(b"n", b"b\x01")
    basic_properties.headers = {"n": 1}
    assert basic_properties.raw_headers is None
    data = amqp.encode(1, amqp.Header(0, basic_properties))
    assert entry(b"n", b"I\0\0\0\x01") in data
    assert entry(b"n", b"b\x01") not in data


def test_earlier_duplicates_stay_when_another_entry_changes() -> None:
    table = entry(b"k", b"b\x01") + entry(b"x", b"b\x01") + entry(b"k", b"b\x02")
    basic_properties = properties(table)
    assert basic_properties.headers == {"k": 2, "x": 1}
    basic_properties.headers["x"] = 7
    data = amqp.encode(1, amqp.Header(0, basic_properties))
    assert entry(b"k", b"b\x01") + entry(b"k", b"b\x02") in data
    assert entry(b"x", b"I\0\0\0\x07") in data
    assert entry(b"x", b"b\x01") not in data


def test_the_same_bytes_in_two_dialects_are_not_equal() -> None:
    table = entry(b"k", b"s\x01A")
    one, same, letter = (
        properties(table),
        properties(table),
        properties(table, dialect="0-9-1"),
    )
    assert one == same
    assert one != letter
    assert (one.headers, letter.headers) == ({"k": 0x141}, {"k": "A"})


@pytest.mark.parametrize("size", [1, 2, 10, 255])
def test_a_name_that_fills_its_table_has_no_tag(size: int) -> None:
    with pytest.raises(DecodeError, match=r"tag|value"):
        properties(bytes([size]) + b"a" * size)
    nested = bytes([size]) + b"a" * size
    with pytest.raises(DecodeError):
        properties(entry(b"t", b"F" + struct.pack(">I", len(nested)) + nested))


def test_decimals_keep_their_digits_in_any_context() -> None:
    with decimal.localcontext(prec=3):
        basic_properties = properties(entry(b"d", b"D\x02" + struct.pack(">i", 123456789)))
        assert basic_properties.headers == {"d": decimal.Decimal("1234567.89")}
        assert str(basic_properties.headers["d"]) == "1234567.89"
        basic_properties.headers["e"] = decimal.Decimal("-12345.6")
        data = amqp.encode(1, amqp.Header(0, basic_properties))
    assert entry(b"e", b"D\x01" + struct.pack(">i", -123456)) in data


def test_start_ok_of_every_size_has_room_for_what_follows_its_table() -> None:
    for size in (*range(0, 1100), *range(3900, 4300)):
        sent = amqp.Connection.StartOk(
            client_properties={"x": "y" * size},
            mechanism="m" * 255,
            response=b"r" * 300,
            locale="l" * 255,
        )
        assert amqp.decode(amqp.encode(0, sent))[2] == sent


@pytest.mark.parametrize("end", ["discard", "error", "reset"])
def test_bodies_of_several_frames_are_given_up_whole(end: str) -> None:
    decoder = amqp.MessageDecoder(errors="frame")
    deliver = amqp.encode(1, Basic.Deliver("c", 1, False, "e", "r"))
    piece = struct.pack(">BHI", 3, 1, 100_000) + bytes(100_000) + b"\xce"
    data = deliver + headers_frame(b"", body_size=10**6) + piece * 3

    def round_() -> None:
        list(decoder.feed(data))
        if end == "discard":
            decoder.discard(1)
        elif end == "error":
            list(decoder.feed(deliver))
            decoder.discard(1)
        decoder.reset()

    round_()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(30):
        round_()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 1_000_000
