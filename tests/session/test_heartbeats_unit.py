"""Heartbeats by the caller's clock."""

from __future__ import annotations

import pytest

from amqpcodec import v0_9_1 as amqp
from amqpcodec.session import ConnectionClosed
from tests.support.session_pair import opened

BEAT = amqp.encode(0, amqp.Heartbeat())


def test_none_agreed():
    pair = opened(client={"heartbeat": 0})
    assert pair.client.next_timeout(5) is None
    assert pair.client.handle_timeout(1e9) == []
    assert pair.client.data_to_send() == b""


@pytest.mark.parametrize("role", ["client", "server"])
def test_sent_after_half_of_the_interval(role):
    session = getattr(opened(client={"heartbeat": 10}), role)
    assert session.next_timeout(100) == 105
    assert session.handle_timeout(104.9) == []
    assert session.bytes_to_send == 0
    session.handle_timeout(105)
    assert session.data_to_send() == BEAT
    assert session.next_timeout(105) == 110


def test_none_is_due_while_something_is_sent():
    pair = opened(client={"heartbeat": 10})
    assert pair.client.next_timeout(100) == 105
    pair.channel()
    assert pair.client.next_timeout(104) == 109
    assert pair.client.handle_timeout(105) == []
    assert pair.client.bytes_to_send == 0


@pytest.mark.parametrize("role", ["client", "server"])
def test_a_silent_peer_is_given_up(role):
    session = getattr(opened(client={"heartbeat": 10}), role)
    session.next_timeout(100)
    for now in (105, 110, 115, 119.9):
        assert session.handle_timeout(now) == []
        session.data_to_send()
    session.handle_timeout(119.95)
    (event,) = session.handle_timeout(120)
    assert event == ConnectionClosed(
        0, "no byte came for two heartbeats of 10 s", None, "local", "opened"
    )
    assert session.closed
    assert session.data_to_send() == b""
    assert session.next_timeout(121) is None
    assert session.handle_timeout(130) == []


def test_any_byte_is_a_sign_of_life():
    pair = opened(client={"heartbeat": 10})
    pair.client.next_timeout(100)
    pair.client.receive_data(BEAT[:3])
    assert pair.client.handle_timeout(119) == []
    pair.client.data_to_send()
    assert pair.client.handle_timeout(121) == []
    assert not pair.client.closed


def test_who_does_not_read_can_say_so():
    """Empty data: it is not the peer that is silent."""
    pair = opened(client={"heartbeat": 10})
    pair.client.next_timeout(100)
    assert pair.client.receive_data(b"") == []
    assert pair.client.handle_timeout(119) == []
    assert pair.client.handle_timeout(121) == []
    assert not pair.client.closed
