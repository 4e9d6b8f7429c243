"""A virtual host: its exchanges and queues, and the way of a message through them."""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable
from typing import Any

from ._arguments import (
    EXCHANGE_ARGUMENTS,
    QUEUE_ARGUMENTS,
    QueueOptions,
    alternate_of,
    arguments_of,
    binding_arguments,
    check_modelled,
    inequivalent,
    type_name,
)
from ._clock import Clock
from ._dead_letters import dead_lettered, is_cycle
from ._exchanges import EXCHANGE_TYPES, Exchange, Route
from ._profiles import Profile
from ._queues import Content, Queue, Stored
from ._refusals import Refusal

__all__ = ["VirtualHost", "copies"]


class VirtualHost:
    """What is declared under one name."""

    def __init__(self, name: str, profile: Profile, clock: Clock) -> None:
        self.name = name
        self.profile = profile
        self.clock = clock
        self.queues: dict[str, Queue] = {}
        self.exchanges: dict[str, Exchange] = {"": Exchange("", "direct")}
        for kind in EXCHANGE_TYPES:
            self.exchanges[f"amq.{kind}"] = Exchange(f"amq.{kind}", kind)
        self.exchanges["amq.match"] = Exchange("amq.match", "headers")
        self._letters: deque[tuple[Queue, Stored, str]] = deque()
        self._letters_wait = False
        #: Called with each queue that is deleted.
        self.on_delete: Callable[[Queue], None] = lambda queue: None

    # ---- queues ----

    def queue_text(self, name: str) -> str:
        """A queue in texts."""
        return f"queue '{name}' in vhost '{self.name}'"

    def exchange_text(self, name: str) -> str:
        """An exchange in texts."""
        return f"exchange '{name}' in vhost '{self.name}'"

    def queue(self, name: str, owner: object) -> Queue:
        """A queue that exists and is free for a connection.

        Raises:
            Refusal: 404 or 405.
        """
        queue = self.queues.get(name)
        if queue is None:
            raise Refusal(404, f"no {self.queue_text(name)}")
        self._check_owner(queue, owner)
        return queue

    def _check_owner(self, queue: Queue, owner: object) -> None:
        if queue.owner not in (None, owner):
            raise Refusal(405, self._locked(queue.name))

    def _locked(self, name: str) -> str:
        return (
            f"cannot obtain exclusive access to locked {self.queue_text(name)}. It could be "
            "originally declared on another connection or the exclusive property value does not "
            "match that of the original declaration."
        )

    def declare_queue(
        self,
        name: str,
        owner: object,
        *,
        durable: bool = False,
        exclusive: bool = False,
        auto_delete: bool = False,
        arguments: dict[str, Any] | None = None,
    ) -> Queue:
        """Make a queue, or find it as it was declared; "" makes a name.

        Raises:
            Refusal: 403, 405, 406, 541.
        """
        durable = durable and not exclusive  # in RabbitMQ, too, an exclusive queue is not durable
        arguments = dict(arguments or {})
        if name.startswith("amq."):
            raise Refusal(403, f"queue name '{name}' contains reserved prefix 'amq.*'")
        if not name and arguments.get("x-queue-type") == "quorum":
            text = "Cannot declare a server-named queue for type rabbit_quorum_queue"
            raise Refusal(406, text)
        name = name or f"amq.gen-{secrets.token_urlsafe(16)}"
        where = self.queue_text(name)
        existing = self.queues.get(name)
        if existing is not None:
            check_modelled(arguments, QUEUE_ARGUMENTS, where)
            self._check_equivalent(existing, owner, durable, exclusive, auto_delete, arguments)
            existing.touch()
            return existing
        options = QueueOptions.parse(arguments, where)
        if options.queue_type == "quorum":
            for property_name, wrong in (
                ("exclusive-owner", exclusive),
                ("non-durable", not durable),
                ("auto-delete", auto_delete),
            ):
                if wrong:
                    raise Refusal(406, f"invalid property '{property_name}' for {where}")
        if not (durable or exclusive or self.profile.transient_queues):
            raise Refusal(541, "Feature `transient_nonexcl_queues` is deprecated.")
        queue = Queue(
            name,
            durable=durable,
            auto_delete=auto_delete,
            owner=owner if exclusive else None,
            arguments=arguments,
            options=options,
            clock=self.clock,
            dead_letter=self.dead_letter,
            expire=self.delete_queue,
        )
        self.queues[queue.name] = queue
        return queue

    def _check_equivalent(
        self,
        queue: Queue,
        owner: object,
        durable: bool,
        exclusive: bool,
        auto_delete: bool,
        arguments: dict[str, Any],
    ) -> None:
        self._check_owner(queue, owner)
        if exclusive != (queue.owner is not None):
            raise Refusal(405, self._locked(queue.name))
        where = self.queue_text(queue.name)
        pairs: list[tuple[str, Any, Any]] = [
            ("durable", durable, queue.durable),
            ("auto_delete", auto_delete, queue.auto_delete),
        ]
        names = arguments_of(queue.options.queue_type)
        pairs += [(key, arguments.get(key), queue.arguments.get(key)) for key in names]
        for key, received, current in pairs:
            refusal = inequivalent(key, where, received, current)
            if refusal is not None:
                raise refusal

    def delete_queue(self, queue: Queue) -> int:
        """Delete a queue; how many messages were in it. Its consumers are cancelled."""
        if self.queues.get(queue.name) is not queue:
            return 0
        del self.queues[queue.name]
        queue.close()
        self._forget_destination(queue)
        subscribers = sorted(queue.subscribers, key=lambda one: one.tag)  # RabbitMQ's order
        queue.subscribers.clear()
        for subscriber in subscribers:
            subscriber.cancel()
        self.on_delete(queue)
        return queue.ready

    # ---- exchanges ----

    def exchange(self, name: str) -> Exchange:
        """An exchange that exists.

        Raises:
            Refusal: 404.
        """
        if name not in self.exchanges:
            raise Refusal(404, f"no {self.exchange_text(name)}")
        return self.exchanges[name]

    def declare_exchange(
        self,
        name: str,
        kind: str,
        *,
        durable: bool = False,
        auto_delete: bool = False,
        internal: bool = False,
        arguments: dict[str, Any] | None = None,
    ) -> Exchange:
        """Make an exchange, or find it as it was declared.

        Raises:
            Refusal: 403, 406, 503.
        """
        where = self.exchange_text(name)
        if kind not in EXCHANGE_TYPES:
            raise Refusal(503, f"unknown exchange type '{kind}'")
        self.check_not_default(name)
        arguments = dict(arguments or {})
        check_modelled(arguments, EXCHANGE_ARGUMENTS, where)
        existing = self.exchanges.get(name)
        if existing is not None:
            for key, received, current in (
                ("type", kind, existing.type),
                ("durable", durable, existing.durable),
                ("auto_delete", auto_delete, existing.auto_delete),
                ("internal", internal, existing.internal),
                ("alternate-exchange", arguments.get("alternate-exchange"), existing.alternate),
            ):
                refusal = inequivalent(key, where, received, current)
                if refusal is not None:
                    raise refusal
            return existing
        if name.startswith("amq."):
            raise Refusal(403, f"exchange name '{name}' contains reserved prefix 'amq.*'")
        alternate = alternate_of(arguments, where)
        exchange = Exchange(name, kind, durable, auto_delete, internal, alternate)
        self.exchanges[name] = exchange
        return exchange

    def check_not_default(self, name: str) -> None:
        """Refuse what the default exchange does not permit.

        Raises:
            Refusal: 403.
        """
        if not name:
            raise Refusal(403, "operation not permitted on the default exchange")

    def delete_exchange(self, exchange: Exchange) -> None:
        """Delete an exchange and its bindings, as source and as destination."""
        if self.exchanges.get(exchange.name) is exchange:
            del self.exchanges[exchange.name]
            exchange.routes.clear()
            self._forget_destination(exchange)

    # ---- bindings ----

    def source(self, name: str) -> Exchange:
        """An exchange that a binding may begin at.

        Raises:
            Refusal: 403, 404.
        """
        self.check_not_default(name)
        return self.exchange(name)

    def bind(
        self, source: Exchange, destination: Queue | Exchange, routing_key: str, arguments: Any
    ) -> None:
        """Add a binding; one that is there already is left as it is.

        Raises:
            Refusal: 406.
        """
        table = binding_arguments(source.type, dict(arguments), self.exchange_text(source.name))
        route = Route(routing_key, table, destination)
        if not any(route.is_same(other) for other in source.routes):
            source.routes.append(route)

    def unbind(
        self,
        source: str,
        destination: Queue | Exchange,
        routing_key: str,
        arguments: Any,
        owner: object,
    ) -> None:
        """Remove a binding; one that is not there is no mistake, nor is a missing source.

        Raises:
            Refusal: 405: there is one, and its queue is another connection's.
        """
        exchange = self.exchanges.get(source)
        route = Route(routing_key, dict(arguments), destination)
        if exchange is None or not any(map(route.is_same, exchange.routes)):
            return
        if isinstance(destination, Queue):
            self._check_owner(destination, owner)
        exchange.routes = [other for other in exchange.routes if not route.is_same(other)]
        self._delete_if_unbound(exchange)

    def _forget_destination(self, destination: Queue | Exchange) -> None:
        for exchange in list(self.exchanges.values()):
            before = len(exchange.routes)
            exchange.routes = [
                route for route in exchange.routes if route.destination is not destination
            ]
            if len(exchange.routes) < before:
                self._delete_if_unbound(exchange)

    def _delete_if_unbound(self, exchange: Exchange) -> None:
        if exchange.auto_delete and not exchange.routes:
            self.delete_exchange(exchange)

    # ---- messages ----

    def route(self, content: Content) -> list[Queue]:
        """The queues that a message goes to, once each.

        Raises:
            Refusal: 404: no such exchange.
        """
        headers = content.properties.headers or {}
        keys = [content.routing_key, *copies(headers, "CC"), *copies(headers, "BCC"), *content.bcc]
        if not content.exchange:
            return [self.queues[key] for key in dict.fromkeys(keys) if key in self.queues]
        queues: dict[str, Queue] = {}
        waiting = [self.exchange(content.exchange)]
        visited: set[str] = set()
        while waiting:
            exchange = waiting.pop(0)
            if exchange.name in visited:
                continue
            visited.add(exchange.name)
            destinations = [one for key in keys for one in exchange.matches(key, headers)]
            if not destinations and exchange.alternate in self.exchanges:
                destinations = [self.exchanges[exchange.alternate]]
            for destination in destinations:
                if isinstance(destination, Queue):
                    queues[destination.name] = destination
                else:
                    waiting.append(destination)
        return list(queues.values())

    def publish(self, content: Content) -> tuple[list[Queue], bool]:
        """Put a message into its queues.

        Returns:
            the queues, and whether one of them refused it.

        Raises:
            Refusal: 404: no such exchange.
        """
        queues = self.route(content)
        content = content.without_bcc()
        self._letters_wait = True
        try:
            accepted = [queue.put(content) for queue in queues]
        finally:
            self._letters_wait = False
        self._deliver_letters()
        return queues, not all(accepted)

    def dead_letter(self, queue: Queue, stored: Stored, reason: str) -> None:
        """A message is over for its queue: it goes to the dead-letter exchange, if there is one.

        After the publication that pushed it out, as in RabbitMQ, where queues work on their own.
        """
        self._letters.append((queue, stored, reason))
        if not self._letters_wait:
            self._deliver_letters()

    def _deliver_letters(self) -> None:
        self._letters_wait = True
        try:
            while self._letters:
                self._deliver_letter(*self._letters.popleft())
        finally:
            self._letters_wait = False

    def _deliver_letter(self, queue: Queue, stored: Stored, reason: str) -> None:
        if queue.options.dead_letter_exchange is None:
            return
        content = dead_lettered(queue, stored.content, reason, self.clock.wall())
        if content.exchange not in self.exchanges:
            return  # RabbitMQ drops it and writes a line to its log
        for target in self.route(content):
            if reason == "rejected" or not is_cycle(content, target):
                target.put(content)

    def restart(self) -> None:
        """Forget what does not survive a restart of the broker."""
        for queue in list(self.queues.values()):
            if queue.durable and queue.owner is None:
                queue.restart()
            else:
                self.delete_queue(queue)
        for exchange in list(self.exchanges.values()):
            if not exchange.durable:
                self.delete_exchange(exchange)


def copies(headers: dict[str, Any], name: str) -> list[str]:
    """Other routing keys of a message, by CC or BCC: RabbitMQ's sender-selected distribution.

    Raises:
        Refusal: 406: the header is no list.
    """
    if name not in headers:
        return []
    value = headers[name]
    if not isinstance(value, list):
        kind = type_name(value)
        raise Refusal(406, f'invalid message: {{unacceptable_type_in_header,"{name}",{kind}}}')
    return [key for key in value if isinstance(key, str)]
