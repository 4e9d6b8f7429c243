"""Rows in the order of their packets, whatever their bytes had to wait for."""

from __future__ import annotations

import base64
import io
import itertools
import zlib
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import capture
from amqpcodec import v0_9_1 as amqp
from tests.paths import REPO
from tests.support import event_talk, mangle
from tests.support import recording as make
from tests.support.batches import rows_of

pa = pytest.importorskip("pyarrow")

PARTS = mangle.parts(REPO / "demo" / "kombu_celery.pcap.gz")
KEY = ("file_index", "packet_offset", "position")
FIELDS = [*KEY, "connection", "direction", "flags", "frame", "error", "file"]


def table(source, **options) -> list[dict]:
    options.setdefault("fields", FIELDS)
    reader = capture.read(source, **options)
    return rows_of(reader)


def key(row: dict) -> tuple:
    return tuple(row[name] for name in KEY)


def in_turn(rows: list[dict]) -> list[dict]:
    """By packets; but a direction keeps the order of its bytes, in which `rows` have it."""
    last: dict[tuple, tuple] = {}
    keys = []
    for row in rows:
        side = row["connection"], row["direction"]
        here = (*key(row), 0)
        before = last.get(side, here)
        last[side] = max(here, (*before[:3], before[3] + 1))
        keys.append(last[side])
    return [rows[i] for i in sorted(range(len(rows)), key=keys.__getitem__)]


def midstream() -> bytes:
    """Every connection began before."""
    return make.pcap(mangle.records([p for p in PARTS[60:] if not p.flags & make.SYN]))


CAPTURES = {
    "whole": lambda: make.pcap(mangle.records(mangle.shuffled(list(mangle.split(PARTS, 60)), 2))),
    "lossy": lambda: make.pcap(mangle.records(mangle.lossy(PARTS, 1))),
    "midstream": midstream,
}


@pytest.mark.parametrize("level", ["frame", "message"])
@pytest.mark.parametrize("kind", CAPTURES)
def test_rows_come_in_the_order_of_their_packets(kind: str, level: str):
    octets = CAPTURES[kind]()
    fields = [name if level == "frame" or name != "frame" else "body" for name in FIELDS]
    as_found = table(io.BytesIO(octets), order="none", fields=fields, level=level)
    assert [key(row) for row in as_found] != sorted(key(row) for row in as_found)
    for batch_rows in (1, 100, capture.BATCH_ROWS):
        rows = table(io.BytesIO(octets), fields=fields, level=level, batch_rows=batch_rows)
        assert rows == (in_turn(as_found) if level == "frame" else rows)
        assert sorted(rows, key=key) == sorted(as_found, key=key)
        assert len({key(row) for row in rows}) == len(rows)
        assert not any("late" in row["flags"] for row in rows)


@pytest.mark.parametrize("level", ["frame", "message"])
def test_a_direction_keeps_the_order_of_its_bytes(level: str):
    """Also where its packets were captured in another one, as after a loss."""
    octets = CAPTURES["lossy"]()
    fields = ["connection", "direction", "channel", "error", *KEY]
    as_found = table(io.BytesIO(octets), order="none", fields=fields, level=level)
    rows = table(io.BytesIO(octets), fields=fields, level=level)
    behind = 0
    for side in {(row["connection"], row["direction"]) for row in rows}:
        mine = [row for row in rows if (row["connection"], row["direction"]) == side]
        if level == "frame":
            assert mine == [r for r in as_found if (r["connection"], r["direction"]) == side]
        behind += [key(row) for row in mine] != sorted(key(row) for row in mine)
    assert behind
    # Across directions the order is that of packets.
    keys = [key(row) for row in rows]
    backward = sum(b < a for a, b in itertools.pairwise(keys))
    were = [key(row) for row in as_found]
    assert backward < sum(b < a for a, b in itertools.pairwise(were))


def test_across_files(tmp_path: Path):
    records = mangle.records(mangle.shuffled(list(mangle.split(PARTS, 60)), 3))
    paths = []
    for i in range(9):
        paths.append(tmp_path / f"{i}.pcap")
        part = records[len(records) * i // 9 : len(records) * (i + 1) // 9]
        # Times that tell which file is first.
        part = [make.Record(r.data, make.START_NS + i * 10**9 + n) for n, r in enumerate(part)]
        paths[-1].write_bytes(make.pcap(part, nano=True))
    as_found = table(paths, order="none", files="rotation")
    rows = table(paths, files="rotation")
    assert as_found != rows == in_turn(as_found)
    assert {row["file_index"] for row in rows} == set(range(9))


def beat(port: int, number: int, size: int) -> bytes:
    frame = amqp.encode(1, amqp.Body(b"x" * size))
    at = 1001 + number * len(frame)
    return make.segment((make.CLIENT[0], port), make.SERVER, at, frame)


def test_what_waits_is_bounded_and_what_comes_later_is_late():
    """A direction that says too little to be understood, and very much of another one after it."""
    first, second = 41_000, 41_001
    opening = [
        make.segment((make.CLIENT[0], port), make.SERVER, 1000, b"", make.SYN)
        for port in (first, second)
    ]
    half = amqp.encode(1, amqp.Body(b"y" * 99))
    begun = make.segment((make.CLIENT[0], first), make.SERVER, 1001, half[:50])
    ended = make.segment((make.CLIENT[0], first), make.SERVER, 1051, half[50:])
    many = [beat(second, i, 60_000) for i in range(400)]  # 24 MB
    octets = make.pcap([*opening, begun, *many, ended, beat(second, 400, 60_000)])
    reader = capture.read(io.BytesIO(octets), fields=[*KEY, "flags", "body_size", "frame"])
    rows, longest = [], 0
    for batch in reader:
        part = pa.record_batch(batch).select([*KEY, "flags"]).to_pylist()
        longest = max(longest, len(part))
        rows += part
    late = [row for row in rows if "late" in row["flags"]]
    assert len(rows) == 402
    assert [row["packet_offset"] for row in late] == [24 + 2 * 16 + 2 * 54]
    assert rows.index(late[0]) > 200
    other_keys = [key(row) for row in rows if row is not late[0]]
    assert other_keys == sorted(other_keys)
    # With a shorter capture between them, nothing is late.
    octets = make.pcap([*opening, begun, *many[:100], ended])
    rows = table(io.BytesIO(octets))
    assert rows == sorted(rows, key=key)
    assert not any("late" in row["flags"] for row in rows)


@pytest.mark.untraced
def test_a_direction_that_is_never_understood_holds_back_once(tmp_path: Path):
    """Then nothing waits for it any more: many batches, one row late."""
    stuck = make.segment((make.CLIENT[0], 41_000), make.SERVER, 1001, b"\1\0\1\0\0\0")
    packets = [stuck, *(beat(41_001, i, 8) for i in range(300_000))]
    path = tmp_path / "x.pcap"
    path.write_bytes(make.pcap(packets))
    sizes, late = [], 0
    for batch in capture.read(path, fields=["flags"]):
        sizes.append(len(batch))
        late += sum("late" in row["flags"] for row in pa.record_batch(batch).to_pylist())
    assert sum(sizes) == 300_001
    assert late == 1
    assert len(sizes) > 8


#: A capture that fuzzing made: over WebSocket a client acknowledges more and more of what no packet
#: has, so that rows for that are late.
ACKNOWLEDGED = zlib.decompress(
    base64.b85decode(
        "c-p&ic+)~A1{MYcU}0bcQ6Ga-9Ud_<m;sq)45)yE!IgnQ1H^J*V_@K7U|<Adra2B`Kr!YQAn^dE|Nj}Frf57P(iA"
        "3;Nn#pv92gjcJAfv=3=l$?BJhfl;T4ei3Y#f+aJc0q(4@`)0f;H?t|1Eg<;4mfAt3?!hI)p)TpszwB~}VK`N@en8"
        "9*j4S7<?cQDRD}l|p%HQgMEAb}CTJIX^EiHMt}+KhH`5D$mOmoSLi~o|+U4R-+qGlwXpcoS$Q*keFLofG+EuT4|-"
        "=h!xn{qALzdEh+|EWoXRH#mfcq`H#1Z4CjIFKab7l2XTa7Comr8!h8<%v4Ww2p+azZW=V2JW?s4i%-O|A9*4Vx3L"
        "bZ@C`ru&`KH)Pp&+#=H?_DpF+Ei`B{eN4u_P7dy$2r|8Qg%5bi?L73+xfgGM9ltL<#1-LtU2(+$Sw;@tU_;VEMP}"
        "1t3#5{A6U92$Y+M&D3Tbrmh8=Y6Lg+>TNp-WAp!#cDL;W41O<uI^)^eYx>ez?#3W-@^M1eZIA;S7@0_RAS(yZflh"
        "RCU;rl>4on6*Fo;eLR1hS?f%||COrnzmKS+@7KsHIB1B>Y7zyk_oIIslhz$Q95aDoOI4g{8yB9rLkzyt%*9muW)b"
        "l@U7Incm@3<tIX9k_`O4g>&&9zfj"
    )
)


@pytest.mark.parametrize("batch_rows", [1, 2, 3, 5])
def test_late_rows_have_one_place_whatever_a_batch_takes(batch_rows: int):
    rows = table(io.BytesIO(ACKNOWLEDGED), level="message", fields=FIELDS, batch_rows=batch_rows)
    assert any("late" in row["flags"] for row in rows)
    assert rows == table(io.BytesIO(ACKNOWLEDGED), level="message", fields=FIELDS)


def test_gaps_have_places_of_their_own():
    """A gap before the first byte: its row is told of at the SYN."""
    frame = amqp.encode(1, amqp.Basic.Ack(delivery_tag=7))
    packets = [*make.opening(), make.client(1001 + 21, frame), make.client(1001 + 42, frame * 3)]
    rows = table(io.BytesIO(make.pcap(packets)))
    assert len({key(row) for row in rows}) == len(rows) == 5
    assert rows == sorted(rows, key=key)
    assert rows[0]["flags"] == ["gap"]


def test_the_order_is_one_of_two():
    with pytest.raises(ValueError, match="order is"):
        capture.read(io.BytesIO(b""), order="time")


@pytest.mark.parametrize("files", ["rotation", "separate", "auto", "taps"])
def test_first_timestamp_is_that_of_the_earliest_packet(tmp_path: Path, files: Any) -> None:
    times = (make.START_NS + 5 * 10**9, make.START_NS + 10**9)
    paths = [tmp_path / "late.pcap", tmp_path / "early.pcap"]
    for path, time in zip(paths, times, strict=True):
        records = [make.Record(beat(41_000, n, 8), time + n) for n in range(3)]
        path.write_bytes(make.pcap(records, nano=True))
    assert capture.Reader(paths, files=files).first_timestamp == times[1]
    with open(paths[0], "rb") as file:
        reader = capture.Reader(file)
        assert reader.first_timestamp == times[0]
        assert sum(map(len, reader)) == 3
    (tmp_path / "empty.pcap").write_bytes(make.pcap([]))
    assert capture.Reader(tmp_path / "empty.pcap").first_timestamp is None


@pytest.mark.parametrize(
    "names",
    [
        ["cap2.pcap", "cap10.pcap"],
        ["2.pcap", "10.pcap", "a.pcap"],
        ["cap01.pcap", "cap1.pcap", "cap2.pcap"],
        # Digits that are no number: they stand where any other text stands.
        ["cap1-3.pcap", "cap1²3.pcap", "cap2.pcap", "²"],
    ],
)
def test_names_decide_between_equal_times(tmp_path: Path, names: list[str]):
    for name in names:
        (tmp_path / name).write_bytes(make.pcap(mangle.records(PARTS[:3])))
    reader = capture.Reader([tmp_path / name for name in reversed(names)], files="rotation")
    assert [Path(path).name for path in reader.files] == names


def test_an_end_keeps_its_place_while_bytes_are_missing_before_it() -> None:
    """A connection is reset after bytes that may still come; the rows of another one wait."""
    opened = [*event_talk.login(), *event_talk.open_channel()]
    talk = make.packets(opened, client=40_001)
    size = sum(len(octets) for side, octets in opened if side == 0)
    ends = (make.CLIENT[0], 40_001), make.SERVER
    reset = make.segment(*ends, 1001 + size + 100, b"", make.RST | make.ACK, 5001)
    other = make.packets([*opened, *(event_talk.publish(n) for n in range(6000))])
    packets = [*talk, *other[:3000], reset, *other[3000:]]
    rows = table(io.BytesIO(make.pcap(packets)), level="event", batch_rows=100, fields=None)
    # Until the end comes, nobody knows that there is a gap.
    assert [row["event"] for row in rows if "late" in row["flags"]] == ["gap"]
    (end,) = [row for row in rows if row["event"] == "connection-lost"]
    place = rows.index(end)
    in_turn = [row for row in rows[place - 50 : place + 50] if row["event"] != "gap"]
    offsets = [row["packet_offset"] for row in in_turn]
    assert offsets == sorted(offsets)
    assert offsets[0] < end["packet_offset"] < offsets[-1]
