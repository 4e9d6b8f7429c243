"""AMQP 1.0: heartbeats and silent peers, on a clock of the test's own."""

from __future__ import annotations

import pytest

from amqpcodec import v1_0 as amqp
from amqpcodec.session import v1
from tests.support.session_v1_pair import Pair, Peer, kinds


def test_nobody_has_a_limit() -> None:
    pair = Pair().opened()
    assert pair.client.next_timeout(0.0) is None
    assert pair.client.handle_timeout(1e9) == []
    assert pair.client.data_to_send() == b""


def test_a_heartbeat_in_time() -> None:
    """The peer waits 10 s and has said 5: every 2.5 s something is sent."""
    pair = Pair({}, {"idle_timeout": 10.0}).opened()
    client = pair.client
    assert client.next_timeout(100.0) == 102.5
    assert client.handle_timeout(102.4) == []
    assert client.data_to_send() == b""
    assert client.handle_timeout(102.5) == []
    assert client.data_to_send() == amqp.encode(0, amqp.Heartbeat())
    assert client.next_timeout(102.5) == 105.0
    client.begin()
    assert client.next_timeout(104.0) == 106.5, "any frame will do"


def test_a_silent_peer() -> None:
    pair = Pair({"idle_timeout": 10.0}).opened()
    link, _ = pair.sender()
    client = pair.client
    assert client.next_timeout(0.0) == 10.0
    client.receive_data(amqp.encode(0, amqp.Heartbeat()))
    assert client.next_timeout(4.0) == 14.0
    assert client.handle_timeout(13.9) == []
    events = client.handle_timeout(14.0)
    assert kinds(events) == [v1.LinkClosed, v1.SessionEnded, v1.ConnectionClosed]
    assert events[-1].error.condition == "amqp:resource-limit-exceeded"
    assert not events[-1].clean
    assert events[0].link is link
    _, frame = next(iter(amqp.Decoder(0, opened=True).feed(client.data_to_send())))
    assert frame.error == events[-1].error
    assert client.closed
    assert client.next_timeout(15.0) is None
    assert client.handle_timeout(99.0) == []


def test_bytes_of_half_a_frame_are_a_sign_of_life() -> None:
    peer = Peer(idle_timeout=10.0).opened()
    assert peer.engine.next_timeout(0.0) == 10.0
    peer.engine.receive_data(b"\0\0")
    assert peer.engine.next_timeout(9.0) == 19.0


@pytest.mark.parametrize("time_out", [0, None])
def test_a_peer_without_limit(time_out: int | None) -> None:
    peer = Peer().opened(idle_time_out=time_out)
    assert peer.engine.next_timeout(0.0) is None


def test_nothing_is_sent_before_open() -> None:
    peer = Peer("client", idle_timeout=10.0)
    peer.engine.data_to_send()
    assert peer.engine.next_timeout(0.0) == 10.0
    assert peer.engine.handle_timeout(9.0) == []
    assert kinds(peer.engine.handle_timeout(10.0)) == [v1.ConnectionClosed]
    assert peer.engine.data_to_send() == b"", "there is nobody to read a close"
