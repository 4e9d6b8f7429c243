"""Which classes of a client may be made and read without running its code, and until when."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from inspect import getattr_static
from types import FunctionType, MemberDescriptorType
from typing import Any, Generic, NamedTuple

from amqpcodec import _dropins

from ._sources import calls_its_like

#: What would change how instances are made, or what setting an attribute means.
_SPECIAL = ("__new__", "__setattr__", "__getattribute__", "__delattr__", "__del__")


class Rests(NamedTuple):
    """Names of a class that something rests on.

    Args:
        first: as far along its MRO as the first class that has one: what is there calls none of the
            others.
        every: in all classes of its MRO, where they may call each other.
    """

    first: tuple[str, ...] = ()
    every: tuple[str, ...] = ()


def is_shipped(function: object, owner: type, name: str) -> bool:
    """Whether a member of a class is the function that its module defined there."""
    module = sys.modules.get(owner.__module__)
    if isinstance(function, staticmethod | classmethod):
        function = function.__func__
    return (
        type(function) is FunctionType
        and module is not None
        and function.__globals__ is vars(module)
        and function.__qualname__ == f"{owner.__qualname__}.{name}"
        and not hasattr(function, "__wrapped__")
    )


def plain_check(
    package: str, fields: Collection[str], functions: Collection[str]
) -> Callable[[type], bool]:
    """A test of a class, along its MRO: is it as the client shipped it?

    Args:
        package: the client's name; classes above from elsewhere make a class not plain.
        fields: attributes that will be set and read directly: no property may stand before them.
        functions: methods whose work is done without calling them: they must be the client's own.
    """

    def is_plain(cls: type) -> bool:
        if type(cls) is not type or getattr(cls, "__init__", None) is None:
            return False
        for base in cls.__mro__:
            if base is object or base is Generic:
                continue
            members = vars(base)
            if base.__module__.partition(".")[0] != package:
                return False
            if any(name in members for name in _SPECIAL):
                return False
            for name in functions:
                if name in members and not is_shipped(members[name], base, name):
                    return False
            for name in fields:
                member = members.get(name)
                descriptor = type(member)
                if descriptor is not MemberDescriptorType and hasattr(descriptor, "__set__"):
                    return False
        return True

    return is_plain


class Guards:
    """What the bindings of one client rest on, to be told where its seams are changed.

    Args:
        package: the client's name.
        watched: methods of classes whose work is done without calling them.
    """

    def __init__(self, package: str, watched: Collection[str]) -> None:
        self.package = package
        self.watched = ("__init__", *watched)
        self.made: list[Any] = []

    def of_class(self, cls: Any, fields: Collection[str], *each: Rests) -> list[Any]:
        """A guard of a class for each thing that is done with its instances; None in the place of
        each where it is not as the client shipped it."""
        if not plain_check(self.package, fields, self.watched)(cls):
            return [None] * len(each)
        guards = []
        for one in each:
            alone = [name for name in one.every if _is_alone(cls, name)]
            every = [name for name in one.every if name not in alone]
            guards.append(_dropins.Guard(cls, (*one.first, *alone), every))
        self.made += guards
        return guards

    def of_module(self, module: Any, names: Collection[str]) -> Any:
        """A guard of what stands in a module under these names, and of all its functions' code.

        Where changes are called back, of all its functions' names, too: they could not be compared
        at every call.
        """
        names = dict.fromkeys(names)
        if _dropins.guards_call_back():
            names.update(dict.fromkeys(functions_of(module)))
        guard = _dropins.Guard()
        guard.add(vars(module), names)
        for name in functions_of(module):
            guard.add_function(vars(module)[name])
        self.made.append(guard)
        return guard

    def expect(self, holder: Any, name: Any, value: Any) -> None:
        """This stands there from now on: as a seam, or put there by somebody else."""
        if isinstance(holder, type):
            holder = _dropins.namespace_of(holder)
        elif not isinstance(holder, dict):
            holder = vars(holder)
        for guard in self.made:
            guard.expect(holder, name, value)


def _is_alone(cls: type, name: str) -> bool:
    """Whether a class has a method that calls none of that name in classes above."""
    return name in vars(cls) and not calls_its_like(vars(cls)[name], name)


def functions_of(module: Any) -> list[str]:
    """Names of the functions that a module defines."""
    return [
        name
        for name, value in vars(module).items()
        if type(value) is FunctionType and value.__module__ == module.__name__
    ]


def direct_names(cls: Any, fields: Collection[str]) -> tuple[str, ...]:
    """Those of the attributes that are read and set without asking the class each time.

    Slots are, and where changes are called back, attributes of a dict; else these meet whatever the
    class has."""
    slots = all(type(getattr_static(cls, name, None)) is MemberDescriptorType for name in fields)
    return tuple(fields) if slots or _dropins.guards_call_back() else ()


def attributes_of(instance: Any) -> tuple[str, ...]:
    """Names of an instance's attributes in the order in which `__init__` set them."""
    return tuple(getattr(instance, "__dict__", ()))
