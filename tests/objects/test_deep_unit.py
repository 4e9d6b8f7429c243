"""Objects in objects in objects: a named error, and never an overflow of the stack."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import amqpcodec
from amqpcodec import v0_9_1 as amqp
from amqpcodec import v1_0

PROGRAM = Path(__file__).with_name("deep_objects.py")

#: What a use of something far too deep may end with.
FINE = {"", "RecursionError", "EncodeError", "DepthError", "TypeError", "AttributeError"}
FINE |= {"ValidationError"}


@pytest.mark.untraced
@pytest.mark.skipif(not hasattr(os, "fork"), reason="each use has a fork of its own")
def test_no_use_of_a_long_chain_overflows_the_stack() -> None:
    source = str(Path(amqpcodec.__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH", "")]))
    process = subprocess.run(
        [sys.executable, str(PROGRAM)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    ends = json.loads(process.stdout)
    unusual = {
        f"{name}: {use}": end
        for name, uses in ends.items()
        for use, end in uses.items()
        if end not in FINE
    }
    assert unusual == {}
    assert {uses["del"] for uses in ends.values()} == {""}
    assert ends["method"]["repr"] == ends["1.0 message"]["repr"] == ""
    assert ends["method"]["=="] == "RecursionError"


def test_repr_of_a_cycle_ends() -> None:
    frame = amqp.Basic.Publish()
    frame.exchange = [frame]
    assert repr(frame) == "Basic.Publish(exchange=[Basic.Publish(...)])"
    message = v1_0.Message(value=None)
    message.value = {"m": message}
    assert repr(message) == "Message(value={'m': Message(...)})"
    value = v1_0.AmqpValue()
    value.value = value
    assert repr(value) == "AmqpValue(value=AmqpValue(...))"


def test_repr_shows_a_bounded_number_of_levels() -> None:
    frame = amqp.Basic.Publish("innermost")
    for _ in range(31):
        frame = amqp.Basic.Publish(frame)
    assert "innermost" in repr(frame)
    assert "innermost" not in repr(amqp.Basic.Publish(frame))
    assert "Basic.Publish(...)" in repr(amqp.Basic.Publish(frame))
