"""repr, str and == of what was decoded never raise, whatever its lazy sections hold."""

from __future__ import annotations

import random
from typing import Any

import pytest

from amqpcodec import DecodeError
from amqpcodec import v1_0 as amqp

SECTIONS = ["header", "delivery_annotations", "message_annotations", "properties",
            "application_properties", "data", "sequences", "value", "footer"]  # fmt: skip


def section(number: int, content: str) -> bytes:
    return bytes([0, 0x53, 0x70 + number]) + bytes.fromhex(content)


#: Well formed as a section's bounds go, which is all that is looked at before the section is read.
MALFORMED = {
    0: "c0 03 01 a1 00",  # durable takes a boolean
    1: "c1 03 02 54 01",  # a map whose value is missing
    2: "d1 00000005 00000002 54",
    3: "c0 06 04 40 40 40 54 01",  # the fourth, subject, is a string
    4: "c1 06 02 a1 01 ff 54 01",  # a key that is not UTF-8
    6: "c0 04 01 a1 01 ff",
    7: "a1 01 ff",
    8: "c1 03 01 54 01",  # an odd number of items
}


def malformed(number: int, *, tail: bytes = b"") -> bytes:
    return section(number, MALFORMED[number]) + tail


@pytest.fixture(params=sorted(MALFORMED))
def number(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def decoded(data: bytes) -> Any:
    return amqp.Message.decode(data)


def test_the_section_cannot_be_read(number: int) -> None:
    with pytest.raises(DecodeError):
        getattr(decoded(malformed(number)), SECTIONS[number])


def test_repr_and_str_say_what_is_wrong(number: int) -> None:
    message = decoded(malformed(number))
    for text in (repr(message), str(message), f"{message}", f"{[message]}"):
        assert f"{SECTIONS[number]}=<malformed {SECTIONS[number]}: " in text
        assert "(offset " in text


def test_repr_still_shows_what_can_be_read() -> None:
    message = decoded(malformed(3) + amqp.Message(b"body").encode())
    assert repr(message).startswith("Message(properties=<malformed properties: properties.")
    assert "data=(b'body',)" in repr(message)


def test_equality_compares_the_bytes(number: int) -> None:
    one, same = decoded(malformed(number)), decoded(malformed(number))
    assert one == same
    assert (one != same) is False
    assert one == one
    assert one != amqp.Message()
    assert amqp.Message() != one
    other = decoded(malformed(number)[:-1] + b"\x02")
    assert one != other
    setattr(one, SECTIONS[number], () if number in (5, 6) else None)
    assert one != same
    assert same != one


def test_a_delivery_is_shown_and_compared(number: int) -> None:
    payload = malformed(number)
    data = amqp.encode(0, amqp.Transfer(0, 0, b"t"), payload)
    [(_, one)] = amqp.MessageDecoder(opened=True).feed(data)
    [(_, same)] = amqp.MessageDecoder(opened=True).feed(data)
    assert f"<malformed {SECTIONS[number]}: " in repr(one)
    assert f"<malformed {SECTIONS[number]}: " in str(one)
    assert one == same
    same.payload = b""
    assert one != same


def test_signaling_nans_are_shown_and_compared() -> None:
    """Decimals of which Python's == raises."""
    value = bytes.fromhex("94 7e000000000000000000000000000001")
    [one, same] = [decoded(section(7, value.hex())) for _ in range(2)]
    assert "NaN" in repr(one)
    assert one != same
    performative = amqp.encode_value(amqp.AmqpValue(1))[:3] + value
    [a, b] = [amqp.decode_value(performative)[0] for _ in range(2)]
    assert a != b
    assert "NaN" in repr(a)


@pytest.mark.slow
def test_mutated_messages_are_shown_and_compared() -> None:
    rng = random.Random(15)
    message = amqp.Message(
        {"a": [1, 2.5, "text", b"bytes", {"b": None}], "n": amqp.ULong(7)},
        durable=True,
        priority=3,
        message_id="id",
        subject="s",
        delivery_annotations={amqp.Symbol("x"): 1},
        message_annotations={amqp.Symbol("y"): [1]},
        application_properties={"k": "v", "i": 5},
        footer={amqp.Symbol("z"): b"1"},
    ).encode()
    shown = unreadable = 0
    for _ in range(20_000):
        data = bytearray(message)
        for _ in range(rng.randint(1, 3)):
            data[rng.randrange(len(data))] = rng.choice(
                [0, 1, 0x40, 0xA1, 0xFF, rng.randrange(256)]
            )
        try:
            one, same = decoded(bytes(data)), decoded(bytes(data))
        except DecodeError:
            continue
        shown += 1
        unreadable += "<malformed " in repr(one)
        assert str(one) == repr(one) == repr(same)
        assert isinstance(one == same, bool)
        assert "nan" in repr(one).lower() or one == same
    assert shown > 5_000
    assert unreadable > 1_000
