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

from ..capture import Reader, StateError
from ..capture._files import open_source
from ..capture._seekable import seek_table
from ..capture._storage import Storage, is_remote, local_path, locate
from .files import CaptureFile
from .kept import key_of, write_whole
from .outlines import FEW, Outlined, follow_outlines, outlined
from .versions import InputPartition

__all__ = [
    "Range",
    "cuts",
    "parts_to_outline",
    "ranges",
    "size_to_cut",
    "state_folder",
    "state_of",
]

#: Changes where states of before are not those of now.
VERSION = 1

_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18")


@dataclass(frozen=True)
class Range(InputPartition):
    """A part of a file, or of a chain, that one task reads.

    state: the file with the state to go on from, None: from the beginning. stop: index of the file,
    and bytes in it, where the next range begins; None: to the end.
    """

    paths: tuple[str, ...]
    state: str | None
    stop: tuple[int, int] | None


def size_to_cut(file: CaptureFile, storage: Storage) -> int | None:
    """Bytes, unpacked, of a file that is read from the middle; None: from its beginning alone."""
    with open_source(locate(file.path, storage)) as opened:
        if not opened.read(4).startswith(_PACKED):
            return file.size
        table = seek_table(opened)
    return None if table is None else table.size


def cuts(sizes: Sequence[int], step: int) -> list[tuple[int, int]]:
    """(index of the file, bytes in it) after about each step of bytes; sizes: of the files."""
    found, before, at = [], 0, step
    for index, size in enumerate(sizes):
        while at < before + size:
            found.append((index, at - before))
            at += step
        before += size
    return found


def ranges(
    files: Sequence[CaptureFile],
    step: int,
    location: str,
    what: object,
    open_reader: Callable[[], Reader],
) -> list[Range]:
    """The ranges of a file, or of the files of a chain; the pass is made where it was not yet.

    files: with their sizes unpacked. what: all else that states depend on, as a text. open_reader:
    a reader of the files, which needs no column but ``error``.

    Raises:
        OSError: a file cannot be read, or no state be kept.
    """
    paths = tuple(file.path for file in files)
    folder = _folder(files, step, location, what)
    noted = _noted(folder)
    if noted is None:
        noted = _pass(files, step, folder, open_reader)
    order, stops = noted
    by_name = dict(zip(map(_name, paths), paths, strict=True))
    ordered = tuple(by_name[name] for name in order)
    states = [None, *(os.path.join(folder, f"{i}.state") for i in range(len(stops)))]
    return [Range(ordered, state, stop) for state, stop in zip(states, [*stops, None], strict=True)]


def parts_to_outline(
    files: Sequence[CaptureFile],
    step: int,
    location: str,
    what: object,
    open_reader: Callable[[], Reader],
) -> list[Outlined]:
    """What tasks are to outline before ranges(), of the same arguments, makes its pass.

    Nothing where the pass was made, or is as fast without.
    """
    folder = _folder(files, step, location, what)
    if sum(file.size for file in files) < FEW * step or _noted(folder) is not None:
        return []
    order, stops = _places(files, step, open_reader())
    by_name = {_name(file.path): file.path for file in files}
    paths = [by_name[name] for name in order]
    return [item for items in outlined(folder, paths, stops) for item in items]


def _name(path: str) -> str:
    name: str = os.fspath(locate(path, Storage()))
    return name


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


def _digest(files: Sequence[CaptureFile], step: int, what: object) -> str:
    """A name for these very files, read in this very way."""
    told = [VERSION, [list(file) for file in files], step, str(what), key_of() is not None]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:40]


def _noted(folder: str) -> tuple[list[str], list[tuple[int, int]]] | None:
    """The order of the files, and the cuts, of a pass that was made."""
    try:
        with open(os.path.join(folder, "index.json"), encoding="utf-8") as file:
            told = json.load(file)
    except FileNotFoundError:
        return None
    return told["files"], [(int(index), int(offset)) for index, offset in told["cuts"]]


def _folder(files: Sequence[CaptureFile], step: int, location: str, what: object) -> str:
    return os.path.join(state_folder(location), _digest(files, step, what))


def _places(
    files: Sequence[CaptureFile], step: int, reader: Reader
) -> tuple[list[str], list[tuple[int, int]]]:
    """The names of the files in their order, and where they are cut."""
    sizes = {_name(file.path): file.size for file in files}
    order = list(reader.files)
    return order, cuts([sizes[name] for name in order], step)


def _pass(
    files: Sequence[CaptureFile], step: int, folder: str, open_reader: Callable[[], Reader]
) -> tuple[list[str], list[tuple[int, int]]]:
    """Read up to the last cut, or what outlines have of it, and keep the state at each.

    The index is written last.
    """
    state: bytes | None = None

    def open_there() -> Reader:
        reader = open_reader()
        if state is not None:
            reader.resume(state, key_of())
        return reader

    reader = open_reader()
    order, stops = _places(files, step, reader)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    done = []
    stale = False  # the reader is behind
    for number, (stop, items) in enumerate(zip(stops, outlined(folder, order, stops), strict=True)):
        followed = follow_outlines(items, open_there)
        if followed is None:
            reader = open_there() if stale else reader
            for _ in reader.read(stop):
                pass
        stale = followed is not None
        state = _state_at(followed or reader)
        if state is None:
            break  # damage, or a file of which no place is known: what is left is one range
        write_whole(os.path.join(folder, f"{number}.state"), state)
        done.append(stop)
    told = {"files": order, "cuts": done}
    write_whole(os.path.join(folder, "index.json"), json.dumps(told).encode())
    return order, done


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
