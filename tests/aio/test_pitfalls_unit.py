"""What other clients suffer from: a test for each pitfall, under its number in the guide's table.

12 to 15 and 24, and more of 1, are in test_reconnection_unit. 26 is test_urls_unit, 2 and 23 have
their sweeps in test_sweeps_unit, 18 is every test here, too: see runs. 32 is typing/test_examples
with aio_worker.py.
"""

from __future__ import annotations

import asyncio
import datetime
import gc
import random
import socket
import ssl
import time
import warnings
from types import SimpleNamespace

import pytest

from amqpcodec import aio
from amqpcodec import v0_9_1 as amqp
from amqpcodec.testing import Broker, tls_contexts
from tests.aio.runs import Stopwatch, outcome, run, until

pytestmark = pytest.mark.filterwarnings("error")


def connected(broker, work, seconds=30, **options):
    """Run work(connection)."""

    async def connect_and_work():
        async with aio.connect(broker.url, **options) as connection:
            return await work(connection)

    return run(connect_and_work, seconds)


# ---- 1: a publish through a restart of the broker ----


def test_1_a_publish_after_the_loss_fails_at_once(amqp_broker):
    async def work(connection):
        channel = await connection.channel()
        await channel.declare_queue("orders")
        amqp_broker.reset_connections()
        await connection.wait_closed()
        with pytest.raises(aio.ConnectionLost, match="lost"):
            await channel.publish(b"", routing_key="orders", timeout=None)
        with pytest.raises(aio.ConnectionLost):
            await connection.channel()

    connected(amqp_broker, work)


def test_1_a_publish_to_a_frozen_broker_ends_in_time(amqp_broker):
    async def work(connection):
        channel = await connection.channel()
        await channel.declare_queue("orders")
        amqp_broker.on("basic.publish").freeze()
        with Stopwatch() as watch, pytest.raises(aio.PublishUnconfirmed, match="in time"):
            await channel.publish(b"", routing_key="orders", timeout=0.2)
        assert watch.seconds > 0.15
        await channel.close(timeout=0)
        await connection.close(timeout=0)

    connected(amqp_broker, work)


# ---- 3: acknowledgements on a channel that is gone ----


@pytest.mark.parametrize("fault", ["connection", "channel"])
def test_3_late_acknowledgements_do_nothing(amqp_broker, fault, caplog):
    caplog.set_level("INFO", "amqpcodec.aio")

    async def work():
        async with aio.connect(amqp_broker.url) as connection:
            channel = await connection.channel()
            await channel.declare_queue("orders")
            for _ in range(5):
                await channel.publish(b"", routing_key="orders")
            taken = [await channel.get("orders") for _ in range(5)]
            if fault == "connection":
                amqp_broker.reset_connections()
                await connection.wait_closed()
            else:
                await outcome(channel.delete_exchange("amq.direct"))
            results = [await message.ack() for message in taken]
            results += [await taken[0].nack(), await taken[0].reject()]
            assert results == [False] * 7
        async with aio.connect(amqp_broker.url) as connection, connection.channel() as channel:
            again = [await channel.get("orders") for _ in range(5)]
            assert all(message.redelivered for message in again)
            assert [await message.ack() for message in again] == [True] * 5

    run(work)
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert "delivers again" in caplog.text


# ---- 4: a consumer dies, and nobody hears of it ----


@pytest.mark.parametrize("way", ["delete", "cancel", "406", "close", "reset"])
def test_4_the_end_of_a_consumer_is_raised(amqp_broker, way):
    async def work(connection):
        channel = await connection.channel()
        await channel.declare_queue("orders")
        ends = []

        async def consume():
            try:
                async with channel.consume("orders") as messages:
                    async for _ in messages:
                        pass
            except aio.AMQPError as error:
                ends.append(error)

        task = asyncio.create_task(consume())
        await amqp_broker.aio.consumers("orders", n=1)
        if way == "delete":
            async with connection.channel() as other:
                await other.delete_queue("orders")
        elif way == "cancel":
            amqp_broker.cancel_consumers("orders")
        elif way == "406":
            amqp_broker.on("queue.purge").close_channel(406, "PRECONDITION_FAILED - timeout")
            await outcome(channel.purge_queue("orders"))
        elif way == "close":
            amqp_broker.close_connections()
        else:
            amqp_broker.reset_connections()
        await task
        return ends

    (end,) = connected(amqp_broker, work)
    kinds = {"406": aio.ChannelClosed, "close": aio.ConnectionClosed, "reset": aio.ConnectionLost}
    assert isinstance(end, kinds.get(way, aio.ConsumerCancelled))
    assert end.reply_code == {"406": 406, "close": 320}.get(way, 0)
    if way in ("delete", "cancel"):
        assert "of queue 'orders'" in str(end)


def test_4_what_came_before_the_cancel_can_be_handled(amqp_broker):
    async def work(connection):
        channel = await connection.channel()
        await channel.declare_queue("orders")
        for number in range(3):
            await channel.publish(b"%d" % number, routing_key="orders")
        bodies = []

        async def consume():
            async with channel.consume("orders") as messages:
                await amqp_broker.aio.unacked("orders", n=3)
                amqp_broker.cancel_consumers("orders")
                async for message in messages:
                    bodies.append(message.body)
                    await message.ack()

        assert isinstance(await outcome(consume()), aio.ConsumerCancelled)
        assert bodies == [b"0", b"1", b"2"]

    connected(amqp_broker, work)


def test_4_a_consumer_can_have_more_time(amqp_broker):
    """The broker closes the channel of a message that waits too long for its acknowledgement."""

    async def work(connection):
        channel, patient = await connection.channel(), await connection.channel()
        await channel.declare_queue("orders")
        await channel.declare_queue("others")
        for queue in ("orders", "others"):
            await channel.publish(b"", routing_key=queue)
        async with (
            channel.consume("orders") as messages,
            patient.consume("others", ack_timeout=7200) as others,
        ):
            await messages.get(5)
            message = await others.get(5)
            amqp_broker.advance(3600)
            with pytest.raises(aio.ChannelClosed, match="timeout") as caught:
                await messages.get(5)
            assert caught.value.reply_code == 406
            assert await message.ack() is True
        with pytest.raises(ValueError, match="ack_timeout"):
            channel.consume("orders", ack_timeout=0)

    connected(amqp_broker, work)


# ---- 5: a close that hangs or loses ----


@pytest.mark.parametrize("closed", ["connection", "channel"])
def test_5_close_waits_for_the_confirms(amqp_broker, closed):
    async def work(connection):
        channel = await connection.channel()
        await channel.declare_queue("orders")
        futures = [channel.publish_nowait(b"", routing_key="orders") for _ in range(500)]
        await (connection if closed == "connection" else channel).close()
        assert await asyncio.gather(*futures) == [None] * 500

    connected(amqp_broker, work)
    amqp_broker.messages("orders", n=500)


@pytest.mark.parametrize("closed", ["connection", "channel"])
def test_5_close_waits_for_a_confirm_that_is_late(amqp_broker, closed):
    async def work(connection):
        channel = await connection.channel()
        await channel.declare_queue("orders")
        amqp_broker.drop_confirm()
        future = channel.publish_nowait(b"", routing_key="orders")
        with Stopwatch() as watch:
            await (connection if closed == "connection" else channel).close(timeout=0.3)
        assert watch.seconds > 0.25
        assert isinstance(await outcome(future), aio.PublishUnconfirmed)

    connected(amqp_broker, work)


@pytest.mark.parametrize("trouble", ["frozen", "blocked"])
@pytest.mark.parametrize("closed", ["connection", "channel"])
def test_5_close_has_one_deadline(amqp_broker, trouble, closed):
    async def work(connection):
        channel = await connection.channel()
        await channel.declare_queue("orders")
        if trouble == "frozen":
            amqp_broker.on("basic.publish").freeze()
            future = channel.publish_nowait(b"", routing_key="orders")
        else:
            amqp_broker.drop_confirm()
            amqp_broker.block()
            future = channel.publish_nowait(b"", routing_key="orders")
            await until(lambda: connection.blocked)
        tasks = [
            asyncio.create_task(outcome(channel.publish(b"", routing_key="orders"))),
            asyncio.create_task(outcome(channel.declare_queue("more"))),
        ]
        await asyncio.sleep(0)
        with Stopwatch() as watch:
            await (connection if closed == "connection" else channel).close(timeout=1.5)
        assert 1.4 < watch.seconds < 3  # that of one wait, not of two
        errors = [*await asyncio.gather(*tasks), await outcome(future)]
        assert [isinstance(error, aio.AMQPError) for error in errors] == [True] * 3
        assert isinstance(errors[-1], aio.PublishUnconfirmed)
        assert "closed by this client" in str(errors[-1])
        assert "may be in the queue" in str(errors[-1])
        await connection.close(timeout=0.1)

    connected(amqp_broker, work)


def test_5_close_can_be_called_by_several_tasks(amqp_broker):
    async def work(connection):
        channel = await connection.channel()
        await asyncio.gather(channel.close(), channel.close(), connection.close())
        await asyncio.gather(channel.close(), connection.close())
        assert isinstance(channel.error, aio.AMQPError)
        assert str(connection.error) == "200 closed by this client"

    connected(amqp_broker, work)


# ---- 6: cancelled calls leave half-made things ----


async def step_and_cancel(call, steps):
    """Cancel a call after so many steps of the loop; its value, or None."""
    task = asyncio.ensure_future(call)
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait((task,))
    if task.cancelled():
        return None
    return task.result()


def test_6_cancelled_consumers_and_channels_leave_nothing(amqp_broker):
    async def work(connection):
        main = await connection.channel()
        await main.declare_queue("orders")
        for number in range(5):
            await main.publish(b"%d" % number, routing_key="orders")
        outcomes = set()
        for steps in [*range(21), *range(30, 200, 10)]:
            opened = await step_and_cancel(connection.channel().__aenter__(), steps)
            outcomes.add(("channel", opened is not None))
            if opened is not None:
                await opened.close()
            messages = main.consume("orders")
            entered = await step_and_cancel(messages.__aenter__(), steps)
            outcomes.add(("consume", entered is not None))
            if entered is not None:
                await messages.__aexit__(None, None, None)
            message = await step_and_cancel(main.get("orders"), steps)
            outcomes.add(("get", message is not None))
            if message is not None:
                await message.nack()
            await main.declare_queue("orders", passive=True)
            await amqp_broker.aio.consumers("orders", n=0)
            await amqp_broker.aio.unacked("orders", n=0)
            await amqp_broker.aio.channels(n=1)
        assert len(amqp_broker.messages("orders")) == 5
        return outcomes

    outcomes = connected(amqp_broker, work)
    assert {(name, False) for name in ("channel", "consume", "get")} <= outcomes


def test_6_a_cancelled_consumer_of_a_connection_leaves_no_channel(amqp_broker):
    """Cancelled while it waits for basic.cancel-ok, at the end of its ``async with``."""

    async def consume(connection):
        async with connection.consume("orders") as messages:
            await messages.get()

    async def work(connection):
        amqp_broker.declare_queue("orders")
        amqp_broker.publish(b"", routing_key="orders")
        fault = amqp_broker.on("basic.cancel-ok").drop()
        task = asyncio.create_task(consume(connection))
        await until(lambda: fault.hit)
        task.cancel()
        await asyncio.wait((task,))
        assert task.cancelled()
        await amqp_broker.aio.channels(n=0)
        await amqp_broker.aio.messages("orders", n=1)

    connected(amqp_broker, work)


# ---- 7: cancellation in the middle of a call breaks the next one ----


def test_7_each_reply_is_its_own(amqp_broker):
    async def work(connection):
        channel = await connection.channel()
        for number in range(8):
            await channel.declare_queue(f"queue.{number}")
        chance = random.Random(7)
        cancelled = 0

        async def declare(number):
            assert (await channel.declare_queue(f"queue.{number}")).name == f"queue.{number}"

        for _ in range(60):
            tasks = [asyncio.create_task(declare(chance.randrange(8))) for _ in range(10)]
            for task in chance.sample(tasks, 4):
                for _ in range(chance.randrange(4)):
                    await asyncio.sleep(0)
                task.cancel()
            await asyncio.wait(tasks)
            cancelled += sum(task.cancelled() for task in tasks)
            assert not [task for task in tasks if not task.cancelled() and task.exception()]
        assert cancelled > 50

        sends = [
            asyncio.create_task(channel.publish(b"", routing_key="queue.0")) for _ in range(50)
        ]
        await asyncio.sleep(0)
        for task in sends:
            task.cancel()
        await asyncio.wait(sends)
        await channel.publish(b"last", routing_key="queue.0")
        assert channel.unconfirmed == 0

    connected(amqp_broker, work)


def test_7_a_timeout_closes_nothing(amqp_broker):
    async def work(connection):
        channel = await connection.channel()
        await channel.declare_queue("orders")
        fault = amqp_broker.on("queue.declare-ok").delay(0.2)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await channel.declare_queue("orders")
        amqp_broker.advance(1)
        assert (await channel.declare_queue("other")).name == "other"
        assert fault.hit

    connected(amqp_broker, work)


# ---- 8: cleanup that swallows, or never ends ----


def test_8_a_cancelled_worker_on_a_frozen_broker_ends_as_cancelled(amqp_broker):
    async def work(connection):
        channel = await connection.channel()
        await channel.declare_queue("orders")

        async def consume():
            async with channel.consume("orders") as messages:
                consumes.set()
                async for _ in messages:
                    pass

        consumes = asyncio.Event()
        task = asyncio.create_task(consume())
        await consumes.wait()
        amqp_broker.on("basic.cancel").freeze()
        task.cancel()
        await asyncio.wait((task,))
        assert task.cancelled()
        assert isinstance(channel.error, aio.ChannelClosed)  # it was given up
        await connection.close(timeout=0.1)

    connected(amqp_broker, work)


def test_8_the_end_raises_nothing_over_an_exception(amqp_broker):
    async def work():
        async with aio.connect(amqp_broker.url) as connection, connection.channel() as channel:
            queue = await channel.declare_queue()
            async with channel.consume(queue.name):
                amqp_broker.reset_connections()
                await connection.wait_closed()
                assert 1 / 0

    with pytest.raises(ZeroDivisionError):
        run(work)


# ---- 9: two tasks on one iterator ----


def test_9_tasks_share_an_iterator(amqp_broker):
    async def work(connection):
        channel = await connection.channel()
        await channel.declare_queue("orders")
        counts = dict.fromkeys(range(4), 0)

        async def take(number):
            async for message in messages:
                counts[number] += 1
                await message.ack()
                await asyncio.sleep(0)

        async with channel.consume("orders", prefetch=4) as messages:
            tasks = [asyncio.create_task(outcome(take(number))) for number in counts]
            sends = [channel.publish(b"", routing_key="orders") for _ in range(200)]
            await asyncio.gather(*sends)
            await amqp_broker.aio.messages("orders", n=0)
            await amqp_broker.aio.unacked("orders", n=0)
            cancelled = tasks[0]
            cancelled.cancel()
            await channel.publish(b"", routing_key="orders")
            await amqp_broker.aio.messages("orders", n=0)
            await channel.delete_queue("orders")
            ends = await asyncio.gather(*tasks[1:])
        assert sum(counts.values()) == 201
        assert min(counts.values()) > 0
        assert {type(end) for end in ends} == {aio.ConsumerCancelled}
        assert len({id(end) for end in ends}) == 3

    connected(amqp_broker, work)


def test_9_a_message_for_a_cancelled_task_goes_to_another(amqp_broker):
    async def work(connection):
        channel = await connection.channel()
        queue = await channel.declare_queue()
        await channel.publish(b"one", routing_key=queue.name)
        content = (await channel.get(queue.name))._content
        async with channel.consume(queue.name) as messages:
            first, second = [asyncio.create_task(messages.get()) for _ in range(2)]
            await asyncio.sleep(0)
            messages._on_delivered(SimpleNamespace(message=content))  # wakes the first task
            first.cancel()
            assert (await second).body == b"one"
        assert first.cancelled()

    connected(amqp_broker, work)


# ---- 10, 11: prefetch ----


def test_10_the_buffer_is_never_above_the_prefetch(amqp_broker):
    async def work(connection):
        channel = await connection.channel()
        await channel.declare_queue("orders")
        await asyncio.gather(*(channel.publish(b"", routing_key="orders") for _ in range(1000)))
        largest = 0
        async with channel.consume("orders", prefetch=20) as messages:
            for _ in range(1000):
                message = await messages.get(5)
                largest = max(largest, len(messages._buffer) + 1)
                if message.delivery_tag % 7 == 0:
                    await asyncio.sleep(0)
                await message.ack()
        assert 1 < largest <= 20

    connected(amqp_broker, work)


def test_10_what_needs_no_acknowledgement_is_bounded(amqp_broker):
    """Above the bound the client stops reading, and heartbeats still leave."""
    amqp_broker.declare_queue("orders")
    for _ in range(20_000):
        amqp_broker.publish(bytes(300), routing_key="orders")

    async def work(connection):
        channel = await connection.channel()
        await channel.declare_queue("others")
        async with channel.consume("orders", no_ack=True) as messages:
            await messages.get(5)
            await until(lambda: len(messages._buffer) > 100)
            await asyncio.sleep(6.5)  # longer than two heartbeats
            assert connection.state == "open"
            assert 100 < len(messages._buffer) < 2000
            await channel.publish(b"", routing_key="others")  # a call that waits is answered
            for _ in range(19_999):
                await messages.get(5)

    connected(amqp_broker, work, heartbeat=3)


def test_10_a_consumer_that_is_left_reads_on(amqp_broker):
    amqp_broker.declare_queue("orders")
    for _ in range(20_000):
        amqp_broker.publish(bytes(300), routing_key="orders")

    async def work(connection):
        channel = await connection.channel()
        async with channel.consume("orders", no_ack=True) as messages:
            await messages.get(5)
            await until(lambda: connection._link.full)
        await connection.check()
        await channel.declare_queue("others")

    connected(amqp_broker, work)


def test_11_the_prefetch_comes_before_its_consumer(amqp_broker):
    async def work(connection):
        channel = await connection.channel()
        await channel.declare_queue("orders")
        async with channel.consume("orders"), channel.consume("orders", prefetch=3):
            (first, second) = await amqp_broker.aio.consumers("orders", n=2)
            assert (first.prefetch, second.prefetch) == (100, 3)

    connected(amqp_broker, work)
    names = [entry.name for entry in amqp_broker.transcript()]
    assert [name for name in names if name in ("basic.qos", "basic.consume")] == [
        *("basic.qos", "basic.consume") * 2
    ]


# ---- 16: connection.blocked ----


def test_16_a_blocked_connection(amqp_broker):
    async def work(connection):
        channel = await connection.channel()
        await channel.declare_queue("orders")
        await connection.wait_unblocked()
        amqp_broker.block("memory")
        await channel.publish(b"first", routing_key="orders")  # it still counts
        await until(lambda: connection.blocked)
        assert "memory" in connection.blocked
        with pytest.raises(aio.ConnectionBlocked, match=r"memory.*not"):
            await channel.publish(b"second", routing_key="orders", timeout=0.1)
        with pytest.raises(aio.ConnectionBlocked):
            channel.publish_nowait(b"third", routing_key="orders")
        waiting = asyncio.create_task(channel.publish(b"fourth", routing_key="orders"))
        unblocked = asyncio.create_task(connection.wait_unblocked())
        await asyncio.sleep(0.05)
        assert not waiting.done()
        assert not unblocked.done()
        amqp_broker.unblock()
        await waiting
        await unblocked
        assert connection.blocked is None

    connected(amqp_broker, work)
    bodies = [message.body for message in amqp_broker.messages("orders")]
    assert bodies == [b"first", b"fourth"]


def test_16_the_wait_for_a_blocked_connection_ends_with_it(amqp_broker):
    async def work(connection):
        channel = await connection.channel()
        await channel.declare_queue("orders")
        amqp_broker.block()
        await channel.publish(b"", routing_key="orders")
        await until(lambda: connection.blocked)
        calls = [connection.wait_unblocked(), channel.publish(b"", routing_key="orders")]
        tasks = [asyncio.create_task(outcome(call)) for call in calls]
        await asyncio.sleep(0)
        amqp_broker.reset_connections()
        for end in await asyncio.gather(*tasks):
            assert isinstance(end, aio.ConnectionLost)

    connected(amqp_broker, work)


# ---- 17: unroutable messages ----


@pytest.mark.parametrize("coalesce", [False, True])
def test_17_returns_are_errors_of_their_own_publications(amqp_broker, coalesce):
    amqp_broker.coalesce_confirms(coalesce)

    async def work(connection):
        channel = await connection.channel()
        await channel.declare_queue("orders")
        chance = random.Random(17)
        keys = [chance.choice(["orders", "nowhere"]) for _ in range(2000)]
        calls = [
            channel.publish(b"%d" % (n % 9 and n), routing_key=key) for n, key in enumerate(keys)
        ]
        ends = await asyncio.gather(*(outcome(call) for call in calls))
        for key, end in zip(keys, ends, strict=True):
            assert (end is None) == (key == "orders")
            if end is not None:
                assert isinstance(end, aio.Returned)
                assert (end.reply_code, end.reply_text) == (312, "NO_ROUTE")
                assert end.routing_key == key
        with pytest.raises(aio.Returned):
            await channel.publish(b"", routing_key="nowhere")
        await channel.publish(b"", routing_key="nowhere", exchange="amq.topic")  # no subscriber
        await channel.publish(b"", routing_key="nowhere", mandatory=False)

    connected(amqp_broker, work)


def test_17_messages_are_told_apart_by_what_the_broker_reads(amqp_broker):
    """Times without fractions, tuples as lists, and headers as they were when they were sent."""
    amqp_broker.coalesce_confirms()

    async def work(connection):
        channel = await connection.channel()
        queue = await channel.declare_queue()
        await channel.bind_queue(queue.name, "amq.headers", arguments={"to": "orders"})
        headers = {"tuple": (1, 2), "when": datetime.datetime.now(datetime.UTC)}
        futures = []
        for number in range(100):
            headers["to"] = "orders" if number % 3 else "nowhere"
            futures.append(
                channel.publish_nowait(
                    b"", routing_key="", exchange="amq.headers", mandatory=True,
                    headers=headers, timestamp=datetime.datetime.now(datetime.UTC),
                )
            )  # fmt: skip
        ends = await asyncio.gather(*futures, return_exceptions=True)
        returned = [number for number, end in enumerate(ends) if isinstance(end, aio.Returned)]
        assert returned == list(range(0, 100, 3))
        assert ends[0].properties.headers["to"] == "nowhere"

    connected(amqp_broker, work)


# ---- 18: exceptions that nobody sees ----


def test_18_no_exception_goes_unseen(amqp_broker):
    """That of a consuming task is the task's; that of a future that nobody reads, the loop's."""

    async def work(connection):
        channel = await connection.channel()
        await channel.declare_queue("orders")
        await channel.publish(b"", routing_key="orders")

        async def consume():
            async with channel.consume("orders") as messages:
                async for message in messages:
                    async with message.process(requeue=True):
                        raise LookupError

        task = asyncio.create_task(consume())
        await asyncio.wait((task,))
        assert isinstance(task.exception(), LookupError)
        contexts = []
        loop = asyncio.get_running_loop()
        before = loop.get_exception_handler()
        loop.set_exception_handler(lambda _, context: contexts.append(context))
        channel.publish_nowait(b"", routing_key="nowhere")
        await channel.publish(b"", routing_key="orders")
        gc.collect()
        loop.set_exception_handler(before)
        assert [type(context["exception"]) for context in contexts] == [aio.Returned]

    connected(amqp_broker, work)


@pytest.mark.parametrize("is_confirmed", [False, True])
def test_18_a_program_that_ends_without_closing(amqp_broker, is_confirmed):
    """Its loop ends: no task or exception of the client is left; asyncio's warning is."""
    problems = []

    async def main():
        asyncio.get_running_loop().set_exception_handler(lambda _, what: problems.append(what))
        connection = await aio.connect(amqp_broker.url)
        channel = await connection.channel()
        await channel.declare_queue("orders")
        messages = await channel.consume("orders").__aenter__()
        calls = [messages.get(), messages.get(), channel.get("orders")]
        tasks = [asyncio.create_task(call) for call in calls]
        tasks.append(asyncio.create_task(connection.publish(b"", routing_key="orders")))
        channel.publish_nowait(b"", routing_key="orders")
        await asyncio.sleep(0.1 if is_confirmed else 0)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asyncio.run(main())
        gc.collect()
    assert problems == []
    assert {warning.category for warning in caught} <= {ResourceWarning}
    amqp_broker.connections(n=0)


# ---- 19, 20: errors of a channel ----


def test_19_one_wrong_publication_among_a_hundred(amqp_broker):
    async def work(connection):
        channel = await connection.channel()
        await channel.declare_queue("orders")
        calls = [channel.publish(b"%d" % n, routing_key="orders") for n in range(100)]
        calls[50].close()
        calls[50] = channel.publish(b"", routing_key="orders", exchange="wrong")
        ends = await asyncio.gather(*(outcome(call) for call in calls))
        assert isinstance(ends[50], aio.NotFound)
        others = ends[:50] + ends[51:]
        failed = [end for end in others if end is not None]
        assert {type(end) for end in failed} == {aio.PublishUnconfirmed}
        assert {end.__cause__.reply_code for end in failed} == {404}
        arrived = {message.body for message in amqp_broker.messages("orders")}
        confirmed = {b"%d" % n for n, end in enumerate(ends) if end is None}
        assert confirmed <= arrived
        assert failed
        with pytest.raises(aio.ChannelClosed, match="no exchange 'wrong'"):
            await channel.publish(b"", routing_key="orders")
        async with connection.channel() as other:
            await other.publish(b"", routing_key="orders")

    connected(amqp_broker, work)


def test_19_publications_of_a_connection_have_channels_of_their_own(amqp_broker):
    amqp_broker.declare_queue("orders")

    async def work(connection):
        calls = [connection.publish(b"%d" % n, routing_key="orders") for n in range(100)]
        wrong = [connection.publish(b"", routing_key="x", exchange="wrong") for _ in range(3)]
        ends = await asyncio.gather(*(outcome(call) for call in [*calls[:50], *wrong, *calls[50:]]))
        assert ends[:50] + ends[53:] == [None] * 100
        assert {type(end) for end in ends[50:53]} == {aio.NotFound}
        assert len(connection.session.channels) == 1
        async with connection.channel() as channel:
            await channel.declare_exchange("wrong", "fanout")
        await connection.publish(b"", routing_key="x", exchange="wrong")  # by a new channel
        with pytest.raises(aio.Returned):
            await connection.publish(b"", routing_key="nowhere")

    connected(amqp_broker, work)
    amqp_broker.messages("orders", n=100)


def test_19_many_exchanges_share_some_channels(amqp_broker):
    async def work(connection):
        channel = await connection.channel()
        for number in range(100):
            await channel.declare_exchange(f"e{number}", "fanout")
        sends = [
            connection.publish(b"", exchange=f"e{number}", routing_key="") for number in range(100)
        ]
        await asyncio.gather(*sends)
        assert len(connection.session.channels) < 70

    connected(amqp_broker, work)


def test_19_a_place_in_the_window_of_a_channel_that_ends(amqp_broker):
    """Who waits for a place behind a wrong publication goes on by the next channel."""

    async def work(connection):
        amqp_broker.on("basic.publish", n=1).close_channel(404, "NOT_FOUND - a test")
        sends = [
            connection.publish(bytes(600_000), exchange="amq.topic", routing_key="") for _ in "abcd"
        ]
        return await asyncio.gather(*(outcome(send) for send in sends))

    ends = connected(amqp_broker, work)
    assert type(ends[0]) is aio.PublishUnconfirmed
    assert ends[1:] == [None] * 3


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("kind", [aio.AccessRefused, aio.PreconditionFailed])
def test_19_a_publication_that_is_refused(amqp_broker, kind, count):
    """One alone is the one at fault. Of several the broker says only that it is one of them."""
    is_internal = kind is aio.AccessRefused
    options = {"exchange": "e"} if is_internal else {"user_id": "somebody"}

    async def work(connection):
        async with connection.channel() as channel:
            await channel.declare_exchange("e", "fanout", internal=True)
        sends = [connection.publish(b"", routing_key="", **options) for _ in range(count)]
        ends = await asyncio.gather(*(outcome(send) for send in sends))
        reasons = [end if count == 1 else end.__cause__ for end in ends]
        assert [type(end) for end in ends] == [
            kind if count == 1 else aio.PublishUnconfirmed
        ] * count
        assert [reason.reply_code for reason in reasons] == [403 if is_internal else 406] * count

    connected(amqp_broker, work)


OPERATIONS = {
    "declare_queue": lambda channel: channel.declare_queue("orders"),
    "declare_exchange": lambda channel: channel.declare_exchange("e"),
    "bind_queue": lambda channel: channel.bind_queue("orders", "e"),
    "unbind_queue": lambda channel: channel.unbind_queue("orders", "e"),
    "bind_exchange": lambda channel: channel.bind_exchange("e", "e"),
    "unbind_exchange": lambda channel: channel.unbind_exchange("e", "e"),
    "purge_queue": lambda channel: channel.purge_queue("orders"),
    "delete_queue": lambda channel: channel.delete_queue("orders"),
    "delete_exchange": lambda channel: channel.delete_exchange("e"),
    "publish": lambda channel: channel.publish(b"", routing_key="orders"),
    "get": lambda channel: channel.get("orders"),
    "consume": lambda channel: channel.consume("orders").__aenter__(),
    "commit_tx": lambda channel: channel.commit_tx(),
    "rollback_tx": lambda channel: channel.rollback_tx(),
}


@pytest.mark.parametrize("state", ["channel", "connection", "closed channel", "closed connection"])
def test_20_one_class_of_error_for_one_situation(amqp_broker, state):
    async def work(connection):
        channel = await connection.channel()
        if state == "channel":
            with pytest.raises(aio.NotFound):
                await channel.declare_queue("nowhere", passive=True)
        elif state == "connection":
            amqp_broker.close_connections(320, "CONNECTION_FORCED - a test")
            await connection.wait_closed()
        else:
            await (channel if state == "closed channel" else connection).close()
        ends = {name: await outcome(call(channel)) for name, call in OPERATIONS.items()}
        in_channel = state.endswith("channel")
        kind = aio.ChannelClosed if in_channel else aio.ConnectionClosed
        assert {name: type(end) for name, end in ends.items()} == dict.fromkeys(OPERATIONS, kind)
        code = {"channel": 404, "connection": 320}.get(state, 200)
        assert {end.reply_code for end in ends.values()} == {code}
        assert type(channel.error) is kind
        with pytest.raises(kind):
            channel.publish_nowait(b"", routing_key="orders")
        if not in_channel:
            with pytest.raises(aio.ConnectionClosed):
                await connection.update_secret("x")
            with pytest.raises(aio.ConnectionClosed):
                await connection.check()

    connected(amqp_broker, work)


def test_20_waiting_calls_get_the_class_of_later_ones(amqp_broker):
    async def work(connection):
        channel = await connection.channel()
        calls = [channel.declare_queue("orders", durable=durable) for durable in (1, 0, 1, 1)]
        ends = await asyncio.gather(*(outcome(call) for call in calls))
        assert [getattr(end, "reply_code", 0) for end in ends] == [0, 406, 406, 406]
        assert type(ends[1]) is aio.PreconditionFailed
        assert {type(end) for end in ends[2:]} == {aio.ChannelClosed}
        assert type(await outcome(channel.declare_queue("q"))) is aio.ChannelClosed

    connected(amqp_broker, work)


def test_20_too_many_channels(amqp_broker):
    """The agreed number is used up: an error of the tree, and the connection goes on."""

    async def work():
        async with aio.connect(amqp_broker.url + "?channel_max=2") as connection:
            first, _ = await connection.channel(), await connection.channel()
            for call in (connection.channel(), connection.publish(b"", routing_key="orders")):
                assert str(await outcome(call)) == "all 2 channels are in use"
            await first.close()
            await (await connection.channel()).close()

    run(work)


# ---- 21, 22: heartbeats ----


def test_21_a_blocked_loop_is_named(amqp_broker):
    async def work(connection):
        assert connection.heartbeat == 1
        time.sleep(3.5)
        await connection.wait_closed()
        assert isinstance(connection.error, aio.ConnectionLost)
        assert "the event loop was blocked for" in str(connection.error)
        assert "heartbeat 1 s" in str(connection.error)

    connected(amqp_broker, work, heartbeat=1)


def test_21_a_blocked_loop_is_told_before_it_is_too_late(amqp_broker, caplog):
    async def work(connection):
        time.sleep(3.2)
        await until(lambda: caplog.records)
        assert connection.state == "open"

    connected(amqp_broker, work, heartbeat=3)
    record = next(one for one in caplog.records if one.name == "amqpcodec.aio")
    assert record.levelname == "WARNING"
    assert "the event loop was blocked" in record.getMessage()
    assert "heartbeat 3 s" in record.getMessage()
    assert "asyncio.to_thread" in record.getMessage()


def test_22_a_silent_broker_is_noticed(amqp_broker):
    async def work(connection):
        channel = await connection.channel()
        queue = await channel.declare_queue()
        await channel.declare_queue("other")
        async with channel.consume(queue.name) as messages:
            # The broker lives, and nothing of it comes.
            for name in ["queue.purge-ok", *["heartbeat"] * 9]:
                amqp_broker.on(name, sender="server").drop()
            amqp_broker.drop_confirm()
            calls = [
                messages.get(),
                channel.purge_queue(queue.name),
                channel.publish(b"", routing_key="other"),
            ]
            with Stopwatch() as watch:
                ends = await asyncio.gather(*(outcome(call) for call in calls))
        assert watch.seconds > 1
        kinds = [aio.HeartbeatTimeout, aio.HeartbeatTimeout, aio.PublishUnconfirmed]
        assert [type(end) for end in ends] == kinds
        assert type(ends[2].__cause__) is aio.HeartbeatTimeout

    connected(amqp_broker, work, heartbeat=1)


def test_22_a_large_body_is_no_silence(amqp_broker):
    amqp_broker.write_bytes = 2000

    async def work(connection):
        channel = await connection.channel()
        await channel.declare_queue("orders")
        body = bytes(3_000_000)
        await channel.publish(body, routing_key="orders")
        assert (await channel.get("orders")).body == body

    connected(amqp_broker, work, heartbeat=1)


# ---- 23, 29, 30: how connections begin ----


def test_23_refusals_are_final_and_say_why(amqp_broker):
    url = f"amqp://guest:wrong-secret@{amqp_broker.host}:{amqp_broker.port}/"

    async def work():
        with pytest.raises(aio.AuthenticationFailed, match="403") as caught:
            await aio.connect([url, amqp_broker.url.replace("guest:guest", "guest:other")])
        assert "secret" not in str(caught.value)
        with pytest.raises(aio.VirtualHostRefused, match="530"):
            await aio.connect(amqp_broker.url, virtual_host="nowhere")
        amqp_broker.refuse_connections()
        with pytest.raises(aio.ConnectFailed, match="amqp://127"):
            await aio.connect(amqp_broker.url)
        amqp_broker.accept_connections()
        amqp_broker.end_next_connections()
        with pytest.raises(aio.ConnectFailed):
            await aio.connect(amqp_broker.url)
        async with aio.connect(amqp_broker.url) as connection:
            assert connection.state == "open"

    run(work)


@pytest.mark.parametrize("frame", ["connection.start-ok", "connection.open"])
def test_23_connect_fails_within_its_timeout(amqp_broker, frame):
    amqp_broker.on(frame).freeze()

    async def work():
        with pytest.raises(aio.ConnectFailed, match=r"within 0\.2 s"):
            await aio.connect(amqp_broker.url, timeout=0.2)

    run(work)


def test_29_a_password_is_asked_for_at_each_connection():
    passwords = iter(["old", "new"])
    asked = []

    async def password():
        asked.append(next(passwords))
        return asked[-1]

    async def work():
        with Broker(users={"me": "old"}) as broker:
            options = {"username": "me", "password": password}
            async with aio.connect(broker.url, **options) as connection:
                await connection.update_secret("old", "the token is renewed")
        with Broker(users={"me": "new"}) as broker:
            async with aio.connect(broker.url, **options) as connection:
                await connection.check()

    run(work)
    assert asked == ["old", "new"]


def test_29_a_secret_is_renewed_under_traffic():
    async def work():
        with Broker(users={"me": "old"}) as broker:
            broker.declare_queue("orders")
            async with aio.connect(broker.url, username="me", password="old") as connection:
                channel = await connection.channel()
                async with channel.consume("orders") as messages:
                    for number in range(20):
                        secret = f"token {number}"
                        broker.users["me"] = secret
                        sends = [channel.publish(b"", routing_key="orders") for _ in range(20)]
                        await asyncio.gather(*sends, connection.update_secret(secret, "renewed"))
                    for _ in range(400):
                        await (await messages.get(5)).ack()
            with pytest.raises(aio.AuthenticationFailed):
                await aio.connect(broker.url, username="me", password="old")
            async with aio.connect(broker.url, username="me", password=secret) as connection:
                sent = connection.publish(b"", routing_key="orders")
                ends = await asyncio.gather(
                    outcome(connection.update_secret("wrong", "renewed")), outcome(sent)
                )
                assert type(ends[0]) is aio.ConnectionClosed
                assert ends[0].reply_code == 530
                assert ends[1] is None or isinstance(ends[1], aio.AMQPError)
                assert connection.state == "closed"

    run(work)


def test_30_several_brokers(amqp_broker):
    async def work():
        with Broker() as other:
            urls = [amqp_broker.url, other.url]
            connections = [await aio.connect(urls) for _ in range(20)]
            assert 0 < len(other.connections()) < 20
            for connection in connections:
                await connection.close()
            other.refuse_connections()
            for _ in range(5):
                async with aio.connect(iter(urls)) as connection:
                    assert f":{amqp_broker.port}," in repr(connection)
            amqp_broker.on("connection.open").freeze()
            with pytest.raises(aio.ConnectFailed) as caught:
                await aio.connect(urls, timeout=0.3)
        assert str(caught.value).count("amqp://127.0.0.1") == 2

    run(work)


def test_19_the_end_of_the_connection_refuses_no_publication(amqp_broker):
    async def work(connection):
        channel = await connection.channel()
        future = channel.publish_nowait(b"", routing_key="orders")
        close = amqp.Connection.Close(403, "a test", class_id=60, method_id=40)
        connection._link.data_received(amqp.encode(0, close))
        assert type(await outcome(future)) is aio.PublishUnconfirmed

    connected(amqp_broker, work)


def test_30_a_name_of_several_addresses(amqp_broker, monkeypatch):
    """Each has a part of the time: one that never answers leaves enough for the next."""
    port = amqp_broker.port
    infos = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port))
        for host in ("127.0.0.2", "127.0.0.1")
    ]

    async def getaddrinfo(loop, host, *_, **options):
        assert host == "broker.example"
        return infos

    async def work():
        monkeypatch.setattr(type(asyncio.get_running_loop()), "getaddrinfo", getaddrinfo)
        with socket.create_server(("127.0.0.2", port)) as silent:
            url = amqp_broker.url.replace("127.0.0.1", "broker.example")
            for _ in range(4):
                async with aio.connect(url, timeout=1.0) as connection:
                    assert "broker.example" in repr(connection)
            silent.close()
            async with aio.connect(url, timeout=None):
                pass
        infos.pop()
        with pytest.raises(aio.ConnectFailed, match=r"127\.0\.0\.2"):
            await aio.connect(url, timeout=None)

    run(work)


# ---- 25: unbounded publishers ----


def test_25_the_bytes_that_wait_are_bounded(amqp_broker):
    async def work(connection):
        channel = await connection.channel(window=100, window_bytes=10_000)
        await channel.declare_queue("orders")
        amqp_broker.on("basic.publish").freeze()
        tasks = [
            asyncio.create_task(outcome(channel.publish(bytes(1000), routing_key="orders")))
            for _ in range(2000)
        ]
        await asyncio.sleep(0.05)
        assert channel.unconfirmed == 10
        for task in tasks[:10]:
            task.cancel()
        await asyncio.sleep(0)
        assert channel.unconfirmed == 10  # cancelling frees no place
        with pytest.raises(aio.WindowFull):
            channel.publish_nowait(b"", routing_key="orders")
        with pytest.raises(aio.WindowFull, match="no room; nothing was sent"):
            await channel.publish(b"", routing_key="orders", timeout=0.05)
        amqp_broker.reset_connections()
        ends = await asyncio.gather(*tasks[10:])
        assert {type(end) for end in ends} == {aio.ConnectionLost}

    connected(amqp_broker, work)


def test_25_a_body_above_the_window_goes_alone(amqp_broker):
    async def work(connection):
        channel = await connection.channel(window_bytes=10)
        await channel.declare_queue("orders")
        sends = [channel.publish(bytes(size), routing_key="orders") for size in (5, 50, 5, 5, 50)]
        await asyncio.gather(*sends)

    connected(amqp_broker, work)
    sizes = [len(message.body) for message in amqp_broker.messages("orders", n=5)]
    assert sizes == [5, 50, 5, 5, 50]


# ---- 27: TLS ----


def test_27_brokers_are_verified():
    pytest.importorskip("cryptography")
    good, trusting, _ = tls_contexts()
    wrong_name, trusting_wrong_name, _ = tls_contexts("broker.example")
    expired, trusting_expired, _ = tls_contexts(days=-1)

    async def work():
        with Broker(tls=good) as broker:
            async with aio.connect(broker.url, ssl=trusting) as connection:
                await connection.check()
            for options in ({}, {"ssl": trusting, "server_hostname": "another.example"}):
                with pytest.raises(aio.ConnectFailed, match="CERTIFICATE_VERIFY_FAILED") as caught:
                    await aio.connect(broker.url, **options)
                assert isinstance(caught.value.__cause__, ssl.SSLCertVerificationError)
        with Broker(tls=wrong_name) as broker:
            with pytest.raises(aio.ConnectFailed, match="CERTIFICATE_VERIFY_FAILED"):
                await aio.connect(broker.url, ssl=trusting_wrong_name)
            name = {"server_hostname": "broker.example"}
            async with aio.connect(broker.url, ssl=trusting_wrong_name, **name) as connection:
                await connection.check()
        with Broker(tls=expired) as broker, pytest.raises(aio.ConnectFailed, match="expired"):
            await aio.connect(broker.url, ssl=trusting_expired)

    run(work)
    with pytest.raises(ValueError, match="amqps"):
        aio.connect("amqp://h", ssl=trusting)


# ---- 28: leaks ----


def test_28_nothing_grows(amqp_broker):
    async def work(connection):
        main = await connection.channel()
        await main.declare_queue("orders")

        async def use(times):
            for _ in range(times):
                async with connection.channel() as channel:
                    async with channel.consume("orders"):
                        pass
                    await outcome(channel.publish(b"", routing_key="nowhere"))
                amqp_broker.nack_next()
                await outcome(main.publish(b"", routing_key="orders"))
            gc.collect()
            kinds = [type(one) for one in gc.get_objects()]  # the broker's are among them
            return sum(
                str(kind.__module__).startswith("amqpcodec.aio") or issubclass(kind, asyncio.Future)
                for kind in kinds
            )

        await use(30)
        before = await use(30)
        after = await use(150)
        assert after - before < 10
        assert len(connection.session.channels) == 1

    connected(amqp_broker, work)


def test_28_each_waiter_gets_an_error_of_its_own(amqp_broker):
    async def work(connection):
        channel = await connection.channel()
        await channel.declare_queue("orders")
        amqp_broker.nack_next(50)
        sends = [outcome(channel.publish(b"", routing_key="orders")) for _ in range(50)]
        assert len({id(end) for end in await asyncio.gather(*sends)}) == 50

    connected(amqp_broker, work)


# ---- 31: loops ----


def test_31_two_loops_one_after_the_other(amqp_broker):
    async def work(connection):
        await connection.check()
        return connection

    first = connected(amqp_broker, work)
    second = connected(amqp_broker, work)
    assert (first.state, second.state) == ("closed", "closed")


def test_31_another_loop_is_refused(amqp_broker):
    async def work(connection):
        channel = await connection.channel()
        await channel.declare_queue("orders")
        messages = await channel.consume("orders").__aenter__()
        for call in (
            lambda: channel.declare_queue("orders"),
            lambda: channel.publish(b"", routing_key="orders"),
            lambda: connection.close(),
            lambda: connection.wait_closed(),
            lambda: connection.wait_unblocked(),
            lambda: messages.get(),
            lambda: messages.cancel(),
        ):
            with pytest.raises(RuntimeError, match="another event loop"):
                await asyncio.to_thread(lambda call=call: asyncio.run(call()))
        await channel.publish(b"", routing_key="orders")
        assert (await messages.get()).body == b""
        await messages.cancel()

    connected(amqp_broker, work)


@pytest.mark.parametrize("loop", ["debug", "eager", "uvloop"])
def test_31_other_loops(amqp_broker, loop):
    """AMQPCODEC_LOOP has all tests run in them."""

    async def work():
        async with aio.connect(amqp_broker.url) as connection, connection.channel() as channel:
            queue = await channel.declare_queue()
            sends = [
                asyncio.create_task(channel.publish(b"%d" % n, routing_key=queue.name))
                for n in range(50)
            ]
            await asyncio.gather(*sends)
            async with channel.consume(queue.name) as messages:
                for _ in range(50):
                    await (await messages.get()).ack()
                waiting = asyncio.create_task(messages.get())
                await asyncio.sleep(0)
                amqp_broker.reset_connections()
                assert isinstance(await outcome(waiting), aio.ConnectionLost)

    run(work, loop=loop)


# ---- 33: health ----


def test_33_health(amqp_broker):
    async def work(connection):
        loop = asyncio.get_running_loop()
        before = connection.last_received
        await connection.check()
        assert before <= connection.last_received <= loop.time()  # uvloop counts milliseconds
        amqp_broker.on("channel.open").freeze()
        with pytest.raises(TimeoutError):
            await connection.check(timeout=0.1)
        await connection.close(timeout=0.1)

    connected(amqp_broker, work)
