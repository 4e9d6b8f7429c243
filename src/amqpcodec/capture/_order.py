"""The files of a chain in the order in which they were written."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import NamedTuple

from amqpcodec._facade.interpreter import _codec

from .. import _capture, _v1
from ._errors import no_capture
from ._files import Pieces, Source, source_name
from ._limits import Unpacking


class CaptureFile(NamedTuple):
    """A file and its first packet. time: ns since 1970; None: it has no packet, or no clock."""

    source: Source
    name: str
    time: int | None
    empty: bool


def capture_file_of(
    source: Source, protocol: _codec.Protocol | _v1.V1Core, unpacking: Unpacking
) -> CaptureFile:
    """Read as far as the first packet.

    Raises:
        CaptureError: the file is no capture. One that ends before it could tell is none either, but
            in a chain it is the newest file, of which nothing was written yet: it is empty.
        OSError: as open() does.
    """
    core = _capture.CaptureReader(protocol, ["error"], (), True, False, 1)
    name = source_name(source)
    core.begin(name, "")
    place = source.tell() if not isinstance(source, str | os.PathLike) else 0
    has_packet, time = False, None
    for piece in Pieces(source, unpacking=unpacking):
        core.feed(piece)
        has_packet, time = core.peek()
        if has_packet or core.damaged:
            break
    if not isinstance(source, str | os.PathLike):
        source.seek(place)
    if core.damaged and not core.known:
        raise no_capture(name)
    return CaptureFile(source, name, time, not core.known)


def in_order(files: Iterable[CaptureFile]) -> list[CaptureFile]:
    """By first packet. Names decide between equal times; files without one stand at the end."""
    return sorted(files, key=lambda file: (file.time is None, file.time or 0, natural(file.name)))


def natural(name: str) -> tuple[list[str | int], str]:
    """A key by which cap2 stands before cap10."""
    parts: list[str | int] = list(re.split(r"([0-9]+)", name))
    parts[1::2] = map(int, parts[1::2])  # texts and numbers take turns, a text first
    return parts, name
