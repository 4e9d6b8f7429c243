"""The fast readers and writers against the table path: a protocol made with and without them.

Whatever the bytes or the values, both give the same object, the same bytes or the same error.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqpcodec import DecodeError, EncodeError, _codec
from amqpcodec._gen.v0_9_1 import TABLE
from tests.support import amqp091_gen as gen
from tests.support import amqp091_wire as w
from tests.support.amqp091_same import key_of
from tests.support.amqp091_strategies import arguments, property_values

FAST = _codec.Protocol(TABLE)
SLOW = _codec.Protocol(TABLE, fast=False)
FAST_METHODS = (
    "basic.publish",
    "basic.deliver",
    "basic.get-ok",
    "basic.return",
    "basic.ack",
    "basic.nack",
)


def as_plain_data(value: Any) -> Any:
    """A frame of either protocol as plain data, types included."""
    if isinstance(value, _codec.Frame):
        return (
            type(value).__qualname__,
            {name: as_plain_data(getattr(value, name)) for name in type(value).FIELDS},
            getattr(value, "raw_headers", None),
        )
    return key_of(value)


def outcome(call: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        return call(*args, **kwargs)
    except (DecodeError, EncodeError) as error:
        return (type(error), str(error), vars(error))


def decoded(protocol: Any, data: bytes, **settings_: Any) -> Any:
    result = outcome(protocol.decode, data, **settings_)
    if result is None or isinstance(result[0], type):
        return result
    consumed, channel, frame = result
    return (consumed, channel, as_plain_data(frame), protocol.encode(channel, frame))


SETTINGS = st.fixed_dictionaries(
    {
        "dialect": st.sampled_from(("rabbitmq", "0-9-1")),
        "tables": st.sampled_from(("plain", "typed")),
        "trailing": st.sampled_from(("error", "keep")),
    }
)


def test_fast_functions_are_bound():
    """Otherwise the tests here would compare a thing with itself."""
    assert _codec.fast_signatures(SLOW) == {}
    assert set(FAST_METHODS) | {"basic.properties"} <= set(_codec.fast_signatures(FAST))


@pytest.mark.parametrize("name", [*FAST_METHODS, "header"])
@settings(max_examples=150)
@given(rng=st.randoms(use_true_random=False), how=SETTINGS, spoilt=st.booleans())
def test_decode(name: str, rng: Random, how: dict[str, str], spoilt: bool):
    data = gen.header_frame(rng, 1) if name == "header" else gen.method_frame(rng, 1, name)
    if spoilt:
        data = gen.spoil_inside(rng, data)
    assert decoded(FAST, data, **how) == decoded(SLOW, data, **how)


@pytest.mark.parametrize("name", FAST_METHODS)
@settings(max_examples=100)
@given(data=st.data())
def test_encode_method(name: str, data: st.DataObject):
    spec = w.SPECS[name]
    values = data.draw(arguments(spec))
    odd = data.draw(
        st.sampled_from((None, "x" * 300, -1, 2**64, 1.5, b"x", "é", "\udc80", "\ud800", 1))
    )
    at = data.draw(st.integers(-1, len(values) - 1))
    if at >= 0:
        values = (*values[:at], odd, *values[at + 1 :])
    results = []
    for protocol in (FAST, SLOW):
        cls = protocol.METHODS[spec.class_id, spec.method_id]
        method = cls(**dict(zip((name for name, _ in spec.fields), values, strict=True)))
        results.append(outcome(protocol.encode, 1, method))
    assert results[0] == results[1]


@settings(max_examples=300)
@given(
    values=property_values(),
    name=st.sampled_from(
        ("content_type", "headers", "delivery_mode", "timestamp", "message_id", "")
    ),
    odd=st.sampled_from(
        ("x" * 256, -1, 256, 2**64, 1.5, b"x", {"a": object()}, {1: 2}, {"k": "\ud800"})
    ),
)
def test_encode_properties(values: dict[str, Any], name: str, odd: Any):
    if name:
        values = values | {name: odd}
    results = []
    for protocol in (FAST, SLOW):
        properties = protocol.namespaces["Basic"].Properties(**values)
        results.append(outcome(protocol.encode, 1, protocol.Header(3, properties)))
    assert results[0] == results[1]


@settings(max_examples=200)
@given(
    rng=st.randoms(use_true_random=False), spoilt=st.booleans(), limit=st.sampled_from((None, 5))
)
def test_messages(rng: Random, spoilt: bool, limit: int | None):
    """MessageDecoder takes whole messages in one go where the signatures are fast."""
    data = gen.conversation(rng)
    if spoilt:
        data = gen.spoil(rng, data)
    outcomes = []
    for protocol in (FAST, SLOW):
        decoder = _codec.MessageDecoder(protocol, 131072, limit, errors="frame")
        events = []
        try:
            for channel, event in decoder.feed(data):
                if isinstance(event, protocol.BadFrame):
                    events.append((channel, type(event.error), vars(event.error), event.raw))
                else:
                    events.append((channel, as_plain_data(event)))
        except DecodeError as error:
            events.append((type(error), vars(error)))
        outcomes.append((events, decoder.pending, decoder.offset))
    assert outcomes[0] == outcomes[1]
