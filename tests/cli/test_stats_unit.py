"""amqpcodec stats: the reader's counts, for people and for programs."""

from __future__ import annotations

import json

import pytest

from amqpcodec import capture

pytest.importorskip("pyarrow")
pytest.importorskip("rich")


def test_json_is_what_the_reader_counts(run, good):
    result = run("stats", good, "--format", "json")
    assert (result.status, result.err) == (0, "")
    (expected,) = capture.stats(str(good))["files"]
    assert json.loads(result.out) == expected


def test_table_is_a_line_a_number(run, good):
    result = run("stats", good)
    assert (result.status, result.err) == (0, "")
    assert result.lines[0] == str(good)
    (counted,) = capture.stats(str(good))["files"]
    shown = {" ".join(line.split()[:-1]): line.split()[-1] for line in result.lines[1:]}
    assert shown["packets"] == "9"
    numbers = {name: value for name, value in counted.items() if isinstance(value, int)}
    assert numbers
    for name, value in numbers.items():
        assert shown[name.replace("_", " ")] == f"{value:,}"


def test_bad_frames_and_cuts_give_a_status(run, bad, cut):
    assert run("stats", bad).status == 1
    result = run("stats", cut)
    assert result.status == 1
    assert result.lines[0] == str(cut)
    assert result.err.startswith(f"amqpcodec: {cut}: ")


def test_unreadable_files_do_not_keep_others_from_being_counted(run, good, tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("no recording at all, but long enough to be one of them")
    result = run("stats", text, tmp_path / "missing", good, "--format", "json")
    assert result.status == 2
    assert len(result.lines) == 1
    said = result.err.splitlines()
    assert len(said) == 2
    assert str(text) in said[0]
    assert said[1].endswith("missing: No such file or directory")


def test_ports_choose(run, good):
    told = json.loads(run("stats", good, "--ports", "5673", "--format", "json").out)
    assert told["packets"] == 9
    assert sum(told["frames"].values()) == 0


def test_wrong_use(run, good):
    assert run("stats").status == 2
    assert run("stats", good, "--format", "parquet").status == 2
    assert run("stats", good, "--protocol", "7-7").status == 2
