"""AMQP 1.0's connection: bytes in, events out, and what it has to send."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ... import v1_0 as amqp
from ..._facade.scalars import as_int
from ...errors import DecodeError
from .._types import Event, Role
from ..errors import LocalProtocolError
from . import rules
from .conditions import error_of
from .ending import end_connection, fail_connection
from .endpoint import symbols_of
from .heartbeats import Heartbeats
from .incoming import take_frame
from .layers import Layers
from .limits import Limits
from .objects import Rules, SessionEndpoint
from .sasl import Mechanism, SaslServer

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["Connection"]


class Connection(SessionEndpoint):
    """One end of a connection of AMQP 1.0, without I/O, clock or threads.

    Feed it what the transport received, send what it has to send, and ask it when it wants to be
    woken::

        events = connection.receive_data(data)
        transport.sendall(connection.data_to_send())

    A client sends its open as soon as the layers below are up. Sessions can begin from then on,
    also before the server has answered: while its limits are not known, frames have 512 bytes at
    most. A server answers ConnectionRequested by `accept` or `refuse`.

    Args:
        role: "client" or "server".
        container_id: this end's name; a random one by default.
        hostname: client: the host that is meant.
        sasl: client: a mechanism, or several, the best first; server: a SaslServer. None: without
            the SASL layer.
        tls: negotiate TLS inside of AMQP (§5.2): client: begin with it; server: take it where a
            client asks. Not for port 5671, where TLS is there before AMQP.
        max_frame_size: largest frame that this end takes, in bytes, 512 at least.
        idle_timeout: seconds of silence after which the peer is taken for dead; half of it is
            sent to the peer. None for no limit.
        limits: see Limits.
        offered_capabilities, desired_capabilities, properties: of this end's open.

    Spec: 1.0 Part 2 §2.4.
    """

    _rules: ClassVar[Rules] = rules

    def __init__(
        self,
        role: Role,
        *,
        container_id: str | None = None,
        hostname: str | None = None,
        sasl: Mechanism | Sequence[Mechanism] | SaslServer | None = None,
        tls: bool = False,
        max_frame_size: int = 65_536,
        idle_timeout: float | None = None,
        limits: Limits | None = None,
        offered_capabilities: Sequence[str] | None = None,
        desired_capabilities: Sequence[str] | None = None,
        properties: dict[Any, Any] | None = None,
    ) -> None:
        if role not in ("client", "server"):
            raise ValueError(f'role is "client" or "server", not {role!r}')
        max_frame_size = as_int(max_frame_size)
        if not amqp.MIN_MAX_FRAME_SIZE <= max_frame_size < 1 << 32:
            raise ValueError(f"max_frame_size is 512 to 2**32 - 1, not {max_frame_size}")
        heartbeats = Heartbeats(as_int(idle_timeout))
        limits = limits or Limits()
        open_frame = amqp.Open(
            container_id or uuid.uuid4().hex,
            hostname,
            max_frame_size=max_frame_size,
            channel_max=limits.sessions - 1,
            idle_time_out=heartbeats.advertised,
            offered_capabilities=symbols_of(offered_capabilities),
            desired_capabilities=symbols_of(desired_capabilities),
            properties=properties,
        )
        super().__init__(role, open_frame, max_frame_size, limits, heartbeats)
        self._decoder = amqp.Decoder(max_frame_size)
        self._layers = Layers(self, _checked_sasl(role, sasl), tls)

    def receive_data(self, data: Buffer) -> list[Event]:
        """Take bytes from the peer, in any chunking; what they mean, in order.

        Empty data means nothing; `receive_eof` says that the peer has closed.

        Raises:
            RemoteProtocolError: the peer broke the protocol. Its ``events`` holds what came
                before; a close is queued.
        """
        if self._error is not None:
            raise self._error.again()
        remainder = memoryview(data).cast("B")
        if self._over or not remainder:
            return self._take_events()
        self._heartbeats.received = True
        while remainder and self._stage == "header":
            remainder = self._layers.take_header(remainder)
        if remainder:
            if self._stage == "tls":
                raise LocalProtocolError("TLS was agreed on: call tls_established() first")
            try:
                for channel, frame in self._decoder.feed(remainder):
                    take_frame(self, self._layers, channel, frame)
                    if self._over:
                        break
            except DecodeError as error:
                fail_connection(
                    self,
                    error.condition,
                    str(error),
                    channel=error.channel,
                    method=error.method,
                )
        return self._take_events()

    def receive_eof(self) -> list[Event]:
        """Say that no more bytes come: the transport was closed or lost.

        Whatever was open ends: an event for each link, session and the connection. A second call,
        or one after an orderly close, gives none.
        """
        if not self._over:
            end_connection(self, None, closed_by="remote", clean=False)
        return self._take_events()

    def next_timeout(self, now: float) -> float | None:
        """When to call `handle_timeout` at the latest, on the clock of now; None for never.

        Args:
            now: seconds of any clock that does not go backward (``time.monotonic()``).
        """
        return None if self._over else self._heartbeats.next_timeout(now)

    def handle_timeout(self, now: float) -> list[Event]:
        """Do what is due: queue a heartbeat, or end a connection whose peer is silent."""
        if not self._over:
            heartbeat, silent = self._heartbeats.due(now)
            if silent:
                text = "nothing came for the whole idle-time-out"
                error = error_of(amqp.AmqpError.RESOURCE_LIMIT_EXCEEDED, text)
                if self._open_sent and not self._close_sent:
                    self._queue(0, amqp.Close(error))
                end_connection(self, error, closed_by="local", clean=False)
            elif heartbeat and self._open_sent and not self._close_sent:
                self._queue_raw(amqp.encode(0, amqp.Heartbeat()))
        return self._take_events()

    def tls_established(self) -> None:
        """Say that TLS is there, after StartTls. The bytes are the decrypted ones from now on."""
        self._layers.tls_established()

    def authenticate(
        self, accepted: bool = True, code: amqp.SaslCode | int = amqp.SaslCode.AUTH
    ) -> None:
        """Server: decide an AuthenticationRequested. code: what a refusal says.

        A connection that is over stays as it is.
        """
        if self._over:
            return
        self._layers.authenticate(accepted, code)


def _checked_sasl(
    role: Role, sasl: Mechanism | Sequence[Mechanism] | SaslServer | None
) -> tuple[Mechanism, ...] | SaslServer | None:
    if sasl is None:
        return None
    if isinstance(sasl, SaslServer):
        if role == "client":
            raise TypeError("a client takes mechanisms: Plain(...), Anonymous(), ...")
        return sasl
    if role == "server":
        raise TypeError("a server takes a SaslServer")
    return tuple(sasl) if isinstance(sasl, Sequence) else (sasl,)
