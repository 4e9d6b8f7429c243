"""Key logs of TLS, as SSLKEYLOGFILE names their format: which secrets a connection has.

A line is a label, the client's random bytes, which name the connection, and a secret, all but the
label in hexadecimal. Source: draft-ietf-tls-keylogfile.
"""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import IO, TypeAlias

#: A file's name, its contents, or its lines.
Source: TypeAlias = str | os.PathLike[str] | bytes | Iterable[str | bytes]

#: Label and client's random bytes -> the secrets that lines give for them, in their order.
Secrets: TypeAlias = OrderedDict[tuple[str, bytes], tuple[bytes, ...]]

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
#: Secrets of one label and connection: the records say which is right; later lines are ignored.
MAX_CANDIDATES = 4


class KeyLog:
    """The secrets of a key log of TLS, as SSLKEYLOGFILE names its format, for capture.read().

    Lines are a label, the random bytes of a client's hello and a secret, the latter two in
    hexadecimal. Its repr shows none of them. Source: draft-ietf-tls-keylogfile.
    """

    def __init__(self, source: Source | None = None) -> None:
        """source: a path, the contents as bytes, or lines. It is read at once; what a file has
        grown by is read where a secret is missing.

        Raises:
            OSError: as open() does.
            TypeError: the source is nothing of these.
        """
        self._secrets: Secrets = OrderedDict()
        self._count = 0
        #: Numbers of the lines that are neither a secret nor a comment, from 1; at most 100.
        self.bad_lines: list[int] = []
        self._path: str | os.PathLike[str] | None = None
        self._file_id = (0, 0)  # device and number of the file that was read
        self._size = -1  # its bytes then
        self._next_line = (0, 0)  # where reading goes on: bytes and lines before it
        self._last_line = b""  # the one before it
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
        return f"<KeyLog of {self._count} secrets>"

    def __bool__(self) -> bool:
        """Whether there are any, or may be."""
        return bool(self._secrets) or self._path is not None

    def add(self, lines: Iterable[str | bytes], first: int = 1) -> None:
        """Take the secrets of these lines. first: number of the first one, for `bad_lines`.

        An error about a line could show a part of a secret: `bad_lines` has its number alone.
        Where lines give several secrets for the same thing, all are kept, at most 4.
        """
        for number, line in enumerate(lines, first):
            text = line.encode("utf-8", "replace") if isinstance(line, str) else bytes(line)
            text = text.strip()
            if not text or text.startswith(b"#"):
                continue
            match = LINE.fullmatch(text)
            label = text.split(b" ", 1)[0]
            if match is not None and USED.fullmatch(label) and len(match[3]) % 2 == 0:
                key = label.decode(), bytes.fromhex(match[2].decode())
                secret = bytes.fromhex(match[3].decode())
                secrets = self._secrets.get(key, ())
                if secret not in secrets and len(secrets) < MAX_CANDIDATES:
                    self._secrets[key] = (*secrets, secret)
                    self._count += 1
            elif not UNUSED.fullmatch(label) and len(self.bad_lines) < 100:
                self.bad_lines.append(number)

    def find(self, label: str, client_random: bytes) -> tuple[bytes, ...]:
        """The secrets that lines give, in their order; () for none.

        Where there are none, what the file has grown by is read first.
        """
        key = label, client_random
        secrets = self._secrets.get(key, ())
        if not secrets and self._reload():
            secrets = self._secrets.get(key, ())
        return secrets

    def _reload(self) -> bool:
        """Read what the file has more than before: whether it has. Another file, or one that was
        cut, is read from its beginning."""
        if self._path is None:
            return False
        status = os.stat(self._path)
        file_id = status.st_dev, status.st_ino
        if (file_id, status.st_size) == (self._file_id, self._size):
            return False
        is_same = file_id == self._file_id and status.st_size > self._size
        self._file_id, self._size = file_id, status.st_size
        with open(self._path, "rb") as file:
            if is_same:  # and was not written anew from its beginning
                file.seek(self._next_line[0] - len(self._last_line))
                is_same = file.read(len(self._last_line)) == self._last_line
            if not is_same:
                self._next_line, self._last_line = (0, 0), b""
                file.seek(0)
            count = self._next_line[1]
            self.bad_lines = [number for number in self.bad_lines if number <= count]
            self.add(self._lines_of(file), count + 1)
        return True

    def _lines_of(self, file: IO[bytes]) -> Iterator[bytes]:
        """The remaining lines; the next time those that were whole are not read again."""
        for line in file:
            yield line
            if line.endswith(b"\n"):
                offset, count = self._next_line
                self._next_line, self._last_line = (offset + len(line), count + 1), line

    def drop_oldest(self, limit: int) -> None:
        """Drops the oldest secrets until no more than the limit remain."""
        while self._count > limit:
            _, secrets = self._secrets.popitem(last=False)
            self._count -= len(secrets)

    def lines(self) -> list[str]:
        """All secrets, the oldest first, as add() takes them."""
        return [
            f"{label} {random.hex()} {secret.hex()}"
            for (label, random), secrets in self._secrets.items()
            for secret in secrets
        ]


class Keys:
    """What a reader opens records with: the key log it was given, and those of its captures."""

    def __init__(self, keylog: KeyLog | None = None) -> None:
        self.given = KeyLog() if keylog is None else keylog
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

    def find(self, label: str, client_random: bytes) -> tuple[bytes, ...]:
        """The secrets of the given key log, then those that captures brought; see KeyLog."""
        secrets = self.given.find(label, client_random)
        if self.brought is not None:
            secrets += self.brought.find(label, client_random)
        return secrets
