"""The reference is right about bytes that were worked out by hand, and alone in its knowledge."""

from __future__ import annotations

import ast
import json
import math
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.paths import REPO, shared_dir
from tests.reference import (
    FACTS,
    MAX_DEPTH,
    TAGS,
    VERSIONS,
    Body,
    Header,
    Heartbeat,
    Malformed,
    Method,
    ProtocolHeader,
    decode_frame,
    decode_stream,
    decode_table,
    encode_frame,
    encode_table,
    f32,
    f64,
    from_plain,
    to_plain,
    to_python,
)
from tests.reference import jsonform as form
from tests.reference.facts import FACTS_FILE

HERE = Path(__file__).parent
VECTORS = REPO / "tests" / "vectors"


def rows(name: str) -> list[Any]:
    return [pytest.param(row, id=row["name"]) for row in form.load_lines(VECTORS / name)]


@pytest.mark.parametrize("version", VERSIONS)
def test_facts_are_those_of_the_shared_folder(version: str) -> None:
    shared = shared_dir()
    if shared is None:
        pytest.skip("no shared folder beside the repository")
    path = shared / "facts" / f"facts-amqp-{version}.json"
    theirs = json.loads(path.read_text(encoding="utf-8"))
    ours = FACTS_FILE.with_name(f"facts-{version}.json")
    assert json.loads(ours.read_text(encoding="utf-8")) == theirs


def test_facts_count() -> None:
    assert len(FACTS.methods) == len(FACTS.by_id) == 64
    assert {class_id: len(p) for class_id, p in FACTS.properties.items()} == {60: 14}
    assert FACTS.by_id[40, 51].name == "exchange.unbind-ok"
    counts = {name: (len(f.raw["classes"]), len(f.methods)) for name, f in VERSIONS.items()}
    assert counts == {"0-9-1": (7, 64), "0-9": (12, 101), "0-8": (12, 91)}


def test_the_reference_imports_nothing_of_the_package() -> None:
    for path in HERE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert not [n for n in names if n.split(".")[0] == "amqpcodec"], path


# ---- bytes worked out by hand -----------------------------------------------------------------

PUBLISH = Method(
    "basic.publish",
    {"reserved-1": 0, "exchange": b"x", "routing-key": b"ab", "mandatory": 0, "immediate": 1},
)
DECLARE = Method(
    "exchange.declare",
    {
        "reserved-1": 0,
        "exchange": b"e",
        "type": b"t",
        "passive": 0,
        "durable": 1,
        "auto-delete": 0,
        "internal": 1,
        "no-wait": 1,
        "arguments": [(b"k", ("t", 1)), (b"", ("s", -2))],
    },
)
BY_HAND = [
    (0, Heartbeat(), "08 0000 00000000 ce"),
    (0, ProtocolHeader(0, 0, 9, 1), "414d5150 00000901"),
    (3, Body(b"\xce"), "03 0003 00000001 ce ce"),
    (1, PUBLISH, "01 0001 0000000c 003c 0028 0000 01 78 02 6162 02 ce"),
    (
        1,
        DECLARE,
        "01 0001 00000017 0028 000a 0000 01 65 01 74 1a 00000008 01 6b 74 01 00 73 fffe ce",
    ),
    (1, Header(258, {}), "02 0001 0000000e 003c 0000 0000000000000102 0000 ce"),
    (
        1,
        Header(1, {"content-type": b"a", "delivery-mode": 2, "timestamp": 1, "reserved": b""}),
        "02 0001 0000001a 003c 0000 0000000000000001 9044 01 61 02 0000000000000001 00 ce",
    ),
    (
        1,
        Header(0, {}, 60, 9, (1, 0)),
        "02 0001 00000010 003c 0009 0000000000000000 0001 0000 ce",
    ),
]


@pytest.mark.parametrize(("channel", "frame", "octets"), BY_HAND)
def test_by_hand(channel: int, frame: Any, octets: str) -> None:
    data = bytes.fromhex(octets)
    assert encode_frame(channel, frame) == data
    assert decode_frame(data) == (len(data), channel, frame)
    assert decode_frame(b"\x00" * 5 + data, 5) == (len(data), channel, frame)
    for size in range(len(data)):
        assert decode_frame(data[:size]) is None
    assert list(decode_stream(data * 2)) == [(channel, frame)] * 2


def test_unused_bits_and_flag_words_are_kept() -> None:
    for octets in (
        "01 0001 00000009 003c 0028 0000 00 00 fd ce",
        "02 0001 00000014 003c 0000 0000000000000001 8001 0001 0000 01 61 ce",
    ):
        data = bytes.fromhex(octets)
        got = decode_frame(data)
        assert got is not None
        assert encode_frame(1, got[2]) == data


@pytest.mark.parametrize("row", rows("frames.jsonl") + rows("headers.jsonl"))
def test_frame_vectors(row: dict[str, Any]) -> None:
    data = bytes.fromhex(row["hex"])
    channel, frame = form.frame(row["decoded"])
    got = decode_frame(data)
    assert got == (len(data), channel, frame)
    assert encode_frame(channel, got[2]) == data
    assert (encode_frame(channel, frame) == data) is row.get("canonical", True)


def test_frame_vectors_hold_every_method_and_property() -> None:
    frames = [
        form.frame(row["decoded"])[1]
        for name in ("frames.jsonl", "headers.jsonl")
        for row in form.load_lines(VECTORS / name)
    ]
    assert {f.name for f in frames if isinstance(f, Method)} == set(FACTS.methods)
    properties = {p for f in frames if isinstance(f, Header) for p in f.properties}
    assert properties == {name for name, _ in FACTS.properties[60]}


@pytest.mark.parametrize("row", rows("tables.jsonl"))
def test_table_vectors(row: dict[str, Any]) -> None:
    data, table = bytes.fromhex(row["hex"]), form.table(row["decoded"])
    for dialect in row["dialects"]:
        assert decode_table(data, dialect) == table
        assert encode_table(table, dialect) == data


def test_table_vectors_hold_every_tag_in_both_dialects() -> None:
    for dialect in ("rabbitmq", "0-9-1"):
        tags = {
            item[1][0]
            for row in form.load_lines(VECTORS / "tables.jsonl")
            if dialect in row["dialects"]
            for item in row["decoded"]
        }
        assert tags == set(TAGS)


@pytest.mark.parametrize("row", rows("malformed.jsonl"))
def test_malformed_vectors(row: dict[str, Any]) -> None:
    with pytest.raises(Malformed) as info:
        decode_frame(bytes.fromhex(row["hex"]))
    error = info.value
    assert (error.kind, error.reply_code) == (row["error"], row["reply_code"])
    assert error.method == row["method"]
    field = None if error.field is None else error.field.replace("-", "_")
    assert field == row["field"]
    assert error.offset == row["offset"]


# ---- Python values -----------------------------------------------------------------------------

PLAIN: list[tuple[tuple[str, Any], Any]] = [
    (("t", 0), False),
    (("t", 2), True),
    (("b", -128), -128),
    (("U", -1), -1),
    (("l", -1), -1),
    (("D", (2, -314)), Decimal("-3.14")),
    (("D", (2, 0)), Decimal("0.00")),
    (("D", (255, 1)), Decimal("1E-255")),
    (f32(1.5), 1.5),
    (f64(-0.1), -0.1),
    (("S", b"\xc3\xbc"), "\xfc"),
    (("S", b"\xff"), b"\xff"),
    (("S", b"\xed\xa0\x80"), b"\xed\xa0\x80"),
    (("x", b"hi"), b"hi"),
    (("T", 1700000000), datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)),
    (("T", 253402300799), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
    (("T", 253402300800), 253402300800),
    (("V", None), None),
    (("A", [("V", None), ("I", 1)]), [None, 1]),
    (("F", [(b"a", ("I", 1)), (b"b", ("I", 2)), (b"a", ("I", 3))]), {"a": 3, "b": 2}),
]


@pytest.mark.parametrize(("tagged", "value"), PLAIN)
@pytest.mark.parametrize("dialect", ["rabbitmq", "0-9-1"])
def test_plain(tagged: Any, value: Any, dialect: str) -> None:
    got = to_plain(tagged, dialect)
    assert got == value
    assert type(got) is type(value)
    assert str(got) == str(value)


def test_plain_short_string_only_in_the_pdf_dialect() -> None:
    assert to_plain(("s", b"\xffa"), "0-9-1") == "\udcffa"
    assert to_plain(("s", -7), "rabbitmq") == -7


def test_last_duplicate_at_first_place() -> None:
    table = [(b"a", ("I", 1)), (b"b", ("I", 2)), (b"a", ("I", 3))]
    assert list(to_python("table", table).items()) == [("a", 3), ("b", 2)]


def test_python_values_of_arguments() -> None:
    assert to_python("shortstr", b"\xffa") == "\udcffa"
    assert to_python("longstr", b"\xff") == b"\xff"
    assert to_python("bit", 1) is True
    assert to_python("longlong", 2**64 - 1) == 2**64 - 1
    assert to_python("timestamp", 0) == datetime(1970, 1, 1, tzinfo=UTC)
    assert to_python("timestamp", 2**64 - 1) == 2**64 - 1


CHOSEN: list[tuple[Any, tuple[str, Any], tuple[str, Any]]] = [
    # value, tag and value as RabbitMQ, tag and value by the letter of the PDF
    (True, ("t", 1), ("t", 1)),
    (0, ("I", 0), ("I", 0)),
    (-(2**31), ("I", -(2**31)), ("I", -(2**31))),
    (2**31, ("l", 2**31), ("L", 2**31)),
    (-(2**31) - 1, ("l", -(2**31) - 1), ("L", -(2**31) - 1)),
    (2**63 - 1, ("l", 2**63 - 1), ("L", 2**63 - 1)),
    (1.5, f64(1.5), f64(1.5)),
    (Decimal("1.50"), ("D", (2, 150)), ("D", (2, 150))),
    (Decimal("-2E+3"), ("D", (0, -2000)), ("D", (0, -2000))),
    ("\xfc", ("S", b"\xc3\xbc"), ("S", b"\xc3\xbc")),
    (b"\xff", ("x", b"\xff"), ("S", b"\xff")),
    (None, ("V", None), ("V", None)),
    ([1, None], ("A", [("I", 1), ("V", None)]), ("A", [("I", 1), ("V", None)])),
    ({"k": {}}, ("F", [(b"k", ("F", []))]), ("F", [(b"k", ("F", []))])),
    (
        datetime(1970, 1, 1, 1, 0, 1, 999999, tzinfo=timezone(timedelta(hours=1))),
        ("T", 1),
        ("T", 1),
    ),
]


@pytest.mark.parametrize(("value", "rabbitmq", "pdf"), CHOSEN)
def test_tag_of_a_plain_value(value: Any, rabbitmq: Any, pdf: Any) -> None:
    assert from_plain(value, "rabbitmq") == rabbitmq
    assert from_plain(value, "0-9-1") == pdf


def test_ints_outside_int64() -> None:
    assert from_plain(2**64 - 1, "0-9-1") == ("l", 2**64 - 1)
    for value, dialect in ((2**63, "rabbitmq"), (2**64, "0-9-1"), (-(2**63) - 1, "0-9-1")):
        with pytest.raises(ValueError, match="no tag"):
            from_plain(value, dialect)


def test_nan_stays_a_nan() -> None:
    assert math.isnan(to_plain(("f", bytes.fromhex("7fa00001")), "rabbitmq"))
    table = bytes.fromhex("00000007 01 6b 66 7fa00001")
    assert encode_table(decode_table(table)) == table


def test_depth_ends() -> None:
    def nested(levels: int) -> bytes:
        octets = b"\x00\x00\x00\x00"
        for _ in range(levels - 1):
            octets = (len(octets) + 3).to_bytes(4, "big") + b"\x01kF" + octets
        return octets

    assert decode_table(nested(MAX_DEPTH))
    with pytest.raises(Malformed, match="DepthError"):
        decode_table(nested(MAX_DEPTH + 1))
