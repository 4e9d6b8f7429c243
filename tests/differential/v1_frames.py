"""Frames and messages of AMQP 1.0, and what azure's clients and tshark make of them."""

from __future__ import annotations

from typing import Any

from amqpcodec import v1_0 as amqp
from tests.differential import tshark
from tests.differential.compare import Known, Peer
from tests.differential.legacy import read_all
from tests.differential.v1 import neutral
from tests.support.v1_gen import (
    BITS,
    BOOLEAN,
    MULTIPLE,
    PERFORMATIVES,
    STRING,
    TYPES,
    frame,
    message,
)

# ---- azure's clients


def fields(composite: Any) -> list[Any]:
    """A composite as its list on the wire: what is absent is None, and left out at the end."""
    values = [
        part(getattr(composite, entry[0]), entry) if composite.is_set(entry[0]) else None
        for entry in TYPES[composite.NAME]["fields"]
    ]
    while values and values[-1] is None:
        values.pop()
    return values


def part(of: Any, entry: tuple[Any, ...]) -> Any:
    """A field's value: one of several symbols stands alone, no symbols are null."""
    if hasattr(of, "FIELDS"):
        return fields(of)
    if entry[2] & MULTIPLE and of is not None:
        several = [neutral(symbol) for symbol in of]
        return several[0] if len(several) == 1 else several or None
    return bool(of) if entry[1] == BOOLEAN and of is not None else neutral(of)


def frame_of(data: bytes) -> Any:
    """With defaults, which azure fills in, and the payload of a transfer as its last field."""
    result = amqp.decode(data, types="typed")
    assert result is not None
    performative = result[2]
    spec = TYPES[performative.NAME]
    row = [part(getattr(performative, entry[0]), entry) for entry in spec["fields"]]
    if isinstance(performative, amqp.Transfer):
        row.append(bytes(performative.payload))
    return {"code": spec["code"], "fields": row}


def azure_part(of: Any) -> Any:
    """As part(): an outcome is {its name: its fields}, and no other key is a str."""
    if isinstance(of, dict) and len(of) == 1 and isinstance(next(iter(of)), str):
        of = next(iter(of.values()))
    if isinstance(of, memoryview):
        return bytes(of)
    if isinstance(of, list | tuple):
        return [azure_part(member) for member in of]
    return neutral(of)


def azure_frame(data: bytes) -> Any:
    from azure.servicebus._pyamqp._decode import decode_frame

    code, row = decode_frame(memoryview(data)[8:])
    return {"code": code, "fields": [azure_part(field_value) for field_value in row]}


def message_of(data: bytes) -> Any:
    message = amqp.Message.decode(data, types="typed")
    return {
        "header": None if message.header is None else fields(message.header),
        "delivery_annotations": neutral(message.delivery_annotations),
        "message_annotations": neutral(message.message_annotations),
        "properties": None if message.properties is None else fields(message.properties),
        "application_properties": neutral(message.application_properties),
        "data": neutral(list(message.data)) or None,
        "sequence": neutral(list(message.sequences)) or None,
        "value": neutral(message.value) if message.body_kind == "value" else None,
        "footer": neutral(message.footer),
    }


def azure_message(data: bytes) -> Any:
    from azure.servicebus._pyamqp._decode import decode_payload

    sections = {
        name: azure_part(of) for name, of in decode_payload(memoryview(data))._asdict().items()
    }
    for name in ("header", "properties"):
        while sections[name] and sections[name][-1] is None:
            sections[name].pop()
    return sections


# ---- tshark

#: Fields that tshark shows as plain text or numbers -> its names for them.
SHOWN = {
    name: name.split("_")[0] + "".join(word.title() for word in name.split("_")[1:])
    for spec in map(TYPES.__getitem__, PERFORMATIVES)
    for name, wire_type, flags, _, choices, *_ in spec["fields"]
    if wire_type in (BOOLEAN, *BITS, STRING) and not flags & MULTIPLE and choices != "Error"
} | {"idle_time_out": "idleTimeout", "initial_delivery_count": "initDeliveryCount"}
COLUMNS = {
    "frame.number": "packet",
    "amqp.channel": "channel",
    "amqp.performative": "code",
    **{f"amqp.performative.arguments.{name}": field for field, name in sorted(SHOWN.items())},
}


def row_of(data: bytes) -> dict[str, str]:
    """What a frame says, as tshark prints it; what is absent is left out, and what it escapes."""
    result = amqp.decode(data)
    assert result is not None
    performative = result[2]
    row: dict[str, Any] = {"channel": result[1], "code": TYPES[performative.NAME]["code"]}
    row |= {
        name: getattr(performative, name)
        for name in performative.FIELDS
        if name in SHOWN and performative.is_set(name)
    }
    return {name: text for name, of in row.items() if (text := tshark.shown(of))}


def shown(cases: list[bytes]) -> list[Any]:
    rows = tshark.packets(amqp.PROTOCOL_HEADER, cases, COLUMNS)
    return [tshark.picked(row, row_of(data)) for row, data in zip(rows, cases, strict=True)]


FORMAT = [entry[0] for entry in TYPES["transfer"]["fields"]].index("message_format")
AZURE_FRAMES: Known = {
    "message_format": lambda at: (at.path, at.ours, at.theirs) == (f"fields.{FORMAT}", None, 0)
}
TSHARK: Known = {"empty binary": lambda at: at.theirs == "" and b"\xa0\x00" in at.case}
PEERS = [
    Peer("azure-frames", frame, frame_of, read_all(azure_frame), AZURE_FRAMES),
    Peer("azure-messages", message, message_of, read_all(azure_message), {}),
    Peer("tshark-1.0", frame, row_of, shown, TSHARK),
]
