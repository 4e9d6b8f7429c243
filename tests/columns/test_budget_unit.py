"""What a batch may become is bounded by what it is: arrays whose elements have no bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")

from amqpcodec import AMQPCodecError, DecodeError, batch, limits  # noqa: E402
from amqpcodec import v1_0 as amqp  # noqa: E402
from tests.support.amqp10_wire import MAP32, attach_with, compound, empty_elements  # noqa: E402
from tests.support.process_limit import limited  # noqa: E402

LIMIT = 65536


@pytest.fixture
def small_limit() -> Iterator[int]:
    with limited("max_empty_elements", 100):
        yield 100


def transfer(count: int) -> bytes:
    """A transfer of a message whose value is such an array."""
    return amqp.encode(0, amqp.Transfer(0, 0, b"t"), b"\0\x53\x77" + empty_elements(count))


def rows(data: bytes, **how: Any) -> list[dict[str, Any]]:
    result = batch.decode(data, protocol="1.0", **how)
    dicts: list[dict[str, Any]] = pa.record_batch(result).to_pylist()
    return dicts


def test_a_frame_is_read() -> None:
    [row] = rows(attach_with(3))
    assert row["error"] is None
    assert '"k":[null,null,null]' in row["arguments"]


@pytest.mark.parametrize("code", [0x40, 0x41, 0x42, 0x43, 0x44, 0x45])
def test_the_limit_of_a_frame(small_limit: int, code: int) -> None:
    for count in (small_limit - 1, small_limit):
        [row] = rows(attach_with(count, code))
        assert row["error"] is None
        assert row["arguments"].count(",") >= count - 1
    [row] = rows(attach_with(small_limit + 1, code))
    assert "101 elements without bytes exceed the limit of 100" in row["error"]
    assert row["frame"] == attach_with(small_limit + 1, code)
    assert row["arguments"] is None


def test_the_limit_of_objects_is_the_same(small_limit: int) -> None:
    for count in (small_limit - 1, small_limit):
        assert len(amqp.decode_value(empty_elements(count))[0]) == count
        assert amqp.decode(attach_with(count)) is not None
        assert len(amqp.Message.decode(b"\0\x53\x77" + empty_elements(count)).value) == count
    for read in (
        lambda: amqp.decode_value(empty_elements(small_limit + 1)),
        lambda: amqp.decode(attach_with(small_limit + 1)),
        lambda: amqp.Message.decode(b"\0\x53\x77" + empty_elements(small_limit + 1)).value,
    ):
        with pytest.raises(DecodeError, match="exceed the limit of 100") as caught:
            read()
        assert caught.value.condition == "amqp:resource-limit-exceeded"


def written_columns(count: int) -> bytes | None:
    """Such an array, in the row of a batch."""
    text = json.dumps({"$described_array": ["d", [None] * count]})
    columns = {"performative": ["transfer"], "channel": [0], "handle": [0], "value": [text]}
    return pa.array(batch.encode(pa.record_batch(columns), protocol="1.0"))[0].as_py()


@pytest.mark.parametrize("limit", [0, 100, 200_000])
def test_the_limit_is_one_in_every_form_and_direction(limit: int) -> None:
    with limited("max_empty_elements", limit):
        for count in (limit, limit + 1):
            fits = count == limit
            nulls = amqp.Array("null", [None] * count)
            reads: list[Any] = [
                lambda count=count: len(amqp.decode_value(empty_elements(count))[0]),
                lambda count=count: len(
                    amqp.Message.decode(b"\0\x53\x77" + empty_elements(count)).value
                ),
                lambda count=count: amqp.decode(attach_with(count)) and count,
            ]
            writes: list[Any] = [
                lambda nulls=nulls: amqp.decode_value(amqp.encode_value(nulls))[0],
                lambda nulls=nulls: amqp.Message.decode(amqp.Message(nulls).encode()).value,
            ]
            for read in reads:
                assert value_or_limit(read) == (count if fits else None)
            for write in writes:
                assert value_or_limit(write) == (nulls if fits else None)
            assert (written_columns(count) is not None) == fits
            for field_tables in ("json", "variant", "map"):
                for level, data in (
                    ("frame", attach_with(count)),
                    ("message", transfer(count)),
                ):
                    [row] = rows(data, level=level, field_tables=field_tables)
                    assert (row["error"] is None) == fits


def value_or_limit(ask: Any) -> Any:
    """What comes of it, or None where the limit is named as the reason."""
    try:
        return ask()
    except AMQPCodecError as error:
        return None if re.search("limit of|takes at most", str(error)) else error


def test_the_limit_is_read_and_set() -> None:
    assert limits.get_max_empty_elements() == LIMIT
    limits.set_max_empty_elements(0)
    assert limits.get_max_empty_elements() == 0
    limits.set_max_empty_elements(LIMIT)
    for wrong in (-1, 2**32, True, "1", None):
        with pytest.raises(ValueError, match="max_empty_elements is a number from 0 to"):
            limits.set_max_empty_elements(wrong)  # type: ignore[arg-type]
    assert limits.get_max_empty_elements() == LIMIT


@pytest.mark.parametrize("field_tables", ["json", "variant", "map"])
@pytest.mark.parametrize("level", ["frame", "message"])
def test_a_batch_stays_below_a_multiple_of_its_input(level: str, field_tables: str) -> None:
    one = attach_with(LIMIT)
    data = one * (55_000 // len(one))
    frame_rows = rows(data, level=level, field_tables=field_tables)
    good = [row for row in frame_rows if row["error"] is None]
    # The first is below the limit of a frame; what others have beyond the input's bytes counts too.
    assert 1 <= len(good) <= 3
    assert len(frame_rows) == 55_000 // len(one)
    size = batch.decode(data, protocol="1.0", level=level, field_tables=field_tables)
    assert pa.record_batch(size).nbytes < 40 * len(data)
    if level == "frame":
        assert all(row["frame"] == one for row in frame_rows)


@pytest.mark.parametrize("code", [0x40, 0x41, 0x42, 0x43, 0x44, 0x45])
@pytest.mark.parametrize("field_tables", ["json", "variant", "map"])
def test_an_element_takes_at_most_six_bytes(field_tables: str, code: int) -> None:
    properties = compound(MAP32, b"\xa1\1k" + empty_elements(LIMIT, code), 2)
    message = amqp.encode(0, amqp.Transfer(0, 0, b"t"), b"\0\x53\x74" + properties)
    for level, data in (("frame", attach_with(LIMIT, code)), ("message", message)):
        decoded = batch.decode(data, protocol="1.0", level=level, field_tables=field_tables)
        columns = pa.record_batch(decoded)
        assert columns.column("error").to_pylist() == [None]
        assert LIMIT < columns.nbytes < 6 * LIMIT + 1000


def test_messages_are_in_the_budget() -> None:
    data = transfer(LIMIT) * 500
    message_rows = rows(data, level="message")
    assert len(message_rows) == 500
    good = [row for row in message_rows if row["error"] is None]
    assert 1 <= len(good) <= 3
    assert pa.record_batch(batch.decode(data, protocol="1.0", level="message")).nbytes < 40 * len(
        data
    )


def test_small_arrays_never_meet_the_budget() -> None:
    frame_rows = rows(attach_with(30) * 20_000)
    assert [row["error"] for row in frame_rows] == [None] * 20_000


def test_frames_fall_out_where_the_sum_passes_the_bytes(small_limit: int) -> None:
    data = attach_with(90)
    size = len(data)
    many = rows(data * 50)
    allowed = next(i for i, row in enumerate(many) if row["error"] is not None)
    total = 50 * size
    assert 90 * allowed - total <= small_limit - 90 + 90
    assert 90 * (allowed + 1) - total > small_limit
    assert all(row["error"] is not None for row in many[allowed:])
    # What is small still fits where what is large does not.
    mixed = rows(data * 49 + attach_with(1))
    assert mixed[-1]["error"] is None or mixed[-2]["error"] is not None


def test_a_decoder_counts_over_its_frames(small_limit: int) -> None:
    data = attach_with(100)
    for chunk_size in (1, 7, len(data), 10 * len(data)):
        decoder = amqp.Decoder(opened=True, errors="frame")
        stream = data * 200
        frames = [
            event
            for at in range(0, len(stream), chunk_size)
            for _, event in decoder.feed(stream[at : at + chunk_size])
        ]
        assert len(frames) == 200
        good = [event for event in frames if not isinstance(event, amqp.BadFrame)]
        assert 100 * len(good) <= len(stream) + small_limit
        assert len(good) > len(stream) // 100 - 3
        bad = next(event for event in frames if isinstance(event, amqp.BadFrame))
        assert "exceed the limit" in str(bad.error)
        decoder.reset()
        assert not isinstance(next(iter(decoder.feed(data)))[1], amqp.BadFrame)


def test_fields_that_are_not_asked_for_change_no_error_of_those_that_are() -> None:
    data = attach_with(LIMIT) * 50
    everything = [row["error"] is None for row in rows(data)]
    some = [row["error"] is None for row in rows(data, fields=["arguments", "error"])]
    assert everything == some
