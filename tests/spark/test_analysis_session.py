"""The questions on Spark have the rows that DuckDB gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")
pytest.importorskip("duckdb")

import pyarrow.parquet as pq  # noqa: E402

from amqpcodec import analysis, capture  # noqa: E402
from amqpcodec import spark as amqp  # noqa: E402
from amqpcodec.analysis import _duckdb  # noqa: E402
from tests.analysis.test_routes_unit import DELIVERED, LOST, ORDERS  # noqa: E402
from tests.analysis.test_v1_questions_unit import WORK  # noqa: E402
from tests.paths import REPO, shared_dir  # noqa: E402
from tests.support.event_talk import write  # noqa: E402
from tests.support.recording import packets  # noqa: E402
from tests.support.shop_talk import WORKER, killed, of_client, without, working  # noqa: E402

QUESTIONS = [name for name in analysis.__all__ if name not in ("sql", "query")]
OPEN = working()
RECORDINGS = {
    "killed": killed(),
    "open": OPEN,
    "middle": OPEN[20:],
    "1.0": packets(WORK),
    "lost": without(OPEN, of_client(OPEN, WORKER)[-4]),
    "routes": packets([*ORDERS, *DELIVERED]),
    "routes, open": packets([*ORDERS, *DELIVERED])[6:],
    "unroutable": packets(LOST),
}


def same_rows(spark: Any, events: pa.Table, path: Path) -> None:
    """Every question over these events, by both engines."""
    pq.write_table(events, path)
    frame = spark.read.parquet(str(path)).persist()
    for name in QUESTIONS:
        expected = _duckdb.run(analysis.query(name), events.to_batches(), events.schema)
        rows = amqp.analysis(name, frame).toArrow()
        assert [(field.name, field.type) for field in rows.schema] == [
            (field.name, field.type) for field in expected.schema
        ], name
        assert rows.to_pylist() == expected.to_pylist(), name
    frame.unpersist()


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDINGS)
def test_rows_are_those_of_duckdb(name: str, spark: Any, tmp_path: Path) -> None:
    source = write(tmp_path / "talk.pcap", RECORDINGS[name])
    same_rows(spark, pa.table(capture.read(source, "event")), tmp_path / "events.parquet")


@pytest.mark.slow
def test_rows_of_many_recordings(spark: Any, tmp_path: Path) -> None:
    """All at once: what names look alike in several of them is taken for the same by both."""
    tables = [pa.table(capture.read(REPO / "demo" / "kombu_celery.pcap.gz", "event"))]
    if shared := shared_dir():
        for path in sorted(shared.glob("captures/*.pcap*")):
            tables.append(pa.table(capture.read(path, "event")))
        for path in sorted(shared.glob("cases/questions/*.pcap")):
            tables.append(pa.table(capture.read(path, "event", ports=60801)))
    same_rows(spark, pa.concat_tables(tables), tmp_path / "events.parquet")


def test_what_is_refused(spark: Any) -> None:
    events = spark.createDataFrame([("published",)], "event string")
    with pytest.raises(ValueError, match="'slow' is no question"):
        amqp.analysis("slow", events)
    from pyspark.errors import AnalysisException

    with pytest.raises(AnalysisException, match="connection"):
        amqp.analysis("connections", events)
