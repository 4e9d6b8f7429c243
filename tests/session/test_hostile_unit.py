"""What the peer may not do: the reply code of the specification, and the close is queued."""

from __future__ import annotations

import pytest

from amqpcodec import v0_9_1 as amqp
from amqpcodec.session import (
    ChannelClosed,
    ChannelOpened,
    ConnectionClosed,
    RemoteProtocolError,
    Replied,
    RequestFailed,
)
from tests.support.session_pair import names, opened


def sent(session):
    """What a session has to send, read back."""
    frames = []
    for channel, frame in amqp.Decoder(0).feed(session.data_to_send()):
        frames.append((channel, frame))
    return frames


TO_SERVER = {
    "server's method": (1, amqp.Queue.DeclareOk(), 503),
    "channel that is not open": (2, amqp.Basic.Qos(), 504),
    "close of one that is not open": (2, amqp.Channel.Close(), 504),
    "second open": (1, amqp.Channel.Open(), 504),
    "channel above the limit": (3000, amqp.Channel.Open(), 504),
    "open on channel 0": (0, amqp.Channel.Open(), 504),
    "a method on channel 0": (0, amqp.Basic.Qos(), 504),
    "the connection's on a channel": (1, amqp.Connection.Close(), 503),
    "second connection.open": (0, amqp.Connection.Open(), 503),
    "second start-ok": (0, amqp.Connection.StartOk(), 503),
    "blocked by a client": (0, amqp.Connection.Blocked(), 503),
    "close-ok without close": (1, amqp.Channel.CloseOk(), 503),
    "connection.close-ok without": (0, amqp.Connection.CloseOk(), 503),
    "reply without request": (1, amqp.Channel.FlowOk(), 503),
    "cancel-ok without cancel": (1, amqp.Basic.CancelOk(), 503),
    "nameless consumer": (1, amqp.Basic.Consume(no_wait=True), 503),
    "protocol header": (0, amqp.ProtocolHeader(), 501),
    "heartbeat on a channel": (None, b"\x08\x00\x01\x00\x00\x00\x00\xce", 501),
    "no frame": (None, b"\x01\x00\x01\x00\x00\x00\x01\x00\x00", 501),
    "header first": (None, b"\x02\x00\x01\x00\x00\x00\x0e\x00<" + bytes(12) + b"\xce", 505),
    "unknown method": (None, b"\x01\x00\x01\x00\x00\x00\x04\x00\x63\x00\x63\xce", 503),
    "above frame_max": (None, b"\x01\x00\x01\x00\x01\xff\xf9", 501),
}


@pytest.mark.parametrize("name", TO_SERVER)
def test_hard_faults_end_the_connection(name):
    number, item, code = TO_SERVER[name]
    pair = opened()
    _mine, theirs = pair.channel()
    pair.take("server")
    data = item if number is None else amqp.encode(number, item)
    good = amqp.encode(1, amqp.Queue.Purge("q"))
    with pytest.raises(RemoteProtocolError) as caught:
        pair.server.receive_data(good + data + good)
    error = caught.value
    assert error.reply_code == code
    assert names(error.events) == ["Requested", "ChannelClosed", "ConnectionClosed"]
    assert error.events[1] == ChannelClosed(theirs, code, str(error), error.method, "local")
    assert error.events[2] == ConnectionClosed(code, str(error), error.method, "local", "opened")
    ((channel, close),) = sent(pair.server)
    assert (channel, type(close), close.reply_code) == (0, amqp.Connection.Close, code)
    if isinstance(item, amqp.Method):
        assert (close.class_id, close.method_id) == (item.CLASS_ID, item.METHOD_ID)
    for data in (b"", good, amqp.encode(0, amqp.Connection.CloseOk())):
        with pytest.raises(RemoteProtocolError) as again:
            pair.server.receive_data(data)
        assert str(again.value) == str(error)
        assert again.value.events == []
    assert pair.server.closed
    assert pair.server.receive_eof() == []


TO_CLIENT = {
    "client's method": (amqp.Basic.Ack(1), 406),
    "declare": (amqp.Queue.Declare(), 503),
    "wrong reply": (amqp.Queue.PurgeOk(), 503),
    "delivery for nobody": ((amqp.Basic.Deliver("x", 1), b"x"), 503),
    "get-ok for nobody": ((amqp.Basic.GetOk(1), b"x"), 503),
    "publish": ((amqp.Basic.Publish(), b"x"), 503),
    "wrong name": (amqp.Basic.ConsumeOk("other"), 503),
}


@pytest.mark.parametrize("name", TO_CLIENT)
def test_faults_of_a_server(name):
    item, code = TO_CLIENT[name]
    pair = opened(answer=False)
    mine, _theirs = pair.channel()
    request = mine.consume("q", "t")
    pair.pump()
    pair.take("client")
    if isinstance(item, tuple):
        data = amqp.encode_message(1, item[0], None, item[1])
    else:
        data = amqp.encode(1, item)
    if code == 406:
        events = pair.client.receive_data(data)
        assert names(events) == ["RequestFailed", "ChannelClosed"]
        assert not pair.client.closed
    else:
        with pytest.raises(RemoteProtocolError) as caught:
            pair.client.receive_data(data)
        assert caught.value.reply_code == code
        assert names(caught.value.events) == ["RequestFailed", "ChannelClosed", "ConnectionClosed"]
    assert request.error[0] == code


def test_tags_that_nothing_names_may_repeat():
    """RabbitMQ gives each reply of direct reply-to the tag of the next delivery."""
    pair = opened()
    mine, theirs = pair.channel()
    mine.consume("amq.rabbitmq.reply-to", "replies", no_ack=True)
    mine.consume("q", "t")
    pair.pump()
    pair.take("client")
    for consumer, tag in [("t", 1), ("replies", 2), ("replies", 2), ("t", 2), ("replies", 3)]:
        theirs.send(amqp.Basic.Deliver(consumer, tag), None, b"x")
    pair.pump()
    assert names(pair.take("client")) == ["Delivered"] * 5
    assert (list(mine.deliveries), mine.deliveries.last) == ([1, 2], 3)
    mine.ack(2, multiple=True)
    pair.pump()
    assert len(mine.deliveries) == len(theirs.deliveries) == 0
    for sender in (mine, theirs):
        assert sender.is_open


@pytest.mark.parametrize("tags", [(0,), (1, 1), (5, 4)])
def test_delivery_tags_of_a_server_ascend_from_one(tags):
    pair = opened()
    mine, _theirs = pair.channel()
    mine.consume("q", "t")
    pair.pump()
    pair.take("client")
    *good, last = [amqp.encode_message(1, amqp.Basic.Deliver("t", tag), None, b"x") for tag in tags]
    assert names(pair.client.receive_data(b"".join(good))) == ["Delivered"] * len(good)
    with pytest.raises(RemoteProtocolError, match=f"tag {tags[-1]} was used before") as caught:
        pair.client.receive_data(last)
    assert caught.value.reply_code == 503
    assert names(caught.value.events) == ["ChannelClosed", "ConnectionClosed"]


@pytest.mark.parametrize(
    ("method", "text"),
    [
        (amqp.Basic.Ack(9), "unknown delivery tag 9"),
        (amqp.Basic.Reject(9), "unknown delivery tag 9"),
        (amqp.Basic.Nack(9, multiple=True), "unknown delivery tag 9"),
        (amqp.Tx.Commit(), "not transactional"),
        (amqp.Tx.Rollback(), "not transactional"),
    ],
)
def test_soft_faults_end_the_channel_only(method, text):
    pair = opened()
    _mine, theirs = pair.channel()
    _other, _ = pair.channel()
    pair.take("server"), pair.take("client")
    late = amqp.encode_message(1, amqp.Basic.Publish(), None, b"late")
    events = pair.server.receive_data(
        amqp.encode(1, method) + late + amqp.encode(1, method) + amqp.encode(2, amqp.Basic.Qos())
    )
    assert names(events) == ["ChannelClosed", "Requested"]
    assert (events[0].reply_code, events[0].closed_by) == (406, "local")
    assert text in events[0].reply_text
    ((channel, close),) = sent(pair.server)
    assert (channel, close.reply_code) == (1, 406)
    # Its number is in use until the client has answered.
    assert theirs.number in pair.server.channels
    assert pair.server.receive_data(amqp.encode(1, amqp.Channel.CloseOk())) == []
    assert theirs.number not in pair.server.channels
    events = pair.server.receive_data(amqp.encode(1, amqp.Channel.Open()))
    assert names(events) == ["ChannelOpened"]


def test_confirms_are_told_once():
    pair = opened(answer=False)
    mine, _theirs = pair.channel()
    mine.confirm(no_wait=True)
    mine.publish("", "q")
    mine.publish("", "q")
    pair.pump()
    ack = amqp.encode(1, amqp.Basic.Ack(1))
    events = pair.client.receive_data(ack + ack)
    assert names(events) == ["Acked", "ChannelClosed"]
    assert events[1].reply_code == 406
    assert events[1].unconfirmed == (2,)


def test_body_above_the_limit_closes_its_channel():
    pair = opened(server={"max_body_size": 10})
    mine, _theirs = pair.channel()
    pair.take("server"), pair.take("client")
    mine.publish("", "q", b"x" * 11)
    mine.publish("", "q", b"x" * 10)
    pair.pump()
    assert names(pair.take("server")) == ["ChannelClosed"]
    (event,) = pair.take("client")
    assert isinstance(event, ChannelClosed)
    assert (event.reply_code, event.method) == (311, "basic.publish")
    assert not pair.server.channels
    again, _ = pair.channel()
    again.publish("", "q", b"x" * 10)
    pair.pump()
    assert names(pair.take("server")) == ["ChannelOpened", "Published"]


def test_the_largest_body_that_is_taken_without_an_option():
    """128 MiB, by what the content header says."""
    largest = 128 << 20
    for size, expected in ((largest, []), (largest + 1, ["ChannelClosed"])):
        pair = opened()
        pair.channel()
        pair.take("server")
        header = amqp.Header(size, amqp.Basic.Properties())
        frames = amqp.encode(1, amqp.Basic.Publish()) + amqp.encode(1, header)
        assert names(pair.server.receive_data(frames)) == expected


def test_a_large_body_on_a_channel_that_is_not_open():
    pair = opened(server={"max_body_size": 10})
    with pytest.raises(RemoteProtocolError) as caught:
        pair.server.receive_data(amqp.encode_message(5, amqp.Basic.Publish(), None, b"x" * 11))
    assert (caught.value.reply_code, caught.value.channel) == (504, 5)


def test_too_many_requests_of_a_client():
    pair = opened(answer=False, server={"max_requests": 3})
    mine, _ = pair.channel()
    for _ in range(4):
        mine.qos()
    with pytest.raises(RemoteProtocolError) as caught:
        pair.pump()
    assert caught.value.reply_code == 506


def test_nothing_after_the_end():
    pair = opened()
    _mine, _ = pair.channel()
    pair.client.close()
    pair.pump()
    assert pair.client.receive_data(b"anything at all") == []
    assert pair.client.data_to_send() == b""


def test_what_comes_while_closing():
    pair = opened(answer=False)
    mine, theirs = pair.channel()
    mine.consume("q", "t")
    pair.pump()
    theirs.received[0].respond(amqp.Basic.ConsumeOk("t"))
    request = mine.qos()
    pair.pump()
    pair.take("client")
    theirs.send(amqp.Basic.Deliver("t", 1), None, b"dropped")
    theirs.received[0].respond(amqp.Basic.QosOk())
    pair.client.close()
    pair.pump()
    first, *remainder = pair.take("client")
    assert first == Replied(mine, request, amqp.Basic.QosOk())
    assert names(remainder) == ["ChannelClosed", "ConnectionClosed"]


def test_a_server_that_closes_passes_over_what_still_comes():
    pair = opened()
    mine, theirs = pair.channel()
    pair.take("server")
    mine.confirm(no_wait=True)
    mine.publish("", "q", b"late")
    mine.qos()
    theirs.close(404, "NOT_FOUND")
    pair.pump()
    assert names(pair.take("server")) == ["ChannelClosed"]


def test_requests_that_a_close_leaves_are_told():
    pair = opened(answer=False)
    mine = pair.client.open_channel()
    pair.client.data_to_send()
    pair.take("client")
    close = amqp.Connection.Close(504, "CHANNEL_ERROR", *(20, 10))
    events = pair.client.receive_data(amqp.encode(0, close))
    assert names(events) == ["RequestFailed", "ChannelClosed", "ConnectionClosed"]
    assert isinstance(events[0], RequestFailed)
    assert events[0].cause
    assert events[2].method == "channel.open"
    assert not any(isinstance(event, ChannelOpened) for event in events)
    assert mine.close_reason == (504, "CHANNEL_ERROR")
