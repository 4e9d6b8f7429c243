"""A capture on several tasks gives the rows of one: the source's tasks without a session."""

from __future__ import annotations

import gzip
import os
import stat
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from amqpcodec import capture  # noqa: E402
from amqpcodec.spark.planning import ranges, reading, state_files  # noqa: E402
from amqpcodec.spark.planning.options import Options  # noqa: E402
from amqpcodec.spark.source import data_source as source  # noqa: E402
from tests.capture.steady import steady  # noqa: E402
from tests.paths import shared_dir  # noqa: E402
from tests.spark.frames import RECORDING, rotated  # noqa: E402
from tests.support.seekable import in_frames, lying  # noqa: E402


def unpacked(name: Path, to: Path) -> Path:
    path = to / name.name.removesuffix(".gz")
    path.write_bytes(gzip.decompress(name.read_bytes()))
    return path


def tasks(path: Any, **options: Any) -> tuple[Any, list[Any]]:
    """The reader of these options, of all columns where they name none; and its tasks."""
    options = {"fields": "*", **options}
    path_options = (
        {"paths": [str(file_path) for file_path in path]}
        if isinstance(path, list)
        else {"path": str(path)}
    )
    if "paths" in path_options:
        import json

        path_options["paths"] = json.dumps(path_options["paths"])
    schema = source.AmqpCapture({**path_options, **options}).schema()
    reader = source.CaptureRows(Options({**path_options, **options}), schema)
    return reader, list(reader.partitions())


def rows(path: Any, **options: Any) -> list[dict[str, Any]]:
    reader, parts = tasks(path, **options)
    return [row for part in parts for rows in reader.read(part) for row in rows.to_pylist()]


@pytest.mark.parametrize("level", ["frame", "message"])
@pytest.mark.parametrize("step", ["1k", "5000", "64k"])
def test_ranges_of_a_file(tmp_path: Path, level: str, step: str) -> None:
    path = unpacked(RECORDING, tmp_path)
    expected = rows(path, level=level)
    options = {"level": level, "stateLocation": str(tmp_path / "states"), "maxPartitionBytes": step}
    _, parts = tasks(path, **options)
    assert len(parts) == -(-path.stat().st_size // {"1k": 1024, "5000": 5000, "64k": 65536}[step])
    assert rows(path, **options) == expected


def test_shared_recordings(tmp_path: Path) -> None:
    shared = shared_dir()
    if shared is None:
        pytest.skip("the shared recordings are not here")
    names = ["raw_errors.pcap.gz", "amqp10_tx.pcap.gz", "aiopika.pcapng.gz", "pika_nano.pcap.gz"]
    recordings = [shared / "captures" / name for name in names]
    for name in [recording for recording in recordings if recording.exists()]:
        path = unpacked(name, tmp_path)
        for level in ("frame", "message"):
            options = {
                "stateLocation": str(tmp_path / "states"),
                "maxPartitionBytes": str(max(path.stat().st_size // 23, 1024)),
            }  # fmt: skip
            read_options = {"level": level, "ports": "5672,5681"}
            expected = rows(path, **read_options)
            assert expected
            assert rows(path, **read_options, **options) == expected, (name, level)


def test_ranges_of_zstd_in_frames(tmp_path: Path) -> None:
    plain = unpacked(RECORDING, tmp_path)
    path = tmp_path / "x.pcap.zst"
    path.write_bytes(in_frames(plain.read_bytes(), 3000))
    options = {"stateLocation": str(tmp_path / "states"), "maxPartitionBytes": "5000"}
    _, parts = tasks(path, **options)
    assert len(parts) == -(-plain.stat().st_size // 5000)
    assert rows(path, **options) == rows(path)
    chain = {**options, "files": "rotation"}
    assert rows([plain, path], **chain) == rows([plain, path], files="rotation")


@pytest.mark.parametrize("column", [0, 1])
def test_a_table_of_frames_that_is_wrong_moves_no_range(tmp_path: Path, column: int) -> None:
    plain = unpacked(RECORDING, tmp_path)
    path = tmp_path / "x.pcap.zst"
    packed = in_frames(plain.read_bytes(), 3000)
    path.write_bytes(packed)
    expected = rows(path)
    path.write_bytes(lying(packed, column, 5, 100))
    options = {"stateLocation": str(tmp_path / "states"), "maxPartitionBytes": "4000"}
    _, parts = tasks(path, **options)
    assert 1 < len(parts) < 6  # up to there they can be
    assert rows(path, **options) == expected
    with pytest.raises(capture.CaptureError, match="wrong about the frame"):
        rows(path, mode="FAILFAST", fields="frame", **options)


def test_ranges_of_a_chain(tmp_path: Path) -> None:
    octets = unpacked(RECORDING, tmp_path).read_bytes()
    reader = capture.Reader(str(tmp_path / RECORDING.name.removesuffix(".gz")), fields=["error"])
    third = reader.first_record(len(octets) // 3)
    assert third is not None
    late, early = tmp_path / "a.pcap", tmp_path / "b.pcap"
    late.write_bytes(octets[:24] + octets[third:])
    early.write_bytes(octets[:third])
    options = {"files": "rotation", "stateLocation": str(tmp_path / "s"), "maxPartitionBytes": "9k"}
    _, parts = tasks([late, early], **options)
    assert len(parts) > 5
    assert parts[0].paths == (str(early), str(late))
    assert rows([late, early], **options) == rows([late, early], files="rotation")


def test_states_are_kept_for_their_owner_and_used_again(tmp_path: Path, monkeypatch: Any) -> None:
    path = unpacked(RECORDING, tmp_path)
    options = {"stateLocation": str(tmp_path / "states"), "maxPartitionBytes": "20k"}
    expected = rows(path, **options)
    state_paths = sorted((tmp_path / "states").rglob("*.state"))
    assert len(state_paths) > 2
    assert all(stat.S_IMODE(state_path.stat().st_mode) == 0o600 for state_path in state_paths)
    assert {stat.S_IMODE(each.parent.stat().st_mode) for each in state_paths} == {0o700}
    monkeypatch.setattr(ranges, "_pass", None)  # it is not made again
    assert rows(path, **options) == expected
    monkeypatch.undo()
    os.utime(path, (1, 1))  # another file under this name, for all that is known
    assert rows(path, **options) == expected
    assert len(list((tmp_path / "states").iterdir())) == 2


def test_states_are_encrypted_with_a_key(tmp_path: Path, monkeypatch: Any) -> None:
    pytest.importorskip("cryptography")
    path = unpacked(RECORDING, tmp_path)
    options = {"stateLocation": str(tmp_path / "states"), "maxPartitionBytes": "3k"}
    plain = rows(path, **options)
    monkeypatch.setenv(state_files.KEY, "0123456789abcdef0123456789abcdef")
    assert rows(path, **options) == plain
    folders = sorted((tmp_path / "states").iterdir(), key=lambda folder: folder.stat().st_mtime_ns)
    assert len(folders) == 2
    reader, parts = tasks(path, **options)
    monkeypatch.setenv(state_files.KEY, "another key of as many bytes, 32")
    with pytest.raises(ValueError, match=r"key|damaged"):
        list(reader.read(parts[3]))


def test_a_damaged_state_is_refused(tmp_path: Path) -> None:
    path = unpacked(RECORDING, tmp_path)
    options = {"stateLocation": str(tmp_path / "states"), "maxPartitionBytes": "20k"}
    reader, parts = tasks(path, **options)
    state = Path(parts[1].state)
    data = bytearray(state.read_bytes())
    data[len(data) // 2] ^= 1
    state.write_bytes(data)
    with pytest.raises(ValueError, match=r"damaged|state"):
        list(reader.read(parts[1]))


def test_a_large_file_without_a_place_for_states_is_told_once(tmp_path: Path, caplog: Any) -> None:
    files = rotated(RECORDING, tmp_path, 2)
    tasks(files, files="separate", maxPartitionBytes="1k")
    warnings = [
        record.getMessage() for record in caplog.records if "is read by one task" in record.msg
    ]
    assert len(warnings) == 1
    assert warnings[0].startswith(str(files[0]))
    assert "stateLocation" in warnings[0]


def test_what_stays_one_task(tmp_path: Path) -> None:
    options = {"stateLocation": str(tmp_path / "states"), "maxPartitionBytes": "1k"}
    _, parts = tasks(RECORDING, **options)
    assert parts == [reading.Files((str(RECORDING),))]
    path = unpacked(RECORDING, tmp_path)
    _, parts = tasks(path, maxPartitionBytes="1k")
    assert parts == [reading.Files((str(path),))]
    with pytest.raises(ValueError, match="have mounted, not 's3://bucket/states'"):
        tasks(path, stateLocation="s3://bucket/states", maxPartitionBytes="1k")


@pytest.mark.parametrize(
    ("sizes", "places"),
    [
        ([], []),
        ([9], []),
        ([10], []),  # no range of nothing at the end
        ([11], [(0, 10)]),
        ([20, 5], [(0, 10), (1, 0)]),
        ([4, 6, 1], [(2, 0)]),
        ([35], [(0, 10), (0, 20), (0, 30)]),
    ],
)
def test_where_files_are_cut(sizes: list[int], places: list[tuple[int, int]]) -> None:
    assert ranges.cuts(sizes, 10) == places


def test_damage_ends_the_ranges(tmp_path: Path) -> None:
    path = unpacked(RECORDING, tmp_path)
    data = bytearray(path.read_bytes())
    reader = capture.Reader(str(path), fields=["error"])
    at = reader.first_record(len(data) // 2)
    assert at is not None
    data[at : at + 16] = b"\xff" * 16
    path.write_bytes(data)
    options = {"stateLocation": str(tmp_path / "states"), "maxPartitionBytes": "2k"}
    assert rows(path, **options) == rows(path)
    with pytest.raises(capture.CaptureError, match="no record"):
        rows(path, **options, mode="FAILFAST")


@pytest.mark.parametrize("level", ["frame", "message"])
def test_a_pass_that_follows_outlines_keeps_the_same_states(
    tmp_path: Path, monkeypatch: Any, level: str
) -> None:
    monkeypatch.setenv(state_files.KEY, "0123456789abcdef0123456789abcdef")
    first, second = tmp_path / "a.pcap", tmp_path / "b.pcap"
    data = steady(7, 40_000, connections=1)
    first.write_bytes(data)
    cut_at = capture.Reader(first).first_record(len(data) // 3)
    first.write_bytes(data[:cut_at])
    second.write_bytes(data[:24] + data[cut_at:])
    step = len(data) // 10 + 100
    kept_by = {}
    for way in ("read", "outlined"):
        folder = tmp_path / way
        options = {
            "files": "rotation", "level": level, "stateLocation": str(folder),
            "maxPartitionBytes": str(step), "path": str(tmp_path / "*.pcap"),
        }  # fmt: skip
        reader = source.CaptureRows(Options(options), None)
        [chain] = reader.chains()
        if way == "outlined":
            items = reader.to_outline(chain, step)
            assert len(items) == 10  # the file that is cut within a range has two
            assert all(0 < reader.outline(item, step) <= step // 4 for item in items)
            for state_path in folder.rglob("*.outline"):
                assert stat.S_IMODE(state_path.stat().st_mode) == 0o600
                assert b"routing" not in state_path.read_bytes()  # encrypted
            monkeypatch.setattr(capture.Reader, "read", None)
        ranges_of_chain = reader.split_chain(chain, step)
        monkeypatch.undo()
        monkeypatch.setenv(state_files.KEY, "0123456789abcdef0123456789abcdef")
        assert len(ranges_of_chain) == 10
        assert reader.to_outline(chain, step) == []
        kept_by[way] = {
            state_path.name: state_path.read_bytes() for state_path in folder.rglob("*.*")
        }
    assert kept_by["read"] == kept_by["outlined"]


def test_a_range_whose_outline_is_too_large_is_read(tmp_path: Path) -> None:
    path = unpacked(RECORDING, tmp_path)
    step = path.stat().st_size // 9
    options = {
        "path": str(path), "stateLocation": str(tmp_path / "states"), "maxPartitionBytes": str(step)
    }  # fmt: skip
    reader = source.CaptureRows(Options(options), None)
    [chain] = reader.chains()
    items = reader.to_outline(chain, step)
    assert len(items) == 9
    assert [reader.outline(item, step) for item in items] == [0] * 9
    assert len(reader.split_chain(chain, step)) == 10
    assert rows(path, stateLocation=options["stateLocation"], maxPartitionBytes=str(step)) == rows(
        path
    )


def other_hosts(data: bytes) -> bytes:
    """The same packets between other hosts: no size and no place differs."""
    out, at = bytearray(data), 24
    while at < len(out):
        for byte in (at + 16 + 29, at + 16 + 33):  # the last one of each IPv4 address
            out[byte] ^= 5
        at += 16 + int.from_bytes(data[at + 8 : at + 12], "little")
    return bytes(out)


def read_by(reader: Any, parts: list[Any]) -> list[dict[str, Any]]:
    return [row for part in parts for batch in reader.read(part) for row in batch.to_pylist()]


@pytest.mark.parametrize("mode", ["PERMISSIVE", "FAILFAST"])
@pytest.mark.parametrize("shorter", [False, True])
def test_a_file_that_is_written_anew_after_the_plan(
    tmp_path: Path, mode: str, shorter: bool
) -> None:
    path = unpacked(RECORDING, tmp_path)
    data, status = path.read_bytes(), path.stat()
    options = {"mode": mode, "stateLocation": str(tmp_path / "s"), "maxPartitionBytes": "20k"}
    reader, parts = tasks(path, **options)
    expected = read_by(reader, parts)
    path.write_bytes(data[:-500] if shorter else other_hosts(data))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 10**9 * (not shorter)))
    for part in parts:
        with pytest.raises(ValueError, match=r"kombu_celery.pcap is another file now"):
            read_by(reader, [part])
    tolerant, _ = tasks(path, ignoreMissingFiles="true", **options)
    assert read_by(tolerant, parts) == []
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert read_by(reader, parts) == expected


def test_a_file_that_is_written_anew_while_a_range_is_read(tmp_path: Path) -> None:
    path = unpacked(RECORDING, tmp_path)
    data = path.read_bytes()
    reader, parts = tasks(path, stateLocation=str(tmp_path / "s"), maxPartitionBytes="20k")
    rows = reader.read(parts[1])
    next(rows)
    path.write_bytes(other_hosts(data))
    with pytest.raises(ValueError, match="another file now"):
        list(rows)


def test_a_file_that_grows_or_ends_after_the_plan(tmp_path: Path) -> None:
    path = unpacked(RECORDING, tmp_path)
    octets = path.read_bytes()
    half = capture.Reader(path, fields=["error"]).first_record(len(octets) // 2)
    assert half is not None
    path.write_bytes(octets[:half])
    options = {"stateLocation": str(tmp_path / "s"), "maxPartitionBytes": "20k"}
    reader, parts = tasks(path, **options)
    path.write_bytes(octets)  # whoever writes it goes on
    assert read_by(reader, parts) == rows(path)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        read_by(reader, parts[1:2])
    tolerant, _ = tasks(unpacked(RECORDING, tmp_path), ignoreMissingFiles="true", **options)
    path.unlink()
    assert read_by(tolerant, parts) == []


def test_a_range_that_ends_before_its_plan_says(tmp_path: Path) -> None:
    path = unpacked(RECORDING, tmp_path)
    data, status = path.read_bytes(), path.stat()
    options = {"stateLocation": str(tmp_path / "s"), "maxPartitionBytes": "20k"}
    reader, parts = tasks(path, **options)
    path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # as a store may say it
    with pytest.raises(capture.CaptureError, match="another file than was planned"):
        read_by(reader, parts[1:2])
    tolerant, _ = tasks(path, ignoreCorruptFiles="true", **options)
    assert read_by(tolerant, parts[1:2]) == []


def test_a_range_looks_at_the_files_that_it_reads_alone(tmp_path: Path) -> None:
    files = rotated(RECORDING, tmp_path, 5)
    options = {
        "files": "rotation",
        "stateLocation": str(tmp_path / "s"),
        "maxPartitionBytes": "30k",
    }
    reader, parts = tasks(files, **options)
    expected = [read_by(reader, [part]) for part in parts]
    assert {len(part.planned) for part in parts} <= {1, 2}
    files[-1].write_bytes(other_hosts(files[-1].read_bytes()))
    for part, rows in zip(parts, expected, strict=True):
        if any(planned_file.file.path == str(files[-1]) for planned_file in part.planned):
            with pytest.raises(ValueError, match="another file now"):
                read_by(reader, [part])
        else:
            assert read_by(reader, [part]) == rows
