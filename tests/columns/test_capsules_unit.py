"""The way out: schemas, arrays that can be taken often and let go anywhere, limits, threads."""

from __future__ import annotations

import ctypes
import gc
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import pytest

from amqpcodec import _columns, batch
from amqpcodec import v0_9_1 as amqp
from tests.columns.arrow_structs import RawArray, RawSchema, raw, raw_schema
from tests.columns.batch_rows import COLUMNS, decode, pa, rows
from tests.support import amqp091_gen as gen
from tests.support import amqp091_wire as w

DATA = w.method_frame("basic.ack") + w.header_frame(3, app_id="a", headers={"n": 1}) + w.HEARTBEAT
PROPERTIES = pa.struct(
    [
        ("content_type", pa.string()),
        ("content_encoding", pa.string()),
        ("headers", pa.string()),
        ("delivery_mode", pa.int32()),
        ("priority", pa.int32()),
        ("correlation_id", pa.string()),
        ("reply_to", pa.string()),
        ("expiration", pa.string()),
        ("message_id", pa.string()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("type", pa.string()),
        ("user_id", pa.string()),
        ("app_id", pa.string()),
        ("reserved", pa.string()),
    ]
)
SCHEMA = pa.schema(
    [
        ("row", pa.int64()),
        ("offset", pa.int64()),
        ("frame_type", pa.string()),
        ("channel", pa.int32()),
        ("method", pa.string()),
        ("arguments", pa.string()),
        ("properties", PROPERTIES),
        ("body_size", pa.int64()),
        ("payload", pa.binary()),
        ("frame", pa.binary()),
        ("error", pa.string()),
        ("error_offset", pa.int64()),
    ]
)


def test_schema() -> None:
    assert pa.schema(batch.schema()).equals(SCHEMA)
    assert decode(DATA).schema.equals(SCHEMA)
    assert decode(b"").schema.equals(SCHEMA)
    names = ["error", "properties", "row"]
    chosen = pa.schema([SCHEMA.field(name) for name in names])
    assert pa.schema(batch.schema("0-9-1", "frame", names, "plain")).equals(chosen)
    assert decode(DATA, fields=names).schema.equals(chosen)


@pytest.mark.parametrize(
    "wrong", [{"fields": ["x"]}, {"level": "x"}, {"layout": "views"}, {"protocol": "1-0"}]
)
def test_schema_of_wrong_names(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        batch.schema(**wrong)


def test_attributes() -> None:
    result = batch.decode(DATA)
    assert isinstance(result, batch.Columns)
    assert len(result) == 3
    assert result.names == list(COLUMNS)
    assert "3 rows" in repr(result)
    schema = batch.schema(fields=["row"])
    assert isinstance(schema, batch.Schema)
    assert schema.names == ["row"]
    assert "row" in repr(schema)
    for cls in (batch.Columns, batch.Schema):
        with pytest.raises(TypeError):
            cls()


def test_struct_array() -> None:
    array = pa.array(batch.decode(DATA))
    assert array.type == pa.struct(SCHEMA)
    assert array.null_count == 0
    assert pa.RecordBatch.from_struct_array(array).equals(decode(DATA))
    assert pa.table(batch.decode(DATA)).num_rows == 3


def test_taken_more_than_once() -> None:
    result = batch.decode(DATA * 50)
    first = pa.record_batch(result)
    second = pa.record_batch(result)
    assert first.equals(second)
    address = first.column("frame").buffers()[2].address
    assert second.column("frame").buffers()[2].address == address  # shared, not copied
    del result, first
    gc.collect()
    second.validate(full=True)
    assert second.equals(decode(DATA * 50))
    _, capsule = batch.decode(DATA).__arrow_c_array__(requested_schema=object())
    assert raw(capsule).length == 3


def test_capsules_nobody_took() -> None:
    result = batch.decode(DATA)
    for _ in range(3):
        result.__arrow_c_array__()
        result.__arrow_c_schema__()
    result.__arrow_c_array__()[0]
    assert pa.record_batch(result).num_rows == 3


def test_no_nulls_no_bitmap() -> None:
    _, capsule = batch.decode(DATA, fields=["row", "frame_type", "payload"]).__arrow_c_array__()
    children = ctypes.cast(raw(capsule).children, ctypes.POINTER(ctypes.POINTER(RawArray)))
    assert raw(capsule).null_count == 0
    assert [children[i].contents.null_count for i in range(3)] == [0, 0, 3]
    assert [bool(children[i].contents.buffers[0]) for i in range(3)] == [False, False, True]


Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@pytest.mark.parametrize("parent_first", [False, True])
def test_a_child_moved_out_lives_by_itself(parent_first: bool) -> None:
    """By Arrow's rules a consumer may move children out, and release parent and child apart."""
    result = batch.decode(DATA * 100)
    expected = decode(DATA * 100).column("properties").to_pylist()
    _, capsule = result.__arrow_c_array__()
    parent = raw(capsule)
    children = ctypes.cast(parent.children, ctypes.POINTER(ctypes.POINTER(RawArray)))
    place = COLUMNS.index("properties")
    moved = RawArray()
    ctypes.memmove(ctypes.byref(moved), children[place], ctypes.sizeof(RawArray))
    children[place].contents.release = None
    if parent_first:
        Release(parent.release)(ctypes.addressof(parent))
        assert not parent.release
        del result, capsule
        gc.collect()
        for _ in range(20):
            decode(b"\xff" * 10000)  # the pool must not have got the child's memory
    array = pa.Array._import_from_c(ctypes.addressof(moved), PROPERTIES)
    array.validate(full=True)
    assert array.to_pylist() == expected


@pytest.mark.parametrize("parent_first", [False, True])
def test_a_schema_moved_out_lives_by_itself(parent_first: bool) -> None:
    capsule = batch.schema(field_tables="variant").__arrow_c_schema__()
    parent = raw_schema(capsule)
    child = RawSchema.from_address(parent.children[COLUMNS.index("properties")])
    moved = RawSchema()
    ctypes.memmove(ctypes.byref(moved), ctypes.byref(child), ctypes.sizeof(RawSchema))
    child.release = None
    if parent_first:
        Release(parent.release)(ctypes.addressof(parent))
        assert not parent.release
        batch.schema().__arrow_c_schema__()  # other memory may be of the same size
    field = pa.Field._import_from_c(ctypes.addressof(moved))
    expected = pa.schema(batch.schema(field_tables="variant")).field("properties")
    assert field.equals(expected, check_metadata=True)
    headers = field.type.field("headers").type
    assert headers.field("metadata").metadata == {b"variant": b"true"}
    assert not headers.field("value").nullable


@pytest.mark.parametrize("limit", [100, 500, 2000, 5000])
@pytest.mark.parametrize(
    "data",
    [DATA, w.body_frame(1, b"b" * 30), w.header_frame(headers={"k": "v" * 40}), b"\xff" * 30],
)
def test_offsets_that_would_not_do(limit: int, data: bytes) -> None:
    """A lower limit stands in for the 2 GiB of int32 offsets."""
    stream = data * 200
    column = dict.fromkeys(COLUMNS, 0)
    for row in rows(stream):
        for name in column:
            value = row[name]
            if isinstance(value, str | bytes):
                column[name] += len(value if isinstance(value, bytes) else value.encode())
    for name, octets in column.items():
        args = (amqp.PROTOCOL, stream, [name], "PERMISSIVE", "rabbitmq", limit)
        if octets > limit:
            with pytest.raises(ValueError, match=f"{limit} bytes.*{name}"):
                _columns.decode_columns(*args)
        elif octets and octets < limit - 2048:
            record_batch = pa.record_batch(_columns.decode_columns(*args))
            assert record_batch.equals(decode(stream, fields=[name]))


def test_threads() -> None:
    """Decoding and releasing at once, the pool in common."""
    rng = Random(9)
    inputs = [gen.stream(rng, 200) for _ in range(4)]
    expected = [decode(data) for data in inputs]

    def work(number: int) -> bool:
        same = True
        for step in range(60):
            which = (number + step) % 4
            result = batch.decode(inputs[which])
            batches = [pa.record_batch(result) for _ in range(2)]
            same &= batches[step % 2].equals(expected[which])
        return same

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))


def test_released_in_another_thread() -> None:
    results = [pa.record_batch(batch.decode(DATA * 100)) for _ in range(20)]
    with ThreadPoolExecutor(1) as pool:
        pool.submit(results.clear).result()
    assert decode(DATA * 100).num_rows == 300


def test_two_arrays_of_the_pool_do_not_share() -> None:
    first = pa.record_batch(batch.decode(DATA * 100))
    copy = first.to_pylist()
    for _ in range(5):
        pa.record_batch(batch.decode(w.body_frame(1, b"\xff" * 300) * 100))
    assert first.to_pylist() == copy
