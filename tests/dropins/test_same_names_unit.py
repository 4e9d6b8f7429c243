"""Dicts made after one that had the same names: nothing tells them from the client's own."""

from __future__ import annotations

import gc
import struct
import sys
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

pytest.importorskip("amqp")

from amqp import serialization

from amqpcodec.compat import amqp as drop_in
from tests.support.amqp091_wire import table

NAMES = ["a", "b", "name", "x-death", "größe", "", "x-retry-count", "\N{SNOWMAN}"]
VALUES = [
    b"I\0\0\0\x05",
    b"S\0\0\0\x04text",
    b"S\0\0\0\x02\xff\xfe",
    b"V",
    b"t\x01",
    b"D\x02\0\0\0\x07",
    b"T\0\0\0\0\x60\0\0\0",
    b"A\0\0\0\x05I\0\0\0\x07",
    b"F\0\0\0\x07\x01aI\0\0\0\x09",
]


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    drop_in.uninstall()
    yield
    drop_in.uninstall()


def read(octets: bytes) -> Any:
    """What a table gives, whether the collector knows it, and what its values are exactly."""
    try:
        (table,), end = serialization.loads("F", octets, 0)
    except Exception as error:
        return type(error)
    return (
        [(name, value, type(value)) for name, value in table.items()],
        gc.is_tracked(table),
        sys.getsizeof(table),
        end,
    )


def properties(octets: bytes) -> Any:
    try:
        values, end = serialization.decode_properties_basic(octets, 0)
    except Exception as error:
        return type(error)
    return list(values.items()), gc.is_tracked(values), end


def tables(random: Random, count: int) -> list[bytes]:
    """Some with the same names again and again, some that begin like them and are others."""
    usual = [
        [random.choice(NAMES[:-1]) for _ in range(random.choice([1, 2, 3, 5, 6, 10, 11, 14]))]
        for _ in range(8)
    ]
    encoded_tables = []
    for _ in range(count):
        names = list(random.choice(usual))
        odd = random.randrange(12)
        if odd == 0:
            names[random.randrange(len(names))] = random.choice(NAMES)
        elif odd == 1:
            names.append(random.choice(NAMES))
        elif odd == 2:
            names.pop()
        octets = table(*[(name, random.choice(VALUES)) for name in names])
        if odd == 3:
            at = random.randrange(4, len(octets) + 1)
            octets = octets[:at] + bytes([random.randrange(256)]) + octets[at + 1 :]
        encoded_tables.append(octets)
    return encoded_tables


@pytest.mark.parametrize("seed", range(6))
def test_tables_of_all_kinds_in_turn(seed: int) -> None:
    stream = tables(Random(f"likes {seed}"), 3000)
    stock = [read(octets) for octets in stream]
    drop_in.install()
    assert [read(octets) for octets in stream] == stock
    assert sum(isinstance(one, tuple) for one in stock) > 2000


def test_other_names_take_over() -> None:
    one = table(("a", VALUES[0]), ("b", VALUES[1]))
    other = table(("a", VALUES[1]), ("name", VALUES[0]), ("b", VALUES[0]))
    drop_in.install()
    for octets in (one, other, one):
        drop_in.uninstall()
        stock = read(octets)
        drop_in.install()
        assert [read(octets) for _ in range(300)] == [stock] * 300


@pytest.mark.parametrize("word", [0x0000, 0x8000, 0x3000, 0xB000, 0x9060, 0xFFFC, 0x0002, 0xB002])
def test_properties_again(word: int) -> None:
    """The same ones, whole and cut off, beside others."""
    kinds = "ssFoosssstssss"
    parts = {"s": b"\x02ab", "F": table(("a", VALUES[0])), "o": b"\x02", "t": b"\0" * 7 + b"\x09"}
    octets = struct.pack(">H", word) + b"".join(
        parts[kind] for i, kind in enumerate(kinds) if word & 0x8000 >> i
    )
    stream = [octets] * 3 + [octets[:n] for n in range(len(octets))] + [b"\x10\0\x02", octets]
    stock = [properties(one) for one in stream]
    drop_in.install()
    assert [properties(one) for one in stream] == stock


def test_each_dict_is_its_own() -> None:
    octets = table(("a", VALUES[0]), ("b", VALUES[8]))
    word = b"\x30\0" + octets + b"\x02"
    drop_in.install()
    for _ in range(4):
        (headers,), _ = serialization.loads("F", octets, 0)
        assert headers == {"a": 5, "b": {"a": 9}}
        around, _ = serialization.decode_properties_basic(word, 0)
        assert around == {"application_headers": headers, "delivery_mode": 2}
        headers.pop("a")
        headers.update((str(n), n) for n in range(100))
        assert len(headers) == 101
        around.clear()
        around["more"] = around


def test_nothing_leaks() -> None:
    stream = tables(Random("leaks"), 400)
    drop_in.install()

    def once() -> None:
        for octets in stream:
            read(octets)

    for _ in range(5):
        once()
    gc.collect()
    before = sys.getallocatedblocks()
    nones = sys.getrefcount(None)
    for _ in range(20):
        once()
    gc.collect()
    assert sys.getallocatedblocks() - before < 200
    assert abs(sys.getrefcount(None) - nones) < 200
