"""One question to a client, and the comparison of both copies' answers."""

from __future__ import annotations

import importlib
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.dropins.canon import name_of, outcome, shown
from tests.dropins.stock import V1_MODULES, Side, dropin, installed

#: Client -> the module with its cases.
USES = {
    "pamqp": "tests.dropins.use_pamqp",
    "pika": "tests.dropins.use_pika",
    "amqp": "tests.dropins.use_py_amqp",
}
V1_USES = dict.fromkeys(V1_MODULES, "tests.dropins_v1.use_azure")


class UnboundedError(Exception):
    """A stock copy was about to do what has no bound; then any error of the drop-in will do."""


class HangError(UnboundedError):
    """A stock copy did not end: pamqp before 4.0.1 where a word of flags has its last bit set."""


class TooDeepError(UnboundedError):
    """A copy reached Python's recursion limit; a drop-in, whose levels are no frames, may not."""


#: What a stock copy ends with where the drop-in may give any answer.
ANY_ANSWER = (HangError, TooDeepError)

#: Seconds of CPU time that one answer may take.
PATIENCE = 0.1


def _raise_hang(_number: int, _frame: object) -> None:
    raise HangError


@contextmanager
def patience() -> Iterator[None]:
    """Raise HangError in what takes much longer than any answer; where there are such timers."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(
        signal, "setitimer"
    ):
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _raise_hang)
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@dataclass(frozen=True)
class Case:
    """`run` asks one copy; `source` is what the case was made from: bytes, or a seed of values."""

    what: str
    source: Any
    run: Callable[[Side], Any]


@dataclass
class Difference:
    """Two answers that are not the same."""

    seed: int
    case: Case
    stock: tuple[Any, ...]
    live: tuple[Any, ...]

    @property
    def group(self) -> str:
        """Differences with one cause mostly look alike like this."""
        sides = [
            one[1] if one[0] == "raises" else f"value {str(one[1])[:24]}"
            for one in (self.stock, self.live)
        ]
        return f"{self.case.what}: {sides[0]} | {sides[1]}"

    def __str__(self) -> str:
        source = self.case.source
        text = source.hex() if isinstance(source, bytes | bytearray) else repr(source)
        lines = [f"{self.case.what}, seed {self.seed}", f"  given   {text[:1000]}"]
        lines += [f"  stock   {shown(self.stock)}", f"  drop-in {shown(self.live)}"]
        return "\n".join(lines)


@dataclass
class Totals:
    """What a run of many cases gave."""

    cases: int = 0
    raised: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)
    calls: int = 0


def make(package: str, seed: int) -> Case:
    """The case of a seed."""
    use = importlib.import_module((USES | V1_USES)[package])
    random = Random(seed)
    kinds, weights = zip(*use.KINDS, strict=True)
    return random.choices(kinds, weights)[0](random)  # type: ignore[no-any-return]


def compare(case: Case, seed: int, stock: Side, live: Side) -> tuple[tuple[Any, ...], Any]:
    """(what the stock copy gives, the difference or None)."""
    first, second = _answer(case, stock), _answer(case, live)
    if first == second or (first[0] == "raises" and first[1] in map(name_of, ANY_ANSWER)):
        return first, None
    if first[0] == second[0] == "raises" and first[1] == name_of(UnboundedError):
        return first, None
    return first, Difference(seed, case, first, second)


def _answer(case: Case, side: Side) -> tuple[Any, ...]:
    if side.package != "pamqp":
        return outcome(lambda: case.run(side))

    def run() -> Any:
        with patience():
            return case.run(side)

    return outcome(run)


def compare_many(
    sides: tuple[Side, Side],
    cases: int,
    seed: int,
    most: int,
    tell: Callable[[Totals], None] | None = None,
) -> Totals:
    """Compare many cases; stops when so many differed."""
    totals = Totals()
    stock, live = sides
    for number in range(seed, seed + cases):
        case = make(stock.package, number)
        first, difference = compare(case, number, stock, live)
        totals.cases += 1
        if first[0] == "raises":
            totals.raised[first[1]] += 1
        if difference is not None:
            totals.differences.append(difference)
            if len(totals.differences) >= most:
                break
        if tell is not None and totals.cases % 10_000 == 0:
            tell(totals)
    return totals


def run(
    package: str,
    cases: int,
    seed: int,
    most: int = 50,
    tell: Callable[[Totals], None] | None = None,
) -> Totals:
    """Compare many cases with the drop-in installed, and count the calls into it."""
    module = dropin(package)
    with installed(package) as sides:
        before = module.calls()
        totals = compare_many(sides, cases, seed, most, tell)
        totals.calls = module.calls() - before
    return totals
