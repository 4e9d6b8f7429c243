"""Conversations over WebSocket by hand: requests, frames and compression."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Iterable

from tests.support.tls_talk import CLIENT, SERVER, Payloads

REQUEST = (
    b"GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Protocol: amqp\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    b"Sec-WebSocket-Version: 13\r\n%s\r\n"
)
ANSWER = (
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Protocol: amqp\r\n%s\r\n"
)
DEFLATE = b"Sec-WebSocket-Extensions: permessage-deflate%s\r\n"
BINARY, CONTINUATION, TEXT, CLOSE, PING = 2, 0, 1, 8, 9


def frame(side: int, payload: bytes, opcode: int = BINARY, fin: bool = True, rsv1: bool = False):
    """A frame; a client's is masked."""
    first = bytes([opcode | fin << 7 | rsv1 << 6])
    masked = 0x80 if side == CLIENT else 0
    size = len(payload)
    if size <= 125:
        head = bytes([masked | size])
    elif size <= 0xFFFF:
        head = struct.pack(">BH", masked | 126, size)
    else:
        head = struct.pack(">BQ", masked | 127, size)
    if side == SERVER:
        return first + head + payload
    mask = random.Random(size).randbytes(4)
    return first + head + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))


class Deflater:
    """What one side sends, message by message, compressed."""

    def __init__(self, takeover: bool) -> None:
        self.takeover = takeover
        self.packer = zlib.compressobj(wbits=-15)

    def __call__(self, data: bytes) -> bytes:
        packed = self.packer.compress(data) + self.packer.flush(zlib.Z_SYNC_FLUSH)
        if not self.takeover:
            self.packer = zlib.compressobj(wbits=-15)
        return packed.removesuffix(b"\0\0\xff\xff")


def over_web(
    talk: Iterable[tuple[int, bytes]], extension: bytes = b"", pieces: int = 1
) -> Payloads:
    """A conversation over WebSocket: its messages in so many fragments, pings between them."""
    payloads: Payloads = [(CLIENT, REQUEST % b""), (SERVER, ANSWER % extension)]
    takes = [b"%s_no_context" % who not in extension for who in (b"client", b"server")]
    pack = [Deflater(takeover) if extension else None for takeover in takes]
    for side, data in talk:
        packer = pack[side]
        body = data if packer is None else packer(data)
        step = len(body) // pieces + 1
        parts = [body[at : at + step] for at in range(0, len(body), step)]
        for number, part in enumerate(parts):
            opcode = CONTINUATION if number else BINARY
            fin = number == len(parts) - 1
            packed = packer is not None and number == 0
            payloads.append((side, frame(side, part, opcode, fin, packed)))
            payloads.append((1 - side, frame(1 - side, b"are you there?", PING)))
    return [
        *payloads,
        (CLIENT, frame(CLIENT, b"\3\xe8", CLOSE)),
        (SERVER, frame(SERVER, b"", CLOSE)),
    ]


EXTENSIONS = [
    b"",
    DEFLATE % b"",
    DEFLATE % b"; server_no_context_takeover; client_max_window_bits=9",
]


def bomb() -> bytes:
    """A message that becomes 120 times as large as its 1 MB, evenly."""
    packer, out, noise = zlib.compressobj(9, wbits=-15), [], random.Random(1)
    while sum(map(len, out)) < 1_000_000:
        out.append(packer.compress(noise.randbytes(900) + bytes(110_000)))
        out.append(packer.flush(zlib.Z_SYNC_FLUSH))
    return b"".join(out).removesuffix(b"\0\0\xff\xff")
