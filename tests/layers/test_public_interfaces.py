"""The core uses public interfaces of CPython and Cython, and setup.py builds as they document it.

What differs between versions of Python is asked for in one header, `_core/wire/python.h`.
"""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

from tests.paths import REPO

PACKAGE = REPO / "src" / "amqpcodec"
HEADER = "_core/wire/python.h"
SOURCES = sorted(
    path.relative_to(PACKAGE).as_posix()
    for folder in (PACKAGE, PACKAGE / "_core", PACKAGE / "_gen")
    for path in (folder.glob("*") if folder == PACKAGE else folder.rglob("*"))
    if path.suffix in (".h", ".pxi", ".pxd", ".pyx")
)

#: Private names that Python's manual documents all the same: name -> why it is used.
DOCUMENTED = {
    "_PyBytes_Resize": "the C API manual's only way to make bytes longer in place",
}

# Fields and functions that CPython keeps to itself, and casts to structs whose fields no manual
# names.
# (PyTypeObject's slots are documented; PyLongObject is what PyUnstable_Long_IsCompact takes.)
_PRIVATE = re.compile(
    r"\b(?:_Py_?[A-Z]\w*|ma_(?:keys|values|version_tag)|tp_version_tag|ob_(?:digit|hash|sval)"
    r"|lv_tag|co_code_adaptive)\b"
    r"|\(\s*\(\s*(?!PyTypeObject)Py\w+Object\s*\*\s*\)\s*\(?\w+\)?\s*\)\s*->"
    r"|\(\s*PyASCIIObject\s*\*\s*\)"
    r"|\(\s*\(\s*PyDateTime_\w+\s*\*\s*\)\s*\(?\w+\)?\s*\)\s*->|\bPyDateTime_\w+\s*\*\s*\w+\s*="
)
_VERSION = re.compile(
    r"\b(?:PY_(?:VERSION_HEX|MINOR_VERSION|MAJOR_VERSION)|Py_GIL_DISABLED|PYPY_VERSION)\b"
)
_BLINDING = re.compile(
    r"-g0\b|-Wl,(?:-s\b|-S\b|--strip)|^-s$|no-asynchronous-unwind-tables|no-unwind-tables"
    r"|-fno-exceptions|noseparate-code|--build-id=none"
)


def private_names(source: str) -> list[str]:
    """What of a C or Cython source leans on the inside of CPython."""
    return [name for name in _PRIVATE.findall(source) if name not in DOCUMENTED]


def version_questions(source: str) -> list[str]:
    return _VERSION.findall(source)


def compiler_patches(source: str) -> list[str]:
    """What a setup.py assigns to parts of Cython; its options are there to be set."""
    tree = ast.parse(source)
    parts: dict[str, str] = {}  # name -> what of Cython it is
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for item in node.names:
                if item.name.split(".")[0] == "Cython":
                    parts[item.asname or "Cython"] = item.name if item.asname else "Cython"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "Cython":
            for item in node.names:
                parts[item.asname or item.name] = f"{node.module}.{item.name}"
    patches = []
    for node in ast.walk(tree):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets = [node.target]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("setattr", "delattr"):
            targets = [ast.Attribute(node.args[0], "x")]
        for target in targets:
            while isinstance(target, ast.Subscript):
                target = target.value
            if not isinstance(target, ast.Attribute):
                continue
            root, *attributes = ast.unparse(target.value).split(".")
            full_name = ".".join([parts.get(root, ""), *attributes])
            if root in parts and full_name != "Cython.Compiler.Options":
                patches.append(ast.unparse(node))
    return patches


def blinding_flags(source: str) -> list[str]:
    """Flags without which a profiler or debugger sees no frames or names of ours."""
    texts = [
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return [word for text in texts for word in text.split() if _BLINDING.search(word)]


@pytest.mark.parametrize("path", SOURCES)
def test_no_private_part_of_cpython(path: str) -> None:
    assert private_names((PACKAGE / path).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", SOURCES)
def test_versions_are_asked_for_in_one_header(path: str) -> None:
    version_checks = version_questions((PACKAGE / path).read_text(encoding="utf-8"))
    assert path == HEADER or version_checks == []


@pytest.mark.parametrize("path", SOURCES)
def test_references_are_counted_in_one_header(path: str) -> None:
    """What a count of one means depends on the version: `python_is_only_ours` asks."""
    counts_references = "Py_REFCNT" in (PACKAGE / path).read_text(encoding="utf-8")
    assert counts_references == (path == HEADER)


def test_the_header_asks_for_versions() -> None:
    assert "PY_VERSION_HEX" in version_questions((PACKAGE / HEADER).read_text(encoding="utf-8"))
    assert len(SOURCES) > 100


def test_documented_names_are_used() -> None:
    """An entry of the short list that nothing needs any more goes."""
    everything = "".join((PACKAGE / path).read_text(encoding="utf-8") for path in SOURCES)
    assert [name for name in DOCUMENTED if name not in everything] == []


def test_setup_patches_no_compiler_and_keeps_symbols() -> None:
    source = (REPO / "setup.py").read_text(encoding="utf-8")
    assert compiler_patches(source) == []
    assert blinding_flags(source) == []


def test_cython_s_range_has_two_ends_and_ci_builds_with_the_lower() -> None:
    """A release of Cython that nobody has tried builds nobody's sdist."""
    project = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))
    (cython,) = (
        requirement
        for requirement in project["build-system"]["requires"]
        if requirement.startswith("cython")
    )
    match = re.fullmatch(r"cython>=(\d+\.\d+),<\d+\.\d+", cython)
    assert match is not None
    workflow = (REPO / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    assert f"cython=={match[1]}.0 " in workflow


@pytest.mark.parametrize(
    "line",
    [
        "keys = ((PyDictObject *)d)->ma_keys;",
        "if (((PyDictObject *)d)->ma_version_tag != seen) return 0;",
        "unsigned tag = type->tp_version_tag;",
        "return _PyType_Lookup(type, name);",
        "_PyLong_FromByteArray(p, 16, 0, 0)",
        "_Py_NewReference(o);",
        "digit *low = ((PyLongObject *)value)->ob_digit;",
        "((PyTupleObject *)pair)->ob_hash = -1;",
        "m = ((PyMemberDescrObject *)d)->d_member;",
        "n = ((PyUnicodeObject *)(o))->length;",
        "uint8_t *p = (uint8_t *)((PyASCIIObject *)(o) + 1);",
        "PyDateTime_DateTime *d = (PyDateTime_DateTime *)o;",
        'int grow "_PyTuple_Resize"(PyObject** o, Py_ssize_t n) except -1',
    ],
)
def test_private_parts_are_seen(line: str) -> None:
    assert private_names(f"static int f(void) {{\n    {line}\n}}\n") != []


@pytest.mark.parametrize(
    "line",
    [
        "PyTuple_SET_ITEM(pair, 0, number);",
        "n = PyUnicode_GET_LENGTH(o); p = PyUnicode_1BYTE_DATA(o);",
        "((PyTypeObject *)cls)->tp_alloc(cls, 0);",
        "PyUnstable_Long_IsCompact((PyLongObject *)o)",
        "((MessageObject *)o)->field[i] = value;",
        'int resize "_PyBytes_Resize"(PyObject** o, Py_ssize_t n) except -1',
        "PyDateTime_GET_YEAR(o)",
    ],
)
def test_public_parts_pass(line: str) -> None:
    assert private_names(line) == []


@pytest.mark.parametrize(
    "line",
    ["#if PY_VERSION_HEX >= 0x030D0000", "#ifdef Py_GIL_DISABLED", "#if !defined(PYPY_VERSION)"],
)
def test_questions_for_a_version_are_seen(line: str) -> None:
    assert version_questions(line) != []


@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        ("from Cython.Compiler import Options\nOptions.docstrings = False", False),
        ("import Cython.Compiler.Options as O\nO.warning_errors = True", False),
        ("from Cython.Build import cythonize\nx = cythonize([])\nx.y = 1", False),
        ("from Cython.Compiler import Code\nCode.CCodeWriter.putln = quiet", True),
        ("from Cython.Compiler.Nodes import FuncDefNode\nFuncDefNode.emit = emit", True),
        ("import Cython\nCython.Compiler.Code.x = 1", True),
        ("import Cython.Compiler.Naming as Naming\nNaming.prefix += 'x'", True),
        ("from Cython.Compiler import Code\nsetattr(Code.CCodeWriter, 'mark_pos', f)", True),
        ("from Cython.Compiler import Builtin\nBuiltin.types['x'] = 1", True),
    ],
)
def test_patches_of_the_compiler_are_seen(source: str, wrong: bool) -> None:
    assert bool(compiler_patches(source)) is wrong


@pytest.mark.parametrize(
    "flag",
    ["-g0", "-s", "-Wl,-s", "-Wl,--strip-all", "-fno-asynchronous-unwind-tables",
     "-fno-unwind-tables", "-Wl,-z,noseparate-code"],
)  # fmt: skip
def test_flags_that_blind_a_profiler_are_seen(flag: str) -> None:
    assert blinding_flags(f"args = ['-O3']\nargs.append({flag!r})") == [flag]


def test_plain_flags_pass() -> None:
    assert (
        blinding_flags("args = ['-O3', '-g', '-Wall', '-std=c11', 'scripts', '-Wno-shadow']") == []
    )


def test_sources_are_found() -> None:
    for path in (HEADER, "_codec.pyx", "_gen/fast.pxi", "_core/tables/read.pxi"):
        assert path in SOURCES
    assert all(Path(PACKAGE / path).is_file() for path in SOURCES)
