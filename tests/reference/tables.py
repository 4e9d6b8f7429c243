"""Field tables in both dialects, with every tag explicit.

A tagged value is ``(tag, value)``:

====  ==========================================================================
t     the byte, 0 to 255 (0 false, anything else true)
b s I int, signed; B u i int, unsigned; U L int, signed
l     int, signed in "rabbitmq", unsigned in "0-9-1"
s     in "0-9-1": the bytes of a short string
f d   the 4 or 8 bytes (so that every NaN stays itself); see f32 and f64
D     (scale, unscaled), unscaled signed
S x   bytes
T     seconds, unsigned 64
A     list of tagged values
F     list of (key bytes, tagged value)
V     None
====  ==========================================================================
"""

from __future__ import annotations

import struct
from typing import Any

from tests.reference.errors import Malformed
from tests.reference.octets import Reader, longstr, shortstr, sint, uint

Tagged = tuple[str, Any]
Table = list[tuple[bytes, Tagged]]

DIALECTS = ("rabbitmq", "0-9-1")
TAGS = "tbBsUuIilLfdDSATFVx"
MAX_DEPTH = 128

_UNSIGNED = {"t": 1, "B": 1, "u": 2, "i": 4, "T": 8}
_SIGNED = {"b": 1, "U": 2, "I": 4, "L": 8}


def f32(value: float) -> Tagged:
    return ("f", struct.pack(">f", value))


def f64(value: float) -> Tagged:
    return ("d", struct.pack(">d", value))


def _integer(tag: str, dialect: str) -> tuple[int, bool] | None:
    """(size, signed) of an integer tag, or None for the others."""
    if tag in _UNSIGNED:
        return _UNSIGNED[tag], False
    if tag in _SIGNED:
        return _SIGNED[tag], True
    if tag == "l":
        return 8, dialect == "rabbitmq"
    if tag == "s" and dialect == "rabbitmq":
        return 2, True
    return None


def encode_value(tagged: Tagged, dialect: str = "rabbitmq") -> bytes:
    """Tag byte and value."""
    tag, value = tagged
    return tag.encode("ascii") + _payload(tag, value, dialect)


def _payload(tag: str, value: Any, dialect: str) -> bytes:
    integer = _integer(tag, dialect)
    if integer is not None:
        size, signed = integer
        return sint(value, size) if signed else uint(value, size)
    if tag == "s":
        return shortstr(value)
    if tag in "fd":
        assert len(value) == (4 if tag == "f" else 8)
        return bytes(value)
    if tag == "D":
        scale, unscaled = value
        return uint(scale, 1) + sint(unscaled, 4)
    if tag in "Sx":
        return longstr(value)
    if tag == "A":
        return longstr(b"".join(encode_value(item, dialect) for item in value))
    if tag == "F":
        return encode_table(value, dialect)
    if tag == "V":
        return b""
    raise ValueError(f"no tag {tag!r}")


def encode_table(table: Table, dialect: str = "rabbitmq") -> bytes:
    """Length word and entries."""
    return longstr(b"".join(shortstr(k) + encode_value(v, dialect) for k, v in table))


def read_table(reader: Reader, dialect: str, depth: int = 1) -> Table:
    """Read a table, its length word first. ``depth`` counts tables and arrays, this one too."""
    _check_depth(reader, depth)
    inner = reader.sub("table")
    entries: Table = []
    while inner.pos < inner.end:
        key = inner.shortstr("table key")
        entries.append((key, read_value(inner, dialect, depth)))
    return entries


def read_value(reader: Reader, dialect: str, depth: int) -> Tagged:
    """Read a tag byte and its value; ``depth`` is that of the table or array around it."""
    at = reader.pos
    octet = reader.uint(1, "tag")
    tag = chr(octet)
    if octet > 127 or tag not in TAGS:
        raise Malformed("UnknownTagError", at, f"tag 0x{octet:02x}")
    what = f"value of tag {tag}"
    integer = _integer(tag, dialect)
    value: Any
    if integer is not None:
        size, signed = integer
        value = reader.sint(size, what) if signed else reader.uint(size, what)
    elif tag == "s":
        value = reader.shortstr(what)
    elif tag in "fd":
        value = reader.take(4 if tag == "f" else 8, what)
    elif tag == "D":
        octets = reader.take(5, what)
        value = (octets[0], int.from_bytes(octets[1:], "big", signed=True))
    elif tag in "Sx":
        value = reader.longstr(what)
    elif tag == "A":
        value = _read_array(reader, dialect, depth + 1)
    elif tag == "F":
        value = read_table(reader, dialect, depth + 1)
    else:
        value = None
    return tag, value


def _read_array(reader: Reader, dialect: str, depth: int) -> list[Tagged]:
    _check_depth(reader, depth)
    inner = reader.sub("array")
    items: list[Tagged] = []
    while inner.pos < inner.end:
        items.append(read_value(inner, dialect, depth))
    return items


def _check_depth(reader: Reader, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise Malformed("DepthError", reader.pos, f"more than {MAX_DEPTH} levels")


def decode_table(octets: bytes, dialect: str = "rabbitmq") -> Table:
    """A whole table, length word included; nothing may follow."""
    reader = Reader(octets, 0, len(octets))
    table = read_table(reader, dialect)
    if reader.pos != reader.end:
        raise Malformed("TrailingError", reader.pos, "bytes behind the table")
    return table
