"""A slow reader of Variants, strict in all that the encoding leaves to the writer to do well.

Made from the specification of the encoding alone (apache/parquet-format, VariantEncoding.md).
"""

from __future__ import annotations

import base64
import json
import math
import struct
from decimal import Decimal
from itertools import pairwise
from typing import Any


def least(number: int) -> int:
    """Bytes that an unsigned number takes, 1 to 4."""
    return next(width for width in (1, 2, 3, 4) if number < 1 << 8 * width)


class Octets:
    """What is read, from front to back."""

    def __init__(self, octets: bytes) -> None:
        self.octets = octets
        self.at = 0

    def take(self, n: int) -> bytes:
        assert len(self.octets) - self.at >= n, "it ends too early"
        self.at += n
        return self.octets[self.at - n : self.at]

    def number(self, width: int, signed: bool = False) -> int:
        return int.from_bytes(self.take(width), "little", signed=signed)


def names(metadata: bytes) -> list[str]:
    """The dictionary of keys."""
    octets = Octets(metadata)
    head = octets.number(1)
    assert head & 15 == 1, "version"
    assert head & 16, "sorted"
    assert not head & 32
    width = (head >> 6) + 1
    count = octets.number(width)
    offsets = [octets.number(width) for _ in range(count + 1)]
    text = octets.octets[octets.at :]
    assert offsets[0] == 0
    assert offsets[-1] == len(text)
    assert width == least(max(count, len(text))), "offsets as narrow as they can be"
    keys = [text[a:b] for a, b in pairwise(offsets)]
    assert keys == sorted(set(keys)), "sorted, each once"
    return [key.decode() for key in keys]


def read(value: bytes, metadata: bytes) -> Any:
    """A Variant as what json.loads gives of the JSON text of the same table."""
    keys = names(metadata)
    used: set[int] = set()
    octets = Octets(value)
    result = _read(octets, keys, used)
    assert octets.at == len(value), "bytes that belong to nothing"
    assert used == set(range(len(keys))), "keys that belong to nothing"
    return result


def _read(octets: Octets, keys: list[str], used: set[int]) -> Any:
    head = octets.number(1)
    basic, more = head & 3, head >> 2
    if basic == 1:
        return octets.take(more).decode()
    if basic:
        return _read_many(octets, basic == 2, more, keys, used)
    return _SCALARS[more](octets)


def _read_many(octets: Octets, is_object: bool, more: int, keys: list[str], used: set[int]) -> Any:
    width = (more & 3) + 1
    id_width = (more >> 2 & 3) + 1
    large = more >> 4 if is_object else more >> 2
    assert large < 2
    count = octets.number(4 if large else 1)
    assert large == (count > 255)
    ids = [octets.number(id_width) for _ in range(count)] if is_object else []
    offsets = [octets.number(width) for _ in range(count + 1)]
    start = octets.at
    assert width == least(offsets[-1])
    if not is_object:
        assert offsets == sorted(offsets)
    values = {}
    for offset in sorted(offsets[:-1]):
        assert octets.at == start + offset, "values follow one another"
        values[offset] = _read(octets, keys, used)
    assert octets.at == start + offsets[-1]
    if not is_object:
        return [values[offset] for offset in offsets[:-1]]
    assert id_width == least(max(len(keys) - 1, 0))
    used.update(ids)
    here = [keys[number] for number in ids]
    # Both orders: that of the encoding, and that of Spark.
    assert here == sorted(set(here), key=str.encode)
    assert here == sorted(here, key=lambda key: key.encode("utf-16-be"))
    return {key: values[offset] for key, offset in zip(here, offsets[:-1], strict=True)}


def _integer(width: int) -> Any:
    def read(octets: Octets) -> int:
        number = octets.number(width, signed=True)
        half = 1 << 4 * width - 1
        assert width == 1 or not -half <= number < half, "in the least bytes"
        return number

    return read


def _decimal(width: int, digits: int) -> Any:
    def read(octets: Octets) -> Any:
        scale = octets.number(1)
        unscaled = octets.number(width, signed=True)
        assert scale <= digits
        assert abs(unscaled) < 10**digits
        smaller = {8: 9, 16: 18}.get(width)
        assert smaller is None or scale > smaller or abs(unscaled) >= 10**smaller
        if unscaled >= 1 << 63 and scale == 0:
            return unscaled  # a number that int64 does not reach
        places = tuple(map(int, str(abs(unscaled))))
        return {"$decimal": f"{Decimal((unscaled < 0, places, -scale)):f}"}

    return read


def _float(form: str) -> Any:
    def read(octets: Octets) -> Any:
        (number,) = struct.unpack(form, octets.take(struct.calcsize(form)))
        if math.isnan(number):
            return {"$double": "NaN"}
        if math.isinf(number):
            return {"$double": "Infinity" if number > 0 else "-Infinity"}
        return number

    return read


def _timestamp(octets: Octets) -> Any:
    microseconds = octets.number(8, signed=True)
    return (
        {"$timestamp_us": microseconds}
        if microseconds % 1_000_000
        else {"$timestamp": microseconds // 1_000_000}
    )


def _binary(octets: Octets) -> Any:
    return {"$binary": base64.b64encode(octets.take(octets.number(4))).decode()}


def _string(octets: Octets) -> str:
    size = octets.number(4)
    assert size > 63
    return octets.take(size).decode()


_SCALARS = {
    0: lambda octets: None,
    1: lambda octets: True,
    2: lambda octets: False,
    3: _integer(1),
    4: _integer(2),
    5: _integer(4),
    6: _integer(8),
    7: _float("<d"),
    8: _decimal(4, 9),
    9: _decimal(8, 18),
    10: _decimal(16, 38),
    12: _timestamp,
    14: _float("<f"),
    15: _binary,
    16: _string,
}


def same(value: Any, text: str) -> bool:
    """Whether what was read is what JSON text says; 1 and 1.0 and True are three things."""
    return repr(_ordered(value)) == repr(_ordered(json.loads(text)))


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_ordered(element) for element in value]
    return value
