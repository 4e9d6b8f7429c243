"""proton's C library, where its headers and a C compiler are there (Debian: libqpid-proton11-dev).

Not one of the peers of the other tables: `bench.v1` asks for it by `loops`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from bench.peers.c_loop import compiled
from bench.work import WrongResultError

NAMES = ("message_decode", "message_encode", "data_decode", "data_encode")
TIMES = 100  # operations a call, so that the call itself is not seen


def loops() -> dict[str, Callable[[bytes], Callable[[], object]]]:
    """Name -> a function that makes, of bytes, a call which does the work TIMES times.

    Raises:
        Absent: it cannot be built here.
    """
    library = compiled("proton C", "protonc_loop.inc", "qpid-proton")

    def maker(name: str) -> Callable[[bytes], Callable[[], object]]:
        function = getattr(library, f"bench_{name}")
        function.restype = ctypes.c_uint64
        function.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]

        def make(raw: bytes) -> Callable[[], object]:
            size = len(raw)
            if function(raw, size, TIMES) < TIMES:
                raise WrongResultError(f"proton C: {name} of {size} bytes fails")
            return lambda: function(raw, size, TIMES)

        return make

    return {name: maker(name) for name in NAMES}
