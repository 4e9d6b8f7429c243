"""Every value that a drop-in writes, at every distance from the end of its buffer."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dropins.conftest import need
from tests.dropins.stock import V1_MODULES, Side, dropin, installed
from tests.support.borders_dropins import V1_VALUES, VALUES, WRITERS, Writer, azure_frames, lengths

#: Types of which a client writes its own way, or none.
LEFT_TO_CLIENT = {"amqp": (bytearray,), "pika": (bytearray, float), "pamqp": (bytes,)}
#: Values that go into each of azure's performatives: what differs is what stands in front.
FRAMES = 2

CASES = [
    pytest.param(package, writer, value, id=f"{package}-{writer.__name__}-{number}")
    for package, writers in WRITERS.items()
    for writer in writers
    for number, value in enumerate(V1_VALUES if package in V1_MODULES else VALUES)
    if writer is not azure_frames or number < FRAMES
]


def outcome(write: Writer, side: Side, length: int, value: Any) -> Any:
    """What was written, or the name of the exception."""
    try:
        return write(side, length, value)
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize(("package", "writer", "value"), CASES)
def test_the_same_bytes_at_every_length(package: str, writer: Writer, value: Any) -> None:
    need(package)
    with installed(package) as (stock, live):
        fallbacks = dropin(package).fallbacks
        before = sum(fallbacks().values())
        for length in lengths():
            expected = outcome(writer, stock, length, value)
            assert outcome(writer, live, length, value) == expected, length
        falls_back = type(value) in LEFT_TO_CLIENT.get(package, ())
        assert (sum(fallbacks().values()) > before) == falls_back
