"""What depends on where the output goes: a terminal, a pipe that closes, a file."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("rich")

from tests.cli.conftest import TALK, message, started
from tests.paths import REPO

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")

#: Of Celery and RabbitMQ.
RECORDING = REPO / "demo" / "kombu_celery.pcap.gz"
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def on_terminal(*arguments: object, columns: int, **streams) -> tuple[int, str]:
    """Exit status and all that a terminal of so many columns got."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = started(
        *arguments, **{"stdout": theirs, "stderr": theirs, "stdin": theirs, **streams}
    )
    os.close(theirs)
    got = b""
    while True:
        try:
            more = os.read(ours, 65536)
        except OSError:  # the other end is closed: Linux says so like this
            break
        if not more:
            break
        got += more
    os.close(ours)
    return process.wait(60), got.decode()


def test_table_fits_the_terminal(good):
    status, got = on_terminal("dissect", good, columns=70)
    assert status == 0
    assert "\x1b[" in got
    lines = [ESCAPE.sub("", line) for line in got.splitlines()]
    assert max(map(len, lines)) <= 70
    assert lines[0].split()[:2] == ["n", "time"]
    assert lines[1] == "-- 2023-11-14 UTC --"
    assert lines[2].startswith(" 1  22:13:20.125  ")
    (publish,) = (at for at, line in enumerate(lines) if '"routing_key":"eu.de"' in line)
    assert lines[publish - 1].split()[-1] == "basic.publish"
    assert lines[publish].startswith("    {")
    assert "…" not in "".join(lines)


def test_traffic_cannot_move_the_cursor(good, tmp_path):
    from tests.support import recording as builder

    path = tmp_path / "evil.pcap"
    path.write_bytes(
        builder.pcap(
            builder.dialogue([*TALK[:4], ("client", message("\x1b[2J\u202e\r", b"\x9b2J"))])
        )
    )
    _, got = on_terminal("dissect", path, columns=400)
    assert "\x1b[2J" not in got
    assert "\u202e" not in got
    assert "\x9b" not in got
    assert r"\u202e" in got


def test_progress_where_the_rows_go_to_a_file(good, tmp_path):
    out = tmp_path / "x.jsonl"
    status, got = on_terminal("dissect", good, "-o", out, columns=100)
    assert status == 0
    assert "good.pcap" in got
    assert "bytes" in got
    assert len(out.read_text().splitlines()) == 12


def test_no_progress_among_rows(good):
    _, got = on_terminal("dissect", good, columns=100)
    assert "good.pcap" not in got


def test_no_parquet_on_a_terminal(good):
    status, got = on_terminal("dissect", good, "--format", "parquet", columns=100)
    assert status == 2
    assert "name a file with -o" in got


@pytest.mark.parametrize("form", ["table", "json"])
def test_closed_pipe_is_quiet(tmp_path, form):
    from tests.support import recording as builder

    path = tmp_path / "long.pcap"
    path.write_bytes(
        builder.pcap(builder.dialogue([*TALK[:4], *[("client", message("k", b"x" * 900))] * 400]))
    )
    process = started(
        "dissect", path, "--format", form, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(60) == 0


def test_full_disk_is_said(good):
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    process = started(
        "dissect", good, "--format", "json", "-o", "/dev/full", stderr=subprocess.PIPE
    )
    _, message = process.communicate(timeout=60)
    assert process.returncode == 2
    assert message == b"amqpcodec: No space left on device\n"


def test_messages_fit_a_narrow_terminal(good):
    status, got = on_terminal("dissect", good, "--level", "message", columns=80)
    assert status == 0
    lines = [ESCAPE.sub("", line) for line in got.splitlines()]
    assert max(map(len, lines)) <= 80
    assert lines[0].split() == ["time", "conn", "from", "ch", "method", "size", "details"]
    (details,) = (at for at, line in enumerate(lines) if "eu.de" in line)
    publish = lines[details - 1].split()
    assert publish == ["22:13:20.129", "0", "client", "1", "basic.publish", "5"]
    assert lines[details].startswith("    'orders' eu.de  content_type=text/plain")
    assert lines[details].endswith("first")


def test_columns_without_room_are_named(tmp_path):
    from tests.cli.test_questions_unit import SHOP
    from tests.support import recording as builder

    path = tmp_path / "shop.pcap"
    path.write_bytes(builder.pcap(builder.dialogue(SHOP)))
    _, got = on_terminal("connections", path, columns=90)
    lines = [ESCAPE.sub("", line).rstrip() for line in got.splitlines()]
    assert max(map(len, lines)) <= 90
    note = " ".join(lines)
    assert note.startswith("no room for gaps, ")
    assert "a wider terminal or --fields shows them" in note
    head = next(line for line in lines if line.startswith("client ")).split()
    assert {"client", "connection_name", "first_event", "ended"} <= set(head)
    assert not {"virtual_host", "certainty"} & set(head)
    assert "10.0.0.1:40000" in lines[-1]
    assert "…" not in got
    _, wide = on_terminal("connections", path, columns=260)
    assert "no room" not in wide
    assert "last_event" in wide


def test_errors_are_whole_on_a_narrow_terminal(tmp_path):
    from amqpcodec import v0_9_1 as amqp
    from tests.support import recording as builder

    text = "PRECONDITION_FAILED - inequivalent arg 'durable' for queue 'orders' in vhost '/shop'"
    close = amqp.encode(1, amqp.Channel.Close(406, text, 50, 10))
    path = tmp_path / "closed.pcap"
    path.write_bytes(builder.pcap(builder.dialogue([*TALK[:4], ("server", close)])))
    status, got = on_terminal("errors", path, columns=70)
    assert status == 0
    lines = [ESCAPE.sub("", line) for line in got.splitlines()]
    assert max(map(len, lines)) <= 70
    row = next(at for at, line in enumerate(lines) if "channel-closed" in line)
    below = lines[row + 1 :]
    assert all(line.startswith("    ") for line in below)
    assert " ".join(line.strip() for line in below) == text


def test_errors_show_who_where_and_why_at_80_columns(tmp_path):
    from amqpcodec import v0_9_1 as amqp
    from tests.support import recording as builder

    queue = "orders.eu-central.payments"
    why = f"NOT_FOUND - no queue '{queue}' in vhost '/'"
    deliver = amqp.Basic.Deliver("ctag-1", 1, False, "", queue)
    steps = [
        *TALK[:4],
        ("client", amqp.encode(1, amqp.Basic.Consume(queue=queue, consumer_tag="ctag-1"))),
        ("server", amqp.encode(1, amqp.Basic.ConsumeOk("ctag-1"))),
        ("server", amqp.encode_message(1, deliver, amqp.Basic.Properties(), b"x")),
        ("client", amqp.encode(1, amqp.Basic.Reject(delivery_tag=1, requeue=False))),
        ("server", amqp.encode(1, amqp.Channel.Close(404, why, 50, 10))),
    ]
    path = tmp_path / "trouble.pcap"
    path.write_bytes(builder.pcap(builder.dialogue(steps)))
    for arguments in (("errors",), ("errors", "--all")):
        status, got = on_terminal(*arguments, path, columns=80)
        assert status == 0
        lines = [ESCAPE.sub("", line) for line in got.splitlines()]
        assert max(map(len, lines)) <= 80
        (rejected,) = (line for line in lines if "rejected" in line)
        assert queue in rejected
        (closed,) = (at for at, line in enumerate(lines) if "channel-closed" in line)
        assert lines[closed + 1] == f"    {why}"


@pytest.mark.parametrize(
    ("command", "columns"),
    [
        ("connections", {"client", "connection_name", "first_event", "published", "ended"}),
        ("queues", {"queue", "published", "delivered", "unacknowledged", "work_p99_ms"}),
        ("latency", {"span", "queue", "count", "p50_ms", "p99_ms"}),
        ("messages", {"began_at", "event", "routing_key", "queue", "ended", "outcome"}),
        ("topology", {"kind", "exchange", "routing_key", "queue", "connection_name"}),
        ("errors", {"count", "event", "outcome", "connection_name", "queue", "reason"}),
    ],
)
def test_what_answers_a_question_has_room_at_80_columns(command, columns):
    status, got = on_terminal(command, RECORDING, columns=80)
    assert status == 0
    lines = [ESCAPE.sub("", line) for line in got.splitlines()]
    assert max(map(len, lines)) <= 80
    head = next(set(line.split()) for line in lines if columns & set(line.split()))
    assert columns <= head


def test_events_have_room_at_80_columns():
    status, got = on_terminal("dissect", "--level", "event", RECORDING, columns=80)
    assert status == 0
    lines = [ESCAPE.sub("", line) for line in got.splitlines()]
    assert max(map(len, lines)) <= 80
    assert any("guest@127.0.0.1  " in line and "tasks.q" in line for line in lines)
    assert "00:56:02.646" in got


@pytest.mark.parametrize(
    ("command", "columns"),
    [
        ("messages", {"routing_key", "queue", "message_id", "ended", "outcome"}),
        ("unacked", {"delivered_at", "age_us", "queue", "message_id", "certainty"}),
        ("latency", {"span", "queue", "exchange", "count", "p50_ms", "p99_ms"}),
        ("queues", {"queue", "published", "delivered", "unacknowledged"}),
        ("topology", {"kind", "exchange", "routing_key", "queue", "connection_name"}),
        ("errors", {"count", "event", "outcome", "connection_name", "queue"}),
        ("errors --all", {"timestamp", "event", "outcome", "connection_name", "queue"}),
        ("connections", {"client", "connection_name", "first_event", "ended"}),
        ("top", {"kind", "name", "published", "delivered"}),
    ],
)
def test_long_names_are_told_apart_at_80_columns(tmp_path, command, columns):
    from tests.support.event_talk import write
    from tests.support.long_name_talk import LONG_QUEUES, long_names

    path = write(tmp_path / "long.pcap", long_names())
    status, got = on_terminal(*command.split(), path, columns=80)
    assert status == 0
    lines = [ESCAPE.sub("", line) for line in got.splitlines()]
    assert max(map(len, lines)) <= 80
    at = next(at for at, line in enumerate(lines) if len(set(line.split()) & columns) > 2)
    text = " ".join(lines[at + 1 :])
    if command != "unacked":  # its heads have less room
        assert columns <= set(lines[at].split())
    if "queue" not in columns:
        assert "app " in text
    elif command in ("unacked", "errors", "errors --all"):  # about one queue each
        assert {"unacked": "uq02", "errors": "buq01", "errors --all": "buq01"}[command] in text
    else:
        assert all(f"{queue[-4:]} " in f"{text} " for queue in LONG_QUEUES[:2])


def test_a_hidden_column_has_no_room():
    """One that a column that was hidden after it leaves enough for is shown."""
    _, got = on_terminal("connections", RECORDING, columns=80)
    lines = [ESCAPE.sub("", line) for line in got.splitlines()]
    head = next(line for line in lines if line.startswith("client "))
    note = " ".join(lines[: lines.index(head)])
    hidden = note.partition("no room for ")[2].partition(":")[0].replace(" ", "").split(",")
    assert hidden
    assert all(len(head.rstrip()) + 2 + len(name) > 80 for name in hidden)


def test_a_command_to_paste_is_one_line(tmp_path):
    from tests.support.event_talk import write
    from tests.support.long_name_talk import long_names

    folder = tmp_path / "a folder with a name that fills most of a line of a terminal"
    folder.mkdir()
    path = write(folder / "long.pcap", long_names())
    status, got = on_terminal("diagnose", path, columns=60)
    assert status == 0
    lines = [ESCAPE.sub("", line) for line in got.splitlines()]
    assert f"   amqpcodec errors '{path}'" in lines
    others = [line for line in lines if not line.startswith("   amqpcodec ")]
    assert max(map(len, others)) <= 62  # a name may be longer than the line
    assert all(line == line.rstrip() for line in lines)
