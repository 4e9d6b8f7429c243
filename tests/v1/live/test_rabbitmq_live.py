"""RabbitMQ's own AMQP 1.0 (plugin rabbitmq_amqp1_0), over a plain socket.

Version 3.10 ends the session on `modified` and dies on delivery annotations: not sent here.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from amqpcodec import TextError
from amqpcodec import v1_0 as amqp
from tests.v1.live.client import Client

Unique = Callable[[str], str]


def queue(unique: Unique, what: str) -> str:
    """A queue that the broker makes for whoever attaches."""
    return f"/queue/{unique(what)}"


def test_sasl_plain_and_a_wrong_password(rabbitmq: tuple[str, int]) -> None:
    right = Client(rabbitmq)
    assert right.sasl("PLAIN", b"\0guest\0guest") == amqp.SaslCode.OK
    peer_open = right.open(idle_time_out=60_000)
    assert peer_open.container_id
    assert peer_open.max_frame_size >= 512
    right.close()
    wrong = Client(rabbitmq)
    assert wrong.sasl("PLAIN", b"\0guest\0wrong") == amqp.SaslCode.AUTH
    wrong.socket.close()
    wrong.check()


def test_sasl_anonymous_where_it_is_offered(rabbitmq: tuple[str, int]) -> None:
    client = Client(rabbitmq)
    client.send(0, amqp.ProtocolHeader(3, 1, 0, 0))
    client.wait(amqp.ProtocolHeader)
    offered = client.wait(amqp.SaslMechanisms).sasl_server_mechanisms
    assert "PLAIN" in offered
    client.socket.close()
    if "ANONYMOUS" not in offered:
        pytest.skip(f"this broker offers {', '.join(offered)}")
    again = Client(rabbitmq)
    assert again.sasl("ANONYMOUS") == amqp.SaslCode.OK
    again.open()
    again.close()


def test_send_and_receive(client: Client, unique: Unique) -> None:
    address = queue(unique, "plain")
    client.sender(address)
    sent = amqp.Message(
        b"\0\xff body",
        durable=True,
        message_id=UUID(int=7),
        subject="größe",
        content_type="application/octet-stream",
        application_properties={"n": 5, "text": "x", "yes": True, "half": 0.5},
    )
    number = client.transfer(sent)
    assert client.outcome(number) == amqp.Accepted()
    attach = client.receiver(address, credit=1)
    assert attach.role == amqp.Role.SENDER
    delivery = client.wait(amqp.Delivery)
    assert delivery.message.body == b"\0\xff body"
    assert delivery.message.header.durable is True
    assert delivery.message.properties.subject == "größe"
    assert delivery.message.properties.message_id == UUID(int=7)
    assert delivery.message.application_properties == sent.application_properties
    client.settle(delivery, amqp.Accepted())
    client.credit(1, count=1)
    client.quiet(amqp.Delivery)


@pytest.mark.parametrize("settled", [False, True])
def test_many_with_credit(client: Client, unique: Unique, settled: bool) -> None:
    """Not one more comes than there is credit for."""
    address = queue(unique, "credit")
    client.sender(address)
    numbers = [client.transfer(amqp.Message(b"%d" % i), settled=settled) for i in range(20)]
    if not settled:
        assert client.outcome(numbers[-1]) == amqp.Accepted()
    mode = amqp.SenderSettleMode.SETTLED if settled else amqp.SenderSettleMode.UNSETTLED
    client.receiver(address, snd_settle_mode=mode)
    got: list[bytes] = []
    for credit in (3, 7, 10):
        client.credit(credit, count=len(got))
        for _ in range(credit):
            delivery = client.wait(amqp.Delivery)
            assert bool(delivery.settled) is settled
            got.append(delivery.message.body)
            if not settled:
                client.settle(delivery, amqp.Accepted())
        client.quiet(amqp.Delivery, 0.1)
    assert got == [b"%d" % i for i in range(20)]


@pytest.mark.parametrize("frame_max", [4096, 65536])
def test_a_megabyte_both_ways(rabbitmq: tuple[str, int], unique: Unique, frame_max: int) -> None:
    client = Client(rabbitmq, frame_max=frame_max)
    client.sasl("PLAIN", b"\0guest\0guest")
    client.open()
    client.begin(0, window=100_000)
    client.outbound_max = min(client.outbound_max, frame_max)
    address = queue(unique, "large")
    client.sender(address)
    body = random.Random(frame_max).randbytes(1 << 20)
    number = client.transfer(amqp.Message(body, durable=True, subject="large"))
    assert client.outcome(number) == amqp.Accepted()
    client.receiver(address, credit=1)
    delivery = client.wait(amqp.Delivery)
    assert delivery.message.body == body
    assert len(delivery.payload) > 1 << 20
    assert delivery.message.properties.subject == "large"
    client.settle(delivery, amqp.Accepted())
    client.close()


def test_outcomes_of_what_is_received(client: Client, unique: Unique) -> None:
    """released comes again, rejected does not, accepted is gone."""
    address = queue(unique, "outcomes")
    client.sender(address)
    client.outcome(client.transfer(amqp.Message(b"one")))
    client.outcome(client.transfer(amqp.Message(b"two")))
    client.receiver(address, credit=1)
    first = client.wait(amqp.Delivery)
    client.settle(first, amqp.Released())
    client.credit(1, count=1)
    again = client.wait(amqp.Delivery)
    assert again.message.body == first.message.body == b"one"
    client.settle(again, amqp.Rejected(amqp.Error("amqp:not-allowed", "no")))
    client.credit(1, count=2)
    other = client.wait(amqp.Delivery)
    assert other.message.body == b"two"
    client.settle(other, amqp.Accepted())
    client.credit(1, count=3)
    client.quiet(amqp.Delivery)


def test_an_outcome_that_the_broker_gives(client: Client, unique: Unique) -> None:
    """An exchange without a queue: what is sent there is released."""
    client.sender("/exchange/amq.direct/" + unique("nobody"))
    state = client.outcome(client.transfer(amqp.Message(b"lost")))
    assert isinstance(state, amqp.Released | amqp.Accepted)


def test_several_sessions_and_links(client: Client, unique: Unique) -> None:
    addresses = [queue(unique, f"several{i}") for i in range(3)]
    for channel in (1, 2):
        client.begin(channel)
    for channel in range(3):
        for handle, address in enumerate(addresses):
            client.sender(address, handle=handle, channel=channel)
    for channel in range(3):
        for handle in range(3):
            number = client.transfer(
                amqp.Message(f"{channel}/{handle}"), handle=handle, channel=channel
            )
            assert client.outcome(number, channel) == amqp.Accepted()
    got = {}
    for handle, address in enumerate(addresses):
        client.receiver(address, handle=10 + handle, credit=3)
        got[handle] = sorted(client.wait(amqp.Delivery).message.body for _ in range(3))
    assert got == {handle: [f"{channel}/{handle}" for channel in range(3)] for handle in range(3)}
    client.send(0, amqp.Detach(10, closed=True))
    assert client.wait(amqp.Detach).handle == 10  # without `closed`, whatever was asked for
    client.send(2, amqp.End())
    client.wait(amqp.End)


def test_values_pass_the_broker(client: Client, unique: Unique) -> None:
    address = queue(unique, "bodies")
    client.sender(address)
    # A list in a value section ends the connection without a word: 3.10's defect.
    bodies: list[Any] = ["text", {"k": [1, None, True]}, 5, True, 0.5]
    for body in bodies:
        assert client.outcome(client.transfer(amqp.Message(value=body))) == amqp.Accepted()
    client.receiver(address, credit=len(bodies))
    for body in bodies:
        delivery = client.wait(amqp.Delivery)
        assert delivery.message.value == body
        client.settle(delivery, amqp.Accepted())


def test_an_error_ends_the_session(rabbitmq: tuple[str, int], unique: Unique) -> None:
    """A link to nowhere: the broker says which condition, and for whom."""
    client = Client(rabbitmq)
    client.sasl("PLAIN", b"\0guest\0guest")
    client.open()
    client.begin(0)
    client.send(
        0,
        amqp.Attach(
            "bad", 0, amqp.Role.SENDER, source=amqp.Source("x"),
            target=amqp.Target("/exchange/" + unique("absent")), initial_delivery_count=0,
        ),
    )  # fmt: skip
    ended = client.wait((amqp.End, amqp.Detach, amqp.Close))
    assert ended.error is not None
    assert ended.error.condition.startswith("amqp:")
    client.socket.close()
    client.check()


def test_a_close_for_a_broken_frame(rabbitmq: tuple[str, int]) -> None:
    """What is no AMQP ends the connection, with an error or without a word."""
    client = Client(rabbitmq)
    client.sasl("PLAIN", b"\0guest\0guest")
    client.open()
    client.socket.sendall(b"\0\0\0\x0c\x02\0\0\0\xff\xff\xff\xff")
    # The broker's description has the broken bytes in it as they are, and so is no string.
    try:
        closed = client.wait(amqp.Close)
    except (EOFError, TextError):
        closed = None
    assert closed is None or closed.error is not None
    client.socket.close()
