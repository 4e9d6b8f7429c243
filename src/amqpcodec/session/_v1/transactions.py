"""Transactions: the coordinator's answers to a controller, and a controller's requests (Part 4)."""

from __future__ import annotations

from ... import v1_0 as amqp
from ...errors import DecodeError
from . import events
from .faults import LinkFault
from .objects import Controller, Coordinator, IncomingDelivery, OutgoingDelivery, Transaction

__all__ = ["report_lost", "take_answer", "take_request"]


def report_lost(link: Controller, transactions: list[Transaction]) -> None:
    """The controller is over, and how they end is not known: the coordinator rolls them back."""
    for transaction in transactions:
        transaction.state = "failed"
        event = events.TransactionFailed(link, transaction, None)
        link.session.connection._emit(event)


def take_answer(link: Controller, delivery: OutgoingDelivery, settled: bool) -> bool:
    """The coordinator's word: a declared transaction, or what became of one.

    False where the delivery asks for neither.
    """
    state = delivery.remote_state
    transaction = link._asked.get(delivery)
    if transaction is None:
        return False
    if (state is None or type(state) is amqp.Received) and not settled:
        return True
    del link._asked[delivery]
    if not settled:
        delivery.settle()
    emit = link.session.connection._emit
    if isinstance(state, amqp.Declared) and transaction.state == "declaring":
        transaction.id = state.txn_id
        transaction.state = "open"
        emit(events.TransactionDeclared(link, transaction))
    elif isinstance(state, amqp.Accepted) and transaction.state == "discharging":
        transaction.state = "rolled back" if transaction._fail else "committed"
        emit(events.TransactionDischarged(link, transaction, transaction._fail))
    else:
        transaction.state = "failed"
        error = state.error if isinstance(state, amqp.Rejected) else None
        emit(events.TransactionFailed(link, transaction, error))
    return True


def take_request(link: Coordinator, delivery: IncomingDelivery) -> None:
    """A message to the coordinator."""
    if delivery.settled:  # Part 4 §4.2, §4.3
        raise LinkFault(
            link, amqp.AmqpError.NOT_ALLOWED, "a message to the coordinator came settled"
        )
    try:
        value = delivery.message.value
    except DecodeError as error:
        _refuse(delivery, amqp.AmqpError.DECODE_ERROR, str(error))
        return
    connection = link.session.connection
    if isinstance(value, amqp.Declare):
        # Those that wait for their answer count, too.
        if len(connection.transactions) + len(link.unsettled) > connection._limits.transactions:
            _refuse(
                delivery,
                amqp.AmqpError.RESOURCE_LIMIT_EXCEEDED,
                f"more than {connection._limits.transactions} transactions would be open",
            )
            return
        connection._emit(events.DeclareRequested(link, delivery, value.global_id))
    elif isinstance(value, amqp.Discharge):
        number = value.txn_id or b""
        if number not in connection.transactions:
            _refuse(delivery, amqp.TransactionError.UNKNOWN_ID, "no such transaction is open")
            return
        connection.transactions.discard(number)
        if coordinator := connection._declared_on.pop(number, None):
            coordinator.transactions.discard(number)
        event = events.DischargeRequested(link, delivery, number, bool(value.fail))
        connection._emit(event)
    else:
        _refuse(delivery, amqp.AmqpError.NOT_ALLOWED, "a coordinator takes declare and discharge")


def _refuse(delivery: IncomingDelivery, condition: str, text: str) -> None:
    if not delivery.settled:
        delivery.reject(condition, text[:100])
