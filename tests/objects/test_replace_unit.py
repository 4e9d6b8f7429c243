"""asdict, copies with changes, and messages that are encoded as a decoder gave them."""

from __future__ import annotations

import copy
import sys
from typing import Any

import pytest

import amqpcodec
from amqpcodec import DecodeError, EncodeError
from amqpcodec import v0_8 as old
from amqpcodec import v0_9_1 as amqp
from amqpcodec import v1_0 as v1
from tests.support import amqp091_wire as w

PUBLISH = amqp.Basic.Publish(exchange="orders", routing_key="eu", mandatory=True)
PROPERTIES = amqp.Basic.Properties(content_type="text/plain", headers={"n": [1, {"m": 2}]})
STREAM = amqp.encode_message(1, PUBLISH, PROPERTIES, b"x" * 5000, frame_max=4096)


def message() -> Any:
    [(_, event)] = amqp.MessageDecoder().feed(STREAM)
    return event


def delivery(frame_max: int = 512, **fields: Any) -> tuple[bytes, Any]:
    transfer = v1.Transfer(handle=3, delivery_id=1, delivery_tag=b"t", message_format=0, **fields)
    content = v1.Message(b"x" * 1000, to="q", application_properties={"n": 1})
    data = v1.encode_message(7, transfer, content, frame_max=frame_max)
    [(_, event)] = v1.MessageDecoder(opened=True).feed(data)
    return data, event


def test_fields_of_a_method() -> None:
    assert amqpcodec.asdict(PUBLISH) == {
        "reserved_1": 0,
        "exchange": "orders",
        "routing_key": "eu",
        "mandatory": True,
        "immediate": False,
    }
    assert amqp.Basic.Publish(**amqpcodec.asdict(PUBLISH)) == PUBLISH


def test_fields_inside_of_a_message() -> None:
    fields = amqpcodec.asdict(message())
    assert fields["method"] == amqpcodec.asdict(PUBLISH)
    assert fields["properties"]["headers"] == {"n": [1, {"m": 2}]}
    assert fields["properties"]["priority"] is None
    assert fields["body"] == b"x" * 5000


def test_a_table_is_copied() -> None:
    event = message()
    amqpcodec.asdict(event)["properties"]["headers"]["n"][1]["m"] = 3
    assert event.properties.headers == {"n": [1, {"m": 2}]}


def test_fields_of_amqp_1_0() -> None:
    transfer = v1.Transfer(handle=1, state=v1.Rejected(v1.Error("amqp:not-found")), payload=b"p")
    fields = amqpcodec.asdict(transfer)
    assert fields["state"] == {
        "error": {"condition": "amqp:not-found", "description": None, "info": None}
    }
    assert fields["payload"] == b"p"
    assert fields["more"] is False
    assert set(fields) == {*v1.Transfer.FIELDS, "payload"}


def test_sections_of_a_message_of_amqp_1_0() -> None:
    values = {"a": [v1.Error("amqp:x")], "b": v1.Described("d", v1.Error("amqp:y"))}
    sections = amqpcodec.asdict(v1.Message(value=values, to="q"))
    assert set(sections) == {"properties", "value"}
    assert sections["properties"]["to"] == "q"
    assert sections["value"]["a"][0]["condition"] == "amqp:x"
    assert sections["value"]["b"].value["condition"] == "amqp:y"
    assert amqpcodec.asdict(v1.Message(value=None)) == {"value": None}
    error = v1.Error(v1.AmqpError.NOT_FOUND)
    inside = v1.Map([(v1.Symbol("a"), error), (1, v1.Array("int", [1, 2]))])
    (pairs,) = amqpcodec.asdict(v1.Message(value=inside)).values()
    assert type(pairs) is v1.Map
    assert pairs == [(v1.Symbol("a"), amqpcodec.asdict(error)), (1, v1.Array("int", [1, 2]))]
    assert pairs.get(1) is not inside.get(1)
    assert amqpcodec.asdict(v1.Message(b"x")) == {"data": (b"x",)}
    assert amqpcodec.asdict(delivery()[1])["message"]["data"] == (b"x" * 1000,)


@pytest.mark.parametrize("other", [None, {}, 5, amqp.Basic.Publish, amqp])
def test_asdict_takes_objects_of_a_protocol(other: Any) -> None:
    with pytest.raises(TypeError, match="takes a frame, message or composite"):
        amqpcodec.asdict(other)


def test_replace_leaves_the_original() -> None:
    other = amqpcodec.replace(PUBLISH, routing_key="us")
    assert (other.routing_key, other.exchange) == ("us", "orders")
    assert PUBLISH.routing_key == "eu"
    assert amqpcodec.replace(PUBLISH) == PUBLISH


@pytest.mark.skipif(sys.version_info < (3, 13), reason="copy.replace came with 3.13")
def test_copy_replace() -> None:
    replace: Any = copy.replace  # type: ignore[attr-defined]
    assert replace(PUBLISH, routing_key="us").routing_key == "us"
    assert replace(v1.Open("c"), hostname="h") == v1.Open("c", hostname="h")
    assert replace(v1.Message(b"x"), body="y") == v1.Message("y")


def test_what_is_not_replaced_keeps_its_bytes() -> None:
    table = w.table(("k", b"b\1"), ("k", b"b\2"), ("t", b"t\x07"))
    decoded = amqp.decode(w.header_frame(headers=table, priority=1))
    assert decoded is not None
    header = decoded[2]
    other = amqpcodec.replace(header, properties=amqpcodec.replace(header.properties, priority=2))
    assert amqp.encode(1, other) == w.header_frame(headers=table, priority=2)
    assert amqp.encode(1, header) == w.header_frame(headers=table, priority=1)


def test_what_cannot_be_replaced() -> None:
    with pytest.raises(TypeError, match="has no field 'nope'"):
        amqpcodec.replace(PUBLISH, nope=1)
    with pytest.raises(TypeError, match="has no field 'NAME'"):
        amqpcodec.replace(PUBLISH, NAME="x")
    with pytest.raises(TypeError, match="takes a frame, message or composite"):
        amqpcodec.replace(5, x=1)  # type: ignore[type-var]
    with pytest.raises(TypeError, match="no section or field 'nope'"):
        amqpcodec.replace(v1.Message(), nope=1)
    with pytest.raises(TypeError, match="takes properties or its fields"):
        amqpcodec.replace(v1.Message(), properties=None, to="q")


def test_one_field_by_both_of_its_names() -> None:
    for module in (amqp, old):
        assert module.Basic.Properties(cluster_id="a") == module.Basic.Properties(
            **{module.Basic.Properties.FIELDS[-1]: "a"}
        )
    for names in ({"cluster_id": "a", "reserved": "a"}, {"reserved": None, "cluster_id": "a"}):
        with pytest.raises(TypeError, match="multiple values"):
            amqp.Basic.Properties(**names)
        with pytest.raises(TypeError, match="are one field"):
            amqpcodec.replace(PROPERTIES, **names)


def test_message_of_a_decoder_is_encoded_again() -> None:
    assert amqp.encode_message(1, message(), frame_max=4096) == STREAM
    assert b"".join(amqp.encode_parts(1, message(), frame_max=4096)) == STREAM
    view = next(amqp.MessageDecoder(copy=False).feed(STREAM))[1]
    assert amqp.encode_message(1, view, frame_max=4096) == STREAM


def test_a_message_brings_its_parts() -> None:
    for parts in ((PROPERTIES,), (None, b"body"), (None, bytearray(b""))):
        with pytest.raises(EncodeError, match="of its own"):
            amqp.encode_message(1, message(), *parts)
    with pytest.raises(EncodeError, match="takes a method of"):
        old.encode_message(1, message())
    with pytest.raises(EncodeError, match="takes a method of"):
        amqp.encode_message(1, amqp.Message())


@pytest.mark.parametrize(
    "fields", [{}, {"settled": True}, {"state": v1.Accepted()}, {"batchable": True}]
)
def test_delivery_of_a_decoder_is_encoded_again(fields: dict[str, Any]) -> None:
    data, event = delivery(**fields)
    assert v1.encode_message(7, event, frame_max=512) == data
    assert event.message.body == b"x" * 1000  # read, and not changed
    assert v1.encode_message(7, event, frame_max=512) == data
    event.message.body = b"y"
    [(_, other)] = v1.MessageDecoder(opened=True).feed(v1.encode_message(7, event))
    assert other.message.body == b"y"
    assert other.transfer.delivery_tag == b"t"
    with pytest.raises(EncodeError, match="is part of the delivery"):
        v1.encode_message(7, event, b"payload")


def test_later_transfers_count() -> None:
    first = v1.encode(0, v1.Transfer(1, 1, b"t", 0, more=True), b"\x00\x53\x75\xa0\x01a")
    last = v1.encode(0, v1.Transfer(1, settled=True, state=v1.Accepted()))
    [(_, event)] = v1.MessageDecoder(opened=True).feed(first + last)
    [(_, again)] = v1.MessageDecoder(opened=True).feed(v1.encode_message(0, event))
    assert (again.settled, again.state) == (True, v1.Accepted())
    assert again.payload == event.payload


def test_heartbeats_are_on_channel_0() -> None:
    assert amqp.encode(0, amqp.Heartbeat()) == b"\x08\0\0\0\0\0\0\xce"
    with pytest.raises(EncodeError, match=r"heartbeat\.channel: is 0, not 1"):
        amqp.encode(1, amqp.Heartbeat())
    with pytest.raises(EncodeError, match=r"heartbeat\.channel"):
        amqp.encode_into(bytearray(8), 0, 1, amqp.Heartbeat())


def test_a_mandatory_field_is_demanded() -> None:
    for incomplete in (v1.Open(), v1.Transfer(), v1.Begin(next_outgoing_id=1, incoming_window=1)):
        with pytest.raises(EncodeError, match="is mandatory") as caught:
            v1.encode(0, incomplete)
        assert caught.value.field in type(incomplete).MANDATORY
        written = v1.encode(0, incomplete, incomplete=True)
        decoded = v1.decode(written)
        assert decoded is not None
        assert decoded[2] == incomplete
        assert v1.encode(0, decoded[2]) == written  # it came so
    with pytest.raises(EncodeError, match=r"error\.condition: is mandatory"):
        v1.encode(0, v1.Close(v1.Error()))
    with pytest.raises(EncodeError, match=r"error\.condition: is mandatory"):
        v1.encode_value([v1.Error()])
    assert v1.decode_value(v1.encode_value([v1.Error()], incomplete=True))[0] == [v1.Error()]
    with pytest.raises(EncodeError, match=r"transfer\.handle: is mandatory"):
        v1.encode_message(0, v1.Transfer(), v1.Message(b""))
    assert v1.encode_message(0, v1.Transfer(), v1.Message(b""), incomplete=True)


def test_every_decode_error_has_a_condition() -> None:
    with pytest.raises(DecodeError) as caught:
        amqp.decode(b"\x09" + b"\0" * 6 + b"\xce")
    assert caught.value.condition is None
    with pytest.raises(DecodeError) as caught:
        v1.decode_value(b"\xff")
    assert caught.value.condition == "amqp:decode-error"
