"""Events of connections of 1.0, each by what was said on the wire."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from amqpcodec import capture
from amqpcodec import v1_0 as amqp
from tests.support import route_talk
from tests.support.event_talk import TO_CLIENT, TO_SERVER, lost, reset, short, timed, write
from tests.support.event_talk_v1 import (
    begin,
    client,
    close,
    deliver,
    detach,
    end,
    error,
    in_parts,
    login,
    message,
    outcome,
    publish,
    receives,
    sends,
    server,
    settled_at_once,
    transfer,
)
from tests.support.recording import packets
from tests.support.route_talk import on, together
from tests.support.v1_talk import path_of

Read = Callable[..., list[dict[str, Any]]]
START = [*login(), *begin()]
LINKS = [*START, *sends("s", "jobs"), *receives("r", "jobs")]


def some(rows: list[dict[str, Any]], *events: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["event"] in events]


def test_a_connection_from_its_login_to_its_close(read: Read) -> None:
    rows = read(lost([*LINKS, *end(), *close()], TO_SERVER))
    assert short(rows) == [
        "connection-opened",
        "channel-opened",
        "consumer-started",
        "channel-closed",
        "consumer-cancelled",
        "connection-closed",
    ]
    assert {row["connection_name"] for row in rows} == {"worker"}
    assert {(row["user"], row["virtual_host"]) for row in rows} == {("guest", "shop")}
    assert {row.get("channel") for row in rows[1:5]} == {0}
    assert rows[1]["elapsed_us"] == 1000
    assert short(rows[2:3], "queue", "consumer_tag", "settles", "elapsed_us") == [
        ("jobs", "r", "manual", 1000)
    ]
    assert rows[4]["reason"] == "channel-closed"


@pytest.mark.parametrize(
    ("container", "name"),
    [
        ("a18e849f-63a3-4973-a104-7649f5c4bcc8", "guest@10.0.0.1"),
        ("", "guest@10.0.0.1"),
        ("orders-1", "orders-1"),
    ],
)
def test_names_of_connections(container: str, name: str, read: Read) -> None:
    rows = read(packets([*login(container=container, hostname="example.org"), *close()]))
    assert {row["connection_name"] for row in rows} == {name}
    assert "virtual_host" not in rows[0]


def test_a_login_that_is_refused(read: Read) -> None:
    (row,) = read(packets([*login()[:4], server(amqp.SaslOutcome(1), 0)]))
    assert short([row], "event", "certainty", "initiator", "reason", "user") == [
        ("connection-refused", "exact", "server", "auth", "guest")
    ]


def test_a_close_instead_of_an_open_refuses(read: Read) -> None:
    refusal = server(amqp.Close(error=error("amqp:not-allowed")), 0)
    (row,) = read(packets([*login()[:8], refusal]))
    assert short([row], "event", "certainty", "reason") == [
        ("connection-refused", "exact", "amqp:not-allowed")
    ]


def test_a_close_with_an_error(read: Read) -> None:
    forced = server(amqp.Close(error=error("amqp:connection:forced", "shutdown")), 0)
    rows = read(packets([*LINKS, publish(0), deliver(0), forced]))[-4:]
    assert short(rows, "event", "initiator", "reason", "reply_text") == [
        ("connection-closed", "server", "amqp:connection:forced", "shutdown"),
        ("requeued", None, "connection-closed", None),
        ("unconfirmed", None, "connection-closed", None),
        ("consumer-cancelled", None, "connection-closed", None),
    ]


@pytest.mark.parametrize("ends", [lost, reset])
@pytest.mark.parametrize("side", [TO_SERVER, TO_CLIENT])
def test_the_end_of_tcp_ends_everything(ends: Any, side: int, read: Read) -> None:
    rows = read(ends([*LINKS, publish(0), deliver(0), deliver(1), outcome(TO_SERVER, 0)], side))
    assert short(rows[-5:], "event", "message_id", "certainty") == [
        ("settled", "d0", "exact"),
        ("connection-lost", None, "exact"),
        ("requeued", "d1", "exact"),
        ("unconfirmed", "p0", "exact"),
        ("consumer-cancelled", None, "exact"),
    ]


def test_a_delivery_after_the_end_is_requeued_at_once(read: Read) -> None:
    talk = lost(LINKS, TO_SERVER)
    late = packets([*LINKS, deliver(0)])[-1]
    rows = read([*talk, late])[-2:]
    assert short(rows, "event", "message_id", "queue") == [
        ("delivered", "d0", "jobs"),
        ("requeued", "d0", "jobs"),
    ]


def test_outcomes_of_both_directions(read: Read) -> None:
    states = [
        amqp.Accepted(),
        amqp.Rejected(),
        amqp.Released(),
        amqp.Modified(delivery_failed=True),
        amqp.TransactionalState(txn_id=b"t", outcome=amqp.Accepted()),
    ]
    names = ["accepted", "rejected", "released", "modified", "accepted"]
    for side, event in ((TO_CLIENT, "confirmed"), (TO_SERVER, "settled")):
        said = [(publish if side == TO_CLIENT else deliver)(n) for n in range(5)]
        said += [outcome(side, n, state=state) for n, state in enumerate(states)]
        rows = some(read(packets([*LINKS, *said])), event)
        assert short(rows, "outcome", "certainty", "delivery_tag", "initiator") == [
            (name, "exact", n, ("client", "server")[side]) for n, name in enumerate(names)
        ]
        assert {row["elapsed_us"] for row in rows} == {5000}


def test_a_range_answers_each_delivery_in_it(read: Read) -> None:
    said = [*(deliver(n) for n in range(6)), outcome(TO_SERVER, 2), outcome(TO_SERVER, 1, 4)]
    said.append(outcome(TO_SERVER, 0, 2**31 - 1))
    rows = some(read(packets([*LINKS, *said])), "settled")
    assert short(rows, "message_id") == [("d2",), ("d1",), ("d3",), ("d4",), ("d0",), ("d5",)]


def test_an_outcome_is_said_once(read: Read) -> None:
    """The receiver's, which the sender settles; and what a receiver says again."""
    said = [
        publish(0),
        deliver(0),
        outcome(TO_CLIENT, 0, settled=False),
        outcome(TO_SERVER, 0, role=False),
        outcome(TO_CLIENT, 0),
        outcome(TO_SERVER, 0, settled=False),
        outcome(TO_CLIENT, 0, role=False),
    ]
    rows = read(packets([*LINKS, *said]))[5:]
    assert short(rows, "event", "outcome", "certainty") == [
        ("confirmed", "accepted", "exact"),
        ("settled", "accepted", "exact"),
        ("recording-ended", None, "exact"),
    ]


def test_settled_without_an_outcome(read: Read) -> None:
    nothing = amqp.Disposition(role=True, first=0, settled=True)
    received = amqp.Disposition(role=True, first=0, state=amqp.Received(0, 10))
    rows = read(packets([*LINKS, deliver(0), client(received), client(nothing)]))
    assert short(some(rows, "settled"), "outcome", "certainty") == [(None, "exact")]


def test_a_server_that_settles_first(read: Read) -> None:
    """What the receiver thinks of it, no one says, whatever state the server puts there."""
    frames = [deliver(0), outcome(TO_CLIENT, 0, role=False), outcome(TO_SERVER, 0)]
    rows = some(read(packets([*LINKS, *frames])), "settled")
    assert short(rows, "initiator", "certainty", "outcome") == [("server", "inferred", None)]


def test_an_outcome_that_was_lost_is_not_that_of_the_server(read: Read) -> None:
    """The client's disposition is missing; the server's repeats its state, as some do, or not."""
    rejected = outcome(TO_SERVER, 0, state=amqp.Rejected(), settled=False)
    talk = packets([*LINKS, deliver(0), rejected, outcome(TO_CLIENT, 0, role=False)])
    assert short(some(read(talk), "settled"), "outcome") == [("rejected",)]
    rows = some(read([*talk[:-2], talk[-1]]), "settled")
    assert short(rows, "message_id", "outcome") == [("d0", None)]


@pytest.mark.parametrize("late", [0, 1])
def test_a_settlement_of_the_sender_that_was_lost(late: int, read: Read) -> None:
    """Of what the other side never answered no one knows then what became of it."""
    frames = [*LINKS, publish(0), deliver(0), outcome(TO_SERVER, 0, role=False)]
    frames += [
        outcome(TO_CLIENT, 0, role=False),
        client(amqp.Heartbeat()),
        server(amqp.Heartbeat()),
    ]
    talk = lost([*frames, publish(1), deliver(1)], TO_SERVER)
    at = 2 + len(LINKS) + 2 + late
    rows = read([*talk[:at], *talk[at + 1 :]])
    ends = some(rows, "requeued", "unconfirmed", "settled")
    assert sorted(short(ends, "event", "message_id")) == [
        ("requeued", "d1"),
        *([("settled", "d0")] if late == 0 else []),
        ("unconfirmed", "p1"),
    ]


def test_a_range_over_what_may_be_answered(read: Read) -> None:
    """After a lost disposition, what lies inside of a range may have had another outcome."""
    frames = [*LINKS, *(deliver(n) for n in range(4)), outcome(TO_SERVER, 1, state=amqp.Rejected())]
    frames += [client(amqp.Heartbeat()), deliver(4), deliver(5), outcome(TO_SERVER, 0, 5)]
    talk = packets(frames)
    at = 2 + len(LINKS) + 4
    rows = some(read([*talk[:at], *talk[at + 1 :]]), "settled")
    assert short(rows, "message_id", "outcome") == [
        ("d0", "accepted"),
        ("d4", "accepted"),
        ("d5", "accepted"),
    ]


def test_a_publisher_that_waits_no_longer(read: Read) -> None:
    rows = read(lost([*LINKS, publish(0), outcome(TO_SERVER, 0, role=False)], TO_SERVER))
    assert some(rows, "unconfirmed", "confirmed") == []


def test_what_is_sent_settled_waits_for_nothing(read: Read) -> None:
    said = [*START, *sends("s", "jobs"), *receives("r", "jobs", settle_mode=1)]
    rows = read(lost([*said, publish(0, settled=True), deliver(0, settled=True)], TO_SERVER))
    assert short(rows[2:], "event", "settles") == [
        ("consumer-started", "automatic"),
        ("published", None),
        ("delivered", "automatic"),
        ("connection-lost", None),
        ("consumer-cancelled", "automatic"),
    ]


def test_deliveries_in_parts(read: Read) -> None:
    """Interleaved on two links: the one that began first ends last."""
    said = [*LINKS, *sends("s2", "other", 2)]
    parts = in_parts(TO_SERVER, 0, 0, [20, 60])
    said += [*parts[:2], publish(1, 2), parts[2], outcome(TO_CLIENT, 0, 1)]
    rows = read(packets(said))
    published = sorted(some(rows, "published"), key=lambda row: row["event_id"])
    assert short(published, "message_id", "queue", "body_size") == [
        ("p1", "other", 7),
        ("p0", "jobs", 240),
    ]
    assert short(some(rows, "confirmed"), "message_id") == [("p0",), ("p1",)]
    whole = read(packets([*LINKS, client(transfer(0, 0), 0, message("p0", b"large " * 40))]))
    assert some(whole, "published")[0]["content"] == published[1]["content"]


def test_a_delivery_that_is_broken_off_is_none(read: Read) -> None:
    for stop in (
        client(transfer(None, 0, aborted=True)),
        client(amqp.Detach(handle=0, closed=True)),
        client(amqp.End()),
        client(amqp.Close()),
    ):
        rows = read(packets([*LINKS, client(transfer(0, 0, more=True), 0, b"part"), stop]))
        assert some(rows, "published", "unconfirmed") == []


@pytest.mark.parametrize("side", [TO_SERVER, TO_CLIENT])
def test_a_delivery_that_may_be_broken_off(side: int, read: Read) -> None:
    """What would have ended it is missing: its receiver alone can say that it had it."""
    send, handle = ((publish, 0), (deliver, 51))[side]
    speak = server if side else client
    parts = in_parts(side, 1, handle, [20, 60])
    talk = [*LINKS, send(0), *parts[:2], speak(transfer(None, handle, aborted=True)), send(2)]
    at = 2 + len(LINKS) + 3
    ends = ("confirmed", "settled", "unconfirmed", "requeued", "waiting")
    for last in ([], [outcome(1 - side, 0, 2**31 - 1)], close()):
        frames = packets([*talk, *last])
        rows = some(read([*frames[:at], *frames[at + 1 :]]), *ends)
        assert {row["delivery_tag"] for row in rows} <= {0, 2}
    frames = packets([*talk, outcome(1 - side, 1), outcome(1 - side, 0, 2)])
    rows = some(read([*frames[:at], *frames[at + 1 :]]), *ends[:2])
    assert short(rows, "delivery_tag", "outcome") == [
        (1, "accepted"),
        (0, "accepted"),
        (2, "accepted"),
    ]


@pytest.mark.parametrize("side", [TO_SERVER, TO_CLIENT])
def test_a_delivery_whose_beginning_is_missing(side: int, read: Read) -> None:
    """Its first transfer may have settled it, which the later ones need not repeat."""
    handle = (0, 51)[side]
    speak, channel = ((client, 0), (server, 7))[side]
    data = message("m")
    first = speak(transfer(0, handle, more=True, settled=True), channel, data[:9])
    talk = packets([*LINKS, first, speak(transfer(0, handle), channel, data[9:]), *close()])
    ends = ("unconfirmed", "requeued", "waiting")
    assert some(read(talk), *ends) == []
    at = 2 + len(LINKS)
    rows = read([*talk[:at], *talk[at + 1 :]])
    assert some(rows, *ends) == []
    (row,) = some(rows, "published", "delivered")
    assert ("settles" in row, row["certainty"]) == (False, "inferred")


def test_the_body_is_that_of_all_data_sections(read: Read) -> None:
    one = amqp.Message(data=[b"a" * 40]).encode()
    two = amqp.Message(data=[b"a" * 15, b"a" * 25]).encode()
    value = amqp.Message("a" * 40).encode()
    said = [client(transfer(n, 0), 0, data) for n, data in enumerate((one, two, value))]
    rows = some(read(packets([*LINKS, *said])), "published")
    assert short(rows, "body_size") == [(40,), (40,), (42,)]
    assert rows[0]["content"] == rows[1]["content"] != rows[2]["content"]


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({"message_id": 7, "correlation_id": b"\1\xff"}, ("AMQP_ULONG:7", "AMQP_BINARY:01FF")),
        ({"message_id": "AMQP_ULONG:7"}, ("AMQP_STRING:AMQP_ULONG:7", None)),
        ({}, (None, None)),
    ],
)
def test_ids(properties: dict[str, Any], said: tuple[Any, Any], read: Read) -> None:
    data = amqp.Message(b"x", **properties).encode()
    rows = some(read(packets([*LINKS, client(transfer(0, 0), 0, data)])), "published")
    assert short(rows, "message_id", "correlation_id") == [said]


@pytest.mark.parametrize(
    ("header", "redelivered"),
    [
        (None, False),
        (amqp.Header(durable=True), False),
        (amqp.Header(first_acquirer=False), True),
        (amqp.Header(first_acquirer=False, delivery_count=0), False),
        (amqp.Header(delivery_count=2), True),
    ],
)
def test_redelivered(header: Any, redelivered: bool, read: Read) -> None:
    data = (b"" if header is None else amqp.encode_value(header)) + message("m")
    rows = some(read(packets([*LINKS, server(transfer(0, 51), payload=data)])), "delivered")
    assert short(rows, "redelivered", "message_id") == [(redelivered, "m")]


ADDRESSES = [
    ("jobs", (None, None, "jobs", ["jobs"])),
    ("/queues/a%2Fb%20c", (None, None, "a/b c", ["a/b c"])),
    ("/queue/q", (None, None, "q", ["q"])),
    ("/amq/queue/q", (None, None, "q", ["q"])),
    ("/exchanges/e/k", ("e", "k", None, None)),
    ("/exchanges/e", ("e", "", None, None)),
    ("/exchange/e", ("e", "sub", None, None)),
    ("/topic/a.b", ("amq.topic", "a.b", None, None)),
    ("/management", (None, None, None, None)),
    ("/queues/a%2", (None, None, None, None)),
    ("/exchanges/a%2/k", (None, None, None, None)),
    ("/exchange/a/k%2", (None, None, None, None)),
    ("/exchange/" + "e" * 256, (None, None, None, None)),
    ("q" * 256, (None, None, None, None)),
    ("/queues/" + "q" * 2000, (None, None, None, None)),
]


@pytest.mark.parametrize(("address", "said"), ADDRESSES)
def test_addresses_of_rabbitmq(address: str, said: tuple[Any, ...], read: Read) -> None:
    transfers = [client(transfer(0, 0), 0, message("m", subject="sub"))]
    rows = some(read(packets([*START, *sends("s", address), *transfers])), "published")
    assert short(rows, "exchange", "routing_key", "queue", "route") == [said]
    assert rows[0]["certainty"] == ("exact" if said[2] else "unknown")


def test_addresses_of_another_broker_are_not_split(read: Read) -> None:
    said = [*login(product="Other"), *begin(), *sends("s", "/queues/q"), publish(0)]
    rows = some(read(packets(said)), "published")
    assert short(rows, "queue", "certainty") == [("/queues/q", "exact")]


def test_a_link_without_an_address_takes_that_of_the_message(read: Read) -> None:
    said = [client(transfer(0, 0), 0, message("m", to="/queues/x"))]
    rows = some(read(packets([*START, *sends("s", None), *said])), "published")
    assert short(rows, "queue", "certainty") == [("x", "exact")]


def test_a_queue_that_the_server_makes_up(read: Read) -> None:
    link = {"name": "r", "handle": 1}
    said = [
        client(amqp.Attach(role=True, source=amqp.Source(dynamic=True), **link)),
        server(amqp.Attach(role=False, source=amqp.Source(address="made-up"), **link)),
        server(transfer(0, 1), payload=message("m")),
    ]
    rows = read(packets([*START, *said]))
    assert short(some(rows, "consumer-started", "delivered"), "queue") == 2 * [("made-up",)]


def test_transactions_are_no_messages(read: Read) -> None:
    rows = [
        row
        for batch in capture.read(path_of("tx"), "event", ports=(5681,))
        for row in batch.to_pylist()
    ]
    assert rows[0]["details"] == '{"product": "amqpcodec-capture"}'
    published = some(rows, "published")
    assert len(published) == 8
    assert short(published[-1:], "message_id") == [("abort-me",)]
    assert len(some(rows, "confirmed")) == 8
    assert [row["outcome"] for row in some(rows, "settled")] == [
        "rejected",
        "accepted",
        "modified",
        "released",
        "accepted",
    ]


def test_consumers_end(read: Read) -> None:
    gone = error("amqp:resource-deleted", "queue deleted")
    said = [
        *receives("r2", "other", 2),
        *detach(1),
        server(amqp.Detach(handle=52, closed=True, error=gone)),
        client(amqp.Detach(handle=2, closed=True)),
    ]
    rows = some(read(packets([*LINKS, *said])), "consumer-cancelled")
    assert short(rows, "queue", "initiator", "reason", "reply_text", "elapsed_us") == [
        ("jobs", "client", None, None, 1000),
        ("other", "server", "amqp:resource-deleted", "queue deleted", None),
    ]


def test_a_consumer_that_is_refused(read: Read) -> None:
    link = {"name": "r", "handle": 1}
    said = [
        client(amqp.Attach(role=True, source=amqp.Source(address="nowhere"), **link)),
        server(amqp.Attach(role=False, **link)),
        server(amqp.Detach(handle=1, closed=True, error=error("amqp:not-found"))),
    ]
    rows = read(packets([*START, *said]))[2:3]
    assert short(rows, "event", "queue", "initiator", "reason") == [
        ("consumer-cancelled", "nowhere", "server", "amqp:not-found")
    ]


def test_a_link_that_the_server_closes(read: Read) -> None:
    said = [server(amqp.Detach(handle=50, closed=True, error=error("amqp:link:detach-forced")))]
    rows = some(read(packets([*LINKS, *said, client(amqp.Detach(handle=0))])), "link-closed")
    assert short(rows, "queue", "initiator", "reason", "certainty") == [
        ("jobs", "server", "amqp:link:detach-forced", "exact")
    ]
    assert some(read(packets([*LINKS, *detach(0)])), "link-closed") == []


def test_a_session_that_ends_with_an_error(read: Read) -> None:
    said = [*LINKS, deliver(0), server(amqp.End(error=error("amqp:internal-error", "oops")))]
    rows = read(packets([*said, client(amqp.End()), *begin(), *close()]))[4:]
    assert short(rows, "event", "initiator", "reason", "reply_text") == [
        ("channel-closed", "server", "amqp:internal-error", "oops"),
        ("requeued", None, "channel-closed", None),
        ("consumer-cancelled", None, "channel-closed", None),
        ("channel-opened", "client", None, None),
        ("connection-closed", "client", None, None),
    ]


def test_a_server_may_begin_sessions_and_links(read: Read) -> None:
    windows = {"next_outgoing_id": 0, "incoming_window": 9, "outgoing_window": 9}
    link = {"name": "r", "source": amqp.Source(address="q"), "target": amqp.Target()}
    said = [
        server(amqp.Begin(**windows), 3),
        client(amqp.Begin(remote_channel=3, **windows), 4),
        server(amqp.Attach(role=False, handle=0, **link), 3),
        client(amqp.Attach(role=True, handle=9, **link), 4),
    ]
    rows = read(packets([*login(), *said]))[1:3]
    assert short(rows, "event", "channel", "initiator", "certainty") == [
        ("channel-opened", 4, "server", "exact"),
        ("consumer-started", 4, "server", "exact"),
    ]


def test_a_recording_that_begins_in_the_middle(read: Read) -> None:
    """The client's number of a session is not known, nor are its links."""
    said = [deliver(n) for n in range(4)] + [outcome(TO_SERVER, 0), publish(0)]
    rows = read(packets([*LINKS, *said])[2 + len(LINKS) :])
    assert short(rows, "event", "certainty", "queue", "channel") == [
        ("connection-opened", "inferred", None, None),
        *4 * [("delivered", "unknown", None, None)],
        ("settled", "unknown", None, 0),
        ("published", "unknown", None, 0),
        ("recording-ended", "exact", None, None),
    ]
    assert short(rows[1:2], "settles", "message_id") == [("manual", "d0")]


def test_sides_that_number_a_session_alike(read: Read) -> None:
    """Of a session whose begin was not recorded: many frames of both sides, all with one number."""
    frames = [frame for n in range(20) for frame in settled_at_once(n)]
    rows = read(packets([*LINKS, *frames])[2 + len(LINKS) :])
    known = [row for row in some(rows, "settled") if row["certainty"] == "inferred"]
    assert short(known, "message_id") == [(f"d{number}",) for number in range(15, 20)]
    others = [row for row in some(rows, "settled") if row["certainty"] == "unknown"]
    assert short(others, "answers", "delivery_tag") == [(None, number) for number in range(15)]


@pytest.mark.parametrize("frame", [amqp.Flow(None, 1, 1, 1), amqp.End()])
def test_sessions_of_which_no_begin_was_recorded(frame: Any, read: Read) -> None:
    """Which of them the other side calls 0, no one knows."""
    frames = [frame for n in range(20) for frame in settled_at_once(n)]
    for other in (client(frame, 1), server(frame, 1)):
        rows = read(packets([*LINKS, *frames[:5], other, *frames[5:]])[2 + len(LINKS) :])
        assert {row["certainty"] for row in some(rows, "settled")} == {"unknown"}
        assert len(some(rows, "settled")) == 20


def test_a_server_that_gives_sessions_other_numbers(read: Read) -> None:
    """Where one begin shows it, the same number is no reason to take two for one."""
    frames = [frame for n in range(20) for frame in settled_at_once(n)]
    rows = read(packets([*LINKS, *begin(9), *frames])[2 + len(LINKS) :])
    assert {row["certainty"] for row in some(rows, "settled")} == {"unknown"}


def test_rabbitmq_gives_sessions_the_number_of_the_client(read: Read) -> None:
    """Its open was recorded, and a begin was lost."""
    windows = {"next_outgoing_id": 0, "incoming_window": 9, "outgoing_window": 9}
    answer = server(amqp.Begin(0, **windows), 0)
    talk = packets([*login(), client(amqp.Begin(**windows)), answer, *settled_at_once(0)])
    at = 2 + len(login()) + 1
    for lost_packets in ([at], [at - 1, at]):
        rows = read([one for i, one in enumerate(talk) if i not in lost_packets])
        assert short(some(rows, "settled"), "message_id", "certainty") == [("d0", "inferred")]


def test_a_lost_attach_leaves_the_queue_unknown(read: Read) -> None:
    talk = packets([*LINKS, deliver(0), outcome(TO_SERVER, 0)])
    at = 2 + len(LINKS) - 1
    rows = read([*talk[:at], *talk[at + 1 :]])
    assert short(some(rows, "delivered", "settled"), "queue", "certainty", "message_id") == [
        (None, "unknown", "d0"),
        (None, "exact", "d0"),
    ]


def test_bytes_that_are_no_frame_are_a_protocol_error(read: Read) -> None:
    broken = b"\0\0\0\x10\2\0\0\0\0\x53\x99\xc0\1\0\0\0"
    rows = read(packets([*LINKS, (TO_SERVER, broken), publish(0), *close()]))
    assert short(rows[3:], "event", "certainty") == [
        ("protocol-error", "exact"),
        ("published", "inferred"),
        ("connection-closed", "exact"),
        ("unconfirmed", "inferred"),
        ("consumer-cancelled", "inferred"),
    ]


def silent(idle: tuple[int | None, int | None], last: list[Any]) -> list[Any]:
    """The client is silent for 9 s, while the server sends empty frames."""
    beats = [server(amqp.Heartbeat(), 0)] * 5
    talk = packets([*login(idle), *beats, *last]) if last else lost([*login(idle), *beats], 1)
    at = [0.001 * n for n in range(11)] + [1.5 * n + 1.5 for n in range(len(beats))] + [9.0]
    return timed(talk, at)


def test_a_silent_client(read: Read) -> None:
    rows = read(silent((None, 3000), []))[1:]
    assert short(rows, "event", "initiator", "heartbeat_s", "certainty") == [
        ("heartbeat-missed", "client", 3, "exact"),
        ("connection-lost", "server", None, "exact"),
    ]
    assert rows[0]["details"] == '{"agreed_s": 3, "silent_s": 8.991}'


def test_a_silent_client_that_the_server_closes(read: Read) -> None:
    last = [server(amqp.Close(error=error("amqp:resource-limit-exceeded")), 0)]
    assert short(read(silent((None, 3000), last)))[1:] == ["heartbeat-missed", "connection-closed"]


@pytest.mark.parametrize("idle", [(3000, None), (None, 0), (None, 8000)])
def test_silence_that_the_server_bears(idle: Any, read: Read) -> None:
    assert short(read(silent(idle, [])))[1:] == ["connection-lost"]


def test_what_waits_at_the_end(read: Read) -> None:
    rows = read(packets([*LINKS, publish(0), deliver(0)]))[-3:]
    assert short(rows, "event", "message_id", "certainty") == [
        ("waiting", "d0", "exact"),
        ("waiting", "p0", "exact"),
        ("recording-ended", None, "exact"),
    ]


def test_limits_are_counted(tmp_path: Any) -> None:
    said = [*LINKS, *(deliver(n) for n in range(7)), outcome(TO_SERVER, 0, 6)]
    said += [*sends("a", "x", 2), *sends("b", "y", 3), publish(0, 3)]
    path = write(tmp_path / "a.pcap", packets(said))
    reader = capture.Reader(path, "event", max_tracked=3)
    rows = [row for batch in reader for row in batch.to_pylist()]
    assert [row["message_id"] for row in rows if row["event"] == "settled"] == ["d4", "d5", "d6"]
    assert reader.stats()["forgotten"] == {"deliveries": 4, "links": 3}


def test_a_delivery_that_ends_after_its_session(read: Read) -> None:
    """Two events of one frame, of which neither has flags."""
    parts = in_parts(TO_SERVER, 0, 0, [20, 60])
    ended = server(amqp.End(error=error("amqp:internal-error")))
    rows = read(packets([*LINKS, *parts[:2], ended, parts[2]]))[3:]
    assert short(rows, "event", "message_id", "flags") == [
        ("published", "p0", []),
        ("channel-closed", None, []),
        ("consumer-cancelled", None, []),
        ("unconfirmed", "p0", []),
        ("recording-ended", None, []),
    ]


def test_a_delivery_that_goes_on_in_another_session(tmp_path: Any) -> None:
    """Its number is that of a session whose end was not seen: the state can be read again."""
    windows = {"next_outgoing_id": 0, "incoming_window": 9, "outgoing_window": 9}
    said = [
        *LINKS,
        client(transfer(2**32 - 1, 0, more=True), 0, b"x"),
        client(amqp.Begin(**windows)),
        client(transfer(None, 0), 0, b"y"),
    ]
    path = write(tmp_path / "a.pcap", packets(said))
    reader = capture.Reader(path, "event")
    assert sum(map(len, reader.read(path.stat().st_size))) == 4
    capture.Reader(path, "event").resume(reader.state())


@pytest.mark.parametrize(
    "container",
    [
        "a18e849f_63a3-4973-a104-7649f5c4bcc8",
        "a18e849f-63a3-4973-a104-7649f5c4bcc_",
        "orders-of-the-shop-in-the-north-west",
    ],
)
def test_names_as_long_as_one_that_nobody_gave(container: str, read: Read) -> None:
    assert len(container) == 36
    rows = read(packets([*login(container=container), *close()]))
    assert {row["connection_name"] for row in rows} == {container}


@pytest.mark.parametrize(
    ("mechanism", "response", "user"),
    [
        ("PLAIN", b"\0guest\0secret", "guest"),
        ("PLAIN", b"guest", None),
        ("PLAIN", b"\0guest", None),
        ("PLAIN", b"", None),
        ("EXTERNAL", b"\0guest\0secret", None),
    ],
)
def test_users(mechanism: str, response: bytes, user: str | None, read: Read) -> None:
    init = client(amqp.SaslInit(mechanism=mechanism, initial_response=response))
    script = [init if i == 3 else say for i, say in enumerate(login(container=""))]
    (row, *_) = read(packets(script))
    assert (row.get("user"), row.get("connection_name")) == (user, user and f"{user}@10.0.0.1")


def test_a_frame_of_sasl_that_cannot_be_read_is_a_protocol_error(read: Read) -> None:
    broken = b"\0\0\0\x10\2\1\0\0\0\x53\x99\xc0\1\0\0\0"
    rows = read(packets([*login()[:3], (TO_SERVER, broken), *login()[4:], *close()]))
    assert short(rows, "event", "initiator", "user") == [
        ("protocol-error", "client", None),
        ("connection-opened", None, None),
        ("connection-closed", "client", None),
    ]


def test_a_delivery_without_a_number(read: Read) -> None:
    """With a tag alone it is one, to which no outcome can be given; with neither it is none."""
    script = [client(amqp.Transfer(0, delivery_tag=b"t"), 0, message("tagged"))]
    script += [client(amqp.Transfer(0), 0, message("nameless")), outcome(TO_CLIENT, 0), publish(0)]
    rows = some(read(packets([*LINKS, *script])), "published", "confirmed")
    assert short(rows, "event", "message_id", "delivery_tag", "certainty") == [
        ("published", "tagged", None, "exact"),
        ("confirmed", None, 0, "unknown"),
        ("published", "p0", 0, "exact"),
    ]


def test_of_tokens_no_number_is_shown(read: Read) -> None:
    script = [*START, *sends("s", "$cbs", 0), *sends("t", "cbs", 1), publish(0), publish(1, 1)]
    rows = some(read(packets(script)), "published")
    assert short(rows, "queue", "message_id") == [("$cbs", "p0"), ("cbs", "p1")]
    assert ["content" in row for row in rows] == [False, True]


@pytest.mark.parametrize(
    ("octets", "expected"),
    [
        (b"\0\x53\x70\xc0\2\1\x41" + message("m"), (False, "m", 6)),
        (b"\0\x53\x70\xc0\4\1\xa1\1x" + message("m"), (None, "m", 6)),
        (b"\0\x53\x73\xc0\3\1\x54\5\0\x53\x75\xa0\2ab", (False, None, 2)),
        (b"\0\x53\x73\xc0\x08\4\xa1\1m\x40\x40\x54\5\0\x53\x75\xa0\2ab", (False, None, 2)),
        (b"\0\x53\x73\xc0\4\1\xa1\1m\0\x53\x75\x54\5", (False, "m", None)),
        (b"\0\x53\x73\xc0\4\1\xa1\1m\0\x53\x75", (None, None, None)),
    ],
)
def test_messages_of_which_a_part_cannot_be_read(
    octets: bytes, expected: tuple[Any, ...], read: Read
) -> None:
    """The row has null for each part that cannot be read."""
    rows = read(packets([*LINKS, server(transfer(0, 51), payload=octets)]))
    got = some(rows, "delivered")
    assert short(got, "redelivered", "message_id", "body_size") == [expected]


@pytest.mark.parametrize("octets", [b"\x3f", b"\xa1\5ab", b"\xc1\7\2\xa1\1a\xa1\7b"])
def test_properties_of_an_open_that_cannot_be_read_are_a_protocol_error(
    octets: bytes, read: Read
) -> None:
    """The tracker reads a frame only if all of its values can be read."""
    _, opened = login(product="RabbitMQ")[8]
    broken = opened.replace(b"\xa1\x08RabbitMQ", octets.ljust(10, b"\x41"))
    assert broken != opened
    rows = read(packets([*login()[:8], (TO_CLIENT, broken), *begin()]))
    assert short(rows)[:1] == ["protocol-error"]


@pytest.mark.parametrize(("product", "route"), [("RabbitMQ", ["q"]), ("Other", ["/exchanges/a/k"])])
def test_a_client_that_names_no_virtual_host(product: str, route: list[str], read: Read) -> None:
    """RabbitMQ takes it for one of "/", of which another connection says what is bound; to others
    the address is a name."""
    bound = [*route_talk.START, *route_talk.declare("a", "fanout"), *route_talk.bind("q", "a")]
    script = [*login(product=product, hostname=None), *begin(), *sends("s", "/exchanges/a/k")]
    talk = together([*on(0, bound), *on(1, [*script, publish(0)])])
    assert short(some(read(talk), "published"), "message_id", "route") == [("p0", route)]


def test_a_session_that_is_answered_twice_is_another_one(read: Read) -> None:
    """Its end, and the begin of the second one, were not seen."""
    windows: Any = {"next_outgoing_id": 0, "incoming_window": 9, "outgoing_window": 9}
    answer = server(amqp.Begin(remote_channel=0, **windows), 0)
    rows = read(packets([*login(), client(amqp.Begin(**windows), 0), answer, answer]))
    assert short(rows[1:3], "event", "channel", "elapsed_us") == [
        ("channel-opened", 0, 1000),
        ("channel-opened", 0, None),
    ]
