"""Files that one rotation wrote: read as one, whatever they are called."""

from __future__ import annotations

import gzip
import io
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from amqpcodec import capture
from tests.paths import REPO
from tests.support import mangle
from tests.support import recording as make
from tests.support.batches import rows_of

pa = pytest.importorskip("pyarrow")

PARTS = mangle.parts(REPO / "demo" / "kombu_celery.pcap.gz")
# What does not depend on where the files are cut.
SAME = ["connection_index", "direction", "timestamp_ns", "src", "flags", "frame", "error"]


def split_records(records: list[make.Record], pieces: int) -> list[list[make.Record]]:
    """Neighbours stay together; every piece has a record."""
    bounds = [len(records) * i // pieces for i in range(pieces + 1)]
    return [records[start:stop] for start, stop in pairwise(bounds)]


def records(items: list[mangle.Part]) -> list[make.Record]:
    """With times that go forward, as a rotation's files are told apart by them."""
    return [
        make.Record(make.ethernet(item.raw()), make.START_NS + number * 1000)
        for number, item in enumerate(items)
    ]


def write(folder: Path, pieces: list[list[make.Record]], seed: int = 0) -> list[Path]:
    """Files whose names tell nothing of their order; in that order."""
    names = random.Random(seed).sample(range(10_000), len(pieces))
    paths = [folder / f"cap{name}.pcap" for name in names]
    for path, piece in zip(paths, pieces, strict=True):
        path.write_bytes(make.pcap(piece, nano=True))
    return paths


@pytest.mark.filterwarnings("ignore::amqpcodec.capture.CaptureWarning")  # what is read alone
@pytest.mark.parametrize("kind", ["whole", "lossy"])
@pytest.mark.parametrize("count", [2, 10, 50, 250])
def test_pieces_are_as_the_whole(tmp_path: Path, count: int, kind: str):
    packets = records(
        list(mangle.split(PARTS, 120)) if kind == "whole" else mangle.lossy(PARTS, count, 400)
    )
    expected = rows_of(capture.read(io.BytesIO(make.pcap(packets, nano=True)), fields=SAME))
    paths = write(tmp_path, split_records(packets, count), count)
    reader = capture.read(sorted(paths), fields=[*SAME, "file", "connection", "packet_offset"])
    rows = rows_of(reader)
    assert reader.files == [str(path) for path in paths]
    assert [{name: row[name] for name in SAME} for row in rows] == expected
    alone = rows_of(capture.read(paths, fields=["error"], files="separate"))
    rows_without_error = sum(row["error"] is None for row in expected)
    assert sum(row["error"] is None for row in alone) < rows_without_error or count == 2
    # One connection has one name, in every run and in any order of the arguments.
    names = {(row["connection_index"], row["connection"]) for row in rows}
    assert len(names) == len({index for index, _ in names}) == len({name for _, name in names})
    random.Random(count).shuffle(paths)
    again = capture.read(paths, fields=[*SAME, "file", "connection", "packet_offset"])
    assert rows_of(again) == rows


def test_rows_say_where_they_began(tmp_path: Path):
    packets = records(PARTS)
    pieces = split_records(packets, 20)
    paths = write(tmp_path, pieces)
    where = ["file", "file_index", "packet", "packet_offset", "position", "timestamp_ns"]
    rows = rows_of(capture.read(paths, fields=[*where, "connection_index", "direction"]))
    for row in rows:
        piece = pieces[row["file_index"]]
        assert row["file"] == str(paths[row["file_index"]])
        assert piece[row["packet"] - 1].time_ns == row["timestamp_ns"]
        before = piece[: row["packet"] - 1]
        assert row["packet_offset"] == 24 + sum(16 + len(record.data) for record in before)
    keys = [
        (row["file_index"], row["packet_offset"], row["position"])
        for row in rows
    ]  # fmt: skip
    assert len(set(keys)) == len(keys)
    by_stream: dict = {}
    for row, key in zip(rows, keys, strict=True):
        by_stream.setdefault((row["connection_index"], row["direction"]), []).append(key)
    assert all(stream_keys == sorted(stream_keys) for stream_keys in by_stream.values())


def test_alone_is_each_file_by_itself(tmp_path: Path):
    paths = write(tmp_path, split_records(records(PARTS), 5))[::-1]
    fields = ["file", "connection", "frame", "flags", "packet_offset"]
    expected = [row for path in paths for row in rows_of(capture.read(path, fields=fields))]
    reader = capture.read(paths, fields=[*fields, "connection_index"], files="separate")
    with pytest.warns(capture.CaptureWarning, match=r"^[1-9]\d* directions begin in the middle of"):
        rows = rows_of(reader)
    indexes = [row.pop("connection_index") for row in rows]
    assert rows == expected
    assert reader.files == [str(path) for path in paths]
    by_index = {(index, row["connection"]) for index, row in zip(indexes, rows, strict=True)}
    assert len(by_index) == len(set(indexes)) == reader.stats()["connections"]
    with pytest.raises(ValueError, match="one file or rotation"):
        reader.state()


def test_files_of_all_kinds_in_one_chain(tmp_path: Path):
    """pcap of both orders, pcapng, gzip, with other link types; and files without a packet."""
    expected = rows_of(capture.read(io.BytesIO(make.pcap(records(PARTS))), fields=SAME[3:]))
    pieces = split_records(records(PARTS), 6)
    raw = [make.Record(r.data[14:], r.time_ns) for r in pieces[1]]
    sll = [make.Record(bytes(14) + r.data[12:], r.time_ns) for r in pieces[3]]
    blocks = [make.enhanced(">", 0, r.time_ns // 1000, r.data) for r in pieces[2]]
    octets = [
        make.pcap(pieces[0]),
        make.pcap(raw, link=101, order=">", nano=True),
        make.section(">") + make.interface(">", 1) + b"".join(blocks),
        gzip.compress(make.pcap(sll, link=113)),
        make.pcap(pieces[4]),
        gzip.compress(make.pcap(pieces[5])),
    ]
    paths = []
    for i, content in enumerate(octets):
        paths.append(tmp_path / f"{9 - i}")
        paths[-1].write_bytes(content)
    empty = [tmp_path / "empty", tmp_path / "header", tmp_path / "cut"]
    for path, content in zip(empty, (b"", make.pcap([]), make.pcap([])[:10]), strict=True):
        path.write_bytes(content)
    reader = capture.read([*empty, *paths], fields=SAME[3:])
    assert rows_of(reader) == expected
    assert reader.files[:6] == [str(path) for path in paths]
    assert set(reader.files[6:]) == {str(path) for path in empty}
    damaged = {
        file_stats["file"] for file_stats in reader.stats()["files"] if file_stats["damaged"]
    }
    assert damaged == {str(empty[2])}  # a file of no bytes is an empty capture


def test_cut_last_record_in_the_middle_of_a_chain(tmp_path: Path):
    paths = write(tmp_path, split_records(records(PARTS), 3))
    paths[1].write_bytes(paths[1].read_bytes()[:-1])
    reader = capture.read(paths, fields=["flags", "error"])
    rows = rows_of(reader)
    assert reader.damaged.startswith(f"{paths[1]}: the last record is cut")
    # The packet's bytes are missed, and behind them all goes on.
    assert 0 < sum(row["flags"] == ["gap"] for row in rows) <= 2
    assert len(rows) > 900


def test_no_capture_among_them(tmp_path: Path):
    paths = write(tmp_path, split_records(records(PARTS), 3))
    text = tmp_path / "notes.txt"
    text.write_text("no recording at all, but long enough to be one of them")
    with pytest.raises(capture.CaptureError, match="notes") as caught:
        rows_of(capture.read([*paths, text]))
    assert caught.value.file == str(text)
    with pytest.raises(FileNotFoundError):
        rows_of(capture.read([*paths, tmp_path / "missing"]))
    with pytest.raises(TypeError, match="names of files"):
        capture.read([paths[0], 5])


def test_open_files(tmp_path: Path):
    pieces = [io.BytesIO(make.pcap(piece)) for piece in split_records(records(PARTS), 4)]
    expected = rows_of(capture.read(io.BytesIO(make.pcap(records(PARTS))), fields=["frame"]))
    assert rows_of(capture.read(pieces[::-1], fields=["frame"])) == expected


@pytest.mark.filterwarnings("ignore::amqpcodec.capture.CaptureWarning")  # what is read alone
def test_counts_of_each_file(tmp_path: Path):
    packets = records(mangle.lossy(PARTS, 3, 400))
    paths = write(tmp_path, split_records(packets, 7))
    one = capture.stats(io.BytesIO(make.pcap(packets)))
    stats = capture.stats(paths)
    assert [file_stats["file"] for file_stats in stats["files"]] == [str(path) for path in paths]
    assert [file_stats["packets"] for file_stats in stats["files"]] == [
        len(piece) for piece in split_records(packets, 7)
    ]
    totals = {key: value for key, value in stats.items() if key not in ("files", "octets")}
    assert totals == {key: value for key, value in one.items() if key in totals}
    methods: Counter = Counter()
    for file_stats in stats["files"]:
        methods.update(file_stats["methods"])
    assert dict(methods) == one["methods"]
    alone = capture.stats(paths, files="separate")
    assert alone["midstream"] > one["midstream"]
    assert [file_stats["file"] for file_stats in alone["files"]] == [str(path) for path in paths]


def test_state_within_a_chain(tmp_path: Path):
    paths = write(tmp_path, split_records(records(mangle.lossy(PARTS, 4, 400)), 6))
    fields = [*SAME, "connection", "file", "file_index", "packet_offset", "position"]
    expected = rows_of(capture.read(paths, fields=fields, order="none"))
    rng = random.Random(4)
    stops = sorted(
        (i, rng.randrange(path.stat().st_size)) for i, path in enumerate(paths) for _ in range(2)
    )
    rows, state = [], None
    for stop in [*stops, None]:
        reader = capture.Reader(paths[::-1], fields=fields, order="none")
        if state is not None:
            reader.resume(state)
        rows += rows_of(reader.read(stop))
        state = reader.state() if stop is not None else None
    assert rows == expected


@pytest.mark.parametrize("count", [3, 150])
def test_state_from_file_to_file(tmp_path: Path, count: int):
    """Each file is read when it is complete; the names of files long gone are not kept."""
    items = mangle.lossy(PARTS, 5, 400) if count == 3 else list(mangle.split(PARTS, 120))
    paths = write(tmp_path, split_records(records(items), count))
    fields = [*SAME, "connection", "file", "file_index", "packet_offset", "position"]
    expected = rows_of(capture.read(paths, fields=fields, order="none"))
    rows, state, sizes = [], None, []
    for path in paths:
        reader = capture.Reader(path, fields=fields, order="none")
        if state is not None:
            reader.resume(state)
        rows += rows_of(reader.read(end=path == paths[-1]))
        if path != paths[-1]:
            state = reader.state()
            again = capture.Reader(path)
            again.resume(state)
            assert again.state() == state
            sizes.append(state.count(b".pcap"))
    assert rows == expected
    assert max(sizes) < 20


def test_state_of_another_file(tmp_path: Path):
    paths = write(tmp_path, split_records(records(PARTS), 4))
    reader = capture.Reader(paths[0])
    for _ in reader.read(stop=2000):
        pass
    with pytest.raises(ValueError, match="not among"):
        capture.Reader(paths[1:]).resume(reader.state())


@pytest.mark.parametrize(("before", "overlaps"), [(5 * 10**9, False), (5 * 10**9 + 1, True)])
def test_files_that_overlap_are_told(tmp_path: Path, before: int, overlaps: bool):
    """A file may begin five seconds before the newest packet of the file before it."""
    first = records(PARTS)[:400]
    begin = first[-1].time_ns - before
    second = [make.Record(r.data, begin + i) for i, r in enumerate(records(PARTS)[400:])]
    first[0] = make.Record(first[0].data, begin - 1)  # which keeps the files in this order
    paths = write(tmp_path, [first, second])
    reader = capture.read(paths, fields=["error"], files="rotation")
    assert not reader.overlaps
    rows_of(reader)
    assert reader.overlaps == [str(path) for path in paths[1:] if overlaps]
