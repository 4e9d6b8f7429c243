"""States with all that can wait in them, and each number of them changed: resumed or refused."""

from __future__ import annotations

from collections import Counter

import pytest

from amqpcodec import v0_9_1 as amqp
from tests.capture.hostile_states import attack, number, reader, states, width
from tests.support import recording as make
from tests.support import v1_talk
from tests.support.unfinished import BEAT, HEADER, PUBLISH, TRANSFER, open_message

CHANGES = (-1, 0, 1, 2, 7, 9, 1 << 31, 1 << 62)


def last_state(octets: bytes) -> tuple[bytes, list[int]]:
    core = reader("message", False)
    core.begin("x", "x")
    core.feed(octets)
    assert core.advance() is False
    while core.take() is not None:
        pass
    starts: list[int] = []
    return core.state(starts), starts


STATE, STARTS = last_state(open_message())


def test_what_waits_goes_on() -> None:
    core = reader("message", False)
    core.resume(STATE)
    assert core.state() == STATE
    assert core.counts()["ip_fragments"] == 7


def test_every_number_of_a_state() -> None:
    counts: Counter[str] = Counter()
    for at in STARTS:
        for value in CHANGES:
            changed = STATE[:at] + number(value) + STATE[at + width(STATE, at) :]
            attack(changed, "message", False, b"", counts)
    assert counts["states"] == len(STARTS) * len(CHANGES)
    assert counts["states"] * 0.3 < counts["refused"] < counts["states"]


def test_a_direction_of_which_nothing_was_seen_is_as_new() -> None:
    """Its numbers are the last ones, all of them 0. What is changed there changes no row."""
    packets = make.packets([(0, amqp.PROTOCOL_HEADER), (1, BEAT * 3), (0, BEAT)])
    core = reader("frame", False)
    core.begin("x", "x")
    core.feed(make.pcap(packets[:1]))
    assert core.advance() is False
    starts: list[int] = []
    state = core.state(starts)
    remainder = make.pcap(packets)[len(make.pcap(packets[:1])) :]
    rows = frames_after(state, remainder)
    assert rows == [amqp.PROTOCOL_HEADER, *[BEAT] * 4]
    unseen = [at for at in starts if not any(state[at:])]
    assert len(unseen) > 40
    refused = 0
    for at in unseen:
        for value in (1, 2, 3):
            changed = state[:at] + number(value) + state[at + 1 :]
            try:
                changed_rows = frames_after(changed, remainder)
            except ValueError:
                refused += 1
            else:
                assert changed_rows == rows
    assert refused > len(unseen)


def frames_after(state: bytes, remainder: bytes) -> list[bytes]:
    """The frames that a reader gives which goes on in a state."""
    pa = pytest.importorskip("pyarrow")
    core = reader("frame", False)
    core.resume(state)
    core.feed(remainder)
    out: list[bytes] = []
    while True:
        more = core.advance() or core.advance(last=True)
        while (batch := core.take(True)) is not None:
            out += pa.record_batch(batch).column("frame").to_pylist()
        if not more:
            return out


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (PUBLISH[:1] + PUBLISH[1:11], PUBLISH[:7] + b"\0\x3c\0\x50"),  # basic.ack has no content
        (PUBLISH[:11], PUBLISH[:7] + b"\0\x3c\0\x99"),
        (HEADER[:19], HEADER[:11] + bytes(7) + b"\x63"),
        (HEADER[:1], b"\3"),
        (b"\3\0\1\0\0\0\x0a", b"\3\0\2\0\0\0\x0a"),
        (b"\3\0\1\0\0\0\x0a", b"\2\0\1\0\0\0\x0a"),
        (b"b" * 10 + b"\xce", b"b" * 10 + b"?"),
        (TRANSFER[:4], b"\0\0\0\5"),
        (TRANSFER[:5], TRANSFER[:4] + b"\1"),
        (TRANSFER[:5], TRANSFER[:4] + b"\xff"),
        (TRANSFER[:8], TRANSFER[:6] + b"\0\1"),  # of another channel
        (TRANSFER[-8:], b"\x40" + TRANSFER[-7:]),  # of no handle
        (TRANSFER[-8:], TRANSFER[-8:-1] + b"\x42"),  # the last one
    ],
)
def test_bytes_of_an_open_message_that_are_none(old: bytes, new: bytes) -> None:
    at = min(STATE.index(PUBLISH), STATE.index(TRANSFER))
    assert old in STATE[at:]
    changed = STATE[:at] + STATE[at:].replace(old, new, 1)
    assert changed != STATE
    with pytest.raises(ValueError, match="damaged"):
        reader("message", False).resume(changed)


def listed(aborted: bytes = b"\x42", **fields: int) -> bytes:
    """A transfer with all fields that put deliveries together, `aborted` the last of them."""
    transfer_fields = {"number": 5, "handle": 7, "more": True, "aborted": True, **fields}
    return v1_talk.transfer(b"", **transfer_fields)[:-1] + aborted


@pytest.mark.parametrize(
    "other", [listed(more=False), listed(handle=8), listed(number=6), listed(b"\x41")]
)
def test_transfers_of_an_open_delivery_that_contradict(other: bytes) -> None:
    client_bytes = b"AMQP\0\1\0\0" + v1_talk.opening() + listed() * 2
    state, _ = last_state(make.pcap(make.packets([(0, client_bytes)])))
    assert state.count(listed() * 2) == 1
    changed = state.replace(listed() * 2, listed() + other)
    assert len(changed) == len(state)
    with pytest.raises(ValueError, match="damaged"):
        reader("message", False).resume(changed)


def test_a_cut_state_is_damaged_wherever_it_ends() -> None:
    for end in range(STARTS[0], len(STATE)):
        with pytest.raises(ValueError, match="damaged"):
            reader("message", False).resume(STATE[:end])


def test_states_between_all_packets() -> None:
    octets = open_message()
    for level in ("frame", "message"):
        for state, _, _ in states(octets, level, False, 40):
            core = reader(level, False)
            core.resume(state)
            assert core.state() == state
