"""Bytes made wrong: cut, longer, changed, or with another payload."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random


def reframe(data: bytes, payload: bytes) -> bytes:
    """A frame of 0-x with another payload, its size and end put right."""
    return data[:3] + len(payload).to_bytes(4, "big") + payload + b"\xce"


def damage(
    random: Random, data: bytes, pieces: Sequence[bytes] = (), telling: Sequence[int] = ()
) -> bytes:
    """One to three damages: cuts, insertions, flipped bits, other bytes.

    pieces: what is written over some bytes, lengths for example; telling: bytes that mean
    something to a reader, of which some are put in.
    """
    octets = bytearray(data)
    kinds = [
        "end",
        "delete",
        "insert",
        "set",
        "flip",
        *["piece"] * any(pieces),
        *["tell"] * any(telling),
    ]
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(octets) + 1)
        kind = random.choice(kinds)
        if kind == "end":
            del octets[at:]
        elif kind == "delete":
            del octets[at : at + random.randint(1, 4)]
        elif kind == "insert":
            octets[at:at] = random.randbytes(random.randint(1, 4))
        elif kind == "piece":
            piece = random.choice(pieces)
            octets[at : at + len(piece)] = piece
        elif at < len(octets):
            if kind == "set":
                octets[at] = random.randrange(256)
            elif kind == "tell":
                octets[at] = random.choice(telling)
            else:
                octets[at] ^= 1 << random.randrange(8)
    return bytes(octets)


def with_byte(data: bytes, at: int, byte: int) -> bytes:
    """The data with another byte at a place, which may be beyond the end: it is counted round."""
    at %= len(data)
    return data[:at] + bytes([byte]) + data[at + 1 :]
