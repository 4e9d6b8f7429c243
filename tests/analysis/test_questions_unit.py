"""What the questions answer about recordings whose truth is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

from amqpcodec import analysis, capture
from amqpcodec import v0_9_1 as amqp
from tests.paths import shared_dir
from tests.support.event_talk import (
    TO_CLIENT,
    TO_SERVER,
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
from tests.support.shop_talk import (
    BEATS,
    SHOP,
    WORKER,
    killed,
    of_client,
    shop,
    without,
    worker,
    working,
)

Ask = Callable[..., list[dict[str, Any]]]
ENDS = [(side, flags) for side in (TO_SERVER, TO_CLIENT) for flags in (FIN | ACK, RST | ACK)]


def columns(rows: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row.get(name) for name in names) for row in rows]


def test_connections_are_open_where_the_reading_ends(ask: Ask) -> None:
    rows = ask("connections", working())
    names = ("connection_name", "user", "opened", "ended", "published", "delivered", "certainty")
    assert columns(rows, *names) == [
        ("shop", "guest", "in the recording", "open", 4, 0, "exact"),
        ("worker", "guest", "in the recording", "open", 0, 3, "exact"),
    ]


@pytest.mark.parametrize(("side", "flags"), ENDS)
def test_a_consumer_that_was_killed(ask: Ask, side: int, flags: int) -> None:
    talk = killed(side, flags)
    ends = ask("connections", talk)
    assert columns(ends, "connection_name", "ended", "ended_by", "requeued", "certainty") == [
        ("shop", "closed", "client", 0, "exact"),
        ("worker", "lost", ("client", "server")[side], 2, "exact"),
        ("rescuer", "closed", "client", 0, "exact"),
    ]
    assert ask("unacked", talk) == []
    (queue,) = ask("queues", talk)
    assert (queue["requeued"], queue["unacknowledged"], queue["backlog"]) == (2, 0, 0)
    assert (queue["published"], queue["delivered"], queue["acknowledged"]) == (4, 6, 4)
    troubles = ask("errors", talk)
    assert {row["event"] for row in troubles} == {"connection-lost", "requeued"}
    assert {row["connection_name"] for row in troubles} == {"worker"}
    assert {(row["queue"], row["ended_at"] is not None) for row in topology_of(ask, talk)} == {
        ("jobs", True)
    }


def topology_of(ask: Ask, talk: Any) -> list[dict[str, Any]]:
    return [
        {"queue": row["queue"], "ended_at": row.get("last_ended")}
        for row in ask("topology", talk)
        if row["kind"] == "consumer"
    ]


def test_the_ends_of_connections(ask: Ask) -> None:
    refusal = server(amqp.Connection.Close(reply_code=403, reply_text="ACCESS_REFUSED"), 0)
    forced = server(amqp.Connection.Close(reply_code=320, reply_text="CONNECTION_FORCED"), 0)
    talk = [
        *packets([*login()[:3], refusal], client=40001),
        *packets([*login(), forced], client=40002),
        *packets([*login(), *close()], client=40003),
    ]
    rows = ask("connections", talk)
    assert columns(rows, "ended", "ended_by", "reply_code", "reason") == [
        ("refused", "server", 403, "ACCESS_REFUSED"),
        ("closed", "server", 320, "CONNECTION_FORCED"),
        ("closed", "client", 200, "bye"),
    ]
    assert columns(ask("errors", talk), "event", "reply_code", "count") == [
        ("connection-refused", 403, 1),
        ("connection-closed", 320, 1),
    ]


def test_a_connection_that_begins_in_the_middle(ask: Ask) -> None:
    talk = killed()
    rows = ask("connections", without(talk, *of_client(talk, WORKER)[:12]))
    opened = {row["connection_name"]: row["opened"] for row in rows if "connection_name" in row}
    assert opened == {"shop": "in the recording", "rescuer": "in the recording"}
    (middle,) = (row for row in rows if "connection_name" not in row)
    assert (middle["opened"], middle["ended"]) == ("before the recording", "lost")
    assert middle["channels"] == 1


def test_a_silent_client(ask: Ask) -> None:
    beat = amqp.encode(0, amqp.Heartbeat())
    said = [*login(heartbeat=3), *[(TO_CLIENT, beat)] * 6]
    talk = lost(said, TO_CLIENT)
    times = [0.001 * n for n in range(len(login()) + 2)] + [1.5 * n for n in range(1, 8)]
    (row,) = ask("connections", timed(talk, times))
    assert (row["ended"], row["ended_by"]) == ("lost", "server")
    assert row["reason"] == "heartbeat missed by the client"


def test_deliveries_that_wait(ask: Ask) -> None:
    rows = ask("unacked", working())
    names = ("queue", "connection_name", "message_id", "delivery_tag", "age_us", "certainty")
    assert columns(rows, *names) == [
        ("jobs", "worker", "p2", 2, 5000, "exact"),
        ("jobs", "worker", "p3", 3, 4000, "exact"),
    ]


def test_deliveries_of_which_it_is_unknown(ask: Ask) -> None:
    """The acknowledgement may have been lost: the delivery is shown, and called unknown."""
    talk = working()
    lost_ack = of_client(talk, WORKER)[-4]
    rows = ask("unacked", without(talk, lost_ack))
    assert columns(rows, "message_id", "certainty") == [
        ("p1", "unknown"),
        ("p2", "unknown"),
        ("p3", "unknown"),
    ]
    assert not any("age_us" in row for row in rows)


def test_a_consumer_that_was_not_seen_has_no_waiting_deliveries(ask: Ask) -> None:
    talk = packets([deliver(1), deliver(2)])[2:]
    assert ask("unacked", talk) == []
    (row,) = ask("queues", talk)
    assert (row["queue"], row["certainty"], row["delivered"]) == ("jobs", "inferred", 2)
    assert "unacknowledged" not in row


def test_queues(ask: Ask) -> None:
    (row,) = ask("queues", working())
    expected = {
        **{"virtual_host": "/", "queue": "jobs", "published": 4, "delivered": 3},
        **{"redelivered": 0, "acknowledged": 1, "rejected": 0, "released": 0, "requeued": 0},
        **{"waiting": 2, "unacknowledged": 2, "backlog": 3, "certainty": "exact"},
        **{"consumers_started": 1, "consumers_ended": 0},
        **{"wait_p50_ms": 21.0, "wait_p99_ms": 21.0, "work_p50_ms": 3.0, "work_p99_ms": 3.0},
    }
    assert row == expected


def test_a_queue_that_is_in_two_virtual_hosts(ask: Ask) -> None:
    other = [client(amqp.Connection.Open(virtual_host="test"), 0)]
    talk = [*shop(), *worker()]
    elsewhere = [*talk[:5], *other, *talk[6:14]]
    rows = ask("queues", [*packets(shop(), client=1), *packets(elsewhere, client=2)])
    assert columns(rows, "virtual_host", "queue", "published") == [
        ("/", "jobs", 4),
        ("test", "jobs", 1),
    ]


@pytest.mark.parametrize(
    "said",
    [
        [publish(5, exchange="orders")],  # its route is unknown
        [client(amqp.Queue.Delete(queue="jobs")), server(amqp.Queue.DeleteOk(message_count=4))],
        [publish(5), server(amqp.Basic.Nack(delivery_tag=5))],
        [publish(5)],  # it may not have arrived
    ],
    ids=["exchange", "deleted", "nacked", "unconfirmed"],
)
def test_backlog_is_unknown_where_it_cannot_be_counted(ask: Ask, said: list[Any]) -> None:
    assert ask("queues", packets(shop()))[0]["backlog"] == 4
    assert all("backlog" not in row for row in ask("queues", packets([*shop(), *said])))


def test_backlog_of_a_queue_that_was_not_empty(ask: Ask) -> None:
    said = shop()
    at = next(n for n, (_, data) in enumerate(said) if b"jobs" in data and n > 9)
    said[at] = server(amqp.Queue.DeclareOk(queue="jobs", message_count=7))
    assert "backlog" not in ask("queues", packets(said))[0]


def test_backlog_while_a_request_of_another_kind_waits(ask: Ask) -> None:
    """A channel.open without its reply changes no queue; a purge without its reply may."""
    talk = [*packets([*shop(), *BEATS], client=SHOP)]

    def backlog(request: Any, channel: int) -> Any:
        waits = packets([*shop(), client(request, channel), *BEATS], client=SHOP)
        return ask("queues", waits)[0].get("backlog")

    assert ask("queues", talk)[0]["backlog"] == 4
    assert backlog(amqp.Channel.Open(), 2) == 4
    assert backlog(amqp.Queue.Purge(queue="jobs"), 1) is None


def test_backlog_after_a_purge(ask: Ask) -> None:
    purge = [client(amqp.Queue.Purge(queue="jobs")), server(amqp.Queue.PurgeOk(message_count=4))]
    assert ask("queues", packets([*shop(), *purge, publish(5)]))[0].get("backlog") is None
    confirmed = server(amqp.Basic.Ack(delivery_tag=5))
    (row,) = ask("queues", packets([*shop(), *purge, publish(5), confirmed]))
    assert row["backlog"] == 1


def test_latency_by_queue_and_exchange(ask: Ask) -> None:
    rows = ask("latency", working())
    names = ("span", "queue", "exchange", "count", "unknown", "p50_ms", "max_ms", "certainty")
    assert columns(rows, *names) == [
        ("delivered to settled", "jobs", None, 1, 0, 3.0, 3.0, "exact"),
        ("published to confirmed", None, "", 4, 0, 2.0, 4.0, "exact"),
        ("published to delivered", "jobs", None, 3, 0, 21.0, 21.0, "inferred"),
    ]


def test_messages_that_look_the_same_are_not_paired(ask: Ask) -> None:
    """The same id twice: no one knows which delivery is of which publish."""
    twice = [*shop()[:-1], publish(1)]
    rows = ask("latency", [*packets(twice, client=SHOP), *packets(worker(), client=WORKER)])
    (span,) = (row for row in rows if row["span"] == "published to delivered")
    assert (span["count"], span["unknown"]) == (2, 1)


def test_deliveries_without_a_queue_stand_by_their_consumers(ask: Ask) -> None:
    def of_exchange(tag: str, number: int) -> tuple[int, bytes]:
        method = amqp.Basic.Deliver(
            consumer_tag=tag, delivery_tag=number, exchange="orders", routing_key="eu"
        )
        return TO_CLIENT, amqp.encode_message(1, method, None, b"x")

    said = [
        of_exchange("fast", 1),
        client(amqp.Basic.Ack(delivery_tag=1)),
        of_exchange("slow", 2),
        client(amqp.Basic.Ack(delivery_tag=2)),
    ]
    talk = packets(said)[2:]
    rows = ask("latency", timed(talk, [0, 0.001, 1, 3]))
    spans = [row for row in rows if row["span"] == "delivered to settled"]
    assert columns(spans, "queue", "consumer_tag", "p50_ms") == [
        (None, "slow", 2000.0),
        (None, "fast", 1.0),
    ]
    assert {row.get("consumer_tag") for row in ask("queues", talk)} == {"slow", "fast"}


def test_errors_are_grouped(ask: Ask) -> None:
    text = "NOT_FOUND - no exchange '{}' in vhost '/'"
    said = [*login()]
    for channel, name in ((1, "a"), (2, "b")):
        error = amqp.Channel.Close(404, text.format(name), 60, 40)
        said += [*open_channel(channel), server(error, channel)]
    (row,) = ask("errors", packets(said))
    assert (row["event"], row["reply_code"], row["reason"]) == ("channel-closed", 404, "NOT_FOUND")
    assert (row["count"], row["connections"], row["request"]) == (2, 1, "basic.publish")
    assert row["example"].startswith("NOT_FOUND - no exchange")


def test_nothing_went_wrong(ask: Ask) -> None:
    assert ask("errors", packets([*shop(), *close()])) == []


def test_messages_with_what_became_of_them(ask: Ask) -> None:
    rows = ask("messages", killed())
    names = ("message_id", "event", "ended", "outcome", "connection_name", "certainty")
    assert [row for row in columns(rows, *names) if row[0] == "p2"] == [
        ("p2", "published", "confirmed", "accepted", "shop", "exact"),
        ("p2", "delivered", "requeued", None, "worker", "exact"),
        ("p2", "delivered", "settled", "accepted", "rescuer", "exact"),
    ]
    (alone,) = ask("messages", packets([*login(), *open_channel(), publish(1)]))
    assert ("ended" in alone, alone["certainty"]) == (False, "unknown")


def test_deliveries_that_are_settled_at_once(ask: Ask) -> None:
    said = [*login(), *open_channel(), *consume("jobs", no_ack=True), deliver(1)]
    (row,) = ask("messages", packets(said))
    assert (row["ended"], row["outcome"], row["certainty"]) == ("settled", "accepted", "exact")
    (queue,) = ask("queues", packets(said))
    assert (queue["acknowledged"], queue["unacknowledged"]) == (1, 0)


def test_top(ask: Ask) -> None:
    rows = ask("top", killed())
    assert columns(rows, "kind", "name", "published", "delivered", "delivered_bytes") == [
        ("connection_name", "shop", 4, 0, 0),
        ("connection_name", "rescuer", 0, 3, 18),
        ("connection_name", "worker", 0, 3, 18),
        ("exchange", "", 4, 6, 36),
        ("queue", "jobs", 4, 6, 36),
        ("routing_key", "jobs", 4, 6, 36),
    ]


def test_topology(ask: Ask) -> None:
    said = [
        *login(),
        *open_channel(),
        client(amqp.Exchange.Declare(exchange="orders", type="topic")),
        server(amqp.Exchange.DeclareOk()),
        client(amqp.Queue.Declare(queue="jobs")),
        server(amqp.Queue.DeclareOk(queue="jobs")),
        client(amqp.Queue.Bind(queue="jobs", exchange="orders", routing_key="#.eu")),
        server(amqp.Queue.BindOk()),
        *consume("jobs"),
    ]
    rows = ask("topology", packets(said))
    assert columns(rows, "kind", "exchange", "queue", "routing_key", "consumer_tag") == [
        ("binding", "orders", "jobs", "#.eu", None),
        ("consumer", None, "jobs", None, "c1"),
        ("exchange", "orders", None, None, None),
        ("queue", None, "jobs", None, None),
    ]
    assert not any("last_ended" in row for row in rows)
    deleted = [client(amqp.Queue.Delete(queue="jobs")), server(amqp.Queue.DeleteOk())]
    ended = {row["kind"]: "last_ended" in row for row in ask("topology", packets(said + deleted))}
    assert ended == {"binding": True, "consumer": False, "exchange": False, "queue": True}


def test_a_recording_without_amqp(ask: Ask) -> None:
    for name in ("connections", "queues", "latency", "unacked", "errors", "top"):
        with pytest.warns(capture.CaptureWarning):
            assert ask(name, packets([])) == []


def test_recorded_by_a_broker() -> None:
    """Two recordings of RabbitMQ, and what it said: see the list of cases."""
    shared = shared_dir()
    if shared is None or not (shared / "cases" / "questions").is_dir():
        pytest.skip("the recordings are not there")
    path = shared / "cases" / "questions" / "consumer-killed.pcap"
    (queue,) = analysis.queues(path, ports=60801).to_pylist()
    assert (queue["unacknowledged"], queue["backlog"], queue["requeued"]) == (0, 0, 5)
    assert analysis.unacked(path, ports=60801).num_rows == 0
    silent = shared / "cases" / "questions" / "heartbeat-timeout.pcap"
    (row,) = analysis.connections(silent, ports=60801).to_pylist()
    assert (row["ended"], row["reason"]) == ("lost", "heartbeat missed by the client")


def test_selecting_does_not_disturb(ask: Ask) -> None:
    """A channel that selects confirms later: nothing is counted that was sent before."""
    said = [*login(), *open_channel(), publish(1), *select(), publish(2)]
    rows = ask("messages", packets([*said, server(amqp.Basic.Ack(delivery_tag=1))]))
    assert columns(rows, "message_id", "ended") == [("p1", None), ("p2", "confirmed")]


def test_the_end_of_tcp_is_the_last_word(ask: Ask) -> None:
    died = packets(worker(), client=WORKER)
    talk = [*died, finish(died, TO_SERVER, FIN | ACK, WORKER), deliver_late(died)]
    assert ask("unacked", talk) == []


def deliver_late(talk: list[bytes]) -> bytes:
    """What the broker still sends after the client has ended its side."""
    from tests.support.recording import CLIENT, SERVER, segment

    sent = sum(len(packet) - 54 for packet in talk[2:] if packet[34:36] == b"\x16\x28")
    _, data = deliver(4, message="p4")
    return segment(SERVER, (CLIENT[0], WORKER), 5001 + sent, data, ACK, 0)
