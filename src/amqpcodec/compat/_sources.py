"""Sources of a client's functions: what a drop-in knows them by.

A drop-in does the work of functions without calling them. Which ones it knows is a table
(`_known.py`) of hashes: of the files of a client's versions, and of the sources of its functions.
Not of their bytecode, which another version of Python compiles otherwise.

A path in the table says what was hashed: ``pika.frame:Frame._marshal`` is one function,
``pamqp.decode:*`` all functions of a module but those of names such as ``__annotate__``, which
CPython adds by itself since 3.14, ``pika.spec`` a module's whole file.

A module whose file is known has known functions, as long as they are those that the file defines:
that is the fast way, which every version of the table goes. In other files, functions are known
one by one. What is not known is used only as far as it can be compared: functions from bytes to
values and back, and classes, that give the client's own results in a first comparison. The patch
points of all others (methods of connections, what joins frames to messages) stay the client's own.

``python -m amqpcodec.compat sources pika`` prints the hashes of the client that is installed.
"""

from __future__ import annotations

import os
import sys
from binascii import crc32
from collections.abc import Iterable, Iterator
from importlib import import_module
from types import CodeType, FunctionType, ModuleType
from typing import Any

from ._known import KNOWN

__all__ = ["Sources", "calls_same_name", "digest", "file_digest", "member", "names_used", "source"]

#: (file, size, time of its last change) -> its hash.
_FILES: dict[tuple[str, int, int], str] = {}


def member(cls: Any, name: str) -> Any:
    """What a class or one above it has under a name, descriptors as they are; else None."""
    for base in cls.__mro__:
        if name in vars(base):
            return vars(base)[name]
    return None


def _shorten(hashed: bytes) -> str:
    import hashlib

    return hashlib.sha256(hashed).hexdigest()[:16]


def file_digest(name: str) -> str | None:
    """Length and CRC-32 of a module's file, however its lines end; None: it cannot be read.

    They tell versions apart and notice edits. SHA-256 would cost each start the import of hashlib,
    and a file that somebody forges beside the client could as well change this module.
    """
    path = getattr(import_module(name), "__file__", None)
    if path is None:
        return None
    try:
        status = os.stat(path)
        key = (path, status.st_size, status.st_mtime_ns)
        if key not in _FILES:
            with open(path, "rb") as file:
                text = file.read().replace(b"\r\n", b"\n")
            _FILES[key] = f"{len(text)}-{crc32(text):08x}"
    except OSError:
        return None
    return _FILES[key]


def _is_defined(function: Any, module: ModuleType, name: str) -> bool:
    """Whether a function is the one that its module's file defines under a name."""
    if isinstance(function, staticmethod | classmethod):
        function = function.__func__
    return (
        type(function) is FunctionType
        and function.__globals__ is vars(module)
        and function.__code__.co_qualname == name
        and function.__code__.co_filename == module.__file__
    )


def source(function: Any) -> str | None:
    """The text of a function or module as its file has it, without what has no meaning.

    That is: indentation of the whole, blanks at the ends of lines, empty lines, how lines
    end. None: it is neither, or there is no file (a client of .pyc files alone).
    """
    import inspect
    import textwrap

    if isinstance(function, staticmethod | classmethod):
        function = function.__func__
    if type(function) is FunctionType:
        function = function.__code__
    elif not isinstance(function, ModuleType):
        return None
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError, SyntaxError):
        return None
    lines = (line.rstrip() for line in textwrap.dedent(text).splitlines())
    return "\n".join(line for line in lines if line)


def calls_same_name(function: Any, name: str) -> bool:
    """Whether a method may call those of its name in classes above: it uses `super` or this name,
    or it is no function of Python."""
    used = names_used(function)
    return used is None or "super" in used or name in used


def names_used(function: Any) -> set[str] | None:
    """Names and attributes that a function uses; None: it is no function of Python."""
    if isinstance(function, staticmethod | classmethod):
        function = function.__func__
    if type(function) is not FunctionType:
        return None
    return set(_names(function.__code__))


def _names(code: CodeType) -> Iterator[str]:
    yield from (*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


class PatchedError(LookupError):
    """What stands under a path is not the client's own."""


def digest(path: str) -> str | None:
    """The hash of what a path says: 16 hexadecimal digits of SHA-256.

    None: its source cannot be read.

    Raises:
        ImportError, AttributeError: there is nothing under this path.
        PatchedError: somebody put something else there.
    """
    name, _, inside = path.partition(":")
    module = import_module(name)
    if inside == "*":
        functions = [
            function
            for attribute, function in sorted(vars(module).items())
            if type(function) is FunctionType
            and function.__module__ == name
            and not (attribute.startswith("__") and attribute.endswith("__"))
        ]
        texts = [text for text in map(source, functions) if text is not None]
        complete = bool(texts) and len(texts) == len(functions)
        text = "\n".join(texts) if complete else None
    else:
        member: Any = module
        for part in inside.split(".") if inside else ():
            if part not in vars(member):
                raise AttributeError(part)
            member = vars(member)[part]
        if inside and getattr(member, "__globals__", None) is not vars(module):
            raise PatchedError(path)
        text = source(member)
    return None if text is None else _shorten(text.encode())


class Sources:
    """What is known of a client's functions.

    Args:
        client: its name in the table.
    """

    def __init__(self, client: str) -> None:
        self.known = KNOWN[client]
        self.versions = self.known.versions

    def why_not(self, paths: Iterable[str], patched: bool = False) -> str | None:
        """Why the work of these functions cannot be done here, in words; None: it can.

        patched: one that somebody patched is no reason: its patch point is left to it, and a guard
            that rests on it never holds.
        """
        files: dict[str, bool] = {}
        for path in paths:
            if self._is_of_known_file(path, files):
                continue
            try:
                source_digest = digest(path)
            except (ImportError, AttributeError):
                return f"there is no {path}"
            except PatchedError:
                if patched:
                    continue
                return f"{path} is not the client's own"
            if source_digest is None:
                return f"the source of {path} cannot be read, so that nothing says what it does"
            if source_digest not in self.known.functions.get(path, ()):
                return f"the source of {path} is not one that this drop-in was compared with"
        return None

    def _is_of_known_file(self, path: str, files: dict[str, bool]) -> bool:
        """Whether the file of a version defines what a path says, and nobody changed it since.

        files: module -> whether its file is known, of those that were asked for.
        """
        name, _, inside = path.partition(":")
        if name not in files:
            try:
                files[name] = file_digest(name) in self.known.files.get(name, ())
            except ImportError:
                files[name] = False
        if not files[name]:
            return False
        module = sys.modules[name]
        if inside == "*":
            return all(
                _is_defined(value, module, attribute)
                for attribute, value in list(vars(module).items())
                if type(value) is FunctionType
                and value.__module__ == name
                and not (attribute.startswith("__") and attribute.endswith("__"))
            )
        member: Any = module
        for part in inside.split(".") if inside else ():
            member = vars(member).get(part) if hasattr(member, "__dict__") else None
        return not inside or _is_defined(member, module, inside)
