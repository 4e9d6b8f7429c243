"""Bytes of AMQP 1.0 for azure-eventhub, azure-servicebus and rstream: good and damaged."""

from __future__ import annotations

import struct
from random import Random

FIXED = {
    0x40: 0, 0x41: 0, 0x42: 0, 0x43: 0, 0x44: 0, 0x45: 0, 0x50: 1, 0x51: 1, 0x52: 1, 0x53: 1,
    0x54: 1, 0x55: 1, 0x56: 1, 0x60: 2, 0x61: 2, 0x70: 4, 0x71: 4, 0x72: 4, 0x80: 8, 0x81: 8,
    0x82: 8, 0x83: 8, 0x98: 16,
}  # fmt: skip
#: The clients do not read these, or not each of them does.
RARE = {0x73: 4, 0x74: 4, 0x84: 8, 0x94: 16}
RUNS = (0xA0, 0xA1, 0xA3, 0xB0, 0xB1, 0xB3)
LISTS, MAPS, ARRAYS = (0xC0, 0xD0), (0xC1, 0xD1), (0xE0, 0xF0)
CODES = bytes((*FIXED, *RARE, *RUNS, *LISTS, *MAPS, *ARRAYS, 0))
WORDS = [b"", b"a", b"amqp:accepted:list", b"x-opt-offset", "größe".encode(), b"k" * 300, b"\xff"]
PERFORMATIVES = (*range(0x10, 0x19), *range(0x40, 0x45), 0x25, 0x99)
SECTIONS = (*range(0x70, 0x79),)
STATES = range(0x23, 0x28)


def content(random: Random, code: int, depth: int) -> bytes:
    """What stands behind a constructor."""
    if code in FIXED or code in RARE:
        n = FIXED.get(code, RARE.get(code, 0))
        if n in (1, 2, 4, 8) and random.randrange(3) == 0:
            return bytes(n - 1) + bytes([random.randrange(3)])
        return random.randbytes(n)
    if code in RUNS:
        word = random.choice(WORDS)
        if code < 0xB0:
            return bytes([len(word[:255])]) + word[:255]
        return struct.pack(">I", len(word)) + word
    if code == 0:
        return described(random, depth)[1:]
    if code in ARRAYS:
        return array(random, code, depth)
    many = random.choice((0, 1, 1, 2, 3, 5))
    items = many * 2 if code in MAPS else many
    inside = b"".join(
        key(random, depth - 1) if code in MAPS and i % 2 == 0 else value(random, depth - 1)
        for i in range(items)
    )
    return sized(random, code, items, inside)


def sized(random: Random, code: int, count: int, inside: bytes) -> bytes:
    """The head of a compound, and what it holds; the size is not always right."""
    size = len(inside) if random.randrange(20) else random.randrange(300)
    if code & 0x10:
        return struct.pack(">II", size + 4, count) + inside
    return bytes([(size + 1) & 255, count & 255]) + inside


def array(random: Random, code: int, depth: int) -> bytes:
    """Items without constructors of their own."""
    many = random.choice((0, 1, 2, 3, 4))
    if random.randrange(8) == 0:
        many = random.choice((255, 256, 1000)) if code == 0xF0 else 255
        of = random.choice((0x40, 0x41, 0x43, 0x45, 0x56))
    elif depth <= 0:
        of = random.choice(list(FIXED))
    else:
        of = random.choice(CODES)
    constructor = bytes([of])
    if of == 0 and random.randrange(2):  # as the specification has it
        of = random.choice(list(FIXED))
        constructor += b"\x53" + bytes([random.choice(STATES)]) + bytes([of])
    inside = constructor + b"".join(content(random, of, depth - 1) for _ in range(many))
    return sized(random, code, many, inside)


def key(random: Random, depth: int) -> bytes:
    """A key of a map: mostly a symbol or string."""
    if random.randrange(8) == 0:
        return value(random, depth)
    code = random.choice((0xA1, 0xA3, 0xA3, 0xB3))
    return bytes([code]) + content(random, code, depth)


def described(random: Random, depth: int) -> bytes:
    """A descriptor, mostly that of a delivery state, and a value."""
    kind = random.randrange(6)
    if kind < 4:
        head = b"\0\x53" + bytes([random.choice(STATES)])
    elif kind == 4:
        head = b"\0\x80" + struct.pack(">Q", random.choice((0x24, 0x70, 2**40)))
    else:
        head = b"\0" + value(random, depth - 1)
    if kind < 2:
        return head + b"\x45"
    return head + value(random, depth - 1)


def value(random: Random, depth: int) -> bytes:
    """Any value with its constructor."""
    kind = random.randrange(20)
    if depth <= 0 or kind < 8:
        code = random.choice(list(FIXED))
    elif kind < 13:
        code = random.choice(RUNS)
    elif kind == 13:
        code = random.choice((*RARE, 0x94))
    elif kind < 16:
        code = random.choice(LISTS)
    elif kind == 16:
        code = random.choice(MAPS)
    elif kind == 17:
        code = random.choice(ARRAYS)
    else:
        code = 0
    return bytes([code]) + content(random, code, depth)


def nested(depth: int, code: int) -> bytes:
    """Lists in lists, maps in maps, arrays in arrays or described values, so many levels deep."""
    heads, size = [b"\x43"], 1  # from the innermost
    for _ in range(depth):
        if code == 0:
            head = b"\0\x53\x24"
        elif code == 0xD1:
            head = b"\xd1" + struct.pack(">II", size + 6, 2) + b"\x43"
        else:
            head = bytes([code]) + struct.pack(">II", size + 4, 1)
        heads.append(head)
        size += len(head)
    return b"".join(reversed(heads))


def message(random: Random) -> bytes:
    """Sections, mostly in their order and each of its type."""
    sections = []
    for code in SECTIONS:
        if random.randrange(3):
            continue
        if code in (0x70, 0x73):
            many = random.choice((0, 1, 2, 5, 13, 14))
            if code == 0x70 and random.randrange(8):
                many = min(many, 5)
            inside = b"".join(value(random, 1) for _ in range(many))
            body = random.choice((b"\xc0", b"\xd0"))
            body += sized(random, body[0], many, inside)
        elif code == 0x75:
            body = bytes([random.choice((0xA0, 0xB0))])
            body += content(random, body[0], 0)
        elif code in (0x76, 0x77):
            body = value(random, 3)
        else:
            body = bytes([random.choice(MAPS)])
            body += content(random, body[0], 2)
        if random.randrange(15) == 0:
            body = value(random, 2)
        sections.append(b"\0\x53" + bytes([code]) + body)
    if random.randrange(8) == 0:
        random.shuffle(sections)
        sections += sections[:2]
    return b"".join(sections)


def performative(random: Random) -> bytes:
    """A frame's body; a transfer has a message behind it."""
    code = random.choice(PERFORMATIVES)
    many = random.choice((0, 1, 2, 3, 5, 7, 10, 11, 12, 14))
    inside = b"".join(value(random, 2) if random.randrange(3) else b"\x40" for _ in range(many))
    kind = random.choice((0xC0, 0xC0, 0xD0))
    body = bytes([kind]) + sized(random, kind, many, inside)
    if many == 0 and random.randrange(2):
        body = b"\x45"
    return b"\0\x53" + bytes([code]) + body + (message(random) if code == 0x14 else b"")


def damage(random: Random, data: bytes) -> bytes:
    """One to three damages."""
    octets = bytearray(data)
    for _ in range(random.randint(1, 3)):
        kind = random.randrange(6)
        at = random.randrange(len(octets) + 1)
        if kind == 0:
            del octets[at:]
        elif kind == 1:
            octets[at:at] = random.randbytes(random.randint(1, 4))
        elif kind == 2 and at < len(octets):
            octets[at] ^= 1 << random.randrange(8)
        elif kind == 3 and at < len(octets):
            octets[at] = random.choice(CODES)
        elif kind == 4:
            del octets[at : at + random.randint(1, 4)]
        else:
            octets[at : at + 1] = random.choice((b"\0", b"\xff", b"\x7f", b"\xff\xff\xff\xff"))
    return bytes(octets)
