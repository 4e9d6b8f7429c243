"""URIs of captures: what they name, and globs in them, as Hadoop writes both."""

from __future__ import annotations

import re
from urllib.parse import unquote

__all__ = [
    "cut_at_glob",
    "is_remote",
    "local_path",
    "pattern",
    "shown",
    "split_scheme",
    "with_slashes",
]

#: A letter alone is a drive of Windows.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
#: ``dbfs:/`` is written so, and pathlib makes ``s3:/bucket`` of ``s3://bucket``.
_ONE_SLASH = re.compile(r"(dbfs|s3[an]?|gc?s|abfss?|hdfs|https?|memory|az|adl):/(?!/)")
_GLOB = re.compile(r"[*?\[{]")


def is_remote(path: str) -> bool:
    """Whether a path is a URI of something else than this machine's files."""
    match = _SCHEME.match(path) or _ONE_SLASH.match(path)
    return match is not None and match[1].lower() != "file"


def with_slashes(uri: str) -> str:
    """A URI with both of its slashes."""
    match = _ONE_SLASH.match(uri)
    return uri if match is None else f"{match[1]}://{uri[match.end() :]}"


def local_path(path: str) -> str:
    """A path of this machine; ``file:`` may stand before it.

    Raises:
        ValueError: it names another host, or another scheme.
    """
    if path[:5].lower() == "file:":
        host, remainder = "", path[5:]
        if remainder[:2] == "//":
            host, slash, remainder = remainder[2:].partition("/")
            remainder = slash + remainder
        if host not in ("", "localhost"):
            raise ValueError(f"{path!r} names a file of the host {host!r}, not of this one")
        return unquote(remainder)  # a question mark begins no query here: it may be of a glob
    if is_remote(path):
        raise ValueError(f"{path!r} is no file of this machine")
    return path


def shown(uri: str) -> str:
    """A URI without the password or the arguments that may stand in it."""
    match = _SCHEME.match(uri)
    if match is None:
        return uri
    authority, slash, path = uri[match.end() :].partition("/")
    user, at, host = authority.rpartition("@")
    authority = host if ":" in user else f"{user}{at}{host}"
    return f"{match[0]}{authority}{slash}{path.split('?', 1)[0] if '=' in path else path}"


def split_scheme(uri: str) -> tuple[str, str]:
    """The scheme, in lower case, and what comes after its slashes; without one, "" and all."""
    match = _SCHEME.match(uri)
    return ("", uri) if match is None else (match[1].lower(), uri[match.end() :])


def cut_at_glob(uri: str) -> tuple[str, str]:
    """The folder before the first part that is a glob, and the parts from there on, if any.

    Of ``http:`` and ``https:`` nothing is a glob: there ``?`` is what arguments begin with.
    """
    scheme, remainder = split_scheme(uri)
    begin = len(uri) - len(remainder)
    glob = None if scheme in ("http", "https") else _GLOB.search(uri, begin)
    if glob is None:
        return uri, ""
    slash = uri.rfind("/", begin, glob.start())
    if slash < 0:
        return uri[:begin], uri[begin:]
    return uri[: max(slash, 1)], uri[slash + 1 :]


def pattern(glob: str) -> re.Pattern[str]:
    """A glob of Hadoop's as a pattern for the path below its folder; ``**`` is any folders."""
    out, depth = [], 0
    for part in re.findall(r"\[[^\]]+\]|\*\*/?|.", glob, re.DOTALL):
        if part == "**/":
            out.append("(?:[^/]+/)*")
        elif part == "**":
            out.append(".*")
        elif part == "*":
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
