"""Mutants that the compiler makes the code of no mutant from: none that a test could see.

A number that has the same bits in another spelling, a branch that does what the lines after it do,
what this platform leaves out. Each module with such a site is compiled once with the mutant and
once with none, and both object files are the same, byte by byte. A mutant whose code differs may
be alike for all that: then it takes a person to say so, in `equivalent.toml`.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.mutation.sites import Build
from tests.support.core_build import PACKAGE, BuildError

HEADER = Path(__file__).with_name("one_mutant.h")
#: A site in C: Cython writes large numbers in hexadecimal.
SITE = re.compile(r"\bmutant\((0x[0-9A-Fa-f]+|[0-9]+)\)")
NONE = -1
#: The C compiler, with what it takes for every module of Python.
COMPILER = [
    part
    for name in ("CC", "CFLAGS", "CCSHARED")
    for part in shlex.split(sysconfig.get_config_var(name) or "")
]
#: The code of a function does not depend on what others are like.
OPTIONS = ("-w", "-g0", "-O2", "-fno-inline")


def unchanged(built: Build, numbers: list[int]) -> list[int]:
    """Those of these mutants without which each module has the same machine code."""
    # Small ones first: one whose code differs is enough.
    modules = sorted((built.folder / PACKAGE).glob("_*.c"), key=lambda path: path.stat().st_size)
    if not modules:  # of which every mutant would be none
        raise BuildError(f"no module in C in {built.folder / PACKAGE}")
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(os.cpu_count()) as pool:
        texts = dict(zip(modules, pool.map(preprocessed, modules), strict=True))
        holding = {module: sites_of(text).intersection(numbers) for module, text in texts.items()}

        def code(module: Path, number: int) -> bytes:
            return object_code(Path(name, str(number)), module.name, texts[module], number)

        some = [module for module in modules if holding[module]]
        plain = dict(zip(some, pool.map(lambda module: code(module, NONE), some), strict=True))

        def is_none(number: int) -> bool:
            having = [module for module in modules if number in holding[module]]
            return all(code(module, number) == plain[module] for module in having)

        return [
            number for number, none in zip(numbers, pool.map(is_none, numbers), strict=True) if none
        ]


def sites_of(text: str) -> set[int]:
    """The numbers of the mutants that a source in C has."""
    return {int(number, 0) for number in SITE.findall(text)}


def preprocessed(module: Path) -> str:
    """A module and all that it includes as one text, which leaves MUTANT open."""
    package = module.parent
    folders = [package / "_core", package / "_gen", sysconfig.get_path("include")]
    included = [f"-I{folder}" for folder in folders]
    return _run("-E", "-P", "-include", str(HEADER), *included, str(module))


def object_code(folder: Path, name: str, text: str, number: int) -> bytes:
    """What is compiled of a text with one mutant; a file says what it was compiled from."""
    folder.mkdir(exist_ok=True)
    source, result = folder / name, folder / f"{name}.o"
    source.write_text(text, encoding="utf-8")
    _run(*OPTIONS, f"-DMUTANT={number}", "-c", name, "-o", result.name, folder=folder)
    code = result.read_bytes()
    source.unlink()
    result.unlink()
    return code


def _run(*arguments: str, folder: Path | None = None) -> str:
    process = subprocess.run([*COMPILER, *arguments], capture_output=True, text=True, cwd=folder)
    if process.returncode:
        raise BuildError(process.stderr[-4000:])
    return process.stdout
