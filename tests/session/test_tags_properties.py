"""Confirms and acknowledgements settle each number once, whatever comes in which order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from amqpcodec.session._tags import Deliveries, Publications

STEPS = st.lists(st.tuples(st.integers(-1, 12), st.booleans()), max_size=40)


@given(STEPS)
def test_publications_are_settled_once(steps):
    log = Publications()
    unsettled: list[int] = []
    for tag, multiple in steps:
        if tag == -1:
            log.last += 1
            unsettled.append(log.last)
            continue
        got = log.settle(tag, multiple)
        if not multiple:
            expected = (tag,) if tag in unsettled else None
        else:
            upto = tag or log.last
            low = unsettled[0] if unsettled else log.last + 1
            expected = tuple(one for one in unsettled if one <= upto)
            if not low <= upto <= log.last:
                expected = None
        assert got == expected
        unsettled = [one for one in unsettled if one not in (got or ())]
        assert log.open() == tuple(unsettled)
        assert len(log) == len(unsettled)


@given(STEPS, st.integers(1, 1000), st.booleans())
def test_deliveries_are_settled_once(steps, leap, transactional):
    log = Deliveries().transactional() if transactional else Deliveries()
    unsettled: list[int] = []
    for tag, multiple in steps:
        if tag == -1:
            log.last += leap if multiple else 1
            if len(unsettled) % 3 < 2:
                log.waiting.add(log.last)
                unsettled.append(log.last)
            continue
        settled_tag = unsettled[tag % len(unsettled)] if unsettled and tag else tag
        got = log.settle(settled_tag, multiple)
        if multiple and not settled_tag:
            expected = tuple(unsettled)
        elif settled_tag not in unsettled:
            expected = None
        else:
            expected = (
                tuple(one for one in unsettled if one <= settled_tag)
                if multiple
                else (settled_tag,)
            )
        assert got == expected
        unsettled = [one for one in unsettled if one not in (got or ())]
        if transactional and len(unsettled) % 2:
            log.rollback()
            unsettled = sorted({*unsettled, *(got or ())})
        elif transactional:
            log.commit()
        assert sorted(log.waiting) == unsettled
        assert len(log) == len(unsettled)


def test_recover_leaves_what_a_rollback_gave_back():
    log = Deliveries().transactional()
    for tag in (1, 2, 3):
        log.last = tag
        log.waiting.add(tag)
    assert log.settle(1, False) == (1,)
    log.forget()  # basic.recover is sent
    log.rollback()
    log.last = 4
    log.waiting.add(4)  # on its way meanwhile
    log.forget(3)  # and is answered
    assert list(log.waiting) == [1]
    assert log.void == 4


def test_a_leap_of_the_peers_numbers_costs_nothing():
    log = Deliveries()
    for last in (1, 2**62):
        log.last = last
        log.waiting.add(last)
    assert log.settle(0, True) == (1, 2**62)  # one step a number would not end


def test_spaced_numbers_that_are_settled_a_few_at_a_time():
    """Each is looked at once, whatever its distance to the one before."""
    log = Deliveries()
    tags = [number << 20 for number in range(1, 1000)]
    for tag in tags:
        log.last = tag
        log.waiting.add(tag)
    assert log.settle(tags[4], False) == (tags[4],)
    for first in range(0, 900, 9):
        got = log.settle(tags[first + 8], True)
        assert got == tuple(tag for tag in tags[first : first + 9] if tag != tags[4])
        log.last += 1 << 20
        log.waiting.add(log.last)
    assert len(log) == 999 - 900 + 100
    assert len(log.settle(0, True)) == 199
