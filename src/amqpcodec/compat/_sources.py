"""Sources of a client's functions: what a drop-in knows them by.

A drop-in does the work of functions without calling them. Which ones it knows is a table
(`_known.py`): a client's version, and hashes of the sources of its functions. Not of their
bytecode, which another version of Python compiles otherwise.

A path in the table says what was hashed: ``pika.frame:Frame._marshal`` is one function,
``pamqp.decode:*`` all functions of a module but those of names such as ``__annotate__``, which
CPython adds by itself since 3.14, ``pika.spec`` a module's whole file.

What is not known is used only as far as it can be compared: functions from bytes to values and
back, and classes, that give the client's own results in a first comparison. The seams of all others
(methods of connections, what joins frames to messages) stay the client's own.

``python -m amqpcodec.compat pika`` prints the hashes of the client that is installed.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import textwrap
from collections.abc import Iterable
from functools import lru_cache
from importlib import import_module
from inspect import getattr_static
from types import FunctionType, ModuleType
from typing import Any

from ._known import KNOWN

__all__ = ["Sources", "calls_its_like", "digest", "names_used", "source"]


def source(function: Any) -> str | None:
    """The text of a function or module as its file has it, without what has no meaning.

    That is: indentation of the whole, blanks at the ends of lines, empty lines, how lines
    end. None: it is neither, or there is no file (a client of .pyc files alone).
    """
    if isinstance(function, staticmethod | classmethod):
        function = function.__func__
    if type(function) is FunctionType:
        return _source(function.__code__)
    return _source(function) if isinstance(function, ModuleType) else None


@lru_cache(maxsize=2048)
def _source(thing: Any) -> str | None:
    try:
        text = inspect.getsource(thing)
    except (OSError, TypeError, SyntaxError):
        return None
    lines = (line.rstrip() for line in textwrap.dedent(text).splitlines())
    return "\n".join(line for line in lines if line)


def calls_its_like(function: Any, name: str) -> bool:
    """Whether a method may call those of its name in classes above: its source has `super` or
    `.name(` in it, or cannot be read."""
    text = source(function)
    return text is None or "super" in text or f".{name}(" in text


def names_used(function: Any) -> set[str] | None:
    """Names and attributes that a function's body uses; None: its source cannot be read."""
    text = source(function)
    if text is None:
        return None
    try:
        (defined,) = ast.parse(text).body
    except (SyntaxError, ValueError):
        return None
    nodes = [node for each in getattr(defined, "body", ()) for node in ast.walk(each)]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return names | {node.attr for node in nodes if isinstance(node, ast.Attribute)}


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
        whole = bool(texts) and len(texts) == len(functions)
        text = "\n".join(texts) if whole else None
    else:
        found: Any = module
        for part in inside.split(".") if inside else ():
            found = getattr_static(found, part)
        if inside and getattr(found, "__globals__", None) is not vars(module):
            raise PatchedError(path)
        text = source(found)
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()[:16]


class Sources:
    """What is known of a client's functions.

    Args:
        client: its name in the table.
    """

    def __init__(self, client: str) -> None:
        self.versions = tuple(KNOWN[client])
        self.known: dict[str, set[str]] = {}
        for paths in KNOWN[client].values():
            for path, its in paths.items():
                self.known.setdefault(path, set()).add(its)

    def why_not(self, paths: Iterable[str], patched: bool = False) -> str | None:
        """Why the work of these functions cannot be done here, in words; None: it can.

        patched: one that somebody patched is no reason: its seam is left to it, and a guard that
            rests on it never holds.
        """
        for path in paths:
            try:
                found = digest(path)
            except (ImportError, AttributeError):
                return f"there is no {path}"
            except PatchedError:
                if patched:
                    continue
                return f"{path} is not the client's own"
            if found is None:
                return f"the source of {path} cannot be read, so that nothing says what it does"
            if found not in self.known.get(path, ()):
                return f"the source of {path} is not one that this drop-in was compared with"
        return None
