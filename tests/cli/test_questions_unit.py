"""Each question about a recording, one command: what the rows say, in every form."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("rich")


from amqpcodec import v0_9_1 as amqp
from amqpcodec.analysis._questions import NAMES
from tests.support import recording as builder
from tests.support.amqp091_messages import sent
from tests.support.v1_talk import path_of

START = amqp.Connection.StartOk(
    client_properties={"product": "shop", "version": "2.1", "connection_name": "till 4"},
    mechanism="PLAIN",
    response=b"\0eve\0s3cret-word",
)


B, Q, X = amqp.Basic, amqp.Queue, amqp.Exchange
DE, FR, US = ("orders", "eu.de"), ("orders", "eu.fr"), ("orders", "us")
#: A shop: one message is delivered and acknowledged, one is returned, one stays unsettled.
SHOP = [
    ("client", amqp.PROTOCOL_HEADER),
    ("server", sent(0, amqp.Connection.Start())),
    ("client", sent(0, START)),
    ("server", sent(0, amqp.Connection.Tune(heartbeat=60))),
    ("client", sent(0, amqp.Connection.TuneOk(heartbeat=60, frame_max=131072))),
    ("client", sent(0, amqp.Connection.Open(virtual_host="shop"))),
    ("server", sent(0, amqp.Connection.OpenOk())),
    ("client", sent(1, amqp.Channel.Open())),
    ("server", sent(1, amqp.Channel.OpenOk())),
    ("client", sent(1, X.Declare(exchange="orders", type="topic", durable=True))),
    ("server", sent(1, X.DeclareOk())),
    ("client", sent(1, Q.Declare(queue="eu", durable=True, arguments={"x-max-length": 5}))),
    ("server", sent(1, Q.DeclareOk(queue="eu"))),
    ("client", sent(1, Q.Bind(queue="eu", exchange="orders", routing_key="eu.#"))),
    ("server", sent(1, Q.BindOk())),
    ("client", sent(1, amqp.Confirm.Select())),
    ("server", sent(1, amqp.Confirm.SelectOk())),
    ("client", sent(1, B.Consume(queue="eu", consumer_tag=""))),
    ("server", sent(1, B.ConsumeOk(consumer_tag="c1"))),
    ("client", sent(1, B.Publish(*DE), B.Properties(message_id="m-1"), b"first")),
    ("client", sent(1, B.Publish(*US, mandatory=True), B.Properties(message_id="m-2"), b"second")),
    ("server", sent(1, B.Ack(delivery_tag=1))),
    ("server", sent(1, B.Deliver("c1", 1, False, *DE), B.Properties(message_id="m-1"), b"first")),
    ("server", sent(1, B.Return(312, "NO_ROUTE", *US), B.Properties(message_id="m-2"), b"second")),
    ("client", sent(1, B.Nack(delivery_tag=1, requeue=True))),
    ("server", sent(1, B.Nack(delivery_tag=2))),
    ("server", sent(1, B.Deliver("c1", 2, True, *DE), B.Properties(message_id="m-1"), b"first")),
    ("client", sent(1, B.Ack(delivery_tag=2))),
    ("client", sent(1, B.Publish(*FR), B.Properties(message_id="m-3"), b"third")),
    ("server", sent(1, B.Deliver("c1", 3, False, *FR), B.Properties(message_id="m-3"), b"third")),
    ("client", sent(2, amqp.Channel.Open())),
    ("server", sent(2, amqp.Channel.OpenOk())),
    ("client", sent(2, Q.Declare(queue="none", passive=True))),
    ("server", sent(2, amqp.Channel.Close(404, "NOT_FOUND - no queue 'none'", 50, 10))),
]  # fmt: skip


@pytest.fixture
def shop(tmp_path):
    path = tmp_path / "shop.pcap"
    path.write_bytes(builder.pcap(builder.dialogue(SHOP)))
    return path


def part(rows: list[dict], *names: str) -> list[tuple]:
    return [tuple(row[name] for name in names) for row in rows]


def test_connections(query, shop):
    (row,) = query("connections", shop)
    expected = {"user": "eve", "virtual_host": "shop", "connection_name": "till 4"}
    expected |= {"channels": 2, "ended": "open", "heartbeat_s": 60, "client": "10.0.0.1:40000"}
    assert {name: row[name] for name in expected} == expected
    assert row["details"] == {"product": "shop", "version": "2.1"}
    assert row["first_event"].startswith("2023-11-14T22:13:20.")


COMMANDS = [*((name,) for name in NAMES if name != "incidents"), ("errors", "--all")]


@pytest.mark.parametrize("form", ["table", "json", "csv", "parquet"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_question_shows_a_password(run, shop, tmp_path, form, command):
    out = tmp_path / f"out.{form}"
    assert run(*command, shop, "-o", out, "--format", form).status == 0
    assert b"s3cret" not in out.read_bytes()


def test_connection_that_is_refused_and_one_that_is_closed(query, tmp_path):
    close = amqp.Connection.Close(403, "ACCESS_REFUSED - Login was refused", 0, 0)
    path = tmp_path / "refused.pcap"
    path.write_bytes(builder.pcap(builder.dialogue([*SHOP[:3], ("server", sent(0, close))])))
    (row,) = query("connections", path)
    ends = ("ended", "ended_by", "reply_code", "reason")
    assert part([row], *ends) == [("refused", "server", 403, close.reply_text)]
    assert row["details"]["product"] == "shop"
    (row,) = query("errors", path)
    assert part([row], "event", "reply_code", "reason", "example") == [
        ("connection-refused", 403, "ACCESS_REFUSED", close.reply_text)
    ]
    bye = sent(0, amqp.Connection.Close(200, "bye", 0, 0))
    path.write_bytes(builder.pcap(builder.dialogue([*SHOP[:7], ("client", bye)])))
    assert part(query("connections", path), *ends) == [("closed", "client", 200, "bye")]
    assert query("errors", path) == []


def test_topology(query, shop):
    rows = query("topology", shop)
    assert {row["virtual_host"] for row in rows} == {"shop"}
    assert part(rows, "kind", "exchange", "queue", "routing_key", "consumer_tag", "last_ended") == [
        ("binding", "orders", "eu", "eu.#", None, None),
        ("consumer", None, "eu", None, "c1", None),
        ("exchange", "orders", None, None, None, None),
        ("queue", None, "eu", None, None, None),
    ]
    assert rows[2]["details"]["type"] == "topic"
    assert rows[3]["details"]["arguments"] == {"x-max-length": 5}
    (row,) = query("topology", shop, "--where", "details.arguments.x-max-length >= 5")
    assert row["queue"] == "eu"


def test_messages_follow_one(query, shop):
    rows = query("messages", shop, "--follow", "m-1")
    assert part(rows, "event", "ended", "outcome", "queue", "redelivered", "elapsed_us") == [
        ("published", "confirmed", "accepted", "eu", None, 2000),
        ("delivered", "settled", "released", "eu", False, 2000),
        ("delivered", "settled", "accepted", "eu", True, 1000),
    ]
    returned = query("messages", shop, "--follow", "m-2")
    assert part(returned, "event", "ended", "outcome", "reply_code", "reply_text") == [
        ("published", "returned", "rejected", 312, "NO_ROUTE"),
    ]


def test_messages_follow_one_without_an_id(query, tmp_path):
    """A publish and its delivery are told by their bodies, which differ from all others."""
    bare = B.Properties()
    talk = [
        *SHOP[:20],
        *(("client", sent(1, B.Publish(*DE), bare, body)) for body in (b"one", b"two")),
        ("server", sent(1, B.Deliver("c1", 1, False, *DE), bare, b"two")),
    ]
    path = tmp_path / "bare.pcap"
    path.write_bytes(builder.pcap(builder.dialogue(talk)))
    (delivered,) = query("messages", path, "--where", "event == delivered")
    place = f"{delivered['connection']}:{delivered['event_id']}"
    rows = query("messages", path, "--follow", place)
    assert part(rows, "event", "body_size") == [("published", 3), ("delivered", 3)]
    assert {row["content"] for row in rows} == {delivered["content"]}


@pytest.mark.parametrize("place", ["m-9", "7:7", "':1", "0:99999999999999999999"])
def test_messages_that_no_one_sent(run, shop, place):
    result = run("messages", shop, "--follow", place)
    assert (result.status, result.out) == (0, "")
    assert f"no message has the id, the correlation id or the place {place!r}" in result.err


def test_latency(query, shop):
    rows = {row["span"]: row for row in query("latency", shop)}
    settled = rows["delivered to settled"]
    assert (settled["queue"], settled["count"], settled["exchange"]) == ("eu", 2, None)
    assert (settled["p50_ms"], settled["p90_ms"], settled["max_ms"]) == (1.0, 2.0, 2.0)
    confirmed = rows["published to confirmed"]
    assert (confirmed["exchange"], confirmed["count"], confirmed["max_ms"]) == ("orders", 2, 5.0)
    assert rows["published to delivered"]["queue"] == "eu"


def test_latency_of_gets_and_replies(query, tmp_path):
    path = tmp_path / "rpc.pcap"
    asks = B.Properties(correlation_id="7", reply_to="answers", message_id="q")
    replies = B.Properties(correlation_id="7")
    talk = [
        *SHOP[:9],
        ("client", sent(1, B.Consume(queue="answers", consumer_tag="c", no_ack=True))),
        ("server", sent(1, B.ConsumeOk(consumer_tag="c"))),
        ("client", sent(1, B.Publish("", "work"), asks, b"2+2")),
        ("client", sent(1, B.Get(queue="work"))),
        ("server", sent(1, B.GetOk(1, False, "", "work", 0), asks, b"2+2")),
        ("client", sent(1, B.Publish("", "answers"), replies, b"4")),
        ("client", sent(1, B.Ack(delivery_tag=1))),
        ("server", sent(1, B.Deliver("c", 2, False, "", "answers"), replies, b"4")),
        ("client", sent(1, B.Get(queue="work"))),
        ("server", sent(1, B.GetEmpty())),
    ]
    path.write_bytes(builder.pcap(builder.dialogue(talk)))
    assert part(query("latency", path), "span", "queue", "count", "max_ms") == [
        ("delivered to settled", "work", 1, 2.0),
        ("get to get-empty", "work", 1, 1.0),
        ("get to get-ok", "work", 1, 1.0),
        ("published to delivered", "answers", 1, 2.0),
        ("published to delivered", "work", 1, 2.0),
        ("request to reply", "work", 1, 3.0),
    ]


def test_errors(query, shop):
    whats = ("event", "outcome", "reply_code", "initiator", "request")
    expected = [
        ("returned", None, 312, "server", None),
        ("settled", "released", None, "client", None),
        ("confirmed", "rejected", None, "server", None),
        ("channel-closed", None, 404, "server", "queue.declare"),
    ]
    assert part(query("errors", shop), *whats) == expected
    assert part(query("errors", shop, "--all"), *whats) == expected


def test_errors_are_never_cut_off(run, tmp_path):
    text = "PRECONDITION_FAILED - " + "inequivalent arg " * 14
    path = tmp_path / "long.pcap"
    close = sent(1, amqp.Channel.Close(406, text[:255], 50, 10))
    path.write_bytes(builder.pcap(builder.dialogue([*SHOP[:9], ("server", close)])))
    assert text[:255].rstrip() in run("errors", path).out
    assert text[:255].rstrip() in run("errors", path, "--all").out


def test_damage_is_an_error(run, bad):
    result = run("errors", bad, "--format", "json")
    assert result.status == 1
    (row,) = map(json.loads, result.lines)
    assert (row["event"], row["count"]) == ("protocol-error", 1)


def test_unacked(query, shop, tmp_path):
    (row,) = query("unacked", shop)
    assert (row["message_id"], row["delivery_tag"], row["queue"]) == ("m-3", 3, "eu")
    assert (row["age_us"], row["body_size"], row["certainty"]) == (4000, 5, "exact")
    ended = tmp_path / "ended.pcap"
    close = sent(1, amqp.Channel.Close(200, "", 0, 0))
    ended.write_bytes(builder.pcap(builder.dialogue([*SHOP, ("client", close)])))
    assert query("unacked", ended) == []
    (row,) = query("errors", ended, "--all", "--where", "event == requeued")
    assert (row["message_id"], row["text"]) == ("m-3", "channel-closed")


def test_unacked_of_consumers_from_before_the_recording(run, tmp_path):
    """They may settle automatically: nobody knows."""
    deliver = B.Deliver("c0", 1, False, "orders", "eu")
    path = tmp_path / "middle.pcap"
    talk = [*SHOP[:9], ("server", sent(1, deliver, B.Properties(), b"x"))]
    path.write_bytes(builder.pcap(builder.dialogue(talk)))
    result = run("unacked", path)
    assert (result.status, result.out) == (0, "")
    assert "no delivery is known to wait for its settlement" in result.err


def test_top(query, shop):
    rows = query("top", shop, "--by", "exchange,queue")
    assert part(rows, "kind", "name", "published", "delivered", "delivered_bytes") == [
        ("exchange", "orders", 3, 3, 15),
        ("queue", "eu", 2, 3, 15),  # one publish came back
    ]
    assert len(query("top", shop, "--top", 1)) == 4


def test_window_limit_and_order(query, shop):
    rows = query("messages", shop)
    times = [row["began_at"] for row in rows]
    later = query("messages", shop, "--since", times[2], "--until", times[4])
    assert [row["began_at"] for row in later] == [t for t in times if times[2] <= t < times[4]]
    assert query("messages", shop, "--limit", 2) == rows[:2]
    largest = query("messages", shop, "--sort", "-body_size", "--limit", 1)
    assert largest[0]["body_size"] == 6
    by_size = sorted(rows, key=lambda row: (row["body_size"], row["began_at"]))
    assert query("messages", shop, "--sort", "body_size,began_at:asc") == by_size


def test_what_is_open_at_a_time_waits_there(query, shop):
    """--until is the end of the recording: what is answered later is open then."""
    (settled,) = query("errors", shop, "--all", "--where", "event == settled")
    (row,) = query("unacked", shop, "--until", settled["timestamp"])
    assert (row["message_id"], row["certainty"], row["redelivered"]) == ("m-1", "inferred", False)
    assert row["age_us"] == settled["elapsed_us"] == 2000
    assert query("unacked", shop, "--until", row["delivered_at"]) == []
    (row,) = query("connections", shop, "--until", settled["timestamp"])
    assert (row["ended"], row["delivered"]) == ("open", 1)


def test_since_is_a_beginning_in_the_middle(query, shop):
    (row,) = query("connections", shop)
    (later,) = query("connections", shop, "--since", "+25ms")
    assert (row["opened"], later["opened"]) == ("in the recording", "before the recording")
    assert later["user"] == "eve"
    (queue,) = query("queues", shop, "--since", "+25ms")
    assert (queue["queue"], queue["backlog"], queue["unacknowledged"]) == ("eu", None, None)


def test_clocks(run, shop, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    import time

    words = ("errors", shop, "--all")
    time.tzset()
    try:
        local = run(*words, "--local", "--fields", "timestamp", "--limit", 1)
        day = run(*words, "--local", "--since", "03:43", "--fields", "timestamp")
    finally:
        monkeypatch.undo()
        time.tzset()
    assert local.lines[1].startswith("2023-11-15 03:43:20.")
    assert local.lines[1].endswith("+05:30")
    assert len(day.lines) == 5
    relative = run(*words, "--relative", "--fields", "timestamp", "--format", "json")
    assert 0 < json.loads(relative.lines[0])["timestamp"] < 0.1


def test_relative_times_lead_from_a_question_to_the_frames(query, shop, tmp_path):
    """All commands count from the first packet of the recording."""
    words = ("--relative", "--where", "event == delivered", "--fields")
    begun = [row["began_at"] for row in query("messages", shop, *words, "began_at")]
    words = ("--relative", "--where", "kind == basic.deliver", "--fields", "time")
    times = [row["time"] for row in query("dissect", shop, *words)]
    assert begun == times != []
    (event, *_) = query("dissect", shop, "--level", "event", "--relative", "--fields", "time")
    (opened, *_) = query("connections", shop, "--relative", "--fields", "first_event")
    assert event["time"] == opened["first_event"] > 0
    # Of what began a part of the recording, too.
    later = f"+{times[0] * 1e3:.3f}ms"
    rows = query("dissect", shop, "--since", later, *words[:-1], "time")
    assert [row["time"] for row in rows] == times


@pytest.mark.parametrize("time", ["yesterday", "25:00", "+5x"])
def test_times_that_are_none(run, shop, time):
    result = run("errors", shop, "--since", time)
    assert result.status == 2
    assert "is no time: 2026-02-28T12:00" in result.err


def test_several_recordings_say_which(run, query, shop, tmp_path):
    other = tmp_path / "other.pcap"
    other.write_bytes(shop.read_bytes())
    rows = query("connections", shop, other, "--files", "separate")
    assert part(rows, "file", "published") == [(str(shop), 3), (str(other), 3)]
    lines = run("connections", shop, other, "--files", "separate").lines
    assert [line.split()[0] for line in lines[-3:]] == ["file", str(shop), str(other)]
    assert run("errors", shop, "--where", "file ~ x").status == 2


def test_why_no_row_is_shown(run, shop):
    """A filter or a part of the time that leaves nothing says nothing of the recording."""
    result = run("errors", shop, "--where", "reply_code == 320")
    assert (result.status, result.out) == (0, "")
    assert "--where and --limit leave none of 4 rows" in result.err
    for when in (("--since", "+1h"), ("--until", "2023-01-01")):
        err = run("errors", shop, *when).err
        assert "nothing is in this part of the recording, which is from 2023-11-14T22:13:20." in err
    quiet = run("unacked", shop, "--until", "+1ms").err
    assert "nothing is in this part" in quiet


def test_the_default_exchange_and_what_is_unknown_have_names(run, tmp_path):
    elsewhere = sent(1, B.Publish("elsewhere", "k"), B.Properties(), b"x")
    path = tmp_path / "elsewhere.pcap"
    path.write_bytes(builder.pcap(builder.dialogue([*SHOP[:20], ("client", elsewhere)])))
    lines = run("top", path, "--by", "queue").lines
    assert sorted(line.split()[1] for line in lines[1:]) == ["(unknown)", "eu"]


def test_what_all_rows_say_is_said_once(run, shop):
    lines = run("topology", shop).lines
    assert lines[0] == "virtual_host shop, certainty exact"
    head = lines[1].split()
    assert "virtual_host" not in head
    assert "reason" not in head  # which none of them has
    assert run("topology", shop, "--fields", "kind,virtual_host").lines[0].split() == [
        *("kind", "virtual_host"),
    ]


def test_damaged_messages_are_no_messages(run, bad):
    """A method that is cut is an error, and neither delivered nor waiting."""
    result = run("unacked", bad, "--format", "json")
    assert (result.status, result.out) == (1, "")
    result = run("messages", bad, "--format", "json", "--fields", "event")
    assert [json.loads(line)["event"] for line in result.lines] == ["published", "published"]


def test_version_1_0(query):
    file = (path_of("tx"), "--ports", "5681")
    (row,) = query("connections", *file)
    assert (row["ended"], row["channels"]) == ("closed", 1)
    rows = query("messages", *file, "--follow", "12345")
    assert {(row["event"], row["outcome"]) for row in rows} == {
        ("published", "accepted"),
        ("delivered", "accepted"),
    }
    rows = query("latency", *file, "--where", "span == 'delivered to settled'")
    assert part(rows, "queue", "count") == [("q1", 5)]
    assert {row["outcome"] for row in query("errors", *file)} == {
        *("rejected", "modified", "released"),
    }
    assert ("consumer", "q1") in part(query("topology", *file), "kind", "queue")
    (row, *_) = query("queues", *file)
    assert (row["queue"], row["delivered"]) == ("q1", 5)


@pytest.mark.parametrize("by", ["client", "server"])
def test_tcp_resets(query, tmp_path, by):
    sent_by_client = sum(len(octets) for who, octets in SHOP if who == "client")
    at = {"client": 1001 + sent_by_client}
    at["server"] = 5001 + sum(len(octets) for who, octets in SHOP if who == "server")
    reset = getattr(builder, by)(at[by], b"", builder.RST)
    path = tmp_path / "reset.pcap"
    path.write_bytes(builder.pcap([*builder.dialogue(SHOP), reset]))
    (row,) = query("errors", path, "--where", "event == 'connection-lost'")
    assert (row["initiator"], row["reason"]) == (by, "reset")
    (row,) = query("connections", path)
    assert (row["ended"], row["ended_by"], row["requeued"]) == ("lost", by, 1)
    assert query("unacked", path) == []
    # After an orderly close it says nothing.
    close = sent(0, amqp.Connection.Close(200, "bye", 0, 0))
    talk = builder.dialogue([*SHOP, ("client", close)])
    path.write_bytes(
        builder.pcap([*talk, builder.client(at["client"] + len(close), b"", builder.RST)])
    )
    assert query("errors", path, "--where", "event == 'connection-lost'") == []


def test_errors_of_each_kind(query, tmp_path) -> None:
    """What ends a connection is told by where it ended; the broker's own words are told too."""
    close = amqp.Connection.Close
    login = [("client", amqp.PROTOCOL_HEADER), ("client", sent(0, START))]
    opened = [*login, ("server", sent(0, amqp.Connection.OpenOk()))]
    consumer = [
        *opened,
        ("client", sent(1, amqp.Channel.Open())),
        ("server", sent(1, amqp.Channel.OpenOk())),
        ("client", sent(1, B.Consume(queue="q", consumer_tag="c"))),
        ("server", sent(1, B.ConsumeOk("c"))),
    ]
    talks = {
        ("connection-refused", 403): [*login, ("server", sent(0, close(403, "ACCESS_REFUSED")))],
        ("connection-refused", 530): [
            *login,
            ("server", sent(0, amqp.Connection.Tune())),
            ("server", sent(0, close(530, "NOT_ALLOWED"))),
        ],
        ("connection-closed", 505): [*opened, ("server", sent(0, close(505, "UNEXPECTED_FRAME")))],
        ("connection-closed", 320): [*opened, ("server", sent(0, close(320, "CONNECTION_FORCED")))],
        ("consumer-cancelled", None): [*consumer, ("server", sent(1, B.Cancel("c")))],
        ("blocked", None): [*opened, ("server", sent(0, amqp.Connection.Blocked("low memory")))],
        None: [*consumer, ("client", sent(0, close(200, "bye")))],
    }
    for what, talk in talks.items():
        path = tmp_path / "talk.pcap"
        path.write_bytes(builder.pcap(builder.dialogue(talk)))
        rows = query("errors", path)
        assert part(rows, "event", "reply_code") == ([] if what is None else [what]), what
        if what == ("blocked", None):
            assert rows[0]["reason"] == "low memory"
