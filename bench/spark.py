"""``python -m bench.spark``: decoding on Spark against an identity that writes the same columns.

Both read the same Parquet file of W1's frames, a frame a row, run as mapInArrow and write 20
columns to Spark's noop sink, which reads every row and keeps none. The identity decodes one batch
of each length and gives it again for every batch: what it costs is Spark's own cost of these
columns. Time is CPU time of the JVM and of all of its workers, rounds alternate, the ratio is taken
within a round and the median over the rounds counts.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import workloads

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

#: 20 columns with what their structs hold: 8 flat ones, and 12 members of the properties.
FLAT = ("frame_type", "channel", "method", "arguments", "body_size", "payload", "offset", "error")
MEMBERS = (
    *("content_type", "content_encoding", "headers", "delivery_mode", "priority"),
    *("correlation_id", "reply_to", "expiration", "message_id", "timestamp", "type", "app_id"),
)
GATE, GOAL = 1.15, 1.05


def write_frames(path: Path, rows: int) -> None:
    """W1's frames over and over, a frame a row."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    groups = workloads.get("W1").groups
    frames = [frame for group in groups for frame in group]
    once = pa.array(frames, pa.binary())
    table = pa.table({"frame": pa.chunked_array([once] * (rows // len(once)))})
    pq.write_table(table.combine_chunks(), path, use_dictionary=False, row_group_size=100_000)


def cpu_seconds(root: int) -> float:
    """CPU time of a process, of its children and of those that they waited for."""
    parents: dict[int, list[int]] = {}
    spent: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            fields = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(entry))
        spent[int(entry)] = sum(int(field) for field in fields[11:15])
    total, pending = 0, [root]
    while pending:
        process = pending.pop()
        total += spent.get(process, 0)
        pending += parents.get(process, [])
    return total / os.sysconf("SC_CLK_TCK")


def schema() -> Any:
    """The 20 columns as a schema."""
    from pyspark.sql.types import StructType

    from amqpcodec.spark.functions.frames import plan_of_batch

    columns = {column.name: column for column in plan_of_batch("0-9-1", "frame", None).schema}
    members = {column.name: column for column in columns["properties"].dataType}
    flat = StructType([columns[name] for name in FLAT])
    return flat.add("properties", StructType([members[name] for name in MEMBERS]))


def decoded(frames: DataFrame) -> DataFrame:
    from amqpcodec import spark as amqp

    return amqp.decode(frames, "frame", fields=schema())


def identity(frames: DataFrame) -> DataFrame:
    from amqpcodec.spark.functions.frames import decode_batches, plan_of_batch

    output_schema = schema()
    plan = plan_of_batch("0-9-1", "frame", output_schema)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        ready: dict[int, pa.RecordBatch] = {}
        for batch in batches:
            if batch.num_rows not in ready:
                [ready[batch.num_rows]] = decode_batches(
                    [batch], plan, [], "0-9-1", "frame", "PERMISSIVE"
                )
            yield ready[batch.num_rows]

    return frames.mapInArrow(run, output_schema)


def measure(spark: SparkSession, path: Path, rounds: int) -> list[dict[str, float]]:
    """CPU seconds of each, round by round."""
    frames = spark.read.parquet(str(path))
    jvm = spark.sparkContext._gateway.proc.pid
    cases: list[tuple[str, Callable[[DataFrame], DataFrame]]] = [
        ("decode", decoded),
        ("identity", identity),
    ]

    def once(case: Callable[[DataFrame], DataFrame]) -> float:
        before = cpu_seconds(jvm)
        case(frames).write.format("noop").mode("overwrite").save()
        return cpu_seconds(jvm) - before

    check(frames)
    for _, case in cases * 3:  # until the JVM has compiled what it runs
        once(case)
    samples = []
    for number in range(rounds):
        order = cases if number % 2 else cases[::-1]
        samples.append({name: once(case) for name, case in order})
    return samples


def check(frames: DataFrame) -> None:
    """What is timed gives the information that it should, in both cases."""
    sums = "count(method), count(payload), sum(body_size), sum(length(properties.headers))"
    columns = [f"{expression} AS s{i}" for i, expression in enumerate(sums.split(", "))]
    one, other = (case(frames).selectExpr(*columns).collect()[0] for case in (decoded, identity))
    third = frames.count() // 3
    if tuple(one)[:3] != (third, third, 100 * third):
        raise SystemExit(f"the decoder gives other values than the workload has: {one}")
    # The identity repeats batches, whose edges may lie elsewhere in a message.
    if any(abs(a - b) > 0.01 * a for a, b in zip(one, other, strict=True)):
        raise SystemExit(f"the identity writes other columns: {other}, not {one}")


def main() -> int:
    """Exit status: 0, or 1 for a missed gate with --check."""
    parser = argparse.ArgumentParser(prog="python -m bench.spark", description=__doc__)
    parser.add_argument("--rows", type=int, default=750_000, help="frames to decode a round")
    parser.add_argument("--rounds", type=int, default=13)
    parser.add_argument("--check", action="store_true", help="exit status 1 if the gate is missed")
    parser.add_argument("--json", action="store_true", help="print samples alone, ns a frame")
    options = parser.parse_args()
    from scripts import demo_spark

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "frames.parquet")
        write_frames(path, options.rows)
        spark = demo_spark.local_session("bench")
        try:
            rows = spark.read.parquet(str(path)).count()
            samples = measure(spark, path, options.rounds)
        finally:
            spark.stop()
    if options.json:
        sides = {name: [1e9 * sample[name] / rows for sample in samples] for name in samples[0]}
        print(json.dumps(sides))
        return 0
    ratio = statistics.median(sample["decode"] / sample["identity"] for sample in samples)
    for name in ("decode", "identity"):
        spent = statistics.median(sample[name] for sample in samples)
        print(f"{name:9} {1e6 * spent / rows:.2f} µs of CPU a row")
    print(f"decode / identity {ratio:.2f} (gate {GATE}, goal {GOAL})")
    return 1 if options.check and ratio > GATE else 0


if __name__ == "__main__":
    sys.exit(main())
