"""Sessions of TLS 1.2 that may be resumed: which handshake each is of."""

from __future__ import annotations

import hashlib
from collections import OrderedDict

#: Sessions that are remembered, the newest ones.
KEPT = 1024


class Sessions:
    """Client randoms, which key logs know secrets by, of session ids and tickets.

    No secret is in it: a ticket is named by its digest.
    """

    def __init__(self) -> None:
        self.known: OrderedDict[bytes, bytes] = OrderedDict()

    def remember(self, name: bytes, client_random: bytes) -> None:
        """name: a session id or a ticket."""
        key = _key(name)
        self.known.pop(key, None)
        self.known[key] = client_random
        if len(self.known) > KEPT:
            self.known.popitem(last=False)

    def find(self, name: bytes) -> bytes | None:
        """The client random of the handshake that began the session."""
        return self.known.get(_key(name))


def _key(name: bytes) -> bytes:
    return hashlib.blake2b(name, digest_size=16).digest()
