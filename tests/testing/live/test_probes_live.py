"""RabbitMQ does what was recorded, so that the broker for tests is compared with the truth."""

from __future__ import annotations

import json

import pytest

from tests import live_broker
from tests.testing.probes import PROBES, Bench, recorded


@pytest.mark.parametrize("name", PROBES)
def test_probe(name):
    value = Bench(live_broker.address()).run(PROBES[name])
    assert json.loads(json.dumps(value)) == recorded()[name]
