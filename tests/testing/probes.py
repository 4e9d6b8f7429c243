"""What a broker does, as values: run on a real RabbitMQ and on amqpcodec.testing, and compared.

    python -m tests.testing.probes record      run on the RabbitMQ of AMQPCODEC_BROKER, and write
                                               tests/testing/rabbitmq.json
    python -m tests.testing.probes compare     run on amqpcodec.testing, and print what differs
    python -m tests.testing.probes table       the same, and write it into docs/guide/testing.md

A probe is a function of a Bench, which gives connections and names; what it returns is compared.
Names that are made for a run are replaced, so that runs compare.
"""

from __future__ import annotations

import json
import re
import secrets
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Any

from amqpcodec import v0_9_1 as amqp
from amqpcodec.session import ConsumerCancelled, Returned
from tests import live_broker
from tests.paths import REPO
from tests.testing.talk import Chan, Closed, Talk

RECORDING = REPO / "tests" / "testing" / "rabbitmq.json"
GUIDE = REPO / "docs" / "guide" / "testing.md"
BEGIN = "<!-- probes: written by python -m tests.testing.probes table -->"
END = "<!-- end of probes -->"
Probe = Callable[["Bench"], Any]
PROBES: dict[str, Probe] = {}


def probe(function: Probe) -> Probe:
    PROBES[function.__name__] = function
    return function


class Bench:
    """What a probe works with."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address
        self.prefix = f"probe-{secrets.token_hex(4)}"
        self.talks: list[Talk] = []

    def name(self, label: str) -> str:
        return f"{self.prefix}.{label}"

    def talk(self, **options: Any) -> Talk:
        talk = Talk(self.address, **options)
        self.talks.append(talk)
        return talk

    def channel(self) -> Chan:
        """A channel of a connection of its own."""
        return self.talk().channel()

    def normal(self, value: Any) -> Any:
        """A value as JSON has it, without names that are made for this run."""
        if isinstance(value, str):
            value = value.replace(self.prefix + ".", "").replace(self.prefix, "PREFIX")
            return re.sub(r"amq\.(gen|ctag)-[\w-]+", r"amq.\1-NAME", value)
        if isinstance(value, bytes):
            return self.normal(value.decode())
        if isinstance(value, list | tuple):
            return [self.normal(one) for one in value]
        if isinstance(value, dict):
            return {str(key): self.normal(one) for key, one in value.items()}
        return value if value is None or isinstance(value, bool | int | float) else str(value)

    def run(self, function: Probe) -> Any:
        try:
            return self.normal(function(self))
        except Closed as closed:
            return self.normal(f"{closed.kind} closed: {closed.reply_code} {closed.reply_text}")
        except TimeoutError:
            return "no answer"
        finally:
            for talk in self.talks:
                talk.line.close()
            self.clean()

    def clean(self) -> None:
        """Delete what the probe made."""
        names = [f"{self.prefix}.{label}" for label in "qrdxyzaeb"]
        with Talk(self.address) as talk:
            for name in names:
                for method in (amqp.Queue.Delete(name), amqp.Exchange.Delete(name)):
                    try:
                        talk.channel().ask(method)
                    except Closed:
                        pass


def closes(act: Callable[[], Any]) -> str:
    """What an act is refused with."""
    try:
        result = act()
    except Closed as closed:
        return f"{closed.kind} closed: {closed.reply_code} {closed.reply_text}"
    return f"accepted: {result!r}"


def at_last(ask: Callable[[], Any], expected: Any) -> Any:
    """What an act gives, once it is so; what it gives after 10 seconds, where it never is.

    RabbitMQ does after its answer what a broker in one process has done before.
    """
    deadline = time.monotonic() + 10
    while (result := ask()) != expected and time.monotonic() < deadline:
        time.sleep(0.02)
    return result


# ---- the way of a message ----


@probe
def round_trip_keeps_the_message(bench):
    ch = bench.channel().confirm()
    q = ch.queue(bench.name("q"))
    headers = {"n": 1, "t": "x", "f": 1.5, "b": True, "l": [1, "a"], "d": {"k": None}}
    outcome = ch.publish(b"body", q, content_type="text/plain", message_id="7", headers=headers)
    message = ch.get(q)
    properties = message.properties
    return [
        outcome, message.body, properties.content_type, properties.message_id,
        properties.headers, message.method.exchange, message.method.routing_key,
        message.method.redelivered, message.method.message_count,
    ]  # fmt: skip


@probe
def empty_and_large_bodies(bench):
    ch = bench.channel().confirm()
    q = ch.queue(bench.name("q"))
    for size in (0, 1, 131064, 400_000):
        ch.publish(b"x" * size, q)
    return [len(ch.get(q).body) for _ in range(4)]


@probe
def server_names_queues(bench):
    ch = bench.channel()
    return [ch.queue(exclusive=True).startswith("amq.gen-"), ch.get("")]


@probe
def empty_queue_name_without_a_declaration(bench):
    return closes(lambda: bench.channel().get(""))


@probe
def direct_exchange(bench):
    ch, x = bench.channel(), bench.name("x")
    ch.exchange(x)
    q = ch.queue(exclusive=True)
    ch.bind(q, x, "a")
    ch.bind(q, x, "b")
    ch.bind(q, x, "b")
    for key in ("a", "b", "c", ""):
        ch.publish(key.encode(), key, x)
    return ch.bodies(q)


@probe
def fanout_exchange(bench):
    ch, x = bench.channel(), bench.name("x")
    ch.exchange(x, "fanout")
    queues = [ch.queue(exclusive=True) for _ in range(2)]
    for q in queues:
        ch.bind(q, x, "whatever")
    ch.publish(b"m", "other", x)
    return [ch.bodies(q) for q in queues]


@probe
def topic_exchange(bench):
    ch, x = bench.channel(), bench.name("x")
    ch.exchange(x, "topic")
    result = {}
    keys = ("a", "a.b", "a.b.c", "b", "a.c.b", "", "a..b")
    for pattern in ("a.*", "a.#", "#", "*.b", "#.b", "a.#.b", "*", "a.*.b", ""):
        q = ch.queue(exclusive=True)
        ch.bind(q, x, pattern)
        for key in keys:
            ch.publish(key.encode() or b"(empty)", key, x)
        result[pattern] = ch.bodies(q)
        ch.ask(amqp.Queue.Delete(q))
    return result


@probe
def headers_exchange(bench):
    ch, x = bench.channel(), bench.name("x")
    ch.exchange(x, "headers")
    tables = {
        "all": {"x-match": "all", "a": 1, "b": "t"},
        "any": {"x-match": "any", "a": 1, "b": "t"},
        "default": {"a": 1},
        "present": {"a": None},
        "nothing": {},
    }
    sent = {
        "1": {"a": 1}, "2": {"b": "t"}, "3": {"a": 1, "b": "t", "c": 0}, "4": {"a": "1"},
        "5": {}, "6": {"a": True},
    }  # fmt: skip
    result = {}
    for name, table in tables.items():
        q = ch.queue(exclusive=True)
        ch.ask(amqp.Queue.Bind(q, x, "", arguments=table))
        for body, headers in sent.items():
            ch.publish(body.encode(), "", x, headers=headers)
        result[name] = ch.bodies(q)
        ch.ask(amqp.Queue.Delete(q))
    return result


@probe
def headers_are_equal_by_value(bench):
    ch, x = bench.channel(), bench.name("x")
    ch.exchange(x, "headers")
    second = datetime.fromtimestamp(1, UTC)
    values = [
        1, 1.0, Decimal(1), True, second, "a", b"a", [1], [1.0], ["a"], [b"a"], {"a": 1},
        {"a": 1.0}, 0, False, -0.0, "",
    ]  # fmt: skip
    result = []
    for expected in values:
        q = ch.queue(exclusive=True)
        ch.ask(amqp.Queue.Bind(q, x, "", arguments={"v": expected}))
        for number, value in enumerate(values):
            ch.publish(b"%d" % number, "", x, headers={"v": value})
        result.append(ch.bodies(q))
        ch.ask(amqp.Queue.Delete(q))
    return result


@probe
def exchange_to_exchange_and_back(bench):
    ch, x, y = bench.channel(), bench.name("x"), bench.name("y")
    ch.exchange(x, "fanout")
    ch.exchange(y, "fanout")
    ch.ask(amqp.Exchange.Bind(y, x, ""))
    ch.ask(amqp.Exchange.Bind(x, y, ""))
    q = ch.queue(exclusive=True)
    ch.bind(q, y)
    ch.publish(b"1", "", x)
    first = ch.bodies(q)
    ch.ask(amqp.Exchange.Unbind(y, x, ""))
    ch.publish(b"2", "", x)
    return [first, ch.bodies(q, 0.1)]


@probe
def unbinding(bench):
    ch, x = bench.channel(), bench.name("x")
    ch.exchange(x)
    q = ch.queue(exclusive=True)
    ch.bind(q, x, "k")
    ch.ask(amqp.Queue.Unbind(q, x, "k"))
    ch.ask(amqp.Queue.Unbind(q, x, "never bound"))
    ch.publish(b"m", "k", x)
    return ch.bodies(q, 0.1)


@probe
def alternate_exchange(bench):
    ch, x, a = bench.channel().confirm(), bench.name("x"), bench.name("a")
    ch.exchange(a, "fanout")
    ch.exchange(x, arguments={"alternate-exchange": a})
    q = ch.queue(exclusive=True)
    ch.bind(q, a)
    return [ch.publish(b"m", "nobody", x, mandatory=True), ch.bodies(q)]


@probe
def alternate_exchange_of_copies(bench):
    """It gets what no key of a message fits."""
    ch, x, a = bench.channel().confirm(), bench.name("x"), bench.name("a")
    ch.exchange(a, "fanout")
    ch.exchange(x, arguments={"alternate-exchange": a})
    q, r = ch.queue(exclusive=True), ch.queue(exclusive=True)
    ch.bind(q, a)
    ch.bind(r, x, "k")
    ch.publish(b"m", "nobody", x, headers={"CC": ["k"]})
    return [ch.bodies(q, 0.1), ch.bodies(r)]


@probe
def copies_by_cc_and_bcc(bench):
    ch = bench.channel()
    first, second, third = (ch.queue(exclusive=True) for _ in range(3))
    ch.publish(b"m", first, headers={"CC": [second], "BCC": [third, first]})
    messages = [ch.get(q, seconds=1) for q in (first, second, third)]
    return [sorted(message.properties.headers) for message in messages]


@probe
def cc_that_is_no_list(bench):
    ch = bench.channel()
    ch.publish(b"m", "k", headers={"CC": "x"})
    return closes(ch.wait_closed)


@probe
def dead_letters_go_to_bcc_again(bench):
    ch = bench.channel().confirm()
    q = ch.queue(bench.name("q"), arguments={"x-dead-letter-exchange": ""})
    ch.publish(b"m", bench.name("nobody"), headers={"BCC": [q]})
    ch.channel.reject(ch.get(q, no_ack=False).method.delivery_tag, requeue=False)
    message = ch.get(q, seconds=1)
    return [message.method.routing_key, message.properties.headers["x-death"][0]["routing-keys"]]


@probe
def dead_letters_come_after_the_publication(bench):
    ch = bench.channel().confirm()
    limits = {"x-max-length": 0, "x-dead-letter-exchange": ""}
    q, r = ch.queue(bench.name("q"), arguments=limits), ch.queue(bench.name("r"))
    ch.publish(b"m", q, headers={"CC": [r]})
    at_last(lambda: ch.ready(r), 2)
    return ["x-death" in ch.get(r).properties.headers for _ in range(2)]


# ---- confirms and returns ----


@probe
def confirms_and_returns(bench):
    ch = bench.channel().confirm()
    q = ch.queue(bench.name("q"))
    outcomes = [
        ch.publish(b"m", q, mandatory=True),
        ch.publish(b"m", bench.name("nobody"), mandatory=True),
        ch.publish(b"m", bench.name("nobody")),
    ]
    returned = [event.message for event in ch.talk.events if isinstance(event, Returned)]
    return [outcomes, [(one.method.reply_code, one.method.reply_text) for one in returned]]


@probe
def the_return_comes_before_the_confirm(bench):
    ch = bench.channel().confirm()
    ch.publish(b"m", bench.name("nobody"), mandatory=True)
    return [type(event).__name__ for event in ch.talk.events[-2:]]


@probe
def publish_to_an_exchange_that_is_missing(bench):
    ch = bench.channel().confirm()
    return closes(lambda: ch.publish(b"m", "k", bench.name("x")))


@probe
def publish_to_an_internal_exchange(bench):
    ch, x = bench.channel().confirm(), bench.name("x")
    ch.exchange(x, internal=True)
    return closes(lambda: ch.publish(b"m", "k", x))


@probe
def publish_with_immediate(bench):
    ch = bench.channel()
    ch.channel.send(amqp.Basic.Publish("", "k", immediate=True), None, b"m")
    return closes(ch.wait_closed)


@probe
def publish_as_someone_else(bench):
    ch = bench.channel().confirm()
    return [
        ch.publish(b"m", "k", user_id="guest"),
        closes(lambda: ch.publish(b"m", "k", user_id="x")),
    ]


@probe
def publish_with_a_bad_expiration(bench):
    return [
        closes(lambda text=text: bench.channel().confirm().publish(b"m", "k", expiration=text))
        for text in ("soon", "", "-1", "+5", "1.5", " 5", "5 ", "315360000000", "315360000001")
    ]


@probe
def returned_without_bcc(bench):
    ch = bench.channel().confirm()
    headers = {"CC": [bench.name("nobody")], "BCC": [bench.name("no one")], "a": 1}
    ch.publish(b"m", "k", mandatory=True, headers=headers)
    return [
        event.message.properties.headers for event in ch.talk.events if isinstance(event, Returned)
    ]


# ---- declarations ----


@probe
def arguments_are_looked_at_in_an_order(bench):
    wrong = {"x-queue-mode": "fast", "x-delivery-limit": 1, "x-message-ttl": -1}
    classic, quorum = {"x-queue-type": "classic"}, {"x-queue-type": "quorum"}
    others = {"x-message-ttl": 0, "x-expires": 60_000, "x-dead-letter-exchange": ""}
    q = bench.channel().queue(bench.name("q"))
    r = bench.channel().queue(bench.name("r"), arguments=quorum)
    return [
        closes(lambda: bench.channel().queue(bench.name("x"), arguments=wrong)),
        closes(lambda: bench.channel().queue(bench.name("x"), arguments={**wrong, **quorum})),
        closes(lambda: bench.channel().queue(q, arguments=wrong)),
        closes(lambda: bench.channel().queue(q, arguments={**others, **quorum})),
        closes(lambda: bench.channel().queue(r, arguments={**others, **classic})),
        closes(lambda: bench.channel().queue(q, arguments={"x-single-active-consumer": True})),
        closes(lambda: bench.channel().exchange("amq.direct", arguments={"alternate-exchange": 1})),
        closes(lambda: bench.channel().queue(exclusive=True, arguments={"x-expires": 0})),
    ]


@probe
def empty_queue_names(bench):
    ch, x = bench.channel(), bench.name("x")
    ch.queue(exclusive=True)
    return [
        closes(lambda: bench.channel().bind("", x)),
        closes(lambda: bench.channel().ask(amqp.Queue.Unbind("", x, "k"))),
        closes(lambda: bench.channel().ask(amqp.Queue.Delete(""))),
        closes(lambda: ch.queue("", passive=True)),
    ]


@probe
def exclusive_queues_are_not_durable(bench):
    ch = bench.channel()
    q = ch.queue(bench.name("q"), exclusive=True, durable=True)
    return closes(lambda: ch.queue(q, exclusive=True))


@probe
def unbinding_a_queue_of_others(bench):
    ch, x = bench.channel(), bench.name("x")
    ch.exchange(x)
    q = ch.queue(bench.name("q"), exclusive=True)
    ch.bind(q, x, "k")
    unbinds = [amqp.Queue.Unbind(q, x, key) for key in ("other", "k")]
    return [closes(lambda method=method: bench.channel().ask(method)) for method in unbinds]


@probe
def channels_that_are_not_open(bench):
    ch, other = bench.channel(), bench.channel()
    other.smuggle(amqp.Channel.Open())
    ch.talk.line.sendall(amqp.encode(9, amqp.Basic.Ack(1)))
    return [closes(one.wait_closed) for one in (ch, other)]


@probe
def passive_declarations_of_what_is_missing(bench):
    return [
        closes(lambda: bench.channel().queue(bench.name("q"), passive=True)),
        closes(lambda: bench.channel().exchange(bench.name("x"), passive=True)),
    ]


def redeclared(bench: Bench, first: dict, second: dict) -> str:
    q = bench.channel().queue(bench.name("q"), **first)
    result = closes(lambda: bench.channel().queue(q, **second))
    bench.channel().ask(amqp.Queue.Delete(q))
    return result


@probe
def queues_declared_again_with_other_arguments(bench):
    ttl = {"x-message-ttl": 5000}
    return [
        redeclared(bench, {}, {"durable": False}),
        redeclared(bench, {}, {"auto_delete": True}),
        redeclared(bench, {}, {"exclusive": True}),
        redeclared(bench, {}, {"arguments": ttl}),
        redeclared(bench, {"arguments": ttl}, {}),
        redeclared(bench, {"arguments": ttl}, {"arguments": {"x-message-ttl": 6000}}),
        redeclared(bench, {"arguments": ttl}, {"arguments": dict(ttl)}).partition(":")[0],
    ]


@probe
def exchanges_declared_again_otherwise(bench):
    x = bench.name("x")
    bench.channel().exchange(x, durable=True)
    return [
        closes(lambda: bench.channel().exchange(x, "topic", durable=True)),
        closes(lambda: bench.channel().exchange(x)),
        closes(lambda: bench.channel().exchange(x, durable=True, auto_delete=True)),
        closes(lambda: bench.channel().exchange(x, durable=True, internal=True)),
        closes(
            lambda: bench.channel().exchange(x, durable=True, arguments={"alternate-exchange": "a"})
        ),
    ]


@probe
def names_that_are_reserved(bench):
    return [
        closes(lambda: bench.channel().queue("amq.mine")),
        closes(lambda: bench.channel().exchange("amq.mine")),
        closes(lambda: bench.channel().exchange("")),
        closes(lambda: bench.channel().bind(bench.channel().queue(bench.name("q")), "")),
        closes(lambda: bench.channel().ask(amqp.Exchange.Delete("amq.direct"))),
        closes(lambda: bench.channel().ask(amqp.Exchange.Delete(""))),
    ]


@probe
def exchange_type_that_is_missing(bench):
    return closes(lambda: bench.channel().exchange(bench.name("x"), "x-nothing"))


@probe
def arguments_with_bad_values(bench):
    bad = [
        {"x-message-ttl": -1}, {"x-message-ttl": "5"}, {"x-expires": 0}, {"x-max-length": -1},
        {"x-max-priority": 256}, {"x-dead-letter-routing-key": "k"}, {"x-overflow": "other"},
        {"x-dead-letter-exchange": 5}, {"x-expires": 315360000001}, {"x-max-length": 1.5},
        {"x-max-priority": True}, {"x-max-length-bytes": None}, {"x-message-ttl": b"5"},
        {"x-overflow": 5}, {"x-queue-mode": "odd"}, {"x-queue-mode": 1}, {"x-queue-version": 3},
        {"x-queue-version": True}, {"x-queue-version": -1}, {"x-queue-type": "odd"},
        {"x-queue-type": 5}, {"x-single-active-consumer": "yes"}, {"x-delivery-limit": 5},
        {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": 5},
        {"x-queue-type": "quorum", "x-max-priority": 5},
    ]  # fmt: skip
    return [
        closes(lambda table=table: bench.channel().queue(bench.name("q"), arguments=table))
        for table in bad
    ]


@probe
def arguments_of_others_with_bad_values(bench):
    ch = bench.channel()
    x, y, q = bench.name("x"), bench.name("y"), ch.queue(exclusive=True)
    ch.exchange(x, "headers")

    def bind(mode):
        bench.channel().ask(amqp.Queue.Bind(r, x, "", arguments={"x-match": mode}))

    r = ch.queue(bench.name("r"))
    return [
        *[closes(lambda mode=mode: bind(mode)) for mode in ("odd", 5)],
        *[
            closes(
                lambda value=value: ch.talk.channel().consume(q, arguments={"x-priority": value})
            )
            for value in ("a", 1.5, b"x")
        ],
        closes(lambda: bench.channel().exchange(y, arguments={"alternate-exchange": b"x"})),
    ]


@probe
def classic_queues_need_no_type(bench):
    q, classic, quorum = bench.name("q"), {"x-queue-type": "classic"}, {"x-queue-type": "quorum"}
    outcomes = []
    for first, second in (
        (classic, {}), ({}, classic), (quorum, {}), ({}, quorum), (quorum, classic),
        ({**classic, "x-max-length": 1}, {"x-max-length": 2}),
    ):  # fmt: skip
        ch = bench.channel()
        ch.queue(q, arguments=first)
        outcomes.append(closes(lambda table=second: bench.channel().queue(q, arguments=table)))
        ch.ask(amqp.Queue.Delete(q))
    return outcomes


@probe
def names_lose_their_line_ends(bench):
    ch = bench.channel()
    ch.exchange("\r" + bench.name("x") + "\n")
    ch.exchange(bench.name("x"), passive=True)
    return [ch.queue(f"{bench.name('q')}\r\n"), ch.queue("\n", exclusive=True)]


@probe
def unbinding_what_is_missing(bench):
    q, nobody = bench.channel().queue(bench.name("q")), bench.name("nobody")
    methods = [
        amqp.Queue.Unbind(q, nobody, "k"), amqp.Queue.Unbind(nobody, "amq.direct", "k"),
        amqp.Queue.Unbind(nobody, nobody, "k"), amqp.Queue.Unbind(q, "", "k"),
        amqp.Queue.Unbind("", "amq.direct", "k"), amqp.Exchange.Unbind(nobody, "amq.direct", "k"),
        amqp.Exchange.Unbind("amq.direct", nobody, "k"), amqp.Exchange.Unbind("", "amq.direct"),
        amqp.Exchange.Unbind("amq.direct", ""), amqp.Queue.Bind(nobody, "other", "k"),
        amqp.Exchange.Bind(nobody, "other", "k"), amqp.Queue.Bind(nobody, "", "k"),
    ]  # fmt: skip
    return [closes(lambda method=method: bench.channel().ask(method)) for method in methods]


@probe
def exclusive_queues(bench):
    ch = bench.channel()
    q = ch.queue(bench.name("q"), exclusive=True)
    others = [
        closes(lambda: bench.channel().queue(q, passive=True)),
        closes(lambda: bench.channel().consume(q)),
        closes(lambda: bench.channel().ask(amqp.Queue.Delete(q))),
    ]
    ch.talk.close()
    gone = f"channel closed: 404 NOT_FOUND - no queue '{q}' in vhost '/'"
    return [others, at_last(lambda: closes(lambda: bench.channel().queue(q, passive=True)), gone)]


@probe
def auto_delete_queue(bench):
    ch = bench.channel()
    q = ch.queue(bench.name("q"), auto_delete=True, durable=False)
    counts = [ch.ready(q)]
    consumer = ch.consume(q)
    ch.ask(amqp.Basic.Cancel(consumer.tag))
    gone = f"channel closed: 404 NOT_FOUND - no queue '{q}' in vhost '/'"
    return [counts, at_last(lambda: closes(lambda: bench.channel().ready(q)), gone)]


@probe
def auto_delete_exchange(bench):
    ch, x = bench.channel(), bench.name("x")
    ch.exchange(x, auto_delete=True)
    q = ch.queue(exclusive=True)
    ch.bind(q, x, "k")
    ch.ask(amqp.Queue.Delete(q))
    return closes(lambda: ch.exchange(x, passive=True))


@probe
def deletions_with_conditions(bench):
    ch = bench.channel().confirm()
    q, x = ch.queue(bench.name("q")), bench.name("x")
    ch.exchange(x)
    ch.bind(q, x, "k")
    ch.publish(b"m", q)
    not_empty = closes(lambda: bench.channel().ask(amqp.Queue.Delete(q, if_empty=True)))
    bound = closes(lambda: bench.channel().ask(amqp.Exchange.Delete(x, if_unused=True)))
    ch.consume(q)
    used = closes(lambda: bench.channel().ask(amqp.Queue.Delete(q, if_unused=True)))
    return [not_empty.replace("is not empty", "not empty"), bound, used]


@probe
def deleting_what_is_missing(bench):
    ch = bench.channel()
    return [
        repr(ch.ask(amqp.Queue.Delete(bench.name("q")))),
        repr(ch.ask(amqp.Exchange.Delete(bench.name("x")))),
    ]


@probe
def purging_counts_what_waits(bench):
    ch = bench.channel().confirm()
    q = ch.queue(bench.name("q"))
    for _ in range(3):
        ch.publish(b"m", q)
    ch.get(q, no_ack=False)
    return [ch.ask(amqp.Queue.Purge(q)).message_count, ch.ready(q)]


@probe
def quorum_queue_properties(bench):
    quorum = {"x-queue-type": "quorum"}
    q = bench.name("q")
    return [
        closes(lambda: bench.channel().queue(q, durable=False, arguments=quorum)),
        closes(lambda: bench.channel().queue(q, exclusive=True, arguments=quorum)),
        closes(lambda: bench.channel().queue(q, auto_delete=True, arguments=quorum)),
    ]


# ---- consumers ----


@probe
def consumers_take_turns(bench):
    ch = bench.channel().confirm()
    q = ch.queue(bench.name("q"))
    channels = [bench.channel() for _ in range(2)]
    for one in channels:
        one.consume(q, no_ack=True)
    for number in range(6):
        ch.publish(b"%d" % number, q)
    return sorted(len(one.deliveries(3)) for one in channels)


@probe
def prefetch_of_a_consumer(bench):
    ch = bench.channel().confirm()
    q = ch.queue(bench.name("q"))
    for number in range(6):
        ch.publish(b"%d" % number, q)
    ch.ask(amqp.Basic.Qos(0, 2))
    ch.consume(q)
    first = len(ch.deliveries(2))
    ch.channel.ack(1)
    second = len(ch.deliveries(3))
    ch.channel.ack(3, multiple=True)
    return [first, second, len(ch.deliveries(5))]


@probe
def prefetch_counts_each_consumer_alone(bench):
    ch = bench.channel().confirm()
    q, r = ch.queue(bench.name("q")), ch.queue(bench.name("r"))
    for number in range(5):
        ch.publish(b"%d" % number, q)
        ch.publish(b"%d" % number, r)
    ch.ask(amqp.Basic.Qos(0, 2))
    ch.consume(q)
    ch.consume(r)
    return len(ch.deliveries(4))


@probe
def global_prefetch_is_shared(bench):
    ch = bench.channel().confirm()
    q, r = ch.queue(bench.name("q")), ch.queue(bench.name("r"))
    for number in range(5):
        ch.publish(b"%d" % number, q)
        ch.publish(b"%d" % number, r)
    ch.ask(amqp.Basic.Qos(0, 3, True))
    ch.consume(q)
    ch.consume(r)
    before = len(ch.deliveries(3))
    ch.channel.ack(1)
    return [before, len(ch.deliveries(4))]


@probe
def global_prefetch_counts_what_was_got(bench):
    ch = bench.channel().confirm()
    q = ch.queue(bench.name("q"))
    for number in range(2):
        ch.publish(b"%d" % number, q)
    tag = ch.get(q, no_ack=False).method.delivery_tag
    ch.ask(amqp.Basic.Qos(0, 1, True))
    ch.consume(q, no_ack=True)
    first = len(ch.deliveries(0))
    ch.channel.ack(tag)
    return [first, len(ch.deliveries(0))]


@probe
def prefetch_in_bytes(bench):
    return closes(lambda: bench.channel().ask(amqp.Basic.Qos(100, 0)))


@probe
def requeued_messages_are_too_many_or_too_old(bench):
    result = []
    for label, arguments in (("q", {"x-max-length": 1}), ("r", {"x-message-ttl": 0})):
        ch = bench.channel().confirm()
        q = ch.queue(bench.name(label), arguments=arguments)
        ch.consume(q)
        ch.channel.send(amqp.Basic.Qos(0, 1, True))
        ch.publish(b"first", q)
        ch.deliveries(1)
        ch.publish(b"second", q)
        ch.talk.close()
        result.append(bench.channel().bodies(q))
    return result


@probe
def requeued_messages_go_back_to_their_place(bench):
    ch = bench.channel().confirm()
    q = ch.queue(bench.name("q"))
    for number in range(4):
        ch.publish(b"%d" % number, q)
    tags = [ch.get(q, no_ack=False).method.delivery_tag for _ in range(3)]
    ch.channel.nack(tags[1])
    ch.channel.reject(tags[0])
    at_last(lambda: ch.ready(q), 3)
    messages = [ch.get(q) for _ in range(3)]
    return [(one.body, one.method.redelivered) for one in messages]


@probe
def unacknowledged_messages_come_back(bench):
    ch = bench.channel().confirm()
    q = ch.queue(bench.name("q"))
    for number in range(3):
        ch.publish(b"%d" % number, q)
    other = bench.channel()
    other.consume(q)
    other.deliveries(3)
    other.channel.ack(2)
    other.talk.drain()
    other.talk.line.close()
    at_last(lambda: ch.ready(q), 2)
    return [(one.body, one.method.redelivered) for one in (ch.get(q), ch.get(q))]


@probe
def recovering(bench):
    ch = bench.channel().confirm()
    q = ch.queue(bench.name("q"))
    ch.publish(b"m", q)
    ch.consume(q)
    ch.deliveries(1)
    ch.ask(amqp.Basic.Recover(True))
    again = [one.method.redelivered for one in ch.deliveries(2)]
    return [again, closes(lambda: ch.ask(amqp.Basic.Recover(False)))]


@probe
def recovered_by_consumer(bench):
    """The messages of each consumer come back together, in the order of their tags."""
    ch = bench.channel().confirm()
    q = ch.queue(bench.name("q"))
    for tag in ("second", "first"):
        ch.consume(q, consumer_tag=tag)
    for number in range(4):
        ch.publish(b"%d" % number, q)
    ch.deliveries(4)
    ch.ask(amqp.Basic.Recover(True))
    return [(one.method.consumer_tag, one.body) for one in ch.deliveries(8)]


@probe
def unknown_delivery_tag(bench):
    ch = bench.channel()
    ch.smuggle(amqp.Basic.Ack(7))
    return closes(ch.wait_closed)


@probe
def consumer_cancelled_as_its_queue_is_deleted(bench):
    ch = bench.channel()
    q = ch.queue(bench.name("q"))
    consumer = ch.consume(q)
    bench.channel().ask(amqp.Queue.Delete(q))
    ch.talk.drain(0.3)
    events = [event for event in ch.talk.events if isinstance(event, ConsumerCancelled)]
    return [event.consumer is consumer for event in events]


@probe
def queue_is_deleted_before_its_consumers_end(bench):
    ch = bench.channel()
    q = ch.queue(bench.name("q"))
    for tag in ("second", "first"):
        ch.consume(q, consumer_tag=tag)
    first = len(ch.talk.events)
    ch.ask(amqp.Queue.Delete(q))
    ch.talk.drain(0.3)
    return [
        event.consumer.tag if isinstance(event, ConsumerCancelled) else type(event).__name__
        for event in ch.talk.events[first:]
    ]


@probe
def exclusive_consumer(bench):
    ch = bench.channel()
    q = ch.queue(bench.name("q"))
    ch.consume(q, exclusive=True)
    first = closes(lambda: bench.channel().consume(q))
    r = ch.queue(bench.name("r"))
    ch.consume(r)
    return [first, closes(lambda: bench.channel().consume(r, exclusive=True))]


@probe
def exclusive_consumers_of_other_queues(bench):
    active, quorum = {"x-single-active-consumer": True}, {"x-queue-type": "quorum"}
    outcomes = []
    for name, arguments in (("q", active), ("r", quorum), ("d", quorum | active)):
        q = bench.channel().queue(bench.name(name), arguments=arguments)
        for options in ({"exclusive": True}, {}):
            consume = partial(bench.channel().consume, q, **options)
            outcomes.append(closes(lambda act=consume: bool(act())))
    return outcomes


@probe
def single_active_consumer(bench):
    ch = bench.channel().confirm()
    q = ch.queue(bench.name("q"), arguments={"x-single-active-consumer": True})
    first, second = bench.channel(), bench.channel()
    consumer = first.consume(q, no_ack=True)
    second.consume(q, no_ack=True)
    for _ in range(3):
        ch.publish(b"m", q)
    before = [len(first.deliveries(3)), len(second.deliveries(0))]
    first.ask(amqp.Basic.Cancel(consumer.tag))
    ch.publish(b"m", q)
    return [before, len(second.deliveries(1))]


@probe
def consumers_with_priority_come_first(bench):
    ch = bench.channel().confirm()
    q = ch.queue(bench.name("q"))
    low, high = bench.channel(), bench.channel()
    low.consume(q, no_ack=True)
    high.ask(amqp.Basic.Qos(0, 2))
    high.consume(q, arguments={"x-priority": 5})
    for _ in range(4):
        ch.publish(b"m", q)
    return [len(high.deliveries(2)), len(low.deliveries(2))]


@probe
def consumer_tag_that_is_in_use(bench):
    ch = bench.channel()
    q = ch.queue(bench.name("q"))
    ch.consume(q, consumer_tag="c")
    ch.smuggle(amqp.Basic.Consume(q, "c"))
    return closes(ch.wait_closed)


@probe
def consuming_what_is_missing(bench):
    return closes(lambda: bench.channel().consume(bench.name("q")))


@probe
def cancelling_an_unknown_consumer(bench):
    ch = bench.channel()
    q = ch.queue(exclusive=True)
    consumer = ch.consume(q)
    ch.ask(amqp.Basic.Cancel(consumer.tag))
    ch.smuggle(amqp.Basic.Cancel("nobody", no_wait=True))
    return ch.ready(q)


@probe
def flow_that_stops(bench):
    ch = bench.channel()
    return [repr(ch.ask(amqp.Channel.Flow(True))), closes(lambda: ch.ask(amqp.Channel.Flow(False)))]


# ---- limits, times, dead letters ----


def dead_lettering(bench: Bench, **arguments: Any) -> tuple[Chan, str, str]:
    """A channel, a queue, and the queue of its dead letters."""
    ch = bench.channel().confirm()
    d = ch.queue(bench.name("d"))
    table = {
        "x-dead-letter-exchange": "",
        "x-dead-letter-routing-key": d,
        **{f"x-{name.replace('_', '-')}": value for name, value in arguments.items()},
    }
    return ch, ch.queue(bench.name("q"), arguments=table), d


def deaths(message: Any) -> Any:
    """What the headers of a dead letter say, without the time."""
    headers = message.properties.headers
    entries = [
        {name: value for name, value in death.items() if name != "time"}
        for death in headers["x-death"]
    ]
    first = {name: value for name, value in headers.items() if name.startswith("x-first")}
    return [entries, first, message.properties.expiration]


@probe
def dead_letter_of_a_rejected_message(bench):
    ch, q, d = dead_lettering(bench)
    ch.publish(b"m", q, headers={"mine": 1})
    ch.channel.reject(ch.get(q, no_ack=False).method.delivery_tag, requeue=False)
    message = ch.get(d, seconds=2)
    method = message.method
    return [
        deaths(message),
        message.properties.headers["mine"],
        method.exchange,
        method.routing_key,
    ]


@probe
def dead_letter_of_an_expired_message(bench):
    ch, q, d = dead_lettering(bench)
    ch.publish(b"m", q, expiration="50")
    return deaths(ch.get(d, seconds=3))


@probe
def dead_letter_of_a_queue_with_ttl(bench):
    ch, q, d = dead_lettering(bench, message_ttl=50)
    ch.publish(b"m", q)
    return deaths(ch.get(d, seconds=3))


@probe
def dead_letter_of_a_full_queue(bench):
    ch, q, d = dead_lettering(bench, max_length=2)
    for number in range(4):
        ch.publish(b"%d" % number, q)
    first = ch.get(d, seconds=2)
    return [first.body, deaths(first), ch.bodies(q)]


@probe
def a_message_that_dies_twice(bench):
    ch, q, d = dead_lettering(bench)
    ch.publish(b"m", q)
    for _ in range(2):
        ch.channel.nack(ch.get(q, no_ack=False, seconds=2).method.delivery_tag, requeue=False)
        message = ch.get(d, seconds=2)
        ch.publish(message.body, q, headers=message.properties.headers)
    message = ch.get(q, seconds=2)
    return deaths(message)


@probe
def dead_letters_through_an_exchange_keep_their_key(bench):
    ch, x = bench.channel().confirm(), bench.name("x")
    ch.exchange(x, "topic")
    d = ch.queue(bench.name("d"))
    ch.bind(d, x, "#")
    q = ch.queue(bench.name("q"), arguments={"x-dead-letter-exchange": x})
    ch.publish(b"m", q)
    ch.channel.reject(ch.get(q, no_ack=False).method.delivery_tag, requeue=False)
    message = ch.get(d, seconds=2)
    return [message.method.exchange, message.method.routing_key]


@probe
def dead_letters_that_go_in_circles_are_dropped(bench):
    ch = bench.channel().confirm()
    q = bench.name("q")
    table = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": q, "x-message-ttl": 50}
    ch.queue(q, arguments=table)
    ch.publish(b"m", q)
    return at_last(lambda: ch.ready(q), 0)


@probe
def rejected_dead_letters_may_go_in_circles(bench):
    ch = bench.channel().confirm()
    q = bench.name("q")
    ch.queue(q, arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": q})
    ch.publish(b"m", q)
    ch.channel.reject(ch.get(q, no_ack=False).method.delivery_tag, requeue=False)
    return deaths(ch.get(q, seconds=2))


@probe
def dead_letters_without_their_exchange(bench):
    ch = bench.channel().confirm()
    q = ch.queue(bench.name("q"), arguments={"x-dead-letter-exchange": bench.name("x")})
    ch.publish(b"m", q)
    ch.channel.reject(ch.get(q, no_ack=False).method.delivery_tag, requeue=False)
    return ch.ready(q)


@probe
def expired_messages_behind_others_wait(bench):
    ch, q, d = dead_lettering(bench)
    ch.publish(b"long", q, expiration="5000")
    ch.publish(b"short", q, expiration="50")
    time.sleep(0.4)
    return [ch.ready(q), ch.bodies(d, 0.1), ch.bodies(q)]


@probe
def expiration_of_zero(bench):
    ch = bench.channel().confirm()
    q = ch.queue(bench.name("q"))
    ch.publish(b"m", q, expiration="0")
    waits = at_last(lambda: ch.ready(q), 0)
    ch.consume(q, no_ack=True)
    ch.publish(b"n", q, expiration="0")
    return [waits, [one.body for one in ch.deliveries(1)]]


@probe
def full_queue_drops_its_head(bench):
    ch = bench.channel().confirm()
    q = ch.queue(bench.name("q"), arguments={"x-max-length": 2})
    outcomes = [ch.publish(b"%d" % number, q) for number in range(4)]
    return [outcomes, ch.bodies(q)]


@probe
def full_queue_that_refuses(bench):
    table = {"x-max-length": 2, "x-overflow": "reject-publish"}
    ch = bench.channel().confirm()
    q = ch.queue(bench.name("q"), arguments=table)
    outcomes = [ch.publish(b"%d" % number, q) for number in range(4)]
    return [outcomes, ch.bodies(q)]


@probe
def full_queue_that_dead_letters_what_it_refuses(bench):
    ch, q, d = dead_lettering(bench, max_length=1, overflow="reject-publish-dlx")
    outcomes = [ch.publish(b"%d" % number, q) for number in range(3)]
    messages = [ch.get(d, seconds=1) for _ in range(2)]
    return [outcomes, ch.bodies(q), [(one.body, deaths(one)[0]) for one in messages]]


@probe
def queue_that_is_full_by_bytes(bench):
    ch = bench.channel().confirm()
    q = ch.queue(bench.name("q"), arguments={"x-max-length-bytes": 10})
    for body in (b"12345", b"67890", b"x", b"a longer one than there is room for"):
        ch.publish(body, q)
    return ch.bodies(q, 0.1)


@probe
def priorities(bench):
    ch = bench.channel().confirm()
    q = ch.queue(bench.name("q"), arguments={"x-max-priority": 3})
    for priority in (0, 2, None, 1, 9, 3, 2):
        ch.publish(str(priority).encode(), q, priority=priority)
    return ch.bodies(q)


@probe
def message_that_overtakes_others_expires_late(bench):
    ch = bench.channel().confirm()
    q = ch.queue(bench.name("q"), arguments={"x-max-priority": 5})
    ch.publish(b"low", q)
    ch.publish(b"high", q, priority=5, expiration="1")
    time.sleep(0.2)
    return [ch.ready(q), ch.bodies(q)]


@probe
def queue_that_expires(bench):
    ch = bench.channel()
    q = ch.queue(bench.name("q"), arguments={"x-expires": 1000})
    counts = [ch.ready(q)]
    time.sleep(2)
    return [counts, closes(lambda: ch.ready(q))]


@probe
def queue_with_a_consumer_does_not_expire(bench):
    ch = bench.channel()
    q = ch.queue(bench.name("q"), arguments={"x-expires": 100})
    ch.consume(q)
    time.sleep(0.4)
    return ch.ready(q)


@probe
def quorum_queue_counts_deliveries(bench):
    ch = bench.channel().confirm()
    q = ch.queue(bench.name("q"), arguments={"x-queue-type": "quorum", "x-delivery-limit": 2})
    ch.publish(b"m", q)
    counts = []
    for _ in range(3):
        message = ch.get(q, no_ack=False, seconds=1)
        # Later versions have no 0, which 3.10 has after basic.get.
        counts.append((message.properties.headers or {}).get("x-delivery-count", 0))
        ch.channel.nack(message.method.delivery_tag)
    return [counts, ch.bodies(q, 0.2)]


@probe
def quorum_queue_is_no_classic_queue(bench):
    quorum = {"x-queue-type": "quorum"}
    q = bench.channel().queue(bench.name("q"), arguments=quorum)
    single = {**quorum, "x-single-active-consumer": True}
    r = bench.channel().queue(bench.name("r"), arguments=single)
    return [
        closes(lambda: bench.channel().ask(amqp.Queue.Delete(q, if_unused=True))),
        closes(lambda: bench.channel().ask(amqp.Queue.Delete(q, if_empty=True))),
        closes(lambda: bench.channel().get(r)),
        closes(lambda: bench.channel().queue(arguments=quorum)),
    ]


@probe
def expired_messages_of_quorum_queues(bench):
    ch = bench.channel().confirm()
    q = ch.queue(bench.name("q"), arguments={"x-queue-type": "quorum"})
    ch.publish(b"first", q)
    ch.publish(b"second", q, expiration="0")
    counts = [at_last(lambda: ch.ready(q), 2)]
    counts.append(ch.get(q, no_ack=False, seconds=1).method.message_count)
    return [*counts, at_last(lambda: ch.ready(q), 0)]


@probe
def requeued_messages_of_quorum_queues(bench):
    result = []
    for label, limit in (("q", {}), ("r", {"x-delivery-limit": 9})):
        ch = bench.channel().confirm()
        q = ch.queue(bench.name(label), arguments={"x-queue-type": "quorum", **limit})
        for body in (b"0", b"1", b"2", b"3"):
            ch.publish(body, q)
        first, second = (ch.get(q, no_ack=False, seconds=1).method.delivery_tag for _ in range(2))
        ch.channel.nack(second)
        ch.channel.nack(first)
        at_last(lambda ch=ch, q=q: ch.ready(q), 4)
        result.append(ch.bodies(q))
        ch.publish(b"4", q)
        ch.publish(b"5", q)
        ch.get(q, no_ack=False, seconds=1)
        ch.talk.close()
        at_last(lambda q=q: bench.channel().ready(q), 2)
        result.append(bench.channel().bodies(q))
    return result


@probe
def quorum_queue_counts_who_has_its_messages(bench):
    ch = bench.channel().confirm()
    q = ch.queue(bench.name("q"), arguments={"x-queue-type": "quorum"})

    def consumers() -> int:
        return ch.ask(amqp.Queue.Declare(q, passive=True)).consumer_count

    ch.publish(b"m", q)
    message = ch.get(q, no_ack=False, seconds=1)
    first = at_last(consumers, 1)
    ch.channel.ack(message.method.delivery_tag)
    return [first, at_last(consumers, 0)]


# ---- direct reply-to, transactions ----


@probe
def direct_reply_to(bench):
    ch = bench.channel()
    ch.consume("amq.rabbitmq.reply-to", no_ack=True)
    q = ch.queue(exclusive=True)
    ch.publish(b"question", q, reply_to="amq.rabbitmq.reply-to", correlation_id="1")
    question = ch.get(q, seconds=1)
    reply_to = question.properties.reply_to
    other = bench.channel()
    exists = other.ask(amqp.Queue.Declare(reply_to, passive=True)).consumer_count
    other.publish(b"answer", reply_to, correlation_id="1")
    (answer,) = ch.deliveries(1)
    return [
        reply_to.startswith("amq.rabbitmq.reply-to."),
        exists,
        answer.body,
        answer.method.exchange,
        answer.method.routing_key == reply_to,
        answer.method.redelivered,
    ]


@probe
def direct_reply_to_used_wrongly(bench):
    name = "amq.rabbitmq.reply-to"
    twice, without = bench.channel(), bench.channel()
    twice.consume(name, no_ack=True)
    without.publish(b"m", "k", reply_to=name)
    return [
        closes(lambda: bench.channel().consume(name)),
        closes(lambda: twice.consume(name, no_ack=True)),
        closes(without.wait_closed),
    ]


@probe
def transactions(bench):
    ch = bench.channel()
    q = ch.queue(bench.name("q"))
    ch.ask(amqp.Tx.Select())
    ch.publish(b"1", q)
    before = bench.channel().ready(q)
    ch.ask(amqp.Tx.Rollback())
    ch.publish(b"2", q)
    ch.ask(amqp.Tx.Commit())
    after = bench.channel().ready(q)
    message = ch.get(q, no_ack=False)
    ch.channel.ack(message.method.delivery_tag)
    ch.ask(amqp.Tx.Rollback())
    ch.talk.close()
    at_last(lambda: bench.channel().ready(q), 1)
    back = bench.channel().bodies(q)
    return [before, after, message.body, back]


@probe
def transactions_do_not_mix_with_confirms(bench):
    first, second = bench.channel(), bench.channel()
    first.ask(amqp.Tx.Select())
    second.ask(amqp.Confirm.Select())
    out = []
    for ch, method in (
        (first, amqp.Confirm.Select()),
        (second, amqp.Tx.Select()),
        (bench.channel(), amqp.Tx.Commit()),
    ):
        ch.smuggle(method)
        out.append(closes(ch.wait_closed))
    return out


@probe
def recovering_within_a_transaction(bench):
    """What the transaction acknowledges does not come back, unless it is rolled back."""
    ch = bench.channel().confirm()
    q = ch.queue(bench.name("q"))
    for number in range(3):
        ch.publish(b"%d" % number, q)
    tx = bench.channel()
    tx.ask(amqp.Tx.Select())
    first, _, _ = (tx.get(q, no_ack=False).method.delivery_tag for _ in range(3))
    tx.channel.reject(first, requeue=False)
    tx.ask(amqp.Basic.Recover(True))
    counts = [at_last(lambda: ch.ready(q), 2)]
    tx.ask(amqp.Tx.Commit())
    counts.append(ch.ready(q))
    return counts


@probe
def transaction_with_a_bad_header(bench):
    ch = bench.channel()
    ch.ask(amqp.Tx.Select())
    ch.publish(b"m", "k", headers={"CC": "x"})
    return closes(ch.wait_closed)


# ---- connections ----


def refusal(bench: Bench, **options: Any) -> str:
    options.setdefault(
        "client_properties", {"capabilities": {"authentication_failure_close": True}}
    )
    return closes(lambda: bench.talk(**options))


@probe
def wrong_logins(bench):
    return [refusal(bench, password="wrong"), refusal(bench, username="nobody")]


@probe
def virtual_host_that_is_missing(bench):
    return refusal(bench, virtual_host="nowhere")


@probe
def channels_are_numbered_again(bench):
    talk = bench.talk()
    numbers = []
    for _ in range(2):
        ch = talk.session.open_channel(3)
        talk.until(lambda ch=ch: not ch.sent)
        numbers.append(ch.number)
        ch.close()
        talk.until(lambda: not talk.session.channels)
    return numbers


@probe
def new_secret_of_another_user(bench):
    talk = bench.talk()
    request = talk.session.update_secret(b"guest", "renewed")
    talk.until(lambda: request.done)
    return repr(request.response)


@probe
def no_wait_declarations(bench):
    ch, q = bench.channel(), bench.name("q")
    ch.channel.declare_queue(q, durable=True, no_wait=True)
    ch.channel.bind_queue(q, "amq.topic", bench.name("k"), no_wait=True)
    ch.publish(b"m", bench.name("k"), "amq.topic")
    ch.channel.send(amqp.Basic.Consume(q, "tag", no_ack=True, no_wait=True))
    return [one.body for one in ch.deliveries(1)]


@probe
def publish_of_a_large_body(bench):
    """RabbitMQ takes 128 MiB."""
    ch = bench.channel().confirm()
    size = 128 * 1024 * 1024
    return [ch.publish(bytes(size), "k"), closes(lambda: ch.publish(bytes(size + 1), "k"))]


@probe
def numbers_that_are_none(bench):
    ch = bench.channel().confirm()
    q = ch.queue(bench.name("q"))
    ch.consume(q, no_ack=True)
    headers = {"a": float("nan"), "b": float("inf"), "c": 1}
    return [
        closes(lambda: ch.publish(b"m", q, headers=headers)),
        closes(lambda: [repr(one.properties.headers) for one in ch.deliveries(1)]),
    ]


@probe
def bad_arguments_of_another_type_of_queue(bench):
    wrong = (
        ("classic", {"x-delivery-limit": "3"}),
        ("classic", {"x-delivery-limit": -1}),
        ("quorum", {"x-max-priority": "3"}),
        ("quorum", {"x-max-priority": 256}),
    )
    return [
        closes(
            lambda kind=kind, arguments=arguments: bench.channel().queue(
                bench.name("q"), durable=True, arguments={"x-queue-type": kind, **arguments}
            )
        )
        for kind, arguments in wrong
    ]


def address() -> tuple[str, int]:
    return live_broker.address()


def run_all(where: tuple[str, int]) -> dict[str, Any]:
    return {name: Bench(where).run(function) for name, function in PROBES.items()}


def recorded() -> dict[str, Any]:
    result: dict[str, Any] = json.loads(RECORDING.read_text(encoding="utf-8"))
    return result


def double(profile: str = "3.13") -> dict[str, Any]:
    """What the broker of this package does."""
    from amqpcodec.testing import Broker

    with Broker(profile=profile) as broker:
        return run_all((broker.host, broker.port))


def differences() -> dict[str, tuple[Any, Any]]:
    """Probe -> what RabbitMQ did and what the broker for tests does, where it is not the same."""
    expected, values = recorded(), double()
    return {
        name: (expected.get(name), value)
        for name, value in values.items()
        if value != expected.get(name)
    }


def table(different: dict[str, tuple[Any, Any]]) -> str:
    """What the guide says about them."""
    count = len(PROBES)
    lines = [
        BEGIN,
        f"{count - len(different)} of {count} probes give the same value, "
        f"{len(different)} another one{':' if different else '.'}",
    ]
    if different:
        lines += ["", "| probe | RabbitMQ | here |", "|---|---|---|"]
        for name, (theirs, ours) in different.items():
            cells = [json.dumps(value).replace("|", "\\|") for value in (theirs, ours)]
            lines.append(f"| {name.replace('_', ' ')} | `{cells[0]}` | `{cells[1]}` |")
    names = [f"- {name.replace('_', ' ')}" for name in PROBES]
    lines += ["", "<details><summary>The probes</summary>", "", *names, "", "</details>", END]
    return "\n".join(lines)


def with_table(page: str, text: str) -> str:
    """The page with another table."""
    head, _, tail = page.partition(BEGIN)
    return head + text + tail.partition(END)[2]


def main(command: str) -> None:
    if command == "record":
        values = run_all(address())
        text = json.dumps(values, indent=1, ensure_ascii=False, sort_keys=True)
        RECORDING.write_text(text + "\n", encoding="utf-8")
        return
    different = differences()
    for name, (theirs, ours) in different.items():
        print(f"{name}\n  RabbitMQ {theirs}\n  here     {ours}")
    if command == "table":
        page = GUIDE.read_text(encoding="utf-8")
        GUIDE.write_text(with_table(page, table(different)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
