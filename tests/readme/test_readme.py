"""What README and docs/ say holds: their examples are run line by line."""

import doctest
import re

import pytest

from tests.paths import REPO

PAGES = {
    str(path.relative_to(REPO)): path
    for path in (REPO / "README.md", *sorted((REPO / "docs").rglob("*.md")))
}
RUN = {name for name, path in PAGES.items() if "```pycon" in path.read_text(encoding="utf-8")}
ON_SPARK = {"docs/spark.md"}


def run(name, **names):
    result = doctest.testfile(
        str(PAGES[name]),
        module_relative=False,
        optionflags=doctest.ELLIPSIS,
        extraglobs=names,
    )
    assert result.attempted > 3
    assert result.failed == 0


@pytest.mark.parametrize("name", sorted(RUN - ON_SPARK))
def test_every_line(name, monkeypatch):
    for module in ("lxml", "polars", "duckdb", "pyarrow"):
        pytest.importorskip(module)
    monkeypatch.chdir(REPO)
    run(name)


@pytest.mark.parametrize("name", sorted(ON_SPARK))
def test_every_line_on_spark(name, spark, monkeypatch):
    monkeypatch.chdir(REPO)
    run(name, spark=spark)


def test_the_pages_are_there():
    assert {"README.md", "docs/index.md", "docs/guide/columns.md", "docs/guide/objects.md"} <= RUN
    assert len((REPO / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.parametrize(
    "name", ["README.md", *sorted(n for n in PAGES if n.startswith("docs/guide"))]
)
def test_no_python_block_escapes(name):
    fences = re.findall(r"^```(\w*)$", PAGES[name].read_text(encoding="utf-8"), re.MULTILINE)
    assert "python" not in fences
    assert "py" not in fences
    assert "pycon" in fences


@pytest.mark.parametrize("name", PAGES)
def test_named_targets_exist(name):
    makefile = (REPO / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"`make ([a-z][a-z-]*)", PAGES[name].read_text(encoding="utf-8")))
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"make {target}"


@pytest.mark.parametrize("name", PAGES)
def test_linked_files_exist(name):
    for target in re.findall(r"\]\(([^)#:\s]+)\)", PAGES[name].read_text(encoding="utf-8")):
        assert (PAGES[name].parent / target).exists(), target
