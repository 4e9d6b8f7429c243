"""A question about what is being recorded: a screen that goes on, and the last answer."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")
pytest.importorskip("rich")

from amqpcodec import v0_9_1 as amqp
from tests.cli.conftest import started
from tests.cli.test_questions_unit import SHOP
from tests.support import recording as builder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of its own")

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
PATIENCE = 60.0
DATA = builder.pcap(builder.dialogue(SHOP))
#: Where the recording has said all but its last thing, the close of a channel.
BEFORE_LAST = len(DATA) - len(builder.pcap(builder.dialogue(SHOP)[-1:])) + 24


class Screen:
    """A command on a terminal of 100 columns and 24 lines."""

    def __init__(self, *words: Any, **options: Any) -> None:
        import fcntl
        import pty
        import struct
        import termios

        self.fd, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        self.process = started(*words, stdout=theirs, stderr=theirs, **options)
        os.close(theirs)
        self.text = ""

    def until(self, pattern: str) -> str:
        """What is written up to a text; it is left out of what comes later."""
        end = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, self.text)):
            assert time.monotonic() < end, (pattern, self.text)
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    more = os.read(self.fd, 65536)
                except OSError:
                    more = b""
                assert more, (pattern, self.text)
                self.text += ESCAPE.sub("", more.decode())
        before, self.text = self.text[: found.end()], self.text[found.end() :]
        return before

    def remainder(self) -> str:
        """All that follows, to the end."""
        while True:
            try:
                more = os.read(self.fd, 65536)
            except OSError:
                more = b""
            if not more:
                os.close(self.fd)
                return self.text
            self.text += ESCAPE.sub("", more.decode())


def test_it_goes_on_until_it_is_interrupted() -> None:
    screen = Screen("unacked", "-", stdin=subprocess.PIPE)
    pipe = screen.process.stdin
    assert pipe is not None
    # Before the first packet, too, there is something to see.
    screen.until(r"0:00:0\d · - · 0 packets · 0 frames · 0 events · Ctrl-C ends it")
    pipe.write(DATA[:BEFORE_LAST])
    pipe.flush()
    shown = screen.until(r"\d+ packets · \d+ frames(?s:.)*m-3")
    assert "queue" in shown
    pipe.write(DATA[BEFORE_LAST:])
    pipe.flush()
    packets = len(builder.dialogue(SHOP))
    screen.until(rf"· {packets} packets ·")
    screen.process.send_signal(signal.SIGINT)
    assert screen.process.wait(PATIENCE) == 130
    last = screen.remainder()
    answer, interrupted, _ = last.rpartition("amqpcodec: interrupted:")
    assert interrupted
    assert answer.rpartition("Ctrl-C ends it")[2].count("m-3") >= 1
    pipe.close()


def test_it_says_why_no_frame_is_there_yet() -> None:
    """Of a connection from before the recording, few frames are not enough to read it."""
    beats = [builder.client(1001 + 8 * n, amqp.encode(0, amqp.Heartbeat())) for n in range(3)]
    screen = Screen("connections", "-", stdin=subprocess.PIPE)
    pipe = screen.process.stdin
    assert pipe is not None
    pipe.write(builder.pcap(beats))
    pipe.flush()
    screen.until(r"3 packets · 0 frames")
    screen.until(r"no frame yet: connections from before the recording need about 64 frames")
    pipe.close()
    assert screen.process.wait(PATIENCE) == 0
    screen.remainder()


def test_it_ends_with_its_input() -> None:
    """The answer is that of the whole recording: nothing is inferred any more."""
    screen = Screen("connections", "-", "--fields", "user,ended", stdin=subprocess.PIPE)
    assert screen.process.stdin is not None
    screen.process.stdin.write(DATA)
    screen.process.stdin.close()
    last = screen.remainder()
    assert screen.process.wait(PATIENCE) == 0
    assert [line.split() for line in last.splitlines() if line][-2:] == [
        ["user", "ended"],
        ["eve", "open"],
    ]


def test_findings_of_a_file_that_grows(tmp_path: Path) -> None:
    path = tmp_path / "grows.pcap"
    path.write_bytes(DATA[:BEFORE_LAST])
    screen = Screen("diagnose", path, "--follow")
    screen.until("2  messages returned")
    with open(path, "ab") as file:
        file.write(DATA[BEFORE_LAST:])
    screen.until("1  channel closed with an error")
    screen.process.send_signal(signal.SIGINT)
    assert screen.process.wait(PATIENCE) == 130
    screen.remainder()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("F", "--window", "10m"), "--window is for what is being recorded"),
        (("F", "--follow", "--since", "+1s"), "--since and --until are for recordings"),
        (("F", "--follow", "--window", "soon"), "'soon' is no length of time: 10s, 5m, 1h"),
    ],
)
def test_wrong_use(run: Any, tmp_path: Path, words: tuple[str, ...], text: str) -> None:
    path = tmp_path / "talk.pcap"
    path.write_bytes(DATA)
    result = run("queues", *(path if word == "F" else word for word in words))
    assert result.status == 2
    assert text in result.err
