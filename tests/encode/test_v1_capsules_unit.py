"""The way in and out for AMQP 1.0: arrays that lie, threads, memory."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from amqpcodec import batch
from amqpcodec import v1_0 as amqp
from tests.columns.batch_rows import pa
from tests.columns.test_pool_memory import linux, run
from tests.encode.encode_v1_values import encode, octets
from tests.encode.test_capsules_unit import LIES, LISTS


@pytest.mark.parametrize("name", LIES)
@pytest.mark.parametrize(
    "column",
    [
        *("performative", "body", "value", "message", "footer", "delivery_tag", "arguments"),
        *("properties.to", "properties.content_type", "application_properties.x", "body_kind"),
    ],
)
def test_values_outside_of_their_array(name: str, column: str) -> None:
    with pytest.raises(ValueError, match=r"point outside of it|does not have the shape"):
        batch.encode(LIES[name].record_batch(column), "1.0")


@pytest.mark.parametrize("name", LIES)
@pytest.mark.parametrize("column", ["body", "properties.to"])
def test_values_outside_of_their_array_where_there_is_no_message(name: str, column: str) -> None:
    with pytest.raises(ValueError, match=r"point outside of it|does not have the shape"):
        batch.encode(LIES[name].record_batch(column, performative="flow"), "1.0")


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("column", ["value", "application_properties.x"])
def test_lists_outside_of_their_array(name: str, column: str) -> None:
    with pytest.raises(ValueError, match="point outside of it"):
        batch.encode(LISTS[name].record_batch(column), "1.0")


def test_columns_that_are_of_no_use_are_not_looked_at() -> None:
    encoded = pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array(["x"]))
    assert encode(pa.RecordBatch.from_pydict({"frame": encoded}))[0] == [octets()] * 2
    values, errors = encode(pa.RecordBatch.from_pydict({"value": encoded}))
    assert values == [None] * 2
    assert "no type of AMQP 1.0 stands for run_end_encoded" in (errors[0] or "")


def test_streams_and_many_rows() -> None:
    """More rows than a guess of the size is made of; nulls among them."""
    rows = [None if n % 7 == 0 else {"handle": n, "body": b"x" * (n % 50)} for n in range(3000)]
    struct = pa.array(rows, pa.struct([("handle", pa.int64()), ("body", pa.binary())]))
    want = [
        None if row is None else octets(amqp.Message(row["body"]), handle=row["handle"])
        for row in rows
    ]
    assert encode(struct)[0] == want
    present = pa.RecordBatch.from_struct_array(struct.filter(struct.is_valid()))
    table = pa.Table.from_batches([present, present.slice(0, 0), present.slice(5)])
    full = [value for value in want if value is not None]
    assert encode(table)[0] == full + full[5:]


def test_threads() -> None:
    rows = pa.RecordBatch.from_pydict(
        {
            "body": [b"x" * 30] * 2000,
            "application_properties": ['{"a": 1.0000000000000000001}'] * 2000,
        }
    )
    want = octets(amqp.Message(b"x" * 30, application_properties={"a": 1.0}))
    with ThreadPoolExecutor(4) as pool:
        for messages in pool.map(lambda _: batch.encode(rows, "1.0"), range(12)):
            assert set(pa.array(messages).to_pylist()) == {want}


MEMORY = """
import resource, sys
import pyarrow as pa
from amqpcodec import batch
rows = pa.RecordBatch.from_pydict({
    "body": [b"x" * 500] * 2000, "message_annotations": ['{"a": [1, {"b": "c"}]}'] * 2000,
    "properties.to": ["q"] * 1999 + ["AMQP_UUID:"], "header.ttl": [1] * 2000})
def once():
    found = batch.encode(rows, "1.0", 512)
    assert found.error_count == 1
    pa.array(found)
    try:
        batch.encode(rows, "1.0", 512, "FAILFAST")
    except ValueError:
        pass
for _ in range(30):
    once()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(300):
    once()
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert after - before < 4000, (before, after)
"""


@linux
def test_nothing_leaks() -> None:
    run(MEMORY)
