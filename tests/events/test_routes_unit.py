"""Routes of publishes through exchanges, and messages that no queue gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any

import pytest

from amqpcodec import v0_9_1 as amqp
from tests.support.event_talk import (
    TO_CLIENT,
    TO_SERVER,
    Say,
    client,
    close,
    consume,
    finish,
    login,
    open_channel,
    select,
    server,
    short,
)
from tests.support.recording import packets
from tests.support.route_talk import (
    START,
    bind,
    bind_exchange,
    cancel,
    declare,
    delete_exchange,
    delete_queue,
    give_back,
    on,
    queue,
    send,
    together,
    unbind,
)

Read = Callable[..., list[dict[str, Any]]]


def published(rows: Iterable[dict[str, Any]]) -> list[Any]:
    """Routes of publishes; null is None."""
    return [row.get("route") for row in rows if row["event"] == "published"]


def routes(read: Read, script: Iterable[Say]) -> list[Any]:
    return published(read(packets([*START, *script])))


def test_a_direct_exchange(read: Read) -> None:
    script = [*declare("orders", "direct"), *bind("eu", "orders", "k"), *bind("all", "orders", "k")]
    script += [*bind("us", "orders", "other"), send("orders", "k"), send("orders", "none")]
    rows = read(packets([*START, *script]))
    assert published(rows) == [["all", "eu"], []]
    assert {row["certainty"] for row in rows if row["event"] == "published"} == {"inferred"}


def test_a_publish_with_one_queue_names_it(read: Read) -> None:
    script = [*declare("orders", "fanout"), *bind("eu", "orders", "k"), send("orders", "x")]
    (row,) = [row for row in read(packets([*START, *script])) if row["event"] == "published"]
    assert (row["route"], row["queue"], row["certainty"]) == (["eu"], "eu", "inferred")


@pytest.mark.parametrize(
    ("pattern", "keys", "others"),
    [
        ("a.b", ["a.b"], ["a", "a.b.c", "a.x", ""]),
        ("a.*", ["a.b", "a."], ["a", "a.b.c", ""]),
        ("*.b", ["a.b", ".b"], ["b", "a.a.b"]),
        ("*", ["a"], ["", "a.b", "."]),
        ("#", ["", "a", "a.b", "."], []),
        ("#.#", ["", "a", "a.b", "..."], []),
        ("a.#", ["a", "a.b", "a.b.c", "a."], ["b", ""]),
        ("#.b", ["b", "a.b", "a.a.b"], ["", "b.a"]),
        ("a.#.b", ["a.b", "a.x.b", "a.x.y.b", "a.b.b"], ["a", "b", "a.b.x"]),
        ("*.#.*", ["a.b", "a.b.c"], ["a", ""]),
        ("#.a.#.b.#", ["a.b", "x.a.x.b.x", "a.a.b"], ["b.a", "a"]),
        ("", [""], ["a", "."]),
        ("a..b", ["a..b"], ["a.b", "a.x.b"]),
        ("a.*.b", ["a..b", "a.x.b"], ["a.b"]),
        ("a*.b", ["a*.b"], ["ax.b"]),
        ("#a", ["#a"], ["a"]),
        (".", ["."], ["", "a", "a."]),
    ],
)
def test_topics(pattern: str, keys: list[str], others: list[str], read: Read) -> None:
    script = [*declare("t", "topic"), *bind("q", "t", pattern)]
    script += [send("t", key) for key in [*keys, *others]]
    assert routes(read, script) == [["q"]] * len(keys) + [[]] * len(others)


def test_a_pattern_of_many_hashes_takes_no_time(read: Read) -> None:
    """Trying every way to divide the words would take longer than anyone waits."""
    script = [*declare("t", "topic"), *bind("q", "t", ".".join(["#"] * 60 + ["b"]))]
    script += [*bind("r", "t", "#.a" * 60 + ".#.b"), send("t", ".".join("a" * 120))]
    assert routes(read, script) == [[]]


HEADERS: list[tuple[dict[str, Any], dict[str, Any] | None, bool]] = [
    ({"x-match": "all", "a": 1, "b": "t"}, {"a": 1, "b": "t", "c": 2}, True),
    ({"x-match": "all", "a": 1, "b": "t"}, {"a": 1}, False),
    ({"a": 1}, {"a": 1}, True),
    ({"a": 1}, {"a": 2}, False),
    ({"x-match": "any", "a": 1, "b": 2}, {"b": 2}, True),
    ({"x-match": "any", "a": 1, "b": 2}, {"a": 2, "b": 1}, False),
    ({"x-match": "any"}, {"a": 1}, False),
    ({"x-match": "all"}, {"a": 1}, True),
    ({}, None, True),
    ({"x-match": "any", "a": 1}, None, False),
    ({"x-match": "all", "x-a": 1}, {}, True),
    ({"x-match": "all-with-x", "x-a": 1}, {}, False),
    ({"x-match": "all-with-x", "x-a": 1}, {"x-a": 1}, True),
    ({"x-match": "any", "x-a": 1}, {"x-a": 1}, False),
    ({"x-match": "any-with-x", "x-a": 1}, {"x-a": 1}, True),
    ({"a": None}, {"a": "anything"}, True),
    ({"a": None}, {"b": "anything"}, False),
    ({"a": {"in": 1}}, {"a": {"in": 1}}, True),
    ({"a": 1}, {"a": 2**40}, False),
    ({"a": True}, {"a": 1}, False),
]


@pytest.mark.parametrize(("arguments", "headers", "fits"), HEADERS)
def test_headers(
    arguments: dict[str, Any], headers: Mapping[str, Any] | None, fits: bool, read: Read
) -> None:
    script = [*declare("h", "headers"), *bind("q", "h", "", arguments), send("h", "k", headers)]
    assert routes(read, script) == [["q"] if fits else []]


def test_exchanges_in_a_circle(read: Read) -> None:
    script = [*declare("a", "fanout"), *declare("b", "direct"), *declare("c", "topic")]
    script += [
        *bind_exchange("b", "a"),
        *bind_exchange("c", "b", "k"),
        *bind_exchange("a", "c", "#"),
    ]
    script += [*bind("q", "c", "*"), *bind("r", "a"), send("b", "k"), send("b", "other"), send("a")]
    assert routes(read, script) == [["q", "r"], [], ["r"]]


def test_an_alternate_exchange(read: Read) -> None:
    alternate = {"alternate-exchange": "rest"}
    script = [*declare("a", "direct", arguments=alternate), *declare("rest", "fanout")]
    script += [*bind("q", "a", "k"), send("a", "k"), send("a", "other"), *bind("all", "rest")]
    script += [send("a", "k"), send("a", "other")]
    assert routes(read, script) == [["q"], None, ["q"], ["all"]]


def test_an_exchange_without_bindings_or_type_says_nothing(read: Read) -> None:
    script = [*declare("a", "fanout"), send("a"), send("b"), *bind("q", "b", "k"), send("b", "k")]
    script += [*declare("x", "x-consistent-hash"), *bind("q", "x", "1"), send("x", "k")]
    rows = read(packets([*START, *script]))
    assert published(rows) == [None, None, None, None]
    assert "unroutable" not in short(rows)


def test_predeclared_exchanges(read: Read) -> None:
    script = [
        *bind("q", "amq.topic", "a.#"),
        *bind("q", "amq.direct", "k"),
        *bind("r", "amq.match"),
    ]
    script += [send("amq.topic", "a.b"), send("amq.direct", "k"), send("amq.match")]
    assert routes(read, script) == [["q"], ["q"], ["r"]]


def test_what_ends_a_binding(read: Read) -> None:
    made = [*declare("a", "fanout"), *bind("q", "a"), *bind("r", "a")]
    for end, route in (
        (unbind("q", "a"), ["r"]),
        (unbind("q", "a", "another"), ["q", "r"]),
        (delete_queue("q"), ["r"]),
        (delete_exchange("a"), None),
        ([client(amqp.Queue.Unbind(queue="q", exchange="a"))], ["q", "r"]),
        ([client(amqp.Queue.Delete(queue="q", no_wait=True))], ["r"]),
    ):
        assert routes(read, [*made, *end, send("a")]) == [route], end


def test_a_bind_counts_when_it_is_answered(read: Read) -> None:
    asked = client(amqp.Queue.Bind(queue="r", exchange="a"))
    script = [*declare("a", "fanout"), *bind("q", "a"), asked, send("a")]
    script += [server(amqp.Queue.BindOk()), send("a")]
    assert routes(read, script) == [["q"], ["q", "r"]]
    refused = server(amqp.Channel.Close(reply_code=404, class_id=50, method_id=20))
    script = [*declare("a", "fanout"), *bind("q", "a"), asked, refused]
    script += [client(amqp.Channel.CloseOk()), *open_channel(), send("a")]
    assert routes(read, script) == [["q"]]


def test_a_queue_deletes_itself_without_its_last_consumer(read: Read) -> None:
    script = [
        *declare("a", "fanout"),
        *queue("q", auto_delete=True),
        *bind("q", "a"),
        *bind("r", "a"),
    ]
    script += [*consume("q", "one"), *consume("q", "two"), *cancel("one"), send("a")]
    script += [*cancel("two"), send("a")]
    assert routes(read, script) == [["q", "r"], ["r"]]


def test_an_exchange_deletes_itself_without_its_last_binding(read: Read) -> None:
    script = [*declare("a", "fanout"), *declare("b", "fanout", auto_delete=True)]
    script += [*bind_exchange("b", "a"), *bind("q", "b"), *bind("r", "a"), send("a")]
    script += [*unbind("q", "b"), send("a"), send("b")]
    assert routes(read, script) == [["q", "r"], ["r"], None]


def test_exchanges_that_delete_themselves_in_a_row(read: Read) -> None:
    names = [f"x{i}" for i in range(300)]
    script = [one for name in names for one in declare(name, "fanout", auto_delete=True)]
    for source, target in pairwise(names):
        script += bind_exchange(target, source)
    script += [*bind("q", names[-1]), send("x0"), *delete_queue("q"), send("x0")]
    assert routes(read, script) == [["q"], None]


def test_other_connections_bind_and_end(read: Read) -> None:
    two = [*login(), *open_channel()]
    mine = [*queue("mine", exclusive=True), *bind("mine", "a")]
    says = [*on(0, [*START, *declare("a", "fanout"), *bind("q", "a")]), *on(1, [*two, *mine])]
    says += [*on(0, [send("a")]), *on(1, close()), *on(0, [send("a")])]
    assert published(read(together(says))) == [["mine", "q"], ["q"]]


def test_a_queue_of_a_lost_connection(read: Read) -> None:
    two = [*login(), *open_channel(), *queue("mine", exclusive=True), *bind("mine", "a")]
    first = [*on(0, [*START, *declare("a", "fanout"), *bind("q", "a")]), *on(1, two)]
    talk = together([*first, *on(0, [send("a")])])
    own = [packet for packet in talk if (40001).to_bytes(2, "big") in packet[34:38]]
    end = finish(own, TO_SERVER, port=40001)
    last = together([*first, *on(0, [send("a"), send("a")])])[-1]
    assert published(read([*talk, end, last])) == [["mine", "q"], ["q"]]


def test_virtual_hosts_are_apart(read: Read) -> None:
    other = [
        client(amqp.Connection.Open(virtual_host="/other"), 0) if i == 5 else say
        for i, say in enumerate(login())
    ]
    says = [*on(0, [*START, *declare("a", "fanout"), *bind("q", "a")])]
    says += [*on(1, [*other, *open_channel(), send("a")]), *on(0, [send("a")])]
    assert published(read(together(says))) == [None, ["q"]]


def test_answers_repeat_no_route_that_is_inferred(read: Read) -> None:
    script = [*declare("a", "fanout"), *bind("q", "a"), *select(), send("a", name="m")]
    rows = read(packets([*START, *script, server(amqp.Basic.Ack(delivery_tag=1))]))
    assert short(rows[-2:-1], "event", "certainty", "message_id", "route", "queue") == [
        ("confirmed", "exact", "m", None, None)
    ]


def test_a_route_of_more_queues_than_a_row_holds(tmp_path: Any) -> None:
    from amqpcodec import capture
    from tests.support.event_talk import write

    script = [*START, *declare("a", "fanout")]
    for number in range(100):
        script += bind(f"{number:03}" + "q" * 200, "a")
    path = write(tmp_path / "a.pcap", packets([*script, send("a"), send("a")]))
    reader = capture.Reader(path, "event")
    rows = [row for batch in reader for row in batch.to_pylist()]
    assert published(rows) == [None, None]
    assert reader.stats()["forgotten"] == {"routes": 2}


def test_limits_are_counted(tmp_path: Any) -> None:
    from amqpcodec import capture
    from tests.support.event_talk import write

    script = [*START, *declare("a", "fanout"), *bind("q1", "a"), *bind("q2", "a"), send("a")]
    script += [*bind("q3", "a"), send("a"), *declare("b", "fanout"), *declare("c", "fanout")]
    path = write(tmp_path / "a.pcap", packets(script))
    reader = capture.Reader(path, "event", max_tracked=2)
    rows = [row for batch in reader for row in batch.to_pylist()]
    assert published(rows) == [["q1", "q2"], None]
    assert reader.stats()["forgotten"] == {"queues": 1, "exchanges": 1}


def test_virtual_hosts_are_bounded(tmp_path: Any) -> None:
    from amqpcodec import capture
    from tests.support.event_talk import write

    says: list[Any] = []
    for number in range(1026):
        opened = client(amqp.Connection.Open(virtual_host=f"v{number}"), 0)
        says += on(number, [*(opened if i == 5 else say for i, say in enumerate(START))])
        says += on(number, [*bind("q", "amq.fanout"), send("amq.fanout")])
    path = write(tmp_path / "a.pcap", together(says))
    reader = capture.Reader(path, "event")
    rows = [row for batch in reader for row in batch.to_pylist()]
    assert published(rows) == [["q"]] * 1024 + [None] * 2
    assert reader.stats()["forgotten"]["virtual_hosts"] >= 2


# ---- messages that no queue gets ----


def unroutable(rows: Iterable[dict[str, Any]]) -> list[Any]:
    return [(row["message_id"], row["certainty"]) for row in rows if row["event"] == "unroutable"]


def test_no_binding_fits(read: Read) -> None:
    script = [*declare("a", "direct"), *bind("q", "a", "k"), send("a", "k", name="one")]
    script += [send("a", "other", name="two"), send("a", "other", name="three", mandatory=True)]
    rows = read(packets([*START, *script]))
    assert unroutable(rows) == [("two", "inferred")]
    (row,) = [row for row in rows if row["event"] == "unroutable"]
    by_id = {one["event_id"]: one for one in rows}
    assert by_id[row["answers"]]["message_id"] == "two"
    assert (row["exchange"], row["routing_key"], row["initiator"]) == ("a", "other", "server")


def test_a_delivery_shows_that_a_binding_is_older_than_the_recording(read: Read) -> None:
    script = [*declare("a", "direct"), *bind("q", "a", "k"), *consume("r")]
    method = amqp.Basic.Deliver(
        consumer_tag="c1", delivery_tag=1, exchange="a", routing_key="other"
    )
    got = TO_CLIENT, amqp.encode_message(1, method, amqp.Basic.Properties(), b"x")
    script += [send("a", "other", name="one"), got, send("a", "other", name="two")]
    assert unroutable(read(packets([*START, *script]))) == [("one", "inferred")]


def test_a_binding_that_is_asked_for_may_fit(read: Read) -> None:
    asked = client(amqp.Queue.Bind(queue="q", exchange="a", routing_key="other"))
    script = [*declare("a", "direct"), *bind("q", "a", "k"), asked, send("a", "other", name="two")]
    assert unroutable(read(packets([*START, *script]))) == []


def test_a_recording_that_misses_something_says_nothing(read: Read) -> None:
    script = [*declare("a", "direct"), *bind("q", "a", "k"), send("a", "other", name="two")]
    assert unroutable(read(packets([*START, *script]))) == [("two", "inferred")]
    older = [*START, *consume("q"), *consume("q", "c2"), *consume("q", "c3")]
    talk = together([*on(1, older), *on(0, [*START, *script])])
    assert unroutable(read(talk)) == [("two", "inferred")]
    assert unroutable(read(talk[11:])) == []


def test_what_came_back_comes_back_again(read: Read) -> None:
    script = [send("a", "k", name="one", mandatory=True), give_back("a", "k", "one")]
    script += [send("a", "k", name="two"), send("a", "l", name="three"), *bind("q", "b", "x")]
    script += [send("a", "k", name="four")]
    rows = read(packets([*START, *script]))
    assert unroutable(rows) == [("two", "exact")]


def test_with_another_connection_it_is_inferred(read: Read) -> None:
    script = [send("a", "k", name="one", mandatory=True), give_back("a", "k", "one")]
    says = [*on(1, login()), *on(0, [*START, *script, send("a", "k", name="two")])]
    assert unroutable(read(together(says))) == [("two", "inferred")]


def test_a_default_exchange_without_the_queue(read: Read) -> None:
    script = [send("", "k", name="one", mandatory=True), give_back("", "k", "one")]
    script += [send("", "k", name="two"), *queue("k"), send("", "k", name="three")]
    rows = read(packets([*START, *script]))
    assert unroutable(rows) == [("two", "exact")]
    assert published(rows) == [["k"]] * 3


def returned(rows: Iterable[dict[str, Any]]) -> list[Any]:
    rows = list(rows)
    by_id = {row["event_id"]: row for row in rows}
    return [
        (by_id[row["answers"]]["message_id"] if "answers" in row else None, row["certainty"])
        for row in rows
        if row["event"] == "returned"
    ]


@pytest.mark.parametrize("start", [START, [*START, *select()]])
def test_a_return_answers_its_publish(start: list[Say], read: Read) -> None:
    script = [
        send("a", "k", name=name, mandatory=name != "three") for name in ("one", "two", "three")
    ]
    script += [give_back("a", "k", "two"), give_back("a", "k", "three"), give_back("a", "l", "one")]
    rows = read(packets([*start, *script]))
    assert returned(rows) == [("two", "exact"), (None, "unknown"), (None, "unknown")]
    (row,) = [row for row in rows if row["event"] == "returned" and "answers" in row]
    assert (row["reply_code"], row["message_id"], row["elapsed_us"]) == (312, "two", 2000)


def test_returns_of_messages_that_look_the_same(read: Read) -> None:
    """Their order says which: the last one alone is certain."""
    script = [send("a", "k", mandatory=True) for _ in range(3)] + [give_back("a", "k")] * 3
    rows = read(packets([*START, *script]))
    ids = [row["event_id"] for row in rows if row["event"] == "published"]
    assert [(row["answers"], row["certainty"]) for row in rows if row["event"] == "returned"] == [
        (ids[0], "inferred"),
        (ids[1], "inferred"),
        (ids[2], "exact"),
    ]


def test_a_confirmed_publish_does_not_come_back(read: Read) -> None:
    script = [*select(), send("a", "k", mandatory=True), server(amqp.Basic.Ack(delivery_tag=1))]
    script += [send("a", "k", mandatory=True), give_back("a", "k")]
    rows = read(packets([*START, *script]))
    ids = [row["event_id"] for row in rows if row["event"] == "published"]
    assert [(row["answers"], row["certainty"]) for row in rows if row["event"] == "returned"] == [
        (ids[1], "exact")
    ]


def test_publishes_without_confirms_are_bounded(read: Read) -> None:
    script = [send("a", "k", name=f"m{n}", mandatory=True) for n in range(400)]
    script += [give_back("a", "k", "m3"), give_back("a", "k", "m399")]
    assert returned(read(packets([*START, *script]))) == [(None, "unknown"), ("m399", "inferred")]


MISSING = amqp.Channel.Close(
    reply_code=404,
    reply_text="NOT_FOUND - no exchange 'gone' in vhost '/'",
    class_id=60,
    method_id=40,
)


def test_a_publish_that_ends_its_channel(read: Read) -> None:
    script = [*select(), send("there", name="one"), send("gone", name="two")]
    script += [send("gone", name="three"), server(MISSING)]
    rows = read(packets([*START, *script]))[-5:]
    assert short(rows, "event", "message_id", "certainty") == [
        ("channel-closed", None, "exact"),
        ("destroyed", "two", "inferred"),
        ("unconfirmed", "one", "exact"),
        ("unconfirmed", "three", "exact"),
        ("recording-ended", None, "exact"),
    ]


def test_without_confirms_the_only_publish_to_the_exchange_is_destroyed(read: Read) -> None:
    script = [send("there", name="one"), send("gone", name="two"), server(MISSING)]
    rows = read(packets([*START, *script]))
    assert [row["message_id"] for row in rows if row["event"] == "destroyed"] == ["two"]
    script = [send("gone", name="one"), send("gone", name="two"), server(MISSING)]
    assert "destroyed" not in short(read(packets([*START, *script])))


def test_no_publish_to_the_default_exchange_is_named_by_two_quotes(read: Read) -> None:
    text = "PRECONDITION_FAILED - user_id property set to '' but authenticated user was 'guest'"
    refusal = amqp.Channel.Close(reply_code=406, reply_text=text, class_id=60, method_id=40)
    script = [*select(), send("", name="one"), send("", name="two"), server(refusal)]
    rows = read(packets([*START, *script]))[-4:]
    assert short(rows, "event", "message_id") == [
        ("channel-closed", None),
        ("unconfirmed", "one"),
        ("unconfirmed", "two"),
        ("recording-ended", None),
    ]


@pytest.mark.parametrize("version", ["0-9", "0-8"])
def test_other_versions(version: str, read: Read) -> None:
    from amqpcodec import protocol

    old = protocol(version)

    def both(request: Any, reply: Any) -> list[Say]:
        return [(0, old.encode(1, request)), (1, old.encode(1, reply))]

    script: list[Say] = [(0, old.PROTOCOL_HEADER)]
    script += [(1, old.encode(0, old.Connection.Start(mechanisms=b"PLAIN", locales=b"en_US")))]
    script += [(0, old.encode(0, old.Connection.StartOk(mechanism="PLAIN", response=b"\0a\0b")))]
    script += [(1, old.encode(0, old.Connection.Tune(frame_max=131072)))]
    script += [(0, old.encode(0, old.Connection.TuneOk(frame_max=131072)))]
    script += [(0, old.encode(0, old.Connection.Open(virtual_host="/")))]
    script += [(1, old.encode(0, old.Connection.OpenOk()))]
    script += both(old.Channel.Open(), old.Channel.OpenOk())
    declared = old.Exchange.Declare(exchange="t", type="topic")
    script += both(declared, old.Exchange.DeclareOk())
    script += both(old.Queue.Bind(queue="q", exchange="t", routing_key="a.#"), old.Queue.BindOk())
    method = old.Basic.Publish(exchange="t", routing_key="a.b")
    script += [(0, old.encode_message(1, method, old.Basic.Properties(), b"x"))]
    assert published(read(packets(script))) == [["q"]]


def large(name: str) -> dict[str, Any]:
    """Arguments of more bytes than are kept."""
    return {"h": name, "filler": "f" * 3000}


def test_arguments_that_are_too_large_to_be_kept(read: Read) -> None:
    """How their exchange routes is not known, as it may be by them."""
    script = [*declare("a", "direct", arguments=large("a")), *bind("q", "a", "k"), send("a", "k")]
    script += [*declare("b", "headers"), *bind("q", "b", "", {"h": 1})]
    script += [*bind("r", "b", "", large("b")), send("b", "", {"h": 1})]
    script += [*declare("c", "direct"), *bind("q", "c", "k"), send("c", "k")]
    assert routes(read, script) == [None, None, ["q"]]


def test_an_exchange_of_another_type_is_another_one(read: Read) -> None:
    """The end of the one before was not seen, and so may other changes."""
    script = [*declare("a", "direct"), *bind("q", "a", "k"), send("a", "other", name="one")]
    script += [*declare("a", "fanout"), send("a", "k"), *bind("r", "a"), send("a", "k")]
    script += [*declare("b", "direct"), *bind("q", "b", "k"), send("b", "other", name="two")]
    rows = read(packets([*START, *script]))
    assert published(rows) == [[], None, ["r"], []]
    assert unroutable(rows) == [("one", "inferred")]


def test_a_binding_to_the_default_exchange_changes_nothing(read: Read) -> None:
    rows = read(packets([*START, *bind("q", "", "other"), send("", "other"), send("", "q")]))
    assert short(rows[2:3], "event", "queue", "routing_key") == [("bound", "q", "other")]
    assert published(rows) == [["other"], ["q"]]


def test_a_queue_that_is_deleted_without_its_name(read: Read) -> None:
    """It is the one that the channel declared last, of which no one knows: bindings may be gone."""
    script = [*declare("a", "direct"), *bind("q", "a", "k"), send("a", "other", name="one")]
    script += [*delete_queue(""), send("a", "other", name="two"), send("a", "k", name="three")]
    rows = read(packets([*START, *script]))
    assert short([row for row in rows if row["event"] == "deleted"], "queue") == [(None,)]
    assert unroutable(rows) == [("one", "inferred")]
    assert published(rows) == [[], [], ["q"]]


@pytest.mark.parametrize(("header", "routed"), [("CC", False), ("BCC", False), ("ACC", True)])
def test_headers_that_name_more_routes(header: str, routed: bool, read: Read) -> None:
    script = [*declare("a", "fanout"), *bind("q", "a"), send("a", headers={header: ["other"]})]
    assert routes(read, script) == [["q"] if routed else None]


def test_a_queue_whose_name_is_not_utf8_makes_a_route_null(read: Read) -> None:
    script = [*declare("a", "fanout"), *bind("q", "a"), *bind("\udcff", "a"), send("a", name="m")]
    rows = read(packets([*START, *script]))
    assert published(rows) == [None]


def test_a_return_answers_the_publish_with_its_body(read: Read) -> None:
    script = [send("a", "k", mandatory=True, body=body) for body in (b"1", b"2", b"33")]
    script += [give_back("a", "k", body=b"2"), give_back("a", "k", body=b"33")]
    rows = read(packets([*START, *script]))
    ids = [row["event_id"] for row in rows if row["event"] == "published"]
    assert [(row["answers"], row["certainty"]) for row in rows if row["event"] == "returned"] == [
        (ids[1], "exact"),
        (ids[2], "exact"),
    ]


@pytest.mark.parametrize("text", ["", "'", "''", "gone", "'other'"])
def test_a_close_that_names_no_exchange_destroys_nothing(text: str, read: Read) -> None:
    missing = amqp.Channel.Close(reply_code=404, reply_text=text, class_id=60, method_id=40)
    rows = read(packets([*START, send("gone", name="one"), server(missing)]))
    assert short(rows[2:-1]) == ["published", "channel-closed"]


@pytest.mark.parametrize(("is_lost", "certainty"), [(False, "exact"), (True, "inferred")])
def test_a_body_that_was_lost_proves_nothing(is_lost: bool, certainty: str, read: Read) -> None:
    """Of the message that comes back."""
    body = b"x" * 200
    side, returned_message = give_back("a", "k", body=body)
    at = returned_message.index(body)
    script = [*START, *select(), send("a", "k", mandatory=True, body=body)]
    script += [(side, returned_message[:at]), (side, returned_message[at:])]
    script.append(server(amqp.Heartbeat(), 0))
    talk = list(packets(script))
    if is_lost:
        del talk[-2]
    rows = read(talk)
    assert [row["certainty"] for row in rows if row["event"] == "returned"] == [certainty]
