"""``amqpcodec errors``: what went wrong, who said so, and in which words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from ..times import Window
from .base import TIME, Analyzer, Row, plain
from .silence import Silence, Silences

__all__ = ["Errors"]

RELEVANT_METHODS = pa.array([
    *("connection.start-ok", "connection.tune", "connection.tune-ok", "connection.open-ok"),
    *("connection.close", "channel.close", "basic.nack", "basic.reject", "basic.return"),
    *("basic.cancel", "connection.blocked", "connection.unblocked"),
    *("sasl-outcome", "open", "close", "end", "detach", "disposition"),
])  # fmt: skip
FIELDS = ("connection_index", "direction", "channel", "timestamp", "method", "arguments")
#: Reply codes that name a violation of the protocol.
VIOLATIONS = {501, 502, 503, 504, 505}
SASL = {1: "authentication failed", 2: "system error", 3: "permanent error", 4: "try again later"}


class Peer:
    """What has to be remembered of a connection."""

    __slots__ = ("address", "closed", "login", "opened", "server")

    def __init__(self, address: str, server: str) -> None:
        """It was first seen."""
        self.address, self.server = address, server
        self.login = self.opened = self.closed = False


class Errors(Analyzer):
    """A row each thing that went wrong, as it is seen."""

    NAME = "errors"
    LEVEL = "frame"
    FIELDS = (*FIELDS, "src", "dst", "frame_type", "flags", "error")
    SCHEMA = pa.schema([
        ("time", TIME),
        ("conn", pa.int64()),
        ("ch", pa.int64()),
        ("from", pa.string()),
        ("what", pa.string()),
        ("code", pa.string()),
        ("method", pa.string()),
        ("client", pa.string()),
        ("server", pa.string()),
        ("text", pa.string()),
    ])  # fmt: skip
    TABLE = ("time", "conn", "ch", "from", "what", "code", "method", "client", "text")
    OPTIONAL = ("method", "from", "client", "ch")
    STYLES: ClassVar[dict[str, str]] = {
        "nack": "yellow", "reject": "yellow", "return": "yellow", "blocked": "yellow",
        "consumer cancelled": "yellow", "what": "bold red", "code": "red",
    }  # fmt: skip
    NOTHING = "nothing went wrong in what was read"

    def __init__(self, window: Window) -> None:
        """Nothing was seen yet."""
        super().__init__(window)
        self.peers: dict[int, Peer] = {}
        self.silences = Silences()

    def update(self, batch: pa.RecordBatch) -> list[Row]:
        """Look at what closes, refuses or is damaged, and at the times of all."""
        rows: list[Row] = []
        self._meet(batch)
        # Before what is closed in this batch is forgotten, after what is agreed on in it.
        wrong = batch.column("error").is_valid()
        is_relevant = pc.or_(pc.is_in(batch.column("method"), RELEVANT_METHODS), wrong)
        relevant_rows = batch.filter(is_relevant)
        names = [*FIELDS, "frame_type", "flags", "error"]
        closed = []
        for values in plain(relevant_rows.select(names)):
            conn, by, channel, time, method, arguments, kind, flags, error = values
            if error is not None:
                rows.append(self._damage(conn, by, channel, time, method or kind, flags, error))
            elif method in _HANDLERS:
                fields = json.loads(arguments) if arguments else {}
                for what, code, of, text in _HANDLERS[method](self, conn, by, fields):
                    rows.append(self._row(time, conn, channel, by, what, code, of, text))
                if self.peers[conn].closed:
                    closed.append(conn)
        rows.extend(self._silent(silence) for silence in self.silences.observe(batch))
        for conn in closed:
            self.silences.closed(conn)
        return rows

    def finish(self) -> Iterator[Row]:
        """Resets of connections that had not been closed, and silence to the end."""
        for conn, by, time in self.resets:
            if conn in self.peers and not self.peers[conn].closed:
                at = None if time is None else time // 1000
                text = "the connection was reset, and not closed before"
                yield self._row(at, conn, None, by, "tcp reset", None, None, text)
                self.silences.closed(conn)
        for silence in self.silences.finish():
            yield self._silent(silence)

    def _meet(self, batch: pa.RecordBatch) -> None:
        """The addresses of connections that were not seen before."""
        names = ["connection_index", "direction", "src", "dst"]
        first = pa.Table.from_batches([batch.select(names)]).group_by(
            "connection_index", use_threads=False
        )
        addresses = first.aggregate([(name, "first") for name in names[1:]]).to_pylist()
        for row in addresses:
            if row["connection_index"] not in self.peers:
                ends = (row["src_first"], row["dst_first"])
                if row["direction_first"] == "server":
                    ends = ends[::-1]
                self.peers[row["connection_index"]] = Peer(*ends)

    def _row(
        self, time: int | None, conn: int, channel: int | None, by: str | None,
        what: str, code: Any, method: str | None, text: str | None,
    ) -> Row:  # fmt: skip
        peer = self.peers[conn]
        code_text = None if code is None else str(code)
        return (time, conn, channel, by, what, code_text, method, peer.address, peer.server, text)

    def _damage(
        self, conn: int, by: str, channel: int | None, time: int | None,
        method: str | None, flags: list[str], error: str,
    ) -> Row:  # fmt: skip
        missing = {"gap", "truncated", "midstream"} & set(flags or ())
        what = "not captured" if missing else "bad frame"
        return self._row(time, conn, channel, by, what, None, method, error)

    def _silent(self, silence: Silence) -> Row:
        seconds = (silence.end - silence.begin) / 1e6
        more = "" if silence.resumed else ", to the end of the recording"
        text = f"{seconds:.1f} s of silence, {silence.allowed:g} s are allowed{more}"
        row = (silence.end, silence.connection, None, silence.direction)
        return self._row(*row, "missed heartbeat", None, None, text)

    # --- AMQP 0-x: each gives (what, code, method, text) ---

    def _start_ok(self, conn: int, by: str, f: dict[str, Any]) -> Iterator[Any]:
        self.peers[conn].login = True
        yield from ()

    def _tune(self, conn: int, by: str, f: dict[str, Any]) -> Iterator[Any]:
        self.peers[conn].login = False  # it was accepted
        yield from ()

    def _tune_ok(self, conn: int, by: str, f: dict[str, Any]) -> Iterator[Any]:
        # Two heartbeats that do not come mean that the peer is gone.
        for who in ("client", "server"):
            self.silences.allow(conn, who, 2 * (f.get("heartbeat") or 0))
        yield from ()

    def _open_ok(self, conn: int, by: str, f: dict[str, Any]) -> Iterator[Any]:
        self.peers[conn].opened = True
        yield from ()

    def _connection_close(self, conn: int, by: str, f: dict[str, Any]) -> Iterator[Any]:
        peer = self.peers[conn]
        peer.closed = True
        code = f.get("reply_code")
        if code in (200, 0):
            return
        what = "connection closed"
        if peer.login and code == 403:
            what = "login refused"
        elif not peer.opened:
            what = "connection refused"
        elif code in VIOLATIONS:
            what = "protocol violation"
        yield what, code, method_of(f), f.get("reply_text")

    def _channel_close(self, conn: int, by: str, f: dict[str, Any]) -> Iterator[Any]:
        if f.get("reply_code") not in (200, 0):
            yield "channel closed", f.get("reply_code"), method_of(f), f.get("reply_text")

    def _nack(self, conn: int, by: str, f: dict[str, Any]) -> Iterator[Any]:
        words = [f"delivery_tag={f.get('delivery_tag')}"]
        words += [name for name in ("multiple", "requeue") if f.get(name)]
        what = "nack" if "multiple" in f else "reject"
        yield what, None, None, " ".join(words) + (" (of a confirm)" if by == "server" else "")

    def _return(self, conn: int, by: str, f: dict[str, Any]) -> Iterator[Any]:
        text = f"{f.get('reply_text')}: {f.get('exchange')!r} {f.get('routing_key')}"
        yield "return", f.get("reply_code"), "basic.publish", text

    def _cancel(self, conn: int, by: str, f: dict[str, Any]) -> Iterator[Any]:
        if by == "server":
            yield "consumer cancelled", None, None, f"consumer_tag={f.get('consumer_tag')}"

    def _blocked(self, conn: int, by: str, f: dict[str, Any]) -> Iterator[Any]:
        yield "blocked", None, None, f.get("reason")

    # --- AMQP 1.0 ---

    def _outcome(self, conn: int, by: str, f: dict[str, Any]) -> Iterator[Any]:
        code = f.get("code")
        if code:
            yield "login refused", f"sasl {code}", "sasl-init", SASL.get(code)

    def _open(self, conn: int, by: str, f: dict[str, Any]) -> Iterator[Any]:
        self.peers[conn].opened = True
        # What one end announces binds the other one.
        other = "server" if by == "client" else "client"
        self.silences.allow(conn, other, (f.get("idle_time_out") or 0) / 1000)
        yield from ()

    def _ended(self, what: str, f: dict[str, Any]) -> Iterator[Any]:
        error = f.get("error")
        if isinstance(error, dict):
            yield what, error.get("condition"), None, error.get("description")

    def _close(self, conn: int, by: str, f: dict[str, Any]) -> Iterator[Any]:
        self.peers[conn].closed = True
        yield from self._ended("connection closed", f)

    def _end(self, conn: int, by: str, f: dict[str, Any]) -> Iterator[Any]:
        yield from self._ended("session ended", f)

    def _detach(self, conn: int, by: str, f: dict[str, Any]) -> Iterator[Any]:
        yield from self._ended("link detached", f)

    def _disposition(self, conn: int, by: str, f: dict[str, Any]) -> Iterator[Any]:
        state = f.get("state")
        outcome = state.get("$type") if isinstance(state, dict) else None
        if outcome not in ("rejected", "released", "modified"):
            return
        error = state.get("error") if isinstance(state, dict) else None
        error = error if isinstance(error, dict) else {}
        first, last = f.get("first"), f.get("last")
        text = f"delivery {first}" + (f" to {last}" if last not in (None, first) else "")
        if outcome == "modified" and isinstance(state, dict):
            names = ("delivery_failed", "undeliverable_here")
            text = " ".join([text, *(name for name in names if state.get(name))])
        description = error.get("description")
        what = {"rejected": "reject"}.get(outcome, outcome)
        yield what, error.get("condition"), None, f"{text}: {description}" if description else text


_HANDLERS = {
    "connection.start-ok": Errors._start_ok,
    "connection.tune": Errors._tune,
    "connection.tune-ok": Errors._tune_ok,
    "connection.open-ok": Errors._open_ok,
    "connection.close": Errors._connection_close,
    "channel.close": Errors._channel_close,
    "basic.nack": Errors._nack,
    "basic.reject": Errors._nack,
    "basic.return": Errors._return,
    "basic.cancel": Errors._cancel,
    "connection.blocked": Errors._blocked,
    "sasl-outcome": Errors._outcome,
    "open": Errors._open,
    "close": Errors._close,
    "end": Errors._end,
    "detach": Errors._detach,
    "disposition": Errors._disposition,
}


def method_of(fields: dict[str, Any]) -> str | None:
    """The method that a close is about."""
    from ... import v0_9_1

    number = (int(fields.get("class_id") or 0), int(fields.get("method_id") or 0))
    if number == (0, 0):
        return None
    method: Any = v0_9_1.METHODS.get(number)
    return method.NAME if method is not None else f"{number[0]}.{number[1]}"
