"""Typed field-table values: each class stands for one tag of the wire.

``tables="typed"`` gives these on decode, and encode writes each back under its own tag.
They are plain subclasses, so arithmetic gives ordinary numbers. Which byte stands for
a type depends on the dialect: ``TAGS`` has both columns (docs of RabbitMQ's errata,
section 3, and 0-9-1 §4.2.1).
"""

from __future__ import annotations

from ._facade.public import listing
from ._facade.scalars import RangedInt, ShownFloat

__all__ = [
    "TAGS",
    "ByteArray",
    "Double",
    "Float",
    "Int8",
    "Int16",
    "Int16U",
    "Int32",
    "Int64",
    "Int64L",
    "LongBytes",
    "LongString",
    "RawValue",
    "Reference",
    "ShortString",
    "Timestamp",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "Void",
]

__dir__ = listing(__name__)


class _Integer(RangedInt):
    """A number of field tables."""


class Int8(_Integer, bits=8, signed=True):
    """Signed, 8 bits."""


class UInt8(_Integer, bits=8):
    """Unsigned, 8 bits."""


class Int16(_Integer, bits=16, signed=True):
    """Signed, 16 bits: `s` for RabbitMQ, `U` by the letter of 0-9-1."""


class Int16U(Int16):
    """Signed, 16 bits, under the tag `U` in both dialects."""


class UInt16(_Integer, bits=16):
    """Unsigned, 16 bits."""


class Int32(_Integer, bits=32, signed=True):
    """Signed, 32 bits."""


class UInt32(_Integer, bits=32):
    """Unsigned, 32 bits."""


class Int64(_Integer, bits=64, signed=True):
    """Signed, 64 bits: `l` for RabbitMQ, `L` by the letter of 0-9-1."""


class Int64L(Int64):
    """Signed, 64 bits, under the tag `L` in both dialects."""


class UInt64(_Integer, bits=64):
    """Unsigned, 64 bits: `l` by the letter of 0-9-1; RabbitMQ's dialect has none."""


class Timestamp(_Integer, bits=64):
    """Seconds since 1970 UTC, unsigned, 64 bits."""


class Float(ShownFloat):
    """IEEE 754, 32 bits; a value is rounded to it when it is encoded."""


class Double(ShownFloat):
    """IEEE 754, 64 bits."""


class LongString(str):
    """Text of up to 2**32 - 1 bytes."""

    def __repr__(self) -> str:
        return f"LongString({str.__repr__(self)})"


class LongBytes(bytes):
    """Bytes under the tag of a long string, where they are not UTF-8."""

    def __repr__(self) -> str:
        return f"LongBytes({bytes.__repr__(self)})"


class ShortString(str):
    """Text of up to 255 bytes: `s` by the letter of 0-9-1; RabbitMQ's dialect has none."""

    def __repr__(self) -> str:
        return f"ShortString({str.__repr__(self)})"


class ByteArray(bytes):
    """Bytes under the tag `x`."""

    def __repr__(self) -> str:
        return f"ByteArray({bytes.__repr__(self)})"


class Void:
    """No value. False, and equal to every other Void."""

    __slots__ = ()

    def __bool__(self) -> bool:
        """False."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Void)

    def __hash__(self) -> int:
        return hash(Void)

    def __repr__(self) -> str:
        return "Void()"


class Reference(bytes):
    """Name of a body that is sent in pieces: 0-9's type `content`, where it is not the body itself.

    No value of tables: message.transfer alone has it. Equal to other references only.
    """

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and bytes.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((Reference, bytes(self)))

    def __repr__(self) -> str:
        return f"Reference({bytes.__repr__(self)})"


#: type: (tag for RabbitMQ, tag by the letter of 0-9-1); None where the dialect has no such type.
TAGS: dict[type, tuple[bytes | None, bytes | None]] = {
    Int8: (b"b", b"b"),
    UInt8: (b"B", b"B"),
    Int16: (b"s", b"U"),
    Int16U: (b"U", b"U"),
    UInt16: (b"u", b"u"),
    Int32: (b"I", b"I"),
    UInt32: (b"i", b"i"),
    Int64: (b"l", b"L"),
    Int64L: (b"L", b"L"),
    UInt64: (None, b"l"),
    Float: (b"f", b"f"),
    Double: (b"d", b"d"),
    LongString: (b"S", b"S"),
    LongBytes: (b"S", b"S"),
    ShortString: (None, b"s"),
    # By the letter there is no x, but it is read, and so it is written back.
    ByteArray: (b"x", b"x"),
    Timestamp: (b"T", b"T"),
    Void: (b"V", b"V"),
}


class RawValue:
    """A value of a field table that a drop-in could not read (``install(..., strict=False)``).

    Attributes:
        tag: its type's letter; None where not even a tag could be found.
        octets: what follows the tag. A tag that nobody knows says no length: then these are all
            bytes to the end of the table or array it stands in.
    """

    tag: str | None
    octets: bytes
    __slots__ = ("octets", "tag")

    def __init__(self, tag: str | None, octets: bytes) -> None:
        self.tag = tag
        self.octets = octets

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RawValue):
            return NotImplemented
        return self.tag == other.tag and self.octets == other.octets

    def __hash__(self) -> int:
        return hash((self.tag, self.octets))

    def __repr__(self) -> str:
        return f"RawValue({self.tag!r}, {self.octets!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return RawValue, (self.tag, self.octets)
