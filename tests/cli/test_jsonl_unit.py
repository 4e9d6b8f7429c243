"""JSON Lines: one object a row that every parser reads, with nothing lost."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("rich")

from amqpcodec.cli import jsonl  # noqa: E402
from amqpcodec.cli.times import Clock  # noqa: E402


def only(**columns: object) -> str:
    (line,) = jsonl.lines(pa.record_batch(columns))
    return line


def test_kinds_of_values() -> None:
    line = only(
        channel=pa.array([1], pa.int32()),
        method=["basic.publish"],
        redelivered=[True],
        frame=pa.array([b"\x00\xff"], pa.binary()),
        error=pa.array([None], pa.string()),
        flags=pa.array([["gap"]], pa.list_(pa.string())),
    )
    assert json.loads(line) == {
        "channel": 1,
        "method": "basic.publish",
        "redelivered": True,
        "frame": "AP8=",
        "error": None,
        "flags": ["gap"],
    }


def test_json_text_stays_as_it_is() -> None:
    text = '{"n":9223372036854775809,"s":{"$binary":"AA=="}}'
    assert only(arguments=[text]) == f'{{"arguments":{text}}}'


def test_text_of_other_columns_is_not_json() -> None:
    assert json.loads(only(error=['{"n":1}']))["error"] == '{"n":1}'


def test_absent_parts_of_a_struct_are_left_out() -> None:
    kind = pa.struct([("headers", pa.string()), ("priority", pa.uint8()), ("type", pa.string())])
    structs = [{"headers": '{"a":1}', "priority": 0, "type": None}, {}, None]
    values = [
        json.loads(line)["p"]
        for line in jsonl.lines(pa.record_batch({"p": pa.array(structs, kind)}))
    ]
    assert values == [{"headers": {"a": 1}, "priority": 0}, {}, None]


def test_one_line_a_row_whatever_the_text() -> None:
    awkward = 'quote " backslash \\ line\nreturn\r tab\t \u2028 \x00 \U0001f600'
    lines = list(jsonl.lines(pa.record_batch({"error": [awkward, "next"]})))
    assert len(lines) == 2
    assert "\n" not in lines[0]
    assert "\r" not in lines[0]
    assert json.loads(lines[0])["error"] == awkward


@pytest.mark.parametrize(
    ("unit", "ticks", "text"),
    [
        ("us", 0, "1970-01-01T00:00:00.000000Z"),
        ("us", 1_700_000_000_123_456, "2023-11-14T22:13:20.123456Z"),
        ("us", -1, "1969-12-31T23:59:59.999999Z"),
        ("ns", 1_700_000_000_123_456_789, "2023-11-14T22:13:20.123456789Z"),
        ("s", 1_700_000_000, "2023-11-14T22:13:20Z"),
        ("us", 2**62, f"{2**62 // 10**6}.{2**62 % 10**6:06d}"),
        ("us", 10**24 // 10**6, str(10**12)),
    ],
)
def test_timestamps(unit: str, ticks: int, text: str) -> None:
    column = pa.array([ticks, None], pa.int64()).cast(pa.timestamp(unit, "UTC"))
    assert Clock().texts(column) == [text, None]


def test_rows_of_a_slice() -> None:
    batch = pa.record_batch(
        {
            "frame": pa.array([b"a", b"b", b"c"], pa.binary()),
            "p": pa.array([{"x": 1}, {"x": 2}, {"x": 3}]),
            "timestamp": pa.array([datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 3)]),
        }
    )
    lines = list(jsonl.lines(batch))
    assert list(jsonl.lines(batch.slice(1))) == lines[1:]
    assert [base64.b64decode(json.loads(line)["frame"]) for line in lines] == [b"a", b"b", b"c"]
