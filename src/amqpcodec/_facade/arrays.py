"""Arrays of NumPy, series of pandas and dicts as Arrow arrays, and columns as arrays of NumPy.

Nothing here imports NumPy: who has an array has imported it. pyarrow is imported when it is used.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from ..types import Timestamp
from ..v1_types import Timestamp as V1Timestamp

__all__ = [
    "array_to_numpy",
    "column_to_numpy",
    "columns_to_arrow",
    "rows_to_pylist",
    "values_to_arrow",
]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Columns of AMQP 1.0 with timestamps, which are milliseconds on the wire.
V1_TIMES = ("creation_time", "absolute_expiry_time")
OF_V1 = "application_properties."


def _pyarrow(purpose: str) -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(f"{purpose} needs pyarrow: pip install pyarrow") from error
    return pyarrow


def _is_numpy(data: object) -> bool:
    numpy: Any = sys.modules.get("numpy")
    return numpy is not None and isinstance(data, numpy.ndarray)


# ---- to decode ----


def values_to_arrow(data: Any, v1: bool) -> Any:
    """What batch.decode takes as it is: data itself, or an Arrow array of an array's values.

    v1: the bytes are frames of AMQP 1.0, which may end in NULs.

    Raises:
        TypeError: an array of NumPy that is neither values nor one buffer.
    """
    if _is_numpy(data):
        return _numpy_values(data, v1)
    library = type(data).__module__.partition(".")[0]
    series = library == "pandas" and hasattr(data, "to_frame")
    return _bytes_array(data) if series and not hasattr(data, "__arrow_c_stream__") else data


def _numpy_values(data: Any, v1: bool) -> Any:
    kind = data.dtype.kind
    if hasattr(data, "mask"):
        raise TypeError(
            "takes no masked array of NumPy: pass data.filled(b''), whose empty values give no row"
        )
    if data.ndim != 1:
        raise TypeError(
            f"takes an array of NumPy with one dimension, not {data.ndim}: pass data.ravel(), or "
            "rows that are values as dtype object"
        )
    if kind == "O":
        return _bytes_array(data)
    if kind == "S":
        return _bytes_array(_unpadded(data, v1))
    if data.dtype.name == "uint8":
        return data if data.flags.c_contiguous else data.tobytes()
    if kind == "U":
        raise TypeError("takes bytes, not NumPy's text: frames are no text (dtype S or object)")
    raise TypeError(
        f"takes NumPy's dtype S or object (a value each row) or uint8 (the bytes of frames, one "
        f"after another), not {data.dtype}: data.view('uint8') are the bytes of its memory"
    )


def _bytes_array(data: Any) -> Any:
    pa = _pyarrow("batch.decode of an array of values")
    try:
        return pa.array(data, pa.large_binary())
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise TypeError(f"takes an array of bytes, one value each row: {error}") from None


def _unpadded(data: Any, v1: bool) -> list[bytes]:
    """The values of dtype S, which pads them with NULs and takes NULs at their end away.

    Frames of 0-x end in 0xCE. A protocol header may end in NULs, and so may frames of 1.0, whose
    size says where they end.
    """
    values: list[bytes] = data.tolist()
    size = data.dtype.itemsize
    for i, value in enumerate(values):
        end = _end_of_frames(value, size) if v1 else _end_of_header(value)
        if len(value) < end <= size:
            values[i] = value.ljust(end, b"\0")
    return values


def _end_of_header(value: bytes) -> int:
    """Where the value ends if it ends with a protocol header, or as much of one as there is."""
    at = value.rfind(b"AMQP", -8)
    return at + 8 if at >= 0 else len(value)


def _end_of_frames(value: bytes, room: int) -> int:
    """Where the last frame of AMQP 1.0 ends that begins within the value."""
    at = 0
    while at < len(value):
        head = value[at : at + 4].ljust(4, b"\0")
        size = 8 if head == b"AMQP" else int.from_bytes(head, "big")
        if size < 8 or at + size > room:
            return len(value)
        at += size
    return at


# ---- to encode ----


def columns_to_arrow(columns: Any) -> Any:
    """What batch.encode takes as it is: columns itself, or a struct array of a dict's columns.

    Raises:
        TypeError: an array of NumPy without fields, or a column that is no array.
        ValueError: columns of several lengths.
    """
    if _is_numpy(columns):
        if columns.dtype.names is None:
            raise TypeError(
                f"takes a structured array of NumPy, whose fields are the columns, not dtype "
                f"{columns.dtype}; or a dict of arrays"
            )
        return _numpy_column(columns, "the array")
    if not isinstance(columns, Mapping) or hasattr(columns, "__arrow_c_array__"):
        return columns
    pa = _pyarrow("batch.encode of a dict")
    arrays = {name: _column(value, name) for name, value in columns.items()}
    lengths = {len(array) for array in arrays.values()}
    if len(lengths) > 1:
        sizes = ", ".join(f"{name}: {len(array)}" for name, array in arrays.items())
        raise ValueError(f"columns need one length, and these have several ({sizes})")
    if not arrays:
        raise ValueError("a dict of columns needs one column at least, which says how many rows")
    return pa.StructArray.from_arrays(list(arrays.values()), list(arrays))


def _column(values: Any, name: object) -> Any:
    """A pyarrow array of one column."""
    pa = _pyarrow("batch.encode of a dict")
    if not isinstance(name, str):
        raise TypeError(f"names of columns are text, not {name!r}")
    if _is_numpy(values):
        return _numpy_column(values, name)
    if isinstance(values, pa.Array):
        return values
    if hasattr(values, "__arrow_c_array__"):
        return pa.array(values)
    if hasattr(values, "__arrow_c_stream__"):
        return pa.chunked_array(values).combine_chunks()
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__len__"):
        raise TypeError(
            f"column {name!r} is an array or a list with a value each row, not "
            f"{type(values).__name__}"
        )
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise TypeError(f"column {name!r}: {error}") from None


def _numpy_column(values: Any, name: str) -> Any:
    pa = _pyarrow("batch.encode of NumPy's arrays")
    if values.ndim != 1:
        raise TypeError(
            f"column {name!r} has {values.ndim} dimensions: pass an array with one, or list(array) "
            "where each row is a list"
        )
    mask = None
    if hasattr(values, "mask"):
        numpy: Any = sys.modules["numpy"]
        mask, values = numpy.ma.getmaskarray(values), values.data
    if values.dtype.names is not None:
        fields = list(values.dtype.names)
        arrays = [_numpy_column(values[field], f"{name}.{field}") for field in fields]
        if mask is not None:
            mask = pa.array([all(row) for row in mask.tolist()])
        return pa.StructArray.from_arrays(arrays, fields, mask=mask)
    if values.dtype.kind == "M" and values.dtype.name[11:-1] in ("Y", "M", "W", "D", "h", "m"):
        values = values.astype("datetime64[s]")  # of these units Arrow has dates, or nothing
    try:
        return pa.array(values, mask=mask)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise TypeError(f"column {name!r}: {error}") from None


# ---- back ----


def column_to_numpy(columns: Any, name: str) -> Any:
    """A column of what batch.decode returns, or a member of a struct ("properties.message_id")."""
    if not isinstance(name, str):
        raise TypeError(f"to_numpy() takes the name of a column, not {type(name).__name__}")
    pa = _pyarrow("to_numpy")
    rows = pa.record_batch(columns)
    if name in rows.schema.names:
        return _to_numpy(rows.column(name))
    first, *members = name.split(".")
    if first in rows.schema.names and members:
        import pyarrow.compute as pc

        array = rows.column(first)
        try:
            return _to_numpy(pc.struct_field(array, members))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
            pass
    raise KeyError(f"there is no column {name!r}: there is {', '.join(rows.schema.names)}")


def array_to_numpy(column: Any) -> Any:
    """One column, such as batch.encode returns."""
    return _to_numpy(_pyarrow("to_numpy").array(column))


def _to_numpy(array: Any) -> Any:
    pa = _pyarrow("to_numpy")
    if pa.types.is_struct(array.type):
        # Python has no datetime for every timestamp: their members are numbers or datetime64.
        members = [_to_numpy(array.field(i)) for i in range(array.type.num_fields)]
        names = [field.name for field in array.type]
        numpy: Any = sys.modules["numpy"]
        out = numpy.empty(len(array), dtype=object)
        present = array.is_valid().to_pylist()
        for i, row in enumerate(zip(*members, strict=True)):
            out[i] = dict(zip(names, row, strict=True)) if present[i] else None
        return out
    return array.to_numpy(zero_copy_only=False)


def rows_to_pylist(columns: Any) -> list[dict[str, Any]]:
    """The rows of what batch.decode returns, or of a capture's batch, as dicts."""
    pa = _pyarrow("to_pylist")
    rows = pa.record_batch(columns)
    names = rows.schema.names
    lists = [_to_pylist(column, name) for name, column in zip(names, rows.columns, strict=True)]
    return [dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True)]


def _to_pylist(array: Any, name: str) -> list[Any]:
    pa = _pyarrow("to_pylist")
    if pa.types.is_struct(array.type):
        names = [field.name for field in array.type]
        members = [_to_pylist(array.field(i), member) for i, member in enumerate(names)]
        return [
            dict(zip(names, row, strict=True)) if present else None
            for present, row in zip(
                array.is_valid().to_pylist(), zip(*members, strict=True), strict=True
            )
        ]
    if not pa.types.is_timestamp(array.type):
        return array.to_pylist()  # type: ignore[no-any-return]
    v1 = name.startswith(OF_V1) or name.endswith(V1_TIMES)
    return [
        None if number is None else _time(number, v1)
        for number in array.cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_pylist()
    ]


def _time(microseconds: int, v1: bool) -> object:
    try:
        return EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return V1Timestamp(microseconds // 1000) if v1 else Timestamp(microseconds // 10**6)
