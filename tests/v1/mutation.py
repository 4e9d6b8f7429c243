"""Frames of AMQP 1.0 made wrong."""

from __future__ import annotations

import random

#: Bytes that mean something to a reader: constructors, widths, counts.
TELLING = (0, 1, 0x40, 0x41, 0x45, 0x53, 0x56, 0xA1, 0xA3, 0xC0, 0xC1, 0xD0, 0xE0, 0xF0, 0xFF)


def mutated(data: bytes, source: random.Random) -> bytes:
    """Bytes behind the head of a frame changed, its size made to fit."""
    octets = bytearray(data)
    for _ in range(source.randint(1, 4)):
        kind = source.randrange(4)
        place = source.randrange(8, len(octets) + 1)
        if kind == 0 and place < len(octets):
            octets[place] = source.choice((*TELLING, source.randrange(256)))
        elif kind == 1:
            octets[place:place] = bytes(source.randrange(256) for _ in range(source.randint(1, 4)))
        elif kind == 2:
            del octets[place : place + source.randint(1, 4)]
        elif place < len(octets):
            octets[place] ^= 1 << source.randrange(8)
    octets[:4] = len(octets).to_bytes(4, "big")
    return bytes(octets)
