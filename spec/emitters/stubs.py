"""Type stubs: everything a protocol module offers, with exact types and the docs editors show."""

from __future__ import annotations

import re
import textwrap
from typing import Any

from amqpcodec.spec.lower import FIELD_RESERVED, WIRE_NUMBERS

from .stub_template import DECODER_INIT, FRAMES, HEAD

WIDTH = 100

#: Wire type -> (type of the attribute, type of the argument, default of a method's argument).
_TYPES = {
    "bit": ("bool", "bool", "False"),
    "octet": ("int", "int", "0"),
    "short": ("int", "int", "0"),
    "long": ("int", "int", "0"),
    "longlong": ("int", "int", "0"),
    "shortstr": ("str", "str", '""'),
    "longstr": ("bytes", "bytes | bytearray | memoryview | str", 'b""'),
    "timestamp": ("datetime | int", "datetime | int", "..."),
    "table": ("dict[str, Any]", "dict[str, Any]", "{}"),
    # A body, or amqpcodec.types.Reference (of bytes).
    "content": ("bytes", "bytes | bytearray | memoryview | str", 'b""'),
}
_BY_NUMBER = {WIRE_NUMBERS[name]: types for name, types in _TYPES.items()}

#: What annotations in a class use. A field of that name hides it there: built-in names are then
#: qualified, the others must not be hidden.
_BUILTINS = {"bool", "int", "str", "bytes", "bytearray", "memoryview", "dict", "type"}
_FIXED = {"Any", "ClassVar", "Literal", "builtins", "datetime", "property", "tuple"}

#: Property -> its second name, which attributes and keywords may have.
_ALIASES = {"reserved": "cluster_id"}

_RAW_DOC = "Bytes that {} came in, without their length; None if made or assigned here."


def emit_stubs(table: dict[str, Any]) -> str:
    """Source of ``<version>.pyi``. table: what ``lower`` returns, or a TABLE of ``_gen``."""
    contents = [cls for cls in table["classes"] if cls["properties"] is not None]
    carriers = [
        f"{cls['python']}.{method['python']}"
        for cls in contents
        for method in cls["methods"]
        if method["content"]
    ]
    properties = " | ".join(f"{cls['python']}.Properties" for cls in contents)
    union = _union("_AnyProperties", properties.split(" | "))
    any_properties = f"#: Of any class of content.\n_AnyProperties: TypeAlias = {union}\n\n"
    names = {
        "VERSION": table["name"],
        "PROPERTIES": "_AnyProperties" if len(contents) > 1 else properties,
        "ANY_PROPERTIES": any_properties if len(contents) > 1 else "",
        "CLASS_ID": str(contents[0]["index"]),
        "CONTENT_METHODS": _union("ContentMethod", carriers),
        "SHARED": _shared(table),
        "DEPRECATED": ", deprecated" if _has_deprecated(table) else "",
        "DECODER_INITS": _decoder_inits("Decoder", "Frame", "        *,\n"),
        "MESSAGE_DECODER_INITS": _decoder_inits(
            "MessageDecoder",
            "Event",
            "        max_body_size: int | None = None,\n        *,\n"
            "        max_open: int | None = 65536,\n",
        ),
    }
    names |= {f"HEADER_{i}": str(byte) for i, byte in enumerate(table["header"])}
    parts = [
        _fill(HEAD, names),
        _all(table),
        _constants(table),
        _fill(FRAMES, names),
        *(_namespace(cls) for cls in table["classes"]),
    ]
    return "\n".join(parts)


def _has_deprecated(table: dict[str, Any]) -> bool:
    return any(method["deprecated"] for cls in table["classes"] for method in cls["methods"])


def _shared(table: dict[str, Any]) -> str:
    """Attributes of Message, where the protocol has a class of that name."""
    return "".join(
        f"    {method['python']}: TypeAlias = {cls['python']}.{method['python']}\n"
        for cls in table["classes"]
        if cls["python"] == "Message_"
        for method in cls["methods"]
    )


def _fill(text: str, names: dict[str, str]) -> str:
    return re.sub("%([A-Z_0-9]+)%", lambda match: names[match[1]], text)


def _union(name: str, types: list[str]) -> str:
    """The value of an alias, a type a line where it is long."""
    line = " | ".join(types)
    if len(f"{name}: TypeAlias = ") + len(line) <= WIDTH:
        return line
    if 4 + len(line) <= WIDTH:
        return f"(\n    {line}\n)"
    return "(\n    " + "\n    | ".join(types) + "\n)"


def _decoder_inits(name: str, item: str, limits: str) -> str:
    """The overloads of a decoder's __init__, the catch-all last."""
    plain, view, strict, either = f"Any{item}", f"_{item}WithView", '"strict"', '"strict", "frame"'
    cases = [
        (plain, f"Literal[{strict}] = {strict}", "Literal[True] = True"),
        (view, f"Literal[{strict}] = {strict}", "Literal[False]"),
        (f"{plain} | BadFrame", 'Literal["frame"]', "Literal[True] = True"),
        (f"{view} | BadFrame", 'Literal["frame"]', "Literal[False]"),
        (f"{plain} | {view} | BadFrame", f"Literal[{either}] = {strict}", "bool = True"),
    ]
    return "".join(
        _fill(
            DECODER_INIT,
            {"CLASS": name, "ITEM": got, "LIMITS": limits, "ERRORS": errors, "COPY": copy},
        )
        for got, errors, copy in cases
    )


# ---- constants ----

#: What every protocol module has beside constants and namespaces of methods.
_PUBLIC = [
    *("METHODS", "PROTOCOL", "PROTOCOL_HEADER", "VERSION"),
    *("Frame", "Method", "ContentProperties"),
    *("Header", "Body", "Heartbeat", "ProtocolHeader", "Message", "BadFrame"),
    *("Decoder", "MessageDecoder", "AnyEvent", "AnyFrame", "ContentMethod"),
    *("decode", "encode", "encode_into", "encode_message", "encode_parts"),
]


def _all(table: dict[str, Any]) -> str:
    names = [*_PUBLIC, *(name for name, _ in table["constants"])]
    names += [cls["python"] for cls in table["classes"]]
    # As ruff sorts them: constants, classes, functions.
    names.sort(key=lambda name: (not name.isupper(), name.islower(), name))
    return _bracketed("__all__ = [", [f'"{name}"' for name in names], "]")


def _constants(table: dict[str, Any]) -> str:
    raw = "".join(f"\\x{byte:02x}" for byte in table["header"])
    lines = [
        f"VERSION: Final[tuple[int, int, int]] = {table['version']!r}",
        f'PROTOCOL_HEADER: Final[bytes] = b"AMQP{raw}"',
    ]
    lines += [f"{name}: Final = {value}" for name, value in table["constants"]]
    return "\n".join(lines) + "\n"


# ---- classes ----


def _namespace(cls: dict[str, Any]) -> str:
    mark = "  # noqa: N801" if cls["python"].endswith("_") else ""
    head = f"class {cls['python']}:{mark}\n"
    body = _docstring(cls["doc"]) + f'\nNAME: Final = "{cls["name"]}"\n'
    body += f"CLASS_ID: Final = {cls['index']}\n\n"
    classes = [_method(cls, method) for method in cls["methods"]]
    if cls["properties"] is not None:
        classes.insert(0, _properties(cls))
    return head + textwrap.indent(body + "\n".join(classes), "    ")


def _method(cls: dict[str, Any], method: dict[str, Any]) -> str:
    fields = method["fields"]
    sent_by = [f'Literal["{peer}"]' for peer in method["sent_by"]]
    answers = [_type(f"type[{cls['python']}.{name}]", fields) for name in method["responses"]]
    extension = method["extension"]
    body = _docstring(method["doc"]) + "\n"
    body += f'NAME: ClassVar[Literal["{cls["name"]}.{method["name"]}"]]\n'
    body += f"CLASS_ID: ClassVar[Literal[{cls['index']}]]\n"
    body += f"METHOD_ID: ClassVar[Literal[{method['index']}]]\n"
    body += f"SYNCHRONOUS: ClassVar[Literal[{method['synchronous']}]]\n"
    body += f"HAS_CONTENT: ClassVar[Literal[{method['content']}]]\n"
    body += f"DEPRECATED: ClassVar[Literal[{method['deprecated']}]]\n"
    body += "EXTENSION: ClassVar[" + (f'Literal["{extension}"]' if extension else "None") + "]\n"
    body += _tuple_type("SENT_BY", sent_by)
    body += _tuple_type("RESPONSES", answers)
    body += _members(fields, optional=False)
    marks = "@final\n"
    if method["deprecated"]:
        marks += '@deprecated("deprecated by the specification")\n'
    return f"{marks}class {method['python']}(Method):\n" + textwrap.indent(body, "    ")


def _properties(cls: dict[str, Any]) -> str:
    name = cls["name"]
    body = _docstring(f"Properties of {name} content; None is absent.")
    body += f'\nNAME: ClassVar[Literal["{name}.properties"]]\n'
    body += f"CLASS_ID: ClassVar[Literal[{cls['index']}]]\n"
    body += _members(cls["properties"], optional=True)
    return "@final\nclass Properties(ContentProperties):\n" + textwrap.indent(body, "    ")


def _members(fields: tuple[Any, ...], optional: bool) -> str:
    """FIELDS, __match_args__, attributes, __init__ and the bytes of tables."""
    names = [field[0] for field in fields]
    none = " | None" if optional else ""
    positional = [field for field in fields if not field[2] & FIELD_RESERVED]
    reserved = [field for field in fields if field[2] & FIELD_RESERVED]
    aliases = [
        (_ALIASES[field[0]], *field[1:])
        for field in fields
        if optional and field[0] in _ALIASES and _ALIASES[field[0]] not in names
    ]

    def argument(field: tuple[Any, ...]) -> str:
        _, kind, default = _BY_NUMBER[field[1]]
        default = "None" if optional else default
        return f"{field[0]}: {_type(kind, fields)}{none} = {default}"

    lines = _tuple_type("FIELDS", [f'Literal["{name}"]' for name in names])
    lines += _tuple("__match_args__", [f'"{field[0]}"' for field in positional])
    for name, kind, *_ in [*fields, *aliases]:
        lines += f"{name}: {_type(_BY_NUMBER[kind][0], fields)}{none}\n"
    arguments = ["self", *map(argument, positional)]
    if reserved or aliases:
        arguments += ["*", *map(argument, [*reserved, *aliases])]
    lines += _bracketed("def __init__(", arguments, ") -> None: ...", indent=8)
    for name, kind, *_ in fields:
        if kind == WIRE_NUMBERS["table"]:
            lines += f"@property\ndef raw_{name}(self) -> {_type('bytes', fields)} | None:\n"
            lines += textwrap.indent(_docstring(_RAW_DOC.format(name), indent=12), "    ") + "\n"
    return lines.rstrip("\n") + "\n"


def _type(text: str, fields: tuple[Any, ...]) -> str:
    """A type as it is spelt in a class with these fields, some of which may hide its names."""
    hidden = {field[0] for field in fields}
    if hidden & _FIXED:
        raise ValueError(f"fields hide names of the annotations: {hidden & _FIXED}")
    for name in hidden & _BUILTINS:
        text = re.sub(rf"\b{name}\b", f"builtins.{name}", text)
    return text


# ---- layout ----


def _tuple_type(name: str, items: list[str]) -> str:
    """A class variable that is a tuple of these types."""
    if not items:
        return f"{name}: ClassVar[tuple[()]]\n"
    line = f"{name}: ClassVar[tuple[{', '.join(items)}]]\n"
    if len(line) + 8 <= WIDTH + 1:
        return line
    inner = _exploded("tuple[", items, "]")
    return f"{name}: ClassVar[\n" + textwrap.indent(inner, "    ") + "]\n"


def _tuple(name: str, items: list[str]) -> str:
    if len(items) == 1:
        return f"{name} = ({items[0]},)\n"
    return _bracketed(f"{name} = (", items, ")", indent=8)


def _bracketed(head: str, items: list[str], tail: str, indent: int = 0) -> str:
    """On one line where that fits, else an item a line."""
    line = f"{head}{', '.join(items)}{tail}\n"
    return line if len(line) + indent <= WIDTH + 1 else _exploded(head, items, tail)


def _exploded(head: str, items: list[str], tail: str) -> str:
    return f"{head}\n" + "".join(f"    {item},\n" for item in items) + f"{tail}\n"


def _docstring(text: str, indent: int = 8) -> str:
    """A docstring, wrapped; whatever the text holds, it reads back as it is."""
    lines: list[str] = []
    for line in text.split("\n"):
        margin = line[: len(line) - len(line.lstrip())]
        # What goes on is told from what begins by its margin.
        lines += textwrap.wrap(
            line,
            WIDTH - indent - (0 if lines else 2 * len('"""')),
            subsequent_indent=margin + "    " * bool(margin),
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    escaped = "\n".join(lines).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    escaped = "".join(
        c if c == "\n" or c.isprintable() else c.encode("unicode_escape").decode() for c in escaped
    )
    if len(lines) > 1:
        return f'"""{escaped}\n"""\n'
    if escaped.endswith('"'):
        escaped = escaped[:-1] + '\\"'
    return f'"""{escaped}"""\n'
