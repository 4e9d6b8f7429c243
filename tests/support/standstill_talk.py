"""Publishes and confirms with their times, as (seconds, side, bytes), and recordings of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from amqpcodec import v0_9_1 as amqp
from tests.support.event_talk import TO_CLIENT, TO_SERVER, login, open_channel, publish, select
from tests.support.recording import START_NS, Record, packets

#: Seconds, side, bytes.
Timed = tuple[float, int, bytes]


def ack(tag: int, multiple: bool = False, channel: int = 1) -> tuple[int, bytes]:
    return TO_CLIENT, amqp.encode(channel, amqp.Basic.Ack(delivery_tag=tag, multiple=multiple))


def filler(at: float = -0.5, count: int = 100) -> list[Timed]:
    """Messages of both sides on another channel: enough for a reader that begins in the middle, or
    after a loss, to know where frames begin and which side's come first."""
    body = bytes(1500)
    out: list[Timed] = []
    for i in range(count):
        send = amqp.Basic.Publish(exchange="", routing_key="filler")
        take = amqp.Basic.Deliver(consumer_tag="f", delivery_tag=i + 1, routing_key="filler")
        none = amqp.Basic.Properties()
        out.append((at + 0.002 * i, TO_SERVER, amqp.encode_message(9, send, none, body)))
        out.append((at + 0.002 * i + 0.001, TO_CLIENT, amqp.encode_message(9, take, none, body)))
    return out


def record_all(talk: Iterable[Timed]) -> list[Record]:
    """Packets of a connection: opening, login, channel, then frames in the order of their times."""
    opening = [(-9.0, *entry) for entry in [*login(), *open_channel(), *select(), *open_channel(9)]]
    says = [*opening, *sorted(talk, key=lambda entry: entry[0])]
    data = packets([(side, octets) for _, side, octets in says])
    seconds = [-9.0, -9.0, *(entry[0] for entry in says)]
    return [
        Record(packet, START_NS + int(1e9 * (at + 9)))
        for packet, at in zip(data, seconds, strict=True)
    ]


#: Packets before the first of these frames: of TCP, the login and the channels.
OPENING = len(record_all([]))


def middle(talk: Iterable[Timed], before: Sequence[Timed] = ()) -> list[Record]:
    """The recording without its beginning, which has the publishes and confirms of `before`."""
    says = [*before, *filler(), *talk]
    return record_all(says)[OPENING + len(before) :]


def pairs(number: int, at: float, count: int = 1, wait: float = 0.01) -> list[Timed]:
    """A burst of publishes, all confirmed at once after `wait` seconds."""
    burst = [(at + 0.0001 * i, *publish(number + i)) for i in range(count)]
    last = number + count - 1
    return [*burst, (at + wait + 0.0001 * count, *ack(last, multiple=count > 1))]


def paced(count: int, period: float, latency: Callable[[int], float]) -> list[Timed]:
    """A publish each `period` seconds, each confirmed by itself after its latency."""
    talk: list[Timed] = []
    for i in range(count):
        talk.append((i * period, *publish(i + 1)))
        talk.append((i * period + latency(i), *ack(i + 1)))
    return talk


def bursts(seed: int, count: int = 40) -> list[Timed]:
    """Bursts of publishes with confirms of one or several, some out of order, and quiet times."""
    chance = random.Random(seed)
    talk: list[Timed] = []
    at, number = 0.0, 0
    slow = chance.choice((0.002, 0.02, 0.2))
    for _ in range(count):
        n = chance.randint(1, 9)
        numbers = range(number + 1, number + n + 1)
        number += n
        for i in numbers:
            talk.append((at, *publish(i)))
            at += chance.uniform(0, slow / 4)
        if chance.random() < 0.5:
            talk.append((at + slow, *ack(number, multiple=True)))
        else:
            order = list(numbers)
            if chance.random() < 0.4:
                chance.shuffle(order)
            talk += [(at + slow * (1 + k / 50), *ack(i)) for k, i in enumerate(order)]
        if chance.random() < 0.7:  # else the next burst overtakes the confirms
            at += chance.choice((2 * slow, 0.3, 1.5, 3.0, 12.0))
        else:
            at += chance.uniform(0, slow)
    return talk


def truth(rows: Sequence[dict[str, Any]]) -> dict[int, str]:
    """Which message each number is, by the exact confirms of a complete recording."""
    return {row["delivery_tag"]: row["message_id"] for row in rows if row["event"] == "confirmed"}


def inferred_confirms(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["event"] == "confirmed" and row["certainty"] == "inferred"]
