"""What batch.decode takes: bytes in any buffer, Arrow binary arrays of all shapes."""

from __future__ import annotations

import array
import ctypes
import gc
import mmap
import sys
import threading
from typing import Any

import pytest

from amqpcodec import DecodeError, batch, load_xml_spec, protocol
from amqpcodec import v0_9_1 as amqp
from tests.columns.arrow_structs import raw
from tests.columns.batch_rows import decode, pa, rows
from tests.paths import REPO
from tests.support import amqp091_wire as w

ACK = w.method_frame("basic.ack", 3, delivery_tag=9)
BEAT = w.HEARTBEAT
VALUES = [ACK, None, BEAT + ACK, b"", BEAT, ACK * 3, None]


def places(data: Any, **options: Any) -> list[tuple[int, int]]:
    return [(row["row"], row["offset"]) for row in rows(data, **options)]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda b: array.array("B", b)])
def test_buffers(kind: Any) -> None:
    assert rows(kind(ACK + BEAT)) == rows(ACK + BEAT)
    assert places(kind(ACK + BEAT)) == [(0, 0), (0, 21)]


def test_other_buffers() -> None:
    data = ACK + BEAT
    with mmap.mmap(-1, len(data)) as mapped:
        mapped.write(data)
        assert rows(mapped) == rows(data)
    assert rows(pa.py_buffer(data)) == rows(data)
    assert rows(memoryview(b"xx" + data)[2:]) == rows(data)
    with pytest.raises(BufferError):
        batch.decode(memoryview(data)[::2])


def test_no_octets() -> None:
    for data in (b"", pa.array([], pa.binary()), pa.array([None, b"", None], pa.binary())):
        assert decode(data).num_rows == 0
        assert decode(data, fields=["row"]).num_rows == 0
        assert decode(data, fields=["properties"]).num_rows == 0


@pytest.mark.parametrize("kind", ["binary", "large_binary"])
def test_arrow_values(kind: str) -> None:
    values = pa.array(VALUES, getattr(pa, kind)())
    assert places(values) == [(0, 0), (2, 0), (2, 8), (4, 0), (5, 0), (5, 21), (5, 42)]
    assert [row["frame"] for row in rows(values)] == [ACK, BEAT, ACK, BEAT, ACK, ACK, ACK]


@pytest.mark.parametrize("kind", ["binary", "large_binary"])
def test_slices(kind: str) -> None:
    values = pa.array(VALUES * 4, getattr(pa, kind)())
    for start in range(len(values) + 1):
        for length in (0, 1, 3, 9, len(values)):
            piece = values.slice(start, length)
            assert rows(piece) == rows(pa.array(piece.to_pylist(), getattr(pa, kind)()))


def test_slice_of_record_batch_column() -> None:
    table = pa.record_batch({"n": [1, 2, 3], "frame": pa.array([ACK, BEAT, ACK], pa.binary())})
    assert places(table.slice(1, 2).column("frame")) == [(0, 0), (1, 0)]


def test_nulls_may_have_octets() -> None:
    """The values of null slots are anything, by Arrow's format."""
    offsets = pa.py_buffer(array.array("i", [0, 21, 42, 50]).tobytes())
    valid = pa.py_buffer(bytes([0b101]))
    data = pa.py_buffer(ACK + b"\xff" * 21 + BEAT)
    values = pa.Array.from_buffers(pa.binary(), 3, [valid, offsets, data])
    assert places(values) == [(0, 0), (2, 0)]


def test_the_result_outlives_its_input() -> None:
    values = pa.array([ACK * 100, BEAT], pa.binary())
    expected = rows(values)
    result = batch.decode(values)
    writable = bytearray(ACK * 100)
    other = batch.decode(writable)
    del values
    writable[:] = b"\xff" * len(writable)
    filler = [bytearray(b"\xaa" * n) for n in range(1000, 3000)]
    assert pa.record_batch(result).column("frame").to_pylist() == [row["frame"] for row in expected]
    assert pa.record_batch(other).column("frame").to_pylist() == [ACK] * 100
    del filler


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (pa.array(["a"]), "not string"),
        (pa.array([1]), "format 'l'"),
        (pa.array([b"a"], pa.binary(1)), "format 'w:1'"),
        (pa.record_batch({"a": [b"a"]}), "struct"),
        (pa.table({"a": [b"a"]}), "struct"),
        ("text", "not str"),
        (5, "bytes-like"),
        (None, "bytes-like"),
    ],
)
def test_wrong_types(data: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        batch.decode(data)


class Given:
    """An object with capsules of our own making."""

    def __init__(self, *capsules: Any) -> None:
        self.capsules = capsules

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return self.capsules


def test_wrong_capsules() -> None:
    schema, data = pa.array([ACK]).__arrow_c_array__()
    for capsules in ((data, schema), (1, 2), (schema, schema), (None, data)):
        with pytest.raises(TypeError, match="capsules"):
            batch.decode(Given(*capsules))
    for capsules in ((), (schema,)):
        with pytest.raises((TypeError, ValueError, IndexError)):
            batch.decode(Given(*capsules))


@pytest.mark.parametrize("fields", [["arguments"], ["frame"], None])
def test_arrays_are_released(fields: list[str] | None) -> None:
    """With their capsules: results hold a copy, which nobody else writes to."""
    gc.collect()  # what other tests left
    before = pa.total_allocated_bytes()
    values = pa.array([ACK, None, BEAT] * 1000, pa.binary())
    exporter = Given(*values.__arrow_c_array__())
    del values
    result = batch.decode(exporter, fields=fields)
    record_batch = pa.record_batch(result)
    del exporter, result
    gc.collect()
    record_batch.validate(full=True)
    assert pa.total_allocated_bytes() == before
    if fields is None:
        assert record_batch.column("frame").to_pylist() == [ACK, BEAT] * 1000


def test_capsules_can_be_read_again() -> None:
    """Their array is not moved out, also where the frames are asked for."""
    exporter = Given(*pa.array([ACK], pa.binary()).__arrow_c_array__())
    assert places(exporter, fields=["row", "offset"]) == [(0, 0)]
    assert places(exporter, fields=["row", "offset"]) == [(0, 0)]
    assert places(exporter) == places(exporter) == [(0, 0)]


def address(data: bytes) -> int:
    return pa.py_buffer(data).address


@pytest.mark.parametrize("kind", [bytes, memoryview, lambda data: memoryview(data)[1:]])
def test_frames_borrow_bytes(kind: Any) -> None:
    data = (b"" if kind in (bytes, memoryview) else b"?") + (ACK + BEAT) * 50
    references = sys.getrefcount(data)
    result = batch.decode(kind(data), fields=["frame"])
    record_batch = pa.record_batch(result)
    assert record_batch.column(0).buffers()[2].address == address(data) + (data[0] == ord("?"))
    assert sys.getrefcount(data) == references + 1
    del result
    assert record_batch.column(0).to_pylist() == [ACK, BEAT] * 50
    assert sys.getrefcount(data) == references + 1
    del record_batch
    assert sys.getrefcount(data) == references


def test_bytes_are_not_kept_without_need() -> None:
    data = (ACK + BEAT) * 50
    references = sys.getrefcount(data)
    results = [batch.decode(data, fields=["arguments", "payload"]), batch.decode(b"")]
    results.append(batch.decode(data + b"\1", mode="DROPMALFORMED"))
    with pytest.raises(DecodeError):
        batch.decode(data + b"\1", mode="FAILFAST")
    assert sys.getrefcount(data) == references
    assert len(results) == 3


def test_what_may_change_is_copied() -> None:
    data = bytearray((ACK + BEAT) * 50)
    views = [data, memoryview(data), memoryview(data).toreadonly(), array.array("B", data)]
    results = [batch.decode(view) for view in views]
    del views
    data[:] = b"\xff" * len(data)
    for result in results:
        assert pa.record_batch(result).column("frame").to_pylist() == [ACK, BEAT] * 50


@pytest.mark.parametrize("before", [0, 1, 127, 128, 129, 1000])
def test_frames_that_do_not_follow_one_another(before: int) -> None:
    """Borrowed as far as they do, then copied."""
    octets = [ACK] * before + [b"\xff" * 9] + [BEAT, ACK] * 200
    offsets = [0]
    for value in octets:
        offsets.append(offsets[-1] + len(value))
    valid = bytearray(b"\xff" * (len(octets) // 8 + 1))
    valid[before // 8] &= ~(1 << before % 8)
    buffers = [bytes(valid), array.array("i", offsets).tobytes(), b"".join(octets)]
    values = pa.Array.from_buffers(pa.binary(), len(octets), [pa.py_buffer(b) for b in buffers])
    record_batch = decode(values)
    assert record_batch.column("frame").to_pylist() == octets[:before] + octets[before + 1 :]
    bad = ACK * before + w.frame(1, 1, b"") + (BEAT + ACK) * 200
    record_batch = decode(bad, mode="DROPMALFORMED")
    assert record_batch.column("frame").to_pylist() == octets[:before] + octets[before + 1 :]


def test_borrowed_octets_released_without_the_gil() -> None:
    data = (ACK + BEAT) * 50
    references = sys.getrefcount(data)
    _, capsule = batch.decode(data).__arrow_c_array__()
    assert sys.getrefcount(data) == references + 1
    release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(raw(capsule).release)
    thread = threading.Thread(target=release, args=[ctypes.addressof(raw(capsule))])
    thread.start()
    thread.join()
    assert sys.getrefcount(data) == references


def test_a_moved_array_is_refused() -> None:
    capsules = pa.array([ACK], pa.binary()).__arrow_c_array__()
    pa.Array._import_from_c_capsule(*capsules)
    with pytest.raises(ValueError, match="released"):
        batch.decode(Given(*capsules))


@pytest.mark.parametrize(
    ("field", "value"), [("length", -1), ("offset", -1), ("n_buffers", 2), ("n_children", 1)]
)
def test_arrays_of_no_sense(field: str, value: int) -> None:
    schema, data = pa.array([ACK, BEAT], pa.binary()).__arrow_c_array__()
    was = getattr(raw(data), field)
    setattr(raw(data), field, value)
    with pytest.raises(ValueError, match="shape"):
        batch.decode(Given(schema, data))
    setattr(raw(data), field, was)
    assert len(batch.decode(Given(schema, data))) == 2


@pytest.mark.parametrize("offsets", [[0, 29, 21], [0, -1, 29], [-5, 21, 29], [0, 30, 29]])
@pytest.mark.parametrize("size", ["i", "q"])
def test_offsets_that_go_backward(offsets: list[int], size: str) -> None:
    kind = pa.binary() if size == "i" else pa.large_binary()
    buffers = [None, pa.py_buffer(array.array(size, offsets).tobytes()), pa.py_buffer(ACK + BEAT)]
    with pytest.raises(ValueError, match="offsets"):
        batch.decode(pa.Array.from_buffers(kind, 2, buffers))


# ---- protocols ----


def test_protocols() -> None:
    expected = rows(ACK)
    for argument in ("0-9-1", amqp, protocol("0-9-1"), amqp.PROTOCOL):
        assert rows(ACK, protocol=argument) == expected
    with pytest.raises(ValueError, match="no protocol"):
        batch.decode(ACK, protocol="0-10")
    with pytest.raises(TypeError, match="protocol"):
        batch.decode(ACK, protocol=91)


def test_protocol_loaded_at_run_time() -> None:
    pytest.importorskip("lxml")
    loaded = load_xml_spec(REPO / "spec" / "amqp0-9-1.xml")
    data = ACK + w.header_frame(content_type="a", timestamp=5, headers={"n": 1}) + BEAT
    assert rows(data, protocol=loaded) == rows(data)
    assert pa.schema(batch.schema(loaded)).equals(pa.schema(batch.schema()))
