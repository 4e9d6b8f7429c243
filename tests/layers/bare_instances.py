"""Uses instances that no constructor has run for. Run as a program, with the names of modules.

Each class is used in a process of its own (a fork), because a crash is what is looked for. Prints
a line of JSON: the classes that were looked at, those of them that refuse to be made by __new__
alone, and those whose process was ended, with the signal.
"""

from __future__ import annotations

import contextlib
import copy
import faulthandler
import importlib
import itertools
import json
import os
import pickle
import resource
import sys
from typing import Any

#: Of the interpreter, the same for every class; __init__ is called by hand.
LEFT_OUT = {"__new__", "__class__", "__subclasshook__", "__init_subclass__", "__dir__", "__doc__"}

ONES: list[Any] = [None, 0, -1, 2**70, 1.5, b"", b"\x00" * 64, "x", (), [], {}, True, bytearray(8)]

#: Tried in every order, up to three at a time.
MIXED: list[Any] = [b"\x01" * 8, "s", 1, None, {}, (), bytearray(8)]

#: More than any method takes by position.
MOST_ARGUMENTS = 14


def classes_of(modules: list[str]) -> list[type]:
    """Every class that the modules define, generated ones included."""
    classes: dict[type, None] = {}
    for name in modules:
        module = importlib.import_module(name)
        for value in vars(module).values():
            if isinstance(value, type) and value.__module__ == name:
                classes[value] = None
    todo = [object]
    subclasses: set[type] = set()
    while todo:
        for sub in type.__subclasses__(todo.pop()):
            if sub not in subclasses:
                subclasses.add(sub)
                todo.append(sub)
                if type(sub).__name__ == "MessageMeta":
                    classes[sub] = None
    return list(classes)


def use(instance: Any) -> None:
    """Everything that can be done with an object; any exception is fine."""
    send(instance)
    for name in dir(instance):
        if name in LEFT_OUT:
            continue
        with contextlib.suppress(BaseException):
            getattr(instance, name)
        with contextlib.suppress(BaseException):
            method = getattr(type(instance), name)
            for n in range(MOST_ARGUMENTS):
                for one in [*ONES, instance]:
                    call(method, instance, [one] * n)
            for n in range(1, 4):
                for mixed in itertools.product(MIXED, repeat=n):
                    call(method, instance, list(mixed))
    for name in dir(instance):
        if name.startswith("__"):
            continue
        for one in [*ONES, instance]:
            with contextlib.suppress(BaseException):
                setattr(instance, name, one)
        with contextlib.suppress(BaseException):
            delattr(instance, name)
    send(instance)
    for operation in (
        repr,
        str,
        hash,
        len,
        list,
        bytes,
        memoryview,
        copy.copy,
        copy.deepcopy,
        pickle.dumps,
    ):
        with contextlib.suppress(BaseException):
            operation(instance)
    for other in (instance, type(instance).__new__(type(instance)), None):
        for compare in (lambda a, b: a == b, lambda a, b: a < b):
            with contextlib.suppress(BaseException):
                compare(instance, other)


def send(instance: Any) -> None:
    """By every version's functions."""
    for name in ("v0_8", "v0_9_1", "v1_0"):
        module = sys.modules.get(f"amqpcodec.{name}")
        if module is None:
            continue
        for function in (
            lambda m: m.encode(1, instance),
            lambda m: m.encode(1, instance, validate=True),
            lambda m: m.encode_into(bytearray(4096), 0, 1, instance),
            lambda m: m.encode_message(1, instance, instance, b"body"),
            lambda m: m.encode_message(1, m.Basic.Publish(), instance, b"body"),
            lambda m: m.encode_parts(1, m.Basic.Publish(), instance, b"body"),
            lambda m: m.encode(1, m.Header(0, instance)),
            lambda m: m.encode_value(instance),
            lambda m: m.encode_message(1, m.Transfer(), instance),
            lambda m: m.encode_message(1, instance, b"body"),
            lambda m: m.encode(1, m.Transfer(), instance),
            lambda m: m.Message(instance).encode(),
            lambda m: m.Message(header=instance).encode(),
        ):
            with contextlib.suppress(BaseException):
                function(module)


def refuses(cls: type) -> bool:
    try:
        cls.__new__(cls)
    except TypeError:
        return True
    return False


def call(method: Any, instance: Any, arguments: list[Any]) -> None:
    with contextlib.suppress(BaseException):
        result = method(instance, *arguments)
        if hasattr(result, "__next__"):
            list(itertools.islice(result, 10))


def try_out(cls: type) -> None:
    instance = cls.__new__(cls)
    use(instance)
    with contextlib.suppress(BaseException):
        instance.__init__(*[None] * 3)
    sub: Any = None
    with contextlib.suppress(TypeError):
        sub = type("Sub", (cls,), {"__init__": lambda self, *a, **k: None})
    if sub is not None:
        use(sub())


def ended_by(cls: type) -> int:
    """The signal that ended the process in which the class was used, or 0."""
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
        if "-v" not in sys.argv:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        else:
            faulthandler.enable()
        with contextlib.suppress(BaseException):
            try_out(cls)
        os._exit(0)
    return os.WTERMSIG(os.waitpid(child, 0)[1])


def main() -> None:
    modules = [name for name in sys.argv[1:] if name != "-v"]
    for name in modules:
        importlib.import_module(name)
    classes = classes_of(modules)
    ended = {cls.__qualname__: signal for cls in classes if (signal := ended_by(cls))}
    names = [cls.__qualname__ for cls in classes]
    refused = [cls.__qualname__ for cls in classes if refuses(cls)]
    print(json.dumps({"classes": names, "refused": refused, "ended": ended}))


if __name__ == "__main__":
    main()
