"""Memory that runs out anywhere in frames, messages and values of 1.0 is a MemoryError."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import v1_0 as amqp
from tests.support import no_memory
from tests.support.samples_v1 import long_message
from tests.v1.test_leaks_memory import STREAM


def written(channel: int, frame: Any) -> bytes:
    if isinstance(frame, amqp.Delivery):
        return amqp.encode_message(channel, frame, frame_max=512)
    return amqp.encode(channel, frame)


def read(make: Callable[..., Any], size: int, **options: Any) -> Callable[[], Any]:
    def call() -> list[bytes]:
        decoder = make(0, opened=True, **options)
        frames: list[bytes] = []
        for at in range(0, len(STREAM), size):
            for channel, frame in decoder.feed(STREAM[at : at + size]):
                frames.append(written(channel, frame))
        return frames

    return call


def sections(eager: bool) -> Callable[[], Any]:
    data = long_message().encode()

    def call() -> bytes:
        message = amqp.Message.decode(data, eager=eager)
        message.sections()
        assert message.properties.subject == "s" * 300
        message.application_properties["a"] = 2
        message.header = amqp.Header(ttl=message.header.ttl)
        return message.encode(validate=True)

    return call


def values() -> Callable[[], Any]:
    value = amqp.Described(
        amqp.Symbol("d"),
        [1, "text" * 100, {"k": [None, True, 1.5, b"x"]}, amqp.Array("int", [1, 2])],
    )
    return lambda: amqp.encode_value(amqp.decode_value(amqp.encode_value(value), types="typed")[0])


def copies() -> Callable[[], Any]:
    frames = list(amqp.Decoder(0, opened=True).feed(STREAM))

    def copied(frame: Any) -> Any:
        function, args = frame.__reduce__()
        return function(*args)

    return lambda: [written(channel, copied(frame)) for channel, frame in frames]


CASES: dict[str, Callable[[], Callable[[], Any]]] = {
    "frames": lambda: read(amqp.Decoder, 1 << 20),
    "frames in pieces": lambda: read(amqp.Decoder, 77),
    "frames, typed": lambda: read(amqp.Decoder, 77, types="typed", copy=False),
    "deliveries": lambda: read(amqp.MessageDecoder, 1 << 20, eager=True),
    "deliveries in pieces": lambda: read(amqp.MessageDecoder, 77),
    "views of deliveries": lambda: read(amqp.MessageDecoder, 900, copy=False),
    "a message": lambda: sections(False),
    "a message at once": lambda: sections(True),
    "a message made": lambda: lambda: long_message().encode(),
    "values": values,
    "copies": copies,
}


@pytest.mark.parametrize("case", CASES)
def test_each_allocation_may_fail(case: str, tmp_path: Path) -> None:
    no_memory.check("tests.v1.test_allocations_memory", case, tmp_path)
