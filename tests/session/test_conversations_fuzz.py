"""Valid methods with likely and unlikely arguments in any order, from the model of each version.

Nothing but events or a RemoteProtocolError leaves `receive_data`, also where the caller answers all
that comes; confirms and acknowledgements name each number once; everything that was open ends once.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from amqpcodec import EncodeError, v0_8, v0_9
from amqpcodec import v0_9_1 as amqp
from amqpcodec.session import (
    Acked,
    Acknowledged,
    ChannelClosed,
    ChannelOpened,
    ConnectionClosed,
    LocalProtocolError,
    Nacked,
    Rejected,
    RemoteProtocolError,
    Replied,
    RequestFailed,
)
from tests.support.session_pair import opened

MODULES = {"0-9-1": amqp, "0-9": v0_9, "0-8": v0_8}
ROUNDS = 150

#: By the type of an argument's default: what a method may hold.
VALUES: dict[type, list[Any]] = {
    bool: [False, True],
    int: [0, 0, 1, 1, 2, 3, 5, 9],
    str: ["", "q", "t", "u", "t", "\udcff", "direct", "x" * 255],
    bytes: [b"", b"PLAIN", b"\0a\0b"],
    dict: [{}, {"k": 1}, {"capabilities": {"authentication_failure_close": True}}],
}


def method(module: Any, choose: random.Random, names: list[Any]) -> Any:
    kind = choose.choice(names)
    example = kind()
    values = {
        field: choose.choice(VALUES[type(getattr(example, field))])
        for field in kind.__match_args__
        if type(getattr(example, field)) in VALUES and choose.random() < 0.7
    }
    return kind(**values)


class Counted:
    """A session, careless handlers, and what it was told."""

    def __init__(self, session: Any, module: Any, choose: random.Random) -> None:
        self.session = session
        self.module = module
        self.choose = choose
        self.settled: set[Any] = set()
        self.ended: list[Any] = []
        self.channels: list[Any] = []
        self.over = 0

    def feed(self, data: bytes) -> None:
        try:
            events = self.session.receive_data(data)
        except RemoteProtocolError as error:
            events = error.events
            assert self.session.closed
        for event in events:
            self.hear(event)

    def hear(self, event: Any) -> None:
        match event:
            case Acked(channel, tags) | Nacked(channel, tags):
                self.settle(channel, "out", tags)
            case Acknowledged(channel, tags) | Rejected(channel, tags, _):
                if not channel.transactional:
                    self.settle(channel, "in", tags)
            case Replied(_, request, _) | RequestFailed(_, request, _, _, _):
                assert not any(request is one for one in self.ended)
                self.ended.append(request)
            case ChannelOpened(channel):
                self.channels.append(channel)
            case ChannelClosed(channel):
                self.channels = [one for one in self.channels if one is not channel]
            case ConnectionClosed():
                self.over += 1
        self.answer(event)

    def settle(self, channel: Any, way: str, tags: Any) -> None:
        for tag in tags:
            assert (id(channel), way, tag) not in self.settled
            self.settled.add((id(channel), way, tag))

    def answer(self, event: Any) -> None:
        choose, name = self.choose, type(event).__name__
        try:
            if name == "Requested" and event.request.expects_response and choose.random() < 0.8:
                reply = event.request.method.RESPONSES[0]
                values = {}
                if "consumer_tag" in reply.FIELDS:
                    values["consumer_tag"] = event.request.method.consumer_tag or "made"
                if "delivery_tag" in reply.FIELDS:
                    values["delivery_tag"] = event.channel.deliveries.last + 1
                event.request.respond(reply(**values))
            elif name == "Published" and event.tag is not None:
                event.channel.ack(event.tag, multiple=choose.random() < 0.3)
            elif name == "Delivered":
                tag = event.message.method.delivery_tag
                choose.choice([event.consumer.channel.ack, event.consumer.channel.reject])(tag)
            elif name == "ConsumerCancelled":
                event.consumer.channel.cancel(event.consumer.tag)
        except (LocalProtocolError, EncodeError):
            # The caller's own mistake, such as an ack of a no-ack delivery: refused, and no more.
            pass

    def act(self) -> None:
        """Work of the caller's own."""
        choose = self.choose
        channels = [one for one in self.session.channels.values() if one.is_open]
        if not channels:
            return
        channel = choose.choice(channels)
        try:
            if self.session.role == "client":
                choose.choice(
                    [
                        lambda: channel.publish("", "q", b"x" * choose.choice([0, 5, 9000])),
                        lambda: channel.consume("q", choose.choice(["", "t", "u"])),
                        lambda: channel.get("q"),
                        channel.confirm,
                        channel.select_tx,
                        channel.rollback_tx,
                        channel.commit_tx,
                        channel.recover,
                        lambda: channel.ack(0, multiple=True),
                        lambda: channel.declare_queue("q"),
                        channel.close,
                    ]
                )()
            else:
                basic = self.module.Basic
                tag = channel.deliveries.last + choose.choice([1, 1, 2, 1 << 40])
                choose.choice(
                    [
                        lambda: channel.send(basic.Deliver("t", tag), None, b"x"),
                        lambda: channel.send(basic.Return(), None, b""),
                        lambda: channel.cancel("t"),
                        lambda: channel.flow(False),
                        lambda: channel.close(404, "NOT_FOUND"),
                    ]
                )()
        except (LocalProtocolError, EncodeError):
            pass


@pytest.mark.parametrize("validate", [False, True])
@pytest.mark.parametrize("role", ["client", "server"])
@pytest.mark.parametrize("protocol", MODULES)
def test_conversations(protocol, role, validate):
    module = MODULES[protocol]
    peer = "server" if role == "client" else "client"
    names = [kind for kind in module.METHODS.values() if peer in kind.SENT_BY]
    names = [kind for kind in names if kind.NAME not in ("connection.close", "channel.close")] * 4
    names += [module.Connection.Close, module.Channel.Close]
    names += [module.Basic.Ack, module.Basic.Deliver, module.Basic.Publish, module.Tx.Rollback] * 9
    names = [kind for kind in names if peer in kind.SENT_BY]
    for seed in range(ROUNDS):
        choose = random.Random(f"{protocol}{role}{validate}{seed}")
        pair = opened(protocol, answer=False, **{role: {"validate": validate}})
        for _ in range(2):
            pair.channel()
        session = getattr(pair, role)
        session.data_to_send()
        counted = Counted(session, module, choose)
        counted.channels = list(session.channels.values())
        for _ in range(40):
            if choose.random() < 0.4:
                counted.act()
            data = b""
            for _ in range(choose.choice([1, 1, 3])):
                one = method(module, choose, names)
                number = choose.choice([1, 1, 1, 2, 0, 3])
                if type(one).CLASS_ID == module.Connection.CLASS_ID:
                    number = 0
                body = choose.choice([b"", b"body"])
                data += (
                    module.encode_message(max(number, 1), one, None, body, dialect="rabbitmq")
                    if one.HAS_CONTENT
                    else module.encode(number, one, dialect="rabbitmq")
                )
            counted.feed(data)
            if session.closed:
                break
        for event in session.receive_eof():
            counted.hear(event)
        assert session.closed
        assert counted.over == 1
        assert counted.channels == []
        assert session.receive_eof() == []
