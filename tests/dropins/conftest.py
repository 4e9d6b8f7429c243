"""The clients and their drop-ins, or a skip where one is absent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.dropins.stock import MODULES, MODULES_OF, V1_MODULES, Side, dropin, installed, stock

# A mistake of the drop-ins' own is an error here, also in other processes that tests start.
os.environ["AMQPCODEC_DROPINS_RAISE"] = "1"


def need(package: str) -> Any:
    """The drop-in's module; skips where the client is not installed."""
    pytest.importorskip(package)
    return dropin(package)


@pytest.fixture(params=list(MODULES))
def package(request: pytest.FixtureRequest) -> str:
    """Each client in turn."""
    need(request.param)
    return str(request.param)


@pytest.fixture
def pair(package: str) -> Iterator[tuple[Side, Side]]:
    """(stock, with the drop-in) of each client in turn."""
    with installed(package) as both:
        yield both


@pytest.fixture(params=list(V1_MODULES))
def v1_pair(request: pytest.FixtureRequest) -> Iterator[tuple[Side, Side]]:
    """(stock, with the drop-in) of each client of AMQP 1.0 in turn."""
    need(request.param)
    with installed(request.param) as both:
        yield both


def _pair(name: str) -> Any:
    @pytest.fixture
    def sides() -> Iterator[tuple[Side, Side]]:
        need(name)
        with installed(name) as both:
            yield both

    return sides


pamqp_pair = _pair("pamqp")
pika_pair = _pair("pika")
py_amqp_pair = _pair("amqp")


@pytest.fixture(autouse=True, scope="session")
def second_copies() -> None:
    """Make them before any drop-in is installed."""
    for name in MODULES_OF:
        try:
            stock(name)
        except ImportError:
            continue
