"""Edges of columns that a change of one sign or one check moves: each was once moved unnoticed."""

from __future__ import annotations

import struct
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")

from amqpcodec import batch, v0_8, v0_9_1  # noqa: E402
from amqpcodec import v1_0 as v1  # noqa: E402
from tests.columns.arrow_structs import raw  # noqa: E402


def rows(data: Any, **how: Any) -> list[dict[str, Any]]:
    dicts: list[dict[str, Any]] = pa.record_batch(batch.decode(data, **how)).to_pylist()
    return dicts


def message(i: int, table: bytes = b"\x01kS\0\0\0\x03abc\x01nI\0\0\0\x05") -> bytes:
    deliver = v0_9_1.encode(1, v0_9_1.Basic.Deliver("ctag", i, False, "ex", "rk"))
    # headers, delivery_mode and priority
    payload = struct.pack(">HHQHI", 60, 0, 4, 0x3800, len(table)) + table + b"\x02\x05"
    head = struct.pack(">BHI", 2, 1, len(payload)) + payload + b"\xce"
    return deliver + head + struct.pack(">BHI", 3, 1, 4) + b"body\xce"


#: Tables that end inside a name, behind it, behind a tag, inside a value, or hold an unknown tag.
MALFORMED = [
    b"\x01kS\0\0\0\x03abc\x02n",
    b"\x01kS\0\0\0\x03abc\x01n",
    b"\x01kS\0\0\0\x03abc\x01nI",
    b"\x01kS\0\0\0\x03abc\x01nI\0\0\0",
    b"\x01kS\0\0\0\x03abc\x01nI\0\0",  # and the two bytes of what follows
    b"\x01kS\0\0\0\x04abc",
    b"\x01kS\0\0\0\x05abc",
    b"\x01kS\0\0\0\x03abc\x01n?",
    b"\x01k",
    b"\x05",
]


FIELDS = [
    None,
    ["exchange", "error"],
    ["body", "error"],
    ["body", "properties.raw_headers", "error"],
    ["body", "properties.priority", "error"],
]


@pytest.mark.parametrize("table", MALFORMED)
@pytest.mark.parametrize("fields", FIELDS)
def test_a_malformed_table_in_a_run_of_like_messages_is_an_error(
    table: bytes, fields: list[str] | None
) -> None:
    data = b"".join(message(i, table) if i == 200 else message(i) for i in range(600))
    for layout in ("view", "plain"):
        message_rows = rows(data, level="message", layout=layout, fields=fields)
        wrong = [i for i, row in enumerate(message_rows) if row["error"] is not None]
        assert wrong == [200]
        assert len(message_rows) == 600


def test_a_run_of_contents_whose_time_nobody_asked_for() -> None:
    stream = v0_8.Stream
    times = [0, 1, 253402300799, 253402300800, 2**64 - 1]
    data = b"".join(
        v0_8.encode_message(
            1,
            stream.Return(200, "t", "e", "r"),
            stream.Properties(content_type="c", timestamp=times[i % 5]),
            b"%d" % i,
        )
        for i in range(40)
    )
    everything = pa.record_batch(batch.decode(data, protocol="0-8", level="message"))
    for fields in (["body"], ["exchange", "body"], ["body", "error"]):
        for layout in ("view", "plain"):
            message_rows = rows(data, protocol="0-8", level="message", layout=layout, fields=fields)
            assert [row["body"] for row in message_rows] == [b"%d" % i for i in range(40)]
    assert everything["body"].to_pylist() == [b"%d" % i for i in range(40)]


LONG_FIELDS = [
    v0_9_1.Connection.Secure(b"challenge"),
    v0_9_1.Queue.Declare(queue="q", arguments={"k": 1}),
]


@pytest.mark.parametrize("method", LONG_FIELDS, ids=lambda method: method.NAME)
def test_arguments_that_end_anywhere_are_an_error(method: Any) -> None:
    """Also within the length of a long string or of a table."""
    frame = v0_9_1.encode(1, method)
    for end in range(11, len(frame) - 1):
        short_frame = frame[:3] + struct.pack(">I", end - 7) + frame[7:end] + b"\xce"
        frame_rows = rows(frame + short_frame + frame * 9, fields=["arguments", "error"])
        assert [i for i, row in enumerate(frame_rows) if row["error"]] == [1]


def test_a_flag_of_no_property_announces_nothing() -> None:
    """The same bytes are values with it and without it, and beside frames that have none."""
    plain = struct.pack(">BHIHHQH", 2, 1, 16, 60, 0, 4, 0x8000) + b"\1t\xce"
    flagged = struct.pack(">BHIHHQH", 2, 1, 16, 60, 0, 4, 0x8002) + b"\1t\xce"
    frame_rows = rows(plain + flagged + plain * 9, fields=["properties", "body_size", "error"])
    assert frame_rows[1] == frame_rows[0]
    assert (frame_rows[0]["properties"]["content_type"], frame_rows[0]["error"]) == ("t", None)


class Unknown:
    """An array whose producer did not count its nulls, which the interface allows."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        schema, array = self.array.__arrow_c_array__()
        raw(array).null_count = -1
        return schema, array


def test_nulls_are_seen_where_arrow_does_not_say_how_many() -> None:
    frame = v0_9_1.encode(1, v0_9_1.Basic.Ack(1))
    _, offsets, data = pa.array([frame] * 6, pa.binary()).buffers()
    buffers = [
        pa.py_buffer(b"\x35"),
        offsets,
        data,
    ]  # the second and the fourth are null, not empty
    complete_array = pa.Array.from_buffers(pa.binary(), 6, buffers)
    sliced = pa.Array.from_buffers(pa.binary(), 4, buffers, offset=1)
    for array, expected in ((complete_array, [0, 2, 4, 5]), (sliced, [1, 3])):
        assert [row["row"] for row in rows(Unknown(array))] == expected


@pytest.mark.parametrize("layout", ["plain", "view"])
@pytest.mark.parametrize("code", ["a3", "b3"])
def test_a_symbol_is_ascii_also_where_it_would_be_utf8(layout: str, code: str) -> None:
    text = "é".encode()
    size = bytes([len(text)]) if code == "a3" else struct.pack(">I", len(text))
    symbol = bytes.fromhex(code) + size + text
    init = b"\0\x53\x41\xc0" + bytes([len(symbol) + 1, 1]) + symbol
    frame = struct.pack(">IBBH", 8 + len(init), 2, 1, 0) + init
    good = v1.encode(0, v1.SaslInit("PLAIN", b"x"))
    result_rows = rows(good + frame + good, protocol="1.0", layout=layout)
    assert [row["error"] is None for row in result_rows] == [True, False, True]
    assert "ASCII" in result_rows[1]["error"]
    result_rows = rows(frame, protocol="1.0", layout=layout, fields=["mechanism", "error"])
    assert "ASCII" in result_rows[0]["error"]
    properties = v1.Message(b"x", content_type="type/é"[:5]).encode()
    bad = properties.replace(b"\xa3\x05type/", b"\xa3\x05typ" + text)
    assert bad != properties
    transfer = v1.encode(0, v1.Transfer(0, 0, b"t"), bad)
    result_rows = rows(transfer, protocol="1.0", level="message", layout=layout)
    assert "ASCII" in result_rows[0]["error"]
