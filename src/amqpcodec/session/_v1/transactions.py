"""Transactions: the controller's end and the coordinator's (Part 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import v1_0 as amqp
from ...errors import DecodeError
from ..errors import LocalProtocolError
from . import events
from .delivery import IncomingDelivery, OutgoingDelivery
from .faults import LinkFault
from .receiver import Receiver
from .sender import Sender

if TYPE_CHECKING:
    from .session import Session

__all__ = ["Controller", "Coordinator", "Transaction"]


class Transaction:
    """A transaction of a controller. Made by ``controller.declare``.

    Attributes:
        link: the controller.
        id: the coordinator's name for it; None before TransactionDeclared.
        state: "declaring", "open", "discharging", "committed", "rolled back" or "failed".
    """

    __slots__ = ("_fail", "id", "link", "state")

    link: Controller
    state: str

    def __init__(self, link: Controller) -> None:
        self.link = link
        self.id: bytes | None = None
        self.state = "declaring"
        self._fail = False

    def commit(self) -> None:
        """End it; what was sent and settled in it takes effect. TransactionDischarged follows."""
        self.link._discharge(self, fail=False)

    def rollback(self) -> None:
        """End it as if nothing had been sent or settled in it.

        Nothing happens where it has failed or the controller is over: it was rolled back then.
        """
        self.link._discharge(self, fail=True)

    def __repr__(self) -> str:
        return f"<Transaction {self.id.hex() if self.id else None}, {self.state}>"


class Controller(Sender):
    """The link to a coordinator. Made by ``session.attach_controller``."""

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self._asked: dict[OutgoingDelivery, Transaction] = {}

    def declare(self, global_id: Any = None) -> Transaction:
        """Begin a transaction; TransactionDeclared or TransactionFailed follows."""
        transaction = Transaction(self)
        self._ask(transaction, amqp.Declare(global_id))
        return transaction

    def _discharge(self, transaction: Transaction, fail: bool) -> None:
        if fail and (transaction.state == "failed" or self._is_over()):
            return  # the coordinator has rolled it back
        if transaction.state != "open":
            raise LocalProtocolError(f"the transaction is {transaction.state}, not open")
        self._ask(transaction, amqp.Discharge(transaction.id, fail))
        transaction.state = "discharging"
        transaction._fail = fail

    def _ask(self, transaction: Transaction, value: Any) -> None:
        delivery = self.send(amqp.Message(value=value), settled=False)
        self._asked[delivery] = transaction

    def _updated(self, delivery: Any, settled: bool) -> None:
        """The coordinator's word: a declared transaction, or what became of one."""
        state = delivery.remote_state
        transaction = self._asked.get(delivery)
        if transaction is None:
            super()._updated(delivery, settled)
            return
        if (state is None or type(state) is amqp.Received) and not settled:
            return
        del self._asked[delivery]
        if not settled:
            delivery.settle()
        emit = self.session.connection._emit
        if isinstance(state, amqp.Declared) and transaction.state == "declaring":
            transaction.id = state.txn_id
            transaction.state = "open"
            emit(events.TransactionDeclared(self, transaction))
        elif isinstance(state, amqp.Accepted) and transaction.state == "discharging":
            transaction.state = "rolled back" if transaction._fail else "committed"
            emit(events.TransactionDischarged(self, transaction, transaction._fail))
        else:
            transaction.state = "failed"
            error = state.error if isinstance(state, amqp.Rejected) else None
            emit(events.TransactionFailed(self, transaction, error))

    def _release(self) -> None:
        super()._release()
        lost = list(self._asked.values())
        self._asked.clear()
        for transaction in lost:  # its end is not known: the coordinator rolls it back
            transaction.state = "failed"
            event = events.TransactionFailed(self, transaction, None)
            self.session.connection._emit(event)


class Coordinator(Receiver):
    """A server's end of a controller's link. Made by LinkRequested.

    What comes are DeclareRequested and DischargeRequested. What is neither, or names a
    transaction that is not open, is rejected by the engine with the condition of the
    specification. With the link its transactions end, to be rolled back (Part 4 §4.2).

    Attributes:
        transactions: ids that were declared on this link and not discharged; also after its end.
    """

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self.transactions: set[bytes] = set()

    def declare(self, delivery: IncomingDelivery, transaction_id: bytes) -> None:
        """Answer DeclareRequested. transaction_id: 1 to 32 bytes, not in use.

        Raises:
            LocalProtocolError: the id is in use, or has another size. Where the link is over,
                nothing happens.
        """
        if delivery._is_over():
            return
        connection = self.session.connection
        open_transactions = connection.transactions
        if transaction_id in open_transactions or not 1 <= len(transaction_id) <= 32:
            raise LocalProtocolError("a transaction's id has 1 to 32 bytes and is not in use")
        delivery.update(amqp.Declared(transaction_id), settled=True)
        open_transactions.add(transaction_id)
        connection._declared_on[transaction_id] = self
        self.transactions.add(transaction_id)
        if (
            len(connection._declared_on) > 2 * len(open_transactions) + 64
        ):  # the caller rolled them back
            for number in connection._declared_on.keys() - open_transactions:
                connection._declared_on.pop(number).transactions.discard(number)

    def discharge(self, delivery: IncomingDelivery) -> None:
        """Answer DischargeRequested: it was done as asked."""
        delivery.accept()

    def _release(self) -> None:
        super()._release()
        connection = self.session.connection
        for number in self.transactions:
            if connection._declared_on.get(number) is self:
                del connection._declared_on[number]
                connection.transactions.discard(number)

    def _deliver(self, delivery: IncomingDelivery, state: Any) -> None:
        if delivery.settled:  # Part 4 §4.2, §4.3
            raise LinkFault(
                self, amqp.AmqpError.NOT_ALLOWED, "a message to the coordinator came settled"
            )
        try:
            value = delivery.message.value
        except DecodeError as error:
            self._refuse(delivery, amqp.AmqpError.DECODE_ERROR, str(error))
            return
        connection = self.session.connection
        if isinstance(value, amqp.Declare):
            # Those that wait for their answer count, too.
            if len(connection.transactions) + len(self.unsettled) > connection._limits.transactions:
                self._refuse(
                    delivery,
                    amqp.AmqpError.RESOURCE_LIMIT_EXCEEDED,
                    f"more than {connection._limits.transactions} transactions would be open",
                )
                return
            connection._emit(events.DeclareRequested(self, delivery, value.global_id))
        elif isinstance(value, amqp.Discharge):
            number = value.txn_id or b""
            if number not in connection.transactions:
                self._refuse(
                    delivery, amqp.TransactionError.UNKNOWN_ID, "no such transaction is open"
                )
                return
            connection.transactions.discard(number)
            if coordinator := connection._declared_on.pop(number, None):
                coordinator.transactions.discard(number)
            event = events.DischargeRequested(self, delivery, number, bool(value.fail))
            connection._emit(event)
        else:
            self._refuse(
                delivery, amqp.AmqpError.NOT_ALLOWED, "a coordinator takes declare and discharge"
            )

    def _refuse(self, delivery: IncomingDelivery, condition: str, text: str) -> None:
        if not delivery.settled:
            delivery.reject(condition, text[:100])
