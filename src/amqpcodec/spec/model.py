"""What a 0-x specification says, as immutable data: the IR between XML and code.

Names are kept in the specification's spelling, with hyphens for blanks;
:func:`identifier` and :func:`class_identifier` turn them into Python's.
Everything here is hashable and compares by value.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

__all__ = [
    "WIRE_TYPES",
    "Assert",
    "Chassis",
    "Class",
    "Constant",
    "Domain",
    "Field",
    "Method",
    "Protocol",
    "Rule",
    "class_identifier",
    "identifier",
]

# The elementary types of 0-8, 0-9 and 0-9-1. `content` exists in 0-9 only (class message).
WIRE_TYPES = frozenset(
    {
        "bit",
        "octet",
        "short",
        "long",
        "longlong",
        "shortstr",
        "longstr",
        "timestamp",
        "table",
        "content",
    }
)


def identifier(name: str) -> str:
    """Python name of a field, method or constant: ``no-wait`` gives ``no_wait``.

    A keyword gets an underscore at its end (``global_``).
    """
    python = re.sub("[- ]", "_", name)
    return python + "_" if keyword.iskeyword(python) else python


def class_identifier(name: str) -> str:
    """Python class name of a class or method: ``recover-async`` gives ``RecoverAsync``."""
    python = "".join(part[:1].upper() + part[1:] for part in re.split("[-_ ]", name))
    return python + "_" if keyword.iskeyword(python) else python


@dataclass(frozen=True, slots=True)
class Constant:
    """A named number: a frame type, a limit or a reply code.

    ``error_class`` is "soft-error" (closes the channel), "hard-error" (closes the
    connection) or None where the constant is no error.

    Attributes:
        name, value: as the specification has them.
        label: what it is for.
        extension: whose addition it is, or None.
    """

    name: str
    value: int
    error_class: str | None = None
    label: str = ""
    extension: str | None = None


@dataclass(frozen=True, slots=True)
class Assert:
    """A rule on a value, which only validation applies.

    ``value`` holds the pattern of a ``regexp``, the most bytes of a ``length``, the
    operand of a comparison and the rule's name of a ``syntax``. A comparison may refer
    to another argument instead: ``field`` of ``method``, where None means the method at hand.

    Attributes:
        check: "notnull", "null", "regexp", "length", "enum", "syntax" or a comparison.
        choices: name and number of each value that an ``enum`` allows. Where the file gives no
            number, it is one more than the number before, and 1 for the first.
    """

    check: str
    value: str | None = None
    method: str | None = None
    field: str | None = None
    choices: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of behavior, which stands in words in the specification.

    Attributes:
        name: as the specification has it; empty in 0-8, whose rules have no names.
        on_failure: name of the constant whose number a peer closes with when the rule is
            broken, or None where the specification names none.
    """

    name: str
    on_failure: str | None = None


@dataclass(frozen=True, slots=True)
class Domain:
    """A named use of a wire type, with the asserts and rules that come with it.

    Attributes:
        name: as the specification has it.
        label: what it is for.
        extension: whose addition it is, or None.
    """

    name: str
    type: str
    label: str = ""
    asserts: tuple[Assert, ...] = ()
    extension: str | None = None
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class Field:
    """An argument of a method or a property of a content class.

    ``domain`` is None where the field is declared with a wire type itself, be it as
    ``type="bit"`` or through the elementary domain of the same name. ``asserts`` and
    ``rules`` are those of the domain followed by the field's own.

    Attributes:
        label: what it is for.
        reserved: whether it is unused.
    """

    name: str
    domain: str | None
    type: str
    label: str = ""
    reserved: bool = False
    asserts: tuple[Assert, ...] = ()
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class Chassis:
    """Who has to take a method: ``name`` is "client" or "server", ``implement`` MUST, MAY, ..."""

    name: str
    implement: str


@dataclass(frozen=True, slots=True)
class Method:
    """A method: its index in the class and its arguments in wire order.

    Attributes:
        name, label: what it is called, and for.
        synchronous: whether it waits for one of its responses.
        content: whether a content follows.
        deprecated: whether it should not be used.
        chassis: who has to take it.
        extension: whose addition it is, or None.
        fields: its arguments.
        responses: names of methods.
        rules: those of the method itself; its arguments have their own.
    """

    name: str
    index: int
    label: str = ""
    synchronous: bool = False
    deprecated: bool = False
    content: bool = False
    responses: tuple[str, ...] = ()
    chassis: tuple[Chassis, ...] = ()
    fields: tuple[Field, ...] = ()
    extension: str | None = None
    rules: tuple[Rule, ...] = ()

    @property
    def received_by(self) -> tuple[str, ...]:
        """The peers that take this method: "client", "server" or both, in that order."""
        names = {chassis.name for chassis in self.chassis}
        return tuple(peer for peer in ("client", "server") if peer in names)

    @property
    def sent_by(self) -> tuple[str, ...]:
        """The peers that send this method: each one whose peer receives it."""
        receivers = self.received_by
        faces = {"client": "server", "server": "client"}
        return tuple(peer for peer in ("client", "server") if faces[peer] in receivers)

    def field(self, name: str) -> Field:
        """Return the argument of that name, or raise KeyError."""
        return _by_name(self.fields, name)


@dataclass(frozen=True, slots=True)
class Class:
    """A class of methods; ``fields`` are the properties of its content.

    Attributes:
        name, index, label, handler: as the specification has them.
        chassis: who has to take its methods.
        extension: whose addition it is, or None.
        rules: those of the class as a whole.
    """

    name: str
    index: int
    handler: str = ""
    label: str = ""
    chassis: tuple[Chassis, ...] = ()
    fields: tuple[Field, ...] = ()
    methods: tuple[Method, ...] = ()
    extension: str | None = None
    rules: tuple[Rule, ...] = ()

    def field(self, name: str) -> Field:
        """Return the content property of that name, or raise KeyError."""
        return _by_name(self.fields, name)

    def method(self, key: str | int) -> Method:
        """Return the method of that name or index, or raise KeyError."""
        return _named_or_numbered(self.methods, key)


@dataclass(frozen=True, slots=True)
class Protocol:
    """One complete version of the protocol. ``name`` is its usual one, such as "0-9-1".

    Attributes:
        major, minor, revision: of the protocol header.
        port: of servers.
        comment: of the file.
        constants, domains, classes: in the order of the file.
    """

    name: str
    major: int
    minor: int
    revision: int
    port: int
    comment: str = ""
    constants: tuple[Constant, ...] = ()
    domains: tuple[Domain, ...] = ()
    classes: tuple[Class, ...] = ()

    def constant(self, name: str) -> Constant:
        """Return the constant of that name, or raise KeyError."""
        return _by_name(self.constants, name)

    def domain(self, name: str) -> Domain:
        """Return the domain of that name, or raise KeyError."""
        return _by_name(self.domains, name)

    def class_(self, key: str | int) -> Class:
        """Return the class of that name or index, or raise KeyError."""
        return _named_or_numbered(self.classes, key)

    def method(self, key: str | tuple[int, int]) -> Method:
        """Return the method ``"basic.publish"`` or ``(60, 40)``, or raise KeyError."""
        if isinstance(key, str):
            class_name, _, method_name = key.partition(".")
            return self.class_(class_name).method(method_name)
        class_index, method_index = key
        return self.class_(class_index).method(method_index)

    def methods(self) -> Iterator[tuple[Class, Method]]:
        """Every method with its class, in the order of the file."""
        for class_ in self.classes:
            for method in class_.methods:
                yield class_, method


_Named = TypeVar("_Named", Constant, Domain, Field)
_Numbered = TypeVar("_Numbered", Class, Method)


def _by_name(items: tuple[_Named, ...], name: str) -> _Named:
    for item in items:
        if item.name == name:
            return item
    raise KeyError(name)


def _named_or_numbered(items: tuple[_Numbered, ...], key: str | int) -> _Numbered:
    for item in items:
        if key == (item.name if isinstance(key, str) else item.index):
            return item
    raise KeyError(key)
