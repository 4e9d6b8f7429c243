"""A plugin of pytest: tests that try many inputs, count instructions or limit memory run untraced.

What reaches a line is then an example, a vector or a session, in every run the same. Folders that
test the compiled core or tools alone run untraced, too, and tests marked `untraced`. Tracing
doubles what a test costs; where sessions do the work it costs more than three times as much.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Generator

import pytest
from coverage import Coverage

from tests.paths import REPO

TESTS = REPO / "tests"

#: Names of files: tests/README.md says what the end of a name means.
UNTRACED = re.compile(r"_(properties|fuzz|differential|memory)\.py$|linear")
#: Folders of tests/.
OTHERS = {"coverage", "differential", "fuzz", "layers", "mutation", "packaging", "reference"}
OTHERS |= {"tables", "typing", "wire"}
#: Whether Python calls the tracer by sys.settrace; coverage.py has other ways, too.
BY_SETTRACE = sys.gettrace() is not None
#: What makes subprocesses trace.
VARIABLE = "COVERAGE_PROCESS_CONFIG"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Pause the tracer."""
    tracer = Coverage.current()
    folder = item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""
    marked = item.get_closest_marker("untraced") is not None
    if tracer is None:
        return (yield)
    if BY_SETTRACE and sys.gettrace() is None:
        # Python takes away a tracer that raised, as where memory or the stack ran out.
        tracer.stop()
        start(tracer)
    if not (marked or folder in OTHERS or UNTRACED.search(item.path.name)):
        return (yield)
    settings = os.environ.pop(VARIABLE)
    tracer.stop()
    try:
        return (yield)
    finally:
        start(tracer)
        os.environ[VARIABLE] = settings


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Save what a worker of pytest-xdist found: ten seconds after its last test it is killed."""
    tracer = Coverage.current()
    if tracer is not None and "PYTEST_XDIST_WORKER" in os.environ:
        tracer.stop()
        tracer.save()


def start(tracer: Coverage) -> None:
    """Start the tracer again."""
    # Each start wraps os._exit once more, and each child of a fork would run all of them.
    leave = os._exit
    tracer.start()
    os._exit = leave  # type: ignore[assignment]
