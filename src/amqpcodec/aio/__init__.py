"""An asyncio client of RabbitMQ and other brokers of AMQP 0-9-1.

::

    from amqpcodec import aio

    async with aio.connect("amqp://guest:guest@localhost/") as connection:
        async with connection.channel() as channel:
            await channel.declare_queue("orders")
            await channel.publish(b"{}", routing_key="orders")  # returns when it is confirmed
            async with channel.consume("orders") as messages:
                async for message in messages:
                    async with message.process():  # acknowledges, or rejects on an exception
                        print(message.body)

Every call that waits ends: by its result, by a timeout, or by an exception that says why the
channel or the connection is over.
"""

from __future__ import annotations

from .._facade.public import listing
from ._channel import Channel, DeclaredQueue
from ._connection import Connection, ConnectOptions, Opening, connect
from ._consumer import ConsumeOptions, Consumer
from ._errors import (
    AccessRefused,
    AlreadySettled,
    AMQPError,
    AuthenticationFailed,
    ChannelClosed,
    ConnectFailed,
    ConnectionBlocked,
    ConnectionClosed,
    ConnectionLost,
    ConsumerCancelled,
    HeartbeatTimeout,
    Nacked,
    NotFound,
    PreconditionFailed,
    PublishError,
    PublishUnconfirmed,
    ResourceLocked,
    Returned,
    VirtualHostRefused,
    WindowFull,
)
from ._message import Message, MessageProperties, Processing, PublishOptions
from ._reconnection import Backoff, Connections, connections
from ._service import serve

__all__ = [
    "AMQPError",
    "AccessRefused",
    "AlreadySettled",
    "AuthenticationFailed",
    "Backoff",
    "Channel",
    "ChannelClosed",
    "ConnectFailed",
    "ConnectOptions",
    "Connection",
    "ConnectionBlocked",
    "ConnectionClosed",
    "ConnectionLost",
    "Connections",
    "ConsumeOptions",
    "Consumer",
    "ConsumerCancelled",
    "DeclaredQueue",
    "HeartbeatTimeout",
    "Message",
    "MessageProperties",
    "Nacked",
    "NotFound",
    "Opening",
    "PreconditionFailed",
    "Processing",
    "PublishError",
    "PublishOptions",
    "PublishUnconfirmed",
    "ResourceLocked",
    "Returned",
    "VirtualHostRefused",
    "WindowFull",
    "connect",
    "connections",
    "serve",
]

__dir__ = listing(__name__)
