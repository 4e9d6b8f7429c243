"""Messages, single arguments, properties and headers, and tables as variants and maps: on Spark as
batch.decode and capture.read have them."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from pyspark.sql import functions as sf  # noqa: E402
from pyspark.sql.types import VariantVal  # noqa: E402

from amqpcodec import batch, capture  # noqa: E402
from amqpcodec import spark as amqp  # noqa: E402
from amqpcodec import v0_9_1 as wire  # noqa: E402
from tests.columns import variants  # noqa: E402
from tests.spark.frames import OPEN, RECORDING, UNKNOWN, framed, recorded, rows_of  # noqa: E402

HEADERS = {"n": 1, "text": "x", "none": None, "list": [1, {"a": 2.5}], "big": 2**40}
PROPERTIES = wire.Basic.Properties(message_id="m1", type="t", headers=HEADERS)


def message(body: bytes = b"hello", headers: dict | None = None) -> bytes:
    properties = PROPERTIES if headers is None else wire.Basic.Properties(headers=headers)
    publish = wire.Basic.Publish(exchange="orders", routing_key="eu", mandatory=True)
    return wire.encode_message(1, publish, properties, body, frame_max=500)


DECLARE = wire.encode(1, wire.Queue.Declare(queue="q1", durable=True, arguments={"x": "y", "n": 1}))
WHOLE = [message(), None, DECLARE, b"", message(b"") + DECLARE, message(b"x" * 1200, {}), UNKNOWN]
CUT = [message()[:-30], message(), message()[:60]]
FIELDS = [
    *("queue", "queue.declare.arguments", "basic.publish.mandatory", "properties.message_id"),
    *(
        "properties_json",
        "headers.n:long",
        "headers.text",
        "headers.text:string",
        "method",
        "error",
    ),
]


def direct(values, fields=None, level="message", mode="PERMISSIVE", field_tables="json"):
    array = pa.array(values, pa.binary())
    rows = batch.decode(array, "0-9-1", level, fields, mode, field_tables=field_tables)
    rows = pa.record_batch(rows).to_pylist(maps_as_pydicts="strict")
    return [{"id": row.pop("row"), **row} for row in rows] if fields is None else rows


def in_order(rows):
    return sorted(rows, key=repr)


def collected(frame):
    """Rows as dicts. Spark's own toArrow() cannot take variants that are null."""

    def plain(value):
        if isinstance(value, VariantVal):
            return {"value": bytes(value.value), "metadata": bytes(value.metadata)}
        if isinstance(value, dict):
            return {key: plain(member) for key, member in value.items()}
        if isinstance(value, datetime):
            return value.astimezone(UTC)
        return bytes(value) if isinstance(value, bytearray) else value

    return [plain(row.asDict(recursive=True)) for row in frame.collect()]


def as_collected(rows):
    """What pyarrow gave, with times in one zone."""

    def plain(value):
        if isinstance(value, dict):
            return {key: plain(member) for key, member in value.items()}
        return value.astimezone(UTC) if isinstance(value, datetime) else value

    return [plain(row) for row in rows]


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED"])
def test_messages(spark, mode):
    values = [*recorded(), *WHOLE]
    messages = amqp.decode(framed(spark, values, 1), keep=["id"], level="Message", mode=mode)
    expected = direct(values, mode=mode)
    assert len(expected) > 300
    assert in_order(rows_of(messages)) == in_order(expected)
    assert {"exchange", "body", "reply_code"} < set(messages.columns)


@pytest.mark.parametrize("level", ["frame", "message"])
@pytest.mark.parametrize("field_tables", ["json", "variant", "map"])
def test_every_kind_of_field(spark, level, field_tables):
    values = [*recorded(), *WHOLE]
    result = amqp.decode(
        framed(spark, values, 1), fields=FIELDS, level=level, field_tables=field_tables
    )
    assert result.columns == FIELDS
    expected = as_collected(direct(values, FIELDS, level, field_tables=field_tables))
    assert in_order(collected(result)) == in_order(expected)
    for name in FIELDS:
        assert [row for row in expected if row[name] is not None], name


def test_schema_strings_name_them_too(spark):
    ddl = (
        "queue string, `properties.message_id` string, `headers.n` bigint, `headers.n:long` long, "
        "`headers.text:string` string, `headers.missing` timestamp, "
        "`basic.publish.mandatory` boolean"
    )
    rows = amqp.decode(framed(spark, WHOLE), fields=ddl, level="message").collect()
    assert tuple(rows[0]) == (None, "m1", 1, 1, "x", None, True)
    assert tuple(rows[1])[:2] == ("q1", None)


def test_decimals(spark):
    """By name, by DDL and by from_amqp, and back; what does not fit is null with an error."""
    prices = [Decimal("1.50"), Decimal("1.505"), 7, "free"]
    values = [message(headers={"price": price}) for price in prices]
    expected = [Decimal("1.50"), None, Decimal("7.00"), None]
    column = "headers.price:decimal(10,2)"
    prices_table = amqp.decode(framed(spark, values, 1), fields=[column, "error"], level="message")
    assert prices_table.schema[column].dataType.simpleString() == "decimal(10,2)"
    rows = prices_table.collect()
    assert [row[column] for row in rows] == expected
    assert [row.error is None for row in rows] == [True, False, True, True]
    ddl = "`headers.price` decimal(10,2)"
    prices_table = amqp.decode(framed(spark, values, 1), fields=ddl, level="message")
    assert [row[0] for row in prices_table.collect()] == expected
    one = amqp.from_amqp("frame", ddl, {"level": "message"}).alias("m")
    read = framed(spark, values, 1).select(one).select("m.`headers.price`")
    assert [row[0] for row in read.collect()] == expected
    written = read.select(amqp.to_amqp(sf.struct("`headers.price`")).alias("frame"))
    back = direct([row.frame for row in written.collect()], ["headers.price"])
    text = ['{"$decimal":"1.50"}', None, '{"$decimal":"7.00"}', None]
    assert [row["headers.price"] for row in back] == text
    large = spark.createDataFrame([(Decimal("99999999.99"),)], "`headers.price` decimal(10,2)")
    written = large.select(amqp.to_amqp(sf.struct("`headers.price`")).alias("frame"))
    assert [row.frame for row in written.collect()] == [None], "D has 32 bits"


VARIANT_DDL = "method string, properties struct<message_id: string, headers: variant>"


def test_variants(spark):
    table = amqp.decode(framed(spark, WHOLE), fields=VARIANT_DDL, level="message")
    assert table.schema.simpleString() == (
        "struct<method:string,properties:struct<message_id:string,headers:variant>>"
    )
    first = (
        table.where("properties.message_id = 'm1'")
        .limit(1)
        .selectExpr(
            "variant_get(properties.headers, '$.n', 'int') AS n",
            "variant_get(properties.headers, '$.list[1].a', 'double') AS a",
            "variant_get(properties.headers, '$.big', 'bigint') AS big",
            "to_json(properties.headers) AS json",
            "schema_of_variant(properties.headers) AS type",
            "is_variant_null(variant_get(properties.headers, '$.none')) AS none",
        )
    )
    [row] = first.collect()
    assert (row.n, row.a, row.big, row.none) == (1, 2.5, 2**40, True)
    assert row.json == '{"big":1099511627776,"list":[1,{"a":2.5}],"n":1,"none":null,"text":"x"}'
    assert row.type.startswith("OBJECT<big: BIGINT, list: ARRAY<VARIANT>, n: BIGINT, none: VOID")
    assert table.where("properties.headers IS NULL").count() == 3


def test_variants_by_way_of_parquet_and_pandas(spark, tmp_path):
    table = amqp.decode(
        framed(spark, WHOLE), fields=["properties.headers", "method"], field_tables="VARIANT"
    ).withColumnRenamed("properties.headers", "headers")
    table.write.parquet(str(tmp_path / "x"))
    back = spark.read.parquet(str(tmp_path / "x"))
    assert back.schema["headers"].dataType.simpleString() == "variant"
    texts = [
        sorted(str(row.j) for row in variant_table.selectExpr("to_json(headers) AS j").collect())
        for variant_table in (table, back)
    ]
    assert texts[0] == texts[1]
    assert "None" in texts[0]
    frame = table.where("headers IS NOT NULL").toPandas()
    assert frame["headers"][0].toPython() == HEADERS
    header_values = [variants.read(v.value, v.metadata) for v in frame["headers"]]
    assert {} in header_values


def test_odd_tables_as_variants_do_not_end_the_job(spark):
    """Keys twice, keys that are no text, keys that Spark orders in another way than bytes."""
    twice = wire.encode(1, wire.Header(0, wire.Basic.Properties(headers={"aa": 1, "bb": 2})))
    values = [twice.replace(b"bb", b"aa"), twice.replace(b"bb", b"\xff\xff")]
    values.append(message(b"", {"\uffee": 1, "\U00010000": 2, **{f"k{i}": i for i in range(40)}}))
    values.append(message(b"", {"x": float("nan"), "y": b"\xff", "$z": 2**62}))
    table = amqp.decode(
        framed(spark, values), fields=["properties.headers"], field_tables="variant"
    )
    table = table.toDF("h").where("h IS NOT NULL")
    texts = [row.j for row in table.selectExpr("to_json(h) AS j").collect()]
    assert texts[0] == '{"$table":[["aa",1],["aa",2]]}'
    assert texts[1] == '{"$key://8=":2,"aa":1}'
    assert texts[2].startswith('{"$table":[[')
    assert texts[3] == '{"$$z":4611686018427387904,"x":"NaN","y":"/w=="}'
    assert table.selectExpr("schema_of_variant(h) AS t").where("t IS NULL").count() == 0
    assert table.selectExpr("schema_of_variant_agg(h) AS t").collect()[0].t.startswith("OBJECT<")


def test_maps(spark):
    ddl = "properties struct<headers: map<string, string>>"
    table = amqp.decode(framed(spark, WHOLE), fields=ddl, level="message")
    [row] = table.where("properties.headers['n'] = '1'").limit(1).collect()
    assert row.properties.headers == {
        **{"n": "1", "text": "x", "none": None, "list": '[1,{"a":2.5}]', "big": "1099511627776"}
    }
    assert table.where("map_contains_key(properties.headers, 'none')").count() == 2


# ---- from_amqp ----


@pytest.mark.parametrize("mode", ["PERMISSIVE", "FAILFAST"])
def test_whole_messages_in_a_column(spark, mode):
    values = [value for value in WHOLE if value != UNKNOWN and value != WHOLE[4]]
    schema = "struct<method string, body binary, exchange string, error string, `headers.n` bigint>"
    options = {"LEVEL": "message", "mode": mode}
    messages = framed(spark, values).select(
        "id", amqp.from_amqp("frame", schema, options).alias("m")
    )
    rows = {row.id: row.m for row in messages.collect()}
    fields = ["method", "body", "exchange", "error", "headers.n:long"]
    for number, value in enumerate(values):
        expected = direct([value], fields)
        assert (rows[number] is None) == (not expected)
        if expected:
            assert tuple(rows[number]) == tuple(expected[0].values())


def test_a_message_does_not_go_on_in_the_next_value(spark):
    encoded_message = message()
    at = len(wire.encode(1, wire.Basic.Publish(exchange="orders", routing_key="eu")))
    values = [
        encoded_message[:at],
        encoded_message[at:],
        message(),
        encoded_message[:at],
        None,
        encoded_message[at:] + message(),
    ]
    schema = "array<struct<method string, body binary, error string, _corrupt_record binary>>"
    options = {"level": "message"}
    messages = framed(spark, values).select(
        "id", amqp.from_amqp("frame", schema, options).alias("m")
    )
    rows = {row.id: row.m for row in messages.collect()}
    fields = ["method", "body", "error", "frame"]
    for number, value in enumerate(values):
        expected = direct([value], fields)
        expected = [
            (e["method"], e["body"], e["error"], e["frame"] if e["error"] else None)
            for e in expected
        ]
        assert (rows[number] or []) == expected
    assert rows[0][0].error
    strict = amqp.from_amqp("frame", schema, {**options, "mode": "FAILFAST"})
    with pytest.raises(Exception, match="ended inside a message"):
        framed(spark, values).select(strict).collect()


def test_more_than_one_message(spark):
    options = {"level": "message"}
    schema = "method string, error string"
    messages = framed(spark, [message() + DECLARE]).select(amqp.from_amqp("frame", schema, options))
    assert tuple(messages.collect()[0][0]) == (
        "basic.publish",
        "2 messages in one value: only the first is here",
    )


@pytest.mark.parametrize("field_tables", ["variant", "map"])
def test_tables_in_a_column(spark, field_tables):
    options = {"level": "message", "FieldTables": field_tables}
    schema = {"variant": "variant", "map": "map<string, string>"}[field_tables]
    by_option = amqp.from_amqp("frame", None, options).alias("m")
    by_schema = amqp.from_amqp(
        "frame", f"properties struct<headers: {schema}>", {"level": "message"}
    )
    table = framed(spark, [message()]).select(by_option, by_schema.alias("t"))
    header_columns = table.selectExpr("m.properties.headers AS h", "t.properties.headers AS i")
    one, other = header_columns.toArrow().to_pylist(maps_as_pydicts="strict")[0].values()
    assert one == other
    expected = direct([message()], ["properties.headers"], field_tables=field_tables)
    assert one == expected[0]["properties.headers"]


def test_schema_of_messages(spark):
    options = {"level": "message", "field_tables": "variant"}
    [row] = (
        framed(spark, [DECLARE + message()])
        .select(amqp.schema_of_amqp("frame", options).alias("s"))
        .collect()
    )
    assert row.s.startswith("array<struct<channel: int, method: string, exchange: string")
    assert "headers:variant" in row.s
    table = framed(spark, [DECLARE + message()])
    messages = table.select(sf.explode(amqp.from_amqp("frame", row.s, {"level": "message"})))
    assert [message.method for (message,) in messages.collect()] == [
        "queue.declare",
        "basic.publish",
    ]


@pytest.mark.parametrize(
    ("fields", "field_tables", "problem"),
    [
        (None, "xml", "field_tables is 'json', 'variant', 'map', not 'xml'"),
        ("properties struct<headers: variant>", "map", "headers is map<string,string>, which"),
        ("properties struct<headers: variant>, queue map<string,string>", None, "not both"),
        ("`headers.n` int", None, "headers.n is string, which the schema calls int"),
        ("frame variant", None, "frame is binary, which the schema calls variant"),
    ],
)
def test_refused(spark, fields, field_tables, problem):
    with pytest.raises(ValueError, match=problem):
        amqp.decode(framed(spark, [OPEN]), fields=fields, field_tables=field_tables)


# ---- amqp_capture ----


@pytest.fixture(scope="module")
def captures(spark):
    amqp.register(spark)
    return lambda: spark.read.format("amqp_capture")


@pytest.mark.parametrize("field_tables", ["json", "variant", "map"])
def test_messages_of_captures(captures, field_tables):
    reader = captures().options(LEVEL="Message", fields="*", field_tables=field_tables.upper())
    rows = reader.load(str(RECORDING))
    expected = []
    for exported_batch in capture.read(str(RECORDING), level="message", field_tables=field_tables):
        expected += pa.record_batch(exported_batch).to_pylist(maps_as_pydicts="strict")
    assert in_order(collected(rows)) == in_order(as_collected(expected))
    assert len(expected) > 300
    schema = pa.schema(capture.schema("message", field_tables=field_tables))
    assert rows.columns == schema.names


def test_fields_of_captures(captures):
    names = ["direction", *FIELDS]
    for level in ("frame", "message"):
        reader = captures().option("level", level).option("fields", ",".join(names))
        expected = []
        for exported_batch in capture.read(str(RECORDING), level, names):
            expected += pa.record_batch(exported_batch).to_pylist()
        assert in_order(rows_of(reader.load(str(RECORDING)))) == in_order(expected)


def test_schemas_of_captures(captures):
    ddl = "timestamp timestamp, queue string, properties struct<headers: variant>, "
    ddl += "`headers.task:string` string, _corrupt_record string, error string"
    table = captures().option("level", "message").schema(ddl).load(str(RECORDING))
    assert table.where("queue IS NOT NULL").count() > 10
    tasks = table.where("`headers.task:string` IS NOT NULL")
    same = tasks.where(
        "variant_get(properties.headers, '$.task', 'string') = `headers.task:string`"
    )
    assert tasks.count() == same.count() > 10
    assert table.where("(_corrupt_record IS NULL) <> (error IS NULL)").count() == 0
