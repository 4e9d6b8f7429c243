"""``amqpcodec sql``: a query of the user's own over events."""

from __future__ import annotations

import builtins
import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rich")
pytest.importorskip("duckdb")

import pyarrow.parquet as pq

from tests.support.event_talk import write
from tests.support.shop_talk import WORKER, killed, of_client, without, working

Run = Callable[..., Any]
COUNT = (
    "SELECT event, count(*) AS n FROM events WHERE event IN ('delivered', 'settled')"
    " GROUP BY event ORDER BY n"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write(tmp_path / "talk.pcap", killed())


def test_a_table(run: Run, path: Path) -> None:
    result = run("sql", path, COUNT)
    assert result.status == 0
    assert [line.split() for line in result.lines] == [
        ["event", "n"],
        ["settled", "4"],
        ["delivered", "6"],
    ]


def test_every_format(run: Run, path: Path, tmp_path: Path) -> None:
    rows = [{"event": "settled", "n": 4}, {"event": "delivered", "n": 6}]
    result = run("sql", path, COUNT, "--format", "json")
    assert [json.loads(line) for line in result.lines] == rows
    result = run("sql", path, COUNT, "--format", "csv")
    assert list(csv.reader(result.lines)) == [["event", "n"], ["settled", "4"], ["delivered", "6"]]
    assert run("sql", path, COUNT, "-o", tmp_path / "out.parquet").status == 0
    assert pq.read_table(tmp_path / "out.parquet").to_pylist() == rows


def test_the_query_is_the_last_word(run: Run, path: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other.pcap", working())
    count = "SELECT count(DISTINCT connection) AS n FROM events"
    for words in (
        ("--format", "json", path, other, count),
        (path, other, count, "--format", "json"),
        (path, other, "--format", "json", count),
        (path, "--files", "separate", other, "--format", "json", count),
    ):
        result = run("sql", *words)
        assert (result.status, result.out.strip()) == (0, '{"n":5}'), words


def test_a_wrong_query_is_refused_before_anything_is_read(run: Run, tmp_path: Path) -> None:
    missing = tmp_path / "missing.pcap"
    result = run("sql", missing, "SELECT colour FROM events")
    assert result.status == 2
    assert '"colour" not found' in result.err
    assert run("sql", missing, "SELEC").status == 2
    assert "a query is one SELECT" in run("sql", missing, "").err
    assert "arguments are required: FILE" in run("sql", "SELECT 1").err


def test_columns_of_one_name_have_numbers(run: Run, path: Path) -> None:
    result = run("sql", path, "SELECT 1 AS a, 2 AS a, 3 AS a", "--format", "json")
    assert json.loads(result.out) == {"a": 1, "a_2": 2, "a_3": 3}
    wrong = run("sql", path, "SELECT queu FROM events").err
    assert "\\n" not in wrong
    assert "^" not in wrong


def test_a_missing_file(run: Run, tmp_path: Path) -> None:
    result = run("sql", tmp_path / "missing.pcap", COUNT)
    assert (result.status, result.out) == (2, "")


def test_no_rows_have_columns(run: Run, path: Path) -> None:
    result = run("sql", path, "SELECT queue, 1 AS n FROM events LIMIT 0", "--format", "csv")
    assert (result.status, result.lines) == (0, ["queue,n"])


def test_damage_is_status_1(run: Run, tmp_path: Path) -> None:
    talk = working()
    damaged = write(tmp_path / "bad.pcap", without(talk, of_client(talk, WORKER)[-4]))
    result = run("sql", damaged, "SELECT count(*) AS n FROM events")
    assert result.status == 1
    assert "1 with an error" in result.err


def test_values_that_not_every_format_has(run: Run, path: Path) -> None:
    values = "1::utinyint AS u, 1.5::decimal(3, 1) AS d, DATE '2026-01-02' AS day, NULL AS none"
    big = "170141183460469231731687303715884105727::hugeint AS big"
    events = "FROM events WHERE event = 'published'"
    query = f"SELECT sum(body_size) AS n, {values}, {big}, {{'d': TIME '10:00'}} AS s {events}"
    result = run("sql", path, query, "--format", "json")
    assert json.loads(result.out) == {
        **{"n": 24, "u": 1, "d": "1.5", "day": "2026-01-02", "none": None},
        **{"big": "170141183460469231731687303715884105727"},
        "s": "{'d': datetime.time(10, 0)}",
    }
    for form in ("table", "csv"):
        assert run("sql", path, query, "--format", form).status == 0


def test_duckdb_is_missing(run: Run, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = builtins.__import__

    def without_duckdb(name: str, *more: Any, **options: Any) -> Any:
        if name == "duckdb":
            raise ImportError("No module named 'duckdb'", name="duckdb")
        return plain(name, *more, **options)

    for name in ("sql", "answers", "queries"):
        monkeypatch.delitem(__import__("sys").modules, f"amqpcodec.cli.{name}", raising=False)
    monkeypatch.setattr(builtins, "__import__", without_duckdb)
    result = run("sql", path, COUNT)
    assert result.status == 2
    assert 'pip install "amqpcodec[cli]"' in result.err
