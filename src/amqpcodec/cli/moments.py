"""Points in time as the command line takes them: absolute, or counted from the first packet."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

__all__ = ["Moment", "length", "moment"]

START = datetime(1970, 1, 1, tzinfo=UTC)
AFTER = re.compile(r"\+?([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)|\+([0-9]+(?:\.[0-9]+)?)")
SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True)
class Moment:
    """A point in time: absolute, a time of the day, or so long after the first packet."""

    at: datetime | None = None
    day_time: time | None = None
    after: timedelta | None = None

    def microseconds(self, start: int, local: bool) -> int:
        """µs since 1970. start: the first packet, the same. local: how times without zone count."""
        zone = None if local else UTC
        if self.after is not None:
            return start + self.after // timedelta(microseconds=1)
        instant = self.at
        if self.day_time is not None:
            first = (START + timedelta(microseconds=start)).astimezone(zone)
            instant = datetime.combine(first.date(), self.day_time)
        assert instant is not None
        if instant.tzinfo is None:
            instant = instant.astimezone() if local else instant.replace(tzinfo=UTC)
        return (instant - START) // timedelta(microseconds=1)


def moment(text: str) -> Moment:
    """What --since and --until take: 2026-02-28T12:00, 12:00:30 (of the first day), +90s, 5m."""
    match = AFTER.fullmatch(text)
    if match:
        number, unit, plain = match.groups()
        return Moment(after=timedelta(seconds=float(number or plain) * SECONDS[unit or "s"]))
    try:
        if re.match(r"[0-9]{1,2}:", text):
            return Moment(day_time=time.fromisoformat(text.zfill(5) if len(text) < 5 else text))
        return Moment(at=datetime.fromisoformat(text))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no time: 2026-02-28T12:00, 12:00:30 (of the first day), or +90s and 5m"
            " (after the first packet)"
        ) from None


def length(text: str) -> int:
    """µs of 10s, 5m, 1h; seconds where there is no unit."""
    match = AFTER.fullmatch(text if text[-1:].isalpha() else f"{text}s")
    micro = int(float(match[1]) * SECONDS[match[2]] * 1e6) if match and match[1] else 0
    if micro <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no length of time: 10s, 5m, 1h")
    return micro
