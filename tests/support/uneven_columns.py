"""Arrow columns whose values have lengths of their own, and columns of one size."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.columns.batch_rows import pa

ROWS = 130  # two blocks and two rows
SIZES = [0, 1, 2, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 95, 96, 97, 254, 255]
BODIES = [0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 239, 511, 512, 513, 544, 1025]
TEXTS = ("consumer_tag", "exchange", "routing_key", "properties.content_type", "properties.app_id")


def letters(rng: Random, size: int) -> str:
    return "".join(rng.choices("abcdefghij", k=size))


def uneven(rng: Random, count: int = ROWS, sizes: list[int] = SIZES) -> dict[str, Any]:
    """Columns of a basic.deliver, texts between numbers and what all rows share."""

    def texts(of: list[int]) -> list[str]:
        return [letters(rng, rng.choice(of)) for _ in range(count)]

    columns: dict[str, Any] = {"method": ["basic.deliver"] * count}
    columns |= {name: texts(sizes) for name in TEXTS}
    columns["delivery_tag"] = pa.array([rng.getrandbits(60) for _ in range(count)], pa.int64())
    columns["redelivered"] = [rng.random() < 0.5 for _ in range(count)]
    columns["properties.priority"] = [rng.randrange(256) for _ in range(count)]
    columns["properties.type"] = ["a type that all rows have"] * count
    columns["headers.a"] = texts(sizes)
    columns["headers.n"] = pa.array([rng.getrandbits(31) for _ in range(count)], pa.int64())
    columns["headers.b"] = [text.encode() for text in texts(sizes)]
    columns["body"] = [rng.randbytes(rng.choice(BODIES)) for _ in range(count)]
    return columns


def batch_of(**columns: Any) -> Any:
    return pa.RecordBatch.from_pydict(columns)


def one(value: Any, type_: Any, rows: int = 5) -> Any:
    return batch_of(**{"headers.h": pa.array([value] * rows, type_)})


SAME_SIZE = 64 * 7


def one_size(rng: Random) -> dict[str, tuple[Any, list[Any]]]:
    """Columns with values of one size, of which some are the same in all rows: type and values."""

    def some_of(make: Any) -> list[Any]:
        one, share = make(), rng.choice((0, 0.3, 1))
        return [one if rng.random() < share else make() for _ in range(SAME_SIZE)]

    out: dict[str, tuple[Any, list[Any]]] = {}
    wide = rng.choice((16, 17, 48, 100))
    out["body"] = (pa.binary(), [rng.randbytes(wide) for _ in range(SAME_SIZE)])
    for name in ("exchange", "routing_key", "properties.app_id", "properties.type", "headers.s"):
        size = rng.choice((1, 6, 15, 16, 40, 255))
        type_ = rng.choice((pa.string(), pa.binary()))
        out[name] = (type_, some_of(lambda size=size: letters(rng, size)))
    for name, top in (
        *(("properties.priority", 255), ("properties.delivery_mode", 2), ("headers.n", 2**31 - 1)),
        *(("properties.timestamp", 2**40), ("headers.w", 2**33)),
    ):
        type_ = rng.choice((pa.int32(), pa.int64(), pa.uint64()))
        if top > 2**31:
            type_ = pa.timestamp(rng.choice(("s", "us")), "UTC")
        out[name] = (type_, some_of(lambda top=top: rng.randrange(top + 1)))
    out["mandatory"] = (pa.bool_(), [rng.random() < 0.5 for _ in range(SAME_SIZE)])
    out["immediate"] = (pa.bool_(), [rng.random() < 0.5] * SAME_SIZE)
    out["headers.d"] = (pa.float64(), some_of(rng.random))
    if rng.random() < 0.5:
        out["channel"] = (pa.int32(), [7] * SAME_SIZE)
    if rng.random() < 0.5:
        out["method"] = (pa.string(), ["basic.publish"] * SAME_SIZE)
    for name in list(out):
        if name != "body" and rng.random() < 0.3:
            del out[name]
    return out


def other(rng: Random, type_: Any, value: Any) -> Any:
    """A value that is not as the others are, if only a little."""
    if rng.random() < 0.3:
        return None
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        choices = [value ^ 1, 0, 255, 256, 2**31 - 1]
        if type_ != pa.int32():
            choices += [2**31, 2**40]
        if type_ == pa.uint64():
            choices += [2**63, 2**64 - 1, 2**64 - 2**31]
        elif type_ == pa.int64():
            choices += [-1, -(2**31), -(2**31) - 1, -(2**63)]
        elif pa.types.is_timestamp(type_):
            choices += [-1]
        return rng.choice(choices)
    if isinstance(value, float):
        return -value
    if isinstance(value, str):
        value = value.encode()
    choices = [value[:-1], value + b"x", value[:-1] + b"y", b"", value[:-1] + b"z" * 256]
    if type_ == pa.string():
        return rng.choice(choices).decode()
    return rng.choice([*choices, value[:-1] + b"\xff", value[:-2] + b"\xc3\xa9"])


def plain(**columns: Any) -> Any:
    """Rows of one size, but for what is given."""
    rng = Random(1)
    return batch_of(
        **{
            "method": ["basic.deliver"] * SAME_SIZE,
            "routing_key": [letters(rng, 12) for _ in range(SAME_SIZE)],
            "body": [rng.randbytes(32) for _ in range(SAME_SIZE)],
            **columns,
        }
    )
