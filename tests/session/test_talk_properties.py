"""A client and a server that talk in any order, through a line that cuts anywhere.

The model knows what was said; at the end of each talk both ends must have been told all of it,
once and in order.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from amqpcodec import v0_9_1 as amqp
from amqpcodec.session import (
    Acked,
    Acknowledged,
    ChannelClosed,
    ChannelOpened,
    Delivered,
    Nacked,
    Published,
    Rejected,
    Replied,
    Requested,
    RequestFailed,
)
from amqpcodec.session._state import OPEN
from tests.support.session_pair import opened

BODIES = st.binary(max_size=40) | st.integers(4000, 9000).map(bytes)
SIZES = st.integers(1, 60) | st.integers(60, 20000)


class Talk(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.pair = opened(client={"frame_max": 4096}, answer=False)
        self.line = {"client": b"", "server": b""}
        self.published: dict[int, list[Any]] = {}
        self.heard: dict[int, list[Any]] = {}
        self.confirmed: dict[int, list[int]] = {}
        self.requests: list[Any] = []
        self.answered: list[Any] = []
        self.delivered: dict[int, list[bytes]] = {}
        self.received: dict[int, list[bytes]] = {}
        self.settled: dict[int, set[int]] = {}
        self.ended: list[Any] = []
        self.generation = 0

    # ---- the line ----

    @rule(size=SIZES)
    def client_to_server(self, size: int) -> None:
        self.line["client"] += self.pair.client.data_to_send()
        data, self.line["client"] = self.line["client"][:size], self.line["client"][size:]
        for event in self.pair.server.receive_data(data):
            self.on_server(event)

    @rule(size=SIZES)
    def server_to_client(self, size: int) -> None:
        self.line["server"] += self.pair.server.data_to_send()
        data, self.line["server"] = self.line["server"][:size], self.line["server"][size:]
        for event in self.pair.client.receive_data(data):
            self.on_client(event)

    def on_server(self, event: Any) -> None:
        match event:
            case ChannelOpened(channel):
                channel.context = self.pair.client.channels[channel.number].context
            case Published(channel, message, tag):
                self.heard.setdefault(channel.context, []).append((tag, message.body))
            case Requested(_, request):
                self.answered.append(request.method)
            case Acknowledged(channel, tags) | Rejected(channel, tags, _):
                settled = self.settled.setdefault(channel.context, set())
                assert not settled & set(tags)
                settled.update(tags)

    def on_client(self, event: Any) -> None:
        match event:
            case Acked(channel, tags) | Nacked(channel, tags):
                confirmed = self.confirmed.setdefault(channel.context, [])
                assert not set(confirmed) & set(tags)
                confirmed += tags
            case Replied(_, request, _) | RequestFailed(_, request, _, _, _):
                assert request not in self.ended
                self.ended.append(request)
            case Delivered(consumer, message):
                self.received.setdefault(consumer.channel.context, []).append(message.body)
            case ChannelClosed(channel, 200, unconfirmed=unconfirmed):
                confirmed = self.confirmed.get(channel.context, [])
                numbers = sorted([*unconfirmed, *confirmed])
                assert numbers == list(range(1, channel.publications.last + 1))

    # ---- the client ----

    def open_channels(self, side: str) -> list[Any]:
        session = getattr(self.pair, side)
        return [
            one for one in session.channels.values() if one._state.phase == OPEN and one.is_open
        ]

    @precondition(lambda self: len(self.pair.client.channels) < 3)
    @rule(confirms=st.booleans())
    def open_channel(self, confirms: bool) -> None:
        channel = self.pair.client.open_channel()
        self.generation += 1
        channel.context = self.generation
        if confirms:
            self.ask(channel.confirm())

    def ask(self, request: Any) -> None:
        if request is not None:
            self.requests.append(request)

    @precondition(lambda self: self.open_channels("client"))
    @rule(data=st.data(), body=BODIES)
    def publish(self, data: Any, body: bytes) -> None:
        channel = data.draw(st.sampled_from(self.open_channels("client")))
        tag = channel.publish("", "q", body)
        self.published.setdefault(channel.context, []).append((tag, body))

    @precondition(lambda self: self.open_channels("client"))
    @rule(data=st.data(), what=st.sampled_from(["consume", "get", "qos", "declare_queue"]))
    def request(self, data: Any, what: str) -> None:
        channel = data.draw(st.sampled_from(self.open_channels("client")))
        self.ask(getattr(channel, what)(*(() if what == "qos" else ("q",))))

    @precondition(lambda self: any(one.deliveries for one in self.open_channels("client")))
    @rule(data=st.data(), multiple=st.booleans(), refuse=st.booleans())
    def settle(self, data: Any, multiple: bool, refuse: bool) -> None:
        channels = [one for one in self.open_channels("client") if one.deliveries]
        channel = data.draw(st.sampled_from(channels))
        tag = data.draw(st.sampled_from(list(channel.deliveries)))
        (channel.nack if refuse else channel.ack)(tag, multiple=multiple)

    @precondition(lambda self: self.open_channels("client"))
    @rule(data=st.data())
    def close_channel(self, data: Any) -> None:
        data.draw(st.sampled_from(self.open_channels("client"))).close()

    # ---- the server ----

    @precondition(lambda self: any(one.received for one in self.open_channels("server")))
    @rule(data=st.data(), body=BODIES)
    def answer(self, data: Any, body: bytes) -> None:
        channels = [one for one in self.open_channels("server") if one.received]
        request = data.draw(st.sampled_from(channels)).received[0]
        if isinstance(request.method, amqp.Basic.Get):
            tag = request.channel.deliveries.last + 1
            request.respond(amqp.Basic.GetOk(tag), None, body)
        elif isinstance(request.method, amqp.Basic.Consume):
            name = f"c{len(request.channel.consumers)}"
            request.respond(amqp.Basic.ConsumeOk(name))
        else:
            request.respond(request.method.RESPONSES[0]())

    @precondition(lambda self: any(len(one.consumers) for one in self.open_channels("server")))
    @rule(data=st.data(), body=BODIES)
    def deliver(self, data: Any, body: bytes) -> None:
        channels = [one for one in self.open_channels("server") if one.consumers]
        channel = data.draw(st.sampled_from(channels))
        name = data.draw(st.sampled_from(sorted(channel.consumers)))
        if not name:
            return
        channel.send(amqp.Basic.Deliver(name, channel.deliveries.last + 1), None, body)
        self.delivered.setdefault(channel.context, []).append(body)

    @precondition(lambda self: any(one.publications for one in self.open_channels("server")))
    @rule(data=st.data(), multiple=st.booleans(), refuse=st.booleans())
    def confirm(self, data: Any, multiple: bool, refuse: bool) -> None:
        channels = [one for one in self.open_channels("server") if one.publications]
        channel = data.draw(st.sampled_from(channels))
        tag = data.draw(st.sampled_from(list(channel.publications)))
        (channel.nack if refuse else channel.ack)(tag, multiple=multiple)

    @precondition(lambda self: self.open_channels("server"))
    @rule(data=st.data())
    def close_for_cause(self, data: Any) -> None:
        channel = data.draw(st.sampled_from(self.open_channels("server")))
        channel.close(404, "NOT_FOUND", amqp.Queue.Declare)

    # ---- what holds ----

    @invariant()
    def told_in_order(self) -> None:
        for context, heard in getattr(self, "heard", {}).items():
            assert heard == self.published[context][: len(heard)]
        for context, bodies in getattr(self, "received", {}).items():
            assert bodies == self.delivered[context][: len(bodies)]

    def teardown(self) -> None:
        if not hasattr(self, "pair"):
            return
        self.pair.client.close()
        for _ in range(3):
            self.client_to_server(1 << 30)
            self.server_to_client(1 << 30)
        assert self.pair.client.closed
        assert self.pair.server.closed
        self.told_in_order()
        assert sorted(map(id, self.ended)) == sorted(map(id, self.requests))
        assert all(request.done for request in self.requests)


TestTalk = Talk.TestCase
