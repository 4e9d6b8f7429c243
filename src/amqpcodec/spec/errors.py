"""The one error of the specification loader."""

from __future__ import annotations

from ..errors import AMQPCodecError

__all__ = ["SpecError"]


class SpecError(AMQPCodecError, ValueError):
    """A specification file that cannot become a protocol.

    The text reads ``FILE:LINE: what``, the form that editors and CI logs link.

    Attributes:
        what: the fault, without its place.
        file: path or name of the file, ``<spec>`` where it has none.
        line: line of the fault, from 1. For a start tag that spans lines, its last one.
    """

    def __init__(self, what: str, file: str = "<spec>", line: int = 1) -> None:
        """Place a fault in a file."""
        # All three go into args: that is what makes the error survive pickling.
        super().__init__(what, file, line)
        self.what = what
        self.file = file
        self.line = line

    def __str__(self) -> str:
        """Place first, then the fault."""
        return f"{self.file}:{self.line}: {self.what}"
