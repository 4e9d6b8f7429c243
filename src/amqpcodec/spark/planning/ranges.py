"""One huge capture, or chain, on many tasks: a pass that notes a reader's state at each cut.

The states are kept below ``stateLocation``, since they serve every later read of the same files. A
state holds what connections had sent in part at the cut, credentials included: files are made for
their owner alone, and encrypted where the environment variable ``AMQPCODEC_STATE_KEY`` has a key
(at least 16 bytes; on the driver and on all tasks). They stand in no plan and in no log.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from ...capture import Reader, StateError
from ...capture.planning import Storage, is_remote, local_path, locate, open_source, seek_table
from .file_listing import Listed, refuse_changed
from .files import StoredFile
from .prescan import FEW, Outlined, follow_outlines, outlined
from .state_files import key_of, write_atomically
from .versions import InputPartition

__all__ = [
    "Range",
    "ToCut",
    "cuts",
    "parts_to_outline",
    "ranges",
    "size_to_cut",
    "state_folder",
    "state_of",
]

#: Changes where states of before are not those of now.
VERSION = 2

_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18")


@dataclass(frozen=True)
class Range(InputPartition):
    """A part of a file, or of a chain, that one task reads.

    state: the file with the state to go on from, None: from the beginning. stop: index of the file,
    and bytes in it, where the next range begins; None: to the end. planned: the files that are
    read, as they were, where the task has to see whether they are those still.
    """

    paths: tuple[str, ...]
    state: str | None
    stop: tuple[int, int] | None
    planned: tuple[Listed, ...] = ()


@dataclass(frozen=True)
class ToCut:
    """Files of one chain that ranges are made of.

    files: as they are listed. sizes: theirs, unpacked. step: bytes of a range. location: the option
    stateLocation. what: all else that states depend on, as a text. open_reader: a reader of the
    files, which needs no column but ``error``.
    """

    files: Sequence[Listed]
    sizes: Sequence[int]
    step: int
    location: str
    what: object
    open_reader: Callable[[], Reader]
    storage: Storage

    @cached_property
    def by_name(self) -> dict[str, tuple[Listed, int]]:
        """Each file, and its size, under what a reader calls it."""
        pairs = zip(self.files, self.sizes, strict=True)
        return {os.fspath(locate(entry.file.path, self.storage)): (entry, n) for entry, n in pairs}

    @cached_property
    def folder(self) -> str:
        """Where the states of these very files, read in this very way, are kept."""
        identity = [
            VERSION,
            self.files,
            self.sizes,
            self.step,
            str(self.what),
            key_of() is not None,
        ]
        digest = hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:40]
        return os.path.join(state_folder(self.location), digest)


def size_to_cut(file: StoredFile, storage: Storage) -> int | None:
    """Bytes, unpacked, of a file that is read from the middle; None: from its beginning alone."""
    with open_source(locate(file.path, storage)) as opened:
        if not opened.read(4).startswith(_PACKED):
            return file.size
        table = seek_table(opened)
    return None if table is None else table.size


def cuts(sizes: Sequence[int], step: int) -> list[tuple[int, int]]:
    """(index of the file, bytes in it) after about each step of bytes; sizes: of the files."""
    positions, before, at = [], 0, step
    for index, size in enumerate(sizes):
        while at < before + size:
            positions.append((index, at - before))
            at += step
        before += size
    return positions


def ranges(to_cut: ToCut) -> list[Range]:
    """The ranges of a file, or of the files of a chain; the pass is made where it was not yet.

    Raises:
        OSError: a file cannot be read, or no state be kept.
        ValueError: a file was written anew meanwhile.
    """
    folder = to_cut.folder
    order, stops = _read_index(folder) or _pass(to_cut, folder)
    files = [to_cut.by_name[name][0] for name in order]
    paths = tuple(entry.file.path for entry in files)
    states = [None, *(os.path.join(folder, f"{i}.state") for i in range(len(stops)))]
    ends = [*stops, (len(files) - 1, 0)]
    begins = [(0, 0), *stops]
    return [
        Range(paths, state, stop, tuple(files[begin[0] : end[0] + 1]))
        for state, begin, end, stop in zip(states, begins, ends, [*stops, None], strict=True)
    ]


def parts_to_outline(to_cut: ToCut) -> list[Outlined]:
    """What tasks are to outline before ranges() makes its pass.

    Nothing where the pass was made, or is as fast without.
    """
    folder = to_cut.folder
    if sum(to_cut.sizes) < FEW * to_cut.step or _read_index(folder) is not None:
        return []
    order, stops = _places(to_cut, to_cut.open_reader())
    paths = [to_cut.by_name[name][0].file.path for name in order]
    return [item for items in outlined(folder, paths, stops) for item in items]


def state_folder(location: str) -> str:
    """The folder that the option stateLocation names.

    Raises:
        ValueError: it is none of this machine.
    """
    if is_remote(location):
        raise ValueError(
            "stateLocation is a folder that the driver and all tasks have mounted, "
            f"not {location!r}"
        )
    return os.path.abspath(local_path(location))


def _read_index(folder: str) -> tuple[list[str], list[tuple[int, int]]] | None:
    """The order of the files, and the cuts, of a pass that was made."""
    try:
        with open(os.path.join(folder, "index.json"), encoding="utf-8") as file:
            contents = json.load(file)
    except FileNotFoundError:
        return None
    return contents["files"], [(int(index), int(offset)) for index, offset in contents["cuts"]]


def _places(to_cut: ToCut, reader: Reader) -> tuple[list[str], list[tuple[int, int]]]:
    """The names of the files in their order, and where they are cut."""
    order = list(reader.files)
    return order, cuts([to_cut.by_name[name][1] for name in order], to_cut.step)


def _pass(to_cut: ToCut, folder: str) -> tuple[list[str], list[tuple[int, int]]]:
    """Read up to the last cut, or what outlines have of it, and keep the state at each.

    The index is written last.
    """
    state: bytes | None = None

    def open_at_start() -> Reader:
        reader = to_cut.open_reader()
        if state is not None:
            reader.resume(state, key_of())
        return reader

    reader = to_cut.open_reader()
    order, stops = _places(to_cut, reader)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    positions = []
    stale = False  # the reader is behind
    for number, (stop, items) in enumerate(zip(stops, outlined(folder, order, stops), strict=True)):
        followed = follow_outlines(items, open_at_start)
        if followed is None:
            reader = open_at_start() if stale else reader
            for _ in reader.read(stop):
                pass
        stale = followed is not None
        state = _state_at(followed or reader)
        if state is None:
            break  # damage, or a file of which no place is known: what is left is one range
        write_atomically(os.path.join(folder, f"{number}.state"), state)
        positions.append(stop)
    refuse_changed(to_cut.files, to_cut.storage)
    contents = {"files": order, "cuts": positions}
    write_atomically(os.path.join(folder, "index.json"), json.dumps(contents).encode())
    return order, positions


def _state_at(reader: Reader) -> bytes | None:
    """Where the reader is; None: no other one can go on from there."""
    key = key_of()
    try:
        return None if reader.damaged else reader.state(key, encrypt=key is not None)
    except StateError:
        return None


def state_of(part: Range) -> bytes | None:
    """The state that a range goes on from."""
    if part.state is None:
        return None
    with open(part.state, "rb") as file:
        return file.read()
