"""AMQP 1.0: messages over connections that are lost at any byte, resumed each time."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqpcodec import v1_0 as amqp
from amqpcodec.session import v1

COUNT = 6


class Ends:
    """A sender and a receiver that outlive their connections, and what they know of messages."""

    def __init__(self, rng: random.Random, mode: Any) -> None:
        self.rng = rng
        self.mode = mode
        self.messages = {
            b"%d" % number: amqp.Message(rng.randbytes(rng.choice((0, 5, 700, 2000))), to="q")
            for number in range(COUNT)
        }
        self.unsent_tags = list(self.messages)
        self.settled: dict[bytes, Any] = {}  # tag -> what the sender heard
        self.processed: list[bytes] = []  # messages, each as the receiver dealt with it
        self.sender: Any = None
        self.resumed: Any = None  # the sender that has resumed its deliveries
        self.receiver: Any = None

    def connect(self) -> tuple[Any, Any]:
        size = self.rng.choice((512, 4096))
        client: Any = v1.Connection("client", max_frame_size=size)
        server: Any = v1.Connection("server", max_frame_size=size)
        return client, server

    def talk(self, budget: int) -> bool:
        """A connection that is lost after so many bytes; False where there was nothing to say."""
        client, server = self.connect()
        pipes = {client: bytearray(), server: bytearray()}
        while True:
            for end in (client, server):
                pipes[end] += end.data_to_send()
            if not any(pipes.values()):
                break
            speaker = self.rng.choice([end for end in pipes if pipes[end]])
            count = min(self.rng.choice((1, 30, 300, 5000)), budget)
            data = bytes(pipes[speaker][:count])
            del pipes[speaker][:count]
            budget -= len(data)
            hearer = server if speaker is client else client
            self.hear(client, server, hearer.receive_data(data))
            if not budget:
                break
        lost = not budget
        for end in (client, server):
            self.hear(client, server, end.receive_eof())
        return lost

    def hear(self, client: Any, server: Any, events: list[Any]) -> None:
        for event in events:
            match event:
                case v1.ConnectionRequested():
                    server.accept()
                case v1.SessionRequested(session=session):
                    session.accept()
                case v1.ConnectionOpened() if not client.closed:
                    self.sender = client.begin().attach_sender(
                        "link", "q", rcv_settle_mode=self.mode, unsettled=self.sender
                    )
                case v1.LinkRequested(link=link) if not link.session.connection.closed:
                    link.accept(unsettled=self.receiver)
                    link.flow(COUNT * 2)
                    self.receiver = link
                case v1.CreditChanged(link=link) if link.credit:
                    self.send(link)
                case v1.DeliveryReceived(delivery=delivery):
                    body = delivery.message.encode()
                    self.processed.append(body)
                    delivery.accept()
                case v1.DeliveryUpdated(delivery=v1.OutgoingDelivery() as delivery, state=state):
                    self.settled[delivery.tag] = state
                    delivery.settle()
                case v1.LinkClosed(error=error):
                    assert error is None, error

    def send(self, link: Any) -> None:
        """What is in doubt first, then what is new; some of it in parts."""
        plans = {} if link is self.resumed else link.resumptions
        self.resumed = link
        for tag, plan in plans.items():
            assert plan.action not in (v1.ResumptionAction.ABORT, v1.ResumptionAction.UNKNOWN)
            sent = link.resume(tag, self.messages[tag])
            if sent is not None and sent.settled:
                self.settled[tag] = plan.state
        while self.unsent_tags and link.credit:
            tag = self.unsent_tags.pop(0)
            link.send(self.messages[tag], tag=tag)


def run(seed: int, mode: Any) -> Ends:
    rng = random.Random(seed)
    ends = Ends(rng, mode)
    for _ in range(20):
        if not ends.talk(rng.choice((300, 600, 1000, 2000, 4000))):
            return ends
    assert not ends.talk(1 << 20), "this one is not lost"
    return ends


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_exactly_once_where_the_sender_settles(seed: int) -> None:
    """The receiver keeps an outcome until the sender has it: mode "second" (§2.6.12)."""
    ends = run(seed, amqp.ReceiverSettleMode.SECOND)
    expected = [message.encode() for message in ends.messages.values()]
    assert sorted(ends.processed) == sorted(expected)
    assert set(ends.settled) == set(ends.messages)
    assert set(map(type, ends.settled.values())) == {amqp.Accepted}
    assert ends.sender.unsettled_map == ends.receiver.unsettled_map == {}


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_at_least_once_where_the_receiver_settles(seed: int) -> None:
    ends = run(seed, amqp.ReceiverSettleMode.FIRST)
    assert set(ends.processed) == {message.encode() for message in ends.messages.values()}
    assert set(ends.settled) == set(ends.messages)
    assert ends.sender.unsettled_map == ends.receiver.unsettled_map == {}


@pytest.mark.parametrize("mode", amqp.ReceiverSettleMode)
def test_at_every_byte(mode: Any) -> None:
    """One connection that is lost after each number of bytes, then one that is not."""
    resumed = 0
    budget = 1
    while True:
        ends = Ends(random.Random(7), mode)
        lost = ends.talk(budget)
        resumed += bool(lost and ends.sender and ends.sender.unsettled)
        if not lost:
            break
        ends.talk(1 << 20)
        expected = {message.encode() for message in ends.messages.values()}
        assert set(ends.processed) == expected
        assert len(ends.processed) == COUNT or mode == amqp.ReceiverSettleMode.FIRST
        assert set(ends.settled) == set(ends.messages)
        budget += 7
    assert resumed > 100
