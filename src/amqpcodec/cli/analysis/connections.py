"""``amqpcodec connections``: who was connected with whom, as what, since when, and how it ended."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from .base import TIME, Analyzer, Row, plain

__all__ = ["Connections", "user_of"]

RELEVANT_METHODS = pa.array([
    *("connection.start", "connection.start-ok", "connection.tune-ok", "connection.open"),
    *("connection.close", "channel.open", "connection.open-ok", "connection.secure-ok"),
    *("sasl-init", "sasl-outcome", "open", "begin", "close"),
])  # fmt: skip
FIELDS = ("connection_index", "direction", "timestamp", "src", "dst", "frame_type", "method")


class Connection:
    """What is known of one connection."""

    def __init__(self, index: int, client: str, server: str) -> None:
        """Nothing was said yet."""
        self.index, self.client, self.server = index, client, server
        self.peer: str | None = None
        self.product = self.user = self.vhost = self.version = self.name = self.broker = None
        self.first: int | None = None
        self.last: int | None = None
        self.channels: set[int] = set()
        self.frames = 0
        self.heartbeat: float | None = None
        self.frame_max: int | None = None
        self.ended = self.by = self.code = self.reason = None
        self.opened = False

    def row(self) -> Row:
        """As it is shown."""
        return (
            *(self.index, self.client, self.peer, self.server, self.product, self.user),
            self.vhost,
            *(self.version, self.first, self.last, len(self.channels), self.frames),
            *(self.heartbeat, self.frame_max, self.name, self.broker),
            *(self.ended or ("open" if self.opened else None), self.by, self.code, self.reason),
        )


class Connections(Analyzer):
    """A row each connection, when all is read."""

    NAME = "connections"
    LEVEL = "frame"
    REDACT = False  # the name of the user is part of the credentials
    FIELDS = (*FIELDS, "channel", "arguments", "frame", "peer")
    SCHEMA = pa.schema([
        ("conn", pa.int64()),
        ("client", pa.string()),
        ("peer", pa.string()),
        ("server", pa.string()),
        ("product", pa.string()),
        ("user", pa.string()),
        ("vhost", pa.string()),
        ("version", pa.string()),
        ("since", TIME),
        ("until", TIME),
        ("channels", pa.int64()),
        ("frames", pa.int64()),
        ("heartbeat", pa.float64()),
        ("frame_max", pa.int64()),
        ("name", pa.string()),
        ("broker", pa.string()),
        ("ended", pa.string()),
        ("by", pa.string()),
        ("code", pa.string()),
        ("reason", pa.string()),
    ])  # fmt: skip
    TABLE = (
        *("conn", "client", "user", "vhost", "product", "version", "since", "until", "channels"),
        *("ended", "by", "code", "reason"),
    )
    OPTIONAL = ("until", "by", "version", "product", "vhost")
    STYLES: ClassVar[dict[str, str]] = {"closed": "yellow", "refused": "bold red", "open": "green"}
    SINCE = "until"
    NOTHING = "no connection"

    def update(self, batch: pa.RecordBatch) -> list[Row]:
        """Count the frames of each connection, and look at those that say something about it."""
        if not hasattr(self, "connections"):
            self.connections: dict[int, Connection] = {}
        self._count(batch)
        methods = batch.column("method")
        headers = pc.equal(batch.column("frame_type"), "protocol-header")
        is_relevant = pc.or_(pc.is_in(methods, RELEVANT_METHODS), pc.fill_null(headers, False))
        rows = batch.filter(is_relevant).select([*FIELDS, "channel", "arguments", "frame"])
        for index, by, _, _, _, kind, method, channel, arguments, frame in plain(rows):
            one = self.connections[index]
            if kind == "protocol-header":
                self._header(one, by, frame)
            else:
                fields = json.loads(arguments) if arguments else {}
                self._method(one, by, method, channel, fields)
        return []

    def _count(self, batch: pa.RecordBatch) -> None:
        names = ["connection_index", "timestamp", "direction", "src", "dst", "peer"]
        groups = pa.Table.from_batches([batch.select(names)]).group_by(
            "connection_index", use_threads=False
        )
        counted = groups.aggregate([
            *(("timestamp", "min"), ("timestamp", "max"), ([], "count_all"), ("peer", "max")),
        ])  # fmt: skip
        first = groups.aggregate([("direction", "first"), ("src", "first"), ("dst", "first")])
        ends = {
            row["connection_index"]: (row["direction_first"], row["src_first"], row["dst_first"])
            for row in first.to_pylist()
        }
        columns = ["connection_index", "timestamp_min", "timestamp_max", "count_all", "peer_max"]
        for batch in counted.select(columns).to_batches():
            for index, begin, end, count, peer in plain(batch):
                one = self.connections.get(index)
                if one is None:
                    by, src, dst = ends[index]
                    client, server = (src, dst) if by == "client" else (dst, src)
                    one = self.connections[index] = Connection(index, client, server)
                one.first = min(filter(None, (one.first, begin)), default=None)
                one.last = max(filter(None, (one.last, end)), default=None)
                one.frames += count
                one.peer = one.peer or peer

    def _header(self, one: Connection, by: str, frame: bytes | None) -> None:
        header = frame or b""
        if by == "server" and one.version is not None and not one.version.startswith("1.0"):
            one.ended, one.by, one.reason = "refused", "server", "another protocol header"
        version = _VERSIONS.get(header[4:8])
        one.version = version or one.version  # type: ignore[assignment]

    def _method(
        self, one: Connection, by: str, method: str, channel: int, f: dict[str, Any]
    ) -> None:
        connection: Any = one
        if method in ("channel.open", "begin"):
            one.channels.add(channel)
        elif method == "connection.start":
            connection.broker = product_of(f.get("server_properties"))
        elif method == "connection.start-ok":
            connection.product = product_of(f.get("client_properties"))
            connection.name = _text(f.get("client_properties"), "connection_name")
            connection.user = user_of(f.get("mechanism"), f.get("response"))
        elif method == "connection.tune-ok":
            connection.heartbeat, connection.frame_max = f.get("heartbeat"), f.get("frame_max")
        elif method == "connection.open":
            connection.vhost = f.get("virtual_host")
        elif method == "connection.open-ok":
            one.opened = True
        elif method == "sasl-init":
            connection.user = user_of(f.get("mechanism"), f.get("initial_response"))
            connection.vhost = _vhost(f.get("hostname")) or one.vhost
        elif method == "sasl-outcome":
            if f.get("code"):
                connection.ended, connection.by, connection.code = (
                    "refused",
                    by,
                    f"sasl {f['code']}",
                )
                connection.reason = _OUTCOMES.get(f["code"])
        elif method == "open":
            self._open(connection, by, f)
        elif one.ended is None:
            self._close(connection, by, method, f)

    def _open(self, one: Any, by: str, f: dict[str, Any]) -> None:
        product = product_of(f.get("properties"))
        if by == "server":
            one.broker, one.opened = product or f.get("container_id"), True
            return
        one.product = product
        one.name = f.get("container_id")
        one.vhost = _vhost(f.get("hostname")) or one.vhost
        one.frame_max = f.get("max_frame_size")
        one.heartbeat = f["idle_time_out"] / 1000 if f.get("idle_time_out") else None

    def _close(self, one: Any, by: str, method: str, f: dict[str, Any]) -> None:
        one.ended, one.by = "closed", by
        if method == "connection.close":
            one.code, one.reason = str(f.get("reply_code")), f.get("reply_text")
            if not one.opened:
                one.ended = "refused"
        elif isinstance(f.get("error"), dict):
            one.code, one.reason = f["error"].get("condition"), f["error"].get("description")

    def finish(self) -> Iterator[Row]:
        """All connections."""
        for one in getattr(self, "connections", {}).values():
            yield one.row()


_VERSIONS = {
    b"\0\0\x09\1": "0-9-1",
    b"\1\1\0\x09": "0-9",
    b"\1\1\x08\0": "0-8",
    b"\1\1\x09\1": "0-8",
    b"\0\1\0\0": "1.0",
    b"\2\1\0\0": "1.0",
    b"\3\1\0\0": "1.0",
}
_OUTCOMES = {1: "auth", 2: "sys", 3: "sys-perm", 4: "sys-temp"}


def _text(table: Any, name: str) -> str | None:
    """A value of a table, as text."""
    value = table.get(name) if isinstance(table, dict) else None
    return value if isinstance(value, str) else None


def _vhost(hostname: Any) -> str | None:
    """RabbitMQ takes vhost:NAME for a virtual host."""
    if isinstance(hostname, str) and hostname.startswith("vhost:"):
        return hostname.removeprefix("vhost:")
    return None


def product_of(table: Any) -> str | None:
    """Product and version of a peer's properties."""
    version = _text(table, "version") or _text(table, "product_version")
    words = [_text(table, "product"), version]
    return " ".join(word for word in words if word) or None


def user_of(mechanism: Any, response: Any) -> str | None:
    """The user's name of a login, and nothing else of it; else the mechanism in parentheses."""
    raw = _bytes(response)
    name: bytes | None = None
    if mechanism == "PLAIN" and raw.count(b"\0") >= 2:
        authorized, name, _ = raw.split(b"\0", 2)
        name = name or authorized
    elif mechanism == "AMQPLAIN":
        at = raw.find(b"\x05LOGINS")
        if at >= 0:
            start = at + 11
            size = int.from_bytes(raw[at + 7 : start], "big")
            name = raw[start : start + size] if start + size <= len(raw) else None
    if name is not None:
        return name.decode("utf-8", "replace")
    return f"({mechanism})" if isinstance(mechanism, str) else None


def _bytes(value: Any) -> bytes:
    """Bytes of a JSON value."""
    if isinstance(value, dict) and isinstance(value.get("$binary"), str):
        try:
            return base64.b64decode(value["$binary"], validate=True)
        except (binascii.Error, ValueError):
            return b""
    return value.encode() if isinstance(value, str) else b""
