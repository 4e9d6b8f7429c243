"""Bodies of every size that matters, through every way in and out of the codec."""

from __future__ import annotations

import random

import pytest

from amqpcodec import v0_9_1 as amqp

FIVE_MB = 5_000_000
NOISE = random.Random(9).randbytes(FIVE_MB)


def sizes(frame_max):
    """Empty, one octet, one full frame, one octet more than a frame, and many frames."""
    return (0, 1, frame_max - 8, frame_max - 7, FIVE_MB)


@pytest.mark.parametrize("copy", [True, False], ids=["copy", "views"])
@pytest.mark.parametrize("whole", [False, True], ids=["frames", "messages"])
@pytest.mark.parametrize("frame_max", [131072, 4096])
def test_bodies(connect, frame_max, whole, copy):
    client = connect(handshake={"frame_max": frame_max}, whole=whole, copy=copy)
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
    """What sendmsg gets is what send gets; the body's octets are not among what was copied."""
    for size in sizes(frame_max):
        body = bytearray(NOISE[:size])
        content = (3, amqp.Basic.Publish(routing_key="k"), amqp.Basic.Properties(type="t"), body)
        parts = amqp.encode_parts(*content, frame_max=frame_max)
        assert b"".join(parts) == amqp.encode_message(*content, frame_max=frame_max)
        if size > 1000:
            views = [part for part in parts if isinstance(part, memoryview)]
            assert sum(len(view) for view in views) >= size
            before = bytes(views[0][:1])
            body[0] ^= 0xFF
            assert bytes(views[0][:1]) != before


def test_consumed_in_a_stream(connect):
    """Many messages of mixed sizes pushed by the broker, cut by TCP as it likes."""
    client = connect(whole=True)
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


def test_views_outlive_the_next_chunk(connect):
    """copy=False: a payload kept for later still shows its own octets."""
    client = connect(copy=False)
    client.open_channel()
    queue = client.declare()
    for number in range(20):
        client.publish(1, bytes([number]) * 5000, routing_key=queue)
    client.call(1, amqp.Basic.Consume(queue=queue, no_ack=True), amqp.Basic.ConsumeOk)
    kept = []
    for _ in range(20):
        client.expect(1, amqp.Basic.Deliver)
        client.expect(1, amqp.Header)
        kept.append(client.expect(1, amqp.Body).payload)
    assert all(type(payload) is memoryview and payload.readonly for payload in kept)
    assert kept == [bytes([number]) * 5000 for number in range(20)]
