"""Pages that say where things are name all that is there."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase as fnmatch
from pathlib import Path

import pytest

from tests.paths import REPO

TESTS = REPO / "tests"
CORE = REPO / "src" / "amqpcodec" / "_core"
PAGES = [
    *sorted((REPO / "docs").glob("*.md")),
    *(TESTS / "README.md", REPO / "spec" / "README.md", REPO / "bench" / "README.md"),
]
PAGE = (TESTS / "README.md").read_text(encoding="utf-8")
FOLDERS = sorted(path.name for path in TESTS.iterdir() if any(path.rglob("*.py")))
#: A file's name says its kind, but in folders that hold one kind alone.
ONE_KIND = {"layers", "typing", "packaging", "readme"}


def first_cells() -> set[str]:
    """What stands in backquotes in the first column of the page's tables."""
    return set(re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\|([^|]*)\|", PAGE, re.M))))


def test_every_folder_of_tests_is_on_their_page() -> None:
    folder_names = {name for name in first_cells() if not name.startswith("_")}
    assert folder_names - {"vectors"} == set(FOLDERS)
    assert (TESTS / "vectors").is_dir()


def test_every_room_has_its_tests() -> None:
    rooms = {path.name for path in CORE.iterdir() if path.is_dir()}
    assert rooms <= set(FOLDERS)


def test_rooms_of_the_core_run_on_every_platform() -> None:
    """By `make rooms-test`, and where a workflow names the folders, since it has no make."""
    rooms = {path.name for path in CORE.iterdir() if path.is_dir()}
    makefile = (REPO / "Makefile").read_text(encoding="utf-8").replace("\\\n", "")
    (line,) = re.findall(r"^ROOMS := \$\(addprefix tests/,(.*)\)$", makefile, re.M)
    all_rooms = set(line.split())
    assert rooms <= all_rooms
    workflow = (REPO / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    jobs = dict(re.findall(r"^  ([\w-]+):\n((?:    .*\n|\n)+)", workflow, re.M))
    folders = {
        name: set(re.findall(r"(?<!=)\btests/(\w+)(?![\w/])", jobs[name]))
        for name in ("free-threaded", "windows")
    }
    assert folders["windows"] == all_rooms
    assert all_rooms - folders["free-threaded"] == {"analysis", "cli"}  # need DuckDB and rich


def test_names_of_tests_end_with_their_kind() -> None:
    kinds = tuple(name for name in first_cells() if name.startswith("_"))
    assert len(kinds) > 5
    for path in TESTS.rglob("test_*.py"):
        if path.relative_to(TESTS).parts[0] not in ONE_KIND:
            assert path.stem.endswith(kinds), path


def test_live_tests_are_left_out_where_there_is_no_broker() -> None:
    """`make test` leaves out folders: live tests stand in those, and others do not."""
    makefile = (REPO / "Makefile").read_text(encoding="utf-8")
    (line,) = re.findall(r"^LIVE := (.*)$", makefile, re.M)
    for path in TESTS.rglob("test_*.py"):
        left_out = any(path.is_relative_to(REPO / folder) for folder in line.split())
        assert left_out == path.stem.endswith("_live"), path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(REPO).as_posix())
def test_files_that_pages_name_are_there(page: Path) -> None:
    """A path is what has a slash and a suffix; it counts from the repository or from the core."""
    text = page.read_text(encoding="utf-8")
    file_names = re.findall(r"`((?:\.\./)*[\w.-]+/[\w./-]+\.\w+)`", text)
    file_names += re.findall(r"\]\((?!http)([^)#]+)\)", text)
    for name in file_names:
        places = [root / name for root in (page.parent, REPO, CORE, REPO / "src" / "amqpcodec")]
        places += [root / name for root in (TESTS, REPO / "bench")]
        assert any(place.exists() for place in places), name


ROOMS = sorted(path for path in CORE.iterdir() if path.is_dir())


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_room_has_a_page_that_names_its_files(room: Path) -> None:
    """In forty lines: what comes in, what goes out, who owns the memory, each file."""
    text = (room / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 40
    assert "**In:**" in text or "comes in" in text
    assert "**Out:**" in text or "goes out" in text
    assert re.search(r"memory", text, re.I)
    # A file by its name, with or without its suffix; or several, as `v1_*.pxi`.
    file_patterns = re.findall(r"`([^`]+)`", text)
    sources = [path for path in room.iterdir() if path.suffix in (".pxi", ".pxd", ".h")]
    assert sources
    for path in sources:
        # Declarations stand beside what they declare, under its name.
        names = (path.name, path.stem, f"{path.stem}.pxi", f"{path.stem}.h")
        assert any(fnmatch(name, pattern) for name in names for pattern in file_patterns), path.name


PACKAGE = REPO / "src" / "amqpcodec"
PACKAGES = sorted({path.parent for path in PACKAGE.rglob("__init__.py")})


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.relative_to(REPO).as_posix())
def test_package_has_a_page(package: Path) -> None:
    """In thirty lines: what it owns and what not, how it is tested, each module and test file."""
    text = (package / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 30
    for part in ("**Owns:** ", "**Does not:** ", "**Imports:** ", "**Tests:** "):
        assert f"\n{part}" in text
    rows = re.findall(r"^\|([^|]*)\|", text, re.M)
    listed = set(re.findall(r"`(\w+)`", "\n".join(rows)))
    modules = {path.stem for path in package.glob("*.py")} - {"__init__"}
    below = {path.parent.name for path in package.glob("*/__init__.py")}
    assert modules <= listed <= modules | below
    tests = text[text.index("**Tests:** ") :]
    for name in re.findall(r"\b(tests/[\w/.*]+\w|test_\w+)\*?", tests):
        found = REPO.glob(f"{name}*") if "/" in name else TESTS.rglob(f"{name}.py")
        assert any(found), name
