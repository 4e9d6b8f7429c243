"""Numbers as ranges against tuples and sets of the same numbers."""

from __future__ import annotations

import copy
import pickle
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqpcodec.session._tag_ranges import RangeSet, tag_ranges, tags_of

TAGS = st.sets(st.integers(1, 60) | st.integers(1, 2**63)).map(sorted)


@given(TAGS, st.integers(-70, 70), st.integers(0, 61))
def test_a_sequence_like_the_tuple(tags, index, other):
    expected, ranges = tuple(tags), tag_ranges(tags)
    assert ranges == expected
    assert expected == ranges
    assert ranges == tags_of(RangeSet(tags)._root)
    assert hash(ranges) == hash(expected)
    assert tuple(ranges) == expected
    assert tuple(reversed(ranges)) == expected[::-1]
    assert len(ranges) == len(expected)
    assert bool(ranges) == bool(expected)
    assert (other in ranges) == (other in expected)
    assert ranges[index:] == expected[index:]
    if -len(expected) <= index < len(expected):
        assert ranges[index] == expected[index]
    else:
        with pytest.raises(IndexError, match=f"no tag {index}"):
            ranges[index]
    assert pickle.loads(pickle.dumps(ranges)) == copy.copy(ranges) == ranges
    assert ranges != (*expected, 0)
    assert ranges != list(expected)
    assert sum(map(len, ranges.ranges)) == len(expected)
    for before, after in zip(ranges.ranges, ranges.ranges[1:], strict=False):
        assert before.stop < after.start


def test_what_it_shows():
    assert repr(tag_ranges([1, 2, 3, 7, 9, 10])) == "TagRanges(1 to 3, 7, 9 to 10)"
    assert repr(tag_ranges(range(1, 40, 2))).endswith("13, 15, ...)")
    assert "x" not in tag_ranges([1])
    match tag_ranges([4, 5]):
        case (first, second):
            assert (first, second) == (4, 5)


@given(TAGS, st.lists(st.tuples(st.integers(0, 4), st.integers(0, 100)), max_size=30))
def test_a_set_that_is_cut_and_joined(tags, steps):
    ranges, plain = RangeSet(tags), set(tags)
    settled = []
    last = max(tags, default=0)
    for what, number in steps:
        chosen = sorted(plain)[number % len(plain)] if plain else number
        if what == 0:
            last += number + 1
            ranges.add(last)
            plain.add(last)
        elif what == 1 and plain:
            settled.append((ranges.take(chosen), {chosen}))
            plain.discard(chosen)
        elif what == 2:
            gone = {one for one in plain if one <= chosen}
            settled.append((ranges.take_through(chosen), gone))
            plain -= gone
        elif what == 3:
            ranges.discard_above(chosen)
            plain = {one for one in plain if one <= chosen}
            if settled:
                break  # a rollback of what was settled follows below
        elif settled:
            part, gone = settled.pop()
            assert tags_of(part) == tuple(sorted(gone))
            ranges.put_back(part)
            plain |= gone
        assert list(ranges) == sorted(plain)
        assert len(ranges) == len(plain)
        assert all((one in ranges) == (one in plain) for one in range(70))
    while settled:
        part, gone = settled.pop()
        ranges.put_back(part)
        plain |= gone
    assert list(ranges) == sorted(plain)


def depth(node):
    return 0 if node is None else 1 + max(depth(node[0]), depth(node[1]))


def test_no_order_of_settling_makes_it_deep():
    ranges = RangeSet(range(1, 20_001))
    for step in (2, 3, -2, 7):
        parts = [ranges.take(tag) for tag in list(ranges)[::step]]
        assert depth(ranges._root) < sys.getrecursionlimit() / 10
        for part in reversed(parts):
            ranges.put_back(part)
        assert ranges._root[2:4] == (1, 20_001)  # one range again
    parts = [ranges.take_through(tag) for tag in range(1, 20_001)]
    for part in reversed(parts):
        ranges.put_back(part)
    assert ranges._root[:4] == (None, None, 1, 20_001)
