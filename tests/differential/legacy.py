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
    method_or_header = some.header() if rng.randrange(3) == 0 else some.method(rng.choice(METHODS))
    return encode_frame(rng.choice((1, 2, 65535)), method_or_header)


def ours(data: bytes) -> Any:
    """A frame without the words of any implementation: fields by place, properties by name."""
    consumed, channel, frame = amqp.decode(data)  # type: ignore[misc]
    assert consumed == len(data)
    if isinstance(frame, amqp.Header):
        return {
            "frame": "header",
            "channel": channel,
            "size": frame.body_size,
            "properties": present(frame.properties, amqp.Basic.Properties.FIELDS),
        }
    if isinstance(frame, amqp.Body):
        return {"frame": "body", "channel": channel, "payload": frame.payload}
    if isinstance(frame, amqp.Heartbeat):
        return {"frame": "heartbeat"}
    if isinstance(frame, amqp.ProtocolHeader):
        return {"frame": "protocol-header"}
    return {
        "frame": frame.NAME,
        "channel": channel,
        "fields": [neutral(getattr(frame, name)) for name in frame.FIELDS],
    }


def present(properties: Any, names: Any) -> dict[str, Any]:
    """Properties that are set, under the names of amqpcodec."""
    values = {RENAMED.get(name, name): getattr(properties, name) for name in names}
    timestamp = values.get("timestamp")
    if isinstance(timestamp, int):
        values["timestamp"] = {"seconds": int(timestamp)}
    return {name: neutral(value) for name, value in values.items() if value is not None}


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

    consumed, channel, pamqp_frame = frame.unmarshal(data)
    assert consumed == len(data)
    if isinstance(pamqp_frame, header.ContentHeader):
        return {
            "frame": "header",
            "channel": channel,
            "size": pamqp_frame.body_size,
            "properties": present(pamqp_frame.properties, pamqp_frame.properties.attributes()),
        }
    if isinstance(pamqp_frame, body.ContentBody):
        return {"frame": "body", "channel": channel, "payload": pamqp_frame.value}
    if isinstance(pamqp_frame, heartbeat.Heartbeat):
        return {"frame": "heartbeat"}
    if isinstance(pamqp_frame, ProtocolHeader):
        return {"frame": "protocol-header"}
    fields = [neutral(getattr(pamqp_frame, name)) for name in pamqp_frame.attributes()]
    return {"frame": spec_name(pamqp_frame.name), "channel": channel, "fields": fields}


def spec_name(name: str) -> str:
    """ "Basic.GetOk" -> "basic.get-ok"."""
    class_, method = name.split(".")
    return class_.lower() + "." + re.sub("(?<=[a-z])(?=[A-Z])", "-", method).lower()


# ---- pika


def pika_reads(data: bytes) -> Any:
    from pika import frame

    consumed, pika_frame = frame.decode_frame(data)
    assert consumed == len(data)
    if isinstance(pika_frame, frame.Header):
        names = vars(pika_frame.properties)
        return {
            "frame": "header",
            "channel": pika_frame.channel_number,
            "size": pika_frame.body_size,
            "properties": present(pika_frame.properties, names),
        }
    if isinstance(pika_frame, frame.Body):
        return {
            "frame": "body",
            "channel": pika_frame.channel_number,
            "payload": pika_frame.fragment,
        }
    if isinstance(pika_frame, frame.Heartbeat):
        return {"frame": "heartbeat"}
    if isinstance(pika_frame, frame.ProtocolHeader):
        return {"frame": "protocol-header"}
    return {
        "frame": spec_name(pika_frame.method.NAME),
        "channel": pika_frame.channel_number,
        "fields": [neutral(value) for value in vars(pika_frame.method).values()],
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
    item_formats = "".join(FORMATS[wire_type] for _, wire_type in FACTS.methods[name].fields)
    fields, _ = loads(item_formats, payload, 4)
    return {"frame": name, "channel": channel, "fields": neutral(fields)}


NAMES = {(fact.class_id, fact.method_id): name for name, fact in FACTS.methods.items()}


def read_all(read: Any) -> Any:
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
    Peer("pamqp", frame, ours, read_all(pamqp_reads), PAMQP),
    Peer("pika", frame, ours, read_all(pika_reads), PIKA),
    Peer("py-amqp", frame, ours, read_all(py_amqp_reads), PY_AMQP),
]
