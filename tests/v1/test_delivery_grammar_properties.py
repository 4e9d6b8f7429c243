"""Transfers of a link in any order: objects and columns do what the table of deliveries says."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from amqpcodec import batch
from amqpcodec import v1_0 as amqp
from tests.paths import REPO

HEADER = REPO / "src" / "amqpcodec" / "_core" / "v1" / "delivery.h"
SOURCE = HEADER.read_text(encoding="utf-8")
STATES = ("IDLE", "OPEN", "SKIPS")

#: event -> (next state, outcome) by state.
GRAMMAR = {
    event: dict(zip(STATES, re.findall(r"\((\w+), (\w+)\)", cells), strict=True))
    for event, cells in re.findall(r"^    EVENT\((\w+), (.*)\)", SOURCE, re.M)
}
FAULT = "another delivery begins inside of one"
ENDS = {
    "detach": amqp.Detach(handle=0),
    "end": amqp.End(),
    "close": amqp.Close(),
    "another detach": amqp.Detach(handle=9),
}

TRANSFERS = st.tuples(
    st.sampled_from([None, 1, 2]),  # delivery-id
    st.sampled_from([None, 0, 1]),  # message-format
    st.booleans(),  # more
    st.booleans(),  # aborted
)
FRAMES = st.lists(st.one_of(TRANSFERS, TRANSFERS, st.sampled_from(list(ENDS))), max_size=12)


def frame_bytes(item: Any) -> bytes:
    if isinstance(item, str):
        return amqp.encode(1, ENDS[item])
    number, form, more, aborted = item
    fields = {"delivery_id": number, "message_format": form, "more": more, "aborted": aborted}
    return amqp.encode(1, amqp.Transfer(handle=0, **fields), b"\0\x53\x75\xa0\x01x")


class Machine:
    """One link, as the table has it."""

    def __init__(self) -> None:
        self.state = "IDLE"
        self.first: tuple[Any, Any] = (None, None)

    def take(self, event: str) -> str:
        self.state, outcome = GRAMMAR[event][self.state]
        return outcome

    def transfer(self, item: tuple[Any, Any, bool, bool]) -> str:
        number, form, more, aborted = item
        other = self.state == "OPEN" and any(
            now is not None and now != then
            for now, then in zip((number, form), self.first, strict=True)
        )
        event = "ABORTED" if aborted else "MORE" if more else "LAST"
        outcome = self.take("OTHER_" * other + event)
        if outcome == "BEGUN":
            self.first = number, form
        return outcome


@given(FRAMES, st.integers(1, 60))
def test_objects_follow_the_table(items: list[Any], step: int) -> None:
    machine = Machine()
    expected = []
    for item in items:
        if isinstance(item, str):
            if item != "another detach":
                machine.take("ENDED")
            expected.append(type(ENDS[item]).__name__)
            continue
        outcome = machine.transfer(item)
        if outcome in ("ALONE", "COMPLETE"):
            expected.append("Delivery")
        elif outcome == "OTHER_INSIDE":
            expected.append("BadFrame")
    data = b"".join(map(frame_bytes, items))
    decoder = amqp.MessageDecoder(opened=True, errors="frame", max_open=1)
    events = []
    for at in range(0, len(data), step):
        events += [event for _, event in decoder.feed(data[at : at + step])]
    assert [type(event).__name__ for event in events] == expected
    assert all(FAULT in str(event.error) for event in events if isinstance(event, amqp.BadFrame))
    assert decoder.discard(1, 0) is (machine.state == "OPEN")


@given(FRAMES)
def test_columns_follow_the_table(items: list[Any]) -> None:
    """Nothing is skipped: the rest of a discarded delivery is rows with an error."""
    machine = Machine()
    expected: list[str | None] = []
    for item in items:
        if isinstance(item, str):
            if item != "another detach":
                machine.take("ENDED")
            expected.append(None)
            continue
        outcome = machine.transfer(item)
        if outcome in ("ALONE", "COMPLETE"):
            expected.append(None)
        elif outcome == "OTHER_INSIDE":
            expected.append(FAULT)
        elif outcome == "IGNORED":
            expected.append("the rest of a delivery that was given up")
    if machine.take("ENDED") == "CUT":
        expected.append("a delivery")
    data = b"".join(map(frame_bytes, items))
    table = pa.table(batch.decode(data, protocol="1.0", level="message", fields=["error"]))
    errors = table["error"].to_pylist()
    assert len(errors) == len(expected)
    for error, text in zip(errors, expected, strict=True):
        assert (error is None) if text is None else text in error
