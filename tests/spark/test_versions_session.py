"""Spark reads AMQP 0-9, 0-8 and versions with overlays: protocol="0-9", "0-8", "0-9+qpid"."""

from __future__ import annotations

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

import amqpcodec  # noqa: E402
from amqpcodec import batch, capture, v0_8, v0_9  # noqa: E402
from amqpcodec import spark as amqp  # noqa: E402
from tests.spark.frames import framed, rows_of  # noqa: E402
from tests.support import recording as make  # noqa: E402


def frames_of(version: str) -> list[bytes]:
    protocol = amqpcodec.protocol(version)
    content = protocol.File.Properties(filename="name", headers={"n": 1})
    frames = [
        protocol.encode(1, protocol.Basic.Consume(queue="q", ticket=3)),
        protocol.encode(0, protocol.Connection.Close(200, "bye")),
        protocol.encode(1, protocol.Header(3, content, class_id=70)),
    ]
    if version.startswith("0-9"):
        frames.append(protocol.encode(1, v0_9.Message.Transfer(body=b"octets")
                                     if version == "0-9"
                                     else protocol.Exchange.Bound("e")))  # fmt: skip
    return frames


@pytest.mark.parametrize("version", ["0-9", "0-8", "0-9+qpid"])
def test_decode(spark, version):
    values = frames_of(version)
    array = pa.array(values, pa.binary())
    expected = pa.record_batch(batch.decode(array, version)).to_pylist()
    assert [row["error"] for row in expected] == [None] * len(values)
    rows = rows_of(amqp.decode(framed(spark, values), keep=["id"], protocol=version), "id")
    assert [{"row": row.pop("id"), **row} for row in rows] == expected
    assert rows[2]["properties"]["filename"] == "name"


def test_from_amqp(spark):
    frames = framed(spark, frames_of("0-8"))
    options = {"protocol": "0-8"}
    methods = frames.select(amqp.from_amqp("frame", options=options).alias("a")).select("a.method")
    assert {row.method for row in methods.collect()} == {"basic.consume", "connection.close", None}


@pytest.mark.parametrize("protocol", [None, "0-8"])
def test_captures(spark, tmp_path, protocol):
    """Without the option, the connection's header says the version."""
    pytest.importorskip("pyspark.sql.datasource")
    data = v0_8.PROTOCOL_HEADER + b"".join(frames_of("0-8")[:2])
    path = tmp_path / "old.pcap"
    path.write_bytes(make.pcap([*make.opening(), make.client(1001, data)]))
    amqp.register(spark)
    reader = spark.read.format("amqp_capture")
    if protocol:
        reader = reader.option("protocol", protocol)
    rows = rows_of(reader.load(str(path)), "packet_offset", "position")
    direct = [row for b in capture.read(path, protocol=protocol)
              for row in pa.record_batch(b).to_pylist()]  # fmt: skip
    assert [row["method"] for row in rows] == [row["method"] for row in direct]
    assert [row["method"] for row in rows] == [None, "basic.consume", "connection.close"]
    assert [row["error"] for row in rows] == [None] * 3
