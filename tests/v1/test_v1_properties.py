"""Whatever comes in: a value, or a DecodeError that says where; and what went in comes out."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqpcodec import DecodeError
from amqpcodec import v1_0 as amqp
from tests.support.samples_v1 import every_frame
from tests.v1.mutation import mutated

text = st.text(st.characters(codec="utf-8"), max_size=20)
symbols = st.text(st.characters(max_codepoint=127), max_size=20).map(amqp.Symbol)

#: Hypothesis finds the protocol's own in the sources, and those do not hold any value.
unknown_symbols = symbols.filter(lambda symbol: not symbol.startswith("amqp:"))


def ints(cls: Any) -> st.SearchStrategy[Any]:
    return st.integers(cls.LOW, cls.HIGH).map(cls)


NUMBERS = [
    getattr(amqp, name)
    for name in ("UByte", "UShort", "UInt", "ULong", "Byte", "Short", "Int", "Long", "Timestamp")
]
scalars = st.one_of(
    st.none(),
    st.booleans(),
    *map(ints, NUMBERS),
    st.floats(width=32).map(amqp.Float),
    st.floats().map(amqp.Double),
    st.binary(min_size=4, max_size=4).map(amqp.Decimal32.from_bits),
    st.binary(min_size=8, max_size=8).map(amqp.Decimal64.from_bits),
    st.binary(min_size=16, max_size=16).map(amqp.Decimal128.from_bits),
    st.characters(codec="utf-8").map(amqp.Char),
    st.uuids(),
    st.binary(max_size=300),
    text,
    symbols,
)
ITEMS = {
    "null": st.none(),
    "boolean": st.booleans(),
    "ubyte": st.integers(0, 255),
    "uint": st.integers(0, 2**32 - 1),
    "ulong": st.integers(0, 300),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-200, 200),
    "double": st.floats(allow_nan=False),
    "string": text,
    "symbol": symbols,
    "binary": st.binary(max_size=300),
    "uuid": st.uuids(),
    "list": st.lists(st.booleans(), max_size=3),
}
arrays = st.sampled_from(sorted(ITEMS)).flatmap(
    lambda name: st.builds(
        amqp.Array,
        st.just(name),
        st.lists(ITEMS[name], max_size=5),
        st.lists(
            st.one_of(symbols, st.integers(0, 2**64 - 1).filter(lambda n: n > 255)), max_size=2
        ),
    )
)
values = st.recursive(
    st.one_of(scalars, arrays),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.lists(st.tuples(inner, inner), max_size=4).map(amqp.Map),
        st.dictionaries(text, inner, max_size=4),
        st.builds(amqp.Described, st.one_of(unknown_symbols, ints(amqp.UInt)), inner),
    ),
    max_leaves=20,
)


@given(values)
@settings(deadline=None, max_examples=300)
def test_typed_values_come_back_to_the_octet(value: Any) -> None:
    octets = amqp.encode_value(value)
    again, consumed = amqp.decode_value(octets, types="typed")
    assert consumed == len(octets)
    assert amqp.encode_value(again) == octets
    assert amqp.decode_value(octets)[1] == len(octets)


@given(values)
@settings(deadline=None, max_examples=100)
def test_every_cut_is_seen(value: Any) -> None:
    octets = amqp.encode_value(value)
    for end in range(len(octets)):
        with pytest.raises(DecodeError) as caught:
            amqp.decode_value(octets[:end])
        assert caught.value.offset is not None
        assert 0 <= caught.value.offset <= end


def check(error: DecodeError, data: bytes) -> None:
    """An error that says where."""
    assert error.offset is not None
    assert 0 <= error.offset <= len(data)
    assert error.condition is not None


@given(st.binary(max_size=60))
@settings(deadline=None, max_examples=2000)
def test_any_octets(data: bytes) -> None:
    for types in ("plain", "typed"):
        try:
            value, consumed = amqp.decode_value(data, types=types)
        except DecodeError as error:
            check(error, data)
        else:
            assert 0 < consumed <= len(data)
            repr(value)
            if types == "typed":
                amqp.encode_value(value)


@pytest.mark.parametrize("number", range(10))
def test_mutated_frames(number: int) -> None:
    """Kept bytes included: what decodes encodes, and to its own bytes."""
    source = random.Random(7 + number)
    data = every_frame()[number]
    good = 0
    for _ in range(3000):
        octets = mutated(data, source)
        types = source.choice(("plain", "typed"))
        try:
            result = amqp.decode(octets, types=types)
        except DecodeError as error:
            check(error, octets)
            continue
        assert result is not None
        consumed, channel, frame = result
        assert consumed == len(octets)
        if type(frame) in (amqp.Heartbeat, amqp.ProtocolHeader):
            continue
        good += 1
        assert amqp.encode(channel, frame)[8:] == octets[4 * octets[4] :]
        repr(frame)
        try:
            message = amqp.Message.decode(getattr(frame, "payload", b""), types=types, eager=True)
        except DecodeError:
            continue
        assert message.encode() == frame.payload if hasattr(frame, "payload") else True
        repr(message)
    assert good > 50


@pytest.mark.parametrize("size", [1, 3, 17])
def test_chunks_of_bad_streams_give_the_same(size: int) -> None:
    source = random.Random(size)
    for _ in range(100):
        stream = b"".join(
            source.choice((data, mutated(data, source)))
            for data in source.choices(every_frame(), k=5)
        )

        def events(step: int, stream: bytes = stream) -> list[str]:
            decoder = amqp.MessageDecoder(opened=True, errors="frame", eager=True)
            texts: list[str] = []
            try:
                for start in range(0, len(stream), step):
                    for pair in decoder.feed(stream[start : start + step]):
                        texts.append(repr(pair))
                decoder.eof()
            except DecodeError as error:
                texts.append(repr(error))
            return texts

        assert events(size) == events(len(stream))
