"""Each method of 0-x has a construct in `make linear-test`, and each of those runs."""

from __future__ import annotations

import pytest

from amqpcodec import v0_8, v0_9
from amqpcodec import v0_9_1 as amqp
from amqpcodec.session import _rules
from amqpcodec.session._receive import Receiver
from tests.protocol import linear
from tests.session.amqp0_linear import CONSTRUCTS, METHODS, OLD_METHODS


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_it_runs(construct: str) -> None:
    """Counted by `make linear-test`; here it only keeps its own promises."""
    CONSTRUCTS[construct](64)
    assert linear.CONSTRUCTS[construct] is CONSTRUCTS[construct]


def test_no_method_is_missing() -> None:
    assert set(METHODS) == {method.NAME for method in amqp.METHODS.values()}
    constructs = {
        name for names in METHODS.values() if not isinstance(names, str) for name in names
    }
    assert constructs | set(OLD_METHODS) == set(CONSTRUCTS)


def test_methods_of_old_versions_have_no_code_of_their_own() -> None:
    """But for those of 0-9-1's names, and access.request-ok, which sets a number."""
    books = (_rules.CHECKS, _rules.EFFECTS, _rules.REPLY_CHECKS, _rules.REPLY_EFFECTS)
    assert {name for book in books for name in book} - set(METHODS) == {"access.request-ok"}
    assert Receiver.on_method.__doc__
    for module in (v0_8, v0_9):
        names = {method.NAME for method in module.METHODS.values()}
        assert "file.stage" in names
