"""Where the stub of a protocol module and the module itself differ, as sentences.

The stub is read as text (ast), the module by looking at it and by making instances. What only a
type checker can judge (unions, overloads) is left to the sample programs.
"""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Iterator
from datetime import datetime
from typing import Any

#: Names for annotations, which the stub may have alone.
ALIASES = {"AnyEvent", "AnyFrame", "ContentMethod"}

_DESCRIPTORS = (types.MemberDescriptorType, types.GetSetDescriptorType)


def differences(stub: str, module: Any) -> Iterator[str]:
    """Every difference found, names first."""
    tree = ast.parse(stub)
    names = dict(_public(tree.body))
    exported = set(module.__all__) - ALIASES
    yield from _apart("module", set(names) - ALIASES, exported)
    yield from _apart("__all__", set(_value(names.pop("__all__", None))) - ALIASES, exported)
    for name, node in names.items():
        if name not in exported:
            continue
        member = getattr(module, name)
        if isinstance(node, ast.AnnAssign):
            yield from _constant(name, node, member)
        elif isinstance(node, ast.FunctionDef):
            for overload in _all_of(tree.body, name):
                yield from _function(name, overload, inspect.signature(member))
            yield from _doc(name, node, member)
        elif isinstance(node, ast.ClassDef):
            yield from _doc(name, node, member)
            if name in module.PROTOCOL.namespaces:
                yield from _namespace(name, node, member, module)
            elif "FIELDS" in vars(member):
                yield from _kind(name, node, member, module)


# ---- the stub's side ----


def _public(body: list[ast.stmt]) -> Iterator[tuple[str, ast.stmt]]:
    """Names of a block and what first defines them; not those for the stub's own use."""
    public_names = set()
    for node in body:
        for name in _defined(node):
            if name not in public_names and (not name.startswith("_") or name == "__all__"):
                public_names.add(name)
                yield name, node


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.AnnAssign):
        return [ast.unparse(node.target)]
    if isinstance(node, ast.Assign):
        return [ast.unparse(target) for target in node.targets]
    if isinstance(node, ast.ImportFrom):  # only "x as x" is a public name of a stub
        return [alias.name for alias in node.names if alias.asname == alias.name]
    return []


def _all_of(body: list[ast.stmt], name: str) -> list[ast.FunctionDef]:
    return [node for node in body if isinstance(node, ast.FunctionDef) and node.name == name]


def _value(node: ast.stmt | None) -> Any:
    assert isinstance(node, ast.AnnAssign | ast.Assign)
    assert node.value is not None
    return ast.literal_eval(node.value)


def _typed(annotation: ast.expr, module: Any) -> Any:
    """The one value that a ClassVar's type allows."""
    if isinstance(annotation, ast.Constant):
        return annotation.value
    assert isinstance(annotation, ast.Subscript), ast.unparse(annotation)
    what = ast.unparse(annotation.value)
    inner = annotation.slice
    if what == "ClassVar":
        return _typed(inner, module)
    if what == "Literal":
        return ast.literal_eval(inner)
    if what in ("type", "builtins.type"):
        target = module
        for part in ast.unparse(inner).split("."):
            target = getattr(target, part)
        return target
    assert what == "tuple", what
    items = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    return tuple(_typed(item, module) for item in items)


# ---- comparisons ----


def _apart(where: str, stub_names: set[str], module_names: set[str]) -> Iterator[str]:
    stub_names = stub_names - {"__all__"}
    yield from (
        f"{where}: {name} is in the stub only" for name in sorted(stub_names - module_names)
    )
    yield from (
        f"{where}: {name} is missing in the stub" for name in sorted(module_names - stub_names)
    )


def _same(where: str, stub_value: Any, module_value: Any) -> Iterator[str]:
    if stub_value != module_value or type(stub_value) is not type(module_value):
        yield f"{where}: {stub_value!r} in the stub, {module_value!r} in the module"


def _doc(where: str, node: ast.ClassDef | ast.FunctionDef, member: Any) -> Iterator[str]:
    """The same words; line breaks may differ."""
    stub_text, real = ast.get_docstring(node) or "", inspect.getdoc(member) or ""
    yield from _same(f"{where}, docstring", stub_text.split(), real.split())


def _constant(where: str, node: ast.AnnAssign, member: Any) -> Iterator[str]:
    if not ast.unparse(node.annotation).startswith("Final"):
        yield f"{where} is not Final"
    if node.value is not None:
        yield from _same(where, _value(node), member)


def _function(where: str, node: ast.FunctionDef, signature: inspect.Signature) -> Iterator[str]:
    yield from _parameters_apart(where, _parameters(node), signature)


def _parameters_apart(
    where: str, stub_parameters: dict[str, tuple[bool, Any]], signature: inspect.Signature
) -> Iterator[str]:
    """Names, order, kinds and defaults; an overload may leave a default out."""
    yield from _same(f"{where}, parameters", list(stub_parameters), list(signature.parameters))
    for name in stub_parameters.keys() & signature.parameters.keys():
        (keyword, default), real = stub_parameters[name], signature.parameters[name]
        only = real.kind is inspect.Parameter.KEYWORD_ONLY
        yield from _same(f"{where}, {name} is keyword-only", keyword, only)
        if default is ...:  # a stub cannot spell a datetime
            yield from _same(f"{where}, default of {name}", datetime, type(real.default))
        elif default is not inspect.Parameter.empty:
            yield from _same(f"{where}, default of {name}", default, real.default)


def _parameters(node: ast.FunctionDef) -> dict[str, tuple[bool, Any]]:
    """Name -> (keyword-only, default), without self."""
    empty = inspect.Parameter.empty
    args = node.args
    missing = [None] * (len(args.args) - len(args.defaults))
    pairs = [
        *((a.arg, False, d) for a, d in zip(args.args, [*missing, *args.defaults], strict=True)),
        *((a.arg, True, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)),
    ]
    return {
        name: (keyword, empty if default is None else ast.literal_eval(default))
        for name, keyword, default in pairs
        if name != "self"
    }


def _namespace(where: str, node: ast.ClassDef, namespace: Any, module: Any) -> Iterator[str]:
    names = dict(_public(node.body))
    yield from _apart(where, set(names), {name for name in vars(namespace) if name[0] != "_"})
    for name, item in names.items():
        if isinstance(item, ast.AnnAssign):
            yield from _constant(f"{where}.{name}", item, getattr(namespace, name, None))
        elif isinstance(item, ast.ClassDef) and hasattr(namespace, name):
            yield from _doc(f"{where}.{name}", item, getattr(namespace, name))
            yield from _kind(f"{where}.{name}", item, getattr(namespace, name), module)


def _kind(where: str, node: ast.ClassDef, cls: Any, module: Any) -> Iterator[str]:
    """A generated class: marks, class constants, attributes, constructor."""
    marks = [ast.unparse(mark).partition("(")[0] for mark in node.decorator_list]
    expected_marks = ["final", "deprecated"] if getattr(cls, "DEPRECATED", False) else ["final"]
    yield from _same(f"{where}, decorators", marks, expected_marks)
    bases = [ast.unparse(base) for base in node.bases if "Generic" not in ast.unparse(base)]
    yield from _same(f"{where}, bases", bases, [base.__name__ for base in cls.__bases__])

    names = dict(_public(node.body))
    match = [item for item in node.body if _defined(item) == ["__match_args__"]]
    yield from _same(f"{where}.__match_args__", _value(match[0]), cls.__match_args__)
    yield from _apart(where, set(names), {name for name in vars(cls) if name[0] != "_"})
    attributes = []
    for name, item in names.items():
        if not hasattr(cls, name):
            continue
        if name.isupper():
            assert isinstance(item, ast.AnnAssign)
            stub_value = _typed(item.annotation, module)
            yield from _same(f"{where}.{name}", stub_value, getattr(cls, name))
        elif isinstance(item, ast.AnnAssign):
            attributes.append(name)
    fields = [name for name in attributes if name in cls.FIELDS]
    yield from _same(f"{where}, order of attributes", tuple(fields), cls.FIELDS)
    yield from _attributes(where, names, cls)
    yield from _constructor(where, _all_of(node.body, "__init__")[0], cls)


def _attributes(where: str, names: dict[str, ast.stmt], cls: Any) -> Iterator[str]:
    """What the stub calls a property cannot be set; everything else can."""
    for name in names:
        if not isinstance(vars(cls).get(name), _DESCRIPTORS):
            continue
        instance = cls()
        try:
            setattr(instance, name, None)
            writable = True
        except AttributeError:
            writable = False
        stub_writable = isinstance(names[name], ast.AnnAssign)
        yield from _same(f"{where}.{name} is writable", stub_writable, writable)


def _constructor(where: str, node: ast.FunctionDef, cls: Any) -> Iterator[str]:
    """The first overload against the signature, and against what the constructor does."""
    where = f"{where}()"
    stub_parameters = _parameters(node)
    for name in stub_parameters.keys() - set(cls.FIELDS):  # a second name for a field
        yield from _same(f"{where}, {name}", [stub_parameters.pop(name)[0]], [True])
        if getattr(cls(**{name: "mark"}), name, None) != "mark":
            yield f"{where}, {name} does not set {name}"
    yield from _parameters_apart(where, stub_parameters, inspect.signature(cls))
    bare = cls()
    for name, (_, default) in stub_parameters.items():
        real = getattr(bare, name)
        # None that stands for a new property list
        if default is not ... and (default is not None or type(real).__name__ != "Properties"):
            yield from _same(f"{where}, default of {name}", default, real)
    positional = [name for name, (keyword, _) in stub_parameters.items() if not keyword]
    marks = [object() for _ in positional]
    instance = cls(*marks)
    for name, mark in zip(positional, marks, strict=True):
        if getattr(instance, name) is not mark:
            yield f"{where}, {name} is not in its place"
    try:
        cls(*marks, None)
    except TypeError:
        return
    yield f"{where} takes more by position than the stub says"
