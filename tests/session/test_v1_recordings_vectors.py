"""The recordings of AMQP 1.0, each side played into an engine that takes the other."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from amqpcodec import v1_0 as amqp
from amqpcodec.session import v1
from tests.session.recordings import one_piece
from tests.session.v1_recordings import NAMES, Player, conversations


def comparable(events: list[Any]) -> list[Any]:
    """Events as they can be compared between two runs: objects by what they are, not which."""
    rows = []
    for event in events:
        parts: list[Any] = [type(event)]
        for name in event.__dataclass_fields__:
            value = getattr(event, name)
            if hasattr(value, "payload") and hasattr(value, "tag"):
                value = (value.id, value.tag, value.payload)
            elif isinstance(value, v1.OutgoingDelivery):
                value = (value.id, value.tag)
            elif isinstance(value, v1.Link):
                value = (type(value), value.name)
            elif isinstance(value, v1.Session):
                value = value.channel
            elif isinstance(value, v1.Transaction):
                value = value.id
            parts.append(value)
        rows.append(tuple(parts))
    return rows


def by_byte(data: bytes) -> list[bytes]:
    return [data[at : at + 1] for at in range(len(data))]


def at_random(seed: int) -> Callable[[bytes], list[bytes]]:
    rng = random.Random(seed)

    def split(data: bytes) -> list[bytes]:
        places = sorted({0, len(data), *(rng.randrange(len(data) + 1) for _ in range(4))})
        return [data[a:b] for a, b in pairwise(places)]

    return split


@pytest.mark.parametrize("role", ["client", "server"])
@pytest.mark.parametrize("name", NAMES)
def test_the_same_events_in_every_chunking(name: str, role: str) -> None:
    frames = conversations(name)
    once = Player(role, frames).play(one_piece)
    expected = comparable(once.events)
    assert len(expected) > 15
    for split in (by_byte, *(at_random(seed) for seed in range(5))):
        assert comparable(Player(role, frames).play(split).events) == expected


@pytest.mark.parametrize("role", ["client", "server"])
@pytest.mark.parametrize("name", NAMES)
def test_events_are_what_was_recorded(name: str, role: str) -> None:
    """Against what the decoder of messages, which knows nothing of states, finds in the bytes."""
    frames = conversations(name)
    player = Player(role, frames).play(one_piece)
    data = b"".join(part for side, part in frames if side != role)
    recorded_frames = [event for _, event in amqp.MessageDecoder(0).feed(data)]
    deliveries = [one for one in recorded_frames if isinstance(one, amqp.Delivery)]
    asks = (v1.DeliveryReceived, v1.DeclareRequested, v1.DischargeRequested)
    came = [event.delivery for event in player.events if isinstance(event, asks)]
    assert [(one.id, one.tag, one.payload) for one in came] == [
        (one.transfer.delivery_id, one.transfer.delivery_tag, one.payload) for one in deliveries
    ]
    counted = {
        amqp.Attach: (v1.LinkRequested, v1.LinkOpened),
        amqp.Begin: (v1.SessionRequested, v1.SessionOpened),
        amqp.Open: (v1.ConnectionRequested, v1.ConnectionOpened),
        amqp.Close: (v1.ConnectionClosed,),
    }
    for frame, kinds in counted.items():
        count = sum(isinstance(one, frame) for one in recorded_frames)
        assert sum(isinstance(one, kinds) for one in player.events) == count, frame
    updates = (v1.DeliveryUpdated, v1.TransactionDeclared, v1.TransactionDischarged)
    ranges = sum(
        (one.first if one.last is None else one.last) - one.first + 1
        for one in recorded_frames
        if isinstance(one, amqp.Disposition)
    )
    assert sum(isinstance(one, updates) for one in player.events) == ranges
    (closed,) = [one for one in player.events if isinstance(one, v1.ConnectionClosed)]
    assert closed.clean
    assert player.engine.closed
    assert not [one for one in player.events if isinstance(one, v1.AuthenticationFailed)]
