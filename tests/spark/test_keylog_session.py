"""Connections over TLS in Spark: the option keylog, which no plan shows."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")
pytest.importorskip("cryptography")

from amqpcodec import spark as amqp
from tests.capture.test_tls_unit import EXPECTED
from tests.support import recording as make
from tests.support.plain_talk import TALK
from tests.support.recording import packets
from tests.support.tls_records import secrets_block
from tests.support.tls_talk import Talker, split_segments


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A capture on the port of TLS, and its key log."""
    talker = Talker()
    folder = tmp_path_factory.mktemp("tls")
    segments = split_segments(talker.talk(TALK), (700,))
    (folder / "tls.pcap").write_bytes(make.pcap(packets(segments, port=5671)))
    (folder / "keys.log").write_bytes(talker.keys)
    return folder / "tls.pcap", folder / "keys.log"


def test_a_path_or_the_lines(spark, recorded, capfd):
    amqp.register(spark)
    path, keys = recorded
    for keylog in (str(keys), keys.read_text()):
        read = spark.read.format("amqp_capture").option("keylog", keylog).option("redact", False)
        frames = read.option("fields", "direction,frame,error").load(str(path))
        rows = frames.orderBy("frame").collect()
        assert [row["error"] for row in rows if row["error"]] == []
        assert sorted((row["direction"], bytes(row["frame"])) for row in rows) == sorted(EXPECTED)
        frames.explain("extended")
    shown = "".join(capfd.readouterr())
    for line in keys.read_text().splitlines()[1:]:
        assert line.split()[2] not in shown


def test_ranges_of_one_capture(spark, recorded, tmp_path):
    """States are kept between tasks: no key is in them, and all tasks go on."""
    amqp.register(spark)
    path, keys = recorded
    read = spark.read.format("amqp_capture").option("keylog", str(keys)).option("redact", False)
    read = read.option("stateLocation", str(tmp_path)).option("maxPartitionBytes", "5k")
    frames = read.option("fields", "direction,frame,error").load(str(path))
    assert frames.rdd.getNumPartitions() > 5
    assert sorted((row["direction"], bytes(row["frame"])) for row in frames.collect()) == sorted(
        EXPECTED
    )
    state_bytes = b"".join(
        state_path.read_bytes() for state_path in tmp_path.rglob("*") if state_path.is_file()
    )
    assert state_bytes
    for line in keys.read_text().splitlines()[1:]:
        assert line.split()[2].encode() not in state_bytes
        assert bytes.fromhex(line.split()[2]) not in state_bytes


def test_ranges_of_a_capture_that_brings_its_secrets(spark, tmp_path):
    """They are in its first range alone."""
    amqp.register(spark)
    talker = Talker()
    sent = packets(split_segments(talker.talk(TALK), (700,)), port=5671)
    blocks = [make.enhanced("<", 0, 10**9 + at, packet) for at, packet in enumerate(sent)]
    head = [make.section("<"), make.interface("<", 1), secrets_block(talker.keys)]
    path, states = tmp_path / "tls.pcapng", tmp_path / "states"
    path.write_bytes(b"".join([*head, *blocks]))
    read = spark.read.format("amqp_capture").option("redact", False)
    read = read.option("stateLocation", str(states)).option("maxPartitionBytes", "5k")
    frames = read.option("fields", "direction,frame,error").load(str(path))
    assert frames.rdd.getNumPartitions() > 5
    assert sorted((row["direction"], bytes(row["frame"])) for row in frames.collect()) == sorted(
        EXPECTED
    )


def test_stats_and_captures_in_a_column(spark, recorded):
    path, keys = recorded
    (row,) = amqp.capture_stats(spark, str(path), {"keylog": str(keys)}).collect()
    assert (row["tls_connections"], row["tls_decrypted"], row["tls_reasons"]) == (1, 1, {})
    (row,) = amqp.capture_stats(spark, str(path)).collect()
    assert (row["tls_connections"], row["tls_decrypted"]) == (1, 0)
    files = spark.read.format("binaryFile").load(str(path))
    frames = amqp.decode_captures(files, fields=["frame"], keylog=str(keys))
    assert frames.count() == len(EXPECTED)
