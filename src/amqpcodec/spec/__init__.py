"""Protocols as data: the model of a specification and its XML loader.

The XML of the built-in versions, and the generator that uses this package, are in the repository's
top-level folder ``spec/``; nothing of that is installed.

Importing this package does not import lxml; only :func:`load` needs it.
"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from .._facade.public import listing
from .errors import SpecError
from .model import (
    WIRE_TYPES,
    Assert,
    Chassis,
    Class,
    Constant,
    Domain,
    Field,
    Method,
    Protocol,
    Rule,
    class_identifier,
    identifier,
)

if TYPE_CHECKING:
    import os

__all__ = [
    "WIRE_TYPES",
    "Assert",
    "Chassis",
    "Class",
    "Constant",
    "Domain",
    "Field",
    "Method",
    "Protocol",
    "Rule",
    "SpecError",
    "class_identifier",
    "identifier",
    "load",
]

__dir__ = listing(__name__)


def load(source: str | os.PathLike[str] | IO[bytes] | IO[str]) -> Protocol:
    """Read an AMQP 0-8, 0-9 or 0-9-1 specification in XML: a path or an open file.

    Nothing but the file itself is read: no entities, no DTD, no network.

    Raises:
        SpecError: the file is malformed; the error names its place.
        ImportError: lxml is missing (extra ``amqpcodec[spec]``).
        OSError: the path cannot be read.
    """
    from .loader import load as load_xml

    return load_xml(source)
