"""Frames of AMQP 0-9-1, 0-9 and 0-8: method, content header, body, heartbeat, protocol header."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.reference.errors import Malformed
from tests.reference.facts import FACTS, Facts, MethodFact
from tests.reference.octets import Reader, longstr, shortstr, uint
from tests.reference.tables import encode_table, read_table

FRAME_END = 0xCE
_HEAD = ((0, 2), (2, 4), (4, 12))  # class id, weight, body size
_SIZES = {"octet": 1, "short": 2, "long": 4, "longlong": 8, "timestamp": 8}


@dataclass(frozen=True)
class Method:
    """A method by its spec name. ``bit_octets``: the raw byte of each run of bits, if it came
    from the wire, because a run may set bits that belong to no field."""

    name: str
    args: dict[str, Any] = field(default_factory=dict)
    bit_octets: tuple[int, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Header:
    """A content header. ``flags``: its flag words if it came from the wire (an empty continuation
    word says nothing, so two spellings of the same properties exist)."""

    body_size: int
    properties: dict[str, Any] = field(default_factory=dict)
    class_id: int = 60
    weight: int = 0
    flags: tuple[int, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Body:
    payload: bytes


@dataclass(frozen=True)
class Heartbeat:
    pass


@dataclass(frozen=True)
class ProtocolHeader:
    protocol_id: int
    major: int
    minor: int
    revision: int


Frame = Method | Header | Body | Heartbeat | ProtocolHeader


# ---- encode ------------------------------------------------------------------------------------


def encode_frame(
    channel: int, frame: Frame, dialect: str = "rabbitmq", facts: Facts = FACTS
) -> bytes:
    """All bytes of a frame."""
    if isinstance(frame, ProtocolHeader):
        return b"AMQP" + bytes((frame.protocol_id, frame.major, frame.minor, frame.revision))
    if isinstance(frame, Method):
        kind, payload = 1, _encode_method(facts, frame, dialect)
    elif isinstance(frame, Header):
        kind, payload = 2, _encode_header(facts, frame, dialect)
    elif isinstance(frame, Body):
        kind, payload = 3, frame.payload
    else:
        kind, payload = 8, b""
    return uint(kind, 1) + uint(channel, 2) + uint(len(payload), 4) + payload + bytes([FRAME_END])


def _encode_field(wire_type: str, value: Any, dialect: str) -> bytes:
    if wire_type in _SIZES:
        return uint(value, _SIZES[wire_type])
    if wire_type == "shortstr":
        return shortstr(value)
    if wire_type == "longstr":
        return longstr(value)
    if wire_type == "content":  # (0 for inline or 1 for a reference, bytes)
        return uint(value[0], 1) + longstr(value[1])
    assert wire_type == "table", wire_type
    return encode_table(value, dialect)


def _encode_method(facts: Facts, method: Method, dialect: str) -> bytes:
    fact = facts.methods[method.name]
    assert set(method.args) == {name for name, _ in fact.fields}, method
    out = uint(fact.class_id, 2) + uint(fact.method_id, 2)
    spare = list(method.bit_octets)
    for run in _runs(fact):
        if run[0][1] != "bit":
            name, wire_type = run[0]
            out += _encode_field(wire_type, method.args[name], dialect)
            continue
        octet = spare.pop(0) >> len(run) << len(run) if spare else 0
        for place, (name, _) in enumerate(run):
            octet |= method.args[name] << place
        out += uint(octet, 1)
    return out


def _runs(fact: MethodFact) -> Iterator[list[tuple[str, str]]]:
    """Fields one by one, but neighbouring bits (up to eight) together: they share an byte."""
    run: list[tuple[str, str]] = []
    for one in fact.fields:
        if run and (one[1] != "bit" or len(run) == 8):
            yield run
            run = []
        if one[1] == "bit":
            run.append(one)
        else:
            yield [one]
    if run:
        yield run


def _encode_header(facts: Facts, header: Header, dialect: str) -> bytes:
    properties_of_class = facts.properties[header.class_id]
    word, values = 0, b""
    for index, (name, wire_type) in enumerate(properties_of_class):
        if name in header.properties:
            word |= 1 << (15 - index)
            values += _encode_field(wire_type, header.properties[name], dialect)
    assert set(header.properties) <= {name for name, _ in properties_of_class}, header
    words = header.flags or (word,)
    assert words[0] & 0xFFFC == word
    return (
        uint(header.class_id, 2)
        + uint(header.weight, 2)
        + uint(header.body_size, 8)
        + b"".join(uint(w, 2) for w in words)
        + values
    )


# ---- decode ------------------------------------------------------------------------------------


def decode_frame(
    data: bytes, offset: int = 0, dialect: str = "rabbitmq", facts: Facts = FACTS
) -> tuple[int, int, Frame] | None:
    """(bytes used, channel, frame), or None while the frame is incomplete.

    Raises Malformed. The end byte is looked at before the payload: a frame that is not framed
    says nothing.
    """
    available = len(data) - offset
    if available == 0:
        return None
    head = data[offset : offset + 4]
    if b"AMQP".startswith(head):
        if available < 8:
            return None
        return 8, 0, ProtocolHeader(*data[offset + 4 : offset + 8])
    if available < 7:
        return None
    kind = data[offset]
    channel = int.from_bytes(data[offset + 1 : offset + 3], "big")
    size = int.from_bytes(data[offset + 3 : offset + 7], "big")
    if available < size + 8:
        return None
    end = offset + 7 + size
    if data[end] != FRAME_END:
        raise Malformed("FrameEndError", end, f"0x{data[end]:02x} where 0xce belongs")
    reader = Reader(data, offset + 7, end)
    return size + 8, channel, _decode_payload(kind, channel, reader, dialect, facts)


def decode_stream(data: bytes, dialect: str = "rabbitmq") -> Iterator[tuple[int, Frame]]:
    """Every frame of consecutive bytes; what is incomplete at the end is an error of the test."""
    offset = 0
    while offset < len(data):
        got = decode_frame(data, offset, dialect)
        assert got is not None, f"incomplete frame at {offset}"
        offset += got[0]
        yield got[1], got[2]


def _decode_payload(kind: int, channel: int, reader: Reader, dialect: str, facts: Facts) -> Frame:
    if kind == 1:
        return _decode_method(facts, reader, dialect)
    if kind == 2:
        return _decode_header(facts, reader, dialect)
    if kind == 3:
        return Body(reader.take(reader.end - reader.pos, "body"))
    start = reader.pos - 7
    if kind != 8:
        raise Malformed("FrameTypeError", start, f"frame type {kind}")
    if channel != 0 or reader.pos != reader.end:
        raise Malformed("HeartbeatError", start, "a heartbeat is empty and on channel 0")
    return Heartbeat()


def _decode_field(wire_type: str, reader: Reader, dialect: str) -> Any:
    if wire_type in _SIZES:
        return reader.uint(_SIZES[wire_type], wire_type)
    if wire_type == "shortstr":
        return reader.shortstr()
    if wire_type == "longstr":
        return reader.longstr()
    if wire_type == "content":
        at = reader.pos
        kind = reader.uint(1, "content")
        if kind > 1:
            raise Malformed("UnknownTagError", at, f"content of kind {kind}")
        return kind, reader.longstr()
    assert wire_type == "table", wire_type
    return read_table(reader, dialect)


def _decode_method(facts: Facts, reader: Reader, dialect: str) -> Method:
    at = reader.pos
    octets = reader.take(4, "class and method id")
    ids = int.from_bytes(octets[:2], "big"), int.from_bytes(octets[2:], "big")
    fact = facts.by_id.get(ids)
    if fact is None:
        raise Malformed("UnknownMethodError", at, f"class {ids[0]}, method {ids[1]}")
    args: dict[str, Any] = {}
    bit_octets: list[int] = []
    name: str | None = None
    try:
        for run in _runs(fact):
            name, wire_type = run[0]
            if wire_type != "bit":
                args[name] = _decode_field(wire_type, reader, dialect)
                continue
            octet = reader.uint(1, "bit")
            bit_octets.append(octet)
            for place, (bit_name, _) in enumerate(run):
                args[bit_name] = octet >> place & 1
        name = None
        _end(reader)
    except Malformed as error:
        error.method, error.field = fact.name, name
        raise
    return Method(fact.name, args, tuple(bit_octets))


def _decode_header(facts: Facts, reader: Reader, dialect: str) -> Header:
    at = reader.pos
    octets = reader.take(12, "content header")
    class_id, weight, body_size = (int.from_bytes(octets[a:b], "big") for a, b in _HEAD)
    if class_id not in facts.properties:
        raise Malformed("HeaderError", at, f"class {class_id} has no content")
    words = [reader.uint(2, "property flags")]
    while words[-1] & 1:
        words.append(reader.uint(2, "property flags"))
    properties_of_class = facts.properties[class_id]
    properties: dict[str, Any] = {}
    # Fifteen properties a word, from bit 15 down; bit 0 says that another word follows. The flags
    # that belong to no property are ignored, as RabbitMQ does: what they announce is left over.
    for index, (name, wire_type) in enumerate(properties_of_class):
        if not words[index // 15] >> (15 - index % 15) & 1:
            continue
        try:
            properties[name] = _decode_field(wire_type, reader, dialect)
        except Malformed as error:
            error.field = name
            raise
    _end(reader)
    return Header(body_size, properties, class_id, weight, tuple(words))


def _end(reader: Reader) -> None:
    if reader.pos != reader.end:
        raise Malformed("TrailingError", reader.pos, f"{reader.end - reader.pos} bytes left over")
