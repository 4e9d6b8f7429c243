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

from amqpcodec._facade.public import MODULES
from scripts import site_check


def module_of(name: str) -> ModuleType:
    return importlib.import_module(name)


@pytest.mark.parametrize("name", MODULES)
def test_dir_is_all(name: str) -> None:
    """Also where modules below it are loaded, as they all are here."""
    for module in MODULES:
        module_of(module)
    module = module_of(name)
    assert dir(module) == sorted(module.__all__)
    assert all(hasattr(module, public_name) for public_name in dir(module))
    stub = site_check.source(name)
    assert set(site_check.assigned(stub, "__all__")) == set(dir(module))


def own_classes(module: ModuleType) -> Iterator[type]:
    """The classes that a module shows, and those in their namespaces: Basic.Publish."""
    for name in module.__all__:
        member = getattr(module, name)
        if isinstance(member, type) and member.__module__.startswith("amqpcodec"):
            yield member
            for inner in vars(member).values():
                if isinstance(inner, type) and inner.__module__.startswith("amqpcodec"):
                    yield inner


#: What Python makes itself for a dataclass or named tuple, and leaves without a text.
BY_PYTHON = {"__getstate__", "__setstate__", "__replace__", "__post_init__", "__init__", "_make"}
#: Likewise for a protocol of types.
OF_PROTOCOLS = {"__init__", "__subclasshook__"}


def without_text(cls: type) -> Iterator[str]:
    """What help() shows without a text; the class or a base of it may have that of a slot."""
    text = "\n".join(filter(None, (inspect.getdoc(base) for base in cls.__mro__)))
    if not inspect.getdoc(cls):
        yield cls.__qualname__
    exempt_names = {"__init__"}  # its arguments are in the class's text
    if is_dataclass(cls) or issubclass(cls, tuple):
        exempt_names = BY_PYTHON
    elif getattr(cls, "_is_protocol", False):
        exempt_names = OF_PROTOCOLS
    for attribute in inspect.classify_class_attrs(cls):
        ours = attribute.defining_class.__module__.startswith("amqpcodec")
        if (
            not ours
            or not pydoc.visiblename(attribute.name, obj=cls)
            or attribute.name in exempt_names
        ):
            continue
        if attribute.kind == "data" and not inspect.isdatadescriptor(attribute.object):
            continue
        of_class = inspect.isdatadescriptor(attribute.object) and re.search(
            rf"\b{attribute.name}\b", text
        )
        if not inspect.getdoc(attribute.object) and not of_class:
            yield f"{cls.__module__}.{cls.__qualname__}.{attribute.name}"


@pytest.mark.parametrize("name", MODULES)
def test_everything_that_help_shows_has_a_text(name: str) -> None:
    module = module_of(name)
    missing = [] if inspect.getdoc(module) else [name]
    for shown in module.__all__:
        member = getattr(module, shown)
        if inspect.isroutine(member) and not inspect.getdoc(member):
            missing.append(f"{name}.{shown}")
    missing += [text for cls in own_classes(module) for text in without_text(cls)]
    assert not missing
