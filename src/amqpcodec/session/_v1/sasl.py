"""The mechanisms of the SASL layer: what a client logs in with, and what a server offers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from .scram import DIGESTS, ScramClient, ScramError, ScramRecord

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
        self.verified = False

    def respond(self, challenge: bytes) -> bytes:
        if challenge.startswith(b"v="):  # some servers prove themselves before the outcome
            self.client.verify(challenge)
            self.verified = True
            return b""
        if self.client.proof_of_server:
            raise ScramError("the server sent a second challenge")
        return self.client.final(challenge)

    def finish(self, data: bytes | None) -> None:
        if not self.client.proof_of_server:
            raise ScramError("the server skipped its challenge")
        if not self.verified:
            self.client.verify(data or b"")


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

    name: "SCRAM-SHA-256", "SCRAM-SHA-512" or "SCRAM-SHA-1" (RFC 5802, RFC 7677).

    Attributes:
        username: who logs in.
    """

    username: str
    password: str = field(repr=False)
    name: str = "SCRAM-SHA-256"

    def __post_init__(self) -> None:
        if self.name not in DIGESTS:
            raise ValueError(f"no mechanism {self.name!r}; there is {', '.join(DIGESTS)}")

    def exchange(self) -> Exchange:
        """One login."""
        return _ScramExchange(ScramClient(self.name, self.username, self.password))


Mechanism: TypeAlias = Anonymous | Plain | External | Scram

_DECIDED_BY_CALLER = ("ANONYMOUS", "PLAIN", "EXTERNAL")


@dataclass(frozen=True, slots=True)
class SaslServer:
    """What a server offers.

    Attributes:
        mechanisms: in the order in which they are offered: "ANONYMOUS", "PLAIN" and "EXTERNAL"
            give an AuthenticationRequested to decide on, those of SCRAM are decided by `scram`.
        scram: username -> its ScramRecord, or None where there is no such user.
        required: refuse clients that begin with AMQP's own header.
    """

    mechanisms: tuple[str, ...] = ("PLAIN",)
    scram: Callable[[str], ScramRecord | None] | None = field(default=None, repr=False)
    required: bool = True

    def __post_init__(self) -> None:
        for name in self.mechanisms:
            if name in DIGESTS:
                if self.scram is None:
                    raise ValueError(f"{name} needs scram: who its users are")
            elif name not in _DECIDED_BY_CALLER:
                known = ", ".join((*_DECIDED_BY_CALLER, *DIGESTS))
                raise ValueError(f"no mechanism {name!r}; there is {known}")
        if not self.mechanisms:
            raise ValueError("a server offers one mechanism at least")
