"""Names of a specification as Python names that hide nothing of what a protocol module offers.

A name that is taken gets an underscore at its end, as a keyword does: the class `message` of 0-9 is
``Message_``, since ``Message`` is what MessageDecoder yields.
"""

from __future__ import annotations

from collections.abc import Sequence

from .model import class_identifier, identifier

__all__ = ["MODULE_NAMES", "class_name", "constant_name", "field_names", "method_name"]

#: What every protocol module has beside its constants and classes.
MODULE_NAMES = frozenset(
    {
        *("METHODS", "PROTOCOL", "PROTOCOL_HEADER", "VERSION"),
        *("Frame", "Method", "ContentProperties"),
        *("Header", "Body", "Heartbeat", "ProtocolHeader", "Message", "BadFrame"),
        *("Decoder", "MessageDecoder", "AnyEvent", "AnyFrame", "ContentMethod"),
        *("decode", "encode", "encode_into", "encode_message", "encode_parts"),
    }
)

#: What the namespace of a class has beside its methods.
_CLASS_NAMES = frozenset({"NAME", "CLASS_ID", "Properties"})

#: What every method has beside its arguments.
_METHOD_NAMES = frozenset(
    {
        *("NAME", "CLASS_ID", "METHOD_ID", "SYNCHRONOUS", "RESPONSES", "SENT_BY", "HAS_CONTENT"),
        *("FIELDS", "DEPRECATED", "EXTENSION", "validate", "mro", "self"),
    }
)


def class_name(name: str) -> str:
    """Name of a class of methods in its module."""
    python = class_identifier(name)
    return python + "_" if python in MODULE_NAMES else python


def method_name(name: str) -> str:
    """Name of a method in its class."""
    python = class_identifier(name)
    return python + "_" if python in _CLASS_NAMES else python


def constant_name(name: str) -> str:
    """Name of a constant in its module."""
    python = identifier(name).upper()
    return python + "_" if python in MODULE_NAMES else python


def field_names(names: Sequence[str], tables: Sequence[bool]) -> list[str]:
    """Names of the fields of one method or property list, which are Python names already.

    tables: which of them are field tables, whose bytes are the attribute raw_<name>.
    """
    used_names = set(_METHOD_NAMES)
    unique_names: list[str] = []
    octets = {f"raw_{name}" for name, table in zip(names, tables, strict=True) if table}
    for name in names:
        while name in used_names or name in octets:
            name += "_"
        used_names.add(name)
        unique_names.append(name)
    return unique_names
