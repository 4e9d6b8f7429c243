"""The programs of examples/, as modules, and its broker in a thread."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import sys
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from tests.paths import REPO


def example(name: str) -> ModuleType:
    """A program of examples/."""
    module_name = f"amqpcodec_examples_{name}"
    if module_name not in sys.modules:
        spec = importlib.util.spec_from_file_location(module_name, REPO / "examples" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        # Before it runs: dataclasses look their module up.
        sys.modules[module_name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[module_name])
    return sys.modules[module_name]


@contextlib.contextmanager
def serving(start: Any) -> Iterator[int]:
    """A server in a thread with a loop of its own: start() is a coroutine that gives its port."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield asyncio.run_coroutine_threadsafe(start(), loop).result(10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
