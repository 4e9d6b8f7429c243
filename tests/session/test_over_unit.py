"""Answers to what is over do nothing: the peer closed it with the same bytes."""

from __future__ import annotations

from typing import Any

import pytest

from amqpcodec import EncodeError
from amqpcodec import v0_9_1 as amqp
from amqpcodec.session import (
    ChannelClosed,
    ConnectionClosed,
    ConnectionOpened,
    LocalProtocolError,
    LoginRequested,
    OpenRequested,
    RemoteProtocolError,
    Requested,
)
from tests.support.session_pair import Pair, names, opened

CLOSES = {
    "channel by the peer": amqp.encode(1, amqp.Channel.Close(404, "NOT_FOUND")),
    "connection by the peer": amqp.encode(0, amqp.Connection.Close(320, "CONNECTION_FORCED")),
    "a fault of the peer": amqp.encode(1, amqp.Basic.Ack(77)),
    "the transport": None,
    "channel by this end": "channel",
    "connection by this end": "connection",
}


def end(side: Any, channel: Any, how: Any) -> None:
    """Let a channel end one way, and forget what was sent for it."""
    if how is None:
        side.receive_eof()
    elif how == "channel":
        channel.close()
    elif how == "connection":
        side.close()
    else:
        side.receive_data(how)
    side.data_to_send()


@pytest.fixture(params=CLOSES)
def how(request):
    return CLOSES[request.param]


def consuming() -> tuple[Any, Any, Any]:
    pair = opened(answer=False)
    mine, theirs = pair.channel()
    mine.consume("q", "t")
    pair.pump()
    theirs.received[0].respond(amqp.Basic.ConsumeOk("t"))
    for tag in (1, 2, 3):
        theirs.send(amqp.Basic.Deliver("t", tag), None, b"x")
    pair.pump()
    return pair, mine, theirs


CLIENT = {
    "ack": lambda channel: channel.ack(1),
    "ack of many": lambda channel: channel.ack(3, multiple=True),
    "ack of what never came": lambda channel: channel.ack(99),
    "nack": lambda channel: channel.nack(1, multiple=True),
    "reject": lambda channel: channel.reject(1),
    "cancel": lambda channel: channel.cancel("t"),
    "ack by send": lambda channel: channel.send(amqp.Basic.Ack(1)),
    "cancel by send": lambda channel: channel.send(amqp.Basic.Cancel("t")),
    "close": lambda channel: channel.close(),
    "close of the connection": lambda channel: (
        None if channel.connection.is_open else channel.connection.close()
    ),
}


@pytest.mark.parametrize("call", CLIENT)
def test_a_client(how, call):
    pair, mine, _ = consuming()
    end(pair.client, mine, how)
    for _ in range(2):
        assert CLIENT[call](mine) is None
    assert pair.client.bytes_to_send == 0


SERVER = {
    "ack": lambda channel, _: channel.ack(1),
    "nack": lambda channel, _: channel.nack(1),
    "return": lambda channel, _: channel.send(amqp.Basic.Return(312, "NO_ROUTE"), None, b"x"),
    "cancel": lambda channel, _: channel.cancel("t"),
    "respond": lambda _, request: request.respond(amqp.Queue.DeclareOk("q")),
    "respond wrongly": lambda _, request: request.respond(amqp.Queue.BindOk()),
    "respond by send": lambda channel, _: channel.send(amqp.Queue.DeclareOk("q")),
    "close": lambda channel, request: channel.close(404, "NOT_FOUND", request.method),
    "close of the connection": lambda channel, request: (
        None
        if channel.connection.is_open
        else channel.connection.close(503, "COMMAND_INVALID", request.method)
    ),
}


@pytest.mark.parametrize("call", SERVER)
def test_a_server(how, call):
    pair, mine, theirs = consuming()
    mine.confirm(no_wait=True)
    mine.publish("", "nowhere", b"x", mandatory=True)
    mine.declare_queue("q")
    pair.pump()
    request = pair.take("server")[-1].request
    end(pair.server, theirs, how)
    for _ in range(2):
        assert SERVER[call](theirs, request) is None
    assert pair.server.bytes_to_send == 0
    if how not in ("channel", "connection"):
        assert request.done
        assert request.response is None
        assert request.error == theirs.close_reason


def test_requests_and_messages_are_refused_still(how):
    """They are not answers: nobody would hear that they were lost."""
    pair, mine, theirs = consuming()
    end(pair.client, mine, how)
    for call in (
        lambda: mine.qos(),
        lambda: mine.publish("", "q"),
        lambda: mine.consume("q"),
        lambda: mine.recover(),
    ):
        with pytest.raises(LocalProtocolError, match="clos"):
            call()
    end(pair.server, theirs, how)
    with pytest.raises(LocalProtocolError, match="clos"):
        theirs.send(amqp.Basic.Deliver("t", 9), None, b"x")


def test_misuse_is_refused_still():
    pair, mine, theirs = consuming()
    request = mine.qos()
    pair.pump()
    server_request = pair.take("server")[-1].request
    server_request.respond(amqp.Basic.QosOk())
    with pytest.raises(LocalProtocolError, match="waits for no reply"):
        server_request.respond(amqp.Basic.QosOk())
    pair.pump()
    assert request.done
    mine.close()
    pair.pump()
    with pytest.raises(LocalProtocolError, match="waits for no reply"):
        server_request.respond(amqp.Basic.QosOk())
    with pytest.raises(LocalProtocolError, match="a client does not send"):
        mine.send(amqp.Queue.DeclareOk())
    with pytest.raises(LocalProtocolError, match="a server does not send"):
        theirs.send(amqp.Basic.Consume())


def test_a_consumer_that_the_server_cancelled():
    pair, mine, theirs = consuming()
    pair.take("client")
    theirs.cancel("t", no_wait=True)
    pair.pump()
    assert names(pair.take("client")) == ["ConsumerCancelled"]
    assert mine.cancel("t") is None
    assert pair.client.bytes_to_send == 0
    with pytest.raises(LocalProtocolError, match="no consumer 'other'"):
        mine.cancel("other")
    mine.consume("q", "t")
    pair.pump()
    assert mine.cancel("t") is not None


def test_names_of_cancelled_consumers_are_bounded():
    pair, mine, theirs = consuming()
    for number in range(300):
        mine.consume("q", f"c{number}")
        pair.pump()
        theirs.received[0].respond(amqp.Basic.ConsumeOk(f"c{number}"))
        theirs.cancel(f"c{number}", no_wait=True)
        pair.pump()
    assert len(mine._state.cancelled) == 256
    assert mine.cancel("c299") is None


@pytest.mark.parametrize("answered", [False, True])
def test_deliveries_that_recover_gives_back(answered):
    """They came before its reply: the server has given them back when it reads the ack."""
    pair, mine, theirs = consuming()
    mine.recover()
    mine.ack(2)
    theirs.send(amqp.Basic.Deliver("t", 4), None, b"on its way")
    pair.pump()
    if answered:
        theirs.received[0].respond(amqp.Basic.RecoverOk())
        pair.pump()
    mine.ack(4)
    mine.ack(4, multiple=True)
    assert pair.client.bytes_to_send == 0
    with pytest.raises(LocalProtocolError, match="unknown delivery tag 0"):
        mine.ack(0)


LOGIN = [
    lambda server: server.accept_login(),
    lambda server: server.refuse_login(),
    lambda server: server.challenge(b"?"),
]
OPEN = [
    lambda server: server.accept_open(),
    lambda server: server.refuse_open(530, "no"),
]


class Silent(Pair):
    """A server whose answers the test gives."""

    stop: Any = None

    def react(self, event):
        if not isinstance(event, self.stop):
            super().react(event)


@pytest.mark.parametrize("over", ["transport", "close", "fault"])
@pytest.mark.parametrize(
    ("stop", "call"),
    [*((LoginRequested, call) for call in LOGIN), *((OpenRequested, call) for call in OPEN)],
)
def test_a_handshake_that_is_over(over, stop, call):
    pair = Silent()
    pair.stop = stop
    pair.pump()
    if over == "transport":
        pair.server.receive_eof()
    elif over == "close":
        pair.server.receive_data(amqp.encode(0, amqp.Connection.Close(200, "bye")))
    else:
        with pytest.raises(Exception, match="does not send"):
            pair.server.receive_data(amqp.encode(0, amqp.Connection.Tune()))
    pair.server.data_to_send()
    assert call(pair.server) is None
    assert pair.server.bytes_to_send == 0
    assert pair.server.closed
    assert not pair.server.is_open


@pytest.mark.parametrize("call", [*LOGIN, *OPEN])
def test_a_handshake_whose_turn_it_is_not(call):
    pair = opened()
    with pytest.raises(LocalProtocolError, match="has not asked for"):
        call(pair.server)


def test_a_request_of_the_connection():
    pair = opened(answer=False)
    pair.client.update_secret(b"token")
    pair.pump()
    (event,) = pair.take("server")
    assert isinstance(event, Requested)
    pair.server.receive_eof()
    assert event.request.respond(amqp.Connection.UpdateSecretOk()) is None
    assert event.request.error is not None


# ---- every close at every place ----


class Careless(Pair):
    """Both ends answer all that comes, as the guide's tables say, and never look at a state."""

    def __init__(self, **options: Any) -> None:
        super().__init__(answer=False, **options)
        self.ended: list[tuple[str, Any]] = []

    def react(self, event):
        match type(event).__name__:
            case "LoginRequested":
                self.server.accept_login()
            case "OpenRequested":
                self.server.accept_open()
            case "Requested":
                request = event.request
                if isinstance(request.method, amqp.Queue.Bind):
                    event.channel.close(404, "NOT_FOUND - no exchange", request.method)
                elif request.expects_response:
                    self.reply(request)
            case "Published":
                if event.message.method.mandatory:
                    event.channel.send(amqp.Basic.Return(312, "NO_ROUTE"), None, b"x")
                if event.tag is not None:
                    event.channel.ack(event.tag)
            case "Acknowledged" | "Rejected" | "MethodReceived":
                pass

    def hear(self, event):
        match type(event).__name__:
            case "Delivered":
                event.consumer.channel.ack(event.message.method.delivery_tag)
            case "ConsumerCancelled":
                event.consumer.channel.cancel(event.consumer.tag)
            case "Replied" if event.reply == amqp.Basic.ConsumeOk("u"):
                event.channel.cancel("u", no_wait=True)


def conversation() -> tuple[bytes, bytes]:
    """What each end of a conversation sends, as long as nothing ends it."""
    pair = Careless()
    client, server = pair.client, pair.server
    sent = {"client": b"", "server": b""}

    def pump() -> None:
        while client.bytes_to_send or server.bytes_to_send:
            data = client.data_to_send()
            sent["client"] += data
            for event in server.receive_data(data):
                pair.react(event)
            data = server.data_to_send()
            sent["server"] += data
            for event in client.receive_data(data):
                pair.hear(event)

    pump()
    channel = client.open_channel()
    channel.declare_queue("q")
    channel.consume("q", "t")
    channel.qos(prefetch_count=3)
    pump()
    other = client.open_channel()
    other.confirm()
    other.publish("", "q", b"one")
    other.publish("", "nowhere", b"two", mandatory=True)
    pump()
    channel.consume("q", "u")
    pump()
    theirs = server.channels[1]
    for tag in (1, 2):
        theirs.send(amqp.Basic.Deliver("t", tag), None, b"delivered")
    pump()
    theirs.cancel("t", no_wait=True)
    channel.get("q")
    pump()
    other.bind_queue("q", "none")
    pump()
    channel.close()
    client.close()
    pump()
    return sent["client"], sent["server"]


SENT = dict(zip(("client", "server"), conversation(), strict=True))


def frame_ends(data: bytes) -> list[int]:
    """Where a protocol header or frame ends."""
    places, at = [], 0
    while result := amqp.decode(data, at):
        at += result[0]
        places.append(at)
    return places


PEER_CLOSES = [
    amqp.encode(0, amqp.Connection.Close(320, "CONNECTION_FORCED")),
    *(amqp.encode(number, amqp.Channel.Close(404, "NOT_FOUND")) for number in (1, 2)),
    amqp.encode(0, amqp.Basic.Qos()),
    b"HTTP/1.1 408 Timeout\r\n\r\n",
]


def play(role: str, data: bytes, tail: bytes, *, lose: bool) -> None:
    """One end reads what the other one said up to a place, and its end, in one read.

    Its own part of the conversation comes from its careless handlers, and a client's calls.
    """
    pair = Careless()
    session = getattr(pair, role)
    handle = pair.react if role == "server" else pair.hear
    ends = {"channels": [], "connections": 0}

    def act(events: list[Any]) -> None:
        for event in events:
            if isinstance(event, ConnectionOpened):
                channel, other = session.open_channel(), session.open_channel()
                channel.declare_queue("q")
                channel.consume("q", "t")
                channel.qos(prefetch_count=3)
                other.confirm()
                other.publish("", "q", b"one")
                other.publish("", "nowhere", b"two", mandatory=True)
                channel.consume("q", "u")
                channel.get("q")
                other.bind_queue("q", "none")
            elif isinstance(event, ChannelClosed):
                ends["channels"].append(event.channel)
            elif isinstance(event, ConnectionClosed):
                ends["connections"] += 1
            handle(event)

    def read(chunk: bytes) -> None:
        try:
            act(session.receive_data(chunk))
        except RemoteProtocolError as error:
            act(error.events)

    # A client opens channels once it may; what follows comes in one read.
    first = 0
    if role == "client":
        session.data_to_send()
        opening = frame_ends(data)[:3]
        first = opening[-1] if len(opening) == 3 else len(data)
        read(data[:first])
    read(data[first:] + tail)
    if lose:
        act(session.receive_eof())
        assert session.closed
        assert ends["connections"] == 1
    assert len(ends["channels"]) == len(set(map(id, ends["channels"])))
    session.data_to_send()


@pytest.mark.parametrize("tail", PEER_CLOSES, ids=["connection", "1", "2", "fault", "http"])
@pytest.mark.parametrize("role", ["client", "server"])
def test_each_close_after_each_frame(role, tail):
    data = SENT["server" if role == "client" else "client"]
    for end in frame_ends(data):
        play(role, data[:end], tail, lose=True)


@pytest.mark.parametrize("role", ["client", "server"])
def test_the_transport_is_cut_after_each_byte(role):
    data = SENT["server" if role == "client" else "client"]
    for end in range(len(data)):
        play(role, data[:end], b"", lose=True)


@pytest.mark.parametrize("size", [16383, 16384, 300_000])
def test_a_large_body_that_a_server_sends(size):
    """What cannot be sent is refused before its tag is noted."""
    pair, mine, theirs = consuming()
    pair.take("client")
    body = bytes(size)
    with pytest.raises(LocalProtocolError, match="used before"):
        theirs.send(amqp.Basic.Deliver("t", 3), None, body)
    with pytest.raises(EncodeError):
        theirs.send(amqp.Basic.Deliver("t", 4, False, "x" * 256), None, body)
    assert pair.server.bytes_to_send == 0
    theirs.send(amqp.Basic.Deliver("t", 4), None, body)
    assert pair.server.bytes_to_send > size
    assert theirs.deliveries.last == 4
    mine.get("q")
    pair.pump()
    with pytest.raises(LocalProtocolError, match="used before"):
        theirs.received[0].respond(amqp.Basic.GetOk(4), None, body)
    with pytest.raises(EncodeError):
        theirs.received[0].respond(amqp.Basic.GetOk(5, False, "x" * 256), None, body)
    theirs.received[0].respond(amqp.Basic.GetOk(5), None, body)
    pair.pump()
    delivered, replied = pair.take("client")
    assert delivered.message.body == replied.reply.body == body
    assert list(mine.deliveries) == [1, 2, 3, 4, 5]
