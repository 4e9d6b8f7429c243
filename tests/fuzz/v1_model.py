"""Fresh values, messages and frames of AMQP 1.0 as bytes, by the protocol's table.

Every type in each of its encodings, those that encode never writes too; some are wrong on purpose.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeVar

from tests.fuzz.mutators import below
from tests.support import client_bytes_v1 as octets
from tests.support.v1_gen import (
    ANY,
    BINARY,
    BOOLEAN,
    MANDATORY,
    MAP,
    MULTIPLE,
    PERFORMATIVES,
    STRING,
    SYMBOL,
    TIMESTAMP,
    TYPES,
    UINT,
    ULONG,
)

T = TypeVar("T")

LIST, COMPOSITE, UBYTE, USHORT = 21, 25, 2, 3
#: Constructors of each type that fields have.
CODES = {
    BOOLEAN: b"\x41\x42\x56", UBYTE: b"\x50", USHORT: b"\x60", UINT: b"\x43\x52\x52\x70",
    ULONG: b"\x44\x53\x53\x80", TIMESTAMP: b"\x83", BINARY: b"\xa0\xa0\xb0",
    STRING: b"\xa1\xa1\xb1", SYMBOL: b"\xa3\xa3\xb3", MAP: b"\xc1\xc1\xd1", LIST: b"\x45\xc0\xd0",
    ANY: octets.CODES,
}  # fmt: skip
#: Names that fields take, and those that are near them.
NAMED = {
    "expiry_policy": (b"link-detach", b"session-end", b"connection-close", b"never", b"Never"),
    "distribution_mode": (b"move", b"copy", b"other"),
    "default_outcome": (b"amqp:accepted:list",),
}
#: Keys that mean something to a reader.
KEYS = (
    b"x-opt-offset", b"lifetime-policy", b"supported-dist-modes", b"rejected", b"k", b"", b"y" * 40,
)  # fmt: skip
MESSAGE_IDS = b"\x44\x53\x80\x98\xa0\xa1\xb0\xb1"
#: Names of the types that provide what a field asks for.
PROVIDERS = {
    archetype: [name for name, spec in TYPES.items() if archetype in spec["provides"]]
    for archetype in ("delivery-state", "outcome", "source", "target")
}
SYMBOLS = [spec["symbol"].encode() for spec in TYPES.values()]
NAMES = tuple(TYPES)
KNOWN = {spec["code"]: name for name, spec in TYPES.items()}
SASL = [name for name, spec in TYPES.items() if "sasl-frame" in spec["provides"]]
STATES = PROVIDERS["delivery-state"]
LAYERS = (0, 0, 0, 1, 2, 3, 255)
#: Milliseconds around the ends of Python's calendar, and of 64 bits.
MOMENTS = (
    *(0, 1, -1, 1_700_000_000_123, -62_135_596_800_000, -62_135_596_800_001),
    *(253_402_300_799_999, 253_402_300_800_000, -(1 << 63), (1 << 63) - 1),
)
#: Characters at the ends of what is one.
CHARS = (0, 0x41, 0xD7FF, 0xD800, 0xDFFF, 0xE000, 0x10FFFF, 0x110000)


def one(rng: Random, options: Sequence[T]) -> T:
    """One of them; choice() takes longer."""
    return options[below(rng, len(options))]


def content(rng: Random, code: int) -> bytes:
    """What stands behind a constructor."""
    if code == 0x83 and rng.random() < 0.7:
        return struct.pack(">q", one(rng, MOMENTS))
    if code == 0x73 and rng.random() < 0.7:
        return struct.pack(">I", one(rng, CHARS))
    if code == 0x56 and rng.random() < 0.9:
        return bytes([below(rng, 2)])
    if code in octets.RUNS and rng.random() < 0.9:  # what octets has is often no text
        return run(code, one(rng, KEYS))[1:]
    return octets.content(rng, code, 1)


def encoded(rng: Random, kind: int) -> bytes:
    """A value of a type, in one of its encodings."""
    code = one(rng, CODES[kind])
    return bytes([code]) + content(rng, code)


def run(code: int, data: bytes) -> bytes:
    """Bytes or text; with a longer length where one byte has no room for it."""
    if code < 0xB0 and len(data) > 255:
        code += 0x10
    size = bytes([len(data)]) if code < 0xB0 else struct.pack(">I", len(data))
    return bytes([code]) + size + data


def compound(code: int, count: int, inside: bytes) -> bytes:
    """A list, map or array; with longer sizes where one byte has no room for them."""
    if not code & 0x10 and len(inside) < 255 and count < 256:
        return bytes([code, len(inside) + 1, count]) + inside
    return bytes([code | 0x10]) + struct.pack(">II", len(inside) + 4, count) + inside


def of_list(rng: Random, items: list[bytes]) -> bytes:
    """A list in one of its encodings."""
    if not items and rng.random() < 0.7:
        return b"\x45"
    return compound(0xC0 if rng.random() < 0.8 else 0xD0, len(items), b"".join(items))


def described(rng: Random, name: str) -> bytes:
    """A type of the protocol, by number or by symbol."""
    spec = TYPES[name]
    how = rng.random()
    if how < 0.8:
        head = bytes([0, 0x53, spec["code"]])
    elif how < 0.88:
        head = b"\0\x80" + spec["code"].to_bytes(8)
    elif how < 0.98:
        head = b"\0" + run(one(rng, b"\xa3\xa3\xb3"), spec["symbol"].encode())
    else:
        head = b"\0" + octets.value(rng, 1)
    if spec["composite"]:
        return head + fields(rng, spec["fields"])
    return head + field(rng, spec["fields"][0])


def fields(rng: Random, entries: Any) -> bytes:
    """The list of a composite, at times with too few fields or too many."""
    likely, odd = one(rng, (0.2, 0.5, 0.9)), rng.random() < 0.2
    members = [
        field(rng, entry)
        if rng.random() < likely or (entry[2] & MANDATORY and not (odd and rng.random() < 0.3))
        else b"\x40"
        for entry in entries
    ]
    if not odd:
        while members and members[-1] == b"\x40" and rng.random() < 0.95:
            members.pop()
    elif rng.random() < 0.3:
        members += [octets.value(rng, 1)] * (1 + below(rng, 3))
    elif rng.random() < 0.5:
        del members[below(rng, len(members) + 1) :]
    return of_list(rng, members)


def field(rng: Random, entry: Any) -> bytes:
    """One of a field's type, and now and then of another."""
    name, kind, flags, _, choices, requires, *_ = entry
    if rng.random() < 0.03:
        return octets.value(rng, 2)
    if kind == COMPOSITE:
        return described(rng, "error")
    if name in NAMED and kind == SYMBOL:
        return run(one(rng, CODES[SYMBOL]), one(rng, NAMED[name]))
    if flags & MULTIPLE and rng.random() < 0.6:
        return several(rng, kind)
    if choices is not None and kind != BOOLEAN:
        code = one(rng, CODES[kind])
        return bytes([code]) + below(rng, 6).to_bytes(8)[8 - octets.FIXED[code] :]
    if kind == MAP:
        return symbol_map(rng)
    if kind == ANY:
        return special(rng, requires)
    return encoded(rng, kind)


def special(rng: Random, requires: tuple[str, ...]) -> bytes:
    """An id, an address, or any type that provides what is asked; anything at times."""
    if "message-id" in requires and rng.random() < 0.9:
        code = one(rng, MESSAGE_IDS)
        return bytes([code]) + content(rng, code)
    if "address" in requires and rng.random() < 0.9:
        return encoded(rng, STRING)
    for requirement in requires:
        if requirement in PROVIDERS and rng.random() < 0.9:
            return described(rng, one(rng, PROVIDERS[requirement]))
    return anything(rng)


def several(rng: Random, kind: int) -> bytes:
    """An array where one value could stand."""
    code = one(rng, CODES[kind] if rng.random() < 0.95 else octets.CODES)
    count = below(rng, 4)
    inside = bytes([code]) + b"".join(content(rng, code) for _ in range(count))
    return compound(0xE0 if rng.random() < 0.8 else 0xF0, count, inside)


def symbol_map(rng: Random) -> bytes:
    """A map with keys of which most are symbols."""
    count = below(rng, 4)
    of = SYMBOL if rng.random() < 0.7 else STRING
    pairs = []
    for _ in range(count):
        how = rng.random()
        pairs.append(
            run(one(rng, CODES[of]), one(rng, KEYS))
            if how < 0.85
            else encoded(rng, ULONG)
            if how < 0.9
            else anything(rng)
        )
        pairs.append(described(rng, "error") if rng.random() < 0.05 else anything(rng))
    return compound(0xC1 if rng.random() < 0.8 else 0xD1, 2 * count, b"".join(pairs))


def anything(rng: Random) -> bytes:
    """A value of any type: mostly a small one."""
    how = rng.random()
    if how < 0.6:
        code = one(rng, octets.CODES[:-1])
        return bytes([code]) + content(rng, code)
    if how < 0.85:
        return octets.value(rng, 2)
    return described(rng, one(rng, NAMES))


def numbers(rng: Random) -> bytes:
    """A map of many integers as keys, near each other or not; at times one of them twice."""
    count = one(rng, (3, 17, 200, 256, 257, 300))
    code = one(rng, b"\x50\x51\x52\x53\x54\x55\x60\x61\x70\x71\x80\x81")
    size = octets.FIXED[code]
    step = one(rng, (1, 1, 3, 40, 1 << 8 * (size - 1)))
    start = below(rng, 1 << 8 * size)
    keys = [(start + place * step) % (1 << 8 * size) for place in range(count)]
    inside = b"".join(bytes([code]) + key.to_bytes(size) + b"\x40" for key in keys)
    return compound(0xD1, 2 * count, inside)


def deep(rng: Random) -> bytes:
    """Values within each other, near the limit of levels."""
    levels = 120 + below(rng, 13)
    one_kind = one(rng, (None, None, 0, 0xC0, 0xC1, 0xE0))
    encoded_value = anything(rng) if rng.random() < 0.5 else b"\x45"
    for _ in range(levels - 3 * below(rng, 2)):
        kind = one(rng, (0, 0xC0, 0xC1, 0xE0)) if one_kind is None else one_kind
        if kind == 0:
            encoded_value = (
                one(rng, (b"\0\x53\x99", b"\0\xa3\1x", b"\0\x53\x77", b"\0\x40")) + encoded_value
            )
        elif kind == 0xC1:
            encoded_value = compound(0xC1, 2, b"\x40" + encoded_value)
        elif kind == 0xE0 and encoded_value[0] >= 0x40:
            encoded_value = compound(0xE0, 1, encoded_value)
        else:
            encoded_value = compound(0xC0, 1, encoded_value)
    return encoded_value


def array(rng: Random) -> bytes:
    """Elements of one constructor, which may be described; many where they take no bytes."""
    code = one(rng, octets.CODES[:-1])
    count = below(rng, 4)
    if octets.FIXED.get(code) == 0:
        count = one(rng, (0, 1, 2, 256, 65535, 65536, 65537))
    head = b"".join(descriptor(rng) for _ in range(below(rng, 3)))
    width = octets.FIXED.get(code)
    inside = b"" if width == 0 else b"".join(content(rng, code) for _ in range(count))
    return compound(one(rng, b"\xe0\xf0"), count, head + bytes([code]) + inside)


def descriptor(rng: Random) -> bytes:
    """Zero and a descriptor: of a type that is known, or of none."""
    how = rng.random()
    if how < 0.5:
        return bytes([0, 0x53, TYPES[one(rng, NAMES)]["code"]])
    if how < 0.7:
        return b"\0" + run(
            one(rng, b"\xa3\xb3"), one(rng, tuple(TYPES.values()))["symbol"].encode()
        )
    if how < 0.9:
        return b"\0" + one(rng, (b"\x44", b"\x53\x99", b"\x53\0", b"\xa3\1x", b"\x70\0\0\0\x24"))
    return b"\0" + octets.value(rng, 1)


def value(rng: Random) -> bytes:
    """A value to begin with."""
    return one(rng, VALUES)(rng)


def section(rng: Random, name: str) -> bytes:
    """A section of a message."""
    if name == "amqp-value" and rng.random() < 0.7:
        return b"\0\x53\x77" + value(rng)
    if name == "amqp-sequence" and rng.random() < 0.7:
        return b"\0\x53\x76" + of_list(rng, [anything(rng) for _ in range(below(rng, 4))])
    return described(rng, name)


SECTIONS = [name for name, spec in TYPES.items() if "section" in spec["provides"]]
HEADS, TAILS = SECTIONS[:5], SECTIONS[-1:]
BODIES: tuple[list[str], ...] = (
    ["data"],
    ["data"] * 2,
    ["amqp-sequence"],
    ["amqp-sequence"] * 2,
    ["amqp-value"],
    [],
)


def message(rng: Random) -> bytes:
    """Sections in order, and at times not."""
    likely = one(rng, (0.1, 0.4, 0.8))
    names = [name for name in HEADS if rng.random() < likely]
    names += one(rng, BODIES) + [name for name in TAILS if rng.random() < likely]
    sections = [section(rng, name) for name in names]
    if rng.random() < 0.15:
        sections.insert(below(rng, len(sections) + 1), section(rng, one(rng, SECTIONS)))
    if rng.random() < 0.05:
        sections.insert(below(rng, len(sections) + 1), anything(rng))
    return b"".join(sections)


def framed(body: bytes, layer: int = 0, channel: int = 0, skip: int = 2) -> bytes:
    """A frame; skip: its data offset."""
    size = 4 * skip + len(body)
    return struct.pack(">IBBH", size, skip, layer, channel) + bytes(4 * skip - 8) + body


def header(rng: Random) -> bytes:
    """A header of the protocol, or of a layer of it."""
    return b"AMQP" + bytes([one(rng, (0, 0, 2, 3, 1)), 1, 0, 0])


def frame(rng: Random) -> bytes:
    """A performative, one of SASL, an empty frame or a header."""
    how = rng.random()
    if how < 0.08:
        return header(rng)
    skip = 2 if rng.random() < 0.9 else 2 + below(rng, 4)
    channel = one(rng, (0, 0, 1, 65535))
    if how < 0.14:
        return framed(b"", one(rng, LAYERS), channel, skip)
    if how < 0.3:
        return framed(described(rng, one(rng, SASL)), 1, channel, skip)
    if how < 0.35:
        return framed(anything(rng), below(rng, 2), channel, skip)
    name = one(rng, PERFORMATIVES)
    body = described(rng, name)
    if name == "transfer" and rng.random() < 0.8:
        body += message(rng)
    return framed(body, 0, channel, skip)


def delivery(rng: Random) -> list[bytes]:
    """A message in pieces: in the end aborted or not, resumed, settled, on other links between."""
    channel, link = below(rng, 2), bytes([0x52, below(rng, 3)])
    encoded_message = message(rng) if rng.random() < 0.9 else b""
    cuts = sorted(below(rng, len(encoded_message) + 1) for _ in range(below(rng, 4)))
    frames: list[bytes] = []
    for start, stop in zip([0, *cuts], [*cuts, len(encoded_message)], strict=True):
        first, last = not frames, stop == len(encoded_message)
        items = [link if rng.random() < 0.95 else b"\x43", *[b"\x40"] * 10]
        if first or rng.random() < 0.2:
            items[1] = b"\x52" + bytes([below(rng, 4)])
            items[2] = b"\xa0\1" + bytes([below(rng, 3)])
            items[3] = b"\x43" if rng.random() < 0.9 else encoded(rng, UINT)
        if not last or rng.random() < 0.1:
            items[5] = b"\x41"
        if rng.random() < 0.15:
            items[7] = described(rng, one(rng, STATES))
        for place in (4, 8, 9, 10):  # settled, resume, aborted, batchable
            if rng.random() < 0.08:
                items[place] = encoded(rng, BOOLEAN)
        frames.append(
            framed(b"\0\x53\x14" + of_list(rng, items) + encoded_message[start:stop], 0, channel)
        )
        if rng.random() < 0.1:
            frames.append(framed(described(rng, one(rng, PERFORMATIVES)), 0, channel))
    return frames


VALUES: tuple[Callable[[Random], bytes], ...] = (
    anything, anything, anything, array, array, numbers, deep, symbol_map,
    lambda rng: described(rng, one(rng, NAMES)),
    lambda rng: described(rng, one(rng, NAMES)),
    lambda rng: octets.value(rng, 4),
    lambda rng: descriptor(rng) + anything(rng),
)  # fmt: skip
