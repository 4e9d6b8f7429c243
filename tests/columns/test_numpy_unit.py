"""NumPy's arrays into batch.decode and batch.encode, and their columns as NumPy's arrays."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from amqpcodec import batch, types, v0_8, v0_9_1, v1_0
from tests.columns.batch_rows import pa

np = pytest.importorskip("numpy")

SHORT = v0_9_1.encode(1, v0_9_1.Basic.Publish("", "a"))
LONG = v0_9_1.encode(2, v0_9_1.Basic.Publish("", "a-longer-key"))
FIELDS = ["row", "channel", "method", "error"]


def rows(data: Any, protocol: Any = "0-9-1", fields: list[str] = FIELDS) -> list[dict[str, Any]]:
    return pa.record_batch(batch.decode(data, protocol, fields=fields)).to_pylist()


def lines(*channels: int | None) -> list[dict[str, Any]]:
    return [
        {"row": row, "channel": channel, "method": "basic.publish", "error": None}
        for row, channel in enumerate(channels)
        if channel is not None
    ]


def test_values_of_dtype_s_and_object() -> None:
    values = np.array([SHORT, LONG, SHORT])
    assert values.dtype.kind == "S"
    assert rows(values) == rows(values.astype(object)) == lines(1, 2, 1)
    assert rows(values[::2]) == lines(1, 1)
    assert rows(np.array([SHORT, None, LONG, b""], dtype=object)) == lines(1, None, 2)
    assert rows(np.array([], dtype="S5")) == []


def test_one_buffer_of_uint8() -> None:
    buffer = np.frombuffer(SHORT + LONG, np.uint8)
    places = [(line["row"], line["channel"]) for line in rows(buffer)]
    assert places == [(0, 1), (0, 2)]
    assert rows(np.repeat(buffer, 2)[::2]) == rows(buffer)


def test_nulls_at_the_end_of_dtype_s_that_belong_to_the_value() -> None:
    """The protocol header of 0-8 ends in one, and so do frames of 1.0; padding goes."""
    header = v0_8.PROTOCOL_HEADER
    assert header.endswith(b"\0")
    frame_rows = rows(np.array([header, SHORT]), "0-8", ["frame", "error"])
    assert frame_rows == [{"frame": header, "error": None}, {"frame": SHORT, "error": None}]
    frames = [
        v1_0.PROTOCOL_HEADER,
        bytes.fromhex("0000000802000000"),
        v1_0.encode_message(0, v1_0.Transfer(0, 1, b"t"), v1_0.Message(b"\0\0\0")),
        v1_0.encode(0, v1_0.Close()) + bytes.fromhex("0000000802000000"),
        v1_0.encode_message(0, v1_0.Transfer(0, 1, b"t"), v1_0.Message(b"\0" * 300)),
    ]
    values = np.array(frames)
    assert values[1] != frames[1]
    expected = rows(pa.array(frames), "1.0", ["row", "frame", "error"])
    assert rows(values, "1.0", ["row", "frame", "error"]) == expected
    assert not any(line["error"] for line in expected)


def test_a_frame_that_is_cut_off_stays_so() -> None:
    for protocol, frame in (("0-9-1", SHORT), ("1.0", v1_0.encode(0, v1_0.Close()))):
        short_frames = np.array([frame[:-2]])
        assert "inside a frame" in rows(short_frames, protocol, ["error"])[0]["error"]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (np.zeros(8, np.float64), "not float64.*view\\('uint8'\\)"),
        (np.zeros(8, np.int8), "not int8"),
        (np.zeros((2, 8), np.uint8), "one dimension, not 2.*ravel"),
        (np.array(SHORT), "one dimension, not 0"),
        (np.array(["a", "b"]), "not NumPy's text"),
        (np.array([1, 2], dtype=object), "array of bytes"),
        (np.ma.array([SHORT, LONG], mask=[0, 1], dtype=object), "masked.*filled"),
        (np.ma.array([SHORT, LONG], mask=[0, 1]), "masked.*filled"),
        (np.zeros(3, "datetime64[s]"), "not datetime64"),
        (np.zeros(3, [("a", "i4")]), "not \\["),
    ],
)
def test_other_arrays_are_refused(data: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        batch.decode(data)


def test_what_the_text_for_masked_arrays_says_works() -> None:
    masked = np.ma.array([SHORT, LONG], mask=[1, 0])
    assert rows(masked.filled(b"")) == lines(None, 2)


# ---- encode ----

TIME = datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
COLUMNS: dict[str, Any] = {
    "channel": np.array([1, 2], np.int64),
    "exchange": ["", "x"],
    "routing_key": np.array(["a", "b"]),
    "mandatory": np.array([True, False]),
    "body": np.array([b"one\0", b"\0two"], dtype=object),
    "properties.message_id": pa.array(["m", None]),
    "properties.priority": np.ma.array([3, 4], mask=[False, True], dtype=np.uint8),
    "properties.timestamp": np.array([TIME.replace(tzinfo=None), "NaT"], "datetime64[ns]"),
    "headers.n": np.array([5, 6], np.int32),
    "headers.day": np.array(["2024-01-02", "NaT"], "datetime64[D]"),
}


def messages(encoded: Any, protocol: Any = v0_9_1) -> list[Any]:
    assert encoded.errors.to_numpy().tolist() == [None] * len(encoded)
    decoder = protocol.MessageDecoder()
    return [next(iter(decoder.feed(octets))) for octets in encoded.to_numpy()]


def test_a_dict_of_columns() -> None:
    (first, one), (second, two) = messages(batch.encode(COLUMNS))
    assert (first, one.body, two.body) == (1, b"one\0", b"\0two")
    assert one.method == v0_9_1.Basic.Publish("", "a", True)
    day = datetime(2024, 1, 2, tzinfo=UTC)
    assert one.properties == v0_9_1.Basic.Properties(
        message_id="m", priority=3, timestamp=TIME, headers={"n": 5, "day": day}
    )
    assert second == 2
    assert two.properties == v0_9_1.Basic.Properties(headers={"n": 6})


def test_a_structured_array() -> None:
    properties = np.dtype([("message_id", "U5"), ("priority", "u1")])
    kind = np.dtype([("routing_key", "S5"), ("body", "O"), ("properties", properties)])
    columns = np.array([("a", b"one", ("m", 3)), ("b", b"two\0", ("n", 4))], kind)
    (_, one), (_, two) = messages(batch.encode(columns))
    assert one.method == v0_9_1.Basic.Publish("", "a")
    assert one.properties == v0_9_1.Basic.Properties(message_id="m", priority=3)
    assert (two.body, two.properties.message_id) == (b"two\0", "n")
    hidden = np.ma.array(columns, mask=[False, True])
    assert batch.encode(hidden).to_numpy().tolist()[1] is None


def test_columns_of_1_0() -> None:
    columns = {
        "body": np.array([b"one", b"two"]),
        "application_properties.n": np.array([5, 6], np.uint16),
        "header.durable": np.array([True, False]),
    }
    (_, one), (_, two) = messages(batch.encode(columns, "1.0"), v1_0)
    assert (one.message.body, two.message.body) == (b"one", b"two")
    typed = v1_0.Message.decode(one.message.encode(), types="typed")
    assert type(typed.application_properties["n"]) is v1_0.UShort
    assert one.message.header.durable is True


def test_columns_of_other_libraries_that_give_arrow() -> None:
    """An object with one array, and one with a stream of them, by the PyCapsule interface."""

    class OneArray:
        def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
            return pa.array([b"one", b"two"]).__arrow_c_array__(requested_schema)

    class Stream:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return pa.chunked_array([["a"], ["b"]]).__arrow_c_stream__(requested_schema)

    octets = batch.encode({"body": OneArray(), "routing_key": Stream()})
    expected = batch.encode({"body": [b"one", b"two"], "routing_key": ["a", "b"]})
    assert pa.array(octets) == pa.array(expected)


@pytest.mark.parametrize(
    ("columns", "error", "text"),
    [
        ({"body": [b"a"], "routing_key": ["a", "b"]}, ValueError, "body: 1, routing_key: 2"),
        ({}, ValueError, "one column at least"),
        ({"body": b"a"}, TypeError, "'body' is an array or a list"),
        ({"body": 5}, TypeError, "'body' is an array or a list"),
        ({1: [b"a"]}, TypeError, "names of columns are text"),
        ({"body": [b"a", 5]}, TypeError, "'body'"),
        ({"body": np.zeros((2, 2))}, TypeError, "2 dimensions"),
        ({"body": np.zeros(2, np.complex64)}, TypeError, "'body'"),
        (np.zeros(2), TypeError, "structured array"),
    ],
)
def test_columns_that_are_refused(columns: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        batch.encode(columns)


# ---- back ----


def test_columns_as_arrays() -> None:
    message = v0_9_1.encode_message(
        1, v0_9_1.Basic.Publish("", "k"), v0_9_1.Basic.Properties(message_id="m", timestamp=TIME)
    )
    far = v0_9_1.encode_message(
        1, v0_9_1.Basic.Publish("", "k"), v0_9_1.Basic.Properties(timestamp=1_700_000_000_000)
    )
    columns = batch.decode(np.array([message, SHORT, far]), level="message")
    assert columns.to_numpy("row").dtype == np.int64
    assert columns.to_numpy("routing_key").tolist() == ["k", "a", "k"]
    assert columns.to_numpy("properties.message_id").tolist() == ["m", None, None]
    times = columns.to_numpy("properties.timestamp")
    assert times.dtype == np.dtype("datetime64[us]")
    assert times[0] == np.datetime64(TIME.replace(tzinfo=None))
    assert np.isnat(times[1])
    assert times[2].astype(int) == 1_700_000_000_000 * 10**6
    properties = columns.to_numpy("properties")
    assert properties[0]["message_id"] == "m"
    assert properties[2]["timestamp"] == times[2]
    with pytest.raises(KeyError, match="'nonsense': there is row"):
        columns.to_numpy("nonsense")
    with pytest.raises(KeyError, match="'properties\\.nonsense'"):
        columns.to_numpy("properties.nonsense")


def test_encoded_as_arrays() -> None:
    messages = batch.encode({"routing_key": ["a", "k" * 256]})
    [good, bad] = messages.to_numpy()
    assert bad is None
    assert v0_9_1.decode(good)[2] == v0_9_1.Basic.Publish("", "a")
    [none, text] = messages.to_numpy("errors")
    assert none is None
    assert "shortstr" in text
    assert messages.errors.to_numpy()[1] == text
    with pytest.raises(KeyError, match="messages and errors"):
        messages.to_numpy("body")


def test_rows_with_times_beyond_the_calendar() -> None:
    """Where pyarrow's to_pylist raises, that of what decode returns gives the wire's number."""
    number = 1_700_000_000_000
    far = v0_9_1.encode_message(
        1, v0_9_1.Basic.Publish("", "k"), v0_9_1.Basic.Properties(timestamp=number)
    )
    columns = batch.decode(far, level="message", fields=["properties", "properties.timestamp"])
    with pytest.raises(OverflowError):
        pa.record_batch(columns).to_pylist()
    [row] = columns.to_pylist()
    for value in (row["properties.timestamp"], row["properties"]["timestamp"]):
        assert (type(value), value) == (types.Timestamp, number)
    message = v1_0.Message(b"", creation_time=v1_0.Timestamp(number * 1000 + 7))
    far = v1_0.encode_message(0, v1_0.Transfer(0, 1, b"t"), message)
    name = "properties.creation_time"
    [row] = batch.decode(far, "1.0", "message", fields=[name]).to_pylist()
    assert (type(row[name]), row[name]) == (v1_0.Timestamp, number * 1000 + 7)


def test_rows_are_those_of_pyarrow() -> None:
    message = v0_9_1.encode_message(
        1, v0_9_1.Basic.Publish("", "k"), v0_9_1.Basic.Properties(timestamp=TIME), b"body"
    )
    for data, protocol in ((message + SHORT, "0-9-1"), (v1_0.encode(0, v1_0.Close()), "1.0")):
        for level in ("frame", "message"):
            columns = batch.decode(data, protocol, level)  # type: ignore[arg-type]
            assert columns.to_pylist() == pa.record_batch(columns).to_pylist()
