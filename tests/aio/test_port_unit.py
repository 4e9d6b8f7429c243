"""A service on aio-pika, and what the guide's migration table makes of it: they do the same."""

from __future__ import annotations

import asyncio
import json

import pytest

from amqpcodec import aio
from tests.aio.runs import run

aio_pika = pytest.importorskip("aio_pika")


# ---- the service, as its users wrote it ----


async def on_aio_pika(url: str) -> None:
    connection = await aio_pika.connect_robust(url)
    async with connection:
        channel = await connection.channel()
        await channel.set_qos(prefetch_count=10)
        dead_letters = await channel.declare_exchange(
            "orders.dlx", aio_pika.ExchangeType.FANOUT, durable=True
        )
        dead = await channel.declare_queue("orders.dead", durable=True)
        await dead.bind(dead_letters)
        events = await channel.declare_exchange("events", aio_pika.ExchangeType.TOPIC, durable=True)
        queue = await channel.declare_queue(
            "orders", durable=True, arguments={"x-dead-letter-exchange": "orders.dlx"}
        )
        await queue.bind(events, "order.*")

        async def on_message(message):
            async with message.process(requeue=False):
                order = json.loads(message.body)
                await events.publish(
                    aio_pika.Message(
                        json.dumps({"for": order["id"]}).encode(),
                        content_type="application/json",
                        delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
                        expiration=300,
                        headers={"tenant": message.headers.get("tenant")},
                    ),
                    routing_key="invoice.created",
                )
                if message.reply_to:
                    await channel.default_exchange.publish(
                        aio_pika.Message(b"accepted", correlation_id=message.correlation_id),
                        routing_key=message.reply_to,
                    )

        await queue.consume(on_message)
        await asyncio.Future()


# ---- the same, ported ----


async def on_aio(url: str) -> None:
    async for connection in aio.connections(url):
        try:
            async with connection, connection.channel() as channel:
                await channel.declare_exchange("orders.dlx", "fanout")
                await channel.declare_queue("orders.dead")
                await channel.bind_queue("orders.dead", "orders.dlx")
                await channel.declare_exchange("events", "topic")
                await channel.declare_queue(
                    "orders", arguments={"x-dead-letter-exchange": "orders.dlx"}
                )
                await channel.bind_queue("orders", "events", "order.*")
                async with channel.consume("orders", prefetch=10) as messages:
                    await asyncio.gather(*(work(channel, messages) for _ in range(10)))
        except aio.ConnectionLost:
            continue


async def work(channel: aio.Channel, messages: aio.Consumer) -> None:
    async for message in messages:
        try:
            async with message.process():
                await handle(channel, message)
        except (ValueError, LookupError):
            pass  # it is dead-lettered


async def handle(channel: aio.Channel, message: aio.Message) -> None:
    order = json.loads(message.body)
    await channel.publish(
        json.dumps({"for": order["id"]}).encode(),
        exchange="events",
        routing_key="invoice.created",
        content_type="application/json",
        expiration="300000",
        headers={"tenant": message.headers.get("tenant")},
    )
    if message.reply_to:
        await channel.publish(
            b"accepted",
            routing_key=message.reply_to,
            mandatory=False,
            correlation_id=message.correlation_id,
        )


# ---- its tests ----


async def ask(url: str, body: bytes) -> bytes:
    """A request by direct reply-to."""
    async with (
        aio.connect(url) as connection,
        connection.channel() as channel,
        channel.consume("amq.rabbitmq.reply-to", no_ack=True) as replies,
    ):
        await channel.publish(
            body,
            exchange="events",
            routing_key="order.created",
            mandatory=True,
            reply_to="amq.rabbitmq.reply-to",
            correlation_id="7",
            headers={"tenant": "eu"},
        )
        reply = await replies.get(5)
        assert reply.correlation_id == "7"
        return reply.body


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("service", [on_aio_pika, on_aio])
def test_a_service(amqp_broker, service):
    amqp_broker.declare_queue("invoices")

    async def bound():
        async with aio.connect(amqp_broker.url) as connection, connection.channel() as channel:
            await channel.bind_queue("invoices", "events", "invoice.*")

    async def work():
        task = asyncio.create_task(service(amqp_broker.url))
        await amqp_broker.aio.consumers("orders", n=1)
        await bound()
        assert await ask(amqp_broker.url, b'{"id": 7}') == b"accepted"
        (invoice,) = await amqp_broker.aio.messages("invoices", n=1)
        assert json.loads(invoice.body) == {"for": 7}
        properties = invoice.properties
        assert (properties.delivery_mode, properties.expiration) == (2, "300000")
        assert properties.headers == {"tenant": "eu"}
        amqp_broker.publish(b"broken", exchange="events", routing_key="order.created")
        (letter,) = await amqp_broker.aio.messages("orders.dead", n=1)
        assert letter.properties.headers["x-death"][0]["reason"] == "rejected"
        await amqp_broker.aio.unacked("orders", n=0)
        # Nobody waits for this reply any more: the order is done for all that.
        amqp_broker.publish(
            b'{"id": 8}', exchange="events", routing_key="order.created", reply_to="gone"
        )
        await amqp_broker.aio.messages("invoices", n=2)
        await amqp_broker.aio.unacked("orders", n=0)
        await amqp_broker.aio.messages("orders.dead", n=1)
        amqp_broker.reset_connections()
        await amqp_broker.aio.consumers("orders", n=1, timeout=10)
        assert await ask(amqp_broker.url, b'{"id": 9}') == b"accepted"
        task.cancel()
        await asyncio.wait((task,))
        assert task.cancelled()

    if service is on_aio:
        run(work)
    else:
        asyncio.run(work())  # aio-pika leaves tasks
