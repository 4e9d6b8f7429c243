"""Sockets, and the thread that serves them."""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from typing import Protocol

__all__ = ["Line", "LineHandler", "Server"]

#: Seconds that a client has to close a transport that was ended here.
_LINGER = 2.0
_READ_BYTES = 262_144
#: Seconds; selectors count milliseconds in 32 bits.
_LONGEST_WAIT = 3600.0


class LineHandler(Protocol):
    """What a line tells of."""

    def received(self, data: bytes) -> None:
        """Bytes came."""

    def received_eof(self) -> None:
        """Nothing more will come."""


class Line:
    """A socket: what is sent waits here until the thread comes by."""

    def __init__(self, server: Server, sock: socket.socket, tls: ssl.SSLContext | None) -> None:
        self._server = server
        self.socket = sock
        self.handler: LineHandler | None = None
        self._waiting = bytearray()
        self._is_reading = True
        self.is_ending = False
        self._is_aborting = False
        self._is_shut = False
        self._ended_at: float | None = None
        self.is_closed = False
        self._tls: ssl.SSLSocket | None = None
        self._is_shaking = tls is not None
        self._wants_to_write = False
        if tls is not None:
            self._tls = tls.wrap_socket(
                sock, server_side=True, do_handshake_on_connect=False, suppress_ragged_eofs=True
            )
            self.socket = self._tls

    # ---- what a wire asks for ----

    def send(self, data: bytes) -> None:
        """Send bytes, sooner or later."""
        self._waiting += data

    def end(self) -> None:
        """Send what waits, then EOF."""
        self.is_ending = True

    def abort(self) -> None:
        """Send what waits, then reset the connection."""
        self._is_aborting = True

    def set_reading(self, reading: bool) -> None:
        """Whether to read at all."""
        self._is_reading = reading

    # ---- the thread ----

    def interest(self) -> int:
        """What to wait for."""
        if self._is_shaking:
            return selectors.EVENT_WRITE if self._wants_to_write else selectors.EVENT_READ
        reads = self._is_reading or self._is_shut
        wanted = selectors.EVENT_READ if reads else 0
        return wanted | (selectors.EVENT_WRITE if self._waiting and not self._is_shut else 0)

    def work(self, now: float) -> None:
        """Send what waits, and end what is to end."""
        if self._is_shaking and not (self._is_aborting or self.is_ending):
            return
        if not self._is_shaking:
            self._write()
        if self._is_aborting:
            with contextlib.suppress(OSError):
                linger = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.close()
        elif self.is_ending and not self._is_shut and not self._waiting:
            self._is_shut = True
            self._ended_at = now
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_WR)
        if self._ended_at is not None and now - self._ended_at > _LINGER:
            self.close()

    def ready(self, mask: int) -> None:
        """The socket can be read or written."""
        if self._is_shaking:
            self._shake_hands()
        elif mask & selectors.EVENT_READ:
            self._read()

    def _shake_hands(self) -> None:
        assert self._tls is not None
        try:
            self._tls.do_handshake()
            self._is_shaking = self._wants_to_write = False
        except ssl.SSLWantReadError:
            self._wants_to_write = False
        except ssl.SSLWantWriteError:
            self._wants_to_write = True
        except OSError:
            self._lost()

    def _read(self) -> None:
        most = self._server.read_bytes or _READ_BYTES
        while not self.is_closed:
            try:
                data = self.socket.recv(most)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            except OSError:
                data = b""
            if not data:
                self._lost()
                return
            if self._is_shut:
                continue  # nobody listens any more
            if self.handler is not None:
                self.handler.received(data)
            if self._tls is None or not self._tls.pending() or not self._is_reading:
                return

    def _write(self) -> None:
        most = self._server.write_bytes
        while self._waiting and not self._is_shut:
            part = self._waiting[:most] if most else self._waiting
            try:
                sent = self.socket.send(part)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            except OSError:
                self._waiting.clear()
                return
            del self._waiting[:sent]
            if most:
                return  # the rest with the next look

    def _lost(self) -> None:
        self.close()
        if self.handler is not None:
            self.handler.received_eof()

    def close(self) -> None:
        """Close the socket."""
        if not self.is_closed:
            self.is_closed = True
            self._server.unregister(self)
            with contextlib.suppress(OSError):
                self.socket.close()


class Server:
    """Listens on 127.0.0.1 and serves in a thread of its own.

    Attributes:
        lock: held while anything is changed.
        changed: notified after each look at the sockets.
        read_bytes, write_bytes: how many bytes are read and written at a time; 0 for as many as
            there are.
        port: where it listens.
    """

    def __init__(
        self,
        connect: Callable[[Line], LineHandler | None],
        tick: Callable[[], float | None],
        port: int,
        tls: ssl.SSLContext | None,
    ) -> None:
        """connect: called with each new line; tick: does what is due, says when to call again."""
        self._connect = connect
        self._tick = tick
        self._tls = tls
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.read_bytes = 0
        self.write_bytes = 0
        self.port = port
        self.error: BaseException | None = None
        self._lines: set[Line] = set()
        self._registered: dict[Line, int] = {}
        self._selector = selectors.DefaultSelector()
        self._wake_in, self._wake_out = socket.socketpair()
        for end in (self._wake_in, self._wake_out):
            end.setblocking(False)
        self._selector.register(self._wake_in, selectors.EVENT_READ)
        self._listener: socket.socket | None = None
        self._is_listening = False
        #: A listener that the thread is to close: no other one takes it out of the selector.
        self._old_listener: socket.socket | None = None
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name="amqpcodec.testing", daemon=True)

    # ---- other threads ----

    def start(self) -> None:
        """Listen, and serve from now on."""
        self.listen()
        self._thread.start()

    def stop(self) -> None:
        """Close all sockets, and end the thread."""
        with self.lock:
            self._is_stopping = True
        self.wake()
        if self._thread.ident is not None:
            self._thread.join(10)
        with self.lock:
            for line in list(self._lines):
                line.close()
            self._old_listener, self._listener = self._listener or self._old_listener, None
            self._close_listener()
            self._selector.close()
            self._wake_in.close()
            self._wake_out.close()

    def wake(self) -> None:
        """Let the thread look now."""
        with contextlib.suppress(OSError):
            self._wake_out.send(b"x")

    def listen(self) -> None:
        """Take connections, at the same port as before."""
        if self._listener is not None:
            return
        listener = socket.create_server(("127.0.0.1", self.port), backlog=128)
        listener.setblocking(False)
        self.port = listener.getsockname()[1]
        self._listener = listener
        self.wake()

    def refuse(self) -> None:
        """Take none: clients see that the connection is refused."""
        if self._listener is None:
            return
        self._old_listener, self._listener = self._listener, None
        self.wake()
        with self.changed:
            self.changed.wait_for(lambda: self._old_listener is None, 10)

    def _close_listener(self) -> None:
        """Of the thread, or after its end."""
        if self._old_listener is not None:
            with contextlib.suppress(KeyError, ValueError, OSError):
                self._selector.unregister(self._old_listener)
            self._old_listener.close()
            self._old_listener = None
            self._is_listening = False

    def unregister(self, line: Line) -> None:
        """A line is closed."""
        self._lines.discard(line)
        if self._registered.pop(line, 0):
            with contextlib.suppress(KeyError, ValueError, OSError):
                self._selector.unregister(line.socket)

    # ---- the thread ----

    def _run(self) -> None:
        try:
            while not self._is_stopping:
                with self.lock:
                    timeout = self._prepare()
                ready = self._selector.select(timeout)
                with self.lock:
                    for key, mask in ready:
                        self._handle(key, mask)
        except BaseException as error:
            self.error = error  # asserts raise it; clients are not left waiting
            with self.lock:
                self._old_listener, self._listener = self._listener or self._old_listener, None
                self._close_listener()
                for line in list(self._lines):
                    line.close()
            raise
        finally:
            with self.changed:
                self.changed.notify_all()

    def _prepare(self) -> float | None:
        self._close_listener()
        if self._listener is not None and not self._is_listening:
            self._selector.register(self._listener, selectors.EVENT_READ)
            self._is_listening = True
        timeout = self._tick()
        now = time.monotonic()
        for line in list(self._lines):
            line.work(now)
            if line.is_closed:
                continue
            wanted, registered = line.interest(), self._registered.get(line, 0)
            if wanted != registered:
                if not registered:
                    self._selector.register(line.socket, wanted, line)
                elif wanted:
                    self._selector.modify(line.socket, wanted, line)
                else:
                    self._selector.unregister(line.socket)
                self._registered[line] = wanted
            if line.is_ending:
                timeout = _LINGER if timeout is None else min(timeout, _LINGER)
        self.changed.notify_all()
        return None if timeout is None else min(timeout, _LONGEST_WAIT)

    def _handle(self, key: selectors.SelectorKey, mask: int) -> None:
        if key.fileobj is self._wake_in:
            with contextlib.suppress(OSError):
                while self._wake_in.recv(4096):
                    pass
        elif isinstance(key.data, Line):
            if not key.data.is_closed:
                key.data.ready(mask)
        elif self._listener is not None and key.fileobj is self._listener:
            self._accept(self._listener)

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            sock, _ = listener.accept()
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            line = Line(self, sock, self._tls)
            self._lines.add(line)
            line.handler = self._connect(line)
