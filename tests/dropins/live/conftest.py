"""Live sessions: each client against a RabbitMQ, without and with its drop-in, told alike."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from tests import live_broker
from tests.dropins.canon import canon
from tests.dropins.conftest import need
from tests.dropins.stock import live

Session = Callable[[], list[Any]]


@pytest.fixture(scope="session")
def broker() -> tuple[str, int]:
    """Where the broker listens."""
    return live_broker.address()


def same(package: str, session: Session) -> list[Any]:
    """Run a session without and with the drop-in; both must tell the same. Gives what they told."""
    module = need(package)
    live(package)
    module.uninstall()
    plain = session()
    module.install()
    try:
        before = module.calls()
        results = session()
        assert module.calls() - before > 20
    finally:
        module.uninstall()
    assert len(results) == len(plain)
    for number, (one, other) in enumerate(zip(plain, results, strict=True)):
        if canon(other) != canon(one):
            texts = [repr(canon(result))[:2000] for result in (one, other)]
            pytest.fail(f"answer {number}\nstock   {texts[0]}\ndrop-in {texts[1]}", pytrace=False)
    return results


#: Header values that all clients can write and read.
HEADERS: dict[str, Any] = {
    "small": 5,
    "negative": -7,
    "large": 2**40,
    "text": "größe 中文 \U0001f407",
    "empty": "",
    "yes": True,
    "no": False,
    "nothing": None,
    "price": Decimal("12.34"),
    "when": datetime(2020, 2, 29, 12, tzinfo=UTC),
    "list": [1, "two", [3, None], {"four": 4}],
    "table": {"a": {"b": {"c": [True, Decimal("-0.5")]}}},
    "x" * 120: "long name",
    "long": "l" * 5000,
}
#: What fits into the first frames, of 4096 bytes at most.
SHORT = {name: value for name, value in HEADERS.items() if name != "long"}
BODIES = [b"", b"x", bytes(range(256)), b"m" * 5000, b"L" * 300_000]
