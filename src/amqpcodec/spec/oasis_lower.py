"""From the model of AMQP 1.0 to the plain table that the compiled core loads.

The table holds tuples, dicts, text and numbers only, as that of the 0-x family does.
"""

from __future__ import annotations

from typing import Any

from .model import class_identifier, identifier
from .oasis import ANY, Composite, Field, Primitive, Protocol, Restricted

__all__ = [
    "FIELD_CACHED",
    "FIELD_MANDATORY",
    "FIELD_MULTIPLE",
    "FIELD_SECRET",
    "FIELD_ULONG",
    "TYPE_NUMBERS",
    "lower",
]

#: Numbers of the types of values, from which ``_gen/v1_constants.h`` is made.
TYPE_NUMBERS = {
    "null": 0,
    "boolean": 1,
    "ubyte": 2,
    "ushort": 3,
    "uint": 4,
    "ulong": 5,
    "byte": 6,
    "short": 7,
    "int": 8,
    "long": 9,
    "float": 10,
    "double": 11,
    "decimal32": 12,
    "decimal64": 13,
    "decimal128": 14,
    "char": 15,
    "timestamp": 16,
    "uuid": 17,
    "binary": 18,
    "string": 19,
    "symbol": 20,
    "list": 21,
    "map": 22,
    "array": 23,
    ANY: 24,
    "composite": 25,
}

FIELD_MANDATORY = 1  # null is no value for it
FIELD_MULTIPLE = 2  # one value or an array of them
FIELD_CACHED = 4  # text that comes again and again
FIELD_SECRET = 8  # never shown
FIELD_ULONG = 16  # of any type, and an int is meant as a ulong

#: Text that differs from message to message, so that caching it only costs.
_ALWAYS_NEW = {("properties", "subject")}

#: Credentials: a SASL mechanism's bytes from the client.
_SECRETS = {
    ("sasl-init", "initial-response"),
    ("sasl-challenge", "challenge"),
    ("sasl-response", "response"),
    ("sasl-outcome", "additional-data"),
}

#: Archetypes of open choices: more values than those listed may come.
_OPEN = {"error-condition", "distribution-mode", "txn-capability"}


def lower(protocol: Protocol, module: str) -> dict[str, Any]:
    """The table of AMQP 1.0, whose classes will say that they live in ``module``."""
    numbers = {item.name: item.value for item in protocol.definitions()}
    version = tuple(numbers[name] for name in ("MAJOR", "MINOR", "REVISION"))
    layers = {
        "AMQP": (0, *version),
        "TLS": (2, *(numbers[f"TLS-{name}"] for name in ("MAJOR", "MINOR", "REVISION"))),
        "SASL": (3, *(numbers[f"SASL-{name}"] for name in ("MAJOR", "MINOR", "REVISION"))),
    }
    return {
        "name": ".".join(str(number) for number in version[:2]),
        "module": module,
        "version": version,
        "headers": layers,
        "constants": tuple((identifier(name), value) for name, value in numbers.items()),
        "primitives": tuple(
            (item.name, tuple((e.code, e.category, e.width, e.name) for e in item.encodings))
            for item in protocol.types()
            if isinstance(item, Primitive)
        ),
        "types": tuple(
            _described(protocol, item)
            for item in protocol.types()
            if not isinstance(item, Primitive) and item.descriptor is not None
        ),
        "enums": tuple(
            _enum(protocol, item)
            for item in protocol.types()
            if isinstance(item, Restricted) and item.choices
        ),
        "aliases": tuple(
            (item.name, item.source, protocol.primitive(item.name), item.provides)
            for item in protocol.types()
            if isinstance(item, Restricted)
        ),
        "archetypes": {name: protocol.providers(name) for name in sorted(_archetypes(protocol))},
    }


def _archetypes(protocol: Protocol) -> set[str]:
    archetypes: set[str] = set()
    for item in protocol.types():
        archetypes |= set(getattr(item, "provides", ()))
        for entry in getattr(item, "fields", ()):
            archetypes |= set(entry.requires)
    return archetypes


def _described(protocol: Protocol, item: Composite | Restricted) -> dict[str, Any]:
    """A type with a descriptor: a composite with its fields, or a restriction with one value."""
    assert item.descriptor is not None
    composite = isinstance(item, Composite)
    if isinstance(item, Composite):
        fields = tuple(_field(protocol, item, entry) for entry in item.fields)
    else:
        source = TYPE_NUMBERS[protocol.primitive(item.source)]
        fields = (("value", source, FIELD_MANDATORY, None, None, (), item.source, item.label),)
    return {
        "name": item.name,
        "python": class_identifier(item.name),
        "composite": composite,
        "doc": _doc(item, fields),
        "code": item.descriptor.code,
        "symbol": item.descriptor.symbol,
        "provides": item.provides,
        "fields": fields,
    }


def _field(protocol: Protocol, owner: Composite, entry: Field) -> tuple[Any, ...]:
    """(Python name, type number, flags, default, type by name, requires, type as written, label).

    "type by name": the enum's or composite's class, or None.
    """
    target = None if entry.type == ANY else protocol.type(entry.type)
    number = TYPE_NUMBERS[protocol.primitive(entry.type)]
    class_name = None
    if isinstance(target, Composite):
        number = TYPE_NUMBERS["composite"]
        class_name = class_identifier(target.name)
    elif isinstance(target, Restricted) and target.choices:
        class_name = class_identifier(target.name)
    flags = FIELD_MANDATORY * entry.mandatory | FIELD_MULTIPLE * entry.multiple
    key = (owner.name, entry.name)
    if number in (TYPE_NUMBERS["string"], TYPE_NUMBERS["symbol"]) and key not in _ALWAYS_NEW:
        flags |= FIELD_CACHED
    if number == TYPE_NUMBERS[ANY] and "address" in entry.requires:
        flags |= FIELD_CACHED
    if key in _SECRETS:
        flags |= FIELD_SECRET
    if number == TYPE_NUMBERS[ANY]:
        providers = [name for need in entry.requires for name in protocol.providers(need)]
        if "ulong" in {_primitive(protocol, name) for name in providers}:
            flags |= FIELD_ULONG
    default = _default(protocol, entry)
    spelt = identifier(entry.name)
    return (spelt, number, flags, default, class_name, entry.requires, entry.type, entry.label)


def _primitive(protocol: Protocol, name: str) -> str:
    return "" if isinstance(protocol.type(name), Composite) else protocol.primitive(name)


def _default(protocol: Protocol, entry: Field) -> Any:
    """The default as a value of the wire: a bool, a number, a symbol's text or None."""
    if entry.default is None:
        return None
    text = entry.default
    target = protocol.type(entry.type)
    for choice in getattr(target, "choices", ()):
        if choice.name == text:
            text = choice.value
    return _value(protocol.primitive(entry.type), text)


def _value(primitive: str, text: str) -> Any:
    if primitive == "boolean":
        return text == "true"
    return text if primitive == "symbol" else int(text)


def _enum(protocol: Protocol, item: Restricted) -> dict[str, Any]:
    primitive = protocol.primitive(item.source)
    return {
        "name": item.name,
        "python": class_identifier(item.name),
        "doc": _sentence(item.label),
        "primitive": primitive,
        "open": bool(_OPEN & set(item.provides)),
        "choices": tuple(
            (identifier(choice.name).upper(), _value(primitive, choice.value), choice.label)
            for choice in item.choices
        ),
    }


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _doc(item: Composite | Restricted, fields: tuple[tuple[Any, ...], ...]) -> str:
    """Docstring of a class: what it is, its fields with types, and where it is specified."""
    assert item.descriptor is not None
    lines = [_sentence(item.label), ""]
    if fields:
        lines.append("Args:")
    for name, _, flags, default, _, requires, kind, label in fields:
        spelt = "any type" if kind == ANY else kind
        spelt += " (one or many)" if flags & FIELD_MULTIPLE else ""
        spelt += f" that provides {', '.join(requires)}" if requires else ""
        spelt += ", mandatory" if flags & FIELD_MANDATORY else ""
        end = "" if default is None else f"; {default!r} where it is absent"
        lines.append(f"    {name}: {spelt}; {label}{end}.")
    if fields:
        lines.append("")
    lines.append(f"Spec: {item.descriptor.symbol}, {item.descriptor.code:#04x}.")
    return "\n".join(lines)
