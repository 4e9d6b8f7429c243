"""connection_name of dissect at the levels frame and message: as events have it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("rich")

from amqpcodec import capture  # noqa: E402
from tests.paths import REPO  # noqa: E402
from tests.support import event_talk as talk  # noqa: E402
from tests.support.recording import packets, pcap  # noqa: E402

RECORDING = REPO / "demo" / "kombu_celery.pcap.gz"


@pytest.mark.parametrize("level", ["frame", "message"])
def test_names_are_those_of_events(level: str, run: Any) -> None:
    events = pa.table(capture.read(RECORDING, "event", ["connection", "connection_name"]))
    names = {row["connection"]: row["connection_name"] for row in events.to_pylist()}
    fields = ("--fields", "connection,connection_name", "--format", "json")
    result = run("dissect", RECORDING, "--level", level, *fields)
    rows = [json.loads(line) for line in result.out.splitlines()]
    assert result.status == 0
    assert len(rows) > 500
    assert len(names) > 1
    for row in rows:
        assert row["connection_name"] == names[row["connection"]]


def test_names_choose_and_order_rows(run: Any, tmp_path: Path) -> None:
    first = packets([*talk.login(name="a"), *talk.open_channel()])
    second = packets([*talk.login(name="b"), *talk.open_channel()], client=40001)
    path = tmp_path / "talk.pcap"
    path.write_bytes(pcap([*first, *second]))
    fields = ("--fields", "connection_name,method", "--format", "json")
    result = run("dissect", path, "--where", 'connection_name == "b"', *fields)
    rows = [json.loads(line) for line in result.out.splitlines()]
    assert {row["connection_name"] for row in rows} == {"b"}
    assert "connection.start-ok" in {row["method"] for row in rows}
    ordered = run("dissect", path, "--sort", "-connection_name", "--limit", "1", *fields)
    assert json.loads(ordered.out)["connection_name"] == "b"


def test_files_that_are_read_as_they_come(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "talk.pcap"
    path.write_bytes(pcap(packets(talk.login())))
    result = run("dissect", "--follow", path, "--fields", "connection_name")
    assert result.status == 2
    assert "name files that have ended" in result.err


def test_no_capture_is_said_once(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"no capture at all " * 10)
    result = run("dissect", path, "--fields", "connection_name")
    assert result.status == 2
    assert result.err.count("neither pcap nor pcapng") == 1
