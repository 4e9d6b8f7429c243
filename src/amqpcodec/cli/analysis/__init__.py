"""Analyses of captures, a command and a module each, and what they have in common.

``base`` has the base class, ``run`` runs one; ``traffic`` follows messages on their way.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .base import Analyzer

__all__ = ["ANALYZERS", "analyzer_class"]

#: Command -> (module, class, help text).
ANALYZERS = {
    "connections": ("connections", "Connections", "who was connected, and how it ended"),
    "topology": ("topology", "Topology", "exchanges, queues, bindings and consumers, as seen"),
    "messages": ("messages", "Messages", "what happened to messages: publish, deliver, ack, ..."),
    "latency": ("latency", "Latency", "how long confirms, acks, gets and replies took"),
    "errors": ("errors", "Errors", "closes, nacks, returns, refused logins, silence, damage"),
    "unacked": ("unacked", "Unacked", "deliveries that were not settled at the end"),
    "top": ("top", "Top", "the busiest exchanges, keys, queues and connections"),
}


def analyzer_class(command: str) -> type[Analyzer]:
    """The analyzer of a command."""
    module, name, _ = ANALYZERS[command]
    analyzer: type[Analyzer] = getattr(import_module(f".{module}", __package__), name)
    return analyzer
