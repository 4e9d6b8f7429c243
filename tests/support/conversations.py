"""Messages cut into frames, and transfers, of several conversations."""

from __future__ import annotations

from amqpcodec import v0_9_1 as amqp
from amqpcodec import v1_0 as amqp10


def publication_frames(body: bytes, channel: int = 1, key: str = "k", size: int = 0) -> list[bytes]:
    """A publish, its header, and its body in frames of that size, or else in two."""
    size = size or (len(body) + 1) // 2
    parts = [body[at : at + size] for at in range(0, len(body), size or 1)]
    return [
        amqp.encode(channel, amqp.Basic.Publish(routing_key=key)),
        amqp.encode(channel, amqp.Header(len(body))),
        *(amqp.encode(channel, amqp.Body(part)) for part in parts),
    ]


def between(*conversations: list[bytes]) -> tuple[list[bytes], list[str]]:
    """Values of several conversations in turn, and the name of each value's conversation."""
    values, names = [], []
    for step in zip(*conversations, strict=True):
        for name, value in zip("ABC", step, strict=False):
            values.append(value)
            names.append(name)
    return values, names


def delivery_transfers(body: bytes, identity: int = 0, handle: int = 0) -> list[bytes]:
    """One delivery in three transfers, of which the first alone says its number."""
    message = amqp10.Message(body).encode()
    first = amqp10.Transfer(handle, identity, b"t%d" % identity, 0, more=True)
    continuations = amqp10.Transfer(handle, more=True), amqp10.Transfer(handle)
    part_size = len(message) // 3
    parts = message[:part_size], message[part_size : 2 * part_size], message[2 * part_size :]
    return [
        amqp10.encode(0, transfer, part)
        for transfer, part in zip((first, *continuations), parts, strict=True)
    ]
