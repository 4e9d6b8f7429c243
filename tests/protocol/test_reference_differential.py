"""The package against the independent reference codec: every method, every property, every tag."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amqpcodec import v0_9_1 as amqp
from tests.reference import (
    DIALECTS,
    FACTS,
    TAGS,
    Body,
    Frame,
    Header,
    Heartbeat,
    Method,
    ProtocolHeader,
    Table,
    decode_frame,
    decode_stream,
    encode_frame,
    table_from_plain,
    table_to_plain,
)
from tests.support.bridge import build, check, method_class, py_name, same, typed_table
from tests.support.generate import Generate

METHODS = sorted(FACTS.methods)
PROPERTIES = [name for name, _ in FACTS.properties[60]]
TABLES = ("plain", "typed")
SEEDED = 30  # random values a method and dialect
# What hypothesis adds: it shrinks what it finds. The seeded runs are the bulk.
QUICK = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def rounds(label: str, count: int) -> Iterator[Random]:
    """Random sources that are the same in every run."""
    for number in range(count):
        yield Random(f"{label}/{number}")


# ---- the two directions ------------------------------------------------------------------------


def check_decode(channel: int, frame: Frame, dialect: str) -> None:
    """The reference's bytes give the reference's values, and come back as they were."""
    data = encode_frame(channel, frame, dialect)
    for tables in TABLES:
        consumed, got_channel, got = amqp.decode(data, dialect=dialect, tables=tables)
        assert (consumed, got_channel) == (len(data), channel)
        assert amqp.encode(channel, got, dialect=dialect) == data
        check(got, frame, dialect, tables)
        assert amqp.encode(channel, got, dialect=dialect) == data


def check_encode(channel: int, frame: Frame, dialect: str) -> None:
    """An object built from values gives the reference's bytes."""
    data = encode_frame(channel, frame, dialect)
    instance = build(frame, dialect)
    assert amqp.encode(channel, instance, dialect=dialect) == data
    assert amqp.encode(channel, instance, dialect=dialect) == data
    _, _, read = amqp.decode(data, dialect=dialect, tables="typed")
    assert read == instance


def both(random: Random, dialect: str, make: Any) -> None:
    wild = Generate(random, dialect)
    check_decode(wild.channel(), make(wild), dialect)
    tame = Generate(random, dialect, faithful=True)
    channel, frame = tame.channel(), make(tame)
    check_decode(channel, frame, dialect)
    check_encode(channel, frame, dialect)


# ---- methods -----------------------------------------------------------------------------------


def test_the_same_methods() -> None:
    assert set(amqp.METHODS) == set(FACTS.by_id)
    for ids, fact in FACTS.by_id.items():
        cls = amqp.METHODS[ids]
        assert [fact.name, *ids] == [cls.NAME, cls.CLASS_ID, cls.METHOD_ID]
        assert cls.HAS_CONTENT is fact.content
        assert tuple(cls.FIELDS) == tuple(py_name(name) for name, _ in fact.fields)
        positional = tuple(py_name(n) for n, _ in fact.fields if n not in fact.reserved)
        assert tuple(cls.__match_args__) == positional


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", METHODS)
def test_methods(name: str, dialect: str) -> None:
    for random in rounds(f"{name}/{dialect}", SEEDED):
        both(random, dialect, lambda generate: generate.method(name))


@pytest.mark.parametrize("name", [n for n in METHODS if FACTS.methods[n].fields])
@QUICK
@given(random=st.randoms(use_true_random=False), dialect=st.sampled_from(DIALECTS))
def test_methods_by_hypothesis(name: str, random: Random, dialect: str) -> None:
    both(random, dialect, lambda generate: generate.method(name))


@pytest.mark.parametrize("name", METHODS)
def test_defaults(name: str) -> None:
    """A method made without arguments is all zero."""
    zero = {"bit": 0, "shortstr": b"", "longstr": b"", "table": []}
    args = {n: zero.get(wire_type, 0) for n, wire_type in FACTS.methods[name].fields}
    want = Method(name, args)
    method = method_class(name)()
    check(method, want)
    assert amqp.encode(1, method) == encode_frame(1, want)


@pytest.mark.parametrize("name", METHODS)
def test_positional_arguments(name: str) -> None:
    fact = FACTS.methods[name]
    tame = Generate(Random(name), faithful=True)
    zero = {"bit": 0, "shortstr": b"", "longstr": b"", "table": []}
    types = dict(fact.fields)
    drawn = tame.method(name).args
    args = {n: zero.get(types[n], 0) if n in fact.reserved else v for n, v in drawn.items()}
    method = build(Method(name, args))
    values = [getattr(method, py_name(n)) for n, _ in fact.fields if n not in fact.reserved]
    assert method_class(name)(*values) == method


@pytest.mark.parametrize("name", [n for n in METHODS if len(FACTS.methods[n].fields) > 1])
def test_one_changed_argument(name: str) -> None:
    """A decoded method with one argument set anew: the others keep their bytes."""
    for random in rounds(f"change/{name}", 10):
        wild, tame = Generate(random), Generate(random, faithful=True)
        frame, other = wild.method(name), tame.method(name)
        for argument, wire_type in FACTS.methods[name].fields:
            _, _, got = amqp.decode(encode_frame(1, frame))
            setattr(got, py_name(argument), getattr(build(other), py_name(argument)))
            want = Method(name, {**frame.args, argument: other.args[argument]})
            assert amqp.encode(1, got) == encode_frame(1, want), (argument, wire_type)


def unused_bits() -> list[tuple[str, int]]:
    """Methods with a run of bits, and how many bits it has (no method has two runs)."""
    counts = {n: sum(t == "bit" for _, t in FACTS.methods[n].fields) for n in METHODS}
    return [(name, count) for name, count in counts.items() if count]


@pytest.mark.parametrize(("name", "count"), unused_bits())
def test_every_octet_of_bits(name: str, count: int) -> None:
    fields = FACTS.methods[name].fields
    names = [n for n, wire_type in fields if wire_type == "bit"]
    for octet in range(256):
        args = Generate(Random(octet)).method(name).args
        args.update({n: octet >> place & 1 for place, n in enumerate(names)})
        data = encode_frame(1, Method(name, args, bit_octets=(octet,)))
        assert decode_frame(data) == (len(data), 1, Method(name, args))
        _, _, got = amqp.decode(data)
        assert amqp.encode(1, got) == data
        check(got, Method(name, args))
        if octet < 1 << count:
            for n in names:
                setattr(got, py_name(n), not getattr(got, py_name(n)))
            turned = {**args, **{n: 1 - args[n] for n in names}}
            assert amqp.encode(1, got) == encode_frame(1, Method(name, turned))


# ---- content headers ---------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("part", range(10))
def test_headers(part: int, dialect: str) -> None:
    for random in rounds(f"header/{dialect}/{part}", SEEDED):
        both(random, dialect, Generate.header)


@QUICK
@given(random=st.randoms(use_true_random=False), dialect=st.sampled_from(DIALECTS))
def test_headers_by_hypothesis(random: Random, dialect: str) -> None:
    both(random, dialect, Generate.header)


@pytest.mark.parametrize("name", PROPERTIES)
def test_each_property_alone(name: str) -> None:
    wire_type = dict(FACTS.properties[60])[name]
    for random in rounds(f"property/{name}", SEEDED):
        both(random, "rabbitmq", lambda g: Header(1, {name: g.field(wire_type)}))


# Odd values that show when two properties change places.
VALUES: dict[str, Any] = {
    "content-type": b"ct", "content-encoding": b"ce", "headers": [(b"h", ("b", 1))],
    "delivery-mode": 2, "priority": 7, "correlation-id": b"co", "reply-to": b"", "expiration": b"6",
    "message-id": b"m\xff", "timestamp": 1700000000, "type": b"ty", "user-id": b"us",
    "app-id": b"ap", "reserved": b"re",
}  # fmt: skip


@pytest.mark.parametrize("high", range(16))
def test_every_combination_of_properties(high: int) -> None:
    for low in range(1 << 10):
        present = high << 10 | low
        names = [name for index, name in enumerate(PROPERTIES) if present >> index & 1]
        frame = Header(1, {name: VALUES[name] for name in names})
        data = encode_frame(1, frame)
        assert amqp.encode(1, build(frame)) == data
        _, _, got = amqp.decode(data)
        assert amqp.encode(1, got) == data
        check(got, frame)


@pytest.mark.parametrize("name", PROPERTIES)
def test_property_set_and_removed(name: str) -> None:
    """After any change of one property the others keep their bytes."""
    for random in rounds(f"set/{name}", SEEDED):
        frame = Generate(random).header()
        other = Generate(random, faithful=True)
        value = other.field(dict(FACTS.properties[60])[name])
        attribute = py_name(name)
        new = build(Header(0, {name: value}))
        _, _, got = amqp.decode(encode_frame(1, frame))
        setattr(got.properties, attribute, getattr(new.properties, attribute))
        order = [n for n in PROPERTIES if n in frame.properties or n == name]
        properties = {n: value if n == name else frame.properties[n] for n in order}
        want = Header(frame.body_size, properties, weight=frame.weight)
        assert amqp.encode(1, got) == encode_frame(1, want)
        setattr(got.properties, attribute, None)
        del properties[name]
        assert amqp.encode(1, got) == encode_frame(1, want)


# ---- tables ------------------------------------------------------------------------------------


def holders(table: Table) -> list[Frame]:
    args = dict.fromkeys(("passive", "durable", "exclusive", "auto-delete", "no-wait"), 0)
    declare = {"reserved-1": 0, "queue": b"q", **args, "arguments": table}
    return [Header(1, {"headers": table}), Method("queue.declare", declare)]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("tag", TAGS)
def test_each_tag_in_a_table_in_a_list_and_nested(tag: str, dialect: str) -> None:
    for random in rounds(f"tag/{tag}/{dialect}", SEEDED):
        for faithful in (False, True):
            generate = Generate(random, dialect, faithful)
            value = generate.tagged(2, tag) if tag in "AF" else generate.tagged(0, tag)
            table: Table = [
                (b"a", value),
                (b"b", ("A", [value, ("F", [(b"c", value)]), value])),
                (b"d", ("F", [(b"", ("A", [("A", [value])])), (b"e", value)])),
            ]
            for frame in holders(table):
                check_decode(1, frame, dialect)
                if faithful:
                    check_encode(1, frame, dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_tag_together(dialect: str) -> None:
    for random in rounds(f"all/{dialect}", SEEDED):
        for faithful in (False, True):
            generate = Generate(random, dialect, faithful)
            table = [*generate.every_tag(), (b"nested", ("F", generate.every_tag()))]
            for frame in holders(table):
                check_decode(1, frame, dialect)
                if faithful:
                    check_encode(1, frame, dialect)


def check_plain(value: dict[str, Any], dialect: str) -> None:
    table = table_from_plain(value, dialect)
    header = amqp.Header(1, amqp.Basic.Properties(headers=value))
    data = encode_frame(1, Header(1, {"headers": table}), dialect)
    assert amqp.encode(1, header, dialect=dialect) == data
    declare = amqp.Queue.Declare(queue="q", arguments=value)
    assert amqp.encode(1, declare, dialect=dialect) == encode_frame(1, holders(table)[1], dialect)
    _, _, got = amqp.decode(data, dialect=dialect)
    same(got.properties.headers, table_to_plain(table, dialect))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_plain_values(dialect: str) -> None:
    for random in rounds(f"plain/{dialect}", 300):
        check_plain(Generate(random, dialect).plain_table(), dialect)


@QUICK
@given(random=st.randoms(use_true_random=False), dialect=st.sampled_from(DIALECTS))
def test_plain_values_by_hypothesis(random: Random, dialect: str) -> None:
    check_plain(Generate(random, dialect).plain_table(), dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_plain_edges(dialect: str) -> None:
    edges = [2**n + d for n in (7, 8, 15, 16, 31, 32, 63) for d in (-1, 0, 1)]
    ints = [v for e in edges for v in (e, -e) if -(2**63) <= v < 2**63]
    if dialect == "0-9-1":
        ints += [2**63, 2**64 - 1]
    decimals = [Decimal(t) for t in ("0", "-0.00", "1E+2", "-2147483648", "2147483647", "1E-255")]
    check_plain({"ints": ints, "tuple": (1, "a"), "decimals": decimals, "": None}, dialect)
    same_bytes = {
        str(n): kind(b"\xff\x00") for n, kind in enumerate((bytes, bytearray, memoryview))
    }
    as_bytes = dict.fromkeys(same_bytes, b"\xff\x00")
    one, two = (
        amqp.encode(1, amqp.Header(1, amqp.Basic.Properties(headers=h)), dialect=dialect)
        for h in (same_bytes, as_bytes)
    )
    assert one == two


# ---- changed tables ----------------------------------------------------------------------------


@pytest.mark.parametrize("tables", TABLES)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_changed_table_keeps_other_octets(dialect: str, tables: str) -> None:
    """After a change, also a nested one, what was not changed keeps its bytes and tags."""
    for random in rounds(f"changed/{dialect}", 100):
        generate = Generate(random, dialect)
        outer, inner = generate.every_tag(), generate.every_tag()
        # Duplicates have no single entry to keep; they are left out of what is changed.
        outer = [e for e in outer if e[0] != b"F"]
        at = random.randrange(len(outer))
        table = [*outer[:at], (b"nested", ("F", inner)), *outer[at:]]
        new = ("S", b"new")
        for frame in holders(table):
            data = encode_frame(1, frame, dialect)

            def read(data: bytes = data) -> tuple[Any, dict[str, Any]]:
                _, _, got = amqp.decode(data, dialect=dialect, tables=tables)
                is_header = isinstance(got, amqp.Header)
                return got, got.properties.headers if is_header else got.arguments

            got, value = read()
            value["added"] = "new"
            want = [*table, (b"added", new)]
            assert amqp.encode(1, got, dialect=dialect) == replaced(frame, want, dialect)

            got, value = read()
            victim = random.choice(outer)[0]
            del value[victim.decode()]
            want = [e for e in table if e[0] != victim]
            assert amqp.encode(1, got, dialect=dialect) == replaced(frame, want, dialect)

            got, value = read()
            victim = random.choice(inner)[0]
            value["nested"][victim.decode()] = "new"
            changed = [(k, new if k == victim else v) for k, v in inner]
            want = [(k, ("F", changed) if k == b"nested" else v) for k, v in table]
            assert amqp.encode(1, got, dialect=dialect) == replaced(frame, want, dialect)


def replaced(frame: Frame, table: Table, dialect: str) -> bytes:
    if isinstance(frame, Header):
        return encode_frame(1, Header(1, {"headers": table}), dialect)
    assert isinstance(frame, Method)
    return encode_frame(1, Method(frame.name, {**frame.args, "arguments": table}), dialect)


def test_a_new_dict_is_encoded_by_value() -> None:
    table = [(b"a", ("b", 1))]
    _, _, got = amqp.decode(encode_frame(1, Header(1, {"headers": table})))
    got.properties.headers = {"a": 1}
    want = encode_frame(1, Header(1, {"headers": [(b"a", ("I", 1))]}))
    assert amqp.encode(1, got) == want
    got.properties.headers = typed_table([(b"a", ("u", 1))], "rabbitmq")
    want = encode_frame(1, Header(1, {"headers": [(b"a", ("u", 1))]}))
    assert amqp.encode(1, got) == want


# ---- bodies, messages, streams -----------------------------------------------------------------


@QUICK
@given(payload=st.binary(max_size=300), channel=st.integers(0, 65535))
def test_bodies(payload: bytes, channel: int) -> None:
    check_decode(channel, Body(payload), "rabbitmq")
    check_encode(channel, Body(payload), "rabbitmq")


def test_other_frames() -> None:
    check_decode(0, Heartbeat(), "rabbitmq")
    check_encode(0, Heartbeat(), "rabbitmq")
    for random in rounds("protocol-header", 50):
        frame = ProtocolHeader(*(random.randrange(256) for _ in range(4)))
        check_decode(0, frame, "rabbitmq")
        check_encode(0, frame, "rabbitmq")
    assert amqp.encode(0, amqp.ProtocolHeader()) == amqp.PROTOCOL_HEADER == b"AMQP\x00\x00\x09\x01"


def message_frames(method: Method, header: Header, body: bytes, frame_max: int) -> list[Frame]:
    room = frame_max - 8 if frame_max else max(len(body), 1)
    pieces = [body[start : start + room] for start in range(0, len(body), room)]
    return [method, header, *map(Body, pieces)]


@pytest.mark.parametrize("frame_max", [4096, 131072, 0])
@pytest.mark.parametrize("size", [0, 1, 4087, 4088, 4089, 8176, 8177, 131064, 131065, 300000])
def test_messages(size: int, frame_max: int) -> None:
    random = Random(f"message/{size}/{frame_max}")
    tame = Generate(random, faithful=True)
    body = random.randbytes(size)
    header = Header(size, tame.header().properties)
    for name in ("basic.publish", "basic.deliver", "basic.return", "basic.get-ok"):
        method = tame.method(name)
        frames = message_frames(method, header, body, frame_max)
        want = b"".join(encode_frame(5, frame) for frame in frames)
        instance, properties = build(method), build(header).properties
        assert amqp.encode_message(5, instance, properties, body, frame_max=frame_max) == want
        parts = amqp.encode_parts(5, instance, properties, body, frame_max=frame_max)
        assert b"".join(parts) == want

        decoder = amqp.MessageDecoder(frame_max=frame_max)
        ((channel, got),) = list(decoder.feed(want))
        assert channel == 5
        assert type(got) is amqp.Message
        check(got.method, method)
        check(amqp.Header(size, got.properties), header)
        same(got.body, body, "body")


def test_stream_in_any_pieces() -> None:
    for random in rounds("stream", 40):
        generate = Generate(random)
        frames: list[tuple[int, Frame]] = []
        for _ in range(random.randint(1, 30)):
            frame: Frame = random.choice(
                [
                    generate.method(random.choice(METHODS)),
                    generate.header(),
                    Body(generate.octets(random.choice([0, 1, 5000]))),
                    Heartbeat(),
                ]
            )
            frames.append((0 if frame == Heartbeat() else generate.channel(), frame))
        data = b"".join(encode_frame(*f) for f in frames)
        assert list(decode_stream(data)) == frames
        decoder = amqp.Decoder()
        got: list[tuple[int, Any]] = []
        start = 0
        while start < len(data):
            size = random.choice([1, 2, 7, 8, 100, 4096])
            got += decoder.feed(data[start : start + size])
            start += size
        decoder.eof()
        assert len(got) == len(frames)
        for (got_channel, one), (channel, want) in zip(got, frames, strict=True):
            assert got_channel == channel
            check(one, want)
        assert b"".join(amqp.encode(*f) for f in got) == data
