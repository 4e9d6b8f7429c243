"""0-9 and 0-8 against the independent reference codec: methods, properties, each dialect."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from amqpcodec import EncodeError, types
from tests.reference import Frame, Header, Method, Table, decode_frame, encode_frame
from tests.support.bridge import V0_8, V0_9, Version, build, check, method_class, py_name
from tests.support.generate import Generate

VERSIONS = {"0-9": V0_9, "0-8": V0_8}
SEEDED = 30  # random values a method
EVERY_METHOD = [
    pytest.param(at, name, id=f"{at.name} {name}")
    for at in VERSIONS.values()
    for name in sorted(at.facts.methods)
]
EVERY_CONTENT = [
    pytest.param(at, class_id, id=f"{at.name} class {class_id}")
    for at in VERSIONS.values()
    for class_id in at.facts.properties
]
EVERY_PROPERTY = [
    pytest.param(at, class_id, name, id=f"{at.name} class {class_id} {name}")
    for at in VERSIONS.values()
    for class_id, property_types in at.facts.properties.items()
    for name, _ in property_types
]
each_version = pytest.mark.parametrize("at", VERSIONS.values(), ids=VERSIONS)


def rounds(label: str, count: int = SEEDED) -> Iterator[Random]:
    """Random sources that are the same in every run."""
    for number in range(count):
        yield Random(f"{label}/{number}")


def check_decode(at: Version, channel: int, frame: Frame, dialect: str) -> None:
    """The reference's bytes give the reference's values, and come back as they were."""
    data = encode_frame(channel, frame, dialect, at.facts)
    assert decode_frame(data, 0, dialect, at.facts) == (len(data), channel, frame)
    for tables in ("plain", "typed"):
        consumed, got_channel, got = at.amqp.decode(data, dialect=dialect, tables=tables)
        assert (consumed, got_channel) == (len(data), channel)
        assert at.amqp.encode(channel, got) == data
        check(got, frame, dialect, tables, at)
        assert at.amqp.encode(channel, got) == data
        pieces = at.amqp.Decoder(0, dialect=dialect, tables=tables)
        ((got_channel, got),) = [one for octet in data for one in pieces.feed(bytes([octet]))]
        assert got_channel == channel
        check(got, frame, dialect, tables, at)


def check_encode(at: Version, channel: int, frame: Frame, dialect: str | None) -> None:
    """An object built from values gives the reference's bytes. dialect: None for the own one."""
    data = encode_frame(channel, frame, "rabbitmq", at.facts)
    instance = build(frame, "rabbitmq", at=at)
    assert at.amqp.encode(channel, instance, dialect=dialect) == data
    assert at.amqp.decode(data, tables="typed")[2] == instance


def both(at: Version, random: Random, make: Any) -> None:
    for dialect in ("rabbitmq", "0-9-1"):
        wild = Generate(random, dialect, facts=at.facts)
        check_decode(at, wild.channel(), make(wild), dialect)
    tame = Generate(random, faithful=True, facts=at.facts)
    check_encode(at, tame.channel(), make(tame), "rabbitmq")
    own = Generate(random, faithful=True, facts=at.facts, tags=at.tags)
    channel, frame = own.channel(), make(own)
    check_decode(at, channel, frame, at.name)
    check_encode(at, channel, frame, None)


@each_version
def test_the_same_methods(at: Version) -> None:
    assert set(at.amqp.METHODS) == set(at.facts.by_id)
    answers = {f"{c['name']}.{m['name']}": m for c in at.facts.raw["classes"] for m in c["methods"]}
    for ids, fact in at.facts.by_id.items():
        cls, raw = at.amqp.METHODS[ids], answers[fact.name]
        assert [fact.name, *ids] == [cls.NAME, cls.CLASS_ID, cls.METHOD_ID]
        assert cls.HAS_CONTENT is fact.content
        assert cls.SYNCHRONOUS is raw["synchronous"]
        assert cls.DEPRECATED is raw["deprecated"]
        assert raw["extension"] == cls.EXTENSION
        head = fact.name.partition(".")[0]
        assert [r.NAME for r in cls.RESPONSES] == [f"{head}.{name}" for name in raw["responses"]]
        faces = {"client": "server", "server": "client"}
        assert set(cls.SENT_BY) == {faces[peer] for peer in raw["received_by"]}
        assert tuple(cls.FIELDS) == tuple(py_name(name, at) for name, _ in fact.fields)
        assert tuple(cls.__match_args__) == tuple(cls.FIELDS)


@each_version
def test_the_same_constants(at: Version) -> None:
    for name, value in at.facts.constants.items():
        assert getattr(at.amqp, name.upper().replace("-", "_")) == value


@each_version
def test_the_same_properties(at: Version) -> None:
    carriers = {c.CLASS_ID for c in at.amqp.METHODS.values() if c.HAS_CONTENT}
    assert carriers <= set(at.facts.properties) | {120}
    for class_id, property_types in at.facts.properties.items():
        properties = build(Header(0, {}, class_id), at=at).properties
        assert tuple(properties.FIELDS) == tuple(py_name(name, at) for name, _ in property_types)


@pytest.mark.parametrize(("at", "name"), EVERY_METHOD)
def test_methods(at: Version, name: str) -> None:
    for random in rounds(f"{at.name}/{name}"):
        both(at, random, lambda generate: generate.method(name))


@pytest.mark.parametrize(("at", "name"), EVERY_METHOD)
def test_defaults(at: Version, name: str) -> None:
    """A method made without arguments is all zero, and comes back equal."""
    zero = {"bit": 0, "shortstr": b"", "longstr": b"", "table": [], "content": (0, b"")}
    args = {n: zero.get(wire_type, 0) for n, wire_type in at.facts.methods[name].fields}
    want = encode_frame(1, Method(name, args), facts=at.facts)
    method = method_class(name, at)()
    assert at.amqp.encode(1, method) == want
    assert at.amqp.decode(want)[2] == method


@pytest.mark.parametrize(("at", "class_id"), EVERY_CONTENT)
def test_headers(at: Version, class_id: int) -> None:
    for random in rounds(f"{at.name}/header/{class_id}", 100):
        both(at, random, lambda generate: generate.header(class_id))


@pytest.mark.parametrize(("at", "class_id", "name"), EVERY_PROPERTY)
def test_each_property_alone(at: Version, class_id: int, name: str) -> None:
    wire_type = dict(at.facts.properties[class_id])[name]
    for random in rounds(f"{at.name}/property/{class_id}/{name}"):
        both(at, random, lambda g: Header(1, {name: g.field(wire_type)}, class_id))


PLAIN: dict[str, Any] = {
    "S": "text", "bytes": b"\xff", "array": bytearray(b"\xfe"), "I": -(2**31),
    "D": Decimal("-1.50"), "T": datetime(2020, 1, 1, tzinfo=UTC), "F": {"": {"I": 2**31 - 1}},
}  # fmt: skip
REFUSED: dict[str, Any] = {
    "bool": True, "long": 2**31, "float": 1.5, "list": [], "tuple": (1,), "nested": {"a": False},
    "typed": types.UInt8(1), "typed array": types.ByteArray(b""), "typed long": types.Int64(1),
}  # fmt: skip


def start_ok(at: Version, table: dict[str, Any], dialect: str | None = None) -> bytes:
    return bytes(at.amqp.encode(0, at.amqp.Connection.StartOk(table), dialect=dialect))


@each_version
def test_plain_values_of_the_own_dialect(at: Version) -> None:
    wire: Table = [
        (b"S", ("S", b"text")), (b"bytes", ("S", b"\xff")), (b"array", ("S", b"\xfe")),
        (b"I", ("I", -(2**31))), (b"D", ("D", (2, -150))), (b"T", ("T", 1577836800)),
        (b"F", ("F", [(b"", ("F", [(b"I", ("I", 2**31 - 1))]))])),
    ]  # fmt: skip
    args = {"client-properties": wire, "mechanism": b"", "response": b"", "locale": b""}
    want = encode_frame(0, Method("connection.start-ok", args), facts=at.facts)
    assert start_ok(at, PLAIN) == start_ok(at, PLAIN, at.name) == want


@each_version
@pytest.mark.parametrize("name", REFUSED)
def test_values_that_the_own_dialect_has_no_type_for(at: Version, name: str) -> None:
    with pytest.raises(
        EncodeError, match=rf"client_properties\['k'\].*: tables of {at.name} hold no "
    ):
        start_ok(at, {"k": REFUSED[name]})
    data = start_ok(at, {"k": REFUSED[name]}, "rabbitmq")
    # What was read is written back as it came, also beside an entry that is new.
    _, _, frame = at.amqp.decode(data)
    frame.client_properties["new"] = 1
    assert at.amqp.encode(0, frame) == start_ok(at, {"k": REFUSED[name], "new": 1}, "rabbitmq")
    frame.client_properties["new"] = True
    with pytest.raises(EncodeError, match="hold no bool"):
        at.amqp.encode(0, frame)


def test_void_came_with_0_9() -> None:
    for value in (None, types.Void()):
        assert start_ok(V0_9, {"k": value})[16:18] == b"kV"
        with pytest.raises(EncodeError, match=r"tables of 0-8 hold no (None|Void) "):
            start_ok(V0_8, {"k": value})


@each_version
def test_messages(at: Version) -> None:
    """A whole message of every class that carries content."""
    carriers = [name for name, fact in at.facts.methods.items() if fact.content]
    for name in carriers:
        class_id = at.facts.methods[name].class_id
        for random in rounds(f"{at.name}/message/{name}", 5):
            tame = Generate(random, faithful=True, facts=at.facts, tags=at.tags)
            body = random.randbytes(random.choice([0, 1, 200000]))
            method = build(tame.method(name), at=at)
            properties = None
            if class_id in at.facts.properties:
                properties = build(tame.header(class_id), at=at).properties
            data = at.amqp.encode_message(3, method, properties, body)
            decoder = at.amqp.MessageDecoder(tables="typed")
            ((channel, event),) = decoder.feed(data)
            decoder.eof()
            assert (channel, event.method, event.body) == (3, method, body)
            assert properties is None or event.properties == properties
            assert at.amqp.encode_message(3, event.method, event.properties, event.body) == data
