"""What pamqp can be asked: cases that give the same on a stock copy and under the drop-in."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.dropins import wild
from tests.dropins.case import Case
from tests.dropins.stock import Side
from tests.support import client_bytes as octets

PACKAGE = "pamqp"
TYPES = [
    "bit",
    "boolean",
    "bytearray",
    "byte_array",
    "double",
    "field_array",
    "float",
    "long",
    "longlong",
    "longstr",
    "octet",
    "short",
    "shortstr",
    "table",
    "timestamp",
    "void",
    "unknown",
]
READERS = [
    "boolean",
    "byte_array",
    "decimal",
    "double",
    "floating_point",
    "long_int",
    "long_uint",
    "long_long_int",
    "long_str",
    "octet",
    "short_int",
    "short_uint",
    "short_short_int",
    "short_short_uint",
    "short_str",
    "timestamp",
    "void",
    "embedded_value",
    "field_array",
    "field_table",
]
WRITERS = [
    "boolean",
    "byte_array",
    "decimal",
    "double",
    "floating_point",
    "long_int",
    "long_uint",
    "long_long_int",
    "long_string",
    "octet",
    "short_int",
    "short_uint",
    "short_string",
    "timestamp",
    "field_array",
    "field_table",
    "table_integer",
    "encode_table_value",
]


def methods(side: Side) -> list[Any]:
    """All method classes, in one order for both copies."""
    return [side.commands.INDEX_MAPPING[index] for index in sorted(side.commands.INDEX_MAPPING)]


def _as_argument(random: Random, data: bytes) -> Any:
    kind = random.randrange(20)
    return bytearray(data) if kind == 0 else memoryview(data) if kind == 1 else data


def unmarshal(random: Random) -> Case:
    """Bytes to a frame, and that frame to bytes."""
    seed, data = random.getrandbits(64), octets.frame(random)

    def run(side: Side) -> Any:
        return side.frame.unmarshal(_as_argument(Random(seed), data))

    return Case("unmarshal", data, run)


def again(random: Random) -> Case:
    """The bytes of what was read."""
    data = octets.frame(random)

    def run(side: Side) -> Any:
        _, channel, frame = side.frame.unmarshal(data)
        return side.frame.marshal(frame, channel)

    return Case("marshal what was read", data, run)


def frame_parts(random: Random) -> Case:
    """The envelope."""
    data = octets.frame(random)
    return Case("frame_parts", data, lambda side: side.frame.frame_parts(data))


def read(random: Random) -> Case:
    """The functions of pamqp.decode."""
    name = random.choice(READERS)
    data = octets.table(random)
    if name not in ("field_table", "field_array"):
        data = data[random.randrange(1 + min(len(data), 12)) :]
    if name == "embedded_value":
        data = bytes([random.choice(octets.ODD_TAGS)]) + data
    return Case(f"decode.{name}", data, lambda side: getattr(side.decode, name)(data))


def read_type(random: Random) -> Case:
    """decode.by_type, and the methods' own unmarshal."""
    name, offset = random.choice(TYPES), random.randrange(9)
    data = octets.table(random)[random.randrange(6) :]
    call = f"decode.by_type {name} {offset}"
    return Case(call, data, lambda side: side.decode.by_type(data, name, offset))


def read_into(random: Random) -> Case:
    """unmarshal of an object that is there already."""
    number, data = random.getrandbits(32), octets.frame(random)[11:-1]

    def run(side: Side) -> Any:
        kinds = methods(side)
        method = kinds[number % len(kinds)]()
        method.unmarshal(data)
        return method

    return Case("method.unmarshal", data, run)


def read_header(random: Random) -> Case:
    """ContentHeader.unmarshal and Properties.unmarshal."""
    data, flags = octets.header(random), random.getrandbits(16)
    if random.randrange(2):

        def run(side: Side) -> Any:
            header = side.header.ContentHeader()
            header.unmarshal(data)
            return header

        return Case("ContentHeader.unmarshal", data, run)

    def properties(side: Side) -> Any:
        values = side.commands.Basic.Properties()
        values.unmarshal(flags, data[14:])
        return values

    return Case(f"Properties.unmarshal {flags:04x}", data, properties)


def _filled(random: Random, kind: Any) -> Any:
    """An instance with some arguments, given to the constructor or set afterwards."""
    types = {name: getattr(kind, "_" + name) for name in kind.__slots__}
    share = random.randrange(5)
    values = {
        name: wild.argument(random, wire_type)
        for name, wire_type in types.items()
        if random.randrange(5) <= share
    }
    if random.randrange(3) == 0:
        return kind(**values)
    instance = kind() if not _needs(kind) else kind.__new__(kind)
    for name, value in values.items():
        setattr(instance, name, value)
    if random.randrange(40) == 0 and values:
        delattr(instance, random.choice(list(values)))
    return instance


def _needs(kind: Any) -> bool:
    try:
        kind()
    except Exception:
        return True
    return False


def _channel(random: Random) -> Any:
    odd = [65536, -1, None, "1", 1.0, True]
    return random.choice(odd) if random.randrange(30) == 0 else random.randrange(65536)


def marshal_method(random: Random) -> Case:
    """Every method with all kinds of arguments."""
    seed, number = random.getrandbits(64), random.getrandbits(32)

    def run(side: Side) -> Any:
        own = Random(seed)
        kinds = methods(side)
        method = _filled(own, kinds[number % len(kinds)])
        return side.frame.marshal(method, _channel(own)), method

    return Case("marshal a method", (seed, number), run)


def marshal_header(random: Random) -> Case:
    """Properties with all kinds of values."""
    seed = random.getrandbits(64)

    def run(side: Side) -> Any:
        own = Random(seed)
        properties = _filled(own, side.commands.Basic.Properties)
        size = wild.argument(own, "longlong")
        header = side.header.ContentHeader(own.randrange(3), size, properties)
        return side.frame.marshal(header, _channel(own)), header

    return Case("marshal a header", seed, run)


def marshal_other(random: Random) -> Case:
    """Bodies, heartbeats, protocol headers, and what is no frame."""
    seed = random.getrandbits(64)

    def run(side: Side) -> Any:
        own = Random(seed)
        kind = own.randrange(5)
        frame: Any
        if kind == 0:
            frame = side.body.ContentBody(wild.any_value(own, 0))
        elif kind == 1:
            frame = side.body.ContentBody(own.randbytes(own.choice([0, 1, 300, 5000])))
        elif kind == 2:
            frame = side.heartbeat.Heartbeat()
        elif kind == 3:
            parts = [own.choice([0, 9, 255, 256, -1, None, "9"]) for _ in range(3)]
            frame = side.header.ProtocolHeader(*parts)
        else:
            frame = wild.any_value(own, 1)
        return side.frame.marshal(frame, _channel(own))

    return Case("marshal another", seed, run)


def write(random: Random) -> Case:
    """The functions of pamqp.encode."""
    seed, name = random.getrandbits(64), random.choice(WRITERS)

    def run(side: Side) -> Any:
        own = Random(seed)
        if name == "field_table" and own.randrange(4):
            return side.encode.field_table(wild.mapping(own))
        return getattr(side.encode, name)(wild.any_value(own, 2))

    return Case(f"encode.{name}", seed, run)


def write_old(random: Random) -> Case:
    """Tables for old brokers, by the module's own switch."""
    seed = random.getrandbits(64)

    def run(side: Side) -> Any:
        side.encode.support_deprecated_rabbitmq(True)
        try:
            table = wild.mapping(Random(seed))
            publish = side.commands.Basic.Properties(headers=table)
            header = side.header.ContentHeader(0, 5, publish)
            return side.encode.field_table(table), side.frame.marshal(header, 1)
        finally:
            side.encode.support_deprecated_rabbitmq(False)

    return Case("support_deprecated_rabbitmq", seed, run)


def write_type(random: Random) -> Case:
    """encode.by_type."""
    seed, name = random.getrandbits(64), random.choice(TYPES)

    def run(side: Side) -> Any:
        own = Random(seed)
        type_names = [
            "octet",
            "short",
            "long",
            "longlong",
            "shortstr",
            "longstr",
            "table",
            "timestamp",
            "bit",
        ]
        if name in type_names and own.randrange(2):
            return side.encode.by_type(wild.argument(own, name), name)
        return side.encode.by_type(wild.any_value(own, 1), name)

    return Case(f"encode.by_type {name}", seed, run)


KINDS = (
    (unmarshal, 30),
    (again, 10),
    (frame_parts, 1),
    (read, 12),
    (read_type, 4),
    (read_into, 4),
    (read_header, 6),
    (marshal_method, 12),
    (marshal_header, 10),
    (marshal_other, 3),
    (write, 8),
    (write_type, 4),
    (write_old, 1),
)
