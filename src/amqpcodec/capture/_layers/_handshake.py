"""Messages of TLS handshakes, as far as reading records depends on them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

CLIENT_HELLO, SERVER_HELLO, NEW_SESSION_TICKET, END_OF_EARLY_DATA = 1, 2, 4, 5
ENCRYPTED_EXTENSIONS, FINISHED, KEY_UPDATE = 8, 20, 24
#: Those whose contents are looked at.
READ = {CLIENT_HELLO, SERVER_HELLO, NEW_SESSION_TICKET, ENCRYPTED_EXTENSIONS}
#: Bytes of one of these; a larger one is skipped.
LARGEST = 1 << 17

ENCRYPT_THEN_MAC, SESSION_TICKET, EARLY_DATA, SUPPORTED_VERSIONS = 22, 35, 42, 43

#: What a server's random bytes are where it asks for another hello. Spec: RFC 8446 §4.1.3.
RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")


class Messages:
    """Cuts a direction's handshake into messages, however records cut it."""

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.skip = 0  # bytes of a message that is not looked at

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """(type, body) of each message that is complete; b"" where its body is not looked at."""
        skipped_bytes = min(self.skip, len(data))
        self.skip -= skipped_bytes
        new_bytes = data[skipped_bytes:]
        buffer = self.buffer
        buffer += new_bytes
        at = 0
        while len(buffer) - at >= 4:
            kind, size = buffer[at], int.from_bytes(buffer[at + 1 : at + 4], "big")
            reads = kind in READ and size <= LARGEST
            if reads and len(buffer) - at < 4 + size:
                break
            body = bytes(buffer[at + 4 : at + 4 + size]) if reads else b""
            at += 4 + size
            self.skip = max(at - len(buffer), 0)
            yield kind, body
        del buffer[:at]


class ClientHello(NamedTuple):
    """What is used of it. ticket: b"" where there is none."""

    random: bytes
    session_id: bytes
    ticket: bytes
    early: bool


class ServerHello(NamedTuple):
    """What is used of it. version: that which was chosen, also of TLS 1.3."""

    random: bytes
    session_id: bytes
    version: int
    suite: int
    compression: int
    encrypt_then_mac: bool

    @property
    def retry(self) -> bool:
        """Whether it asks for another hello of the client."""
        return self.random == RETRY


class _TruncatedError(Exception):
    """The message ends too early."""


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        if len(self.data) - self.at < size:
            raise _TruncatedError
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def vector(self, size: int) -> bytes:
        """What follows a length of so many bytes."""
        return self.take(self.number(size))

    def extensions(self) -> dict[int, bytes]:
        by_type: dict[int, bytes] = {}
        if self.at == len(self.data):
            return by_type
        reader = _Reader(self.vector(2))
        while reader.at < len(reader.data):
            kind = reader.number(2)
            by_type[kind] = reader.vector(2)
        return by_type


def client_hello(body: bytes) -> ClientHello | None:
    """None where it is none. Spec: RFC 5246 §7.4.1.2, RFC 8446 §4.1.2."""
    read = _Reader(body)
    try:
        read.take(2)
        random, session_id = read.take(32), read.vector(1)
        read.vector(2)
        read.vector(1)
        extensions = read.extensions()
    except _TruncatedError:
        return None
    ticket = extensions.get(SESSION_TICKET, b"")
    return ClientHello(random, session_id, ticket, EARLY_DATA in extensions)


def server_hello(body: bytes) -> ServerHello | None:
    """None where it is none. Spec: RFC 5246 §7.4.1.3, RFC 8446 §4.1.3."""
    read = _Reader(body)
    try:
        version = read.number(2)
        random, session_id = read.take(32), read.vector(1)
        suite, compression = read.number(2), read.number(1)
        extensions = read.extensions()
    except _TruncatedError:
        return None
    chosen = extensions.get(SUPPORTED_VERSIONS, b"")
    if len(chosen) == 2:
        version = int.from_bytes(chosen, "big")
    both = ENCRYPT_THEN_MAC in extensions
    return ServerHello(random, session_id, version, suite, compression, both)


def first_server_hello(record: bytes) -> ServerHello | None:
    """The ServerHello that a record begins with; None: it begins with none, or has a part of it."""
    size = int.from_bytes(record[1:4], "big")
    if record[:1] != bytes([SERVER_HELLO]) or len(record) - 4 < size:
        return None
    return server_hello(record[4 : 4 + size])


def ticket(body: bytes) -> bytes:
    """The ticket of a NewSessionTicket of TLS 1.2, or b"". Spec: RFC 5077 §3.3."""
    read = _Reader(body)
    try:
        read.take(4)
        return read.vector(2)
    except _TruncatedError:
        return b""


def has_early_data(body: bytes) -> bool:
    """Whether EncryptedExtensions accept early data. Spec: RFC 8446 §4.2.10."""
    try:
        return EARLY_DATA in _Reader(body).extensions()
    except _TruncatedError:
        return False
