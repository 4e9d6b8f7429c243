"""Memory that runs out: one allocation of a call fails, then the next, until all have.

The call has to raise MemoryError, or give what it gives otherwise where it can do without; the
same call after it has to give that, too. A process of its own does this, with `no_memory.h` between
it and the allocators of libc and of Python's objects. (Not of the arrays in them: where a list
cannot grow, code that Cython 3.3 makes of a list comprehension drops its item twice.)
"""

from __future__ import annotations

import ctypes
import importlib
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.paths import REPO

SOURCE = Path(__file__).with_suffix(".h")
#: More allocations than any case makes.
MOST = 20_000
#: Kinds of allocations, as in no_memory.h.
KINDS = ["core", "python"]


def check(module: str, case: str, folder: Path, *, python: bool = True) -> None:
    """Run a case of a module of tests: CASES[case]() gives a call, whose results can be compared.

    python: also the memory of Python's objects. Not where Python's generators run, of which those
    of CPython 3.13 are freed twice where there is no memory for one.
    """
    if sys.platform != "linux" or "asan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("takes glibc's malloc")
    kinds = KINDS if python else KINDS[:1]
    library = folder / "no_memory.so"
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    command = [compiler, "-O1", "-shared", "-fPIC", "-x", "c", str(SOURCE), "-o", str(library)]
    try:
        built = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip(f"no {compiler}")
    assert built.returncode == 0, built.stderr
    paths = [str(REPO), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    process = subprocess.run(
        [sys.executable, "-m", "tests.support.no_memory", module, case, *kinds],
        env={**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": os.pathsep.join(paths)},
        cwd=REPO,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    assert sum(int(line.split()[1]) for line in process.stdout.splitlines()) > 0, process.stdout


def modules() -> Iterator[tuple[int, int]]:
    """Where the code of the core's modules is."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        match = re.match(r"(\w+)-(\w+) r-xp .*/amqpcodec/_\w+\.[^/]*so$", line)
        if match:
            yield int(match[1], 16), int(match[2], 16)


def run_out(call: Callable[[], Any], expected: Any, library: Any, kind: int) -> int:
    """How many allocations of a kind failed, one a call."""
    for after in range(MOST):
        try:
            library.no_memory_begin(kind, after)
            result = call()
        except MemoryError:
            result = MemoryError
        finally:
            failed = library.no_memory_end(kind)
        assert result is MemoryError or result == expected, after
        if not failed:
            assert result is not MemoryError
            return after
        if after % 16 == 0:
            assert call() == expected, after
    raise AssertionError(f"more than {MOST} allocations")


def main(module: str, case: str, *kinds: str) -> None:
    from amqpcodec import batch

    call = importlib.import_module(module).CASES[case]()
    expected = call()
    batch.limit_memory(0)
    assert call() == expected
    library = ctypes.CDLL(None)
    for first, last in modules():
        library.no_memory_watch(ctypes.c_size_t(first), ctypes.c_size_t(last))
    library.no_memory_hook(ctypes.pythonapi.PyMem_GetAllocator, ctypes.pythonapi.PyMem_SetAllocator)
    for kind in kinds:
        print(kind, run_out(call, expected, library, KINDS.index(kind)))
    assert call() == expected


if __name__ == "__main__":
    main(*sys.argv[1:])
