"""The parts of a chain of files, outlined at once and then followed in order.

What a reader holds where a part begins depends on all before it. An outline says what a reader that
comes to a part has to read of it, so that it then holds what it would have held after all of it; it
is made without knowing what is before (see _core/capture/leaps.pxi). It has packets of
connections as they are, credentials included.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from .. import _capture
from ._files import Pieces, Source
from ._limits import Unpacking
from ._link import PROBE_BYTES, look_through
from ._ports import ServerPorts
from ._read import SEARCH_BYTES, Reader

__all__ = ["Part", "apply_outlines", "make_outline", "parts_between"]

#: Bytes of a file that say what it is.
HEAD = 24


class Part(NamedTuple):
    """Of a file, by its number in the chain: from the first record at `start` or after it, to the
    first one at `stop` or after it; None: to the end of the file."""

    file: int
    start: int
    stop: int | None


def parts_between(begin: tuple[int, int], end: tuple[int, int]) -> list[Part]:
    """What is between two places of a chain, (number of the file, bytes in it)."""
    result = []
    while begin[0] < end[0]:
        result.append(Part(*begin, None))
        begin = begin[0] + 1, 0
    return [*result, Part(*begin, end[1])] if begin[1] < end[1] else result


def make_outline(reader: Reader, part: Part, most: int) -> bytes | None:
    """The outline of a part; None: it has to be read as a whole.

    reader: a new one of the file, which gives rows in the order in which they are found. most:
    bytes that an outline may have.

    Raises:
        OSError: the file cannot be read.
    """
    chain = reader._one()
    core, source = chain.core, chain.files[0].source
    core.begin(reader.name, "")
    start = 0
    if part.start:
        first_offset = _first(core, source, part, chain.unpacking)
        if first_offset is None:
            return None
        start = first_offset
    pieces = Pieces(source, start, unpacking=chain.unpacking)
    core.stop_at(part.stop)
    detected_ports = _detected_ports(source, reader._ports, chain.unpacking) if start else []
    builder = _capture.CaptureOutline(core, start, most, detected_ports)
    remainder = b""
    for piece in pieces:
        data = remainder + bytes(piece) if remainder else piece
        used = builder.feed(data)
        remainder = bytes(data[used:])
        if part.stop is not None and core.at >= part.stop:
            break
    else:
        if remainder or part.stop is not None:
            return None  # the file is cut
    return builder.take() if pieces.finds(start) else None


def _detected_ports(source: Source, ports: ServerPorts, unpacking: Unpacking) -> list[int]:
    """What the beginning of a file shows of ports that its reader has detected later on."""
    if not ports.detect:
        return []
    ends = _capture.CaptureEnds(ports.numbers, detect_ports=True)
    for count in look_through(Pieces(source, unpacking=unpacking), ends):
        if count >= PROBE_BYTES:
            break
    return ends.detected_ports


def _first(
    core: _capture.CaptureReader, source: Source, part: Part, unpacking: Unpacking
) -> int | None:
    """Where the part's first record is, as far as one can tell; the core is told the format."""
    head = bytes(next(iter(Pieces(source, unpacking=unpacking)), b"")[:HEAD])
    ends = _capture.CaptureEnds(())
    ends.feed(head)
    if not ends.cuttable:
        return None
    core.stop_at(1)
    core.feed(head)
    core.advance()
    raw = b""
    pieces = iter(Pieces(source, part.start, unpacking=unpacking))
    while len(raw) < SEARCH_BYTES and (piece := next(pieces, None)) is not None:
        raw += piece
    position = ends.first_record(raw, len(raw) < SEARCH_BYTES)
    at = part.start + position
    return None if position < 0 or (part.stop is not None and at >= part.stop) else at


def apply_outlines(reader: Reader, outlines: Sequence[tuple[Part, bytes]]) -> bool:
    """Go on after these parts, of which each begins where the one before ends.

    False: an outline does not go on from where the reader is; the reader is of no use then.
    """
    chain = reader._one()
    core = chain.core
    for part, data in outlines:
        name = chain.files[part.file].name
        if part.start == 0 and core.between:
            core.begin(name, os.path.basename(name))
        if core.between or core.name != name or not _capture.follow_outline(core, data):
            return False
        if part.stop is None:
            core.end()
    return True
