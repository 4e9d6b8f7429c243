"""The entry point: parses the arguments, runs the command, returns the exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from .arguments import parse_arguments
from .errors import INTERRUPTED, OK, USAGE, UsageError, print_error

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status."""
    try:
        command = parse_arguments(sys.argv[1:] if arguments is None else arguments)
    except SystemExit as ended:  # argparse has said why
        return ended.code if isinstance(ended.code, int) else USAGE
    try:
        status = command.run(command.options)
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
