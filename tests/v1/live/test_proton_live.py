"""python-qpid-proton's engine as the peer: what RabbitMQ 3.10 cannot be asked, too.

Its engine does not resume deliveries: the last test says what it makes of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from amqpcodec import v1_0 as amqp
from tests.v1.live.client import Client

pytest.importorskip("proton")

from tests.v1.live.proton_broker import Running


@pytest.fixture(scope="module")
def peer() -> Iterator[Running]:
    """The broker."""
    broker = Running()
    yield broker
    broker.stop()


@pytest.fixture
def client(peer: Running) -> Iterator[Client]:
    """A connection with session 0 begun."""
    connection = Client(peer.address)
    assert connection.sasl("ANONYMOUS", b"live") == amqp.SaslCode.OK
    connection.open()
    connection.begin(0)
    yield connection
    connection.close()


def test_without_sasl(peer: Running) -> None:
    client = Client(peer.address)
    assert client.open().max_frame_size >= 512
    client.close()


def test_send_and_receive_with_everything(client: Client) -> None:
    sent = amqp.Message(
        b"body",
        durable=True,
        priority=9,
        ttl=60_000,
        message_id="id",
        creation_time=1_700_000_000_000,
        application_properties={"n": amqp.UInt(5), "text": "x"},
        delivery_annotations={amqp.Symbol("x-opt-hop"): 1},
        message_annotations={amqp.Symbol("x-opt-own"): [1, "two", None]},
    )
    client.sender("everything")
    assert client.outcome(client.transfer(sent)) == amqp.Accepted()
    client.receiver("everything", credit=1)
    got = client.wait(amqp.Delivery)
    assert got.message.body == b"body"
    assert got.message.header.priority == 9
    assert got.message.header.ttl == 60_000
    assert got.message.properties.message_id == "id"
    assert got.message.application_properties == {"n": 5, "text": "x"}
    assert got.message.message_annotations == {"x-opt-own": [1, "two", None]}
    assert got.message.delivery_annotations == {"x-opt-hop": 1}
    client.settle(got, amqp.Accepted())


@pytest.mark.parametrize(
    ("subject", "kind"),
    [
        ("accept", amqp.Accepted),
        ("reject", amqp.Rejected),
        ("release", amqp.Released),
        ("modify", amqp.Modified),
    ],
)
def test_outcomes_that_the_peer_gives(client: Client, subject: str, kind: type) -> None:
    client.sender(f"given-{subject}")
    state = client.outcome(client.transfer(amqp.Message(b"x", subject=subject)))
    assert type(state) is kind
    if isinstance(state, amqp.Modified):
        assert state.delivery_failed is True
        assert state.undeliverable_here is True
        assert state.message_annotations == {"x-opt-why": "asked"}


def test_outcomes_that_we_give(client: Client, peer: Running) -> None:
    states: list[Any] = [
        amqp.Accepted(),
        amqp.Rejected(amqp.Error("amqp:not-allowed", "no")),
        amqp.Released(),
        amqp.Modified(True, True, {amqp.Symbol("x-opt-a"): 1}),
    ]
    client.sender("ours")
    for number in [client.transfer(amqp.Message(b"%d" % i)) for i in range(4)]:
        client.outcome(number)
    before = len(peer.broker.outcomes)
    client.receiver("ours", credit=4)
    for state in states:
        client.settle(client.wait(amqp.Delivery), state)
    client.sender("after", handle=5)  # a round trip: the peer has read what went before
    kinds = [kind for kind, _ in peer.broker.outcomes[before:]]
    assert kinds == [type(state).DESCRIPTOR for state in states]
    assert peer.broker.outcomes[-1][1] == (True, True)


def test_settled_ones(client: Client) -> None:
    client.sender("settled")
    for i in range(10):
        client.transfer(amqp.Message(value=i), settled=True)
    client.receiver("settled", credit=10)
    assert [client.wait(amqp.Delivery).message.value for _ in range(10)] == list(range(10))


def test_a_megabyte_both_ways(peer: Running) -> None:
    client = Client(peer.address, frame_max=16384)
    client.open()
    client.begin(0, window=100_000)
    client.outbound_max = min(client.outbound_max, 16384)
    body = random.Random(1).randbytes(1 << 20)
    client.sender("large")
    assert client.outcome(client.transfer(amqp.Message(body))) == amqp.Accepted()
    client.receiver("large", credit=1)
    assert client.wait(amqp.Delivery).message.body == body
    client.close()


def test_several_sessions_and_links(client: Client) -> None:
    client.begin(1)
    for channel in (0, 1):
        for handle in (0, 1):
            client.sender(f"s{handle}", handle=handle, channel=channel)
            number = client.transfer(
                amqp.Message(f"{channel}{handle}"), handle=handle, channel=channel
            )
            assert client.outcome(number, channel) == amqp.Accepted()
    for handle in (0, 1):
        client.receiver(f"s{handle}", handle=10 + handle, credit=2)
        bodies = [client.wait(amqp.Delivery).message.body for _ in range(2)]
        assert bodies == [f"0{handle}", f"1{handle}"]
        client.send(0, amqp.Detach(10 + handle, closed=True))
        assert client.wait(amqp.Detach).closed is True
    client.send(1, amqp.End())
    client.wait(amqp.End)


def test_transactions(client: Client) -> None:
    """declare, work in it, discharge: what was in the one that failed is not there."""
    coordinator = amqp.Coordinator(capabilities=(amqp.Symbol("amqp:local-transactions"),))
    attach = client.sender(coordinator, handle=7)
    assert isinstance(attach.target, amqp.Coordinator)
    client.sender("account", handle=0)
    client.receiver("account", handle=1, credit=10)
    for fail in (True, False):
        number = client.transfer(amqp.Message(value=amqp.Declare()), handle=7)
        declared = client.outcome(number)
        assert isinstance(declared, amqp.Declared)
        state = amqp.TransactionalState(declared.txn_id)
        number = client.transfer(amqp.Message(f"fail={fail}"), handle=0, state=state)
        answer = client.outcome(number)
        assert isinstance(answer, amqp.TransactionalState)
        assert answer.txn_id == declared.txn_id
        assert answer.outcome == amqp.Accepted()
        client.quiet(amqp.Delivery, 0.2)
        discharge = amqp.Discharge(declared.txn_id, fail)
        number = client.transfer(amqp.Message(value=discharge), handle=7)
        assert client.outcome(number) == amqp.Accepted()
    assert client.wait(amqp.Delivery).message.body == "fail=False"
    client.quiet(amqp.Delivery, 0.2)


def test_an_error_close(peer: Running) -> None:
    """A transfer on a handle that was never attached."""
    client = Client(peer.address)
    client.open()
    client.begin(0)
    client.transfer(amqp.Message(b"x"), handle=9)
    closed = client.wait((amqp.Close, amqp.End))
    assert closed.error is not None
    assert closed.error.condition.startswith("amqp:")
    client.socket.close()
    client.check()


def test_a_resumed_delivery_is_a_new_one_to_it(client: Client, peer: Running) -> None:
    """No unsettled map in its attach, and `resume` changes nothing: so there is no more to test."""
    unsettled = {b"\0\0\0\0": amqp.Received(0, 0)}
    attach = client.sender("resumed", unsettled=unsettled)
    assert attach.unsettled is None
    payload = amqp.Message(b"again").encode()
    transfer = amqp.Transfer(0, 0, b"\0\0\0\0", 0, resume=True, state=amqp.Received(0, 0))
    client.socket.sendall(amqp.encode(0, transfer, payload))
    assert client.outcome(0) == amqp.Accepted()
    assert [message.body for message in peer.broker.queues["resumed"]] == [b"again"]
