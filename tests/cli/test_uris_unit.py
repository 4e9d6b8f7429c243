"""Files of stores on the command line: globs, folders and settings."""

from __future__ import annotations

import argparse

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("rich")

from amqpcodec.capture._storage import Storage, Stored
from amqpcodec.cli import uris
from tests.paths import REPO

RECORDING = REPO / "demo" / "kombu_celery.pcap.gz"


@pytest.fixture
def memory():
    store = pytest.importorskip("fsspec").filesystem("memory")
    store.pipe("/cli/a.pcap.gz", RECORDING.read_bytes())
    store.pipe("/cli/b.pcap", b"no capture, though it is long enough to be one")
    yield store
    store.rm("/cli", recursive=True)


def test_globs_and_folders(run, memory):
    local = run("stats", RECORDING)
    remote = run("stats", "memory://cli/*.gz")
    assert (remote.status, remote.err) == (0, "")
    assert remote.lines == ["memory://cli/a.pcap.gz", *local.lines[1:]]
    both = run("dissect", "memory://cli/*", "--format", "json")
    assert (both.status, len(both.lines)) == (2, 1000)
    assert "memory://cli/b.pcap: neither pcap nor pcapng" in both.err
    memory.rm("/cli/b.pcap")
    for folder in ("memory://cli/", "memory://cli"):
        assert run("stats", folder).lines == remote.lines


def test_globs_and_folders_of_this_machine(run, tmp_path):
    for name in ("a.pcap.gz", "b.pcap.gz"):
        (tmp_path / name).write_bytes(RECORDING.read_bytes())
    (tmp_path / "_SUCCESS").write_text("no capture")
    rows = run("dissect", "--files", "separate", tmp_path, "--format", "json")
    assert (rows.status, len(rows.lines)) == (0, 2000)
    for path in ("*.gz", "{a,b}.pcap.gz", "**/*.gz"):
        assert (
            run("dissect", "--files", "separate", tmp_path / path, "--format", "json").lines
            == rows.lines
        )
    for command in ("stats", "connections"):
        missing = run(command, tmp_path / "*.zst")
        assert (missing.status, missing.out) == (2, "")
        assert "Path does not exist" in missing.err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["memory://cli/*.zst"], "Path does not exist: memory://cli/*.zst"),
        (["nowhere://x/*.pcap"], "nothing here reads nowhere://x"),
        (["--fs", "s3a.acces.key=x", "s3://bucket/*"], "no option 'fs.s3a.acces.key'"),
        (["--fs", "endpoint", "s3://bucket/*"], "'endpoint' is not NAME=VALUE"),
    ],
)
def test_what_is_refused(run, words, problem):
    result = run("stats", *words)
    assert result.status == 2
    assert problem in result.err


def test_settings_reach_the_store(monkeypatch):
    monkeypatch.setattr(Storage, "find", lambda self, uri, below: iter([Stored(uri, 1, None)]))
    settings = [uris.setting(text) for text in ("s3a.endpoint=http://x:9000", "fs.anonymous=true")]
    local, remote = uris.with_stores(map(uris.source, ("a.pcap", "s3://b/c.pcap")), settings)
    assert uris.readable(local) == "a.pcap"
    assert uris.readable(remote).storage.options == {
        "fs.s3a.endpoint": "http://x:9000", "fs.anonymous": "true"
    }  # fmt: skip
    assert str(remote) == "s3://b/c.pcap"
    with pytest.raises(argparse.ArgumentTypeError):
        uris.setting("=x")
