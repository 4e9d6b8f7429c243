"""The parser of the arguments of each program of the package."""

from __future__ import annotations

import argparse
from typing import NoReturn

from .escaping import escaped

__all__ = ["Parser"]


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line; they name files and values, and move no cursor."""

    def error(self, message: str) -> NoReturn:
        """Print the error and where the options are listed, and end with exit status 2."""
        self.exit(2, f"{self.prog}: error: {escaped(message)}; see {self.prog} --help\n")
