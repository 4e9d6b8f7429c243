"""Resuming deliveries: what two unsettled maps call for, and positions in a message.

Spec: 1.0 Part 2 §2.6.13, Part 3 §3.4.6.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ... import v1_0 as amqp

__all__ = [
    "OUTCOMES",
    "Resumption",
    "ResumptionAction",
    "compare_states",
    "compare_unsettled",
    "is_gap",
    "is_outcome",
    "map_state",
    "numbers",
    "offset_of",
    "position_after",
    "unsettled_of",
]

#: After one of them the receiver says nothing else (Part 3 §3.4).
OUTCOMES = (amqp.Accepted, amqp.Rejected, amqp.Released, amqp.Modified)
_START = (0, 0)
#: A map has no entry for a tag.
_ABSENT: Any = object()


def is_outcome(state: Any) -> bool:
    """Whether a state is terminal: it does not change any more."""
    return type(state) in OUTCOMES


def map_state(unsettled: Any) -> Any:
    """What an unsettled map says of a delivery; a state stands for itself."""
    return getattr(unsettled, "_map_state", unsettled)


def unsettled_of(frame: amqp.Attach | None) -> dict[bytes, Any]:
    """The unsettled map of an attach; {} where there is none."""
    unsettled = None if frame is None else frame.unsettled
    return unsettled if isinstance(unsettled, dict) else {}


# --- what the maps call for -----------------------------------------------------------------------


class ResumptionAction(enum.Enum):
    """What the sender does about a delivery that is in doubt after a link was attached again.

    Spec: 1.0 Part 3 §3.4.6, whose cases are numbered by their delivery-tags.
    """

    #: Send it as a new delivery, without resume: the receiver does not know it (cases 1 and 5).
    RESEND = "resend"
    #: Send its data from `position` on in a resuming transfer (cases 2, 4 and 6).
    RESUME = "resume"
    #: Send a resuming transfer without data, settled, with `state` (cases 3, 8 and 12).
    SETTLE = "settle"
    #: Send a resuming transfer without data, unsettled, with `state`: the sender's outcome, which
    #: counts. The receiver tells the same outcome and settles (case 13).
    RESTATE = "restate"
    #: Send a resuming transfer that is aborted: the receiver forgets it (cases 7, 9, 11 and 14).
    ABORT = "abort"
    #: Send nothing: one end has settled it, the other one forgets it (case 10).
    FORGET = "forget"
    #: Nothing can be said: the map that lacks the tag is incomplete. Detach and attach again after
    #: what is known was resumed.
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Resumption:
    """What two unsettled maps call for about one delivery.

    Attributes:
        tag: the delivery-tag.
        action: what the sender does; the receiver sees it come.
        position: RESUME: where the data begins; Received(0, 0) is the start of the message.
        state: SETTLE and RESTATE: the outcome that the resuming transfer carries.
        resend: ABORT: the message did not arrive. The sender sends it again as a new delivery if it
            has all of it, or else reports that it may be lost.
    """

    tag: bytes
    action: ResumptionAction
    position: amqp.Received | None = None
    state: Any = None
    resend: bool = False


def compare_unsettled(
    sender: Mapping[bytes, Any] | None,
    receiver: Mapping[bytes, Any] | None,
    *,
    sender_incomplete: bool = False,
    receiver_incomplete: bool = False,
) -> dict[bytes, Resumption]:
    """Tag -> what the unsettled maps of both ends of a link call for, for each tag of either map.

    It is the same for both ends. ``link.resumptions`` calls it with the maps of a link.

    Args:
        sender: the sender's map, tag -> state or None; None for none.
        receiver: the receiver's.
        sender_incomplete, receiver_incomplete: whether incomplete-unsettled came with a map.

    A position is compared by its numbers: that Received(2, 30) is Received(3, 0) where section 2
    has 30 bytes cannot be seen here. Where that matters the sender aborts and sends again.

    Spec: 1.0 Part 2 §2.6.13, Part 3 §3.4.6.
    """
    sender, receiver = sender or {}, receiver or {}
    return {
        tag: compare_states(
            tag,
            sender.get(tag, _ABSENT),
            receiver.get(tag, _ABSENT),
            sender_incomplete=sender_incomplete,
            receiver_incomplete=receiver_incomplete,
        )
        for tag in dict.fromkeys((*sender, *receiver))
    }


def compare_states(
    tag: bytes,
    sender: Any = _ABSENT,
    receiver: Any = _ABSENT,
    *,
    sender_incomplete: bool = False,
    receiver_incomplete: bool = False,
) -> Resumption:
    """What the states of one delivery call for; a map that lacks the tag has no state of it."""
    action = ResumptionAction
    if sender is _ABSENT:
        return Resumption(tag, action.UNKNOWN if sender_incomplete else action.FORGET)
    if receiver is _ABSENT:
        if receiver_incomplete:
            return Resumption(tag, action.UNKNOWN)
        return Resumption(tag, action.FORGET if is_outcome(sender) else action.RESEND)
    if is_outcome(sender):
        if not is_outcome(receiver):
            return Resumption(tag, action.ABORT)
        same = sender == receiver
        return Resumption(tag, action.SETTLE if same else action.RESTATE, state=sender)
    if is_outcome(receiver):
        return Resumption(tag, action.SETTLE, state=receiver)
    position = numbers(receiver)
    if position < numbers(sender):
        return Resumption(tag, action.ABORT, resend=True)
    return Resumption(tag, action.RESUME, position=amqp.Received(*position))


# --- positions ------------------------------------------------------------------------------------


def numbers(state: Any) -> tuple[int, int]:
    """A state's position as (section number, bytes into the section); (0, 0) without one."""
    if type(state) is not amqp.Received:
        return _START
    return state.section_number or 0, state.section_offset or 0


def is_gap(end: Any, start: Any) -> bool:
    """Whether bytes are surely missing between end and data that goes on at start.

    Not where start is a section's first byte and end is inside of the section before: that may be
    the section's end.
    """
    (section, offset), (next_section, next_offset) = numbers(end), numbers(start)
    if (next_section, next_offset) <= (section, offset):
        return False
    return (next_section, next_offset) != (section + 1, 0) or not offset


def position_after(payload: bytes, start: Any = None) -> amqp.Received:
    """Where a message goes on whose first bytes are payload; start: where payload begins.

    A section counts from its descriptor on, as ``Message.sections`` counts them. Where payload
    begins inside of a section its end is not known: the position is start then.
    """
    first, offset = numbers(start)
    if offset:
        return amqp.Received(first, offset)
    starts = _section_starts(payload)
    last = len(starts) - 1
    return amqp.Received(first + last, len(payload) - starts[-1])


def offset_of(payload: bytes, position: Any) -> int | None:
    """The offset of a position in a message whose first bytes are payload; None beyond its end."""
    section, offset = numbers(position)
    starts = _section_starts(payload)
    if section >= len(starts):
        return None
    end = starts[section + 1] if section + 1 < len(starts) else len(payload)
    result = starts[section] + offset
    return result if result <= end else None


def _section_starts(payload: bytes) -> list[int]:
    """The offset of each section, and last that of the one that is incomplete or has not begun."""
    starts = [0]
    at: int | None = 0
    while at is not None and at < len(payload):
        at = None if payload[at] else _end_of_value(payload, at)  # a section is a described value
        if at is not None and at <= len(payload):
            starts.append(at)
    return starts


def _end_of_value(data: bytes, at: int) -> int | None:
    """The offset after an encoded value; None where its head is incomplete or is none."""
    values = 1
    while values:
        if at >= len(data):
            return None
        constructor = data[at]
        at += 1
        values -= 1
        if not constructor:  # a descriptor and the value that it describes
            values += 2
            continue
        kind = constructor >> 4
        if 4 <= kind <= 9:
            at += (0, 1, 2, 4, 8, 16)[kind - 4]
        elif kind >= 10:
            width = 4 if kind & 1 else 1
            if at + width > len(data):
                return None
            at += width + int.from_bytes(data[at : at + width], "big")
        else:
            return None
    return at
