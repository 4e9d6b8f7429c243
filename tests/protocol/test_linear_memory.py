"""No construct costs more than its size: instructions, counted by valgrind, over doubled sizes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path

import pytest

import amqpcodec
from tests.protocol.linear import CONSTRUCTS

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


@cache
def instructions(construct: str, parts: int) -> int:
    source = str(Path(amqpcodec.__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH", "")]))
    path += os.pathsep + sysconfig.get_path("platlib")  # of lxml: -S leaves it out
    counted = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, "-S",
         str(PROGRAM), construct, str(parts)],
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0", "PYTHONMALLOC": "malloc"},
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )  # fmt: skip
    found = re.search(r"Collected *: *(\d+)", counted.stderr)
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_twice_the_parts_cost_about_twice(construct: str) -> None:
    start = instructions(construct, 8)
    once = instructions(construct, PARTS) - start
    twice = instructions(construct, 2 * PARTS) - start
    assert once > 100 * PARTS
    assert twice / once < MOST
