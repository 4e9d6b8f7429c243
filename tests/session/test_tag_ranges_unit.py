"""Acknowledged tags as a sequence: what it says of itself, by examples."""

from __future__ import annotations

import copy
import pickle

import pytest

from amqpcodec.session._tag_ranges import RangeSet, TagRanges, tag_ranges, tags_of

NUMBERS = (1, 2, 3, 7, 9, 10)


@pytest.fixture(params=["made", "cut from a set"])
def tags(request: pytest.FixtureRequest) -> TagRanges:
    if request.param == "made":
        return TagRanges([range(1, 4), range(7, 8), range(9, 11)])
    numbers = RangeSet([*NUMBERS, 12, 20])
    part = numbers.take_through(10)
    assert list(numbers) == [12, 20]
    return tags_of(part)


def test_a_sequence_of_numbers(tags: TagRanges) -> None:
    assert len(tags) == 6
    assert tuple(tags) == NUMBERS
    assert tuple(reversed(tags)) == NUMBERS[::-1]
    assert [tags[i] for i in range(-6, 6)] == [*NUMBERS, *NUMBERS]
    assert tags[1:5:2] == NUMBERS[1:5:2]
    for index in (6, -7):
        with pytest.raises(IndexError, match=f"there are 6 tags and no tag {index}"):
            tags[index]


def test_what_is_in_it(tags: TagRanges) -> None:
    assert [number for number in range(-1, 13) if number in tags] == list(NUMBERS)
    assert "7" not in tags
    assert tags.ranges == (range(1, 4), range(7, 8), range(9, 11))


def test_it_equals_the_tuple(tags: TagRanges) -> None:
    assert tags == NUMBERS
    assert hash(tags) == hash(NUMBERS)
    assert tags == tag_ranges(NUMBERS)
    assert tags != NUMBERS[:-1]
    assert tags != (*NUMBERS[:-1], 11)
    assert tags != tag_ranges(NUMBERS[:-1])
    assert tags != list(NUMBERS)


def test_copies_and_representation(tags: TagRanges) -> None:
    assert repr(tags) == "TagRanges(1 to 3, 7, 9 to 10)"
    assert repr(tag_ranges(range(0, 18, 2))) == "TagRanges(0, 2, 4, 6, 8, 10, 12, 14, ...)"
    assert repr(tag_ranges(range(0, 16, 2))) == "TagRanges(0, 2, 4, 6, 8, 10, 12, 14)"
    assert pickle.loads(pickle.dumps(tags)) == copy.copy(tags) == tags
    empty = TagRanges()
    assert (len(empty), list(empty), 1 in empty, empty == ()) == (0, [], False, True)
