"""Every value that a drop-in writes, at every distance from the end of its buffer.

A writer's buffer begins on the stack with one of `CAPACITIES` bytes and doubles when it is full.
A store that nobody reserved shows only where the buffer ends within the few bytes between what was
reserved and what was stored, so the filler before the value takes every length near each capacity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from tests.dropins.stock import Side

Pair = tuple[Side, Side]

#: Initial capacities and what they grow to.
CAPACITIES = (256, 512, 1024, 2048, 4096, 8192, 16384)
#: The longest run of bytes that a case writes after its filler, with the heads before the filler.
REACH = 130

VALUES: list[Any] = [
    "", "t", "text of some length", 0, -1, 127, 255, 32767, 65535, 2**31 - 1, 2**31, 2**40,
    -(2**63), True, False, None, 1.5, b"", b"bytes", bytearray(b"array"), Decimal("3.14"), {}, [],
    {"k": 5}, [1, "t", {}], datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC),
]  # fmt: skip


def lengths() -> Iterator[int]:
    """Lengths of a filler, so that what follows it crosses every capacity at every byte."""
    for capacity in CAPACITIES:
        yield from range(max(capacity - REACH, 0), capacity + 2)


def compare(pair: Pair, write: Callable[[Side, int], Any]) -> None:
    """The drop-in writes the client's bytes, whatever the filler's length."""
    stock, live = pair
    for length in lengths():
        assert write(live, length) == write(stock, length), length


def frames_of_py_amqp(side: Side, *frame: Any) -> list[bytes]:
    written: list[bytes] = []
    connection = SimpleNamespace(frame_max=131072, bytes_sent=0)
    transport = SimpleNamespace(write=lambda data: written.append(bytes(data)))
    side.method_framing.frame_writer(connection, transport)(*frame)
    return written


@pytest.mark.parametrize("body", [b"", b"b", b"b" * 300, "text"])
@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"delivery_mode": 2},
        {"content_type": "c" * 20, "application_headers": {"k": 5, "t": "x"}},
    ],
    ids=["none", "one", "several"],
)
def test_py_amqp_messages(py_amqp_pair: Pair, body: Any, properties: dict[str, Any]) -> None:
    def write(side: Side, length: int) -> Any:
        message = side.basic_message.Message(body, **properties)
        return frames_of_py_amqp(side, 1, 1, (60, 40), b"a" * length, message)

    compare(py_amqp_pair, write)
