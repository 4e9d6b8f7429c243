"""Maps of integers: a dict where a peer cannot have chosen them for their hashes, else a Map."""

from __future__ import annotations

import random
from typing import Any

import pytest

from amqpcodec import limits
from amqpcodec import v1_0 as amqp
from tests.support.amqp10_wire import MAP32, compound, long, ulong
from tests.support.process_limit import limited

#: Integers that a dict takes as keys, whatever they are.
FREE = 256


def encoded(keys: list[bytes]) -> bytes:
    pairs = b"".join(key + b"\x40" for key in keys)
    return compound(MAP32, pairs, 2 * len(keys))


def decoded(keys: list[bytes], **how: Any) -> Any:
    return amqp.decode_value(encoded(keys), **how)[0]


def colliding(count: int) -> list[int]:
    """Integers whose first place in a table of up to 2**16 is the same."""
    return [n << 40 for n in range(1, count + 1)]


@pytest.mark.parametrize("types", ["plain", "typed"])
def test_few_integers_are_keys_of_a_dict_whatever_they_are(types: str) -> None:
    for count, kind in ((FREE - 1, dict), (FREE, dict), (FREE + 1, amqp.Map)):
        mapping = decoded([long(n) for n in colliding(count)], types=types)
        assert type(mapping) is kind
        assert len(mapping) == count
        keys = mapping.keys()  # of a Map, too, which is a list of pairs
        assert [int(key) for key in keys] == colliding(count)


def test_the_limit_is_read_and_set() -> None:
    assert limits.get_max_int_keys() == FREE
    with limited("max_int_keys", 3):
        assert limits.get_max_int_keys() == 3
        for count, kind in ((3, dict), (4, amqp.Map)):
            assert type(decoded([long(n) for n in colliding(count)])) is kind
        limits.set_max_int_keys(0)
        assert type(decoded([long(1 << 40)])) is dict  # a range of one
        assert type(decoded([long(n) for n in colliding(2)])) is amqp.Map
        limits.set_max_int_keys(1000)
        assert type(decoded([long(n) for n in colliding(1000)])) is dict
    for wrong in (-1, 2**32, True, "5", 5.0, None):
        with pytest.raises(ValueError, match="max_int_keys is a number from 0 to 4294967295"):
            limits.set_max_int_keys(wrong)  # type: ignore[arg-type]


def test_many_integers_out_of_a_narrow_range_are_keys_of_a_dict() -> None:
    keys = list(range(-5_000, 5_000))
    random.Random(1).shuffle(keys)
    for make in (long, lambda n: ulong(n + 5_000), lambda n: ulong(n + 2**63 - 20_000)):
        mapping = decoded([make(n) for n in keys])
        assert type(mapping) is dict
        assert len(mapping) == len(keys)


def test_the_range_may_be_sixteen_times_as_wide_as_there_are_pairs() -> None:
    wide = 16 * 1_000
    for last, kind in ((wide - 1, dict), (wide, dict), (wide + 1, amqp.Map)):
        mapping = decoded([long(n) for n in (*range(999), last)])
        assert type(mapping) is kind
        assert list(mapping.keys()) == [*range(999), last]


def test_beyond_int64_a_range_is_wide() -> None:
    keys = list(range(2**63, 2**63 + FREE + 1))
    assert type(decoded([ulong(n) for n in keys])) is amqp.Map
    assert type(decoded([ulong(n) for n in keys[:FREE]])) is dict


def test_text_and_binary_are_keys_of_a_dict_however_many() -> None:
    """Python hashes both with a key of its own."""
    for make in (lambda b: b"\xa1\x05" + b, lambda b: b"\xa3\x05" + b, lambda b: b"\xa0\x05" + b):
        mapping = decoded([make(b"%05d" % n) for n in range(20_000)])
        assert type(mapping) is dict
        assert len(mapping) == 20_000


@pytest.mark.parametrize("key", [b"\x82" + bytes(8), b"\x98" + bytes(16), b"\x94" + bytes(16)])
def test_floats_uuids_and_decimals_are_never_hashed(key: bytes) -> None:
    assert type(decoded([key])) is amqp.Map


def test_many_colliding_keys_encode_back_and_compare() -> None:
    data = encoded([long(n) for n in colliding(21_600)])
    mapping, again = (amqp.decode_value(data)[0] for _ in range(2))
    assert type(mapping) is amqp.Map
    assert mapping == again
    assert amqp.encode_value(mapping) == data
    mixed = decoded([b"\xa1\x01k", *map(long, colliding(300))])
    assert type(mixed) is amqp.Map
    assert mixed.get("k", 1) is None
