"""Which topics fit which patterns."""

from __future__ import annotations

import pytest

from amqpcodec.testing._exchanges import Exchange, Route


@pytest.mark.parametrize(
    ("pattern", "key", "fits"),
    [
        ("a.b", "a.b", True),
        ("a.*", "a.b", True),
        ("a.*", "a", False),
        ("a.*", "a.b.c", False),
        ("#", "", True),
        ("#", "a.b", True),
        ("a.#", "a", True),
        ("a.#.z", "a.b.c.z", True),
        ("a.#.z", "a.b.c", False),
        ("*.#", "", False),
        ("*.#", "a", True),
        ("*.*", "a", False),
    ],
)
def test_topics(pattern, key, fits):
    exchange = Exchange("x", "topic")
    exchange.routes.append(Route(pattern, {}, exchange))
    assert exchange.matches(key, {}) == ([exchange] if fits else [])
