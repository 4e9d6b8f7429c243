"""Which files a path stands for, and how they go into tasks; no session is needed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

from amqpcodec.spark.planning import files
from amqpcodec.spark.planning.options import Options

NAMES = ["a1.pcap", "a2.pcap", "b.pcapng", ".hidden", "_SUCCESS", "in/c.pcap", "in/in/d.pcap"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for i, name in enumerate([*NAMES, "_no/e.pcap", ".no/f.pcap"]):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * i)
        os.utime(path, (1_000_000_000 + i, 1_000_000_000 + i))
    return tmp_path


def file_names(folder: Path, *paths: str, **options: object) -> list[str]:
    selection = files.Selection.of(Options(options))
    listed = files.list_files([str(folder / path) for path in paths], selection)
    return [os.path.relpath(file.path, folder) for file in listed]


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        ([""], "a1.pcap a2.pcap b.pcapng"),
        (["a2.pcap"], "a2.pcap"),
        (["a*"], "a1.pcap a2.pcap"),
        (["a[2-9].pcap"], "a2.pcap"),
        (["{b,a1}.pcap*"], "a1.pcap b.pcapng"),
        (["", "a1.pcap", "in"], "a1.pcap a2.pcap b.pcapng in/c.pcap"),
        (["*"], "a1.pcap a2.pcap b.pcapng _SUCCESS in/c.pcap _no/e.pcap"),
        (["_SUCCESS"], "_SUCCESS"),
    ],
)
def test_paths(folder, paths, names):
    assert sorted(file_names(folder, *paths)) == sorted(names.split())


def test_folders_below(folder):
    names = ["a1.pcap", "a2.pcap", "b.pcapng", "in/c.pcap", "in/in/d.pcap"]
    assert file_names(folder, "", RECURSIVEfilelookup=True) == names


@pytest.mark.parametrize(
    ("option", "value", "names"),
    [
        ("pathGlobFilter", "*.pcap", "a1.pcap a2.pcap in/c.pcap in/in/d.pcap"),
        ("pathglobfilter", "{a1,c}.*", "a1.pcap in/c.pcap"),
        ("modifiedAfter", "2001-09-09T01:46:41", "b.pcapng in/c.pcap in/in/d.pcap"),
        ("modifiedAfter", "2001-09-09T02:46:41+01:00", "b.pcapng in/c.pcap in/in/d.pcap"),
        ("modifiedBefore", "2001-09-09 01:46:41", "a1.pcap"),
        ("modifiedBefore", "2000-01-01", ""),
    ],
)
def test_selection(folder, option, value, names):
    assert file_names(folder, "", recursiveFileLookup="true", **{option: value}) == names.split()


def test_times_in_another_zone(folder):
    times = {"modifiedBefore": "2001-09-09T10:46:41", "timeZone": "Asia/Tokyo"}
    assert file_names(folder, "", **times) == ["a1.pcap"]


def test_paths_with_a_scheme(folder, monkeypatch):
    for path in (f"file://{folder}/a1.pcap", f"file:{folder}/a1.pcap"):
        [file] = files.list_files([path], files.Selection())
        assert file == (str(folder / "a1.pcap"), 0, 1_000_000_000, "")
    with pytest.raises(ValueError, match="of the host 'other'"):
        files.list_files(["file://other/x"], files.Selection())
    with pytest.raises(ValueError, match="nothing here reads nowhere://x"):
        files.list_files(["nowhere://x/y"], files.Selection())
    monkeypatch.chdir(folder)
    assert files.list_files(["a1.pcap"], files.Selection())[0].path == str(folder / "a1.pcap")


def test_a_name_that_looks_like_a_glob(folder):
    (folder / "x[1].pcap").write_bytes(b"")
    assert file_names(folder, "x[1].pcap") == ["x[1].pcap"]


@pytest.mark.parametrize("path", ["none", "none*", "in/{x,y}"])
def test_nothing_there(folder, path):
    with pytest.raises(FileNotFoundError, match="Path does not exist"):
        file_names(folder, path)


def test_a_folder_without_captures(folder):
    (folder / "empty").mkdir()
    assert file_names(folder, "empty") == []


def test_a_time_that_is_none(folder):
    with pytest.raises(ValueError, match="option modifiedAfter is a time"):
        file_names(folder, "", modifiedAfter="yesterday")


def test_small_files_share_a_task_and_none_is_cut():
    megabyte = 1 << 20
    sizes = [1, 2, 3, 50, 300, 1, 60, 60]
    capture_files = [files.StoredFile(f"f{i}", size * megabyte, 0) for i, size in enumerate(sizes)]
    tasks = files.group(capture_files, 128 * megabyte)
    assert tasks == [("f0", "f1", "f2", "f3"), ("f4",), ("f5", "f6"), ("f7",)]
    assert files.group(capture_files, 1) == [(file.path,) for file in capture_files]
    assert files.group([], 1) == []
