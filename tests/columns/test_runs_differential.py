"""Many messages of one kind, which views write by a plan: the same values as ever."""

from __future__ import annotations

import itertools
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings

import amqpcodec
from amqpcodec import _codec, _columns
from amqpcodec import v0_9_1 as amqp
from tests.columns.batch_rows import decode, pa
from tests.columns.test_fast_path_differential import SLOW
from tests.support import amqp091_gen as gen
from tests.support import amqp091_strategies as some
from tests.support import amqp091_wire as w
from tests.support.guarded import POSIX_ONLY, guarded_value
from tests.support.random_messages import CONTENT, WIRES, alike, one_size, run, spoilt

#: What runs can write: arguments, properties, bytes of headers, places.
NAMES = [
    "row", "offset", "channel", "method", "body_size", "body", "error",
    *("exchange", "routing_key", "consumer_tag", "delivery_tag", "redelivered", "mandatory"),
    *("immediate", "reply_code", "reply_text", "message_count", "basic.publish.reserved_1"),
    *("properties.raw_headers", "properties.content_type", "properties.content_encoding"),
    *("properties.delivery_mode", "properties.priority", "properties.correlation_id"),
    *("properties.reply_to", "properties.expiration", "properties.message_id"),
    *("properties.timestamp", "properties.type", "properties.user_id", "properties.app_id"),
]  # fmt: skip


def listed(record_batch: Any) -> dict[str, list[Any]]:
    """Columns as lists, timestamps as numbers: some are beyond what a datetime holds."""
    out = {}
    for name, column in zip(record_batch.schema.names, record_batch.columns, strict=True):
        kind = pa.int64() if pa.types.is_timestamp(column.type) else column.type
        out[name] = column.cast(kind).to_pylist()
    return out


@given(some.seeds)
@settings(max_examples=600)
def test_equal_to_the_slow_path(rng: Random) -> None:
    pieces = [run(rng, rng.choice((6, 20, 60))) for _ in range(rng.randrange(1, 4))]
    data = b"".join(pieces)
    if rng.random() < 0.6:
        data = spoilt(rng, data)
    data += run(rng, 30)  # what is near the end of the input is not written by a plan
    options: dict[str, Any] = {
        "fields": rng.sample(NAMES, rng.randrange(1, len(NAMES))),
        "level": "message",
        "mode": rng.choice(("PERMISSIVE", "PERMISSIVE", "DROPMALFORMED")),
    }
    if rng.random() < 0.3:
        options["fields"] = NAMES
    expected = listed(decode(data, protocol=SLOW, **options))
    record_batch = decode(data, layout="view", **options)
    assert listed(record_batch) == expected
    try:
        small = _columns.decode_columns(
            amqp.PROTOCOL, data, options["fields"], options["mode"], "rabbitmq", 2000,
            level="message", layout="view",
        )  # fmt: skip
    except ValueError as error:
        if "decode the input in pieces" not in str(error):  # the texts of many errors together
            raise
    else:
        assert listed(pa.record_batch(small)) == expected


@given(some.seeds)
@settings(max_examples=200)
def test_values(rng: Random) -> None:
    """Runs go on over values, also where one ends inside a message."""
    data = run(rng, 80)
    cuts = [0, len(data)]
    if rng.random() < 0.5:
        raws = gen.frames(data)
        values = [b"".join(raws[at : at + 3]) for at in range(0, len(raws), 3)]
    else:
        cuts += [rng.randrange(len(data)) for _ in range(3)]
        cuts.sort()
        values = [data[a:b] for a, b in itertools.pairwise(cuts)]
    array = pa.array([None, *values, b"", run(rng, 40)], pa.binary())
    expected = listed(decode(array, protocol=SLOW, level="message", fields=NAMES))
    assert listed(decode(array, level="message", fields=NAMES, layout="view")) == expected


@pytest.mark.parametrize("version", ["0-9-1", "0-9", "0-8"])
def test_other_versions(version: str) -> None:
    """Whose content classes have other properties."""
    module = amqpcodec.protocol(version)
    slow = _codec.Protocol(module.PROTOCOL.table, fast=False)
    for method in module.METHODS.values():
        if not method.HAS_CONTENT:
            continue
        fields = [f"{method.NAME}.{name}" for name in method.FIELDS]
        fields += ["method", "body", "properties.raw_headers", "properties.content_type", "error"]
        kinds = pa.schema(amqpcodec.batch.schema(version, fields=["properties"])).field(0).type
        fields += [f"properties.{kind.name}" for kind in kinds if kind.name != "content_type"]
        fields.remove("properties.headers")
        rng = Random(method.NAME)
        data = b""
        for number in range(60):
            values = {
                name: value
                for name, value in (("priority", number), ("message_id", "m" * number))
                if name in properties_of(module, method).FIELDS
            }
            message = properties_of(module, method)(**values)
            data += module.encode(1, method())
            data += module.encode(1, module.Header(5, message, class_id=method.CLASS_ID))
            data += module.encode(1, module.Body(rng.randbytes(5)))
        record_batch = decode(data, protocol=version, level="message", fields=fields, layout="view")
        plain = decode(data, protocol=slow, level="message", fields=fields)
        assert record_batch.to_pylist() == plain.to_pylist()
        assert record_batch.num_rows == 60


def properties_of(module: Any, method: Any) -> Any:
    owner = type(method()).__qualname__.partition(".")[0]
    return getattr(module, owner).Properties


@pytest.mark.parametrize("size", range(20))
def test_no_octet_behind_is_taken(size: int) -> None:
    """A message that ends short of what it says, in the middle of a run of good ones."""
    good = run(Random(4), 20)
    for name in CONTENT:
        payload = w.method_frame(name)[7:-1]
        if size > len(payload) - 4:
            continue
        bad = w.frame(1, 1, payload[: len(payload) - size])
        bad += w.header_frame(1, message_id="m") + w.body_frame(1, b"1")
        data = run(Random(size), 10) + (bad + w.method_frame(name)) * 3 + good * 3
        expected = listed(decode(data, protocol=SLOW, level="message", fields=NAMES))
        assert listed(decode(data, level="message", fields=NAMES, layout="view")) == expected


FILL = 200  # messages that a plan does not write are the last ones: so many bytes lie behind them


@pytest.mark.parametrize("size", [*range(1, 36), 47, 48, 49, 63, 64, 65, 255])
def test_letters_and_others_anywhere_in_a_text(size: int) -> None:
    """Text is looked at in pieces, the last of which may overlap."""
    data = b""
    for at in range(size):
        text = b"x" * size
        for wrong in (b"\xc3\xa9", b"\x80"):
            data += alike(1, message_id=text[:at] + wrong[: size - at] + text[at + len(wrong) :])
    data = alike(20, message_id=b"y" * size) + data + alike(FILL, message_id=b"z" * size)
    fields = ["consumer_tag", "properties.message_id", "body", "error"]
    expected = listed(decode(data, protocol=SLOW, level="message", fields=fields))
    assert listed(decode(data, level="message", fields=fields, layout="view")) == expected
    wrong_rows = sum(error is not None for error in expected["error"])
    assert wrong_rows == size + 1  # a lone 0x80, and a letter whose second half does not fit


@pytest.mark.parametrize("selection", [0, 1, 2])
def test_every_property(selection: int) -> None:
    """All that class basic has, in runs, with a fault in each of them."""
    full: dict[str, Any] = {
        name: {"s": b"t" * (number + 8), "o": 200 + number, "T": 1_700_000_000}.get(wire)
        for number, (name, wire) in enumerate(WIRES.items())
    }
    full["headers"] = w.table((b"k", b"S" + w.longstr(b"v" * 9)), (b"n", b"I" + bytes(4)))
    fields = [name for name in NAMES if name.startswith("properties.")] + ["error", "body"]
    fields = [*fields[selection % 2 :: 2], "delivery_tag"] if selection else fields
    data = alike(20, **full)
    for name, wire in WIRES.items():
        bad = {"s": b"\xff" * 20, "T": 2**63, "o": 255, "F": w.table((b"k", b"?"))}[wire]
        data += alike(3, **{**full, name: bad}) + alike(9, **full)
    data += alike(FILL, **full)
    for mode in ("PERMISSIVE", "DROPMALFORMED"):
        options: dict[str, Any] = {"level": "message", "fields": fields, "mode": mode}
        expected = listed(decode(data, protocol=SLOW, **options))
        assert listed(decode(data, layout="view", **options)) == expected
        bad_rows = 3 * 12  # an byte may be any
        dropped = bad_rows if mode == "DROPMALFORMED" else 0
        assert len(expected[fields[0]]) == 20 + len(WIRES) * (3 + 9) + FILL - dropped


def test_columns_without_a_value_however_long() -> None:
    """They are all of one memory; what needs more than there is of that has memory of its own."""
    data = alike(1, message_id=b"m" * 20)
    for count in (16_000, 17_000):
        record_batch = decode(
            data * count,
            level="message",
            fields=["properties.app_id", "properties.timestamp", "properties.message_id"],
            layout="view",
        )
        record_batch.validate(full=True)
        assert record_batch.num_rows == count
        assert [column.null_count for column in record_batch.columns] == [count, count, 0]
        for column in record_batch.columns[:2]:
            assert not any(bytes(column.buffers()[1])), "views without an byte, moments at zero"


@given(some.seeds)
@settings(max_examples=600)
def test_messages_of_one_size(rng: Random) -> None:
    """Whatever byte of one is another, and wherever views begin to count anew."""
    messages = [
        message
        for _ in range(rng.randrange(1, 3))
        for message in one_size(rng, rng.choice((12, 40, 75)))
    ]
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(messages))
        octets = bytearray(messages[at])
        place = rng.randrange(len(octets) - 120 if len(octets) > 200 else len(octets))
        octets[place] = rng.choice((octets[place] ^ 1 << rng.randrange(8), rng.randrange(256)))
        messages[at] = bytes(octets)
    data = b"".join(messages) + run(rng, 30)
    fields = NAMES if rng.random() < 0.5 else rng.sample(NAMES, rng.randrange(1, len(NAMES)))
    for mode in ("PERMISSIVE", "DROPMALFORMED"):
        options: dict[str, Any] = {"fields": fields, "level": "message", "mode": mode}
        expected = listed(decode(data, protocol=SLOW, **options))
        assert listed(decode(data, layout="view", **options)) == expected
        small = _columns.decode_columns(
            amqp.PROTOCOL, data, fields, mode, "rabbitmq", 2000, level="message", layout="view"
        )
        assert listed(pa.record_batch(small)) == expected


@pytest.mark.parametrize("seed", range(4))
def test_every_octet_of_a_message(seed: int) -> None:
    """Each in turn is another: what has to be the same, and what may be any."""
    rng = Random(seed)
    messages = one_size(rng, 40)
    while not 150 < len(messages[0]) < 400:
        messages = one_size(rng, 40)
    fill = b"".join(messages)
    for place in range(len(messages[0])):
        octets = bytearray(messages[0])
        octets[place] ^= rng.choice((0x80, 1, 255))
        before = messages[: rng.randrange(9, 40)]  # so it is any of those looked at together
        data = b"".join([*before, bytes(octets), *messages]) + fill
        for fields in (NAMES, ["delivery_tag", "properties.message_id", "error"]):
            expected = listed(decode(data, protocol=SLOW, level="message", fields=fields))
            assert listed(decode(data, level="message", fields=fields, layout="view")) == expected


HIGHEST = 9223372036854  # seconds that int64 microseconds reach


@pytest.mark.parametrize(
    ("usual", "odd"),
    [
        ({"timestamp": HIGHEST}, {"timestamp": HIGHEST + 1}),
        ({"timestamp": 2**43 - 1}, {"timestamp": 2**43}),
        ({"timestamp": 1}, {"timestamp": 2**42}),
        ({"message_id": "é" * 9}, {"message_id": b"\xff\xa9" + "é".encode() * 8}),
        ({"message_id": "é" * 9}, {"message_id": "x" * 18}),
        ({"message_id": "x" * 18}, {"message_id": "é" * 9}),
    ],
)
def test_values_at_the_borders(usual: dict[str, Any], odd: dict[str, Any]) -> None:
    data = alike(40, **usual) + alike(1, **odd) + alike(FILL, **usual)
    fields = ["delivery_tag", "properties.timestamp", "properties.message_id", "error"]
    expected = listed(decode(data, protocol=SLOW, level="message", fields=fields))
    assert listed(decode(data, level="message", fields=fields, layout="view")) == expected


@POSIX_ONLY
@pytest.mark.parametrize("size", [0, 1, 12, 13, 70])
def test_nothing_behind_the_input_is_read(size: int) -> None:
    """Messages up to the last byte of a page, after which there is none."""
    raws = [w.method_frame("basic.deliver", 1, delivery_tag=7, routing_key="k" * 9)]
    raws += [w.header_frame(size, channel=1, message_id="m" * 30, app_id="a")]
    data = b"".join(raws + [w.body_frame(1, b"b" * size)] * bool(size)) * 300
    record_batch = decode(guarded_value(data), level="message", fields=NAMES, layout="view")
    assert listed(record_batch) == listed(
        decode(data, level="message", fields=NAMES, layout="view")
    )
    assert record_batch.num_rows == 300
