"""Completion in a shell: commands, options, files, and the names of each command's columns."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable

from .errors import UsageError

__all__ = ["complete", "script"]

#: Options that take names of columns between commas, or one at the beginning.
NAMES = ("--fields", "--sort", "--where")


def script(shell: str) -> str:
    """What a shell has to run once.

    Raises:
        UsageError: argcomplete is not installed.
    """
    try:
        from argcomplete.shell_integration import shellcode
    except ImportError:
        raise UsageError('argcomplete is needed: pip install "amqpcodec[cli]"') from None
    return str(shellcode(["amqpcodec"], shell=shell))


def complete(parser: argparse.ArgumentParser) -> None:
    """Answer a shell that asks, and end; do nothing where none does."""
    try:
        import argcomplete
    except ImportError:
        return
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                _complete_names(name, command)
    argcomplete.autocomplete(parser)


def _complete_names(name: str, command: argparse.ArgumentParser) -> None:
    for action in command._actions:
        if set(action.option_strings) & set(NAMES):
            action.completer = _completer(name)  # type: ignore[attr-defined]


def _completer(command: str) -> Callable[..., Iterable[str]]:
    def names(prefix: str, parsed_args: object, **more: object) -> Iterable[str]:
        """What may follow the last comma."""
        from .columns import names_of

        before, comma, _ = prefix.rpartition(",")
        level = getattr(parsed_args, "level", None) or "frame"
        columns = names_of(command, level, getattr(parsed_args, "protocol", None))
        return [f"{before}{comma}{column}" for column in columns]

    return names
