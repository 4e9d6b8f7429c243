"""Captures as a dataset of Arrow's: for DuckDB and others that push columns and filters down."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads

from ._read import Reader

__all__ = ["CaptureDataset"]


class CaptureDataset(pads.Dataset):  # type: ignore[misc]  # pyarrow has no types
    """See amqpcodec.capture.dataset. Each scan reads the files anew."""

    def __init__(self, make: Callable[[Iterable[str] | None], Reader]) -> None:
        """make: a reader of the captures with the columns named, or all."""
        self._make = make
        self._schema = pa.schema(make(None).schema)

    @property
    def schema(self) -> pa.Schema:
        """The schema of all columns."""
        return self._schema

    def scanner(
        self,
        columns: list[str] | dict[str, Any] | None = None,
        filter: Any = None,
        **options: Any,
    ) -> pads.Scanner:
        """A scanner that reads the files once and decodes the columns it needs alone.

        Of rows that the filter drops, only the columns that it names are decoded.

        Args:
            columns: names, or expressions by name; None for all.
            filter: an expression of pyarrow.dataset; rows that do not match are dropped.
            options: the others of pyarrow's Scanner, such as batch_size.
        """
        expressions = columns if isinstance(columns, dict) else None
        plain = self._schema.names if columns is None else [] if expressions else list(columns)
        reading = [
            name
            for name in self._schema.names
            if name in plain or self._needs(name, filter, expressions)
        ]
        # Rows are counted by one column, the cheapest.
        reader = self._make(reading or ["channel"])
        schema = pa.schema(reader.schema)
        judging = [name for name in self._schema.names if self._needs(name, filter, None)]
        if judging and judging != reading:
            reader.filter(judging, lambda batch: _judge(pa.record_batch(batch), filter))
        return pads.Scanner.from_batches(
            _batches(reader), schema=schema, columns=columns, filter=filter, **options
        )

    def count_rows(self, filter: Any = None, **options: Any) -> int:
        """How many rows there are that the filter leaves; its columns alone are decoded."""
        rows: int = self.scanner([], filter, **options).count_rows()
        return rows

    def _needs(self, name: str, filter: Any, columns: dict[str, Any] | None) -> bool:
        """Whether an expression names a column: without it, it cannot be bound."""
        without = self._schema.remove(self._schema.get_field_index(name))
        try:
            pads.Scanner.from_batches(iter(()), schema=without, columns=columns, filter=filter)
        except (pa.ArrowInvalid, KeyError):
            return True
        return False

    def get_fragments(self, filter: Any = None) -> Iterator[Any]:
        """None: captures are read as a whole, and scanned."""
        return iter(())

    def replace_schema(self, schema: pa.Schema) -> CaptureDataset:
        """Not done: the schema is what the captures have.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("the columns of captures have the types that they have")

    def __reduce__(self) -> Any:
        """Not done: make another where it is needed."""
        raise TypeError("a dataset of captures is not pickled")


def _judge(rows: pa.RecordBatch, filter: Any) -> pa.Buffer:
    """A byte for each row: 1 where the filter leaves it."""
    # No threads: a scan runs in those of the pool already.
    scanner = pads.Scanner.from_batches(
        iter([rows]), schema=rows.schema, columns={"left": filter}, use_threads=False
    )
    mask = scanner.to_table()["left"].combine_chunks()
    return mask.cast(pa.uint8()).fill_null(0).buffers()[1]


def _batches(reader: Reader) -> Iterator[pa.RecordBatch]:
    return map(pa.record_batch, reader)
