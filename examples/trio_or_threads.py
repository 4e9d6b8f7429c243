"""The same session without asyncio: by a thread and a blocking socket, or by trio.

`python examples/trio_or_threads.py [--trio] [HOST [PORT]]` publishes ten messages with confirms
and takes them back. What differs between the two is only who reads, who writes and who waits; the
protocol is the session's in both.
"""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from amqpcodec import v0_9_1 as amqp
from amqpcodec.session import (
    Acked,
    Channel,
    ChannelClosed,
    ChannelOpened,
    Connection,
    ConnectionClosed,
    ConnectionOpened,
    Delivered,
    Event,
    Nacked,
    RemoteProtocolError,
    Replied,
)

COUNT = 10


class Work:
    """What is to be done, event by event: neither sockets nor waiting in here."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.bodies: list[bytes] = []
        self.confirmed: list[int] = []
        self.end: ConnectionClosed | None = None

    def on_event(self, event: Event) -> None:
        """Take the next step."""
        match event:
            case ConnectionOpened():
                self.connection.open_channel()
            case ChannelOpened(channel):
                channel.confirm()
                channel.qos(prefetch_count=5)
                channel.declare_queue(exclusive=True)
            case Replied(Channel() as channel, reply=amqp.Queue.DeclareOk(queue=queue)):
                channel.consume(queue)
                for number in range(COUNT):
                    channel.publish("", queue, b"%d" % number)
            case Delivered(consumer, message):
                self.bodies.append(message.body)
                consumer.channel.ack(message.method.delivery_tag)
                self.finish()
            case Acked(_, tags):
                self.confirmed += tags
                self.finish()
            case Nacked() | ChannelClosed(closed_by="remote"):
                raise RuntimeError(f"the broker refused: {event}")
            case ConnectionClosed():
                self.end = event

    def finish(self) -> None:
        """Close when all is there."""
        if len(self.bodies) == len(self.confirmed) == COUNT:
            self.connection.close()


def received(connection: Connection, data: bytes) -> list[Event]:
    """Events of what a socket gave; of its end, if it gave nothing."""
    if not data:
        return connection.receive_eof()
    try:
        return connection.receive_data(data)
    except RemoteProtocolError as error:
        return error.events


# ---- a thread that reads, another that keeps the heartbeats, and a lock ----


def by_threads(host: str, port: int, options: dict[str, Any]) -> Work:
    """Run the work; the calling thread waits."""
    connection = Connection("client", **options)
    work = Work(connection)
    lock = threading.Lock()
    with socket.create_connection((host, port)) as line:

        def act(produce: Callable[[], list[Event]]) -> None:
            """All that touches the session holds the lock; so does sending, to keep the order."""
            with lock:
                for event in produce():
                    work.on_event(event)
                buffers = connection.buffers_to_send()
                if buffers:
                    send_all(line, buffers)

        def beat() -> None:
            while not connection.closed:
                now = time.monotonic()
                with lock:
                    when = connection.next_timeout(now)
                time.sleep(0.05 if when is None else min(max(when - now, 0), 0.5))
                act(lambda: connection.handle_timeout(time.monotonic()))

        act(list)
        keeper = threading.Thread(target=beat, name="amqp heartbeats", daemon=True)
        keeper.start()
        while not connection.closed:
            data = line.recv(65536)
            act(partial(received, connection, data))
        keeper.join()
    return work


def send_all(line: socket.socket, buffers: list[bytes | memoryview]) -> None:
    """All buffers without joining them: large bodies are not copied."""
    views = [memoryview(one) for one in buffers]
    while views:
        sent = line.sendmsg(views[:500])
        while views and sent >= len(views[0]):
            sent -= len(views.pop(0))
        if sent:
            views[0] = views[0][sent:]


# ---- trio ----


def by_trio(host: str, port: int, options: dict[str, Any]) -> Work:
    """Run the work by tasks of trio."""
    import trio

    connection = Connection("client", **options)
    work = Work(connection)

    async def talk() -> None:
        line = await trio.open_tcp_stream(host, port)
        sending = trio.Lock()

        async def flush() -> None:
            async with sending:
                data = connection.data_to_send()
                if data:
                    await line.send_all(data)

        async def beat() -> None:
            while True:
                when = connection.next_timeout(trio.current_time())
                await trio.sleep_until(trio.current_time() + 0.2 if when is None else when)
                for event in connection.handle_timeout(trio.current_time()):
                    work.on_event(event)
                await flush()

        async with line, trio.open_nursery() as nursery:
            nursery.start_soon(beat)
            await flush()
            while not connection.closed:
                for event in received(connection, await line.receive_some()):
                    work.on_event(event)
                await flush()
            nursery.cancel_scope.cancel()

    trio.run(talk)
    return work


def main(arguments: list[str]) -> None:
    """Run it and say what came back."""
    run = by_trio if "--trio" in arguments else by_threads
    host, port = [*[one for one in arguments if one != "--trio"], "localhost", "5672"][:2]
    work = run(host, int(port), {})
    print(b" ".join(work.bodies).decode())


if __name__ == "__main__":
    main(sys.argv[1:])
