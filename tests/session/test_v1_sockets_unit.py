"""AMQP 1.0 over sockets: our client, and Azure's own, against a server made of the engine."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import pytest

from amqpcodec import v1_0 as amqp
from amqpcodec.session import v1
from tests.session.v1_wire import Client, Server, serving


@pytest.fixture
def server() -> Iterator[Server]:
    offered = v1.SaslServer(("PLAIN", "ANONYMOUS", "SCRAM-SHA-256"), USERS.get)
    with serving(sasl=offered, max_frame_size=5000, idle_timeout=5.0) as running_server:
        yield running_server


USERS = {"scram": v1.ScramRecord.of("secret")}


@pytest.mark.parametrize(
    "mechanism", [v1.Anonymous(), v1.Plain("u", "right"), v1.Scram("scram", "secret")]
)
def test_there_and_back(server: Server, mechanism: Any) -> None:
    client = Client(server.address, sasl=mechanism, max_frame_size=1000)
    session = client.session()
    sender = client.sender(session, "to", "q")
    bodies = [random.Random(n).randbytes(n * 997) for n in range(60)]
    sent = []
    for body in bodies:
        if not sender.credit:
            client.wait(v1.CreditChanged, lambda event: event.credit > 0)
        sent.append(sender.send(amqp.Message(body)))
    assert {type(client.outcome(delivery)) for delivery in sent} == {amqp.Accepted}
    receiver = session.attach_receiver("from", "q")
    receiver.flow(60)
    came = [client.wait(v1.DeliveryReceived).delivery for _ in bodies]
    assert [bytes(delivery.message.body) for delivery in came] == bodies
    session.settle(came)
    assert client.close().clean
    assert len(server.outcomes) == 60


def test_a_refused_link(server: Server) -> None:
    client = Client(server.address, sasl=v1.Anonymous())
    link = client.session().attach_sender("to", "missing")
    closed = client.wait(v1.LinkClosed)
    assert (closed.link, closed.error.condition) == (link, "amqp:not-found")
    client.close()


def azure() -> Any:
    """Azure's client of AMQP 1.0, as its event hubs use it."""
    client = pytest.importorskip("azure.eventhub._pyamqp.client")
    authentication = pytest.importorskip("azure.eventhub._pyamqp.authentication")
    message = pytest.importorskip("azure.eventhub._pyamqp.message")
    return client, authentication.SASLPlainAuth, message.Message


def test_azure_sends(server: Server) -> None:
    client, plain, message = azure()
    host, port = server.address
    bodies = [b"one", b"x" * 20_000, bytes(range(256))]
    # It asks for the receiver's mode "second", and then never settles.
    options = {"auth": plain("u", "right"), "use_tls": False, "receive_settle_mode": 0}
    with client.SendClient(f"{host}:{port}", f"amqp://{host}:{port}/q", **options) as sender:
        for body in itertools.chain(bodies, [b"%d" % n for n in range(70)]):
            sender.send_message(message(data=[body]), timeout=10)
    queue = server.queues[f"amqp://{host}:{port}/q"]
    received = [amqp.Message.decode(payload).body for payload in queue]
    assert received == bodies + [b"%d" % n for n in range(70)]


def test_azure_receives_and_settles(server: Server) -> None:
    client, plain, _ = azure()
    host, port = server.address
    address = f"amqp://{host}:{port}/q"
    bodies = [b"%d" % n * (n * 100) for n in range(40)]
    server.queues[address].extend(amqp.Message(body).encode() for body in bodies)
    options = {"auth": plain("u", "right"), "use_tls": False, "link_credit": 10}
    received = []
    with client.ReceiveClient(f"{host}:{port}", address, **options) as receiver:
        while len(received) < len(bodies):
            batch = receiver.receive_message_batch(max_batch_size=10, timeout=10)
            assert batch
            for message in batch:
                received.append(b"".join(message.data))
    assert received == bodies
