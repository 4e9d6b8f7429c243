"""Rows that batch.decode is to give of AMQP 1.0, worked out of amqpcodec.v1_0's objects."""

from __future__ import annotations

import base64
import datetime
import json
import math
import uuid
from decimal import Decimal
from typing import Any

import pytest

from amqpcodec import DecodeError, batch
from amqpcodec import v1_0 as amqp

pa = pytest.importorskip("pyarrow")

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
S = amqp.Symbol


def decode(data: Any, **options: Any) -> Any:
    """A record batch that pyarrow finds sound."""
    record_batch = pa.record_batch(batch.decode(data, protocol="1.0", **options))
    record_batch.validate(full=True)
    return record_batch


def rows(data: Any, **options: Any) -> list[dict[str, Any]]:
    return list(decode(data, **options).to_pylist())


# ---- JSON text ----


def dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def milliseconds(value: Any) -> int:
    if isinstance(value, datetime.datetime):
        return (value - EPOCH) // datetime.timedelta(milliseconds=1)
    return int(value)


def json_text(value: Any) -> str:
    """A value that types="typed" gave. In the order in which subclasses hide what they are."""
    if value is None:
        return "null"
    if isinstance(value, (bool, amqp.Role)):
        return "true" if value else "false"
    if isinstance(value, (amqp.Timestamp, datetime.datetime)):
        return f'{{"$timestamp_ms":{milliseconds(value)}}}'
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        if math.isnan(value):
            return '{"$double":"NaN"}'
        if math.isinf(value):
            return f'{{"$double":"{"-" if value < 0 else ""}Infinity"}}'
        return repr(float(value))
    if isinstance(value, Decimal):
        return f'{{"$decimal":"{Decimal(value)}"}}'
    if isinstance(value, uuid.UUID):
        return f'{{"$uuid":"{value}"}}'
    if isinstance(value, (bytes, memoryview)):
        return dumps({"$binary": base64.b64encode(value).decode()})
    if isinstance(value, amqp.Char):
        return f'{{"$char":{dumps(str(value))}}}'
    if isinstance(value, str):
        return dumps(str(value))
    if isinstance(value, (dict, amqp.Map)):
        return json_pairs(list(value.items() if isinstance(value, dict) else value))
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(json_text, value)) + "]"
    if isinstance(value, amqp.Array):
        text = json_text(list(value.items))
        for descriptor in reversed(value.descriptors):
            text = f'{{"$described_array":[{json_text(descriptor)},{text}]}}'
        return text
    if isinstance(value, amqp.Described):
        return f'{{"$described":[{json_text(value.descriptor)},{json_text(value.value)}]}}'
    return json_object(value, f'"$type":"{value.NAME}"')


def json_key(key: str) -> str:
    return dumps("$" + key if key.startswith("$") else str(key))


def json_pairs(pairs: list[tuple[Any, Any]]) -> str:
    keys = [key for key, _ in pairs]
    if not all(isinstance(key, str) and not isinstance(key, amqp.Char) for key in keys):
        return f'{{"$map":{json_text([[key, value] for key, value in pairs])}}}'
    texts = [(json_key(str(key)), json_text(value)) for key, value in pairs]
    if len(set(map(str, keys))) < len(keys):
        return '{"$table":[' + ",".join(f"[{key},{value}]" for key, value in texts) + "]}"
    return "{" + ",".join(f"{key}:{value}" for key, value in texts) + "}"


def json_object(composite: Any, first: str = "") -> str:
    parts = [first] if first else []
    for name in composite.FIELDS:
        if composite.is_set(name) or composite.FIELDS == ("value",):
            value = getattr(composite, name)
            if hasattr(value, "name") and isinstance(value, str):
                value = value.value  # a choice
            parts.append(f'"{name}":{json_text(value)}')
    return "{" + ",".join(parts) + "}"


# ---- rows ----


def expected(raw: bytes) -> dict[str, Any]:
    """Columns of one whole frame but row, offset and error_offset."""
    row: dict[str, Any] = {
        "frame_type": {0: "amqp", 1: "sasl"}.get(raw[5]),
        "channel": int.from_bytes(raw[6:8], "big"),
        "performative": None,
        "arguments": None,
        "payload": None,
        "frame": raw,
        "error": None,
    }
    try:
        result = amqp.decode(raw, types="typed")
    except DecodeError as error:
        row["error"] = f"{error.condition}: {error}"
        return row
    assert result is not None
    _, row["channel"], frame = result
    if type(frame) is amqp.ProtocolHeader:
        row["frame_type"] = "protocol-header"
    elif type(frame) is amqp.Heartbeat:
        row["frame_type"] = "heartbeat"
    else:
        row["performative"] = frame.NAME
        row["arguments"] = json_object(frame)
        if type(frame) is amqp.Transfer:
            row["payload"] = bytes(frame.payload)
    return row


# ---- message level ----

MESSAGE_COLUMNS = (
    *("row", "channel", "performative", "handle", "delivery_id", "delivery_tag"),
    *("message_format", "settled", "header", "delivery_annotations", "message_annotations"),
    *("properties", "application_properties", "body_kind", "body", "value", "footer", "frame"),
    "error",
)
ASKED = (*MESSAGE_COLUMNS, "arguments", "message", "offset", "error_offset")
PREFIXES = tuple(f"AMQP_{name}:" for name in ("STRING", "ULONG", "UUID", "BINARY", "VALUE"))


def id_text(value: Any) -> str:
    if isinstance(value, str) and not isinstance(value, (amqp.Symbol, amqp.Char)):
        return "AMQP_STRING:" + value if value.startswith(PREFIXES) else value
    if isinstance(value, bytes):
        return "AMQP_BINARY:" + value.hex().upper()
    if isinstance(value, uuid.UUID):
        return f"AMQP_UUID:{value}"
    if isinstance(value, amqp.ULong):
        return f"AMQP_ULONG:{int(value)}"
    return "AMQP_VALUE:" + json_text(value)


def struct_of(section: Any) -> dict[str, Any] | None:
    if section is None:
        return None
    values: dict[str, Any] = {}
    for name in section.FIELDS:
        value = getattr(section, name) if section.is_set(name) else None
        if value is not None:
            if name in ("message_id", "correlation_id", "to", "reply_to"):
                value = id_text(value)
            elif name.endswith("_time"):
                value = milliseconds(value) * 1000
        values[name] = value
    return values


def message_rows(data: Any, **options: Any) -> list[dict[str, Any]]:
    """Rows with times as µs, which Python's calendar may not reach."""
    record_batch = decode(data, level="message", **options)
    column_names = record_batch.schema.names
    if "properties" in column_names:
        column = record_batch.column("properties")
        children = [column.field(i) for i in range(column.type.num_fields)]
        children = [
            child.cast(pa.int64()) if pa.types.is_timestamp(child.type) else child
            for child in children
        ]
        names = [field.name for field in column.type]
        plain = pa.StructArray.from_arrays(children, names, mask=column.is_null())
        record_batch = record_batch.set_column(
            column_names.index("properties"), "properties", plain
        )
    return list(record_batch.to_pylist())


def expected_event(channel: int, event: Any) -> dict[str, Any]:
    """Columns of a delivery or other performative, as far as its object tells them."""
    row: dict[str, Any] = dict.fromkeys(MESSAGE_COLUMNS[1:-2])
    first = event.transfer if type(event) is amqp.Delivery else event
    row["channel"] = channel
    row["performative"] = first.NAME
    for name in ("handle", "delivery_id", "delivery_tag", "message_format", "settled"):
        if name in first.FIELDS and first.is_set(name):
            row[name] = getattr(first, name)
    if type(event) is not amqp.Delivery:
        return row
    row["message"] = bytes(event.payload)
    if event.settled:
        row["settled"] = True
    message = event.message
    if message is None:
        return row
    row["header"] = struct_of(message.header)
    row["properties"] = struct_of(message.properties)
    for name in ("delivery_annotations", "message_annotations", "footer", "application_properties"):
        value = getattr(message, name)
        row[name] = None if value is None else json_text(value)
    kind = row["body_kind"] = message.body_kind
    if kind == "data":
        row["body"] = b"".join(message.data)
    elif kind == "sequence":
        row["value"] = json_text(list(message.sequences))
    elif kind == "value":
        row["value"] = json_text(message.value)
    return row
