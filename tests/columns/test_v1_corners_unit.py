"""Frames and messages of AMQP 1.0 that the fast readers meet and leave to the slow ones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from amqpcodec import DecodeError
from amqpcodec import v1_0 as amqp
from tests.columns.v1_rows import rows
from tests.support.amqp10_wire import MAP8, compound, performative

TRANSFER, DISPOSITION, OPEN = 0x14, 0x15, 0x10


#: Fast readers look further than a frame: others come after it.
MORE = performative(OPEN, b"\xa1\1c") * 40


def first(data: bytes, **how: Any) -> dict[str, Any]:
    """The row of a frame, which is the same where others follow it."""
    (alone,) = rows(data, **how)
    assert rows(data + MORE, **how)[0] == alone
    return alone


KEY = b"\xa3\1k"
MAPS = {
    "a text beyond the end": compound(MAP8, KEY + b"\xa1\x09abc", 2),
    "a symbol beyond the end": compound(MAP8, KEY + b"\xa3\x09abc", 2),
    "a number beyond the end": compound(MAP8, KEY + b"\x81\0\0", 2),
    "a boolean and more": compound(MAP8, KEY + b"\x41\x41", 2),
    "an unknown constructor": compound(MAP8, KEY + b"\x3f", 2),
    "a list beyond the end": compound(MAP8, KEY + b"\xc0\x09\1\x40", 2),
    "a key beyond the end": compound(MAP8, b"\xa3\x7fk\x40", 2),
    "a key of another type": compound(MAP8, b"\xa1\1\xff\x40", 2),
    "an odd count": compound(MAP8, KEY, 1),
    "too many entries": compound(MAP8, KEY + b"\x40", 4),
    "a text that is none": compound(MAP8, KEY + b"\xa1\2\xff\xff", 2),
    "a symbol that is none": compound(MAP8, KEY + b"\xa3\1\xff", 2),
    "an array of too many": compound(MAP8, KEY + b"\xf0\0\0\0\5\xff\xff\xff\xff\x40", 2),
}


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("name", MAPS)
def test_maps_that_are_none(name: str, wide: bool) -> None:
    """In a field, and in a section: the row says what the decoder says."""
    raw = MAPS[name]
    if wide:
        raw = b"\xd1" + (raw[1] + 3).to_bytes(4, "big") + raw[2].to_bytes(4, "big") + raw[3:]
    data = performative(OPEN, b"\xa1\1c", *[b"\x40"] * 8, raw)
    with pytest.raises(DecodeError) as caught:
        amqp.decode(data)
    row = first(data)
    assert row["error"].partition(": ")[0] == caught.value.condition
    assert row["frame"] == data
    row = first(data, fields=["open.properties", "error"])
    assert row["error"]
    section = b"\0\x53\x74" + raw + b"\0\x53\x77\x40"
    data = performative(TRANSFER, b"\x43", b"\x43", b"\xa0\1t", b"\x43", payload=section)
    row = first(data, level="message", fields=["application_properties", "error"])
    assert row["error"]


@pytest.mark.parametrize("layout", ["plain", "view"])
def test_texts_that_are_none(layout: str) -> None:
    long = b"\xff" * 20
    for raw in (b"\xa1\1\xff", b"\xa1\x14" + long):
        row = first(performative(OPEN, raw), fields=["container_id", "error"], layout=layout)
        assert (row["container_id"], bool(row["error"])) == (None, True)
    row = first(performative(OPEN, b"\xa1\x14" + b"c" * 20), fields=["container_id"], layout=layout)
    assert row["container_id"] == "c" * 20


def test_a_state_that_nobody_asked_for_has_to_be_a_value() -> None:
    fields = [b"\x43", b"\x43", b"\xa0\1t", b"\x43", b"\x40", b"\x40", b"\x40"]
    for state, good in (
        (b"\0\xa3\1x\x40", True),
        (b"\0\xa3\1x\x3f", False),
        (b"\0\x3f\x40", False),
    ):
        for wide in (True, False):
            payload = b"\0\x53\x75\xa0\1b"
            data = performative(TRANSFER, *fields, state, payload=payload, wide=wide)
            row = first(data, level="message", fields=["body", "error"])
            assert (row["error"] is None) == good
            assert (row["body"] == b"b") == good


@pytest.mark.parametrize(
    ("state", "name"),
    [
        (b"\0\x53\x24\x45", "accepted"),
        (b"\0\x53\x34\x45", "transactional-state"),
        (b"\0\x53\x2b\x45", "delete-on-close"),
        (b"\0\x53\x2e\x45", "delete-on-no-links-or-messages"),
    ],
)
def test_outcomes_without_fields(state: bytes, name: str) -> None:
    row = first(performative(DISPOSITION, b"\x41", b"\x43", b"\x43", b"\x41", state))
    assert row["error"] is None
    assert json.loads(row["arguments"])["state"] == {"$type": name}


@pytest.mark.parametrize("state", [b"\0\x53\x77\x45", b"\0\x53\x99\x45", b"\0\x53\x70\x45"])
def test_described_lists_that_are_no_outcome(state: bytes) -> None:
    for wide in (True, False):
        data = performative(DISPOSITION, b"\x41", b"\x43", b"\x43", b"\x41", state, wide=wide)
        row = first(data)
        assert row["error"] is None
        result = amqp.decode(data)
        assert result is not None
        assert json.loads(row["arguments"])["state"] != {"$type": "accepted"}


def transfer(payload: bytes, **fields: Any) -> bytes:
    return bytes(amqp.encode(0, amqp.Transfer(0, **fields), payload))


@pytest.mark.parametrize("later", [{"delivery_tag": b"t"}, {"message_format": 0}])
def test_a_later_transfer_says_what_the_first_did_not(later: dict[str, Any]) -> None:
    """It is of another delivery, then."""
    data = transfer(b"\0\x53\x75\xa0\2ab", delivery_id=1, more=True) + transfer(b"", **later)
    row = first(data, level="message", fields=["error", "body"])
    assert "another delivery begins inside of one" in row["error"]
    data = transfer(b"\0\x53\x75\xa0\2a", delivery_id=1, more=True) + transfer(b"b", delivery_id=1)
    row = first(data, level="message", fields=["error", "body"])
    assert (row["error"], row["body"]) == (None, b"ab")


def test_numbers_that_columns_do_not_hold() -> None:
    """The first one is told; others of the row are null."""
    attach = amqp.Attach("n", 0, False, max_message_size=2**64 - 1, initial_delivery_count=1)
    for level in ("frame", "message"):
        row = first(
            amqp.encode(0, attach), level=level, fields=["max_message_size", "name", "error"]
        )
        assert "max-message-size" in row["error"] or "max_message_size" in row["error"]
        assert row["max_message_size"] is None
        if level == "message":
            assert row["name"] in ("n", None)
    far = amqp.Timestamp(2**62)
    message = amqp.Message("x", absolute_expiry_time=far, creation_time=far, subject="s")
    data = transfer(message.encode(), delivery_id=1, delivery_tag=b"t")
    row = first(data, level="message", fields=["properties", "error"])
    assert "does not fit the column" in row["error"]
    row = first(
        data,
        level="message",
        fields=["properties.absolute_expiry_time", "properties.creation_time", "error"],
    )
    assert row["error"]


def test_application_properties_as_numbers_and_times() -> None:
    properties = {
        "float": amqp.Float(1.5),
        "double": 2.5,
        "long": 7,
        "time": amqp.Timestamp(1_700_000_000_000),
        "far": amqp.Timestamp(2**62),
        "text": "t",
    }
    data = transfer(
        amqp.Message("x", application_properties=properties).encode(), delivery_tag=b"t"
    )
    names = [f"application_properties.{name}" for name in properties]
    row = first(data, level="message", fields=[f"{name}:double" for name in names])
    assert [*row.values()] == [1.5, 2.5, 7.0, None, None, None]
    row = first(data, level="message", fields=[f"{name}:timestamp" for name in names])
    times = [*row.values()]
    assert times[3].timestamp() == 1_700_000_000
    assert times[:3] + times[4:] == [None] * 5


STATES = {
    "a value beyond the end": b"\0\xa3\1d\xa1\x7fabc",
    "a descriptor beyond the end": b"\0\xa3\x7fd",
    "a text that is none": b"\0\xa3\1d\xa1\2\xff\xff",
}


@pytest.mark.parametrize("name", STATES)
def test_an_unknown_described_value_that_nobody_asked_for(name: str) -> None:
    """It is no value, whatever columns there are."""
    data = performative(TRANSFER, b"\x43", b"\x43", *[b"\x40"] * 5, STATES[name])
    for fields in (["handle", "error"], ["payload", "error"], None):
        assert first(data, **({"fields": fields} if fields else {}))["error"]
    with pytest.raises(DecodeError):
        amqp.decode(data)


@pytest.mark.parametrize("name", STATES)
def test_the_same_among_the_properties_of_a_message(name: str) -> None:
    inside = STATES[name] + b"\x40\x40\xa1\1s"
    payload = b"\0\x53\x73" + bytes([0xC0, len(inside) + 1, 4]) + inside
    data = performative(TRANSFER, b"\x43", b"\x43", b"\xa0\1t", payload=payload)
    for fields in (["properties.subject", "error"], ["properties.message_id", "error"]):
        assert first(data, level="message", fields=fields)["error"]
    # Also where nobody asks what is wrong.
    assert first(data, level="message", fields=["properties.subject"])["properties.subject"] is None


@pytest.mark.parametrize("fields", [["footer"], ["body_kind", "footer"], ["value", "footer"]])
def test_a_body_that_looks_like_a_section(fields: list[str]) -> None:
    """A described value within another one, whose descriptor is that of a footer."""
    footer = b"\0\x53\x78" + compound(MAP8, b"\xa3\1k\xa1\1v", 2)
    for body, want in ((b"\0\x53\x99" + footer, None), (b"\x40" + footer, {"k": "v"})):
        data = performative(TRANSFER, b"\x43", b"\x43", b"\xa0\1t", payload=b"\0\x53\x77" + body)
        row = first(data, level="message", fields=[*fields, "error"])
        entries = json.loads(row["footer"]) if row["footer"] else None
        assert (entries, row["error"]) == (want, None), row
