"""`python -m bench.instructions`: how many instructions each row of amqpcodec takes a frame.

    python -m bench.instructions                      against the counts in bench/instructions.json
    python -m bench.instructions --against COMMIT     against a build of that commit, on any machine
    python -m bench.instructions --write              writes the counts of this machine

valgrind counts; a count is the same whatever else the machine does. It depends on the Python, the
compiler and the processor's kind, which is why the file has counts for each: where it has none for
those here, the command says so and ends with 0. Exit status 1 if a row takes more than 3 % more.

A copy is counted by the instructions of a loop (glibc's, see `COPY_LOOPS`): where the processor has
an instruction that copies by itself, valgrind counts one for each byte, and a row that copies much
tells of nothing else.

It depends a little on where objects lie, too. CPython finds attributes of classes in a table by
addresses, where two share a slot or not: up to 8 % of a row that makes objects of Python. A page of
small objects is given back when the last of them goes, which may be in every frame: up to 4 %. A
row above its limit is therefore counted in other layouts of memory, and the least counts.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import random
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Container, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench import apart, peers, v1, v1_columns, workloads
from bench.dropins import OPERATIONS, PEERS
from bench.targets import ROWS, cells
from bench.work import Absent, Work, WrongResultError
from scripts import looped

REPO = Path(__file__).resolve().parent.parent
COUNTS = Path(__file__).with_suffix(".json")

#: What a row may take more, as a share.
MORE = 0.03

#: In the environment: glibc copies and fills memory in loops.
COPY_LOOPS = ":".join(
    f"glibc.cpu.x86_rep_{name}_threshold={2**62:#x}" for name in ("movsb", "stosb")
)

#: Passes over a workload in the two processes whose difference is counted.
FEW, MANY = 2, 4

#: Layouts of memory in which a row above its limit is counted before it fails: seeds of hashes and
#: of how many small objects of each size stand in memory, of those that fit into a page at most.
LAYOUTS = range(5)
PAGE_BYTES = 16_384

#: Calls of a row of methods or of AMQP 1.0 in a pass, and frames of the columns of 1.0.
CALLS, V1_FRAMES = 100, 2_000

#: Rows whose input lies in 65 MiB of memory take one block of it here: a count knows no cache.
BLOCKS, BATCH_REPEATS = 1, 5

#: Bytes of the capture that is read, and how: options of `capture.read` by row.
CAPTURE_BYTES = 1_000_000
CAPTURES: dict[str, dict[str, Any]] = {
    "frames": {"level": "frame"},
    "frames, four columns": {
        "level": "frame",
        "fields": ["connection", "timestamp", "method", "frame"],
    },
    "messages": {"level": "message"},
    "events": {"level": "event"},
    "events, six columns": {
        "level": "event",
        "fields": ["connection", "time_us", "event", "queue", "answers", "elapsed_us"],
    },
}
V1_PORT = {"ports": (5680,)}
V1_CAPTURES: dict[str, dict[str, Any]] = {
    "messages, 1.0": {"level": "message", **V1_PORT},
    "events, 1.0": {"level": "event", **V1_PORT},
}
#: Recordings, and the rows of each.
RECORDINGS = {
    "demo/kombu_celery.pcap.gz": CAPTURES,
    "tests/capture/recordings/amqp10_rabbit.pcap.gz": V1_CAPTURES,
}


def platform_key() -> str:
    """What counts depend on: Python, compiler, processor."""
    compiler = sysconfig.get_config_var("CC").split()[0]
    version = subprocess.run([compiler, "-dumpfullversion"], capture_output=True, text=True)
    return " ".join(
        [
            platform.python_implementation(),
            platform.python_version(),
            compiler,
            version.stdout.strip(),
            platform.machine(),
        ]
    )


# ---------------------------------------------------------------- under valgrind


def rows() -> Iterator[tuple[str, Work]]:
    """Name and work of each row: of the tables of 0-x and 1.0, where amqpcodec is, and drop-ins."""
    workloads.BLOCKS, workloads.BATCH_REPEATS = BLOCKS, BATCH_REPEATS
    workloads.REPEATS = workloads.BLOCK_REPEATS * BLOCKS
    for cell in cells(ROWS):
        peer, operation, workload = cell
        if peer.startswith("amqpcodec") and not apart.is_apart(cell):
            yield " ".join(cell), peers.get(peer).work(operation, workloads.get(workload))
    yield from method_rows()
    for client, module in PEERS.items():
        yield from _drop_in_rows(client, module)
    yield from v1_rows()
    yield from v1_column_rows()
    yield from capture_rows()


def method_rows() -> Iterator[tuple[str, Work]]:
    """Methods beside each message, whose shapes have readers and writers of their own."""
    from amqpcodec import v0_9_1 as amqp

    key = "events", "eu.customer.0042"
    methods = [
        amqp.Basic.Publish(*key, True),
        amqp.Basic.Deliver("ctag-7", 2**33, True, *key),
        amqp.Basic.GetOk(2**33, False, *key, 70_000),
        amqp.Basic.Return(312, "NO_ROUTE", *key),
        amqp.Basic.Ack(2**33, True),
        amqp.Basic.Nack(2**33, True, False),
        amqp.Basic.Reject(2**33, True),
    ]
    frames = [amqp.encode(1, method) for method in methods]

    def decode() -> None:
        for frame in frames * CALLS:
            amqp.decode(frame)

    def encode() -> None:
        for method in methods * CALLS:
            amqp.encode(1, method)

    def check() -> None:
        for frame, method in zip(frames, methods, strict=True):
            if (found := amqp.decode(frame)) is None or found[2] != method:
                raise WrongResultError(f"{frame!r} is not {method!r}: {found}")

    yield "basic methods decode", Work(decode, len(methods) * CALLS, check)
    yield "basic methods encode", Work(encode, len(methods) * CALLS, check)


def _drop_in_rows(client: str, module: str) -> Iterator[tuple[str, Work]]:
    from importlib import import_module

    from amqpcodec.compat import drop_in

    try:
        drop_in(client).install()
    except ImportError:
        return
    peer = import_module(f"bench.peers.{module}").PEER()
    for operation in OPERATIONS:
        yield f"drop-in {client} {operation} W1", peer.work(operation, workloads.get("W1"))


def v1_rows() -> Iterator[tuple[str, Work]]:
    """The rows of `bench.v1`."""
    expected = v1.expected_results()
    work = v1.ours()
    drop_in_rows = [row for row in work if row.startswith("drop-in")]
    if drop_in_rows:
        stock = v1.azure_work()
        expected |= {row: _Text(stock[row]()) for row in drop_in_rows}
    for row, act in work.items():
        if row in v1.MESSAGES:  # encode_columns has compared what it encodes
            yield f"1.0 {row}", Work(act, v1.MESSAGES[row], lambda: None)
            continue

        def run(act: Callable[[], object] = act) -> None:
            for _ in range(CALLS):
                act()

        def check(
            row: str = row, act: Callable[[], object] = act, result: object = expected[row]
        ) -> None:
            if act() != result:
                raise WrongResultError(f"{row}: {act()}\nis not {result}")

        yield f"1.0 {row}", Work(run, CALLS, check)


class _Text:
    """A result of a client, whose classes do not compare: it equals what has the same text."""

    def __init__(self, result: object) -> None:
        self.text = self._of(result)

    def _of(self, result: object) -> str:
        if isinstance(result, (memoryview, bytearray)):
            return repr(bytes(result))
        if type(result) in (list, tuple):
            return f"[{', '.join(map(self._of, result))}]"
        return repr(result)

    def __eq__(self, other: object) -> bool:
        return self.text == self._of(other)

    def __repr__(self) -> str:
        return self.text


def v1_column_rows() -> Iterator[tuple[str, Work]]:
    """The rows of `bench.v1_columns`."""
    try:
        from amqpcodec import batch
    except ImportError:
        return
    source = random.Random(10)
    streams = {
        "transfers": v1_columns.transfers(source, V1_FRAMES),
        "performatives": v1_columns.performatives(source, V1_FRAMES),
    }
    for row, (name, level, fields, _gate, _goal) in v1_columns.ROWS.items():
        act = partial(batch.decode, streams[name], "1.0", level, fields)

        def check(row: str = row, act: Callable[[], Any] = act) -> None:
            if len(act()) != V1_FRAMES:
                raise WrongResultError(f"{row}: {len(act())} rows of {V1_FRAMES} frames")

        yield f"1.0 {row}", Work(act, V1_FRAMES, check)


def capture_rows() -> Iterator[tuple[str, Work]]:
    """Recordings, repeated from other addresses: each level, all and some columns."""
    try:
        from amqpcodec import capture
    except ImportError:
        return
    with tempfile.TemporaryDirectory() as folder:
        for name, captures in RECORDINGS.items():
            path = Path(folder, Path(name).stem)
            looped.write(REPO / name, path, CAPTURE_BYTES)
            ports = next(iter(captures.values())).get("ports", (5672,))
            frames = sum(capture.stats(path, ports=ports)["frames"].values())
            for row, options in captures.items():

                def run(path: Path = path, options: dict[str, Any] = options) -> None:
                    for _ in capture.read(path, **options):
                        pass

                def check(
                    row: str = row,
                    path: Path = path,
                    frames: int = frames,
                    options: dict[str, Any] = options,
                ) -> None:
                    found = sum(map(len, capture.read(path, **options)))
                    if found != frames if options["level"] == "frame" else not 0 < found < frames:
                        raise WrongResultError(f"{row}: {found} rows of {frames} frames")

                yield f"capture {row}", Work(run, frames, check)


def fill_memory(layout: int) -> list[bytes]:
    """Small objects of each size that CPython keeps in pages; the first layout has none."""
    numbers = random.Random(layout)
    return [
        bytes(size)
        for size in range(1, 512 - sys.getsizeof(b""), 16)
        for _ in range(numbers.randrange(PAGE_BYTES // sys.getsizeof(bytes(size))) if layout else 0)
    ]


def serve(layout: int, chosen: Container[str]) -> None:
    """Run each row twice, in processes of their own; print process, row, passes and frames.

    Without a choice all rows run.

    What stands in memory before a row is frozen. A full garbage collection walks all of it, and
    into which of the two processes one falls depends on every object made before.
    """
    for name, work in rows():
        if chosen and name not in chosen:
            continue
        work.check()
        work.run()
        for passes in (FEW, MANY):
            process = os.fork()
            if not process:
                _standing = fill_memory(layout)
                gc.collect()
                gc.freeze()
                for _ in range(passes):
                    work.run()
                os._exit(0)
            _, status = os.waitpid(process, 0)
            if status:
                raise SystemExit(f"{name}: status {status}")
            print(json.dumps([process, name, passes, work.frames]), flush=True)


# ---------------------------------------------------------------- counting and comparing


def valgrind(log: object) -> list[str]:
    """What stands before a command whose instructions are counted, into this file."""
    return [
        "valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
        f"--log-file={log}",
    ]  # fmt: skip


def environment(layout: int) -> dict[str, str]:
    """Of a process whose instructions are counted, in a layout of memory."""
    return {**os.environ, "PYTHONHASHSEED": str(layout), "GLIBC_TUNABLES": COPY_LOOPS}


def count(source: Path, layout: int = 0, chosen: Iterable[str] = ()) -> dict[str, float]:
    """Instructions a frame, by row, of the package in this folder: of all rows, or those chosen."""
    with tempfile.NamedTemporaryFile("r", suffix=".valgrind") as log:
        served = subprocess.run(
            [*valgrind(log.name), sys.executable, "-m", "bench.instructions",
             "--serve", str(layout), *chosen],
            cwd=REPO,
            env={**environment(layout), "PYTHONPATH": str(source)},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )  # fmt: skip
        lines = re.findall(r"^==(\d+)== I +refs: +([\d,]+)", log.read(), re.MULTILINE)
    totals = {int(process): int(number.replace(",", "")) for process, number in lines}
    counts: dict[str, dict[int, float]] = {}
    for line in served.stdout.splitlines():
        process, name, passes, frames = json.loads(line)
        counts.setdefault(name, {})[passes] = totals[process] / frames
    return {name: (found[MANY] - found[FEW]) / (MANY - FEW) for name, found in counts.items()}


def least(source: Path, before: dict[str, float]) -> dict[str, float]:
    """Counts by row; rows that are new or take more than they may have the least of all layouts."""
    now = count(source, LAYOUTS[0])
    for layout in LAYOUTS[1:]:
        above = [name for name in now if takes_more(before.get(name, 0), now[name])]
        if not above:
            break
        again = count(source, layout, above)
        now |= {name: min(now[name], again[name]) for name in above}
    return now


def takes_more(before: float, now: float) -> bool:
    """Whether a row takes more instructions than it may."""
    return now > before * (1 + MORE)


def build(commit: str) -> Path:
    """The folder of the package as it was at a commit, compiled with this Python."""
    name = subprocess.run(
        ["git", "rev-parse", "--verify", f"{commit}^{{commit}}"],
        cwd=REPO, capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    folder = REPO / ".cache" / "instructions" / f"{name}-{sysconfig.get_config_var('SOABI')}"
    if not list(folder.glob("src/amqpcodec/_dropins_v1*.so")):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        sources = ("setup.py", "pyproject.toml", "README.md", "LICENSE", "spec", "src")
        archive = subprocess.run(
            ["git", "archive", name, *sources], cwd=REPO, capture_output=True, check=True
        )
        subprocess.run(["tar", "-x"], cwd=folder, input=archive.stdout, check=True)
        subprocess.run(
            [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"],
            cwd=folder, check=True,
        )  # fmt: skip
    return folder / "src"


def compare(before: dict[str, float], now: dict[str, float]) -> int:
    """Print both, and how many rows take more than they may or are not there any more."""
    width = max(map(len, now))
    slower = 0
    print(f"{'instructions a frame':{width}}  {'before':>10}  {'now':>10}")
    for name, value in now.items():
        if name not in before:
            print(f"{name:{width}}  {'':>10}  {value:10,.1f}  new")
            continue
        share = value / before[name] - 1
        above = takes_more(before[name], value)
        slower += above
        mark = "  more than it may" if above else ""
        print(f"{name:{width}}  {before[name]:10,.1f}  {value:10,.1f}  {share:+7.1%}{mark}")
    gone = [name for name in before if name not in now]
    for name in gone:
        print(f"{name:{width}}  {before[name]:10,.1f}  {'':>10}  not measured now")
    return slower + len(gone)


def main() -> int:
    """Count, and compare or write."""
    parser = argparse.ArgumentParser(prog="bench.instructions", description=__doc__.split("\n")[0])
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--against", metavar="COMMIT", help="compare with a build of this commit")
    chosen.add_argument("--write", action="store_true", help=f"write {COUNTS.name}")
    chosen.add_argument("--serve", nargs="+", metavar=("LAYOUT", "ROW"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        layout, *chosen = options.serve
        serve(int(layout), chosen)
        return 0
    if shutil.which("valgrind") is None:
        print("instructions are counted by valgrind, which is not here", file=sys.stderr)
        return 2
    known = json.loads(COUNTS.read_text(encoding="utf-8")) if COUNTS.exists() else {}
    key = platform_key()
    if not options.against and not options.write and key not in known:
        print(f"no counts of {key} in {COUNTS.name}: --against COMMIT compares on any machine")
        return 0
    if options.write:
        now = least(REPO / "src", {})
        known[key] = {name: round(value, 1) for name, value in now.items()}
        COUNTS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return 0
    before = least(build(options.against), {}) if options.against else known[key]
    slower = compare(before, least(REPO / "src", before))
    if slower:
        print(
            f"\n{slower} rows take more instructions than they may, or are gone. Where it has to "
            "be, write the counts anew (--write), and say why in the commit."
        )
    return 1 if slower else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Absent as reason:
        sys.exit(f"bench.instructions: {reason}")
