"""Of 1.0: what a recording says of a message happened to it, whatever the recording lacks."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.support.event_talk import TO_CLIENT, TO_SERVER, lost
from tests.support.event_work_v1 import Outcome, Work, work_of
from tests.support.recording import packets, records

Read = Callable[..., list[dict[str, Any]]]
ENDS = ("confirmed", "settled", "requeued", "unconfirmed")
CHANNELS = pytest.mark.parametrize("channels", ["alike", "other", "swapped"])
SEEDS = pytest.mark.parametrize("seed", range(6))


def statements(rows: Sequence[dict[str, Any]]) -> list[tuple[str, Outcome]]:
    """What rows say of messages that they name."""
    return [
        (row["message_id"], (row["event"], row.get("outcome")))
        for row in rows
        if row["event"] in ENDS and "message_id" in row
    ]


def is_true(stated: Outcome, truth: Outcome | None) -> bool:
    """A statement without an outcome says less, and no other thing."""
    return truth is not None and stated[0] == truth[0] and stated[1] in (None, truth[1])


def contradictions(rows: Sequence[dict[str, Any]], work: Work) -> list[tuple[Any, Outcome]]:
    """Statements that are not true: of messages by their id, of those that are incomplete by the
    number of their delivery, where one delivery alone has it."""
    wrong: list[tuple[Any, Outcome]] = [
        (name, stated)
        for name, stated in statements(rows)
        if not is_true(stated, work.outcomes.get(name))
    ]
    for row in rows:
        if row["event"] not in ENDS or "message_id" in row or "answers" not in row:
            continue
        sender = row["event"] in ("settled", "requeued")
        sent = work.numbers.get((sender, row["delivery_tag"]), [])
        stated = row["event"], row.get("outcome")
        if len(sent) == 1 and sent[0].name and not is_true(stated, work.outcomes.get(sent[0].name)):
            wrong.append((row["delivery_tag"], stated))
    return wrong


@CHANNELS
@SEEDS
def test_a_complete_recording_says_all(seed: int, channels: str, read: Read) -> None:
    work = work_of(seed, channels)
    rows = read(records(packets(work.says)))
    assert dict(statements(rows)) == work.outcomes
    assert len(statements(rows)) == len(work.outcomes)


@CHANNELS
@SEEDS
def test_a_packet_lost(seed: int, channels: str, read: Read) -> None:
    work = work_of(seed, channels)
    talk = records(packets(work.says))
    for i in range(len(talk)):
        rows = read([*talk[:i], *talk[i + 1 :]])
        assert contradictions(rows, work) == [], i


@CHANNELS
@SEEDS
@pytest.mark.parametrize("side", [TO_SERVER, TO_CLIENT])
def test_a_packet_lost_before_the_end_of_tcp(
    side: int, seed: int, channels: str, read: Read
) -> None:
    work = work_of(seed, channels)
    talk = records(lost(work.says[:-2], side))
    assert dict(statements(read(talk))) == work.outcomes
    for i in range(seed % 3, len(talk), 3):
        rows = read([*talk[:i], *talk[i + 1 :]])
        assert contradictions(rows, work) == [], i


@CHANNELS
@SEEDS
def test_packets_lost(seed: int, channels: str, read: Read) -> None:
    work = work_of(seed, channels)
    talk = records(packets(work.says))
    chance = random.Random(seed)
    for _ in range(100):
        gone = {chance.randrange(len(talk)) for _ in range(chance.choice((2, 3, 8)))}
        rows = read([one for i, one in enumerate(talk) if i not in gone])
        assert contradictions(rows, work) == [], gone


@CHANNELS
@SEEDS
def test_the_beginning_cut_off(seed: int, channels: str, read: Read) -> None:
    work = work_of(seed, channels)
    talk = records(packets(work.says))
    for i in range(len(talk) - 20):
        assert contradictions(read(talk[i:]), work) == [], i
