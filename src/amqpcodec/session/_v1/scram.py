"""SCRAM (RFC 5802, RFC 7677) without channel binding: both ends."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import stringprep
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field

from ..._facade.scalars import as_int

__all__ = [
    "DIGESTS",
    "MAX_ITERATIONS",
    "MIN_ITERATIONS",
    "ScramClient",
    "ScramError",
    "ScramRecord",
    "ScramServer",
    "prepare",
]

#: Mechanism -> hash.
DIGESTS = {"SCRAM-SHA-1": "sha1", "SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
#: More iterations would let a server keep a client busy for minutes.
MAX_ITERATIONS = 1_000_000
#: Fewer make a recorded login easy to guess (RFC 7677 §4).
MIN_ITERATIONS = 4096
_PROHIBITED = (
    *(stringprep.in_table_c12, stringprep.in_table_c21_c22, stringprep.in_table_c3),
    *(stringprep.in_table_c4, stringprep.in_table_c5, stringprep.in_table_c6),
    *(stringprep.in_table_c7, stringprep.in_table_c8, stringprep.in_table_c9),
)
#: An attribute: a letter and a value without a comma or NUL (RFC 5802 §7).
_ATTRIBUTE = re.compile(r"[A-Za-z]=[^,\0]+")
_NONCE = re.compile(r"[!-+\--~]+")
_NUMBER = re.compile(r"[1-9][0-9]{0,9}")
_NAME = re.compile(r"(?:[^,=]|=2C|=3D)+")


class ScramError(ValueError):
    """The other end's message is wrong or out of order, or it does not know the password."""


def prepare(text: str) -> str:
    """A name or password as SASLprep normalises it (RFC 4013, RFC 3454).

    Raises:
        ValueError: it holds a character that is not allowed, or text of both directions.
    """
    mapped = "".join(
        " " if stringprep.in_table_c12(char) else char
        for char in text
        if not stringprep.in_table_b1(char)
    )
    normal = unicodedata.normalize("NFKC", mapped)
    if any(check(char) for char in normal for check in _PROHIBITED):
        raise ValueError("a character is not allowed in names and passwords (RFC 4013 §2.3)")
    if any(map(stringprep.in_table_d1, normal)) and not (
        stringprep.in_table_d1(normal[0])
        and stringprep.in_table_d1(normal[-1])
        and not any(map(stringprep.in_table_d2, normal))
    ):
        raise ValueError("a name or password mixes text of both directions (RFC 3454 §6)")
    return normal


def check_iterations(iterations: int) -> None:
    """Refuse a number of iterations that no end accepts.

    Raises:
        ValueError: it is below 4,096 or above 1,000,000.
    """
    if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
        raise ValueError(
            f"iterations is {MIN_ITERATIONS} to {MAX_ITERATIONS} (RFC 7677), not {iterations}"
        )


@dataclass(frozen=True, slots=True)
class ScramRecord:
    """What a server keeps instead of a password. Made by `of`; nothing of it is shown.

    Attributes:
        mechanism: whose digest was used.
        salt, iterations: what the keys were derived with; 4,096 to 1,000,000 iterations.
        stored_key, server_key: RFC 5802 §3; secrets.

    Raises:
        ValueError: the mechanism does not exist, or a value does not fit to it.
    """

    mechanism: str
    salt: bytes = field(repr=False)
    iterations: int
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)

    def __post_init__(self) -> None:
        digest = _digest(self.mechanism)
        check_iterations(self.iterations)
        if not 1 <= len(self.salt) <= 64:
            raise ValueError(f"a salt has 1 to 64 bytes, not {len(self.salt)}")
        size = hashlib.new(digest).digest_size
        if len(self.stored_key) != size or len(self.server_key) != size:
            raise ValueError(f"the keys of {self.mechanism} have {size} bytes")

    @classmethod
    def of(
        cls,
        password: str,
        *,
        mechanism: str = "SCRAM-SHA-256",
        salt: bytes | None = None,
        iterations: int = MIN_ITERATIONS,
    ) -> ScramRecord:
        """The record of a password. salt: 16 random bytes where none is given.

        Raises:
            ValueError: as the class does, and where the password holds a character that
                RFC 4013 does not allow.
        """
        digest = _digest(mechanism)
        iterations = as_int(iterations)
        check_iterations(iterations)
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

    @classmethod
    def decoy(cls, username: str, mechanism: str, secret: bytes, iterations: int) -> ScramRecord:
        """The record of a user that does not exist: always the same one, and no password fits.

        Args:
            username: as `prepare` returns it.
            secret: the server's; without it nobody can tell the salt from a random one.
        """
        digest = _digest(mechanism)

        def derive(purpose: str) -> bytes:
            return hmac.digest(secret, f"{purpose}\0{mechanism}\0{username}".encode(), digest)

        return cls(mechanism, derive("salt")[:16], iterations, derive("stored"), derive("server"))


def _digest(mechanism: str) -> str:
    if mechanism not in DIGESTS:
        raise ValueError(f"no mechanism {mechanism!r}; there is {', '.join(DIGESTS)}")
    return DIGESTS[mechanism]


def _attributes(message: bytes, names: str, last: str = "") -> list[str]:
    """The values of a message that begins with these attributes, and ends with `last`, if any.

    Attributes between them are extensions, which may be ignored, but for "m" (RFC 5802 §5.1).
    """
    try:
        parts = message.decode().split(",")
    except UnicodeDecodeError:
        raise ScramError("a message is not UTF-8") from None
    if not all(map(_ATTRIBUTE.fullmatch, parts)):
        raise ScramError("a message is not a list of attributes")
    letters = [part[0] for part in parts]
    if "m" in letters:
        raise ScramError("a message has an extension that must be understood, and is not")
    if len(set(letters)) < len(letters):
        raise ScramError("a message has an attribute twice")
    if "".join(letters[: len(names)]) != names or (last and letters[-1] != last):
        order = ", ".join(names + last)
        raise ScramError(f"a message lacks one of the attributes {order}, or has another order")
    required = [*parts[: len(names)], *parts[len(parts) - len(last) :]]
    return [part[2:] for part in required]


def _binary(text: str) -> bytes:
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        raise ScramError("an attribute is not base64") from None
    if _text(data) != text:
        raise ScramError("an attribute is not base64 in its only form")
    return data


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


class ScramClient:
    """The client's side of one login: `first` begins, `receive` answers, `finish` ends it.

    state: "first sent", "proof sent", "verified" (the server knows the password) or "failed".
    """

    def __init__(
        self,
        mechanism: str,
        username: str,
        password: str,
        nonce: str = "",
        *,
        min_iterations: int = MIN_ITERATIONS,
        max_iterations: int = MAX_ITERATIONS,
    ) -> None:
        self._digest = DIGESTS[mechanism]
        name = prepare(username).replace("=", "=3D").replace(",", "=2C")
        if not name:
            raise ValueError("SCRAM needs a username")
        self._password = prepare(password).encode()
        self._nonce = nonce or secrets.token_urlsafe(24)
        self._bare = f"n={name},r={self._nonce}"
        self._iterations = (min_iterations, max_iterations)
        self._server_signature = b""
        self.state = "first sent"

    def first(self) -> bytes:
        """The client's first message."""
        return f"n,,{self._bare}".encode()

    def receive(self, message: bytes) -> bytes:
        """The answer to a challenge of the server.

        Raises:
            ScramError: the challenge is wrong, has no place in this state, asks for too many or
                too few iterations, or does not prove that the server knows the password.
        """
        step = _CLIENT_STEPS.get((self.state, message[:2]))
        if step is None:
            state, self.state = self.state, "failed"
            raise ScramError(f"the server's message has no place in the state {state!r}")
        self.state = "failed"  # where the step raises
        return step(self, message)

    def finish(self, data: bytes | None) -> None:
        """Check what came with the server's outcome, which says that the client may go on.

        Raises:
            ScramError: the server did not prove that it knows the password, or did so twice.
        """
        if data:
            self.receive(data)
        if self.state != "verified":
            self.state = "failed"
            raise ScramError("the server did not prove that it knows the password")

    def _take_first(self, message: bytes) -> bytes:
        nonce, salt, iterations = _attributes(message, "rsi")
        if not _NONCE.fullmatch(nonce):
            raise ScramError("the server's nonce has characters that are not printable")
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise ScramError("the server's nonce does not continue the client's")
        count = int(iterations) if _NUMBER.fullmatch(iterations) else 0
        if not self._iterations[0] <= count <= self._iterations[1]:
            lowest, highest = self._iterations
            raise ScramError(
                f"the server asks for {iterations[:20]} iterations, not {lowest} to {highest}"
            )
        digest = self._digest
        salted = hashlib.pbkdf2_hmac(digest, self._password, _binary(salt), count)
        client_key = hmac.digest(salted, b"Client Key", digest)
        without_proof = f"c=biws,r={nonce}"
        signed = f"{self._bare},{message.decode()},{without_proof}".encode()
        stored_key = hashlib.new(digest, client_key).digest()
        signature = hmac.digest(stored_key, signed, digest)
        server_key = hmac.digest(salted, b"Server Key", digest)
        self._server_signature = hmac.digest(server_key, signed, digest)
        self.state = "proof sent"
        return f"{without_proof},p={_text(_xor(client_key, signature))}".encode()

    def _take_final(self, message: bytes) -> bytes:
        (signature,) = _attributes(message, "v")
        expected, self._server_signature = self._server_signature, b""
        if not expected or not hmac.compare_digest(_binary(signature), expected):
            raise ScramError("the server does not know the password")
        self.state = "verified"
        return b""

    def _take_error(self, message: bytes) -> bytes:
        (error,) = _attributes(message, "e")
        raise ScramError(f"the server answers {error[:50]!r}")


#: What a server may send: (the client's state, the first attribute) -> the step. All else ends
#: the login. "verified" has no step: the server proves itself once.
_CLIENT_STEPS: dict[tuple[str, bytes], Callable[[ScramClient, bytes], bytes]] = {
    ("first sent", b"r="): ScramClient._take_first,
    ("proof sent", b"v="): ScramClient._take_final,
    ("proof sent", b"e="): ScramClient._take_error,
}


class ScramServer:
    """The server's side of one login: `username`, `challenge`, `finish`, once each in this order.

    A call out of order raises ScramError.
    """

    def __init__(self, mechanism: str, nonce: str = "") -> None:
        self._digest = DIGESTS[mechanism]
        self._nonce = nonce or secrets.token_urlsafe(24)
        self._bare = ""
        self._sent = ""
        self._record: ScramRecord | None = None
        self.state = "start"

    def _step(self, before: str, after: str) -> None:
        state, self.state = self.state, "failed"
        if state != before:
            raise ScramError(f"the message has no place in the state {state!r}")
        self.state = after

    def username(self, first: bytes) -> str:
        """The name that the client wants to log in with, as `prepare` returns it.

        Raises:
            ScramError: the message is wrong, or asks for channel binding.
        """
        self._step("start", "named")
        binding, comma, bare = first.partition(b",,")
        if not comma or binding not in (b"n", b"y"):
            raise ScramError("channel binding and other identities are not supported")
        name, nonce = _attributes(bare, "nr")
        if not _NAME.fullmatch(name) or not _NONCE.fullmatch(nonce):
            raise ScramError("the client's name or nonce is malformed")
        try:
            username = prepare(name.replace("=2C", ",").replace("=3D", "="))
        except ValueError as error:
            raise ScramError(str(error)) from None
        if not username:
            raise ScramError("the client's name is empty")
        self._binding = _text(binding + b",,")
        self._bare = bare.decode()
        self._nonce = nonce + self._nonce
        return username

    def challenge(self, record: ScramRecord) -> bytes:
        """The server's first message, for the user whose record this is."""
        self._step("named", "challenge sent")
        self._record = record
        self._sent = f"r={self._nonce},s={_text(record.salt)},i={record.iterations}"
        return self._sent.encode()

    def finish(self, final: bytes) -> bytes:
        """The server's last message, which goes with the outcome.

        Raises:
            ScramError: the client does not know the password, or its message is wrong.
        """
        self._step("challenge sent", "finished")
        record = self._record
        assert record is not None
        binding, nonce, proof = _attributes(final, "cr", "p")
        if nonce != self._nonce or binding != self._binding:
            raise ScramError("the client's last message does not continue the first")
        without_proof = final.decode().rpartition(",p=")[0]
        signed = f"{self._bare},{self._sent},{without_proof}".encode()
        signature = hmac.digest(record.stored_key, signed, self._digest)
        data = _binary(proof)
        if len(data) != len(signature):
            raise ScramError("the client's proof has the wrong size")
        client_key = _xor(data, signature)
        stored_key = hashlib.new(self._digest, client_key).digest()
        if not hmac.compare_digest(stored_key, record.stored_key):
            raise ScramError("the name or the password is wrong")
        return f"v={_text(hmac.digest(record.server_key, signed, self._digest))}".encode()
