"""Where the broker will have put a message, as far as bindings were seen."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .records import Message, Record

__all__ = ["Routes", "topic_fits"]

#: Bindings that are remembered.
MAX_BINDINGS = 100_000
BUILT_IN = {"amq.direct": "direct", "amq.fanout": "fanout", "amq.topic": "topic"}


class Routes:
    """Bindings and types of exchanges, by virtual host."""

    def __init__(self) -> None:
        """Nothing was bound yet."""
        self.vhosts: dict[int, str] = {}
        self.types: dict[tuple[str, str], str] = {}
        #: (vhost, source) -> (is a queue, destination, key) of each binding
        self.bindings: dict[tuple[str, str], dict[tuple[bool, str, str], None]] = {}
        self.count = 0

    def observe(self, record: Record) -> None:
        """Look at what declares and binds."""
        method = record.method
        if method not in _ROUTE_METHODS or not record.arguments:
            return
        fields = json.loads(record.arguments)
        if method == "connection.open":
            self.vhosts[record.conn] = str(fields.get("virtual_host"))
            return
        vhost = self.vhosts.get(record.conn, "/")
        if method == "exchange.declare":
            if not fields.get("passive"):
                self.types[vhost, str(fields.get("exchange"))] = str(fields.get("type"))
            return
        is_queue = method.startswith("queue")
        source = str(fields.get("exchange" if is_queue else "source"))
        target = str(fields.get("queue" if is_queue else "destination"))
        bindings = self.bindings.setdefault((vhost, source), {})
        key = (is_queue, target, str(fields.get("routing_key")))
        if method.endswith("unbind"):
            bindings.pop(key, None)
        elif self.count < MAX_BINDINGS:
            self.count += key not in bindings
            bindings[key] = None

    def of(self, message: Message) -> list[str] | None:
        """Queues that a message is put into; None: no binding of its exchange was seen."""
        if message.queue is not None:
            return [message.queue]
        vhost = self.vhosts.get(message.conn, "/")
        if message.exchange is None or (vhost, message.exchange) not in self.bindings:
            return None
        queues: dict[str, None] = {}
        self._follow(vhost, message.exchange, message.key or "", queues, set())
        return list(queues)

    def _follow(
        self, vhost: str, exchange: str, key: str, queues: dict[str, None], visited: set[str]
    ) -> None:
        pending = [exchange]
        while pending:
            here = pending.pop()
            if here in visited:
                continue
            visited.add(here)
            kind = self.types.get((vhost, here)) or BUILT_IN.get(here, "direct")
            for is_queue, target, pattern in self.bindings.get((vhost, here), {}):
                if not _fits(kind, pattern, key):
                    continue
                if is_queue:
                    queues[target] = None
                else:
                    pending.append(target)


_ROUTE_METHODS = {
    *("connection.open", "exchange.declare", "exchange.bind", "exchange.unbind"),
    *("queue.bind", "queue.unbind"),
}


def _fits(kind: str, pattern: str, key: str) -> bool:
    """Whether a binding takes a key. Exchanges of other types are taken to pass nothing on."""
    if kind == "fanout":
        return True
    if kind == "direct":
        return pattern == key
    return kind == "topic" and topic_fits(pattern, key)


def topic_fits(pattern: str, key: str) -> bool:
    """Whether a pattern of words, * (one word) and # (any number of words) takes a key."""
    words = key.split(".") if key else []
    # Which numbers of words of the key can be taken by the pattern so far.
    reached = {0}
    for part in pattern.split(".") if pattern else []:
        if part == "#":
            reached = set(range(min(reached, default=len(words) + 1), len(words) + 1))
        else:
            reached = {
                at + 1 for at in reached if at < len(words) and part in ("*", words[at])
            }  # fmt: skip
    return len(words) in reached
