"""Peers as they are: large content headers, other versions and locales, other protocols."""

from __future__ import annotations

from typing import Any

import pytest

from amqpcodec import v0_8, v0_9
from amqpcodec import v0_9_1 as amqp
from amqpcodec.session import (
    Connection,
    ConnectionClosed,
    Delivered,
    LoginRequested,
    RemoteProtocolError,
    v1,
)
from tests.support.session_pair import Pair, names, opened

MODULES = {"0-9-1": amqp, "0-9": v0_9, "0-8": v0_8}

# ---- content headers and methods above frame_max ----


def consuming(**options: Any) -> Any:
    pair = opened(answer=False, **options)
    mine, theirs = pair.channel()
    mine.consume("q", "t")
    pair.pump()
    theirs.received[0].respond(amqp.Basic.ConsumeOk("t"))
    pair.pump()
    pair.take("client")
    return pair


def delivery(size: int) -> bytes:
    """A delivery whose content header takes so many bytes, as RabbitMQ sends it: in one frame."""
    empty = amqp.Basic.Properties(headers={"h": ""})
    room = size - len(amqp.encode(1, amqp.Header(1, empty)))
    properties = amqp.Basic.Properties(headers={"h": "x" * room})
    return amqp.encode_message(1, amqp.Basic.Deliver("t", 1), properties, b"b", frame_max=0)


@pytest.mark.parametrize("size", [4097, 16 * 4096])
def test_a_client_takes_headers_that_rabbitmq_does_not_split(size):
    pair = consuming(client={"frame_max": 4096})
    (event,) = pair.client.receive_data(delivery(size))
    assert isinstance(event, Delivered)
    assert event.message.body == b"b"


@pytest.mark.parametrize(
    ("options", "size"),
    [
        ({}, 16 * 4096 + 1),
        ({"max_header_frame": 5000}, 5001),
        ({"max_header_frame": 1}, 4097),
    ],
)
def test_headers_above_the_limit_end_the_connection(options, size):
    pair = consuming(client={"frame_max": 4096, **options})
    with pytest.raises(RemoteProtocolError, match=r"exceeds \w*frame") as caught:
        pair.client.receive_data(delivery(size))
    assert caught.value.reply_code == 501


def test_bodies_above_frame_max_end_the_connection():
    pair = consuming(client={"frame_max": 4096, "max_header_frame": 0})
    deliver = amqp.encode_message(1, amqp.Basic.Deliver("t", 1), None, b"x" * 4089, frame_max=0)
    with pytest.raises(RemoteProtocolError, match="exceeds frame_max 4096"):
        pair.client.receive_data(deliver)


def publication(size: int) -> bytes:
    properties = amqp.Basic.Properties(headers={"h": "x" * size})
    return amqp.encode_message(1, amqp.Basic.Publish("", "q"), properties, b"b", frame_max=0)


def test_a_server_is_strict_unless_told_otherwise():
    """As RabbitMQ is: a client is not to send them."""
    pair = opened(client={"frame_max": 4096})
    pair.channel()
    with pytest.raises(RemoteProtocolError, match="exceeds max_header_frame 4096"):
        pair.server.receive_data(publication(5000))
    pair = opened(client={"frame_max": 4096}, server={"max_header_frame": 6000})
    pair.channel()
    assert names(pair.server.receive_data(publication(5000))) == ["Published"]


# ---- other versions ----

STARTS = {"0-9-1": (0, 9), "0-9": (0, 9), "0-8": (8, 0)}


@pytest.mark.parametrize("protocol", STARTS)
@pytest.mark.parametrize("version", [(0, 8), (8, 0), (0, 9), (0, 10), (9, 1), (255, 255)])
def test_a_server_of_another_version_gets_no_credentials(protocol, version):
    module = MODULES[protocol]
    client: Any = Connection("client", protocol=protocol, username="me", password="secret")
    assert client.data_to_send() == module.PROTOCOL_HEADER
    start = module.Connection.Start(*version, {}, b"PLAIN AMQPLAIN", b"en_US")
    events = client.receive_data(module.encode(0, start))
    sent = client.data_to_send()
    if version == STARTS[protocol]:
        assert events == []
        assert b"secret" in sent
        return
    (event,) = events
    assert isinstance(event, ConnectionClosed)
    spoken = {(8, 0): "0-8", (0, 9): "0-9-1"}.get(version, "-".join(map(str, version)))
    assert (event.closed_by, event.stage, event.peer_version) == ("local", "start", spoken)
    assert event.reply_text == f"the server begins AMQP {spoken} and not {protocol}"
    assert sent == b""
    assert client.closed
    assert client.receive_data(module.encode(0, start)) == []


HEADERS = {
    b"AMQP\0\0\x09\x01": "0-9-1",
    b"AMQP\x01\x01\x08\x00": "0-8",
    b"AMQP\x00\x01\x00\x00": "1.0",
    b"AMQP\x03\x01\x00\x00": "1.0 (SASL)",
    b"AMQP\x02\x01\x00\x00": "1.0 (TLS)",
    b"AMQP\x00\x07\x07\x07": "7-7-7",
}


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("protocol", MODULES)
def test_a_header_in_place_of_start(protocol, header):
    client: Any = Connection("client", protocol=protocol)
    client.data_to_send()
    (event,) = client.receive_data(header)
    assert isinstance(event, ConnectionClosed)
    assert (event.closed_by, event.peer_version) == ("remote", HEADERS[header])
    assert client.data_to_send() == b""


def test_no_version_is_named_where_none_was_refused():
    pair = opened()
    pair.client.close()
    pair.pump()
    for side in ("client", "server"):
        assert pair.take(side)[-1].peer_version is None


# ---- locales and mechanisms ----


@pytest.mark.parametrize(
    ("preferred", "offered", "chosen"),
    [
        ("en_US", b"en_US", "en_US"),
        ("de_DE", b"en_US de_DE", "de_DE"),
        ("en_US", b"de_DE fr_FR", "de_DE"),
        ("en_US", b"", "en_US"),
    ],
)
@pytest.mark.parametrize("protocol", MODULES)
def test_a_client_chooses_a_locale_that_is_offered(protocol, preferred, offered, chosen):
    module = MODULES[protocol]
    client: Any = Connection("client", protocol=protocol, locale=preferred)
    client.data_to_send()
    start = module.Connection.Start(*STARTS[protocol], {}, b"PLAIN", offered)
    assert client.receive_data(module.encode(0, start)) == []
    ((_, start_ok),) = module.Decoder().feed(client.data_to_send())
    assert start_ok.locale == chosen


@pytest.mark.parametrize("locale", ["en_US", "en_GB", "de_DE", ""])
def test_a_server_checks_the_locale(locale):
    """en_GB: Bunny says so, whatever is offered."""
    server: Any = Connection("server")
    server.receive_data(amqp.PROTOCOL_HEADER)
    start_ok = amqp.Connection.StartOk({}, "PLAIN", b"\0a\0b", locale)
    if locale.startswith("en"):
        (event,) = server.receive_data(amqp.encode(0, start_ok))
        assert isinstance(event, LoginRequested)
        assert event.locale == locale
        return
    with pytest.raises(RemoteProtocolError, match=f"locale '{locale}' was not offered") as caught:
        server.receive_data(amqp.encode(0, start_ok))
    assert caught.value.reply_code == 503
    assert not any(isinstance(event, LoginRequested) for event in caught.value.events)


def test_locales_of_both_ends_meet():
    pair = Pair(client={"locale": "nn_NO"}, server={"locales": ["de_DE", "fr_FR"]}).pump()
    assert pair.client.is_open
    assert pair.events["server"][0].locale == "de_DE"


# ---- other protocols ----

ANSWERS = {
    "HTTP": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "TLS": b"\x15\x03\x01\x00\x02\x02\x46",
    "STOMP": b"ERROR\nmessage:Bad CONNECT\n\n\0",
    "SSH": b"SSH-2.0-OpenSSH_9.2\r\n",
}
QUESTIONS = {
    "HTTP": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "MQTT": b"\x10\x13\x00\x04MQTT\x04\x02\x00\x3c\x00\x07client1",
    "STOMP": b"CONNECT\naccept-version:1.2\n\n\0",
    "SSH": b"SSH-2.0-OpenSSH_9.2\r\n",
}
CASES = [
    (role, name, data)
    for role, table in (("client", ANSWERS), ("server", QUESTIONS))
    for name, data in table.items()
]


@pytest.mark.parametrize(("role", "name", "data"), CASES)
@pytest.mark.parametrize("protocol", [*MODULES, "1.0"])
def test_what_is_spoken_in_place_of_amqp_is_named(protocol, role, name, data):
    session: Any = v1.Connection(role) if protocol == "1.0" else Connection(role, protocol=protocol)
    greeting = session.data_to_send()
    with pytest.raises(RemoteProtocolError) as caught:
        session.receive_data(data)
    text = str(caught.value)
    assert name in text
    assert "not AMQP" in text
    last = caught.value.events[-1]
    assert type(last).__name__ == "ConnectionClosed"
    if role == "server":  # which names the protocol that it does speak
        assert session.data_to_send() == (
            b"AMQP\0\x01\0\0" if protocol == "1.0" else MODULES[protocol].PROTOCOL_HEADER
        )
    else:
        assert greeting.startswith(b"AMQP")
        assert session.data_to_send() == b""
