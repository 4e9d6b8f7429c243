"""Values of tables at the edge of what the wire takes."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from amqpcodec import EncodeError
from amqpcodec import v0_9_1 as amqp
from tests.support.process_limit import limited


def encoded(headers: dict[str, Any]) -> bytes:
    return amqp.encode(1, amqp.Header(0, amqp.Basic.Properties(headers=headers)))


@pytest.mark.parametrize("zero", ["0E+5", "-0E+5", "0E+300", "0.0"])
def test_zeros_of_any_exponent(zero: str) -> None:
    headers = amqp.decode(encoded({"k": Decimal(zero)}))[2].properties.headers
    assert str(headers["k"]) == ("0.0" if zero == "0.0" else "0")


def test_a_changed_table_with_more_levels_than_there_may_be() -> None:
    """It was decoded under another limit."""
    for wrap in (lambda v: {"k": v}, lambda v: [v]):
        value: Any = 1
        for _ in range(20):
            value = wrap(value)
        frame = amqp.decode(encoded({"k": value}))[2]
        inner = frame.properties.headers["k"]
        for _ in range(19):
            inner = inner["k"] if isinstance(inner, dict) else inner[0]
        if isinstance(inner, dict):
            inner["k"] = 2
        else:
            inner[0] = 2
        with (
            limited("max_nesting", 16),
            pytest.raises(EncodeError, match="deeper than 16 levels"),
        ):
            amqp.encode(1, frame)
        assert amqp.decode(amqp.encode(1, frame))[2] == frame
