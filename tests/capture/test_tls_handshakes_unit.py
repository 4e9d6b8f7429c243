"""Handshakes of TLS made byte by byte: which session is resumed, and when early data is read."""

from __future__ import annotations

import pytest

from amqpcodec.capture import KeyLog
from amqpcodec.capture._layers._handshake import first_server_hello
from amqpcodec.capture._layers._sessions import Sessions
from amqpcodec.capture._layers._tls import NO_EARLY_ANSWER, NO_HANDSHAKE, Tls
from tests.support.tls_records import (
    OF_ID,
    OF_OTHER,
    OF_TICKET,
    RANDOM,
    SECRETS,
    SUITE12,
    SUITE13,
    client_hello,
    client_records,
    handshake,
    server_hello,
    server_records,
)
from tests.support.tls_talk import CLIENT, SERVER

pytest.importorskip("cryptography")

SECRET = b"s" * 48


# ---- sessions of TLS 1.2 ----


def known_sessions() -> Sessions:
    sessions = Sessions()
    sessions.remember(b"id", OF_ID)
    sessions.remember(b"ticket", OF_TICKET)
    return sessions


def key_log(*randoms: bytes) -> KeyLog:
    return KeyLog([f"CLIENT_RANDOM {random.hex()} {SECRET.hex()}" for random in randoms])


@pytest.mark.parametrize(
    ("offered", "ticket", "chosen", "logged", "expected"),
    [
        pytest.param(b"id", b"", b"id", [], OF_ID, id="by its id"),
        pytest.param(b"id", b"", b"new", [], RANDOM, id="another id: a new session"),
        pytest.param(b"id", b"", b"", [], RANDOM, id="no id: a new session"),
        pytest.param(b"", b"", b"id", [], RANDOM, id="no id was offered: a new session"),
        pytest.param(b"any", b"ticket", b"any", [], OF_TICKET, id="by its ticket"),
        pytest.param(b"any", b"ticket", b"new", [], RANDOM, id="the ticket is not accepted"),
        pytest.param(b"id", b"ticket", b"id", [], OF_TICKET, id="a ticket counts before the id"),
        pytest.param(b"id", b"unknown", b"id", [], OF_ID, id="a ticket that nobody knows"),
        pytest.param(b"any", b"unknown", b"any", [], RANDOM, id="nobody knows either"),
        pytest.param(b"id", b"", b"id", [RANDOM], RANDOM, id="the log has this handshake"),
        pytest.param(b"id", b"", b"id", [OF_OTHER], OF_ID, id="the log has another one"),
        pytest.param(b"id", b"", b"new", [RANDOM], RANDOM, id="a new session that the log has"),
    ],
)
def test_which_handshake_the_secret_is_of(
    offered: bytes, ticket: bytes, chosen: bytes, logged: list[bytes], expected: bytes
):
    """A server resumes the session that it names. Spec: RFC 5246 §7.3, RFC 5077 §3.4."""
    sessions = known_sessions()
    tls = Tls(key_log(*logged), sessions, lambda reason: None)
    more = {"ticket": ticket} if ticket else {}
    tls.receive(CLIENT, client_hello(offered, **more))
    tls.receive(SERVER, server_hello(SUITE12, chosen))
    assert tls.agreed is not None
    assert tls.agreed.master == expected
    assert sessions.find(chosen) == (expected if chosen else None)
    assert sessions.find(b"ticket") == OF_TICKET


@pytest.mark.parametrize("logged", [[], [RANDOM]])
def test_a_server_hello_that_comes_first_waits_for_the_client_hello(logged: list[bytes]):
    """Which session is resumed, the client's hello says, which a capture may have after it."""
    sessions, reasons = known_sessions(), list[str]()
    tls = Tls(key_log(*logged), sessions, reasons.append)
    tls.receive(SERVER, server_hello(SUITE12, b"id"))
    assert tls.agreed is None
    tls.receive(CLIENT, client_hello(b"id"))
    assert tls.agreed is not None
    expected = RANDOM if logged else OF_ID
    assert (tls.agreed.client_random, tls.agreed.master) == (RANDOM, expected)
    assert sessions.find(b"id") == expected
    tls.end()
    assert reasons == []


def test_the_server_hello_that_a_record_begins_with():
    message_of_server = server_hello(SUITE12, b"id")[5:]
    hello = first_server_hello(message_of_server + b"more")
    assert hello is not None
    assert (hello.session_id, hello.suite) == (b"id", SUITE12)
    for other in (b"", message_of_server[:-1], client_hello(b"id")[5:], handshake(2, b"short")):
        assert first_server_hello(other) is None


def test_a_server_hello_without_the_client_hello_is_counted():
    for lose in (False, True):
        reasons: list[str] = []
        tls = Tls(key_log(OF_ID), known_sessions(), reasons.append)
        if lose:
            assert tls.lost(CLIENT, 100) == [(CLIENT, None), (SERVER, None)]
        else:
            tls.receive(SERVER, server_hello(SUITE12, b"id"))
        tls.end()
        assert reasons == [NO_HANDSHAKE] * (1 + lose), "a direction each"


def test_tls_1_3_begins_no_session_of_tls_1_2():
    """Its server repeats the client's id, which says nothing. Spec: RFC 8446 §4.1.3."""
    sessions = known_sessions()
    tls = Tls(key_log(OF_ID), sessions, lambda reason: None)
    tls.receive(CLIENT, client_hello(b"id", ticket=b"ticket"))
    tls.receive(SERVER, server_hello(SUITE13, b"id"))
    assert tls.agreed is not None
    assert tls.agreed.master == RANDOM
    assert sessions.find(b"id") == OF_ID


def test_a_server_hello_without_the_client_hello_begins_no_session():
    sessions = known_sessions()
    tls = Tls(key_log(OF_ID), sessions, lambda reason: None)
    assert tls.receive(SERVER, server_hello(SUITE12, b"id")) == []
    assert sessions.find(b"id") == OF_ID


# ---- early data of TLS 1.3 ----

KEYS = [f"{name} {RANDOM.hex()} {secret.hex()}" for name, secret in SECRETS.items()]


class Reading:
    """What a reader makes of both directions."""

    def __init__(self) -> None:
        self.reasons: list[str] = []
        self.tls = Tls(KeyLog(KEYS), Sessions(), self.reasons.append)
        self.plaintexts = [b"", b""]

    def receive(self, side: int, *records: bytes) -> None:
        for data in records:
            for sender, item in self.tls.receive(side, data):
                if isinstance(item, bytes):
                    self.plaintexts[sender] += item

    def lose(self, side: int, *records: bytes) -> None:
        self.tls.lost(side, sum(map(len, records)))


@pytest.mark.parametrize("is_accepted", [True, False])
@pytest.mark.parametrize("records_before", range(6))
def test_early_data_is_read_where_the_server_accepts_it(is_accepted: bool, records_before: int):
    """However many records of the client a capture has before the server's."""
    reading = Reading()
    client = client_records(is_accepted)
    reading.receive(CLIENT, *client[:records_before])
    reading.receive(SERVER, *server_records(is_accepted))
    reading.receive(CLIENT, *client[records_before:])
    assert reading.plaintexts == [b"early later" if is_accepted else b"later", b"12"]
    assert reading.reasons == []


@pytest.mark.parametrize("records_before", range(1, 5))
def test_early_data_is_not_read_where_the_answer_to_it_is_lost(records_before: int):
    """A server that accepted it would have said so in the record of the gap."""
    reading = Reading()
    client, server = client_records(False), server_records(False)
    reading.receive(CLIENT, *client[:records_before])
    reading.receive(SERVER, server[0])
    reading.lose(SERVER, server[1])
    reading.receive(CLIENT, *client[records_before:])
    assert reading.plaintexts[CLIENT] == b"", "it waits for the server's next record"
    reading.receive(SERVER, *server[2:])
    assert reading.plaintexts == [b"later", b"12"]
    assert reading.reasons == [NO_EARLY_ANSWER]


def test_an_answer_that_is_lost_is_counted_where_early_data_was_accepted():
    reading = Reading()
    client, server = client_records(True), server_records(True)
    reading.receive(CLIENT, *client)
    reading.receive(SERVER, server[0])
    reading.lose(SERVER, server[1])
    reading.receive(SERVER, *server[2:])
    assert reading.plaintexts == [b"later", b"12"]
    assert reading.reasons == [NO_EARLY_ANSWER]


def test_a_lost_answer_of_a_client_without_early_data_is_no_loss():
    reading = Reading()
    server = server_records(False)
    reading.receive(CLIENT, client_hello(b"id"))
    reading.receive(SERVER, server[0])
    reading.lose(SERVER, server[1])
    reading.receive(SERVER, *server[2:])
    assert reading.plaintexts == [b"", b"12"]
    assert reading.reasons == []


def test_a_gap_after_the_answer_changes_nothing_of_early_data():
    """The server accepted it, and lost records after that; the client's come last."""
    reading = Reading()
    client, server = client_records(True), server_records(True)
    reading.receive(CLIENT, client[0])
    reading.receive(SERVER, *server[:2])
    reading.lose(SERVER, server[2])
    reading.receive(SERVER, *server[3:])
    reading.receive(CLIENT, *client[1:])
    assert reading.plaintexts == [b"early later", b"12"]
    assert reading.reasons == []


@pytest.mark.parametrize("is_accepted", [True, False])
def test_a_gap_of_the_client_leaves_the_answer_to_the_server(is_accepted: bool):
    """Its records after the gap are read before the server says whether it takes early data."""
    reading = Reading()
    client, server = client_records(is_accepted), server_records(is_accepted)
    reading.receive(CLIENT, client[0])
    reading.receive(SERVER, server[0])
    reading.lose(CLIENT, *client[1:-1])
    reading.receive(CLIENT, client[-1])
    assert reading.tls.accepts_early is None
    reading.receive(SERVER, *server[1:])
    assert reading.tls.accepts_early is is_accepted
    assert reading.plaintexts == [b"later", b"12"]
    assert reading.reasons == []
