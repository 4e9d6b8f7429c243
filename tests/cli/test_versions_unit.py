"""The command line on captures of AMQP 0-8."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("rich")

from amqpcodec import v0_8
from tests.support import recording as builder


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A client of 0-8, with a file among its messages."""
    data = v0_8.PROTOCOL_HEADER + v0_8.encode(1, v0_8.Basic.Consume(queue="q"))
    properties = v0_8.File.Properties(filename="name")
    data += v0_8.encode_message(1, v0_8.File.Stage(), properties, b"x")
    data += v0_8.encode(0, v0_8.Connection.Close(200, "bye"))
    path = tmp_path / "old.pcap"
    path.write_bytes(builder.pcap([*builder.opening(), builder.client(1001, data)]))
    return path


def dissect(run: Callable[..., Any], *arguments: object) -> tuple[int, list[dict[str, Any]]]:
    result = run("dissect", *arguments, "--format", "json")
    return result.status, [json.loads(line) for line in result.lines]


METHODS = [None, "basic.consume", "file.stage", None, None, "connection.close"]


def test_the_version_is_found(run: Callable[..., Any], old: Path) -> None:
    status, rows = dissect(run, old)
    assert [row["method"] for row in rows] == METHODS
    # The file's name has no column among those of 0-9-1: that is told.
    assert status == 1
    assert ["filename" in (row["error"] or "") for row in rows] == [
        name == "f" for name in "---f--"
    ]


def test_the_version_is_named(run: Callable[..., Any], old: Path) -> None:
    status, rows = dissect(run, old, "--protocol", "0-8")
    assert status == 0
    assert [row["method"] for row in rows] == METHODS
    assert rows[3]["properties"]["filename"] == "name"


def test_stats(run: Callable[..., Any], old: Path) -> None:
    result = run("stats", old)
    assert result.status == 0
    assert "connection.close" in result.out
