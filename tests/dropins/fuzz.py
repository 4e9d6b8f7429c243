"""`python -m tests.dropins.fuzz [PACKAGE ...] --cases 1000000`: stock client against drop-in.

Asks a stock copy of each client and one with the drop-in the same things: generated and damaged
bytes to read, good and wrong values to write. Each must give the same value, exact in types, or
the same exception. Differences are printed by kind, and make the exit status 1.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.dropins.case import USES, V1_USES, Totals, compare, make, run
from tests.dropins.stock import installed


def report(package: str, totals: Totals, seconds: float) -> None:
    """What was done and what differed."""
    rate = totals.cases / seconds if seconds else 0
    print(
        f"{package}: {totals.cases:,} cases in {seconds:.0f} s ({rate:,.0f}/s), "
        f"{totals.raised.total():,} raised, {totals.calls:,} calls into the compiled codec, "
        f"{len(totals.differences)} differences"
    )
    print("  " + ", ".join(f"{kind} {count:,}" for kind, count in totals.raised.most_common(12)))
    groups: dict[str, list[str]] = {}
    for difference in totals.differences:
        groups.setdefault(difference.group, []).append(str(difference))
    for group, texts in sorted(groups.items(), key=lambda item: -len(item[1])):
        print(f"--- {len(texts)} times: {group}")
        print(min(texts, key=len))


def main() -> int:
    """Exit status: 0, 1 for differences or no call into the codec."""
    parser = argparse.ArgumentParser(prog="python -m tests.dropins.fuzz", description=__doc__)
    parser.add_argument("packages", nargs="*", default=[*USES, *V1_USES], metavar="PACKAGE")
    parser.add_argument("--cases", type=int, default=100_000, help="for each client")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--most", type=int, default=200, help="differences to stop at")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    options = parser.parse_args()
    bad = False
    for package in options.packages:
        begin = time.monotonic()

        def tell(totals: Totals, begin: float = begin, package: str = package) -> None:
            rate = totals.cases / (time.monotonic() - begin)
            text = f"{package}: {totals.cases:,} cases, {rate:,.0f}/s, "
            print(f"\r{text}{len(totals.differences)} differ ", end="", file=sys.stderr, flush=True)

        show = tell if sys.stderr.isatty() and not options.quiet else None
        result = run(package, options.cases, options.seed, options.most, show)
        report(package, result, time.monotonic() - begin)
        bad |= bool(result.differences) or not result.calls
    return 1 if bad else 0


def one(package: str, seed: int) -> None:
    """Look at a single case by its seed."""
    with installed(package) as (stock, live):
        _, difference = compare(make(package, seed), seed, stock, live)
        print(difference or "the same")


if __name__ == "__main__":
    sys.exit(main())
