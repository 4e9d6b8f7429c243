"""Arrow structs that do not say what they should, on the way into decode and encode: refused."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from amqpcodec import _encode, batch, v0_9_1, v1_0
from tests.columns.arrow_structs import RawArray, RawSchema, raw, raw_schema
from tests.columns.batch_rows import pa
from tests.support import amqp091_wire as w

#: What it is, and what takes it back.
Lie = tuple[str, Callable[[], None]]

ACK = w.method_frame("basic.ack")
ROWS = pa.struct(
    {
        "routing_key": pa.string(),
        "body": pa.binary_view(),
        "method": pa.dictionary(pa.int8(), pa.string()),
        "mandatory": pa.bool_(),
        "channel": pa.uint16(),
        "headers.list": pa.list_(pa.int8()),
        "headers.map": pa.map_(pa.string(), pa.int64()),
        "headers.decimal": pa.decimal128(9, 2),
        "headers.fixed": pa.binary(3),
        "headers.fours": pa.list_(pa.int16(), 2),
        "headers.views": pa.list_view(pa.int32()),
        "headers.time": pa.timestamp("s"),
    }
)
ROW = {
    "routing_key": "k" * 20,
    "body": b"b" * 20,
    "method": "basic.publish",
    "mandatory": True,
    "channel": 3,
    "headers.list": [1, 2],
    "headers.map": [("k", 1)],
    "headers.decimal": 1,
    "headers.fixed": b"abc",
    "headers.fours": [1, 2],
    "headers.views": [5],
    "headers.time": 1_700_000_000,
}
GIVEN: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "binary": (batch.decode, pa.array([ACK, ACK], pa.binary())),
    "large_binary": (batch.decode, pa.array([ACK, ACK], pa.large_binary())),
    "binary_view": (batch.decode, pa.array([ACK, ACK], pa.binary_view())),
    "dictionary": (batch.decode, pa.array([ACK, ACK], pa.binary()).dictionary_encode()),
    "rows": (batch.encode, pa.array([ROW, ROW], ROWS)),
}
#: Formats that nobody can read, whatever the array's buffers hold.
FORMATS = [b"w:-1", b"w:x", b"+w:-1", b"d:9", b"d:9,2,7", b"\xff", b"", b"zz"]


class Holder:
    """An array whose structs are changed."""

    def __init__(self, array: Any) -> None:
        self.capsules = array.__arrow_c_array__()

    def __arrow_c_array__(self) -> Any:
        return self.capsules


def arrays(of: RawArray) -> Iterator[RawArray]:
    yield of
    if of.dictionary:
        yield from arrays(RawArray.from_address(of.dictionary))
    for i in range(of.n_children):
        yield from arrays(RawArray.from_address(pointers(of.children)[i]))


def schemas(of: RawSchema) -> Iterator[RawSchema]:
    yield of
    if of.dictionary:
        yield from schemas(RawSchema.from_address(of.dictionary))
    for i in range(of.n_children):
        yield from schemas(RawSchema.from_address(of.children[i]))


def pointers(address: int) -> Any:
    return ctypes.cast(address, ctypes.POINTER(ctypes.c_void_p))


def lies(holder: Holder) -> Iterator[Lie]:
    """Changes one thing at a time, each taken back before the next one."""
    for place, array in enumerate(arrays(raw(holder.capsules[1]))):
        yield from changes(
            f"array {place}",
            array,
            [
                *(("length", -1), ("offset", -1), ("n_buffers", -1), ("n_children", -1)),
                *(("n_buffers", n) for n in range(array.n_buffers)),
                *(("n_children", n) for n in range(array.n_children)),
                *((name, None) for name in ("buffers", "children", "dictionary", "release")),
            ],
        )
        for i in range(array.n_buffers):
            buffers = (ctypes.c_void_p * array.n_buffers).from_address(
                ctypes.addressof(array.buffers.contents)
            )
            yield from change(f"array {place}: buffers[{i}]", buffers, partial(put, i))
    for place, schema in enumerate(schemas(raw_schema(holder.capsules[0]))):
        yield from changes(
            f"schema {place}",
            schema,
            [
                ("n_children", -1),
                *(("n_children", n) for n in range(schema.n_children)),
                *((name, None) for name in ("format", "children", "dictionary", "release")),
                *(("format", type_format) for type_format in FORMATS),
            ],
        )


def put(index: int, buffers: Any) -> None:
    buffers[index] = None


def assign(name: str, value: Any, struct: Any) -> None:
    setattr(struct, name, value)


def changes(where: str, struct: Any, values: list[tuple[str, Any]]) -> Iterator[Lie]:
    for name, value in values:
        yield from change(f"{where}: {name} = {value}", struct, partial(assign, name, value))


def change(what: str, struct: Any, do: Callable[[Any], None]) -> Iterator[Lie]:
    """What it was, and how to take it back; nothing where it is so already."""
    original = bytes(struct)

    def undo() -> None:
        ctypes.memmove(ctypes.addressof(struct), original, len(original))

    do(struct)
    if bytes(struct) != original:
        yield what, undo
        undo()


@pytest.mark.parametrize("name", GIVEN)
def test_one_lie_is_refused_or_harmless(name: str) -> None:
    call, array = GIVEN[name]
    expected = pa.array(call(Holder(array)))
    refused = 0
    for number in itertools.count():
        holder = Holder(array)
        candidates = lies(holder)
        lie, undo = next(itertools.islice(candidates, number, None), ("", None))
        if undo is None:
            break
        try:
            result = pa.array(call(holder))
        except (ValueError, TypeError):
            refused += 1
        else:
            assert len(result) in (0, len(expected)), lie
        if raw(holder.capsules[1]).release or lie == "array 0: release = None":
            undo()  # else it was taken over, and is no more
    assert refused >= 10
    assert pa.array(call(Holder(array))).equals(expected)


def test_indices_of_a_dictionary_have_no_children() -> None:
    """Memory for both children and the dictionary would be reserved in one place."""
    holder = Holder(GIVEN["dictionary"][1])
    schema = raw_schema(holder.capsules[0])
    schema.children = (ctypes.c_void_p * 1)(schema.dictionary)
    schema.n_children = 1
    with pytest.raises(ValueError, match="integers, without children"):
        batch.decode(holder)
    schema.n_children = 0
    assert len(pa.array(batch.decode(holder))) == 2


@pytest.mark.parametrize("length", [2**56, 2**60, 2**61 - 1, 2**63 - 1])
@pytest.mark.parametrize("name", ["binary", "large_binary", "binary_view", "dictionary"])
def test_more_values_than_any_memory_holds(name: str, length: int) -> None:
    """Sums of the memory that they would take do not wrap."""
    holder = Holder(GIVEN[name][1])
    array = raw(holder.capsules[1])
    array.length, true_length = length, array.length
    with pytest.raises((ValueError, MemoryError)):
        batch.decode(holder)
    array.length = true_length


@pytest.mark.parametrize("protocol", [v0_9_1.PROTOCOL, v1_0.PROTOCOL], ids=["0-9-1", "1.0"])
@pytest.mark.parametrize("length", [2**40, 2**61 - 1, 2**62])
def test_more_null_rows_than_offsets_reach(protocol: Any, length: int) -> None:
    """Nulls take no memory on the way in: an array may honestly have that many."""
    holder = Holder(pa.RecordBatch.from_arrays([pa.nulls(2)], names=["body"]))
    rows = raw(holder.capsules[1])
    nulls = RawArray.from_address(pointers(rows.children)[0])
    rows.length = nulls.length = nulls.null_count = length
    with pytest.raises(ValueError, match="encode fewer rows at a time"):
        _encode.encode_columns(protocol, holder, 131072, "PERMISSIVE", None, limit=100_000)
    rows.length = nulls.length = nulls.null_count = 2
