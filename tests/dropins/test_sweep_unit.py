"""Whatever of a client is changed while its drop-in is at work has the effect that it has without.

All names of the client's modules and all attributes of its classes are changed one by one, the code
and the defaults of its functions, entries of its tables, items of its lists. The stock copy says
which of these changes make a difference, and which. What is not noticed has a reason below.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from amqpcodec import _dropins
from tests.dropins.canon import outcome
from tests.dropins.conftest import need
from tests.dropins.stock import MODULES_OF, Side, dropin, live, stock
from tests.dropins.test_changes_unit import (
    Undo,
    amqp_read,
    amqp_write,
    compared_at_every_call,
    pamqp_read,
    pamqp_write,
    pika_read,
    pika_write,
    put,
)
from tests.dropins_v1 import test_azure_changes_unit as azure

HEARTBEAT = b"\x08\0\0\0\0\0\0\xce"
BODY = b"\3\0\1\0\0\0\3abc\xce"

#: Not noticed on any Python: path -> why. `__slots__` says at a class's birth what it has.
NEVER = {
    "amqp.method_framing.defaultdict": "asked for when a connection begins, by a seam",
    **{
        f"pamqp.commands.Basic.{name}.__slots__": "read by pamqp at every frame, by nobody changed"
        for name in ("Deliver", "Properties", "Publish")
    },
}


def _questions(package: str) -> tuple[Callable[[Side], Any], ...]:
    if package == "pika":
        return (
            pika_read,
            pika_write,
            lambda side: [side.frame.decode_frame(data) for data in (HEARTBEAT, BODY)],
            lambda side: side.frame.Body(1, b"abc").marshal(),
            lambda side: side.frame.Heartbeat().marshal(),
        )
    if package == "pamqp":
        return (
            pamqp_read,
            pamqp_write,
            lambda side: side.frame.unmarshal(HEARTBEAT),
            lambda side: side.frame.unmarshal(BODY),
            lambda side: side.frame.marshal(side.body.ContentBody(b"abc"), 1),
            lambda side: side.frame.marshal(side.heartbeat.Heartbeat(), 0),
        )
    if package == "amqp":
        return amqp_read, amqp_write
    return azure.read, azure.read_state, azure.write


def _answers(package: str, side: Side) -> list[Any]:
    return [outcome(lambda ask=ask: ask(side)) for ask in _questions(package)]


def _members(side: Side) -> Iterator[tuple[str, Any, str, Any]]:
    """(path, holder, name, value) of what modules and their classes have."""
    for module in sorted(side.modules):
        if not any(
            f"{module_name}.".startswith(f"{module}.") for module_name in ALL_MODULES[side.package]
        ):
            continue
        todo: list[tuple[str, Any]] = [(module, side.modules[module])]
        while todo:
            path, holder = todo.pop()
            for name, value in sorted(vars(holder).items()):
                if holder is side.modules[module] and name.startswith("__"):
                    continue
                if name in _OF_EVERY_CLASS:
                    continue
                yield f"{path}.{name}", holder, name, value
                if isinstance(value, type) and value.__module__ == module and value is not holder:
                    todo.append((f"{path}.{name}", value))


_OF_EVERY_CLASS = frozenset(
    ("__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__firstlineno__",
     "__static_attributes__", "__orig_bases__", "__parameters__", "__annotations__",
     "__annotations_cache__", "__annotate_func__")
)  # fmt: skip

#: Modules that codecs rest on, beside those that the tests name.
ALL_MODULES = {
    **MODULES_OF,
    "pamqp": (*MODULES_OF["pamqp"], "pamqp.base", "pamqp.common", "pamqp.constants"),
    "pika": (*MODULES_OF["pika"], "pika.amqp_object", "pika.compat"),
    "amqp": (*MODULES_OF["amqp"], "amqp.utils"),
    **{name: (*MODULES_OF[name], f"{name}.types") for name in MODULES_OF if "_pyamqp" in name},
}


def raiser(*_arguments: Any, **_options: Any) -> Any:
    raise KeyError("the user's")


def _other(value: Any) -> Iterator[tuple[str, Any]]:
    """Something else for a value, by what was done to it."""
    if isinstance(value, staticmethod | classmethod):
        yield "another", type(value)(raiser)
    elif isinstance(value, types.MemberDescriptorType | property):
        yield "another", property(raiser, raiser)
    elif isinstance(value, type):
        yield "another", raiser
    elif isinstance(value, types.ModuleType):
        yield "another", types.SimpleNamespace()
    elif callable(value):
        yield "another", raiser
    elif isinstance(value, bool):
        yield "constant", not value
    elif type(value) is int:
        yield "constant", value + 1
    elif type(value) is str:
        yield "constant", value + "x"
    elif type(value) is bytes:
        yield "constant", value + b"x"
    elif type(value) is dict:
        yield "constant", {}
    elif type(value) in (list, tuple):
        yield "constant", value[1:]


def _code(function: Any) -> Undo:
    before = function.__code__
    function.__code__ = (lambda *_arguments, **_options: {}["the user's"]).__code__
    return lambda: setattr(function, "__code__", before)


def _defaults(function: Any) -> Undo:
    before = function.__defaults__
    function.__defaults__ = ("the user's",) * len(before)
    return lambda: setattr(function, "__defaults__", before)


def _emptied(table: dict[Any, Any]) -> Undo:
    before = dict(table)
    table.clear()
    return lambda: table.update(before)


def _shortened(items: list[Any]) -> Undo:
    before = list(items)
    del items[0]

    def undo() -> None:
        items[:] = before

    return undo


def _changes(side: Side) -> dict[tuple[str, str], Callable[[], Undo]]:
    """(path, what is done to it) -> a function that does it."""
    changes: dict[tuple[str, str], Callable[[], Undo]] = {}
    for path, holder, name, value in _members(side):
        for what, other in _other(value):
            where = f"class {what}" if isinstance(holder, type) else what
            changes[path, where] = lambda h=holder, n=name, o=other: put(h, n, o)
        function = getattr(value, "__func__", value)
        if (
            type(function) is types.FunctionType
            and not function.__code__.co_freevars
            and function.__module__.startswith(side.package.partition(".")[0])
        ):
            changes[path, "code"] = lambda f=function: _code(f)
            if function.__defaults__:
                changes[path, "defaults"] = lambda f=function: _defaults(f)
        if isinstance(value, dict) and value:
            for key in value:
                changes[f"{path}[{key!r}]", "entry"] = lambda v=value, k=key: put(v, k, raiser)
            changes[path, "emptied"] = lambda v=value: _emptied(v)
        if isinstance(value, list) and value:
            changes[path, "shortened"] = lambda v=value: _shortened(v)
    return changes


def _differences(package: str, side: Side) -> dict[tuple[str, str], list[Any]]:
    """Changes that make a difference, and the answers then."""
    usual = _answers(package, side)
    differences = {}
    for key, change in _changes(side).items():
        try:
            undo = change()
        except (AttributeError, TypeError, ValueError):
            continue  # it cannot be changed
        answers = _answers(package, side)
        undo()
        if answers != usual:
            differences[key] = answers
    assert _answers(package, side) == usual
    return differences


_FOUND: dict[str, dict[tuple[str, str], list[Any]]] = {}


@pytest.mark.filterwarnings("ignore:Assigning a code object of non-matching type")
@pytest.mark.parametrize("plainly", [False, True], ids=["called back", "compared"])
@pytest.mark.parametrize("package", MODULES_OF)
def test_every_later_change(package: str, plainly: bool) -> None:
    need(package)
    if package not in _FOUND:
        _FOUND[package] = _differences(package, stock(package))
    want = _FOUND[package]
    assert len(want) > 50
    with compared_at_every_call(plainly):
        compared = not _dropins.guards_call_back()
        module, side = dropin(package), live(package)
        module.install()
        try:
            before = module.fallbacks()
            usual = _answers(package, side)
            assert module.fallbacks() == before
            changes = _changes(side)
            missed = set()
            for key, answers in want.items():
                if key not in changes:
                    assert key[1] in ("code", "defaults")  # of a function in whose place ours is
                    continue
                undo = changes[key]()
                got = _answers(package, side)
                undo()
                if got != answers and not (compared and key[1] in _NOT_COMPARED):
                    missed.add(key[0])
            before = module.fallbacks()
            assert _answers(package, side) == usual
            assert module.fallbacks() == before
            assert missed == {path for path in NEVER if f"{path}.".startswith(f"{package}.")}
        finally:
            module.uninstall()


#: What nothing calls back for, before CPython 3.12, and is too much to compare at every call.
_NOT_COMPARED = ("entry", "emptied", "class constant")
