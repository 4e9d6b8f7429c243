"""py-amqp's transports: what a socket may say between the pieces of a frame, with and without."""

from __future__ import annotations

import errno
import itertools
import select
import socket
from typing import Any

import pytest

pytest.importorskip("amqp")

from amqp.transport import SSLTransport, TCPTransport

from amqpcodec.compat import amqp as drop_in

FRAME = b"\x01\0\x01\0\0\0\x05hello\xce"
EVENTS: dict[str, Exception | None] = {
    "no more for now": None,
    "again": OSError(errno.EAGAIN, "again"),
    "interrupted": OSError(errno.EINTR, "interrupted"),
    "no entry": OSError(errno.ENOENT, "no entry"),
    "late": TimeoutError("timed out"),
    "reset": ConnectionResetError(errno.ECONNRESET, "reset"),
    "closed": EOFError(),
}


def run(kind: type[Any], events: dict[int, str], initial: bool, buffered: bytes) -> list[Any]:
    """What two frames give, where a socket has something to say before some of their bytes.

    Where in the stream a transport is after each, is where its own bytes begin.
    """
    data = FRAME + FRAME
    remaining_events = dict(events)

    class Memory(kind):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            self._read_buffer = buffered
            self._quick_recv = self.receive
            self.raise_on_initial_eintr = initial
            self.connected = True
            self.sock = None
            self.at = len(buffered)

        def receive(self, size: int) -> bytes:
            event = EVENTS[remaining_events.pop(self.at)] if self.at in remaining_events else None
            if isinstance(event, EOFError):
                return b""
            if event is not None:
                raise event
            end = min([self.at + size, *(at for at in remaining_events if at > self.at)])
            piece = data[self.at : end]
            self.at += len(piece)
            return piece

        def __del__(self) -> None:
            """There is no socket."""

    one, results = Memory(), []
    for _ in range(len(events) + 2):
        try:
            results.append(one.read_frame())
        except Exception as error:
            results.append((type(error), str(error), type(error.__context__)))
        buffered = one._read_buffer
        # What is kept are the bytes in front of those that the socket has still.
        assert data[one.at - len(buffered) : one.at] == buffered
        results.append((one.at - len(buffered), one.connected))
        if one.at - len(one._read_buffer) == len(data):
            break
    return results


SHORTEST = b"\x08\0\0\0\0\0\0\xce"


@pytest.mark.parametrize("kind", [TCPTransport, SSLTransport])
def test_a_socket_still_tells_of_each_frame(kind: type[Any]) -> None:
    """Whoever waits for a socket to become readable would not see a frame that was taken of it."""
    drop_in.install()
    try:
        for frames in itertools.product([FRAME, SHORTEST], repeat=3):
            end, other = socket.socketpair()
            with end, other:
                other.sendall(b"".join(frames))
                one = object.__new__(kind)
                one.sock, one.connected, one.raise_on_initial_eintr = end, True, True
                one._read_buffer = b""
                one._quick_recv = end.recv
                for at, frame in enumerate(frames):
                    assert one.read_frame()[2] == frame[7:-1]
                    readable, _, _ = select.select([end], [], [], 0)
                    assert bool(readable) is (at < 2)
                one.sock = None
    finally:
        drop_in.uninstall()


@pytest.mark.parametrize("kind", [TCPTransport, SSLTransport])
@pytest.mark.parametrize("initial", [True, False])
@pytest.mark.parametrize("buffered", [b"", FRAME[:4], FRAME[:9]])
def test_as_without(kind: type[Any], initial: bool, buffered: bytes) -> None:
    places = range(len(buffered), len(FRAME) + 8)
    pairs = [(one, other) for one in places for other in places if one < other]
    names = itertools.cycle(itertools.product(EVENTS, repeat=2))
    single = [{at: event} for at in places for event in EVENTS]
    double = [dict(zip(pair, next(names), strict=True)) for pair in pairs for _ in range(3)]
    drop_in.uninstall()
    expected = [run(kind, events, initial, buffered) for events in single + double]
    drop_in.install()
    try:
        for events, results in zip(single + double, expected, strict=True):
            before = drop_in.calls()
            assert run(kind, events, initial, buffered) == results, events
            assert drop_in.calls() > before
    finally:
        drop_in.uninstall()


@pytest.mark.parametrize(
    ("kind", "event"),
    [(TCPTransport, "again"), (SSLTransport, "again"), (SSLTransport, "no entry")],
)
def test_nothing_to_read_is_no_fallback(kind: type[Any], event: str) -> None:
    """py-amqp looks for frames before each message that it publishes: mostly there is none."""
    drop_in.install()
    try:
        before = drop_in.fallbacks()
        results = run(kind, {0: event}, True, b"")
        assert results[0] == (TimeoutError, "", type(EVENTS[event]))
        assert drop_in.fallbacks() == before
    finally:
        drop_in.uninstall()
