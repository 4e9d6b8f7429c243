"""RabbitMQ restarts, or closes connections, while messages are published and consumed."""

from __future__ import annotations

import asyncio
import collections
import itertools

import pytest

from amqpcodec import aio
from tests import live_broker
from tests.aio.runs import outcome, run, until

SOON = aio.Backoff(first=0.1, most=0.5)
TASKS = 20


class Service:
    """Consumes a queue until it has had all messages; what became of each.

    Attributes:
        taken: how often each body came.
        acks: what ack() gave, by body, in order.
        setups: how often its own set-up ran.
    """

    def __init__(self, url, queue):
        self.url = url
        self.queue = queue
        self.taken = collections.Counter()
        self.acks = collections.defaultdict(list)
        self.errors = []
        self.setups = 0

    async def run(self, is_done):
        async for connection in aio.connections(self.url, backoff=SOON):
            try:
                async with connection, connection.channel() as channel:
                    await channel.declare_queue(self.queue)
                    self.setups += 1
                    async with channel.consume(self.queue, prefetch=50) as messages:
                        tasks = [asyncio.create_task(self.take(messages)) for _ in range(10)]
                        tasks.append(asyncio.create_task(is_done.wait()))
                        _, waiting = await asyncio.wait(tasks, return_when="FIRST_COMPLETED")
                        for task in waiting:
                            task.cancel()
                        ends = await asyncio.gather(*tasks, return_exceptions=True)
                        if is_done.is_set():
                            return
                        raise next(end for end in ends if isinstance(end, Exception))
            except aio.ConnectionLost as error:
                self.errors.append(error)

    async def take(self, messages):
        async for message in messages:
            # Once it was acknowledged it does not come again, and a copy says that it is one.
            assert True not in self.acks[message.body] or message.redelivered
            if self.taken[message.body]:
                assert message.redelivered
            self.taken[message.body] += 1
            await asyncio.sleep(0)
            self.acks[message.body].append(await message.ack())


async def publish_all(found, queue, ends, is_over):
    """20 tasks publish until the trouble is over; the end of each publication."""
    numbers = itertools.count()

    async def work():
        while not is_over.is_set():
            body = b"%d" % next(numbers)
            ends[body] = await outcome(found.publish(body, routing_key=queue, timeout=None))
            await asyncio.sleep(0.001)

    await asyncio.gather(*(work() for _ in range(TASKS)))


async def keep_open(found):
    async for connection in found:
        async with connection:
            await connection.wait_closed()


async def close_connections():
    """As an operator does."""
    await asyncio.to_thread(live_broker.rabbitmqctl, "close_all_connections", "--global", "a test")


async def through(url, queue, disturb):
    """Publish and consume while disturb() runs; no message is lost, and each error is typed."""
    service, ends, is_done, is_over = Service(url, queue), {}, asyncio.Event(), asyncio.Event()
    found = aio.connections(url, backoff=SOON)
    holder = asyncio.create_task(keep_open(found))
    consumer = asyncio.create_task(service.run(is_done))
    await until(lambda: service.setups)
    publisher = asyncio.create_task(publish_all(found, queue, ends, is_over))
    await until(lambda: len(ends) >= 100)
    await disturb()
    await until(lambda: found.state == "open")
    is_over.set()
    await publisher
    confirmed = {body for body, end in ends.items() if end is None}
    unconfirmed = {body for body, end in ends.items() if type(end) is aio.PublishUnconfirmed}
    assert set(ends) == confirmed | unconfirmed
    await until(lambda: confirmed <= service.taken.keys())
    is_done.set()
    await consumer
    holder.cancel()
    await asyncio.wait((holder,))
    assert set(service.taken) <= confirmed | unconfirmed
    async with aio.connect(url) as connection, connection.channel() as channel:
        await channel.delete_queue(queue)
    return service, confirmed, unconfirmed


def test_a_restart_of_the_broker(url, unique):
    async def restart():
        await asyncio.to_thread(live_broker.rabbitmqctl, "stop_app")
        await asyncio.to_thread(live_broker.rabbitmqctl, "start_app")

    service, confirmed, unconfirmed = run(lambda: through(url, unique, restart), seconds=300)
    print(f"{len(confirmed)} confirmed, {len(unconfirmed)} unconfirmed")
    assert len(confirmed) > 100
    assert service.setups >= 2
    assert {error.reply_code for error in service.errors} <= {0, 320}
    assert len(unconfirmed) <= TASKS * (service.setups - 1)  # those that waited for their confirms


def test_closed_connections(url, unique):
    """Each connection is closed by the operator, three times."""

    async def close():
        for _ in range(3):
            await close_connections()

    service, confirmed, unconfirmed = run(lambda: through(url, unique, close), seconds=300)
    print(f"{len(confirmed)} confirmed, {len(unconfirmed)} unconfirmed, {service.setups} set-ups")
    assert service.setups >= 2
    assert len(unconfirmed) <= 3 * TASKS  # those that waited when a connection closed, if any
    assert {type(error) for error in service.errors} == {aio.ConnectionClosed}
    assert {error.reply_code for error in service.errors} == {320}


@pytest.mark.parametrize("way", ["restart", "close"])
def test_a_consumer_goes_on(url, unique, way):
    """One consumer and one set-up; the broker restarts, or the operator closes its connections."""
    service, ends, is_over, states = Service(url, unique), {}, asyncio.Event(), []

    async def setup(connection):
        service.setups += 1
        async with connection.channel() as channel:
            await channel.declare_queue(unique)

    async def follow(found):
        async for state in found.states():
            states.append(state)

    async def disturb():
        if way == "restart":
            await asyncio.to_thread(live_broker.rabbitmqctl, "stop_app")
            await asyncio.to_thread(live_broker.rabbitmqctl, "start_app")
        else:
            await close_connections()

    async def work():
        found = aio.connections(url, backoff=SOON, setup=setup)
        holders = [asyncio.create_task(keep_open(found)), asyncio.create_task(follow(found))]
        async with found.consume(unique, prefetch=50) as messages:
            takers = [asyncio.create_task(service.take(messages)) for _ in range(10)]
            publisher = asyncio.create_task(publish_all(found, unique, ends, is_over))
            await until(lambda: len(ends) >= 100)
            before = service.setups
            await disturb()
            await until(lambda: service.setups > before and found.state == "open")
            is_over.set()
            await publisher
            confirmed = {body for body, end in ends.items() if end is None}
            await until(lambda: confirmed <= service.taken.keys())
            await messages.cancel()
            await asyncio.gather(*takers)
        unconfirmed = {body for body, end in ends.items() if type(end) is aio.PublishUnconfirmed}
        assert set(ends) == confirmed | unconfirmed
        assert set(service.taken) <= set(ends)
        for holder in holders:
            holder.cancel()
        await asyncio.wait(holders)
        async with aio.connect(url) as connection, connection.channel() as channel:
            await channel.delete_queue(unique)

    run(work, seconds=300)
    assert states.count("open") == service.setups >= 2
    assert {"down", "connecting"} <= set(states)


def test_the_lock_of_the_connection_before(url, unique):
    async def work():
        old = await aio.connect(url)
        async with old.channel() as channel:
            await channel.declare_queue(unique, exclusive=True)
        found = aio.connections(url, backoff=SOON, heartbeat=10)
        async with (await anext(found)).channel() as channel:
            with pytest.raises(aio.ResourceLocked):
                await channel.declare_queue(unique, exclusive=True)
        connection = await anext(found)
        async with connection.channel() as channel:
            loop = asyncio.get_running_loop()
            loop.call_later(0.5, asyncio.ensure_future, old.close())
            assert await channel.declare_queue(unique, exclusive=True) == (unique, 0, 0)
        await connection.close()
        await old.wait_closed()

    run(work)


def test_channels_of_a_connection(url, unique):
    async def work():
        async with aio.connect(url) as connection, connection.channel() as channel:
            await channel.declare_queue(unique, exclusive=True)
            calls = [
                connection.publish(b"", routing_key=unique, exchange="" if n % 10 else unique)
                for n in range(1000)
            ]
            ends = await asyncio.gather(*(outcome(call) for call in calls))
            for number, end in enumerate(ends):
                assert end is None if number % 10 else type(end) is aio.NotFound
            with pytest.raises(aio.Returned):
                await connection.publish(b"", routing_key=unique + ".nowhere")
            assert await channel.purge_queue(unique) == 900

    run(work)


def test_no_acknowledgements_and_a_bound(url, unique):
    async def work():
        async with aio.connect(url) as connection, connection.channel() as channel:
            await channel.declare_queue(unique, auto_delete=True)
            for _ in range(20):
                sends = (channel.publish(bytes(300), routing_key=unique) for _ in range(1000))
                await asyncio.gather(*sends)
        async with (
            aio.connect(url, heartbeat=2) as connection,
            connection.consume(unique, no_ack=True) as messages,
        ):
            await messages.get(5)
            await until(lambda: len(messages._buffer) > 100)
            await asyncio.sleep(5)  # longer than two heartbeats
            assert len(messages._buffer) < 2000
            await connection.check()
            for _ in range(19_999):
                await messages.get(5)

    run(work)
