"""Versions as single brokers speak them: a published table with some of its methods changed."""

from __future__ import annotations

import copyreg
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from .._gen.overlays import OVERLAYS
from .interpreter import _codec
from .namespace import protocol_module
from .versions import protocol_of

__all__ = ["overlaid"]

_ALL: dict[tuple[str, str], Any] = dict(OVERLAYS)

#: "0-9+qpid" -> its module; one object each, so that its classes are the same for everybody.
_MODULES: dict[str, ModuleType] = {}


def overlaid(base: ModuleType, version: str, names: Iterable[str]) -> ModuleType:
    """The protocol module of a version with overlays.

    Raises:
        ValueError: the version has no such overlay, or two of them disagree.
    """
    requested = sorted(set(names))
    available = sorted(name for of, name in _ALL if of == version)
    for name in requested:
        if name not in available:
            hint = f"there is {', '.join(map(repr, available))}" if available else "it has none"
            raise ValueError(f"no overlay {name!r} of {version}; {hint}")
    key = "+".join([version, *requested])
    if key not in _MODULES:
        table = _changed(base.PROTOCOL.table, version, requested)
        module = protocol_module(table["module"], table)
        module.__doc__ = f"AMQP {version} as {' and '.join(requested)} speak it."
        copyreg.pickle(_codec.MessageMeta, _reduce)
        _MODULES[key] = module
    return _MODULES[key]


def _changed(table: dict[str, Any], version: str, names: list[str]) -> dict[str, Any]:
    classes = {cls["index"]: cls for cls in table["classes"]}
    for name in names:
        for change in _ALL[version, name]:
            cls = classes.get(change["index"], {**change, "methods": ()})
            methods = {method["index"]: method for method in cls["methods"]}
            methods.update({method["index"]: method for method in change["methods"]})
            classes[change["index"]] = {**cls, "methods": tuple(methods.values())}
    for cls in classes.values():
        spelt = [method["python"] for method in cls["methods"]]
        for method in cls["methods"]:
            if spelt.count(method["python"]) > 1:
                both = " and ".join(names)
                raise ValueError(f"{both} use {cls['name']}.{method['name']} for two methods")
    return {
        **table,
        "module": "+".join([table["module"], *names]),
        "classes": tuple(classes.values()),
    }


def _reduce(cls: type) -> str | tuple[Any, ...]:
    """How a class is pickled: by name where its module can be imported."""
    for key, module in _MODULES.items():
        if cls.__module__ == module.__name__:
            return _find, (key, cls.__qualname__)
    return cls.__qualname__


def _find(key: str, qualname: str) -> Any:
    """Undo _reduce."""
    version, *names = key.split("+")
    target: Any = overlaid(protocol_of(version), version, names)
    for part in qualname.split("."):
        target = getattr(target, part)
    return target
