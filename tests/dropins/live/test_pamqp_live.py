"""The clients on top of pamqp: aiormq, aio-pika and amqpstorm, every operation."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from tests.dropins.live.conftest import BODIES, HEADERS, same

LIMIT = 60


def test_aiormq(broker: tuple[str, int]) -> None:
    aiormq = pytest.importorskip("aiormq")
    queue, exchange, second = "compat.aiormq", "compat.aiormq.x", "compat.aiormq.y"

    def properties() -> Any:
        return aiormq.spec.Basic.Properties(
            content_type="text/plain",
            headers=HEADERS,
            delivery_mode=1,
            priority=3,
            correlation_id="c-1",
            reply_to="answers",
            expiration="60000",
            message_id="m-1",
            message_type="kind",
            user_id="guest",
            app_id="tests",
        )

    def shown(message: Any) -> Any:
        return message.delivery, message.header, message.body

    async def work() -> list[Any]:
        results: list[Any] = []
        tell = results.append
        connection = await aiormq.connect(f"amqp://guest:guest@{broker[0]}:{broker[1]}//")
        channel = await connection.channel(publisher_confirms=True)
        await channel.queue_delete(queue)
        for name in (exchange, second):
            await channel.exchange_delete(name)
        tell(await channel.exchange_declare(exchange, exchange_type="topic", arguments={"x-a": 1}))
        tell(await channel.exchange_declare(second, exchange_type="headers", durable=True))
        tell(await channel.exchange_bind(second, exchange, routing_key="a.#", arguments=HEADERS))
        tell(await channel.exchange_unbind(second, exchange, routing_key="a.#", arguments=HEADERS))
        tell(await channel.queue_declare(queue, arguments={"x-max-length": 1000}))
        tell(await channel.queue_bind(queue, exchange, "key.*", arguments={"an": "argument"}))
        tell(await channel.queue_unbind(queue, exchange, "key.*", arguments={"an": "argument"}))
        tell(await channel.queue_bind(queue, exchange, "key.*"))
        for body in BODIES:
            tell(
                await channel.basic_publish(
                    body, exchange=exchange, routing_key="key.a", properties=properties()
                )
            )
        with pytest.raises(aiormq.exceptions.PublishError) as info:
            await channel.basic_publish(
                b"back", routing_key="nowhere", mandatory=True, properties=properties()
            )
        tell(shown(info.value.message))
        tell(await channel.queue_declare(queue, passive=True))
        for _ in BODIES:
            answer = await channel.basic_get(queue)
            tell(shown(answer))
            await channel.basic_ack(answer.delivery.delivery_tag)
        tell((await channel.basic_get(queue)).delivery)
        tell(await channel.basic_qos(prefetch_count=3))
        got: asyncio.Queue[Any] = asyncio.Queue()
        ok = await channel.basic_consume(queue, got.put, consumer_tag="tag", arguments={"x-a": [1]})
        tell(ok)
        for number, body in enumerate(BODIES):
            await channel.basic_publish(body, routing_key=queue, properties=properties())
            message = await got.get()
            tell(shown(message))
            tag = message.delivery.delivery_tag
            if number % 2:
                await channel.basic_nack(tag, requeue=True)
                message = await got.get()
                tell(message.delivery.redelivered)
                await channel.basic_ack(message.delivery.delivery_tag, multiple=True)
            else:
                await channel.basic_reject(tag, requeue=False)
        tell(await channel.basic_cancel("tag"))
        tell(await channel.basic_recover(requeue=True))
        tell(await channel.queue_purge(queue))
        tell(await channel.flow(True))
        transacted = await connection.channel(publisher_confirms=False)
        tell(await transacted.tx_select())
        await transacted.basic_publish(b"rolled back", routing_key=queue)
        tell(await transacted.tx_rollback())
        await transacted.basic_publish(b"committed", routing_key=queue, properties=properties())
        tell(await transacted.tx_commit())
        tell(shown(await transacted.basic_get(queue, no_ack=True)))
        await transacted.close()
        for arguments in ({"queue": "no such queue", "passive": True}, {"queue": "amq.reserved"}):
            failing = await connection.channel()
            with pytest.raises(aiormq.exceptions.AMQPError) as refused:
                await failing.queue_declare(**arguments)
            tell((type(refused.value).__name__, str(refused.value)))
        await connection.update_secret("new secret", reason="because")
        tell(await channel.queue_delete(queue))
        tell(await channel.exchange_delete(exchange))
        await channel.exchange_delete(second)
        await connection.close()
        return results

    results = same("pamqp", lambda: asyncio.run(asyncio.wait_for(work(), LIMIT)))
    assert len(results) > 40


def test_aio_pika(broker: tuple[str, int]) -> None:
    aio_pika = pytest.importorskip("aio_pika")
    total = 200

    async def work() -> list[Any]:
        results: list[Any] = []
        url = f"amqp://guest:guest@{broker[0]}:{broker[1]}//"
        connection = await aio_pika.connect_robust(url, heartbeat=2)
        async with connection:
            channel = await connection.channel()
            await channel.set_qos(prefetch_count=20)
            exchange = await channel.declare_exchange("compat.aio.x", auto_delete=True)
            queue = await channel.declare_queue("compat.aio", exclusive=True)
            await queue.bind(exchange, "key")
            for number in range(total):
                message = aio_pika.Message(
                    BODIES[number % 4] + str(number).encode(),
                    headers=HEADERS,
                    content_type="text/plain",
                    priority=number % 10,
                    expiration=60,
                    message_id=f"m-{number}",
                    timestamp=1_700_000_000 + number,
                    type="kind",
                    user_id="guest",
                    app_id="tests",
                    delivery_mode=aio_pika.DeliveryMode.NOT_PERSISTENT,
                )
                results.append(await exchange.publish(message, "key"))
            async with queue.iterator() as messages:
                async for message in messages:
                    async with message.process():
                        results.append((message.body, message.info(), message.headers))
                    if len(results) == 2 * total:
                        break
            await asyncio.sleep(2.5)  # some heartbeats
            rpc_queue = await channel.declare_queue("", exclusive=True)
            await channel.default_exchange.publish(
                aio_pika.Message(b"last"), routing_key=rpc_queue.name
            )
            last = await rpc_queue.get(timeout=5)
            results.append(last.body)
            await last.ack()
            with pytest.raises(aio_pika.exceptions.AMQPError) as info:
                await channel.declare_queue("amq.reserved")
            results.append(str(info.value))
        return [_without_tag(result) for result in results]

    def _without_tag(item: Any) -> Any:
        if isinstance(item, tuple) and isinstance(item[1], dict):
            item[1].pop("consumer_tag", None)
        return item

    results = same("pamqp", lambda: asyncio.run(asyncio.wait_for(work(), LIMIT)))
    bodies = [result[0] for result in results[total : 2 * total]]
    assert bodies == [BODIES[n % 4] + str(n).encode() for n in range(total)]


def test_amqpstorm(broker: tuple[str, int]) -> None:
    amqpstorm = pytest.importorskip("amqpstorm")
    queue, exchange = "compat.storm", "compat.storm.x"
    properties = {
        "content_type": "text/plain",
        "headers": HEADERS,
        "delivery_mode": 1,
        "priority": 3,
        "correlation_id": "c-1",
        "reply_to": "answers",
        "expiration": "60000",
        "message_id": "m-1",
        "message_type": "kind",
        "user_id": "guest",
        "app_id": "tests",
    }

    def session() -> list[Any]:
        results: list[Any] = []
        tell = results.append
        host, port = broker
        with amqpstorm.Connection(host, "guest", "guest", port=port, heartbeat=1) as connection:
            channel = connection.channel()
            channel.queue.delete(queue)
            channel.exchange.delete(exchange)
            tell(channel.exchange.declare(exchange, "topic", arguments={"x-a": 1}))
            tell(channel.queue.declare(queue, arguments={"x-max-length": 1000}))
            tell(channel.queue.bind(queue, exchange, "key.*", {"an": "argument"}))
            tell(channel.queue.unbind(queue, exchange, "key.*", {"an": "argument"}))
            tell(channel.queue.bind(queue, exchange, "key.*"))
            channel.confirm_deliveries()
            for body in BODIES:
                tell(channel.basic.publish(body, "key.a", exchange, dict(properties)))
            tell(channel.queue.declare(queue, passive=True))
            for _ in BODIES:
                answer = channel.basic.get(queue, auto_decode=False)
                tell((answer.body, answer.properties, answer.method))
                answer.ack()
            tell(channel.basic.get(queue))
            tell(channel.basic.qos(prefetch_count=5))
            got: list[Any] = []

            def on_message(message: Any) -> None:
                got.append((message.body, message.properties))
                if message.redelivered:
                    message.ack()
                else:
                    message.nack(requeue=True)

            tell(channel.basic.consume(on_message, queue, consumer_tag="tag"))
            for body in BODIES:
                channel.basic.publish(body, queue, properties=dict(properties))
            deadline = time.monotonic() + 10
            while len(got) < 2 * len(BODIES) and time.monotonic() < deadline:
                channel.process_data_events(auto_decode=False)
                time.sleep(0.01)
            tell(sorted(len(delivery[0]) for delivery in got))
            tell([delivery[1] for delivery in got])
            tell(channel.basic.cancel("tag"))
            time.sleep(2.2)  # some heartbeats
            tell(channel.queue.purge(queue))
            with connection.channel() as transacted:
                transacted.tx.select()
                transacted.basic.publish("rolled back", queue)
                transacted.tx.rollback()
                transacted.basic.publish("committed", queue)
                transacted.tx.commit()
                tell(transacted.basic.get(queue, no_ack=True).body)
            for arguments in ({"queue": "no such queue", "passive": True}, {"queue": "amq.mine"}):
                with pytest.raises(amqpstorm.AMQPError) as info, connection.channel() as failing:
                    failing.queue.declare(**arguments)
                tell((type(info.value).__name__, str(info.value)))
            tell(channel.queue.delete(queue))
            tell(channel.exchange.delete(exchange))
        return results

    results = same("pamqp", session)
    assert len(results) > 25
