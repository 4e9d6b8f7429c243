"""Every limit of captures as an option of Spark's readers, by their tasks: enough, and too few."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from amqpcodec.capture._limits import Limits  # noqa: E402
from amqpcodec.capture._ports import server_ports  # noqa: E402
from amqpcodec.spark.planning import reading  # noqa: E402
from amqpcodec.spark.planning.columns import plan  # noqa: E402
from amqpcodec.spark.planning.options import Options, limit_names, limits_of  # noqa: E402
from amqpcodec.spark.planning.rows import capture_columns, with_error  # noqa: E402
from amqpcodec.spark.source import binary_column, stats  # noqa: E402
from tests.spark.test_ranges_unit import rows, tasks  # noqa: E402
from tests.support.limit_cases import CASES, EACH, is_good, only_a_multiple, verdict  # noqa: E402

__all__ = ["only_a_multiple"]
pytestmark = pytest.mark.filterwarnings("ignore::amqpcodec.capture.CaptureWarning")


def spelled(name: str) -> str:
    """As Spark spells it: ``reorderBytes``."""
    return name.title().replace("_", "").replace(name[0].upper(), name[0], 1)


def written(name: str, folder: Path) -> Path:
    path = folder / "x.pcap"
    path.write_bytes(CASES[name].octets)
    return path


def test_names() -> None:
    assert sorted(limit_names(Limits)) == sorted(map(spelled, CASES))
    assert limit_names(Limits)[:3] == [
        "maxDecompressedBytes",
        "maxCompressionRatio",
        "reorderBytes",
    ]


@EACH
def test_rows(tmp_path: Path, name: str) -> None:
    _, enough, too_few, level = CASES[name]
    path = written(name, tmp_path)
    complete_rows = rows(path, level=level, **{spelled(name): enough})
    assert all(map(is_good, complete_rows))
    less = rows(path, level=level, **{spelled(name).upper(): str(too_few)})
    assert sum(map(is_good, less)) < len(complete_rows)


@EACH
def test_ranges(tmp_path: Path, name: str) -> None:
    """What was planned with other limits is not used: rows are those of one task."""
    _, enough, too_few, level = CASES[name]
    path = written(name, tmp_path)
    range_options = {
        "stateLocation": str(tmp_path / "states"),
        "maxPartitionBytes": 200,
        "level": level,
    }
    for limit in (enough, too_few):
        limits = {spelled(name): limit}
        _, parts = tasks(path, **range_options, **limits)
        assert len(parts) > 1 or name.startswith(("max_", "record"))
        assert rows(path, **range_options, **limits) == rows(path, level=level, **limits)


@EACH
def test_stats(tmp_path: Path, name: str) -> None:
    _, enough, too_few, level = CASES[name]
    path = written(name, tmp_path)

    def counted(limit: int) -> list[dict[str, Any]]:
        arguments = {"path": str(path), spelled(name): str(limit)}
        reader = stats._Reader(Options(arguments), stats.AmqpCaptureStats(arguments).schema())
        batches = [rows for part in reader.partitions() for rows in reader.read(part)]
        return pa.Table.from_batches(batches).to_pylist()

    assert (counted(too_few) == counted(enough)) is (level != "frame")


@EACH
def test_values_of_a_column(name: str) -> None:
    """What decode_captures has its tasks do."""
    octets, enough, too_few, level = CASES[name]
    decode_plan = with_error(
        plan(capture_columns(level, None), [verdict(level)], None, None), "PERMISSIVE", level
    )

    def good(limit: int) -> int:
        limits = Limits(**{name: limit})
        job = binary_column._Job(
            decode_plan, 0, level, server_ports(None), None, True, "PERMISSIVE", limits
        )
        return sum(
            is_good(row)
            for record_batch in job.captures("", octets)
            for row in record_batch.to_pylist()
        )

    assert good(too_few) < good(enough)


@EACH
def test_text(name: str) -> None:
    option = spelled(name)
    assert getattr(limits_of(Options({option: "7"}), Limits), name) == 7
    if name.endswith("bytes"):
        assert getattr(limits_of(Options({option: "2m"}), Limits), name) == 2 << 20
    with pytest.raises(ValueError, match=f"option {option} is a "):
        limits_of(Options({option: "-1"}), Limits)
    assert option in reading.OPTIONS


def test_what_is_too_large_is_refused() -> None:
    with pytest.raises(ValueError, match="option openConnections is from 1 to 262144, not"):
        limits_of(Options({"openConnections": 262145}), Limits)
    with pytest.raises(ValueError, match="option websocketRatio is a number from 1, not '0'"):
        limits_of(Options({"websocketRatio": 0}), Limits)
