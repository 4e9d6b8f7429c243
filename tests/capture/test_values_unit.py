"""Values in place of packets: what is missing among them, and what goes out before their end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest

from amqpcodec import _capture, batch
from amqpcodec import v0_9_1 as amqp
from amqpcodec._facade.event_rows import ALL_ROWS, MISSING, ConnectionReader
from tests.support import route_talk
from tests.support.batches import rows_of
from tests.support.event_talk import deliver, login, open_channel, publish

#: (number of the connection, side, what it says or None: it is missing)
Value = tuple[int, int, "bytes | None"]

BEGINNING = [*login(), *open_channel()]


def connection_reader(rows: int = ALL_ROWS, apart: bool = False) -> ConnectionReader:
    """A reader to which two connections are known, 0 and 1."""
    reader = ConnectionReader(batch._protocols(None), False, None, rows, apart=apart)
    for key in ("a", "b"):
        reader.open([key], None, None, False)
    return reader


def feed(reader: ConnectionReader, values: Iterable[Value], first: int = 0) -> None:
    """Values a millisecond apart."""
    numbers, sides, texts = zip(*values, strict=True)
    reader.feed(
        pa.array(texts, pa.large_binary()),
        pa.array(numbers, pa.int32()),
        pa.array(
            [
                side | (MISSING if text is None else 0)
                for side, text in zip(sides, texts, strict=True)
            ],
            pa.uint8(),
        ),
        pa.array(range(first * 10**6, (first + len(texts)) * 10**6, 10**6), pa.int64()),
        first,
    )


def of(number: int, says: Iterable[tuple[int, bytes | None]]) -> list[Value]:
    """What one connection says."""
    return [(number, side, text) for side, text in says]


def events_of(values: Iterable[Value], apart: bool = False) -> list[dict[str, Any]]:
    """All events, in their order."""
    reader = connection_reader(apart=apart)
    feed(reader, values)
    reader.end()
    events = reader.take()
    assert events is not None
    return rows_of([events])


def test_full_batches_go_out_before_the_end() -> None:
    """Those whose place is known: a publish that is cut holds back what comes after it."""
    _, octets = publish(12)
    parts = [
        [*of(1, BEGINNING), *of(0, [*BEGINNING, *(publish(n) for n in range(2500))])],
        of(1, [(0, octets[:-10])]),
        of(0, [publish(n) for n in range(2500, 5000)]),
        of(1, [(0, octets[-10:])]),
        of(0, [publish(n) for n in range(5000, 7500)]),
    ]
    reader = connection_reader(rows=1000)
    out, first, counts = [], 0, []
    for part in parts:
        feed(reader, part, first)
        first += len(part)
        while (events := reader.take(False)) is not None:
            out += rows_of([events])
            assert len(events) == 1000
        counts.append(len(out))
    assert 0 < counts[0] <= counts[2] < len(parts[0]) + len(parts[1]) < counts[4]
    reader.end()
    while (events := reader.take()) is not None:
        out += rows_of([events])
    assert out == events_of([value for part in parts for value in part])
    assert not any("late" in row["flags"] for row in out)


@pytest.mark.parametrize(("apart", "route"), [(False, ["orders"]), (True, None)])
def test_what_is_read_apart_has_no_routes(apart: bool, route: list[str] | None) -> None:
    """What another connection binds is not known."""
    script = [*route_talk.declare("x", "fanout"), *route_talk.bind("orders", "x")]
    events = events_of(
        [
            *of(0, [*BEGINNING, *script, route_talk.send("x")]),
            *of(1, [*BEGINNING, route_talk.send("x")]),
        ],
        apart,
    )
    published = [row["route"] for row in events if row["event"] == "published"]
    assert published == [route, route]


def test_what_waits_is_read_before_what_is_missing() -> None:
    """The server's second deliver was sent after bytes of the client of which no frame is known."""
    body = amqp.encode(1, amqp.Body(bytes(4000)))
    in_sync = [(1, b"".join([deliver(1)[1], body * 40]))]
    events = events_of(
        of(0, [*in_sync, (0, b"x" * 40), deliver(2), (1, None), deliver(3), deliver(4)])
    )
    places = {
        row["delivery_tag"]: row["packet_offset"] for row in events if row["event"] == "delivered"
    }
    assert places[2] == 2
    (gap,) = [row for row in events if row["event"] == "gap"]
    assert (gap["packet_offset"], gap["initiator"]) == (3, "server")
    kinds = [(row["event"], row["delivery_tag"]) for row in events]
    assert kinds.index(("delivered", 2)) < kinds.index(("gap", None))


def test_frames_are_looked_for_after_a_value_that_is_missing() -> None:
    """Also where it may be the rest of a frame that is cut."""
    _, octets = publish(1)
    says = [
        *BEGINNING,
        (0, octets[: len(octets) // 4]),
        (0, None),
        *(publish(n) for n in range(2, 6)),
    ]
    events = events_of(of(0, says))
    assert [row["event"] for row in events].count("gap") == 1
    published = [row["message_id"] for row in events if row["event"] == "published"]
    assert published == ["p2", "p3", "p4", "p5"]


def test_what_is_no_header_opens_no_other_connection() -> None:
    events = events_of(of(0, [*BEGINNING, publish(1), (0, b"A header it is not")]))
    assert {row["connection_index"] for row in events} == {0}
    assert "protocol-error" in {row["event"] for row in events}
    says = [*BEGINNING, *BEGINNING]
    assert {row["connection_index"] for row in events_of(of(0, says))} == {0, 1}


def test_values_are_events() -> None:
    core = _capture.CaptureReader(amqp.PROTOCOL, None, (), True, True, 1)
    with pytest.raises(ValueError, match="values are read to events"):
        core.feed_values(b"", bytes(8), b"", b"", b"", 0)


def test_directions_that_begin_in_the_middle_are_counted() -> None:
    reader = connection_reader()
    feed(reader, [*of(0, [*BEGINNING, publish(1)]), *of(1, [publish(1), deliver(1)])])
    assert reader._core.counts()["midstream"] == 2
