"""What a session must be told of: the data source, and the functions' names in SQL."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql.types import DataType

from ..functions.encoding import to_amqp_udf
from ..functions.sql import register_builders
from ..functions.structs import from_amqp_udf, schema_of_amqp_udf
from ..planning.versions import needs_sources
from .data_source import AmqpCapture

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]

_log = logging.getLogger(__name__)


def register(spark: SparkSession, functions: Mapping[str, str | DataType] | None = None) -> None:
    """Make ``amqp_capture`` a format of a session, and the column functions callable in SQL.

    In SQL ``from_amqp(col, schema, options)`` takes what from_json takes, as ``from_amqp(frame,
    'channel INT, method STRING', map('mode', 'FAILFAST'))``; without a schema it gives all columns
    of a frame. ``schema_of_amqp(X'...')`` may stand for the schema, and ``to_amqp(struct)`` takes
    a message, as ``to_amqp(struct(exchange, body))``. On Spark Connect a function has one type, and
    ``from_amqp(col)`` takes no more: give names and schemas of your own.

    Args:
        spark: a session.
        functions: name in SQL → schema, as from_amqp takes it: ``{"amqp_heads": "channel int,
            method string"}`` makes ``SELECT amqp_heads(frame)`` possible.

    Raises:
        NotImplementedError: before Spark 4.0, which has no data sources of Python's; with functions
            before 4.1. With 4.0 there is the format alone, which is warned of.
    """
    needs_sources("register")
    spark.dataSource.register(AmqpCapture)
    try:
        from_sql = from_amqp_udf()
    except NotImplementedError as problem:
        if functions:
            raise
        _log.warning("only the format amqp_capture is there: %s", problem)
        return
    if not register_builders(spark):
        spark.udf.register("from_amqp", from_sql)
        spark.udf.register("schema_of_amqp", schema_of_amqp_udf())
    spark.udf.register("to_amqp", to_amqp_udf())
    for name, schema in dict(functions or {}).items():
        spark.udf.register(name, from_amqp_udf(schema))
