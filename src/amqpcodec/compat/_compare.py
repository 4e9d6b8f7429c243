"""Frames and values to compare a drop-in with its client on, before it is used.

Numbers of every width are at both ends of their range, with and without a sign; texts and names are
also not UTF-8; values are also in arrays and tables. What a client of another version reads or
writes otherwise is a `Difference`.

A client that is not known may loop for ever on one of these inputs, as pamqp before 4.0.1 does
on a content header with a word of flags that never ends. Each call of it is traced and ends by
`HangError` after `MAX_LINES` lines of Python: `limit_lines` says why no timer does this.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from functools import lru_cache, partial
from itertools import chain
from types import FrameType
from typing import Any, NamedTuple, TypeVar

__all__ = [
    "INTS",
    "LONG_NAMES",
    "MAX_LINES",
    "Difference",
    "DiffersError",
    "Frames",
    "HangError",
    "ValueFunctions",
    "argument_differences",
    "call",
    "compare",
    "entry_differences",
    "frame_differences",
    "function_differences",
    "header_frames",
    "limit_lines",
    "method_frames",
    "outcome",
    "refuse",
    "split",
    "value_differences",
    "variant_differences",
]

_T = TypeVar("_T")

#: The drop-in's function from a tag and bytes to a value, the client's, the drop-in's from a value
#: to its tag and bytes, the client's.
ValueFunctions = tuple[
    Callable[[bytes], Any], Callable[[bytes], Any], Callable[[Any], Any], Callable[[Any], Any]
]

#: Makes the frames of a method or property list, by variant.
Frames = Callable[[], list[list[bytes]]]

#: Wire types, numbered as in lowered tables.
_BIT, _OCTET, _SHORT, _LONG, _LONGLONG, _SHORTSTR, _LONGSTR, _TIMESTAMP, _TABLE = range(9)


class Difference(NamedTuple):
    """What a client and its drop-in do otherwise.

    Args:
        subject: the value, with the bytes or the class that it was read from or written by.
        client: what comes of it without the drop-in, as text.
        drop_in: what comes of it with the drop-in, as text.
        part: the part of a profile that it is of: "tag b" for values that are read, the name of a
            type for values that are written, or "".
    """

    subject: str
    client: str
    drop_in: str
    part: str = ""

    def __str__(self) -> str:
        return f"{self.subject}: the client gives {self.client}, the drop-in {self.drop_in}"


class DiffersError(Exception):
    """A client reads or writes otherwise than its drop-in; `difference` is the first case."""

    def __init__(self, difference: Difference) -> None:
        super().__init__(str(difference))
        self.difference = difference


def refuse(differences: Iterable[Difference]) -> None:
    """Raise for the first difference, where there is one."""
    for difference in differences:
        raise DiffersError(difference)


def split(
    methods: Iterable[_T], differences: Callable[[_T], Iterable[Difference]]
) -> tuple[list[_T], list[tuple[_T, Difference]]]:
    """(methods without a difference, the others with the first one)."""
    same: list[_T] = []
    others: list[tuple[_T, Difference]] = []
    for method in methods:
        for difference in differences(method):
            others.append((method, difference))
            break
        else:
            same.append(method)
    return same, others


# --- frames -------------------------------------------------------------------------------------


def _pack_table(pairs: bytes) -> bytes:
    return struct.pack(">I", len(pairs)) + pairs


#: Samples of each wire type: small values, numbers with their first bit set, what is not UTF-8.
_VARIANTS = range(4)
_SAMPLES: dict[int, tuple[bytes, bytes, bytes, bytes]] = {
    _OCTET: (b"\x07", b"\x87", b"\xff", b"\x80"),
    _SHORT: (b"\x02\x01", b"\x82\x01", b"\xff\xff", b"\x80\x00"),
    _LONG: (b"\x00\x01\x11\x70", b"\x80\x01\x11\x70", b"\xff" * 4, b"\x80" + bytes(3)),
    _LONGLONG: (b"\0\0\1\0\0\0\0\5", b"\x80\0\1\0\0\0\0\5", b"\xff" * 8, b"\x80" + bytes(7)),
    _SHORTSTR: (b"text", b"t\xc3\xa4xt", b"\xff\xfe", b""),
    _LONGSTR: (b"text", b"t\xc3\xa4xt", b"\xff\xfe", b""),
    _TIMESTAMP: tuple(
        struct.pack(">Q", seconds) for seconds in (1_700_000_000, 4_294_967_296, 2**64 - 1, 0)
    ),  # type: ignore[dict-item]
    _TABLE: (
        _pack_table(b"\x01kS\0\0\0\x01v\x02b1t\x01\x01nI\xff\xff\xff\xfe\x01eV"),
        _pack_table(b"\x02\xc3\xa4S\0\0\0\x02\xc3\xa4\x01Bb\xff\x01CB\xff"),
        _pack_table(b"\x02\xff\xfeS\0\0\0\x02\xff\xfe"),
        _pack_table(b""),
    ),
}


def _sample(wire_type: int, number: int, variant: int) -> bytes:
    """Bytes of a value; texts differ, so that none can stand in another's place."""
    sample = _SAMPLES[wire_type][variant]
    if wire_type in (_SHORTSTR, _LONGSTR):
        text = sample + f"-{number}".encode() if sample else b""
        return (
            bytes([len(text)]) if wire_type == _SHORTSTR else struct.pack(">I", len(text))
        ) + text
    return sample


def _frame(frame_type: int, payload: bytes) -> bytes:
    return struct.pack(">BHI", frame_type, 3, len(payload)) + payload + b"\xce"


def _method_frame(class_id: int, method_id: int, wire_types: Sequence[int], variant: int) -> bytes:
    """A method frame; every other bit is set, beginning with the first or (in odd variants) the
    second."""
    out = bytearray(struct.pack(">HH", class_id, method_id))
    run = 0
    for number, wire_type in enumerate(wire_types):
        if wire_type != _BIT:
            out += _sample(wire_type, number, variant)
            run = 0
            continue
        if run % 8 == 0:
            out.append(0)
        out[-1] |= ((run + variant + 1) % 2) << run % 8
        run += 1
    return _frame(1, bytes(out))


def method_frames(class_id: int, method_id: int, wire_types: Sequence[int]) -> list[list[bytes]]:
    """Frames of a method, by variant: the first is of plain small values."""
    return [[_method_frame(class_id, method_id, wire_types, variant)] for variant in _VARIANTS]


def header_frames(class_id: int, wire_types: Sequence[int]) -> list[list[bytes]]:
    """Content header frames with all properties and with each alone, by variant: the first is of
    plain small values."""
    numbers = range(len(wire_types))
    return [
        [
            _header_frame(class_id, wire_types, present, variant)
            for present in (numbers, *([number] for number in numbers))
        ]
        for variant in _VARIANTS
    ]


def _header_frame(
    class_id: int, wire_types: Sequence[int], present: Sequence[int], variant: int
) -> bytes:
    word = sum(0x8000 >> number for number in present)
    values = [_sample(wire_types[number], number, variant) for number in present]
    return _frame(2, struct.pack(">HHQH", class_id, 0, 77, word) + b"".join(values))


# --- outcomes -----------------------------------------------------------------------------------

#: Lines of Python that one call of a client may run; the longest of all comparisons runs 1,800.
MAX_LINES = 20_000


_is_limited: ContextVar[bool] = ContextVar("is_limited", default=False)


class HangError(BaseException):
    """A client's function ran more than `MAX_LINES` lines. No `Exception`: a client that handles
    every one of those in its loop would go on."""

    def __init__(self) -> None:
        super().__init__(f"no result after {MAX_LINES:,} lines of Python")


@contextmanager
def limit_lines(limited: bool = True) -> Iterator[None]:
    """Have `call` limit what it calls, in this context.

    Not by a timer: signals belong to the program and its main thread, and a call that hangs in a
    thread or a process of its own can only be left behind or killed. A limit in lines ends the same
    call at the same line on every machine. It does not end a loop in C. Tracing makes calls
    several times slower, so only clients that are not known are traced.
    """
    token = _is_limited.set(limited)
    try:
        yield
    finally:
        _is_limited.reset(token)


def call(work: Callable[[], _T]) -> _T:
    """What comes of it.

    Raises:
        HangError: it takes too long, where `limit_lines` applies.
    """
    if not _is_limited.get():
        return work()
    lines = 0

    def count(_frame: FrameType, _event: str, _argument: Any) -> Any:
        nonlocal lines
        lines += 1
        if lines > MAX_LINES:
            raise HangError
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        return work()
    finally:
        sys.settrace(before)


def outcome(work: Callable[[], Any]) -> tuple[bool, Any]:
    """(True, what comes of it), or (False, the exception's type)."""
    try:
        return True, call(work)
    except (Exception, HangError) as error:
        return False, type(error)


def _text(work: Callable[[], Any]) -> str:
    """What comes of it: the value's repr, or the exception with its text."""
    try:
        text = repr(call(work))
    except (Exception, HangError) as error:
        text = f"{type(error).__name__}: {error}"
    # Without the address of an object.
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text) if " at 0x" in text else text


def _shorten(text: str, place: int = 0) -> str:
    """At most about 100 characters of a text, with those at a place."""
    start = max(0, place - 40) if len(text) > 100 else 0
    end = start + 100
    return f"{'...' if start else ''}{text[start:end]}{'...' if text[end:] else ''}"


def compare(
    subject: str, client: Callable[[], Any], drop_in: Callable[[], Any], part: str = ""
) -> Iterator[Difference]:
    """The difference between what both give, if there is one: values by their repr, exceptions by
    class and text."""
    theirs, ours = _text(client), _text(drop_in)
    if theirs != ours:
        pairs = enumerate(zip(theirs, ours, strict=False))
        place = next((place for place, (one, other) in pairs if one != other), 0)
        yield Difference(_shorten(subject), _shorten(theirs, place), _shorten(ours, place), part)


def frame_differences(
    raw: bytes,
    read: Callable[[bytes], Any],
    their_read: Callable[[bytes], Any],
    write: Callable[[Any], Any],
    their_write: Callable[[Any], Any],
    flatten: Callable[[Any], Any],
) -> Iterator[Difference]:
    """What the drop-in reads from a frame, or writes of that, otherwise than the client.

    flatten: from what was read to something whose repr has all of it.
    """
    theirs, ours = partial(their_read, raw), partial(read, raw)
    yield from compare(
        f"read frame {raw.hex()}", lambda: flatten(theirs()), lambda: flatten(ours())
    )
    if outcome(theirs)[0]:
        yield from compare(
            f"written frame {raw.hex()}", lambda: their_write(theirs()), lambda: write(ours())
        )


#: Arguments of methods at the borders of what clients check before they write them.
_TEXT_ARGUMENTS = (
    *(f"a{chr(code)}" for code in range(128)), "", "\u00e4", "\ud800", None, b"b", 5,
    *("n" * length for length in (127, 128, 255, 256)),
)  # fmt: skip
_OTHER_ARGUMENTS: tuple[Any, ...] = (
    0,
    1,
    -1,
    2**15,
    2**16 - 1,
    2**16,
    2**32 - 1,
    2**32,
    2**64,
    True,
    None,
    "5",
    {},
)


def argument_differences(
    make: Callable[[], Any],
    names: Iterable[str],
    write: Callable[[Any], Any],
    their_write: Callable[[Any], Any],
) -> Iterator[Difference]:
    """What the drop-in writes of a method, or refuses to, otherwise than the client.

    make: a new instance with its default arguments. names: of its attributes.
    """
    for name in names:
        text = isinstance(getattr(make(), name), str)
        for value in _TEXT_ARGUMENTS if text else _OTHER_ARGUMENTS:
            frame = make()
            setattr(frame, name, value)
            yield from compare(
                f"written {type(frame).__qualname__} with {name}={value!r}",
                partial(their_write, frame),
                partial(write, frame),
            )


def variant_differences(
    codec: Any,
    read: Callable[[bytes], Any],
    differences: Callable[[bytes], Iterable[Difference]],
    frames: list[list[bytes]],
    alone: bool = True,
) -> Iterator[Difference]:
    """What differs in frames by variant; `alone`: the codec has to read those of the first by
    itself, because nothing that is in them is left to the client."""
    before = codec.fallbacks
    failed = any(not outcome(partial(read, raw))[0] for raw in frames[0])
    if alone and (failed or codec.fallbacks != before):
        yield Difference(f"read frame {frames[0][0].hex()}", "a result", "none of its own")
    yield from chain.from_iterable(map(differences, chain(*frames)))


# --- values of field tables ---------------------------------------------------------------------

#: What may follow a tag: numbers, a text, a table, an array, too little.
_FIRST_PAYLOADS = (
    bytes(range(1, 17)),
    b"\0\0\0\3abc" + bytes(8),
    b"\0\0\0\4\1kt\1" + bytes(8),
    b"\0\0\0\5I\xff\xff\xff\xfe" + bytes(8),
    b"\2\xff\xff\xff\x85" + bytes(8),
    b"\0\0\0\0ef\5\x80",
    b"\0",
)

_SECONDS = (
    0, 1, 1_700_000_000, 1_700_000_000_000, 2**31, 2**32, 253_402_300_799, 253_402_300_800,
    2**63 - 1, 2**63, 2**64 - 1,
)  # fmt: skip
_FLOATS = (0.0, -0.0, 1.5, -2.5, 1e30, 5e-324, float("inf"), float("-inf"), float("nan"))
_TEXTS = (
    b"", b"a", b"\xc3\xa4", b"\xe4", b"\xff\xfea", b"\xed\xa0\x80", b"\0", b"\xf0\x9f\x98\x80",
)  # fmt: skip


@lru_cache(maxsize=1)
def _payloads() -> tuple[list[bytes], list[bytes]]:
    """What may follow a tag that is read: (numbers and texts, tables and arrays)."""
    numbers = [
        value.to_bytes(width, "big")
        for width in (1, 2, 4, 8)
        for end in (0, 1 << 8 * width - 1, 1 << 8 * width)
        for value in (end - 2, end - 1, end, end + 1)
        if 0 <= value < 1 << 8 * width
    ]
    numbers += [
        bytes([scale]) + struct.pack(">i", digits)
        for scale in (0, 1, 28, 127, 128, 255)
        for digits in (0, 15, -1, -15, 2**31 - 1, -(2**31))
    ]
    numbers += [struct.pack(">Q", value) for value in _SECONDS]
    numbers += [struct.pack(form, value) for form in (">d", ">f") for value in _FLOATS]
    texts = [struct.pack(">I", len(text)) + text for text in _TEXTS]
    texts += [bytes([len(text)]) + text for text in _TEXTS]
    names = [bytes([len(name)]) + name for name in (*_TEXTS, b"k" * 128, b"k" * 129, b"k" * 255)]
    pairs = [name + b"t\1" for name in names]
    pairs += [b"", b"\1kt\1\1kt\0", b"\1kF\0\0\0\3\1qV", b"\1kt", b"\2k"]
    items = [b"V", b"t\1t\0", b"A\0\0\0\0", b"t", b"\0"]
    return [b"", *dict.fromkeys(numbers + texts)], [*map(_pack_table, pairs + items)]


_BORDERS = (0, 2**7, 2**8, 2**15, 2**16, 2**31, 2**32, 2**53, 2**63, 2**64)
INTS = sorted(
    {sign * end + more for end in _BORDERS for sign in (1, -1) for more in (-2, -1, 0, 1)}
)
_DECIMALS = (
    "0", "-0", "1.25", "-7E2", "7.00", "1E3", "1E-10", "1.5E-10", "1E-28", "1E-255", "1E-256",
    "1E-300", "2147483647", "2147483648", "-2147483648", "-2147483649", "99999999999", "NaN",
    "Infinity",
)  # fmt: skip
_VALUES: tuple[Any, ...] = (
    40000, 1.5, -0.1, True, False, None, "text", "\u00e4", "", "\ud800", "\U0001f600", "\0",
    b"bytes", b"\xff\xfe", b"", bytearray(b"bytes"), memoryview(b"bytes"), [], {}, [1, "a", [None]],
    (1, 2), {"b": 1, "a": {"c": [True]}}, {"k": object()}, 1j, {1: 2}, {b"k": 1}, {b"\xff\xfe": 1},
    {"": 1}, {"\u00e4" * 64: 1}, {"k" * 128: 1},
    {"\ud800": 1},
    datetime(2026, 1, 2, 3, 4, 5), datetime(2026, 1, 2, 3, 4, 5, 678_901), datetime(1969, 12, 31),
    datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59),
    datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=2))),
    datetime(1, 1, 1, tzinfo=UTC),
    *_FLOATS, *map(Decimal, _DECIMALS), *INTS,
)  # fmt: skip

#: Tables with names that pamqp cuts, which it writes to its log: not compared there.
LONG_NAMES = tuple({name: 1} for name in ("\u00e4" * 100, "k" * 129, "k" * 255, "k" * 256))


def value_differences(
    read: Callable[[bytes], Any],
    their_read: Callable[[bytes], Any],
    write: Callable[[Any], Any],
    their_write: Callable[[Any], Any],
    values: Iterable[Any] = (),
) -> Iterator[Difference]:
    """Values of field tables that the drop-in reads or writes otherwise than the client.

    Args:
        read: the drop-in's function from a tag and what follows to a value.
        their_read: the client's.
        write: the drop-in's function from a value to its tag and bytes.
        their_write: the client's.
        values: more values to write, of the client's own classes.
    """
    # Arrays and tables last: what differs in them is mostly an item.
    for tag in sorted(range(256), key=b"AF".find):
        yield from _tag_differences(bytes([tag]), read, their_read)
    for value in chain(_VALUES, values):
        for one in (value, [value], {"k": value}):
            part = type(value).__name__
            subject = f"written {part} {value!r}"
            yield from compare(subject, partial(their_write, one), partial(write, one), part)


#: What may follow a tag of a client that is known: both ends of every width, times, texts.
_ENTRY_PAYLOADS = (
    bytes(range(1, 17)),
    b"\xff" * 16,
    b"\x80" + bytes(15),
    b"\x7f" + b"\xff" * 15,
    struct.pack(">QQ", 1_700_000_000, 0),
    struct.pack(">QQ", 1_700_000_000_000, 0),
    b"\0\0\0\3abc" + bytes(9),
    b"\0\0\0\2\xff\xfe" + bytes(10),
    b"\2\xff\xff\xff\x85" + bytes(11),
)
_ENTRY_CONTAINERS = (
    _pack_table(b"") + b"\1",
    _pack_table(b"\1kt\1\1bV") + b"\1",
    _pack_table(b"t\1V") + b"\1",
)
_ENTRY_VALUES: tuple[Any, ...] = (
    True, None, 5, -5, 200, -200, 40_000, -40_000, 70_000, 2**31, 2**40, -(2**40), 1.5,
    Decimal("1.25"), "t\u00e4xt", b"\xff", bytearray(b"\xff"), datetime(2026, 1, 2, 3, 4, 5), [1],
    {"k": "v"},
)  # fmt: skip


def entry_differences(
    tags: Iterable[str],
    read: Callable[[bytes], Any],
    their_read: Callable[[bytes], Any],
    write: Callable[[Any], Any],
    their_write: Callable[[Any], Any],
) -> Iterator[Difference]:
    """What a client of a known version does otherwise than its drop-in, because somebody exchanged
    an entry of one of its tables: a short comparison of each tag and each type.

    Args:
        tags: those that the drop-in reads.
        read: and the others as `value_differences` has them.
    """
    for tag in tags:
        for payload in _ENTRY_CONTAINERS if tag in "AF" else _ENTRY_PAYLOADS:
            raw = tag.encode("latin-1") + payload
            subject = f"read tag {tag!r}, bytes {raw.hex()}"
            yield from compare(subject, partial(their_read, raw), partial(read, raw), f"tag {tag}")
    for value in _ENTRY_VALUES:
        part = type(value).__name__
        subject = f"written {part} {value!r}"
        yield from compare(subject, partial(their_write, value), partial(write, value), part)


def function_differences(
    name: str, drop_in: Callable[[Any], Any], client: Callable[[Any], Any], reads: bool
) -> Iterator[Difference]:
    """What a function from bytes to a value, or from a value to bytes, does otherwise."""
    plain, containers = _payloads()
    # Some versions never end where an array or a table is shorter than its length says.
    payloads = containers if name in ("field_table", "field_array") else plain
    for payload in payloads if reads else _VALUES:
        subject = f"{name}({payload!r})"
        yield from compare(subject, partial(client, payload), partial(drop_in, payload))


def _tag_differences(
    tag: bytes, read: Callable[[bytes], Any], their_read: Callable[[bytes], Any]
) -> Iterator[Difference]:
    letter = tag.decode("latin-1")
    some = [tag + payload for payload in _FIRST_PAYLOADS]
    if any(outcome(partial(one, raw))[0] for raw in some for one in (read, their_read)):
        # Some versions never end where an array or a table is shorter than its length says.
        plain, containers = _payloads()
        for payload in containers if tag in (b"A", b"F") else plain:
            item = tag + payload
            # Alone, before bytes of something else, in an array and in a table.
            some += [item, item + bytes(8), b"A" + _pack_table(item)]
            some.append(b"F" + _pack_table(b"\1k" + item))
    for raw in some:
        subject = f"read tag {letter!r}, bytes {raw.hex()}"
        for difference in compare(
            subject, partial(their_read, raw), partial(read, raw), f"tag {letter}"
        ):
            yield difference
            return  # one is enough to leave the tag to the client; others may take long
