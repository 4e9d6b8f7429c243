"""The stub of AMQP 1.0 says what the module has: names, constants, fields, bases and docstrings."""

from __future__ import annotations

import ast
import enum
import inspect
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import _codec, _v1
from amqpcodec import v1_0 as amqp

SOURCE = Path(amqp.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
TREE = ast.parse(SOURCE)
CLASSES = {node.name: node for node in TREE.body if isinstance(node, ast.ClassDef)}
FUNCTIONS = {node.name: node for node in TREE.body if isinstance(node, ast.FunctionDef)}
CONSTANTS = {
    node.target.id: node
    for node in TREE.body
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
}


def words(node: ast.ClassDef | ast.FunctionDef) -> list[str]:
    return (ast.get_docstring(node) or "").split()


def defined() -> set[str]:
    imported = {
        alias.asname
        for node in TREE.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    names = imported | set(CLASSES) | set(FUNCTIONS) | set(CONSTANTS)
    return {name for name in names if not name.startswith("_")}


def test_names() -> None:
    listed = next(
        node.value
        for node in TREE.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    assert set(ast.literal_eval(listed)) == set(amqp.__all__) == defined()


def test_constants() -> None:
    for name, node in CONSTANTS.items():
        if node.value is not None and ast.unparse(node.annotation).startswith("Final"):
            assert ast.literal_eval(node.value) == getattr(amqp, name), name


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    node, function = FUNCTIONS[name], getattr(amqp, name)
    assert words(node) == (inspect.getdoc(function) or "").split()
    parameter_names = [arg.arg for arg in (*node.args.args, *node.args.kwonlyargs)]
    assert parameter_names == list(inspect.signature(function).parameters)
    for arg, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        assert default is not None
        real = inspect.signature(function).parameters[arg.arg].default
        assert ast.literal_eval(default) == real


def member(node: ast.ClassDef, name: str) -> Any:
    return next(
        item
        for item in node.body
        if (isinstance(item, ast.FunctionDef) and item.name == name)
        or (isinstance(item, ast.AnnAssign) and ast.unparse(item.target) == name)
        or (isinstance(item, ast.Assign) and ast.unparse(item.targets[0]) == name)
    )


@pytest.mark.parametrize("name", CLASSES)
def test_classes(name: str) -> None:
    node, cls = CLASSES[name], getattr(amqp, name)
    assert words(node) == (inspect.getdoc(cls) or "").split()
    bases = [ast.unparse(base).rpartition(".")[2] for base in node.bases]
    assert bases == [base.__name__ for base in cls.__bases__]
    if issubclass(cls, enum.Enum):
        rows = {ast.unparse(i.targets[0]): i.value for i in node.body if isinstance(i, ast.Assign)}
        enum_values = {key: ast.literal_eval(value) for key, value in rows.items()}
        assert enum_values == {m.name: m.value for m in cls}
        return
    if not hasattr(cls, "FIELDS"):
        return  # a decoder
    assert ast.literal_eval(member(node, "__match_args__").value) == cls.__match_args__
    fields = member(node, "FIELDS").annotation
    literals = [n.value for n in ast.walk(fields) if isinstance(n, ast.Constant)]
    assert tuple(literals) == cls.FIELDS
    init = member(node, "__init__").args
    parameter_names = [arg.arg for arg in (*init.args[1:], *init.kwonlyargs)]
    assert parameter_names == list(inspect.signature(cls).parameters)
    for field in parameter_names:
        assert isinstance(member(node, field), ast.AnnAssign)
        assert hasattr(cls, field)


def test_core_stub_lacks_nothing_public() -> None:
    texts = [
        Path(core.__file__).with_suffix("").with_suffix("").with_suffix(".pyi")
        for core in (_codec, _v1)
    ]
    statements = [
        node for path in texts for node in ast.parse(path.read_text(encoding="utf-8")).body
    ]
    nodes = {node.name: node for node in statements if isinstance(node, ast.ClassDef)}
    for name in ("Message", "V1Decoder", "V1MessageDecoder", "V1Protocol", "Composite"):
        cls = getattr(_v1, name)
        stub_names: set[str] = set()
        for base in cls.__mro__:
            for item in nodes[base.__name__].body if base.__name__ in nodes else ():
                if isinstance(item, ast.FunctionDef):
                    stub_names.add(item.name)
                elif isinstance(item, ast.AnnAssign):
                    stub_names.add(ast.unparse(item.target))
        public = {n for n in dir(cls) if not n.startswith("_") and n != "mro"}
        assert public <= stub_names, (name, public - stub_names)
