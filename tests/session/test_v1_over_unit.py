"""AMQP 1.0: answers to what is over do nothing; what an event says was true at its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from amqpcodec import v1_0 as amqp
from amqpcodec.session import LocalProtocolError, RemoteProtocolError, v1
from tests.support.session_v1_pair import Pair, Peer, attach, kinds

RECEIVING, SENDING = 0, 1  # handles: the engine receives on one link and sends on the other

DETACHES = [amqp.Detach(RECEIVING, True), amqp.Detach(SENDING, True)]
#: How it ends: frames of the peer, or a call of the engine's owner.
ENDS: dict[str, Any] = {
    "the peer detaches": DETACHES,
    "the peer detaches, to attach again": [amqp.Detach(0, False), amqp.Detach(1, False)],
    "the peer ends the session": [amqp.End()],
    "the peer closes": [amqp.Close()],
    "the peer detaches and ends and closes": [*DETACHES, amqp.End(), amqp.Close()],
    "the transport ends": lambda engine: engine.receive_eof(),
    "the peer breaks a rule": [amqp.Open("twice")],
    "this end detaches": lambda engine: [
        any_link.detach() for any_link in engine.sessions[0].links
    ],
    "this end ends the session": lambda engine: engine.sessions[0].end(),
    "this end closes": lambda engine: engine.close(),
}


class Situation:
    """A server with a receiver and a sender, and what they had before the end."""

    def __init__(self, end: Any) -> None:
        peer = Peer()
        self.session = peer.mapped()
        self.engine = peer.engine
        self.receiver = peer.attached()
        self.receiver.flow(10)
        (event,) = peer.give(attach("out", SENDING, sends=False))
        self.sender = event.link
        self.sender.accept()
        credit = amqp.Flow(0, 100, 0, 100, SENDING, delivery_count=0, link_credit=10, drain=True)
        peer.give(credit)
        self.sent = self.sender.send(b"x")
        self.begun = self.sender.begin_delivery()
        self.begun.write(b"part")
        peer.take()
        transfers = [amqp.Transfer(RECEIVING, n, b"%d" % n, 0, payload=b"x") for n in range(2)]
        if callable(end):
            events = peer.give(*transfers)
            end(self.engine)
        else:
            try:
                events = peer.give(*transfers, *end)
            except RemoteProtocolError as error:
                events = list(error.events)
        self.one, self.other = (e.delivery for e in events if isinstance(e, v1.DeliveryReceived))
        peer.take()


ANSWERS: dict[str, Callable[[Situation], Any]] = {
    "accept": lambda s: s.one.accept(),
    "accept in a transaction": lambda s: s.one.accept(b"txn"),
    "reject": lambda s: s.one.reject("amqp:not-found", "text"),
    "release": lambda s: s.one.release(),
    "modify": lambda s: s.one.modify(delivery_failed=True),
    "update": lambda s: s.one.update(amqp.Received(0, 0)),
    "settle": lambda s: s.one.settle(),
    "settle several": lambda s: s.session.settle([s.one, s.other]),
    "give credit": lambda s: s.receiver.flow(10),
    "add credit": lambda s: s.receiver.add_credit(10),
    "drain": lambda s: s.receiver.flow(drain=True),
    "drained": lambda s: s.sender.drained(),
    "tell the sender's state": lambda s: s.sender.flow(available=1),
    "settle what was sent": lambda s: s.sent.settle(),
    "abort what was begun": lambda s: s.begun.abort(),
    "tell the windows": lambda s: s.session.flow(50),
    "accept the link": lambda s: s.receiver.accept() if s.receiver.state == "DETACHED" else None,
    "detach": lambda s: s.receiver.detach("amqp:not-allowed"),
    "end the session": lambda s: s.session.end("amqp:not-allowed"),
    "close": lambda s: s.engine.close("amqp:not-allowed"),
    "authenticate": lambda s: s.engine.authenticate() if s.engine.closed else None,
}
#: Answers about what is above a link's end.
ABOVE = {
    "tell the windows": ("session", "close", "transport", "rule"),
    "end the session": ("session", "close", "transport", "rule"),
    "close": ("close", "transport", "rule"),
}


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("end", ENDS)
def test_an_answer_to_what_is_over_does_nothing(end: str, answer: str) -> None:
    """Whoever ended it, in the read that brought the request or long before."""
    situation = Situation(ENDS[end])
    call = ANSWERS[answer]
    call(situation)
    call(situation)
    if any(word in end for word in ABOVE.get(answer, ("",))):
        assert situation.engine.data_to_send() == b""


@pytest.mark.parametrize("end", ENDS)
def test_new_work_on_what_is_over_is_refused(end: str) -> None:
    situation = Situation(ENDS[end])
    assert situation.sender.credit == situation.receiver.credit == 0
    for call in (
        lambda: situation.sender.send(b"x"),
        lambda: situation.sender.begin_delivery(),
        lambda: situation.begun.write(b"more"),
    ):
        with pytest.raises(LocalProtocolError):
            call()


def test_new_work_on_a_session_and_a_connection_that_are_over_is_refused() -> None:
    situation = Situation(ENDS["the peer closes"])
    with pytest.raises(LocalProtocolError, match="over"):
        situation.session.attach_sender("a", "b")
    with pytest.raises(LocalProtocolError, match="over"):
        situation.engine.begin()


def test_what_the_sender_settled_in_the_same_read_takes_no_answer() -> None:
    """Also what came settled: the guide's receiver accepts whatever comes."""
    peer = Peer()
    link = peer.attached()
    link.flow(10)
    peer.take()
    events = peer.give(
        amqp.Transfer(0, 0, b"0", 0, payload=b"x"),
        amqp.Disposition(amqp.Role.SENDER, 0, None, True, amqp.Released()),
        amqp.Transfer(0, 1, b"1", 0, settled=True, payload=b"x"),
    )
    received, updated, settled = events
    assert (received.settled, updated.settled, settled.settled) == (False, True, True)
    for event in events:
        event.delivery.accept()
        event.delivery.settle()
    link.session.settle([event.delivery for event in events])
    assert peer.take() == []


def test_what_this_end_settled_is_still_refused() -> None:
    """An answer twice is the caller's mistake, not the peer's end."""
    peer = Peer()
    link = peer.attached()
    link.flow(10)
    (event,) = peer.give(amqp.Transfer(0, 0, b"0", 0, payload=b"x"))
    event.delivery.accept()
    with pytest.raises(LocalProtocolError, match="settled"):
        event.delivery.release()


def test_an_outcome_of_a_link_that_was_detached_is_kept_for_its_resumption() -> None:
    situation = Situation(ENDS["the peer detaches, to attach again"])
    situation.one.accept()
    situation.one.release()  # the first outcome stands (Part 3 §3.4)
    situation.session.settle([situation.other], amqp.Rejected())
    accepted, rejected = amqp.Accepted(), amqp.Rejected()
    assert situation.receiver.unsettled_map == {b"0": accepted, b"1": rejected}


def test_requests_below_what_was_refused_take_any_answer() -> None:
    """A server that ends a session still meets the LinkRequested that came in the same read."""
    for refuse in (
        lambda _, session: session.end("amqp:not-allowed"),
        lambda engine, _: engine.close("amqp:not-allowed"),
    ):
        peer = Peer().opened()
        requests = peer.give(amqp.Begin(None, 0, 10, 10), attach("a"), attach("b", 1, sends=False))
        assert kinds(requests) == [v1.SessionRequested, v1.LinkRequested, v1.LinkRequested]
        refuse(peer.engine, requests[0].session)
        peer.take()
        requests[0].session.accept()
        for request in requests[1:]:
            request.link.accept()
            request.link.refuse("amqp:not-allowed")
        requests[1].link.flow(10)
        assert peer.take() == []


def test_a_login_whose_client_is_gone_can_be_decided() -> None:
    peer = Peer(sasl=v1.SaslServer(("PLAIN",)))
    with pytest.raises(RemoteProtocolError) as caught:
        peer.give(
            amqp.ProtocolHeader(3, 1, 0, 0), amqp.SaslInit("PLAIN", b"\0u\0p"), amqp.Open("early")
        )
    request, closed = caught.value.events
    assert kinds([request, closed]) == [v1.AuthenticationRequested, v1.ConnectionClosed]
    peer.engine.data_to_send()
    peer.engine.authenticate()
    peer.engine.authenticate(False)
    assert peer.engine.data_to_send() == b""


def test_a_transaction_of_a_controller_that_is_gone_is_not_declared() -> None:
    peer = Peer()
    peer.mapped()
    (event,) = peer.give(attach("tx", target=amqp.Coordinator()))
    event.link.accept()
    event.link.flow(10)
    peer.take()
    declare = amqp.Message(value=amqp.Declare()).encode()
    request, _ = peer.give(amqp.Transfer(0, 0, b"0", 0, payload=declare), amqp.Detach(0, True))
    request.link.declare(request.delivery, b"txn")
    request.link.discharge(request.delivery)
    assert peer.engine.transactions == set()


def test_a_transaction_whose_controller_is_over_can_be_rolled_back_not_committed() -> None:
    pair = Pair().opened()
    session = pair.session()
    link = session.attach_controller("tx")
    pair.pump()
    transaction = link.declare()
    pair.pump()
    pair.one(v1.TransactionDeclared)
    pair.server.close()
    pair.pump()
    transaction.rollback()
    with pytest.raises(LocalProtocolError):
        transaction.commit()


# --- values of events -----------------------------------------------------------------------------


def test_values_of_events_are_those_of_their_place() -> None:
    """Credit and the outcome of what was sent before come in one read."""
    peer = Peer()
    link = peer.attached(sends=False)
    credit = {"handle": 0, "incoming_window": 100, "next_outgoing_id": 0, "outgoing_window": 100}
    (event,) = peer.give(
        amqp.Flow(next_incoming_id=0, delivery_count=0, link_credit=2, drain=True, **credit)
    )
    assert (event.credit, event.unsettled, event.drain) == (2, 0, True)
    link.send(b"x")
    more, updated, less = peer.give(
        amqp.Flow(next_incoming_id=1, delivery_count=1, link_credit=5, **credit),
        amqp.Disposition(amqp.Role.RECEIVER, 0, None, True, amqp.Accepted()),
        amqp.Flow(next_incoming_id=1, delivery_count=1, link_credit=0, **credit),
    )
    assert (more.credit, more.unsettled, more.drain) == (5, 1, False)
    assert (updated.state, updated.settled) == (amqp.Accepted(), True)
    assert (less.credit, less.unsettled) == (0, 0)
    assert (link.credit, link.unsettled) == (0, {})


def test_values_of_a_delivery_are_those_of_its_place() -> None:
    peer = Peer()
    link = peer.attached()
    link.flow(3)
    flow = {"incoming_window": 100, "outgoing_window": 100, "handle": 0}
    events = peer.give(
        amqp.Transfer(0, 0, b"0", 0, state=amqp.TransactionalState(b"t"), payload=b"x"),
        amqp.Flow(0, next_outgoing_id=1, delivery_count=1, available=4, **flow),
    )
    assert kinds(events) == [v1.SenderFlow], "the transaction is not known"
    events = peer.give(
        amqp.Transfer(0, 1, b"1", 0, payload=b"x"),
        amqp.Flow(0, next_outgoing_id=2, delivery_count=2, available=4, **flow),
        amqp.Disposition(amqp.Role.SENDER, 1, None, True, amqp.Released()),
        amqp.Flow(0, next_outgoing_id=2, delivery_count=3, available=0, **flow),
    )
    received, first, updated, last = events
    assert (received.state, received.settled) == (None, False)
    assert (first.available, first.credit, first.drained) == (4, 1, 0)
    assert (updated.state, updated.settled) == (amqp.Released(), True)
    assert (last.available, last.credit, last.drained) == (0, 0, 1)


def test_a_drain_that_was_withdrawn_gives_no_credit_back() -> None:
    """An answer to the drain would take the credit that came after it."""
    peer = Peer()
    link = peer.attached(sends=False)
    flow = amqp.Flow(0, 100, 0, 100, 0, delivery_count=0, link_credit=2, drain=True)
    drain, _ = peer.give(flow, amqp.Flow(0, 100, 0, 100, 0, delivery_count=0, link_credit=10))
    assert drain.drain
    link.drained()
    assert (peer.take(), link.credit) == ([], 10)


def test_a_drain_that_deliveries_used_up_is_over() -> None:
    """§2.6.7: credit that is given afterwards does not ask for another drain."""
    peer = Peer()
    link = peer.attached()
    link.flow(2)
    link.flow(drain=True)
    assert link.drain
    peer.give(*(amqp.Transfer(0, n, b"%d" % n, 0, payload=b"x") for n in range(2)))
    assert (link.credit, link.drain) == (0, False)
    peer.take()
    link.add_credit(5)
    (frame,) = peer.take()
    assert (frame.link_credit, frame.drain) == (5, False)
