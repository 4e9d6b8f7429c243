"""Cipher suites of TLS 1.2 and 1.3: from a secret to what opens the records of a direction."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

TLS12, TLS13 = 0x0303, 0x0304


class Suite(NamedTuple):
    """How records are protected. mac: the hash of HMAC, of CBC alone; prf: that of all secrets."""

    cipher: str
    key: int
    prf: str
    mac: str = ""


GCM128 = Suite("gcm", 16, "sha256")
GCM256 = Suite("gcm", 32, "sha384")
CCM128, CCM256 = Suite("ccm", 16, "sha256"), Suite("ccm", 32, "sha256")
CCM128_8, CCM256_8 = Suite("ccm_8", 16, "sha256"), Suite("ccm_8", 32, "sha256")
CHACHA20 = Suite("chacha20", 32, "sha256")
CBC128_SHA, CBC256_SHA = Suite("cbc", 16, "sha256", "sha1"), Suite("cbc", 32, "sha256", "sha1")
CBC128_SHA256 = Suite("cbc", 16, "sha256", "sha256")
CBC256_SHA256 = Suite("cbc", 32, "sha256", "sha256")
CBC256_SHA384 = Suite("cbc", 32, "sha384", "sha384")

#: The numbers of IANA's registry. How keys are agreed on does not matter here, so that suites which
#: differ in that alone stand together.
_NUMBERS = {
    GCM128: "009C 009E 00A0 00A2 00A4 00A6 00A8 00AA 00AC C02B C02D C02F C031 D001 1301",
    GCM256: "009D 009F 00A1 00A3 00A5 00A7 00A9 00AB 00AD C02C C02E C030 C032 D002 1302",
    CHACHA20: "CCA8 CCA9 CCAA CCAB CCAC CCAD CCAE 1303",
    CCM128: "C09C C09E C0A4 C0A6 C0AC D005 1304",
    CCM256: "C09D C09F C0A5 C0A7 C0AD",
    CCM128_8: "C0A0 C0A2 C0A8 C0AA C0AE D003 1305",
    CCM256_8: "C0A1 C0A3 C0A9 C0AB C0AF",
    CBC128_SHA: "002F 0030 0031 0032 0033 0034 008C 0090 0094 C004 C009 C00E C013"
    " C018 C01D C01E C01F C035",
    CBC256_SHA: "0035 0036 0037 0038 0039 003A 008D 0091 0095 C005 C00A C00F C014"
    " C019 C020 C021 C022 C036",
    CBC128_SHA256: "003C 003E 003F 0040 0067 006C 00AE 00B2 00B6 C023 C025 C027 C029 C037",
    CBC256_SHA256: "003D 0068 0069 006A 006B 006D",
    CBC256_SHA384: "00AF 00B3 00B7 C024 C026 C028 C02A C038",
}
SUITES = {
    int(number, 16): suite for suite, numbers in _NUMBERS.items() for number in numbers.split()
}


class Opener(Protocol):
    """Opens the records of a direction, as long as its keys are the same."""

    def open(self, sequence: int, head: bytes, record: bytes) -> bytes | None:
        """What the record with this number holds, or None where it is not that one."""


@dataclass
class Aead13:
    """TLS 1.3. Spec: RFC 8446 §5.2."""

    cipher: Any
    iv: int

    def open(self, sequence: int, head: bytes, record: bytes) -> bytes | None:
        """The inner plaintext: contents, type and padding."""
        nonce = (self.iv ^ sequence).to_bytes(12, "big")
        return _decrypt(self.cipher, nonce, record, head)


@dataclass
class Aead12:
    """AES-GCM and AES-CCM of TLS 1.2: a part of the nonce is in each record. Spec: RFC 5288 §3."""

    cipher: Any
    salt: bytes
    tag: int

    def open(self, sequence: int, head: bytes, record: bytes) -> bytes | None:
        """The contents."""
        size = len(record) - 8 - self.tag
        if size < 0:
            return None
        extra = sequence.to_bytes(8, "big") + head[:3] + size.to_bytes(2, "big")
        return _decrypt(self.cipher, self.salt + record[:8], record[8:], extra)


@dataclass
class ChaCha12:
    """ChaCha20-Poly1305 of TLS 1.2. Spec: RFC 7905 §2."""

    cipher: Any
    iv: int

    def open(self, sequence: int, head: bytes, record: bytes) -> bytes | None:
        """The contents."""
        size = len(record) - 16
        if size < 0:
            return None
        extra = sequence.to_bytes(8, "big") + head[:3] + size.to_bytes(2, "big")
        return _decrypt(self.cipher, (self.iv ^ sequence).to_bytes(12, "big"), record, extra)


@dataclass
class Cbc12:
    """AES-CBC with HMAC, which comes first or last. Spec: RFC 5246 §6.2.3.2; RFC 7366."""

    key: bytes
    mac_key: bytes
    mac: str
    encrypt_then_mac: bool

    def open(self, sequence: int, head: bytes, record: bytes) -> bytes | None:
        """The contents."""
        size = hashlib.new(self.mac).digest_size
        number = sequence.to_bytes(8, "big")
        if self.encrypt_then_mac:
            record, mac = record[:-size], record[-size:]
            extra = number + head[:3] + len(record).to_bytes(2, "big")
            if not hmac.compare_digest(hmac.digest(self.mac_key, extra + record, self.mac), mac):
                return None
        if len(record) < 32 or len(record) % 16:
            return None
        plain = _decrypt_cbc(self.key, record)
        padding = plain[-1] + 1
        if plain[-padding:] != bytes([padding - 1]) * padding:
            return None
        plain = plain[:-padding]
        if self.encrypt_then_mac:
            return plain
        if len(plain) < size:
            return None
        plain, mac = plain[:-size], plain[-size:]
        extra = number + head[:3] + len(plain).to_bytes(2, "big")
        if not hmac.compare_digest(hmac.digest(self.mac_key, extra + plain, self.mac), mac):
            return None
        return plain


def _decrypt(cipher: Any, nonce: bytes, data: bytes, extra: bytes) -> bytes | None:
    from cryptography.exceptions import InvalidTag

    try:
        return bytes(cipher.decrypt(nonce, data, extra))
    except InvalidTag:
        return None


def _decrypt_cbc(key: bytes, record: bytes) -> bytes:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    decryptor = Cipher(algorithms.AES(key), modes.CBC(record[:16])).decryptor()
    return bytes(decryptor.update(record[16:]) + decryptor.finalize())


def _aead(suite: Suite, key: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import AESCCM, AESGCM, ChaCha20Poly1305

    if suite.cipher == "gcm":
        return AESGCM(key)
    if suite.cipher == "chacha20":
        return ChaCha20Poly1305(key)
    return AESCCM(key, 8 if suite.cipher == "ccm_8" else 16)


def opener12(
    suite: Suite, master: bytes, randoms: tuple[bytes, bytes], side: int, encrypt_then_mac: bool
) -> Opener:
    """Of a direction of TLS 1.2. randoms: of the client and of the server. Spec: RFC 5246 §6.3."""
    mac = hashlib.new(suite.mac).digest_size if suite.mac else 0
    iv = {"gcm": 4, "ccm": 4, "ccm_8": 4, "chacha20": 12, "cbc": 0}[suite.cipher]
    seed = b"key expansion" + randoms[1] + randoms[0]
    keys = _expand12(master, seed, 2 * (mac + suite.key + iv), suite.prf)
    mac_key = keys[side * mac :][:mac]
    key = keys[2 * mac + side * suite.key :][: suite.key]
    fixed = keys[2 * (mac + suite.key) + side * iv :][:iv]
    if suite.cipher == "cbc":
        return Cbc12(key, mac_key, suite.mac, encrypt_then_mac)
    if suite.cipher == "chacha20":
        return ChaCha12(_aead(suite, key), int.from_bytes(fixed, "big"))
    return Aead12(_aead(suite, key), fixed, 8 if suite.cipher == "ccm_8" else 16)


def _expand12(secret: bytes, seed: bytes, size: int, prf: str) -> bytes:
    """The pseudorandom function of TLS 1.2. Spec: RFC 5246 §5."""
    out, seed_hash = b"", seed
    while len(out) < size:
        seed_hash = hmac.digest(secret, seed_hash, prf)
        out += hmac.digest(secret, seed_hash + seed, prf)
    return out


def opener13(suite: Suite, secret: bytes) -> Opener:
    """Of a direction of TLS 1.3. Spec: RFC 8446 §7.3."""
    key = _expand13(suite, secret, b"key", suite.key)
    iv = _expand13(suite, secret, b"iv", 12)
    return Aead13(_aead(suite, key), int.from_bytes(iv, "big"))


def next_secret(suite: Suite, secret: bytes) -> bytes:
    """That of the keys after an update. Spec: RFC 8446 §7.2."""
    return _expand13(suite, secret, b"traffic upd", hashlib.new(suite.prf).digest_size)


def _expand13(suite: Suite, secret: bytes, label: bytes, size: int) -> bytes:
    """HKDF-Expand-Label without a context. Spec: RFC 8446 §7.1."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

    name = b"tls13 " + label
    info = size.to_bytes(2, "big") + bytes([len(name)]) + name + b"\0"
    algorithm = hashes.SHA384() if suite.prf == "sha384" else hashes.SHA256()
    return bytes(HKDFExpand(algorithm, size, info).derive(secret))
