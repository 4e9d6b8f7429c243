"""Every way in which the broker closes a channel or the connection, with its reply code."""

from __future__ import annotations

import struct

import pytest

from amqpcodec import v0_9_1 as amqp


def raw_frame(kind, channel, payload, end=0xCE):
    """A frame by hand, for what amqpcodec refuses to write."""
    return struct.pack(">BHI", kind, channel, len(payload)) + payload + bytes([end])


SOFT = {
    "no such queue": (404, amqp.Queue.Declare(queue="nonesuch", passive=True)),
    "no such exchange": (404, amqp.Exchange.Declare(exchange="nonesuch", passive=True)),
    "bind nothing": (404, amqp.Queue.Bind(queue="nonesuch", exchange="amq.direct")),
    "unknown delivery tag": (406, amqp.Basic.Ack(delivery_tag=2**63)),
    "reserved name": (403, amqp.Queue.Declare(queue="amq.mine")),
    "default exchange": (403, amqp.Exchange.Delete(exchange="")),
    "other durability": (406, amqp.Exchange.Declare(exchange="amq.direct", type="direct")),
}
HARD = {
    "no active flow": (540, amqp.Channel.Flow(active=False)),
    "no recover in place": (540, amqp.Basic.Recover(requeue=False)),
    "prefetch size": (540, amqp.Basic.Qos(prefetch_size=1)),
    "exchange type": (503, amqp.Exchange.Declare(exchange="x", type="nonesuch")),
    "method of a server": (503, amqp.Queue.DeclareOk(queue="x")),
    "second channel.open": (504, amqp.Channel.Open()),
}


@pytest.mark.parametrize(("code", "method"), SOFT.values(), ids=list(SOFT))
def test_channel_is_closed(client, code, method):
    client.send(1, method)
    close = client.expect_channel_close()
    assert close.reply_code == code
    assert (close.class_id, close.method_id) == (method.CLASS_ID, method.METHOD_ID)
    assert close.reply_text.partition(" - ")[0].replace("_", "").isupper()
    client.open_channel(1)  # the connection and the channel's number live on


@pytest.mark.parametrize(("code", "method"), HARD.values(), ids=list(HARD))
def test_connection_is_closed(client, code, method):
    client.send(1, method)
    close = client.expect_close()
    assert close.reply_code == code
    assert (close.class_id, close.method_id) == (method.CLASS_ID, method.METHOD_ID)


def test_locked_by_another_connection(client, connect, unique):
    queue = unique("mine")
    declare = amqp.Queue.Declare(queue=queue, exclusive=True)
    client.call(1, declare, amqp.Queue.DeclareOk)
    other = connect()
    other.open_channel()
    other.send(1, amqp.Queue.Declare(queue=queue))
    close = other.expect_channel_close()
    assert (close.reply_code, close.class_id, close.method_id) == (405, 50, 10)
    assert queue in close.reply_text


def test_exclusive_consumer(client):
    queue = client.declare()
    client.call(1, amqp.Basic.Consume(queue=queue, exclusive=True), amqp.Basic.ConsumeOk)
    client.open_channel(2)
    client.send(2, amqp.Basic.Consume(queue=queue))
    close = client.expect_channel_close(2)
    assert (close.reply_code, close.class_id, close.method_id) == (403, 60, 20)


def test_delete_what_is_in_use(client):
    queue = client.declare()
    client.publish(1, b"x", routing_key=queue)
    client.wait_for_count(queue, 1)
    client.send(1, amqp.Queue.Delete(queue=queue, if_empty=True))
    close = client.expect_channel_close()
    assert (close.reply_code, close.class_id, close.method_id) == (406, 50, 40)


def test_publish_to_unknown_exchange(client):
    client.publish(1, b"body", exchange="nonesuch")
    close = client.expect_channel_close()
    assert (close.reply_code, close.class_id, close.method_id) == (404, 60, 40)


@pytest.mark.parametrize(
    "properties",
    [{"user_id": "somebody"}, {"expiration": "soon"}],
    ids=lambda properties: next(iter(properties)),
)
def test_properties_that_the_broker_checks(client, properties):
    client.publish(1, b"", amqp.Basic.Properties(**properties), routing_key="x")
    close = client.expect_channel_close()
    assert (close.reply_code, close.class_id, close.method_id) == (406, 60, 40)


def test_immediate_publish(client):
    client.publish(1, b"now", routing_key="x", immediate=True)
    close = client.expect_close()
    assert (close.reply_code, close.class_id, close.method_id) == (540, 60, 40)


def test_consumer_tag_twice(client):
    queue = client.declare()
    consume = amqp.Basic.Consume(queue=queue, consumer_tag="same")
    client.call(1, consume, amqp.Basic.ConsumeOk)
    client.send(1, consume)
    close = client.expect_close()
    assert (close.reply_code, close.class_id, close.method_id) == (530, 60, 20)


def test_channel_that_is_not_open(client):
    client.send(7, amqp.Queue.Declare(queue="x"))
    assert client.expect_close().reply_code == 504


def test_more_channels_than_negotiated(connect):
    client = connect(handshake={"channel_max": 2})
    client.open_channel(1)
    client.open_channel(2)
    client.send(3, amqp.Channel.Open())
    assert client.expect_close().reply_code == 530


BAD = {
    "frame end": (501, raw_frame(1, 1, struct.pack(">HH", 90, 10), end=0xCD)),
    "frame type": (501, raw_frame(9, 1, b"abc")),
    # RabbitMQ lets 8 bytes more than frame_max pass.
    "frame too large": (501, raw_frame(3, 1, bytes(131073))),
    "arguments cut": (501, raw_frame(1, 1, struct.pack(">HHHB", 50, 10, 0, 32) + b"abc")),
    "body without method": (505, amqp.encode(1, amqp.Body(b"x"))),
    "header without method": (505, amqp.encode(1, amqp.Header(1))),
    "method within content": (
        505,
        amqp.encode(1, amqp.Basic.Publish(routing_key="x")) + amqp.encode(1, amqp.Tx.Select()),
    ),
    "header of another class": (
        505,
        amqp.encode(1, amqp.Basic.Publish(routing_key="x"))
        + raw_frame(2, 1, struct.pack(">HHQH", 50, 0, 0, 0)),
    ),
    "heartbeat on a channel": (505, raw_frame(8, 1, b"")),
}


@pytest.mark.parametrize(("code", "octets"), BAD.values(), ids=list(BAD))
def test_bad_frames(client, code, octets):
    """What we sent wrong on purpose; the broker's verdict comes whole, and names the cause."""
    client.send_octets(octets)
    close = client.expect(0, amqp.Connection.Close)
    client.open = False
    assert close.reply_code == code
    assert close.reply_text.partition(" - ")[0] in ("FRAME_ERROR", "UNEXPECTED_FRAME")
    assert type(close.reply_text) is str


def test_unknown_tag_in_a_table(client):
    """A tag that the broker does not know, in a method: it ends the connection without a word."""
    declare = amqp.encode(1, amqp.Queue.Declare(arguments={"k": True}))
    client.send_octets(declare.replace(b"\x01kt\x01", b"\x01kZ\x01"))
    client.expect_eof()


def test_own_close_with_code(client):
    """The client ends a channel and the connection with codes and texts of its own."""
    close = amqp.Channel.Close(reply_code=404, reply_text="✂" * 85, class_id=60, method_id=71)
    assert client.call(1, close, amqp.Channel.CloseOk) == amqp.Channel.CloseOk()
    close = amqp.Connection.Close(reply_code=541, reply_text="", class_id=60, method_id=40)
    assert client.call(0, close, amqp.Connection.CloseOk) == amqp.Connection.CloseOk()
    client.expect_eof()


def test_closed_by_the_operator(client, rabbitmqctl):
    rabbitmqctl("close_all_connections", "that is enough")
    close = client.expect_close()
    assert (close.reply_code, close.class_id, close.method_id) == (320, 0, 0)
    assert "that is enough" in close.reply_text
