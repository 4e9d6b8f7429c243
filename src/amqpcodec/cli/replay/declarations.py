"""What a recording declares, under the names of --map: what --declare creates on the target, and
where the plan expects messages to go.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from ... import batch, v0_9_1
from .declared import FIELDS, UNNAMED, Declared, Entity
from .mapping import Mapping

__all__ = ["DECLARING_COLUMNS", "Declaration", "Declarations"]

#: Columns that declarations are found in.
DECLARING_COLUMNS = FIELDS
BUILT_IN = {
    **{"amq.direct": "direct", "amq.fanout": "fanout", "amq.topic": "topic"},
    **{"amq.headers": "headers", "amq.match": "headers"},
}
#: Arguments of exchanges and queues that name an exchange, and a routing key.
EXCHANGE_ARGUMENTS = ("alternate-exchange", "x-dead-letter-exchange")
KEY_ARGUMENTS = ("x-dead-letter-routing-key",)
#: Exchanges and queues that are followed for one route.
MAX_RECEIVERS = 10_000


@dataclass(frozen=True, slots=True)
class Declaration:
    """An exchange, a queue or a binding, under the name that it has on the target.

    Attributes:
        kind: "exchange", "queue", "binding to queue" or "binding to exchange".
        name: of the exchange or queue; of a binding, of its destination.
        type: of an exchange.
        source, routing_key: of a binding.
        flags: those of the declaration that are set: "durable", ...
        arguments: as they are sent.
        problem: why it cannot be created; "" where it can.
    """

    kind: str
    name: str
    type: str = ""
    source: str = ""
    routing_key: str = ""
    flags: tuple[str, ...] = ()
    arguments: dict[str, Any] = field(default_factory=dict)
    problem: str = ""

    def __str__(self) -> str:
        if self.source:
            target = self.kind.removeprefix("binding to ")
            return f"binding of {target} {self.name!r} to {self.source!r}, key {self.routing_key!r}"
        parts = [f"{self.kind} {self.name!r}", self.type, *self.flags]
        return ", ".join(part for part in parts if part)


#: Exchanges and queues by name, bindings by source.
Index = tuple[dict[str, Declaration], dict[str, Declaration], dict[str, list[Declaration]]]


class Declarations:
    """Collects declarations from batches of messages."""

    def __init__(self, mapping: Mapping) -> None:
        self._mapping = mapping
        self._declared = Declared()
        self._items: list[Declaration] | None = None
        self._indexed: Index | None = None
        #: Whether what was read had the columns that say what was declared.
        self.is_known = False

    def observe(self, rows: pa.RecordBatch) -> None:
        """Take the declarations of a batch; it has DECLARING_COLUMNS, or nothing is known of it."""
        if not set(DECLARING_COLUMNS) <= set(rows.schema.names):
            return
        try:
            self._declared.update(rows)
        except (ValueError, TypeError, KeyError, AttributeError, pa.ArrowException):
            return  # a table whose columns have these names and something else in them
        self.is_known = True

    def items(self) -> list[Declaration]:
        """All of them in an order in which they can be created: exchanges, queues, bindings."""
        if self._items is None:
            self._items = list(self._collect())
        return self._items

    def _collect(self) -> Iterator[Declaration]:
        by_key: dict[tuple[str, str, str, str], Declaration] = {}
        others: list[Declaration] = []
        for kind in ("exchange", "queue", "binding"):
            for entity in self._declared.of_kind(kind):
                if not entity.name:
                    continue
                item = self._declaration(entity)
                key = (item.kind, item.name, item.source, item.routing_key)
                before = by_key.get(key)
                if before is None or (before.problem and not item.problem):
                    by_key[key] = item
                elif not item.problem and before != item:
                    text = "declared in several ways, of which the first is taken"
                    others.append(Declaration(item.kind, item.name, item.type, problem=text))
        missing = {item.name for item in by_key.values() if item.kind == "queue" and item.problem}
        for item in by_key.values():
            if item.kind == "binding to queue" and item.name in missing and not item.problem:
                reason = f"queue {item.name!r} is not created"
                item = Declaration(
                    item.kind, item.name, "", item.source, item.routing_key, problem=reason
                )
            yield item
        yield from others

    def _declaration(self, entity: Entity) -> Declaration:
        mapping, kind = self._mapping, entity.kind
        flags = tuple(entity.flags)
        arguments = self._arguments(entity.arguments)
        if kind == "binding":
            to_queue = entity.type == "to queue"
            name = mapping.key(entity.name) if to_queue else mapping.exchange(entity.name)
            return Declaration(
                "binding to queue" if to_queue else "binding to exchange",
                name,
                source=mapping.exchange(entity.source),
                routing_key=mapping.key(entity.routing_key),
                arguments=arguments,
                problem=_problem(entity),
            )
        name = mapping.exchange(entity.name) if kind == "exchange" else mapping.key(entity.name)
        problem = _problem(entity)
        if name.startswith("amq."):
            problem = "names that begin with amq. are the broker's"
        elif name == "":
            problem = "the default exchange is always there"
        return Declaration(kind, name, entity.type or "", "", "", flags, arguments, problem)

    def _arguments(self, text: str | None) -> dict[str, Any]:
        """A field table of its JSON text; exchanges and keys in it under their new names."""
        if not text:
            return {}
        table = _table(text)
        for names, mapped in (
            (EXCHANGE_ARGUMENTS, self._mapping.exchange),
            (KEY_ARGUMENTS, self._mapping.key),
        ):
            for name in names:
                if isinstance(table.get(name), str):
                    table[name] = mapped(table[name])
        return table

    # --- where a message may go

    def receivers(self, exchange: str, routing_key: str) -> Iterator[tuple[str, str, str]]:
        """(kind, name, how) of what gets a message by the bindings of the recording.

        Without the exchange itself, and without what the target has bound by itself.
        """
        pending = deque([("exchange", exchange, routing_key)])
        visited = {("exchange", exchange)}
        while pending and len(visited) < MAX_RECEIVERS:
            kind, name, key = pending.popleft()
            for next_kind, next_name, next_key, how in self._next(kind, name, key):
                if (next_kind, next_name) not in visited:
                    visited.add((next_kind, next_name))
                    pending.append((next_kind, next_name, next_key))
                    yield next_kind, next_name, how

    def _next(self, kind: str, name: str, key: str) -> Iterable[tuple[str, str, str, str]]:
        if kind == "exchange" and name == "":
            yield "queue", key, key, "by the default exchange"
            return
        exchanges, queues, bindings = self._index()
        item = (exchanges if kind == "exchange" else queues).get(name)
        arguments = item.arguments if item is not None else {}
        if kind == "queue":
            if isinstance(target := arguments.get("x-dead-letter-exchange"), str):
                dead_key = arguments.get("x-dead-letter-routing-key", key)
                yield "exchange", target, str(dead_key), f"dead letters of queue {name!r}"
            return
        type_ = item.type if item is not None and item.type else BUILT_IN.get(name, "")
        for binding in bindings.get(name, ()):
            if _takes(type_, binding.routing_key, key):
                target_kind = binding.kind.removeprefix("binding to ")
                yield target_kind, binding.name, key, f"bound to {name!r} in the recording"
        if isinstance(target := arguments.get("alternate-exchange"), str):
            yield "exchange", target, key, f"alternate exchange of {name!r}"

    def _index(self) -> Index:
        """Exchanges and queues by name, bindings by source."""
        if self._indexed is not None:
            return self._indexed
        exchanges: dict[str, Declaration] = {}
        queues: dict[str, Declaration] = {}
        bindings: dict[str, list[Declaration]] = {}
        for item in self.items():
            if item.source:
                bindings.setdefault(item.source, []).append(item)
            else:
                (exchanges if item.kind == "exchange" else queues).setdefault(item.name, item)
        self._indexed = exchanges, queues, bindings
        return self._indexed


def _problem(entity: Entity) -> str:
    if entity.state == "refused":
        return f"the recorded broker refused it: {entity.reason}"
    if entity.state == "deleted":
        return "it was deleted again in the recording"
    if entity.state == "used" or "passive" in entity.flags:
        return "its declaration is not in the recording"
    if entity.kind == "exchange" and not entity.type:
        return "its declaration is not in the recording"
    if "exclusive" in entity.flags:
        return "an exclusive queue ends with the connection that declares it"
    if entity.kind == "queue" and entity.name.startswith((UNNAMED, "amq.")):
        return "the broker chooses its name"
    return ""


def _takes(type_: str, pattern: str, key: str) -> bool:
    """Whether a binding may take a key; exchanges of unknown types are taken to pass all on."""
    if type_ == "direct":
        return pattern == key
    return type_ != "topic" or topic_fits(pattern, key)


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


def _table(text: str) -> dict[str, Any]:
    """The field table that a JSON text of columns stands for."""
    columns = {"exchange": [""], "routing_key": [""], "properties_json": [f'{{"headers":{text}}}']}
    frames = batch.encode(pa.record_batch({name: pa.array(v) for name, v in columns.items()}))
    raw = pa.array(frames)[0].as_py()
    if raw is None:
        raise ValueError(f"arguments cannot be read: {json.dumps(text)}")
    events: list[Any] = [event for _, event in v0_9_1.MessageDecoder(0).feed(raw)]
    return dict(events[0].properties.headers)
