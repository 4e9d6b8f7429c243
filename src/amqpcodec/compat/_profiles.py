"""How the client that is there reads and writes values, found out by asking its own functions.

Versions of a client differ in the sign of a tag, in the zone of times, in the tag of large numbers.
A `Profile` begins with what the versions agree on, and a few calls of the client tell the rest.
What a version does in no way that the core knows leaves the profile: such values, and the tables
that hold them, are then read and written by the client.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from amqpcodec import _dropins
from amqpcodec._gen.v0_9_1 import TABLE

from ._compare import Difference, DiffersError, outcome

__all__ = ["CLASSES", "Profile", "Trial", "conversions", "fit"]

_TABLE: dict[str, Any] = TABLE
#: Classes of AMQP 0-9-1 with their methods, from the table alone: the module of the protocol would
#: make a class of each method.
CLASSES: tuple[dict[str, Any], ...] = _TABLE["classes"]

#: Type that is written -> the option that leaves it to the client.
_OPTIONS: dict[str, tuple[str, Any]] = {
    "int": ("ints", "client"),
    "long": ("ints", "client"),
    "Decimal": ("decimals", "client"),
    "datetime": ("datetimes", False),
    "float": ("float_tag", None),
    "bytes": ("bytes_tag", None),
    "bytearray": ("bytearray_tag", None),
}


class Profile:
    """What a `ClientProfile` is made of, and which parts of it are left to the client.

    Args:
        read: tag -> name of a conversion.
        unsupported: what is left to the client already, as `fit` says it.
        options: the others that `ClientProfile` takes.
    """

    def __init__(
        self, read: dict[str, str], unsupported: Iterable[tuple[str, str]] = (), **options: Any
    ) -> None:
        self.read = read
        self.unsupported = list(unsupported)
        self.options = options

    def make(self, **options: Any) -> Any:
        """The compiled form; options here take the place of those that the profile has."""
        return _dropins.ClientProfile(self.read, **self.options | options)

    def leave(self, part: str) -> bool:
        """Leave a part of a `Difference` to the client; False: that is not possible."""
        if part in ("tag A", "tag F"):
            return False
        if part.startswith("tag "):
            return self.read.pop(part[4:], None) is not None
        if part not in _OPTIONS:
            return False
        name, value = _OPTIONS[part]
        if name in self.options and self.options[name] == value:
            return False
        self.options[name] = value
        return True


def fit(profile: Profile, differences: Callable[[], Iterator[Difference]]) -> list[tuple[str, str]]:
    """Leave all parts of a profile to the client that differ from it: their names, and of each the
    first difference in words.

    Args:
        differences: of the client and a codec that is made of the profile as it is then.

    Raises:
        DiffersError: something differs that is no part of a profile.
    """
    unsupported, other = fit_parts(profile, differences)
    if other is not None:
        raise DiffersError(other)
    return unsupported


def fit_parts(
    profile: Profile, differences: Callable[[], Iterator[Difference]]
) -> tuple[list[tuple[str, str]], Difference | None]:
    """(What `fit` leaves to the client, the first difference that is no part of a profile)."""
    first: dict[str, Difference] = {}
    for difference in differences():
        first.setdefault(difference.part, difference)
    unsupported = [
        (_name(part), str(difference)) for part, difference in first.items() if profile.leave(part)
    ]
    # What differed in an array or a table was mostly an item of it, which is left now.
    return unsupported, next(differences(), None) if first else None


class Trial:
    """The codec that is compared with a client of a known version, and is the one that is installed
    where nothing differs.

    Args:
        make: makes it of the profile as it is then.
        differences: of it and the client.
    """

    def __init__(
        self,
        profile: Profile,
        make: Callable[[], Any],
        differences: Callable[[Any], Iterator[Difference]],
    ) -> None:
        self._make = make
        self._differences = differences
        self.codec: Any = None
        self.unsupported, self.other = fit_parts(profile, self._compare)
        if self.unsupported or self.other is not None:
            self.codec = make()

    def _compare(self) -> Iterator[Difference]:
        self.codec = self._make()
        yield from self._differences(self.codec)


def _name(part: str) -> str:
    return f"reading {part}" if part.startswith("tag ") else f"writing {part}"


# --- questions to the client --------------------------------------------------------------------

#: A function of the client from a tag and bytes to (value, bytes of both).
Read = Callable[[bytes], tuple[Any, int]]


def _read_all(read: Read, raw: bytes) -> tuple[Any, int] | None:
    """The value of bytes that the client reads to their end."""
    worked, result = outcome(lambda: read(raw))
    return result if worked and result[1] == len(raw) else None


def _integer(read: Read, tag: bytes, int_class: type | None) -> str | None:
    """The conversion of a tag for integers: its width, its sign, its class."""
    worked, result = outcome(lambda: read(tag + b"\xff" * 8))
    if not worked:
        return None
    value, end = result
    width = end - 1
    unsigned = value == (1 << 8 * width) - 1
    if width not in (1, 2, 4, 8) or not (unsigned or value == -1):
        return None
    if int_class is not None and type(value) is int_class:
        return ("unsigned long" if unsigned else "long") if width == 8 else None
    return f"{'u' * unsigned}int{8 * width}" if type(value) is int else None


def _short_text(read: Read, tag: bytes, _int_class: type | None) -> str | None:
    result = _read_all(read, tag + b"\2ab")
    return "short text" if result is not None and result[0] == "ab" else None


#: repr of Decimals that a client reads of -1 without, and of 100 with 2 digits after the point.
_DECIMALS = {
    ("Decimal('-1')", "Decimal('1.00')"): "decimal product",
    ("Decimal('4294967295')", "Decimal('1.00')"): "unsigned decimal product",
    ("Decimal('-1')", "Decimal('1')"): "decimal quotient",
}


def _decimal(read: Read, tag: bytes, _int_class: type | None) -> str | None:
    raws = (b"\0\xff\xff\xff\xff", b"\2\0\0\0\x64")
    results = [_read_all(read, tag + raw) for raw in raws]
    one, other = (repr(result and result[0]) for result in results)
    return _DECIMALS.get((one, other))


def _time(read: Read, tag: bytes, _int_class: type | None) -> str | None:
    """The conversion of times: with a zone or not, and whether large numbers are milliseconds."""
    result = _read_all(read, tag + struct.pack(">Q", 1_700_000_000))
    if result is None:
        return None
    if _read_all(read, tag + struct.pack(">Q", 1_700_000_000_000)) is not None:
        return "aware or ms" if result[0].tzinfo else None
    return "aware" if result[0].tzinfo else "naive"


_Question = Callable[[Read, bytes, type | None], str | None]
_QUESTIONS: dict[str, tuple[_Question, ...]] = {
    **dict.fromkeys("bBsUuIilL", (_integer, _short_text)),
    "D": (_decimal,),
    "T": (_time,),
}


#: What follows a tag that fits no conversion, to say what the client makes of it.
_EXAMPLES = (b"\0\xff\xff\xff\xff", b"\xff" * 8, b"\2ab", b"\0\0\0\0e\x53\xf1\0", b"")


def conversions(
    read: Read, tags: Iterable[str], int_class: type | None = None
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """(Tag -> conversion, of those that the client reads in a way that the core has; what of the
    others is left to the client, as `fit` says it).

    Args:
        read: the client's function.
        tags: of bBsUuIilLDT, those that some version reads.
        int_class: that of the client's own integers of 64 bits.
    """
    answers: dict[str, str] = {}
    unsupported: list[tuple[str, str]] = []
    for tag in tags:
        for question in _QUESTIONS[tag]:
            answer = question(read, tag.encode(), int_class)
            if answer is not None:
                answers[tag] = answer
                break
        else:
            unsupported += _no_conversion(read, tag)
    return answers, unsupported


def _no_conversion(read: Read, tag: str) -> Iterator[tuple[str, str]]:
    """What a client reads of a tag that fits no conversion; nothing where it does not read it."""
    for example in _EXAMPLES:
        raw = tag.encode() + example
        worked, result = outcome(partial(read, raw))
        if worked:
            text = f"the client gives {result[0]!r}, which is none of the drop-in's conversions"
            yield f"reading tag {tag}", f"read tag {tag!r}, bytes {raw.hex()}: {text}"
            return
