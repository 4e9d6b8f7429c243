"""No construct costs more than its size: instructions, counted by valgrind, over doubled sizes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import amqpcodec
from tests.protocol.linear import CONSTRUCTS, QUADRATIC

PROGRAM = Path(__file__).with_name("linear.py")
PARTS = 2_000

#: What twice the parts may cost: growing dicts and lists jump, a quadratic step would give 4.
MOST = 2.6

pytestmark = [
    pytest.mark.skipif(
        not os.environ.get("AMQPCODEC_INSTRUCTIONS"),
        reason="set AMQPCODEC_INSTRUCTIONS to count instructions, which takes minutes",
    ),
    pytest.mark.skipif(
        shutil.which("valgrind") is None,
        reason="instructions are counted by valgrind, which is not here",
    ),
]

Counter = Callable[[str, int], int]


@contextmanager
def counter(log: Path, program: Path = PROGRAM) -> Iterator[Counter]:
    """A function that counts the instructions of a construct of so many parts.

    One valgrind runs them all, each in a process of its own; log: what valgrind prints.
    """
    source = str(Path(amqpcodec.__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH", "")]))
    path += os.pathsep + sysconfig.get_path("platlib")  # of lxml: -S leaves it out
    with subprocess.Popen(
        # cachegrind without its caches counts as callgrind does, in half the time.
        ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
         f"--log-file={log}", sys.executable, "-S", str(program)],
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0", "PYTHONMALLOC": "malloc"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:  # fmt: skip
        assert server.stdin is not None
        assert server.stdout is not None
        requests, answers = server.stdin, server.stdout

        def count(construct: str, parts: int) -> int:
            print(parts, construct, file=requests, flush=True)
            answer = answers.readline()
            assert answer, f"valgrind ended: {log.read_text()[-2000:]}"
            process, status = answer.split()
            assert status == "0", f"{construct} of {parts} parts ended with status {status}"
            line = re.search(rf"^=={process}== I +refs: +([\d,]+)", log.read_text(), re.MULTILINE)
            assert line is not None
            return int(line[1].replace(",", ""))

        yield count


@pytest.fixture(scope="module")
def count(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Counter]:
    with counter(tmp_path_factory.mktemp("linear") / "log") as function:
        yield function


def growth(count: Counter, construct: str) -> float:
    """How many times as much twice the parts cost."""
    start = count(construct, 8)
    once = count(construct, PARTS) - start
    twice = count(construct, 2 * PARTS) - start
    assert once > 100 * PARTS
    return twice / once


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_twice_the_parts_cost_about_twice(construct: str, count: Counter) -> None:
    # Trees of ranges have random shapes: one count of hundreds is above, and the next one is not.
    assert any(growth(count, construct) < MOST for _ in range(3))


@pytest.mark.parametrize("construct", QUADRATIC)
def test_a_step_for_each_pair_is_found(construct: str, count: Counter) -> None:
    assert growth(count, construct) > MOST
