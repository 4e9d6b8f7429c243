"""Functions that build the input of tests, counted: `python -m tests.layers.builders` lists them.

A builder is a function at the top level of a module below tests/ that is no test, no fixture, no
strategy and no context manager, and whose annotation says that it returns bytes, packets, frames,
messages, recordings or sessions; or that returns what a constructor of Arrow makes. A function
that reads is none: what it returns was in a file, or is what the package made of it.

Folders of programs with a use of their own do not count: the fuzzers, the mutants, the coverage;
nor do the codecs of reference, which may not use what other tests use.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.paths import REPO

TESTS = REPO / "tests"
SUPPORT = TESTS / "support"
#: Programs that do not build input for tests, and the codecs that stay apart from the others.
PROGRAMS = "fuzz", "mutation", "coverage", "typing/programs"
REFERENCES = "reference", "capture/reference"
APART = [TESTS / name for name in (*PROGRAMS, *REFERENCES)]
#: Words of an annotation: what was built.
WORDS = re.compile(
    r"\b(bytes|bytearray|BytesIO|Record|Part|Packet|Frame|Message|Sent|Said|Segment"
    r"|Connection|Channel|Pair|Peer|Sessions|RecordBatch)\b"
)
ARROW = re.compile(
    r"pa\.(array|record_batch|table|RecordBatch\.|Table\.|Array\.|StructArray\.|DictionaryArray\.)"
)
#: Functions that a reader calls.
READS = re.compile(
    r"\b(decode|decode_value|feed|read|rows|streams|to_pylist|to_pydict|Reader|read_bytes|read_text"
    r"|open|loads|rglob|next_event)\("
)
NO_BUILDERS = re.compile(r"\b(fixture|composite|contextmanager|given|settings)\b")


class Function(NamedTuple):
    """A function at the top level of a module."""

    path: Path
    node: ast.FunctionDef

    @property
    def place(self) -> str:
        return f"{self.path.relative_to(REPO).as_posix()}:{self.node.lineno} {self.node.name}"


def functions(paths: Iterable[Path]) -> Iterator[Function]:
    """The functions at the top level of modules, but tests, fixtures and strategies."""
    for path in paths:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(node, ast.FunctionDef) or node.name.startswith("test"):
                continue
            if not any(NO_BUILDERS.search(ast.unparse(d)) for d in node.decorator_list):
                yield Function(path, node)


def is_builder(function: ast.FunctionDef) -> bool:
    """Whether a function returns what tests read: by its annotation, or by its constructor."""
    annotation = ast.unparse(function.returns) if function.returns else ""
    if READS.search(ast.unparse(ast.Module(function.body, []))):
        return False
    if WORDS.search(annotation):
        return not annotation.startswith("Callable")
    returns = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
    return any(ARROW.match(ast.unparse(value)) for value in returns if value)


def builders() -> list[Function]:
    """All builders, those of tests/support included."""
    paths = (path for path in sorted(TESTS.rglob("*.py")) if not set(path.parents) & set(APART))
    return [function for function in functions(paths) if is_builder(function.node)]


def outside(found: Iterable[Function]) -> list[Function]:
    """Those that do not stand in tests/support."""
    return [function for function in found if SUPPORT not in function.path.parents]


class _Names(ast.NodeTransformer):
    """Numbers in place of the names that a function chooses itself, its arguments first."""

    def __init__(self, own: Iterable[str]) -> None:
        self.numbers = {name: f"_{number}" for number, name in enumerate(dict.fromkeys(own))}

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.numbers.get(node.id, node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(self.numbers.get(node.arg, node.arg), None)


def shape(function: ast.FunctionDef) -> str:
    """The code of a function without its name, its words, its types and the names of variables."""
    body = function.body
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and body[1:]:
        body = body[1:]
    own = [node.arg for node in ast.walk(function) if isinstance(node, ast.arg)]
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    own += [name.id for name in names if isinstance(name.ctx, ast.Store)]
    copy = ast.parse(ast.unparse(ast.Module([*body], [])))
    return ast.dump(_Names(own).visit(copy))


def twins(found: Iterable[Function]) -> list[list[Function]]:
    """Builders with the same code, in groups."""
    by_shape = defaultdict(list)
    for function in found:
        by_shape[shape(function.node)].append(function)
    return [group for group in by_shape.values() if len(group) > 1]


def main() -> None:
    found = builders()
    rest = outside(found)
    for function in rest:
        print(function.place)
    for group in twins(found):
        print("the same:", ", ".join(function.place for function in group))
    print(f"{len(found)} builders, {len(rest)} outside of tests/support")


if __name__ == "__main__":
    main()
