"""The mechanisms of the SASL layer: what a client logs in with, and what a server offers."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from .scram import (
    DIGESTS,
    MAX_ITERATIONS,
    MIN_ITERATIONS,
    ScramClient,
    ScramError,
    ScramRecord,
    check_iterations,
)

__all__ = [
    "DIGESTS",
    "Anonymous",
    "Exchange",
    "External",
    "Mechanism",
    "Plain",
    "SaslServer",
    "Scram",
]


class Exchange:
    """One login of a client: what it answers to each challenge. Most have nothing to answer."""

    def __init__(self, initial: bytes | None) -> None:
        self.initial = initial

    def respond(self, challenge: bytes) -> bytes:
        """The response to a challenge.

        Raises:
            ScramError: the mechanism has none, or the challenge is wrong.
        """
        raise ScramError("the server sent a challenge that the mechanism does not know")

    def finish(self, data: bytes | None) -> None:
        """Check what the server's outcome brings.

        Raises:
            ScramError: the server could not prove itself.
        """


class _ScramExchange(Exchange):
    def __init__(self, client: ScramClient) -> None:
        super().__init__(client.first())
        self.client = client

    def respond(self, challenge: bytes) -> bytes:
        return self.client.receive(challenge)

    def finish(self, data: bytes | None) -> None:
        self.client.finish(data)


@dataclass(frozen=True, slots=True)
class Anonymous:
    """Without a name. trace: what a server may log (RFC 4505)."""

    trace: str = ""
    name: str = field(default="ANONYMOUS", init=False)

    def exchange(self) -> Exchange:
        """One login."""
        return Exchange(self.trace.encode())


@dataclass(frozen=True, slots=True)
class Plain:
    """By name and password, which the server sees: for connections with TLS (RFC 4616).

    Attributes:
        username: who logs in.
        authorization_id: who to act as; "": the same.
    """

    username: str
    password: str = field(repr=False)
    authorization_id: str = ""
    name: str = field(default="PLAIN", init=False)

    def __post_init__(self) -> None:
        if "\0" in self.username + self.password + self.authorization_id:
            raise ValueError("names and passwords of PLAIN hold no NUL")
        if not self.username or not self.password:
            raise ValueError("PLAIN needs a name and a password (RFC 4616)")

    def exchange(self) -> Exchange:
        """One login."""
        return Exchange(
            f"{self.authorization_id}\0{self.username}\0{self.password}".encode(),
        )


@dataclass(frozen=True, slots=True)
class External:
    """By what the transport knows, such as TLS's certificate of the client (RFC 4422).

    Attributes:
        authorization_id: who to act as; "": who the transport says.
        name: of the mechanism.
    """

    authorization_id: str = ""
    name: str = field(default="EXTERNAL", init=False)

    def exchange(self) -> Exchange:
        """One login."""
        return Exchange(self.authorization_id.encode())


@dataclass(frozen=True, slots=True)
class Scram:
    """By name and password, which the server does not see; it has to know it, too.

    Attributes:
        username: who logs in.
        name: "SCRAM-SHA-256", "SCRAM-SHA-512" or "SCRAM-SHA-1" (RFC 5802, RFC 7677).
        min_iterations, max_iterations: how many rounds of hashing the server may ask for, 4,096
            to 1,000,000. Fewer let whoever records the login guess the password, more keep the
            client busy.

    Raises:
        ValueError: the mechanism does not exist, or an iteration count is out of bounds.
    """

    username: str
    password: str = field(repr=False)
    name: str = "SCRAM-SHA-256"
    min_iterations: int = MIN_ITERATIONS
    max_iterations: int = MAX_ITERATIONS

    def __post_init__(self) -> None:
        if self.name not in DIGESTS:
            raise ValueError(f"no mechanism {self.name!r}; there is {', '.join(DIGESTS)}")
        for bound in (self.min_iterations, self.max_iterations):
            check_iterations(bound)

    def exchange(self) -> Exchange:
        """One login."""
        return _ScramExchange(
            ScramClient(
                self.name,
                self.username,
                self.password,
                min_iterations=self.min_iterations,
                max_iterations=self.max_iterations,
            )
        )


Mechanism: TypeAlias = Anonymous | Plain | External | Scram

_DECIDED_BY_CALLER = ("ANONYMOUS", "PLAIN", "EXTERNAL")


@dataclass(frozen=True, slots=True)
class SaslServer:
    """What a server offers.

    Attributes:
        mechanisms: in the order in which they are offered: "ANONYMOUS", "PLAIN" and "EXTERNAL"
            give an AuthenticationRequested to decide on, those of SCRAM are decided by `scram`.
        scram: username, normalised by SASLprep -> its ScramRecord, or None where there is no such
            user. A user that does not exist, or has a record of another mechanism, is challenged
            like others and refused after its proof.
        required: refuse clients that begin with AMQP's own header.
        scram_iterations: iterations in the challenge of a user that does not exist. Let it be
            what the records have, else clients can tell which users exist.
        scram_secret: 16 bytes or more, from which the salts of such users are derived; give all
            servers of a service the same, also after a restart. A random one by default.
    """

    mechanisms: tuple[str, ...] = ("PLAIN",)
    scram: Callable[[str], ScramRecord | None] | None = field(default=None, repr=False)
    required: bool = True
    scram_iterations: int = MIN_ITERATIONS
    scram_secret: bytes = field(
        default_factory=lambda: secrets.token_bytes(32), repr=False, compare=False
    )

    def __post_init__(self) -> None:
        check_iterations(self.scram_iterations)
        if len(self.scram_secret) < 16:
            raise ValueError(f"scram_secret has 16 bytes or more, not {len(self.scram_secret)}")
        for name in self.mechanisms:
            if name in DIGESTS:
                if self.scram is None:
                    raise ValueError(f"{name} needs scram: who its users are")
            elif name not in _DECIDED_BY_CALLER:
                supported = ", ".join((*_DECIDED_BY_CALLER, *DIGESTS))
                raise ValueError(f"no mechanism {name!r}; there is {supported}")
        if not self.mechanisms:
            raise ValueError("a server offers one mechanism at least")

    def scram_record(self, username: str, mechanism: str) -> ScramRecord:
        """The record of a user; one that no password fits where there is no such user."""
        assert self.scram is not None
        decoy = ScramRecord.decoy(username, mechanism, self.scram_secret, self.scram_iterations)
        record = self.scram(username)
        return decoy if record is None or record.mechanism != mechanism else record
