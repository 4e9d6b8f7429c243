"""Idle time-outs of both ends, on the caller's clock (Part 2 §2.4.5)."""

from __future__ import annotations

__all__ = ["Heartbeats"]


class Heartbeats:
    """When a heartbeat is due, and when the peer has been silent for too long.

    There is no clock here: `received` and `sent` say that something happened since the caller
    last told the time, and count as if it had happened then.
    """

    received: bool
    sent: bool

    def __init__(self, idle_timeout: float | None) -> None:
        """idle_timeout: seconds of silence that this end takes, None for any."""
        if idle_timeout is not None and not 0.002 <= idle_timeout <= 8_000_000:
            raise ValueError(f"idle_timeout is 0.002 to 8000000 seconds, not {idle_timeout}")
        self.local = idle_timeout
        self.remote = 0  # ms of silence that the peer takes; 0 for any
        self.received = self.sent = True
        self._last_received: float | None = None
        self._last_sent: float | None = None

    @property
    def advertised(self) -> int | None:
        """What the peer is told, in ms: half, so that what is under way does not come too late."""
        return None if self.local is None else int(self.local * 500)

    def _note(self, now: float) -> None:
        if self.received or self._last_received is None:
            self._last_received = now
        if self.sent or self._last_sent is None:
            self._last_sent = now
        self.received = self.sent = False

    def next_timeout(self, now: float) -> float | None:
        """The earlier of the two times, None where neither end has a limit."""
        self._note(now)
        times = []
        if self.local is not None and self._last_received is not None:
            times.append(self._last_received + self.local)
        if self.remote and self._last_sent is not None:
            times.append(self._last_sent + self.remote / 2000)
        return min(times, default=None)

    def due(self, now: float) -> tuple[bool, bool]:
        """(a heartbeat is due, the peer is silent)."""
        self._note(now)
        assert self._last_received is not None
        assert self._last_sent is not None
        silent = self.local is not None and now >= self._last_received + self.local
        beat = bool(self.remote) and now >= self._last_sent + self.remote / 2000
        return beat, silent
