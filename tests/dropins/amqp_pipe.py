"""A transport of py-amqp without a socket."""

from __future__ import annotations

from amqp.transport import TCPTransport


class OctetPipe(TCPTransport):
    """A transport over bytes in memory, as a subclass's receive gives them."""

    def __init__(self) -> None:
        self._read_buffer = b""
        self.connected = True
        self.raise_on_initial_eintr = True
        self.sock = None
        self._quick_recv = self.receive

    def receive(self, size: int) -> bytes:
        raise NotImplementedError

    def __del__(self) -> None:
        """There is no socket."""
