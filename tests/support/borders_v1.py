"""Values, frames and messages of 1.0 with a filler in front: see tests/support/borders.py."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from random import Random
from typing import Any

from amqpcodec import v1_0 as amqp
from tests.support import v1_gen
from tests.support.borders import FILLER, Encode

S = amqp.Symbol
VALUES: list[Any] = [
    *("", "t", "t" * 260, b"", b"bytes", b"b" * 260, S("symbol"), amqp.Char("é"), True, None),
    *(0, -1, 127, 128, 2**40, 1.5, Decimal("1.5"), uuid.UUID(int=7)),
    *(amqp.ULong(0), amqp.ULong(5), amqp.ULong(2**63), amqp.UInt(0), amqp.UInt(5)),
    amqp.UInt(2**31),
    *(amqp.UByte(5), amqp.UShort(5), amqp.Byte(-5), amqp.Short(-5), amqp.Int(5), amqp.Int(2**20)),
    *(amqp.Float(1.5), amqp.Decimal32(1), amqp.Decimal64(1), amqp.Timestamp(2**40)),
    datetime(2024, 1, 2, tzinfo=UTC),
    *([], [1, "t", [None, {}]], [5] * 300, {}, {"k": 5, "l": {"m": [1]}}),
    *(amqp.Map([(1, "a"), (b"k", None)]), amqp.Described(S("d"), 1), amqp.Described(2**33, [1])),
    *(amqp.Array("symbol", [S("a"), S("b")]), amqp.Array("long", [1, 2, 2**40])),
    amqp.Array("list", [[1, "t"], []]),
]  # fmt: skip
STRING, SYMBOL, BINARY, MAP = 19, 20, 18, 22
#: Fields that can hold a filler, by their types.
FILLERS: dict[int, Any] = {
    STRING: lambda length: "f" * length,
    SYMBOL: lambda length: S("f" * length),
    BINARY: lambda length: b"f" * length,
    MAP: lambda length: {S("a"): "f" * length, S("k"): [1, "t", {"k": 5}]},
}


def in_list(value: Any, length: int) -> bytes:
    """A value after the filler in a list."""
    return amqp.encode_value(["f" * length, value, "end"])


def in_map(value: Any, length: int) -> bytes:
    """A value after the filler in a map, as an annotation has it."""
    return amqp.Message(message_annotations={S("a"): "f" * length, S("k"): value}).encode()


def in_array(length: int) -> bytes:
    """An array whose first element is the filler."""
    return amqp.encode_value(amqp.Array("string", ["f" * length, "t" * 300, ""]))


def described(cls: Any, values: dict[str, Any], entry: tuple[Any, ...], length: int) -> Any:
    """A described type with the filler in a field."""
    name, wire_type, flags, *_ = entry
    filler = FILLERS[wire_type](length)
    return cls(**{**values, name: [filler, S("b")] if flags & v1_gen.MULTIPLE else filler})


def as_value(cls: Any, values: dict[str, Any], entry: tuple[Any, ...], length: int) -> bytes:
    """A described type as a value."""
    return amqp.encode_value([described(cls, values, entry, length), 5])


def as_frame(cls: Any, values: dict[str, Any], entry: tuple[Any, ...], length: int) -> bytes:
    """A performative as a frame; a transfer has a payload."""
    performative = described(cls, values, entry, length)
    return amqp.encode(7, performative, b"payload" * 20 if cls is amqp.Transfer else b"")


def payload(length: int) -> bytes:
    """A frame with the filler as its payload."""
    return amqp.encode(7, amqp.Transfer(handle=1, delivery_tag=b"tag"), b"f" * length)


def sections(filled: int, length: int) -> dict[str, Any]:
    """All sections, the filler in one of them."""
    texts = ["t"] * 6
    texts[filled] = "f" * length
    return {
        "header": amqp.Header(durable=True, priority=4, ttl=2**20, delivery_count=5),
        "delivery_annotations": {S("a"): texts[0], S("k"): 2**40},
        "message_annotations": {S("a"): texts[1], S("k"): uuid.UUID(int=7)},
        "properties": amqp.Properties(
            message_id=amqp.ULong(5), user_id=b"u", to=texts[2], subject="s", group_sequence=5
        ),
        "application_properties": {"a": texts[3], "k": 1.5, "l": True},
        "data": [texts[4].encode(), b"more"],
        "footer": {S("a"): texts[5], S("k"): Decimal("1.5")},
    }


def message(filled: int, length: int) -> bytes:
    """A message that was made."""
    return amqp.Message(**sections(filled, length)).encode()


def changed(filled: int, length: int) -> bytes:
    """A message that was read, all its sections were looked at, and one was replaced."""
    came = amqp.Message.decode(amqp.Message(**sections(filled, length)).encode())
    for name in sections(filled, length):
        assert getattr(came, name) is not None
    came.header = amqp.Header(durable=False, priority=9)
    return came.encode()


def sequence(length: int) -> bytes:
    """A message with sequences as its body."""
    return amqp.Message(sequences=[["f" * length, 5], [1, "t"], []]).encode()


def delivery(length: int) -> bytes:
    """A message as one transfer."""
    first = amqp.Transfer(handle=1, delivery_id=5, delivery_tag=b"tag")
    return amqp.encode_message(7, first, amqp.Message(**sections(1, length)), 0)


def unusual(length: int) -> bytes:
    """A performative in another than the canonical form, read and written again as it came."""
    fields = b"\xb1\0\0\0\1c\xb1" + length.to_bytes(4) + FILLER * length + b"\x70\0\0\2\0\x60\0\5"
    items = (4).to_bytes(4) + fields
    body = b"\0\x53\x10\xd0" + len(items).to_bytes(4) + items
    raw = (8 + len(body)).to_bytes(4) + b"\2\0\0\7" + body
    _, channel, opened = amqp.decode(raw)
    assert (opened.container_id, opened.channel_max) == ("c", 5)
    assert amqp.encode(channel, opened) == raw
    return raw


def cases() -> Iterator[tuple[str, Encode]]:
    """Names and encodings."""
    for number, value in enumerate(VALUES):
        yield f"list-{number}", partial(in_list, value)
        yield f"map-{number}", partial(in_map, value)
    yield "array", in_array
    for name, spec in v1_gen.TYPES.items():
        if [entry[0] for entry in spec["fields"]] in ([], ["value"]):
            continue  # a section of one value: message() has it
        composite = v1_gen.composite(Random(5), name)
        for entry in spec["fields"]:
            field, wire_type, _, _, choices, *_ = entry
            if wire_type not in FILLERS or choices is not None:
                continue
            cls = getattr(amqp, spec["python"])
            values = {
                other: getattr(composite, other) for other in cls.FIELDS if composite.is_set(other)
            }
            yield f"value-{name}.{field}", partial(as_value, cls, values, entry)
            if name in v1_gen.PERFORMATIVES:
                yield f"frame-{name}.{field}", partial(as_frame, cls, values, entry)
    yield "payload", payload
    for number in range(6):
        yield f"message-{number}", partial(message, number)
        yield f"changed-{number}", partial(changed, number)
    yield "sequence", sequence
    yield "delivery", delivery
    yield "unusual", unusual


CASES = dict(cases())
