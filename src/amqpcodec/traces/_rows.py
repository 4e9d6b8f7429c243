"""What a trace says of a message, to a row."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from .. import capture
from ._terms import TermError, parse

__all__ = ["RecordError", "empty", "json_text", "of_firehose", "of_json", "of_text", "schema"]

#: Columns that messages of captures have as well, with the same types.
SHARED = (
    *("file", "direction", "timestamp", "src", "dst", "channel", "method", "exchange"),
    *("routing_key", "redelivered", "properties", "body", "error"),
)
#: Those that only a trace has.
OWN = (
    pa.field("offset", pa.int64()),
    pa.field("connection_name", pa.string()),
    pa.field("node", pa.string()),
    pa.field("vhost", pa.string()),
    pa.field("user", pa.string()),
    pa.field("queue", pa.string()),
    pa.field("routing_keys", pa.list_(pa.string())),
    pa.field("routed_queues", pa.list_(pa.string())),
    pa.field("record", pa.binary()),
)
#: How the plugin's JSON says a text that is not UTF-8.
NOT_UTF8 = "Not UTF-8, base64 is: "
#: Timestamps of columns: years 1 to 9999.
LATEST = 253402300799

_ENDS = re.compile(r"(\S+:\d+) -> (\S+:\d+)")
_OLD_TIME = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2}) (\d{1,2}):(\d{1,2}):(\d{1,2}):(\d{1,3})")
_HEAD = re.compile(rb"(\S[^\n]*?): Message (published|received)\r?\n\r?\n")
_LINE = re.compile(rb"([A-Z][A-Za-z ]+?): *([^\n]*(?:\n[ \t][^\n]*)*)(?:\n|$)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class RecordError(ValueError):
    """What is wrong with a record of a trace."""


def schema() -> pa.Schema:
    """The columns of messages: those of captures' messages, then those of traces alone."""
    return pa.schema([*pa.schema(capture.schema("message", SHARED)), *OWN])


def empty() -> dict[str, Any]:
    """A row of nothing.

    is_complete, which is no column: whether body is known to be all of it. The plugin may have cut
    the payloads in its logs.
    """
    names = (*SHARED, *(field.name for field in OWN))
    return dict.fromkeys(names) | {"is_complete": False}


def _text(value: Any) -> str | None:
    try:
        if isinstance(value, bytes):
            return value.decode()
        if isinstance(value, str):
            value.encode()  # "\ud800" of JSON is no text to Arrow
            return value
    except UnicodeError:
        raise RecordError("a text that is not UTF-8") from None
    if value is None:
        return None
    raise RecordError(f"a text is wanted, not {type(value).__name__}")


def _texts(value: Any) -> list[str | None] | None:
    if value in (None, "none", b"none"):
        return None
    if not isinstance(value, list):
        raise RecordError(f"a list is wanted, not {type(value).__name__}")
    return [_text(entry) for entry in value]


def _integer(value: Any, low: int, high: int) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise RecordError("a number that is none, or out of range")
    return value


def _moment(text: Any) -> datetime | None:
    """A time as the plugin writes it, that of before RabbitMQ 3.9 too, which is UTC."""
    if text is None:
        return None
    try:
        old = _OLD_TIME.fullmatch(text)
        if old is not None:
            year, month, day, hour, minute, second, ms = map(int, old.groups())
            return datetime(year, month, day, hour, minute, second, ms * 1000, UTC)
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (TypeError, ValueError, AttributeError):
        raise RecordError("a time that is none") from None


def _common(row: dict[str, Any], published: bool, fields: Mapping[str, Any]) -> dict[str, Any]:
    """What all kinds of records have under the names of the firehose."""
    row["direction"] = "client" if published else "server"
    row["method"] = "basic.publish" if published else "basic.deliver"
    row["connection_name"] = _text(fields.get("connection"))
    ends = _ENDS.search(row["connection_name"] or "")
    if ends is not None:
        row["src"], row["dst"] = ends.groups() if published else ends.groups()[::-1]
    row["channel"] = _integer(fields.get("channel"), 0, 65535)
    row["exchange"] = _text(fields.get("exchange_name"))
    row["routing_keys"] = _texts(fields.get("routing_keys"))
    row["routing_key"] = (row["routing_keys"] or [None])[0]
    row["routed_queues"] = _texts(fields.get("routed_queues"))
    row["queue"] = None if (queue := _text(fields.get("queue"))) == "none" else queue
    for name in ("node", "vhost", "user"):
        row[name] = _text(fields.get(name))
    if fields.get("redelivered") is not None:
        row["redelivered"] = bool(fields["redelivered"])
    return row


# ---- JSON ----


class Pairs(list[tuple[str, Any]]):
    """A JSON object with its order and its duplicates."""


def of_json(line: bytes) -> dict[str, Any]:
    """A row of the plugin's JSON log, or of a firehose message as JSON: see read().

    Raises:
        RecordError: it is neither.
    """
    try:
        document = json.loads(line, object_pairs_hook=Pairs, parse_constant=_no_number)
    except ValueError:
        raise RecordError("no JSON") from None
    if not isinstance(document, Pairs):
        raise RecordError("no JSON object")
    top = dict(document)
    if "body_b64" in top:
        wrapped = dict(_pairs(top.get("properties")))
        headers = dict(_pairs(wrapped.get("headers")))
        return of_firehose(_text(top.get("routing_key")), headers, _decoded(top["body_b64"]))
    if top.get("type") not in ("published", "received"):
        raise RecordError("no record of a trace: its type is neither published nor received")
    row = _common(
        empty(), top["type"] == "published", {**top, "exchange_name": top.get("exchange")}
    )
    row["timestamp"] = _moment(top.get("timestamp"))
    row["body"] = _decoded(top.get("payload"))
    row["properties"] = _properties(_pairs(top.get("properties")))
    return row


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def of_firehose(
    key: str | None,
    headers: Mapping[str, Any],
    body: bytes | None,
    table: Callable[[Any], str] | None = None,
) -> dict[str, Any]:
    """A row of a message of amq.rabbitmq.trace, by its routing key and its headers.

    table: makes JSON text of the headers within them; None: table_text().

    Raises:
        RecordError: its routing key is of none.
    """
    kind, _, name = (key or "").partition(".")
    if kind not in ("publish", "deliver"):
        raise RecordError(
            "no message of the firehose: its routing key is neither publish nor deliver"
        )
    row = _common(empty(), kind == "publish", headers)
    if kind == "deliver":
        row["queue"] = name
    row["body"] = body
    row["is_complete"] = True
    row["properties"] = _properties(_pairs(headers.get("properties")), table or table_text)
    return row


def _pairs(value: Any) -> Pairs:
    if value is None or value == []:
        return Pairs()
    if isinstance(value, Pairs):
        return value
    if isinstance(value, dict):
        return Pairs(value.items())
    raise RecordError("a table is wanted")


def _decoded(text: Any) -> bytes | None:
    if text is None:
        return None
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise RecordError("a payload that is no base64") from None


_PROPERTIES = pa.schema(capture.schema("message", ["properties"])).field(0).type
_NUMBERS = ("delivery_mode", "priority")


def _properties(pairs: Pairs, table: Callable[[Any], str] | None = None) -> dict[str, Any]:
    """The columns of properties; headers as JSON text."""
    columns: dict[str, Any] = {}
    for name, value in pairs:
        name = "reserved" if name == "cluster_id" else name
        if _PROPERTIES.get_field_index(name) < 0:
            raise RecordError(f"no property {name[:40]!r}")
        if name == "headers":
            columns[name] = (table or table_text)(value)
        elif name in _NUMBERS:
            columns[name] = _integer(value, 0, 255)
        elif name == "timestamp":
            columns[name] = _EPOCH + timedelta(seconds=_integer(value, 0, LATEST) or 0)
        else:
            columns[name] = _text(value)
    return columns


def table_text(value: Any) -> str:
    """A table as the JSON text that batch.decode makes of it.

    Raises:
        RecordError: it is none.
    """
    return json_text(_shown(_pairs(value)))


def json_text(value: Any) -> str:
    """JSON text that Arrow takes."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:
        raise RecordError("a number that JSON cannot say") from None
    return _text(text) or ""


def _shown(value: Any) -> Any:
    if isinstance(value, Pairs):
        names = [f"${name}" if name.startswith("$") else name for name, _ in value]
        shown = [_shown(member) for _, member in value]
        if len(set(names)) < len(names):
            return {"$table": [list(pair) for pair in zip(names, shown, strict=True)]}
        return dict(zip(names, shown, strict=True))
    if isinstance(value, list):
        return [_shown(member) for member in value]
    if isinstance(value, str) and value.startswith(NOT_UTF8):
        return {"$binary": value[len(NOT_UTF8) :]}
    return value.json if isinstance(value, Typed) else value


# ---- text ----


class Typed:
    """A value that JSON has no word for, as batch.decode writes it."""

    def __init__(self, json: Any) -> None:
        """json: an object with one key."""
        self.json = json


def of_text(record: bytes) -> dict[str, Any]:
    """A row of the plugin's text log. record: from the time to the end of the payload.

    Raises:
        RecordError: it is none.
    """
    head = _HEAD.match(record)
    if head is None:
        raise RecordError("no record of a trace: its first line names no message")
    at, lines = head.end(), {}
    while not record.startswith(b"Payload:", at):
        line = _LINE.match(record, at)
        if line is None:
            raise RecordError("a record without a payload")
        lines[line[1]] = line[2]
        at = line.end()
    start = record.find(b"\n", at) + 1
    published = head[2] == b"published"
    try:
        row = _common(empty(), published, _lines(lines))
        properties = _proplist(parse(lines.get(b"Properties", b"[]")))
    except TermError as problem:
        raise RecordError(str(problem)) from None
    row["timestamp"] = _moment(head[1].decode("ascii", "replace"))
    row["properties"] = _properties(properties)
    row["body"] = record[start:] if start else b""
    return row


#: What lines are called, and the names of the firehose; the second ones have terms.
_WORDS = {
    b"Node": "node",
    b"Connection": "connection",
    b"Virtual host": "vhost",
    b"User": "user",
    b"Exchange": "exchange_name",
    b"Queue": "queue",
}
_TERMS = {b"Routing keys": "routing_keys", b"Routed queues": "routed_queues", b"Channel": "channel"}


def _lines(lines: Mapping[bytes, bytes]) -> dict[str, Any]:
    fields: dict[str, Any] = {_WORDS[name]: lines[name] for name in lines if name in _WORDS}
    return fields | {_TERMS[name]: parse(lines[name]) for name in lines if name in _TERMS}


def _proplist(term: Any) -> Pairs:
    """{Name, Type, Value} of a table."""
    if not isinstance(term, list):
        raise RecordError("a table is wanted")
    pairs = Pairs()
    for entry in term:
        if not isinstance(entry, tuple) or len(entry) != 3:
            raise RecordError("a table with what is no entry")
        pairs.append((_text(entry[0]) or "", _value(entry[1], entry[2])))
    return pairs


def _value(kind: Any, value: Any) -> Any:
    """A typed value of a table, as _shown() takes it."""
    if kind == "table":
        return _proplist(value)
    if kind == "array" and isinstance(value, list):
        if not all(isinstance(entry, tuple) and len(entry) == 2 for entry in value):
            raise RecordError("an array with what is no value")
        return [_value(*entry) for entry in value]
    if kind == "void":
        return None
    if kind == "bool":
        return value == "true"
    if kind == "timestamp" and isinstance(value, int):
        return Typed({"$timestamp": value})
    if kind == "decimal" and isinstance(value, tuple) and len(value) == 2:
        scale, digits = (_integer(entry, 0, 2**32) or 0 for entry in value)
        if scale > 255:
            raise RecordError("a decimal with too many places")
        return Typed({"$decimal": str(Decimal(digits).scaleb(-scale))})
    if isinstance(value, bytes):
        try:
            if kind == "longstr":
                return value.decode()
        except UnicodeDecodeError:
            pass
        return Typed({"$binary": base64.b64encode(value).decode()})
    if isinstance(value, int | float):
        return value
    raise RecordError("a value of a table that is unknown here")
