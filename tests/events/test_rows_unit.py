"""Events of rows that are no captures: batch.decode(level="event", by=...)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from amqpcodec import batch, capture
from tests.events.test_damage_properties import TALKS
from tests.support import event_talk as talk
from tests.support.event_rows import (
    CONVERSATIONS,
    RECORDINGS,
    conversation,
    frames,
    many,
    of_payloads,
    open_at_end,
    rows_of,
)
from tests.support.recording import packets, pcap


def without(rows: Iterable[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if k not in names} for row in rows]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_recordings(path: Path, tmp_path: Path) -> None:
    """The same rows as those of a capture with the same bytes."""
    rows, data = of_payloads(path)
    copy = tmp_path / "copy.pcap"
    copy.write_bytes(data)
    of_capture = pa.table(capture.read(copy, "event", ports=(5672, 5680, 5681)))
    of_rows = pa.table(batch.decode(rows, level="event", by=["connection"]))
    assert of_rows.schema.equals(of_capture.schema)
    places = ("file", "connection", "packet_offset")
    assert without(of_rows.to_pylist(), *places) == without(of_capture.to_pylist(), *places)
    # The capture itself has the same events, but for those that TCP's end makes.
    found = {(row["client"], row["time_us"], row["event"]) for row in of_rows.to_pylist()}
    ends = ("connection-lost", "recording-ended", "waiting", "heartbeat-missed")
    for row in pa.table(capture.read(path, "event")).to_pylist():
        if row["event"] not in ends and row["reason"] not in ends:
            assert (row["client"], row["time_us"], row["event"]) in found, row


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_frames_of_recordings(path: Path) -> None:
    """Whole frames as rows: they give as many events, at the same times."""
    names = ["client", "time_us", "event", "channel", "message_id"]
    found = pa.table(batch.decode(frames(path), level="event", by=["connection"], fields=names))
    index = {tuple(row.values()) for row in found.to_pylist()}
    ends = ("connection-lost", "recording-ended", "waiting", "heartbeat-missed")
    for row in pa.table(capture.read(path, "event", [*names, "reason"])).to_pylist():
        if row["event"] not in ends and row.pop("reason") not in ends:
            assert tuple(row.values()) in index, row


@pytest.mark.parametrize("protocol", CONVERSATIONS)
def test_the_same_as_a_capture(protocol: str, tmp_path: Path) -> None:
    says = CONVERSATIONS[protocol]()
    path = open_at_end(tmp_path / "talk.pcap", says)
    expected = pa.table(capture.read(path, "event")).to_pylist()
    table = rows_of(says, path)
    for given in (None, protocol):
        found = pa.table(batch.decode(table, given, level="event", by=[])).to_pylist()
        places = ("connection", "packet_offset", "file")
        assert without(found, *places) == without(expected, *places)


@pytest.mark.parametrize("protocol", CONVERSATIONS)
@pytest.mark.parametrize("size", [1, 7, 64])
def test_bytes_cut_anywhere(protocol: str, size: int, tmp_path: Path) -> None:
    says = CONVERSATIONS[protocol]()
    pieces = [
        (side, data[at : at + size]) for side, data in says for at in range(0, len(data), size)
    ]
    names = ["event_id", "event", "answers", "certainty", "queue", "delivery_tag", "outcome"]
    tables = [
        pa.table(
            {
                "frame": pa.array([data for _, data in each], pa.large_binary()),
                "direction": pa.array([("client", "server")[side] for side, _ in each]),
            }
        )
        for each in (says, pieces)
    ]
    whole, cut = (
        pa.table(batch.decode(table, level="event", fields=names, by=[])) for table in tables
    )
    assert len(whole) > 10
    assert cut.equals(whole)


@pytest.mark.parametrize("name", TALKS)
@pytest.mark.parametrize("begin", [5, 9, 14])
def test_what_begins_in_the_middle(name: str, begin: int, tmp_path: Path) -> None:
    """Nothing is known better than by a capture, and nothing otherwise."""
    path = tmp_path / "talk.pcap"
    path.write_bytes(pcap(TALKS[name]))
    table = frames(path).slice(begin)
    rows = pa.table(batch.decode(table, level="event", by=["connection"])).to_pylist()
    whole = pa.table(batch.decode(frames(path), level="event", by=["connection"])).to_pylist()
    exact = {
        (row["time_us"], row["event"], row["channel"], row["queue"], row["delivery_tag"])
        for row in whole
        if row["certainty"] == "exact"
    }
    for row in rows:
        if row["certainty"] == "exact" and row["event"] not in ("published", "protocol-error"):
            place = row["time_us"], row["event"], row["channel"], row["queue"], row["delivery_tag"]
            assert place in exact, row


def test_connections_by_their_keys() -> None:
    table = many(conversation(), 6)
    options: dict[str, Any] = {"level": "event", "column": "data", "time": "at"}
    events = pa.table(batch.decode(table, by=["host", "number"], **options))
    assert len(set(events.column("connection").to_pylist())) == 6
    assert set(events.column("connection_index").to_pylist()) == set(range(6))
    assert set(events.column("certainty").to_pylist()) == {"exact"}
    assert events.column("client").to_pylist() == [""] * len(events)
    offsets = events.column("packet_offset").to_pylist()
    assert offsets == sorted(offsets)
    # The name of a connection is of its key: the same in another table, by other types.
    again = table.slice(6).set_column(
        0, "host", table.slice(6).column("host").combine_chunks().dictionary_decode()
    )
    other = pa.table(batch.decode(again, by=["host", "number"], **options))
    assert set(other.column("connection").to_pylist()) == set(
        events.column("connection").to_pylist()
    )


def test_keys_and_columns_as_arrays() -> None:
    table = many(conversation(), 2)
    names = ["event", "event_id", "connection_index"]
    of_table = batch.decode(
        table, level="event", fields=names, by=["host"], column="data", time="at"
    )
    of_arrays = batch.decode(
        table.column("data"),
        level="event",
        fields=names,
        by=[table.column("host")],
        direction=table.column("direction"),
        time=table.column("at").combine_chunks(),
    )
    assert pa.table(of_table).equals(pa.table(of_arrays))
    assert of_arrays.to_numpy("event")[0] == "channel-opened" or len(of_arrays)


def test_sliced_and_chunked() -> None:
    table = many(conversation(), 2)
    chunked = pa.concat_tables([table.slice(i, 5) for i in range(0, len(table), 5)])
    options: dict[str, Any] = {"level": "event", "by": ["host"], "column": "data", "time": "at"}
    assert pa.table(batch.decode(chunked, **options)).equals(
        pa.table(batch.decode(table, **options))
    )
    reader = pa.RecordBatchReader.from_batches(table.schema, chunked.to_batches())
    assert pa.table(batch.decode(reader, **options)).equals(
        pa.table(batch.decode(table, **options))
    )
    part = pa.table(batch.decode(table.slice(2), **options))
    copied = pa.table(batch.decode(table.take(list(range(2, len(table)))), **options))
    assert part.equals(copied)


def test_a_null_is_missing() -> None:
    says = conversation()
    table = many(says, 1)
    data = table.column("data").to_pylist()
    lost = data[:]
    lost[14] = None  # one of two publishes
    damaged = table.set_column(4, "data", pa.array(lost, pa.binary()))
    options: dict[str, Any] = {"level": "event", "by": [], "column": "data", "time": "at"}
    rows = pa.table(batch.decode(damaged, **options)).to_pylist()
    gaps = [row for row in rows if row["event"] == "gap"]
    assert [(row["packet_offset"], row["details"], row["initiator"]) for row in gaps] == [
        (14, None, "client")
    ]
    confirms = [row for row in rows if row["event"] == "confirmed"]
    assert [row["certainty"] for row in confirms] == ["exact", "unknown"]
    empty = table.set_column(4, "data", pa.array([b"" if v is None else v for v in lost]))
    rows = pa.table(batch.decode(empty, **options)).to_pylist()
    assert "gap" not in {row["event"] for row in rows}


def test_gaps_of_a_capture(tmp_path: Path) -> None:
    damaged = list(packets(conversation()))
    del damaged[17]
    path = tmp_path / "talk.pcap"
    path.write_bytes(pcap(damaged))
    rows = pa.table(batch.decode(frames(path), level="event", by=["connection"])).to_pylist()
    expected = pa.table(capture.read(path, "event")).to_pylist()
    names = ("event", "certainty", "answers", "queue")
    assert [[row[n] for n in names] for row in rows] == [
        [row[n] for n in names] for row in expected
    ]


def test_a_key_that_is_used_again() -> None:
    says = [*conversation(), *talk.close(), *conversation()]
    events = pa.table(batch.decode(many(says, 1), level="event", by=[], column="data"))
    assert len(set(events.column("connection").to_pylist())) == 2
    opened = [row for row in events.to_pylist() if row["event"] == "connection-opened"]
    assert [row["certainty"] for row in opened] == ["exact", "exact"]
    # The one before ended without a word.
    events = pa.table(
        batch.decode(
            many([*conversation(), *conversation()], 1), level="event", by=[], column="data"
        )
    )
    assert events.column("event").to_pylist().count("recording-ended") == 2


@pytest.mark.parametrize(
    "data", [b"GET / HTTP/1.1\r\n\r\n" * 9, b"AMQP\0\0\x0a\x0b", b"\0" * 300, b"\x16\3\1\2\0\1" * 9]
)
def test_what_is_no_amqp_is_an_event(data: bytes) -> None:
    table = pa.table({"frame": [data], "direction": ["client"]})
    rows = pa.table(batch.decode(table, level="event", by=[])).to_pylist()
    assert "protocol-error" in {row["event"] for row in rows}, rows


def test_no_rows() -> None:
    table = many(conversation(), 1).slice(0, 0)
    events = batch.decode(table, level="event", by=["host"], column="data", time="at")
    assert len(events) == 0
    assert pa.table(events).schema.equals(pa.schema(batch.schema(level="event")))
    assert pa.schema(batch.schema(level="event")).equals(pa.schema(capture.schema("event")))


def test_what_is_wrong_is_said() -> None:
    table = many(conversation(), 1)
    options: dict[str, Any] = {"level": "event", "by": [], "column": "data"}
    with pytest.raises(ValueError, match="needs by"):
        batch.decode(table, level="event", column="data")
    names = table.column("direction").to_pylist()
    names[3] = None
    with pytest.raises(ValueError, match="row 3: direction is None"):
        batch.decode(table, **options, direction=pa.array(names))
    with pytest.raises(ValueError, match="row 0: direction is 'out'"):
        batch.decode(table, **options, direction=pa.array(["out"] * len(table)))
    with pytest.raises(ValueError, match="time: no column 'then'"):
        batch.decode(table, **options, time="then")
    with pytest.raises(ValueError, match="direction: no column 'who'"):
        batch.decode(table, **options, direction="who")
    with pytest.raises(ValueError, match="no column 'frame'"):
        batch.decode(table, level="event", by=[])
    with pytest.raises(TypeError, match="time is a timestamp"):
        batch.decode(table, **options, time="host")
    with pytest.raises(TypeError, match="binary values, not"):
        batch.decode(table, level="event", by=[], column="direction")
    with pytest.raises(ValueError, match="mode is 'PERMISSIVE'"):
        batch.decode(table, **options, mode="FAILFAST")
    with pytest.raises(ValueError, match="no column 'nothing'"):
        batch.decode(table, **options, fields=["nothing"])
    times = pa.array([2**62] * len(table), pa.timestamp("us"))
    with pytest.raises(ValueError, match="1677 to 2262"):
        batch.decode(table, **options, time=times)


def test_state_of_values_is_refused() -> None:
    from amqpcodec._facade.event_rows import ConnectionReader

    reader = ConnectionReader(batch._protocols(None), False, None, 10)
    reader.open(["a"], None, None, False)
    with pytest.raises(ValueError, match="have no state"):
        reader._core.state()
    core = reader._core
    numbers, times = (0).to_bytes(4, "little"), bytes(8)
    ends = bytes(8) + (3).to_bytes(8, "little")
    for wrong in (
        (b"ab", ends, numbers, b"\0", times),
        (b"abc", ends, (1).to_bytes(4, "little"), b"\0", times),
        (b"abc", ends, numbers, b"\4", times),
        (b"abc", ends, numbers, b"\0", b""),
        (b"abc", ends[:8], numbers, b"\0", times),
        (b"abc", ends[8:] + ends[:8], numbers, b"\0", times),
    ):
        with pytest.raises(ValueError, match="do not fit together"):
            core.feed_values(*wrong, 0)
    with pytest.raises(ValueError, match="6 or 18 bytes"):
        core.name_connection(1, b"abc", b"abc")


def test_a_connection_without_a_name_whose_address_is_not_known() -> None:
    """Where packets are read it is called by its user and the client's address."""
    for name, called in (("worker", "worker"), (None, None)):
        says = talk.login(name=name)
        table = pa.table(
            {
                "frame": [octets for _, octets in says],
                "direction": [("client", "server")[side] for side, _ in says],
            }
        )
        row, *_ = pa.table(batch.decode(table, level="event", by=[])).to_pylist()
        assert (row["event"], row["user"]) == ("connection-opened", "guest")
        assert (row["client"], row["connection_name"]) == ("", called)
