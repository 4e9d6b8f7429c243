"""validate(): every rule that types alone do not hold; what breaks none passes."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from amqpcodec import ValidationError
from amqpcodec import v1_0 as amqp

S = amqp.Symbol
D = amqp.Described(S("x:filter"), "a")
SENDER: dict[str, Any] = {
    "name": "l",
    "handle": 0,
    "role": amqp.Role.SENDER,
    "initial_delivery_count": 0,
}
RECEIVER: dict[str, Any] = {"name": "l", "handle": 0, "role": amqp.Role.RECEIVER}

GOOD: list[Any] = [
    amqp.Open("c"),
    amqp.Open("c", properties={S("product"): "p"}),
    amqp.Attach(**SENDER),
    amqp.Attach(**RECEIVER, source=amqp.Source("q"), target=amqp.Target()),
    amqp.Attach(**RECEIVER, source=amqp.Source(dynamic=True)),
    amqp.Attach(**SENDER, source=amqp.Source("made", dynamic=True)),
    amqp.Attach(**SENDER, target=amqp.Target(dynamic=True)),
    amqp.Attach(**SENDER, target=amqp.Coordinator(amqp.TxnCapability.LOCAL_TRANSACTIONS)),
    amqp.Attach(**SENDER, unsettled={b"t": None, b"u": amqp.Received(0, 0)}),
    amqp.Source(filter={S("f"): D, S("g"): None}),
    amqp.Source(default_outcome=amqp.Released(), outcomes=["amqp:accepted:list", "x:own:list"]),
    amqp.Source(dynamic=True, dynamic_node_properties={S("lifetime-policy"): amqp.DeleteOnClose()}),
    amqp.Source(dynamic=True, dynamic_node_properties={S("supported-dist-modes"): S("move")}),
    amqp.Target(
        dynamic=True,
        dynamic_node_properties={S("supported-dist-modes"): amqp.Array("symbol", [S("move")])},
    ),
    amqp.Flow(incoming_window=1, next_outgoing_id=0, outgoing_window=1),
    amqp.Flow(incoming_window=1, next_outgoing_id=0, outgoing_window=1, handle=0, link_credit=1),
    amqp.Transfer(handle=0, delivery_tag=b"t" * 32, state=amqp.Accepted()),
    amqp.Disposition(role=True, first=0, state=amqp.TransactionalState(b"t", amqp.Accepted())),
    amqp.Modified(message_annotations={S("x-opt-a"): 1}),
    amqp.Error("amqp:not-found", info={S("a"): 1}),
    *(amqp.Properties(message_id=i) for i in (1, "a", b"a", uuid.UUID(int=0), amqp.ULong(1), None)),
    amqp.Message(b"x"),
    amqp.Message(None, value=None),
    amqp.Message(0, application_properties={"a": 1, "b": None, "c": amqp.Symbol("s")}),
    amqp.Message(0, message_annotations={S("a"): 1, 5: 2}, footer=amqp.Map([(amqp.ULong(1), 1)])),
    amqp.Message(0, delivery_annotations={S("rejected"): amqp.Error("e")}),
    amqp.Message(b"x", content_encoding="gzip"),
]

BAD: list[tuple[Any, str, str]] = [
    (amqp.Open(), "container_id", "mandatory"),
    (amqp.Begin(next_outgoing_id=0, incoming_window=1), "outgoing_window", "mandatory"),
    (amqp.Attach(), "name", "mandatory"),
    (amqp.Transfer(), "handle", "mandatory"),
    (amqp.Error(), "condition", "mandatory"),
    (amqp.Rejected(amqp.Error()), "condition", "mandatory"),
    (amqp.Discharge(), "txn_id", "mandatory"),
    (amqp.SaslMechanisms(), "sasl_server_mechanisms", "mandatory"),
    # symbol keys
    (amqp.Open("c", properties={"product": "p"}), "properties", "keys are symbols, not str"),
    (amqp.Error("e", info={1: 1}), "info", "keys are symbols"),
    (amqp.Modified(message_annotations={"a": 1}), "message_annotations", "keys are symbols"),
    (amqp.Source(filter={"f": D}), "filter", "keys are symbols"),
    (
        amqp.Source(dynamic=True, dynamic_node_properties={"lifetime-policy": None}),
        "dynamic_node_properties",
        "keys are symbols",
    ),
    # filters, outcomes, node properties
    (amqp.Source(filter={S("f"): "a"}), "filter", "described types or null, not str"),
    (amqp.Source(default_outcome=amqp.Received(0, 0)), "default_outcome", "provides outcome"),
    (amqp.Source(default_outcome="accepted"), "default_outcome", "provides outcome"),
    (amqp.Source(outcomes=["amqp:received:list"]), "outcomes", "no outcome"),
    (amqp.Source(dynamic_node_properties={}), "dynamic_node_properties", "only where dynamic"),
    (
        amqp.Target(dynamic=True, dynamic_node_properties={S("lifetime-policy"): amqp.Accepted()}),
        "dynamic_node_properties",
        "lifetime-policy",
    ),
    (
        amqp.Target(dynamic=True, dynamic_node_properties={S("supported-dist-modes"): "move"}),
        "dynamic_node_properties",
        "one symbol or more",
    ),
    (
        amqp.Source(
            dynamic=True,
            dynamic_node_properties={S("supported-dist-modes"): amqp.Array("symbol")},
        ),
        "dynamic_node_properties",
        "one symbol or more",
    ),
    # addresses
    (amqp.Source(5), "address", "an address is a string, not int"),
    (amqp.Target(S("q")), "address", "not Symbol"),
    (amqp.Attach(**RECEIVER, source=amqp.Source("q", dynamic=True)), "source", "asked for"),
    (amqp.Attach(**SENDER, target=amqp.Target("q", dynamic=True)), "target", "asked for"),
    (amqp.Attach(**SENDER, source=amqp.Source(dynamic=True)), "source", "was made"),
    (amqp.Attach(**RECEIVER, target=amqp.Target(dynamic=True)), "target", "was made"),
    # attach
    (amqp.Attach("l", 0, amqp.Role.SENDER), "initial_delivery_count", "mandatory for a sender"),
    (amqp.Attach(**SENDER, source=amqp.Target()), "source", "provides source"),
    (amqp.Attach(**SENDER, target=amqp.Source()), "target", "provides target"),
    (amqp.Attach(**SENDER, unsettled={"t": None}), "unsettled", "delivery tags, not str"),
    (amqp.Attach(**SENDER, unsettled={b"t": 1}), "unsettled", "delivery states or null"),
    # states
    (amqp.Transfer(handle=0, state=amqp.Open("c")), "state", "provides delivery-state"),
    (amqp.Transfer(handle=0, delivery_tag=b"t" * 33), "delivery_tag", "at most 32"),
    (amqp.Disposition(role=True, first=0, state=1), "state", "provides delivery-state"),
    (amqp.TransactionalState(b"t", amqp.Received(0, 0)), "outcome", "provides outcome"),
    (
        amqp.Flow(incoming_window=1, next_outgoing_id=0, outgoing_window=1, link_credit=1),
        "link_credit",
        "only with a handle",
    ),
    # messages
    (amqp.Properties(message_id=1.5), "message_id", "a message id is"),
    (amqp.Properties(correlation_id=True), "correlation_id", "a message id is"),
    (amqp.Properties(message_id=amqp.UInt(1)), "message_id", "not UInt"),
    (amqp.Properties(to=5), "to", "an address is a string"),
    (amqp.Properties(content_encoding="identity"), "content_encoding", "never identity"),
    (amqp.Message(), "body", "one kind, not absent"),
    (amqp.Message(data=b"x", value=1), "body", "data and amqp-value"),
    (amqp.Message(1, content_encoding="gzip"), "body", "only data sections"),
    (amqp.Message(1, message_annotations={"a": 1}), "message_annotations", "symbols or ulongs"),
    (amqp.Message(1, delivery_annotations={True: 1}), "delivery_annotations", "symbols or ulongs"),
    (amqp.Message(1, footer={b"a": 1}), "footer", "symbols or ulongs, not bytes"),
    (amqp.Message(1, footer={amqp.Long(1): 1}), "footer", "symbols or ulongs, not Long"),
    (
        amqp.Message(1, delivery_annotations={S("rejected"): "e"}),
        "delivery_annotations",
        "an Error",
    ),
    (amqp.Message(1, application_properties={S("a"): 1}), "application_properties", "are strings"),
    (
        amqp.Message(1, application_properties={"a": [1]}),
        "application_properties",
        "no maps, lists",
    ),
    (amqp.Message(1, application_properties={"a": {}}), "application_properties", "no maps, lists"),
    (
        amqp.Message(1, application_properties={"a": amqp.Array("int")}),
        "application_properties",
        "no maps, lists",
    ),
]


@pytest.mark.parametrize("value", GOOD, ids=repr)
def test_good(value: Any) -> None:
    value.validate()
    octets = value.encode() if isinstance(value, amqp.Message) else amqp.encode_value(value)
    back = (
        amqp.Message.decode(octets)
        if isinstance(value, amqp.Message)
        else amqp.decode_value(octets)[0]
    )
    back.validate()


@pytest.mark.parametrize(("value", "field", "what"), BAD, ids=lambda value: repr(value)[:60])
def test_bad(value: Any, field: str, what: str) -> None:
    """The default writes it and reads it; only validation refuses."""
    with pytest.raises(ValidationError, match=what) as caught:
        value.validate()
    assert caught.value.field == field
    if isinstance(value, amqp.Message):
        with pytest.raises(ValidationError):
            value.encode(validate=True)
        if value.body_kind is None or len(value.sections()) == 1 or "kind, not data" not in what:
            octets = value.encode()
            if what != "data and amqp-value":
                with pytest.raises(ValidationError):
                    amqp.Message.decode(octets, types="typed").validate()
        return
    again = amqp.decode_value(amqp.encode_value(value, incomplete=True), types="typed")[0]
    with pytest.raises(ValidationError):
        again.validate()
    if "frame" in type(value).PROVIDES:
        amqp.encode(0, value, incomplete=True)
        with pytest.raises(ValidationError):
            amqp.encode(0, value, validate=True)


def test_nested_values_are_checked() -> None:
    attach = amqp.Attach(**RECEIVER, source=amqp.Source(filter={S("f"): 1}))
    with pytest.raises(ValidationError, match=r"^source\.filter: "):
        attach.validate()


def test_required_annotations() -> None:
    annotations = {S("x-opt-a"): 1, S("x-b"): 1, S("c"): 1, 5: 1}
    assert amqp.required_annotations(annotations) == ["x-b", "c", 5]
    assert amqp.required_annotations(None) == []
    assert amqp.required_annotations(amqp.Map([(S("a"), 1), (S("a"), 2)])) == ["a", "a"]
    assert amqp.required_annotations({S("x-opt"): 1, S("x-optional"): 1, S("X-OPT-a"): 1}) == [
        *("x-opt", "x-optional", "X-OPT-a")
    ]
    for wrong in ("x-b", [S("a")], 5):
        with pytest.raises(TypeError, match="takes a Message or a section"):
            amqp.required_annotations(wrong)


def test_required_annotations_of_a_message() -> None:
    """Those of all three sections of annotations; application properties are none."""
    message = amqp.Message(
        b"x",
        delivery_annotations={S("x-opt-a"): 1, S("d"): 1, S("rejected"): amqp.Error("x")},
        message_annotations={S("x-b"): 1, S("x-opt-b"): 1, 5: 1},
        footer={S("x-opt-c"): 1, S("d"): 1},
        application_properties={"p": 1},
    )
    assert amqp.required_annotations(message) == ["d", "rejected", "x-b", 5, "d"]
    assert amqp.required_annotations(amqp.Message.decode(message.encode())) == [
        *("d", "rejected", "x-b", 5, "d")
    ]
    assert amqp.required_annotations(amqp.Message(b"x")) == []


SECTIONS: list[tuple[str, Any, Any]] = [
    ("delivery_annotations", {S("a"): 1, 5: 2}, {"a": 1}),
    ("delivery_annotations", {S("rejected"): amqp.Error(S("x:y"))}, {S("rejected"): 1}),
    ("message_annotations", {S("a"): 1, 5: 2}, {"a": 1}),
    ("application_properties", {"a": 1}, {S("a"): 1}),
    ("application_properties", {"a": 1}, {"a": [1]}),
    ("footer", amqp.Map([(amqp.ULong(1), 1)]), {b"a": 1}),
]


@pytest.mark.parametrize(("name", "good", "bad"), SECTIONS)
def test_a_section_by_itself_has_the_rules_of_its_message(name: str, good: Any, bad: Any) -> None:
    kind = getattr(amqp, "".join(part.title() for part in name.split("_")))
    kind(good).validate()
    amqp.Message(1, **{name: good}).validate()
    with pytest.raises(ValidationError) as alone:
        kind(bad).validate()
    with pytest.raises(ValidationError) as inside:
        amqp.Message(1, **{name: bad}).validate()
    assert alone.value.method == name.replace("_", "-")
    assert str(alone.value).partition(": ")[2] == str(inside.value).partition(": ")[2]


def test_the_header_that_a_receiver_goes_by() -> None:
    absent = amqp.Message(b"x")
    assert absent.header is None
    header = absent.effective_header
    assert (header.durable, header.priority, header.ttl) == (False, 4, None)
    assert (header.first_acquirer, header.delivery_count) == (False, 0)
    header.durable = True
    assert absent.header is None
    assert absent.effective_header.durable is False
    with_header = amqp.Message.decode(amqp.Message(b"x", durable=True).encode())
    assert with_header.effective_header is with_header.header
    assert (with_header.effective_header.durable, with_header.effective_header.priority) == (
        True,
        4,
    )
