"""The gate on instructions: what is slower, new or gone, and machines without counts."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import pytest

from bench import instructions, v1, v1_columns
from bench.dropins import OPERATIONS, PEERS
from bench.work import WrongResultError


@pytest.mark.parametrize(("now", "slower"), [(102.9, 0), (103.2, 1), (50.0, 0)])
def test_a_row_that_takes_three_percent_more(
    now: float, slower: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert instructions.compare({"decode": 100.0}, {"decode": now}) == slower
    assert ("more than it may" in capsys.readouterr().out) is bool(slower)


def test_new_rows_pass_and_rows_that_are_gone_do_not() -> None:
    assert instructions.compare({}, {"decode": 100.0}) == 0
    assert instructions.compare({"decode": 1.0, "encode": 1.0}, {"decode": 1.0}) == 1


def test_a_row_above_its_limit_is_counted_in_other_layouts(monkeypatch: pytest.MonkeyPatch) -> None:
    # As measured: names of attributes that share a slot of CPython's table, here in layout 0.
    by_layout = {0: {"decode": 8094.0, "encode": 2987.0}, 1: {"decode": 7808.0, "encode": 2965.0}}
    asked = []

    def count(_source: Path, layout: int, chosen: Collection[str] = ()) -> dict[str, float]:
        asked.append((layout, list(chosen)))
        counts = by_layout.get(layout, by_layout[1])
        return {name: counts[name] for name in chosen or counts}

    monkeypatch.setattr(instructions, "count", count)
    before = {"decode": 7686.0, "encode": 3044.0}
    assert instructions.least(Path(), before) == {"decode": 7808.0, "encode": 2987.0}
    assert asked == [(0, []), (1, ["decode"])]


def test_a_row_that_takes_more_in_every_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = iter([120.0, 110.0, 130.0, 105.0, 140.0])
    monkeypatch.setattr(instructions, "count", lambda *_: {"decode": next(counts)})
    now = instructions.least(Path(), {"decode": 100.0})
    assert now == {"decode": 105.0}
    assert instructions.compare({"decode": 100.0}, now) == 1


def test_a_new_row_is_counted_in_every_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = iter([120.0, 110.0, 130.0, 105.0, 140.0])
    monkeypatch.setattr(instructions, "count", lambda *_: {"decode": next(counts)})
    assert instructions.least(Path(), {}) == {"decode": 105.0}


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="there is no valgrind")
def test_a_machine_without_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(instructions, "COUNTS", tmp_path / "instructions.json")
    monkeypatch.setattr("sys.argv", ["instructions"])
    assert instructions.main() == 0
    assert instructions.platform_key() in capsys.readouterr().out


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="there is no valgrind")
def test_a_copy_is_counted_by_its_loop(tmp_path: Path) -> None:
    totals = []
    for size in (1, 1 << 22):
        log = tmp_path / f"{size}.txt"
        command = [sys.executable, "-ISc", f"bytes(bytearray({size}))"]
        subprocess.run(
            [*instructions.valgrind(log), *command], env=instructions.environment(0), check=True
        )
        refs = re.search(r"I +refs: +([\d,]+)", log.read_text(encoding="utf-8"))
        assert refs
        totals.append(int(refs[1].replace(",", "")))
    assert totals[1] - totals[0] < 1 << 22


def test_counts_are_there_for_every_drop_in() -> None:
    names = {f"drop-in {client} {way} W1" for client in PEERS for way in OPERATIONS}
    for key, counts in json.loads(instructions.COUNTS.read_text(encoding="utf-8")).items():
        assert names <= set(counts), key
        assert all(count > 100 for count in counts.values())


def test_counts_are_there_for_every_row_of_1_0() -> None:
    names = {f"1.0 {row}" for row in (*v1.GATES, *v1_columns.ROWS)}
    for key, counts in json.loads(instructions.COUNTS.read_text(encoding="utf-8")).items():
        assert names == {row for row in counts if row.startswith("1.0 ")}, key


@pytest.mark.parametrize("row", ["M1 encode", "M3 decode", "drop-in, transfer decode"])
def test_a_row_of_1_0_that_gives_something_else_is_not_counted(
    row: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = v1.ours()
    if row not in work:
        pytest.skip("the client is not installed")
    monkeypatch.setattr(v1, "ours", lambda: {**work, row: lambda: [b"x"]})
    rows = dict(instructions.v1_rows())
    with pytest.raises(WrongResultError, match=row):
        rows[f"1.0 {row}"].check()


def test_columns_of_1_0_that_lack_a_frame_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    make = v1_columns.transfers
    monkeypatch.setattr(v1_columns, "transfers", lambda source, count: make(source, count - 1))
    rows = dict(instructions.v1_column_rows())
    rows["1.0 performatives, fields"].check()
    with pytest.raises(WrongResultError, match="1999 rows of 2000 frames"):
        rows["1.0 transfers, frame level"].check()
