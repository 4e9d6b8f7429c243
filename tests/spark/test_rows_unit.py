"""Options that choose rows leave out what Spark's own filters would."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark.sql.datasource")

from amqpcodec import capture, v0_9_1  # noqa: E402
from amqpcodec.capture._limits import Limits  # noqa: E402
from amqpcodec.capture._ports import server_ports  # noqa: E402
from amqpcodec.spark.planning import reading  # noqa: E402
from amqpcodec.spark.planning.columns import plan  # noqa: E402
from amqpcodec.spark.planning.options import Options  # noqa: E402
from amqpcodec.spark.planning.rows import by_mode, capture_columns, with_error  # noqa: E402
from amqpcodec.spark.source.binary_column import _Job  # noqa: E402
from tests.spark.frames import RECORDING  # noqa: E402
from tests.spark.test_ranges_unit import rows, tasks, unpacked  # noqa: E402
from tests.support import recording as make  # noqa: E402


@pytest.fixture(scope="module")
def all_rows() -> list[dict[str, Any]]:
    return rows(RECORDING)


def test_methods_directions_connections(all_rows: list[dict[str, Any]]) -> None:
    methods = {"basic.ack", "basic.publish"}
    selected_rows = rows(RECORDING, methods="basic.ack, basic.publish")
    assert selected_rows == [row for row in all_rows if row["method"] in methods]
    connection = all_rows[500]["connection"]
    selected_rows = rows(RECORDING, directions="server", connections=connection)
    assert selected_rows == [
        row for row in all_rows if row["direction"] == "server" and row["connection"] == connection
    ]
    assert 0 < len(selected_rows) < len(all_rows)


def test_times(all_rows: list[dict[str, Any]]) -> None:
    times = sorted(row["timestamp"] for row in all_rows)
    start, end = times[300], times[700]
    options = {"timestampFrom": start.isoformat(), "timestampBefore": end.isoformat()}
    selected_rows = rows(RECORDING, **options)
    assert selected_rows == [row for row in all_rows if start <= row["timestamp"] < end]
    assert 0 < len(selected_rows) < len(all_rows)


def test_other_rows_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[int] = []

    def noting(record_batch: pa.RecordBatch, *arguments: Any) -> pa.RecordBatch:
        decoded.append(record_batch.num_rows)
        return by_mode(record_batch, *arguments)

    monkeypatch.setattr(reading, "by_mode", noting)
    selected_rows = rows(
        RECORDING, methods="basic.ack", directions="client", timestampFrom="2000-01-01"
    )
    assert sum(decoded) == len(selected_rows) > 0
    assert not rows(RECORDING, connections="none such")
    assert sum(decoded) == len(selected_rows)


def test_failfast_is_for_rows_that_are_not_wanted_too(tmp_path: Path) -> None:
    path = unpacked(RECORDING, tmp_path)
    data = path.read_bytes()
    at = data.index(bytes.fromhex("003c0028"), len(data) // 2)
    path.write_bytes(data[:at] + bytes.fromhex("00ee0028") + data[at + 4 :])
    assert all(row["error"] is None for row in rows(path, methods="basic.ack"))
    with pytest.raises(ValueError, match=r"packet_offset \d+.*238"):
        rows(path, methods="basic.ack", mode="FAILFAST")


def test_columns_stay_those_that_were_asked_for(
    all_rows: list[dict[str, Any]], tmp_path: Any
) -> None:
    path = unpacked(RECORDING, tmp_path)
    options = {"fields": "channel,error", "methods": "basic.ack", "timestampFrom": "2026-01-01"}
    acks = [row for row in all_rows if row["method"] == "basic.ack"]
    expected = [{"channel": row["channel"], "error": row["error"]} for row in acks]
    assert rows(path, **options) == expected
    range_options = {
        "stateLocation": str(tmp_path / "states"),
        "maxPartitionBytes": "9k",
        "mode": "FAILFAST",
    }
    assert rows(path, **options, **range_options) == expected


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"directions": "up"}, "option directions is client or server, not 'up'"),
        ({"timestampFrom": "noon"}, "option timestampFrom is a time as"),
        ({"method": "basic.ack"}, "no option 'method'; did you mean methods"),
    ],
)
def test_refused(options: dict[str, str], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        rows(RECORDING, **options)


def mixed(tmp_path: Path) -> Path:
    """A recording, and in each other packet one of a link type that is not read."""
    path = tmp_path / "mixed.pcapng"
    blocks = [make.section(), make.interface("<", 1), make.interface("<", 127)]
    for number, packet in enumerate(make.packets([(0, b"AMQP\0\0\x09\x01")])):
        blocks.append(make.enhanced("<", 0, number, packet))
        blocks.append(make.enhanced("<", 1, number, bytes(40)))
    path.write_bytes(b"".join(blocks))
    return path


TEXT = "3 packets were skipped: their link types are not read (IEEE802_11_RADIOTAP (127): 3)"


@pytest.mark.filterwarnings("ignore::amqpcodec.capture.CaptureWarning")
def test_link_types_that_are_not_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = mixed(tmp_path)
    for mode in ("PERMISSIVE", "DROPMALFORMED"):
        caplog.clear()
        assert len(rows(path, mode=mode)) == 1
        assert f"{path}: {TEXT}" in caplog.text
    with pytest.raises(capture.CaptureError, match="IEEE802_11_RADIOTAP"):
        rows(path, mode="FAILFAST")


@pytest.mark.filterwarnings("ignore::amqpcodec.capture.CaptureWarning")
def test_link_types_of_captures_in_a_column(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = mixed(tmp_path).read_bytes()
    plan_ = with_error(plan(capture_columns("frame", None), ["method"], None, None), "FAILFAST")
    job = _Job(plan_, 0, "frame", server_ports((5672,)), None, True, "PERMISSIVE", Limits())
    assert sum(batch.num_rows for batch in job.captures("x", data)) == 1
    assert TEXT in caplog.text
    with pytest.raises(capture.CaptureError, match="IEEE802_11_RADIOTAP"):
        list(replace(job, mode="FAILFAST").captures("x", data))


@pytest.mark.filterwarnings("ignore::amqpcodec.capture.CaptureWarning")
def test_nothing_on_the_ports(caplog: pytest.LogCaptureFixture) -> None:
    assert rows(RECORDING, ports="5673") == []
    assert f"{RECORDING}: no frame of AMQP on port 5673 (619 packets: other ports," in caplog.text
    assert "a protocol header was sent to 5672)" in caplog.text


@pytest.mark.filterwarnings("ignore::amqpcodec.capture.CaptureWarning")
@pytest.mark.parametrize("cut", [False, True])
def test_a_file_without_amqp_is_one_line_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, cut: bool
) -> None:
    """Also where several tasks read ranges of it: the one that comes to its end logs it."""
    path = tmp_path / "other.pcap"
    path.write_bytes(make.pcap(make.packets([(0, b"GET / HTTP/1.1")] * 300, port=80)))
    options = {"stateLocation": str(tmp_path / "states"), "maxPartitionBytes": "4k"} if cut else {}
    assert len(tasks(path, **options)[1]) > 1 or not cut
    assert rows(path, **options) == []
    lines = [text for text in caplog.messages if "no frame of AMQP" in text]
    assert lines == [
        f"{path}: no frame of AMQP on port 5672, and no protocol header on any other "
        "(302 packets: other ports); ports= names the servers' ports"
    ]


def talk(port: int, client: int) -> list[bytes]:
    hello, frame = v0_9_1.PROTOCOL_HEADER, v0_9_1.encode(0, v0_9_1.Heartbeat())
    return make.packets([(0, hello), *[(1, frame), (0, frame)] * 100], port, client)


@pytest.mark.parametrize("level", ["frame", "message"])
def test_ports_of_protocol_headers(tmp_path: Path, level: str) -> None:
    """By one task, by ranges, by ranges whose pass follows outlines, in a column."""
    path = tmp_path / "x.pcap"
    path.write_bytes(make.pcap(talk(5673, 40000) + talk(5672, 40001) + talk(5674, 40002)))
    expected = rows(path, ports="5672,5673,5674", level="frame")
    assert len(expected) == 603
    fields = "connection_index,packet_offset,position,src,flags,error,frame"
    named = rows(path, ports="5672,5673,5674", fields=fields)
    assert rows(path, fields=fields) == named
    options = {"stateLocation": str(tmp_path / "states"), "maxPartitionBytes": "4k"}
    reader, parts = tasks(path, fields=fields, level=level, **options)
    assert len(parts) > 5
    cut = [row for part in parts for found in reader.read(part) for row in found.to_pylist()]
    assert cut == rows(path, fields=fields, level=level)
    assert len(rows(path, ports="5672", fields=fields, **options)) == 201
    assert len(rows(path, fields=fields, **options)) == 603
    plan_ = plan(capture_columns("frame", None), ["method"], None, None)
    job = _Job(plan_, 0, "frame", server_ports(None), None, True, "PERMISSIVE", Limits())
    assert sum(batch.num_rows for batch in job.captures("x", path.read_bytes())) == 603


def test_states_of_ports_by_default_are_those_of_port_5672() -> None:
    """A stream whose checkpoint 0.1.0 wrote goes on: it named 5672 where nothing was said."""
    default, named, other = (
        reading.ReadOptions.of(Options(options), None)
        for options in ({}, {"ports": "5672"}, {"ports": "5673"})
    )
    assert default.depends() == named.depends() != other.depends()
    assert default.depends()[1] == (5672,)
    assert (default.ports.detect, named.ports.detect) == (True, False)
