"""examples/ranges.py: a capture in ranges gives what one reader gives, and SQL reads it."""

from __future__ import annotations

import gzip
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from amqpcodec import capture
from tests.paths import REPO
from tests.session.examples import example

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
duckdb = pytest.importorskip("duckdb")

DEMO = REPO / "demo" / "kombu_celery.pcap.gz"


@pytest.mark.parametrize("count", [1, 7, 150])
def test_ranges_hold_what_one_reader_gives(tmp_path: Path, count: int) -> None:
    module = example("ranges")
    path = tmp_path / "x.pcap"
    path.write_bytes(gzip.decompress(DEMO.read_bytes()))
    with ThreadPoolExecutor(2) as pool:
        files = module.convert(str(path), str(tmp_path / "out"), count, pool)
    assert len(files) == count
    written_table = pa.concat_tables(map(pq.read_table, files)).combine_chunks()
    reader = capture.read(path, level="message", fields=module.FIELDS, order="none")
    assert written_table.equals(pa.table(reader).combine_chunks())
    published = duckdb.sql(
        f"SELECT count(*) FROM read_parquet({files!r}) WHERE method = 'basic.publish'"
    ).fetchall()
    assert published == [(115,)]


def test_packed_files_are_one_range() -> None:
    assert len(example("ranges").ranges(str(DEMO), 9)) == 1
