"""MessageDecoder joins transfers; encode_message splits a delivery over them."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from amqpcodec import DecodeError, EncodeError, IncompleteError, ResourceLimitError
from amqpcodec import v1_0 as amqp

OPEN = amqp.PROTOCOL_HEADER + amqp.encode(0, amqp.Open("me"))
BODY = bytes(range(256)) * 20
MESSAGE = amqp.Message(BODY, subject="big")
PAYLOAD = MESSAGE.encode()


def transfer(payload: bytes = b"", channel: int = 1, handle: int = 0, **fields: Any) -> bytes:
    return amqp.encode(channel, amqp.Transfer(handle=handle, **fields), payload)


def events(octets: bytes, **options: Any) -> list[Any]:
    decoder = amqp.MessageDecoder(opened=True, **options)
    return [event for _, event in decoder.feed(octets)]


def test_one_transfer_is_a_delivery() -> None:
    octets = transfer(PAYLOAD, delivery_id=5, delivery_tag=b"t", settled=True)
    (delivery,) = events(octets)
    assert type(delivery) is amqp.Delivery
    assert (delivery.transfer.delivery_id, delivery.transfer.delivery_tag) == (5, b"t")
    assert (delivery.message, delivery.payload, delivery.settled) == (MESSAGE, PAYLOAD, True)
    assert (delivery.state, delivery.position) == (None, None)


@pytest.mark.parametrize("frame_max", [512, 513, 600, 1000, 5000, 5199, 5200, 131072, 0])
@pytest.mark.parametrize("copy", [True, False])
def test_split_and_joined(frame_max: int, copy: bool) -> None:
    first = amqp.Transfer(handle=3, delivery_id=9, delivery_tag=b"tag", settled=False)
    octets = amqp.encode_message(2, first, MESSAGE, frame_max)
    frames = [frame for _, frame in amqp.Decoder(frame_max, opened=True).feed(octets)]
    assert [frame.more for frame in frames] == [True] * (len(frames) - 1) + [False]
    assert b"".join(frame.payload for frame in frames) == PAYLOAD
    assert frames[0].message_format == 0
    assert all(len(amqp.encode(2, frame)) <= (frame_max or 10**6) for frame in frames)
    if frame_max:  # no more frames than are needed
        assert all(len(amqp.encode(2, frame)) == frame_max for frame in frames[:-1])
    decoder = amqp.MessageDecoder(frame_max, opened=True, copy=copy)
    deliveries = []
    for n in range(0, len(octets), 777):
        deliveries += decoder.feed(octets[n : n + 777])
    ((channel, delivery),) = deliveries
    assert (channel, delivery.transfer.handle, delivery.message) == (2, 3, MESSAGE)
    assert delivery.settled is False
    assert b"".join(delivery.message.data) == BODY
    decoder.eof()


@pytest.mark.parametrize("size", [0, 1, 460, *range(470, 500), 980, 1000])
def test_split_at_every_border(size: int) -> None:
    first = amqp.Transfer(handle=0, delivery_id=0, delivery_tag=b"t")
    octets = amqp.encode_message(0, first, b"x" * size, 512)
    frames = [frame for _, frame in amqp.Decoder(512, opened=True).feed(octets)]
    assert [frame.more for frame in frames] == [True] * (len(frames) - 1) + [False]
    assert all(frame.payload for frame in frames[1:])
    assert b"".join(frame.payload for frame in frames) == b"x" * size


def test_what_encode_message_takes() -> None:
    first = amqp.Transfer(handle=0, delivery_id=0, delivery_tag=b"t", payload=b"own")
    assert amqp.decode(amqp.encode_message(0, first))[2].payload == b"own"
    assert first.payload == b"own"
    for arguments, what in (
        ((0, amqp.Open(), b""), "takes a Transfer"),
        ((0, first, b"x", 511), "at least 512"),
        ((0, first, "x"), "takes bytes, not str"),
        ((0, amqp.Transfer(handle=0, delivery_tag=b"t" * 600), b"x", 512), "do not hold"),
    ):
        with pytest.raises(EncodeError, match=what):
            amqp.encode_message(*arguments)


def split(octets: bytes, pieces: int) -> list[bytes]:
    step = -(-len(octets) // pieces)
    return [octets[n : n + step] for n in range(0, len(octets), step)]


def test_links_and_channels_are_apart() -> None:
    one = [
        transfer(p, 1, 0, delivery_id=0, delivery_tag=b"a", more=i < 2)
        for i, p in enumerate(split(PAYLOAD, 3))
    ]
    two = [
        transfer(p, 1, 1, delivery_id=1, delivery_tag=b"b", more=i < 2)
        for i, p in enumerate(split(PAYLOAD, 3))
    ]
    other = [
        transfer(p, 2, 0, delivery_id=0, delivery_tag=b"c", more=i < 2)
        for i, p in enumerate(split(PAYLOAD, 3))
    ]
    for order in itertools.permutations((one, two, other)):
        octets = b"".join(itertools.chain.from_iterable(zip(*order, strict=True)))
        deliveries = events(octets)
        assert [e.message for e in deliveries] == [MESSAGE] * 3
        assert {e.transfer.delivery_tag for e in deliveries} == {b"a", b"b", b"c"}


def test_later_transfers_need_not_say_what_the_first_said() -> None:
    pieces = split(PAYLOAD, 3)
    octets = transfer(pieces[0], delivery_id=1, delivery_tag=b"t", message_format=0, more=True)
    octets += transfer(pieces[1], more=True, state=amqp.Received(0, 0)) + transfer(
        pieces[2], settled=True
    )
    (delivery,) = events(octets)
    assert (delivery.payload, delivery.settled) == (PAYLOAD, True)
    assert delivery.state == amqp.Received(0, 0)


def test_other_performatives_pass_through() -> None:
    others = [
        amqp.Begin(next_outgoing_id=0, incoming_window=1, outgoing_window=1),
        amqp.Attach(name="l", handle=0, role=amqp.Role.SENDER),
        amqp.Flow(incoming_window=1, next_outgoing_id=0, outgoing_window=1),
        amqp.Disposition(role=True, first=0, state=amqp.Accepted(), settled=True),
        amqp.Detach(handle=0, closed=True),
        amqp.End(),
        amqp.Heartbeat(),
        amqp.Close(),
    ]
    octets = b"".join(amqp.encode(1, other) for other in others)
    assert events(octets) == others
    assert [e for _, e in amqp.MessageDecoder().feed(OPEN + octets)][2:] == others


def test_aborted_deliveries_are_dropped() -> None:
    half = transfer(PAYLOAD[:100], delivery_id=1, delivery_tag=b"t", more=True)
    complete = transfer(PAYLOAD, delivery_id=2, delivery_tag=b"u")
    assert [e.payload for e in events(half + transfer(b"junk", aborted=True) + complete)] == [
        PAYLOAD
    ]
    assert [e.payload for e in events(transfer(delivery_id=1, aborted=True) + complete)] == [
        PAYLOAD
    ]


@pytest.mark.parametrize(
    "end", [amqp.Detach(handle=0), amqp.End(), amqp.Close()], ids=lambda end: type(end).__name__
)
def test_what_is_cut_off_gives_no_delivery(end: Any) -> None:
    half = transfer(PAYLOAD[:100], delivery_id=1, delivery_tag=b"t", more=True)
    decoder = amqp.MessageDecoder(opened=True)
    performatives = [e for _, e in decoder.feed(half + amqp.encode(1, end))]
    assert performatives == [end]
    decoder.eof()
    assert [e.payload for _, e in decoder.feed(transfer(PAYLOAD, delivery_id=2))] == [PAYLOAD]


def test_another_delivery_inside_of_one() -> None:
    half = transfer(PAYLOAD[:100], delivery_id=1, delivery_tag=b"t", more=True)
    for fields in ({"delivery_id": 2}, {"delivery_tag": b"u"}, {"message_format": 1}):
        decoder = amqp.MessageDecoder(opened=True)
        with pytest.raises(DecodeError, match="another delivery begins") as caught:
            list(decoder.feed(half + transfer(b"x", **fields) + transfer(PAYLOAD, delivery_id=3)))
        assert (caught.value.scope, caught.value.condition) == ("channel", "amqp:illegal-state")
        assert (caught.value.channel, caught.value.method) == (1, "transfer")
        assert [e.payload for _, e in decoder.feed()] == [PAYLOAD]


def test_the_end_of_the_stream_inside_of_a_delivery() -> None:
    decoder = amqp.MessageDecoder(opened=True)
    assert list(decoder.feed(transfer(b"x", delivery_id=1, more=True))) == []
    with pytest.raises(IncompleteError, match="a delivery") as caught:
        decoder.eof()
    assert caught.value.channel == 1
    assert decoder.discard(1, 0) is True
    assert decoder.discard(1, 0) is False
    decoder.eof()
    payloads = [
        e.payload for _, e in decoder.feed(transfer(b"y") + transfer(PAYLOAD, delivery_id=2))
    ]
    assert payloads == [PAYLOAD]


def test_messages_over_the_limit() -> None:
    limit = len(PAYLOAD) - 1
    for pieces in (1, 3):
        parts = split(PAYLOAD, pieces)
        octets = b"".join(
            transfer(p, delivery_id=1, more=i < len(parts) - 1) for i, p in enumerate(parts)
        )
        small = transfer(b"\0\x53\x77\x40", delivery_id=2)
        decoder = amqp.MessageDecoder(opened=True, max_message_size=limit)
        with pytest.raises(DecodeError, match=f"message of {len(PAYLOAD)} bytes exceeds") as caught:
            list(decoder.feed(octets + small))
        assert caught.value.condition == "amqp:link:message-size-exceeded"
        assert [e.message.value for _, e in decoder.feed()] == [None]
        assert decoder.max_message_size == limit
        bad, after = events(octets + small, max_message_size=limit, errors="frame")
        assert type(bad) is amqp.BadFrame
        assert after.message.value is None
    assert len(events(transfer(PAYLOAD, delivery_id=1), max_message_size=limit + 1)) == 1


def test_resumed_inside_of_a_section_is_no_message() -> None:
    state = amqp.Received(3, 17)
    (delivery,) = events(transfer(b"rest of it", delivery_id=1, resume=True, state=state))
    assert (delivery.message, delivery.payload, delivery.position) == (None, b"rest of it", state)
    parts = transfer(b"re", delivery_id=1, resume=True, state=state, more=True) + transfer(b"st")
    (delivery,) = events(parts)
    assert (delivery.message, delivery.payload, delivery.position) == (None, b"rest", state)


def test_resumed_with_its_outcome_alone_is_an_event() -> None:
    (delivery,) = events(transfer(delivery_id=1, resume=True, state=amqp.Accepted()))
    assert (delivery.message, delivery.payload, delivery.state) == (None, b"", amqp.Accepted())
    assert delivery.position is None


def test_resumed_from_its_beginning_is_a_message() -> None:
    (delivery,) = events(transfer(PAYLOAD, delivery_id=1, resume=True))
    assert delivery.message == MESSAGE


def test_only_format_0_is_a_message() -> None:
    (delivery,) = events(transfer(b"\xff\xff", delivery_id=1, message_format=0x00010000))
    assert (delivery.message, delivery.payload) == (None, b"\xff\xff")
    assert delivery.transfer.message_format == 0x00010000


def test_a_payload_that_is_no_message() -> None:
    good = transfer(PAYLOAD, delivery_id=2)
    decoder = amqp.MessageDecoder(opened=True)
    with pytest.raises(DecodeError, match="a section is a described value"):
        list(decoder.feed(transfer(b"junk", delivery_id=1) + good))
    assert [e.payload for _, e in decoder.feed()] == [PAYLOAD]
    lazy = transfer(bytes.fromhex("005374c1020140"), delivery_id=1)
    (delivery,) = events(lazy)
    with pytest.raises(DecodeError):
        _ = delivery.message.application_properties
    with pytest.raises(DecodeError):
        events(lazy, eager=True)


def test_byte_by_byte() -> None:
    octets = OPEN + amqp.encode_message(0, amqp.Transfer(handle=0, delivery_id=0), MESSAGE, 512)
    octets += transfer(PAYLOAD, delivery_id=1)
    decoder = amqp.MessageDecoder()
    decoded_events: list[Any] = []
    for n in range(len(octets)):
        decoded_events += decoder.feed(octets[n : n + 1])
    assert decoded_events == list(amqp.MessageDecoder().feed(octets))
    assert [type(e).__name__ for _, e in decoded_events] == [
        "ProtocolHeader",
        "Open",
        "Delivery",
        "Delivery",
    ]


@pytest.mark.parametrize("end", [None, amqp.Detach(handle=2), amqp.End(), amqp.Close()])
def test_max_open(end: Any) -> None:
    """One delivery too many is passed over in silence; others that end make room."""
    decoder = amqp.MessageDecoder(opened=True, max_open=2)
    assert decoder.max_open == 2
    first = b"".join(transfer(b"x", handle=handle, more=True) for handle in (1, 2))
    assert list(decoder.feed(first)) == []
    with pytest.raises(ResourceLimitError, match="more than 2 deliveries") as caught:
        list(decoder.feed(transfer(b"y", handle=3, more=True) + transfer(b"z", handle=3)))
    error = caught.value
    assert (error.condition, error.channel) == ("amqp:resource-limit-exceeded", 1)
    if end is None:
        assert decoder.discard(1, 2) is True
    else:
        assert [event for _, event in decoder.feed(amqp.encode(1, end))] == [end]
    again = transfer(PAYLOAD[:9], handle=3, more=True) + transfer(PAYLOAD[9:], handle=3)
    assert [event.payload for _, event in decoder.feed(again)] == [PAYLOAD]


def test_no_limit_of_deliveries() -> None:
    assert amqp.MessageDecoder().max_open == 65536
    decoder = amqp.MessageDecoder(opened=True, max_open=None)
    assert decoder.max_open is None
    links = range(300)
    for part, more in ((PAYLOAD[:9], True), (PAYLOAD[9:], False)):
        data = b"".join(transfer(part, handle=handle, more=more) for handle in links)
        payloads = [event.payload for _, event in decoder.feed(data)]
    assert payloads == [PAYLOAD] * len(links)
    with pytest.raises(ValueError, match="max_open is None or a number from 1"):
        amqp.MessageDecoder(max_open=0)


def test_another_delivery_that_is_aborted_at_once() -> None:
    """Where `aborted` is set, `more` says nothing: the next transfer is a delivery of its own."""
    half = transfer(PAYLOAD[:100], delivery_id=1, more=True)
    aborted = transfer(delivery_id=2, more=True, aborted=True)
    bad, after = events(half + aborted + transfer(PAYLOAD, delivery_id=3), errors="frame")
    assert "another delivery begins" in str(bad.error)
    assert after.payload == PAYLOAD


def test_deliveries_over_the_limit_make_room() -> None:
    """One whose last transfer passes the limit is closed once, not twice."""
    limit = len(PAYLOAD)
    decoder = amqp.MessageDecoder(opened=True, max_message_size=limit, max_open=1, errors="frame")
    large = transfer(PAYLOAD, delivery_id=1, more=True) + transfer(b"x")
    whole = transfer(PAYLOAD[:9], delivery_id=2, more=True) + transfer(PAYLOAD[9:])
    for _ in range(3):
        (bad,) = (event for _, event in decoder.feed(large))
        assert f"exceeds max_message_size {limit}" in str(bad.error)
        assert [event.payload for _, event in decoder.feed(whole)] == [PAYLOAD]


def test_what_follows_a_part_over_the_limit_is_passed_over() -> None:
    """More was to come of the delivery: what comes is none of the next one's."""
    decoder = amqp.MessageDecoder(
        opened=True, max_message_size=len(PAYLOAD), max_open=1, errors="frame"
    )
    part, end = transfer(PAYLOAD + b"x", delivery_id=1, more=True), transfer(b"y")
    for following in (end, transfer(b"y", more=True) + end):
        (bad,) = (event for _, event in decoder.feed(part + following))
        assert f"of {len(PAYLOAD) + 1} bytes exceeds max_message_size" in str(bad.error)
        (delivery,) = (event for _, event in decoder.feed(transfer(PAYLOAD, delivery_id=2)))
        assert delivery.payload == PAYLOAD
