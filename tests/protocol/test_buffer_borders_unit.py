"""What the object encoder writes is the same at every distance from the end of its buffer."""

from __future__ import annotations

import pytest

from tests.support.borders import check
from tests.support.borders_amqp0 import CASES


@pytest.mark.untraced
@pytest.mark.parametrize("name", CASES)
def test_the_same_bytes_at_every_length(name: str) -> None:
    check(CASES[name])
