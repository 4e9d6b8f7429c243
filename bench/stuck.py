"""What a process that passed its limit was doing: all its stacks, and the broker's side of it.

The process calls `listen` when it starts; whoever waits for it calls `say`. Windows has no SIGUSR1:
there the broker's state is all that is told.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

BROKER = Path(__file__).resolve().parents[1] / "scripts" / "broker.py"
ASKED = (
    ("list_connections", "name", "state", "channels", "recv_oct", "send_oct", "send_pend"),
    ("list_channels", "name", "consumer_count", "messages_unacknowledged", "prefetch_count"),
    ("list_queues", "name", "messages_ready", "messages_unacknowledged", "consumers", "state"),
)
SIGNAL = getattr(signal, "SIGUSR1", None)
DUMP_SECONDS = 2.0
BROKER_SECONDS = 60.0


def listen(file: IO[Any] | None = None) -> None:
    """Have this process write all its threads' stacks to a file (standard error) on SIGUSR1."""
    if SIGNAL is not None:
        faulthandler.register(SIGNAL, file=file or sys.stderr, all_threads=True)


def ask(pid: int) -> None:
    """Have a process that listens write its stacks, and give it the time for it."""
    if SIGNAL is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, SIGNAL)
            time.sleep(DUMP_SECONDS)


def broker_state() -> str:
    """The broker's connections, channels and queues, or why they cannot be told."""
    texts = []
    for arguments in ASKED:
        command = [sys.executable, str(BROKER), "ctl", "--", *arguments]
        try:
            process = subprocess.run(
                command, capture_output=True, text=True, timeout=BROKER_SECONDS
            )
        except subprocess.TimeoutExpired:
            texts.append(f"{arguments[0]}: no answer in {BROKER_SECONDS:.0f} s")
            continue
        texts.append(process.stdout.strip() or f"{arguments[0]}: {process.stderr.strip()[-500:]}")
    return "\n".join(texts)


class StuckError(Exception):
    """A process passed its limit; the text has its stacks and the broker's state."""


def run(command: list[str], seconds: float) -> tuple[int, str, str]:
    """The exit status and both outputs of a command that listens.

    Raises:
        StuckError: it took longer; it was ended.
    """
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            out, error_output = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            ask(process.pid)
            state = broker_state()
            process.kill()
            _, error_output = process.communicate()
            raise StuckError(
                f"not done in {seconds:.0f} s\n--- stacks\n{error_output}\n--- broker\n{state}"
            ) from None
        return process.returncode, out, error_output
