"""What rabbitmq-c (Debian's librabbitmq4) reads, as it writes it again."""

from __future__ import annotations

import ctypes
import ctypes.util
import struct
from typing import Any

from tests.differential.compare import Difference, Known, Peer, Refused, outcome
from tests.differential.legacy import frame, ours

OUT = 1 << 17


class Bytes(ctypes.Structure):
    """amqp_bytes_t."""

    _fields_ = (("len", ctypes.c_size_t), ("bytes", ctypes.c_void_p))


class Library:
    """Its functions that read and write methods and properties."""

    def __init__(self) -> None:
        name = ctypes.util.find_library("rabbitmq")
        if name is None:
            raise ImportError("no librabbitmq: install your system's package (librabbitmq4)")
        self.calls = ctypes.CDLL(name)
        for decode, number in (("method", ctypes.c_uint32), ("properties", ctypes.c_uint16)):
            reads = getattr(self.calls, f"amqp_decode_{decode}")
            reads.argtypes = [number, ctypes.c_void_p, Bytes, ctypes.POINTER(ctypes.c_void_p)]
            writes = getattr(self.calls, f"amqp_encode_{decode}")
            writes.argtypes = [number, ctypes.c_void_p, Bytes]
        self.pool = ctypes.create_string_buffer(1024)  # amqp_pool_t has some 64 bytes
        self.calls.init_amqp_pool(self.pool, ctypes.c_size_t(4096))
        self.out = ctypes.create_string_buffer(OUT)

    def again(self, what: str, number: int, data: bytes) -> bytes:
        """Read and write; raises ValueError with the library's status."""
        decoded = ctypes.c_void_p()
        buffer = ctypes.create_string_buffer(data, max(1, len(data)))
        view = Bytes(len(data), ctypes.addressof(buffer))
        reads = getattr(self.calls, f"amqp_decode_{what}")
        status = reads(number, self.pool, view, ctypes.byref(decoded))
        if status >= 0:
            room = Bytes(OUT, ctypes.addressof(self.out))
            writes = getattr(self.calls, f"amqp_encode_{what}")
            status = writes(number, decoded, room)
        self.calls.recycle_amqp_pool(self.pool)
        if status < 0:
            raise ValueError(f"status {status}")
        return self.out.raw[:status]

    def reads(self, data: bytes) -> Any:
        """The frame that it writes of what it has read."""
        if data[:4] == b"AMQP" or data[0] not in (1, 2):
            return ours(data)  # it leaves these to its connection
        payload = data[7:-1]
        if data[0] == 1:
            (number,) = struct.unpack_from(">I", payload)
            payload = payload[:4] + self.again("method", number, payload[4:])
        else:
            payload = payload[:12] + self.again("properties", 60, payload[12:])
        return ours(data[:3] + struct.pack(">I", len(payload)) + payload + b"\xce")


def theirs(cases: list[bytes]) -> list[Any]:
    library = Library()
    return [outcome(library.reads, data) for data in cases]


def is_status(at: Difference, status: int) -> bool:
    return isinstance(at.theirs, Refused) and at.theirs.text.endswith(f"status {status}")


#: Its status for a table that it cannot read, and for a method that it does not know.
BAD_DATA, UNKNOWN_METHOD = -2, -4
KNOWN: Known = {
    "no U": lambda at: is_status(at, BAD_DATA) and b"U" in at.case,
    "update-secret": lambda at: (
        is_status(at, UNKNOWN_METHOD) and at.ours["frame"].startswith("connection.update-secret")
    ),
}
PEERS = [Peer("rabbitmq-c", frame, ours, theirs, KNOWN)]
