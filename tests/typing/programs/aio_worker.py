"""A worker on amqpcodec.aio, as a user writes it: the types that it has."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any, Literal, assert_type

from amqpcodec import aio


async def password() -> str:
    return "guest"


async def password_of(message: aio.Message) -> bytes:
    return message.body


async def main(url: str) -> None:
    async with aio.connect([url], username="guest", password=password) as connection:
        assert_type(connection, aio.Connection)
        assert_type(connection.blocked, str | None)
        other = await connection.channel(confirms=False)
        assert_type(other, aio.Channel)
        async with connection.channel() as channel:
            queue = await channel.declare_queue("orders", arguments={"x-max-length": 10})
            assert_type(queue.messages, int)
            await channel.publish(b"{}", routing_key=queue.name, headers={"n": 1}, priority=1)
            future = channel.publish_nowait(b"{}", routing_key=queue.name)
            assert_type(future, asyncio.Future[None])
            assert_type(await channel.get(queue.name), aio.Message | None)
            async with channel.consume(queue.name, prefetch=10) as messages:
                async for message in messages:
                    assert_type(message, aio.Message)
                    async with message.process() as same:
                        assert_type(same, aio.Message)
                        assert_type(message.body, bytes)
                        assert_type(message.headers, dict[str, Any])
                        assert_type(message.content_type, str | None)
                        assert_type(message.priority, int | None)
                        assert_type(message.timestamp, datetime | None)
                        if message.reply_to is not None:
                            await connection.publish(
                                b"",
                                routing_key=message.reply_to,
                                mandatory=False,
                                correlation_id=message.correlation_id,
                            )
                        assert_type(await message.ack(), bool)
        try:
            await connection.check()
        except (aio.ConnectionLost, aio.ChannelClosed) as error:
            assert_type(error.reply_code, int)


async def declare(connection: aio.Connection) -> None:
    async for state in connection.states():
        assert_type(state, Literal["open", "closing", "closed"])
    assert_type(connection.consume("orders", prefetch=10), aio.Consumer)
    connection.consume("orders", prefetsch=10)  # type: ignore  # pyright: ignore


async def again() -> None:
    found = aio.connections("amqp://h", setup=declare, heartbeat=10)
    assert_type(found, aio.Connections)
    async with found.consume("orders", prefetch=10) as messages:
        assert_type(messages, aio.Consumer)
    async for state in found.states():
        assert_type(state, Literal["connecting", "open", "down", "closed"])
    await aio.serve(found, "orders", password_of)
    await found.publish(b"", routing_key="orders", exchange="e", priority=1, timeout=5)
    async for connection in found:
        assert_type(connection, aio.Connection)


async def wrong(channel: aio.Channel, message: aio.Message) -> None:
    await channel.publish("text", routing_key="orders")  # type: ignore[arg-type]  # pyright: ignore
    await channel.publish(b"", routing_key="q", hedders={})  # type: ignore  # pyright: ignore
    message.body = b""  # type: ignore[misc]  # pyright: ignore
