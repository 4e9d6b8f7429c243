"""What a session of 0-x knows, as plain data: of its connection, and of each channel.

The rules and the engine read and change it. The objects of users hold one each and show of it what
is for users.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from ._heartbeats import Heartbeats
from ._model import Model
from ._tags import Deliveries, Publications, TransactionalDeliveries

__all__ = [
    "CLOSED",
    "CLOSING",
    "OPEN",
    "OPENING",
    "PHASES",
    "AnyChannelState",
    "AnyConnectionState",
    "ChannelState",
    "ConnectionState",
    "OutstandingTags",
]

#: Phases of a channel. OPENING: asked for; requests may follow already. CLOSING: channel.close was
#: sent.
OPENING, OPEN, CLOSING, CLOSED = range(4)
PHASES = ("opening", "open", "closing", "closed")

ChannelT = TypeVar("ChannelT")
RequestT = TypeVar("RequestT")
PeerRequestT = TypeVar("PeerRequestT")
ConsumerT = TypeVar("ConsumerT")


class ConnectionState(Generic[ChannelT, RequestT, PeerRequestT, ConsumerT]):
    """A connection.

    Attributes:
        role, stage, channel_max, frame_max, heartbeat, peer_properties, virtual_host, blocked:
            as users see them.
        tells_refused_login: to a client: whether the peer refuses a login by connection.close.
        is_open: between open-ok and close.
        closed: whether all is over.
        close_reason: (reply code, reply text) once it is closed.
        error: the RemoteProtocolError that `receive_data` raises from now on, or None.
        model: what the protocol's classes say.
        decoder: the message decoder of what comes.
        encode, encode_message, encode_parts: the codec's functions; with validate, those that
            hold values against the specification's asserts.
        publish_class, ack_class, may_publish, may_ack: the two methods that are sent most, and
            whether this end may send them.
        out, out_bytes: buffers that wait to be sent, and their bytes.
        beats: both directions of heartbeats.
        wanted_heartbeat: the option: seconds, or None for the peer's.
        max_requests: how many requests may wait for their replies on a channel, each way.
        next_number: where the search for a free channel number begins.
        channels, states: the open and closing channels by number, as users have them and as state.
        sent, received: requests of the connection itself that wait for their replies.
    """

    __slots__ = (
        "ack_class",
        "beats",
        "blocked",
        "channel_max",
        "channels",
        "close_reason",
        "closed",
        "decoder",
        "encode",
        "encode_message",
        "encode_parts",
        "error",
        "frame_max",
        "heartbeat",
        "is_open",
        "max_requests",
        "may_ack",
        "may_publish",
        "model",
        "next_number",
        "out",
        "out_bytes",
        "peer_properties",
        "publish_class",
        "received",
        "role",
        "sent",
        "stage",
        "states",
        "tells_refused_login",
        "virtual_host",
        "wanted_heartbeat",
    )

    role: Literal["client", "server"]
    model: Model
    stage: str
    is_open: bool
    closed: bool
    close_reason: tuple[int, str] | None
    error: Any
    channel_max: int
    frame_max: int
    heartbeat: int
    wanted_heartbeat: int | None
    max_requests: int
    peer_properties: dict[str, Any]
    tells_refused_login: bool
    virtual_host: str
    blocked: str | None
    decoder: Any
    encode: Callable[..., bytes]
    encode_message: Callable[..., bytes]
    encode_parts: Callable[..., list[bytes | memoryview]]
    publish_class: Any
    ack_class: Any
    may_publish: bool
    may_ack: bool
    out: list[bytes | memoryview]
    out_bytes: int
    beats: Heartbeats
    next_number: int
    channels: dict[int, ChannelT]
    states: dict[int, ChannelState[ChannelT, RequestT, PeerRequestT, ConsumerT]]
    sent: deque[RequestT]
    received: deque[PeerRequestT]

    def __init__(
        self,
        role: Literal["client", "server"],
        model: Model,
        *,
        channel_max: int,
        frame_max: int,
        heartbeat: int | None,
        max_requests: int,
    ) -> None:
        self.role = role
        self.model = model
        self.stage = "start"
        self.is_open = False
        self.closed = False
        self.close_reason = None
        self.error = None
        self.channel_max = channel_max
        self.frame_max = frame_max
        self.heartbeat = 0
        self.wanted_heartbeat = heartbeat
        self.max_requests = max_requests
        self.peer_properties = {}
        self.tells_refused_login = False
        self.virtual_host = ""
        self.blocked = None
        self.publish_class = model.method("basic.publish")
        self.ack_class = model.method("basic.ack")
        self.may_publish = role in self.publish_class.SENT_BY
        self.may_ack = role in self.ack_class.SENT_BY
        self.out = []
        self.out_bytes = 0
        self.beats = Heartbeats()
        self.next_number = 1
        self.channels = {}
        self.states = {}
        self.sent = deque()
        self.received = deque()


class ChannelState(Generic[ChannelT, RequestT, PeerRequestT, ConsumerT]):
    """A channel.

    Attributes:
        channel: what users have of it.
        connection: its connection.
        number: from 1 to channel_max.
        phase: OPENING to CLOSED.
        close_reason: (reply code, reply text) once it is closed by either side.
        sent, received: requests that wait for their replies, in order.
        consumers: by consumer tag.
        publications, deliveries: numbers that wait for a confirm, and for an acknowledgement.
        confirming, transactional, flow_active, ticket: as users see them.
        discarding: whether it was closed for a mistake of the peer: what comes is skipped.
        requests_made: how many requests were sent so far.
        last_delivery: the highest delivery tag so far, whether it has to be acknowledged or not.
        leaving: consumers that were cancelled without asking for a reply, each with the number of
            requests before, and whether that number was taken at the answer to a request after the
            cancel: then nothing more comes once a later request is answered.
        recovering: for each basic.recover that waits for its reply, the last delivery before it.
        cancelled: names of consumers that the server cancelled, the oldest first.
    """

    __slots__ = (
        "cancelled",
        "channel",
        "close_reason",
        "confirming",
        "connection",
        "consumers",
        "deliveries",
        "discarding",
        "flow_active",
        "last_delivery",
        "leaving",
        "number",
        "phase",
        "publications",
        "received",
        "recovering",
        "requests_made",
        "sent",
        "ticket",
        "transactional",
    )

    channel: ChannelT
    connection: ConnectionState[ChannelT, RequestT, PeerRequestT, ConsumerT]
    number: int
    phase: int
    close_reason: tuple[int, str] | None
    sent: deque[RequestT]
    received: deque[PeerRequestT]
    consumers: dict[str, ConsumerT]
    publications: Publications
    deliveries: Deliveries | TransactionalDeliveries
    confirming: bool
    transactional: bool
    flow_active: bool
    ticket: int
    discarding: bool
    requests_made: int
    last_delivery: int
    leaving: deque[tuple[int, ConsumerT, bool]]
    recovering: deque[int]
    cancelled: dict[str, None]

    def __init__(
        self,
        connection: ConnectionState[ChannelT, RequestT, PeerRequestT, ConsumerT],
        number: int,
        phase: int,
    ) -> None:
        self.connection = connection
        self.number = number
        self.phase = phase
        self.close_reason = None
        self.sent = deque()
        self.received = deque()
        self.consumers = {}
        self.publications = Publications()
        self.deliveries = Deliveries()
        self.confirming = False
        self.transactional = False
        self.flow_active = True
        self.ticket = 0
        self.discarding = False
        self.requests_made = 0
        self.last_delivery = 0
        self.leaving = deque()
        self.recovering = deque()
        self.cancelled = {}


#: Of whatever classes of objects.
AnyConnectionState: TypeAlias = "ConnectionState[Any, Any, Any, Any]"
AnyChannelState: TypeAlias = "ChannelState[Any, Any, Any, Any]"


class OutstandingTags:
    """The numbers that wait on a channel: publications for a confirm, or deliveries to be settled.

    It shows what is true now. ``len()`` counts the numbers, iteration gives them, ascending, and
    ``in`` asks for one.
    """

    __slots__ = ("_deliveries", "_state")

    _deliveries: bool
    _state: AnyChannelState

    def __init__(self, state: AnyChannelState, deliveries: bool) -> None:
        self._state = state
        self._deliveries = deliveries

    @property
    def last(self) -> int:
        """The number of the last publication or delivery on this channel; 0 before the first."""
        state = self._state
        return state.last_delivery if self._deliveries else state.publications.last

    def __len__(self) -> int:
        """How many numbers wait."""
        state = self._state
        return len(state.deliveries) if self._deliveries else len(state.publications)

    def __iter__(self) -> Iterator[int]:
        """The numbers that wait, ascending."""
        state = self._state
        if self._deliveries:
            return iter(sorted(state.deliveries.waiting))
        return iter(state.publications.open())

    def __contains__(self, tag: object) -> bool:
        """Whether a number waits."""
        state = self._state
        if self._deliveries:
            return tag in state.deliveries.waiting
        return tag in state.publications.open()

    def __repr__(self) -> str:
        kind = "deliveries" if self._deliveries else "publications"
        return f"<{len(self)} {kind}, the last one {self.last}>"
