"""A file system of the user's, on tasks."""

from __future__ import annotations

import gzip

import pytest

fs = pytest.importorskip("pyarrow.fs")
pytest.importorskip("pyspark")

from amqpcodec import capture  # noqa: E402
from amqpcodec import spark as amqp  # noqa: E402
from tests.spark.frames import RECORDING  # noqa: E402
from tests.support.trace_logs import json_line  # noqa: E402


@pytest.fixture(params=["pyarrow", "fsspec"])
def below(request, tmp_path):
    """One of a folder that no path names."""
    day = tmp_path / "store" / "day"
    day.mkdir(parents=True)
    (day / "a.pcap").write_bytes(gzip.decompress(RECORDING.read_bytes()))
    (day / "all.log").write_bytes(json_line("published", b"x"))
    if request.param == "pyarrow":
        return fs.SubTreeFileSystem(str(day.parent), fs.LocalFileSystem())
    dirfs = pytest.importorskip("fsspec.implementations.dirfs")
    return dirfs.DirFileSystem(str(day.parent), fs=pytest.importorskip("fsspec").filesystem("file"))


def test_rows_ranges_counts_and_traces(spark, below, tmp_path):
    expected = sum(map(len, capture.read(RECORDING, fields=["method"])))
    range_options = {"stateLocation": str(tmp_path / "states"), "maxPartitionBytes": "64k"}
    [index] = amqp.index_captures(spark, "day/*.pcap", range_options, filesystem=below).collect()
    assert index.ranges > 1
    frames = amqp.read_captures(
        spark, "day/*.pcap", {**range_options, "fields": "file"}, filesystem=below
    )
    rows = frames.collect()
    assert frames.rdd.getNumPartitions() == index.ranges
    assert ({row.file for row in rows}, len(rows)) == ({index.file}, expected)
    [counted] = amqp.capture_stats(spark, index.file, filesystem=below).collect()
    assert (counted.damaged, counted.packets > 100) == (None, True)
    assert amqp.read_traces(spark, "day/all.log", filesystem=below).count() > 0


def test_what_is_refused(spark, below):
    with pytest.raises(ValueError, match=r"a file system has its own options: fs\.anonymous"):
        amqp.read_captures(spark, "day", {"fs.anonymous": "true"}, filesystem=below)
    with pytest.raises(ValueError, match="no option 'port'"):
        amqp.capture_stats(spark, "day", {"port": "1"}, filesystem=below)
    with pytest.raises(FileNotFoundError, match="PATH_NOT_FOUND"):
        amqp.read_captures(spark, "night", filesystem=below)
