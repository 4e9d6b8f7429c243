"""Two answers to the same bytes: where they differ, and whether that is known."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any


@dataclass(frozen=True)
class Refused:
    """Instead of a value: the error that it was."""

    text: str


@dataclass(frozen=True)
class Difference:
    """One place of the answers to a case, such as "fields.2", or "" for all of them."""

    path: str
    ours: Any
    theirs: Any
    case: bytes = b""


#: Why a difference is there -> whether it is this one. The first that holds names it.
Known = Mapping[str, Callable[[Difference], bool]]


@dataclass(frozen=True)
class Peer:
    """Another implementation, and what is asked of it.

    Args:
        name: what the command line calls it.
        make: a case, out of a generator that its seed begins.
        ours: what amqpcodec makes of a case.
        theirs: what the peer makes of many cases, in their order.
        known_differences: the differences that docs/reference/differences.md judges.
    """

    name: str
    make: Callable[[Random], bytes]
    ours: Callable[[bytes], Any]
    theirs: Callable[[list[bytes]], Iterable[Any]]
    known_differences: Known


@dataclass
class Result:
    """What came of the cases of one peer."""

    name: str
    cases: int = 0
    agreed: int = 0
    known_counts: Counter[str] = field(default_factory=Counter)
    new: list[tuple[int, Difference]] = field(default_factory=list)
    seconds: float = 0.0

    def line(self) -> str:
        """All of it in one line."""
        reasons = ", ".join(
            f"{reason} {count:,}" for reason, count in self.known_counts.most_common()
        )
        return (
            f"{self.name:<12}{self.cases:>11,} cases {self.agreed:>11,} agreed "
            f"{self.cases - self.agreed - len(self.new):>9,} known {len(self.new):>6,} new "
            f"{self.seconds:>6.0f} s" + (f"  ({reasons})" if reasons else "")
        )


def outcome(read: Callable[[bytes], Any], data: bytes) -> Any:
    """What was read, or the error; where the peer is missing, that is raised."""
    try:
        return read(data)
    except ImportError:
        raise
    except Exception as error:
        return Refused(f"{type(error).__name__}: {error}"[:200])


def differences(ours: Any, theirs: Any, path: str = "") -> Iterator[Difference]:
    """Places where two answers differ; True is not 1, and a NaN is a NaN."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in {**ours, **theirs}:
            place = f"{path}.{key}" if path else str(key)
            if key in ours and key in theirs:
                yield from differences(ours[key], theirs[key], place)
            else:
                yield Difference(place, ours.get(key, "absent"), theirs.get(key, "absent"))
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(one, other, f"{path}.{index}" if path else str(index))
    elif type(ours) is not type(theirs) or ours != theirs:
        both_nan = isinstance(ours, float) and isinstance(theirs, float) and math.isnan(ours)
        if not (both_nan and math.isnan(theirs)):
            yield Difference(path, ours, theirs)


def compare(peer: Peer, cases: int, seed: int = 0, most: int = 20, batch: int = 1000) -> Result:
    """Ask both the same; the same seed asks the same. Ends early at `most` new differences."""
    result = Result(peer.name)
    begin = time.monotonic()
    for start in range(seed, seed + cases, batch):
        seeds = range(start, min(start + batch, seed + cases))
        questions = [peer.make(Random(case_seed)) for case_seed in seeds]
        for number, data, theirs in zip(seeds, questions, peer.theirs(questions), strict=True):
            judge(peer, result, number, data, theirs)
        if len(result.new) >= most:
            break
    result.seconds = time.monotonic() - begin
    return result


def judge(peer: Peer, result: Result, number: int, data: bytes, theirs: Any) -> None:
    """Count one case: agreed, known by its reasons, or new."""
    result.cases += 1
    ours = outcome(peer.ours, data)
    if isinstance(ours, Refused) and isinstance(theirs, Refused):
        result.agreed += 1
        return
    reasons = set()
    for difference in differences(ours, theirs):
        difference = replace(difference, case=data)
        reason = next(
            (why for why, holds in peer.known_differences.items() if holds(difference)), None
        )
        if reason is None:
            result.new.append((number, difference))
            return
        reasons.add(reason)
    result.known_counts.update(reasons)
    result.agreed += not reasons
