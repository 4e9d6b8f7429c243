"""Public names, constants and class attributes of amqpcodec.v0_9_1."""

from __future__ import annotations

import pytest

import amqpcodec
from amqpcodec import v0_9_1 as amqp
from tests.support.amqp091_wire import PROPERTIES, SPECS, Spec, class_of

CONSTANTS = {
    "FRAME_METHOD": 1,
    "FRAME_HEADER": 2,
    "FRAME_BODY": 3,
    "FRAME_HEARTBEAT": 8,
    "FRAME_MIN_SIZE": 4096,
    "FRAME_END": 206,
    "REPLY_SUCCESS": 200,
    "CONTENT_TOO_LARGE": 311,
    "NO_ROUTE": 312,
    "NO_CONSUMERS": 313,
    "CONNECTION_FORCED": 320,
    "INVALID_PATH": 402,
    "ACCESS_REFUSED": 403,
    "NOT_FOUND": 404,
    "RESOURCE_LOCKED": 405,
    "PRECONDITION_FAILED": 406,
    "FRAME_ERROR": 501,
    "SYNTAX_ERROR": 502,
    "COMMAND_INVALID": 503,
    "CHANNEL_ERROR": 504,
    "UNEXPECTED_FRAME": 505,
    "RESOURCE_ERROR": 506,
    "NOT_ALLOWED": 530,
    "NOT_IMPLEMENTED": 540,
    "INTERNAL_ERROR": 541,
}
every_method = pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())


@pytest.mark.parametrize(("name", "value"), CONSTANTS.items())
def test_constant(name: str, value: int) -> None:
    assert getattr(amqp, name) == value


def test_protocol_header_and_version() -> None:
    assert amqp.PROTOCOL_HEADER == b"AMQP\x00\x00\x09\x01"
    assert type(amqp.PROTOCOL_HEADER) is bytes
    assert amqp.VERSION in ("0-9-1", (0, 9, 1))


def test_protocol_function_gives_the_module() -> None:
    assert amqpcodec.protocol("0-9-1") is amqp


@pytest.mark.parametrize("name", ["0-9-2", "", "amqp"])
def test_unknown_protocol_is_refused(name: str) -> None:
    with pytest.raises((ValueError, LookupError)):
        amqpcodec.protocol(name)


def test_errors_are_exported() -> None:
    assert issubclass(amqpcodec.DecodeError, amqpcodec.AMQPCodecError)
    assert issubclass(amqpcodec.DecodeError, ValueError)
    assert issubclass(amqpcodec.EncodeError, amqpcodec.AMQPCodecError)
    assert issubclass(amqpcodec.EncodeError, ValueError)
    assert issubclass(amqpcodec.AMQPCodecError, Exception)


@pytest.mark.parametrize(
    "name",
    [
        "TruncatedError",
        "TrailingError",
        "FrameEndError",
        "FrameTooLargeError",
        "FrameTypeError",
        "UnknownMethodError",
        "UnknownTagError",
        "DepthError",
        "HeaderError",
        "UnexpectedFrameError",
        "ChannelError",
        "ContentTooLargeError",
        "HeartbeatError",
        "IncompleteError",
    ],
)
def test_every_cause_has_its_decode_error(name: str) -> None:
    error = getattr(amqpcodec, name)
    assert issubclass(error, amqpcodec.DecodeError)
    assert getattr(amqpcodec.errors, name) is error


def test_methods_are_all_there() -> None:
    assert len(amqp.METHODS) == 64
    assert set(amqp.METHODS) == {(s.class_id, s.method_id) for s in SPECS.values()}
    assert amqp.METHODS[(60, 40)] is amqp.Basic.Publish
    assert amqp.METHODS[(40, 51)] is amqp.Exchange.UnbindOk


@every_method
def test_class_attributes(spec: Spec) -> None:
    kind = class_of(amqp, spec.name)
    assert amqp.METHODS[(spec.class_id, spec.method_id)] is kind
    assert spec.name == kind.NAME
    assert (spec.class_id, spec.method_id) == (kind.CLASS_ID, kind.METHOD_ID)
    assert kind.SYNCHRONOUS is spec.synchronous
    assert kind.HAS_CONTENT is spec.has_content


@every_method
def test_fields_in_wire_order(spec: Spec) -> None:
    kind = class_of(amqp, spec.name)
    expected = tuple(name for name, _ in spec.fields)
    if spec.name == "confirm.select":  # one spelling of no-wait is as good as the other
        assert kind.FIELDS in (("nowait",), ("no_wait",))
    else:
        assert expected == kind.FIELDS
    assert kind.__match_args__ == tuple(n for n in kind.FIELDS if not n.startswith("reserved_"))


@every_method
def test_responses(spec: Spec) -> None:
    kind = class_of(amqp, spec.name)
    responses = tuple(getattr(item, "NAME", item).split(".")[-1] for item in kind.RESPONSES)
    assert responses == spec.responses


@every_method
def test_sent_by(spec: Spec) -> None:
    other = {"client": "server", "server": "client"}
    expected = {other[receiver] for receiver in spec.receivers}
    senders = class_of(amqp, spec.name).SENT_BY
    assert not isinstance(senders, str)
    if spec.name in ("connection.blocked", "connection.unblocked"):
        # The broker's XML allows both sides; in fact only the server sends them.
        assert expected <= set(senders)
    else:
        assert set(senders) == expected


@every_method
def test_classes_are_documented_and_named(spec: Spec) -> None:
    kind = class_of(amqp, spec.name)
    assert kind.__doc__
    assert kind.__qualname__.split(".")[-1] == kind.__name__
    assert kind.__name__ == "".join(w.capitalize() for w in spec.name.split(".")[1].split("-"))


def test_class_attributes_exist_on_instances_too() -> None:
    close = amqp.Connection.Close(class_id=60, method_id=40)
    assert (close.CLASS_ID, close.METHOD_ID) == (10, 50)
    assert (close.class_id, close.method_id) == (60, 40)


def test_property_names() -> None:
    properties = amqp.Basic.Properties()
    for name, _ in PROPERTIES:
        assert getattr(properties, name) is None, name
    assert properties.cluster_id is None


def test_frame_classes_have_their_defaults() -> None:
    header = amqp.Header()
    assert (header.body_size, header.class_id, header.weight) == (0, 60, 0)
    assert header.properties == amqp.Basic.Properties()
    assert amqp.Body().payload == b""
    start = amqp.ProtocolHeader()
    assert (start.protocol_id, start.major, start.minor, start.revision) == (0, 0, 9, 1)
    assert isinstance(amqp.Heartbeat(), amqp.Heartbeat)


def test_frame_classes_take_positions() -> None:
    properties = amqp.Basic.Properties(priority=1)
    header = amqp.Header(5, properties)
    assert (header.body_size, header.properties) == (5, properties)
    assert amqp.Body(b"x").payload == b"x"
    assert amqp.ProtocolHeader(1, 1, 0, 9) == amqp.ProtocolHeader(
        protocol_id=1, major=1, minor=0, revision=9
    )
    publish = amqp.Basic.Publish()
    message = amqp.Message(publish, properties, b"b")
    assert (message.method, message.properties, message.body) == (publish, properties, b"b")
