"""Captures to batches, group by group, with what is wrong with them said on standard error."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .. import capture
from ..capture._ports import DEFAULT_PORTS, server_ports
from .errors import BAD_DATA, INTERRUPTED, OK, USAGE, UsageError, print_error
from .groups import Group, group_files, limits, one_by_one
from .live import Cancelled, Follow, Interface, Pipe, is_live
from .naming import mark_json
from .options import SourceOptions
from .ordering import Ordering
from .progress import Progress
from .times import Clock
from .traces import UNTOLD, are_traces, events_of_traces, trace_hint
from .unread import unread_ports

__all__ = ["Counts", "ReadError", "Reading"]


class ReadError(Exception):
    """A file cannot be read at all, or not to its end."""

    def __init__(self, text: str, status: int) -> None:
        """status: of the exit."""
        super().__init__(text)
        self.status = status


#: Events that say that something cannot be read.
_BAD_EVENTS = pa.array(["gap", "protocol-error"])


def _count_errors(batch: pa.RecordBatch) -> int:
    """Rows with an error; of events, those that are one."""
    if "error" in batch.schema.names:
        return int(batch.num_rows - batch.column("error").null_count)
    return int(pc.sum(pc.is_in(batch.column("event"), _BAD_EVENTS)).as_py() or 0)


class Counts:
    """Rows: of a file those that were read and those with an error; of all, those shown."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.read = self.errors = self.shown = 0

    def __str__(self) -> str:
        return f"{self.of_file}, {self.shown} shown"

    @property
    def of_file(self) -> str:
        """Without the rows that are shown: of an analysis they follow when all files were read."""
        wrong = f"{self.errors} with an error" if self.errors else "none with an error"
        return f"{self.read} row{'s' * (self.read != 1)} read, {wrong}"


class Reading:
    """All that is named on the command line, read group by group; ``status`` is that of the exit.

    ::

        for group in reading.groups():
            for batch in reading.batches(group, "frame", fields): ...
    """

    def __init__(
        self,
        source: SourceOptions,
        bar: Progress,
        stop: Cancelled,
        *,
        interface: str | None = None,
        follow: bool = False,
        workers: int = 1,
    ) -> None:
        """Nothing is opened yet.

        stop: what ends the reading. interface: is recorded, in place of files. follow: read on as
        the file grows. workers: threads.
        """
        self.source = source
        self.interface, self.follow, self.workers = interface, follow, workers
        self.bar = bar
        self.stop = stop
        self.status = OK
        self.counts = Counts()
        #: Rows of all groups.
        self.rows = 0
        self.live = False
        #: That counts from the first packet of a file, where times do; set before it is read.
        self.clock: Clock | None = None
        #: Called again and again while what is read as it comes is read; set before it is.
        self.on_wait: Callable[[], None] | None = None
        #: What is read as it comes, if it is such.
        self.growing: Pipe | None = None
        #: The group that is read, and its reader.
        self._current: tuple[Group, capture.Reader] | None = None
        if interface:
            self.all_groups: list[Group] = [Group([Path(interface)])]
        else:
            self.all_groups = list(group_files(source.files, source.arrangement))

    @cached_property
    def of_traces(self) -> bool:
        """Whether the files are traces of RabbitMQ."""
        return not self.interface and not self.follow and are_traces(self.source)

    def groups(self) -> Iterator[Group]:
        """What was named, one after the other, each to be read before the next one is asked for."""
        return one_by_one(self.all_groups)

    def batches(
        self, group: Group, level: str, fields: list[str] | None, redact: bool = True
    ) -> Iterator[pa.RecordBatch]:
        """The batches of a group. What is wrong is said, and remembered in ``status``.

        fields: with "error" among them, or "event" at that level; None: all. redact: False shows
        credentials to the caller.
        """
        counts = self.counts = Counts()
        try:
            for core_batch in self._read(group, level, fields, redact):
                batch = pa.record_batch(core_batch)
                if level == "event":
                    batch = pa.RecordBatch.from_arrays(
                        batch.columns, schema=mark_json(batch.schema)
                    )
                counts.read += batch.num_rows
                self.rows += batch.num_rows
                counts.errors += _count_errors(batch)
                yield batch
                del core_batch, batch  # so that the next ones can have their memory
        except ReadError as fault:
            if self.stop.pressed:
                return
            place = "" if str(group) in str(fault) else f"{group}: "
            hint = trace_hint(group.files) if fault.status == USAGE and not self.live else ""
            print_error(f"{place}{fault}{hint}")
            self.status = max(self.status, fault.status)
        else:
            if self.stop.pressed:
                pass  # said at the end
            elif counts.errors and group.status != BAD_DATA:
                print_error(f"{group}: {counts.of_file}")
        self.status = max(self.status, group.status, BAD_DATA if counts.errors else OK)

    def connection_names(self, group: Group) -> dict[str, str]:
        """What connections of a group are called, by `connection`, from a reading of its own.

        Raises:
            UsageError: the group is read as it comes, and cannot be read twice.
        """
        if self.interface or self.follow or any(is_live(str(file)) for file in group.files):
            raise UsageError(
                "connection_name is read from events before the rows: name files that have ended, "
                "or use --level event"
            )
        names: dict[str, str] = {}
        with contextlib.suppress(capture.CaptureError, OSError, ValueError):  # said by batches()
            reader = self._open(group.sources, group, "event", ["connection", "connection_name"])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", capture.CaptureWarning)
                for core_batch in reader:
                    batch = pa.record_batch(core_batch)
                    pairs = zip(*(column.to_pylist() for column in batch.columns), strict=True)
                    names |= {connection: name for connection, name in pairs if name is not None}
        return names

    def _open(
        self, sources: Any, group: Group, level: str, fields: list[str] | None, redact: bool = True
    ) -> capture.Reader:
        options = self.source
        return capture.read(
            sources,
            level=level,
            fields=fields,
            # On an interface we record the packets of the named ports alone.
            ports=DEFAULT_PORTS if self.interface and not options.ports else options.ports,
            keylog=options.keylog,
            protocol=options.protocol,
            redact=redact and not options.show_secrets,
            files=group.arrangement,
            workers=self.workers,
            **limits(options),
        )

    def _read(
        self, group: Group, level: str, fields: list[str] | None, redact: bool
    ) -> Iterator[capture.Batch | pa.RecordBatch]:
        """Raises ReadError with what is wrong, or UsageError for what the user got wrong."""
        if level == "event" and self.of_traces:
            yield from self._read_traces(group, fields)
            return

        def make(sources: Any) -> capture.Reader:
            return self._open(sources, group, level, fields, redact)

        while True:
            with contextlib.ExitStack() as stack:
                try:
                    yield from self._opened(group, make, stack)
                except ReadError as fault:
                    if not self._goes_on():
                        raise
                    print_error(f"{group}: {fault}")
                    self.status = max(self.status, BAD_DATA)
            if not self._goes_on():
                return
            assert isinstance(self.growing, Follow)
            print_error(
                f"{group}: {self.growing.replaced}: reading goes on there from the beginning, and"
                " connections are numbered from 0"
            )

    def _read_traces(self, group: Group, fields: list[str] | None) -> Iterator[pa.RecordBatch]:
        """Events of traces, and what they do not say."""
        try:
            yield from events_of_traces(group.files, self.source, fields)
        except OSError as error:
            raise ReadError(error.strerror or str(error), USAGE) from None
        if not self.stop.pressed:
            print_error(f"{group}: {UNTOLD}")

    def _goes_on(self) -> bool:
        """Whether another recording has taken the place of a file that is followed."""
        followed = self.growing
        return isinstance(followed, Follow) and bool(followed.replaced) and not self.stop.pressed

    def _opened(
        self, group: Group, make: Callable[[Any], capture.Reader], stack: contextlib.ExitStack
    ) -> Iterator[capture.Batch]:
        try:
            warnings.simplefilter("ignore", capture.CaptureWarning)  # Group.warn() says it
            source = self.growing = self._growing(group, stack)
            self.live = source is not None
            if source is not None:
                source.on_wait = self.on_wait
                reader: capture.Reader | None = make(source)
            else:
                reader = group.open_reader(
                    make, lambda file: self.stop.watched(self.bar.watch(file))
                )
            if reader is None:
                return
            if self.clock is not None and not self.live:
                with contextlib.suppress(capture.CaptureError, OSError):  # said when it is read
                    self.clock.start_at(reader.first_timestamp)
            self._current = group, reader
            reader.unbuffered = self.live
            yield from reader
            if isinstance(source, Interface):
                source.finish()
        except capture.CaptureError as error:
            raise ReadError(str(error), BAD_DATA if self.counts.read else USAGE) from None
        except OSError as error:
            raise ReadError(error.strerror or str(error), USAGE) from None
        except ValueError as error:
            raise UsageError(str(error)) from None
        self._current = None
        if not self.stop.pressed:
            note = self.counts.of_file if self.counts.read else ""
            group.warn(reader, note, find_ports=None if self.live else self._unread_ports)
        elif self.live:  # Ctrl-C is its usual end
            group.warn(reader, interrupted=True)

    def _unread_ports(self, group: Group) -> list[int]:
        """Ports with AMQP that was not read, as its protocol headers are not in the recording."""
        options = self.source
        ports = server_ports(options.ports, keylog=options.keylog is not None)
        return unread_ports(group.sources, ports.numbers, group.arrangement, **limits(options))

    def stop_early(self, reason: str) -> None:
        """Say that nothing more is read, and what is unusual about the files as far as they were.

        To be called before the batches of a group are left. reason: what was reached.
        """
        if self._current is None or self.stop.pressed:
            return
        group, reader = self._current
        others = len(self.all_groups) - 1 - self.all_groups.index(group)
        more = f", and {others:,} more of the files not at all" if others else ""
        print_error(f"{group}: not read to the end ({reason} was reached){more}")
        group.warn(reader, complete=False)

    def stats(self) -> dict[str, Any]:
        """What was counted of the group that is read, as of Reader.stats(); nothing before."""
        return self._current[1].stats() if self._current else {}

    @property
    def place(self) -> str:
        """Where that comes from which is read as it comes."""
        if not self.interface:
            return str(self.all_groups[0])
        ports = server_ports(self.source.ports, keylog=self.source.keylog is not None)
        return f"{self.interface}, port {', '.join(map(str, ports.numbers))}"

    def _growing(self, group: Group, stack: contextlib.ExitStack) -> Pipe | None:
        """What is to be read as it comes, if it is such."""
        source, name = self.source, str(group.files[0])
        if self.interface:
            ports = server_ports(source.ports, keylog=source.keylog is not None)
            interface = Interface(self.interface, ports.numbers, self.stop)
            stack.callback(interface.child.kill)
            return interface
        if is_live(name):
            return Pipe(sys.stdin.fileno(), name, self.stop)
        if self.follow:
            followed = Follow(name, self.stop)
            stack.callback(os.close, followed.fd)
            return followed
        return None

    def show(
        self,
        rows: Callable[[Group], Iterator[pa.RecordBatch]],
        ordering: Ordering,
        write: Callable[[pa.RecordBatch, bool], None],
    ) -> None:
        """Have the rows of every group written, in the order asked for, until none can follow.

        write: takes a batch, and whether it has to be seen at once.
        """
        for group in self.groups():
            for batch in rows(group):
                for ordered_rows in ordering.add(batch):
                    self.counts.shown += ordered_rows.num_rows
                    write(ordered_rows, self.live)
                if ordering.is_complete:
                    self.stop_early(f"--limit {ordering.limit}")
                    break
            if ordering.is_complete or self.stop.pressed:
                break
        for ordered_rows in ordering.remaining_rows():
            self.counts.shown += ordered_rows.num_rows
            write(ordered_rows, False)

    def interrupted(self) -> int:
        """Say what was read before Ctrl-C; the exit status."""
        if not self.stop.pressed:
            return self.status
        print_error(f"interrupted: {self.counts}")
        return INTERRUPTED
