"""``python -m bench.cluster``: how long a day of captures takes on a cluster, simulated.

Tasks are given to cores in order, as Spark does. A task's time is its bytes at the measured speed
of a core, times the skew of ranges (lognormal, so that the slowest of 16 is about 1.25 times the
median, as measured), and sometimes that of a straggler; a task fails with some probability at a
random point and is tried again. What the speeds are measured with: docs/scale.md.
"""

from __future__ import annotations

import argparse
import heapq
import random
from dataclasses import dataclass

#: MB a second of a core, measured on the generated 2 GB capture: to what, and how fast.
SPEEDS = {
    "counting (index pass)": 1700,
    "3 columns, grouped": 1160,
    "all columns to Parquet or a join": 190,
}
OVERHEAD = 0.03  # seconds that starting a task takes


@dataclass(frozen=True)
class Cluster:
    """Cores, and what disturbs them."""

    cores: int
    spread: float = 0.125
    stragglers: float = 0.01
    slowdown: float = 4
    failures: float = 0.001


def makespan(tasks: list[float], cluster: Cluster, rng: random.Random) -> float:
    """Seconds until the last of the tasks has ended. tasks: seconds of each on an idle core."""
    free = [0.0] * cluster.cores
    heapq.heapify(free)
    last = 0.0
    for seconds in tasks:
        start = heapq.heappop(free)
        spent = seconds * rng.lognormvariate(0, cluster.spread) + OVERHEAD
        if rng.random() < cluster.stragglers:
            spent *= cluster.slowdown
        while rng.random() < cluster.failures:
            start += spent * rng.random()
        end = start + spent
        last = max(last, end)
        heapq.heappush(free, end)
    return last


def split(total: float, size: float, range_size: float) -> list[float]:
    """MB of each task of files of a size that are cut into ranges."""
    files = max(1, round(total / size))
    cuts = max(1, round(size / range_size))
    return [size / cuts] * (files * cuts)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.cluster", description=__doc__)
    parser.add_argument("--terabytes", type=float, default=10)
    parser.add_argument("--dollars", type=float, default=0.05, help="of a core, an hour")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    total = options.terabytes * 1e6
    print("what                              cores  range MB    tasks  minutes  of ideal  $ a TB")
    for what, speed in SPEEDS.items():
        for cores in (16, 64, 256):
            for size in (128, 1000, 100_000):
                tasks = [megabytes / speed for megabytes in split(total, max(size, 1000), size)]
                cluster = Cluster(cores)
                seconds = makespan(tasks, cluster, random.Random(options.seed))
                ideal = sum(tasks) / cores
                cost = seconds * cores / 3600 * options.dollars / options.terabytes
                print(
                    f"{what:32} {cores:6} {size:9} {len(tasks):8} {seconds / 60:8.1f}"
                    f" {ideal / seconds:9.2f} {cost:7.3f}"
                )


if __name__ == "__main__":
    main()
