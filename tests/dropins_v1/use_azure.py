"""What azure-eventhub, azure-servicebus and rstream can be asked of AMQP 1.0."""

from __future__ import annotations

import struct
import sys
from random import Random
from typing import Any
from uuid import UUID

from tests.dropins import wild
from tests.dropins.case import Case, TooDeepError, UnboundedError
from tests.dropins.stock import Side
from tests.support import client_bytes_v1 as octets_v1

TYPE_NAMES = (
    "NULL", "BOOL", "UBYTE", "BYTE", "USHORT", "SHORT", "UINT", "INT", "ULONG", "LONG", "FLOAT",
    "DOUBLE", "TIMESTAMP", "UUID", "BINARY", "STRING", "SYMBOL", "LIST", "MAP", "ARRAY",
    "DESCRIBED", "DECIMAL128",
)  # fmt: skip
#: Items that a stock copy may make room for: those without bytes, and others.
MOST_EMPTY, MOST = 65536, 2**22


class Watched:
    """A struct of the client's that is asked for counts: too large ones end the case."""

    def __init__(self, form: str) -> None:
        self.form = form

    def unpack(self, data: Any) -> tuple[Any, ...]:
        """As struct.unpack."""
        values = struct.unpack(self.form, data)
        caller = sys._getframe(1).f_code.co_name
        most = {"_decode_array_large": MOST_EMPTY, "_decode_list_large": MOST, "decode_frame": MOST}
        if values[0] > most.get(caller, 2**32):
            raise UnboundedError(caller)
        return values


def watch(side: Side) -> None:
    """Have a stock copy end before it makes room for more than memory holds."""
    if not hasattr(side._decode, "_MAX_COMPOUND_COUNT"):
        side._decode.c_unsigned_long = Watched(">L")
        side._decode.c_signed_int = Watched(">i")


def is_stock(side: Side) -> bool:
    """Whether it is the copy without the drop-in."""
    return "AzureCodec" not in repr(side._decode.decode_frame)


def reading(what: str, data: bytes) -> Case:
    """One of the three decoders on a view of bytes."""

    def run(side: Side) -> Any:
        if is_stock(side):
            watch(side)
        try:
            return getattr(side._decode, what)(memoryview(data))
        except RecursionError:
            raise TooDeepError from None

    return Case(what, data, run)


def maybe(random: Random, data: bytes) -> bytes:
    """Whole, or damaged."""
    return data if random.randrange(5) < 2 else octets_v1.damage(random, data)


def decode_frame(random: Random) -> Case:
    """A performative."""
    return reading("decode_frame", maybe(random, octets_v1.performative(random)))


def decode_payload(random: Random) -> Case:
    """A message."""
    return reading("decode_payload", maybe(random, octets_v1.message(random)))


def decode_value(random: Random) -> Case:
    """Values in a value section, deeper than messages have them."""
    data = b"\0\x53\x77" + octets_v1.value(random, random.randint(1, 6))
    return reading("decode_payload", maybe(random, data))


def decode_deep(random: Random) -> Case:
    """Up to what the clients take."""
    depth = random.choice((1, 30, 61, 62, 63, 64, 65, 66, 100, 300))
    data = octets_v1.nested(depth, random.choice((0, 0xD0, 0xD1)))
    return reading("decode_payload", b"\0\x53\x77" + maybe(random, data))


def decode_odd(random: Random) -> Case:
    """Random bytes, and things that are no views of bytes."""
    what = random.choice(("decode_frame", "decode_payload", "decode_empty_frame"))
    data = random.randbytes(random.randrange(20))
    if random.randrange(3) == 0:
        data = octets_v1.performative(random)
    if set(data) & {0xD0, 0xD1, 0xF0}:  # left to the client's own code, which believes their counts
        data = b""

    def run(side: Side) -> Any:
        argument: Any = [
            data, bytearray(data), None, memoryview(data)[::2], memoryview(data).cast("c"),
            memoryview(data)[::-1], memoryview(bytearray(data)), memoryview(data)[1:],
        ][len(data) % 8]  # fmt: skip
        return getattr(side._decode, what)(argument)

    return Case(what, data, run)


def decode_empty(random: Random) -> Case:
    """Eight bytes of a frame without a body, or of a protocol header."""
    data = random.choice((b"AMQP\0\1\0\0", b"AMQP\3\1\0\0", b"\0\0\0\x08\2\0\0\0", b"AMQ", b""))
    return reading("decode_empty_frame", maybe(random, data))


# ---- writing ----


def exact(random: Random, depth: int = 2) -> Any:
    """A value that all of them take."""
    kind = random.randrange(14 if depth else 9)
    if kind < 3:
        return random.choice((0, 1, -1, 127, 128, -128, -129, 255, 256, 2**31 - 1, -(2**31)))
    if kind < 5:
        return random.choice(("", "a", "größe", "k" * 255, "k" * 256))
    if kind == 5:
        return random.choice((b"", b"\xff", b"k" * 300, bytearray(b"array")))
    if kind == 6:
        return random.choice((True, False, None, 1.5, -0.0, float("nan")))
    if kind == 7:
        return UUID(int=random.getrandbits(128))
    if kind == 8:
        return wild.moment(random)
    if kind == 9:
        return (random.choice(("name", 5, b"b")), exact(random, depth - 1))
    if kind < 12:
        many = random.choice((0, 1, 1, 2, 3))
        values = [exact(random, depth - 1) for _ in range(many)]
        return values * 60 if random.randrange(12) == 0 else values
    many = random.choice((0, 1, 2, 3) if random.randrange(12) else (127, 128))
    one = exact(random, depth - 1)
    return {str(i) * random.choice((1, 3)): one for i in range(many)}


def typed(random: Random, depth: int = 2) -> Any:
    """A value with the name of its type, often of that type."""
    name = random.choice(TYPE_NAMES)
    kind = random.randrange(10)
    if kind == 0:
        name = random.choice((None, "", "CHAR", 5, ()))
    inside: Any
    if kind == 1:
        inside = any_value(random, depth - 1)
    elif name in ("STRING", "SYMBOL"):
        inside = random.choice(("", "text", b"octets", "ä", "\ud800", wild.Word.TEXT))
    elif name == "BINARY":
        inside = random.choice((b"", b"b" * 256, bytearray(b"x"), memoryview(b"view"), "text"))
    elif name in ("LIST", "ARRAY"):
        one = any_value(random, depth - 1)
        inside = [one] * random.choice((0, 1, 2, 3, 300))
        if random.randrange(3) == 0:
            other = random.choice(TYPE_NAMES)
            inside = [{"TYPE": other, "VALUE": 5}] * 2 + [any_value(random, 0)]
        if random.randrange(6) == 0:
            inside = tuple(inside)
    elif name == "MAP":
        inside = random.choice(({}, {"a": 1}, [("k", 1)], [["k", [1]]], [("k",)], iter([("a", 1)])))
    elif name == "DESCRIBED":
        inside = random.choice((("d", 1), [5, "x"], ("d",), ("d", [1], 3)))
    elif name == "UUID":
        inside = random.choice((UUID(int=9), b"k" * 16, b"k", "nothing", str(UUID(int=3))))
    elif name in ("FLOAT", "DOUBLE"):
        inside = random.choice((*wild.FLOATS, 5, 10**400, "1.5", True))
    elif name == "DECIMAL128":
        inside = random.choice(wild.DECIMALS)
    elif name == "TIMESTAMP":
        inside = random.choice((wild.moment(random), wild.integer(random), 0, 1.5))
    elif random.randrange(4):
        inside = random.choice((0, 1, 2, 100, 200, 255, 256, 70000, -1, -5, -129))
    else:
        inside = random.choice((wild.integer(random), "5", b"7", 5.9, None))
    typed_value = {"TYPE": name, "VALUE": inside}
    if random.randrange(30) == 0:
        typed_value.pop(random.choice(("TYPE", "VALUE")))
    return typed_value


def any_value(random: Random, depth: int = 2) -> Any:
    """Any value, mostly a good one."""
    kind = random.randrange(12)
    if kind < 6:
        return exact(random, max(depth, 0))
    if kind < 10:
        return typed(random, depth)
    return wild.any_value(random, max(depth, 0))


def entries(random: Random) -> Any:
    """Annotations, properties, filters."""
    kind = random.randrange(16)
    if kind == 0:
        return random.choice(({}, None, [], "text", (), 5, wild.MyDict(a=1)))
    table: dict[Any, Any] = {}
    for _ in range(random.choice((0, 1, 2, 4))):
        key: Any = random.choice(("a", "größe", b"x-opt-b", 5, "k" * 300))
        if random.randrange(12) == 0:
            key = random.choice(
                (True, 2**64, -1, None, 1.5, ("t",), wild.Word.TEXT, wild.Number.ONE)
            )
        table[key] = any_value(random, 2)
        if random.randrange(6) == 0:
            table[key] = random.choice((("descriptor", "filter"), [b"d", 5], None, "raw", (1, 2)))
    return table


def field_value(random: Random, side: Side, field: Any, depth: int) -> Any:
    """A value for a field of a class, mostly of its type."""
    kind = random.randrange(12)
    if kind < 4:
        return None
    if kind == 4:
        return any_value(random, 1)
    if field is None:
        return random.choice((b"", b"payload" * 50, bytearray(b"p"), memoryview(b"p"), "p"))
    name = getattr(field.type, "name", field.type)
    if field.multiple:
        return random.choice((["a", b"b"], ("a",), [], "text", [1], b"PLAIN", ["a", None]))
    if name in ("fields", "annotations", "app_properties", "node_properties", "filter_set"):
        return entries(random)
    if name == "message_id":
        return random.choice((5, "id", b"id", UUID(int=4), True, 2**64, 1.5, wild.MyInt(5)))
    if name in ("source", "target", "delivery_state", "error"):
        return (
            instance_of(random, side, random.choice(classes(side, name)), depth - 1) if depth else 5
        )
    if name in ("STRING", "SYMBOL"):
        return random.choice(("", "text", b"octets", "größe", "k" * 300))
    if name == "BINARY":
        return random.choice((b"", b"b" * 256, bytearray(b"x"), "text"))
    if name == "BOOL":
        return random.choice((True, False, 1, 0, wild.Number.ONE, "yes"))
    if name == "TIMESTAMP":
        return random.choice((wild.moment(random), 1700000000000, 0, -1))
    return random.choice((0, 1, 5, 255, 256, 65535, 65536, 2**32 - 1, wild.Number.ONE, -1))


def classes(side: Side, name: str) -> list[Any]:
    """The client's classes that a field may hold; rstream's has none."""
    if side.package.startswith("rstream"):
        return [side.message.Header]
    outcomes = side.outcomes
    states = ("Received", "Accepted", "Rejected", "Released", "Modified")
    return {
        "source": [side.endpoints.Source],
        "target": [side.endpoints.Target],
        "error": [side.error.AMQPError],
        "delivery_state": [getattr(outcomes, state) for state in states],
    }[name]


def instance_of(random: Random, side: Side, cls: Any, depth: int = 2) -> Any:
    """An instance of one of the client's classes."""
    values = [field_value(random, side, field, depth) for field in cls._definition]
    try:
        return cls(*values)
    except TypeError:  # a class of error, with another constructor
        return cls(values[0] or b"amqp:internal-error", *values[1:])


def performatives(side: Side) -> list[Any]:
    """The client's classes of frames."""
    members = vars(side.performatives).values()
    return [cls for cls in members if isinstance(cls, type) and hasattr(cls, "_definition")]


def encode_frame(random: Random) -> Case:
    """A performative, or no frame at all."""
    seed = random.getrandbits(64)

    def run(side: Side) -> Any:
        again = Random(seed)
        kind = again.randrange(30)
        if kind == 0:
            frame: Any = again.choice((None, 5, (1, 2), wild.Pair(1, 2), [], "frame"))
        else:
            frame = instance_of(again, side, again.choice(performatives(side)))
        if kind < 3:
            return side._encode.encode_frame(frame, again.choice((b"\x01", b"", "x", 5, None)))
        if kind == 3:
            return side._encode.encode_frame(frame=frame, frame_type=b"\x01")
        return side._encode.encode_frame(frame)

    return Case("encode_frame", seed, run)


def message(random: Random, side: Side) -> Any:
    """A Message, mostly a good one."""
    module = side.message

    def one(make: Any) -> Any:
        return make() if random.randrange(2) else None

    def octets() -> Any:
        return random.choice((b"", b"data" * 100, bytearray(b"x"), b"\0"))

    joined = "data" in module.Message._fields
    data = one(lambda: [octets() for _ in range(random.randrange(3))] if joined else octets())
    values = [
        one(lambda: instance_of(random, side, module.Header)),
        one(lambda: entries(random)),
        one(lambda: entries(random)),
        one(lambda: instance_of(random, side, module.Properties)),
        one(lambda: entries(random)),
        data,
        one(lambda: [exact(random) for _ in range(random.randrange(3))]),
        one(lambda: any_value(random, 3)),
        one(lambda: entries(random)),
    ]
    for _ in range(random.choice((0, 0, 0, 0, 0, 0, 1, 3))):
        values[random.randrange(9)] = any_value(random)
    return module.Message(*values)


def encode_payload(random: Random) -> Case:
    """A message at the end of what is in the buffer, also where it fails."""
    seed = random.getrandbits(64)

    def run(side: Side) -> Any:
        again = Random(seed)
        output: Any = bytearray(again.choice((b"", b"before")))
        if again.randrange(30) == 0:
            output = again.choice(([], None, b""))
        payload: Any = message(again, side)
        if again.randrange(40) == 0:
            payload = again.choice((None, [None] * 9, tuple(payload), payload[:5], {}))
        try:
            result = side._encode.encode_payload(output, payload)
        except Exception as error:
            return type(error).__name__, output
        return result is output, output

    return Case("encode_payload", seed, run)


KINDS = (
    (decode_frame, 25),
    (decode_payload, 20),
    (decode_value, 12),
    (decode_deep, 3),
    (decode_odd, 4),
    (decode_empty, 3),
    (encode_frame, 20),
    (encode_payload, 20),
)
