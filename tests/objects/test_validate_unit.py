"""validate() and encode(validate=True): the asserts of the specification's domains."""

from __future__ import annotations

from typing import Any

import pytest

from amqpcodec import EncodeError
from amqpcodec import v0_9_1 as amqp

GOOD_NAMES = ["", "orders", "a-b_c.d:E9", "x" * 127, "-", "amq.gen-Ab1"]
BAD_NAMES = ["a b", "a/b", "é", "x" * 128, "a\n", "\n", "a\0", "a#", "*", "a\udcff", "a,b", "a[b"]
NAMED: list[tuple[Any, str]] = [
    (amqp.Exchange.Declare, "exchange"),
    (amqp.Exchange.Delete, "exchange"),
    (amqp.Exchange.Bind, "destination"),
    (amqp.Exchange.Bind, "source"),
    (amqp.Exchange.Unbind, "source"),
    (amqp.Queue.Declare, "queue"),
    (amqp.Queue.Bind, "queue"),
    (amqp.Queue.Bind, "exchange"),
    (amqp.Queue.Purge, "queue"),
    (amqp.Basic.Consume, "queue"),
    (amqp.Basic.Publish, "exchange"),
    (amqp.Basic.Deliver, "exchange"),
    (amqp.Basic.Get, "queue"),
]
# What else the asserts on fields and domains want, so that one field alone can be judged.
FILL = {
    amqp.Exchange.Declare: {"exchange": "e"},
    amqp.Exchange.Delete: {"exchange": "e"},
    amqp.Exchange.Bind: {"destination": "d", "source": "s"},
    amqp.Exchange.Unbind: {"destination": "d", "source": "s"},
}


def make(kind: Any, field: str, value: str) -> Any:
    return kind(**{**FILL.get(kind, {}), field: value})


@pytest.mark.parametrize(("kind", "field"), NAMED)
def test_good_names(kind: Any, field: str) -> None:
    for name in GOOD_NAMES:
        if name == "" and kind in (amqp.Exchange.Declare, amqp.Exchange.Delete):
            continue  # these fields have a not-null assert of their own
        method = make(kind, field, name)
        method.validate()
        assert amqp.encode(1, method, validate=True) == amqp.encode(1, method)


@pytest.mark.parametrize(("kind", "field"), NAMED)
@pytest.mark.parametrize("name", BAD_NAMES, ids=ascii)
def test_bad_names(kind: Any, field: str, name: str) -> None:
    method = make(kind, field, name)
    for act in (method.validate, lambda: amqp.encode(1, method, validate=True)):
        with pytest.raises(EncodeError) as caught:
            act()
        assert caught.value.method == kind.NAME
        assert caught.value.field == field
        assert field in str(caught.value)
    assert amqp.encode(1, method)  # the default refuses only what cannot be encoded


def test_exchange_declare_needs_a_name() -> None:
    with pytest.raises(EncodeError):
        amqp.Exchange.Declare().validate()


def test_path() -> None:
    amqp.Connection.Open("/").validate()
    amqp.Connection.Open("any thing é").validate()
    amqp.Connection.Open("x" * 127).validate()
    for path in ("", "x" * 128):
        with pytest.raises(EncodeError) as caught:
            amqp.Connection.Open(path).validate()
        assert caught.value.field == "virtual_host"
        assert caught.value.method == "connection.open"


@pytest.mark.parametrize(
    ("good", "field"),
    [
        (amqp.Connection.Start(mechanisms=b"PLAIN", locales=b"en_US"), "mechanisms"),
        (amqp.Connection.Start(mechanisms=b"PLAIN", locales=b"en_US"), "locales"),
        (amqp.Connection.StartOk(mechanism="PLAIN", response=b"r", locale="en_US"), "mechanism"),
        (amqp.Connection.StartOk(mechanism="PLAIN", response=b"r", locale="en_US"), "response"),
        (amqp.Connection.StartOk(mechanism="PLAIN", response=b"r", locale="en_US"), "locale"),
        (amqp.Connection.SecureOk(response=b"r"), "response"),
        (amqp.Queue.DeclareOk(queue="q"), "queue"),
    ],
)
def test_not_null_of_fields(good: Any, field: str) -> None:
    good.validate()
    empty = getattr(good, field)[:0]
    setattr(good, field, empty)
    with pytest.raises(EncodeError) as caught:
        good.validate()
    assert caught.value.field == field


def test_methods_without_asserts_validate() -> None:
    for method in (amqp.Tx.Select(), amqp.Basic.Ack(1), amqp.Channel.Open(), amqp.Basic.Qos()):
        method.validate()
        assert amqp.encode(1, method, validate=True) == amqp.encode(1, method)


def test_other_frames_encode_with_validate() -> None:
    for frame in (amqp.Header(), amqp.Body(b"x"), amqp.Heartbeat(), amqp.ProtocolHeader()):
        assert amqp.encode(0, frame, validate=True) == amqp.encode(0, frame)


def test_validate_refuses_what_cannot_be_encoded() -> None:
    with pytest.raises(EncodeError):
        amqp.encode(1, amqp.Basic.Publish(exchange=5), validate=True)
    with pytest.raises(EncodeError):
        amqp.Basic.Publish(exchange=5).validate()


def test_validation_messages_hold_no_content() -> None:
    with pytest.raises(EncodeError) as caught:
        amqp.Queue.Declare(queue="correct horse battery").validate()
    assert "horse" not in str(caught.value)
