"""wire/buffer.h: one growing buffer in memory of the stack, of the heap and of a block."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.paths import REPO

CORE = REPO / "src" / "amqpcodec" / "_core"
#: A buffer with room for 64 bytes, of which it has 8; then a case does what it does.
PROGRAM = """
#include "wire/buffer.h"
#include <stdio.h>
#define CHECK(x) if (!(x)) return fprintf(stderr, "%%d: %%s\\n", __LINE__, #x), 1
int main(void) {
    static uint8_t memory[64];
    Block block;
    Buffer b;
    memset(&block, 0, sizeof(block));
    (void)memory;
    %s
    CHECK(buffer_put(&b, "12345678", 8) == 0);
    %s
    buffer_free(&b);
    block_give(&block);
    return 0;
}
"""
SOURCES = {
    "stack": "buffer_init(&b, memory, sizeof(memory));",
    "heap": "buffer_init(&b, memory, 1); CHECK(buffer_ensure(&b, 64) == 0);",
    "block": "CHECK(block_room(&block, 0, 64) == 0); buffer_in_block(&b, &block, 0);",
}
#: Four kinds of write, so often that the buffer has to grow.
GROWS = """
    for (int i = 0; i < 1000; i++) {
        ptrdiff_t room = b.end - b.start;
        size_t n = buffer_size(&b);
        CHECK(buffer_put_byte(&b, (uint8_t)i) == 0 && buffer_size(&b) == n + 1);
        CHECK(buffer_put_int(&b, 'I', (uint64_t)i, 4) == 0 && buffer_size(&b) == n + 6);
        CHECK(buffer_leave(&b, 3) == 0 && buffer_size(&b) == n + 9);
        memset(b.p - 3, 7, 3);
        CHECK(buffer_ensure(&b, 40) == 0 && buffer_size(&b) == n + 9);
        memset(b.p, 8, 40);
        buffer_commit(&b, b.p + 1);
        if (b.end - b.start != room) grown++;
    }
    CHECK(grown > 3 && grown < 20 && buffer_size(&b) == 10008);
    CHECK(memcmp(b.start, "12345678", 8) == 0);
    for (int i = 0; i < 1000; i++) {
        const uint8_t *p = b.start + 8 + 10 * i;
        CHECK(p[0] == (uint8_t)i && p[1] == 'I' && load32(p + 2) == (uint32_t)i);
        CHECK(p[6] == 7 && p[8] == 7 && p[9] == 8);
    }
"""
#: What a build that checks writes ends, at the latest when the bytes are taken.
BROKEN = {
    "a store past a reservation, seen at the next one": (
        "CHECK(buffer_ensure(&b, 8) == 0); memset(b.p, 1, 9); buffer_ensure(&b, 8);"
    ),
    "a store past a reservation, seen when it is committed": (
        "CHECK(buffer_ensure(&b, 8) == 0); memset(b.p, 1, 9); buffer_commit(&b, b.p + 8);"
    ),
    "a commit past a reservation": "CHECK(buffer_ensure(&b, 8) == 0); buffer_commit(&b, b.p + 9);",
    "a store without a reservation": "b.p[0] = 1; buffer_ensure(&b, 1);",
}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="takes a C compiler")


def run(
    folder: Path, source: str, case: str, checked: bool = False
) -> subprocess.CompletedProcess[str]:
    """The program with a case, compiled and run."""
    # Neither the compiler nor the program needs the sanitizer of the tests around them.
    plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    program_source, program = folder / "case.c", folder / "case"
    program_source.write_text(PROGRAM % (SOURCES[source], case))
    command = [compiler, "-Wall", "-Werror", "-Wno-unused-function", "-Wno-unused-variable"]
    command += [f"-I{CORE}", f"-I{sysconfig.get_path('include')}", str(program_source)]
    command += ["-o", str(program)]
    command += ["-DAMQPCODEC_CHECKED_WRITES"] if checked else []
    try:
        built = subprocess.run(command, env=plain, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip(f"no {compiler}")
    assert built.returncode == 0, built.stderr
    return subprocess.run([program], env=plain, capture_output=True, text=True)


@pytest.mark.parametrize("checked", [False, True], ids=["plain", "checked"])
@pytest.mark.parametrize("source", SOURCES)
def test_what_was_stored_moves_when_it_grows(tmp_path: Path, source: str, checked: bool) -> None:
    process = run(tmp_path, source, f"int grown = 0; {GROWS}", checked)
    assert (process.returncode, process.stderr) == (0, "")


@pytest.mark.parametrize("source", SOURCES)
def test_a_size_that_no_memory_has_is_refused(tmp_path: Path, source: str) -> None:
    case = """
        CHECK(buffer_ensure(&b, SIZE_MAX) == -1);
        CHECK(buffer_ensure(&b, SIZE_MAX - 8) == -1);
        CHECK(buffer_ensure(&b, SIZE_MAX / 2) == -1);
        CHECK(buffer_size(&b) == 8 && memcmp(b.start, "12345678", 8) == 0);
        CHECK(buffer_put(&b, "9", 1) == 0 && memcmp(b.start, "123456789", 9) == 0);
    """
    process = run(tmp_path, source, case)
    assert (process.returncode, process.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("case", BROKEN.values(), ids=BROKEN)
def test_a_checked_build_ends_the_process(tmp_path: Path, source: str, case: str) -> None:
    process = run(tmp_path, source, case, checked=True)
    assert process.returncode < 0
    assert "reserved" in process.stderr
    assert run(tmp_path, source, case).returncode == 0
