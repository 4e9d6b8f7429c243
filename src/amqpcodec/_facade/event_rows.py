"""Rows of a table that are what connections said, to events. It needs pyarrow when used."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from ipaddress import ip_address
from typing import Any

from .. import _capture
from .._columns import Schema
from .keys import groups_of, one_array

__all__ = [
    "COLUMNS",
    "ConnectionReader",
    "decode_events",
    "key_numbers",
    "plain_key",
    "schema_of_events",
    "senders_of",
    "times_of",
    "values_of",
]

#: Columns that say of each value who sent it, when, and from where to where: as captures name them.
COLUMNS = {"direction": "direction", "time": "timestamp", "src": "src", "dst": "dst"}
#: Time of a value that has none, as the core has it.
NO_TIME = -0x7FFFFFFFFFFFFFFF
#: Bits of a value's sender, as the core has them.
SERVER, MISSING = 1, 2
#: Rows that one batch of the core may have: all.
ALL_ROWS = 1 << 62


class ConnectionReader:
    """Reads values of many connections to batches of events."""

    def __init__(
        self,
        protocols: Sequence[Any],
        forced: bool,
        fields: Iterable[str] | None,
        rows: int,
        *,
        apart: bool = False,
    ) -> None:
        """protocols: of the core, 0-9-1 first, or the one that is forced. rows: of a batch.
        apart: one connection is read after the other."""
        first, *others = protocols
        names = None if fields is None else list(fields)
        self._core = _capture.CaptureReader(
            first, names, (), True, forced, rows, "event", others=tuple(others), ordered=True
        )
        if apart:
            self._core.read_apart()

    def open(self, key: Sequence[Any], src: str | None, dst: str | None, from_server: bool) -> int:
        """A number for the connection of a key. src, dst: of its first value, or null."""
        ends = _address(src), _address(dst)
        if not all(ends) or len(ends[0]) != len(ends[1]):
            ends = b"", b""
        client, server = ends[::-1] if from_server else ends
        return self._core.name_connection(_id_of(key), client, server)

    def feed(self, values: Any, numbers: Any, senders: Any, times: Any, first: int) -> None:
        """Read values, of large_binary.

        numbers: of their connections, int32; senders: uint8; times: int64; as arrays of pyarrow.
        """
        _, ends, data = values.buffers()
        self._core.feed_values(
            b"" if data is None else data,
            _items(ends, values, 8, 1),
            _items(numbers.buffers()[1], numbers, 4),
            _items(senders.buffers()[1], senders, 1),
            _items(times.buffers()[1], times, 8),
            first,
        )

    def end(self) -> None:
        """End all connections: what is open waits for nothing any more."""
        self._core.end_connections()

    def take(self, ended: bool = True) -> _capture.CaptureBatch | None:
        """Rows that wait, as many as a batch may have; None: there are none.

        ended: all connections are; else a full batch of rows whose place is known, or None.
        """
        return self._core.take(True) if ended or self._core.has_batch() else None

    def none(self) -> _capture.CaptureBatch:
        """A batch without rows."""
        return self._core.no_rows()


def _items(buffer: Any, array: Any, width: int, more: int = 0) -> Any:
    """The bytes of an array's items, and of some after them."""
    if buffer is None:
        return bytes(width * more)
    start = array.offset * width
    return memoryview(buffer)[start : start + (len(array) + more) * width]


def _id_of(key: Sequence[Any]) -> int:
    """A number for a key, the same in every process and on every machine."""
    text = repr(list(key)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


def _address(text: str | None) -> bytes:
    """An address and its port as bytes; of what is none, no bytes."""
    host, _, port = (text or "").rpartition(":")
    try:
        address = ip_address(host.removeprefix("[").removesuffix("]"))
        return address.packed + int(port).to_bytes(2, "big")
    except (ValueError, OverflowError):
        return b""


def schema_of_events(protocol: Any, fields: Iterable[str] | None) -> Schema:
    """The columns of events."""
    return _capture.capture_schema(protocol, None if fields is None else list(fields), "event")


def decode_events(
    data: Any,
    protocols: Sequence[Any],
    forced: bool,
    fields: Iterable[str] | None,
    by: Iterable[Any] | None,
    columns: dict[str, Any],
) -> _capture.CaptureBatch:
    """The events of all connections of a table: see batch.decode.

    columns: of COLUMNS, and "column" with the name of the bytes: names or arrays.
    """
    if by is None:
        raise ValueError(
            "level='event' needs by: the columns that tell connections apart, or an empty list "
            "where all values are of one"
        )
    if isinstance(by, str):
        raise TypeError("by takes a list of columns, not one name")
    reader = ConnectionReader(protocols, forced, fields, ALL_ROWS)
    values, keys, rows = _columns_of(data, list(by), columns)
    numbers, firsts = key_numbers(keys, len(values))
    senders = senders_of(values, rows)
    times = times_of(rows["time"], len(values))
    for at in firsts:
        key = [plain_key(column[at]) for column in keys]
        ends = [None if rows[name] is None else rows[name][at].as_py() for name in ("src", "dst")]
        reader.open(key, ends[0], ends[1], bool(senders[at].as_py() & SERVER))
    if len(values):
        reader.feed(values, numbers, senders, times, 0)
    reader.end()
    return reader.take() or reader.none()


def _columns_of(data: Any, by: list[Any], columns: dict[str, Any]) -> tuple[Any, Any, Any]:
    """(values, keys, the columns that go with them: arrays, or None where there are none)."""
    import pyarrow as pa

    columns = dict(columns)
    column = columns.pop("column")
    table = None
    if isinstance(data, bytes | bytearray | memoryview):
        data = pa.array([bytes(data)], pa.large_binary())
    elif _has_columns(data):
        table = pa.table(data)
        if column not in table.column_names:
            raise ValueError(f"no column {column!r}; there is {', '.join(table.column_names)}")
    values = values_of(one_array(data if table is None else table.column(column)))

    def find(name: str, choice: Any) -> Any:
        if choice is None or not isinstance(choice, str):
            array = None if choice is None else one_array(choice)
        elif table is not None and choice in table.column_names:
            array = one_array(table.column(choice))
        elif choice == COLUMNS.get(name) and name != "direction":
            array = None  # nobody asked for it
        else:
            names = "no table" if table is None else ", ".join(table.column_names)
            raise ValueError(f"{name}: no column {choice!r}; there is {names}")
        if array is not None and len(array) != len(values):
            raise ValueError(f"{name}: {len(values)} values have {len(array)} rows of it")
        return array

    keys = [find("by", key) for key in by]
    rows = {name: find(name, choice) for name, choice in columns.items()}
    rows["flags"] = find("flags", "flags") if table is not None and _has_flags(table) else None
    for name in ("src", "dst"):
        if rows[name] is not None and not is_text(rows[name].type):
            raise TypeError(f"{name} is text, not {rows[name].type}")
    return values, keys, rows


def _has_columns(data: Any) -> bool:
    """Whether what gives Arrow data is a table, and no column."""
    import pyarrow as pa

    if isinstance(data, pa.Table | pa.RecordBatch):
        return True
    if isinstance(data, pa.Array | pa.ChunkedArray):
        return False
    schema = getattr(data, "schema", data)
    if hasattr(schema, "__arrow_c_schema__"):
        try:
            pa.schema(schema)
        except (pa.ArrowInvalid, TypeError, ValueError):
            return False
        return True
    return hasattr(data, "column_names") or hasattr(data, "columns")


def _compute() -> Any:
    """pyarrow.compute, whose functions are made when it is imported."""
    import pyarrow.compute

    return pyarrow.compute


def _has_flags(table: Any) -> bool:
    import pyarrow as pa

    at = table.schema.get_field_index("flags")
    return bool(at >= 0 and pa.types.is_list(table.schema.field(at).type))


def is_text(type_: Any) -> bool:
    """Whether a type of Arrow holds text."""
    import pyarrow as pa

    plain = type_.value_type if pa.types.is_dictionary(type_) else type_
    return str(plain) in ("string", "large_string", "string_view")


def values_of(array: Any) -> Any:
    """An array of bytes as large_binary.

    Raises:
        TypeError: it holds no bytes.
    """
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if str(array.type) not in ("binary", "large_binary", "binary_view"):
        raise TypeError(f"takes binary values, not {array.type}")
    return array.cast(pa.large_binary())


def key_numbers(keys: list[Any], length: int) -> tuple[Any, list[int]]:
    """(the number of each value's key, int32; the first value of each number)."""
    import pyarrow as pa

    if not keys:
        return pa.array([0] * length, pa.int32()), [0] if length else []
    buffer = groups_of(keys, length)
    numbers = pa.Array.from_buffers(pa.int32(), length, [None, buffer])
    rows = pa.table({"number": numbers, "row": pa.array(range(length), pa.int64())})
    firsts = rows.group_by("number").aggregate([("row", "min")]).sort_by("number")
    return numbers, firsts.column("row_min").to_pylist()


def plain_key(value: Any) -> Any:
    """A key's value, a scalar of pyarrow, as what has one text only."""
    import pyarrow as pa

    if pa.types.is_timestamp(value.type):
        return value.cast(pa.timestamp("ns", value.type.tz)).value
    return value.as_py()


def senders_of(values: Any, rows: dict[str, Any]) -> Any:
    """Who sent each value, and whether its bytes are missing: uint8.

    Raises:
        TypeError: direction is no text.
        ValueError: a direction is neither of the two.
    """
    import pyarrow as pa

    pc = _compute()

    direction = rows["direction"]
    if direction is None:
        raise ValueError("direction says who sent each value, and is missing")
    if pa.types.is_dictionary(direction.type):
        direction = direction.dictionary_decode()
    if not is_text(direction.type):
        raise TypeError(
            f"direction is text, 'client' or 'server' for who sent the value, not {direction.type}"
        )
    direction = direction.cast(pa.large_string())
    from_server = pc.equal(direction, "server")
    is_side = pc.fill_null(pc.or_(from_server, pc.equal(direction, "client")), False)
    if not pc.all(is_side, min_count=0).as_py():
        at = is_side.index(False).as_py()
        raise ValueError(
            f"row {at}: direction is {direction[at].as_py()!r}; it is 'client' or 'server', for "
            "who sent the value"
        )
    missing = values.is_null()
    if rows.get("flags") is not None:
        # A table of a capture's frames: an empty one with this flag stands for bytes that it lacks.
        gaps = [at is not None and "gap" in at for at in rows["flags"].to_pylist()]
        missing = pc.or_(
            missing, pc.and_(pc.equal(pc.binary_length(values), 0), pa.array(gaps, pa.bool_()))
        )
    sides = pc.if_else(from_server, SERVER, 0)
    return pc.add(sides, pc.if_else(pc.fill_null(missing, True), MISSING, 0)).cast(pa.uint8())


def times_of(times: Any, length: int) -> Any:
    """When each value was sent, ns since 1970 or NO_TIME: int64. Integers are µs.

    Raises:
        TypeError: times are neither timestamps nor integers.
        ValueError: a time is out of range.
    """
    import pyarrow as pa

    pc = _compute()

    if times is None:
        return pa.array([NO_TIME] * length, pa.int64())
    try:
        if pa.types.is_integer(times.type):
            times = times.cast(pa.int64()).cast(pa.timestamp("us"))
        if not pa.types.is_timestamp(times.type):
            raise TypeError(f"time is a timestamp, or integers of µs since 1970, not {times.type}")
        numbers = times.cast(pa.timestamp("ns", times.type.tz)).cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise ValueError(f"time is from 1677 to 2262: {error}") from None
    return pc.fill_null(numbers, NO_TIME)
