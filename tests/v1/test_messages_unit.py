"""Messages: sections, laziness, the bare message, what changes and what does not."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from amqpcodec import DecodeError, EncodeError, ValidationError
from amqpcodec import v1_0 as amqp

S = amqp.Symbol

HEADER = "005370c0020141"
DELIVERY = "005371c10802a303782d61" + "5501"
ANNOTATIONS = "005372c10602a301785205"
PROPERTIES = "005373c00a0180" + "00" * 7 + "05"
APPLICATION = "005374c10602a1016b5505"
DATA = "005375a00178"
DATA2 = "005375b00000000179"
SEQUENCE = "005376c003015501"
VALUE = "0053775505"
FOOTER = "005378c10602a3016f5507"
WHOLE = HEADER + DELIVERY + ANNOTATIONS + PROPERTIES + APPLICATION + DATA + DATA2 + FOOTER


def message(text: str, **options: Any) -> amqp.Message:
    return amqp.Message.decode(bytes.fromhex(text), **options)


@pytest.mark.parametrize("eager", [True, False])
def test_all_sections(eager: bool) -> None:
    m = message(WHOLE, eager=eager)
    assert m.header == amqp.Header(durable=True)
    assert m.delivery_annotations == {S("x-a"): 1}
    assert m.message_annotations == {S("x"): 5}
    assert m.properties.message_id == 5
    assert m.application_properties == {"k": 5}
    assert m.data == (b"x", b"y")
    assert (m.sequences, m.value) == ((), amqp.ABSENT)
    assert (m.body, m.body_kind) == (b"xy", "data")
    assert m.footer == {S("o"): 7}
    assert m.encode().hex() == WHOLE


def test_absent_is_not_empty_and_not_null() -> None:
    m = message(VALUE)
    assert (m.header, m.properties, m.application_properties, m.footer) == (None,) * 4
    assert message("00537045" + VALUE).header == amqp.Header()
    assert message("005374c10100" + VALUE).application_properties == {}
    null = message("00537740")
    assert (null.value, null.body, null.body_kind) == (None, None, "value")
    none = message(HEADER)
    assert (none.value, none.body, none.body_kind) == (amqp.ABSENT, None, None)
    assert message("").encode() == b""
    empty = message("005375a000")
    assert (empty.data, empty.body, empty.body_kind) == ((b"",), b"", "data")
    for text in ("00537045" + VALUE, "005374c10100" + VALUE, "00537740", HEADER, "005375a000"):
        assert message(text).encode().hex() == text
        assert message(text, eager=True).encode().hex() == text


@pytest.mark.parametrize(
    ("body", "octets"),
    [
        (0, "0053775500"),
        ("", "005377a100"),
        (False, "00537742"),
        (b"", "005375a000"),
        ([], "00537745"),
        ({}, "005377c10100"),
        (amqp.AmqpValue(None), "00537740"),
        (amqp.Data(b"a"), "005375a00161"),
        (amqp.AmqpSequence([1]), SEQUENCE),
        (amqp.AmqpSequence(), "00537645"),
        (bytearray(b"x"), DATA),
    ],
)
def test_falsy_and_other_bodies_are_sections(body: Any, octets: str) -> None:
    m = amqp.Message(body)
    assert m.encode().hex() == octets
    assert amqp.Message.decode(m.encode()) == m


def test_constructor_builds_sections() -> None:
    m = amqp.Message(
        b"x",
        to="q",
        subject="s",
        durable=True,
        ttl=5,
        message_id=5,
        application_properties={"k": 5},
    )
    assert m.header == amqp.Header(durable=True, ttl=5)
    assert m.properties == amqp.Properties(message_id=5, to="q", subject="s")
    assert m.encode() == amqp.Message.decode(m.encode(), eager=True).encode()
    assert amqp.Message().encode() == b""
    assert amqp.Message(value=None).encode().hex() == "00537740"
    assert amqp.Message(data=[b"x", b"x"]).encode().hex() == DATA * 2
    assert amqp.Message(sequences=[[1], [1]]).encode().hex() == SEQUENCE * 2
    assert amqp.Message(data=b"x").data == (b"x",)
    for arguments in (
        {"nonsense": 1},
        {"header": amqp.Header(), "durable": True},
        {"properties": amqp.Properties(), "to": "q"},
        {"body": b"x", "value": 1},
        {"body": amqp.Header()},
    ):
        with pytest.raises(TypeError):
            amqp.Message(**arguments)


def test_order_is_that_of_part_3() -> None:
    m = amqp.Message(
        1,
        footer={S("f"): 1},
        delivery_annotations={S("d"): 1},
        application_properties={},
        message_annotations={S("m"): 1},
        subject="s",
        priority=1,
    )
    codes = [row[1] for row in m.sections()]
    assert codes == [0x70, 0x71, 0x72, 0x73, 0x74, 0x77, 0x78]


def test_sections_are_told_with_their_place() -> None:
    m = message(WHOLE)
    rows = m.sections()
    assert [row[0] for row in rows] == list(range(8))
    assert [row[1] for row in rows] == [0x70, 0x71, 0x72, 0x73, 0x74, 0x75, 0x75, 0x78]
    octets = m.encode()
    parts = [octets[offset : offset + length].hex() for _, _, offset, length in rows]
    assert parts == [HEADER, DELIVERY, ANNOTATIONS, PROPERTIES, APPLICATION, DATA, DATA2, FOOTER]


BARE = PROPERTIES + APPLICATION + DATA + DATA2


def test_the_bare_message_is_not_touched_by_what_is_around_it() -> None:
    m = message(WHOLE)
    assert m.bare.hex() == BARE  # the ulong of eight bytes and the large data included
    m.header = amqp.Header(ttl=1)
    m.delivery_annotations = None
    m.message_annotations[S("more")] = [1]
    m.footer = {S("f"): b"hash"}
    assert m.bare.hex() == BARE
    assert BARE in m.encode().hex()
    assert m.encode().hex().startswith("005370c0050340405201" + "005372")
    m.properties.subject = "changed"
    assert m.bare.hex() != BARE
    assert (APPLICATION + DATA + DATA2) in m.bare.hex()


def test_reading_changes_no_octets() -> None:
    for types in ("plain", "typed"):
        m = message(WHOLE, types=types, eager=True)
        repr(m)
        assert m == message(WHOLE, types=types)
        assert m.encode().hex() == WHOLE
        assert m.bare.hex() == BARE


def test_a_change_in_place_is_seen() -> None:
    m = message(WHOLE)
    m.application_properties["k"] = 6
    assert m.encode().hex() == WHOLE.replace(APPLICATION, "005374c10602a1016b5506")
    m.application_properties["k"] = 5
    assert m.encode().hex() == WHOLE
    value = message("005377c003015501")
    value.value.append(2)
    assert value.encode().hex() == "005377c0050255015502"
    sequence = message(SEQUENCE)
    sequence.sequences[0].append(2)
    assert sequence.encode().hex() == "005376c0050255015502"
    m.body = "text"
    assert (m.data, m.body_kind, m.value) == ((), "value", "text")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("40", "a section is a described value"),
        ("0053ff45", "not a section"),
        ("00531045", "not a section"),
        ("00a3016145", "not a section"),
        (HEADER * 2, "header: section is there twice"),
        (VALUE * 2, "amqp-value: section is there twice"),
        (FOOTER * 2, "twice"),
        (PROPERTIES + HEADER, "header: section out of order"),
        (FOOTER + DATA, "data: section out of order"),
        (DATA + SEQUENCE, "body sections of several kinds"),
        (SEQUENCE + VALUE, "body sections of several kinds"),
        (DATA + VALUE, "body sections of several kinds"),
        (VALUE + DATA, "out of order"),
    ],
)
def test_sections_that_may_not_stand_there(text: str, what: str) -> None:
    with pytest.raises(DecodeError, match=what) as caught:
        message(text)
    assert type(caught.value).__name__ == "SectionError"
    assert caught.value.condition == "amqp:decode-error"


@pytest.mark.parametrize("text", [WHOLE, VALUE, SEQUENCE + FOOTER, "005377" + "0053ff0053fe45"])
def test_cut_off_anywhere(text: str) -> None:
    data = bytes.fromhex(text)
    ends = {row[2] + row[3] for row in amqp.Message.decode(data).sections()} | {0}
    for end in range(len(data)):
        if end in ends:
            amqp.Message.decode(data[:end], eager=True)
            continue
        with pytest.raises(DecodeError):
            amqp.Message.decode(data[:end])


@pytest.mark.parametrize(
    ("text", "attribute", "name"),
    [
        ("005370c0020140" + "005374c10502a101ff40", "application_properties", "TextError"),
        ("005370c003015005", "header", "FieldError"),
        ("005370a10161", "header", "FieldError"),
        ("00537445", "application_properties", "FieldError"),
        ("005375a10161", "data", "FieldError"),
        ("005376a10161", "sequences", "FieldError"),
        ("005378c1020140", "footer", "SizeError"),
        ("005377c0020240", "value", "SizeError"),
    ],
)
def test_lazy_sections_say_what_is_wrong_when_they_are_read(
    text: str, attribute: str, name: str
) -> None:
    m = message(text)
    assert m.encode().hex() == text
    for _ in range(2):
        with pytest.raises(DecodeError) as caught:
            getattr(m, attribute)
        assert type(caught.value).__name__ == name
    with pytest.raises(DecodeError):
        message(text, eager=True)


def test_all_forms_of_descriptors() -> None:
    symbol = "00a3" + f"{len('amqp:data:binary'):02x}" + b"amqp:data:binary".hex() + "a00178"
    ulong = "0080" + "00" * 7 + "75" + "a00178"
    m = message(symbol + ulong + DATA)
    assert m.data == (b"x",) * 3
    assert m.encode().hex() == symbol + ulong + DATA
    header = message("0080" + "00" * 7 + "70" + "c0020141")
    assert header.header.durable is True
    assert header.encode().hex() == "0080" + "00" * 7 + "70" + "c0020141"


def test_views() -> None:
    data = bytes.fromhex(DATA + DATA2)
    m = amqp.Message.decode(data, copy=False)
    assert [type(part) for part in m.data] == [memoryview] * 2
    assert m.data[0].obj is data
    assert m.encode() == data
    assert amqp.Message.decode(bytearray(data)).data == (b"x", b"y")


def test_what_a_message_cannot_hold() -> None:
    for m, what in (
        (amqp.Message(data=["text"]), "data: takes bytes"),
        (amqp.Message(header=amqp.Properties()), "header: takes Header"),
        (amqp.Message(footer=[1]), "footer: takes dict or Map"),
        (amqp.Message(sequences=[5]), "amqp-sequence: takes list"),
        (amqp.Message(object()), "amqp-value: no type"),
        (amqp.Message(1, ttl=-1), "header.ttl: uint takes"),
    ):
        with pytest.raises(EncodeError, match=what):
            m.encode()


def test_copies_pickles_repr() -> None:
    m = message(WHOLE)
    for again in (copy.copy(m), copy.deepcopy(m), pickle.loads(pickle.dumps(m))):
        assert again == m
        assert again.encode() == m.encode()
    assert (
        repr(amqp.Message(b"x", durable=True))
        == "Message(header=Header(durable=True), data=(b'x',))"
    )
    with pytest.raises(TypeError):
        hash(m)
    assert m != amqp.Message()
    assert m != 5


@pytest.mark.parametrize(
    "number",
    [b"\x51\xff", b"\x51\5", b"\x54\x80", b"\x55\xff", b"\x55\5", b"\x81" + bytes(8), b"\x53\5"],
)
@pytest.mark.parametrize("before", [b"", b"\x40" * 5])
def test_an_id_of_any_number_is_written_as_it_came(number: bytes, before: bytes) -> None:
    fields = before + number
    raw = b"\0\x53\x73\xc0" + bytes([len(fields) + 1, len(before) + 1]) + fields
    name = "correlation_id" if before else "message_id"
    for types in ("plain", "typed"):
        message = amqp.Message.decode(raw, types=types)
        assert message.encode() == amqp.encode_value(message.properties) == raw
        identifier = getattr(message.properties, name)
        own = amqp.Properties(**{name: int(identifier)})
        if identifier < 0:
            with pytest.raises(EncodeError, match=f"{name}: ulong takes 0 to"):
                amqp.encode_value(own)
            with pytest.raises(
                ValidationError, match=f"{name}: a message id is .*not {identifier}"
            ):
                own.validate()
        elif types == "plain":
            assert own == message.properties
