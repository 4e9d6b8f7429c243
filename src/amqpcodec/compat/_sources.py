"""Sources of a client's functions: what a drop-in knows them by.

A drop-in does the work of functions without calling them. Which ones it knows is a table
(`_known.py`): the hash of a function's source, by the client's version. Not its bytecode, which
another Python compiles otherwise.
"""

from __future__ import annotations

import hashlib
import inspect
import textwrap
from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Any

__all__ = ["calls_its_like", "digest", "source"]


def source(function: Any) -> str | None:
    """The text of a function as its module's file has it, without what has no meaning.

    That is: indentation of the whole, blanks at the ends of lines, empty lines, the kind of line
    ends. None: it is no function, or there is no file (a client of .pyc files alone).
    """
    if isinstance(function, staticmethod | classmethod):
        function = function.__func__
    if type(function) is not FunctionType:
        return None
    return _source(function.__code__)


@lru_cache(maxsize=1024)
def _source(code: Any) -> str | None:
    try:
        text = inspect.getsource(code)
    except (OSError, TypeError, SyntaxError):
        return None
    lines = (line.rstrip() for line in textwrap.dedent(text).splitlines())
    return "\n".join(line for line in lines if line)


def digest(function: Callable[..., Any]) -> str | None:
    """The hash of a function's source: 16 hexadecimal digits of SHA-256; None: it has none."""
    text = source(function)
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()[:16]


def calls_its_like(function: Any, name: str) -> bool:
    """Whether a method may call those of its name in classes above: its source has `super` or
    `.name(` in it, or cannot be read."""
    text = source(function)
    return text is None or "super" in text or f".{name}(" in text
