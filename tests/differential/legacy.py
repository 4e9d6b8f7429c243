"""Frames of 0-9-1, and what Python's clients make of them: pamqp, pika, py-amqp."""

from __future__ import annotations

import re
import struct
from argparse import Namespace
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from amqpcodec import v0_9_1 as amqp
from tests.differential.compare import Difference, Known, Peer, Refused, outcome
from tests.reference import FACTS, encode_frame
from tests.support import amqp091_gen as gen
from tests.support.generate import Generate

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
METHODS = sorted(FACTS.methods)
#: What a property is called elsewhere -> here.
RENAMED = {"message_type": "type", "cluster_id": "reserved", "application_headers": "headers"}


class Sent(Generate):
    """What a program would write: text is UTF-8, and a name stands in a table once."""

    def octets(self, most: int) -> bytes:
        text = super().octets(most)
        try:
            text.decode()
        except UnicodeDecodeError:
            return b"k" * len(text)
        return text


def frame(rng: Random) -> bytes:
    """What a program would write, or in every fourth case any form that the wire allows."""
    if rng.randrange(4) == 0:
        return gen.any_frame(rng)
    some = Sent(rng, faithful=True)
    made = some.header() if rng.randrange(3) == 0 else some.method(rng.choice(METHODS))
    return encode_frame(rng.choice((1, 2, 65535)), made)


def ours(data: bytes) -> Any:
    """A frame without the words of any implementation: fields by place, properties by name."""
    consumed, channel, found = amqp.decode(data)  # type: ignore[misc]
    assert consumed == len(data)
    if isinstance(found, amqp.Header):
        return {
            "frame": "header",
            "channel": channel,
            "size": found.body_size,
            "properties": present(found.properties, amqp.Basic.Properties.FIELDS),
        }
    if isinstance(found, amqp.Body):
        return {"frame": "body", "channel": channel, "payload": found.payload}
    if isinstance(found, amqp.Heartbeat):
        return {"frame": "heartbeat"}
    if isinstance(found, amqp.ProtocolHeader):
        return {"frame": "protocol-header"}
    return {
        "frame": found.NAME,
        "channel": channel,
        "fields": [neutral(getattr(found, name)) for name in found.FIELDS],
    }


def present(properties: Any, names: Any) -> dict[str, Any]:
    """Properties that are set, under the names of amqpcodec."""
    found = {RENAMED.get(name, name): getattr(properties, name) for name in names}
    timestamp = found.get("timestamp")
    if isinstance(timestamp, int):
        found["timestamp"] = {"seconds": int(timestamp)}
    return {name: neutral(value) for name, value in found.items() if value is not None}


def neutral(value: Any) -> Any:
    """A value without the types that an implementation chose for it: text is what its bytes say."""
    if isinstance(value, datetime):
        since = (value.replace(tzinfo=UTC) - EPOCH) / timedelta(milliseconds=1)
        return {"seconds": int(since) // 1000 if since % 1000 == 0 else since / 1000}
    if isinstance(value, int) and type(value) is not bool:
        return int(value)  # a Timestamp beyond year 9999 is one here
    if isinstance(value, str):
        try:
            value = value.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            value = value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes | bytearray):
        try:
            return bytes(value).decode()
        except UnicodeDecodeError:
            return bytes(value)
    if isinstance(value, list):
        return [neutral(item) for item in value]
    if isinstance(value, dict):
        return {neutral(key): neutral(item) for key, item in value.items()}
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


# ---- pamqp


def pamqp_reads(data: bytes) -> Any:
    from pamqp import body, frame, header, heartbeat
    from pamqp.header import ProtocolHeader

    consumed, channel, found = frame.unmarshal(data)
    assert consumed == len(data)
    if isinstance(found, header.ContentHeader):
        return {
            "frame": "header",
            "channel": channel,
            "size": found.body_size,
            "properties": present(found.properties, found.properties.attributes()),
        }
    if isinstance(found, body.ContentBody):
        return {"frame": "body", "channel": channel, "payload": found.value}
    if isinstance(found, heartbeat.Heartbeat):
        return {"frame": "heartbeat"}
    if isinstance(found, ProtocolHeader):
        return {"frame": "protocol-header"}
    fields = [neutral(getattr(found, name)) for name in found.attributes()]
    return {"frame": spec_name(found.name), "channel": channel, "fields": fields}


def spec_name(name: str) -> str:
    """ "Basic.GetOk" -> "basic.get-ok"."""
    class_, method = name.split(".")
    return class_.lower() + "." + re.sub("(?<=[a-z])(?=[A-Z])", "-", method).lower()


# ---- pika


def pika_reads(data: bytes) -> Any:
    from pika import frame

    consumed, found = frame.decode_frame(data)
    assert consumed == len(data)
    if isinstance(found, frame.Header):
        names = vars(found.properties)
        return {
            "frame": "header",
            "channel": found.channel_number,
            "size": found.body_size,
            "properties": present(found.properties, names),
        }
    if isinstance(found, frame.Body):
        return {"frame": "body", "channel": found.channel_number, "payload": found.fragment}
    if isinstance(found, frame.Heartbeat):
        return {"frame": "heartbeat"}
    if isinstance(found, frame.ProtocolHeader):
        return {"frame": "protocol-header"}
    return {
        "frame": spec_name(found.method.NAME),
        "channel": found.channel_number,
        "fields": [neutral(value) for value in vars(found.method).values()],
    }


# ---- py-amqp

FORMATS = {
    "bit": "b", "octet": "o", "short": "B", "long": "l", "longlong": "L", "shortstr": "s",
    "longstr": "S", "table": "F", "timestamp": "T",
}  # fmt: skip


def py_amqp_reads(data: bytes) -> Any:
    from amqp.basic_message import Message
    from amqp.serialization import loads

    if data[:4] == b"AMQP":
        return {"frame": "protocol-header"}
    kind, channel, size = struct.unpack_from(">BHI", data)
    payload = data[7 : 7 + size]
    if kind == 8:
        return {"frame": "heartbeat"}
    if kind == 3:
        return {"frame": "body", "channel": channel, "payload": payload}
    if kind == 2:
        message = Message()
        message.inbound_header(payload)
        return {
            "frame": "header",
            "channel": channel,
            "size": message.body_size,
            "properties": present(Namespace(**message.properties), message.properties),
        }
    name = NAMES[struct.unpack_from(">HH", payload)]
    wanted = "".join(FORMATS[wire_type] for _, wire_type in FACTS.methods[name].fields)
    fields, _ = loads(wanted, payload, 4)
    return {"frame": name, "channel": channel, "fields": neutral(fields)}


NAMES = {(fact.class_id, fact.method_id): name for name, fact in FACTS.methods.items()}


def each(read: Any) -> Any:
    """One after the other."""
    return lambda cases: [outcome(read, data) for data in cases]


def refused(*texts: str) -> Callable[[Difference], bool]:
    """Whether the peer refuses the whole frame with an error that has one of these texts."""
    return lambda at: (
        isinstance(at.theirs, Refused) and any(text in at.theirs.text for text in texts)
    )


def in_milliseconds(at: Difference) -> bool:
    """A time beyond 2**32 seconds, read as so many milliseconds."""
    ours, theirs = at.ours, at.theirs
    if isinstance(theirs, dict):  # beyond year 9999, ours is an int
        theirs = theirs.get("seconds")
    return type(ours) is int and ours >= 2**32 and theirs in (ours // 1000, ours / 1000)


def signed(at: Difference) -> bool:
    return type(at.ours) is int and at.ours >= 2**63 and at.theirs == at.ours - 2**64


def cut_float(at: Difference) -> bool:
    return isinstance(at.ours, float) and type(at.theirs) is int and at.theirs == int(at.ours)


NOT_UTF8 = refused("codec can't decode")
FAR_TIME = refused("out of range", "too large for defined data type")

PAMQP: Known = {
    "text": NOT_UTF8,
    "time in ms": in_milliseconds,
    "far time": FAR_TIME,
    "empty body": refused("No frame size"),
    "no U": refused("Unknown type: b'U'"),
    "signed": signed,
    "cluster_id": lambda at: at.path == "properties.reserved" and at.theirs == "",
}
PIKA: Known = {
    "float": lambda at: cut_float(at) or refused("cannot convert float")(at),
    "far time": FAR_TIME,
    "update-secret": refused("Connection.UpdateSecret.__init__()"),
}


def more_flags(at: Difference) -> bool:
    """A header whose flags go on in a second word."""
    return at.case[0] == 2 and bool(at.case[7 + 12 + 1] & 1)


PY_AMQP: Known = {
    "flag words": more_flags,
    "text": NOT_UTF8,
    "far time": FAR_TIME,
}
PEERS = [
    Peer("pamqp", frame, ours, each(pamqp_reads), PAMQP),
    Peer("pika", frame, ours, each(pika_reads), PIKA),
    Peer("py-amqp", frame, ours, each(py_amqp_reads), PY_AMQP),
]
