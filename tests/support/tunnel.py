"""A TCP tunnel to a broker that records what both sides say and how each of them ends."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from types import TracebackType

from tests.support.recording import ACK, CLIENT, FIN, RST, SERVER, SYN, Record, segment

TO_SERVER, TO_CLIENT = 0, 1
#: SO_LINGER with which a close is a reset.
AT_ONCE = struct.pack("ii", 1, 0)
LARGEST = 60_000


class Tunnel:
    """Listens on a port of its own; packets() has the recording so far."""

    def __init__(self, broker: tuple[str, int]) -> None:
        """broker: where connections lead."""
        self._broker = broker
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        #: (ns, the client's port, side, bytes, flags) in the order in which they came.
        self._said: list[tuple[int, int, int, bytes, int]] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Tunnel:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._listener.close()

    def packets(self) -> list[Record]:
        """What was recorded, as packets with their times."""
        out: list[Record] = []
        places: dict[int, list[int]] = {}
        with self._lock:
            said = list(self._said)
        for moment, port, side, data, flags in said:
            ends = (CLIENT[0], port), SERVER
            if port not in places:
                places[port] = [1001, 5001]
                out.append(Record(segment(*ends, 1000, b"", SYN), moment))
                out.append(Record(segment(*reversed(ends), 5000, b"", SYN | ACK, 1001), moment))
            place = places[port]
            numbers = place[side], data, flags, place[1 - side]
            out.append(Record(segment(ends[side], ends[1 - side], *numbers), moment))
            place[side] += len(data) + (flags & FIN != 0)
        return out

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, (_, port) = self._listener.accept()
                sides = client, socket.create_connection(self._broker)
                for side in (TO_SERVER, TO_CLIENT):
                    threading.Thread(
                        target=self._carry, args=(port, side, sides), daemon=True
                    ).start()

    def _carry(self, port: int, side: int, sides: tuple[socket.socket, socket.socket]) -> None:
        """Hand on what one side says, until it ends."""
        source, target = sides[side], sides[1 - side]
        while True:
            try:
                data = source.recv(LARGEST)
            except OSError:
                self._record(port, side, b"", RST | ACK)
                with contextlib.suppress(OSError):
                    target.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
                    target.close()
                return
            self._record(port, side, data, ACK if data else FIN | ACK)
            try:
                if data:
                    target.sendall(data)
                else:
                    target.shutdown(socket.SHUT_WR)
                    return
            except OSError:
                return  # the other direction records why

    def _record(self, port: int, side: int, data: bytes, flags: int) -> None:
        with self._lock:
            self._said.append((time.time_ns(), port, side, data, flags))
