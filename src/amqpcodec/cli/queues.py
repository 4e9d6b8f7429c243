"""``amqpcodec queues``: what came into each queue, what went out, and what is left."""

from __future__ import annotations

from typing import IO

from ..analysis._questions import load
from .options import QueuesOptions
from .sql import write_answer
from .table import Table
from .times import Clock

__all__ = ["queues"]

#: The columns of the table; the other formats have all.
NAMES = (
    *("virtual_host", "queue", "connection_name", "consumer_tag", "published", "delivered"),
    *("redelivered", "acknowledged", "rejected", "requeued", "unacknowledged", "backlog"),
    *("wait_p50_ms", "wait_p99_ms", "work_p50_ms", "work_p99_ms", "certainty"),
)
#: Of these, which a narrow terminal does not show, in this order.
OPTIONAL = (
    *("virtual_host", "connection_name", "consumer_tag", "certainty", "wait_p50_ms"),
    *("work_p50_ms", "rejected", "requeued", "redelivered", "wait_p99_ms", "published"),
)


def queues(options: QueuesOptions) -> int:
    """Read the events of every file once, and write a row a queue."""
    question = load("queues")

    def table(out: IO[str]) -> Table:
        optional = OPTIONAL if options.rows.fields is None else ()
        return Table(out, Clock(options.clock), optional=optional)

    return write_answer(options, question.query, list(question.columns), table, NAMES)
