"""Records and handshakes of TLS by hand: hellos, early data, and what a key log has of them."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from itertools import accumulate

from amqpcodec.capture._layers import _suites
from tests.support import recording as make
from tests.support.plain_talk import TALK
from tests.support.recording import packets
from tests.support.tls_talk import Talker, split_segments

HANDSHAKE, APPLICATION_DATA = 22, 23
SUITE12, SUITE13 = 0xC02F, 0x1301
SESSION_TICKET, EARLY_DATA, SUPPORTED_VERSIONS = 35, 42, 43
#: The random bytes of a client's hello, and those of three handshakes before it.
RANDOM, OF_ID, OF_TICKET, OF_OTHER = (bytes([number]) * 32 for number in (1, 2, 3, 4))


def vector(data: bytes, size: int = 2) -> bytes:
    """The data after its length of so many bytes."""
    return len(data).to_bytes(size, "big") + data


def extensions(by_type: Mapping[int, bytes]) -> bytes:
    return vector(b"".join(kind.to_bytes(2, "big") + vector(by_type[kind]) for kind in by_type))


def handshake(kind: int, body: bytes = b"") -> bytes:
    return bytes([kind]) + vector(body, 3)


def record(data: bytes) -> bytes:
    """Handshake messages that are not encrypted."""
    return bytes([HANDSHAKE, 3, 3]) + vector(data)


def client_hello(session_id: bytes = b"", **by_name: bytes) -> bytes:
    """A record with a ClientHello; ticket=, early=: contents of these extensions."""
    kinds = {"ticket": SESSION_TICKET, "early": EARLY_DATA}
    body = b"\3\3" + RANDOM + vector(session_id, 1) + vector(b"\x13\1\xc0\x2f") + b"\1\0"
    body += extensions({kinds[name]: content for name, content in by_name.items()})
    return record(handshake(1, body))


def server_hello(suite: int, session_id: bytes = b"") -> bytes:
    """A record with a ServerHello, of the suite's version."""
    body = b"\3\3" + bytes(32) + vector(session_id, 1) + suite.to_bytes(2, "big") + b"\0"
    body += extensions({SUPPORTED_VERSIONS: b"\3\4"} if suite == SUITE13 else {})
    return record(handshake(2, body))


SECRETS = {
    name: bytes([number]) * 32
    for number, name in enumerate(
        (
            "CLIENT_EARLY_TRAFFIC_SECRET",
            "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
            "CLIENT_TRAFFIC_SECRET_0",
            "SERVER_HANDSHAKE_TRAFFIC_SECRET",
            "SERVER_TRAFFIC_SECRET_0",
        )
    )
}
EARLY = "CLIENT_EARLY_TRAFFIC_SECRET"


class Sealer:
    """Encrypts what a direction sends with one secret after the other."""

    def __init__(self) -> None:
        self.name, self.sequence = "", 0

    def seal(self, name: str, data: bytes, kind: int = APPLICATION_DATA) -> bytes:
        """A record. name: of its secret; the first record of each secret has number 0."""
        self.name, self.sequence = name, self.sequence + 1 if name == self.name else 0
        opener = _suites.opener13(_suites.SUITES[SUITE13], SECRETS[name])
        assert isinstance(opener, _suites.Aead13)
        plain = data + bytes([kind])
        head = bytes([APPLICATION_DATA, 3, 3]) + (len(plain) + 16).to_bytes(2, "big")
        nonce = (opener.iv ^ self.sequence).to_bytes(12, "big")
        return head + bytes(opener.cipher.encrypt(nonce, plain, head))


def client_records(is_accepted: bool) -> list[bytes]:
    """Records: early data before the handshake ends, and "later" after it."""
    client = Sealer()
    records = [client_hello(b"id", early=b""), client.seal(EARLY, b"early ")]
    if is_accepted:
        records.append(client.seal(EARLY, handshake(5), HANDSHAKE))
    records.append(client.seal("CLIENT_HANDSHAKE_TRAFFIC_SECRET", handshake(20, b"f"), HANDSHAKE))
    return [*records, client.seal("CLIENT_TRAFFIC_SECRET_0", b"later")]


def server_records(is_accepted: bool) -> list[bytes]:
    """Records: both hellos, the end of the handshake, and three answers."""
    server, name = Sealer(), "SERVER_HANDSHAKE_TRAFFIC_SECRET"
    said = handshake(8, extensions({EARLY_DATA: b""} if is_accepted else {}))
    records = [server_hello(SUITE13, b"id"), server.seal(name, said, HANDSHAKE)]
    records.append(server.seal(name, handshake(20, b"f"), HANDSHAKE))
    return records + [server.seal("SERVER_TRAFFIC_SECRET_0", answer) for answer in (b"1", b"2")]


def without_labels(keys: bytes, *labels: bytes) -> bytes:
    return b"".join(line + b"\n" for line in keys.splitlines() if not line.startswith(labels))


def with_wrong_secrets(keys: bytes) -> bytes:
    """The same lines with the last byte of each secret changed."""
    return re.sub(
        rb"([0-9a-f]{2})$", lambda end: b"%02x" % (int(end[1], 16) ^ 1), keys, flags=re.MULTILINE
    )


def secrets_block(keys: bytes, order: str = "<", kind: int = 0x544C534B) -> bytes:
    """A decryption secrets block."""
    return make.block(order, 10, struct.pack(order + "II", kind, len(keys)) + keys)


def with_secrets(talker: Talker, port: int, sizes: Sequence[int]) -> tuple[bytes, list[int]]:
    """A pcapng that brings its secrets, and where its blocks end."""
    sent = packets(split_segments(talker.talk(TALK[:3] + TALK[4:]), sizes), port=port)
    blocks = [make.section("<"), make.interface("<", 1), secrets_block(talker.keys)]
    blocks += [make.enhanced("<", 0, 10**9 + at, packet) for at, packet in enumerate(sent)]
    return b"".join(blocks), list(accumulate(map(len, blocks)))


def tls10_record(data: bytes, kind: int = 22) -> bytes:
    """One of TLS 1.0."""
    return bytes([kind, 3, 1]) + len(data).to_bytes(2, "big") + data
