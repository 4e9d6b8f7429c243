"""proton's C library, where its headers and a C compiler are there (Debian: libqpid-proton11-dev).

Not one of the peers of the other tables: `bench.v1` asks for it by `loops`.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench.work import Absent, WrongResultError

SOURCE = Path(__file__).with_name("protonc_loop.inc")
NAMES = ("message_decode", "message_encode", "data_decode", "data_encode")
TIMES = 100  # operations a call, so that the call itself is not seen


def _library() -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "loop.so")
        command = [os.environ.get("CC", "cc"), "-O2", "-fPIC", "-shared", "-x", "c", str(SOURCE)]
        command += ["-o", str(target), "-lqpid-proton"]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
            return ctypes.CDLL(str(target))
        except FileNotFoundError:
            raise Absent("proton C: no C compiler") from None
        except subprocess.CalledProcessError as error:
            reasons = [line for line in (error.stderr or "").splitlines() if "error:" in line]
            reason = reasons[0].split("error:")[-1].strip() if reasons else "cannot link"
            raise Absent(f"proton C does not build here: {reason}") from None
        except OSError as error:
            raise Absent(f"proton C does not load here: {error}") from None


def loops() -> dict[str, Callable[[bytes], Callable[[], object]]]:
    """Name -> a function that makes, of octets, a call which does the work TIMES times.

    Raises:
        Absent: it cannot be built here.
    """
    library = _library()

    def maker(name: str) -> Callable[[bytes], Callable[[], object]]:
        function = getattr(library, f"bench_{name}")
        function.restype = ctypes.c_uint64
        function.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]

        def make(octets: bytes) -> Callable[[], object]:
            size = len(octets)
            if function(octets, size, TIMES) < TIMES:
                raise WrongResultError(f"proton C: {name} of {size} octets fails")
            return lambda: function(octets, size, TIMES)

        return make

    return {name: maker(name) for name in NAMES}
