"""How tests of the client run a coroutine: bounded in time, and nothing may go unseen.

AMQPCODEC_LOOP=uvloop, eager or debug has all of them run in such a loop.
"""

from __future__ import annotations

import asyncio
import gc
import os
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from amqpcodec import aio

__all__ = ["Stopwatch", "outcome", "run", "until"]


def new_loop(kind: str) -> asyncio.AbstractEventLoop:
    """An event loop: of uvloop, of eager tasks, one that looks for mistakes, or asyncio's own."""
    if kind == "uvloop":
        loop: asyncio.AbstractEventLoop = pytest.importorskip("uvloop").new_event_loop()
        return loop
    if kind == "eager" and not hasattr(asyncio, "eager_task_factory"):
        pytest.skip("eager tasks came with CPython 3.12")
    loop = asyncio.new_event_loop()
    if kind == "eager":
        loop.set_task_factory(asyncio.eager_task_factory)
    return loop


def run(
    work: Callable[[], Awaitable[Any]],
    seconds: float = 30,
    collect: bool = True,
    loop: str = os.environ.get("AMQPCODEC_LOOP", ""),
) -> Any:
    """Run it in a loop of its own; what it returns.

    loop: see `new_loop`.
    collect: whether objects in cycles are looked for, too, which takes a tenth of a second.

    Fails where it takes too long, leaves a task, a warning, or an exception that nobody reads.
    """
    problems: list[Any] = []

    async def main() -> Any:
        asyncio.get_running_loop().set_exception_handler(lambda _, what: problems.append(what))
        async with asyncio.timeout(seconds):
            value = await work()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        assert not tasks, tasks
        if collect:
            gc.collect()
        return value

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with asyncio.Runner(debug=loop == "debug", loop_factory=lambda: new_loop(loop)) as runner:
            value = runner.run(main())
        if collect:
            gc.collect()
    assert not problems, problems
    return value


async def outcome(call: Awaitable[Any]) -> Any:
    """What a call gave: its value, or its AMQPError."""
    try:
        return await call
    except aio.AMQPError as error:
        return error


async def until(is_true: Callable[[], Any]) -> None:
    """Wait until something is true; `run` ends it where that takes too long."""
    while not is_true():
        await asyncio.sleep(0.005)


class Stopwatch:
    """Seconds of a ``with``, by the loop's clock."""

    seconds = 0.0

    def __enter__(self) -> Stopwatch:
        self._start = asyncio.get_running_loop().time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = asyncio.get_running_loop().time() - self._start
