"""Public names of the session of AMQP 1.0: events to match, mechanisms, limits, and the objects.

``v1.Connection("client", sasl=v1.Plain("guest", "guest"))`` is one end of a connection. The guide
is docs/session-1.0.md.
"""

from __future__ import annotations

from .._facade.public import listing
from ._v1.connection import Connection
from ._v1.events import (
    Authenticated,
    AuthenticationFailed,
    AuthenticationRequested,
    ConnectionClosed,
    ConnectionOpened,
    ConnectionRequested,
    CreditChanged,
    DeclareRequested,
    DeliveriesUpdated,
    DeliveryAborted,
    DeliveryReceived,
    DeliveryStarted,
    DeliveryUpdated,
    DischargeRequested,
    LinkClosed,
    LinkOpened,
    LinkRequested,
    SenderFlow,
    SessionEnded,
    SessionFlow,
    SessionOpened,
    SessionRequested,
    StartTls,
    TransactionDeclared,
    TransactionDischarged,
    TransactionFailed,
)
from ._v1.limits import Limits
from ._v1.objects import (
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
from ._v1.resumption import Resumption, ResumptionAction, compare_unsettled
from ._v1.sasl import Anonymous, External, Plain, SaslServer, Scram
from ._v1.scram import ScramRecord

__all__ = [
    "Anonymous",
    "Authenticated",
    "AuthenticationFailed",
    "AuthenticationRequested",
    "Connection",
    "ConnectionClosed",
    "ConnectionOpened",
    "ConnectionRequested",
    "Controller",
    "Coordinator",
    "CreditChanged",
    "DeclareRequested",
    "DeliveriesUpdated",
    "DeliveryAborted",
    "DeliveryReceived",
    "DeliveryStarted",
    "DeliveryUpdated",
    "DischargeRequested",
    "External",
    "IncomingDelivery",
    "Limits",
    "Link",
    "LinkClosed",
    "LinkOpened",
    "LinkRequested",
    "OutgoingDelivery",
    "Plain",
    "Receiver",
    "Resumption",
    "ResumptionAction",
    "SaslServer",
    "Scram",
    "ScramRecord",
    "Sender",
    "SenderFlow",
    "Session",
    "SessionEnded",
    "SessionFlow",
    "SessionOpened",
    "SessionRequested",
    "StartTls",
    "Transaction",
    "TransactionDeclared",
    "TransactionDischarged",
    "TransactionFailed",
    "compare_unsettled",
]

__dir__ = listing(__name__)
