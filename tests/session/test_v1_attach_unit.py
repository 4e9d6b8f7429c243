"""AMQP 1.0: rules about the ends of a link (Part 3 §3.5), for this end and for its peer."""

from __future__ import annotations

from typing import Any

import pytest

from amqpcodec import v1_0 as amqp
from amqpcodec.session import LocalProtocolError, v1
from tests.support.session_v1_pair import Pair, Peer, attach, kinds

S = amqp.Symbol
POLICY = {S("lifetime-policy"): amqp.DeleteOnClose()}

#: What a source must not say, by the receiver that asks for it.
SOURCES: dict[str, Any] = {
    "an address of a dynamic node that is asked for": amqp.Source("q", dynamic=True),
    "properties of a node that is not dynamic": amqp.Source("q", dynamic_node_properties=POLICY),
    "a node property that is no symbol": amqp.Source(
        dynamic=True, dynamic_node_properties={"lifetime-policy": amqp.DeleteOnClose()}
    ),
    "a lifetime policy that is none": amqp.Source(
        dynamic=True, dynamic_node_properties={S("lifetime-policy"): amqp.Accepted()}
    ),
    "distribution modes that are no symbols": amqp.Source(
        dynamic=True, dynamic_node_properties={S("supported-dist-modes"): "move"}
    ),
    "a filter whose name is a string": amqp.Source("q", filter={"f": amqp.Described(S("x"), 1)}),
    "a filter that is not described": amqp.Source("q", filter={S("f"): 5}),
    "a default outcome that is no outcome": amqp.Source("q", default_outcome=amqp.Received(0, 0)),
    "an outcome that is none": amqp.Source("q", outcomes=[S("amqp:received:list")]),
    "an address that is no string": amqp.Source(5),
}
#: What a target must not say, by the sender that asks for it.
TARGETS: dict[str, Any] = {
    "an address of a dynamic node that is asked for": amqp.Target("q", dynamic=True),
    "properties of a node that is not dynamic": amqp.Target("q", dynamic_node_properties=POLICY),
    "an address that is no string": amqp.Target(5),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_receiver_does_not_ask_for_a_source_that_is_forbidden(name: str) -> None:
    pair = Pair().opened()
    session = pair.session()
    with pytest.raises(LocalProtocolError, match=r"source.*\(Part 3 §3\.5\.3\)"):
        session.attach_receiver("link", SOURCES[name])
    assert (pair.client.data_to_send(), session.links) == (b"", [])
    pair.receiver(session)


@pytest.mark.parametrize("name", TARGETS)
def test_a_sender_does_not_ask_for_a_target_that_is_forbidden(name: str) -> None:
    pair = Pair().opened()
    session = pair.session()
    with pytest.raises(LocalProtocolError, match=r"target.*\(Part 3 §3\.5\.4\)"):
        session.attach_sender("link", TARGETS[name])
    assert (pair.client.data_to_send(), session.links) == (b"", [])
    pair.sender(session)


def test_what_only_one_end_says() -> None:
    """Addresses of nodes that were made, and delivery counts."""
    pair = Pair().opened()
    session = pair.session()
    with pytest.raises(LocalProtocolError, match=r"source: no address.*§3\.5\.3"):
        session.attach_sender("link", "q", source=amqp.Source(dynamic=True))
    with pytest.raises(LocalProtocolError, match=r"target: no address.*§3\.5\.4"):
        session.attach_receiver("link", "q", target=amqp.Target(dynamic=True))
    with pytest.raises(LocalProtocolError, match=r"initial_delivery_count.*§2\.7\.3"):
        session.attach_receiver("link", "q", initial_delivery_count=0)
    for unsettled in ({"t": None}, {b"t": 5}, {b"t": amqp.Source()}):
        with pytest.raises(LocalProtocolError, match=r"unsettled.*§2\.7\.3"):
            session.attach_sender("link", "q", unsettled=unsettled)
    assert (pair.client.data_to_send(), session.links) == (b"", [])


@pytest.mark.parametrize(
    "source",
    [
        amqp.Source(),
        amqp.Source("q", 2, "never", 60),
        amqp.Source(dynamic=True, dynamic_node_properties=POLICY),
        amqp.Source(dynamic=True, expiry_policy="link-detach"),
        amqp.Source("q", distribution_mode="x-of-mine", capabilities=["queue"]),
        amqp.Source("q", filter={S("f"): amqp.Described(S("x:filter"), "a"), S("none"): None}),
        amqp.Source("q", default_outcome=amqp.Released(), outcomes=[amqp.Accepted.SYMBOL]),
        amqp.Source("q", outcomes=[S("x:outcome:list")]),
    ],
)
def test_what_a_receiver_may_ask_for(source: Any) -> None:
    pair = Pair(handler=grants).opened()
    link = pair.session().attach_receiver("link", source)
    pair.pump()
    assert link.state == "ATTACHED"
    requested_source = pair.one(v1.LinkRequested, server=True).attach.source
    assert amqp.encode_value(requested_source) == amqp.encode_value(source)


def grants(event: Any) -> None:
    """A server that makes the nodes that it is asked for."""
    match event:
        case v1.SessionRequested(session):
            session.accept()
        case v1.LinkRequested(link, frame):
            own = frame.source if link.sends else frame.target
            options = {}
            if own.dynamic:
                terminus = own.__replace__(address="made")
                options = {"source" if link.sends else "target": terminus}
            link.accept(**options)


def test_a_dynamic_node_has_to_be_made_or_refused() -> None:
    pair = Pair(handler=lambda event: None).opened()
    pair.handler = lambda event: event.session.accept()
    session = pair.session()
    pair.handler = lambda event: None
    for make, field in ((session.attach_receiver, "source"), (session.attach_sender, "target")):
        kind = amqp.Source if field == "source" else amqp.Target
        link = make(field, kind(dynamic=True))
        pair.pump()
        requested_link = pair.one(v1.LinkRequested, server=True).link
        with pytest.raises(LocalProtocolError, match=f"{field}: no address"):
            requested_link.accept()
        requested_link.accept(**{field: kind("made", dynamic=True)})
        pair.pump()
        assert getattr(link, field) == kind("made", dynamic=True)
        other = make(f"{field} again", kind(dynamic=True))
        pair.pump()
        pair.one(v1.LinkRequested, server=True).link.refuse("amqp:not-implemented")
        (closed,) = pair.pump()
        assert (closed.link, closed.error.condition) == (other, "amqp:not-implemented")


def test_an_answer_does_not_say_that_the_other_end_made_a_node() -> None:
    """A sender that made its own source: the receiver repeats the address, not the flag."""
    peer = Peer()
    link = peer.attached(source=amqp.Source("made", dynamic=True))
    assert link.attach.source == amqp.Source("made")


# --- peers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SOURCES)
def test_a_receiver_that_asks_for_what_is_forbidden_is_detached(name: str) -> None:
    peer = Peer()
    peer.mapped()
    requested, closed = peer.give(attach(sends=False, source=SOURCES[name]))
    assert kinds([requested, closed]) == [v1.LinkRequested, v1.LinkClosed]
    assert closed.error.condition == "amqp:invalid-field"
    assert (closed.closed_by, closed.closed) == ("local", True)
    requested.link.accept()
    answer, detach = peer.take()
    assert (answer.source, answer.target, detach.error) == (None, None, closed.error)
    assert peer.give(amqp.Detach(0, True)) == []
    assert peer.engine.sessions[0].links == []


@pytest.mark.parametrize("name", TARGETS)
def test_a_sender_that_asks_for_what_is_forbidden_is_detached(name: str) -> None:
    peer = Peer()
    peer.mapped()
    _, closed = peer.give(attach(target=TARGETS[name]))
    assert (type(closed), closed.error.condition) == (v1.LinkClosed, "amqp:invalid-field")


@pytest.mark.parametrize(
    "fields",
    [
        {"source": amqp.Source(dynamic=True)},
        {"source": amqp.Source("q", dynamic_node_properties=POLICY)},
        {"unsettled": {"t": None}},
        {"unsettled": {b"t": 5}},
        {"unsettled": amqp.Map([(b"t", None), (b"t", None)])},
    ],
)
def test_an_answer_that_breaks_a_rule_is_detached(fields: dict[str, Any]) -> None:
    """The peer answers an attach of this end's."""
    peer = Peer("client")
    peer.give(amqp.ProtocolHeader(0, 1, 0, 0), amqp.Open("peer"))
    session = peer.engine.begin()
    peer.give(amqp.Begin(0, 0, 100, 100))
    link = session.attach_receiver("link", "q")
    peer.take()
    (closed,) = peer.give(attach(**fields))
    assert (type(closed), closed.link) == (v1.LinkClosed, link)
    assert closed.error.condition == "amqp:invalid-field"
    (detach,) = peer.take()
    assert detach.error == closed.error


def test_what_is_harmless_is_taken() -> None:
    """Keys of an attach's properties, and a delivery count of a receiver, which is ignored."""
    peer = Peer()
    peer.mapped()
    (event,) = peer.give(attach(sends=False, initial_delivery_count=7, properties={"text": 1}))
    event.link.accept()
    assert event.link.state == "ATTACHED"
