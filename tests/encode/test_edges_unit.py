"""Edges of encoding that a change of one sign or one check moves: each was once moved unnoticed."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from amqpcodec import batch
from tests.columns.batch_rows import pa
from tests.encode.encode_values import Sent, encode
from tests.support.invalid_arrow import not_text

ROWS = 600


def encoded(column: str, offsets: list[int]) -> object:
    """Rows of which one column has these offsets into 6 bytes a row."""
    data = b"".join(b"key%03d" % i for i in range(ROWS))
    buffers = [None, pa.py_buffer(struct.pack(f"<{ROWS + 1}i", *offsets)), pa.py_buffer(data)]
    columns = {
        "channel": pa.array([1] * ROWS, pa.int32()),
        "method": pa.array(["basic.publish"] * ROWS),
        "routing_key": pa.array(["k"] * ROWS),
        "body": pa.array([b"b"] * ROWS),
    }
    kind = pa.binary() if column == "body" else pa.string()
    columns[column] = pa.Array.from_buffers(kind, ROWS, buffers)
    return batch.encode(pa.RecordBatch.from_arrays(list(columns.values()), list(columns)))


@pytest.mark.parametrize("column", ["body", "routing_key"])
@pytest.mark.parametrize("row", [1, 255, 256, 257, 300, 511, 512, 598, 599])
def test_offsets_outside_of_the_data_are_refused_in_every_row(row: int, column: str) -> None:
    good = [6 * i for i in range(ROWS + 1)]
    assert len(encoded(column, good)) == ROWS  # type: ignore[arg-type]
    for wrong in (good[-1] + 1, good[-1] + 5_000, 2**31 - 1, good[row - 1] - 1, -1, -(2**31)):
        with pytest.raises(ValueError, match="point outside of it"):
            encoded(column, [*good[:row], wrong, *good[row + 1 :]])


SECURE, PUBLISH = {"method": ["connection.secure"]}, {"method": ["basic.publish"]}
WRONG: list[tuple[dict[str, Any], str]] = [
    (SECURE | {"challenge": [5]}, "a longstr takes binary or text, not int64"),
    (SECURE | {"challenge": not_text(b"\xff")}, "text that is not UTF-8"),
    (PUBLISH | {"routing_key": [5]}, "a shortstr takes text, not int64"),
    (PUBLISH | {"properties.timestamp": [-1]}, "a timestamp must be from 1970 on"),
    (
        PUBLISH | {"properties_json": ['{"headers":{"a":1}}'], "headers.b": [1]},
        "headers come in properties_json as well",
    ),
    (PUBLISH | {"properties_json": ['{"headers":{"a":"\\u00']}, "four hexadecimal digits"),
    (PUBLISH | {"properties_json": ['{"headers":']}, "an object expected"),
    (PUBLISH | {"properties_json": [f'{{"headers":{{"a":{2**64}}}}}']}, "must fit 64 bits"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_what_a_row_cannot_say(number: int) -> None:
    columns, text = WRONG[number]
    (value,), (error,) = encode(pa.RecordBatch.from_pydict(columns))
    assert value is None
    assert text in (error or "")


@pytest.mark.parametrize("mandatory", [2, -1, 2**40])
def test_a_number_but_0_is_a_set_flag(mandatory: int) -> None:
    columns = PUBLISH | {"mandatory": [mandatory]}
    (value,), _ = encode(pa.RecordBatch.from_pydict(columns))
    assert value == Sent("basic.publish", arguments={"mandatory": True}).octets()


def test_escapes_in_upper_case() -> None:
    columns = PUBLISH | {"properties_json": ['{"headers":{"a":"\\u00EF\\uD83D\\uDE00"}}']}
    (value,), _ = encode(pa.RecordBatch.from_pydict(columns))
    assert "ï😀".encode() in (value or b"")
