"""What a peer of 1.0 claims costs nothing beyond the limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amqpcodec import capture
from amqpcodec import v1_0 as amqp
from tests.support.event_talk import TO_SERVER, write
from tests.support.event_talk_v1 import (
    begin,
    client,
    deliver,
    joined,
    login,
    message,
    outcome,
    publish,
    receives,
    sends,
    server,
    transfer,
)
from tests.support.recording import packets

LINKS = [*login(), *begin(), *sends("s", "jobs"), *receives("r", "jobs")]


def read(path: Path, said: list[Any], **options: Any) -> tuple[list[dict[str, Any]], Any]:
    reader = capture.Reader(write(path / "talk.pcap", packets(said)), "event", **options)
    return [row for batch in reader for row in batch.to_pylist()], reader


def test_sessions_without_end(tmp_path: Path) -> None:
    windows = {"next_outgoing_id": 0, "incoming_window": 9, "outgoing_window": 9}
    asked = [client(amqp.Begin(**windows), channel) for channel in range(65_536)]
    answers = [
        server(amqp.Begin(remote_channel=channel, **windows), channel) for channel in range(65_536)
    ]
    said = [*login(), *joined(asked), *joined(answers)]
    rows, reader = read(tmp_path, said, max_tracked=1000)
    assert [row["event"] for row in rows].count("channel-opened") == 1000
    # Of a session that was asked for and is not followed, the answer begins one that is not either.
    assert reader.stats()["forgotten"] == {"channels": 2 * 64_536}
    rows, reader = read(tmp_path, said)
    assert [row["event"] for row in rows].count("channel-opened") == 65_536
    assert len(reader.state()) < 4_000_000


def test_links_with_any_handle(tmp_path: Path) -> None:
    links = [
        client(amqp.Attach(name=f"l{n}", handle=2**32 - 1 - n * 65_537, role=False))
        for n in range(60_000)
    ]
    rows, reader = read(tmp_path, [*LINKS, *joined(links)], max_tracked=500)
    assert reader.stats()["forgotten"] == {"links": 60_000 - 498}
    rows, reader = read(tmp_path, [*LINKS, *joined(links), publish(0)])
    assert rows[-1]["event"] == "recording-ended"
    assert rows[-2]["message_id"] == "p0"


def test_ranges_over_all_numbers(tmp_path: Path) -> None:
    """Of 20,000 deliveries the first and the last stay open; what lies between is settled again
    and again."""
    count = 20_000
    deliveries = [deliver(n) for n in range(count)]
    again = [outcome(TO_SERVER, 1 + n % (count - 2), count - 2) for n in range(count)]
    said = [*LINKS, *joined(deliveries), outcome(TO_SERVER, 1, count - 2), *joined(again)]
    rows, reader = read(tmp_path, [*said, outcome(TO_SERVER, 0, 2**31 - 1)])
    settled = [row["message_id"] for row in rows if row["event"] == "settled"]
    assert len(settled) == count
    assert settled[-2:] == ["d0", f"d{count - 1}"]
    assert reader.stats()["unmatched_answers"] == 0


def test_a_range_that_nobody_sent(tmp_path: Path) -> None:
    said = [*LINKS, deliver(5), outcome(TO_SERVER, 2**31 + 6, 2**32 - 1), outcome(TO_SERVER, 5)]
    rows, reader = read(tmp_path, said)
    settled = [row for row in rows if row["event"] == "settled"]
    assert [(row["certainty"], row["delivery_tag"]) for row in settled] == [
        ("unknown", 2**31 + 6),
        ("exact", 5),
    ]
    assert reader.stats()["unmatched_answers"] == 1


@pytest.mark.parametrize("first", [0, 2**31 - 2, 2**32 - 3])
def test_numbers_of_deliveries_begin_anew(first: int, tmp_path: Path) -> None:
    numbers = [(first + n) % 2**32 for n in range(6)]
    said = [*LINKS, *(deliver(number, name=f"m{n}") for n, number in enumerate(numbers))]
    said += [outcome(TO_SERVER, numbers[4]), outcome(TO_SERVER, numbers[1], numbers[5])]
    rows, _ = read(tmp_path, said)
    settled = [row for row in rows if row["event"] == "settled"]
    assert [row["message_id"] for row in settled] == ["m4", "m1", "m2", "m3", "m5"]
    assert {row["certainty"] for row in settled} == {"exact"}
    assert [row["delivery_tag"] for row in settled[1:3]] == numbers[1:3]


def test_deliveries_that_stay_open(tmp_path: Path) -> None:
    """Beyond the limit of open deliveries the oldest is an event of what came of it."""
    said = [*LINKS, *(link for n in range(40) for link in sends(f"l{n}", "q", 100 + n))]
    said += [client(transfer(n, 100 + n, more=True), 0, message(f"p{n}")) for n in range(40)]
    said += [client(transfer(None, 100 + n), 0, b"") for n in range(40)]
    rows, _ = read(tmp_path, said, open_deliveries=10)
    published = sorted(
        (row for row in rows if row["event"] == "published"), key=lambda row: row["delivery_tag"]
    )
    assert [row["delivery_tag"] for row in published] == list(range(40))
    assert [row["certainty"] for row in published] == 30 * ["inferred"] + 10 * ["exact"]
    assert [row["message_id"] for row in published[30:]] == [f"p{n}" for n in range(30, 40)]


def test_a_delivery_that_is_larger_than_the_limit(tmp_path: Path) -> None:
    parts = [
        client(transfer(0 if n == 0 else None, 0, more=n < 9), 0, bytes(900)) for n in range(10)
    ]
    rows, _ = read(tmp_path, [*LINKS, *parts, publish(1)], message_bytes=4096)
    published = [row for row in rows if row["event"] == "published"]
    assert [(row["delivery_tag"], row["certainty"]) for row in published] == [
        (0, "inferred"),
        (1, "exact"),
    ]


def test_many_openings_of_one_number(tmp_path: Path) -> None:
    """Each begin takes the place of the one before."""
    said = login()
    for _ in range(200):
        said += [*begin(), *receives("r", "jobs")]
    rows, reader = read(tmp_path, [*said, *(deliver(n) for n in range(3))], max_tracked=3)
    delivered = [row for row in rows if row["event"] == "delivered"]
    assert {row["queue"] for row in delivered} == {"jobs"}
    assert [row["event"] for row in rows].count("channel-opened") == 200
    assert reader.stats()["forgotten"] == {}
