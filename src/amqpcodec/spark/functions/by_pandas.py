"""Column functions on Sparks whose functions take no Arrow arrays: before 4.1.

pandas_udf stands in for arrow_udf. It hands out nothing but flat columns exactly: it makes no null
of a struct, and numbers, times and maps within others go through pandas, which rounds some. So a
result leaves Python as flat columns, a struct of them, and expressions of Spark put it together
again; an argument comes as JSON text, with the name of its type.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as sf
from pyspark.sql import types
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    LongType,
    MapType,
    StructField,
    StructType,
    TimestampType,
)

from ..planning.columns import arrow_schema
from ..planning.versions import VariantType, missing

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = ["PandasFunction", "read_json", "text_of_struct"]

#: How a moment is written in JSON text: to the microsecond, in UTC.
_JSON_OPTIONS = {
    "ignoreNullFields": "false",
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


class PandasFunction:
    """What arrow_udf(function, returns) does, for a function of one or more columns.

    It is called with columns. Spark does not run it again for each use of its result.
    """

    def __init__(self, function: Callable[..., pa.Array], returns: DataType) -> None:
        """function: Arrow arrays, of binary or text, to one of the type that it returns."""
        self.__name__: str = function.__name__
        self.returns = returns
        self._udf = _pandas_udf(function, returns)

    def __call__(self, *columns: Column) -> Column:
        """The result for these columns, of binary or text."""
        flat = self._udf(*columns)
        # Within an expression that names the result once: it is evaluated once.
        whole = sf.transform(
            sf.array(flat), lambda row: _whole(self.returns, lambda i: row[f"c{i}"], [0])
        )
        result: Column = sf.get(whole, sf.lit(0)).cast(self.returns)
        return result


def _pandas_udf(function: Callable[..., pa.Array], returns: DataType) -> Any:
    import pandas as pd  # type: ignore[import-untyped]
    from pyspark.sql.pandas.functions import pandas_udf

    def run(*columns: Any) -> Any:
        arrays = [pa.array(column, from_pandas=True) for column in columns]
        flat = _flat(function(*arrays), returns)
        return pd.DataFrame({f"c{i}": _series(array) for i, array in enumerate(flat)})

    run.__name__ = function.__name__
    # pandas_udf tells from the types which kind of function it is.
    run.__annotations__ = {"columns": pd.Series, "return": pd.DataFrame}
    leaves = enumerate(_leaves(returns, 0))
    schema = StructType([StructField(f"c{i}", leaf) for i, leaf in leaves])
    make: Any = pandas_udf
    return make(run, schema).asNondeterministic()


def _series(array: pa.Array) -> Any:
    """A column for pandas_udf that reaches Spark as it is."""
    import pandas as pd

    if pa.types.is_list(array.type):
        return pd.Series(array.to_pylist(), dtype=object)
    return pd.Series(pd.arrays.ArrowExtensionArray(array))


# ---- a type as flat columns, in the order of its parts ----


def _is_flat(data_type: DataType) -> bool:
    return not isinstance(data_type, (ArrayType, MapType, StructType))


def _leaves(data_type: DataType, depth: int) -> Iterator[DataType]:
    """The flat columns of a type; of what stands in `depth` arrays, arrays of them.

    A struct is a column that says whether it is there, and those of its fields; a map an array of
    keys and one of values; an array of others an array of each of their columns.
    """
    if isinstance(data_type, VariantType):
        raise missing("variants as results of functions", "4.1")
    if isinstance(data_type, StructType):
        yield _in_arrays(BooleanType(), depth)
        for field in data_type.fields:
            yield from _leaves(field.dataType, depth)
    elif isinstance(data_type, MapType):
        yield from _leaves(data_type.keyType, depth + 1)
        yield from _leaves(data_type.valueType, depth + 1)
    elif isinstance(data_type, ArrayType):
        yield from _leaves(data_type.elementType, depth + 1)
    else:
        is_time = isinstance(data_type, TimestampType)
        yield _in_arrays(LongType() if is_time else data_type, depth)


def _in_arrays(data_type: DataType, depth: int) -> DataType:
    for _ in range(depth):
        data_type = ArrayType(data_type)
    return data_type


def _flat(array: pa.Array, data_type: DataType) -> Iterator[pa.Array]:
    """The flat columns of an array."""
    if isinstance(data_type, StructType):
        yield array.is_valid()
        for number, field in enumerate(data_type.fields):
            yield from _flat(array.field(number), field.dataType)
    elif isinstance(data_type, MapType):
        for items, inner in ((array.keys, data_type.keyType), (array.items, data_type.valueType)):
            for leaf in _flat(items, inner):
                yield _list_array(array, leaf)
    elif isinstance(data_type, ArrayType):
        for leaf in _flat(array.values, data_type.elementType):
            yield _list_array(array, leaf)
    elif isinstance(data_type, TimestampType):
        yield array.cast(pa.timestamp("us", array.type.tz)).cast(pa.int64())
    else:
        yield array


def _list_array(lists: Any, values: pa.Array) -> pa.Array:
    """Lists of these values, as long as those and null where they are."""
    mask = lists.is_null() if lists.null_count else None
    return pa.ListArray.from_arrays(lists.offsets, values, mask=mask)


def _whole(data_type: DataType, leaf: Callable[[int], Column], at: list[int]) -> Column:
    """The expression that puts a type together. at: number of its first flat column; moves on."""
    if isinstance(data_type, StructType):
        present = leaf(_next(at))
        fields = [_whole(f.dataType, leaf, at).alias(f.name) for f in data_type.fields]
        return sf.when(present, sf.struct(*fields))
    if isinstance(data_type, MapType):
        keys = _elements(data_type.keyType, leaf, at)
        return sf.map_from_arrays(keys, _elements(data_type.valueType, leaf, at))
    if isinstance(data_type, ArrayType):
        return _elements(data_type.elementType, leaf, at)
    column = leaf(_next(at))
    return sf.timestamp_micros(column) if isinstance(data_type, TimestampType) else column


def _elements(element: DataType, leaf: Callable[[int], Column], at: list[int]) -> Column:
    """The array of what the next flat columns are arrays of."""
    first = at[0]
    at[0] += sum(1 for _ in _leaves(element, 0))
    if _is_flat(element) and not isinstance(element, TimestampType):
        return leaf(first)
    return sf.transform(
        leaf(first),
        lambda _, place: _whole(element, lambda number: sf.get(leaf(number), place), [first]),
    )


def _next(at: list[int]) -> int:
    at[0] += 1
    return at[0] - 1


# ---- a struct as text ----


def text_of_struct(struct: Column) -> tuple[Column, Column]:
    """A struct column as JSON text, and the name of its type: the arguments of `read_json`."""
    return sf.to_json(struct, _JSON_OPTIONS), sf.typeof(struct)


def read_json(texts: pa.Array, types: pa.Array, strict: bool) -> pa.Array:
    """The struct array that a column was before text_of_struct.

    strict: where a value cannot be known the job ends; otherwise that row is null.

    Raises:
        ValueError: a type that JSON text does not hold; with strict, a value that it does not.
    """
    if not len(texts):
        return pa.array([], pa.struct([]))
    struct = pa.struct(list(arrow_schema(_TypeReader(types[0].as_py()).struct())))
    value = _value_of(struct)
    values = []
    for text in texts.to_pylist():
        try:
            given = None if text is None else value(json.loads(text, parse_float=Decimal))
        except UnknownText:
            if strict:
                raise
            given = None
        values.append(given)
    return pa.array(values, struct)


class UnknownText(ValueError):
    """Text of which nothing says which bytes it was."""


#: Names of types, as typeof() gives them, that stand for themselves.
_NAMED: dict[str, DataType] = {
    data_type.simpleString(): data_type
    for data_type in (
        types.BinaryType(),
        types.BooleanType(),
        types.ByteType(),
        types.DateType(),
        types.DoubleType(),
        types.FloatType(),
        types.IntegerType(),
        types.LongType(),
        types.NullType(),
        types.ShortType(),
        types.StringType(),
        types.TimestampNTZType(),
        types.TimestampType(),
    )
}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


class _TypeReader:
    """Reads what typeof() says of a type; on a worker no JVM does it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def struct(self) -> StructType:
        """The whole text, as a struct."""
        data_type = self._type()
        if self.at != len(self.text) or not isinstance(data_type, StructType):
            raise self._refusal()
        return data_type

    def _type(self) -> DataType:
        if self._takes("struct<"):
            fields: list[StructField] = []
            while not self._takes(">"):
                if fields and not self._takes(","):
                    raise self._refusal()
                fields.append(StructField(self._until(":"), self._type()))
            return StructType(fields)
        if self._takes("array<"):
            inner = self._type()
            return ArrayType(self._closed(inner))
        if self._takes("map<"):
            key = self._type()
            if not self._takes(","):
                raise self._refusal()
            return MapType(key, self._closed(self._type()))
        if match := _DECIMAL.match(self.text, self.at):
            self.at = match.end()
            return types.DecimalType(int(match[1]), int(match[2]))
        name = re.compile(r"\w+").match(self.text, self.at)
        if name is None or name[0] not in _NAMED:
            raise self._refusal()
        self.at = name.end()
        return _NAMED[name[0]]

    def _closed(self, data_type: DataType) -> DataType:
        if not self._takes(">"):
            raise self._refusal()
        return data_type

    def _takes(self, text: str) -> bool:
        if not self.text.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def _until(self, mark: str) -> str:
        end = self.text.find(mark, self.at)
        if end < 0:
            raise self._refusal()
        name, self.at = self.text[self.at : end], end + 1
        return name

    def _refusal(self) -> ValueError:
        return ValueError(
            f"before Spark 4.1 to_amqp cannot read columns of the type {self.text} (at character "
            f"{self.at}): encode(df) takes them"
        )


def _value_of(arrow: pa.DataType) -> Callable[[Any], Any]:
    """What makes a value for pa.array of a value that is not null, as json.loads gives it."""
    if pa.types.is_struct(arrow):
        fields = [(field.name, _value_of(field.type)) for field in arrow]
        return lambda value: {
            name: None if value.get(name) is None else of(value[name]) for name, of in fields
        }
    if pa.types.is_map(arrow):
        key, item = _value_of(arrow.key_type), _value_of(arrow.item_type)
        return lambda value: [
            (key(name), None if inner is None else item(inner)) for name, inner in value.items()
        ]
    if pa.types.is_list(arrow):
        element = _value_of(arrow.value_type)
        return lambda value: [None if inner is None else element(inner) for inner in value]
    if pa.types.is_timestamp(arrow):
        return _microseconds
    if pa.types.is_string(arrow):
        return _text
    return _FLAT.get(arrow, _itself)


def _itself(value: Any) -> Any:
    return value


def _microseconds(text: str) -> int:
    """Since 1970, of "2023-11-14T22:13:20.000000Z"; the year may have more digits and a sign."""
    return int(np.datetime64(text.lstrip("+").rstrip("Z"), "us").astype(np.int64))


def _text(text: Any) -> str:
    """UnknownText where Spark wrote what stands for bytes that are no UTF-8, too."""
    if "\ufffd" in text:
        raise UnknownText(
            "a text has U+FFFD, which Spark also writes for bytes that are no UTF-8: before Spark "
            "4.1 to_amqp cannot tell them apart; encode(df) can"
        )
    return str(text)


def _whole_number(value: Any) -> int:
    return int(value)  # a key of a map is text


_FLAT: dict[pa.DataType, Callable[[Any], Any]] = {
    pa.binary(): base64.b64decode,
    pa.float32(): float,  # NaN and infinities are text
    pa.float64(): float,
    **dict.fromkeys((pa.int8(), pa.int16(), pa.int32(), pa.int64()), _whole_number),
}
