"""What every session has, whichever version of AMQP it speaks."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from .events import Event

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from ._legacy import LegacyConnection
    from ._v1 import V1Connection

__all__ = ["Connection", "Role"]

Role: TypeAlias = Literal["client", "server"]

#: Version -> (module, class) of its engine, loaded when it is asked for.
_ENGINES = {"1.0": ("._v1", "V1Connection")}
_LEGACY = ("._legacy", "LegacyConnection")


class Connection:
    """One end of an AMQP connection, without I/O, clock or threads.

    ``Connection("client", protocol="0-9-1")`` gives the engine of that protocol. Feed it what
    the transport received, send what it has to send, and ask it when it wants to be woken::

        events = connection.receive_data(data)
        transport.sendall(connection.data_to_send())

    Args:
        role: "client" or "server".
        protocol: "0-9-1", "0-9", "0-8", "1.0", or a protocol module, such as of `load_xml_spec`.
        options: the engine's own; see docs/session.md.
    """

    __slots__ = ()

    @overload
    def __new__(
        cls,
        role: Role,
        *,
        protocol: Literal["0-9-1", "0-9", "0-8"] | ModuleType = ...,
        **options: Any,
    ) -> LegacyConnection: ...

    @overload
    def __new__(cls, role: Role, *, protocol: Literal["1.0"], **options: Any) -> V1Connection: ...

    @overload
    def __new__(cls, role: Role, *, protocol: str, **options: Any) -> Connection: ...

    def __new__(
        cls, role: Role, *, protocol: str | ModuleType = "0-9-1", **options: Any
    ) -> Connection:
        """Choose the engine; its ``__init__`` takes the options."""
        if cls is not Connection:
            return super().__new__(cls)
        version = protocol if isinstance(protocol, str) else protocol.PROTOCOL.name
        module, name = _ENGINES.get(version, _LEGACY)
        engine = getattr(importlib.import_module(module, __package__), name)
        connection: Connection = engine.__new__(engine, role)
        return connection

    def receive_data(self, data: Buffer) -> list[Event]:
        """Take bytes from the peer, in any chunking; what they mean, in order.

        Empty data means nothing; `receive_eof` says that the peer has closed.

        Raises:
            RemoteProtocolError: the peer broke the protocol. Its ``events`` holds what came
                before; a close is queued.
        """
        raise NotImplementedError

    def receive_eof(self) -> list[Event]:
        """Say that no more bytes come: the transport was closed or lost.

        Whatever was open ends: an event for each request, channel and the connection. A second
        call, or one after an orderly close, gives none.
        """
        raise NotImplementedError

    def data_to_send(self) -> bytes:
        """All bytes that wait to be sent, which are then forgotten here."""
        return b"".join(self.buffers_to_send())

    def buffers_to_send(self) -> list[bytes | memoryview]:
        """The same as buffers for ``sendmsg`` or ``writelines``: bodies are not copied."""
        raise NotImplementedError

    @property
    def bytes_to_send(self) -> int:
        """How many bytes wait to be sent: the caller's measure for back-pressure."""
        raise NotImplementedError

    def next_timeout(self, now: float) -> float | None:
        """When to call `handle_timeout` at the latest, on the clock of now; None for never.

        Args:
            now: seconds of any clock that does not go backward (``time.monotonic()``).
        """
        raise NotImplementedError

    def handle_timeout(self, now: float) -> list[Event]:
        """Do what is due: queue a heartbeat, or end a connection whose peer is silent."""
        raise NotImplementedError

    @property
    def closed(self) -> bool:
        """Whether the connection is over: once sent what waits, close the transport."""
        raise NotImplementedError
