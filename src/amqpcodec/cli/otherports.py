"""Ports that were not looked at, where a protocol header of AMQP was sent to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from ..capture._files import Pieces, Source
from ..capture._limits import Unpacking

__all__ = ["header_ports"]

#: The headers of 0-8, 0-9, 0-9-1 and 1.0 (plain, TLS, SASL).
HEADER = re.compile(
    rb"AMQP(?:\x00\x00\x09\x01|\x01\x01[\x00\x08\x09][\x00-\x0a]|[\x00\x02\x03]\x01\x00\x00)"
)
#: Bytes before a header that are looked at: the longest TCP header, and IPv4's without options.
TCP_IP_HEADER_BYTES = 80


def header_ports(
    files: Iterable[Source], ports: Iterable[int], unpacking: Unpacking
) -> dict[int, int]:
    """Port -> protocol headers that were sent to it, of ports that are not among these.

    A header counts where a TCP header stands right before it. Of two ports that sent one to each
    other, as in 1.0, the server's is the one that got the first. Files that cannot be read are
    skipped: the command has reported them.
    """
    counts: Counter[int] = Counter()
    header_directions: set[tuple[int, int]] = set()  # (from, to)
    for file in files:
        try:
            overlap = b""
            for piece in Pieces(file, unpacking=unpacking):
                raw = overlap + bytes(piece)
                for match in HEADER.finditer(raw):
                    if match.end() <= len(overlap) or not (
                        direction := _tcp_ports(raw, match.start())
                    ):
                        continue
                    if direction[::-1] not in header_directions:
                        header_directions.add(direction)
                        counts[direction[1]] += 1
                overlap = raw[-TCP_IP_HEADER_BYTES:]
        except OSError:
            continue
    return {port: n for port, n in sorted(counts.items()) if port not in set(ports)}


def _tcp_ports(raw: bytes, at: int) -> tuple[int, int] | None:
    """The ports that the bytes at `at` came from and went to, if a TCP header is before them."""
    for size in range(20, 61, 4):
        start = at - size
        if start < 20:
            return None
        # The size in 32-bit words, four bits that are 0, and a protocol number of IP before it.
        if raw[start + 12] == size // 4 << 4 and _is_tcp(raw, start):
            ports = (raw[start : start + 2], raw[start + 2 : start + 4])
            return int.from_bytes(ports[0], "big"), int.from_bytes(ports[1], "big")
    return None


def _is_tcp(raw: bytes, start: int) -> bool:
    """Whether an IP header that announces TCP ends here, without options or extensions."""
    v4 = start >= 20 and raw[start - 20] == 0x45 and raw[start - 11] == 6
    v6 = start >= 40 and raw[start - 40] >> 4 == 6 and raw[start - 34] == 6
    return v4 or v6
