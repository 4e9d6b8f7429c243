"""Captures on a server of S3's protocol: by URI, with options, listed, and what goes wrong."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("moto")
fs = pytest.importorskip("pyarrow.fs")

from amqpcodec import capture  # noqa: E402
from amqpcodec.capture import _files  # noqa: E402
from amqpcodec.capture._storage import Storage, locate  # noqa: E402
from tests.capture import s3_server  # noqa: E402
from tests.paths import REPO  # noqa: E402
from tests.support.batches import rows_of  # noqa: E402

RECORDING = REPO / "demo" / "kombu_celery.pcap.gz"


@pytest.fixture(scope="module")
def options() -> Iterator[dict[str, str]]:
    """Of a server whose bucket has some files."""
    if not hasattr(fs, "S3FileSystem"):
        pytest.skip("pyarrow is built without S3")
    with s3_server.server() as address:
        storage_options = {
            "fs.s3a.endpoint": address,
            "fs.s3a.access.key": s3_server.ACCESS,
            "fs.s3a.secret.key": s3_server.SECRET,
            "fs.s3a.endpoint.region": "us-east-1",
        }
        store = fs.S3FileSystem(
            endpoint_override=address.removeprefix("http://"), scheme="http", region="us-east-1",
            access_key=s3_server.ACCESS, secret_key=s3_server.SECRET, allow_bucket_creation=True,
        )  # fmt: skip
        store.create_dir("bucket")
        plain = gzip.decompress(RECORDING.read_bytes())
        for name, data in (
            ("a.pcap.gz", RECORDING.read_bytes()), ("b.pcap", plain), ("deep/c.pcap", b""),
        ):  # fmt: skip
            with store.open_output_stream(f"bucket/day/{name}", compression=None) as out:
                out.write(data)
        yield storage_options


def rows(source: Any, **more: Any) -> list[dict[str, Any]]:
    reader = capture.read(source, fields=["method", "packet_offset", "frame"], **more)
    return rows_of(reader)


@pytest.mark.parametrize("name", ["s3://bucket/day/a.pcap.gz", "s3a://bucket/day/b.pcap"])
def test_reading(options: dict[str, str], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_files.open_source, "__defaults__", (10_000,))
    assert rows(locate(name, Storage(options))) == rows(str(RECORDING))
    reader = capture.read(locate(name, Storage(options)), fields=["file"])
    assert {
        file_name for b in reader for file_name in pa.record_batch(b).column(0).to_pylist()
    } == {name}


def test_a_file_system_of_the_users(options: dict[str, str]) -> None:
    store = fs.S3FileSystem(
        endpoint_override=options["fs.s3a.endpoint"].removeprefix("http://"), scheme="http",
        access_key=s3_server.ACCESS, secret_key=s3_server.SECRET,
    )  # fmt: skip
    assert rows("bucket/day/b.pcap", filesystem=store) == rows(str(RECORDING))
    assert rows("s3://bucket/day/b.pcap", filesystem=store) == rows(str(RECORDING))
    assert capture.stats("s3://bucket/day/b.pcap", filesystem=store)["errors"] == 0


def test_listing(options: dict[str, str]) -> None:
    storage = Storage(options)
    names = ["s3://bucket/day/a.pcap.gz", "s3://bucket/day/b.pcap"]
    assert [file.uri for file in sorted(storage.find("s3://bucket/day", False))] == names
    assert [file.uri for file in storage.find("s3://bucket/day/*.gz", False)] == names[:1]
    (empty,) = storage.find("s3://bucket/day/deep/", False)
    assert (empty.uri, empty.size) == ("s3://bucket/day/deep/c.pcap", 0)
    assert rows(locate(empty.uri, storage)) == []
    with pytest.raises(FileNotFoundError, match="PATH_NOT_FOUND"):
        list(storage.find("s3://bucket/night", False))


def test_the_command_line(
    options: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    from amqpcodec.cli.main import main

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", s3_server.ACCESS)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", s3_server.SECRET)
    monkeypatch.setenv("AWS_ENDPOINT_URL", options["fs.s3a.endpoint"])
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    assert main(["stats", "s3://bucket/day/b.pcap"]) == 0
    assert "s3://bucket/day/b.pcap" in capsys.readouterr().out
