"""The table of columns (spec/emitters/named_columns.py): code fills them, and gaps are refused."""

from __future__ import annotations

import re
from typing import Any

import pytest

from amqpcodec import _capture, _columns, batch, v0_9_1, v1_0
from spec.emitters import named_columns

pa = pytest.importorskip("pyarrow")

NEVER, ON_REQUEST, BY_DEFAULT = range(3)
FORMAT, NULLABLE, ROWS, ENCODE = 3, 4, 5, 6  # places in a line
COLUMNS = {line[1]: line for line in _columns.named_columns()}
#: Family, level, and the place in `levels`.
LEVELS = [
    ("0-9-1", "frame", 0),
    ("0-9-1", "message", 1),
    ("1.0", "frame", 2),
    ("1.0", "message", 3),
]

PUBLISH = v0_9_1.Basic.Publish(exchange="orders", routing_key="eu")
PROPERTIES = v0_9_1.Basic.Properties(message_id="m", headers={"n": 1})
MESSAGES = [
    v1_0.Message(
        data=[b"body"],
        durable=True,
        message_id="m",
        delivery_annotations={"d": 1},
        message_annotations={"m": 1},
        application_properties={"n": 1},
        footer={"f": 1},
    ),
    v1_0.Message(value="value"),
]
GOOD = {
    "0-9-1": v0_9_1.encode_message(1, PUBLISH, PROPERTIES, b"body"),
    "1.0": b"".join(
        v1_0.encode_message(1, v1_0.Transfer(0, i, b"t", 0), message)
        for i, message in enumerate(MESSAGES)
    ),
}
#: And a frame with an error.
INPUTS = {
    "0-9-1": GOOD["0-9-1"] + b"\1\0\1\0\0\0\2\0\1\xce",
    "1.0": GOOD["1.0"] + b"\0\0\0\x0c\2\0\0\1\0\x53\x99\x45",
}


def name_of(line: tuple[Any, ...], family: str) -> str:
    return line[2] if family == "1.0" else line[1]


@pytest.mark.parametrize(("family", "level", "place"), LEVELS)
@pytest.mark.parametrize("layout", ["plain", "view"])
def test_each_column_has_a_value(family: str, level: Any, place: int, layout: Any) -> None:
    """Alone, and beside all others."""
    options: dict[str, Any] = {"protocol": family, "level": level, "layout": layout}
    there = [name_of(line, family) for line in COLUMNS.values() if line[ROWS][place] != NEVER]
    everything = pa.record_batch(batch.decode(INPUTS[family], fields=there, **options))
    assert everything.schema.names == there
    for line in COLUMNS.values():
        name = name_of(line, family)
        if line[ROWS][place] == NEVER:
            with pytest.raises(ValueError, match=f"no column '{name}' at {level} level"):
                batch.decode(INPUTS[family], fields=[name], **options)
            continue
        alone = pa.record_batch(batch.decode(INPUTS[family], fields=[name], **options)).column(0)
        column = everything.column(there.index(name))
        assert alone.null_count < len(alone), name
        assert alone.equals(column), name
        if not line[NULLABLE]:
            assert column.null_count == 0


@pytest.mark.parametrize(("family", "level", "place"), LEVELS)
@pytest.mark.parametrize("layout", ["plain", "view"])
def test_many_messages_alike(family: str, level: Any, place: int, layout: Any) -> None:
    """Runs write them where all columns are such that they can."""
    options: dict[str, Any] = {"protocol": family, "level": level, "layout": layout}
    for line in COLUMNS.values():
        name = name_of(line, family)
        if line[ROWS][place] != NEVER and name not in ("offset", "error", "error_offset"):
            one = pa.record_batch(batch.decode(GOOD[family], fields=[name], **options))
            many = pa.record_batch(batch.decode(GOOD[family] * 300, fields=[name], **options))
            assert many.column(0).to_pylist() == one.column(0).to_pylist() * 300, name


@pytest.mark.parametrize(("family", "level", "place"), LEVELS)
def test_columns_by_default(family: str, level: Any, place: int) -> None:
    names = batch.schema(family, level=level).names
    default = [
        name_of(line, family) for line in COLUMNS.values() if line[ROWS][place] == BY_DEFAULT
    ]
    assert [name for name in names if name in default] == default
    described = set(re.findall(r"[\w.]+\b", batch.decode.__doc__ or ""))
    assert not {name_of(line, family) for line in COLUMNS.values()} - described


@pytest.mark.parametrize("family", ["0-9-1", "1.0"])
def test_encode_does_what_a_line_says(family: str) -> None:
    """Of columns that decode gives at message level; other ones have none to give."""
    for line in COLUMNS.values():
        if line[ROWS][3 if family == "1.0" else 1] == NEVER:
            continue
        fields = dict.fromkeys([name_of(COLUMNS["method"], family), "channel", "arguments"])
        fields[name_of(line, family)] = None
        rows = pa.record_batch(
            batch.decode(GOOD[family], family, level="message", fields=list(fields))
        )
        if line[ENCODE] == "refuses":
            with pytest.raises(ValueError, match=r"no part of a message|no property"):
                batch.encode(rows, family)
        else:
            assert len(pa.array(batch.encode(rows, family))) == len(rows), line


def changed(name: str, place: int, value: Any) -> tuple[tuple[Any, ...], ...]:
    """A table of one column, with another value in a place of its line."""
    line = COLUMNS[name]
    return ((*line[:place], value, *line[place + 1 :]),)


SAMPLES = (INPUTS["0-9-1"],)
V1_SAMPLES = (INPUTS["1.0"],)
METHOD_ALONE = v0_9_1.encode(1, PUBLISH)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (changed("error", NULLABLE, False), "'error' is not nullable, and not every row of frames"),
        (
            changed("offset", FORMAT, "i"),
            "BlockWriter of the column 'offset' writes another type than 'i'",
        ),
    ],
)
def test_a_table_that_the_code_does_not_fill_is_refused(
    table: tuple[Any, ...], message: str
) -> None:
    _columns.check_columns(_columns.named_columns(), SAMPLES, V1_SAMPLES)
    with pytest.raises(ImportError, match=message):
        _columns.check_columns(table, SAMPLES, V1_SAMPLES)


@pytest.mark.parametrize(
    ("samples", "v1_samples", "message"),
    [
        ((GOOD["0-9-1"],), V1_SAMPLES, "no code fills the column 'error' for frames of 0-x"),
        (SAMPLES, (GOOD["1.0"],), "no code fills the column 'error' for frames of 1.0"),
        ((METHOD_ALONE,), V1_SAMPLES, "no code fills the column 'properties' for frames"),
    ],
)
def test_a_column_that_stays_null_is_refused(
    samples: tuple[bytes, ...], v1_samples: tuple[bytes, ...], message: str
) -> None:
    with pytest.raises(ImportError, match=message):
        _columns.check_columns(_columns.named_columns(), samples, v1_samples)


def test_a_path_that_leaves_a_column_out_is_refused() -> None:
    """Of a message cut off at the end, which the next copy of it ends."""
    with pytest.raises(ImportError, match="a path of frames of 0-x does not fill the column"):
        _columns.check_columns(_columns.named_columns(), (*SAMPLES, GOOD["0-9-1"][:-2]), V1_SAMPLES)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            named_columns.Named("new", "l", True, "ddd", "reads"),
            "new: levels is four of d, r and -",
        ),
        (
            named_columns.Named("new", "l", True, "----", "reads"),
            "new: levels is four of d, r and -",
        ),
        (named_columns.Named("new", "l", True, "dddd", "skips"), "new: encode is reads, ignores"),
        (named_columns.Named("new", "l", False, "dd--", "reads"), "new: not nullable, though"),
        (named_columns.Named("row", "l", True, "dddd", "reads"), "a column is there twice: row"),
    ],
)
def test_a_line_that_is_wrong_is_refused(line: named_columns.Named, message: str) -> None:
    named_columns.check(named_columns.TABLE)
    with pytest.raises(ValueError, match=message):
        named_columns.check((*named_columns.TABLE, line))


def test_columns_of_captures_that_the_code_does_not_fill_are_refused() -> None:
    lines = tuple(tuple(line) for line in named_columns.CAPTURED)
    _capture.check_columns(lines)
    with pytest.raises(ImportError, match="fills the column 'connection' of captures as 'l'"):
        _capture.check_columns((lines[0], ("connection", "l", False, True)))
