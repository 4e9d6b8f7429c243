"""Columns of AMQP 1.0 whose types or texts are not those of a field."""

from __future__ import annotations

from typing import Any

import pytest

from amqpcodec import v1_0 as amqp
from tests.columns.batch_rows import pa
from tests.encode.encode_values import only

OPEN = {"protocol": "1.0", "performative": "open", "container_id": "c"}


@pytest.mark.parametrize(
    ("value", "kind", "what"),
    [
        (5, None, "int64"),
        ([b"a"], None, "symbol"),
        (["a", None], None, "a symbol in a list is null"),
        (["é", "a", "b"], None, "ASCII"),
        ([5, 6], None, "int64"),
    ],
)
def test_several_symbols(value: Any, kind: Any, what: str) -> None:
    frame, error = only("desired_capabilities", value, kind, **OPEN)
    if error is None:
        assert frame == amqp.encode(0, amqp.Open("c", desired_capabilities=["a"]))
    else:
        assert what in error


def test_a_null_in_a_dictionary_of_symbols() -> None:
    values = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(["a", None]))
    column = pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), values)
    frame, error = only("desired_capabilities", column, **OPEN)
    assert frame is None
    assert error is not None
    assert "a symbol in a list is null" in error


@pytest.mark.parametrize("value", [5, b"{}", {"condition": "a"}])
def test_an_error_is_json_text(value: Any) -> None:
    frame, error = only("close.error", value, protocol="1.0", performative="close")
    assert frame is None
    assert error is not None
    assert "error" in error


MESSAGE = {"protocol": "1.0", "body": b"b"}


def test_times_as_numbers() -> None:
    for kind in (pa.int64(), pa.uint64(), pa.int32()):
        frame, error = only("properties.creation_time", 1_700_000, kind, **MESSAGE)
        assert error is None
        assert frame is not None
        assert b"\x83" + (1_700_000).to_bytes(8, "big") in frame
    _, error = only("properties.creation_time", 2**63, pa.uint64(), **MESSAGE)
    assert error is not None
    assert "64 bits of milliseconds" in error


@pytest.mark.parametrize("name", ["header", "properties"])
def test_sections_of_nulls(name: str) -> None:
    frame, error = only(name, pa.nulls(1), **MESSAGE)
    assert error is None
    assert frame is not None
    assert b"\0\x53\x70" not in frame
    assert b"\0\x53\x73" not in frame
