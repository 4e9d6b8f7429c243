"""Random programs are the same each time, and differences of brokers are found and made small."""

from __future__ import annotations

import pytest

from amqpcodec import v0_9_1 as amqp
from amqpcodec.testing import Broker
from tests.testing import random_programs
from tests.testing.random_programs import find_difference, make


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(random_programs, "PATIENCE", 0.0)


def test_a_seed_makes_one_program():
    with Broker(profile="3.13") as broker:
        first, second = (make(7, 40, (broker.host, broker.port)) for _ in range(2))
    assert [str(step) for step in first[0]] == [str(step) for step in second[0]]
    assert first[1] == second[1]


def test_programs_give_the_same_again(impatient):
    with Broker(profile="3.13") as other:
        assert [find_difference(seed, (other.host, other.port)) for seed in range(5)] == [None] * 5


def test_a_difference_is_made_small(impatient):
    """Since 4.3 a queue that is neither durable nor exclusive is refused."""
    with Broker(profile="4.3") as other:
        address = other.host, other.port
        differences = (find_difference(seed, address) for seed in range(30))
        difference = next(one for one in differences if one is not None)
    (step,) = difference.steps
    assert isinstance(step.method, amqp.Queue.Declare | amqp.Basic.Qos)
    assert "deprecated" in str(difference)
