"""One large capture on all processors without a cluster, then SQL over it: ranges and DuckDB.

    python examples/ranges.py prod.pcap --folder parquet/ --ranges 16

A pass that counts only notes the reader's state at each cut; then a process a range goes on from
there and writes its rows to a Parquet file. Together the files hold what one reader would have
given, in the order of their names. A file in gzip is one range; unpack those in zstd and lz4 first,
since cuts count the bytes of the file. A state holds what connections had sent in part, credentials
included: it stays in memory here.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from amqpcodec import capture

FIELDS = ["connection", "direction", "timestamp", "method", "exchange", "routing_key", "error"]


class Range(NamedTuple):
    """A part of a capture. state: what to go on from; stop: bytes where the next one begins."""

    path: str
    number: int
    state: bytes | None
    stop: int | None


def ranges(path: str, count: int) -> list[Range]:
    """So many ranges of about one size."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    stops = [] if packed else [size * (i + 1) // count for i in range(count - 1)]
    reader = capture.Reader(path, level="message", fields=["error"], order="none")
    states: list[bytes | None] = [None]
    for stop in stops:
        for _ in reader.read(stop):
            pass
        states.append(reader.state())
    ends = enumerate(zip(states, [*stops, None], strict=True))
    return [Range(path, number, state, stop) for number, (state, stop) in ends]


def write(part: Range, folder: str) -> str:
    """Write the rows of a range; the file's name."""
    reader = capture.Reader(part.path, level="message", fields=FIELDS, order="none")
    if part.state is not None:
        reader.resume(part.state)
    name = os.path.join(folder, f"part-{part.number:05}.parquet")
    with pq.ParquetWriter(name, pa.schema(reader.schema), compression="zstd") as out:
        for batch in reader.read(part.stop):
            out.write_batch(pa.record_batch(batch))
    return name


def convert(path: str, folder: str, count: int, pool: Executor) -> list[str]:
    """A capture to Parquet files, in order."""
    os.makedirs(folder, exist_ok=True)
    parts = ranges(path, count)
    return list(pool.map(write, parts, [folder] * len(parts)))


def main() -> None:
    """Convert, and say who publishes what."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("capture")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--ranges", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    with ProcessPoolExecutor() as pool:
        files = convert(options.capture, str(options.folder), options.ranges, pool)
    rows = duckdb.read_parquet(files)  # noqa: F841 - the query names it
    duckdb.sql(
        "SELECT exchange, routing_key, count(*) AS messages FROM rows"
        " WHERE method = 'basic.publish' GROUP BY ALL ORDER BY messages DESC LIMIT 20"
    ).show()


if __name__ == "__main__":
    main()
