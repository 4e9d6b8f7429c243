"""Who imports whom in the package, read from its sources; and a picture of it.

python -m scripts.import_graph           # writes docs/pictures/imports.svg, prints it as text
python -m scripts.import_graph --check   # exit status 1 where the file is another one
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scripts.pictures import FOLDER, Box, Picture, drawn

PACKAGE = "amqpcodec"
SOURCE = Path(__file__).resolve().parent.parent / "src" / PACKAGE

#: Box -> the line below its name, and the modules and packages in it; the longest name counts.
BOXES = {
    "errors, types": (
        "values and their errors",
        *("errors", "types", "v1_types", "_facade.scalars", "_facade.v1_decimal"),
        "_facade.public",
    ),
    "core": ("compiled", *("_codec", "_v1", "_columns", "_encode", "_capture"), "_dropins"),
    "protocol modules": (
        "v0_9_1 ... v1_0",
        *("", "_facade", "_gen", "limits", "negotiation", "v0_8", "v0_9", "v0_9_1", "v1_0"),
    ),
    "batch": ("bytes and Arrow", "batch"),
    "capture": ("recordings", "capture"),
    "traces": ("RabbitMQ's own", "traces"),
    "polars": ("lazy frames", "polars"),
    "analysis": ("questions in SQL", "analysis"),
    "spec": ("XML to tables", "spec"),
    "session": ("state machine", "session"),
    "aio": ("asyncio client", "aio"),
    "testing": ("broker for tests", "testing", "_pytest"),
    "compat": ("drop-ins", "compat"),
    "spark": ("functions, formats", "spark"),
    "cli": ("amqpcodec COMMAND", "cli", "__main__"),
}


@dataclass(frozen=True)
class Import:
    """One imported module, by its full name. lazy: inside of a function."""

    name: str
    line: int
    lazy: bool


def imports(
    source: str, module: str, is_package: bool, type_checking: bool = False
) -> Iterator[Import]:
    """Every module that a source imports when it runs; type_checking: also what checkers see."""
    yield from _visit(ast.parse(source), module.split("."), is_package, False, type_checking)


def _visit(
    node: ast.AST, here: list[str], is_package: bool, lazy: bool, type_checking: bool
) -> Iterator[Import]:
    children = ast.iter_child_nodes(node)
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield Import(alias.name, node.lineno, lazy)
    elif isinstance(node, ast.ImportFrom):
        base = here[: len(here) - node.level + is_package] if node.level else []
        base = [*base, *(node.module.split(".") if node.module else [])]
        for alias in node.names:
            # "from . import x": x may be a module, or a name of the package
            yield Import(".".join([*base, alias.name]), node.lineno, lazy)
    elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
        children = iter([*(node.body if type_checking else ()), *node.orelse])
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        lazy = True
    for child in children:
        yield from _visit(child, here, is_package, lazy, type_checking)


def modules(folder: Path) -> Iterator[tuple[Path, str, bool]]:
    """(file, module name, is a package) of every Python module below the package's folder."""
    for path in sorted(folder.rglob("*.py")):
        parts = [PACKAGE, *path.relative_to(folder).with_suffix("").parts]
        is_package = parts[-1] == "__init__"
        yield path, ".".join(parts[: -1 if is_package else None]), is_package


def graph(folder: Path, at_import: bool = False) -> dict[str, set[str]]:
    """Module -> the modules of the package that it imports; compiled ones import nothing here.

    at_import: only what it imports when it is imported itself; otherwise also what its functions
    import, and what only type checkers see.
    """
    sources = {module: (path, is_package) for path, module, is_package in modules(folder)}
    compiled = {f"{PACKAGE}.{path.stem}" for path in folder.glob("*.pyx")}

    def module_of(name: str) -> str:
        while name not in sources and name not in compiled and name:
            name = name.rpartition(".")[0]  # a name in a module
        return name

    edges: dict[str, set[str]] = {module: set() for module in compiled}
    for module, (path, is_package) in sources.items():
        source = path.read_text(encoding="utf-8")
        names = {
            item.name
            for item in imports(source, module, is_package, type_checking=not at_import)
            if not (at_import and item.lazy)
        }
        edges[module] = {module_of(name) for name in names} - {module, ""}
    return edges


def cycles(edges: dict[str, set[str]]) -> list[list[str]]:
    """The groups of modules that reach each other; modules that reach no importer are in none."""
    reached = {module: _reachable(module, edges) for module in edges}
    groups = {
        tuple(sorted(other for other in reached[module] if module in reached[other]))
        for module in edges
    }
    return sorted(list(group) for group in groups if group)


def _reachable(module: str, edges: dict[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = list(edges[module])
    while waiting:
        other = waiting.pop()
        if other not in reached:
            reached.add(other)
            waiting += edges[other]
    return reached


def box_of(module: str) -> str:
    """The box that a module is in."""
    name = module.removeprefix(PACKAGE).removeprefix(".")
    while True:
        for box, (_, *names) in BOXES.items():
            if name in names or (name.startswith("_dropins") and "_dropins" in names):
                return box
        if not name:
            raise ValueError(f"{module} is in no box of {__file__}")
        name = name.rpartition(".")[0]


def box_edges() -> dict[str, set[str]]:
    """Box -> the boxes it imports from, without those that it reaches by way of another."""
    edges: dict[str, set[str]] = {box: set() for box in BOXES}
    for module, others in graph(SOURCE, at_import=True).items():
        edges[box_of(module)] |= {box_of(other) for other in others} - {box_of(module)}
    return {
        box: {
            other
            for other in others
            if not any(other in _reachable(third, edges) for third in others - {other})
        }
        for box, others in edges.items()
    }


def picture() -> Picture:
    """The boxes by how far they are from those that import nothing, and an arrow an import."""
    edges = box_edges()
    columns: dict[str, int] = {}

    def column(box: str) -> int:
        if box not in columns:
            columns[box] = 1 + max((column(other) for other in edges[box]), default=-1)
        return columns[box]

    rows: dict[int, int] = {}
    boxes = {}
    for box, (line, *_) in BOXES.items():
        row = rows.setdefault(column(box), 0)
        rows[column(box)] += 1
        style = "core" if box == "core" else ""
        boxes[box] = Box(column(box), row + (column(box) % 2) / 2, box, line, style)
    arrows = sorted((box, other) for box, others in edges.items() for other in others)
    return Picture("Who imports whom", boxes, tuple(arrows))


def main() -> int:
    """Write the picture and print its arrows, or say that the file is another one."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true")
    check = options.parse_args().check
    path = FOLDER / "imports.svg"
    text = "\n".join(drawn(picture())) + "\n"
    if check:
        if path.exists() and path.read_text(encoding="utf-8") == text:
            return 0
        print(f"{path.name} is not what scripts/import_graph.py draws", file=sys.stderr)
        return 1
    path.write_text(text, encoding="utf-8")
    for box, others in box_edges().items():
        print(f"{box}: {'; '.join(sorted(others)) or 'nothing'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
