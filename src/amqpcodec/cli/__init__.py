"""The command line: ``amqpcodec dissect`` shows the frames of captures, others analyse them.

Needs rich and pyarrow: ``pip install "amqpcodec[cli]"``.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence

__all__ = ["main"]

#: Exit status: all was read; bad data was found and reported; wrong usage, or an unreadable file;
#: Ctrl-C.
OK, BAD_DATA, USAGE, INTERRUPTED = 0, 1, 2, 130


class UsageError(Exception):
    """What the user has to change; shown without a traceback."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status."""
    from .arguments import parse_arguments

    try:
        options = parse_arguments(sys.argv[1:] if arguments is None else arguments)
    except SystemExit as ended:  # argparse has said why
        return ended.code if isinstance(ended.code, int) else USAGE
    try:
        command: Callable[[argparse.Namespace], int] = options.command
        status = command(options)
        sys.stdout.flush()
        return status
    except UsageError as error:
        print_error(str(error))
        return USAGE
    except BrokenPipeError:
        # The reader has seen enough. Python flushes stdout once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except OSError as error:  # of the output: what is wrong with an input is known as such
        print_error(error.strerror or str(error))
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED


def print_error(text: str) -> None:
    """One line on standard error, after what was written so far; it moves no cursor."""
    from .escaping import escaped

    try:
        sys.stdout.flush()
    except BrokenPipeError:
        pass
    print(f"amqpcodec: {escaped(text)}", file=sys.stderr)


def need_extra() -> None:
    """Say what to install where it is not there."""
    try:
        import pyarrow  # noqa: F401
        import rich  # noqa: F401
    except ImportError as error:
        raise UsageError(f'{error.name} is needed: pip install "amqpcodec[cli]"') from None
