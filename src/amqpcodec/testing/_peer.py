"""One client: what its session reports, and what the broker does about it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .. import v0_9_1 as amqp
from ..session import (
    Acknowledged,
    Channel,
    ChannelClosed,
    ChannelOpened,
    Connection,
    Event,
    LoginRequested,
    MethodReceived,
    OpenRequested,
    PeerRequest,
    Published,
    Rejected,
    RemoteProtocolError,
    Requested,
)
from ._channels import MAX_MESSAGE, ClientChannel
from ._frames import Frame
from ._node import Node
from ._refusals import CHANNEL_CODES, Refusal, not_modelled
from ._requests import handle
from ._virtual_host import VirtualHost
from ._wire import Transport, Wire

__all__ = ["Peer"]

_CAPABILITIES = {
    "publisher_confirms": True,
    "exchange_exchange_bindings": True,
    "basic.nack": True,
    "consumer_cancel_notify": True,
    "connection.blocked": True,
    "consumer_priorities": True,
    "authentication_failure_close": True,
    "per_consumer_qos": True,
    "direct_reply_to": True,
}
_ANNOUNCED = {"cancel": "consumer_cancel_notify", "blocked": "connection.blocked"}


class Peer:
    """A connection.

    Attributes:
        number: from 1.
        session: its state by the protocol.
        wire: its frames.
        username: who logged in; "" before.
        channels: by number.
    """

    def __init__(self, node: Node, transport: Transport, number: int, **options: Any) -> None:
        self.node = node
        properties = {
            "product": "amqpcodec.testing",
            "version": node.profile.version,
            "capabilities": _CAPABILITIES,
        }
        # Larger bodies than RabbitMQ takes are read, too, and refused as it does.
        options["max_body_size"] = 2 * MAX_MESSAGE
        self.session = Connection("server", server_properties=properties, **options)
        self.number = number
        self.wire = Wire(node, self, transport, number)
        self.username = ""
        self.channels: dict[int, ClientChannel] = {}
        self._host: VirtualHost | None = None
        self._frame = ""
        self._acks: dict[Channel, list[int]] = {}
        self._is_blocked = False
        self._is_lost = False

    def has(self, capability: str) -> bool:
        """Whether the client announces one: "cancel" or "blocked"."""
        table = self.session.peer_properties.get("capabilities")
        return isinstance(table, dict) and table.get(_ANNOUNCED[capability]) is True

    # ---- what comes ----

    def take(self, frame: Frame) -> None:
        """Act on a frame."""
        self._frame = frame.name
        try:
            events = self.session.receive_data(frame.raw)
        except RemoteProtocolError as error:
            events = error.events
        for event in events:
            self._act(event)
        if self.session.closed:
            self._leave()

    def lost(self) -> None:
        """The transport is gone."""
        if not self.session.closed:
            try:
                self.session.receive_eof()
            except RemoteProtocolError:
                pass
            self.session.data_to_send()
        self._leave()
        if not self._is_lost:
            self._is_lost = True
            if self in self.node.peers:
                self.node.peers.remove(self)

    def _leave(self) -> None:
        """Consumers end, deliveries go back, exclusive queues are deleted."""
        for channel in list(self.channels.values()):
            self.forget(channel)
        self.node.delete_exclusive(self)

    def look_at_clock(self) -> float | None:
        """Send a heartbeat, or give a silent client up; seconds until the next look.

        Heartbeats are in real time: the client's are, too.
        """
        now = time.monotonic()
        if self.wire.is_deaf:
            self.session.receive_data(b"")  # it is not the client that is silent
        self.session.handle_timeout(now)
        if self.session.closed and not self.wire.is_over:
            self.wire.end()
        due = self.session.next_timeout(now)
        return None if due is None else max(due - now, 0)

    def _act(self, event: Event) -> None:
        match event:
            case LoginRequested():
                self._log_in(event)
            case OpenRequested(virtual_host):
                self._open(virtual_host)
            case ChannelOpened(channel):
                assert self._host is not None
                self.channels[channel.number] = ClientChannel(self.node, self, self._host, channel)
            case ChannelClosed(channel):
                known = self.channels.get(channel.number)
                if known is not None and known.session is channel:
                    self.forget(known)
            case Requested(None, request):
                self._request_of_connection(request)
            case Requested(channel, request) if channel is not None:
                self._try(channel, request.method, lambda one: handle(one, request))
            case Published(channel, message, tag):
                self._try(channel, message.method, lambda one: one.publish(message, tag))
                self._block_if_needed()
            case Acknowledged(channel, tags):
                self._try(channel, None, lambda one: one.acknowledge(tags))
            case Rejected(channel, tags, requeue):
                is_reject = self._frame == "basic.reject"
                self._try(channel, None, lambda one: one.reject(tags, requeue, is_reject))
            case MethodReceived(channel, amqp.Basic.RecoverAsync() as method):
                self._try(channel, method, self._recover_async)
            case MethodReceived(channel, method):
                self._try(channel, method, self._refuse_method)

    def _try(self, channel: Channel, method: Any, act: Callable[[ClientChannel], None]) -> None:
        """Act on a channel; a refusal closes it, or the connection."""
        known = self.channels.get(channel.number)
        if known is None or known.session is not channel:
            return  # closed by the broker meanwhile
        try:
            act(known)
        except Refusal as refusal:
            if refusal.reply_code in CHANNEL_CODES:
                known.close(refusal.reply_code, refusal.text, method)
            else:
                self.close(refusal.reply_code, refusal.text, method)

    @staticmethod
    def _recover_async(channel: ClientChannel) -> None:
        channel.requeue(list(channel.unacked), counts=True)

    def _refuse_method(self, channel: ClientChannel) -> None:
        raise not_modelled(f"the method {self._frame}")

    # ---- the connection ----

    def _log_in(self, event: LoginRequested) -> None:
        name = event.username
        if name is not None and self.node.users.get(name) == event.password:
            self.username = name
            self.session.accept_login()
        else:
            self.session.refuse_login(
                "Login was refused using authentication mechanism "
                f"{event.mechanism}. For details see the broker logfile."
            )

    def _open(self, name: str) -> None:
        host = self.node.hosts.get(name)
        if host is None:
            self.session.refuse_open(530, f"vhost {name} not found")
            return
        self._host = host
        self.session.accept_open()

    def _request_of_connection(self, request: PeerRequest) -> None:
        method = request.method
        if isinstance(method, amqp.Connection.UpdateSecret):
            password = bytes(method.new_secret).decode("utf-8", "replace")
            if self.node.users.get(self.username) == password:
                request.respond(amqp.Connection.UpdateSecretOk())
            else:
                self.close(530, "New secret was refused by one of the backends", method)
            return
        self.close(540, f"amqpcodec.testing does not model the method {method.NAME}", method)

    def _block_if_needed(self) -> None:
        """RabbitMQ blocks a connection once it publishes, and tells it then."""
        if self.node.alarm is None or self._is_blocked or not self.session.is_open:
            return
        self._is_blocked = True
        if self.has("blocked"):
            self.session.send(amqp.Connection.Blocked(self.node.alarm))
        self.wire.set_blocked(True)

    def unblock(self) -> None:
        """The resource is there again."""
        if self._is_blocked:
            self._is_blocked = False
            if self.has("blocked") and self.session.is_open:
                self.session.send(amqp.Connection.Unblocked())
            self.wire.set_blocked(False)

    # ---- what goes ----

    def confirm(self, channel: Channel, tag: int, *, is_ack: bool) -> None:
        """Confirm a publication, at once or with others that came together with it."""
        if not is_ack:
            channel.nack(tag)
        elif self.node.coalesce_confirms:
            self._acks.setdefault(channel, []).append(tag)
        else:
            channel.ack(tag)

    def all_taken(self) -> None:
        """All that came was handled: confirms that waited for each other go."""
        for channel, tags in self._acks.items():
            last = max(tags)
            waiting = [tag for tag in channel.publications if tag <= last]
            if channel.is_open and waiting == sorted(tags):
                channel.ack(last, multiple=True)
            else:
                for tag in tags:
                    channel.ack(tag)
        self._acks.clear()

    def close_channel(self, number: int, reply_code: int, text: str) -> None:
        """Close a channel, if it is open."""
        channel = self.channels.get(number)
        if channel is not None:
            channel.close(reply_code, text)

    def cancel_consumers(self, number: int, consumer_tag: str | None) -> None:
        """Cancel a consumer of a channel, or all."""
        channel = self.channels.get(number)
        if channel is None:
            return
        for tag, subscription in list(channel.subscriptions.items()):
            if consumer_tag in (None, tag):
                channel.unsubscribe(subscription)
                channel.cancelled_by_broker(subscription)

    def close(self, reply_code: int, text: str, method: Any = None) -> None:
        """Close the connection: all that it had goes back at once."""
        if self.session.close_reason is not None:
            return
        self.session.close(reply_code, self.session.reply_text(reply_code, text), method)
        self._leave()

    def forget(self, channel: ClientChannel) -> None:
        """A channel is over."""
        if self.channels.pop(channel.session.number, None) is not None:
            channel.over()
