"""Reading in pieces, and captures that are damaged in any way."""

from __future__ import annotations

import gzip
import io
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqpcodec import capture
from amqpcodec import v0_9_1 as amqp
from tests.fuzz import packets
from tests.fuzz.targets import captures
from tests.paths import REPO
from tests.support import mangle
from tests.support import recording as make
from tests.support.batches import rows_of

pa = pytest.importorskip("pyarrow")

PARTS = mangle.parts(REPO / "demo" / "kombu_celery.pcap.gz")[:400]
FIELDS = [
    *("connection", "connection_index", "direction", "timestamp_ns", "packet", "packet_offset"),
    *("position", "flags", "frame", "error"),
]


@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
@pytest.mark.parametrize("seed", range(3))
def test_state_and_resume_are_as_one_reading(tmp_path: Path, kind: str, seed: int):
    items = mangle.lossy(PARTS, seed, loss=0.03)
    if kind == "pcap":
        octets = make.pcap(mangle.records(items))
    else:
        octets = mangle.mixed_pcapng(items, seed)
    path = tmp_path / "x.pcap"
    path.write_bytes(octets)
    expected = rows_of(capture.read(path, fields=FIELDS, order="none"))
    rng = random.Random(seed)
    stops = sorted(rng.randrange(len(octets)) for _ in range(12))
    rows, state, last = [], None, None
    for stop in [*stops, None]:
        last = capture.Reader(path, fields=FIELDS, order="none")
        if state is not None:
            last.resume(state)
        rows += rows_of(last.read(stop))
        if stop is not None:
            state = last.state()
            again = capture.Reader(path, fields=FIELDS, order="none")
            again.resume(state)
            assert again.state() == state
    assert rows == expected
    one = capture.Reader(path, fields=FIELDS, order="none")
    assert sum(map(len, one)) == len(expected)
    assert one.stats() == last.stats()


def test_any_capture_in_pieces() -> None:
    """Also damaged, over TLS or WebSocket, with small limits: two readers, a state between them,
    give the rows and the counts of one."""
    change = packets.captures(captures.HEAD)
    for seed in (*range(150), 1437, 5560, 20562, 24191, 26366, 28212):
        rng = random.Random(seed)
        data = rng.randbytes(captures.HEAD) + packets.fresh(rng)
        for _ in range(3):
            data = change(data, rng)[:8192]
        captures.captures(data)


def test_one_reader_in_pieces(tmp_path: Path):
    path = tmp_path / "x.pcap"
    path.write_bytes(make.pcap(mangle.records(PARTS)))
    reader = capture.Reader(path, fields=FIELDS, order="none")
    rows = rows_of(reader.read(stop=20_000)) + rows_of(reader.read(stop=50_000)) + rows_of(reader)
    assert rows == rows_of(capture.read(path, fields=FIELDS, order="none"))


def _short_connection(port: int) -> list[bytes]:
    client, server = (make.CLIENT[0], port), make.SERVER
    frame = amqp.encode(0, amqp.Heartbeat())
    end = make.FIN | make.ACK
    return [
        make.segment(client, server, 1000, b"", make.SYN),
        make.segment(server, client, 5000, b"", make.SYN | make.ACK, 1001),
        make.segment(client, server, 1001, amqp.PROTOCOL_HEADER + frame, make.ACK, 5001),
        make.segment(client, server, 1017, b"", end, 5001),
        make.segment(server, client, 5001, b"", end, 1018),
    ]


@pytest.mark.parametrize("where", ["first half", "second half"])
@pytest.mark.parametrize("packed", [False, True])
def test_resume_after_a_stop_behind_damage(tmp_path: Path, where: str, packed: bool):
    """What is damaged ends the file, for the reader that goes on as well: no row comes twice."""
    # So many connections that the first of them are forgotten when they come again.
    packets = [packet for port in range(40_000, 40_300) for packet in _short_connection(port)]
    octets = bytearray(make.pcap(packets))
    at = len(octets) - 16 - len(packets[-1])
    octets[at : at + 16] = b"\xff" * 16
    path = tmp_path / "x.pcap"
    path.write_bytes(gzip.compress(octets) if packed else octets)
    full_reader = capture.read(path, fields=FIELDS, order="none")
    expected = rows_of(full_reader)
    assert "no record" in full_reader.damaged
    stop = at // 2 if where == "first half" else at + 500
    reader = capture.Reader(path, fields=FIELDS, order="none")
    rows = rows_of(reader.read(stop))
    again = capture.Reader(path, fields=FIELDS, order="none")
    again.resume(reader.state())
    rows += rows_of(again)
    assert len(rows) == len(expected) == 600
    assert rows == expected
    assert again.stats() == full_reader.stats()
    with pytest.raises(capture.ReaderExhausted):
        rows_of(again.read(stop=len(octets)))


def test_a_chain_goes_on_behind_a_damaged_file(tmp_path: Path):
    """Also where it stops in a later file."""
    records = mangle.records(PARTS)
    pieces = [records[:100], records[100:200], records[200:]]
    paths = []
    for i, piece in enumerate(pieces):
        octets = bytearray(make.pcap(piece))
        if i == 0:
            octets[-200:] = b"\xff" * 200
        paths.append(tmp_path / f"{i}.pcap")
        paths[-1].write_bytes(octets)
    expected = rows_of(capture.read(paths, fields=FIELDS, order="none", files="rotation"))
    for stop in ((0, 10**6), (1, 3000), (2, 3000), (2, 10**6)):
        reader = capture.Reader(paths, fields=FIELDS, order="none", files="rotation")
        rows = rows_of(reader.read(stop))
        again = capture.Reader(paths, fields=FIELDS, order="none", files="rotation")
        again.resume(reader.state())
        assert rows + rows_of(again) == expected


@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_first_record_in_a_range(tmp_path: Path, kind: str):
    items = list(mangle.split(PARTS, 500))
    path = tmp_path / "x"
    if kind == "pcap":
        octets = make.pcap(mangle.records(items))
        starts = [24]
        for record in mangle.records(items):
            starts.append(starts[-1] + 16 + len(record.data))
    else:
        blocks = [make.section(), make.interface("<", 1)]
        blocks += [make.enhanced("<", 0, 1, make.ethernet(item.raw())) for item in items]
        octets = b"".join(blocks)
        starts = [28]
        for block in blocks[1:]:
            starts.append(starts[-1] + len(block))
    path.write_bytes(octets)
    starts.pop()  # the end of the file
    reader = capture.Reader(path)
    rng = random.Random(1)
    for at in [0, 1, *(rng.randrange(len(octets)) for _ in range(60))]:
        expected = next((start for start in starts if start >= at), None)
        assert reader.first_record(at) == expected
        if expected is not None and at:
            assert reader.first_record(at, expected) is None
            assert reader.first_record(at, expected + 1) == expected


def _read_all(octets: bytes) -> None:
    """Nothing but a CaptureError comes out, and what comes out can be read."""
    reader = capture.read(io.BytesIO(octets), batch_rows=100)
    try:
        for batch in reader:
            pa.record_batch(batch).validate(full=True)
    except capture.CaptureError:
        return
    assert reader.stats()["packets"] >= 0


FILES = [
    make.pcap(mangle.records(PARTS[:120])),
    mangle.mixed_pcapng(PARTS[:120], 1),
    make.pcap(mangle.records(mangle.lossy(PARTS, 2, loss=0.03)[:200])),
]


@settings(max_examples=120, deadline=None)
@given(
    file=st.sampled_from(FILES),
    damage=st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.binary(max_size=6), st.integers(0, 40)),
        max_size=12,
    ),
)
def test_damage_of_any_kind(file: bytes, damage: list[tuple[float, bytes, int]]):
    octets = bytearray(file)
    for place, put, drop in damage:
        at = int(place * len(octets))
        octets[at : at + drop] = put
    _read_all(bytes(octets))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2**32 - 1), st.binary(max_size=40), st.integers(0, 31))))
def test_segments_of_any_kind(segments: list[tuple[int, bytes, int]]):
    _read_all(make.pcap([make.client(*segment) for segment in segments]))
