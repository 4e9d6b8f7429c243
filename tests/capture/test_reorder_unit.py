"""Segments out of order: a logarithmic number of comparisons each, and a bound on what waits."""

from __future__ import annotations

import io
import random

import pytest

from amqpcodec import _capture, capture
from amqpcodec import v0_9_1 as amqp
from tests.support import recording as make
from tests.support.batches import rows_of

pa = pytest.importorskip("pyarrow")

FRAME = amqp.encode(1, amqp.Basic.Ack(delivery_tag=7))
SIZE = 20


def shuffled(count: int, seed: int = 1, missing: bool = False) -> bytes:
    """`count` segments of SIZE bytes, the first of them last (or never), the others shuffled."""
    stream = FRAME * (count * SIZE // len(FRAME) + 1)
    starts = [SIZE * i for i in range(1, count)]
    random.Random(seed).shuffle(starts)
    if not missing:
        starts.append(0)
    packets = [make.client(1001 + at, stream[at : at + SIZE]) for at in starts]
    return make.pcap([*make.opening(), *packets])


def comparisons(octets: bytes) -> tuple[int, int]:
    """(comparisons, rows) of reading with no bound that matters."""
    core = _capture.CaptureReader(
        *(amqp.PROTOCOL, ["frame_type"], (5672,), True, True, 1 << 20),
        reorder_bytes=1 << 40,
        reorder_total=1 << 40,
        reorder_pieces=1 << 30,
    )
    core.begin("x", "x")
    core.feed(octets)
    rows = 0
    for last in (False, True):
        more = True
        while more:
            more = core.advance(last)
            while (batch := core.take()) is not None:
                rows += len(batch)
    return core.reorder_steps, rows


def test_comparisons_grow_as_n_log_n():
    steps = {}
    for count in (1 << 10, 1 << 12, 1 << 14):
        steps[count], rows = comparisons(shuffled(count))
        assert rows == -(-count * SIZE // len(FRAME))
        assert 0 < steps[count] < 4 * count * count.bit_length()
    # Four times as many: a little more than four times the work, not sixteen.
    assert steps[1 << 12] < 5.5 * steps[1 << 10]
    assert steps[1 << 14] < 5.5 * steps[1 << 12]


def test_a_hole_with_a_long_tail_in_order_costs_a_comparison_or_two_each():
    stream = FRAME * 4000
    starts = [*range(SIZE, 4000 * SIZE, SIZE), 0]
    packets = [make.client(1001 + at, stream[at : at + SIZE]) for at in starts]
    steps, _ = comparisons(make.pcap([*make.opening(), *packets]))
    assert steps < 4000 * 2 * 13


@pytest.mark.untraced
def test_128k_shuffled_segments_behind_a_hole():
    steps, rows = comparisons(shuffled(1 << 17))
    assert rows == -(-(1 << 17) * SIZE // len(FRAME))
    assert steps < 4 * (1 << 17) * 18


@pytest.mark.parametrize(
    ("options", "exceeded"),
    [
        ({}, False),
        ({"reorder_segments": 1000}, True),
        ({"reorder_segments": 1999}, False),
        ({"reorder_bytes": 100_000}, True),
        ({"reorder_segments": 0}, True),
    ],
)
def test_what_exceeds_the_bound_is_a_gap(options: dict, exceeded: bool):
    octets = shuffled(2000)
    reader = capture.read(io.BytesIO(octets), fields=["flags", "error", "frame"], **options)
    rows = rows_of(reader)
    counts = reader.stats()
    gaps = [row for row in rows if row["flags"] == ["gap"] and row["frame"] == b""]
    assert bool(counts["reorder_overflows"]) == exceeded
    assert counts["gaps"] == len(gaps) >= counts["reorder_overflows"]
    # Not a byte without a trace: it is in a row, or was counted as lost.
    frame_bytes = sum(len(row["frame"]) for row in rows)
    assert frame_bytes + counts["lost_bytes"] == 2000 * SIZE
    assert len(gaps) == sum("bytes were not captured" in (r["error"] or "") for r in rows)
    if not exceeded:
        assert not gaps


def test_the_first_copy_of_equal_segments_counts():
    """Two segments with one place, and other bytes: what came first is taken."""
    other = amqp.encode(2, amqp.Basic.Ack(delivery_tag=9))
    size = len(FRAME)
    order = [(2, FRAME), (1, FRAME), (1, other), (3, FRAME), (3, other), (0, FRAME)]
    packets = [make.client(1001 + size * i, data) for i, data in order]
    octets = make.pcap([*make.opening(), *packets])
    for stop in range(24, len(octets), 30):
        reader = capture.Reader(io.BytesIO(octets), fields=["frame"])
        rows = rows_of(reader.read(stop))
        again = capture.Reader(io.BytesIO(octets), fields=["frame"])
        again.resume(reader.state())
        rows += rows_of(again)
        assert [row["frame"] for row in rows] == [FRAME] * 4


@pytest.mark.parametrize("reorder_bytes", [1 << 26, 100_000])
def test_what_waits_for_the_other_side_is_bounded(reorder_bytes: int):
    """Of the client, the middle of a frame was captured: the server sent its frames after that."""
    talk = make.segments(b"x" * 400, 10)
    place, acked = 5001, 1001
    for tag in range(1, 200):
        octets = amqp.encode_message(
            1, amqp.Basic.Deliver("c", tag, routing_key="k"), body=b"y" * 4000
        )
        acked = min(acked + 10, 1401)
        talk.insert(2 * tag, make.server(place, octets, make.ACK, acked))
        place += len(octets)
    reader = capture.read(io.BytesIO(make.pcap(talk)), "event", reorder_bytes=reorder_bytes)
    rows = rows_of(reader)
    tags = [row["delivery_tag"] for row in rows if row["event"] == "delivered"]
    assert tags == list(range(1, 200))
    assert "gap" not in {row["event"] for row in rows}
    counts = reader.stats()
    assert (counts["gaps"], counts["reorder_overflows"]) == (0, 0)
