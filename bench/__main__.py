"""`python -m bench`: measure amqpcodec and its peers in one run and print the ratio table."""

import argparse
import json
import re
import sys
from pathlib import Path

from bench import report
from bench.collect import collect
from bench.measure import FULL, QUICK, Timings
from bench.targets import ROWS, cells


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a rough look, half a minute")
    parser.add_argument("--rows", metavar="PATTERN", default="", help="rows whose name matches")
    parser.add_argument("--markdown", action="store_true", help="Markdown, on a terminal too")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write everything measured")
    parser.add_argument("--core", type=int, help="the core to stay on (default: the last one)")
    parser.add_argument("--check", action="store_true", help="exit status 1 if a gate is missed")
    parser.add_argument("--list", action="store_true", help="name the rows and stop")
    return parser.parse_args()


def main() -> int:
    """Exit status: 0, 1 for a missed gate with --check, 2 for a pattern that no row matches."""
    options = _arguments()
    pattern = re.compile(options.rows, re.IGNORECASE)
    rows = [row for row in ROWS if pattern.search(row.what)]
    if not rows:
        print(f"no row matches {options.rows!r}", file=sys.stderr)
        return 2
    if options.list:
        print("\n".join(row.what for row in rows))
        return 0
    plan = QUICK if options.quick else FULL
    gathered = collect(cells(rows), plan, options.core)
    timings, absent = Timings(gathered.samples), gathered.absent
    result_lines = report.lines(rows, timings)
    about = report.environment(gathered.core, gathered.build, timings)
    if options.markdown or not sys.stdout.isatty():
        print(report.markdown(result_lines, timings, about, absent), end="")
    else:
        report.terminal(result_lines, timings, about, absent)
    if options.json:
        text = json.dumps(report.as_json(result_lines, timings, about, absent), indent=1)
        options.json.write_text(text + "\n", encoding="utf-8")
    return 1 if options.check and report.failed(result_lines) else 0


if __name__ == "__main__":
    sys.exit(main())
