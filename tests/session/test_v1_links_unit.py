"""AMQP 1.0: sessions and links begin and end; credit, drain, transactions."""

from __future__ import annotations

from typing import Any

import pytest

from amqpcodec import v1_0 as amqp
from amqpcodec.session import LocalProtocolError, v1
from tests.support.session_v1_pair import CREDIT, Pair, Peer, accept_all, attach, kinds


def test_a_session_of_either_side() -> None:
    pair = Pair().opened()
    ours = pair.client.begin(properties={amqp.Symbol("x"): 1})
    pair.pump()
    assert pair.one(v1.SessionOpened).session is ours
    request = pair.one(v1.SessionRequested, server=True)
    assert request.begin.properties == {"x": 1}
    request.session.end("amqp:internal-error", "x")
    pair.pump()
    error = amqp.Error("amqp:internal-error", "x")
    assert pair.client_events == [v1.SessionEnded(ours, error, closed_by="remote")]
    assert pair.server_events == [v1.SessionEnded(request.session, error, closed_by="local")]
    assert pair.client.sessions == pair.server.sessions == []
    with pytest.raises(LocalProtocolError, match="UNMAPPED"):
        ours.attach_sender("a", "b")


def test_a_session_is_refused() -> None:
    pair = Pair(handler=lambda _: None).opened()
    session = pair.client.begin()
    pair.pump()
    request = pair.one(v1.SessionRequested, server=True)
    request.session.end("amqp:not-allowed")
    assert kinds(pair.pump()) == [v1.SessionOpened, v1.SessionEnded]
    assert pair.one(v1.SessionEnded).error.condition == "amqp:not-allowed"
    assert session.state == "UNMAPPED"


def test_what_is_attached_by_its_terminus() -> None:
    pair = Pair().opened()
    session = pair.session()
    sender, _ = pair.sender(session, properties={amqp.Symbol("p"): 1})
    request = pair.one(v1.LinkRequested, server=True)
    assert isinstance(request.link, v1.Receiver)
    assert request.attach.target == amqp.Target("queue")
    assert pair.one(v1.LinkOpened).link is sender
    receiver, served = pair.receiver(session)
    assert isinstance(served, v1.Sender)
    assert receiver.source == amqp.Source("queue")
    assert session.links == [sender, receiver]
    with pytest.raises(TypeError, match="no option wrong"):
        session.attach_sender("x", "y", wrong=1)
    with pytest.raises(LocalProtocolError, match="is attached"):
        session.attach_sender("to", "queue")


def test_a_link_is_refused() -> None:
    pair = Pair(handler=lambda e: e.session.accept() if hasattr(e, "begin") else None).opened()
    session = pair.session()
    for attach_one in (session.attach_sender, session.attach_receiver):
        link = attach_one("name", "q")
        pair.pump()
        pair.one(v1.LinkRequested, server=True).link.refuse("amqp:not-found", "no queue q")
        error = amqp.Error("amqp:not-found", "no queue q")
        assert pair.pump() == [v1.LinkClosed(link, True, error, closed_by="remote")]
        assert link.state == "DETACHED"
    assert session.links == []


@pytest.mark.parametrize("sends", [True, False])
def test_the_settle_mode_that_the_peer_chose(sends: bool) -> None:
    """Of the receiver rcv-settle-mode, of the sender snd-settle-mode (Part 2 §2.7.3)."""
    sender_modes, receiver_modes = amqp.SenderSettleMode, amqp.ReceiverSettleMode
    peer = Peer()
    session = peer.mapped()
    attach_one = session.attach_sender if sends else session.attach_receiver
    modes = {
        "snd_settle_mode": sender_modes.UNSETTLED,
        "rcv_settle_mode": receiver_modes.FIRST,
    }
    link = attach_one("link", "q", **modes)
    peer.take()
    chosen = {
        "snd_settle_mode": sender_modes.SETTLED,
        "rcv_settle_mode": receiver_modes.SECOND,
    }
    assert kinds(peer.give(attach(sends=not sends, **chosen))) == [v1.LinkOpened]
    mine, others = "snd_settle_mode", "rcv_settle_mode"
    if not sends:
        mine, others = others, mine
    assert getattr(link, mine) == modes[mine]
    assert getattr(link, others) == chosen[others]


def test_a_link_that_nobody_drains() -> None:
    pair = Pair().opened()
    for link in (*pair.sender(), *pair.receiver()):
        assert link.drain is False


def test_tags_of_a_sender_count_from_1() -> None:
    sender, _ = Pair().opened().sender()
    tags = [sender.send(b"x").tag for _ in range(3)]
    assert tags == [number.to_bytes(4, "big") for number in (1, 2, 3)]


@pytest.mark.parametrize("ahead", [0, 1, 5])
def test_a_peer_that_claims_transfers_which_were_never_sent(ahead: int) -> None:
    """It gets no larger window by it (Part 2 §2.5.6)."""
    peer = Peer()
    link = peer.attached(sends=False)
    peer.give(amqp.Flow(ahead, 2, 0, 100, 0, delivery_count=0, link_credit=9))
    assert link.session.window == 2


def test_a_link_that_ended_leaves_none_of_its_deliveries_in_the_session() -> None:
    pair = Pair(handler=lambda e: None if isinstance(e, v1.DeliveryReceived) else accept_all(e))
    session = pair.opened().session()
    ended, _ = pair.sender(session)
    other = session.attach_sender("other", "queue")
    pair.pump()
    ended.send(b"unsettled")
    kept = other.send(b"unsettled")
    pair.pump()
    ended.detach()
    pair.pump()
    assert list(session._sent.by_id.values()) == [kept]


@pytest.mark.parametrize("closed", [True, False])
def test_detach(closed: bool) -> None:
    pair = Pair().opened()
    link, remote = pair.sender()
    remote.detach("amqp:resource-deleted", "gone", closed=closed)
    pair.pump()
    error = amqp.Error("amqp:resource-deleted", "gone")
    assert pair.client_events == [v1.LinkClosed(link, closed, error, closed_by="remote")]
    assert pair.server_events == [v1.LinkClosed(remote, closed, error, closed_by="local")]
    with pytest.raises(LocalProtocolError, match="DETACHED"):
        link.send(b"x")
    again = link.session.attach_sender("to", "queue", unsettled={b"t": None})
    assert kinds(pair.pump()) == [v1.LinkOpened, v1.CreditChanged]
    assert again.handle == 0
    assert pair.one(v1.LinkRequested, server=True).attach.unsettled == {b"t": None}


def test_both_detach_at_once() -> None:
    pair = Pair().opened()
    link, remote = pair.sender()
    link.detach()
    remote.detach()
    pair.pump()
    assert pair.client_events == [v1.LinkClosed(link, True, None, closed_by="local")]
    assert pair.server_events == [v1.LinkClosed(remote, True, None, closed_by="local")]


def test_everything_at_once_before_anything_was_accepted() -> None:
    """A client that does not wait: what it took back is not there to be accepted any more."""
    peer = Peer()
    events = peer.give(
        amqp.ProtocolHeader(0, 1, 0, 0),
        amqp.Open("hasty"),
        amqp.Begin(None, 0, 10, 10),
        attach("a"),
        attach("b", 1, sends=False),
        amqp.Detach(0, True),
        amqp.End(),
        amqp.Close(),
    )
    opened, begun, first, second, *ends = events
    assert kinds(ends) == [v1.LinkClosed, v1.LinkClosed, v1.SessionEnded, v1.ConnectionClosed]
    peer.engine.accept()
    begun.session.accept()
    for event in (first, second):
        event.link.accept()
        event.link.refuse("amqp:not-allowed")
    sent = peer.take()
    assert [type(frame) for frame in sent] == [
        *(amqp.ProtocolHeader, amqp.Open, amqp.Begin, amqp.Attach, amqp.Detach, amqp.End),
        amqp.Close,
    ]
    assert isinstance(opened, v1.ConnectionRequested)


def test_order_of_accepting_is_held() -> None:
    peer = Peer()
    events = peer.give(
        amqp.ProtocolHeader(0, 1, 0, 0), amqp.Open("c"), amqp.Begin(None, 0, 10, 10), attach()
    )
    with pytest.raises(LocalProtocolError):
        events[2].link.accept()
    with pytest.raises(LocalProtocolError):
        events[1].session.accept()
    peer.engine.accept()
    with pytest.raises(LocalProtocolError):
        events[2].link.accept()
    events[1].session.accept()
    events[2].link.accept()
    for event in events[1:]:
        subject = getattr(event, "link", None) or event.session
        with pytest.raises(LocalProtocolError, match="waits to be accepted"):
            subject.accept()


def test_a_link_attached_anew_is_stolen_from_its_owner() -> None:
    pair = Pair().opened()
    _, old = pair.sender()
    peer_session = pair.client.begin()
    pair.pump()
    # By hand: the client's engine would not do so.
    pair.client._queue(peer_session.channel, attach("to", 0))
    pair.pump()
    closed = pair.one(v1.LinkClosed, server=True)
    assert (closed.link, closed.error.condition) == (old, "amqp:link:stolen")
    assert pair.one(v1.LinkRequested, server=True).link.state == "ATTACHED"


def test_credit() -> None:
    pair = Pair().opened()
    sender, remote = pair.sender()
    assert sender.credit == CREDIT
    remote.flow(2)
    pair.pump()
    assert pair.one(v1.CreditChanged).credit == sender.credit == 2
    for _ in range(2):
        sender.send(b"x", settled=True)
    with pytest.raises(LocalProtocolError, match="no credit"):
        sender.send(b"x")
    pair.pump()
    assert (remote.credit, remote.delivery_count, sender.delivery_count) == (0, 2, 2)
    remote.add_credit(1)
    remote.add_credit(1)
    pair.pump()
    assert sender.credit == 2


@pytest.mark.parametrize("credit", [-1, 1 << 31])
def test_credit_that_no_flow_can_name_is_refused(credit: int) -> None:
    pair = Pair().opened()
    receiver, _ = pair.receiver()
    receiver.flow(5)
    pair.pump()
    with pytest.raises(ValueError, match=f"^credit is 0 to .*, not {credit}$"):
        receiver.flow(credit)
    assert receiver.credit == 5
    assert pair.client.bytes_to_send == 0


def test_credit_and_deliveries_that_cross() -> None:
    """A flow that has not seen what is under way gives no credit for it twice."""
    pair = Pair().opened()
    sender, remote = pair.sender()
    remote.flow(10)
    pair.pump()
    for _ in range(4):
        sender.send(b"x", settled=True)
    remote.flow(10)  # in the server's eyes nothing has come
    pair.client.receive_data(pair.server.data_to_send())
    assert sender.credit == 6
    pair.pump()
    assert remote.credit == 6


def test_drain() -> None:
    pair = Pair().opened()
    sender, remote = pair.sender()
    remote.flow(10, drain=True)
    pair.pump()
    assert pair.one(v1.CreditChanged) == v1.CreditChanged(sender, 10, drain=True)
    sender.send(b"last", settled=True)
    sender.drained()
    pair.pump()
    assert kinds(pair.server_events) == [v1.DeliveryReceived, v1.SenderFlow]
    assert pair.one(v1.SenderFlow, server=True).drained == 9
    assert (sender.credit, remote.credit, remote.drain) == (0, 0, False)
    assert remote.delivery_count == sender.delivery_count == 10
    remote.flow(1)
    pair.pump()
    assert (sender.credit, sender.drain) == (1, False)


def test_echo_and_available() -> None:
    pair = Pair().opened()
    sender, remote = pair.sender()
    sender.flow(available=7, echo=True)
    pair.pump()
    assert pair.one(v1.SenderFlow, server=True).available == remote.available == 7
    assert kinds(pair.client_events) == [v1.CreditChanged]
    sender.session.flow(echo=True)
    assert kinds(pair.pump()) == [v1.SessionFlow]


def test_handles_are_bounded_by_both() -> None:
    pair = Pair({}, {"limits": v1.Limits(links=2)}).opened()
    session = pair.session()
    links = [session.attach_sender(name, "q") for name in "ab"]
    with pytest.raises(LocalProtocolError, match="all 2 handles"):
        session.attach_sender("c", "q")
    pair.pump()
    links[0].detach()
    pair.pump()
    assert session.attach_sender("c", "q").handle == 0


# --- transactions ---------------------------------------------------------------------------------


def controller(pair: Pair) -> tuple[Any, Any]:
    session = pair.session()
    link = session.attach_controller("tx", ["amqp:local-transactions"])
    pair.pump()
    coordinator = pair.one(v1.LinkRequested, server=True).link
    assert isinstance(coordinator, v1.Coordinator)
    assert coordinator.remote_attach.target.capabilities == ("amqp:local-transactions",)
    return link, coordinator


@pytest.mark.parametrize("fail", [False, True])
def test_a_transaction(fail: bool) -> None:
    pair = Pair().opened()
    link, coordinator = controller(pair)
    transaction = link.declare()
    pair.pump()
    assert pair.client_events == [v1.TransactionDeclared(link, transaction)]
    assert (transaction.id, transaction.state) == (b"txn-0", "open")
    sender, _ = pair.sender(link.session)
    sent = sender.send(b"x", transaction=transaction)
    pair.pump()
    came = pair.one(v1.DeliveryReceived, server=True).delivery
    assert came.remote_state == amqp.TransactionalState(b"txn-0")
    assert sent.remote_state == amqp.Accepted()
    if fail:
        transaction.rollback()
    else:
        transaction.commit()
    with pytest.raises(LocalProtocolError, match="discharging"):
        transaction.commit()
    pair.pump()
    request = pair.one(v1.DischargeRequested, server=True)
    assert (request.transaction_id, request.fail) == (b"txn-0", fail)
    assert pair.client_events == [v1.TransactionDischarged(link, transaction, fail)]
    assert transaction.state == ("rolled back" if fail else "committed")
    assert pair.server.transactions == set()
    assert link.unsettled == coordinator.unsettled == {}


def test_an_outcome_inside_of_a_transaction() -> None:
    pair = Pair().opened()
    link, _ = controller(pair)
    transaction = link.declare()
    pair.pump()
    receiver, served = pair.receiver(link.session)
    receiver.flow(1)
    pair.pump()
    sent = served.send(b"x")
    pair.pump()
    delivery = pair.one(v1.DeliveryReceived).delivery
    delivery.accept(transaction)
    pair.pump()
    update = pair.one(v1.DeliveryUpdated, server=True)
    assert update.state == amqp.TransactionalState(b"txn-0", amqp.Accepted())
    assert not update.settled
    transaction.commit()
    pair.pump()
    sent.settle()
    pair.pump()
    assert pair.one(v1.DeliveryUpdated).settled
    assert delivery.settled


def test_a_transaction_is_refused() -> None:
    def refuse(event: Any) -> None:
        match event:
            case v1.SessionRequested(session):
                session.accept()
            case v1.LinkRequested(link):
                link.accept()
                link.flow(10)
            case v1.DeclareRequested(link, delivery):
                delivery.reject("amqp:resource-limit-exceeded", "no more")

    pair = Pair(handler=refuse).opened()
    link, _ = controller(pair)
    transaction = link.declare()
    (event,) = pair.pump()
    assert event.transaction is transaction
    assert event.error.condition == "amqp:resource-limit-exceeded"
    assert transaction.state == "failed"
    with pytest.raises(LocalProtocolError, match="failed"):
        transaction.commit()


def test_an_unknown_transaction_is_rejected_by_the_engine() -> None:
    pair = Pair().opened()
    link, _ = controller(pair)
    transaction = link.declare()
    pair.pump()
    pair.server.transactions.clear()  # the server rolled it back by itself
    transaction.commit()
    (event,) = pair.pump()
    assert event.error.condition == "amqp:transaction:unknown-id"
    assert pair.server_events == []
    sender, _ = pair.sender(link.session)
    sender.send(b"x", transaction=b"unknown")
    (event,) = pair.pump()
    assert event.state.error.condition == "amqp:transaction:unknown-id"
    assert pair.server_events == []


def test_what_no_coordinator_takes() -> None:
    pair = Pair().opened()
    link, _ = controller(pair)
    link.send(amqp.Message(value="hello"))
    (event,) = pair.pump()
    assert event.state.error.condition == "amqp:not-allowed"
    link.send(b"\x00\x53\x77\xa1\xff")
    (event,) = pair.pump()
    assert event.state.error.condition == "amqp:decode-error"


def test_a_transaction_ends_with_its_link() -> None:
    pair = Pair().opened()
    link, coordinator = controller(pair)
    transaction = link.declare()
    pair.pump()
    transaction.commit()
    coordinator.detach("amqp:transaction:timeout")
    pair.client.receive_data(pair.server.data_to_send())
    assert transaction.state == "failed"


# --- without waiting for answers ------------------------------------------------------------------


def test_all_requests_in_one_flight() -> None:
    pair = Pair()
    pair.server.receive_data(pair.client.data_to_send())
    pair.client.receive_data(pair.server.data_to_send())
    session = pair.client.begin()
    receiver = session.attach_receiver("from", "q")
    receiver.flow(5)
    with pytest.raises(LocalProtocolError, match="512"):
        session.attach_sender("x" * 500, "q")
    with pytest.raises(LocalProtocolError, match="ATTACH_SENT"):
        session.attach_sender("to", "q").send(b"x")
    pair.pump()
    assert kinds(pair.client_events) == [
        *(v1.ConnectionOpened, v1.SessionOpened, v1.LinkOpened, v1.LinkOpened),
        v1.CreditChanged,
    ]
    served = next(
        e.link
        for e in pair.server_events
        if isinstance(e, v1.LinkRequested) and e.link.name == "from"
    )
    assert (receiver.credit, served.credit) == (5, 5)
    served.send(b"x")
    pair.pump()
    assert kinds(pair.client_events) == [v1.DeliveryReceived]


def test_what_is_taken_back_before_it_was_answered() -> None:
    pair = Pair().opened()
    session = pair.session()
    first = session.attach_sender("name", "q")
    first.detach()
    second = session.attach_sender("name", "q")
    ended = pair.client.begin()
    ended.end()
    pair.pump()
    assert v1.LinkClosed(first, True, None, closed_by="local") in pair.client_events
    assert pair.one(v1.LinkOpened).link is second
    assert pair.one(v1.SessionEnded).session is ended
    assert second.credit == CREDIT
    assert session.links == [second]
    assert pair.client.sessions == [session]
