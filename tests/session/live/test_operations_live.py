"""Each operation of the list, against RabbitMQ, by the asyncio client."""

from __future__ import annotations

import asyncio

import pytest

from amqpcodec import v0_9_1 as amqp
from amqpcodec.session import LocalProtocolError
from tests.session.examples import example
from tests.support import asyncio_shell

AmqpError = asyncio_shell.AmqpError


async def waits(channel, queue, count):
    """Whether so many messages are in a queue, at the latest soon: RabbitMQ requeues by and by."""
    for _ in range(100):
        if (await channel.declare_queue(queue, passive=True)).message_count == count:
            return True
        await asyncio.sleep(0.05)
    return False


def test_exchanges(live, unique):
    async def work(client):
        channel = await client.channel()
        for kind in ("direct", "fanout", "topic", "headers"):
            reply = await channel.declare_exchange(unique + kind, kind, durable=True)
            assert isinstance(reply, amqp.Exchange.DeclareOk)
        await channel.declare_exchange(unique + "topic", passive=True)
        bind = (unique + "topic", unique + "direct", "k")
        assert isinstance(await channel.bind_exchange(*bind), amqp.Exchange.BindOk)
        assert isinstance(await channel.unbind_exchange(*bind), amqp.Exchange.UnbindOk)
        await channel.declare_exchange(unique + "inner", internal=True, no_wait=True)
        for kind in ("direct", "fanout", "topic", "headers", "inner"):
            assert isinstance(
                await channel.delete_exchange(unique + kind, if_unused=True),
                amqp.Exchange.DeleteOk,
            )

    live(work)


def test_queues(live, unique):
    async def work(client):
        channel = await client.channel(confirms=True)
        assert (await channel.declare_queue(exclusive=True)).queue.startswith("amq.gen-")
        arguments = {"x-max-length": 2, "x-expires": 60000}
        declare_ok = await channel.declare_queue(unique, arguments=arguments)
        assert (declare_ok.queue, declare_ok.message_count, declare_ok.consumer_count) == (
            unique,
            0,
            0,
        )
        await channel.bind_queue(unique, "amq.topic", f"{unique}.#")
        for number in range(3):
            await channel.publish("amq.topic", f"{unique}.{number}", b"x")
        await channel.unbind_queue(unique, "amq.topic", f"{unique}.#")
        await channel.publish("amq.topic", f"{unique}.9", b"x")
        assert (await channel.declare_queue(unique, passive=True)).message_count == 2
        assert (await channel.purge_queue(unique)).message_count == 2
        await channel.publish("", unique, b"x")
        assert (await channel.delete_queue(unique)).message_count == 1

    live(work)


@pytest.mark.parametrize("size", [0, 1, 131064, 131065, 1_000_000])
def test_publish_get_and_properties(live, unique, size):
    async def work(client):
        channel = await client.channel(confirms=True)
        await channel.declare_queue(unique, exclusive=True)
        body = bytes(range(256)) * (size // 256) + bytes(size % 256)
        properties = amqp.Basic.Properties(content_type="a/b", headers={"n": [1, {"x": None}]})
        await channel.publish("", unique, body, properties)
        got = await channel.get(unique)
        assert got.body == body
        assert got.properties == properties
        channel.ack(got)
        assert isinstance(await channel.get(unique), amqp.Basic.GetEmpty)

    live(work)


def test_return_of_mandatory_and_the_end_of_immediate(live, unique):
    async def work(client):
        channel = await client.channel(confirms=True)
        back = []
        channel.on_return = back.append
        await channel.publish("", unique, b"nowhere", mandatory=True)
        (message,) = back
        assert (message.method.reply_code, message.method.reply_text) == (312, "NO_ROUTE")
        assert message.body == b"nowhere"
        with pytest.raises(AmqpError, match="540"):  # RabbitMQ has given immediate up
            await channel.publish("", unique, b"now", immediate=True)
        assert (await client.closed).reply_code == 540

    live(work)


def test_confirms_and_refusals(live, unique):
    async def work(client):
        channel = await client.channel(confirms=True)
        limit = {"x-max-length": 3, "x-overflow": "reject-publish"}
        await channel.declare_queue(unique, exclusive=True, arguments=limit)
        publications = [channel.publish("", unique, b"%d" % n) for n in range(10)]
        results = await asyncio.gather(*publications, return_exceptions=True)
        refused = [one for one in results if one is not None]
        assert 0 < len(refused) <= 7
        assert all("could not take over" in str(one) for one in refused)
        assert len(channel.session.publications) == 0

    live(work)


def test_consume_with_prefetch_ack_reject_and_nack(live, unique):
    async def work(client):
        channel = await client.channel(confirms=True, prefetch=4)
        await channel.declare_queue(unique, exclusive=True)
        await asyncio.gather(*(channel.publish("", unique, b"%d" % n) for n in range(8)))
        deliveries = []
        async with channel.consume(unique) as messages:
            async for message in messages:
                deliveries.append(message)
                if len(deliveries) == 4:
                    break
            await channel.declare_queue(unique, passive=True)  # what came before its reply is all
            assert len(channel.session.deliveries) == 4
            channel.ack(deliveries[1])
            channel.reject(deliveries[0], requeue=False)
            await channel.nack(deliveries[3].method.delivery_tag, multiple=True, requeue=True)
            again = [await anext(messages) for _ in range(4)]
            channel.ack(again[-1], multiple=True)
        assert sorted(m.body for m in deliveries) == [b"0", b"1", b"2", b"3"]
        assert {m.body for m in again} >= {b"2", b"3"}
        assert [m.method.redelivered for m in again if m.body == b"2"] == [True]
        assert await waits(channel, unique, 2)

    live(work)


def test_no_ack_no_wait_and_cancel(live, unique):
    async def work(client):
        channel = await client.channel()
        await channel.declare_queue(unique, exclusive=True)
        async with channel.consume(unique, consumer_tag="mine", no_ack=True) as messages:
            assert messages.consumer.tag == "mine"
            await channel.publish("", unique, b"x")
            assert (await anext(messages)).body == b"x"
            with pytest.raises(LocalProtocolError, match="attempt to reuse consumer tag 'mine'"):
                channel.session.consume(unique, "mine")
        await channel.publish("", unique, b"y")
        assert await waits(channel, unique, 1)

    live(work)


def test_recover(live, unique):
    async def work(client):
        channel = await client.channel(confirms=True)
        await channel.declare_queue(unique, exclusive=True)
        await channel.publish("", unique, b"x")
        async with channel.consume(unique) as messages:
            first = await anext(messages)
            assert isinstance(await channel.recover(requeue=True), amqp.Basic.RecoverOk)
            second = await anext(messages)
            assert (second.body, second.method.redelivered) == (b"x", True)
            channel.ack(first)  # it went back with the recovery: nothing is sent
            channel.ack(second)
        assert isinstance(await channel.get(unique), amqp.Basic.GetEmpty)

    live(work)


def test_transactions(live, unique):
    async def work(client):
        channel = await client.channel()
        await channel.declare_queue(unique, exclusive=True)
        await channel.select_tx()
        await channel.publish("", unique, b"lost")
        await channel.rollback_tx()
        await channel.publish("", unique, b"kept")
        await channel.commit_tx()
        got = await channel.get(unique)
        assert got.body == b"kept"
        channel.ack(got)
        await channel.rollback_tx()
        channel.ack(got)  # waits again
        await channel.commit_tx()
        assert isinstance(await channel.get(unique), amqp.Basic.GetEmpty)

    live(work)


def test_flow_is_answered(live):
    async def work(client):
        channel = await client.channel()
        assert (await channel.flow(True)).active
        with pytest.raises(AmqpError, match="540"):  # RabbitMQ does not stop for a client
            await channel.flow(False)

    live(work)


def test_update_secret(live):
    async def work(client):
        await client.update_secret(b"guest", "it expired")

    live(work)


def test_two_hundred_channels(live, unique):
    async def work(client):
        channels = await asyncio.gather(*(client.channel(confirms=True) for _ in range(200)))
        await channels[0].declare_queue(unique, exclusive=True)
        await asyncio.gather(
            *(channel.publish("", unique, b"x") for channel in channels for _ in range(5))
        )
        assert (await channels[9].declare_queue(unique, passive=True)).message_count == 1000
        await asyncio.gather(*(channel.close() for channel in channels))
        assert not client.session.channels

    live(work)


def test_channel_close_and_number_again(live):
    async def work(client):
        first = await client.channel()
        await first.close()
        with pytest.raises(LocalProtocolError, match="closed: 200"):
            await first.qos()
        again = client.session.open_channel(first.session.number)
        again.context = first
        client.soon()

    live(work)


@pytest.mark.parametrize("mechanism", ["PLAIN", "AMQPLAIN"])
def test_mechanisms(live, mechanism):
    async def work(client):
        await client.channel()
        return client.session.peer_properties["product"]

    assert live(work, mechanism=mechanism) == "RabbitMQ"


def test_clean_cancel_of_a_task(live, unique):
    """A task that is cancelled in its loop leaves nothing unsettled."""

    async def work(client):
        channel = await client.channel(confirms=True, prefetch=50)
        await channel.declare_queue(unique, exclusive=True)
        await asyncio.gather(*(channel.publish("", unique, b"%d" % n) for n in range(50)))

        async def consume():
            async with channel.consume(unique) as messages:
                async for message in messages:
                    channel.ack(message)
                    acked.set()
                    await asyncio.sleep(60)

        acked = asyncio.Event()
        task = asyncio.create_task(consume())
        await acked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(channel.session.deliveries) == 0
        assert await waits(channel, unique, 49)

    live(work)


def test_threads_and_trio(broker):
    for way in ("by_threads", "by_trio"):
        work = getattr(example("trio_or_threads"), way)(*broker, {"heartbeat": 5})
        assert work.bodies == [b"%d" % number for number in range(10)]


def test_0_8(broker, unique):
    """RabbitMQ 3 still speaks it."""
    from amqpcodec.session import ConnectionClosed, Delivered
    from tests.session.live.socket_client import SocketClient

    client = SocketClient(broker, protocol="0-8")
    first = client.step()
    while not first:
        first = client.step()
    if isinstance(first[0], ConnectionClosed):
        pytest.skip(first[0].reply_text)
    channel = client.channel()
    channel.declare_queue(unique, exclusive=True)
    channel.consume(unique, "t")
    channel.publish("", unique, b"of old")
    delivered = client.until(Delivered)
    assert delivered.message.body == b"of old"
    channel.ack(delivered.message.method.delivery_tag)
    client.close()
