"""Other clients on the broker, unchanged: pika, aio-pika, py-amqp, kombu, amqpstorm, and ours."""

from __future__ import annotations

import asyncio
import socket

import pytest

amqp = pytest.importorskip("amqp")
amqpstorm = pytest.importorskip("amqpstorm")
kombu = pytest.importorskip("kombu")
pika = pytest.importorskip("pika")
aio_pika = pytest.importorskip("aio_pika")


def test_pika(amqp_broker):
    connection = pika.BlockingConnection(pika.URLParameters(amqp_broker.url))
    channel = connection.channel()
    channel.queue_declare("orders", durable=True)
    channel.confirm_delivery()
    channel.basic_publish("", "orders", b"1", pika.BasicProperties(message_id="a"))
    with pytest.raises(pika.exceptions.UnroutableError):
        channel.basic_publish("", "nowhere", b"2", mandatory=True)
    for method, properties, body in channel.consume("orders", inactivity_timeout=1):
        assert (body, properties.message_id) == (b"1", "a")
        (held,) = amqp_broker.unacked("orders")
        assert held.body == b"1"
        channel.basic_ack(method.delivery_tag)
        break
    amqp_broker.unacked(n=0)
    assert [one.outcome for one in amqp_broker.published(n=2)] == ["routed", "unroutable"]
    connection.close()
    amqp_broker.assert_idle()


def test_aio_pika(amqp_broker):
    async def work():
        connection = await aio_pika.connect(amqp_broker.url)
        async with connection:
            channel = await connection.channel()
            await channel.set_qos(prefetch_count=10)
            queue = await channel.declare_queue("jobs", durable=True)
            exchange = await channel.declare_exchange("events", "topic", durable=True)
            await queue.bind(exchange, "job.*")
            message = aio_pika.Message(b"do", headers={"n": 1})
            await exchange.publish(message, "job.new")
            async with queue.iterator() as messages:
                async for one in messages:
                    async with one.process():
                        assert one.body == b"do"
                    break
            (published,) = await amqp_broker.aio.published("events")
            assert published.queues == ("jobs",)
            await amqp_broker.aio.unacked(n=0)
            await amqp_broker.aio.consumers("jobs", n=0)
        await amqp_broker.aio.connections(n=0)

    asyncio.run(work())


def test_py_amqp(amqp_broker):
    with amqp.Connection(f"{amqp_broker.host}:{amqp_broker.port}", confirm_publish=True) as line:
        channel = line.channel()
        channel.queue_declare("q", durable=True, auto_delete=False)
        channel.basic_publish_confirm(amqp.Message("text"), routing_key="q")
        message = channel.basic_get("q")
        assert message.body == "text"
        channel.basic_reject(message.delivery_tag, requeue=True)
        assert channel.basic_get("q", no_ack=True).delivery_info["redelivered"]
        with pytest.raises(amqp.exceptions.NotFound):
            channel.queue_declare("missing", passive=True)


def test_kombu(amqp_broker):
    with kombu.Connection(amqp_broker.url) as connection:
        queue = kombu.Queue("tasks", kombu.Exchange("tasks", "direct"), "tasks")
        with connection.Producer() as producer:
            producer.publish({"n": 1}, exchange="tasks", routing_key="tasks", declare=[queue])
        bodies = []
        with connection.Consumer(
            queue, callbacks=[lambda body, message: bodies.append(body) or message.ack()]
        ):
            connection.drain_events(timeout=2)
        assert bodies == [{"n": 1}]
    amqp_broker.messages("tasks", n=0)


def test_amqpstorm(amqp_broker):
    with amqpstorm.Connection("127.0.0.1", "guest", "guest", port=amqp_broker.port) as connection:
        channel = connection.channel()
        channel.confirm_deliveries()
        channel.queue.declare("storm", durable=True)
        assert channel.basic.publish("body", "storm")
        assert channel.basic.get("storm").body == "body"


def test_two_brokers_at_once(amqp_broker, amqp_broker_session):
    assert amqp_broker.port != amqp_broker_session.port
    for broker in (amqp_broker, amqp_broker_session):
        pika.BlockingConnection(pika.URLParameters(broker.url)).close()
    amqp_broker_session.reset()
    assert amqp_broker_session.transcript() == []


def test_it_starts_in_an_instant_and_leaves_nothing():
    import threading
    import time

    from amqpcodec.testing import Broker

    threads = threading.active_count()
    times = []
    for _ in range(5):
        begin = time.process_time()
        with Broker() as broker:
            times.append(time.process_time() - begin)
            port = broker.port
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", port), 1)
    assert min(times) < 0.05
    assert threading.active_count() == threads
