"""`python -m bench.capture`: capture file to frames against tshark, CPU time on one core.

amqpcodec reads the file to all its columns; tshark, with out-of-order reassembly on, prints five
fields of each frame. Events are timed against messages, both to all columns; `--levels` times
nothing else. The file is a recording of mixed traffic, repeated from other addresses: that of the
shared material where it is there, else the one in demo/. Both find the same frames, which is
checked first.
"""

from __future__ import annotations

import argparse
import json
import operator
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from amqpcodec import capture
from bench.measure import pin
from scripts import looped

REPO = Path(__file__).resolve().parent.parent
RECORDINGS = (
    REPO.parent / "shared" / "captures" / "bench_small.pcap.gz",
    REPO / "demo" / "kombu_celery.pcap.gz",
)
GATE, GOAL = 60, 100
Level = Literal["frame", "message", "event"]
EVENTS_GATE, EVENTS_GOAL = 1.5, 1.1
FIELDS = ("frame.time_epoch", "tcp.stream", "amqp.channel", "amqp.type", "amqp.length")


def run_tshark(path: Path) -> tuple[float, int]:
    """(CPU seconds, frames)."""
    command = ["tshark", "-r", str(path), "-o", "tcp.reassemble_out_of_order:TRUE", "-Y", "amqp"]
    command += ["-T", "fields", *(word for field in FIELDS for word in ("-e", field))]
    before = os.times()
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    after = os.times()
    spent = after.children_user + after.children_system
    spent -= before.children_user + before.children_system
    types = (line.split("\t")[3] for line in process.stdout.splitlines())
    return spent, sum(len(frame_types.split(",")) for frame_types in types if frame_types)


def run_ours(
    path: Path, fields: list[str] | None = None, level: Level = "frame"
) -> tuple[float, int]:
    """(CPU seconds, rows), to all columns or to some."""
    start = time.process_time()
    rows = sum(map(len, capture.read(path, level=level, fields=fields)))
    return time.process_time() - start, rows


def measure_levels(path: Path, rounds: int) -> Iterator[dict[str, float]]:
    """ns a frame of the file, to messages and to events, round by round."""
    frames = sum(capture.stats(path)["frames"].values())
    levels: dict[str, Level] = {"messages": "message", "events": "event"}
    for level in levels.values():
        run_ours(path, level=level)
    for _ in range(rounds):
        yield {
            name: 1e9 * statistics.median(run_ours(path, level=level)[0] for _ in range(3)) / frames
            for name, level in levels.items()
        }


def measure(path: Path, rounds: int, with_tshark: bool) -> Iterator[dict[str, float]]:
    """ns a frame of each side, round by round."""
    for _ in range(3):
        _, frames = run_ours(path)
    if with_tshark:
        headers = capture.stats(path)["frames"].get("protocol-header", 0)
        _, theirs = run_tshark(path)
        if theirs != frames - headers:  # which it does not know
            raise SystemExit(f"tshark finds {theirs} frames, not {frames - headers}")
    for _ in range(rounds):
        spent = [run_ours(path)[0] for _ in range(3)]
        sample = {"amqpcodec": 1e9 * statistics.median(spent) / frames}
        spent = [
            run_ours(path, ["connection", "timestamp", "method", "frame"])[0] for _ in range(3)
        ]
        sample["four columns"] = 1e9 * statistics.median(spent) / frames
        if with_tshark:
            sample["tshark"] = 1e9 * run_tshark(path)[0] / frames
        yield sample


def main() -> int:
    """Exit status: 0, or 1 for a missed gate with --check."""
    parser = argparse.ArgumentParser(prog="python -m bench.capture", description=__doc__)
    parser.add_argument("--megabytes", type=float, default=45, help="of the file")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true", help="exit status 1 if the gate is missed")
    parser.add_argument("--levels", action="store_true", help="time events and messages alone")
    parser.add_argument("--json", action="store_true", help="print samples alone, ns a frame")
    options = parser.parse_args()
    pin()
    recording = next(path for path in RECORDINGS if path.exists())
    with_tshark = shutil.which("tshark") is not None and not options.levels
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "long.pcap")
        looped.write(recording, path, int(options.megabytes * 1e6))
        levels = list(measure_levels(path, options.rounds))
        samples = [] if options.levels else list(measure(path, options.rounds, with_tshark))
    samples = [*map(operator.or_, samples or [{}] * len(levels), levels)]
    if options.json:
        sides: dict[str, object] = {
            name: [sample[name] for sample in samples] for name in samples[0]
        }
        sides["absent"] = (
            {}
            if with_tshark or options.levels
            else {"tshark": "not installed here (Debian: tshark)"}
        )
        print(json.dumps(sides))
        return 0
    for name in samples[0]:
        rate = 1e3 / statistics.median(sample[name] for sample in samples)
        print(f"{name:12} {rate:7.3f} million frames/s of CPU time ({recording.name}, repeated)")
    events = statistics.median(sample["events"] / sample["messages"] for sample in samples)
    print(f"events: {events:.2f} times messages (gate {EVENTS_GATE}, goal {EVENTS_GOAL})")
    missed = options.check and events > EVENTS_GATE
    if options.levels:
        return int(missed)
    if not with_tshark:
        print("no tshark here (Debian: tshark) to compare with")
        return 1 if options.check else 0
    ratio = statistics.median(sample["tshark"] / sample["amqpcodec"] for sample in samples)
    print(f"{ratio:.1f} times tshark (gate {GATE}, goal {GOAL})")
    return int(missed or (options.check and ratio < GATE))


if __name__ == "__main__":
    sys.exit(main())
