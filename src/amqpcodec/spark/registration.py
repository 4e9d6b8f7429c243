"""What a session must be told of: the data source, and the functions' names in SQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql.types import DataType

from .encoding import to_amqp_udf
from .functions import from_amqp_udf, schema_of_amqp_udf
from .source import AmqpCapture

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]


def register(spark: SparkSession, functions: Mapping[str, str | DataType] | None = None) -> None:
    """Make ``amqp_capture`` a format of a session, and the column functions callable in SQL.

    In SQL a function has one type: ``from_amqp(col)`` gives all columns of a frame, and
    ``to_amqp(struct)`` takes a message, as ``to_amqp(struct(exchange, body))``. Give names and
    schemas of your own for functions that decode less.

    Args:
        spark: a session.
        functions: name in SQL → schema, as from_amqp takes it: ``{"amqp_heads": "channel int,
            method string"}`` makes ``SELECT amqp_heads(frame)`` possible.
    """
    spark.dataSource.register(AmqpCapture)
    spark.udf.register("from_amqp", from_amqp_udf())
    spark.udf.register("schema_of_amqp", schema_of_amqp_udf())
    spark.udf.register("to_amqp", to_amqp_udf())
    for name, schema in dict(functions or {}).items():
        spark.udf.register(name, from_amqp_udf(schema))
