"""Arrow columns of messages at random: mostly usual, here and there odd."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any

from tests.columns.batch_rows import pa
from tests.encode.encode_values import EPOCH

TEXTS = ["", "a", "orders", "eu.customer.0017", "seventeen bytes.", "k" * 40, "é" * 9, "k" * 255]
BAD_TEXTS = ["k" * 256, "é" * 200]


def some(rng: Random, count: int, values: Any, nulls: float, bad: Any = ()) -> list[Any]:
    """Values, nulls and here and there a bad one; nulls often come in runs, as in real columns."""
    out: list[Any] = []
    while len(out) < count:
        run = rng.choice((1, 1, 5, 70))
        null = rng.random() < nulls
        for _ in range(run):
            if bad and rng.random() < 0.003:
                out.append(rng.choice(bad))
            else:
                out.append(None if null else rng.choice(values))
    return out[:count]


def text(rng: Random, count: int, nulls: float, bad: bool = True) -> Any:
    type_ = rng.choice(
        [pa.string()] * 6 + [pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(),
                             pa.dictionary(pa.int16(), pa.string())]
    )  # fmt: skip
    values = some(rng, count, rng.choice([TEXTS[:6], TEXTS[1:3], TEXTS]), nulls, BAD_TEXTS * bad)
    if pa.types.is_dictionary(type_):
        return pa.array(values).dictionary_encode().cast(type_)
    if type_ in (pa.binary(), pa.large_binary()):
        values = [value and value.encode() for value in values]
    return pa.array(values, type_)


def number(rng: Random, count: int, nulls: float, top: int) -> Any:
    type_ = rng.choice([pa.uint8(), pa.int32(), pa.int32(), pa.int64(), pa.uint64(), pa.int16()])
    top = min(top, 127 if type_ == pa.uint8() else 30000)
    bad = [-1, 256] if type_ in (pa.int32(), pa.int64()) and rng.random() < 0.3 else []
    return pa.array(some(rng, count, range(top + 1), nulls, bad), type_)


def bits(rng: Random, count: int, nulls: float) -> Any:
    type_ = rng.choice([pa.bool_(), pa.bool_(), pa.int8()])
    return pa.array(some(rng, count, [0, 1], nulls), pa.int8()).cast(type_)


def moments(rng: Random, count: int, nulls: float) -> Any:
    unit = rng.choice(["s", "ms", "us", "us", "ns"])
    values = some(rng, count, range(1_700_000_000, 1_700_000_300), nulls, [-5])
    times = [None if v is None else EPOCH + timedelta(seconds=v) for v in values]
    return pa.array(times, pa.timestamp(unit, "UTC"))


def headers(rng: Random, count: int, nulls: float) -> Any:
    kind = rng.randrange(4)
    if kind == 0:
        texts = ['{"a":1,"b":"x"}', "{}", '{"n":{"d":1.5}}']
        return pa.array(some(rng, count, texts, nulls, ["{", '{"a":1,"a":2}']), pa.string())
    if kind == 1:
        maps = [[("a", 1)], [], [("b", None), ("c", 2**40)]]
        return pa.array(some(rng, count, maps, nulls), pa.map_(pa.string(), pa.int64()))
    return header_struct(rng, count, nulls if kind == 2 else 0)


def header_struct(rng: Random, count: int, nulls: float) -> Any:
    inner = rng.choice([0.0, 0.0, 0.4])
    members = {
        "x-trace": text(rng, count, inner, False),
        "x-count": pa.array(some(rng, count, [1, -5, 2**31, 2**62], inner), pa.int64()),
        "x-small": pa.array(some(rng, count, [1, 2, 255], inner), pa.uint8()),
        "x-flag": bits(rng, count, inner),
        "x-double": pa.array(some(rng, count, [0.5, -1e300], inner), pa.float64()),
        "x-float": pa.array(some(rng, count, [0.5], inner), pa.float32()),
        "x-when": moments(rng, count, inner),
        "x-list": pa.array(some(rng, count, [[1], []], inner), pa.list_(pa.int8())),
        "x-big": pa.array(some(rng, count, [5, 2**63 - 1], inner, [2**63]), pa.uint64()),
        "x-none": pa.nulls(count, pa.string()),
        "k" * rng.choice([1, 200]): pa.array([3] * count, pa.int16()),
    }
    names = rng.sample(list(members), rng.randrange(len(members) + 1))
    mask = pa.array([value is None for value in some(rng, count, [1], nulls)], pa.bool_())
    if not names:
        return pa.array([{}] * count, pa.struct([]))
    return pa.StructArray.from_arrays([members[n] for n in names], names=names, mask=mask)


def columns(rng: Random, count: int) -> Any:
    """Columns of messages: mostly usual, here and there odd."""

    def nulls() -> float:
        return rng.choice([0.0, 0.0, 0.0, 0.3, 1.0])

    properties = {
        "content_type": text(rng, count, nulls()),
        "headers": headers(rng, count, nulls()),
        "delivery_mode": number(rng, count, nulls(), 2),
        "priority": number(rng, count, nulls(), 255),
        "message_id": text(rng, count, nulls()),
        "timestamp": moments(rng, count, nulls()),
        "app_id": pa.nulls(count),
        "reserved": text(rng, count, nulls()),
    }
    chosen = rng.sample(list(properties), rng.randrange(1, len(properties) + 1))
    mask = pa.array([v is None for v in some(rng, count, [1], rng.choice([0, 0, 0.3]))], pa.bool_())
    arrays: dict[str, Any] = {
        "exchange": text(rng, count, nulls()),
        "routing_key": text(rng, count, nulls()),
        "mandatory": bits(rng, count, nulls()),
        "immediate": bits(rng, count, nulls()),
        "channel": number(rng, count, nulls(), 30000),
        "body": pa.array(
            some(rng, count, [b"", b"x", b"y" * 15, b"z" * 100, b"w" * 300, b"v" * 5000], nulls()),
            rng.choice([pa.binary(), pa.binary(), pa.large_binary(), pa.binary_view()]),
        ),
        "properties": pa.StructArray.from_arrays(
            [properties[name] for name in chosen], names=chosen, mask=mask
        ),
        "delivery_tag": pa.array(some(rng, count, [0], 0.9, [5]), pa.int64()),
        "error": pa.array(some(rng, count, [None], 0, ["bad"]), pa.string()),
        "headers.one": text(rng, count, nulls(), False),
        "headers.two": pa.array(some(rng, count, [1, 2**40], nulls()), pa.int64()),
        "method": pa.array(
            some(rng, count, ["basic.publish"], 0, ["basic.deliver", "basic.return", "x"])
        ),
    }
    names = rng.sample(list(arrays), rng.randrange(1, len(arrays) + 1))
    if "properties" in names and "headers" in chosen:
        names = [name for name in names if not name.startswith("headers.")]
    mask = pa.array(
        [v is None for v in some(rng, count, [1], rng.choice([0, 0, 0, 0.1]))], pa.bool_()
    )
    return pa.StructArray.from_arrays([arrays[name] for name in names], names=names, mask=mask)
