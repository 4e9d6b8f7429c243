"""Every cell that one process measures as a benchmark, with the callables of `python -m bench`."""

import time
from typing import Any

import pytest

from bench.apart import is_apart
from bench.prepare import build
from bench.targets import ROWS, Cell, cells
from bench.work import Absent

GROUPS = {cell: row.what for row in reversed(ROWS) for cell in cells([row])}


@pytest.mark.benchmark(timer=time.process_time, max_time=0.5, warmup=True, disable_gc=False)
@pytest.mark.parametrize("cell", [cell for cell in cells(ROWS) if not is_apart(cell)], ids="-".join)
def test_cell(cell: Cell, benchmark: Any) -> None:
    try:
        work = build(cell)
    except Absent as reason:
        pytest.skip(str(reason))
    work.check()
    benchmark.group = GROUPS[cell]
    benchmark.extra_info["frames"] = work.frames
    benchmark(work.run)
