"""What diagnose finds in recordings whose troubles are known, and that it finds nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

from amqpcodec import v0_9_1 as amqp
from tests.analysis.test_v1_questions_unit import WORK
from tests.support.event_talk import (
    TO_CLIENT,
    TO_SERVER,
    Say,
    client,
    close,
    consume,
    deliver,
    finish,
    login,
    lost,
    open_channel,
    publish,
    select,
    server,
    timed,
)
from tests.support.recording import ACK, FIN, RST, packets
from tests.support.route_talk import give_back, send
from tests.support.shop_talk import killed, without, working

Ask = Callable[..., list[dict[str, Any]]]
ENDS = [(side, flags) for side in (TO_SERVER, TO_CLIENT) for flags in (FIN | ACK, RST | ACK)]


def found(rows: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [(row["severity"], row["finding"], *(row.get(name) for name in names)) for row in rows]


def session(*says: Say | list[Say], name: str = "worker", heartbeat: int = 60) -> list[Say]:
    talk = [*login(heartbeat, name), *open_channel()]
    for said in says:
        talk += said if isinstance(said, list) else [said]
    return talk


def test_nothing_is_wrong(ask: Ask) -> None:
    assert ask("diagnose", working()) == []
    done = session(consume("jobs"), deliver(1), client(amqp.Basic.Ack(delivery_tag=1)), close())
    assert ask("diagnose", packets(done)) == []


@pytest.mark.parametrize(("side", "flags"), ENDS)
def test_a_consumer_that_died_with_messages(ask: Ask, side: int, flags: int) -> None:
    rows = ask("diagnose", killed(side, flags))
    assert found(rows, "connection_name", "queue", "count", "messages", "certainty") == [
        (1, "lost with unsettled messages", "worker", "jobs", 1, 2, "exact")
    ]


def test_a_publisher_that_died_before_its_confirms(ask: Ask) -> None:
    rows = ask("diagnose", lost(session(select(), publish(1), publish(2)), TO_SERVER))
    assert found(rows, "messages") == [(1, "lost with unconfirmed publishes", 2)]


def test_connections_that_held_nothing_are_one_row(ask: Ask) -> None:
    talk = []
    for port, name in ((40001, "one"), (40002, "two")):
        said = packets(session(name=name), client=port)
        talk += [*said, finish(said, TO_SERVER, port=port)]
    rows = ask("diagnose", talk)
    assert found(rows, "count", "connection_name") == [(3, "lost without a close", 2, None)]


def test_a_silent_client(ask: Ask) -> None:
    beat = amqp.encode(0, amqp.Heartbeat())
    talk = lost([*login(heartbeat=3), *[(TO_CLIENT, beat)] * 6], TO_CLIENT)
    times = [0.001 * n for n in range(len(login()) + 2)] + [1.5 * n for n in range(1, 8)]
    (row,) = ask("diagnose", timed(talk, times))
    assert (row["severity"], row["finding"]) == (1, "heartbeat missed")
    assert row["text"].startswith("the client was silent for 10")
    assert row["text"].endswith(" ms, the heartbeat is 3 s")


@pytest.mark.parametrize(
    ("code", "text"), [(403, "ACCESS_REFUSED - Login was refused"), (530, "NOT_ALLOWED - vhost")]
)
def test_a_refused_login(ask: Ask, code: int, text: str) -> None:
    refusal = server(amqp.Connection.Close(reply_code=code, reply_text=text), 0)
    talk = [
        packet
        for port in (40001, 40002)
        for packet in packets([*login()[:3], refusal], client=port)
    ]
    rows = ask("diagnose", talk)
    assert found(rows, "reply_code", "text", "count") == [(1, "connection refused", code, text, 2)]


def test_a_forced_close(ask: Ask) -> None:
    text = "CONNECTION_FORCED - broker forced connection closure"
    forced = server(amqp.Connection.Close(reply_code=320, reply_text=text), 0)
    said = session(consume("jobs"), deliver(1), forced, client(amqp.Connection.CloseOk(), 0))
    rows = ask("diagnose", packets(said))
    expected = (1, "connection closed with an error", 320, text, 1)
    assert found(rows, "reply_code", "text", "messages") == [expected]


@pytest.mark.parametrize(
    ("code", "text"),
    [(404, "NOT_FOUND - no exchange 'x'"), (406, "PRECONDITION_FAILED - inequivalent arg")],
)
def test_a_channel_that_the_broker_closed(ask: Ask, code: int, text: str) -> None:
    refused = server(
        amqp.Channel.Close(reply_code=code, reply_text=text, class_id=60, method_id=40)
    )
    said = session(publish(1, exchange="x"), refused, client(amqp.Channel.CloseOk()), close())
    rows = ask("diagnose", packets(said))
    expected = (1, "channel closed with an error", code, text, 1)
    assert found(rows, "reply_code", "text", "count") == [expected]


def test_messages_that_were_nacked_returned_and_rejected(ask: Ask) -> None:
    said = session(
        select(),
        *(send("x", "k", name="p1", mandatory=True), publish(2), give_back("x", "k", "p1")),
        server(amqp.Basic.Ack(delivery_tag=1)),
        server(amqp.Basic.Nack(delivery_tag=2)),
        *(consume("jobs"), deliver(1), client(amqp.Basic.Reject(delivery_tag=1, requeue=False))),
        close(),
    )
    rows = ask("diagnose", packets(said))
    assert found(rows, "exchange", "queue", "count", "certainty") == [
        (1, "publishes nacked", "", None, 1, "exact"),
        (2, "messages returned", "x", None, 1, "exact"),
        (2, "messages rejected", None, "jobs", 1, "exact"),
    ]


def test_a_memory_alarm_and_a_deleted_queue(ask: Ask) -> None:
    blocked = server(amqp.Connection.Blocked(reason="low on memory"), 0)
    said = session(blocked, consume("jobs"), server(amqp.Basic.Cancel(consumer_tag="c1")), close())
    rows = ask("diagnose", packets(said))
    assert found(rows, "text", "queue") == [
        (2, "publishers blocked", "low on memory", None),
        (2, "consumer cancelled by the broker", None, "jobs"),
    ]


def redelivered(times: int, message: str | None, copies: int = 1) -> list[bytes]:
    """Each of so many messages is given back to its queue so often."""
    says: list[Say] = []
    for number in range(1, copies * (times + 1) + 1):
        again = number > copies
        method = amqp.Basic.Deliver(
            consumer_tag="c1",
            delivery_tag=number,
            redelivered=again,
            exchange="",
            routing_key="jobs",
        )
        properties = amqp.Basic.Properties(message_id=message)
        says.append((TO_CLIENT, amqp.encode_message(1, method, properties, b"the same")))
        says.append(client(amqp.Basic.Reject(delivery_tag=number, requeue=True)))
    return packets(session(consume("jobs"), says, close()))


def test_a_poison_message(ask: Ask) -> None:
    rows = ask("diagnose", redelivered(12, "p1"))
    text = "redelivered up to 12 times in the recording, such as p1"
    assert found(rows, "queue", "count", "text", "certainty") == [
        (1, "poison message", "jobs", 1, text, "exact")
    ]
    assert ask("diagnose", redelivered(9, "p1")) == []


def test_many_messages_of_one_id_are_no_loop(ask: Ask) -> None:
    """12 messages that look the same were given back once each."""
    assert ask("diagnose", redelivered(1, "same", copies=12)) == []
    assert ask("diagnose", redelivered(1, "same", copies=12)[30:]) == []


def worked(times: list[float], port: int, name: str, queue: str) -> list[Any]:
    """Deliveries that took so many seconds each."""
    says: list[Say] = []
    for number in range(1, len(times) + 1):
        says += [deliver(number, key=queue), client(amqp.Basic.Ack(delivery_tag=number))]
    talk = packets(session(consume(queue), says, name=name), client=port)
    moments = [0.001 * n for n in range(len(talk) - len(says))]
    for took in times:
        moments += [moments[-1] + 0.01, moments[-1] + 0.01 + took]
    return timed(talk, moments)


def test_slow_work_stands_out(ask: Ask) -> None:
    fast = worked([0.002] * 12, 40001, "fast", "quick")
    slow = worked([0.9] * 10, 40002, "slow", "jobs")
    rows = ask("diagnose", sorted([*fast, *slow], key=lambda record: record.time_ns))
    assert found(rows, "connection_name", "queue", "count", "text") == [
        (2, "slow work", "slow", "jobs", 10, "half of them took 900 ms or longer, elsewhere 2 ms")
    ]
    few = worked([0.9] * 9, 40002, "slow", "jobs")
    assert ask("diagnose", [*fast, *few]) == []
    assert ask("diagnose", slow) == []  # nothing to compare with
    alone = ask("diagnose", worked([6.0] * 10, 40002, "slow", "jobs"))
    assert found(alone, "queue", "text") == [
        (2, "slow work", "jobs", "half of them took 6000 ms or longer")
    ]


def ends_after(said: list[Say], seconds: float) -> list[Any]:
    """A heartbeat so long after what was said is the last thing."""
    talk = packets([*said, (TO_CLIENT, amqp.encode(0, amqp.Heartbeat()))])
    return timed(talk, [0.001 * n for n in range(len(talk) - 1)] + [seconds])


def test_a_consumer_that_never_acknowledges(ask: Ask) -> None:
    said = session(consume("jobs"), deliver(1), deliver(2))
    rows = ask("diagnose", ends_after(said, 90))
    assert found(rows, "connection_name", "queue", "count", "text") == [
        (2, "deliveries not settled", "worker", "jobs", 2, "the oldest waits for 89 s")
    ]
    assert ask("diagnose", ends_after(said, 50)) == []
    # One who takes 6 s for each is not stuck after 90.
    times = worked([6.0] * 10, 40000, "worker", "jobs")
    working = [row["finding"] for row in ask("diagnose", times)]
    assert working == ["slow work"]


def test_a_broker_that_does_not_answer(ask: Ask) -> None:
    said = session(client(amqp.Queue.Declare(queue="jobs")))
    rows = ask("diagnose", ends_after(said, 30))
    assert found(rows, "connection_name", "text") == [
        (1, "request without an answer", "worker", "queue.declare waits for 29 s")
    ]
    assert ask("diagnose", ends_after(said, 5)) == []


def test_many_short_connections(ask: Ask) -> None:
    talk = [
        packet
        for port in range(40001, 40026)
        for packet in packets(session(close(), name=f"job-{port}"), client=port)
    ]
    rows = ask("diagnose", talk)
    assert found(rows, "count", "text") == [
        (3, "many short connections", 25, "each open for less than 2 s")
    ]
    assert ask("diagnose", talk[: len(talk) * 19 // 25]) == []


def test_a_gap_is_named(ask: Ask) -> None:
    talk = working()
    rows = ask("diagnose", without(talk, len(talk) // 2))
    assert [row["finding"] for row in rows] == ["recording incomplete"]


TALKS = {
    "working": working(),
    "killed": killed(),
    "loop": redelivered(12, "p1"),
    "1.0": lost(WORK, TO_CLIENT),
}


def certain(rows: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    """What is certainly said of connections that have their name, but of what is missing."""
    return {
        (row["finding"], row["connection_name"])
        for row in rows
        if row["certainty"] == "exact"
        and row["finding"] != "recording incomplete"
        and "connection_name" in row
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", TALKS)
def test_damage_finds_nothing_else(ask: Ask, name: str) -> None:
    talk = TALKS[name]
    truth = certain(ask("diagnose", talk))
    for number in range(len(talk)):
        assert certain(ask("diagnose", without(talk, number))) <= truth, number
        assert certain(ask("diagnose", talk[number:])) <= truth, number
        swapped = [
            *talk[:number],
            *talk[number + 1 : number + 2],
            talk[number],
            *talk[number + 2 :],
        ]
        assert certain(ask("diagnose", swapped)) <= truth, number
