"""Every recorded conversation, each side played into a session of the other role."""

from __future__ import annotations

import random

import pytest

from amqpcodec import v0_9_1 as amqp
from amqpcodec.session import ChannelClosed, ConnectionClosed, RequestFailed
from tests.paths import shared_dir
from tests.session.recordings import play, recordings

SHARED = shared_dir()
if SHARED is None:
    pytest.skip("no ../shared", allow_module_level=True)
pytest.importorskip("pyarrow")

FILES = sorted(
    path for path in (SHARED / "captures").glob("*.pcap*.gz") if not path.name.startswith("amqp10")
)
LARGE = "bench_small.pcap.gz:"
RECORDED = [one for path in FILES for one in recordings(path)]
PARAMETERS = pytest.mark.parametrize("recorded", RECORDED, ids=[one.name for one in RECORDED])

#: What clients of the recordings do wrong: code of our server, and of RabbitMQ's close (None:
#: none was recorded, or it is told from the client's side only).
FAULTS = {
    "pika_ops.pcap.gz:18": (530, 530),  # a consumer tag twice
    # Tags that nobody knows; RabbitMQ fails in its own code, or passes over them.
    "raw_alltypes.pcap.gz:9": (502, 541),
    "raw_alltypes.pcap.gz:10": (502, None),
    "raw_alltypes.pcap.gz:13": (502, 541),
    "raw_alltypes.pcap.gz:14": (502, None),
    "raw_errors.pcap.gz:0": (501, 501),  # end of a frame
    "raw_errors.pcap.gz:1": (505, 505),  # body without header
    "raw_errors.pcap.gz:2": (505, 505),  # header without method
    "raw_errors.pcap.gz:3": (502, 501),  # truncated argument: the specification's is 502
    "raw_errors.pcap.gz:4": (504, 504),  # channel that is not open
    "raw_errors.pcap.gz:5": (503, None),  # unknown method; RabbitMQ closes without a word
    "raw_errors.pcap.gz:6": (501, 501),  # frame type 9
    "raw_errors.pcap.gz:7": (501, 501),  # above frame_max
    "raw_errors.pcap.gz:8": (501, 505),  # heartbeat on channel 1: the specification's is 501
    "raw_errors.pcap.gz:9": (505, None),  # body beyond its size; RabbitMQ closes without a word
    "raw_errors.pcap.gz:10": (505, 505),  # header of another class
}
#: What our client refuses to send, since the server had to close for it.
REFUSED = {
    "pika_ops.pcap.gz:12": ("basic.ack", 406),
    "pika_ops.pcap.gz:18": ("basic.consume", 530),
    "pika_ops.pcap.gz:19": ("confirm.select", 406),
    "raw_errors.pcap.gz:4": ("queue.declare", 504),
}


def closes(recorded):
    """Reply codes of what RabbitMQ closed for cause, in order."""
    kinds = (amqp.Connection.Close, amqp.Channel.Close)
    close_methods = [method for method in recorded.methods("server") if isinstance(method, kinds)]
    return [method.reply_code for method in close_methods if method.reply_code not in (0, 200)]


@PARAMETERS
def test_client_is_told_what_was_said(recorded):
    played = play(recorded, "client")
    assert played.error is None
    refused = [(type(getattr(item, "method", item)).NAME) for item, _ in played.refused]
    expected = REFUSED.get(recorded.name)
    assert refused == ([] if expected is None else [expected[0]])
    if expected is not None:
        assert closes(recorded) == [expected[1]]
    codes = [
        event.reply_code
        for event in played.events
        if isinstance(event, ChannelClosed | ConnectionClosed) and event.closed_by == "remote"
    ]
    hard = [code for code in codes if code >= 500]
    # A connection's close ends its channels with the same code.
    assert [code for code in codes if 0 < code < 500 and code != 200] + hard[-1:] == closes(
        recorded
    )


@PARAMETERS
def test_server_finds_the_faults_and_no_others(recorded):
    played = play(recorded, "server")
    assert played.refused == []
    code, theirs = FAULTS.get(recorded.name, (None, None))
    if code is None:
        assert played.error is None
    else:
        assert played.error.reply_code == code
        assert closes(recorded) == ([] if theirs is None else [theirs])
    soft = [
        event.reply_code
        for event in played.events
        if isinstance(event, ChannelClosed)
        and event.closed_by == "local"
        and event.reply_code < 500
    ]
    channel_codes = [one for one in closes(recorded) if one < 500 and one != 403]
    assert [one for one in soft if one not in (0, 200, 403)] == channel_codes


@PARAMETERS
@pytest.mark.parametrize("role", ["client", "server"])
def test_the_same_events_in_every_chunking(recorded, role):
    complete = play(recorded, role)
    random_ = random.Random(recorded.name)

    def pieces(data):
        at, chunks = 0, []
        while at < len(data):
            size = random_.choice([1, 2, 3, 7, 8, 9, 64, 1000])
            chunks.append(data[at : at + size])
            at += size
        return chunks

    chunked = play(recorded, role, pieces)
    assert complete.events
    assert list(map(repr, chunked.events)) == list(map(repr, complete.events))
    assert repr(chunked.error) == repr(complete.error)


@PARAMETERS
@pytest.mark.parametrize("role", ["client", "server"])
def test_everything_is_answered_or_told_to_have_failed(recorded, role):
    played = play(recorded, role)
    failed = [event.request for event in played.events if isinstance(event, RequestFailed)]
    assert len(set(map(id, failed))) == len(failed)
    assert all(request.error is not None for request in failed)
    assert played.session.closed
    assert [type(event) for event in played.events].count(ConnectionClosed) == 1


def test_the_recordings_are_there():
    assert len(RECORDED) >= 70
    assert {one.name for one in RECORDED} >= FAULTS.keys() | REFUSED.keys()
    assert any(one.name.startswith(LARGE) for one in RECORDED)
