"""Which changes the finders see, and what becomes of the source: on pieces of both languages."""

from __future__ import annotations

import shlex
import subprocess
import sysconfig
from pathlib import Path

from tests.mutation import c_sites, cython_sites
from tests.mutation.build import with_mutants
from tests.mutation.change import Change
from tests.mutation.sites import LEAST, Site, blamed, rewrite, shares
from tests.paths import REPO

CYTHON = '''\
cdef enum:
    ROOM = 1 + 1

cdef int take(const uint8_t* p, int n) noexcept nogil:
    """Not n < 1."""
    cdef uint32_t size = <uint32_t>p[0] + 4
    if n < 5:    # not n > 5
        return -1
    n -= 1
    put(p + 0,
        n)
    return size if n != 0 and not p[1] else 0
'''

HEADER = """\
/* if (a < b) return 1; */
#define LESS(a, b) \\
    do { if ((a) < (b)) return 1; } while (0)
static const int limits[] = { 1 + 1 };
static inline int take(const uint8_t *p, int (*f)(int)) {
    int n = p[0] + 1;
    if (AMQP_UNLIKELY(n < 5)) return 0;
    for (int i = 0; i < n; i++) {
        n--;
    }
    return n;
}
"""


def texts(changes: list[Change]) -> list[str]:
    return [change.text.split(" -> ")[1] for change in changes]


def test_changes_of_cython() -> None:
    changes = list(cython_sites.changes(CYTHON))
    assert {change.function for change in changes} == {"take"}
    assert texts(changes) == [
        "cdef uint32_t size = <uint32_t>p[0] - 4",
        "cdef uint32_t size = <uint32_t>p[0] + 5",
        "if n <= 5: # not n > 5",
        "if n < 6: # not n > 5",
        "if False: # not n > 5",
        "pass",
        "n += 1",
        "n -= 2",
        "put(p + 1,",
        "return size if n == 0 and not p[1] else 0",
        "return size if n != 1 and not p[1] else 0",
        "return size if n != 0 or not p[1] else 0",
        "return size if n != 0 and p[1] else 0",
    ]
    assert [change.line for change in changes] == [6, 6, 7, 7, 7, 9, 9, 9, 10, 12, 12, 12, 12]


def test_changes_of_a_header() -> None:
    changes = list(c_sites.changes(HEADER))
    assert {change.function for change in changes} == {"take"}
    assert texts(changes) == [
        "if (AMQP_UNLIKELY(n <= 5)) return 0;",
        "if (AMQP_UNLIKELY(n < 6)) return 0;",
        "if (0) return 0;",
        "for (int i = 0; i <= n; i++) {",
        "int n = p[0] - 1;",
        "int n = p[0] + 2;",
        ";",
    ]


def test_an_and_of_cython_is_no_switch() -> None:
    """Of two comparisons of one number joined by `and` Cython makes what it makes of `or`."""
    source = "cdef int take(int n):\n    if n == 1 or n == 2:\n        return 1\n    return 0\n"
    (change,) = [it for it in cython_sites.changes(source) if " and " in it.text]
    assert change.text == "if n == 1 or n == 2: -> if n == 1 and n == 2:"
    assert "(n == 1 and mutant(@mutant@) and n == 2)" in change.template


def test_rewritten_source_holds_both() -> None:
    changes = list(cython_sites.changes(CYTHON))
    text, lines = rewrite(CYTHON, {7: Site("_core/a/b.pxi", changes[4]), 2: Site("", changes[6])})
    assert (
        "    if ((not not (False)) if mutant(7) else (not not (n < 5))):    # not n > 5\n" in text
    )
    assert "    if mutant(2):\n        n += 1\n    else:\n        n -= 1\n    put(" in text
    assert lines == {7: range(7, 8), 2: range(9, 13)}
    error = "src/amqpcodec/_core/a/b.pxi:7:4: Cannot do that\n"
    warning = "warning: src/amqpcodec/_core/a/b.pxi:9:4: Unusual\n"
    assert blamed(warning + error, Path("."), {"_core/a/b.pxi": lines}) == {7}


def test_rooms_give_by_size() -> None:
    room_shares = shares({"small": 4, "middle": 100, "large": 900}, 100)
    assert sum(room_shares.values()) == 100
    assert room_shares["small"] == 4
    assert LEAST < room_shares["middle"] < room_shares["large"]


def test_headers_of_the_core_compile_behind_that_of_mutants(tmp_path: Path) -> None:
    header, source = tmp_path / "mutants.h", tmp_path / "one.c"
    text = Path(__file__).with_name("mutants.h").read_text(encoding="utf-8")
    header.write_text(text.replace("@count@", "1"), encoding="utf-8")
    source.write_text('#include <Python.h>\n#include "wire/block.h"\n', encoding="utf-8")
    command = shlex.split(sysconfig.get_config_var("CC"))
    command += ["-fsyntax-only", "-Werror=implicit-function-declaration", "-include", str(header)]
    command += [f"-I{sysconfig.get_path('include')}", f"-I{REPO / 'src/amqpcodec/_core'}"]
    process = subprocess.run([*command, str(source)], capture_output=True, text=True)
    assert (process.returncode, process.stderr) == (0, "")


def test_no_header_demands_that_a_switch_is_whole() -> None:
    """A mutant in one branch of a chain over all kinds makes a switch of the others."""
    package = REPO / "src/amqpcodec"
    paths = [path.relative_to(package).as_posix() for path in package.glob("_core/*/*.h")]
    texts, _ = with_mutants([])
    demanding = [path for path in paths if "-Wswitch-enum" in (package / path).read_text("utf-8")]
    assert demanding
    assert [path for path in demanding if "-Wswitch-enum" in texts[path]] == []
