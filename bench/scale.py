"""``python -m bench.scale``: large captures, in ranges, on Spark, from S3 and by several threads.

The capture is generated: mixed traffic on many connections, and one connection that carries half of
it. Each row has a gate and a goal; what cannot be measured here says why. Wall time counts in the
rows on threads, S3 and streaming, so let nothing else run; ``--megabytes 2000`` is the size that
the gates are meant for.
"""

from __future__ import annotations

import argparse
import functools
import json
import multiprocessing
import os
import resource
import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from amqpcodec import capture
from bench import workloads
from bench.capture import RECORDINGS
from bench.spark import cpu_seconds
from scripts import looped

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

RANGES = 16
SEGMENT = 1448
THREE = ["method", "channel", "timestamp"]


class Absent(Exception):
    """Why a row was not measured."""


class Row(NamedTuple):
    """A bar. larger: whether a larger value is better."""

    name: str
    gate: float
    goal: float
    larger: bool
    measure: Callable[[Path, int], float]

    def passes(self, value: float) -> bool:
        """Whether the gate is met."""
        return value >= self.gate if self.larger else value <= self.gate


def hot(records: int) -> Iterator[bytes]:
    """Packets of one connection, so many at once, over and over: W1's frames."""
    said = b"".join(frame for group in workloads.get("W1").groups for frame in group)
    client, server = bytes([10, 9, 9, 1]), bytes([10, 9, 9, 2])
    sequence, at = 1, 0
    while True:
        out = []
        for _ in range(records):
            part = (said[at : at + SEGMENT] + said)[:SEGMENT]
            at = (at + SEGMENT) % len(said)
            size = 20 + 20 + SEGMENT
            ip = struct.pack(">BBHHHBBH", 0x45, 0, size, 0, 0, 64, 6, 0) + client + server
            tcp = struct.pack(">HHIIBBHHH", 40000, 5672, sequence, 1, 0x50, 0x10, 65535, 0, 0)
            sequence = (sequence + SEGMENT) & 0xFFFFFFFF
            packet = b"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0" + ip + tcp + part
            out.append(struct.pack("<IIII", 0, 0, len(packet), len(packet)) + packet)
        yield b"".join(out)


def write_capture(path: Path, raw: int) -> None:
    """Mixed traffic and one connection with half of all bytes."""
    recording = next(each for each in RECORDINGS if each.exists())
    looped.write(recording, path, 1)  # one round: its header and its size
    round_size = path.stat().st_size
    whole = path.read_bytes()
    mixed = looped.rounds(looped.packets(whole), 1)
    hot_packets = hot(max(1, round_size // (16 + 54 + SEGMENT)))
    written = looped.HEADER
    with path.open("wb") as file:
        file.write(whole[: looped.HEADER])
        while written < raw:
            written += file.write(next(mixed)) + file.write(next(hot_packets))


def index(path: Path) -> tuple[list[tuple[bytes | None, int | None]], float]:
    """([state to go on from, where to stop] of each range, CPU seconds of the pass)."""
    step = -(-path.stat().st_size // RANGES)
    stops = [step * (i + 1) for i in range(RANGES - 1)]
    start = time.process_time()
    reader = capture.Reader(path, fields=["error"], order="none")
    states: list[bytes | None] = [None]
    for stop in stops:
        for _ in reader.read(stop):
            pass
        states.append(reader.state())
    spent = time.process_time() - start
    return list(zip(states, [*stops, None], strict=True)), spent


def slowest_range(path: Path, rounds: int) -> float:
    """CPU time of the slowest range, all columns, by that of the median one."""
    ranges, _ = index(path)
    times = []
    for state, stop in ranges:
        spent = []
        for _ in range(rounds):
            reader = capture.Reader(path, order="none")
            if state is not None:
                reader.resume(state)
            start = time.process_time()
            for _ in reader.read(stop):
                pass
            spent.append(time.process_time() - start)
        times.append(min(spent))
    return max(times) / statistics.median(times)


def index_speed(path: Path, rounds: int) -> float:
    """Speed of the index pass by that of copying the file from the page cache."""

    def copy() -> float:
        room = bytearray(1 << 18)
        start = time.process_time()
        with path.open("rb", buffering=0) as file:
            while file.readinto(room):
                pass
        return time.process_time() - start

    copy()
    return statistics.median(copy() / index(path)[1] for _ in range(rounds))


def wall(call: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def count(path: Any, **options: Any) -> int:
    """The rows of a capture."""
    return sum(map(len, capture.read(path, **options)))


def two_workers(path: Path, rounds: int) -> float:
    """Wall time of one thread by that of two, all columns."""
    if len(os.sched_getaffinity(0)) < 2:
        raise Absent("one processor")
    return statistics.median(
        wall(lambda: count(path)) / wall(lambda: count(path, workers=2)) for _ in range(rounds)
    )


def worker_memory(path: Path, rounds: int) -> float:
    """MB at most of a process that reads all columns, with pyarrow."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(_memory, (path,))


def _memory(path: Path) -> float:
    import pyarrow as pa

    for batch in capture.read(path):
        pa.record_batch(batch)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def s3(path: Path, rounds: int) -> float:
    """Wall time of three columns from S3 on the loopback by that of the local file."""
    try:
        import moto  # noqa: F401
        from pyarrow import fs
    except ImportError as problem:
        raise Absent(str(problem)) from None
    from tests.capture.s3_server import ACCESS, SECRET, server

    with server() as address:
        store = fs.S3FileSystem(
            access_key=ACCESS, secret_key=SECRET, region="us-east-1",
            endpoint_override=address, allow_bucket_creation=True,
        )  # fmt: skip
        store.create_dir("bench")
        with path.open("rb") as file, store.open_output_stream("bench/x.pcap") as out:
            while piece := file.read(1 << 24):
                out.write(piece)
        return statistics.median(
            wall(lambda: count("s3://bench/x.pcap", fields=THREE, filesystem=store))
            / wall(lambda: count(path, fields=THREE))
            for _ in range(rounds)
        )


# ---- Spark ----


@functools.cache
def session() -> SparkSession:
    """One for all rows."""
    try:
        from amqpcodec import spark as amqp
        from scripts import demo_spark
    except ImportError as problem:
        raise Absent(str(problem)) from None
    made = demo_spark.local_session("bench")
    amqp.register(made)
    return made


def source_beside_identity(path: Path, rounds: int) -> float:
    """CPU time of the source, all columns to the noop sink, by that of handing the same ones over.

    The identity has its batches ready, as many of as many rows.
    """
    import pyarrow as pa

    spark = session()
    jvm = spark.sparkContext._gateway.proc.pid
    frames = spark.read.format("amqp_capture").load(str(path))
    names, rows = frames.columns, count(path)
    from amqpcodec.spark.rows import BATCH_ROWS

    def hand_over(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        reader = capture.read(path, fields=names, batch_rows=BATCH_ROWS)
        ready = pa.record_batch(next(iter(reader)))
        for _ in range(rows // ready.num_rows):
            yield ready
        yield ready.slice(0, rows % ready.num_rows)

    identity = spark.range(1, numPartitions=1).mapInArrow(hand_over, frames.schema)

    def spent(frame: DataFrame) -> float:
        before = cpu_seconds(jvm)
        frame.write.format("noop").mode("overwrite").save()
        return cpu_seconds(jvm) - before

    for _ in range(2):
        spent(frames), spent(identity)
    return statistics.median(spent(frames) / spent(identity) for _ in range(rounds))


def streamed(path: Path, rounds: int) -> float:
    """Files of 1 MB a second through a stream, of one rotation."""
    spark = session()
    with tempfile.TemporaryDirectory() as folder:
        landing, state = Path(folder, "landing"), Path(folder, "state")
        landing.mkdir()
        files = _rotation(path, landing)
        stream = (
            spark.readStream.format("amqp_capture")
            .options(stateLocation=str(state), closeAfter="0s", fields="method,error")
            .load(str(landing))
        )

        def run() -> None:
            query = (
                stream.writeStream.format("noop")
                .option("checkpointLocation", str(Path(folder, "checkpoint")))
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()

        return files / wall(run)


def _rotation(path: Path, landing: Path) -> int:
    """The beginning of a capture as files of about 1 MB; how many."""
    reader = capture.Reader(path)
    size = min(path.stat().st_size, 100_000_000)
    starts = [reader.first(at) for at in range(0, size, 1 << 20)]
    cuts = [each for each in starts if each is not None]
    with path.open("rb") as file:
        head = file.read(looped.HEADER)
        for number, (start, end) in enumerate(pairwise(cuts)):
            file.seek(start)
            landing.joinpath(f"x{number:04}.pcap").write_bytes(head + file.read(end - start))
    return len(cuts) - 1


ROWS = (
    Row("slowest of 16 ranges / median", 2, 1.3, False, slowest_range),
    Row("index pass, of the speed of copying", 0.15, 0.3, True, index_speed),
    Row("workers=2, times one", 1.7, 1.95, True, two_workers),
    Row("memory of a worker, MB", 300, 200, False, worker_memory),
    Row("S3 on the loopback, 3 columns / local", 1.3, 1.1, False, s3),
    Row("Spark source, all columns / identity", 1.15, 1.05, False, source_beside_identity),
    Row("streaming, files of 1 MB a second", 20, 50, True, streamed),
)


def main() -> int:
    """Exit status: 0, or 1 for a missed gate with --check."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--megabytes", type=float, default=100, help="of the capture")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", default="", help="only those whose name has this text")
    parser.add_argument("--check", action="store_true", help="exit status 1 if a gate is missed")
    parser.add_argument("--json", action="store_true", help="print values alone")
    options = parser.parse_args()
    missed, found = 0, {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "hot.pcap")
        write_capture(path, int(options.megabytes * 1e6))
        for row in ROWS:
            if options.rows not in row.name:
                continue
            try:
                found[row.name] = value = row.measure(path, options.rounds)
            except Absent as reason:
                print(f"{row.name:40} not measured: {reason}", file=sys.stderr)
                continue
            missed += not row.passes(value)
            if not options.json:
                said = "" if row.passes(value) else "  missed"
                print(f"{row.name:40} {value:8.2f}  gate {row.gate:g}, goal {row.goal:g}{said}")
                sys.stdout.flush()
    if options.json:
        print(json.dumps(found))
    if session.cache_info().currsize:
        session().stop()
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
