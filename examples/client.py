"""A client for asyncio: `python examples/client.py [URL]` sends ten messages and takes them."""

from __future__ import annotations

import asyncio
import sys

from amqpcodec import aio


async def main(url: str) -> None:
    """Send and take some messages."""
    async with aio.connect(url) as connection, connection.channel() as channel:
        queue = (await channel.declare_queue()).name
        await asyncio.gather(*(channel.publish(b"%d" % n, routing_key=queue) for n in range(10)))
        async with channel.consume(queue) as messages:
            for _ in range(10):
                async with (await messages.get()).process() as message:
                    print(message.body.decode())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:2] or ["amqp://guest:guest@localhost:5672/%2F"]))
