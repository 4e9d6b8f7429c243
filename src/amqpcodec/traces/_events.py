"""What a trace says of a message, as an event: a row of level "event" of captures."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from .. import _capture, capture
from ._rows import json_text

__all__ = ["Events", "schema"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
#: Bytes of a connection's name.
NAME_LIMIT = 255


def schema() -> pa.Schema:
    """The columns: those of events of captures."""
    return pa.schema(capture.schema("event"))


class Events:
    """Makes events of the rows of traces, and numbers their connections and events.

    The connections of each file have numbers of their own. Nothing is an answer: a trace has no
    settlements, confirms or ends of connections.
    """

    def __init__(self) -> None:
        """Nothing yet."""
        self._connections: dict[tuple[Any, ...], list[int]] = {}
        self._count_by_file: dict[str | None, int] = {}

    def of_row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The event of a row, as Reader has it with all columns."""
        key = (row["file"], row["node"], row["connection_name"])
        if key not in self._connections:
            count = self._count_by_file.get(row["file"], 0)
            self._connections[key] = [count, 0]
            self._count_by_file[row["file"]] = count + 1
        index, number = counted = self._connections[key]
        counted[1] = number + 1
        text = repr(key).encode("utf-8", "surrogatepass")
        event: dict[str, Any] = {
            "file": row["file"] or "",
            "connection": hashlib.blake2b(text, digest_size=8).hexdigest(),
            "connection_index": index,
            "direction": row["direction"] or "",
            "src": row["src"] or "",
            "dst": row["dst"] or "",
            "packet_offset": row["offset"] or 0,
            "position": 0,
            "flags": [],
            "client": "",
            "event_id": number + 1,
            "user": row["user"],
            "virtual_host": row["vhost"],
            "channel": row["channel"],
        }
        if row["timestamp"] is not None:
            event["timestamp"] = event["timestamp_last"] = row["timestamp"]
            event["time_us"] = (row["timestamp"] - EPOCH) // MICROSECOND
        if row["error"] is not None:
            bad = {"event": "protocol-error", "certainty": "exact", "reason": row["error"]}
            return event | bad
        return event | _ends(row) | _message(row)


def _ends(row: Mapping[str, Any]) -> dict[str, Any]:
    """The client, and what its connection is called."""
    client = (row["src"] if row["direction"] == "client" else row["dst"]) or ""
    address, _, _ = client.rpartition(":")
    name = f"{row['user']}@{address}" if row["user"] and address else None
    if name is not None and len(name.encode()) > NAME_LIMIT:
        name = None
    return {"client": client, "connection_name": name}


def _message(row: Mapping[str, Any]) -> dict[str, Any]:
    published = row["direction"] == "client"
    route = row["routed_queues"] if published else None
    queue = row["queue"]
    if published:
        queue = route[0] if route and len(route) == 1 else None
    properties, body = row["properties"] or {}, row["body"]
    details = {"node": row["node"]} if row["node"] is not None else {}
    if len(row["routing_keys"] or ()) > 1:
        details["routing_keys"] = row["routing_keys"]
    return {
        "event": "published" if published else "delivered",
        "certainty": "exact" if (route if published else queue) is not None else "unknown",
        "initiator": "client" if published else "server",
        "exchange": row["exchange"],
        "routing_key": row["routing_key"],
        "queue": queue,
        "route": route,
        "redelivered": row["redelivered"],
        "message_id": properties.get("message_id"),
        "correlation_id": properties.get("correlation_id"),
        "body_size": len(body) if row["is_complete"] and body is not None else None,
        "content": _capture.content_number(body) if body else None,
        "details": json_text(details) if details else None,
    }
