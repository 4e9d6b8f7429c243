"""decode∘encode is the identity on values; encode∘decode is the identity on bytes."""

from __future__ import annotations

import copy
import pickle
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqpcodec import EncodeError, types
from amqpcodec import v0_9_1 as amqp
from tests.support import amqp091_gen as gen
from tests.support import amqp091_strategies as some
from tests.support import amqp091_wire as w
from tests.support.amqp091_same import key_of, same


@pytest.mark.parametrize("spec", w.SPECS.values(), ids=w.SPECS.keys())
def test_methods(spec: w.Spec) -> None:
    kind = w.class_of(amqp, spec.name)

    @settings(max_examples=25 if spec.fields else 3)
    @given(some.arguments(spec), some.channels)
    def check(values: tuple[Any, ...], channel: int) -> None:
        method = kind(**dict(zip(kind.FIELDS, values, strict=True)))
        octets = amqp.encode(channel, method)
        ours = {name: value for (name, _), value in zip(spec.fields, values, strict=True)}
        if "F" not in dict(spec.fields).values():
            assert octets == w.method_frame(spec.name, channel, **ours)
        consumed, decoded_channel, again = amqp.decode(octets)
        assert (consumed, decoded_channel) == (len(octets), channel)
        assert type(again) is kind
        for name, value in zip(kind.FIELDS, values, strict=True):
            assert same(getattr(again, name), value), name
        assert amqp.encode(channel, again) == octets
        buffer = bytearray(len(octets))
        assert amqp.encode_into(buffer, 0, channel, method) == len(octets)
        assert buffer == octets

    check()


@given(some.property_values(), st.integers(0, (1 << 64) - 1), some.channels)
@settings(max_examples=200)
def test_headers(values: dict[str, Any], size: int, channel: int) -> None:
    header = amqp.Header(size, amqp.Basic.Properties(**values))
    octets = amqp.encode(channel, header)
    _, decoded_channel, again = amqp.decode(octets)
    assert decoded_channel == channel
    assert again.body_size == size
    expected = dict(values)
    if type(expected.get("timestamp")) is int:  # beyond year 9999
        expected["timestamp"] = types.Timestamp(expected["timestamp"])
    for name, _ in w.PROPERTIES:
        assert same(getattr(again.properties, name), expected.get(name)), name
    assert amqp.encode(channel, again) == octets


@given(some.tables)
@settings(max_examples=200)
def test_tables_against_octets_by_hand(table: dict[str, Any]) -> None:
    """The bytes are those that RabbitMQ's dialect asks for, not only ones we can read back."""
    try:
        expected = w.table(
            *((k.encode("utf-8", "surrogateescape"), _value(v)) for k, v in table.items())
        )
    except NotImplementedError:
        return
    octets = amqp.encode(1, amqp.Queue.Declare(arguments=table))
    assert octets == w.method_frame("queue.declare", arguments=expected)


def _value(value: Any) -> bytes:
    if isinstance(value, dict):
        pairs = ((k.encode("utf-8", "surrogateescape"), _value(v)) for k, v in value.items())
        return w.nested(*pairs)
    if isinstance(value, list):
        return w.array(*map(_value, value))
    return w.value_of(value)


@given(st.binary(max_size=5000), some.channels)
def test_bodies(payload: bytes, channel: int) -> None:
    octets = amqp.encode(channel, amqp.Body(payload))
    assert octets == w.body_frame(channel, payload)
    assert amqp.decode(octets) == (len(octets), channel, amqp.Body(payload))


@given(
    st.binary(max_size=400),
    some.property_values(),
    st.integers(9, 300) | st.just(0),
    st.integers(1, 65535),
)
def test_messages(body: bytes, values: dict[str, Any], frame_max: int, channel: int) -> None:
    publish = amqp.Basic.Publish("e", "k")
    properties = amqp.Basic.Properties(**values)
    header = amqp.Header(len(body), properties)
    if 0 < frame_max < max(len(amqp.encode(channel, f)) for f in (publish, header)):
        with pytest.raises(EncodeError):  # only bodies can be cut
            amqp.encode_message(channel, publish, properties, body, frame_max)
        return
    octets = amqp.encode_message(channel, publish, properties, body, frame_max)
    assert b"".join(amqp.encode_parts(channel, publish, properties, body, frame_max)) == octets
    ((decoded_channel, message),) = amqp.MessageDecoder(0).feed(octets)
    assert decoded_channel == channel
    assert message.method == publish
    assert message.body == body
    assert key_of(message.properties) == key_of(amqp.decode(
        amqp.encode(1, amqp.Header(0, properties)))[2].properties)  # fmt: skip
    bodies = [f for _, f in amqp.Decoder(0).feed(octets) if isinstance(f, amqp.Body)]
    if frame_max:
        assert all(0 < len(frame.payload) <= frame_max - 8 for frame in bodies)


@given(some.randoms)
@settings(max_examples=400)
def test_octets_come_back(rng: Random) -> None:
    """Any valid frame, in any odd form: untouched, read, copied, pickled."""
    data = gen.any_frame(rng)
    consumed, channel, frame = amqp.decode(data)
    assert consumed == len(data)
    assert amqp.encode(channel, frame) == data
    key_of(frame)  # reads every field, and so makes the lazy tables
    repr(frame)
    assert amqp.encode(channel, frame) == data
    for other in (copy.deepcopy(frame), pickle.loads(pickle.dumps(frame)), copy.copy(frame)):
        assert amqp.encode(channel, other) == data
    buffer = bytearray(len(data) + 3)
    assert amqp.encode_into(buffer, 3, channel, frame) == len(data)
    assert buffer[3:] == data


@given(some.randoms, st.sampled_from(["rabbitmq", "0-9-1"]))
@settings(max_examples=200)
def test_octets_come_back_in_each_mode(rng: Random, dialect: str) -> None:
    data = gen.any_frame(rng)
    for tables in ("plain", "typed"):
        try:
            _, channel, frame = amqp.decode(data, dialect=dialect, tables=tables)
        except ValueError:
            assert dialect == "0-9-1"  # where s is a short string, random bytes may not fit
            continue
        assert amqp.encode(channel, frame, dialect=dialect) == data
        key_of(frame)
        assert amqp.encode(channel, frame, dialect=dialect) == data


@given(some.randoms)
@settings(max_examples=150)
def test_typed_tables_rebuild_their_octets(rng: Random) -> None:
    """Every tag comes back from the values alone, without the bytes they came from."""
    data = w.header_frame(headers=gen.table(rng))
    headers = amqp.decode(data, tables="typed")[2].properties.headers
    rebuilt = amqp.encode(1, amqp.Header(0, amqp.Basic.Properties(headers=dict(headers))))
    again = amqp.decode(rebuilt, tables="typed")[2].properties.headers
    assert _typed_key(again) == _typed_key(headers)


def _typed_key(value: Any) -> Any:
    if isinstance(value, dict):
        return ("dict", [(k, _typed_key(v)) for k, v in value.items()])
    if isinstance(value, list):
        return ("list", [_typed_key(v) for v in value])
    if isinstance(value, float):
        # A float32 signalling NaN becomes quiet in a double: only its bytes could keep it.
        return (type(value).__name__, "nan" if value != value else repr(float(value)))
    return (type(value).__name__, repr(value))
