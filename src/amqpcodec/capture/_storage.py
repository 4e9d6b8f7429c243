"""Captures that lie elsewhere: URIs of object stores and clusters, by pyarrow.fs or fsspec.

Nothing of this is imported before a URI, or a file system, is given.
"""

from __future__ import annotations

import difflib
import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import partial
from io import UnsupportedOperation
from typing import IO, Any, NamedTuple

from .._facade.scalars import as_text
from ._paths import files_of
from ._ranges import RANGE, RangeFile, retried
from ._uris import cut_at_glob, is_remote, local_path, pattern, shown, split_scheme, with_slashes

__all__ = [
    "FileInfo",
    "Located",
    "Storage",
    "Stored",
    "is_remote",
    "local_path",
    "locate",
    "locate_all",
    "locate_each",
]

#: Other names of the schemes that pyarrow knows.
_ALIASES = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "wasbs": "abfss"}


class FileInfo(NamedTuple):
    """What a store says of a file.

    size: bytes. modified: seconds since 1970 UTC, None where it says no time. tag: another one
    where the content is another one (its ETag), "" where it says none.
    """

    size: int
    modified: float | None
    tag: str = ""


class Stored(NamedTuple):
    """A file in a store. uri: with what reads it; the others as in FileInfo."""

    uri: str
    size: int
    modified: float | None
    tag: str = ""


@dataclass(frozen=True)
class Storage:
    """How files are reached that are none of this machine. It can be pickled if its parts can.

    options: names and texts as Hadoop has them (``fs.s3a.endpoint``), or ``fs.NAME`` for an
    argument NAME of the file system's class. filesystem: one of pyarrow.fs or fsspec, which is
    used whatever the scheme is.
    """

    options: Mapping[str, str] = field(default_factory=dict)
    filesystem: Any = None

    def __repr__(self) -> str:
        return f"<storage with {', '.join(self.options) or 'no options'}>"  # no secret shows

    def holds(self, path: str) -> bool:
        """Whether a path is reached by this; all others are files of this machine."""
        return self.filesystem is not None or is_remote(path)

    def open(self, uri: str, step: int = RANGE) -> IO[bytes]:
        """The file, read ahead in ranges of so many bytes, each tried again where reading fails.

        Raises:
            OSError: FileNotFoundError, IsADirectoryError, PermissionError, or what is left after
                all tries; UnsupportedOperation where the store does not say the file's size.
            ImportError, ValueError: nothing here reads this scheme, or its options are wrong.
        """
        store, path = self._store(uri)
        size = _require(retried(lambda: store.stat(path)), uri).size
        file: Any = RangeFile(store.fetcher(path), size, shown(uri), step)
        return file  # type: ignore[no-any-return]

    def stat(self, uri: str) -> FileInfo:
        """What the store says of one file.

        Raises:
            FileNotFoundError, IsADirectoryError: it is not there, or a folder.
        """
        store, path = self._store(with_slashes(uri))
        store.ask_again()
        return _require(retried(lambda: store.stat(path)), uri)

    def find(self, uri: str, recursive: bool) -> Iterator[Stored]:
        """What a URI stands for: a file, the files of a folder, or those that a glob matches.

        A file whose name is the glob itself comes first. In folders it skips names that begin
        with ``.`` or ``_``.

        Raises:
            FileNotFoundError: nothing is there.
        """
        uri = with_slashes(uri)
        base, glob = cut_at_glob(uri)
        glob_pattern = pattern(glob) if glob else None
        store, path = self._store(base)
        store.ask_again()
        single = store.facts_of(path, glob)
        if single is not None:
            yield Stored(uri, *single)
            return
        has_match = False
        below = recursive or glob_pattern is not None
        front = f"{base.rstrip('/')}/" if base else ""
        for name, facts in retried(lambda: list(store.below(path, below))):
            has_match = has_match or glob_pattern is None
            relative_name = name[len(path.rstrip("/")) :].lstrip("/")
            if glob_pattern is not None:
                match = glob_pattern.fullmatch(relative_name)
                if match is None:
                    continue
                has_match = True
                relative_name = match["below"] or ""
            if any(part[:1] in "._" for part in relative_name.split("/") if part):
                continue
            if "/" in relative_name and not recursive:
                continue
            if facts is None:
                facts = retried(partial(store.stat, name))
            if facts is not None:
                yield Stored(front + name[len(path.rstrip("/")) :].lstrip("/"), *facts)
        if not has_match:
            raise _missing(uri)

    def _store(self, uri: str) -> tuple[_Arrow | _Fsspec, str]:
        name, path = split_scheme(uri)
        if self.filesystem is not None:
            if hasattr(self.filesystem, "open_input_file"):
                return _Arrow(self.filesystem), path
            return _Fsspec(self.filesystem), str(self.filesystem._strip_protocol(uri))
        return _by_arrow(uri, name, self.options) or _by_fsspec(uri, name, self.options)


@dataclass(frozen=True)
class Located(os.PathLike[str]):
    """A file and how it is reached; in the place of its path."""

    uri: str
    storage: Storage

    def __fspath__(self) -> str:
        """What rows call it: without a password."""
        return shown(self.uri)

    def open(self, step: int = RANGE) -> IO[bytes]:
        """See Storage.open."""
        return self.storage.open(self.uri, step)


def locate(source: Any, storage: Storage) -> Any:
    """A source of a capture, and how to reach it where it is no file of this machine's."""
    if isinstance(source, Located) or not isinstance(source, str | os.PathLike):
        return source
    path = as_text(os.fspath(source))
    if storage.holds(path):
        return Located(with_slashes(path), storage)
    if path[:5].lower() == "file:":
        return local_path(path)
    return path if isinstance(source, str) else source


def locate_all(source: Any, storage: Storage) -> list[Any]:
    """The same of each file that a path or URI stands for: a file, those of a folder, or of a glob.

    An open file stands for itself, and so does a path of nothing: opening it says what is wrong.

    Raises:
        FileNotFoundError: a glob or a URI stands for nothing, or a folder has no file.
        OSError: as Storage.find().
    """
    location = locate(source, storage)
    if location is source and not isinstance(source, str | os.PathLike):
        return [source]
    if not isinstance(location, Located):
        return list(files_of(location))
    if location is source:
        return [location]
    return [Located(file.uri, storage) for file in sorted(storage.find(location.uri, False))]


def locate_each(sources: Iterable[Any], storage: Storage) -> list[Any]:
    """What locate_all() gives of several; a file that a folder or a glob names again comes once."""
    locations: list[Any] = []
    for source in sources:
        files = locate_all(source, storage)
        if len(files) > 1:
            names = {os.fspath(file) for file in locations if isinstance(file, str | os.PathLike)}
            files = [file for file in files if os.fspath(file) not in names]
        locations += files
    return locations


def _missing(uri: str) -> FileNotFoundError:
    return FileNotFoundError(f"[PATH_NOT_FOUND] Path does not exist: {shown(uri)}")


def _require(facts: FileInfo | None, uri: str) -> FileInfo:
    if facts is None:
        raise _missing(uri)
    return facts


# ---- pyarrow.fs ----


def _folder(path: str) -> IsADirectoryError:
    return IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)


def _without_size(path: str) -> UnsupportedOperation:
    return UnsupportedOperation(
        f"the store does not say how many bytes {shown(path)} has: copy the file to this"
        " machine, or give an open file in the place of its name"
    )


class _Store:
    """What both kinds of file systems are asked for."""

    def stat(self, path: str) -> FileInfo | None:
        """What is said of a file; None: there is none.

        Raises:
            IsADirectoryError: it is a folder.
        """
        raise NotImplementedError

    def facts_of(self, path: str, glob: str) -> FileInfo | None:
        """The same of a path, or of a file in it whose name is this glob itself; None: a folder."""
        with suppress(IsADirectoryError):
            if not glob:
                return retried(lambda: self.stat(path))
            with suppress(OSError, ValueError):  # some stores refuse such names
                return self.stat(f"{path.rstrip('/')}/{glob}" if path else glob)
        return None


class _Arrow(_Store):
    """A file system of pyarrow's."""

    def __init__(self, filesystem: Any) -> None:
        self.filesystem = filesystem

    def ask_again(self) -> None:
        """It keeps no listings."""

    def stat(self, path: str) -> FileInfo | None:
        info = self.filesystem.get_file_info(path)
        if info.type.name == "Directory":
            raise _folder(path)
        if info.is_file and info.size is None:
            raise _without_size(path)
        return FileInfo(info.size, _seconds(info.mtime)) if info.is_file else None

    def fetcher(self, path: str) -> Callable[[int, memoryview], int]:
        """See RangeFile. Opened once for each thread that reads, since that costs a request; anew
        where reading has failed."""
        idle: list[Any] = []

        def fetch(start: int, room: memoryview) -> int:
            file = idle.pop() if idle else self.filesystem.open_input_file(path)
            file.seek(start)
            count: int = file.readinto(room)
            idle.append(file)
            return count

        return fetch

    def below(self, path: str, recursive: bool) -> Iterator[tuple[str, FileInfo | None]]:
        """Names of files; None with those whose size the listing lacks."""
        from pyarrow.fs import FileSelector

        chosen = FileSelector(path.rstrip("/"), recursive=recursive, allow_not_found=True)
        for info in self.filesystem.get_file_info(chosen):
            if info.is_file:
                has_size = info.size is not None
                yield info.path, FileInfo(info.size, _seconds(info.mtime)) if has_size else None


def _by_arrow(uri: str, scheme: str, options: Mapping[str, str]) -> tuple[_Arrow, str] | None:
    try:
        from pyarrow import ArrowInvalid, ArrowNotImplementedError, fs
    except ImportError:
        return None
    arrow_scheme = _ALIASES.get(scheme, scheme)
    plain = arrow_scheme + uri[len(scheme) :]
    arguments = _arguments(arrow_scheme, options)
    if arguments and arrow_scheme not in ("s3", "gs"):
        return None  # fsspec takes arguments for all
    try:
        if arguments:
            factory = getattr(fs, {"s3": "S3FileSystem", "gs": "GcsFileSystem"}[arrow_scheme])
            return _Arrow(factory(**arguments)), plain.partition("://")[2]
        filesystem, path = fs.FileSystem.from_uri(plain)
    except (ArrowInvalid, ArrowNotImplementedError, AttributeError, ImportError):
        return None
    return _Arrow(filesystem), path


#: Hadoop's names for S3, and pyarrow's; what stands for an endpoint without TLS is told apart.
_S3 = {
    "fs.s3a.access.key": "access_key",
    "fs.s3a.secret.key": "secret_key",
    "fs.s3a.session.token": "session_token",
    "fs.s3a.endpoint": "endpoint_override",
    "fs.s3a.endpoint.region": "region",
}
#: Of Hadoop's, those that say nothing that pyarrow has to know.
_S3_IGNORED = {"fs.s3a.path.style.access", "fs.s3a.impl", "fs.s3a.aws.credentials.provider"}


def _arguments(scheme: str, options: Mapping[str, str]) -> dict[str, Any]:
    """Options as arguments of a file system's class; those of other schemes are ignored."""
    out: dict[str, Any] = {}
    for name, text in options.items():
        if name in _S3 or name in _S3_IGNORED or name == "fs.s3a.connection.ssl.enabled":
            if scheme != "s3":
                continue
            if name in _S3:
                out[_S3[name]] = text
            elif name == "fs.s3a.connection.ssl.enabled":
                out["scheme"] = "https" if text.lower() == "true" else "http"
            elif "Anonymous" in text:
                out["anonymous"] = True
        elif name.startswith("fs.") and "." not in name[3:]:
            out[name[3:]] = {"true": True, "false": False}.get(text.lower(), text)
        else:
            close = difflib.get_close_matches(name, _S3, 1)
            hint = f"did you mean {close[0]}? Of" if close else "of"
            raise ValueError(f"no option {name!r}: {hint} fs.* there is {', '.join(_S3)}, fs.NAME")
    endpoint = str(out.get("endpoint_override", ""))
    if "://" in endpoint:
        out["scheme"], _, out["endpoint_override"] = endpoint.partition("://")
    return out


# ---- fsspec ----


class _Fsspec(_Store):
    """A file system of fsspec's."""

    def __init__(self, filesystem: Any) -> None:
        self.filesystem = filesystem

    def ask_again(self) -> None:
        """Forget listings that were kept: files come and change."""
        self.filesystem.invalidate_cache()

    def stat(self, path: str) -> FileInfo | None:
        try:
            info = self.filesystem.info(path)
        except FileNotFoundError:
            return None
        if info["type"] == "directory":
            raise _folder(path)
        if info["size"] is None:
            raise _without_size(path)
        return _facts(info)

    def fetcher(self, path: str) -> Callable[[int, memoryview], int]:
        """See RangeFile."""

        def fetch(start: int, room: memoryview) -> int:
            data = self.filesystem.cat_file(path, start=start, end=start + len(room))
            size = len(data)
            room[:size] = data[: len(room)]
            return size

        return fetch

    def below(self, path: str, recursive: bool) -> Iterator[tuple[str, FileInfo | None]]:
        """Names of files; None with those whose size the listing lacks, as HTTP's do."""
        try:
            depth = None if recursive else 1
            entries = self.filesystem.find(path, maxdepth=depth, detail=True)
        except FileNotFoundError:
            return
        for name, info in entries.items():
            yield name, None if info["size"] is None else _facts(info)


def _by_fsspec(uri: str, scheme: str, options: Mapping[str, str]) -> tuple[_Fsspec, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise ImportError(
            f"{scheme}:// is read by pyarrow's file systems or fsspec's: pip install fsspec, and "
            "what it needs for this scheme"
        ) from None
    arguments = {
        name[3:]: {"true": True, "false": False}.get(text.lower(), text)
        for name, text in options.items()
        if name.startswith("fs.") and "." not in name[3:]
    }
    try:
        filesystem, path = url_to_fs(uri, **arguments)
    except (ImportError, ValueError) as problem:
        raise ValueError(f"nothing here reads {shown(uri)}: {problem}") from None
    return _Fsspec(filesystem), str(path)


#: Where fsspec's file systems say when a file was modified, and what is another tag of its content.
_TIMES = ("mtime", "LastModified", "last_modified", "Last-Modified", "updated", "created")
_TAGS = ("ETag", "etag", "md5Hash", "Content-MD5")


def _facts(info: Mapping[str, Any]) -> FileInfo:
    """What an info of fsspec's says."""
    modified = next((info[name] for name in _TIMES if info.get(name) is not None), None)
    if modified is None and info.get("modificationTime") is not None:
        modified = info["modificationTime"] / 1000  # WebHDFS: ms
    tag = next((info[name] for name in _TAGS if info.get(name)), "")
    return FileInfo(int(info["size"]), _seconds(modified), str(tag))


def _seconds(moment: Any) -> float | None:
    """Seconds since 1970 UTC of a number of them, a datetime, or a text of ISO 8601 or HTTP."""
    if isinstance(moment, str):
        moment = _parsed(moment)
    stamp: Callable[[], float] | None = getattr(moment, "timestamp", None)
    if stamp is not None:
        return stamp()
    return float(moment) if isinstance(moment, int | float) else None


def _parsed(text: str) -> datetime | None:
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        with suppress(ValueError):
            return parse(text)
    return None
