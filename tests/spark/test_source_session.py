"""The data source amqp_capture gives what capture.read gives of the same files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
pa = pytest.importorskip("pyarrow")

from pyspark.sql.types import StructType  # noqa: E402

from amqpcodec import capture  # noqa: E402
from amqpcodec import spark as amqp  # noqa: E402
from amqpcodec.spark.planning.options import Options  # noqa: E402
from amqpcodec.spark.source import data_source as source  # noqa: E402
from tests.paths import shared_dir  # noqa: E402
from tests.spark.frames import RECORDING, rotated, rows_of  # noqa: E402

KEY = ("file", "packet_offset", "position", "direction")
SECTIONS = {"header", "delivery_annotations", "message_annotations", "properties", "body", "value"}
SECTIONS |= {"application_properties", "footer", "frame"}


@pytest.fixture(scope="module")
def captures(spark):
    """A reader of the format, as spark.read.format(...) gives one, each time it is called."""
    amqp.register(spark)
    return lambda: spark.read.format("amqp_capture")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Three captures, one of them in a folder below; and elsewhere one beside a text."""
    import gzip

    folder = tmp_path_factory.mktemp("captures")
    octets = gzip.decompress(RECORDING.read_bytes())
    (folder / "good" / "below").mkdir(parents=True)
    (folder / "good" / "one.pcap").write_bytes(octets)
    shutil.copy(RECORDING, folder / "good" / "two.pcap.gz")
    (folder / "good" / "below" / "three.pcap").write_bytes(octets)
    (folder / "bad").mkdir()
    (folder / "bad" / "a.pcap").write_bytes(octets)
    (folder / "bad" / "b.pcap").write_bytes(b"this is a text and no capture at all")
    return folder


def direct(*paths: Path, **arguments):
    """The rows that capture.read gives, file by file."""
    rows = []
    for path in paths:
        for batch in capture.read(str(path), **arguments):
            rows += pa.record_batch(batch).to_pylist()
    return sorted(rows, key=lambda row: [row[name] for name in KEY])


def all_columns(reader, *paths):
    return rows_of(reader.option("fields", "*").load(*paths), *KEY)


def test_a_file(captures):
    rows = all_columns(captures(), str(RECORDING))
    assert rows == direct(RECORDING)
    assert len(rows) > 900


def test_columns_and_types_are_those_of_the_reader(captures):
    from amqpcodec.spark.planning.columns import spark_type

    batch = next(iter(capture.read(str(RECORDING))))
    reader_types = [
        (column.name, spark_type(column.type).simpleString())
        for column in pa.record_batch(batch).schema
    ]
    schema = captures().option("fields", "*").load(str(RECORDING)).schema
    assert [(column.name, column.dataType.simpleString()) for column in schema] == reader_types


@pytest.mark.parametrize(
    ("level", "protocol", "large"),
    [
        ("frame", None, {"arguments", "properties", "payload", "frame"}),
        ("frame", "1.0", {"arguments", "payload", "frame"}),
        ("message", None, {"properties", "body"}),
        ("message", "1.0", SECTIONS),
    ],
)
def test_without_fields_no_large_column_is_read(captures, level, protocol, large):
    options = {"level": level, "protocol": protocol}
    frames = captures().options(**options).load(str(RECORDING))
    names = pa.schema(capture.schema(level, protocol=protocol)).names
    assert large < set(names)
    if level == "message":  # the ids alone
        at = names.index("properties")
        names[at : at + 1] = ["message_id", "correlation_id", "reply_to"]
        large = large - {"properties"}
    assert frames.columns == [name for name in names if name not in large]
    if protocol is None and level == "frame":
        rows = direct(RECORDING, level=level, fields=frames.columns)
        assert rows_of(frames, *KEY) == rows


def test_all_columns_and_more(captures):
    names = pa.schema(capture.schema()).names
    more = captures().option("fields", "queue,*,headers.n:long,method").load(str(RECORDING))
    names.remove("method")
    assert more.columns == ["queue", *names, "headers.n:long", "method"]
    expected = direct(RECORDING, fields=more.columns)
    assert rows_of(more, *KEY) == expected
    with pytest.raises(Exception, match=r"no column 'chanel'.*'\*' in fields is all of the former"):
        captures().option("fields", "chanel,*").load(str(RECORDING))
    with pytest.raises(Exception, match=r"no column 'chanel'.*'\*' in fields is all of the former"):
        captures().schema("chanel int").load(str(RECORDING)).count()


def test_folders_globs_and_lists(captures, folder):
    good = folder / "good"
    one, two, three = good / "one.pcap", good / "two.pcap.gz", good / "below" / "three.pcap"

    def files(reader, *paths):
        rows = reader.option("fields", "file").load(*paths).distinct().collect()
        return sorted(row.file for row in rows)

    both = sorted([str(one), str(two)])
    assert files(captures(), str(good)) == both
    assert files(captures(), [str(one), str(two)]) == both
    assert files(captures(), str(good / "*.pcap")) == [str(one)]
    assert files(captures().option("pathGlobFilter", "*.gz"), str(good)) == [str(two)]
    assert files(captures().option("RECURSIVEFILELOOKUP", True), str(good)) == sorted(
        map(str, [one, two, three])
    )
    os.utime(one, (1_000_000_000, 1_000_000_000))
    assert files(captures().option("modifiedBefore", "2001-12-31"), str(good)) == [str(one)]
    assert files(captures().option("modifiedAfter", "2001-12-31"), str(good)) == [str(two)]


@pytest.mark.parametrize("octets", ["1", "1g"])
def test_one_task_a_file_or_one_for_small_ones(captures, folder, octets):
    good = folder / "good"
    frames = captures().option("MaxPartitionBytes", octets).load(str(good))
    assert frames.rdd.getNumPartitions() == (2 if octets == "1" else 1)
    expected = direct(good / "one.pcap", good / "two.pcap.gz", fields=frames.columns)
    assert rows_of(frames, *KEY) == expected


def test_a_schema_prunes_and_orders(captures):
    properties = StructType().add("message_id", "string").add("type", "string")
    schema = StructType().add("method", "string").add("packet_offset", "long")
    schema = schema.add("properties", properties).add("channel", "long")
    frames = captures().schema(schema).load(str(RECORDING))
    assert frames.schema == schema
    expected = [
        {
            "method": row["method"],
            "packet_offset": row["packet_offset"],
            "properties": row["properties"]
            and {name: row["properties"][name] for name in ("message_id", "type")},
            "channel": row["channel"],
        }
        for row in direct(RECORDING)
    ]
    assert sorted(rows_of(frames), key=str) == sorted(expected, key=str)
    ddl = captures().schema("direction STRING, flags ARRAY<STRING>").load(str(RECORDING))
    assert ddl.columns == ["direction", "flags"]
    assert {row.direction for row in ddl.collect()} == {"client", "server"}


def test_only_what_is_asked_for_reaches_the_reader(monkeypatch):
    calls = []
    read = capture.read

    def spy(path, **arguments):
        calls.append(arguments)
        return read(path, **arguments)

    monkeypatch.setattr(capture, "read", spy)
    options = {"path": str(RECORDING), "Fields": "channel,file", "PORTS": "5672, 1", "redact": "no"}
    with pytest.raises(ValueError, match="option redact is true or false"):
        source.AmqpCapture(options).schema()
    options["redact"] = "FALSE"
    data_source = source.AmqpCapture(options)
    reader = data_source.reader(data_source.schema())
    [task] = reader.partitions()
    assert sum(rows.num_rows for rows in reader.read(task)) > 900
    [arguments] = calls
    assert arguments["fields"] == ["channel", "file"]
    assert arguments["ports"] == (5672, 1)
    assert arguments["redact"] is False


def test_credentials_stay_hidden_unless_asked_for(captures):
    def start_ok(reader):
        frames = reader.option("fields", "method,arguments,frame").load(str(RECORDING))
        return [row for row in frames.collect() if row.method == "connection.start-ok"]

    hidden, unredacted = start_ok(captures()), start_ok(captures().option("redact", False))
    assert hidden
    assert not [row for row in hidden if b"\0guest\0guest" in bytes(row.frame)]
    assert [row for row in unredacted if b"\0guest\0guest" in bytes(row.frame)]
    assert not {bytes(row.frame) for row in hidden} & {bytes(row.frame) for row in unredacted}


def test_a_rotation_is_one_chain(captures, tmp_path):
    """Cut between packets of open connections; by name the files come backward."""
    for number, path in enumerate(rotated(RECORDING, tmp_path, 6)):
        path.rename(tmp_path / f"cap{9 - number}.pcap")
    fields = ["connection_index", "direction", "method", "frame", "error"]
    reader = captures().option("fields", ",".join(fields))
    frames = reader.load(str(tmp_path))
    assert frames.rdd.getNumPartitions() == 1
    assert rows_of(frames) == direct_rows(sorted(map(str, tmp_path.iterdir())), fields)
    assert rows_of(reader.option("files", "rotation").load(str(tmp_path))) == rows_of(frames)
    complete_rows = direct_rows(str(RECORDING), fields)
    assert sorted(rows_of(frames), key=repr) == sorted(complete_rows, key=repr)
    # Read alone, connections that go on in another file are new ones there.
    names = captures().option("fields", "connection")
    chained, alone = (
        names.option("files", files).load(str(tmp_path)).distinct().count()
        for files in ("AUTO", "separate")
    )
    assert chained == 7 < alone


def direct_rows(source, fields):
    rows = []
    for batch in capture.read(source, fields=fields):
        rows += pa.record_batch(batch).to_pylist()
    return rows


def test_ports(captures):
    assert captures().option("ports", "1,2").load(str(RECORDING)).count() == 0


def test_sql(spark, captures, folder):
    captures()
    spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW cap USING amqp_capture "
        f"OPTIONS (path '{folder}/good', Fields 'method,file', pathGlobFilter '*.pcap')"
    )
    [row] = spark.sql("SELECT count(*) AS n, count(DISTINCT file) AS f FROM cap").collect()
    assert (row.n, row.f) == (len(direct(folder / "good" / "one.pcap")), 1)


def test_no_capture_at_all(captures, folder):
    bad = folder / "bad"
    with pytest.raises(Exception, match=r"CaptureError(.|\n)*b\.pcap"):
        captures().load(str(bad)).count()
    remaining_rows = all_columns(captures().option("ignorecorruptfiles", "true"), str(bad))
    assert remaining_rows == direct(bad / "a.pcap")


@pytest.fixture
def truncated(tmp_path) -> Path:
    """A capture whose last record is cut, as that of a tcpdump that still runs."""
    import gzip

    path = tmp_path / "cut.pcap"
    path.write_bytes(gzip.decompress(RECORDING.read_bytes())[:-40_000])
    return path


def test_a_cut_capture_keeps_what_came_before(captures, truncated):
    rows = all_columns(captures(), str(truncated))
    assert rows == direct(truncated)
    assert len(rows) > 500
    strict = captures().option("mode", "FAILFAST").load(str(truncated))
    with pytest.raises(Exception, match=r"CaptureError: the last record is cut(.|\n)*cut\.pcap"):
        strict.where("error IS NULL").count()
    lenient = captures().option("mode", "FAILFAST").option("ignoreCorruptFiles", True)
    assert lenient.load(str(truncated)).count() == len(rows)


@pytest.mark.parametrize(
    "name", ["raw_errors.pcap.gz", "raw_alltypes.pcap.gz", "aiopika.pcapng.gz"]
)
def test_shared_recordings(captures, name):
    shared = shared_dir()
    if shared is None:
        pytest.skip("the shared recordings are not here")
    path = shared / "captures" / name
    rows = all_columns(captures(), str(path))
    assert rows == direct(path)
    assert len(rows) > 50


def test_files_that_went_away(captures, folder, tmp_path):
    shutil.copy(folder / "bad" / "a.pcap", tmp_path / "a.pcap")
    shutil.copy(folder / "bad" / "a.pcap", tmp_path / "b.pcap")
    reader = source.CaptureRows(Options({"path": str(tmp_path), "fields": "file"}), None)
    [task] = reader.partitions()
    (tmp_path / "a.pcap").unlink()
    with pytest.raises(FileNotFoundError):
        list(reader.read(task))
    options = {"path": str(tmp_path), "fields": "file", "ignoreMissingFiles": "true"}
    rows = source.CaptureRows(Options(options), None).read(task)
    assert {name for batch in rows for name in batch.column(0).to_pylist()} == {
        str(tmp_path / "b.pcap")
    }


def test_an_empty_folder(captures, tmp_path):
    frames = captures().load(str(tmp_path))
    assert frames.collect() == []
    assert "method" in frames.columns


# ---- bad frames ----

SCHEMA = "method string, error string, packet_offset bigint, _corrupt_record binary"


@pytest.fixture(scope="module")
def damaged(tmp_path_factory) -> Path:
    """The recording with one frame's class id spoilt, whose length and end stay right."""
    import gzip

    octets = gzip.decompress(RECORDING.read_bytes())
    publish = bytes.fromhex("003c0028")
    at = octets.index(publish, len(octets) // 2)
    path = tmp_path_factory.mktemp("damaged") / "bad.pcap"
    path.write_bytes(octets[:at] + bytes.fromhex("00ee0028") + octets[at + 4 :])
    return path


def test_permissive_is_the_default(captures, damaged):
    bad_rows = captures().schema(SCHEMA).load(str(damaged)).where("error IS NOT NULL").collect()
    expected = [row for row in direct(damaged) if row["error"] is not None]
    assert [(r.error, bytes(r._corrupt_record)) for r in bad_rows] == [
        (row["error"], row["frame"]) for row in expected
    ]
    assert len(bad_rows) == 1
    good = captures().schema(SCHEMA).load(str(damaged)).where("error IS NULL")
    assert good.where("_corrupt_record IS NOT NULL").count() == 0


def test_dropmalformed(captures, damaged):
    reader = captures().option("MODE", "dropmalformed").option("fields", "method,packet_offset")
    rows = [row for row in direct(damaged) if row["error"] is None]
    assert reader.load(str(damaged)).count() == len(rows)
    assert len(rows) == len(direct(damaged)) - 1


def test_failfast(captures, damaged):
    (bad,) = [
        row
        for rows in capture.read(
            str(damaged), fields=["packet", "packet_offset", "position", "error"]
        )
        for row in pa.record_batch(rows).to_pylist()
        if row["error"]
    ]
    place = (
        f"packet {bad['packet']} .packet_offset {bad['packet_offset']}., position {bad['position']}"
    )
    with pytest.raises(Exception, match=rf"bad\.pcap: {place}: .*238"):
        captures().option("mode", "FAILFAST").load(str(damaged)).count()


def test_corrupt_record_under_another_name(captures, damaged):
    reader = captures().option("columnNameOfCorruptRecord", "bad").schema("bad string, channel int")
    [row] = reader.load(str(damaged)).where("bad IS NOT NULL").collect()
    assert bytes.fromhex(row.bad)[7:9] == b"\x00\xee"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"fields": "nothing"}, "no column 'nothing'"),
        ({"fields": "row"}, "no column 'row'"),
        ({"mode": "LENIENT"}, "mode is"),
        ({"level": "packet"}, "level"),
        ({"ports": "amqp"}, "option ports"),
        ({"ports": "70000"}, "option ports is numbers from 1 to 65535"),
        ({"protocol": "7-7"}, "no protocol '7-7'"),
        ({"redact": "maybe"}, "option redact is true or false"),
        ({"ignoreCorruptFiles": "maybe"}, "option ignoreCorruptFiles is true or false"),
        ({"fieldTables": "xml"}, "field_tables is 'json', 'variant', 'map', not 'xml'"),
        ({"MAXPARTITIONBYTES": "some"}, "option maxPartitionBytes is a size"),
        ({"modifiedAfter": "now"}, "option modifiedAfter is a time"),
        ({"recursiveFileLookup": "deep"}, "option recursiveFileLookup is true or false"),
        ({"files": "always"}, "option files is auto, rotation, separate or taps, not 'always'"),
        (
            {"files": "rotation", "ignoreCorruptFiles": "true"},
            "option files rotation needs each file",
        ),
    ],
)
def test_refused_at_load(captures, options, problem):
    with pytest.raises(Exception, match=problem):
        captures().options(**options).load(str(RECORDING))


@pytest.mark.parametrize(
    ("options", "path", "problem"),
    [
        ({}, "/nothing/there", r"\[PATH_NOT_FOUND\] Path does not exist: /nothing/there"),
        ({}, "file://other/x", "of the host"),
        ({"ignoreMissingFiles": True}, "/nothing/*.pcap", "PATH_NOT_FOUND"),
    ],
)
def test_paths_are_looked_at_when_they_are_loaded(captures, options, path, problem):
    """As Spark's own readers do; with a schema of the user's, when the rows are wanted."""
    with pytest.raises(Exception, match=problem):
        captures().options(**options).load(path)
    frames = captures().options(**options).schema("method string").load(path)
    with pytest.raises(Exception, match=problem):
        frames.count()


def test_a_schema_with_another_type(captures):
    with pytest.raises(Exception, match="channel is int, which the schema calls string"):
        captures().schema("channel string").load(str(RECORDING)).count()


def test_a_schema_and_fields(captures):
    reader = captures().schema("channel int").option("fields", "channel,method")
    with pytest.raises(Exception, match="a schema or the option fields"):
        reader.load(str(RECORDING)).count()


# ---- capture_stats ----


def test_stats(spark, captures, folder, truncated):
    good = folder / "good"
    rows = rows_of(
        amqp.capture_stats(spark, [str(folder / "bad"), str(good), str(truncated)]), "file"
    )
    by_file = {row["file"]: row for row in rows}
    paths = [good / "one.pcap", good / "two.pcap.gz", folder / "bad" / "a.pcap", truncated]
    assert set(by_file) == {*map(str, paths), str(folder / "bad" / "b.pcap")}
    for path in paths:
        [expected] = capture.stats(str(path))["files"]
        row = by_file[str(path)]
        assert set(row) == set(expected)
        assert {name: dict(v) if isinstance(v, list) else v for name, v in row.items()} == expected
    assert by_file[str(truncated)]["damaged"].startswith("the last record is cut")
    assert by_file[str(good / "one.pcap")]["damaged"] is None
    text = by_file[str(folder / "bad" / "b.pcap")]
    assert "neither pcap nor pcapng" in text["damaged"]
    assert text["packets"] is None


def test_stats_take_options(spark, folder):
    options = {"PATHGLOBFILTER": "three*", "recursiveFileLookup": True, "ports": "1"}
    [row] = rows_of(amqp.capture_stats(spark, str(folder / "good"), options))
    assert row["file"].endswith("three.pcap")
    assert (row["connections"], row["frames"]) == (0, [])
