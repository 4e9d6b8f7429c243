"""The public names of a protocol, from its lowered table: the same for built-in and loaded ones."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import or_
from types import GenericAlias, ModuleType
from typing import Any

from .decoder import decoder_classes
from .interpreter import _codec

__all__ = ["finished", "namespace", "protocol_module"]

#: What the core's Protocol offers as it is.
_FROM_PROTOCOL = (
    "METHODS",
    "BadFrame",
    "Body",
    "Header",
    "Heartbeat",
    "Message",
    "ProtocolHeader",
    "encode",
    "encode_into",
    "encode_message",
    "encode_parts",
)


def namespace(table: dict[str, Any]) -> dict[str, Any]:
    """Every public name of the protocol module that a table stands for."""
    protocol = _codec.Protocol(table)
    names: dict[str, Any] = {
        "VERSION": table["version"],
        "PROTOCOL_HEADER": b"AMQP" + bytes(table["header"]),
        "PROTOCOL": protocol,
        "Frame": _codec.Frame,
        "Method": _codec.Method,
        "ContentProperties": _codec.ContentProperties,
    }
    names.update(decoder_classes(protocol))
    names.update(_aliases(protocol))
    _share_names(protocol, table)
    names.update(protocol.namespaces)
    names["decode"] = _codec.decode_function(protocol)
    return finished(names, protocol, _FROM_PROTOCOL, table)


def finished(
    names: dict[str, Any], protocol: Any, offered: Iterable[str], table: dict[str, Any]
) -> dict[str, Any]:
    """The names of a protocol module, with those that every one has: what the core's protocol
    offers, the constants of the specification, and ``__all__``."""
    names.update({name: getattr(protocol, name) for name in offered})
    names.update(table["constants"])
    names["__all__"] = listed = sorted(names)
    names["__dir__"] = lambda: listed
    return names


def _share_names(protocol: _codec.Protocol, table: dict[str, Any]) -> None:
    """Methods of a class whose name a frame has (0-9's message) are reached from there as well:
    ``Message.Transfer`` is ``Message_.Transfer``."""
    for spec in table["classes"]:
        frame = getattr(protocol, spec["python"].removesuffix("_"), None)
        if not (spec["python"].endswith("_") and isinstance(frame, type)):
            continue
        for method in spec["methods"]:
            if not hasattr(frame, method["python"]):
                own = getattr(protocol.namespaces[spec["python"]], method["python"])
                setattr(frame, method["python"], own)


def _aliases(protocol: _codec.Protocol) -> dict[str, Any]:
    """Unions for annotations and isinstance; what is generic in the stub takes [...] here, too."""
    for kind in (protocol.Body, protocol.Message):
        kind.__class_getitem__ = classmethod(GenericAlias)
    others = protocol.Heartbeat | protocol.ProtocolHeader
    carriers = [method for method in protocol.METHODS.values() if method.HAS_CONTENT]
    return {
        "AnyFrame": _codec.Method | protocol.Header | protocol.Body | others,
        "AnyEvent": _codec.Method | protocol.Message | others,
        **({"ContentMethod": reduce(or_, carriers)} if carriers else {}),
    }


def protocol_module(name: str, table: dict[str, Any]) -> ModuleType:
    """A module object without a file, for a specification loaded at run time."""
    module = ModuleType(name, f"AMQP {table['name']}, loaded from XML.")
    module.__dict__.update(namespace(table))
    return module
