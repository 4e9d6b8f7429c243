"""What tshark shows of frames of 0-9-1: a packet a frame, in one connection of a recording."""

from __future__ import annotations

import shutil
import struct
import subprocess
import tempfile
from pathlib import Path
from random import Random
from typing import Any

from amqpcodec import v0_9_1 as amqp
from tests.differential.compare import Known, Peer, Refused
from tests.differential.legacy import METHODS, Sent, neutral
from tests.reference import encode_frame
from tests.support import recording

#: Names of arguments and properties -> their columns; RabbitMQ's newest methods it does not have.
ARGUMENTS = {
    *("version_major", "version_minor", "mechanism", "locale", "channel_max", "frame_max"),
    *("heartbeat", "virtual_host", "reply_code", "reply_text", "class_id", "method_id", "reason"),
    *("active", "exchange", "type", "passive", "durable", "auto_delete", "internal", "exclusive"),
    *("nowait", "destination", "source", "routing_key", "if_unused", "queue", "message_count"),
    *("consumer_count", "if_empty", "prefetch_size", "prefetch_count", "global", "consumer_tag"),
    *("no_local", "no_ack", "mandatory", "immediate", "delivery_tag", "redelivered", "multiple"),
    *("requeue", "publish_number"),
}
PROPERTIES = {
    *("content_type", "content_encoding", "delivery_mode", "priority", "correlation_id"),
    *("reply_to", "expiration", "message_id", "type", "user_id", "app_id"),
}
COLUMNS = {
    "frame.number": "packet",
    "amqp.channel": "channel",
    "amqp.method.class": "class",
    "amqp.method.method": "method",
    "amqp.header.body-size": "size",
    **{f"amqp.method.arguments.{name}": name for name in sorted(ARGUMENTS)},
    **{f"amqp.method.properties.{name}": f"properties.{name}" for name in sorted(PROPERTIES)},
}
UPDATE_SECRET = struct.pack(">HH", amqp.Connection.CLASS_ID, amqp.Connection.UpdateSecret.METHOD_ID)


def frame(rng: Random) -> bytes:
    some = Sent(rng, faithful=True)
    method_or_header = some.header() if rng.randrange(3) == 0 else some.method(rng.choice(METHODS))
    return encode_frame(rng.choice((1, 2, 65535)), method_or_header)


def shown(value: Any) -> str | None:
    """A value as tshark prints it; None where that is no plain text."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int):
        return str(value)
    text = neutral(value)
    return text if isinstance(text, str) and text.isascii() and text.isprintable() else None


def ours(data: bytes) -> dict[str, str]:
    """The same columns; those whose value tshark escapes, or shows as empty, are left out."""
    _, channel, frame = amqp.decode(data)  # type: ignore[misc]
    row: dict[str, Any] = {"channel": channel}
    if isinstance(frame, amqp.Header):
        row["size"] = frame.body_size
        for name in PROPERTIES:
            row[f"properties.{name}"] = getattr(frame.properties, name)
    else:
        row["class"], row["method"] = frame.CLASS_ID, frame.METHOD_ID
        for field in frame.FIELDS:
            name = {"no_wait": "nowait"}.get(field, field.rstrip("_"))
            if name in ARGUMENTS:
                row[name] = getattr(frame, field)
    return {name: text for name, value in row.items() if (text := shown(value))}


def packets(header: bytes, cases: list[bytes], columns: dict[str, str]) -> list[dict[str, str]]:
    """What tshark shows of each case, the columns by their names here. header: the protocol's."""
    if shutil.which("tshark") is None:
        raise ImportError("no tshark: install your system's package")
    sequence, packets = 1001, recording.opening()
    before = len(packets) + 2
    for data in [header, *cases]:
        packets.append(recording.client(sequence, data))
        sequence += len(data)
    command = ["tshark", "-l", "-n", "-T", "fields", "-E", "occurrence=f"]
    for column in columns:
        command += ["-e", column]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "frames.pcap"
        path.write_bytes(recording.pcap(packets))
        process = subprocess.run([*command, "-r", str(path)], capture_output=True, text=True)
    rows = [
        dict(zip(columns.values(), line.split("\t"), strict=True))
        for line in process.stdout.split("\n")[before - 1 : -1]
    ]
    assert [int(row["packet"]) - before for row in rows] == list(range(len(cases))), process.stderr
    return rows


def theirs(cases: list[bytes]) -> list[Any]:
    rows = packets(amqp.PROTOCOL_HEADER, cases, COLUMNS)
    return [picked(row, ours(data)) for row, data in zip(rows, cases, strict=True)]


def picked(row: dict[str, str], expected: dict[str, str]) -> Any:
    """The columns that ours has; "True" is what later releases print for 1."""
    if not row["channel"]:
        return Refused("no frame is shown")
    names = {"True": "1", "False": "0"}
    return {name: names.get(row[name], row[name]) for name in expected}


KNOWN: Known = {"update-secret": lambda at: at.case[7:11] == UPDATE_SECRET}
PEERS = [Peer("tshark", frame, ours, theirs, KNOWN)]
