"""The broker does what RabbitMQ did when the probes were recorded."""

from __future__ import annotations

import json

import pytest

from amqpcodec.testing import Broker
from tests.testing.probes import GUIDE, PROBES, Bench, recorded, table, with_table

EXPECTED = recorded()
PROBE = "topic_exchange"


@pytest.fixture(scope="module")
def address():
    with Broker(profile="3.13") as broker:
        yield broker.host, broker.port


def test_all_probes_are_recorded():
    assert set(EXPECTED) == set(PROBES)


def test_the_guide_has_the_table():
    """Of no difference, as `test_probe` shows for each."""
    page = GUIDE.read_text(encoding="utf-8")
    assert with_table(page, table({})) == page
    assert table({PROBE: ("a", "b")}).count("|") == 12


@pytest.mark.parametrize("name", PROBES)
def test_probe(name, address):
    value = Bench(address).run(PROBES[name])
    assert json.loads(json.dumps(value)) == EXPECTED[name]


@pytest.mark.parametrize("name", ["topic_exchange", "confirms_and_returns", "transactions"])
def test_probe_byte_by_byte(name):
    with Broker(profile="3.13") as broker:
        broker.read_bytes = broker.write_bytes = 1
        assert Bench((broker.host, broker.port)).run(PROBES[name]) == EXPECTED[name]
