"""The demo's publish-to-confirm times, on a capture made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from amqpcodec import v0_9_1 as amqp
from tests.paths import REPO
from tests.support import recording as make

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

from scripts import demo_confirms
from tests.support.confirm_talk import ack, client, nack, publish

SELECT = client(amqp.Confirm.Select())


OPENED = [client(amqp.Channel.Open()), ("server", amqp.encode(1, amqp.Channel.OpenOk()))]

#: name -> (what is said, (channel, opened, number) -> (ms, nacked)); a packet a millisecond.
CASES = {
    "one by one, and several at once": (
        [
            *(publish(), SELECT, publish(), publish(), publish(), publish(), publish(), ack(2)),
            *(ack(4, True), publish(), nack(6, True), publish(2), ack(4)),
        ],
        {
            (1, 0, 1): (6.0, False),
            (1, 0, 2): (4.0, False),
            (1, 0, 3): (4.0, False),
            (1, 0, 4): (3.0, False),
            (1, 0, 5): (4.0, True),
            (1, 0, 6): (1.0, True),
        },
    ),
    "no confirms": ([publish(), publish(), client(amqp.Tx.Commit())], {}),
    "a channel opened again": (
        [
            *(*OPENED, SELECT, publish(), publish(), ack(2, True), *OPENED, publish(), SELECT),
            *(publish(), ack(1), publish()),
        ],
        {
            (1, 1, 1): (2.0, False),
            (1, 1, 2): (1.0, False),
            (1, 2, 1): (1.0, False),
            (1, 2, 2): (None, None),
        },
    ),
    # The clock is set back by ten seconds in the middle.
    "backward": (
        [SELECT, *[publish()] * 4, ack(3, True), ack(4)],
        {
            (1, 0, 1): (4.0 - 10_000, False),
            (1, 0, 2): (3.0 - 10_000, False),
            (1, 0, 3): (2.0, False),
            (1, 0, 4): (2.0, False),
        },
    ),
    # The third publish was not captured.
    "gap": (
        [SELECT, *[publish()] * 5, ack(5, True)],
        {(1, 0, 1): (5.0, False), (1, 0, 2): (4.0, False)},
    ),
    "told twice": (
        [SELECT, publish(), publish(), ack(1), ack(2, True), ack(99, True), ack(1)],
        {(1, 0, 1): (2.0, False), (1, 0, 2): (2.0, False)},
    ),
}


def records(name: str, talk: list[tuple[str, bytes]]) -> list[make.Record]:
    packet_records = make.records(make.dialogue(talk))
    if name == "backward":
        late = [n > 4 for n in range(len(packet_records))]
        packet_records = [
            record._replace(time_ns=record.time_ns - 10**10 * behind)
            for record, behind in zip(packet_records, late, strict=True)
        ]
    if name == "gap":
        del packet_records[5]
    return packet_records


@pytest.fixture(scope="module")
def times(spark, tmp_path_factory) -> dict[str, dict]:
    """All cases at once: what costs time is Spark."""
    folder = tmp_path_factory.mktemp("confirms")
    for name, (talk, _) in CASES.items():
        (folder / f"{name}.pcap").write_bytes(make.pcap(records(name, talk)))
    times_by_case: dict[str, dict] = {name: {} for name in CASES}
    frames = demo_confirms.read_frames(spark, folder)
    for row in demo_confirms.confirm_times(frames).collect():
        key = row.channel, row.opened, row.number
        ms = None if row.ms is None else float(row.ms)
        times_by_case[Path(row.file).stem][key] = ms, row.nacked
    return times_by_case


@pytest.mark.parametrize("name", CASES)
def test_times(times, name: str):
    assert times[name] == CASES[name][1]


def test_the_shipped_recording(spark):
    frames = demo_confirms.read_frames(spark, REPO / "demo" / "confirms" / "rabbitmq.pcap.gz")
    rows = demo_confirms.summary(demo_confirms.confirm_times(frames)).collect()
    first = rows[0]
    assert (first["published"], first["confirmed"], first["of them nacked"]) == (6, 6, 3)
    assert len(rows) > 10
    assert all(0 < row["median ms"] <= row["p95 ms"] <= row["max ms"] for row in rows)
    assert sum(row["confirmed"] for row in rows) > 200
