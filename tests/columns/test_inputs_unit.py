"""What people hold: chunks, streams, views, dictionaries, Series; all decode as one array does."""

from __future__ import annotations

from typing import Any

import pytest

from amqpcodec import batch
from amqpcodec import v0_9_1 as amqp
from tests.columns.batch_rows import decode, pa, rows

FRAME = amqp.encode(1, amqp.Queue.Declare(queue="q1"))
LONG = amqp.encode(2, amqp.Basic.Publish(exchange="e" * 100, routing_key="k" * 50))
BEAT = amqp.encode(0, amqp.Heartbeat())
VALUES = [FRAME, None, BEAT, b"", LONG, b"\1bad", FRAME + LONG, LONG]
PLAIN = pa.array(VALUES, pa.binary())
FIELDS = ["row", "offset", "method", "arguments", "frame", "error"]


def same(data: Any, **options: Any) -> None:
    expected = rows(PLAIN, fields=FIELDS)
    assert len(expected) == 7
    assert rows(data, fields=FIELDS, **options) == expected


def dictionary(index: Any, values: Any) -> Any:
    distinct = [FRAME, BEAT, None, b"", LONG, b"\1bad", FRAME + LONG]
    at = [None if v is None else distinct.index(v) for v in VALUES]
    return pa.DictionaryArray.from_arrays(pa.array(at, index), pa.array(distinct, values))


INPUTS = {
    "chunked": pa.chunked_array([PLAIN.slice(0, 3), PLAIN.slice(3, 0), PLAIN.slice(3)]),
    "no chunk but one": pa.chunked_array([PLAIN]),
    "large chunks": pa.chunked_array([PLAIN.slice(0, 3), PLAIN.slice(3)]).cast(pa.large_binary()),
    "view": PLAIN.cast(pa.binary_view()),
    "chunks of views": pa.chunked_array([PLAIN.slice(0, 5), PLAIN.slice(5)]).cast(pa.binary_view()),
    "sliced view": pa.concat_arrays([pa.array([LONG, None]), PLAIN])
    .cast(pa.binary_view())
    .slice(2),
    **{
        f"dictionary by {index}": dictionary(index, values)
        for index, values in zip(
            [pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64()],
            [pa.binary(), pa.large_binary(), pa.binary()] * 3,
            strict=False,
        )
    },
    "sliced dictionary": pa.concat_arrays([dictionary(pa.int8(), pa.binary())] * 2).slice(8),
    "chunks of dictionaries": pa.chunked_array([dictionary(pa.int32(), pa.binary())]),
}


@pytest.mark.parametrize("name", INPUTS)
def test_arrow(name: str) -> None:
    INPUTS[name].validate(full=True)
    same(INPUTS[name])
    same(INPUTS[name], layout="plain")


class Stream:
    """Nothing but a stream."""

    def __init__(self, of: Any) -> None:
        self.of = of

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.of.__arrow_c_stream__()


@pytest.mark.parametrize("layout", ["plain", "view"])
def test_memory_is_kept_as_long_as_it_is_used(layout: str) -> None:
    frames = pa.chunked_array([[FRAME, LONG] * 500, [LONG, FRAME] * 500])
    record_batch = pa.record_batch(
        batch.decode(Stream(frames), fields=["frame", "row"], layout=layout)
    )
    other = decode(Stream(frames), fields=["method"])
    record_batch.validate(full=True)
    assert record_batch.column(0).to_pylist() == [FRAME, LONG] * 500 + [LONG, FRAME] * 500
    assert record_batch.column(1).to_pylist() == list(range(2000))
    assert len(other) == 2000


def test_series_of_polars() -> None:
    polars = pytest.importorskip("polars")
    same(polars.Series(VALUES, dtype=polars.Binary))
    same(polars.concat([polars.Series(VALUES[:3]), polars.Series(VALUES[3:])], rechunk=False))


def test_series_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    same(pandas.Series(VALUES))
    same(pandas.Series(VALUES, dtype=pandas.ArrowDtype(pa.binary())))
    same(pandas.Series(VALUES, index=range(8, 0, -1)))
    same(pandas.Series(VALUES).to_numpy())


def test_messages_of_a_stream() -> None:
    message = amqp.encode_message(1, amqp.Basic.Publish(), None, b"body")
    method_size = len(amqp.encode(1, amqp.Basic.Publish()))
    parts = pa.chunked_array([[message[:method_size]], [message[method_size:], message]])
    assert [row["body"] for row in rows(Stream(parts), level="message", by=[])] == [b"body"] * 2
    assert [row["body"] for row in rows(parts, level="message", by=[["a", "a", "b"]])] == [
        b"body"
    ] * 2
    assert [row["body"] for row in rows(Stream(parts), level="message")][-1] == b"body"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (pa.chunked_array([["text"]]), "not string"),
        (pa.array(["text"]).dictionary_encode(), "not string"),
        (pa.array([1]).dictionary_encode(), "format 'l'"),
        (pa.table({"frame": PLAIN}), "not struct"),
        (pa.chunked_array([pa.array(["x"]).cast(pa.string_view())]), "not string_view"),
    ],
)
def test_what_is_refused(data: Any, problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        decode(data)


def test_a_view_out_of_its_buffer_and_an_index_out_of_its_dictionary() -> None:
    view = PLAIN.cast(pa.binary_view())
    _, views, data = view.buffers()
    bad = bytearray(views.to_pybytes())
    bad[4 * 16 + 12 : 4 * 16 + 16] = (1 << 20).to_bytes(4, "little")
    array = pa.Array.from_buffers(view.type, len(view), [None, pa.py_buffer(bytes(bad)), data])
    with pytest.raises(ValueError, match="contradicts itself"):
        batch.decode(array)
    index = pa.array([0, 7], pa.int8())
    array = pa.DictionaryArray.from_arrays(index, pa.array([FRAME]), safe=False)
    with pytest.raises(ValueError, match="contradicts itself"):
        batch.decode(array)


def test_any_case() -> None:
    expected = rows(PLAIN, mode="DROPMALFORMED", level="frame", field_tables="map", layout="plain")
    options: dict[str, Any] = {"mode": "dropMalformed", "level": "FRAME", "field_tables": "Map"}
    assert rows(PLAIN, layout="Plain", **options) == expected
    for name, short in (("n:long", "n:int"), ("n:boolean", "n:bool"), ("n:string", "n:STRING")):
        one, other = (
            batch.schema(fields=[f"headers.{column_type}"]) for column_type in (name, short)
        )
        assert pa.schema(one).types == pa.schema(other).types
    for name in ("n:int32", "n:text", "a.b:Decimal"):
        with pytest.raises(ValueError, match=r"no type .*; there is json, string, long, double"):
            batch.schema(fields=[f"headers.{name}"])
    assert (
        pa.schema(batch.schema(fields=["headers.n:text:json", "headers.a:b:json"])).types
        == [pa.string()] * 2
    )
