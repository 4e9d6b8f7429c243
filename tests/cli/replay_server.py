"""A broker made of the session's server role, for replays: exchanges, queues, and what it took."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from typing import Any

from amqpcodec import v0_9_1 as amqp
from amqpcodec.session import (
    Connection,
    LocalProtocolError,
    LoginRequested,
    OpenRequested,
    Published,
    RemoteProtocolError,
    Requested,
)


class Broker:
    """One thread a connection. Exchanges: "" and `exchanges`; what goes to no key of `routes` is
    returned. `nacks`: keys whose messages are not taken. `refusals`: key -> reply code and text
    that a channel is closed with, `faults`: that the connection is closed with. `holds`: keys whose
    messages are confirmed together with the next one. `die_after`: publications after which the
    connection is cut. `block_after`: publications after which it wants none for a while.
    `inequivalent`: names that cannot be declared. `declared`: requests that created something."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.context = context
        self.exchanges = {"orders"}
        self.nacks: set[str] = set()
        self.unroutable: set[str] = set()
        self.refusals: dict[str, tuple[int, str]] = {}
        self.faults: dict[str, tuple[int, str]] = {}
        self.holds: set[str] = set()
        self.on_refusal: Callable[[], object] = lambda: None
        self.inequivalent: set[str] = set()
        self.declared: list[Any] = []
        self.passive: list[str] = []
        self.logins: list[tuple[str | None, str | None, str]] = []
        self.publications: list[Any] = []
        self.die_after: int | None = None
        self.block_after: int | None = None
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                link, _ = self.listener.accept()
                threading.Thread(target=self._serve, args=(link,), daemon=True).start()

    def _serve(self, link: Any) -> None:
        session: Any = Connection("server")
        with contextlib.suppress(OSError, LocalProtocolError, RemoteProtocolError):
            if self.context is not None:
                link = self.context.wrap_socket(link, server_side=True)
            while not session.closed:
                data = link.recv(1 << 16)
                events = session.receive_data(data) if data else session.receive_eof()
                for event in events:
                    if not self._take(session, event, link):
                        link.sendall(session.data_to_send())
                        link.close()
                        return
                link.sendall(session.data_to_send())
        link.close()

    def _unblock(self, session: Any, link: Any) -> None:
        self.while_blocked = len(self.publications)
        session.send(amqp.Connection.Unblocked())
        link.sendall(session.data_to_send())

    def _take(self, session: Any, event: Any, link: Any) -> bool:
        """False: the connection is to be cut."""
        match event:
            case LoginRequested():
                if event.password == "wrong":
                    session.refuse_login("no")
                    return True
                session.accept_login()
                self.logins.append((event.username, event.password, ""))
            case OpenRequested(virtual_host=name):
                self.logins[-1] = (*self.logins[-1][:2], name)
                session.accept_open()
            case Requested(channel=channel, request=request) if channel is not None:
                if self._handle_request(channel, request.method):
                    request.respond(request.method.RESPONSES[0]())
            case Requested(request=request):
                request.respond(request.method.RESPONSES[0]())
            case Published(channel=channel, message=message, tag=tag) if channel.is_open:
                self._published(channel, message, tag)
                if self.block_after is not None and len(self.publications) >= self.block_after:
                    self.block_after = None
                    session.send(amqp.Connection.Blocked("low on \x1bmemory"))
                    threading.Timer(0.3, self._unblock, (session, link)).start()
                if self.die_after is not None and len(self.publications) >= self.die_after:
                    self.die_after = None
                    return False
        return True

    def _handle_request(self, channel: Any, method: Any) -> bool:
        """Whether a request is to be answered by its reply."""
        name = getattr(method, "exchange", "") or getattr(method, "queue", "")
        if getattr(method, "passive", False):
            self.passive.append(name)
            if name not in self.exchanges:
                text = f"NOT_FOUND - no exchange {name!r} in vhost '/'"
                channel.close(404, text, type(method))
                return False
        elif method.NAME.endswith((".declare", ".bind")):
            if name in self.inequivalent:
                channel.close(406, f"PRECONDITION_FAILED - inequivalent {name}", type(method))
                return False
            self.declared.append(method)
            if method.NAME == "exchange.declare":
                self.exchanges.add(name)
        return True

    def _published(self, channel: Any, message: Any, tag: int) -> None:

        method = message.method
        if method.exchange and method.exchange not in self.exchanges:
            text = f"NOT_FOUND - no exchange {method.exchange!r} in vhost '/'"
            channel.close(404, text, amqp.Basic.Publish)
            return
        if method.routing_key in self.refusals:
            channel.close(*self.refusals[method.routing_key], amqp.Basic.Publish)
            self.on_refusal()
            return
        if method.routing_key in self.faults:
            channel.connection.close(*self.faults[method.routing_key], amqp.Basic.Publish)
            return
        self.publications.append(message)
        if method.routing_key in self.unroutable and method.mandatory:
            back = amqp.Basic.Return(312, "NO_ROUTE", method.exchange, method.routing_key)
            channel.send(back, message.properties, message.body)
        if method.routing_key in self.nacks:
            channel.nack(tag)
        elif method.routing_key not in self.holds:
            channel.ack(tag, multiple=bool(self.holds))


@contextlib.contextmanager
def brokers(context: ssl.SSLContext | None = None) -> Iterator[Broker]:
    """One, for the time of a test."""
    broker = Broker(context)
    try:
        yield broker
    finally:
        broker.listener.close()
