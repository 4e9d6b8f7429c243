"""Questions about a part of a recording, by since and until, as the commands have them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")

from amqpcodec import analysis, capture  # noqa: E402
from amqpcodec.analysis._questions import NAMES  # noqa: E402
from tests.paths import REPO  # noqa: E402

RECORDING = REPO / "demo" / "kombu_celery.pcap.gz"


@pytest.fixture(scope="module")
def part() -> tuple[datetime, datetime]:
    """From a fifth to the half of the recording's events."""
    times = pa.table(capture.read(RECORDING, "event", ["timestamp"])).column(0).to_pylist()
    return times[len(times) // 5], times[len(times) // 2]


@pytest.mark.parametrize("name", NAMES)
def test_the_rows_of_the_command(name: str, part: Any, capfd: Any) -> None:
    pytest.importorskip("rich")
    from amqpcodec.cli.main import main

    since, until = part
    command = ["errors", "--all"] if name == "incidents" else [name]
    times = ["--since", since.isoformat(), "--until", until.isoformat()]
    top = ["--top", "100000"] if name == "top" else []
    main([*command, str(RECORDING), *times, *top, "--format", "json"])
    shown = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    rows = getattr(analysis, name)(RECORDING, since=since, until=until).to_pylist()
    assert len(rows) == len(shown)
    for row, line in zip(rows, shown, strict=True):
        for column, value in row.items():
            if isinstance(value, int | str) and column in line and column != "details":
                assert line[column] == value, column


def test_how_times_are_written(part: Any) -> None:
    since, until = part
    query = "SELECT min(time_us) AS first, max(time_us) AS last, count(*) AS count FROM events"
    expected = analysis.sql(query, RECORDING, since=since, until=until).to_pylist()
    text = since.astimezone(UTC).isoformat().replace("+00:00", "Z")
    elsewhere = until.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert analysis.sql(query, RECORDING, since=text, until=elsewhere).to_pylist() == expected
    [row] = expected
    start = datetime(1970, 1, 1, tzinfo=UTC)
    assert row["first"] >= (since - start) // timedelta(microseconds=1)
    assert row["last"] <= (until - start) // timedelta(microseconds=1)
    [whole] = analysis.sql(query, RECORDING).to_pylist()
    assert whole["count"] > row["count"] > 10
    for one in ({"since": since}, {"until": until}):
        [half] = analysis.sql(query, RECORDING, **one).to_pylist()
        assert whole["count"] > half["count"] > row["count"]


def test_what_is_no_time() -> None:
    with pytest.raises(ValueError, match="since is a time such as"):
        analysis.queues(RECORDING, since="yesterday")
    with pytest.raises(ValueError, match="until has no time zone: 2026-05-01T12:00:00"):
        analysis.queues(RECORDING, until="2026-05-01T12:00:00")
    with pytest.raises(TypeError, match="since is a datetime or a text, not int"):
        analysis.queues(RECORDING, since=5)


def test_traces(tmp_path: Path) -> None:
    from tests.support import trace_logs as logs

    path = tmp_path / "trace.log"
    path.write_bytes(logs.text(b"published", b"one") + logs.text(b"received", b"one"))
    assert analysis.messages(path, since="2026-05-01T12:00:00+02:00").num_rows == 2
    assert analysis.messages(path, since="2026-05-01T12:00:01+02:00").num_rows == 0
