"""Messages as the object encoder writes them, and the columns that say the same."""

from __future__ import annotations

import base64
import json
import math
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from amqpcodec import batch
from amqpcodec import v0_9_1 as amqp
from tests.columns.batch_rows import pa
from tests.support import amqp091_wire as w

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CONTENT = [name for name, spec in w.SPECS.items() if spec.has_content]


def encode(columns: Any, **options: Any) -> tuple[list[bytes | None], list[str | None]]:
    """Values and errors, as arrays that pyarrow finds sound."""
    if isinstance(columns, list):
        columns = pa.RecordBatch.from_pylist(columns)
    messages = batch.encode(columns, **options)
    values, errors = pa.array(messages), pa.array(messages.errors)
    values.validate(full=True)
    errors.validate(full=True)
    assert values.type == pa.binary()
    assert errors.type == pa.string()
    assert len(values) == len(errors) == len(messages)
    assert messages.error_count == len(errors) - errors.null_count
    for value, error in zip(values.to_pylist(), errors.to_pylist(), strict=True):
        assert value is None or error is None
    return values.to_pylist(), errors.to_pylist()


def only(
    column: str, value: Any, type_: Any = None, *, protocol: Any = "0-9-1", **others: Any
) -> tuple[bytes | None, str | None]:
    """One row with one value of some Arrow type; the other columns by their names."""
    columns = {name: pa.array([other]) for name, other in others.items()}
    columns[column] = value if isinstance(value, pa.Array) else pa.array([value], type_)
    values, errors = encode(pa.RecordBatch.from_pydict(columns), protocol=protocol)
    return values[0], errors[0]


# ---- the lossless JSON of tables ----


def form(value: Any) -> Any:
    """What json.dumps is given for a value of a table."""
    if isinstance(value, dict):
        return {key_form(key): form(item) for key, item in value.items()}
    if isinstance(value, list):
        return [form(item) for item in value]
    if isinstance(value, bytes):
        return {"$binary": base64.b64encode(value).decode()}
    if isinstance(value, Decimal):
        return {"$decimal": f"{value:f}"}
    if isinstance(value, datetime):
        return {"$timestamp": (value - EPOCH) // timedelta(seconds=1)}
    if isinstance(value, float) and not math.isfinite(value):
        return {"$double": str(value).replace("inf", "Infinity").replace("nan", "NaN")}
    return value


def key_form(key: str) -> str:
    try:
        key.encode()
    except UnicodeEncodeError:
        return "$key:" + base64.b64encode(key.encode("utf-8", "surrogateescape")).decode()
    return "$" + key if key.startswith("$") else key


def json_text(table: dict[str, Any], **style: Any) -> str:
    return json.dumps(form(table), allow_nan=False, **style)


# ---- messages ----


@dataclass
class Sent:
    """What is encoded; `octets` by the object encoder."""

    method: str
    channel: int = 1
    arguments: dict[str, Any] = field(default_factory=dict)
    properties: dict[str, Any] | None = None
    body: bytes | None = None

    def octets(self, frame_max: int = 131072, dialect: str = "rabbitmq") -> bytes:
        method = w.class_of(amqp, self.method)(**self.arguments)
        if not w.SPECS[self.method].has_content:
            return amqp.encode(self.channel, method, dialect=dialect)
        properties = amqp.Basic.Properties(**(self.properties or {}))
        return amqp.encode_message(
            self.channel, method, properties, self.body or b"", frame_max, dialect=dialect
        )


def field_name(name: str) -> str:
    return "no_wait" if name == "nowait" else name


shortstrs = st.text(st.characters(exclude_categories=("Cs",)), max_size=60)
long_texts = st.sampled_from(["", "x" * 255, "é" * 127, "k" * 16, "k" * 17, "key.of.32.octets" * 2])
# JSON knows one NaN
doubles = st.floats().map(lambda d: math.nan if math.isnan(d) else d) | st.sampled_from(
    [5e-324, 1.7976931348623157e308, 1e22, 1e23, 0.1, -0.0]
)
numbers = st.integers(-(1 << 63), (1 << 63) - 1) | st.sampled_from(
    [0, (1 << 31) - 1, 1 << 31, -(1 << 31), -(1 << 31) - 1, (1 << 63) - 1, -(1 << 63)]
)
moments = st.integers(0, 253_402_300_799).map(lambda s: EPOCH + timedelta(seconds=s))
decimals = st.tuples(st.integers(-(1 << 31), (1 << 31) - 1), st.integers(0, 255)).map(
    lambda pair: Decimal((int(pair[0] < 0), tuple(map(int, str(abs(pair[0])))), -pair[1]))
)
keys = st.sampled_from(["k", "", "x-death", "$k", "$$", "$binary", "é", '"\\\n\0', "k" * 255]) | (
    st.binary(max_size=20).map(lambda raw: raw.decode("utf-8", "surrogateescape"))
)
scalars = (
    st.none() | st.booleans() | numbers | doubles | decimals | shortstrs | st.binary(max_size=30)
    | moments
)  # fmt: skip
tables = st.dictionaries(
    keys,
    st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
        max_leaves=10,
    ),
    max_size=6,
)
ARGUMENTS: dict[str, st.SearchStrategy[Any]] = {
    "o": st.integers(0, (1 << 8) - 1),
    "h": st.integers(0, (1 << 16) - 1),
    "l": st.integers(0, (1 << 32) - 1),
    "q": st.integers(0, (1 << 64) - 1),
    "b": st.booleans(),
    "s": shortstrs | long_texts,
    "S": st.binary(max_size=300),
    "F": tables,
    "T": moments,
}


@st.composite
def sent(draw: Any, names: list[str] | None = None) -> Sent:
    """Any method, or one of these, with all it takes."""
    name = draw(st.sampled_from(names or list(w.SPECS)))
    message = Sent(name, draw(st.sampled_from([0, 1, 2, 65535])))
    for argument, wire in w.SPECS[name].fields:
        if draw(st.booleans()):
            message.arguments[field_name(argument)] = draw(ARGUMENTS[wire])
    if w.SPECS[name].has_content:
        present = draw(st.sets(st.sampled_from([p for p, _ in w.PROPERTIES])))
        message.properties = {p: draw(ARGUMENTS[wire]) for p, wire in w.PROPERTIES if p in present}
        size = draw(st.sampled_from([0, 1, 15, 16, 100, 4088, 4089, 9000]))
        message.body = bytes(i * 7 & 0xFF for i in range(size))
    return message
