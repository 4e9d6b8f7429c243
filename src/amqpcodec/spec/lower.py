"""From the model of a specification to the plain table that the compiled core loads.

The table holds tuples, dicts, text and numbers only. Built-in protocols have theirs
written down in ``amqpcodec._gen``; a specification loaded at run time is lowered on the
spot, so that both kinds come out of one function.
"""

from __future__ import annotations

from typing import Any

from .model import Class, Field, Method, Protocol, identifier
from .names import class_name, constant_name, field_names, method_name

__all__ = ["FIELD_CACHED", "FIELD_RESERVED", "FIELD_SECRET", "WIRE_NUMBERS", "lower"]

#: Numbers of the wire types, as ``_core/wire/value.pxi`` has them.
WIRE_NUMBERS = {
    "bit": 0,
    "octet": 1,
    "short": 2,
    "long": 3,
    "longlong": 4,
    "shortstr": 5,
    "longstr": 6,
    "timestamp": 7,
    "table": 8,
    "content": 9,
}

FIELD_RESERVED = 1  # keyword-only, not shown while it has its default
FIELD_CACHED = 2  # text that comes again and again: worth a place in the string cache
FIELD_SECRET = 4  # never shown

#: Text that differs from message to message, so that caching it only costs.
_ALWAYS_NEW = {"message-id", "correlation-id"}

#: Credentials: connection.start-ok and secure-ok answer a SASL challenge, which may hold salts.
_SECRETS = {
    ("connection", "secure", "challenge"),
    ("connection", "start-ok", "response"),
    ("connection", "secure-ok", "response"),
    ("connection", "update-secret", "new-secret"),
    ("message", "transfer", "security-token"),
}

#: What tables are encoded with where nobody says otherwise; all versions read the same types.
_DIALECTS = {"0-8": "0-8", "0-9": "0-9"}

#: One spelling where a specification has two for the same thing.
_RESPELT = {("confirm", "select", "nowait"): "no_wait"}

#: The four bytes after "AMQP" that real peers send (0-8: not the text's 1 1 9 1).
_HEADERS = {"0-8": (1, 1, 8, 0), "0-9": (1, 1, 0, 9), "0-9-1": (0, 0, 9, 1)}

#: Columns at frame level with their formats in Arrow's C Data Interface.
_FRAME_COLUMNS = (
    ("row", "l"),
    ("offset", "l"),
    ("frame_type", "u"),
    ("channel", "i"),
    ("method", "u"),
    ("arguments", "u"),
    ("properties", "+s"),
    ("body_size", "l"),
    ("payload", "z"),
    ("frame", "z"),
    ("error", "u"),
    ("error_offset", "l"),
)

#: Wire type -> Arrow format of a property's column. Spark has no unsigned types; tables are JSON.
_PROPERTY_FORMATS = {
    "bit": "b",
    "octet": "i",
    "short": "i",
    "long": "l",
    "longlong": "l",
    "shortstr": "u",
    "longstr": "z",
    "timestamp": "tsu:UTC",
    "table": "u",
    "content": "z",
}


def lower(protocol: Protocol, module: str) -> dict[str, Any]:
    """The table of a protocol, whose classes will say that they live in ``module``."""
    revision = protocol.revision or 0
    header = _HEADERS.get(protocol.name, (0, protocol.major, protocol.minor, revision))
    return {
        "name": protocol.name,
        "module": module,
        "version": (protocol.major, protocol.minor, revision),
        "header": header,
        "dialect": _DIALECTS.get(protocol.name, "rabbitmq"),
        "constants": tuple(
            (constant_name(constant.name), constant.value) for constant in protocol.constants
        ),
        # Reply codes that end the connection and not only a channel.
        "hard_errors": tuple(
            constant.value
            for constant in protocol.constants
            if constant.error_class == "hard-error"
        ),
        "classes": tuple(_lower_class(cls) for cls in protocol.classes),
        "columns": {"frame": _frame_columns(protocol)},
    }


def _frame_columns(protocol: Protocol) -> tuple[tuple[Any, ...], ...]:
    """(name, Arrow format, children) of each column at frame level; children only of a struct."""
    properties = _property_columns(protocol)
    return tuple(
        (name, form, properties if name == "properties" else ()) for name, form in _FRAME_COLUMNS
    )


def _property_columns(protocol: Protocol) -> tuple[tuple[Any, ...], ...]:
    """(name, Arrow format, sources): the properties of all content classes, those of one name and
    type in one column. A source is (class index, number of the property)."""
    columns: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for cls in protocol.classes:
        for number, field in enumerate(cls.fields):
            column = (identifier(field.name), _PROPERTY_FORMATS[field.type])
            columns.setdefault(column, []).append((cls.index, number))
    named: dict[str, tuple[Any, ...]] = {}
    for (name, form), sources in columns.items():
        # The same name with another type gets its class in front.
        owner = next(cls.name for cls in protocol.classes if cls.index == sources[0][0])
        unique = identifier(f"{owner}_{name}") if name in named else name
        named[unique] = (unique, form, tuple(sources))
    return tuple(named.values())


def _lower_class(cls: Class) -> dict[str, Any]:
    content = bool(cls.fields) or any(method.content for method in cls.methods)
    return {
        "name": cls.name,
        "python": class_name(cls.name),
        "index": cls.index,
        "doc": _sentence(cls.label),
        "properties": _lower_fields(cls, None, cls.fields) if content else None,
        "methods": tuple(_lower_method(cls, method) for method in cls.methods),
    }


def _lower_method(cls: Class, method: Method) -> dict[str, Any]:
    fields = _lower_fields(cls, method, method.fields)
    return {
        "name": method.name,
        "python": method_name(method.name),
        "index": method.index,
        "doc": _method_doc(cls, method, fields),
        "synchronous": method.synchronous,
        "deprecated": method.deprecated,
        "content": method.content,
        "responses": tuple(method_name(name) for name in method.responses),
        "sent_by": tuple(
            sender
            for sender, receiver in (("client", "server"), ("server", "client"))
            if receiver in method.received_by
        ),
        "extension": method.extension,
        "fields": fields,
    }


def _lower_fields(
    cls: Class, method: Method | None, fields: tuple[Field, ...]
) -> tuple[tuple[Any, ...], ...]:
    """(Python name, wire type, flags, label, asserts) of each."""
    respelt = [
        _RESPELT.get((cls.name, method.name if method else "", field.name), identifier(field.name))
        for field in fields
    ]
    names = field_names(respelt, [field.type == "table" for field in fields])
    return tuple(
        (name, *_lower_field(cls, method, field)) for name, field in zip(names, fields, strict=True)
    )


def _lower_field(cls: Class, method: Method | None, field: Field) -> tuple[Any, ...]:
    """(wire type, flags, label, asserts)."""
    where = (cls.name, method.name if method else "", field.name)
    flags = 0
    if field.reserved:
        flags |= FIELD_RESERVED
    if field.type == "shortstr" and field.name not in _ALWAYS_NEW:
        flags |= FIELD_CACHED
    if where in _SECRETS:
        flags |= FIELD_SECRET
    asserts = tuple(
        (rule.check, rule.value)
        for rule in field.asserts
        if rule.method is None and rule.field is None
    )
    return (WIRE_NUMBERS[field.type], flags, field.label, asserts)


def _sentence(label: str) -> str:
    return label[:1].upper() + label[1:] + "." if label else ""


def _method_doc(cls: Class, method: Method, fields: tuple[tuple[Any, ...], ...]) -> str:
    """What the method is for, its arguments, and where it stands in the conversation."""
    names = {number: name for name, number in WIRE_NUMBERS.items()}
    lines = [_sentence(method.label) or f"{cls.name}.{method.name}."]
    if fields:
        lines += ["", "Args:"]
        for (name, kind, _, label, _), field in zip(fields, method.fields, strict=True):
            what = label or ("reserved" if field.reserved else "")
            lines.append(f"    {name}: {names[kind]}" + (f"; {what}." if what else "."))
    notes = [f"Spec: class {cls.index}, method {method.index}"]
    if method.responses:
        notes.append(
            "answered by " + " or ".join(f"{cls.name}.{name}" for name in method.responses)
        )
    if method.content:
        notes.append("carries content")
    if method.extension:
        notes.append(f"extension of {method.extension}")
    return "\n".join([*lines, "", "; ".join(notes) + "."])
