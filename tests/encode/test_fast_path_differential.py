"""The fast path of batch.encode writes what the slow one writes, and refuses what it refuses."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqpcodec import _codec, batch
from amqpcodec import v0_9_1 as amqp
from tests.columns.batch_rows import pa
from tests.encode.encode_values import Sent
from tests.support.random_columns import TEXTS, columns

SLOW = _codec.Protocol(amqp.PROTOCOL.table, fast=False)


def same(columns: Any, frame_max: int = 131072, dialect: str | None = None) -> Any:
    """Both ways; the fast one's result."""
    fast = batch.encode(columns, amqp, frame_max, dialect=dialect)
    slow = batch.encode(columns, SLOW, frame_max, dialect=dialect)  # type: ignore[arg-type]
    assert slow._fast_rows == 0  # type: ignore[attr-defined]
    pa.array(fast).validate(full=True)
    assert pa.array(fast).equals(pa.array(slow))
    assert pa.array(fast.errors).equals(pa.array(slow.errors))
    return fast


@given(st.integers(0, (1 << 32) - 1))
@settings(max_examples=250)
def test_both_ways(seed: int) -> None:
    rng = Random(seed)
    count = rng.choice([3, 4, 63, 64, 65, 200])
    rows = columns(rng, count)
    frame_max = rng.choice([131072, 131072, 0, 4096, 120])
    same(rows, frame_max, rng.choice([None, None, "0-9-1", "0-8"]))
    start = rng.randrange(count)
    same(rows.slice(start, rng.randrange(count - start + 1)), frame_max)


@pytest.mark.parametrize("seed", range(40))
def test_every_row_of_usual_columns_goes_the_fast_way(seed: int) -> None:
    rng = Random(seed)
    count = 130
    body = [bytes(rng.randrange(40)) for _ in range(count)]
    keys = [rng.choice(TEXTS) for _ in range(count)]
    ids = [rng.choice([None, *TEXTS]) for _ in range(count)]
    table = [{"s": rng.choice(TEXTS), "n": rng.choice([1, 2**40]), "t": True, "d": 0.5}] * count
    rows = pa.RecordBatch.from_pydict(
        {
            "exchange": ["orders"] * count,
            "routing_key": keys,
            "mandatory": [True, None] * (count // 2),
            "properties": [
                {"message_id": i, "headers": t, "delivery_mode": 2}
                for i, t in zip(ids, table, strict=True)
            ],
            "body": body,
        }
    )
    messages = same(rows)
    # the last two are too few for a block
    assert messages._fast_rows == 128
    assert pa.array(messages).to_pylist() == [
        Sent(
            "basic.publish",
            1,
            {"exchange": "orders", "routing_key": keys[i], "mandatory": i % 2 == 0},
            {"message_id": ids[i], "headers": table[i], "delivery_mode": 2},
            body[i],
        ).octets()
        for i in range(count)
    ]


def test_methods_without_content_and_runs_of_methods() -> None:
    methods = ["basic.ack"] * 70 + ["basic.publish"] * 30 + ["channel.open", "basic.ack"] * 10
    rows = pa.RecordBatch.from_pydict(
        {
            "method": methods,
            "delivery_tag": pa.array(
                [None if m != "basic.ack" else 7 for m in methods], pa.int64()
            ),
            "multiple": [m == "basic.ack" for m in methods],
            "body": pa.array(
                [b"x" if m == "basic.publish" else None for m in methods], pa.binary()
            ),
        }
    )
    messages = same(rows)
    assert messages._fast_rows == 100
    assert messages.error_count == 0


@pytest.mark.parametrize("column", ["body", "properties.content_type", "headers.n"])
@pytest.mark.parametrize("at", [0, 17, 39])
def test_content_of_a_method_without_content_in_a_run(column: str, at: int) -> None:
    content = pa.array([b"x" if i == at else None for i in range(40)], pa.binary())
    rows = {"method": ["basic.ack"] * 40, "delivery_tag": range(40), column: content}
    messages = same(pa.RecordBatch.from_pydict(rows))
    assert messages.error_count == 1
    assert messages._fast_rows < 40


def test_many_columns() -> None:
    """More headers than the fast path has steps."""
    rows = {f"headers.h{i}": [i] * 20 for i in range(100)}
    assert same(pa.RecordBatch.from_pydict(rows))._fast_rows == 0
    rows = {f"headers.h{i}": [i] * 20 for i in range(60)}
    assert same(pa.RecordBatch.from_pydict(rows))._fast_rows == 20
    rows = {"headers." + "k" * 250 + str(i): [i] * 20 for i in range(60)}
    same(pa.RecordBatch.from_pydict(rows))


def test_wrong_offsets_are_found_here_too() -> None:
    from tests.support.invalid_arrow import Lie, numbers

    for ends in (
        [0, 1, 2, 3, 2, 5, 6],
        [0, 1, 2, 90, 4, 5, 6],
        [-4, 1, 2, 3, 4, 5, 6],
        [0, 1, 2, 3, 4, 9, 6],
    ):
        for column in ("routing_key", "body", "headers.h"):
            lie = Lie(pa.string(), 6, numbers(*ends), b"abcdef")
            with pytest.raises(ValueError, match=r"point outside of it|does not have the shape"):
                batch.encode(lie.record_batch(column))
            lie = Lie(pa.binary(), 6, numbers(*ends), b"abcdef")
            with pytest.raises(ValueError, match=r"point outside of it|does not have the shape"):
                batch.encode(lie.record_batch(column))
