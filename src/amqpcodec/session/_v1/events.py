"""What an engine of AMQP 1.0 reports, made for ``match``.

The values of an event are those of its place among what came. The objects that it brings have the
state after the complete read: a link can be over although an event before its end says otherwise.

A request of the peer is an event whose name ends in Requested: answer it by a method of the object
that it brings. Events of links come before those of their session, and those before the
connection's, where one ends the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ... import v1_0 as amqp
from .._types import ClosedBy, Event
from .objects import (
    Controller,
    Coordinator,
    IncomingDelivery,
    Link,
    OutgoingDelivery,
    Receiver,
    Sender,
    Session,
    Transaction,
)

__all__ = [
    "Authenticated",
    "AuthenticationFailed",
    "AuthenticationRequested",
    "ConnectionClosed",
    "ConnectionOpened",
    "ConnectionRequested",
    "CreditChanged",
    "DeclareRequested",
    "DeliveriesUpdated",
    "DeliveryAborted",
    "DeliveryReceived",
    "DeliveryStarted",
    "DeliveryUpdated",
    "DischargeRequested",
    "LinkClosed",
    "LinkOpened",
    "LinkRequested",
    "SenderFlow",
    "SessionEnded",
    "SessionFlow",
    "SessionOpened",
    "SessionRequested",
    "StartTls",
    "TransactionDeclared",
    "TransactionDischarged",
    "TransactionFailed",
]


# --- layers below AMQP ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StartTls(Event):
    """Both sides agreed on TLS: start it now, then call ``connection.tls_established()``.

    unread: bytes that came after the header; they belong to the TLS handshake. Spec: §5.2.
    """

    unread: bytes


@dataclass(frozen=True, slots=True)
class AuthenticationRequested(Event):
    """Server: a client wants to log in. Answer by ``connection.authenticate(...)``.

    Attributes:
        mechanism: "PLAIN", "ANONYMOUS" or "EXTERNAL". (SCRAM is decided by the engine.)
        username: who it says it is; the trace of ANONYMOUS.
        password: of PLAIN; None otherwise. Not part of the repr.
        authorization_id: whom it wants to act for; "" for itself.
        hostname: the host that the client means, or None.

    Spec: §5.3.
    """

    mechanism: str
    username: str
    password: str | None = field(repr=False)
    authorization_id: str
    hostname: str | None


@dataclass(frozen=True, slots=True)
class Authenticated(Event):
    """The SASL layer is done. username: as the mechanism has it, "" where it has none."""

    mechanism: str
    username: str


@dataclass(frozen=True, slots=True)
class AuthenticationFailed(Event):
    """The SASL layer failed, and the connection with it.

    code: what the outcome says; None where the two have no mechanism in common or the server
    could not prove that it knows the password.

    Attributes:
        reason: in words.
    """

    mechanism: str | None
    code: amqp.SaslCode | None
    reason: str


# --- the connection -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ConnectionRequested(Event):
    """Server: the client's open. Answer by ``connection.accept()`` or ``connection.refuse()``."""

    open: amqp.Open


@dataclass(frozen=True, slots=True)
class ConnectionOpened(Event):
    """Client: the server's open; sessions can begin."""

    open: amqp.Open


@dataclass(frozen=True, slots=True)
class ConnectionClosed(Event):
    """The connection is over, the last of all events.

    Attributes:
        error: why, where somebody said so.
        closed_by: who closed first; "remote" also where the transport was lost.
        clean: False where the transport ended without a close.
    """

    error: amqp.Error | None
    closed_by: ClosedBy
    clean: bool = True


# --- sessions -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SessionRequested(Event):
    """The peer begins a session. Answer by ``session.accept()`` or ``session.end(error)``."""

    session: Session
    begin: amqp.Begin


@dataclass(frozen=True, slots=True)
class SessionOpened(Event):
    """The peer's answer to ``connection.begin()``."""

    session: Session
    begin: amqp.Begin


@dataclass(frozen=True, slots=True)
class SessionFlow(Event):
    """The peer sent its windows. window: transfers that can be sent now."""

    session: Session
    window: int


@dataclass(frozen=True, slots=True)
class SessionEnded(Event):
    """A session is over, all its links with it.

    closed_by: who ended it; "local" also where this end had to, for its peer's mistake.
    """

    session: Session
    error: amqp.Error | None
    closed_by: ClosedBy


# --- links ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LinkRequested(Event):
    """The peer attaches a link. Answer by ``link.accept(...)`` or ``link.refuse(error)``.

    link: a Receiver where the peer sends, a Sender where it receives, a Coordinator where the
    target is one.
    """

    link: Link
    attach: amqp.Attach


@dataclass(frozen=True, slots=True)
class LinkOpened(Event):
    """The peer's answer to an attach. Where it refuses there is LinkClosed instead."""

    link: Link
    attach: amqp.Attach


@dataclass(frozen=True, slots=True)
class LinkClosed(Event):
    """A link is detached.

    Attributes:
        closed: whether for good; otherwise it can be attached again, with ``unsettled=link``.
        error: why, where somebody said so.
        closed_by: who detached it; "local" also where this end had to, for its peer's
            mistake.
    """

    link: Link
    closed: bool
    error: amqp.Error | None
    closed_by: ClosedBy


@dataclass(frozen=True, slots=True)
class CreditChanged(Event):
    """The receiver sent a sender its credit.

    Attributes:
        credit: deliveries that could be sent at this place; ``link.credit`` is what can be now.
        drain: send what there is, then call ``link.drained()``.
        properties: of the flow, or None.
        unsettled: how many deliveries of the link were unsettled at this place.
    """

    link: Sender
    credit: int
    drain: bool
    properties: Any = None
    unsettled: int = 0


@dataclass(frozen=True, slots=True)
class SenderFlow(Event):
    """The sender sent a receiver its state.

    Attributes:
        available: deliveries that wait at the sender, None where it does not say.
        drained: credit that it gave back unused.
        properties: of the flow, or None.
        credit: deliveries that could still come at this place; ``link.credit`` is what can now.
    """

    link: Receiver
    available: int | None
    drained: int
    properties: Any = None
    credit: int = 0


# --- deliveries -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DeliveryReceived(Event):
    """A delivery came, complete.

    Attributes:
        state: the sender's state of it at this place, or None.
        settled: whether the sender sent it settled: it takes no answer.
    """

    link: Receiver
    delivery: IncomingDelivery
    state: Any = None
    settled: bool = False


@dataclass(frozen=True, slots=True)
class DeliveryStarted(Event):
    """The first part of a delivery came, and more will follow; DeliveryReceived or DeliveryAborted
    tells its end.

    ``link.partial`` is the delivery until then. Where the link ends first it stays in
    ``link.unsettled``, and ``link.unsettled_map`` tells how far it came, to be resumed.

    Attributes:
        delivery: not complete yet; its payload grows as parts come. It can be answered already.
        size: bytes of it that had come at this place.
    """

    link: Receiver
    delivery: IncomingDelivery
    size: int


@dataclass(frozen=True, slots=True)
class DeliveryAborted(Event):
    """The sender gave up a delivery that it had begun; what came of it is gone.

    Attributes:
        delivery_id, tag: of the delivery.
    """

    link: Receiver
    delivery_id: int
    tag: bytes


@dataclass(frozen=True, slots=True)
class DeliveryUpdated(Event):
    """The peer sent the state of a delivery that is not settled here.

    Attributes:
        link: where it belongs to.
        delivery: as ``send`` returned it, or as DeliveryReceived brought it. Of a resumed delivery
            whose data need not come again, one that no other event brings.
        state: Accepted, Rejected, Released, Modified, Received, TransactionalState, ... or None.
        settled: whether the peer has done with it, at this place; then it is over here, too.
    """

    link: Link
    delivery: OutgoingDelivery | IncomingDelivery
    state: Any
    settled: bool


@dataclass(frozen=True, slots=True)
class DeliveriesUpdated(Event):
    """The peer sent a state, which is no outcome and settles nothing, of a range of deliveries.

    Where the state is an outcome, settles, or is that of one delivery, there is a DeliveryUpdated
    for each delivery instead. The ``remote_state`` of those in the range that are unsettled and
    have no outcome is this state until the peer tells another.

    Attributes:
        sent: whether they are deliveries that this end sends; else those that came.
        first, last: ids of the range, both included, as the peer wrote them.
        state: Received, TransactionalState or a state that is not known here.

    Spec: 1.0 Part 2 §2.7.6.
    """

    session: Session
    sent: bool
    first: int
    last: int
    state: Any


# --- transactions ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TransactionDeclared(Event):
    """The coordinator began a transaction: it can be used."""

    link: Controller
    transaction: Transaction


@dataclass(frozen=True, slots=True)
class TransactionDischarged(Event):
    """The coordinator ended a transaction as asked. failed: it was rolled back."""

    link: Controller
    transaction: Transaction
    failed: bool


@dataclass(frozen=True, slots=True)
class TransactionFailed(Event):
    """The coordinator refused to begin or to end a transaction; then it is rolled back."""

    link: Controller
    transaction: Transaction
    error: amqp.Error | None


@dataclass(frozen=True, slots=True)
class DeclareRequested(Event):
    """A controller wants a transaction. Answer by ``link.declare(delivery, id)`` or refuse it
    by ``delivery.reject(error)``.

    Attributes:
        global_id: of a distributed transaction, or None.
    """

    link: Coordinator
    delivery: IncomingDelivery
    global_id: Any


@dataclass(frozen=True, slots=True)
class DischargeRequested(Event):
    """A controller ends a transaction that is open. Answer by ``link.discharge(delivery)`` or
    ``delivery.reject(error)``. fail: it asks for a rollback.

    Attributes:
        transaction_id: as it was declared.
    """

    link: Coordinator
    delivery: IncomingDelivery
    transaction_id: bytes
    fail: bool
