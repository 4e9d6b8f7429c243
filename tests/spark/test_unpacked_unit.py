"""Limits of the bytes that a compressed file becomes, as options of Spark, without a session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from amqpcodec import capture  # noqa: E402
from amqpcodec.spark.planning.options import Options  # noqa: E402
from amqpcodec.spark.source import stats  # noqa: E402
from tests.spark.frames import RECORDING  # noqa: E402
from tests.spark.test_ranges_unit import rows, tasks  # noqa: E402
from tests.support.mangle import unpacked  # noqa: E402
from tests.support.seekable import in_frames  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::amqpcodec.capture.CaptureWarning")

MOST = 60_000
TOLD = f"the compressed file becomes larger than maxDecompressedBytes={MOST} allows, after byte"


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    path = tmp_path / "x.pcap.zst"
    path.write_bytes(in_frames(unpacked(RECORDING), 5000))
    return path


def test_rows_before_the_limit(packed: Path, tmp_path: Path) -> None:
    """By one task, by one for each range, and as capture.read gives them."""
    reader = capture.read(packed, order="none", max_decompressed_bytes=MOST)
    expected = [row for batch in reader for row in pa.record_batch(batch).to_pylist()]
    assert rows(packed, maxDecompressedBytes=MOST) == expected
    range_options = {"stateLocation": str(tmp_path / "states"), "maxPartitionBytes": "9k"}
    _, parts = tasks(packed, maxDecompressedBytes=MOST, **range_options)
    assert len(parts) == -(-MOST // (9 << 10))
    assert rows(packed, maxDecompressedBytes=MOST, **range_options) == expected
    assert len(rows(packed, **range_options)) > len(expected)


def test_failfast_names_the_limit(packed: Path) -> None:
    with pytest.raises(capture.CaptureError, match=TOLD):
        rows(packed, maxDecompressedBytes=MOST, mode="FAILFAST")
    assert rows(packed, maxDecompressedBytes="1g", maxCompressionRatio=0, mode="FAILFAST")


@pytest.mark.parametrize("files", ["auto", "rotation", "taps"])
def test_stats_name_the_limit(packed: Path, files: str) -> None:
    reader_options = Options(
        {"path": str(packed.parent), "maxDecompressedBytes": str(MOST), "files": files}
    )
    packed.with_name("y.pcap.zst").write_bytes(packed.read_bytes())
    schema = stats.AmqpCaptureStats({"maxDecompressedBytes": str(MOST)}).schema()
    reader = stats._Reader(reader_options, schema)
    stats_rows = [
        row
        for part in reader.partitions()
        for record_batch in reader.read(part)
        for row in record_batch.to_pylist()
    ]
    assert stats_rows
    assert all(TOLD in row["damaged"] for row in stats_rows)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            {"maxDecompressedBytes": "many"},
            "option maxDecompressedBytes is a size such as 64m, not 'many'",
        ),
        (
            {"frameBytes": "128m"},
            "option frameBytes is from 1 to 67108864, not 134217728",
        ),
        ({"max_compression_ratio": "-1"}, "option maxCompressionRatio is a number from 0, not"),
        ({"maxCompressionRatio": "-1"}, "option maxCompressionRatio is a number from 0, not '-1'"),
        (
            {"maxCompresionRatio": "1"},
            "no option 'maxcompresionratio'; did you mean maxCompressionRatio",
        ),
    ],
)
def test_refused(packed: Path, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        rows(packed, **options)
