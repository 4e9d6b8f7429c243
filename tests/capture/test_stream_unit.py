"""A reader as a table, without glue."""

from __future__ import annotations

import io

import pytest

from amqpcodec import capture
from tests.paths import REPO
from tests.support import recording as make

pa = pytest.importorskip("pyarrow")

PATH = REPO / "demo" / "kombu_celery.pcap.gz"


@pytest.mark.parametrize("options", [{}, {"level": "message"}, {"fields": ["method", "flags"]}])
def test_a_reader_is_a_table(options: dict):
    expected = pa.Table.from_batches(map(pa.record_batch, capture.read(PATH, **options)))
    table = pa.table(capture.read(PATH, batch_rows=100, **options))
    assert table.schema == expected.schema
    assert table.combine_chunks() == expected.combine_chunks()
    assert len(table.to_batches()) > 3


def test_of_an_empty_capture():
    reader = capture.read(io.BytesIO(make.pcap([])))
    table = pa.table(reader)
    assert table.num_rows == 0
    assert table.schema == pa.schema(reader.schema) == pa.schema(capture.schema())


def test_others_take_it():
    polars = pytest.importorskip("polars")
    duckdb = pytest.importorskip("duckdb")
    rows = sum(map(len, capture.read(PATH)))
    reader = capture.read(PATH)
    assert polars.DataFrame(reader).height == rows
    reader = capture.read(PATH)
    assert duckdb.sql("select count(*) from reader").fetchall() == [(rows,)]
