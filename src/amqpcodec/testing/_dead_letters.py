"""Dead-lettering: what becomes of a message that a queue rejects, drops or lets expire.

x-death as RabbitMQ writes it: an entry for each queue and reason, the latest first.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ._queues import Content, Queue

__all__ = ["dead_lettered", "is_cycle"]


def dead_lettered(queue: Queue, content: Content, reason: str, wall: datetime) -> Content:
    """The message as it is published to the dead-letter exchange of its queue."""
    options = queue.options
    headers = dict(content.properties.headers or {})
    routing_keys = [content.routing_key, *_texts(headers.get("CC"))]
    deaths = _deaths(headers)
    entry: dict[str, Any] = {
        "count": 0,
        "reason": reason,
        "queue": queue.name,
        "time": wall,
        "exchange": content.exchange,
        "routing-keys": routing_keys,
    }
    for death in deaths:
        if death.get("queue") == queue.name and death.get("reason") == reason:
            deaths.remove(death)
            entry = death
            break
    count = entry.get("count")
    entry["count"] = (count if isinstance(count, int) else 0) + 1
    if content.properties.expiration is not None:
        entry["original-expiration"] = content.properties.expiration
    headers["x-death"] = [entry, *deaths]
    headers.setdefault("x-first-death-reason", reason)
    headers.setdefault("x-first-death-queue", queue.name)
    headers.setdefault("x-first-death-exchange", content.exchange)
    routing_key, bcc = content.routing_key, content.bcc
    if options.dead_letter_routing_key is not None:
        routing_key, bcc = options.dead_letter_routing_key, ()
        headers.pop("CC", None)
    # Read by the codec once more, so that equal messages have equal bytes.
    properties = content.properties.__replace__(headers=headers, expiration=None)
    exchange = options.dead_letter_exchange or ""
    return Content(exchange, routing_key, properties, content.body, bcc)


def is_cycle(content: Content, queue: Queue) -> bool:
    """Whether a message comes back to a queue without having been rejected on the way."""
    passed = []
    for death in _deaths(content.properties.headers or {}):
        passed.append(death.get("reason"))
        if death.get("queue") == queue.name:
            return "rejected" not in passed
    return False


def _deaths(headers: dict[str, Any]) -> list[dict[str, Any]]:
    """The entries of x-death, without what a client put there that is no entry."""
    value = headers.get("x-death")
    return [dict(one) for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
