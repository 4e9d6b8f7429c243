"""SCRAM (RFC 5802, RFC 7677) without channel binding: both ends."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import stringprep
import unicodedata
from dataclasses import dataclass, field

__all__ = ["DIGESTS", "ScramClient", "ScramError", "ScramRecord", "ScramServer"]

#: Mechanism -> hash.
DIGESTS = {"SCRAM-SHA-1": "sha1", "SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
#: More rounds would let a server keep this end busy for minutes.
MAX_ITERATIONS = 1_000_000
MIN_ITERATIONS = 4096
_PROHIBITED = (
    *(stringprep.in_table_c12, stringprep.in_table_c21_c22, stringprep.in_table_c3),
    *(stringprep.in_table_c4, stringprep.in_table_c5, stringprep.in_table_c6),
    *(stringprep.in_table_c7, stringprep.in_table_c8, stringprep.in_table_c9),
)


class ScramError(ValueError):
    """The other end's message is wrong, or it does not know the password."""


def prepare(text: str) -> str:
    """SASLprep without its check of bidirectional text (RFC 4013)."""
    mapped = "".join(
        " " if stringprep.in_table_c12(char) else char
        for char in text
        if not stringprep.in_table_b1(char)
    )
    normal = unicodedata.normalize("NFKC", mapped)
    if any(check(char) for char in normal for check in _PROHIBITED):
        raise ValueError("a character is not allowed in names and passwords (RFC 4013)")
    return normal


@dataclass(frozen=True, slots=True)
class ScramRecord:
    """What a server keeps instead of a password. Made by `of`; nothing of it is shown.

    Attributes:
        mechanism: whose digest was used.
        salt, iterations: what the keys were derived with.
        stored_key, server_key: RFC 5802 §3; secrets.
    """

    mechanism: str
    salt: bytes = field(repr=False)
    iterations: int
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)

    @classmethod
    def of(
        cls,
        password: str,
        *,
        mechanism: str = "SCRAM-SHA-256",
        salt: bytes | None = None,
        iterations: int = MIN_ITERATIONS,
    ) -> ScramRecord:
        """The record of a password."""
        digest = DIGESTS[mechanism]
        salt = secrets.token_bytes(16) if salt is None else salt
        salted = hashlib.pbkdf2_hmac(digest, prepare(password).encode(), salt, iterations)
        client_key = hmac.digest(salted, b"Client Key", digest)
        return cls(
            mechanism,
            salt,
            iterations,
            hashlib.new(digest, client_key).digest(),
            hmac.digest(salted, b"Server Key", digest),
        )


def _attributes(message: bytes, names: str) -> list[str]:
    """The values of a message that has to begin with these attributes."""
    try:
        parts = message.decode().split(",")
    except UnicodeDecodeError:
        raise ScramError("a message is not UTF-8") from None
    found = [part[2:] for name, part in zip(names, parts, strict=False) if part[:2] == f"{name}="]
    if len(found) != len(names):
        raise ScramError(f"a message lacks one of {', '.join(names)}")
    return found


def _binary(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise ScramError("an attribute is not base64") from None


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


class ScramClient:
    """The client's side of one login: `first`, `final`, `verify`, in this order."""

    def __init__(self, mechanism: str, username: str, password: str, nonce: str = "") -> None:
        self.digest = DIGESTS[mechanism]
        name = prepare(username).replace("=", "=3D").replace(",", "=2C")
        self.password = prepare(password).encode()
        self.nonce = nonce or secrets.token_urlsafe(24)
        self.bare = f"n={name},r={self.nonce}"
        self.proof_of_server = b""

    def first(self) -> bytes:
        """The client's first message."""
        return f"n,,{self.bare}".encode()

    def final(self, challenge: bytes) -> bytes:
        """The client's last message.

        Raises:
            ScramError: the challenge is wrong, or asks for too many or too few rounds.
        """
        nonce, salt, rounds = _attributes(challenge, "rsi")
        if not nonce.startswith(self.nonce) or nonce == self.nonce:
            raise ScramError("the server's nonce does not continue ours")
        iterations = int(rounds) if rounds.isascii() and rounds.isdigit() else 0
        if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
            raise ScramError(f"the server asks for {rounds[:20]} iterations")
        salted = hashlib.pbkdf2_hmac(self.digest, self.password, _binary(salt), iterations)
        client_key = hmac.digest(salted, b"Client Key", self.digest)
        without_proof = f"c=biws,r={nonce}"
        signed = f"{self.bare},{challenge.decode()},{without_proof}".encode()
        stored_key = hashlib.new(self.digest, client_key).digest()
        signature = hmac.digest(stored_key, signed, self.digest)
        server_key = hmac.digest(salted, b"Server Key", self.digest)
        self.proof_of_server = hmac.digest(server_key, signed, self.digest)
        return f"{without_proof},p={_text(_xor(client_key, signature))}".encode()

    def verify(self, outcome: bytes) -> None:
        """Check that the server knows the password, too.

        Raises:
            ScramError: it does not.
        """
        (proof,) = _attributes(outcome, "v")
        if not hmac.compare_digest(_binary(proof), self.proof_of_server):
            raise ScramError("the server does not know the password")


class ScramServer:
    """The server's side of one login: `challenge`, then `finish`."""

    def __init__(self, mechanism: str, nonce: str = "") -> None:
        self.mechanism = mechanism
        self.digest = DIGESTS[mechanism]
        self.nonce = nonce or secrets.token_urlsafe(24)
        self.bare = ""
        self.sent = ""

    def username(self, first: bytes) -> str:
        """Who wants to log in.

        Raises:
            ScramError: the message is wrong, or asks for channel binding.
        """
        binding, comma, rest = first.partition(b",,")
        if not comma or binding not in (b"n", b"y"):
            raise ScramError("channel binding and other identities are not supported")
        name, client_nonce = _attributes(rest, "nr")
        if not client_nonce:
            raise ScramError("the client has no nonce")
        self.binding = _text(binding + b",,")
        self.bare = rest.decode()
        self.nonce = client_nonce + self.nonce
        return name.replace("=2C", ",").replace("=3D", "=")

    def challenge(self, record: ScramRecord) -> bytes:
        """The server's first message."""
        self.sent = f"r={self.nonce},s={_text(record.salt)},i={record.iterations}"
        return self.sent.encode()

    def finish(self, final: bytes, record: ScramRecord) -> bytes:
        """The server's last message, which goes with the outcome.

        Raises:
            ScramError: the client does not know the password.
        """
        binding, nonce = _attributes(final, "cr")
        without_proof, _, proof = final.decode().rpartition(",p=")
        if nonce != self.nonce or binding != self.binding:
            raise ScramError("the client's last message does not continue the first")
        signed = f"{self.bare},{self.sent},{without_proof}".encode()
        signature = hmac.digest(record.stored_key, signed, self.digest)
        given = _binary(proof)
        if len(given) != len(signature):
            raise ScramError("the client's proof has the wrong size")
        client_key = _xor(given, signature)
        found = hashlib.new(self.digest, client_key).digest()
        if not hmac.compare_digest(found, record.stored_key):
            raise ScramError("the client does not know the password")
        return f"v={_text(hmac.digest(record.server_key, signed, self.digest))}".encode()
