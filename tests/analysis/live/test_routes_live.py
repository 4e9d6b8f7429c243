"""Routes of a recording are the queues in which RabbitMQ puts the messages."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pika")

import pika

from amqpcodec import analysis
from tests.live_broker import address
from tests.support.event_talk import events, write
from tests.support.tunnel import Tunnel

KINDS = ("direct", "fanout", "topic", "headers")
MODES = ("all", "any", "all-with-x", "any-with-x")


@pytest.fixture
def tunnel() -> Iterator[Tunnel]:
    with Tunnel(address()) as made:
        yield made


def text(chance: random.Random, words: str) -> str:
    return ".".join(chance.choice(words).replace("-", "") for _ in range(chance.randrange(5)))


def arguments(chance: random.Random) -> dict[str, Any]:
    out: dict[str, Any] = {"x-match": chance.choice(MODES)} if chance.random() < 0.8 else {}
    for name in chance.sample(["h", "i", "x-j"], chance.randrange(3)):
        out[name] = chance.choice([1, 2, "t", None])
    return out


def declare(channel: Any, names: list[str], queues: list[str], chance: random.Random) -> None:
    """Exchanges of each type, each of which has a binding at least, some with an alternate."""
    for name, kind in zip(names, KINDS, strict=True):
        more = {"alternate-exchange": chance.choice(names)} if chance.random() < 0.5 else {}
        channel.exchange_declare(name, kind, auto_delete=False, arguments=more)
    for queue in queues:
        channel.queue_declare(queue, exclusive=True)
    for name in names:
        change(channel, [name], queues, chance)
    for _ in range(3):
        target, source = chance.choice(names), chance.choice(names)
        channel.exchange_bind(target, source, text(chance, "xy*#-"))


def change(channel: Any, names: list[str], queues: list[str], chance: random.Random) -> None:
    queue, name = chance.choice(queues), chance.choice(names)
    own = arguments(chance) if name.endswith("headers") else {}
    channel.queue_bind(queue, name, text(chance, "xy*#-"), arguments=own)


@pytest.mark.parametrize("seed", range(6))
def test_routes_are_those_of_the_broker(seed: int, tunnel: Tunnel, tmp_path: Path) -> None:
    chance = random.Random(seed)
    mark = f"routes-{os.getpid()}-{time.monotonic_ns()}"
    names = [f"{mark}-{kind}" for kind in KINDS]
    queues = [f"{mark}-q{n}" for n in range(5)]
    parameters = pika.ConnectionParameters("127.0.0.1", tunnel.port)
    held: dict[str, set[str]] = {}
    with pika.BlockingConnection(parameters) as connection:
        channel = connection.channel()
        declare(channel, names, queues, chance)
        channel.confirm_delivery()
        for n in range(120):
            if n % 10 == 9:
                change(channel, names, queues, chance)
            headers = {
                name: chance.choice([1, 2, "t"])
                for name in chance.sample(["h", "i", "x-j"], chance.randrange(4))
            }
            held[f"m{n}"] = set()
            properties = pika.BasicProperties(message_id=f"m{n}", headers=headers)
            channel.basic_publish(chance.choice(names), text(chance, "xyz-"), b"x", properties)
        for queue in queues:
            while True:
                method, properties, _ = channel.basic_get(queue, auto_ack=True)
                if method is None:
                    break
                held[properties.message_id].add(queue)
        for name in names:
            channel.exchange_delete(name)
    time.sleep(0.3)
    path = write(tmp_path / "routes.pcap", tunnel.packets())
    rows = events(path)
    routes = {row["message_id"]: row for row in rows if row["event"] == "published"}
    assert {name: set(row["route"]) for name, row in routes.items()} == held
    assert {row["message_id"] for row in rows if row["event"] == "unroutable"} == {
        name for name, got in held.items() if not got
    }
    by_queue = {row["queue"]: row for row in analysis.queues(path).to_pylist()}
    for queue in queues:
        assert by_queue[queue]["published"] == sum(queue in got for got in held.values())


def test_messages_that_come_back_or_do_not(tunnel: Tunnel, tmp_path: Path) -> None:
    name = f"silent-{os.getpid()}-{time.monotonic_ns()}"
    parameters = pika.ConnectionParameters("127.0.0.1", tunnel.port)
    with pika.BlockingConnection(parameters) as connection:
        channel = connection.channel()
        channel.exchange_declare(name, "direct")
        channel.queue_declare(name, exclusive=True)
        channel.queue_bind(name, name, "k")
        channel.confirm_delivery()
        with pytest.raises(pika.exceptions.UnroutableError):
            channel.basic_publish(name, "other", b"one", mandatory=True)
        for key in ("k", "other", "other"):
            channel.basic_publish(name, key, b"two")
        channel.exchange_delete(name)
    time.sleep(0.3)
    path = write(tmp_path / "silent.pcap", tunnel.packets())
    rows = events(path)
    (back,) = [row for row in rows if row["event"] == "returned"]
    assert (back["certainty"], back["reply_code"]) == ("exact", 312)
    assert {row["certainty"] for row in rows if row["event"] == "unroutable"} == {"exact"}
    found = {row["finding"]: row["count"] for row in analysis.diagnose(path).to_pylist()}
    assert found == {"messages lost in silence": 2, "messages returned": 1}
