"""Memory that ends at a page nobody may read: reading on past its end stops the process."""

from __future__ import annotations

import ctypes
import functools
import mmap

PROT_NONE = 0


@functools.cache
def c_library() -> ctypes.CDLL:
    """The process's own, opened once: each opening makes types anew."""
    return ctypes.CDLL(None, use_errno=True)


def guarded_memory(size: int) -> tuple[mmap.mmap, int]:
    """Writable memory of at least this size, and how much of it lies before the guard page."""
    room = max(1, -(-size // mmap.PAGESIZE)) * mmap.PAGESIZE
    memory = mmap.mmap(-1, room + mmap.PAGESIZE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    args = ctypes.c_void_p(address + room), ctypes.c_size_t(mmap.PAGESIZE)
    assert c_library().mprotect(*args, PROT_NONE) == 0, ctypes.get_errno()
    return memory, room


class Guarded:
    """One place for many inputs in turn, each ending at the guard page."""

    def __init__(self, size: int) -> None:
        memory, self._room = guarded_memory(size)
        self._writable = memoryview(memory)
        self._readable = self._writable.toreadonly()

    def __call__(self, data: bytes) -> memoryview:
        """A view of these bytes, until the next input takes their place."""
        start = self._room - len(data)
        self._writable[start : self._room] = data
        return self._readable[start : self._room]
