"""The client against RabbitMQ."""

from __future__ import annotations

import asyncio

import pytest

from amqpcodec import aio
from tests.aio.runs import outcome, run


def with_channel(url, work, **options):
    """Run work(connection, channel)."""

    async def connect_and_work():
        async with aio.connect(url, **options) as connection, connection.channel() as channel:
            return await work(connection, channel)

    return run(connect_and_work)


def test_queues_and_exchanges(url, unique):
    async def work(connection, channel):
        other = unique + ".e"
        assert await channel.declare_queue(unique, exclusive=True) == (unique, 0, 0)
        await channel.declare_exchange(other, "topic", auto_delete=True)
        await channel.declare_exchange(unique, "fanout", auto_delete=True)
        await channel.bind_exchange(other, unique)
        await channel.bind_queue(unique, other, "#")
        await channel.publish(b"one", exchange=unique, routing_key="a.b", mandatory=True)
        assert await channel.purge_queue(unique) == 1
        await channel.unbind_queue(unique, other, "#")
        await channel.unbind_exchange(other, unique)
        await outcome(channel.delete_exchange(other))
        assert await channel.delete_queue(unique) == 0
        await connection.update_secret("guest", "a test")
        await connection.check()

    with_channel(url, work, name="amqpcodec.aio")


@pytest.mark.parametrize("arguments", [{}, {"x-queue-type": "quorum"}])
def test_close_waits_for_the_confirms(url, unique, arguments):
    async def work(connection, channel):
        await channel.declare_queue(unique, arguments=arguments)
        async with connection.channel() as other:
            futures = [other.publish_nowait(b"", routing_key=unique) for _ in range(500)]
        assert await asyncio.gather(*futures) == [None] * 500
        assert await channel.delete_queue(unique) >= 0

    with_channel(url, work)


def test_returns_are_errors_of_their_own_publications(url, unique):
    async def work(connection, channel):
        await channel.declare_queue(unique, exclusive=True)
        calls = [
            channel.publish(b"%d" % (n // 7), routing_key=unique if n % 2 else unique + ".nowhere")
            for n in range(3000)
        ]
        ends = await asyncio.gather(*(outcome(call) for call in calls))
        for number, end in enumerate(ends):
            assert end is None if number % 2 else isinstance(end, aio.Returned), number
        with pytest.raises(aio.Returned, match="312 NO_ROUTE"):
            await channel.publish(b"", routing_key=unique + ".nowhere")

    with_channel(url, work)


def test_consumers_end_when_their_queue_does(url, unique):
    async def work(connection, channel):
        await channel.declare_queue(unique, exclusive=True)
        await asyncio.gather(*(channel.publish(b"", routing_key=unique) for _ in range(200)))
        count = 0

        async def take():
            nonlocal count
            async for message in messages:
                async with message.process():
                    count += 1

        async with channel.consume(unique, prefetch=20) as messages:
            tasks = [asyncio.create_task(outcome(take())) for _ in range(4)]
            while count < 200:
                await asyncio.sleep(0.01)
            await channel.delete_queue(unique)
            ends = await asyncio.gather(*tasks)
        assert {type(end) for end in ends} == {aio.ConsumerCancelled}

    with_channel(url, work)


def test_what_nobody_took_comes_again(url, unique):
    async def work(connection, channel):
        await channel.declare_queue(unique, exclusive=True)
        for number in range(10):
            await channel.publish(b"%d" % number, routing_key=unique)
        async with channel.consume(unique) as messages:
            assert await (await messages.get(5)).ack() is True
        bodies = []
        while (message := await channel.get(unique)) is not None:
            bodies.append((message.body, message.redelivered))
            await message.ack()
        assert [body for body, _ in bodies] == [b"%d" % number for number in range(1, 10)]

    with_channel(url, work)


def test_cancelled_calls_leave_nothing(url, unique):
    async def work(connection, channel):
        await channel.declare_queue(unique, exclusive=True)
        for _ in range(5):
            await channel.publish(b"", routing_key=unique)
        for steps in range(30):
            messages = channel.consume(unique)
            for call in (messages.__aenter__(), channel.get(unique)):
                task = asyncio.create_task(call)
                for _ in range(steps):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.wait((task,))
                if not task.cancelled() and task.result() is messages:
                    await messages.cancel()
                elif not task.cancelled() and task.result() is not None:
                    await task.result().nack()
        while (await channel.declare_queue(unique, passive=True))[1:] != (5, 0):
            await asyncio.sleep(0.02)

    with_channel(url, work)


def test_errors_of_a_channel(url, unique):
    async def work(connection, channel):
        calls = [
            channel.declare_queue(unique, exclusive=True),
            channel.declare_queue(unique, exclusive=True, auto_delete=True),
            channel.declare_queue(unique, exclusive=True),
        ]
        ends = await asyncio.gather(*(outcome(call) for call in calls))
        kinds = [aio.DeclaredQueue, aio.PreconditionFailed, aio.ChannelClosed]
        assert [type(end) for end in ends] == kinds
        async with connection.channel() as other:
            with pytest.raises(aio.NotFound, match="no exchange"):
                await other.publish(b"", exchange=unique + ".nowhere", routing_key="")
        async with aio.connect(url) as second, second.channel() as other:
            with pytest.raises(aio.ResourceLocked):
                await other.declare_queue(unique, passive=True)

    with_channel(url, work)


def test_transactions(url, unique):
    async def work(connection, channel):
        await channel.declare_queue(unique, exclusive=True)
        tx = await connection.channel(confirms=False)
        await tx.select_tx()
        await tx.publish(b"undone", routing_key=unique)
        await tx.rollback_tx()
        await tx.publish(b"done", routing_key=unique)
        await tx.commit_tx()
        assert (await tx.get(unique)).body == b"done"
        await tx.close()

    with_channel(url, work)


def test_refusals(url):
    async def work():
        with pytest.raises(aio.AuthenticationFailed, match="403"):
            await aio.connect(url, password="wrong")
        with pytest.raises(aio.VirtualHostRefused, match="530"):
            await aio.connect(url, virtual_host="no.such.host")
        async with aio.connect(url, mechanism="AMQPLAIN") as connection:
            assert connection.state == "open"

    run(work)


def test_replies_by_direct_reply_to_are_not_mandatory(url, unique):
    """RabbitMQ returns what is mandatory, although the reply arrives."""

    async def work():
        async with aio.connect(url) as connection, connection.channel() as channel:
            await channel.declare_queue(unique, exclusive=True)
            async with channel.consume("amq.rabbitmq.reply-to", no_ack=True) as replies:
                await channel.publish(b"", routing_key=unique, reply_to="amq.rabbitmq.reply-to")
                request = await channel.get(unique)
                await channel.publish(b"done", routing_key=request.reply_to)
                assert (await replies.get(5)).body == b"done"
                with pytest.raises(aio.Returned):
                    await channel.publish(b"", routing_key=request.reply_to, mandatory=True)
                assert (await replies.get(5)).body == b""

    run(work)
