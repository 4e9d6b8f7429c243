"""The files of this machine that a path stands for: a file, the files of a folder, or of a glob."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator

from .._facade.scalars import as_text

__all__ = ["expand_braces", "files_below", "files_of", "matching_paths"]

_BRACES = re.compile(r"\{([^{}]*)\}")


def files_of(path: str | os.PathLike[str]) -> list[str | os.PathLike[str]]:
    """The files that a path stands for, in the order of their names; each once.

    What is there, or has no wildcard, is no glob. Of a folder those in it, without names that begin
    with ``.`` or ``_``. A path of nothing is given back: opening it says what is wrong.

    Raises:
        FileNotFoundError: a glob stands for nothing, or a folder has no file.
    """
    name = as_text(os.fspath(path))
    exists = os.path.exists(name)
    if (exists and not os.path.isdir(name)) or (not exists and not _is_glob(name)):
        return [path]
    files = {file for place in matching_paths(name) for file in files_below(place, False)}
    if not files:
        raise FileNotFoundError(f"no file is in the folder {name!r}")
    return [*sorted(files)]


def matching_paths(path: str) -> list[str]:
    """The files and folders that a path or a glob stands for.

    Raises:
        FileNotFoundError: it stands for nothing.
    """
    if os.path.exists(path):
        return [path]
    matches = [
        match
        for alternative in expand_braces(path)
        for match in sorted(glob.glob(alternative, recursive=True))
    ]
    if not matches:
        raise FileNotFoundError(f"[PATH_NOT_FOUND] Path does not exist: {path}")
    return matches


def _is_glob(path: str) -> bool:
    return glob.has_magic(path) or _BRACES.search(path) is not None


def expand_braces(pattern: str) -> list[str]:
    """``cap{1,2}`` as ``cap1`` and ``cap2``, which Hadoop's globs know and Python's do not."""
    braces = _BRACES.search(pattern)
    if braces is None:
        return [pattern]
    before, after = pattern[: braces.start()], pattern[braces.end() :]
    return [
        full for middle in braces[1].split(",") for full in expand_braces(before + middle + after)
    ]


def files_below(place: str, recursive: bool) -> Iterator[str]:
    """A file itself; of a folder its files, without names that begin with ``.`` or ``_``."""
    if not os.path.isdir(place):
        yield place
        return
    for folder, folders, names in os.walk(place):
        folders[:] = [name for name in folders if name[0] not in "._"] if recursive else []
        for name in names:
            if name[0] not in "._":
                yield os.path.join(folder, name)
