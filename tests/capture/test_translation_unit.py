"""A connection whose packets were captured before and after address translation is one."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")

from amqpcodec import capture
from amqpcodec import v0_9_1 as amqp
from tests.capture.rows import rows, streams
from tests.capture.steady import steady
from tests.capture.test_outline_properties import followed
from tests.paths import REPO
from tests.support import event_talk_v1 as v1
from tests.support import mangle, v1_talk
from tests.support import recording as make
from tests.support.batches import rows_of
from tests.support.event_rows import conversation
from tests.support.event_talk import login, open_channel, publish
from tests.support.recording import ACK, FIN, RST, Record
from tests.support.translation import (
    BOTH,
    MASQUERADED,
    ONE,
    OTHER_PORT,
    PUBLISHED,
    SECOND,
    Sighting,
    Translation,
    at_first_point,
    at_point,
    capture_of,
    conversation_parts,
    ended,
    merged,
    of_other_client,
    sightings,
    spaced,
    translated,
    unplaced,
    without,
)

pytestmark = pytest.mark.filterwarnings("ignore::amqpcodec.capture.CaptureWarning")
FOLDER = REPO / "tests" / "capture" / "recordings"
HEARTBEAT = amqp.encode(0, amqp.Heartbeat())
OTHER_FRAME = b"\x08\0\1\0\0\0\0\xce"
LEVELS = pytest.mark.parametrize("level", ["frame", "message", "event"])
TALKS = {"0-9-1": conversation(), "1.0": v1.working()}
PROTOCOLS = pytest.mark.parametrize("protocol", TALKS)
PATHS = {
    **{translation.name: (translation,) for translation in ONE},
    "client server, twice": (BOTH, SECOND),
}
#: What is counted of connections, and not of packets.
COUNTS = (
    *("connections", "versions", "frames", "methods", "gaps", "lost_bytes", "resyncs", "midstream"),
    *("tls_connections", "other_protocols", "conflicting_bytes", "resets", "retransmitted_bytes"),
)


def read(octets: bytes, level: str = "frame", **options: Any) -> tuple[list[Any], dict[str, Any]]:
    """Rows without their places, and what was counted."""
    reader = capture.read(io.BytesIO(octets), level, redact=False, **options)
    return unplaced(rows_of(reader)), reader.stats()


def check_one(
    recorded: Sequence[Sighting],
    expected: Iterable[Sighting] | None = None,
    copies: int = 1,
    **options: Any,
) -> None:
    """What was recorded has the rows of what was captured first, at each level."""
    alone_octets = capture_of(at_first_point(recorded) if expected is None else expected)
    for level in ("frame", "message", "event"):
        actual_rows, stats = read(capture_of(recorded), level, **options)
        alone_rows, alone_stats = read(alone_octets, level, **options)
        assert actual_rows == alone_rows
        assert alone_rows
        assert [stats[name] for name in COUNTS] == [alone_stats[name] for name in COUNTS]
        assert stats["translated_connections"] == copies
        assert alone_stats["translated_connections"] == 0


def of_client(table: Iterable[dict[str, Any]], end: str) -> list[dict[str, Any]]:
    """Rows of the connections of a client's end."""
    return [
        {name: cell for name, cell in row.items() if name != "connection_index"}
        for row in table
        if end in (row["src"], row["dst"])
    ]


def check_two(first: list[mangle.Part], second: list[mangle.Part]) -> None:
    """Two connections are read, as if each had been recorded alone."""
    for level in ("frame", "message", "event"):
        actual_rows, stats = read(capture_of(merged(first, second)), level)
        assert stats["translated_connections"] == 0
        assert stats["connections"] == 2
        for parts in (first, second):
            end = parts[0].client
            assert of_client(actual_rows, end) == of_client(read(capture_of(parts), level)[0], end)


def check_suffix(
    first: list[mangle.Part], second: list[mangle.Part], octets: bytes | None = None
) -> dict[tuple[str, str], list[bytes]]:
    """The first is read as if alone; of the second, the frames from somewhere on."""
    actual = streams(octets or capture_of(merged(first, second)))
    for key, frames in streams(capture_of(first)).items():
        assert actual.pop(key) == frames
    complete = streams(capture_of(second))
    for key, frames in actual.items():
        assert complete[key][-len(frames) :] == frames
    return actual


# ---- what tests are made of ----


@PROTOCOLS
@LEVELS
def test_each_point_alone_is_a_recording(level: str, protocol: str) -> None:
    recorded = sightings(conversation_parts(TALKS[protocol]), BOTH, OTHER_PORT)
    before = read(capture_of(at_point(recorded, 0)), level, ports=(5672, 5673))[0]
    assert len(before) > 10
    moved = {"src", "dst", "client", "timestamp", "timestamp_last", "time_us", "elapsed_us"}
    ends = [("10.0.0.1", 5672), ("192.0.2.1", 5672), ("192.0.2.1", 5673)]
    for point, (client, port) in enumerate(ends):
        table = read(capture_of(at_point(recorded, point)), level, ports=(5672, 5673))[0]
        for row, original in zip(table, before, strict=True):
            assert {n: c for n, c in row.items() if n not in moved} == {
                n: c for n, c in original.items() if n not in moved
            }
            servers = "10.0.0.2:5672", f"172.17.0.2:{port}"
            pair = {f"{client}:40000", servers[point > 0]}
            assert {row["src"], row["dst"]} == pair


def test_the_order_of_sightings() -> None:
    parts = conversation_parts(TALKS["0-9-1"])[:4]
    points = {
        order: [one.point for one in sightings(parts, BOTH, SECOND, order=order)]
        for order in ("path", "first", "last")
    }
    forward, backward = [0, 1, 2], [2, 1, 0]
    assert points["path"] == [*forward, *backward, *forward, *backward]
    assert points["first"] == 4 * forward
    assert points["last"] == 4 * backward
    delayed = sightings(spaced(parts, 1000), BOTH, delay_ns=2500)
    assert [one.part.time_ns - make.START_NS for one in delayed] == sorted(
        [0, 2500, 1000, 3500, 2000, 4500, 3000, 5500]
    )


def test_ports_after_translations() -> None:
    parts = translated(conversation_parts(TALKS["0-9-1"])[:2], OTHER_PORT, SECOND)
    client, server = ("172.17.0.1", 40000), ("172.18.0.9", 5673)
    assert [(part.source, part.target) for part in parts] == [(client, server), (server, client)]


# ---- one connection ----


@pytest.mark.parametrize("order", ["path", "first", "last"])
@pytest.mark.parametrize("path", PATHS)
@PROTOCOLS
def test_rows_are_those_of_the_first(protocol: str, path: str, order: str) -> None:
    recorded = sightings(conversation_parts(TALKS[protocol]), *PATHS[path], order=order)
    check_one(recorded, copies=len(PATHS[path]))


@PROTOCOLS
@pytest.mark.parametrize("flags", [(FIN | ACK, FIN | ACK), (FIN | ACK,), (RST | ACK,), (RST,)])
def test_ends(protocol: str, flags: tuple[int, ...]) -> None:
    check_one(sightings(ended(conversation_parts(TALKS[protocol]), *flags), BOTH))


@PROTOCOLS
def test_a_port_of_the_client_that_comes_again(protocol: str) -> None:
    first = ended(conversation_parts(TALKS[protocol]), FIN | ACK, FIN | ACK)
    later = first[-1].time_ns + 10**9 - first[0].time_ns
    again = [
        replace(
            part, sequence=part.sequence + 777, ack=part.ack + 777, time_ns=part.time_ns + later
        )
        for part in first
    ]
    recorded = sightings([*first, *again], BOTH)
    check_one(recorded, copies=2)


@pytest.mark.parametrize("change", ["wrapped", "repeated", "shuffled", "short"])
@PROTOCOLS
def test_segments_of_any_kind(protocol: str, change: str) -> None:
    parts = conversation_parts(TALKS[protocol])
    changed = {
        "wrapped": mangle.wrapped,
        "repeated": lambda items: mangle.repeated(items, 3),
        "shuffled": lambda items: [*items[:3], *mangle.shuffled(items[3:], 1, 4)],
        "short": lambda items: list(mangle.split(items, 20)),
    }[change](parts)
    check_one(sightings(spaced(changed, 300_000), PUBLISHED))


@PROTOCOLS
@pytest.mark.parametrize("spacing_ns", [20_000, 100_000])
def test_copies_after_other_packets(protocol: str, spacing_ns: int) -> None:
    """As many as come in half a millisecond."""
    parts = spaced(conversation_parts(TALKS[protocol]), spacing_ns)
    check_one(sightings(parts, BOTH, delay_ns=500_000))


@PROTOCOLS
def test_acknowledgements_alone(protocol: str) -> None:
    """Segments without bytes are no difference."""
    parts = []
    for part in conversation_parts(TALKS[protocol]):
        parts.append(part)
        if part.data:
            sequence, ack = part.ack, part.sequence + len(part.data)
            back = {"source": part.target, "target": part.source}
            parts.append(replace(part, sequence=sequence, ack=ack, data=b"", **back))
    check_one(sightings(spaced(parts, 10**6), MASQUERADED))


def test_several_clients_behind_one_address() -> None:
    talks = [
        conversation_parts(TALKS[protocol], client=40_000 + i)
        for i, protocol in enumerate(("0-9-1", "1.0", "0-9-1"))
    ]
    parts = merged(
        *([replace(p, time_ns=p.time_ns + 70_000 * i) for p in t] for i, t in enumerate(talks))
    )
    check_one(sightings(parts, MASQUERADED), copies=3)


def test_one_of_two_is_translated() -> None:
    one = conversation_parts(TALKS["0-9-1"], client=40_001)
    other = conversation_parts(TALKS["0-9-1"], client=40_002)
    recorded = sightings(merged(one, other), MASQUERADED)
    check_one([one for one in recorded if (one.point, one.client_port) != (1, 40_002)])


def test_ipv6() -> None:
    as_6 = Translation("fd00::1", "fd00::2")
    parts = translated(conversation_parts(TALKS["0-9-1"]), as_6)
    recorded = sightings(parts, Translation("fd00::9", "fd01::1"))
    assert "[fd00::1]:40000" in {row["src"] for row in rows(capture_of(recorded))}
    check_one(recorded)


@PROTOCOLS
def test_begins_in_the_middle(protocol: str) -> None:
    recorded = sightings(conversation_parts(TALKS[protocol]), BOTH)
    for start in (4, 17, 18, 19, 20, 33, 40):
        check_one(recorded[start:])


def test_a_real_recording() -> None:
    parts = mangle.parts(REPO / "demo" / "kombu_celery.pcap.gz")
    clients = {part.client for part in parts}
    check_one(sightings(parts, BOTH, delay_ns=9000), copies=len(clients))


@pytest.mark.parametrize("name", v1_talk.RECORDINGS)
def test_real_recordings_of_1_0(name: str) -> None:
    parts = v1_talk.parts_of(name)
    clients = {part.client for part in parts}
    check_one(sightings(parts, BOTH, delay_ns=9000), copies=len(clients))


@pytest.mark.parametrize(("name", "port"), [("tls_openssl", 5671), ("websocket_azure", 4430)])
def test_layers(name: str, port: int) -> None:
    parts = mangle.parts(FOLDER / f"{name}.pcap.gz")
    pairs = {frozenset((part.source, part.target)) for part in parts}
    recorded = sightings(parts, BOTH, delay_ns=5000, port=port)
    keylog = FOLDER / f"{name}_keys.log"
    check_one(recorded, copies=len(pairs), keylog=keylog, ports=port)


def test_a_recording_of_kernels() -> None:
    """A router of Linux that masquerades and publishes two ports, ``tcpdump -i any``: a client of
    0-9-1 (pika), and one of 1.0."""
    path = FOLDER / "translated.pcap.gz"
    parts = mangle.parts(path)
    before = [part for part in parts if "10.51.1.2" in (part.source[0], part.target[0])]
    assert 2 * len(before) == len(parts)
    servers = {"named": (30672, 30673, 5672, 5673), "before": (30672, 30673)}
    for level in ("frame", "message", "event"):
        expected_rows, _ = read(capture_of(before), level, ports=servers["before"])
        for ports, octets in (("named", mangle.unpacked(path)), ("named", capture_of(parts))):
            actual_rows, stats = read(octets, level, ports=servers[ports])
            assert actual_rows == expected_rows
            assert stats["translated_connections"] == 2
        detected_rows, stats = read(mangle.unpacked(path), level)
        assert len(detected_rows) == len(expected_rows) > 100
        assert stats["translated_connections"] == 2
    assert capture.stats(path)["translated_connections"] == 2


# ---- ports ----


@PROTOCOLS
@LEVELS
def test_another_port_of_the_server(level: str, protocol: str) -> None:
    recorded = sightings(conversation_parts(TALKS[protocol]), OTHER_PORT)
    alone = [capture_of(at_point(recorded, point)) for point in (0, 1)]
    octets = capture_of(recorded)
    actual_rows, stats = read(octets, level, ports=(5672, 5673))
    assert actual_rows == read(alone[0], level, ports=(5672, 5673))[0]
    assert stats["translated_connections"] == 1
    for port, point in ((5672, 0), (5673, 1)):
        actual_rows, stats = read(octets, level, ports=port)
        assert actual_rows == read(alone[point], level, ports=port)[0]
        assert stats["translated_connections"] == 0
    actual_rows, stats = read(octets, level)
    assert actual_rows in [read(one, level)[0] for one in alone]
    assert stats["translated_connections"] == 1


@PROTOCOLS
@LEVELS
def test_a_published_port(level: str, protocol: str) -> None:
    """The server's own port is 5672, and clients know another one."""
    parts = conversation_parts(TALKS[protocol], port=30672)
    published = Translation("172.17.0.1", "172.17.0.2", 5672)
    recorded = sightings(parts, published, port=30672)
    alone = [capture_of(at_point(recorded, point)) for point in (0, 1)]
    actual_rows, stats = read(capture_of(recorded), level, ports=(5672, 30672))
    assert actual_rows == read(alone[0], level, ports=(5672, 30672))[0]
    assert stats["translated_connections"] == 1
    actual_rows, stats = read(capture_of(recorded), level)
    assert actual_rows in [read(one, level)[0] for one in alone]
    assert stats["translated_connections"] == 1


def test_another_port_of_which_the_first_header_is_the_servers() -> None:
    """At the other port, where the client's was not captured."""
    recorded = sightings(conversation_parts(TALKS["1.0"]), OTHER_PORT)
    header = 2
    assert recorded[2 * header].part.data.startswith(b"AMQP")
    remaining = without(recorded, {(1, header)})
    actual_rows, stats = read(capture_of(remaining))
    assert actual_rows == read(capture_of(at_point(recorded, 0)))[0]
    assert (stats["connections"], stats["translated_connections"]) == (1, 1)


# ---- connections of their own ----


@PROTOCOLS
def test_another_port_of_the_client(protocol: str) -> None:
    parts = conversation_parts(TALKS[protocol])
    check_two(parts, of_other_client(parts, 40_001))


@PROTOCOLS
@pytest.mark.parametrize("side", ["client", "server", "both"])
def test_other_sequence_numbers(protocol: str, side: str) -> None:
    parts = conversation_parts(TALKS[protocol])
    client, server = (12_345 * (side in ("client", "both")), 777 * (side in ("server", "both")))
    other = []
    for part in of_other_client(parts):
        mine, theirs = (client, server) if part.from_client else (server, client)
        ack = part.ack + theirs if part.flags & ACK and part.ack else part.ack
        other.append(replace(part, sequence=part.sequence + mine, ack=ack))
    check_two(parts, other)


@pytest.mark.parametrize("header", [b"AMQP\3\1\0\0", b"AMQP\0\0\x09\1 and more", b"AMQP\1\1\0\x09"])
def test_bytes_differ_in_the_beginning(header: bytes) -> None:
    """The first that the client sends: each is a connection of its own."""
    says = TALKS["0-9-1"]
    assert says[0] == (0, amqp.PROTOCOL_HEADER)
    check_two(
        conversation_parts(says), of_other_client(conversation_parts([(0, header), *says[1:]]))
    )


@pytest.mark.parametrize("at", [0, 3, 7, 20])
def test_bytes_differ_later(at: int) -> None:
    """The second goes on as a connection of its own where it begins to differ."""
    before = [*login(), *open_channel(), *(publish(n) for n in range(at))]
    first = conversation_parts([*before, *(publish(n, "jobs") for n in range(100, 130))])
    second = of_other_client(
        conversation_parts([*before, *(publish(n, "JOBS") for n in range(100, 130))])
    )
    actual = check_suffix(first, second)
    frames = actual["192.0.2.1:40000", "client"]
    assert len(frames) >= 90
    assert sum(b"JOBS" in frame for frame in frames) == 30


@PROTOCOLS
@pytest.mark.parametrize("size", [5, 60])
def test_segments_that_are_cut_otherwise(protocol: str, size: int) -> None:
    parts = spaced(conversation_parts(TALKS[protocol]), 10**6)
    other = list(mangle.split(of_other_client(parts), size))
    check_suffix(parts, other)


def test_the_first_copy_contradicts() -> None:
    """What is held and cannot be the same is read, as soon as the other connection shows it."""
    says = [*login(), *open_channel()]
    first = conversation_parts([*says, publish(1, "jobs"), publish(2)])
    second = of_other_client(conversation_parts([*says, publish(1, "JOBS"), publish(2)]))
    in_turn = merged(first[:-2], second[:-2])
    in_turn += [second[-2], first[-2], second[-1], first[-1]]
    actual = check_suffix(first, second, capture_of(in_turn))
    assert b"JOBS" in b"".join(actual["192.0.2.1:40000", "client"])


def test_what_was_sent_before_it_was_compared_is_not_read_twice() -> None:
    """A segment that is sent again, where the copy begins, and is the same as one of before."""
    says = [*login(), *open_channel(), *(publish(n) for n in range(4))]
    first = conversation_parts([*says, publish(4), publish(5, "jobs")])
    second = of_other_client(conversation_parts([*says, publish(4), publish(5, "JOBS")]))
    recorded = [*first[:-2], *second[-4:-2], first[-2], second[-2], first[-1], second[-1]]
    actual = check_suffix(first, second, capture_of(recorded))
    (frames,) = actual.values()
    assert sum(b"JOBS" in frame for frame in frames) == 1
    assert sum(frame.startswith(b"\1") for frame in frames) == 1


def test_another_opening_of_the_first_connection() -> None:
    """It comes late, and says that both are connections of their own."""
    opening, answer, *payloads = conversation_parts(TALKS["0-9-1"])
    early = payloads[-1]
    assert early.from_client
    of_other = of_other_client([opening, answer, *payloads])
    shifted = [
        replace(
            part,
            sequence=part.sequence + 40 * part.from_client,
            ack=part.ack + 40 * (not part.from_client),
        )
        for part in of_other
    ]
    octets = capture_of([early, shifted[0], opening, answer, *payloads[:-1], *shifted[1:]])
    for level in ("frame", "message"):
        actual_rows, stats = read(octets, level)
        assert (stats["connections"], stats["translated_connections"]) == (2, 0)
        for parts in ([opening, answer, *payloads], shifted):
            expected_rows, _ = read(capture_of(parts), level)
            bodies = [
                [
                    row["frame" if level == "frame" else "body"]
                    for row in of_client(table, parts[0].client)
                ]
                for table in (actual_rows, expected_rows)
            ]
            assert sorted(map(repr, bodies[0])) == sorted(map(repr, bodies[1]))


def test_bytes_far_from_another_connection() -> None:
    """They are read at once: nothing of it is held to be compared."""
    ends = [make.segment_of_port(1, 1001, HEARTBEAT), make.segment_of_port(2, 3 << 20, HEARTBEAT)]
    counted = capture.stats(io.BytesIO(make.pcap(ends)))
    assert (counted["connections"], counted["translated_connections"]) == (2, 0)


@pytest.mark.parametrize(("distance", "connections"), [(0, 1), (3 << 20, 2)])
def test_acknowledgements_far_from_another_server(distance: int, connections: int) -> None:
    """The bytes are the same, and what they answer is not."""
    parts = conversation_parts(TALKS["0-9-1"])[2:]
    copy = [
        replace(part, ack=part.ack + distance)
        for part in of_other_client(parts)
        if part.from_client
    ]
    _, counted = read(capture_of(merged(parts, copy)))
    assert (counted["connections"], counted["translated_connections"]) == (
        connections,
        2 - connections,
    )


def test_acknowledgements_far_from_another_server_take_no_place_of_a_copy() -> None:
    """Eight connections at most are held to be compared with one, and these are none of them."""
    size, far = len(HEARTBEAT), 3 << 20
    packets = []
    for host in range(9):
        at, ack = (1001 + 20 * size, far) if host else (1001, 5001)
        ends = make.SERVER, (f"10.1.0.{host}", 40_000)
        packets.append(make.segment_of_port(host, at, HEARTBEAT, ack=ack))
        packets.append(make.segment(*ends, ack, HEARTBEAT, ACK, at + size))
    for number in range(1, 9):
        for host in (9, 0):
            packets.append(make.segment_of_port(host, 1001 + number * size, HEARTBEAT))
    counted = capture.stats(io.BytesIO(make.pcap(packets)))
    assert (counted["connections"], counted["translated_connections"]) == (9, 1)


def test_two_copies_of_which_the_second_contradicts() -> None:
    """The first of them is still one with the connection."""
    packets = [make.segment_of_port(host, 1000, b"", make.SYN) for host in range(3)]
    for number in range(8):
        at = 1001 + len(HEARTBEAT) * number
        for host in range(3):
            frame = OTHER_FRAME if (host, number) == (2, 5) else HEARTBEAT
            packets.append(make.segment_of_port(host, at, frame))
    octets = make.pcap(packets)
    counted = read(octets)[1]
    assert (counted["connections"], counted["translated_connections"]) == (2, 1)
    sources = [row["src"] for row in rows(octets, fields=["src"])]
    assert {source: sources.count(source) for source in sources} == {
        "10.1.0.0:40000": 8,
        "10.1.0.2:40000": 3,
    }


def test_many_connections_are_translated() -> None:
    """More than there are places to find them by without going on to the next."""
    packets = []
    for data, flags, sequence in [(b"", make.SYN, 1000), (amqp.PROTOCOL_HEADER, ACK, 1001)]:
        for port in range(20_000, 21_500):
            for host in ("10.1.0.1", "10.1.0.2"):
                ends = (host, port), make.SERVER
                packets.append(make.segment(*ends, sequence, data, flags, 5001))
    counted = read(make.pcap(packets))[1]
    assert (counted["connections"], counted["translated_connections"]) == (1500, 1500)


@LEVELS
def test_rows_wait_for_what_is_held(level: str) -> None:
    """Segments that may be another one's, and are not, have their places all the same."""
    short_talk = conversation_parts([*login(), *open_channel()], client=40_001)
    long_talk = conversation_parts(
        [*login(), *open_channel(), *(publish(n) for n in range(5000))], client=40_002
    )
    octets = capture_of([*short_talk, *of_other_client(short_talk, 40_001), *long_talk])
    table = rows_of(capture.read(io.BytesIO(octets), level, batch_rows=500))
    expected = of_client(rows(capture_of(short_talk), level=level), "10.0.0.1:40001")
    assert len(of_client(table, "192.0.2.1:40001")) == len(expected) > 0
    assert not any("late" in row["flags"] for row in table)
    offsets = [row["packet_offset"] for row in table]
    assert offsets == sorted(offsets)


def test_copies_that_stand_far_apart() -> None:
    """More than 64 segments of a direction: they are connections of their own."""
    says = [*login(), *open_channel(), *(publish(n) for n in range(300))]
    parts = spaced(conversation_parts(says), 1000)
    check_one(sightings(parts, BOTH, delay_ns=50_000))
    recorded = sightings(parts, BOTH, delay_ns=900_000, order="first")
    points = [[one.part for one in at_point(recorded, point)] for point in (0, 1)]
    check_suffix(*points)


# ---- packets that were not captured ----


@PROTOCOLS
@pytest.mark.parametrize(
    ("point", "count", "places", "gaps"),
    [(0, 1, (9, 14, 18), 1), (1, 2, (9, 14, 22), 0)],
    ids=["first", "copy"],
)
def test_the_copy_fills_no_gap_and_makes_none(
    protocol: str, point: int, count: int, places: Sequence[int], gaps: int
) -> None:
    recorded = sightings(conversation_parts(TALKS[protocol]), BOTH)
    for place in places:
        remaining = without(recorded, {(point, place + i) for i in range(count)})
        check_one(remaining)
        _, stats = read(capture_of(remaining))
        assert stats["gaps"] == gaps


@PROTOCOLS
def test_packets_that_were_cut(protocol: str) -> None:
    """By snaplen, at both points."""
    recorded = sightings(conversation_parts(TALKS[protocol]), BOTH)

    def short(items: Iterable[Sighting]) -> bytes:
        records = mangle.records([one.part for one in items])
        return make.pcap([Record(one.data[:100], one.time_ns, len(one.data)) for one in records])

    for level in ("frame", "message", "event"):
        expected_rows, _ = read(short(at_point(recorded, 0)), level)
        assert read(short(recorded), level)[0] == expected_rows


# ---- ways of reading ----


def written(path: Path, recorded: Iterable[Sighting | mangle.Part]) -> Path:
    path.write_bytes(capture_of(recorded))
    return path


def record_ends(path: Path) -> list[int]:
    """Where each record of a pcap ends."""
    octets, ends = path.read_bytes(), [24]
    while ends[-1] < len(octets):
        at = ends[-1]
        ends.append(at + 16 + int.from_bytes(octets[at + 8 : at + 12], "little"))
    return ends[1:]


@LEVELS
@PROTOCOLS
def test_in_pieces(level: str, protocol: str, tmp_path: Path) -> None:
    """A state after each packet."""
    path = written(
        tmp_path / "x.pcap", sightings(conversation_parts(TALKS[protocol]), BOTH, SECOND)
    )
    one = capture.read(path, level, order="none")
    expected_rows = rows_of(one)
    table, state = [], None
    for stop in [*record_ends(path)[:-1], None]:
        reader = capture.Reader(path, level, order="none")
        if state is not None:
            reader.resume(state)
        table += rows_of(reader.read(stop))
        if stop is not None:
            state = reader.state()
            again = capture.Reader(path, level, order="none")
            again.resume(state)
            assert again.state() == state
    assert table == expected_rows
    assert reader.stats() == one.stats()
    assert one.stats()["translated_connections"] == 2


@LEVELS
@PROTOCOLS
def test_on_several_threads(level: str, protocol: str) -> None:
    octets = capture_of(sightings(conversation_parts(TALKS[protocol]), BOTH))
    one = read(octets, level)
    assert read(octets, level, workers=3, batch_rows=5) == one
    assert one[1]["translated_connections"] == 1


@LEVELS
@pytest.mark.parametrize("files", ["rotation", "auto"])
@PROTOCOLS
def test_in_a_rotation(level: str, files: str, protocol: str, tmp_path: Path) -> None:
    recorded = sightings(conversation_parts(TALKS[protocol]), BOTH)
    paths = [
        written(tmp_path / f"{at:03}.pcap", recorded[at : at + 21])
        for at in range(0, len(recorded), 21)
    ]
    reader = capture.read(paths, level, redact=False, files=files)
    assert unplaced(rows_of(reader)) == read(capture_of(recorded), level)[0]
    assert reader.not_in_rotation == {}
    assert reader.stats()["translated_connections"] == 1


@pytest.mark.parametrize("level", ["frame", "message"])
@pytest.mark.parametrize("trouble", ["none", "some"])
@pytest.mark.parametrize("midstream", [False, True])
def test_outlines(level: str, trouble: str, midstream: bool, tmp_path: Path) -> None:
    """A reader that follows outlines of parts holds what one holds that reads all."""
    path = tmp_path / "x.pcap"
    path.write_bytes(steady(1, 1200, trouble=trouble, midstream=midstream))
    parts = spaced(mangle.parts(path), 500_000)
    written(path, sightings(parts, BOTH))
    for count in (3, 8):
        followed(path, level, path.stat().st_size // count)
