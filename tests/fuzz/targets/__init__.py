"""All targets by name."""

from __future__ import annotations

import importlib
from functools import cache

from tests.fuzz.target import Target

#: The targets of each module, in the order in which they run.
MODULES = {
    "legacy": ("tables", "frames", "streams", "borders"),
    "v1": ("v1-values", "v1-frames", "v1-streams", "v1-messages", "v1-borders"),
    "columns": ("columns", "columns-runs", "v1-columns", "columns-borders"),
    "encode": ("encode", "encode-lies"),
    "v1_encode": ("v1-encode", "v1-encode-lies"),
    "captures": ("captures", "chains", "states"),
    "session": ("sessions",),
    "v1_session": ("v1-sessions",),
    "texts": ("json", "xml", "where"),
    "dropins": (
        *("pika", "pamqp", "pika-cases", "pamqp-cases", "py-amqp-cases"),
        *("azure", "azure-cases"),
        *("pika-borders", "pamqp-borders", "py-amqp-borders", "azure-borders"),
    ),
}
#: Targets of code in Python alone, which run with the plain build: see Target.core.
PLAIN = (*MODULES["session"], *MODULES["v1_session"])
NAMES = [name for names in MODULES.values() for name in names]


@cache
def find(name: str) -> Target:
    """A target. Modules of others are not loaded: libFuzzer looks at all counters each time."""
    module = next(module for module, names in MODULES.items() if name in names)
    targets = importlib.import_module(f"{__name__}.{module}").TARGETS
    assert [target.name for target in targets] == list(MODULES[module])
    return next(target for target in targets if target.name == name)
