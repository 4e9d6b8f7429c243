"""Reading captures: files in, batches of columns out."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from types import ModuleType
from typing import Any

from .. import _codec
from .._codec import CaptureBatch as Batch
from .._codec import Schema
from ..batch import _protocol as _protocol_of
from ._files import Pieces, Source, source_name

__all__ = ["BATCH_ROWS", "Batch", "CaptureError", "Reader", "read", "schema", "stats"]

#: Octets to look for a record in at once: twice what 16 of the largest plausible records take.
SEARCH_OCTETS = 1 << 23

#: Rows of a batch, at most; one of large frames has fewer.
BATCH_ROWS = 32768


class CaptureError(ValueError):
    """The file is no capture, neither pcap nor pcapng, or it is empty."""


class Reader:
    """Reads one capture, whole or in pieces, and iterates over its batches.

    See the function read() for the arguments and the columns. In pieces::

        reader = capture.Reader(path)
        for batch in reader.read(stop=offset): ...
        state = reader.state()              # small: what the open connections wait for

        reader = capture.Reader(path)       # elsewhere, the same arguments
        reader.resume(state)
        for batch in reader: ...            # as if the first one had gone on
    """

    def __init__(
        self,
        path_or_file: Source,
        level: str = "frame",
        fields: Iterable[str] | None = None,
        ports: Collection[int] = (5672,),
        protocol: str | ModuleType | None = None,
        batch_rows: int = BATCH_ROWS,
        redact: bool = True,
    ) -> None:
        """Nothing is opened before the first batch is asked for."""
        _check(level)
        self.source = path_or_file
        self.name = source_name(path_or_file)
        self._core = _codec.CaptureReader(
            _protocol(protocol), fields, ports, redact, protocol is not None, batch_rows
        )
        self._pieces = Pieces(path_or_file)
        self._octets: Iterator[bytes] | None = None
        self._ended = False

    def __iter__(self) -> Iterator[Batch]:
        """The batches that were not read yet, to the end."""
        return self.read()

    def read(self, stop: int | None = None) -> Iterator[Batch]:
        """Batches of the records that were not read yet and begin before `stop`.

        stop: offset in the unpacked file. None: to the end; this ends all connections too.
        Raises CaptureError: the file is no capture. Spec: the contract's capture.Reader.
        """
        core = self._core
        if self._octets is None:
            core.begin(self.name, os.path.basename(self.name))
            self._octets = iter(self._pieces)
        core.stop_at(stop)
        while True:
            while core.advance():
                yield from self._take()
            if core.damaged or (stop is not None and core.at >= stop):
                break
            piece = next(self._octets, None)
            if piece is None:
                break
            core.feed(piece)
        if stop is None:
            if not core.known:
                raise CaptureError(f"neither pcap nor pcapng: {self.name or 'the file'}")
            self._ended = True
            while core.advance(last=True):
                yield from self._take()
        while (batch := core.take()) is not None:
            yield batch

    def _take(self) -> Iterator[Batch]:
        batch = self._core.take()
        if batch is not None:
            yield batch

    def state(self) -> bytes:
        """What another reader needs to go on behind the records that were read.

        Deterministic octets with a version; they hold what open connections have sent in part,
        credentials included. Raises ValueError where batches wait to be read.
        """
        return self._core.state()

    def resume(self, state: bytes) -> None:
        """Go on where the reader was that gave this state, of the same file and arguments.

        Raises ValueError: the state is of another version or damaged, or reading has begun.
        """
        self._core.resume(state)
        self._pieces = Pieces(self.source, self._core.at)
        self._octets = iter(self._pieces)

    def first(self, start: int, stop: int | None = None) -> int | None:
        """Offset of the first record that begins in a range of an unpacked file, or None.

        Found by the plausible headers of 16 records in a row. start, stop: octets. A record of a
        recording inside of a recording may deceive it.
        """
        if not isinstance(self.source, str | os.PathLike):
            raise ValueError("looking for records takes the name of a file")
        core = _codec.CaptureReader(_protocol(None), ["error"], (), True, False, 1)
        with open(self.source, "rb") as file:
            core.begin(self.name, "")
            core.stop_at(1)
            core.feed(file.read(64))
            core.advance()
            if not core.known:
                raise CaptureError(f"neither pcap nor pcapng: {self.name}")
            if start == 0:
                return core.at if stop is None or core.at < stop else None
            size = os.fstat(file.fileno()).st_size
            stop = size if stop is None else min(stop, size)
            while start < stop:
                file.seek(start)
                octets = file.read(SEARCH_OCTETS)
                last = start + len(octets) >= size
                step = len(octets) if last else SEARCH_OCTETS // 2
                found = core.first(octets, min(stop - start, step), last)
                if found >= 0:
                    return start + found
                start += step
        return None

    @property
    def damaged(self) -> str | None:
        """What ended the reading early, or None; all before it was read."""
        core = self._core
        if core.damaged:
            return f"no record at octet {core.at}"
        if core.waiting and self._ended:
            return f"the last record is cut: {core.waiting} octets of it at octet {core.at}"
        if not self._pieces.whole:
            return f"the packed file is damaged or cut, behind octet {core.at}"
        return None

    def stats(self) -> dict[str, Any]:
        """What was read so far; see the function stats()."""
        return {"file": self.name, **self._core.counts(), "damaged": self.damaged}


def read(
    path_or_file: Source,
    level: str = "frame",
    fields: Iterable[str] | None = None,
    ports: Collection[int] = (5672,),
    protocol: str | ModuleType | None = None,
    batch_rows: int = BATCH_ROWS,
    redact: bool = True,
) -> Reader:
    """Iterates over the frames of a capture, as Arrow batches (``__arrow_c_array__``).

    Columns: those of batch.decode at frame level but ``row``, and before them file (utf8),
    connection (utf8: the same in every run), connection_index (int32, from 0 within this read),
    direction (utf8: "client" or "server", the sender), timestamp and timestamp_last (µs UTC; of the
    packets with the frame's first and last octet, null where the file has none), src and dst (utf8:
    "addr:port"), packet_offset (int64; octets, in the unpacked file, of the packet with the frame's
    first octet), position (int32; of the row among those that begin in that packet; together with
    packet_offset unique and the order of a direction) and flags (list of utf8). On request:
    timestamp_ns (int64; ns since 1970) and packet (int64; its number, from 1).

    Flags: "gap": octets before this row, or all of it, were not captured (the record of a gap has
    an empty frame, and an error that says how many); "resync": the first frame that was found by
    looking for one; "truncated": a part of a frame, or octets in which none was found;
    "midstream": the first row of a direction whose beginning was not captured. Rows that are no
    whole frame have an error.

    Connections of other protocols (AMQP 1.0, 0-8) and TLS are left out and counted: see stats().

    Args:
        path_or_file: the name of a file, or an open binary file; pcap or pcapng, plain or gzip.
        level: "frame".
        fields: names of columns, which chooses and orders them; None for all but those on request.
        ports: the servers' ports, which tell the client of a connection from the server.
        protocol: a version or a protocol module; None: 0-9-1 where the protocol header says so
            or was not captured.
        batch_rows: rows of a batch, at most.
        redact: overwrite credentials (response of connection.start-ok and secure-ok, new_secret of
            connection.update-secret) with asterisks, in every column; octets of a client that may
            be part of one, too.

    Raises:
        CaptureError: the file is no capture.
        ValueError: a name or a number is not known.
        OSError: as open() does.

    A capture that is damaged or cut gives what is before the damage; ``damaged`` of what this
    returns says where it is.
    """
    return Reader(path_or_file, level, fields, ports, protocol, batch_rows, redact)


def schema(
    level: str = "frame",
    fields: Iterable[str] | None = None,
    protocol: str | ModuleType | None = None,
) -> Schema:
    """The schema of the batches of read(), as an object with ``__arrow_c_schema__``."""
    _check(level)
    return _codec.capture_schema(_protocol(protocol), fields)


def stats(
    path: Source | Iterable[Source],
    ports: Collection[int] = (5672,),
    protocol: str | ModuleType | None = None,
) -> dict[str, Any]:
    """What captures hold: sums, and under "files" the same of each file.

    Keys: packets, octets (captured), connections, frames (by type), methods (frames by method),
    errors (rows with one, gaps and remains included), gaps, lost_octets, resyncs, midstream
    (directions), tls_connections, other_protocols (connections), left_out_octets (of both),
    repeated_octets (retransmitted), ip_fragments, skipped (packets by reason); of each file also
    file (its name) and damaged (text, or None).

    Raises:
        CaptureError: a file is no capture.
    """
    single = isinstance(path, str | os.PathLike) or hasattr(path, "read")
    sources: Iterable[Any] = [path] if single else path  # type: ignore[assignment]
    files = []
    for source in sources:
        reader = Reader(source, fields=["error"], ports=ports, protocol=protocol)
        errors = sum(batch.errors for batch in reader)
        files.append({**reader.stats(), "errors": errors})
    return {"files": files, **_sums(files)}


def _sums(dicts: list[dict[str, Any]]) -> dict[str, Any]:
    """Numbers added up, also in the dicts inside; what is no number is left out."""
    out: dict[str, Any] = {}
    for one in dicts:
        for key, value in one.items():
            if isinstance(value, dict):
                out[key] = _sums([out.get(key, {}), value])
            elif isinstance(value, int):
                out[key] = out.get(key, 0) + value
    return out


def _check(level: str) -> None:
    if level != "frame":
        raise ValueError(f'level is "frame", not {level!r}; captures have no message level yet')


def _protocol(protocol: str | ModuleType | None) -> _codec.Protocol:
    return _protocol_of("0-9-1" if protocol is None else protocol)
