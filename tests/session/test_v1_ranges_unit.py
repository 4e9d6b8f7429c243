"""What a peer can ask for in few bytes: ranges of deliveries, credit, links, in turn and again.

What each costs is counted in `make linear-test`; here is what it means.
"""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqpcodec import v1_0 as amqp
from amqpcodec.session import LocalProtocolError, v1
from amqpcodec.session._v1.serial import FreeNumbers
from amqpcodec.session._v1.unsettled import Unsettled
from tests.support.session_v1_pair import Pair, Peer, attach, kinds

RECEIVER, SENDER = amqp.Role.RECEIVER, amqp.Role.SENDER
Disposition = amqp.Disposition


def sending(count: int, credit: int | None = None) -> tuple[Peer, Any, list[Any]]:
    """A peer that receives, the link by which the engine sends, its deliveries."""
    peer = Peer()
    link = peer.attached(sends=False)
    credit = count if credit is None else credit
    peer.give(amqp.Flow(0, 10_000, 0, 10_000, 0, delivery_count=0, link_credit=credit))
    sent = [link.send(b"x") for _ in range(count)]
    peer.take()
    return peer, link, sent


# --- ranges of deliveries -------------------------------------------------------------------------


def test_a_state_of_a_range_is_one_event() -> None:
    peer, link, sent = sending(6)
    first, last = sent[1].id, sent[4].id
    state = amqp.Received(1, 7)
    assert peer.give(Disposition(RECEIVER, first, last, False, state)) == [
        v1.DeliveriesUpdated(link.session, True, first, last, state)
    ]
    assert [delivery.remote_state for delivery in sent] == [None, *[state] * 4, None]
    assert not any(delivery.remote_settled for delivery in sent)
    # A later state of one of them, and an earlier one that a range replaces.
    assert kinds(peer.give(Disposition(RECEIVER, 2, None, False, amqp.Received(2, 0)))) == [
        v1.DeliveryUpdated
    ]
    assert sent[2].remote_state == amqp.Received(2, 0)
    peer.give(Disposition(RECEIVER, 2, 3, False, amqp.Received(3, 0)))
    assert [delivery.remote_state for delivery in sent[1:5]] == [
        *(state, amqp.Received(3, 0), amqp.Received(3, 0), state)
    ]
    # An outcome is the last word, one event for each.
    events = peer.give(Disposition(RECEIVER, 0, 3, False, amqp.Accepted()))
    assert events == [
        v1.DeliveryUpdated(link, delivery, amqp.Accepted(), False) for delivery in sent[:4]
    ]
    peer.give(Disposition(RECEIVER, 0, 5, False, amqp.Received(9, 9)))
    assert [type(delivery.remote_state) for delivery in sent] == [
        *[amqp.Accepted] * 4, *[amqp.Received] * 2
    ]  # fmt: skip
    # What is settled keeps the state of its range.
    peer.give(Disposition(RECEIVER, 0, 5, True))
    assert [type(delivery.remote_state) for delivery in sent] == [
        *[amqp.Accepted] * 4, *[amqp.Received] * 2
    ]  # fmt: skip
    assert all(delivery.remote_settled for delivery in sent)
    assert link.unsettled == {}


def test_a_range_keeps_its_state_where_the_link_ends() -> None:
    peer, link, sent = sending(3)
    peer.give(Disposition(RECEIVER, 0, 2, False, amqp.Received(1, 7)), amqp.Detach(0, False))
    assert [delivery.remote_state for delivery in sent] == [amqp.Received(1, 7)] * 3
    assert set(link.unsettled) == {delivery.tag for delivery in sent}


def test_ranges_of_what_came() -> None:
    peer = Peer()
    link = peer.attached()
    link.flow(10)
    came = [
        event.delivery
        for event in peer.give(
            *[amqp.Transfer(0, n, b"%d" % n, 0, payload=b"x") for n in (0, 1, 5, 9)]
        )
    ]
    state = amqp.TransactionalState(b"t", None)
    assert peer.give(Disposition(SENDER, 1, 8, False, state)) == [
        v1.DeliveriesUpdated(link.session, False, 1, 8, state)
    ]
    assert [delivery.remote_state for delivery in came] == [None, state, state, None]
    assert kinds(peer.give(Disposition(SENDER, 6, 8, False, state))) == []
    assert kinds(peer.give(Disposition(SENDER, 6, 9, False, state))) == [v1.DeliveryUpdated]


class Item:
    """What `Unsettled` asks of a delivery."""

    def __init__(self, everything: Any, number: int) -> None:
        self.everything = everything
        self.id = number
        self.own: tuple[Any, int] = (None, 0)

    @property
    def remote_state(self) -> Any:
        return self.everything.state_of(self, *self.own)

    def _keep_remote_state(self) -> None:
        self.own = (self.remote_state, 0)


@pytest.mark.untraced
@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_ranges_against_a_dict(seed: int) -> None:
    """The index of ids against one that looks at each delivery."""
    rng = random.Random(seed)
    mask = 0xFFFF_FFFF
    number = rng.choice((0, 5, mask - 20, 0x7FFF_FFF0))
    everything: Any = Unsettled()
    model: dict[int, Item] = {}
    states: dict[int, Any] = {}
    gone: list[tuple[Item, Any]] = []
    ids = [number]
    for step in range(rng.randrange(400)):
        action = rng.random()
        if action < 0.4:
            number = (number + rng.choice((1, 1, 1, 2, 50, 1 << 28))) & mask
            if any((number - old) & mask >= 1 << 31 for old in model):
                continue  # ambiguous: what is that old cannot be named any more
            ids.append(number)
            model[number] = Item(everything, number)
            everything.add(number, model[number])
            states[number] = None
        elif action < 0.6 and model:
            chosen = rng.choice(list(model)) if rng.random() < 0.8 else next(iter(model))
            item = model.pop(chosen)
            assert everything.pop(chosen) is item
            assert everything.pop(chosen) is None
            gone.append((item, states.pop(chosen)))
        elif action < 0.62:
            gone += [(item, states[key]) for key, item in model.items()]
            everything.clear()
            model.clear()
            states.clear()
        else:
            first = (rng.choice(ids[-20:]) + rng.randrange(-3, 4)) & mask
            count = rng.choice((1, 2, 5, 60, 1 << 29))
            inside = [key for key in model if (key - first) & mask < count]
            if (number - first) & mask >= 1 << 31 and (first - number) & mask >= 4:
                continue
            assert [item.id for item in everything.within(first, count)] == inside
            assert [item.id for item in everything.within(first, count, most=2)] == inside[:2]
            if action < 0.85 and inside:
                everything.set_state(first, count, step)
                states |= dict.fromkeys(inside, step)
            elif inside:
                chosen = rng.choice(inside)
                model[chosen].own = (step, everything.clock)
                states[chosen] = step
        assert len(everything) == len(model)
        assert {key: item.remote_state for key, item in model.items()} == states
        assert all(item.remote_state == state for item, state in gone)
        assert all(
            start <= end for start, end in zip(everything._starts, everything._ends, strict=True)
        )
        ranges = pairwise(zip(everything._starts, everything._ends, strict=True))
        assert all(one[1] < other[0] for one, other in ranges)


@pytest.mark.untraced
def test_ranges_without_deliveries_are_forgotten() -> None:
    everything: Any = Unsettled()
    for number in range(100_000):
        everything.add(number, Item(everything, number))
        if number >= 20:
            everything.pop(number - 20)
        everything.set_state(number - 10, 5, number)
        everything.set_state(number - 5, 2, number)
    assert len(everything) == 20
    assert len(everything._starts) <= 2 * 20 + 64 + 2
    assert len(everything._positions) <= 2 * 20 + 64 + 2


def test_an_id_that_comes_again_is_in_the_index_once() -> None:
    """Ids may leap, so that one comes again before a range is asked for."""
    everything: Any = Unsettled()
    assert everything.within(0, 100) == []
    for number in (0, 0x6000_0000, 0xC000_0000) * 7:
        everything.add(number, Item(everything, number))
        everything.pop(number)
        assert everything.within(number, 100) == []
    everything.add(5, Item(everything, 5))
    assert everything.within(0, 100) == [everything.by_id[5]]
    for number in (0x6000_0000, 0xC000_0000, 0, 0x6000_0000, 0xC000_0000):
        everything.add(number, Item(everything, number))
        everything.pop(number)
    everything.add(1 << 31, item := Item(everything, 1 << 31))
    assert everything.within(1 << 31, 100) == [item]
    assert len(everything._at) == len(everything) == 2


def test_an_id_is_that_of_one_unsettled_delivery() -> None:
    """Ids may leap, so that 2**32 later is soon."""
    peer = Peer()
    link = peer.attached()
    link.flow(10)
    leaps = (0, 0x7FFF_FFFF, 0xFFFF_FFFE)
    peer.give(*[amqp.Transfer(0, n, b"%d" % n, 0, payload=b"x") for n in leaps])
    assert len(link.unsettled) == 3
    (*_, ended) = peer.give(amqp.Transfer(0, 0, b"again", 0, payload=b"x"))
    assert type(ended) is v1.SessionEnded
    assert ended.error.condition == "amqp:invalid-field"


# --- credit ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF])
@pytest.mark.parametrize("credit", [0, 1, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF])
def test_credit_stays_a_number_of_the_wire(count: int, credit: int) -> None:
    """Also where the receiver claims deliveries that were never sent, and asks for the state."""
    peer, link, _ = sending(0)
    events = peer.give(
        amqp.Flow(0, 9, 0, 9, 0, delivery_count=count, link_credit=credit, echo=True)
    )
    assert kinds(events) == [v1.CreditChanged]
    (answer,) = peer.take()
    assert answer.link_credit == link.link_credit == link.credit <= credit
    link.drain = True
    link.drained()
    assert peer.take()[0].delivery_count == link.delivery_count <= 0xFFFF_FFFF


def test_available_is_checked_where_it_is_set() -> None:
    """And not where the peer asks for it."""
    peer, link, _ = sending(0)
    for wrong in (-1, 1 << 32):
        with pytest.raises(ValueError, match="available"):
            link.available = wrong
        with pytest.raises(ValueError, match="available"):
            link.flow(available=wrong)
    link.available = 0xFFFF_FFFF
    peer.give(amqp.Flow(0, 9, 0, 9, 0, echo=True))
    assert peer.take()[0].available == 0xFFFF_FFFF


@pytest.mark.parametrize("answer", [False, True])
def test_a_drain_is_over_once_the_credit_is_used_up(answer: bool) -> None:
    """By deliveries: credit that is given later asks for no drain, at both ends."""
    pair = Pair().opened()
    receiver, sender = pair.receiver()
    receiver.flow(2, drain=True)
    pair.pump()
    assert sender.drain
    sender.send(b"1")
    assert sender.drain
    sender.send(b"2")
    assert not sender.drain
    pair.pump()
    assert (receiver.credit, receiver.drain) == (0, False)
    if answer:
        sender.flow()
        pair.pump()
        assert not receiver.drain
    receiver.add_credit(5)
    pair.pump()
    assert (sender.credit, sender.drain) == (5, False)
    # Given back by the sender: the same.
    receiver.flow(drain=True)
    pair.pump()
    assert sender.drain
    sender.drained()
    assert not sender.drain
    pair.pump()
    assert (receiver.credit, receiver.drain) == (0, False)
    receiver.add_credit(1)
    pair.pump()
    assert (sender.credit, sender.drain) == (1, False)


def test_credit_that_comes_and_goes_lets_deliveries_go_in_order() -> None:
    peer = Peer()
    session = peer.mapped(incoming_window=0)
    (one,) = peer.give(attach("one", 0, sends=False))
    one.link.accept()
    (two,) = peer.give(attach("two", 1, sends=False))
    two.link.accept()
    peer.take()

    def flow(handle: int, count: int, credit: int, window: int = 0) -> None:
        peer.give(amqp.Flow(0, window, 0, 9, handle, delivery_count=count, link_credit=credit))

    flow(0, 0, 5)
    flow(1, 0, 5)
    for n in range(5):
        one.link.send(b"one %d" % n)
        two.link.send(b"two %d" % n)
    assert peer.take() == []
    assert session.bytes_waiting == 50
    for _ in range(3):
        flow(0, 0, 0)
        assert one.link.credit == 0
        flow(0, 0, 2)
    flow(1, 0, 3, window=100)
    sent = [bytes(frame.payload) for frame in peer.take()]
    assert sent == [b"one 0", b"two 0", b"one 1", b"two 1", b"two 2"]
    assert session.bytes_waiting == 25
    with pytest.raises(Exception, match="credit"):
        one.link.send(b"x")
    peer.give(amqp.Detach(1, True))  # what waits on it goes with it
    assert session.bytes_waiting == 15
    flow(0, 2, 3, window=95)
    assert [bytes(frame.payload) for frame in peer.take() if type(frame) is amqp.Transfer] == [
        b"one 2", b"one 3", b"one 4"
    ]  # fmt: skip
    assert session.bytes_waiting == 0


def test_a_delivery_that_is_aborted_ends_before_those_behind_it() -> None:
    peer = Peer()
    peer.mapped(incoming_window=1)
    (event,) = peer.give(attach(sends=False))
    event.link.accept()
    peer.take()
    peer.give(amqp.Flow(0, 1, 0, 9, 0, delivery_count=0, link_credit=9))
    link = event.link
    first = link.begin_delivery(tag=b"first")
    first.write(b"a")
    first.write(b"b", more=False)
    second = link.send(b"c", tag=b"second")
    third = link.send(b"d", tag=b"third")
    fourth = link.send(b"e", tag=b"fourth")
    assert [frame.payload for frame in peer.take()] == [b"a"]
    first.abort()
    third.abort()
    assert link.session.bytes_waiting == 2
    peer.give(amqp.Flow(1, 9, 0, 9, 0, delivery_count=1, link_credit=8))
    sent = peer.take()
    assert [(bool(frame.aborted), bool(frame.more), bytes(frame.payload)) for frame in sent] == [
        (True, False, b""), (False, False, b"c"), (False, False, b"e")
    ]  # fmt: skip
    assert [frame.delivery_tag for frame in sent] == [None, b"second", b"fourth"]
    assert list(link.unsettled) == [second.tag, fourth.tag]
    assert link.credit == 9 - 3


# --- handles, channels, names ---------------------------------------------------------------------


def test_the_lowest_free_number_is_taken() -> None:
    numbers = FreeNumbers()
    for expected in range(5):
        assert numbers.lowest(4) == expected
        numbers.take()
    assert numbers.lowest(4) is None
    for number in (3, 1, 2):
        numbers.give_back(number)
    for expected in (1, 2, 3):
        assert numbers.lowest(4) == expected
        numbers.take()
    assert numbers.lowest(4) is None
    assert numbers.lowest(5) == 5


def test_a_handle_and_a_channel_are_not_lost_where_a_call_fails() -> None:
    peer = Peer()
    peer.opened(max_frame_size=512)
    for _ in range(3):
        with pytest.raises(Exception, match="frames 512"):
            peer.engine.begin(properties={amqp.Symbol("x"): "y" * 600})
    session = peer.engine.begin()
    assert session.channel == 0
    peer.give(amqp.Begin(0, 0, 9, 9))
    for _ in range(3):
        with pytest.raises(Exception, match="frames 512"):
            session.attach_sender("x" * 600, "q")
    assert session.attach_sender("x", "q").handle == 0


def test_a_frame_of_the_size_that_the_peer_takes() -> None:
    """Of 512 bytes, and not of 513."""
    peer = Peer()
    peer.opened(max_frame_size=512)
    name = amqp.Symbol("x")

    def size(length: int) -> int:
        session = Peer()
        session.opened()
        session.engine.begin(properties={name: "y" * length})
        return len(session.engine.data_to_send())

    length = 400 + 512 - size(400)
    assert size(length) == 512
    with pytest.raises(LocalProtocolError, match="takes 513 bytes"):
        peer.engine.begin(properties={name: "y" * (length + 1)})
    peer.engine.begin(properties={name: "y" * length})
    assert len(peer.engine.data_to_send()) == 512


@pytest.mark.parametrize("sends", [False, True])
def test_the_longest_name_that_is_answered(sends: bool) -> None:
    """An answer may use all bytes of the peer's frames, where it has settle modes, too."""

    def is_answered(length: int) -> bool:
        peer = Peer()
        peer.opened(max_frame_size=512)
        peer.mapped()
        fields = {"source": amqp.Source(), "target": amqp.Target()}
        return v1.LinkRequested in kinds(peer.give(attach("x" * length, sends=sends, **fields)))

    longest = max(filter(is_answered, range(400, 512)))
    role = amqp.Role.RECEIVER if sends else amqp.Role.SENDER
    options = (
        {"max_message_size": v1.Limits().message_size} if sends else {"initial_delivery_count": 0}
    )
    answer = amqp.Attach("x" * longest, 0, role, **options)
    assert len(amqp.encode(0, answer)) + 16 == 512


@pytest.mark.parametrize("sends", [False, True])
@pytest.mark.parametrize("more", [(), (amqp.Detach(0, True),)])
def test_an_attach_whose_answer_would_be_too_large(sends: bool, more: Any) -> None:
    """The peer takes frames of 512 bytes: an answer with so long a name cannot be sent."""
    peer = Peer()
    peer.opened(max_frame_size=512)
    peer.mapped()
    events = peer.give(attach("x" * 500, sends=sends), *more)
    assert kinds(events) == [v1.SessionEnded]
    assert [type(frame) for frame in peer.take()] == [amqp.End]
    # With a source that is too large for the answer, the link is refused.
    peer = Peer()
    peer.opened(max_frame_size=512)
    peer.mapped()
    events = peer.give(attach("x" * 300, source=amqp.Source("y" * 300), sends=sends), *more)
    assert kinds(events) == [v1.LinkRequested, v1.LinkClosed]
    events[0].link.accept()
    frames = peer.take()
    assert [type(frame) for frame in frames] == [amqp.Attach, amqp.Detach]
    assert frames[1].error.condition == "amqp:invalid-field"


def test_answers_come_to_the_links_that_asked_first() -> None:
    """Two attaches of one name, the first of which was detached before the peer answered."""
    peer = Peer("client")
    peer.give(amqp.ProtocolHeader(0, 1, 0, 0), amqp.Open("peer"))
    session = peer.engine.begin()
    peer.give(amqp.Begin(0, 0, 9, 9))
    first = session.attach_sender("name", "q")
    first.detach()
    second = session.attach_sender("name", "q")
    other = session.attach_receiver("name", "q")
    peer.give(
        attach("name", 0), attach("name", 1, sends=False), amqp.Detach(1, True),
        attach("name", 2, sends=False),
    )  # fmt: skip
    assert (first.state, second.state, other.state) == ("DETACHED", "ATTACHED", "ATTACHED")
    assert (second._remote_handle, other._remote_handle) == (2, 0)


# --- transactions ---------------------------------------------------------------------------------


def coordinator(peer: Peer, handle: int = 0) -> Any:
    if not peer.engine.sessions:
        peer.mapped()
    (event,) = peer.give(attach(f"tx {handle}", handle, target=amqp.Coordinator()))
    event.link.accept()
    event.link.flow(1000)
    peer.take()
    return event.link


def declare(number: int, handle: int = 0, *, settled: bool = False) -> Any:
    payload = amqp.Message(value=amqp.Declare()).encode()
    return amqp.Transfer(handle, number, b"%d" % number, 0, settled=settled, payload=payload)


def test_open_transactions_are_bounded() -> None:
    """Also those that are asked for in one read."""
    peer = Peer(limits=v1.Limits(transactions=3))
    link = coordinator(peer)
    events = peer.give(*[declare(n) for n in range(5)])
    assert kinds(events) == [v1.DeclareRequested] * 3
    refused = [frame.state for frame in peer.take() if type(frame) is Disposition]
    assert [state.error.condition for state in refused] == ["amqp:resource-limit-exceeded"] * 2
    for n, event in enumerate(events):
        link.declare(event.delivery, b"%d" % n)
    assert peer.engine.transactions == {b"0", b"1", b"2"}
    assert kinds(peer.give(declare(5))) == []
    discharge = amqp.Message(value=amqp.Discharge(b"1", False)).encode()
    (event,) = peer.give(amqp.Transfer(0, 6, b"6", 0, payload=discharge))
    link.discharge(event.delivery)
    assert kinds(peer.give(declare(7))) == [v1.DeclareRequested]


def test_transactions_end_with_their_coordinator() -> None:
    peer = Peer()
    one, two = coordinator(peer, 0), coordinator(peer, 1)
    for n, link in enumerate((one, two, one)):
        (event,) = peer.give(declare(n, 0 if link is one else 1))
        link.declare(event.delivery, b"%d" % n)
    assert peer.engine.transactions == {b"0", b"1", b"2"}
    peer.give(amqp.Detach(0, True))
    assert peer.engine.transactions == {b"1"}
    assert one.transactions == {b"0", b"2"}
    assert two.transactions == {b"1"}
    peer.engine.transactions.discard(b"1")  # the server rolls it back by itself
    (event,) = peer.give(declare(3, 1))
    two.declare(event.delivery, b"3")
    peer.give(amqp.End())
    assert peer.engine.transactions == set()
    assert peer.engine._declared_on == {}


def test_transactions_that_the_server_rolls_back_are_forgotten() -> None:
    peer = Peer()
    link = coordinator(peer)
    for n in range(300):
        (event,) = peer.give(declare(n))
        link.declare(event.delivery, b"%d" % n)
        peer.engine.transactions.clear()
    assert len(link.transactions) == len(peer.engine._declared_on) < 100


def test_a_declare_that_comes_settled_ends_its_link() -> None:
    peer = Peer()
    coordinator(peer)
    events = peer.give(declare(0, settled=True))
    assert kinds(events) == [v1.LinkClosed]
    assert events[0].error.condition == "amqp:not-allowed"


def test_a_delivery_of_many_small_transfers_takes_one_piece_of_memory() -> None:
    peer = Peer()
    link = peer.attached()
    link.flow(1)
    first = amqp.Transfer(0, 0, b"t", 0, more=True)
    pieces = [b"a", b"", b"b", b"", b"", b"c" * 100]
    events = peer.give(first, *[amqp.Transfer(0, more=True, payload=piece) for piece in pieces])
    assert kinds(events) == [v1.DeliveryStarted]
    assert peer.engine._partial_bytes == 102
    for _ in range(50):
        peer.give(*[amqp.Transfer(0, more=True)] * 10)
    assert len(link.partial._data) == 102
    (event,) = peer.give(amqp.Transfer(0, payload=b"d"))
    assert event.delivery.payload == b"ab" + b"c" * 100 + b"d"
    assert type(event.delivery.payload) is bytes
