"""Several threads give what one gives: rows, order, errors and warnings."""

from __future__ import annotations

import gzip
import io
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import capture
from tests.paths import shared_dir
from tests.support import capture_variants as variants
from tests.support import mangle
from tests.support import recording as make
from tests.support.capture_variants import DEMO, VARIANTS

pa = pytest.importorskip("pyarrow")

PARTS = variants.parts()


def rows(reader: capture.Reader, batches: Any = None) -> Any:
    """A table of one chunk. batches: those that are left of the reader."""
    record_batches = [pa.record_batch(batch) for batch in (reader if batches is None else batches)]
    return pa.Table.from_batches(record_batches, pa.schema(reader.schema)).combine_chunks()


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("amqpcodec")]


def recordings() -> list[Path]:
    shared = shared_dir()
    paths = sorted(shared.glob("captures/*.pcap*.gz")) if shared else []
    return [DEMO, *(path for path in paths if "bench" not in path.name)]


@pytest.mark.parametrize("level", ["frame", "message"])
@pytest.mark.parametrize("path", recordings(), ids=lambda path: path.name)
def test_rows_of_recordings(path: Path, level: str) -> None:
    one = capture.read(path, level=level)
    expected = rows(one)
    for workers, batch_rows in ((2, 100), (4, capture.BATCH_ROWS)):
        several = capture.read(path, level=level, workers=workers, batch_rows=batch_rows)
        assert rows(several).equals(expected)
        assert several.stats() == one.stats()
    assert threads() == []


class Watched(io.BytesIO):
    """A file that notes which threads read it."""

    def __init__(self, octets: bytes) -> None:
        super().__init__(octets)
        self.threads: set[str] = set()

    def read(self, size: int | None = -1) -> bytes:
        self.threads.add(threading.current_thread().name)
        return super().read(size)


def test_a_thread_of_its_own_decompresses() -> None:
    here = threading.current_thread().name
    for workers in (1, 2):
        file = Watched(DEMO.read_bytes())
        rows(capture.read(file, workers=workers))
        assert bool(file.threads - {here}) is (workers > 1)


@pytest.mark.parametrize("order", ["packets", "none"])
@pytest.mark.parametrize("kind", VARIANTS)
def test_rows_of_mangled_captures(kind: str, order: str) -> None:
    octets = VARIANTS[kind]()
    for level in ("frame", "message"):
        for batch_rows in (7, 5000):
            options: dict[str, Any] = {"level": level, "order": order, "batch_rows": batch_rows}
            one = capture.read(io.BytesIO(octets), **options)
            several = capture.read(io.BytesIO(octets), workers=3, **options)
            assert rows(several).equals(rows(one))
            assert several.stats() == one.stats()


@pytest.mark.parametrize("step", [1 << 10, 7000, 1 << 16])
def test_ranges(tmp_path: Path, step: int) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(gzip.decompress(DEMO.read_bytes()))
    expected = rows(capture.read(path, order="none"))
    tables, state = [], None
    for stop in [*range(step, path.stat().st_size, step), None]:
        reader = capture.Reader(path, order="none", workers=2, batch_rows=50)
        if state is not None:
            reader.resume(state)
        tables.append(rows(reader, reader.read(stop)))
        if stop is not None:
            state = reader.state()
    assert pa.concat_tables(tables).combine_chunks().equals(expected)


def test_chains_and_their_warning(tmp_path: Path) -> None:
    items = mangle.records(PARTS)
    third = len(items) // 3
    paths = [tmp_path / f"{i}.pcap" for i in range(3)]
    for i, path in enumerate(paths):
        path.write_bytes(make.pcap(items[i * third : (i + 1) * third if i < 2 else None]))
    alone = tmp_path / "alone.pcap"
    alone.write_bytes(make.pcap(items[third : 2 * third]))
    for options in ({"files": "rotation"}, {"files": "separate"}, {}):
        tables, messages = [], []
        for workers in (1, 3):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                sources = paths if options else [*paths, alone]
                tables.append(
                    rows(capture.read(sources, workers=workers, batch_rows=99, **options))
                )
            messages.append([str(warning.message) for warning in caught])
        assert tables[0].equals(tables[1])
        assert messages[0] == messages[1]
        assert bool(messages[0]) is not (options.get("files") == "rotation")


class Failing(io.BytesIO):
    """A file whose reading fails after some bytes."""

    def readinto(self, room: Any) -> int:
        if self.tell() > 20_000:
            raise OSError("the disk is gone")
        return super().readinto(memoryview(room)[:5000])

    def read(self, size: int | None = -1) -> bytes:
        return super().read(5000 if size is None or size < 0 else min(size, 5000))


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_errors_come_after_the_rows_before_them(workers: int) -> None:
    octets = make.pcap(mangle.records(PARTS))
    reader = capture.read(Failing(octets), workers=workers, batch_rows=10, order="none")
    batches: list[Any] = []
    with pytest.raises(OSError, match="the disk is gone"):
        batches.extend(reader)
    table = rows(reader, batches)
    assert table.num_rows > 50
    expected = rows(capture.read(io.BytesIO(octets), order="none"))
    assert table.equals(expected.slice(0, table.num_rows))
    assert threads() == []


def test_no_capture() -> None:
    with pytest.raises(capture.CaptureError, match="neither pcap nor pcapng"):
        list(capture.read(io.BytesIO(b"x" * 99), workers=2))


def test_closed_early_and_read_on() -> None:
    octets = make.pcap(mangle.records(PARTS))
    expected = rows(capture.read(io.BytesIO(octets)))
    reader = capture.Reader(io.BytesIO(octets), workers=3, batch_rows=20)
    earlier_batches: list[Any] = []
    for count in (1, 0, 3, 2):
        batches = reader.read()
        earlier_batches += [next(batches) for _ in range(count)]
        batches.close()  # type: ignore[attr-defined]
        assert threads() == []
    with pytest.raises(ValueError, match="rows wait"):
        reader.state()
    assert rows(reader, [*earlier_batches, *reader]).equals(expected)


class Rows:
    """Rows of a batch that cannot be made."""

    def __init__(self, number: int) -> None:
        self.number = number

    def fill(self) -> int:
        if self.number == 7:
            raise MemoryError("no room for columns")
        return self.number


class Source:
    """A chain of twenty batches."""

    def start(self, pool: object) -> None: ...
    def stop(self) -> None: ...
    def read(self, stop: object, end: bool) -> Iterator[list[Rows]]:
        yield from ([Rows(number), Rows(number + 1)] for number in range(0, 20, 2))


def test_an_error_of_a_worker_reaches_the_caller() -> None:
    from amqpcodec.capture._workers import Workers

    results: list[Any] = []
    with pytest.raises(MemoryError, match="no room for columns"):
        results.extend(Workers(3).read(Source(), None, True))  # type: ignore[arg-type]
    assert results == list(range(7))
    assert threads() == []


def test_packed_files_are_unpacked_in_another_thread() -> None:
    """Others are read where rows are found: in the cache of that processor."""
    thread_names: list[str] = []

    class Watched(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            thread_names.append(threading.current_thread().name)
            return super().read(size)

        def readinto(self, room: Any) -> int:
            thread_names.append(threading.current_thread().name)
            return super().readinto(room)

    octets = make.pcap(mangle.records(PARTS))
    assert len(list(capture.read(Watched(octets), workers=2, batch_rows=10))) > 10
    assert set(thread_names) == {threading.current_thread().name}
    thread_names.clear()
    packed = Watched(gzip.compress(octets))
    assert len(list(capture.read(packed, workers=2, batch_rows=10))) > 10
    first, *others = thread_names
    assert first == threading.current_thread().name
    assert others
    assert all(name.startswith("amqpcodec-reading") for name in others)


def test_workers_are_at_least_one() -> None:
    with pytest.raises(ValueError, match="workers is at least 1, not 0"):
        capture.read(DEMO, workers=0)
    assert capture.read(DEMO, fields=["error"], workers=4).count()[0]["file"] == str(DEMO)
