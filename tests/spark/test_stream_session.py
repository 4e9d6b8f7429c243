"""The stream on a real Spark: a folder that fills, restarts, failures; all rows once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark.sql.streaming.datasource")

from amqpcodec import spark as amqp  # noqa: E402
from tests.paths import REPO  # noqa: E402
from tests.spark.frames import RECORDING, rotated  # noqa: E402
from tests.spark.test_stream_unit import FIELDS, one_pass  # noqa: E402

KEY = ("file", "packet_offset", "position", "direction")


@pytest.fixture
def place(spark: Any, tmp_path: Path) -> Path:
    amqp.register(spark)
    for name in ("spool", "folder", "out"):
        (tmp_path / name).mkdir()
    return tmp_path


def stream(spark: Any, place: Path, **options: Any) -> Any:
    defaults = {
        "stateLocation": str(place / "states"),
        "closeAfter": "0s",
        "fields": ",".join(FIELDS),
    }
    reader = spark.readStream.format("amqp_capture").options(**{**defaults, **options})
    return reader.load(str(place / "folder"))


def to_parquet(frames: Any, place: Path) -> Any:
    writer = frames.writeStream.format("parquet").trigger(availableNow=True)
    return writer.option("checkpointLocation", str(place / "checkpoint")).start(str(place / "out"))


def written(spark: Any, place: Path) -> list[dict[str, Any]]:
    return in_order(spark.read.parquet(str(place / "out")).toArrow().to_pylist())


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: [row[name] for name in KEY])


def expected(files: list[Path], place: Path, **options: Any) -> list[dict[str, Any]]:
    rows = one_pass(files, **options)
    return in_order(
        [{**row, "file": str(place / "folder" / Path(row["file"]).name)} for row in rows]
    )


def test_a_folder_that_fills(spark: Any, place: Path) -> None:
    """A query for each file: all that it knows of the ones before is on the disk."""
    files = rotated(RECORDING, place / "spool", 5)
    rows = expected(files, place)
    for path in files:
        path.rename(place / "folder" / path.name)
        query = to_parquet(stream(spark, place), place)
        assert query.awaitTermination(120)
        assert query.exception() is None
    assert written(spark, place) == rows


def test_limits_and_available_now(spark: Any, place: Path) -> None:
    files = rotated(RECORDING, place / "folder", 5)
    query = to_parquet(stream(spark, place, maxFilesPerTrigger=2, level="message"), place)
    assert query.awaitTermination(120)
    assert [progress["numInputRows"] > 0 for progress in query.recentProgress[:3]] == [True] * 3
    assert written(spark, place) == in_order(one_pass(files, level="message"))


def test_a_batch_that_fails(spark: Any, place: Path) -> None:
    """The rows that a batch gave before it failed are given again, the same ones."""
    files = rotated(RECORDING, place / "spool", 3)
    rows = expected(files, place)
    rows_by_batch: dict[int, list[list[dict[str, Any]]]] = {}
    for number, path in enumerate(files):
        path.rename(place / "folder" / path.name)
        for failing in (True, False):

            def take(frame: Any, batch: int, failing: bool = failing) -> None:
                rows_by_batch.setdefault(batch, []).append(in_order(frame.toArrow().to_pylist()))
                if failing:
                    raise RuntimeError("the sink is away")

            writer = stream(spark, place).writeStream.foreachBatch(take).trigger(availableNow=True)
            query = writer.option("checkpointLocation", str(place / "checkpoint")).start()
            if failing:
                with pytest.raises(Exception, match="the sink is away"):
                    query.awaitTermination(120)
            else:
                assert query.awaitTermination(120)
        first, second = rows_by_batch[number]
        assert first == second
    assert in_order([row for twice in rows_by_batch.values() for row in twice[1]]) == rows


def test_a_process_that_is_killed(spark: Any, place: Path) -> None:
    """With all its children, in the middle of a batch; another one goes on."""
    files = rotated(RECORDING, place / "folder", 6)
    program = [sys.executable, str(REPO / "tests" / "spark" / "stream_slowly.py"), str(place)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(REPO / "src"), str(REPO)])}
    process = subprocess.Popen(program, env=environment, start_new_session=True)
    try:
        commits = place / "checkpoint" / "commits"
        deadline = time.monotonic() + 600
        while not (commits / "1").exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    query = to_parquet(stream(spark, place, maxFilesPerTrigger=1), place)
    assert query.awaitTermination(120)
    assert query.exception() is None
    assert written(spark, place) == in_order(one_pass(files))


def test_wrong_options_are_told_in_words(spark: Any, place: Path) -> None:
    with pytest.raises(Exception, match="a stream needs the option stateLocation"):
        to_parquet(stream(spark, place, stateLocation=""), place).awaitTermination(60)
    with pytest.raises(Exception, match="no option 'closeafterwards'; did you mean closeAfter"):
        stream(spark, place, closeAfterwards="1s")
