"""Hypothesis strategies for arguments, tables and properties that come back as they went."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any

from hypothesis import strategies as st

from tests.support import amqp091_wire as w

# Any bytes at all: what is not UTF-8 travels as surrogate escapes.
shortstrs = st.binary(max_size=255).map(lambda raw: raw.decode("utf-8", "surrogateescape"))
plain_text = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
names = st.one_of(
    st.sampled_from(["k", "", "x-death", "$k", "é"]),
    st.binary(max_size=20).map(lambda raw: raw.decode("utf-8", "surrogateescape")),
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
moments = st.integers(0, 253_402_300_799).map(lambda s: EPOCH + timedelta(seconds=s))
late = st.integers(253_402_300_800, (1 << 64) - 1)


def _decimal(parts: tuple[int, int]) -> Decimal:
    number, scale = parts
    return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale))


decimals = st.tuples(st.integers(-(1 << 31), (1 << 31) - 1), st.integers(0, 255)).map(_decimal)
integers = st.one_of(
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.sampled_from([0, 1, -1, 1 << 31, (1 << 31) - 1, -(1 << 31), -(1 << 31) - 1]),
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    integers,
    st.floats(),
    decimals,
    plain_text,
    st.binary(max_size=40),
    moments,
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)
tables = st.dictionaries(names, values, max_size=6)
ARGUMENTS: dict[str, st.SearchStrategy[Any]] = {
    "o": st.integers(0, (1 << 8) - 1),
    "h": st.integers(0, (1 << 16) - 1),
    "l": st.integers(0, (1 << 32) - 1),
    "q": st.integers(0, (1 << 64) - 1),
    "b": st.booleans(),
    "s": shortstrs,
    "S": st.binary(max_size=300),
    "F": tables,
    "T": moments | late,
}
channels = st.integers(0, 65535)
randoms = st.randoms(use_true_random=False)
seeds = st.integers(0, (1 << 32) - 1).map(Random)  # cheaper, where shrinking is no help


def arguments(spec: w.Spec) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.tuples(*(ARGUMENTS[wire] for _, wire in spec.fields))


def property_values() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {}, optional={name: ARGUMENTS[wire] for name, wire in w.PROPERTIES}
    )
