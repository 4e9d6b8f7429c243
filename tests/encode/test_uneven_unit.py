"""Messages of which no two are of one size: copied in whole pieces, never beyond what is there."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.columns.batch_rows import pa
from tests.encode.test_fast_path_differential import same
from tests.support.guarded import POSIX_ONLY, guard
from tests.support.uneven_columns import BODIES, ROWS, SIZES, letters, uneven

LONG = [*SIZES, 256, 257, 300, 511, 512, 513, 70_000]


def guarded(rows: Any) -> Any:
    return pa.RecordBatch.from_arrays([guard(column) for column in rows.columns], rows.schema.names)


@POSIX_ONLY
@pytest.mark.parametrize("seed", range(12))
def test_every_size_where_memory_ends(seed: int) -> None:
    """Behind each column there is nothing to read, and behind the rows only what they need."""
    rng = Random(seed)
    rows = pa.RecordBatch.from_pydict(uneven(rng, sizes=rng.choice((SIZES, SIZES[:8], [0, 1, 2]))))
    for part in (rows, rows.slice(0, 64), rows.slice(3, 65), rows.slice(0, 5)):
        assert same(guarded(part))._fast_rows >= part.num_rows - 3


@POSIX_ONLY
@pytest.mark.parametrize("size", SIZES)
def test_one_size_in_all_columns_where_memory_ends(size: int) -> None:
    rng = Random(size)
    rows = pa.RecordBatch.from_pydict(
        uneven(rng, 70, [size]) | {"body": [rng.randbytes(size) for _ in range(70)]}
    )
    assert same(guarded(rows))._fast_rows == 70


def test_longstr_of_any_size() -> None:
    """Behind one of more than 255 bytes the others are what they were."""
    rng = Random(1)
    for count in (8, 64, ROWS):
        for where in range(3):
            columns = uneven(rng, count)
            values = [letters(rng, rng.choice(LONG)) for _ in range(count)]
            values[where * (count - 1) // 2] = letters(rng, 256)
            columns["headers.a"] = values
            assert same(pa.RecordBatch.from_pydict(columns))._fast_rows >= count - 3


def test_more_columns_than_are_foretold() -> None:
    """Texts, numbers and nulls in any order, and names longer than a piece."""
    rng = Random(2)
    for many in (6, 7, 8, 9, 15, 16, 17, 40):
        columns = uneven(rng)
        for k in range(many):
            name = f"headers.{k}" + "n" * rng.choice((0, 9, 12, 25, 26, 27, 28, 40, 100))
            kind = rng.randrange(4)
            texts = [letters(rng, rng.choice(SIZES)) for _ in range(ROWS)]
            columns[name] = [
                texts,
                [None if rng.random() < 0.3 else text for text in texts],
                pa.array([rng.randrange(2**31) for _ in range(ROWS)], pa.int64()),
                [letters(rng, 30)] * ROWS,
            ][kind]
        rows = pa.RecordBatch.from_pydict(columns)
        assert same(rows)._fast_rows == 128
        same(rows.slice(1))


def test_bodies_in_any_form() -> None:
    rng = Random(3)
    bodies = [rng.randbytes(rng.choice(BODIES)) for _ in range(ROWS)]
    texts = [letters(rng, rng.choice(BODIES)) + "é" * (i % 3) for i in range(ROWS)]
    for body in (
        pa.array(bodies, pa.binary()),
        pa.array(bodies, pa.large_binary()),
        pa.array([None if i % 5 == 1 else v for i, v in enumerate(bodies)], pa.binary()),
        pa.array([b""] * ROWS, pa.binary()),
        pa.array(texts, pa.string()),
        pa.array(["é" * 30] * 66 + ["ab" * 30] * 64, pa.string()),
        pa.array(texts, pa.string()).dictionary_encode(),
    ):
        for columns in (uneven(rng), {"exchange": ["orders"] * ROWS}):
            rows = pa.RecordBatch.from_pydict(columns | {"body": body})
            assert same(rows)._fast_rows == 128
    for channel in (pa.array([7] * ROWS), pa.array([1 + i % 3 for i in range(ROWS)])):
        assert (
            same(pa.RecordBatch.from_pydict(uneven(rng) | {"channel": channel}))._fast_rows == 128
        )


def test_text_bodies_of_one_size_that_are_not_utf8() -> None:
    """In a later block the halves of a letter are two rows."""
    ends = pa.array(range(0, 20 * 257, 20), pa.int32()).buffers()[1]
    data = bytearray(b"abcdefghijklmnopqrst" * 256)
    for at, wrong in ((20 * 200 - 1, 2), (20 * 200 + 5, 1)):
        spoilt = bytearray(data)
        spoilt[at : at + 2] = "é".encode()
        if wrong == 1:
            spoilt[at + 1] = 0x20
        body = pa.Array.from_buffers(pa.string(), 256, [None, ends, pa.py_buffer(bytes(spoilt))])
        assert same(pa.RecordBatch.from_pydict({"body": body})).error_count == wrong


def test_frame_max_of_uneven_rows() -> None:
    rows = pa.RecordBatch.from_pydict(uneven(Random(4), 70, [0, 1, 40]))
    for frame_max in (*range(60, 300, 7), 1033, 4096):
        same(rows, frame_max)


def test_tables_of_headers_that_no_row_has() -> None:
    """Then there is none, where headers are columns of one header each."""
    columns = {"exchange": ["a", "bcd"] * 35, "headers.a": pa.array([None, "x" * 20] * 35)}
    assert same(pa.RecordBatch.from_pydict(columns)).error_count == 0
    columns["headers.b"] = pa.array(["y", None] * 35)
    assert same(pa.RecordBatch.from_pydict(columns))._fast_rows == 70


# ---- UTF-8 ----

LETTERS = ["é", "ÿ", "\u0800", "\ud7ff", "\ue000", "€", "\U00010000", "\U0010ffff", "🛒"]
WRONG = [
    b"\x80", b"\xbf", b"\xc0\x80", b"\xc1\xbf", b"\xc2", b"\xc3\x28", b"\xe0\x9f\xbf", b"\xe2\x82",
    b"\xe2\x28\xa1", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xf0\x8f\xbf\xbf", b"\xf0\x9f\x9b",
    b"\xf0\x9f\x28\x92", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xff", b"\xfe",
    b"\xc3\xa9\xa9", b"\xf8\x88\x80\x80\x80", b"\xe2\x82\xac\x82",
]  # fmt: skip


def as_binary(values: list[bytes]) -> Any:
    return pa.RecordBatch.from_pydict({"exchange": pa.array(values, pa.binary())})


@pytest.mark.parametrize("letter", LETTERS)
def test_letters_anywhere(letter: str) -> None:
    """Wherever they stand in pieces of sixteen bytes, and at both ends of a value."""
    values = ["a" * k + letter * (1 + k % 3) + "b" * (k % 5) for k in range(64)]
    rows = pa.RecordBatch.from_pydict({"exchange": values, "body": values})
    assert same(rows)._fast_rows == 64
    assert same(pa.RecordBatch.from_pydict({"exchange": [letter] * 64 + values})).error_count == 0


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_not_utf8_anywhere(wrong: bytes) -> None:
    """One row of a block, from every byte of a piece on, and where the block ends."""
    rng = Random(wrong[0])
    for lead in range(18):
        values = [letters(rng, rng.randrange(30)).encode() for _ in range(20)]
        spoilt = rng.choice((0, 19, rng.randrange(20)))
        values[spoilt] = b"x" * lead + wrong + b"y" * rng.choice((0, 0, 20))
        assert same(as_binary(values)).error_count == 1


def test_letters_cut_between_rows() -> None:
    """Together they would be right: empty values between them, too."""
    for letter in LETTERS:
        encoded_letter = letter.encode()
        for split in range(1, len(encoded_letter)):
            for between in (0, 1, 40):
                values = [
                    b"ab",
                    encoded_letter[:split],
                    *[b""] * between,
                    encoded_letter[split:],
                    b"cd" * 9,
                    b"",
                    b"",
                ]
                assert same(as_binary(values)).error_count == 2


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(st.binary(max_size=40), st.text(max_size=20).map(str.encode)),
        min_size=5,
        max_size=70,
    ),
    st.lists(st.text(max_size=90), min_size=1, max_size=9),
    st.integers(0, 3),
)
def test_any_octets(values: list[bytes], texts: list[str], nulls: int) -> None:
    count = len(values)
    some = [texts[i % len(texts)] for i in range(count)]
    rows = {
        "exchange": pa.array(values, pa.binary()),
        "routing_key": [None if nulls and i % 4 < nulls else v for i, v in enumerate(some)],
        "headers.t": some,
        "headers.v": pa.array(values[::-1], pa.binary()),
        "body": pa.array(values, pa.binary()),
    }
    messages = same(pa.RecordBatch.from_pydict(rows))
    if not nulls:
        wrong = [not is_utf8(values[i]) or len(some[i].encode()) > 255 for i in range(count)]
        assert messages.error_count == sum(wrong)


def is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
