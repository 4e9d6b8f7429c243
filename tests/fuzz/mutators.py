"""Changes of frames that leave the framing whole, so that what lies deeper is reached."""

from __future__ import annotations

import struct
from random import Random

from tests.fuzz.target import Mutator
from tests.support import amqp091_gen as gen
from tests.v1.mutation import TELLING

#: What readers of sizes and counts have to be asked.
EDGES = (0, 1, 2, 3, 4, 7, 8, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF)


def edit(data: bytearray, rng: Random, start: int = 0) -> None:
    """One small change at or after start."""
    place = rng.randrange(start, len(data) + 1) if len(data) >= start else len(data)
    how = rng.randrange(7)
    if how == 0 and place < len(data):
        data[place] = rng.choice((*TELLING, *b"tbBsuUiIlLfdDSAFTVxn", rng.randrange(256)))
    elif how == 1 and place < len(data):
        data[place] ^= 1 << rng.randrange(8)
    elif how == 2:
        data[place:place] = rng.randbytes(rng.randint(1, 6))
    elif how == 3:
        del data[place : place + rng.randint(1, 6)]
    elif how == 4:
        width = rng.choice((1, 2, 4, 8))
        data[place : place + width] = (rng.choice(EDGES) & ((1 << 8 * width) - 1)).to_bytes(width)
    elif how == 5 and len(data) > start:
        source = rng.randrange(start, len(data))
        data[place:place] = data[source : source + rng.randint(1, 40)]
    elif place < len(data):
        data[place] = (data[place] + rng.choice((1, -1))) & 255


def legacy(head: int) -> Mutator:
    """Of streams of 0-x after so many choosing bytes: sizes and ends of frames are made to fit."""

    def mutate(data: bytes, rng: Random) -> bytes:
        lead, stream = bytearray(data[:head].ljust(head, b"\0")), data[head:]
        if rng.randrange(4) == 0 and head:
            lead[rng.randrange(head)] = rng.randrange(256)
        frames = gen.frames(stream)
        if not frames or rng.randrange(12) == 0:
            frames.insert(rng.randint(0, len(frames)), gen.any_frame(rng))
            return bytes(lead) + b"".join(frames)
        place = rng.randrange(len(frames))
        frame = bytearray(frames[place])
        how = rng.randrange(10)
        if how == 0:
            frames.insert(rng.randint(0, len(frames)), bytes(frame))
        elif how == 1:
            del frames[place]
        elif len(frame) >= 8 and frame[:4] != b"AMQP":
            payload = frame[7:-1]
            for _ in range(rng.randint(1, 3)):
                edit(payload, rng)
            frame[3:7] = struct.pack(">I", len(payload))
            frames[place] = bytes(frame[:7] + payload + b"\xce")
        return bytes(lead) + b"".join(frames)

    return mutate


def v1(head: int) -> Mutator:
    """Of streams of 1.0: a frame's size is made to fit what it holds."""

    def mutate(data: bytes, rng: Random) -> bytes:
        lead, stream = bytearray(data[:head].ljust(head, b"\0")), data[head:]
        if rng.randrange(4) == 0 and head:
            lead[rng.randrange(head)] = rng.randrange(256)
        frames, place = [], 0
        while len(stream) - place >= 8:
            size = (
                8
                if stream[place : place + 4] == b"AMQP"
                else int.from_bytes(stream[place : place + 4])
            )
            if not 8 <= size <= len(stream) - place:
                break
            frames.append(stream[place : place + size])
            place += size
        frames.append(stream[place:])
        which = rng.randrange(len(frames))
        frame = bytearray(frames[which])
        how = rng.randrange(10)
        if how == 0:
            frames.insert(rng.randint(0, len(frames)), bytes(frame))
        elif how == 1:
            del frames[which]
        else:
            for _ in range(rng.randint(1, 3)):
                edit(frame, rng, min(8, len(frame)))
            if len(frame) >= 8 and frame[:4] != b"AMQP":
                frame[:4] = struct.pack(">I", len(frame))
            frames[which] = bytes(frame)
        return bytes(lead) + b"".join(frames)

    return mutate


def plain(head: int) -> Mutator:
    """Of anything after so many choosing bytes."""

    def mutate(data: bytes, rng: Random) -> bytes:
        lead, rest = bytearray(data[:head].ljust(head, b"\0")), bytearray(data[head:])
        if rng.randrange(4) == 0 and head:
            lead[rng.randrange(head)] = rng.randrange(256)
        for _ in range(rng.randint(1, 4)):
            edit(rest, rng)
        return bytes(lead) + bytes(rest)

    return mutate
