"""Values of AMQP 1.0 at the edges: levels of every kind, classes of users, and what is no value."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from typing import Any

import pytest

from amqpcodec import DecodeError, DepthError, EncodeError, ValidationError
from amqpcodec import v1_0 as amqp
from tests.support.amqp10_wire import ARRAY8, compound, nested_lists, open_of
from tests.support.process_limit import limited

LIMIT = 16


@pytest.fixture
def nesting() -> Iterator[int]:
    with limited("max_nesting", LIMIT):
        yield LIMIT


#: What takes so many levels by itself.
LEVELS: dict[str, tuple[bytes, int]] = {
    "an array of lists": (compound(ARRAY8, b"\x45"), 2),
    "an array of lists with bytes": (compound(ARRAY8, b"\xc0\x01\x00"), 2),
    "an array of arrays": (compound(ARRAY8, b"\xe0\x02\x01\x45"), 3),
    "an array of described values": (compound(ARRAY8, b"\0\x53\x77\x40"), 2),
    "an array of described values of described values": (
        compound(ARRAY8, b"\0\x53\x77\0\x53\x77\x40"),
        3,
    ),
    "a composite without fields": (b"\0\x53\x24\x45", 2),
    "a composite with a field": (b"\0\x53\x23\xc0\x02\x01\x40", 2),
    "a composite with a size of four bytes": (b"\0\x53\x23\xd0\0\0\0\5\0\0\0\1\x40", 2),
    "a described value": (b"\0\x53\x77\x40", 1),
}


@pytest.mark.parametrize("name", LEVELS)
def test_levels(nesting: int, name: str) -> None:
    value, levels = LEVELS[name]
    good, bad = (nested_lists(nesting - levels + more, value) for more in (0, 1))
    nested = amqp.decode_value(good)[0]
    assert amqp.decode_value(amqp.encode_value(nested))[0] == nested
    with pytest.raises(DepthError, match="deeper than 16 levels"):
        amqp.decode_value(bad)
    with pytest.raises(DepthError, match="deeper than 16 levels"):
        amqp.decode(open_of(bad))


@pytest.mark.parametrize("name", LEVELS)
def test_levels_in_columns(nesting: int, name: str) -> None:
    pa = pytest.importorskip("pyarrow")
    from amqpcodec import batch

    value, levels = LEVELS[name]
    least = next(
        outside
        for outside in range(nesting + 1)
        if pa.record_batch(batch.decode(open_of(nested_lists(outside, value)), "1.0"))["error"][
            0
        ].is_valid
    )
    # The frame's list and the map of its properties, or what describes them as well.
    assert nesting - levels - 4 < least <= nesting - levels
    for outside in (least - 1, least):
        frame = open_of(nested_lists(outside, value))
        (row,) = pa.record_batch(batch.decode(frame, "1.0")).to_pylist()
        if outside < least:
            assert row["error"] is None
            assert amqp.decode(frame)
        else:
            assert "deeper than 16 levels" in row["error"]
            with pytest.raises(DepthError):
                amqp.decode(frame)


@pytest.mark.parametrize(
    "bad",
    [
        compound(ARRAY8, b"\0\x53"),
        compound(ARRAY8, b"\0"),
        compound(ARRAY8, b""),
        compound(ARRAY8, b"\0\xa3\x05abc\x40"),
        compound(ARRAY8, b"\0\x53\x77\x3f"),
        compound(ARRAY8, b"\0\x53\x77"),
    ],
)
def test_descriptors_of_arrays_that_are_none(bad: bytes) -> None:
    pa = pytest.importorskip("pyarrow")
    from amqpcodec import batch

    with pytest.raises(DecodeError):
        amqp.decode_value(bad)
    (row,) = pa.record_batch(batch.decode(open_of(bad), "1.0")).to_pylist()
    assert row["error"]
    assert row["frame"] == open_of(bad)


TRANSFER = b"\0\x53\x14\xc0"


@pytest.mark.parametrize(
    ("state", "good"),
    [
        (b"\0\x53\x77\0\x53\x24\x45", True),  # an amqp-value with an outcome in it
        (b"\0\x53\x77\0\x53\x24\xa1\x01x", False),  # whose fields are no list
        (b"\0\0\x53\x24\x45\x40", True),  # described by an outcome
        (b"\0\0\x53\x24\xa1\x01x\x40", False),
        (b"\0\xa3\x01x\0\x53\x24\x45", True),
        (b"\0\xa3\x01x\0\x53\x24\xa1\x01x", False),
    ],
)
def test_known_types_within_unknown_ones(state: bytes, good: bool) -> None:
    """Objects and columns agree."""
    pa = pytest.importorskip("pyarrow")
    from amqpcodec import batch

    fields = b"\x43" + b"\x40" * 6 + state
    body = TRANSFER + bytes([len(fields) + 1, 8]) + fields
    frame = (len(body) + 8).to_bytes(4, "big") + b"\2\0\0\0" + body
    (row,) = pa.record_batch(batch.decode(frame, "1.0")).to_pylist()
    assert (row["error"] is None) == good
    if good:
        decoded = amqp.decode(frame)
        assert decoded is not None
        assert amqp.encode(0, decoded[2]) == frame
    else:
        with pytest.raises(DecodeError):
            amqp.decode(frame)


# ---- values of users ----


class Text(str):
    pass


class Real(float):
    pass


class Pairs(dict):
    pass


class Short(amqp.UByte):
    pass


class Single(amqp.Float):
    pass


class Third(amqp.Decimal32):
    pass


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Text("x"), "x"),
        (Real(1.5), 1.5),
        (Pairs(k=1), {"k": 1}),
        (Short(7), amqp.UByte(7)),
        (Single(1.5), amqp.Float(1.5)),
        (Third("1.5"), amqp.Decimal32("1.5")),
    ],
)
def test_a_subclass_is_what_it_stands_for(value: Any, plain: Any) -> None:
    assert amqp.encode_value(value) == amqp.encode_value(plain)


class Growing(tzinfo):
    """A zone that changes what it stands in."""

    def __init__(self, pairs: dict[Any, Any]) -> None:
        self.pairs = pairs

    def utcoffset(self, _: datetime | None) -> timedelta:
        self.pairs[len(self.pairs)] = 0
        return timedelta(0)


def test_a_map_that_changes_while_it_is_encoded() -> None:
    pairs: dict[Any, Any] = {}
    pairs["when"] = datetime(2020, 1, 1, tzinfo=Growing(pairs))
    with pytest.raises(RuntimeError, match="changed size"):
        amqp.encode_value(pairs)


@pytest.mark.parametrize("pair", [1, (1,), (1, 2, 3)])
def test_a_map_takes_pairs(pair: Any) -> None:
    pairs = amqp.Map([("k", 1)])
    list.append(pairs, pair)
    with pytest.raises(EncodeError, match="takes pairs"):
        amqp.encode_value(pairs)


@pytest.mark.parametrize(
    ("array", "what"),
    [
        (amqp.Array("char", ["xy"]), "one character"),
        (amqp.Array("char", ["\ud800"]), "one character"),
        (amqp.Array("char", [5]), "one character"),
        (amqp.Array("array", [[1]]), "array of arrays takes Array, not list"),
        (amqp.Array("decimal64", [1.5]), "decimal64 takes Decimal, not float"),
        (amqp.Array("double", ["x"]), "double takes float, not str"),
    ],
)
def test_elements_of_another_type(array: Any, what: str) -> None:
    with pytest.raises(EncodeError, match=what):
        amqp.encode_value(array)


def test_several_symbols_of_a_field() -> None:
    for none in ([], (), set(), amqp.Array("symbol", [])):
        performative = amqp.decode(amqp.encode(0, amqp.Open("c", offered_capabilities=none)))[2]
        assert performative.offered_capabilities is None
    for wrong in (amqp.Array("string", ["x"]), amqp.Array("symbol", ["x"], (1,))):
        with pytest.raises(EncodeError, match="takes an array of symbol"):
            amqp.encode(0, amqp.Open("c", offered_capabilities=wrong))


def test_a_uuid_that_is_broken() -> None:
    broken = uuid.UUID(int=5)
    object.__setattr__(broken, "int", "five")
    with pytest.raises(TypeError, match="UUID"):
        amqp.encode_value(broken)


def test_a_header_with_a_field_that_is_gone() -> None:
    header = amqp.ProtocolHeader()
    del header.minor
    with pytest.raises(EncodeError, match="minor: is not set"):
        amqp.encode(0, header)


def test_times_of_messages_one_at_a_time() -> None:
    """Each as if it were the first."""
    for ms in (0, 1, 86_400_000, 1_700_000_000_123):
        data = b"\x83" + ms.to_bytes(8, "big")
        expected = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
        assert amqp.decode_value(data)[0] == expected
        assert amqp.decode_value(bytearray(data))[0] == expected


def test_frames_of_other_buffers() -> None:
    frame = open_of(b"\x40")
    assert amqp.decode(memoryview(frame)) == amqp.decode(frame)
    assert amqp.decode(bytearray(frame)) == amqp.decode(frame)


def test_encoding_checks_the_transfer_as_well() -> None:
    transfer = amqp.Transfer(0, delivery_tag=b"x" * 33)
    message = amqp.Message("body")
    assert amqp.encode_message(0, transfer, message)
    with pytest.raises(ValidationError, match="at most 32 bytes"):
        amqp.encode_message(0, transfer, message, validate=True)


def test_what_may_provide_an_outcome() -> None:
    """Described values that are not known may; others have to say so."""
    for state in (amqp.Accepted(), amqp.Described(amqp.Symbol("x:outcome"), [])):
        amqp.Transfer(0, state=state).validate()
    for state in (amqp.Source(), amqp.Error("x")):
        with pytest.raises(ValidationError, match="delivery-state"):
            amqp.Transfer(0, state=state).validate()


def test_sections_of_a_message_of_all_kinds() -> None:
    """By number, descriptor, offset and length, also where a value is described."""
    for body in ("text", amqp.Described(amqp.Symbol("d"), [1]), {"k": Decimal(1)}):
        message = amqp.Message(body, subject="s", application_properties={"n": 1})
        data = message.encode()
        sections = message.sections()
        assert [code for _, code, _, _ in sections] == [0x73, 0x74, 0x77]
        assert sum(length for *_, length in sections) == len(data)
