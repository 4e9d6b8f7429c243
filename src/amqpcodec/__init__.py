"""The AMQP wire codec: objects, columns and captures over one compiled core.

Protocol modules are ``amqpcodec.v0_9_1`` (with RabbitMQ's extensions), ``v0_9``, ``v0_8`` and
``v1_0``; :func:`negotiate` says which of the first three speaks what a protocol header asks for.
Columns are in ``amqpcodec.batch``, typed table values in ``amqpcodec.types``.

``import amqpcodec`` loads no NumPy, pyarrow, PySpark or lxml.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from ._facade.objects import asdict, replace
from ._facade.public import listing
from ._facade.versions import PROTOCOLS, protocol_of
from .errors import (
    AMQPCodecError,
    ChannelError,
    ContentTooLargeError,
    DecodeError,
    DepthError,
    EncodeError,
    FieldError,
    FrameEndError,
    FrameTooLargeError,
    FrameTypeError,
    FramingError,
    HeaderError,
    HeartbeatError,
    IncompleteError,
    ResourceLimitError,
    SectionError,
    SizeError,
    TextError,
    TrailingError,
    TruncatedError,
    UnexpectedFrameError,
    UnknownMethodError,
    UnknownTagError,
    ValidationError,
)
from .negotiation import Negotiation, negotiate

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from typing import BinaryIO, Literal

__version__ = "0.1.0.dev0"

__all__ = [
    "AMQPCodecError",
    "ChannelError",
    "ContentTooLargeError",
    "DecodeError",
    "DepthError",
    "EncodeError",
    "FieldError",
    "FrameEndError",
    "FrameTooLargeError",
    "FrameTypeError",
    "FramingError",
    "HeaderError",
    "HeartbeatError",
    "IncompleteError",
    "Negotiation",
    "ResourceLimitError",
    "SectionError",
    "SizeError",
    "TextError",
    "TrailingError",
    "TruncatedError",
    "UnexpectedFrameError",
    "UnknownMethodError",
    "UnknownTagError",
    "ValidationError",
    "__version__",
    "asdict",
    "install",
    "load_xml_spec",
    "negotiate",
    "protocol",
    "replace",
]

__dir__ = listing(__name__)


def protocol(name: str, overlays: Iterable[str] = ()) -> ModuleType:
    """The protocol module of a version: ``protocol("0-9-1")`` is ``amqpcodec.v0_9_1``.

    Args:
        name: such as "0-9"; "0-9+qpid" is short for the overlay with that name.
        overlays: brokers whose own methods are laid over the published ones: "qpid" (of 0-9-1,
            0-9 and 0-8), "rabbitmq" (of 0-9-1: class access; of 0-8). The same ones give the
            same module.

    Raises:
        ValueError: there is no such version or overlay.
    """
    version, *more = name.split("+")
    if isinstance(overlays, str):
        raise TypeError(f"overlays takes names in a tuple, not {overlays!r}")
    if version not in PROTOCOLS:
        versions = ", ".join(map(repr, PROTOCOLS))
        raise ValueError(f"no protocol {name!r}; there is {versions}")
    module = protocol_of(version)
    names = [*more, *overlays]
    if not names:
        return module
    from ._facade.overlays import overlaid

    return overlaid(module, version, names)


def install(
    *clients: str,
    strict: bool = True,
    on_unknown: Literal["warn", "error", "skip"] = "warn",
) -> None:
    """Make clients faster that are there already: ``amqpcodec.install("pika")``.

    Of several names all are installed or, where one is refused, none: the drop-ins are then what
    they were before the call.

    Args:
        clients: names of packages; `amqpcodec.compat` says which there are.
        strict: False makes a header value that the client cannot read a `types.RawValue`; else it
            is the client's error, as without the drop-in.
        on_unknown: what is done about a client that is none of the versions that were compared with
            its drop-in (`docs/guide/drop-ins.md` lists them), or that was changed. "warn" compares
            it now, uses what gives the client's own results and gives a `compat.CompatWarning` that
            names what is left to the client; "error" raises `compat.CompatError`; "skip" gives the
            warning and leaves this client as it is.

    Raises:
        ValueError: no drop-in has this name, or `on_unknown` is another word.
        amqpcodec.compat.CompatError: the client is missing, not one that the drop-in fits (the text
            names the first value that differs), or not known and `on_unknown` is "error".
    """
    from .compat import drop_in
    from .compat._dropin import all_or_none

    modules = [drop_in(client) for client in clients]
    with all_or_none(one for module in modules for one in module.DROP_INS):
        for module in modules:
            module.install(strict=strict, on_unknown=on_unknown)


def load_xml_spec(
    path: str | os.PathLike[str] | BinaryIO | None = None,
    *,
    max_bytes: int = 16 * 1024 * 1024,
    max_depth: int = 256,
) -> ModuleType:
    """A protocol from an XML file of the 0-x grammar, with all that a built-in one has.

    Nothing in the file is executed; entities, DTDs and the network are off. A name that the module
    has already gets an underscore at its end. Instances can be copied but not pickled: there is no
    module to import their class from.

    Args:
        path: name of a file, or a binary file. Without it you get the built-in 0-9-1,
            `amqpcodec.v0_9_1`, which needs no lxml.
        max_bytes: the most that it may have; a larger one is a SpecError.
        max_depth: how many elements may be within each other, at most 256; likewise.

    Raises:
        ImportError: lxml is missing (``pip install "amqpcodec[spec]"``).
        amqpcodec.spec.SpecError: the file is not a specification, or a constant of it gives
            frames another form than they have (`frame-end` is not 206).
    """
    if path is None:
        return protocol("0-9-1")
    from ._facade.namespace import protocol_module
    from .spec.loader import load
    from .spec.lower import lower

    model = load(path, max_bytes=max_bytes, max_depth=max_depth)
    name = f"{__name__}.xml.{model.name}"
    return protocol_module(name, lower(model, name))
