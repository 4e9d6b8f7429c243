"""Faults at a place, and the sweep over all places."""

from __future__ import annotations

import contextlib
import socket

import pytest

from amqpcodec import v0_9_1 as amqp
from amqpcodec.session import Blocked, ConsumerCancelled, Unblocked
from tests.testing.talk import Closed, Talk


def confirmed(talk, name="q"):
    channel = talk.channel().confirm()
    return channel, channel.queue(name)


def test_reset_before_the_third_publish(amqp_broker, talk):
    channel, q = confirmed(talk())
    fault = amqp_broker.on("basic.publish", n=3).reset()
    assert [channel.publish(b"%d" % number, q) for number in range(2)] == ["ack", "ack"]
    with pytest.raises(Closed):
        channel.publish(b"2", q)
    assert fault.hit
    assert [one.body for one in amqp_broker.messages(q, n=2)] == [b"0", b"1"]
    assert "reset" in [one.name for one in amqp_broker.transcript()]


def test_reset_between_a_publish_and_its_confirm(amqp_broker, talk):
    channel, q = confirmed(talk())
    amqp_broker.on("basic.ack", sender="server").reset()
    with pytest.raises(Closed):
        channel.publish(b"taken", q)
    amqp_broker.messages(q, n=1)


@pytest.mark.parametrize(
    "name",
    ["protocol-header", "connection.start", "connection.start-ok", "connection.tune",
     "connection.tune-ok", "connection.open", "connection.open-ok"],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["eof", "reset"])
def test_the_end_in_each_step_of_the_handshake(amqp_broker, talk, name, kind):
    getattr(amqp_broker.on(name), kind)()
    with pytest.raises((Closed, OSError)):
        talk()
    talk()  # once is enough


def test_refused_connections(amqp_broker, talk):
    amqp_broker.refuse_connections()
    with pytest.raises(ConnectionRefusedError):
        talk()
    for _ in range(20):
        amqp_broker.accept_connections()
        talk()
        amqp_broker.refuse_connections()
        with pytest.raises(ConnectionRefusedError):
            talk()
    amqp_broker.accept_connections()
    amqp_broker.end_next_connections(2)
    for _ in range(2):
        with pytest.raises((Closed, OSError)):
            talk()
    talk()


def test_freeze_and_thaw(amqp_broker, talk):
    channel, q = confirmed(talk())
    amqp_broker.on("basic.publish").freeze()
    with pytest.raises(TimeoutError):
        talk_once(channel, q)
    amqp_broker.published(n=0)
    amqp_broker.thaw()
    channel.talk.until(lambda: not channel.channel.publications)
    amqp_broker.published(q)


@pytest.mark.parametrize("trouble", ["frozen", "blocked"])
def test_a_client_that_is_not_read_is_not_silent(amqp_broker, talk, trouble):
    """The broker leaves the connection open, whatever the heartbeats of the client are."""
    with Talk((amqp_broker.host, amqp_broker.port), heartbeat=1) as client:
        channel, q = confirmed(client)
        if trouble == "frozen":
            amqp_broker.on("basic.publish").freeze()
        else:
            amqp_broker.block("memory")
        channel.channel.publish("", q, b"m")
        client.drain(2.5)
        assert len(amqp_broker.connections()) == 1
        amqp_broker.thaw()
        amqp_broker.unblock()
        client.until(lambda: not channel.channel.publications)
    amqp_broker.published(q)


def talk_once(channel, q):
    channel.channel.publish("", q, b"m")
    channel.talk.until(lambda: not channel.channel.publications, 0.2)


def test_delay_goes_by_the_clock(amqp_broker, talk):
    channel, q = confirmed(talk())
    amqp_broker.on("basic.ack", sender="server").delay(3600)
    with pytest.raises(TimeoutError):
        talk_once(channel, q)
    amqp_broker.advance(3600)
    channel.talk.until(lambda: not channel.channel.publications)


def test_dropped_reply(amqp_broker, talk):
    channel = talk().channel()
    amqp_broker.on("queue.declare-ok").drop()
    request = channel.channel.declare_queue("q", durable=True)
    with pytest.raises(TimeoutError):
        channel.talk.until(lambda: request.done, 0.2)
    assert amqp_broker.queues() == ["q"]
    for name in ("basic.publish", "body"):
        with pytest.raises(ValueError, match="cannot be lost alone"):
            amqp_broker.on(name).drop()


def test_close_channel_and_connection(amqp_broker, talk):
    channel, q = confirmed(talk())
    amqp_broker.on("basic.publish").close_channel(406, "too late")
    with pytest.raises(Closed, match="channel 406 PRECONDITION_FAILED - too late"):
        channel.publish(b"m", q)
    amqp_broker.messages(q, n=0)
    channel = channel.talk.channel().confirm()
    amqp_broker.on("basic.publish").close(320)
    with pytest.raises(Closed, match="connection 320 CONNECTION_FORCED"):
        channel.publish(b"m", q)
    amqp_broker.published(n=0)
    with pytest.raises(ValueError, match="is on no channel"):
        amqp_broker.on("connection.open").close_channel(406)


def test_cancelled_consumer(amqp_broker, talk):
    channel, q = confirmed(talk())
    consumer = channel.consume(q)
    amqp_broker.on("basic.deliver").cancel_consumer()
    channel.publish(b"m", q)
    channel.talk.until(lambda: not consumer.active)
    assert ConsumerCancelled(consumer) in channel.talk.events
    amqp_broker.unacked(q, n=1)
    amqp_broker.consumers(n=0)


def test_planned_confirms(amqp_broker, talk):
    channel, q = confirmed(talk())
    amqp_broker.on("basic.publish", n=2).nack_next()
    assert [channel.publish(b"m", q) for _ in range(3)] == ["ack", "nack", "ack"]
    amqp_broker.nack_next(2)
    assert [channel.publish(b"m", q) for _ in range(3)] == ["nack", "nack", "ack"]
    amqp_broker.drop_confirm()
    with pytest.raises(TimeoutError):
        talk_once(channel, q)
    amqp_broker.messages(q, n=4)
    assert [one.outcome for one in amqp_broker.published(n=7)].count("nacked") == 3


def test_confirms_of_many_at_once(amqp_broker, talk):
    amqp_broker.coalesce_confirms()
    channel, q = confirmed(talk())
    for _ in range(20):
        channel.channel.publish("", q, b"m")
    channel.talk.until(lambda: not channel.channel.publications)
    acks = [one.frame for one in amqp_broker.transcript("basic.ack", sender="server")]
    assert len(acks) < 20
    assert acks[-1] == amqp.Basic.Ack(20, True)


def test_blocked_publishers(amqp_broker, talk):
    channel, q = confirmed(talk(client_properties={"capabilities": {"connection.blocked": True}}))
    amqp_broker.block("memory")
    assert channel.queue("r") == "r"  # not until it publishes
    channel.publish(b"m", q)
    channel.talk.until(lambda: Blocked("memory") in channel.talk.events)
    request = channel.channel.declare_queue("s", durable=True)
    with pytest.raises(TimeoutError):
        channel.talk.until(lambda: request.done, 0.2)
    assert talk().channel().queue("t") == "t"  # others are not concerned
    amqp_broker.unblock()
    channel.talk.until(lambda: request.done)
    assert Unblocked() in channel.talk.events


def test_wrong_places(amqp_broker):
    with pytest.raises(ValueError, match=r"no frame is called 'basic.publsh'"):
        amqp_broker.on("basic.publsh")
    with pytest.raises(ValueError, match="the first one is 1"):
        amqp_broker.on("basic.publish", n=0)


def test_a_place_on_one_connection(amqp_broker, talk):
    first, second = talk().channel(), talk().channel()
    first.queue("q")
    amqp_broker.on("queue.declare", connection=2).reset()
    first.queue("q")
    with pytest.raises(Closed):
        second.queue("q")


@pytest.mark.parametrize("fault", ["reset", "eof"])
def test_sweep(amqp_broker, fault):
    """At whatever frame the connection ends: what was confirmed is in the queue."""
    points, outcomes = [], set()
    for point in amqp_broker.every_frame(fault):
        points.append(point)
        acked, q = 0, "q"
        try:
            with Talk((amqp_broker.host, amqp_broker.port)) as talk:
                channel, q = confirmed(talk)
                for number in range(3):
                    acked += channel.publish(b"%d" % number, q) == "ack"
                talk.close()
        except (Closed, OSError):
            pass
        amqp_broker.connections(n=0)
        stored = len(amqp_broker.messages(q)) if amqp_broker.queues() else 0
        assert stored >= acked, point
        outcomes.add((acked, stored))
    assert not points[-1].fault.hit
    assert all(point.fault.hit for point in points[:-1])
    assert len(points) > 25
    assert {(0, 0), (0, 1), (1, 1), (2, 3), (3, 3)} <= outcomes
    assert str(points[0]).startswith("frame 1: protocol-header of the client")


def test_restart(amqp_broker, talk):
    channel, q = confirmed(talk())
    channel.publish(b"kept", q, delivery_mode=2)
    channel.publish(b"lost", q)
    channel.queue("transient", durable=False)
    channel.exchange("x")
    amqp_broker.restart()
    with pytest.raises(Closed, match="320"):
        channel.talk.until(lambda: False)
    assert amqp_broker.queues() == [q]
    assert [one.body for one in amqp_broker.messages(q)] == [b"kept"]
    assert talk().channel().bodies(q) == ["kept"]


def test_garbage_does_not_stop_the_broker(amqp_broker, talk):
    for data in (b"GET / HTTP/1.1\r\n\r\n", b"\0" * 100, amqp.PROTOCOL_HEADER + b"\xff" * 50):
        with socket.create_connection((amqp_broker.host, amqp_broker.port)) as line:
            line.sendall(data)
            line.settimeout(20)
            with contextlib.suppress(ConnectionResetError):
                while line.recv(65536):
                    pass
    talk().channel().queue("q")


def test_reset_forgets_all(amqp_broker, talk):
    channel, q = confirmed(talk())
    channel.publish(b"m", q)
    amqp_broker.on("basic.publish").reset()
    amqp_broker.nack_next()
    amqp_broker.block()
    amqp_broker.reset()
    assert amqp_broker.queues() == []
    channel, q = confirmed(talk())
    assert channel.publish(b"m", q) == "ack"
    assert amqp_broker.published(q)[0].connection == 1
