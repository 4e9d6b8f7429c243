"""batch.encode of AMQP 1.0 writes the bytes of the object encoder, whatever the columns are."""

from __future__ import annotations

import json
import uuid
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqpcodec import EncodeError
from amqpcodec import v1_0 as amqp
from tests.columns.batch_rows import pa
from tests.encode.encode_v1_values import (
    EPOCH,
    PERFORMATIVES,
    SCHEMA,
    TABLE,
    Said,
    annotations,
    composites,
    encode,
    fields_form,
    id_text,
    ids,
    json_text,
    octets,
    only,
    v1_messages,
    values,
)
from tests.support.message_columns import as_type

S = amqp.Symbol


def test_nothing_said() -> None:
    assert encode([{"body": b"x"}]) == ([octets(amqp.Message(b"x"))], [None])
    assert encode(pa.RecordBatch.from_pydict({"body": pa.nulls(1)}))[0] == [octets()]


@given(st.lists(v1_messages, max_size=4), st.sampled_from([0, 512, 700, 131072]))
@settings(max_examples=200, deadline=None)
def test_messages(messages: list[Said], frame_max: int) -> None:
    columns = pa.RecordBatch.from_pylist([message.row() for message in messages], SCHEMA)
    expected = [message.octets(frame_max) for message in messages]
    assert encode(columns, frame_max=frame_max) == (expected, [None] * len(messages))


@given(st.lists(v1_messages, max_size=4))
@settings(max_examples=100, deadline=None)
def test_members_as_columns(messages: list[Said]) -> None:
    """Header and properties field by field: then empty ones cannot be told from absent ones."""
    for message in messages:
        message.header = message.header or None
        message.properties = message.properties or None
    batch = pa.RecordBatch.from_pylist([message.row() for message in messages], SCHEMA)
    columns = {}
    for name in SCHEMA.names:
        if name in ("header", "properties"):
            for child, array in zip(
                SCHEMA.field(name).type, batch.column(name).flatten(), strict=True
            ):
                columns[f"{name}.{child.name}"] = array
        else:
            columns[name] = batch.column(name)
    results = encode(pa.RecordBatch.from_pydict(columns))
    assert results == ([message.octets() for message in messages], [None] * len(messages))


@given(values, st.sampled_from([{}, {"indent": 2}, {"ensure_ascii": False}]))
@settings(max_examples=250, deadline=None)
def test_values_of_json(value: Any, style: dict[str, Any]) -> None:
    result = only("value", json_text(value, **style))
    assert result == (octets(amqp.Message(value=value)), None)


@given(annotations, st.sampled_from(["delivery_annotations", "message_annotations", "footer"]))
@settings(max_examples=100, deadline=None)
def test_annotations(value: dict[str, Any], column: str) -> None:
    assert only(column, json_text(value)) == (octets(amqp.Message(**{column: value})), None)


def test_keys_of_annotations() -> None:
    pairs = amqp.Map([(S("a"), 1), (amqp.ULong(5), 2), (S("a"), 3), (S("b"), 4)])
    text = '{"$map": [["a", 1], [5, 2], ["a", 3], [{"$symbol": "b"}, 4]]}'
    want = octets(amqp.Message(message_annotations=pairs))
    assert only("message_annotations", text) == (want, None)
    assert only("message_annotations", text.replace("$map", "$table")) == (want, None)
    want = octets(amqp.Message(footer={S("a"): {"b": 1}}))
    assert only("footer", {"a": {"b": 1}}) == (want, None)
    assert (
        only("footer", [("a", [("b", 1)])], pa.map_(pa.string(), pa.map_(pa.string(), pa.int64())))[
            0
        ]
        == want
    )
    assert only("footer", [(7, True)], pa.map_(pa.int32(), pa.bool_()))[0] == octets(
        amqp.Message(footer=amqp.Map([(amqp.ULong(7), True)]))
    )


# ---- performatives ----


@pytest.mark.parametrize("name", [spec["name"] for spec in PERFORMATIVES])
@given(data=st.data(), channel=st.integers(0, 65535))
@settings(max_examples=60, deadline=None)
def test_performatives_by_json(name: str, data: Any, channel: int) -> None:
    frame = data.draw(composites(name))
    row = {"performative": name, "channel": channel, "arguments": json.dumps(fields_form(frame))}
    if name == "transfer":
        row["payload"] = b"xyz"
        want = amqp.encode(channel, frame, b"xyz", incomplete=True)
    else:
        want = amqp.encode(channel, frame, incomplete=True)
    assert encode([row]) == ([want], [None])


COLUMN_TYPES = {
    1: pa.bool_(), 2: pa.uint8(), 3: pa.int32(), 4: pa.int64(), 5: pa.uint64(), 16: pa.int64(),
    18: pa.binary(), 19: pa.string(), 20: pa.string(), 22: pa.string(), 24: pa.string(),
    25: pa.string(),
}  # fmt: skip


@pytest.mark.parametrize("long_names", [True, False])
@pytest.mark.parametrize("name", [spec["name"] for spec in PERFORMATIVES])
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_performatives_by_columns(name: str, long_names: bool, data: Any) -> None:
    frame = data.draw(composites(name))
    forms = fields_form(frame)
    columns: dict[str, Any] = {"performative": pa.array([name])}
    for entry in TABLE[name]["fields"]:
        value, type_ = forms.get(entry[0]), COLUMN_TYPES[entry[1]]
        if value is not None and entry[1] in (22, 24, 25):
            value = json.dumps(value)
        elif entry[1] == 18:
            value = getattr(frame, entry[0])
        if entry[2] & 2:
            type_ = pa.list_(pa.string())
        full = long_names or entry[0] in ("properties", "error")
        columns[f"{name}.{entry[0]}" if full else entry[0]] = pa.array([value], type_)
    if name == "transfer":
        columns["payload"] = pa.array([b""])
    assert encode(pa.RecordBatch.from_pydict(columns)) == (
        [amqp.encode(0, frame, incomplete=True)],
        [None],
    )


def test_columns_go_before_the_text() -> None:
    row = {"performative": "flow", "arguments": '{"handle": 1, "link_credit": 2, "available": 3, '
           '"incoming_window": 7, "next_outgoing_id": 8, "outgoing_window": 9}',
           "link_credit": 4, "available": None, "flow.link_credit": 5}  # fmt: skip
    frame = amqp.Flow(None, 7, 8, 9, 1, None, 5, 3)
    assert encode([row])[0] == [amqp.encode(0, frame, incomplete=True)]
    row["flow.link_credit"] = None
    frame.link_credit = 4
    assert encode(
        pa.RecordBatch.from_pydict(
            {name: pa.array([row[name]], pa.int64() if row[name] is None else None) for name in row}
        )
    )[0] == [amqp.encode(0, frame, incomplete=True)]


def test_many_symbols() -> None:
    for symbols, want in (
        (["a"], ["a"]),
        ([], None),
        (["a", "b"], ["a", "b"]),
        (["a", "k" * 256, ""], ["a", "k" * 256, ""]),
    ):
        frame = amqp.encode(0, amqp.Open("c", desired_capabilities=want))
        other_columns = {"performative": "open", "container_id": "c"}
        assert only("desired_capabilities", symbols, pa.list_(pa.string()), **other_columns) == (
            frame,
            None,
        )
        assert only("desired_capabilities", json.dumps(symbols), **other_columns) == (frame, None)
    frame = amqp.encode(0, amqp.Open("c", desired_capabilities="one"))
    assert only("desired_capabilities", "one", **other_columns) == (frame, None)


def test_other_performatives_in_one_batch() -> None:
    rows: list[dict[str, Any]] = [
        {"performative": "open", "container_id": "me"},
        {
            "performative": "begin",
            "next_outgoing_id": 0,
            "incoming_window": 1,
            "outgoing_window": 2,
        },
        {"performative": "sasl-init", "mechanism": "PLAIN", "initial_response": b"\0a\0b"},
        {"performative": "transfer", "handle": 1, "body": b"x"},
        {"performative": "disposition", "role": True, "first": 0, "state": '{"$type": "accepted"}'},
        {
            "performative": "detach",
            "handle": 1,
            "detach.error": '{"$type": "error", "condition": "amqp:not-found"}',
        },
        {"performative": "close"},
    ]
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = [{name: row.get(name) for name in names} for row in rows]
    want = [
        amqp.encode(0, amqp.Open("me")),
        amqp.encode(0, amqp.Begin(None, 0, 1, 2)),
        amqp.encode(0, amqp.SaslInit("PLAIN", b"\0a\0b")),
        octets(amqp.Message(b"x"), handle=1),
        amqp.encode(0, amqp.Disposition(True, 0, state=amqp.Accepted())),
        amqp.encode(0, amqp.Detach(1, error=amqp.Error("amqp:not-found"))),
        amqp.encode(0, amqp.Close()),
    ]
    assert encode(columns) == (want, [None] * len(want))


def test_the_other_name_of_performative() -> None:
    want = amqp.encode(0, amqp.Close())
    assert encode([{"method": "close"}])[0] == [want]
    assert encode([{"method": "x", "performative": "close"}])[0] == [want]
    assert encode([{"performative": "close", "method": "x"}])[0] == [want]


# ---- frames ----


@pytest.mark.parametrize("frame_max", [512, 600, 1000])
@pytest.mark.parametrize(
    "transfer",
    [{}, {"delivery_id": 7, "delivery_tag": b"t"}, {"delivery_id": 300, "batchable": True}],
)
def test_splits(frame_max: int, transfer: dict[str, Any]) -> None:
    """Every size about the limits of one and two frames."""
    sizes = [*range(frame_max - 60, frame_max + 4), *range(2 * frame_max - 90, 2 * frame_max), 5000]
    rows = [{**transfer, "body": b"y" * n, "footer": '{"f": 1}'} for n in sizes]
    want = [
        octets(amqp.Message(b"y" * n, footer={S("f"): 1}), frame_max, **transfer) for n in sizes
    ]
    assert encode(rows, frame_max=frame_max) == (want, [None] * len(want))


def test_whole_messages() -> None:
    message = amqp.Message(b"x", durable=True).encode()
    assert only("message", message) == (octets(message), None)  # type: ignore[arg-type]
    result = only("message", message, body=b"other", message_format=5)
    assert result == (octets(message, message_format=5), None)  # type: ignore[arg-type]


def test_payloads_are_frames_of_their_own() -> None:
    """As level="frame" gives them: nothing is added, and `more` is what the row says."""
    for more in (True, False, None):
        row = {"handle": 3, "more": more, "payload": b"\xff" * 9}
        want = amqp.encode(0, amqp.Transfer(3, more=more), b"\xff" * 9)
        assert encode([row])[0] == [want]
    value, error = encode([{"payload": b"x" * 600}], frame_max=512)
    assert value == [None]
    assert error == ["transfer.frame_max: the limit does not hold a frame of 615 bytes"]


def test_more_is_set_as_needed() -> None:
    assert only("more", True, body=b"x") == (octets(amqp.Message(b"x")), None)


def test_absent_and_empty() -> None:
    header = pa.struct([("durable", pa.bool_()), ("ttl", pa.int64())])
    assert only("header", None, header)[0] == octets()
    assert only("header", {"durable": None}, header)[0] == octets(
        amqp.Message(header=amqp.Header())
    )
    assert only("header.durable", None, pa.bool_())[0] == octets()
    assert only("application_properties", "{}")[0] == octets(
        amqp.Message(application_properties={})
    )
    assert only("application_properties.k", None, pa.int64())[0] == octets()
    assert only("body", b"")[0] == octets(amqp.Message(b""))
    assert only("value", "null")[0] == octets(amqp.Message(value=None))
    assert only("body_kind", "value")[0] == octets(amqp.Message(value=None))
    assert only("value", "[[]]", body_kind="sequence")[0] == octets(amqp.Message(sequences=[[]]))
    assert only("value", "[]", body_kind="sequence")[0] == octets()


def test_sequences() -> None:
    want = octets(amqp.Message(sequences=[[1, 2], [], [None]]))
    assert only("value", "[[1, 2], [] , [null]]", body_kind="sequence") == (want, None)
    for type_ in (pa.list_(pa.list_(pa.int64())), pa.large_list(pa.list_view(pa.int64()))):
        result = only("value", [[1, 2], [], [None]], type_, body_kind="sequence")
        assert result == (want, None)


# ---- ids ----


@given(ids)
@settings(max_examples=200, deadline=None)
def test_ids(value: Any) -> None:
    for name in ("message_id", "correlation_id", "to", "reply_to"):
        want = octets(amqp.Message(**{name: value}))
        assert only(f"properties.{name}", id_text(value)) == (want, None)


def test_ids_by_type() -> None:
    for value, type_, want in (
        (5, pa.int8(), amqp.ULong(5)),
        (2**64 - 1, pa.uint64(), amqp.ULong(2**64 - 1)),
        (b"\xff", pa.binary(), b"\xff"),
        ("AMQP_UUID:00112233-4455-6677-8899-AABBCCDDEEFF", pa.string(),
         uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")),
    ):  # fmt: skip
        result = only("properties.message_id", value, type_)
        assert result == (octets(amqp.Message(message_id=want)), None)


# ---- Arrow types ----


def everywhere(array: Any) -> bytes:
    """One application property by its Arrow type: in a struct, in a map and as a column. All write
    the same."""
    struct = pa.StructArray.from_arrays([array], names=["h"])
    keyed = pa.MapArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array(["h"]), array)
    frames = set()
    for column, cells in (
        ("application_properties", struct),
        ("application_properties", keyed),
        ("application_properties.h", array),
        ("application_properties.h:long", array),
    ):
        value, error = only(column, cells)
        assert error is None
        frames.add(value)
    (value,) = frames
    assert value is not None
    return value


@pytest.mark.parametrize(
    ("value", "type_", "want"),
    [
        (-5, pa.int8(), amqp.Byte(-5)),
        (5, pa.uint8(), amqp.UByte(5)),
        (-500, pa.int16(), amqp.Short(-500)),
        (500, pa.uint16(), amqp.UShort(500)),
        (-5, pa.int32(), amqp.Int(-5)),
        (-(1 << 31), pa.int32(), amqp.Int(-(1 << 31))),
        (0, pa.uint32(), amqp.UInt(0)),
        (256, pa.uint32(), amqp.UInt(256)),
        (-128, pa.int64(), -128),
        (1 << 62, pa.int64(), 1 << 62),
        ((1 << 64) - 1, pa.uint64(), amqp.ULong((1 << 64) - 1)),
        (1.5, pa.float64(), 1.5),
        (1.5, pa.float32(), amqp.Float(1.5)),
        ("é", pa.string(), "é"),
        ("é" * 200, pa.string_view(), "é" * 200),
        (b"\xff", pa.binary(), b"\xff"),
        (b"\xff\0", pa.binary(2), b"\xff\0"),
        (True, pa.bool_(), True),
        (Decimal("-1.50"), pa.decimal128(5, 2), Decimal("-1.50")),
        (Decimal("1200"), pa.decimal128(5, -2), Decimal("12E2")),
        (Decimal("9" * 34), pa.decimal256(60, 0), Decimal("9" * 34)),
        (Decimal("7" + "0" * 50), pa.decimal256(60, 0), Decimal("7" + "0" * 50)),
        (EPOCH + timedelta(days=20000, microseconds=1999), pa.timestamp("us", "UTC"),
         EPOCH + timedelta(days=20000, milliseconds=1)),
        (EPOCH - timedelta(microseconds=1), pa.timestamp("ns"), EPOCH - timedelta(milliseconds=1)),
        (EPOCH - timedelta(seconds=5), pa.timestamp("s"), EPOCH - timedelta(seconds=5)),
        ([1, None], pa.list_(pa.int8()), [amqp.Byte(1), None]),
        ([], pa.large_list(pa.int8()), []),
        ([True, False], pa.list_(pa.bool_(), 2), [True, False]),
        ([("a", 1), ("b", None)], pa.map_(pa.string(), pa.int64()), {"a": 1, "b": None}),
        ([(5, b"x")], pa.map_(pa.int64(), pa.binary()), {5: b"x"}),
        ({"a": None, "b": {"c": [1]}}, None, {"b": {"c": [1]}}),
        (None, pa.int64(), None),
    ],
)  # fmt: skip
def test_types(value: Any, type_: Any, want: Any) -> None:
    array = pa.array([value], type_)
    if value is None:  # a null in a map is one; a null column is not there
        keyed = pa.MapArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array(["h"]), array)
        frame = only("application_properties", keyed)[0]
    else:
        frame = everywhere(array)
    assert frame == octets(amqp.Message(application_properties={"h": want}))
    if value is not None and not isinstance(value, str):  # (text would be JSON)
        assert only("value", array) == (octets(amqp.Message(value=want)), None)


def test_halves() -> None:
    np = pytest.importorskip("numpy")
    array = pa.array([np.float16(-1.5)])
    assert everywhere(array) == octets(amqp.Message(application_properties={"h": amqp.Float(-1.5)}))


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_decimals(data: Any) -> None:
    digits = data.draw(st.integers(-(10**38) + 1, 10**38 - 1) | st.integers(-999, 999))
    scale = data.draw(st.integers(-10, 38))
    value = (
        Decimal(digits).scaleb(-scale) if abs(digits) < 10**28 else Decimal(f"{digits}E{-scale}")
    )
    array = pa.array([value], pa.decimal128(38, scale))
    try:
        want = octets(amqp.Message(value=value))
    except EncodeError:
        assert (
            only("value", array)[1]
            == "amqp-value: a decimal128 holds 34 digits, and not every exponent"
        )
    else:
        assert only("value", array) == (want, None)


@given(st.from_regex(r"[+-]?([0-9]{1,40}(\.[0-9]{0,10})?|\.[0-9]{1,9})(E[+-]?[0-9]{1,5})?", fullmatch=True)  # noqa: E501
       | st.sampled_from(["NaN", "-NaN12", "sNaN", "Infinity", "-Infinity", "0E+9999", "0E-9999",
                          "1E6111", "1E6144", "1E6145", "9" * 33 + "E6112", "1E-6177", "10E-6177",
                          "-0", "NaN" + "1" * 34, "9" * 34, "9" * 34 + "0"]))  # fmt: skip
@settings(max_examples=300, deadline=None)
def test_decimals_of_text(written: str) -> None:
    frame, error = only("value", json.dumps({"$decimal": written}))
    try:
        want = octets(amqp.Message(value=Decimal(written)))
    except EncodeError:
        assert frame is None
        assert "34 digits" in (error or "")
    else:
        assert (frame, error) == (want, None)


TEXTS = (
    pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.uint32(), pa.large_string()),
)  # fmt: skip
OCTETS = (pa.binary(), pa.large_binary(), pa.binary_view())
INTEGERS = (
    *(pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64()),
    *(pa.uint64(), pa.dictionary(pa.int32(), pa.int16())),
)


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_types_of_columns(data: Any) -> None:
    """Any physical type for each column, cut out of a larger batch, with nulls everywhere."""
    count = data.draw(st.integers(0, 7))

    def column(values: Any) -> list[Any]:
        return data.draw(st.lists(values, min_size=count, max_size=count))

    words = st.none() | st.sampled_from(["", "a", "exactly12oct", "thirteen octs", "k" * 256])
    to, kinds, notes = (
        column(words),
        column(words),
        column(words.map(lambda w: w and f'{{"{w}":1}}')),
    )
    ttl, handles = column(st.none() | st.integers(0, 100)), column(st.none() | st.integers(0, 100))
    bodies, hidden = column(words), column(st.sampled_from([False, False, True]))
    gone = column(st.sampled_from([False, False, False, True]))
    draw = data.draw
    struct = pa.StructArray.from_arrays(
        [
            as_type(handles, draw(st.sampled_from(INTEGERS))),
            pa.StructArray.from_arrays(
                [as_type(ttl, draw(st.sampled_from(INTEGERS)))],
                names=["ttl"],
                mask=pa.array(hidden, pa.bool_()),
            ),
            pa.StructArray.from_arrays(
                [
                    as_type(to, draw(st.sampled_from(TEXTS))),
                    as_type([k and k.encode() for k in kinds], draw(st.sampled_from(OCTETS))),
                ],
                names=["to", "content_type"],
            ),
            as_type(notes, draw(st.sampled_from(TEXTS))),
            as_type([b and b.encode() for b in bodies], draw(st.sampled_from(OCTETS))),
            pa.nulls(count),
        ],
        names=["handle", "header", "properties", "message_annotations", "body", "footer"],
        mask=pa.array(gone, pa.bool_()),
    )
    want: list[bytes | None] = []
    for i in range(count):
        message = amqp.Message(
            None if bodies[i] is None else bodies[i].encode(),
            header=None if hidden[i] else amqp.Header(ttl=ttl[i]),
            properties=amqp.Properties(to=to[i], content_type=kinds[i]),
        )
        if notes[i]:
            annotations_object = json.loads(notes[i])
            message.message_annotations = {
                S(key): value for key, value in annotations_object.items()
            }
        bad = gone[i] or notes[i] == ""  # which is no JSON text
        want.append(None if bad else octets(message, handle=handles[i] or 0))
    assert encode(struct)[0] == want
    start = draw(st.integers(0, count))
    length = draw(st.integers(0, count - start))
    assert encode(struct.slice(start, length))[0] == want[start : start + length]
    table = pa.Table.from_batches([pa.RecordBatch.from_struct_array(struct)] * 2)
    if not any(gone):
        assert encode(table)[0] == want * 2


def test_text_bodies() -> None:
    for type_ in TEXTS:
        assert only("body", as_type(["é" * 200], type_))[0] == octets(
            amqp.Message(("é" * 200).encode())
        )


def test_frames_of_typed_fields() -> None:
    """A field takes what its type is made of, whatever the column's type."""
    for entry in TABLE["header"]["fields"]:
        value = {1: 1, 2: 9, 4: 9}[entry[1]]
        for type_ in INTEGERS:
            result = only(f"header.{entry[0]}", as_type([value], type_))
            assert result == (octets(amqp.Message(**{entry[0]: value})), None)
