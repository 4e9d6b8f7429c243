"""Confirms and acknowledgements settle each number once, whatever comes in which order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from amqpcodec.session._tags import Deliveries, Publications

STEPS = st.lists(st.tuples(st.integers(-1, 12), st.booleans()), max_size=40)


@given(STEPS)
def test_publications_are_settled_once(steps):
    log = Publications()
    waiting: list[int] = []
    for tag, multiple in steps:
        if tag == -1:
            log.last += 1
            waiting.append(log.last)
            continue
        got = log.settle(tag, multiple)
        if not multiple:
            expected = (tag,) if tag in waiting else None
        else:
            upto = tag or log.last
            low = waiting[0] if waiting else log.last + 1
            expected = tuple(one for one in waiting if one <= upto)
            if not low <= upto <= log.last:
                expected = None
        assert got == expected
        waiting = [one for one in waiting if one not in (got or ())]
        assert log.open() == tuple(waiting)
        assert len(log) == len(waiting)


@given(STEPS, st.integers(1, 1000))
def test_deliveries_are_settled_once(steps, leap):
    log = Deliveries()
    waiting: list[int] = []
    for tag, multiple in steps:
        if tag == -1:
            log.last += leap if multiple else 1
            if len(waiting) % 3 < 2:
                log.waiting.add(log.last)
                waiting.append(log.last)
            continue
        named = waiting[tag % len(waiting)] if waiting and tag else tag
        got = log.settle(named, multiple)
        if multiple and not named:
            expected = tuple(waiting)
        elif named not in waiting:
            expected = None
        else:
            expected = tuple(one for one in waiting if one <= named) if multiple else (named,)
        assert got == expected
        waiting = [one for one in waiting if one not in (got or ())]
        if got and len(waiting) % 2:
            log.put_back(got)
            waiting = sorted([*waiting, *got])
        assert log.waiting == set(waiting)


def test_a_leap_of_the_peers_numbers_costs_nothing():
    log = Deliveries()
    for last in (1, 2**62):
        log.last = last
        log.waiting.add(last)
    assert log.settle(0, True) == (1, 2**62)  # one step a number would not end
