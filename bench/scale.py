"""``python -m bench.scale``: large captures, in ranges, on Spark, from S3 and by several threads.

The capture is generated: mixed traffic on many connections, and one connection that carries half of
it. Each row has a gate and a goal; what cannot be measured here says why. Wall time counts in the
rows on threads, S3 and streaming, so let nothing else run; ``--megabytes 2000`` is the size that
the gates are meant for.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import itertools
import json
import multiprocessing
import os
import re
import resource
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import cycle, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from amqpcodec import capture
from amqpcodec import v0_9_1 as amqp
from amqpcodec.capture.planning import Part, apply_outlines, make_outline
from bench import workloads
from bench.capture import RECORDINGS
from bench.spark import cpu_seconds
from scripts import looped

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

RANGES = 16
SHARE = 4  # of its range an outline has at most so much, as for index_captures
SEGMENT = 1448
SYN, ACK = 2, 16
READY = 8  # batches of the identity: mixed traffic, and the hot connection's
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


def record(
    micros: int, ports: tuple[int, int], numbers: tuple[int, int], data: bytes, flags: int = ACK
) -> bytes:
    """A record of a packet of TCP.

    micros: since 1970. ports: of its sender and receiver. numbers: of its sequence, and of what it
    acknowledges.
    """
    hosts = b"\x0a\x09\x09\1", b"\x0a\x09\x09\2"
    sender, receiver = hosts if ports[1] == 5672 else reversed(hosts)
    size = 20 + 20 + len(data)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, size, 0, 0, 64, 6, 0) + sender + receiver
    tcp = struct.pack(">HHIIBBHHH", *ports, *numbers, 0x50, flags, 65535, 0, 0)
    packet = b"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0" + ip + tcp + data
    seconds, rest = divmod(micros, 1_000_000)
    return struct.pack("<IIII", seconds, rest, len(packet), len(packet)) + packet


def talk(number: int) -> Iterator[tuple[bool, bytes]]:
    """What a connection says, a packet each: whether the client does, and the bytes."""
    c, b, queue = amqp.Connection, amqp.Basic, f"queue-{number % 20}"
    properties = {"connection_name": f"service-{number % 50}"}
    yield True, amqp.PROTOCOL_HEADER
    yield False, amqp.encode(0, c.Start(mechanisms=b"PLAIN", locales=b"en_US"))
    yield True, amqp.encode(0, c.StartOk(properties, mechanism="PLAIN", response=b"\0guest\0guest"))
    yield False, amqp.encode(0, c.Tune(frame_max=131072, heartbeat=60))
    yield True, amqp.encode(0, c.TuneOk(frame_max=131072, heartbeat=60))
    yield True, amqp.encode(0, c.Open(virtual_host="/"))
    yield False, amqp.encode(0, c.OpenOk())
    yield True, amqp.encode(1, amqp.Channel.Open())
    yield False, amqp.encode(1, amqp.Channel.OpenOk())
    yield True, amqp.encode(1, b.Consume(queue=queue, consumer_tag="worker"))
    yield False, amqp.encode(1, b.ConsumeOk(consumer_tag="worker"))
    for tag in itertools.count(1):
        deliver = b.Deliver(consumer_tag="worker", delivery_tag=tag, routing_key=queue)
        message_id = b.Properties(message_id=f"{number}-{tag}")
        yield False, amqp.encode_message(1, deliver, message_id, b"body")
        yield True, amqp.encode(1, b.Ack(delivery_tag=tag))


def many(connections: int, packets: int) -> Iterator[bytes]:
    """Records of connections that are open at a time, each with so many packets, in turns."""
    talks = [talk(number) for number in range(connections)]
    places = [[1, 1] for _ in talks]
    micros = 1_700_000_000_000_000
    for number in range(connections):
        yield record(micros, (2000 + number, 5672), (0, 0), b"", SYN)
        yield record(micros, (5672, 2000 + number), (0, 1), b"", SYN | ACK)
    for _ in range(packets):
        for number, said in enumerate(talks):
            by_client, data = next(said)
            ports = (2000 + number, 5672) if by_client else (5672, 2000 + number)
            numbers = places[number][by_client], places[number][not by_client]
            yield record(micros, ports, numbers, data)
            places[number][by_client] += len(data)
            micros += 100


def hot(records: int, second: int, seconds: int) -> Iterator[bytes]:
    """Packets of one connection, so many at once, over and over: W1's frames.

    second: since 1970, in which the first of them were captured; each round is `seconds` later.
    """
    stream = b"".join(frame for group in workloads.get("W1").groups for frame in group)
    sequence, at = 1, 0
    while True:
        out = []
        for number in range(records):
            part = (stream[at : at + SEGMENT] + stream)[:SEGMENT]
            at = (at + SEGMENT) % len(stream)
            micros = second * 1_000_000 + number * 1_000_000 // records
            out.append(record(micros, (40000, 5672), (sequence, 1), part))
            sequence = (sequence + SEGMENT) & 0xFFFFFFFF
        yield b"".join(out)
        second += seconds


def write_capture(path: Path, raw: int) -> None:
    """Mixed traffic and one connection with half of all bytes."""
    recording = next(file_path for file_path in RECORDINGS if file_path.exists())
    looped.write(recording, path, 1)  # one round: its header and its size
    round_size = path.stat().st_size
    content = path.read_bytes()
    records = looped.packets(content)
    first, last = looped.second(records[0]), looped.second(records[-1])
    seconds = last - first + 2  # of the last one the packets of the hot connection are
    mixed = looped.rounds(records, 1, seconds)
    hot_packets = hot(max(1, round_size // (16 + 54 + SEGMENT)), last + 1, seconds)
    written = looped.HEADER
    with path.open("wb") as file:
        file.write(content[: looped.HEADER])
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


def outlines_followed(path: Path, rounds: int) -> float:
    """Time of the index pass by that of following outlines, as index_captures does.

    Tasks make the outlines, so that their time is not counted. A range whose outline is too large,
    or cannot be followed, is read.
    """
    ranges, _ = index(path)
    stops = [stop for _, stop in ranges if stop is not None]
    parts = [Part(0, start, stop) for start, stop in pairwise([0, *stops])]
    step = stops[0]

    def reader(state: bytes | None = None) -> capture.Reader:
        result = capture.Reader(path, fields=["error"], order="none")
        if state is not None:
            result.resume(state)
        return result

    outlines = [make_outline(reader(), part, step // SHARE) for part in parts]

    def follow() -> float:
        start = time.process_time()
        states: list[bytes | None] = [None]
        for part, outline in zip(parts, outlines, strict=True):
            follower = reader(states[-1])
            if outline is None or not apply_outlines(follower, [(part, outline)]):
                follower = reader(states[-1])
                for _ in follower.read(part.stop):
                    pass
            states.append(follower.state())
        spent = time.process_time() - start
        assert states == [state for state, _ in ranges]
        return spent

    return statistics.median(index(path)[1] / follow() for _ in range(rounds))


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
    # ru_maxrss would be that of the parent, where it is larger: Linux keeps it over exec.
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1024


#: The command line, which says at its end how many kB it had at most. pyarrow would import pandas
#: and numpy, 45 MB, which the extra "cli" does not install.
MEASURED = """
import re, sys
sys.modules.update(pandas=None, numpy=None)
from amqpcodec.cli.main import main
main(sys.argv[1:])
print(*re.findall(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read()), file=sys.stderr)
"""


def live_memory(path: Path, rounds: int) -> float:
    """MB at most of a command that looks at 10,000 connections as they go on."""
    words = [sys.executable, "-c", MEASURED, "unacked", "-", "--format", "json"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, **pipes) as command:
        with command.stdin as pipe:
            pipe.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
            for one in many(10_000, 60):
                pipe.write(one)
        return int(command.stderr.read().split()[-1]) / 1024


def s3(path: Path, rounds: int) -> float:
    """Wall time of three columns from S3 on the loopback by that of the local file."""
    try:
        from pyarrow import fs
    except ImportError as problem:
        raise Absent(str(problem)) from None
    from bench.s3_files import server

    with server(path.parent.parent) as address:
        store = fs.S3FileSystem(
            access_key="anybody", secret_key="anything", region="us-east-1",
            endpoint_override=address,
        )  # fmt: skip
        uri = f"s3://{path.parent.name}/{path.name}"
        assert count(uri, fields=THREE, filesystem=store) == count(path, fields=THREE)
        return statistics.median(
            wall(lambda: count(uri, fields=THREE, filesystem=store))
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
    spark = demo_spark.local_session("bench")
    amqp.register(spark)
    return spark


def captures_beside_identity(path: Path, rounds: int) -> float:
    """read_captures by the identity."""
    from amqpcodec.spark import read_captures

    return beside_identity(read_captures(session(), str(path), {"fields": "*"}), path, rounds)


def format_beside_identity(path: Path, rounds: int) -> float:
    """The format by the identity: Spark's plan copies each row of a Python source once more."""
    frames = session().read.format("amqp_capture").option("fields", "*").load(str(path))
    return beside_identity(frames, path, rounds)


def beside_identity(frames: DataFrame, path: Path, rounds: int) -> float:
    """CPU time of all columns to the noop sink, by that of handing the same ones over.

    The identity has the first batches ready, and hands them over again and again.
    """
    import pyarrow as pa

    spark = session()
    names, rows = frames.columns, count(path)
    from amqpcodec.spark.planning.rows import BATCH_ROWS

    def hand_over(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        reader = capture.read(path, fields=names, batch_rows=BATCH_ROWS)
        ready = [pa.record_batch(batch) for batch in islice(reader, READY)]
        remaining_rows = rows
        for batch in cycle(ready):
            yield batch.slice(0, remaining_rows)
            remaining_rows -= batch.num_rows
            if remaining_rows <= 0:
                break

    identity = spark.range(1, numPartitions=1).mapInArrow(hand_over, frames.schema)
    return spent_by(frames, identity, rounds)


def events_by_messages(path: Path, rounds: int) -> float:
    """read_captures of events by that of messages, both to all columns."""
    from amqpcodec.spark import read_captures

    events, messages = (
        read_captures(session(), str(path), {"level": level, "fields": "*"})
        for level in ("event", "message")
    )
    return spent_by(events, messages, rounds)


def spent_by(one: DataFrame, other: DataFrame, rounds: int) -> float:
    """CPU time of writing one to the noop sink, by that of the other."""
    jvm = session().sparkContext._gateway.proc.pid

    def spent(frame: DataFrame) -> float:
        before = cpu_seconds(jvm)
        frame.write.format("noop").mode("overwrite").save()
        return cpu_seconds(jvm) - before

    for _ in range(2):
        spent(one), spent(other)
    return statistics.median(spent(one) / spent(other) for _ in range(rounds))


def command_seconds(words: list[str], rounds: int) -> float:
    """CPU seconds of a whole command, its start included: the median."""
    seconds = []
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        # 1: it read all, and the capture has an error of AMQP in it.
        if subprocess.run(words, capture_output=True, check=False).returncode not in (0, 1):
            raise Absent(f"{' '.join(words)} failed")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(seconds)


def question_seconds(name: str, path: Path, rounds: int) -> float:
    """CPU seconds of one of our commands."""
    for module in ("duckdb", "rich"):
        if importlib.util.find_spec(module) is None:
            raise Absent(f"{module} is not installed")
    return command_seconds([sys.executable, "-c", MEASURED, name, str(path)], rounds)


def command_by_stats(name: str, path: Path, rounds: int) -> float:
    """CPU time of a command that answers a question, by that of ``amqpcodec stats``."""
    return question_seconds(name, path, rounds) / question_seconds("stats", path, rounds)


#: What a script reads with tshark to answer a question: these of all frames, and what it adds.
TSHARK_FIELDS = (
    *("frame.time_epoch", "tcp.stream", "amqp.channel", "amqp.method.class"),
    *("amqp.method.method", "amqp.method.arguments.delivery_tag", "amqp.method.arguments.multiple"),
)
CONSUMER, QUEUE, REDELIVERED = (
    f"amqp.method.arguments.{name}" for name in ("consumer_tag", "queue", "redelivered")
)
ROUTE = ("amqp.method.arguments.exchange", "amqp.method.arguments.routing_key")
MESSAGE = "amqp.method.properties.message_id"
TSHARK_MORE = {
    "unacked": (CONSUMER, QUEUE, REDELIVERED),
    "latency": (CONSUMER, *ROUTE, REDELIVERED, MESSAGE),
    "queues": (CONSUMER, QUEUE, *ROUTE, REDELIVERED, MESSAGE),
    "top": ROUTE,
}


def tshark_by_command(name: str, path: Path, rounds: int) -> float:
    """CPU time of tshark, which only prints what the question needs, by that of the command."""
    if shutil.which("tshark") is None:
        raise Absent("tshark is not installed (Debian: tshark)")
    command = ["tshark", "-r", str(path), "-Y", "amqp", "-T", "fields"]
    for field in (*TSHARK_FIELDS, *TSHARK_MORE[name]):
        command += ["-e", field]
    return command_seconds(command, 1) / question_seconds(name, path, rounds)


def streamed(path: Path, rounds: int) -> float:
    """Files of 1 MB a second through a stream, of one rotation; a first query warms Spark up."""
    with tempfile.TemporaryDirectory() as folder:
        files = _rotation(path, Path(folder, "landing"))
        Path(folder, "first").mkdir()
        Path(folder, "first", files[0].name).write_bytes(files[0].read_bytes())
        _stream(Path(folder, "first"))
        return len(files) / wall(lambda: _stream(files[0].parent))


def _stream(landing: Path) -> None:
    """Read all files of a folder by a query that ends after them."""
    with tempfile.TemporaryDirectory() as folder:
        stream = (
            session()
            .readStream.format("amqp_capture")
            .options(stateLocation=str(Path(folder, "states")), closeAfter="0s")
            .options(fields="method,error")
            .load(str(landing))
        )
        query = (
            stream.writeStream.format("noop")
            .option("checkpointLocation", str(Path(folder, "checkpoint")))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()


def _rotation(path: Path, landing: Path) -> list[Path]:
    """The beginning of a capture as files of about 1 MB."""
    landing.mkdir()
    reader = capture.Reader(path)
    size = min(path.stat().st_size, 400_000_000)
    starts = [reader.first_record(at) for at in range(0, size, 1 << 20)]
    cuts = [start_offset for start_offset in starts if start_offset is not None]
    paths = []
    with path.open("rb") as file:
        head = file.read(looped.HEADER)
        for number, (start, end) in enumerate(pairwise(cuts)):
            file.seek(start)
            paths.append(landing / f"x{number:04}.pcap")
            paths[-1].write_bytes(head + file.read(end - start))
    return paths


ROWS = (
    Row("slowest of 16 ranges / median", 2, 1.3, False, slowest_range),
    Row("index pass, of the speed of copying", 0.15, 0.3, True, index_speed),
    Row("index pass / following outlines", 5, 10, True, outlines_followed),
    Row("workers=2, times one", 1.7, 1.95, True, two_workers),
    Row("memory of a worker, MB", 300, 200, False, worker_memory),
    Row("10,000 connections live, MB", 300, 150, False, live_memory),
    Row("S3 on the loopback, 3 columns / local", 1.3, 1.1, False, s3),
    Row("Spark, all columns / identity", 1.15, 1.05, False, captures_beside_identity),
    Row("Spark's format, all columns / identity", 1.15, 1.05, False, format_beside_identity),
    Row("Spark, events / messages, all columns", 1.3, 1.1, False, events_by_messages),
    Row("streaming, files of 1 MB a second", 20, 50, True, streamed),
    *(
        Row(f"{name} / stats", 3, 1.5, False, functools.partial(command_by_stats, name))
        for name in TSHARK_MORE
    ),
    *(
        Row(f"tshark / {name}", 20, 50, True, functools.partial(tshark_by_command, name))
        for name in TSHARK_MORE
    ),
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
    missed, values = 0, {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "hot.pcap")
        write_capture(path, int(options.megabytes * 1e6))
        for row in ROWS:
            if options.rows not in row.name:
                continue
            try:
                values[row.name] = value = row.measure(path, options.rounds)
            except Absent as reason:
                print(f"{row.name:40} not measured: {reason}", file=sys.stderr)
                continue
            missed += not row.passes(value)
            if not options.json:
                suffix = "" if row.passes(value) else "  missed"
                print(f"{row.name:40} {value:8.2f}  gate {row.gate:g}, goal {row.goal:g}{suffix}")
                sys.stdout.flush()
    if options.json:
        print(json.dumps(values))
    if session.cache_info().currsize:
        session().stop()
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
