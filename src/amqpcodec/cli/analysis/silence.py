"""Directions that were silent for longer than their heartbeats allow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["Silence", "Silences"]


class Silence(NamedTuple):
    """What was not said. begin, end: µs since 1970. resumed: whether more came."""

    connection: int
    direction: str
    begin: int
    end: int
    allowed: float  # seconds
    resumed: bool


class Silences:
    """Looks at the times of all frames, by column operations."""

    def __init__(self) -> None:
        """No connection has agreed on anything."""
        self.allowed: dict[int, int] = {}  # connection * 2 + is the server -> µs
        self.last: dict[int, int] = {}
        self.end: int | None = None

    def allow(self, connection: int, direction: str, seconds: float) -> None:
        """So long may a direction be silent; 0: for ever."""
        key = connection * 2 + (direction == "server")
        if seconds > 0:
            self.allowed[key] = int(seconds * 1e6)
        else:
            self.allowed.pop(key, None)

    def closed(self, connection: int) -> None:
        """It says nothing any more, rightly."""
        for key in (connection * 2, connection * 2 + 1):
            self.allowed.pop(key, None)
            self.last.pop(key, None)

    def observe(self, batch: pa.RecordBatch) -> Iterator[Silence]:
        """The silences that ended in a batch. Columns: connection_index, direction, timestamp."""
        batch = batch.filter(batch.column("timestamp").is_valid())
        if not batch.num_rows:
            return
        times = batch.column("timestamp").cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        latest = pc.max(times).as_py()
        self.end = latest if self.end is None else max(self.end, latest)
        of_server = pc.equal(batch.column("direction"), "server").cast(pa.int64())
        twice = pc.multiply(batch.column("connection_index").cast(pa.int64()), 2)
        keys = pc.add(twice, of_server)
        # What came before this batch stands in front of it.
        if self.last:
            keys = pa.concat_arrays([pa.array(list(self.last), pa.int64()), keys])
            times = pa.concat_arrays([pa.array(list(self.last.values()), pa.int64()), times])
        table = pa.table({"key": keys, "time": times})
        table = table.sort_by([("key", "ascending"), ("time", "ascending")]).combine_chunks()
        keys, times = (table.column(at).combine_chunks() for at in range(2))
        if self.allowed:
            yield from self._long(keys, times)
        newest = table.group_by("key").aggregate([("time", "max")])
        self.last.update(
            zip(
                newest.column("key").to_pylist(), newest.column("time_max").to_pylist(), strict=True
            )
        )

    def _long(self, keys: pa.Array, times: pa.Array) -> Iterator[Silence]:
        least = min(self.allowed.values())
        steps = pc.subtract(times[1:], times[:-1])
        wide = pc.and_(pc.equal(keys[1:], keys[:-1]), pc.greater(steps, least))
        for at in pc.indices_nonzero(wide).to_pylist():
            key = keys[at].as_py()
            begin, end = times[at].as_py(), times[at + 1].as_py()
            if key in self.allowed and end - begin > self.allowed[key]:
                yield self._silence(key, begin, end, True)

    def _silence(self, key: int, begin: int, end: int, resumed: bool) -> Silence:
        who = "server" if key % 2 else "client"
        return Silence(key // 2, who, begin, end, self.allowed[key] / 1e6, resumed)

    def finish(self) -> Iterator[Silence]:
        """The silences that last to the end of the recording."""
        if self.end is None:
            return
        for key, begin in self.last.items():
            if key in self.allowed and self.end - begin > self.allowed[key]:
                yield self._silence(key, begin, self.end, False)
