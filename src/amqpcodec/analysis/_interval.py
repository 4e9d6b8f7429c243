"""The events of a part of a recording, as SQL: as if it began later, ended earlier, or both."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

__all__ = ["ASKS", "ENDS", "FORGOTTEN", "NEEDED", "interval", "moment", "part"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

#: Columns of events without which it cannot be told what was open at a point in time.
NEEDED = (
    *("connection", "event", "event_id", "answers", "certainty", "settles", "delivery_tag"),
    *("elapsed_us", "reason", "time_us", "timestamp"),
)
#: Columns that say whose event it is: a connection that is open has them.
OF_CONNECTION = (
    *("file", "connection", "connection_index", "client", "connection_name", "user"),
    *("virtual_host", "src", "dst"),
)

#: The reason of a connection-opened of which later events were forgotten, but none that is open.
FORGOTTEN = "before the window"
#: What ends a connection, and what makes it doubtful what is open on one.
ENDS = "event IN ('connection-closed', 'connection-lost', 'connection-refused')"
DOUBTS = (
    "event IN ('gap', 'protocol-error')"
    " OR event = 'connection-opened' AND certainty <> 'exact'"
    f" AND coalesce(reason, '') <> '{FORGOTTEN}'"
)
#: What may wait for an answer.
ASKS = (
    "event = 'delivered' AND settles = 'manual'"
    " OR event = 'published' AND delivery_tag IS NOT NULL AND coalesce(settles, '') <> 'automatic'"
)


def moment(value: object, name: str) -> int | None:
    """A point in time as µs since 1970.

    value: an aware datetime, or ISO 8601 with an offset or Z; None: not bounded. name: of it.

    Raises:
        ValueError: it has no time zone, or is no time.
        TypeError: it is neither.
    """
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.replace("Z", "+00:00"))
        except ValueError:
            raise ValueError(
                f"{name} is a time such as 2026-05-01T13:34:06Z, not {value!r}"
            ) from None
    if not isinstance(value, datetime):
        raise TypeError(f"{name} is a datetime or a text, not {type(value).__name__}")
    if value.tzinfo is None:
        raise ValueError(
            f"{name} has no time zone: {value.isoformat()}; add one, such as Z for UTC"
        )
    return (value - _EPOCH) // timedelta(microseconds=1)


def part(
    connection: duckdb.DuckDBPyConnection,
    columns: Sequence[str],
    since: int | None,
    until: int | None,
) -> str:
    """interval(), where a recording that has ended before `until` ends by itself.

    connection: has the view ``recorded``, with all of the recording.
    """
    if until is not None:
        [(end,)] = connection.execute("SELECT max(time_us) FROM recorded").fetchall()
        if end is None or end < until:
            until = None
    return interval(columns, since, until)


def interval(columns: Sequence[str], since: int | None, until: int | None) -> str:
    """A SELECT over the view ``recorded``: the events from `since` on and before `until`.

    A connection that is older than `since` is opened there, with the reason "before the recording".
    What is open at `until` waits there, as at the end of a recording; that is inferred, because a
    transaction or basic.recover may have ended it without an event.

    Args:
        columns: all columns of recorded; those of NEEDED are among them.
        since: µs since 1970; None: the beginning.
        until: the same; None: the end.
    """
    query = "SELECT * FROM recorded"
    if until is not None:
        query = _ended(columns, until)
    if since is not None:
        opened = {
            "event": "'connection-opened'",
            "certainty": "'inferred'",
            "reason": "'before the recording'",
            **_time(since),
        }
        query = (
            f"WITH ended AS ({query})"
            f" SELECT * FROM ended WHERE time_us >= {since} UNION ALL"
            f" SELECT DISTINCT ON (connection) {_only(columns, opened)} FROM ended"
            f" WHERE time_us < {since} AND connection IN"
            f" (SELECT connection FROM ended WHERE time_us >= {since})"
        )
    return query


def _ended(columns: Sequence[str], until: int) -> str:
    waiting = {
        "event": "'waiting'",
        "answers": "event_id",
        "certainty": "CASE certainty WHEN 'exact' THEN 'inferred' ELSE certainty END",
        "elapsed_us": f"CAST({until} - time_us AS BIGINT)",
        **_time(until),
    }
    replaced = ", ".join(f"{value} AS {_name(name)}" for name, value in waiting.items())
    left = {"event": "'recording-ended'", "certainty": "'exact'", **_time(until)}
    return (
        f"WITH before AS (SELECT * FROM recorded WHERE time_us < {until}"
        " AND event NOT IN ('waiting', 'recording-ended')),"
        f" over AS (SELECT connection FROM before WHERE {ENDS}),"
        f" doubtful AS (SELECT connection FROM before WHERE {DOUBTS}),"
        " answered AS (SELECT connection, answers FROM before WHERE answers IS NOT NULL)"
        " SELECT * FROM before UNION ALL"
        f" SELECT * REPLACE ({replaced}) FROM before WHERE ({ASKS})"
        " AND connection NOT IN (FROM over) AND connection NOT IN (FROM doubtful)"
        " AND NOT EXISTS (SELECT 1 FROM answered WHERE answered.connection = before.connection"
        " AND answered.answers = before.event_id) UNION ALL"
        f" SELECT DISTINCT ON (connection) {_only(columns, left)} FROM before"
        " WHERE connection NOT IN (FROM over)"
    )


def _time(at: int) -> dict[str, str]:
    return {
        "time_us": f"CAST({at} AS BIGINT)",
        "timestamp": f"CAST(make_timestamptz({at}) AS TIMESTAMPTZ)",
    }


def _only(columns: Sequence[str], values: dict[str, str]) -> str:
    """All columns: with these values, those of the connection, and null in the others."""
    kept = {name: _name(name) for name in OF_CONNECTION}
    made = {**kept, **values}
    return ", ".join(f"{made.get(name, 'NULL')} AS {_name(name)}" for name in columns)


def _name(name: str) -> str:
    return f'"{name}"'
