"""Recordings for the command line, made by hand, and ways to call it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import amqpcodec
from amqpcodec import v0_9_1 as amqp
from amqpcodec.cli.main import main
from tests.support import recording as builder

#: Argument bytes end inside of a shortstr: the frame is bad, and the next one is not.
BAD = bytes.fromhex("01 0001 00000006 003c 003c c8 61 ce")
PROPERTIES = amqp.Basic.Properties(headers={"n": 5, "who": "eve"}, content_type="text/plain")


def message(routing_key: str, body: bytes, channel: int = 1) -> bytes:
    method = amqp.Basic.Publish(exchange="orders", routing_key=routing_key)
    return amqp.encode_message(channel, method, PROPERTIES, body)


#: What a client and a server say, in turns.
TALK = [
    ("client", amqp.PROTOCOL_HEADER),
    ("server", amqp.encode(0, amqp.Connection.Tune(heartbeat=60, frame_max=131072))),
    ("client", amqp.encode(0, amqp.Connection.TuneOk(heartbeat=60, frame_max=131072))),
    ("client", amqp.encode(1, amqp.Channel.Open())),
    ("client", message("eu.de", b"first") + message("us", b"\x00\xff\x1b[2J", 2)),
    ("server", amqp.encode(1, amqp.Basic.Ack(delivery_tag=1))),
    ("client", amqp.encode(0, amqp.Heartbeat())),
]


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """12 frames, nothing wrong."""
    path = tmp_path / "good.pcap"
    path.write_bytes(builder.pcap(builder.dialogue(TALK)))
    return path


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    """The same with a bad frame behind the first four."""
    path = tmp_path / "bad.pcap"
    path.write_bytes(builder.pcap(builder.dialogue([*TALK[:4], ("client", BAD), *TALK[4:]])))
    return path


@pytest.fixture
def truncated_file(good: Path) -> Path:
    """Its last packet ends in the middle."""
    path = good.with_name("cut.pcap")
    path.write_bytes(good.read_bytes()[:-5])
    return path


class Result(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """The command line in this process."""

    def call(*arguments: object) -> Result:
        status = main([str(argument) for argument in arguments])
        return Result(status, *capfd.readouterr())

    return call


@pytest.fixture
def query(run: Callable[..., Result]) -> Callable[..., list[dict]]:
    """The rows of an answer; all commands end with 0 and say at most where they stopped reading."""

    def ask(*arguments: object) -> list[dict]:
        result = run(*arguments, "--format", "json")
        lines = result.err.splitlines()
        unexpected = [line for line in lines if not line.endswith(" was reached)")]
        assert (result.status, unexpected) == (0, [])
        return [json.loads(line) for line in result.lines]

    return ask


def environment() -> dict[str, str]:
    source = str(Path(amqpcodec.__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH", "")]))
    variables = {
        key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")
    }
    return {**variables, "PYTHONPATH": path, "TERM": "xterm-256color"}


def started(*arguments: object, **more) -> subprocess.Popen:
    """The command line in a process of its own."""
    words = [sys.executable, "-m", "amqpcodec", *map(str, arguments)]
    return subprocess.Popen(words, env=environment(), **more)
