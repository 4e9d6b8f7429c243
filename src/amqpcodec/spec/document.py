"""Read the XML of a specification, which may come from anywhere.

Nothing but the file itself is read: entities, DTDs and the network are off, sizes are bounded, and
whatever is wrong is a :class:`SpecError` with file and line.
"""

from __future__ import annotations

import os
import re
from typing import IO, Any, NoReturn
from xml.parsers import expat

from .errors import SpecError

try:
    from lxml import etree
except ImportError as error:
    raise ImportError(
        'reading an AMQP specification needs lxml: pip install "amqpcodec[spec]"', name="lxml"
    ) from error

__all__ = ["MAX_BYTES", "MAX_DEPTH", "parse_document", "read_document"]

MAX_BYTES = 16 * 1024 * 1024
#: Elements within each other; libxml2 takes no more.
MAX_DEPTH = 256


def read_document(
    source: str | os.PathLike[str] | IO[bytes] | IO[str], max_bytes: int = MAX_BYTES
) -> tuple[str, bytes, str | None]:
    """Name, bytes and, for text files, the encoding that the bytes now have."""
    if isinstance(source, str | os.PathLike):
        file = os.fspath(source)
        with open(file, "rb") as stream:
            data = stream.read(max_bytes + 1)
        encoding = None
    else:
        name = getattr(source, "name", None)
        file = name if isinstance(name, str) and name else "<spec>"
        data, encoding = _read_stream(source, max_bytes)
    if len(data) > max_bytes:
        raise SpecError(f"the file is over {max_bytes} bytes", file)
    return file, data, encoding


def _read_stream(stream: IO[bytes] | IO[str], max_bytes: int) -> tuple[bytes, str | None]:
    pieces: list[bytes] = []
    size = 0
    encoding = None
    # One read may give less than asked for (pipes, sockets); only an empty one is the end.
    while size <= max_bytes:
        piece = stream.read(max_bytes + 1 - size)
        if not piece:
            break
        if isinstance(piece, str):
            # A text file is decoded already: what its XML declaration says no longer holds.
            encoding = "utf-8"
            piece = piece.encode(encoding, "surrogatepass")
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces), encoding


def parse_document(file: str, data: bytes, encoding: str | None, max_depth: int = MAX_DEPTH) -> Any:
    """The root element, from what read_document gave; lxml ships no types."""
    _refuse_entities(file, data, encoding)
    parser = etree.XMLParser(
        encoding=encoding,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root: Any = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        what = re.sub(r", line \d+, column \d+$", "", error.msg or "not well-formed XML")
        raise SpecError(what, file, error.lineno or 1) from None
    # Where an external DTD could declare it, an unknown entity is only a warning to libxml2,
    # and the reference silently drops out of attributes.
    for entry in parser.error_log:
        if entry.type == etree.ErrorTypes.WAR_UNDECLARED_ENTITY:
            raise SpecError(f"entities are not read: {entry.message}", file, entry.line)
    dtd = root.getroottree().docinfo.internalDTD
    if dtd is not None and any(True for _ in dtd.iterentities()):
        # Only reached where expat does not know the file's encoding.
        raise SpecError("the DOCTYPE declares entities, which are not read", file)
    _check_depth(file, root, max_depth)
    return root


def _check_depth(file: str, root: Any, most: int) -> None:
    depth = 0
    for event, element in etree.iterwalk(root, events=("start", "end")):
        depth += 1 if event == "start" else -1
        if depth > most:
            what = f"more than {most} elements within each other"
            raise SpecError(what, file, element.sourceline)


def _refuse_entities(file: str, data: bytes, encoding: str | None) -> None:
    """Refuse a prolog that declares an entity, before anything can expand it.

    libxml2 expands entities in attributes whatever its options say, and does not tell
    the line of a declaration. expat reads up to the first start tag and no further.
    """
    scan = expat.ParserCreate(encoding)

    def refuse(name: str, *_: object) -> NoReturn:
        what = f"the DOCTYPE declares the entity {name!r}; entities are not read"
        raise SpecError(what, file, scan.CurrentLineNumber)

    def stop(*_: object) -> NoReturn:
        raise _PrologEnd

    scan.EntityDeclHandler = refuse
    scan.StartElementHandler = stop
    try:
        scan.Parse(data, True)
    except SpecError:
        raise
    except (_PrologEnd, expat.ExpatError, LookupError, ValueError):
        pass  # whatever else is wrong with the file, lxml is about to say it better


class _PrologEnd(Exception):
    pass
