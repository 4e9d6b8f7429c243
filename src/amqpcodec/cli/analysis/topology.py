"""``amqpcodec topology``: exchanges, queues, bindings, consumers and links, as far as seen."""

from __future__ import annotations

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
#: Entities that are remembered, and requests of a channel that wait for their answer.
MAX_ENTITIES, MAX_REQUESTS = 100_000, 1000
FLAGS = ("passive", "durable", "auto_delete", "exclusive", "internal", "no_ack", "no_local")
Key = tuple[str, str, str, str, str]


class Entity:
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
    """A row for each entity, when all is read."""

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

    def __init__(self, window: Window) -> None:
        """Nothing is known."""
        super().__init__(window)
        self.entities: dict[Key, Entity] = {}
        self.vhosts: dict[int, str] = {}
        #: connection -> channel -> (the answer that is waited for, what was asked for)
        self.requests: dict[int, dict[int, deque[tuple[str, Key]]]] = {}
        self.consumers: dict[tuple[int, str], Entity] = {}
        self.links: dict[tuple[int, str, int, Any], Entity] = {}
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
                entity = self._entity("exchange", (conn, 0), exchange, first)
                if entity is not None:
                    entity.messages += count
                    entity.last = last

    def _entity(
        self, kind: str, at: tuple[int, int], name: Any, time: int | None,
        source: Any = "", key: Any = "",
    ) -> Entity | None:  # fmt: skip
        """What is known of an entity; None: there are too many."""
        where = self._key(kind, at, name, source, key)
        entity = self.entities.get(where)
        if entity is None:
            if len(self.entities) >= MAX_ENTITIES:
                self.left_out += 1
                return None
            entity = self.entities[where] = Entity(at[0], time)
        entity.last = time
        return entity

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
        entity = self._entity(kind, at, name, time)
        if entity is None:
            return
        if entity.state == "exists":
            return  # it is asked for again
        entity.type = f.get("type") or entity.type
        entity.flags = [flag for flag in FLAGS if f.get(flag)]
        entity.arguments = _arguments(f)
        entity.state = "exists" if f.get("no_wait") else "asked for"

    def _ok(self, at: Any, by: str, time: Any, method: str, f: dict[str, Any]) -> None:
        key = self._answered(at, method)
        entity = self.entities.get(key) if key else None
        if method == "queue.declare-ok":
            self.last_queue[at] = str(f.get("queue"))
            if entity is not None and key is not None and key[2] == "(named by the server)":
                # Each of them is another queue.
                queue = self._entity("queue", at, f.get("queue"), time)
                if queue is not None:
                    queue.flags, queue.arguments = entity.flags, entity.arguments
                    self.entities.pop(key, None)
                    entity = queue
        if entity is None:
            return
        entity.last = time
        gone = "delete" in method or "unbind" in method or "cancel" in method
        entity.state = "deleted" if gone else "exists"
        if method == "basic.consume-ok" and key is not None and key[2] == "":
            self.entities.pop(key, None)
            self.entities[(*key[:2], str(f.get("consumer_tag")), *key[3:])] = entity
        if method == "basic.consume-ok" and len(self.consumers) < MAX_ENTITIES:
            self.consumers[at[0], str(f.get("consumer_tag"))] = entity

    def _delete(self, at: Any, by: str, time: Any, method: str, f: dict[str, Any]) -> None:
        kind = method.partition(".")[0]
        entity = self._entity(kind, at, f.get(kind) or self._queue(at), time)
        key = self._key(kind, at, f.get(kind) or self._queue(at), "", "")
        if f.get("no_wait") and entity is not None:
            entity.state = "deleted"
        else:
            self._ask(at, f"{method}-ok", key)

    def _queue(self, at: tuple[int, int]) -> str:
        return self.last_queue.get(at, "")

    def _bind(self, at: Any, by: str, time: Any, method: str, f: dict[str, Any]) -> None:
        to_queue = method.startswith("queue")
        target = (f.get("queue") or self._queue(at)) if to_queue else f.get("destination")
        source = f.get("exchange") if to_queue else f.get("source")
        entity = self._entity("binding", at, target, time, source, f.get("routing_key"))
        key = self._key("binding", at, target, source, f.get("routing_key"))
        if not f.get("no_wait"):
            self._ask(at, f"{method}-ok", key)
        if entity is None:
            return
        entity.type = "to queue" if to_queue else "to exchange"
        if method.endswith(".bind"):
            entity.arguments = _arguments(f)
        entity.state = "exists" if entity.state == "exists" or f.get("no_wait") else "asked for"

    def _consume(self, at: Any, by: str, time: Any, method: str, f: dict[str, Any]) -> None:
        queue = f.get("queue") or self._queue(at)
        entity = self._entity("consumer", at, f.get("consumer_tag"), time, queue)
        if not f.get("no_wait"):
            self._ask(
                at, f"{method}-ok", self._key("consumer", at, f.get("consumer_tag"), queue, "")
            )
        if entity is not None:
            entity.flags = [flag for flag in FLAGS if f.get(flag)]
            entity.arguments = _arguments(f)
            entity.state = "exists" if f.get("no_wait") else "asked for"
        self._use(at, queue, time)

    def _use(self, at: tuple[int, int], queue: Any, time: int | None) -> None:
        self._entity("queue", at, queue, time)

    def _cancel(self, at: Any, by: str, time: Any, method: str, f: dict[str, Any]) -> None:
        entity = self.consumers.pop((at[0], str(f.get("consumer_tag"))), None)
        if entity is not None:
            entity.state, entity.last = "deleted", time
            entity.reason = "cancelled by the server" if by == "server" else None

    def _get(self, at: Any, by: str, time: Any, method: str, f: dict[str, Any]) -> None:
        self._use(at, f.get("queue") or self._queue(at), time)

    def _closed(self, at: Any, by: str, time: Any, method: str, f: dict[str, Any]) -> None:
        """What waited for its answer was refused."""
        refused = by == "server" and f.get("reply_code") not in (200, 0, None)
        channels = self.requests.get(at[0], {})
        for channel in list(channels) if method == "connection.close" else [at[1]]:
            for _, key in channels.pop(channel, ()):
                entity = self.entities.get(key)
                if entity is not None and refused:
                    entity.state = "exists" if entity.state == "exists" else "refused"
                    entity.reason = f"{f.get('reply_code')} {f.get('reply_text')}"

    # --- AMQP 1.0 ---

    def _attach(self, at: Any, by: str, time: Any, method: str, f: dict[str, Any]) -> None:
        name = f.get("name")
        receives = f.get("role") is True
        of_client = by == "client"
        kind = "consumer" if receives == of_client else "producer"
        source, target = address_of(f.get("source")), address_of(f.get("target"))
        entity = self._entity(kind, at, name, time)
        if entity is None:
            return
        address = source if kind == "consumer" else target
        entity.type = address or entity.type
        entity.state = "exists" if by == "server" else "asked for"
        if len(self.links) < MAX_ENTITIES:
            self.links[(at[0], by, at[1], f.get("handle"))] = entity
        if address:
            end = f.get("source" if kind == "consumer" else "target")
            used = self._entity("address", at, address, time)
            if used is not None and isinstance(end, dict):
                used.type = "dynamic" if end.get("dynamic") else used.type
                used.state = "exists" if by == "server" else used.state

    def _detach(self, at: Any, by: str, time: Any, method: str, f: dict[str, Any]) -> None:
        entity = self.links.pop((at[0], by, at[1], f.get("handle")), None)
        if entity is None:
            return
        error = f.get("error")
        entity.last = time
        entity.state = "refused" if entity.state == "asked for" else "deleted"
        if isinstance(error, dict):
            entity.reason = f"{error.get('condition')} {error.get('description') or ''}".strip()

    def finish(self) -> Iterator[Row]:
        """All entities, kind by kind."""
        order = ("exchange", "queue", "binding", "consumer", "producer", "address")
        entities = sorted(self.entities.items(), key=lambda entry: order.index(entry[0][0]))
        for (kind, vhost, name, source, key), entity in entities:
            if kind == "exchange" and name == "":
                name = "(default)"
            yield (
                *(kind, vhost or None, name, entity.type, source or None),
                *(key if kind == "binding" else None, entity.flags, entity.arguments, entity.state),
                *(entity.messages if kind == "exchange" else None, entity.conn),
                *(entity.first, entity.last, entity.reason),
            )

    def warnings(self) -> Iterator[str]:
        """What there was no room for."""
        if self.left_out:
            yield f"more than {MAX_ENTITIES:,} things: the answer lacks {self.left_out:,} mentions"


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
