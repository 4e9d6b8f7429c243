"""The data source on a server of S3's protocol, by options fs.*; and empty files."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")
pytest.importorskip("moto")

from amqpcodec import spark as amqp  # noqa: E402
from tests.capture.test_s3_session import options  # noqa: E402, F401
from tests.spark.frames import RECORDING, rows_of  # noqa: E402

KEY = ("packet_offset", "position")


@pytest.fixture
def captures(spark, options: Iterator[dict[str, str]]):  # noqa: F811
    amqp.register(spark)
    return lambda: spark.read.format("amqp_capture").options(**options)


def test_files_of_a_bucket(spark, captures):
    local = captures().option("fields", "*").load(str(RECORDING)).drop("file", "connection")
    for path, times in (("s3a://bucket/day/b.pcap", 1), ("s3://bucket/day", 2)):
        frames = captures().options(recursiveFileLookup=True, fields="*").load(path)
        assert frames.drop("file", "connection").distinct().count() == local.distinct().count()
        assert frames.count() == times * local.count()
    chosen = captures().schema("channel int, frame binary").load("s3://bucket/day/*.gz")
    assert rows_of(chosen, "frame") == rows_of(local.select("channel", "frame"), "frame")


def test_counts_and_what_is_not_there(spark, captures, options):  # noqa: F811
    files = {
        row.file: row for row in amqp.capture_stats(spark, "s3://bucket/day", options).collect()
    }
    assert set(files) == {"s3://bucket/day/a.pcap.gz", "s3://bucket/day/b.pcap"}
    assert all(row.damaged is None and row.packets > 100 for row in files.values())
    with pytest.raises(Exception, match=r"PATH_NOT_FOUND.*s3://bucket/night"):
        captures().load("s3://bucket/night").count()
    with pytest.raises(Exception, match=r"no option 'fs.s3a.acces.key'"):
        captures().option("fs.s3a.acces.key", "x").load("s3://bucket/day").count()


def test_a_file_of_no_bytes(spark, captures, tmp_path):
    (tmp_path / "empty.pcap").write_bytes(b"")
    reader = spark.read.format("amqp_capture").option("mode", "FAILFAST")
    assert reader.load(str(tmp_path)).count() == 0
    with pytest.raises(Exception, match="of the host 'otherhost'"):
        reader.load(f"file://otherhost{tmp_path}").count()
