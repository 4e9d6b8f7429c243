"""Captures to AMQP 0-9-1 frames: a first, small reader in plain Python.

::

    from amqpcodec import capture

    for frame in capture.frames("rabbit.pcap.gz"):
        print(frame.connection, frame.direction, frame.octets.hex(), frame.error)

It reads pcap (µs and ns, both byte orders) and pcapng (sections, interfaces, enhanced, simple and
old packet blocks), plain or gzip; link types NULL, LOOP, Ethernet, raw IP, SLL and SLL2, VLAN tags,
IPv4 and IPv6 with extension headers; and puts TCP in order: retransmissions and overlaps trimmed
(what came first stays), sequence numbers that wrap, ports used again, one side alone.

What is missing is said, never guessed: octets that were not captured are a ``Gap`` of their stream,
packets left out are counted in ``Capture.skipped``, a cut file keeps what came before the cut
(``Capture.cut``), and octets that are no frame come as a ``Frame`` with ``error``.

Limits of this reader:

- The file and all of its streams are held in memory.
- Behind a gap it does not look for the next frame: what follows in that direction is one error item
  a piece. A stream whose beginning was not captured is read from its first captured octet, which
  works where a frame begins there.
- IP fragments are not joined (they are counted, and their octets are a gap).
- Only AMQP 0-9-1 is split; other versions and TLS come out as errors.
- Nothing is redacted: frames of connection.start-ok and connection.update-secret hold credentials.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .files import CaptureCut, CaptureError, packets
from .frames import Frame, split
from .segments import SkippedPacket, read_segment
from .tcp import Chunk, Gap, Reassembly, Stream

__all__ = [
    "Capture",
    "CaptureError",
    "Chunk",
    "Frame",
    "Gap",
    "Stream",
    "frames",
    "load",
    "streams",
]

REORDER_OCTETS = 16 << 20


@dataclass(slots=True)
class Capture:
    """What a capture file holds for the wanted ports."""

    streams: list[Stream] = field(default_factory=list)
    packets: int = 0
    skipped: Counter[str] = field(default_factory=Counter)  # packets left out, by reason
    cut: CaptureError | None = None  # set where the file ends inside a record

    def frames(self) -> Iterator[Frame]:
        """Every frame in file order: by the packet that completed it."""
        return split(self.streams)


def load(
    path: str | Path, ports: Collection[int] = (5672,), reorder_octets: int = REORDER_OCTETS
) -> Capture:
    """Reads a capture file.

    ports: the servers' ports, which tell the client of a connection from the server.
    reorder_octets: how much a direction may hold back while octets before it are missing.
    Raises CaptureError for a file that is no capture, OSError as open() does.
    """
    capture = Capture()
    reassembly = Reassembly(ports, reorder_octets)
    try:
        for packet in packets(path):
            capture.packets += 1
            try:
                segment = read_segment(packet)
            except SkippedPacket as skipped:
                capture.skipped[skipped.reason] += 1
                continue
            if not reassembly.add(packet, segment):
                capture.skipped["other ports"] += 1
    except CaptureCut as cut:
        capture.cut = cut
    capture.streams = reassembly.finish()
    return capture


def streams(path: str | Path, ports: Collection[int] = (5672,)) -> list[Stream]:
    """What each side of each connection sent, in order of the connections' first packets."""
    return load(path, ports).streams


def frames(path: str | Path, ports: Collection[int] = (5672,)) -> Iterator[Frame]:
    """Every frame of a capture file in file order: by the packet that completed it."""
    return load(path, ports).frames()
