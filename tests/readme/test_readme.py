"""The README says nothing that does not hold: its tour is run line by line."""

import doctest
import re

import pytest

from tests.paths import REPO

README = REPO / "README.md"


def test_every_line_of_the_tour(spark, monkeypatch):
    for name in ("lxml", "polars", "duckdb"):
        pytest.importorskip(name)
    monkeypatch.chdir(REPO)
    result = doctest.testfile(
        str(README),
        module_relative=False,
        optionflags=doctest.ELLIPSIS,
        extraglobs={"spark": spark},
    )
    assert result.attempted > 30
    assert result.failed == 0


def test_no_python_block_escapes_the_tour():
    fences = re.findall(r"^```(\w*)$", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert "python" not in fences
    assert "py" not in fences
    assert fences.count("pycon") >= 8


def test_named_targets_exist():
    makefile = (REPO / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"`?make ([a-z][a-z-]*)", README.read_text(encoding="utf-8")))
    assert {"demo", "test", "bench"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"make {target}"


def test_linked_files_exist():
    for name in re.findall(r"\]\(([^)#:]+)\)", README.read_text(encoding="utf-8")):
        assert (REPO / name).exists(), name
