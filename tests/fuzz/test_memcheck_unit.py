"""Which of valgrind's reports are findings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz import memcheck

OURS = "/x/src/amqpcodec/_capture.cpython-311-x86_64-linux-gnu.so"
PYTHON = "/usr/lib/libpython3.11.so.1.0"
GLIBC = "/usr/lib/libc.so.6"


def stack(*frames: tuple[str, str]) -> str:
    elements = "".join(f"<frame><obj>{obj}</obj><fn>{fn}</fn></frame>" for obj, fn in frames)
    return f"<stack>{elements}</stack>"


def error(kind: str, where: str, origin: str = "") -> str:
    came = f"<auxwhat>Uninitialised value was created by</auxwhat>{origin}" if origin else ""
    return f"<error><kind>{kind}</kind><what>{kind}!</what>{where}{came}</error>"


IN_CORE = stack((OURS, "find_key"), (OURS, "hide_transfer"), (PYTHON, "eval"))
BELOW_CORE = stack((PYTHON, "maybe_small_long"), (PYTHON, "PyLong_FromLong"), (OURS, "load"))
REPORTS = {
    "a variable of ours": (error("UninitCondition", IN_CORE, IN_CORE), True),
    "memory of ours": (error("UninitValue", IN_CORE, stack((GLIBC, "malloc"), (OURS, "f"))), True),
    "where its origin is lost": (error("UninitCondition", IN_CORE), True),
    "given to Python": (error("UninitValue", BELOW_CORE, IN_CORE), True),
    "a read beyond, by memcpy": (
        error("InvalidRead", stack((GLIBC, "memcpy"), (OURS, "put"))),
        True,
    ),
    "the digit of 0": (
        error("UninitValue", BELOW_CORE, stack((GLIBC, "malloc"), (PYTHON, "_PyLong_New"))),
        False,
    ),
    "the digit of 0, its origin lost": (error("UninitValue", BELOW_CORE), False),
    "text compared by vectors": (
        error("InvalidRead", stack((GLIBC, "__wmemcmp_avx2_movbe"), (OURS, "same"))),
        False,
    ),
    "what is there at the end": (
        error("Leak_PossiblyLost", stack((GLIBC, "malloc"), (OURS, "f"))),
        False,
    ),
    "Python's own": (error("UninitValue", stack((PYTHON, "eval")), IN_CORE), False),
}


@pytest.mark.parametrize("name", REPORTS)
def test_reports(name: str, tmp_path: Path) -> None:
    report, finding_count = REPORTS[name]
    path = tmp_path / "report.xml"
    path.write_text(f"<valgrindoutput>{report}</valgrindoutput>")
    findings = memcheck.findings(path)
    assert len(findings) == finding_count
    if finding_count:
        assert findings[0].startswith(("Uninit", "Invalid"))
        assert f"({OURS}:?)" in findings[0]


def test_inputs_are_the_same_for_the_same_seed() -> None:
    target = memcheck.find("tables")
    first = list(memcheck.inputs(target, 20, 1))
    assert first == list(memcheck.inputs(target, 20, 1))
    assert first != list(memcheck.inputs(target, 20, 2))
    assert len(first) == 20 + len(list(memcheck.inputs(target, 0, 1)))
