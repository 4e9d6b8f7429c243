"""What works on the objects of every version: as dicts, and copies with changes."""

from __future__ import annotations

import sys
from typing import Any, Protocol, TypeVar

__all__ = ["asdict", "replace"]


class _Replaceable(Protocol):
    def __replace__(self, /, **changes: Any) -> Any: ...


_ObjectT = TypeVar("_ObjectT", bound=_Replaceable)

#: The parts of a message of AMQP 1.0, by the names that its constructor knows.
_SECTIONS = (
    "header",
    "delivery_annotations",
    "message_annotations",
    "properties",
    "application_properties",
    "data",
    "sequences",
    "value",
    "footer",
)


def asdict(frame: object) -> dict[str, Any]:
    """The fields of a method, property list, frame, message or type of AMQP 1.0, by their names.

    What is inside of them, at any depth, becomes a dict as well; dicts, lists, tuples, Map, Array
    and Described are copied, all other values are as the attributes give them. Fields have the
    values that they are read as, defaults included. A message of AMQP 1.0 gives the sections that
    are there: data and sequences as tuples, value where it is the body.

    Credentials are not hidden: a repr hides them.

    Raises:
        TypeError: it is none of these.
        DecodeError: a section of a message of AMQP 1.0 is malformed.
    """
    values = _fields(frame)
    if values is None:
        raise TypeError(f"takes a frame, message or composite, not {type(frame).__name__}")
    return {name: _plain(value) for name, value in values.items()}


def replace(frame: _ObjectT, /, **changes: Any) -> _ObjectT:
    """A copy with other values in some fields: ``copy.replace``, for Python before 3.13 as well.

    What does not change keeps its bytes. Of a message of AMQP 1.0: sections, its body, or fields of
    header and properties, as its constructor takes them.

    Raises:
        TypeError: there is no such field, or it is nothing that has fields.
    """
    function = getattr(type(frame), "__replace__", None)
    if function is None:
        raise TypeError(f"takes a frame, message or composite, not {type(frame).__name__}")
    copy: _ObjectT = function(frame, **changes)
    return copy


def _fields(value: object) -> dict[str, Any] | None:
    """What asdict takes apart: {name: value}; None of all else."""
    # There is no such object before these modules are loaded; importing the package loads none.
    core, v1 = map(sys.modules.get, ("amqpcodec._codec", "amqpcodec._v1"))
    if core is not None and type(type(value)) is core.MessageMeta:
        cls: Any = type(value)
        names = (*cls.FIELDS, "payload") if hasattr(cls, "payload") else cls.FIELDS
        return {name: getattr(value, name) for name in dict.fromkeys(names)}
    if v1 is not None and type(value) is v1.Message:
        from ..v1_types import ABSENT

        absent = {"data": (), "sequences": (), "value": ABSENT}
        sections = {name: getattr(value, name) for name in _SECTIONS}
        return {name: part for name, part in sections.items() if part is not absent.get(name)}
    return None


def _plain(value: Any) -> Any:
    attributes = _fields(value)
    if attributes is not None:
        return {name: _plain(member) for name, member in attributes.items()}
    if type(value) is dict:
        return {key: _plain(member) for key, member in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_plain, value))
    if type(value).__module__ != "amqpcodec.v1_types":
        return value
    from ..v1_types import Array, Described, Map

    if type(value) is Map:
        return Map([(_plain(key), _plain(member)) for key, member in value])
    if type(value) is Array:
        return Array(value.type, [_plain(member) for member in value], value.descriptors)
    return Described(value.descriptor, _plain(value.value)) if type(value) is Described else value
