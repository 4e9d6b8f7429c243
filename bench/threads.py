"""`python -m bench.threads`: batch.decode of W1 by two threads on two cores against one on one.

The same 65 MiB of blocks, some times over, to the full table. Two threads take half of the blocks
each; what they do is not divided any further, and to start them on their cores, a few hundred µs,
is next to nothing of a run. Time is wall time, of which neighbours on the machine take their share:
a round is the best of some runs of either side, which take turns.
"""

import argparse
import json
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator

from bench import workloads
from bench.measure import settle_heap

SIDES = {"one": 1, "two": 2}
PASSES = 8  # over the blocks, a run
RUNS = 3  # of which the best counts


def cores() -> list[int]:
    """Two cores that may be used, or fewer; where the system cannot tell, none."""
    if not hasattr(os, "sched_setaffinity"):
        return []
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    return sorted(os.sched_getaffinity(0))[-2:]


def sides(core_numbers: list[int]) -> dict[str, Callable[[], None]]:
    """What either side runs, blocks cut beforehand."""
    from amqpcodec import batch

    blocks = workloads.memory_blocks("W1")
    decode = batch.decode

    def work(core: int, mine: list[memoryview]) -> None:
        os.sched_setaffinity(0, {core})  # of this thread
        for block in mine * PASSES:
            decode(block).__arrow_c_array__()

    def run(count: int) -> Callable[[], None]:
        def all_threads() -> None:
            threads = [
                threading.Thread(target=work, args=(core, blocks[index::count]))
                for index, core in enumerate(core_numbers[:count])
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        return all_threads

    return {side: run(count) for side, count in SIDES.items()}


def measure(rounds: int) -> Iterator[dict[str, float]]:
    """ns a frame of both sides, round by round."""
    runs = sides(cores())
    frames = workloads.get("W1").frames * workloads.REPEATS * PASSES
    settle_heap()
    for run in runs.values():
        run()
    for _ in range(rounds):
        best = dict.fromkeys(runs, float("inf"))
        for _ in range(RUNS):
            for side, run in runs.items():
                start = time.perf_counter_ns()
                run()
                best[side] = min(best[side], (time.perf_counter_ns() - start) / frames)
        yield best


def main() -> int:
    """Exit status 0, or 2 where there are not two cores."""
    parser = argparse.ArgumentParser(prog="python -m bench.threads", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true", help="print samples alone, ns a frame")
    options = parser.parse_args()
    if len(cores()) < 2:
        print("two cores are needed", file=sys.stderr)
        return 2
    rounds = list(measure(options.rounds))
    if options.json:
        print(json.dumps({side: [times[side] for times in rounds] for side in SIDES}))
        return 0
    one, two = (statistics.median(times[side] for times in rounds) for side in SIDES)
    ratio = statistics.median(times["one"] / times["two"] for times in rounds)
    best = min(times["one"] for times in rounds) / min(times["two"] for times in rounds)
    print(
        f"one: {one:.1f} ns a frame, two: {two:.1f}: {ratio:.2f}×; of the best of all {best:.2f}×"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
