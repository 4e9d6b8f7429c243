"""Capture files to packets: pcap and pcapng, plain or gzip."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["CaptureCut", "CaptureError", "Packet", "packets"]

# magic → (byte order, nanoseconds a tick of the second timestamp word)
_PCAP = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
_SECTION = b"\x0a\x0d\x0d\x0a"
_SECTION_ORDER = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
_INTERFACE_BLOCK, _OLD_PACKET, _SIMPLE_PACKET, _ENHANCED_PACKET = 1, 2, 3, 6
_OPTION_TSRESOL, _OPTION_TSOFFSET = 9, 14
_GZIP_PIECE = 1 << 12


class CaptureError(ValueError):
    """The file is no capture at all."""


class CaptureCut(CaptureError):
    """The file ends, or stops making sense, ``octets`` behind its last whole record."""

    def __init__(self, octets: int) -> None:
        """Bytes: how many were not read, as far as they could be unpacked."""
        super().__init__(f"the capture is cut: {octets} bytes behind its last whole record")
        self.octets = octets


class Packet(NamedTuple):
    """One recorded packet; ``data`` is a view of the file's bytes."""

    number: int  # from 1, in file order
    timestamp_ns: int | None  # since 1970 UTC; a simple packet block has none
    link_type: int
    data: memoryview
    wire_length: int  # bytes that were on the wire, at least len(data)


class _Interface(NamedTuple):
    link_type: int
    snap_length: int  # 0: no limit
    ticks: int  # a second
    offset: int  # seconds

    def nanoseconds(self, high: int, low: int) -> int:
        ticks = high << 32 | low
        return self.offset * 10**9 + ticks * 10**9 // self.ticks


def packets(path: str | Path) -> Iterator[Packet]:
    """Every packet of a capture file, in file order.

    Raises CaptureError for a file that is no capture, and CaptureCut behind the last whole packet
    of one that is damaged or cut. Spec: the pcap and pcapng drafts of the IETF opsawg group.
    """
    octets, is_complete = _load(Path(path))
    data = memoryview(octets)
    magic = octets[:4]
    if magic in _PCAP:
        yield from _read_pcap(data, *_PCAP[magic])
    elif magic == _SECTION:
        yield from _read_pcapng(data)
    else:
        begin = magic.hex() or "nothing"
        raise CaptureError(f"neither pcap nor pcapng: {path} begins with {begin}")
    if not is_complete:
        raise CaptureCut(0)


def _load(path: Path) -> tuple[bytes, bool]:
    """The bytes of the file, unpacked, and whether all of them could be."""
    raw = path.read_bytes()
    if raw[:2] != b"\x1f\x8b":
        return raw, True
    pieces: list[bytes] = []
    at = 0
    while at < len(raw):
        member = zlib.decompressobj(wbits=31)
        while not member.eof and at < len(raw):
            # Piece by piece, so that a damaged file keeps what lies before the damage.
            piece = raw[at : at + _GZIP_PIECE]
            try:
                pieces.append(member.decompress(piece))
            except zlib.error:
                return b"".join(pieces), False
            at += len(piece) - len(member.unused_data)
        if not member.eof:
            return b"".join(pieces), False
    return b"".join(pieces), True


def _read_pcap(data: memoryview, order: str, tick: int) -> Iterator[Packet]:
    if len(data) < 24:
        raise CaptureCut(len(data))
    # The upper bits of the link type tell of a frame check sequence behind each packet.
    link_type = struct.unpack_from(order + "I", data, 20)[0] & 0x0FFFFFFF
    record = struct.Struct(order + "IIII")
    at, number = 24, 0
    while at < len(data):
        if len(data) - at < record.size:
            raise CaptureCut(len(data) - at)
        seconds, fraction, captured, original = record.unpack_from(data, at)
        start = at + record.size
        if captured > len(data) - start:
            raise CaptureCut(len(data) - at)
        at = start + captured
        number += 1
        timestamp = seconds * 10**9 + fraction * tick
        yield Packet(number, timestamp, link_type, data[start:at], max(captured, original))


def _read_pcapng(data: memoryview) -> Iterator[Packet]:
    interfaces: list[_Interface] = []
    order = "<"
    at, number = 0, 0
    while at < len(data):
        if data[at : at + 4] == _SECTION:
            # A new section has its own byte order and its own interfaces.
            order = _SECTION_ORDER.get(bytes(data[at + 8 : at + 12]), "")
            interfaces = []
        try:
            if not order:
                raise ValueError("no byte order")
            kind, length = struct.unpack_from(order + "II", data, at)
            if length < 12 or length % 4 or length > len(data) - at:
                raise ValueError("no block length")
            body = data[at + 8 : at + length - 4]
            packet = None
            if kind == _INTERFACE_BLOCK:
                interfaces.append(_read_interface(body, order))
            elif kind in (_ENHANCED_PACKET, _OLD_PACKET, _SIMPLE_PACKET):
                packet = _read_block(number + 1, kind, body, order, interfaces)
        except (struct.error, IndexError, ValueError):
            raise CaptureCut(len(data) - at) from None
        at += length
        if packet is not None:
            number += 1
            yield packet


def _read_interface(body: memoryview, order: str) -> _Interface:
    link_type, snap_length = struct.unpack_from(order + "HxxI", body)
    ticks, offset = 10**6, 0
    at = 8
    while len(body) - at >= 4:
        code, length = struct.unpack_from(order + "HH", body, at)
        value = body[at + 4 : at + 4 + length]
        if code == _OPTION_TSRESOL:
            ticks = 1 << (value[0] & 0x7F) if value[0] & 0x80 else 10 ** value[0]
        elif code == _OPTION_TSOFFSET:
            (offset,) = struct.unpack_from(order + "q", value)
        at += 4 + (length + 3) // 4 * 4
    return _Interface(link_type, snap_length, ticks, offset)


def _read_block(
    number: int, kind: int, body: memoryview, order: str, interfaces: list[_Interface]
) -> Packet:
    """A packet out of one of the three kinds of block that hold one."""
    if kind == _SIMPLE_PACKET:
        (original,) = struct.unpack_from(order + "I", body)
        interface = interfaces[0]
        captured = min(original, interface.snap_length or original)
        start, timestamp = 4, None
    else:
        # The old packet block has 16 bits of interface and 16 of drop count in the same place.
        form = "HxxIIII" if kind == _OLD_PACKET else "IIIII"
        index, high, low, captured, original = struct.unpack_from(order + form, body)
        interface = interfaces[index]
        start, timestamp = 20, interface.nanoseconds(high, low)
    if captured > len(body) - start:
        raise ValueError("the packet is longer than its block")
    data = body[start : start + captured]
    return Packet(number, timestamp, interface.link_type, data, max(captured, original))
