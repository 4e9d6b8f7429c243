"""Exchanges: which bindings a message fits."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._queues import Queue

__all__ = ["EXCHANGE_TYPES", "Exchange", "Route", "topic_fits"]

EXCHANGE_TYPES = ("direct", "fanout", "topic", "headers")


@dataclass(eq=False)
class Route:
    """A binding of an exchange.

    Attributes:
        routing_key: the key, pattern, or nothing that matters.
        arguments: of a headers exchange, what to match; others only tell bindings apart.
        destination: queue or exchange.
    """

    routing_key: str
    arguments: dict[str, Any]
    destination: Queue | Exchange

    def is_same(self, other: Route) -> bool:
        """Whether it binds the same in the same way."""
        return (
            self.destination is other.destination
            and self.routing_key == other.routing_key
            and self.arguments == other.arguments
        )


@dataclass(eq=False)
class Exchange:
    """An exchange and its bindings."""

    name: str
    type: str
    durable: bool = True
    auto_delete: bool = False
    internal: bool = False
    alternate: str | None = None
    routes: list[Route] = field(default_factory=list)

    def matches(self, routing_key: str, headers: dict[str, Any]) -> list[Queue | Exchange]:
        """Where a message goes, in the order of the bindings."""
        return [
            route.destination for route in self.routes if self._fits(route, routing_key, headers)
        ]

    def _fits(self, route: Route, routing_key: str, headers: dict[str, Any]) -> bool:
        if self.type == "fanout":
            return True
        if self.type == "topic":
            return topic_fits(_words(route.routing_key), _words(routing_key))
        if self.type == "headers":
            return _headers_fit(route.arguments, headers)
        return route.routing_key == routing_key


def _words(key: str) -> list[str]:
    return key.split(".") if key else []


def topic_fits(pattern: list[str], words: list[str]) -> bool:
    """Whether a topic fits: * is one word, # is any number."""
    fits = [True] + [False] * len(words)
    for part in pattern:
        before, fits = fits, [part == "#" and fits[0]] + [False] * len(words)
        for place, word in enumerate(words, 1):
            if part == "#":
                fits[place] = before[place] or fits[place - 1]
            else:
                fits[place] = before[place - 1] and part in ("*", word)
    return fits[-1]


def _headers_fit(arguments: dict[str, Any], headers: dict[str, Any]) -> bool:
    mode = arguments.get("x-match", "all")
    expected = {
        name: value
        for name, value in arguments.items()
        if name != "x-match" and (mode.endswith("-with-x") or not name.startswith("x-"))
    }
    results = [
        name in headers and (value is None or _term(value) == _term(headers[name]))
        for name, value in expected.items()
    ]
    return any(results) if mode.startswith("any") else all(results)


def _term(value: Any, *, is_nested: bool = False) -> Any:
    """What RabbitMQ compares: the tags of the table's types count within lists and tables alone."""
    if isinstance(value, list):
        return [_term(one, is_nested=True) for one in value]
    if isinstance(value, dict):
        return {name: _term(one, is_nested=True) for name, one in value.items()}
    if isinstance(value, bool | Decimal):
        return (type(value).__name__, value)
    plain = value.encode() if isinstance(value, str) else value
    if isinstance(value, datetime):
        plain = value.timestamp()
    return (type(value).__name__, plain) if is_nested else plain
