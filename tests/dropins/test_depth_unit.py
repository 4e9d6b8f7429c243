"""Tables in tables: as deep as the stock client goes, and no crash where it gives up."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dropins.canon import name_of
from tests.dropins.stock import Side
from tests.support import client_bytes as octets

LEVELS = [1, 2, 60, 126, 127, 128, 129, 130, 200, 250]


def read(side: Side, data: bytes) -> Any:
    if side.package == "pamqp":
        return side.decode.field_table(data)
    if side.package == "pika":
        return side.data.decode_table(data, 0)
    values, end = side.serialization.loads("F", data, 0)
    return values[0], end


def write(side: Side, value: Any) -> bytes:
    if side.package == "pamqp":
        return bytes(side.encode.field_table(value))
    pieces: list[bytes] = []
    if side.package == "pika":
        side.data.encode_table(pieces, value)
    else:
        side.serialization._write_table(value, pieces.append, [])
    return b"".join(pieces)


def levels(value: Any) -> int:
    """How deep a value is: as much of it as this needs no recursion for."""
    depth = 0
    while value:
        value = next(iter(value.values())) if isinstance(value, dict) else value[0]
        depth += 1
    return depth


def nested(depth: int, kind: str) -> Any:
    value: Any = {} if kind == "F" else []
    for _ in range(depth):
        value = {"k": value} if kind == "F" else [value]
    return value if kind == "F" else {"k": value}


@pytest.mark.parametrize("kind", ["F", "A"])
@pytest.mark.parametrize("depth", LEVELS)
def test_read_as_deep(pair: tuple[Side, Side], depth: int, kind: str) -> None:
    data = octets.nested(depth, kind)
    stock, live = (read(side, data) for side in pair)
    assert type(stock) is type(live)
    if isinstance(stock, list):
        stock, live = (stock[0][0], stock[1]), (live[0][0], live[1])
    for one, other in zip(stock, live, strict=True):
        if isinstance(one, int):
            assert one == other
        else:
            assert levels(one) == levels(other) == depth + (kind == "A")


@pytest.mark.parametrize("kind", ["F", "A"])
@pytest.mark.parametrize("depth", LEVELS)
def test_write_as_deep(pair: tuple[Side, Side], depth: int, kind: str) -> None:
    assert write(pair[0], nested(depth, kind)) == write(pair[1], nested(depth, kind))


@pytest.mark.parametrize("kind", ["F", "A"])
@pytest.mark.parametrize("call", [read, write])
def test_far_too_deep(pair: tuple[Side, Side], call: Any, kind: str) -> None:
    errors = []
    for side in pair:
        argument: Any = octets.nested(20_000, kind) if call is read else nested(20_000, kind)
        try:
            call(side, argument)
        except Exception as error:
            errors.append(name_of(type(error)))
    assert errors == ["builtins.RecursionError"] * 2


def test_a_table_in_itself(pair: tuple[Side, Side]) -> None:
    table: dict[str, Any] = {}
    table["self"] = table
    array: dict[str, Any] = {"a": []}
    array["a"].append(array["a"])
    for value in (table, array):
        errors = []
        for side in pair:
            with pytest.raises(Exception) as info:
                write(side, value)
            errors.append(name_of(info.type))
        assert errors == ["builtins.RecursionError"] * 2
