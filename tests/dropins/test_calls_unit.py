"""The compiled codec does the work itself: what is good is not left to the client's own code."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.dropins import wild
from tests.dropins.canon import outcome
from tests.dropins.stock import Side, dropin
from tests.support import client_bytes as octets

COUNT = 400


def reads(side: Side) -> list[Any]:
    """Calls that read good frames of the pool."""
    if side.package == "pamqp":
        return [lambda data=data: side.frame.unmarshal(data) for data in octets.pool()]
    if side.package == "pika":
        return [lambda data=data: side.frame.decode_frame(data) for data in octets.pool()]
    return [
        lambda data=data: side.serialization.decode_properties_basic(data[7:-1], 12)
        for data in octets.headers()
    ]


def writes(side: Side) -> list[Any]:
    """Calls that write good messages."""
    calls = []
    for seed in range(COUNT):
        table = wild.good_table(Random(seed))
        common = {"content_type": "text/plain", "delivery_mode": 2, "app_id": f"größe {seed}"}
        if side.package == "pamqp":
            properties = side.commands.Basic.Properties(headers=table, **common)
            header = side.header.ContentHeader(0, 5, properties)
            calls.append(lambda header=header: side.frame.marshal(header, 1))
        elif side.package == "pika":
            properties = side.spec.BasicProperties(headers=table, **common)
            calls.append(side.frame.Header(1, 5, properties).marshal)
        else:
            message = side.basic_message.Message(application_headers=table, **common)
            calls.append(message._serialize_properties)
    return calls


def enums(side: Side) -> list[Any]:
    """Properties as aio-pika gives them: its delivery mode is a member of an IntEnum."""
    mode = {"delivery_mode": wild.Number.ONE, "headers": {"n": 1}}
    if side.package == "pamqp":
        properties = side.commands.Basic.Properties(**mode)
        return [lambda: side.frame.marshal(side.header.ContentHeader(0, 5, properties), 1)]
    if side.package == "pika":
        properties = side.spec.BasicProperties(**mode)
        return [side.frame.Header(1, 5, properties).marshal]
    message = side.basic_message.Message(application_headers={"n": 1}, delivery_mode=1)
    message.properties["delivery_mode"] = wild.Number.ONE
    return [message._serialize_properties]


def test_enums_stay_in_the_compiled_codec(pair: tuple[Side, Side]) -> None:
    stock, live = pair
    module = dropin(stock.package)
    [one], [other] = enums(stock), enums(live)
    before = module.fallbacks()
    assert outcome(other) == outcome(one)
    assert outcome(one)[0] == "value"
    assert module.fallbacks() == before


@pytest.mark.parametrize("make", [reads, writes])
def test_what_is_good(pair: tuple[Side, Side], make: Any) -> None:
    stock, live = pair
    module = dropin(stock.package)
    good = fallback_count = 0
    for one, other in zip(make(stock), make(live), strict=True):
        want = outcome(one)
        before = module.calls(), module.fallbacks()
        assert outcome(other) == want
        assert module.calls() > before[0]
        if want[0] == "value":
            good += 1
            fallback_count += module.fallbacks() != before[1]
    assert good > COUNT / 2
    # text that is not UTF-8 and the like is good as well for some, and rare
    assert fallback_count <= good * (0.1 if make is reads else 0.02), f"{fallback_count} of {good}"
