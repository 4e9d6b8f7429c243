"""Each question about a recording, one command: what the rows say, in every form."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("rich")


from amqpcodec import v0_9_1 as amqp
from amqpcodec import v1_0 as v1
from amqpcodec.cli.analysis import ANALYZERS
from amqpcodec.cli.analysis.links import resolve_address
from amqpcodec.cli.analysis.percentiles import Durations
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
    ("client", sent(1, X.Declare(exchange="orders", type="topic", durable=True))),
    ("server", sent(1, X.DeclareOk())),
    ("client", sent(1, Q.Declare(queue="eu", durable=True, arguments={"x-max-length": 5}))),
    ("server", sent(1, Q.DeclareOk(queue="eu"))),
    ("client", sent(1, Q.Bind(queue="eu", exchange="orders", routing_key="eu.#"))),
    ("server", sent(1, Q.BindOk())),
    ("client", sent(1, amqp.Confirm.Select())),
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
    expected = {"user": "eve", "vhost": "shop", "product": "shop 2.1", "version": "0-9-1"}
    expected |= {"channels": 2, "ended": "open", "heartbeat": 60.0, "name": "till 4", "conn": 0}
    assert {name: row[name] for name in expected} == expected
    assert row["client"] == "10.0.0.1:40000"
    assert row["since"].startswith("2023-11-14T22:13:20.")


def test_connections_through_a_proxy(query, tmp_path):
    path = tmp_path / "proxied.pcap"
    (first, header), *remainder = SHOP
    line = b"PROXY TCP4 192.0.2.7 10.0.0.2 51234 5672\r\n"
    path.write_bytes(builder.pcap(builder.dialogue([(first, line + header), *remainder])))
    (row,) = query("connections", path)
    assert (row["peer"], row["client"], row["user"]) == ("192.0.2.7:51234", "10.0.0.1:40000", "eve")


@pytest.mark.parametrize("form", ["table", "json", "csv", "parquet"])
@pytest.mark.parametrize("more", [(), ("--show-secrets",)])
def test_no_question_shows_a_password(run, shop, tmp_path, form, more):
    for command in ANALYZERS:
        out = tmp_path / f"{command}.{form}"
        assert run(command, shop, "-o", out, "--format", form, *more).status == 0
        assert b"s3cret" not in out.read_bytes()


def test_connection_that_is_refused_and_one_that_is_closed(query, tmp_path):
    close = amqp.Connection.Close(403, "ACCESS_REFUSED - Login was refused", 0, 0)
    path = tmp_path / "refused.pcap"
    path.write_bytes(builder.pcap(builder.dialogue([*SHOP[:3], ("server", sent(0, close))])))
    (row,) = query("connections", path)
    assert (row["ended"], row["by"], row["code"]) == ("refused", "server", "403")
    assert row["reason"] == "ACCESS_REFUSED - Login was refused"
    (row,) = query("errors", path)
    assert (row["what"], row["code"], row["text"]) == ("login refused", "403", close.reply_text)
    bye = sent(0, amqp.Connection.Close(200, "bye", 0, 0))
    path.write_bytes(builder.pcap(builder.dialogue([*SHOP[:7], ("client", bye)])))
    (row,) = query("connections", path)
    assert (row["ended"], row["by"], row["code"], row["reason"]) == (
        "closed",
        "client",
        "200",
        "bye",
    )


def test_topology(query, shop):
    rows = query("topology", shop)
    assert {row["vhost"] for row in rows} == {"shop"}
    entities = part(rows, "kind", "name", "source", "routing_key", "state", "messages")
    assert entities == [
        ("exchange", "orders", None, None, "exists", 3),
        ("queue", "eu", None, None, "exists", None),
        ("queue", "none", None, None, "refused", None),
        ("binding", "eu", "orders", "eu.#", "exists", None),
        ("consumer", "c1", "eu", None, "exists", None),
    ]
    assert rows[0]["type"] == "topic"
    assert rows[1]["arguments"] == {"x-max-length": 5}
    assert rows[2]["reason"] == "404 NOT_FOUND - no queue 'none'"
    assert part(query("topology", shop, "--where", "arguments.x-max-length >= 5"), "name") == [
        ("eu",)
    ]


def test_messages_follow_one(query, shop):
    rows = query("messages", shop, "--follow", "m-1")
    assert part(rows, "event", "outcome", "queue", "redelivered") == [
        ("publish", None, None, None),
        ("confirm", "ack", None, None),
        ("deliver", None, "eu", False),
        ("settle", "nack, requeue", "eu", False),
        ("deliver", None, "eu", True),
        ("settle", "ack", "eu", True),
    ]
    assert rows[0]["route"] == ["eu"]
    assert [row["after_ms"] for row in rows] == [0, 2, 3, 5, 7, 8]
    returned = query("messages", shop, "--follow", "m-2")
    assert part(returned, "event", "outcome") == [
        ("publish", None),
        ("return", "312 NO_ROUTE"),
        ("confirm", "nack"),
    ]
    assert returned[0]["route"] == []


def test_messages_follow_one_without_an_id(query, shop):
    delivered = query("messages", shop, "--where", "event == deliver and queue == eu")[0]
    place = tuple(delivered[name] for name in ("conn", "ch", "tag"))
    rows = query("messages", shop, "--follow", ":".join(map(str, place)))
    assert delivered in rows
    assert {tuple(row[name] for name in ("conn", "ch", "tag")) for row in rows} == {place}
    assert "settle" in {row["event"] for row in rows}


def test_messages_that_no_one_sent(run, shop):
    result = run("messages", shop, "--follow", "7:7:7")
    assert "no message has the place '7:7:7'" in result.err
    result = run("messages", shop, "--follow", "m-9")
    assert result.status == 0
    assert "no message has the id 'm-9'; 7 have a message id" in result.err


def test_latency(query, shop):
    rows = {row["what"]: row for row in query("latency", shop)}
    assert set(rows) == {"publish-confirm", "deliver-settle"}
    settled = rows["deliver-settle"]
    assert (settled["queue"], settled["count"], settled["exchange"]) == ("eu", 2, None)
    assert (settled["min_ms"], settled["p50_ms"], settled["max_ms"]) == (1.0, 1.0, 2.0)
    confirmed = rows["publish-confirm"]
    assert (confirmed["exchange"], confirmed["count"], confirmed["max_ms"]) == ("orders", 2, 5.0)


def test_latency_of_gets_and_replies(query, tmp_path):
    path = tmp_path / "rpc.pcap"
    asks = amqp.Basic.Properties(correlation_id="7", reply_to="answers", message_id="q")
    replies = amqp.Basic.Properties(correlation_id="7")
    talk = [
        *SHOP[:8],
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
    rows = part(query("latency", path), "what", "queue", "count", "max_ms")
    assert rows == [
        ("get-settle", "work", 1, 2.0),
        ("get-to-get-empty", "work", 1, 1.0),
        ("get-to-get-ok", "work", 1, 1.0),
        ("rpc", "work", 1, 5.0),
    ]


def test_errors(query, shop):
    rows = part(query("errors", shop), "what", "code", "ch", "from", "method")
    assert rows == [
        ("return", "312", 1, "server", "basic.publish"),
        ("nack", None, 1, "client", None),
        ("nack", None, 1, "server", None),
        ("channel closed", "404", 2, "server", "queue.declare"),
    ]


def test_errors_are_never_cut_off(run, tmp_path):
    text = "PRECONDITION_FAILED - " + "inequivalent arg " * 14
    path = tmp_path / "long.pcap"
    close = sent(1, amqp.Channel.Close(406, text[:255], 50, 10))
    path.write_bytes(builder.pcap(builder.dialogue([*SHOP[:8], ("server", close)])))
    assert text[:255].rstrip() in run("errors", path).out


def test_missed_heartbeats(query, tmp_path):
    second = 10**9
    at = builder.START_NS
    records = []
    tick = sent(0, amqp.Heartbeat())
    talk = [*SHOP[:4], ("client", sent(0, amqp.Connection.TuneOk(heartbeat=5))), *SHOP[5:7]]
    for n, packet in enumerate(builder.dialogue([*talk, ("client", tick), ("client", tick)])):
        late = {9: 9, 10: 20}.get(n, 0)
        records.append(builder.Record(packet, at + late * second))
    path = tmp_path / "silent.pcap"
    path.write_bytes(builder.pcap(records))
    rows = query("errors", path)
    assert part(rows, "what", "from", "text") == [
        ("missed heartbeat", "client", "11.0 s of silence, 10 s are allowed"),
        (
            "missed heartbeat",
            "server",
            "20.0 s of silence, 10 s are allowed, to the end of the recording",
        ),
    ]


def test_damage_is_an_error(run, bad):
    result = run("errors", bad, "--format", "json")
    assert result.status == 1
    (row,) = map(json.loads, result.lines)
    assert row["what"] == "bad frame"
    assert "shortstr needs 200 bytes" in row["text"]


def test_unacked(query, shop, tmp_path):
    (row,) = query("unacked", shop)
    assert (row["message_id"], row["tag"], row["queue"]) == ("m-3", 3, "eu")
    assert (row["state"], row["age_s"], row["size"]) == ("waiting", 0.003, 5)
    ended = tmp_path / "ended.pcap"
    close = sent(1, amqp.Channel.Close(200, "", 0, 0))
    ended.write_bytes(builder.pcap(builder.dialogue([*SHOP, ("client", close)])))
    (row,) = query("unacked", ended)
    assert row["state"] == "requeued: channel.close"


def test_unacked_of_consumers_from_before_the_recording(run, tmp_path):
    deliver = B.Deliver("c0", 1, False, "orders", "eu")
    path = tmp_path / "middle.pcap"
    talk = [*SHOP[:8], ("server", sent(1, deliver, B.Properties(), b"x"))]
    path.write_bytes(builder.pcap(builder.dialogue(talk)))
    result = run("unacked", path, "--format", "json")
    assert (result.status, result.out) == (0, "")
    assert "the answer lacks 1 delivery: the consumer began before the recording" in result.err


def test_top(query, shop):
    rows = query("top", shop, "--by", "exchange,queue")
    assert part(rows, "by", "name", "messages", "published", "delivered", "bytes") == [
        ("exchange", "orders", 6, 3, 3, 31),
        ("queue", "eu", 3, 0, 3, 15),
    ]
    assert sum(rows[0]["over_time"]) == 6
    pieces = query("top", shop, "--by", "exchange", "--per", "4ms", "--sort", "time")
    assert sum(row["messages"] for row in pieces) == 6
    assert len(pieces) == 4


def test_window_limit_and_order(query, shop):
    rows = query("messages", shop)
    times = [row["time"] for row in rows]
    later = query("messages", shop, "--since", times[3], "--until", times[6])
    assert [row["time"] for row in later] == [t for t in times if times[3] <= t < times[6]]
    assert query("messages", shop, "--limit", 2) == rows[:2]
    largest = query("messages", shop, "--sort", "-size", "--limit", 1)
    assert largest[0]["size"] == 6
    by_size = sorted(rows, key=lambda row: (row["size"], row["time"]))
    assert query("messages", shop, "--sort", "size,time:asc") == by_size


def test_clocks(run, shop, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    import time

    time.tzset()
    try:
        local = run("errors", shop, "--local", "--fields", "time", "--limit", 1)
        day = run("errors", shop, "--local", "--since", "03:43", "--fields", "time")
    finally:
        monkeypatch.undo()
        time.tzset()
    assert local.lines[1].startswith("2023-11-15 03:43:20.")
    assert local.lines[1].endswith("+05:30")
    assert len(day.lines) == 5
    relative = run("errors", shop, "--relative", "--fields", "time", "--format", "json")
    assert json.loads(relative.lines[0]) == {"time": 0.021}


@pytest.mark.parametrize("time", ["yesterday", "25:00", "+5x"])
def test_times_that_are_none(run, shop, time):
    result = run("errors", shop, "--since", time)
    assert result.status == 2
    assert "is no time: 2026-02-28T12:00" in result.err


def test_several_recordings_say_which(run, shop, tmp_path):
    other = tmp_path / "other.pcap"
    other.write_bytes(shop.read_bytes())
    result = run("connections", shop, other, "--files", "separate")
    assert [line.split()[0] for line in result.lines] == ["file", str(shop), str(other)]


def test_version_1_0(query):
    file = path_of("tx")
    more = ("--ports", "5681")
    (row,) = query("connections", file, *more)
    assert (row["version"], row["user"], row["ended"]) == ("1.0", "(ANONYMOUS)", "closed")
    rows = query("messages", file, "--follow", "12345", *more)
    assert part(rows, "event", "outcome") == [
        *[("publish", None)] * 2,
        *[("confirm", "accepted")] * 2,
        *[("deliver", None), ("settle", "accepted")] * 2,
    ]
    rows = query("latency", file, *more, "--where", "what == deliver-settle")
    assert part(rows, "queue", "count") == [("q1", 5)]
    assert part(query("errors", file, *more), "what") == [("reject",), ("modified",), ("released",)]
    assert ("producer", "q1") in part(query("topology", file, *more), "kind", "type")
    rows = query("top", file, *more, "--by", "queue")
    assert part(rows, "name", "published", "delivered")[0] == ("q1", 8, 5)


def test_damaged_messages_are_no_messages(run, bad):
    """A method that is cut is an error, and neither delivered nor waiting."""
    result = run("unacked", bad, "--format", "json")
    assert (result.status, result.out) == (1, "")
    result = run("messages", bad, "--format", "json", "--fields", "event")
    assert [json.loads(line)["event"] for line in result.lines] == ["publish", "publish"]


@pytest.mark.parametrize("by", ["client", "server"])
def test_tcp_resets(query, tmp_path, by):
    sent_by_client = sum(len(octets) for who, octets in SHOP if who == "client")
    at = {"client": 1001 + sent_by_client}
    at["server"] = 5001 + sum(len(octets) for who, octets in SHOP if who == "server")
    reset = getattr(builder, by)(at[by], b"", builder.RST)
    path = tmp_path / "reset.pcap"
    path.write_bytes(builder.pcap([*builder.dialogue(SHOP), reset]))
    rows = query("errors", path, "--where", "what == 'tcp reset'")
    assert part(rows, "from", "text", "client") == [
        (by, "the connection was reset, and not closed before", "10.0.0.1:40000")
    ]
    assert rows[0]["time"].startswith("2023-11-14T22:13:20.")
    # After an orderly close it says nothing.
    close = sent(0, amqp.Connection.Close(200, "bye", 0, 0))
    talk = builder.dialogue([*SHOP, ("client", close)])
    path.write_bytes(
        builder.pcap([*talk, builder.client(at["client"] + len(close), b"", builder.RST)])
    )
    assert query("errors", path, "--where", "what == 'tcp reset'") == []


def test_many_different_durations_are_rounded() -> None:
    """Above 10,000 different ones, to 8 bits: within 1 % of what they are."""
    exact, rounded = Durations(), Durations()
    for value in range(10_000):
        exact.add(value)
    for value in range(0, 3_000_000, 100):
        rounded.add(value)
    assert exact.at(0.5, 0.99, 1) == [4999, 9899, 9999]
    assert len(rounded.counts) < 10_000
    for share, duration in zip((0.1, 0.5, 0.99), rounded.at(0.1, 0.5, 0.99), strict=True):
        assert abs(duration - share * 3_000_000) < 0.01 * share * 3_000_000
    assert (rounded.n, rounded.smallest, rounded.largest) == (30_000, 0, 2_999_900)
    assert rounded.at(1) == [2_999_900] or abs(rounded.at(1)[0] - 2_999_900) < 30_000
    before = Durations()
    before.add(-5)  # a clock that went back
    assert (before.smallest, before.total, before.at(1)) == (0, 0, [0])


@pytest.mark.parametrize(
    ("address", "exchange", "key", "queue"),
    [
        (None, None, None, None),
        ("orders", None, None, "orders"),
        ("/queue/a%2Fb", None, None, "a%2Fb"),
        ("/queues/a%2Fb", None, None, "a/b"),
        ("/amq/queue/a", None, None, "a"),
        ("/queue/a/b", None, None, "a/b"),
        ("/exchange/x/some/key", "x", "some/key", None),
        ("/exchanges/x%20y/k%3F", "x y", "k?", None),
        ("/exchanges/x", "x", None, None),
        ("/topic/eu", "amq.topic", "eu", None),
        ("/topic/eu/de", "amq.topic", "eu/de", None),
        ("/other/a", None, None, "/other/a"),
    ],
)
def test_addresses_of_rabbitmq(
    address: str | None, exchange: str | None, key: str | None, queue: str | None
) -> None:
    """Its documentation's two versions of addresses; the second one is percent-encoded."""
    assert resolve_address(address) == (exchange, key, queue)


def test_errors_of_each_kind(query, tmp_path) -> None:
    """What ends a connection is told by where it ended; the broker's own words are told too."""
    close = amqp.Connection.Close
    login = [("client", amqp.PROTOCOL_HEADER), ("client", sent(0, START))]
    opened = [("server", sent(0, amqp.Connection.OpenOk()))]
    talks = {
        "login refused": [*login, ("server", sent(0, close(403, "ACCESS_REFUSED")))],
        "connection refused": [
            *login,
            ("server", sent(0, amqp.Connection.Tune())),
            ("server", sent(0, close(530, "NOT_ALLOWED"))),
        ],
        "protocol violation": [
            *login,
            *opened,
            ("server", sent(0, close(505, "UNEXPECTED_FRAME"))),
        ],
        "connection closed": [
            *login,
            *opened,
            ("server", sent(0, close(320, "CONNECTION_FORCED"))),
        ],
        "consumer cancelled": [*login, *opened, ("server", sent(1, B.Cancel("ctag")))],
        "blocked": [*login, *opened, ("server", sent(0, amqp.Connection.Blocked("low on memory")))],
        None: [
            *login,
            *opened,
            ("client", sent(0, close(200, "bye"))),
            ("client", sent(1, B.Cancel("c"))),
        ],
    }
    for what, talk in talks.items():
        path = tmp_path / "talk.pcap"
        path.write_bytes(builder.pcap(builder.dialogue(talk)))
        rows = query("errors", path)
        assert [row["what"] for row in rows] == ([] if what is None else [what]), what
        if what == "blocked":
            assert rows[0]["text"] == "low on memory"
        if what == "consumer cancelled":
            assert rows[0]["text"] == "consumer_tag=ctag"


def test_errors_of_amqp_1_0(query, tmp_path) -> None:
    error = v1.Error("amqp:not-allowed", "no")
    login = [("client", v1.SASL_HEADER), ("client", v1.encode(0, v1.SaslInit("PLAIN")))]
    opened = [
        *(("client", v1.PROTOCOL_HEADER), ("client", v1.encode(0, v1.Open("c")))),
        *(("server", v1.PROTOCOL_HEADER), ("server", v1.encode(0, v1.Open("s")))),
    ]
    talks = {
        ("login refused", "sasl 1"): [*login, ("server", v1.encode(0, v1.SaslOutcome(1)))],
        ("session ended", "amqp:not-allowed"): [*opened, ("server", v1.encode(0, v1.End(error)))],
        ("connection closed", "amqp:not-allowed"): [
            *opened,
            ("server", v1.encode(0, v1.Close(error))),
        ],
    }
    for expected, talk in talks.items():
        path = tmp_path / "talk.pcap"
        path.write_bytes(builder.pcap(builder.dialogue(talk)))
        rows = query("errors", path)
        assert part(rows, "what", "code") == [expected]
