"""Captures, their chains and their saved states."""

from __future__ import annotations

import functools
import io
from collections.abc import Iterator
from random import Random
from typing import Any

import pyarrow as pa

from amqpcodec import capture
from tests.capture import hostile_states, v1_talk, wrap
from tests.capture import recording as make
from tests.capture.test_websocket_unit import EXTENSIONS
from tests.capture.test_websocket_unit import over_web as web
from tests.fuzz import mutators, packets
from tests.fuzz.target import Choices, Target
from tests.support import amqp091_wire as w
from tests.support.tls_talk import CLIENT, SERVER, cut

HEAD = 4
#: Bytes of columns for each byte of a capture, and for nothing.
GROWTH, START = 400, 400_000
LAYERS = tuple(f"amqpcodec.capture._layers.{name}" for name in ("_websocket", "_tls", "_handshake"))
NAMES = ["method", "payload", "frame", "error", "flags", "packet_offset", "position", "direction"]


def table(reader: Any, *, check: bool = True) -> Any:
    """All rows of a reader, or None where it holds no capture; sound unless that is not asked."""
    batches = []
    try:
        for each in reader:
            found = pa.record_batch(each)
            if check:
                found.validate(full=True)
            batches.append(found)
    except capture.CaptureError:
        return None
    return pa.Table.from_batches(batches) if batches else None


def quick_captures(data: bytes) -> None:
    """Rows or a CaptureError; statistics of the same packets, or the same refusal."""
    choices = Choices(data, HEAD)
    level = choices.pick(("frame", "message"))
    fields = choices.pick((None, NAMES)) if level == "frame" else None
    rows = table(capture.read(io.BytesIO(choices.rest), level=level, fields=fields), check=False)
    try:
        capture.stats(io.BytesIO(choices.rest))
    except capture.CaptureError:
        assert rows is None


def captures(data: bytes) -> None:
    """Rows or a CaptureError; the same rows in small batches; counts that fit the rows."""
    choices = Choices(data, HEAD)
    level = choices.pick(("frame", "message"))
    fields = choices.pick((None, NAMES)) if level == "frame" else None
    whole = table(capture.read(io.BytesIO(choices.rest), level=level, fields=fields))
    small = table(capture.read(io.BytesIO(choices.rest), level=level, fields=fields, batch_rows=2))
    assert (whole is None) == (small is None)
    try:
        counts = capture.stats(io.BytesIO(choices.rest))
    except capture.CaptureError:
        assert whole is None
        return
    assert counts["packets"] >= 0
    if whole is None:
        return
    assert whole.nbytes <= START + GROWTH * len(choices.rest), whole.nbytes
    assert whole.combine_chunks().equals(small.combine_chunks())


def chains(data: bytes) -> None:
    """Two files out of one input, together and each alone: never an error that is not ours."""
    choices = Choices(data, HEAD)
    cut = int.from_bytes(bytes([choices.byte(), choices.byte()])) % (len(choices.rest) + 1)
    chain = choices.pick((True, False))
    pieces = (choices.rest[:cut], choices.rest[:24] + choices.rest[cut:])
    table(capture.read([io.BytesIO(piece) for piece in pieces], chain=chain))


@functools.cache
def talk(level: str) -> bytes:
    """A capture with something open at every place."""
    return legacy_talk() if level == "frame" else v1_conversation()


@functools.cache
def saved(level: str, cut: int) -> tuple[bytes, bytes]:
    """What the compiled reader says of itself at this byte, and the bytes that it has not read."""
    core = hostile_states.reader(level, False)
    core.begin("x", "x")
    core.feed(talk(level)[:cut])
    while core.advance():
        hostile_states.drain(core)
    hostile_states.drain(core)
    return core.state(), talk(level)[core.at :]


def states(data: bytes) -> None:
    """A changed state is refused, or its reader works; no checksum stands before it here."""
    choices = Choices(data, HEAD)
    level = choices.pick(("frame", "message"))
    cut = int.from_bytes(bytes([choices.byte(), choices.byte()])) % (len(talk(level)) + 1)
    state, rest = saved(level, cut)
    changed = bytearray(state)
    edits = choices.rest
    for at in range(0, len(edits) - 2, 3):
        changed[int.from_bytes(edits[at : at + 2]) % len(changed)] = edits[at + 2]
    if len(edits) % 3 == 1:
        del changed[edits[-1] :]
    found = {"states": 0, "refused": 0}
    hostile_states.attack(bytes(changed), level, False, rest, found)
    assert bytes(changed) != state or not found["refused"]


def sealed_states(data: bytes) -> None:
    """A saved state that was changed is refused, one that was not is read on from."""
    states(data)
    reader = capture.Reader(io.BytesIO(legacy_talk()))
    for _ in reader.read(stop=int.from_bytes(data[:HEAD]) % len(legacy_talk())):
        pass
    state = reader.state()
    changed = bytearray(state)
    for at in range(HEAD, len(data) - 2, 3):
        changed[int.from_bytes(data[at : at + 2]) % len(state)] = data[at + 2]
    other = capture.Reader(io.BytesIO(legacy_talk()))
    try:
        other.resume(bytes(changed))
    except ValueError:
        assert bytes(changed) != state
        return
    assert bytes(changed) == state
    table(other)


def legacy_packets() -> list[bytes]:
    """A conversation of 0-9-1 in small segments, one of them late."""
    client = (
        b"AMQP\0\0\x09\x01"
        + w.method_frame("connection.start-ok")
        + b"".join(
            w.method_frame("basic.publish", exchange="e", routing_key="k")
            + w.content(1, b"body" * 20)
            for _ in range(3)
        )
    )
    server = w.method_frame("connection.start") + w.method_frame("basic.deliver", delivery_tag=5)
    packets = make.opening()
    at = 1001
    pieces = [client[i : i + 60] for i in range(0, len(client), 60)]
    for piece in pieces:
        packets.append(make.client(at, piece))
        at += len(piece)
    packets[4], packets[5] = packets[5], packets[4]
    packets.append(make.server(5001, server))
    return packets


def legacy_talk() -> bytes:
    """The same as a file."""
    return make.pcap(legacy_packets())


def v1_conversation() -> bytes:
    """Both sides of 1.0 as a file."""
    return make.pcap(v1_talk.talk(v1_talk.client_says(), v1_talk.server_says(), 200))


def over_web() -> bytes:
    """A conversation over WebSocket, compressed, in fragments."""
    publish = w.method_frame("basic.publish", exchange="e", routing_key="k")
    said = [(CLIENT, b"AMQP\0\0\x09\x01"), (CLIENT, publish + w.content(1, b"body"))]
    said += [(SERVER, w.method_frame("basic.deliver", delivery_tag=5) + w.content(1, b"body"))]
    return make.pcap(make.packets(cut(web(said, EXTENSIONS[1], 2), (40,))))


def seeds() -> Iterator[bytes]:
    """pcap and pcapng, both families, complete and cut."""
    one = legacy_talk()
    two = v1_conversation()
    order = "<"
    three = make.section(order) + make.interface(order, 1)
    for ticks, packet in enumerate(v1_talk.talk(v1_talk.client_says()[:600], b"", 300)):
        three += make.enhanced(order, 0, ticks, packet)
    said = wrap.fragmented([packet[14:] for packet in legacy_packets()], 1, 5)
    four = make.pcap([tunnel(said[0]) for tunnel in wrap.TUNNELS.values()])
    five = make.pcap([make.ethernet(wrap.vxlan(packet)) for packet in said])
    whole = (one, two, three, one[: len(one) // 2], two[100:], four, five, over_web())
    for number, data in enumerate(whole):
        for choice in range(4):
            yield bytes([choice & 1, choice >> 1, number, choice * 60]) + data


def state_seeds() -> Iterator[bytes]:
    """Cuts, with none and with some bytes changed."""
    for number in range(30):
        rng = Random(number)
        yield rng.randbytes(HEAD) + rng.randbytes(3 * rng.randrange(4))


TARGETS = (
    Target(
        "captures",
        captures,
        seeds,
        packets.captures(HEAD),
        largest=8192,
        python=LAYERS,
        quick=quick_captures,
    ),
    Target("chains", chains, seeds, packets.captures(HEAD), largest=8192),
    Target("states", sealed_states, state_seeds, mutators.plain(HEAD), largest=60, quick=states),
)
