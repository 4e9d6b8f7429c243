"""The programs of examples/: stock clients through the broker in memory, ours through both."""

from __future__ import annotations

import asyncio
import contextlib
import io
from collections.abc import Iterator

import pytest

from amqpcodec import aio
from amqpcodec.testing import Broker
from tests.session.examples import example, serving
from tests.support import asyncio_shell


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with Broker() as broker:
        yield broker.port


def test_pika_publishes_and_consumes(port):
    pika = pytest.importorskip("pika")
    parameters = pika.ConnectionParameters("127.0.0.1", port, heartbeat=30)
    with pika.BlockingConnection(parameters) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        channel.basic_qos(prefetch_count=2)
        channel.exchange_declare("pika.e", "topic")
        queue = channel.queue_declare("", exclusive=True).method.queue
        channel.queue_bind(queue, "pika.e", "a.*.c")
        properties = pika.BasicProperties(content_type="text/plain", headers={"n": 1})
        for number in range(5):
            channel.basic_publish("pika.e", "a.b.c", b"%d" % number, properties)
        large = bytes(range(256)) * 2000
        channel.basic_publish("", queue, large)
        with pytest.raises(pika.exceptions.UnroutableError):
            channel.basic_publish("pika.e", "a.b", b"nowhere", mandatory=True)
        messages = []
        for method, got, body in channel.consume(queue, inactivity_timeout=5):
            messages.append((got.headers, body))
            channel.basic_ack(method.delivery_tag)
            if len(messages) == 6:
                break
        channel.cancel()
        assert messages == [*(({"n": 1}, b"%d" % n) for n in range(5)), (None, large)]
        assert channel.basic_get(queue) == (None, None, None)
        with pytest.raises(pika.exceptions.ChannelClosedByBroker) as caught:
            channel.queue_declare("not.there", passive=True)
        assert caught.value.reply_code == 404


def test_pika_is_refused(port):
    pika = pytest.importorskip("pika")
    wrong = pika.PlainCredentials("guest", "wrong")
    with pytest.raises(pika.exceptions.ProbableAuthenticationError, match="403"):
        pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port, credentials=wrong))
    with pytest.raises(pika.exceptions.ProbableAccessDeniedError, match="530"):
        pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port, virtual_host="x"))


def test_aio_pika_publishes_and_consumes(port):
    aio_pika = pytest.importorskip("aio_pika")

    async def work():
        connection = await aio_pika.connect(f"amqp://guest:guest@127.0.0.1:{port}/")
        async with connection:
            channel = await connection.channel()
            await channel.set_qos(prefetch_count=3)
            exchange = await channel.declare_exchange("aio.e", aio_pika.ExchangeType.FANOUT)
            queue = await channel.declare_queue(exclusive=True)
            await queue.bind(exchange)
            for number in range(10):
                message = aio_pika.Message(b"%d" % number, headers={"n": number})
                await exchange.publish(message, "")
            received = []
            async with queue.iterator() as messages:
                async for message in messages:
                    async with message.process():
                        received.append((message.body, message.headers["n"]))
                    if len(received) == 10:
                        break
            assert received == [(b"%d" % n, n) for n in range(10)]
            with pytest.raises(aio_pika.exceptions.QueueEmpty):
                await queue.get()
            await queue.unbind(exchange)
            await exchange.delete()

    asyncio.run(asyncio.wait_for(work(), 30))


def test_kombu_publishes_and_consumes(port):
    kombu = pytest.importorskip("kombu")
    bodies = []

    def on_message(body, message):
        bodies.append(body)
        message.ack()

    with kombu.Connection(f"pyamqp://guest:guest@127.0.0.1:{port}//") as connection:
        exchange = kombu.Exchange("kombu.e", "direct")
        queue = kombu.Queue("kombu.q", exchange, routing_key="k")
        producer = connection.Producer(serializer="json")
        for number in range(5):
            producer.publish(
                {"n": number}, exchange=exchange, routing_key="k", declare=[queue], retry=True
            )
        with connection.Consumer(queue, callbacks=[on_message]):
            while len(bodies) < 5:
                connection.drain_events(timeout=5)
        queue(connection).delete()
    assert bodies == [{"n": number} for number in range(5)]


def test_what_a_client_left_comes_again(port):
    pika = pytest.importorskip("pika")
    parameters = pika.ConnectionParameters("127.0.0.1", port)
    with pika.BlockingConnection(parameters) as connection:
        channel = connection.channel()
        channel.queue_declare("left")
        channel.basic_publish("", "left", b"one")
        channel.basic_publish("", "left", b"two")
        assert channel.basic_get("left")[2] == b"one"
        assert channel.basic_get("left")[2] == b"two"
    with pika.BlockingConnection(parameters) as connection:
        channel = connection.channel()
        for body in (b"one", b"two"):
            method, _, got = channel.basic_get("left")
            assert (got, method.redelivered) == (body, True)
            channel.basic_reject(method.delivery_tag, requeue=False)
        assert channel.queue_delete("left").method.message_count == 0


@pytest.mark.parametrize("way", ["by_threads", "by_trio"])
def test_threads_and_trio(port, way):
    if way == "by_trio":
        pytest.importorskip("trio")
    work = getattr(example("trio_or_threads"), way)("127.0.0.1", port, {"heartbeat": 5})
    assert work.bodies == [b"%d" % number for number in range(10)]
    assert work.confirmed == list(range(1, 11))
    assert (work.end.reply_code, work.end.closed_by) == (200, "local")


def test_client_and_broker(port):
    client = example("client")
    url = f"amqp://guest:guest@127.0.0.1:{port}/%2F"
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        asyncio.run(client.main(url))
    assert out.getvalue().split() == [str(number) for number in range(10)]


def test_clean_cancel_gives_back_what_nobody_took(port):
    url = f"amqp://guest:guest@127.0.0.1:{port}/%2F"

    async def work():
        async with await asyncio_shell.connect(url) as connection:
            channel = await connection.channel(confirms=True)
            await channel.declare_queue("cancel", exclusive=True)
            for number in range(20):
                await channel.publish("", "cancel", b"%d" % number)
            async with channel.consume("cancel") as messages:
                async for message in messages:
                    channel.ack(message)
                    break
            again = (await channel.get("cancel")).body
            remaining_count = (await channel.purge_queue("cancel")).message_count
            return again, remaining_count

    assert asyncio.run(work()) == (b"1", 18)


def test_proxy_passes_everything_on_and_shows_it(port):
    pika = pytest.importorskip("pika")
    out = io.StringIO()
    proxy = example("proxy").Proxy("127.0.0.1", port, out)
    with serving(proxy.start) as between:
        test_aio_pika_publishes_and_consumes(between)
        test_kombu_publishes_and_consumes(between)
        test_pika_publishes_and_consumes(between)
        test_client_and_broker(between)
        wrong = pika.PlainCredentials("guest", "wrong-password")
        parameters = pika.ConnectionParameters("127.0.0.1", between, credentials=wrong)
        with pytest.raises(pika.exceptions.AMQPConnectionError, match="403"):
            pika.BlockingConnection(parameters)
    shown = out.getvalue()
    lines = shown.splitlines()
    for text in ("connection.start-ok", "basic.deliver", "queue.declare-ok"):
        assert text in shown
    assert "wrong-password" not in shown
    assert "<not shown>" in shown
    assert len({line.split()[1] for line in lines}) >= 5  # the connections, each numbered


def test_proxy_passes_direct_replies_on():
    """Replies repeat the tag of the next delivery: each arrives, and that delivery does."""

    async def work(between):
        async with (
            aio.connect(f"amqp://guest:guest@127.0.0.1:{between}/") as connection,
            connection.channel() as channel,
            channel.consume("amq.rabbitmq.reply-to", no_ack=True) as replies,
        ):
            queue = (await channel.declare_queue()).name
            bodies = []
            for number in range(3):
                await channel.publish(
                    b"%d" % number, routing_key=queue, reply_to="amq.rabbitmq.reply-to"
                )
                async with (await channel.get(queue)).process() as request:
                    for _ in range(2):
                        await channel.publish(request.body, routing_key=request.reply_to)
                        bodies.append((await replies.get(5)).body)
            return bodies

    with Broker() as broker:
        proxy = example("proxy").Proxy("127.0.0.1", broker.port, io.StringIO())
        with serving(proxy.start) as between:
            assert asyncio.run(work(between)) == [b"0", b"0", b"1", b"1", b"2", b"2"]
