"""What all connections of a broker share."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ._clock import Clock
from ._faults import Faults
from ._frames import Frame, Sender
from ._profiles import Profile
from ._queues import Content, Queue
from ._transcript import Transcript
from ._virtual_host import VirtualHost

__all__ = ["Node", "Publication", "ReplyTarget"]


class ReplyTarget(Protocol):
    """A channel that consumes from direct reply-to."""

    def deliver_reply(self, content: Content) -> None:
        """Send it a reply."""
        ...


@dataclass(frozen=True, slots=True)
class Publication:
    """A message that a client published.

    Attributes:
        exchange, routing_key, mandatory: as of basic.publish.
        properties: basic properties, as ``amqpcodec.v0_9_1.Basic.Properties``.
        body: its bytes.
        queues: names of the queues that took it.
        outcome: "routed", "unroutable", "rejected" (a full queue) or "nacked" (by a test).
        connection, channel: numbers of where it came.
    """

    exchange: str
    routing_key: str
    mandatory: bool
    properties: Any
    body: bytes
    queues: tuple[str, ...]
    outcome: str
    connection: int
    channel: int


class Node:
    """The state of a broker.

    Attributes:
        peers: the connections, as `_peer.Peer`.
        users: name -> password.
        confirm_plan: what becomes of the next confirms: "nack" or "drop" each.
        coalesce_confirms: whether confirms of publications that came together are one.
        alarm: why publishers are blocked, or None.
        consumer_timeout: seconds until a delivery has to be acknowledged.
        replies: names of direct reply-to -> the channel that consumes.
    """

    def __init__(
        self,
        profile: Profile,
        users: Mapping[str, str],
        virtual_hosts: tuple[str, ...],
        consumer_timeout: float,
    ) -> None:
        self.profile = profile
        self.users = dict(users)
        self.clock = Clock()
        self.consumer_timeout = consumer_timeout
        self._host_names = virtual_hosts
        self._started = time.monotonic()
        self.peers: list[Any] = []
        self.connections_made = 0
        self.faults = Faults()
        self.confirm_plan: deque[str] = deque()
        self.clear()

    def clear(self) -> None:
        """Forget all but connections: as after the start."""
        self.hosts = {
            name: VirtualHost(name, self.profile, self.clock) for name in self._host_names
        }
        self.transcript = Transcript()
        self.publications: list[Publication] = []
        self.faults.clear()
        self.confirm_plan.clear()
        self.coalesce_confirms = False
        self.alarm: str | None = None
        self.replies: dict[str, ReplyTarget] = {}
        self.connections_made = 0

    def seconds(self) -> float:
        """Real time since the start."""
        return time.monotonic() - self._started

    def log(self, connection: int, sender: Sender, frame: Frame) -> None:
        """A frame for the transcript."""
        self.transcript.add(self.seconds(), connection, sender, frame)

    def note(self, connection: int, sender: Sender, name: str) -> None:
        """Something else for the transcript."""
        self.transcript.note(self.seconds(), connection, sender, name)

    def delete_exclusive(self, owner: object) -> None:
        """A connection is over, and its queues with it."""
        for host in self.hosts.values():
            for queue in [queue for queue in host.queues.values() if queue.owner is owner]:
                host.delete_queue(queue)

    def feed(self, queues: list[Queue]) -> None:
        """Deliver what waits, now that there is room."""
        for queue in queues:
            queue.feed()

    def flush(self) -> None:
        """Hand all that connections have to say to their transports."""
        busy = True
        while busy:
            busy = False
            for peer in list(self.peers):
                busy = peer.wire.pump_out() or busy
