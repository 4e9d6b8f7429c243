"""What 0-9 and 0-8 have that 0-9-1 has not: names, the type content, frame types, dialects."""

from __future__ import annotations

import copy
import io
import pickle
import struct
from typing import Any

import pytest

import amqpcodec
from amqpcodec import DecodeError, FrameTypeError, UnknownTagError, v0_8, v0_9, v0_9_1
from amqpcodec.types import Reference

MODULES = {"0-9-1": v0_9_1, "0-9": v0_9, "0-8": v0_8}
each_module = pytest.mark.parametrize("amqp", MODULES.values(), ids=MODULES)


def decoded(amqp: Any, data: bytes, **options: Any) -> Any:
    result = amqp.decode(data, **options)
    assert result is not None
    assert result[0] == len(data)
    return result[2]


# ---- names


@pytest.mark.parametrize("version", MODULES)
def test_protocol_gives_the_module(version: str) -> None:
    assert amqpcodec.protocol(version) is MODULES[version]
    assert MODULES[version].PROTOCOL.name == version


def test_headers_and_versions() -> None:
    assert (v0_9.PROTOCOL_HEADER, v0_9.VERSION) == (b"AMQP\x01\x01\x00\x09", (0, 9, 0))
    assert (v0_8.PROTOCOL_HEADER, v0_8.VERSION) == (b"AMQP\x01\x01\x08\x00", (8, 0, 0))
    for amqp in (v0_9, v0_8):
        assert amqp.encode(0, amqp.ProtocolHeader()) == amqp.PROTOCOL_HEADER


def test_the_class_message_stands_beside_the_event() -> None:
    transfer = v0_9.Message.Transfer(destination="d", body=b"b")
    assert v0_9.Message.Transfer is v0_9.Message_.Transfer is v0_9.METHODS[120, 10]
    assert (v0_9.Message_.NAME, v0_9.Message_.CLASS_ID) == ("message", 120)
    assert transfer.NAME == "message.transfer"
    assert (v0_9.Message.Ok, v0_9.Message.Reject) == v0_9.Message.Transfer.RESPONSES
    event = v0_9.Message(v0_9.Basic.Publish(), None, b"x")
    assert (event.body, event.FIELDS) == (b"x", ("method", "properties", "body"))
    assert pickle.loads(pickle.dumps(transfer)) == copy.deepcopy(transfer) == transfer
    assert not hasattr(v0_8.Message, "Transfer")
    assert not hasattr(v0_8, "Message_")


def test_names_as_the_specification_spells_them() -> None:
    assert v0_8.Queue.Declare.FIELDS[-2:] == ("nowait", "arguments")
    assert v0_8.Basic.Publish.FIELDS[0] == "ticket"
    assert v0_9.Access.Request(realm="/data", write=True, read=True).write is True
    assert v0_9.Message.Append(reference=b"r", bytes=b"octets").bytes == b"octets"
    assert v0_8.Basic.Properties(cluster_id="c").cluster_id == "c"
    assert v0_8.METHODS[10, 60] is v0_8.Connection.Close
    assert v0_9_1.METHODS[10, 60] is v0_9_1.Connection.Blocked


def test_secrets_are_not_shown() -> None:
    for amqp in (v0_9, v0_8):
        assert "hunter2" not in repr(amqp.Connection.StartOk(response=b"\0me\0hunter2"))
        assert "hunter2" not in repr(amqp.Connection.SecureOk(b"hunter2"))
    assert "hunter2" not in repr(v0_9.Message.Transfer(security_token=b"hunter2"))


# ---- the type content


def test_content_is_inline_or_a_reference() -> None:
    inline = v0_9.Message.Transfer(body=b"octets")
    reference = v0_9.Message.Transfer(body=Reference(b"octets"))
    data = v0_9.encode(1, inline), v0_9.encode(1, reference)
    assert data[0][-12:] == b"\x00\x00\x00\x00\x06octets\xce"
    assert data[1][-12:] == b"\x01\x00\x00\x00\x06octets\xce"
    assert inline != reference
    for method, octets in zip((inline, reference), data, strict=True):
        back = decoded(v0_9, octets)
        assert back == method
        assert type(back.body) is type(method.body)
        assert v0_9.encode(1, back) == octets
        assert pickle.loads(pickle.dumps(back)) == method
    assert repr(reference) == "Message_.Transfer(body=Reference(b'octets'))"
    assert decoded(v0_9, v0_9.encode(1, v0_9.Message.Transfer())).body == b""
    text = v0_9.Message.Transfer(body="größe")
    assert decoded(v0_9, v0_9.encode(1, text)).body == "größe".encode()


def test_a_reference_equals_only_references() -> None:
    assert Reference(b"a") == Reference(b"a")
    assert Reference(b"a") != Reference(b"b")
    assert Reference(b"a") != b"a"
    assert b"a" != Reference(b"a")  # noqa: SIM300
    assert len({Reference(b"a"), Reference(b"a"), b"a"}) == 2
    assert type(copy.copy(Reference(b"a"))) is Reference


def test_content_of_another_kind_is_refused() -> None:
    data = bytearray(v0_9.encode(1, v0_9.Message.Transfer(body=b"x")))
    place = len(data) - 7
    assert data[place] == 0
    data[place] = 2
    with pytest.raises(UnknownTagError, match=r"transfer.body: content is .* not 2") as caught:
        v0_9.decode(bytes(data))
    error = caught.value
    assert (error.offset, error.field, error.method) == (place, "body", "message.transfer")
    assert (error.reply_code, error.scope) == (502, "frame")


@pytest.mark.parametrize("missing_bytes", [1, 2, 5, 6])
def test_content_that_is_cut_short(missing_bytes: int) -> None:
    data = v0_9.encode(1, v0_9.Message.Transfer(body=b"x"))
    payload = data[7 : -1 - missing_bytes]
    frame = data[:3] + struct.pack(">I", len(payload)) + payload + b"\xce"
    with pytest.raises(DecodeError, match=r"message\.transfer\.body: content needs"):
        v0_9.decode(frame)


# ---- frame types 4 to 7


@each_module
@pytest.mark.parametrize(
    ("kind", "name"), [(4, "oob-method"), (5, "oob-header"), (6, "oob-body"), (7, "trace")]
)
def test_frame_types_that_nobody_sends(amqp: Any, kind: int, name: str) -> None:
    frame = bytes([kind]) + b"\0\1\0\0\0\2ab\xce"
    with pytest.raises(FrameTypeError, match=rf"frame type {kind} \({name} of 0-8") as caught:
        amqp.decode(frame)
    assert (caught.value.frame_type, caught.value.scope) == (kind, "frame")
    if amqp is not v0_9_1:
        constant = "FRAME_" + name.upper().replace("-", "_")
        assert getattr(amqp, constant) == kind
    decoder = amqp.Decoder(errors="frame")
    bad, beat = decoder.feed(frame + amqp.encode(0, amqp.Heartbeat()))
    assert (bad[1].raw, beat[1]) == (frame, amqp.Heartbeat())


# ---- one protocol's objects are not another's


def test_objects_of_another_version_are_refused() -> None:
    for one, other in ((v0_8, v0_9), (v0_9, v0_9_1), (v0_9_1, v0_8)):
        with pytest.raises(amqpcodec.EncodeError, match="of another protocol"):
            one.encode(1, other.Basic.Publish())
        with pytest.raises(amqpcodec.EncodeError, match="takes a method of"):
            one.encode_message(1, other.Basic.Publish())


@each_module
def test_dialects_are_checked_by_name(amqp: Any) -> None:
    for dialect in ("rabbitmq", "0-9-1", "0-9", "0-8"):
        assert amqp.encode(1, amqp.Channel.Open(), dialect=dialect)
        assert list(amqp.Decoder(dialect=dialect).feed(b"")) == []
    for call in (lambda: amqp.encode(1, amqp.Channel.Open(), dialect="0-10"),
                 lambda: amqp.Decoder(dialect="0-10")):  # fmt: skip
        with pytest.raises(ValueError, match="dialect is 'rabbitmq', '0-9-1', '0-9', '0-8', not"):
            call()


# ---- a class of any name


def specification(body: str) -> io.BytesIO:
    return io.BytesIO(f'<amqp major="0" minor="9" revision="7">{body}</amqp>'.encode())


def test_names_of_a_specification_hide_nothing() -> None:
    pytest.importorskip("lxml")
    fields = "".join(
        f'<field name="{name}" type="{kind}"/>'
        for name, kind in (
            *(("NAME", "bit"), ("FIELDS", "bit"), ("validate", "octet"), ("mro", "octet")),
            *(("headers", "table"), ("raw-headers", "octet"), ("validate_", "octet")),
        )
    )
    amqp: Any = amqpcodec.load_xml_spec(
        specification(
            '<constant name="version" value="3"/><constant name="frame-end" value="206"/>'
            '<class name="decoder" index="1"><method name="NAME" index="1">'
            f'{fields}</method></class><class name="body" index="2">'
            '<method name="go" index="3"><response name="go"/></method></class>'
        )
    )
    assert amqp.VERSION == (0, 9, 7)
    assert amqp.VERSION_ == 3
    assert isinstance(amqp.Decoder, type)
    assert list(amqp.Decoder().feed(b"")) == []
    method = amqp.Decoder_.NAME_
    assert amqp.Decoder_.NAME == "decoder"
    assert method.NAME == "decoder.NAME"
    assert (
        *("NAME_", "FIELDS_", "validate_", "mro_", "headers", "raw_headers_", "validate__"),
    ) == method.FIELDS
    instance = method(validate_=7, headers={"a": 1}, raw_headers_=2, validate__=3)
    instance.validate()
    back = decoded(amqp, amqp.encode(1, instance))
    assert back == instance
    assert (back.raw_headers, back.raw_headers_) == (b"\x01aI\x00\x00\x00\x01", 2)
    assert amqp.Body(b"x").payload == b"x"
    assert amqp.Body.Go is amqp.Body_.Go
    assert (amqp.Body_.Go,) == amqp.Body_.Go.RESPONSES
