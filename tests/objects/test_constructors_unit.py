"""Constructors and the object protocol of methods, properties and frames."""

from __future__ import annotations

import gc
import inspect
from typing import Any

import pytest

from amqpcodec import EncodeError
from amqpcodec import v0_9_1 as amqp
from tests.support.amqp091_wire import SPECS, Spec, class_of

DEFAULTS: dict[str, Any] = {
    "o": 0, "h": 0, "l": 0, "q": 0, "b": False, "s": "", "S": b"", "F": {},
}  # fmt: skip
SAMPLES: dict[str, Any] = {
    "o": 7, "h": 300, "l": 70000, "q": 1 << 40, "b": True, "s": "text", "S": b"octets",
    "F": {"n": 1},
}  # fmt: skip
every_method = pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())


def wires(spec: Spec) -> dict[str, str]:
    """Wire type by the name that the package gave the field."""
    names = class_of(amqp, spec.name).FIELDS
    return dict(zip(names, (wire for _, wire in spec.fields), strict=True))


@every_method
def test_defaults(spec: Spec) -> None:
    method = class_of(amqp, spec.name)()
    for name, wire in wires(spec).items():
        value = getattr(method, name)
        assert value == DEFAULTS[wire]
        assert type(value) is type(DEFAULTS[wire])


@every_method
def test_keywords(spec: Spec) -> None:
    values = {name: SAMPLES[wire] for name, wire in wires(spec).items()}
    method = class_of(amqp, spec.name)(**values)
    for name, value in values.items():
        assert getattr(method, name) == value


@every_method
def test_positions(spec: Spec) -> None:
    kind = class_of(amqp, spec.name)
    values = [SAMPLES[wires(spec)[name]] for name in kind.__match_args__]
    method = kind(*values)
    for name, value in zip(kind.__match_args__, values, strict=True):
        assert getattr(method, name) == value
    with pytest.raises(TypeError):
        kind(*values, "one too many")


@every_method
def test_signature(spec: Spec) -> None:
    kind = class_of(amqp, spec.name)
    parameters = inspect.signature(kind).parameters
    assert set(parameters) == set(kind.FIELDS)
    positional = [
        p.name for p in parameters.values() if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    ]
    assert tuple(positional) == kind.__match_args__
    for name, parameter in parameters.items():
        assert parameter.default is not inspect.Parameter.empty
        if name.startswith("reserved_"):
            assert parameter.kind is inspect.Parameter.KEYWORD_ONLY


@every_method
def test_attributes_can_be_set(spec: Spec) -> None:
    method = class_of(amqp, spec.name)()
    for name, wire in wires(spec).items():
        setattr(method, name, SAMPLES[wire])
        assert getattr(method, name) == SAMPLES[wire]


def test_properties_signature() -> None:
    parameters = inspect.signature(amqp.Basic.Properties).parameters
    assert {"content_type", "headers", "timestamp", "user_id", "reserved"} <= set(parameters)
    assert all(p.default is None for p in parameters.values() if p.name != "kwargs")


def test_unknown_keyword_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="excahnge"):
        amqp.Basic.Publish(excahnge="orders")
    with pytest.raises(TypeError, match="header"):
        amqp.Basic.Properties(header={})
    with pytest.raises(TypeError):
        amqp.Tx.Select(x=1)
    with pytest.raises(TypeError):
        amqp.Body(body=b"")


def test_duplicate_argument_is_refused() -> None:
    with pytest.raises(TypeError, match="exchange"):
        amqp.Basic.Publish("orders", exchange="orders")


def test_reserved_fields_are_keyword_only() -> None:
    assert amqp.Basic.Publish("orders").exchange == "orders"
    assert amqp.Basic.Publish(reserved_1=3).reserved_1 == 3
    with pytest.raises(TypeError):
        amqp.Channel.Open("x")
    assert amqp.Channel.Open(reserved_1="x").reserved_1 == "x"


def test_keyword_names_need_not_be_interned() -> None:
    name = "".join(["ex", "change"])
    assert amqp.Basic.Publish(**{name: "orders"}).exchange == "orders"
    assert amqp.Basic.Publish(**{"routing_key "[:-1]: "k"}).routing_key == "k"


def test_default_tables_are_fresh() -> None:
    one, other = amqp.Queue.Declare(), amqp.Queue.Declare()
    one.arguments["x"] = 1
    assert one.arguments == {"x": 1}
    assert other.arguments == {}
    assert amqp.Queue.Declare().arguments == {}


def test_table_that_was_passed_is_the_table() -> None:
    headers = {"n": 1}
    properties = amqp.Basic.Properties(headers=headers)
    headers["m"] = 2
    assert properties.headers == {"n": 1, "m": 2}


def test_cluster_id_is_reserved() -> None:
    properties = amqp.Basic.Properties(reserved="c")
    assert properties.cluster_id == "c"
    properties.cluster_id = "d"
    assert properties.reserved == "d"
    assert amqp.Basic.Properties(cluster_id="e").reserved == "e"


def test_header_makes_its_own_properties() -> None:
    one, other = amqp.Header(), amqp.Header()
    one.properties.priority = 3
    assert other.properties.priority is None


@every_method
def test_no_dict_and_no_new_attributes(spec: Spec) -> None:
    method = class_of(amqp, spec.name)()
    assert not hasattr(method, "__dict__")
    with pytest.raises(AttributeError):
        method.surprise = 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: amqp.Basic.Properties(),
        lambda: amqp.Header(),
        lambda: amqp.Body(),
        lambda: amqp.Heartbeat(),
        lambda: amqp.ProtocolHeader(),
        lambda: amqp.Message(amqp.Basic.Publish(), amqp.Basic.Properties(), b""),
    ],
    ids=["properties", "header", "body", "heartbeat", "protocol-header", "message"],
)
def test_frames_have_no_dict_and_no_hash(make: Any) -> None:
    instance = make()
    assert not hasattr(instance, "__dict__")
    with pytest.raises(AttributeError):
        instance.surprise = 1
    with pytest.raises(TypeError):
        hash(instance)
    assert instance == make()
    assert (instance != make()) is False
    assert isinstance(repr(instance), str)


def test_classes_are_final() -> None:
    for kind in (amqp.Basic.Publish, amqp.Basic.Properties, amqp.Header, amqp.Body):
        with pytest.raises(TypeError):
            type("Sub", (kind,), {})


@every_method
def test_equality(spec: Spec) -> None:
    kind = class_of(amqp, spec.name)
    values = {name: SAMPLES[wire] for name, wire in wires(spec).items()}
    assert kind(**values) == kind(**values)
    assert (kind(**values) != kind(**values)) is False
    for name in values:
        assert kind(**values) != kind(**{**values, name: DEFAULTS[wires(spec)[name]]})
    assert kind() != object()
    assert kind() != values
    assert kind().__eq__(5) is NotImplemented


def test_classes_with_equal_fields_are_not_equal() -> None:
    assert amqp.Connection.CloseOk() != amqp.Channel.CloseOk()
    assert amqp.Basic.ConsumeOk("t") != amqp.Basic.CancelOk("t")
    assert amqp.Connection.Tune(1, 2, 3) != amqp.Connection.TuneOk(1, 2, 3)


def test_no_order_between_instances() -> None:
    with pytest.raises(TypeError):
        assert amqp.Basic.Ack(1) < amqp.Basic.Ack(2)


@every_method
def test_instances_are_unhashable(spec: Spec) -> None:
    with pytest.raises(TypeError):
        hash(class_of(amqp, spec.name)())


def test_match_statement() -> None:
    match amqp.Basic.Deliver("tag", 7, True, "orders", "eu"):
        case amqp.Basic.Publish():
            pytest.fail("not a publish")
        case amqp.Basic.Deliver(tag, delivery_tag, redelivered=True, routing_key=key):
            assert (tag, delivery_tag, key) == ("tag", 7, "eu")
        case _:
            pytest.fail("no case matched")
    match amqp.Basic.Publish("orders", reserved_1=9):
        case amqp.Basic.Publish(exchange):
            assert exchange == "orders"
    match amqp.Body(b"x"):
        case amqp.Body(payload):
            assert payload == b"x"
    match amqp.Header(3, amqp.Basic.Properties(content_type="t", priority=4)):
        case amqp.Header(size, amqp.Basic.Properties(content_type, priority=priority)):
            assert (size, content_type, priority) == (3, "t", 4)
    match amqp.Message(amqp.Basic.Publish("e"), amqp.Basic.Properties(), b"b"):
        case amqp.Message(amqp.Basic.Publish("e"), amqp.Basic.Properties(), body):
            assert body == b"b"


@every_method
def test_deleting_an_attribute_leaves_a_sound_object(spec: Spec) -> None:
    kind = class_of(amqp, spec.name)
    for name in kind.FIELDS:
        method = kind()
        try:
            delattr(method, name)
        except (AttributeError, TypeError):
            assert method == kind()
            continue
        repr(method)
        method.__eq__(kind())
        try:
            amqp.encode(1, method)
        except (AttributeError, EncodeError):
            pass


def test_many_instances_come_and_go() -> None:
    """Freed instances are reused: no value of one may be seen in the next."""
    methods = [amqp.Basic.Publish(f"e{i}", f"k{i}") for i in range(500)]
    for i, method in enumerate(methods):
        assert (method.exchange, method.routing_key) == (f"e{i}", f"k{i}")
    del methods
    gc.collect()
    for _ in range(500):
        method = amqp.Basic.Publish()
        assert (method.exchange, method.routing_key, method.mandatory) == ("", "", False)


def test_failed_construction_leaks_nothing_into_the_next() -> None:
    for _ in range(50):
        with pytest.raises(TypeError):
            amqp.Basic.Deliver("tag", 5, True, "e", "k", "extra")
        with pytest.raises(TypeError):
            amqp.Basic.Deliver("tag", nonsense=1)
        assert amqp.Basic.Deliver() == amqp.Basic.Deliver(consumer_tag="")


def test_cycles_through_tables_are_collected() -> None:
    class Canary(dict[str, Any]):
        alive = 0

        def __init__(self) -> None:
            Canary.alive += 1

        def __del__(self) -> None:
            Canary.alive -= 1

    for _ in range(10):
        table = Canary()
        declare = amqp.Queue.Declare(arguments=table)
        table["self"] = declare
        headers = Canary()
        properties = amqp.Basic.Properties(headers=headers)
        headers["self"] = [amqp.Header(0, properties)]
        del declare, table, headers, properties
    gc.collect()
    assert Canary.alive == 0
