"""The guide's table of pitfalls names tests that there are, and all of them have one."""

from __future__ import annotations

import re

from tests.paths import REPO

ROW = re.compile(r"^\| (\d+) \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)


def rows():
    """Number and names of tests, for each pitfall of the guide."""
    text = (REPO / "docs/guide/aio.md").read_text(encoding="utf-8")
    return {int(row[1]): re.findall(r"`(\w+)`", row[4]) for row in ROW.finditer(text)}, text


def written():
    """The names of all tests of the client and of the types of programs."""
    names = set()
    for folder in ("aio", "typing"):
        for path in (REPO / "tests" / folder).rglob("test_*.py"):
            names |= set(re.findall(r"^def (test_\w+)\(", path.read_text("utf-8"), re.MULTILINE))
    return names


def test_each_pitfall_has_tests():
    found, text = rows()
    assert list(found) == list(range(1, 34))
    assert {name for tests in found.values() for name in tests} <= written()
    count = sum(bool(tests) for tests in found.values())
    assert f"{count} of these 33" in text


def test_the_table_knows_each_test():
    """A pitfall whose number a test has names one of these tests."""
    found, _ = rows()
    numbers = {int(match[1]) for name in written() if (match := re.match(r"test_(\d+)_", name))}
    assert numbers <= {number for number, tests in found.items() if tests}
    for number in numbers:
        assert any(name.startswith(f"test_{number}_") for name in found[number]), number
