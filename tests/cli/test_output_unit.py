"""Names of columns, what may be asked of them, and where rows go."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
import subprocess

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("rich")

import pyarrow.parquet as pq

from amqpcodec import v0_9_1 as amqp
from tests.cli.conftest import TALK, started
from tests.support import recording as builder


def rows(run, *arguments: object) -> list[dict]:
    result = run(*arguments, "--format", "json")
    assert result.status == 0
    return [json.loads(line) for line in result.lines]


@pytest.mark.parametrize("level", ["frame", "message"])
@pytest.mark.parametrize("protocol", [(), ("--protocol", "0-9-1")])
def test_headings_of_dissect_are_names(run, good, level, protocol):
    head = run("dissect", good, "--level", level, *protocol).lines[0].split()
    assert "details" in head
    for name in head:
        more = ("--where", name, "--sort", f"-{name}", "--fields", name)
        assert run("dissect", good, "--level", level, *protocol, *more).status == 0


def test_short_names_are_the_long_ones(run, good):
    where = "ch == 2 and from == client and conn == 0 and kind == header and size == 6"
    (row,) = rows(run, "dissect", good, "--where", where, "--fields", "n,time,timestamp,size")
    assert row["time"] == row["timestamp"]
    assert (row["n"], row["size"]) == (9, 6)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("metod", "method"),
        ("routing_kye", None),
        ("propertys", "properties"),
        ("conection", "conn"),
    ],
)
def test_names_that_are_none_get_the_nearest(run, good, name, near):
    for option in ("--where", "--fields", "--sort"):
        result = run("dissect", good, option, name)
        assert result.status == 2
        assert f"{option}: there is no column {name!r}" in result.err
        assert "did you mean" in result.err or "amqpcodec fields" in result.err
        assert near is None or "did you mean 'conn" in result.err or f"{near!r}?" in result.err


def test_columns_of_other_commands_are_none_here(run, good):
    result = run("connections", good, "--where", "routing_key == x")
    assert result.status == 2
    assert "there is no column 'routing_key'" in result.err


@pytest.mark.parametrize(
    ("where", "row_count"),
    [
        ("payload ~ irst", 1),
        ("payload ~ '^f[a-z]+t$'", 1),
        ("payload ~ 0x00ff", 1),
        ("payload ~ '\\x00\\xff'", 1),
        ("payload !~ irst", 11),
        ("payload ~ 0x5b", 1),
        ("size >= 5 and kind == body", 2),
        ("details ~ eu.de", 1),
        ("arguments.heartbeat", 2),
    ],
)
def test_bytes_are_searched(run, good, where, row_count):
    assert len(rows(run, "dissect", good, "--where", where)) == row_count


def test_bodies_are_searched(run, good):
    messages = rows(run, "dissect", good, "--level", "message", "--where", "body ~ irst")
    assert [row["routing_key"] for row in messages] == ["eu.de"]


def test_text_is_searched_in_bytes_as_utf8(run, tmp_path):
    body = amqp.encode_message(1, amqp.Basic.Publish(), None, "größer".encode())
    path = tmp_path / "umlaut.pcap"
    path.write_bytes(builder.pcap(builder.dialogue([*TALK[:4], ("client", body)])))
    assert len(rows(run, "dissect", path, "--where", "payload ~ größe")) == 1


def test_parts_are_columns(run, good):
    names = "arguments.routing_key,headers.n,properties.headers.who,properties.content_type"
    shown = ("--fields", names, "--where", "ch == 1 and kind in (basic.publish, header)")
    publish, header = rows(run, "dissect", good, *shown)
    assert publish["arguments.routing_key"] == "eu.de"
    assert header["headers.n"] == "5"
    assert (header["properties.headers.who"], header["properties.content_type"]) == (
        "eve",
        "text/plain",
    )
    table = run("dissect", good, *shown)
    assert table.lines[0].split() == names.split(",")
    assert table.lines[1].split() == ["eu.de"]
    listed = list(csv.reader(io.StringIO(run("dissect", good, *shown, "--format", "csv").out)))
    assert listed[1:] == [["eu.de", "", "", ""], ["", "5", "eve", "text/plain"]]
    ordered = rows(run, "dissect", good, "--sort=-headers.n,n", "--fields", "n,headers.n")
    assert [row["n"] for row in ordered][:3] == [6, 9, 1]


def test_csv_of_everything(run, good, tmp_path):
    out = tmp_path / "all.csv"
    assert run("dissect", good, "-o", out) == (0, "", "")
    listed = list(csv.DictReader(io.StringIO(out.read_text())))
    expected = rows(run, "dissect", good)
    assert len(listed) == len(expected)
    assert list(listed[0]) == list(expected[0])
    for plain, row in zip(listed, expected, strict=True):
        assert (plain["timestamp"], plain["frame"]) == (row["timestamp"], row["frame"])
        assert json.loads(plain["flags"]) == row["flags"]
        assert (json.loads(plain["arguments"]) if plain["arguments"] else None) == row["arguments"]


@pytest.mark.parametrize("command", ["dissect", "errors", "top"])
def test_unknown_endings_are_refused(run, good, command, tmp_path):
    out = tmp_path / "x.xlsx"
    result = run(command, good, "-o", out)
    assert result.status == 2
    assert "the ending says no format" in result.err
    assert ".csv" in result.err
    assert not out.exists()
    assert run(command, good, "-o", out, "--format", "csv").status == 0
    assert out.exists()


def test_relative_times(run, good, tmp_path):
    frames = rows(run, "dissect", good, "--relative", "--fields", "time", "--limit", 3)
    assert [row["time"] for row in frames] == [0.002, 0.003, 0.004]  # after TCP's opening
    out = tmp_path / "x.parquet"
    assert run("dissect", good, "--relative", "--fields", "time", "-o", out).status == 0
    times = pq.read_table(out).column("time").to_pylist()
    assert [time.total_seconds() for time in times][:3] == [0.002, 0.003, 0.004]


@pytest.mark.parametrize("ending", ["json", "csv", "parquet"])
def test_a_file_has_its_name_when_it_is_whole(tmp_path, ending):
    """What is read from a pipe that stays open is written, but not under the name."""
    reader, writer = os.pipe()
    out = tmp_path / f"out.{ending}"
    process = started("dissect", "-", "-o", out, stdin=reader, stderr=subprocess.PIPE)
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        pipe.write(builder.pcap(builder.dialogue(TALK)))
        pipe.flush()
        deadline = 200
        while not list(tmp_path.glob(".out.*.part")) and deadline and process.poll() is None:
            deadline -= 1
            try:
                process.wait(0.05)
            except subprocess.TimeoutExpired:
                pass
        assert list(tmp_path.glob(".out.*.part"))
        assert not out.exists()
    assert process.wait(60) == 0
    assert process.stderr is not None
    process.stderr.close()
    assert [path.name for path in tmp_path.iterdir()] == [out.name]
    assert out.stat().st_size > 100


def test_what_fails_leaves_the_file_that_was_there(run, good, tmp_path):
    out = tmp_path / "x.json"
    out.write_text("before")
    out.chmod(0o640)
    assert run("dissect", good, "-o", out, "--where", "channel == one").status == 2
    assert out.read_text() == "before"
    assert run("dissect", good, "-o", out).status == 0
    assert len(out.read_text().splitlines()) == 12
    assert stat.S_IMODE(out.stat().st_mode) == 0o640
    link = tmp_path / "link.json"
    link.symlink_to(out)
    assert run("dissect", good, "-o", link, "--limit", 1).status == 0
    assert link.is_symlink()
    assert len(out.read_text().splitlines()) == 1


def test_limit_ends_the_reading(run, good, bad):
    assert len(rows(run, "dissect", good, "--limit", 3)) == 3
    assert rows(run, "dissect", good, "--limit", 0) == []
    assert run("dissect", good, "--limit", "x").status == 2


def test_fields_are_listed(run):
    listed = rows(run, "fields")
    commands = {row["command"] for row in listed}
    assert {"dissect", "connections", "errors", "top"} <= commands
    names = {row["name"] for row in listed if row["command"] == "dissect"}
    assert {"time", "timestamp", "packet", "payload", "performative", "kind"} <= names
    errors = [row["name"] for row in rows(run, "fields", "errors")]
    assert errors[:4] == ["event", "outcome", "initiator", "connection_name"]
    assert run("fields", "eror").status == 2
    assert rows(run, "fields", "top", "--where", "name ~ ^unk")[0]["name"] == "unknown_sizes"
