"""Columns come from the model of the protocol: also of those with other content classes."""

from __future__ import annotations

import struct

from amqpcodec import _codec
from amqpcodec.spec.lower import WIRE_NUMBERS, lower
from amqpcodec.spec.model import Class, Field, Method, Protocol
from tests.columns.batch_rows import decode, pa, rows
from tests.support import amqp091_wire as w


def make_protocol(*classes: Class) -> _codec.Protocol:
    model = Protocol("test", 0, 1, 0, 1, classes=classes)
    return _codec.Protocol(lower(model, "tests.made"))


def content(name: str, index: int, *fields: tuple[str, str]) -> Class:
    return Class(
        name,
        index,
        fields=tuple(Field(field, None, kind) for field, kind in fields),
        methods=(Method("send", 10, content=True),),
    )


def header(class_id: int, flags: int, values: bytes) -> bytes:
    return w.frame(2, 1, struct.pack(">HHQH", class_id, 0, 5, flags) + values)


def test_every_wire_type_as_a_property() -> None:
    kinds = list(WIRE_NUMBERS)
    protocol = make_protocol(content("all", 60, *((f"a-{kind}", kind) for kind in kinds)))
    values = b"\xff" + b"\xff" * 2 + b"\xff" * 4 + b"\x7f" + b"\xff" * 7
    values += b"\1s" + b"\0\0\0\2\xff\0" + bytes(7) + b"\1" + w.table(("k", b"b\1"))
    values += b"\0\0\0\0\2\xfe\0"
    data = header(60, 0, b"") + header(60, 0xFFC0, values)
    data += header(60, 0x0800, b"\x80" + bytes(7))  # longlong
    record_batch = decode(data, protocol=protocol)
    types = {field.name: field.type for field in record_batch.schema.field("properties").type}
    assert types == {
        "a_bit": pa.bool_(),
        "a_octet": pa.int32(),
        "a_short": pa.int32(),
        "a_long": pa.int64(),
        "a_longlong": pa.int64(),
        "a_shortstr": pa.string(),
        "a_longstr": pa.binary(),
        "a_timestamp": pa.timestamp("us", "UTC"),
        "a_table": pa.string(),
        "a_content": pa.binary(),
    }
    none, all_, beyond = rows(data, protocol=protocol)
    assert none["properties"] == dict.fromkeys(types)
    assert list(all_["properties"].values()) == [
        *(True, 255, 65535, 2**32 - 1, 2**63 - 1, "s", b"\xff\0", 1_000_000, '{"k":1}'),
        b"\xfe\0",
    ]
    assert beyond["properties"] == dict.fromkeys(types)
    assert beyond["error"].startswith("all.properties.a_longlong: longlong 9223372036854775808")
    dropped = rows(data * 3, protocol=protocol, mode="DROPMALFORMED")
    assert [row["properties"]["a_bit"] for row in dropped] == [None, True] * 3


def test_properties_of_several_classes() -> None:
    """One column for each name and type; the same name with another type has its class in front."""
    protocol = make_protocol(
        content("one", 60, ("name", "shortstr"), ("size", "octet")),
        content("two", 70, ("size", "longlong"), ("name", "shortstr"), ("more", "octet")),
    )
    data = header(60, 0xC000, b"\1a\2") + header(70, 0xE000, bytes(7) + b"\3\1b\4")
    first, second = (row["properties"] for row in rows(data, protocol=protocol))
    assert first == {"name": "a", "size": 2, "two_size": None, "more": None}
    assert second == {"name": "b", "size": None, "two_size": 3, "more": 4}


def test_more_than_fifteen_properties() -> None:
    protocol = make_protocol(content("wide", 60, *((f"p{n}", "octet") for n in range(20))))
    words = struct.pack(">HH", 0x8001, 0xF800)  # the first, and five of the second word
    payload = struct.pack(">HHQ", 60, 0, 5) + words + bytes(range(1, 7))
    frame_rows = rows(w.frame(2, 1, payload), protocol=protocol)
    properties = {
        name: value for name, value in frame_rows[0]["properties"].items() if value is not None
    }
    assert properties == {"p0": 1, "p15": 2, "p16": 3, "p17": 4, "p18": 5, "p19": 6}


def test_no_content_at_all() -> None:
    protocol = make_protocol(Class("bare", 10, methods=(Method("go", 11),)))
    data = w.frame(1, 1, b"\0\x0a\0\x0b") + header(10, 0, b"")
    method, bad = rows(data, protocol=protocol)
    assert (method["method"], method["arguments"], method["properties"]) == ("bare.go", "{}", None)
    assert "no content" in bad["error"]


def test_arguments_of_every_type() -> None:
    kinds = ["bit", "octet", "bit", "bit", "short", "long", "longlong"]
    kinds += ["shortstr", "longstr", "timestamp", "table", "content", "content", "content"]
    fields = tuple(
        Field(f"a{number}", None, kind, reserved=kind == "long")
        for number, kind in enumerate(kinds)
    )
    protocol = make_protocol(Class("all", 10, methods=(Method("go", 11, fields=fields),)))
    values = b"\1" + b"\5" + b"\2" + b"\0\6" + b"\0\0\0\7" + bytes(7) + b"\x08"
    values += b"\1s" + b"\0\0\0\1l" + bytes(7) + b"\x09" + w.table(("k", b"V"))
    values += b"\0\0\0\0\1c" + b"\1\0\0\0\1r" + b"\1\0\0\0\2\xff\xfe"
    frame = w.frame(1, 1, b"\0\x0a\0\x0b" + values)
    (row,) = rows(frame, protocol=protocol)
    assert row["arguments"] == (
        '{"a0":true,"a1":5,"a2":false,"a3":true,"a4":6,"a5":7,"a6":8,"a7":"s","a8":"l",'
        '"a9":{"$timestamp":9},"a10":{"k":null},"a11":"c","a12":{"$reference":"r"},'
        '"a13":{"$reference":{"$binary":"//4="}}}'
    )
