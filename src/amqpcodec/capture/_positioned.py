"""Files to read that keep their position themselves, wherever their bytes come from."""

from __future__ import annotations

import io
import os

__all__ = ["PositionedFile"]


class PositionedFile(io.RawIOBase):
    """A file that seeks; a subclass has ``readinto``, which moves ``_at``, and ``_end``."""

    def __init__(self, at: int = 0) -> None:
        """at: bytes from the start."""
        self._at = at

    def _end(self) -> int:
        """Bytes of the file."""
        raise NotImplementedError

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """Bytes from the start."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """As files have it."""
        if whence == os.SEEK_END:
            offset += self._end()
        elif whence == os.SEEK_CUR:
            offset += self._at
        self._at = max(0, offset)
        return self._at
