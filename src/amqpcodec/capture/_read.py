"""Reading captures: files in, batches of columns out."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from types import ModuleType
from typing import Any, Unpack, get_args

from .. import _capture
from .._capture import CaptureBatch as Batch
from .._columns import Schema
from .._facade.scalars import as_int, as_text
from ..batch import _protocol, _protocols
from ._chain import Chain, increase
from ._errors import (
    CaptureError,
    CaptureWarning,
    ReaderExhausted,
    StateError,
    no_capture,
    refuse_fork,
)
from ._files import Source, Watch, has_position, source_name
from ._join import Joined
from ._layers import KeyLog, KeyLogSource, Layers
from ._limits import LimitOptions, Limits, limits_of
from ._link import (
    Arrangement,
    copies_text,
    find_rotations,
    midstream_text,
    separation_warning,
)
from ._notices import no_frames_warning, translated_notice, unread_links_warning
from ._order import CaptureFile, capture_file_of
from ._ports import ServerPorts, server_ports
from ._progress import OnProgress, Progress
from ._seal import seal, unseal
from ._storage import Storage, locate, locate_each
from ._workers import Workers

__all__ = [
    "BATCH_ROWS",
    "Batch",
    "CaptureError",
    "CaptureWarning",
    "LimitOptions",
    "Reader",
    "ReaderExhausted",
    "StateError",
    "read",
    "schema",
    "stats",
]

#: Bytes to look for a record in at once: twice what 16 of the largest plausible records take.
SEARCH_BYTES = 1 << 23


#: What to do about files that are read alone.
_ADVICE = (
    '; files="rotation" reads all as one, files="taps" packets that several of them have once, '
    'files="separate" each by itself'
)

#: Rows of a batch, at most; one of large frames has fewer.
BATCH_ROWS = 32768


class Reader:
    """Reads captures, whole or in pieces, and iterates over their batches.

    See the function read() for the arguments and the columns. In pieces::

        reader = capture.Reader(path)
        for batch in reader.read(stop=offset): ...
        state = reader.state()              # small: what the open connections wait for

        reader = capture.Reader(path)       # elsewhere, the same arguments
        reader.resume(state)
        for batch in reader: ...            # as if the first one had gone on

    A rotation file by file, as its files are completed::

        reader = capture.Reader(path)
        if state is not None:
            reader.resume(state)
        for batch in reader.read(end=False): ...
        state = reader.state()
    """

    def __init__(
        self,
        path_or_file: Source | Iterable[Source],
        level: str = "frame",
        fields: Iterable[str] | None = None,
        ports: int | Collection[int] | None = None,
        protocol: str | ModuleType | None = None,
        batch_rows: int = BATCH_ROWS,
        redact: bool = True,
        files: Arrangement = "auto",
        field_tables: str = "json",
        *,
        order: str = "packets",
        filesystem: Any = None,
        keylog: KeyLog | KeyLogSource | None = None,
        workers: int = 1,
        on_progress: OnProgress | None = None,
        **limits: Unpack[LimitOptions],
    ) -> None:
        """Nothing is opened before the first batch is asked for; a glob, a folder or a URI is
        looked up now."""
        workers = as_int(workers)
        level, field_tables = as_text(level), as_text(field_tables)
        if level not in ("frame", "message", "event"):
            raise ValueError(f'level is "frame", "message" or "event", not {level!r}')
        if workers < 1:
            raise ValueError(f"workers is at least 1, not {workers}")
        if order not in ("packets", "none"):
            raise ValueError(f'order is "packets" or "none", not {order!r}')
        #: What a recording may make it do.
        self.limits: Limits = limits_of(limits)
        single = isinstance(path_or_file, str | os.PathLike) or hasattr(path_or_file, "read")
        self.source = path_or_file
        sources: list[Any] = [path_or_file] if single else list(path_or_file)  # type: ignore[arg-type]
        for path in sources:
            if not isinstance(path, str | os.PathLike) and not hasattr(path, "read"):
                raise TypeError(f"takes names of files or open files, not {type(path).__name__}")
        storage = Storage(filesystem=filesystem)
        sources = locate_each(sources, storage)
        self._single = single and sources == [locate(path_or_file, storage)]
        if files not in get_args(Arrangement):
            raise ValueError(f'files is "auto", "rotation", "separate" or "taps", not {files!r}')
        protocol_core, *others = _protocols(protocol)
        fields = None if fields is None else fields if isinstance(fields, str) else list(fields)
        keys = None if keylog is None else _keys(keylog)
        self._ports = chosen_ports = server_ports(ports, keylog=keys is not None)

        self._filter: tuple[list[str], Callable[[Batch], Any]] | None = None

        def core() -> _capture.CaptureReader:
            reader = _capture.CaptureReader(
                protocol_core,
                fields,
                chosen_ports.numbers,
                redact,
                protocol is not None,
                batch_rows,
                level,
                others=tuple(others),
                field_tables=field_tables,
                reorder_bytes=self.limits.reorder_bytes,
                reorder_total=8 * self.limits.reorder_bytes,
                reorder_pieces=self.limits.reorder_segments,
                ordered=order == "packets",
                detect_ports=chosen_ports.detect,
                layers=Layers(keys, self.limits),
                open_connections=self.limits.open_connections,
                record_bytes=self.limits.record_bytes,
                message_bytes=self.limits.message_bytes,
                fragment_bytes=self.limits.fragment_bytes,
                frame_bytes=self.limits.frame_bytes,
                open_deliveries=self.limits.open_deliveries,
                max_tracked=self.limits.max_tracked,
            )
            if self._filter is not None:
                reader.choose(*self._filter)
            return reader

        self._core = core
        first = core()  # what is wrong with the arguments is told now
        self._schema = _capture.capture_schema(protocol_core, fields, level, field_tables)
        self._reasons: dict[str, str] = {}
        self._shared: frozenset[str] = frozenset()
        self._copies: dict[str, str] = {}
        self._watched: Watch | None = None
        self._progress = None if on_progress is None else Progress(on_progress, sources)
        if self._progress is not None:
            self._watched = self._progress.watch
        self._has_warned = False
        # The process that the positions of open files belong to: None before anything is open.
        self._process = os.getpid() if any(map(has_position, sources)) else None
        self._exhausted: str | None = None  # why no rows follow
        self._stream: object = None  # the Arrow stream that has taken rows
        self._linked: list[Chain] | None = None
        self._workers = Workers(workers) if workers > 1 else None
        if files == "auto" and len(sources) > 1:
            self._link: Callable[[], list[Chain]] = lambda: [
                Chain([file.source for file in group], core(), protocol_core, group, self.limits)
                for group in self._groups(sources, chosen_ports)
            ]
            return
        if files == "taps":
            self._linked = [Joined(sources, first, protocol_core, self.limits)]
            return
        groups = [[source] for source in sources] if files == "separate" else [sources]
        self._linked = [
            Chain(group, core() if i else first, protocol_core, unpacking=self.limits)
            for i, group in enumerate(groups)
        ]
        for chain in self._linked:
            chain.watch = self._watched

    def _groups(self, sources: list[Source], ports: ServerPorts) -> list[list[CaptureFile]]:
        groups, self._copies = find_rotations(sources, ports, self.limits)
        self._reasons, self._shared = groups.reasons, groups.shared
        if self._progress is not None:
            self._progress.expect(file.source for group in groups.groups for file in group)
        return groups.groups

    def filter(self, columns: Iterable[str], predicate: Callable[[Batch], Any]) -> None:
        """Keep only the rows that a predicate accepts; call it before the first batch is read.

        The reader decodes the other columns of accepted rows only. A batch may have no rows left.
        stats() and states still count all rows.

        Args:
            columns: names of the columns that the predicate needs.
            predicate: takes a batch with these columns, and returns a bytes-like object with a byte
                for each row: 0 drops the row. With workers, any of the threads calls it.

        Raises:
            ValueError: no such column; or, while batches are read, not a byte for each row.
        """
        self._filter = list(columns), predicate
        if self._linked is None:
            self._core()  # so that a wrong column raises now
        for chain in self._linked or ():
            chain.core.choose(*self._filter)

    @property
    def _chains(self) -> list[Chain]:
        """Those that were asked for, or found by looking at the files."""
        if self._linked is None:
            self._linked = self._link()
            for chain in self._linked:
                chain.watch = self._watched
        return self._linked

    @property
    def not_in_rotation(self) -> dict[str, str]:
        """With files="auto": the files that continue none of those before them, and why."""
        _ = self._chains
        return dict(self._reasons)

    @property
    def shared_connections(self) -> frozenset[str]:
        """Files of not_in_rotation that have connections of others: their rows may come twice."""
        _ = self._chains
        return self._shared

    @property
    def copies(self) -> dict[str, str]:
        """With files="auto": files that are not read, as one of this machine has the same bytes."""
        _ = self._chains
        return dict(self._copies)

    @property
    def name(self) -> str:
        """What rows call the file; "" where there are several."""
        return source_name(self.source) if self._single else ""  # type: ignore[arg-type]

    @property
    def files(self) -> list[str]:
        """The names of the files, in the order in which they are read."""
        return [file.name for chain in self._chains for file in chain.files]

    @property
    def overlaps(self) -> list[str]:
        """Files of a rotation that begin well before the end of the one before, as far as was read.

        No rotation writes such files."""
        return [name for chain in self._chains for name in chain.overlaps]

    @property
    def schema(self) -> Schema:
        """The schema of the batches, known before the first one; with ``__arrow_c_schema__``."""
        return self._schema

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The batches that were not read yet, as Arrow's stream in a PyCapsule; needs pyarrow.

        For ``pyarrow.table(reader)``, ``polars.DataFrame(reader)``, DuckDB's ``from reader``. One
        stream can take rows: where it has taken some, no other stream and no iteration gives the
        remainder.

        Raises:
            ReaderExhausted: the rows were read already, or another stream took some of them.
            CaptureError: the first file of this machine is no capture.
            FileNotFoundError: it is not there. Of other files, and while it is read, Arrow makes an
                exception of its own of what is wrong.
        """
        import pyarrow as pa

        self._check(None)
        self._check_first_file()

        def batches() -> Iterator[pa.RecordBatch]:
            self._check(None)
            self._stream = taker = object()
            yield from map(pa.record_batch, self._batches(taker))

        stream = pa.RecordBatchReader.from_batches(pa.schema(self._schema), batches())
        return stream.__arrow_c_stream__(requested_schema)

    def _check_first_file(self) -> None:
        """Refuse a file of this machine that is no capture, before a stream would."""
        chain = self._chains[0]
        if chain.core.begun or not chain.files:
            return
        source = chain.files[0].source
        if not isinstance(source, str | os.PathLike):
            return
        if os.path.isfile(source) or not os.path.exists(source):
            capture_file_of(source, _protocol(None), self.limits)

    def __iter__(self) -> Iterator[Batch]:
        """The batches that were not read yet, to the end.

        Raises:
            ReaderExhausted: there are none since all were read.
        """
        return self.read()

    def read(
        self, stop: int | tuple[int, int] | None = None, *, end: bool = True
    ) -> Iterator[Batch]:
        """Batches of the records that were not read yet and begin before `stop`.

        stop: offset in the decompressed file; of a rotation, (index in `files`, offset in it).
        None: to the end of the last file. end: this also ends all connections, with what is left of
        them; False: they wait for the next file, which another reader reads that takes state().

        Raises:
            CaptureError: a file is no capture.
            ReaderExhausted: the reader has read to the end before, an Arrow stream took some of
                its rows, or reading ended with an error.
            RuntimeError: the reader was begun in another process, of which this is a fork.
        """
        return self._batches(None, stop, end)

    def _batches(
        self, stream: object, stop: int | tuple[int, int] | None = None, end: bool = True
    ) -> Iterator[Batch]:
        """What read() gives. stream: the Arrow stream that takes the rows, if one does."""
        self._check(stream)
        self._process = os.getpid()
        for batch in self._unchecked(stop, end):
            yield batch
            del batch  # so that the next one can have its memory
            self._check_process()
        if stop is None and end:
            self._exhausted = "all rows of this reader were read"

    def _check(self, stream: object) -> None:
        """Refuse to read in a fork, after the end, or what an Arrow stream has begun to take."""
        self._check_process()
        again = "open the capture again, or use capture.dataset for repeated queries"
        if self._exhausted is not None:
            raise ReaderExhausted(f"{self._exhausted}: {again}")
        if self._stream is not stream:
            raise ReaderExhausted(f"an Arrow stream took rows of this reader: {again}")

    def _check_process(self) -> None:
        if self._process is not None:
            refuse_fork(self._process)

    def _unchecked(self, stop: int | tuple[int, int] | None, end: bool) -> Iterator[Batch]:
        if stop is not None:
            index, offset = stop if isinstance(stop, tuple) else (0, stop)
            place = as_int(index), as_int(offset)
            yield from self._read(self._one(), place, False)
            return
        connections = 0
        begun: Counter[str] = Counter()  # directions in the middle, by the first file of a chain
        before = self._unread_links()
        for chain in self._chains:
            chain.core.first_index = connections
            yield from self._read(chain, None, end)
            connections += chain.core.counts()["connections"]
            begun[chain.files[0].name] += chain.core.counts()["midstream"]
        self._warn_of_unread(before, end)
        if self._has_warned:
            return
        if self._copies:
            self._has_warned = True
            warnings.warn(copies_text(self._copies), CaptureWarning, stacklevel=3)
        text = separation_warning(self._reasons, self._shared, begun)
        if text:
            text += _ADVICE
        elif len(self._chains) > 1 and begun.total() and not self._reasons:
            text = f"{midstream_text(begun.total())} of files that are read alone"
        if text:
            self._has_warned = True
            warnings.warn(text, CaptureWarning, stacklevel=3)

    def _unread_links(self) -> dict[str, int]:
        """Packets of link types that are not read, by the type's name, of all that was read."""
        links: dict[str, int] = _sums([c.core.counts()["unread_link_types"] for c in self._chains])
        return links

    def _warn_of_unread(self, before: dict[str, int], end: bool) -> None:
        """Warn of link types that are not read, of connections that were captured twice, and where
        nothing at all was AMQP.

        before: what was counted of link types before this reading. end: no more will be read.
        """
        name = self.name or self.files[0] or "a capture"
        if more := len(self.files) - 1:
            name = f"{name} and {more} more"
        unread = unread_links_warning(increase(self._unread_links(), before))
        if unread:
            warnings.warn(f"{name}: {unread}", CaptureWarning, stacklevel=4)
        if end:
            totals = _sums([chain.core.counts() for chain in self._chains])
            if nothing := no_frames_warning(totals, self._ports):
                warnings.warn(f"{name}: {nothing}", CaptureWarning, stacklevel=4)
            if twice := translated_notice(totals["translated_connections"]):
                warnings.warn(f"{name}: {twice}", CaptureWarning, stacklevel=4)

    def _read(self, chain: Chain, stop: tuple[int, int] | None, end: bool) -> Iterator[Batch]:
        if self._workers is not None and not chain.live and chain.at_end_of_file is None:
            return self._workers.read(chain, stop, end)
        batches: Iterator[Any] = chain.read(stop, end)
        return batches

    def watch(self, opened: Watch) -> None:
        """Read what this gives instead of each file that is opened, so that progress shows."""
        self._watched = opened
        for chain in self._linked or ():
            chain.watch = opened

    @property
    def offset(self) -> int:
        """Offset of the next record, in bytes of the decompressed file that is being read."""
        return self._one().core.at

    @property
    def first_timestamp(self) -> int | None:
        """Time of the earliest first packet of the files: ns since 1970, or None without a time.

        It is read from the files; the position of an open file, which must be seekable, stays.

        Raises:
            CaptureError: a file is no capture.
        """
        first_files = [
            file
            for chain in self._chains
            for file in (chain.files if isinstance(chain, Joined) else chain.files[:1])
        ]
        first_packets = [
            capture_file_of(file.source, _protocol(None), self.limits) for file in first_files
        ]
        return min(
            (packet.time for packet in first_packets if packet.time is not None), default=None
        )

    def tcp_resets(self) -> list[tuple[int, str, int | None]]:
        """(connection_index, direction, time) of each connection that a TCP reset ended.

        A call returns those that were read since the call before, at most 65,536
        (``stats()["resets"]`` counts all). direction: the sender of the reset; time: ns since 1970,
        or None where the file has none.
        """
        return [reset for chain in self._chains for reset in chain.core.resets()]

    @property
    def unbuffered(self) -> bool:
        """Whether the reader yields rows as soon as it has read them; otherwise in full batches.

        For sources that grow: their read() must return the bytes that are available, as that of an
        unbuffered file does.
        """
        return all(chain.live for chain in self._chains)

    @unbuffered.setter
    def unbuffered(self, unbuffered: bool) -> None:
        for chain in self._chains:
            chain.live = unbuffered

    def count(self) -> list[dict[str, Any]]:
        """Read all, keep nothing, and give what stats() has of each file: needs the field error."""
        errors: list[int] = []
        error_count = 0

        def at_end_of_file() -> None:
            nonlocal error_count
            errors.append(error_count)
            error_count = 0

        for chain in self._chains:
            chain.at_end_of_file = at_end_of_file
        for batch in self:
            error_count += batch.errors
        files = self.file_stats()
        return [{**counts, "errors": n} for counts, n in zip(files, errors, strict=True)]

    def _one(self) -> Chain:
        """The chain, where pieces are read."""
        if len(self._chains) != 1:
            raise ValueError("one file or rotation is read in pieces, not several of them")
        return self._chains[0]

    def state(self, key: bytes | None = None, *, encrypt: bool = False) -> bytes:
        """What another reader needs to go on after the records that were read.

        Deterministic bytes with a version, a length and a checksum. They hold what open connections
        have sent in part, **credentials included**, and secrets of TLS that a pcapng brought (those
        of keylog not): whoever reads them may read those.

        Args:
            key: at least 16 bytes that resume() has to be given as well. The checksum (BLAKE2b)
                depends on it, so that nobody without it can change a state unseen. Without a key it
                finds damage, and no intent: one who can write states can then decide what the rows
                of open connections say, but not harm the process.
            encrypt: nobody without the key can read it either (AES-SIV). Needs the package
                cryptography, which the extra ``crypto`` brings.

        Raises:
            StateError (a ValueError): the table of frames of a file in zstd is wrong.
            ValueError: batches wait to be read; a key is too short, or encrypt has none.
            ImportError: encrypt without the package cryptography.
        """
        if self._workers is not None and self._workers.waiting:
            raise ValueError("rows wait: read them first")
        return seal(self._one().state(), key, encrypt)

    def resume(self, state: bytes, key: bytes | None = None) -> None:
        """Go on where the reader was that gave this state, with the same arguments.

        Where it was inside of a file, that file is found by its name and read on. Where it had read
        its files to their ends (``read(end=False)``), those of this reader follow.
        Limits may be others: what is read from here on has those of this reader.

        key: what state() was given. A state that was sealed without a key is refused where a key is
        given, and the other way round.

        Raises:
            StateError (a ValueError): the state is damaged, of another version, sealed with another
                key, of a reader with another level or other protocols, of the middle of a file
                that is not among these, or has more connections than open_connections.
            ValueError: reading has begun.
        """
        self._one().resume(unseal(state, key))

    def first_record(self, start: int, stop: int | None = None) -> int | None:
        """Offset of the first record that begins in a range of an uncompressed file, or None.

        The reader looks for plausible headers of 16 records in a row; a capture file inside of a
        captured packet may deceive it.

        Args:
            start: offset at which the range begins, in bytes.
            stop: offset at which it ends; None for the end of the file.
        """
        if not isinstance(self.source, str | os.PathLike):
            raise ValueError("looking for records takes the name of one file")
        start, stop = as_int(start), as_int(stop)
        core = _capture.CaptureReader(_protocol(None), ["error"], (), True, False, 1)
        with open(self.source, "rb") as file:
            core.begin(self.name, "")
            core.stop_at(1)
            core.feed(file.read(64))
            core.advance()
            if not core.known:
                raise no_capture(self.name)
            if start == 0:
                return core.at if stop is None or core.at < stop else None
            size = os.fstat(file.fileno()).st_size
            stop = size if stop is None else min(stop, size)
            while start < stop:
                file.seek(start)
                raw = file.read(SEARCH_BYTES)
                last = start + len(raw) >= size
                step = len(raw) if last else SEARCH_BYTES // 2
                position = core.first(raw, min(stop - start, step), last)
                if position >= 0:
                    return start + position
                start += step
        return None

    @property
    def damaged(self) -> str | None:
        """What ended the reading of a file early, or None; all before it was read."""
        faults = [counts for chain in self._chains for counts in chain.stats() if counts["damaged"]]
        if self._single:
            return faults[0]["damaged"] if faults else None
        return "; ".join(f"{counts['file']}: {counts['damaged']}" for counts in faults) or None

    def stats(self) -> dict[str, Any]:
        """What was read so far; see the function stats(). Of one file, what "files" has of it.

        At event level also unmatched_answers (events whose question was not seen, or not surely),
        negative_durations (answers before their question, by the packets' times),
        contradicted_counts (numbers of publishes that were known by a quiet time, until a confirm
        showed that they were wrong) and forgotten (see max_tracked).

        Of a rotation that was resumed, the sums count from its beginning, "files" since then.
        """
        if self._single:
            return {
                "file": self.name,
                **self._chains[0].core.counts(),
                "damaged": self.damaged,
            }
        totals = _sums([chain.core.counts() for chain in self._chains])
        return {"files": self.file_stats(), **totals, "damaged": self.damaged}

    def file_stats(self) -> list[dict[str, Any]]:
        """What was counted of each file, in the order of reading."""
        return [counts for chain in self._chains for counts in chain.stats()]


def read(
    path_or_file: Source | Iterable[Source],
    level: str = "frame",
    fields: Iterable[str] | None = None,
    ports: int | Collection[int] | None = None,
    protocol: str | ModuleType | None = None,
    batch_rows: int = BATCH_ROWS,
    redact: bool = True,
    files: Arrangement = "auto",
    field_tables: str = "json",
    *,
    order: str = "packets",
    filesystem: Any = None,
    keylog: KeyLog | KeyLogSource | None = None,
    workers: int = 1,
    on_progress: OnProgress | None = None,
    **limits: Unpack[LimitOptions],
) -> Reader:
    """Iterates over what a capture holds, as Arrow batches (``__arrow_c_array__``).

    Columns: those of batch.decode at that level but ``row``, and before them file (utf8),
    connection (utf8: the same in every run), connection_index (int32, from 0 within this read),
    direction (utf8: "client" or "server", the sender), timestamp and timestamp_last (µs UTC; of the
    packets with the frame's first and last byte, null where the file has none), src and dst (utf8:
    "addr:port"), packet_offset (int64; bytes, in the decompressed file, of the packet with its
    first byte), position (int32; of the row among those that begin in that packet; together with
    packet_offset unique and the order of a direction, within a file) and flags (list of utf8). On
    request: timestamp_ns (int64; ns since 1970), packet (int64; its number in the file, from 1) and
    file_index (int64; number of the file in its rotation, from 0: with packet_offset and position
    unique, and the order, within a rotation), peer (utf8: "addr:port" of whom a proxy speaks for,
    by its PROXY header, version 1 or 2; null where there is none. src and dst are those of TCP),
    time_us (int64; timestamp as a number) and client (utf8: "addr:port" of the client).

    Flags: "gap": bytes before this row, or all of it, were not captured (the record of a gap has
    an empty frame, and an error that says how many); "resync": the first frame that was found by
    looking for one; "truncated": a part of a frame, or bytes in which none was found;
    "midstream": the first row of a direction whose beginning was not captured; "oversize": see
    AMQP 1.0 below; "late": see order. Rows that are no whole frame have an error.

    At message level a row is a method with its content, as batch.decode has it; timestamp,
    packet_offset and position are those of its first byte, timestamp_last that of its last, flags
    those of all its frames. A content that was cut off by a gap, by another method or by the end of
    the connection is a row with an error and the flag "truncated"; heartbeats and protocol headers
    are none, gaps are. Bodies are held until they are complete: a message whose frames have more
    than message_bytes is given up, and so is one that would make all that are open more than 128
    MiB; what is there of it is a row with an error, the frames that follow are rows of their own.

    Connections of AMQP 0-8, 0-9 and 1.0 are read as such, by their protocol header; ``1 1 0 9``,
    and a connection whose beginning was not captured, is read as 0-9-1 or 1.0 as its frames can
    be. The columns are the same for all; a property that 0-9-1 does not have gives its row an
    error, and a column with protocol="0-9" or "0-8".

    At event level a row says what happened: a delivery, its settlement, the end of a connection.
    docs/guide/events.md has the columns and their values, and what each event is on the wire. Of
    AMQP 1.0 there are the events of connections alone.

    TLS, from the first byte on or after AMQP 1.0's header for it, is read with the secrets of
    keylog; without them it is skipped and counted: see stats(). WebSocket, with or without TLS, is
    read as what it carries; name its port in ports: only plain TCP shows a protocol header. A row
    of either has the packet that completed the TLS record, or the WebSocket frame, with its bytes.

    Of AMQP 1.0, frame_type is "amqp", "sasl", "heartbeat" or "protocol-header", method is the
    performative ("transfer"), arguments are its fields, payload is what a transfer carries; with
    protocol="1.0" the columns are those of batch.decode for it. The flag "oversize": a frame that
    is larger than its receiver takes (512 bytes before open, then its max-frame-size), which is
    read all the same. At message level transfers are joined by channel and link, as MessageDecoder
    does: a row is a delivery (body: its whole message), or another performative. What was aborted
    is no row; what was cut off by detach, end, close, another delivery, a gap or the end is a row
    with an error, and so are later transfers of a delivery whose first was not captured
    ("truncated").

    Args:
        path_or_file: the name of a file, a folder or a glob, or its URI, or an open binary file;
            pcap or pcapng, plain or compressed (gzip; zstd and lz4 with pyarrow). One of 0 bytes
            has no rows. Or several of them, in any order (open files must be seekable then). See
            files.
        level: "frame", "message" or "event".
        fields: names of columns, which chooses and orders them, as batch.decode takes them; None
            for all but those on request.
        ports: the servers' ports, or the only one, which tell the client of a connection from the
            server: these are read, and no others. None: 5672, and each port from the first
            protocol header on that is sent to it in plain TCP, at most 64 of them. What was sent
            before it, as on connections that began before the recording, is not read; nor is a
            connection of 1.0 whose opening (SYN) is not among the newest 64 of other ports before
            its header. ``detected_ports`` of stats() names these ports. No warning names a port of
            which no header was recorded: only a second reading finds it. ``range(1, 65536)`` reads
            every port, and the rows show which of them have AMQP; the command line does so where
            packets of other ports were skipped.
        protocol: a version or a protocol module, which all connections are read as, with its own
            columns of properties; None: what each connection speaks, with the columns of 0-9-1.
        batch_rows: rows of a batch, at most.
        redact: overwrite credentials (what connection.start-ok, secure, secure-ok and update-secret
            carry; of 1.0, what sasl-init, sasl-challenge, sasl-response and sasl-outcome carry, and
            tokens that are put to $cbs; in client_properties, and in the properties of open, values
            of any type, and all within them, under names with password, passwd, secret, token,
            credential or authorization in them, however deep) in every column: text and bytes with
            asterisks, all else with zeros; bytes of a client that may be part of one, too.
        files: how several files belong together. "rotation": they are one recording, ordered by
            their first packets. Connections continue from file to file, and a row belongs to the
            file with its first byte. "separate": each is read by itself, in the order given, and a
            CaptureWarning counts the directions that begin in the middle. "auto": the reader looks
            at both ends of each file (at all of a compressed one and of a pcapng) and treats files
            as one rotation where a later one continues the connections of an earlier one with the
            sequence numbers that are next. It reads all others separately, and a CaptureWarning
            says why; ``not_in_rotation`` of the reader has all reasons. "taps": several taps
            recorded the same traffic, each perhaps with a rotation. The files are read at once,
            packet by packet in the order of their times, and what a connection sent is one row, of
            the tap that saw it first. Clocks of taps may differ: each direction is in order in any
            case, but rows of one may come before the rows of the other that they answer. A file is
            open from its first packet to its last. Reading in pieces is not possible: there is no
            state.
        field_tables: what field tables become, "json", "variant" or "map", as batch.decode has it.
        order: "packets": rows come by file, packet_offset and position. A row that may still have
            one before it waits, while no more than 65,536 rows or 8 MiB of frames do; what comes
            after that in spite of it has the flag "late". "none": rows come when their last byte
            was read, which is sooner where a direction has to be understood first.
        workers: threads that read, the caller's included. One finds rows, which takes a third to a
            half of the time, and the others make their columns: two take about 0.8 of the
            time for all columns, more than three gain nothing. Rows, their order and errors stay
            the same; each thread needs about 100 MB. stats() counts what was found, which may be
            some batches ahead. A further thread reads compressed files, and calls on_progress then.
        filesystem: what opens the paths: a file system of pyarrow.fs or of fsspec. None: files of
            this machine, and of URIs (``s3://bucket/name``) what their scheme says; see below.
        keylog: the secrets of connections over TLS 1.2 and 1.3: a KeyLog, or what one is made of (a
            path, bytes or lines; SSLKEYLOGFILE's format). The port 5671 is read as well then. A
            pcapng may bring them itself (decryption secrets block). Needs the package cryptography,
            which the extra ``crypto`` brings.
        on_progress: called after each piece of a file (256 KiB, or 64 KiB packed) with the bytes of
            all files that were read, as they lie there, and how many there are: None where a pipe
            or a file of a store is among them. What it raises ends the reading.
        limits: what a recording may make this do, such as open_connections: see LimitOptions.

    Raises:
        CaptureError: a file is no capture. In a rotation, one that is empty counts as its newest,
            of which nothing was written yet.
        ValueError: a name or a number is not known.
        OSError: as open() does; FileNotFoundError at once, where a glob or a URI stands for
            nothing, or a folder has no file.
        ImportError: keylog without the package cryptography.

    Where TCP sends a byte again, the first copy counts that was captured in its turn; of segments
    that wait for a missing one, the copy whose segment begins first, and then the one that was
    captured first. conflicting_bytes of stats() counts other bytes in a later copy, as long as the
    copy before it waits for the rest of its frame or its turn: of frames that are rows already no
    bytes are kept to compare. A first segment of one byte, before frames begin, is a keep-alive's
    and no row.

    A capture that is damaged or cut gives what is before the damage; ``damaged`` of what this
    returns says where it is. A CaptureWarning counts packets of link types that are not read, and
    one says that nothing in all the files was AMQP, at their end.

    A path may be a URI: ``s3:``, ``gs:``, ``abfss:`` and ``hdfs:`` are read by pyarrow's file
    systems, which find credentials where the vendors' tools do; all others, and these where pyarrow
    is missing, by fsspec's. Files come in ranges of 8 MB, the next one while this one is read; a
    range that fails is tried four more times. ``file:`` is this machine, and no other host.

    A path or a URI may be a glob as Hadoop writes it (``s3://bucket/day/*.{pcap,pcap.gz}``), in
    which ``**`` stands for any number of folders, or a folder: the files that it stands for now
    are read as if they were named. In a folder files whose names begin with ``.`` or ``_`` are
    skipped, as Spark skips them. A name with such characters that is there is no glob.
    """
    return Reader(
        path_or_file,
        level,
        fields,
        ports,
        protocol,
        batch_rows,
        redact,
        files,
        field_tables,
        order=order,
        filesystem=filesystem,
        keylog=keylog,
        workers=workers,
        on_progress=on_progress,
        **limits,
    )


def schema(
    level: str = "frame",
    fields: Iterable[str] | None = None,
    protocol: str | ModuleType | None = None,
    field_tables: str = "json",
) -> Schema:
    """The schema of the batches of read(), as an object with ``__arrow_c_schema__``."""
    level, field_tables = as_text(level), as_text(field_tables)
    return _capture.capture_schema(_protocol(protocol), fields, level, field_tables)


def stats(
    path: Source | Iterable[Source],
    ports: int | Collection[int] | None = None,
    protocol: str | ModuleType | None = None,
    files: Arrangement = "auto",
    *,
    filesystem: Any = None,
    keylog: KeyLog | KeyLogSource | None = None,
    **limits: Unpack[LimitOptions],
) -> dict[str, Any]:
    """What captures hold: sums, and under "files" the same of each file, in the order of reading.

    files, limits: as read() has them (message_bytes changes nothing here). In a rotation, a
    connection counts in the file that it begins in, a frame in the one that completes it.

    Keys: packets, octets (captured), connections, versions (connections that have ended, by
    protocol), frames (by type), methods (frames by method or performative), errors (rows with
    one, gaps and remains included), gaps, lost_bytes, resyncs, midstream (directions),
    tls_connections, tls_decrypted (those that were read), tls_reasons (directions over TLS or
    WebSocket that were not, by reason), websockets, other_protocols (connections),
    other_protocol_names (these by what they speak: HTTP, MQTT, STOMP, SSH, TLS or another
    version of AMQP), detected_ports (connections by the server's port, where that is read for a
    protocol header), unread_header_ports (where ports names some: protocol headers by the port
    that they went to, which is none of these), skipped_bytes (of what was not read),
    retransmitted_bytes (retransmitted, and of keep-alives), conflicting_bytes (of these, bytes
    that are others than in the copy before them, as far as that one waits for the rest of its
    frame or its turn), proxied_connections (with a PROXY header), translated_connections
    (connections whose packets were captured again, with other addresses, behind an address
    translation: these are read once, and not counted again), ip_fragments, ip_reassembled
    (packets put together of them), resets (connections that a TCP reset ended), reorder_overflows
    (gaps given up because too much waited behind them), unread_link_types (packets by the name and
    number of a link type that is not read), skipped (packets by reason); of each file also file
    (its name) and damaged (text, or None).

    Raises:
        CaptureError: a file is no capture.
    """
    reader = Reader(
        path,
        fields=["error"],
        ports=ports,
        protocol=protocol,
        files=files,
        order="none",
        filesystem=filesystem,
        keylog=keylog,
        **limits,
    )
    counted = reader.count()
    return {"files": counted, **_sums(counted)}


def _keys(source: KeyLog | KeyLogSource) -> KeyLog:
    """A key log that was asked for; of what is wrong with it, a warning tells."""
    if isinstance(source, KeyLog):
        return source
    keys = KeyLog(source)
    if keys.bad_lines:
        lines = ", ".join(map(str, keys.bad_lines[:10]))
        more = " and more" if len(keys.bad_lines) > 10 else ""
        text = f"the reader skips lines of the key log that are no secrets: {lines}{more}"
        warnings.warn(text, CaptureWarning, stacklevel=4)
    return keys


def _sums(dicts: list[dict[str, Any]]) -> dict[str, Any]:
    """Numbers added up, also in the dicts inside; what is no number is dropped."""
    out: dict[str, Any] = {}
    for one in dicts:
        for key, value in one.items():
            if isinstance(value, dict):
                out[key] = _sums([out.get(key, {}), value])
            elif isinstance(value, int):
                out[key] = out.get(key, 0) + value
    return out
