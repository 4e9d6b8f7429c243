"""What a caller asks for, names or a schema, as a plan for the decoder and for Spark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DecimalType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from .options import CORRUPT, TABLES
from .versions import VariantType, is_variant, of_ddl, to_arrow_schema

__all__ = [
    "ALL",
    "Plan",
    "arrow_schema",
    "conform",
    "parse_schema",
    "plan",
    "spark_type",
    "with_all",
]

#: What stands for all columns in a list of names.
ALL = "*"


@dataclass(frozen=True)
class Plan:
    """What is decoded, and what comes out. It travels to the workers.

    fields: what the decoder is asked for. schema: the columns that come out, in order.
    sources: of each column the index among fields, or -1 for the column of corrupt records.
    field_tables: what field tables become, as batch.decode takes it.
    """

    fields: tuple[str, ...]
    schema: StructType
    sources: tuple[int, ...]
    field_tables: str = "json"


def spark_type(arrow: pa.DataType) -> DataType:
    """The Spark type of a column; integers without a sign become the next wider type."""
    if pa.types.is_struct(arrow) and not is_variant(arrow):
        return StructType(
            [StructField(field.name, spark_type(field.type)) for field in _children(arrow)]
        )
    if pa.types.is_list(arrow):
        return ArrayType(spark_type(arrow.value_type))
    if pa.types.is_uint64(arrow):
        return LongType()
    if pa.types.is_decimal256(arrow):
        raise ValueError(
            f"decimal({arrow.precision},{arrow.scale}): decimals of Spark have at most 38 digits; "
            "ask for fewer, or for string"
        )
    widened = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64()}
    return from_arrow_type(widened.get(arrow, arrow))


def _children(arrow: pa.DataType) -> list[pa.Field]:
    return [arrow.field(i) for i in range(arrow.num_fields)]


def parse_schema(schema: str | DataType) -> DataType:
    """A schema as it is, or out of its DDL text (``channel int, method string``)."""
    if not isinstance(schema, str):
        return schema
    return of_ddl(schema)


def tables_of(data_type: DataType, field_tables: str | None) -> str:
    """What field tables become: as it was told, or else by the types of a schema."""
    if field_tables is not None:
        if field_tables.lower() not in TABLES:
            raise ValueError(
                f"field_tables is {', '.join(map(repr, TABLES))}, not {field_tables!r}"
            )
        return field_tables.lower()
    if isinstance(data_type, VariantType | MapType):
        return "variant" if isinstance(data_type, VariantType) else "map"
    if isinstance(data_type, StructType):
        kinds = {tables_of(field.dataType, None) for field in data_type} - {"json"}
        if len(kinds) > 1:
            raise ValueError("field tables are variants or maps in a schema, not both")
        return kinds.pop() if kinds else "json"
    return "json"


def with_all(schema_of_names: Any, names: Iterable[str]) -> list[str]:
    """Names, with those of all other columns in the place of "*".

    schema_of_names: as plan() takes it.
    """
    name_list = list(names)
    if ALL not in name_list:
        return name_list
    others = [
        name for name in pa.schema(schema_of_names(None, "json")).names if name not in name_list
    ]
    at = name_list.index(ALL)
    return [*name_list[:at], *others, *name_list[at + 1 :]]


def plan(
    schema_of_names: Any,
    requested_columns: Iterable[str] | StructType | None,
    corrupt: str | None = CORRUPT,
    field_tables: str | None = None,
    aliases: Mapping[str, str] = MappingProxyType({}),
) -> Plan:
    """A plan for columns.

    schema_of_names: a function that gives the Arrow schema of a list of names, or of all for None,
    and of what field tables become. requested_columns: names, of which "*" stands for all others;
    or a schema whose columns are named as the decoder's fields are; or None for all that the
    decoder has. corrupt: name of the column with the bytes of bad rows, a string (hexadecimal) or
    binary, which a schema may have. field_tables: None: what the schema's types say, or else
    "json". aliases: other names of columns, and what the decoder calls them.

    Raises:
        ValueError: a name is not known, or a column has another type than the schema says.
    """
    if isinstance(requested_columns, StructType):
        field_tables = tables_of(requested_columns, field_tables)
        return _plan_of_schema(schema_of_names, requested_columns, corrupt, field_tables, aliases)
    field_tables = tables_of(StructType(), field_tables)
    if isinstance(requested_columns, str | bytes):
        raise TypeError(f"fields takes names in a list, not {type(requested_columns).__name__}")
    names = None if requested_columns is None else with_all(schema_of_names, requested_columns)
    fields = None if names is None else [aliases.get(name, name) for name in names]
    schema = pa.schema(schema_of_names(fields, field_tables))
    if len(schema) == 0:
        raise ValueError("fields names no column")
    types = [spark_type(field.type) for field in schema]
    columns = list(map(StructField, schema.names if names is None else names, types))
    numbers = tuple(range(len(schema)))
    return Plan(tuple(fields or schema.names), StructType(columns), numbers, field_tables)


def _plan_of_schema(
    schema_of_names: Any,
    requested_schema: StructType,
    corrupt: str | None,
    field_tables: str,
    aliases: Mapping[str, str],
) -> Plan:
    fields: list[str] = []
    sources: list[int] = []
    for column in requested_schema:
        if column.name == corrupt:
            if not isinstance(column.dataType, StringType | BinaryType):
                raise ValueError(f"column {corrupt} of corrupt records is string or binary")
            sources.append(-1)
            continue
        name = aliases.get(column.name) or _field_name(column)
        if name not in fields:  # one header may be there under two names
            fields.append(name)
        sources.append(fields.index(name))
    if not sources:
        raise ValueError("the schema names no column")
    decoder_schema = pa.schema(schema_of_names(fields, field_tables)) if fields else pa.schema([])
    for column, source in zip(requested_schema, sources, strict=True):
        if source >= 0:
            _check_type(column.name, column.dataType, spark_type(decoder_schema.field(source).type))
    if -1 in sources:
        fields += [name for name in ("frame", "error") if name not in fields]
    return Plan(tuple(fields), requested_schema, tuple(sources), field_tables)


def _field_name(column: StructField) -> str:
    """How the decoder calls a column of a schema: one header needs its type beside its name."""
    sql = column.dataType.simpleString()
    type_ = sql if isinstance(column.dataType, DecimalType) else _HEADER_TYPES.get(sql)
    typed = _TYPED.search(column.name) is not None
    if (
        type_ is None
        or typed
        or not column.name.startswith(("headers.", "application_properties."))
    ):
        return column.name
    return f"{column.name}:{type_}"


#: The name of a header's column that says its type already.
_TYPED = re.compile(r":\s*(?:long|double|boolean|binary|timestamp|decimal\s*\([^()]*\))$")

_HEADER_TYPES = {
    "bigint": "long",
    "double": "double",
    "boolean": "boolean",
    "binary": "binary",
    "timestamp": "timestamp",
}


def _check_type(name: str, expected: DataType, actual: DataType) -> None:
    if isinstance(expected, StructType) and isinstance(actual, StructType):
        types_by_name = {field.name: field.dataType for field in actual}
        for field in expected:
            if field.name not in types_by_name:
                raise ValueError(
                    f"no {field.name!r} in {name}; there is {', '.join(types_by_name)}"
                )
            _check_type(f"{name}.{field.name}", field.dataType, types_by_name[field.name])
        return
    expected_text, actual_text = expected.simpleString(), actual.simpleString()
    if expected_text != actual_text and (actual_text, expected_text) != ("int", "bigint"):
        raise ValueError(f"column {name} is {actual_text}, which the schema calls {expected_text}")


def arrow_schema(schema: StructType, large: bool = False) -> pa.Schema:
    """The Arrow schema that Spark takes for a schema, to the last bit."""
    return to_arrow_schema(schema, large)


def conform(rows: pa.RecordBatch, plan: Plan, target: pa.Schema) -> pa.RecordBatch:
    """Decoded columns, which stand in order of plan.fields, as the columns that Spark expects.

    Raises:
        ValueError: a null where the schema says there is none.
    """
    columns = []
    for field, source in zip(target, plan.sources, strict=True):
        column = _corrupt(rows, plan, field.type) if source < 0 else rows.column(source)
        column = _as_type(column, field.type)
        if not field.nullable and column.null_count:
            raise ValueError(f"column {field.name} has nulls, which the schema rules out")
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=target)


def _corrupt(rows: pa.RecordBatch, plan: Plan, target: pa.DataType) -> pa.Array:
    """The bytes of bad rows; null for good ones."""
    frame = rows.column(plan.fields.index("frame"))
    bad = rows.column(plan.fields.index("error")).is_valid()
    bad_frames = pc.if_else(bad, frame, pa.scalar(None, frame.type))
    if pa.types.is_string(target) or pa.types.is_large_string(target):
        return pa.array(
            [None if raw is None else raw.hex() for raw in bad_frames.to_pylist()], target
        )
    return bad_frames


def _as_type(column: pa.Array, target: pa.DataType) -> pa.Array:
    if column.type.equals(target):
        return column
    if pa.types.is_struct(target):
        names = [field.name for field in _children(column.type)]
        children = [
            _as_type(column.field(names.index(field.name)), field.type)
            for field in _children(target)
        ]
        if column.offset == 0:  # as all that the decoder gives: its validity can be shared
            valid, nulls = column.buffers()[0], column.null_count
            return pa.Array.from_buffers(target, len(column), [valid], nulls, 0, children)
        mask = column.is_null() if column.null_count else None
        return pa.StructArray.from_arrays(children, fields=_children(target), mask=mask)
    if pa.types.is_uint64(column.type):
        fits = pc.less_equal(column, pa.scalar(2**63 - 1, pa.uint64()))
        column = pc.if_else(fits, column, pa.scalar(None, pa.uint64()))
    return column.cast(target)
