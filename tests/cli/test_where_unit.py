"""--where: what an expression says, and which rows it fits."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("rich")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from amqpcodec.cli import where  # noqa: E402

PROPERTIES = pa.struct([("headers", pa.string()), ("priority", pa.uint8()), ("type", pa.string())])
BATCH = pa.record_batch(
    {
        "channel": pa.array([0, 1, 2, None], pa.int32()),
        "method": ["connection.start", "basic.publish", "basic.deliver", None],
        "arguments": pa.array(
            [
                '{"version_major":0,"server_properties":{"a.b":{"c":true},"list":["x","y"]}}',
                '{"exchange":"orders","n":9223372036854775809,"half":0.5,"mandatory":true}',
                '{"exchange":"","none":null,"mandatory":false,"o":{"p":[1]}}',
                None,
            ]
        ),
        "properties": pa.array(
            [None, {"headers": '{"x-n":5,"s":"5"}', "priority": 3, "type": None}, None, None],
            PROPERTIES,
        ),
        "payload": pa.array([None, b"\x00\xff", b"text", b""], pa.binary()),
        "error": [None, None, "bad", None],
        "redelivered": pa.array([True, False, None, True]),
        "flags": pa.array([["gap", "resync"], [], None, ["truncated"]], pa.list_(pa.string())),
        "timestamp": pa.array(
            [datetime(2026, 2, 28, hour, tzinfo=UTC) for hour in (10, 11, 12, 13)],
            pa.timestamp("us", "UTC"),
        ),
        "ratio": [0.0, 0.5, 1.0, None],
    }
)


def rows(expression: str) -> list[int]:
    fits = where.parse(expression).fits(BATCH)
    assert fits.null_count == 0
    assert len(fits) == BATCH.num_rows
    return [row for row, fits_row in enumerate(fits.to_pylist()) if fits_row]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # numbers
        ("channel == 1", [1]),
        ("channel = 1", [1]),
        ("channel=1", [1]),
        ("channel != 1", [0, 2, 3]),
        ("channel > 0", [1, 2]),
        ("channel >= 1", [1, 2]),
        ("channel < 1", [0]),
        ("channel <= 0x1", [0, 1]),
        ("channel == 5000000000", []),
        ("channel > -1", [0, 1, 2]),
        ("ratio >= 0.5", [1, 2]),
        # text
        ("method == basic.publish", [1]),
        ('method == "basic.publish"', [1]),
        ("method == 'basic.publish'", [1]),
        ("method ~ ^basic", [1, 2]),
        ("method ~ 'pub|del'", [1, 2]),
        ("method !~ ^basic", [0, 3]),
        ("method > c", [0]),
        # presence
        ("error", [2]),
        ("not error", [0, 1, 3]),
        ("channel", [0, 1, 2]),
        ("properties", [1]),
        ("redelivered", [0, 3]),
        ("redelivered == false", [1]),
        ("redelivered != true", [1, 2]),
        # joined
        ("method == basic.publish and channel > 1", []),
        ("method == basic.deliver and channel > 1", [2]),
        ("channel == 0 or channel == 1 and method == basic.deliver", [0]),
        ("(channel == 0 or channel == 1) and method == basic.publish", [1]),
        ("not channel == 0", [1, 2, 3]),
        ("not not channel == 0", [0]),
        ("not (channel == 0 or error)", [1, 3]),
        ("channel in (0, 2)", [0, 2]),
        ("channel in (2)", [2]),
        ("NOT channel IN (0,2) AND method", [1]),
        # bytes
        ("payload == 0x00ff", [1]),
        ("payload == text", [2]),
        ("payload == ''", [3]),
        ("payload != text", [0, 1, 3]),
        # lists
        ("flags == gap", [0]),
        ("flags != gap", [1, 2, 3]),
        ("flags ~ ^t", [3]),
        ("flags !~ ^t", [0, 1, 2]),
        ("flags in (gap, truncated)", [0, 3]),
        ("flags", [0, 3]),
        # time
        ("timestamp >= 2026-02-28T12:00", [2, 3]),
        ("timestamp < 2026-02-28T12:00:00+01:00", [0]),
        ("timestamp == '2026-02-28 11:00:00.000000'", [1]),
        # parts of a struct and of JSON text
        ("properties.priority == 3", [1]),
        ("properties.priority != 3", [0, 2, 3]),
        ("properties.type", []),
        ("properties.headers.x-n == 5", [1]),
        ("headers.x-n >= 5", [1]),
        ("headers.x-n > 5", []),
        ("headers.s == 5", [1]),
        ("headers.s ~ 5", [1]),
        ("headers", [1]),
        ("arguments.exchange == orders", [1]),
        ("arguments.exchange == ''", [2]),
        ("arguments.exchange != orders", [0, 2, 3]),
        ("arguments.exchange", [1, 2]),
        ("arguments.none", []),
        ("arguments.mandatory", [1]),
        ("arguments.mandatory == false", [2]),
        ("arguments.mandatory == maybe", []),
        ("arguments.n == 9223372036854775809", [1]),
        ("arguments.n == 9223372036854775808", []),
        ("arguments.half < 0.75", [1]),
        ("arguments.half == half", []),
        ("arguments.server_properties.a.b.c == true", [0]),
        ("arguments.server_properties.a.b.d", []),
        ("arguments.server_properties.list == y", [0]),
        ("arguments.server_properties.list != y", [1, 2, 3]),
        ("arguments.server_properties.list !~ y", [1, 2, 3]),
        ("arguments.o.p == 1", [2]),
        ("arguments.o ~ 'p.*1'", [2]),
        ("arguments ~ mandatory", [1, 2]),
    ],
)
def test_rows_that_fit(expression: str, expected: list[int]) -> None:
    assert rows(expression) == expected


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("", "the name of a column is expected, not the end (character 1)"),
        ("channel ==", "a value is expected, not the end (character 11)"),
        ("channel == 1 error", '"and", "or" or the end is expected, not "error" (character 14)'),
        ("(channel == 1", '")" is expected, not the end (character 14)'),
        ("channel == 1)", '"and", "or" or the end is expected, not ")" (character 13)'),
        ("== 1", 'the name of a column is expected, not "==" (character 1)'),
        ("channel in 1", '"(" is expected, not "1" (character 12)'),
        ("channel in ()", 'a value is expected, not ")" (character 13)'),
        ("method == 'open", 'cannot read "\'" (character 11)'),
        ("and", 'the name of a column is expected, not "and" (character 1)'),
        ("channel == and", 'a value is expected, not "and" (character 12)'),
        ("(" * 200 + "error" + ")" * 200, "at most 100 levels"),
    ],
)
def test_text_that_says_nothing(expression: str, text: str) -> None:
    with pytest.raises(where.WhereError) as caught:
        where.parse(expression)
    assert str(caught.value).startswith("--where: ")
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("chanel == 1", "there is no column chanel"),
        ("channel == one", "channel is int32, and 'one' is none"),
        ("channel == 1.5", "'1.5' is none"),
        ("channel == 99999999999999999999", "is none"),
        ("channel ~ 1", "channel is no text to look into with ~"),
        ("channel.x == 1", "there is nothing inside of channel"),
        ("redelivered == maybe", "redelivered is bool, and 'maybe' is none"),
        ("timestamp > noon", "'noon' is none"),
        ("payload == 0xf", "'0xf' is none"),
        ("properties == 1", "properties has parts"),
        ("properties.colour == 1", "properties has no colour, only headers, priority, type"),
        ("properties.type.x == 1", "there is nothing inside of type"),
        ("method ~ '('", "missing )"),
        ("arguments.exchange ~ '('", "missing )"),
    ],
)
def test_expression_that_does_not_fit_the_columns(expression: str, text: str) -> None:
    parsed = where.parse(expression)
    with pytest.raises(where.WhereError) as caught:
        parsed.fits(BATCH)
    assert text in str(caught.value)


def test_names_are_those_looked_at() -> None:
    parsed = where.parse("not (a.b == 1 or c) and d in (1, 2) and a.b ~ x")
    assert parsed.names() == {"a.b", "c", "d"}


def test_quotes_keep_what_regular_expressions_escape() -> None:
    assert where.parse(r"method ~ '\d\'\\\\'") == where.Comparison("method", "~", r"\d'\\")


def test_empty_batch() -> None:
    for text in ("flags == gap", "arguments.x", "channel > 1", "properties.priority", "error"):
        assert len(where.parse(text).fits(BATCH.slice(0, 0))) == 0


def test_slice_of_a_batch() -> None:
    for text in (
        "flags == truncated",
        "properties.headers.x-n == 5",
        "arguments.exchange",
        "error",
    ):
        expected = where.parse(text).fits(BATCH).to_pylist()[1:]
        assert where.parse(text).fits(BATCH.slice(1)).to_pylist() == expected


@given(st.text(st.sampled_from("ab.1 \t'\"\\()<>=!~,-x") | st.characters(), max_size=40))
def test_any_text_is_an_expression_or_an_error_of_its_own(text: str) -> None:
    try:
        where.parse(text).fits(BATCH)
    except where.WhereError:
        pass
