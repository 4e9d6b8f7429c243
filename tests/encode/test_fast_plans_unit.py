"""Blocks of rows at the edge of what a plan takes, and offsets that point elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from amqpcodec import batch
from tests.columns.arrow_structs import raw_schema
from tests.columns.batch_rows import pa
from tests.encode.test_corners_unit import (
    BASE,
    ROWS,
    Given,
    encode,
    error,
    loaded,
    many,
    one_by_one,
)
from tests.support.invalid_arrow import text_beyond

ONE = {"routing_key": ["k"], "body": [b"b"]}
TWO = {"routing_key": ["k"] * 2, "body": [b"b"] * 2}


@pytest.mark.parametrize("count", range(74, 82))
def test_as_many_headers_as_a_plan_takes_and_a_property(count: int) -> None:
    columns = {**BASE, "properties.priority": many(5)}
    columns |= {f"headers.h{n}": many("x") for n in range(count)}
    messages = encode(columns)
    assert messages == one_by_one(columns)
    assert None not in messages


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.binary(13)], ids=str)
def test_one_method_by_names_of_any_type(kind: Any) -> None:
    columns = {**BASE, "method": pa.array([b"basic.publish"] * ROWS, pa.binary()).cast(kind)}
    messages = encode(columns)
    assert messages == one_by_one(columns)
    assert None not in messages


def test_one_property_by_two_names() -> None:
    """0-9-1 calls reserved what 0-9 called cluster-id."""
    columns = {**BASE, "properties.reserved": many("a"), "properties.cluster_id": many(None)}
    assert encode(columns) == one_by_one(columns)


def test_a_property_that_a_class_has_not() -> None:
    protocol = loaded(
        '<field name="one" type="shortstr"/>',
        '<method name="publish" index="40" content="1"><field name="key" type="shortstr"/></method>'
        '</class><class name="file" handler="channel" index="70"><field name="two" type="octet"/>'
        '<method name="send" index="10" content="1"/>',
    )
    for name in ("basic.publish", "file.send"):
        for value in (5, None):
            columns = {
                "method": many(name),
                "body": many(b"b"),
                "properties.one": many(None, pa.string()),
                "properties.two": many(value, pa.uint8()),
            }
            messages = encode(columns, protocol=protocol)
            assert messages == one_by_one(columns, protocol=protocol)
            assert (None in messages) == (name == "basic.publish" and value is not None)


def test_an_argument_that_is_a_content() -> None:
    """Only 0-9 has them, and any protocol that is loaded."""
    protocol = loaded(
        "", '<method name="go" index="10"><field name="data" type="content"/></method>'
    )
    columns = {"method": many("basic.go"), "data": many(b"bytes")}
    messages = encode(columns, protocol=protocol)
    assert messages == one_by_one(columns, protocol=protocol)
    assert None not in messages


def test_a_header_of_more_bytes_than_a_plan_takes() -> None:
    values = pa.array([[b"x"], [bytes(1 << 24)], [b"y"]] + [[b"z"]] * 61)
    columns = {"routing_key": ["k"] * 64, "body": [b"b"] * 64, "headers.h": values}
    messages = encode(columns, frame_max=1 << 26)
    assert messages == one_by_one(columns, frame_max=1 << 26)
    assert [len(frame or b"") > 1 << 24 for frame in messages] == [False, True] + [False] * 62


def test_a_schema_whose_root_has_no_name() -> None:
    capsules = [pa.table(ONE).to_struct_array().combine_chunks().__arrow_c_array__() for _ in "123"]
    for pair in capsules[1:]:
        raw_schema(pair[0]).name = None
    messages = [pa.array(batch.encode(Given("__arrow_c_array__", pair))) for pair in capsules]
    assert messages[0] == messages[1] == messages[2]


# ---- offsets and indices ----

ELSEWHERE: dict[str, dict[str, Any]] = {
    "of an argument that the method has not": {**TWO, "queue": text_beyond()},
    "of names in a map": {
        **TWO,
        "properties.headers": pa.MapArray.from_arrays(
            pa.array([0, 1, 2], pa.int32()), text_beyond(), pa.array([1, 2])
        ),
    },
    "of a list's place in a dictionary": {
        **BASE,
        "headers.h": pa.DictionaryArray.from_arrays(
            pa.array([0, 9] * (ROWS // 2), pa.int16()), pa.array([[1]]), safe=False
        ),
    },
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_offsets_that_point_elsewhere(name: str) -> None:
    with pytest.raises(ValueError, match="outside"):
        encode(ELSEWHERE[name])


def test_symbols_of_1_0_that_lie_elsewhere() -> None:
    columns = {"performative": ["open"] * 2, "container_id": ["c"] * 2}
    with pytest.raises(ValueError, match="outside"):
        encode({**columns, "desired_capabilities": text_beyond()}, protocol="1.0")


# ---- JSON text ----


@pytest.mark.parametrize("text", ['{"$reference" "r"}', '{"$reference"', '{"$reference":5}'])
def test_a_reference_that_is_none(text: str) -> None:
    columns = {"method": ["message.transfer"], "arguments": [f'{{"body":{text}}}']}
    assert encode(columns, protocol="0-9") == [None]
    assert "JSON" in error(columns, protocol="0-9")


@pytest.mark.parametrize(
    ("text", "wire"),
    [("5", b"\x53\5"), ('"id"', b"\xa1\2id"), ('{"$binary":"aWQ="}', b"\xa0\2id")],
)
def test_ids_within_json_of_1_0(text: str, wire: bytes) -> None:
    """A number is a ulong there."""
    typed = f'{{"$type":"properties","message_id":{text}}}'
    arguments = f'{{"container_id":"c","properties":{{"k":{typed}}}}}'
    (frame,) = encode({"performative": ["open"], "arguments": [arguments]}, protocol="1.0")
    assert frame is not None
    assert b"\0\x53\x73" in frame
    assert wire in frame
