"""Values of AMQP 1.0 that Python has no type for.

``Symbol`` and ``Char`` are text; the numbers are subclasses that check their range, arithmetic
gives plain values. ``types="typed"`` gives them on decode, and encode writes each back as its own
type. ``Array``, ``Described`` and ``Map`` hold what list, dict and the classes of the protocol do
not.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, ClassVar, SupportsIndex, overload

from ._facade import v1_decimal
from ._facade.public import listing
from ._facade.scalars import RangedInt, ShownFloat

__all__ = [
    "ABSENT",
    "Absent",
    "Array",
    "Byte",
    "Char",
    "Decimal32",
    "Decimal64",
    "Decimal128",
    "Described",
    "Double",
    "Float",
    "Int",
    "Long",
    "Map",
    "Short",
    "Symbol",
    "Timestamp",
    "UByte",
    "UInt",
    "ULong",
    "UShort",
]

__dir__ = listing(__name__)


class Absent:
    """The type of ABSENT: no value at all, where None is a value."""

    __slots__ = ()
    _one: ClassVar[Absent | None] = None

    def __new__(cls) -> Absent:
        """The one instance."""
        if cls._one is None:
            cls._one = super().__new__(cls)
        return cls._one

    def __bool__(self) -> bool:
        """False."""
        return False

    def __reduce__(self) -> str:
        return "ABSENT"

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent()


class Symbol(str):
    """A name out of ASCII characters."""

    __slots__ = ()

    def __new__(cls, text: str = "") -> Symbol:
        """Check that the text is ASCII."""
        self = super().__new__(cls, text)
        if not self.isascii():
            raise ValueError("a symbol takes ASCII characters only")
        return self

    def __repr__(self) -> str:
        return f"Symbol({str.__repr__(self)})"


class Char(str):
    """One Unicode character."""

    __slots__ = ()

    def __new__(cls, text: str = "\0") -> Char:
        """Check that it is one character, and no surrogate."""
        self = super().__new__(cls, text)
        if len(self) != 1 or "\ud800" <= self <= "\udfff":
            raise ValueError("a char takes one character, and no surrogate")
        return self

    def __repr__(self) -> str:
        return f"Char({str.__repr__(self)})"


class _Integer(RangedInt):
    """A number of AMQP 1.0."""

    __slots__ = ()


class UByte(_Integer, bits=8):
    """Unsigned, 8 bits."""

    __slots__ = ()


class UShort(_Integer, bits=16):
    """Unsigned, 16 bits."""

    __slots__ = ()


class UInt(_Integer, bits=32):
    """Unsigned, 32 bits."""

    __slots__ = ()


class ULong(_Integer, bits=64):
    """Unsigned, 64 bits."""

    __slots__ = ()


class Byte(_Integer, bits=8, signed=True):
    """Signed, 8 bits."""

    __slots__ = ()


class Short(_Integer, bits=16, signed=True):
    """Signed, 16 bits."""

    __slots__ = ()


class Int(_Integer, bits=32, signed=True):
    """Signed, 32 bits."""

    __slots__ = ()


class Long(_Integer, bits=64, signed=True):
    """Signed, 64 bits: what a plain int is on the wire."""

    __slots__ = ()


class Timestamp(_Integer, bits=64, signed=True):
    """Milliseconds since 1970 UTC, signed, 64 bits."""

    __slots__ = ()


class Float(ShownFloat):
    """IEEE 754, 32 bits; a value is rounded to it when it is made."""

    __slots__ = ()

    def __new__(cls, value: float | str = 0.0) -> Float:
        """Round to 32 bits; refuse what is too large for them."""
        try:
            return super().__new__(cls, struct.unpack(">f", struct.pack(">f", float(value)))[0])
        except OverflowError:
            raise ValueError(f"Float takes up to 3.4028235e+38, not {value!r}") from None


class Double(ShownFloat):
    """IEEE 754, 64 bits: what a plain float is on the wire."""

    __slots__ = ()


class _Decimal(Decimal):
    """A decimal of WIDTH bits. What came in another than the canonical form keeps its bits."""

    __slots__ = ("_bits",)
    WIDTH: ClassVar[int] = 0
    _bits: bytes | None

    def __new__(cls, value: Decimal | float | str | tuple[Any, ...] = "0") -> _Decimal:
        self = super().__new__(cls, value)
        v1_decimal.encode(self, cls.WIDTH)  # raises where it does not fit
        self._bits = None
        return self

    @classmethod
    def from_bits(cls, bits: bytes) -> _Decimal:
        """The value of WIDTH // 8 bytes in network order, in the binary (BID) encoding."""
        if len(bits) * 8 != cls.WIDTH:
            raise ValueError(f"{cls.__name__} takes {cls.WIDTH // 8} bytes, not {len(bits)}")
        value, canonical = v1_decimal.decode(bits)
        self = super().__new__(cls, value)
        self._bits = None if canonical else bytes(bits)
        return self

    @property
    def bits(self) -> bytes:
        """Its bytes on the wire."""
        return self._bits or v1_decimal.encode(self, self.WIDTH)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self).from_bits, (self.bits,))

    def __copy__(self) -> _Decimal:
        """Itself: it is immutable."""
        return self

    def __deepcopy__(self, memo: object) -> _Decimal:
        """Itself: it is immutable."""
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}('{Decimal.__str__(self)}')"


class Decimal32(_Decimal):
    """IEEE 754 decimal floating point, 32 bits, 7 digits."""

    __slots__ = ()
    WIDTH: ClassVar[int] = 32


class Decimal64(_Decimal):
    """IEEE 754 decimal floating point, 64 bits, 16 digits."""

    __slots__ = ()
    WIDTH: ClassVar[int] = 64


class Decimal128(_Decimal):
    """IEEE 754 decimal floating point, 128 bits, 34 digits: what a Decimal is on the wire."""

    __slots__ = ()
    WIDTH: ClassVar[int] = 128


class Described:
    """A value with a descriptor that the protocol does not know.

    Args:
        descriptor: a Symbol, or an int, which stands for a ulong; others as they are.
        value: the value itself.
    """

    __slots__ = ("descriptor", "value")
    __match_args__ = ("descriptor", "value")
    __hash__: ClassVar[None]  # type: ignore[assignment]
    descriptor: Any
    value: Any

    def __init__(self, descriptor: Any, value: Any = None) -> None:
        self.descriptor = descriptor
        self.value = value

    def __eq__(self, other: object) -> bool:
        if type(other) is not Described:
            return NotImplemented
        return bool(self.descriptor == other.descriptor and self.value == other.value)

    def __repr__(self) -> str:
        return f"Described({self.descriptor!r}, {self.value!r})"


class Array:
    """Values that share one constructor.

    Args:
        type: name of the primitive type of all items, such as "symbol" or "uint".
        items: the values.
        descriptors: for items of a described type, the descriptors, the outermost first.
    """

    __slots__ = ("descriptors", "items", "type")
    __match_args__ = ("type", "items", "descriptors")
    __hash__: ClassVar[None]  # type: ignore[assignment]
    type: str
    items: list[Any]
    descriptors: tuple[Any, ...]

    def __init__(
        self, type: str, items: Iterable[Any] = (), descriptors: Iterable[Any] = ()
    ) -> None:
        if not isinstance(type, str):
            raise TypeError(
                f"Array takes the name of its items' type first, Array('int', [1, 2]), not "
                f"{type.__class__.__name__}"
            )
        self.type = type
        self.items = list(items)
        self.descriptors = tuple(descriptors)

    @property
    def descriptor(self) -> Any:
        """The outermost descriptor, or None."""
        return self.descriptors[0] if self.descriptors else None

    def __len__(self) -> int:
        """How many items."""
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        """Over the items."""
        return iter(self.items)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        """An item, or a list of them."""
        return self.items[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Array):
            return NotImplemented
        mine = (self.type, self.items, self.descriptors)
        return mine == (other.type, other.items, other.descriptors)

    def __repr__(self) -> str:
        more = f", {self.descriptors!r}" if self.descriptors else ""
        return f"Array({self.type!r}, {self.items!r}{more})"


class Map(list[tuple[Any, Any]]):
    """Pairs of key and value, in order: for maps that no dict can hold.

    Keys are compared, never hashed; they may repeat, and may be of any type.
    """

    __slots__ = ()
    __hash__ = None

    def __init__(self, pairs: Mapping[Any, Any] | Iterable[tuple[Any, Any]] = ()) -> None:
        if isinstance(pairs, Mapping):
            pairs = pairs.items()
        super().__init__((key, value) for key, value in pairs)

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of the first pair with that key, a key of the same class going first."""
        pairs = [pair for pair in self if _same(pair[0], key)]
        for pair in pairs:
            if type(pair[0]) is type(key):
                return pair[1]
        return pairs[0][1] if pairs else default

    def keys(self) -> list[Any]:
        """The keys, in order."""
        return [pair[0] for pair in self]

    def values(self) -> list[Any]:
        """The values, in order."""
        return [pair[1] for pair in self]

    def items(self) -> list[tuple[Any, Any]]:
        """The pairs, in order."""
        return list(self)

    def __repr__(self) -> str:
        return f"Map({list.__repr__(self)})"


def _same(one: Any, other: Any) -> bool:
    return bool(one is other or one == other)
