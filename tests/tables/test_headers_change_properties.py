"""A changed header dict, also deep inside, encodes what it says, and the rest keeps its bytes."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from amqpcodec import EncodeError
from amqpcodec import v0_9_1 as amqp
from tests.support import amqp091_gen as gen
from tests.support import amqp091_strategies as some
from tests.support import amqp091_wire as w
from tests.support.amqp091_same import key_of, same


def containers(value: Any) -> list[Any]:
    """Every dict and list inside a table, itself included."""
    inside = [value]
    for inner in value.values() if isinstance(value, dict) else value:
        if isinstance(inner, dict | list):
            inside += containers(inner)
    return inside


def change(rng: Random, table: dict[str, Any], new: Any) -> None:
    """One random change somewhere in the table."""
    target = rng.choice(containers(table))
    how = rng.randrange(6)
    if isinstance(target, dict):
        keys = list(target)
        if how == 0 or not keys:
            target[rng.choice(["new", "k", ""])] = new
        elif how == 1:
            del target[rng.choice(keys)]
        elif how == 2:
            target[rng.choice(keys)] = new
        elif how == 3:  # moved to the end
            key = rng.choice(keys)
            target[key] = target.pop(key)
        elif how == 4:  # the same number as another type
            key = rng.choice(keys)
            if isinstance(target[key], bool | int | float) and abs(target[key]) < 1 << 31:
                old = target[key]
                target[key] = rng.choice([bool, int, float])(old)
        else:
            items = list(target.items())
            rng.shuffle(items)
            target.clear()
            target.update(items)
    elif how == 0 or not target:
        target.insert(rng.randrange(len(target) + 1), new)
    elif how == 1:
        del target[rng.randrange(len(target))]
    elif how == 2:
        target.reverse()
    else:
        target[rng.randrange(len(target))] = new


@given(some.randoms, some.tables, st.lists(some.values, min_size=1, max_size=4))
@settings(max_examples=300)
def test_changes_of_plain_tables(rng: Random, table: dict[str, Any], new: list[Any]) -> None:
    data = amqp.encode(1, amqp.Header(0, amqp.Basic.Properties(headers=table)))
    frame = amqp.decode(data)[2]
    for value in new:
        change(rng, frame.properties.headers, copy.deepcopy(value))
        octets = amqp.encode(1, frame)
        again = amqp.decode(octets)[2].properties.headers
        assert same(again, frame.properties.headers)
    # What came out by the walk is what comes out by value.
    fresh = amqp.Basic.Properties(headers=copy.deepcopy(frame.properties.headers))
    assert octets == amqp.encode(1, amqp.Header(0, fresh))


@given(some.randoms, st.lists(some.values, min_size=1, max_size=4))
@settings(max_examples=400)
def test_changes_of_odd_tables(rng: Random, new: list[Any]) -> None:
    raw = gen.table(rng)
    frame = amqp.decode(w.header_frame(headers=raw))[2]
    for value in new:
        change(rng, frame.properties.headers, copy.deepcopy(value))
        try:
            octets = amqp.encode(1, frame)
        except EncodeError:
            # A timestamp beyond int64 that moved has no plain form: nothing else may refuse.
            assert _beyond(frame.properties.headers)
            continue
        again = amqp.decode(octets)[2].properties.headers
        assert key_of(_quiet(again)) == key_of(_quiet(frame.properties.headers))


def _beyond(value: Any) -> bool:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return any(map(_beyond, inner))
    return isinstance(value, int) and not -(1 << 63) <= value < 1 << 63


def _quiet(value: Any) -> Any:
    """NaN of any bits are one: float32 ones cannot all be told from the double they became."""
    if isinstance(value, dict):
        return {k: _quiet(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_quiet(v) for v in value]
    return "nan" if isinstance(value, float) and value != value else value


def entries(raw: bytes) -> list[tuple[bytes, bytes]]:
    """Name and value bytes of a table's top level, by the decoder's own view of each entry."""
    pairs, place = [], 4
    while place < len(raw):
        name = raw[place + 1 : place + 1 + raw[place]]
        start = place + 1 + raw[place]
        stop = start + 1 + _size(raw, start)
        pairs.append((name, raw[start:stop]))
        place = stop
    return pairs


def _size(raw: bytes, start: int) -> int:
    tag = chr(raw[start])
    if tag in gen.FIXED:
        return gen.FIXED[tag]
    return 4 + int.from_bytes(raw[start + 1 : start + 5], "big")


@given(some.randoms, some.scalars)
@settings(max_examples=300)
def test_one_change_leaves_the_octets_of_the_others(rng: Random, new: Any) -> None:
    raw = gen.table(rng)
    before = entries(raw)
    names = [name for name, _ in before]
    if not before or len(set(names)) != len(names):
        return
    frame = amqp.decode(w.header_frame(headers=raw))[2]
    victim = rng.randrange(len(before))
    key = names[victim].decode("utf-8", "surrogateescape")
    how = rng.randrange(3)
    if how == 0:
        del frame.properties.headers[key]
        expected = before[:victim] + before[victim + 1 :]
    elif how == 1:
        if same(frame.properties.headers[key], new) or isinstance(new, float):
            return
        frame.properties.headers[key] = new
        expected = [*before[:victim], (names[victim], w.value_of(new)), *before[victim + 1 :]]
    else:
        if "added" in frame.properties.headers:
            return
        frame.properties.headers["added"] = new
        expected = [*before, (b"added", w.value_of(new))]
    octets = amqp.encode(1, frame)
    assert octets == w.header_frame(headers=w.table(*expected))


@given(some.randoms, st.lists(some.values, min_size=1, max_size=3))
@settings(max_examples=150)
def test_changes_of_method_arguments(rng: Random, new: list[Any]) -> None:
    names = [name for name, spec in w.SPECS.items() if "F" in dict(spec.fields).values()]
    name = rng.choice(names)
    place = [wire for _, wire in w.SPECS[name].fields].index("F")
    frame = amqp.decode(gen.method_frame(rng, 1, name))[2]
    table = getattr(frame, type(frame).FIELDS[place])
    for value in new:
        change(rng, table, copy.deepcopy(value))
    if _beyond(table):
        return
    again = amqp.decode(amqp.encode(1, frame))[2]
    assert key_of(_quiet(getattr(again, type(frame).FIELDS[place]))) == key_of(_quiet(table))
