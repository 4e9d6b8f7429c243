"""Recordings that are being made: rows come as their packets do, and Ctrl-C ends it in order."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("rich")

from tests.cli.conftest import TALK, started
from tests.support import recording as builder

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="needs pipes that can be waited for"
)

#: What is allowed between a packet and its row; more, for a machine that does other things too.
SOON = 0.2
PATIENCE = 30.0


def pieces() -> tuple[bytes, list[bytes]]:
    """The head of a recording, and each of its packets."""
    data = builder.pcap(builder.dialogue(TALK))
    head, remainder = data[:24], data[24:]
    records = []
    while remainder:
        size = 16 + int.from_bytes(remainder[8:12], "little")
        records.append(remainder[:size])
        remainder = remainder[size:]
    return head, records


class Reader:
    """Lines of a pipe or terminal, and how long each took."""

    def __init__(self, fd: int) -> None:
        self.fd, self.remainder = fd, b""

    def lines(self, count: int, seconds: float) -> tuple[list[str], float]:
        begun = time.monotonic()
        while self.remainder.count(b"\n") < count:
            remaining_seconds = begun + seconds - time.monotonic()
            if remaining_seconds <= 0 or not select.select([self.fd], [], [], remaining_seconds)[0]:
                break
            try:
                more = os.read(self.fd, 65536)
            except OSError:
                break
            if not more:
                break
            self.remainder += more
        took = time.monotonic() - begun
        *lines, self.remainder = self.remainder.split(b"\n", count)
        return [line.decode().rstrip("\r") for line in lines], took


def fed(process: subprocess.Popen, reader: Reader, expected: list[int]) -> list[str]:
    """Give packet by packet; each row has to be there before the next packet is sent."""
    head, sent = pieces()
    pipe = process.stdin
    pipe.write(head + b"".join(sent[:2]))  # the opening of TCP
    pipe.flush()
    rows: list[str] = []
    times = []
    for packet, count in zip(sent[2:], expected, strict=True):
        pipe.write(packet)
        pipe.flush()
        first = not rows
        lines, took = reader.lines(count, PATIENCE)
        assert len(lines) == count, (rows, lines)
        if not first:
            times.append(took)
        rows += lines
    # However busy the machine is: nothing in between waits for so long.
    assert min(times) < SOON
    return rows


def drained(process: subprocess.Popen) -> None:
    """Wait until all that was written is read."""
    import fcntl
    import termios

    end = time.monotonic() + 60
    while fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4)) != bytes(4):
        assert time.monotonic() < end
        time.sleep(0.02)
    time.sleep(0.3)
    assert process.poll() is None


def counts() -> list[int]:
    """Frames that each packet behind the opening completes, as one reads the whole recording."""
    return [1, 1, 1, 1, 6, 1, 1]


@pytest.mark.parametrize("form", ["json", "csv", "table"])
def test_rows_come_with_their_packets(form):
    process = started(
        "dissect", "-", "--format", form, "--fields", "n,kind",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    expected = counts()
    if form != "json":
        expected[0] += 1  # the head
    lines = fed(process, Reader(process.stdout.fileno()), expected)
    assert len(lines) == sum(expected)
    assert process.poll() is None
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, b"", b"")


def test_interrupt_shows_what_was_read():
    process = started(
        "dissect", "-", "--format", "json",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    expected = counts()
    fed(process, Reader(process.stdout.fileno()), expected)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    message = process.stderr.read().decode()
    assert (
        message
        == f"amqpcodec: interrupted: {sum(expected)} rows read, none with an error, 12 shown\n"
    )
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()


def test_interrupt_of_a_question_answers_it():
    process = started(
        "connections", "-", "--format", "json",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    head, sent = pieces()
    process.stdin.write(head + b"".join(sent))
    process.stdin.flush()
    drained(process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    row = json.loads(out)
    assert (row["published"], row["ended"]) == (2, "open")
    assert b"interrupted" in err


def test_interrupt_while_nothing_comes():
    process = started("dissect", "-", stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(pieces()[0])
    process.stdin.flush()
    drained(process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    nothing, end = err.decode().splitlines()
    assert nothing == "amqpcodec: -: no frame of AMQP (no packet was recorded)"
    assert end == "amqpcodec: interrupted: 0 rows read, none with an error, 0 shown"


def test_a_file_of_what_was_read_before_the_interrupt(tmp_path):
    out = tmp_path / "x.parquet"
    process = started("dissect", "-", "-o", out, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    head, sent = pieces()
    process.stdin.write(head + b"".join(sent))
    process.stdin.flush()
    deadline = time.monotonic() + 30
    while not list(tmp_path.glob(".x*.part")) and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    import pyarrow.parquet as pq

    assert pq.read_table(out).num_rows == 12


def test_on_a_terminal():
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
    process = started("dissect", "-", stdin=subprocess.PIPE, stdout=theirs, stderr=theirs)
    os.close(theirs)
    expected = counts()
    expected[0] += 2  # the head and the day
    rows = fed(process, Reader(ours), expected)
    assert "kind" in rows[0]
    assert any("basic.publish" in line for line in rows)
    process.send_signal(signal.SIGINT)
    lines, _ = Reader(ours).lines(1, 30)
    assert process.wait(30) == 130
    assert "interrupted: 12 rows" in lines[0]
    process.stdin.close()
    os.close(ours)


def test_follow_a_file(tmp_path):
    path = tmp_path / "grows.pcap"
    head, sent = pieces()
    path.write_bytes(head + b"".join(sent[:3]))
    process = started(
        "dissect", path, "--follow", "--format", "json", "--fields", "n,kind",
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    reader = Reader(process.stdout.fileno())
    first_rows, _ = reader.lines(1, 30)
    assert len(first_rows) == 1
    with open(path, "ab", buffering=0) as file:
        for packet, count in zip(sent[3:], counts()[1:], strict=True):
            # A record may be written in two pieces.
            file.write(packet[:20])
            time.sleep(0.01)
            file.write(packet[20:])
            lines, _ = reader.lines(count, PATIENCE)
            assert len(lines) == count
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"interrupted: 12 rows" in err


@pytest.fixture
def recorder(tmp_path, monkeypatch):
    """A tcpdump that sends a recording, says what it was asked for, and waits to be ended."""

    def install(*, name: str = "tcpdump", fails: bool = False) -> Path:
        recording, arguments_file = tmp_path / "sent.pcap", tmp_path / "asked"
        recording.write_bytes(builder.pcap(builder.dialogue(TALK)))
        folder = tmp_path / "bin"
        folder.mkdir()
        program = folder / name
        failure = "exec >&-; sleep 0.3; echo 'eth9: No such device exists' >&2; exit 1"
        last = failure if fails else "exec sleep 60"
        program.write_text(
            f'#!/bin/sh\necho "$@" > {arguments_file}\n/bin/cat {recording}\n{last}\n'
        )
        program.chmod(0o755)
        sleep = folder / "sleep"
        sleep.symlink_to("/bin/sleep")
        monkeypatch.setenv("PATH", str(folder))
        return arguments_file

    return install


@pytest.mark.parametrize("name", ["tcpdump", "dumpcap"])
def test_interface(recorder, name):
    arguments_file = recorder(name=name)
    process = started(
        "dissect", "--interface", "any", "--ports", "5672,5673", "--format", "json",
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    lines, _ = Reader(process.stdout.fileno()).lines(12, 30)
    assert len(lines) == 12
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"interrupted: 12 rows" in err
    words = arguments_file.read_text()
    assert "-i any" in words
    assert "tcp port 5672 or tcp port 5673" in words


#: A tcpdump that sends the first packets at once, and the others later. $1: both files; $2: a file
#: of signals that it got.
HOLDS_BACK = """#!/bin/sh
trap 'echo INT >> {signals}' INT
{before}
/bin/cat {first}
while [ ! -e {go} ]; do sleep 0.05; done
{after}
while :; do sleep 0.05; done
"""


def holding_back(tmp_path, monkeypatch, before: str = ":", after: str = ":"):
    """A process that records with such a tcpdump, and the file at which it goes on."""
    head, sent = pieces()
    files = {name: tmp_path / name for name in ("first", "later", "go", "signals")}
    files["first"].write_bytes(head + b"".join(sent[:4]))
    files["later"].write_bytes(b"".join(sent[4:]))
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "tcpdump"
    before, after = (text.format(**files) for text in (before, after))
    program.write_text(HOLDS_BACK.format(**files, before=before, after=after))
    program.chmod(0o755)
    (folder / "sleep").symlink_to("/bin/sleep")
    monkeypatch.setenv("PATH", str(folder))
    process = started(
        "dissect", "--interface", "lo", "--format", "json",
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    rows = sum(counts()[:2])  # the opening of TCP has none
    lines, _ = Reader(process.stdout.fileno()).lines(rows, PATIENCE)
    assert len(lines) == rows
    return process, files, rows


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (":", "sleep 0.4; /bin/cat {later}"),  # the kernel hands on what it has now and then
        ("trap '/bin/cat {later}; exit 0' TERM", ":"),  # the program writes the rest at its end
    ],
)
def test_interrupt_reads_what_the_recorder_holds_back(tmp_path, monkeypatch, before, after):
    process, files, rows = holding_back(tmp_path, monkeypatch, before, after)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    files["go"].touch()
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert rows + len(out.splitlines()) == 12
    assert b"interrupted: 12 rows read, none with an error, 12 shown" in err
    assert not files["signals"].exists()


def test_a_second_interrupt_ends_it_at_once(tmp_path, monkeypatch):
    process, *_ = holding_back(tmp_path, monkeypatch, before="trap '' TERM")
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert time.monotonic() - begun < 4  # where it does not end, the recorder has 5 s


@pytest.mark.parametrize("question", ["dissect", "messages"])
def test_interrupt_of_a_pipe_reads_to_its_end(question):
    """As in `tcpdump -w - | amqpcodec ...`: the terminal interrupts both."""
    process = started(
        question, "-", "--format", "json",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    head, sent = pieces()
    process.stdin.write(head + b"".join(sent[:4]))
    process.stdin.flush()
    drained(process)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    process.stdin.write(b"".join(sent[4:]))
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert len(out.splitlines()) == {"dissect": 12, "messages": 2}[question]
    assert b"with an error" in err


def test_interrupt_reads_what_a_followed_file_still_gets(tmp_path):
    head, sent = pieces()
    path = tmp_path / "growing.pcap"
    path.write_bytes(head + b"".join(sent[:4]))
    process = started(
        "dissect", "--follow", path, "--format", "json",
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    rows = sum(counts()[:2])  # the opening of TCP has none
    lines, _ = Reader(process.stdout.fileno()).lines(rows, PATIENCE)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    with path.open("ab", 0) as file:
        file.write(b"".join(sent[4:]))
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert len(lines) + len(out.splitlines()) == 12


@pytest.mark.parametrize("program", ["tcpdump", "dumpcap"])
def test_interrupt_of_a_real_recorder_loses_nothing(tmp_path, monkeypatch, program):
    """Packets that came right before Ctrl-C are on their way from the kernel."""
    found = shutil.which(program)
    if found is None or not sys.platform.startswith("linux") or os.geteuid() != 0:
        pytest.skip(f"needs {program}, Linux and its loopback, and the privilege to record")
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / program).symlink_to(found)
    monkeypatch.setenv("PATH", str(folder))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        process = started(
            "dissect", "--interface", "lo", "--ports", port, "--format", "json",
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        lines = Reader(process.stdout.fileno())
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and process.poll() is None:  # until it records
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(TALK[0][1])
            server.accept()[0].close()
            if lines.lines(1, 2.0)[0]:
                break
        if process.poll() is not None:
            pytest.skip(f"{program} may not record here: {process.stderr.read().decode()}")
        with socket.create_connection(("127.0.0.1", port)) as client:
            peer = server.accept()[0]
            for who, bytes_sent in TALK:
                (client if who == "client" else peer).sendall(bytes_sent)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
            peer.close()
    assert process.returncode == 130
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["frame_type"] for row in rows][-1] == "heartbeat"
    assert len([row for row in rows if row["frame_type"] != "protocol-header"]) == 11, err


def test_an_interface_records_port_5672_alone(recorder):
    """What is not recorded shows no port: a header on another one would be all there is of it."""
    arguments_file = recorder()
    process = started(
        "dissect", "--interface", "any", "--format", "json",
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    Reader(process.stdout.fileno()).lines(12, 30)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert arguments_file.read_text().split()[-3:] == ["tcp", "port", "5672"]


def test_interface_that_is_none(recorder):
    recorder(fails=True)
    process = started("dissect", "--interface", "eth9", stdout=-3, stderr=subprocess.PIPE)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 2
    assert b"--interface eth9: tcpdump: eth9: No such device exists" in err


def test_interface_without_a_recorder(tmp_path, run, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    result = run("dissect", "--interface", "any")
    assert result.status == 2
    assert "tcpdump or dumpcap: neither is installed" in result.err


# --- a file that is followed ----------------------------------------------------------------------


class Followed:
    """`dissect FILE --follow`, and the numbers of frames that it shows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.process = started(
            "dissect", path, "--follow", "--format", "csv", "--fields", "n,conn,kind",
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.reader = Reader(self.process.stdout.fileno())
        assert self.rows(1) == ["n,conn,kind"]

    def rows(self, count: int) -> list[str]:
        lines, _ = self.reader.lines(count, PATIENCE)
        assert len(lines) == count, lines
        return lines

    def end(self) -> str:
        """Interrupt it; what it said on standard error."""
        self.process.send_signal(signal.SIGINT)
        _, err = self.process.communicate(timeout=30)
        assert self.process.returncode == 130
        return err.decode()


@pytest.fixture
def followed(tmp_path: Path):
    path = tmp_path / "live.pcap"
    path.write_bytes(builder.pcap(builder.dialogue(TALK)))
    process = Followed(path)
    yield process
    process.process.kill()
    process.process.communicate()


SHORT = builder.pcap(builder.dialogue(TALK[:4]))  # four frames
SHORTER = builder.pcap(builder.dialogue(TALK[:3]))
LONG = builder.pcap(builder.dialogue([*TALK, *TALK[4:], *TALK[4:]]), nano=True)  # 28 frames


def replaced(path: Path, content: bytes) -> None:
    """A rotation: the file is renamed, and another one gets its name."""
    path.rename(path.with_suffix(".1"))
    path.write_bytes(content)


def truncated(path: Path, content: bytes) -> None:
    with open(path, "r+b") as file:
        file.truncate(0)
        file.write(content)


@pytest.mark.parametrize(("change", "content", "why"), [
    (replaced, SHORT, "another file has its name now"),
    (replaced, LONG, "another file has its name now"),
    (truncated, SHORT, "it was truncated"),
    (truncated, LONG, "it was truncated and written anew"),
])  # fmt: skip
def test_a_followed_file_that_is_replaced(followed, change, content, why):
    assert len(followed.rows(12)) == 12
    change(followed.path, content)
    count = 4 if content is SHORT else 28
    rows = followed.rows(count)
    assert [row.split(",")[:2] for row in rows] == [
        [str(number), "0"] for number in range(13, 13 + count)
    ]
    change(followed.path, SHORTER)
    assert len(followed.rows(3)) == 3
    err = followed.end()
    assert f"live.pcap: {why}: reading goes on there from the beginning" in err
    assert err.count("reading goes on") == 2


def test_what_was_written_before_a_rename_is_read_first(followed):
    followed.rows(12)
    more = builder.pcap([*builder.dialogue(TALK), *builder.dialogue([*TALK, *TALK[4:]])[-3:]])
    with open(followed.path, "ab") as file:
        file.write(more[followed.path.stat().st_size :])
    replaced(followed.path, SHORT)
    assert len(followed.rows(8 + 4)) == 12
    assert "reading goes on" in followed.end()


def test_a_rename_in_the_middle_of_a_record(followed):
    """What was cut is reported, and the next file is read."""
    followed.rows(12)
    with open(followed.path, "ab") as file:
        file.write(bytes(7))
    replaced(followed.path, SHORT)
    assert len(followed.rows(4)) == 4
    err = followed.end()
    assert "reading goes on" in err
    assert "cut" in err or "ends" in err


def test_a_name_that_is_free_for_a_while(followed):
    followed.rows(12)
    followed.path.rename(followed.path.with_suffix(".1"))
    time.sleep(0.3)
    assert followed.process.poll() is None
    followed.path.write_bytes(b"")
    time.sleep(0.3)
    assert followed.process.poll() is None
    with open(followed.path, "ab") as file:
        for byte in SHORT:
            file.write(bytes([byte]))
            file.flush()
    assert len(followed.rows(4)) == 4
    assert followed.end().count("reading goes on") == 1


def test_what_replaces_it_is_no_recording(followed):
    followed.rows(12)
    replaced(followed.path, b"this is no capture, whatever its name is")
    err = b""
    deadline = time.monotonic() + PATIENCE
    while followed.process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    _, err = followed.process.communicate(timeout=30)
    assert followed.process.returncode == 1, "rows were read before"
    assert b"reading goes on" in err
    assert b"live.pcap" in err.splitlines()[-1]
