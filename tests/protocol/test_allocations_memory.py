"""Memory that runs out anywhere in frames and messages is a MemoryError, and no more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import v0_9_1 as amqp
from tests.support import no_memory
from tests.support.samples_amqp0 import frames, messages


def written(channel: int, frame: Any) -> bytes:
    if isinstance(frame, amqp.Message):
        return amqp.encode_message(channel, frame, frame_max=4096)
    return amqp.encode(channel, frame)


def read(data: bytes, make: Callable[..., Any], size: int, **options: Any) -> Callable[[], Any]:
    """In pieces, with all fields looked at, and written again."""

    def call() -> list[bytes]:
        decoder = make(0, **options)
        frames = []
        for at in range(0, len(data), size):
            for channel, frame in decoder.feed(data[at : at + size]):
                repr(frame)
                frames.append(written(channel, frame))
        return frames

    return call


def through(
    data: bytes, way: Callable[[Any], Any], make: Callable[..., Any] = amqp.MessageDecoder
) -> Callable[[], Any]:
    """Copies, written."""
    objects = list(make().feed(data))
    return lambda: [written(channel, way(frame)) for channel, frame in objects]


def copied(frame: Any) -> Any:
    """As pickle and copy do, which do not bear a lack of memory themselves."""
    function, args = frame.__reduce__()
    return function(*args)


def changed(message: Any) -> Any:
    changed_message = copied(message)
    changed_message.properties.headers["new"] = {"a": [1, 2.5, "x", None, True, 2**62]}
    changed_message.properties.headers["list"][1]["k"] = b"other"
    return changed_message


CASES: dict[str, Callable[[], Callable[[], Any]]] = {
    "frames": lambda: read(frames(), amqp.Decoder, 1 << 20),
    "frames in pieces": lambda: read(frames(), amqp.Decoder, 777),
    "frames, typed": lambda: read(frames(), amqp.Decoder, 777, tables="typed", copy=False),
    "messages": lambda: read(messages(), amqp.MessageDecoder, 1 << 20),
    "messages in pieces": lambda: read(messages(), amqp.MessageDecoder, 777),
    "views of messages": lambda: read(messages(), amqp.MessageDecoder, 9_000, copy=False),
    "copies": lambda: through(messages(), copied),
    "copies of frames": lambda: through(frames(), copied, amqp.Decoder),
    "changed tables": lambda: through(messages(), changed),
}


@pytest.mark.parametrize("case", CASES)
def test_each_allocation_may_fail(case: str, tmp_path: Path) -> None:
    no_memory.check("tests.protocol.test_allocations_memory", case, tmp_path)
