"""One limit of nesting for tables, arrays, descriptors and compounds, in every direction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from amqpcodec import DepthError, EncodeError, limits
from amqpcodec import v0_9_1 as old
from amqpcodec import v1_0 as new
from tests.support.process_limit import limited

LIMIT = 20


@pytest.fixture
def limit() -> Iterator[int]:
    with limited("max_nesting", LIMIT):
        yield LIMIT


def nest(levels: int, *wraps: Callable[[Any], Any]) -> Any:
    """A value in so many others, of each kind in turn."""
    value: Any = 1
    for level in range(levels):
        value = wraps[level % len(wraps)](value)
    return value


def table(value: Any) -> Any:
    return {"k": value}


def array(value: Any) -> Any:
    return [value]


def described(value: Any) -> Any:
    return new.Described(new.Symbol("d"), value)


WRAPS: dict[str, list[Callable[[Any], Any]]] = {
    "tables": [table],
    "arrays": [array],
    "both": [table, array],
    "descriptors": [described],
    "all": [described, table, array],
}


def old_frame(levels: int, *wraps: Callable[[Any], Any]) -> bytes:
    return old.encode(1, old.Queue.Declare(arguments={"k": nest(levels - 1, *wraps)}))


def test_the_limit_is_read_and_set() -> None:
    assert limits.get_max_nesting() == 128
    limits.set_max_nesting(16)
    assert limits.get_max_nesting() == 16
    limits.set_max_nesting(128)
    for wrong in (15, 129, -1, True, "20", 20.0, None):
        with pytest.raises(ValueError, match="max_nesting is a number from 16 to 128"):
            limits.set_max_nesting(wrong)  # type: ignore[arg-type]
    assert limits.get_max_nesting() == 128


@pytest.mark.parametrize("kinds", ["tables", "arrays", "both"])
def test_tables_of_0_9_1(kinds: str) -> None:
    good, bad = (old_frame(levels, *WRAPS[kinds]) for levels in (LIMIT, LIMIT + 1))
    with limited("max_nesting", LIMIT):
        frame = old.decode(good)[2]  # type: ignore[index]
        assert old.encode(1, frame) == good
        with pytest.raises(DepthError, match="deeper than 20 levels"):
            old.decode(bad)
        with pytest.raises(DepthError):
            list(old.Decoder().feed(bad))
        with pytest.raises(EncodeError, match="deeper than 20 levels"):
            old_frame(LIMIT + 1, *WRAPS[kinds])


@pytest.mark.parametrize("kinds", WRAPS)
def test_values_of_1_0(kinds: str) -> None:
    good, bad = (new.encode_value(nest(levels, *WRAPS[kinds])) for levels in (LIMIT, LIMIT + 1))
    with limited("max_nesting", LIMIT):
        assert new.encode_value(new.decode_value(good)[0]) == good
        with pytest.raises(DepthError, match="deeper than 20 levels"):
            new.decode_value(bad)
        with pytest.raises(EncodeError, match="deeper than 20 levels"):
            new.encode_value(nest(LIMIT + 1, *WRAPS[kinds]))


@pytest.mark.parametrize("field_tables", ["json", "variant", "map"])
def test_columns(field_tables: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    from amqpcodec import batch

    data = {
        "0-9-1": [old_frame(levels, table) for levels in (LIMIT, LIMIT + 1)],
        # A frame's list is a level, and so is the map of its properties.
        "1.0": [
            new.encode(0, new.Open("c", properties={new.Symbol("k"): nest(levels, array)}))
            for levels in (LIMIT - 3, LIMIT + 1)
        ],
    }
    with limited("max_nesting", LIMIT):
        for protocol, frames in data.items():
            columns = batch.decode(
                frames[0] + frames[1] + frames[0], protocol, field_tables=field_tables
            )
            rows = pa.record_batch(columns).to_pylist()
            assert [row["error"] is None for row in rows] == [True, False, True], protocol
            assert "deeper than 20 levels" in rows[1]["error"]
            assert rows[1]["frame"] == frames[1]


def test_columns_to_frames(limit: int) -> None:
    pa = pytest.importorskip("pyarrow")
    from amqpcodec import batch

    # The table of the headers is a level.
    texts = ['{"k":' * levels + "1" + "}" * levels for levels in (limit, limit + 1)]
    columns = pa.RecordBatch.from_pydict({"properties.headers": pa.array(texts, pa.string())})
    assert len(batch.encode(columns.slice(0, 1))) == 1
    with pytest.raises(EncodeError, match="deeper than 20 levels"):
        batch.encode(columns, mode="FAILFAST")
