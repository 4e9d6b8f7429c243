"""Columns against the slow reference codec, which shares nothing with the package."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings

from amqpcodec import DecodeError
from amqpcodec import v0_9_1 as amqp
from tests.columns.batch_rows import expected_row, pa, rows
from tests.reference import Malformed, decode_frame
from tests.support import amqp091_gen as gen
from tests.support import amqp091_strategies as some
from tests.support import amqp091_wire as w


def check(actual: dict[str, Any], raw: bytes, row: int, offset: int, dialect: str) -> None:
    expected, bad = expected_row(raw, dialect)
    error, error_offset = actual["error"], actual["error_offset"]
    assert actual["row"] == row
    assert actual["offset"] == offset
    assert {name: actual[name] for name in expected} == expected
    if bad is None:
        assert error is None
        assert error_offset is None
    else:
        assert error.startswith(bad)
        assert f"(offset {error_offset})" in error
        assert offset + 7 <= error_offset <= offset + len(raw)


@pytest.mark.parametrize("dialect", ["rabbitmq", "0-9-1"])
@given(some.seeds)
@settings(max_examples=300)
def test_consecutive_frames(dialect: str, rng: Random) -> None:
    raws = []
    while len(raws) < 8:
        raw = gen.any_frame(rng)
        try:
            decode_frame(raw, 0, dialect)
        except Malformed:  # a tag that means something else in this dialect
            continue
        raws.append(raw)
    frame_rows = rows(b"".join(raws), dialect=dialect)
    assert len(frame_rows) == len(raws)
    offset = 0
    for row, raw in zip(frame_rows, raws, strict=True):
        check(row, raw, 0, offset, dialect)
        offset += len(raw)


@pytest.mark.parametrize("name", sorted(w.SPECS))
def test_every_method(name: str) -> None:
    rng = Random(name)
    raws = [gen.method_frame(rng, 3, name) for _ in range(40)]
    frame_rows = rows(pa.array(raws, pa.binary()))
    for number, (row, raw) in enumerate(zip(frame_rows, raws, strict=True)):
        check(row, raw, number, 0, "rabbitmq")


def test_many_frames_of_many_values() -> None:
    """More than a block, across values of none, one and several frames."""
    rng = Random(20)
    values: list[bytes | None] = []
    for _ in range(700):
        how = rng.randrange(10)
        if how == 0:
            values.append(rng.choice((None, b"")))
        else:
            values.append(gen.stream(rng, 1 if how < 8 else rng.randrange(2, 30)))
    frame_rows = iter(rows(pa.array(values, pa.binary())))
    for number, value in enumerate(values):
        offset = 0
        for raw in gen.frames(value or b""):
            check(next(frame_rows), raw, number, offset, "rabbitmq")
            offset += len(raw)
    assert next(frame_rows, None) is None


@given(some.seeds)
@settings(max_examples=600)
def test_errors_are_those_of_the_object_path(rng: Random) -> None:
    """The same text and place, counted from the start of the value; the fields before stay."""
    first = gen.any_frame(rng)
    raw = gen.spoil_inside(rng, gen.any_frame(rng))
    data = first + raw
    row = rows(data)[1]
    assert row["frame"] == raw
    assert row["offset"] == len(first)
    error = None
    try:
        _, channel, frame = amqp.decode(data, len(first))
    except DecodeError as caught:
        error = caught
    if error is not None:
        assert row["error"] == str(error)
        assert row["error_offset"] == error.offset
        assert row["arguments"] is row["properties"] is row["payload"] is None
        if error.frame_type == 1 and error.method:
            assert row["method"] == error.method
        return
    assert row["channel"] == channel
    if row["error"] is not None:
        # Only what no column can hold.
        assert "is not UTF-8" in row["error"] or "does not fit the column" in row["error"]
    elif row["frame_type"] == "method":
        assert row["method"] == frame.NAME
