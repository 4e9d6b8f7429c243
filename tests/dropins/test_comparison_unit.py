"""The comparison itself: it finds nothing between two stock copies, and every small change."""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from unittest import mock

import pytest

from tests.dropins.canon import canon
from tests.dropins.case import compare_many
from tests.dropins.stock import Side, live, stock

CASES = 3000


def result(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function whose result is changed."""
    return lambda function: lambda *arguments: change(function(*arguments))


def error(was: Any, becomes: Any) -> Callable[[Any], Any]:
    """A function that raises something else."""

    def wrap(function: Any) -> Any:
        def call(*arguments: Any) -> Any:
            try:
                return function(*arguments)
            except was as raised:
                raise becomes from raised

        return call

    return wrap


def wider(result: Any) -> Any:
    """pika's own kind of int becomes a plain one."""
    value, offset = result
    return (int(value) if type(value).__name__ == "long" else value), offset


CHANGES: dict[str, tuple[str, str, Callable[[Any], Any]]] = {
    "pika a long that is an int": ("pika", "data.decode_value", result(wider)),
    "pika one byte more": (
        "pika",
        "frame.decode_frame",
        result(lambda result: (result[0] + 1, result[1])),
    ),
    "pika another exception": (
        "pika",
        "frame.decode_frame",
        error(struct.error, ValueError),
    ),
    "pika a length": ("pika", "data.encode_value", result(lambda length: length + 0.0)),
    "pamqp an byte": ("pamqp", "encode.table_integer", result(lambda data: data + b"\0")),
    "pamqp a list that is a tuple": (
        "pamqp",
        "frame.unmarshal",
        result(list),
    ),
    "pamqp another exception": ("pamqp", "frame.marshal", error(TypeError, ValueError)),
    "py-amqp a tuple that is a list": ("amqp", "serialization.loads", result(list)),
    "py-amqp another exception": ("amqp", "serialization.loads", error(IndexError, KeyError)),
    "py-amqp bytes": ("amqp", "serialization.dumps", result(lambda data: data[::-1])),
}


@pytest.mark.parametrize("package", ["pamqp", "pika", "amqp"])
def test_two_stock_copies_are_alike(package: str) -> None:
    pytest.importorskip(package)
    totals = compare_many((stock(package), live(package)), CASES, 0, 5)
    assert not totals.differences, "\n".join(str(difference) for difference in totals.differences)
    assert CASES * 0.15 < totals.raised.total() < CASES * 0.75


@pytest.mark.parametrize("name", CHANGES)
def test_a_small_change_is_seen(name: str) -> None:
    package, path, change = CHANGES[name]
    pytest.importorskip(package)
    side: Side = live(package)
    module, function = path.split(".")
    target = getattr(side, module)
    with mock.patch.object(target, function, change(getattr(target, function))):
        totals = compare_many((stock(package), side), CASES, 0, 1)
    assert totals.differences


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        (b"a", bytearray(b"a")),
        ("a", b"a"),
        ([1], (1,)),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        (Decimal("1.0"), Decimal("1.00")),
        ({"a": [{"b": 1}]}, {"a": [{"b": True}]}),
        (ValueError("a"), ValueError("b")),
    ],
)
def test_what_only_equals_is_not_the_same(one: Any, other: Any) -> None:
    assert canon(one) != canon(other)
    assert canon(one) == canon(one)
