"""What differs between versions of PySpark, each with what stands in for it where it is missing."""

from __future__ import annotations

import inspect
from typing import Any

import pyarrow as pa
import pyspark
from pyspark.sql.pandas import functions as _functions
from pyspark.sql.pandas import types as _types
from pyspark.sql.types import DataType

__all__ = [
    "DATA_SOURCES",
    "DataSource",
    "DataSourceReader",
    "DataSourceStreamReader",
    "InputPartition",
    "ReadAllAvailable",
    "ReadMaxBytes",
    "ReadMaxFiles",
    "SupportsTriggerAvailableNow",
    "VariantType",
    "arrow_udf",
    "is_variant",
    "literal_value",
    "missing",
    "of_ddl",
    "to_arrow_schema",
]


def missing(what: str, since: str) -> NotImplementedError:
    """The error for what this version of Spark does not have."""
    return NotImplementedError(
        f"Spark {since} or later is needed for {what}, and this is {pyspark.__version__}; "
        "decode, encode, from_amqp, to_amqp, schema_of_amqp, read_captures, index_captures, "
        "capture_stats, decode_captures, read_traces and decode_traces work with Spark 3.5"
    )


try:
    from pyspark.sql.datasource import (
        DataSource,
        DataSourceReader,
        DataSourceStreamReader,
        InputPartition,
    )

    DATA_SOURCES = True
except ImportError:  # before 4.0
    DataSource = DataSourceReader = InputPartition = object  # type: ignore[assignment, misc]
    DATA_SOURCES = False

    class DataSourceStreamReader:  # type: ignore[no-redef]
        """Nobody asks."""


try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadMaxBytes,
        ReadMaxFiles,
        SupportsTriggerAvailableNow,
    )
except ImportError:  # before 4.2, which asks a source for all that is there

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """Nobody asks."""

    ReadAllAvailable = ReadMaxBytes = ReadMaxFiles = None  # type: ignore[assignment, misc]


try:
    from pyspark.sql.types import VariantType
except ImportError:  # before 4.0

    class VariantType(DataType):  # type: ignore[no-redef]
        """Nothing is of this type."""


def is_variant(arrow: pa.DataType) -> bool:
    """Whether a struct is a variant, as Spark tells it by a field's metadata."""
    spark_check = getattr(_types, "is_variant", None)
    if spark_check is not None:
        return bool(spark_check(arrow))
    if not pa.types.is_struct(arrow) or VariantType.__module__ == __name__:
        return False
    fields = [arrow.field(i) for i in range(arrow.num_fields)]
    return [field.name for field in fields] == ["value", "metadata"] and (
        (fields[1].metadata or {}).get(b"variant") == b"true"
    )


def to_arrow_schema(schema: Any, large: bool) -> pa.Schema:
    """The Arrow schema that Spark takes for a schema, to the last bit."""
    parameters = inspect.signature(_types.to_arrow_schema).parameters
    options: dict[str, Any] = {}
    if "timezone" in parameters:
        options["timezone"] = "UTC"
    if large and "prefers_large_types" in parameters:
        options["prefers_large_types"] = True
    return _types.to_arrow_schema(schema, **options)


def of_ddl(text: str) -> DataType:
    """The type that DDL text means."""
    parse: Any = getattr(DataType, "fromDDL", None)
    if parse is None:  # before 4.0
        from pyspark.sql.types import _parse_datatype_string as parse
    data_type = parse(text)
    assert isinstance(data_type, DataType)
    return data_type


def literal_value(column: Any) -> Any:
    """The value of a column of the JVM that is a literal, texts as str; None for other columns."""
    node = column.node() if DATA_SOURCES else column.expr()  # 3.5 has no nodes
    if node.getClass().getSimpleName() != "Literal":
        return None
    value = node.value()
    is_text = not DATA_SOURCES and node.dataType().simpleString() == "string"
    return str(value) if is_text and value is not None else value


arrow_udf: Any = getattr(_functions, "arrow_udf", None)
"""Makes a column function over Arrow arrays; None before Spark 4.1."""
