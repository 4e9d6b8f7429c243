"""Captures as tables of a catalog, and options that are told before a job starts."""

from __future__ import annotations

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from amqpcodec import spark as amqp  # noqa: E402
from tests.spark.frames import RECORDING  # noqa: E402


@pytest.fixture(scope="module")
def sql(spark):
    amqp.register(spark)
    table_names = []

    def run(text):
        if text.startswith("CREATE TABLE"):
            table_names.append(text.split()[2])
        return spark.sql(text)

    yield run
    for name in table_names:
        spark.sql(f"DROP TABLE IF EXISTS {name}")


COUNT = "count(*) AS n, count(DISTINCT channel) AS channels"


@pytest.mark.parametrize(
    "clause", ["LOCATION '{0}'", "OPTIONS (path '{0}')", "OPTIONS (ports '5672') LOCATION '{0}'"]
)
def test_a_table_reads_back(spark, sql, clause):
    name = f"t{abs(hash(clause))}"
    sql(f"CREATE TABLE {name} USING amqp_capture {clause.format(RECORDING)}")
    expected = spark.read.format("amqp_capture").load(str(RECORDING))
    assert (
        sql(f"SELECT {COUNT} FROM {name}").collect()
        == expected.selectExpr("count(*) AS n", "count(DISTINCT channel) AS channels").collect()
    )
    assert sql(f"SELECT * FROM {name}").columns == expected.columns


def test_a_table_keeps_its_options_and_no_secret(spark, sql):
    sql(
        "CREATE TABLE kept_options USING amqp_capture OPTIONS (level 'message', "
        f"fields 'method,body', mode 'DROPMALFORMED', path '{RECORDING}', fs.s3a.secret.key 'hush')"
    )
    table = spark.table("kept_options")
    assert table.columns == ["method", "body"]
    assert "hush" not in table.schema.json()
    options = {"level": "message", "fields": "method,body", "mode": "DROPMALFORMED"}
    expected = spark.read.format("amqp_capture").options(**options).load(str(RECORDING))
    assert sorted(table.collect()) == sorted(expected.collect())
    assert "amqp_capture" not in expected.schema.json()


def test_a_table_with_columns_of_its_own_says_what_to_do(sql):
    sql(f"CREATE TABLE own (channel int) USING amqp_capture OPTIONS (path '{RECORDING}')")
    with pytest.raises(Exception, match="made with columns of its own"):
        sql("SELECT * FROM own").collect()
    assert sql(f"SELECT * FROM own WITH (`path` = '{RECORDING}')").count() == 1000


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"prots": "5672"}, "no option 'prots'; did you mean ports"),
        ({"failOnDataLoss": "true"}, "no option 'failondataloss'; there is path, paths, ports"),
        ({"modifiedAfter": "yesterday"}, "modifiedAfter is a time"),
    ],
)
@pytest.mark.parametrize("schema", [None, "channel int"])
def test_options_are_told_before_a_job_starts(spark, sql, options, problem, schema):
    reader = spark.read.format("amqp_capture").options(**options)
    if schema:
        reader = reader.schema(schema)
    with pytest.raises(Exception, match=problem):
        planned(spark, reader)


def planned(spark, reader):
    """Read, where planning must fail: no job may have begun then."""
    context = spark.sparkContext
    context.setJobGroup("planned", "")
    try:
        reader.load(str(RECORDING)).collect()
    finally:
        assert not context.statusTracker().getJobIdsForGroup("planned")
        context.setLocalProperty("spark.jobGroup.id", None)


@pytest.mark.parametrize(
    ("ddl", "problem"),
    [
        ("chanel int", "no column 'chanel'"),
        ("channel string", "column channel is int, which the schema calls string"),
        ("properties struct<no_such: string>", "no 'no_such' in properties"),
    ],
)
def test_wrong_columns_are_told_before_a_job_starts(spark, sql, ddl, problem):
    with pytest.raises(Exception, match=problem):
        planned(spark, spark.read.format("amqp_capture").schema(ddl))
    with pytest.raises(Exception, match="no option 'prots'"):
        sql(f"CREATE TABLE no USING amqp_capture OPTIONS (prots '1', path '{RECORDING}')")


def test_options_of_functions(spark):
    with pytest.raises(ValueError, match="no option 'protocl'; did you mean protocol"):
        amqp.from_amqp("frame", options={"protocl": "1.0"})
    with pytest.raises(ValueError, match="no option 'framemx'; did you mean frameMax"):
        amqp.to_amqp("body", options={"frameMx": 1})
    with pytest.raises(Exception, match="no option 'prots'"):
        amqp.capture_stats(spark, str(RECORDING), {"prots": "1"}).collect()
