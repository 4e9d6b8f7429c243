"""``amqpcodec sql``: a query over the events of captures."""

from __future__ import annotations

from typing import IO

from .answers import write_answer
from .options import SqlOptions
from .queries import engine
from .table import Table
from .times import Clock

__all__ = ["sql"]


def sql(options: SqlOptions) -> int:
    """Read the events of every file once, run the query, and write its rows."""

    def table(out: IO[str], clock: Clock) -> Table:
        return Table(out, clock, lines=0)

    return write_answer(
        options, options.query, engine.columns_of(options.query), table, apart=False
    )
