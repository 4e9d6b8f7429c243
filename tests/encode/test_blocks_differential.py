"""Blocks of rows with something in common: the fast path writes what the slow one does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import pytest

from amqpcodec import batch
from tests.columns.batch_rows import pa
from tests.encode.encode_values import Sent
from tests.encode.test_fast_path_differential import same
from tests.support.uneven_columns import SAME_SIZE, batch_of, letters, one, one_size, other, plain

ROWS = 130  # two blocks and two rows
FAST = 128
SIZES = [*range(36), 47, 48, 49, 63, 64, 65, 79, 80, 81, 96, 97, 100, 112, 113, 127, 128, 200, 255]


def batches(rows: Any) -> list[Any]:
    """Whole, and slices that begin and end elsewhere in bits, bytes and blocks."""
    return [rows, rows.slice(1), rows.slice(3, 64), rows.slice(60, 9), rows.slice(65)]


@pytest.mark.parametrize("size", SIZES)
def test_values_of_one_size(size: int) -> None:
    rng = Random(size)
    rows = batch_of(
        **{
            "exchange": [letters(rng, size) for _ in range(ROWS)],
            "routing_key": ["k" * size] * ROWS,
            "properties.message_id": [letters(rng, size) for _ in range(ROWS)],
            "headers.a": [letters(rng, size) for _ in range(ROWS)],
            "headers.b": [b"b" * size] * ROWS,
            "body": [rng.randbytes(size) for _ in range(ROWS)],
        }
    )
    for part in batches(rows):
        assert same(part)._fast_rows >= part.num_rows - 3


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 31, 33, 100, 200])
def test_values_of_many_sizes_between_those_of_one(size: int) -> None:
    """Whatever stands in front of a value, and however little behind it."""
    rng = Random(size)
    for what in ("exchange", "routing_key", "properties.app_id", "headers.b", "body"):
        columns = {
            name: ["s" * size] * ROWS
            for name in ("exchange", "routing_key", "properties.app_id", "headers.a", "headers.b")
        }
        columns["body"] = [b"s" * size] * ROWS  # type: ignore[list-item]
        columns[what] = [letters(rng, rng.randrange(60)) for _ in range(ROWS)]
        if what == "body":
            columns[what] = [v.encode() for v in columns[what]]  # type: ignore[misc]
        rows = batch_of(**columns)
        for part in batches(rows):
            assert same(part)._fast_rows >= part.num_rows - 3


@pytest.mark.parametrize("method", ["basic.ack", "queue.declare", "basic.nack", "basic.cancel"])
def test_methods_without_content(method: str) -> None:
    rng = Random(5)
    rows = batch_of(
        method=[method] * ROWS,
        delivery_tag=[rng.getrandbits(40) if method != "queue.declare" else 0 for _ in range(ROWS)],
        consumer_tag=["c" * (method == "basic.cancel")] * ROWS,
    )
    if method in ("queue.declare", "basic.cancel"):
        rows = rows.drop_columns("delivery_tag")
    for part in batches(rows):
        assert same(part)._fast_rows >= part.num_rows - 3


def test_numbers_that_all_rows_have_or_not() -> None:
    rng = Random(7)
    for top, type_ in ((2, pa.int32()), (255, pa.uint8()), (255, pa.int64()), (200, pa.int16())):
        for values in ([top] * ROWS, [rng.randrange(top + 1) for _ in range(ROWS)]):
            numbers = pa.array(values, type_)
            when = pa.array([1_700_000_000 + v for v in values], pa.timestamp("s", "UTC"))
            rows = batch_of(
                **{
                    "channel": numbers,
                    "mandatory": pa.array([v == top for v in values]),
                    "immediate": pa.array([v % 2 == 0 for v in values]),
                    "properties.priority": numbers,
                    "properties.timestamp": when,
                    "headers.n": numbers,
                    "headers.f": numbers.cast(pa.float64()),
                    "headers.t": pa.array([v % 2 == 0 for v in values]),
                    "headers.w": when,
                }
            )
            for part in batches(rows):
                assert same(part)._fast_rows >= part.num_rows - 3


@pytest.mark.parametrize(
    ("method", "name", "bits"),
    [
        ("basic.return", "reply_code", 16),
        ("queue.delete-ok", "queue.delete-ok.message_count", 32),
        ("basic.ack", "delivery_tag", 63),
    ],
)
def test_numbers_of_every_width_as_arguments(method: str, name: str, bits: int) -> None:
    rng = Random(bits)
    rows = batch_of(method=[method] * ROWS, **{name: [rng.getrandbits(bits) for _ in range(ROWS)]})
    for part in batches(rows):
        messages = same(part)
        assert (messages._fast_rows >= part.num_rows - 3, messages.error_count) == (True, 0)


@pytest.mark.parametrize("value", [-(2**31), -(2**31) - 1, 2**31 - 1, 2**31, -(2**63), 2**63 - 1])
def test_integers_of_a_table_at_their_limits(value: int) -> None:
    for values in ([value] * ROWS, [value, 1, value + (value < 0)] * 50):
        rows = batch_of(**{"headers.n": pa.array(values, pa.int64())})
        assert same(rows)._fast_rows >= rows.num_rows - 3


@pytest.mark.parametrize("value", [2**63, 2**64 - 1, 2**64 - 2**31])
def test_integers_of_a_table_beyond_their_limits(value: int) -> None:
    messages = same(batch_of(**{"headers.n": pa.array([value] * ROWS, pa.uint64())}))
    assert messages.error_count == ROWS


def test_text_that_is_utf8_only_together() -> None:
    """The halves of a letter in two rows: both rows are refused."""
    halves = [b"\xc3", b"\xa9", b"ab", b"\xe2\x82", b"\xac", b"", b""]
    complete_texts = ["é", "ab", "€", "🛒", "", "x" * 20]
    for fixed in (False, True):
        values: list[bytes] = (halves * 20)[:ROWS]
        if fixed:
            values = [b"ab\xc3", b"\xa9cd"] * (ROWS // 2)
        rows = batch_of(exchange=pa.array(values, pa.binary()))
        messages = same(rows)
        wrong = sum(not v.isascii() for v in values)
        assert messages.error_count == wrong
        rows = batch_of(**{"headers.h": pa.array(values, pa.binary())})  # binary may be anything
        assert same(rows).error_count == 0
    rows = batch_of(exchange=(complete_texts * 22)[:ROWS], routing_key=["é" * 9] * ROWS)
    assert same(rows)._fast_rows == FAST


def test_dictionaries() -> None:
    rng = Random(9)
    constant = pa.array(["orders"] * ROWS).dictionary_encode()
    mixed = pa.array([rng.choice(["a", "bb", None, "é"]) for _ in range(ROWS)]).dictionary_encode()
    methods = pa.array(["basic.publish"] * 70 + ["basic.return"] * 60).dictionary_encode()
    rows = batch_of(
        **{
            "exchange": constant,
            "routing_key": mixed,
            "properties.app_id": constant,
            "headers.h": constant,
        }
    )
    for part in batches(rows):
        assert same(part)._fast_rows >= part.num_rows - 3
    rows = batch_of(method=methods, exchange=constant, body=pa.array([b"x"] * ROWS))
    assert same(rows)._fast_rows == ROWS
    for part in batches(rows):
        same(part)
    long = pa.array(["x" * 256] * ROWS).dictionary_encode()
    assert same(batch_of(exchange=long)).error_count == ROWS
    wrong = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 65), pa.array(["no.such", None]))
    assert same(batch_of(method=wrong)).error_count == ROWS


def test_methods_that_change_within_a_block() -> None:
    names = ["basic.publish", "basic.deliver", "basic.return", "basic.publish"]
    lengths = [64, 4, 3, 1, 63, 65, 5, 70]
    methods = [names[i % 4] for i, length in enumerate(lengths) for _ in range(length)]
    rows = batch_of(method=methods, exchange=[f"e{i % 3}" for i in range(len(methods))])
    for part in batches(rows):
        same(part)
    # of one length, so that only the bytes tell them apart
    rows = batch_of(method=["basic.deliver", "basic.publish"] * 65)
    assert same(rows).error_count == 0


def test_nothing_of_properties_that_are_null() -> None:
    """Members below a null have values of their own, which nobody may see."""
    headers = pa.StructArray.from_arrays([pa.array([1] * ROWS)], names=["n"])
    rows = batch_of(
        properties=pa.StructArray.from_arrays(
            [headers, pa.array(["x"] * ROWS)],
            names=["headers", "app_id"],
            mask=pa.array([True] * 64 + [False] * 66),
        )
    )
    messages = pa.array(same(rows)).to_pylist()
    assert messages[0] == Sent("basic.publish", 1, {}, {}, b"").octets()
    assert (
        messages[64]
        == Sent("basic.publish", 1, {}, {"headers": {"n": 1}, "app_id": "x"}, b"").octets()
    )


def test_frame_max_of_blocks() -> None:
    rng = Random(11)
    for size in (20, 60):
        rows = batch_of(
            exchange=[letters(rng, size) for _ in range(ROWS)],
            **{"properties.app_id": [letters(rng, rng.randrange(size)) for _ in range(ROWS)]},
            body=[rng.randbytes(size) for _ in range(ROWS)],
        )
        for frame_max in range(size, size + 40):
            same(rows, frame_max)


# ---- plans, which are kept by schema ----


def test_a_schema_again_with_other_arrays_and_dialects() -> None:
    for _ in range(3):
        for rows in (one("x", pa.string()), one(b"x", pa.binary()), one(1, pa.int64())):
            for dialect in (None, "0-9-1", "0-8", None):
                same(rows, dialect=dialect)
            assert len(batch.encode(rows.slice(0, 0))) == 0
    values = [pa.array([None] * 5, pa.string()), pa.array(["a", None, "b", "", "c"])]
    for array in values * 2:
        same(batch_of(**{"headers.h": array, "exchange": array}))


def test_a_schema_again_after_a_failure() -> None:
    bad = batch_of(exchange=["x" * 256] * 70)
    for _ in range(3):
        with pytest.raises(ValueError, match="at most 255 bytes"):
            batch.encode(bad, mode="FAILFAST")
        assert same(bad).error_count == 70
        with pytest.raises(ValueError, match="frame_max"):
            batch.encode(bad, frame_max=-1)
        assert same(batch_of(exchange=["x"] * 70)).error_count == 0


def test_more_schemas_than_are_kept() -> None:
    for _ in range(2):
        for i in range(12):
            rows = batch_of(**{f"headers.h{i}": ["x"] * 6})
            messages = pa.array(same(rows)).to_pylist()
            sent = Sent("basic.publish", 1, {}, {"headers": {f"h{i}": "x"}}, b"")
            assert messages == [sent.octets()] * 6


def test_one_schema_in_many_threads() -> None:
    rows = [batch_of(exchange=[f"e{i}"] * 500, body=[bytes([i])] * 500) for i in range(8)]
    expected = [pa.array(batch.encode(record_batch)).to_pylist() for record_batch in rows]

    def work(i: int) -> list[Any]:
        return [pa.array(batch.encode(rows[i])).to_pylist() for _ in range(20)]

    with ThreadPoolExecutor(8) as pool:
        for i, results in enumerate(pool.map(work, range(8))):
            assert results == [expected[i]] * 20


@pytest.mark.parametrize("seed", range(120))
def test_blocks_of_one_size_and_a_row_that_is_not(seed: int) -> None:
    """What all rows of a block have in common, the next one may not."""
    rng = Random(seed)
    columns = one_size(rng)
    rows = batch_of(**{name: pa.array(values, type_) for name, (type_, values) in columns.items()})
    assert same(rows)._fast_rows == SAME_SIZE
    for part in (rows.slice(1), rows.slice(65, 200), rows.slice(3, 130)):
        assert same(part)._fast_rows >= part.num_rows - 3
    for name, (type_, values) in columns.items():
        for _ in range(3):
            changed = list(values)
            for _ in range(rng.randrange(1, 3)):
                at = rng.choice((64, 127, 128, 191, 192, rng.randrange(SAME_SIZE)))
                changed[at] = other(rng, type_, values[at])
            place = rows.schema.get_field_index(name)
            same(rows.set_column(place, rows.schema.field(name), pa.array(changed, type_)))


def test_what_blocks_share_ends_with_an_array() -> None:
    """What comes next in a stream, or with the same schema, may be otherwise in all."""
    rng = Random(3)
    pieces = [
        batch_of(
            routing_key=[letters(rng, size) for _ in range(size_)],
            exchange=["e" * size] * size_,
            body=[rng.randbytes(20 + size) for _ in range(size_)],
        )
        for size, size_ in ((9, 128), (9, 64), (30, 200), (9, 1), (9, 130))
    ]
    table = pa.Table.from_batches(pieces)
    messages = pa.array(batch.encode(table)).to_pylist()
    assert messages == [row for piece in pieces for row in pa.array(same(piece)).to_pylist()]
    for frame_max in (131072, 40, 20, 131072):
        same(pieces[0], frame_max=frame_max)


def test_values_shared_within_each_block_only() -> None:
    """Another channel, method, number or text, for 64 rows each."""
    block_numbers = [block for block in range(SAME_SIZE // 64) for _ in range(64)]
    for columns in (
        {"channel": [3 + block // 2 for block in block_numbers]},
        {"exchange": [f"e{block // 2}" for block in block_numbers]},
        {"delivery_tag": [block // 2 for block in block_numbers]},
        {"redelivered": [block // 2 % 2 == 0 for block in block_numbers]},
    ):
        assert same(plain(**columns))._fast_rows == SAME_SIZE
    methods = [("basic.deliver", "basic.publish")[block // 2 % 2] for block in block_numbers]
    assert same(plain(method=methods))._fast_rows == SAME_SIZE


def test_the_same_nulls_in_each_block() -> None:
    """Rows that have the default, in each block the same ones, whatever stands below their null."""
    holes = [row % 64 == 5 for row in range(SAME_SIZE)]
    tags = pa.array(range(SAME_SIZE), pa.int64())
    mask = pa.array(holes)
    hidden = pa.Array.from_buffers(
        pa.int64(), SAME_SIZE, [pa.compute.invert(mask).buffers()[1], tags.buffers()[1]]
    )
    assert same(plain(delivery_tag=hidden)).error_count == 0
    body = pa.array([b"%032d" % row for row in range(SAME_SIZE)], pa.binary())
    late = pa.array([row != 200 for row in range(SAME_SIZE)])
    hidden = pa.Array.from_buffers(pa.binary(), SAME_SIZE, [late.buffers()[1], *body.buffers()[1:]])
    messages = pa.array(same(plain(body=hidden))).to_pylist()
    assert len(messages[200]) < len(messages[199])


def test_later_blocks_refuse_what_rows_do() -> None:
    """Numbers below zero, and columns of other methods, from some row on."""
    for at in (128, 190, 300):
        tags = [1 + row for row in range(SAME_SIZE)]
        tags[at] = -1
        messages = same(plain(delivery_tag=pa.array(tags, pa.int64())))
        assert messages.error_count == 1
        foreign = [None] * at + [7] + [None] * (SAME_SIZE - at - 1)
        messages = same(plain(**{"basic.return.reply_code": pa.array(foreign, pa.int32())}))
        assert messages.error_count == 1
