"""Telling the state of several deliveries in as few frames as possible (Part 2 §2.7.6)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ... import v1_0 as amqp
from ..errors import LocalProtocolError
from .objects import IncomingDelivery, Session
from .serial import advance, distance

__all__ = ["settle"]


def settle(
    session: Session, deliveries: Iterable[IncomingDelivery], state: Any, settled: bool
) -> None:
    """Tell the state of deliveries that came; see `Session.settle`."""
    if not session._is_over():
        session._check()
    outcome = amqp.Accepted() if state is None else state
    deliveries_by_id = {}
    for delivery in deliveries:
        if delivery.link.session is not session:
            raise LocalProtocolError("a delivery belongs to another session")
        if not delivery._is_over(outcome):
            delivery._check_open()
            deliveries_by_id[delivery.id] = delivery
    base = next(iter(deliveries_by_id), 0)
    ordered = sorted(deliveries_by_id, key=lambda number: distance(base, number))
    frames: list[amqp.Disposition] = []
    for number in ordered:
        if frames and advance(frames[-1].last or 0, 1) == number:
            frames[-1].last = number
        else:
            frames.append(amqp.Disposition(amqp.Role.RECEIVER, number, number, settled, outcome))
    for frame in frames:
        session._queue(frame)
    for delivery in deliveries_by_id.values():
        delivery._note(outcome, settled)
