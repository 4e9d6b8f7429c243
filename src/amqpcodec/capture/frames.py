"""Streams to AMQP 0-9-1 frames, by the column decoder."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .tcp import Chunk, Stream

__all__ = ["Frame", "split"]

# A frame's start and end in consecutive octets, and what is wrong with it.
_Part = tuple[int, int, str | None]


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame as captured, or octets that are none; ``error`` says what is wrong with either."""

    connection: str  # "client > server"
    connection_index: int
    direction: str  # "client" or "server": the sender
    timestamp: int | None  # µs since 1970 UTC, of the packet with the last octet
    packet: int  # number of that packet, from 1
    octets: bytes  # envelope and end octet included
    error: str | None = None


def split(streams: Iterable[Stream]) -> Iterator[Frame]:
    """The frames of all streams, in file order: by the packet that completed each.

    That is the packet with the last octet, or the one that closed a hole before it.
    """
    ordered = (_split_stream(stream) for stream in streams)
    for _, frame in heapq.merge(*ordered, key=lambda item: item[0]):
        yield frame


def _split_stream(stream: Stream) -> Iterator[tuple[int, Frame]]:
    """The frames of one stream, each with the number of the packet that completed it."""
    lost = 0
    end = 0
    for piece in stream.pieces():
        octets = b"".join(chunk.data for chunk in piece)
        lost += piece[0].offset - end
        end = piece[-1].end
        if lost:
            # Where a frame begins behind a gap would be a guess.
            parts: list[_Part] = [(0, len(octets), f"{lost} octets before these were not captured")]
        else:
            parts = _boundaries(octets)
        yield from _frames(stream, piece, octets, parts)


def _boundaries(octets: bytes) -> list[_Part]:
    """Start, end and error of every frame in consecutive octets; nothing is left out."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError(
            "splitting a capture into frames needs pyarrow: pip install 'amqpcodec[arrow]'"
        ) from None
    from amqpcodec import batch

    fields = ["offset", "frame", "error"]
    rows = pyarrow.record_batch(batch.decode(octets, protocol="0-9-1", fields=fields))
    starts, frames, errors = (rows.column(name).to_pylist() for name in fields)
    return [
        (start, start + len(frame), error)
        for start, frame, error in zip(starts, frames, errors, strict=True)
    ]


def _frames(
    stream: Stream, piece: list[Chunk], octets: bytes, parts: list[_Part]
) -> Iterator[tuple[int, Frame]]:
    """Frames out of their boundaries, with the packet of the last octet looked up."""
    base = piece[0].offset
    starts = [chunk.offset - base for chunk in piece]
    name = " > ".join(stream.connection)
    for start, end, error in parts:
        chunk = piece[bisect_right(starts, end - 1) - 1]
        timestamp = None if chunk.timestamp_ns is None else chunk.timestamp_ns // 1000
        yield (
            chunk.ready,
            Frame(
                name,
                stream.connection_index,
                stream.direction,
                timestamp,
                chunk.packet,
                octets[start:end],
                error,
            ),
        )
