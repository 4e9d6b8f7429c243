"""The keys of a direction: derived of a key log's secrets and of what both hellos said."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ._items import Stop
from ._keylog import Keys
from ._suites import SUITES, TLS12, Opener, Suite, next_secret, opener12, opener13

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


class Candidates:
    """What may open the records of a direction: an opener for each secret that a key log gives.

    The first record that one of them opens decides which is right.
    """

    def __init__(self, openers: list[tuple[Opener, bytes]]) -> None:
        """openers: each with the secret of TLS 1.3 that it is of; b"" in TLS 1.2."""
        self._openers = openers

    def open(self, sequence: int, head: bytes, record: bytes) -> bytes | None:
        """What the record with this number holds, or None where it is not that one."""
        for pair in self._openers:
            plain = pair[0].open(sequence, head, record)
            if plain is not None:
                if len(self._openers) > 1:
                    self._openers = [pair]
                return plain
        return None

    def update(self, suite: Suite) -> Candidates:
        """Those of the keys after an update. Spec: RFC 8446 §7.2."""
        return _of_secrets(suite, [next_secret(suite, secret) for _, secret in self._openers])

    def __len__(self) -> int:
        """How many are tried with a record."""
        return len(self._openers)


def _of_secrets(suite: Suite, secrets: Iterable[bytes]) -> Candidates:
    return Candidates([(opener13(suite, secret), secret) for secret in secrets])


def derive(keys: Keys, agreed: Agreed, side: int, stage: int, updates: int) -> Candidates | None:
    """What opens the records of a direction at a stage.

    None: the log lacks the secret of a stage that others follow. Raises Stop where nothing more
    can be read without what it lacks.
    """
    if not keys:
        raise Stop(NO_LOG, True)
    suite = SUITES[agreed.suite]
    if agreed.version == TLS12:
        masters = keys.find("CLIENT_RANDOM", agreed.master)
        if not masters:
            raise Stop(NO_KEY)
        randoms = agreed.client_random, agreed.server_random
        mac_last = agreed.encrypt_then_mac
        return Candidates(
            [(opener12(suite, master, randoms, side, mac_last), b"") for master in masters]
        )
    who = "SERVER" if side else "CLIENT"
    if stage == TRAFFIC:
        secrets = _traffic_secrets(keys, who, updates, agreed)
        if not secrets:
            raise Stop(NO_KEY)
    else:
        label = "EARLY" if stage == EARLY else "HANDSHAKE"
        secrets = keys.find(f"{who}_{label}_TRAFFIC_SECRET", agreed.client_random)
        if not secrets:
            return None
    return _of_secrets(suite, secrets)


def _traffic_secrets(keys: Keys, who: str, updates: int, agreed: Agreed) -> tuple[bytes, ...]:
    """Those of the keys after so many updates."""
    name = f"{who}_TRAFFIC_SECRET_"
    secrets = keys.find(f"{name}{updates}", agreed.client_random)
    if secrets:
        return secrets
    secrets = keys.find(f"{name}0", agreed.client_random)
    for _ in range(updates):
        secrets = tuple(next_secret(SUITES[agreed.suite], secret) for secret in secrets)
    return secrets
