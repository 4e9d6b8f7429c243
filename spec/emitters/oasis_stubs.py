"""Type stubs of AMQP 1.0: a class for each described type, enums, constants, and what does not
come from the table."""

from __future__ import annotations

import re
import textwrap
from typing import Any

from amqpcodec.spec.oasis import Protocol
from amqpcodec.spec.oasis_lower import FIELD_MULTIPLE, TYPE_NUMBERS, lower

from .oasis_stub_template import DECODERS, FRAMES, FUNCTIONS, HEAD
from .stubs import _bracketed, _docstring, _tuple, _tuple_type

#: Type -> (of the attribute, of the argument).
_TYPES = {
    "boolean": ("bool", "bool"),
    "ubyte": ("int", "int"),
    "ushort": ("int", "int"),
    "uint": ("int", "int"),
    "ulong": ("int", "int"),
    "timestamp": ("datetime | Timestamp", "datetime | int"),
    "binary": ("bytes", "_Bytes"),
    "string": ("str", "str"),
    "symbol": ("str", "str"),
    "list": ("list[Any]", "Sequence[Any]"),
    "map": ("_Map", "_Map"),
    "*": ("Any", "Any"),
}
_BY_NUMBER = {TYPE_NUMBERS[name]: types for name, types in _TYPES.items()}

#: Names of the module that are not in the table.
_PUBLIC = [
    *("ABSENT", "Absent", "Array", "BadFrame", "Byte", "Char", "Composite", "Decimal32"),
    *("Decimal64", "Decimal128", "Decoder", "Delivery", "Described", "Double", "Float"),
    *("Heartbeat", "Int", "Long", "Map", "Message", "MessageDecoder", "PROTOCOL"),
    *("PROTOCOL_HEADER", "ProtocolHeader", "SASL_HEADER", "Short", "Symbol", "TLS_HEADER"),
    *("TYPES", "Timestamp", "UByte", "UInt", "ULong", "UShort", "VERSION", "decode"),
    *("decode_value", "encode", "encode_into", "encode_message", "encode_value"),
    "required_annotations",
]


def emit_oasis_stubs(protocol: Protocol, module: str) -> str:
    """Source of ``v1_0.pyi``."""
    table = lower(protocol, f"amqpcodec.{module}")
    enums = {spec["python"]: spec for spec in table["enums"]}
    parts = [
        HEAD,
        _all(table),
        _constants(table),
        *(_enum(spec) for spec in table["enums"]),
        *(_class(spec, enums) for spec in table["types"]),
        FRAMES,
        FUNCTIONS,
        DECODERS,
    ]
    return "\n".join(parts)


def _all(table: dict[str, Any]) -> str:
    names = [*_PUBLIC, *(name for name, _ in table["constants"])]
    names += [spec["python"] for spec in (*table["types"], *table["enums"])]
    # As ruff sorts them: constants, classes, functions.
    names.sort(key=lambda name: (not name.isupper(), name.islower(), _natural(name)))
    return _bracketed("__all__ = [", [f'"{name}"' for name in names], "]")


def _natural(name: str) -> list[tuple[int, str]]:
    """A key that counts numbers by their value."""
    parts = re.split("([0-9]+)", name)
    return [(int(part), "") if part.isdigit() else (0, part) for part in parts]


def _constants(table: dict[str, Any]) -> str:
    lines = [
        f"VERSION: Final[tuple[int, int, int]] = {table['version']!r}",
        "PROTOCOL: Final[_v1.V1Protocol]",
        "TYPES: Final[MappingProxyType[int, type[Composite]]]",
    ]
    for name, prefix in (("AMQP", "PROTOCOL"), ("SASL", "SASL"), ("TLS", "TLS")):
        raw = "".join(f"\\x{byte:02x}" for byte in table["headers"][name])
        lines.append(f'{prefix}_HEADER: Final[bytes] = b"AMQP{raw}"')
    lines += [f"{name}: Final = {value}" for name, value in table["constants"]]
    return "\n".join(lines) + "\n"


def _enum(spec: dict[str, Any]) -> str:
    base = "Symbol, Enum" if spec["primitive"] == "symbol" else "IntEnum"
    body = _docstring(spec["doc"], indent=4) + "\n"
    for name, value, _ in spec["choices"]:
        shown = f'"{value}"' if base != "IntEnum" else int(value)
        body += f"{name} = {shown}\n"
    return f"class {spec['python']}({base}):\n" + textwrap.indent(body, "    ")


def _class(spec: dict[str, Any], enums: dict[str, Any]) -> str:
    names = [field[0] for field in spec["fields"]]
    body = _docstring(spec["doc"], indent=4) + "\n"
    body += f'NAME: ClassVar[Literal["{spec["name"]}"]]\n'
    body += f"DESCRIPTOR: ClassVar[Literal[{spec['code']}]]\n"
    body += _tuple_type("FIELDS", [f'Literal["{name}"]' for name in names])
    body += _tuple("__match_args__", [f'"{name}"' for name in names])
    arguments = ["self"]
    for field in spec["fields"]:
        attribute, argument = _types(field, enums)
        body += f"{field[0]}: {attribute}\n"
        arguments.append(f"{field[0]}: {argument} = None")
    if "frame" in spec["provides"]:
        body += "payload: bytes | memoryview\n"
        arguments += ["*", "payload: _Bytes | None = None"]
    body += _bracketed("def __init__(", arguments, ") -> None: ...", indent=8)
    head = f"@final\nclass {spec['python']}(Composite):\n"
    return head + textwrap.indent(body, "    ")


def _types(field: tuple[Any, ...], enums: dict[str, Any]) -> tuple[str, str]:
    """Type of the attribute and of the argument."""
    _, number, flags, default, class_name, *_ = field
    none = "" if default is not None else " | None"
    if flags & FIELD_MULTIPLE:
        return f"tuple[str, ...]{none}", "_Symbols | None"
    if class_name is None:
        attribute, argument = _BY_NUMBER[number]
        if attribute == "Any":
            return "Any", "Any"
        return attribute + none, f"{argument} | None"
    if class_name not in enums:
        return class_name + none, f"{class_name} | None"
    wire = {"boolean": "bool", "symbol": "str"}.get(enums[class_name]["primitive"], "int")
    return class_name + none, f"{class_name} | {wire} | None"
