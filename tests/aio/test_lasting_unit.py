"""What outlives a connection: states, set-up, consumers and services of all connections."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from amqpcodec import aio
from amqpcodec.testing import Broker
from tests.aio.runs import outcome, run

pytestmark = pytest.mark.filterwarnings("error")

AT_ONCE = aio.Backoff(first=0.001, most=0.01)
FAULTS = ["reset", "eof"]
BODIES = [b"%d" % number for number in range(5)]


async def declare(connection):
    """A set-up."""
    async with connection.channel() as channel:
        await channel.declare_queue("orders")


@contextlib.asynccontextmanager
async def kept_open(url, **options):
    """Connections that a task holds open; it is cancelled at the end."""

    async def iterate():
        async for connection in lasting:
            async with connection:
                await connection.wait_closed()

    options.setdefault("setup", declare)
    lasting = aio.connections(url, backoff=AT_ONCE, timeout=5, **options)
    task = asyncio.create_task(iterate())
    try:
        yield lasting
    finally:
        task.cancel()
        await asyncio.wait((task,))


async def until(lasting, *states):
    """Follow the states until these came, in this order."""
    waiting = list(states)
    async for state in lasting.states():
        if state == waiting[0]:
            del waiting[0]
        if not waiting:
            return


# ---- states ----


@pytest.mark.parametrize("way", ["close", "reset"])
def test_states_of_a_connection(amqp_broker, way):
    async def follow(connection):
        return [state async for state in connection.states()]

    async def work():
        connection = await aio.connect(amqp_broker.url)
        tasks = [asyncio.create_task(follow(connection)) for _ in range(3)]
        slow = connection.states()
        assert await anext(slow) == connection.state == "open"
        await asyncio.sleep(0)  # the tasks begin
        tasks[0].cancel()
        if way == "reset":
            amqp_broker.reset_connections()
            await connection.wait_closed()
        await connection.close()
        await connection.close()
        expected = ["open", "closing", "closed"] if way == "close" else ["open", "closed"]
        assert await asyncio.gather(*tasks[1:]) == [expected] * 2
        assert [state async for state in slow] == expected[1:]  # it missed none
        assert await follow(connection) == ["closed"]

    run(work)


def test_states_of_all_connections(amqp_broker):
    states = []

    async def follow(lasting):
        async for state in lasting.states():
            assert state in ("down", "connecting", "open", "closed")
            states.append(state)

    async def work():
        passwords = iter(["guest", "guest", "guest", "wrong"])

        async def password():
            return next(passwords)

        lasting = aio.connections(amqp_broker.url, backoff=AT_ONCE, password=password)
        task = asyncio.create_task(follow(lasting))
        await asyncio.sleep(0)
        assert lasting.state == "down"
        await anext(lasting)
        assert lasting.state == "open"
        amqp_broker.reset_connections()
        await until(lasting, "down")
        await anext(lasting)
        await anext(lasting)  # it closes the one before
        with pytest.raises(aio.AuthenticationFailed):
            await anext(lasting)
        assert lasting.state == "closed"
        await task

    run(work)
    assert states == ["down", *["connecting", "open", "down"] * 3, "connecting", "closed"]


def test_an_attempt_that_is_given_up_leaves_the_state_down(amqp_broker):
    amqp_broker.refuse_connections()

    async def work():
        lasting = aio.connections(amqp_broker.url, backoff=AT_ONCE)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await anext(lasting)
        assert lasting.state == "down"

    run(work)


# ---- set-up ----


def test_a_set_up_runs_before_anyone_has_the_connection(amqp_broker):
    async def work():
        async with kept_open(amqp_broker.url) as lasting:
            await lasting.publish(b"first", routing_key="orders")  # Returned without the queue
            amqp_broker.reset_connections()
            await until(lasting, "down", "open")
            await lasting.publish(b"second", routing_key="orders")

    run(work)
    assert [one.body for one in amqp_broker.messages("orders")] == [b"first", b"second"]


def test_a_loss_in_a_set_up_leads_to_another_attempt_and_other_errors_come_out(amqp_broker):
    attempts = 0

    async def setup(connection):
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            amqp_broker.reset_connections()
        await declare(connection)
        if attempts == 3:
            raise LookupError

    async def work():
        lasting = aio.connections(amqp_broker.url, backoff=AT_ONCE, setup=setup)
        await anext(lasting)
        assert attempts == 2
        with pytest.raises(LookupError):
            await anext(lasting)
        await amqp_broker.aio.connections(n=0)
        assert lasting.state == "down"
        await (await anext(lasting)).close()

    run(work)


# ---- consumers ----


@pytest.mark.parametrize("fault", FAULTS)
def test_4_a_consumer_goes_on_wherever_a_connection_ends(amqp_broker, fault):
    """Lost once, and again at each frame: all messages come, to one consumer, and none twice

    without its being said.
    """
    runs = 0
    for point in amqp_broker.every_frame(fault):
        amqp_broker.declare_queue("orders")
        for body in BODIES:
            amqp_broker.publish(body, routing_key="orders")
        amqp_broker.on("basic.ack", n=3).reset()
        taken = []

        async def take(messages, taken=taken):
            async for message in messages:
                taken.append((message.body, message.redelivered))
                if await message.ack() and {body for body, _ in taken} == set(BODIES):
                    await messages.cancel()

        async def work(take=take):
            async with (
                kept_open(amqp_broker.url) as lasting,
                lasting.consume("orders", prefetch=2) as messages,
            ):
                await asyncio.gather(take(messages), take(messages))

        run(work, collect=not runs % 10)
        runs += 1
        amqp_broker.consumers("orders", n=0)
        seen = set()
        for body, redelivered in taken:
            assert redelivered or body not in seen, str(point)
            seen.add(body)
        assert seen == set(BODIES), str(point)
    assert runs > 30


def test_4_each_connection_has_one_consumer(amqp_broker):
    async def work():
        async with (
            kept_open(amqp_broker.url) as lasting,
            lasting.consume("orders", tag="me", prefetch=7) as them,
        ):
            waiting = [asyncio.create_task(them.get()) for _ in range(3)]
            for number in range(4):
                (consumer,) = await amqp_broker.aio.consumers("orders", n=1)
                assert (consumer.prefetch, them.tag) == (7, "me")
                await amqp_broker.aio.channels(n=1)
                if number < 3:
                    amqp_broker.reset_connections()
                    await until(lasting, "down", "open")
            for number in range(3):
                await lasting.publish(b"%d" % number, routing_key="orders")
            for task in waiting:
                assert await (await task).ack()

    run(work)


@pytest.mark.parametrize("way", ["cancel", "delete", "406"])
def test_4_what_is_no_loss_of_the_connection_ends_it(amqp_broker, way):
    async def work():
        async with kept_open(amqp_broker.url) as lasting, lasting.consume("orders") as messages:
            tasks = [asyncio.create_task(outcome(messages.get())) for _ in range(2)]
            await amqp_broker.aio.consumers("orders", n=1)
            if way == "cancel":
                amqp_broker.cancel_consumers("orders")
            elif way == "delete":
                async with lasting._connection.channel() as channel:
                    await channel.delete_queue("orders")
            else:
                amqp_broker.publish(b"", routing_key="orders")
                amqp_broker.on("basic.ack").close_channel(406, "PRECONDITION_FAILED - a test")
                await (await tasks.pop(0)).ack()
            kind = aio.ChannelClosed if way == "406" else aio.ConsumerCancelled
            assert {type(end) for end in await asyncio.gather(*tasks)} == {kind}
            assert type(await outcome(messages.get())) is kind

    run(work)


def test_4_a_queue_that_the_next_connection_does_not_find(amqp_broker):
    names = iter(["orders"])

    async def setup(connection):
        channel = await connection.channel()
        for name in names:
            await channel.declare_queue(name, exclusive=True)  # it goes with the connection

    async def work():
        async with (
            kept_open(amqp_broker.url, setup=setup) as lasting,
            lasting.consume("orders") as messages,
        ):
            tasks = [asyncio.create_task(outcome(messages.get())) for _ in range(2)]
            await amqp_broker.aio.consumers("orders", n=1)
            amqp_broker.reset_connections()
            ends = await asyncio.gather(*tasks)
            assert {type(end) for end in ends} == {aio.NotFound}
            assert len({id(end) for end in ends}) == 2
            await lasting.publish(b"", exchange="amq.fanout", routing_key="")  # it goes on

    run(work)


def test_4_the_end_of_the_loop_ends_its_consumers(amqp_broker):
    """A close by this client is no loss: nobody waits for a connection that will not come."""

    async def work():
        lasting = aio.connections(amqp_broker.url, backoff=AT_ONCE, setup=declare)

        async def take():
            async with lasting.consume("orders") as messages:
                return [message async for message in messages]

        task = asyncio.create_task(take())
        async for connection in lasting:
            async with connection:
                await amqp_broker.aio.consumers("orders", n=1)
                break
        assert await task == []

    run(work)


def test_4_an_attempt_of_no_use_ends_it(amqp_broker):
    passwords = iter(["guest", "wrong"])

    async def password():
        return next(passwords)

    async def work():
        async with (
            kept_open(amqp_broker.url, password=password) as lasting,
            lasting.consume("orders") as messages,
        ):
            tasks = [asyncio.create_task(outcome(messages.get())) for _ in range(3)]
            await amqp_broker.aio.consumers("orders", n=1)
            amqp_broker.reset_connections()
            ends = await asyncio.gather(*tasks)
            assert {type(end) for end in ends} == {aio.ConnectionLost}
            assert len({id(end) for end in ends}) == 3
            assert "ACCESS_REFUSED" in str(ends[0])
            with pytest.raises(aio.ConnectionLost, match="ACCESS_REFUSED"):
                await lasting.consume("orders").__aenter__()

    run(work)


def test_4_a_consumer_is_left_while_there_is_no_connection(amqp_broker):
    async def work():
        async with kept_open(amqp_broker.url) as lasting:
            async with lasting.consume("orders") as messages:
                tasks = [asyncio.create_task(anext(messages, None)) for _ in range(2)]
                await amqp_broker.aio.consumers("orders", n=1)
                amqp_broker.refuse_connections()
                amqp_broker.reset_connections()
                await until(lasting, "connecting")
                await messages.cancel()
                assert await asyncio.gather(*tasks) == [None, None]
            assert not lasting._consumers
            amqp_broker.accept_connections()
            await until(lasting, "open")
            await amqp_broker.aio.channels(n=0)

    run(work)


@pytest.mark.parametrize("source", ["connection", "connections"])
def test_6_a_cancelled_start_leaves_nothing(amqp_broker, source):
    amqp_broker.declare_queue("orders")
    for body in BODIES:
        amqp_broker.publish(body, routing_key="orders")

    async def work():
        async with kept_open(amqp_broker.url) as lasting:
            await until(lasting, "open")
            origin = lasting if source == "connections" else lasting._connection
            for steps in [*range(21), *range(30, 200, 10)]:
                messages = origin.consume("orders")
                task = asyncio.create_task(messages.__aenter__())
                for _ in range(steps):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.wait((task,))
                if not task.cancelled():
                    await messages.__aexit__()
                await lasting._connection.check()
                await amqp_broker.aio.consumers("orders", n=0)
                await amqp_broker.aio.unacked("orders", n=0)
                await amqp_broker.aio.channels(n=0)
        assert len(amqp_broker.messages("orders")) == 5

    run(work)


def test_a_message_of_the_connection_before(amqp_broker):
    """Its late acknowledgement does nothing (pitfall 3), and it comes again."""
    amqp_broker.declare_queue("orders")
    amqp_broker.publish(b"one", routing_key="orders")

    async def work():
        async with kept_open(amqp_broker.url) as lasting, lasting.consume("orders") as messages:
            first = await messages.get(5)
            amqp_broker.reset_connections()
            second = await messages.get(5)
            assert (first.body, second.body, second.redelivered) == (b"one", b"one", True)
            assert (await first.ack(), await second.ack()) == (False, True)

    run(work)
    assert amqp_broker.messages("orders") == []


def test_a_consumer_of_a_connection_has_a_channel_of_its_own(amqp_broker):
    amqp_broker.declare_queue("orders")
    amqp_broker.publish(b"one", routing_key="orders")

    async def work():
        async with aio.connect(amqp_broker.url) as connection:
            async with connection.consume("orders") as messages:
                assert await (await messages.get(5)).ack()
                with pytest.raises(RuntimeError, match="once"):
                    await messages.__aenter__()
            await amqp_broker.aio.channels(n=0)
            with pytest.raises(aio.NotFound):
                await connection.consume("missing").__aenter__()
            with pytest.raises(RuntimeError, match="async with"):
                await connection.consume("orders").get()
            async with connection.consume("orders") as messages:
                amqp_broker.reset_connections()
                with pytest.raises(aio.ConnectionLost):
                    await messages.get(5)

    run(work)


# ---- a service ----


def test_a_service_of_all_connections(amqp_broker):
    done, stop = [], asyncio.Event()

    async def handle(message):
        if message.body == b"1" and not message.redelivered:
            amqp_broker.reset_connections()
        done.append(message.body)
        if set(done) == set(BODIES):
            stop.set()

    async def work():
        async with kept_open(amqp_broker.url) as lasting:
            for body in BODIES:
                await lasting.publish(body, routing_key="orders")
            await aio.serve(lasting, "orders", handle, concurrency=1, stop=stop)

    run(work)
    assert amqp_broker.messages("orders") == []
    amqp_broker.consumers("orders", n=0)


def test_a_service_stops_while_there_is_no_connection():
    async def work(broker):
        stop = asyncio.Event()
        async with kept_open(broker.url) as lasting:
            service = asyncio.create_task(
                aio.serve(lasting, "orders", lambda message: asyncio.sleep(0), stop=stop)
            )
            await broker.aio.consumers("orders", n=1)
            broker.refuse_connections()
            broker.reset_connections()
            await until(lasting, "connecting")
            stop.set()
            await service

    with Broker() as broker:
        run(lambda: work(broker))
