"""``amqpcodec topology``: exchanges, queues, bindings, consumers and links, as far as seen."""

from __future__ import annotations

import argparse
import json
from collections import deque
from collections.abc import Iterator
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from ..times import Window
from .base import TIME, Analyzer, Row, plain
from .links import address_of

__all__ = ["Topology"]

FIELDS = ("connection_index", "direction", "channel", "timestamp", "method", "arguments")
#: Things that are remembered, and requests of a channel that wait for their answer.
MAX_THINGS, MAX_REQUESTS = 100_000, 1000
FLAGS = ("passive", "durable", "auto_delete", "exclusive", "internal", "no_ack", "no_local")
Key = tuple[str, str, str, str, str]


class Thing:
    """An exchange, a queue, a binding, a consumer or a link."""

    def __init__(self, conn: int, time: int | None) -> None:
        """It was first spoken of."""
        self.conn, self.first, self.last = conn, time, time
        self.type: str | None = None
        self.flags: list[str] = []
        self.arguments: str | None = None
        self.state = "used"
        self.messages = 0
        self.reason: str | None = None


class Topology(Analyzer):
    """A row each thing, when all is read."""

    NAME = "topology"
    LEVEL = "message"
    FIELDS = (*FIELDS, "exchange", "routing_key")
    SCHEMA = pa.schema([
        ("kind", pa.string()),
        ("vhost", pa.string()),
        ("name", pa.string()),
        ("type", pa.string()),
        ("source", pa.string()),
        ("routing_key", pa.string()),
        ("flags", pa.list_(pa.string())),
        ("arguments", pa.string()),
        ("state", pa.string()),
        ("messages", pa.int64()),
        ("conn", pa.int64()),
        ("since", TIME),
        ("until", TIME),
        ("reason", pa.string()),
    ])  # fmt: skip
    TABLE = (
        *("kind", "vhost", "name", "type", "source", "routing_key", "flags", "state"),
        *("messages", "arguments", "reason"),
    )
    OPTIONAL = ("vhost", "arguments", "messages", "flags", "type", "routing_key")
    STYLES: ClassVar[dict[str, str]] = {
        "refused": "bold red",
        "deleted": "yellow",
        "exists": "green",
        "kind": "bold",
    }
    SINCE = "until"
    NOTHING = "nothing was declared, bound, consumed or used"

    def __init__(self, options: argparse.Namespace, window: Window) -> None:
        """Nothing is known."""
        super().__init__(options, window)
        self.things: dict[Key, Thing] = {}
        self.vhosts: dict[int, str] = {}
        #: connection -> channel -> (the answer that is waited for, what was asked for)
        self.requests: dict[int, dict[int, deque[tuple[str, Key]]]] = {}
        self.consumers: dict[tuple[int, str], Thing] = {}
        self.links: dict[tuple[int, str, int, Any], Thing] = {}
        self.last_queue: dict[tuple[int, int], str] = {}
        self.left_out = 0

    def update(self, batch: pa.RecordBatch) -> list[Row]:
        """Look at what declares, binds and consumes, and count what is published."""
        relevant_rows = batch.filter(pc.is_in(batch.column("method"), pa.array(list(_HANDLERS))))
        for conn, by, channel, time, method, arguments in plain(relevant_rows.select(FIELDS)):
            fields = json.loads(arguments) if arguments else {}
            _HANDLERS[method](self, (conn, channel), by, time, method, fields)
        self._published(batch)  # by now the virtual hosts are known
        return []

    def _published(self, batch: pa.RecordBatch) -> None:
        is_publish = pc.fill_null(pc.equal(batch.column("method"), "basic.publish"), False)
        sent = pa.Table.from_batches([batch.filter(is_publish)])
        by = sent.group_by(["connection_index", "exchange"])
        counted = by.aggregate([("timestamp", "min"), ("timestamp", "max"), ([], "count_all")])
        names = ["connection_index", "exchange", "timestamp_min", "timestamp_max", "count_all"]
        for counts in counted.select(names).to_batches():
            for conn, exchange, first, last, count in plain(counts):
                thing = self._thing("exchange", (conn, 0), exchange, first)
                if thing is not None:
                    thing.messages += count
                    thing.last = last

    def _thing(
        self, kind: str, at: tuple[int, int], name: Any, time: int | None,
        source: Any = "", key: Any = "",
    ) -> Thing | None:  # fmt: skip
        """What is known of a thing; None: there are too many."""
        where = self._key(kind, at, name, source, key)
        thing = self.things.get(where)
        if thing is None:
            if len(self.things) >= MAX_THINGS:
                self.left_out += 1
                return None
            thing = self.things[where] = Thing(at[0], time)
        thing.last = time
        return thing

    def _key(self, kind: str, at: tuple[int, int], name: Any, source: Any, key: Any) -> Key:
        vhost = self.vhosts.get(at[0], "")
        return (kind, vhost, str(name), str(source or ""), str(key or ""))

    def _ask(self, at: tuple[int, int], ok: str, key: Key) -> None:
        channels = self.requests.setdefault(at[0], {})
        channels.setdefault(at[1], deque(maxlen=MAX_REQUESTS)).append((ok, key))

    def _answered(self, at: tuple[int, int], method: str) -> Key | None:
        """The request that an answer is for: the oldest of its kind."""
        requests = self.requests.get(at[0], {}).get(at[1], deque())
        for place, (ok, key) in enumerate(requests):
            if ok == method:
                del requests[place]
                return key
        return None

    # --- AMQP 0-x ---

    def _vhost(self, at: Any, by: str, time: Any, method: str, f: dict[str, Any]) -> None:
        self.vhosts[at[0]] = str(f.get("virtual_host"))

    def _declare(self, at: Any, by: str, time: Any, method: str, f: dict[str, Any]) -> None:
        kind = method.partition(".")[0]
        name = f.get(kind)
        if name == "" and kind == "queue":
            name = "(named by the server)"
        key = self._key(kind, at, name, "", "")
        if not f.get("no_wait"):
            self._ask(at, f"{method}-ok", key)
        thing = self._thing(kind, at, name, time)
        if thing is None:
            return
        if thing.state == "exists":
            return  # it is asked for again
        thing.type = f.get("type") or thing.type
        thing.flags = [flag for flag in FLAGS if f.get(flag)]
        thing.arguments = _arguments(f)
        thing.state = "exists" if f.get("no_wait") else "asked for"

    def _ok(self, at: Any, by: str, time: Any, method: str, f: dict[str, Any]) -> None:
        key = self._answered(at, method)
        thing = self.things.get(key) if key else None
        if method == "queue.declare-ok":
            self.last_queue[at] = str(f.get("queue"))
            if thing is not None and key is not None and key[2] == "(named by the server)":
                # Each of them is another queue.
                queue = self._thing("queue", at, f.get("queue"), time)
                if queue is not None:
                    queue.flags, queue.arguments = thing.flags, thing.arguments
                    self.things.pop(key, None)
                    thing = queue
        if thing is None:
            return
        thing.last = time
        gone = "delete" in method or "unbind" in method or "cancel" in method
        thing.state = "deleted" if gone else "exists"
        if method == "basic.consume-ok" and key is not None and key[2] == "":
            self.things.pop(key, None)
            self.things[(*key[:2], str(f.get("consumer_tag")), *key[3:])] = thing
        if method == "basic.consume-ok" and len(self.consumers) < MAX_THINGS:
            self.consumers[at[0], str(f.get("consumer_tag"))] = thing

    def _delete(self, at: Any, by: str, time: Any, method: str, f: dict[str, Any]) -> None:
        kind = method.partition(".")[0]
        thing = self._thing(kind, at, f.get(kind) or self._queue(at), time)
        key = self._key(kind, at, f.get(kind) or self._queue(at), "", "")
        if f.get("no_wait") and thing is not None:
            thing.state = "deleted"
        else:
            self._ask(at, f"{method}-ok", key)

    def _queue(self, at: tuple[int, int]) -> str:
        return self.last_queue.get(at, "")

    def _bind(self, at: Any, by: str, time: Any, method: str, f: dict[str, Any]) -> None:
        to_queue = method.startswith("queue")
        target = (f.get("queue") or self._queue(at)) if to_queue else f.get("destination")
        source = f.get("exchange") if to_queue else f.get("source")
        thing = self._thing("binding", at, target, time, source, f.get("routing_key"))
        key = self._key("binding", at, target, source, f.get("routing_key"))
        if not f.get("no_wait"):
            self._ask(at, f"{method}-ok", key)
        if thing is None:
            return
        thing.type = "to queue" if to_queue else "to exchange"
        if method.endswith(".bind"):
            thing.arguments = _arguments(f)
        thing.state = "exists" if thing.state == "exists" or f.get("no_wait") else "asked for"

    def _consume(self, at: Any, by: str, time: Any, method: str, f: dict[str, Any]) -> None:
        queue = f.get("queue") or self._queue(at)
        thing = self._thing("consumer", at, f.get("consumer_tag"), time, queue)
        if not f.get("no_wait"):
            self._ask(
                at, f"{method}-ok", self._key("consumer", at, f.get("consumer_tag"), queue, "")
            )
        if thing is not None:
            thing.flags = [flag for flag in FLAGS if f.get(flag)]
            thing.arguments = _arguments(f)
            thing.state = "exists" if f.get("no_wait") else "asked for"
        self._use(at, queue, time)

    def _use(self, at: tuple[int, int], queue: Any, time: int | None) -> None:
        self._thing("queue", at, queue, time)

    def _cancel(self, at: Any, by: str, time: Any, method: str, f: dict[str, Any]) -> None:
        thing = self.consumers.pop((at[0], str(f.get("consumer_tag"))), None)
        if thing is not None:
            thing.state, thing.last = "deleted", time
            thing.reason = "cancelled by the server" if by == "server" else None

    def _get(self, at: Any, by: str, time: Any, method: str, f: dict[str, Any]) -> None:
        self._use(at, f.get("queue") or self._queue(at), time)

    def _closed(self, at: Any, by: str, time: Any, method: str, f: dict[str, Any]) -> None:
        """What waited for its answer was refused."""
        refused = by == "server" and f.get("reply_code") not in (200, 0, None)
        channels = self.requests.get(at[0], {})
        for channel in list(channels) if method == "connection.close" else [at[1]]:
            for _, key in channels.pop(channel, ()):
                thing = self.things.get(key)
                if thing is not None and refused:
                    thing.state = "exists" if thing.state == "exists" else "refused"
                    thing.reason = f"{f.get('reply_code')} {f.get('reply_text')}"

    # --- AMQP 1.0 ---

    def _attach(self, at: Any, by: str, time: Any, method: str, f: dict[str, Any]) -> None:
        name = f.get("name")
        receives = f.get("role") is True
        of_client = by == "client"
        kind = "consumer" if receives == of_client else "producer"
        source, target = address_of(f.get("source")), address_of(f.get("target"))
        thing = self._thing(kind, at, name, time)
        if thing is None:
            return
        address = source if kind == "consumer" else target
        thing.type = address or thing.type
        thing.state = "exists" if by == "server" else "asked for"
        if len(self.links) < MAX_THINGS:
            self.links[(at[0], by, at[1], f.get("handle"))] = thing
        if address:
            end = f.get("source" if kind == "consumer" else "target")
            used = self._thing("address", at, address, time)
            if used is not None and isinstance(end, dict):
                used.type = "dynamic" if end.get("dynamic") else used.type
                used.state = "exists" if by == "server" else used.state

    def _detach(self, at: Any, by: str, time: Any, method: str, f: dict[str, Any]) -> None:
        thing = self.links.pop((at[0], by, at[1], f.get("handle")), None)
        if thing is None:
            return
        error = f.get("error")
        thing.last = time
        thing.state = "refused" if thing.state == "asked for" else "deleted"
        if isinstance(error, dict):
            thing.reason = f"{error.get('condition')} {error.get('description') or ''}".strip()

    def finish(self) -> Iterator[Row]:
        """All things, kind by kind."""
        order = ("exchange", "queue", "binding", "consumer", "producer", "address")
        things = sorted(self.things.items(), key=lambda entry: order.index(entry[0][0]))
        for (kind, vhost, name, source, key), thing in things:
            if kind == "exchange" and name == "":
                name = "(default)"
            yield (
                *(kind, vhost or None, name, thing.type, source or None),
                *(key if kind == "binding" else None, thing.flags, thing.arguments, thing.state),
                *(thing.messages if kind == "exchange" else None, thing.conn),
                *(thing.first, thing.last, thing.reason),
            )

    def warnings(self) -> Iterator[str]:
        """What there was no room for."""
        if self.left_out:
            yield f"more than {MAX_THINGS:,} things: {self.left_out:,} mentions are left out"


def _arguments(fields: dict[str, Any]) -> str | None:
    arguments = fields.get("arguments")
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":")) if arguments else None


_HANDLERS = {
    "connection.open": Topology._vhost,
    "exchange.declare": Topology._declare,
    "queue.declare": Topology._declare,
    "exchange.delete": Topology._delete,
    "queue.delete": Topology._delete,
    "queue.bind": Topology._bind,
    "queue.unbind": Topology._bind,
    "exchange.bind": Topology._bind,
    "exchange.unbind": Topology._bind,
    "basic.consume": Topology._consume,
    "basic.cancel": Topology._cancel,
    "basic.get": Topology._get,
    "channel.close": Topology._closed,
    "connection.close": Topology._closed,
    "attach": Topology._attach,
    "detach": Topology._detach,
    **dict.fromkeys(
        [
            *("exchange.declare-ok", "queue.declare-ok", "exchange.delete-ok", "queue.delete-ok"),
            *("queue.bind-ok", "queue.unbind-ok", "exchange.bind-ok", "exchange.unbind-ok"),
            *("basic.consume-ok", "basic.cancel-ok"),
        ],
        Topology._ok,
    ),
}
