"""A benchmark's process that passes its limit says where it was, and what the broker saw of it."""

from __future__ import annotations

import sys

import pytest

stuck = pytest.importorskip("bench.stuck", reason="the benchmarks are not there")
pytestmark = pytest.mark.skipif(stuck.SIGNAL is None, reason="no SIGUSR1 here")

WAITS = """
import threading, time
from bench import stuck
stuck.listen()
def waits_for_ever():
    time.sleep(60)
threading.Thread(target=waits_for_ever, daemon=True).start()
def waits_as_well():
    time.sleep(60)
waits_as_well()
"""


def test_stacks_of_all_threads_and_the_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stuck, "broker_state", lambda: "nobody connected")
    with pytest.raises(stuck.StuckError) as caught:
        stuck.run([sys.executable, "-c", WAITS], 3.0)
    text = str(caught.value)
    assert "waits_for_ever" in text
    assert "waits_as_well" in text
    assert text.endswith("--- broker\nnobody connected")


def test_a_broker_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """What rabbitmqctl says instead is told, and nothing is raised."""
    monkeypatch.delenv("AMQPCODEC_BROKER", raising=False)
    monkeypatch.setenv("AMQPCODEC_BROKER_DIR", "/nowhere")
    assert all(name in stuck.broker_state() for name in ("list_connections", "list_queues"))


def test_what_ends_in_time_is_given_back() -> None:
    command = [sys.executable, "-c", "import sys; print(1); print(2, file=sys.stderr); sys.exit(3)"]
    assert stuck.run(command, 30.0) == (3, "1\n", "2\n")
