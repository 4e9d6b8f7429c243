"""Captures, their chains and their saved states."""

from __future__ import annotations

import functools
import io
import struct
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, zip_longest
from random import Random
from typing import Any

import pyarrow as pa

from amqpcodec import capture, v0_8, v0_9, v0_9_1
from amqpcodec import v1_0 as v1
from tests.capture import hostile_states, test_versions_unit
from tests.fuzz import corpus, mutators, packets
from tests.fuzz.target import Choices, Target
from tests.support import amqp091_wire as w
from tests.support import mangle, v1_talk, wrap
from tests.support import recording as make
from tests.support.tls_talk import CLIENT, SERVER, split_segments
from tests.support.web_socket import EXTENSIONS
from tests.support.web_socket import over_web as web

HEAD = 4
#: Bytes of columns for each byte of a capture, and for nothing.
GROWTH, START = 400, 400_000
LAYERS = tuple(f"amqpcodec.capture._layers.{name}" for name in ("_websocket", "_tls", "_handshake"))
#: What is counted: how rows become columns is what other targets are about.
MODULE = "_capture"
#: What a row has wherever its file begins.
SHARED = [
    *("connection_index", "direction", "timestamp_ns", "src", "dst", "peer", "position", "flags"),
    *("method", "frame", "error"),
]
NAMES = ["method", "payload", "frame", "error", "flags", "packet_offset", "position", "direction"]


#: What is read with, by a choosing byte: what is there without a word, or limits that are reached
#: by what fuzzing makes.
LIMITS: tuple[dict[str, int], ...] = (
    *({}, {}, {}, {"reorder_bytes": 300}, {"reorder_segments": 2}, {"reorder_bytes": 0}),
    *({"open_connections": 1}, {"record_bytes": 200}, {"message_bytes": 100}),
    *({"fragment_bytes": 2000}, {"websocket_bytes": 30}, {"websocket_ratio": 1}),
    {"reorder_bytes": 900, "open_connections": 2, "message_bytes": 300, "fragment_bytes": 5000},
    *({"frame_bytes": 60}, {"open_deliveries": 1}, {"frame_bytes": 200, "open_deliveries": 2}),
)


def table(batches: Iterable[Any], *, check: bool = True) -> pa.Table | None:
    """All rows, or None where there are none: of no capture as well.

    check: pyarrow looks at each batch.
    """
    record_batches = []
    try:
        for exported in batches:
            batch = pa.record_batch(exported)
            if check:
                batch.validate(full=True)
            record_batches.append(batch)
    except capture.CaptureError:
        return None
    rows = pa.Table.from_batches(record_batches).combine_chunks() if record_batches else None
    return rows if rows is not None and rows.num_rows else None


#: What an error says where a batch held too many elements without bytes.
TOO_MANY = "amqp:resource-limit-exceeded"
#: What a row has however many there were in the rows before it in its batch.
BEFORE_DECODING = ["connection_index", "direction", "timestamp_ns", "position", "flags", "frame"]


def same(one: pa.Table | None, other: pa.Table | None) -> bool:
    """Whether two readings gave the same rows.

    A limit counts over a batch (docs/limits.md): where it was reached, what was decoded depends on
    where batches end, and only that.
    """
    if one == other:
        return True
    if one is None or other is None or one.schema != other.schema:
        return False
    if not any(
        TOO_MANY in (error or "") for rows in (one, other) for error in rows["error"].to_pylist()
    ):
        return False
    names = [name for name in BEFORE_DECODING if name in one.schema.names]
    return bool(one.select(names) == other.select(names))


@dataclass(frozen=True)
class Asked:
    """A capture, and what is asked of it, by the choosing bytes."""

    octets: bytes
    columns: dict[str, Any]
    limits: dict[str, int]
    stop: int

    @classmethod
    def of(cls, data: bytes) -> Asked:
        choices = Choices(data, HEAD)
        level = choices.pick(("frame", "message"))
        fields = choices.pick((None, NAMES if level == "frame" else SHARED))
        limits = choices.pick(LIMITS)
        stop = data[HEAD - 1] * len(choices.rest) >> 8 if len(data) > HEAD else 0
        return cls(choices.rest, {"level": level, "fields": fields}, limits, stop)

    def reader(self, **other: Any) -> capture.Reader:
        """One of it, from its beginning."""
        arguments: dict[str, Any] = {**self.columns, **self.limits, **other}
        return capture.Reader(io.BytesIO(self.octets), **arguments)

    def pieces(self, last: capture.Reader) -> Iterator[Any]:
        """Batches of two readers: the first one stops, the last one goes on from its state."""
        first = self.reader(order="none")
        yield from first.read(self.stop)
        last.resume(first.state())
        yield from last.read()

    def counts(self) -> dict[str, Any] | None:
        """Its statistics, or None: it is no capture."""
        try:
            return capture.stats(io.BytesIO(self.octets), **self.limits)
        except capture.CaptureError:
            return None


def quick_captures(data: bytes) -> None:
    """Rows or a CaptureError; statistics of the same packets, or the same refusal."""
    request = Asked.of(data)
    rows = table(request.reader(), check=False)
    assert request.counts() is not None or rows is None


def captures(data: bytes) -> None:
    """Rows or a CaptureError; the same rows in small batches and in two pieces; their size."""
    request = Asked.of(data)
    all_rows = table(request.reader())
    assert same(all_rows, table(request.reader(batch_rows=2)))
    counts = request.counts()
    if counts is None:
        assert all_rows is None
        return
    assert counts["packets"] >= 0
    one, last = request.reader(order="none"), request.reader(order="none")
    rows = table(one.read())
    assert same(rows, table(request.pieces(last)))
    assert one.stats() == last.stats()
    assert (all_rows is None) == (rows is None)
    if all_rows is not None and rows is not None:
        assert all_rows.num_rows == rows.num_rows
        assert all_rows.nbytes <= START + GROWTH * len(request.octets), all_rows.nbytes


def parts_of(octets: bytes, at: int, at_records: bool) -> tuple[bytes, bytes]:
    """A capture as two files, each with what one begins with; cut at a byte.

    whole: cut before the record that holds the byte.
    """
    file = packets.take_apart(octets)
    if file is None:
        return octets[:at], octets[:24] + octets[at:]
    ends = list(accumulate(map(file.size, file.items), initial=len(file.head)))
    begin = next((k for k, item in enumerate(file.items) if item.link >= 0), len(file.items))
    if at_records:
        at = max(end for end in ends if end <= max(at, ends[0]))
    return octets[:at], octets[: ends[begin]] + octets[max(at, ends[begin]) :]


def is_in_turn(octets: bytes, at: int) -> bool:
    """Whether a pcap is whole, and the record at a byte later than its first one."""
    file = packets.take_apart(octets)
    if file is None or not file.head or file.trailer:
        return False
    (magic,) = struct.unpack(file.order + "I", file.head[:4])
    unit = 10**9 if magic == 0xA1B23C4D else 10**6
    times = []
    for item in file.items:
        seconds, fraction = struct.unpack(file.order + "II", item.head)
        times.append(seconds * unit + fraction)  # a fraction of more than a second counts, too
    ends = list(accumulate(map(file.size, file.items), initial=len(file.head)))
    return at in ends[1:-1] and times[ends.index(at)] > times[0]


def chains(data: bytes) -> None:
    """Two files out of one input, together and each alone: never an error that is not ours; a chain
    of the two halves of a pcap has its rows."""
    choices = Choices(data, HEAD)
    cut_at = int.from_bytes(bytes([choices.byte(), choices.byte()])) % (len(choices.rest) + 1)
    how = choices.byte()
    files = parts_of(choices.rest, cut_at, bool(how & 2))
    if how & 4:
        files = files[1], files[0]
    arrangement = ("rotation", "auto", "separate", "taps")[(how & 1) * 2 + (how >> 3 & 1)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", capture.CaptureWarning)
        table(capture.read([io.BytesIO(octets) for octets in files], files=arrangement))
    if how & 6 == 2 and is_in_turn(choices.rest, len(files[0])):
        level = ("frame", "message")[how >> 4 & 1]
        arguments: dict[str, Any] = {"level": level, "fields": SHARED, "order": "none"}
        both = capture.read([io.BytesIO(octets) for octets in files], files="rotation", **arguments)
        one = capture.read(io.BytesIO(choices.rest), **arguments)
        assert same(table(both), table(one))
        assert both.stats()["frames"] == one.stats()["frames"]


@functools.cache
def talk(number: int) -> tuple[bytes, list[int]]:
    """A capture with something open at every place, and where its packets end."""
    data = all_talks()[number]
    file = packets.take_apart(data)
    assert file is not None
    ends = list(accumulate(map(file.size, file.items), initial=len(file.head)))
    return data, ends


@functools.cache
def all_talks() -> list[bytes]:
    """What states are saved of: those made here, then captures that fuzzing found, which between
    them bring a reader nearly everywhere."""
    return [*(make_one() for make_one in TALKS), *corpus.load("talks")]


@functools.lru_cache(maxsize=20_000)
def saved(level: str, number: int, end: int) -> tuple[bytes, list[int], bytes]:
    """What the compiled reader says of itself where a packet of a capture ends, where numbers begin
    in that, and the bytes that it has not read."""
    data, _ = talk(number)
    core = hostile_states.reader(level, False)
    core.begin("x", "x")
    core.feed(data[:end])
    while core.advance():
        hostile_states.drain(core)
    hostile_states.drain(core)
    starts: list[int] = []
    return core.state(starts), starts, data[core.at :]


def with_number(state: bytes, starts: list[int], edit: bytes) -> bytes:
    """A state with another whole number: a telling one, a small one, or one near what was there."""
    at = starts[int.from_bytes(edit[:2]) % len(starts)]
    width = hostile_states.width(state, at)
    old = sum((octet & 127) << 7 * k for k, octet in enumerate(state[at : at + width]))
    value = (
        hostile_states.VALUES[edit[3] % len(hostile_states.VALUES)],
        edit[3],
        max(-(1 << 63), min((old >> 1 ^ -(old & 1)) + (edit[3] >> 4) - 8, (1 << 63) - 1)),
    )[edit[2] % 4 - 1]
    return state[:at] + hostile_states.number(value) + state[at + width :]


def states(data: bytes) -> None:
    """A changed state is refused, or its reader works; no checksum stands before it here.

    After the choosing bytes come changes of four: a place, how, and a value.
    """
    choices = Choices(data, HEAD)
    level = choices.pick(("frame", "message"))
    cut_choice = int.from_bytes(bytes([choices.byte(), choices.byte()]))
    number = choices.byte() % len(all_talks())
    ends = talk(number)[1]
    state, starts, remainder = saved(level, number, ends[cut_choice % len(ends)])
    edits = [choices.rest[at : at + 4] for at in range(0, len(choices.rest) - 3, 4)]
    numbers = [edit for edit in edits if edit[2] % 4]
    changed = bytearray(state)
    # From the end on: where those before begin stays true. Of one number the first edit counts.
    places = {int.from_bytes(edit[:2]) % len(starts): edit for edit in reversed(numbers)}
    for _, edit in sorted(places.items(), reverse=True):
        changed[:] = with_number(bytes(changed), starts, edit)
    for edit in edits:
        if edit[2] % 4 == 0:
            changed[int.from_bytes(edit[:2]) % len(changed)] = edit[3]
    if len(choices.rest) % 4 == 1:
        del changed[choices.rest[-1] :]
    counts = {"states": 0, "refused": 0}
    hostile_states.attack(bytes(changed), level, False, remainder, counts)
    assert bytes(changed) != state or not counts["refused"]


def change_states(data: bytes, rng: Random) -> bytes:
    """Another state, or other changes of it, each of them whole."""
    choosing, edit_bytes = mutators.lead(data, HEAD, rng), data[HEAD:]
    edits = [edit_bytes[at : at + 4] for at in range(0, len(edit_bytes), 4)]
    if rng.random() < 0.3:  # of many changes one is refused
        del edits[1:]
    for _ in range(1 + mutators.below(rng, 3)):
        how, place = mutators.below(rng, 5), mutators.below(rng, len(edits) + 1)
        if how == 0:
            del edits[place : place + 1]
        elif how == 1 and edits:
            changed = bytearray(edits[place - 1])
            mutators.edit(changed, rng)
            edits[place - 1] = bytes(changed[:4]).ljust(4, b"\0")
        else:
            edits.insert(place, rng.randbytes(4))
    return bytes(choosing) + b"".join(edits)


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
    messages = [(CLIENT, b"AMQP\0\0\x09\x01"), (CLIENT, publish + w.content(1, b"body"))]
    messages += [(SERVER, w.method_frame("basic.deliver", delivery_tag=5) + w.content(1, b"body"))]
    return make.pcap(make.packets(split_segments(web(messages, EXTENSIONS[1], 2), (40,))))


def versions() -> bytes:
    """0-8, 0-9 and 0-9-1 on connections of their own, each segment of another one."""
    headers = tuple(test_versions_unit.HEADERS.values())
    connections = []
    for number, amqp in enumerate((v0_9_1, v0_9, v0_8)):
        messages = zip(
            (CLIENT, SERVER), test_versions_unit.session(amqp, headers[number]), strict=True
        )
        connections.append(make.packets(split_segments(messages, (30,)), client=40000 + number))
    turns = zip_longest(*connections)
    return make.pcap([packet for turn in turns for packet in turn if packet is not None])


def deliveries() -> bytes:
    """1.0 with messages open on several links, one of them of tokens; bytes are missing."""
    cbs = v1.Attach(name="t", handle=3, role=False, target=v1.Target(address="$cbs"))
    token = v1.Message("secret", application_properties={"operation": "put-token"}).encode()
    frames = [v1_talk.AMQP, v1_talk.opening(), *(v1_talk.attach(k) for k in range(3))]
    frames += [v1.encode(0, cbs), v1_talk.transfer(token[:30], 9, handle=3, more=True)]
    for at in range(0, 60, 10):
        frames += [
            v1_talk.transfer(bytes(10), None if at else k, handle=k, more=at < 50 or k == 2)
            for k in range(3)
        ]
    frames.append(v1_talk.transfer(token[30:], None, handle=3))
    segments = make.packets([(CLIENT, frame) for frame in frames])
    return make.pcap([*segments[:9], *segments[11:15], *segments[10:11], *segments[16:]])


def in_fragments() -> bytes:
    """A conversation of 0-9-1 in fragments of IP packets, some of them missing; many late."""
    fragments = wrap.fragmented([packet[14:] for packet in legacy_packets()], 1, 5)
    return make.pcap([make.ethernet(packet) for k, packet in enumerate(fragments) if k % 9 != 4])


def late() -> bytes:
    """The same after segments that are missing: all that follows waits."""
    remaining_packets = legacy_packets()
    del remaining_packets[5:7]
    return make.pcap(remaining_packets)


def sections() -> bytes:
    """A pcapng with every kind of block."""
    return mangle.mixed_pcapng(v1_talk.parts_of("rabbit")[:35], 1)


def link_types() -> bytes:
    """A pcapng with an interface of each link type."""
    kinds = list(wrap.LINKS.values())
    out = make.section() + b"".join(make.interface("<", link) for link, _ in kinds)
    for number, packet in enumerate(legacy_packets()):
        index = number % len(kinds)
        out += make.enhanced("<", index, number, kinds[index][1](packet[14:]))
    return out


def recorded() -> bytes:
    """TLS, whose keys the reader has."""
    return mangle.unpacked(hostile_states.RECORDINGS / "tls_openssl.pcap.gz")


def seeds() -> Iterator[bytes]:
    """pcap and pcapng, both families, complete and cut."""
    one = legacy_talk()
    two = v1_conversation()
    order = "<"
    three = make.section(order) + make.interface(order, 1)
    for ticks, packet in enumerate(v1_talk.talk(v1_talk.client_says()[:600], b"", 300)):
        three += make.enhanced(order, 0, ticks, packet)
    fragments = wrap.fragmented([packet[14:] for packet in legacy_packets()], 1, 5)
    four = make.pcap([tunnel(fragments[0]) for tunnel in wrap.TUNNELS.values()])
    five = make.pcap([make.ethernet(wrap.vxlan(packet)) for packet in fragments])
    captures_of_all_kinds = (
        one,
        two,
        three,
        one[: len(one) // 2],
        two[100:],
        four,
        five,
        over_web(),
        link_types(),
    )
    for number, data in enumerate(captures_of_all_kinds):
        for choice in range(4):
            yield bytes([choice & 1, choice >> 1, number, choice * 60]) + data


def state_seeds() -> Iterator[bytes]:
    """Each talk from its begin, its middle and its end; cuts with some bytes changed."""
    for number in range(len(all_talks())):
        last = len(talk(number)[1]) - 1
        for place in sorted({0, last // 2, last}):
            for level in (0, 1):
                yield bytes([level]) + place.to_bytes(2) + bytes([number])
    for number in range(60):
        rng = Random(number)
        yield rng.randbytes(HEAD) + rng.randbytes(4 * rng.randrange(4))


TALKS = (
    *(legacy_talk, v1_conversation, v1_talk.both_families, over_web, versions, deliveries),
    *(in_fragments, late, sections, recorded),
)

TARGETS = (
    Target(
        "captures",
        captures,
        seeds,
        packets.captures(HEAD),
        largest=8192,
        python=LAYERS,
        module=MODULE,
        quick=quick_captures,
    ),
    Target("chains", chains, seeds, packets.captures(HEAD), largest=8192, module=MODULE),
    Target(
        "states",
        sealed_states,
        state_seeds,
        change_states,
        largest=60,
        module=MODULE,
        quick=states,
    ),
)
