"""``--dry-run``: what would be sent, without a connection to anybody."""

from __future__ import annotations

from collections.abc import Iterable

from ..cells import clean
from .mapping import Mapping
from .messages import Message

__all__ = ["plan"]

#: Lines that are shown, and routes that are told apart at all.
SHOWN, KNOWN = 50, 100_000


class _Route:
    """Messages of one exchange and routing key."""

    def __init__(self) -> None:
        self.count = self.size = 0


def plan(messages: Iterable[Message], mapping: Mapping, done: object) -> list[str]:
    """Lines that say it. done: numbers that are confirmed already."""
    routes: dict[tuple[str, str, str, str], _Route] = {}
    total = skipped = size = 0
    first = last = None
    for message in messages:
        if message.number in done:  # type: ignore[operator]
            skipped += 1
            continue
        total += 1
        size += len(message.body)
        if message.timestamp is not None:
            first = message.timestamp if first is None else min(first, message.timestamp)
            last = message.timestamp if last is None else max(last, message.timestamp)
        old = (message.exchange, message.routing_key)
        key = (*old, mapping.exchange(old[0]), mapping.key(old[1]))
        if key not in routes and len(routes) >= KNOWN:
            key = ("...",) * 4
        route = routes.setdefault(key, _Route())
        route.count += 1
        route.size += len(message.body)
    lines = [f"{'messages':>9}  {'bytes':>12}  exchange, routing key"]
    busiest = sorted(routes.items(), key=lambda item: (-item[1].count, item[0]))
    for (exchange, key_, new_exchange, new_key), route in busiest[:SHOWN]:
        name = f"{clean(exchange)!r}, {clean(key_)!r}"
        if (exchange, key_) != (new_exchange, new_key):
            name += f"  ->  {clean(new_exchange)!r}, {clean(new_key)!r}"
        lines.append(f"{route.count:>9,}  {route.size:>12,}  {name}")
    if len(routes) > SHOWN:
        rest = sum(route.count for _, route in busiest[SHOWN:])
        lines.append(f"{rest:>9,}  {'':>12}  to {len(routes) - SHOWN:,} more")
    span = f" over {(last - first) / 1e6:,.1f} s" if first is not None and last is not None else ""
    lines.append(f"{total:>9,}  {size:>12,}  would be sent{span}")
    if skipped:
        lines.append(f"{skipped:>9,}  {'':>12}  confirmed already, by the journal")
    return lines
