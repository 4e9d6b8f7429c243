"""Bodies of every size that matters, through every way in and out of the codec."""

from __future__ import annotations

import random

import pytest

from amqpcodec import DecodeError
from amqpcodec import v0_9_1 as amqp

FIVE_MB = 5_000_000
NOISE = random.Random(9).randbytes(FIVE_MB)


def sizes(frame_max):
    """Empty, one byte, one full frame, one byte more than a frame, and many frames."""
    return (0, 1, frame_max - 8, frame_max - 7, FIVE_MB)


WAYS = {"copy": {}, "views": {"copy": False}, "buffered": {"buffered": True}}


@pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))
@pytest.mark.parametrize("as_messages", [False, True], ids=["frames", "messages"])
@pytest.mark.parametrize("frame_max", [131072, 4096])
def test_bodies(connect, frame_max, as_messages, way):
    client = connect(handshake={"frame_max": frame_max}, as_messages=as_messages, **way)
    client.open_channel()
    queue = client.declare()
    client.call(1, amqp.Confirm.Select(), amqp.Confirm.SelectOk)
    for size in sizes(frame_max):
        # A view, so that encode_parts has something that it could have copied needlessly.
        body = memoryview(NOISE)[FIVE_MB - size :]
        for parts in (False, True):
            properties = amqp.Basic.Properties(headers={"size": size, "parts": parts})
            client.publish(1, body, properties, parts=parts, routing_key=queue)
            assert type(client.expect(1, amqp.Basic.Ack)) is amqp.Basic.Ack
            message = client.get(queue)
            assert message.properties.headers == {"size": size, "parts": parts}
            assert len(message.body) == size
            assert message.body == body


@pytest.mark.parametrize("frame_max", [131072, 4096])
def test_parts_are_the_message(frame_max):
    """What sendmsg gets is what send gets; the body's bytes are not among what was copied."""
    for size in sizes(frame_max):
        body = bytearray(NOISE[:size])
        content = (3, amqp.Basic.Publish(routing_key="k"), amqp.Basic.Properties(type="t"), body)
        parts = amqp.encode_parts(*content, frame_max=frame_max)
        octets = b"".join(parts)
        assert octets == amqp.encode_message(*content, frame_max=frame_max)
        # RabbitMQ would let a frame pass that is a few bytes too large; this does not.
        frames = [frame for _, frame in amqp.Decoder(frame_max=frame_max).feed(octets)]
        full, remainder = divmod(size, frame_max - 8)
        lengths = [len(frame.payload) for frame in frames[2:]]
        assert lengths == [frame_max - 8] * full + [remainder] * (remainder > 0)
        if size > 1000:
            views = [part for part in parts if isinstance(part, memoryview)]
            assert sum(len(view) for view in views) >= size
            before = bytes(views[0][:1])
            body[0] ^= 0xFF
            assert bytes(views[0][:1]) != before


def test_consumed_in_a_stream(connect):
    """Many messages of mixed sizes pushed by the broker, cut by TCP as it likes."""
    client = connect(as_messages=True)
    client.open_channel()
    queue = client.declare()
    lengths = [0, 1, 7, 4096, 65_535, 131_064, 131_065, 300_000] * 5
    client.call(1, amqp.Confirm.Select(), amqp.Confirm.SelectOk)
    for number, length in enumerate(lengths):
        properties = amqp.Basic.Properties(message_id=str(number))
        client.publish(1, NOISE[number : number + length], properties, routing_key=queue)
    confirmed = 0
    while confirmed < len(lengths):
        ack = client.expect(1, amqp.Basic.Ack)
        confirmed = max(confirmed, ack.delivery_tag)
    client.call(1, amqp.Basic.Consume(queue=queue, no_ack=True), amqp.Basic.ConsumeOk)
    for number, length in enumerate(lengths):
        message = client.expect_content(1, amqp.Basic.Deliver)
        assert message.properties.message_id == str(number)
        assert message.body == NOISE[number : number + length]


def test_frame_by_frame_sizes(connect):
    """The broker cuts bodies at frame_max - 8, and its full frame is one that we accept."""
    client = connect(handshake={"frame_max": 4096})
    client.open_channel()
    queue = client.declare()
    client.publish(1, NOISE[:10_000], routing_key=queue)
    client.send(1, amqp.Basic.Get(queue=queue, no_ack=True))
    client.expect(1, amqp.Basic.GetOk)
    assert client.expect(1, amqp.Header).body_size == 10_000
    payloads = [client.expect(1, amqp.Body).payload for _ in range(3)]
    assert [len(payload) for payload in payloads] == [4088, 4088, 1824]
    assert b"".join(payloads) == NOISE[:10_000]
    assert client.decoder.pending == 0


def test_body_larger_than_we_want(connect):
    """max_body_size: an error of that channel, with 311; then the rest passes over in silence."""
    client = connect(handshake={"frame_max": 4096}, as_messages=True, max_body_size=1000)
    client.open_channel(1)
    queue = client.declare()
    client.publish(1, NOISE[:20_000], routing_key=queue)
    client.publish(1, NOISE[:1000], routing_key=queue)
    client.send(1, amqp.Basic.Get(queue=queue))
    with pytest.raises(DecodeError) as caught:
        client.receive()
    error = caught.value
    assert (error.reply_code, error.scope, error.channel) == (311, "channel", 1)
    close = amqp.Channel.Close(reply_code=error.reply_code, reply_text="too large")
    client.call(1, close, amqp.Channel.CloseOk)
    client.open_channel(1)
    # The channel's end gave the message back to the queue; take it away unseen.
    client.wait_for_count(queue, 2)
    client.call(1, amqp.Queue.Purge(queue=queue), amqp.Queue.PurgeOk)
    client.publish(1, NOISE[:1000], routing_key=queue)
    assert client.get(queue).body == NOISE[:1000]
    # What was refused is missing in the list, so it cannot equal the stream.
    client.received.clear()
    client.inbound.clear()


def test_views_outlive_the_next_chunk(connect):
    """copy=False: a payload kept for later still shows its own bytes."""
    client = connect(copy=False)
    client.open_channel()
    queue = client.declare()
    for number in range(20):
        client.publish(1, bytes([number]) * 5000, routing_key=queue)
    client.call(1, amqp.Basic.Consume(queue=queue, no_ack=True), amqp.Basic.ConsumeOk)
    payloads = []
    for _ in range(20):
        client.expect(1, amqp.Basic.Deliver)
        client.expect(1, amqp.Header)
        payloads.append(client.expect(1, amqp.Body).payload)
    assert all(type(payload) is memoryview and payload.readonly for payload in payloads)
    assert payloads == [bytes([number]) * 5000 for number in range(20)]
