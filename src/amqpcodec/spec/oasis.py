"""What the AMQP 1.0 specification says, as immutable data: the IR of the second family.

The 1.0 grammar has types with encodings, descriptors, fields and choices where 0-x has classes
and methods, so it has a model of its own. Names keep the specification's spelling.
Everything here is hashable and compares by value; labels do not count in comparisons.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = [
    "CATEGORIES",
    "Choice",
    "Composite",
    "Definition",
    "Descriptor",
    "Encoding",
    "Field",
    "Part",
    "Primitive",
    "Protocol",
    "Restricted",
    "Type",
]

#: Categories of encodings; the upper half of a constructor's byte says category and width.
CATEGORIES = ("fixed", "variable", "compound", "array")

#: The type of a field or restriction that may hold a value of any type.
ANY = "*"


@dataclass(frozen=True, slots=True)
class Encoding:
    """One constructor of a primitive type. ``name`` is None for the type's plain one.

    ``width``: bytes of the value where the category is "fixed", else of its size (and count).
    """

    code: int
    category: str
    width: int
    name: str | None = None
    label: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Primitive:
    """A primitive type with its encodings, in the order of the file."""

    name: str
    encodings: tuple[Encoding, ...]
    label: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Descriptor:
    """The two forms of a described type's descriptor."""

    symbol: str
    code: int


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a composite, in wire order.

    ``type`` is the name of a type or "*"; ``requires`` are the archetypes that its value has
    to provide; ``default`` is text as the specification has it, a choice's name or a value.
    """

    name: str
    type: str
    requires: tuple[str, ...] = ()
    default: str | None = None
    mandatory: bool = False
    multiple: bool = False
    label: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Composite:
    """A described list of fields."""

    name: str
    source: str
    descriptor: Descriptor
    provides: tuple[str, ...] = ()
    fields: tuple[Field, ...] = ()
    label: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Choice:
    """A named value of a restricted type."""

    name: str
    value: str
    label: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Restricted:
    """A use of another type: with choices, with a descriptor of its own, or with a name only."""

    name: str
    source: str
    descriptor: Descriptor | None = None
    provides: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    label: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Definition:
    """A named number."""

    name: str
    value: int
    label: str = field(default="", compare=False)


Type = Primitive | Composite | Restricted


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the specification: one file."""

    name: str
    label: str = field(default="", compare=False)
    types: tuple[Type, ...] = ()
    definitions: tuple[Definition, ...] = ()

    def type(self, name: str) -> Type:
        """Return the type of that name, or raise KeyError."""
        for item in self.types:
            if item.name == name:
                return item
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class Protocol:
    """All parts together, with what only holds across them."""

    parts: tuple[Part, ...]

    def types(self) -> Iterator[Type]:
        """Every type, in the order of the parts and files."""
        for part in self.parts:
            yield from part.types

    def definitions(self) -> Iterator[Definition]:
        """Every definition, in the order of the parts and files."""
        for part in self.parts:
            yield from part.definitions

    def type(self, name: str) -> Type:
        """Return the type of that name, or raise KeyError."""
        for item in self.types():
            if item.name == name:
                return item
        raise KeyError(name)

    def primitive(self, name: str) -> str:
        """The primitive type, or "*", that a type comes down to on the wire."""
        while name != ANY:
            definition = self.type(name)
            if isinstance(definition, Primitive):
                return definition.name
            name = definition.source
        return ANY

    def providers(self, archetype: str) -> tuple[str, ...]:
        """Names of the types that provide an archetype, in order."""
        return tuple(
            item.name
            for item in self.types()
            if not isinstance(item, Primitive) and archetype in item.provides
        )
