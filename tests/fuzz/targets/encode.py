"""Columns to frames: arrays of every type that say what they should not."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from random import Random
from typing import Any

import pyarrow as pa

from amqpcodec import _codec, batch, v0_9_1
from tests.fuzz import mutators
from tests.fuzz.target import Choices, Target
from tests.support.guarded import guard
from tests.support.invalid_arrow import Lie
from tests.support.random_columns import bits, headers, moments, number, text

HEAD = 8
TEXTS = ("exchange", "routing_key", "method", "properties.type", "properties.message_id", "body")
TYPES = (pa.string(), pa.binary(), pa.large_string(), pa.large_binary())


@functools.cache
def slow() -> Any:
    """The protocol without its fast paths."""
    return _codec.Protocol(v0_9_1.PROTOCOL.table, False)


def both(columns: Any, frame_max: int, validate: bool = True) -> None:
    """The fast path and the slow one write and refuse the same; what is written can be read.

    validate: pyarrow looks at the frames.
    """
    try:
        fast = batch.encode(columns, v0_9_1, frame_max)
    except (ValueError, TypeError) as refused:  # EncodeError is a ValueError
        try:
            batch.encode(columns, slow(), frame_max)
        except type(refused) as again:
            assert str(again) == str(refused)
            return
        raise AssertionError("the slow path writes it") from refused
    again = batch.encode(columns, slow(), frame_max)
    frames = pa.array(fast)
    if validate:
        frames.validate(full=True)
    assert frames.equals(pa.array(again))
    assert pa.array(fast.errors).equals(pa.array(again.errors))
    read = pa.record_batch(batch.decode(frames, fields=["row", "error"]))
    assert read.column("error").null_count == read.num_rows


@functools.lru_cache(maxsize=4000)
def random_columns(seed: int, count: int, nulls: float) -> tuple[dict[str, Any], tuple[Any, ...]]:
    """Some columns, and the state of the generator after them.

    They are kept for other inputs: to make them takes several times as long as to encode them.
    """
    rng = Random(seed)
    columns: dict[str, Any] = {}
    for name in TEXTS:
        if rng.random() < 0.4:
            columns[name] = text(rng, count, nulls)
    for name, top in (("channel", 65535), ("properties.priority", 255)):
        if rng.random() < 0.4:
            columns[name] = number(rng, count, nulls, top)
    if rng.random() < 0.3:
        columns["mandatory"] = bits(rng, count, nulls)
    if rng.random() < 0.3:
        columns["properties.timestamp"] = moments(rng, count, nulls)
    if rng.random() < 0.5:
        columns["properties.headers"] = headers(rng, count, nulls)
    return columns, rng.getstate()


def rows(data: bytes, validate: bool = True) -> None:
    """Columns of all types, with values out of the input."""
    choices = Choices(data, HEAD)
    seed = choices.byte()
    count = 1 + choices.byte() % 60
    some_columns, state = random_columns(seed, count, choices.pick((0.0, 0.2, 0.9)))
    columns = dict(some_columns)
    rng = Random(0)
    rng.setstate(state)
    values = [part.decode("utf-8", "replace") for part in choices.rest.split(b"\0")]
    name = choices.pick(
        ("routing_key", "body", "properties.correlation_id", "headers.x", "arguments")
    )
    options = [*values, None]
    columns[name] = pa.array([rng.choice(options) for _ in range(count)], pa.string())
    record_batch = pa.record_batch(columns)
    if choices.byte() % 4 == 3:
        record_batch = pa.RecordBatch.from_arrays(
            [guard(column) for column in record_batch.columns], names=record_batch.schema.names
        )
    both(record_batch, choices.pick((131072, 4096, 0, 9, 8)), validate)


def lie_of(kind: pa.DataType, raw: bytes) -> Lie:
    """An array whose offsets are these bytes."""
    width = 8 if "large" in str(kind) else 4
    content = b"abcdefghijklmnop"
    count = max(1, min(len(raw) // width - 1, 20))
    offsets = bytearray(raw[: width * (count + 1)].ljust(width * (count + 1), b"\0"))
    for at in range(0, len(offsets), width):  # beyond what is there nobody can see
        value = int.from_bytes(offsets[at : at + width], "little", signed=True)
        if value > len(content):
            value %= len(content) + 1
            offsets[at : at + width] = value.to_bytes(width, "little", signed=True)
    return Lie(kind, count, bytes(offsets), content)


def lies(data: bytes) -> None:
    """Offsets, sizes and counts that make no sense are refused; nothing is read by them."""
    choices = Choices(data, HEAD)
    kind = choices.pick(TYPES)
    name = choices.pick(TEXTS)
    both(lie_of(kind, choices.rest).record_batch(name), 131072)


def row_seeds() -> Iterator[bytes]:
    """Random choices, and texts with everything that JSON has."""
    texts = (
        b'{"a":1}', b'{"exchange":"x","routing_key":"k"}', b'{"$binary":"YQ=="}', b"[1,2.5,null]",
        b'{"a":{"$decimal":"1.50"},"b":[{"$timestamp":1}]}', b"\xff", b"k" * 256, b"",
    )  # fmt: skip
    for seed in range(40):
        rng = Random(seed)
        yield rng.randbytes(HEAD) + b"\0".join(rng.sample(texts, rng.randrange(1, 5)))


def lie_seeds() -> Iterator[bytes]:
    """Offsets that rise, fall and are negative, in both widths."""
    for seed in range(40):
        rng = Random(seed)
        width = (4, 8)[seed % 2]
        some = [rng.choice((0, 1, 2, 5, 16, -1, -(2**31), 2**31 - 1)) for _ in range(4)]
        offsets = b"".join((value % (1 << 8 * width)).to_bytes(width, "little") for value in some)
        yield rng.randbytes(HEAD) + offsets


TARGETS = (
    Target(
        "encode",
        rows,
        row_seeds,
        mutators.plain(HEAD),
        largest=600,
        quick=functools.partial(rows, validate=False),
    ),
    Target("encode-lies", lies, lie_seeds, mutators.plain(HEAD), largest=200),
)
