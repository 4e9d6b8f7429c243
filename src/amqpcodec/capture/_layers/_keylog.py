"""Key logs of TLS, as SSLKEYLOGFILE names their format: which secrets a connection has.

A line is a label, the client's random bytes, which name the connection, and a secret, all but the
label in hexadecimal. Source: draft-ietf-tls-keylogfile.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import TypeAlias

#: A file's name, its contents, or its lines.
Source: TypeAlias = str | os.PathLike[str] | bytes | Iterable[str | bytes]

Secrets: TypeAlias = dict[tuple[str, bytes], bytes]

LINE = re.compile(rb"([A-Z0-9_]+) ([0-9a-fA-F]{64}) ([0-9a-fA-F]{64,128})")
#: Labels of secrets that records are read with; _N: of the keys after N updates.
USED = re.compile(
    rb"CLIENT_RANDOM|CLIENT_EARLY_TRAFFIC_SECRET|(CLIENT|SERVER)_HANDSHAKE_TRAFFIC_SECRET"
    rb"|(CLIENT|SERVER)_TRAFFIC_SECRET_[0-9]{1,9}"
)
#: Labels of what exporters and others use; _N: OpenSSL's own, of what is made after an update.
UNUSED = re.compile(
    rb"EXPORTER_SECRET|EARLY_EXPORTER(_MASTER)?_SECRET|ECH_\w+|RSA|PMS_\w+"
    rb"|(CLIENT|SERVER)_TRAFFIC_SECRET_N"
)

#: Secrets of files' own key logs that are kept at most, the newest ones.
KEPT = 1 << 18


class KeyLog:
    """The secrets of a key log of TLS, as SSLKEYLOGFILE names its format, for capture.read().

    Lines are a label, the random bytes of a client's hello and a secret, the latter two in
    hexadecimal. Its repr shows none of them. Source: draft-ietf-tls-keylogfile.
    """

    def __init__(self, source: Source | None = None) -> None:
        """source: a path, the contents as bytes, or lines. It is read at once; a file that grows is
        read again where a secret is missing.

        Raises:
            OSError: as open() does.
            TypeError: the source is nothing of these.
        """
        self._secrets: Secrets = {}
        #: Numbers of the lines that are neither a secret nor a comment, from 1; at most 100.
        self.bad_lines: list[int] = []
        self._path: str | os.PathLike[str] | None = None
        self._size = -1
        if source is None:
            return
        if isinstance(source, str | os.PathLike):
            self._path = source
            self._reload()
        elif isinstance(source, bytes):
            self.add(source.splitlines())
        elif isinstance(source, Iterable):
            self.add(source)
        else:
            raise TypeError(f"a key log is a path, bytes or lines, not {type(source).__name__}")

    def __repr__(self) -> str:
        """How many secrets there are."""
        return f"<KeyLog of {len(self._secrets)} secrets>"

    def __bool__(self) -> bool:
        """Whether there are any, or may be."""
        return bool(self._secrets) or self._path is not None

    def add(self, lines: Iterable[str | bytes]) -> None:
        """The secrets of these lines. An error of a line would say what may be a part of a secret:
        bad_lines has its number alone."""
        for number, line in enumerate(lines, 1):
            text = line.encode("utf-8", "replace") if isinstance(line, str) else bytes(line)
            text = text.strip()
            if not text or text.startswith(b"#"):
                continue
            found = LINE.fullmatch(text)
            label = text.split(b" ", 1)[0]
            if found is not None and USED.fullmatch(label) and len(found[3]) % 2 == 0:
                key = label.decode(), bytes.fromhex(found[2].decode())
                self._secrets[key] = bytes.fromhex(found[3].decode())
            elif not UNUSED.fullmatch(label) and len(self.bad_lines) < 100:
                self.bad_lines.append(number)

    def find(self, label: str, client_random: bytes) -> bytes | None:
        """A secret, or None. A file that has grown since is read again."""
        key = label, client_random
        found = self._secrets.get(key)
        if found is None and self._reload():
            found = self._secrets.get(key)
        return found

    def _reload(self) -> bool:
        """Read the file where it has another size than before: whether it has."""
        if self._path is None:
            return False
        size = os.stat(self._path).st_size
        if size == self._size:
            return False
        self._size = size
        self.bad_lines.clear()
        with open(self._path, "rb") as file:
            self.add(file)
        return True

    def drop_oldest(self, kept: int) -> None:
        """Keep so many secrets, the newest ones."""
        while len(self._secrets) > kept:
            del self._secrets[next(iter(self._secrets))]

    def lines(self) -> list[str]:
        """All secrets, the oldest first, as add() takes them."""
        known = self._secrets.items()
        return [f"{label} {random.hex()} {secret.hex()}" for (label, random), secret in known]


class Keys:
    """What a reader opens records with: the key log it was given, and those of its captures."""

    def __init__(self, given: KeyLog | None = None) -> None:
        self.given = KeyLog() if given is None else given
        #: None: no capture brought one.
        self.brought: KeyLog | None = None

    def __bool__(self) -> bool:
        """Whether there are any secrets, or may be."""
        return bool(self.given) or bool(self.brought)

    def bring(self, lines: Iterable[str | bytes]) -> None:
        """Those of a capture: the oldest ones go where there are too many."""
        if self.brought is None:
            self.brought = KeyLog()
        self.brought.add(lines)
        self.brought.drop_oldest(KEPT)

    def find(self, label: str, client_random: bytes) -> bytes | None:
        """A secret, or None; see KeyLog."""
        found = self.given.find(label, client_random)
        if found is None and self.brought is not None:
            return self.brought.find(label, client_random)
        return found
