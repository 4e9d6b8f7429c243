"""Bytes to str: the same str as Python's own decoder makes, in the same form."""

from __future__ import annotations

import struct
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from amqpcodec import v0_9_1 as amqp

#: Where UTF-8 takes another byte, and where a str takes more memory for each character.
BORDERS = [0, 1, 0x7F, 0x80, 0xBF, 0xC0, 0xFF, 0x100, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000]
BORDERS += [0x3FFFF, 0x40000, 0x10FFFF]

_any_text = st.lists(
    st.one_of(st.sampled_from(BORDERS).map(chr), st.characters(exclude_categories=["Cs"])),
    max_size=60,
).map("".join)


def _shortstr(value: bytes) -> str:
    """What a routing key of these bytes reads as."""
    arguments = struct.pack(">H", 0) + b"\0" + bytes([len(value)]) + value + b"\0"
    payload = struct.pack(">HH", 60, 40) + arguments
    frame = b"\1\0\1" + struct.pack(">I", len(payload)) + payload + b"\xce"
    result = amqp.decode(frame)
    assert result is not None
    routing_key = result[2].routing_key
    assert type(routing_key) is str
    return routing_key


def _header(value: bytes) -> object:
    """What a header of these bytes reads as."""
    table = b"\1kS" + struct.pack(">I", len(value)) + value
    properties = b"\x20\x00" + struct.pack(">I", len(table)) + table
    payload = struct.pack(">HHQ", 60, 0, 0) + properties
    frame = b"\2\0\1" + struct.pack(">I", len(payload)) + payload + b"\xce"
    result = amqp.decode(frame)
    assert result is not None
    return result[2].properties.headers["k"]


def _same(text: object, expected: str) -> None:
    assert text == expected
    assert hash(text) == hash(expected)
    # A str that takes more room for its characters than they need is not equal in C code.
    assert sys.getsizeof(text) <= sys.getsizeof(expected)
    assert expected + "x" == str(text) + "x"
    assert {expected: 1}[text] == 1  # type: ignore[index]


@given(_any_text)
@example("".join(map(chr, BORDERS)))
@example("ÿ")
@example("aÿ")
@example("aĀ")
@example("￿a")
@example("a\U00010000")
def test_text_is_what_python_makes_of_it(text: str) -> None:
    encoded = text.encode()
    _same(_header(encoded), text)
    if len(encoded) <= 255:
        _same(_shortstr(encoded), text)


@given(st.binary(max_size=40))
@example(b"\xc3")
@example(b"ab\xed\xa0\x80cd")
@example(b"ab\xf4\x90\x80\x80cd")
@example(b"\xe0\x9f\xbf")
@example(b"\xc1\xbfabcdefghijk")
def test_bytes_that_are_not_utf8(value: bytes) -> None:
    _same(_shortstr(value), value.decode("utf-8", "surrogateescape"))
    try:
        expected: object = value.decode()
    except UnicodeDecodeError:
        expected = value
    assert _header(value) == expected


@pytest.mark.parametrize("text", ["é", "Ā", "\U0001f6d2", "größe", "заказ", "注文", "🛒корзина"])
def test_each_width_of_a_character(text: str) -> None:
    _same(_shortstr(text.encode()), text)
    _same(_header(text.encode()), text)
