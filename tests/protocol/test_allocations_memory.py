"""Memory that runs out anywhere in frames and messages is a MemoryError, and no more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from amqpcodec import v0_9_1 as amqp
from tests.reference import FACTS, encode_frame
from tests.support import amqp091_gen as gen
from tests.support import no_memory
from tests.support.generate import Generate


def frames() -> bytes:
    """Every method, headers with all properties, and what else a stream may have."""
    some = Generate(Random(1), faithful=True)
    methods = [encode_frame(1, some.method(name)) for name in sorted(FACTS.methods)]
    deliver = amqp.Basic.Deliver("tag", 2**63, True, "exchange", "key" * 50)
    headers = {"text": "t" * 300, "n": 2**40, "list": [1, {"k": b"\xff"}], "none": None}
    properties = amqp.Basic.Properties("text/plain", headers=headers, timestamp=1_700_000_000)
    return b"".join(
        [
            *methods,
            *(gen.any_frame(Random(seed)) for seed in range(40)),
            amqp.encode_message(3, deliver, properties, b"body"),
            amqp.encode_message(3, deliver, properties, b"b" * 20_000, frame_max=4096),
        ]
    )


def messages() -> bytes:
    """The messages of frames() alone, which stand in each other's way otherwise."""
    data = frames()
    return data[data.rindex(b"\x01\x00\x03", 0, data.rindex(b"\x01\x00\x03")) :] * 3


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
