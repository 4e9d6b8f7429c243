"""However a capture is read, all columns of its rows are the same, in the same order.

Ways: one pass; ranges, each task of which dies once; threads; a stream; a chain of files, each of
these ways. AMQPCODEC_ALL_CAPTURES=1 takes every recording and variant, in ranges of 1 KB where the
file has at most 1 MB (else 1,000 ranges), and takes minutes; otherwise a sample is taken.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark.sql.datasource")

from amqpcodec import capture  # noqa: E402
from amqpcodec.spark.source.data_source import CaptureRows  # noqa: E402
from bench import scale  # noqa: E402
from tests.paths import REPO, shared_dir  # noqa: E402
from tests.spark.frames import rotated  # noqa: E402
from tests.spark.test_stream_unit import Query, folders  # noqa: E402
from tests.support.capture_variants import DEMO, VARIANTS  # noqa: E402

ALL = bool(os.environ.get("AMQPCODEC_ALL_CAPTURES"))
SMALL = 200_000  # bytes, unpacked: what the sample takes of the recordings
SAMPLE = ("lossy", "fragments", "pcapng", "damaged inside", "midstream")
GENERATED = 3_000_000  # bytes
MORE = ("packet", "timestamp_ns", "file_index")
PORTS = (5672, 5680, 5681)  # those of AMQP 1.0 too


def recordings() -> Iterator[tuple[str, Callable[[], bytes]]]:
    shared = shared_dir()
    shared_captures = sorted(shared.glob("captures/*.pcap*.gz")) if shared else []
    own = sorted((REPO / "tests" / "capture" / "recordings").glob("amqp10_*.gz"))
    paths_by_name = {path.name: path for path in [*own, DEMO, *shared_captures]}
    for path in paths_by_name.values():
        yield path.name, lambda path=path: gzip.decompress(path.read_bytes())


def generated() -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.pcap")
        scale.write_capture(path, GENERATED if ALL else SMALL)
        return path.read_bytes()


CAPTURES: dict[str, Callable[[], bytes]] = {
    **{
        name: build_capture
        for name, build_capture in recordings()
        if ALL or len(build_capture()) < SMALL
    },
    **{name: build_capture for name, build_capture in VARIANTS.items() if ALL or name in SAMPLE},
    **({"generated": generated} if ALL else {}),
}


def table(batches: Any) -> Any:
    """Of Spark's types, in one chunk; None where there is no row."""
    record_batches = [rows for rows in batches if rows.num_rows]
    return pa.Table.from_batches(record_batches).combine_chunks() if record_batches else None


def one_task(paths: list[Path], **options: Any) -> Any:
    return in_tasks(paths, maxPartitionBytes="1t", **options)


def in_tasks(paths: list[Path], **options: Any) -> Any:
    """The rows of a read's tasks; each is begun, dies and is tried again."""
    reader = CaptureRows.of(list(map(str, paths)), {"files": "rotation", **options})
    task_batches = []
    for part in reader.partitions():
        dying = reader.read(part)
        next(dying, None)
        dying.close()  # type: ignore[attr-defined]
        task_batches += reader.read(part)
    return table(task_batches)


def streamed(folder: Path, states: Path, **options: Any) -> list[dict[str, Any]]:
    """The rows of a stream over a folder, whose driver starts anew before each batch."""
    query = Query(folder, states, maxFilesPerTrigger="2", files="rotation", **options)
    while batch := query.batch():
        query.run(batch)
        query.start()
        query.commit(batch, query.run(batch))
    return query.rows


def before_the_end(paths: list[Path], **options: Any) -> list[dict[str, Any]]:
    """The rows of one pass without those that only the end of the last file brings."""
    reader = capture.read(list(map(str, paths)), files="rotation", order="none", **options)
    return [row for rows in reader.read(end=False) for row in pa.record_batch(rows).to_pylist()]


def by_threads(paths: list[Path], **options: Any) -> list[Any]:
    return [
        pa.Table.from_batches(
            map(pa.record_batch, capture.read(paths, files="rotation", workers=n, **options)),
            pa.schema(capture.schema(options["level"], options["fields"])),
        ).combine_chunks()
        for n in (1, 2)
    ]


@pytest.mark.parametrize("level", ["frame", "message"])
@pytest.mark.parametrize("name", CAPTURES)
def test_all_ways(tmp_path: Path, name: str, level: str) -> None:
    single_folder, chain = folders(tmp_path, "whole", "chain")
    data = CAPTURES[name]()
    single = single_folder / "x.pcap"
    single.write_bytes(data)
    ways = [(single_folder, [single])]
    if data[:4] == b"\xd4\xc3\xb2\xa1" and "damaged" not in name and len(data) > 1000:
        ways.append((chain, rotated(single, chain, 4)))
    columns = [*pa.schema(capture.schema(level)).names, *MORE]
    step = 1024 if ALL and len(data) < 1_000_000 else max(1024, len(data) // (1000 if ALL else 30))
    options = {"level": level, "fields": ",".join(columns), "ports": ",".join(map(str, PORTS))}
    for folder, paths in ways:
        states = tmp_path / f"{folder.name}-states"
        expected = one_task(paths, **options)
        range_options = {**options, "stateLocation": str(states), "maxPartitionBytes": str(step)}
        assert in_tasks(paths, **range_options) == expected
        whole_rows = [] if expected is None else expected.to_pylist()
        assert whole_rows or name in ("no rows", "empty")
        for order in ("none", "packets"):
            one, two = by_threads(paths, level=level, fields=columns, ports=PORTS, order=order)
            assert one == two
            read = one.to_pylist()
            if order == "none":
                assert read == whole_rows
            else:
                assert len(read) == len(whole_rows)
        rows = before_the_end(paths, level=level, fields=columns, ports=PORTS)
        assert rows == whole_rows[: len(rows)]
        assert streamed(folder, tmp_path / f"{folder.name}-stream", **options) == rows
