"""Captures that lie elsewhere: URIs of object stores and clusters, by pyarrow.fs or fsspec.

Nothing of this is imported before a URI, or a file system, is given.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from ._ranges import RangeFile, retried

__all__ = ["Located", "Storage", "Stored", "is_remote", "local_path", "locate"]

#: A letter alone is a drive of Windows.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
#: ``dbfs:/`` is written so, and pathlib makes ``s3:/bucket`` of ``s3://bucket``.
_ONE_SLASH = re.compile(r"(dbfs|s3[an]?|gc?s|abfss?|hdfs|https?|memory|az|adl):/(?!/)")
#: Other names of the schemes that pyarrow knows.
_ALIASES = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "wasbs": "abfss"}
_GLOB = re.compile(r"[*?\[{]")


class Stored(NamedTuple):
    """A file in a store. uri: with what reads it; size: bytes; modified: seconds since 1970 UTC."""

    uri: str
    size: int
    modified: float


def is_remote(path: str) -> bool:
    """Whether a path is a URI of something else than this machine's files."""
    found = _SCHEME.match(path) or _ONE_SLASH.match(path)
    return found is not None and found[1].lower() != "file"


def _whole(uri: str) -> str:
    """A URI with both of its slashes."""
    found = _ONE_SLASH.match(uri)
    return uri if found is None else f"{found[1]}://{uri[found.end() :]}"


def local_path(path: str) -> str:
    """A path of this machine; ``file:`` may stand before it.

    Raises:
        ValueError: it names another host, or another scheme.
    """
    if path[:5].lower() == "file:":
        parts = urlsplit(path)
        if parts.netloc not in ("", "localhost"):
            raise ValueError(f"{path!r} names a file of the host {parts.netloc!r}, not of this one")
        return unquote(parts.path)
    if is_remote(path):
        raise ValueError(f"{path!r} is no file of this machine")
    return path


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

    def open(self, uri: str) -> IO[bytes]:
        """The file, read ahead in ranges, each tried again where reading fails.

        Raises:
            OSError: FileNotFoundError, PermissionError, or what is left after all tries.
            ImportError, ValueError: nothing here reads this scheme, or its options are wrong.
        """
        store, path = self._store(uri)
        size = retried(lambda: store.size(path))
        file: Any = RangeFile(store.fetcher(path), size, shown(uri))
        return file  # type: ignore[no-any-return]

    def find(self, uri: str, recursive: bool) -> Iterator[Stored]:
        """What a URI stands for: a file, the files of a folder, or those that a glob matches.

        Of folders names that begin with ``.`` or ``_`` are left out.

        Raises:
            FileNotFoundError: nothing is there.
        """
        uri = _whole(uri)
        glob = _GLOB.search(uri, _authority_end(uri))
        base = uri if glob is None else uri[: uri.rindex("/", 0, glob.start())]
        wanted = None if glob is None else _pattern(uri[len(base) + 1 :])
        store, path = self._store(base)
        if glob is None:
            single = retried(lambda: store.stat(path))
            if single is not None:
                yield Stored(uri, *single)
                return
        there = False
        below = recursive or glob is not None
        for name, size, modified in retried(lambda: list(store.below(path, below))):
            there = there or wanted is None
            rest = name[len(path.rstrip("/")) :].lstrip("/")
            if wanted is not None:
                match = wanted.fullmatch(rest)
                if match is None:
                    continue
                there = True
                rest = match["below"] or ""
            if any(part[:1] in "._" for part in rest.split("/") if part):
                continue
            if "/" in rest and not recursive:
                continue
            yield Stored(
                f"{base.rstrip('/')}/{name[len(path.rstrip('/')) :].lstrip('/')}", size, modified
            )
        if not there:
            raise FileNotFoundError(f"[PATH_NOT_FOUND] Path does not exist: {shown(uri)}")

    def _store(self, uri: str) -> tuple[_Arrow | _Fsspec, str]:
        scheme = _SCHEME.match(uri)
        name = "" if scheme is None else scheme[1].lower()
        if self.filesystem is not None:
            if hasattr(self.filesystem, "open_input_file"):
                return _Arrow(self.filesystem), uri[scheme.end() :] if scheme else uri
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

    def open(self) -> IO[bytes]:
        """See Storage.open."""
        return self.storage.open(self.uri)


def locate(source: Any, storage: Storage) -> Any:
    """A source of a capture, and how to reach it where it is no file of this machine's."""
    if isinstance(source, Located) or not isinstance(source, str | os.PathLike):
        return source
    path = os.fspath(source)
    if storage.filesystem is not None or is_remote(path):
        return Located(_whole(path), storage)
    return local_path(path) if path[:5].lower() == "file:" else source


def shown(uri: str) -> str:
    """A URI without the password or the arguments that may stand in it."""
    found = _SCHEME.match(uri)
    if found is None:
        return uri
    authority, slash, path = uri[found.end() :].partition("/")
    user, at, host = authority.rpartition("@")
    authority = host if ":" in user else f"{user}{at}{host}"
    return f"{found[0]}{authority}{slash}{path.split('?', 1)[0] if '=' in path else path}"


def _authority_end(uri: str) -> int:
    found = _SCHEME.match(uri)
    return 0 if found is None else found.end()


def _pattern(glob: str) -> re.Pattern[str]:
    """A glob of Hadoop's as a pattern for the path below its folder."""
    out, depth = [], 0
    for part in re.findall(r"\[[^\]]+\]|.", glob, re.DOTALL):
        if part == "*":
            out.append("[^/]*")
        elif part == "?":
            out.append("[^/]")
        elif part[0] == "[" and len(part) > 2:
            out.append(
                "[" + part[1:-1].replace("\\", r"\\").replace("!", "^", part[1] == "!") + "]"
            )
        elif part == "{":
            depth += 1
            out.append("(?:")
        elif part == "}" and depth:
            depth -= 1
            out.append(")")
        else:
            out.append("|" if part == "," and depth else re.escape(part))
    try:
        return re.compile("".join(out).rstrip("/") + "(?:/(?P<below>.*))?")
    except re.error:
        raise ValueError(f"{glob!r} is no glob") from None


# ---- pyarrow.fs ----


class _Arrow:
    """A file system of pyarrow's."""

    def __init__(self, filesystem: Any) -> None:
        self.filesystem = filesystem

    def size(self, path: str) -> int:
        found = self.stat(path)
        if found is None:
            raise FileNotFoundError(f"[PATH_NOT_FOUND] Path does not exist: {path}")
        return found[0]

    def stat(self, path: str) -> tuple[int, float] | None:
        info = self.filesystem.get_file_info(path)
        return (info.size, _seconds(info.mtime)) if info.is_file else None

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

    def below(self, path: str, recursive: bool) -> Iterator[tuple[str, int, float]]:
        from pyarrow.fs import FileSelector

        chosen = FileSelector(path.rstrip("/"), recursive=recursive, allow_not_found=True)
        for info in self.filesystem.get_file_info(chosen):
            if info.is_file:
                yield info.path, info.size, _seconds(info.mtime)


def _by_arrow(uri: str, scheme: str, options: Mapping[str, str]) -> tuple[_Arrow, str] | None:
    try:
        from pyarrow import ArrowInvalid, ArrowNotImplementedError, fs
    except ImportError:
        return None
    known = _ALIASES.get(scheme, scheme)
    plain = known + uri[len(scheme) :]
    arguments = _arguments(known, options)
    if arguments and known not in ("s3", "gs"):
        return None  # fsspec takes arguments for all
    try:
        if arguments:
            made = getattr(fs, {"s3": "S3FileSystem", "gs": "GcsFileSystem"}[known])
            return _Arrow(made(**arguments)), plain.partition("://")[2]
        found, path = fs.FileSystem.from_uri(plain)
    except (ArrowInvalid, ArrowNotImplementedError, AttributeError, ImportError):
        return None
    return _Arrow(found), path


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
    """Options as arguments of a file system's class; those of other schemes are left out."""
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
            raise ValueError(f"no option {name!r}: of fs.* there is {', '.join(_S3)}, and fs.NAME")
    endpoint = str(out.get("endpoint_override", ""))
    if "://" in endpoint:
        out["scheme"], _, out["endpoint_override"] = endpoint.partition("://")
    return out


# ---- fsspec ----


class _Fsspec:
    """A file system of fsspec's."""

    def __init__(self, filesystem: Any) -> None:
        self.filesystem = filesystem

    def size(self, path: str) -> int:
        return int(self.filesystem.info(path)["size"])

    def stat(self, path: str) -> tuple[int, float] | None:
        try:
            info = self.filesystem.info(path)
        except FileNotFoundError:
            return None
        return (int(info["size"] or 0), _modified(info)) if info["type"] == "file" else None

    def fetcher(self, path: str) -> Callable[[int, memoryview], int]:
        """See RangeFile."""

        def fetch(start: int, room: memoryview) -> int:
            found = self.filesystem.cat_file(path, start=start, end=start + len(room))
            size = len(found)
            room[:size] = found[: len(room)]
            return size

        return fetch

    def below(self, path: str, recursive: bool) -> Iterator[tuple[str, int, float]]:
        try:
            depth = None if recursive else 1
            found = self.filesystem.find(path, maxdepth=depth, detail=True)
        except FileNotFoundError:
            return
        for name, info in found.items():
            yield name, int(info["size"] or 0), _modified(info)


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


def _modified(info: Mapping[str, Any]) -> float:
    names = ("mtime", "LastModified", "last_modified", "updated", "created")
    return _seconds(next((info[name] for name in names if info.get(name) is not None), None))


def _seconds(moment: Any) -> float:
    stamp: Callable[[], float] | None = getattr(moment, "timestamp", None)
    if stamp is not None:
        return stamp()
    return float(moment) if isinstance(moment, int | float) else 0.0
