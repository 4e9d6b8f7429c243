"""A slow, plain writer and reader of AMQP 0-9-1 bytes for the workloads of this bench.

It shares nothing with amqpcodec nor with a peer, so that the bytes measured are the same for
all of them and one misread specification cannot agree with itself. Spec: 0-9-1 section 4.2.
"""

import struct
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

Table = dict[str, Any]

FRAME_METHOD, FRAME_HEADER, FRAME_BODY, FRAME_END = 1, 2, 3, 0xCE
BASIC = 60

# name -> (class id, method id, ((argument, type), ...)); the first short of publish is reserved
METHODS: dict[str, tuple[int, int, tuple[tuple[str, str], ...]]] = {
    "basic.publish": (
        BASIC,
        40,
        (
            ("reserved_1", "short"),
            ("exchange", "shortstr"),
            ("routing_key", "shortstr"),
            ("mandatory", "bit"),
            ("immediate", "bit"),
        ),
    ),
    "basic.deliver": (
        BASIC,
        60,
        (
            ("consumer_tag", "shortstr"),
            ("delivery_tag", "longlong"),
            ("redelivered", "bit"),
            ("exchange", "shortstr"),
            ("routing_key", "shortstr"),
        ),
    ),
    "basic.ack": (BASIC, 80, (("delivery_tag", "longlong"), ("multiple", "bit"))),
}
METHOD_NAMES = {(entry[0], entry[1]): name for name, entry in METHODS.items()}

PROPERTIES: tuple[tuple[str, str], ...] = (
    ("content_type", "shortstr"),
    ("content_encoding", "shortstr"),
    ("headers", "table"),
    ("delivery_mode", "octet"),
    ("priority", "octet"),
    ("correlation_id", "shortstr"),
    ("reply_to", "shortstr"),
    ("expiration", "shortstr"),
    ("message_id", "shortstr"),
    ("timestamp", "timestamp"),
    ("type", "shortstr"),
    ("user_id", "shortstr"),
    ("app_id", "shortstr"),
    ("reserved", "shortstr"),
)


def arguments(method: str) -> tuple[str, ...]:
    """The arguments of a method that carry information, in wire order."""
    return tuple(name for name, _ in METHODS[method][2] if not name.startswith("reserved"))


# ---------------------------------------------------------------- writing


def _shortstr(text: str) -> bytes:
    raw = text.encode()
    return bytes((len(raw),)) + raw


def _long(raw: bytes) -> bytes:
    return struct.pack(">I", len(raw)) + raw


def _item(value: Any) -> bytes:
    match value:
        case bool():
            return b"t" + bytes((value,))
        case int():
            small = -(2**31) <= value < 2**31
            return struct.pack(">ci", b"I", value) if small else struct.pack(">cq", b"l", value)
        case float():
            return struct.pack(">cd", b"d", value)
        case str():
            return b"S" + _long(value.encode())
        case Decimal():
            exponent = value.as_tuple().exponent
            assert isinstance(exponent, int)
            return struct.pack(">cBi", b"D", -exponent, int(value.scaleb(-exponent)))
        case datetime():
            return b"T" + struct.pack(">Q", int(value.timestamp()))
        case dict():
            return b"F" + table(value)
        case list():
            return b"A" + _long(b"".join(map(_item, value)))
        case None:
            return b"V"
    raise TypeError(type(value))


def table(value: Table) -> bytes:
    """A field table, length included, with RabbitMQ's tags."""
    return _long(b"".join(_shortstr(key) + _item(item) for key, item in value.items()))


def _field(kind: str, value: Any) -> bytes:
    match kind:
        case "shortstr":
            return _shortstr(value)
        case "table":
            return table(value)
        case "octet":
            return bytes((value,))
        case "short":
            return struct.pack(">H", value)
        case "longlong":
            return struct.pack(">Q", value)
        case "timestamp":
            return struct.pack(">Q", int(value.timestamp()))
    raise TypeError(kind)


def frame(kind: int, channel: int, payload: bytes) -> bytes:
    """One frame with its envelope of 8 bytes."""
    return struct.pack(">BHI", kind, channel, len(payload)) + payload + bytes((FRAME_END,))


def method_frame(channel: int, method: str, values: dict[str, Any]) -> bytes:
    """A method frame; the bits of a method are adjacent in every method used here."""
    class_id, method_id, fields = METHODS[method]
    payload = struct.pack(">HH", class_id, method_id)
    bits = None
    for name, kind in fields:
        if kind == "bit":
            shift, byte = (0, 0) if bits is None else bits
            bits = (shift + 1, byte | bool(values[name]) << shift)
        else:
            if bits is not None:
                payload, bits = payload + bytes((bits[1],)), None
            payload += _field(kind, values.get(name, 0))
    if bits is not None:
        payload += bytes((bits[1],))
    return frame(FRAME_METHOD, channel, payload)


def header_frame(channel: int, body_size: int, properties: dict[str, Any]) -> bytes:
    """The content header of class basic."""
    flags, fields = 0, b""
    for index, (name, kind) in enumerate(PROPERTIES):
        if name in properties:
            flags |= 0x8000 >> index
            fields += _field(kind, properties[name])
    return frame(FRAME_HEADER, channel, struct.pack(">HHQH", BASIC, 0, body_size, flags) + fields)


# ---------------------------------------------------------------- reading


class _Cursor:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        if count > len(self.data) - self.at:
            raise ValueError(f"{count} bytes wanted at {self.at} of {len(self.data)}")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, layout: str) -> Any:
        (value,) = struct.unpack(">" + layout, self.take(struct.calcsize(">" + layout)))
        return value

    def shortstr(self) -> str:
        return self.take(self.number("B")).decode()

    def remaining_items(self) -> Iterator[None]:
        while self.at < len(self.data):
            yield


_NUMBERS = {
    "b": "b",
    "B": "B",
    "s": "h",
    "u": "H",
    "I": "i",
    "i": "I",
    "l": "q",
    "L": "q",
    "f": "f",
    "d": "d",
}


def _read_item(cursor: _Cursor) -> Any:
    tag = chr(cursor.number("B"))
    if tag in _NUMBERS:
        return cursor.number(_NUMBERS[tag])
    match tag:
        case "t":
            return bool(cursor.number("B"))
        case "S":
            return cursor.take(cursor.number("I")).decode()
        case "D":
            scale = cursor.number("B")
            return Decimal(cursor.number("i")).scaleb(-scale)
        case "T":
            return datetime.fromtimestamp(cursor.number("Q"), UTC)
        case "F":
            return _read_table(cursor)
        case "A":
            inner = _Cursor(cursor.take(cursor.number("I")))
            return [_read_item(inner) for _ in inner.remaining_items()]
        case "V":
            return None
    raise ValueError(f"unknown tag {tag!r}")


def _read_table(cursor: _Cursor) -> Table:
    inner = _Cursor(cursor.take(cursor.number("I")))
    return {inner.shortstr(): _read_item(inner) for _ in inner.remaining_items()}


def _read_field(kind: str, cursor: _Cursor) -> Any:
    match kind:
        case "shortstr":
            return cursor.shortstr()
        case "table":
            return _read_table(cursor)
        case "timestamp":
            return datetime.fromtimestamp(cursor.number("Q"), UTC)
    return cursor.number({"octet": "B", "short": "H", "longlong": "Q"}[kind])


def _read_method(payload: bytes) -> tuple[str, dict[str, Any]]:
    cursor = _Cursor(payload)
    name = METHOD_NAMES[cursor.number("H"), cursor.number("H")]
    values: dict[str, Any] = {}
    bits: tuple[int, int] | None = None
    for field, kind in METHODS[name][2]:
        if kind == "bit":
            shift, byte = (0, cursor.number("B")) if bits is None else bits
            values[field] = bool(byte >> shift & 1)
            bits = (shift + 1, byte)
        else:
            bits = None
            values[field] = _read_field(kind, cursor)
    return name, {field: values[field] for field in arguments(name)}


def _read_header(payload: bytes) -> tuple[int, dict[str, Any]]:
    cursor = _Cursor(payload)
    if (cursor.number("H"), cursor.number("H")) != (BASIC, 0):
        raise ValueError("not a content header of class basic")
    body_size, flags = cursor.number("Q"), cursor.number("H")
    properties = {
        name: _read_field(kind, cursor)
        for index, (name, kind) in enumerate(PROPERTIES)
        if flags & 0x8000 >> index
    }
    return body_size, properties


def read_frames(data: bytes) -> list[tuple[Any, ...]]:
    """("method", channel, name, arguments), ("header", channel, size, properties) or a body."""
    cursor = _Cursor(data)
    frames: list[tuple[Any, ...]] = []
    for _ in cursor.remaining_items():
        kind, channel = cursor.number("B"), cursor.number("H")
        payload = cursor.take(cursor.number("I"))
        if cursor.number("B") != FRAME_END:
            raise ValueError(f"no frame end at {cursor.at - 1}")
        match kind:
            case 1:
                frames.append(("method", channel, *_read_method(payload)))
            case 2:
                frames.append(("header", channel, *_read_header(payload)))
            case 3:
                frames.append(("body", channel, payload))
            case _:
                raise ValueError(f"unknown frame type {kind}")
    return frames
