"""Message level: a row a method with its content, as MessageDecoder puts them together."""

from __future__ import annotations

import io
import random
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqpcodec import capture
from amqpcodec import v0_9_1 as amqp
from tests.capture.rows import rows, streams
from tests.paths import REPO, shared_dir
from tests.support import mangle
from tests.support import recording as make
from tests.support.batches import rows_of
from tests.support.recording import opening, talk

pa = pytest.importorskip("pyarrow")

HELLO = amqp.PROTOCOL_HEADER
HEARTBEAT = amqp.encode(0, amqp.Heartbeat())
PUBLISH = amqp.Basic.Publish(exchange="orders", routing_key="eu", mandatory=True)
PROPERTIES = amqp.Basic.Properties(content_type="text/plain", headers={"n": 5})
SHARED = shared_dir()
RECORDINGS = [REPO / "demo" / "kombu_celery.pcap.gz"]
if SHARED:
    RECORDINGS += sorted(
        path for path in SHARED.glob("captures/*.gz")
        if not path.name.startswith(("amqp10", "kombu", "bench"))
    )  # fmt: skip
FIELDS = ["src", "dst", "direction", "channel", "method", "body", "error", "frame", "flags"]


def message(body: bytes, channel: int = 1, frame_max: int = 131072) -> bytes:
    return amqp.encode_message(channel, PUBLISH, PROPERTIES, body, frame_max)


def expected(octets: bytes) -> list[tuple]:
    """(channel, method, body) of a stream of frames."""
    decoder = amqp.MessageDecoder(errors="frame", frame_max=0)
    events: list[tuple] = []
    for channel, event in decoder.feed(octets):
        if isinstance(event, amqp.Message):
            events.append((channel, event.method.NAME, event.body))
        elif isinstance(event, amqp.BadFrame):
            events.append((channel, None, None))
        elif hasattr(event, "NAME"):
            events.append((channel, event.NAME, None))
    return events


def messages(octets: bytes, **options) -> list[dict]:
    return rows(octets, level="message", fields=FIELDS, **options)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name.split(".")[0])
@pytest.mark.parametrize("segment_bytes", [None, 700])
def test_messages_of_recordings(path: Path, segment_bytes: int | None):
    octets = mangle.unpacked(path)
    if segment_bytes and "pcapng" not in path.name and "nano" not in path.name:
        octets = make.pcap(mangle.records(list(mangle.split(mangle.parts(path), segment_bytes))))
    rows_by_stream = defaultdict(list)
    for row in messages(octets):
        client_end = row["src"] if row["direction"] == "client" else row["dst"]
        event = row["channel"], row["method"], row["body"]
        rows_by_stream[client_end, row["direction"]].append((event, row["error"]))
    expected_events = {
        stream: [event for event in expected(b"".join(frames)) if event[1]]
        for stream, frames in streams(octets).items()
    }
    assert sum(map(len, rows_by_stream.values())) > 20
    for stream, stream_rows in rows_by_stream.items():
        # Rows tell of faults where objects do not: text that is not UTF-8, content that ends.
        events = expected_events.pop(stream)
        assert in_order([event for event, error in stream_rows if not error], events)
        assert in_order(events, [event for event, _ in stream_rows])
        assert any(error for _, error in stream_rows) or len(stream_rows) == len(events)
    assert not any(expected_events.values())


def in_order(some: list, all_of_them: list) -> bool:
    """Whether some are among all, in that order."""
    iterator = iter(all_of_them)
    return all(event in iterator for event in some)


def test_all_octets_are_there_once():
    """In the order of each direction, whatever is whole and whatever is not."""
    octets = mangle.unpacked(RECORDINGS[0])
    total = defaultdict(int)
    for row in rows(octets, fields=["frame", "frame_type"]):
        if row["frame_type"] in ("method", "header", "body"):
            total["frames"] += len(row["frame"])
    total["messages"] = sum(len(row["frame"]) for row in messages(octets))
    assert total["frames"] == total["messages"] > 80_000


def test_columns():
    body = bytes(range(256)) * 20
    octets = message(body, frame_max=4096)
    packets = [*opening(), *talk(HELLO, octets[:50], octets[50:4200], octets[4200:] + HEARTBEAT)]
    (row,) = rows(make.pcap(packets), level="message", fields=None)
    assert row["method"] == "basic.publish"
    assert (row["exchange"], row["routing_key"], row["mandatory"]) == ("orders", "eu", True)
    assert (row["channel"], row["body"], row["error"]) == (1, body, None)
    assert row["properties"]["headers"] == '{"n":5}'
    assert row["timestamp_last"] - row["timestamp"] == pa.scalar(2000, pa.duration("us")).as_py()
    assert row["position"] == 0
    assert row["packet_offset"] == 24 + sum(16 + len(packet) for packet in packets[:3])
    names = pa.schema(capture.schema("message")).names
    assert list(row) == names
    assert {"offset", "row", "frame"}.isdisjoint(names)
    picked = ["packet", "headers.n:long", "frame", "queue", "offset"]
    (row,) = rows(make.pcap(packets), level="message", fields=picked)
    assert list(row.values()) == [4, 5, octets, None, 0]


def test_position_is_that_of_the_first_frame():
    ack = amqp.encode(1, amqp.Basic.Ack(delivery_tag=1))
    first, second = message(b"one", 1), message(b"two", 2)
    stream = ack + HEARTBEAT + first[:40] + b""
    packets = [*opening(), *talk(HELLO, stream + first[40:] + second, ack)]
    frames = rows(make.pcap(packets), fields=["packet", "position", "frame_type"])
    starts = [(row["packet"], row["position"]) for row in frames if row["frame_type"] == "method"]
    message_rows = rows(make.pcap(packets), level="message", fields=["packet", "position"])
    assert [(row["packet"], row["position"]) for row in message_rows] == starts


def test_channels_are_put_together_each_by_itself():
    one, two = message(b"a" * 9000, 1, 4096), message(b"b" * 9000, 2, 4096)
    frames = [
        next(iter(streams(make.pcap([*opening(), *talk(stream)])).values()))
        for stream in (one, two)
    ]
    mixed = [frame for pair in zip(*frames, strict=True) for frame in pair]
    message_rows = messages(make.pcap([*opening(), *talk(HELLO, *mixed)]))
    assert [(row["channel"], row["body"][:1], len(row["body"])) for row in message_rows] == [
        (1, b"a", 9000), (2, b"b", 9000),
    ]  # fmt: skip
    assert [row["frame"] for row in message_rows] == [one, two]


def test_what_makes_no_message_is_a_row():
    complete_message = message(b"whole")
    method, header, body = next(
        iter(streams(make.pcap([*opening(), *talk(complete_message)])).values())
    )
    ack = amqp.encode(1, amqp.Basic.Ack(delivery_tag=1))
    stream = [header, body, method, ack, method + header, complete_message, body, method]
    message_rows = messages(make.pcap([*opening(), *talk(HELLO, *stream)]))
    assert [row["frame"] for row in message_rows] == [
        header, body, method, ack, method + header, complete_message, body, method,
    ]  # fmt: skip
    assert [bool(row["error"]) for row in message_rows] == [
        True,
        True,
        True,
        False,
        True,
        False,
        True,
        True,
    ]
    assert [row["flags"] for row in message_rows if row["frame"] in (method, method + header)] == [
        ["truncated"], ["truncated"], ["truncated"],
    ]  # fmt: skip


def test_a_gap_ends_what_is_open():
    """Two messages of one size, and the end of the first and the beginning of the second lost."""
    one, two = message(b"1" * 5000, 1, 4096), message(b"2" * 5000, 1, 4096)
    stream = one + two + HEARTBEAT * 3
    packets = [*opening(), *talk(HELLO, stream[:4300])]
    gap_end = len(one) + 4300
    packets += talk(stream[gap_end:], first=1001 + 8 + gap_end)
    message_rows = messages(make.pcap(packets))
    assert not any(row["error"] is None for row in message_rows)
    assert [row["flags"] for row in message_rows][:2] == [["truncated"], ["truncated"]]
    assert ["gap"] in [row["flags"] for row in message_rows]
    captured = len(stream) - (gap_end - 4300) - 3 * len(HEARTBEAT)
    assert sum(len(row["frame"]) for row in message_rows) == captured


def test_flags_of_all_frames_are_joined():
    complete_message = message(b"x" * 3000)
    stream = complete_message + HEARTBEAT + complete_message
    packets = [*opening(), *talk(HELLO), *talk(stream[100:], first=1009 + 100)]
    message_rows = messages(make.pcap(packets))
    assert message_rows[0]["flags"] == ["gap"]
    assert message_rows[-1]["error"] is None
    assert set(message_rows[-1]["flags"]) == {"gap", "resync"}  # of the heartbeat before it


def test_counts_do_not_depend_on_the_level():
    for path in RECORDINGS:
        octets = mangle.unpacked(path)
        reader = capture.Reader(io.BytesIO(octets), level="message", fields=["method"])
        assert sum(map(len, reader)) > 0
        frames = capture.Reader(io.BytesIO(octets), fields=["method"])
        assert sum(map(len, frames)) > 0
        assert reader.stats() == frames.stats()


def test_too_large_a_message_is_given_up():
    chunk = amqp.encode(1, amqp.Body(bytes(1 << 20)))
    begin = amqp.encode(1, PUBLISH) + amqp.encode(1, amqp.Header(70 << 20))
    stream = begin + chunk * 66
    packets = [
        *opening(),
        *talk(HELLO, *(stream[i : i + 60000] for i in range(0, len(stream), 60000))),
    ]
    message_rows = rows(make.pcap(packets), level="message", fields=["error", "flags", "offset"])
    assert message_rows[0]["flags"] == ["truncated"]
    assert all(row["error"] for row in message_rows)
    assert len(message_rows) == 1 + 66 - 63


@pytest.mark.parametrize("step", [7, 60, 1400, 60_000])
@pytest.mark.parametrize("most", [1, 100, 150, 4500, 20_000])
def test_message_bytes(most: int, step: int):
    """A message of more bytes is given up, and others are not, wherever packets begin."""
    sent_messages = [
        message(bytes(size), frame_max=1000) for size in (0, 10, 50, 4000, 0, 16_000, 1)
    ]
    stream = b"".join(sent_messages)
    pieces = (stream[at : at + step] for at in range(0, len(stream), step))
    octets = make.pcap([*opening(), *talk(HELLO, *pieces)])
    message_rows = rows(
        octets, level="message", fields=["frame", "flags", "error"], message_bytes=most
    )
    assert b"".join(row["frame"] for row in message_rows) == stream
    good = [row["frame"] for row in message_rows if not row["error"]]
    assert good == [octets for octets in sent_messages if len(octets) <= most]
    given_up = [row["frame"] for row in message_rows if row["flags"] == ["truncated"]]
    large = [octets for octets in sent_messages if len(octets) > most]
    assert [large[i].startswith(part) for i, part in enumerate(given_up)] == [True] * len(large)
    assert all(len(part) <= max(most, len(amqp.encode(1, PUBLISH))) for part in given_up)


def test_secrets_are_hidden():
    secret = amqp.encode(0, amqp.Connection.StartOk(mechanism="PLAIN", response=b"\0guest\0sesame"))
    octets = make.pcap([*opening(), *talk(HELLO, secret)])
    hidden = rows(octets, level="message", fields=["frame", "arguments"], redact=True)
    assert b"sesame" not in repr(hidden).encode()
    assert len(hidden) == 1


PARTS = mangle.parts(RECORDINGS[0])[:400]


@pytest.mark.parametrize("seed", range(4))
def test_state_holds_open_messages(tmp_path: Path, seed: int):
    rng = random.Random(seed)
    items = [p for p in mangle.split(PARTS, 60) if p.flags & make.SYN or rng.random() > 0.01 * seed]
    path = tmp_path / "x.pcap"
    path.write_bytes(make.pcap(mangle.records(items)))
    fields = [*FIELDS, "packet_offset", "position", "timestamp", "timestamp_last", "connection"]

    def table(batches) -> list[dict]:
        return rows_of(batches)

    expected_rows = table(capture.read(path, level="message", fields=fields, order="none"))
    stops = sorted(rng.randrange(path.stat().st_size) for _ in range(30))
    resumed_rows, state = [], None
    for stop in [*stops, None]:
        reader = capture.Reader(path, level="message", fields=fields, order="none")
        if state is not None:
            reader.resume(state)
        resumed_rows += table(reader.read(stop))
        if stop is not None:
            state = reader.state()
            again = capture.Reader(path, level="message", fields=fields, order="none")
            again.resume(state)
            assert again.state() == state
    assert resumed_rows == expected_rows
    with pytest.raises(ValueError, match="level"):
        capture.Reader(path).resume(state)


@settings(max_examples=60, deadline=None)
@given(
    file=st.sampled_from([make.pcap(mangle.records(list(mangle.split(PARTS[:150], 200))))]),
    damage=st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.binary(max_size=6), st.integers(0, 40)),
        max_size=12,
    ),
)
def test_damage_of_any_kind(file: bytes, damage: list[tuple[float, bytes, int]]):
    octets = bytearray(file)
    for place, put, drop in damage:
        at = int(place * len(octets))
        octets[at : at + drop] = put
    try:
        reader = capture.read(io.BytesIO(bytes(octets)), level="message", batch_rows=100)
        for batch in reader:
            pa.record_batch(batch).validate(full=True)
    except capture.CaptureError:
        return


@pytest.mark.parametrize("protocol", ["0-9", "0-8"])
def test_columns_of_other_versions(protocol: str):
    names = pa.schema(capture.schema("message", protocol=protocol)).names
    assert {"exchange", "delivery_tag", "body", "reply_text"} < set(names)


def test_levels_that_are_none():
    with pytest.raises(ValueError, match="level"):
        capture.read("x", level="packet")
