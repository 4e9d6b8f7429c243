"""What is held of connections that may be others behind an address translation is bounded."""

from __future__ import annotations

import io

import pytest

pytest.importorskip("pyarrow")
import pyarrow as pa

from amqpcodec import capture
from amqpcodec import v0_9_1 as amqp
from tests.capture.rows import rows
from tests.support import recording as make
from tests.support.recording import SYN, segment_of_port

ANSWER = amqp.encode(0, amqp.Heartbeat())


def read(packets: list[bytes]) -> tuple[list[str], capture.Reader]:
    reader = capture.Reader(io.BytesIO(make.pcap(packets)), fields=["src"], order="none")
    sources = [row["src"] for batch in reader for row in pa.record_batch(batch).to_pylist()]
    return sources, reader


@pytest.mark.filterwarnings("ignore::amqpcodec.capture.CaptureWarning")
def test_eight_are_held_for_the_same_connection() -> None:
    packets = [segment_of_port(host, 1000, b"", SYN) for host in range(20)]
    for number in range(3):
        packets += [
            segment_of_port(host, 1001 + 8 * number, amqp.PROTOCOL_HEADER) for host in range(20)
        ]
    sources, reader = read(packets)
    # The first, and the first after each eight that are taken for it.
    assert len({*sources}) == 3
    assert reader.stats()["connections"] == 3
    assert reader.stats()["translated_connections"] == 17


def test_a_notice_says_so() -> None:
    packets = [segment_of_port(host, 1000, b"", SYN) for host in range(2)]
    for number in range(2):
        packets += [segment_of_port(host, 1001 + 8 * number, ANSWER) for host in range(2)]
    reader = capture.Reader(io.BytesIO(make.pcap(packets)), fields=["src"])
    notice = "1 connection was captured again behind an address translation: it is read once"
    with pytest.warns(capture.CaptureWarning, match=notice):
        assert sum(map(len, reader)) == 2


@pytest.mark.parametrize("size", [8, 200_000])
def test_segments_that_are_held_are_bounded(size: int) -> None:
    """Those that the other connection does not have become rows while the recording goes on."""
    body = amqp.encode(1, amqp.Body(b"x" * (size - 8))) if size > 8 else ANSWER
    packets = [segment_of_port(host, 1000, b"", SYN) for host in range(2)]
    for number in range(200):
        first = 1001 + number * len(body)
        for at in range(0, len(body), 60_000):
            packets.append(segment_of_port(1, first + at, body[at : at + 60_000]))
    packets.append(segment_of_port(0, 1001, ANSWER))
    octets = make.pcap(packets)
    reader = capture.Reader(io.BytesIO(octets), fields=["src"], order="none", batch_rows=1)
    read_at = next(iter(reader)) and reader.offset
    assert read_at < len(octets) // 2
    assert len(rows(octets, fields=["src"], order="none")) == 201
