"""Files of stores on the command line: URIs, globs in them, and how they are reached."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["FS_HELP", "Uri", "readable", "setting", "source", "with_stores"]

FS_HELP = (
    "of files that are URIs, how their store is reached: s3a.endpoint, s3a.endpoint.region and the"
    " others that Spark takes as fs.NAME, or an argument NAME of the store's file system; other"
    " users see what stands here: credentials are better left to the environment and the profiles"
    " of the store's own tools, where they are found"
)


class Uri:
    """A file that is not named by a path, as far as it is asked for what a path says."""

    def __init__(self, text: str, located: Any = None) -> None:
        """text: such as s3://bucket/name. located: what readers take for it."""
        self._text = text
        self.located = located or text
        self.parent, _, self.name = text.rpartition("/")

    def __str__(self) -> str:
        return self._text

    def __fspath__(self) -> str:
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Uri) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)


def source(text: str) -> Path | Uri:
    """The name of a file, or its URI."""
    return Uri(text) if "://" in text else Path(text)


def setting(text: str) -> tuple[str, str]:
    """``NAME=VALUE``, as a name of Hadoop's and its value."""
    name, equals, value = text.partition("=")
    if not equals or not name.removeprefix("fs."):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return f"fs.{name.removeprefix('fs.')}", value


def with_stores(
    files: Iterable[Path | Uri], settings: Iterable[tuple[str, str]]
) -> list[Path | Uri]:
    """The files that paths stand for, once each; URIs with the settings of their stores.

    Raises:
        OSError: a glob or a URI stands for nothing, or its store cannot be reached.
        ValueError, ImportError: nothing here reads a URI, or a setting is not known.
    """
    from ..capture._storage import Located, Storage, locate_all

    storage = Storage(dict(settings))
    files_by_name: dict[
        str, Path | Uri
    ] = {}  # a file that a folder or a glob names again comes once
    for file in files:
        is_uri = isinstance(file, Uri)
        located = locate_all(str(file) if is_uri else file, storage)
        for location in located:
            if not is_uri:
                files_by_name.setdefault(str(location), Path(location))
            elif isinstance(location, Located):
                files_by_name.setdefault(location.uri, Uri(location.uri, location))
            else:
                name = str(file) if len(located) == 1 else Path(location).as_uri()
                files_by_name.setdefault(str(location), Uri(name, location))
    return list(files_by_name.values())


def readable(file: Path | Uri) -> Any:
    """What readers take for a file."""
    return file.located if isinstance(file, Uri) else str(file)
