"""Streams of 0-9-1 with a sample of everything: each method, each property, each fault."""

from __future__ import annotations

from random import Random

from amqpcodec import v0_9_1 as amqp
from tests.reference import FACTS, encode_frame
from tests.support import amqp091_gen as gen
from tests.support.generate import Generate
from tests.support.random_messages import run


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


TABLE = {
    "n": 1, "text": "t" * 40, "b": True, "f": 1.5, "none": None, "raw": b"\xff",
    "list": [1, "x", {"k": 2}], "table": {"deep": {"er": [1.5, None]}},
}  # fmt: skip


def faulty_stream() -> bytes:
    """Messages that are alike, messages that are not, frames of all kinds, and faults."""
    properties = amqp.Basic.Properties(
        content_type="text/plain", headers=TABLE, message_id="m", timestamp=1_700_000_000
    )
    deliver = amqp.Basic.Deliver("tag", 7, False, "exchange", "key")
    message = amqp.encode_message(1, deliver, properties, b"body" * 30)
    declare = amqp.encode(1, amqp.Queue.Declare(queue="q", arguments=TABLE))
    parts = amqp.encode_message(2, deliver, properties, b"b" * 6000, frame_max=4096)
    frames = [gen.any_frame(Random(seed)) for seed in range(20)]
    return b"".join((message * 12, run(Random(1), 40), declare, parts, *frames, message[:-9]))


def two_channels(seed: int) -> bytes:
    """Deliveries of 0-9-1 with names of their own and shared ones."""
    headers = {"shared": "text", f"own-{seed}": seed, "table": {"list": [seed, "x", None]}}
    properties = amqp.Basic.Properties(content_type="text/plain", headers=headers, timestamp=seed)
    return b"".join(
        amqp.encode_message(
            channel,
            amqp.Basic.Deliver("tag", n, False, "e", f"k{seed}"),
            properties,
            b"%d" % n * 50,
        )
        for n in range(20)
        for channel in (1, 2)
    )
