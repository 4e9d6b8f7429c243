"""AMQP 1.0 bytes by hand: compounds, performatives and frames, also with sizes that are wrong.

Written from the published facts and sharing nothing with the package, as amqp091_wire is.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

#: Constructors of compounds: size and count take one byte each, or four.
LIST8, MAP8, ARRAY8 = 0xC0, 0xC1, 0xE0
LIST32, MAP32, ARRAY32 = 0xD0, 0xD1, 0xF0
NULL = b"\x40"
EMPTY_LIST = b"\x45"
#: A uint of 0, a true.
ZERO, TRUE = b"\x43", b"\x41"
OPEN, ATTACH, TRANSFER, DISPOSITION = 0x10, 0x12, 0x14, 0x15


def compound(code: int, content: bytes, count: int = 1, *, size: int = 0) -> bytes:
    """A list, a map or an array; size: by how much its size is too large."""
    if code in (LIST8, MAP8, ARRAY8):
        return bytes([code, (len(content) + 1 + size) % 256, count % 256]) + content
    numbers = (len(content) + 4 + size) % 2**32, count % 2**32
    return bytes([code]) + struct.pack(">II", *numbers) + content


def list_of(fields: Sequence[bytes], *, wide: bool = False, size: int = 0, count: int = 0) -> bytes:
    """A list of encoded fields; size, count: by how much they are too large."""
    content = b"".join(fields)
    code = LIST32 if wide or len(content) >= 250 else LIST8
    return compound(code, content, len(fields) + count, size=size)


def composite(code: int, *fields: bytes, wide: bool = False) -> bytes:
    """A described list: a performative, a section or another composite."""
    return b"\0\x53" + bytes([code]) + list_of(fields, wide=wide)


def frame(
    body: bytes, kind: int = 0, channel: int = 1, *, doff: int = 2, extended: bytes = b""
) -> bytes:
    """A frame; kind: 1 of SASL; extended: bytes of the extended header that `doff` counts."""
    size = 8 + len(extended) + len(body)
    return struct.pack(">IBBH", size, doff, kind, channel) + extended + body


def performative(code: int, *fields: bytes, payload: bytes = b"", wide: bool = False) -> bytes:
    """A frame on channel 0 with a performative of these fields."""
    return frame(composite(code, *fields, wide=wide) + payload, channel=0)


def nested_lists(levels: int, inside: bytes = EMPTY_LIST) -> bytes:
    """Lists of one list each around a value."""
    for _ in range(levels):
        inside = compound(LIST32, inside)
    return inside


def long(number: int) -> bytes:
    return b"\x81" + struct.pack(">q", number)


def ulong(number: int) -> bytes:
    return b"\x80" + struct.pack(">Q", number)


def empty_elements(count: int, code: int = 0x40) -> bytes:
    """An array of so many elements of a constructor that needs no bytes, of nulls for example."""
    return compound(ARRAY32, bytes([code]), count)


def open_with(properties: bytes) -> bytes:
    """An open with an encoded map as its properties."""
    return performative(OPEN, b"\xa1\1c", *[NULL] * 8, properties, wide=True)


def open_of(value: bytes) -> bytes:
    """An open whose properties hold a value, which stands within four levels there."""
    return open_with(compound(MAP32, b"\xa3\1k" + value, 2))


def attach_with(count: int, code: int = 0x40) -> bytes:
    """An attach whose properties hold such an array, in about 60 bytes."""
    properties = compound(MAP32, b"\xa3\1k" + empty_elements(count, code), 2)
    fields = [b"\xa1\1n", ZERO, TRUE, *[NULL] * 10, properties]
    return performative(ATTACH, *fields, wide=True)


def disposition(state: bytes) -> bytes:
    """A disposition with these bytes as its state, a field of any type."""
    return performative(DISPOSITION, TRUE, ZERO, NULL, NULL, state, wide=True)


def transfer_of(fields: bytes, payload: bytes = b"") -> bytes:
    """A transfer whose list, with its constructor, is these bytes."""
    return frame(b"\0\x53\x14" + fields + payload, channel=0)
