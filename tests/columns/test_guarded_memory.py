"""No byte after the input is read: neither of bytes to decode nor of columns to encode."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings

from amqpcodec import batch
from amqpcodec import v0_9_1 as amqp
from amqpcodec import v1_0 as v1
from tests.columns.batch_rows import decode, pa
from tests.columns.test_runs_differential import NAMES
from tests.support import amqp091_gen as gen
from tests.support import amqp091_strategies as some
from tests.support import amqp091_wire as w
from tests.support.guarded import POSIX_ONLY, guard, guarded_value
from tests.support.random_messages import a_value, run, spoilt

pytestmark = POSIX_ONLY


def both(octets: bytes, **options: Any) -> None:
    """The same rows as of bytes that have something after them."""
    assert decode(guarded_value(octets), **options).equals(decode(octets, **options))


@pytest.mark.parametrize("layout", ["plain", "view"])
@pytest.mark.parametrize("level", ["frame", "message"])
@pytest.mark.parametrize("count", [1, 3, 40])
def test_bodies_of_every_size_at_the_end(count: int, level: str, layout: str) -> None:
    for size in range(40):
        message = amqp.encode_message(1, amqp.Basic.Publish("", "q"), None, b"b" * size)
        both(message * count, level=level, layout=layout)
        both(message * count, level=level, layout=layout, fields=["error", *END_FIELDS[level]])


END_FIELDS = {"frame": ["payload", "properties"], "message": ["body", "properties.headers"]}


@pytest.mark.parametrize("layout", ["plain", "view"])
@pytest.mark.parametrize("level", ["frame", "message"])
def test_cut_at_every_octet(level: str, layout: str) -> None:
    octets = run(Random(1), 3)
    for size in range(1, len(octets)):
        both(octets[:size], level=level, layout=layout)


@given(some.seeds)
@settings(max_examples=150)
def test_runs_of_messages(rng: Random) -> None:
    octets = b"".join(run(rng, rng.choice((1, 6, 60))) for _ in range(rng.randrange(1, 4)))
    if rng.random() < 0.5:
        octets = spoilt(rng, octets)
    level, layout = rng.choice(("frame", "message")), rng.choice(("plain", "view"))
    fields = rng.sample(NAMES, rng.randrange(1, len(NAMES))) if level == "message" else None
    field_tables = rng.choice(("json", "variant", "map")) if layout == "plain" else "json"
    both(octets, level=level, layout=layout, fields=fields, field_tables=field_tables)


@given(some.seeds)
@settings(max_examples=100)
def test_frames_of_any_kind(rng: Random) -> None:
    octets = gen.any_frame(rng) + gen.any_frame(rng)
    for level in ("frame", "message"):
        both(octets, level=level, layout=rng.choice(("plain", "view")))


@pytest.mark.parametrize("layout", ["plain", "view"])
@pytest.mark.parametrize("level", ["frame", "message"])
def test_amqp_1_0(level: str, layout: str) -> None:
    for size in range(40):
        application_properties = {"k" * (size % 5): size, "s": "t" * size}
        if size % 3:
            message = v1.Message(b"b" * size, application_properties=application_properties)
        else:
            message = v1.Message(value="v" * size, application_properties=application_properties)
        octets = v1.encode_message(0, v1.Transfer(0, 1, b"t", message_format=0), message)
        octets += v1.encode(0, v1.Detach(0, True, v1.Error("amqp:not-found", "d" * size)))
        both(octets * 3, protocol="1.0", level=level, layout=layout)
        both(octets[: -1 - size], protocol="1.0", level=level, layout=layout)


FULL: dict[str, Any] = {
    name: {"s": b"t" * 5, "o": 1, "T": 1_700_000_000}.get(wire) for name, wire in w.PROPERTIES
} | {"headers": w.table(("k", b"S" + w.longstr(b"v")))}
FLAGS = b"\xff\xfc"  # all properties of class basic


def deliver(arguments: bytes, properties: bytes, body: bytes = b"abc") -> bytes:
    """A basic.deliver whose frames are whole, whatever is in them."""
    header = b"\0\x3c\0\0" + len(body).to_bytes(8, "big") + FLAGS + properties
    return (
        w.frame(1, 1, b"\0\x3c\0\x3c" + arguments) + w.frame(2, 1, header) + w.body_frame(1, body)
    )


GOOD_ARGUMENTS = w.method_frame("basic.deliver", 1, consumer_tag="c" * 20, delivery_tag=7)[11:-1]
GOOD_PROPERTIES = w.header_frame(3, channel=1, **FULL)[21:-1]
LIARS = {
    "every length is the largest": (b"\xff" * 30, b"\xff" * 90),
    "of the arguments": (b"\xff" * 30, GOOD_PROPERTIES),
    "of the properties": (GOOD_ARGUMENTS, b"\xff" * 90),
    "of the last text": (GOOD_ARGUMENTS, GOOD_PROPERTIES[:-6] + b"\xff" * 6),
    "of the table": (
        GOOD_ARGUMENTS,
        GOOD_PROPERTIES[:12] + b"\x7f\xff\xff\xff" + GOOD_PROPERTIES[16:],
    ),
    "of an entry of the table": (
        GOOD_ARGUMENTS,
        GOOD_PROPERTIES[:16] + b"\xff" + GOOD_PROPERTIES[17:],
    ),
    "short of a byte": (GOOD_ARGUMENTS[:-1], GOOD_PROPERTIES[:-1]),
    "a byte too many": (GOOD_ARGUMENTS + b"x", GOOD_PROPERTIES + b"x"),
}


@pytest.mark.parametrize("lie", LIARS)
def test_lengths_that_lie_at_the_end_of_a_run(lie: str) -> None:
    """Runs test once, after the last field, whether all were inside: so much has to be readable."""
    good = deliver(GOOD_ARGUMENTS, GOOD_PROPERTIES)
    assert decode(good, level="message", fields=NAMES, layout="view")["error"][0].as_py() is None
    head = good * 60 + deliver(*LIARS[lie])
    for after in (0, 1, 31, 255, 300, *range(6200, 7400, 61), 9000):
        tail = good * (after // len(good))
        room = after - len(tail)
        if room >= 60:
            tail += deliver(GOOD_ARGUMENTS, b"", b"b" * (room - 60))
        for fields in (NAMES, ["delivery_tag", "properties.app_id", "error"]):
            both(head + tail, level="message", layout="view", fields=fields)


def test_arguments_that_end_where_the_header_does() -> None:
    """The last text of the arguments goes on through the header frame to its very end."""
    good = deliver(GOOD_ARGUMENTS, GOOD_PROPERTIES)
    header = w.frame(2, 1, b"\0\x3c\0\0" + (3).to_bytes(8, "big") + FLAGS + GOOD_PROPERTIES)
    for more in (-1, 0, 1):
        # routing_key, of which nothing is in the frame of the method but its length
        arguments = GOOD_ARGUMENTS[:-1] + bytes([1 + len(header) - 1 + more])
        liar = deliver(arguments, GOOD_PROPERTIES)
        octets = good * 60 + liar + good * 60
        record_batch = decode(octets, level="message", layout="view", fields=NAMES)
        errors = [
            row for row, error in enumerate(record_batch["error"].to_pylist()) if error is not None
        ]
        assert errors == [60]


# ---- columns ----


def same(columns: Any, **options: Any) -> None:
    messages = batch.encode(guard(columns), **options)
    expected = batch.encode(columns, **options)
    assert pa.array(messages).equals(pa.array(expected))
    assert pa.array(messages.errors).equals(pa.array(expected.errors))


@pytest.mark.parametrize("count", [1, 63, 64, 65, 200])
def test_columns_that_end_where_memory_does(count: int) -> None:
    for size in range(0, 40, 3):
        bodies = [b"b" * size] * count
        rows = [
            {
                "method": "basic.publish", "channel": 1, "exchange": "e" * (size // 2),
                "routing_key": "k" * size, "body": body, "properties": {"message_id": "m" * size},
            }
            for body in bodies
        ]  # fmt: skip
        same(pa.array(rows))


@given(some.seeds)
@settings(max_examples=100)
def test_columns_of_any_size(rng: Random) -> None:
    count = rng.choice((1, 5, 64, 130))
    rows = []
    for number in range(count):
        rows.append(
            {
                "channel": 1, "method": "basic.deliver", "delivery_tag": number,
                "consumer_tag": a_value(rng, "s")[:20], "routing_key": a_value(rng, "s"),
                "redelivered": rng.random() < 0.5, "body": rng.randbytes(rng.randrange(40)),
                "properties": {
                    "content_type": rng.choice((None, "text/plain")),
                    "timestamp": number, "priority": rng.choice((None, 3)),
                    "headers": rng.choice((None, '{"a":1}', '{"x-match":"all","b":[true]}')),
                },
            }
        )  # fmt: skip
    same(pa.array(rows), mode="PERMISSIVE")


@pytest.mark.parametrize("count", [1, 64, 100])
def test_columns_of_amqp_1_0(count: int) -> None:
    for size in range(0, 40, 3):
        row = {
            "channel": 0, "performative": "transfer", "handle": 0, "delivery_tag": b"t" * size,
            "properties": {"message_id": "m" * size, "to": "q"}, "body": b"b" * size,
            "application_properties": '{"k":"' + "v" * size + '"}',
        }  # fmt: skip
        same(pa.array([row] * count), protocol="1.0")
