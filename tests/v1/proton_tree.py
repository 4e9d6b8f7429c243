"""Random AMQP 1.0 values as trees, and their way through qpid-proton's Data and through amqpcodec.

A tree is (type, value): ("list", [trees]), ("map", [(tree, tree)]), ("array", (type, descriptor
tree or None, [trees])), ("described", (tree, tree)), scalars with plain Python values, decimals
with their bits as an int.
"""

from __future__ import annotations

import math
import struct
import uuid
from random import Random
from typing import Any

from amqpcodec import v1_0 as amqp

Tree = tuple[str, Any]

_BITS = {
    "ubyte": (0, 8),
    "ushort": (0, 16),
    "uint": (0, 32),
    "ulong": (0, 64),
    "byte": (1, 8),
    "short": (1, 16),
    "int": (1, 32),
    "long": (1, 64),
    "timestamp": (1, 64),
}
SCALARS = [
    *_BITS,
    *("null", "bool", "float", "double", "decimal32", "decimal64", "decimal128", "char", "uuid"),
    *("binary", "string", "symbol"),
]
_LETTERS = "abcXYZ 0189_-:/" + "éß€𝄞"


def scalar(random: Random, kind: str) -> Tree:
    """A value of that type, at the ends of its range now and then."""
    if kind in _BITS:
        signed, bits = _BITS[kind]
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        edges = [low, high, 0, 1, min(127, high), min(128, high), min(255, high), min(256, high)]
        return kind, random.choice([*edges, random.randint(low, high)])
    if kind == "null":
        return kind, None
    if kind == "bool":
        return kind, random.random() < 0.5
    if kind == "float":
        return kind, struct.unpack(">f", struct.pack(">f", random.uniform(-1e9, 1e9)))[0]
    if kind == "double":
        return kind, random.choice([0.0, -0.0, math.inf, random.uniform(-1e300, 1e300)])
    if kind.startswith("decimal"):
        return kind, random.getrandbits(int(kind[7:]))
    if kind == "char":
        return kind, random.choice(_LETTERS)
    if kind == "uuid":
        return kind, uuid.UUID(int=random.getrandbits(128))
    size = random.choice([0, 1, 5, 20, 255, 256, 300])
    if kind == "binary":
        return kind, random.randbytes(size)
    letters = _LETTERS[:15] if kind == "symbol" else _LETTERS
    return kind, "".join(random.choices(letters, k=size))


def tree(random: Random, depth: int = 0) -> Tree:
    """Any value."""
    kind = random.choice([*SCALARS, "list", "map", "array", "described"] if depth < 4 else SCALARS)
    if kind == "list":
        return kind, [tree(random, depth + 1) for _ in range(random.randrange(5))]
    if kind == "map":
        pairs = range(random.randrange(4))
        return kind, [(tree(random, depth + 1), tree(random, depth + 1)) for _ in pairs]
    if kind == "described":
        descriptor = scalar(random, random.choice(["symbol", "ulong", "uint", "string"]))
        if descriptor[0] == "ulong":
            descriptor = ("ulong", 0x1_0000_0000 + descriptor[1] % 0x1_0000_0000)
        value = tree(random, depth + 1)
        while value[0] == "described":  # proton loses what follows such a value in a compound
            value = tree(random, depth + 1)
        return kind, (descriptor, value)
    if kind == "array":
        of = random.choice(SCALARS)
        descriptor = scalar(random, "symbol") if random.random() < 0.3 else None
        return kind, (of, descriptor, [scalar(random, of) for _ in range(random.randrange(5))])
    return scalar(random, kind)


# ---- amqpcodec ----

_CLASSES = {
    "ubyte": amqp.UByte,
    "ushort": amqp.UShort,
    "uint": amqp.UInt,
    "ulong": amqp.ULong,
    "byte": amqp.Byte,
    "short": amqp.Short,
    "int": amqp.Int,
    "long": amqp.Long,
    "float": amqp.Float,
    "double": amqp.Double,
    "timestamp": amqp.Timestamp,
    "char": amqp.Char,
    "symbol": amqp.Symbol,
}
_NAMES = {cls: kind for kind, cls in _CLASSES.items()}
_NAMES |= {bool: "bool", str: "string", bytes: "binary", uuid.UUID: "uuid", type(None): "null"}
_DECIMALS = {32: amqp.Decimal32, 64: amqp.Decimal64, 128: amqp.Decimal128}


def to_ours(node: Tree) -> Any:
    """The typed value that a tree stands for."""
    kind, value = node
    if kind in _CLASSES:
        return _CLASSES[kind](value)
    if kind.startswith("decimal"):
        width = int(kind[7:])
        return _DECIMALS[width].from_bits(value.to_bytes(width // 8, "big"))
    if kind == "list":
        return [to_ours(item) for item in value]
    if kind == "map":
        return amqp.Map([(to_ours(key), to_ours(item)) for key, item in value])
    if kind == "described":
        return amqp.Described(to_ours(value[0]), to_ours(value[1]))
    if kind == "array":
        of, descriptor, items = value
        descriptors = () if descriptor is None else (to_ours(descriptor),)
        return amqp.Array(of.replace("bool", "boolean"), map(to_ours, items), descriptors)
    return value


def from_ours(value: Any) -> Tree:
    """The tree of a typed value."""
    if isinstance(value, tuple(_DECIMALS.values())):
        return f"decimal{value.WIDTH}", int.from_bytes(value.bits, "big")
    if isinstance(value, amqp.Map | dict):
        return "map", [(from_ours(key), from_ours(item)) for key, item in value.items()]
    if isinstance(value, list):
        return "list", [from_ours(item) for item in value]
    if isinstance(value, amqp.Described):
        descriptor = value.descriptor
        if type(descriptor) is int:
            descriptor = amqp.ULong(descriptor)
        return "described", (from_ours(descriptor), from_ours(value.value))
    if isinstance(value, amqp.Array):
        of = value.type.replace("boolean", "bool")
        descriptor = from_ours(value.descriptor) if value.descriptors else None
        return "array", (of, descriptor, [from_ours(item) for item in value])
    kind = _NAMES[type(value)]
    if kind in ("char", "symbol", "string"):
        return kind, str.__str__(value)
    if kind in ("float", "double"):
        return kind, float(value)
    return kind, int(value) if kind in _BITS else value


# ---- proton ----


def put(data: Any, node: Tree) -> None:
    """Append a tree to a proton Data."""
    kind, value = node
    if kind == "null":
        data.put_null()
    elif kind in ("list", "map", "described"):
        getattr(data, f"put_{kind}")()
        data.enter()
        nested = kind == "map"
        for item in value:
            for part in item if nested else (item,):
                put(data, part)
        data.exit()
    elif kind == "array":
        of, descriptor, items = value
        data.put_array(descriptor is not None, getattr(type(data), of.upper()))
        data.enter()
        if descriptor is not None:
            put(data, descriptor)
        for item in items:
            put(data, item)
        data.exit()
    elif kind == "decimal128":
        data.put_decimal128(value.to_bytes(16, "big"))
    else:
        getattr(data, f"put_{kind}")(value)


def get(data: Any) -> Tree:
    """The tree at a proton Data's cursor."""
    kind = type(data).type_names[data.type()]
    if kind == "null":
        return kind, None
    if kind in ("list", "described", "map"):
        items = []
        data.enter()
        while data.next():
            items.append(get(data))
        data.exit()
        if kind == "map":
            return kind, list(zip(items[::2], items[1::2], strict=True))
        return kind, items if kind == "list" else (items[0], items[1])
    if kind == "array":
        _, described, of = data.get_array()
        data.enter()
        items = []
        while data.next():
            items.append(get(data))
        data.exit()
        descriptor = items.pop(0) if described else None
        return kind, (type(data).type_names[of], descriptor, items)
    value = getattr(data, f"get_{kind}")()
    if kind == "decimal128":
        value = int.from_bytes(value, "big")
    elif kind in _BITS or kind.startswith("decimal"):
        value = int(value)
    elif kind in ("char", "symbol", "string"):
        value = "".join(value)
    elif kind == "binary":
        value = bytes(value)
    elif kind in ("float", "double"):
        value = float(value)
    return kind, value


def same(one: Any, other: Any) -> bool:
    """Whether two trees are the same, types and the sign of zero included."""
    return repr(one) == repr(other)
