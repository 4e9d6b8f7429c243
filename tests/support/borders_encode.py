"""Columns whose messages a filler moves over the end of the memory that they are written to.

Tables and values of JSON text are written to a scratch block, which begins with 1,024 bytes; all
messages of a batch to one block. A filler in a table moves what follows it over the end of the
first, and a filler in the row before moves a whole message over the end of the second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from typing import Any

from amqpcodec import v1_0
from tests.columns.batch_rows import pa
from tests.encode import encode_v1_values, encode_values
from tests.encode.encode_v1_values import Said
from tests.encode.encode_values import Sent
from tests.support.borders import Encode
from tests.support.borders_amqp0 import MORE_VALUES, SHORT_VALUES
from tests.support.borders_v1 import VALUES

S = v1_0.Symbol
PROPERTIES = {
    "content_type": "text/plain",
    "delivery_mode": 2,
    "priority": 5,
    "message_id": "id",
    "timestamp": SHORT_VALUES["timestamp"],
}
#: Values of which the helpers of these tests know a form in JSON text.
TABLE = {key: value for key, value in MORE_VALUES.items() if not isinstance(value, bytearray)}
V1_VALUES = [v for v in VALUES if not isinstance(v, v1_0.Array | datetime) and len(repr(v)) < 100]


def one(columns: dict[str, Any], protocol: str) -> bytes:
    """The only value of a batch of one row."""
    values, errors = encode_values.encode(pa.RecordBatch.from_pydict(columns), protocol=protocol)
    assert errors == [None]
    assert values[0] is not None
    return values[0]


def json_headers(length: int) -> bytes:
    """Headers as JSON text."""
    text = encode_values.json_text({"a": "f" * length, **TABLE})
    return one({"properties.headers": pa.array([text]), "body": pa.array([b"body"])}, "0-9-1")


def json_arguments(length: int) -> bytes:
    """Arguments as JSON text, one of which is a table."""
    text = encode_values.json_text({"queue": "q", "arguments": {"a": "f" * length, **TABLE}})
    return one({"method": pa.array(["queue.declare"]), "arguments": pa.array([text])}, "0-9-1")


def struct_headers(length: int) -> bytes:
    """Headers as a struct of Arrow types."""
    table = {
        "a": "f" * length,
        **{
            key: MORE_VALUES[key] for key in ("text", "int", "decimal", "moment", "bytes", "double")
        },
        "list": ["a", "b"],
        "table": {"k": {"l": "m"}},
    }
    return one({"properties.headers": pa.array([table])}, "0-9-1")


def map_headers(length: int) -> bytes:
    """Headers as a map."""
    table = [("a", "f" * length), *((f"key-{number}", "t" * number) for number in range(20))]
    column = pa.array([table], pa.map_(pa.string(), pa.string()))
    return one({"properties.headers": column}, "0-9-1")


def header_columns(length: int) -> bytes:
    """Headers as columns of their own."""
    columns = {"headers.a": pa.array(["f" * length]), "properties.message_id": pa.array(["id"])}
    columns |= {f"headers.key-{number}": pa.array([number]) for number in range(12)}
    return one(columns, "0-9-1")


def v1_json_map(length: int) -> bytes:
    """An annotation as JSON text."""
    table = {S("a"): "f" * length, **{S(f"k{n}"): value for n, value in enumerate(V1_VALUES)}}
    text = encode_v1_values.json_text(table)
    return one({"message_annotations": pa.array([text]), "body": pa.array([b"body"])}, "1.0")


def v1_json_value(length: int) -> bytes:
    """A body as JSON text."""
    text = encode_v1_values.json_text(["f" * length, *V1_VALUES, {"k": V1_VALUES}])
    return one({"value": pa.array([text])}, "1.0")


def v1_json_fields(length: int) -> bytes:
    """Fields of a performative as JSON text."""
    fields = {
        "name": "f" * length,
        "handle": 5,
        "role": True,
        "source": {"$type": "source", "address": "s", "outcomes": ["a", "b"]},
        "target": {"$type": "target", "address": "t"},
        "properties": {"k": 5},
    }
    text = encode_v1_values.json_text(fields)
    return one({"performative": pa.array(["attach"]), "arguments": pa.array([text])}, "1.0")


def v1_struct(length: int) -> bytes:
    """Application properties and a body of Arrow types."""
    properties = {"a": "f" * length, "b": 5, "c": 1.5, "d": True, "e": b"bytes", "g": ["a", "b"]}
    columns = {
        "application_properties": pa.array([properties]),
        "value": pa.array([[1, 2, 300]]),
        "header.ttl": pa.array([5]),
    }
    return one(columns, "1.0")


def sent(length: int) -> list[Sent]:
    """Messages of which the first has the filler as its body."""
    headers = {"k": "v", **TABLE}
    publish = partial(Sent, "basic.publish", 1)
    return [
        publish({"exchange": "e"}, {}, b"f" * length),
        publish({"exchange": "e", "routing_key": "k" * 200}, {**PROPERTIES, "headers": headers}),
        Sent("queue.declare", 2, {"queue": "q" * 100, "arguments": headers}),
        publish({"exchange": "e", "mandatory": True}, PROPERTIES, b"body" * 40),
        Sent("basic.ack", 65535, {"delivery_tag": 2**40, "multiple": True}),
    ]


def same_shape(length: int) -> list[Sent]:
    """Messages that the writers of blocks take, the first with the filler."""
    return [
        Sent("basic.publish", 1, {"exchange": "e", "routing_key": "k"}, PROPERTIES, body)
        for body in (b"f" * length, b"", b"b" * 50, *(b"body" * n for n in range(1, 70)))
    ]


def v1_messages(length: int) -> list[Said]:
    """Messages of 1.0 of which the first has the filler as its body."""
    annotations = {S("k"): V1_VALUES[1], S("l"): [1, "t"]}
    return [
        Said({"handle": 1}, body=b"f" * length),
        Said({"handle": 1, "delivery_tag": b"tag"}, header={"priority": 5}, body=b"b" * 300),
        Said(message_annotations=annotations, properties={"message_id": "id", "to": "t" * 200}),
        Said(application_properties={"k": 5}, body=[[1, "t"], []], footer={S("a"): None}),
        Said(body=v1_0.AmqpValue({"k": V1_VALUES[1]})),
    ]


def columns_of(messages: list[Sent]) -> Any:
    """A batch of messages of 0-9-1."""
    rows = []
    for message in messages:
        properties = message.properties and {
            name: encode_values.json_text(value) if name == "headers" else value
            for name, value in message.properties.items()
        }
        rows.append({
            "method": message.method,
            "channel": message.channel,
            "arguments": encode_values.json_text(message.arguments),
            "properties": properties or None,
            "body": message.body,
        })  # fmt: skip
    fields = [
        ("content_type", pa.string()),
        ("delivery_mode", pa.int32()),
        ("priority", pa.int32()),
    ]
    fields += [("message_id", pa.string()), ("timestamp", pa.timestamp("us", "UTC"))]
    fields += [("headers", pa.string())]
    schema = [("method", pa.string()), ("channel", pa.int32()), ("arguments", pa.string())]
    schema += [("properties", pa.struct(fields)), ("body", pa.binary())]
    return pa.RecordBatch.from_pylist(rows, pa.schema(schema))


def columns_of_blocks(messages: list[Sent]) -> Any:
    """A batch whose arguments are columns: rows of it are written as a block."""
    message_columns = columns_of(messages)
    columns = {name: message_columns[name] for name in ("properties", "body")}
    for name in ("exchange", "routing_key"):
        columns[name] = pa.array([message.arguments[name] for message in messages])
    return pa.RecordBatch.from_pydict(columns)


def v1_columns_of(messages: list[Said]) -> Any:
    """A batch of messages of 1.0."""
    return pa.RecordBatch.from_pylist([m.row() for m in messages], encode_v1_values.SCHEMA)


#: Encodings of one row, which learn how they depend on the filler.
ROWS: dict[str, Encode] = {
    row.__name__: row
    for row in (
        *(json_headers, json_arguments, struct_headers, map_headers, header_columns),
        *(v1_json_map, v1_json_value, v1_json_fields, v1_struct),
    )
}
#: Messages, their columns and their protocol.
BATCHES: dict[str, tuple[Callable[[int], list[Any]], Callable[[list[Any]], Any], str]] = {
    "rows": (sent, columns_of, "0-9-1"),
    "blocks": (same_shape, columns_of_blocks, "0-9-1"),
    "v1-rows": (v1_messages, v1_columns_of, "1.0"),
}


def batches(name: str, lengths: Iterator[int]) -> Iterator[tuple[int, list[Any], list[bytes]]]:
    """A length of the filler, the values of the batch, and what the object encoder writes."""
    messages, columns, protocol = BATCHES[name]
    others = [message.octets() for message in messages(1)[1:]]
    for length in lengths:
        rows = messages(length)
        values, errors = encode_values.encode(columns(rows), protocol=protocol)
        assert errors == [None] * len(rows)
        yield length, values, [rows[0].octets(), *others]
