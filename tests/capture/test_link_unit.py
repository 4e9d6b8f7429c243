"""Files are one chain only where their packets say so; what is read alone is told."""

from __future__ import annotations

import gzip
import itertools
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from amqpcodec import capture
from amqpcodec import v0_9_1 as amqp
from amqpcodec.capture._link import (
    CERTAIN,
    POSSIBLE,
    UNRELATED,
    Endpoints,
    Rotation,
    continuation,
    group_by_rotation,
)
from amqpcodec.capture._notices import counted_noun
from amqpcodec.capture._order import CaptureFile
from tests.paths import REPO
from tests.support import mangle
from tests.support import recording as make
from tests.support.batches import rows_of

pa = pytest.importorskip("pyarrow")

PARTS = mangle.parts(REPO / "demo" / "kombu_celery.pcap.gz")
FIELDS = ["file", "packet_offset", "position", "flags", "frame", "error"]


def records(items, start: int = 0, step: int = 1_000_000) -> list[make.Record]:
    return [
        make.Record(make.ethernet(p.raw()), make.START_NS + start + i * step)
        for i, p in enumerate(items)
    ]


def write(folder: Path, *pieces: list[make.Record], packed: bool = False) -> list[Path]:
    paths = []
    for i, piece in enumerate(pieces):
        paths.append(folder / f"tap{i + 1}.pcap")
        octets = make.pcap(piece, nano=True)
        paths[-1].write_bytes(gzip.compress(octets) if packed else octets)
    return paths


def table(source, **options) -> list[dict]:
    return [
        row
        for batch in capture.read(source, fields=FIELDS, **options)
        for row in pa.record_batch(batch).to_pylist()
    ]


@pytest.mark.parametrize("count", [2, 9, 60])
@pytest.mark.parametrize("packed", [False, True])
def test_a_rotation_is_one_chain_whatever_its_names(tmp_path: Path, count: int, packed: bool):
    all_ = records(PARTS)
    bounds = [len(all_) * i // count for i in range(count + 1)]
    pieces = [all_[a:b] for a, b in itertools.pairwise(bounds)]
    paths = write(tmp_path, *pieces, packed=packed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reader = capture.read(paths[::-1], fields=FIELDS)
        rows = rows_of(reader)
    assert reader.not_in_rotation == {}
    assert rows == table(paths, files="rotation")
    assert reader.files == [str(path) for path in paths]


@pytest.mark.parametrize("shift", [1_000, 3_600 * 10**9])
def test_two_taps_of_the_same_traffic_lose_no_row(tmp_path: Path, shift: int):
    """One beside the other, or with a clock that is an hour ahead."""
    paths = write(tmp_path, records(PARTS), records(PARTS, shift))
    with pytest.warns(capture.CaptureWarning, match=r"tap2\.pcap is read alone"):
        rows = table(paths)
    alone = [row for path in paths for row in table(path)]
    assert len(rows) == len(alone) == 2 * len(table(paths[0]))
    assert rows == alone
    reader = capture.Reader(paths)
    (reason,) = reader.not_in_rotation.values()
    assert "same time" in reason if shift < 10**9 else "do not go on" in reason
    # Which the chain of before lost.
    assert len(table(paths, files="rotation")) < len(rows)


@pytest.mark.parametrize("complete_first", [False, True])
@pytest.mark.parametrize("shift", [0, 500, -500, 10**9, -(10**9)])
@pytest.mark.parametrize("begins", [False, True])
def test_a_rotation_beside_the_whole(
    tmp_path: Path, begins: bool, shift: int, complete_first: bool
):
    """Wherever the rotation cut, and whether the opening was captured or not."""
    frame = amqp.encode(1, amqp.Basic.Ack(delivery_tag=7))
    packets = make.packets((i % 2, frame) for i in range(6))[0 if begins else 2 :]
    all_records = [
        make.Record(packet, make.START_NS + shift + i * 10**6) for i, packet in enumerate(packets)
    ]
    parts = make.records(packets)
    for first, second in itertools.combinations(range(1, len(packets)), 2):
        pieces = [parts[:first], parts[first:second], parts[second:]]
        paths = write(
            tmp_path, *([all_records, *pieces] if complete_first else [*pieces, all_records])
        )
        reader = capture.Reader(paths, fields=["error"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", capture.CaptureWarning)
            assert sum(map(len, reader)) == 12, (first, second)


def test_what_waited_and_came_again_is_counted(tmp_path: Path):
    """Also before it is known where a direction begins."""
    frame = amqp.encode(1, amqp.Basic.Ack(delivery_tag=7))
    packets = [make.client(1001 + len(frame) * (i % 5), frame) for i in range(10)]
    path = tmp_path / "x.pcap"
    path.write_bytes(make.pcap(packets))
    counts = capture.stats(path)
    assert counts["methods"] == {"basic.ack": 5}
    assert counts["retransmitted_bytes"] == 5 * len(frame)


def test_taps_that_begin_in_the_middle(tmp_path: Path):
    middle = [p for p in PARTS[200:] if not p.flags & make.SYN]
    paths = write(tmp_path, records(middle), records(middle, 2_000))
    with pytest.warns(capture.CaptureWarning, match=r"[1-9]\d* directions begin in the middle"):
        rows = table(paths)
    assert rows == [row for path in paths for row in table(path)]


def other(part: mangle.Part) -> mangle.Part:
    """The same of another host."""
    swap = {"127.0.0.1": "127.0.0.9"}
    source = (swap.get(part.source[0], part.source[0]), part.source[1])
    target = (swap.get(part.target[0], part.target[0]), part.target[1])
    return replace(part, source=source, target=target)


def test_two_rotations_at_once(tmp_path: Path):
    """Files of two hosts, each going on in its own."""

    first, second = records(PARTS), records([other(p) for p in PARTS], 100)
    half = len(first) // 2
    paths = write(tmp_path, first[:half], second[:half], first[half:], second[half:])
    reader = capture.Reader(paths, fields=FIELDS)
    row_count = sum(len(batch) for batch in reader.read())
    assert row_count == 2 * len(table([paths[0], paths[2]], files="rotation"))
    assert list(reader.not_in_rotation) == [str(paths[1])]
    assert reader.files == [str(paths[i]) for i in (0, 2, 1, 3)]


def test_other_days_are_read_alone(tmp_path: Path):
    day = 86_400 * 10**9
    paths = write(tmp_path, records(PARTS[:300]), records([other(p) for p in PARTS[600:]], day))
    reader = capture.Reader([paths[1], paths[0]])
    with pytest.warns(capture.CaptureWarning, match="read alone"):
        assert sum(map(len, reader)) == sum(len(table(path)) for path in paths)


def test_a_recording_of_its_own_needs_no_warning(tmp_path: Path):
    day = 86_400 * 10**9
    paths = write(tmp_path, records(PARTS), records([other(p) for p in PARTS], day))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reader = capture.Reader(paths)
        assert sum(map(len, reader)) == sum(len(table(path)) for path in paths)
    assert list(reader.not_in_rotation) == [str(paths[1])]
    assert reader.shared_connections == frozenset()


def test_taps_of_complete_connections_begin_nowhere_in_the_middle(tmp_path: Path):
    """Each row comes twice: a warning says so, without a number of directions that is 0."""
    paths = write(tmp_path, records(PARTS), records(PARTS, 1_000))
    reader = capture.Reader(paths)
    with pytest.warns(capture.CaptureWarning, match="is read alone") as caught:
        assert sum(map(len, reader)) == 2 * len(table(paths[0]))
    assert "in the middle" not in str(caught[0].message)
    assert reader.shared_connections == {str(paths[1])}


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 files"), (1, "1 file"), (2, "2 files"), (1000, "1,000 files")]
)
def test_numbers_in_words(number: int, text: str):
    assert counted_noun(number, "file") == text


def test_large_files_are_looked_at_from_both_ends(tmp_path: Path):
    """More than a megabyte at each end, which is all that is looked at."""
    body = amqp.encode(1, amqp.Body(b"x" * 30_000))
    packets = [make.client(1001 + len(body) * i, body) for i in range(400)]
    all_ = [make.Record(p, make.START_NS + i * 1000) for i, p in enumerate(packets)]
    paths = write(tmp_path, all_[:150], all_[150:300], all_[300:])
    reader = capture.Reader(paths, fields=["error", "flags"])
    assert sum(map(len, reader)) == 400
    assert reader.not_in_rotation == {}
    assert reader.stats()["midstream"] == 1


def test_the_end_of_a_large_file_is_found_after_damage(tmp_path: Path):
    """The last packets of a file count, not the last ones before the damage in its middle."""
    body = amqp.encode(1, amqp.Body(b"x" * 30_000))
    packets = [make.client(1001 + len(body) * i, body) for i in range(111)]
    seconds = [*range(110), 80]  # the second file begins half a minute before the first one ends
    records = [
        make.Record(packet, make.START_NS + second * 10**9)
        for packet, second in zip(packets, seconds, strict=True)
    ]
    paths = write(tmp_path, records[:110], records[110:])
    octets = bytearray(paths[0].read_bytes())
    middle = 24 + 55 * (16 + len(packets[0]))
    octets[middle + 8 : middle + 12] = b"\xff" * 4  # the length of a record
    paths[0].write_bytes(octets)
    (reason,) = capture.Reader(paths).not_in_rotation.values()
    assert "same time" in reason


def test_an_unknown_arrangement_is_refused(tmp_path: Path):
    with pytest.raises(ValueError, match="files is"):
        capture.read(tmp_path / "x", files="maybe")


#: Of one direction, in the file before: bytes from 1,000 up to 5,000.
BEFORE = (1_000, 5_000, True)
MIDDLE = (1_000, 5_000, False)
GAP, OVERLAP = 1 << 24, 1 << 16


@pytest.mark.parametrize(
    ("before", "after", "together", "later"),
    [
        # It goes on there, or behind a hole that a rotation may leave, but not behind a larger one.
        (MIDDLE, (5_000, 6_000, False), CERTAIN, CERTAIN),
        (MIDDLE, (5_000 + GAP, 5_000 + GAP + 9, False), CERTAIN, CERTAIN),
        (MIDDLE, (5_001 + GAP, 5_001 + GAP + 9, False), UNRELATED, UNRELATED),
        # Bytes come again, and new ones behind them: only where all of it is later.
        (MIDDLE, (4_000, 6_000, False), UNRELATED, CERTAIN),
        (MIDDLE, (4_000, 5_000, False), UNRELATED, POSSIBLE),
        (MIDDLE, (4_999, 5_000, False), UNRELATED, POSSIBLE),
        (MIDDLE, (1_001, 5_000, False), UNRELATED, POSSIBLE),
        (
            (1_000, 900_000, False),
            (900_000 - OVERLAP, 900_000, False),
            UNRELATED,
            POSSIBLE,
        ),
        (
            (1_000, 900_000, False),
            (899_999 - OVERLAP, 900_000, False),
            UNRELATED,
            UNRELATED,
        ),
        # It begins where the file before does: another recording.
        (MIDDLE, (1_000, 6_000, False), UNRELATED, UNRELATED),
        # Numbers start again from 0 after 4 GiB.
        (
            (4_294_960_000, 4_294_967_000, False),
            (1_000, 2_000, False),
            CERTAIN,
            CERTAIN,
        ),
    ],
)
def test_what_a_direction_says(before, after, together, later):
    """Whether a file goes on in another one of the same time, and in one that is later."""
    assert judged({b"one": before}, {b"one": after}) == (together, later)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            BEFORE,
            (1_000, 6_000, True),
            UNRELATED,
        ),  # the same connection once more: another recording
        (BEFORE, (7_000, 8_000, True), CERTAIN),  # another one of the same addresses
        (MIDDLE, (1_000, 8_000, True), CERTAIN),
    ],
)
def test_a_connection_that_begins_beside_one_that_goes_on(before, after, expected):
    tail, head = {b"one": MIDDLE, b"two": before}, {b"one": (5_000, 6_000, False), b"two": after}
    assert judged(tail, head) == (expected, expected)


def test_a_file_that_goes_on_may_begin_five_seconds_before_the_end():
    capture_file = CaptureFile("tap1.pcap", "tap1.pcap", 10**10, False)
    link = Rotation([(0, 10**10, capture_file)], {b"one": MIDDLE})
    head = {b"one": (5_000, 6_000, False)}
    times = (5 * 10**9 - 1, 5 * 10**9)
    files = [Endpoints(capture_file._replace(time=time), time, head, {}) for time in times]
    assert [continuation(link, file) for file in files] == [UNRELATED, CERTAIN]


def test_files_that_a_later_one_joins_are_one_chain_by_their_times():
    """Whatever their names; and none of them is reported as one that does not go on."""
    ends = [
        Endpoints(CaptureFile(name, name, time, False), time + 1, head, tail)
        for name, time, head, tail in (
            ("b.pcap", 0, {b"one": BEFORE}, {b"one": BEFORE}),
            ("a.pcap", 10, {b"two": BEFORE}, {b"two": BEFORE}),
            ("c.pcap", 20, dict.fromkeys((b"one", b"two"), (5_000, 6_000, False)), {}),
        )
    ]
    assert group_by_rotation(ends[:2]).reasons == {
        "a.pcap": "no connection of b.pcap goes on in it"
    }
    groups = group_by_rotation(ends)
    assert [[capture_file.name for capture_file in group] for group in groups.groups] == [
        ["b.pcap", "a.pcap", "c.pcap"]
    ]
    assert groups.reasons == {}


def test_files_that_are_read_alone_are_reported_once(tmp_path: Path):
    middle = PARTS[60:]
    reader = capture.Reader(
        write(tmp_path, records(middle[:40]), records(middle[40:])), files="separate"
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for end in (False, False, True):
            assert sum(len(batch) for batch in reader.read(end=end)) >= 0
    assert [warning.category for warning in caught] == [capture.CaptureWarning]


def copied(folder: Path, change: int | None = None) -> list[Path]:
    """A recording, and a copy of it; change: the packet of the copy that has another byte."""
    items = records(PARTS)
    if change is not None:
        data = bytearray(items[change].data)
        data[-1] ^= 1
        others = [*items[:change], items[change]._replace(data=bytes(data)), *items[change + 1 :]]
    return write(folder, items, items if change is None else others)


@pytest.mark.parametrize("order", [1, -1])
def test_a_copy_is_not_read(tmp_path: Path, order: int):
    paths = copied(tmp_path)[::order]
    reader = capture.Reader(paths, fields=FIELDS)
    with pytest.warns(capture.CaptureWarning, match="is not read: it has the same bytes as"):
        rows = rows_of(reader)
    assert rows == table(paths[0])
    assert reader.copies == {str(paths[1]): str(paths[0])}
    assert reader.not_in_rotation == {}
    assert len(reader.file_stats()) == 1


def test_a_path_that_is_given_twice_is_read_once(tmp_path: Path):
    path = copied(tmp_path)[0]
    with pytest.warns(capture.CaptureWarning, match="same bytes"):
        rows = table([path, path])
    assert rows == table(path)
    assert len(table([path, path], files="separate")) == 2 * len(rows)


def test_a_file_that_differs_in_a_byte_is_no_copy(tmp_path: Path):
    paths = copied(tmp_path, change=len(PARTS) // 2)
    reader = capture.Reader(paths, fields=FIELDS)
    with pytest.warns(capture.CaptureWarning, match="read alone .*taps"):
        rows = rows_of(reader)
    assert reader.copies == {}
    assert len(rows) > len(table(paths[0]))


def test_files_without_packets_are_no_copies(tmp_path: Path):
    reader = capture.Reader(write(tmp_path, [], []), fields=FIELDS)
    assert reader.copies == {}


def judged(tail: dict, head: dict) -> tuple[int, int]:
    """Whether a file goes on in one of the same time, and in one that is later."""
    capture_file = CaptureFile("tap1.pcap", "tap1.pcap", 10**9, False)
    link = Rotation([(0, 10**9, capture_file)], tail)
    return tuple(
        continuation(link, Endpoints(capture_file._replace(time=time), time, head, {}))
        for time in (10**9, 10**9 + 1)
    )
