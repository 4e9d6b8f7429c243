"""A client's channel: consumers, deliveries that wait for an acknowledgement, transactions."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from .. import v0_9_1 as amqp
from ..session import Channel, Connection, Consumer
from ._arguments import expiration_fault, has_no_number
from ._clock import Timer
from ._node import Node, Publication
from ._queues import Content, Queue, Stored
from ._refusals import Refusal
from ._virtual_host import VirtualHost, copies

__all__ = ["REPLY_TO", "Client", "ClientChannel", "Subscription", "Unacked"]

#: Where clients consume replies without a queue.
REPLY_TO = "amq.rabbitmq.reply-to"
#: Bytes of the largest body that is taken.
MAX_MESSAGE = 128 * 1024 * 1024


class Client(Protocol):
    """What a channel asks of its connection."""

    username: str
    number: int
    session: Connection

    def has(self, capability: str) -> bool:
        """Whether the client announces one."""
        ...

    def confirm(self, channel: Channel, tag: int, *, is_ack: bool) -> None:
        """Confirm a publication."""
        ...

    def forget(self, channel: ClientChannel) -> None:
        """A channel is over."""
        ...


@dataclass(eq=False, slots=True)
class Unacked:
    """A delivery that waits for its acknowledgement; since: seconds on the clock."""

    queue: Queue
    stored: Stored
    subscription: Subscription | None
    due: float


class Subscription:
    """A consumer of a queue."""

    def __init__(
        self,
        channel: ClientChannel,
        consumer: Consumer,
        queue: Queue,
        priority: int,
        exclusive: bool,
        timeout: float,
    ) -> None:
        self.channel = channel
        self.consumer = consumer
        self.queue = queue
        self.priority = priority
        self.exclusive = exclusive
        self.timeout = timeout
        self.prefetch = channel.prefetch
        self.unacked = 0

    @property
    def tag(self) -> str:
        """The client's name for it."""
        return self.consumer.tag

    @property
    def has_room(self) -> bool:
        """Whether prefetch lets it have one more message."""
        channel = self.channel
        if not (self.consumer.active and channel.session.is_open):
            return False
        if channel.global_prefetch and channel.consumer_unacked >= channel.global_prefetch:
            return False
        if self.consumer.no_ack:
            return True
        return not self.prefetch or self.unacked < self.prefetch

    def deliver(self, stored: Stored) -> None:
        """Send a message."""
        self.channel.deliver(self, stored)

    def cancel(self) -> None:
        """It is over without the client's asking."""
        self.channel.cancelled_by_broker(self)


class ClientChannel:
    """A channel, as the broker has it.

    Attributes:
        session: the session's Channel.
        prefetch: of consumers that begin from now on; 0 for no limit.
        global_prefetch: of all consumers together; 0 for no limit.
        consumer_unacked: deliveries to consumers that are not acknowledged.
        last_queue: name of the queue that was declared last, which "" stands for.
        last_tag: of the last delivery.
        reply_consumer: the consumer of direct reply-to, with the name that replies come to.
    """

    def __init__(self, node: Node, peer: Client, host: VirtualHost, session: Channel) -> None:
        self.node = node
        self.peer = peer
        self.host = host
        self.session = session
        self.prefetch = 0
        self.global_prefetch = 0
        self.consumer_unacked = 0
        self.last_queue: str | None = None
        self.subscriptions: dict[str, Subscription] = {}
        self.unacked: dict[int, Unacked] = {}
        self.last_tag = 0
        self.reply_consumer: tuple[Consumer, str] | None = None
        self._transaction: list[Callable[[], None]] | None = None
        self._settlements: list[Callable[[], None]] = []
        self._held: dict[int, Unacked] = {}  # what the transaction settles
        self._timer: Timer | None = None

    # ---- publications ----

    def publish(self, message: Any, tag: int | None) -> None:
        """Take a message.

        Raises:
            Refusal: it is not allowed, or cannot be routed at all.
        """
        method: amqp.Basic.Publish = message.method
        properties = self._checked(method, message.properties, len(message.body))
        content = Content(method.exchange, method.routing_key, properties, bytes(message.body))
        if self._transaction is not None:
            self._transaction.append(lambda: self._take(content, method.mandatory, None))
        else:
            self._take(content, method.mandatory, tag)

    def _checked(self, method: amqp.Basic.Publish, properties: Any, size: int) -> Any:
        if has_no_number(properties.headers):
            raise Refusal(541, "")
        if method.immediate:
            raise Refusal(540, "immediate=true")
        if size > MAX_MESSAGE:
            text = f"message size {size} is larger than configured max size {MAX_MESSAGE}"
            raise Refusal(406, text)
        exchange = self.host.exchange(method.exchange)
        if exchange.internal:
            where = self.host.exchange_text(exchange.name)
            raise Refusal(403, f"cannot publish to internal {where}")
        user = properties.user_id
        if user is not None and user != self.peer.username:
            raise Refusal(
                406,
                f"user_id property set to '{user}' but authenticated user was "
                f"'{self.peer.username}'",
            )
        expiration = properties.expiration
        fault = None if expiration is None else expiration_fault(expiration)
        if fault is not None:
            raise Refusal(406, f"invalid expiration '{expiration}': {fault}")
        for name in ("CC", "BCC"):
            copies(properties.headers or {}, name)  # refused now, and not by tx.commit
        if properties.reply_to == REPLY_TO:
            if self.reply_consumer is None:
                raise Refusal(406, "fast reply consumer does not exist")
            return properties.__replace__(reply_to=self.reply_consumer[1])
        return properties

    def _take(self, content: Content, mandatory: bool, tag: int | None) -> None:
        plan = None
        if tag is not None and self.node.confirm_plan:
            plan = self.node.confirm_plan.popleft()
        if plan == "nack":
            self._record(content, mandatory, [], "nacked")
            self.session.nack(tag or 0)
            return
        reply_channel = self.node.replies.get(content.routing_key) if not content.exchange else None
        queues, rejected = ([], False) if reply_channel else self.host.publish(content)
        is_routed = queues or reply_channel is not None
        outcome = "rejected" if rejected else "routed" if is_routed else "unroutable"
        self._record(content, mandatory, queues, outcome)
        if not queues and mandatory:
            # RabbitMQ returns a reply, too, although it arrives: direct reply-to is no queue.
            self.session.send(
                amqp.Basic.Return(312, "NO_ROUTE", content.exchange, content.routing_key),
                content.without_bcc().properties,
                content.body,
            )
        if reply_channel is not None:
            reply_channel.deliver_reply(content)
        if rejected and tag is not None:
            self.peer.confirm(self.session, tag, is_ack=False)
            return
        if tag is not None and plan != "drop":
            self.peer.confirm(self.session, tag, is_ack=True)

    def _record(self, content: Content, mandatory: bool, queues: list[Queue], outcome: str) -> None:
        self.node.publications.append(
            Publication(
                content.exchange,
                content.routing_key,
                mandatory,
                content.properties,
                content.body,
                tuple(queue.name for queue in queues),
                outcome,
                self.peer.number,
                self.session.number,
            )
        )

    # ---- deliveries ----

    def deliver(self, subscription: Subscription, stored: Stored) -> None:
        """Send a message to a consumer."""
        self.last_tag = tag = self.last_tag + 1
        consumer = subscription.consumer
        if not consumer.no_ack:
            self._remember(tag, subscription.queue, stored, subscription)
            subscription.unacked += 1
            self.consumer_unacked += 1
        content = stored.content
        self.session.send(
            amqp.Basic.Deliver(
                consumer.tag, tag, stored.redelivered, content.exchange, content.routing_key
            ),
            self._properties(subscription.queue, stored),
            content.body,
        )

    def get(self, queue: Queue, no_ack: bool) -> tuple[amqp.Basic.GetOk, Any, bytes] | None:
        """The answer to basic.get; None where the queue is empty."""
        stored = queue.take()
        queue.touch()
        if stored is None:
            return None
        self.last_tag = tag = self.last_tag + 1
        if not no_ack:
            self._remember(tag, queue, stored, None)
        content = stored.content
        get_ok = amqp.Basic.GetOk(
            tag, stored.redelivered, content.exchange, content.routing_key, queue.ready
        )
        if queue.is_quorum:
            queue.trim()
        return get_ok, self._properties(queue, stored), content.body

    def _properties(self, queue: Queue, stored: Stored) -> Any:
        properties = stored.content.properties
        if not queue.is_quorum:
            return properties
        counts = {"x-delivery-count": stored.delivery_count}
        if not self.node.profile.nack_counts:
            counts["x-acquired-count"] = stored.acquired_count
        counts = {name: count for name, count in counts.items() if count}
        if not counts:
            return properties
        return properties.__replace__(headers={**(properties.headers or {}), **counts})

    def _remember(
        self, tag: int, queue: Queue, stored: Stored, subscription: Subscription | None
    ) -> None:
        due = self.node.clock.now() + self._timeout(queue, subscription)
        self.unacked[tag] = unacked = Unacked(queue, stored, subscription, due)
        queue.hold(subscription or unacked)
        if self._timer is None or self._timer.action is None or self._timer.when > due:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self.node.clock.call_at(due, self._check_timeouts)

    def _timeout(self, queue: Queue, subscription: Subscription | None) -> float:
        """Seconds within which a delivery has to be acknowledged."""
        if subscription is not None:
            return subscription.timeout
        return queue.options.consumer_timeout or self.node.consumer_timeout

    def _check_timeouts(self) -> None:
        """An acknowledgement that is late ends the channel, or since 4.3 the consumer."""
        now = self.node.clock.now()
        late = [unacked for unacked in self.unacked.values() if unacked.due <= now]
        if late and self.node.profile.late_consumers_cancelled and self.peer.has("cancel"):
            subscriptions = {one.subscription for one in late if one.subscription is not None}
            for subscription in subscriptions:
                self.unsubscribe(subscription)
                self.cancelled_by_broker(subscription)
            self.requeue(
                [tag for tag, one in self.unacked.items() if one.subscription in subscriptions],
                counts=True,
                is_asked=False,
            )
        elif late:
            milliseconds = round(self._timeout(late[0].queue, late[0].subscription) * 1000)
            self.close(
                406,
                f"delivery acknowledgement on channel {self.session.number} timed out. Timeout "
                f"value used: {milliseconds} ms. This timeout value can be configured, see "
                "consumers doc guide to learn more",
            )
            return
        if self.unacked:
            due = min(unacked.due for unacked in self.unacked.values())
            self._timer = self.node.clock.call_at(max(due, now + 0.001), self._check_timeouts)

    def deliver_reply(self, content: Content) -> None:
        """A reply to direct reply-to."""
        if self.reply_consumer is None:
            return
        self.session.send(
            amqp.Basic.Deliver(
                self.reply_consumer[0].tag,
                self.last_tag + 1,  # as RabbitMQ does: the next delivery has it, too
                False,
                content.exchange,
                content.routing_key,
            ),
            content.properties,
            content.body,
        )

    # ---- acknowledgements ----

    def acknowledge(self, tags: Iterable[int]) -> None:
        """The client took these over."""
        self._in_transaction(list(tags), self._acknowledge)

    def reject(self, tags: Iterable[int], requeue: bool, is_reject: bool) -> None:
        """The client refused these. is_reject: by basic.reject, not by basic.nack."""
        if requeue:
            counts = is_reject or self.node.profile.nack_counts
            self._in_transaction(list(tags), lambda some: self.requeue(some, counts=counts))
        else:
            self._in_transaction(list(tags), self._discard)

    def _in_transaction(self, tags: list[int], act: Callable[[list[int]], None]) -> None:
        if self._transaction is not None:
            self._held.update((tag, self.unacked.pop(tag)) for tag in tags)
            self._settlements.append(lambda: act(tags))
        else:
            act(tags)

    def _acknowledge(self, tags: list[int]) -> None:
        self._settle(tags, lambda released: None)

    def _discard(self, tags: list[int]) -> None:
        def act(released: list[Unacked]) -> None:
            for unacked in released:
                if self.host.queues.get(unacked.queue.name) is unacked.queue:
                    self.host.dead_letter(unacked.queue, unacked.stored, "rejected")

        self._settle(tags, act)

    def requeue(self, tags: list[int], *, counts: bool, is_asked: bool = True) -> None:
        """Give deliveries back to their queues.

        counts: whether it counts as a failed delivery. is_asked: whether the client asked for it.
        """

        def act(released: list[Unacked]) -> None:
            queue = released[0].queue
            if self.host.queues.get(queue.name) is queue:
                for unacked in released:
                    self._give_back(queue, unacked.stored, counts, is_asked)
                queue.trim()

        self._settle(tags, act, by_consumer=is_asked)

    def _give_back(self, queue: Queue, stored: Stored, counts: bool, is_asked: bool) -> None:
        stored.acquired_count += 1
        stored.delivery_count += counts
        limit = queue.options.delivery_limit
        if limit is None:
            limit = self.node.profile.delivery_limit
        if queue.is_quorum and limit is not None and stored.delivery_count > limit:
            self.host.dead_letter(queue, stored, "delivery_limit")
        else:
            queue.requeue(stored, is_last=is_asked and limit is None)

    def _settle(
        self, tags: list[int], act: Callable[[list[Unacked]], None], *, by_consumer: bool = True
    ) -> None:
        """Deliveries are over: those of each queue, and of each of its consumers, on their own."""
        groups: dict[tuple[str, str, int], list[int]] = {}
        for tag in tags:
            unacked = self.unacked[tag]
            consumer, got = "", tag
            if unacked.subscription is not None:
                consumer, got = unacked.subscription.consumer.tag, 0
            key = (
                (unacked.queue.name, consumer, got) if by_consumer else (unacked.queue.name, "", 0)
            )
            groups.setdefault(key, []).append(tag)
        queues = []
        consumer_acks = 0
        for _, group in sorted(groups.items()):  # in RabbitMQ's order
            released = [self._release(tag) for tag in group]
            consumer_acks += sum(one.subscription is not None for one in released)
            act(released)
            released[0].queue.feed()
            queues.append(released[0].queue)
        self.consumer_unacked -= consumer_acks
        self._fed(queues)

    def _release(self, tag: int) -> Unacked:
        unacked = self.unacked.pop(tag)
        unacked.queue.let_go(unacked.subscription or unacked)
        if unacked.subscription is not None:
            unacked.subscription.unacked -= 1
        return unacked

    def _fed(self, queues: Iterable[Queue]) -> None:
        """Room in a channel is room for all its consumers."""
        own = [subscription.queue for subscription in self.subscriptions.values()]
        for queue in dict.fromkeys([*queues, *own]):
            queue.feed()

    # ---- consumers ----

    def subscribe(self, subscription: Subscription) -> None:
        """A consumer begins, once its reply is out."""
        self.subscriptions[subscription.consumer.tag] = subscription
        subscription.queue.subscribe(subscription, subscription.exclusive)
        subscription.queue.feed()

    def unsubscribe(self, subscription: Subscription) -> None:
        """A consumer ends; its queue with it where it is the last one of an auto-delete queue."""
        self.subscriptions.pop(subscription.consumer.tag, None)
        if subscription.queue.unsubscribe(subscription):
            self.host.delete_queue(subscription.queue)
        else:
            subscription.queue.feed()  # the next single active consumer begins

    def cancelled_by_broker(self, subscription: Subscription) -> None:
        """Tell the client that a consumer is over, where it understands that."""
        self.subscriptions.pop(subscription.consumer.tag, None)
        if not self.session.is_open:
            return
        if self.peer.has("cancel"):
            self.session.cancel(subscription.consumer.tag, no_wait=True)
        else:
            subscription.consumer.active = False

    def consume_replies(self, consumer: Consumer) -> None:
        """Direct reply-to begins."""
        name = f"{REPLY_TO}.{secrets.token_urlsafe(12)}"
        self.reply_consumer = (consumer, name)
        self.node.replies[name] = self

    def stop_replies(self, consumer_tag: str) -> bool:
        """Direct reply-to ends, if that is its consumer."""
        if self.reply_consumer is None or self.reply_consumer[0].tag != consumer_tag:
            return False
        self.node.replies.pop(self.reply_consumer[1], None)
        self.reply_consumer = None
        return True

    # ---- transactions ----

    def begin(self) -> None:
        """tx.select."""
        if self._transaction is None:
            self._transaction = []

    def commit(self) -> None:
        """tx.commit."""
        actions = [*(self._transaction or []), *self._settlements]  # as RabbitMQ orders them
        self.rollback()
        for action in actions:
            action()

    def rollback(self) -> None:
        """tx.rollback."""
        self._transaction, self._settlements = [], []
        self.unacked = dict(sorted({**self.unacked, **self._held}.items()))
        self._held.clear()

    # ---- ends ----

    def close(self, reply_code: int, text: str, method: Any = None) -> None:
        """The broker closes it: what was delivered goes back at once."""
        reply_text = self.peer.session.reply_text(reply_code, text)
        self.session.close(reply_code, reply_text, method)
        self.peer.forget(self)

    def over(self) -> None:
        """It is gone: consumers end, and deliveries go back."""
        if self._timer is not None:
            self._timer.cancel()
        if self.reply_consumer is not None:
            self.stop_replies(self.reply_consumer[0].tag)
        subscriptions = list(self.subscriptions.values())
        self.subscriptions.clear()
        doomed = [one.queue for one in subscriptions if one.queue.unsubscribe(one)]
        self.rollback()
        self.requeue(list(self.unacked), counts=True, is_asked=False)
        for queue in doomed:
            self.host.delete_queue(queue)
        self.node.feed([one.queue for one in subscriptions if one.queue not in doomed])
