"""The objects of a session have what users call and read, and nothing of the engine's."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from amqpcodec import session
from amqpcodec.session import v1

#: Operations that the peer answers, unless no_wait asks for no reply.
WITH_NO_WAIT = (
    *("bind_exchange", "bind_queue", "cancel", "confirm", "consume", "declare_exchange"),
    *("declare_queue", "delete_exchange", "delete_queue", "purge_queue", "unbind_exchange"),
)
CHANNEL = {
    *WITH_NO_WAIT,
    *("ack", "close", "close_reason", "commit_tx", "confirming", "connection", "consumers"),
    *("context", "deliveries", "flow", "flow_active", "get", "is_open", "nack", "number"),
    *("publications", "publish", "qos", "received", "recover", "reject", "rollback_tx"),
    *("select_tx", "send", "sent", "ticket", "transactional", "unbind_queue"),
}
CONNECTION = {
    *("accept_login", "accept_open", "blocked", "buffers_to_send", "bytes_to_send", "challenge"),
    *("channel_max", "channels", "close", "close_reason", "closed", "context", "data_to_send"),
    *("frame_max", "handle_timeout", "heartbeat", "is_open", "next_timeout", "open_channel"),
    *("peer_properties", "protocol", "receive_data", "receive_eof", "received", "refuse_login"),
    *("refuse_open", "reply_text", "role", "send", "sent", "stage", "update_secret"),
    "virtual_host",
}
REQUEST = {"channel", "consumer", "context", "done", "error", "method", "response"}
SURFACE: dict[Any, set[str]] = {
    session.Channel: CHANNEL,
    session.Connection: CONNECTION,
    session.Consumer: {"active", "channel", "context", "no_ack", "queue", "tag"},
    session.OutstandingTags: {"last"},
    session.PeerRequest: {*REQUEST, "expects_response", "respond"},
    session.Request: REQUEST,
}


@pytest.mark.parametrize("kind", SURFACE, ids=lambda kind: kind.__qualname__)
def test_public_attributes(kind: Any) -> None:
    assert {name for name in dir(kind) if not name.startswith("_")} == SURFACE[kind]


@pytest.mark.parametrize("kind", SURFACE, ids=lambda kind: kind.__qualname__)
def test_what_is_called_and_read_is_described(kind: Any) -> None:
    """Methods and properties have docstrings; plain attributes stand in that of the class."""
    for name in SURFACE[kind]:
        attribute = getattr(kind, name)
        if callable(attribute) or isinstance(attribute, property):
            assert attribute.__doc__, name
        else:
            text = "".join(base.__doc__ or "" for base in kind.__mro__)
            assert f"{name}:" in text or f"{name}," in text, name


@pytest.mark.parametrize("name", ["session", "session.events", "session.v1"])
def test_modules_list_what_they_have(name: str) -> None:
    module = importlib.import_module(f"amqpcodec.{name}")
    below = {"events", "v1"} if name == "session" else set()
    assert set(dir(module)) - below == set(module.__all__)
    assert all(hasattr(module, public_name) for public_name in module.__all__)


def test_the_two_classes_are_apart() -> None:
    assert not hasattr(session, "LegacyConnection")
    assert not hasattr(v1, "V1Connection")
    assert not issubclass(v1.Connection, session.Connection)
    assert type(session.Connection("client")) is session.Connection


def test_options_have_names() -> None:
    """A wrong one is refused by Python itself, and by type checkers before."""
    with pytest.raises(TypeError, match="colour"):
        session.Connection("client", colour="red")  # type: ignore[call-arg]


def test_outstanding_tags_show_what_is_true_now() -> None:
    from tests.support.session_pair import opened

    pair = opened(answer=False)
    mine, theirs = pair.channel()
    publications, deliveries = mine.publications, mine.deliveries
    assert (len(publications), publications.last, list(publications)) == (0, 0, [])
    mine.confirm(no_wait=True)
    mine.consume("q", "t", no_wait=True)
    for _ in range(3):
        mine.publish("", "q")
    pair.pump()
    for tag in (1, 2):
        theirs.send(pair.amqp.Basic.Deliver("t", tag), None, b"")
    theirs.ack(2)
    pair.pump()
    assert (list(publications), publications.last) == ([1, 3], 3)
    assert 3 in publications
    assert 2 not in publications
    assert (list(deliveries), deliveries.last) == ([1, 2], 2)
    mine.ack(1)
    assert 1 not in deliveries
    assert 2 in deliveries
    assert repr(deliveries) == "<1 deliveries, the last one 2>"
    assert repr(publications) == "<2 publications, the last one 3>"


def test_a_connection_shows_its_stage():
    from tests.support.session_pair import opened

    pair = opened()
    assert repr(pair.client) == "Connection('client', protocol='0-9-1', opened)"
    pair.client.close()
    pair.pump()
    assert repr(pair.server) == "Connection('server', protocol='0-9-1', closed)"


# ---- AMQP 1.0: the objects, with what they are given when they are made ----

LINK = {
    *("accept", "attach", "delivery_count", "detach", "drain", "flow", "handle", "link_credit"),
    *("name", "rcv_settle_mode", "refuse", "remote_attach", "resumptions", "sends", "session"),
    *("snd_settle_mode", "source", "state", "target", "unsettled", "unsettled_map"),
}
SENDER = {
    *LINK,
    *("available", "begin_delivery", "credit", "drained", "remote_max_message_size", "resume"),
    "send",
}
RECEIVER = {*LINK, "add_credit", "available", "credit", "max_message_size", "partial"}
DELIVERY = {
    *("id", "link", "remote_settled", "remote_state", "settle", "settled", "state", "tag"),
    "transfer",
}
V1_SURFACE: dict[str, set[str]] = {
    "Connection": {
        *("accept", "authenticate", "begin", "buffers_to_send", "bytes_to_send", "channel_max"),
        *("close", "closed", "data_to_send", "handle_timeout", "hostname", "max_frame_size"),
        *("next_timeout", "receive_data", "receive_eof", "refuse", "remote_open", "role"),
        *("sessions", "state", "tls_established", "transactions"),
    },
    "Session": {
        *("accept", "attach_controller", "attach_receiver", "attach_sender", "bytes_waiting"),
        *("channel", "connection", "end", "flow", "links", "remote_begin", "remote_channel"),
        *("settle", "state", "window"),
    },
    "Sender": SENDER,
    "Receiver": RECEIVER,
    "Controller": {*SENDER, "declare"},
    "Coordinator": {*RECEIVER, "declare", "discharge", "transactions"},
    "OutgoingDelivery": {*DELIVERY, "abort", "write"},
    "IncomingDelivery": {
        *DELIVERY,
        *("accept", "complete", "message", "modify", "payload", "position", "received", "reject"),
        *("release", "resumed", "size", "update"),
    },
    "Transaction": {"commit", "id", "link", "rollback", "state"},
}


@pytest.fixture(scope="module")
def v1_objects() -> dict[str, Any]:
    """One of each class, out of a conversation."""
    from amqpcodec import v1_0
    from tests.support.session_v1_pair import Pair

    pair = Pair().opened()
    mine = pair.client.begin()
    pair.pump()
    sender = mine.attach_sender("to", "q")
    controller = mine.attach_controller("tx")
    pair.pump()
    sent = sender.send(v1_0.Message("x"))
    transaction = controller.declare()
    pair.pump()
    received = [
        event.delivery for event in pair.server_events if isinstance(event, v1.DeliveryReceived)
    ]
    links = pair.server.sessions[0].links
    made = [pair.client, mine, sender, controller, sent, transaction, *received, *links]
    return {type(item).__name__: item for item in made}


@pytest.mark.parametrize("kind", V1_SURFACE)
def test_public_attributes_of_1_0(v1_objects: dict[str, Any], kind: str) -> None:
    names = {name for name in dir(v1_objects[kind]) if not name.startswith("_")}
    assert names == V1_SURFACE[kind]


def test_unknown_options_of_1_0_are_refused() -> None:
    with pytest.raises(TypeError, match="colour"):
        v1.Connection("client", colour="red")  # type: ignore[call-arg]
