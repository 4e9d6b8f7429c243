"""Which classes and modules of a client are as it shipped them, and until when."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from importlib import import_module
from types import FunctionType, MemberDescriptorType, ModuleType
from typing import Any, Generic, NamedTuple

from amqpcodec import _dropins

from ._sources import calls_same_name, member

#: What would change how instances are made, or what setting an attribute means.
_SPECIAL = ("__new__", "__setattr__", "__getattribute__", "__delattr__", "__del__")

#: Packages whose functions clients import by name. Mocks of `unittest` are a user's.
_LIBRARIES = sys.stdlib_module_names - {"unittest"} | {"typing_extensions", "vine"}


class CountedModule(ModuleType):
    """A client's module where changes are not called back: what is set in it is counted."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        _dropins.count_change()

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        _dropins.count_change()

    def __reduce__(self) -> Any:
        """What pickles modules by their exact class (cloudpickle) takes this one, too."""
        return import_module, (self.__name__,)


class Dependencies(NamedTuple):
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
                descriptor = type(members.get(name))
                if descriptor is not MemberDescriptorType and hasattr(descriptor, "__set__"):
                    return False
        return True

    return is_plain


class _Foreign(NamedTuple):
    """What stands in the place of a client's function, or a list that has something like that.

    Args:
        top: the name in its module, which may be that of a table.
        members: the namespace or table.
        name: what it stands under there.
        path: how a warning calls it.
    """

    top: str
    members: dict[Any, Any]
    name: Any
    path: str


class GuardRegistry:
    """What the bindings of one client rest on, to be told where its patch points are changed.

    Args:
        package: the client's name.
        watched: methods of classes whose work is done without calling them.
    """

    def __init__(self, package: str, watched: Collection[str]) -> None:
        self.package = package
        self.watched = ("__init__", *watched)
        self.made: list[Any] = []
        self.counted: list[ModuleType] = []
        # What a user put in the place of the client's functions: namespace, name, how it is called.
        self.theirs: list[tuple[dict[Any, Any], Any, str]] = []
        # Module -> of its names and of its tables' entries those that a user put there.
        self._foreign: dict[str, list[_Foreign]] = {}

    def of_class(self, cls: Any, fields: Collection[str], *dependencies: Dependencies) -> list[Any]:
        """A guard of a class for each thing that is done with its instances; None in the place of
        each where it is not as the client shipped it.

        Where changes are called back, all else that the class has is in each guard as well, but for
        what another guard alone rests on.
        """
        if not plain_check(self.package, fields, self.watched)(cls):
            return [None] * len(dependencies)
        guards = []
        for own in dependencies:
            alone = [name for name in own.every if _is_alone(cls, name)]
            every = [name for name in own.every if name not in alone]
            guard = _dropins.Guard(cls, (*own.first, *alone), every)
            others = {name for group in dependencies for name in (*group.first, *group.every)}
            others -= {*own.first, *own.every}
            if _dropins.guards_call_back():
                self.add_class(guard, cls, others)
            guards.append(guard)
        self.made += guards
        return guards

    def add_class(self, guard: Any, cls: type, but: Collection[str] = ()) -> None:
        """Let a guard rest on all that the client's classes along an MRO have, but for some."""
        for base in cls.__mro__:
            if f"{base.__module__}.".startswith(f"{self.package}."):
                self._add(guard, _dropins.namespace_of(base), but)

    def of_module(self, module: Any, but: Collection[str] = ()) -> Any:
        """A guard of a module, as `add_module` makes it."""
        guard = _dropins.Guard()
        self.add_module(guard, module, but)
        self.made.append(guard)
        return guard

    def add_module(self, guard: Any, module: Any, but: Collection[str] = ()) -> None:
        """Let a guard rest on all names of a module but for some, on its functions' code and,
        where changes are called back, on the entries of its tables."""
        counted = not _dropins.guards_call_back() and type(module) is ModuleType
        if counted and module not in self.counted:
            self.counted.append(module)
        names = self._add(guard, vars(module), but, counted)
        # It is no base for a guard, which then never holds.
        for foreign in self._foreign_of(module):
            if foreign.top in names:
                _, members, name, path = foreign
                guard.add(members, [name])
                guard.expect(members, name, object())
                self.theirs.append((members, name, path))

    def _foreign_of(self, module: Any) -> list[_Foreign]:
        """What a user put into a module, asked once."""
        path = module.__name__
        if path not in self._foreign:
            self._foreign[path] = list(self._look_for_foreign(path, vars(module)))
        return self._foreign[path]

    def _look_for_foreign(self, path: str, members: dict[str, Any]) -> Iterator[_Foreign]:
        for top, value in members.items():
            if top.startswith("__"):
                continue
            if not self.is_own(value):
                yield _Foreign(top, members, top, f"{path}.{top}")
            if type(value) is dict:
                for name, entry in value.items():
                    if not self.is_own(entry):
                        yield _Foreign(top, value, name, f"{path}.{top}.{name}")
            elif type(value) is list and not all(map(self.is_own, value)):
                yield _Foreign(top, members, top, f"{path}.{top}")

    def _add(
        self, guard: Any, members: dict[str, Any], but: Collection[str], counted: bool = False
    ) -> list[str]:
        """The names that were added."""
        names = [
            name
            for name in members
            if name not in but and (not name.startswith("__") or name in ("__init__", "__new__"))
        ]
        guard.add(members, names, counted)
        if _dropins.guards_call_back():
            for table in (members[name] for name in names):
                if type(table) is dict:
                    guard.add(table, table)
        return names

    def disable(self, *guards: Any) -> None:
        """Let guards never hold: what rests on them is the client's own work."""
        for guard in guards:
            names = {"disabled": False}
            guard.add(names, names)
            guard.expect(names, "disabled", True)

    def is_own(self, value: Any) -> bool:
        """False: it can be called, and neither the client nor a library that it imports made it."""
        if isinstance(value, staticmethod | classmethod):
            value = value.__func__
        if isinstance(value, type) or not callable(value):
            return True
        function = type(value) is FunctionType
        name = value.__globals__.get("__name__") if function else type(value).__module__
        top = str(name).partition(".")[0]
        return top == self.package.partition(".")[0] or top in _LIBRARIES

    def expect(self, holder: Any, name: Any, value: Any) -> None:
        """This stands there from now on: as a patch point, or put there by somebody else."""
        names = namespace(holder)
        for guard in self.made:
            guard.expect(names, name, value)

    def foreign(self, points: Iterable[tuple[Any, Any]]) -> list[str]:
        """What guards refused, but for these attributes of holders."""
        reported = [(id(namespace(holder)), name) for holder, name in points]
        paths = {(id(names), name): path for names, name, path in self.theirs}
        return [path for key, path in paths.items() if key not in reported]

    def count_changes(self) -> None:
        """Have the modules count, from now on, what is set in them."""
        for module in self.counted:
            module.__class__ = CountedModule
        _dropins.count_change()

    def release(self) -> None:
        """Have them be plain modules again."""
        for module in self.counted:
            module.__class__ = ModuleType


def namespace(holder: Any) -> dict[Any, Any]:
    """The names of a class or module, the dict itself; a dict is its own."""
    if isinstance(holder, type):
        return _dropins.namespace_of(holder)
    return holder if isinstance(holder, dict) else vars(holder)


def _is_alone(cls: type, name: str) -> bool:
    """Whether a class has a method that calls none of that name in classes above."""
    return name in vars(cls) and not calls_same_name(vars(cls)[name], name)


def direct_names(cls: Any, fields: Collection[str]) -> tuple[str, ...]:
    """Those of the attributes that are read and set without asking the class each time.

    Slots are, and where changes are called back, attributes of a dict; else these meet whatever the
    class has."""
    slots = all(type(member(cls, name)) is MemberDescriptorType for name in fields)
    return tuple(fields) if slots or _dropins.guards_call_back() else ()


def attributes_of(instance: Any) -> tuple[str, ...]:
    """Names of an instance's attributes in the order in which `__init__` set them."""
    return tuple(getattr(instance, "__dict__", ()))
