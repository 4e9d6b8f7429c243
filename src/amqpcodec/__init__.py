"""The AMQP wire codec: objects, columns and captures over one compiled core.

Protocol modules are ``amqpcodec.v0_9_1`` (with RabbitMQ's extensions); columns are in
``amqpcodec.batch``, typed table values in ``amqpcodec.types``.

``import amqpcodec`` loads no NumPy, pyarrow, PySpark or lxml.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

from .errors import (
    AMQPCodecError,
    ChannelError,
    ContentTooLargeError,
    DecodeError,
    DepthError,
    EncodeError,
    FrameEndError,
    FrameTooLargeError,
    FrameTypeError,
    HeaderError,
    HeartbeatError,
    IncompleteError,
    TrailingError,
    TruncatedError,
    UnexpectedFrameError,
    UnknownMethodError,
    UnknownTagError,
    ValidationError,
)

if TYPE_CHECKING:
    import os
    from typing import BinaryIO

__version__ = "0.1.0.dev0"

__all__ = [
    "AMQPCodecError",
    "ChannelError",
    "ContentTooLargeError",
    "DecodeError",
    "DepthError",
    "EncodeError",
    "FrameEndError",
    "FrameTooLargeError",
    "FrameTypeError",
    "HeaderError",
    "HeartbeatError",
    "IncompleteError",
    "TrailingError",
    "TruncatedError",
    "UnexpectedFrameError",
    "UnknownMethodError",
    "UnknownTagError",
    "ValidationError",
    "__version__",
    "load_xml_spec",
    "protocol",
]

#: Version -> protocol module.
_PROTOCOLS = {"0-9-1": "v0_9_1", "0-9": "v0_9", "0-8": "v0_8"}


def protocol(name: str) -> ModuleType:
    """The protocol module of a version: ``protocol("0-9-1")`` is ``amqpcodec.v0_9_1``.

    Raises:
        ValueError: there is no such version.
    """
    if name not in _PROTOCOLS:
        known = ", ".join(map(repr, _PROTOCOLS))
        raise ValueError(f"no protocol {name!r}; there is {known}")
    return importlib.import_module(f"{__name__}.{_PROTOCOLS[name]}")


def load_xml_spec(path: str | os.PathLike[str] | BinaryIO) -> ModuleType:
    """A protocol from an XML file of the 0-x grammar, with all that a built-in one has.

    Nothing in the file is executed; entities, DTDs and the network are off.

    Args:
        path: name of a file, or a binary file.

    Raises:
        ImportError: lxml is missing (``pip install "amqpcodec[spec]"``).
        amqpcodec.spec.SpecError: the file is not a specification; names file and line.
    """
    from ._namespace import protocol_module
    from .spec.loader import load
    from .spec.lower import lower

    model = load(path)
    name = f"{__name__}.xml.{model.name}"
    return protocol_module(name, lower(model, name))
