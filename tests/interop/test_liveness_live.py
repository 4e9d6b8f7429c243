"""Heartbeats in both directions, and a broker that is short of memory."""

from __future__ import annotations

import time

import pytest

from amqpcodec import v0_9_1 as amqp


def receive_heartbeats(client, seconds, *, answer):
    """The heartbeats that came in that time; with answer, one of ours for each."""
    deadline = time.monotonic() + seconds
    count = 0
    while (remaining_seconds := deadline - time.monotonic()) > 0:
        try:
            channel, frame = client.receive(remaining_seconds)
        except TimeoutError:
            break
        assert (channel, frame) == (0, amqp.Heartbeat())
        count += 1
        if answer:
            client.send(0, amqp.Heartbeat())
    return count


def test_heartbeats(connect):
    """At one second: two connections side by side, one that answers and one that keeps silent."""
    alive = connect(handshake={"heartbeat": 1}, as_messages=True)
    silent = connect(handshake={"heartbeat": 1})
    assert receive_heartbeats(alive, 4.0, answer=True) >= 3
    alive.open_channel()  # still there after more than two intervals
    with pytest.raises(EOFError):
        receive_heartbeats(silent, 4.0, answer=False)
    silent.open = False
    assert any(type(frame) is amqp.Heartbeat for _, frame in silent.received)


def test_heartbeats_between_messages(connect):
    """A heartbeat may stand anywhere between frames, also within a content."""
    client = connect(handshake={"heartbeat": 1})
    client.open_channel()
    queue = client.declare()
    client.send(1, amqp.Basic.Publish(routing_key=queue), amqp.Header(6))
    client.send(0, amqp.Heartbeat())
    client.send(1, amqp.Body(b"abc"))
    client.send(0, amqp.Heartbeat())
    client.send(1, amqp.Body(b"def"))
    client.send(1, amqp.Basic.Get(queue=queue, no_ack=True))
    assert client.expect_content(1, amqp.Basic.GetOk).body == b"abcdef"


@pytest.fixture
def short_of_memory(rabbitmqctl):
    """Set the broker's alarm off, and on leaving always end it."""

    def alarm(on):
        rabbitmqctl("set_vm_memory_high_watermark", "0.0000001" if on else "0.4")

    yield alarm
    alarm(False)


def test_blocked_and_unblocked(connect, short_of_memory):
    publisher = connect()
    publisher.open_channel()
    queue = publisher.declare()
    message_client = connect(as_messages=True)
    message_client.open_channel()
    unaware = connect(handshake={"properties": {}})
    unaware.open_channel()
    short_of_memory(True)
    for client in (publisher, message_client, unaware):
        client.publish(1, b"too much", routing_key=queue)
    for client in (publisher, message_client):
        blocked = client.expect(0, amqp.Connection.Blocked)
        assert blocked == amqp.Connection.Blocked(reason="low on memory")
    short_of_memory(False)
    for client in (publisher, message_client):
        assert client.expect(0, amqp.Connection.Unblocked) == amqp.Connection.Unblocked()
    # A client without the capability is told nothing; its next answer is all it hears.
    assert unaware.call(1, amqp.Tx.Select(), amqp.Tx.SelectOk) == amqp.Tx.SelectOk()
