"""AMQP 1.0: what a peer does wrong, and the condition that the specification assigns to it."""

from __future__ import annotations

from typing import Any

import pytest

from amqpcodec import v1_0 as amqp
from amqpcodec.session import LocalProtocolError, RemoteProtocolError, v1
from tests.support.session_v1_pair import Pair, Peer, attach, kinds

OPEN = (amqp.ProtocolHeader(0, 1, 0, 0), amqp.Open("peer"))
BEGIN = amqp.Begin(None, 0, 10, 10)
FRAMING = "amqp:connection:framing-error"
ILLEGAL = "amqp:illegal-state"
INVALID = "amqp:invalid-field"
DECODE = "amqp:decode-error"
LIMIT = "amqp:resource-limit-exceeded"


def frames(*bodies: Any, channel: int = 0) -> bytes:
    return b"".join(amqp.encode(channel, body, incomplete=True) for body in bodies)


CONNECTION_FAULTS = {
    "begin before open": (frames(OPEN[0], BEGIN), ILLEGAL),
    "second open": (frames(*OPEN, OPEN[1]), ILLEGAL),
    "second header": (frames(*OPEN, OPEN[0]), ILLEGAL),
    "sasl after its layer": (frames(*OPEN, amqp.SaslInit("PLAIN")), ILLEGAL),
    "max-frame-size of 511": (frames(OPEN[0], amqp.Open("x", max_frame_size=511)), INVALID),
    "open without container-id": (frames(OPEN[0], amqp.Open(None)), INVALID),
    "begin without window": (frames(*OPEN, amqp.Begin(None, 0)), INVALID),
    "channel in use": (frames(*OPEN, BEGIN, BEGIN), ILLEGAL),
    "channel above channel-max": (frames(*OPEN) + frames(BEGIN, channel=4), FRAMING),
    "answer to nothing": (frames(*OPEN, amqp.Begin(0, 0, 10, 10)), INVALID),
    "no session there": (frames(*OPEN, attach()), ILLEGAL),
    "end of no session": (frames(*OPEN, amqp.End()), ILLEGAL),
    "end twice": (frames(*OPEN, BEGIN, amqp.End(), amqp.End()), ILLEGAL),
    "handle above handle-max": (frames(*OPEN, BEGIN, attach(handle=4)), FRAMING),
    "frame above max-frame-size": (frames(*OPEN) + b"\x00\x01\x00\x00\x02\x00\x00\x00", FRAMING),
    "open above 512 bytes": (frames(OPEN[0]) + b"\0\0\x02\x01\x02\0\0\0", FRAMING),
    "frame of 7 bytes": (frames(*OPEN) + b"\0\0\0\x07\x02\0\0\0", FRAMING),
    "doff of 1": (frames(*OPEN) + b"\0\0\0\x08\x01\0\0\0", FRAMING),
    "frame type 2": (frames(*OPEN) + b"\0\0\0\x08\x02\x02\0\0", FRAMING),
    "unknown performative": (frames(*OPEN) + b"\0\0\0\x0c\x02\0\0\0\0\x53\x99\x45", DECODE),
    "cut value": (frames(*OPEN) + b"\0\0\0\x0c\x02\0\0\0\0\x53\x11\xc0", DECODE),
}


@pytest.mark.parametrize("name", CONNECTION_FAULTS)
@pytest.mark.parametrize("step", [1, 7, 10_000])
def test_faults_that_end_the_connection(name: str, step: int) -> None:
    data, condition = CONNECTION_FAULTS[name]
    limits = v1.Limits(sessions=4, links=4)
    peer = Peer(limits=limits, max_frame_size=4096)
    before: list[Any] = []
    with pytest.raises(RemoteProtocolError) as caught:
        [
            before.extend(peer.engine.receive_data(data[at : at + step]))
            for at in range(0, len(data), step)
        ]
    error = caught.value
    assert error.condition == condition
    assert isinstance(error.events[-1], v1.ConnectionClosed)
    assert error.events[-1].error.condition == condition
    sent = peer.take()
    assert type(sent[1]) is amqp.Open, "there is no close without an open"
    assert type(sent[-1]) is amqp.Close
    assert sent[-1].error.condition == condition
    assert peer.engine.closed
    for _ in range(2):
        with pytest.raises(RemoteProtocolError) as again:
            peer.engine.receive_data(data)
        assert (str(again.value), again.value.condition) == (str(error), condition)
        assert again.value.events == []
    with pytest.raises(LocalProtocolError):
        peer.engine.begin()
    assert peer.engine.receive_eof() == []
    assert peer.take() == []


def test_what_came_before_a_fault_is_told() -> None:
    peer = Peer()
    with pytest.raises(RemoteProtocolError) as caught:
        peer.give(*OPEN, BEGIN, attach(), BEGIN)
    assert kinds(caught.value.events) == [
        *(v1.ConnectionRequested, v1.SessionRequested, v1.LinkRequested),
        *(v1.LinkClosed, v1.SessionEnded, v1.ConnectionClosed),
    ]
    assert (caught.value.channel, caught.value.method) == (0, "begin")


def transfer(number: int | None = 0, tag: bytes | None = b"t", **more: Any) -> Any:
    payload = more.pop("payload", b"x")
    return amqp.Transfer(more.pop("handle", 0), number, tag, 0, payload=payload, **more)


def receiver(peer: Peer, credit: int = 10, **fields: Any) -> Any:
    link = peer.attached(**fields)
    link.flow(credit)
    peer.take()
    return link


SESSION_FAULTS = {
    "handle in use": ([attach("other")], "amqp:session:handle-in-use"),
    "transfer to no link": ([transfer(handle=3)], "amqp:session:unattached-handle"),
    "flow of no link": ([amqp.Flow(0, 9, 0, 9, 3)], "amqp:session:unattached-handle"),
    "detach of no link": ([amqp.Detach(3)], "amqp:session:unattached-handle"),
    "range that runs backward": ([amqp.Disposition(amqp.Role.SENDER, 5, 4)], INVALID),
    "sender without initial-delivery-count": (
        [attach("new", 1, initial_delivery_count=None)],
        INVALID,
    ),
    "delivery-id twice": ([transfer(0), transfer(0, b"u")], INVALID),
    "delivery-id that runs backward": ([transfer(5), transfer(4, b"u")], INVALID),
    "window exceeded": (
        [transfer(n, b"%d" % n) for n in range(5)],
        "amqp:session:window-violation",
    ),
    "too many unsettled": ([transfer(n, b"%d" % n) for n in range(4)], LIMIT),
}


@pytest.mark.parametrize("name", SESSION_FAULTS)
def test_faults_that_end_the_session(name: str) -> None:
    sent, condition = SESSION_FAULTS[name]
    window = 4 if "window" in name else 100
    peer = Peer(limits=v1.Limits(unsettled=3 if "unsettled" in name else 100))
    session = peer.mapped()
    link = receiver(peer, credit=100)
    session._incoming.size = session._incoming.left = window
    if window == 4:  # no flow opens it again before the fault
        session._incoming.size = 0
    events = peer.give(*sent)
    assert kinds(events)[-2:] == [v1.LinkClosed, v1.SessionEnded]
    ended = events[-1]
    assert (ended.session, ended.closed_by) == (session, "local")
    assert ended.error.condition == condition
    assert events[-2].link is link
    assert [frame for frame in peer.take() if not isinstance(frame, amqp.Flow)] == [
        amqp.End(ended.error)
    ]
    # Nothing is looked at until the peer's end; then the channel is free.
    assert peer.give(transfer(99), amqp.Detach(77)) == []
    with pytest.raises(LocalProtocolError):
        session.attach_sender("x", "y")
    assert peer.give(amqp.End()) == []
    assert peer.engine.sessions == []
    assert kinds(peer.give(BEGIN)) == [v1.SessionRequested]


LINK_FAULTS = {
    "no credit": ([transfer(n, b"%d" % n) for n in range(3)], "amqp:link:transfer-limit-exceeded"),
    "too large": ([transfer(payload=bytes(101))], "amqp:link:message-size-exceeded"),
    "too large in parts": (
        [transfer(payload=bytes(60), more=True), transfer(payload=bytes(60))],
        "amqp:link:message-size-exceeded",
    ),
    "no delivery-id": ([transfer(None)], INVALID),
    "no delivery-tag": ([transfer(0, None)], INVALID),
    "empty delivery-tag": ([transfer(0, b"")], INVALID),
    "delivery-tag of 33 bytes": ([transfer(0, bytes(33))], INVALID),
    "delivery-tag twice": ([transfer(0), transfer(1)], "amqp:not-allowed"),
    "two deliveries at once": ([transfer(0, more=True), transfer(1, b"u")], INVALID),
    "another tag": ([transfer(0, more=True), transfer(None, b"u")], INVALID),
    "another format": (
        [transfer(more=True), amqp.Transfer(0, message_format=1, payload=b"x")],
        INVALID,
    ),
    "unsettled again": (
        [transfer(more=True, settled=True), transfer(None, None, settled=False)],
        INVALID,
    ),
    "too many bytes in parts": ([transfer(more=True, payload=bytes(90))], LIMIT),
}


@pytest.mark.parametrize("name", LINK_FAULTS)
def test_faults_that_end_the_link(name: str) -> None:
    sent, condition = LINK_FAULTS[name]
    bound = 80 if name == "too many bytes in parts" else 1000
    peer = Peer(limits=v1.Limits(message_size=100, partial_bytes=bound))
    session = peer.mapped()
    link = receiver(peer, credit=2)
    *_, closed = peer.give(*sent)
    assert closed == v1.LinkClosed(link, True, closed.error, closed_by="local")
    assert closed.error.condition == condition
    assert peer.take() == [amqp.Detach(0, True, closed.error)]
    assert (session.state, link.state) == ("MAPPED", "DETACH_SENT")
    assert len(session._received) == 0
    assert peer.engine._partial_bytes == 0
    assert peer.give(amqp.Detach(0, True)) == []
    assert link.state == "DETACHED"
    assert kinds(peer.give(attach())) == [v1.LinkRequested], "handle and name are free again"


def test_a_receiver_that_sends() -> None:
    peer = Peer()
    link = peer.attached(sends=False)
    (closed,) = peer.give(transfer())
    assert (closed.link, closed.error.condition) == (link, "amqp:not-allowed")


def test_input_after_a_detach_with_error() -> None:
    peer = Peer()
    link = receiver(peer)
    link.detach("amqp:internal-error")
    *_, ended = peer.give(transfer())
    assert ended.error.condition == "amqp:session:errant-link"


def test_input_after_a_detach_with_error_can_be_passed_over() -> None:
    peer = Peer(limits=v1.Limits(after_detach="discard"))
    link = receiver(peer)
    link.detach("amqp:internal-error")
    assert peer.give(transfer(), amqp.Flow(0, 9, 0, 9, 0)) == []
    assert kinds(peer.give(amqp.Detach(0, True))) == [v1.LinkClosed]


def test_input_under_way_while_detaching() -> None:
    """Without an error nothing is wrong about it."""
    peer = Peer()
    link = receiver(peer)
    link.detach()
    assert peer.give(transfer(), amqp.Flow(0, 9, 0, 9, 0)) == []
    assert kinds(peer.give(amqp.Detach(0, True))) == [v1.LinkClosed]


def test_more_sessions_than_there_are_channels() -> None:
    """A peer that takes one channel, and begins two sessions."""
    peer = Peer().opened(channel_max=0)
    peer.mapped()
    with pytest.raises(RemoteProtocolError) as caught:
        peer.give(BEGIN, channel=1)
    assert caught.value.condition == LIMIT


def test_more_links_than_there_are_handles() -> None:
    peer = Peer()
    peer.mapped(handle_max=0)
    peer.attached()
    *_, ended = peer.give(attach("b", 1))
    assert ended.error.condition == LIMIT


def test_credit_once_given_counts() -> None:
    """What the sender sent before it knew of less credit is no fault."""
    peer = Peer()
    link = receiver(peer, credit=3)
    link.flow(0)
    events = peer.give(*(transfer(n, b"%d" % n) for n in range(3)))
    assert kinds(events) == [v1.DeliveryReceived] * 3
    (closed,) = peer.give(transfer(3, b"3"))
    assert closed.error.condition == "amqp:link:transfer-limit-exceeded"


def test_some_deliveries_without_credit_can_be_taken() -> None:
    peer = Peer(limits=v1.Limits(excess=2))
    receiver(peer, credit=1)
    events = peer.give(*(transfer(n, b"%d" % n) for n in range(4)))
    assert kinds(events) == [*[v1.DeliveryReceived] * 3, v1.LinkClosed]


def test_nothing_is_sent_by_a_mistake_of_the_caller() -> None:
    pair = Pair().opened()
    session = pair.session()
    sender, _ = pair.sender(session)
    for call in (
        lambda: sender.send(b"x", tag=bytes(40)),
        lambda: sender.accept(),
        lambda: session.accept(),
        lambda: pair.client.accept(),
        lambda: pair.client.authenticate(),
        lambda: pair.client.tls_established(),
        lambda: session.attach_sender("x" * 70_000, "y"),
        lambda: sender.send(b"x", state=amqp.TransactionalState(bytes(70_000))),
    ):
        with pytest.raises(LocalProtocolError):
            call()
    assert pair.client.data_to_send() == b""
    assert sender.credit == 1000
    delivery = sender.send(b"still alive")
    pair.pump()
    assert delivery.settled


def test_a_value_that_cannot_be_encoded_changes_nothing() -> None:
    from amqpcodec import EncodeError

    pair = Pair().opened()
    session = pair.session()
    for call in (
        lambda: session.attach_sender("x", "y", properties={"n": object()}),
        lambda: pair.client.begin(properties={"n": object()}),
        lambda: pair.client.close(amqp.Error("x", info={"n": object()})),
    ):
        with pytest.raises((EncodeError, TypeError)):
            call()
    assert pair.client.data_to_send() == b""
    assert session.links == []
    assert pair.client.sessions == [session]
    pair.sender(session)
