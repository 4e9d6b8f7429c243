"""The stub says what the module has: names, constants, fields, order, defaults and docstrings."""

from __future__ import annotations

import ast
import importlib
import inspect
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import _codec, v0_8, v0_9
from amqpcodec import v0_9_1 as amqp
from tests.typing.stub_compare import ALIASES, differences

STUB = Path(amqp.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
CORE_STUB = Path(amqp.__file__).with_name("_codec.pyi").read_text(encoding="utf-8")
METHODS = pytest.mark.parametrize(
    "kind", amqp.METHODS.values(), ids=[kind.NAME for kind in amqp.METHODS.values()]
)


@pytest.mark.parametrize("module", [amqp, v0_9, v0_8], ids=lambda module: module.__name__)
def test_stub_matches_the_module(module: Any) -> None:
    stub = Path(module.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    assert list(differences(stub, module)) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("FRAME_END: Final = 206", "FRAME_END: Final = 207", "FRAME_END: 207 in the stub"),
        ("FRAME_END: Final = 206\n", "", "FRAME_END is missing"),
        ("FRAME_END: Final", "FRAME_ENDS: Final", "FRAME_ENDS is in the stub only"),
        ("FRAME_END: Final", "FRAME_END: int", "FRAME_END is not Final"),
        ("def encode_parts(", "def encode_pieces(", "encode_parts is missing"),
        ('body: Buffer = b"",', 'body: Buffer = b" ",', "default of body"),
        ("Encode one frame", "Decode one frame", "encode, docstring"),
        ("class Publish(Method)", "class Pubish(Method)", "Publish is missing"),
        ("class Publish(Method)", "class Publish(Frame)", "Basic.Publish, bases"),
        ("METHOD_ID: ClassVar[Literal[40]]", "METHOD_ID: ClassVar[Literal[4]]", ".METHOD_ID: 4 "),
        ("SENT_BY: ClassVar[tuple[Literal", "SENT_BY: ClassVar[tuple[()] | tuple[Literal", None),
        (
            "tuple[type[Basic.GetOk], type[Basic.GetEmpty]]",
            "tuple[type[Basic.GetEmpty], type[Basic.GetOk]]",
            "Basic.Get.RESPONSES",
        ),
        ('__match_args__ = ("exchange", "rout', '__match_args__ = ("exchnage", "rout', "__match"),
        (
            "delivery_tag: int\n        multiple: bool\n",
            "multiple: bool\n        delivery_tag: int\n",
            "order of attributes",
        ),
        (
            "delivery_tag: int = 0, multiple: bool = False)",
            "multiple: bool = False, delivery_tag: int = 0)",
            "Basic.Ack(), parameters",
        ),
        ("mandatory: bool = False", "mandatory: bool = True", "default of mandatory"),
        (
            "            *,\n            reserved_1: int = 0",
            "reserved_1: int = 0",
            "reserved_1 is key",
        ),
        ("        cluster_id: str | None\n", "", "cluster_id is missing"),
        ("@property\n        def raw_headers(self) -> bytes | None:", "raw_headers: bytes\n", None),
        ("    @final\n    class Ack", "    class Ack", "Basic.Ack, decorators"),
        ("Send a message to", "Send two messages to", "Basic.Publish, docstring"),
    ],
)
def test_a_wrong_stub_is_found_out(old: str, new: str, message: str | None) -> None:
    assert old in STUB
    wrong = STUB.replace(old, new, 1)
    if message is None:  # no stub of ours reads so, and the reader says that
        with pytest.raises((AssertionError, SyntaxError)):
            list(differences(wrong, amqp))
    else:
        assert any(message in line for line in differences(wrong, amqp)), list(
            differences(wrong, amqp)
        )


def attribute_types(kind: Any) -> dict[str, str]:
    """Attribute -> its type in the stub."""
    body = ast.parse(STUB).body
    for part in kind.__qualname__.split("."):
        definition = next(
            node for node in body if isinstance(node, ast.ClassDef) and node.name == part
        )
        body = definition.body
    return {
        ast.unparse(node.target): ast.unparse(node.annotation)
        for node in body
        if isinstance(node, ast.AnnAssign)
    }


def fits(value: Any, annotation: str) -> bool:
    """Whether a value is of exactly one of the types."""
    names = {"None": type(None), "datetime": datetime, "dict[str, Any]": dict}
    names |= {kind.__name__: kind for kind in (bool, int, str, bytes)}
    return type(value) in [names[part] for part in annotation.split(" | ")]


@METHODS
def test_attributes_have_the_types_of_the_stub(kind: Any) -> None:
    stub_types = attribute_types(kind)
    decoded = amqp.decode(amqp.encode(1, kind()))
    assert decoded is not None
    for instance in (kind(), decoded[2]):
        for field in kind.FIELDS:
            assert fits(getattr(instance, field), stub_types[field]), field


def test_properties_have_the_types_of_the_stub() -> None:
    stub_types = attribute_types(amqp.Basic.Properties)
    property_values: dict[str, Any] = dict.fromkeys(amqp.Basic.Properties.FIELDS, "text")
    property_values |= {"headers": {"n": 1}, "delivery_mode": 2, "priority": 3, "timestamp": 4}
    octets = amqp.encode(1, amqp.Header(0, amqp.Basic.Properties(**property_values)))
    decoded = amqp.decode(octets)
    assert decoded is not None
    assert isinstance(decoded[2], amqp.Header)
    for field in amqp.Basic.Properties.FIELDS:
        assert fits(getattr(decoded[2].properties, field), stub_types[field]), field
        assert fits(getattr(amqp.Basic.Properties(), field), stub_types[field]), field


def test_aliases_are_what_the_stub_says_where_the_module_has_them() -> None:
    for name in ALIASES & set(dir(amqp)):
        node = next(
            node
            for node in ast.parse(STUB).body
            if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name
        )
        assert node.value is not None
        parts = ast.unparse(node.value).split(" | ")
        alias = getattr(amqp, name)
        assert [kind.__qualname__ for kind in alias.__args__] == parts


# ---- decoders: their settings are only seen by calling them ----


def decoder_settings(name: str) -> dict[str, tuple[list[Any], Any]]:
    """Keyword -> (values it takes, default), from the last overload."""
    module = ast.parse(STUB)
    node = next(n for n in module.body if isinstance(n, ast.ClassDef) and n.name == name)
    init = [n for n in node.body if isinstance(n, ast.FunctionDef)][-1].args
    aliases = {
        ast.unparse(n.target): n.value
        for n in module.body
        if isinstance(n, ast.AnnAssign) and ast.unparse(n.annotation) == "TypeAlias"
    }
    settings = {}
    for arg, default in zip(init.kwonlyargs, init.kw_defaults, strict=True):
        assert arg.annotation is not None
        assert default is not None
        kind = ast.unparse(aliases.get(ast.unparse(arg.annotation)) or arg.annotation)
        if kind == "int | None":
            continue  # a limit
        values = [False, True] if kind == "bool" else list(ast.literal_eval(kind[len("Literal") :]))
        settings[arg.arg] = (values, ast.literal_eval(default))
    return settings


@pytest.mark.parametrize("name", ["Decoder", "MessageDecoder"])
def test_decoders_take_what_the_stub_says(name: str) -> None:
    decoder = getattr(amqp, name)
    settings = decoder_settings(name)
    assert set(settings) == {"errors", "dialect", "tables", "copy", "trailing"}
    decoder(**{keyword: default for keyword, (_, default) in settings.items()})
    for keyword, (values, default) in settings.items():
        assert default in values
        for value in values:
            decoder(**{keyword: value})
        if keyword != "copy":
            with pytest.raises(ValueError, match=keyword):
                decoder(**{keyword: "something else"})
    positional = [0] if name == "Decoder" else [0, 0]
    decoder(*positional)
    with pytest.raises(TypeError):
        decoder(*positional, "strict")
    with pytest.raises(TypeError):
        decoder(framemax=0)
    assert decoder().frame_max == 131072


# ---- the stub of the core ----


def core_classes() -> list[ast.ClassDef]:
    return [node for node in ast.parse(CORE_STUB).body if isinstance(node, ast.ClassDef)]


def same_words(node: ast.ClassDef | ast.FunctionDef, member: Any) -> bool:
    return (ast.get_docstring(node) or "").split() == (inspect.getdoc(member) or "").split()


#: Stub of a compiled module -> how many methods with a text it has at least.
CORE = {"_codec": 5, "_v1": 3, "_columns": 0, "_encode": 0, "_capture": 5, "_dropins": 3}
CORE["_dropins_v1"] = 0


@pytest.mark.parametrize("core", CORE)
def test_core_stub_has_only_what_the_core_has(core: str) -> None:
    documented = 0
    module = importlib.import_module(f"amqpcodec.{core}")
    stub = ast.parse(Path(module.__file__ or "").with_name(f"{core}.pyi").read_text("utf-8"))
    for node in (node for node in stub.body if isinstance(node, ast.ClassDef)):
        bases = [ast.unparse(base).partition("[")[0] for base in node.bases]
        if {"Protocol_", "TypedDict"} & set(bases):
            continue  # what others are to look like: for type checkers alone
        cls = getattr(module, node.name)
        real = [base.__name__ for base in cls.__bases__ if base is not object]
        assert [base for base in bases if base != "Generic"] == real, node.name
        assert same_words(node, cls), node.name
        for item in node.body:
            if not isinstance(item, ast.FunctionDef) or item.name[0] == "_":
                continue
            member = getattr(cls, item.name)
            documented += bool(ast.get_docstring(item))
            setter = any(ast.unparse(mark).endswith(".setter") for mark in item.decorator_list)
            # Those of Protocol are the functions of its module, whose stub has the texts.
            if not setter and node.name != "Protocol":
                assert same_words(item, member), f"{node.name}.{item.name}"
    assert documented >= CORE[core]
    for node in stub.body:
        if isinstance(node, ast.FunctionDef):
            assert same_words(node, getattr(module, node.name)), node.name


@pytest.mark.parametrize("name", ["Decoder", "MessageDecoder", "Protocol"])
def test_core_stub_lacks_nothing_public(name: str) -> None:
    cls = getattr(_codec, name)
    stub_names = set()
    for node in core_classes():
        if issubclass(cls, getattr(_codec, node.name)):
            for item in node.body:
                if isinstance(item, ast.FunctionDef):
                    stub_names.add(item.name)
                elif isinstance(item, ast.AnnAssign):
                    stub_names.add(ast.unparse(item.target))
    assert {n for n in dir(cls) if n[0] != "_"} == {n for n in stub_names if n[0] != "_"}
