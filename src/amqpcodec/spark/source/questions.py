"""The questions of amqpcodec.analysis, run by Spark."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...analysis import query
from ..planning.refusals import refusing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["analysis"]


@refusing
def analysis(question: str, events: DataFrame) -> DataFrame:
    """The rows of a question of amqpcodec.analysis, over events that Spark has.

    It runs the same SQL as ``amqpcodec.analysis``, with equal rows. The question scans the events
    up to three times: persist them first, or write them as Parquet and read that.

    Args:
        question: "queues", "unacked" or another one, as the functions of amqpcodec.analysis are
            called; docs/guide/analysis.md has them with their columns.
        events: the rows of captures at level "event", with the columns that the question uses, or
            all of them.

    Raises:
        ValueError: there is no such question.
        AnalysisException: a column is missing.
    """
    text = re.sub(r"\bFROM events\b", "FROM {events}", query(question))
    return events.sparkSession.sql(text, events=events)
