"""One construct of so many parts, read once. Run as a program under an instruction counter:

    python tests/protocol/linear.py CONSTRUCT PARTS

The input is made by repetition, which costs next to nothing beside the reading.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from typing import Any

from amqpcodec import v0_9_1 as a
from amqpcodec import v1_0 as v


def header(table: bytes) -> bytes:
    payload = struct.pack(">HHQHI", 60, 0, 0, 0x2000, len(table)) + table
    return struct.pack(">BHI", 2, 1, len(payload)) + payload + b"\xce"


def headers(table: bytes) -> Any:
    made = a.decode(header(table))[2]
    made.properties.headers["one more"] = 1
    a.encode(1, made)
    return made == a.decode(header(table))[2]


def entries(n: int) -> bytes:
    return b"".join([b"\x05%05dI\0\0\0\x01" % i for i in range(n)])


def compound(code: int, body: bytes, count: int) -> bytes:
    return bytes([code]) + struct.pack(">II", len(body) + 4, count) + body


def value(data: bytes) -> Any:
    made = v.decode_value(data)[0]
    v.encode_value(made)
    return made == v.decode_value(data)[0]


def longs(step: int, n: int) -> bytes:
    pairs = b"".join([b"\x81" + struct.pack(">q", i * step) + b"\x40" for i in range(n)])
    return compound(0xD1, pairs, 2 * n)


def message(n: int) -> None:
    decoder = a.MessageDecoder()
    piece = struct.pack(">BHI", 3, 1, 20) + bytes(20) + b"\xce"
    head = struct.pack(">HHQH", 60, 0, 20 * n, 0)
    head = struct.pack(">BHI", 2, 1, len(head)) + head + b"\xce"
    data = a.encode(1, a.Basic.Deliver("c", 1, False, "e", "r")) + head + piece * n
    [_] = [each for at in range(0, len(data), 30) for each in decoder.feed(data[at : at + 30])]


def bytewise(n: int) -> None:
    decoder = a.Decoder()
    data = header(entries(n))
    [_] = [frame for at in range(0, len(data), 11) for frame in decoder.feed(data[at : at + 11])]


def delivery(n: int) -> None:
    decoder = v.MessageDecoder(opened=True)
    first = v.encode(0, v.Transfer(0, 0, b"t", more=True), b"\0\x53\x75\xb0")
    more = v.encode(0, v.Transfer(0, more=True), struct.pack(">I", 10)[:1] * 20)
    list(decoder.feed(first + more * n))
    decoder.discard(0, 0)


def columns(protocol: str, data: bytes) -> None:
    from amqpcodec import batch

    batch.decode(data, protocol=protocol)


CONSTRUCTS: dict[str, Callable[[int], Any]] = {
    "nothing": lambda n: None,
    "table": lambda n: headers(entries(n)),
    "table with one name": lambda n: headers(b"\x01kI\0\0\0\x01" * n),
    "array": lambda n: headers(b"\x01aA" + struct.pack(">I", 5 * n) + b"I\0\0\0\x01" * n),
    "body in pieces": message,
    "frame in pieces": bytewise,
    "1.0 list": lambda n: value(compound(0xD0, b"\xa1\x01x\x54\x01" * n, 2 * n)),
    "1.0 map of integers": lambda n: value(longs(1, n)),
    "1.0 map of colliding integers": lambda n: value(longs(1 << 40, n)),
    "1.0 map with one key": lambda n: value(compound(0xD1, b"\xa1\x01k\x54\x01" * n, 2 * n)),
    "1.0 delivery in pieces": delivery,
    "columns: table with one name": lambda n: columns("0-9-1", header(b"\x01kI\0\0\0\x01" * n)),
    "columns: frames": lambda n: columns("0-9-1", header(entries(2)) * n),
}

if __name__ == "__main__":
    CONSTRUCTS[sys.argv[1]](int(sys.argv[2]))
