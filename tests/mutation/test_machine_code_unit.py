"""Which mutants a compiler makes the code of no mutant from: of a module of a few lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutation import machine_code
from tests.mutation.sites import Build
from tests.support.core_build import PACKAGE, BuildError

MODULE = """\
#include "part.h"
unsigned char bits(void) { return mutant(0x1) ? 0xE0 - 0x80 : (unsigned char)(0xE0 + 0x80); }
int more(int n) { return mutant(2) ? n + 1 : n; }
int ends(int n) { if (mutant(3) ? n < 5 : n < 6) return 0; return 0; }
"""
PART = "static inline int part(int n) { return mutant(4) ? n - 1 : n; }\n"


def build_of(folder: Path, module: str) -> Build:
    package = folder / PACKAGE
    (package / "_core").mkdir(parents=True)
    (package / "_core" / "part.h").write_text(PART)
    (package / "_one.c").write_text(module)
    (package / "_other.c").write_text('#include "part.h"\nint of(int n) { return part(n); }\n')
    return Build([], folder)


def test_what_is_no_change(tmp_path: Path) -> None:
    """The same bits, a branch that does what comes after it, and what no module has."""
    built = build_of(tmp_path, MODULE)
    assert machine_code.unchanged(built, [1, 2, 3, 4, 5]) == [1, 3, 5]
    assert machine_code.unchanged(built, []) == []


def test_numbers_as_cython_writes_them() -> None:
    assert machine_code.sites_of("if (mutant(0x98) && mutant(9) && no_mutant(7)) {") == {0x98, 9}


def test_what_does_not_compile(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="error"):
        machine_code.unchanged(build_of(tmp_path, MODULE + "int ends;\n"), [1])


def test_where_there_is_no_module(tmp_path: Path) -> None:
    """Nothing says then that a mutant is none."""
    with pytest.raises(BuildError, match="no module in C"):
        machine_code.unchanged(Build([], tmp_path), [1])
