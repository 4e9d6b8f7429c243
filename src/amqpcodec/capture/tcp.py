"""TCP segments to octets in order, each direction by itself."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from .files import Packet
from .segments import ACK, FIN, RST, SYN, Endpoint, Segment

__all__ = ["Chunk", "Gap", "Reassembly", "Stream"]

_MODULUS = 1 << 32


class Chunk(NamedTuple):
    """Octets that one packet brought to a stream; ``data`` is a view of the file's octets."""

    offset: int  # of the first octet in the stream, lost octets counted
    data: memoryview
    packet: int  # number of the packet that carried them
    timestamp_ns: int | None  # of that packet
    ready: int  # number of the packet that closed the last hole before them

    @property
    def end(self) -> int:
        """Offset behind the last octet."""
        return self.offset + len(self.data)


class Gap(NamedTuple):
    """Octets of a stream that the capture does not hold."""

    offset: int
    length: int


@dataclass(slots=True)
class Stream:
    """What one side of one connection sent."""

    connection_index: int  # in order of the connections' first packets
    client: str  # "addr:port"
    server: str
    direction: str  # "client" or "server": the sender
    midstream: bool = False  # its first octets are not in the capture
    chunks: list[Chunk] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)

    @property
    def connection(self) -> tuple[str, str]:
        """The two ends, the client's first."""
        return self.client, self.server

    def pieces(self) -> Iterator[list[Chunk]]:
        """The chunks, a new list behind every gap."""
        piece: list[Chunk] = []
        for chunk in self.chunks:
            if piece and piece[-1].end != chunk.offset:
                yield piece
                piece = []
            piece.append(chunk)
        if piece:
            yield piece

    def __bytes__(self) -> bytes:
        """The octets in order; those that are missing are simply not there."""
        return b"".join(chunk.data for chunk in self.chunks)


class _Direction:
    """Puts the segments of one direction in order.

    Offsets count from the first octet seen and do not wrap; sequence numbers are turned into
    offsets by their signed distance from the next one expected.
    """

    def __init__(self, stream: Stream, limit: int) -> None:
        self.stream = stream
        self.limit = limit
        self.first: int | None = None  # sequence number of offset 0
        self.next = 0  # sequence number of the next octet in order
        self.offset = 0  # its offset
        self.known_end = 0  # highest offset that the headers tell of
        self.heap: list[tuple[int, int, int | None, memoryview]] = []
        self.waiting = 0  # octets in the heap
        self.saw_syn = self.saw_fin = False

    def begins_anew(self, segment: Segment) -> bool:
        """Whether a SYN opens another connection than the one this direction belongs to."""
        return self.first is not None and self.first != (segment.sequence + 1) % _MODULUS

    def add(self, packet: Packet, segment: Segment) -> None:
        sequence = segment.sequence
        if segment.flags & SYN:
            sequence = (sequence + 1) % _MODULUS
            self.saw_syn = True
            self.stream.midstream = False
        if self.first is None:
            self.first = self.next = sequence
            self.stream.midstream = not self.saw_syn
        if segment.flags & RST:
            return  # what a reset carries is text about the reset
        at = self.position(sequence)
        self.known_end = max(self.known_end, at + segment.length)
        self.saw_fin = self.saw_fin or bool(segment.flags & FIN)
        if at + len(segment.data) <= self.offset:
            return  # a retransmission, a keep-alive or nothing at all
        heapq.heappush(self.heap, (at, packet.number, packet.timestamp_ns, segment.data))
        self.waiting += len(segment.data)
        self.drain(packet.number)
        while self.waiting > self.limit:
            self.skip_to(self.heap[0][0])
            self.drain(packet.number)

    def position(self, sequence: int) -> int:
        distance = (sequence - self.next) % _MODULUS
        if distance >= _MODULUS // 2:
            distance -= _MODULUS
        return self.offset + distance

    def acknowledge(self, sequence: int) -> None:
        """The peer has everything before ``sequence``, captured or not."""
        # A FIN that was not captured takes one number too: one alone proves no lost octet.
        if self.first is not None and not self.saw_fin:
            end = self.position(sequence)
            if end > self.offset + 1:
                self.known_end = max(self.known_end, end)

    def drain(self, ready: int) -> None:
        """Moves what follows without a hole from the heap to the stream."""
        while self.heap and self.heap[0][0] <= self.offset:
            at, number, timestamp, data = heapq.heappop(self.heap)
            self.waiting -= len(data)
            fresh = data[self.offset - at :]
            if fresh:
                self.stream.chunks.append(Chunk(self.offset, fresh, number, timestamp, ready))
                self.move_to(self.offset + len(fresh))

    def skip_to(self, offset: int) -> None:
        """Gives up on the octets before ``offset``."""
        if offset > self.offset:
            self.stream.gaps.append(Gap(self.offset, offset - self.offset))
            self.move_to(offset)

    def move_to(self, offset: int) -> None:
        self.next = (self.next + offset - self.offset) % _MODULUS
        self.offset = offset

    def finish(self, ready: int) -> None:
        """The capture or the connection is over: what is missing now stays missing."""
        while self.heap:
            self.skip_to(self.heap[0][0])
            self.drain(ready)
        self.skip_to(self.known_end)


class _Connection:
    """The two directions of one connection."""

    def __init__(self, index: int, client: Endpoint, server: Endpoint, limit: int) -> None:
        self.directions = {
            side: _Direction(Stream(index, str(client), str(server), side), limit)
            for side in ("client", "server")
        }

    def add(self, side: str, packet: Packet, segment: Segment) -> None:
        self.directions[side].add(packet, segment)
        if segment.acknowledged is not None and not segment.flags & RST:
            other = "server" if side == "client" else "client"
            self.directions[other].acknowledge(segment.acknowledged)

    def finish(self, ready: int) -> None:
        for direction in self.directions.values():
            direction.finish(ready)


class Reassembly:
    """Sorts segments into connections and their directions.

    ports: the server's ports; limit: octets that a direction may hold back to wait for missing
    ones, after which they are a gap.
    """

    def __init__(self, ports: Collection[int], limit: int) -> None:
        """No connection yet."""
        self.ports = frozenset(ports)
        self.limit = limit
        self.connections: list[_Connection] = []
        self._open: dict[tuple[Endpoint, Endpoint], _Connection] = {}
        self._last_packet = 0

    def add(self, packet: Packet, segment: Segment) -> bool:
        """Takes a segment; False when neither of its ports is wanted."""
        self._last_packet = packet.number
        side = self._side(segment)
        if side is None:
            return False
        ends = (segment.source, segment.target)
        client, server = ends if side == "client" else ends[::-1]
        connection = self._open.get((client, server))
        if (
            connection is not None
            and segment.flags & SYN
            and connection.directions[side].begins_anew(segment)
        ):
            connection.finish(packet.number)  # the same ports, used again
            connection = None
        if connection is None:
            connection = _Connection(len(self.connections), client, server, self.limit)
            self.connections.append(connection)
            self._open[client, server] = connection
        connection.add(side, packet, segment)
        return True

    def _side(self, segment: Segment) -> str | None:
        """Who sent a segment: the client is the one whose peer has a wanted port."""
        to_server = segment.target.port in self.ports
        from_server = segment.source.port in self.ports
        if to_server and from_server:
            # Only a connection's opening tells two wanted ports apart.
            if (segment.source, segment.target) in self._open:
                return "client"
            if (segment.target, segment.source) in self._open:
                return "server"
            return "server" if segment.flags & SYN and segment.flags & ACK else "client"
        if to_server:
            return "client"
        return "server" if from_server else None

    def finish(self) -> list[Stream]:
        """The streams that have packets, in order of the connections, the client's side first."""
        for connection in self.connections:
            connection.finish(self._last_packet)
        return [
            direction.stream
            for connection in self.connections
            for direction in connection.directions.values()
            if direction.first is not None
        ]
