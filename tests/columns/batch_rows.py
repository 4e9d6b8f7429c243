"""Rows of batch.decode as Python values, and what rows the independent reference expects."""

from __future__ import annotations

import base64
import json
import keyword
import math
import struct
from decimal import Context, Decimal
from typing import Any

import pytest

from amqpcodec import batch
from tests.reference import (
    FACTS,
    Body,
    Facts,
    Header,
    Heartbeat,
    Method,
    ProtocolHeader,
    decode_frame,
)
from tests.reference.tables import Table, Tagged

pa = pytest.importorskip("pyarrow")

COLUMNS = (
    "row", "offset", "frame_type", "channel", "method", "arguments", "properties", "body_size",
    "payload", "frame", "error", "error_offset",
)  # fmt: skip
FRAME_TYPES = {
    Method: "method",
    Header: "header",
    Body: "body",
    Heartbeat: "heartbeat",
    ProtocolHeader: "protocol-header",
}
_EXACT = Context(prec=400)
LAST_SECOND = ((1 << 63) - 1) // 1_000_000


def decode(data: Any, **options: Any) -> Any:
    """A record batch that pyarrow finds sound."""
    record_batch = pa.record_batch(batch.decode(data, **options))
    record_batch.validate(full=True)
    return record_batch


def rows(data: Any, **options: Any) -> list[dict[str, Any]]:
    """Rows as dicts, timestamps as µs since 1970."""
    record_batch = decode(data, **options)
    names = record_batch.schema.names
    if "properties" in names:
        column = record_batch.column("properties")
        fields = [
            (child.cast(pa.int64()) if pa.types.is_timestamp(child.type) else child)
            for child in (column.field(i) for i in range(column.type.num_fields))
        ]
        inner = [field.name for field in column.type]
        plain = pa.StructArray.from_arrays(fields, inner, mask=column.is_null())
        record_batch = record_batch.set_column(names.index("properties"), "properties", plain)
    return list(record_batch.to_pylist())


def python_name(name: str, facts: Facts = FACTS) -> str:
    if name == "nowait" and facts is FACTS:  # confirm.select; one spelling is offered
        return "no_wait"
    name = name.replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


# ---- the JSON text that is expected, by the rules of the contract ----


def dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def json_bytes(octets: bytes) -> str:
    try:
        return dumps(octets.decode("utf-8"))
    except UnicodeDecodeError:
        return json_binary(octets)


def json_binary(octets: bytes) -> str:
    return dumps({"$binary": base64.b64encode(octets).decode()})


def json_key(octets: bytes) -> str:
    try:
        text = octets.decode("utf-8")
    except UnicodeDecodeError:
        return dumps("$key:" + base64.b64encode(octets).decode())
    return dumps("$" + text if text.startswith("$") else text)


def json_float(value: float) -> str:
    if math.isnan(value):
        return dumps({"$double": "NaN"})
    if math.isinf(value):
        return dumps({"$double": "Infinity" if value > 0 else "-Infinity"})
    return repr(value)


def json_value(tagged: Tagged) -> str:
    tag, value = tagged
    if tag == "t":
        return "true" if value else "false"
    if tag in "fd":
        return json_float(struct.unpack(">" + tag, value)[0])
    if tag == "D":
        scale, unscaled = value
        return dumps({"$decimal": f"{Decimal(unscaled).scaleb(-scale, _EXACT):f}"})
    if tag == "T":
        return dumps({"$timestamp": value})
    if tag == "V":
        return "null"
    if tag == "S" or (tag == "s" and isinstance(value, bytes)):
        return json_bytes(value)
    if tag == "x":
        return json_binary(value)
    if tag == "A":
        return "[" + ",".join(map(json_value, value)) + "]"
    if tag == "F":
        return json_table(value)
    return str(value)


def json_table(table: Table) -> str:
    pairs = [(json_key(key), json_value(value)) for key, value in table]
    if len({key for key, _ in table}) < len(table):
        return '{"$table":[' + ",".join(f"[{key},{value}]" for key, value in pairs) + "]}"
    return "{" + ",".join(f"{key}:{value}" for key, value in pairs) + "}"


# ---- the row that is expected of a frame that the reference can read ----


def is_text(octets: bytes) -> bool:
    try:
        octets.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def expected_row(
    raw: bytes, dialect: str = "rabbitmq", facts: Facts = FACTS
) -> tuple[dict[str, Any], str | None]:
    """Columns of one valid frame but row, offset, error and error_offset; the field that no
    column can hold, or None."""
    result = decode_frame(raw, 0, dialect, facts)
    assert result is not None
    _, channel, frame = result
    bad: str | None = None
    row: dict[str, Any] = dict.fromkeys(COLUMNS[2:10])
    row.update(frame_type=FRAME_TYPES[type(frame)], channel=channel, frame=raw)
    if isinstance(frame, Method):
        row["method"] = frame.name
        row["arguments"], bad = expected_arguments(frame, facts)
    elif isinstance(frame, Header):
        row["properties"], bad = expected_properties(frame, facts)
        if frame.body_size < 1 << 63:
            row["body_size"] = frame.body_size
        else:
            bad = "body size"
    elif isinstance(frame, Body):
        row["payload"] = frame.payload
    return row, bad


def expected_arguments(method: Method, facts: Facts = FACTS) -> tuple[str, str | None]:
    fact = facts.methods[method.name]
    out: list[str] = []
    bad: str | None = None
    for name, wire_type in fact.fields:
        value = method.args[name]
        if name in fact.reserved and not value:
            continue
        if wire_type == "bit":
            text = "true" if value else "false"
        elif wire_type == "shortstr" and not is_text(value):
            text, bad = "null", bad or f"{method.name}.{python_name(name, facts)}"
        elif wire_type in ("shortstr", "longstr"):
            text = json_bytes(value)
        elif wire_type == "table":
            text = json_table(value)
        elif wire_type == "timestamp":
            text = json_value(("T", value))
        elif wire_type == "content":
            text = json_bytes(value[1])
            text = f'{{"$reference":{text}}}' if value[0] else text
        else:
            text = str(value)
        out.append(f"{dumps(python_name(name, facts))}:{text}")
    return "{" + ",".join(out) + "}", bad


def expected_properties(header: Header, facts: Facts = FACTS) -> tuple[dict[str, Any], str | None]:
    """All properties of all classes; those of other classes are null."""
    own_properties = facts.properties[header.class_id]
    out: dict[str, Any] = {
        python_name(name, facts): None
        for properties in facts.properties.values()
        for name, _ in properties
    }
    (owner,) = (c["name"] for c in facts.raw["classes"] if c["id"] == header.class_id)
    bad: str | None = None
    for name, wire_type in own_properties:
        python = python_name(name, facts)
        value = header.properties.get(name)
        if value is None:
            pass
        elif wire_type == "shortstr":
            if is_text(value):
                value = value.decode()
            else:
                value, bad = None, bad or f"{owner}.properties.{python}"
        elif wire_type == "table":
            value = json_table(value)
        elif wire_type == "timestamp":
            if value > LAST_SECOND:
                value, bad = None, bad or f"{owner}.properties.{python}"
            else:
                value *= 1_000_000
        out[python] = value
    return out, bad
