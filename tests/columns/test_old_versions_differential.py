"""Columns of 0-9 and 0-8 against the slow reference codec, which shares nothing with them."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from amqpcodec import batch
from tests.columns.batch_rows import expected_row, pa, rows
from tests.reference import encode_frame
from tests.support.bridge import V0_8, V0_9, Version
from tests.support.generate import Generate

VERSIONS = {"0-9": V0_9, "0-8": V0_8}
each_version = pytest.mark.parametrize("at", VERSIONS.values(), ids=VERSIONS)
EVERY_METHOD = [
    pytest.param(at, name, id=f"{at.name} {name}")
    for at in VERSIONS.values()
    for name in sorted(at.facts.methods)
]


def check(row: dict[str, Any], raw: bytes, at: Version) -> None:
    expected, bad = expected_row(raw, facts=at.facts)
    assert {name: row[name] for name in expected} == expected
    if bad is None:
        assert row["error"] is None
    else:
        assert row["error"].startswith(bad)


@pytest.mark.parametrize(("at", "name"), EVERY_METHOD)
def test_every_method(at: Version, name: str) -> None:
    raws = []
    for number in range(15):
        wild = Generate(Random(f"{name}/{number}"), facts=at.facts)
        raws.append(encode_frame(number, wild.method(name), facts=at.facts))
    for protocol in (at.name, at.amqp):
        frame_rows = rows(pa.array(raws, pa.binary()), protocol=protocol)
        assert len(frame_rows) == len(raws)
        for row, raw in zip(frame_rows, raws, strict=True):
            check(row, raw, at)


@each_version
def test_every_property_list(at: Version) -> None:
    raws = []
    for class_id in at.facts.properties:
        for number in range(40):
            wild = Generate(Random(f"{class_id}/{number}"), facts=at.facts)
            raws.append(encode_frame(1, wild.header(class_id), facts=at.facts))
    for row, raw in zip(rows(b"".join(raws), protocol=at.name), raws, strict=True):
        check(row, raw, at)


@each_version
def test_the_same_frame_is_another_method_in_another_version(at: Version) -> None:
    data = V0_8.amqp.encode(0, V0_8.amqp.Connection.Close(200, "bye"))
    assert rows(data, protocol="0-8")[0]["method"] == "connection.close"
    assert "connection.blocked" in rows(data, protocol="0-9-1")[0]["error"]
    assert "no method with class id 10 and method id 60" in rows(data, protocol="0-9")[0]["error"]
    assert at.name in VERSIONS


@each_version
def test_messages(at: Version) -> None:
    """Message level, with the columns of 0-9-1 and named ones of the version's own."""
    amqp = at.amqp
    publish = amqp.Basic.Publish(exchange="e", routing_key="k", mandatory=True, ticket=7)
    stage = amqp.File.Stage()
    data = amqp.encode_message(1, publish, amqp.Basic.Properties(cluster_id="c"), b"one")
    data += amqp.encode_message(2, stage, amqp.File.Properties(filename="f"), b"two")
    data += amqp.encode(3, amqp.Tx.Commit())
    first, second, third = rows(data, protocol=at.name, level="message")
    assert (first["method"], first["exchange"], first["mandatory"]) == ("basic.publish", "e", True)
    assert (first["properties"]["cluster_id"], first["body"]) == ("c", b"one")
    assert (second["method"], second["body"]) == ("file.stage", b"two")
    assert second["properties"]["filename"] == "f"
    assert (third["method"], third["body"], third["error"]) == ("tx.commit", None, None)
    fields = ["ticket", "properties.filename", "method"]
    message_rows = rows(data, protocol=at.name, level="message", fields=fields)
    assert [row["ticket"] for row in message_rows] == [7, None, None]
    assert [row["properties.filename"] for row in message_rows] == [None, "f", None]


def test_a_reference_as_a_named_column() -> None:
    from amqpcodec.types import Reference

    amqp = V0_9.amqp
    data = amqp.encode(1, amqp.Message.Transfer(body=Reference(b"r")))
    data += amqp.encode(1, amqp.Message.Transfer(body=b"octets"))
    frame_rows = rows(data, protocol="0-9", fields=["message.transfer.body", "destination"])
    assert [row["message.transfer.body"] for row in frame_rows] == [
        '{"$reference":"r"}',
        '"octets"',
    ]
    assert [row["destination"] for row in frame_rows] == ["", ""]


@each_version
def test_schema(at: Version) -> None:
    schema = pa.schema(batch.schema(at.name))
    names = [field.name for field in schema.field("properties").type]
    python = [
        name.replace("-", "_")
        for properties in at.facts.properties.values()
        for name, _ in properties
    ]
    assert names == list(dict.fromkeys(python))
