"""When a heartbeat is due and when the peer counts as gone, by the caller's clock."""

from __future__ import annotations

__all__ = ["Heartbeats"]


class Heartbeats:
    """Both directions of one connection.

    Knows no time but what it is told: traffic sets a flag, and the next look at the clock takes
    it as having happened just then.

    Spec: 0-9-1 §4.2.7: gone after two intervals without any bytes.
    """

    __slots__ = ("_heard_at", "_sent_at", "heard", "interval", "sent")

    interval: int
    heard: bool
    sent: bool

    def __init__(self) -> None:
        #: Seconds; 0 for none.
        self.interval = 0
        #: Whether something came or went since the last look at the clock.
        self.heard = True
        self.sent = True
        self._heard_at = 0.0
        self._sent_at = 0.0

    def look(self, now: float) -> None:
        """Take note of the time."""
        if self.heard:
            self._heard_at = now
            self.heard = False
        if self.sent:
            self._sent_at = now
            self.sent = False

    def next(self, now: float) -> float | None:
        """When to look again; None for never."""
        self.look(now)
        if not self.interval:
            return None
        return min(self._sent_at + self.interval / 2, self._heard_at + 2 * self.interval)

    def is_due(self, now: float) -> bool:
        """Whether a heartbeat is to be sent."""
        return self.interval > 0 and now >= self._sent_at + self.interval / 2

    def is_silent(self, now: float) -> bool:
        """Whether the peer counts as gone."""
        return self.interval > 0 and now >= self._heard_at + 2 * self.interval
