"""SQL of the user's own over events; how events are held while a query runs."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")

from amqpcodec import analysis, capture  # noqa: E402
from amqpcodec.analysis import _duckdb, _questions  # noqa: E402
from tests.support.event_talk import write  # noqa: E402
from tests.support.shop_talk import killed, working  # noqa: E402

ALL = [
    "SELECT * FROM events",
    "SELECT e FROM events e",
    "SELECT e FROM events AS e",
    "SELECT events FROM events",
    "FROM events",
    "SELECT e.queue FROM events e NATURAL JOIN events f",
    "SUMMARIZE events",
    "DESCRIBE events",
    "SELECT columns('q.*') FROM events",
    "SELECT #1 FROM events",
    "PIVOT events ON event USING count(*)",
    "CREATE TABLE x (i int)",
    "WITH e AS (SELECT * FROM events) SELECT queue FROM e",
    "not SQL at all",
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write(tmp_path / "talk.pcap", killed())


@pytest.mark.parametrize("query", ALL)
def test_a_query_that_may_need_every_column(query: str) -> None:
    assert _duckdb.columns_of(query) is None


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("SELECT count(*) FROM events", ["event"]),
        ("SELECT queue FROM events LIMIT 0", ["queue"]),
        ('SELECT Queue, "event" FROM events', ["event", "queue"]),
        ("SELECT e.event FROM events e JOIN events f USING (connection)", ["connection", "event"]),
        ("SELECT unnest(route) AS r FROM events ORDER BY time_us", ["route", "time_us"]),
        ("WITH a AS (SELECT queue FROM events) SELECT queue FROM a", ["queue"]),
        ("SELECT sum(body_size) OVER (PARTITION BY queue) FROM events", ["body_size", "queue"]),
    ],
)
def test_the_columns_that_a_query_names(query: str, columns: list[str], path: Path) -> None:
    assert _duckdb.columns_of(query) == columns
    assert analysis.sql(query, path).num_columns >= 1


@pytest.mark.parametrize("name", _questions.NAMES)
def test_questions_name_all_the_columns_that_they_use(name: str) -> None:
    question = _questions.load(name)
    columns = _duckdb.columns_of(question.query)
    assert columns is None or set(columns) <= set(question.columns)


def test_a_query(path: Path) -> None:
    table = analysis.sql("SELECT event, count(*) AS n FROM events GROUP BY ALL ORDER BY n", path)
    assert table.to_pylist()[-1] == {"event": "delivered", "n": 6}


def test_times_are_utc(path: Path) -> None:
    table = analysis.sql("SELECT max(timestamp) AS last FROM events", path)
    assert table.schema.field("last").type == pa.timestamp("us", "UTC")
    read = pa.table(capture.read(path, "event", ["timestamp"]))
    assert table["last"].to_pylist() == [max(read["timestamp"].to_pylist())]


def test_star_has_every_column(path: Path) -> None:
    table = analysis.sql("SELECT * FROM events", path)
    assert table.schema.names == pa.schema(capture.schema("event")).names
    assert table.num_rows == pa.table(capture.read(path, "event")).num_rows


@pytest.mark.parametrize("name", _questions.NAMES)
def test_rows_in_a_file_give_the_same_answer(
    name: str, path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    ask = getattr(analysis, name)
    assert ask(path, memory_bytes=0).equals(ask(path))
    assert list(folder.iterdir()) == []


def test_several_batches_in_a_file(path: Path) -> None:
    for name in ("queues", "messages"):
        ask = getattr(analysis, name)
        assert ask(path, memory_bytes=1000, batch_rows=5).equals(ask(path))


def test_the_file_is_removed_after_an_error(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with pytest.raises(duckdb.Error):
        analysis.sql("SELECT colour FROM events", path, memory_bytes=0)
    assert list(folder.iterdir()) == []


def test_what_is_refused(path: Path, tmp_path: Path) -> None:
    with pytest.raises(duckdb.BinderException, match="colour"):
        analysis.sql("SELECT colour FROM events", path)
    with pytest.raises(duckdb.ParserException):
        analysis.sql("SELEC", path)
    with pytest.raises(ValueError, match="a query is one SELECT"):
        analysis.sql("", path)
    target = tmp_path / "written.csv"
    for text in (
        f"COPY (SELECT 1) TO '{target}'",
        f"ATTACH '{target}'; SELECT 1",
        "CREATE TABLE t AS SELECT 1",
        "SELECT 1; SELECT 2",
        "DROP VIEW events",
    ):
        with pytest.raises(ValueError, match="a query is one SELECT"):
            analysis.sql(text, path)
    assert not target.exists()
    for name in ("level", "fields"):
        with pytest.raises(TypeError, match=f"'{name}' is chosen by the query"):
            analysis.queues(path, **{name: "frame"})
    with pytest.raises(FileNotFoundError):
        analysis.queues(tmp_path / "none.pcap")


def test_a_file_that_is_cut_is_warned_of(path: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(path.read_bytes()[:-5])
    with pytest.warns(capture.CaptureWarning, match=r"cut\.pcap: the last record is cut"):
        analysis.errors(cut)


def test_variables_of_python_are_no_tables(path: Path) -> None:
    secret = pa.table({"x": [1]})
    assert secret.num_rows
    with pytest.raises(duckdb.CatalogException, match="secret"):
        analysis.sql("SELECT * FROM secret", path)


def test_options_of_reading(path: Path) -> None:
    with pytest.warns(capture.CaptureWarning):
        assert analysis.queues(path, ports=9999).num_rows == 0
    with path.open("rb") as file:
        assert analysis.queues(file).equals(analysis.queues(path))


def test_several_files(tmp_path: Path) -> None:
    """connection tells the connections of files that are read separately apart."""
    paths = [write(tmp_path / name, working()) for name in ("a.pcap", "b.pcap")]
    assert analysis.connections(paths, files="separate").num_rows == 4
    assert analysis.unacked(paths, files="separate").num_rows == 4


def test_the_prelude_has_functions_of_spark() -> None:
    query = (
        "SELECT unix_micros(timestamp_micros(5)), regexp_like('abc', '^a'),"
        " nvl(NULL, 1), array_contains(['a'], 'a')"
    )
    table = _duckdb.run(query, [], pa.schema([("event", pa.string())]))
    assert [column[0].as_py() for column in table.columns] == [5, True, 1, True]
