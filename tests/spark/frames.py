"""Frames that the tests of this folder put on Spark, and what batch.decode says of them."""

from __future__ import annotations

import functools
import gzip
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

from tests.paths import REPO

RECORDING = REPO / "demo" / "kombu_celery.pcap.gz"
OPEN = bytes.fromhex("0100010000000500 14000a00 ce")  # channel.open
BEAT = bytes.fromhex("0800000000 0000 ce")
BODY = bytes.fromhex("030001000000056869c3a8 21 ce")
UNKNOWN = bytes.fromhex("010001000000040063 0063 ce")  # no such method
ODD = [b"", None, OPEN + BEAT + BODY, b"\x01\x00", UNKNOWN, OPEN + UNKNOWN + BEAT, b"\xff" * 40]


@functools.cache
def recorded() -> tuple[bytes, ...]:
    from amqpcodec import capture

    batches = map(pa.record_batch, capture.read(RECORDING, fields=["frame"], redact=False))
    return tuple(octets for rows in batches for octets in rows.column(0).to_pylist())


def direct(values, fields=None, mode="PERMISSIVE"):
    """What batch.decode says of values, with id in the place of row."""
    from amqpcodec import batch

    array = pa.array(values, pa.binary())
    rows = pa.record_batch(batch.decode(array, "0-9-1", "frame", fields, mode)).to_pylist()
    return [{"id": row.pop("row"), **row} for row in rows]


def framed(spark, values, partitions=None, type_=None):
    """A table of ids and values."""
    ids = pa.array(range(len(values)), pa.int64())
    table = pa.table({"id": ids, "frame": pa.array(values, type_ or pa.binary())})
    frames = spark.createDataFrame(table)
    return frames.repartition(partitions, "id") if partitions else frames


def rows_of(frame, *order):
    """Rows as dicts, in order of these columns."""
    rows = frame.toArrow().to_pylist()
    return sorted(rows, key=lambda row: [row[name] for name in order]) if order else rows


def rotated(recording: Path, folder: Path, count: int) -> list[Path]:
    """A recording (pcap, little-endian) as files of one rotation, cut between packets."""
    octets = recording.read_bytes()
    octets = gzip.decompress(octets) if octets[:2] == b"\x1f\x8b" else octets
    at, cuts = 24, [24]
    while at < len(octets):
        if at > len(octets) // count * len(cuts):
            cuts.append(at)
        at += 16 + int.from_bytes(octets[at + 8 : at + 12], "little")
    paths = []
    for number, (start, end) in enumerate(pairwise([*cuts, len(octets)])):
        paths.append(folder / f"ring.pcap{number:03}")
        paths[-1].write_bytes(octets[:24] + octets[start:end])
    return paths
