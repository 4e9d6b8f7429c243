"""The broker as tests hold it."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, TypeVar

from .. import v0_9_1 as amqp
from ._exchanges import Route
from ._faults import Fault, Place, sweep
from ._frames import Sender
from ._node import Node, Publication
from ._peer import Peer
from ._profiles import DEFAULT_PROFILE, profile_of
from ._queues import Content, Queue, Stored
from ._refusals import Refusal
from ._server import Line, LineHandler, Server
from ._transcript import TranscriptEntry
from ._virtual_host import VirtualHost

__all__ = ["AsyncAsserts", "Binding", "Broker", "ConsumerInfo", "Point", "StoredMessage"]

T = TypeVar("T")

#: Frames that a failed assert prints.
_SHOWN_FRAMES = 60


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message in a queue, or one that a client has not acknowledged.

    Attributes:
        queue: name of its queue.
        exchange, routing_key: where it was published to.
        properties: basic properties, as ``amqpcodec.v0_9_1.Basic.Properties``.
        body: its bytes.
        redelivered: whether it was delivered before.
    """

    queue: str
    exchange: str
    routing_key: str
    properties: Any
    body: bytes
    redelivered: bool


@dataclass(frozen=True, slots=True)
class ConsumerInfo:
    """A consumer.

    Attributes:
        queue, consumer_tag, no_ack, exclusive, priority: as of basic.consume.
        prefetch: its limit; 0 for none.
        connection, channel: numbers of where it is.
    """

    queue: str
    consumer_tag: str
    no_ack: bool
    exclusive: bool
    priority: int
    prefetch: int
    connection: int
    channel: int


@dataclass(frozen=True, slots=True)
class Binding:
    """A binding.

    Attributes:
        source: name of the exchange.
        destination: name of the queue that it leads to, or of an exchange.
        routing_key, arguments: as of queue.bind.
        to_exchange: whether the destination is an exchange.
    """

    source: str
    destination: str
    routing_key: str
    arguments: dict[str, Any]
    to_exchange: bool


@dataclass(slots=True)
class Point:
    """A place of `Broker.every_frame`.

    Attributes:
        number: of the frame at which the fault happens, from 1.
        fault: what happens; ``fault.hit`` tells whether it has.
    """

    number: int
    fault: Fault

    def __str__(self) -> str:
        return f"frame {self.number}: {self.fault.description or 'not reached'}"


class Broker:
    """A broker for tests: RabbitMQ's behaviour on a real socket, in a thread of its own.

    It starts with ``with`` or `start`, and listens on 127.0.0.1. What it does not model it refuses,
    with a text that names it. All methods may be called from any thread::

        with Broker() as broker:
            service(broker.url)
            broker.published("orders", n=1)

    Args:
        profile: the RabbitMQ that it behaves like: "3.13", "4.0" or "4.3".
        users: name -> password; guest, guest by default.
        virtual_hosts: their names.
        port: where it listens; 0 for a free port.
        heartbeat: seconds that it offers; 0 for none.
        frame_max, channel_max: that it offers.
        consumer_timeout: seconds within which a delivery has to be acknowledged, by its clock.
        tls: a server's SSLContext; `amqpcodec.testing.tls_contexts` makes one.

    Attributes:
        read_bytes: bytes that it reads at a time, such as 1; 0 for as many as came.
        write_bytes: the same for what it sends.

    Raises:
        ValueError: there is no such profile.
    """

    def __init__(
        self,
        *,
        profile: Literal["3.13", "4.0", "4.3"] = DEFAULT_PROFILE,
        users: Mapping[str, str] | None = None,
        virtual_hosts: tuple[str, ...] = ("/",),
        port: int = 0,
        heartbeat: int = 60,
        frame_max: int = 131072,
        channel_max: int = 2047,
        consumer_timeout: float = 1800.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._node = Node(
            profile_of(profile),
            {"guest": "guest"} if users is None else users,
            virtual_hosts,
            consumer_timeout,
        )
        self._limits = {"heartbeat": heartbeat, "frame_max": frame_max, "channel_max": channel_max}
        self._server = Server(self._connect, self._tick, port, tls)
        self._lock = self._server.lock
        self._scheme = "amqp" if tls is None else "amqps"
        self._rejected_connections = 0
        self._peers: list[Peer] = self._node.peers
        self.aio: AsyncAsserts = AsyncAsserts(self)

    def __repr__(self) -> str:
        return f"Broker({self.host}:{self.port}, {len(self._peers)} connections)"

    # ---- start and stop ----

    def start(self) -> Broker:
        """Listen and serve; the broker itself."""
        self._server.start()
        return self

    def stop(self) -> None:
        """Close all connections and end the thread."""
        self._server.stop()

    def __enter__(self) -> Broker:
        """Start it; the broker itself."""
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop it."""
        self.stop()

    @property
    def host(self) -> str:
        """Where it listens: always "127.0.0.1"."""
        return "127.0.0.1"

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._server.port

    @property
    def url(self) -> str:
        """For clients: ``amqp://guest:guest@127.0.0.1:PORT/%2F``."""
        name, password = next(iter(self._node.users.items()), ("guest", "guest"))
        return f"{self._scheme}://{name}:{password}@{self.host}:{self.port}/%2F"

    @property
    def users(self) -> dict[str, str]:
        """Name -> password, to be changed at any time."""
        return self._node.users

    @property
    def read_bytes(self) -> int:
        return self._server.read_bytes

    @read_bytes.setter
    def read_bytes(self, count: int) -> None:
        self._server.read_bytes = count

    @property
    def write_bytes(self) -> int:
        return self._server.write_bytes

    @write_bytes.setter
    def write_bytes(self, count: int) -> None:
        self._server.write_bytes = count

    def reset(self) -> None:
        """Reset all connections, forget all that was declared, and all faults: a fresh broker."""
        with self._lock:
            for peer in list(self._peers):
                peer.wire.reset()
            self._node.clear()
            self._rejected_connections = 0
            self._server.read_bytes = self._server.write_bytes = 0
            self._server.listen()
        self._server.wake()

    def restart(self) -> None:
        """What a restart of RabbitMQ does: connections end with 320, what is transient is lost."""
        with self._lock:
            self.close_connections(320, "broker forced connection closure with reason 'shutdown'")
            for host in self._node.hosts.values():
                host.restart()
            self._node.flush()
        self._server.wake()

    # ---- the thread ----

    def _connect(self, line: Line) -> LineHandler | None:
        if self._rejected_connections:
            self._rejected_connections -= 1
            line.end()
            return None
        node = self._node
        node.connections_made += 1
        peer = Peer(node, line, node.connections_made, **self._limits)
        node.peers.append(peer)
        node.note(peer.wire.number, "client", "connected")
        return peer.wire

    def _tick(self) -> float | None:
        node = self._node
        node.clock.run_due()
        node.flush()
        dues = [node.clock.next_due(), *(peer.look_at_clock() for peer in list(node.peers))]
        node.flush()
        waits = [due for due in dues if due is not None]
        return min(waits) if waits else None

    def _host(self, name: str) -> VirtualHost:
        return self._node.hosts[name]

    # ---- what a test does ----

    def declare_queue(
        self,
        name: str,
        *,
        durable: bool = True,
        arguments: dict[str, Any] | None = None,
        virtual_host: str = "/",
    ) -> None:
        """Make a queue without a client.

        Raises:
            ValueError: a client that did so would be refused.
        """
        with self._lock:
            try:
                self._host(virtual_host).declare_queue(
                    name, None, durable=durable, arguments=arguments
                )
            except Refusal as refusal:
                raise ValueError(f"{refusal.reply_code}: {refusal.text}") from None

    def publish(
        self,
        body: bytes,
        *,
        routing_key: str = "",
        exchange: str = "",
        virtual_host: str = "/",
        **properties: Any,
    ) -> None:
        """Publish a message without a client; properties by name, as ``message_id="1"``.

        Raises:
            ValueError: there is no such exchange.
        """
        content = Content(exchange, routing_key, amqp.Basic.Properties(**properties), body)
        with self._lock:
            try:
                self._host(virtual_host).publish(content)
            except Refusal as refusal:
                raise ValueError(f"{refusal.reply_code}: {refusal.text}") from None
            self._node.flush()
        self._server.wake()

    def advance(self, seconds: float) -> None:
        """Let the broker's clock run ahead: all that is due until then happens, in order.

        TTL of messages and queues, acknowledgement timeouts and delays of faults go by this clock.
        Heartbeats do not, since the client's clock was not advanced.
        """
        with self._lock:
            self._node.clock.advance(seconds)
            self._node.flush()
        self._server.wake()

    def close_connections(self, reply_code: int = 320, text: str = "closed by a test") -> None:
        """Close all connections, as an administrator does."""
        with self._lock:
            for peer in list(self._peers):
                peer.close(reply_code, text)
            self._node.flush()
        self._server.wake()

    def reset_connections(self) -> None:
        """Reset all connections (TCP RST)."""
        with self._lock:
            for peer in list(self._peers):
                peer.wire.reset()
            self._node.flush()
        self._server.wake()

    def cancel_consumers(self, queue: str | None = None) -> None:
        """Cancel the consumers of a queue, or all, by basic.cancel."""
        with self._lock:
            for peer in list(self._peers):
                for channel in list(peer.channels.values()):
                    for subscription in list(channel.subscriptions.values()):
                        if queue in (None, subscription.queue.name):
                            peer.cancel_consumers(channel.session.number, subscription.consumer.tag)
            self._node.flush()
        self._server.wake()

    # ---- faults ----

    def on(
        self,
        name: str,
        n: int = 1,
        *,
        sender: Sender | None = None,
        connection: int | None = None,
    ) -> Place:
        """The n-th frame of a name from now on, where something is to go wrong.

        Args:
            name: of a method, as "basic.publish", or "header", "body", "heartbeat",
                "protocol-header".
            n: which one, from 1.
            sender: "client" or "server"; None for both.
            connection: number of the connection, from 1; None for any.

        Raises:
            ValueError: no frame has that name, or n is below 1.
        """
        return Place(self._add_fault, name, n, sender, connection)

    def _add_fault(self, fault: Fault) -> Fault:
        with self._lock:
            return self._node.faults.add(fault)

    def every_frame(
        self,
        fault: Literal["reset", "eof", "freeze"] = "reset",
        *,
        sender: Sender | None = None,
        most: int = 10_000,
    ) -> Iterator[Point]:
        """Run the body of a loop once for each frame of it: there the fault happens.

        Before each run the broker is `reset`. The last run is the one in which the fault's place is
        not reached any more. Heartbeats are no places::

            for point in broker.every_frame():
                run_my_service_once(broker.url)
                broker.published("orders", timeout=5)

        Args:
            fault: what happens: see `Place`.
            sender: whose frames are places; None for those of both sides.
            most: AssertionError after so many runs.
        """

        def arm(number: int) -> Fault:
            place = Place(self._add_fault, None, number, sender, None)
            made: Fault = getattr(place, fault)()
            return made

        for number, armed in sweep(self.reset, arm, most):
            yield Point(number, armed)

    def nack_next(self, n: int = 1) -> None:
        """Do not take the next n publications with confirms; nack them."""
        with self._lock:
            self._node.confirm_plan.extend(["nack"] * n)

    def drop_confirm(self, n: int = 1) -> None:
        """Take the next n publications with confirms, and never confirm them."""
        with self._lock:
            self._node.confirm_plan.extend(["drop"] * n)

    def coalesce_confirms(self, coalesce: bool = True) -> None:
        """Confirm publications that come together by one basic.ack with multiple."""
        with self._lock:
            self._node.coalesce_confirms = coalesce

    def block(self, reason: str = "low on memory") -> None:
        """Run short of a resource: a connection that publishes gets connection.blocked.

        The broker reads nothing more of it until `unblock`.

        As with RabbitMQ, the first publication still counts, and connections that only consume are
        not concerned.
        """
        with self._lock:
            self._node.alarm = reason

    def unblock(self) -> None:
        """The end of `block`."""
        with self._lock:
            self._node.alarm = None
            for peer in list(self._peers):
                peer.unblock()
            self._node.flush()
        self._server.wake()

    def thaw(self) -> None:
        """The end of all `Place.freeze`."""
        with self._lock:
            for peer in list(self._peers):
                peer.wire.thaw()
            self._node.flush()
        self._server.wake()

    def refuse_connections(self) -> None:
        """Stop listening: clients see that the connection is refused. Others stay."""
        with self._lock:
            self._server.refuse()

    def accept_connections(self) -> None:
        """Listen again, at the same port."""
        with self._lock:
            self._server.listen()

    def end_next_connections(self, n: int = 1) -> None:
        """Accept the next n connections and close them at once, as proxies before a dead broker."""
        with self._lock:
            self._rejected_connections += n

    # ---- what a test asks ----

    def published(
        self,
        name: str | None = None,
        *,
        n: int | None = 1,
        timeout: float = 5.0,
    ) -> list[Publication]:
        """The publications since the start or `reset`, in order.

        Args:
            name: of an exchange that they were published to, or of a queue that they reached or
                named as routing key of the default exchange; None for all.
            n: how many there have to be: the call waits for the last one. None: however many.
            timeout: seconds to wait.

        Raises:
            AssertionError: other than n; with the transcript.
        """

        def fits(one: Publication) -> bool:
            to_queue = name in one.queues or (not one.exchange and one.routing_key == name)
            return name is None or one.exchange == name or to_queue

        return self._wait(
            f"published({name!r})",
            lambda: [one for one in self._node.publications if fits(one)],
            n,
            timeout,
        )

    def messages(
        self,
        queue: str,
        *,
        n: int | None = None,
        timeout: float = 5.0,
        virtual_host: str = "/",
    ) -> list[StoredMessage]:
        """The messages that wait in a queue, as they will be delivered. Arguments as `published`.

        Raises:
            AssertionError: there is no such queue, or other than n messages.
        """

        def sample() -> list[StoredMessage]:
            found = self._host(virtual_host).queues.get(queue)
            return [] if found is None else [_stored(found, one) for one in found.messages()]

        result = self._wait(f"messages({queue!r})", sample, n, timeout)
        if queue not in self._host(virtual_host).queues:
            raise self._failure(f"messages({queue!r}): there is no such queue")
        return result

    def unacked(
        self, queue: str | None = None, *, n: int | None = None, timeout: float = 5.0
    ) -> list[StoredMessage]:
        """The messages that clients have and have not acknowledged. Arguments as `published`.

        Raises:
            AssertionError: other than n.
        """

        def sample() -> list[StoredMessage]:
            return [
                _stored(one.queue, one.stored)
                for peer in self._peers
                for channel in peer.channels.values()
                for one in channel.unacked.values()
                if queue in (None, one.queue.name)
            ]

        return self._wait(f"unacked({queue!r})", sample, n, timeout)

    def consumers(
        self, queue: str | None = None, *, n: int | None = None, timeout: float = 5.0
    ) -> list[ConsumerInfo]:
        """The consumers of a queue, or all. Arguments as `published`.

        Raises:
            AssertionError: other than n.
        """

        def sample() -> list[ConsumerInfo]:
            return [
                ConsumerInfo(
                    one.queue.name,
                    one.consumer.tag,
                    one.consumer.no_ack,
                    one.exclusive,
                    one.priority,
                    one.prefetch,
                    peer.wire.number,
                    channel.session.number,
                )
                for peer in self._peers
                for channel in peer.channels.values()
                for one in channel.subscriptions.values()
                if queue in (None, one.queue.name)
            ]

        return self._wait(f"consumers({queue!r})", sample, n, timeout)

    def bindings(
        self,
        name: str | None = None,
        *,
        n: int | None = None,
        timeout: float = 5.0,
        virtual_host: str = "/",
    ) -> list[Binding]:
        """The bindings of an exchange or queue, or all; none of the default exchange.

        Raises:
            AssertionError: other than n. Arguments as `published`.
        """

        def sample() -> list[Binding]:
            return [
                _binding(exchange.name, route)
                for exchange in self._host(virtual_host).exchanges.values()
                for route in exchange.routes
                if name in (None, exchange.name, route.destination.name)
            ]

        return self._wait(f"bindings({name!r})", sample, n, timeout)

    def queues(
        self, *, n: int | None = None, timeout: float = 5.0, virtual_host: str = "/"
    ) -> list[str]:
        """The names of the queues. Arguments as `published`.

        Raises:
            AssertionError: other than n.
        """
        return self._wait("queues()", lambda: list(self._host(virtual_host).queues), n, timeout)

    def connections(self, *, n: int | None = None, timeout: float = 5.0) -> list[int]:
        """The numbers of the connections that are open. Arguments as `published`.

        Raises:
            AssertionError: other than n.
        """
        return self._wait(
            "connections()",
            lambda: [peer.wire.number for peer in self._peers if peer.session.is_open],
            n,
            timeout,
        )

    def channels(self, *, n: int | None = None, timeout: float = 5.0) -> list[tuple[int, int]]:
        """The channels that are open, as (connection, channel). Arguments as `published`.

        Raises:
            AssertionError: other than n.
        """
        return self._wait(
            "channels()",
            lambda: [
                (peer.wire.number, number) for peer in self._peers for number in peer.channels
            ],
            n,
            timeout,
        )

    def assert_idle(self, *, timeout: float = 5.0) -> None:
        """Wait until nothing is open: no unacknowledged message, channel or connection.

        Raises:
            AssertionError: something is; with the transcript.
        """
        self.unacked(n=0, timeout=timeout)
        self.channels(n=0, timeout=timeout)
        self.connections(n=0, timeout=timeout)

    def transcript(
        self,
        name: str | None = None,
        *,
        sender: Sender | None = None,
        connection: int | None = None,
    ) -> list[TranscriptEntry]:
        """The frames of all connections in order, and what happened to these; ``str()`` of each
        is a line to read.

        Args:
            name: only frames of that name, as "basic.publish".
            sender: only those of "client" or "server".
            connection: only those of one connection.
        """
        with self._lock:
            entries = list(self._node.transcript.entries)
        return [
            one
            for one in entries
            if name in (None, one.name)
            and sender in (None, one.sender)
            and connection in (None, one.connection)
        ]

    # ---- waiting ----

    def _wait(
        self, what: str, sample: Callable[[], list[T]], n: int | None, timeout: float
    ) -> list[T]:
        deadline = time.monotonic() + timeout
        with self._server.changed:
            while True:
                if self._server.error is not None:
                    raise RuntimeError("the broker's thread has failed") from self._server.error
                result = sample()
                if n is None or len(result) == n:
                    return result
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                if _in_event_loop():
                    raise RuntimeError(
                        f"{what} would wait in the thread of a running event loop, where the "
                        "client could not go on: await broker.aio."
                        f"{what.partition('(')[0]}(...) instead"
                    )
                self._server.changed.wait(left)
        shown = "".join(f"\n  {one}" for one in result[:20])
        raise self._failure(
            f"{what}: expected {n}, there {'is' if len(result) == 1 else 'are'} {len(result)} "
            f"after {timeout:g} s{shown}"
        )

    def _failure(self, text: str) -> AssertionError:
        with self._lock:
            transcript = self._node.transcript.text(_SHOWN_FRAMES)
        return AssertionError(f"{text}\n\nTranscript (-> client, <- broker):\n{transcript}")


class AsyncAsserts:
    """The asserts of a Broker for asyncio: the same names and arguments, to be awaited.

    They wait in a thread, so that clients of the event loop go on.
    """

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    async def published(
        self, name: str | None = None, *, n: int | None = 1, timeout: float = 5.0
    ) -> list[Publication]:
        """See `Broker.published`."""
        return await asyncio.to_thread(self._broker.published, name, n=n, timeout=timeout)

    async def messages(
        self, queue: str, *, n: int | None = None, timeout: float = 5.0, virtual_host: str = "/"
    ) -> list[StoredMessage]:
        """See `Broker.messages`."""
        return await asyncio.to_thread(
            self._broker.messages, queue, n=n, timeout=timeout, virtual_host=virtual_host
        )

    async def unacked(
        self, queue: str | None = None, *, n: int | None = None, timeout: float = 5.0
    ) -> list[StoredMessage]:
        """See `Broker.unacked`."""
        return await asyncio.to_thread(self._broker.unacked, queue, n=n, timeout=timeout)

    async def consumers(
        self, queue: str | None = None, *, n: int | None = None, timeout: float = 5.0
    ) -> list[ConsumerInfo]:
        """See `Broker.consumers`."""
        return await asyncio.to_thread(self._broker.consumers, queue, n=n, timeout=timeout)

    async def bindings(
        self,
        name: str | None = None,
        *,
        n: int | None = None,
        timeout: float = 5.0,
        virtual_host: str = "/",
    ) -> list[Binding]:
        """See `Broker.bindings`."""
        return await asyncio.to_thread(
            self._broker.bindings, name, n=n, timeout=timeout, virtual_host=virtual_host
        )

    async def queues(
        self, *, n: int | None = None, timeout: float = 5.0, virtual_host: str = "/"
    ) -> list[str]:
        """See `Broker.queues`."""
        return await asyncio.to_thread(
            self._broker.queues, n=n, timeout=timeout, virtual_host=virtual_host
        )

    async def connections(self, *, n: int | None = None, timeout: float = 5.0) -> list[int]:
        """See `Broker.connections`."""
        return await asyncio.to_thread(self._broker.connections, n=n, timeout=timeout)

    async def channels(
        self, *, n: int | None = None, timeout: float = 5.0
    ) -> list[tuple[int, int]]:
        """See `Broker.channels`."""
        return await asyncio.to_thread(self._broker.channels, n=n, timeout=timeout)

    async def assert_idle(self, *, timeout: float = 5.0) -> None:
        """See `Broker.assert_idle`."""
        await asyncio.to_thread(self._broker.assert_idle, timeout=timeout)


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _stored(queue: Queue, stored: Stored) -> StoredMessage:
    content = stored.content
    return StoredMessage(
        queue.name,
        content.exchange,
        content.routing_key,
        content.properties,
        content.body,
        stored.redelivered,
    )


def _binding(source: str, route: Route) -> Binding:
    to = route.destination
    return Binding(source, to.name, route.routing_key, route.arguments, not isinstance(to, Queue))
