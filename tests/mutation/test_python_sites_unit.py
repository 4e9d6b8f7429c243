"""Which changes of Python are taken, what they become, and how a process gets them."""

from __future__ import annotations

import importlib.util
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cosmic_ray")

from cosmic_ray.ast import get_ast

from tests.mutation.change import line_of
from tests.mutation.command import arguments
from tests.mutation.python_code import PythonCode
from tests.mutation.python_sites import (
    SOURCES,
    candidates,
    mutant,
    sources,
    statement_lines,
    with_line,
)
from tests.paths import REPO

PACKAGE = REPO / "src" / "amqpcodec"
SOURCE = '''\
"""Not n < 1."""
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    WIDE = 1
Number: TypeAlias = int | None
STEP: int | None = 2
@dataclass(frozen=True, slots=True)
class Tags:
    def take(self, n: int | None, *, more: bool = False) -> int | None:
        """Not n < 1."""
        assert n is not None
        if n < STEP:  # not n > 5
            raise ValueError(f"{n + 1} is too few")
        elif (
            n >= 9
        ):
            return 0
        return [
            each
            for each in range(n)
        ]
'''


def lines(text: str) -> list[str]:
    """Of each change, the line as it is and as it becomes."""
    sites = candidates("a.py", text)
    return [with_line(text, mutant(text, site), site).change.text for site in sites]


def test_what_is_changed_and_what_is_not() -> None:
    becomes = {
        "STEP: int | None = 3",
        "STEP: int | None = 1",
        "@dataclass(frozen=False, slots=True)",
        "def take(self, n: int | None, *, more: bool = True) -> int | None:",
        "if n <= STEP: # not n > 5",
        "if not n < STEP: # not n > 5",
        "n > 9",
        "n >= 10",
        "n >= 8",
        "return 1",
        "return -1",
    }
    changes = lines(SOURCE)
    assert len(changes) == len(becomes)
    for line in becomes:
        assert any(text.endswith(f" -> {line}") for text in changes), line


OVERLOADS = """\
@overload
def take(n: int, more: Literal[False] = False) -> int: ...
@typing_extensions.deprecated("x")
@overload
def take(n: int, more: bool = True) -> int: ...
@final
def take(n: int, more: bool = False) -> int:
    return n
"""


def test_overloads_are_not_changed() -> None:
    (change,) = lines(OVERLOADS)
    assert change.endswith(" -> def take(n: int, more: bool = True) -> int:")


def test_a_site_is_reached_by_the_lines_of_its_statement() -> None:
    tree = get_ast(SOURCE)

    def span(part: str) -> range:
        at = SOURCE.index(part)
        line = SOURCE.count("\n", 0, at) + 1
        return statement_lines(tree, line, at - line_of(SOURCE, at)[0])

    assert span("n < STEP") == range(12, 13)
    assert span("9") == range(14, 16)
    assert span("range(n)") == range(18, 22)
    assert span("STEP:") == range(1, 23)
    assert span("False") == range(9, 23)
    assert span("0\n") == range(17, 18)


MODULE = """\
LIMIT = 5
def at_once(n, least=1):
    return least <= n < LIMIT
def later():
    return lambda n: n + 1
held = later()
"""


def module_of(folder: Path, text: str) -> Any:
    path = folder / "numbers_of_test.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    assert spec.loader is not None
    spec.loader.exec_module(module)
    return module


def selected(folder: Path, change: str) -> tuple[Any, PythonCode]:
    """The module in use, and the mutant with this line beside it."""
    module = module_of(folder, MODULE)
    for site in candidates("numbers_of_test.py", MODULE):
        text = mutant(MODULE, site)
        if with_line(MODULE, text, site).change.text.endswith(f" -> {change}"):
            break
    (folder / "0.py").write_text(text)
    code = PythonCode(
        {
            "package": str(folder),
            "mutants": {"0": str(folder / "0.py")},
            "sites": {"0": (site.path, site.change.line, site.change.line)},
        }
    )
    code.pause()
    return module, code


def test_functions_in_use_get_the_code_of_a_mutant(tmp_path: Path) -> None:
    module, code = selected(tmp_path, "return least <= n <= LIMIT")
    used = module.at_once
    code.place(0)
    code.select(0)
    assert used(5)
    assert module_of(tmp_path, (tmp_path / "numbers_of_test.py").read_text()).at_once(5)
    assert not code.is_of_import(0)
    code.place(-1)
    assert (tmp_path / "numbers_of_test.py").read_text() == MODULE


def test_a_function_within_a_function_gets_it_too(tmp_path: Path) -> None:
    module, code = selected(tmp_path, "return lambda n: n - 1")
    code.place(0)
    code.select(0)
    assert module.held(1) == 0
    assert module.later()(1) == 0


@pytest.mark.parametrize("change", ["LIMIT = 6", "def at_once(n, least= 0):"])
def test_constants_and_defaults_in_use_are_those_of_the_mutant(tmp_path: Path, change: str) -> None:
    module, code = selected(tmp_path, change)
    sys.modules[module.__name__] = module
    try:
        assert [module.at_once(n) for n in (0, 5)] == [False, False]
        assert code.is_of_import(0)
        code.place(0)
        code.select(0)
        assert module.at_once(5 if change == "LIMIT = 6" else 0)
    finally:
        del sys.modules[module.__name__]


def test_reached_lines_are_those_since_the_last_look(tmp_path: Path) -> None:
    module, code = selected(tmp_path, "return least <= n <= LIMIT")
    code.record()
    assert code.take_seen() == []
    module.at_once(1)
    assert code.take_seen() == [0]
    assert code.take_seen() == []
    code.pause()


def test_every_pattern_of_the_sources_matches() -> None:
    for pattern in SOURCES:
        assert list(PACKAGE.glob(pattern)), pattern
    assert PACKAGE / "session" / "_v1" / "sending.py" in sources(PACKAGE)


@pytest.mark.parametrize("name", ["equivalent.toml", "python_equivalent.toml"])
def test_every_argument_is_of_a_line_that_is_there(name: str) -> None:
    path = Path(__file__).with_name(name)
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("mutant", [])
    assert len(arguments(path)) == len(entries)
    for entry in entries:
        text = (PACKAGE / entry["file"]).read_text(encoding="utf-8")
        before, _, after = entry["change"].partition(" -> ")
        assert before in " ".join(text.split()), entry
        assert after
        assert after != before
        assert entry["reason"]
        assert entry["function"].rpartition(".")[2] in text, entry
