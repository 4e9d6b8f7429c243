"""Changes of frames that leave the framing whole, so that what lies deeper is reached."""

from __future__ import annotations

import struct
from dataclasses import replace
from random import Random

from tests.fuzz.target import Mutator
from tests.reference import encode_frame
from tests.reference.frames import Body, Frame
from tests.support import amqp091_gen as gen
from tests.support.bridge import V0_8, V0_9, V0_9_1, Version
from tests.support.generate import Generate
from tests.v1.mutation import TELLING

#: What readers of sizes and counts have to be asked.
EDGES = (0, 1, 2, 3, 4, 7, 8, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF)


TAGS = b"tbBsuUIiIlLfdDSAFTVxn"

#: By the first choosing byte of a stream, as the targets choose.
VERSIONS = (V0_9_1, V0_9_1, V0_9, V0_8)
DIALECTS = ("rabbitmq", "0-9-1")
CHANNELS = (1, 1, 2, 0, 65535)
METHODS = {protocol.name: tuple(protocol.facts.methods) for protocol in VERSIONS}
#: Of each class with content: its number, and the methods that have it.
CONTENT = {
    protocol.name: [
        (class_id, names)
        for class_id in protocol.facts.properties
        if (
            names := [
                name
                for name, fact in protocol.facts.methods.items()
                if fact.class_id == class_id and fact.content
            ]
        )
    ]
    for protocol in VERSIONS
}


def below(rng: Random, limit: int) -> int:
    """A number from 0 to limit - 1; randrange() takes several times as long."""
    return int(rng.random() * limit)


def lead(data: bytes, head: int, rng: Random) -> bytearray:
    """The choosing bytes, one of them changed now and then."""
    choosing = bytearray(data[:head].ljust(head, b"\0"))
    if head and rng.random() < 0.25:
        choosing[below(rng, head)] = below(rng, 256)
    return choosing


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


def fresh(rng: Random, version: Version) -> list[bytes]:
    """New frames of a version: one of any kind, or those of a message."""
    how = below(rng, 8)
    if how == 0:
        return [gen.any_frame(rng)]
    dialect = DIALECTS[below(rng, 2)]
    wild = Generate(rng, dialect, facts=version.facts)
    parts: list[Frame]
    if how <= 3:
        parts = [wild.method(rng.choice(METHODS[version.name]))]
    else:
        class_id, names = rng.choice(CONTENT[version.name])
        pieces = [rng.randbytes(1 + below(rng, 40)) for _ in range(below(rng, 3))]
        size = sum(map(len, pieces)) + (below(rng, 12) == 0)
        header = wild.header(class_id)
        parts = [wild.method(rng.choice(names)), replace(header, body_size=size)]
        parts = [header] if how <= 5 else parts + [Body(piece) for piece in pieces]
    channel = CHANNELS[below(rng, len(CHANNELS))]
    return [encode_frame(channel, part, dialect, version.facts) for part in parts]


def legacy(head: int) -> Mutator:
    """Of streams of 0-x after so many choosing bytes: sizes and ends of frames are made to fit.

    The first choosing byte, where there is one, is that of the version.
    """

    def mutate(data: bytes, rng: Random) -> bytes:
        choosing = bytes(lead(data, head, rng))
        frames = gen.frames(data[head:])
        place = below(rng, len(frames) + 1)
        how = below(rng, 40)
        if how <= 3 or not frames:
            frames[place : place + below(rng, 2)] = fresh(
                rng, VERSIONS[choosing[0] & 3 if head else 0]
            )
        elif how == 4:
            frames[place:place] = frames[below(rng, len(frames)) :][: 1 + below(rng, 4)]
        elif how == 5:
            some = frames[below(rng, len(frames)) :][: 1 + below(rng, 4)]
            frames[place:place] = some * (2 + below(rng, 7))
        elif how <= 8:
            del frames[place : place + 1 + below(rng, 2)]
        elif how == 9:
            at = below(rng, len(frames))
            frames[at], frames[-1] = frames[-1], frames[at]
        elif how == 10:
            stream = bytearray(b"".join(frames))
            edit(stream, rng)
            return choosing + stream
        elif place < len(frames) and len(frames[place]) >= 8 and frames[place][:4] != b"AMQP":
            frame = frames[place]
            payload = bytearray(frame[7:-1])
            for _ in range(1 + below(rng, 3)):
                edit(payload, rng)
            frames[place] = frame[:3] + struct.pack(">I", len(payload)) + payload + b"\xce"
        return choosing + b"".join(frames)

    return mutate


def plain(head: int) -> Mutator:
    """Of anything after so many choosing bytes."""

    def mutate(data: bytes, rng: Random) -> bytes:
        choosing, remainder = lead(data, head, rng), bytearray(data[head:])
        for _ in range(1 + below(rng, 4)):
            edit(remainder, rng)
        return bytes(choosing + remainder)

    return mutate
