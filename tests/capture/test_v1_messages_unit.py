"""Deliveries of AMQP 1.0 in captures: transfers put together over packets, gaps and files."""

from __future__ import annotations

import io
import random
from collections import Counter, defaultdict
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import capture, v0_9_1
from amqpcodec import v1_0 as v1
from tests.capture.rows import rows, streams
from tests.support import mangle
from tests.support import recording as make
from tests.support.batches import rows_of
from tests.support.v1_talk import (
    AMQP,
    RECORDINGS,
    attach,
    both_families,
    client_says,
    frames_of,
    message,
    old_message,
    opening,
    parts_of,
    server_says,
    talk,
    transfer,
)

pa = pytest.importorskip("pyarrow")

FIELDS = [
    *("direction", "channel", "performative", "handle", "delivery_id", "message", "frame"),
    *("error", "flags", "timestamp", "timestamp_last"),
]


@pytest.fixture(scope="module", params=RECORDINGS)
def parts(request: Any) -> list[mangle.Part]:
    return parts_of(request.param)


def events(frames: list[bytes]) -> list[tuple[Any, ...]]:
    """What MessageDecoder makes of a side: (channel, name, delivery_id, message's bytes)."""
    event_tuples = []
    decoder = v1.MessageDecoder(opened=True)
    for channel, event in decoder.feed(b"".join(frames)):
        if isinstance(event, v1.Delivery):
            event_tuples.append((channel, "transfer", event.transfer.delivery_id, event.payload))
        elif isinstance(event, v1.Composite):
            event_tuples.append((channel, event.NAME, None, None))
    decoder.eof()
    return event_tuples


def events_of_side(message_rows: list[dict[str, Any]], side: str) -> list[tuple[Any, ...]]:
    return [
        (row["channel"], row["performative"],
         row["delivery_id"] if row["performative"] == "transfer" else None, row["message"])
        for row in message_rows if row["direction"] == side
    ]  # fmt: skip


def read(octets: bytes, **options: Any) -> list[dict[str, Any]]:
    return rows(octets, level="message", protocol="1.0", fields=FIELDS, **options)


@pytest.mark.parametrize("kind", ["as it was", "7 bytes", "reordered"])
def test_deliveries_are_those_of_the_decoder(parts, kind) -> None:
    items = {
        "as it was": lambda: parts,
        "7 bytes": lambda: list(mangle.split(parts, 7)),
        "reordered": lambda: mangle.shuffled(
            mangle.repeated(list(mangle.split(mangle.wrapped(parts), 300)), 1), 1
        ),
    }[kind]()
    octets = make.pcap(mangle.records(items))
    message_rows = read(octets)
    assert [row["error"] for row in message_rows] == [None] * len(message_rows)
    for (_, side), frames in streams(octets).items():
        assert events_of_side(message_rows, side) == events(frames)
        mine = [row["frame"] for row in message_rows if row["direction"] == side]
        assert b"".join(sorted(mine)) != b""
        assert Counter(f for octets in mine for f in frames_of(octets)) == Counter(
            frame for frame in frames if frame[:4] != b"AMQP" and len(frame) > 8
        )
    assert any(row["performative"] == "transfer" and row["timestamp"] < row["timestamp_last"]
               for row in message_rows) or kind == "as it was"  # fmt: skip


def test_the_columns_of_0_9_1(parts) -> None:
    """Each delivery is a row there, too; its body is the whole message."""
    octets = make.pcap(mangle.records(parts))
    column_names = [*FIELDS[:2], "method", *FIELDS[6:], "arguments", "body", "exchange"]
    mixed = rows(octets, level="message", fields=column_names)
    own = read(octets)
    assert [row["frame"] for row in mixed] == [row["frame"] for row in own]
    assert [row["method"] for row in mixed] == [row["performative"] for row in own]
    assert [row["body"] for row in mixed] == [row["message"] for row in own]
    assert [row["error"] for row in mixed] == [None] * len(mixed)
    message_rows = rows(octets, level="message")
    assert [row["body"] for row in message_rows] == [row["body"] for row in mixed]


def test_both_families_in_one_capture() -> None:
    for batch_rows in (3, 1000):
        message_rows = rows(both_families(), level="message", batch_rows=batch_rows)
        assert [row["error"] for row in message_rows] == [None] * len(message_rows)
        for index in range(4):
            mine = [row for row in message_rows if row["connection_index"] == index]
            if index % 2:
                assert [row["body"] for row in mine] == 20 * [b"body"]
            else:
                bodies = [row["body"] for row in mine if row["method"] == "transfer"]
                assert bodies == [message(f"text {number}") for number in range(20)]


LINKS = AMQP + opening() + attach(0)
SAID = {
    "1.0": LINKS + transfer(message("x" * 90), 0),
    "links of 1.0": LINKS,
    "1.0, cut": AMQP + opening()[:20],
    "0-9-1": v0_9_1.PROTOCOL_HEADER + 2 * old_message(),
    "0-9-1, cut": v0_9_1.PROTOCOL_HEADER + old_message()[:20],
}


@pytest.mark.parametrize("order", ["packets", "none"])
@pytest.mark.parametrize("turn", [*product(SAID, repeat=2), *product(SAID, SAID, [*SAID][2:4])])
def test_frames_of_both_families_in_one_batch(turn: tuple[str, ...], order: str) -> None:
    """Those of 1.0 stay where they were read, messages of 0-9-1 have theirs put together."""
    options: dict[str, Any] = {"level": "message", "fields": ["frame", "error"], "order": order}
    packets: list[bytes] = []
    expected: list[tuple[Any, ...]] = []
    for number, name in enumerate(turn):
        ends = (make.CLIENT[0], 40000 + number), make.SERVER
        one = make.packets([(0, SAID[name])], client=ends[0][1])
        one.append(make.segment(*ends, 1001 + len(SAID[name]), b"", make.FIN | make.ACK))
        packets += one
        expected += [tuple(row.values()) for row in rows(make.pcap(one), **options)]
    row_values = [tuple(row.values()) for row in rows(make.pcap(packets), **options)]
    assert sorted(row_values, key=repr) == sorted(expected, key=repr)


@pytest.mark.parametrize("seed", range(20))
def test_gaps(parts, seed) -> None:
    """Every frame that survives is in one row; a delivery that was cut is a row with an error."""
    all_frames = streams(make.pcap(mangle.records(parts)))
    rng = random.Random(seed)
    items = list(mangle.split(parts, rng.choice([50, 300, 1400])))
    loss = rng.choice([0.02, 0.2])
    surviving_parts = [part for part in items if part.flags & make.SYN or rng.random() >= loss]
    expected = mangle.survivors(all_frames, surviving_parts)
    message_rows = read(make.pcap(mangle.records(surviving_parts)))
    good = {row["message"] for row in message_rows if row["error"] is None and row["message"]}
    sent = {event[3] for frames in all_frames.values() for event in events(frames)}
    for row in message_rows:
        if row["error"] is None and row["performative"] == "transfer" and not row["flags"]:
            assert row["message"] in sent
    for (_, side), frames in expected.items():
        mine = [row["frame"] for row in message_rows if row["direction"] == side
                and row["performative"] is not None]  # fmt: skip
        assert Counter(f for octets in mine for f in frames_of(octets)) == Counter(
            frame for frame in frames if frame[:4] != b"AMQP" and len(frame) > 8
        )
    assert good or loss > 0.1


def test_reading_in_pieces_and_a_chain(tmp_path: Path, parts) -> None:
    packets = mangle.records(list(mangle.split(parts, 100)))
    octets = make.pcap(packets)
    path = tmp_path / "x.pcap"
    path.write_bytes(octets)

    def table(reader: Any, stop: int | None = None) -> list[Any]:
        return rows_of(reader.read(stop))

    # At a stop, rows that wait for earlier packets go out.
    options = {"level": "message", "protocol": "1.0", "order": "none"}
    expected = table(capture.Reader(path, **options))
    for stop in range(200, len(octets), 2999):
        first = capture.Reader(path, **options)
        before = table(first, stop)
        second = capture.Reader(path, **options)
        second.resume(first.state())
        assert before + table(second) == expected
    paths = []
    for at in range(0, len(packets), 9):
        paths.append(tmp_path / f"cap{at}.pcap")
        paths[-1].write_bytes(make.pcap(packets[at : at + 9]))
    chained = table(capture.Reader(paths, **options))
    assert [row["frame"] for row in chained] == [row["frame"] for row in expected]


def client(payload: bytes, **options: Any) -> list[dict[str, Any]]:
    """Rows of what a client says behind its open."""
    start = AMQP + opening()
    return read(make.pcap(talk(start + payload, size=40)), **options)[1:]


def test_sessions_and_links_in_turns() -> None:
    """A delivery is that of its channel and handle."""
    links = [(channel, handle) for channel in (0, 3) for handle in (0, 7)]
    payload = b""
    for step in range(4):
        for number, (channel, handle) in enumerate(links):
            piece = message(f"{channel} {handle}" * 9)
            size = -(-len(piece) // 4)
            payload += transfer(
                piece[step * size : step * size + size],
                number if step == 0 else None,
                channel,
                handle,
                more=step < 3,
            )
    message_rows = client(payload)
    assert [(row["channel"], row["handle"]) for row in message_rows] == links
    for row in message_rows:
        assert row["error"] is None
        assert row["message"] == message(f"{row['channel']} {row['handle']}" * 9)
        assert row["timestamp"] < row["timestamp_last"]


def test_aborted_deliveries_are_none() -> None:
    payload = transfer(b"\0\x53", 0, more=True) + transfer(b"", None, aborted=True)
    payload += transfer(b"", 1, aborted=True) + transfer(message("x"), 2)
    (row,) = client(payload)
    assert (row["delivery_id"], row["error"]) == (2, None)


@pytest.mark.parametrize(
    ("end", "names"),
    [
        (v1.encode(0, v1.Detach(0, True)), ["transfer", "detach"]),
        (v1.encode(0, v1.End()), ["transfer", "end"]),
        (v1.encode(5, v1.Close()), ["transfer", "close"]),
        (b"", ["transfer"]),
        (transfer(message("x"), 1), ["transfer", "transfer"]),
    ],
)
def test_deliveries_that_are_cut_off(end: bytes, names: list[str]) -> None:
    begun = transfer(message("begun")[:20], 0, more=True)
    message_rows = client(begun + end)
    assert [row["performative"] for row in message_rows] == names
    assert message_rows[0]["frame"] == begun
    assert message_rows[0]["flags"] == ["truncated"]
    assert "inside a delivery" in message_rows[0]["error"]
    assert [row["error"] for row in message_rows[1:]] == [None] * (len(names) - 1)


def test_other_links_are_not_cut_off() -> None:
    payload = transfer(message("a")[:20], 0, 1, 4, more=True)
    payload += (
        v1.encode(1, v1.Detach(3))
        + v1.encode(2, v1.End())
        + transfer(message("a")[20:], None, 1, 4)
    )
    message_rows = client(payload)
    assert [row["error"] for row in message_rows] == [None] * 3
    assert message_rows[0]["message"] == message("a")  # its first frame came before the others


@pytest.mark.parametrize("fields", [b"\x45", b"\xc0\1\0", b"\xc0\2\1\x40"])
@pytest.mark.parametrize("handle", [0, 5])
def test_a_detach_without_a_handle_cuts_no_link_off(fields: bytes, handle: int) -> None:
    """Whatever number lies where the handle is not: memory is filled with another one before."""
    client(transfer(message("b"), 0, handle=5) + v1.encode(0, v1.Detach(handle)))
    detach = (11 + len(fields)).to_bytes(4) + b"\2\0\0\0\0\x53\x16" + fields
    payload = transfer(message("a")[:20], 0, handle=handle, more=True) + detach
    message_rows = client(payload + transfer(message("a")[20:], None, handle=handle))
    assert [row["message"] for row in message_rows] == [message("a"), None]
    assert [row["error"] for row in message_rows] == [None, None]


def test_later_transfers_without_the_first() -> None:
    later = transfer(b"abc", None, more=True) + transfer(b"def", None)
    message_rows = client(later + transfer(message("x"), 9))
    assert [row["flags"] for row in message_rows] == [["truncated"], ["truncated"], []]
    assert [row["frame"] for row in message_rows] == [*frames_of(later), transfer(message("x"), 9)]
    assert [
        "beginning of the delivery is missing" in (row["error"] or "") for row in message_rows
    ] == [*(True, True, False)]
    assert message_rows[0]["performative"] == "transfer"


def test_many_deliveries_that_never_end() -> None:
    """The oldest are given up; none is lost."""
    payload = b"".join(transfer(b"", k, k % 3, k, more=True) for k in range(3000))
    message_rows = client(payload)
    assert sorted(row["handle"] is None for row in message_rows) == [True] * 3000
    assert [row["frame"] for row in message_rows] == frames_of(payload)
    ends = [transfer(b"", None, k % 3, k) for k in range(3000)]
    message_rows = client(payload + b"".join(ends))
    assert [row["frame"] for row in message_rows[:1976]] == frames_of(payload)[:1976]
    assert {tuple(row["flags"]) for row in message_rows[:1976]} == {("truncated",)}
    assert [row["handle"] for row in message_rows if row["error"] is None] == list(
        range(1976, 3000)
    )


def test_what_gives_no_row() -> None:
    """Headers and heartbeats; the flags of what was passed over stand in the next row."""
    message_rows = read(make.pcap(talk(client_says(), server_says())))
    names = defaultdict(int)
    for row in message_rows:
        names[row["performative"]] += 1
    assert None not in names
    assert (names["transfer"], names["disposition"], names["sasl-init"]) == (20, 20, 1)
    assert attach() in [row["frame"] for row in message_rows]


@pytest.mark.parametrize("step", [11, 1400])
def test_message_bytes(step: int) -> None:
    """A delivery whose transfers have more bytes is given up, and others are not."""
    payload = message("x" * 3000)
    transfers = [
        transfer(payload[:1000], 0, more=True),
        transfer(payload[1000:2000], None, more=True),
        transfer(payload[2000:], None),
    ]
    after = transfer(message("after"), 1)
    begun = AMQP + opening() + v1.encode(0, v1.Begin(None, 0, 10, 10)) + attach()
    octets = make.pcap(talk(begun + b"".join(transfers) + after, size=step))
    size = len(b"".join(transfers))
    for most, parts in ((size, transfers), (size - 1, transfers[:2])):
        message_rows = rows(octets, level="message", fields=["frame", "error"], message_bytes=most)
        frames = [row["frame"] for row in message_rows]
        assert frames[-1] == after
        delivery = message_rows[frames.index(b"".join(parts))]
        assert (delivery["error"] is None) == (parts == transfers)
        assert b"".join(frames).endswith(b"".join(transfers) + after)


def test_times_beyond_the_calendar_in_python() -> None:
    """A batch gives milliseconds, as the wire has them."""
    number = v1.Timestamp(300_000_000_000_007)
    sent = v1.Message(b"x", creation_time=number, application_properties={"when": number}).encode()
    payload = AMQP + opening() + v1.encode(0, v1.Begin(0, 0, 10, 10)) + attach() + transfer(sent)
    names = ["properties", "application_properties.when:timestamp", "timestamp"]
    octets = io.BytesIO(make.pcap(talk(payload)))
    *_, batch = capture.read(octets, level="message", protocol="1.0", fields=names)
    row = batch.to_pylist()[-1]
    for value in (row["properties"]["creation_time"], row[names[1]]):
        assert (type(value), value) == (v1.Timestamp, number)
    assert row["timestamp"].year == 2023
