"""What a session must be told of: the data source, and the functions' names in SQL."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyspark
from pyspark.sql.types import DataType

from ..functions.encoding import to_amqp_udf
from ..functions.sql import register_builders
from ..functions.structs import from_amqp_udf, schema_of_amqp_udf
from ..planning.refusals import refusing
from ..planning.versions import DATA_SOURCES, arrow_udf, missing
from .data_source import AmqpCapture

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]

_log = logging.getLogger(__name__)


@refusing
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

    Before Spark 4.0, which has no data sources of Python's, there are the functions alone; on a
    Spark Connect before 4.1 the format alone. Both are warned of.

    Raises:
        NotImplementedError: functions, on a Spark Connect before 4.1.
    """
    if DATA_SOURCES:
        spark.dataSource.register(AmqpCapture)
    else:
        _log.warning(
            "Spark %s has no formats of Python's, as 4.0 has: read_captures reads captures, and "
            "the functions are there",
            pyspark.__version__,
        )
    of_schema = dict(functions or {})
    known = register_builders(spark, of_schema)
    if arrow_udf is None:
        if not known and of_schema:
            raise missing("names of functions in SQL where no analyzer is in reach", "4.1")
        if not known:
            _log.warning("SQL has no functions of amqpcodec here: Spark 4.1 or later is needed")
        return
    if not known:
        spark.udf.register("from_amqp", from_amqp_udf())
        spark.udf.register("schema_of_amqp", schema_of_amqp_udf())
    spark.udf.register("to_amqp", to_amqp_udf())
    for name, schema in of_schema.items():
        spark.udf.register(name, from_amqp_udf(schema))
