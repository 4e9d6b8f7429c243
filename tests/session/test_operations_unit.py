"""Each operation: what is sent, what the server is told, and what the client is told of it."""

from __future__ import annotations

import pytest

from amqpcodec import v0_9_1 as amqp
from amqpcodec.session import (
    Acked,
    Acknowledged,
    Blocked,
    ChannelClosed,
    ChannelOpened,
    ConnectionClosed,
    ConsumerCancelled,
    Delivered,
    FlowChanged,
    LocalProtocolError,
    MethodReceived,
    Nacked,
    Published,
    Rejected,
    RemoteProtocolError,
    Replied,
    RequestFailed,
    Returned,
    Unblocked,
)
from tests.support.session_pair import names, opened

REQUESTS = [
    ("declare_exchange", ("e", "topic"), {"durable": True}, amqp.Exchange.Declare),
    ("delete_exchange", ("e",), {"if_unused": True}, amqp.Exchange.Delete),
    ("bind_exchange", ("d", "s", "k"), {"arguments": {"x": 1}}, amqp.Exchange.Bind),
    ("unbind_exchange", ("d", "s", "k"), {}, amqp.Exchange.Unbind),
    ("declare_queue", ("q",), {"exclusive": True}, amqp.Queue.Declare),
    ("bind_queue", ("q", "e", "k"), {}, amqp.Queue.Bind),
    ("unbind_queue", ("q", "e", "k"), {}, amqp.Queue.Unbind),
    ("purge_queue", ("q",), {}, amqp.Queue.Purge),
    ("delete_queue", ("q",), {"if_empty": True}, amqp.Queue.Delete),
    ("qos", (), {"prefetch_count": 9}, amqp.Basic.Qos),
    ("consume", ("q",), {"no_ack": True}, amqp.Basic.Consume),
    ("consume", ("q", "mine"), {}, amqp.Basic.Consume),
    ("recover", (), {}, amqp.Basic.Recover),
    ("confirm", (), {}, amqp.Confirm.Select),
    ("select_tx", (), {}, amqp.Tx.Select),
    ("flow", (False,), {}, amqp.Channel.Flow),
]


@pytest.mark.parametrize(("name", "args", "kwargs", "kind"), REQUESTS)
def test_request_and_its_reply(name, args, kwargs, kind):
    pair = opened()
    mine, theirs = pair.channel()
    pair.take("client"), pair.take("server")
    request = getattr(mine, name)(*args, **kwargs)
    assert not request.done
    assert list(mine.sent) == [request]
    pair.pump()
    (requested,) = pair.take("server")
    assert requested.channel is theirs
    assert type(requested.request.method) is kind
    for key, value in kwargs.items():
        assert getattr(requested.request.method, key) == value
    (event,) = pair.take("client")
    match event:
        case Replied(channel, same, reply):
            assert channel is mine
            assert same is request
            assert type(reply) is kind.RESPONSES[0]
            assert request.response is reply
        case _:
            pytest.fail(repr(event))
    assert not mine.sent
    assert not theirs.received


@pytest.mark.parametrize(
    ("name", "args"),
    [
        *dict.fromkeys((name, args) for name, args, _, _ in REQUESTS),
        ("get", ("q",)),
        ("publish", ("e", "k")),
    ],
)
def test_bits_that_nobody_asks_for_are_not_set(name, args):
    pair = opened(answer=False)
    mine, _theirs = pair.channel()
    pair.take("server")
    getattr(mine, name)(*args)
    pair.pump()
    (event,) = pair.take("server")
    method = event.message.method if name == "publish" else event.request.method
    bits = [field for field in method.FIELDS if getattr(method, field) is True]
    assert bits == (["requeue"] if name == "recover" else [])


def test_requests_are_answered_in_their_order():
    pair = opened(answer=False)
    mine, theirs = pair.channel()
    first, second = mine.declare_queue("a"), mine.purge_queue("a")
    pair.pump()
    one, two = list(theirs.received)
    with pytest.raises(LocalProtocolError, match="not the next"):
        two.respond(amqp.Queue.PurgeOk())
    with pytest.raises(LocalProtocolError, match=r"queue\.purge-ok is no reply"):
        one.respond(amqp.Queue.PurgeOk())
    one.respond(amqp.Queue.DeclareOk("a"))
    two.respond(amqp.Queue.PurgeOk(3))
    with pytest.raises(LocalProtocolError, match="waits for no reply"):
        two.respond(amqp.Queue.PurgeOk(3))
    pair.pump()
    assert first.response.queue == "a"
    assert second.response.message_count == 3


def test_no_wait_has_no_reply():
    pair = opened()
    mine, _ = pair.channel()
    pair.take("server")
    assert mine.declare_queue("q", no_wait=True) is None
    pair.pump()
    (event,) = pair.take("server")
    assert not event.request.expects_response
    with pytest.raises(LocalProtocolError, match="no reply"):
        event.request.respond(amqp.Queue.DeclareOk())
    assert not mine.sent


@pytest.mark.parametrize("size", [0, 1, 5000, 40000])
def test_publish(size):
    pair = opened(client={"frame_max": 4096})
    mine, theirs = pair.channel()
    pair.take("server")
    body = bytes(range(256)) * (size // 256) + bytes(size % 256)
    properties = amqp.Basic.Properties(headers={"a": 1})
    assert mine.publish("e", "k", body, properties, mandatory=True) is None
    pair.pump()
    (event,) = pair.take("server")
    match event:
        case Published(channel, message, None):
            assert channel is theirs
            assert message.method == amqp.Basic.Publish("e", "k", mandatory=True)
            assert message.properties == properties
            assert message.body == body
        case _:
            pytest.fail(repr(event))


def test_confirms():
    pair = opened(answer=False)
    mine, theirs = pair.channel()
    mine.confirm(no_wait=True)
    assert [mine.publish("", "q", b"x") for _ in range(6)] == [1, 2, 3, 4, 5, 6]
    assert len(mine.publications) == 6
    pair.pump()
    pair.take("client")
    assert [e.tag for e in pair.take("server") if isinstance(e, Published)] == [1, 2, 3, 4, 5, 6]
    theirs.ack(2)
    theirs.nack(3)
    theirs.ack(4, multiple=True)
    with pytest.raises(LocalProtocolError, match="unknown delivery tag 4"):
        theirs.ack(4)
    theirs.nack(0, multiple=True)
    pair.pump()
    assert pair.take("client") == [
        Acked(mine, (2,)),
        Nacked(mine, (3,)),
        Acked(mine, (1, 4)),
        Nacked(mine, (5, 6)),
    ]
    assert not mine.publications


def test_confirms_of_publications_that_send_takes():
    """`send` numbers them as `publish` does, and nothing else, from `confirm` on."""
    pair = opened(answer=False)
    mine, theirs = pair.channel()
    mine.send(amqp.Basic.Publish("", "q"), None, b"x")
    assert len(mine.publications) == 0
    mine.confirm(no_wait=True)
    mine.send(amqp.Basic.Publish("", "q"), None, b"x")
    mine.send(amqp.Basic.Consume(queue="q", consumer_tag="c", no_wait=True))
    assert len(mine.publications) == 1
    assert mine.publish("", "q", b"x") == 2
    pair.pump()
    pair.take("client")
    assert [e.tag for e in pair.take("server") if isinstance(e, Published)] == [None, 1, 2]
    theirs.ack(2, multiple=True)
    pair.pump()
    assert pair.take("client") == [Acked(mine, (1, 2))]
    assert not mine.publications


def test_return_of_a_mandatory_message():
    pair = opened()
    mine, theirs = pair.channel()
    mine.confirm()
    mine.publish("", "nowhere", b"x", mandatory=True)
    pair.answer = False
    pair.server.receive_data(pair.client.data_to_send())
    theirs.received[0].respond(amqp.Confirm.SelectOk())
    theirs.send(amqp.Basic.Return(312, "NO_ROUTE", "", "nowhere"), None, b"x")
    theirs.ack(1)
    pair.pump()
    match pair.take("client")[-2:]:
        case [Returned(channel, message), Acked(_, (1,))]:
            assert channel is mine
            assert (message.method.reply_code, message.body) == (312, b"x")
        case other:
            pytest.fail(repr(other))


def consuming(**arguments):
    pair = opened()
    mine, theirs = pair.channel()
    request = mine.consume("q", **arguments)
    pair.pump()
    pair.take("client"), pair.take("server")
    return pair, mine, theirs, request.consumer


def test_deliveries_and_their_ends():
    pair, mine, theirs, consumer = consuming()
    assert consumer.tag == "made"
    for tag in range(1, 7):
        theirs.send(amqp.Basic.Deliver(consumer.tag, tag), None, b"%d" % tag)
    pair.pump()
    events = pair.take("client")
    assert [type(event) for event in events] == [Delivered] * 6
    assert all(event.consumer is consumer for event in events)
    assert [event.message.body for event in events] == [b"1", b"2", b"3", b"4", b"5", b"6"]
    mine.ack(2)
    mine.reject(1, requeue=False)
    mine.ack(4, multiple=True)
    mine.nack(0, multiple=True)
    pair.pump()
    assert pair.take("server") == [
        Acknowledged(theirs, (2,)),
        Rejected(theirs, (1,), False),
        Acknowledged(theirs, (3, 4)),
        Rejected(theirs, (5, 6), True),
    ]
    assert len(mine.deliveries) == len(theirs.deliveries) == 0


def test_no_ack_needs_none():
    pair, mine, theirs, consumer = consuming(no_ack=True)
    theirs.send(amqp.Basic.Deliver(consumer.tag, 1), None, b"x")
    pair.pump()
    assert len(pair.take("client")) == 1
    with pytest.raises(LocalProtocolError, match="unknown delivery tag 1"):
        mine.ack(1)


def test_get_and_empty():
    pair = opened(answer=False)
    mine, theirs = pair.channel()
    pair.take("client")
    mine.get("q")
    mine.get("q")
    mine.get("q", no_ack=True)
    pair.pump()
    first, second, third = list(theirs.received)
    first.respond(amqp.Basic.GetOk(1, message_count=2), amqp.Basic.Properties(), b"one")
    second.respond(amqp.Basic.GetEmpty())
    third.respond(amqp.Basic.GetOk(2), None, b"two")
    pair.pump()
    one, two, three = [event.reply for event in pair.take("client")]
    assert (one.body, one.method.message_count) == (b"one", 2)
    assert two == amqp.Basic.GetEmpty()
    assert three.body == b"two"
    mine.ack(1)
    with pytest.raises(LocalProtocolError):
        mine.ack(2)


def test_cancel_by_the_client():
    pair, mine, theirs, consumer = consuming()
    mine.cancel(consumer.tag)
    assert not consumer.active
    # What is under way still comes.
    theirs.send(amqp.Basic.Deliver(consumer.tag, 1), None, b"late")
    pair.pump()
    assert names(pair.take("client")) == ["Delivered", "Replied"]
    assert not mine.consumers
    assert not theirs.consumers
    with pytest.raises(LocalProtocolError, match="no consumer"):
        mine.cancel(consumer.tag)
    mine.ack(1)


def test_cancel_without_a_reply_ends_with_a_request_after_the_next_reply():
    pair, mine, theirs, consumer = consuming()
    theirs.send(amqp.Basic.Deliver(consumer.tag, 1), None, b"under way")
    before = mine.qos()
    mine.cancel(consumer.tag, no_wait=True)
    after = mine.qos()
    pair.server.receive_data(pair.client.data_to_send())
    assert not theirs.consumers
    with pytest.raises(LocalProtocolError, match="no consumer"):
        theirs.send(amqp.Basic.Deliver(consumer.tag, 2))
    first, second = list(theirs.received)
    first.respond(amqp.Basic.QosOk())
    pair.pump()
    assert before.done
    assert names(pair.take("client")) == ["Delivered", "Replied"]
    assert mine.consumers == {consumer.tag: consumer}
    second.respond(amqp.Basic.QosOk())
    pair.pump()
    assert after.done
    # RabbitMQ may have answered that before it sent what the queue gave it.
    assert mine.consumers == {consumer.tag: consumer}
    assert mine.qos() is not None
    pair.pump()
    assert mine.consumers == {}


def late_replies(*methods):
    """A client, its channel, and the requests that these methods make; no reply comes by itself."""
    pair = opened()
    mine, _theirs = pair.channel()
    requests = [mine.send(method) for method in methods]
    pair.server.receive_data(pair.client.data_to_send())
    return pair.client, mine, requests


def test_replies_to_later_requests_overtake_consume_ok_and_cancel_ok():
    # RabbitMQ: its queues answer these by way of the channel.
    client, mine, requests = late_replies(
        amqp.Basic.Consume(queue="q"), amqp.Queue.Declare("q"), amqp.Basic.Get("q", no_ack=True)
    )
    consume, declare, get = requests
    events = client.receive_data(amqp.encode(1, amqp.Queue.DeclareOk("q")))
    assert [event.request for event in events] == [declare]
    events = client.receive_data(amqp.encode_message(1, amqp.Basic.GetOk(1), None, b"x"))
    assert [event.request for event in events] == [get]
    assert list(mine.sent) == [consume]
    client.receive_data(amqp.encode(1, amqp.Basic.ConsumeOk("named")))
    assert consume.consumer.tag == "named"
    cancel, declare = mine.cancel("named"), mine.declare_queue("q")
    events = client.receive_data(amqp.encode(1, amqp.Queue.DeclareOk("q")))
    assert [event.request for event in events] == [declare]
    assert mine.consumers
    client.receive_data(amqp.encode(1, amqp.Basic.CancelOk("named")))
    assert cancel.done
    assert not mine.consumers


@pytest.mark.parametrize(
    ("methods", "reply"),
    [
        ([amqp.Basic.Qos(), amqp.Queue.Declare("q")], amqp.Queue.DeclareOk("q")),
        ([amqp.Basic.Consume("q", "c"), amqp.Basic.Cancel("c")], amqp.Basic.CancelOk("c")),
        ([amqp.Basic.Consume("q", "c"), amqp.Basic.Qos()], amqp.Tx.SelectOk()),
    ],
)
def test_other_replies_keep_their_order(methods, reply):
    client, *_ = late_replies(*methods)
    with pytest.raises(RemoteProtocolError) as caught:
        client.receive_data(amqp.encode(1, reply))
    assert caught.value.reply_code == 503


@pytest.mark.parametrize("no_wait", [True, False])
def test_cancel_by_the_server(no_wait):
    pair, _mine, theirs, consumer = consuming()
    theirs.cancel(consumer.tag, no_wait=no_wait)
    pair.pump()
    assert pair.take("client") == [ConsumerCancelled(consumer)]
    assert not consumer.active
    assert names(pair.take("server")) == ([] if no_wait else ["Replied"])
    with pytest.raises(LocalProtocolError, match="no consumer"):
        theirs.send(amqp.Basic.Deliver(consumer.tag, 1))


def test_cancel_by_both_at_once():
    pair, mine, theirs, consumer = consuming()
    mine.cancel(consumer.tag)
    theirs.cancel(consumer.tag, no_wait=True)
    pair.pump()
    assert names(pair.take("client")) == ["Replied"]
    assert not mine.consumers


def test_recover_voids_the_tags():
    pair, mine, theirs, consumer = consuming()
    theirs.send(amqp.Basic.Deliver(consumer.tag, 1), None, b"x")
    pair.pump()
    mine.recover()
    pair.pump()
    mine.ack(1)  # what recover gave back is over
    assert pair.client.bytes_to_send == 0
    with pytest.raises(LocalProtocolError):
        mine.ack(2)
    theirs.send(amqp.Basic.Deliver(consumer.tag, 2, redelivered=True), None, b"x")
    pair.pump()
    mine.send(amqp.Basic.RecoverAsync())
    pair.pump()
    assert isinstance(pair.take("server")[-1], MethodReceived)
    assert not theirs.deliveries


def test_transactions():
    pair, mine, theirs, consumer = consuming()
    for name in ("commit_tx", "rollback_tx"):
        with pytest.raises(LocalProtocolError, match="not transactional"):
            getattr(mine, name)()
    mine.select_tx()
    for tag in (1, 2):
        theirs.send(amqp.Basic.Deliver(consumer.tag, tag), None, b"x")
    pair.pump()
    mine.ack(1)
    with pytest.raises(LocalProtocolError):
        mine.ack(1)
    mine.rollback_tx()
    mine.ack(1)
    mine.commit_tx()
    pair.pump()
    assert list(mine.deliveries) == list(theirs.deliveries) == [2]
    with pytest.raises(LocalProtocolError):
        mine.ack(1)


def test_flow_of_the_server():
    pair = opened()
    mine, theirs = pair.channel()
    pair.take("client")
    theirs.flow(False)
    pair.pump()
    assert pair.take("client") == [FlowChanged(mine, False)]
    with pytest.raises(LocalProtocolError, match="stopped the flow"):
        mine.publish("", "q")
    with pytest.raises(LocalProtocolError, match="stopped the flow"):
        mine.send(amqp.Basic.Publish())
    theirs.flow(True)
    pair.pump()
    mine.publish("", "q")


def test_blocked_and_unblocked():
    pair = opened()
    pair.server.send(amqp.Connection.Blocked("low on memory"))
    pair.pump()
    assert pair.take("client") == [Blocked("low on memory")]
    assert pair.client.blocked == "low on memory"
    pair.server.send(amqp.Connection.Unblocked())
    pair.pump()
    assert pair.take("client") == [Unblocked()]
    assert pair.client.blocked is None


def test_update_secret():
    pair = opened()
    request = pair.client.update_secret(b"token", "expired")
    pair.pump()
    (event,) = pair.take("client")
    assert event == Replied(None, request, amqp.Connection.UpdateSecretOk())
    (requested,) = pair.take("server")
    assert requested.request.method.new_secret == b"token"
    assert "token" not in repr(requested)
    assert repr(request).endswith(", channel=0)")


def test_channel_closed_by_the_client():
    pair = opened()
    mine, _theirs = pair.channel()
    mine.close()
    assert not mine.is_open
    assert 1 in pair.client.channels
    pair.pump()
    assert pair.take("client")[-1] == ChannelClosed(mine, 200, "REPLY_SUCCESS", None, "local")
    assert isinstance(pair.take("server")[-1], ChannelClosed)
    assert not pair.client.channels
    assert not pair.server.channels
    again, _ = pair.channel()
    assert again.number == 2


def test_channel_closed_for_a_request_that_failed():
    pair = opened(answer=False)
    mine, theirs = pair.channel()
    mine.confirm(no_wait=True)
    mine.publish("", "a")
    mine.publish("", "b")
    first = mine.declare_queue("a")
    second = mine.declare_queue("b", passive=True)
    third = mine.qos()
    pair.pump()
    theirs.ack(2)
    theirs.received[0].respond(amqp.Queue.DeclareOk("a"))
    theirs.close(404, "NOT_FOUND - no queue 'b'", amqp.Queue.Declare)
    pair.pump()
    assert pair.take("client")[1:] == [
        Acked(mine, (2,)),
        Replied(mine, first, amqp.Queue.DeclareOk("a")),
        RequestFailed(mine, second, 404, "NOT_FOUND - no queue 'b'", True),
        RequestFailed(mine, third, 404, "NOT_FOUND - no queue 'b'", False),
        ChannelClosed(mine, 404, "NOT_FOUND - no queue 'b'", "queue.declare", "remote", (1,)),
    ]
    assert second.error == (404, "NOT_FOUND - no queue 'b'")
    for _ in range(2):
        with pytest.raises(LocalProtocolError, match="channel 1 is closed: 404 NOT_FOUND"):
            mine.qos()
    pair.client.open_channel(1)


def test_channel_closed_by_both_at_once():
    pair = opened()
    mine, theirs = pair.channel()
    pair.take("client"), pair.take("server")
    mine.close()
    theirs.close(406, "PRECONDITION_FAILED")
    pair.pump()
    assert pair.take("client") == [ChannelClosed(mine, 406, "PRECONDITION_FAILED", None, "local")]
    assert len(pair.take("server")) == 1
    assert not pair.client.channels
    assert not pair.server.channels


def test_confirms_of_a_closing_channel_still_count():
    pair = opened(answer=False)
    mine, theirs = pair.channel()
    mine.confirm(no_wait=True)
    mine.publish("", "q")
    pair.pump()
    theirs.ack(1)
    mine.close()
    pair.pump()
    assert names(pair.take("client"))[-2:] == ["Acked", "ChannelClosed"]


def test_connection_closed_by_the_client():
    pair = opened()
    mine, _ = pair.channel()
    pair.take("client")
    pair.client.close()
    with pytest.raises(LocalProtocolError, match="closed: 200"):
        mine.qos()
    pair.pump()
    assert names(pair.take("client")) == ["ChannelClosed", "ConnectionClosed"]
    assert pair.client.closed
    assert pair.server.closed
    assert pair.client.receive_eof() == []


def test_connection_closed_by_the_server():
    pair = opened(answer=False)
    mine, _ = pair.channel()
    request = mine.qos()
    pair.pump()
    pair.take("client")
    pair.server.close(320, "CONNECTION_FORCED - bye")
    pair.pump()
    reason = (320, "CONNECTION_FORCED - bye")
    assert pair.take("client") == [
        RequestFailed(mine, request, *reason, False),
        ChannelClosed(mine, *reason, None, "remote"),
        ConnectionClosed(*reason, None, "remote", "opened"),
    ]
    for call in (mine.qos, pair.client.open_channel):
        with pytest.raises(LocalProtocolError, match="320 CONNECTION_FORCED - bye"):
            call()
    pair.client.close()
    assert pair.client.bytes_to_send == 0


def test_transport_lost_in_the_middle():
    pair = opened(answer=False)
    mine, _ = pair.channel()
    mine.confirm(no_wait=True)
    mine.publish("", "q")
    request = mine.qos()
    pair.take("client")
    assert names(pair.client.receive_eof()) == [
        "RequestFailed",
        "ChannelClosed",
        "ConnectionClosed",
    ]
    assert request.error[0] == 0
    assert pair.client.data_to_send() == b""
    assert pair.client.receive_eof() == []


def test_two_hundred_channels():
    pair = opened()
    channels = [pair.client.open_channel() for _ in range(200)]
    for channel in channels:
        channel.declare_queue(f"q{channel.number}")
    pair.pump()
    events = pair.take("client")
    assert sum(isinstance(event, ChannelOpened) for event in events) == 200
    assert [e.reply.queue for e in events if isinstance(e, Replied)] == [
        f"q{number}" for number in range(1, 201)
    ]


@pytest.mark.parametrize("protocol", ["0-9", "0-8"])
def test_older_versions_by_the_same_code(protocol):
    pair = opened(protocol)
    mine, theirs = pair.channel()
    pair.take("client")
    mine.declare_queue("q", no_wait=True)
    mine.declare_exchange("e")
    mine.consume("q", "t")
    mine.publish("e", "k", b"x" * 20000)
    ticket = mine.send(pair.amqp.Access.Request(realm="/data"))
    pair.pump()
    assert names(pair.take("client")) == ["Replied"] * 3
    assert ticket.done
    theirs.send(pair.amqp.Basic.Deliver(consumer_tag="t", delivery_tag=1), None, b"y")
    pair.pump()
    (event,) = pair.take("client")
    mine.ack(event.message.method.delivery_tag)
    for call in (mine.confirm, mine.recover, lambda: mine.bind_exchange("a", "b")):
        if call == mine.recover:
            assert call() is None  # without a reply before 0-9-1
            continue
        with pytest.raises(LocalProtocolError, match=f"AMQP {protocol} has no"):
            call()
    if protocol == "0-8":
        with pytest.raises(LocalProtocolError, match="no argument arguments"):
            mine.consume("q", "u", arguments={"x": 1})
    pair.pump()
    mine.close()
    pair.client.close()
    pair.pump()
    assert pair.server.closed


def test_ping_of_0_9():
    pair = opened("0-9")
    _mine, theirs = pair.channel()
    pair.take("client")
    theirs.send(pair.amqp.Channel.Ping())
    pair.pump()
    (requested,) = pair.take("client")
    requested.request.respond(pair.amqp.Channel.Ok())
    pair.pump()
    assert isinstance(pair.take("server")[-1], Replied)
