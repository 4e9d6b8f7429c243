"""AMQP over WebSocket: the request, its answer, the frames of both directions. Spec: RFC 6455."""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

from .._limits import LIMITS, Limits
from ._items import Items, Stop

#: What a direction is found to be.
UNKNOWN, PLAIN, HTTP, FRAMES, ENDED = range(5)
STARTS = (b"GET /", b"HTTP/")
#: Answers that another one follows; 101 is the last one.
INTERIM = re.compile(rb"HTTP/1\.1 1(?!01)\d\d\b")

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
FIN, COMPRESSED, RESERVED, MASKED = 0x80, 0x40, 0x30, 0x80

LARGEST_HEAD = 1 << 16  # bytes of a request or an answer
LARGEST_FRAME = 1 << 30
LARGEST_WAIT = 1 << 18  # bytes of frames before the answer is known
LARGEST_SEARCH = 1 << 18  # bytes after a gap in which frames are looked for
#: What a direction's compressed messages may become beside a multiple of their size.
UNPACKED_START = 1 << 20
#: Compressed bytes of a message that are decompressed together, counted from its beginning: what
#: comes of it does not depend on how its bytes arrive.
BLOCK_BYTES = 1 << 12
WINDOW = 1 << 15

NO_UPGRADE = "HTTP without WebSocket"
NOT_CAPTURED = "the request for WebSocket, or its answer, was not captured"
EXTENSION = "an extension of WebSocket that is not known"
TEXT_FRAME = "WebSocket frames of text"
NO_FRAME = "no frame of WebSocket where one was due"
LOST = "no frame of WebSocket was found after a gap"
PACKED = "a compressed message of WebSocket that is damaged or too large"


class Inflater:
    """Decompresses one message, block by block. Spec: RFC 7692 §7.2.2."""

    def __init__(self, window: bytes) -> None:
        """window: the newest bytes of the messages before."""
        self._zlib = zlib.decompressobj(-15, zdict=window)
        self.window = window
        self.size = 0  # of what it became so far

    def decompress(self, block: bytes | bytearray, limit: int) -> bytes:
        """What the next bytes of the message become.

        Raises Stop where they are damaged, or the message has more than `limit` bytes then.
        """
        room = max(limit - self.size, 0) + 1
        try:
            out = self._zlib.decompress(block, room)
        except zlib.error:
            raise Stop(PACKED) from None
        if len(out) == room:
            raise Stop(PACKED)
        self.size += len(out)
        self.window = (self.window + out[-WINDOW:])[-WINDOW:]
        return out


@dataclass
class StreamState:
    """One direction."""

    mode: int = UNKNOWN
    buffer: bytearray = field(default_factory=bytearray)
    remaining: int = 0  # bytes of the frame's payload yet to come
    opcode: int = BINARY
    fin: bool = True
    mask: bytes = b""  # of the next byte of the payload; b"" for none
    in_message: bool = False  # a message goes on in the next frame of data
    packed: bool = False  # it is compressed
    broken: bool = False  # a part of it is lost
    message: bytearray = field(default_factory=bytearray)  # its compressed bytes so far
    window: bytes = b""  # the newest bytes of the messages before
    inflater: Inflater | None = None  # of the message; made again from its bytes after a state
    searching: bool = False
    look_at: int = 0  # bytes of the buffer with which frames are looked for again
    looked: int = 0  # bytes of the buffer in which the end of the head does not begin
    unpacked_left: int = UNPACKED_START  # bytes that compressed messages may still become


@dataclass
class Head:
    """Of a frame."""

    first: int
    size: int  # of the payload
    mask: bytes
    length: int  # of the head

    @property
    def opcode(self) -> int:
        """What the frame is."""
        return self.first & 15


class WebSocket:
    """Both directions: 0 is the client's. What begins with no request of HTTP goes on as it is."""

    def __init__(self, tell: Callable[[str], None], limits: Limits = LIMITS) -> None:
        """tell: takes the reason why a direction cannot be read."""
        self.tell = tell
        self.limits = limits
        self.halves = (StreamState(), StreamState())
        self.agreed = False
        self.deflates = False
        #: Whether a direction's messages are compressed with those before them.
        self.takeover = [True, True]

    def receive(self, side: int, data: bytes) -> Items:
        """The next bytes of a direction: see _capture.Layers."""
        half = self.halves[side]
        if half.mode == PLAIN:
            return [(side, data)]
        if half.mode == ENDED:
            return []
        half.buffer += data
        out: Items = []
        knew = self.agreed
        self._read(side, out)
        if self.agreed and not knew:
            self._read(1 - side, out)
        return out

    def lost(self, side: int, count: int, exact: bool) -> Items:
        """So many bytes are missing; exact: as many and no others, else about as many."""
        half = self.halves[side]
        if half.mode == ENDED:
            return []
        if half.mode == HTTP:
            return self._stop(side, Stop(NOT_CAPTURED, True))
        if half.mode != FRAMES:
            half.mode = PLAIN
            begun = bytes(half.buffer)
            half.buffer.clear()
            return [(side, begun), (side, count)] if begun else [(side, count)]
        if exact and count <= half.remaining:
            half.remaining -= count
            if half.mask:
                half.mask = _turned(half.mask, count)
            half.broken |= half.opcode <= BINARY
            items: Items = [(side, count)] if half.opcode <= BINARY else []
        else:
            items = [(side, count + len(half.buffer))]
            half.remaining = half.look_at = 0
            half.buffer.clear()
            half.searching = half.broken = True
        if half.broken and self.deflates and self.takeover[side]:
            return items + self._stop(side, Stop(LOST))
        return items

    def _stop(self, side: int, stop: Stop) -> Items:
        out: Items = []
        for direction in (side, 1 - side) if stop.both else (side,):
            half = self.halves[direction]
            if half.mode != ENDED:
                half.mode = ENDED
                half.buffer, half.message, half.window = bytearray(), bytearray(), b""
                half.inflater = None
                self.tell(stop.reason)
                out.append((direction, None))
        return out

    def _read(self, side: int, out: Items) -> None:
        half = self.halves[side]
        try:
            if half.mode == UNKNOWN:
                self._look(side, out)
            if half.mode == HTTP:
                self._head(side)
            if half.mode == FRAMES:
                if not self.agreed:
                    if len(half.buffer) > LARGEST_WAIT:
                        raise Stop(NOT_CAPTURED, True)
                    return
                if not half.searching or self._find(side, out):
                    self._frames(side, out)
        except Stop as stop:
            out += self._stop(side, stop)

    def _look(self, side: int, out: Items) -> None:
        half, start = self.halves[side], STARTS[side]
        if half.buffer[: len(start)] == start:
            half.mode = HTTP
        elif not start.startswith(half.buffer):
            half.mode = PLAIN
            out.append((side, bytes(half.buffer)))
            half.buffer.clear()

    # ---- HTTP ----

    def _head(self, side: int) -> None:
        """The request or its answer, once it is complete."""
        half = self.halves[side]
        while (end := half.buffer.find(b"\r\n\r\n", half.looked, LARGEST_HEAD)) >= 0:
            half.looked = 0
            line, headers = _parsed(bytes(half.buffer[: end + 4]))
            del half.buffer[: end + 4]
            if side == 1 and INTERIM.match(line):
                continue  # the answer itself comes after it (RFC 9110 §15.2)
            if "websocket" not in headers.get("upgrade", "").lower():
                raise Stop(NO_UPGRADE, True)
            if side == 1:
                if line[:12] != b"HTTP/1.1 101":
                    raise Stop(NO_UPGRADE, True)
                self._agree(headers.get("sec-websocket-extensions", ""))
            half.mode = FRAMES
            return
        if len(half.buffer) > LARGEST_HEAD:
            raise Stop(NO_UPGRADE, True)
        half.looked = max(0, len(half.buffer) - 3)

    def _agree(self, extensions: str) -> None:
        for extension in filter(None, (text.strip() for text in extensions.split(","))):
            name, *parameters = (part.strip().lower() for part in extension.split(";"))
            if name != "permessage-deflate":
                raise Stop(EXTENSION, True)
            self.deflates = True
            for side, who in enumerate(("client", "server")):
                if f"{who}_no_context_takeover" in parameters:
                    self.takeover[side] = False
        self.agreed = True

    # ---- frames ----

    def _frames(self, side: int, out: Items) -> None:
        """All that is there: payloads go out as they come, compressed messages at their end."""
        half = self.halves[side]
        at = 0
        parts: list[bytes] = []
        try:
            while half.mode == FRAMES:
                if half.remaining:
                    part = bytes(half.buffer[at : at + half.remaining])
                    at += len(part)
                    self._payload(half, part, parts)
                    if half.remaining:
                        break
                    self._end_of_frame(side, parts)
                    continue
                head = _frame_head(half.buffer, at)
                if head is None:
                    break
                at += head.length
                self._begin_frame(half, head)
                if not half.remaining:
                    self._end_of_frame(side, parts)
        finally:
            if parts:
                out.append((side, b"".join(parts)))
            del half.buffer[:at]

    def _begin_frame(self, half: StreamState, head: Head) -> None:
        control = head.opcode >= CLOSE
        packed = head.first & COMPRESSED != 0
        if head.first & RESERVED or (
            packed and not (self.deflates and head.opcode in (TEXT, BINARY))
        ):
            raise Stop(NO_FRAME)
        if control and (not head.first & FIN or head.size > 125 or head.opcode > PONG):
            raise Stop(NO_FRAME)
        if BINARY < head.opcode < CLOSE:
            raise Stop(NO_FRAME)
        goes_on = head.opcode == CONTINUATION
        if not (control or half.broken) and goes_on != half.in_message:
            raise Stop(NO_FRAME)
        if head.opcode == TEXT:
            raise Stop(TEXT_FRAME)
        if head.opcode == BINARY:
            half.packed = packed
            half.broken = False
            half.message.clear()
            half.inflater = None
        half.opcode, half.fin = head.opcode, head.first & FIN != 0
        half.remaining, half.mask = head.size, head.mask
        if not control:
            half.in_message = not half.fin

    def _payload(self, half: StreamState, part: bytes, parts: list[bytes]) -> None:
        half.remaining -= len(part)
        if half.opcode > BINARY or not part:
            return
        if half.mask:
            part = _unmasked(part, half.mask)
            half.mask = _turned(half.mask, len(part))
        if not half.packed:
            parts.append(part)
        elif not half.broken:
            self._inflate(half, part, parts)

    def _end_of_frame(self, side: int, parts: list[bytes]) -> None:
        half = self.halves[side]
        if half.opcode == CLOSE:
            half.mode = ENDED
            half.buffer = bytearray()
        elif half.opcode <= BINARY and half.fin and half.packed and not half.broken:
            self._end_of_message(side, parts)

    def _inflate(self, half: StreamState, part: bytes, parts: list[bytes]) -> None:
        """The next bytes of a compressed message: what a complete block becomes goes out."""
        if len(half.message) + len(part) > self.limits.websocket_bytes:
            raise Stop(PACKED)
        at = 0
        while at < len(part):
            end = at + BLOCK_BYTES - len(half.message) % BLOCK_BYTES
            half.message += part[at:end]
            at = end
            if len(half.message) % BLOCK_BYTES == 0:
                parts.append(self._decompress(half, len(half.message) - BLOCK_BYTES))

    def _decompress(self, half: StreamState, start: int) -> bytes:
        """What the newest bytes of the message become; start: where they begin in it."""
        if half.inflater is None:
            half.inflater = Inflater(half.window)
            for at in range(0, start, BLOCK_BYTES):  # what went out before a state
                self._decompress_block(half, half.inflater, at, at + BLOCK_BYTES)
        return self._decompress_block(half, half.inflater, start, len(half.message))

    def _decompress_block(
        self, half: StreamState, inflater: Inflater, start: int, end: int
    ) -> bytes:
        limit = half.unpacked_left + self.limits.websocket_ratio * end
        return inflater.decompress(half.message[start:end], limit)

    def _end_of_message(self, side: int, parts: list[bytes]) -> None:
        half = self.halves[side]
        start = len(half.message) // BLOCK_BYTES * BLOCK_BYTES
        half.message += b"\0\0\xff\xff"  # which the sender removed
        parts.append(self._decompress(half, start))
        assert half.inflater is not None
        half.unpacked_left += self.limits.websocket_ratio * len(half.message) - half.inflater.size
        if self.takeover[side]:
            half.window = half.inflater.window
        half.message = bytearray()
        half.inflater = None

    def _find(self, side: int, out: Items) -> bool:
        """Look for a frame after a gap: whether the buffer begins with one."""
        half = self.halves[side]
        if len(half.buffer) < half.look_at:
            return False
        at = _first_frame(half.buffer, side)
        if at < 0:
            if len(half.buffer) > LARGEST_SEARCH:
                raise Stop(LOST)
            half.look_at = len(half.buffer) + max(len(half.buffer) >> 3, 64)
            return False
        if at:
            out.append((side, at))
            del half.buffer[:at]
        half.searching = half.in_message = False
        half.look_at = 0
        return True


def _parsed(head: bytes) -> tuple[bytes, dict[str, str]]:
    """(first line, headers by their names in lower case)."""
    from http.client import HTTPException, parse_headers

    file = io.BytesIO(head)
    line = file.readline()
    try:
        headers = parse_headers(file)
    except HTTPException:
        return line, {}
    return line, {name.lower(): ", ".join(headers.get_all(name, [])) for name in headers}


def _frame_head(data: bytearray, at: int) -> Head | None:
    """That of the frame at this place, or None where bytes are missing.

    Raises Stop where the length is beyond all bounds.
    """
    if len(data) - at < 2:
        return None
    size, length = data[at + 1] & 127, 2
    if size > 125:
        length = 4 if size == 126 else 10
        size = int.from_bytes(data[at + 2 : at + length], "big")
    end = length + 4 * (data[at + 1] & MASKED != 0)
    if len(data) - at < end:
        return None
    if size > LARGEST_FRAME:
        raise Stop(NO_FRAME)
    return Head(data[at], size, bytes(data[at + length : at + end]), end)


def _unmasked(part: bytes, mask: bytes) -> bytes:
    mask_bytes = (mask * (len(part) // 4 + 1))[: len(part)]
    number = int.from_bytes(part, "big") ^ int.from_bytes(mask_bytes, "big")
    return number.to_bytes(len(part), "big")


def _turned(mask: bytes, count: int) -> bytes:
    """The mask of the byte after so many."""
    return mask[count % 4 :] + mask[: count % 4]


def _first_frame(data: bytearray, side: int) -> int:
    """Where frames begin that follow each other to the end of the data: two, or a whole one."""
    for at in range(len(data)):
        if _is_plausible(data, at, side):
            place, count = at, 0
            while count < 4 and place < len(data) and _is_plausible(data, place, side):
                head = _frame_head(data, place)
                assert head is not None
                place += head.length + head.size
                count += 1
            if count >= 4 or place == len(data) or (count >= 2 and place > len(data)):
                return at
    return -1


def _is_plausible(data: bytearray, at: int, side: int) -> bool:
    """Whether a head may stand here: its length in the fewest bytes, masked by clients."""
    first = data[at]
    if first & RESERVED or first & 15 not in (CONTINUATION, BINARY, CLOSE, PING, PONG):
        return False
    try:
        head = _frame_head(data, at)
    except Stop:
        return False
    if head is None or (head.mask == b"") == (side == 0):
        return False
    if first & 15 >= CLOSE:
        return first & FIN != 0 and head.size <= 125
    shortest = 2 if head.size <= 125 else 4 if head.size <= 0xFFFF else 10
    return head.size > 0 and head.length - len(head.mask) == shortest
