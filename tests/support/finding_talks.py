"""For each finding of diagnose a recording that has it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from amqpcodec import v0_9_1 as amqp
from amqpcodec import v1_0
from tests.support import event_talk_v1 as v1
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
from tests.support.recording import packets
from tests.support.route_talk import START, bind, declare, give_back, queue, send
from tests.support.shop_talk import killed, shop, without, working

BEAT: Say = (TO_CLIENT, amqp.encode(0, amqp.Heartbeat()))
#: Argument bytes of basic.publish end inside of a shortstr.
MALFORMED: Say = (TO_SERVER, bytes.fromhex("01 0001 00000006 003c 0028 c8 61 ce"))
OPENED = [*login(), *open_channel()]


def _ends_after(says: list[Say], seconds: float) -> list[Any]:
    """A heartbeat so long after what was said is the last thing."""
    talk = packets([*says, BEAT])
    return timed(talk, [0.001 * n for n in range(len(talk) - 1)] + [seconds])


def _silent() -> list[Any]:
    """A client that stops sending."""
    talk = lost([*login(heartbeat=3), *[BEAT] * 6], TO_CLIENT)
    times = [0.001 * n for n in range(len(login()) + 2)] + [1.5 * n for n in range(1, 8)]
    return timed(talk, times)


def _slow() -> list[Any]:
    """Ten deliveries that take 6 s each."""
    says: list[Say] = []
    for number in range(1, 11):
        says += [deliver(number), client(amqp.Basic.Ack(delivery_tag=number))]
    opened = [*OPENED, *consume("jobs")]
    talk = packets([*opened, *says])
    moments = [0.001 * n for n in range(len(talk) - len(says))]
    for _ in range(10):
        moments += [moments[-1] + 0.01, moments[-1] + 6.01]
    return timed(talk, moments)


def _loop() -> list[bytes]:
    """A message that is given back to its queue twelve times."""
    says: list[Say] = []
    for number in range(1, 14):
        method = amqp.Basic.Deliver(
            consumer_tag="c1", delivery_tag=number, redelivered=number > 1, routing_key="jobs"
        )
        properties = amqp.Basic.Properties(message_id="p1")
        says += [
            (TO_CLIENT, amqp.encode_message(1, method, properties, b"the same")),
            client(amqp.Basic.Reject(delivery_tag=number, requeue=True)),
        ]
    return packets([*OPENED, *consume("jobs"), *says, *close()])


def _short() -> list[bytes]:
    """25 connections, of which each is closed at once."""
    return [
        packet
        for port in range(40001, 40026)
        for packet in packets([*login(name=f"job-{port}"), *close()], client=port)
    ]


def _lost() -> list[bytes]:
    """Two connections that held nothing."""
    talk = []
    for port in (40001, 40002):
        says = packets([*login(name=f"app-{port}"), *open_channel()], client=port)
        talk += [*says, finish(says, TO_SERVER, port=port)]
    return talk


def _link_closed() -> list[bytes]:
    """The broker closes the link of a sender of AMQP 1.0."""
    refused = v1_0.Detach(handle=50, closed=True, error=v1.error("amqp:not-allowed", "full"))
    says = [*v1.login(), *v1.begin(), *v1.sends("s", "jobs"), v1.publish(0), v1.server(refused)]
    return packets([*says, v1.client(v1_0.Detach(handle=0, closed=True)), *v1.close()])


REFUSAL = server(amqp.Connection.Close(403, "ACCESS_REFUSED - Login was refused"), 0)
FORCED = server(amqp.Connection.Close(320, "CONNECTION_FORCED - by the operator"), 0)
MISSING = server(amqp.Channel.Close(404, "NOT_FOUND - no exchange 'x'", 60, 40))
CLOSED = client(amqp.Connection.CloseOk(), 0)

FINDING_TALKS: dict[str, list[Any]] = {
    "connection refused": packets([*login()[:3], REFUSAL]),
    "connection closed with an error": packets(
        [*OPENED, *consume("jobs"), *(deliver(n) for n in range(1, 5)), FORCED, CLOSED]
    ),
    "heartbeat missed": _silent(),
    "lost with unsettled messages": killed(),
    "lost with unconfirmed publishes": lost(
        [*OPENED, *select(), *(publish(number) for number in range(1, 6))], TO_SERVER
    ),
    "many short connections": _short(),
    "lost without a close": _lost(),
    "channel closed with an error": packets(
        [*OPENED, publish(1, exchange="x"), MISSING, client(amqp.Channel.CloseOk()), *close()]
    ),
    "link closed with an error": _link_closed(),
    "publishes nacked": packets(
        [
            *OPENED,
            *select(),
            *(publish(number) for number in range(1, 7)),
            server(amqp.Basic.Ack(delivery_tag=2, multiple=True)),
            server(amqp.Basic.Nack(delivery_tag=5, multiple=True)),
            server(amqp.Basic.Ack(delivery_tag=6)),
            *close(),
        ]
    ),
    "messages returned": packets(
        [
            *START,
            *select(),
            send("", "gone", name="p1", mandatory=True),
            send("", "gone", name="p2", mandatory=True),
            give_back("", "gone", name="p1"),
            server(amqp.Basic.Ack(delivery_tag=1)),
            give_back("", "gone", name="p2"),
            server(amqp.Basic.Ack(delivery_tag=2)),
            *close(),
        ]
    ),
    "messages lost in silence": packets(
        [
            *START,
            *declare("tasks", "direct"),
            *queue("jobs"),
            *bind("jobs", "tasks", "jobs"),
            *select(),
            send("tasks", "jobs", name="p1"),
            send("tasks", "gone", name="p2"),
            server(amqp.Basic.Ack(delivery_tag=2, multiple=True)),
            *close(),
        ]
    ),
    "messages rejected": packets(
        [
            *OPENED,
            *consume("jobs"),
            *(deliver(number) for number in range(1, 5)),
            client(amqp.Basic.Nack(delivery_tag=3, multiple=True, requeue=False)),
            client(amqp.Basic.Ack(delivery_tag=4)),
            *close(),
        ]
    ),
    "slow work": _slow(),
    "publishers blocked": packets(
        [*OPENED, server(amqp.Connection.Blocked(reason="low on memory"), 0), *close()]
    ),
    "consumer cancelled by the broker": packets(
        [*OPENED, *consume("jobs"), server(amqp.Basic.Cancel(consumer_tag="c1")), *close()]
    ),
    "deliveries not settled": _ends_after(
        [*OPENED, *consume("jobs"), *(deliver(number) for number in range(1, 5))], 90
    ),
    "request without an answer": _ends_after(
        [*OPENED, client(amqp.Queue.Declare(queue="jobs"))], 30
    ),
    "malformed frames": packets([*OPENED, MALFORMED, *close()]),
    "recording incomplete": without(working(), len(working()) // 2),
    "backlog": packets([*shop(12), *close()]),
    "poison message": _loop(),
}

#: How a connection's loss is called where the recording shows only that it was lost.
LOST = {"lost without a close": ("lost with ", "heartbeat missed")}
PLACES = ("connection_name", "virtual_host", "queue", "exchange", "reply_code")


def _is_said(row: dict[str, Any], one: dict[str, Any]) -> bool:
    """Whether a finding of the whole recording is that of a damaged one, or says more."""
    more = LOST.get(row["finding"], ())
    if one["finding"] != row["finding"] and not one["finding"].startswith(more or "-"):
        return False
    if any(None not in (row[name], one[name]) and row[name] != one[name] for name in PLACES):
        return False
    if one["finding"] != row["finding"] or row["text"] is None or one["text"] is None:
        return True
    # Times and counts grow with what is recorded.
    return re.sub("[0-9]+", "", row["text"]) == re.sub("[0-9]+", "", one["text"])


def false_findings(
    damaged: Sequence[dict[str, Any]], complete: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Rows that diagnose is certain of for a damaged recording, and the whole one does not have.

    Where either does not know a place, null stands for any.
    """
    false = []
    for row in damaged:
        if row["certainty"] != "exact" or row["finding"] == "recording incomplete":
            continue
        alike = [one for one in complete if _is_said(row, one)]
        if any(
            (row[number] or 0) > sum(one[number] or 0 for one in alike)
            for number in ("count", "messages")
        ):
            false.append(row)
    return false
