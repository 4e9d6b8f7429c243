"""Captures in stores, without a session: WebHDFS, and stores that say no times."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark.sql.datasource")
fsspec = pytest.importorskip("fsspec")

from fsspec.implementations.memory import MemoryFileSystem  # noqa: E402

from amqpcodec import capture  # noqa: E402
from amqpcodec.capture._storage import Storage  # noqa: E402
from amqpcodec.spark.planning.files import Selection, list_files  # noqa: E402
from amqpcodec.spark.planning.options import Options  # noqa: E402
from amqpcodec.spark.planning.ranges import size_to_cut  # noqa: E402
from amqpcodec.spark.source import data_source as source  # noqa: E402
from tests.capture import webhdfs_server  # noqa: E402
from tests.spark.frames import RECORDING  # noqa: E402
from tests.spark.test_ranges_unit import other_hosts, read_by, rows, tasks  # noqa: E402
from tests.spark.test_stream_unit import Query  # noqa: E402
from tests.support.ranges import asked_ranges  # noqa: E402
from tests.support.seekable import in_frames  # noqa: E402

PLAIN = gzip.decompress(RECORDING.read_bytes())
#: Of columns that do not say where the file lies.
FIELDS = "direction,packet_offset,position,method,frame"
WRITTEN = 1_700_000_000_123


@pytest.fixture
def cluster() -> Iterator[webhdfs_server.Cluster]:
    pytest.importorskip("requests")
    with webhdfs_server.cluster() as hdfs_cluster:
        hdfs_cluster.files = {
            "/day/a.pcap.gz": (RECORDING.read_bytes(), WRITTEN),
            "/day/b.pcap": (PLAIN, WRITTEN + 5000),
            "/day/deep/c.pcap": (b"", WRITTEN),
        }
        yield hdfs_cluster


def uri(cluster: webhdfs_server.Cluster, path: str) -> str:
    return f"webhdfs{cluster.address.removeprefix('http')}{path}"


def test_webhdfs_is_listed_with_times(cluster: webhdfs_server.Cluster) -> None:
    for path, recursive, names in (
        ("/day", False, ["a.pcap.gz", "b.pcap"]),
        ("/day", True, ["a.pcap.gz", "b.pcap", "deep/c.pcap"]),
        ("/day/*.gz", False, ["a.pcap.gz"]),
        ("/day/b.pcap", False, ["b.pcap"]),
    ):
        capture_files = list_files([uri(cluster, path)], Selection(recursive))
        assert [capture_file.path for capture_file in capture_files] == [
            uri(cluster, f"/day/{name}") for name in names
        ]
        assert all(
            capture_file.modified in (WRITTEN / 1000, WRITTEN / 1000 + 5)
            for capture_file in capture_files
        )
    later = Selection.of(Options({"modifiedAfter": "2023-11-14T22:13:22"}))
    assert [capture_file.size for capture_file in list_files([uri(cluster, "/day")], later)] == [
        len(PLAIN)
    ]
    for path in ("/night", "/day/*.zst"):
        with pytest.raises(FileNotFoundError):
            list_files([uri(cluster, path)], Selection())


def test_webhdfs_is_read(cluster: webhdfs_server.Cluster) -> None:
    local = rows(RECORDING, fields=FIELDS)
    for name in ("a.pcap.gz", "b.pcap"):
        assert rows(uri(cluster, f"/day/{name}"), fields=FIELDS) == local
    assert ("/day/b.pcap", 0, len(PLAIN)) in cluster.opened
    reader = capture.read(uri(cluster, "/day/*.gz"), fields=["method"])
    assert sum(map(len, reader)) == len(local)
    folder = capture.read(uri(cluster, "/day"), files="separate")
    assert folder.files == [uri(cluster, f"/day/{name}") for name in ("a.pcap.gz", "b.pcap")]


def test_ranges_of_webhdfs(cluster: webhdfs_server.Cluster, tmp_path: Path) -> None:
    path = uri(cluster, "/day/b.pcap")
    options = {"stateLocation": str(tmp_path), "maxPartitionBytes": "20k", "fields": FIELDS}
    reader, parts = tasks(path, **options)
    assert len(parts) > 3
    assert read_by(reader, parts) == rows(RECORDING, fields=FIELDS)
    assert tasks(path, **options)[1] == parts
    cluster.files["/day/b.pcap"] = other_hosts(PLAIN), WRITTEN + 6000
    with pytest.raises(ValueError, match="another file now"):
        read_by(reader, parts[2:3])
    assert {part.state for part in tasks(path, **options)[1]}.isdisjoint(
        {part.state for part in parts[1:]}
    )


def test_a_stream_of_webhdfs(cluster: webhdfs_server.Cluster, tmp_path: Path) -> None:
    query = Query(
        tmp_path, tmp_path / "s", path=uri(cluster, "/day"), fields=FIELDS, files="separate"
    )
    assert query.go() == 1
    assert len(query.rows) == 2 * len(rows(RECORDING, fields=FIELDS))
    cluster.files["/day/d.pcap"] = PLAIN, WRITTEN + 9000
    assert query.go() == 1


# ---- stores that say no times ----


class Untimed(MemoryFileSystem):
    """As some stores of fsspec's are: name, type and size are all that they say."""

    protocol = ("untimed",)
    store: dict[str, Any] = {}  # noqa: RUF012
    pseudo_dirs = [""]  # noqa: RUF012

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return MemoryFileSystem._strip_protocol(path.replace("untimed://", "memory://"))

    def info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        return bare(super().info(path, **kwargs))

    def find(self, path: str, *args: Any, **kwargs: Any) -> Any:
        listing = super().find(path, *args, **kwargs)
        if isinstance(listing, dict):
            return {name: bare(info) for name, info in listing.items()}
        return listing


def bare(info: dict[str, Any]) -> dict[str, Any]:
    return {name: info[name] for name in ("name", "type", "size")}


@pytest.fixture
def untimed() -> Iterator[MemoryFileSystem]:
    fsspec.register_implementation("untimed", Untimed, clobber=True)
    store = Untimed()
    store.pipe("/day/b.pcap", PLAIN)
    yield store
    store.rm("/day", recursive=True)


def test_what_needs_times_is_refused(untimed: MemoryFileSystem, tmp_path: Path) -> None:
    [file] = list_files(["untimed://day"], Selection())
    assert file == ("untimed://day/b.pcap", len(PLAIN), None, "")
    for name in ("modifiedAfter", "modifiedBefore"):
        chosen = Selection.of(Options({name: "2026-01-01"}))
        with pytest.raises(ValueError, match=r"need the times of files, and of untimed://day/b"):
            list_files(["untimed://day"], chosen)
    query = Query(tmp_path, tmp_path / "s", path="untimed://day")
    with pytest.raises(ValueError, match="streams need the times of files"):
        query.batch()


@pytest.mark.parametrize("same_head", [False, True])
def test_states_of_a_file_that_was_overwritten(
    untimed: MemoryFileSystem, tmp_path: Path, same_head: bool
) -> None:
    options = {"stateLocation": str(tmp_path), "maxPartitionBytes": "20k", "fields": FIELDS}
    reader, parts = tasks("untimed://day/b.pcap", **options)
    assert read_by(reader, parts) == rows(RECORDING, fields=FIELDS)
    if same_head:  # nothing is left to tell it by but that the range ends where no record is
        untimed.pipe("/day/b.pcap", PLAIN[:4096] + b"\xff" * (len(PLAIN) - 4096))
        with pytest.raises(capture.CaptureError, match="another file than was planned"):
            read_by(reader, parts[1:2])
        return
    untimed.pipe("/day/b.pcap", other_hosts(PLAIN))
    with pytest.raises(ValueError, match="another file now"):
        read_by(reader, parts[1:2])
    assert rows("untimed://day/b.pcap", **options) == rows("untimed://day/b.pcap", fields=FIELDS)


def test_a_tag_tells_a_file_from_another(untimed: MemoryFileSystem, tmp_path: Path) -> None:
    class Tagged(Untimed):
        tag = "1"

        def info(self, path: str, **kwargs: Any) -> dict[str, Any]:
            return {**super().info(path, **kwargs), "ETag": self.tag}

    fsspec.register_implementation("untimed", Tagged, clobber=True)
    reader_options = {"paths": json.dumps(["untimed://day/b.pcap"]), "fields": FIELDS}
    reader_options |= {"stateLocation": str(tmp_path), "maxPartitionBytes": "20k"}
    reader = source.CaptureRows(Options(reader_options), None)
    parts = list(reader.partitions())
    assert read_by(reader, parts)
    Tagged.tag = "2"
    with pytest.raises(ValueError, match="another file now"):
        read_by(reader, parts[1:2])
    assert list(reader.partitions())[1].state != parts[1].state


def test_where_a_file_is_cut_is_known_by_little_of_it(
    untimed: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = os.urandom(1 << 20)
    untimed.pipe("/day/z.pcap.zst", in_frames(noise, 10_000))
    requested_ranges = asked_ranges(monkeypatch)
    [plain, packed] = list_files(["untimed://day"], Selection())
    assert size_to_cut(plain, Storage()) == len(PLAIN)
    assert requested_ranges == [(0, 1 << 16)]
    assert size_to_cut(packed, Storage()) == len(noise)
    assert sum(size for _, size in requested_ranges[1:]) < 70_000
