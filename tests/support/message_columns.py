"""Messages as the columns of a batch, in every Arrow type that can hold them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.columns.batch_rows import pa
from tests.encode.encode_values import EPOCH, Sent, field_name, json_text
from tests.support import amqp091_wire as w

PROPERTY_TYPES = {
    "s": pa.string(),
    "o": pa.int32(),
    "T": pa.timestamp("us", "UTC"),
    "F": pa.string(),
}
ARGUMENT_TYPES = {
    "o": pa.uint8(), "h": pa.int32(), "l": pa.int64(), "q": pa.uint64(), "b": pa.bool_(),
    "s": pa.string(), "S": pa.binary(), "F": pa.string(), "T": pa.timestamp("s", "UTC"),
}  # fmt: skip


def properties_column(messages: list[Sent]) -> Any:
    """The struct that decode gives, headers as JSON text."""
    rows = [
        None if message.properties is None else {
            name: json_text(value) if wire == "F" else value
            for name, wire in w.PROPERTIES
            if (value := message.properties.get(name)) is not None
        }
        for message in messages
    ]  # fmt: skip
    return pa.array(rows, pa.struct([(name, PROPERTY_TYPES[wire]) for name, wire in w.PROPERTIES]))


def columns_of(messages: list[Sent], long_names: bool) -> dict[str, Any]:
    """Columns of all arguments that any of them has, by long or short names."""
    columns = {
        "method": pa.array([message.method for message in messages]),
        "channel": pa.array([message.channel for message in messages], pa.int32()),
        "properties": properties_column(messages),
        "body": pa.array([message.body for message in messages], pa.binary()),
    }
    for name in {message.method for message in messages}:
        for argument, wire in w.SPECS[name].fields:
            argument = field_name(argument)
            # reserved ones are of many types, and the text `arguments` is another column
            full = long_names or wire == "F" or argument.startswith("reserved")
            values = [
                message.arguments.get(argument) if message.method == name or not full else None
                for message in messages
            ]
            column = f"{name}.{argument}" if full else argument
            if wire == "F":
                values = [None if value is None else json_text(value) for value in values]
            columns[column] = pa.array(values, ARGUMENT_TYPES[wire])
    return columns


def as_type(values: list[Any], type_: Any) -> Any:
    if pa.types.is_dictionary(type_):
        return pa.array(values, type_.value_type).dictionary_encode().cast(type_)
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_) or type_ == pa.binary_view():
        values = [value.encode() if isinstance(value, str) else value for value in values]
    return pa.array(values, type_)


def seconds(values: list[Any], type_: Any) -> Any:
    """Timestamps half a second late where that can be said."""
    if pa.types.is_integer(type_):
        return pa.array(values, type_)
    moments = [None if value is None else EPOCH + timedelta(seconds=value) for value in values]
    if type_.unit != "s":
        moments = [moment and moment + timedelta(milliseconds=999) for moment in moments]
    if type_.tz is None:
        moments = [moment and moment.replace(tzinfo=None) for moment in moments]
    return pa.array(moments, type_)
