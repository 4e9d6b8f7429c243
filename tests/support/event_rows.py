"""What connections said as rows of a table, and as captures of the same bytes."""

from __future__ import annotations

import random
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pyarrow as pa

from amqpcodec import capture
from amqpcodec import v0_9_1 as amqp
from tests.capture.reference.files import packets as reference_packets
from tests.capture.reference.segments import Endpoint, Segment, SkippedPacket, read_segment
from tests.support import event_talk as talk
from tests.support import event_talk_v1 as v1
from tests.support.recording import ACK, SYN, Record, packets, pcap
from tests.support.recording import segment as tcp_segment

ROOT = Path(__file__).parents[2]
#: Recordings that say all that their connections said.
#: Without those whose frames are encrypted or in WebSocket, and without the one that has each
#: connection several times: numbers of TCP tell, which rows do not have.
RECORDINGS = sorted(
    path
    for folder in (ROOT / "demo", ROOT / "tests/capture/recordings", ROOT / "../shared/captures")
    for path in folder.glob("*.pcap*")
    if not any(word in path.name for word in ("tls", "websocket", "translated"))
)


def frames(source: Any, **options: Any) -> pa.Table:
    """The frames of a capture as rows that anybody could have."""
    names = ["connection", "direction", "timestamp", "src", "dst", "frame", "flags"]
    return pa.table(capture.read(source, "frame", names, redact=False, **options))


def payloads(path: Path) -> list[tuple[Segment, int, bool]]:
    """(segment, its time in ns, whether the server sent it) of a capture; each byte once."""
    ends: dict[tuple[Any, Any], int] = {}
    clients: set[Endpoint] = set()
    out = []
    for packet in reference_packets(path):
        try:
            segment = read_segment(packet)
        except SkippedPacket:
            continue
        pair = segment.source, segment.target
        if segment.flags & SYN:
            ends[pair] = (segment.sequence + 1) % 2**32
            if not segment.flags & ACK:
                clients.add(segment.source)
        elif segment.length:
            if segment.sequence != ends[pair]:
                assert (segment.sequence - ends[pair]) % 2**32 > 2**31, "bytes are missing"
                continue
            ends[pair] = (segment.sequence + segment.length) % 2**32
            out.append((segment, packet.timestamp_ns or 0, segment.source not in clients))
    return out


def end_of(end: Endpoint) -> tuple[str, int]:
    return str(ip_address(end.address)), end.port


def of_payloads(path: Path) -> tuple[pa.Table, bytes]:
    """The payloads of a capture as rows, and as a capture without the ends of TCP."""
    rows, file = [], []
    places: dict[tuple[Any, Any], int] = {}
    for segment, time, from_server in payloads(path):
        ends = end_of(segment.source), end_of(segment.target)
        back = ends[::-1]
        if ends not in places:
            opening = back if from_server else ends
            file.append(Record(tcp_segment(*opening, 0, b"", SYN), time))
            file.append(Record(tcp_segment(*opening[::-1], 0, b"", SYN | ACK, 1), time))
            places |= {ends: 1, back: 1}
        data = bytes(segment.data)
        file.append(Record(tcp_segment(*ends, places[ends], data, ACK, places[back]), time))
        places[ends] += len(data)
        rows.append(
            {
                "connection": str(back if from_server else ends),
                "direction": "server" if from_server else "client",
                "timestamp": time,
                "src": str(segment.source),
                "dst": str(segment.target),
                "frame": data,
            }
        )
    texts = [(name, pa.string()) for name in ("connection", "direction", "src", "dst")]
    others = [("timestamp", pa.timestamp("ns", "UTC")), ("frame", pa.binary())]
    return pa.Table.from_pylist(rows, pa.schema([*texts, *others])), pcap(file, nano=True)


def open_at_end(path: Path, says: list[tuple[int, bytes]]) -> Path:
    path.write_bytes(pcap(packets(says)))
    return path


def rows_of(says: list[tuple[int, bytes]], path: Path) -> pa.Table:
    """The payloads of packets() as rows, with the times and addresses of the file."""
    events = pa.table(capture.read(path, "frame", ["timestamp", "src", "dst", "direction"]))
    first = next(r for r in events.to_pylist() if r["direction"] == "client")
    times = _times(path)
    ends = first["src"], first["dst"]
    return pa.table(
        {
            "direction": [("client", "server")[side] for side, _ in says],
            "timestamp": pa.array(times[-len(says) :], pa.timestamp("ns", "UTC")),
            "src": [ends[side] for side, _ in says],
            "dst": [ends[1 - side] for side, _ in says],
            "frame": pa.array([data for _, data in says], pa.binary()),
        }
    )


def _times(path: Path) -> list[int]:
    raw, at, times = path.read_bytes(), 24, []
    while at < len(raw):
        seconds, part, size = (
            int.from_bytes(raw[at + i : at + i + 4], "little") for i in (0, 4, 8)
        )
        times.append(seconds * 10**9 + part * (1 if raw[:4] == b"\x4d\x3c\xb2\xa1" else 1000))
        at += 16 + size
    return times


def conversation() -> list[tuple[int, bytes]]:
    return [
        *talk.login(),
        *talk.open_channel(),
        *talk.select(),
        *talk.consume("jobs"),
        talk.publish(1),
        talk.publish(2),
        talk.server(amqp.Basic.Ack(delivery_tag=2, multiple=True)),
        talk.deliver(1),
        talk.deliver(2),
        talk.client(amqp.Basic.Ack(delivery_tag=1)),
        (0, amqp.encode(0, amqp.Heartbeat())),
        talk.publish(3),
    ]


def conversation_v1() -> list[tuple[int, bytes]]:
    return [*v1.login(), *v1.at_random(random.Random(1), 60)]


CONVERSATIONS = {"0-9-1": conversation, "1.0": conversation_v1}


def many(says: list[tuple[int, bytes]], number: int) -> pa.Table:
    """So many connections, a value of each in turn."""
    rows = [(key, side, data) for side, data in says for key in range(number)]
    return pa.table(
        {
            "host": pa.array([f"host{key % 2}" for key, _, _ in rows]).dictionary_encode(),
            "number": pa.array([key // 2 for key, _, _ in rows], pa.int16()),
            "direction": pa.array([("client", "server")[side] for _, side, _ in rows]),
            "at": pa.array([1_700_000_000_000_000 + 1000 * i for i in range(len(rows))]),
            "data": pa.array([data for _, _, data in rows], pa.binary()),
        }
    )
