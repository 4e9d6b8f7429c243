"""`python -m bench.soak pika --messages 1000000`: a long run of one client with its drop-in.

A process publishes with confirms, another one consumes and acknowledges, both with the drop-in.
Bodies of 0 bytes to 1 MB (mostly small), unusual headers. Every message is checked: its number (so
no loss, no reordering, no duplicate), its body to the last byte, its properties and headers. The
memory of both processes has to stay flat. Needs AMQPCODEC_BROKER=HOST:PORT
(scripts/broker.py run -- CMD). Exit status 0, or 1 where something does not hold.
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from bench import stuck
from bench.soak_clients import ALL, Session

WINDOW = 1000  # messages on their way at most
SAMPLES = 200
GROWTH_MB = 12.0  # bodies of 1 MB come and go: the heap breathes
STALL_SECONDS = 60.0


def resident_mb() -> float:
    """Memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 2**20


class Progress:
    """Counters that both processes see, and this one's memory along the way."""

    def __init__(self, total: int, own: Any, other: Any) -> None:
        self.total, self.own, self.other = total, own, other
        self.memory: list[float] = []
        self.step = max(1, total // SAMPLES)

    def count(self) -> None:
        """One more message."""
        self.own.value += 1
        if self.own.value % self.step == 0:
            self.memory.append(resident_mb())

    def ahead(self) -> int:
        """How many more this side has done than the other one."""
        return int(self.own.value - self.other.value)

    @property
    def growth(self) -> float:
        """How much more memory the last quarter needed than the second one."""
        size = len(self.memory) // 4
        if not size:
            return 0.0
        early, late = self.memory[size : 2 * size], self.memory[-size:]
        return statistics.median(late) - statistics.median(early)


def side(way: str, client: str, where: tuple[str, int], total: int, own: Any, other: Any) -> None:
    """One process; prints what it found as JSON."""
    import amqpcodec

    stuck.listen()

    session: Session = ALL[client](*where)
    amqpcodec.install(session.dropin)
    progress = Progress(total, own, other)
    problem = ""
    begin = time.process_time()
    try:
        if way == "publish":
            session.publish(total, progress)
        else:
            session.consume(total, progress)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    calls = importlib.import_module(f"amqpcodec.compat.{session.dropin}").calls()
    report = {
        "way": way,
        "messages": own.value,
        "cpu": time.process_time() - begin,
        "calls": calls,
        "memory": [round(megabytes, 1) for megabytes in progress.memory],
        "growth": progress.growth,
        "problem": problem,
    }
    own.value = own.value if not problem else -1
    Path(os.environ["AMQPCODEC_SOAK"], way).write_text(json.dumps(report))


def soak(client: str, where: tuple[str, int], total: int, folder: str) -> list[str]:
    """Run both sides; what does not hold."""
    os.environ["AMQPCODEC_SOAK"] = folder
    context = multiprocessing.get_context("spawn")
    published, consumed = context.Value("q", 0), context.Value("q", 0)
    ALL[client](*where).prepare()
    begin = time.monotonic()
    processes = [
        context.Process(target=side, args=("consume", client, where, total, consumed, published)),
        context.Process(target=side, args=("publish", client, where, total, published, consumed)),
    ]
    for process in processes:
        process.start()
    last, moved = (0, 0), time.monotonic()
    stalled = False
    while any(process.is_alive() for process in processes):
        time.sleep(0.5)
        now = (published.value, consumed.value)
        if now != last:
            last, moved = now, time.monotonic()
        rate = max(now) / (time.monotonic() - begin)
        if sys.stderr.isatty():
            text = (
                f"{client}: published {now[0]:,}, consumed {now[1]:,} of {total:,}, {rate:,.0f}/s"
            )
            print(f"\r{text} ", end="", file=sys.stderr, flush=True)
        stalled = time.monotonic() - moved > STALL_SECONDS
        if stalled:
            for process in processes:
                print(f"\n{client}: stacks of process {process.pid}", file=sys.stderr, flush=True)
                stuck.ask(process.pid or 0)
            print(f"{client}: broker\n{stuck.broker_state()}", file=sys.stderr, flush=True)
        if stalled or -1 in now:
            break
    for process in processes:
        process.join(10)
        if process.is_alive():
            process.terminate()
            process.join(10)
    seconds = time.monotonic() - begin
    problems = [f"nothing moved for {STALL_SECONDS} s at {last}"] if stalled else []
    for way in ("publish", "consume"):
        path = Path(folder, way)
        if not path.exists():
            problems.append(f"{way}: the process ended without a word")
            continue
        report = json.loads(path.read_text())
        memory = report["memory"]
        span = f"{min(memory):.0f} to {max(memory):.0f} MB" if memory else "not sampled"
        print(
            f"{client} {way}: {report['messages']:,} messages in {seconds:.0f} s, CPU "
            f"{1e6 * report['cpu'] / max(1, report['messages']):.0f} µs each, "
            f"{report['calls']:,} calls into the compiled codec, memory {span}, "
            f"growth {report['growth']:+.1f} MB"
        )
        if report["problem"]:
            problems.append(f"{way}: {report['problem']}")
        elif report["messages"] != total:
            problems.append(f"{way}: {report['messages']} messages of {total}")
        if report["growth"] > GROWTH_MB:
            problems.append(f"{way}: memory grew by {report['growth']:.1f} MB: {memory}")
        if report["calls"] < total:
            problems.append(f"{way}: only {report['calls']} calls into the compiled codec")
    return problems


def main() -> int:
    """Exit status: 0, 1 if something does not hold, 2 without a broker."""
    import tempfile

    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("clients", nargs="+", choices=list(ALL))
    parser.add_argument("--messages", type=int, default=1_000_000)
    options = parser.parse_args()
    address = os.environ.get("AMQPCODEC_BROKER")
    if not address:
        print("AMQPCODEC_BROKER is not set: use scripts/broker.py run -- CMD", file=sys.stderr)
        return 2
    host, _, port = address.rpartition(":")
    bad = False
    for client in options.clients:
        with tempfile.TemporaryDirectory(prefix="amqpcodec-soak-") as folder:
            for problem in soak(client, (host, int(port)), options.messages, folder):
                print(f"{client}: {problem}")
                bad = True
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
