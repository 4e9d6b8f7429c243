"""NumPy's scalars as a client's values: a drop-in does with them what the stock client does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dropins.canon import outcome
from tests.dropins.stock import V1_MODULES, Side, dropin, installed
from tests.support.borders_dropins import WRITERS, Writer

np = pytest.importorskip("numpy")

SCALARS: list[Any] = [
    *(kind(3) for kind in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32)),
    *(np.int64(2**40), np.int64(-1), np.uint64(7), np.uint64(2**64 - 1), np.int8(-3)),
    *(np.float16(1.5), np.float32(0.1), np.float64(0.1), np.float64("nan"), np.longdouble(1)),
    *(np.bool_(True), np.bool_(False), np.str_("text"), np.bytes_(b"bytes"), np.str_("")),
    *(np.datetime64("2024-01-02T03:04:05"), np.datetime64("NaT"), np.timedelta64(1, "s")),
    *(np.complex64(1), np.void(b"void"), np.array(5), np.array([1, 2])),
]
CASES = [
    pytest.param(package, writer, id=f"{package}-{writer.__name__}")
    for package, writers in WRITERS.items()
    for writer in writers
]


@pytest.mark.parametrize(("package", "writer"), CASES)
def test_values_of_tables(package: str, writer: Writer) -> None:
    pytest.importorskip(package)
    with installed(package) as (stock, live):
        for scalar in SCALARS:
            expected = outcome(lambda one=scalar: writer(stock, 5, one))
            result = outcome(lambda one=scalar: writer(live, 5, one))
            assert result == expected, repr(scalar)


def pika_arguments(side: Side, value: Any) -> list[Any]:
    spec, frame = side.spec, side.frame
    return [
        lambda: frame.Method(1, spec.Basic.Qos(0, value, False)).marshal(),
        lambda: frame.Method(1, spec.Basic.Qos(0, 1, value)).marshal(),
        lambda: frame.Method(1, spec.Basic.Ack(value, False)).marshal(),
        lambda: frame.Method(1, spec.Queue.Declare(0, value)).marshal(),
        lambda: frame.Method(value, spec.Channel.Open()).marshal(),
        lambda: frame.Header(1, value, spec.BasicProperties()).marshal(),
        lambda: frame.Header(1, 0, spec.BasicProperties(priority=value)).marshal(),
        lambda: frame.Header(1, 0, spec.BasicProperties(timestamp=value)).marshal(),
        lambda: frame.Header(1, 0, spec.BasicProperties(message_id=value)).marshal(),
        lambda: frame.Body(1, value).marshal(),
    ]


def pamqp_arguments(side: Side, value: Any) -> list[Any]:
    commands, marshal = side.commands, side.frame.marshal
    return [
        lambda: marshal(commands.Basic.Qos(0, value, False), 1),
        lambda: marshal(commands.Basic.Qos(0, 1, value), 1),
        lambda: marshal(commands.Basic.Ack(value, False), 1),
        lambda: marshal(commands.Queue.Declare(0, value), 1),
        lambda: marshal(commands.Channel.Open(), value),
        lambda: marshal(side.header.ContentHeader(0, value, commands.Basic.Properties()), 1),
        lambda: marshal(
            side.header.ContentHeader(0, 0, commands.Basic.Properties(priority=value)), 1
        ),
        lambda: marshal(
            side.header.ContentHeader(0, 0, commands.Basic.Properties(message_id=value)), 1
        ),
        lambda: marshal(side.body.ContentBody(value), 1),
    ]


def amqp_arguments(side: Side, value: Any) -> list[Any]:
    dumps = side.serialization.dumps
    return [lambda letter=letter: dumps(letter, [value]) for letter in "oBlLsSbTF"] + [
        lambda letter=letter: dumps("b" + letter, [True, value]) for letter in "bo"
    ]


ARGUMENTS = {"pika": pika_arguments, "pamqp": pamqp_arguments, "amqp": amqp_arguments}


@pytest.mark.parametrize("package", ARGUMENTS)
def test_arguments(package: str) -> None:
    pytest.importorskip(package)
    calls = dropin(package).calls
    with installed(package) as (stock, live):
        before = calls()
        for scalar in SCALARS:
            both = zip(
                ARGUMENTS[package](stock, scalar), ARGUMENTS[package](live, scalar), strict=True
            )
            for number, (theirs, ours) in enumerate(both):
                assert outcome(ours) == outcome(theirs), (number, repr(scalar))
        assert calls() > before


def test_clients_of_1_0_are_among_them() -> None:
    assert set(V1_MODULES) <= set(WRITERS)
