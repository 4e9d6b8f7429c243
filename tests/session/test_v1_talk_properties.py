"""AMQP 1.0: two engines under random calls, interleaving and cuts; and an engine fed anything."""

from __future__ import annotations

import contextlib
import random
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqpcodec import v1_0 as amqp
from amqpcodec.session import LocalProtocolError, RemoteProtocolError, v1
from tests.support.session_v1_pair import Peer, attach

LIMITS = v1.Limits(sessions=4, links=6, incoming_window=5)
STEPS = 150


class End:
    """One of the two: its engine, what it was told, and what it sent."""

    def __init__(self, role: Any, rng: random.Random) -> None:
        self.rng = rng
        self.engine: Any = v1.Connection(
            role, limits=LIMITS, max_frame_size=rng.choice((512, 600, 4096))
        )
        self.pipe = bytearray()  # what it said and nobody has read yet
        self.names = 0
        self.open: list[Any] = []  # deliveries begun and not complete
        self.came: list[Any] = []  # deliveries to decide
        self.requests: list[Any] = []
        self.begun: list[Any] = []
        #: Name of the link -> payloads, in order.
        self.attached: dict[Any, int] = defaultdict(int)
        self.sent: dict[str, list[bytes]] = defaultdict(list)
        self.received: dict[str, list[bytes]] = defaultdict(list)
        self.aborted: dict[str, int] = defaultdict(int)
        self.told_aborted: dict[str, int] = defaultdict(int)
        self.decided: dict[tuple[str, bytes], Any] = {}
        self.reported_outcomes: dict[tuple[str, bytes], Any] = {}
        self.ends: list[Any] = []

    # --- what it is told

    def read(self, data: bytes) -> None:
        for event in self.engine.receive_data(data):
            assert not self.ends or not isinstance(self.ends[-1], v1.ConnectionClosed)
            match event:
                case v1.DeliveryReceived(link, delivery):
                    self.received[link.name].append(delivery.payload)
                    self.came += [] if delivery.settled else [delivery]
                case v1.DeliveryAborted(link, _, _):
                    self.told_aborted[link.name] += 1
                case v1.DeliveryUpdated(link, delivery, state, settled):
                    if isinstance(delivery, v1.OutgoingDelivery):
                        assert (link.name, delivery.tag) not in self.reported_outcomes, "told twice"
                        self.reported_outcomes[link.name, delivery.tag] = (state, settled)
                        if not settled:
                            with contextlib.suppress(LocalProtocolError):  # the link is gone
                                delivery.settle()
                case v1.ConnectionRequested() | v1.SessionRequested() | v1.LinkRequested():
                    self.requests.append(event)
                case v1.LinkClosed(_, _, error, _) | v1.SessionEnded(_, error, _):
                    assert error is None, error
                    self.ends.append(event)
                case v1.ConnectionClosed(error):
                    assert error is None, error
                    self.ends.append(event)

    # --- what it does

    def links(self, kind: type) -> list[Any]:
        sessions = self.engine.sessions
        return [link for session in sessions for link in session.links if isinstance(link, kind)]

    def act(self) -> None:
        """Something at random; what is not possible now changes nothing."""
        actions = (
            *(self.answer, self.answer, self.begin, self.attach, self.credit, self.credit),
            *(self.send, self.send, self.send, self.part, self.part, self.decide, self.decide),
            *(self.drain, self.detach, self.end, self.echo),
        )
        before = self.engine.bytes_to_send
        try:
            self.rng.choice(actions)()
        except LocalProtocolError:
            assert self.engine.bytes_to_send == before

    def answer(self) -> None:
        if not self.requests:
            return
        event = self.requests.pop(0)
        match event:
            case v1.ConnectionRequested():
                self.engine.accept()
            case v1.SessionRequested(session):
                session.accept()
            case v1.LinkRequested(link):
                link.accept()

    def begin(self) -> None:
        # Each end takes half of the channels and handles: both may ask at the same time.
        if len(self.begun) < 2:
            self.begun.append(self.engine.begin())

    def attach(self) -> None:
        if self.engine.sessions:
            session = self.rng.choice(self.engine.sessions)
            self.names += 1
            if self.attached[session] >= 3:
                return
            self.attached[session] += 1
            name = f"{self.engine.role}-{self.names}"
            if self.rng.random() < 0.5:
                session.attach_sender(name, "q")
            else:
                mode = self.rng.choice(list(amqp.ReceiverSettleMode))
                session.attach_receiver(name, "q", rcv_settle_mode=mode)

    def credit(self) -> None:
        if links := self.links(v1.Receiver):
            self.rng.choice(links).flow(self.rng.randrange(6), drain=self.rng.random() < 0.2)

    def drain(self) -> None:
        if links := [link for link in self.links(v1.Sender) if link.drain]:
            self.rng.choice(links).drained()

    def send(self) -> None:
        if links := self.links(v1.Sender):
            link = self.rng.choice(links)
            body = self.rng.randbytes(self.rng.choice((0, 1, 30, 450, 700, 3000)))
            link.send(body, settled=self.rng.random() < 0.3)
            self.sent[link.name].append(body)

    def part(self) -> None:
        if self.open and self.rng.random() < 0.7:
            delivery, body = self.open.pop(self.rng.randrange(len(self.open)))
            if self.rng.random() < 0.2:
                delivery.abort()
                self.aborted[delivery.link.name] += 1
                return
            data, more = self.rng.randbytes(self.rng.randrange(900)), self.rng.random() < 0.6
            delivery.write(data, more=more)
            body += data
            if more:
                self.open.append((delivery, body))
            else:
                self.sent[delivery.link.name].append(bytes(body))
        elif links := self.links(v1.Sender):
            delivery = self.rng.choice(links).begin_delivery()
            self.open.append((delivery, bytearray()))

    def decide(self) -> None:
        if not self.came:
            return
        delivery = self.came.pop(self.rng.randrange(len(self.came)))
        outcome = self.rng.choice((delivery.accept, delivery.reject, delivery.release))
        before = self.engine.bytes_to_send
        outcome()
        if self.engine.bytes_to_send > before:  # else the link is over, or the peer has settled
            self.decided[delivery.link.name, delivery.tag] = (delivery.state, delivery.settled)

    def detach(self) -> None:
        if self.rng.random() < 0.15 and (links := self.links(v1.Link)):
            self.rng.choice(links).detach(closed=self.rng.random() < 0.5)

    def end(self) -> None:
        if self.rng.random() < 0.05 and self.engine.sessions:
            self.rng.choice(self.engine.sessions).end()

    def echo(self) -> None:
        if self.engine.sessions:
            self.rng.choice(self.engine.sessions).flow(echo=True)


def converse(rng: random.Random) -> tuple[End, End]:
    """Random calls, random cuts; at the end all that was said is read."""
    client, server = End("client", rng), End("server", rng)
    for _ in range(STEPS):
        rng.choice((client, server)).act()
        speaker, hearer = rng.choice(((client, server), (server, client)))
        speaker.pipe += speaker.engine.data_to_send()
        if speaker.pipe and rng.random() < 0.8:
            count = rng.choice((1, 7, 60, 2000))
            hearer.read(bytes(speaker.pipe[:count]))
            del speaker.pipe[:count]
    settle_down(client, server)
    return client, server


def settle_down(client: End, server: End) -> None:
    while True:
        quiet = True
        for speaker, hearer in ((client, server), (server, client)):
            speaker.pipe += speaker.engine.data_to_send()
            if speaker.pipe:
                quiet = False
                hearer.read(bytes(speaker.pipe))
                speaker.pipe.clear()
            while hearer.requests:
                with contextlib.suppress(LocalProtocolError):
                    hearer.answer()
        if quiet:
            return


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_two_engines_understand_each_other(seed: int) -> None:
    client, server = converse(random.Random(seed))
    for one, other in ((client, server), (server, client)):
        closed = {event.link.name for event in (*one.ends, *other.ends) if hasattr(event, "link")}
        blocked = {
            link.name for link in one.links(v1.Sender) if link._queued or link.session.bytes_waiting
        }
        for name, sent in one.sent.items():
            got = other.received[name]
            assert got == sent[: len(got)], "in order, and nothing twice"
            if name not in closed | blocked:
                assert got == sent
        for name, count in other.told_aborted.items():
            assert count <= one.aborted[name]
        for key, outcome in one.reported_outcomes.items():
            assert other.decided[key] == outcome
        for key, outcome in other.decided.items():
            if key[0] not in closed:
                assert one.reported_outcomes[key] == outcome
        # Credit is the same at both ends, where nothing waits.
        for link in one.links(v1.Sender):
            if link.name in closed | blocked or link.state != "ATTACHED":
                continue
            peer = next(
                other_link
                for other_link in other.links(v1.Receiver)
                if other_link.name == link.name
            )
            begun = link._open_delivery is not None and not link._open_delivery._started
            assert peer.delivery_count == link.delivery_count
            assert peer.link_credit == link.link_credit, begun
    client.engine.close()
    settle_down(client, server)
    assert client.engine.closed
    assert server.engine.closed
    assert client.engine._partial_bytes == server.engine._partial_bytes == 0


def test_the_talk_is_about_something() -> None:
    """Many links, deliveries and outcomes really come about in it."""
    counts = defaultdict(int)
    for seed in range(200):
        for end in converse(random.Random(seed)):
            counts["deliveries"] += sum(map(len, end.received.values()))
            counts["outcomes"] += len(end.reported_outcomes)
            counts["aborted"] += sum(end.told_aborted.values())
            counts["ends"] += len(end.ends)
    assert counts["deliveries"] > 100, counts
    assert counts["outcomes"] > 30, counts
    assert counts["aborted"] > 3, counts
    assert counts["ends"] > 30, counts


# --- anything -------------------------------------------------------------------------------------

VALID = b"".join(
    amqp.encode(0, performative)
    for performative in (
        amqp.ProtocolHeader(0, 1, 0, 0),
        amqp.Open("peer", max_frame_size=4096),
        amqp.Begin(None, 0, 10, 10),
        attach("a", 0),
        attach("b", 1, sends=False),
        amqp.Attach("c", 2, amqp.Role.SENDER, target=amqp.Coordinator(), initial_delivery_count=0),
        amqp.Flow(0, 10, 0, 10, 1, delivery_count=0, link_credit=10),
        amqp.Transfer(0, 0, b"0", 0, more=True, payload=b"x" * 50),
        amqp.Transfer(0, payload=b"y"),
        amqp.Transfer(2, 1, b"1", 0, payload=amqp.Message(value=amqp.Declare()).encode()),
        amqp.Disposition(amqp.Role.RECEIVER, 0, 5, True, amqp.Accepted()),
        amqp.Disposition(amqp.Role.SENDER, 0, 5, True, amqp.Accepted()),
        amqp.Flow(0, 10, 0, 10, echo=True),
        amqp.Detach(0, True),
        amqp.End(),
        amqp.Close(),
    )
)
SASL = b"".join(
    amqp.encode(0, performative)
    for performative in (
        amqp.ProtocolHeader(3, 1, 0, 0),
        amqp.SaslMechanisms([amqp.Symbol("PLAIN"), amqp.Symbol("SCRAM-SHA-256")]),
        amqp.SaslInit("PLAIN", b"\0u\0p"),
        amqp.SaslChallenge(b"r=x,s=eA==,i=4096"),
        amqp.SaslOutcome(amqp.SaslCode.OK),
    )
)


def react(engine: Any, events: list[Any]) -> None:
    """A caller that goes along with everything."""
    for event in events:
        with contextlib.suppress(LocalProtocolError):
            match event:
                case v1.AuthenticationRequested():
                    engine.authenticate()
                case v1.ConnectionRequested():
                    engine.accept()
                case v1.SessionRequested(session):
                    session.accept()
                case v1.LinkRequested(link):
                    link.accept(unsettled={b"a": None, b"b": amqp.Received(0, 1), b"\0": None})
                    if isinstance(link, v1.Receiver):
                        link.flow(10)
                case v1.CreditChanged(link):
                    for tag in link.resumptions:
                        with contextlib.suppress(LocalProtocolError):
                            link.resume(tag, b"message")
                    link.send(b"x")
                case v1.DeliveryStarted(_, delivery):
                    delivery.update(delivery.received)
                case v1.DeliveryReceived(_, delivery) | v1.DeliveryUpdated(_, delivery):
                    delivery.settle()
                case v1.DeclareRequested(link, delivery):
                    link.declare(delivery, b"t")
                case v1.StartTls():
                    engine.tls_established()


def feed(engine: Any, data: bytes, step: int) -> None:
    """All of it; the only thing that may be raised is the peer's fault, and then for good."""
    for at in range(0, len(data), step):
        try:
            react(engine, engine.receive_data(data[at : at + step]))
        except RemoteProtocolError as error:
            fault = error
            break
    else:
        fault = None
    if fault is not None:
        assert fault.condition
        assert type(fault.events[-1]) is v1.ConnectionClosed
        assert engine.closed
        engine.data_to_send()
        with pytest.raises(RemoteProtocolError):
            engine.receive_data(b"x")
        return
    engine.data_to_send()
    engine.receive_eof()
    assert engine.closed


def engines() -> list[Any]:
    limits = v1.Limits(sessions=3, links=3, message_size=1000)
    scram = v1.SaslServer(("PLAIN", "SCRAM-SHA-256"), {"u": v1.ScramRecord.of("p")}.get)
    options = (
        ("server", {}),
        ("server", {"sasl": scram, "tls": True}),
        ("client", {}),
        ("client", {"sasl": v1.Plain("u", "p")}),
        ("client", {"sasl": v1.Anonymous(), "tls": True}),
    )
    return [v1.Connection(role, limits=limits, **more) for role, more in options]


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300), st.sampled_from([1, 5, 1000]))
def test_random_bytes(data: bytes, step: int) -> None:
    for start in (b"", amqp.PROTOCOL_HEADER, amqp.SASL_HEADER):
        for engine in engines():
            feed(engine, start + data, step)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_a_conversation_with_mistakes(data: st.DataObject) -> None:
    """What is nearly right reaches further than what is random."""
    talk = bytearray(SASL + VALID if data.draw(st.booleans()) else VALID)
    for _ in range(data.draw(st.integers(0, 4))):
        place = data.draw(st.integers(0, len(talk) - 1))
        match data.draw(st.sampled_from(["byte", "cut", "twice", "swap"])):
            case "byte":
                talk[place] = data.draw(st.integers(0, 255))
            case "cut":
                del talk[place : place + data.draw(st.integers(1, 30))]
            case "twice":
                talk[place:place] = talk[place : place + data.draw(st.integers(1, 60))]
            case "swap":
                other = data.draw(st.integers(0, len(talk) - 1))
                talk[place], talk[other] = talk[other], talk[place]
        if not talk:
            break
    step = data.draw(st.sampled_from([3, 64, 10_000]))
    for engine in engines():
        feed(engine, bytes(talk), step)


FRAMES = st.one_of(
    st.builds(
        attach,
        st.sampled_from("abc"),
        st.integers(0, 3),
        sends=st.booleans(),
        snd_settle_mode=st.sampled_from(amqp.SenderSettleMode),
        source=st.sampled_from([amqp.Source("q"), amqp.Source(dynamic=True), None]),
        unsettled=st.sampled_from(
            [None, {b"a": None, b"b": amqp.Received(0, 3)}, {b"a": amqp.Accepted(), b"\0": None}]
        ),
        incomplete_unsettled=st.sampled_from([None, True]),
    ),
    st.builds(amqp.Detach, st.integers(0, 3), st.booleans()),
    st.builds(
        amqp.Transfer,
        st.integers(0, 3),
        st.one_of(st.none(), st.integers(0, 4)),
        st.one_of(st.none(), st.binary(min_size=1, max_size=2)),
        st.just(0),
        st.booleans(),
        st.booleans(),
        resume=st.booleans(),
        aborted=st.booleans(),
        state=st.sampled_from(
            [
                None,
                amqp.TransactionalState(b"t"),
                amqp.Received(0, 0),
                amqp.Received(0, 2),
                amqp.Accepted(),
            ]
        ),
        payload=st.binary(max_size=20),
    ),
    st.builds(
        amqp.Flow,
        st.one_of(st.none(), st.integers(0, 2**32 - 1)),
        st.integers(0, 2**32 - 1),
        st.integers(0, 2**32 - 1),
        st.integers(0, 9),
        st.one_of(st.none(), st.integers(0, 3)),
        st.one_of(st.none(), st.integers(0, 2**32 - 1)),
        st.one_of(st.none(), st.integers(0, 2**32 - 1)),
        drain=st.booleans(),
        echo=st.booleans(),
    ),
    st.builds(
        amqp.Disposition,
        st.sampled_from(amqp.Role),
        st.integers(0, 5),
        st.one_of(st.none(), st.integers(0, 2**32 - 1)),
        st.booleans(),
        st.sampled_from([None, amqp.Accepted(), amqp.Declared(b"t"), amqp.Rejected()]),
    ),
    st.builds(amqp.Begin, st.none(), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)),
    st.just(amqp.End()),
)


@settings(max_examples=500, deadline=None)
@given(st.lists(st.tuples(FRAMES, st.sampled_from([0, 0, 0, 1])), max_size=25))
def test_frames_that_are_right_in_a_wrong_order(frames: list[tuple[Any, int]]) -> None:
    peer = Peer(limits=v1.Limits(sessions=3, links=4, incoming_window=6))
    peer.mapped()
    peer.attached()
    data = b"".join(amqp.encode(channel, frame) for frame, channel in frames)
    feed(peer.engine, data, 10_000)
