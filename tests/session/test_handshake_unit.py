"""The handshake in both roles: logins, limits, virtual hosts, and each way to be refused."""

from __future__ import annotations

import pytest

from amqpcodec import load_xml_spec, v0_8, v0_9, v1_0
from amqpcodec import v0_9_1 as amqp
from amqpcodec.session import (
    Connection,
    ConnectionClosed,
    ConnectionOpened,
    LocalProtocolError,
    LoginContinued,
    LoginRequested,
    OpenRequested,
    RemoteProtocolError,
)
from tests.paths import REPO
from tests.support.session_pair import Pair, names, opened


@pytest.mark.parametrize("protocol", ["0-9-1", "0-9", "0-8", amqp])
def test_handshake_opens_both_ends(protocol):
    pair = Pair(protocol, client={"virtual_host": "v", "heartbeat": 7}).pump()
    assert names(pair.events["server"]) == ["LoginRequested", "OpenRequested"]
    assert pair.events["server"][1] == OpenRequested("v")
    (event,) = pair.events["client"]
    match event:
        case ConnectionOpened("v", _, channel_max, frame_max, heartbeat):
            assert (channel_max, frame_max, heartbeat) == (2047, 131072, 7)
        case _:
            pytest.fail(repr(event))
    assert pair.client.is_open
    assert pair.server.is_open
    assert pair.client.heartbeat == pair.server.heartbeat == 7


@pytest.mark.parametrize("place", ["username", "password"])
def test_a_nul_would_move_the_parts_of_plain(place):
    options = {place: "guest\0admin"}
    with pytest.raises(LocalProtocolError, match="NUL"):
        Connection("client", **options)
    Connection("client", mechanism="AMQPLAIN", **options)


@pytest.mark.parametrize("mechanism", ["PLAIN", "AMQPLAIN"])
def test_server_reads_the_credentials(mechanism):
    options = {"username": "jürgen", "password": "päss", "mechanism": mechanism}
    pair = Pair(client=options).pump()
    login = pair.events["server"][0]
    assert isinstance(login, LoginRequested)
    assert (login.mechanism, login.username, login.password) == (mechanism, "jürgen", "päss")
    assert "päss" not in repr(login)


def test_amqplain_is_a_field_table_without_its_length():
    client = {"username": "me", "password": "secret", "mechanism": "AMQPLAIN"}
    login = Pair(client=client).pump().events["server"][0]
    assert login.response == b"\x05LOGINS\0\0\0\x02me\x08PASSWORDS\0\0\0\x06secret"


def test_external_takes_the_name_only():
    pair = Pair(
        client={"mechanism": "EXTERNAL", "username": "cn"}, server={"mechanisms": ("EXTERNAL",)}
    ).pump()
    login = pair.events["server"][0]
    assert (login.username, login.password, login.response) == ("cn", None, b"cn")


@pytest.mark.parametrize(
    "response", [b"", b"a", b"\0a", b"\0a\0b\0c", b"\0\xff\0\xfe", b"\x05LOGINS\0\0\0\x09x"]
)
@pytest.mark.parametrize("mechanism", ["PLAIN", "AMQPLAIN"])
def test_unreadable_credentials_are_none(mechanism, response):
    client = {"mechanism": mechanism, "sasl": lambda challenge: response}
    login = Pair(client=client).pump().events["server"][0]
    assert (login.username, login.password) == (None, None)
    assert login.response == response


class Challenging(Pair):
    def react(self, event):
        match event:
            case LoginRequested():
                self.server.challenge(b"who?")
            case LoginContinued(response=b"me"):
                self.server.accept_login()
            case _:
                super().react(event)


def test_a_challenge_is_answered():
    responses = {None: b"first", b"who?": b"me"}
    client = {"mechanism": "CR", "sasl": responses.__getitem__}
    pair = Challenging(client=client, server={"mechanisms": ["CR"]}).pump()
    assert names(pair.events["server"]) == ["LoginRequested", "LoginContinued", "OpenRequested"]
    assert pair.client.is_open


def test_plain_has_no_answer_to_a_challenge():
    pair = Challenging().pump()
    (event,) = pair.events["client"]
    assert (event.stage, event.closed_by) == ("login", "local")
    assert pair.client.closed


def test_mechanism_that_is_not_offered_ends_it():
    pair = Pair(server={"mechanisms": ["EXTERNAL"]}).pump()
    (event,) = pair.events["client"]
    assert isinstance(event, ConnectionClosed)
    assert "EXTERNAL" in event.reply_text
    assert pair.client.closed


def test_unknown_mechanism_needs_sasl():
    with pytest.raises(LocalProtocolError, match="SCRAM"):
        Pair(client={"mechanism": "SCRAM"})


class Refusing(Pair):
    def react(self, event):
        if isinstance(event, LoginRequested):
            self.server.refuse_login("no such user")
        else:
            super().react(event)


def test_login_refused_with_its_reason():
    pair = Refusing().pump()
    (event,) = pair.events["client"]
    match event:
        case ConnectionClosed(403, "ACCESS_REFUSED - no such user", None, "remote", "login"):
            pass
        case _:
            pytest.fail(repr(event))
    assert pair.client.closed
    assert pair.server.closed


def test_login_refused_to_a_client_that_knows_no_close_here():
    pair = Refusing(client={"client_properties": {"capabilities": {}}}).pump()
    assert pair.server.closed
    assert pair.client.receive_eof() == [
        ConnectionClosed(
            403,
            "ACCESS_REFUSED - the server closed it during the login",
            None,
            "remote",
            "login",
        )
    ]


def test_a_transport_that_is_lost_during_the_login_is_no_refusal():
    """Both ends announce that a refusal is told: so nothing is known."""
    pair = Pair()
    pair.client.receive_data(start_of(pair))
    assert pair.client.receive_eof() == [
        ConnectionClosed(0, "the transport was closed", None, "remote", "login")
    ]


def start_of(pair):
    pair.server.receive_data(pair.client.data_to_send())
    return pair.server.data_to_send()


class NoHost(Pair):
    def react(self, event):
        if isinstance(event, OpenRequested):
            self.server.refuse_open(text="no vhost")
        else:
            super().react(event)


def test_virtual_host_refused():
    pair = NoHost().pump()
    (event,) = pair.events["client"]
    assert event == ConnectionClosed(
        530, "NOT_ALLOWED - no vhost", "connection.open", "remote", "open"
    )


@pytest.mark.parametrize(
    ("mine", "theirs", "agreed"),
    [
        ({"frame_max": 4096}, {"frame_max": 8192}, 4096),
        ({"frame_max": 8192}, {"frame_max": 4096}, 4096),
        ({"frame_max": 0}, {"frame_max": 8192}, 8192),
        ({"frame_max": 8192}, {"frame_max": 0}, 8192),
    ],
)
def test_the_lower_frame_max_counts(mine, theirs, agreed):
    pair = Pair(client=mine, server=theirs).pump()
    assert pair.client.frame_max == pair.server.frame_max == agreed


@pytest.mark.parametrize(
    ("client", "server", "agreed"), [(None, 30, 30), (0, 30, 0), (10, 30, 10), (10, 0, 10)]
)
def test_heartbeat_is_the_clients_choice(client, server, agreed):
    pair = Pair(client={"heartbeat": client}, server={"heartbeat": server}).pump()
    assert pair.client.heartbeat == pair.server.heartbeat == agreed


def server_at_tune():
    pair = Pair()
    pair.server.receive_data(pair.client.data_to_send())
    start_ok = amqp.Connection.StartOk(mechanism="PLAIN", response=b"\0a\0b", locale="en_US")
    pair.server.receive_data(amqp.encode(0, start_ok))
    pair.server.accept_login()
    pair.server.data_to_send()
    return pair.server


@pytest.mark.parametrize(
    "tune", [{"channel_max": 3000}, {"frame_max": 131073}, {"frame_max": 100}, {"channel_max": 0}]
)
def test_limits_above_the_offered_are_refused(tune):
    server = server_at_tune()
    method = amqp.Connection.TuneOk(**{"channel_max": 10, "frame_max": 4096, **tune})
    with pytest.raises(RemoteProtocolError) as caught:
        server.receive_data(amqp.encode(0, method))
    assert caught.value.reply_code == 530


@pytest.mark.parametrize("method", [amqp.Connection.Open(), amqp.Channel.Open()])
def test_order_of_the_handshake(method):
    server = server_at_tune()
    with pytest.raises(RemoteProtocolError) as caught:
        server.receive_data(amqp.encode(method.CLASS_ID // 20, method))
    assert caught.value.reply_code == 503
    (close,) = [frame for _, frame in amqp.Decoder().feed(server.data_to_send())]
    assert isinstance(close, amqp.Connection.Close)
    assert (close.reply_code, close.class_id, close.method_id) == (
        503,
        method.CLASS_ID,
        method.METHOD_ID,
    )


@pytest.mark.parametrize(
    "data", [b"HTTP/1.1 200 OK\r\n", v0_9.PROTOCOL_HEADER[:4] + rb"\9\9\9\9", b"\x16\x03\x01" * 9]
)
def test_what_is_no_amqp_is_told_our_version(data):
    pair = Pair()
    with pytest.raises(RemoteProtocolError):
        pair.server.receive_data(data)
    assert pair.server.data_to_send() == amqp.PROTOCOL_HEADER
    assert pair.server.closed
    with pytest.raises(RemoteProtocolError):
        pair.server.receive_data(b"")


def test_version_refused_by_the_server():
    pair = Pair()
    (event,) = pair.client.receive_data(v0_8.PROTOCOL_HEADER)
    assert isinstance(event, ConnectionClosed)
    assert "refuses AMQP 0-9-1" in event.reply_text
    assert pair.client.closed


def test_redirect_of_the_old_versions():
    pair = Pair("0-9", answer=False)
    pair.server.receive_data(pair.client.data_to_send())
    pair.client.receive_data(pair.server.data_to_send())
    pair.server.receive_data(pair.client.data_to_send())
    pair.server.accept_login()
    pair.client.receive_data(pair.server.data_to_send())
    pair.client.data_to_send()
    redirect = v0_9.Connection.Redirect(host="other:5672")
    (event,) = pair.client.receive_data(v0_9.encode(0, redirect))
    assert event.host == "other:5672"
    (close,) = [frame for _, frame in v0_9.Decoder().feed(pair.client.data_to_send())]
    assert close.reply_code == 200


def test_answers_that_nobody_asked_for():
    pair = opened()
    with pytest.raises(LocalProtocolError, match="has not asked"):
        pair.server.accept_login()
    with pytest.raises(LocalProtocolError, match="client"):
        pair.client.accept_open()


def test_nothing_before_it_is_open():
    pair = Pair()
    with pytest.raises(LocalProtocolError, match="not open yet"):
        pair.client.open_channel()


def test_close_during_the_handshake():
    pair = Pair()
    pair.client.close()
    assert pair.client.closed
    assert pair.client.receive_data(amqp.encode(0, amqp.Connection.Start())) == []


def test_a_protocol_of_xml():
    pytest.importorskip("lxml")
    loaded = load_xml_spec(REPO / "spec" / "amqp0-9-1.xml")
    pair = opened(loaded)
    mine, _ = pair.channel()
    mine.declare_queue("q")
    pair.pump()
    assert type(pair.take("client")[-1].reply) is loaded.Queue.DeclareOk


@pytest.mark.parametrize("protocol", ["1.0", v1_0])
def test_amqp_1_0_has_a_class_of_its_own(protocol):
    with pytest.raises(ValueError, match=r"amqpcodec\.session\.v1\.Connection"):
        Connection("client", protocol=protocol)
    assert Connection("client", protocol=v0_8).protocol is v0_8


def test_roles_and_protocols_are_checked():
    with pytest.raises(ValueError, match="role"):
        opened().client.__class__("both")
    with pytest.raises(ValueError, match="no protocol"):
        Pair("0-10")
