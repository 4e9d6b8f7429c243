"""Who may import whom: the arrows of the architecture, and a reader of imports that knows them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "amqpcodec"

#: Module or package (without the name of ours) -> its layer; the longest name that fits counts.
#: A new module must find its place here.
LAYERS = {
    "": "facade",
    "_facade": "facade",
    "_facade.arrays": "arrays",
    "_facade.html": "html",
    "_facade.interpreter": "core",
    "_facade.keys": "batch",
    "_facade.names": "batch",
    "_facade.public": "public",
    "_facade.scalars": "types",
    "_facade.v1_decimal": "types",
    "limits": "facade",
    "negotiation": "facade",
    "v0_8": "facade",
    "v0_9": "facade",
    "v0_9_1": "facade",
    "v1_0": "facade",
    "_codec": "core",
    "_v1": "core-v1",
    "_columns": "core-columns",
    "_encode": "core-columns",
    "_capture": "core-capture",
    "_dropins": "core-dropins",
    "_dropins_v1": "core-dropins",
    "_gen": "generated",
    "errors": "errors",
    "types": "types",
    "v1_types": "types",
    "spec": "spec",
    "batch": "batch",
    "capture": "capture",
    "capture._dataset": "tables",
    "polars": "tables",
    "traces": "traces",
    "session": "session",
    "spark": "spark",
    "compat": "compat",
    "cli": "cli",
    "__main__": "main",
}

#: Layer -> what it may import of the package beside itself. Nothing imports compat, spark and cli.
ARROWS: dict[str, set[str]] = {
    "public": set(),
    "errors": {"public"},
    "types": {"public"},
    "generated": set(),
    "core": {"errors", "types"},
    "core-v1": {"core", "errors", "types"},
    "core-columns": {"core", "core-v1", "types"},
    "core-capture": {"core", "core-v1", "core-columns", "types"},
    "core-dropins": {"core", "core-v1", "types"},
    "spec": {"errors", "public"},
    "facade": {"core", "public", "core-v1", "generated", "errors", "types"},
    # The facade holds the protocols, which columns are made for.
    "batch": {"arrays", "core", "public", "core-v1", "core-columns", "facade", "errors", "types"},
    "capture": {
        "batch",
        "public",
        "core",
        "core-v1",
        "core-columns",
        "core-capture",
        "errors",
        "types",
    },
    "tables": {"capture", "public"},  # captures in other libraries' terms
    "html": set(),  # given what it shows
    "arrays": {"types"},  # of other libraries, for batch and what it returns
    # Over the decoders of the protocol modules, which the facade holds.
    "session": {"facade", "public", "errors", "types"},
    "traces": {"capture", "public", "types"},
    "spark": {"batch", "public", "capture", "traces", "errors", "types"},
    "compat": {"core", "public", "core-dropins", "facade", "errors", "types"},
    "cli": {"batch", "capture", "traces", "session", "errors", "facade", "types"},
    "main": {"cli"},
}

#: Arrows that only code inside of a function may use, so that importing costs nothing.
LAZY_ARROWS = {
    ("facade", "spec"),  # load_xml_spec
    ("facade", "compat"),  # install
    ("capture", "tables"),  # dataset
}

#: Layer -> packages of others that it may import, and whether only inside of a function.
OTHERS: dict[str, dict[str, bool]] = {
    "spec": {"lxml": False},  # by its loader, which is imported late
    "batch": {"pyarrow": True},
    "capture": {"cryptography": True, "pyarrow": True, "fsspec": True},
    "traces": {"pyarrow": False},
    "spark": {"pyspark": False, "py4j": True, "pyarrow": False, "pandas": False, "numpy": False},
    "tables": {"pyarrow": False, "polars": False},
    "html": {"pyarrow": True},
    "arrays": {"pyarrow": True},
    "compat": {"pamqp": False, "pika": False, "amqp": False, "azure": False},
    "cli": {"rich": False, "pyarrow": False, "plotly": False, "argcomplete": True},
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


def layer_of(module: str) -> str | None:
    """Layer of a module of the package, or of a name in one; None for other packages' modules."""
    head, _, module_path = module.partition(".")
    if head != PACKAGE:
        return None
    names = module_path.split(".")
    # A name of the package itself, such as amqpcodec.DecodeError, is the facade's.
    return LAYERS.get(".".join(names[:2])) or LAYERS.get(names[0], "facade")


def violations(source: str, module: str, is_package: bool, standard: frozenset[str]) -> list[str]:
    """What a module imports and may not. standard: names of the standard library."""
    layer = layer_of(module)
    assert layer is not None
    problems = []
    for item in imports(source, module, is_package):
        top = item.name.partition(".")[0]
        target = layer_of(item.name)
        if target is None:
            only_lazy = OTHERS.get(layer, {}).get(top)
            allowed = top in standard or (only_lazy is not None and (item.lazy or not only_lazy))
        else:
            allowed = target == layer or target in ARROWS[layer]
            allowed = allowed or (item.lazy and (layer, target) in LAZY_ARROWS)
        if not allowed:
            when = "" if item.lazy else " when it is imported"
            problems.append(f"{module}:{item.line}: {layer} imports {item.name}{when}")
    return problems


def modules(folder: Path) -> Iterator[tuple[Path, str, bool]]:
    """(file, module name, is a package) of every Python module below the package's folder."""
    for path in sorted(folder.rglob("*.py")):
        parts = [PACKAGE, *path.relative_to(folder).with_suffix("").parts]
        is_package = parts[-1] == "__init__"
        yield path, ".".join(parts[: -1 if is_package else None]), is_package


def graph(folder: Path) -> dict[str, set[str]]:
    """Module -> the modules of the package that it imports, anywhere in it; of Python alone."""
    sources = {module: (path, is_package) for path, module, is_package in modules(folder)}
    compiled = {f"{PACKAGE}.{path.stem}" for path in folder.glob("*.pyx")}

    def module_of(name: str) -> str:
        while name not in sources and name:
            if name in compiled:
                return ""
            name = name.rpartition(".")[0]  # a name in a module
        return name

    edges: dict[str, set[str]] = {}
    for module, (path, is_package) in sources.items():
        source = path.read_text(encoding="utf-8")
        names = {item.name for item in imports(source, module, is_package, type_checking=True)}
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
