"""What is asked of the decoder, told by names and schemas; no session is needed."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")
pa = pytest.importorskip("pyarrow")

from pyspark.sql.types import BinaryType, StringType, StructType  # noqa: E402

from amqpcodec import batch  # noqa: E402
from amqpcodec.spark.functions import frames  # noqa: E402
from amqpcodec.spark.planning import columns, options  # noqa: E402
from tests.spark.frames import BODY, ODD, OPEN, UNKNOWN  # noqa: E402


def make(requested_columns, corrupt="_corrupt_record"):
    return frames.plan_of_batch("0-9-1", "frame", requested_columns, corrupt)


def struct(name, type_):
    return StructType().add(name, type_)


def test_all_but_row():
    names = pa.schema(batch.schema("0-9-1", "frame", None, "plain")).names
    assert list(make(None).fields) == [name for name in names if name != "row"]


def test_names_and_their_order():
    plan = make(["method", "channel"])
    assert plan.fields == ("method", "channel")
    assert plan.schema.simpleString() == "struct<method:string,channel:int>"


def test_all_others():
    plan = make(["method", "*", "queue"])
    others = [name for name in make(None).fields if name != "method"]
    assert plan.fields == ("method", *others, "queue")
    assert plan.schema.names == list(plan.fields)
    with pytest.raises(ValueError, match=r"no column '\*'"):
        make(["*", "*"])


def test_schema_prunes_and_orders():
    schema = StructType().add("method", "string").add("properties", struct("type", "string"))
    plan = make(schema)
    assert plan.fields == ("method", "properties")
    assert plan.schema is schema


def test_corrupt_record_asks_for_octets_and_error():
    schema = StructType().add("_corrupt_record", "binary").add("error", "string")
    plan = make(schema)
    assert plan.fields == ("error", "frame")
    assert plan.sources == (-1, 0)


@pytest.mark.parametrize(
    ("requested_columns", "problem"),
    [
        (["nothing"], "no column 'nothing'"),
        (["row"], "row counts within"),
        ([], "names no column"),
        (StructType(), "names no column"),
        (StructType().add("channel", "string"), "channel is int, which the schema calls string"),
        (StructType().add("properties", struct("a", "string")), "no 'a' in properties"),
        (
            StructType().add("properties", struct("timestamp", "long")),
            "properties.timestamp is timestamp, which the schema calls bigint",
        ),
        (StructType().add("_corrupt_record", "integer"), "string or binary"),
    ],
)
def test_refused(requested_columns, problem):
    with pytest.raises(ValueError, match=problem):
        make(requested_columns)


def test_a_word_is_not_a_list_of_letters():
    with pytest.raises(TypeError, match="names in a list"):
        make("method")


def test_decimals_are_asked_for_by_their_type():
    """Also of AMQP 1.0, and where the name says the type already."""
    for protocol, prefix in (("0-9-1", "headers."), ("1.0", "application_properties.")):
        schema = StructType().add(f"{prefix}a", "decimal(10,2)").add(f"{prefix}n", "long")
        schema = schema.add(f"{prefix}b:decimal(9,1)", "decimal(9,1)")

        def schema_of(names, tables, protocol=protocol):
            return batch.schema(protocol, "message", names)

        fields = (f"{prefix}a:decimal(10,2)", f"{prefix}n:long", f"{prefix}b:decimal(9,1)")
        assert columns.plan(schema_of, schema).fields == fields
        with pytest.raises(ValueError, match="at most 38 digits; ask for fewer"):
            columns.plan(schema_of, [f"{prefix}a:decimal(39,2)"])


@pytest.mark.parametrize(
    ("type_", "column"),
    [("string", "headers.n"), ("long", "headers.n:long"), ("double", "headers.n:double")],
)
def test_a_header_is_asked_for_by_its_type(type_, column):
    pa_names = {"long": "int64", "double": "float64", "string": "string"}
    schema = StructType().add("headers.n", type_)

    def schema_of(names, field_tables):
        assert field_tables == "json"
        return pa.schema([(name, pa.type_for_alias(pa_names[type_])) for name in names])

    assert columns.plan(schema_of, schema).fields == (column,)


@pytest.mark.parametrize(
    ("arrow", "spark"),
    [
        (pa.uint8(), "smallint"),
        (pa.uint16(), "int"),
        (pa.uint32(), "bigint"),
        (pa.uint64(), "bigint"),
        (pa.list_(pa.string()), "array<string>"),
        (pa.timestamp("us", "UTC"), "timestamp"),
        (pa.struct([("a", pa.uint32())]), "struct<a:bigint>"),
    ],
)
def test_types(arrow, spark):
    assert columns.spark_type(arrow).simpleString() == spark


def conform(column, data_type):
    schema = StructType().add("x", data_type)
    target = columns.arrow_schema(schema)
    plan = columns.Plan(("x",), schema, (0,))
    return columns.conform(pa.record_batch([column], ["x"]), plan, target).column(0)


def test_unsigned_numbers_that_do_not_fit_are_null():
    column = pa.array([1, 2**63 - 1, 2**63, None], pa.uint64())
    assert conform(column, "long").to_pylist() == [1, 2**63 - 1, None, None]


def test_members_of_a_sliced_struct():
    rows = [{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}, {"a": 4, "b": "z"}]
    column = pa.array(rows, pa.struct([("a", pa.int64()), ("b", pa.string())]))
    members = conform(column.slice(1, 3), struct("b", "string"))
    assert members.to_pylist() == [None, {"b": "y"}, {"b": "z"}]


def test_null_where_the_schema_has_none():
    schema = StructType().add("x", "long", nullable=False)
    target = columns.arrow_schema(schema)
    plan = columns.Plan(("x",), schema, (0,))
    with pytest.raises(ValueError, match="column x has nulls"):
        columns.conform(pa.record_batch([pa.array([1, None])], ["x"]), plan, target)


@pytest.mark.parametrize("type_", [BinaryType(), StringType()])
def test_corrupt_record(type_):
    plan = make(StructType().add("_corrupt_record", type_))
    target = columns.arrow_schema(plan.schema)
    values = pa.array([OPEN, UNKNOWN, BODY], pa.binary())
    rows = pa.record_batch(batch.decode(values, fields=plan.fields))
    corrupt_records = columns.conform(rows, plan, target).column(0).to_pylist()
    assert corrupt_records == [None, UNKNOWN.hex() if type_ == StringType() else UNKNOWN, None]


def test_only_what_is_asked_for_reaches_the_decoder(monkeypatch):
    requested_columns = []
    decode = batch.decode

    def spy(values, protocol, level, fields, mode, *, field_tables):
        requested_columns.append(fields)
        return decode(values, protocol, level, fields, mode, field_tables=field_tables)

    monkeypatch.setattr(batch, "decode", spy)
    input_batch = pa.record_batch([pa.array([OPEN, BODY], pa.binary())], ["frame"])
    plan = make(["method"])
    [rows] = frames.decode_batches([input_batch], plan, [], "0-9-1", "frame", "PERMISSIVE")
    assert rows.column(0).to_pylist() == ["channel.open", None]
    assert requested_columns == [["method"]]


@pytest.mark.parametrize("type_", [pa.binary(), pa.large_binary()])
@pytest.mark.parametrize("piece", [1, 20, 45, 10**6])
def test_pieces_change_nothing(type_, piece):
    values = pa.array([BODY, *ODD, OPEN, None, BODY], type_).slice(1)
    expected = pa.record_batch(batch.decode(values)).to_pylist()
    rows_of_pieces, lengths = [], []
    for start, rows in frames.decode_column(
        values,
        (*make(None).fields, "row"),
        protocol="0-9-1",
        level="frame",
        mode="PERMISSIVE",
        piece=piece,
    ):
        lengths.append(rows.num_rows)
        rows_of_pieces += [{**row, "row": row["row"] + start} for row in rows.to_pylist()]
    assert rows_of_pieces == expected
    assert (len(lengths) > 1) == (piece < 10**6)


def test_no_value_at_all():
    empty = pa.array([], pa.binary())
    [(start, rows)] = frames.decode_column(
        empty, ["method"], protocol="0-9-1", level="frame", mode="PERMISSIVE"
    )
    assert (start, rows.num_rows) == (0, 0)


# ---- options ----


def test_options_in_any_case():
    spark_options = options.Options(
        {"IgnoreCorruptFiles": "TRUE", "PORTS": "5672, 5673", "x": None}
    )
    assert spark_options.flag("ignorecorruptfiles", False) is True
    assert spark_options.numbers("ports", ()) == (5672, 5673)
    assert "ignoreCorruptFiles" in spark_options
    assert "x" not in spark_options
    for name in ("fieldTables", "FIELD_TABLES", "field_tables"):
        assert options.Options({name: "map"}).text("fieldtables", "json") == "map"
    assert options.Options({"fs.key_file": "x"}).items() == {"fs.key_file": "x"}
    assert options.Options({"redact": False}).flag("redact", True) is False


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a, b ,c", ("a", "b", "c")),
        ('["a", "b,c"]', ("a", "b,c")),
        (["a", "b"], ("a", "b")),
        (None, None),
    ],
)
def test_lists(text, names):
    assert options.Options({"fields": text}).names("fields") == names


@pytest.mark.parametrize(
    ("text", "octets"), [("128m", 128 << 20), ("64MB", 64 << 20), ("12", 12), ("1g", 1 << 30)]
)
def test_sizes(text, octets):
    assert options.Options({"s": text}).octets("S", 1) == octets


@pytest.mark.parametrize(
    ("ask", "value", "problem"),
    [
        (lambda o: o.flag("x", True), "yes", "option x is true or false"),
        (lambda o: o.numbers("x", ()), "amqp", "option x is numbers"),
        (lambda o: o.octets("x", 1), "many", "option x is a size"),
        (lambda o: o.octets("x", 1), "1km", "option x is a size"),
        (lambda o: options.mode_of(o.text("x", "")), "LENIENT", "mode is 'PERMISSIVE'"),
    ],
)
def test_options_refused(ask, value, problem):
    with pytest.raises(ValueError, match=problem):
        ask(options.Options({"x": value}))


def test_modes_in_any_case():
    assert options.mode_of("failFast") == "FAILFAST"
    with pytest.raises(ValueError, match="not 'DROPMALFORMED'"):
        options.mode_of("DROPMALFORMED", ("PERMISSIVE", "FAILFAST"))
