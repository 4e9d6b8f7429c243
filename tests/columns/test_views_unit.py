"""layout="view": the same values as string_view and binary_view, which point into the input."""

from __future__ import annotations

import gc
import sys
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings

from amqpcodec import _columns, batch
from amqpcodec import v0_9_1 as amqp
from tests.columns.batch_rows import decode, pa
from tests.columns.test_fast_path_differential import SLOW, some_fields
from tests.support import amqp091_gen as gen
from tests.support import amqp091_strategies as some
from tests.support import amqp091_wire as w
from tests.support.amqp091_same import same

VIEWS = {pa.string(): pa.string_view(), pa.binary(): pa.binary_view()}
LONG = b"a body that is longer than twelve bytes"
DATA = amqp.encode_message(
    1,
    amqp.Basic.Publish(exchange="short", routing_key="a routing key of some bytes"),
    amqp.Basic.Properties(message_id="message-id-0123456789", headers={"n": "x" * 40}),
    LONG,
)


def as_view(kind: Any) -> Any:
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(as_view(field.type)) for field in kind])
    return VIEWS.get(kind, kind)


@pytest.mark.parametrize("level", ["frame", "message"])
def test_schema(level: str) -> None:
    plain = pa.schema(batch.schema(level=level))
    view = pa.schema(batch.schema(level=level, layout="view"))
    assert view == pa.schema([field.with_type(as_view(field.type)) for field in plain])
    assert decode(b"", level=level, layout="view").schema == view
    assert decode(DATA, level=level, layout="view").schema == view


@pytest.mark.untraced
@given(some.seeds)
@settings(max_examples=1500)
def test_equal_to_plain(rng: Random) -> None:
    """Any streams, fields, modes and levels, on the fast path and the slow one."""
    data = gen.conversation(rng) if rng.random() < 0.5 else gen.stream(rng, 5)
    if rng.random() < 0.5:
        data = gen.spoil_inside(rng, data) if rng.random() < 0.8 else gen.spoil(rng, data)
    values = pa.array([data, None, w.HEARTBEAT * 4, data], pa.binary())
    options: dict[str, Any] = {"mode": rng.choice(("PERMISSIVE", "DROPMALFORMED"))}
    options["level"] = rng.choice(("frame", "message"))
    options["fields"] = some_fields(rng, options["level"])
    source = values.slice(rng.randrange(3)) if rng.random() < 0.5 else data
    plain = decode(source, **options).to_pylist()
    assert same(decode(source, layout="view", **options).to_pylist(), plain)
    assert same(decode(source, layout="view", protocol=SLOW, **options).to_pylist(), plain)


def buffers(column: Any) -> list[Any]:
    return [buffer for buffer in column.buffers()[2:] if buffer is not None]


@pytest.mark.parametrize("name", ["routing_key", "body", "properties.message_id", "frame"])
def test_views_point_into_the_input(name: str) -> None:
    data = DATA * 30
    own, input_buffer = buffers(
        decode(data, level="message", fields=[name], layout="view").column(0)
    )
    assert own.size == 0
    assert input_buffer.size == len(data)
    assert input_buffer.address == pa.py_buffer(data).address


def test_the_input_is_kept_alive() -> None:
    data = DATA * 30
    references = sys.getrefcount(data)
    result = batch.decode(data, fields=["payload"], layout="view")
    record_batch = pa.record_batch(result)
    assert sys.getrefcount(data) == references + 1
    del result
    assert sys.getrefcount(data) == references + 1
    assert record_batch.column(0).to_pylist()[2::3] == [LONG] * 30
    del record_batch
    assert sys.getrefcount(data) == references
    columns = batch.decode(data, fields=["arguments", "method"], layout="view")
    assert sys.getrefcount(data) == references
    assert len(columns) == 90


def test_arrays_are_copied_and_released() -> None:
    """Another thread or process may change their memory, so that views are of a copy."""
    gc.collect()  # what other tests left
    before = pa.total_allocated_bytes()
    array = pa.array([DATA, None] * 40, pa.binary())
    result = batch.decode(array, level="message", layout="view")
    record_batch = pa.record_batch(result)
    del array, result
    gc.collect()
    assert pa.total_allocated_bytes() == before
    assert record_batch.column("body").to_pylist() == [LONG] * 40


def test_what_may_change_is_copied() -> None:
    data = bytearray(DATA * 30)
    result = batch.decode(data, level="message", layout="view")
    data[:] = b"\xff" * len(data)
    assert pa.record_batch(result).column("body").to_pylist() == [LONG] * 30


@pytest.mark.parametrize("level", ["frame", "message"])
@pytest.mark.parametrize("limit", [40, 100, 1000, 5000])
def test_several_buffers(level: str, limit: int) -> None:
    """As inputs beyond a GiB have them."""
    data = DATA * 30
    fields = ["routing_key", "properties.message_id", "channel", "frame"]
    args = (amqp.PROTOCOL, data, fields, "PERMISSIVE", "rabbitmq", limit)
    record_batch = pa.record_batch(_columns.decode_columns(*args, level=level, layout="view"))
    record_batch.validate(full=True)
    assert record_batch.to_pylist() == decode(data, level=level, fields=fields).to_pylist()
    count = len(buffers(record_batch.column("frame")))
    assert count == 1 + -(-len(data) // (1 << limit.bit_length() - 1))


def test_a_column_of_its_own_octets_may_be_full() -> None:
    args = (amqp.PROTOCOL, DATA * 30, ["arguments"], "PERMISSIVE", "rabbitmq", 1000)
    with pytest.raises(ValueError, match=r"1000 bytes.*arguments"):
        _columns.decode_columns(*args, layout="view")


def test_polars() -> None:
    polars = pytest.importorskip("polars")
    for level in ("frame", "message"):
        result = batch.decode(DATA * 30, level=level, layout="view")
        data_frame = polars.DataFrame(result)
        plain = decode(DATA * 30, level=level)
        for name in ("method", "channel", "body", "payload", "routing_key", "frame_type"):
            if name in data_frame.columns:
                assert data_frame[name].to_list() == plain.column(name).to_pylist()


@pytest.mark.parametrize("size", [*range(20), 31, 32, 33, 255])
def test_text_of_every_length(size: int) -> None:
    for place in {0, 1, size // 2, size - 1} & set(range(size)):
        for octet in b"a\x00\x7f\x80\xff":
            text = bytearray(b"x" * size)
            text[place] = octet
            data = w.method_frame("basic.publish", routing_key=bytes(text))
            data += w.header_frame(1, message_id=bytes(text)) + w.body_frame(1, b"1")
            data = data * 3
            fields = ["routing_key", "properties.message_id", "error", "body"]
            for level in ("message", "frame"):
                plain = decode(data, level=level, fields=[*fields[:3], "method"])
                view = decode(data, level=level, fields=[*fields[:3], "method"], layout="view")
                assert view.to_pylist() == plain.to_pylist()
