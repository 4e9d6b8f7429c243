"""States made by one who can compute the checksum: no number in them is believed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.paths import REPO

#: Freed and fresh memory is no memory of zeros, and what was written past an end is found.
CAREFUL = {"PYTHONMALLOC": "debug", "MALLOC_PERTURB_": "165", "PYTHONFAULTHANDLER": "1"}
#: Of about 6,600,000 states: all would take an hour, and `make fuzz` has a target for them.
SHARE = os.environ.get("AMQPCODEC_STATES_SHARE", "0.005")


@pytest.mark.parametrize("seed", range(2))
def test_hostile_states(seed: int):
    process = subprocess.run(
        [sys.executable, "-m", "tests.capture.hostile_states", str(seed), SHARE],
        capture_output=True,
        text=True,
        cwd=REPO,
        env={**os.environ, **CAREFUL},
    )
    assert process.returncode == 0, process.stderr[-3000:]
    states, refused = map(int, process.stdout.split())
    assert states > 30_000
    assert states * 0.3 < refused < states
