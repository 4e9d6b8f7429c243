"""Conversations over TLS, in memory: what both sides send, and the key log of it.

Both ends are Python's ssl. The certificate and its key are made for each run and worth nothing.
"""

from __future__ import annotations

import datetime as dt
import ssl
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

CLIENT, SERVER = 0, 1
#: (side, bytes), in the order in which they were sent.
Payloads = list[tuple[int, bytes]]


@cache
def certificate() -> str:
    """Path of a file with a certificate for "localhost" and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "throw-away")])
    now = dt.datetime.now(dt.UTC)
    x509_certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), False)
        .sign(key, hashes.SHA256())
    )
    encoding, none = serialization.Encoding.PEM, serialization.NoEncryption()
    pem = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, none)
    path = Path(tempfile.mkdtemp()) / "throw-away.pem"
    path.write_bytes(x509_certificate.public_bytes(encoding) + pem)
    return str(path)


class Talker:
    """Conversations of one client and one server, which remember their sessions."""

    def __init__(
        self,
        version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3,
        ciphers: str | None = None,
        tickets: bool = True,
    ) -> None:
        """ciphers: of TLS 1.2, as OpenSSL names them. tickets: else sessions have ids alone."""
        self.log = Path(tempfile.mkdtemp()) / "keys.log"
        client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        client.load_verify_locations(certificate())
        server.load_cert_chain(certificate())
        client.keylog_filename = str(self.log)
        for context in (client, server):
            context.minimum_version = context.maximum_version = version
            if ciphers is not None:
                context.set_ciphers(f"{ciphers}:@SECLEVEL=0")
            if not tickets:
                context.options |= ssl.OP_NO_TICKET
        self.contexts = client, server
        self.session: ssl.SSLSession | None = None
        self.cipher = ""
        self.resumed = False

    @property
    def keys(self) -> bytes:
        """The key log so far."""
        return self.log.read_bytes()

    def talk(self, messages: Iterable[tuple[int, bytes]], close: bool = True) -> Payloads:
        """What both sides send where they say these messages, one after the other."""
        payloads: Payloads = []
        reads, writes = (ssl.MemoryBIO(), ssl.MemoryBIO()), (ssl.MemoryBIO(), ssl.MemoryBIO())
        ends = (
            self.contexts[0].wrap_bio(
                reads[0], writes[0], server_hostname="localhost", session=self.session
            ),
            self.contexts[1].wrap_bio(reads[1], writes[1], server_side=True),
        )

        def carry(side: int) -> None:
            data = writes[side].read()
            if data:
                payloads.append((side, data))
                reads[1 - side].write(data)

        handshake_flags = [False, False]
        while not all(handshake_flags):
            for side, end in enumerate(ends):
                try:
                    end.do_handshake()
                    handshake_flags[side] = True
                except ssl.SSLWantReadError:
                    pass
                carry(side)
        for side, data in messages:
            for at in range(0, len(data), 1 << 16):
                ends[side].write(data[at : at + (1 << 16)])
            carry(side)
            got = 0
            while got < len(data):
                got += len(ends[1 - side].read(len(data) - got))
            carry(1 - side)
        cipher = ends[0].cipher()
        self.cipher = cipher[0] if cipher else ""
        self.session, self.resumed = ends[0].session, bool(ends[0].session_reused)
        if close:
            for side in (CLIENT, SERVER):
                try:
                    ends[side].unwrap()
                except ssl.SSLError:
                    pass
                carry(side)
        return payloads


def joined(payloads: Iterable[tuple[int, bytes]]) -> tuple[bytes, bytes]:
    """All that each side said."""
    streams = [b"", b""]
    for side, data in payloads:
        streams[side] += data
    return streams[0], streams[1]


def split_segments(payloads: Iterable[tuple[int, bytes]], sizes: Sequence[int]) -> Payloads:
    """The same in segments of these sizes, in turn."""
    out: Payloads = []
    for side, data in payloads:
        at = 0
        while at < len(data):
            size = sizes[len(out) % len(sizes)]
            out.append((side, data[at : at + size]))
            at += size
    return out
