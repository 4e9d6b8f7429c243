"""``amqpcodec dissect --level event``: the events of capture.read."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("rich")

import pyarrow.parquet as pq  # noqa: E402

from amqpcodec import capture  # noqa: E402
from tests.events.test_damage_properties import TALKS  # noqa: E402
from tests.paths import REPO  # noqa: E402
from tests.support.event_talk import login, open_channel, write  # noqa: E402
from tests.support.recording import packets  # noqa: E402

RECORDING = REPO / "demo" / "kombu_celery.pcap.gz"
EVENTS = ("dissect", RECORDING, "--level", "event")


def test_a_file_has_the_rows_and_columns_of_capture_read(run, tmp_path: Path) -> None:
    out = tmp_path / "events.parquet"
    assert run(*EVENTS, "-o", out).status == 0
    expected = pa.table(capture.read(str(RECORDING), "event"))
    written = pq.read_table(out)
    assert written.column_names == expected.column_names
    assert written.to_pylist() == expected.to_pylist()


def test_conditions_and_columns(run) -> None:
    condition = "event = settled and outcome = rejected and elapsed_us > 0"
    fields = "n,time,queue,certainty,details"
    lines = run(*EVENTS, "--where", condition, "--fields", fields, "--format", "json").lines
    rows = [json.loads(line) for line in lines]
    assert len(rows) == 5
    assert {row["queue"] for row in rows} == {"tasks.q"}
    assert list(rows[0]) == fields.split(",")


def test_columns_of_other_levels_are_refused(run) -> None:
    for name in ("kind", "size", "method", "headers.n"):
        result = run(*EVENTS, "--fields", name)
        assert (result.status, result.out) == (2, "")
        assert f"there is no column {name!r}" in result.err


def test_a_gap_is_bad_data(run, tmp_path: Path) -> None:
    talk = TALKS["channels"]
    path = write(tmp_path / "gap.pcap", [*talk[:20], *talk[21:]])
    result = run("dissect", path, "--level", "event", "--where", "event = gap")
    assert result.status == 1
    assert len(result.lines) == 2


def test_a_trace_has_events_too(run, tmp_path: Path) -> None:
    log = tmp_path / "all.log"
    log.write_text('{"routing_key": "publish.orders", "body_b64": "", "properties": {}}\n')
    result = run("dissect", log, "--level", "event")
    assert result.status == 0
    assert "published" in result.out
    assert "a trace has no settlements" in result.err


@pytest.mark.parametrize("name", ["two\nlines", "a,b", 'a "word"', "\r\nend\r", "=1+1"])
def test_names_of_connections_in_csv(run: Any, tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "talk.pcap", packets([*login(name=name), *open_channel()]))
    out = tmp_path / "out.csv"
    run("dissect", "--level", "event", path, "-o", out, "--csv-raw")
    with out.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["connection_name"] for row in rows] == [name] * 3
    assert {row["event"] for row in rows} >= {"connection-opened", "channel-opened"}
    shown = run("connections", path, "--format", "csv").out
    [row] = csv.DictReader(io.StringIO(shown, newline=""))
    assert row["connection_name"].removeprefix("'") == name
