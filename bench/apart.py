"""Rows that a program of its own measures: other processes take part, or the set-up is long.

Such a program prints one JSON object: samples, one list for each side, ns a frame, a figure a
round, rounds side by side; and under "absent" why there are none of a side. Its cells have the
operation that names it.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from bench.targets import Cell
from bench.work import Absent

REPO = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Program:
    """A module to run. sides: peer -> its name in the output. needs: modules, and their source."""

    module: str
    sides: dict[str, str]
    needs: tuple[str, ...]
    hint: str
    quick: tuple[str, ...]
    arguments: tuple[str, ...] = ()


def _drop_in(client: str, operation: str, peer: str) -> Program:
    """A client with its drop-in against the client without."""
    return Program(
        "bench.dropins",
        {"amqpcodec": "drop-in", peer: "stock"},
        (client,),
        f"no {client} here (`make bench` installs it)",
        ("--rounds", "3"),
        (client, "--operation", operation),
    )


PROGRAMS = {
    "spark": Program(
        "bench.spark",
        {"amqpcodec": "decode", "identity": "identity"},
        ("pyspark", "pyarrow"),
        "no pyspark here (`make bench` installs it); then: python -m bench.spark",
        ("--rows", "300000", "--rounds", "5"),
    ),
    "capture": Program(
        "bench.capture",
        {"amqpcodec": "amqpcodec", "tshark": "tshark"},
        (),
        "",
        ("--megabytes", "12", "--rounds", "5"),
    ),
    "events": Program(
        "bench.capture",
        {"amqpcodec": "events", "messages": "messages"},
        (),
        "",
        ("--megabytes", "12", "--rounds", "5"),
        ("--levels",),
    ),
    "threads": Program(
        "bench.threads",
        {"amqpcodec": "two", "one thread": "one"},
        (),
        "",
        ("--rounds", "5"),
    ),
    **{
        f"drop-in {peer} {operation}": _drop_in(client, operation, peer)
        for client, peer in (("pamqp", "pamqp"), ("pika", "pika"), ("amqp", "py-amqp"))
        for operation in ("decode", "encode")
    },
}


def is_apart(cell: Cell) -> bool:
    """Whether a program of its own measures this cell."""
    return cell[1] in PROGRAMS


def run(operation: str, quick: bool) -> tuple[dict[str, list[float]], dict[str, Absent]]:
    """Samples by peer, and the peers that could not be measured.

    Raises:
        Absent: it cannot run here, or it failed; the text says why.
    """
    program = PROGRAMS[operation]
    if any(find_spec(name) is None for name in program.needs):
        raise Absent(program.hint)
    command = [sys.executable, "-m", program.module, "--json", *program.arguments]
    process = subprocess.run(
        [*command, *(program.quick if quick else ())],
        capture_output=True,
        text=True,
        cwd=REPO,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(REPO), *sys.path]))},
        check=False,
    )
    if process.returncode != 0:
        lines = process.stderr.strip().splitlines() or ["it said nothing"]
        raise Absent(f"{' '.join(command[1:3])} failed: {lines[-1]}")
    report = json.loads(process.stdout.splitlines()[-1])
    reasons = report.get("absent", {})
    here = {peer: side for peer, side in program.sides.items() if side not in reasons}
    missing = {
        peer: Absent(reasons[side]) for peer, side in program.sides.items() if side in reasons
    }
    return {peer: report[side] for peer, side in here.items()}, missing
