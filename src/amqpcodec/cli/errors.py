"""Exit statuses, errors of use, and how the command line prints them."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable

from .._facade.escaping import escaped

__all__ = [
    *("BAD_DATA", "INTERRUPTED", "OK", "USAGE"),
    *("UsageError", "did_you_mean", "need_extra", "print_error"),
]

#: Exit status: all was read; bad data was found and reported; wrong usage, or an unreadable file;
#: Ctrl-C.
OK, BAD_DATA, USAGE, INTERRUPTED = 0, 1, 2, 130


class UsageError(Exception):
    """What the user has to change; shown without a traceback."""


def print_error(text: str) -> None:
    """One line on standard error, after what was written so far; it moves no cursor."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        pass
    print(f"amqpcodec: {escaped(text)}", file=sys.stderr)


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """The end of an error that names what was probably meant, if anything was."""
    near = difflib.get_close_matches(word, list(words), n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""


def need_extra() -> None:
    """Name the extra that has to be installed.

    Raises:
        UsageError: pyarrow or rich is not installed.
    """
    try:
        import pyarrow  # noqa: F401
        import rich  # noqa: F401
    except ImportError as error:
        raise UsageError(f'{error.name} is needed: pip install "amqpcodec[cli]"') from None
