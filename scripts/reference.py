"""An extension of griffe, which reads the sources for the reference: entries that users can use.

A stub has no implementation beside the overloads of a function, and griffe gives such a function no
entry. Of the special methods only those get an entry that say what a user can do with an object;
an ``__init__`` whose arguments nothing describes is one that only this package calls. The comment
before an attribute, marked by ``#:``, is the text of its entry, or what its class says of it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from pathlib import Path
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

#: Private names of types that stand for a public one: modules import each other in no circle.
PUBLIC_NAMES = {
    "Endpoint": "Connection",
    "SessionEndpoint": "Connection",
    "RequestT": "Request",
}


def is_shown(name: str, cls: griffe.Class) -> bool:
    """Whether a member of a class gets an entry, as far as its name says."""
    if not (name.startswith("__") and name.endswith("__")):
        return True
    member = cls.members[name]
    if name == "__init__" and not member.is_alias and cls.filepath.suffix == ".py":
        is_described = cls.docstring is not None and "Args:" in cls.docstring.value
        return member.docstring is not None or is_described
    return name in SHOWN


def name_publicly(annotation: Any) -> None:
    """Put public names of types in the place of private ones."""
    if isinstance(annotation, griffe.Expr):
        for name in annotation.iterate(flat=True):
            if isinstance(name, griffe.ExprName):
                name.name = PUBLIC_NAMES.get(name.name, name.name)


def comment_before(attribute: griffe.Attribute) -> str:
    """The comment that says what an attribute is; "" where there is none."""
    if attribute.lineno is None or not isinstance(attribute.filepath, Path):
        return ""
    comment: list[str] = []
    for line in reversed(attribute.lines_collection[attribute.filepath][: attribute.lineno - 1]):
        if not line.lstrip().startswith("#:"):
            break
        comment.insert(0, line.lstrip().removeprefix("#:").strip())
    return "\n".join(comment)


def take_attributes(docstring: griffe.Docstring, names: Iterable[str]) -> dict[str, str]:
    """Take the texts of these attributes out of the docstring of their class.

    A section without attributes goes with them. Several names may share a text.
    """
    before, title, section = docstring.value.partition("\nAttributes:\n")
    if not title:
        return {}
    items = re.split(r"^(?= {4}\S)", section, flags=re.M)
    items[-1], *after = re.split(r"^(?=\S)", items[-1], maxsplit=1, flags=re.M)
    texts, remaining = {}, []
    for item in items:
        name, _, text = item.partition(": ")
        shared = re.split(r",\s*", name.strip())
        if set(shared) <= set(names):
            texts.update(dict.fromkeys(shared, inspect.cleandoc(f"\n{' ' * 8}{text}")))
        else:
            remaining.append(item)
    docstring.value = "".join([before, *([title, *remaining] if any(remaining) else []), *after])
    return texts


class Entries(griffe.Extension):
    """Chooses the members of classes, names their types, and makes functions of overloads."""

    def on_class_members(self, *, cls: griffe.Class, **_rest: Any) -> None:
        """Drop special members that are no entries; name public types only."""
        for name in [name for name in cls.members if not is_shown(name, cls)]:
            cls.del_member(name)
        attributes = {
            name: member
            for name, member in cls.members.items()
            if isinstance(member, griffe.Attribute) and not member.has_docstring
        }
        if cls.docstring is not None:
            for name, text in take_attributes(cls.docstring, attributes).items():
                attributes[name].docstring = griffe.Docstring(text, parent=attributes[name])
        for member in cls.members.values():
            if not member.is_alias and isinstance(member, griffe.Attribute):
                name_publicly(member.annotation)
            elif not member.is_alias and isinstance(member, griffe.Function):
                for function in (member, *(member.overloads or ())):
                    name_publicly(function.returns)

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_rest: Any) -> None:
        """Take the comment before it as its docstring, where it has none."""
        if attr.docstring is None and (comment := comment_before(attr)):
            attr.docstring = griffe.Docstring(comment, parent=attr)

    def on_package(self, *, pkg: griffe.Module, **_rest: Any) -> None:
        """Make functions of those that a drop-in's module has of its DropIn."""
        methods = pkg["compat._dropin.DropIn"].members
        for module in pkg["compat"].modules.values():
            for name, member in list(module.members.items()):
                if isinstance(member, griffe.Attribute) and str(member.value) == f"_DROP_IN.{name}":
                    method = methods[name]
                    function = griffe.Function(
                        name,
                        lineno=member.lineno,
                        endlineno=member.endlineno,
                        parameters=griffe.Parameters(*list(method.parameters)[1:]),
                        returns=method.returns,
                        docstring=method.docstring,
                    )
                    module.set_member(name, function)

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
