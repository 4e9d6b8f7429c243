"""{"$described_array": [descriptor, list]} of AMQP 1.0's JSON text, as objects write arrays."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from amqpcodec import v1_0 as amqp
from tests.columns.batch_rows import pa
from tests.encode.encode_v1_values import SCHEMA, encode

ID = UUID(int=0x0123456789ABCDEF0123456789ABCDEF)
MOMENT = datetime(2026, 11, 22, tzinfo=UTC)
MS = int(MOMENT.timestamp() * 1000)


def written(text: str) -> tuple[bytes | None, str | None]:
    """The bytes of the one value of a message, or the row's error."""
    row = {"performative": "transfer", "channel": 0, "handle": 0, "value": text}
    (octets,), (error,) = encode(pa.RecordBatch.from_pylist([row], SCHEMA))
    if octets is None:
        return None, error
    ((_, transfer),) = amqp.Decoder(opened=True).feed(octets)
    payload = transfer.payload
    assert payload.startswith(b"\x00\x53\x77"), payload
    return payload[3:], error


def array(type_: str, items: list[Any], *descriptors: Any) -> bytes:
    return amqp.encode_value(amqp.Array(type_, items, descriptors))


D = amqp.Symbol("d:d")


@pytest.mark.parametrize(
    ("items", "type_", "values"),
    [
        ('["x", "yy"]', "string", ["x", "yy"]),
        (json.dumps(["x" * 255, ""]), "string", ["x" * 255, ""]),
        (json.dumps(["x" * 256, ""]), "string", ["x" * 256, ""]),
        ('[{"$symbol": "a"}, {"$symbol": "b"}]', "symbol", ["a", "b"]),
        ('[{"$binary": "AAE="}, {"$binary": ""}]', "binary", [b"\0\1", b""]),
        ("[1, -128, 127]", "long", [1, -128, 127]),
        ("[1, -129]", "long", [1, -129]),
        ("[0, 18446744073709551615, 5]", "ulong", [0, 2**64 - 1, 5]),
        ("[9223372036854775808]", "ulong", [2**63]),
        ("[1.5, 0.0]", "double", [1.5, 0.0]),
        ("[true, false]", "boolean", [True, False]),
        ("[null, null]", "null", [None, None]),
        (f'[{{"$uuid": "{ID}"}}]', "uuid", [ID]),
        (f'[{{"$timestamp_ms": {MS}}}]', "timestamp", [MOMENT]),
        ('[{"$char": "é"}]', "char", ["é"]),
        ('[{"$decimal": "1.5"}]', "decimal128", ["1.5"]),
        ("[[], [1, null]]", "list", [[], [1, None]]),
        (json.dumps([[], ["x" * 254]]), "list", [[], ["x" * 254]]),
        ('[{}, {"a": 1}]', "map", [{}, {"a": 1}]),
    ],
    ids=lambda value: str(value)[:20],
)
def test_elements(items: str, type_: str, values: list[Any]) -> None:
    if type_ == "decimal128":
        values = [Decimal(value) for value in values]
    want = array(type_, values, D)
    assert written(f'{{"$described_array": ["d:d", {items}]}}') == (want, None)
    want = array(type_, values, amqp.ULong(2**40), D)
    inner = f'{{ "$described_array" : [ "d:d" , {items} ] }}'
    assert written(f'{{"$described_array": [{2**40}, {inner}]}}') == (want, None)


def test_in_what_else_there_is() -> None:
    one = '{"$described_array": ["d:d", ["x"]]}'
    inner = amqp.Array("string", ["x"], (D,))
    assert written(f"[1, {one}]") == (amqp.encode_value([1, inner]), None)
    assert written(f'{{"$described_array": ["d:d", [{one}, {one}]]}}') == (
        array("array", [inner, inner], D),
        None,
    )
    assert written(f'{{"$described": ["e:e", {one}]}}') == (
        amqp.encode_value(amqp.Described(amqp.Symbol("e:e"), inner)),
        None,
    )


def test_nothing_in_it() -> None:
    assert written('{"$described_array": ["d:d", []]}') == (array("null", [], D), None)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"$described_array": ["d", [1, "x"]]}', "of one type, not long and others"),
        ('{"$described_array": ["d", [1, null]]}', "of one type"),
        ('{"$described_array": ["d", [-1, 18446744073709551615]]}', "no type holds all"),
        ('{"$described_array": ["d", [{"$described": ["e", 1]}]]}', "described elements are"),
        ('{"$described_array": ["d", {"a": 1}]}', "a list or $described_array before it expected"),
        ('{"$described_array": ["d", {"$map": []}]}', "a list or $described_array before it"),
        ('{"$described_array": ["d", 1]}', "an array expected"),
        ('{"$described_array": ["d"]}', "a comma expected"),
        ('{"$described_array": ["d", [1], 2]}', "the end of an array of descriptor and list"),
        ('{"$described_array": ["d", [1]', "the end of an array of descriptor and list"),
        ('{"$described_array": ["d", {"$described_array": ["d", [1]]]}', "starts with $"),
        ('{"$described_array": ["d", [1]], "a": 1}', "starts with $"),
        ('{"$described_array": [-1, [1]]}', "a symbol or ulong"),
        ('{"$described_array": ' * 200, "an array of descriptor and list"),
        ('{"$described_array": ["d", ' * 200, "nested deeper than"),
        ('{"$described_array": ["d", [' * 200, "nested deeper than"),
        (json.dumps({"$described_array": ["d", [None] * 65537]}), "at most 65536 nulls"),
    ],
    ids=lambda value: str(value)[-40:],
)
def test_what_is_none(text: str, says: str) -> None:
    octets, error = written(text)
    assert octets is None
    assert error is not None
    assert says in error
