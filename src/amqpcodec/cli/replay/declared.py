"""The exchanges, queues and bindings that messages of a recording declare, and what became of them.

Of rows of level "message", which tables of Parquet may have as well.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["FIELDS", "UNNAMED", "Declared", "Entity"]

#: The columns that declarations are found in.
FIELDS = ("connection_index", "direction", "channel", "timestamp", "method", "arguments")
#: Entities that are remembered, and requests of a channel that wait for their answer.
MAX_ENTITIES, MAX_REQUESTS = 100_000, 1000
FLAGS = ("passive", "durable", "auto_delete", "exclusive", "internal")
#: How a queue is called whose name the server chooses, until it does.
UNNAMED = "(named by the server)"

Key = tuple[str, str, str, str, str]
At = tuple[int, int]


@dataclass(slots=True)
class Entity:
    """An exchange, a queue or a binding.

    Attributes:
        kind: "exchange", "queue" or "binding".
        name: of the exchange or queue; of a binding, of its destination.
        source, routing_key: of a binding.
        type: of an exchange; of a binding, "to queue" or "to exchange".
        state: "used", "asked for", "exists", "deleted" or "refused".
        reason: why it was refused.
    """

    kind: str
    name: str
    source: str = ""
    routing_key: str = ""
    type: str | None = None
    flags: list[str] = field(default_factory=list)
    arguments: str | None = None
    state: str = "used"
    reason: str | None = None


class Declared:
    """Follows declarations from batch to batch."""

    def __init__(self) -> None:
        """Nothing is known."""
        self.entities: dict[Key, Entity] = {}
        self.vhosts: dict[int, str] = {}
        #: connection -> channel -> (the answer that is waited for, what was asked for)
        self.requests: dict[int, dict[int, deque[tuple[str, Key]]]] = {}
        self.last_queue: dict[At, str] = {}

    def update(self, batch: pa.RecordBatch) -> None:
        """Look at what declares, binds and uses."""
        rows = batch.filter(pc.is_in(batch.column("method"), pa.array(list(_HANDLERS))))
        columns = [rows.column(name).to_pylist() for name in FIELDS if name != "timestamp"]
        for conn, by, channel, method, arguments in zip(*columns, strict=True):
            fields = json.loads(arguments) if arguments else {}
            _HANDLERS[method](self, (conn, channel), by, method, fields)

    def of_kind(self, kind: str) -> Iterator[Entity]:
        """Those of a kind, in the order in which they were spoken of."""
        return (entity for entity in self.entities.values() if entity.kind == kind)

    def _entity(
        self, kind: str, at: At, name: Any, source: Any = "", key: Any = ""
    ) -> Entity | None:
        """What is known of an entity; None: there are too many."""
        where = self._key(kind, at, name, source, key)
        if where not in self.entities:
            if len(self.entities) >= MAX_ENTITIES:
                return None
            self.entities[where] = Entity(kind, *where[2:])
        return self.entities[where]

    def _key(self, kind: str, at: At, name: Any, source: Any = "", key: Any = "") -> Key:
        vhost = self.vhosts.get(at[0], "")
        return (kind, vhost, str(name), str(source or ""), str(key or ""))

    def _ask(self, at: At, ok: str, key: Key) -> None:
        channels = self.requests.setdefault(at[0], {})
        channels.setdefault(at[1], deque(maxlen=MAX_REQUESTS)).append((ok, key))

    def _answered(self, at: At, method: str) -> Key | None:
        """The request that an answer is for: the oldest of its kind."""
        requests = self.requests.get(at[0], {}).get(at[1], deque())
        for place, (ok, key) in enumerate(requests):
            if ok == method:
                del requests[place]
                return key
        return None

    def _vhost(self, at: At, by: str, method: str, f: dict[str, Any]) -> None:
        self.vhosts[at[0]] = str(f.get("virtual_host"))

    def _publish(self, at: At, by: str, method: str, f: dict[str, Any]) -> None:
        self._entity("exchange", at, f.get("exchange"))

    def _use(self, at: At, by: str, method: str, f: dict[str, Any]) -> None:
        self._entity("queue", at, f.get("queue") or self._queue(at))

    def _declare(self, at: At, by: str, method: str, f: dict[str, Any]) -> None:
        kind = method.partition(".")[0]
        name = f.get(kind)
        if name == "" and kind == "queue":
            name = UNNAMED
        if not f.get("no_wait"):
            self._ask(at, f"{method}-ok", self._key(kind, at, name))
        entity = self._entity(kind, at, name)
        if entity is None or entity.state == "exists":
            return  # it is asked for again
        entity.type = f.get("type") or entity.type
        entity.flags = [flag for flag in FLAGS if f.get(flag)]
        entity.arguments = _arguments(f)
        entity.state = "exists" if f.get("no_wait") else "asked for"

    def _ok(self, at: At, by: str, method: str, f: dict[str, Any]) -> None:
        key = self._answered(at, method)
        entity = self.entities.get(key) if key else None
        if method == "queue.declare-ok":
            self.last_queue[at] = str(f.get("queue"))
            if entity is not None and key is not None and key[2] == UNNAMED:
                # Each of them is another queue.
                queue = self._entity("queue", at, f.get("queue"))
                if queue is not None:
                    queue.flags, queue.arguments = entity.flags, entity.arguments
                    self.entities.pop(key, None)
                    entity = queue
        if entity is not None:
            entity.state = "deleted" if "delete" in method or "unbind" in method else "exists"

    def _delete(self, at: At, by: str, method: str, f: dict[str, Any]) -> None:
        kind = method.partition(".")[0]
        name = f.get(kind) or self._queue(at)
        entity = self._entity(kind, at, name)
        if f.get("no_wait") and entity is not None:
            entity.state = "deleted"
        else:
            self._ask(at, f"{method}-ok", self._key(kind, at, name))

    def _queue(self, at: At) -> str:
        return self.last_queue.get(at, "")

    def _bind(self, at: At, by: str, method: str, f: dict[str, Any]) -> None:
        to_queue = method.startswith("queue")
        target = (f.get("queue") or self._queue(at)) if to_queue else f.get("destination")
        source = f.get("exchange") if to_queue else f.get("source")
        entity = self._entity("binding", at, target, source, f.get("routing_key"))
        if not f.get("no_wait"):
            key = self._key("binding", at, target, source, f.get("routing_key"))
            self._ask(at, f"{method}-ok", key)
        if entity is None:
            return
        entity.type = "to queue" if to_queue else "to exchange"
        if method.endswith(".bind"):
            entity.arguments = _arguments(f)
        entity.state = "exists" if entity.state == "exists" or f.get("no_wait") else "asked for"

    def _closed(self, at: At, by: str, method: str, f: dict[str, Any]) -> None:
        """What waited for its answer was refused."""
        refused = by == "server" and f.get("reply_code") not in (200, 0, None)
        channels = self.requests.get(at[0], {})
        for channel in list(channels) if method == "connection.close" else [at[1]]:
            for _, key in channels.pop(channel, ()):
                entity = self.entities.get(key)
                if entity is not None and refused:
                    entity.state = "exists" if entity.state == "exists" else "refused"
                    entity.reason = f"{f.get('reply_code')} {f.get('reply_text')}"


def _arguments(fields: dict[str, Any]) -> str | None:
    arguments = fields.get("arguments")
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":")) if arguments else None


_HANDLERS = {
    "connection.open": Declared._vhost,
    "basic.publish": Declared._publish,
    "basic.consume": Declared._use,
    "basic.get": Declared._use,
    "exchange.declare": Declared._declare,
    "queue.declare": Declared._declare,
    "exchange.delete": Declared._delete,
    "queue.delete": Declared._delete,
    "queue.bind": Declared._bind,
    "queue.unbind": Declared._bind,
    "exchange.bind": Declared._bind,
    "exchange.unbind": Declared._bind,
    "channel.close": Declared._closed,
    "connection.close": Declared._closed,
    **dict.fromkeys(
        [
            *("exchange.declare-ok", "queue.declare-ok", "exchange.delete-ok", "queue.delete-ok"),
            *("queue.bind-ok", "queue.unbind-ok", "exchange.bind-ok", "exchange.unbind-ok"),
        ],
        Declared._ok,
    ),
}
