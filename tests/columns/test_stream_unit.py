"""A stream of one batch, for those who take nothing else; and others who read our capsules."""

from __future__ import annotations

import ctypes
import gc
import threading

import pytest

from amqpcodec import batch, capture
from tests.columns.batch_rows import decode, pa
from tests.paths import REPO
from tests.support import amqp091_wire as w

DATA = (
    w.method_frame("basic.deliver", exchange="orders", delivery_tag=2)
    + w.header_frame(5, headers={"n": 1}, app_id="a", timestamp=1700000000)
    + w.body_frame(1, b"hello")
    + b"\xff\xff"
) * 20


class Streamed:
    """What offers nothing but the stream."""

    def __init__(self, columns: object) -> None:
        self.__arrow_c_stream__ = columns.__arrow_c_stream__


def captured() -> object:
    return next(iter(capture.read(REPO / "demo" / "kombu_celery.pcap.gz")))


@pytest.mark.parametrize("columns", [batch.decode(DATA), batch.decode(b""), captured()])
def test_the_batch_and_then_the_end(columns: object) -> None:
    reader = pa.RecordBatchReader.from_stream(columns)
    assert reader.schema.equals(pa.schema(columns))
    assert reader.read_next_batch().equals(pa.record_batch(columns))
    with pytest.raises(StopIteration):
        reader.read_next_batch()
    again = pa.table(Streamed(columns))  # as often as one likes
    again.validate(full=True)
    assert again.equals(pa.Table.from_batches([pa.record_batch(columns)]))


def test_capsules_nobody_took() -> None:
    columns = batch.decode(DATA)
    capsules = [columns.__arrow_c_stream__(requested_schema=None) for _ in range(5)]
    assert len({id(capsule) for capsule in capsules}) == 5
    del columns, capsules
    gc.collect()
    assert decode(DATA).num_rows == batch.decode(DATA).__len__()


def test_it_lives_by_itself() -> None:
    readers = [pa.RecordBatchReader.from_stream(batch.decode(DATA))]
    expected = decode(DATA)
    tables: list[pa.Table] = []
    thread = threading.Thread(target=lambda: tables.append(readers.pop().read_all()))
    thread.start()
    thread.join()
    gc.collect()
    for _ in range(5):
        decode(b"\xff" * 10_000)
    assert tables[0].to_batches()[0].equals(expected)


class RawStream(ctypes.Structure):
    """struct ArrowArrayStream."""

    _fields_ = (
        ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
        ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
        ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)),
        ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("private_data", ctypes.c_void_p),
    )


def test_schemas_outlive_the_stream() -> None:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    columns = batch.decode(DATA)
    capsule = columns.__arrow_c_stream__()
    address = pointer(capsule, b"arrow_array_stream")
    stream = RawStream.from_address(address)
    schemas = [ctypes.create_string_buffer(72) for _ in range(2)]  # sizeof(struct ArrowSchema)
    for schema in schemas:
        assert stream.get_schema(address, ctypes.addressof(schema)) == 0
    assert stream.get_last_error(address) is None
    stream.release(address)
    expected = pa.schema(columns)
    del capsule, columns, stream
    gc.collect()
    for schema in schemas:
        assert pa.Schema._import_from_c(ctypes.addressof(schema)).equals(expected)


def test_polars() -> None:
    polars = pytest.importorskip("polars")
    expected = decode(DATA).to_pylist()
    for columns in (batch.decode(DATA), Streamed(batch.decode(DATA))):
        assert polars.DataFrame(columns).to_dicts() == expected
    series = polars.from_arrow(batch.decode(DATA, fields=["method", "payload"]))
    assert series.struct.field("payload").drop_nulls().to_list() == [b"hello"]


@pytest.mark.parametrize("kind", [lambda columns: columns, Streamed])
def test_duckdb(kind: object) -> None:
    duckdb = pytest.importorskip("duckdb")
    columns = kind(batch.decode(DATA))  # noqa: F841 (the query names it)
    query_rows = duckdb.sql(
        "SELECT frame_type, method, properties.app_id, payload FROM columns WHERE error IS NULL"
    ).fetchall()
    good = [row for row in decode(DATA).to_pylist() if row["error"] is None]
    assert query_rows == [
        (
            row["frame_type"],
            row["method"],
            row["properties"] and row["properties"]["app_id"],
            row["payload"],
        )
        for row in good
    ]
    assert len(query_rows) == 3
