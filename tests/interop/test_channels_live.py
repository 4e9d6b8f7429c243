"""Several channels on one connection, their contents woven into each other."""

from __future__ import annotations

import random

import pytest

from amqpcodec import v0_9_1 as amqp

CHANNELS = (1, 2, 3, 250, 2047)


def frames_of(channel, queue, body, piece):
    """The frames of one message, its body cut into pieces of that many bytes."""
    properties = amqp.Basic.Properties(headers={"channel": channel})
    yield amqp.encode(channel, amqp.Basic.Publish(routing_key=queue))
    yield amqp.encode(channel, amqp.Header(len(body), properties))
    for place in range(0, len(body), piece):
        yield amqp.encode(channel, amqp.Body(body[place : place + piece]))


def weave(rng, streams):
    """One list of all streams' items: each in its own order, the streams at random."""
    streams = [list(stream) for stream in streams]
    woven = []
    while any(streams):
        woven.append(rng.choice([stream for stream in streams if stream]).pop(0))
    return woven


@pytest.mark.parametrize("as_messages", [False, True], ids=["frames", "messages"])
def test_contents_of_channels_interleaved(connect, as_messages):
    """Frame by frame mixed on the way in; and the broker's deliveries assembled by channel."""
    client = connect(as_messages=as_messages)
    rng = random.Random(2)
    bodies, queues = {}, {}
    for channel in CHANNELS:
        client.open_channel(channel)
        queues[channel] = client.declare(channel)
        bodies[channel] = rng.randbytes(rng.randrange(20_000, 60_000))
    streams = [
        frames_of(channel, queues[channel], bodies[channel], 500 + channel) for channel in CHANNELS
    ]
    woven = weave(rng, streams)
    assert len(woven) > 100
    client.send_octets(b"".join(woven))
    for channel in CHANNELS:
        client.wait_for_count(queues[channel], 1, channel)
        message = client.get(queues[channel], channel)
        assert message.body == bodies[channel]
        assert message.properties.headers == {"channel": channel}


def test_woven_stream_decodes_by_channel(connect):
    """What the broker was given above, through our own decoder: one message a channel."""
    rng = random.Random(3)
    bodies = {channel: rng.randbytes(10_000) for channel in CHANNELS}
    streams = [frames_of(channel, "q", bodies[channel], 700) for channel in CHANNELS]
    stream = b"".join(weave(rng, streams))
    decoder = amqp.MessageDecoder()
    got = {}
    for start in range(0, len(stream), 1000):
        for channel, message in decoder.feed(stream[start : start + 1000]):
            assert channel not in got
            got[channel] = message.body
    decoder.eof()
    assert got == bodies


@pytest.mark.parametrize("as_messages", [False, True], ids=["frames", "messages"])
def test_consumers_on_many_channels(connect, as_messages):
    """Deliveries of five consumers arrive mixed; every one has its channel's own tags in order."""
    client = connect(handshake={"frame_max": 4096}, as_messages=as_messages)
    queues = {}
    for channel in CHANNELS:
        client.open_channel(channel)
        queues[channel] = client.declare(channel)
        consume = amqp.Basic.Consume(queue=queues[channel], no_ack=True)
        client.call(channel, consume, amqp.Basic.ConsumeOk)
    body = {channel: bytes([channel % 256]) * 9000 for channel in CHANNELS}
    streams = [
        [
            amqp.encode_message(
                channel,
                amqp.Basic.Publish(routing_key=queues[channel]),
                amqp.Basic.Properties(priority=number),
                body[channel],
                frame_max=4096,
            )
            for number in range(4)
        ]
        for channel in CHANNELS
    ]
    client.send_octets(b"".join(weave(random.Random(4), streams)))
    assembled = {channel: [] for channel in CHANNELS}
    open_contents = {}
    while sum(map(len, assembled.values())) < 4 * len(CHANNELS):
        channel, event = client.receive()
        if type(event) is amqp.Message:
            assembled[channel].append((event.method, event.properties, event.body))
        elif type(event) is amqp.Basic.Deliver:
            open_contents[channel] = [event, None, b""]
        elif type(event) is amqp.Header:
            open_contents[channel][1] = event.properties
        else:
            open_contents[channel][2] += event.payload
            if len(open_contents[channel][2]) == 9000:
                assembled[channel].append(tuple(open_contents.pop(channel)))
    for channel, messages in assembled.items():
        assert [method.delivery_tag for method, _, _ in messages] == [1, 2, 3, 4]
        assert [properties.priority for _, properties, _ in messages] == [0, 1, 2, 3]
        assert all(content == body[channel] for _, _, content in messages)


def test_one_channel_closes_within_anothers_content(client):
    """An error on one channel leaves the half-sent content of another as it is."""
    client.open_channel(2)
    queue = client.declare(2)
    client.send(2, amqp.Basic.Publish(routing_key=queue), amqp.Header(6), amqp.Body(b"abc"))
    client.send(1, amqp.Queue.Declare(queue="nonesuch", passive=True))
    assert client.expect_channel_close(1).reply_code == 404
    client.send(2, amqp.Body(b"def"))
    assert client.get(queue, 2).body == b"abcdef"


def test_channel_number_is_used_again(client):
    for _ in range(3):
        close = amqp.Channel.Close(reply_code=200)
        client.call(1, close, amqp.Channel.CloseOk)
        client.open_channel(1)
    queue = client.declare()
    client.publish(1, b"x", routing_key=queue)
    assert client.get(queue).method.delivery_tag == 1
