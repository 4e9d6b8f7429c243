"""Which columns of captures are read, which rows are kept, and which columns are shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from .. import capture
from . import where
from .errors import UsageError
from .naming import ALIASES, no_column, pick_columns, split
from .summary import COMPUTED_COLUMNS, computed_column, needs
from .times import Window

__all__ = ["OPTIONAL_COLUMNS", "Selection", "columns_of", "filter_rows", "parse_where"]

#: Columns of capture.read() that come where they are asked for.
OPTIONAL_COLUMNS = ("timestamp_ns", "packet", "file_index", "peer")
#: What names of columns begin with that end in a type: of 0-x, of AMQP 1.0.
TYPED = ("headers.", "application_properties.")


def columns_of(level: str, protocol: str | None) -> dict[str, pa.DataType]:
    """Every column that dissect has at a level, with its type; what has parts stands for them."""
    schema = pa.schema(capture.schema(level, None, protocol))
    more = pa.schema(capture.schema(level, OPTIONAL_COLUMNS, protocol))
    types = {field.name: field.type for field in [*schema, *more]}
    types |= COMPUTED_COLUMNS[level]
    return types | {short: types[name] for short, name in ALIASES.items()}


def parse_where(expression: str | None, names: dict[str, str]) -> where.Expression | None:
    """An expression of --where. names: others for some of its columns.

    Raises:
        UsageError: it is none.
    """
    try:
        return None if expression is None else where.parse(expression).renamed(names)
    except where.WhereError as error:
        raise UsageError(str(error)) from None


def filter_rows(batch: pa.RecordBatch, predicate: where.Expression | None) -> pa.RecordBatch:
    """The rows that fit."""
    if predicate is None:
        return batch
    try:
        return batch.filter(predicate.fits(batch))
    except where.WhereError as error:
        raise UsageError(str(error)) from None


class Selection:
    """The columns to read, the rows to keep, and the columns to show."""

    def __init__(
        self,
        level: str,
        protocol: str | None,
        shown: list[str] | None,
        expression: str | None,
        sort: Iterable[str],
        window: Window,
    ) -> None:
        """shown: None for all. sort: names that rows are ordered by later.

        Raises:
            UsageError: a name is no column; the text has the nearest one that is.
        """
        self.level, self.protocol, self.window = level, protocol, window
        self.is_v1 = protocol == "1.0"
        self.types = columns_of(level, protocol)
        # Two words for one column: each protocol has its own.
        self.same = {"method": "performative"} if self.is_v1 else {"performative": "method"}
        self.where = parse_where(expression, self.same)
        self.shown = shown
        self.sort = [self.same.get(name, name) for name in sort]
        self.routing = False  # details say where a message goes
        self.connection_names: Mapping[str, str] = {}  # by connection
        self.count = 0  # of the rows that were read
        # What is bad is always looked for: it decides the exit status.
        self.read: set[str] = {"event" if level == "event" else "error", "file", "timestamp"}
        self.read_names = set(self.where.names()) if self.where else set()
        for name in shown or ():
            self._need(name, "--fields")
        for name in self.read_names:
            self._need(name, "--where")
        for name in self.sort:
            self._need(name, "--sort")

    @property
    def needs_names(self) -> bool:
        """Whether connection_names are needed, which frames and messages do not say themselves."""
        asked = {*(self.shown or ()), *self.read_names, *self.sort}
        return "connection_name" in asked & COMPUTED_COLUMNS[self.level].keys()

    @property
    def fields(self) -> list[str] | None:
        """What capture.read() is asked for; None: its usual columns."""
        if self.shown is not None:
            return sorted(self.read)
        usual = pa.schema(capture.schema(self.level, None, self.protocol)).names
        more = self.read - set(usual)
        return [*usual, *sorted(more)] if more else None

    def _need(self, name: str, option: str) -> None:
        """Have what a name needs read."""
        name = self.same.get(name, name) if option == "--fields" else name
        if name in ALIASES:
            self.read.add(ALIASES[name])
        elif name in COMPUTED_COLUMNS[self.level]:
            self.read.update(needs(name, self.level, self.is_v1))
        elif self._is_read(name, option):
            self.read.add(name)
        elif (parts := split(name, self.types)) is not None:
            self.read.add(parts[0])
        else:
            raise no_column(name, self.types, option)

    def _is_read(self, name: str, option: str) -> bool:
        """Whether capture.read() knows it, be it a column, an argument, a property or a header.

        Raises:
            UsageError: it is a header with a type that does not exist.
        """
        if name in ("row", "payload") and name not in self.types:
            return False
        try:
            capture.schema(self.level, [name], self.protocol)
        except ValueError as error:
            if name.startswith(TYPED[self.is_v1]) and ":" in name and split(name, self.types):
                raise UsageError(f"{option}: {error}") from None
            return False
        return True

    def complete(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with the columns that are made of others."""
        self.window.begin(batch.column("timestamp"))
        first, self.count = self.count, self.count + batch.num_rows
        for name in {*(self.shown or ()), *self.read_names, *self.sort}:
            if name in ("n", *ALIASES) and name not in batch.schema.names:
                column = (
                    pa.array(range(first + 1, self.count + 1), pa.int64())
                    if name == "n"
                    else batch.column(ALIASES[name])
                )
                batch = batch.append_column(name, column)
        batch = self.window.rows(batch)
        return self._with_computed(batch, self.read_names)

    def matching_rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that fit, of a batch that is complete."""
        batch = filter_rows(batch, self.where)
        return self._with_computed(batch, [*(self.shown or ()), *self.sort])

    def _with_computed(self, batch: pa.RecordBatch, names: Iterable[str]) -> pa.RecordBatch:
        for name in names:
            if name in batch.schema.names:
                continue
            if name not in COMPUTED_COLUMNS[self.level]:
                continue
            if name == "connection_name":
                coded = batch.column("connection").dictionary_encode()
                texts = map(self.connection_names.get, coded.dictionary.to_pylist())
                column = pa.array(texts, pa.string()).take(coded.indices)
            else:
                column = computed_column(name, batch, self.level, self.routing)
            batch = batch.append_column(name, column)
        return batch

    def shown_columns(self, batch: pa.RecordBatch, names: list[str] | None) -> pa.RecordBatch:
        """The columns of these names; None: what is read without --fields."""
        if names is None:
            return batch.select(self._usual())
        return pick_columns(batch, [(name, name) for name in (self.same.get(n, n) for n in names)])

    def _usual(self) -> list[str]:
        return list(pa.schema(capture.schema(self.level, None, self.protocol)).names)
