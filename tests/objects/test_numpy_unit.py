"""Scalars of NumPy as values: in tables, arguments and properties of both families."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest

import amqpcodec
from amqpcodec import types, v0_8, v0_9_1, v1_0

np = pytest.importorskip("numpy")

SECOND = datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
#: Scalar -> typed value of a table of 0-9-1, typed value of 1.0.
SCALARS: dict[str, tuple[Any, object, object]] = {
    "int8": (np.int8(-3), types.Int32(-3), v1_0.Byte(-3)),
    "uint8": (np.uint8(200), types.Int32(200), v1_0.UByte(200)),
    "int16": (np.int16(-300), types.Int32(-300), v1_0.Short(-300)),
    "uint16": (np.uint16(60000), types.Int32(60000), v1_0.UShort(60000)),
    "int32": (np.int32(5), types.Int32(5), v1_0.Int(5)),
    "uint32": (np.uint32(2**32 - 1), types.Int64(2**32 - 1), v1_0.UInt(2**32 - 1)),
    "int64": (np.int64(2**40), types.Int64(2**40), v1_0.Long(2**40)),
    "uint64": (np.uint64(7), types.Int32(7), v1_0.ULong(7)),
    "float16": (np.float16(1.5), types.Float(1.5), v1_0.Float(1.5)),
    "float32": (np.float32(0.1), types.Float(np.float32(0.1)), v1_0.Float(np.float32(0.1))),
    "float64": (np.float64(0.1), types.Double(0.1), v1_0.Double(0.1)),
    "bool": (np.bool_(True), True, True),
    "str": (np.str_("text"), types.LongString("text"), "text"),
    "bytes": (np.bytes_(b"\0bytes"), types.ByteArray(b"\0bytes"), b"\0bytes"),
    "seconds": (
        np.datetime64("2024-01-02T03:04:05", "s"),
        types.Timestamp(SECOND.timestamp()),
        v1_0.Timestamp(SECOND.timestamp() * 1000),
    ),
    "nanoseconds": (
        np.datetime64("2024-01-02T03:04:05.123456789", "ns"),
        types.Timestamp(SECOND.timestamp()),
        v1_0.Timestamp(SECOND.timestamp() * 1000 + 123),
    ),
    "days": (np.datetime64("1970-01-02"), types.Timestamp(86400), v1_0.Timestamp(86400000)),
    "months": (
        np.datetime64("1970-02"),
        types.Timestamp(31 * 86400),
        v1_0.Timestamp(31 * 86400000),
    ),
    "far": (
        np.datetime64(1_700_000_000_000, "s"),
        types.Timestamp(1_700_000_000_000),
        v1_0.Timestamp(1_700_000_000_000_000),
    ),
}


def old_headers(headers: dict[str, Any], **options: Any) -> Any:
    frame = v0_9_1.Header(0, v0_9_1.Basic.Properties(headers=headers))
    return v0_9_1.decode(v0_9_1.encode(1, frame), **options)[2].properties.headers


@pytest.mark.parametrize("name", SCALARS)
def test_values_of_tables(name: str) -> None:
    scalar, old, _ = SCALARS[name]
    [back, [inner], nested] = old_headers(
        {"k": scalar, "l": [scalar], "t": {"k": scalar}}, tables="typed"
    ).values()
    assert (type(back), back) == (type(old), old)
    assert inner == nested["k"] == old


@pytest.mark.parametrize("name", SCALARS)
def test_values_of_1_0(name: str) -> None:
    scalar, _, new = SCALARS[name]
    back, _ = v1_0.decode_value(v1_0.encode_value([scalar, {"k": scalar}]), types="typed")
    assert (type(back[0]), back[0]) == (type(new), new)
    assert back[1] == {"k": new}


def test_arguments_and_properties() -> None:
    consume = v0_9_1.Basic.Consume(
        queue=np.str_("q"), no_ack=np.bool_(True), arguments={"x": np.int64(1)}
    )
    assert v0_9_1.decode(v0_9_1.encode(np.uint16(3), consume)) == (
        v0_9_1.decode(
            v0_9_1.encode(3, v0_9_1.Basic.Consume(queue="q", no_ack=True, arguments={"x": 1}))
        )
    )
    qos = v0_9_1.Basic.Qos(prefetch_count=np.int32(7), global_=np.bool_(False))
    assert v0_9_1.decode(v0_9_1.encode(1, qos))[2] == v0_9_1.Basic.Qos(0, 7, False)
    properties = v0_9_1.Basic.Properties(
        priority=np.uint8(3), timestamp=np.datetime64(SECOND.replace(tzinfo=None), "us")
    )
    back = v0_9_1.decode(v0_9_1.encode(1, v0_9_1.Header(np.int64(5), properties)))[2]
    assert back.properties.timestamp == SECOND
    assert (back.body_size, back.properties.priority) == (5, 3)
    tables = v0_8.Basic.Properties(headers={"k": np.int16(5)})
    assert v0_8.decode(v0_8.encode(1, v0_8.Header(0, tables)))[2].properties.headers == {"k": 5}


def test_fields_of_1_0() -> None:
    message = v1_0.Message(
        b"x",
        durable=np.bool_(True),
        priority=np.uint8(3),
        creation_time=np.datetime64(SECOND.replace(tzinfo=None), "ms"),
        application_properties={"k": np.int32(5)},
    )
    back = v1_0.Message.decode(message.encode())
    assert back.header == v1_0.Header(durable=True, priority=3)
    assert back.properties.creation_time == SECOND
    attach = v1_0.Attach(np.str_("link"), np.uint32(3), np.bool_(True))
    decoded = v1_0.decode(v1_0.encode(0, attach))
    assert decoded is not None
    assert (decoded[2].name, decoded[2].handle, decoded[2].role) == ("link", 3, True)
    array = v1_0.Array("float", [np.float32(1.5), np.float64(2.5)])
    assert v1_0.decode_value(v1_0.encode_value(array))[0].items == [1.5, 2.5]
    flags = v1_0.Array("boolean", [np.bool_(True), False])
    assert v1_0.decode_value(v1_0.encode_value(flags))[0].items == [True, False]


@pytest.mark.parametrize("value", [np.datetime64("NaT"), np.complex64(1), np.arange(3)])
def test_what_no_value_stands_for(value: Any) -> None:
    with pytest.raises(amqpcodec.EncodeError, match="cannot hold"):
        old_headers({"k": value})
    with pytest.raises(amqpcodec.EncodeError, match="stands for"):
        v1_0.encode_value(value)


def test_times_that_the_type_cannot_hold() -> None:
    with pytest.raises(amqpcodec.EncodeError, match="from 1970 on"):
        old_headers({"k": np.datetime64("1969-12-31T23:59:59")})
    early = v1_0.encode_value(np.datetime64("1969-12-31T23:59:59"))
    assert v1_0.decode_value(early, types="typed")[0] == v1_0.Timestamp(-1000)
    with pytest.raises(amqpcodec.EncodeError):
        v1_0.encode_value(np.datetime64(2**62, "s"))


def test_numpy_is_not_imported() -> None:
    script = (
        "import sys, amqpcodec; from amqpcodec import v0_9_1 as a, v1_0 as v, batch\n"
        "try: a.encode(1, a.Basic.Qos(prefetch_count=object()))\n"
        "except amqpcodec.EncodeError: pass\n"
        "print('numpy' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
