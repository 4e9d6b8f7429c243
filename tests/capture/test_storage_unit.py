"""Captures by URI: this machine's, pyarrow's and fsspec's; ranges, tries and packing."""

from __future__ import annotations

import gzip
import os
import pickle
from datetime import UTC, datetime
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")

from pyarrow import fs  # noqa: E402

from amqpcodec import capture  # noqa: E402
from amqpcodec.capture import _files, _ranges, _storage, _uris  # noqa: E402
from tests.paths import REPO  # noqa: E402
from tests.support.batches import rows_of  # noqa: E402
from tests.support.ranges import asked_ranges  # noqa: E402

RECORDING = REPO / "demo" / "kombu_celery.pcap.gz"


def rows(source: Any, **options: Any) -> list[dict[str, Any]]:
    reader = capture.read(source, fields=["method", "packet_offset", "frame"], **options)
    return rows_of(reader)


@pytest.fixture(scope="module")
def expected() -> list[dict[str, Any]]:
    return rows(str(RECORDING))


@pytest.fixture
def plain(tmp_path: Any) -> Any:
    path = tmp_path / "plain.pcap"
    path.write_bytes(gzip.decompress(RECORDING.read_bytes()))
    return path


def test_files_of_this_machine_and_of_no_other(expected: Any) -> None:
    assert rows(RECORDING.as_uri()) == expected
    assert rows(f"file://localhost{RECORDING}") == expected
    assert rows(f"file:{RECORDING}") == expected
    with pytest.raises(ValueError, match="of the host 'otherhost'"):
        rows(f"file://otherhost{RECORDING}")


def test_a_file_system_of_pyarrow(expected: Any) -> None:
    below = fs.SubTreeFileSystem(str(RECORDING.parent), fs.LocalFileSystem())
    assert rows(RECORDING.name, filesystem=below) == expected
    assert (
        capture.stats(RECORDING.name, filesystem=below)["frames"]
        == capture.stats(RECORDING)["frames"]
    )


@pytest.fixture
def memory() -> Any:
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    store.pipe("/day/a.pcap.gz", RECORDING.read_bytes())
    store.pipe("/day/b.pcap", gzip.decompress(RECORDING.read_bytes()))
    store.pipe("/day/_hidden.pcap", b"no")
    store.pipe("/day/deep/c.pcap", b"")
    yield store
    store.rm("/day", recursive=True)


def test_schemes_of_fsspec(memory: Any, expected: Any) -> None:
    assert rows("memory://day/a.pcap.gz") == expected
    assert rows("memory:/day/b.pcap") == expected  # as pathlib has it
    assert rows("/day/b.pcap", filesystem=memory) == expected
    with pytest.raises(FileNotFoundError):
        rows("memory://day/none.pcap")
    with pytest.raises(ValueError, match=r"nothing here reads nowhere://x"):
        rows("nowhere://x/y.pcap")


def test_globs_and_folders(memory: Any, expected: Any) -> None:
    reader = capture.read("memory://day/*.{gz,pcap}", fields=["method"], files="separate")
    assert reader.files == [
        f"memory://day/{name}" for name in ("_hidden.pcap", "a.pcap.gz", "b.pcap")
    ]
    assert len(rows("memory://day/?.pcap*", files="separate")) == 2 * len(expected)
    assert len(rows(["/day/a*", "/day/b*"], filesystem=memory, files="separate")) == 2 * len(
        expected
    )
    [counted] = capture.stats("memory://day/*.gz")["files"]
    assert counted["file"] == "memory://day/a.pcap.gz"
    assert set(capture.read("memory://day/*.gz").stats()) > {"files"}  # as of several
    with pytest.raises(FileNotFoundError, match="PATH_NOT_FOUND"):
        capture.read("memory://day/*.zst")
    for folder in ("memory://day/", "memory://day"):
        assert capture.read(folder, files="separate").files == [
            "memory://day/a.pcap.gz",
            "memory://day/b.pcap",
        ]
    assert capture.read("memory://day/**/c.pcap").files == ["memory://day/deep/c.pcap"]
    with pytest.raises(FileNotFoundError, match="PATH_NOT_FOUND"):
        capture.read("memory://day/missing.pcap")


def test_an_empty_file_has_no_bytes(memory: Any) -> None:
    storage = _storage.Storage()
    assert storage.stat("memory://day/deep/c.pcap").size == 0
    assert [file.size for file in storage.find("memory://day/deep", False)] == [0]


class Sizeless:
    """A file system of fsspec's around another one, whose listings say no sizes.

    answers: whether it says the size of a file by itself.
    """

    def __init__(self, store: Any, answers: bool) -> None:
        self.store = store
        self.answers = answers
        self.requests = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def info(self, path: str) -> Any:
        self.requests += 1
        info = self.store.info(path)
        return info if self.answers else {**info, "size": None}

    def find(self, path: str, **options: Any) -> Any:
        entries = self.store.find(path, **options).items()
        return {name: {**info, "size": None} for name, info in entries}


def test_a_file_whose_size_no_store_says_is_refused(memory: Any) -> None:
    """At once: to ask again would not help."""
    store = Sizeless(memory, answers=False)
    for source, requests in (("/day/a.pcap.gz", 1), ("/day/a*", 2)):
        store.requests = 0
        with pytest.raises(OSError, match="does not say how many bytes /day/a"):
            rows(source, filesystem=store)
        assert store.requests == requests


def test_a_listing_without_sizes_is_completed(memory: Any, expected: Any) -> None:
    store = Sizeless(memory, answers=True)
    assert rows("/day/a*", filesystem=store) == expected
    files = _storage.Storage(filesystem=store).find("/day/?.*", False)
    assert {file.uri: file.size for file in files} == {
        "/day/a.pcap.gz": len(RECORDING.read_bytes()),
        "/day/b.pcap": len(gzip.decompress(RECORDING.read_bytes())),
    }


def test_a_name_that_looks_like_a_glob(memory: Any, expected: Any) -> None:
    memory.pipe("/day/x[1].pcap.gz", RECORDING.read_bytes())
    memory.pipe("/day/x1.pcap.gz", b"no capture")
    assert rows("memory://day/x[1].pcap.gz") == expected


def test_globs_of_file_systems_of_pyarrow(expected: Any, tmp_path: Any) -> None:
    below = fs.SubTreeFileSystem(str(RECORDING.parent), fs.LocalFileSystem())
    assert rows("kombu_c*.gz", filesystem=below) == expected
    local = fs.LocalFileSystem()
    assert rows(str(RECORDING.parent / "kombu_c*.g[yz]"), filesystem=local) == expected
    (tmp_path / "x.pcap.gz").write_bytes(RECORDING.read_bytes())
    assert rows(str(tmp_path), filesystem=local) == expected


def test_arguments_of_http_are_no_glob() -> None:
    uri = "https://127.0.0.1:1/a/b.pcap?signature={x}*"
    assert _uris.cut_at_glob(uri) == (uri, "")


@pytest.mark.parametrize(
    ("uri", "recursive", "names"),
    [
        ("memory://day", False, ["a.pcap.gz", "b.pcap"]),
        ("memory://day", True, ["a.pcap.gz", "b.pcap", "deep/c.pcap"]),
        ("memory://day/*.pcap", False, ["_hidden.pcap", "b.pcap"]),  # as Spark lists a glob
        ("memory://day/{a,x}.pcap*", False, ["a.pcap.gz"]),
        ("memory://day/[!b]*.gz", False, ["a.pcap.gz"]),
        ("memory://day/d?ep", False, ["deep/c.pcap"]),
        ("memory://day/b.pcap", False, ["b.pcap"]),
    ],
)
def test_listing(memory: Any, uri: str, recursive: bool, names: list[str]) -> None:
    files = sorted(_storage.Storage().find(uri, recursive))
    assert [file.uri for file in files] == [f"memory://day/{name}" for name in names]
    assert all(file.modified > 1e9 for file in files)


@pytest.mark.parametrize("uri", ["memory://night", "memory://day/z*", "memory://day/c.pcap"])
def test_what_is_not_there(memory: Any, uri: str) -> None:
    with pytest.raises(FileNotFoundError, match="PATH_NOT_FOUND"):
        list(_storage.Storage().find(uri, False))


# ---- ranges ----


def test_ranges_are_read_ahead_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_ranges, "PAUSE", 0)
    data, requested_ranges, failures = (
        os.urandom(10_000),
        [],
        [OSError("reset"), RuntimeError("client"), None],
    )

    def fetch(start: int, room: memoryview) -> int:
        requested_ranges.append((start, start + len(room)))
        if failures:
            problem = failures.pop(0)
            if problem:
                raise problem
            return len(room) - 1  # cut short
        room[:] = data[start : start + len(room)]
        return len(room)

    with _ranges.RangeFile(fetch, len(data), "x", 1000) as file:
        assert file.read(10) == data[:10]
        assert requested_ranges[:4] == [(0, 1000)] * 4
        assert file.read() == data[10:]
        assert sorted(set(requested_ranges)) == [(i, i + 1000) for i in range(0, 10_000, 1000)]
        assert file.seek(-5, os.SEEK_END) == 9995
        assert file.read(99) == data[-5:]
        assert file.seek(4321) == 4321
        assert file.read(5000) == data[4321:9321]


def test_a_look_fetches_little_and_reading_on_much() -> None:
    mega = 1 << 20
    requested_ranges: list[tuple[int, int]] = []

    def fetch(start: int, room: memoryview) -> int:
        requested_ranges.append((start, len(room)))
        return len(room)

    with _ranges.RangeFile(fetch, 100 * mega, "x") as file:
        assert len(file.read(4)) == 4
        file.seek(-9, os.SEEK_END)
        assert len(file.read(9)) == 9
        file.seek(50 * mega)
        assert len(file.read(mega)) == mega
        assert requested_ranges == [(0, 1 << 16), (100 * mega - 9, 9), (50 * mega, mega)]
        del requested_ranges[:]
        assert len(file.read(1)) == 1
        assert requested_ranges[0] == (51 * mega, 8 * mega)
        assert len(file.read()) == 49 * mega - 1
    ahead = [(start * mega, 8 * mega) for start in (51, 59, 67, 75, 83)]
    assert sorted(requested_ranges) == [*ahead, (91 * mega, 8 * mega), (99 * mega, mega)]


def test_nothing_is_read_ahead_after_the_end_of_what_is_wanted(
    plain: Any, expected: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in (
        (_ranges, "LOOK"),
        (_files, "CHUNK_BYTES"),
        (_files, "COMPRESSED_CHUNK_BYTES"),
    ):
        monkeypatch.setattr(module, name, 1000)
    monkeypatch.setattr(_files.open_source, "__defaults__", (10_000,))
    requested_ranges = asked_ranges(monkeypatch)
    reader = capture.Reader(plain, fields=["method"], filesystem=fs.LocalFileSystem())
    count = 0
    for stop in (80_000, 83_000, 120_000, None):
        count += sum(len(batch) for batch in reader.read(stop))
        ends = [start + size for start, size in requested_ranges]
        assert max(ends) <= (plain.stat().st_size if stop is None else stop + 3_000)
    assert count == len(expected)
    assert sum(size for _, size in requested_ranges) == plain.stat().st_size


def test_what_fails_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_ranges, "PAUSE", 0)
    tries: list[int] = []

    def fetch(start: int, room: memoryview) -> int:
        tries.append(start)
        raise RuntimeError("down") if len(tries) < 9 else FileNotFoundError("gone")

    file = _ranges.RangeFile(fetch, 10, "x")
    with pytest.raises(OSError, match="RuntimeError: down"):
        file.read(1)
    assert len(tries) == _ranges.TRIES
    tries += [0] * 9
    with pytest.raises(FileNotFoundError):
        file.read(1)
    assert len(tries) == _ranges.TRIES + 10


def test_no_secret_shows() -> None:
    uri = "s3://key:secret@bucket/a/b.pcap?secret_key=hush"
    located = _storage.locate(uri, _storage.Storage({"fs.s3a.secret.key": "hush"}))
    assert os.fspath(located) == "s3://bucket/a/b.pcap"
    for text in (str(located.storage), os.fspath(located), repr(located.storage)):
        assert "secret@" not in text
        assert "hush" not in text
    assert pickle.loads(pickle.dumps(located)) == located


def test_options_of_hadoop() -> None:
    options = {
        "fs.s3a.endpoint": "http://127.0.0.1:9000",
        "fs.s3a.access.key": "a",
        "fs.s3a.path.style.access": "true",
        "fs.anonymous": "false",
    }
    assert _storage._arguments("s3", options) == {
        "endpoint_override": "127.0.0.1:9000", "scheme": "http", "access_key": "a",
        "anonymous": False,
    }  # fmt: skip
    with pytest.raises(ValueError, match=r"'fs.s3a.acces.key': did you mean fs.s3a.access.key"):
        _storage._arguments("s3", {"fs.s3a.acces.key": "a"})


# ---- packing ----


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_zstd_and_lz4(plain: Any, expected: Any, tmp_path: Any, codec: str) -> None:
    data = plain.read_bytes()
    path = tmp_path / "packed"
    for half in (data[: len(data) // 2], data[len(data) // 2 :]):
        with open(path, "ab") as out, pa.CompressedOutputStream(out, codec) as packed:
            packed.write(half)
    assert rows(path) == expected
    truncated_path = tmp_path / "cut"
    truncated_path.write_bytes(path.read_bytes()[:-2000])
    reader = capture.read(truncated_path, fields=["method"])
    some = sum(len(batch) for batch in reader)
    assert len(expected) // 2 < some < len(expected)
    assert "damaged or cut" in str(reader.damaged)
    half = next(row["packet_offset"] for row in expected[len(expected) // 2 :])
    reader = capture.Reader(path, fields=["method"])
    first = sum(len(batch) for batch in reader.read(half))
    other = capture.Reader(path, fields=["method"])
    other.resume(reader.state())
    assert first + sum(len(batch) for batch in other) == len(expected)


def test_a_file_of_no_bytes_is_an_empty_one(tmp_path: Any) -> None:
    path = tmp_path / "empty.pcap"
    path.write_bytes(b"")
    reader = capture.read(path)
    assert list(reader) == []
    assert reader.damaged is None
    [counts] = capture.stats(path)["files"]
    assert (counts["packets"], counts["damaged"]) == (0, None)


@pytest.mark.parametrize(
    ("info", "modified", "tag"),
    [
        ({"mtime": 5.5, "created": 1.0}, 5.5, ""),
        ({"modificationTime": 5500}, 5.5, ""),
        ({"LastModified": datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC), "ETag": '"x"'}, 5.0, '"x"'),
        ({"updated": "1970-01-01T00:00:05.5Z", "etag": "y"}, 5.5, "y"),
        ({"Last-Modified": "Thu, 01 Jan 1970 00:00:05 GMT"}, 5.0, ""),
        ({"mtime": "5 o'clock"}, None, ""),
        ({}, None, ""),
    ],
)
def test_what_stores_say_of_files(info: dict[str, Any], modified: float | None, tag: str) -> None:
    assert _storage._facts({"size": 7, "type": "file", **info}) == (7, modified, tag)


def test_fsspec_takes_the_options_of_its_own_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """fs.NAME goes there as NAME; Hadoop's names, with points, do not."""
    pytest.importorskip("fsspec")
    monkeypatch.setattr("fsspec.core.url_to_fs", lambda uri, **options: (options, uri))
    options = {"fs.anon": "true", "fs.token": "x", "fs.s3a.access.key": "a", "level": "frame"}
    store, path = _storage._by_fsspec("memory://a", "memory", options)
    assert (store.filesystem, path) == ({"anon": True, "token": "x"}, "memory://a")
