"""Each client publishing and consuming: one class a client, all with the same two methods.

A message has a body of 256 bytes, 5 headers and 5 properties. `publish` sends to an exchange that
drops everything, and `confirm` does with confirms, as the client has them: most wait for each.
`consume` takes messages that the broker has ready, and does not acknowledge, so that they are ready
again for the next run; `acknowledge` acknowledges each, with a prefetch of 100. All give CPU
seconds a message, of this process alone, of the messages after a warm-up.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

EXCHANGE = "amqpcodec.bench.void"
QUEUE = "amqpcodec.bench.ready"
TASKS = "amqpcodec.bench.tasks"
WARM_UP = 200
#: How many messages may wait: to be acknowledged, or (SelectConnection) for their confirms.
PREFETCH = 100
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
DIRECTIONS = ("publish", "confirm", "consume", "acknowledge")
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
    #: "stock", "dropin" or "free": what the next run is to measure, which is installed already.
    side = "stock"
    directions: tuple[str, ...] = DIRECTIONS
    #: Directions in which the client sleeps for a hundredth of a second a message.
    slow: tuple[str, ...] = ()

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        #: Calls into the compiled codec by programs that it started.
        self.calls = 0

    def run(self, direction: str, count: int) -> float:
        """CPU seconds a message, of so many in one of DIRECTIONS."""
        if direction in ("publish", "confirm"):
            return self.publish(count, direction == "confirm")
        return self.consume(count, direction == "acknowledge")

    def fill(self, count: int) -> None:
        """Put as many messages into the queue as `acknowledge` takes out of it."""
        prepare(self.host, self.port, count + WARM_UP + PREFETCH)

    def publish(self, count: int, confirm: bool) -> float:
        """Publish so many messages; CPU seconds a message."""
        raise NotImplementedError

    def consume(self, count: int, acknowledge: bool) -> float:
        """Consume so many messages; CPU seconds a message."""
        raise NotImplementedError


class PikaBlocking(Client):
    """pika.BlockingConnection."""

    name, dropin = "pika Blocking", "pika"

    def connect(self) -> Any:
        """An open connection."""
        import pika

        return pika.BlockingConnection(pika.ConnectionParameters(self.host, self.port))

    def publish(self, count: int, confirm: bool) -> float:
        """With basic_publish."""
        import pika

        meter = Meter(count)
        with self.connect() as connection:
            channel = connection.channel()
            if confirm:
                channel.confirm_delivery()
            is_over = False
            while not is_over:
                properties = pika.BasicProperties(headers=HEADERS, **PROPERTIES)
                channel.basic_publish(EXCHANGE, "orders.eu", BODY, properties)
                is_over = meter.step()
        return meter.cost

    def consume(self, count: int, acknowledge: bool) -> float:
        """With a callback."""
        meter = Meter(count)

        ends: list[bool] = []

        def on_message(channel: Any, method: Any, _properties: Any, _body: bytes) -> None:
            if acknowledge:
                channel.basic_ack(method.delivery_tag)
            if meter.step():
                ends.append(True)

        with self.connect() as connection:
            channel = connection.channel()
            if acknowledge:
                channel.basic_qos(prefetch_count=PREFETCH)
            channel.basic_consume(QUEUE, on_message)
            while not ends:
                connection.process_data_events(time_limit=None)
        return meter.cost


class PikaSelect(Client):
    """pika.SelectConnection."""

    name, dropin = "pika Select", "pika"

    def loop(self, on_channel: Callable[[Any], None]) -> None:
        """Open a channel, and go on until somebody closes the connection."""
        import pika

        connection = pika.SelectConnection(
            pika.ConnectionParameters(self.host, self.port),
            on_open_callback=lambda one: one.channel(on_open_callback=on_channel),
            on_open_error_callback=lambda one, _error: one.ioloop.stop(),
            on_close_callback=lambda one, _error: one.ioloop.stop(),
        )
        connection.ioloop.start()

    def publish(self, count: int, confirm: bool) -> float:
        """In bursts of 100, as the loop comes round; confirms come meanwhile."""
        import pika

        meter = Meter(count)
        published = confirmed = 0

        def on_channel(channel: Any) -> None:
            def on_confirm(frame: Any) -> None:
                nonlocal confirmed
                tag = frame.method.delivery_tag
                for _ in range(tag - confirmed if frame.method.multiple else 1):
                    confirmed += 1
                    if meter.step() and channel.connection.is_open:
                        channel.connection.close()
                        return

            def burst() -> None:
                nonlocal published
                if not channel.is_open:
                    return
                room = PREFETCH - (published - confirmed) if confirm else PREFETCH
                for _ in range(room):
                    properties = pika.BasicProperties(headers=HEADERS, **PROPERTIES)
                    channel.basic_publish(EXCHANGE, "orders.eu", BODY, properties)
                    published += 1
                    if not confirm and meter.step():
                        channel.connection.close()
                        return
                channel.connection.ioloop.call_later(0, burst)

            if confirm:
                channel.confirm_delivery(on_confirm)
            burst()

        self.loop(on_channel)
        return meter.cost

    def consume(self, count: int, acknowledge: bool) -> float:
        """With a callback."""
        meter = Meter(count)

        def on_message(channel: Any, method: Any, _properties: Any, _body: bytes) -> None:
            if acknowledge and channel.is_open:
                channel.basic_ack(method.delivery_tag)
            if meter.step() and channel.connection.is_open:
                channel.connection.close()

        def on_channel(channel: Any) -> None:
            if acknowledge:
                channel.basic_qos(prefetch_count=PREFETCH)
            channel.basic_consume(QUEUE, on_message)

        self.loop(on_channel)
        return meter.cost


class PyAmqp(Client):
    """amqp.Connection, the client below kombu and Celery."""

    name, dropin = "py-amqp", "amqp"

    def connect(self, confirm: bool = False) -> Any:
        """An open connection."""
        import amqp

        connection = amqp.Connection(f"{self.host}:{self.port}", confirm_publish=confirm)
        connection.connect()
        return connection

    def publish(self, count: int, confirm: bool) -> float:
        """With basic_publish."""
        import amqp

        meter = Meter(count)
        with self.connect(confirm) as connection:
            channel = connection.channel()
            is_over = False
            while not is_over:
                message = amqp.Message(BODY, application_headers=HEADERS, **PROPERTIES)
                channel.basic_publish(message, EXCHANGE, "orders.eu")
                is_over = meter.step()
        return meter.cost

    def consume(self, count: int, acknowledge: bool) -> float:
        """With a callback and drain_events."""
        meter = Meter(count)
        ends: list[bool] = []

        def on_message(message: Any) -> None:
            if acknowledge:
                channel.basic_ack(message.delivery_tag)
            if meter.step():
                ends.append(True)

        connection = self.connect()
        channel = connection.channel()
        if acknowledge:
            channel.basic_qos(0, PREFETCH, False)
        channel.basic_consume(QUEUE, callback=on_message)
        while not ends:
            connection.drain_events(timeout=10)
        connection.collect()
        return meter.cost


class Kombu(Client):
    """kombu.Producer and kombu.Consumer, over py-amqp."""

    name, dropin = "kombu", "amqp"

    def connect(self, confirm: bool = False) -> Any:
        """An open connection."""
        import kombu

        return kombu.Connection(
            f"amqp://guest:guest@{self.host}:{self.port}//",
            transport_options={"confirm_publish": confirm},
        )

    def publish(self, count: int, confirm: bool) -> float:
        """With Producer.publish; the body is bytes, as it is."""
        import kombu

        meter = Meter(count)
        with self.connect(confirm) as connection:
            exchange = kombu.Exchange(EXCHANGE, "fanout", durable=False)
            producer = kombu.Producer(connection.channel(), exchange, auto_declare=False)
            is_over = False
            while not is_over:
                producer.publish(
                    BODY,
                    routing_key="orders.eu",
                    headers=HEADERS,
                    content_encoding="binary",
                    **PROPERTIES,
                )
                is_over = meter.step()
        return meter.cost

    def consume(self, count: int, acknowledge: bool) -> float:
        """With a callback and drain_events."""
        import kombu

        meter = Meter(count)
        ends: list[bool] = []

        def on_message(message: Any) -> None:
            if acknowledge:
                message.ack()
            if meter.step():
                ends.append(True)

        with self.connect() as connection:
            queue = kombu.Queue(QUEUE, durable=False, no_declare=True)
            prefetch = PREFETCH if acknowledge else None
            with kombu.Consumer(
                connection.channel(), [queue], on_message=on_message, prefetch_count=prefetch
            ):
                while not ends:
                    connection.drain_events(timeout=10)
        return meter.cost


class Celery(Client):
    """Celery: apply_async with and without confirms, and a prefork worker that does the tasks."""

    name, dropin = "Celery", "amqp"
    directions = ("publish", "confirm", "acknowledge")

    def app(self, confirm: bool) -> Any:
        """An application with one task, whose queue is that of the benchmark."""
        import celery

        app = celery.Celery(broker=f"amqp://guest:guest@{self.host}:{self.port}//")
        app.conf.update(
            broker_transport_options={"confirm_publish": confirm},
            broker_connection_retry_on_startup=False,
            task_ignore_result=True,
            task_default_delivery_mode="transient",  # a confirm does not wait for a disk
            task_default_queue=TASKS,
            task_create_missing_queues=True,
            worker_hijack_root_logger=False,
            worker_redirect_stdouts=False,
            worker_prefetch_multiplier=PREFETCH,
        )
        app.task(name="bench.nothing")(nothing)
        return app

    def fill(self, count: int) -> None:
        """Tasks for the worker."""
        prepare(self.host, self.port, 0)
        self.publish(count, False)

    def publish(self, count: int, confirm: bool) -> float:
        """With apply_async."""
        import kombu.pools

        # A connection outlives its application otherwise, with the codec that it began with.
        kombu.pools.reset()
        meter = Meter(count)
        with self.app(confirm) as app:
            task = app.tasks["bench.nothing"]
            with app.producer_or_acquire() as producer:
                is_over = False
                while not is_over:
                    task.apply_async((1, "two"), {"three": 3.0}, producer=producer)
                    is_over = meter.step()
        return meter.cost

    def consume(self, count: int, acknowledge: bool) -> float:
        """The worker's main process: it takes tasks, hands them to a child and acknowledges.

        A program of its own each time, which is killed with its child once it was measured: a
        worker that is asked to end waits half a minute for the child.
        """
        command = [sys.executable, "-m", "bench.live.celery_worker", self.host, str(self.port)]
        command += [self.side, str(count)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, start_new_session=True
        ) as worker:
            assert worker.stdout is not None
            try:
                cost, calls = worker.stdout.readline().split()
                self.calls += int(calls)
                return float(cost)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(worker.pid, signal.SIGKILL)

    def work(self, count: int) -> None:
        """What that program does: it prints the cost of so many tasks and the calls into the
        compiled codec, and goes on."""
        from celery import signals

        from amqpcodec.compat import drop_in

        meter = Meter(count)

        def on_received(**_rest: Any) -> None:
            if not meter.end and meter.step():
                print(meter.cost, drop_in(self.dropin).calls(), flush=True)

        signals.task_received.connect(on_received)
        self.app(False).Worker(
            pool="prefork",
            concurrency=1,
            loglevel="ERROR",
            without_heartbeat=True,
            without_gossip=True,
            without_mingle=True,
            quiet=True,
        ).start()


def nothing(*_args: Any, **_kwargs: Any) -> None:
    """The task that Celery's worker does."""


class AmqpStorm(Client):
    """amqpstorm.Connection: a thread reads, another one works."""

    name, dropin = "amqpstorm", "pamqp"
    slow = ("confirm",)

    def connect(self) -> Any:
        """An open connection."""
        import amqpstorm

        return amqpstorm.Connection(self.host, "guest", "guest", port=self.port)

    def publish(self, count: int, confirm: bool) -> float:
        """With basic.publish."""
        meter = Meter(count)
        with self.connect() as connection:
            channel = connection.channel()
            if confirm:
                channel.confirm_deliveries()
            is_over = False
            while not is_over:
                properties = {"headers": HEADERS, **PROPERTIES}
                channel.basic.publish(BODY, "orders.eu", EXCHANGE, properties)
                is_over = meter.step()
        return meter.cost

    def consume(self, count: int, acknowledge: bool) -> float:
        """With a callback."""
        meter = Meter(count)

        def on_message(message: Any) -> None:
            if acknowledge:
                message.ack()
            if meter.step():
                message.channel.stop_consuming()

        with self.connect() as connection:
            channel = connection.channel()
            channel.basic.qos(PREFETCH if acknowledge else 0)  # 0: no limit
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

    def publish(self, count: int, confirm: bool) -> float:
        """One after the other."""
        import aiormq

        meter = Meter(count)

        async def work() -> None:
            connection = await aiormq.connect(self.url)
            channel = await connection.channel(publisher_confirms=confirm)
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

    def consume(self, count: int, acknowledge: bool) -> float:
        """With a callback."""
        import aiormq

        meter = Meter(count)

        async def work() -> None:
            finished = asyncio.Event()

            async def on_message(message: Any) -> None:
                if acknowledge:
                    await channel.basic_ack(message.delivery_tag)
                if meter.step():
                    finished.set()

            connection = await aiormq.connect(self.url)
            channel = await connection.channel()
            await channel.basic_qos(
                prefetch_count=PREFETCH if acknowledge else 1000 + WARM_UP + count
            )
            await channel.basic_consume(QUEUE, on_message)
            await finished.wait()
            await connection.close()

        asyncio.run(work())
        return meter.cost


class AioPika(AioRmq):
    """aio_pika.connect."""

    name = "aio-pika"

    def publish(self, count: int, confirm: bool) -> float:
        """One after the other."""
        import aio_pika

        meter = Meter(count)

        async def work() -> None:
            connection = await aio_pika.connect(self.url)
            channel = await connection.channel(publisher_confirms=confirm)
            exchange = await channel.get_exchange(EXCHANGE)
            is_over = False
            while not is_over:
                message = aio_pika.Message(BODY, headers=HEADERS, **PROPERTIES)
                await exchange.publish(message, "orders.eu", mandatory=False)
                is_over = meter.step()
            await connection.close()

        asyncio.run(work())
        return meter.cost

    def consume(self, count: int, acknowledge: bool) -> float:
        """With a callback."""
        import aio_pika

        meter = Meter(count)

        async def work() -> None:
            finished = asyncio.Event()

            async def on_message(message: Any) -> None:
                if acknowledge:
                    await message.ack()
                if meter.step():
                    finished.set()

            connection = await aio_pika.connect(self.url)
            channel = await connection.channel()
            await channel.set_qos(
                prefetch_count=PREFETCH if acknowledge else 1000 + WARM_UP + count
            )
            queue = await channel.get_queue(QUEUE)
            await queue.consume(on_message)
            await finished.wait()
            await connection.close()

        asyncio.run(work())
        return meter.cost


ALL: tuple[type[Client], ...] = (
    *(PikaBlocking, PikaSelect, PyAmqp, Kombu, Celery, AmqpStorm, AioRmq, AioPika),
)


def prepare(host: str, port: int, ready: int) -> None:
    """The exchange that drops everything, a queue with so many messages ready, and an empty one."""
    import amqp

    with amqp.Connection(f"{host}:{port}") as connection:
        channel = connection.channel()
        channel.exchange_declare(EXCHANGE, "fanout", auto_delete=False)
        channel.queue_declare(QUEUE, auto_delete=False)
        channel.queue_declare(TASKS, durable=True, auto_delete=False)
        for queue in (QUEUE, TASKS):
            channel.queue_purge(queue)
        channel.confirm_select()
        for number in range(ready):
            message = amqp.Message(BODY, application_headers=HEADERS, **PROPERTIES)
            publish = channel.basic_publish_confirm if number == ready - 1 else None
            (publish or channel._basic_publish)(message, "", QUEUE)
