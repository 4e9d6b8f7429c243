"""AMQP 1.0: deliveries in one transfer and in many, their states, and what windows hold back."""

from __future__ import annotations

from typing import Any

import pytest

from amqpcodec import v1_0 as amqp
from amqpcodec.session import LocalProtocolError, v1
from tests.support.session_v1_pair import Pair, Peer, kinds, quiet


def test_a_message_and_its_outcome() -> None:
    pair = Pair(handler=quiet).opened()
    sender, remote = pair.sender()
    message = amqp.Message(b"body", subject="s", durable=True)
    sent = sender.send(message, tag=b"tag")
    pair.pump()
    came = pair.one(v1.DeliveryReceived, server=True).delivery
    assert (came.tag, came.id, came.settled, came.link) == (b"tag", 0, False, remote)
    assert came.message == message
    assert came.transfer.message_format == 0
    assert sender.unsettled == {b"tag": sent}
    came.accept()
    pair.pump()
    assert pair.client_events == [v1.DeliveryUpdated(sender, sent, amqp.Accepted(), settled=True)]
    assert sender.unsettled == remote.unsettled == {}
    with pytest.raises(LocalProtocolError, match="settled"):
        came.accept()


OUTCOMES = [
    (lambda d: d.accept(), amqp.Accepted()),
    (lambda d: d.reject(), amqp.Rejected()),
    (
        lambda d: d.reject("amqp:decode-error", "x"),
        amqp.Rejected(amqp.Error("amqp:decode-error", "x")),
    ),
    (lambda d: d.release(), amqp.Released()),
    (lambda d: d.modify(), amqp.Modified()),
    (lambda d: d.modify(delivery_failed=True), amqp.Modified(True)),
    (
        lambda d: d.modify(
            undeliverable_here=True, message_annotations={amqp.Symbol("x-opt-a"): 1}
        ),
        amqp.Modified(None, True, {amqp.Symbol("x-opt-a"): 1}),
    ),
]


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize(("decide", "state"), OUTCOMES)
def test_outcomes(decide: Any, state: Any, second: bool) -> None:
    """Receivers of the mode "second" wait for the sender to settle."""
    pair = Pair(handler=quiet).opened()
    mode = amqp.ReceiverSettleMode.SECOND if second else amqp.ReceiverSettleMode.FIRST
    sender, remote = pair.sender(rcv_settle_mode=mode)
    sent = sender.send(b"x")
    pair.pump()
    came = pair.one(v1.DeliveryReceived, server=True).delivery
    decide(came)
    (event,) = pair.pump()
    assert event == v1.DeliveryUpdated(sender, sent, state, settled=not second)
    assert came.settled is not second
    if second:
        sent.settle(state)
        pair.pump()
        assert pair.one(v1.DeliveryUpdated, server=True).settled
    assert sender.unsettled == remote.unsettled == {}
    assert len(sender.session._sent) == len(remote.session._received) == 0


def test_states_before_the_outcome() -> None:
    pair = Pair(handler=quiet).opened()
    sender, _ = pair.sender()
    sent = sender.send(b"x")
    pair.pump()
    came = pair.one(v1.DeliveryReceived, server=True).delivery
    came.update(amqp.Received(0, 1))
    (event,) = pair.pump()
    assert (event.state, event.settled) == (amqp.Received(0, 1), False)
    assert sender.unsettled_map == {sent.tag: None}
    assert came.link.unsettled_map == {sent.tag: amqp.Received(0, 1)}
    came.settle()
    (event,) = pair.pump()
    assert (event.state, event.settled) == (amqp.Received(0, 1), True)


def test_settle_modes_of_the_sender() -> None:
    pair = Pair(handler=quiet).opened()
    session = pair.session()
    modes = amqp.SenderSettleMode
    for mode, wrong in ((modes.SETTLED, False), (modes.UNSETTLED, True)):
        sender = session.attach_sender(mode.name, "q", snd_settle_mode=mode)
        pair.pump()
        assert sender.send(b"x").settled is not wrong
        with pytest.raises(LocalProtocolError, match="snd-settle-mode"):
            sender.send(b"x", settled=wrong)
        pair.pump()
        assert pair.one(v1.DeliveryReceived, server=True).delivery.settled is not wrong


def test_ranges_of_dispositions() -> None:
    pair = Pair(handler=quiet).opened()
    sender, remote = pair.sender()
    sent = [sender.send(b"%d" % n) for n in range(6)]
    pair.pump()
    came = [e.delivery for e in pair.server_events if isinstance(e, v1.DeliveryReceived)]
    remote.session.settle([came[2], came[0], came[1], came[5], came[4]])
    data = pair.server.data_to_send()
    frames = [frame for _, frame in amqp.Decoder(0, opened=True).feed(data)]
    assert [(f.first, f.last, f.settled) for f in frames] == [(0, 2, True), (4, 5, True)]
    events = pair.client.receive_data(data)
    assert [event.delivery for event in events] == [*sent[:3], *sent[4:]]
    with pytest.raises(LocalProtocolError):
        remote.session.settle([came[0]])


def test_ranges_that_name_unknown_deliveries() -> None:
    """A range of 2**31 - 1 numbers costs what is there, not what it names."""
    peer = Peer()
    link = peer.attached(sends=False)
    peer.give(amqp.Flow(0, 100, 0, 100, 0, delivery_count=0, link_credit=10))
    sent = [link.send(b"x") for _ in range(3)]
    events = peer.give(
        amqp.Disposition(amqp.Role.RECEIVER, 1, 0x7FFF_FFFF, True, amqp.Accepted()),
        amqp.Disposition(amqp.Role.RECEIVER, 1000, None, True, amqp.Accepted()),
        amqp.Disposition(amqp.Role.SENDER, 0, 5, True, amqp.Accepted()),
    )
    assert [event.delivery for event in events] == sent[1:]


def test_dispositions_that_change_nothing_are_not_told() -> None:
    """Otherwise 30 bytes would make an event for each unsettled delivery, as often as one likes."""
    peer = Peer()
    link = peer.attached(sends=False)
    peer.give(amqp.Flow(0, 100, 0, 100, 0, delivery_count=0, link_credit=50))
    sent = [link.send(b"x") for _ in range(50)]

    def count_events(state: Any, settled: bool = False) -> int:
        return len(peer.give(amqp.Disposition(amqp.Role.RECEIVER, 0, 49, settled, state)))

    assert count_events(None) == 0
    assert count_events(amqp.Received(0, 1)) == 1, "a range"
    assert count_events(amqp.Received(0, 2)) == 1
    assert [delivery.remote_state for delivery in sent] == [amqp.Received(0, 2)] * 50
    assert count_events(amqp.Accepted()) == 50
    assert count_events(amqp.Rejected()) == 0
    assert count_events(amqp.Received(0, 3)) == 0
    assert {type(delivery.remote_state) for delivery in sent} == {amqp.Accepted}
    assert count_events(None, settled=True) == 50
    assert count_events(None, settled=True) == 0


@pytest.mark.parametrize(
    ("first", "last", "expected_ids"),
    [
        (0, 0xFFFF_FFF0, None),
        (0xFFFF_FF00, 0xFFFF_FFFA, []),
        (0xFFFF_FF00, 0xFFFF_FFFB, [0]),
        (0xFFFF_FF00, 100, [0, 1, 2, 3, 4, 5]),
        (0xFFFF_FFFD, 0xFFFF_FFFE, [2, 3]),
        (0xFFFF_FFFF, 1, [4, 5]),
        (0, 0x7FFF_FFFF, [5]),
        (1, 0x7FFF_FFFF, []),
    ],
)
def test_ranges_around_what_there_is(first: int, last: int, expected_ids: list[int] | None) -> None:
    """Six deliveries from 0xFFFFFFFB to 0."""
    peer = Peer()
    link = receiver_at(peer, 0xFFFF_FFFB, 6)
    events = peer.give(amqp.Disposition(amqp.Role.SENDER, first, last, True))
    if expected_ids is None:
        assert kinds(events)[-1] is v1.SessionEnded, "it runs backward"
        return
    assert [events.index(event) for event in events] == list(range(len(expected_ids)))
    assert [(event.delivery.id - 0xFFFF_FFFB) & 0xFFFF_FFFF for event in events] == expected_ids
    assert len(link.unsettled) == 6 - len(expected_ids)


def receiver_at(peer: Peer, number: int, count: int) -> Any:
    """A receiver with so many deliveries, numbered from there on."""
    peer.mapped(next_outgoing_id=number)
    link = peer.attached(initial_delivery_count=0)
    link.flow(100)
    for n in range(count):
        peer.give(amqp.Transfer(0, (number + n) & 0xFFFF_FFFF, b"%d" % n, payload=b"x"))
    return link


@pytest.mark.parametrize("size", [0, 1, 411, 412, 440, 480, 512, 513, 5000])
def test_in_as_many_transfers_as_it_takes(size: int) -> None:
    """Around every border of a frame of 512 bytes."""
    pair = Pair({}, {"max_frame_size": 512}).opened()
    sender, _ = pair.sender()
    for length in range(size, size + 8):
        body = bytes(index & 0xFF for index in range(length))
        sender.send(body)
        data = pair.client.data_to_send()
        frames = [frame for _, frame in amqp.Decoder(512, opened=True).feed(data)]
        assert [frame.more for frame in frames] == [True] * (len(frames) - 1) + [False]
        if len(frames) > 1:
            at = data.index(b"\0\0\x02\0")
            assert at == 0, "the first frame is full"
        *started, event = pair.server.receive_data(data)
        assert kinds(started) == [v1.DeliveryStarted] * (len(frames) > 1)
        assert event.delivery.payload == body
        event.delivery.accept()
        pair.pump()


def test_part_by_part() -> None:
    pair = Pair(handler=quiet).opened()
    sender, remote = pair.sender()
    delivery = sender.begin_delivery()
    with pytest.raises(LocalProtocolError, match="not complete"):
        sender.send(b"x")
    delivery.write(b"one ")
    pair.pump()
    started = pair.one(v1.DeliveryStarted, server=True)
    assert remote.partial is started.delivery
    assert (started.size, started.delivery.payload, started.delivery.complete) == (
        4,
        b"one ",
        False,
    )
    assert pair.server._partial_bytes == 4
    delivery.write(bytearray(b"two "))
    delivery.write(memoryview(b"three"), more=False)
    for call in (lambda: delivery.write(b"four"), delivery.abort):
        with pytest.raises(LocalProtocolError, match="complete"):
            call()
    pair.pump()
    received = pair.one(v1.DeliveryReceived, server=True).delivery
    assert received is started.delivery
    assert (received.payload, received.size, received.complete) == (b"one two three", 13, True)
    assert (pair.server._partial_bytes, remote.partial) == (0, None)
    assert (sender.delivery_count, remote.delivery_count) == (1, 1)


def test_abort() -> None:
    pair = Pair(handler=quiet).opened()
    sender, remote = pair.sender()
    delivery = sender.begin_delivery(tag=b"t")
    delivery.write(b"half")
    pair.pump()
    delivery.abort()
    after = sender.send(b"whole", tag=b"t")
    pair.pump()
    first, second = pair.server_events
    assert first == v1.DeliveryAborted(remote, 0, b"t")
    assert (second.delivery.payload, second.delivery.id) == (b"whole", 1)
    assert sender.unsettled == {b"t": after}
    assert pair.server._partial_bytes == 0
    # Where nothing of it was sent, the receiver never hears of it.
    credit = sender.credit
    sender.begin_delivery(tag=b"u").abort()
    pair.pump()
    assert pair.server_events == []
    assert sender.credit == credit


def test_two_links_share_a_session() -> None:
    """Transfers of different links may mix; each link has one delivery at a time."""
    pair = Pair(handler=quiet).opened()
    session = pair.session()
    one, _ = pair.sender(session)
    other = session.attach_sender("other", "q")
    pair.pump()
    first, second = one.begin_delivery(), other.begin_delivery()
    for part in (b"a", b"b", b"c"):
        first.write(part)
        second.write(part.upper())
    second.write(b"", more=False)
    first.write(b"", more=False)
    pair.pump()
    assert kinds(pair.server_events[:2]) == [v1.DeliveryStarted] * 2
    payloads = [event.delivery.payload for event in pair.server_events[2:]]
    assert payloads == [b"ABC", b"abc"]


def test_the_window_holds_back_and_lets_go() -> None:
    pair = Pair({}, {"max_frame_size": 512, "limits": v1.Limits(incoming_window=4)}).opened()
    sender, _ = pair.sender()
    body = bytes(10_000)
    sent = sender.send(body)
    assert sender.session.window == 0
    assert sender.session.bytes_waiting > 7_000
    assert sent.id == 0
    second = sender.send(b"after")
    assert second.id is None
    with pytest.raises(LocalProtocolError, match="waits to be sent"):
        second.settle()
    pair.pump()
    assert sender.session.bytes_waiting == 0
    payloads = [
        e.delivery.payload for e in pair.server_events if isinstance(e, v1.DeliveryReceived)
    ]
    assert payloads == [body, b"after"]
    assert second.settled


@pytest.mark.parametrize("window", [1, 2, 3])
def test_a_message_uses_the_window_up(window: int) -> None:
    """Each of its frames is sent at once for which there is room."""
    peer = Peer().opened(max_frame_size=512)
    peer.mapped(incoming_window=window)
    link = peer.attached(sends=False)
    peer.give(amqp.Flow(0, window, 0, 100, 0, delivery_count=0, link_credit=9))
    link.send(bytes(5_000))
    transfers = [frame for frame in peer.take() if isinstance(frame, amqp.Transfer)]
    assert len(transfers) == window
    assert link.session.window == 0


def test_credit_is_taken_back_from_what_waits() -> None:
    peer = Peer()
    link = peer.attached(sends=False)

    def flow(credit: int, window: int, delivery_count: int = 0) -> list[Any]:
        peer.give(
            amqp.Flow(
                delivery_count, window, 0, 100, 0, delivery_count=delivery_count, link_credit=credit
            ),
        )
        return [frame.payload for frame in peer.take() if isinstance(frame, amqp.Transfer)]

    flow(4, 0)
    sent = [link.send(b"%d" % n) for n in range(4)]
    assert link.credit == 0
    assert flow(1, 10) == [b"0"]
    assert flow(0, 10, 1) == []
    with pytest.raises(LocalProtocolError, match="no credit"):
        link.send(b"x")
    sent[1].abort()
    assert flow(5, 10, 1) == [b"2", b"3"]
    assert [delivery.id for delivery in sent] == [0, None, 1, 2]
    assert link.credit == 3
    link.send(b"4")
    assert [transfer.payload for transfer in peer.take()] == [b"4"]


def test_what_waits_goes_with_its_link() -> None:
    """Also the rest of settled deliveries, which nobody keeps track of."""
    peer = Peer()
    link = peer.attached(sends=False)
    peer.give(amqp.Flow(0, 1, 0, 100, 0, delivery_count=0, link_credit=10))
    for _ in range(2):
        link.send(bytes(2_000_000), settled=True)
    assert len(peer.take()) == 1
    peer.give(amqp.Detach(0, True), amqp.Flow(1, 100, 0, 100))
    assert [type(frame) for frame in peer.take()] == [amqp.Detach]
    assert link.session.bytes_waiting == 0


def test_sizes_that_a_receiver_takes() -> None:
    pair = Pair({}, {"limits": v1.Limits(message_size=100)}).opened()
    sender, _ = pair.sender()
    assert sender.remote_max_message_size == 100
    sender.send(bytes(100))
    with pytest.raises(LocalProtocolError, match="100 bytes"):
        sender.send(bytes(101))
    delivery = sender.begin_delivery()
    delivery.write(bytes(100))
    with pytest.raises(LocalProtocolError, match="100 bytes"):
        delivery.write(b"x")
    delivery.write(b"", more=False)
    pair.pump()
    assert len([e for e in pair.server_events if isinstance(e, v1.DeliveryReceived)]) == 2


def test_misuse_of_tags() -> None:
    pair = Pair(handler=quiet).opened()
    sender, _ = pair.sender()
    sender.send(b"x", tag=b"t")
    for tag, text in ((b"t", "same tag"), (b"", "1 to 32"), (bytes(33), "1 to 32")):
        with pytest.raises(LocalProtocolError, match=text):
            sender.send(b"x", tag=tag)
    assert sender.credit == 99


def test_deliveries_that_are_resumed() -> None:
    """Those that the receiver knows come as such, others are passed over, as §2.6.13 says."""
    pair = Pair(handler=quiet).opened()
    session = pair.session()
    sender, remote = pair.sender(session)
    lost = sender.send(b"12345678", tag=b"lost")
    pair.pump()
    assert kinds(pair.server_events) == [v1.DeliveryReceived]
    remote.detach(closed=False)
    pair.pump()
    assert remote.unsettled_map == {b"lost": amqp.Received(0, 8)}

    again = session.attach_sender("to", "queue", unsettled=sender.unsettled_map)
    pair.handler = lambda event: event.link.accept(unsettled={b"lost": amqp.Received(0, 4)})
    pair.pump()
    served = pair.one(v1.LinkRequested, server=True)
    assert served.attach.unsettled == {b"lost": None}
    assert again.remote_attach.unsettled == {b"lost": amqp.Received(0, 4)}
    served.link.flow(10)
    pair.handler = quiet
    pair.pump()
    state = amqp.Received(0, 4)
    again.send(b"5678", tag=lost.tag, resume=True, state=state)
    with pytest.raises(LocalProtocolError, match="both unsettled maps"):
        again.send(b"what", tag=b"unknown", resume=True)
    again.send(b"new")
    pair.pump()
    resumed, fresh = (event.delivery for event in pair.server_events)
    assert (resumed.resumed, resumed.position, resumed.payload) == (True, state, b"5678")
    assert (fresh.resumed, fresh.position, fresh.payload) == (False, None, b"new")


def test_numbers_wrap_around() -> None:
    """Sessions that go on past 2**32 transfers and deliveries."""
    peer = Peer()
    session = peer.mapped(next_outgoing_id=0xFFFF_FFFE)
    link = peer.attached(initial_delivery_count=0xFFFF_FFFF)
    link.flow(10)
    (flow,) = peer.take()
    assert (flow.delivery_count, flow.next_incoming_id) == (0xFFFF_FFFF, 0xFFFF_FFFE)
    events = []
    for number in (0xFFFF_FFFE, 0xFFFF_FFFF, 0, 1):
        events += peer.give(amqp.Transfer(0, number, b"%d" % number, payload=b"x"))
    deliveries = [event.delivery for event in events]
    assert [delivery.id for delivery in deliveries] == [0xFFFF_FFFE, 0xFFFF_FFFF, 0, 1]
    assert (link.delivery_count, link.credit) == (3, 6)
    session.settle(deliveries)
    (frame,) = peer.take()
    assert (frame.first, frame.last) == (0xFFFF_FFFE, 1)
    deliveries = [
        e.delivery
        for e in peer.give(
            amqp.Transfer(0, 2, b"a", payload=b"x"), amqp.Transfer(0, 3, b"b", payload=b"x")
        )
    ]
    events = peer.give(amqp.Disposition(amqp.Role.SENDER, 0xFFFF_FFF0, 3, True))
    assert [event.delivery for event in events] == deliveries
