"""Every command with rows, in both families: each format says the same, each option is taken."""

from __future__ import annotations

import csv
import io
import json

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("rich")

import pyarrow.parquet as pq

from amqpcodec.cli.arguments import EXAMPLES, QUESTIONS
from tests.cli.test_questions_unit import SHOP
from tests.support import recording as builder
from tests.support.v1_talk import path_of

COMMANDS = {
    **{command: (command,) for command in QUESTIONS if command != "diagnose"},
    "errors one by one": ("errors", "--all"),
    "dissect": ("dissect",),
    "dissect messages": ("dissect", "--level", "message"),
    "dissect events": ("dissect", "--level", "event"),
    "show": ("show", "20"),
}


@pytest.fixture(params=["0-9-1", "1.0"])
def family(request, tmp_path):
    """A recording of either, and how it is read."""
    if request.param == "1.0":
        return (path_of("tx"), "--ports", "5681")
    path = tmp_path / "shop.pcap"
    path.write_bytes(builder.pcap(builder.dialogue(SHOP)))
    return (path,)


@pytest.fixture(params=COMMANDS)
def command(request, family):
    return (*COMMANDS[request.param], *family)


def headings(run, command) -> list[str]:
    """Of the table; of a tree, and of a table without rows, which have none, all columns."""
    lines = run(*command).lines
    columns = run(*command, "--format", "csv").lines[0].split(",")
    if command[0] == "show" or not lines:
        return columns
    # What all rows say stands in a line above.
    names = lines[0].split()
    return names if set(names) <= set(columns) or command[0] == "dissect" else lines[1].split()


def test_every_form_says_the_same(run, query, command, tmp_path):
    rows = query(*command)
    out = tmp_path / "out.csv"
    assert run(*command, "-o", out).status == 0
    listed = list(csv.DictReader(io.StringIO(out.read_text())))
    assert len(listed) == len(rows)
    for plain, row in zip(listed, rows, strict=True):
        assert list(plain) == list(row)
        for name, value in row.items():
            if isinstance(value, str | int) and not isinstance(value, bool):
                assert plain[name] == str(value)
    out = tmp_path / "out.parquet"
    assert run(*command, "-o", out).status == 0
    table = pq.read_table(out)
    assert table.num_rows == len(rows)
    assert set(table.column_names) >= {name for row in rows for name in row}
    out = tmp_path / "out.json"
    assert run(*command, "-o", out).status == 0
    assert [json.loads(line) for line in out.read_text().splitlines()] == rows
    result = run(*command)
    assert len(result.lines) >= len(rows)
    assert run(*command, "-o", tmp_path / "out.doc").status == 2
    assert not (tmp_path / "out.doc").exists()


def test_headings_are_names(run, query, command):
    names = headings(run, command)
    assert names
    for name in names:
        only = ("--where", name, "--sort", name, "--fields", name)
        rows = query(*command, *only)
        values = [row[name] for row in query(*command, "--fields", name)]
        missing = sum(value is None or value is False or value == [] for value in values)
        assert len(rows) == len(values) - missing
    wrong = f"{names[-1]}x"
    for option in ("--where", "--fields", "--sort"):
        result = run(*command, option, wrong)
        assert result.status == 2
        assert f"{option}: there is no column {wrong!r}; did you mean {names[-1]!r}?" in result.err


def test_limit_and_sort(run, query, command):
    name = headings(run, command)[0]
    rows = query(*command, "--fields", name)
    assert query(*command, "--fields", name, "--limit", 2) == rows[:2]
    up, down = (
        query(*command, "--fields", name, "--sort", f"{name}{how}") for how in ("", ":desc")
    )
    values = [row[name] for row in up]
    assert values == sorted(row[name] for row in rows)
    assert [row[name] for row in down] == values[::-1]
    assert query(*command, "--fields", name, "--sort", f"-{name}", "--limit", 1) == down[:1]


def test_a_part_of_the_time(run, query, command):
    if command[0] == "show":
        assert run(*command, "--since", "+1s").status == 2
        return
    assert query(*command, "--since", "+0s", "--until", "+1000h") == query(*command)
    late = run(*command, "--since", "+1000h", "--format", "json")
    assert late.status == 0
    commands_with_state = {"unacked", "topology", "connections"}  # what is still so then
    assert late.out == "" or command[0] in commands_with_state


def test_clocks(run, query, command):
    plain = query(*command)
    assert query(*command, "--utc") == plain
    for clock in ("--local", "--relative"):
        other = query(*command, clock)
        assert len(other) == len(plain)
        times = {
            name
            for row, shown in zip(plain, other, strict=True)
            for name in row
            if row[name] != shown[name]
        }
        assert times <= {
            *("time", "timestamp", "timestamp_last", "first_event", "last_event"),
            *("began_at", "delivered_at", "first_begun", "last_begun", "last_ended"),
        }


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "replay"])
def test_the_example_of_help_is_taken(run, family, name):
    words = {"show": ("show", 20, *family), "fields": ("fields",)}.get(name, (name, *family))
    result = run(*words, "--where", EXAMPLES[name])
    assert result.status == 0
    assert EXAMPLES[name] in run(name, "--help").out


@pytest.mark.parametrize("name", ["", *QUESTIONS, *("dissect", "show", "stats", "fields"),
                                  *("report", "replay", "completion")])  # fmt: skip
def test_help_fits_80_columns(run, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "80")
    result = run(*filter(None, [name]), "--help")
    assert max(map(len, result.lines)) < 80
    assert "...." not in result.out
