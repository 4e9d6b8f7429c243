"""Columns of the default table that are made of others: kind, size and details."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from .cells import cells, clean
from .performatives import payload_texts, performative_text

__all__ = ["COMPUTED_COLUMNS", "DEFAULT", "OPTIONAL", "computed_column", "needs"]

#: level -> the columns of the table where none are asked for.
DEFAULT = {
    "frame": ["n", "time", "conn", "from", "ch", "kind", "size", "details"],
    "message": [
        "time",
        "conn",
        "from",
        "ch",
        "method",
        "exchange",
        "routing_key",
        "size",
        "details",
    ],
    "event": [
        *("time", "connection_name", "ch", "event", "outcome", "queue", "message_id"),
        *("elapsed_us", "reason"),
    ],
}
#: level -> of these, columns that a terminal too narrow for all does not show, in this order.
OPTIONAL = {"event": ("elapsed_us", "message_id", "ch")}
#: level -> columns that are made of others, with their types. n: number of the row among all that
#: were read. connection_name: as events have it.
COMPUTED_COLUMNS = {
    "frame": {
        "n": pa.int64(),
        "kind": pa.string(),
        "size": pa.int64(),
        "details": pa.string(),
        "connection_name": pa.string(),
    },
    "message": {
        "n": pa.int64(),
        "size": pa.int64(),
        "details": pa.string(),
        "connection_name": pa.string(),
    },
    "event": {"n": pa.int64()},
}

_DETAILS = {
    ("frame", False): ["method", "arguments", "properties", "payload", "error", "flags"],
    ("frame", True): ["performative", "arguments", "payload", "error", "flags"],
    ("message", False): [
        *("method", "exchange", "routing_key", "arguments", "properties", "body", "error", "flags"),
    ],
    ("message", True): [
        *("performative", "arguments", "properties", "application_properties", "body", "value"),
        *("error", "flags"),
    ],
}
SEPARATOR = "  "


def needs(name: str, level: str, is_v1: bool) -> list[str]:
    """The columns that one of COMPUTED_COLUMNS is made of. is_v1: the columns are those of 1.0."""
    method = "performative" if is_v1 else "method"
    if name == "connection_name":
        return ["connection"]
    if name == "kind":
        return [method, "frame_type"] if level == "frame" else [method]
    if name == "size":
        if level == "message":
            return ["body"]
        return ["payload"] if is_v1 else ["body_size", "payload"]
    return _DETAILS[level, is_v1] if name == "details" else []


def computed_column(
    name: str, batch: pa.RecordBatch, level: str, routing: bool = False
) -> pa.Array:
    """A column of COMPUTED_COLUMNS but n and connection_name.

    routing: details say where a message goes, no columns do.
    """
    if name == "kind":
        types = "frame_type" in batch.schema.names
        return (
            pc.coalesce(_methods(batch), batch.column("frame_type")) if types else _methods(batch)
        )
    if name == "size":
        raw = batch.column("body" if level == "message" else "payload")
        sizes = pc.binary_length(raw).cast(pa.int64())
        if "body_size" in batch.schema.names:
            sizes = pc.coalesce(batch.column("body_size"), sizes)
        return sizes
    return pa.array(_details(batch, level, routing), pa.string())


def _details(batch: pa.RecordBatch, level: str, routing: bool) -> list[str]:
    texts = {name: cells(_column(batch, name)) for name in ("properties", "error", "flags")}
    if level == "frame":
        parts = [_arguments(batch), texts["properties"], _payloads(batch)]
    elif "performative" in batch.schema.names:
        parts = [_arguments(batch), texts["properties"]]
        parts += [cells(batch.column(name)) for name in ("application_properties", "body", "value")]
    else:
        bodies = batch.column("body").is_valid().to_pylist()
        # Of a method with content its own columns say what matters; 1.0 has none of them.
        written = zip(bodies, _methods(batch).to_pylist(), _arguments(batch), strict=True)
        arguments = [
            "" if body and "." in (method or ".") else text for body, method, text in written
        ]
        parts = [arguments, texts["properties"], _bodies(batch)]
        if routing:
            addresses = [cells(batch.column(name)) for name in ("exchange", "routing_key")]
            parts.insert(0, [
                f"{exchange!r} {key}" if body and "." in (method or "") else ""
                for body, method, exchange, key in zip(
                    bodies, _methods(batch).to_pylist(), *addresses, strict=True
                )
            ])  # fmt: skip
    return [
        SEPARATOR.join(
            part for part in (error and f"! {error}", flags and f"[{flags}]", *other_parts) if part
        )
        for error, flags, *other_parts in zip(texts["error"], texts["flags"], *parts, strict=True)
    ]


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    """A column, of nulls where there is none of that name."""
    if name in batch.schema.names:
        return batch.column(name)
    return pa.nulls(batch.num_rows)


def _methods(batch: pa.RecordBatch) -> pa.Array:
    """The methods' or performatives' names."""
    return batch.column("performative" if "performative" in batch.schema.names else "method")


def _arguments(batch: pa.RecordBatch) -> list[str]:
    """The arguments of methods that have some; of performatives, what a person looks for."""
    names, texts = _methods(batch).to_pylist(), batch.column("arguments").to_pylist()
    written = [
        performative_text(*method_and_arguments)
        for method_and_arguments in zip(names, texts, strict=True)
    ]
    return [
        clean(short) if short is not None else "" if text == "{}" else text
        for short, text in zip(written, cells(batch.column("arguments")), strict=True)
    ]


def _payloads(batch: pa.RecordBatch) -> list[str]:
    """Bodies; of transfers the message."""
    return _transfer_texts(batch, "payload")


def _bodies(batch: pa.RecordBatch) -> list[str]:
    """The same of whole messages."""
    return _transfer_texts(batch, "body")


def _transfer_texts(batch: pa.RecordBatch, name: str) -> list[str]:
    methods, column = _methods(batch), batch.column(name)
    is_transfer = pc.fill_null(pc.equal(methods, "transfer"), False)
    transfer_texts = payload_texts(pc.if_else(is_transfer, column, None).to_pylist())
    return [
        text if words is None else clean(words)
        for words, text in zip(transfer_texts, cells(column), strict=True)
    ]
