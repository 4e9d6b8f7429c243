"""Long traffic, generated: connections that go on for long, most of them in order."""

from __future__ import annotations

import random
from collections.abc import Iterator

from amqpcodec import v0_9_1 as amqp
from tests.support import recording as make

#: Of a thousand segments: lost, sent twice, and swapped with the one that follows.
TROUBLE = {"none": (0, 0, 0), "some": (1, 5, 5), "much": (20, 50, 50)}


class _Talk:
    """A connection: its segments as they are sent."""

    def __init__(self, rng: random.Random, number: int, midstream: bool) -> None:
        self.rng = rng
        self.ends = ((make.CLIENT[0], 40_000 + number), make.SERVER)
        self.next = [rng.randrange(1 << 32), rng.randrange(1 << 32)]
        self.aligned = rng.random() < 0.5  # a segment a message
        self.waiting = [b"", b""]
        self.opened = not midstream
        self.count = 0

    def segment(self, side: int, data: bytes = b"", flags: int = make.ACK) -> bytes:
        numbers = self.next[side], data, flags, self.next[1 - side]
        self.next[side] += len(data) + (flags & (make.SYN | make.FIN) != 0)
        return make.segment(self.ends[side], self.ends[1 - side], *numbers)

    def opening(self) -> Iterator[bytes]:
        if self.opened:
            yield self.segment(0, b"", make.SYN)
            yield self.segment(1, b"", make.SYN | make.ACK)
            tune = amqp.encode(0, amqp.Connection.TuneOk(frame_max=8192))
            yield self.segment(0, amqp.PROTOCOL_HEADER + tune)

    def says(self) -> Iterator[bytes]:
        """What one side says next, or that it has got what the other one said."""
        side = self.rng.random() < 0.7
        if self.rng.random() < 0.3:
            yield self.segment(1 - side)
            return
        self.waiting[side] += self.words(side)
        limit = 1 if self.aligned else 700
        while len(self.waiting[side]) >= limit:
            size = min(len(self.waiting[side]), 700)
            yield self.segment(side, self.waiting[side][:size])
            self.waiting[side] = self.waiting[side][size:]

    def words(self, side: int) -> bytes:
        self.count += 1
        if self.rng.random() < 0.02:
            return amqp.encode(0, amqp.Heartbeat())
        channel = self.rng.randrange(1, 5)
        if side == 0:
            return amqp.encode(channel, amqp.Basic.Ack(delivery_tag=self.count))
        properties = amqp.Basic.Properties(message_id=str(self.count))
        deliver = amqp.Basic.Deliver(
            consumer_tag="c", delivery_tag=self.count, routing_key="routing"
        )
        body = self.rng.randbytes(self.rng.randrange(400))
        return amqp.encode_message(channel, deliver, properties, body)

    def closing(self) -> Iterator[bytes]:
        yield self.segment(0, b"", make.FIN | make.ACK)
        yield self.segment(1, b"", make.FIN | make.ACK)


def steady(
    seed: int, packets: int, connections: int = 3, trouble: str = "none", midstream: bool = False
) -> bytes:
    """A pcap file; trouble: see TROUBLE. Now and then a connection ends and another one opens.

    midstream: the opening of the first ones is not there.
    """
    rng = random.Random(seed)
    talks = [_Talk(rng, number, midstream) for number in range(connections)]
    out = [packet for talk in talks for packet in talk.opening()]
    number = connections
    while len(out) < packets:
        at = min(rng.randrange(connections), rng.randrange(connections))  # the first is the hot one
        out += talks[at].says()
        if rng.random() < 3 / packets:
            out += talks[at].closing()
            talks[at] = _Talk(rng, number, False)
            out += talks[at].opening()
            number += 1
    lost, twice, swapped = (per_mille / 1000 for per_mille in TROUBLE[trouble])
    out = [packet for packet in out if rng.random() >= lost]
    out = [again for packet in out for again in [packet] * (1 + (rng.random() < twice))]
    for i in range(len(out) - 1):
        if rng.random() < swapped:
            out[i : i + 2] = reversed(out[i : i + 2])
    return make.pcap(out)
