"""Frames of a channel in any order: objects and columns do what the table of contents says."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from amqpcodec import batch
from amqpcodec import v0_9_1 as amqp
from tests.paths import REPO

HEADER = REPO / "src" / "amqpcodec" / "_core" / "protocol" / "content.h"
SOURCE = HEADER.read_text(encoding="utf-8")
STATES = ("IDLE", "AWAITS_HEADER", "AWAITS_BODY", "SKIPS")

#: event -> (next state, outcome) by state.
GRAMMAR = {
    event: dict(zip(STATES, re.findall(r"\((\w+), (\w+)\)", cells), strict=True))
    for event, cells in re.findall(r"^    EVENT\((\w+), (.*)\)", SOURCE, re.M)
}
FAULTS = dict(re.findall(r'case CONTENT_(\w+):\n        return "(.*)";', SOURCE))

ALONE = amqp.encode(1, amqp.Queue.DeclareOk("q", 1, 2))
OPENING = amqp.encode(1, amqp.Basic.Deliver("tag", 1, False, "", "key"))
SIZES = (0, 1, 3)
FRAMES = ("alone", "opening", *(("header", n) for n in SIZES), *(("body", n) for n in SIZES))


def frame_bytes(kind: Any) -> bytes:
    if isinstance(kind, str):
        return ALONE if kind == "alone" else OPENING
    name, n = kind
    if name == "header":
        return amqp.encode(1, amqp.Header(n, amqp.Basic.Properties()))
    return amqp.encode(1, amqp.Body(b"x" * n))


def event_of(kind: Any, left: int) -> str:
    if isinstance(kind, str):
        return "METHOD" if kind == "alone" else "OPENING"
    name, n = kind
    if name == "header":
        return "HEADER" if n else "EMPTY_HEADER"
    return "BODY" if n < left else "LAST_BODY" if n == left else "LONG_BODY"


class Machine:
    """One channel, as the table has it."""

    def __init__(self) -> None:
        self.state = "IDLE"
        self.left = 0

    def take(self, kind: Any) -> str:
        self.state, outcome = GRAMMAR[event_of(kind, self.left)][self.state]
        if outcome == "MORE":
            self.left = kind[1] if kind[0] == "header" else self.left - kind[1]
        return outcome


@given(st.lists(st.sampled_from(FRAMES), max_size=12), st.integers(1, 9), st.booleans())
def test_objects_follow_the_table(kinds: list[Any], step: int, copy: bool) -> None:
    machine = Machine()
    expected = []
    for kind in kinds:
        outcome = machine.take(kind)
        if outcome == "HEADER_INSIDE":
            outcome = "HEADER_FIRST"  # one text for both
        if outcome in FAULTS:
            expected.append(FAULTS[outcome])
        elif outcome in ("ALONE", "COMPLETE"):
            expected.append({"ALONE": "DeclareOk", "COMPLETE": "Message"}[outcome])
    data = b"".join(map(frame_bytes, kinds))
    decoder = amqp.MessageDecoder(errors="frame", copy=copy)
    events = []
    for at in range(0, len(data), step):
        for _, event in decoder.feed(data[at : at + step]):
            if isinstance(event, amqp.BadFrame):
                events.append(next(text for text in FAULTS.values() if text in str(event.error)))
            else:
                events.append(type(event).__name__)
    assert events == expected
    assert decoder.discard(1) is (machine.state in ("AWAITS_HEADER", "AWAITS_BODY"))


@given(st.lists(st.sampled_from(FRAMES), max_size=12))
def test_columns_follow_the_table(kinds: list[Any]) -> None:
    """What is open is a row when it ends; a frame out of its place is another one."""
    machine = Machine()
    expected: list[str | None] = []
    for kind in kinds:
        before = machine.state
        outcome = machine.take(kind)
        if outcome in FAULTS:
            if before != "IDLE":
                expected.append(FAULTS[outcome])
                machine = Machine()
                outcome = machine.take(kind)
            if outcome in FAULTS:
                machine = Machine()
                expected.append(FAULTS[outcome])
        if outcome in ("ALONE", "COMPLETE"):
            expected.append(None)
    if machine.state != "IDLE":
        expected.append("a message")
    table = pa.table(
        batch.decode(b"".join(map(frame_bytes, kinds)), level="message", fields=["error"])
    )
    errors = table["error"].to_pylist()
    assert len(errors) == len(expected)
    for error, text in zip(errors, expected, strict=True):
        assert (error is None) if text is None else text in error
