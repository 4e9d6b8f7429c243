"""The connection ends at every frame: each operation has a result or a typed error, in time."""

from __future__ import annotations

import asyncio

import pytest

from amqpcodec import aio
from tests.aio.runs import outcome, run, until

FAULTS = ["reset", "eof"]


async def everything(url, results):
    """Each operation once; what came of it goes to results."""

    async def note(name, call):
        results[name] = await outcome(call)
        if isinstance(results[name], aio.AMQPError):
            raise results[name]
        return results[name]

    async with await note("connect", aio.connect(url, timeout=5).__aenter__()) as connection:
        channel = await note("channel", connection.channel().__aenter__())
        await note("declare_exchange", channel.declare_exchange("e", "fanout"))
        await note("declare_other", channel.declare_exchange("f", "topic"))
        await note("bind_exchange", channel.bind_exchange("f", "e"))
        await note("declare_queue", channel.declare_queue("orders"))
        await note("bind_queue", channel.bind_queue("orders", "f", "#"))
        await note("publish", channel.publish(b"1", exchange="e", routing_key="x"))
        own = connection.publish(b"1", exchange="e", routing_key="x")
        await note(("publish", "by the connection"), own)
        sends = [channel.publish(b"%d" % n, routing_key="orders") for n in range(2, 5)]
        for number, end in enumerate(await asyncio.gather(*(outcome(send) for send in sends))):
            results["publish", number] = end
        message = await note("get", channel.get("orders"))
        await note("ack", message.ack())
        messages = channel.consume("orders", prefetch=2)
        await note("consume", messages.__aenter__())
        for number in range(2):
            message = await note(f"iteration {number}", messages.get(5))
            await note(f"settle {number}", message.ack() if number else message.reject())
        await note("cancel", messages.cancel())
        await note("unbind_queue", channel.unbind_queue("orders", "f", "#"))
        await note("unbind_exchange", channel.unbind_exchange("f", "e"))
        await note("purge_queue", channel.purge_queue("orders"))
        await note("delete_queue", channel.delete_queue("orders"))
        await note("delete_exchange", channel.delete_exchange("e"))
        await note("update_secret", connection.update_secret("guest"))
        tx = await note("channel for tx", connection.channel(confirms=False).__aenter__())
        await note("select_tx", tx.select_tx())
        await note("commit_tx", tx.commit_tx())
        await note("rollback_tx", tx.rollback_tx())
        await note("close channel", tx.close())
        await note("close", connection.close())


@pytest.mark.parametrize("fault", FAULTS)
def test_every_operation_ends_wherever_the_connection_does(amqp_broker, fault):
    runs = 0
    errors = set()
    for point in amqp_broker.every_frame(fault):
        results = {}

        async def work(results=results):
            loop = asyncio.get_running_loop()
            start = loop.time()
            await outcome(everything(amqp_broker.url, results))
            assert loop.time() - start < 4

        run(work, seconds=20, collect=not runs % 10)
        runs += 1
        for name, end in results.items():
            if isinstance(end, aio.AMQPError):
                errors.add(type(end))
                expected = {
                    "connect": aio.ConnectFailed,
                    "publish": (aio.ConnectionLost, aio.PublishUnconfirmed),
                }
                key = name[0] if isinstance(name, tuple) else name
                assert isinstance(end, expected.get(key, aio.ConnectionLost)), (str(point), name)
    assert "close" in results
    assert not any(isinstance(end, aio.AMQPError) for end in results.values())
    assert runs > 80
    assert {aio.ConnectFailed, aio.ConnectionLost, aio.PublishUnconfirmed} <= errors


@pytest.mark.parametrize("fault", FAULTS)
def test_2_what_was_confirmed_is_there(amqp_broker, fault):
    """Cut at each frame of twenty publications: never confirmed and absent."""
    unconfirmed = 0
    for point in amqp_broker.every_frame(fault):
        amqp_broker.declare_queue("orders")

        async def work():
            try:
                connection = await aio.connect(amqp_broker.url, timeout=5)
            except aio.ConnectFailed:
                return []
            async with connection:
                channel = await outcome(connection.channel().__aenter__())
                if isinstance(channel, aio.AMQPError):
                    return []
                sends = [channel.publish(b"%d" % n, routing_key="orders") for n in range(20)]
                return await asyncio.gather(*(outcome(send) for send in sends))

        ends = run(work, collect=not point.number % 10)
        arrived = [message.body for message in amqp_broker.messages("orders")]
        assert len(arrived) == len(set(arrived)), str(point)  # nothing is sent again
        for number, end in enumerate(ends):
            body = b"%d" % number
            if end is None:
                assert body in arrived, str(point)
            else:
                assert isinstance(end, aio.PublishUnconfirmed | aio.ConnectionLost)
                if isinstance(end, aio.PublishUnconfirmed):
                    unconfirmed += 1
                    assert (end.body, end.routing_key) == (body, "orders")
                    assert "may be in the queue" in str(end)
                else:
                    assert body not in arrived, str(point)
    assert ends == [None] * 20
    assert unconfirmed > 100


@pytest.mark.parametrize("frame", [1, 4, 7])
def test_a_broker_that_freezes_holds_up_no_close(amqp_broker, frame):
    fault = amqp_broker.on(None, n=frame + 7).freeze()

    async def work():
        results = {}
        task = asyncio.create_task(outcome(everything(amqp_broker.url, results)))
        await until(lambda: fault.hit)
        task.cancel()
        await asyncio.wait((task,))

    run(work)
