"""Files of 0-9 and 0-8: open, open-ok, stage, in both directions."""

from __future__ import annotations

import pytest

from amqpcodec import v0_8, v0_9
from amqpcodec.session import LocalProtocolError, RemoteProtocolError, Replied, Requested
from tests.support.session_pair import names, opened

MODULES = {"0-9": v0_9, "0-8": v0_8}


@pytest.fixture(params=MODULES)
def talk(request):
    """(protocol module, pair, both ends of a channel)."""
    pair = opened(request.param, answer=False)
    mine, theirs = pair.channel()
    pair.take("client"), pair.take("server")
    return MODULES[request.param], pair, {"client": mine, "server": theirs}


SIDES = [("client", "server"), ("server", "client")]


@pytest.mark.parametrize(("sender", "receiver"), SIDES)
@pytest.mark.parametrize("by_send", [False, True])
def test_a_file_is_staged(talk, sender, receiver, by_send):
    amqp, pair, ends = talk
    opening = ends[sender].send(amqp.File.Open("id", 3))
    pair.pump()
    (open_request,) = pair.take(receiver)
    assert open_request == Requested(ends[receiver], open_request.request)
    assert open_request.request.method == amqp.File.Open("id", 3)
    staging = open_request.request.respond(amqp.File.OpenOk(2))
    assert staging.method == amqp.File.OpenOk(2)
    assert list(ends[receiver].sent) == [staging]
    pair.pump()
    replied, requested = pair.take(sender)
    assert replied == Replied(ends[sender], opening, amqp.File.OpenOk(2))
    assert requested.request.method == amqp.File.OpenOk(2)
    assert requested.request.expects_response
    properties = amqp.File.Properties(filename="f")
    if by_send:
        ends[sender].send(amqp.File.Stage(), properties, b"abc")
    else:
        assert requested.request.respond(amqp.File.Stage(), properties, b"abc") is None
    assert requested.request.response == amqp.File.Stage()
    pair.pump()
    (replied_staging,) = pair.take(receiver)
    assert (replied_staging.request, replied_staging.reply.body) == (staging, b"abc")
    assert replied_staging.reply.properties == properties
    assert staging.response is replied_staging.reply
    assert not ends[sender].sent
    assert not ends[receiver].sent
    assert not ends[sender].received
    assert not ends[receiver].received


def test_several_files_in_both_directions_at_once(talk):
    amqp, pair, ends = talk
    for number in range(3):
        for side in ends:
            ends[side].send(amqp.File.Open(f"{side} {number}", 1))
    staged = {"client": [], "server": []}
    for _ in range(20):
        if not (pair.client.bytes_to_send or pair.server.bytes_to_send):
            break
        pair.pump()
        for side in ends:
            for event in pair.take(side):
                match event:
                    case Requested(_, request) if isinstance(request.method, amqp.File.Open):
                        request.respond(amqp.File.OpenOk())
                    case Requested(_, request):
                        request.respond(amqp.File.Stage(), amqp.File.Properties(), b"x")
                    case Replied(_, _, reply) if not isinstance(reply, amqp.File.OpenOk):
                        staged[side].append(reply.body)
    assert staged == {"client": [b"x"] * 3, "server": [b"x"] * 3}
    assert pair.client.is_open
    assert pair.server.is_open


@pytest.mark.parametrize(("sender", "receiver"), SIDES)
def test_what_was_not_asked_for_is_refused(talk, sender, receiver):
    amqp, pair, ends = talk
    for method in (amqp.File.OpenOk(), amqp.File.Stage()):
        with pytest.raises(LocalProtocolError, match="answers nothing"):
            ends[sender].send(method)
    stage = amqp.encode_message(1, amqp.File.Stage(), None, b"abc")
    for data in (stage, amqp.encode(1, amqp.File.OpenOk())):
        again = opened(pair.client.protocol, answer=False)
        again.channel()
        with pytest.raises(RemoteProtocolError, match="answers nothing") as caught:
            getattr(again, receiver).receive_data(data)
        assert caught.value.reply_code == 503


def test_an_open_file_whose_channel_ends(talk):
    amqp, pair, ends = talk
    ends["client"].send(amqp.File.Open("id", 3))
    pair.pump()
    staging = pair.take("server")[-1].request.respond(amqp.File.OpenOk())
    pair.pump()
    requested = pair.take("client")[-1].request
    ends["client"].close()
    assert requested.respond(amqp.File.Stage(), None, b"abc") is None
    pair.pump()
    assert names(pair.take("server")) == ["RequestFailed", "ChannelClosed"]
    assert staging.error is not None
    assert requested.done


def test_no_more_stagings_than_max_requests():
    pair = opened("0-9", answer=False, server={"max_requests": 2})
    mine, _theirs = pair.channel()
    pair.take("server")
    for number in range(2):
        mine.send(v0_9.File.Open(str(number), 1))
    pair.pump()
    for event in pair.take("server"):
        event.request.respond(v0_9.File.OpenOk())
    mine.send(v0_9.File.Open("2", 1))
    pair.pump()
    (event,) = pair.take("server")
    with pytest.raises(LocalProtocolError, match="2 requests wait"):
        event.request.respond(v0_9.File.OpenOk())
    assert not event.request.done
