"""Decimals and timestamps of tables: exact objects on the fast path, all others on the slow one."""

from __future__ import annotations

import decimal
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from amqpcodec import EncodeError
from amqpcodec import v0_9_1 as amqp
from tests.support import amqp091_wire as w

EAST = timezone(timedelta(hours=5, minutes=30))


def written(value: Any) -> bytes:
    """Tag and bytes of a value in a table."""
    encoded = amqp.encode(1, amqp.Queue.Declare(arguments={"k": value}))
    return encoded[encoded.index(b"\x01k") + 2 : -1]


class Amount(Decimal):
    """A decimal that shows itself otherwise."""

    def __str__(self) -> str:
        return "nine"

    def is_finite(self) -> bool:
        return False


class Never(datetime):
    """A datetime of a class of its own."""


@pytest.mark.parametrize(
    "text", ["3.14", "-0.50", "0.000", "1E+2", "-1E-200", "2147483647", "-2147483648", "12E-255"]
)
def test_a_subclass_of_decimal_is_written_by_its_value(text: str) -> None:
    assert written(Amount(text)) == written(Decimal(text))


@pytest.mark.parametrize("text", ["NaN", "-NaN", "sNaN", "-sNaN1", "Infinity", "-Infinity"])
def test_only_finite_decimals(text: str) -> None:
    for value in (Decimal(text), Amount(text)):
        with pytest.raises(EncodeError, match="must be finite"):
            written(value)


@pytest.mark.parametrize("text", ["2147483648", "-2147483649", "1E+10", "1E-256", "1E+999999"])
def test_decimals_that_do_not_fit(text: str) -> None:
    for value in (Decimal(text), Amount(text)):
        with pytest.raises(EncodeError):
            written(value)


def test_the_thread_s_decimal_context_changes_no_value() -> None:
    """Neither its precision nor its traps."""
    raw = b"D\x09\x75\xbc\xd1\x15"  # ten digits, nine after the point
    data = w.header_frame(headers=w.table(("k", raw)))
    expected = Decimal(int.from_bytes(raw[2:], "big", signed=True)).scaleb(-9)
    with decimal.localcontext() as context:
        context.prec = 2
        context.Emin, context.Emax = -1, 1
        context.traps = dict.fromkeys(context.traps, True)  # type: ignore[assignment]
        number = amqp.decode(data)[2].properties.headers["k"]  # type: ignore[index]
        again = written(number)
    assert str(number) == str(expected)
    assert type(number) is Decimal
    assert again == raw


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (datetime(1970, 1, 1, tzinfo=UTC), 0),
        (datetime(1970, 1, 1, 0, 0, 0, 999_999, tzinfo=UTC), 0),
        (datetime(2000, 2, 29, 23, 59, 59, tzinfo=UTC), 951_868_799),
        (datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), 253_402_300_799),
        (datetime(2024, 3, 1, 5, 30, tzinfo=EAST), 1_709_251_200),
        (Never(2024, 3, 1, tzinfo=UTC), 1_709_251_200),
        (datetime(1970, 1, 1, 5, 30, tzinfo=EAST), 0),
    ],
)
def test_timestamps(value: datetime, seconds: int) -> None:
    assert written(value) == b"T" + seconds.to_bytes(8, "big")


@pytest.mark.parametrize(
    "value",
    [
        datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC),
        datetime(1970, 1, 1, tzinfo=EAST),
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(2024, 3, 1),
    ],
)
def test_timestamps_that_cannot_be_written(value: datetime) -> None:
    with pytest.raises(EncodeError, match="timestamp"):
        written(value)


def test_a_timestamp_is_an_object_of_its_own_for_each_second() -> None:
    """What was handed out never changes: not when others are decoded and it alone is held."""
    decoder = amqp.Decoder()
    timestamps = []
    for second in (5, 6, 5, 7, 86_400, 5):
        ((_, frame),) = decoder.feed(w.header_frame(timestamp=1_700_000_000 + second))
        timestamps.append((second, frame.properties.timestamp))
        del frame
    start = datetime.fromtimestamp(1_700_000_000, UTC)
    assert [value - start for _, value in timestamps] == [
        timedelta(seconds=n) for n, _ in timestamps
    ]
    assert [hash(value) for _, value in timestamps] == [
        hash(start + timedelta(seconds=n)) for n, _ in timestamps
    ]
