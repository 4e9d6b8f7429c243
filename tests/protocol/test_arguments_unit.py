"""What is passed to the functions and decoders of 0-x: unusual but good, and refused."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from amqpcodec import EncodeError, IncompleteError, ValidationError
from amqpcodec import v0_9_1 as amqp
from tests.support import amqp091_wire as w


class Number(int):
    """An int of a program's own."""


def test_ints_of_a_programs_own() -> None:
    ack = amqp.Basic.Ack(1)
    assert amqp.encode(Number(7), ack) == amqp.encode(7, ack)
    header = amqp.Header(Number(5), weight=True)
    assert amqp.encode(1, header) == amqp.encode(1, amqp.Header(5, weight=1))
    publish = amqp.Basic.Publish(routing_key="r")
    assert amqp.encode_message(Number(7), publish, body=b"x", frame_max=Number(4096)) == (
        amqp.encode_message(7, publish, body=b"x", frame_max=4096)
    )


@pytest.mark.parametrize("frame_max", [2**31, 2**32 - 1, 2**32 + 7])
def test_a_frame_size_beyond_32_bits_is_the_highest(frame_max: int) -> None:
    publish = amqp.Basic.Publish(routing_key="r")
    assert amqp.encode_message(1, publish, body=b"x", frame_max=frame_max) == (
        amqp.encode_message(1, publish, body=b"x", frame_max=0)
    )


@pytest.mark.parametrize("frame_max", [-1, 2**32 + 8, 4096.0, "4096"])
def test_no_frame_size(frame_max: Any) -> None:
    with pytest.raises(EncodeError, match=r"frame_max: takes 0 \(no limit\)"):
        amqp.encode_message(1, amqp.Basic.Publish(), frame_max=frame_max)


def test_a_header_of_a_class_without_content() -> None:
    with pytest.raises(EncodeError, match=r"header\.class_id: class 10 carries no content"):
        amqp.encode(1, amqp.Header(class_id=10))


def test_messages_are_validated_if_asked() -> None:
    publish = amqp.Basic.Publish(exchange="a b")
    properties = amqp.Basic.Properties(content_type="text/plain")
    with pytest.raises(ValidationError, match=r"basic\.publish\.exchange"):
        amqp.encode_message(1, publish, properties, validate=True)
    publish = amqp.Basic.Publish(exchange="a")
    assert amqp.encode_message(1, publish, properties, validate=True) == (
        amqp.encode_message(1, publish, properties)
    )
    assert amqp.encode_message(1, publish, validate=True) == amqp.encode_message(1, publish)


@pytest.mark.parametrize("make", [lambda: amqp.PROTOCOL, amqp.Decoder, amqp.MessageDecoder])
def test_neither_protocols_nor_decoders_are_pickled(make: Callable[[], Any]) -> None:
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(make())


def test_limits_are_told() -> None:
    assert amqp.MessageDecoder(max_body_size=5).max_body_size == 5
    assert amqp.MessageDecoder().max_body_size is None


@pytest.mark.parametrize("open_with", [1, 2])
def test_the_end_inside_of_a_message(open_with: int) -> None:
    """After the method, or after header and a first body frame."""
    data = amqp.encode_message(
        3, amqp.Basic.Deliver("t", 1, False, "e", "r"), body=b"x" * 5000, frame_max=4096
    )
    frames = [amqp.encode(channel, frame) for channel, frame in amqp.Decoder().feed(data)]
    decoder = amqp.MessageDecoder()
    assert list(decoder.feed(b"".join(frames[: 2 * open_with - 1]))) == []
    with pytest.raises(IncompleteError, match="inside a message") as caught:
        decoder.eof()
    assert (caught.value.channel, caught.value.method) == (3, "basic.deliver")


@pytest.mark.parametrize("make", [amqp.Decoder, amqp.MessageDecoder])
def test_the_memory_of_a_large_frame_in_pieces_is_given_back(make: Any) -> None:
    decoder = make(0)
    frame = w.frame(8, 0, b"") if make is amqp.MessageDecoder else w.body_frame(1, b"x" * 3_000_000)
    queue = amqp.encode(1, amqp.Queue.Bind(arguments={"k": "x" * 3_000_000}))
    for data in (frame, queue, frame):
        events = [
            event for part in (data[: len(data) - 1], data[-1:]) for event in decoder.feed(part)
        ]
        assert len(events) == 1
        assert decoder.pending == 0
