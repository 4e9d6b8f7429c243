"""AMQP 1.0's client engine against qpid-proton's, in a thread: transactions, every outcome."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from amqpcodec import v1_0 as amqp
from amqpcodec.session import v1
from tests.session.v1_wire import Client

pytest.importorskip("proton")

from tests.v1.live.proton_broker import Running


@pytest.fixture(scope="module")
def peer() -> Iterator[Running]:
    proton = Running()
    yield proton
    proton.stop()


@pytest.fixture
def client(peer: Running) -> Iterator[Client]:
    connected_client = Client(peer.address, sasl=v1.Anonymous(), max_frame_size=4096)
    yield connected_client
    assert connected_client.close().clean


def test_there_and_back(client: Client) -> None:
    session = client.session()
    sender = client.sender(session, "to", "plain")
    bodies = [random.Random(n).randbytes(n * 1500) for n in range(20)]
    for body in bodies:
        assert client.outcome(sender.send(amqp.Message(body))) == amqp.Accepted()
    receiver = session.attach_receiver("from", "plain")
    receiver.flow(20)
    came = [client.wait(v1.DeliveryReceived).delivery for _ in bodies]
    assert [delivery.message.body for delivery in came] == bodies
    session.settle(came)


@pytest.mark.parametrize(
    ("subject", "state"), [("reject", amqp.Rejected), ("release", amqp.Released)]
)
def test_outcomes_of_the_peer(client: Client, subject: str, state: type) -> None:
    sender = client.sender(client.session(), "to", "outcomes")
    assert type(client.outcome(sender.send(amqp.Message(b"x", subject=subject)))) is state


def test_modified_with_annotations(client: Client) -> None:
    sender = client.sender(client.session(), "to", "modified")
    state = client.outcome(sender.send(amqp.Message(b"x", subject="modify")))
    assert (state.delivery_failed, state.undeliverable_here) == (True, True)
    assert state.message_annotations == {"x-opt-why": "asked"}


@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction(client: Client, commit: bool) -> None:
    session = client.session()
    controller = session.attach_controller("txn", ["amqp:local-transactions"])
    client.wait(v1.CreditChanged, lambda event: event.link is controller)
    transaction = controller.declare()
    assert client.wait(v1.TransactionDeclared).transaction is transaction
    address = f"transaction-{commit}"
    sender = client.sender(session, "to", address)
    outcome = client.outcome(sender.send(amqp.Message(b"in it"), transaction=transaction))
    assert outcome == amqp.TransactionalState(transaction.id, amqp.Accepted())
    receiver = session.attach_receiver("from", address)
    receiver.flow(5)
    client.quiet(v1.DeliveryReceived, 0.2)
    (transaction.commit if commit else transaction.rollback)()
    discharged = client.wait(v1.TransactionDischarged)
    assert (discharged.transaction, discharged.failed) == (transaction, not commit)
    if commit:
        delivery = client.wait(v1.DeliveryReceived).delivery
        assert delivery.message.body == b"in it"
        delivery.accept()
    else:
        client.quiet(v1.DeliveryReceived, 0.2)


def test_without_sasl(peer: Running) -> None:
    client = Client(peer.address)
    client.wait(v1.ConnectionOpened)
    assert client.close().clean
