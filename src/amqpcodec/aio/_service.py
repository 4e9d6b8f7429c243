"""A service: a handler of messages, several at a time, that ends without losing any."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from ._connection import Connection
from ._consumer import Consumer
from ._message import Message
from ._reconnection import Connections

__all__ = ["serve"]

Handler = Callable[[Message], Awaitable[Any]]


async def serve(
    connection: Connection | Connections,
    queue: str,
    handler: Handler,
    *,
    concurrency: int = 10,
    prefetch: int | None = None,
    requeue: bool = False,
    drain: float = 30.0,
    stop: asyncio.Event | None = None,
    arguments: dict[str, Any] | None = None,
) -> None:
    """Have a coroutine function handle the messages of a queue, several at a time.

    Each message is acknowledged when its handler returns. An exception of the handler rejects the
    message, goes to the exception handler of the event loop, which logs it, and ends nothing. Nor
    does a CancelledError of what a handler waits for: the message goes back to the queue.

    It ends when `stop` is set, or the task is cancelled: no more messages are taken, those that no
    handler has begun go back to the queue, and handlers that run have `drain` seconds to end. Those
    that take longer are cancelled, and their messages go back, too. For SIGTERM::

        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
        await aio.serve(connection, "orders", handle, stop=stop)

    Args:
        connection: a channel of its own is opened on it; with `Connections` on each of them.
        queue: its name.
        handler: is called with each message.
        concurrency: how many handlers run at once, at least 1.
        prefetch: how many messages the broker sends ahead; None: one for each handler.
        requeue: whether a message whose handler raised goes back to the queue; otherwise it is
            dropped or dead-lettered.
        drain: seconds that handlers have to end.
        stop: ends it; then it returns.
        arguments: of the consumer, such as ``{"x-priority": 10}``.

    Raises:
        ValueError: concurrency is below 1, or drain below 0.
        ConsumerCancelled, ChannelClosed, ConnectionLost: what ended it; handlers had their time.
        CancelledError: the task was cancelled; handlers had their time.
    """
    if concurrency < 1:
        raise ValueError(f"concurrency is {concurrency}, not a number from 1")
    if not drain >= 0:
        raise ValueError(f"drain is {drain}, not a number from 0")
    ahead = concurrency if prefetch is None else prefetch
    async with connection.consume(queue, prefetch=ahead, arguments=arguments) as messages:
        work = (_work(messages, handler, requeue) for _ in range(concurrency))
        workers = [asyncio.create_task(one) for one in work]
        tasks = [*workers, asyncio.create_task((stop or asyncio.Event()).wait())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            try:
                await messages.cancel()
                await asyncio.wait(workers, timeout=drain)
            finally:
                for task in tasks:
                    task.cancel()
                ends = await asyncio.gather(*tasks, return_exceptions=True)
        for end in ends:
            if isinstance(end, BaseException) and not isinstance(end, asyncio.CancelledError):
                raise end


async def _work(messages: Consumer, handler: Handler, requeue: bool) -> None:
    """Handle one message after the other, until the consumer ends."""
    async for message in messages:
        try:
            async with message.process(requeue=requeue):
                await handler(message)
        except (Exception, asyncio.CancelledError) as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task and task.cancelling():
                raise  # it is this task that is cancelled, and not what its handler waited for
            asyncio.get_running_loop().call_exception_handler({
                "message": f"the handler of {message!r} raised {type(error).__name__}",
                "exception": error,
            })  # fmt: skip
