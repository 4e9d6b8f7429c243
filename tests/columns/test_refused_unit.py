"""What batch.decode refuses: keys, capsules and streams that are none, and far too many columns."""

from __future__ import annotations

import array
import ctypes
import struct
from collections.abc import Callable
from typing import Any

import pytest

from amqpcodec import _columns, batch
from amqpcodec import v0_9_1 as amqp
from tests.columns.arrow_structs import address, raw
from tests.columns.batch_rows import pa
from tests.support import amqp091_wire as w

ACK = w.method_frame("basic.ack")


def grouped(values: Any, groups: Any) -> Any:
    return _columns.decode_columns(
        amqp.PROTOCOL, values, None, "PERMISSIVE", "rabbitmq", level="message", groups=groups
    )


@pytest.mark.parametrize("kind", [pa.binary(), pa.binary_view()])
def test_keys_are_one_for_each_value(kind: Any) -> None:
    values = pa.array([ACK] * 3, kind)
    assert len(grouped(values, array.array("i", [0, 1, 0]))) == 3
    for count in (0, 2, 4):
        with pytest.raises(ValueError, match=f"3 values have {count} keys"):
            grouped(values, array.array("i", [0] * count))
    for wrong in (-1, 3, 2**31 - 1):
        with pytest.raises(ValueError, match=f"key {wrong} of value 1"):
            grouped(values, array.array("i", [0, wrong, 0]))


class Given:
    """Capsules that one has."""

    def __init__(self, name: str, capsules: Any) -> None:
        setattr(self, name, lambda requested_schema=None: capsules)


def test_capsules_of_another_kind() -> None:
    schema, values = pa.array([ACK], pa.binary_view()).__arrow_c_array__()
    for capsules in ((schema, schema), (schema, None), (values, values)):
        with pytest.raises((TypeError, ValueError)):
            batch.decode(Given("__arrow_c_array__", capsules))
    for capsule in (schema, None, "text"):
        with pytest.raises(TypeError, match="arrow_array_stream"):
            batch.decode(Given("__arrow_c_stream__", capsule))


def test_a_stream_that_was_read_already() -> None:
    chunks = pa.chunked_array([pa.array([ACK], pa.binary())])
    capsule = chunks.__arrow_c_stream__()
    pa.ChunkedArray._import_from_c_capsule(capsule)
    with pytest.raises(ValueError, match="released already"):
        batch.decode(Given("__arrow_c_stream__", capsule))


CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
TEXT = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
NAMES = ("get_schema", "get_next", "get_last_error", "release", "private_data")


class RawStream(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in NAMES]


GIVEN = {
    batch.decode: pa.chunked_array([pa.array([ACK], pa.binary())]),
    batch.encode: pa.table({"routing_key": ["k"], "body": [b"b"]}),
}


def broken(chunks: Any, name: str, text: bytes | None) -> tuple[Any, list[Any]]:
    """A stream one of whose functions fails; and what has to live as long."""
    capsule = chunks.__arrow_c_stream__()
    stream = RawStream.from_address(address(capsule, b"arrow_array_stream"))
    buffer = ctypes.create_string_buffer(text) if text is not None else None
    fails = CALLBACK(lambda *_: 5)
    tells = TEXT(lambda _: None if buffer is None else ctypes.addressof(buffer))
    setattr(stream, name, ctypes.cast(fails, ctypes.c_void_p).value)
    stream.get_last_error = ctypes.cast(tells, ctypes.c_void_p).value
    return capsule, [fails, tells, buffer]


@pytest.mark.parametrize("read", GIVEN)
@pytest.mark.parametrize("name", ["get_schema", "get_next"])
@pytest.mark.parametrize(
    ("text", "message"), [(b"no more", "no more"), (None, "error 5"), (b"\xff", "\ufffd")]
)
def test_a_stream_that_fails(
    read: Callable[[Any], Any], name: str, text: bytes | None, message: str
) -> None:
    capsule, owner = broken(GIVEN[read], name, text)
    with pytest.raises(ValueError, match=f"stream failed: {message}"):
        read(Given("__arrow_c_stream__", capsule))
    del owner


def changed_offsets(values: Any, *offsets: int) -> Any:
    """The array with other offsets, which only C can see."""
    capsules = values.__arrow_c_array__()
    struct.pack_into(
        f"<{len(offsets)}i",
        (ctypes.c_char * (4 * len(offsets))).from_address(raw(capsules[1]).buffers[1]),
        0,
        *offsets,
    )
    return Given("__arrow_c_array__", capsules)


def test_offsets_that_are_none() -> None:
    size = len(ACK)
    with pytest.raises(ValueError, match="negative"):
        batch.decode(changed_offsets(pa.array([ACK] * 2, pa.binary()), -1, size, 2 * size))
    for level in ("frame", "message"):
        for offsets in ((0, 2 * size + 1, 2 * size), (size, 0, 2 * size), (0, -1, 2 * size)):
            lie = changed_offsets(pa.array([ACK] * 2, pa.binary()), *offsets)
            with pytest.raises(ValueError, match="offsets"):
                batch.decode(lie, level=level)


@pytest.mark.parametrize("size", [-1, -(1 << 31)])
def test_views_of_a_negative_size(size: int) -> None:
    capsules = pa.array([ACK], pa.binary_view()).__arrow_c_array__()
    views = (ctypes.c_int32 * 4).from_address(raw(capsules[1]).buffers[1])
    views[0] = size
    with pytest.raises(ValueError, match="array"):
        batch.decode(Given("__arrow_c_array__", capsules))


def test_more_columns_than_there_may_be() -> None:
    names = [f"headers.h{n}" for n in range(1 << 15)]
    with pytest.raises(ValueError, match="32768 arguments and headers are too many"):
        batch.decode(ACK, fields=names)
    assert len(batch.decode(ACK, fields=names[:100])) == 1


@pytest.mark.parametrize("level", ["frame", "message"])
@pytest.mark.parametrize("protocol", ["0-9-1", "1.0"])
def test_an_unknown_column_is_told_with_those_that_there_are(protocol: str, level: str) -> None:
    with pytest.raises(ValueError, match="no column 'nonsense'") as caught:
        batch.schema(protocol, level=level, fields=["nonsense"])
    assert "'error'" in str(caught.value) or "error" in str(caught.value)
    sections = "application properties" in str(caught.value)
    assert sections == (protocol == "1.0" and level == "message")
