"""What cannot be encoded is an EncodeError that names the method and the field."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

import amqpcodec
from amqpcodec import v0_9_1 as amqp
from tests.reference import FACTS
from tests.support.bridge import method_class, py_name

TOO_BIG = {"octet": 2**8, "short": 2**16, "long": 2**32, "longlong": 2**64}
BAD: dict[str, list[Any]] = {
    "bit": ["yes", None, 1.0, b""],
    **{name: [top, -1, 10**30, "1", None, 1.0, b"\x01"] for name, top in TOO_BIG.items()},
    "shortstr": ["a" * 256, "\xfc" * 128, "\ud800", b"octets", 1, None],
    "longstr": [1, None, 1.5, ["a"], "\ud800"],
    "table": [1, "a", b"a", [("a", 1)]],
    "timestamp": [-1, 2**64, "now", 1.5, datetime(2020, 1, 1), datetime(1969, 12, 31, tzinfo=UTC)],
}
FIELDS = [(name, field, t) for name, fact in FACTS.methods.items() for field, t in fact.fields]


def refused(make: Any) -> amqpcodec.EncodeError:
    """Refused when it is built, when it is set, or when it is encoded: each is early enough."""
    with pytest.raises(amqpcodec.EncodeError) as info:
        amqp.encode(1, make())
    assert isinstance(info.value, amqpcodec.AMQPCodecError)
    assert isinstance(info.value, ValueError)
    return info.value


@pytest.mark.parametrize(("name", "field", "wire_type"), FIELDS)
def test_method_field(name: str, field: str, wire_type: str) -> None:
    for value in BAD[wire_type]:
        error = refused(lambda value=value: method_class(name)(**{py_name(field): value}))
        assert error.method == name, value
        assert error.field == py_name(field), value


@pytest.mark.parametrize(("field", "wire_type"), FACTS.properties[60])
def test_property(field: str, wire_type: str) -> None:
    for value in BAD[wire_type]:
        if value is None:
            continue  # absent
        error = refused(
            lambda v=value: amqp.Header(1, amqp.Basic.Properties(**{py_name(field): v}))
        )
        assert error.field == py_name(field), value


class Unknown:
    def __repr__(self) -> str:
        return "Unknown()"  # no address: workers of xdist compare the names of tests


TABLE_VALUES: list[Any] = [
    Unknown(), {1, 2}, 1j, range(3),
    2**63, -(2**63) - 1, 10**40,
    Decimal(2**31), Decimal(-(2**31) - 1), Decimal("1E+10"), Decimal("1E-256"),
    Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Decimal("-Infinity"),
    datetime(2020, 1, 1), datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC), timedelta(1),
    "\ud800", {1: "a"}, {None: 1}, {b"k": 1}, {"k" * 256: 1}, {"\xfc" * 128: 1}, {"\ud800": 1},
]  # fmt: skip


@pytest.mark.parametrize("value", TABLE_VALUES, ids=repr)
def test_table_value(value: Any) -> None:
    for table in ({"k": value}, {"a": 1, "k": [{"b": value}]}, {"k": {"k": [1, value]}}):
        error = refused(lambda t=table: amqp.Queue.Declare(arguments=t))
        assert error.method == "queue.declare"
        assert error.field is not None
        assert error.field.startswith("arguments")
        error = refused(lambda t=table: amqp.Header(1, amqp.Basic.Properties(headers=t)))
        assert error.field is not None
        assert error.field.startswith("headers")


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1])
def test_int_outside_the_pdf_dialect(value: int) -> None:
    header = amqp.Header(1, amqp.Basic.Properties(headers={"k": value}))
    with pytest.raises(amqpcodec.EncodeError):
        amqp.encode(1, header, dialect="0-9-1")


def test_a_failed_encode_leaves_the_object_usable() -> None:
    method = amqp.Basic.Ack(delivery_tag=1)
    before = amqp.encode(1, method)

    def broken() -> amqp.Basic.Ack:
        method.delivery_tag = 2**64
        return method

    refused(broken)
    method.delivery_tag = 1
    assert amqp.encode(1, method) == before


@pytest.mark.parametrize("channel", [-1, 65536, 10**20])
def test_channel(channel: int) -> None:
    with pytest.raises(amqpcodec.EncodeError):
        amqp.encode(channel, amqp.Heartbeat())
