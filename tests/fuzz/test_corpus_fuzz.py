"""Every kept input, and every seed, keeps its target's promise; on the build that users have."""

from __future__ import annotations

import pytest

pytest.importorskip("pyarrow")

from tests.fuzz.corpus import load
from tests.fuzz.targets import NAMES, find


@pytest.mark.parametrize("name", NAMES)
def test_corpus(name: str) -> None:
    target = find(name)
    with target.around():
        inputs = [b"", *target.seeds(), *load(name)]
        assert len(inputs) > 3
        for data in inputs:
            try:
                target.check_all(data)
            except Exception as error:
                raise AssertionError(f"{name}: {error!r}\n{data.hex()}") from error
