"""From the model of a specification to the plain table that the compiled core loads.

The table holds tuples, dicts, text and numbers only. Built-in protocols have theirs
written down in ``amqpcodec._gen``; a specification loaded at run time is lowered on the
spot, so that both kinds come out of one function.
"""

from __future__ import annotations

from typing import Any

from .errors import SpecError
from .model import Assert, Class, Field, Method, Protocol, identifier
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

#: What frames are made of: the core reads and writes these numbers, whatever a file says.
_FRAMING = {
    "frame-method": 1,
    "frame-header": 2,
    "frame-body": 3,
    "frame-heartbeat": 8,
    "frame-end": 206,
}

#: Constants that every protocol module has, also where the file leaves them out.
_DEFAULT_CONSTANTS = {"frame-min-size": 4096, "frame-end": _FRAMING["frame-end"]}

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
    """The table of a protocol, whose classes will say that they live in ``module``.

    Raises:
        SpecError: a constant gives frames another form than all published versions have.
    """
    revision = protocol.revision or 0
    codes = {constant.name: constant.value for constant in protocol.constants}
    header = _HEADERS.get(protocol.name, (0, protocol.major, protocol.minor, revision))
    return {
        "name": protocol.name,
        "module": module,
        "version": (protocol.major, protocol.minor, revision),
        "header": header,
        "dialect": _DIALECTS.get(protocol.name, "rabbitmq"),
        "constants": _constants(protocol),
        # Reply codes that end the connection and not only a channel.
        "hard_errors": tuple(
            constant.value
            for constant in protocol.constants
            if constant.error_class == "hard-error"
        ),
        "classes": tuple(_lower_class(cls, codes) for cls in protocol.classes),
        "property_columns": _property_columns(protocol),
    }


def _constants(protocol: Protocol) -> tuple[tuple[str, int], ...]:
    """(Python name, value) of each constant."""
    missing = dict(_DEFAULT_CONSTANTS)
    for constant in protocol.constants:
        missing.pop(constant.name, None)
        expected = _FRAMING.get(constant.name, constant.value)
        if constant.value != expected:
            raise SpecError(
                f"constant {constant.name!r} is {constant.value}; "
                f"frames can only be read and written with {expected}"
            )
    own = tuple((constant_name(item.name), item.value) for item in protocol.constants)
    return own + tuple((constant_name(name), value) for name, value in missing.items())


def _property_columns(protocol: Protocol) -> tuple[tuple[Any, ...], ...]:
    """(name, Arrow format, sources): the properties of all content classes, those of one name and
    type in one column. A source is (class index, number of the property)."""
    columns: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for cls in protocol.classes:
        for number, field in enumerate(cls.fields):
            column = (identifier(field.name), _PROPERTY_FORMATS[field.type])
            columns.setdefault(column, []).append((cls.index, number))
    by_name: dict[str, tuple[Any, ...]] = {}
    for (name, form), sources in columns.items():
        # The same name with another type gets its class in front.
        owner = next(cls.name for cls in protocol.classes if cls.index == sources[0][0])
        unique = identifier(f"{owner}_{name}") if name in by_name else name
        by_name[unique] = (unique, form, tuple(sources))
    return tuple(by_name.values())


def _lower_class(cls: Class, codes: dict[str, int]) -> dict[str, Any]:
    content = bool(cls.fields) or any(method.content for method in cls.methods)
    return {
        "name": cls.name,
        "python": class_name(cls.name),
        "index": cls.index,
        "doc": _sentence(cls.label),
        "properties": _lower_fields(cls, None, cls.fields) if content else None,
        "methods": tuple(_lower_method(cls, method, codes) for method in cls.methods),
    }


def _lower_method(cls: Class, method: Method, codes: dict[str, int]) -> dict[str, Any]:
    fields = _lower_fields(cls, method, method.fields)
    rules = [("", rule) for rule in method.rules]
    for name, field in zip(_names(cls, method, method.fields), method.fields, strict=True):
        rules += [(name, rule) for rule in field.rules]
    return {
        "name": method.name,
        "python": method_name(method.name),
        "index": method.index,
        "doc": _method_doc(cls, method, fields),
        "synchronous": method.synchronous,
        "deprecated": method.deprecated,
        "content": method.content,
        "responses": tuple(method_name(name) for name in method.responses),
        # (argument, or "" for the method itself; name of the rule; reply code when it is broken).
        "reply_codes": tuple(
            (name, rule.name, codes[rule.on_failure])
            for name, rule in rules
            if rule.on_failure in codes
        ),
        "sent_by": tuple(
            sender
            for sender, receiver in (("client", "server"), ("server", "client"))
            if receiver in method.received_by
        ),
        "extension": method.extension,
        "fields": fields,
    }


def _names(cls: Class, method: Method | None, fields: tuple[Field, ...]) -> list[str]:
    """Python names of the arguments of a method, or of the properties of a class."""
    respelt = [
        _RESPELT.get((cls.name, method.name if method else "", field.name), identifier(field.name))
        for field in fields
    ]
    return field_names(respelt, [field.type == "table" for field in fields])


def _lower_fields(
    cls: Class, method: Method | None, fields: tuple[Field, ...]
) -> tuple[tuple[Any, ...], ...]:
    """(Python name, wire type, flags, label, asserts) of each."""
    names = _names(cls, method, fields)
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
        (rule.check, _operand(cls, method, field, rule))
        for rule in field.asserts
        if rule.check != "syntax"  # no specification says what the rule is
    )
    return (WIRE_NUMBERS[field.type], flags, field.label, asserts)


def _operand(cls: Class, method: Method | None, field: Field, rule: Assert) -> Any:
    """What `validate` compares the value of a field with.

    The length as a number; the choices of an enum with their numbers; the pattern; the number or
    text of a comparison, or (name of a method or None for the same one, Python name of its field).
    """
    if rule.check == "length":
        return int(rule.value or 0)
    if rule.check == "enum":
        return rule.choices
    if rule.field is not None:
        other = method if rule.method is None else cls.method(rule.method)
        fields = other.fields if other else cls.fields
        names = dict(zip((item.name for item in fields), _names(cls, other, fields), strict=True))
        return (rule.method and f"{cls.name}.{rule.method}", names[rule.field])
    if rule.value is not None and field.type not in ("shortstr", "longstr"):
        return rule.value if rule.check == "regexp" else int(rule.value)
    return rule.value


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
