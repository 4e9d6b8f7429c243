"""AMQP 1.0: deliveries that are resumed, as Part 2 §2.6.13 and Part 3 §3.4.6 describe it."""

from __future__ import annotations

from typing import Any

import pytest

from amqpcodec import DecodeError
from amqpcodec import v1_0 as amqp
from amqpcodec.session import LocalProtocolError, v1
from amqpcodec.session._v1.resumption import is_gap, offset_of, position_after
from tests.support.session_v1_pair import Pair, Peer, attach, kinds, quiet

R, A = amqp.Received, amqp.Accepted()
ACTION = v1.ResumptionAction
MESSAGE = amqp.Message(
    sequences=[[b"x" * 90, 1], ["y"], []], subject="s", application_properties={"n": "v" * 300}
)
BYTES = MESSAGE.encode()

#: Part 3 §3.4.6: delivery-tag -> (the sender's state, the receiver's, what they call for).
UNKNOWN = object()  # the map has no such tag
CASES: dict[bytes, tuple[Any, Any, v1.Resumption]] = {
    b"1": (None, UNKNOWN, v1.Resumption(b"1", ACTION.RESEND)),
    b"2": (None, R(3, 0), v1.Resumption(b"2", ACTION.RESUME, position=R(3, 0))),
    b"3": (None, A, v1.Resumption(b"3", ACTION.SETTLE, state=A)),
    b"4": (None, None, v1.Resumption(b"4", ACTION.RESUME, position=R(0, 0))),
    b"5": (R(0, 200), UNKNOWN, v1.Resumption(b"5", ACTION.RESEND)),
    b"6": (R(1, 150), R(2, 0), v1.Resumption(b"6", ACTION.RESUME, position=R(2, 0))),
    b"7": (R(0, 500), R(0, 100), v1.Resumption(b"7", ACTION.ABORT, resend=True)),
    b"8": (R(3, 5), A, v1.Resumption(b"8", ACTION.SETTLE, state=A)),
    b"9": (R(2, 0), None, v1.Resumption(b"9", ACTION.ABORT, resend=True)),
    b"10": (A, UNKNOWN, v1.Resumption(b"10", ACTION.FORGET)),
    b"11": (A, R(1, 2000), v1.Resumption(b"11", ACTION.ABORT)),
    b"12": (A, A, v1.Resumption(b"12", ACTION.SETTLE, state=A)),
    b"13": (A, amqp.Released(), v1.Resumption(b"13", ACTION.RESTATE, state=A)),
    b"14": (A, None, v1.Resumption(b"14", ACTION.ABORT)),
}
SENDER_MAP = {tag: sender for tag, (sender, _, _) in CASES.items()}
RECEIVER_MAP = {tag: state for tag, (_, state, _) in CASES.items() if state is not UNKNOWN}


def attached(
    sender: dict[str, Any], receiver: dict[str, Any], *, client_sends: bool = True, **options: Any
) -> tuple[Pair, Any, Any]:
    """(a pair, its sender, its receiver) attached with options of each."""
    pair = Pair(handler=quiet, **options).opened()
    session = pair.session()
    answer = receiver if client_sends else sender
    pair.handler = lambda event: event.link.accept(**answer)
    if client_sends:
        ours: Any = session.attach_sender("N", "Y", **sender)
    else:
        ours = session.attach_receiver("N", "X", **receiver)
    pair.pump()
    theirs = pair.one(v1.LinkRequested, server=True).link
    pair.handler = quiet
    ends = (ours, theirs) if client_sends else (theirs, ours)
    ends[1].flow(100)
    pair.pump()
    return pair, *ends


def events_of_receiver(pair: Pair, client_sends: bool) -> list[Any]:
    """What the receiving end was told."""
    pair.pump()
    return pair.server_events if client_sends else pair.client_events


# --- the fourteen cases ---------------------------------------------------------------------------


def test_what_two_maps_call_for() -> None:
    plans = v1.compare_unsettled(SENDER_MAP, RECEIVER_MAP)
    assert plans == {tag: plan for tag, (_, _, plan) in CASES.items()}
    assert v1.compare_unsettled(None, None) == {}


def test_what_incomplete_maps_call_for() -> None:
    """Without a tag they say nothing; §2.7.3."""
    plans = v1.compare_unsettled(SENDER_MAP, RECEIVER_MAP, receiver_incomplete=True)
    unknown = {tag for tag, plan in plans.items() if plan.action is ACTION.UNKNOWN}
    assert unknown == {b"1", b"5", b"10"}
    only = {b"only": None}
    assert v1.compare_unsettled({}, only)[b"only"].action is ACTION.FORGET
    plans = v1.compare_unsettled({}, only, sender_incomplete=True)
    assert plans[b"only"].action is ACTION.UNKNOWN


@pytest.mark.parametrize("client_sends", [True, False])
@pytest.mark.parametrize("tag", CASES)
def test_each_case_between_two_ends(tag: bytes, client_sends: bool) -> None:
    """All maps at once; then what ``resume`` sends, and what the receiver is told of it."""
    pair, sender, receiver = attached(
        {"unsettled": SENDER_MAP}, {"unsettled": RECEIVER_MAP}, client_sends=client_sends
    )
    assert sender.resumptions == receiver.resumptions
    plan = CASES[tag][2]
    assert sender.resumptions[tag] == plan
    position = plan.position
    start = 0 if position is None else offset_of(BYTES, position)
    sent = sender.resume(tag, MESSAGE)
    events = events_of_receiver(pair, client_sends)
    match plan.action:
        case ACTION.FORGET:
            assert (sent, events) == (None, [])
        case ACTION.ABORT:
            (event,) = events
            assert (type(event), event.tag, sent) == (v1.DeliveryAborted, tag, None)
            assert tag not in receiver.unsettled_map
            assert tag not in sender.unsettled_map
            sender.send(MESSAGE, tag=tag)  # as a new delivery
            (event,) = events_of_receiver(pair, client_sends)
            assert (event.delivery.resumed, event.delivery.message) == (False, MESSAGE)
            event.delivery.accept()
            pair.pump()
        case ACTION.RESEND | ACTION.RESUME:
            (event,) = events
            resumed = plan.action is ACTION.RESUME
            assert type(event) is v1.DeliveryReceived
            assert (event.delivery.tag, event.delivery.resumed) == (tag, resumed)
            assert event.delivery.position == (position if start else None)
            assert event.delivery.payload == BYTES[start:]
            event.delivery.accept()
            pair.pump()
            assert (sent.settled, sent.remote_state) == (True, A)
        case ACTION.SETTLE | ACTION.RESTATE:
            (event,) = events
            settled = plan.action is ACTION.SETTLE
            assert type(event) is v1.DeliveryUpdated
            assert (event.state, event.settled) == (A, settled)
            if not settled:  # the receiver echoes the outcome that counts
                event.delivery.update(event.state, settled=True)
                pair.pump()
                assert (sent.settled, sent.remote_state) == (True, A)
    assert tag not in receiver.unsettled_map
    assert tag not in sender.unsettled_map
    if plan.action is not ACTION.FORGET:
        with pytest.raises(LocalProtocolError, match="no delivery with this tag"):
            sender.resume(tag, MESSAGE)


def test_all_cases_one_after_the_other() -> None:
    pair, sender, receiver = attached({"unsettled": SENDER_MAP}, {"unsettled": RECEIVER_MAP})
    for tag in CASES:
        sender.resume(tag, MESSAGE)
    pair.pump()
    for event in pair.server_events:
        if isinstance(event, v1.DeliveryReceived | v1.DeliveryUpdated):
            event.delivery.update(A, settled=True)
    pair.pump()
    assert sender.unsettled_map == receiver.unsettled_map == {}
    assert pair.client._partial_bytes == pair.server._partial_bytes == 0


# --- what a sender must not do --------------------------------------------------------------------


REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "unknown to the receiver": ("both unsettled maps", {"tag": b"1", "resume": True}),
    "unknown to the sender": ("both unsettled maps", {"tag": b"theirs", "resume": True}),
    "unknown to both": ("both unsettled maps", {"tag": b"none", "resume": True}),
    "without a tag": ("both unsettled maps", {"resume": True}),
    "a new delivery with the tag of one that can be resumed": ("resume=True", {"tag": b"2"}),
    "received on a new delivery": ("§3.4.1", {"tag": b"new", "state": R(0, 0)}),
    "data after what the receiver has": (
        "after it",
        {"tag": b"2", "resume": True, "state": R(3, 1)},
    ),
    "data before what the sender has": (
        "cannot be sent",
        {"tag": b"6", "resume": True, "state": R(1, 149)},
    ),
    "all data, and the sender has only the end": (
        "cannot be sent",
        {"tag": b"6", "resume": True},
    ),
    "data where the receiver has an outcome": ("outcome", {"tag": b"3", "resume": True}),
    "data where the sender has an outcome": ("outcome", {"tag": b"12", "resume": True}),
    "another outcome": (
        "does not change",
        {"tag": b"13", "resume": True, "state": amqp.Released()},
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_sender_must_not_do(name: str) -> None:
    text, options = REFUSED[name]
    pair, sender, _ = attached(
        {"unsettled": SENDER_MAP}, {"unsettled": {**RECEIVER_MAP, b"theirs": None}}
    )
    before = sender.unsettled_map
    with pytest.raises(LocalProtocolError, match=text):
        sender.send(b"data", **options)
    assert (pair.client.data_to_send(), sender.credit, sender.unsettled) == (b"", 100, {})
    assert sender.unsettled_map == before
    sender.send(b"still alive")


def test_a_sender_does_not_settle_with_received() -> None:
    pair, sender, _ = attached({}, {})
    sent = sender.send(b"x")
    with pytest.raises(LocalProtocolError, match=r"§3\.4\.1"):
        sent.settle(R(0, 1))
    sent.settle()
    pair.pump()


def test_what_was_begun_is_checked_part_by_part() -> None:
    """The position with the first part; a delivery that is aborted needs none."""
    _, sender, _ = attached({"unsettled": SENDER_MAP}, {"unsettled": RECEIVER_MAP})
    begun = sender.begin_delivery(tag=b"6", resume=True)
    with pytest.raises(LocalProtocolError, match="cannot be sent"):
        begun.write(b"data")
    begun.abort()
    begun = sender.begin_delivery(tag=b"3", resume=True, state=A, settled=True)
    with pytest.raises(LocalProtocolError, match="outcome"):
        begun.write(b"data")
    begun.write(b"", more=False)


def test_resume_wants_the_message_where_data_is_needed() -> None:
    _, sender, _ = attached({"unsettled": SENDER_MAP}, {"unsettled": RECEIVER_MAP})
    for tag in (b"1", b"2"):
        with pytest.raises(LocalProtocolError, match="message is needed"):
            sender.resume(tag)
    with pytest.raises(LocalProtocolError, match="no byte at"):
        sender.resume(b"2", amqp.Message(b"short"))
    with pytest.raises(LocalProtocolError, match="no delivery with this tag"):
        sender.resume(b"none", MESSAGE)
    assert sender.resume(b"3").settled


def test_resumptions_are_there_after_both_attached() -> None:
    pair = Pair(handler=quiet).opened()
    link = pair.session().attach_sender("N", "Y")
    with pytest.raises(LocalProtocolError, match="both ends"):
        _ = link.resumptions
    pair.pump()
    assert dict(link.resumptions) == {}


# --- partial deliveries ---------------------------------------------------------------------------


def resumed(pair: Pair, sender: Any, receiver: Any, **more: Any) -> tuple[Any, Any]:
    """The same link again, with all that was unsettled."""
    pair.handler = lambda event: event.link.accept(unsettled=receiver, **more)
    again = sender.session.attach_sender("N", "Y", unsettled=sender)
    pair.pump()
    link = pair.one(v1.LinkRequested, server=True).link
    pair.handler = quiet
    link.flow(100)
    pair.pump()
    return again, link


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 4096])
def test_a_partial_delivery_goes_on_where_it_stopped(size: int) -> None:
    """At every byte: the receiver keeps what came and tells where it ends."""
    for count in range(len(BYTES) + 1):
        pair, sender, receiver = attached({}, {}, client={}, server={})
        sent = sender.begin_delivery(tag=b"part")
        for at in range(0, count, size):
            sent.write(BYTES[at : min(at + size, count)])
        pair.pump()
        receiver.detach(closed=False)
        pair.pump()
        position = position_after(BYTES[:count])
        expected = {b"part": position} if count else {}
        assert receiver.unsettled_map == expected
        assert sender.unsettled_map == {b"part": None}
        again, link = resumed(pair, sender, receiver)
        assert link.resumptions == again.resumptions
        again.resume(b"part", MESSAGE)
        pair.pump()
        event = pair.one(v1.DeliveryReceived, server=True)
        assert (event.delivery.resumed, event.delivery.position) == (bool(count), None)
        assert event.delivery.message == MESSAGE
        assert event.delivery.payload == BYTES
        event.delivery.accept()
        pair.pump()
        assert again.unsettled_map == link.unsettled_map == {}
        assert pair.server._partial_bytes == 0


@pytest.mark.parametrize("overlap", [0, 1, 50, 200])
def test_data_that_came_before_is_skipped(overlap: int) -> None:
    """The sender begins before the receiver's position, in frames of 512 bytes."""
    pair, sender, receiver = attached({}, {}, server={"max_frame_size": 512})
    body = bytes(range(256)) * 20
    message = amqp.Message(body).encode()
    sent = sender.begin_delivery(tag=b"part")
    sent.write(message[:1000])
    pair.pump()
    receiver.detach(closed=False)
    pair.pump()
    again, link = resumed(pair, sender, receiver)
    assert again.resumptions[b"part"].position == R(0, 1000)
    begun = again.begin_delivery(tag=b"part", resume=True, state=R(0, 1000 - overlap))
    begun.write(message[1000 - overlap : 1500])
    begun.write(message[1500:], more=False)
    pair.pump()
    assert kinds(pair.server_events) == [v1.DeliveryStarted, v1.DeliveryReceived]
    delivery = pair.server_events[1].delivery
    assert (delivery.message.body, delivery.size) == (body, len(message))
    assert link.unsettled == {b"part": delivery}


def test_a_resumption_that_stops_is_resumed_again() -> None:
    """And what was not resumed at all stays in doubt."""
    pair, sender, receiver = attached({}, {})
    first = sender.send(MESSAGE, tag=b"waits")
    sender.begin_delivery(tag=b"part").write(BYTES[:100])
    pair.pump()
    for count in (200, 300, 350):
        receiver.detach(closed=False)
        pair.pump()
        sender, receiver = resumed(pair, sender, receiver)
        state = sender.resumptions[b"part"].position
        at = offset_of(BYTES, state)
        sender.begin_delivery(tag=b"part", resume=True, state=state).write(BYTES[at:count])
        pair.pump()
        assert pair.one(v1.DeliveryStarted, server=True).size == count
        assert receiver.partial.payload == BYTES[:count]
        assert set(sender.unsettled_map) == {b"waits", b"part"}
    receiver.detach(closed=False)
    pair.pump()
    sender, receiver = resumed(pair, sender, receiver)
    sender.resume(b"part", MESSAGE)
    assert sender.resume(first.tag, MESSAGE).transfer.resume
    pair.pump()
    payloads = [event.delivery.payload for event in pair.server_events]
    assert payloads == [BYTES, BYTES]


def test_without_the_old_link_the_caller_joins_what_came() -> None:
    """As after a restart: the map was written down, the data is the caller's."""
    pair, sender, receiver = attached({}, {})
    sender.begin_delivery(tag=b"part").write(BYTES[:100])
    pair.pump()
    old = receiver.partial
    receiver.detach(closed=False)
    pair.pump()
    told_map = receiver.unsettled_map
    pair, sender, receiver = attached({"unsettled": {b"part": None}}, {"unsettled": told_map})
    sender.resume(b"part", MESSAGE)
    pair.pump()
    delivery = pair.one(v1.DeliveryReceived, server=True).delivery
    assert delivery.position == told_map[b"part"] == old.received
    assert old.payload + delivery.payload == BYTES
    for part in (old, delivery):
        with pytest.raises(DecodeError, match="part of a message"):
            _ = part.message


def test_a_connection_that_is_lost_is_a_suspended_link() -> None:
    pair, sender, receiver = attached({}, {})
    sent = [sender.send(amqp.Message(b"%d" % number)) for number in range(3)]
    pair.pump()
    came = [event.delivery for event in pair.server_events]
    came[0].accept()
    pair.server.data_to_send()  # lost
    for engine in (pair.client, pair.server):
        engine.receive_eof()
    came[1].accept()
    again = {"unsettled": sender}, {"unsettled": receiver}
    pair, sender, receiver = attached(*again)
    assert receiver.attach.unsettled == {
        came[1].tag: A,
        came[2].tag: position_after(came[2].payload),
    }
    actions = [sender.resumptions[delivery.tag].action for delivery in sent]
    assert actions == [ACTION.RESEND, ACTION.SETTLE, ACTION.RESUME]
    for number, delivery in enumerate(sent):
        sender.resume(delivery.tag, amqp.Message(b"%d" % number))
    pair.pump()
    first, second, third = pair.server_events
    assert kinds(pair.server_events) == [
        *(v1.DeliveryReceived, v1.DeliveryUpdated, v1.DeliveryReceived)
    ]
    assert (first.delivery.message.body, first.delivery.resumed) == (b"0", False)
    assert (second.delivery.message.body, second.settled) == (b"1", True)
    assert (third.delivery.message.body, third.delivery.resumed) == (b"2", True)


def test_an_answer_to_a_partial_delivery() -> None:
    """Received says how far the data is safe; an outcome that settles ends it early."""
    pair, sender, receiver = attached({}, {})
    sent = sender.begin_delivery()
    sent.write(BYTES[:100])
    pair.pump()
    partial = receiver.partial
    partial.update(R(0, 50))
    (event,) = pair.pump()
    assert (event.delivery, event.state, event.settled) == (sent, R(0, 50), False)
    partial.reject("amqp:not-allowed")
    (event,) = pair.pump()
    assert (type(event.state), event.settled) == (amqp.Rejected, True)
    sent.write(BYTES[100:], more=False)
    after = sender.send(MESSAGE)
    pair.pump()
    assert [event.delivery.tag for event in pair.server_events] == [after.tag]
    assert receiver.unsettled_map.keys() == {after.tag}
    assert pair.server._partial_bytes == 0


def test_another_message_format_is_one_section() -> None:
    pair, sender, receiver = attached({}, {})
    data = bytes(300)
    sender.begin_delivery(tag=b"part", message_format=7).write(data[:100])
    pair.pump()
    assert receiver.unsettled_map == {b"part": R(0, 100)}
    receiver.detach(closed=False)
    pair.pump()
    again, _ = resumed(pair, sender, receiver)
    again.send(data[100:], tag=b"part", resume=True, state=R(0, 100), message_format=7)
    pair.pump()
    assert pair.one(v1.DeliveryReceived, server=True).delivery.payload == data


# --- what a receiver does not take ----------------------------------------------------------------


def receiving(unsettled: Any = None, remote: Any = None, **more: Any) -> tuple[Peer, Any]:
    """(a peer that sends, the engine's receiver) with maps of both."""
    peer = Peer()
    peer.mapped()
    (event,) = peer.give(attach(unsettled=remote))
    event.link.accept(unsettled=unsettled, **more)
    event.link.flow(10)
    peer.take()
    return peer, event.link


def first(tag: bytes = b"t", **fields: Any) -> Any:
    return amqp.Transfer(0, 0, tag, 0, payload=fields.pop("payload", b"x"), **fields)


def test_received_on_a_first_transfer_is_refused() -> None:
    peer, _ = receiving()
    (event,) = peer.give(first(state=R(0, 0)))
    assert (type(event), event.error.condition) == (v1.LinkClosed, "amqp:not-allowed")


def test_received_after_the_first_transfer_is_refused() -> None:
    peer, _ = receiving()
    *_, event = peer.give(first(more=True), amqp.Transfer(0, state=R(0, 1), payload=b"y"))
    assert (type(event), event.error.condition) == (v1.LinkClosed, "amqp:not-allowed")


def test_received_in_a_disposition_of_the_sender_is_refused() -> None:
    peer, _ = receiving()
    *_, event = peer.give(first(), amqp.Disposition(amqp.Role.SENDER, 0, None, False, R(0, 1)))
    assert (type(event), event.error.condition) == (v1.LinkClosed, "amqp:invalid-field")


@pytest.mark.parametrize(
    ("receiver_state", "start", "fits"),
    [
        (None, None, True),
        (None, R(0, 0), True),
        (None, R(0, 1), False),
        (None, R(1, 0), False),
        (R(1, 5), None, True),
        (R(1, 5), R(0, 77), True),
        (R(1, 5), R(1, 5), True),
        (R(1, 5), R(1, 6), False),
        (R(1, 5), R(2, 0), True),  # section 1 may have 5 bytes
        (R(1, 0), R(2, 0), False),  # and has not 0
        (R(1, 5), R(2, 1), False),
        (R(1, 5), R(3, 0), False),
    ],
)
def test_a_gap_is_refused(receiver_state: Any, start: Any, fits: bool) -> None:
    """What is left out would be lost without a word."""
    assert is_gap(receiver_state, start) is not fits
    peer, _ = receiving({b"t": receiver_state}, {b"t": None})
    (event,) = peer.give(first(resume=True, state=start))
    if fits:
        begin = None if start in (None, R(0, 0)) else start
        assert (event.delivery.resumed, event.delivery.position) == (True, begin)
    else:
        assert (type(event), event.error.condition) == (v1.LinkClosed, "amqp:invalid-field")


def test_a_resumption_before_what_was_kept_replaces_it() -> None:
    """Of section 1 three bytes were kept, after a restart; the sender begins with section 0."""
    peer, old = receiving({b"t": R(1, 0)}, {b"t": None})
    begin = offset_of(BYTES, R(1, 0))
    kept = BYTES[begin : begin + 3]
    peer.give(first(resume=True, state=R(1, 0), payload=kept, more=True))
    assert (old.partial.position, old.partial.payload) == (R(1, 0), kept)
    peer.give(amqp.Detach(0))
    (event,) = peer.give(attach(unsettled={b"t": None}))
    event.link.accept(unsettled=old)
    event.link.flow(10)
    (event,) = peer.give(amqp.Transfer(0, 1, b"t", 0, resume=True, state=R(0, 0), payload=BYTES))
    assert (event.delivery.position, event.delivery.payload) == (None, BYTES)


def test_resumed_deliveries_that_nobody_knows_are_ignored() -> None:
    """§2.7.5; also a second time, and when they are aborted."""
    peer, link = receiving({b"t": None}, {b"t": None})
    events = peer.give(
        first(b"other", resume=True, more=True),
        amqp.Transfer(0, payload=b"y"),
        amqp.Transfer(0, 1, b"more", 0, resume=True, aborted=True),
        amqp.Transfer(0, 2, b"t", 0, resume=True, aborted=True),
        amqp.Transfer(0, 3, b"t", 0, resume=True, payload=b"z"),
    )
    assert events == [v1.DeliveryAborted(link, 2, b"t")]
    assert (link.unsettled, len(link.session._received), peer.engine._partial_bytes) == ({}, 0, 0)


def test_a_new_delivery_with_a_tag_that_is_in_doubt_is_refused() -> None:
    peer, _ = receiving({b"t": None}, {b"t": None})
    (event,) = peer.give(first())
    assert (type(event), event.error.condition) == (v1.LinkClosed, "amqp:not-allowed")
    peer, link = receiving({b"t": None}, {})  # the sender has settled: it is forgotten
    assert link.unsettled_map == {}
    (event,) = peer.give(first())
    assert type(event) is v1.DeliveryReceived


def test_data_for_what_has_an_outcome_is_not_taken() -> None:
    """The receiver dealt with it: the application does not get it twice."""
    peer, link = receiving({b"t": A}, {b"t": None})
    (event,) = peer.give(first(resume=True))
    assert (type(event), event.state, event.settled) == (v1.DeliveryUpdated, None, False)
    assert (event.delivery.state, event.delivery.payload) == (A, b"")
    event.delivery.accept()
    (frame,) = peer.take()
    assert (frame.first, frame.settled, frame.state) == (0, True, A)
    assert link.unsettled == {}


def test_a_map_with_a_tag_twice_is_refused() -> None:
    twice = amqp.Map([(b"t", None), (b"t", None)])
    peer = Peer()
    peer.mapped()
    requested, closed = peer.give(attach(unsettled=twice))
    assert kinds([requested, closed]) == [v1.LinkRequested, v1.LinkClosed]
    assert closed.error.condition == "amqp:invalid-field"
    requested.link.accept()


# --- incomplete maps (§2.7.3) ---------------------------------------------------------------------


def test_no_new_deliveries_while_the_receivers_map_is_incomplete() -> None:
    incomplete = {"unsettled": {b"2": R(1, 0)}, "incomplete_unsettled": True}
    pair, sender, receiver = attached({"unsettled": {b"1": None, b"2": None}}, incomplete)
    for call in (
        lambda: sender.send(MESSAGE),
        lambda: sender.send(MESSAGE, tag=b"1"),
        lambda: sender.begin_delivery(),
        lambda: sender.resume(b"1", MESSAGE),
    ):
        with pytest.raises(LocalProtocolError, match="incomplete"):
            call()
    sender.resume(b"2", MESSAGE)
    pair.pump()
    pair.one(v1.DeliveryReceived, server=True).delivery.accept()
    pair.pump()
    assert sender.unsettled_map == {b"1": None}
    receiver.detach(closed=False)
    pair.pump()
    sender, _ = resumed(pair, sender, receiver)
    sender.resume(b"1", MESSAGE)
    pair.pump()
    assert pair.one(v1.DeliveryReceived, server=True).delivery.message == MESSAGE


def test_a_receiver_with_an_incomplete_map_takes_no_new_delivery() -> None:
    peer, _ = receiving({b"t": None}, {b"t": None}, incomplete_unsettled=True)
    (event,) = peer.give(first(resume=True))
    assert type(event) is v1.DeliveryReceived
    (event,) = peer.give(amqp.Transfer(0, 1, b"new", 0, payload=b"x"))
    assert (type(event), event.error.condition) == (v1.LinkClosed, "amqp:not-allowed")


def test_what_an_incomplete_map_lacks_is_not_forgotten() -> None:
    incomplete = {"unsettled": {}, "incomplete_unsettled": True}
    _, _, receiver = attached(incomplete, {"unsettled": {b"t": None}})
    assert receiver.unsettled_map == {b"t": None}
    assert receiver.resumptions[b"t"].action is ACTION.UNKNOWN


def test_a_link_that_is_refused_forgets_nothing() -> None:
    pair = Pair(handler=quiet).opened()
    session = pair.session()
    pair.handler = lambda event: event.link.refuse("amqp:not-found")
    link = session.attach_receiver("N", "X", unsettled={b"t": R(0, 5)})
    pair.pump()
    assert kinds(pair.client_events) == [v1.LinkClosed]
    assert link.unsettled_map == {b"t": R(0, 5)}


def test_a_map_that_does_not_fit_into_a_frame() -> None:
    pair = Pair({}, {"max_frame_size": 512}, handler=quiet).opened()
    session = pair.session()
    many = {b"%d" % number: None for number in range(1000)}
    with pytest.raises(LocalProtocolError, match="incomplete_unsettled"):
        session.attach_sender("N", "Y", unsettled=many)
    few = dict(list(many.items())[:50])
    link = session.attach_sender("N", "Y", unsettled=few, incomplete_unsettled=True)
    pair.pump()
    assert link.state == "ATTACHED"


def test_options_that_are_wrong() -> None:
    pair, sender, receiver = attached({}, {})
    for wrong in (receiver, 5):
        with pytest.raises(TypeError):
            sender.session.attach_sender("x", "y", unsettled=wrong)
    with pytest.raises(LocalProtocolError, match="delivery tags"):
        sender.session.attach_sender("x", "y", unsettled={"t": None})
    assert pair.client.data_to_send() == b""


# --- positions ------------------------------------------------------------------------------------


def test_positions_count_sections_as_messages_do() -> None:
    for count in range(len(BYTES) + 1):
        position = position_after(BYTES[:count])
        assert offset_of(BYTES, position) == count
        assert offset_of(BYTES[:count], position) == count
    for number, _, offset, length in MESSAGE.sections():
        assert position_after(BYTES[:offset]) == R(number, 0)
        assert offset_of(BYTES, R(number, length)) == offset + length
        assert offset_of(BYTES, R(number, length + 1)) is None
    assert offset_of(BYTES, R(len(MESSAGE.sections()) + 1, 0)) is None
    assert position_after(BYTES[:5], R(2, 0)) == R(2, 5)
    assert position_after(BYTES[:5], R(2, 7)) == R(2, 7), "its section's end is not known"


@pytest.mark.parametrize("data", [b"A" * 50, b"\0" * 50, b"\0\x53\x75\xb0\xff\xff\xff\xff", b"\0S"])
def test_positions_in_what_is_no_message(data: bytes) -> None:
    assert position_after(data) == R(0, len(data))
    assert offset_of(data, R(0, len(data))) == len(data)


# --- many -----------------------------------------------------------------------------------------


def test_maps_of_many_tags_and_a_delivery_in_many_parts() -> None:
    """All are resumed; "1.0 session: resumed deliveries" of `make linear-test` counts the cost."""
    count = 2000
    states = {b"%06d" % number: None for number in range(count)}
    big = {"max_frame_size": 1 << 24, "limits": v1.Limits(frame_size=1 << 24)}
    pair, sender, receiver = attached(
        {"unsettled": states}, {"unsettled": states}, client=big, server=big
    )
    receiver.flow(count + 1)
    pair.pump()
    for tag in states:
        sender.send(b"x", tag=tag, resume=True)
    part = sender.begin_delivery()
    for _ in range(count):
        part.write(b"y" * 10)
    pair.pump()
    assert len(receiver.unsettled) == count + 1
    assert len(receiver.unsettled_map) == count + 1
    assert receiver.partial.size == count * 10
