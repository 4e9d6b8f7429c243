"""A relay between a client of AMQP 1.0 and its peer, which writes the fields that the peer omits.

A peer may omit fields that are null at the end of a performative; older clients of Azure then fail
with IndexError, in code that no drop-in touches.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from amqpcodec import v1_0 as amqp

_FIELDS = {
    kind.DESCRIPTOR: len(kind.FIELDS)
    for kind in (
        amqp.Open,
        amqp.Begin,
        amqp.Attach,
        amqp.Flow,
        amqp.Transfer,
        amqp.Disposition,
        amqp.Detach,
        amqp.End,
        amqp.Close,
    )
}
_NULL = b"\x40"


def _read(source: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = source.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def with_all_fields(frame: bytes) -> bytes:
    """The same frame; the list of its performative has each field, null where it had none.

    Frames of SASL and empty frames stay as they are.
    """
    if len(frame) == 8 or frame[5] != 0:
        return frame
    assert frame[8:10] == b"\0\x53", frame[:16]
    code, constructor = frame[10], frame[11]
    width = {0x45: 0, 0xC0: 1, 0xD0: 4}[constructor]
    start = 12 + 2 * width
    size = int.from_bytes(frame[12 : 12 + width], "big") if width else 0
    count = int.from_bytes(frame[12 + width : start], "big")
    end = start + max(size - width, 0)
    missing = _FIELDS[code] - count
    fields = frame[start:end] + _NULL * missing
    head = b"\xd0" + (len(fields) + 4).to_bytes(4, "big") + (count + missing).to_bytes(4, "big")
    rest = frame[4:11] + head + fields + frame[end:]
    return (len(rest) + 4).to_bytes(4, "big") + rest


def _as_it_is(frame: bytes) -> bytes:
    return frame


def _pass_on(
    source: socket.socket, target: socket.socket, change: Callable[[bytes], bytes]
) -> None:
    with suppress(EOFError, OSError):
        while True:
            head = _read(source, 8)
            if not head.startswith(b"AMQP"):
                head = change(head + _read(source, int.from_bytes(head[:4], "big") - 8))
            target.sendall(head)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def _accept(listener: socket.socket, address: tuple[str, int]) -> None:
    with suppress(OSError):
        while True:
            client, _ = listener.accept()
            peer = socket.create_connection(address)
            for arguments in ((client, peer, _as_it_is), (peer, client, with_all_fields)):
                threading.Thread(target=_pass_on, args=arguments, daemon=True).start()


@contextmanager
def relay(address: tuple[str, int]) -> Iterator[tuple[str, int]]:
    """Where a relay to that peer listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_accept, args=(listener, address), daemon=True).start()
        yield listener.getsockname()
