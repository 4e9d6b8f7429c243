"""A cursor over bytes that never reads past its end."""

from __future__ import annotations

from tests.reference.errors import Malformed


class Reader:
    """Reads big-endian numbers and strings from ``data[pos:end]``; positions are absolute."""

    def __init__(self, data: bytes, pos: int, end: int) -> None:
        self.data = data
        self.pos = pos
        self.end = end

    def take(self, count: int, what: str) -> bytes:
        available = self.end - self.pos
        if count > available:
            text = f"{what} needs {count} bytes, {available} remain"
            raise Malformed("TruncatedError", self.pos, text)
        piece = self.data[self.pos : self.pos + count]
        self.pos += count
        return piece

    def uint(self, size: int, what: str) -> int:
        return int.from_bytes(self.take(size, what), "big")

    def sint(self, size: int, what: str) -> int:
        return int.from_bytes(self.take(size, what), "big", signed=True)

    def shortstr(self, what: str = "shortstr") -> bytes:
        return self.take(self.uint(1, what), what)

    def longstr(self, what: str = "longstr") -> bytes:
        return self.take(self.uint(4, what), what)

    def sub(self, what: str) -> Reader:
        """A reader of the next u32-counted run of bytes; this one moves behind it."""
        size = self.uint(4, what)
        first = self.pos
        self.take(size, what)
        return Reader(self.data, first, first + size)


def uint(value: int, size: int) -> bytes:
    return value.to_bytes(size, "big")


def sint(value: int, size: int) -> bytes:
    return value.to_bytes(size, "big", signed=True)


def shortstr(octets: bytes) -> bytes:
    return uint(len(octets), 1) + octets


def longstr(octets: bytes) -> bytes:
    return uint(len(octets), 4) + octets
