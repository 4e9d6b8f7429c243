"""Keys of conversations: which values of an array belong together. It needs pyarrow when used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["groups_of", "one_array", "values_and_groups"]


def values_and_groups(data: Any, by: Iterable[Any], column: str) -> tuple[Any, Any]:
    """What to decode, and each value's number of its key, int32 in a buffer, or True for one key.

    data: an Arrow array, or with names in by a table that has them and the column of bytes.

    Raises:
        ValueError: a column is not there, or an array of keys has another length.
    """
    if isinstance(by, str):
        raise TypeError("by takes a list of columns, not one name")
    keys = list(by)
    if not keys:
        return data, True
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ImportError("batch.decode(by=...) needs pyarrow: pip install pyarrow") from error
    names = [key for key in keys if isinstance(key, str)]
    if names:
        table = pa.table(data)
        missing = [name for name in (column, *names) if name not in table.column_names]
        if missing:
            raise ValueError(f"no column {missing[0]!r}; there is {', '.join(table.column_names)}")
        data = one_array(table.column(column))
        keys = [table.column(key) if isinstance(key, str) else key for key in keys]
    return data, groups_of([one_array(key) for key in keys], len(data))


def one_array(values: Any) -> Any:
    """One pyarrow array of anything that gives Arrow data, or of Python values."""
    import pyarrow as pa

    if not isinstance(values, pa.Array | pa.ChunkedArray):
        streams = hasattr(values, "__arrow_c_stream__")
        values = pa.chunked_array(values) if streams else pa.array(values)
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def groups_of(keys: Sequence[Any], length: int) -> Any:
    """Numbers from 0, in order of first appearance, one a row; equal where all keys are equal.

    keys: pyarrow arrays; nulls are equal to one another. A buffer of int32 comes back.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = None
    for key in keys:
        if len(key) != length:
            raise ValueError(f"{length} values have {len(key)} keys")
        if pa.types.is_dictionary(key.type):
            key = key.dictionary_decode()  # the same value may stand in it twice
        try:
            codes = pc.dictionary_encode(key, null_encoding="encode")
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
            raise TypeError(f"keys are plain values, not {key.type}") from None
        indices = codes.indices
        if numbers is None:
            numbers = indices
            continue
        wide = pc.multiply(numbers.cast(pa.int64()), max(len(codes.dictionary), 1))
        numbers = pc.dictionary_encode(pc.add(wide, indices.cast(pa.int64()))).indices
    assert numbers is not None
    assert numbers.offset == 0
    return numbers.buffers()[1]
