"""What each drop-in writes, with a filler that moves it to the end of its buffer.

A writer's buffer begins on the stack, with one of the first `CAPACITIES`, and doubles when it is
full. A store without a reservation does harm only where the buffer ends between what was reserved
and what was stored, so a filler before the value takes every length near each capacity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from tests.dropins.stock import V1_MODULES, Side
from tests.dropins_v1.use_azure import performatives

#: Initial capacities, and what they grow to.
CAPACITIES = (256, 512, 1024, 2048, 4096, 8192, 16384)
#: More than the bytes of a case that stand before and after its filler.
REACH = 130

VALUES: list[Any] = [
    *("", "t", "text of some length", b"", b"bytes", bytearray(b"array")),
    *(0, -1, 127, 255, 32767, 65535, 2**31 - 1, 2**31, 2**40, -(2**63)),
    *(True, False, None, 1.5, Decimal("3.14"), datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)),
    *({}, [], {"k": 5}, {"k": {"l": "m"}}, [1, "t", {}]),
]
V1_VALUES: list[Any] = [
    *("", "text", "t" * 300, b"", b"bytes", b"b" * 300, 0, 5, -1, 255, True, None),
    *(1.5, UUID(int=7), datetime(2024, 1, 2, tzinfo=UTC), [], [1, "t"], {}, {"k": 5}),
    *({"TYPE": kind, "VALUE": 5} for kind in ("UBYTE", "USHORT", "UINT", "ULONG", "BYTE", "INT")),
    *({"TYPE": kind, "VALUE": 1} for kind in ("SHORT", "LONG", "FLOAT", "DOUBLE")),
    *({"TYPE": "ULONG", "VALUE": value} for value in (0, 2**40)),
    *({"TYPE": "ARRAY", "VALUE": [{"TYPE": "UUID", "VALUE": UUID(int=n)}] * n} for n in (1, 20)),
    {"TYPE": "SYMBOL", "VALUE": "symbol"},
    {"TYPE": "TIMESTAMP", "VALUE": 1700000000000},
    {"TYPE": "DESCRIBED", "VALUE": ("d", 1)},
]
#: Of py-amqp's dumps: a letter of its formats, and a value.
ARGUMENTS = (
    ("o", 5), ("B", 5), ("l", 5), ("L", 5), ("s", "short"), ("S", "long"), ("b", True),
    ("F", {"k": 1}),
)  # fmt: skip

Writer = Callable[[Side, int, Any], Any]


def lengths() -> Iterator[int]:
    """Lengths of a filler: what follows it crosses every capacity at every byte."""
    for capacity in CAPACITIES:
        yield from range(max(capacity - REACH, 0), capacity + 2)


def table(length: int, value: Any) -> dict[str, Any]:
    """A table that ends with a value, which stands after a filler."""
    return {"filler": "f" * length, "k": value}


def py_amqp_message(side: Side, length: int, value: Any) -> list[bytes]:
    """A method and a content, whose headers hold the value; without a body where that is false."""
    written: list[bytes] = []
    connection = SimpleNamespace(frame_max=131072, bytes_sent=0)
    transport = SimpleNamespace(write=lambda data: written.append(bytes(data)))
    writer = side.method_framing.frame_writer(connection, transport)
    arguments = b"a" * length
    writer(1, 1, (60, 40), arguments, side.basic_message.Message(b""))
    writer(1, 1, (60, 40), arguments, side.basic_message.Message(b"b", delivery_mode=2))
    headers = {"k": value}
    content = side.basic_message.Message(
        b"b" * 300 if value else "", content_type="c" * 20, application_headers=headers
    )
    writer(1, 1, (60, 40), arguments, content)
    writer(1, 1, (60, 40), arguments, None)
    return written


def py_amqp_values(side: Side, length: int, value: Any) -> bytes:
    """A value in an array and in a table."""
    pieces: list[bytes] = []
    side.serialization._write_item([b"f" * length, value], pieces.append, [])
    side.serialization._write_table(table(length, value), pieces.append, [])
    return b"".join(pieces)


def py_amqp_arguments(side: Side, length: int, value: Any) -> list[bytes]:
    """Arguments of each wire type, and the value in a table."""
    arguments = (*ARGUMENTS, ("F", {"k": value}))
    return [
        side.serialization.dumps("S" + layout * 3, ["f" * length, *[one] * 3])
        for layout, one in arguments
    ]


def pika_value(side: Side, length: int, value: Any) -> tuple[int, bytes]:
    """A value in an array."""
    pieces: list[bytes] = []
    count = side.data.encode_value(pieces, ["f" * length, value])
    return count, b"".join(pieces)


def pika_frames(side: Side, length: int, value: Any) -> tuple[bytes, bytes]:
    """A content header and a method with the value in their tables."""
    both = table(length, value)
    properties = side.spec.BasicProperties(
        headers=both, delivery_mode=2, priority=5, timestamp=2**40, message_id="m"
    )
    method = side.spec.Queue.Declare(0, "q", durable=True, arguments=both)
    return side.frame.Header(1, length, properties).marshal(), side.frame.Method(
        1, method
    ).marshal()


def pamqp_value(side: Side, length: int, value: Any) -> Any:
    """A value in an array."""
    return side.encode.field_array(["f" * length, value])


def pamqp_frames(side: Side, length: int, value: Any) -> tuple[bytes, bytes]:
    """A content header and a method with the value in their tables."""
    both = table(length, value)
    properties = side.commands.Basic.Properties(
        headers=both, delivery_mode=2, priority=5, message_id="m", app_id="a"
    )
    header = side.header.ContentHeader(0, length, properties)
    method = side.commands.Queue.Declare(0, "q", durable=True, arguments=both)
    return side.frame.marshal(header, 1), side.frame.marshal(method, 1)


def azure_message(side: Side, length: int, value: Any) -> bytearray:
    """A message with the value in its maps."""
    module = side.message
    message = module.Message(
        message_annotations={"filler": "f" * length, "k": value},
        properties=module.Properties(message_id="id", group_sequence=5),
        application_properties={"k": value},
        footer={"k": value},
    )
    encoded = side._encode.encode_payload(bytearray(), message)
    assert isinstance(encoded, bytearray)
    return encoded


def azure_frames(side: Side, length: int, value: Any) -> list[Any]:
    """Each performative with all of its fields, texts of this length, and the value in its maps."""

    def field_value(field: Any) -> Any:
        kind = str(getattr(field and field.type, "name", field and field.type))
        if field is None or kind == "BINARY":
            return b"f" * length
        if field.multiple:
            return ["a", "b"]
        if kind in ("STRING", "SYMBOL"):
            return "f" * length
        if kind in ("fields", "MAP"):
            return {"k": value}
        if kind in ("source", "target", "error", "delivery_state"):
            return None
        return True if kind == "BOOL" else 5

    return [
        side._encode.encode_frame(cls(*map(field_value, cls._definition)))
        for cls in performatives(side)
    ]


WRITERS: dict[str, tuple[Writer, ...]] = {
    "amqp": (py_amqp_message, py_amqp_values, py_amqp_arguments),
    "pika": (pika_value, pika_frames),
    "pamqp": (pamqp_value, pamqp_frames),
    **dict.fromkeys(V1_MODULES, (azure_message, azure_frames)),
}
