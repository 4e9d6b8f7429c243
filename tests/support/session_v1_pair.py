"""Two engines of AMQP 1.0 that talk to each other, and hand-made peers of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amqpcodec import v1_0 as amqp
from amqpcodec.session import v1

CREDIT = 1000


def accept_all(event: Any) -> None:
    """A server that takes whatever it is asked for."""
    match event:
        case v1.ConnectionRequested():
            pass  # by its connection, which the event does not name: see Pair
        case v1.SessionRequested(session):
            session.accept()
        case v1.LinkRequested(link):
            link.accept()
            if isinstance(link, v1.Receiver) and link.state == "ATTACHED":
                link.flow(CREDIT)
        case v1.DeliveryReceived(_, delivery) if not delivery.settled:
            delivery.accept()
        case v1.DeclareRequested(link, delivery):
            link.declare(delivery, b"txn-%d" % len(link.session.connection.transactions))
        case v1.DischargeRequested(link, delivery):
            link.discharge(delivery)


class Pair:
    """A client and a server. `client_events` and `server_events` are what came last."""

    def __init__(
        self,
        client: dict[str, Any] | None = None,
        server: dict[str, Any] | None = None,
        handler: Callable[[Any], None] = accept_all,
    ) -> None:
        self.client: Any = v1.Connection("client", **(client or {}))
        self.server: Any = v1.Connection("server", **(server or {}))
        self.handler = handler

    def pump(self) -> list[Any]:
        """Let both talk until nobody has anything to say; the client's events."""
        self.client_events: list[Any] = []
        self.server_events: list[Any] = []
        while True:
            to_server, to_client = self.client.data_to_send(), self.server.data_to_send()
            if not to_server and not to_client:
                return self.client_events
            if to_server and not self.server.closed:
                for event in self.server.receive_data(to_server):
                    self.server_events.append(event)
                    if isinstance(event, v1.ConnectionRequested):
                        self.server.accept()
                    elif isinstance(event, v1.AuthenticationRequested):
                        self.server.authenticate(event.password in (None, "right"))
                    else:
                        self.handler(event)
            if to_client and not self.client.closed:
                self.client_events += self.client.receive_data(to_client)

    def one(self, kind: type, server: bool = False) -> Any:
        """The only event of a kind among those that came last."""
        events = self.server_events if server else self.client_events
        (event,) = [candidate for candidate in events if isinstance(candidate, kind)]
        return event

    def opened(self) -> Pair:
        """With the connection open."""
        self.pump()
        assert self.client.state == self.server.state == "OPENED"
        return self

    def session(self) -> Any:
        """A session of the client's."""
        session = self.client.begin()
        self.pump()
        assert session.state == "MAPPED"
        return session

    def sender(self, session: Any = None, **options: Any) -> tuple[Any, Any]:
        """(the client's sender, the server's receiver)."""
        link = (session or self.session()).attach_sender("to", "queue", **options)
        self.pump()
        return link, self.one(v1.LinkRequested, server=True).link

    def receiver(self, session: Any = None, **options: Any) -> tuple[Any, Any]:
        """(the client's receiver, the server's sender)."""
        link = (session or self.session()).attach_receiver("from", "queue", **options)
        self.pump()
        return link, self.one(v1.LinkRequested, server=True).link


class Peer:
    """One engine, and frames made by hand in the place of the other."""

    def __init__(self, role: Any = "server", **options: Any) -> None:
        self.engine: Any = v1.Connection(role, **options)
        self.decoder = amqp.Decoder(0)
        self.sent: list[tuple[int, Any]] = []

    def give(self, *frames: Any, channel: int = 0) -> list[Any]:
        """Frames in; the events."""
        return list(
            self.engine.receive_data(b"".join(amqp.encode(channel, frame) for frame in frames))
        )

    def take(self) -> list[Any]:
        """Frames that the engine sent since the last call."""
        frames = list(self.decoder.feed(self.engine.data_to_send()))
        self.sent += frames
        return [frame for _, frame in frames]

    def opened(self, **fields: Any) -> Peer:
        """A server with the connection open, its frames taken."""
        self.give(amqp.ProtocolHeader(0, 1, 0, 0), amqp.Open("peer", **fields))
        self.engine.accept()
        self.take()
        return self

    def mapped(self, **fields: Any) -> Any:
        """The session that the peer has begun as channel 0, its frames taken."""
        if not self.engine._open_sent:
            self.opened()
        values = {
            **{"next_outgoing_id": 0, "incoming_window": 100, "outgoing_window": 100},
            **fields,
        }
        (event,) = self.give(amqp.Begin(None, **values))
        event.session.accept()
        self.take()
        return event.session

    def attached(self, *, sends: bool = True, **fields: Any) -> Any:
        """A link that the peer has attached as handle 0, its frames taken; sends: the peer."""
        session = self.mapped() if not self.engine.sessions else self.engine.sessions[0]
        (event,) = self.give(attach(sends=sends, **fields))
        event.link.accept()
        self.take()
        assert event.link.session is session
        return event.link


def attach(name: str = "link", handle: int = 0, *, sends: bool = True, **fields: Any) -> Any:
    """An attach of the peer's."""
    values = {
        "source": amqp.Source("queue"),
        "target": amqp.Target("queue"),
        "initial_delivery_count": 0 if sends else None,
        **fields,
    }
    role = amqp.Role.SENDER if sends else amqp.Role.RECEIVER
    return amqp.Attach(name, handle, role, **values)


def kinds(events: list[Any]) -> list[type]:
    """What events came, in order."""
    return [type(event) for event in events]


def quiet(event: Any) -> None:
    """A server that answers sessions and links, and settles nothing."""
    match event:
        case v1.SessionRequested(session):
            session.accept()
        case v1.LinkRequested(link):
            link.accept()
            if isinstance(link, v1.Receiver):
                link.flow(100)
