"""What makes a replay the same one: all that decides which messages are sent, and as what."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from ...capture._limits import Limits
from ..errors import UsageError
from ..groups import limits
from ..options import ReplayOptions
from ..selection import parse_where
from ..uris import Uri
from ..version import version
from .target import Target

__all__ = ["CANNOT_CHANGE_MESSAGES", "PARTS", "can_be_read_again", "identity_of"]

#: Bytes that are read at once.
CHUNK_BYTES = 1 << 20
#: Columns of --where whose values depend on what the files are called.
OF_NAMES = {"file", "connection"}

#: Options that are no part of the identity, each with the reason.
CANNOT_CHANGE_MESSAGES = {
    "help": "sends nothing",
    "fs": "reaches the files, whose contents are in the identity",
    "rate": "decides when messages are sent",
    "fast": "decides when messages are sent",
    "window": "decides how many messages wait for confirms",
    "journal": "names the journal itself",
    "dry_run": "sends nothing",
    "declare": "creates exchanges, queues and bindings on the target and changes no message",
    "cafile": "decides whether the target is trusted",
    "to_recorded_broker": "permits a target and changes no message",
}


def identity_of(options: ReplayOptions, target: Target) -> dict[str, Any]:
    """Name -> JSON value of each part; names are those of the options.

    Raises:
        UsageError: a file cannot be read, or not twice; a limit is out of its range.
    """
    identity: dict[str, Any] = {"version": version()}
    for name, part in PARTS.items():
        identity[name] = part(options, target)
    try:
        identity.update(asdict(Limits(**limits(options.source))))
    except ValueError as error:
        raise UsageError(str(error)) from None
    return identity


def can_be_read_again(file: Path | Uri) -> bool:
    """Whether a file gives the same bytes the second time: no pipe, and no standard input."""
    if isinstance(file, Uri):
        return True
    if str(file) == "-":
        return False
    try:
        return not stat.S_ISFIFO(mode := os.stat(file).st_mode) and not stat.S_ISSOCK(mode)
    except OSError:
        return True  # reading it says why it cannot be read


def _files(options: ReplayOptions, target: Target) -> list[str]:
    return [_digest(file) for file in options.source.files]


def _where(options: ReplayOptions, target: Target) -> list[Any]:
    where = parse_where(options.where, {})
    names = {name.partition(".")[0] for name in where.names()} if where is not None else set()
    files = (
        [os.fsencode(str(file)).hex() for file in options.source.files] if names & OF_NAMES else []
    )
    return [options.where, [os.fsencode(str(file)).hex() for file in files]]


def _keylog(options: ReplayOptions, target: Target) -> str | None:
    path = options.source.keylog_path
    return None if path is None else _digest(Path(path))


def _to(options: ReplayOptions, target: Target) -> list[Any]:
    """The user belongs to it: messages lose the user-id of another."""
    return [target.host, target.port, target.virtual_host, target.username, target.tls]


#: Name of an option -> its part of the identity. The limits of captures are parts as well.
PARTS: dict[str, Callable[[ReplayOptions, Target], Any]] = {
    "files": _files,
    "where": _where,
    "keylog": _keylog,
    "to": _to,
    "since": lambda options, target: repr(options.time.since),
    "until": lambda options, target: repr(options.time.until),
    "arrangement": lambda options, target: options.source.arrangement,
    "ports": lambda options, target: options.source.ports,
    "protocol": lambda options, target: options.source.protocol,
    "map": lambda options, target: options.map,
}


def _digest(file: Path | Uri) -> str:
    """The digest of all bytes of a file."""
    if not can_be_read_again(file):
        raise UsageError(f"--journal: {file} cannot be read twice: save it to a file first")
    digest = hashlib.sha256()
    try:
        with _open_source(file) as opened:
            while data := opened.read(CHUNK_BYTES):
                digest.update(data)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror or error}") from None
    return digest.hexdigest()


def _open_source(file: Path | Uri) -> IO[bytes]:
    if isinstance(file, Uri):
        located: Any = file.located
        return located.open()  # type: ignore[no-any-return]
    return open(file, "rb")
