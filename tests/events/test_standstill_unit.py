"""Numbers of publishes are known again by a quiet time before which all of them were confirmed."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import capture
from amqpcodec import v0_9_1 as amqp
from tests.events.test_pieces_properties import (
    offsets,
    resumed,
    rows_of,
    same_flags,
    same_rows,
)
from tests.support.event_talk import TO_SERVER, client, finish, publish, server, short, write
from tests.support.recording import Record
from tests.support.standstill_talk import (
    OPENING,
    Timed,
    ack,
    bursts,
    filler,
    inferred_confirms,
    middle,
    paced,
    pairs,
    record_all,
    truth,
)

Read = Callable[..., list[dict[str, Any]]]


#: What was said before the recording: publishes 1 to 4.
BEFORE: list[Timed] = [*pairs(1, -5.0), *pairs(2, -4.0, 3)]
#: The last one of them waits for its confirm.
OUTSTANDING = BEFORE[:-1]


def confirms(rows: list[dict[str, Any]]) -> list[Any]:
    return short(
        [row for row in rows if row["event"] == "confirmed"],
        *("message_id", "delivery_tag", "certainty"),
    )


def test_one_long_quiet_time_is_enough(read: Read) -> None:
    talk = [*pairs(5, 0), *pairs(6, 1.1, 3), *pairs(9, 12), *pairs(10, 12.5, 2)]
    rows = read(middle(talk, BEFORE))
    assert confirms(rows) == [
        (None, 5, "unknown"),
        (None, 8, "unknown"),
        ("p9", 9, "inferred"),
        ("p10", 10, "inferred"),
        ("p11", 11, "inferred"),
    ]
    published = [row for row in rows if row["event"] == "published"]
    assert all("delivery_tag" not in row for row in published)
    by_id = {row["event_id"]: row for row in rows}
    for row in inferred_confirms(rows):
        assert by_id[row["answers"]]["message_id"] == row["message_id"]
        assert row["elapsed_us"] > 0


def test_two_quiet_times_that_agree_are_enough(read: Read) -> None:
    talk = [pair for i in range(4) for pair in pairs(2 * i + 5, 1.5 * i, 2)]
    assert confirms(read(middle(talk, BEFORE))) == [
        (None, 6, "unknown"),
        (None, 8, "unknown"),
        ("p9", 9, "inferred"),
        ("p10", 10, "inferred"),
        ("p11", 11, "inferred"),
        ("p12", 12, "inferred"),
    ]


def test_what_has_no_answer_is_inferred_too(read: Read) -> None:
    talk = [*pairs(5, 0), *pairs(6, 12), (13.0, *publish(7))]
    packets = middle(talk, BEFORE)
    waiting = [row for row in read(packets) if row["event"] == "waiting"]
    assert short(waiting, "message_id", "certainty") == [("p7", "inferred")]
    whole = record_all([*BEFORE, *filler(), *talk])
    fin = Record(finish([one.data for one in whole], TO_SERVER), packets[-1].time_ns)
    ended = [row for row in read([*packets, fin]) if row["event"] == "unconfirmed"]
    assert short(ended, "message_id", "certainty") == [("p7", "inferred")]


@pytest.mark.parametrize(
    ("period", "latency"), [(0.001, 0.0015), (1.0, 1.5), (10.0, 15.0), (2.0, 3.9), (1.0, 1.01)]
)
def test_a_publisher_with_one_message_outstanding_is_never_known(
    period: float, latency: float, read: Read
) -> None:
    rows = read(middle(paced(500, period, lambda _: latency)[7:]))
    assert len(confirms(rows)) > 490
    assert inferred_confirms(rows) == []


def test_a_publisher_that_waits_for_each_confirm_is_known(read: Read) -> None:
    rows = read(middle(paced(50, 2.0, lambda _: 0.003)[6:]))
    confirmed = inferred_confirms(rows)
    assert len(confirmed) > 40
    assert all(row["message_id"] == f"p{row['delivery_tag']}" for row in confirmed)


@pytest.mark.parametrize(("quiet", "certainty"), [(11.9, "unknown"), (12.1, "inferred")])
def test_what_is_slow_needs_a_longer_quiet_time(quiet: float, certainty: str, read: Read) -> None:
    talk = [*pairs(5, 0, wait=0.5999), *pairs(6, 0.6 + quiet)]
    assert [row[2] for row in confirms(read(middle(talk, BEFORE)))] == ["unknown", certainty]


def test_times_of_the_sides_that_differ_are_as_what_is_slow(read: Read) -> None:
    """The server's side is recorded with a clock that is 2 s behind."""
    for quiet, certainty in ((30, "unknown"), (50, "inferred")):
        talk = [*pairs(5, 0), *pairs(6, quiet)]
        packets = [
            Record(one.data, one.time_ns - 2 * 10**9 * (one.data[34:36] == b"\x16\x28"))
            for one in middle(talk, BEFORE)
        ]
        assert confirms(read(packets))[1][2] == certainty


def test_a_confirm_that_is_missing_keeps_numbers_unknown(read: Read) -> None:
    """One of two publishes has no confirm: what comes next has no number."""
    talk = [
        (0.0, *publish(5)),
        (0.1, *publish(6)),
        (0.2, *ack(5)),
        *pairs(7, 15),
        (16.0, *ack(6)),
        (90.0, *publish(8)),
        (90.1, *ack(8)),
    ]
    assert confirms(read(middle(talk, BEFORE))) == [
        *((None, tag, "unknown") for tag in (5, 7, 6)),
        ("p8", 8, "inferred"),
    ]


def test_a_later_confirm_contradicts(tmp_path: Path) -> None:
    """A publish waits through a long quiet time, which no rule can see: what follows tells."""
    talk = [
        (0.01, *publish(5)),
        (0.02, *ack(4, multiple=True)),
        (12.0, *publish(6)),
        (12.1, *ack(5)),
        (12.2, *ack(6)),
        *pairs(7, 14),
        *pairs(8, 40),
    ]
    reader = capture.Reader(write(tmp_path / "talk.pcap", middle(talk, OUTSTANDING)), "event")
    rows = rows_of(reader)
    assert reader.stats()["contradicted_counts"] == 1
    assert confirms(rows) == [
        (None, 4, "unknown"),
        ("p6", 5, "inferred"),
        *((None, tag, "unknown") for tag in (6, 7, 8)),
    ]


@pytest.mark.parametrize("ends", [False, True])
def test_a_blocked_connection_confirms_nothing(ends: bool, read: Read) -> None:
    talk: list[Timed] = [
        *pairs(5, 0),
        (1.0, *server(amqp.Connection.Blocked(reason="low on memory"), 0)),
        *pairs(6, 2.0),
        *([(3.0, *server(amqp.Connection.Unblocked(), 0))] if ends else []),
        *pairs(7, 15.0),
        *pairs(8, 30.0),
    ]
    confirmed = inferred_confirms(read(middle(talk, BEFORE)))
    assert short(confirmed, "message_id") == ([("p8",)] if ends else [])


def test_another_channel_is_known_by_itself(read: Read) -> None:
    talk = [*pairs(5, 0), (0.5, *publish(1, channel=2)), *pairs(6, 12)]
    talk += [(12.5, *publish(2, channel=2)), (12.6, *ack(2, channel=2))]
    rows = read(middle(talk, BEFORE))
    assert short(inferred_confirms(rows), "channel", "message_id") == [(1, "p6")]


def test_after_a_gap(read: Read) -> None:
    talk = [*pairs(1, 0), (0.5, *publish(2)), *filler(0.6), (0.9, *ack(2)), *pairs(3, 1)]
    talk += [*pairs(4, 13), *pairs(5, 13.5)]
    packets = record_all(talk)
    lost = [*packets[: OPENING + 2], *packets[OPENING + 3 :]]
    assert confirms(read(lost)) == [
        ("p1", 1, "exact"),
        (None, 2, "unknown"),
        (None, 3, "unknown"),
        ("p4", 4, "inferred"),
        ("p5", 5, "inferred"),
    ]


def test_confirm_select_begins_anew(read: Read) -> None:
    """Publishes before it are not confirmed, and do not count."""
    talk: list[Timed] = [
        *((0.01 * i, *publish(100 + i, channel=3)) for i in range(5)),
        (1.0, *client(amqp.Confirm.Select(), 3)),
        (1.1, *server(amqp.Confirm.SelectOk(), 3)),
        (2.0, *publish(1, channel=3)),
        (2.1, *ack(1, channel=3)),
        (15.0, *publish(2, channel=3)),
        (15.1, *ack(2, channel=3)),
    ]
    rows = read(middle(talk))
    assert short(inferred_confirms(rows), "message_id", "delivery_tag") == [("p2", 2)]


@pytest.mark.parametrize(("ahead", "certainty"), [(64, "inferred"), (66, "unknown")])
def test_confirms_far_ahead(ahead: int, certainty: str, read: Read) -> None:
    """Confirms overtake the first one: so many are remembered."""
    burst = [(0.0001 * i, *publish(5 + i)) for i in range(ahead)]
    talk = [*burst, *((0.1 + 0.0001 * i, *ack(5 + i)) for i in range(1, ahead))]
    talk += [(0.2, *ack(5)), *pairs(5 + ahead, 14)]
    before = [*BEFORE[:-1], (-0.01, *BEFORE[-1][1:])]
    says = record_all([*before[:-1], *filler(), before[-1], *talk])
    rows = confirms(read(says[OPENING + len(before) - 1 :]))
    assert rows[-1][1:] == (4 + ahead + 1, certainty)


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_read_in_pieces(seed: int, tmp_path: Path) -> None:
    packets = middle(bursts(seed, 14)[9:])
    path = write(tmp_path / "talk.pcap", packets)
    whole = rows_of(capture.Reader(path, "event"))
    assert same_rows(resumed(path, offsets([one.data for one in packets])[:-1]), same_flags(whole))
    assert inferred_confirms(whole)


def right(rows: list[dict[str, Any]], names: dict[int, str]) -> int:
    """How many inferred confirms are right; all are, or this fails."""
    confirmed = inferred_confirms(rows)
    assert [row["message_id"] for row in confirmed] == [
        names[row["delivery_tag"]] for row in confirmed
    ]
    return len(confirmed)


@pytest.mark.parametrize("seed", range(20))
def test_recordings_that_begin_anywhere(seed: int, read: Read) -> None:
    """No confirm names another message, wherever the recording begins."""
    talk = sorted(bursts(seed), key=lambda entry: entry[0])
    names = truth(read(record_all(talk)))
    confirmed = 0
    for cut in range(1, 60, 3):
        at = (talk[cut - 1][0] + talk[cut][0]) / 2
        says = [*talk[:cut], *((at, *entry[1:]) for entry in filler()), *talk[cut:]]
        confirmed += right(read(record_all(says)[OPENING + cut :]), names)
    assert confirmed > 0


@pytest.mark.parametrize("seed", range(20))
def test_losses(seed: int, read: Read) -> None:
    """Nor after packets that were lost: one, or several of either side."""
    chance = random.Random(seed)
    talk = sorted(bursts(seed), key=lambda entry: entry[0])
    whole = read(record_all(talk))
    names = truth(whole)
    confirmed = 0
    for lost in (1, 1, 1, 2, 3, 8):
        places = sorted(chance.sample(range(1, len(talk) // 2), lost))
        at = (talk[places[-1]][0] + talk[places[-1] + 1][0]) / 2
        says = [
            *talk[: places[-1] + 1],
            *((at, *entry[1:]) for entry in filler()),
            *talk[places[-1] + 1 :],
        ]
        packets = record_all(says)
        rows = read([one for i, one in enumerate(packets) if i - OPENING not in places])
        confirmed += right(rows, names)
        exact = [row for row in rows if row["certainty"] == "exact" and row["event"] == "confirmed"]
        assert all(row["message_id"] == names[row["delivery_tag"]] for row in exact)
    assert confirmed > 0


def test_a_confirm_that_is_said_again_contradicts(tmp_path: Path) -> None:
    """Of a number that was inferred: the one before was of another publish."""
    talk = [*pairs(5, 0), *pairs(6, 12), (12.5, *publish(7)), (12.6, *ack(6)), (12.7, *ack(7))]
    reader = capture.Reader(write(tmp_path / "talk.pcap", middle(talk, BEFORE)), "event")
    rows = rows_of(reader)
    assert reader.stats()["contradicted_counts"] == 1
    assert confirms(rows) == [
        (None, 5, "unknown"),
        ("p6", 6, "inferred"),
        *((None, tag, "unknown") for tag in (6, 7)),
    ]


def test_one_from_before_a_gap_without_a_confirm_keeps_numbers_unknown(read: Read) -> None:
    """The server confirms the first one alone, and is silent: others may wait, as the second."""
    talk = [(0.0, *publish(1)), (0.1, *publish(2)), (0.2, *publish(3)), *filler(0.3)]
    talk += [(1.0, *publish(4)), (1.1, *ack(1)), (14.0, *publish(5)), (14.1, *ack(2))]
    packets = record_all([*talk, (14.2, *ack(5, multiple=True))])
    assert confirms(read([*packets[: OPENING + 2], *packets[OPENING + 3 :]])) == [
        ("p1", 1, "exact"),
        ("p2", 2, "exact"),
        (None, 5, "unknown"),
    ]
