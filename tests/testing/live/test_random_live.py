"""Random programs do the same on RabbitMQ and on the broker for tests.

AMQPCODEC_PROGRAMS: how many programs (40); AMQPCODEC_SEED: the number of the first (1).
"""

from __future__ import annotations

import os

import pytest

from tests import live_broker
from tests.testing.random_programs import find_difference

COUNT = int(os.environ.get("AMQPCODEC_PROGRAMS", "40"))
FIRST = int(os.environ.get("AMQPCODEC_SEED", "1"))
TOGETHER = 10


@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, TOGETHER))
def test_programs(first):
    real = live_broker.address()
    for seed in range(first, min(first + TOGETHER, FIRST + COUNT)):
        difference = find_difference(seed, real)
        assert difference is None, f"seed {seed}:\n{difference}"
