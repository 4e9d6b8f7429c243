"""AMQP 1.0: protocol headers, TLS, SASL, open and close between the two roles."""

from __future__ import annotations

from typing import Any

import pytest

from amqpcodec import v1_0 as amqp
from amqpcodec.session import LocalProtocolError, RemoteProtocolError, v1
from tests.support.session_v1_pair import Pair, Peer, kinds

HEADER, SASL, TLS = amqp.PROTOCOL_HEADER, amqp.SASL_HEADER, amqp.TLS_HEADER


def test_without_sasl() -> None:
    pair = Pair({"container_id": "c", "hostname": "h"}, {"container_id": "s"})
    assert pair.client.state == "START"
    assert kinds(pair.pump()) == [v1.ConnectionOpened]
    assert pair.one(v1.ConnectionOpened).open.container_id == "s"
    requested_open = pair.one(v1.ConnectionRequested, server=True).open
    assert (requested_open.container_id, requested_open.hostname) == ("c", "h")
    assert pair.client.state == pair.server.state == "OPENED"


@pytest.mark.parametrize(
    ("mechanism", "name"),
    [
        (v1.Anonymous("trace"), "trace"),
        (v1.Plain("guest", "right"), "guest"),
        (v1.Plain("gäst", "right", "other"), "gäst"),
        (v1.External("me"), ""),
    ],
)
def test_sasl_that_the_caller_decides(mechanism: Any, name: str) -> None:
    server = v1.SaslServer(("EXTERNAL", "PLAIN", "ANONYMOUS"))
    pair = Pair({"sasl": mechanism, "hostname": "h"}, {"sasl": server})
    pair.pump()
    request = pair.one(v1.AuthenticationRequested, server=True)
    assert (request.mechanism, request.username, request.hostname) == (mechanism.name, name, "h")
    assert request.authorization_id == getattr(mechanism, "authorization_id", "")
    assert "right" not in repr(request)
    assert pair.one(v1.Authenticated).mechanism == mechanism.name
    assert pair.client.state == pair.server.state == "OPENED"


def test_a_wrong_password_ends_both() -> None:
    pair = Pair({"sasl": v1.Plain("guest", "wrong")}, {"sasl": v1.SaslServer()})
    assert kinds(pair.pump()) == [v1.AuthenticationFailed, v1.ConnectionClosed]
    failed = pair.one(v1.AuthenticationFailed)
    assert failed.code is amqp.SaslCode.AUTH
    assert pair.client.closed
    assert pair.server.closed
    assert kinds(pair.server_events) == [v1.AuthenticationRequested]
    assert kinds(pair.server.receive_eof()) == [v1.ConnectionClosed]


def test_the_best_mechanism_that_both_have() -> None:
    mechanisms = (v1.Scram("u", "right"), v1.Plain("u", "right"), v1.Anonymous())
    pair = Pair({"sasl": mechanisms}, {"sasl": v1.SaslServer(("ANONYMOUS", "PLAIN"))})
    pair.pump()
    assert pair.one(v1.Authenticated).mechanism == "PLAIN"


def test_no_mechanism_in_common() -> None:
    pair = Pair({"sasl": v1.External()}, {"sasl": v1.SaslServer(("PLAIN",))})
    pair.pump()
    failed = pair.one(v1.AuthenticationFailed)
    assert failed.code is None
    assert "PLAIN" in failed.reason
    assert pair.client.closed


@pytest.mark.parametrize("name", ["SCRAM-SHA-1", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram(name: str) -> None:
    users = {"us=e,r": v1.ScramRecord.of("pass wörd", mechanism=name)}
    server = v1.SaslServer((name,), users.get)
    pair = Pair({"sasl": v1.Scram("us=e,r", "pass wörd", name)}, {"sasl": server})
    pair.pump()
    assert pair.one(v1.Authenticated).username == "us=e,r"
    assert pair.one(v1.Authenticated, server=True).username == "us=e,r"
    for mechanism in (v1.Scram("us=e,r", "wrong", name), v1.Scram("nobody", "x", name)):
        pair = Pair({"sasl": mechanism}, {"sasl": server})
        pair.pump()
        assert pair.one(v1.AuthenticationFailed).code is amqp.SaslCode.AUTH
        assert pair.one(v1.AuthenticationFailed, server=True).code is amqp.SaslCode.AUTH
        assert pair.client.closed
        assert pair.server.closed


def test_tls_inside_of_amqp() -> None:
    options = {"sasl": v1.Plain("u", "right"), "tls": True}
    client: Any = v1.Connection("client", **options)
    server: Any = v1.Connection("server", sasl=v1.SaslServer(), tls=True)
    assert server.receive_data(client.data_to_send()) == [v1.StartTls(b"")]
    answer = server.data_to_send()
    assert answer == TLS
    assert client.receive_data(answer + b"\x16\x03\x01") == [v1.StartTls(b"\x16\x03\x01")]
    with pytest.raises(LocalProtocolError, match="tls_established"):
        client.receive_data(SASL)
    for engine in (client, server):
        engine.tls_established()
        with pytest.raises(LocalProtocolError, match="not agreed"):
            engine.tls_established()
    pair = Pair()
    pair.client, pair.server = client, server
    pair.pump()
    assert client.state == server.state == "OPENED"


@pytest.mark.parametrize(
    ("options", "header", "answer"),
    [
        ({}, SASL, HEADER),
        ({}, TLS, HEADER),
        ({"sasl": v1.SaslServer()}, HEADER, SASL),
        ({"sasl": v1.SaslServer()}, TLS, SASL),
        ({}, b"AMQP\x00\x00\x09\x01", HEADER),
        ({"tls": True, "sasl": v1.SaslServer()}, b"AMQP\x00\x01\x01\x00", SASL),
        ({}, b"HTTP/1.1", HEADER),
        ({}, b"\x16\x03\x01", HEADER),
    ],
)
def test_a_server_names_the_header_that_it_takes(
    options: Any, header: bytes, answer: bytes
) -> None:
    server: Any = v1.Connection("server", **options)
    with pytest.raises(RemoteProtocolError) as caught:
        [server.receive_data(header[place : place + 1]) for place in range(len(header))]
    assert caught.value.condition in ("amqp:not-implemented", "amqp:connection:framing-error")
    assert kinds(caught.value.events) == [v1.ConnectionClosed]
    assert server.data_to_send() == answer
    assert server.closed
    with pytest.raises(RemoteProtocolError) as again:
        server.receive_data(b"x")
    assert (str(again.value), again.value.events) == (str(caught.value), [])


def test_states_have_the_names_of_the_specification() -> None:
    server = Peer()
    states = [server.engine.state]
    for frame in (amqp.ProtocolHeader(0, 1, 0, 0), amqp.Open("peer")):
        server.give(frame)
        states.append(server.engine.state)
    server.engine.accept()
    states.append(server.engine.state)
    server.engine.close()
    states.append(server.engine.state)
    server.give(amqp.Close())
    states.append(server.engine.state)
    assert states == ["START", "HDR_EXCH", "OPEN_RCVD", "OPENED", "CLOSE_SENT", "END"]
    client = Peer("client")
    client.give(amqp.ProtocolHeader(0, 1, 0, 0))
    assert client.engine.state == "OPEN_SENT"


def test_sasl_that_is_optional() -> None:
    pair = Pair({}, {"sasl": v1.SaslServer(required=False)})
    assert kinds(pair.pump()) == [v1.ConnectionOpened]


def test_a_client_refuses_another_header() -> None:
    client: Any = v1.Connection("client", sasl=v1.Anonymous())
    with pytest.raises(RemoteProtocolError, match="sasl with amqp"):
        client.receive_data(HEADER)
    assert client.data_to_send() == SASL


def test_limits_of_both_opens() -> None:
    pair = Pair(
        {"max_frame_size": 1000, "idle_timeout": 4.0, "limits": v1.Limits(sessions=3)},
        {"max_frame_size": 2000, "limits": v1.Limits(sessions=2)},
    )
    pair.pump()
    requested_open = pair.one(v1.ConnectionRequested, server=True).open
    assert (
        requested_open.max_frame_size,
        requested_open.channel_max,
        requested_open.idle_time_out,
    ) == (1000, 2, 2000)
    assert (pair.client._frame_size, pair.server._frame_size) == (2000, 1000)
    sessions = [pair.client.begin() for _ in range(2)]
    with pytest.raises(LocalProtocolError, match="all 2 channels"):
        pair.client.begin()
    pair.pump()
    sessions[0].end()
    pair.pump()
    assert pair.client.begin().channel == sessions[0].channel


def test_a_server_refuses_a_connection() -> None:
    server = Peer()
    (event,) = server.give(amqp.ProtocolHeader(0, 1, 0, 0), amqp.Open("c", "nowhere"))
    assert event == v1.ConnectionRequested(amqp.Open("c", "nowhere"))
    server.engine.refuse(amqp.AmqpError.NOT_FOUND, "no such host")
    header, opened, closed = server.take()
    assert (type(header), type(opened)) == (amqp.ProtocolHeader, amqp.Open)
    assert closed == amqp.Close(amqp.Error("amqp:not-found", "no such host"))
    (event,) = server.give(amqp.Close())
    assert event == v1.ConnectionClosed(closed.error, closed_by="local")
    assert server.take() == []


def test_accept_can_add_to_the_open() -> None:
    server = Peer()
    server.give(amqp.ProtocolHeader(0, 1, 0, 0), amqp.Open("c"))
    with pytest.raises(TypeError, match="max_frame_size"):
        server.engine.accept(max_frame_size=3)
    server.engine.accept(properties={amqp.Symbol("product"): "x"})
    with pytest.raises(LocalProtocolError, match="no connection waits"):
        server.engine.accept()
    _, opened = server.take()
    assert opened.properties == {"product": "x"}


def test_close_from_either_side() -> None:
    for first, second in (("client", "server"), ("server", "client")):
        pair = Pair().opened()
        getattr(pair, first).close("amqp:connection:forced", "going down")
        with pytest.raises(LocalProtocolError, match="closing"):
            getattr(pair, first).begin()
        pair.pump()
        events = {"client": pair.client_events, "server": pair.server_events}
        error = amqp.Error("amqp:connection:forced", "going down")
        assert events[first] == [v1.ConnectionClosed(error, closed_by="local")]
        assert events[second] == [v1.ConnectionClosed(error, closed_by="remote")]
        assert pair.client.closed
        assert pair.server.closed
        assert pair.client.receive_eof() == []
        with pytest.raises(LocalProtocolError, match="over"):
            pair.client.begin()


def test_both_close_at_once() -> None:
    pair = Pair().opened()
    pair.client.close()
    pair.server.close()
    pair.pump()
    assert (
        pair.client_events == pair.server_events == [v1.ConnectionClosed(None, closed_by="local")]
    )


@pytest.mark.parametrize(
    "after", [amqp.encode(0, amqp.Close()), b"\xff" * 8], ids=["another close", "no frame"]
)
def test_nothing_is_read_after_the_close(after: bytes) -> None:
    server = Peer().opened()
    (event,) = server.engine.receive_data(amqp.encode(0, amqp.Close()) + after)
    assert event == v1.ConnectionClosed(None, closed_by="remote")
    assert server.take() == [amqp.Close()]
    assert server.engine.receive_data(after) == []


def test_the_transport_is_lost() -> None:
    pair = Pair().opened()
    link, _ = pair.sender()
    delivery = link.send(b"lost")
    events = pair.client.receive_eof()
    assert kinds(events) == [v1.LinkClosed, v1.SessionEnded, v1.ConnectionClosed]
    assert events[-1] == v1.ConnectionClosed(None, closed_by="remote", clean=False)
    assert link.unsettled_map == {delivery.tag: None}
    assert pair.client.receive_eof() == []


def test_misuse_of_the_constructor() -> None:
    def make(role: Any, **options: Any) -> None:
        v1.Connection(role, **options)

    for role, options, error in (
        ("both", {}, ValueError),
        ("client", {"max_frame_size": 511}, ValueError),
        ("client", {"sasl": v1.SaslServer()}, TypeError),
        ("server", {"sasl": v1.Anonymous()}, TypeError),
        ("client", {"container_id": "x" * 600}, ValueError),
        ("client", {"sasl": v1.Plain("u", "p" * 600)}, ValueError),
        ("client", {"idle_timeout": 0}, ValueError),
        ("client", {"offered_capabilities": "x"}, TypeError),
    ):
        with pytest.raises(error):
            make(role, **options)
    for wrong in (
        lambda: v1.SaslServer(("SCRAM-SHA-256",)),
        lambda: v1.SaslServer(("GSSAPI",)),
        lambda: v1.SaslServer(()),
        lambda: v1.Plain("a\0b", "c"),
        lambda: v1.Plain("", "c"),
        lambda: v1.Plain("a", ""),
        lambda: v1.Limits(sessions=0),
        lambda: v1.Limits(frame_size=511),
        lambda: v1.Scram("u", "p", "SCRAM-MD5"),
    ):
        with pytest.raises(ValueError):
            wrong()


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("sessions", 1, 65_536),
        ("links", 1, 1 << 32),
        ("incoming_window", 1, (1 << 31) - 1),
        ("excess", 0, (1 << 30) - 1),
        ("message_size", 1, (1 << 64) - 1),
        ("frame_size", 512, None),
        ("unsettled", 1, None),
        ("partial_bytes", 1, None),
        ("transactions", 1, None),
    ],
)
def test_each_limit_has_its_range(name: str, least: int, most: int | None) -> None:
    for value in {least, most} - {None}:
        assert getattr(v1.Limits(**{name: value}), name) == value
    for value in {least - 1, None if most is None else most + 1} - {None}:
        with pytest.raises(ValueError, match=name):
            v1.Limits(**{name: value})


def test_a_link_takes_nothing_beyond_its_credit_unless_asked_to() -> None:
    assert v1.Limits().excess == 0
