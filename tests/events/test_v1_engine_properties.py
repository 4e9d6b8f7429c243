"""What the engine of sessions says to itself, recorded: events are what both ends know."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from amqpcodec import v1_0 as amqp
from amqpcodec.session import v1
from tests.events.test_damage_properties import numbered, other_answers
from tests.support.event_talk import lost
from tests.support.recording import Record
from tests.support.session_v1_pair import Pair, quiet

Read = Callable[..., list[dict[str, Any]]]

OUTCOMES: dict[str, Callable[[Any], None]] = {
    "accepted": lambda delivery: delivery.accept(),
    "rejected": lambda delivery: delivery.reject(),
    "released": lambda delivery: delivery.release(),
    "modified": lambda delivery: delivery.modify(delivery_failed=True),
}
#: Of deliveries that were sent settled, and of those without an outcome.
SETTLED, OPEN = "settled", "open"


class Tap:
    """An engine, whose bytes are kept."""

    def __init__(self, engine: Any, side: int, said: list[tuple[int, bytes]]) -> None:
        self.engine, self.side, self.said = engine, side, said

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def data_to_send(self) -> bytes:
        data = self.engine.data_to_send()
        if data:
            self.said.append((self.side, data))
        return data


def converse(seed: int) -> tuple[list[tuple[int, bytes]], dict[str, str]]:
    """What both said, and what became of each message: messages of the client begin with p."""
    chance = random.Random(seed)
    said: list[tuple[int, bytes]] = []
    sizes = {"max_frame_size": 512}
    pair = Pair(client=sizes, server=sizes, handler=quiet)
    pair.client, pair.server = Tap(pair.client, 0, said), Tap(pair.server, 1, said)
    pair.opened()
    truth: dict[str, str] = {}
    for number in range(3):
        session = pair.session()
        second = {"rcv_settle_mode": amqp.ReceiverSettleMode(number % 2)}
        sender, _ = pair.sender(session, **second)
        receiver, remote = pair.receiver(session, **second)
        receiver.flow(100)
        pair.pump()
        waiting: list[tuple[str, Any]] = []
        for step in range(30):
            name = f"{chance.choice('pd')}{number}-{step}"
            link = sender if name[0] == "p" else remote
            settled = chance.random() < 0.2
            body = bytes(chance.choice((3, 700, 1500)))
            sent = link.send(amqp.Message(body, message_id=name), settled=settled or None)
            truth[name] = SETTLED if settled else OPEN
            pair.pump()
            events = pair.server_events if name[0] == "p" else pair.client_events
            (came,) = [event.delivery for event in events if isinstance(event, v1.DeliveryReceived)]
            if not settled:
                waiting.append((name, (sent, came)))
            while waiting and chance.random() < 0.5:
                name, (sent, came) = waiting.pop(chance.randrange(len(waiting)))
                truth[name] = chance.choice(list(OUTCOMES))
                OUTCOMES[truth[name]](came)
                if chance.random() < 0.5:
                    pair.pump()
                if number % 2:
                    pair.pump()
                    sent.settle()
        pair.pump()
        if number < 2:
            session.end()
        pair.pump()
    return said, truth


@pytest.mark.parametrize("seed", range(8))
def test_events_are_what_both_ends_know(seed: int, read: Read) -> None:
    said, truth = converse(seed)
    rows = read(lost(said, 0))
    assert {row["certainty"] for row in rows} == {"exact"}
    found: dict[str, list[str]] = {}
    for row in rows:
        if "message_id" in row:
            found.setdefault(row["message_id"], []).append(row.get("outcome") or row["event"])
    begun = {"p": "published", "d": "delivered"}
    left = {"p": "unconfirmed", "d": "requeued"}
    assert found == {
        name: [begun[name[0]]]
        + ([] if fate == SETTLED else [left[name[0]]] if fate == OPEN else [fate])
        for name, fate in truth.items()
    }
    assert {row["queue"] for row in rows if "message_id" in row} == {"queue"}


def cut(packet: Record) -> Record:
    return Record(packet.data[:80], packet.time_ns, len(packet.data))


@pytest.mark.parametrize("seed", range(4))
def test_damage_may_make_answers_unknown_and_never_others(seed: int, read: Read) -> None:
    talk = numbered(lost(converse(seed)[0], 0))
    whole = read(talk)
    for i in range(seed, len(talk) - 2, 5):
        damages = {
            "lost": [*talk[:i], *talk[i + 1 :]],
            "swapped": [*talk[:i], talk[i + 1], talk[i], *talk[i + 2 :]],
            "cut": [*talk[:i], cut(talk[i]), *talk[i + 1 :]],
            "begins": talk[i:],
        }
        for name, damaged in damages.items():
            assert other_answers(whole, read(damaged), ends=False) == [], (name, i)
