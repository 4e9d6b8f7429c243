"""wire/promise.h: a build that checks writes stops at a store beyond the newest reservation."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.paths import REPO

CORE = REPO / "src" / "amqpcodec" / "_core"
#: A buffer of 64 bytes: 8 of them are reserved, then a case does what it does.
PROGRAM = """
#include "wire/promise.h"
int main(int argc, char **argv) {
    static uint8_t memory[64];
    uint8_t *promised, *at = memory, *end = memory + sizeof(memory);
    (void)argc;
    (void)argv;
    (void)promised;
    (void)end;
    promise_begin(&promised, at, end);
    promise_make(&promised, at, 8, end);
    %s
    return 0;
}
"""
WITHIN = "memset(at, 1, 8); at += 8;"
CASES = {
    "a store past the reservation, seen at the next one": (
        "memset(at, 1, 12); at += 8; promise_make(&promised, at, 8, end);",
        "past what it reserved",
    ),
    "a store past the reservation, seen when the bytes are taken": (
        "memset(at, 1, 9); at += 8; promise_check(promised, at, end);",
        "past what it reserved",
    ),
    "a writer that goes on further than it reserved": (
        "at += 12; promise_make(&promised, at, 1, end);",
        "more than it reserved",
    ),
    "a store after a smaller reservation took the place of a larger one": (
        "promise_make(&promised, at, 2, end); memset(at, 1, 4); promise_end(&promised, at, end);",
        "past what it reserved",
    ),
    "a reservation that the buffer has no room for": (
        f"{WITHIN} promise_make(&promised, at, 57, end);",
        "where nothing was reserved",
    ),
}


def run(folder: Path, case: str, checked: bool) -> subprocess.CompletedProcess[str]:
    """The program with a case, compiled and run."""
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    source, program = folder / "case.c", folder / "case"
    source.write_text(PROGRAM % case)
    command = [compiler, "-Wall", "-Werror", "-Wno-unused-function", f"-I{CORE}", str(source)]
    command += ["-o", str(program)]
    command += ["-DAMQPCODEC_CHECKED_WRITES"] if checked else []
    try:
        built = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip(f"no {compiler}")
    assert built.returncode == 0, built.stderr
    return subprocess.run([program], capture_output=True, text=True)


pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="takes a C compiler")


@pytest.mark.parametrize(("case", "message"), CASES.values(), ids=CASES)
def test_a_broken_promise_ends_the_process(tmp_path: Path, case: str, message: str) -> None:
    process = run(tmp_path, case, checked=True)
    assert process.returncode != 0
    assert "case.c:" in process.stderr
    assert message in process.stderr


def test_stores_within_a_reservation_pass(tmp_path: Path) -> None:
    case = f"{WITHIN} promise_make(&promised, at, 56, end); memset(at, 1, 56); at = end;"
    process = run(tmp_path, f"{case} promise_end(&promised, at, end);", checked=True)
    assert (process.returncode, process.stderr) == (0, "")


def test_a_plain_build_checks_nothing(tmp_path: Path) -> None:
    process = run(tmp_path, next(iter(CASES.values()))[0], checked=False)
    assert (process.returncode, process.stderr) == (0, "")
