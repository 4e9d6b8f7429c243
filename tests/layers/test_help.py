"""What dir() and help() show of the public modules: names for users alone, each with its text."""

from __future__ import annotations

import importlib
import inspect
import pydoc
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from types import ModuleType

import pytest

from amqpcodec._public import MODULES


def module_of(name: str) -> ModuleType:
    return importlib.import_module(name)


@pytest.mark.parametrize("name", MODULES)
def test_dir_shows_what_is_for_users(name: str) -> None:
    module = module_of(name)
    below = {each.rpartition(".")[2] for each in MODULES if each.rpartition(".")[0] == name}
    shown = set(dir(module))
    assert set(module.__all__) <= shown
    assert shown <= set(module.__all__) | below
    assert all(hasattr(module, each) for each in shown)


def own_classes(module: ModuleType) -> Iterator[type]:
    """The classes that a module shows, and those in their namespaces: Basic.Publish."""
    for name in module.__all__:
        found = getattr(module, name)
        if isinstance(found, type) and found.__module__.startswith("amqpcodec"):
            yield found
            for inner in vars(found).values():
                if isinstance(inner, type) and inner.__module__.startswith("amqpcodec"):
                    yield inner


#: What Python makes itself for a dataclass or named tuple, and leaves without a text.
BY_PYTHON = {"__getstate__", "__setstate__", "__replace__", "__post_init__", "__init__", "_make"}


def without_text(cls: type) -> Iterator[str]:
    """What help() shows without a text; the class or a base of it may have that of a slot."""
    text = "\n".join(filter(None, (inspect.getdoc(base) for base in cls.__mro__)))
    if not inspect.getdoc(cls):
        yield cls.__qualname__
    made = (
        BY_PYTHON if is_dataclass(cls) or issubclass(cls, tuple) else {"__init__"}
    )  # its arguments are in the class's text
    for each in inspect.classify_class_attrs(cls):
        ours = each.defining_class.__module__.startswith("amqpcodec")
        if not ours or not pydoc.visiblename(each.name, obj=cls) or each.name in made:
            continue
        if each.kind == "data" and not inspect.isdatadescriptor(each.object):
            continue
        of_class = inspect.isdatadescriptor(each.object) and re.search(rf"\b{each.name}\b", text)
        if not inspect.getdoc(each.object) and not of_class:
            yield f"{cls.__module__}.{cls.__qualname__}.{each.name}"


@pytest.mark.parametrize("name", MODULES)
def test_everything_that_help_shows_has_a_text(name: str) -> None:
    module = module_of(name)
    missing = [] if inspect.getdoc(module) else [name]
    for shown in module.__all__:
        found = getattr(module, shown)
        if inspect.isroutine(found) and not inspect.getdoc(found):
            missing.append(f"{name}.{shown}")
    missing += [text for cls in own_classes(module) for text in without_text(cls)]
    assert not missing
