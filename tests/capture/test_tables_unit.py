"""Captures in Polars and DuckDB: columns and filters reach the reader; progress is told."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import polars
import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from polars.testing import assert_frame_equal

from amqpcodec import capture
from amqpcodec import polars as amqp_polars
from amqpcodec import v0_9_1 as amqp
from amqpcodec.capture import _dataset, _progress
from amqpcodec.polars import scan_captures
from tests.support import recording

DEMO = str(Path(__file__).parents[2] / "demo" / "kombu_celery.pcap.gz")
READ = capture.read


@pytest.fixture
def requested_columns(monkeypatch: pytest.MonkeyPatch) -> list[list[str] | None]:
    """The columns that each reader is made for."""
    calls: list[list[str] | None] = []

    def noting(source: Any, level: str, fields: Iterable[str] | None, **options: Any) -> Any:
        calls.append(None if fields is None else list(fields))
        return READ(source, level, fields, **options)

    monkeypatch.setattr(amqp_polars.capture, "read", noting)
    return calls


def read_dataframe(fields: list[str], **options: Any) -> polars.DataFrame:
    return polars.DataFrame(READ(DEMO, fields=fields, **options))


def test_a_lazy_frame_reads_what_a_query_uses(requested_columns: list[list[str] | None]) -> None:
    query = scan_captures(DEMO).filter(polars.col("method") == "basic.publish").select("channel")
    del requested_columns[:]
    result = query.collect()
    assert requested_columns == [["channel", "method"]]
    want = read_dataframe(["channel", "method"]).filter(polars.col("method") == "basic.publish")
    assert_frame_equal(result, want.select("channel"))


def test_a_lazy_frame_gives_all_that_capture_read_gives() -> None:
    assert_frame_equal(scan_captures(DEMO).collect(), polars.DataFrame(capture.read(DEMO)))
    fields = ["routing_key", "headers.task", "properties.message_id"]
    messages = scan_captures(DEMO, "message", fields, ports=(5672,))
    assert messages.collect_schema().names() == fields
    assert_frame_equal(messages.collect(), read_dataframe(fields, level="message"))
    lengths = scan_captures(DEMO).select(polars.len()).collect()
    assert lengths.item() == read_dataframe(["channel"]).height


def test_a_lazy_frame_stops_when_it_has_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    batch_count = 0
    start = capture.Reader.__iter__

    def counting(self: capture.Reader) -> Any:
        nonlocal batch_count
        for batch in start(self):
            batch_count += 1
            yield batch

    monkeypatch.setattr(capture.Reader, "__iter__", counting)
    assert scan_captures(DEMO, batch_rows=10).head(15).collect().height == 15
    assert batch_count == 2


def test_wildcards(tmp_path: Path) -> None:
    for name in ("b.pcap", "a.pcap"):
        (tmp_path / name).write_bytes(gzip.decompress(Path(DEMO).read_bytes()))
    lazy = scan_captures(tmp_path / "*.pcap", files="separate")
    files = lazy.select("file").unique(maintain_order=True).collect()["file"].to_list()
    assert files == [str(tmp_path / name) for name in ("a.pcap", "b.pcap")]
    with pytest.raises(FileNotFoundError, match="Path does not exist"):
        scan_captures(tmp_path / "*.pcapng")


def test_wrong_arguments_are_told_at_once() -> None:
    with pytest.raises(ValueError, match="nonsense"):
        scan_captures(DEMO, fields=["nonsense"])
    with pytest.raises(TypeError, match="nonsense"):
        scan_captures(DEMO, nonsense=1)


def test_duckdb_pushes_columns_and_filters(monkeypatch: pytest.MonkeyPatch) -> None:
    scan_calls: list[Any] = []
    make = _dataset.CaptureDataset.scanner

    def noting(self: Any, columns: Any = None, filter: Any = None, **options: Any) -> Any:
        scan_calls.append((columns, str(filter)))
        return make(self, columns, filter, **options)

    monkeypatch.setattr(_dataset.CaptureDataset, "scanner", noting)
    frames = capture.dataset(DEMO)  # noqa: F841  DuckDB finds it by its name
    query = "select channel, count(*) from frames where method = 'basic.publish' group by 1"
    result = duckdb.sql(query).fetchall()
    want = read_dataframe(["channel", "method"]).filter(polars.col("method") == "basic.publish")
    assert result == want.group_by("channel").len().rows()
    assert scan_calls == [(["channel"], '(method == "basic.publish")')]
    rows = read_dataframe(["channel"]).height
    assert duckdb.sql("select count(*) from frames").fetchall() == [(rows,)]


def test_a_dataset_scans_the_batches_of_a_reader() -> None:
    """In this thread: Arrow takes them in one of its own, of which coverage sees nothing."""
    batches = list(_dataset._batches(capture.read(DEMO, fields=["method"])))
    assert pa.Table.from_batches(batches) == pa.table(capture.read(DEMO, fields=["method"]))


def test_a_dataset_decodes_what_a_scan_needs(requested_columns: list[list[str] | None]) -> None:
    frames = capture.dataset(DEMO)
    assert isinstance(frames, pads.Dataset)
    publish = pads.field("method") == "basic.publish"
    table = frames.to_table(columns=["channel"], filter=publish)
    by_name = frames.to_table(columns={"c": pads.field("channel") + 1}, filter=publish)
    assert table.column_names == ["channel"]
    assert by_name["c"].to_pylist() == [n + 1 for n in table["channel"].to_pylist()]
    del requested_columns[:]
    assert frames.count_rows() == read_dataframe(["channel"]).height
    assert frames.count_rows(filter=publish) == table.num_rows
    assert requested_columns == [["channel"], ["method"]]
    assert frames.to_table().schema == pa.schema(capture.schema())
    nested = pads.field("properties", "content_type").is_valid()
    assert frames.to_table(columns=["position"], filter=nested).num_rows


@pytest.mark.parametrize(
    "filter",
    [
        pads.field("method") == "basic.publish",
        (pads.field("method") == "basic.ack") & (pads.field("direction") == "client"),
        pads.field("method").is_null(),
        pads.field("connection") == "none such",
        pads.field("properties", "content_type").is_valid(),
    ],
)
def test_rows_that_a_filter_leaves_out_are_not_decoded(
    filter: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = _dataset._batches
    decoded: list[int] = []

    def noting(reader: capture.Reader) -> Iterator[pa.RecordBatch]:
        for rows in batches(reader):
            decoded.append(rows.num_rows)
            yield rows

    monkeypatch.setattr(_dataset, "_batches", noting)
    table = capture.dataset(DEMO).to_table(filter=filter)
    assert table == pa.table(READ(DEMO)).filter(filter)
    assert sum(decoded) == table.num_rows


@pytest.mark.parametrize("packed", [True, False])
def test_progress_is_told(tmp_path: Path, packed: bool) -> None:
    octets = Path(DEMO).read_bytes()
    path = tmp_path / "a.pcap"
    path.write_bytes(octets if packed else gzip.decompress(octets))
    size = path.stat().st_size
    progress: list[tuple[int, int | None]] = []
    rows = sum(map(len, capture.read(path, on_progress=lambda *at: progress.append(at))))
    assert rows == read_dataframe(["channel"]).height
    assert progress[-1] == (size, size)
    assert [byte_count for byte_count, _ in progress] == sorted(
        {byte_count for byte_count, _ in progress}
    )
    assert {total for _, total in progress} == {size}


def test_progress_over_several_files(tmp_path: Path) -> None:
    octets = gzip.decompress(Path(DEMO).read_bytes())
    paths = [tmp_path / name for name in ("a.pcap", "b.pcap")]
    for path in paths:
        path.write_bytes(octets)
    for files in ("rotation", "separate", "auto"):
        progress: list[tuple[int, int | None]] = []
        reader = capture.read(paths, files=files, on_progress=lambda *at: progress.append(at))  # noqa: B023
        with pytest.warns(capture.CaptureWarning) if files == "auto" else io.BytesIO():
            list(reader)
        count = 1 if files == "auto" else 2  # the copy is not read
        assert progress[-1] == (count * len(octets), count * len(octets))


class Pipe(io.BytesIO):
    def seekable(self) -> bool:
        return False


def test_progress_of_open_files() -> None:
    octets = Path(DEMO).read_bytes()
    for file, total in ((io.BytesIO(octets), len(octets)), (Pipe(octets), None)):
        progress: list[tuple[int, int | None]] = []
        list(capture.read(file, on_progress=lambda *at: progress.append(at)))  # noqa: B023
        assert progress[-1] == (len(octets), total)


def test_what_progress_raises_ends_the_reading() -> None:
    class Enough(Exception):
        pass

    def stop(position: int, total: int | None) -> None:
        raise Enough

    with pytest.raises(Enough):
        list(capture.read(DEMO, on_progress=stop))


def test_decimals(tmp_path: Path) -> None:
    """In readers, datasets and lazy frames; Polars has none of more than 38 digits."""
    path = tmp_path / "prices.pcap"
    prices = [Decimal("1.50"), Decimal("1.505"), 7]
    publish = amqp.Basic.Publish("", "q")
    messages = [
        amqp.encode_message(1, publish, amqp.Basic.Properties(headers={"price": price}), b"x")
        for price in prices
    ]
    path.write_bytes(
        recording.pcap(
            [
                *recording.opening(),
                recording.client(1001, amqp.PROTOCOL_HEADER + b"".join(messages)),
            ]
        )
    )
    name = "headers.price:decimal(10,2)"
    fields = ["method", name, "headers.price:string", "error"]
    rows = pa.table(READ(path, "message", fields))
    expected = [Decimal("1.50"), None, Decimal(7)]
    assert rows.column(name).type == pa.decimal128(10, 2)
    assert rows.column(name).to_pylist()[-3:] == expected
    assert rows.column("headers.price:string").to_pylist()[-3:] == ["1.50", "1.505", None]
    assert "decimal does not fit decimal(10,2)" in rows.column("error").to_pylist()[-2]
    stored = capture.dataset(path, "message", fields).to_table()
    assert stored.equals(rows)
    lazy = scan_captures(path, "message", fields)
    assert lazy.collect_schema()[name] == polars.Decimal(10, 2)
    assert lazy.select(polars.col(name)).collect()[name].to_list()[-3:] == expected
    with pytest.raises(ValueError, match="decimals of Polars have at most 38 digits"):
        scan_captures(path, "message", ["headers.price:decimal(39,2)"])


def test_a_counted_file_is_read_to_its_end_without_a_size(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"abc")
    counts: list[int] = []
    with path.open("rb") as file:
        progress: Any = SimpleNamespace(add=counts.append)
        counted = _progress._Counted(file, progress)
        assert (counted.read(1), counted.read(), counted.read()) == (b"a", b"bc", b"")
    assert counts == [1, 2, 0]
