"""Questions about captures, each one command: a module each, and what they stand on.

``base`` says what a question is, ``run`` asks it; ``traffic`` follows messages on their way.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .base import Analyzer

__all__ = ["QUESTIONS", "question"]

#: Command -> (module, class, what it says of itself).
QUESTIONS = {
    "connections": ("connections", "Connections", "who was connected, and how it ended"),
    "topology": ("topology", "Topology", "exchanges, queues, bindings and consumers, as seen"),
    "messages": ("messages", "Messages", "what happened to messages: publish, deliver, ack, ..."),
    "latency": ("latency", "Latency", "how long confirms, acks, gets and replies took"),
    "errors": ("errors", "Errors", "closes, nacks, returns, refused logins, silence, damage"),
    "unacked": ("unacked", "Unacked", "deliveries that were not settled at the end"),
    "top": ("top", "Top", "the busiest exchanges, keys, queues and connections"),
}


def question(command: str) -> type[Analyzer]:
    """The class of a question."""
    module, name, _ = QUESTIONS[command]
    analyzer_class: type[Analyzer] = getattr(import_module(f".{module}", __package__), name)
    return analyzer_class
