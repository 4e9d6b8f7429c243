"""The way in and out of batch.encode: arrays that lie, capsules, threads, memory."""

from __future__ import annotations

import ctypes
import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from amqpcodec import batch
from tests.columns.batch_rows import pa
from tests.columns.test_pool_memory import linux, run
from tests.encode.encode_values import Sent, encode
from tests.support.invalid_arrow import Lie, a_list, numbers, offsets_array, view

GOOD = Sent("basic.publish").octets()


class Index(Lie):
    """A dictionary and indices that are not in it."""

    def __init__(self, *indices: int) -> None:
        self.buffers, self.memory = (), []
        self.array = pa.DictionaryArray.from_arrays(
            pa.array(indices, pa.int8()), pa.array(["a"]), safe=False
        )


LIES = {
    "offsets go back": offsets_array(pa.string(), numbers(0, 5, 3)),
    "offsets go back behind the end": offsets_array(pa.string(), numbers(0, 60, 6)),
    "negative": offsets_array(pa.string(), numbers(-4, 2, 3)),
    "large, back": offsets_array(pa.large_string(), numbers(0, 5, 3, width=8)),
    "large, negative": offsets_array(pa.large_string(), numbers(-(1 << 62), 2, 3, width=8)),
    "view of another piece": view(15, 1, 0),
    "view of piece below 0": view(15, -1, 0),
    "view behind its piece": view(15, 0, 6),
    "view far behind": view(15, 0, 2**31 - 1),
    "view before its piece": view(15, 0, -1),
    "negative view": view(-1, 0, 0),
    "index too large": Index(0, 7),
    "negative index": Index(0, -1),
}
LISTS = {
    "list behind its items": a_list(pa.list_(pa.int8()), numbers(0, 3)),
    "list that goes back": a_list(pa.list_(pa.int8()), numbers(2, 1)),
    "negative list": a_list(pa.list_(pa.int8()), numbers(-1, 1)),
    "large list": a_list(pa.large_list(pa.int8()), numbers(0, 1 << 60, width=8)),
    "large list from below": a_list(pa.large_list(pa.int8()), numbers(-(1 << 63), 1, width=8)),
    "list view": a_list(pa.list_view(pa.int8()), numbers(1), numbers(2)),
    "list view of less than none": a_list(pa.list_view(pa.int8()), numbers(1), numbers(-1)),
    "large list view": a_list(
        pa.large_list_view(pa.int8()), numbers(2**62, width=8), numbers(2**62, width=8)
    ),
}


@pytest.mark.parametrize("name", LIES)
@pytest.mark.parametrize(
    "column", ["routing_key", "body", "method", "headers.h", "properties.app_id"]
)
def test_values_outside_of_their_array(name: str, column: str) -> None:
    with pytest.raises(ValueError, match=r"point outside of it|does not have the shape"):
        batch.encode(LIES[name].record_batch(column))


@pytest.mark.parametrize("name", LISTS)
def test_lists_outside_of_their_array(name: str) -> None:
    with pytest.raises(ValueError, match="point outside of it"):
        batch.encode(LISTS[name].record_batch("headers.h"))


def test_children_that_are_too_short() -> None:
    class Longer:
        """Says that it has a row more than its column."""

        def __arrow_c_array__(self) -> Any:
            capsules = pa.RecordBatch.from_pydict({"body": ["a", "b"]}).__arrow_c_array__()
            pointer = ctypes.pythonapi.PyCapsule_GetPointer
            pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
            ctypes.c_int64.from_address(pointer(capsules[1], b"arrow_array")).value = 3
            return capsules

    short = Longer()
    with pytest.raises(ValueError, match="'body' does not have the shape of string"):
        batch.encode(short)


def test_columns_that_are_of_no_use_are_not_looked_at() -> None:
    union = pa.UnionArray.from_dense(
        pa.array([0, 0], pa.int8()), pa.array([0, 1], pa.int32()), [pa.array([1, 2])]
    )
    encoded = pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array(["x"]))
    for array in (union, encoded):
        values, errors = encode(pa.RecordBatch.from_pydict({"frame": array}))
        assert values == [GOOD] * 2
        values, errors = encode(pa.RecordBatch.from_pydict({"headers.h": array}))
        assert values == [None] * 2
        assert "a table cannot hold" in (errors[0] or "")


def test_what_was_given_up_or_is_none() -> None:
    class Holder:
        def __init__(self, *capsules: Any) -> None:
            self.capsules = capsules

        def __arrow_c_array__(self) -> Any:
            return self.capsules

    rows = pa.RecordBatch.from_pydict({"body": ["x"]})
    capsules = rows.__arrow_c_array__()
    assert encode(Holder(*capsules))[0] == encode(rows)[0]
    assert encode(Holder(*capsules))[0] == encode(rows)[0]  # encode does not consume
    pa.RecordBatch._import_from_c_capsule(*capsules)
    with pytest.raises(ValueError, match="released already"):
        batch.encode(Holder(*capsules))
    with pytest.raises(TypeError, match="arrow_schema and arrow_array"):
        batch.encode(Holder(*reversed(rows.__arrow_c_array__())))
    stream = pa.Table.from_batches([rows]).__arrow_c_stream__()

    class Stream:
        def __arrow_c_stream__(self) -> Any:
            return stream

    assert encode(Stream())[0] == encode(rows)[0]
    pa.RecordBatchReader._import_from_c_capsule(stream)
    with pytest.raises(ValueError, match="released already"):
        batch.encode(Stream())


def test_a_stream_that_fails() -> None:
    rows = pa.RecordBatch.from_pydict({"body": ["x"]})

    def batches() -> Any:
        yield rows
        raise RuntimeError("no more")

    reader = pa.RecordBatchReader.from_batches(rows.schema, batches())
    with pytest.raises(ValueError, match=r"(?s)stream failed: .*no more"):
        batch.encode(reader)


def test_results() -> None:
    messages = batch.encode(pa.RecordBatch.from_pydict({"channel": pa.array([1, -1, 2])}))
    errors = messages.errors
    assert (len(messages), len(errors), messages.error_count) == (3, 3, 1)
    assert repr(messages) == "<amqpcodec.batch.Encoded: 3 rows, 1 with an error>"
    assert repr(errors) == "<amqpcodec.batch.ArrowColumn: 3 rows>"
    values = pa.array(messages)
    assert values.equals(pa.array(messages))
    assert pa.chunked_array(messages).to_pylist() == values.to_pylist()
    assert pa.DataType._import_from_c_capsule(messages.__arrow_c_schema__()) == pa.binary()
    assert pa.DataType._import_from_c_capsule(errors.__arrow_c_schema__()) == pa.string()
    del messages
    gc.collect()
    texts = pa.array(errors)
    del errors
    gc.collect()
    assert texts.to_pylist() == [None, "channel: takes 0 to 65535", None]
    assert values.to_pylist()[1] is None
    for cls in (batch.Encoded, batch.ArrowColumn):
        with pytest.raises(TypeError, match="made by"):
            cls()


def test_other_libraries_take_and_give_it() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(
        {
            "routing_key": ["short", "a longer key than twelve bytes", None],
            "body": [b"x", b"y" * 40, b""],
            "properties": [{"app_id": "a"}, {"app_id": None}, None],
            "headers.level": polars.Series(["low", "high", None], dtype=polars.Categorical),
        }
    )
    expected = [
        Sent("basic.publish", 1, {"routing_key": "short"},
             {"app_id": "a", "headers": {"level": "low"}}, b"x"),
        Sent("basic.publish", 1, {"routing_key": "a longer key than twelve bytes"},
             {"headers": {"level": "high"}}, b"y" * 40),
        Sent("basic.publish"),
    ]  # fmt: skip
    messages = batch.encode(frame)
    assert pa.array(messages).to_pylist() == [message.octets() for message in expected]
    assert polars.Series(messages).to_list() == [message.octets() for message in expected]


def test_threads() -> None:
    """The same columns at once in several threads, which run while one encodes."""
    rows = pa.RecordBatch.from_pydict(
        {"body": ["x" * 50] * 20000, "properties.headers": ['{"a":[1,{"b":2.5}],"c":"d"}'] * 20000}
    )
    expected = pa.array(batch.encode(rows))
    with ThreadPoolExecutor(4) as pool:
        for messages in pool.map(lambda _: pa.array(batch.encode(rows)), range(12)):
            assert messages.equals(expected)


def test_the_gil_is_released() -> None:
    rows = pa.RecordBatch.from_pydict({"body": ["x" * 50] * 300_000})
    ticks = 0
    finished = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not finished.is_set():
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        before = ticks
        for _ in range(20):
            batch.encode(rows)
            if ticks > before + 1000:
                return
    finally:
        finished.set()
        thread.join()
    pytest.fail("nothing else ran")


@linux
def test_many_cycles() -> None:
    """Encoded and released over and over: good and bad rows, errors, refused columns."""
    growth = run(
        """
        rows = pa.RecordBatch.from_pydict({
            "routing_key": ["k" * 20, "k" * 300, "k"] * 300,
            "properties.headers": ['{"a":[1,2.5],"b":{"c":0.12345678901234567}}'] * 900,
            "body": [b"x" * 400] * 900,
        })
        table = pa.Table.from_batches([rows] * 3)
        wrong = pa.RecordBatch.from_pydict({"bodies": ["x"]})

        def cycle():
            values = pa.array(batch.encode(rows))
            errors = pa.array(batch.encode(table).errors)
            try:
                batch.encode(rows, mode="FAILFAST")
            except amqpcodec.EncodeError:
                pass
            try:
                batch.encode(wrong)
            except ValueError:
                pass

        for _ in range(50):
            cycle()
        before = resident()
        for _ in range(300):
            cycle()
        print(resident() - before)
        """
    )
    assert int(growth) < 4 << 20
