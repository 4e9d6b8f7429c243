"""The fast path and the slow one give the same columns, byte for byte."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings

from amqpcodec import _codec
from amqpcodec import v0_9_1 as amqp
from tests.columns.batch_rows import decode, pa
from tests.support import amqp091_gen as gen
from tests.support import amqp091_strategies as some
from tests.support import amqp091_wire as w

FAST = amqp.PROTOCOL
SLOW = _codec.Protocol(FAST.table, fast=False)
FIELDS: list[list[str] | None] = [
    None, ["arguments"], ["properties"], ["error"], ["method", "channel"], ["body_size", "payload"],
    ["error_offset", "arguments"], ["frame", "frame_type", "row", "offset"],
]  # fmt: skip
NAMED = (
    "channel", "method", "arguments", "properties", "body_size", "error", "error_offset", "frame",
    "queue", "exchange", "delivery_tag", "basic.consume.arguments", "no_ack", "redelivered",
    "reply_code", "client_properties", "response", "prefetch_size", "basic.deliver.routing_key",
    "queue.declare.queue", "global_", "reason", "version_major", "basic.publish.reserved_1",
    "properties.message_id", "properties.headers", "properties.timestamp", "properties.priority",
    "properties_json", "headers.x-death", "headers.x-death:string", "headers.orders:long",
    "headers.orders:double", "headers.a:boolean", "headers.a:timestamp", "headers.é:binary",
    "headers.a:decimal(9,2)",
    "headers.é", "headers.\0:json",
)  # fmt: skip


def some_fields(rng: Random, level: str) -> list[str] | None:
    if rng.random() < 0.3:
        return None
    names = rng.sample(NAMED, rng.randrange(1, 9))
    return [*names, rng.choice(("payload" if level == "frame" else "body", "row", "frame_type"))]


def same(data: Any, **options: Any) -> None:
    assert decode(data, protocol=FAST, **options).equals(decode(data, protocol=SLOW, **options))


@given(some.seeds)
@settings(max_examples=500)
def test_valid_streams(rng: Random) -> None:
    same(gen.stream(rng, 6), fields=rng.choice(FIELDS))


@given(some.seeds)
@settings(max_examples=1500)
def test_spoilt_payloads(rng: Random) -> None:
    data = gen.spoil_inside(rng, gen.stream(rng, 3)) + w.HEARTBEAT * 3
    mode = rng.choice(("PERMISSIVE", "DROPMALFORMED"))
    same(data, fields=rng.choice(FIELDS), mode=mode)


@given(some.seeds)
@settings(max_examples=1500)
def test_fields_and_levels(rng: Random) -> None:
    data = gen.conversation(rng) if rng.random() < 0.5 else gen.stream(rng, 5)
    if rng.random() < 0.5:
        data = gen.spoil_inside(rng, data) if rng.random() < 0.8 else gen.spoil(rng, data)
    mode = rng.choice(("PERMISSIVE", "PERMISSIVE", "DROPMALFORMED"))
    level = rng.choice(("frame", "message"))
    padded = pa.array([data, w.HEARTBEAT * 4], pa.binary())
    same(padded, fields=some_fields(rng, level), mode=mode, level=level)


@given(some.seeds)
@settings(max_examples=500)
def test_spoilt_streams(rng: Random) -> None:
    values = [gen.spoil(rng, gen.stream(rng, 3)) for _ in range(4)]
    same(pa.array(values, pa.binary()), fields=rng.choice(FIELDS))


def test_pure_values() -> None:
    """A long run of rows, mostly as usual, with something odd now and then."""
    rng = Random(5)
    data = b""
    for number in range(2000):
        odd = rng.random() < 0.05
        data += w.method_frame(
            "basic.deliver",
            rng.randrange(1, 9),
            consumer_tag='quote"' if odd else "ctag1.amq",
            delivery_tag=rng.getrandbits(rng.randrange(1, 65)),
            redelivered=number % 3 == 0,
            exchange="é" if odd else "orders",
            routing_key=b"k" * rng.randrange(40),
        )
        data += w.header_frame(
            100,
            content_type="application/json" if number % 9 else b"\xff",
            headers=w.table(
                ("x-trace", b"S" + w.longstr(b"t" * rng.randrange(50))),
                ("x-n", b"I" + rng.randbytes(4)),
                ("x-d", b"d" + rng.randbytes(8)),
                *([("x-n", b"V")] if odd else []),
            ),
            delivery_mode=rng.randrange(3),
            message_id=str(number),
            timestamp=rng.getrandbits(60 if odd else 31),
        )
        data += w.body_frame(1, rng.randbytes(rng.randrange(200)))
    same(data)
    assert decode(data).num_rows == 6000


@pytest.mark.parametrize("size", [*range(70), 127, 128, 254, 255])
def test_text_of_every_length(size: int) -> None:
    """Whole words are copied: each byte must be looked at, and none behind the text."""
    for place in {0, 1, size // 2, size - 1} & set(range(size)):
        for octet in b'"\\\x00\x1f\x7f\x80\xff a':
            text = bytearray(b"x" * size)
            text[place] = octet
            data = w.method_frame("queue.purge", queue=bytes(text))
            data += w.header_frame(
                message_id=bytes(text),
                headers=w.table((bytes(text), b"S" + w.longstr(bytes(text)))),
            )
            same(data + w.body_frame(1, b'"\\\x00\xff' * 9))


VALUES = {
    "text": [b"S" + w.longstr(raw) for raw in (b"x", "é".encode() * 9, b'"', b"\xff")],
    "int": [b"I\0\0\0\1", b"I\x80\0\0\0"],
    "bit": [b"t\0", b"t\1"],
    "none": [b"V"],
    "double": [w.value_of(3.25), w.value_of(float("inf"))],
    "time": [b"T" + bytes(8), b"T" + b"\xff" * 8],
    "long": [b"l" + bytes(8), b"l" + b"\xff" * 8],
    "bytes": [b"x" + w.longstr(b""), b"x" + w.longstr(b"\0\1\2")],
    "decimal": [b"D\2\0\0\0\5", b"D\xff\0\0\0\5"],
    "table": [w.nested(), w.nested(("a", b"V"), ("b", b"t\1")), w.nested(("a", b"V"), ("a", b"V"))],
    "list": [w.array(), w.array(b"t\1", b"V"), b"A" + w.longstr(b"S\0\0\0\7x")],
}


@given(some.seeds)
@settings(max_examples=400)
def test_tables_with_the_names_of_those_before(rng: Random) -> None:
    """Or the first ones of them, or one more, or of another type, or cut."""
    names = rng.sample(sorted(VALUES), rng.randrange(1, len(VALUES) + 1))
    data = b""
    for _ in range(12):
        entries = [(name, rng.choice(VALUES[name])) for name in names]
        if rng.random() < 0.4:
            del entries[rng.randrange(len(entries)) :]
        if rng.random() < 0.1:
            entries.append((rng.choice(names), b"V"))
        if entries and rng.random() < 0.1:
            at = rng.randrange(len(entries))
            entries[at] = (entries[at][0], b"t\1")
        raw = w.table(*entries)
        if len(raw) > 4 and rng.random() < 0.1:
            length = rng.randrange(4, len(raw))
            raw = (length - 4).to_bytes(4, "big") + raw[4:length]
        payload = b"\0\x3c\0\0" + bytes(8) + b"\x20\0" + raw
        data += w.frame(2, 1, payload)
    same(
        data + w.HEARTBEAT * 5, fields=rng.choice([["properties"], ["properties.headers", "error"]])
    )
