"""Loops of C around a peer's C library, compiled where the machine can."""

from __future__ import annotations

import ctypes
import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from bench.work import Absent


def compiled(peer: str, source: str, library: str) -> ctypes.CDLL:
    """The functions of a source beside this module, linked with the library.

    Raises:
        Absent: no compiler, or the library or its headers are not there.
    """
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "loop.so")
        command = [*shlex.split(os.environ.get("CC", "cc")), "-O2", "-fPIC", "-shared", "-x", "c"]
        command += [str(Path(__file__).with_name(source)), "-o", str(target), f"-l{library}"]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
            return ctypes.CDLL(str(target))
        except FileNotFoundError:
            raise Absent(f"{peer}: no C compiler") from None
        except subprocess.CalledProcessError as error:
            reasons = [line for line in (error.stderr or "").splitlines() if "error:" in line]
            reason = reasons[0].split("error:")[-1].strip() if reasons else "cannot link"
            raise Absent(f"{peer} does not build here: {reason}") from None
        except OSError as error:
            raise Absent(f"{peer} does not load here: {error}") from None
