"""Each client publishing and consuming: one class a client, all with the same two methods.

A message has a body of 256 bytes, 5 headers and 5 properties. `publish` sends to an exchange that
drops everything, without confirms; `consume` takes messages that the broker has ready, and does
not acknowledge, so that they are ready again for the next run. Both give CPU seconds a message,
of this process alone, of the messages after a warm-up.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

EXCHANGE = "amqpcodec.bench.void"
QUEUE = "amqpcodec.bench.ready"
WARM_UP = 200
BODY = bytes(range(256))
HEADERS: dict[str, Any] = {
    "x-request-id": "8f14e45f-ceea-467f-a0d9-2b8d3c1c5a6e",
    "x-attempt": 3,
    "x-tenant": "orders-eu-west",
    "x-sampled": True,
    "x-offset": 1_234_567,
}
PROPERTIES: dict[str, Any] = {
    "content_type": "application/json",
    "delivery_mode": 1,
    "correlation_id": "c0ffee00-1234-5678-9abc-def012345678",
    "message_id": "m-00000001",
    "app_id": "bench",
}
clock = time.process_time


class Meter:
    """Says when enough was done, and how much CPU that took a message."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.seen = 0
        self.begin = self.end = 0.0

    def step(self) -> bool:
        """One message; whether it was the last."""
        self.seen += 1
        if self.seen == WARM_UP:
            self.begin = clock()
        elif self.seen == WARM_UP + self.count:
            self.end = clock()
        return self.seen >= WARM_UP + self.count

    @property
    def cost(self) -> float:
        """CPU seconds a message."""
        return (self.end - self.begin) / self.count


class Client:
    """One client library."""

    name: str
    dropin: str

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port

    def publish(self, count: int) -> float:
        """Publish so many messages; CPU seconds a message."""
        raise NotImplementedError

    def consume(self, count: int) -> float:
        """Consume so many messages; CPU seconds a message."""
        raise NotImplementedError


class PikaBlocking(Client):
    """pika.BlockingConnection."""

    name, dropin = "pika Blocking", "pika"

    def connect(self) -> Any:
        """An open connection."""
        import pika

        return pika.BlockingConnection(pika.ConnectionParameters(self.host, self.port))

    def publish(self, count: int) -> float:
        """With basic_publish."""
        import pika

        meter = Meter(count)
        with self.connect() as connection:
            channel = connection.channel()
            is_over = False
            while not is_over:
                properties = pika.BasicProperties(headers=HEADERS, **PROPERTIES)
                channel.basic_publish(EXCHANGE, "orders.eu", BODY, properties)
                is_over = meter.step()
        return meter.cost

    def consume(self, count: int) -> float:
        """With a callback."""
        meter = Meter(count)

        ends: list[bool] = []

        def on_message(_channel: Any, _method: Any, _properties: Any, _body: bytes) -> None:
            if meter.step():
                ends.append(True)

        with self.connect() as connection:
            connection.channel().basic_consume(QUEUE, on_message)
            while not ends:
                connection.process_data_events(time_limit=None)
        return meter.cost


class PikaSelect(Client):
    """pika.SelectConnection."""

    name, dropin = "pika Select", "pika"

    def run(self, on_channel: Callable[[Any], None]) -> None:
        """Open a channel, and go on until somebody closes the connection."""
        import pika

        connection = pika.SelectConnection(
            pika.ConnectionParameters(self.host, self.port),
            on_open_callback=lambda one: one.channel(on_open_callback=on_channel),
            on_open_error_callback=lambda one, _error: one.ioloop.stop(),
            on_close_callback=lambda one, _error: one.ioloop.stop(),
        )
        connection.ioloop.start()

    def publish(self, count: int) -> float:
        """In bursts of 100, as the loop comes round."""
        import pika

        meter = Meter(count)

        def on_channel(channel: Any) -> None:
            def burst() -> None:
                for _ in range(100):
                    properties = pika.BasicProperties(headers=HEADERS, **PROPERTIES)
                    channel.basic_publish(EXCHANGE, "orders.eu", BODY, properties)
                    if meter.step():
                        channel.connection.close()
                        return
                channel.connection.ioloop.call_later(0, burst)

            burst()

        self.run(on_channel)
        return meter.cost

    def consume(self, count: int) -> float:
        """With a callback."""
        meter = Meter(count)

        def on_message(channel: Any, _method: Any, _properties: Any, _body: bytes) -> None:
            if meter.step() and channel.connection.is_open:
                channel.connection.close()

        self.run(lambda channel: channel.basic_consume(QUEUE, on_message))
        return meter.cost


class PyAmqp(Client):
    """amqp.Connection, the client below kombu and Celery."""

    name, dropin = "py-amqp", "amqp"

    def connect(self) -> Any:
        """An open connection."""
        import amqp

        connection = amqp.Connection(f"{self.host}:{self.port}")
        connection.connect()
        return connection

    def publish(self, count: int) -> float:
        """With basic_publish."""
        import amqp

        meter = Meter(count)
        with self.connect() as connection:
            channel = connection.channel()
            is_over = False
            while not is_over:
                message = amqp.Message(BODY, application_headers=HEADERS, **PROPERTIES)
                channel.basic_publish(message, EXCHANGE, "orders.eu")
                is_over = meter.step()
        return meter.cost

    def consume(self, count: int) -> float:
        """With a callback and drain_events."""
        meter = Meter(count)
        ends: list[bool] = []

        def on_message(_message: Any) -> None:
            if meter.step():
                ends.append(True)

        connection = self.connect()
        channel = connection.channel()
        channel.basic_consume(QUEUE, callback=on_message)
        while not ends:
            connection.drain_events(timeout=10)
        connection.collect()
        return meter.cost


class AmqpStorm(Client):
    """amqpstorm.Connection: a thread reads, another one works."""

    name, dropin = "amqpstorm", "pamqp"

    def connect(self) -> Any:
        """An open connection."""
        import amqpstorm

        return amqpstorm.Connection(self.host, "guest", "guest", port=self.port)

    def publish(self, count: int) -> float:
        """With basic.publish."""
        meter = Meter(count)
        with self.connect() as connection:
            channel = connection.channel()
            is_over = False
            while not is_over:
                properties = {"headers": HEADERS, **PROPERTIES}
                channel.basic.publish(BODY, "orders.eu", EXCHANGE, properties)
                is_over = meter.step()
        return meter.cost

    def consume(self, count: int) -> float:
        """With a callback."""
        meter = Meter(count)

        def on_message(message: Any) -> None:
            if meter.step():
                message.channel.stop_consuming()

        with self.connect() as connection:
            channel = connection.channel()
            channel.basic.qos(0)  # no limit
            channel.basic.consume(on_message, QUEUE)
            channel.start_consuming()
        return meter.cost


class AioRmq(Client):
    """aiormq.Connection."""

    name, dropin = "aiormq", "pamqp"

    @property
    def url(self) -> str:
        """Where the broker is."""
        return f"amqp://guest:guest@{self.host}:{self.port}//"

    def publish(self, count: int) -> float:
        """One after the other."""
        import aiormq

        meter = Meter(count)

        async def work() -> None:
            connection = await aiormq.connect(self.url)
            channel = await connection.channel(publisher_confirms=False)
            is_over = False
            while not is_over:
                properties = aiormq.spec.Basic.Properties(headers=HEADERS, **PROPERTIES)
                await channel.basic_publish(
                    BODY, exchange=EXCHANGE, routing_key="orders.eu", properties=properties
                )
                is_over = meter.step()
            await connection.close()

        asyncio.run(work())
        return meter.cost

    def consume(self, count: int) -> float:
        """With a callback."""
        import aiormq

        meter = Meter(count)

        async def work() -> None:
            finished = asyncio.Event()

            async def on_message(_message: Any) -> None:
                if meter.step():
                    finished.set()

            connection = await aiormq.connect(self.url)
            channel = await connection.channel()
            await channel.basic_qos(prefetch_count=1000 + WARM_UP + count)
            await channel.basic_consume(QUEUE, on_message)
            await finished.wait()
            await connection.close()

        asyncio.run(work())
        return meter.cost


class AioPika(AioRmq):
    """aio_pika.connect."""

    name = "aio-pika"

    def publish(self, count: int) -> float:
        """One after the other."""
        import aio_pika

        meter = Meter(count)

        async def work() -> None:
            connection = await aio_pika.connect(self.url)
            channel = await connection.channel(publisher_confirms=False)
            exchange = await channel.get_exchange(EXCHANGE)
            is_over = False
            while not is_over:
                message = aio_pika.Message(BODY, headers=HEADERS, **PROPERTIES)
                await exchange.publish(message, "orders.eu", mandatory=False)
                is_over = meter.step()
            await connection.close()

        asyncio.run(work())
        return meter.cost

    def consume(self, count: int) -> float:
        """With a callback."""
        import aio_pika

        meter = Meter(count)

        async def work() -> None:
            finished = asyncio.Event()

            async def on_message(_message: Any) -> None:
                if meter.step():
                    finished.set()

            connection = await aio_pika.connect(self.url)
            channel = await connection.channel()
            await channel.set_qos(prefetch_count=1000 + WARM_UP + count)
            queue = await channel.get_queue(QUEUE)
            await queue.consume(on_message)
            await finished.wait()
            await connection.close()

        asyncio.run(work())
        return meter.cost


ALL: tuple[type[Client], ...] = (PikaBlocking, PikaSelect, PyAmqp, AmqpStorm, AioRmq, AioPika)
DIRECTIONS = ("publish", "consume")


def prepare(host: str, port: int, ready: int) -> None:
    """The exchange that drops everything, and a queue with so many messages ready."""
    import amqp

    with amqp.Connection(f"{host}:{port}") as connection:
        channel = connection.channel()
        channel.exchange_declare(EXCHANGE, "fanout", auto_delete=False)
        channel.queue_declare(QUEUE, auto_delete=False)
        channel.queue_purge(QUEUE)
        channel.confirm_select()
        for number in range(ready):
            message = amqp.Message(BODY, application_headers=HEADERS, **PROPERTIES)
            publish = channel.basic_publish_confirm if number == ready - 1 else None
            (publish or channel._basic_publish)(message, "", QUEUE)
