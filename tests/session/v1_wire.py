"""Blocking sockets around an engine of AMQP 1.0: a client, and a server with queues in memory."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from amqpcodec import v1_0 as amqp
from amqpcodec.session import LocalProtocolError, RemoteProtocolError, v1

TIMEOUT = 20.0


class Client:
    """One connection to a peer. `events` are those that nobody has waited for."""

    def __init__(self, address: tuple[str, int], **options: Any) -> None:
        self.engine: Any = v1.Connection("client", **options)
        self.socket = socket.create_connection(address, timeout=TIMEOUT)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.events: deque[Any] = deque()
        self.error: RemoteProtocolError | None = None

    def flush(self) -> None:
        """Send what waits."""
        if data := self.engine.data_to_send():
            self.socket.sendall(data)

    def read(self, seconds: float) -> bool:
        """What comes next; False where nothing came."""
        self.flush()
        self.socket.settimeout(max(seconds, 0.001))
        try:
            data = self.socket.recv(1 << 16)
        except TimeoutError:
            return False
        self.events.extend(self.engine.receive_data(data) if data else self.engine.receive_eof())
        self.flush()
        return True

    def wait(self, kind: Any, fits: Callable[[Any], bool] = lambda _: True) -> Any:
        """The next event of a kind; others stay."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            for event in self.events:
                if isinstance(event, kind) and fits(event):
                    self.events.remove(event)
                    return event
                if isinstance(event, v1.ConnectionClosed):
                    raise EOFError(f"closed: {event.error}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"no {kind}; there is {list(self.events)[-3:]}")
            self.read(deadline - time.monotonic())

    def quiet(self, kind: Any, seconds: float = 0.3) -> None:
        """No event of a kind for a while."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.read(deadline - time.monotonic())
        assert not [event for event in self.events if isinstance(event, kind)]

    def session(self, **options: Any) -> Any:
        """A session that is mapped."""
        if self.engine.remote_open is None:
            self.wait(v1.ConnectionOpened)
        session = self.engine.begin(**options)
        self.wait(v1.SessionOpened, lambda event: event.session is session)
        return session

    def sender(self, session: Any, name: str, target: Any, **options: Any) -> Any:
        """A sender that has credit."""
        link = session.attach_sender(name, target, **options)
        self.wait(v1.LinkOpened, lambda event: event.link is link)
        self.wait(v1.CreditChanged, lambda event: event.link is link and event.credit > 0)
        return link

    def outcome(self, delivery: Any) -> Any:
        """What became of a delivery."""
        if delivery.remote_state is None:
            self.wait(v1.DeliveryUpdated, lambda event: event.delivery is delivery)
        return delivery.remote_state

    def close(self) -> Any:
        """Close in order; the event."""
        self.engine.close()
        event = self.wait_closed()
        self.socket.close()
        return event

    def wait_closed(self) -> Any:
        """The end of the connection."""
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline:
            for event in self.events:
                if isinstance(event, v1.ConnectionClosed):
                    return event
            self.read(1.0)
        raise TimeoutError("the connection does not end")


class Server:
    """Queues by address, in a thread for each connection. outcomes: what receivers said."""

    #: Azure's client reads fields by their place in the list, and fails where it ends before.
    properties: ClassVar = {amqp.Symbol("product"): "amqpcodec's tests"}

    def __init__(self, **options: Any) -> None:
        self.options = options
        self.decide: Callable[[str | None], bool] = lambda password: password in (None, "right")
        self.queues: dict[str, deque[bytes]] = defaultdict(deque)
        self.outcomes: list[Any] = []
        self.errors: list[RemoteProtocolError] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self.listener.getsockname()[:2]
        self.stopping = False
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while not self.stopping:
            with contextlib.suppress(OSError):
                connection, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def stop(self) -> None:
        self.stopping = True
        self.listener.close()

    def serve(self, link: socket.socket) -> None:
        engine: Any = v1.Connection("server", **self.options)
        with link, contextlib.suppress(OSError):
            link.settimeout(0.05)
            while not engine.closed:
                try:
                    data = link.recv(1 << 16)
                except TimeoutError:
                    data = None
                try:
                    if data is not None:
                        events = engine.receive_data(data) if data else engine.receive_eof()
                        for event in events:
                            with contextlib.suppress(LocalProtocolError):
                                self.handle(engine, event)
                except RemoteProtocolError as error:
                    self.errors.append(error)
                for session in engine.sessions:
                    for link_of_session in session.links:
                        self.dispatch(link_of_session)
                now = time.monotonic()
                engine.next_timeout(now)
                engine.handle_timeout(now)
                link.sendall(engine.data_to_send())

    def dispatch(self, link: Any) -> None:
        if isinstance(link, v1.Sender) and link.state == "ATTACHED":
            queue = self.queues[link.source.address]
            while link.credit and queue:
                link.send(queue.popleft(), batchable=False)

    def handle(self, engine: Any, event: Any) -> None:
        match event:
            case v1.AuthenticationRequested():
                engine.authenticate(self.decide(event.password))
            case v1.ConnectionRequested():
                engine.accept(properties=self.properties)
            case v1.SessionRequested(session):
                session.accept(properties=self.properties)
            case v1.LinkRequested(link, frame):
                terminus = frame.source if link.sends else frame.target
                if getattr(terminus, "address", None) == "missing":
                    link.refuse(amqp.AmqpError.NOT_FOUND, "no queue missing")
                    return
                link.accept(properties=self.properties)
                if isinstance(link, v1.Receiver):
                    link.flow(50, properties=self.properties)
            case v1.DeliveryReceived(link, delivery):
                self.queues[link.target.address].append(delivery.payload)
                if not delivery.settled:
                    delivery.accept()
                if link.credit < 25:
                    link.flow(50, properties=self.properties)
            case v1.DeliveryUpdated(_, delivery, state, settled):
                self.outcomes.append(state)
                if not settled:
                    delivery.settle()


@contextlib.contextmanager
def serving(**options: Any) -> Iterator[Server]:
    """A server for the time of a test; it met no fault of its peers."""
    server = Server(**options)
    try:
        yield server
    finally:
        server.stop()
    assert server.errors == []
