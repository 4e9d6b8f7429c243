"""States of a reader as they leave the process: sealed or encrypted.

Layout: ``AMQPCAP``, the version, how it is sealed (one byte each), the length of what follows (8
bytes, big-endian), then a BLAKE2b digest of 32 bytes and the state; or, encrypted, the tag of
AES-SIV and the ciphertext. Equal states and keys give equal bytes.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

from ._errors import StateError

MAGIC = b"AMQPCAP"
VERSION = 10
#: How a state is sealed.
PLAIN, KEYED, ENCRYPTED = 0, 1, 2

DIGEST = 32
HEAD = len(MAGIC) + 2 + 8
#: Bytes of a key: fewer can be guessed.
SHORTEST_KEY = 16

MISSING = "encrypted states need the package cryptography: pip install 'amqpcodec[crypto]'"


def seal(state: bytes, key: bytes | None, encrypt: bool) -> bytes:
    """The state as it is stored.

    Raises:
        ValueError: the key is too short, or missing where encrypt asks for one.
        ImportError: encrypt without the package cryptography.
    """
    if encrypt:
        if key is None:
            raise ValueError("an encrypted state needs a key")
        cipher = _cipher(key)
        head = _head(ENCRYPTED, len(state) + 16)
        return head + bytes(cipher.encrypt(state, [head]))
    head = _head(PLAIN if key is None else KEYED, DIGEST + len(state))
    return head + _digest(head, state, key) + state


def unseal(sealed: bytes, key: bytes | None) -> bytes:
    """The state that seal() was given.

    Raises:
        StateError: it is damaged, of another version, or sealed with another key or none.
        ImportError: it is encrypted, and the package cryptography is missing.
    """
    if sealed[: len(MAGIC)] != MAGIC or len(sealed) < HEAD:
        raise StateError("not the state of a capture reader, or cut")
    version, how = sealed[len(MAGIC)], sealed[len(MAGIC) + 1]
    if version != VERSION:
        raise StateError(f"the state has version {version}; this reader takes {VERSION}")
    head, body = sealed[:HEAD], sealed[HEAD:]
    size = int.from_bytes(head[-8:], "big")
    if size != len(body):
        raise StateError(f"the state is damaged: {size} bytes announced, {len(body)} there")
    if how == PLAIN and key is not None:
        raise StateError("the state is sealed without a key, and a key was given")
    if how in (KEYED, ENCRYPTED) and key is None:
        raise StateError("the state is sealed with a key, and none was given")
    if how == ENCRYPTED:
        return _decrypt(head, body, key or b"")
    if how not in (PLAIN, KEYED) or size < DIGEST:
        raise StateError("the state is damaged: its head says what no reader writes")
    digest, state = body[:DIGEST], body[DIGEST:]
    if not hmac.compare_digest(digest, _digest(head, state, key)):
        other = "" if key is None else ", or sealed with another key"
        raise StateError(f"the state is damaged: its checksum is wrong{other}")
    return state


def _head(how: int, size: int) -> bytes:
    return MAGIC + bytes([VERSION, how]) + size.to_bytes(8, "big")


def _derived(key: bytes, purpose: bytes) -> bytes:
    """64 bytes of a key of any length, others for each purpose."""
    if not isinstance(key, bytes):
        raise TypeError(f"the key of a state is bytes, not {type(key).__name__}")
    if len(key) < SHORTEST_KEY:
        raise ValueError(f"the key of a state has at least {SHORTEST_KEY} bytes, not {len(key)}")
    return hmac.digest(key, b"amqpcodec capture state: " + purpose, "sha512")


def _digest(head: bytes, state: bytes, key: bytes | None) -> bytes:
    derived = b"" if key is None else _derived(key, b"checksum")
    return hashlib.blake2b(head + state, digest_size=DIGEST, key=derived).digest()


def _cipher(key: bytes) -> Any:
    derived = _derived(key, b"encryption")
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV
    except ImportError as error:
        raise ImportError(MISSING) from error
    return AESSIV(derived)


def _decrypt(head: bytes, body: bytes, key: bytes) -> bytes:
    cipher = _cipher(key)
    from cryptography.exceptions import InvalidTag

    if len(body) <= 16:  # the tag alone
        raise StateError("the state is damaged: nothing is in it")
    try:
        return bytes(cipher.decrypt(body, [head]))
    except InvalidTag:
        raise StateError("the state is damaged, or encrypted with another key") from None
