"""Headers as columns of decimals, in every format, in conditions and in files."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

from amqpcodec import v0_9_1 as amqp
from amqpcodec._facade.names import split_names
from tests.cli.conftest import TALK
from tests.support import recording as builder

pa = pytest.importorskip("pyarrow")
pytest.importorskip("rich")

PRICE = "headers.price:decimal(20,7)"
TEXT = "headers.price:string"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Messages with prices, the last one of which has more digits than the column."""
    path = tmp_path / "shop.pcap"
    talk = list(TALK[:4])
    for price in (Decimal("1.50"), Decimal("0.0000001"), Decimal("-20"), Decimal("1E-9")):
        properties = amqp.Basic.Properties(headers={"price": price})
        deliver = amqp.Basic.Deliver("t", 1, False, "", "q")
        talk.append(("server", amqp.encode_message(1, deliver, properties, b"x")))
    path.write_bytes(builder.pcap(builder.dialogue(talk)))
    return path


@pytest.mark.parametrize("form", ["json", "csv", "table"])
def test_digits(run, shop, form):
    words = ("--level", "message", "--where", "method = basic.deliver", "--format", form)
    result = run("dissect", shop, *words, "--fields", f"{PRICE}, {TEXT},error")
    assert result.status == 1, "a row has an error"
    if form == "json":
        rows = [json.loads(line) for line in result.lines]
        assert [row[PRICE] for row in rows] == ["1.5000000", "0.0000001", "-20.0000000", None]
        assert [row[TEXT] for row in rows] == ["1.50", "0.0000001", "-20", "0.000000001"]
        assert "decimal does not fit decimal(20,7)" in rows[-1]["error"]
        assert {row["error"] for row in rows[:3]} == {None}
    for number in ("1.5000000", "0.0000001", "-20.0000000", "0.000000001"):
        assert number in result.out
    assert "E-" not in result.out
    assert "'-20" not in result.out


@pytest.mark.parametrize(
    ("condition", "count"),
    [("> 1", 1), ("<= 0.0000001", 2), ("== 1.5", 1), ("", 3), ("> 1E+30", 0), ("!= 1.5", 6)],
)
def test_conditions(run, shop, condition, count):
    words = ("--level", "message", "--fields", f"method,{PRICE}", "--format", "json")
    result = run("dissect", shop, *words, "--where", f"'{PRICE}' {condition}")
    assert len(result.lines) == count


def test_a_condition_that_is_no_number(run, shop):
    for text in ("much", "NaN"):
        result = run("dissect", shop, "--fields", PRICE, "--where", f"'{PRICE}' > {text}")
        assert result.status == 2
        assert f"{text!r} is none" in result.err


def test_parquet(run, shop, tmp_path):
    import pyarrow.parquet as pq

    out = tmp_path / "out.parquet"
    words = ("--level", "message", "--fields", f"{PRICE},method", "-o", out)
    assert run("dissect", shop, *words).status == 1, "a row has an error"
    assert pq.read_table(out).schema.field(PRICE).type == pa.decimal128(20, 7)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a, b", ["a", "b"]),
        ("headers.x:decimal(10,2)", ["headers.x:decimal(10,2)"]),
        ("a,headers.x:Decimal ( 10 , 2 ) ,b", ["a", "headers.x:Decimal ( 10 , 2 )", "b"]),
        ("h:decimal(1,1),i:decimal(2,0)", ["h:decimal(1,1)", "i:decimal(2,0)"]),
        ("a(1,2)", ["a(1", "2)"]),
        ("a:decimal(1,2)b", ["a:decimal(1", "2)b"]),
        ("a,,b,", ["a", "", "b", ""]),
        ("", [""]),
    ],
)
def test_commas_of_types(text, names):
    assert split_names(text) == names


@pytest.mark.parametrize("digits", [38, 76])
def test_conditions_on_the_widest_columns(run, shop, digits):
    name = f"headers.price:decimal({digits},{digits})"
    words = ("--level", "message", "--fields", name, "--format", "json")
    result = run("dissect", shop, *words, "--where", f"'{name}' < 1")
    assert [json.loads(line)[name][:9] for line in result.lines] == ["0.0000001", "0.0000000"]


@pytest.mark.parametrize("option", ["--fields", "--where", "--sort"])
@pytest.mark.parametrize(
    ("protocol", "name", "reason"),
    [
        ("0-9-1", "headers.x:nonsense", "no type 'nonsense'; there is json"),
        ("0-9-1", "headers.x:decimal(99,2)", "a decimal has 1 to 76 digits"),
        ("0-9-1", "headers.x:decimal(10)", "no type 'decimal(10)'"),
        ("1.0", "application_properties.x:nonsense", "no type 'nonsense'"),
    ],
)
def test_types_that_do_not_exist(run, shop, option, protocol, name, reason):
    text = f"'{name}' == 1" if option == "--where" else name
    result = run("dissect", shop, "--level", "message", "--protocol", protocol, option, text)
    assert result.status == 2
    assert result.out == ""
    assert f"{option}: {name!r}: {reason}" in result.err
