"""Two copies of a client in one process: the one that users import, and a stock one beside it.

The second copy is imported anew while the first one's modules are set aside, before any drop-in
is installed, and is in no way reachable through ``sys.modules`` afterwards. So a drop-in changes
the first one only, and both can be asked the same things in turn.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

MODULES = {
    "pamqp": (
        "pamqp.frame",
        "pamqp.encode",
        "pamqp.decode",
        "pamqp.commands",
        "pamqp.header",
        "pamqp.body",
        "pamqp.heartbeat",
        "pamqp.exceptions",
    ),
    "pika": (
        "pika.frame",
        "pika.data",
        "pika.spec",
        "pika.connection",
        "pika.exceptions",
        "pika.channel",
    ),
    "amqp": (
        "amqp.serialization",
        "amqp.method_framing",
        "amqp.basic_message",
        "amqp.abstract_channel",
        "amqp.transport",
        "amqp.connection",
        "amqp.channel",
        "amqp.sasl",
        "amqp.exceptions",
    ),
}

_PYAMQP = ("_encode", "_decode", "message", "performatives")
#: Those of AMQP 1.0, which have one drop-in in common: azure-eventhub, azure-servicebus, rstream.
V1_MODULES = {
    "azure.eventhub._pyamqp": (*_PYAMQP, "outcomes", "endpoints", "error", "sasl"),
    "azure.servicebus._pyamqp": (*_PYAMQP, "outcomes", "endpoints", "error", "sasl"),
    "rstream._pyamqp": _PYAMQP,
}
MODULES_OF = {
    **MODULES,
    **{name: tuple(f"{name}.{part}" for part in parts) for name, parts in V1_MODULES.items()},
}


class Side:
    """One copy of a client: its modules by their last name (``side.frame`` is pika.frame)."""

    def __init__(self, package: str, modules: dict[str, ModuleType]) -> None:
        self.package = package
        self.modules = modules

    def __getattr__(self, name: str) -> Any:
        try:
            return self.modules[f"{self.package}.{name}"]
        except KeyError:
            raise AttributeError(name) from None


def _own(package: str) -> dict[str, ModuleType]:
    dotted = package + "."
    modules = sys.modules.items()
    return {name: module for name, module in modules if (name + ".").startswith(dotted)}


def live(package: str) -> Side:
    """The copy in ``sys.modules``, all of the modules that matter imported."""
    for name in MODULES_OF[package]:
        importlib.import_module(name)
    return Side(package, _own(package))


_STOCK: dict[str, Side] = {}


def stock(package: str) -> Side:
    """The second copy; made once. No drop-in for the package may be installed at that time."""
    if package not in _STOCK:
        live(package)
        modules = _own(package)
        for name in modules:
            del sys.modules[name]
        try:
            for name in MODULES_OF[package]:
                importlib.import_module(name)
            _STOCK[package] = Side(package, _own(package))
        finally:
            for name in _own(package):
                del sys.modules[name]
            sys.modules.update(modules)
            parent, _, name = package.rpartition(".")
            if parent:
                setattr(sys.modules[parent], name, modules[package])
    return _STOCK[package]


def dropin(package: str) -> Any:
    """The drop-in's module."""
    name = "azure" if package in V1_MODULES else package
    return importlib.import_module(f"amqpcodec.compat.{name}")


@contextmanager
def installed(package: str, **options: Any) -> Iterator[tuple[Side, Side]]:
    """(stock, live with the drop-in); uninstalled at the end."""
    plain = stock(package)
    module = dropin(package)
    module.install(**options)
    try:
        yield plain, live(package)
    finally:
        module.uninstall()
