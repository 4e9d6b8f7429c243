"""from_amqp and schema_of_amqp, as column functions and in SQL."""

from __future__ import annotations

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from pyspark.errors import AnalysisException  # noqa: E402
from pyspark.sql import functions as sf  # noqa: E402

from amqpcodec import spark as amqp  # noqa: E402
from amqpcodec.spark.functions import structs as functions  # noqa: E402
from tests.spark.frames import BEAT, BODY, ODD, OPEN, UNKNOWN, direct, framed, recorded, rows_of  # noqa: E402


def grouped(values, fields=None):
    """id → rows of batch.decode, without id."""
    rows = {i: [] for i, _ in enumerate(values)}
    for row in direct(values, fields and ["row", *fields]):
        rows[row.pop("id")].append(row)
    return rows


@pytest.mark.parametrize("partitions", [1, 4])
def test_a_struct_a_frame(way, spark, partitions):
    values = [*recorded(), None, b"", b"\x01\x00", UNKNOWN]
    expected = grouped(values)
    assert all(len(rows) < 2 for rows in expected.values())
    structs = framed(spark, values, partitions).select("id", amqp.from_amqp("frame").alias("f"))
    for row in rows_of(structs, "id"):
        assert [row["f"]] == (expected[row["id"]] or [None])


@pytest.mark.parametrize("large", ["false", "true"])
def test_an_array_of_all_frames(way, spark, large):
    values = [*ODD, *recorded()[:50], None, OPEN + BEAT]
    expected = grouped(values, ["method", "error", "frame"])
    schema = "array<struct<method string, error string, frame binary>>"
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", large)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "9")
    try:
        arrays = framed(spark, values, 2).select("id", amqp.from_amqp("frame", schema).alias("f"))
        arrays = rows_of(arrays, "id")
    finally:
        spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert len(arrays) == len(values)
    for row, value in zip(arrays, values, strict=True):
        assert row["f"] == (None if value is None else expected[row["id"]])


def test_more_frames_than_a_struct_holds(way, spark):
    schema = "method string, error string, _corrupt_record binary"
    frames = framed(spark, [OPEN, OPEN + BEAT, None, UNKNOWN + OPEN])
    structs = [r.f for r in frames.select(amqp.from_amqp("frame", schema).alias("f")).collect()]
    assert structs[0] == ("channel.open", None, None)
    assert structs[1].method == "channel.open"
    assert structs[1].error == "2 frames in one value: only the first is here"
    assert structs[1]._corrupt_record == OPEN + BEAT
    assert structs[2] is None
    assert "99" in structs[3].error
    strict = amqp.from_amqp("frame", "method string", {"MODE": "failfast"})
    with pytest.raises(Exception, match=r"partition \d, row \d: the value holds 2 frames"):
        frames.limit(2).select(strict).collect()


def test_corrupt_record_under_another_name(way, spark):
    options = {"columnnameofcorruptrecord": "bad"}
    frames = framed(spark, [OPEN, UNKNOWN])
    structs = frames.select(amqp.from_amqp("frame", "bad string, channel int", options).alias("f"))
    assert [tuple(row.f) for row in structs.collect()] == [(None, 1), (UNKNOWN.hex(), 1)]


def test_failfast(way, spark):
    frames = framed(spark, [OPEN, UNKNOWN])
    with pytest.raises(Exception, match=r"UnknownMethodError: partition \d, row \d: "):
        frames.select(amqp.from_amqp("frame", "channel int", {"mode": "FAILFAST"})).collect()


@pytest.mark.parametrize("bad", [UNKNOWN, OPEN + OPEN])
def test_failfast_counts_the_rows_of_the_task(spark, bad):
    setting = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(setting)
    spark.conf.set(setting, 2)
    try:
        frames = framed(spark, [OPEN] * 5 + [bad]).coalesce(1)
        with pytest.raises(Exception, match=r"partition 0, row 5: "):
            frames.select(amqp.from_amqp("frame", "channel int", {"mode": "FAILFAST"})).collect()
    finally:
        spark.conf.set(setting, before)


@pytest.mark.parametrize(
    ("schema", "options", "problem"),
    [
        (None, {"mode": "DROPMALFORMED"}, "mode is 'PERMISSIVE', 'FAILFAST' here"),
        ("int", None, "a struct or an array of one"),
        ("nothing int", None, "no column 'nothing'"),
        ("channel string", None, "channel is int"),
        (None, {"level": "packet"}, "level"),
    ],
)
def test_refused_before_anything_runs(spark, schema, options, problem):
    with pytest.raises(ValueError, match=problem):
        amqp.from_amqp("frame", schema, options)


def evaluations(frames, function) -> int:
    """How often a plan has a Python function run, where two parts of its result are used."""
    result = frames.withColumn("f", function).filter("f.channel = 1").select("f.method")
    plan = result._jdf.queryExecution().executedPlan().toString()
    assert result.collect() == [("channel.open",)]
    return plan.count("ArrowEvalPython [")


def test_evaluated_once(way, spark):
    frames = framed(spark, [OPEN, BEAT])
    assert evaluations(frames, amqp.from_amqp("frame", "channel int, method string")) == 1
    # What it would be otherwise, which is why it is marked.
    job = functions._Job.of("channel int, method string", functions.Options({}))
    if not hasattr(sf, "arrow_udf"):
        pytest.skip("before Spark 4.1 no function takes Arrow arrays")
    unmarked = sf.arrow_udf(lambda octets: job.run(octets), job.type)
    assert evaluations(frames, unmarked("frame")) == 2


@pytest.mark.parametrize("value", [OPEN, BODY, UNKNOWN, OPEN + BEAT + BODY, recorded()[40]])
def test_schema_takes_all_that_is_there(way, spark, value):
    [row] = spark.range(1).select(amqp.schema_of_amqp(value).alias("s")).collect()
    [value_row] = rows_of(framed(spark, [value]).select(amqp.from_amqp("frame", row.s).alias("f")))
    rows = value_row["f"] if isinstance(value_row["f"], list) else [value_row["f"]]
    expected = grouped([value])[0]
    names = {
        name for expected_row in expected for name, item in expected_row.items() if item is not None
    }
    assert set(rows[0]) == names
    for row, expected_row in zip(rows, expected, strict=True):
        for name, item in row.items():
            if name == "properties" and item is not None:
                members = {
                    key: part for key, part in expected_row[name].items() if part is not None
                }
                assert item == members
            else:
                assert item == expected_row[name]


def test_schema_of_nothing(way, spark):
    schemas = framed(spark, [None, b""]).select(amqp.schema_of_amqp("frame").alias("s"))
    assert [row.s for row in schemas.collect()] == [None, None]


def test_sql(spark):
    amqp.register(spark, functions={"amqp_heads": "channel int, method string"})
    values = [*recorded()[:40], UNKNOWN]
    framed(spark, values).createOrReplaceTempView("captured")
    query = "SELECT id, f.* FROM (SELECT id, from_amqp(frame) AS f FROM captured) ORDER BY id"
    result = spark.sql(query).toArrow()
    assert result.to_pylist() == direct(values)
    heads = spark.sql("SELECT amqp_heads(frame) AS h FROM captured")
    assert heads.schema.simpleString() == "struct<h:struct<channel:int,method:string>>"
    query = "SELECT amqp_heads(frame).method AS m, count(*) AS n FROM captured GROUP BY 1"
    counts = {row.m: row.n for row in spark.sql(query).collect()}
    methods = [row["method"] for row in direct(values)]
    assert counts == {method: methods.count(method) for method in set(methods)}
    [row] = spark.sql("SELECT schema_of_amqp(X'08000000000000CE') AS s").collect()
    assert row.s == "struct<offset: bigint, frame_type: string, channel: int, frame: binary>"


@pytest.mark.parametrize(
    ("call", "of_python"),
    [
        ("from_amqp(frame, 'channel INT, method STRING')", ("channel int, method string",)),
        (
            "from_amqp(frame, 'ARRAY<STRUCT<method: STRING, bad: BINARY>>', "
            "map('mode', 'permissive', 'columnNameOfCorruptRecord', 'bad'))",
            ("array<struct<method string, bad binary>>", {"columnNameOfCorruptRecord": "bad"}),
        ),
        (
            "from_amqp(frame, concat('method ', 'STRING, body BINARY'), map('level', 'message'))",
            ("method string, body binary", {"level": "message"}),
        ),
        (
            f"from_amqp(frame, schema_of_amqp(X'{OPEN.hex()}'))",
            ("struct<offset: bigint, frame_type: string, channel: int, method: string, "
             "arguments: string, frame: binary>",),
        ),
    ],
)  # fmt: skip
def test_sql_takes_what_from_json_takes(spark, call, of_python):
    amqp.register(spark)
    values = [*recorded()[:40], UNKNOWN, None, b""]
    table = framed(spark, values)
    table.createOrReplaceTempView("captured")
    result = spark.sql(f"SELECT id, {call} AS f FROM captured")
    expected = table.select("id", amqp.from_amqp("frame", *of_python).alias("f"))
    assert result.schema == expected.schema
    assert rows_of(result, "id") == rows_of(expected, "id")
    assert result.where("f IS NOT NULL").count() > 30


def test_sql_in_a_view_and_an_expression(spark):
    amqp.register(spark)
    framed(spark, [OPEN, BEAT, OPEN]).createOrReplaceTempView("captured")
    spark.sql(
        "CREATE OR REPLACE TEMP VIEW methods AS "
        "SELECT from_amqp(frame, 'method STRING').method AS m FROM captured"
    )
    counted = spark.sql("SELECT m, count(*) AS n FROM methods GROUP BY m ORDER BY m NULLS FIRST")
    assert counted.collect() == [(None, 1), ("channel.open", 2)]
    channels = spark.table("captured").selectExpr("from_amqp(frame, 'channel INT').channel AS c")
    assert [row.c for row in channels.collect()] == [1, 0, 1]


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("from_amqp(frame, 'chanel INT')", "no column 'chanel'"),
        ("from_amqp(frame, 'channel INTT')", "INTT"),
        ("from_amqp(frame, 'channel INT', map('moed', 'x'))", "did you mean mode"),
        ("from_amqp(frame, 'channel INT', 'x')", "(?i)options"),
        ("from_amqp(frame, method)", "captured.method is not the same for all rows"),
        ("from_amqp(frame, NULL)", "the schema of from_amqp is text, not None"),
        ("from_amqp(method)", "'captured.method' is string, and frames are binary"),
        ("from_amqp()", "takes 1 to 3 arguments, not 0"),
        ("schema_of_amqp(frame, map(), 1)", "takes 1 to 2 arguments, not 3"),
    ],
)
def test_sql_is_refused_before_anything_runs(spark, call, problem):
    amqp.register(spark)
    framed(spark, [OPEN]).selectExpr("*", "'x' AS method").createOrReplaceTempView("captured")
    with pytest.raises(Exception, match=problem):
        spark.sql(f"SELECT {call} FROM captured")


def test_sql_failfast(spark):
    amqp.register(spark)
    framed(spark, [OPEN, UNKNOWN]).createOrReplaceTempView("captured")
    query = "SELECT from_amqp(frame, 'channel INT', map('mode', 'FAILFAST')) FROM captured"
    with pytest.raises(Exception, match=r"UnknownMethodError: partition \d, row \d"):
        spark.sql(query).collect()


def test_sql_evaluates_once(spark):
    amqp.register(spark)
    framed(spark, [OPEN, BEAT]).createOrReplaceTempView("captured")
    result = spark.sql(
        "SELECT f.method FROM (SELECT from_amqp(frame) AS f FROM captured) WHERE f.channel = 1"
    )
    plan = result._jdf.queryExecution().executedPlan().toString()
    assert plan.count("ArrowEvalPython [") == 1
    assert result.collect() == [("channel.open",)]


def test_a_schema_that_schema_of_amqp_tells(spark):
    frames = framed(spark, [OPEN, None])
    for schema in (amqp.schema_of_amqp(OPEN), sf.lit("struct<channel: int, method: string>")):
        methods = frames.select(amqp.from_amqp("frame", schema).alias("f")).select("f.method")
        assert [row.method for row in methods.collect()] == ["channel.open", None]
    with pytest.raises(ValueError, match="the type of a function is fixed before a job starts"):
        amqp.from_amqp("frame", sf.col("frame"))


@pytest.mark.parametrize("function", [amqp.from_amqp, amqp.schema_of_amqp])
def test_a_column_that_is_not_binary_is_refused(spark, function):
    texts = spark.createDataFrame([("0100", 1)], "frame string, number int")
    for name, type_ in (("frame", "STRING"), ("number", "INT")):
        refused = f'requires the "BINARY" type, however "{name}" has the type "{type_}"'
        for column in (name, sf.col(name)):
            with pytest.raises(AnalysisException, match=refused):
                texts.select(function(column))
    nothing = texts.select(function(sf.lit(None).cast("binary")).alias("a")).collect()
    assert [row.a for row in nothing] == [None]


@pytest.mark.parametrize("schema", ["method string", "array<struct<method string>>"])
def test_a_batch_of_nulls_alone(way, spark, schema):
    frames = spark.createDataFrame([(None,), (None,)], "frame binary")
    columns = amqp.from_amqp("frame", schema).alias("a"), amqp.schema_of_amqp("frame").alias("s")
    assert [tuple(row) for row in frames.select(*columns).collect()] == [(None, None)] * 2


def test_a_name_says_what_the_function_is_given(way, spark):
    messages = spark.createDataFrame([("e", b"x")], "exchange string, body binary")
    sent = amqp.to_amqp(sf.struct("exchange", "body"))
    heads = messages.select(amqp.from_amqp(sent, "array<struct<method: string>>"))
    assert heads.columns[0].startswith("from_amqp(to_amqp(struct(")
    assert len(heads.columns[0]) < 60


def test_a_registered_function_refuses_text_in_its_task(spark):
    amqp.register(spark, functions={"amqp_heads": "channel int"})
    texts = spark.createDataFrame([("0100",)], "frame string")
    with pytest.raises(Exception, match=r"TypeError: .* is string, and frames are binary: unhex"):
        texts.selectExpr("amqp_heads(frame)").collect()


def test_the_refusal_of_text_costs_nothing(spark):
    messages = spark.createDataFrame([("e", b"x")], "exchange string, body binary")
    sent = amqp.to_amqp("exchange", "body")
    heads = messages.select(amqp.from_amqp(sent, "array<struct<method: string>>"))
    assert heads.columns[0].startswith("from_amqp(to_amqp(")
    plan = heads._jdf.queryExecution().executedPlan().toString()
    _projection, evaluated = plan.split("ArrowEvalPython", 1)
    assert evaluated.count("to_amqp(") == 1
    assert "bitmap" not in evaluated
    [row] = heads.collect()
    assert [frame.method for frame in row[0]] == ["basic.publish", None, None]
    default_names = framed(spark, [OPEN]).select(
        amqp.from_amqp("frame"), amqp.schema_of_amqp("frame")
    )
    assert default_names.columns == ["from_amqp(frame)", "schema_of_amqp(frame)"]
