"""Several taps of the same traffic, read at once: packets in the order of their times."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from amqpcodec._facade.interpreter import _codec

from .. import _capture, _v1
from .._capture import CaptureBatch, CaptureRows
from ._chain import Chain, damage
from ._errors import no_capture
from ._files import Pieces, Source
from ._limits import Unpacking
from ._order import CaptureFile


class _Tap:
    """A file that is open."""

    def __init__(self, file: CaptureFile, pieces: Pieces) -> None:
        self.file = file
        self.pieces = pieces
        self.octets = iter(pieces)


class Joined(Chain):
    """Opens each file when the packets before its first one are read: few are open at once."""

    _FULL, _READ = -2, -1

    def __init__(
        self,
        sources: Sequence[Source],
        core: _capture.CaptureReader,
        protocol: _codec.Protocol | _v1.V1Core,
        unpacking: Unpacking,
    ) -> None:
        """Nothing is opened yet."""
        super().__init__(sources, core, protocol, unpacking=unpacking)
        self._taps: dict[int, _Tap] = {}

    def read(
        self, stop: tuple[int, int] | None, end: bool
    ) -> Iterator[CaptureBatch | list[CaptureRows]]:
        """The batches that were not read yet; see Reader.read.

        Raises:
            ValueError: files that are joined are not read in pieces.
            CaptureError: a file is no capture.
        """
        if stop is not None or not end:
            raise ValueError("files that are joined are read to their ends at once")
        core = self.core
        self.refuse_after_failure()
        while not self._ended:
            remaining_files = self.files[self._next :]
            which = core.advance_taps(remaining_files[0].time if remaining_files else None)
            if which == self._FULL:
                yield from self._take()
            elif which != self._READ:
                self._feed(which)
            elif remaining_files:
                self._open(remaining_files[0])
            else:
                break
        while core.advance(last=True):
            yield from self._take()
        yield from self._take_all()
        if not self._ended:
            self._ended = True
            core.release()
            if self.at_end_of_file is not None:
                self.at_end_of_file()

    def _open(self, file: CaptureFile) -> None:
        self._next += 1
        if not file.empty:
            number = self.core.open_tap(file.name, os.path.basename(file.name))
            pieces = Pieces(file.source, 0, self.watch, self.unpacking)
            self._taps[number] = _Tap(file, pieces)

    def _feed(self, number: int) -> None:
        """Give the next bytes of a file, or close it."""
        core, tap = self.core, self._taps[number]
        damaged = core.tap_is_damaged(number)
        piece = None if damaged else self.next_of(tap.octets)
        if piece is not None:
            core.feed_tap(number, piece)
            return
        del self._taps[number]
        is_capture, at, pending_bytes = core.close_tap(number)
        if not is_capture:
            raise no_capture(tap.file.name)
        fault = damage(damaged, at, pending_bytes, tap.pieces)
        if fault is not None:
            message = f"{tap.file.name}: {fault}"
            self._damaged = message if self._damaged is None else f"{self._damaged}; {message}"

    def resume(self, state: bytes) -> None:
        """There is no state to go on from.

        Raises:
            ValueError: always.
        """
        raise ValueError("files that are joined are read to their ends at once: no state goes on")

    def stats(self) -> list[dict[str, Any]]:
        """What was counted of all files together."""
        names = ", ".join(file.name for file in self.files)
        return [{"file": names, **self.core.counts(), "damaged": self._damaged}]
