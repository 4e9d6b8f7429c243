"""What the caller may not do: refused before anything is sent, and all else goes on."""

from __future__ import annotations

import pytest

from amqpcodec import EncodeError, v0_9
from amqpcodec import v0_9_1 as amqp
from amqpcodec.session import LocalProtocolError
from tests.support.session_pair import opened


@pytest.fixture
def pair():
    return opened(client={"max_requests": 5}, answer=False)


CLIENT = {
    "a server's method": (lambda c: c.send(amqp.Queue.DeclareOk()), "a client does not send"),
    "a delivery": (lambda c: c.send(amqp.Basic.Deliver("t", 1)), "a client does not send"),
    "another protocol's": (lambda c: c.send(v0_9.Basic.Qos()), "no method of AMQP 0-9-1"),
    "no method": (lambda c: c.send(amqp.Heartbeat()), "no method of AMQP 0-9-1"),
    "the connection's": (lambda c: c.send(amqp.Connection.Close()), "a call of its own"),
    "close": (lambda c: c.send(amqp.Channel.Close()), "a call of its own"),
    "open": (lambda c: c.send(amqp.Channel.Open()), "a call of its own"),
    "reply to nothing": (lambda c: c.send(amqp.Channel.FlowOk()), "answers nothing"),
    "ack of nothing": (lambda c: c.ack(1), "unknown delivery tag 1"),
    "ack of 0": (lambda c: c.ack(0), "unknown delivery tag 0"),
    "reject": (lambda c: c.reject(7), "unknown delivery tag 7"),
    "nack": (lambda c: c.nack(7, multiple=True), "unknown delivery tag 7"),
    "cancel": (lambda c: c.cancel("x"), "no consumer 'x'"),
    "nameless": (lambda c: c.consume("q", no_wait=True), "without a name"),
    "commit": (lambda c: c.commit_tx(), "not transactional"),
}


@pytest.mark.parametrize("name", CLIENT)
def test_refused_and_nothing_sent(pair, name):
    mine, _ = pair.channel()
    call, text = CLIENT[name]
    for _ in range(2):
        with pytest.raises(LocalProtocolError, match=text):
            call(mine)
    assert pair.client.bytes_to_send == 0
    assert not mine.sent
    mine.qos()  # all goes on


SERVER = {
    "publish": (lambda c: c.publish("", "q"), "a server does not send basic.publish"),
    "declare": (lambda c: c.declare_queue("q"), "a server does not send"),
    "deliver": (lambda c: c.send(amqp.Basic.Deliver("t", 1)), "no consumer of this channel"),
    "confirm": (lambda c: c.ack(1), "unknown delivery tag 1"),
    "reply": (lambda c: c.send(amqp.Queue.DeclareOk("q")), "answers nothing"),
    "open": (lambda c: c.connection.open_channel(), "a server does not open channels"),
    "request": (lambda c: c.connection.send(amqp.Connection.Tune()), "a call of its own"),
    "secret": (lambda c: c.connection.update_secret(b""), "a server does not send"),
}


@pytest.mark.parametrize("name", SERVER)
def test_refused_to_a_server(pair, name):
    _, theirs = pair.channel()
    call, text = SERVER[name]
    with pytest.raises(LocalProtocolError, match=text):
        call(theirs)
    assert pair.server.bytes_to_send == 0


@pytest.mark.parametrize("protocol", ["0-8", "0-9"])
def test_a_server_without_confirms_does_not_acknowledge(protocol):
    pair = opened(protocol)
    mine, theirs = pair.channel()
    with pytest.raises(LocalProtocolError, match=r"a server does not send basic\.ack"):
        theirs.ack(1)
    with pytest.raises(LocalProtocolError, match="unknown delivery tag 1"):
        mine.ack(1)
    assert pair.client.bytes_to_send == pair.server.bytes_to_send == 0


def test_an_ack_of_nothing_is_refused_while_a_recover_waits(pair):
    mine, _ = pair.channel()
    mine.recover()
    pair.client.data_to_send()
    with pytest.raises(LocalProtocolError, match="unknown delivery tag 0"):
        mine.ack(0)
    assert pair.client.bytes_to_send == 0


def test_delivery_tags_ascend(pair):
    pair.answer = True
    mine, theirs = pair.channel()
    mine.consume("q", "t")
    pair.pump()
    theirs.send(amqp.Basic.Deliver("t", 5))
    for tag in (5, 4):
        with pytest.raises(LocalProtocolError, match="used before"):
            theirs.send(amqp.Basic.Deliver("t", tag))


def test_modes_exclude_each_other(pair):
    mine, _ = pair.channel()
    mine.confirm()
    with pytest.raises(LocalProtocolError, match="from confirm to tx mode"):
        mine.select_tx()
    other, _ = pair.channel()
    other.select_tx()
    with pytest.raises(LocalProtocolError, match="from tx to confirm mode"):
        other.confirm()


def test_consumer_tags_are_unique(pair):
    mine, _ = pair.channel()
    mine.consume("q", "t")
    with pytest.raises(LocalProtocolError, match="reuse consumer tag 't'"):
        mine.consume("q", "t")
    mine.cancel("t", no_wait=True)
    mine.consume("q", "t")


def test_too_many_requests(pair):
    mine, _ = pair.channel()
    for _ in range(5):
        mine.qos()
    with pytest.raises(LocalProtocolError, match="5 requests wait"):
        mine.qos()
    assert len(mine.sent) == 5


def test_channel_numbers():
    pair = opened(server={"channel_max": 3})
    assert [pair.client.open_channel().number for _ in range(2)] == [1, 2]
    for number in (0, 2, 4):
        with pytest.raises(LocalProtocolError, match="in use or not within 1 to 3"):
            pair.client.open_channel(number)
    pair.client.open_channel(3)
    with pytest.raises(LocalProtocolError, match="all 3 channels"):
        pair.client.open_channel()
    pair.pump()
    pair.client.channels[2].close()
    pair.pump()
    assert pair.client.open_channel().number == 2


def test_a_value_that_cannot_be_encoded_changes_nothing(pair):
    mine, _theirs = pair.channel()
    mine.confirm(no_wait=True)
    pair.pump()
    with pytest.raises(EncodeError):
        mine.publish("x" * 256, "q", b"body")
    with pytest.raises(EncodeError):
        mine.declare_queue("q", arguments={"x": object()})
    assert pair.client.bytes_to_send == 0
    assert not mine.sent
    assert mine.publish("x", "q") == 1


def test_an_ack_that_cannot_be_encoded_settles_nothing():
    pair = opened()
    mine, theirs = pair.channel()
    mine.consume("q", "t")
    pair.pump()
    theirs.send(amqp.Basic.Deliver("t", 1))
    pair.pump()
    for tag, multiple in ((1, "yes"), ("1", False)):
        with pytest.raises(EncodeError):
            mine.ack(tag, multiple=multiple)
        with pytest.raises(EncodeError):
            mine.send(amqp.Basic.Nack(tag, multiple=multiple))
    mine.ack(1)


def test_close_texts_are_cut_to_what_fits(pair):
    _mine, theirs = pair.channel()
    text = pair.client.reply_text(406, "ü" * 300)
    assert len(text.encode()) <= 255
    theirs.close(406, text)
    pair.pump()
    assert pair.take("client")[-1].reply_text == text
