"""What the compiled module of columns offers to the facade."""

from collections.abc import Callable, Iterable
from typing import Any, final

from ._codec import Protocol
from ._v1 import V1Core

@final
class Schema:
    """What columns there are, for pyarrow.schema() and the like."""

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""

    def __arrow_c_schema__(self) -> object:
        """The Arrow schema, of a struct, in a PyCapsule."""

class StructArray:
    """Columns of one length, as a struct array in Arrow's C Data Interface."""

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order."""

    def to_numpy(self, column: str) -> Any:
        """A column as an array of NumPy: ``to_numpy("channel")``. It needs pyarrow.

        A member of a struct is named after a dot: ``to_numpy("properties.message_id")``. Text and
        bytes are objects, None where there is no value; timestamps are datetime64[us], NaT where
        there is none; other columns with nulls are float64, or objects where they are booleans.

        Raises KeyError where there is no such column.
        """

    def to_pylist(self) -> list[dict[str, Any]]:
        """The rows as dicts. It needs pyarrow, whose own to_pylist this is but for timestamps.

        A timestamp is an aware datetime, or beyond year 9999, where Python's calendar ends and
        pyarrow's to_pylist raises OverflowError, the number of the wire: ``types.Timestamp``
        (seconds) or, of AMQP 1.0, ``v1_0.Timestamp`` (milliseconds).
        """

    def _repr_html_(self) -> str:
        """A table of the first rows, for notebooks: text is cut, and bytes are counted only."""

    def __arrow_c_schema__(self) -> object:
        """The Arrow schema, of a struct, in a PyCapsule."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A stream of this one batch, in a PyCapsule, for those who take nothing else."""

@final
class Columns(StructArray):
    """A struct array of columns, in Arrow's C Data Interface.

    pyarrow.record_batch(columns), polars.from_arrow(columns) and the like take it without a copy.
    The column `frame`, and views, may borrow the memory of bytes, which are then kept alive;
    nothing else is borrowed. Its memory is shared by all who took it, and goes back to
    the decoder's pool when the last of them, this object included, lets go of it.
    """

    def __len__(self) -> int: ...
    @property
    def held(self) -> tuple[list[tuple[int, bytes, int]], list[int]] | None:
        """What was open at the end: (row, bytes, link) each, and links; see decode_columns."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """The Arrow schema and array, a struct, in two PyCapsules; as often as one likes.

        requested_schema is not followed: there is one type for each column.
        """

_Named = tuple[int, str, str, str, bool, tuple[int, ...], str, bool]

def named_columns() -> tuple[_Named, ...]:
    """For tests: NAMED_COLUMNS."""

def check_columns(
    columns: tuple[_Named, ...], samples: tuple[bytes, ...], v1_samples: tuple[bytes, ...]
) -> None:
    """Refuse columns that no code fills, or not on every path. The module does so when loaded.

    columns: as NAMED_COLUMNS. samples, v1_samples: inputs of 0-x and of 1.0 that together have a
    value for each column. Raises ImportError."""

def columns_schema(
    protocol: Protocol | V1Core,
    fields: Iterable[str] | None,
    level: str = "frame",
    layout: str = "plain",
    field_tables: str = "json",
) -> Schema:
    """See amqpcodec.batch.schema."""

def decode_columns(
    protocol: Protocol | V1Core,
    data: object,
    fields: Iterable[str] | None,
    mode: str,
    dialect: str,
    limit: int = 0x7FFFFFFF,
    level: str = "frame",
    layout: str = "plain",
    field_tables: str = "json",
    groups: object = None,
    held: list[int] | None = None,
    on_progress: Callable[[int, int], object] | None = None,
) -> Columns:
    """See amqpcodec.batch.decode. limit: bytes that a column may have (tests lower it).

    groups, at message level: None: each value holds whole messages; True: a message may go on in
    later values; a buffer of int32, a number a value from 0 on: in later values with the same one.
    held: None, or links as ``held`` of the columns before gave them: what is open at the end is
    then no row, but in ``held`` of the columns.
    """

def release_memory() -> int:
    """See amqpcodec.batch.release_memory."""

def limit_memory(limit: int) -> int:
    """See amqpcodec.batch.limit_memory."""

def kept_memory() -> int:
    """See amqpcodec.batch.kept_memory."""
