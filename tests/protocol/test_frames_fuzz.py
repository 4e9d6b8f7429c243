"""The fuzzer for some seconds from a fixed seed, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.protocol import fuzz as run

SECONDS = os.environ.get("AMQPCODEC_FUZZ_SECONDS", "4")


def test_fuzz() -> None:
    """A separate process, so that a segmentation fault is a failure and not the end."""
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.protocol.fuzz", "--trace"]
    process = subprocess.run(
        [*command, "--seed", "20240501", "--seconds", SECONDS],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
        timeout=float(SECONDS) + 60,
    )
    assert process.returncode == 0, process.stderr[-4000:]
    assert int(process.stdout.split()[0]) > 20


def test_fuzzer_reaches_every_kind_of_result() -> None:
    """A fuzzer that only meets unknown methods would pass for ever."""
    rounds, counts = run.fuzz(30, 1, 400)
    assert rounds == 400
    for name in ("Header", "Body", "Heartbeat", "ProtocolHeader", "Deliver", "need more"):
        assert counts[name], name
    for name in ("TruncatedError", "FrameEndError", "UnknownMethodError", "TrailingError",
                 "UnknownTagError", "HeaderError", "FrameTypeError"):  # fmt: skip
        assert counts[name], name
