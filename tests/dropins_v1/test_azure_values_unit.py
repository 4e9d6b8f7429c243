"""Values that azure's clients write in a way of their own: the same with the drop-in."""

from __future__ import annotations

import struct
from collections import namedtuple
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.dropins.canon import outcome
from tests.dropins.stock import Side


def typed(name: str, value: Any) -> dict[str, Any]:
    return {"TYPE": name, "VALUE": value}


VALUES: list[Any] = [
    typed("MAP", [("a", 1), ["b", typed("UINT", 2)]]),
    typed("MAP", [("a", 1, 2)]),
    typed("MAP", [5]),
    typed("MAP", [(1, 2)] * 200),
    typed("ARRAY", [typed("BOOL", True), typed("BOOL", False)]),
    typed("ARRAY", [typed("UINT", 1), typed("UINT", 2**32 - 1)]),
    typed("ARRAY", [typed("UINT", 1), typed("INT", 2)]),
    typed("ARRAY", [{"VALUE": 1}]),
    typed("ARRAY", [typed("", 1)]),
    typed("ARRAY", [None, None]),
    typed("ARRAY", ["a", b"b"]),
    typed("TIMESTAMP", 2**63),
    typed("TIMESTAMP", -1),
    typed("TIMESTAMP", datetime(1, 1, 1)),
    typed("TIMESTAMP", "now"),
    typed("LONG", 2**63),
    typed("LONG", True),
    typed("LONG", datetime(2024, 1, 2, 3, 4, 5, 678901, UTC)),
    typed("BOOL", 2),
    typed("BOOL", "yes"),
    typed("LIST", []),
    typed("DESCRIBED", (typed("SYMBOL", b"d"), "value")),
]


@pytest.mark.parametrize("number", range(len(VALUES)))
def test_values(v1_pair: tuple[Side, Side], number: int) -> None:
    """In a message, whose writer is the drop-in's."""

    def ask(side: Side) -> Callable[[], Any]:
        message = side.message.Message(value=[VALUES[number]])
        return lambda: bytes(side._encode.encode_payload(bytearray(), message))

    stock, live = v1_pair
    assert outcome(ask(stock)) == outcome(ask(live))


FILTERS: list[Any] = [
    {b"a": None},
    {b"a": "text", "b": b"bytes"},
    {b"apache.org:selector-filter:string": (b"apache.org:selector-filter:string", b"x > '1'")},
    {b"a": [b"descriptor", typed("UINT", 5)]},
    {b"a": (b"descriptor", 1, 2)},
    {b"a": 5},
    {},
    "no dict",
]


@pytest.mark.parametrize("number", range(len(FILTERS)))
def test_filters(v1_pair: tuple[Side, Side], number: int) -> None:
    if v1_pair[0].package.startswith("rstream"):
        pytest.skip("rstream has no sources")

    def ask(side: Side) -> Callable[[], Any]:
        def write() -> bytes:
            source = side.endpoints.Source(address=b"a", filters=FILTERS[number])
            frame = side.performatives.AttachFrame(*(b"n", 0, False, 0, 0, source), *[None] * 8)
            head, body = side._encode.encode_frame(frame)
            assert len(head) + len(body) == struct.unpack(">I", head[:4])[0]
            return bytes(head) + bytes(body)

        return write

    stock, live = v1_pair
    assert outcome(ask(stock)) == outcome(ask(live))


def written(side: Side, make: Callable[[Side], Any]) -> tuple[Any, ...]:
    """What writing a performative came to."""
    frame = make(side)
    return outcome(lambda: [bytes(part) for part in side._encode.encode_frame(frame)])


def open_frame(side: Side, *more: Any) -> Any:
    values = "name", "host", *[None] * 7, {"k": 1}, *more
    return tuple.__new__(side.performatives.OpenFrame, values)


def frame_of_a_new_type(side: Side) -> Any:
    """Its class has a field of a type that no version has."""
    cls = namedtuple("Frame", ["a"])
    field = side.performatives.OpenFrame._definition[0]
    cls._code, cls._definition = 0x50, (field._replace(type="UNHEARD"),)
    return cls(5)


PERFORMATIVES: dict[str, Callable[[Side], Any]] = {
    "its own": open_frame,
    "one with more values than fields": lambda side: open_frame(side, 5),
    "one of a user's class": frame_of_a_new_type,
}


@pytest.mark.parametrize("name", PERFORMATIVES)
def test_performatives(v1_pair: tuple[Side, Side], name: str) -> None:
    stock, live = (written(side, PERFORMATIVES[name]) for side in v1_pair)
    assert live == stock


def test_a_performative_with_a_list_in_itself(v1_pair: tuple[Side, Side]) -> None:
    endless: list[Any] = []
    endless.append(endless)
    frame = v1_pair[1].performatives.BeginFrame(*[None] * 7, {"k": endless})
    with pytest.raises(RecursionError):
        v1_pair[1]._encode.encode_frame(frame)


@pytest.mark.parametrize("levels", [62, 63, 64])
def test_described_values_of_an_array_are_a_level(v1_pair: tuple[Side, Side], levels: int) -> None:
    array = b"\xe0\x07\x01\0\x53\x24\x50\x07"
    data = b"\0\x53\x77" + b"\xd0\0\0\0\x64\0\0\0\1" * levels + array
    stock, live = (
        outcome(lambda s=side: s._decode.decode_payload(memoryview(data))) for side in v1_pair
    )
    assert live == stock
