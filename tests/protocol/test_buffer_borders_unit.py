"""What the object encoder writes is the same at every distance from the end of its buffer."""

from __future__ import annotations

import pytest

from tests.protocol.borders import CASES
from tests.support.borders import check


@pytest.mark.untraced
@pytest.mark.parametrize("name", CASES)
def test_the_same_bytes_at_every_length(name: str) -> None:
    check(CASES[name])
