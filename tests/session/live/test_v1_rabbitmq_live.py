"""AMQP 1.0's client engine against RabbitMQ (plugin rabbitmq_amqp1_0).

Version 3.10 ends the session on `modified` and dies on delivery annotations: not sent here.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from amqpcodec import v1_0 as amqp
from amqpcodec.session import v1
from tests import live_broker
from tests.session.v1_wire import Client

GUEST = v1.Plain("guest", "guest")


@pytest.fixture
def client() -> Iterator[Client]:
    limits = v1.Limits(excess=1000)  # version 3 sends more than there is credit for
    connected_client = Client(
        live_broker.address(), sasl=GUEST, hostname="localhost", limits=limits
    )
    yield connected_client
    if not connected_client.engine.closed:
        assert connected_client.close().clean


def queue() -> str:
    """A queue that the broker makes for whoever attaches."""
    return f"/queue/amqpcodec.session.{uuid.uuid4().hex[:12]}"


def test_a_wrong_password() -> None:
    client = Client(live_broker.address(), sasl=v1.Plain("guest", "wrong"))
    failed = client.wait(v1.AuthenticationFailed)
    assert failed.code is amqp.SaslCode.AUTH
    assert client.engine.closed


def test_the_best_mechanism_that_it_has() -> None:
    mechanisms = (v1.Scram("guest", "guest"), v1.External(), GUEST)
    client = Client(live_broker.address(), sasl=mechanisms)
    assert client.wait(v1.Authenticated).mechanism == "PLAIN"
    client.wait(v1.ConnectionOpened)
    assert client.close().clean


def test_there_and_back_with_every_outcome(client: Client) -> None:
    address, session = queue(), client.session()
    sender = client.sender(session, "to", address)
    sent = [sender.send(amqp.Message(b"%d" % n, durable=True)) for n in range(4)]
    assert [client.outcome(delivery) for delivery in sent] == [amqp.Accepted()] * 4
    receiver = session.attach_receiver("from", address)
    client.wait(v1.LinkOpened, lambda event: event.link is receiver)
    receiver.flow(4)
    came = [client.wait(v1.DeliveryReceived).delivery for _ in range(4)]
    assert [delivery.message.body for delivery in came] == [b"0", b"1", b"2", b"3"]
    assert came[0].message.header.durable
    came[0].accept()
    came[1].reject("amqp:internal-error", "not wanted")
    came[2].release()
    receiver.add_credit(1)
    again = client.wait(v1.DeliveryReceived).delivery
    assert again.message.body == b"2"
    session.settle([came[3], again])
    assert receiver.unsettled == {}
    receiver.add_credit(5)
    client.quiet(v1.DeliveryReceived)
    sender.detach()
    receiver.detach()
    client.wait(v1.LinkClosed, lambda event: event.link is receiver)
    session.end()
    assert client.wait(v1.SessionEnded).error is None


@pytest.mark.parametrize("frame_max", [512, 4096, 65536])
def test_a_megabyte_both_ways(frame_max: int) -> None:
    client = Client(live_broker.address(), sasl=GUEST, max_frame_size=frame_max)
    address = queue()
    session = client.session(incoming_window=100)
    sender = client.sender(session, "to", address)
    body = random.Random(frame_max).randbytes(1 << 20)
    assert client.outcome(sender.send(amqp.Message(body))) == amqp.Accepted()
    assert session.bytes_waiting == 0
    receiver = session.attach_receiver("from", address)
    receiver.flow(1)
    delivery = client.wait(v1.DeliveryReceived).delivery
    assert delivery.message.body == body
    delivery.accept()
    client.close()


def test_thousands_with_credit(client: Client) -> None:
    """Several windows' worth, settled in ranges."""
    address, session, count = queue(), client.session(), 5000
    sender = client.sender(session, "to", address)
    sent = []
    for number in range(count):
        while not sender.credit:
            client.wait(v1.CreditChanged)
        sent.append(sender.send(amqp.Message(b"%d" % number)))
        if number % 500 == 0:
            client.flush()
    assert all(client.outcome(delivery) == amqp.Accepted() for delivery in sent)
    assert sender.unsettled == {}
    client.events.clear()
    receiver = session.attach_receiver("from", address)
    receiver.flow(300)
    bodies: list[bytes] = []
    unsettled: list[Any] = []
    while len(bodies) < count:
        unsettled.append(client.wait(v1.DeliveryReceived).delivery)
        bodies.append(bytes(unsettled[-1].message.body))
        if receiver.credit < 100:
            session.settle(unsettled)
            unsettled.clear()
            receiver.flow(300)
    session.settle(unsettled)
    assert bodies == [b"%d" % number for number in range(count)]


def test_what_the_broker_refuses(client: Client) -> None:
    session = client.session()
    link = session.attach_receiver("from", "/nonsense/address")
    refusal = client.wait((v1.SessionEnded, v1.LinkClosed))
    assert refusal.error is not None
    assert refusal.closed_by == "remote"
    assert link.state == "DETACHED"
    again = client.session()
    assert again.state == "MAPPED"


def test_without_sasl() -> None:
    """The broker answers with the header of SASL, which it wants."""
    from amqpcodec.session import RemoteProtocolError

    client = Client(live_broker.address())
    try:
        event = client.wait((v1.ConnectionOpened, v1.ConnectionClosed))
    except RemoteProtocolError as error:
        assert "sasl" in str(error)  # noqa: PT017
    else:
        assert isinstance(event, v1.ConnectionOpened)
        client.close()


def test_heartbeats_of_both() -> None:
    """Silent for longer than its idle-time-out allows, but for heartbeats."""
    import time

    quick = Client(live_broker.address(), sasl=GUEST, idle_timeout=2.0)
    quick.wait(v1.ConnectionOpened)
    until = time.monotonic() + 5
    beats = 0
    while time.monotonic() < until:
        now = time.monotonic()
        due = quick.engine.next_timeout(now)
        came = quick.read(min(due - now, until - now) if due else until - now)
        beats += came
        assert quick.engine.handle_timeout(time.monotonic()) == []
    assert beats >= 2, "the broker's heartbeats kept it alive"
    assert quick.close().clean
