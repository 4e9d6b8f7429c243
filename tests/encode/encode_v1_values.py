"""Messages of AMQP 1.0 as the object encoder writes them, and the columns that say the same."""

from __future__ import annotations

import base64
import datetime
import json
import math
import uuid
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any

from hypothesis import strategies as st

from amqpcodec import v1_0 as amqp
from tests.columns.batch_rows import pa
from tests.encode import encode_values

encode = partial(encode_values.encode, protocol="1.0")
only = partial(encode_values.only, protocol="1.0")
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
TABLE: dict[str, dict[str, Any]] = {spec["name"]: spec for spec in amqp.PROTOCOL.table["types"]}
PERFORMATIVES = [spec for spec in TABLE.values() if {"frame", "sasl-frame"} & set(spec["provides"])]


def octets(message: amqp.Message | None = None, frame_max: int = 131072, **transfer: Any) -> bytes:
    """The frames of a message whose row says nothing else."""
    first = amqp.Transfer(**{"handle": 0, "message_format": 0, **transfer})
    return amqp.encode_message(0, first, message, frame_max)


# ---- the lossless JSON of values ----


def key_form(key: str) -> str:
    """A key that starts with `$` has one more."""
    return "$" + key if key.startswith("$") else str(key)


def form(value: Any) -> Any:
    """What json.dumps is given."""
    if isinstance(value, amqp.Map):
        return {"$map": [[form(key), form(item)] for key, item in value]}
    if isinstance(value, dict):
        return {key_form(key): form(value[key]) for key in value}
    if isinstance(value, list):
        return [form(item) for item in value]
    if isinstance(value, bytes):
        return {"$binary": base64.b64encode(value).decode()}
    if isinstance(value, Decimal):
        return {"$decimal": str(value)}
    if isinstance(value, amqp.Timestamp):
        return {"$timestamp_ms": int(value)}
    if isinstance(value, uuid.UUID):
        return {"$uuid": str(value)}
    if isinstance(value, amqp.Char):
        return {"$char": str(value)}
    if isinstance(value, amqp.Symbol):
        return {"$symbol": str(value)}
    if isinstance(value, amqp.Described):
        descriptor = value.descriptor
        return {"$described": [str(descriptor) if isinstance(descriptor, str) else descriptor,
                               form(value.value)]}  # fmt: skip
    if isinstance(value, amqp.Composite):
        return {"$type": value.NAME, **fields_form(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return {"$double": str(value).replace("inf", "Infinity").replace("nan", "NaN")}
    return value


def fields_form(value: amqp.Composite) -> dict[str, Any]:
    """The fields of a composite that are there, symbols as plain text."""
    out = {}
    for entry in TABLE[value.NAME]["fields"]:
        item = getattr(value, entry[0])
        if value.is_set(entry[0]) and item is not None:
            out[entry[0]] = str(item) if isinstance(item, amqp.Symbol) else form(item)
            if isinstance(item, list) and not isinstance(item, amqp.Map):
                out[entry[0]] = [str(symbol) for symbol in item]
            elif entry[1] == 22 and entry[6] != "map":
                out[entry[0]] = form(item)
    return out


def json_text(value: Any, **style: Any) -> str:
    return json.dumps(form(value), allow_nan=False, **style)


# ---- values ----

text = st.text(st.characters(codec="utf-8"), max_size=20)
long_text = st.sampled_from(["", "é" * 150, "k" * 255, "k" * 256])
symbols = st.text(st.characters(max_codepoint=127), max_size=20).map(amqp.Symbol)
longs = st.integers(-(2**63), 2**63 - 1) | st.integers(-129, 128)
decimals = st.binary(min_size=16, max_size=16).map(
    lambda bits: Decimal(str(Decimal(amqp.Decimal128.from_bits(bits))))
)
descriptors = symbols.filter(lambda name: not name.startswith("amqp:")) | st.integers(
    256, 2**64 - 1
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    longs,
    st.integers(2**63, 2**64 - 1).map(amqp.ULong),
    st.floats().map(lambda x: math.nan if math.isnan(x) else x),
    decimals,
    st.integers(-(2**63), 2**63 - 1).map(amqp.Timestamp),
    st.uuids(),
    st.characters(codec="utf-8").map(amqp.Char),
    st.binary(max_size=300),
    text,
    long_text,
    symbols,
)
keys = text | st.sampled_from(["$", "$a", "$$", "$binary", "$map", "k" * 256])
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.lists(st.tuples(inner, inner), max_size=4).map(amqp.Map),
        st.dictionaries(keys, inner, max_size=4),
        st.builds(amqp.Described, descriptors, inner),
    ),
    max_leaves=20,
)
annotations = st.dictionaries(symbols, values, max_size=3)


def typed(entry: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    """A value of a field's declared type."""
    name, kind, flags, _, choices, requires, declared, *_ = entry
    if name == "expiry_policy":
        return st.sampled_from(["link-detach", "session-end", "connection-close", "never"]).map(
            amqp.Symbol
        )
    if choices == "Error":
        return composites("error")
    if choices is not None and kind < 6:
        return st.sampled_from([int(choice) for choice in getattr(amqp, choices)])
    if flags & 2:  # one or many
        return st.lists(symbols, max_size=3)
    if kind == 24:
        names = sorted(
            {spec["name"] for spec in TABLE.values() if set(requires) & set(spec["provides"])}
        )
        if names:
            return st.sampled_from(names).flatmap(composites)
        return text if "address" in requires else st.binary(max_size=9)
    if kind == 22:
        return (
            st.dictionaries(st.binary(max_size=4), values, max_size=2).map(amqp.Map)
            if declared == "map"
            else annotations
        )
    high = {1: 1, 2: 2**8 - 1, 3: 2**16 - 1, 4: 2**32 - 1, 5: 2**64 - 1}
    if kind in high:
        return st.integers(0, high[kind]) | st.integers(0, min(high[kind], 256))
    return {16: longs.map(amqp.Timestamp), 18: st.binary(max_size=30), 19: text, 20: symbols}[kind]


@st.composite
def composites(draw: Any, name: str) -> Any:
    """An instance of a described type, fields left out here and there."""
    spec = TABLE[name]
    values = {}
    for entry in spec["fields"]:
        # (a row's handle is 0 where nobody says)
        if (name, entry[0]) == ("transfer", "handle") or draw(st.sampled_from([True, True, False])):
            values[entry[0]] = draw(typed(entry))
            if entry[1] == 1:
                values[entry[0]] = bool(values[entry[0]])
    return getattr(amqp, spec["python"])(**values)


# ---- messages ----

PREFIXED = {
    amqp.ULong: lambda value: f"AMQP_ULONG:{int(value)}",
    uuid.UUID: lambda value: f"AMQP_UUID:{value}",
    bytes: lambda value: f"AMQP_BINARY:{value.hex().upper()}",
}


def id_text(value: Any) -> str:
    """The text of a message id or address."""
    if type(value) in PREFIXED:
        return PREFIXED[type(value)](value)
    if not isinstance(value, str) or isinstance(value, amqp.Symbol):
        return "AMQP_VALUE:" + json_text(value, separators=(",", ":"))
    prefixes = ("AMQP_STRING:", "AMQP_ULONG:", "AMQP_UUID:", "AMQP_BINARY:", "AMQP_VALUE:")
    return "AMQP_STRING:" + value if value.startswith(prefixes) else value


ids = st.one_of(
    text,
    long_text,
    st.integers(0, 2**64 - 1).map(amqp.ULong),
    st.uuids(),
    st.binary(max_size=140),
    st.sampled_from(["AMQP_STRING:x", "AMQP_ULONG:5", "AMQP_", "AMQP_NO:", "ID:AMQP_UUID:"]),
    st.sampled_from(["AMQP_VALUE:", True, 1.5, [1], amqp.Timestamp(5)]),
)
moments = st.integers(-62135596800000, 253402300799999)


@dataclass
class Said:
    """What is encoded; `octets` by the object encoder."""

    transfer: dict[str, Any] = field(default_factory=dict)
    header: dict[str, Any] | None = None
    properties: dict[str, Any] | None = None
    delivery_annotations: dict[str, Any] | None = None
    message_annotations: dict[str, Any] | None = None
    application_properties: dict[str, Any] | None = None
    footer: dict[str, Any] | None = None
    body: Any = None

    def message(self) -> amqp.Message:
        properties = self.properties
        if properties is not None:
            properties = {
                name: amqp.Timestamp(value) if name.endswith("_time") else value
                for name, value in properties.items()
            }
        return amqp.Message(
            None if isinstance(self.body, list) else self.body,
            sequences=self.body if isinstance(self.body, list) else (),
            header=None if self.header is None else amqp.Header(**self.header),
            properties=None if properties is None else amqp.Properties(**properties),
            delivery_annotations=self.delivery_annotations,
            message_annotations=self.message_annotations,
            application_properties=self.application_properties,
            footer=self.footer,
        )

    def octets(self, frame_max: int = 131072) -> bytes:
        return octets(self.message(), frame_max, **self.transfer)

    def row(self) -> dict[str, Any]:
        """As columns: structs, and JSON text."""
        row: dict[str, Any] = dict(self.transfer)
        row["header"] = self.header
        if self.properties is not None:
            row["properties"] = {
                name: id_text(value) if name in ("message_id", "correlation_id", "to", "reply_to")
                else EPOCH + datetime.timedelta(milliseconds=value) if name.endswith("_time")
                else value
                for name, value in self.properties.items()
            }  # fmt: skip
        for name in ("delivery_annotations", "message_annotations", "footer"):
            value = getattr(self, name)
            row[name] = None if value is None else json_text(value)
        if self.application_properties is not None:
            row["application_properties"] = json_text(self.application_properties)
        if isinstance(self.body, bytes):
            row["body"] = self.body
        elif isinstance(self.body, list):
            row["body_kind"], row["value"] = "sequence", json_text(self.body)
        elif isinstance(self.body, amqp.AmqpValue):
            row["body_kind"], row["value"] = "value", json_text(self.body.value)
        return row


SCHEMA = pa.schema(
    [
        ("handle", pa.int64()),
        ("delivery_id", pa.int64()),
        ("delivery_tag", pa.binary()),
        ("settled", pa.bool_()),
        ("batchable", pa.bool_()),
        (
            "header",
            pa.struct(
                [
                    ("durable", pa.bool_()),
                    ("priority", pa.int32()),
                    ("ttl", pa.int64()),
                    ("first_acquirer", pa.bool_()),
                    ("delivery_count", pa.int64()),
                ]
            ),
        ),
        ("delivery_annotations", pa.string()),
        ("message_annotations", pa.string()),
        (
            "properties",
            pa.struct(
                [
                    ("message_id", pa.string()),
                    ("user_id", pa.binary()),
                    ("to", pa.string()),
                    ("subject", pa.string()),
                    ("reply_to", pa.string()),
                    ("correlation_id", pa.string()),
                    ("content_type", pa.string()),
                    ("content_encoding", pa.string()),
                    ("absolute_expiry_time", pa.timestamp("us", "UTC")),
                    ("creation_time", pa.timestamp("us", "UTC")),
                    ("group_id", pa.string()),
                    ("group_sequence", pa.int64()),
                    ("reply_to_group_id", pa.string()),
                ]
            ),
        ),
        ("application_properties", pa.string()),
        ("body_kind", pa.string()),
        ("body", pa.binary()),
        ("value", pa.string()),
        ("footer", pa.string()),
    ]
)


@st.composite
def some(draw: Any, strategies: dict[str, Any]) -> dict[str, Any]:
    """Any of these names with a value."""
    return {name: draw(strategy) for name, strategy in strategies.items() if draw(st.booleans())}


u32 = st.integers(0, 2**32 - 1)
v1_messages = st.builds(
    Said,
    some(
        {
            "handle": u32,
            "delivery_id": u32,
            "delivery_tag": st.binary(max_size=32),
            "settled": st.booleans(),
            "batchable": st.booleans(),
        }
    ),
    st.none()
    | some(
        {
            "durable": st.booleans(),
            "priority": st.integers(0, 255),
            "ttl": u32,
            "first_acquirer": st.booleans(),
            "delivery_count": u32,
        }
    ),
    st.none()
    | some(
        {
            "message_id": ids,
            "user_id": st.binary(max_size=20),
            "to": ids,
            "subject": text,
            "reply_to": text,
            "correlation_id": ids,
            "content_type": symbols,
            "content_encoding": symbols,
            "absolute_expiry_time": moments,
            "creation_time": moments,
            "group_id": text,
            "group_sequence": u32,
            "reply_to_group_id": long_text,
        }
    ),
    st.none() | annotations,
    st.none() | annotations,
    st.none() | st.dictionaries(keys, scalars, max_size=4),
    st.none() | annotations,
    st.one_of(
        st.none(),
        st.binary(max_size=600),
        values.map(amqp.AmqpValue),
        st.lists(st.lists(values, max_size=3), max_size=3),
    ),
)
