"""The emitter of stubs on protocols that are not ours: odd texts, odd names, several contents."""

from __future__ import annotations

import ast
import inspect
from dataclasses import replace

import pytest

from amqpcodec.spec import Class, Constant, Field, Method, Protocol
from amqpcodec.spec.lower import lower
from spec.emitters import stubs

ODD_TEXTS = [
    'says "yes"',
    '"',
    "\"\"\" and '''",
    'ends in """',
    "back\\slash, \\n, \\x41, \\N{DASH}",
    "ends in a backslash \\",
    "tab\tbell\a nul\0",
    "größer als 漢字 \N{ZERO WIDTH SPACE}",
    "%PROPERTIES% {braces} %s",
    "a-word-that-is-longer-than-any-line-" + "x" * 120,
    "many words " * 30,
]


def protocol(label: str = "", *fields: Field) -> Protocol:
    """A protocol with one class and one method, which carries content."""
    publish = Method("publish", 40, label=label, content=True, fields=fields)
    basic = Class("basic", 60, label=label, methods=(publish,), fields=fields)
    constants = (Constant("frame-end", 206, label=label),)
    return Protocol("0-9-1", 0, 9, 1, 5672, constants=constants, classes=(basic,))


def emit_stubs(protocol: Protocol, module: str) -> str:
    return stubs.emit_stubs(lower(protocol, f"amqpcodec.{module}"))


def docstrings(stub: str) -> list[str]:
    return [
        inspect.cleandoc(ast.get_docstring(node, clean=False) or "")
        for node in ast.walk(ast.parse(stub))
        if isinstance(node, ast.ClassDef)
    ]


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_any_text_reads_back(text: str) -> None:
    stub = emit_stubs(protocol(text, Field("queue", None, "shortstr", label=text)), "v0_9_1")
    expected_words = (text[:1].upper() + text[1:] + ".").split()
    texts = [doc.split() for doc in docstrings(stub)]
    assert expected_words in texts  # of the class
    publish = next(
        doc for doc in texts if doc[: len(expected_words)] == expected_words and "Args:" in doc
    )
    at = publish.index("queue:")
    assert publish[at : at + 2] == ["queue:", "shortstr;"]
    assert " ".join([*text.split(), ""]).strip() in " ".join(publish[at:])


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_lines_are_as_long_as_they_must_be(text: str) -> None:
    longest = max(map(len, text.split()))
    for line in emit_stubs(protocol(text), "v0_9_1").splitlines():
        assert len(line) <= max(100, longest + 20)


@pytest.mark.parametrize("name", ["type", "bytes", "str", "int", "bool", "dict"])
def test_names_that_a_field_hides_are_qualified(name: str) -> None:
    fields = (Field(name, None, "longstr"), Field("n", None, "long"), Field("t", None, "table"))
    stub = emit_stubs(protocol("", *fields), "v0_9_1")
    ast.parse(stub)
    used = {
        ast.unparse(node.annotation)
        for node in ast.walk(ast.parse(stub))
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) in (name, "n", "t")
    }
    spelt = {"bytes", "int", "dict[str, Any]"}
    spelt = {kind.replace(name, f"builtins.{name}") for kind in spelt}
    assert used == spelt | {f"{kind} | None" for kind in spelt}


@pytest.mark.parametrize("name", ["tuple", "property", "datetime"])
def test_names_that_must_not_be_hidden_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        emit_stubs(protocol("", Field(name, None, "bit")), "v0_9_1")


def test_content_of_several_classes() -> None:
    one = protocol()
    file = replace(one.classes[0], name="file", index=70)
    stub = emit_stubs(replace(one, classes=(*one.classes, file)), "v0_9")
    assert "_AnyProperties: TypeAlias = Basic.Properties | File.Properties\n" in stub
    assert "properties: _AnyProperties\n" in stub
    assert "ContentMethod: TypeAlias = Basic.Publish | File.Publish\n" in stub


def test_same_model_same_text() -> None:
    one = protocol("text", Field("queue", None, "shortstr"))
    assert emit_stubs(one, "v0_9_1") == emit_stubs(one, "v0_9_1")
    assert emit_stubs(one, "v0_9_1") != emit_stubs(protocol(), "v0_9_1")
