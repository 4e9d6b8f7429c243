"""Values that azure's clients write in a way of their own: the same with the drop-in."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import datetime
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
    typed("BOOL", 2),
    typed("BOOL", "yes"),
    typed("LIST", []),
    typed("DESCRIBED", (typed("SYMBOL", b"d"), "value")),
]


@pytest.mark.parametrize("number", range(len(VALUES)))
def test_values(v1_pair: tuple[Side, Side], number: int) -> None:
    def ask(side: Side) -> Callable[[], Any]:
        def write() -> bytes:
            found = bytearray()
            side._encode.encode_value(found, VALUES[number])
            return bytes(found)

        return write

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
