"""A reader gives its rows once, in one process; datasets and lazy frames read anew."""

from __future__ import annotations

import gzip
import io
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import capture
from amqpcodec.capture._repeat import RepeatableSources
from tests.paths import REPO

pa = pytest.importorskip("pyarrow")

PATH = REPO / "demo" / "kombu_celery.pcap.gz"
ROWS = 1000
POSIX_ONLY = pytest.mark.skipif(not hasattr(os, "fork"), reason="takes fork")
#: CPython 3.12 and later warn of forks where there are threads.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def count_rows(reader: Any) -> int:
    """By iterating."""
    return sum(map(len, reader))


def table_rows(reader: Any) -> int:
    """By the Arrow stream."""
    return int(pa.table(reader).num_rows)


def polars_rows(reader: Any) -> int:
    """By Polars."""
    return int(pytest.importorskip("polars").DataFrame(reader).height)


WAYS = [count_rows, table_rows, polars_rows]


@pytest.mark.parametrize("second", WAYS)
@pytest.mark.parametrize("first", WAYS)
def test_a_second_reading_is_refused(
    first: Callable[[Any], int], second: Callable[[Any], int]
) -> None:
    reader = capture.read(PATH, fields=["method"])
    assert first(reader) == ROWS
    with pytest.raises(capture.ReaderExhausted, match="were read: open the capture again"):
        second(reader)
    assert reader.stats()["packets"] == 619
    assert issubclass(capture.ReaderExhausted, RuntimeError)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("files", ["rotation", "separate", "auto", "taps"])
def test_several_files_and_threads(tmp_path: Path, files: Any, workers: int) -> None:
    paths = [tmp_path / "a.pcap.gz", tmp_path / "b.pcap.gz"]
    for path in paths:
        path.write_bytes(PATH.read_bytes())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", capture.CaptureWarning)
        reader = capture.read(paths, files=files, workers=workers, fields=["method"])
        assert count_rows(reader) > 0
        with pytest.raises(capture.ReaderExhausted):
            count_rows(reader)


def test_a_stream_that_was_left_takes_the_remainder_with_it() -> None:
    """As DuckDB does when it shows the first rows of a relation."""
    reader = capture.read(PATH, fields=["method"], batch_rows=100)
    stream = pa.RecordBatchReader.from_stream(reader)
    unused = pa.RecordBatchReader.from_stream(reader)  # has taken nothing: nothing is lost
    assert stream.read_next_batch().num_rows == 100
    with pytest.raises(capture.ReaderExhausted, match="an Arrow stream took rows"):
        table_rows(reader)
    with pytest.raises(capture.ReaderExhausted, match="an Arrow stream took rows"):
        count_rows(reader)
    with pytest.raises(pa.ArrowInvalid, match="ReaderExhausted"):
        unused.read_all()
    assert stream.read_all().num_rows == ROWS - 100


def test_duckdb_shown_and_fetched() -> None:
    duckdb = pytest.importorskip("duckdb")
    reader = capture.read(PATH, fields=["method"], batch_rows=100)  # noqa: F841
    relation = duckdb.sql("from reader")
    assert "method" in str(relation)
    with pytest.raises(Exception, match="ReaderExhausted"):
        relation.fetchall()
    assert count_rows(capture.read(PATH)) == ROWS
    dataset = capture.dataset(PATH, fields=["method"])  # noqa: F841
    relation = duckdb.sql("from dataset")
    assert "method" in str(relation)
    assert len(relation.fetchall()) == ROWS


def test_what_was_not_read_can_be_taken_otherwise() -> None:
    reader = capture.read(PATH, fields=["method"], batch_rows=100)
    assert len(next(iter(reader))) == 100
    assert table_rows(reader) == ROWS - 100


def test_pieces_and_states_are_no_end() -> None:
    reader = capture.Reader(PATH, fields=["method"])
    rows = count_rows(reader.read(40_000))
    assert count_rows(reader.read(40_000)) == 0
    assert 0 < rows < ROWS
    rows += count_rows(reader.read(end=False))
    assert count_rows(reader.read(end=False)) == 0
    other = capture.Reader(PATH, fields=["method"])
    other.resume(reader.state())
    rows += count_rows(reader)
    assert rows == ROWS
    for again in (reader.read(), reader.read(40_000), reader.read(end=False)):
        with pytest.raises(capture.ReaderExhausted):
            count_rows(again)
    assert reader.state()


class Fails(io.BytesIO):
    """A file whose second reading fails."""

    calls = 0

    def read(self, size: int | None = -1) -> bytes:
        self.calls += 1
        if self.calls == 2:
            raise OSError("the disk is gone")
        return super().read(size)

    readinto = None  # type: ignore[assignment]


@pytest.mark.parametrize("files", ["auto", "taps"])
def test_after_an_error_nothing_passes_for_the_end(files: Any) -> None:
    file = Fails(gzip.decompress(PATH.read_bytes()))
    reader = capture.read(file, fields=["method"], files=files)
    with pytest.raises(OSError, match="the disk is gone"):
        count_rows(reader)
    with pytest.raises(capture.ReaderExhausted, match="OSError: the disk is gone"):
        count_rows(reader)


def in_fork(work: Callable[[], Any]) -> str:
    """What it gives or raises in a fork of this process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            result = str(work())
        except BaseException as error:
            result = f"{type(error).__name__}: {error}"
        os.write(writing, result.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read().decode()
    assert os.waitpid(child, 0)[1] == 0
    return answer


@POSIX_ONLY
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("packed", [True, False])
def test_a_fork_of_a_reader_that_has_begun(tmp_path: Path, packed: bool, workers: int) -> None:
    path = PATH
    if not packed:
        path = tmp_path / "x.pcap"
        path.write_bytes(gzip.decompress(PATH.read_bytes()))
    reader = capture.read(path, fields=["method"], batch_rows=100, workers=workers)
    batches = iter(reader)
    rows = len(next(batches))
    answer = in_fork(lambda: count_rows(batches))
    assert answer.startswith("RuntimeError: this reader belongs to the process")
    assert "open the capture again" in answer
    assert in_fork(lambda: count_rows(reader)).startswith("RuntimeError: this reader belongs")
    assert in_fork(lambda: table_rows(reader)).startswith("RuntimeError: this reader belongs")
    assert rows + count_rows(batches) == ROWS


@POSIX_ONLY
def test_a_fork_of_a_stream_that_has_begun() -> None:
    reader = capture.read(PATH, fields=["method"], batch_rows=100)
    stream = pa.RecordBatchReader.from_stream(reader)
    rows = stream.read_next_batch().num_rows
    assert "this reader belongs to the process" in in_fork(stream.read_all)
    assert rows + stream.read_all().num_rows == ROWS


@POSIX_ONLY
def test_a_fork_of_a_reader_that_has_not_begun(tmp_path: Path) -> None:
    reader = capture.read(PATH, fields=["method"])
    assert in_fork(lambda: count_rows(reader)) == str(ROWS)
    assert count_rows(reader) == ROWS
    with open(PATH, "rb") as file:
        reader = capture.read(file, fields=["method"])
        assert in_fork(lambda: count_rows(reader)).startswith("RuntimeError: this reader belongs")
        assert count_rows(reader) == ROWS
    reader = capture.read(io.BytesIO(PATH.read_bytes()), fields=["method"])
    assert in_fork(lambda: count_rows(reader)) == str(ROWS)
    assert count_rows(reader) == ROWS


@POSIX_ONLY
def test_a_fork_of_a_dataset() -> None:
    dataset = capture.dataset(PATH, fields=["method"])
    assert in_fork(dataset.count_rows) == str(ROWS)
    batches = dataset.scanner().to_batches()
    assert next(batches).num_rows
    assert dataset.count_rows() == ROWS


def scans(source: Any) -> Iterator[Callable[[], int]]:
    """Functions that query captures and give how many rows there are."""
    dataset = capture.dataset(source, fields=["method"])
    yield lambda: int(dataset.to_table().num_rows)
    polars = pytest.importorskip("polars")
    from amqpcodec.polars import scan_captures

    frame = scan_captures(source, fields=["method"])
    yield lambda: int(frame.select(polars.len()).collect().item())


def test_queries_of_paths_and_open_files_repeat() -> None:
    with open(PATH, "rb") as file:
        for source in (PATH, io.BytesIO(PATH.read_bytes()), file):
            for scan in scans(source):
                assert [scan(), scan(), scan()] == [ROWS] * 3


def test_two_scans_of_an_open_file_at_once() -> None:
    dataset = capture.dataset(
        io.BytesIO(gzip.decompress(PATH.read_bytes())), fields=["method"], batch_rows=10
    )
    both = [dataset.scanner(batch_readahead=0).to_batches() for _ in range(2)]
    rows = [0, 0]
    for batches in zip(*both, strict=True):
        for side, batch in enumerate(batches):
            rows[side] += batch.num_rows
    assert rows == [ROWS, ROWS]


def test_views_of_an_open_file_have_positions_of_their_own(tmp_path: Path) -> None:
    """In this thread: the libraries above read in threads of their own."""
    path = tmp_path / "some"
    path.write_bytes(b"0123456789")
    with open(path, "rb") as file:
        file.seek(2)
        sources = RepeatableSources(file)
        one, other = sources.open(), sources.open()
        assert (one.readable(), one.seekable(), one.fileno()) == (True, True, file.fileno())
        assert (one.read(3), other.read(1), one.read(1)) == (b"234", b"2", b"5")
        assert (one.tell(), other.tell(), file.tell()) == (6, 3, 2)
        assert one.seek(-1, os.SEEK_END) == 9
        assert other.seek(4, os.SEEK_CUR) == 7
        assert (one.read(), other.read(2), one.read(1)) == (b"9", b"78", b"")
        assert one.seek(1) == 1
        assert (one.read(1), file.tell(), one.name) == (b"1", 2, str(path))


def test_one_view_of_a_pipe_reads() -> None:
    sources = RepeatableSources(Stream(b"0123"))
    one, other = sources.open(), sources.open()
    assert (one.read(2), one.read(9), one.read(1)) == (b"01", b"23", b"")
    with pytest.raises(capture.ReaderExhausted, match="give its path, or a file that seeks"):
        other.read(1)


class Stream:
    """What a pipe gives: it reads on, and does no more."""

    def __init__(self, data: bytes) -> None:
        self.read = io.BytesIO(data).read


def test_queries_of_a_pipe_are_refused_after_the_first() -> None:
    for number in range(2):
        scan = list(scans(Stream(PATH.read_bytes())))[number]
        assert scan() == ROWS
        with pytest.raises(Exception, match=r"ReaderExhausted|cannot be read again"):
            scan()
