"""Which classes of a client may be made and read without running its code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from types import FunctionType, MemberDescriptorType
from typing import Any, Generic

#: What would change how instances are made, or what setting an attribute means.
_SPECIAL = ("__new__", "__setattr__", "__getattribute__", "__delattr__", "__del__")


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
    package: str, fields: Collection[str], watched: Collection[str]
) -> Callable[[type], bool]:
    """A test of a class, along its MRO: is it as the client shipped it?

    Args:
        package: the client's name; classes above from elsewhere make a class not plain.
        fields: attributes that will be set and read directly: no property may stand before them.
        watched: methods whose work is done without calling them: they must be the client's own.
    """
    functions = ("__init__", *watched)

    def is_plain(cls: type) -> bool:
        # the look-up also makes CPython number the class, so that a later change is seen
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
                kind = type(member)
                if kind is not MemberDescriptorType and hasattr(kind, "__set__"):
                    return False
        return True

    return is_plain


def attributes_of(instance: Any) -> tuple[str, ...]:
    """Names of an instance's attributes in the order in which `__init__` set them."""
    return tuple(getattr(instance, "__dict__", ()))
