"""Messages for which the broker closes the channel or the connection: found, counted, passed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import v0_9_1 as amqp
from tests.cli.conftest import TALK
from tests.cli.replay_server import Broker, brokers
from tests.support import recording as builder

pytest.importorskip("pyarrow")
pytest.importorskip("rich")

from amqpcodec.cli.replay.mapping import Mapping
from amqpcodec.cli.replay.messages import Message
from amqpcodec.cli.replay.outgoing import Preparation


@pytest.fixture
def broker() -> Iterator[Broker]:
    with brokers() as server:
        yield server


def recorded(tmp_path: Path, count: int, **of_numbers: dict[str, Any]) -> Path:
    """Publications k.0, k.1, ...; of_numbers: n7={...} are properties of the seventh."""
    talk = []
    for number in range(count):
        properties = amqp.Basic.Properties(**of_numbers.get(f"n{number}", {}))
        method = amqp.Basic.Publish(exchange="orders", routing_key=f"k.{number}")
        talk.append(("client", amqp.encode_message(1, method, properties, b"%d" % number)))
    path = tmp_path / "recording.pcap"
    path.write_bytes(builder.pcap(builder.dialogue([*TALK[:4], *talk])))
    return path


def replay(run: Any, path: Path, broker: Broker, *more: object) -> Any:
    return run("replay", path, "--to", f"amqp://127.0.0.1:{broker.port}/", "--fast", *more)


def numbers(broker: Broker) -> list[int]:
    return [int(bytes(message.body)) for message in broker.publications]


@pytest.mark.parametrize("window", [1, 2, 10, 1000])
@pytest.mark.parametrize("poison", [{0}, {59}, {7, 8, 9}, {0, 30, 31, 59}, set(range(60))])
def test_refused_messages_are_found_and_passed(run, tmp_path, broker, window, poison):
    broker.refusals = {f"k.{number}": (406, f"no {number}") for number in poison}
    result = replay(run, recorded(tmp_path, 60), broker, "--window", window)
    assert result.status == 1
    good = [number for number in range(60) if number not in poison]
    assert result.out == f"60 sent, {len(good)} confirmed, {len(poison)} refused\n"
    assert numbers(broker) == good, "what was confirmed is not sent again"
    for number in sorted(poison)[:20]:
        message = (
            f"message {number} was refused: 406 no {number} (exchange 'orders', key 'k.{number}')"
        )
        assert message in result.err


def test_what_was_not_confirmed_yet_is_sent_again(run, tmp_path, broker):
    """A broker that had messages and had not said so gets them twice, as after a kill."""
    broker.holds = {f"k.{number}" for number in range(5)}
    broker.refusals = {"k.5": (406, "no")}
    broker.on_refusal = lambda: broker.holds.clear()
    result = replay(run, recorded(tmp_path, 10), broker)
    assert (result.status, result.out) == (1, "10 sent, 9 confirmed, 1 refused\n")
    assert numbers(broker) == [*range(5), *range(5), *range(6, 10)]


@pytest.mark.parametrize("code", [501, 502, 505, 541])
def test_a_connection_that_a_message_ends(run, tmp_path, broker, code):
    broker.faults = {"k.4": (code, "cannot be read"), "k.20": (code, "neither")}
    result = replay(run, recorded(tmp_path, 40), broker, "--window", "8")
    assert result.status == 1
    assert result.out == "40 sent, 38 confirmed, 2 refused\n"
    assert f"message 20 was refused: {code} neither" in result.err
    assert numbers(broker) == [number for number in range(40) if number not in (4, 20)]
    assert len(broker.logins) > 2


@pytest.mark.parametrize("code", [403, 404, 405])
def test_what_is_wrong_with_the_target_ends_the_replay(run, tmp_path, broker, code):
    """The next messages would fare no better, and the target can be mended."""
    broker.refusals = {"k.4": (code, "not allowed")}
    journal = tmp_path / "journal"
    path = recorded(tmp_path, 40)
    result = replay(run, path, broker, "--journal", journal)
    assert result.status == 2
    assert f"the broker closed the channel: {code} not allowed" in result.err
    assert "goes on from here" in result.err
    broker.refusals = {}
    again = replay(run, path, broker, "--journal", journal)
    assert again.status == 0
    assert set(numbers(broker)) == set(range(40))


def test_a_broker_that_ends_is_no_refusal(run, tmp_path, broker):
    broker.faults = {"k.4": (320, "CONNECTION_FORCED - shutdown")}
    result = replay(run, recorded(tmp_path, 40), broker)
    assert result.status == 2
    assert "the connection is over: 320 CONNECTION_FORCED" in result.err


def suspect(**properties: Any) -> bool:
    method, sent = amqp.Basic.Publish(), amqp.Basic.Properties(**properties)
    [(_, decoded)] = amqp.MessageDecoder().feed(amqp.encode_message(1, method, sent, b""))
    message = Message(0, "", "q", decoded.properties, b"", None, None)
    return Preparation(Mapping([]), "me").prepare(message).is_suspect


def test_messages_that_are_sent_alone():
    assert not suspect()
    assert not suspect(reply_to="amq.gen-1", expiration="60000", headers={"CC": ["a"], "BCC": []})
    for properties in (
        {"reply_to": "amq.rabbitmq.reply-to"},
        {"reply_to": "amq.rabbitmq.reply-to.g1h2AAA"},
        {"expiration": "abc"},
        {"expiration": ""},
        {"expiration": "-1"},
        {"expiration": "4294967296"},
        {"expiration": "٣"},
        {"headers": {"CC": "a"}},
        {"headers": {"BCC": None}},
        {"headers": {"CC": ["a"], "BCC": {"a": "b"}}},
    ):
        assert suspect(**properties), properties


def test_messages_that_are_likely_to_be_refused_take_no_others_along(run, tmp_path, broker):
    """What comes before is confirmed first: nothing is sent twice."""
    broker.refusals = {"k.5": (406, "fast reply consumer does not exist")}
    path = recorded(tmp_path, 30, n5={"reply_to": "amq.rabbitmq.reply-to"})
    result = replay(run, path, broker)
    assert result.out == "30 sent, 29 confirmed, 1 refused\n"
    assert numbers(broker) == [number for number in range(30) if number != 5]
    assert result.err.count("message 5 was refused") == 1


def test_bodies_that_wait_for_confirms_are_bounded(run, tmp_path, broker, monkeypatch):
    """They are kept until then, for the case that they have to be sent again."""
    from amqpcodec.cli.replay import player

    monkeypatch.setattr(player, "MAX_UNCONFIRMED", 3)
    most = 0
    send = player.Player._send

    def watched(self: Any, *arguments: Any) -> bool:
        nonlocal most
        sent = send(self, *arguments)
        most = max(most, self._unsettled_bytes)
        assert self._unsettled_bytes == sum(
            len(publication.body) for publication in self._unsettled.values()
        )
        return sent

    monkeypatch.setattr(player.Player, "_send", watched)
    result = replay(run, recorded(tmp_path, 200), broker)
    assert result.out == "200 sent, 200 confirmed\n"
    assert most <= 2 + 3
