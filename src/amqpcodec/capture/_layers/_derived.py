"""The keys of a direction: derived of a key log's secrets and of what both hellos said."""

from __future__ import annotations

from dataclasses import dataclass

from ._items import Stop
from ._keylog import Keys
from ._suites import SUITES, TLS12, Opener, next_secret, opener12, opener13

#: How far a direction is: what its records are protected with.
PLAIN, EARLY, HELLO, TRAFFIC = range(4)
#: Key updates of a direction that are followed.
LAST_UPDATE = 1 << 12

NO_LOG = "no key log was given"
NO_KEY = "no key in the key log"


@dataclass
class Agreed:
    """What both hellos agreed on.

    master: the client's random bytes of the handshake that the session is of.
    """

    client_random: bytes = b""
    server_random: bytes = b""
    master: bytes = b""
    version: int = 0
    suite: int = 0
    encrypt_then_mac: bool = False


def derive(
    keys: Keys, agreed: Agreed, side: int, stage: int, updates: int
) -> tuple[Opener | None, bytes]:
    """What opens the records of a direction at a stage, and in TLS 1.3 the secret it is of.

    (None, b""): the log lacks the secret of a stage that others follow. Raises Stop where nothing
    more can be read without what it lacks.
    """
    if not keys:
        raise Stop(NO_LOG, True)
    suite = SUITES[agreed.suite]
    if agreed.version == TLS12:
        master = keys.find("CLIENT_RANDOM", agreed.master)
        if master is None:
            raise Stop(NO_KEY)
        randoms = agreed.client_random, agreed.server_random
        return opener12(suite, master, randoms, side, agreed.encrypt_then_mac), b""
    who = "SERVER" if side else "CLIENT"
    if stage == TRAFFIC:
        secret = _traffic_secret(keys, who, updates, agreed)
        if secret is None:
            raise Stop(NO_KEY)
    else:
        label = "EARLY" if stage == EARLY else "HANDSHAKE"
        secret = keys.find(f"{who}_{label}_TRAFFIC_SECRET", agreed.client_random)
        if secret is None:
            return None, b""
    return opener13(suite, secret), secret


def _traffic_secret(keys: Keys, who: str, updates: int, agreed: Agreed) -> bytes | None:
    """That of the keys after so many updates."""
    name = f"{who}_TRAFFIC_SECRET_"
    known = keys.find(f"{name}{updates}", agreed.client_random)
    if known is not None:
        return known
    secret = keys.find(f"{name}0", agreed.client_random)
    for _ in range(updates):
        secret = next_secret(SUITES[agreed.suite], secret) if secret else None
    return secret
