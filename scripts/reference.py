"""An extension of griffe, which reads the sources for the reference: entries that users can use.

A stub has no implementation beside the overloads of a function, and griffe gives such a function no
entry. Of the special methods only those get an entry that say what a user can do with an object;
an ``__init__`` whose arguments nothing describes is one that only this package calls.
"""

from __future__ import annotations

from typing import Any

import griffe

#: Special members with an entry; ``repr()``, ``==``, ``hash()``, pickling and copies go without.
SHOWN = frozenset(
    {
        "__init__",
        "__new__",
        "__version__",
        *("__bool__", "__call__", "__contains__", "__getitem__", "__iter__", "__len__"),
        *("__aenter__", "__aexit__", "__aiter__", "__enter__", "__exit__", "__next__"),
        *("__arrow_c_array__", "__arrow_c_schema__", "__arrow_c_stream__"),
    }
)

#: Private classes that stand for a public one: modules import each other in no circle.
PUBLIC_NAMES = {"Endpoint": "Connection", "SessionEndpoint": "Connection"}


def is_shown(name: str, cls: griffe.Class) -> bool:
    """Whether a member of a class gets an entry, as far as its name says."""
    if not (name.startswith("__") and name.endswith("__")):
        return True
    member = cls.members[name]
    if name == "__init__" and not member.is_alias and cls.filepath.suffix == ".py":
        is_described = cls.docstring is not None and "Args:" in cls.docstring.value
        return member.docstring is not None or is_described
    return name in SHOWN


class Entries(griffe.Extension):
    """Chooses the members of classes, names their types, and makes functions of overloads."""

    def on_class_members(self, *, cls: griffe.Class, **_rest: Any) -> None:
        """Drop special members that are no entries; name public types only."""
        for name in [name for name in cls.members if not is_shown(name, cls)]:
            cls.del_member(name)
        for member in cls.members.values():
            if not member.is_alias and isinstance(member, griffe.Attribute):
                public = PUBLIC_NAMES.get(str(member.annotation))
                member.annotation = public or member.annotation

    def on_module_members(self, *, mod: griffe.Module, **_rest: Any) -> None:
        """Make a function out of the overloads of a stub, with the docstring of the first."""
        for name, overloads in mod.overloads.items():
            if name in mod.members or not overloads:
                continue
            last = overloads[-1]
            function = griffe.Function(
                name,
                lineno=overloads[0].lineno,
                endlineno=last.endlineno,
                parameters=last.parameters,
                returns=last.returns,
                docstring=overloads[0].docstring,
            )
            function.overloads = overloads
            mod.set_member(name, function)
