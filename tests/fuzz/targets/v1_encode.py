"""Columns to messages and performatives of AMQP 1.0: texts of others, and arrays that lie."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from random import Random
from typing import Any

import pyarrow as pa

from amqpcodec import batch
from tests.fuzz import mutators
from tests.fuzz.target import Choices, Target
from tests.fuzz.targets.encode import HEAD, TYPES, lie_of, lie_seeds
from tests.support.invalid_arrow import Lie

#: Columns that take the texts of an input, with the types that they come in.
TEXTS = {
    **dict.fromkeys(("value", "footer", "arguments"), pa.string()),
    **dict.fromkeys(("delivery_annotations", "message_annotations"), pa.string()),
    **dict.fromkeys(("application_properties", "properties.to"), pa.string()),
    **dict.fromkeys(("properties.message_id", "properties.content_type"), pa.string()),
    **dict.fromkeys(("body", "delivery_tag", "properties.user_id"), pa.binary()),
}
PERFORMATIVES = ("transfer", "flow", "attach", "disposition", "open", "sasl-init", None)
BODY_KINDS = ("data", "value", "sequence", None)


def columns(choices: Choices) -> pa.RecordBatch:
    """Some columns, with values out of the input; those of messages or those of performatives."""
    rng = choices.rng()
    count = 1 + choices.byte() % 6
    texts = choices.rest.split(b"\0")
    columns_by_name: dict[str, Any] = {}
    for name, kind in TEXTS.items():
        if rng.random() < 0.4:
            values = [rng.choice([*texts, None]) for _ in range(count)]
            if kind == pa.string():
                values = [value and value.decode("utf-8", "replace") for value in values]
            columns_by_name[name] = pa.array(values, kind)
    for name, top in (("handle", 1 << 32), ("header.priority", 255), ("message_format", 5)):
        if rng.random() < 0.3:
            columns_by_name[name] = pa.array([rng.randrange(top) for _ in range(count)], pa.int64())
    for name, some in (("performative", PERFORMATIVES), ("body_kind", BODY_KINDS)):
        if rng.random() < 0.3:
            columns_by_name[name] = pa.array([rng.choice(some) for _ in range(count)], pa.string())
    return pa.record_batch(columns_by_name or {"body": pa.array([choices.rest])})


def written(columns: pa.RecordBatch, frame_max: int, validate: bool = True) -> pa.Array | None:
    """The frames of each row, null where the row has an error; None where the columns have one.

    validate: pyarrow looks at the frames.
    """
    try:
        encoded = batch.encode(columns, "1.0", frame_max)
    except (ValueError, TypeError):
        return None
    frames = pa.array(encoded)
    if validate:
        frames.validate(full=True)
    assert frames.null_count == encoded.error_count
    return frames


def decoded(frames: pa.Array, level: str, validate: bool) -> pa.RecordBatch:
    """The rows of frames, none of them with an error."""
    record_batch = pa.record_batch(batch.decode(frames, "1.0", level))
    if validate:
        record_batch.validate(full=True)
    errors = record_batch.column("error")
    assert errors.null_count == record_batch.num_rows, errors
    return record_batch


def rows(data: bytes, validate: bool = True) -> None:
    """What is written can be read; what was read is written so that it is read as the same.

    validate: pyarrow looks at all columns and frames.
    """
    choices = Choices(data, HEAD)
    input_columns = columns(choices)
    frame_max = choices.pick((131072, 0, 512))
    first = written(input_columns, frame_max, validate)
    if first is None:
        return
    first = first.drop_null() if first.null_count else first
    decoded(first, "frame", validate)
    if "performative" in input_columns.schema.names:
        return
    messages = decoded(first, "message", validate)
    second = written(messages, frame_max, validate)
    assert second is not None
    if second.null_count:
        messages, second = messages.filter(second.is_valid()), second.drop_null()
    again = decoded(second, "message", validate)
    names = [name for name in messages.schema.names if name not in ("frame", "row")]
    one, other = again.select(names), messages.select(names)
    assert one.equals(other) or one.to_pylist() == other.to_pylist()
    third = written(again, frame_max, validate)
    assert third is not None
    assert third.equals(second)


def lies(data: bytes) -> None:
    """Offsets, sizes and counts that make no sense are refused; nothing is read by them."""
    choices = Choices(data, HEAD)
    kind = choices.pick(TYPES)
    name = choices.pick((*TEXTS, "performative", "body_kind", "application_properties.x"))
    lie: Lie = lie_of(kind, choices.rest)
    written(lie.record_batch(name), 131072)


def row_seeds() -> Iterator[bytes]:
    """Every form of value that JSON text has."""
    texts = (
        b'{"a":1,"b":[1,2.5,null,true]}', b'{"$map":[[1,{"$symbol":"x"}],["k",2]]}', b"null",
        b'{"$described":["d",{"$binary":"AAEC"}]}',
        b'{"$uuid":"00112233-4455-6677-8899-aabbccddeeff"}',
        b'{"$timestamp_ms":1700000000000}', b'{"$char":"x"}', b'{"$decimal":"-1.50"}',
        b'{"$type":"accepted"}', b'{"handle":1,"delivery_id":2}', b'{"name":"l","role":true}',
        b'{"$double":"NaN"}', b"AMQP_ULONG:7", b"\xff", b"", b"text", b"[[],{}]", b'{"a":1',
    )  # fmt: skip
    for seed in range(60):
        rng = Random(seed)
        yield rng.randbytes(HEAD) + b"\0".join(rng.sample(texts, rng.randrange(1, 6)))


TARGETS = (
    Target(
        "v1-encode",
        rows,
        row_seeds,
        mutators.plain(HEAD),
        largest=600,
        quick=partial(rows, validate=False),
    ),
    Target("v1-encode-lies", lies, lie_seeds, mutators.plain(HEAD), largest=200),
)
