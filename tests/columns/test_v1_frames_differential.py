"""AMQP 1.0 at frame level: every row against what amqpcodec.v1_0 makes of the same bytes."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqpcodec import DecodeError, batch
from amqpcodec import v1_0 as amqp
from tests.columns.v1_rows import decode, expected, pa, rows
from tests.paths import shared_dir
from tests.support.amqp10_wire import disposition, frame
from tests.support.samples_v1 import every_performative
from tests.v1.mutation import mutated
from tests.v1.recordings import NAMES, recording
from tests.v1.test_v1_properties import values

COLUMNS = (
    "row",
    "offset",
    "frame_type",
    "channel",
    "performative",
    "arguments",
    "payload",
    "frame",
    "error",
    "error_offset",
)


def compare(frames: list[bytes], **options: Any) -> int:
    """Rows of frames in one go against those expected of each; how many are good."""
    data = b"".join(frames)
    frame_rows = rows(data, **options)
    assert len(frame_rows) == len(frames)
    good = offset = 0
    for row, raw in zip(frame_rows, frames, strict=True):
        expected_row = expected(raw)
        if expected_row["error"] is None:
            good += 1
        else:
            # An offset in the error counts from the start of the value.
            with pytest.raises(DecodeError) as caught:
                amqp.decode(data, offset)
            assert row["error"] == f"{caught.value.condition}: {caught.value}", raw.hex()
            assert row["error_offset"] == caught.value.offset
            assert row["channel"] == expected_row["channel"]
            assert (row["arguments"], row["payload"], row["frame"]) == (None, None, raw)
            offset += len(raw)
            continue
        assert (row.pop("row"), row.pop("offset"), row.pop("error_offset")) == (0, offset, None)
        assert row == expected_row, raw.hex()
        if row["arguments"] is not None:
            json.loads(row["arguments"])
        offset += len(raw)
    return good


def test_the_schema() -> None:
    schema = pa.schema(batch.schema("1.0"))
    assert tuple(schema.names) == COLUMNS
    assert schema == decode(b"").schema
    old = pa.schema(batch.schema("0-9-1"))
    for name in schema.names:
        assert (
            schema.field(name).type == old.field("method" if name == "performative" else name).type
        )


def test_every_performative() -> None:
    headers = [amqp.SASL_HEADER, amqp.TLS_HEADER, amqp.PROTOCOL_HEADER]
    frames = [*headers, *every_performative(), amqp.encode(0, amqp.Heartbeat())]
    assert compare(frames) == len(frames)
    assert compare(frames, layout="view") == len(frames)
    types = {row["frame_type"] for row in rows(b"".join(frames))}
    assert types == {"amqp", "sasl", "heartbeat", "protocol-header"}


@pytest.mark.parametrize("seed", range(8))
def test_mutated_frames(seed: int) -> None:
    source = random.Random(seed)
    originals = every_performative()
    frames = [mutated(source.choice(originals), source) for _ in range(1500)]
    assert 50 < compare(frames) < 1500


@given(st.lists(values, min_size=1, max_size=4))
@settings(deadline=None, max_examples=200)
def test_values_of_every_type(some_values: list[Any]) -> None:
    """In a field of any type, where the protocol's own types are known at every depth."""
    frames = []
    for value in some_values:
        octets = amqp.encode_value(value)
        body = (
            b"\0\x53\x15\xd0" + (9 + len(octets)).to_bytes(4, "big") + b"\0\0\0\x05\x41\x43\x40\x40"
        )
        frames.append(frame(body + octets))
    compare(frames)


def test_depth_and_counts_are_bounded() -> None:
    frames = []
    for n in (100, 125, 126, 127, 128, 129, 130):
        value = b"\x45"
        for _ in range(n):
            value = b"\xd0" + (4 + len(value)).to_bytes(4, "big") + b"\0\0\0\x01" + value
        fields = b"\x41\x43\x40\x40" + value
        frames.append(
            frame(b"\0\x53\x15\xd0" + (4 + len(fields)).to_bytes(4, "big") + b"\0\0\0\x05" + fields)
        )
        described = b"\0\x53\x24\x45"
        for _ in range(n):
            described = b"\0\xa3\x01d" + described
        fields = b"\x41\x43\x40\x40" + described
        frames.append(
            frame(b"\0\x53\x15\xd0" + (4 + len(fields)).to_bytes(4, "big") + b"\0\0\0\x05" + fields)
        )
    for count in (65537, 2**32 - 1, 65536):  # what passes counts for those after it
        frames.append(disposition(b"\xf0\0\0\0\x05" + count.to_bytes(4, "big") + b"\x40"))
    good = compare(frames)
    assert 0 < good < len(frames)


BAD = [
    b"\x40",  # no performative
    b"\0\x53\x99\x45",
    b"\0\x53\x40\x45",  # one of SASL
    b"\0\x53\x24\x45",  # a composite, but no performative
    b"\0\xa3\x03abc\x45",
    b"\0\xa3\x0eamqp:open:list\x45",
    b"\0\x80\0\0\0\0\0\0\0\x10\x45",
    b"\0\x53\x10\xa1\x01x",
    b"\0\x53\x10\x45\x45",  # bytes behind
    b"\0\x53\x14\x45\x45",  # a payload
    b"\0\x53\x10\xc0\x03\x01\xa1\x05",
    b"\0\x53\x10\xc0\x04\x01\xa1\x01\xff",
    b"\0\x53\x10\xc0\x02\x02\x40",
    b"\0\x53\x10\xc0\x0c\x0b" + b"\x40" * 11,
    b"\0",
    b"\0\x53",
    b"\0\xff",
    b"\0\0",
]


@pytest.mark.parametrize("kind", [0, 1])
def test_bad_bodies(kind: int) -> None:
    compare([frame(body, kind) for body in BAD])


def test_framing() -> None:
    good = amqp.encode(0, amqp.Close())
    extended = (len(good) + 8).to_bytes(4, "big") + b"\4" + good[5:8] + b"extended" + good[8:]
    assert compare([good, extended, good]) == 3
    # A type that is not defined: the frame is whole, and the next one stands behind it.
    odd = frame(b"xyz", 7, 5)
    frame_rows = rows(good + odd + good)
    assert [row["performative"] for row in frame_rows] == ["close", None, "close"]
    assert frame_rows[1]["frame"] == odd
    assert (frame_rows[1]["frame_type"], frame_rows[1]["channel"]) == (None, 5)
    assert frame_rows[1]["error"].startswith("amqp:connection:framing-error: frame type 7")
    # The end of a frame is lost: the rest is one row, and the next value goes on.
    for remainder in (
        b"\0\0\0\7\2\0\0\1",
        b"\0\0\0\x10\1\0\0\1" + bytes(8),
        b"\0\0\0\x08\3\0\0\1",
        good[:-1],
        b"A",
    ):
        array = pa.array([good + remainder, good], pa.binary())
        frame_rows = rows(array)
        assert [row["row"] for row in frame_rows] == [0, 0, 1]
        assert frame_rows[1]["frame"] == remainder
        decoder = amqp.Decoder(opened=True)
        try:
            list(decoder.feed(remainder))
            decoder.eof()
        except DecodeError as error:
            text = f"{error.condition}: {error}"
        if error_offset := frame_rows[1]["error_offset"]:
            assert error_offset >= len(good)
        assert frame_rows[1]["error"].split(" (offset")[0] == text.split(" (offset")[0]
        assert frame_rows[2]["error"] is None


def test_modes() -> None:
    good = amqp.encode(0, amqp.Close())
    data = good + frame(BAD[0]) + good
    assert len(rows(data)) == 3
    assert len(rows(data, mode="DROPMALFORMED")) == 2
    with pytest.raises(DecodeError, match="row 0: takes performative") as caught:
        rows(data, mode="FAILFAST")
    error = caught.value
    assert (error.condition, error.offset, error.row) == ("amqp:decode-error", len(good) + 8, 0)
    # Without the column and in PERMISSIVE mode nobody asks.
    assert rows(data, fields=["performative"])[1] == {"performative": None}


FIELDS = {
    "container_id": pa.string(),
    "open.channel_max": pa.int32(),
    "handle": pa.int64(),
    "delivery_tag": pa.binary(),
    "transfer.settled": pa.bool_(),
    "snd_settle_mode": pa.int32(),
    "attach.max_message_size": pa.int64(),
    "attach.source": pa.string(),
    "close.error": pa.string(),
    "open.properties": pa.string(),
    "sasl-init.mechanism": pa.string(),
    "sasl_init.initial_response": pa.binary(),
    "code": pa.int32(),
    "role": pa.bool_(),
    "offered_capabilities": pa.string(),
    "mechanism": pa.string(),
    "state": pa.string(),
    "idle_time_out": pa.int64(),
}


def value_of(raw: bytes, name: str) -> Any:
    """What a column of one field holds of a frame."""
    result = amqp.decode(raw)
    assert result is not None
    performative = result[2]
    method, _, field = name.rpartition(".")
    own = getattr(performative, "NAME", None)
    if own is None or (method and method.replace("_", "-") != own):
        return None
    if field not in performative.FIELDS or not performative.is_set(field):
        return None
    text = json.loads(expected(raw)["arguments"])[field]
    if isinstance(text, dict) and "$binary" in text:
        return getattr(performative, field)
    if FIELDS[name] == pa.string() and not isinstance(text, str):
        return text
    return text


@pytest.mark.parametrize("with_error", [False, True])
def test_fields(with_error: bool) -> None:
    frames = every_performative()
    names = [*FIELDS, "error"] if with_error else list(FIELDS)
    record_batch = decode(b"".join(frames), fields=names)
    assert record_batch.schema == pa.schema(batch.schema("1.0", fields=names))
    for name, type_ in FIELDS.items():
        assert record_batch.schema.field(name).type == type_, name
        values_present = 0
        for raw, value in zip(frames, record_batch.column(name).to_pylist(), strict=True):
            expected_value = value_of(raw, name)
            if isinstance(expected_value, (dict, list)):
                value = json.loads(value)
            assert value == expected_value, name
            values_present += expected_value is not None
        assert values_present, name


@given(st.lists(st.sampled_from(sorted({*FIELDS, *COLUMNS})), unique=True, max_size=8), st.data())
@settings(deadline=None, max_examples=60)
def test_any_fields_in_any_order(names: list[str], data: Any) -> None:
    """Each column is what it is when it is asked for alone, whatever else is."""
    frames = every_performative() + [frame(body) for body in BAD]
    chosen = data.draw(st.lists(st.sampled_from(frames), max_size=20))
    octets = b"".join(chosen)
    layout = data.draw(st.sampled_from(["plain", "view"]))
    record_batch = decode(octets, fields=names, layout=layout)
    checked = bool({"error", "error_offset"} & set(names))
    for name in names:
        ask = [name, "error"] if checked and name != "error" else [name]
        assert (
            record_batch.column(name).to_pylist()
            == decode(octets, fields=ask).column(name).to_pylist()
        )


def test_what_a_column_cannot_hold() -> None:
    raw = amqp.encode(0, amqp.Attach("n", 1, True, max_message_size=2**63))
    (row,) = rows(raw, fields=["name", "max_message_size", "error", "error_offset"])
    assert (row["name"], row["max_message_size"]) == ("n", None)
    assert row["error"].startswith(
        "attach.max_message_size: ulong 9223372036854775808 does not fit"
    )
    assert raw[row["error_offset"]] == 0x80
    assert rows(raw)[0]["error"] is None  # as text it fits
    assert rows(raw, fields=["max_message_size"], mode="DROPMALFORMED") == []
    with pytest.raises(DecodeError, match="does not fit") as caught:
        rows(raw, fields=["max_message_size"], mode="FAILFAST")
    assert caught.value.field == "max_message_size"


def test_names_that_are_not_known() -> None:
    with pytest.raises(ValueError, match="did you mean 'delivery_id'"):
        decode(b"", fields=["delivery_ids"])
    with pytest.raises(ValueError, match="at frame level"):
        decode(b"", fields=["properties"])
    with pytest.raises(ValueError, match="at frame level"):
        decode(b"", fields=["application_properties.k"])
    with pytest.raises(ValueError, match="no column 'exchange'"):
        decode(b"", fields=["exchange"])
    assert decode(b"", fields=["method", "performative"]).schema.names == ["method", "performative"]


def test_input_as_arrow_with_slices_and_nulls() -> None:
    frames = every_performative()
    array = pa.array([frames[0], None, b"", frames[1] + frames[2], frames[3]], pa.large_binary())
    frame_rows = rows(array, fields=["row", "offset", "performative"])
    assert [tuple(row.values()) for row in frame_rows] == [
        (0, 0, "open"),
        (3, 0, "open"),
        (3, len(frames[1]), "begin"),
        (4, 0, "attach"),
    ]
    frame_rows = rows(array[3:4])
    assert [row["performative"] for row in frame_rows] == ["open", "begin"]
    assert compare(frames * 40) == 40 * len(frames)
    assert rows(bytearray(frames[0])) == rows(frames[0]) == rows(memoryview(frames[0]))


def test_vectors() -> None:
    """Values of other implementations' tests, as the properties of an open."""
    shared = shared_dir()
    path = shared / "vectors" / "amqp-1.0" / "index.json" if shared else None
    if path is None or not path.is_file():
        pytest.skip("the vectors are not beside the repository")
    hex_values = set()

    def walk(node: Any) -> None:
        if isinstance(node, dict):
            if isinstance(node.get("hex"), str):
                hex_values.add(node["hex"])
            for child in node.values():
                walk(child)
        elif isinstance(node, list):
            for child in node:
                walk(child)

    walk(json.loads(path.read_text()))
    assert len(hex_values) > 40
    frames = []
    for text in sorted(hex_values):
        frames.append(disposition(bytes.fromhex(text)))
        frames.append(frame(b"\0\x53\x14\xc0\x03\x01\x43" + bytes.fromhex(text)))
    assert compare(frames) > 30


@pytest.mark.parametrize("name", NAMES)
def test_recordings(name: str) -> None:
    oracle = recording(name)
    frames = [bytes.fromhex(row["hex"]) for row in oracle]
    assert compare(frames) == len(frames)
    frame_rows = rows(pa.array(frames, pa.binary()))
    assert [row["row"] for row in frame_rows] == list(range(len(frames)))
    for row, expected_row in zip(frame_rows, oracle, strict=True):
        assert row["performative"] == expected_row.get("performative")
