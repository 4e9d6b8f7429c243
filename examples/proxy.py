"""A proxy of two sessions, that shows the traffic of its clients as the broker for tests does.

`python examples/proxy.py [LISTEN [HOST [PORT]]]` takes clients on 127.0.0.1:LISTEN (5673) and
speaks for them to the broker at HOST:PORT (localhost:5672). To a client it is a server session, to
the broker a client session: what one is told, the other is made to say. A client's login is tried
at the broker once the virtual host is known. Credentials are not shown.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import Callable
from typing import Any, Literal, TextIO

from amqpcodec import AMQPCodecError
from amqpcodec import v0_9_1 as amqp
from amqpcodec.session import Channel, Connection, Event, LocalProtocolError, RemoteProtocolError
from amqpcodec.session import events as session_events
from amqpcodec.testing import TranscriptEntry

#: Name -> class of a method.
METHODS: dict[str, Any] = {method.NAME: method for method in amqp.METHODS.values()}


class Line(asyncio.Protocol):
    """One transport and its session; the link acts on what they say."""

    def __init__(
        self, session: Any, act: Callable[[Event], None], on_frames: Callable[[list[Any]], None]
    ) -> None:
        self.session = session
        self.peer: Line | None = None
        self.transport: Any = None
        self._act = act
        self._seen = on_frames
        # Frames as the other end sent them, for show only.
        self._frames = amqp.Decoder(0)

    def connection_made(self, transport: Any) -> None:
        """Say what waits."""
        self.transport = transport
        self._beat()

    def data_received(self, data: bytes) -> None:
        """Show what came, and act on what it means."""
        frames: list[Any] = []
        with contextlib.suppress(AMQPCodecError):
            frames += self._frames.feed(data)
        self._seen(frames)
        try:
            events = self.session.receive_data(data)
        except RemoteProtocolError as error:
            events = error.events
        self.act(events)

    def connection_lost(self, exc: Exception | None) -> None:
        """The other end learns it as well."""
        self._timer.cancel()
        self.act(self.session.receive_eof())

    def act(self, events: list[Event]) -> None:
        """Have the other end say it."""
        for event in events:
            # One that was closed at the same time cannot say it any more.
            with contextlib.suppress(LocalProtocolError):
                self._act(event)
        self.flush()
        if self.peer is not None:
            self.peer.flush()

    def flush(self) -> None:
        """Send what waits."""
        if self.transport is not None and not self.transport.is_closing():
            self.transport.writelines(self.session.buffers_to_send())
            if self.session.closed:
                self.transport.close()

    def _beat(self) -> None:
        loop = asyncio.get_running_loop()
        self.act(self.session.handle_timeout(loop.time()))
        when = self.session.next_timeout(loop.time())
        self._timer = loop.call_at(when or loop.time() + 1, self._beat)


class Link:
    """A client, the broker, and what passes between the two."""

    def __init__(self, proxy: Proxy, number: int) -> None:
        self._proxy = proxy
        self._number = number
        self._login: Any = None
        self.server: Any = Connection("server", mechanisms=("PLAIN", "AMQPLAIN", "EXTERNAL"))
        self.client: Any = None
        self.down = Line(self.server, self.on_client, lambda frames: self._show("client", frames))

    def _show(self, sender: Literal["client", "server"], frames: list[Any]) -> None:
        seconds = time.monotonic() - self._proxy.started
        for channel, frame in frames:
            name = getattr(frame, "NAME", type(frame).__name__.lower())
            raw = amqp.encode(channel, frame)
            entry = TranscriptEntry(seconds, self._number, sender, channel, name, raw)
            print(entry, file=self._proxy.out, flush=True)

    # ---- what the client said ----

    def on_client(self, event: Event) -> None:
        """Pass it on to the broker."""
        match event:
            case session_events.LoginRequested():
                self._login = event
                self.server.accept_login()
            case session_events.OpenRequested(virtual_host):
                self._connect(virtual_host)
            case session_events.ChannelOpened(channel):
                channel.context = self.client.open_channel(channel.number)
                channel.context.context = channel
            case session_events.Requested(None, request):  # connection.update-secret
                method = request.method
                assert isinstance(method, amqp.Connection.UpdateSecret)
                own_request = self.client.update_secret(method.new_secret, method.reason)
                own_request.context = request
            case session_events.Requested(Channel() as channel, request):
                own_request = channel.context.send(request.method)
                if own_request is not None:
                    own_request.context = request
            case session_events.MethodReceived(channel, method):
                channel.context.send(method)
            case session_events.Published(channel, message):
                channel.context.send(message.method, message.properties, message.body)
            case session_events.Acknowledged(channel, tags):
                for tag in tags:
                    channel.context.ack(tag)
            case session_events.Rejected(channel, tags, requeue):
                for tag in tags:
                    channel.context.reject(tag, requeue=requeue)
            case session_events.ChannelClosed(channel, code, text):
                channel.context.close(code, text)
            case session_events.ConnectionClosed(code, text) if self.client is not None:
                self.client.close(code, text)

    def _connect(self, virtual_host: str) -> None:
        """To the broker, with what the client gave and agreed to."""
        login = self._login
        self.client = Connection(
            "client",
            mechanism=login.mechanism,
            sasl=lambda challenge: login.response,
            virtual_host=virtual_host,
            locale=login.locale,
            client_properties=login.peer_properties,
            channel_max=self.server.channel_max,
            frame_max=self.server.frame_max,
            heartbeat=self.server.heartbeat,
        )
        up = Line(self.client, self.on_broker, lambda frames: self._show("server", frames))
        up.peer, self.down.peer = self.down, up
        self._task = asyncio.ensure_future(self._open(up))

    async def _open(self, up: Line) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(lambda: up, self._proxy.host, self._proxy.port)
        except OSError as error:
            self.server.refuse_open(541, f"the broker cannot be reached: {error}")
            self.down.flush()

    # ---- what the broker said ----

    def on_broker(self, event: Event) -> None:
        """Pass it on to the client."""
        match event:
            case session_events.ConnectionOpened():
                self.server.accept_open()
            case session_events.Replied(_, request, reply):
                if isinstance(reply, amqp.Message):
                    request.context.respond(reply.method, reply.properties, reply.body)
                elif request.context is not None:
                    request.context.respond(reply)
            case session_events.Delivered(consumer, message):
                channel = consumer.channel.context
                channel.send(message.method, message.properties, message.body)
            case session_events.Returned(channel, message):
                channel.context.send(message.method, message.properties, message.body)
            case session_events.Acked(channel, tags):
                for tag in tags:
                    channel.context.ack(tag)
            case session_events.Nacked(channel, tags):
                for tag in tags:
                    channel.context.nack(tag)
            case session_events.ConsumerCancelled(consumer):
                consumer.channel.context.cancel(consumer.tag, no_wait=True)
            case session_events.FlowChanged(channel, active):
                channel.context.flow(active)
            case session_events.Blocked(reason):
                self.server.send(amqp.Connection.Blocked(reason))
            case session_events.Unblocked():
                self.server.send(amqp.Connection.Unblocked())
            case session_events.ChannelClosed(channel, code, text, method):
                channel.context.close(code, text, METHODS.get(method or ""))
            case session_events.ConnectionClosed(code, text, method):
                blamed = METHODS.get(method or "")
                self.server.close(code or 320, text, blamed)


class Proxy:
    """Where to listen, where the broker is, and where to show."""

    def __init__(self, host: str, port: int, out: TextIO) -> None:
        self.host, self.port = host, port
        self.out = out
        self.started = time.monotonic()
        self.links: list[Link] = []

    async def start(self, port: int = 0) -> int:
        """Listen; the port."""

        def make() -> Line:
            self.links.append(Link(self, len(self.links) + 1))
            return self.links[-1].down

        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(make, "127.0.0.1", port)
        number: int = self._server.sockets[0].getsockname()[1]
        return number


async def main(listen: str = "5673", host: str = "localhost", port: str = "5672") -> None:
    """Serve until it is interrupted."""
    await Proxy(host, int(port), sys.stdout).start(int(listen))
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4]))
