"""A thread writes to the memory of Arrow arrays while encode and decode read them without the GIL.

Each buffer ends at a page without access: where a number is checked, changed and then used, the
process ends by a signal.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.columns.changing import CASES
from tests.paths import REPO
from tests.support.guarded import POSIX_ONLY

pytestmark = POSIX_ONLY


@pytest.mark.parametrize(
    ("prefix", "seconds"),
    [
        ("encode 0-9-1 ", 0.1),
        ("encode 1.0 ", 0.1),
        ("decode 0-9-1 ", 0.1),
        ("decode 1.0 ", 0.1),
        # where the window is wide
        ("encode 0-9-1 offsets", 1.0),
        ("decode 0-9-1 bytes frame", 2.0),
    ],
)
def test_nothing_beyond_the_buffers_is_read(prefix: str, seconds: float) -> None:
    run = subprocess.run(
        [
            sys.executable,
            "-X",
            "faulthandler",
            "-m",
            "tests.columns.changing",
            prefix,
            str(seconds),
        ],
        cwd=REPO,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-200:] + run.stderr[:2000]
    lines = run.stdout.splitlines()
    assert len(lines) == sum(name.startswith(prefix) for name in CASES)
    for line in lines:
        calls = [int(number) for number in line.rpartition(":")[2].split()]
        assert sum(calls) > 0, line
