"""A service: several handlers at a time, errors that are seen, and an end that loses nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from amqpcodec import aio
from amqpcodec.testing import Broker
from tests.aio.runs import run, until


@asynccontextmanager
async def orders(broker: Broker, count: int) -> AsyncIterator[aio.Connection]:
    """A connection, and a queue with so many messages."""
    async with aio.connect(broker.url) as connection:
        async with connection.channel() as channel:
            await channel.declare_queue("orders")
            for number in range(count):
                await channel.publish(b"%d" % number, routing_key="orders")
        yield connection


async def left(connection: aio.Connection) -> int:
    """How many messages are in the queue."""
    async with connection.channel() as channel:
        return (await channel.declare_queue("orders", passive=True)).messages


def test_so_many_at_a_time(amqp_broker: Broker) -> None:
    async def work() -> None:
        running, most, seen = 0, 0, []
        stop, four = asyncio.Event(), asyncio.Event()

        async def handle(message: aio.Message) -> None:
            nonlocal running, most
            running += 1
            most = max(most, running)
            if running == 4:
                four.set()
            await four.wait()
            await asyncio.sleep(0)
            seen.append(message.body)
            running -= 1
            if len(seen) == 20:
                stop.set()

        async with orders(amqp_broker, 20) as connection:
            await aio.serve(connection, "orders", handle, concurrency=4, stop=stop)
            assert await left(connection) == 0
        assert most == 4
        assert sorted(map(int, seen)) == list(range(20))

    run(work)


def test_an_exception_rejects_one_message_and_is_reported(amqp_broker: Broker) -> None:
    async def work() -> None:
        problems: list[dict[str, Any]] = []
        stop = asyncio.Event()
        asyncio.get_running_loop().set_exception_handler(lambda _, what: problems.append(what))

        async def handle(message: aio.Message) -> None:
            if message.body == b"1":
                raise ValueError("a bad order")
            if message.body == b"2":
                stop.set()

        async with orders(amqp_broker, 3) as connection:
            await aio.serve(connection, "orders", handle, concurrency=1, stop=stop)
            assert await left(connection) == 0
        (problem,) = problems
        assert str(problem["exception"]) == "a bad order"
        assert "the handler of <Message 2 " in problem["message"]

    run(work)


def leave_by_stop(task: asyncio.Task[None], stop: asyncio.Event) -> None:
    stop.set()


def leave_by_cancel(task: asyncio.Task[None], stop: asyncio.Event) -> None:
    task.cancel()


LEAVE = [leave_by_stop, leave_by_cancel]


@pytest.mark.parametrize("leave", LEAVE)
def test_handlers_end_what_they_have_begun(
    amqp_broker: Broker, leave: Callable[[asyncio.Task[None], asyncio.Event], None]
) -> None:
    """The others go back to the queue, by nack, although the broker has sent them ahead."""

    async def work() -> None:
        begun, stop, goes_on, done = 0, asyncio.Event(), asyncio.Event(), []

        async def handle(message: aio.Message) -> None:
            nonlocal begun
            begun += 1
            await goes_on.wait()
            done.append(message.body)

        async with orders(amqp_broker, 8) as connection:
            service = asyncio.create_task(
                aio.serve(connection, "orders", handle, concurrency=2, prefetch=6, stop=stop)
            )
            await until(lambda: begun == 2)
            leave(service, stop)
            await amqp_broker.aio.consumers("orders", n=0)
            goes_on.set()
            await asyncio.wait({service})
            assert service.cancelled() is (leave is leave_by_cancel)
            assert sorted(done) == [b"0", b"1"]
            assert await left(connection) == 6

    run(work)


@pytest.mark.parametrize("leave", LEAVE)
def test_handlers_that_take_too_long_give_their_message_back(
    amqp_broker: Broker, leave: Callable[[asyncio.Task[None], asyncio.Event], None]
) -> None:
    async def work() -> None:
        begun, stop = asyncio.Event(), asyncio.Event()

        async def handle(message: aio.Message) -> None:
            begun.set()
            await asyncio.sleep(60)

        async with orders(amqp_broker, 1) as connection:
            service = asyncio.create_task(
                aio.serve(connection, "orders", handle, drain=0.01, stop=stop)
            )
            await begun.wait()
            leave(service, stop)
            await asyncio.wait({service})
            assert await left(connection) == 1

    run(work)


def test_what_ends_it_is_raised(amqp_broker: Broker) -> None:
    async def work() -> None:
        done = []

        async def handle(message: aio.Message) -> None:
            async with connection.channel() as channel:
                await channel.delete_queue("orders")
            await asyncio.sleep(0.01)
            done.append(message.body)

        async with orders(amqp_broker, 1) as connection:
            with pytest.raises(aio.ConsumerCancelled, match="the broker cancelled"):
                await aio.serve(connection, "orders", handle)
            assert done == [b"0"]
            with pytest.raises(aio.NotFound):
                await aio.serve(connection, "missing", handle)

    run(work)


def test_a_lost_connection_ends_it(amqp_broker: Broker) -> None:
    async def work() -> None:
        async def handle(message: aio.Message) -> None:
            amqp_broker.close_connections(320, "CONNECTION_FORCED - a test")

        async with orders(amqp_broker, 1) as connection:
            with pytest.raises(aio.ConnectionClosed, match="320"):
                await aio.serve(connection, "orders", handle)

    run(work)


def test_a_handler_whose_own_wait_is_cancelled_ends_nothing(amqp_broker: Broker) -> None:
    """Its message goes back; only a cancellation of the service's own tasks ends them."""

    async def work() -> None:
        stop, deliveries = asyncio.Event(), []

        async def handle(message: aio.Message) -> None:
            deliveries.append((message.body, message.redelivered))
            if message.body == b"0" and not message.redelivered:
                inner = asyncio.create_task(asyncio.sleep(10))
                asyncio.get_running_loop().call_soon(inner.cancel)
                await inner
            if len(deliveries) == 4:
                stop.set()

        problems: list[dict[str, Any]] = []
        loop = asyncio.get_running_loop()
        before = loop.get_exception_handler()
        loop.set_exception_handler(lambda _, context: problems.append(context))
        async with orders(amqp_broker, 3) as connection:
            await aio.serve(connection, "orders", handle, concurrency=1, stop=stop)
            assert await left(connection) == 0
        loop.set_exception_handler(before)
        assert sorted(deliveries) == [(b"0", False), (b"0", True), (b"1", False), (b"2", False)]
        assert [problem["message"].rpartition(" ")[2] for problem in problems] == ["CancelledError"]

    run(work)


def test_a_group_of_other_exceptions_is_raised(amqp_broker: Broker) -> None:
    async def work() -> None:
        async def handle(message: aio.Message) -> None:
            raise BaseExceptionGroup("a group", [asyncio.CancelledError()])

        async with orders(amqp_broker, 1) as connection:
            with pytest.raises(BaseExceptionGroup, match="a group"):
                await aio.serve(connection, "orders", handle)
            assert await left(connection) == 1

    run(work)


@pytest.mark.parametrize(
    ("options", "text"),
    [({"concurrency": 0}, "concurrency is 0"), ({"drain": -1.0}, "drain is -1.0")],
)
def test_wrong_arguments(amqp_broker: Broker, options: dict[str, Any], text: str) -> None:
    async def work() -> None:
        async with orders(amqp_broker, 0) as connection:
            with pytest.raises(ValueError, match=text):
                await aio.serve(connection, "orders", lambda _: asyncio.sleep(0), **options)

    run(work)
