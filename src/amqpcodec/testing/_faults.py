"""Faults at a place: which frame, and what goes wrong there."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from typing import Protocol, TypeAlias

from .. import v0_9_1 as amqp
from ._frames import FRAME_NAMES, Frame, Sender

__all__ = ["Action", "Fault", "Faults", "Place", "Site", "Verdict", "sweep"]


class Verdict(enum.Enum):
    """What becomes of a frame at which a fault happens."""

    PASS = enum.auto()
    DROP = enum.auto()
    HOLD = enum.auto()
    GONE = enum.auto()


class Site(Protocol):
    """A connection at which faults happen."""

    number: int

    def reset(self) -> Verdict:
        """TCP RST."""
        ...

    def end(self) -> Verdict:
        """EOF."""
        ...

    def freeze(self) -> Verdict:
        """Nothing comes or goes."""
        ...

    def delay(self, sender: Sender, seconds: float) -> Verdict:
        """One direction is held up."""
        ...

    def close_channel(self, channel: int, reply_code: int, text: str) -> Verdict:
        """The broker's channel.close."""
        ...

    def close(self, reply_code: int, text: str) -> Verdict:
        """The broker's connection.close."""
        ...

    def cancel_consumers(self, channel: int, consumer_tag: str | None) -> Verdict:
        """The broker's basic.cancel."""
        ...

    def plan_confirm(self, outcome: str) -> Verdict:
        """What becomes of the next confirm."""
        ...

    def block(self, reason: str) -> Verdict:
        """A resource is short."""
        ...


Action: TypeAlias = "Callable[[Site, Frame, Sender], Verdict]"


class Fault:
    """A fault that waits for its place.

    Attributes:
        hit: whether it has happened.
        description: the frame at which it happened, "" before.
    """

    def __init__(
        self,
        action: Action,
        name: str | None,
        n: int,
        sender: Sender | None,
        connection: int | None,
    ) -> None:
        self._action = action
        self._name = name
        self._left = n
        self._sender = sender
        self._connection = connection
        self.hit: bool = False
        self.description: str = ""

    def __repr__(self) -> str:
        where = self.description or f"waits for {self._left} more of {self._name or 'any frame'}"
        return f"<Fault {where}>"

    def remove(self) -> None:
        """It will not happen any more."""
        self._left = 0

    def is_due(self, connection: int, frame: Frame, sender: Sender) -> bool:
        """Count a frame; whether this is the one."""
        fits = self._name in (None, frame.name) and self._sender in (None, sender)
        if not fits or self._connection not in (None, connection) or self._left < 1:
            return False
        if self._name is None and frame.name == "heartbeat":
            return False  # they come when they like
        self._left -= 1
        return self._left == 0

    def happen(self, site: Site, frame: Frame, sender: Sender) -> Verdict:
        """Do it."""
        self.hit = True
        self.description = f"{frame.name} of the {sender} on connection {site.number}"
        return self._action(site, frame, sender)


class Faults:
    """All that wait."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def add(self, fault: Fault) -> Fault:
        """One more."""
        self._faults.append(fault)
        return fault

    def clear(self) -> None:
        """Forget all."""
        self._faults.clear()

    def check(self, site: Site, frame: Frame, sender: Sender) -> Verdict:
        """What becomes of a frame. Each fault counts it; the first that is due happens."""
        if not self._faults:
            return Verdict.PASS
        verdict = Verdict.PASS
        for fault in list(self._faults):
            if fault.is_due(site.number, frame, sender):
                self._faults.remove(fault)
                verdict = fault.happen(site, frame, sender)
                if verdict is not Verdict.PASS:
                    break
        return verdict


class Place:
    """The n-th frame of a name from now on: call what is to go wrong there.

    ``broker.on("basic.publish", n=3).reset()``. A frame of the client is held up before the broker
    looks at it, one of the broker before it is sent. Each call gives a Fault, whose ``hit`` tells
    whether it has happened.
    """

    def __init__(
        self,
        add: Callable[[Fault], Fault],
        name: str | None,
        n: int,
        sender: Sender | None,
        connection: int | None,
    ) -> None:
        if name is not None and name not in FRAME_NAMES:
            raise ValueError(f"no frame is called {name!r}; methods are, as 'basic.publish'")
        if n < 1:
            raise ValueError(f"n is {n}; the first one is 1")
        self._add = add
        self._place = (name, n, sender, connection)

    def _fault(self, action: Action) -> Fault:
        return self._add(Fault(action, *self._place))

    def _check_channel(self) -> None:
        name = self._place[0] or ""
        if name.startswith("connection.") or name in ("protocol-header", "heartbeat"):
            raise ValueError(f"{name} is on no channel")

    def reset(self) -> Fault:
        """The connection is reset (TCP RST): the frame and all after it are lost."""
        return self._fault(lambda site, frame, sender: site.reset())

    def eof(self) -> Fault:
        """The broker closes the transport without a word, as a proxy in front of it does."""
        return self._fault(lambda site, frame, sender: site.end())

    def freeze(self) -> Fault:
        """Neither side gets anything any more, and the transport stays open: `Broker.thaw`."""
        return self._fault(lambda site, frame, sender: site.freeze())

    def delay(self, seconds: float) -> Fault:
        """The frame, and what follows in its direction, comes so much later (broker's clock)."""
        return self._fault(lambda site, frame, sender: site.delay(sender, seconds))

    def drop(self) -> Fault:
        """The frame is lost, and what follows is not: a reply that never comes.

        Raises:
            ValueError: a method with content, or a part of it: the rest would make no sense.
        """
        name = self._place[0]
        method = next((one for one in amqp.METHODS.values() if name == one.NAME), None)
        if name != "heartbeat" and (method is None or method.HAS_CONTENT):
            raise ValueError(f"{name or 'any frame'} cannot be lost alone; use reset or freeze")
        return self._fault(lambda site, frame, sender: Verdict.DROP)

    def close_channel(self, reply_code: int, text: str = "closed by a test") -> Fault:
        """The broker closes the channel of the frame, which has no effect any more.

        Raises:
            ValueError: a frame of that name is on no channel.
        """
        self._check_channel()
        return self._fault(
            lambda site, frame, sender: site.close_channel(frame.channel, reply_code, text)
        )

    def close(self, reply_code: int = 320, text: str = "closed by a test") -> Fault:
        """The broker closes the connection (connection.close); the frame has no effect."""
        return self._fault(lambda site, frame, sender: site.close(reply_code, text))

    def cancel_consumer(self, consumer_tag: str | None = None) -> Fault:
        """The broker cancels this consumer, or all of the frame's channel; the frame takes effect.

        What the consumers had unacknowledged stays so.

        Raises:
            ValueError: a frame of that name is on no channel.
        """
        self._check_channel()
        return self._fault(
            lambda site, frame, sender: site.cancel_consumers(frame.channel, consumer_tag)
        )

    def nack_next(self) -> Fault:
        """The next publication with confirms, such as that of the frame, is not taken: nacked."""
        return self._fault(lambda site, frame, sender: site.plan_confirm("nack"))

    def drop_confirm(self) -> Fault:
        """The next publication with confirms is taken, and its confirm never comes."""
        return self._fault(lambda site, frame, sender: site.plan_confirm("drop"))

    def block(self, reason: str = "low on memory") -> Fault:
        """The broker runs short of a resource: see `Broker.block`."""
        return self._fault(lambda site, frame, sender: site.block(reason))


def sweep(
    prepare: Callable[[], None], arm: Callable[[int], Fault], most: int
) -> Iterator[tuple[int, Fault]]:
    """A run for each frame, until one in which the fault does not happen."""
    for number in range(1, most + 1):
        prepare()
        fault = arm(number)
        yield number, fault
        if not fault.hit:
            return
    raise AssertionError(f"every_frame: there are more than {most} frames in a run")
