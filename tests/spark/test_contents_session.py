"""Captures in a binary column give what the same files give as files."""

from __future__ import annotations

import gzip

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from amqpcodec import capture  # noqa: E402
from amqpcodec import spark as amqp  # noqa: E402
from tests.spark.frames import RECORDING, rows_of  # noqa: E402

KEY = ("file", "packet_offset", "position")
PLAIN = gzip.decompress(RECORDING.read_bytes())


@pytest.fixture(scope="module")
def stored(spark):
    values = [RECORDING.read_bytes(), None, b"", PLAIN[:-9], b"no capture"]
    names = ["packed", "null", "empty", "cut", "other"]
    columns = {"id": range(5), "path": names, "content": pa.array(values, pa.binary())}
    return spark.createDataFrame(pa.table(columns))


@pytest.mark.parametrize("level", ["frame", "message"])
def test_as_files(spark, stored, level, tmp_path):
    path = tmp_path / "packed"
    path.write_bytes(RECORDING.read_bytes())
    expected = [
        row for rows in capture.read(str(path), level) for row in pa.record_batch(rows).to_pylist()
    ]
    one = stored.where("id = 0")
    frames = amqp.decode_captures(one, name="path", fields="*", keep=["id"], level=level)
    rows = rows_of(frames, *KEY)
    assert len(rows) == len(expected) > 300
    for row, other in zip(
        rows, sorted(expected, key=lambda r: [r[k] for k in KEY[1:]]), strict=True
    ):
        assert (row.pop("id"), row.pop("file")) == (0, "packed")
        same = {k: v for k, v in other.items() if k != "file"}
        assert row == same


def test_without_fields_no_large_column_is_read(spark, stored):
    frames = amqp.decode_captures(stored, name="path")
    assert frames.columns == amqp.read_captures(spark, str(RECORDING)).columns
    assert not {"frame", "payload", "arguments", "properties"} & set(frames.columns)
    more = amqp.decode_captures(stored, name="path", fields=["*", "queue"])
    assert more.columns == [*pa.schema(capture.schema()).names, "queue"]


def test_files_of_binary_file(spark, tmp_path):
    (tmp_path / "a.pcap").write_bytes(PLAIN)
    files = spark.read.format("binaryFile").load(str(tmp_path))
    frames = amqp.decode_captures(
        files, "content", name="path", fields="file string, method string"
    )
    assert frames.columns == ["file", "method"]
    assert {row.file for row in frames.select("file").distinct().collect()} == {
        f"file:{tmp_path}/a.pcap"
    }


def test_modes(stored):
    rows = rows_of(amqp.decode_captures(stored, name="path", fields=["file", "error", "frame"]))
    refused = [row for row in rows if row["error"]]
    assert [(row["file"], row["frame"]) for row in refused] == [("cut", None), ("other", None)]
    assert "the last record is cut" in refused[0]["error"]
    assert "neither pcap nor pcapng" in refused[1]["error"]
    dropped = amqp.decode_captures(stored, name="path", fields=["file"], mode="dropmalformed")
    assert dropped.count() == len(rows) - 2
    for number, problem in ((3, "cut: the last record is cut"), (4, "neither pcap nor pcapng")):
        strict = amqp.decode_captures(stored.where(f"id = {number}"), name="path", mode="FAILFAST")
        with pytest.raises(Exception, match=problem):
            strict.count()


@pytest.mark.filterwarnings("ignore::amqpcodec.capture.CaptureWarning")
def test_what_packed_values_become_is_bounded(spark):
    stored = spark.createDataFrame([(bytearray(gzip.compress(PLAIN)),)], "content binary")
    unlimited = amqp.decode_captures(stored, fields=["error"])
    limited = amqp.decode_captures(stored, fields=["error"], max_decompressed_bytes=len(PLAIN) // 2)
    limited_rows = rows_of(limited)
    assert 1 < len(limited_rows) < unlimited.count()
    assert [row["error"] for row in limited_rows if row["error"]] == [limited_rows[-1]["error"]]
    assert f"max_decompressed_bytes={len(PLAIN) // 2} allows" in limited_rows[-1]["error"]
    with pytest.raises(ValueError, match="max_compression_ratio is from 0 on, not -1"):
        amqp.decode_captures(stored, max_compression_ratio=-1)


def test_failfast_without_a_name_says_which_row(spark):
    bad = bytearray(PLAIN)
    publish = bad.find(bytes.fromhex("003c0028"))
    bad[publish + 2] = 0x63  # no such method
    values = pa.array([PLAIN, bytes(bad)], pa.binary())
    stored = spark.createDataFrame(pa.table({"id": ["x", "y"], "content": values})).coalesce(1)
    strict = amqp.decode_captures(stored, keep=["id"], fields=["method"], mode="FAILFAST")
    with pytest.raises(Exception, match=r"partition 0, row 1, id 'y': packet \d+ \(packet_offset"):
        strict.count()


def test_what_is_refused_before_a_job_starts(stored):
    for options, problem in (
        ({"fields": ["chanel"]}, "no column 'chanel'"),
        ({"mode": "strict"}, "mode is"),
        ({"level": "row"}, "level"),
        ({"keep": ["id"], "fields": "id int"}, "no column 'id'"),
        ({"ports": [70000]}, "port"),
    ):
        with pytest.raises(ValueError, match=problem):
            amqp.decode_captures(stored, **options)
    with pytest.raises(TypeError, match="'path' is string"):
        amqp.decode_captures(stored, "path")
    with pytest.raises(TypeError, match="name is text, not bigint"):
        amqp.decode_captures(stored, name="id")
