"""Frames of 0-9-1, 0-9 and 0-8 with a filler in a field: see tests/support/borders.py."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from random import Random
from typing import Any

from tests.reference import Header, Table, encode_frame
from tests.support.borders import Encode
from tests.support.bridge import (
    V0_8,
    V0_9,
    V0_9_1,
    Version,
    method_class,
    properties_class,
    py_name,
    typed_table,
)
from tests.support.generate import Generate

VERSIONS = (V0_9_1, V0_9, V0_8)
MOMENT = datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
#: Values that follow the filler in a table, of types that all versions have.
VALUES: dict[str, Any] = {
    "text": "t",
    "int": 5,
    "decimal": Decimal("3.14"),
    "moment": MOMENT,
    "table": {"k": {"l": "m"}},
}
#: Those that 0-9-1 has besides.
MORE_VALUES: dict[str, Any] = {
    **VALUES,
    "bytes": b"bytes",
    "array": bytearray(b"array"),
    "long": 2**40,
    "list": [1, "t", {}, [True, None]],
    "double": 1.5,
    "é" * 9: "é",
}
SHORT_VALUES: dict[str, Any] = {
    "bit": True,
    "octet": 5,
    "short": 500,
    "long": 2**20,
    "longlong": 2**40,
    "shortstr": "short",
    "longstr": b"long string",
    "timestamp": MOMENT,
    "content": b"content",
}
LONG = ("longstr", "table", "content")


def filled_table(length: int, at: Version) -> dict[str, Any]:
    """A table that begins with the filler."""
    return {"a": "f" * length, **(MORE_VALUES if at is V0_9_1 else VALUES)}


def field_value(wire_type: str, length: int, at: Version) -> Any:
    """A value of a wire type, with the filler where there is one."""
    if wire_type == "table":
        return filled_table(length, at)
    return b"f" * length if wire_type in LONG and length else SHORT_VALUES[wire_type]


def fields(types: Any, filled: str, length: int, at: Version) -> dict[str, Any]:
    """Values of all fields of a method or property list."""
    return {
        py_name(name, at): field_value(wire_type, length * (name == filled), at)
        for name, wire_type in types
    }


def encode_method(
    encode: Callable[..., bytes], at: Version, name: str, filled: str, length: int
) -> bytes:
    """A method with the filler in a field."""
    values = fields(at.facts.methods[name].fields, filled, length, at)
    return encode(7, method_class(name, at)(**values))


def encode_header(
    encode: Callable[..., bytes], at: Version, class_id: int, filled: str, length: int
) -> bytes:
    """A content header with all properties."""
    values = fields(at.facts.properties[class_id], filled, length, at)
    return encode(7, at.amqp.Header(5, properties_class(class_id, at)(**values), class_id=class_id))


def publish(encode: Callable[..., Any], at: Version, length: int) -> bytes:
    """The frames of a message, whose body no buffer holds."""
    properties = fields(at.facts.properties[60], "headers", length, at)
    method = at.amqp.Basic.Publish(exchange="e", routing_key="k" * 200)
    frames = encode(7, method, properties_class(60, at)(**properties), b"body" * 20, 0)
    return b"".join(frames) if isinstance(frames, list) else bytes(frames)


def general_path(at: Version, length: int) -> bytes:
    """A content header whose table is no exact dict, so that the generated writers leave it."""
    values = fields(at.facts.properties[60], "headers", length, at)
    values["headers"] = OrderedDict(values["headers"])
    return bytes(at.amqp.encode(7, at.amqp.Header(5, properties_class(60, at)(**values))))


def encode_into(at: Version, channel: int, frame: Any) -> bytes:
    """Encoded into memory of the caller's."""
    memory = bytearray(20_000)
    return bytes(memory[: at.amqp.encode_into(memory, 0, channel, frame)])


def tagged(dialect: str, seed: int, length: int) -> bytes:
    """A value of each tag in a random order, after the filler."""
    table: Table = Generate(Random(seed), dialect, faithful=True).every_tag(1)
    values = {"a": "f" * length, **typed_table(table, dialect)}
    header = V0_9_1.amqp.Header(5, V0_9_1.amqp.Basic.Properties(headers=values))
    return V0_9_1.amqp.encode(7, header, dialect=dialect)


def unusual(length: int) -> bytes:
    """A header in another than the canonical form, read and written again as it came."""
    headers: Table = [(b"a", ("S", b"f" * length)), (b"b", ("t", 1)), (b"b", ("I", 5))]
    raw = encode_frame(7, Header(5, {"headers": headers, "message-id": b"id"}))
    _, channel, header = V0_9_1.amqp.decode(raw)
    assert header.properties.message_id == "id"
    assert V0_9_1.amqp.encode(channel, header) == raw
    return raw


def cases() -> Iterator[tuple[str, Encode]]:
    """Names and encodings."""
    for at in VERSIONS:
        for name, fact in at.facts.methods.items():
            for field, wire_type in fact.fields:
                if wire_type in LONG:
                    write = partial(encode_method, at.amqp.encode, at, name, field)
                    yield f"{at.name}-{name}.{field}", write
        for class_id, properties in at.facts.properties.items():
            for field, wire_type in properties:
                if wire_type in LONG:
                    write = partial(encode_header, at.amqp.encode, at, class_id, field)
                    yield f"{at.name}-{class_id}.{field}", write
        into = partial(encode_into, at)
        yield f"{at.name}-into", partial(encode_header, into, at, 60, "headers")
        yield f"{at.name}-general", partial(general_path, at)
        for encode in (at.amqp.encode_message, at.amqp.encode_parts):
            yield f"{at.name}-{encode.__name__}", partial(publish, encode, at)
    for dialect in ("rabbitmq", "0-9-1"):
        for seed in range(4):
            yield f"{dialect}-tags-{seed}", partial(tagged, dialect, seed)
    yield "unusual", unusual


CASES = dict(cases())
