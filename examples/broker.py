"""A broker in memory, for tests and to look at: exchanges, queues, consumers, confirms.

`python examples/broker.py [PORT]` serves 0-9-1 on 127.0.0.1 with the login guest, guest. Messages
are gone when it ends; there are no policies, no transactions and no clusters.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from amqpcodec import v0_9_1 as amqp
from amqpcodec.session import (
    Acknowledged,
    ChannelClosed,
    Connection,
    Event,
    LoginRequested,
    MethodReceived,
    OpenRequested,
    Published,
    Rejected,
    RemoteProtocolError,
    Requested,
)

USERS = {"guest": "guest"}


class Refused(Exception):
    """A request that cannot be met, and the reply code that says so."""

    def __init__(self, reply_code: int, text: str) -> None:
        super().__init__(text)
        self.reply_code = reply_code


@dataclass(eq=False)
class Stored:
    """A message in a queue."""

    message: Any
    position: int
    redelivered: bool = False


@dataclass(eq=False)
class Queue:
    """Messages that wait, and the consumers that take turns at them."""

    name: str
    owner: Peer | None
    auto_delete: bool
    ready: deque[Stored] = field(default_factory=deque)
    consumers: deque[tuple[Peer, Any]] = field(default_factory=deque)
    count: int = 0

    def put(self, message: Any) -> None:
        """A message comes in."""
        self.count += 1
        self.ready.append(Stored(message, self.count))

    def put_back(self, stored: Stored) -> None:
        """A message was refused: it goes where it was, among those that wait."""
        stored.redelivered = True
        later = (at for at, one in enumerate(self.ready) if one.position > stored.position)
        self.ready.insert(next(later, len(self.ready)), stored)


@dataclass(eq=False)
class Exchange:
    """A name, a type, and bindings: (routing key, arguments, queue or exchange)."""

    name: str
    type: str
    bindings: list[tuple[str, dict[str, Any], Queue | Exchange]] = field(default_factory=list)

    def routes(self, key: str, headers: dict[str, Any]) -> list[Queue | Exchange]:
        """Where a message goes."""
        return [
            to
            for bound, arguments, to in self.bindings
            if self._fits(bound, arguments, key, headers)
        ]

    def _fits(
        self, bound: str, arguments: dict[str, Any], key: str, headers: dict[str, Any]
    ) -> bool:
        if self.type == "fanout":
            return True
        if self.type == "topic":
            return topic_fits(bound.split("."), key.split("."))
        if self.type == "headers":
            expected = {name: one for name, one in arguments.items() if not name.startswith("x-")}
            matches = [headers.get(name) == one for name, one in expected.items()]
            return any(matches) if arguments.get("x-match") == "any" else all(matches)
        return bound == key


def topic_fits(pattern: list[str], words: list[str]) -> bool:
    """Whether a topic fits: * is one word, # is any number."""
    fits = [True] + [False] * len(words)
    for part in pattern:
        before, fits = fits, [part == "#" and fits[0]] + [False] * len(words)
        for at, word in enumerate(words, 1):
            if part == "#":
                fits[at] = before[at] or fits[at - 1]
            else:
                fits[at] = before[at - 1] and (part == "*" or part == word)
    return fits[-1]


class Broker:
    """What all connections share."""

    def __init__(self) -> None:
        self.queues: dict[str, Queue] = {}
        self.exchanges = {"": Exchange("", "direct")}
        for kind in ("direct", "fanout", "topic", "headers"):
            self.exchanges[f"amq.{kind}"] = Exchange(f"amq.{kind}", kind)
        self.names = itertools.count(1)
        self._server: asyncio.Server | None = None

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Listen; the port."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Peer(self), host, port)
        number: int = self._server.sockets[0].getsockname()[1]
        return number

    def queue(self, name: str, peer: Peer) -> Queue:
        """A queue that is there and free for this connection."""
        target = self.queues.get(name)
        if target is None:
            raise Refused(404, f"no queue '{name}' in vhost '/'")
        if target.owner not in (None, peer):
            raise Refused(405, f"queue '{name}' belongs to another connection")
        return target

    def exchange(self, name: str) -> Exchange:
        """An exchange that is there."""
        if name not in self.exchanges:
            raise Refused(404, f"no exchange '{name}' in vhost '/'")
        return self.exchanges[name]

    def route(self, message: Any) -> list[Queue]:
        """The queues that a message goes to, each once."""
        method, headers = message.method, message.properties.headers or {}
        if not method.exchange:
            return [self.queues[method.routing_key]] if method.routing_key in self.queues else []
        queues: dict[str, Queue] = {}
        todo, visited = [self.exchange(method.exchange)], set()
        while todo:
            exchange = todo.pop()
            if exchange.name in visited:
                continue
            visited.add(exchange.name)
            for to in exchange.routes(method.routing_key, headers):
                if isinstance(to, Queue):
                    queues[to.name] = to
                else:
                    todo.append(to)
        return list(queues.values())

    def feed(self, queue: Queue) -> None:
        """Deliver what waits to consumers that have room, in turn."""
        idle = 0
        while queue.ready and idle < len(queue.consumers):
            peer, consumer = queue.consumers[0]
            queue.consumers.rotate(-1)
            if peer.has_room(consumer):
                peer.deliver(consumer, queue, queue.ready.popleft())
                idle = 0
            else:
                idle += 1

    def drop(self, queue: Queue) -> int:
        """Delete a queue; its consumers are told. How many messages were in it."""
        del self.queues[queue.name]
        for exchange in self.exchanges.values():
            exchange.bindings = [one for one in exchange.bindings if one[2] is not queue]
        for peer, consumer in queue.consumers:
            if consumer.active:
                consumer.channel.cancel(consumer.tag, no_wait=True)
                peer.flush()
        return len(queue.ready)


class Peer(asyncio.Protocol):
    """One client."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.session = Connection("server")
        self.prefetch: dict[int, int] = {}
        #: (channel, tag) -> what is to be acknowledged.
        self.unsettled: dict[tuple[int, int], tuple[Queue, Stored]] = {}

    # ---- the line ----

    def connection_made(self, transport: Any) -> None:
        """Remember where to send; the client speaks first."""
        self.transport = transport
        self._beat()

    def data_received(self, data: bytes) -> None:
        """Act on what the session makes of it."""
        try:
            events = self.session.receive_data(data)
        except RemoteProtocolError as error:
            events = error.events
        self._act(events)

    def connection_lost(self, exc: Exception | None) -> None:
        """Give back what was not acknowledged; delete what was exclusive."""
        self._timer.cancel()
        self._act(self.session.receive_eof())
        for queue in [one for one in self.broker.queues.values() if one.owner is self]:
            self.broker.drop(queue)

    def flush(self) -> None:
        """Send what waits."""
        self.transport.writelines(self.session.buffers_to_send())
        if self.session.closed:
            self.transport.close()

    def _beat(self) -> None:
        loop = asyncio.get_running_loop()
        self._act(self.session.handle_timeout(loop.time()))
        when = self.session.next_timeout(loop.time())
        self._timer = loop.call_at(when or loop.time() + 1, self._beat)

    def _act(self, events: list[Event]) -> None:
        for event in events:
            match event:
                case LoginRequested(_, name, password):
                    if name is not None and USERS.get(name) == password:
                        self.session.accept_login()
                    else:
                        self.session.refuse_login(f"login of '{name}' was refused")
                case OpenRequested(virtual_host):
                    if virtual_host == "/":
                        self.session.accept_open()
                    else:
                        self.session.refuse_open(530, f"vhost {virtual_host} not found")
                case Requested(channel, request):
                    self._request(channel, request)
                case Published(channel, message, tag):
                    self._publish(channel, message, tag)
                case Acknowledged(channel, tags):
                    self._settle(channel, tags, requeue=None)
                case Rejected(channel, tags, requeue):
                    self._settle(channel, tags, requeue=requeue)
                case MethodReceived(channel, amqp.Basic.RecoverAsync()):
                    self._give_back(channel)
                case ChannelClosed(channel):
                    self._forget(channel)
        self.flush()

    # ---- requests: one method each, named after the protocol's ----

    def _request(self, channel: Any, request: Any) -> None:
        method = request.method
        handler = getattr(self, "_" + method.NAME.replace(".", "_").replace("-", "_"), None)
        try:
            if handler is None:
                raise Refused(540, f"{method.NAME} is not implemented")
            reply, *content = handler(channel, method, request)
        except Refused as error:
            text = self.session.reply_text(error.reply_code, str(error))
            end = self.session if error.reply_code >= 500 else channel
            end.close(error.reply_code, text, method)
            return
        if request.expects_response and reply is not None:
            request.respond(reply, *content)
        self._after(channel, method, request)

    def _after(self, channel: Any, method: Any, request: Any) -> None:
        """A consumer begins once its reply is out."""
        if isinstance(method, amqp.Basic.Consume):
            queue = self.broker.queues[method.queue]
            queue.consumers.append((self, request.consumer))
            request.consumer.context = queue
            self.broker.feed(queue)
        elif isinstance(method, amqp.Basic.Recover):
            self._give_back(channel)

    def _exchange_declare(self, channel: Any, method: Any, request: Any) -> Any:
        exchange = self.broker.exchanges.get(method.exchange)
        if exchange is None and method.passive:
            raise Refused(404, f"no exchange '{method.exchange}' in vhost '/'")
        if exchange is not None and not method.passive and exchange.type != method.type:
            raise Refused(406, f"exchange '{method.exchange}' has the type '{exchange.type}'")
        if method.type not in ("direct", "fanout", "topic", "headers") and not method.passive:
            raise Refused(503, f"unknown exchange type '{method.type}'")
        if exchange is None:
            self.broker.exchanges[method.exchange] = Exchange(method.exchange, method.type)
        return (amqp.Exchange.DeclareOk(),)

    def _exchange_delete(self, channel: Any, method: Any, request: Any) -> Any:
        exchange = self.broker.exchange(method.exchange)
        if method.if_unused and exchange.bindings:
            raise Refused(406, f"exchange '{exchange.name}' is in use")
        del self.broker.exchanges[exchange.name]
        return (amqp.Exchange.DeleteOk(),)

    def _bind(self, source: str, key: str, arguments: Any, to: Queue | Exchange, on: bool) -> None:
        exchange = self.broker.exchange(source)
        binding = (key, arguments, to)
        if on and binding not in exchange.bindings:
            exchange.bindings.append(binding)
        elif not on:
            exchange.bindings = [one for one in exchange.bindings if one != binding]

    def _exchange_bind(self, channel: Any, method: Any, request: Any) -> Any:
        to = self.broker.exchange(method.destination)
        self._bind(method.source, method.routing_key, dict(method.arguments), to, True)
        return (amqp.Exchange.BindOk(),)

    def _exchange_unbind(self, channel: Any, method: Any, request: Any) -> Any:
        to = self.broker.exchange(method.destination)
        self._bind(method.source, method.routing_key, dict(method.arguments), to, False)
        return (amqp.Exchange.UnbindOk(),)

    def _queue_declare(self, channel: Any, method: Any, request: Any) -> Any:
        broker = self.broker
        name = method.queue or f"amq.gen-{next(broker.names)}"
        if name not in broker.queues and not method.passive:
            owner = self if method.exclusive else None
            broker.queues[name] = Queue(name, owner, method.auto_delete)
        queue = broker.queue(name, self)
        return (amqp.Queue.DeclareOk(name, len(queue.ready), len(queue.consumers)),)

    def _queue_bind(self, channel: Any, method: Any, request: Any) -> Any:
        to = self.broker.queue(method.queue, self)
        self._bind(method.exchange, method.routing_key, dict(method.arguments), to, True)
        return (amqp.Queue.BindOk(),)

    def _queue_unbind(self, channel: Any, method: Any, request: Any) -> Any:
        to = self.broker.queue(method.queue, self)
        self._bind(method.exchange, method.routing_key, dict(method.arguments), to, False)
        return (amqp.Queue.UnbindOk(),)

    def _queue_purge(self, channel: Any, method: Any, request: Any) -> Any:
        queue = self.broker.queue(method.queue, self)
        count = len(queue.ready)
        queue.ready.clear()
        return (amqp.Queue.PurgeOk(count),)

    def _queue_delete(self, channel: Any, method: Any, request: Any) -> Any:
        if method.queue not in self.broker.queues:
            return (amqp.Queue.DeleteOk(0),)
        queue = self.broker.queue(method.queue, self)
        if (method.if_unused and queue.consumers) or (method.if_empty and queue.ready):
            raise Refused(406, f"queue '{queue.name}' is in use or not empty")
        return (amqp.Queue.DeleteOk(self.broker.drop(queue)),)

    def _basic_qos(self, channel: Any, method: Any, request: Any) -> Any:
        self.prefetch[channel.number] = method.prefetch_count
        return (amqp.Basic.QosOk(),)

    def _basic_consume(self, channel: Any, method: Any, request: Any) -> Any:
        self.broker.queue(method.queue, self)
        return (amqp.Basic.ConsumeOk(method.consumer_tag or f"amq.ctag-{next(self.broker.names)}"),)

    def _basic_cancel(self, channel: Any, method: Any, request: Any) -> Any:
        if request.consumer is not None:
            self._leave(request.consumer)
        return (amqp.Basic.CancelOk(method.consumer_tag),)

    def _basic_get(self, channel: Any, method: Any, request: Any) -> Any:
        queue = self.broker.queue(method.queue, self)
        if not queue.ready:
            return (amqp.Basic.GetEmpty(),)
        stored = queue.ready.popleft()
        tag = channel.deliveries.last + 1
        if not method.no_ack:
            self.unsettled[channel.number, tag] = (queue, stored)
        sent = stored.message.method
        get_ok = amqp.Basic.GetOk(
            tag, stored.redelivered, sent.exchange, sent.routing_key, len(queue.ready)
        )
        return get_ok, stored.message.properties, stored.message.body

    def _basic_recover(self, channel: Any, method: Any, request: Any) -> Any:
        return (amqp.Basic.RecoverOk(),)

    def _confirm_select(self, channel: Any, method: Any, request: Any) -> Any:
        return (amqp.Confirm.SelectOk(),)

    def _channel_flow(self, channel: Any, method: Any, request: Any) -> Any:
        return (amqp.Channel.FlowOk(method.active),)

    def _connection_update_secret(self, channel: Any, method: Any, request: Any) -> Any:
        return (amqp.Connection.UpdateSecretOk(),)

    # ---- messages ----

    def _publish(self, channel: Any, message: Any, tag: int | None) -> None:
        method = message.method
        try:
            queues = self.broker.route(message)
        except Refused as error:
            text = self.session.reply_text(error.reply_code, str(error))
            channel.close(error.reply_code, text, method)
            return
        if not queues and method.mandatory:
            back = amqp.Basic.Return(312, "NO_ROUTE", method.exchange, method.routing_key)
            channel.send(back, message.properties, message.body)
        for queue in queues:
            queue.put(message)
        if tag is not None:
            channel.ack(tag)
        for queue in queues:
            self.broker.feed(queue)

    def has_room(self, consumer: Any) -> bool:
        """Whether a consumer takes one more."""
        limit = self.prefetch.get(consumer.channel.number, 0)
        room = consumer.no_ack or not limit or len(consumer.channel.deliveries) < limit
        return consumer.active and consumer.channel.is_open and room

    def deliver(self, consumer: Any, queue: Queue, stored: Stored) -> None:
        """Send a message to a consumer."""
        channel, sent = consumer.channel, stored.message.method
        tag = channel.deliveries.last + 1
        if not consumer.no_ack:
            self.unsettled[channel.number, tag] = (queue, stored)
        deliver = amqp.Basic.Deliver(
            consumer.tag, tag, stored.redelivered, sent.exchange, sent.routing_key
        )
        channel.send(deliver, stored.message.properties, stored.message.body)
        self.flush()

    def _settle(self, channel: Any, tags: Sequence[int], requeue: bool | None) -> None:
        queues = {}
        for tag in reversed(tags):
            queue, stored = self.unsettled.pop((channel.number, tag))
            if requeue:
                queue.put_back(stored)
            queues[queue.name] = queue
        # Room in a channel's prefetch is room for all its consumers.
        for consumer in channel.consumers.values():
            if consumer.context is not None:
                queues[consumer.context.name] = consumer.context
        for queue in queues.values():
            self.broker.feed(queue)

    def _give_back(self, channel: Any) -> None:
        tags = sorted(tag for number, tag in self.unsettled if number == channel.number)
        self._settle(channel, tuple(tags), requeue=True)

    def _leave(self, consumer: Any) -> None:
        queue = consumer.context
        if queue is None:
            return
        queue.consumers = deque(one for one in queue.consumers if one[1] is not consumer)
        if queue.auto_delete and not queue.consumers and queue.name in self.broker.queues:
            self.broker.drop(queue)

    def _forget(self, channel: Any) -> None:
        """A channel is gone."""
        for consumer in channel.consumers.values():
            self._leave(consumer)
        self._give_back(channel)
        self.prefetch.pop(channel.number, None)


async def main(port: int = 5672) -> None:
    """Serve until it is interrupted."""
    print(f"listening on 127.0.0.1:{await Broker().start(port=port)}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:2])))
