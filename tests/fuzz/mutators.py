"""Changes of frames that leave the framing whole, so that what lies deeper is reached."""

from __future__ import annotations

import struct
from random import Random

from tests.fuzz.target import Mutator
from tests.support import amqp091_gen as gen
from tests.v1.mutation import TELLING

#: What readers of sizes and counts have to be asked.
EDGES = (0, 1, 2, 3, 4, 7, 8, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF)


TAGS = b"tbBsuUIiIlLfdDSAFTVxn"


def below(rng: Random, limit: int) -> int:
    """A number from 0 to limit - 1; randrange() takes several times as long."""
    return int(rng.random() * limit)


def lead(data: bytes, head: int, rng: Random) -> bytearray:
    """The choosing bytes, one of them changed now and then."""
    found = bytearray(data[:head].ljust(head, b"\0"))
    if head and rng.random() < 0.25:
        found[below(rng, head)] = below(rng, 256)
    return found


def edit(data: bytearray, rng: Random, start: int = 0) -> None:
    """One small change at or after start."""
    place = start + below(rng, len(data) + 1 - start) if len(data) >= start else len(data)
    how = below(rng, 7)
    if how == 0 and place < len(data):
        marks = (TELLING, TAGS, range(256))[below(rng, 3)]
        data[place] = marks[below(rng, len(marks))]
    elif how == 1 and place < len(data):
        data[place] ^= 1 << below(rng, 8)
    elif how == 2:
        data[place:place] = rng.randbytes(1 + below(rng, 6))
    elif how == 3:
        del data[place : place + 1 + below(rng, 6)]
    elif how == 4:
        width = 1 << below(rng, 4)
        number = EDGES[below(rng, len(EDGES))] & ((1 << 8 * width) - 1)
        data[place : place + width] = number.to_bytes(width)
    elif how == 5 and len(data) > start:
        source = start + below(rng, len(data) - start)
        data[place:place] = data[source : source + 1 + below(rng, 40)]
    elif place < len(data):
        data[place] = (data[place] + 2 * below(rng, 2) - 1) & 255


def legacy(head: int) -> Mutator:
    """Of streams of 0-x after so many choosing bytes: sizes and ends of frames are made to fit."""

    def mutate(data: bytes, rng: Random) -> bytes:
        choosing = bytes(lead(data, head, rng))
        frames = gen.frames(data[head:])
        if not frames or rng.random() < 0.04:
            frames.insert(below(rng, len(frames) + 1), gen.any_frame(rng))
            return choosing + b"".join(frames)
        place = below(rng, len(frames))
        frame = bytearray(frames[place])
        how = below(rng, 10)
        if how == 0:
            frames.insert(below(rng, len(frames) + 1), bytes(frame))
        elif how == 1:
            del frames[place]
        elif len(frame) >= 8 and frame[:4] != b"AMQP":
            payload = frame[7:-1]
            for _ in range(1 + below(rng, 3)):
                edit(payload, rng)
            frame[3:7] = struct.pack(">I", len(payload))
            frames[place] = bytes(frame[:7] + payload + b"\xce")
        return choosing + b"".join(frames)

    return mutate


def plain(head: int) -> Mutator:
    """Of anything after so many choosing bytes."""

    def mutate(data: bytes, rng: Random) -> bytes:
        choosing, rest = lead(data, head, rng), bytearray(data[head:])
        for _ in range(1 + below(rng, 4)):
            edit(rest, rng)
        return bytes(choosing + rest)

    return mutate
