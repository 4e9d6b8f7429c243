"""What a session reports: frozen dataclasses, made for ``match``."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Event"]


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events."""
