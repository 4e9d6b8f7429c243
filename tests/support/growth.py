"""Whether calls leave memory behind."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable


def block_growth(call: Callable[[], object], times: int) -> int:
    """How many more blocks Python has allocated after so many calls, the first 50 not counted."""
    for _ in range(50):
        call()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(times):
        call()
    gc.collect()
    return sys.getallocatedblocks() - before
