"""Headers and arguments by their names, where the wire has another type than was asked for."""

from __future__ import annotations

import io
import struct
from typing import Any

import pytest

import amqpcodec
from amqpcodec import v0_8, v0_9, v0_9_1
from tests.columns.batch_rows import rows
from tests.support import amqp091_wire as w

TAGS: dict[str, bytes] = {
    "s as a short text or a short": b"s\x02ab",
    "l that is negative, or large": b"l" + b"\xff" * 8,
    "L that is negative, or large": b"L" + b"\xff" * 8,
    "S": b"S\0\0\0\2ab",
    "x": b"x\0\0\0\2ab",
    "U": b"U\x01\x02",
    "I": b"I\xff\xff\xff\xff",
    "i": b"i\xff\xff\xff\xff",
    "b": b"b\xff",
    "B": b"B\xff",
    "u": b"u\xff\xff",
    "d": b"d" + struct.pack(">d", 1.5),
    "f": b"f" + struct.pack(">f", 1.5),
    "T": b"T" + struct.pack(">Q", 1_700_000_000),
    "T beyond all": b"T" + b"\xff" * 8,
    "t": b"t\1",
    "V": b"V",
}
TYPES = ("string", "binary", "long", "double", "boolean", "timestamp", "json")


@pytest.mark.parametrize("dialect", ["rabbitmq", "0-9-1"])
@pytest.mark.parametrize("name", TAGS)
def test_a_header_as_any_type(name: str, dialect: str) -> None:
    """The value, where it is one of that type, or null; and the same through objects."""
    payload = b"\0\x3c\0\0" + bytes(8) + b"\x20\0" + w.table(("k", TAGS[name]))
    frame = w.frame(2, 1, payload)
    (row,) = rows(
        frame, dialect=dialect, fields=[f"headers.k:{kind}" for kind in TYPES] + ["error"]
    )
    try:
        value = v0_9_1.decode(frame, dialect=dialect)[2].properties.headers["k"]
    except amqpcodec.DecodeError:
        assert row["error"]
        return
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        assert f"{int(value)} does not fit the column" in row["error"]
    else:
        assert row["error"] is None
    expected: dict[str, Any] = dict.fromkeys(TYPES)
    if isinstance(value, bool):
        expected["boolean"] = value
    elif isinstance(value, int) and -(2**63) <= value < 2**63:
        expected["long"] = int(value)
    for kind in ("boolean", "long"):
        assert row[f"headers.k:{kind}"] == expected[kind], kind
    if isinstance(value, str):
        assert row["headers.k:string"] == value


def test_arguments_of_all_widths_in_another_protocol() -> None:
    fields = [("a", "longlong", 8), ("b", "octet", 1), ("c", "short", 2), ("d", "bit", 1)]
    fields += [("e", "long", 4), ("f", "timestamp", 8)]
    inside = "".join(f'<field name="{name}" type="{kind}"/>' for name, kind, _ in fields)
    text = f"""<amqp major="0" minor="9" revision="1" port="5672">
        <class name="basic" handler="channel" index="60">
        <method name="go" index="10">{inside}</method></class></amqp>"""
    module = amqpcodec.load_xml_spec(io.BytesIO(text.encode()))
    names = [name for name, *_ in fields]
    good = module.encode(1, module.Basic.Go(1, 2, 3, True, 5, 6))
    (row,) = rows(good, protocol=module.PROTOCOL, fields=[*names[:5], "error"])
    assert list(row.values()) == [1, 2, 3, True, 5, None]
    for which, field_name in ((0, "a"), (5, "f")):
        values: list[Any] = [1, 2, 3, True, 5, 6]
        values[which] = 2**64 - 1
        bad = module.encode(1, module.Basic.Go(*values))
        for requested_columns in (names, [names[which]]):
            (row,) = rows(
                bad, protocol=module.PROTOCOL, fields=[*requested_columns, "error", "error_offset"]
            )
            assert row[field_name] is None
            assert f"basic.go.{field_name}" in row["error"]
            assert row["error_offset"] == 11 + (0 if which == 0 else 8 + 1 + 2 + 1 + 4)


@pytest.mark.parametrize("module", [v0_8, v0_9, v0_9_1])
def test_arguments_with_the_name_of_their_method(module: Any) -> None:
    data = module.encode(1, module.Queue.Declare(queue="q"))
    data += module.encode(1, module.Basic.Consume(queue="r", consumer_tag="t"))
    frame_rows = rows(
        data,
        protocol=module.PROTOCOL,
        fields=["queue", "queue.declare.queue", "basic.consume.consumer_tag", "error"],
    )
    assert [list(row.values()) for row in frame_rows] == [
        ["q", "q", None, None],
        ["r", None, "t", None],
    ]
