"""What Spark's users see of wrong options and schemas; columns of messages by their own names."""

from __future__ import annotations

from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark.sql.datasource")

from pyspark.errors import AnalysisException  # noqa: E402

from amqpcodec import capture  # noqa: E402
from amqpcodec import spark as amqp  # noqa: E402
from tests.spark.frames import RECORDING  # noqa: E402

HIDE = "spark.sql.execution.pyspark.udf.hideTraceback.enabled"
IDS = ("message_id", "correlation_id", "reply_to")
PATH = str(RECORDING)


def refused(call: Any) -> AnalysisException:
    """What a call raises: Spark's exception, and a ValueError."""
    with pytest.raises(AnalysisException) as caught:
        call()
    assert isinstance(caught.value, ValueError)
    return caught.value


def test_functions_raise_sparks_own_exception(spark: Any) -> None:
    frames = spark.createDataFrame([(b"", "x")], "frame binary, name string")
    calls = {
        "no option 'prots'; did you mean ports": lambda: amqp.read_captures(
            spark, PATH, {"prots": "1"}
        ),
        "no column 'nothing' at frame level": lambda: amqp.read_captures(
            spark, PATH, schema="nothing int"
        ),
        "column channel is int, which the schema calls string": lambda: amqp.decode(
            frames, fields="channel string"
        ),
        "mode is 'PERMISSIVE', ": lambda: amqp.decode(frames, mode="STRICT"),
        "no option 'protocl'": lambda: amqp.from_amqp("frame", options={"protocl": "1.0"}),
        "no option 'framemx'": lambda: amqp.to_amqp("body", options={"frameMx": 1}),
        "no column 'nothing'": lambda: amqp.decode_captures(frames, "frame", fields=["nothing"]),
        "no option 'stateplace'": lambda: amqp.index_captures(spark, PATH, {"statePlace": "x"}),
        "'nothing' is no question": lambda: amqp.analysis("nothing", frames),
    }
    for sentence, call in calls.items():
        assert str(refused(call)).startswith(sentence)


def test_the_format_says_the_sentence_where_spark_hides_tracebacks(spark: Any) -> None:
    amqp.register(spark)
    reader = spark.read.format("amqp_capture").option("prots", "1")
    with pytest.raises(AnalysisException, match="ValueError: no option 'prots'; did you mean"):
        reader.load(PATH)
    spark.conf.set(HIDE, "true")
    try:
        with pytest.raises(AnalysisException) as caught:
            reader.load(PATH)
    finally:
        spark.conf.unset(HIDE)
    first = str(caught.value).split(": ", 2)
    assert first[1:][1].startswith("no option 'prots'; did you mean ports?")


def test_ids_are_columns_of_messages(spark: Any) -> None:
    amqp.register(spark)
    fields = [f"properties.{name}" for name in IDS]
    expected = pa.table(capture.read(PATH, "message", ["packet_offset", *fields])).to_pylist()
    found = sorted((tuple(row.values()) for row in expected), key=str)
    loaded = spark.read.format("amqp_capture").option("level", "message").load(PATH)
    tables = [loaded, amqp.read_captures(spark, PATH, {"level": "message"})]
    tables.append(
        amqp.decode_captures(
            spark.createDataFrame([(RECORDING.read_bytes(),)], "content binary"), level="message"
        )
    )
    for table in tables:
        assert set(IDS) < set(table.columns)
        assert "properties" not in table.columns
        rows = table.select("packet_offset", *IDS).collect()
        assert sorted(map(tuple, rows), key=str) == found
    assert any(row["properties.message_id"] or row["properties.reply_to"] for row in expected)


def test_ids_by_names_and_by_a_schema(spark: Any) -> None:
    options = {"level": "message"}
    names = {**options, "fields": "message_id,properties.correlation_id,reply_to"}
    table = amqp.read_captures(spark, PATH, names)
    assert table.columns == ["message_id", "properties.correlation_id", "reply_to"]
    with pytest.raises(ValueError, match=r"fields names 'properties\.reply_to' twice"):
        amqp.read_captures(spark, PATH, {**options, "fields": "reply_to,properties.reply_to"})
    schema = "reply_to string, method string"
    typed = amqp.read_captures(spark, PATH, options, schema)
    assert typed.schema.simpleString() == "struct<reply_to:string,method:string>"
    assert sorted(row.reply_to or "" for row in typed.collect()) == sorted(
        row.reply_to or "" for row in table.collect()
    )
    for name in ("message_id", "reply_to"):
        with pytest.raises(ValueError, match=f"no column '{name}'"):
            amqp.read_captures(spark, PATH, {"fields": name})
    v1 = amqp.read_captures(spark, PATH, {**options, "protocol": "1.0"})
    assert set(IDS) < set(v1.columns)
