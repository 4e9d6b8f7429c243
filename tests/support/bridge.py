"""Between the reference's neutral frames and the package's objects."""

from __future__ import annotations

import keyword
import struct
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from amqpcodec import types as wrap
from amqpcodec import v0_8, v0_9, v0_9_1
from tests.reference import (
    VERSIONS,
    Body,
    Facts,
    Frame,
    Header,
    Heartbeat,
    Method,
    ProtocolHeader,
    Table,
    Tagged,
    to_plain,
    to_python,
)
from tests.reference.plain import text

# Tag to wrapper class, where the dialects agree; the rest is in TYPED.
_COMMON = {
    "b": wrap.Int8,
    "B": wrap.UInt8,
    "u": wrap.UInt16,
    "I": wrap.Int32,
    "i": wrap.UInt32,
    "f": wrap.Float,
    "d": wrap.Double,
    "x": wrap.ByteArray,
    "T": wrap.Timestamp,
}
TYPED: dict[str, dict[str, Any]] = {
    "rabbitmq": {
        **_COMMON,
        "s": wrap.Int16,
        "U": wrap.Int16U,
        "l": wrap.Int64,
        "L": wrap.Int64L,
    },
    "0-9-1": {
        **_COMMON,
        "s": wrap.ShortString,
        "U": wrap.Int16,
        "l": wrap.UInt64,
        "L": wrap.Int64,
    },
}
# The older versions are read as RabbitMQ's.
TYPED["0-9"] = TYPED["0-8"] = TYPED["rabbitmq"]
# In the PDF's dialect two classes may stand for U and for L.
_ALSO = {("0-9-1", "U"): wrap.Int16U, ("0-9-1", "L"): wrap.Int64L}


@dataclass(frozen=True)
class Version:
    """A protocol module, and the facts that it is held against."""

    name: str
    amqp: Any
    facts: Facts
    #: What its own dialect has for tags.
    tags: str


V0_9_1 = Version("0-9-1", v0_9_1, VERSIONS["0-9-1"], "tIlDSATFVxd")
V0_9 = Version("0-9", v0_9, VERSIONS["0-9"], "SIDTFV")
V0_8 = Version("0-8", v0_8, VERSIONS["0-8"], "SIDTF")


def py_name(name: str, at: Version = V0_9_1) -> str:
    """A spec name as the package spells it."""
    # confirm.select of 0-9-1 writes no-wait in one word; one spelling is offered
    if name == "nowait" and at.name == "0-9-1":
        return "no_wait"
    name = name.replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


def method_class(name: str, at: Version = V0_9_1) -> Any:
    fact = at.facts.methods[name]
    return at.amqp.METHODS[fact.class_id, fact.method_id]


def properties_class(class_id: int, at: Version = V0_9_1) -> Any:
    """The class of the property list of a class."""
    (name,) = (c["name"] for c in at.facts.raw["classes"] if c["id"] == class_id)
    return getattr(at.amqp, name.title()).Properties


# ---- neutral to objects ------------------------------------------------------------------------


def typed(value: Tagged, dialect: str) -> Any:
    """The Python value that encodes to exactly this tag (t, D, A, F have one of their own)."""
    tag, content = value
    if tag in "tD":
        return to_plain(value, dialect)
    if tag == "A":
        return [typed(item, dialect) for item in content]
    if tag == "F":
        return typed_table(content, dialect)
    if tag == "V":
        return wrap.Void()
    if tag == "S":
        plain = to_plain(value, dialect)
        return wrap.LongString(plain) if isinstance(plain, str) else wrap.LongBytes(plain)
    if tag == "T":
        return wrap.Timestamp(content)
    return TYPED[dialect][tag](to_plain(value, dialect))


def typed_table(table: Table, dialect: str) -> dict[str, Any]:
    return {text(key): typed(value, dialect) for key, value in table}


def _argument(wire_type: str, value: Any, dialect: str, tables: str) -> Any:
    if wire_type == "table" and tables == "typed":
        return typed_table(value, dialect)
    if wire_type == "content" and value[0]:
        return wrap.Reference(value[1])
    return to_python(wire_type, value, dialect)


def build(
    frame: Frame, dialect: str = "rabbitmq", tables: str = "typed", at: Version = V0_9_1
) -> Any:
    """The package's object for a neutral frame, made by its constructors."""
    amqp = at.amqp
    if isinstance(frame, Method):
        types = dict(at.facts.methods[frame.name].fields)
        return method_class(frame.name, at)(
            **{
                py_name(name, at): _argument(types[name], value, dialect, tables)
                for name, value in frame.args.items()
            }
        )
    if isinstance(frame, Header):
        types = dict(at.facts.properties[frame.class_id])
        properties = properties_class(frame.class_id, at)(
            **{
                py_name(name, at): _argument(types[name], value, dialect, tables)
                for name, value in frame.properties.items()
            }
        )
        return amqp.Header(
            frame.body_size, properties, class_id=frame.class_id, weight=frame.weight
        )
    if isinstance(frame, Body):
        return amqp.Body(frame.payload)
    if isinstance(frame, ProtocolHeader):
        return amqp.ProtocolHeader(frame.protocol_id, frame.major, frame.minor, frame.revision)
    assert isinstance(frame, Heartbeat)
    return amqp.Heartbeat()


#: Seconds of 9999-12-31T23:59:59Z, the last that a datetime can say.
LAST_SECOND = 253_402_300_799


# ---- objects against neutral -------------------------------------------------------------------


def same(got: Any, want: Any, where: str = "value") -> None:
    """Equal in value, type, order of keys, and in what == does not see."""
    if isinstance(want, dict):
        assert isinstance(got, dict), (where, got)
        assert list(got) == list(want), where
        for key in want:
            same(got[key], want[key], f"{where}[{key!r}]")
    elif isinstance(want, list):
        assert isinstance(got, list), (where, got)
        assert len(got) == len(want), where
        for index, item in enumerate(want):
            same(got[index], item, f"{where}[{index}]")
    else:
        if type(got) is wrap.Timestamp and type(want) is int:
            # The reference has a time beyond the calendar as the number of the wire.
            assert want > LAST_SECOND, (where, got, want)
            got = int(got)
        assert type(got) is type(want), (where, got, want)
        if isinstance(want, float):
            # NaN differs from itself; and a NaN's payload may change on its way from f to d.
            both_nan = got != got and want != want
            assert both_nan or struct.pack(">d", got) == struct.pack(">d", want), (where, got, want)
        elif isinstance(want, Decimal):
            assert got.as_tuple() == want.as_tuple(), (where, got, want)
        else:
            assert got == want, (where, got, want)
        if isinstance(want, datetime):
            assert got.utcoffset() == timedelta(0), where


def same_typed(got: Any, want: Tagged, dialect: str, where: str = "value") -> None:
    """A value read with tables="typed": its class says its tag."""
    tag, content = want
    if tag == "F":
        same_typed_table(got, content, dialect, where)
    elif tag == "A":
        assert isinstance(got, list), (where, got)
        assert len(got) == len(content), where
        for index, item in enumerate(content):
            same_typed(got[index], item, dialect, f"{where}[{index}]")
    elif tag in "tD":
        same(got, to_plain(want, dialect), where)
    else:
        model = typed(want, dialect)
        classes = {type(model), _ALSO.get((dialect, tag), type(model))}
        assert type(got) in classes, (where, got, model)
        if isinstance(model, float):
            same(float(got), float(model), where)
        else:
            assert got == model, (where, got, model)


def same_typed_table(got: Any, table: Table, dialect: str, where: str = "table") -> None:
    assert isinstance(got, dict), (where, got)
    want = {text(key): value for key, value in table}
    assert list(got) == list(want), where
    for key, value in want.items():
        same_typed(got[key], value, dialect, f"{where}[{key!r}]")


def _check_fields(
    got: Any,
    types: dict[str, str],
    values: dict[str, Any],
    dialect: str,
    tables: str,
    at: Version,
) -> None:
    for name, wire_type in types.items():
        value = getattr(got, py_name(name, at))
        if name not in values:
            assert value is None, (name, value)
        elif wire_type == "table" and tables == "typed":
            same_typed_table(value, values[name], dialect, name)
        else:
            same(value, _argument(wire_type, values[name], dialect, "plain"), name)


def check(
    got: Any,
    want: Frame,
    dialect: str = "rabbitmq",
    tables: str = "plain",
    at: Version = V0_9_1,
) -> None:
    """A decoded object holds what the neutral frame says, and nothing else."""
    amqp = at.amqp
    if isinstance(want, Method):
        assert type(got) is method_class(want.name, at)
        types = dict(at.facts.methods[want.name].fields)
        assert tuple(got.FIELDS) == tuple(py_name(name, at) for name in types)
        _check_fields(got, types, want.args, dialect, tables, at)
    elif isinstance(want, Header):
        assert type(got) is amqp.Header
        assert (got.body_size, got.weight, got.class_id) == (
            want.body_size,
            want.weight,
            want.class_id,
        )
        assert type(got.properties) is properties_class(want.class_id, at)
        types = dict(at.facts.properties[want.class_id])
        _check_fields(got.properties, types, want.properties, dialect, tables, at)
    elif isinstance(want, Body):
        assert type(got) is amqp.Body
        same(got.payload, want.payload, "payload")
    elif isinstance(want, ProtocolHeader):
        assert type(got) is amqp.ProtocolHeader
        assert (got.protocol_id, got.major, got.minor, got.revision) == (
            want.protocol_id,
            want.major,
            want.minor,
            want.revision,
        )
    else:
        assert type(got) is amqp.Heartbeat
