"""``amqpcodec diagnose`` and ``queues``: paragraphs, and rows that are chosen and sorted."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rich")
pytest.importorskip("duckdb")

from amqpcodec import v0_9_1 as amqp
from tests.support.event_talk import (
    client,
    close,
    consume,
    deliver,
    login,
    open_channel,
    server,
    write,
)
from tests.support.finding_talks import FINDING_TALKS
from tests.support.recording import packets
from tests.support.shop_talk import killed, without, working

Run = Callable[..., Any]


def test_paragraphs(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "a talk.pcap", killed())
    result = run("diagnose", path)
    assert result.status == 0
    head, text, numbers, command = result.lines
    assert head == "1  lost with unsettled messages: worker, queue jobs"
    assert text == "   TCP ended without a close: fin"
    assert numbers.startswith("   1 connection, 2 messages, 20")
    assert command == f"   amqpcodec errors --all '{path}'"


def test_what_may_be_more_is_a_least_number(run: Run, tmp_path: Path) -> None:
    """A delivery that the recording lacks went back to its queue, too."""
    talk = FINDING_TALKS["lost with unsettled messages"]
    lines = []
    for number in range(len(talk)):
        result = run("diagnose", write(tmp_path / "talk.pcap", without(talk, number)))
        if result.lines and result.lines[0].startswith(
            "1  lost with unsettled messages: worker, queue jobs"
        ):
            lines.append(result.lines[2])
    assert any("1 connection, at least 1 message, 20" in line for line in lines)
    fewer = [line for line in lines if "1 message," in line]
    assert fewer
    assert all("at least" in line or line.endswith("; unknown") for line in fewer)


@pytest.mark.parametrize("finding", FINDING_TALKS)
def test_the_command_shows_rows_about_the_finding(run: Run, tmp_path: Path, finding: str) -> None:
    path = write(tmp_path / "talk.pcap", FINDING_TALKS[finding])
    lines = run("diagnose", path).lines
    assert not any("None" in line for line in lines)
    heads = [line for line in lines if line[0] != " "]
    (head,) = [line for line in heads if line.startswith(finding, 3)]
    behind = lines[lines.index(head) : lines.index(head) + 4]
    (command,) = [line for line in behind if line.startswith("   amqpcodec ")][:1]
    shown = run(*shlex.split(command)[1:])
    assert shown.lines, shown.err
    if finding == "recording incomplete":
        assert any("gap" in line for line in shown.lines)
        return
    if finding == "malformed frames":
        assert all("  ! basic.publish" in line for line in shown.lines[1:])
        return
    rows = [json.loads(line) for line in run(*shlex.split(command)[1:], "--format", "json").lines]
    row = json.loads(run("diagnose", path, "--format", "json", "--limit", "1").lines[0])
    assert row["finding"] == finding
    places = [name for name in ("connection_name", "queue", "exchange") if row[name] is not None]

    def is_about_it(shown_row: dict[str, Any]) -> bool:
        names = [name for name in places if shown_row.get(name) is not None]
        return bool(names) and all(shown_row[name] == row[name] for name in names)

    assert not places or any(map(is_about_it, rows))


def test_the_command_shows_a_frame_in_the_wrong_place(run: Run, tmp_path: Path) -> None:
    body = client(amqp.Body(b"x"))
    path = write(tmp_path / "talk.pcap", packets([*login(), *open_channel(), body, *close()]))
    (line,) = [line for line in run("diagnose", path).lines if " --where error " in line]
    shown = run(*shlex.split(line)[1:])
    assert len(shown.lines) == 2
    assert "! body frame without a content header before it" in shown.lines[1]


def test_the_command_reads_what_was_read_in_the_same_way(run: Run, tmp_path: Path) -> None:
    """Also of connections that only named ports show, and of several files."""
    reject = client(amqp.Basic.Reject(delivery_tag=1, requeue=False))
    says = [*login(), *open_channel(), *consume("jobs"), deliver(1), reject]
    path = write(tmp_path / "a talk.pcap", packets(says, port=5673)[6:])
    other = write(tmp_path / "other.pcap", packets(says, port=5673, client=40001))
    options = ("--ports", "5673", "--files", "separate", "--max-tracked", "70000")
    for files in ([path], [path, other]):
        lines = run("diagnose", *options, *files).lines
        (head,) = [line for line in lines if line.startswith("2  messages rejected: ")][:1]
        command = shlex.split(lines[lines.index(head) + 2])
        assert command[:2] == ["amqpcodec", "errors"]
        assert set(options) < set(command)
        assert command[-len(files) :] == list(map(str, files))
        assert "rejected" in run(*command[1:]).out
    many = [write(tmp_path / f"{number}.pcap", killed()) for number in range(5)]
    lines = run("diagnose", "--files", "separate", *many).lines
    assert lines[3] == "   amqpcodec errors --all --files separate FILE..."


def test_a_file_without_a_command(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "talk.pcap", killed())
    assert run(path).lines == run("diagnose", path).lines
    assert json.loads(run(path, "--format", "json").out)["queue"] == "jobs"
    assert "there is no command 'disect'; did you mean 'dissect'?" in run("disect").err
    assert "there is no command 'xyzzy'; choose one of dissect, stats," in run("xyzzy").err
    assert "no-such-file.pcap: No such file" in run("no-such-file.pcap").err


def test_rows(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "talk.pcap", killed())
    (line,) = run("diagnose", path, "--format", "json").lines
    row = json.loads(line)
    assert (row["severity"], row["finding"]) == (1, "lost with unsettled messages")
    assert (row["queue"], row["messages"], row["certainty"]) == ("jobs", 2, "exact")


def test_nothing(run: Run, tmp_path: Path) -> None:
    result = run("diagnose", write(tmp_path / "talk.pcap", working()))
    assert result.status == 0
    assert result.err == "amqpcodec: nothing was found of what diagnose looks for\n"
    assert run("diagnose", tmp_path / "talk.pcap", "--format", "json").lines == []


@pytest.mark.parametrize("command", ["diagnose", "errors"])
def test_nothing_in_what_could_be_read(run: Run, tmp_path: Path, command: str) -> None:
    path = write(tmp_path / "talk.pcap", working()[12:])
    result = run(command, path)
    assert result.lines == []
    assert "amqpcodec: in what could be read: n" in result.err
    complete = run(command, write(tmp_path / "complete.pcap", working()))
    assert "in what could be read" not in complete.err


def test_diagnose_has_no_live_mode(run: Run) -> None:
    result = run("--interface", "lo")
    assert result.status == 2
    assert "diagnose has no live mode: use amqpcodec errors --interface lo" in result.err


def test_a_limit_below_zero(run: Run, tmp_path: Path) -> None:
    result = run("errors", tmp_path / "talk.pcap", "--limit", "-1")
    assert result.status == 2
    assert "'-1' is no integer of 0 or more" in result.err


def test_a_damaged_recording_has_status_1(run: Run, tmp_path: Path) -> None:
    talk = working()
    result = run("diagnose", write(tmp_path / "talk.pcap", without(talk, len(talk) // 2)))
    assert result.status == 1
    assert result.lines[0].startswith("4  recording incomplete: ")


def test_malformed_frames_are_no_damage_of_the_recording(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "talk.pcap", FINDING_TALKS["malformed frames"])
    head, text, when, *_ = run("diagnose", path).lines
    assert head.startswith("2  malformed frames: ")
    assert text == "   what the client sent cannot be read or stands in the wrong place"
    assert when.startswith("   1 time, ")
    assert "inferred" not in when
    assert "recording incomplete" not in run("diagnose", path).out


def test_many_findings_are_a_dozen_and_a_count(run: Run, tmp_path: Path) -> None:
    talk = []
    for number in range(15):
        closed = server(amqp.Channel.Close(reply_code=404, reply_text=f"NOT_FOUND {number}"))
        said = [
            *login(name=f"app-{number}"),
            *open_channel(),
            closed,
            client(amqp.Channel.CloseOk()),
        ]
        talk += packets(said, client=40001 + number)
    result = run("diagnose", write(tmp_path / "talk.pcap", talk))
    heads = [line for line in result.lines if line.startswith("1  ")]
    assert heads[0] == "1  channel closed with an error: app-0"
    assert len(heads) == 12
    assert result.lines[-1] == "3 more: --format json or csv has them all"
    rows = run("diagnose", tmp_path / "talk.pcap", "--format", "json").lines
    assert len(rows) == 15


def test_text_of_the_wire_moves_no_cursor(run: Run, tmp_path: Path) -> None:
    closed = server(amqp.Channel.Close(reply_code=404, reply_text="\x1b[2Jgone"))
    talk = packets([*login(name="\x1b]0;x\x07"), *open_channel(), closed])
    result = run("diagnose", write(tmp_path / "talk.pcap", talk))
    assert "\x1b" not in "".join(result.lines)
    assert "\x07" not in "".join(result.lines)


def test_rows_are_chosen(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "talk.pcap", killed())
    assert (
        "--where and --limit leave none of 1 row"
        in run("diagnose", path, "--where", "severity > 1").err
    )
    table = run("diagnose", path, "--fields", "finding,messages").lines
    assert [line.split("  ")[0] for line in table] == ["finding", "lost with unsettled messages"]
    result = run("diagnose", path, "--sort", "nme")
    assert (result.status, "there is no column 'nme'" in result.err) == (2, True)


def test_queues(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "talk.pcap", working())
    head, row = run("queues", path).lines
    assert "certainty" in head.split()
    assert row.split()[:2] == ["/", "jobs"]
    (line,) = run("queues", path, "--format", "json", "--fields", "queue,published,backlog").lines
    assert json.loads(line) == {"queue": "jobs", "published": 4, "backlog": 3}
    assert run("queues", path, "--where", "backlog > 3", "--format", "json").lines == []


def test_their_columns_are_listed(run: Run) -> None:
    lines = run("fields", "queues", "--format", "json").lines
    names = [json.loads(line)["name"] for line in lines]
    assert {"queue", "backlog", "wait_p99_ms"} <= set(names)
