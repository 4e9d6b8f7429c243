"""Opening and closing a connection, and the ways in which the broker refuses to."""

from __future__ import annotations

import pytest

from amqpcodec import v0_9_1 as amqp


@pytest.mark.parametrize("as_messages", [False, True])
def test_handshake_step_by_step(connect, as_messages):
    client = connect(handshake=False, as_messages=as_messages)
    client.send_octets(amqp.PROTOCOL_HEADER)

    start = client.expect(0, amqp.Connection.Start)
    assert (start.version_major, start.version_minor) == (0, 9)
    assert start.server_properties["product"] == "RabbitMQ"
    assert start.server_properties["capabilities"]["publisher_confirms"] is True
    assert b"PLAIN" in start.mechanisms.split()
    assert start.locales == b"en_US"

    client.send(
        0,
        amqp.Connection.StartOk(
            client_properties={"product": "amqpcodec", "version": "ü", "capabilities": {}},
            mechanism="PLAIN",
            response=b"\0guest\0guest",
            locale="en_US",
        ),
    )
    tune = client.expect(0, amqp.Connection.Tune)
    assert tune.frame_max == 131072
    assert tune.channel_max > 0

    client.send(0, amqp.Connection.TuneOk(tune.channel_max, tune.frame_max, 0))
    client.call(0, amqp.Connection.Open(virtual_host="/"), amqp.Connection.OpenOk)
    client.call(1, amqp.Channel.Open(), amqp.Channel.OpenOk)
    close = amqp.Channel.Close(reply_code=200, reply_text="bye")
    client.call(1, close, amqp.Channel.CloseOk)
    close = amqp.Connection.Close(reply_code=200, reply_text="bye")
    assert client.call(0, close, amqp.Connection.CloseOk) == amqp.Connection.CloseOk()
    client.expect_eof()


def test_one_octet_at_a_time(connect):
    """The broker's answers do not depend on how ours are cut, nor ours on how they are read."""
    client = connect(handshake=False)
    client.read_size = 1
    client.handshake()
    client.open_channel()
    queue = client.declare()
    octets = amqp.encode_message(
        1, amqp.Basic.Publish(routing_key=queue), amqp.Basic.Properties(type="cut"), b"in pieces"
    )
    for i in range(len(octets)):
        client.send_octets(octets[i : i + 1])
    message = client.get(queue)
    assert (message.properties.type, message.body) == ("cut", b"in pieces")


@pytest.mark.parametrize(
    "header",
    [(9, 0, 9, 1), (0, 0, 9, 2), (0, 7, 7, 7)],
    ids=lambda header: "-".join(map(str, header)),
)
@pytest.mark.parametrize("as_messages", [False, True])
def test_protocol_header_is_refused(connect, as_messages, header):
    client = connect(handshake=False, as_messages=as_messages)
    client.send(0, amqp.ProtocolHeader(*header))
    assert client.expect(0, amqp.ProtocolHeader) == amqp.ProtocolHeader(0, 0, 9, 1)
    client.expect_eof()


def test_not_amqp_at_all(connect):
    client = connect(handshake=False)
    client.send_octets(b"GET / HTTP/1.1\r\n\r\n")
    assert client.expect(0, amqp.ProtocolHeader) == amqp.ProtocolHeader()
    client.expect_eof()


def test_wrong_password(connect):
    client = connect(handshake=False)
    with pytest.raises(AssertionError, match="reply_code=403"):
        client.handshake(password="wrong")
    close = client.received[-1][1]
    assert (close.reply_code, close.class_id, close.method_id) == (403, 0, 0)
    assert close.reply_text.startswith("ACCESS_REFUSED")


def test_refused_without_a_word(connect):
    """RabbitMQ does not answer these before the connection is open: it waits 3 s and ends.

    All wait at the same time. (A malformed response is the one 502 that RabbitMQ knows; it only
    reaches the broker's log.)
    """
    plain = {"mechanism": "PLAIN", "response": b"\0guest\0guest", "locale": "en_US"}
    refused = [
        (plain | {"mechanism": "NONESUCH"}, None),
        (plain | {"response": b"garbage"}, None),
        (plain, 0),
        (plain, 131073),
        (plain, 4095),
    ]
    clients = []
    for start_ok, frame_max in refused:
        client = connect(handshake=False)
        clients.append(client)
        client.send(0, amqp.ProtocolHeader())
        client.expect(0, amqp.Connection.Start)
        client.send(0, amqp.Connection.StartOk(**start_ok))
        if frame_max is not None:
            client.expect(0, amqp.Connection.Tune)
            client.send(0, amqp.Connection.TuneOk(frame_max=frame_max))
    for client in clients:
        client.expect_eof()


def test_unknown_virtual_host(connect):
    client = connect(handshake=False)
    with pytest.raises(AssertionError, match="reply_code=530"):
        client.handshake(virtual_host="nonesuch")
    close = client.received[-1][1]
    assert (close.reply_code, close.class_id, close.method_id) == (530, 10, 40)


@pytest.mark.parametrize("as_messages", [False, True])
def test_update_secret(connect, as_messages):
    client = connect(as_messages=as_messages)
    method = amqp.Connection.UpdateSecret(new_secret=b"\0fresh\xff", reason="rotated")
    assert client.call(0, method, amqp.Connection.UpdateSecretOk) is not None
    client.open_channel()
