"""What the typed numbers of field tables (types) and of AMQP 1.0 (v1_types) are made of."""

from __future__ import annotations

from typing import ClassVar, SupportsIndex

__all__ = ["RangedInt", "ShownFloat"]


class RangedInt(int):
    """An int that must fit LOW to HIGH; arithmetic gives plain ints.

    ``class UInt8(RangedInt, bits=8)`` sets both, as does ``signed=True`` beside it.
    """

    __slots__ = ()
    LOW: ClassVar[int] = 0
    HIGH: ClassVar[int] = 0

    def __init_subclass__(cls, bits: int = 0, signed: bool = False) -> None:
        super().__init_subclass__()
        if bits:
            cls.LOW = -(1 << (bits - 1)) if signed else 0
            cls.HIGH = cls.LOW + (1 << bits) - 1

    def __new__(cls, value: SupportsIndex | str = 0) -> RangedInt:
        self = super().__new__(cls, value)
        if not cls.LOW <= self <= cls.HIGH:
            raise ValueError(f"{cls.__name__} takes {cls.LOW} to {cls.HIGH}, not {int(self)}")
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({int(self)})"

    # int.__str__ is object's, which would call the repr above.
    def __str__(self) -> str:
        return int.__repr__(self)


class ShownFloat(float):
    """A float whose repr names its class; arithmetic gives plain floats."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({float.__repr__(self)})"

    def __str__(self) -> str:
        return float.__repr__(self)
