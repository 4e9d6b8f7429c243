"""The neutral form in JSON, as the vector files write it.

Bytes are a string (its UTF-8 is meant) or {"hex": "..."}; f and d are a number or {"hex": "..."};
a table is [[key, [tag, value]], ...]; a frame is an object that names its kind in "frame".
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

from tests.reference.facts import FACTS
from tests.reference.frames import Body, Frame, Header, Heartbeat, Method, ProtocolHeader
from tests.reference.tables import Table, Tagged


def load_lines(path: Path) -> list[dict[str, Any]]:
    """Every line of a JSONL file."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def octets(value: Any) -> bytes:
    if isinstance(value, dict):
        return bytes.fromhex(value["hex"])
    assert isinstance(value, str)
    return value.encode("utf-8")


def tagged(value: Any) -> Tagged:
    tag, content = value
    if tag in "fd":
        if isinstance(content, dict):
            return tag, octets(content)
        return tag, struct.pack(">f" if tag == "f" else ">d", content)
    if tag in "Sx" or (tag == "s" and not isinstance(content, int)):
        return tag, octets(content)
    if tag == "D":
        return tag, tuple(content)
    if tag == "A":
        return tag, [tagged(item) for item in content]
    if tag == "F":
        return tag, table(content)
    return tag, content


def table(value: Any) -> Table:
    return [(octets(key), tagged(item)) for key, item in value]


def field(wire_type: str, value: Any) -> Any:
    if wire_type in ("shortstr", "longstr"):
        return octets(value)
    return table(value) if wire_type == "table" else value


def frame(value: dict[str, Any]) -> tuple[int, Frame]:
    """(channel, frame)."""
    kind, channel = value["frame"], value["channel"]
    if kind == "method":
        types = dict(FACTS.methods[value["method"]].fields)
        args = {name: field(types[name], arg) for name, arg in value["args"].items()}
        return channel, Method(value["method"], args)
    if kind == "header":
        types = dict(FACTS.properties[value["class"]])
        properties = {name: field(types[name], arg) for name, arg in value["properties"].items()}
        return channel, Header(value["body-size"], properties, value["class"], value["weight"])
    if kind == "body":
        return channel, Body(octets(value["payload"]))
    if kind == "heartbeat":
        return channel, Heartbeat()
    assert kind == "protocol-header"
    return channel, ProtocolHeader(*value["version"])
