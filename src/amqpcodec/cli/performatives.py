"""Frames of AMQP 1.0 in a few words: link, delivery, addresses, what became of it."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from .. import batch

__all__ = ["payload_texts", "performative_text", "transfer_frame"]

#: Fields that say little where they are what they mostly are.
_USUAL: dict[str, Any] = {"message_format": 0, "settled": False, "more": False, "durable": 0}


def performative_text(performative: str | None, arguments: str | None) -> str | None:
    """What a performative says, for a person; None where this is none that is known here.

    arguments: JSON text, as the column of that name has it.
    """
    write = _WRITERS.get(performative or "")
    if write is None or not arguments:
        return None
    fields = json.loads(arguments)
    return " ".join(part for part in write(fields) if part) if isinstance(fields, dict) else None


def payload_texts(payloads: Iterable[bytes | None]) -> list[str | None]:
    """What the messages say that are the payload of one transfer each; None where there is none
    that can be read."""
    frames = [None if raw is None else transfer_frame(raw) for raw in payloads]
    texts: list[str | None] = [None] * len(frames)
    array = pa.array(frames, pa.binary())
    read = batch.decode(array, "1.0", level="message", fields=["row", *_NAMED, *_BODY, "error"])
    for row in pa.record_batch(read).to_pylist():
        if row["error"] is None and row["body_kind"] is not None:
            parts = [
                f"{name.rpartition('.')[2]}={row[name]}" for name in _NAMED if row[name] is not None
            ]
            if row["application_properties"] is not None:
                more = json.loads(row["application_properties"])
                parts += [f"{name}={_shown(value)}" for name, value in more.items()]
            texts[row["row"]] = " ".join([*parts, _text(row)])
    return texts


_NAMED = [
    f"properties.{name}" for name in ("message_id", "correlation_id", "to", "subject", "reply_to")
]
_BODY = ["application_properties", "body_kind", "body", "value"]
#: A transfer of handle 0, without the head of its frame.
_TRANSFER = bytes.fromhex("005314c0020143")


def transfer_frame(payload: bytes) -> bytes:
    """A frame of AMQP 1.0 with a transfer that carries a payload."""
    size = 8 + len(_TRANSFER) + len(payload)
    return size.to_bytes(4, "big") + b"\2\0\0\0" + _TRANSFER + payload


def _text(row: Mapping[str, Any]) -> str:
    """A body, of whatever kind."""
    body = row["body"]
    if body is None:
        return _shown(json.loads(row["value"])) if row["value"] is not None else ""
    try:
        return str(body.decode())
    except UnicodeDecodeError:
        return f"0x{body[:64].hex()}" + ("…" if len(body) > 64 else "")


def _shown(value: Any) -> str:
    """A value of the JSON text."""
    if isinstance(value, Mapping):
        if "$binary" in value and len(value) == 1:
            try:
                return "0x" + base64.b64decode(value["$binary"], validate=True).hex()
            except (binascii.Error, ValueError, TypeError):
                pass
        if len(value) == 1 and "$type" in value:
            return str(value["$type"])
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _present_fields(fields: Mapping[str, Any], *names: str) -> Iterator[str]:
    """The fields of these names that are there, each with its name; flags by the name alone."""
    for name in names:
        value = fields.get(name)
        if value is None or (name in _USUAL and value == _USUAL[name]):
            continue
        yield name if value is True else f"{name}={_shown(value)}"


def _state(state: Any) -> Iterator[str]:
    """A delivery's state, or an error."""
    if isinstance(state, Mapping):
        yield str(state.get("$type", ""))
        if isinstance(state.get("error"), Mapping):
            state = state["error"]
        yield from _present_fields(
            state, "condition", "description", "txn_id", "section_number", "outcome"
        )
    elif state is not None:
        yield _shown(state)


def _end(end: Any) -> str:
    """The address of a source or target."""
    if not isinstance(end, Mapping):
        return "-"
    if end.get("$type") not in ("source", "target"):
        return str(end.get("$type", "?"))
    if end.get("dynamic") is True and end.get("address") is None:
        return "(dynamic)"
    return _shown(end["address"]) if end.get("address") is not None else "-"


def _open(f: Mapping[str, Any]) -> Iterator[str]:
    yield from _present_fields(
        f, "container_id", "hostname", "max_frame_size", "channel_max", "idle_time_out"
    )


def _begin(f: Mapping[str, Any]) -> Iterator[str]:
    yield from _present_fields(
        f, "remote_channel", "next_outgoing_id", "incoming_window", "outgoing_window"
    )


def _attach(f: Mapping[str, Any]) -> Iterator[str]:
    yield "receiver" if f.get("role") is True else "sender"
    yield from _present_fields(f, "name", "handle")
    yield f"{_end(f.get('source'))} -> {_end(f.get('target'))}"


def _flow(f: Mapping[str, Any]) -> Iterator[str]:
    yield from _present_fields(f, "handle", "link_credit", "delivery_count", "available")
    yield from (name for name in ("drain", "echo") if f.get(name) is True)
    if f.get("handle") is None:
        yield from _present_fields(f, "next_incoming_id", "incoming_window", "next_outgoing_id")


def _transfer(f: Mapping[str, Any]) -> Iterator[str]:
    yield from _present_fields(
        f, "handle", "delivery_id", "delivery_tag", "message_format", "settled", "more"
    )
    yield from (name for name in ("resume", "aborted") if f.get(name) is True)
    yield from _state(f.get("state"))


def _disposition(f: Mapping[str, Any]) -> Iterator[str]:
    first, last = f.get("first"), f.get("last")
    yield f"deliveries={first}..{last}" if last not in (None, first) else f"delivery={first}"
    yield from _state(f.get("state"))
    yield from _present_fields(f, "settled")


def _over(f: Mapping[str, Any]) -> Iterator[str]:
    yield from _present_fields(f, "handle")
    yield "closed" if f.get("closed") is True else ""
    yield from _state(f.get("error"))


_WRITERS = {
    "open": _open,
    "begin": _begin,
    "attach": _attach,
    "flow": _flow,
    "transfer": _transfer,
    "disposition": _disposition,
    "detach": _over,
    "end": _over,
    "close": _over,
}
