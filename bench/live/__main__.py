"""`python -m bench.live`: each client against a live broker, with and without its drop-in.

CPU time of the client's process a message, with and without in turn within one process, each time
over a new connection: the lower quartiles' ratio of each process, then the median of the processes.
`at most` is the gain by a codec that costs nothing, in the same run, and `share` the CPU time that
the drop-in saves as a part of what that codec saves: the verdict goes by it. Where that codec saves
less than the measurement spreads, there is nothing to gain, and no share.
Needs AMQPCODEC_BROKER=HOST:PORT: `make bench-compat`, or scripts/broker.py run -- CMD.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import stuck
from bench.live.clients import ALL, DIRECTIONS
from bench.measure import Spread

#: Of what a free codec saves.
GATE = 0.8
#: Below this part of the CPU time, and below the spread of the ratio, a saving is noise.
NOISE = 0.02
Cell = tuple[str, str]


@dataclass
class Measured:
    """CPU seconds a message of one client and direction: a list for each process."""

    stock: list[list[float]] = field(default_factory=list)
    dropin: list[list[float]] = field(default_factory=list)
    free: list[list[float]] = field(default_factory=list)
    calls: int = 0

    @property
    def gain(self) -> Spread:
        """How many times less CPU with the drop-in: of each process, then over the processes."""
        return self._ratio(self.dropin)

    @property
    def most(self) -> Spread:
        """How many times less CPU with a codec that costs nothing, measured in the same run."""
        return self._ratio(self.free)

    def _ratio(self, others: list[list[float]]) -> Spread:
        both = zip(self.stock, others, strict=True)
        return Spread.of([typical(without) / typical(with_) for without, with_ in both])


def typical(costs: list[float]) -> float:
    """The lower quartile: neighbours on the machine only add to a cost, and do so in phases."""
    return statistics.quantiles(costs, n=4, method="inclusive")[0]


def share(measured: Measured) -> float | None:
    """The CPU time saved, as a part of what a codec that costs nothing saves; None: of nothing."""
    most = measured.most
    saved = 1 - 1 / most.median
    if saved <= max(NOISE, most.percent / 100):
        return None
    return (1 - 1 / measured.gain.median) / saved


def verdict(part: float | None) -> str:
    """Of a share."""
    return "nothing to gain" if part is None else "pass" if part >= GATE else "FAIL"


def details(measured: Measured) -> dict[str, Any]:
    """Everything measured, and what is shown of it: microseconds a message, ratios."""
    return {
        **vars(measured),
        "stock_us": 1e6 * statistics.median(map(typical, measured.stock)),
        "dropin_us": 1e6 * statistics.median(map(typical, measured.dropin)),
        "gain": measured.gain.median,
        "most": measured.most.median,
        "share": share(measured),
    }


class UnmeasuredError(Exception):
    """A program ended with an error."""


def once(where: tuple[str, int], cell: Cell, options: argparse.Namespace) -> Any:
    """Some measurements in a process of their own."""
    command = [sys.executable, "-m", "bench.live.worker", where[0], str(where[1]), *cell]
    command += ["--count", str(options.count), "--pairs", str(options.pairs)]
    if options.core is not None:
        command += ["--core", str(options.core)]
    status, out, error_output = stuck.run(command, options.seconds)
    if status:
        raise UnmeasuredError(error_output[-2000:])
    return json.loads(out.splitlines()[-1])


def measure(where: tuple[str, int], cells: list[Cell], options: argparse.Namespace) -> Any:
    """Measure all cells, round by round. stderr names one that fails; the table lacks it."""
    results = {cell: Measured() for cell in cells}
    for number in range(options.rounds):
        for cell in list(results):
            try:
                report, measured = once(where, cell, options), results[cell]
            except (UnmeasuredError, stuck.StuckError) as error:
                print(f"bench: not measured: {' '.join(cell)}: {error}", file=sys.stderr)
                del results[cell]
                continue
            measured.stock.append(report["stock"])
            measured.dropin.append(report["dropin"])
            measured.free.append(report["free"])
            measured.calls += report["calls"]
            text = f"round {number + 1} of {options.rounds}: {' '.join(cell)}"
            print(f"bench: {text}", file=sys.stderr, flush=True)
    return results


HEAD = (
    "client",
    "direction",
    "stock µs",
    "drop-in µs",
    "gain",
    "at most",
    "share",
    "verdict",
)


def rows(results: dict[Cell, Measured]) -> list[tuple[str, ...]]:
    """The table as text."""
    text_rows = []
    for cell, measured in results.items():
        gain, part = measured.gain, share(measured)
        text_rows.append(
            (
                *cell,
                f"{1e6 * statistics.median(map(typical, measured.stock)):.1f}",
                f"{1e6 * statistics.median(map(typical, measured.dropin)):.1f}",
                f"{gain.median:.2f}× ±{gain.percent:.0f}%",
                f"{measured.most.median:.2f}× ±{measured.most.percent:.0f}%",
                "" if part is None else f"{100 * part:.0f} %",
                verdict(part),
            )
        )
    return text_rows


def show(results: dict[Cell, Measured], options: argparse.Namespace, seconds: float) -> None:
    """For a terminal with rich, otherwise Markdown."""
    caption = (
        f"CPU time of the client's process a message (256 bytes, 5 headers, 5 properties), "
        f"{options.rounds} processes, {options.pairs} times {options.count:,} messages with and "
        f"without in turn in each; took {seconds:.0f} s, load average {os.getloadavg()[0]:.1f}"
    )
    if options.markdown or not sys.stdout.isatty():
        print("| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD))
        for row in rows(results):
            print("| " + " | ".join(row) + " |")
        print(f"\n{caption}")
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title="End to end, against a live broker", title_justify="left")
    for number, name in enumerate(HEAD):
        table.add_column(name, justify="left" if number in (0, 1, len(HEAD) - 1) else "right")
    for row in rows(results):
        table.add_row(*row, style="red" if row[-1] == "FAIL" else None)
    console = Console()
    console.print(table)
    console.print(caption, style="dim", highlight=False)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.live", description=__doc__)
    parser.add_argument("--clients", nargs="+", default=[client.name for client in ALL])
    parser.add_argument("--ways", nargs="+", choices=DIRECTIONS, default=list(DIRECTIONS))
    parser.add_argument(
        "--count",
        type=int,
        default=3000,
        help="messages a measurement (a tenth where the client sleeps between them)",
    )
    parser.add_argument("--pairs", type=int, default=8, help="measurements a process, each way")
    parser.add_argument("--rounds", type=int, default=5, help="processes for each")
    parser.add_argument("--seconds", type=float, default=300, help="limit of one process")
    parser.add_argument("--core", type=int, help="the core for the client (default: any)")
    parser.add_argument("--markdown", action="store_true", help="Markdown, on a terminal too")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write everything measured")
    parser.add_argument("--check", action="store_true", help="exit status 1 if a gate is missed")
    options = parser.parse_args()
    if min(options.rounds, options.pairs) < 2:
        parser.error("quartiles need two rounds of two pairs at least")
    return options


def main() -> int:
    """Exit status: 0, 1 for a missed gate with --check or a failure, 2 without a broker."""
    options = arguments()
    address = os.environ.get("AMQPCODEC_BROKER")
    if not address:
        print("AMQPCODEC_BROKER is not set: make bench-compat", file=sys.stderr)
        return 2
    host, _, port = address.rpartition(":")
    begin = time.monotonic()
    kinds = {kind.name: kind for kind in ALL}
    cells = [
        (name, way)
        for name in options.clients
        for way in options.ways
        if way in kinds[name].directions
    ]
    results = measure((host, int(port)), cells, options)
    show(results, options, time.monotonic() - begin)
    if options.json:
        report = {"programs": {" ".join(cell): details(one) for cell, one in results.items()}}
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    idle = [" ".join(cell) for cell, measured in results.items() if not measured.calls]
    if idle:
        print(f"the compiled codec was never called: {', '.join(idle)}", file=sys.stderr)
        return 1
    missed = any(verdict(share(measured)) == "FAIL" for measured in results.values())
    return 1 if len(results) < len(cells) or (options.check and missed) else 0


if __name__ == "__main__":
    sys.exit(main())
