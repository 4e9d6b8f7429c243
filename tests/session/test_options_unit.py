"""Options of a session, each seen on the wire; those that cannot be encoded are refused at once."""

from __future__ import annotations

from typing import Any

import pytest

from amqpcodec import EncodeError, ValidationError, v0_8, v0_9
from amqpcodec import v0_9_1 as amqp
from amqpcodec.session import Connection, LocalProtocolError, RemoteProtocolError, Replied, _codes
from amqpcodec.session._model import model_of
from tests.support.session_pair import Pair, names, opened

OLD = {"0-9": v0_9, "0-8": v0_8}


class Recorded(Pair):
    """Keeps what the client sent."""

    def pump(self):
        self.sent = getattr(self, "sent", b"")
        while self.client.bytes_to_send or self.server.bytes_to_send:
            data = self.client.data_to_send()
            self.sent += data
            for event in self.server.receive_data(data):
                self.events["server"].append(event)
                self.react(event)
            self.events["client"] += self.client.receive_data(self.server.data_to_send())
        return self

    def methods(self):
        return [frame for _, frame in self.amqp.Decoder().feed(self.sent)][1:]


# ---- connection.open ----


@pytest.mark.parametrize("protocol", OLD)
@pytest.mark.parametrize("options", [{}, {"insist": True}, {"capabilities": "x y"}])
def test_insist_and_capabilities(protocol, options):
    pair = Recorded(protocol, client=options).pump()
    (method,) = [one for one in pair.methods() if one.NAME == "connection.open"]
    assert method.insist == options.get("insist", False)
    assert method.capabilities == options.get("capabilities", "")


@pytest.mark.parametrize("options", [{"insist": True}, {"capabilities": "x"}])
def test_0_9_1_has_neither(options):
    with pytest.raises(LocalProtocolError, match=r"connection\.open has no argument"):
        Connection("client", **options)
    assert Pair(client={"insist": False, "capabilities": ""}).pump().client.is_open


# ---- tickets ----


@pytest.mark.parametrize("protocol", OLD)
def test_a_ticket_is_named_by_what_takes_one(protocol):
    module = OLD[protocol]
    pair = opened(protocol, answer=False)
    mine, theirs = pair.channel()
    assert mine.ticket == 0
    mine.publish("", "q", b"without")
    request = mine.send(module.Access.Request("/data", active=True))
    pair.pump()
    theirs.received[0].respond(module.Access.RequestOk(77))
    pair.pump()
    assert pair.take("client")[-1] == Replied(mine, request, module.Access.RequestOk(77))
    assert mine.ticket == 77
    pair.take("server")
    mine.declare_queue("q")
    mine.qos()
    mine.consume("q", "t")
    mine.publish("", "q", b"with")
    mine.ticket = 5
    mine.get("q")
    pair.pump()
    methods = [
        event.request.method if hasattr(event, "request") else event.message.method
        for event in pair.take("server")
    ]
    tickets = [getattr(method, "ticket", None) for method in methods]
    assert tickets == [77, None, 77, 77, 5]


def test_versions_without_tickets_ignore_it():
    pair = opened()
    mine, _ = pair.channel()
    mine.ticket = 5
    mine.declare_queue("q")
    mine.publish("", "q", b"x")
    pair.pump()
    assert pair.take("client")


# ---- recover ----


@pytest.mark.parametrize("protocol", ["0-9-1", *OLD])
def test_recover_of_a_channel_with_transactions(protocol):
    """0-9 and 0-8: "This method is only allowed on non-transacted channels"."""
    pair = opened(protocol)
    mine, _theirs = pair.channel()
    mine.select_tx()
    pair.pump()
    pair.take("client"), pair.take("server")
    module = pair.amqp
    if protocol == "0-9-1":
        assert mine.recover() is not None
        return
    with pytest.raises(LocalProtocolError, match="with transactions does not recover"):
        mine.recover()
    (event,) = pair.server.receive_data(module.encode(1, module.Basic.Recover()))
    assert (event.reply_code, event.closed_by) == (406, "local")


def test_rollback_gives_back_what_was_acknowledged_before_recover():
    pair = opened(answer=False)
    mine, theirs = pair.channel()
    mine.consume("q", "t")
    mine.select_tx()
    pair.pump()
    theirs.received[0].respond(amqp.Basic.ConsumeOk("t"))
    theirs.received[0].respond(amqp.Tx.SelectOk())
    for tag in (1, 2, 3):
        theirs.send(amqp.Basic.Deliver("t", tag), None, b"x")
    pair.pump()
    mine.ack(1)
    mine.recover()
    mine.rollback_tx()
    theirs.send(amqp.Basic.Deliver("t", 4), None, b"on its way")
    pair.pump()
    theirs.received[0].respond(amqp.Basic.RecoverOk())
    theirs.received[0].respond(amqp.Tx.RollbackOk())
    pair.pump()
    assert list(mine.deliveries) == list(theirs.deliveries) == [1]
    mine.ack(1)
    pair.pump()
    assert pair.take("server")[-1].tags == (1,)


# ---- validation ----


def test_what_is_sent_is_held_against_the_asserts():
    pair = opened(client={"validate": True})
    mine, _ = pair.channel()
    for call in (
        lambda: mine.declare_queue("a queue!"),
        lambda: mine.publish("no such\nname", "q", b"small"),
        lambda: mine.publish("no such\nname", "q", b"x" * 20_000),
        lambda: mine.send(amqp.Exchange.Declare("e!", "direct")),
    ):
        with pytest.raises(ValidationError):
            call()
    assert pair.client.bytes_to_send == 0
    assert not mine.sent
    mine.declare_queue("a-queue")
    mine.publish("", "q", b"x")
    pair.pump()
    loose = opened()
    mine, _ = loose.channel()
    mine.declare_queue("a queue!")


def test_what_comes_is_held_against_the_asserts():
    pair = opened(server={"validate": True})
    pair.channel()
    good = amqp.encode_message(1, amqp.Basic.Publish("e", "q"), None, b"x")
    bad = amqp.encode_message(1, amqp.Basic.Publish("e!", "q"), None, b"x")
    with pytest.raises(RemoteProtocolError, match=r"basic\.publish\.exchange") as caught:
        pair.server.receive_data(good + bad + good)
    assert caught.value.reply_code == 502
    assert caught.value.method == "basic.publish"
    assert names(caught.value.events)[0] == "Published"


@pytest.mark.parametrize("protocol", ["0-9-1", "0-9", "0-8"])
def test_a_conversation_that_is_held_against_the_asserts(protocol):
    pair = opened(protocol, client={"validate": True}, server={"validate": True})
    mine, theirs = pair.channel()
    mine.ticket = 1  # 0-9 and 0-8 assert that it is not 0
    mine.consume("q", "t")
    pair.pump()
    theirs.send(pair.amqp.Basic.Deliver("t", 1, False, "", "q"), None, b"x")
    pair.pump()
    mine.ack(1)
    mine.publish("", "q", b"x", pair.amqp.Basic.Properties(content_type="a/b"))
    pair.client.close()
    pair.pump()
    assert pair.server.closed


# ---- what could not be encoded when its turn comes ----

BAD = {
    "client": [
        {"virtual_host": "v" * 256},
        {"locale": "l" * 256},
        {"client_properties": {"x": object()}},
        {"client_properties": {"k" * 256: 1}},
        {"channel_max": 65536},
        {"channel_max": -1},
        {"frame_max": 1 << 32},
        {"heartbeat": 65536},
        {"heartbeat": -1},
        {"username": "a" * 70_000, "mechanism": "AMQPLAIN", "password": object()},
    ],
    "server": [
        {"server_properties": {"x": object()}},
        {"channel_max": 65536},
        {"frame_max": 1 << 32},
        {"heartbeat": 65536},
    ],
}


@pytest.mark.parametrize(
    ("role", "options"), [(role, options) for role, table in BAD.items() for options in table]
)
@pytest.mark.parametrize("protocol", ["0-9-1", "0-9", "0-8"])
def test_options_that_cannot_be_encoded(protocol, role: Any, options):
    with pytest.raises(EncodeError, match=r"^connection\."):
        Connection(role, protocol=protocol, **options)


@pytest.mark.parametrize("answer", [None, "text", 5])
def test_a_sasl_function_that_gives_no_bytes(answer):
    client: Any = Connection("client", mechanism="X", sasl=lambda challenge: answer)
    start = amqp.Connection.Start(0, 9, {}, b"X", b"en_US")
    with pytest.raises(LocalProtocolError, match="has to be bytes"):
        client.receive_data(amqp.encode(0, start))


def test_a_value_whose_rule_has_a_code_of_its_own_closes_the_channel():
    """0-9-1, rule "syntax" of queue.declare: precondition-failed, which is a channel's."""
    pair = opened(server={"validate": True})
    _mine, theirs = pair.channel()
    (event,) = pair.server.receive_data(amqp.encode(1, amqp.Queue.Declare(queue="a queue!")))
    assert (event.channel, event.reply_code, event.closed_by) == (theirs, 406, "local")
    with pytest.raises(RemoteProtocolError) as caught:
        pair.server.receive_data(amqp.encode(9, amqp.Queue.Declare(queue="a queue!")))
    assert caught.value.reply_code == 504


@pytest.mark.parametrize("protocol", ["0-9-1", *OLD])
def test_codes_of_rules(protocol):
    model = model_of(protocol)
    has_rules = protocol == "0-9-1"
    assert (("basic.ack", "multiple", "exists") in model.rule_codes) == has_rules
    assert (("tx.commit", "", "transacted") in model.rule_codes) == has_rules
    rule_codes = {**model.rule_codes, ("basic.ack", "multiple", "exists"): 599}
    model.rule_codes, before = rule_codes, model.rule_codes
    try:
        assert model.reply_code(_codes.UNKNOWN_DELIVERY_TAG) == 599
        assert model.reply_code(_codes.OUT_OF_TURN) == 503
        assert type(model.reply_code(_codes.OUT_OF_TURN)) is int
    finally:
        model.rule_codes = before
    assert model.reply_code(_codes.UNKNOWN_DELIVERY_TAG) == 406
    assert model.illegal_value("queue.declare", "queue") == (406 if has_rules else 502)
