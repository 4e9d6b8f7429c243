"""Cells made ready: built, and checked before anything is timed."""

from collections.abc import Callable, Iterable

from bench import peers, workloads
from bench.targets import Cell
from bench.work import Absent, Work


def prepare(
    cells: Iterable[Cell],
    progress: Callable[[str], None] = lambda _line: None,
) -> tuple[dict[Cell, Work], dict[Cell, Absent]]:
    """The cells that can be timed, and for the others why not.

    Raises WrongResultError (work.py) or whatever the codec raised when a check fails: a bench that
    measures wrong results must not give figures.
    """
    ready: dict[Cell, Work] = {}
    absent: dict[Cell, Absent] = {}
    for cell in cells:
        progress(f"check {' '.join(cell)}")
        try:
            ready[cell] = build(cell)
        except Absent as error:
            absent[cell] = error
            continue
        ready[cell].check()
    return ready, absent


def build(cell: Cell) -> Work:
    """The work of one cell, not checked; Absent if there is none."""
    peer, operation, workload = cell
    return peers.get(peer).work(operation, workloads.get(workload))
