"""NumPy's scalars as arguments of sessions' calls, as Python's own numbers, text and bytes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from amqpcodec import v0_9_1, v1_0
from amqpcodec.session import Acked, Delivered, Replied, v1
from tests.support.session_pair import opened
from tests.support.session_v1_pair import Pair as V1Pair

np = pytest.importorskip("numpy")

INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


@pytest.fixture(autouse=True)
def overflows_are_errors() -> Iterator[None]:
    """NumPy only warns where a sum of small integers overflows."""
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        yield


def plain(value: Any) -> bool:
    """Whether no scalar of NumPy is in it."""
    return not isinstance(value, np.generic)


def test_calls_of_a_channel() -> None:
    pair = opened()
    mine = pair.client.open_channel()
    pair.pump()
    mine.declare_queue(np.str_("q"), durable=np.bool_(True), arguments={"x-n": np.int16(5)})
    mine.qos(prefetch_count=np.uint16(7), global_=np.bool_(False))
    pair.pump()
    requests = [event.request.method for event in pair.take("client") if isinstance(event, Replied)]
    assert [method.NAME for method in requests] == ["queue.declare", "basic.qos"]
    assert (requests[0].queue, requests[0].durable) == ("q", True)
    mine.confirm()
    properties = v0_9_1.Basic.Properties(priority=np.uint8(3), headers={"k": np.float64(0.5)})
    mine.publish(np.str_(""), np.str_("q"), np.bytes_(b"body"), properties)
    mine.publish("", "q", np.arange(3, dtype="uint8"), properties)
    pair.pump()
    acked = [event for event in pair.take("client") if isinstance(event, Acked)]
    assert [tag for event in acked for tag in event.tags] == [1, 2]
    messages = [event.message for event in pair.take("server") if hasattr(event, "message")]
    assert [bytes(message.body) for message in messages] == [b"body", b"\0\1\2"]


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("multiple", [True, False])
@pytest.mark.parametrize("call", ["ack", "nack", "reject"])
def test_tags(kind: Any, multiple: bool, call: str) -> None:
    """Up to the largest number of a type, after which a sum would overflow."""
    if call == "reject" and multiple:
        return
    pair = opened()
    mine, theirs = pair.channel()
    mine.consume("q", "c")
    pair.pump()
    last = 127 if kind is np.int8 else 255
    for _ in range(last + 3):
        theirs.send(v0_9_1.Basic.Deliver("c", theirs.deliveries.last + 1), None, b"")
    pair.pump()
    deliveries = [event for event in pair.take("client") if isinstance(event, Delivered)]
    assert len(deliveries) == last + 3
    more = {"multiple": np.bool_(multiple)} if call != "reject" else {}
    getattr(mine, call)(kind(last), **more)
    pair.pump()
    settled = last if multiple else 1
    assert len(mine.deliveries) == len(theirs.deliveries) == last + 3 - settled
    assert all(map(plain, mine.deliveries))
    mine.ack(0, multiple=True)
    pair.pump()
    assert len(mine.deliveries) == len(theirs.deliveries) == 0


@pytest.mark.parametrize("kind", INTEGERS)
def test_credit_and_deliveries_of_1_0(kind: Any) -> None:
    def take(event: Any) -> None:
        match event:
            case v1.SessionRequested(session):
                session.accept()
            case v1.LinkRequested(link):
                link.accept()
                if isinstance(link, v1.Receiver) and link.state == "ATTACHED":
                    link.flow(kind(100))
            case v1.DeliveryReceived(_, delivery) if not delivery.settled:
                delivery.accept()

    pair = V1Pair(handler=take)
    pair.pump()
    sender = pair.client.begin().attach_sender(np.str_("link"), np.str_("target"))
    pair.pump()
    assert sender.credit == 100
    for number in range(90):
        message = v1_0.Message(
            np.bytes_(b"x"),
            durable=np.bool_(True),
            priority=kind(3),
            application_properties={"k": kind(number)},
        )
        sender.send(message, tag=np.bytes_(b"%d" % number), message_format=kind(0))
    pair.pump()
    assert sender.credit == 10
    assert plain(sender.credit)
    (receiver,) = [link for session in pair.server.sessions for link in session.links]
    receiver.flow(kind(120))
    pair.pump()
    assert sender.credit == receiver.credit == 120
    assert all(map(plain, (sender.credit, receiver.credit)))


def test_options() -> None:
    options = {
        "heartbeat": np.uint8(200),
        "channel_max": np.uint8(255),
        "frame_max": np.uint16(65535),
    }
    pair = opened(client=options, server=options)
    for end in (pair.client, pair.server):
        agreed = (end.heartbeat, end.channel_max, end.frame_max)
        assert agreed == (200, 255, 65535)
        assert all(map(plain, agreed))
        end.handle_timeout(0.0)
        assert end.next_timeout(0.0) > 0
    both = V1Pair(client={"max_frame_size": np.uint16(65535), "idle_timeout": np.uint8(200)})
    both.pump()
    assert both.server._frame_size == 65535


@pytest.mark.parametrize("kind", INTEGERS)
def test_numbers_that_calls_keep(kind: Any) -> None:
    """What a property shows is a plain int."""
    names = ("max_header_frame", "max_body_size", "max_requests")
    options = {name: kind(100) for name in names}
    pair = opened(client=options, server=options)
    mine = pair.client.open_channel(kind(5))
    pair.pump()
    assert type(mine.number) is int
    mine.close(kind(100), np.str_("enough"))
    assert mine.close_reason == (100, "enough")
    assert plain(mine.close_reason[0])
    pair.pump()
    pair.client.close(kind(100), np.str_("enough"))
    pair.pump()
    assert pair.client.close_reason == (100, "enough")
    assert plain(pair.client.close_reason[0])
