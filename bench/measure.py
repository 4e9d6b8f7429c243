"""CPU time of many cells, in turn, round by round.

Time is the CPU time of the process (`time.process_time_ns`), so neighbours on the machine cost no
time, though they still cost cache and memory bandwidth. Every round times every cell once; a ratio
is taken within a round and the median over the rounds counts, so that a clock that drifts moves
both sides. The garbage collector is on, with its default thresholds, as users have it.
"""

import gc
import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.targets import Against, Cell
from bench.work import Work

clock = time.process_time_ns
MIN_ROUNDS = 5


@dataclass(frozen=True)
class Plan:
    """How long to measure: processes, and for each its rounds and (wall) seconds at most."""

    sample_ns: int
    processes: int
    rounds: int
    seconds: float


FULL = Plan(sample_ns=25_000_000, processes=5, rounds=11, seconds=40)
QUICK = Plan(sample_ns=6_000_000, processes=2, rounds=7, seconds=12)


@dataclass(frozen=True)
class Spread:
    """The median of some samples and the quartiles round it."""

    median: float
    low: float
    high: float

    @property
    def percent(self) -> float:
        """Half the distance of the quartiles, of the median."""
        return 50 * (self.high - self.low) / self.median

    @classmethod
    def of(cls, samples: Sequence[float]) -> "Spread":
        """The spread of at least two samples."""
        low, median, high = statistics.quantiles(samples, n=4, method="inclusive")
        return cls(median, low, high)


class Timings:
    """Samples of each cell, ns a frame, one a round."""

    def __init__(self, samples: dict[Cell, list[float]]) -> None:
        self.samples = samples

    @property
    def rounds(self) -> int:
        """How many rounds there were."""
        return len(next(iter(self.samples.values()), []))

    def cell(self, cell: Cell) -> Spread:
        """Time a frame, ns."""
        return Spread.of(self.samples[cell])

    def ratio(self, ours: Cell, against: Against) -> Spread:
        """How many times faster we are; for `at_most` our time over theirs."""
        pairs = zip(self.samples[ours], self.samples[against.cell], strict=True)
        if against.at_most:
            return Spread.of([mine / theirs for mine, theirs in pairs])
        return Spread.of([theirs / mine for mine, theirs in pairs])


def pin(core: int | None = None) -> int | None:
    """Keep this process on one core, where the system can; the core, or None."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    allowed = os.sched_getaffinity(0)
    core = max(allowed) if core is None else core
    os.sched_setaffinity(0, {core})
    return core


def settle_heap() -> None:
    """Bring malloc to where a process is that once held a large buffer.

    glibc raises its thresholds when a large block is freed. Until then a body of 64 KiB at the top
    of the heap may cost page faults on every message, or not, by chance of layout: the same codec
    takes twice as long in one run as in the next.
    """
    bytes(31 * 1024 * 1024)  # made and freed at once


def _loops(work: Work, sample_ns: int) -> int:
    """How often to run the work for one sample; warms it up on the way."""
    work.run()
    loops = 1
    while True:
        took = _sample(work, loops) * work.frames * loops
        if took >= sample_ns / 4:
            return max(1, round(loops * sample_ns / took))
        loops *= 2 if took < sample_ns / 16 else 4


def _sample(work: Work, loops: int) -> float:
    run = work.run
    start = clock()
    for _ in range(loops):
        run()
    return (clock() - start) / (loops * work.frames)


def measure(
    works: dict[Cell, Work],
    plan: Plan,
    progress: Callable[[str], None] = lambda _line: None,
) -> Timings:
    """Time every cell round by round until the plan is done or its seconds are over."""
    assert gc.isenabled()
    settle_heap()
    start = time.perf_counter()
    loops = {}
    for number, (cell, work) in enumerate(works.items(), 1):
        progress(f"warm-up {number} of {len(works)}: {' '.join(cell)}")
        loops[cell] = _loops(work, plan.sample_ns)
    samples: dict[Cell, list[float]] = {cell: [] for cell in works}
    order = list(works)
    longest = 0.0
    for number in range(plan.rounds):
        remaining_seconds = plan.seconds - (time.perf_counter() - start)
        if number >= MIN_ROUNDS and remaining_seconds < longest:
            break
        began = time.perf_counter()
        gc.collect()  # what one round left is not charged to the next
        for index, cell in enumerate(order):
            if index % 8 == 0:
                progress(
                    f"round {number + 1}, {index} of {len(order)}, {remaining_seconds:.0f} s left"
                )
            samples[cell].append(_sample(works[cell], loops[cell]))
        order.reverse()  # who goes first changes, so that no cell always follows the same one
        longest = max(longest, time.perf_counter() - began)
    return Timings(samples)
