"""Each frame of AMQP 1.0 has a construct in `make linear-test`, and each of those runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from amqpcodec import v1_0 as amqp
from tests.protocol import linear
from tests.session.v1_linear import CONSTRUCTS, FRAMES


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_it_runs(construct: str) -> None:
    """Counted by `make linear-test`; here it only keeps its own promises."""
    CONSTRUCTS[construct](40)
    assert linear.CONSTRUCTS[construct] is CONSTRUCTS[construct]


def test_no_frame_is_missing() -> None:
    performatives = {
        kind for kind in amqp.TYPES.values() if {"frame", "sasl-frame"} & set(kind.PROVIDES)
    }
    assert len(performatives) == 9 + 5
    assert set(FRAMES) == performatives | {amqp.Heartbeat, amqp.ProtocolHeader}
    used: set[Callable[[int], Any]] = set()
    for constructs in FRAMES.values():
        if not isinstance(constructs, str):
            used |= set(constructs)
    assert used == set(CONSTRUCTS.values())
