"""The clients of the long run: how each publishes with confirms, and consumes; and the messages."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Protocol

QUEUE = "amqpcodec.soak"
BATCH = 50
BLOB = random.Random("soak").randbytes(2_200_000)
LARGEST = 1_000_000
UNUSUAL: tuple[dict[str, Any] | None, ...] = (
    None,
    {},
    {"n": 1},
    {"größe": "中文 \U0001f407", "": "an empty key", " ": None},
    {"deep": {"er": {"and": {"deeper": [1, [2, [3, {"x": None}]]]}}}},
    {"x" * 128: "y" * 3000, "many": list(range(100))},
    {"yes": True, "no": False, "min": -(2**63), "max": 2**63 - 1, "edge": 2**31},
    {"price": Decimal("12.34"), "less": Decimal("-0.01"), "list": []},
    {f"k{number}": number * 7919 for number in range(40)},
    {"nul\0nul": "a\0b", "text": "ä" * 500, "empty": ""},
)


class Counter(Protocol):
    """What the soak tells a session."""

    def count(self) -> None:
        """One more message."""

    def ahead(self) -> int:
        """How many more this side has done than the other one."""


class Broken(Exception):
    """A message was lost, out of order, or not what was sent."""


def mixed(number: int) -> int:
    """A number that looks like chance, and is the same on both sides."""
    value = (number + 1) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
    value ^= value >> 31
    return value * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF


def body(number: int) -> bytes:
    """The body of a message: mostly small, some of some kilobytes, a few up to a megabyte."""
    value = mixed(number) >> 11
    kind, value = value % 1000, value // 1000
    if kind == 0:
        size = value % (LARGEST + 1)
    elif kind < 5:
        size = value % 140_000
    elif kind < 60:
        size = value % 9000
    else:
        size = value % 200
    start = value % 1_000_000
    return BLOB[start : start + size]


def headers(number: int) -> dict[str, Any]:
    """The headers of a message: its number, and something unusual."""
    return {"number": number, **(UNUSUAL[mixed(number) % len(UNUSUAL)] or {})}


def check(number: int, got_headers: Any, got_body: Any, correlation_id: Any) -> None:
    """Raise unless this is the message of that number."""
    got_number = got_headers.get("number") if got_headers else None
    if got_number != number:
        raise Broken(f"message {got_number} where {number} was due")
    if bytes(got_body) != body(number):
        raise Broken(f"the body of message {number} differs: {len(got_body)} bytes")
    if dict(got_headers) != headers(number):
        raise Broken(f"the headers of message {number} differ: {got_headers}")
    if correlation_id != f"c-{number}":
        raise Broken(f"the properties of message {number} differ: {correlation_id}")


def window(progress: Counter) -> bool:
    """Whether there may be more on the way."""
    return progress.ahead() < 1000


class Session:
    """One client."""

    dropin: str

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port

    def prepare(self) -> None:
        """An empty queue."""
        import amqp

        with amqp.Connection(f"{self.host}:{self.port}") as connection:
            channel = connection.channel()
            channel.queue_delete(QUEUE)
            channel.queue_declare(QUEUE, auto_delete=False)

    def publish(self, total: int, progress: Counter) -> None:
        """Publish all messages, each confirmed."""
        raise NotImplementedError

    def consume(self, total: int, progress: Counter) -> None:
        """Consume, check and acknowledge all of them."""
        raise NotImplementedError

    def wait(self, progress: Counter, between: Callable[[], Any] = lambda: None) -> None:
        """Until the other side has come closer."""
        while not window(progress):
            between()
            time.sleep(0.002)


class Pika(Session):
    """Publishes blocking, consumes by callbacks."""

    dropin = "pika"

    def publish(self, total: int, progress: Counter) -> None:
        """A confirm for each before the next."""
        import pika

        parameters = pika.ConnectionParameters(self.host, self.port)
        with pika.BlockingConnection(parameters) as connection:
            channel = connection.channel()
            channel.confirm_delivery()
            for number in range(total):
                properties = pika.BasicProperties(
                    headers=headers(number), correlation_id=f"c-{number}", delivery_mode=1
                )
                channel.basic_publish("", QUEUE, body(number), properties, mandatory=True)
                progress.count()
                if number % BATCH == 0:
                    self.wait(progress, lambda: connection.process_data_events(0))

    def consume(self, total: int, progress: Counter) -> None:
        """SelectConnection."""
        import pika

        failed: list[Exception] = []
        state = {"next": 0}

        def on_message(channel: Any, method: Any, properties: Any, data: bytes) -> None:
            try:
                check(state["next"], properties.headers, data, properties.correlation_id)
            except Broken as error:
                failed.append(error)
                channel.connection.close()
                return
            state["next"] += 1
            progress.count()
            if state["next"] % BATCH == 0 or state["next"] == total:
                channel.basic_ack(method.delivery_tag, multiple=True)
            if state["next"] == total:
                channel.connection.close()

        def on_channel(channel: Any) -> None:
            channel.basic_qos(prefetch_count=400, callback=lambda _: None)
            channel.basic_consume(QUEUE, on_message)

        def on_close(one: Any, error: Exception) -> None:
            if state["next"] < total:
                failed.append(error)
            one.ioloop.stop()

        connection = pika.SelectConnection(
            pika.ConnectionParameters(self.host, self.port),
            on_open_callback=lambda one: one.channel(on_open_callback=on_channel),
            on_close_callback=on_close,
        )
        connection.ioloop.start()
        if failed:
            raise failed[0]


class PyAmqp(Session):
    """amqp.Connection."""

    dropin = "amqp"

    def publish(self, total: int, progress: Counter) -> None:
        """A confirm for each before the next."""
        import amqp

        with amqp.Connection(f"{self.host}:{self.port}") as connection:
            channel = connection.channel()
            for number in range(total):
                message = amqp.Message(
                    body(number),
                    application_headers=headers(number),
                    correlation_id=f"c-{number}",
                    delivery_mode=1,
                )
                channel.basic_publish_confirm(message, "", QUEUE, mandatory=True)
                progress.count()
                if number % BATCH == 0:
                    self.wait(progress)

    def consume(self, total: int, progress: Counter) -> None:
        """With a callback."""
        import amqp

        state = {"next": 0}

        def on_message(message: Any) -> None:
            properties = message.properties
            check(
                state["next"],
                properties.get("application_headers"),
                message.body or b"",
                properties["correlation_id"],
            )
            state["next"] += 1
            progress.count()
            if state["next"] % BATCH == 0 or state["next"] == total:
                channel.basic_ack(message.delivery_tag, multiple=True)

        with amqp.Connection(f"{self.host}:{self.port}") as connection:
            channel = connection.channel()
            channel.basic_qos(0, 400, False)
            channel.basic_consume(QUEUE, callback=on_message)
            while state["next"] < total:
                connection.drain_events(timeout=60)


class Kombu(Session):
    """kombu.Producer and kombu.Consumer, on py-amqp."""

    dropin = "amqp"

    def connect(self) -> Any:
        """A connection that confirms what it publishes."""
        import kombu

        url = f"pyamqp://guest:guest@{self.host}:{self.port}//"
        return kombu.Connection(url, transport_options={"confirm_publish": True})

    def publish(self, total: int, progress: Counter) -> None:
        """A confirm for each before the next."""
        with self.connect() as connection:
            producer = connection.Producer()
            for number in range(total):
                producer.publish(
                    body(number),
                    routing_key=QUEUE,
                    headers=headers(number),
                    correlation_id=f"c-{number}",
                    content_type="application/octet-stream",
                    content_encoding="binary",
                    delivery_mode=1,
                )
                progress.count()
                if number % BATCH == 0:
                    self.wait(progress)

    def consume(self, total: int, progress: Counter) -> None:
        """With a callback."""
        import kombu

        state = {"next": 0}

        def on_message(message: Any) -> None:
            correlation_id = message.properties["correlation_id"]
            check(state["next"], message.headers, message.body or b"", correlation_id)
            state["next"] += 1
            progress.count()
            if state["next"] % BATCH == 0 or state["next"] == total:
                message.ack(multiple=True)

        queue = kombu.Queue(QUEUE, no_declare=True)
        with (
            self.connect() as connection,
            connection.Consumer(queue, on_message=on_message, prefetch_count=400),
        ):
            while state["next"] < total:
                connection.drain_events(timeout=60)


class AmqpStorm(Session):
    """amqpstorm.Connection."""

    dropin = "pamqp"

    def publish(self, total: int, progress: Counter) -> None:
        """A confirm for each before the next."""
        import amqpstorm
        import amqpstorm.rpc

        amqpstorm.rpc.IDLE_WAIT = 0.0002  # how often it looks for the answer: 10 ms by default
        with amqpstorm.Connection(self.host, "guest", "guest", port=self.port) as connection:
            channel = connection.channel()
            channel.confirm_deliveries()
            for number in range(total):
                properties = {
                    "headers": headers(number),
                    "correlation_id": f"c-{number}",
                    "delivery_mode": 1,
                }
                if not channel.basic.publish(body(number), QUEUE, "", properties, mandatory=True):
                    raise Broken(f"message {number} was not confirmed")
                progress.count()
                if number % BATCH == 0:
                    self.wait(progress)

    def consume(self, total: int, progress: Counter) -> None:
        """With a callback."""
        import amqpstorm

        state = {"next": 0}

        def on_message(message: Any) -> None:
            properties = message._properties
            message_headers = properties["headers"]
            check(state["next"], message_headers, message._body, properties["correlation_id"])
            state["next"] += 1
            progress.count()
            if state["next"] % BATCH == 0 or state["next"] == total:
                message.channel.basic.ack(message.delivery_tag, multiple=True)

        with amqpstorm.Connection(self.host, "guest", "guest", port=self.port) as connection:
            channel = connection.channel()
            channel.basic.qos(400)
            channel.basic.consume(on_message, QUEUE)
            while state["next"] < total:
                channel.process_data_events(auto_decode=False)
                time.sleep(0.001)


class AioRmq(Session):
    """aiormq.Connection: up to so many publishings at once, in order."""

    dropin = "pamqp"

    @property
    def url(self) -> str:
        """Where the broker is."""
        return f"amqp://guest:guest@{self.host}:{self.port}//"

    def publish(self, total: int, progress: Counter) -> None:
        """Confirms come later, at most BATCH late."""
        asyncio.run(self.publish_all(total, progress))

    def consume(self, total: int, progress: Counter) -> None:
        """With a callback."""
        asyncio.run(self.consume_all(total, progress))

    async def publish_all(self, total: int, progress: Counter) -> None:
        """Tasks start in the order in which they were made."""
        import aiormq

        connection = await aiormq.connect(self.url)
        channel = await connection.channel(publisher_confirms=True)

        async def one(number: int) -> None:
            properties = aiormq.spec.Basic.Properties(
                headers=headers(number), correlation_id=f"c-{number}", delivery_mode=1
            )
            await channel.basic_publish(
                body(number), routing_key=QUEUE, properties=properties, mandatory=True
            )

        await self.in_batches(total, progress, one)
        await connection.close()

    async def in_batches(self, total: int, progress: Counter, one: Any) -> None:
        """Publish BATCH at a time."""
        for start in range(0, total, BATCH):
            numbers = range(start, min(total, start + BATCH))
            await asyncio.gather(*(one(number) for number in numbers))
            for _ in numbers:
                progress.count()
            while not window(progress):
                await asyncio.sleep(0.002)

    async def consume_all(self, total: int, progress: Counter) -> None:
        """Checks in the callback."""
        import aiormq

        state: dict[str, Any] = {"next": 0, "failed": None}
        finished = asyncio.Event()

        async def on_message(message: Any) -> None:
            properties = message.header.properties
            try:
                check(state["next"], properties.headers, message.body, properties.correlation_id)
            except Broken as error:
                state["failed"] = error
                finished.set()
                return
            state["next"] += 1
            progress.count()
            is_last = state["next"] == total
            if state["next"] % BATCH == 0 or is_last:
                await channel.basic_ack(message.delivery.delivery_tag, multiple=True)
            if is_last:
                finished.set()

        connection = await aiormq.connect(self.url)
        channel = await connection.channel()
        await channel.basic_qos(prefetch_count=400)
        await channel.basic_consume(QUEUE, on_message)
        await finished.wait()
        await connection.close()
        if state["failed"]:
            raise state["failed"]


class AioPika(AioRmq):
    """aio_pika.connect."""

    async def publish_all(self, total: int, progress: Counter) -> None:
        """Tasks start in the order in which they were made."""
        import aio_pika

        connection = await aio_pika.connect(self.url)
        channel = await connection.channel(publisher_confirms=True)

        async def one(number: int) -> None:
            message = aio_pika.Message(
                body(number), headers=headers(number), correlation_id=f"c-{number}", delivery_mode=1
            )
            await channel.default_exchange.publish(message, QUEUE)

        await self.in_batches(total, progress, one)
        await connection.close()

    async def consume_all(self, total: int, progress: Counter) -> None:
        """By an iterator, which keeps the order."""
        import aio_pika

        connection = await aio_pika.connect(self.url)
        channel = await connection.channel()
        await channel.set_qos(prefetch_count=400)
        queue = await channel.get_queue(QUEUE)
        due = 0
        async with queue.iterator() as messages:
            async for message in messages:
                check(due, message.headers, message.body, message.correlation_id)
                due += 1
                progress.count()
                if due % BATCH == 0 or due == total:
                    await message.ack(multiple=True)
                if due == total:
                    break
        await connection.close()


ALL: dict[str, type[Session]] = {
    "pika": Pika,
    "py-amqp": PyAmqp,
    "kombu": Kombu,
    "amqpstorm": AmqpStorm,
    "aiormq": AioRmq,
    "aio-pika": AioPika,
}
