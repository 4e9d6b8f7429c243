"""All targets by name."""

from __future__ import annotations

import importlib
from functools import cache

from tests.fuzz.target import Target

MODULES = ("legacy", "v1", "columns", "encode", "captures", "texts", "dropins")


@cache
def targets() -> dict[str, Target]:
    """Every target, in the order in which they run."""
    found: dict[str, Target] = {}
    for name in MODULES:
        for target in importlib.import_module(f"{__name__}.{name}").TARGETS:
            assert target.name not in found
            found[target.name] = target
    return found
