"""Queues: messages in order, limits, times, and whose turn it is to get one."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

from ._arguments import QueueOptions
from ._clock import Clock, Timer

__all__ = ["Content", "DeadLetter", "Queue", "Stored", "Subscriber"]


@dataclass(frozen=True, slots=True)
class Content:
    """A message as it was published, or as dead-lettering changed it.

    Attributes:
        exchange, routing_key: where it was published to.
        properties: of basic content.
        body: its bytes.
        bcc: the routing keys of the header BCC, which receivers do not see.
    """

    exchange: str
    routing_key: str
    properties: Any
    body: bytes
    bcc: tuple[str, ...] = ()

    def without_bcc(self) -> Content:
        """As others get it: the header BCC is for the broker alone."""
        headers = self.properties.headers or {}
        if "BCC" not in headers:
            return self
        others = {name: value for name, value in headers.items() if name != "BCC"}
        keys = tuple(key for key in headers["BCC"] if isinstance(key, str))
        return replace(self, properties=self.properties.__replace__(headers=others), bcc=keys)


@dataclass(eq=False, slots=True)
class Stored:
    """A message in one queue.

    Attributes:
        position: its place: it returns there when it is requeued.
        priority: level in the queue.
        expires: when, on the clock; None for never.
        redelivered: whether it was delivered before.
        delivery_count: of a quorum queue: how often it came back, as it counts for the limit.
        acquired_count: the same, whatever it came back by.
    """

    content: Content
    position: int
    priority: int
    expires: float | None
    redelivered: bool = False
    delivery_count: int = 0
    acquired_count: int = 0


class Subscriber(Protocol):
    """A consumer as its queue sees it."""

    @property
    def priority(self) -> int:
        """The highest one is served first."""
        ...

    @property
    def tag(self) -> str:
        """Its name on its channel."""
        ...

    @property
    def has_room(self) -> bool:
        """Whether it takes one more message."""
        ...

    def deliver(self, stored: Stored) -> None:
        """Send it a message."""

    def cancel(self) -> None:
        """Tell its client that it is over."""


#: Called with the queue, a message that it drops, and the reason.
DeadLetter: TypeAlias = "Callable[[Queue, Stored, str], None]"


class Queue:
    """A queue.

    Attributes:
        name: unique in its virtual host.
        durable, exclusive, auto_delete, arguments, options: as declared.
        owner: the connection of an exclusive queue; None else.
        subscribers: its consumers, in the order of their turns.
        exclusive_subscriber: the one that asked to be alone, or None.
        holders: consumers, and messages got, with how many deliveries of each wait for an
            acknowledgement.
        was_consumed: whether it had a consumer: only then auto_delete counts.
    """

    def __init__(
        self,
        name: str,
        *,
        durable: bool,
        auto_delete: bool,
        owner: object | None,
        arguments: dict[str, Any],
        options: QueueOptions,
        clock: Clock,
        dead_letter: DeadLetter,
        expire: Callable[[Queue], object],
    ) -> None:
        self.name = name
        self.durable = durable
        self.auto_delete = auto_delete
        self.owner = owner
        self.arguments = arguments
        self.options = options
        self.subscribers: deque[Subscriber] = deque()
        self.exclusive_subscriber: Subscriber | None = None
        self.holders: Counter[object] = Counter()
        self.was_consumed = False
        self._clock = clock
        self._dead_letter = dead_letter
        self._expire = expire
        self._levels: dict[int, deque[Stored]] = {}
        self._count = 0
        self._ready_bytes = 0
        self._ready = 0
        self._ttl_timer: Timer | None = None
        self._expiry_timer: Timer | None = None
        self.touch()

    def __repr__(self) -> str:
        return f"Queue({self.name!r}, {self._ready} ready, {len(self.subscribers)} consumers)"

    # ---- messages ----

    @property
    def is_quorum(self) -> bool:
        """Whether it is a quorum queue."""
        return self.options.queue_type == "quorum"

    @property
    def ready(self) -> int:
        """How many messages wait to be delivered."""
        return self._ready

    @property
    def consumer_count(self) -> int:
        """How many consumers RabbitMQ says it has: a quorum queue counts who has its messages."""
        count = len(self.subscribers)
        if self.is_quorum:
            if self.options.single_active_consumer:
                count = min(count, 1)
            count += sum(one not in self.subscribers for one in self.holders)
        return count

    def hold(self, holder: object) -> None:
        """A consumer, or a message that was got, has one more delivery to acknowledge."""
        self.holders[holder] += 1

    def let_go(self, holder: object) -> None:
        """It has one less."""
        self.holders[holder] -= 1
        if not self.holders[holder]:
            del self.holders[holder]

    def messages(self) -> Iterator[Stored]:
        """The messages that wait, as they will be delivered."""
        for level in sorted(self._levels, reverse=True):
            yield from self._levels[level]

    def put(self, content: Content) -> bool:
        """Take a message, deliver what can be delivered, and drop what is too much.

        Returns:
            False where the queue is full and refuses.
        """
        options = self.options
        if options.overflow != "drop-head" and self._is_over(1, len(content.body)):
            if options.overflow == "reject-publish-dlx":
                self._dead_letter(self, Stored(content, 0, 0, None), "maxlen")
            return False
        self._count += 1
        priority = 0
        if options.max_priority is not None:
            priority = min(content.properties.priority or 0, options.max_priority)
        stored = Stored(content, self._count, priority, self._expires(content))
        self._levels.setdefault(priority, deque()).append(stored)
        self._add(stored)
        self.feed(fresh=stored)
        # RabbitMQ spares itself a look at times: a message that overtakes others by its priority
        # expires late.
        if self._drop_head() or self._ready == 1 or self.is_quorum:
            self._drop_expired()
        return True

    def trim(self) -> None:
        """Messages came back: drop what is too much, and what expired."""
        if self.is_quorum:
            self.feed()  # what is delivered at once counts no more
        self._drop_head()
        self._drop_expired()

    def _drop_head(self) -> bool:
        ready = self._ready
        while self.options.overflow == "drop-head" and self._ready and self._is_over(0, 0):
            self._dead_letter(self, self._pop(), "maxlen")
        return self._ready < ready

    def _is_over(self, messages: int, size: int) -> bool:
        options = self.options
        over = options.max_length is not None and self._ready + messages > options.max_length
        return over or (
            options.max_length_bytes is not None
            and self._ready_bytes + size > options.max_length_bytes
        )

    def _expires(self, content: Content) -> float | None:
        times = [] if self.options.message_ttl is None else [self.options.message_ttl]
        if content.properties.expiration is not None:
            times.append(int(content.properties.expiration) / 1000)
        return self._clock.now() + min(times) if times else None

    def _add(self, stored: Stored) -> None:
        self._ready += 1
        self._ready_bytes += len(stored.content.body)

    def requeue(self, stored: Stored, *, is_last: bool = False) -> None:
        """A message came back: it goes where it was, among those that wait.

        In a quorum queue before all that did not come back, in the order of coming back; or, where
        it is_last, behind all.
        """
        stored.redelivered = True
        self._add(stored)
        if self.is_quorum:
            self._levels.setdefault(0 if is_last else 1, deque()).append(stored)
            return
        level = self._levels.setdefault(stored.priority, deque())
        later = (place for place, one in enumerate(level) if one.position > stored.position)
        level.insert(next(later, len(level)), stored)

    def take(self) -> Stored | None:
        """The next message, or None; what expired is dropped, of a classic queue afterwards."""
        if self.is_quorum:
            self._drop_expired()
        stored = self._pop() if self._ready else None
        if not self.is_quorum:
            self._drop_expired()
        return stored

    def _pop(self) -> Stored:
        level = max(self._levels)
        messages = self._levels[level]
        stored = messages.popleft()
        if not messages:
            del self._levels[level]
        self._ready -= 1
        self._ready_bytes -= len(stored.content.body)
        return stored

    def purge(self) -> int:
        """Drop all that wait; how many."""
        count = self._ready
        self._levels.clear()
        self._ready = self._ready_bytes = 0
        return count

    def restart(self) -> None:
        """Drop the messages that do not survive a restart of the broker."""
        survivors = [
            stored
            for stored in self.messages()
            if self.is_quorum or stored.content.properties.delivery_mode == 2
        ]
        self.purge()
        for stored in survivors:
            self._levels.setdefault(stored.priority, deque()).append(stored)
            self._add(stored)

    # ---- consumers ----

    def feed(self, fresh: Stored | None = None) -> None:
        """Deliver what waits to consumers that have room: the highest priority first, in turn.

        fresh: a message that came just now: it is delivered even with a time to live of 0.
        """
        while self.subscribers and self._ready:
            subscriber = self._next_subscriber()
            if subscriber is None:
                return
            is_next = fresh is not None and next(self.messages()) is fresh
            stored = self._pop() if is_next else self.take()
            if stored is None:
                return
            subscriber.deliver(stored)

    def _next_subscriber(self) -> Subscriber | None:
        if self.options.single_active_consumer:
            first = self.subscribers[0]
            return first if first.has_room else None
        chosen = None
        for subscriber in self.subscribers:
            better = chosen is None or subscriber.priority > chosen.priority
            if better and subscriber.has_room:
                chosen = subscriber
        if chosen is not None:  # the others come first next time
            self.subscribers.remove(chosen)
            self.subscribers.append(chosen)
        return chosen

    def subscribe(self, subscriber: Subscriber, exclusive: bool) -> None:
        """A consumer begins."""
        if self.options.single_active_consumer:
            place = sum(other.priority >= subscriber.priority for other in self.subscribers)
            # The active one stays, whatever the priority of those that come later.
            self.subscribers.insert(max(place, 1), subscriber)
        else:
            self.subscribers.append(subscriber)
        if exclusive:
            self.exclusive_subscriber = subscriber
        self.was_consumed = True
        self.touch()

    def unsubscribe(self, subscriber: Subscriber) -> bool:
        """A consumer ends. Whether the queue is to be deleted, since it was the last one."""
        if subscriber not in self.subscribers:
            return False
        self.subscribers.remove(subscriber)
        if self.exclusive_subscriber is subscriber:
            self.exclusive_subscriber = None
        self.touch()
        return self.auto_delete and not self.subscribers

    # ---- times ----

    def _drop_expired(self) -> None:
        """Drop what expired and is the next of its level, as RabbitMQ does; look again later."""
        now = self._clock.now()
        due: float | None = None
        for level in sorted(self._levels, reverse=True):
            messages = self._levels[level]
            while messages and messages[0].expires is not None and messages[0].expires <= now:
                stored = messages.popleft()
                self._ready -= 1
                self._ready_bytes -= len(stored.content.body)
                self._dead_letter(self, stored, "expired")
            if not messages:
                self._levels.pop(level, None)
            elif messages[0].expires is not None:
                due = min(due or messages[0].expires, messages[0].expires)
            if messages and self.is_quorum:
                break  # which looks at its next message alone
        if self._ttl_timer is not None and self._ttl_timer.action is not None:
            if due is not None and self._ttl_timer.when <= due:
                return
            self._ttl_timer.cancel()
        self._ttl_timer = None if due is None else self._clock.call_at(due, self._drop_expired)

    def touch(self) -> None:
        """The queue is used: the time of x-expires begins again."""
        if self.options.expires is None:
            return
        if self._expiry_timer is not None:
            self._expiry_timer.cancel()
        when = self._clock.now() + self.options.expires
        self._expiry_timer = self._clock.call_at(when, self._expire_if_unused)

    def _expire_if_unused(self) -> None:
        if not self.subscribers:
            self._expire(self)

    def close(self) -> None:
        """It is deleted: nothing is due any more."""
        for timer in (self._ttl_timer, self._expiry_timer):
            if timer is not None:
                timer.cancel()
