"""Representations: readable, short, and free of credentials."""

from __future__ import annotations

import copy
import pickle

import pytest

from amqpcodec import types
from amqpcodec import v0_9_1 as amqp
from tests.support import amqp091_wire as w

SECRET = b"\0guest\0hunter2-correct-horse"
MARKS = ("hunter2", "correct-horse", SECRET.hex(), "aHVudGVyMi")


def test_repr_names_class_and_values() -> None:
    text = repr(amqp.Basic.Publish(exchange="orders", routing_key="eu", mandatory=True))
    assert "Basic.Publish" in text
    assert "exchange='orders'" in text
    assert "routing_key='eu'" in text
    assert "mandatory=True" in text


def test_repr_of_typed_values() -> None:
    for value in (
        types.LongString("a"), types.LongBytes(b"\xff"), types.ShortString("a"),
        types.ByteArray(b"x"), types.Reference(b"x"), types.UInt8(5), types.Float(1.5),
        types.Void(), types.RawValue("U", b"\0\1"), types.RawValue(None, b""),
    ):  # fmt: skip
        assert eval(repr(value), vars(types)) == value, value
        assert repr(value).startswith(type(value).__name__)


def test_raw_values_are_compared_and_copied() -> None:
    one = types.RawValue("U", b"\0\1")
    assert one == types.RawValue("U", b"\0\1")
    assert hash(one) == hash(types.RawValue("U", b"\0\1"))
    assert one != types.RawValue("u", b"\0\1")
    assert one != types.RawValue("U", b"\0\2")
    assert one != ("U", b"\0\1")
    assert pickle.loads(pickle.dumps(one)) == copy.copy(one) == one


def test_repr_of_properties() -> None:
    text = repr(amqp.Basic.Properties(content_type="application/json", headers={"n": 1}))
    assert "Properties" in text
    assert "content_type='application/json'" in text
    assert "'n': 1" in text


def test_repr_of_frames() -> None:
    assert "Header" in repr(amqp.Header(7))
    assert "7" in repr(amqp.Header(7))
    assert "Body" in repr(amqp.Body(b"x"))
    assert "Heartbeat" in repr(amqp.Heartbeat())
    assert "ProtocolHeader" in repr(amqp.ProtocolHeader())
    message = amqp.Message(amqp.Basic.Publish("orders"), amqp.Basic.Properties(), b"x")
    assert "orders" in repr(message)


@pytest.mark.parametrize("spec", w.SPECS.values(), ids=w.SPECS.keys())
def test_repr_of_every_method_names_it(spec: w.Spec) -> None:
    assert w.class_of(amqp, spec.name).__name__ in repr(w.class_of(amqp, spec.name)())


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("connection.start-ok", "response"),
        ("connection.secure-ok", "response"),
        ("connection.update-secret", "new_secret"),
    ],
)
def test_credentials_are_never_shown(name: str, field: str) -> None:
    constructed = w.class_of(amqp, name)(**{field: SECRET})
    decoded = amqp.decode(w.method_frame(name, 0, **{field: SECRET}))
    assert decoded is not None
    for method in (constructed, decoded[2]):
        assert getattr(method, field) == SECRET
        for text in (repr(method), str(method), f"{method}", repr([method]), repr((0, method))):
            assert not any(mark in text for mark in MARKS), text


def test_self_containing_headers_have_a_repr() -> None:
    properties = amqp.Basic.Properties(headers={})
    properties.headers["self"] = properties
    assert "Properties" in repr(properties)


def test_repr_of_a_large_body_is_short() -> None:
    assert len(repr(amqp.Body(b"x" * 1_000_000))) < 2000
    message = amqp.Message(amqp.Basic.Publish(), amqp.Basic.Properties(), b"x" * 1_000_000)
    assert len(repr(message)) < 4000


def test_repr_of_long_text_is_short() -> None:
    assert f"{'x' * 256}" in repr(amqp.Basic.Publish(exchange="x" * 256))
    text = repr(amqp.Basic.Publish(exchange="x" * 257))
    assert f"exchange='{'x' * 64}'... (257 characters)" in text


def test_repr_of_text_that_is_not_utf8_can_be_printed() -> None:
    result = amqp.decode(w.method_frame("basic.consume-ok", consumer_tag=b"\xff\xfe"))
    assert result is not None
    repr(result[2]).encode("utf-8")
