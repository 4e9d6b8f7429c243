"""What peers of AMQP 1.0 say, and the two recordings with it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from amqpcodec import v0_9_1
from amqpcodec import v1_0 as v1
from tests.paths import REPO
from tests.support import mangle
from tests.support import recording as make

RECORDINGS = {"rabbit": 5680, "tx": 5681}
SASL, AMQP, TLS = v1.SASL_HEADER, v1.PROTOCOL_HEADER, v1.TLS_HEADER


def path_of(name: str) -> Path:
    return REPO / "tests" / "capture" / "recordings" / f"amqp10_{name}.pcap.gz"


@cache
def parts_of(name: str) -> list[mangle.Part]:
    """The segments of a recording, its server on the usual port."""

    def usual(end: tuple[str, int]) -> tuple[str, int]:
        return (end[0], 5672) if end[1] == RECORDINGS[name] else end

    return [
        replace(part, source=usual(part.source), target=usual(part.target))
        for part in mangle.parts(path_of(name))
    ]


def opening(size: int = 4096) -> bytes:
    return v1.encode(0, v1.Open(container_id="c", max_frame_size=size))


def init(secret: bytes = b"\0guest\0hunter2") -> bytes:
    return v1.encode(0, v1.SaslInit(mechanism="PLAIN", initial_response=secret))


def attach(handle: int = 0, role: bool = False, channel: int = 0) -> bytes:
    link = v1.Attach(name=f"link-{handle}", handle=handle, role=role, source=v1.Source(address="q"))
    return v1.encode(channel, link)


def transfer(
    payload: bytes, number: int | None = 0, channel: int = 0, handle: int = 0, **more: Any
):
    """One transfer; number: of its delivery, None where it is not the first."""
    if number is not None:
        more = {"delivery_id": number, "delivery_tag": b"%d" % number, "message_format": 0, **more}
    return v1.encode(channel, v1.Transfer(handle=handle, **more), payload)


def message(text: str) -> bytes:
    return v1.Message(text, to="queue", message_id=text).encode()


def client_says() -> bytes:
    """A whole connection, its headers pipelined."""
    stream = SASL + init() + AMQP + opening() + v1.encode(0, v1.Begin(0, 0, 10, 10)) + attach()
    for number in range(20):
        stream += transfer(message(f"text {number}"), number)
    return (
        stream
        + v1.encode(0, v1.Detach(0, True))
        + v1.encode(0, v1.End())
        + v1.encode(0, v1.Close())
    )


def server_says() -> bytes:
    stream = SASL + v1.encode(0, v1.SaslMechanisms(["PLAIN"])) + v1.encode(0, v1.SaslOutcome(0))
    stream += AMQP + opening(8192) + v1.encode(0, v1.Begin(0, 0, 10, 10)) + attach(role=True)
    stream += 3 * v1.encode(0, v1.Heartbeat())
    for number in range(20):
        stream += v1.encode(0, v1.Disposition(True, number, number, True, v1.Accepted()))
    return (
        stream
        + v1.encode(0, v1.Detach(0, True))
        + v1.encode(0, v1.End())
        + v1.encode(0, v1.Close())
    )


def frames_of(stream: bytes) -> list[bytes]:
    """The headers and frames of a side, split without the codec's help."""
    frames = []
    while stream:
        size = 8 if stream[:4] == b"AMQP" else int.from_bytes(stream[:4], "big")
        frames.append(stream[:size])
        stream = stream[size:]
    return frames


def talk(client: bytes, server: bytes = b"", size: int = 1400) -> list[bytes]:
    """Packets of one connection, its sides in turns, behind the opening ones."""
    packets = make.opening()
    for at in range(0, max(len(client), len(server)), size):
        if client[at : at + size]:
            packets.append(make.client(1001 + at, client[at : at + size]))
        if server[at : at + size]:
            packets.append(make.server(5001 + at, server[at : at + size]))
    return packets


def old_message(body: bytes = b"body") -> bytes:
    """A message of 0-9-1, method, header and body."""
    publish = v0_9_1.Basic.Publish(exchange="e", routing_key="k")
    return bytes(v0_9_1.encode_message(1, publish, v0_9_1.Basic.Properties(), body))


def both_families() -> bytes:
    """A capture of four connections that take turns: the first and third speak 1.0."""
    old = b"AMQP\0\0\x09\x01" + 20 * old_message()
    ends = [(("10.0.0.1", 40000 + k), make.SERVER) for k in range(4)]
    streams = [client_says(), old, client_says(), old]
    packets = [make.segment(*endpoints, 1000, b"", make.SYN) for endpoints in ends]
    for at in range(0, max(map(len, streams)), 50):
        for endpoints, octets in zip(ends, streams, strict=True):
            if octets[at : at + 50]:
                packets.append(make.segment(*endpoints, 1001 + at, octets[at : at + 50]))
    return make.pcap(packets)
