"""Several files: those of one rotation are read as one recording."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from amqpcodec.cli.groups import group_files
from tests.cli.conftest import TALK
from tests.paths import REPO
from tests.support import recording as builder

pytest.importorskip("pyarrow")
pytest.importorskip("rich")

MESSAGE = 4  # of TALK: two messages in one packet


@pytest.fixture
def rotation(tmp_path: Path) -> list[Path]:
    """cap, cap1 and cap2.gz: the messages' packet is cut in two, by the rotation."""
    import gzip

    head = sum(len(octets) for who, octets in TALK[:MESSAGE] if who == "client")
    sent = builder.records(builder.dialogue(TALK))
    octets = TALK[MESSAGE][1]
    halves = [
        builder.Record(builder.client(1001 + head, octets[:30]), sent[6].time_ns),
        builder.Record(builder.client(1001 + head + 30, octets[30:]), sent[6].time_ns),
    ]
    files = {
        "cap": builder.pcap([*sent[:6], halves[0]]),
        "cap1": builder.pcap([halves[1], sent[7]]),
        "cap2.gz": gzip.compress(builder.pcap(sent[8:])),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    return [tmp_path / name for name in ("cap1", "cap2.gz", "cap")]


def test_a_rotation_is_one_recording(run, rotation):
    result = run("dissect", *rotation, "--format", "json")
    assert (result.status, result.err) == (0, "")
    rows = [json.loads(line) for line in result.lines]
    assert [row["connection_index"] for row in rows] == [0] * 12
    assert len({row["connection"] for row in rows}) == 1
    assert {row["file"] for row in rows} == {str(path) for path in rotation}


def test_each_alone(run, rotation):
    result = run("dissect", *rotation, "--files", "separate", "--format", "json")
    assert result.status == 1
    lines = result.err.splitlines()
    [message] = [line.partition(": ")[2] for line in lines if "in the middle" in line]
    count = "3 directions begin in the middle of 2 of 3 files"
    assert message == f"--files separate: {count}: what was sent before is not there"
    assert len(lines) == 3
    assert "with an error" in result.err
    assert run("stats", *rotation).status == 0
    apart = run("stats", *rotation, "--files", "separate")
    assert apart.status == 1
    assert apart.err.count(count) == apart.err.count("in the middle") == 1


def test_taps_are_joined(run, tmp_path):
    sent = builder.dialogue(TALK)
    taps = []
    for side in ("client", "server"):
        mine = [
            p for p in builder.records(sent) if (p.data[36:38] == b"\x16\x28") == (side == "client")
        ]
        taps.append(tmp_path / f"{side}.pcap")
        taps[-1].write_bytes(builder.pcap(mine))
    (complete := tmp_path / "whole.pcap").write_bytes(builder.pcap(sent))
    columns = ("--fields", "time,from,kind,size", "--format", "json")
    joined = run("dissect", *taps, "--files", "taps", *columns)
    assert (joined.status, joined.err) == (0, "")
    assert joined.lines == run("dissect", complete, *columns).lines
    assert run("stats", *taps, "--files", "taps").status == 0


def test_table_says_which_file(run, rotation):
    result = run("dissect", *rotation, "--where", "method ~ basic.ack or frame_type == heartbeat")
    assert [line.split()[0] for line in result.lines[1:]] == [str(rotation[0]), str(rotation[1])]


def test_files_are_read_together_whatever_their_names_are(tmp_path: Path):
    names = ["a1.pcap", "b", "a2.pcap", "a10.pcap.gz", "b1", "x/a3.pcap", "a", "a1.pcap"]
    files = [tmp_path / name for name in names]
    for arrangement in ("auto", "rotation", "taps"):
        [group] = group_files(files, arrangement)
        assert group.files == files[:-1]
        assert group.arrangement == arrangement
    assert [group.files for group in group_files(files, "separate")] == [
        [file] for file in files[:-1]
    ]
    with_input = [files[0], Path("-")]
    assert [group.files for group in group_files(with_input, "auto")] == [
        [file] for file in with_input
    ]


def test_packets_tell_which_belong_together(run, rotation, tmp_path: Path):
    """Names do not: those of a rotation have nothing in common here."""
    new = [tmp_path / name for name in ("monday.pcap", "tuesday.gz", "before.pcap")]
    for old, path in zip(rotation, new, strict=True):
        old.rename(path)
    result = run("dissect", *new, "--format", "json")
    assert (result.status, result.err) == (0, "")
    rows = [json.loads(line) for line in result.lines]
    assert len({row["connection"] for row in rows}) == 1
    other = REPO / "demo" / "kombu_celery.pcap.gz"
    result = run("dissect", *new, other, "--format", "json")
    assert (result.status, len(result.lines)) == (0, 12 + 1000)
    assert "read alone" not in result.err  # it is a recording of its own, and whole


def test_what_begins_in_the_middle_is_counted(run, rotation):
    for command in ("dissect", "stats"):
        first, last = run(command, rotation[2]), run(command, rotation[0])
        assert "in the middle" not in first.err
        assert last.err.count(f"{rotation[0]}: 2 directions begin in the middle: what") == 1


def test_unreadable_files_of_a_rotation_do_not_keep_others_from_being_read(run, rotation):
    bad = rotation[0].with_name("cap3")
    bad.write_text("no recording at all, but long enough to be one of them")
    gone = rotation[0].with_name("cap4")
    result = run("dissect", bad, *rotation, gone, "--format", "json")
    assert (result.status, len(result.lines)) == (2, 12)
    assert (
        result.err.splitlines()
        == [
            f"amqpcodec: {bad}: neither pcap nor pcapng",
            f"amqpcodec: {gone}: No such file or directory",
        ]
        or result.err.count("\n") == 2
    )
    assert run("dissect", bad, gone).status == 2


def test_files_of_two_recordings_are_told(run, tmp_path):
    sent = builder.records(builder.dialogue(TALK))
    late = [builder.Record(data, time + 10**10 * (i > 3)) for i, (data, time, _) in enumerate(sent)]
    other = [builder.Record(data, time + 10**9) for data, time, _ in sent]
    for name, records in (("host1", late), ("host2", other)):
        (tmp_path / name).write_bytes(builder.pcap(records))
    result = run("dissect", tmp_path / "host1", tmp_path / "host2", "--format", "json")
    assert "read alone, its packets are of the same time" in result.err
    assert "host2" in result.err


def test_a_copy_is_reported(run, good, tmp_path):
    copy = tmp_path / "copy.pcap"
    copy.write_bytes(good.read_bytes())
    result = run("dissect", good, copy, "--format", "json")
    assert len(result.lines) == len(run("dissect", good, "--format", "json").lines)
    assert f"{copy}: not read, as it has the same bytes as {good}" in result.err


def test_standard_input(run, good, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(good.read_bytes())))
    result = run("dissect", "-", "--format", "json")
    assert (result.status, len(result.lines)) == (0, 12)


def on_port_5673(
    tmp_path: Path, first: int, *, again: bool = False, lost: int | None = None
) -> Path:
    """The talk on another port from a packet on; again: and a second one that is complete."""
    sides = [(int(who == "server"), octets) for who, octets in TALK]
    sent = builder.packets(sides, port=5673)[first:]
    if lost is not None:
        del sent[lost]
    if again:
        sent += builder.packets(sides, port=5673, client=40001)
    path = tmp_path / "other.pcap"
    path.write_bytes(builder.pcap(sent))
    return path


@pytest.mark.parametrize(("first", "lost"), [(6, None), (0, 2)])
def test_a_port_without_a_protocol_header_is_named(run, tmp_path, first: int, lost: int | None):
    """It began before the recording, or the packet with the header was lost."""
    path = on_port_5673(tmp_path, first, lost=lost)
    result = run("errors", path)
    assert result.status == 1
    assert result.err.endswith("; frames of AMQP were sent to port 5673: --ports 5673)\n")
    assert run("messages", "--ports", "5673", path, "--format", "json").out.count("\n") == 2


def test_connections_before_the_first_header_of_a_port_are_reported(run, tmp_path):
    path = on_port_5673(tmp_path, 5, again=True)
    notice = "not read: connections on port 5673 that began before the recording"
    assert notice in run("errors", path).err
    assert "--ports 5672,5673 reads them" in run("messages", path).err
    assert "not read" not in run("messages", "--ports", "5672,5673", path).err


def test_a_complete_connection_on_another_port_needs_no_words(run, tmp_path):
    result = run("messages", on_port_5673(tmp_path, 0))
    assert (result.status, result.err) == (0, "")


def test_other_protocols_on_other_ports_are_no_amqp(run, tmp_path):
    page = b"HTTP/1.1 200 OK\r\n\r\n" + bytes(range(256)) * 40
    sent = builder.packets([(0, b"GET / HTTP/1.1\r\n\r\n"), *[(1, page)] * 20], port=8080)
    path = tmp_path / "web.pcap"
    path.write_bytes(builder.pcap(sent))
    assert "frames of AMQP" not in run("errors", path).err


def test_options_before_the_file(run, tmp_path):
    path = on_port_5673(tmp_path, 0)
    result = run("--ports", "5673", path)
    assert (result.status, result.out) == (0, "")
    assert "nothing was found" in result.err
    wrong = run("--ports", "5673", "errors", path)
    assert wrong.status == 2
    assert f"options follow the command: amqpcodec errors --ports 5673 {path}" in wrong.err
    assert "did you mean '--ports'?" in run("--prots", "5673", path).err
