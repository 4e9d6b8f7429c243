"""Frames and values that other projects' tests hold (../shared/vectors, never copied here)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import amqpcodec
from amqpcodec.spec.lower import lower
from amqpcodec.spec.model import Class, Field, Protocol
from amqpcodec.spec.model import Method as MethodModel
from tests.paths import shared_dir
from tests.reference import (
    Body,
    Frame,
    Header,
    Heartbeat,
    Method,
    ProtocolHeader,
    Table,
    Tagged,
    encode_frame,
)
from tests.support.bridge import V0_8, V0_9, V0_9_1, Version, check

SHARED = shared_dir()
VERSIONS = {at.name: at for at in (V0_9_1, V0_9, V0_8)}
# Lines of each version when this was written: fewer means that this runner lost some.
LEAST = {"0-9-1": 123, "0-9": 15, "0-8": 39}


def load() -> list[Any]:
    params: list[Any] = []
    if SHARED is None:
        return params
    for path in sorted((SHARED / "vectors" / "amqp-0-x").glob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            row = json.loads(line)
            for version in row["version"].split("|"):
                where = f"{version}:{Path(path).stem}:{number}:{row['kind']}"
                params.append(pytest.param(VERSIONS[version], row, id=where))
    return params


ROWS = load()
pytestmark = pytest.mark.skipif(SHARED is None, reason="no shared folder beside the repository")


# ---- their JSON to the neutral form ------------------------------------------------------------


def tagged(value: Any) -> Tagged:
    tag, content = value
    if tag in "fdSx":
        return tag, bytes.fromhex(content)
    if tag == "D":
        return tag, tuple(content)
    if tag == "A":
        return tag, [tagged(item) for item in content]
    if tag == "F":
        return tag, table(content)
    return tag, content


def table(value: Any) -> Table:
    return [(key.encode(), tagged(item)) for key, item in value]


def field(wire_type: str, value: Any) -> Any:
    if wire_type == "shortstr":
        return value.encode()
    if wire_type == "longstr":
        return bytes.fromhex(value)
    if wire_type == "content":
        return value[0], bytes.fromhex(value[1])
    return table(value) if wire_type == "table" else value


def frame(value: dict[str, Any], at: Version) -> Frame:
    if "protocol-header" in value:
        return ProtocolHeader(*value["protocol-header"])
    kind = value["frame-type"]
    if kind == 1:
        types = dict(at.facts.methods[value["method"]].fields)
        return Method(value["method"], {n: field(types[n], v) for n, v in value["args"].items()})
    if kind == 2:
        assert value["class"] == "basic"
        types = dict(at.facts.properties[60])
        properties = {n: field(types[n], v) for n, v in value["properties"].items()}
        return Header(value["body-size"], properties, 60, value["weight"])
    if kind == 3:
        return Body(bytes.fromhex(value["body"]))
    assert kind == 8
    assert value["heartbeat"] == ""
    return Heartbeat()


# ---- a bare value, put into a frame ------------------------------------------------------------

# Wire type: the method whose only or last argument has it, and that argument.
HOSTS = {
    "octet": ("basic.header", "priority"),
    "shortstr": ("basic.header", "message-id"),
    "timestamp": ("basic.header", "timestamp"),
    "table": ("basic.header", "headers"),
    "short": ("connection.tune", "heartbeat"),
    "long": ("queue.purge-ok", "message-count"),
    "longlong": ("basic.ack", "delivery-tag"),
    "longstr": ("connection.secure", "challenge"),
    "content": ("message.transfer", "body"),
}
ZERO = {"shortstr": b"", "longstr": b"", "table": []}


def host(wire_type: str, value: Any, at: Version) -> Frame:
    """A frame that holds this value, everything else zero."""
    name, argument = HOSTS[wire_type]
    if name == "basic.header":
        return Header(0, {argument: value})
    args = {n: ZERO.get(t, 0) for n, t in at.facts.methods[name].fields}
    return Method(name, {**args, argument: value})


def wrap(kind: str, octets: bytes, value: Any, at: Version) -> tuple[bytes, Frame | None]:
    """(bytes of a frame around this vector, what it holds or None if the vector is malformed)."""
    if kind == "table-body":
        kind, octets = "table", len(octets).to_bytes(4, "big") + octets
    elif kind == "field-value":
        entry = b"\x01k" + octets
        kind, octets = "table", len(entry).to_bytes(4, "big") + entry
        value = None if value is None else [["k", value]]
    wire_type = kind.removeprefix("type:")
    assert wire_type in HOSTS, f"a kind of vector that this runner does not know: {kind}"
    if value is None:
        # Put it in the place of the host's own value, which is four zero bytes at its end.
        assert wire_type in ("table", "longstr"), wire_type
        empty = encode_frame(
            1, host(wire_type, [] if wire_type == "table" else b"", at), facts=at.facts
        )
        payload = empty[7:-5] + octets
        size = len(payload).to_bytes(4, "big")
        return empty[:3] + size + payload + b"\xce", None
    holder = host(wire_type, field(wire_type, value), at)
    data = encode_frame(1, holder, facts=at.facts)
    assert octets in data, "the reference does not agree with the vector"
    return data, holder


# ---- the runs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("version", LEAST)
def test_none_is_lost(version: str) -> None:
    assert sum(row.values[0].name == version for row in ROWS) >= LEAST[version]


def is_cut(octets: bytes) -> bool:
    """Whether these bytes only lack their end, by the frame header's size."""
    return len(octets) < 7 or len(octets) < int.from_bytes(octets[3:7], "big") + 8


def run_bits(octets: bytes, values: list[int], at: Version) -> None:
    """A method of so many bits, which no version has."""
    fields = tuple(Field(f"bit-{number}", None, "bit") for number in range(len(values)))
    cls = Class("bits", 1, methods=(MethodModel("go", 1, fields=fields),))
    table = lower(Protocol(at.name, 0, 0, 0, 1, classes=(cls,)), "tests.bits")
    protocol = amqpcodec._codec.Protocol(table)
    go = protocol.METHODS[1, 1]
    data = protocol.encode(1, go(*map(bool, values)))
    assert data[11:-1] == octets
    _, _, got = protocol.decode(data)
    assert [int(getattr(got, name)) for name in go.FIELDS] == values


@pytest.mark.parametrize(("at", "row"), ROWS)
def test_vector(at: Version, row: dict[str, Any]) -> None:
    octets = bytes.fromhex(row["hex"])
    decoded = row.get("decoded")
    assert decoded is not None or row.get("error") or row["check"].startswith("ValueError"), row
    if row["kind"] == "bits":
        run_bits(octets, decoded, at)
        return
    if row["kind"] == "frame":
        data = octets
        want = None if decoded is None else frame(decoded, at)
    else:
        data, want = wrap(row["kind"], octets, decoded, at)
    if want is None:
        run_bad(data, at)
    else:
        run_good(data, want, at)


def run_good(data: bytes, want: Frame, at: Version) -> None:
    for tables in ("plain", "typed"):
        consumed, channel, got = at.amqp.decode(data, tables=tables)
        assert consumed == len(data)
        check(got, want, tables=tables, at=at)
        assert at.amqp.encode(channel, got) == data


def run_bad(data: bytes, at: Version) -> None:
    amqp = at.amqp
    if not is_cut(data):
        with pytest.raises(amqpcodec.DecodeError):
            amqp.decode(data)
        return
    try:
        assert amqp.decode(data) is None
    except amqpcodec.DecodeError:
        # Allowed where the head alone says that no frame can come of it.
        assert data[0] not in (1, 2, 3, 8)
    decoder = amqp.Decoder()
    try:
        assert list(decoder.feed(data)) == []
    except amqpcodec.DecodeError:
        return  # the head alone was enough to refuse it
    with pytest.raises(amqpcodec.errors.IncompleteError):
        decoder.eof()
