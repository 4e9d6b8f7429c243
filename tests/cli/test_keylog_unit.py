"""Connections over TLS on the command line: read with --keylog, and told of without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import recording as builder
from tests.support.plain_talk import TALK
from tests.support.recording import packets
from tests.support.tls_talk import Talker

pytest.importorskip("pyarrow")
pytest.importorskip("rich")
pytest.importorskip("cryptography")


@pytest.fixture
def recorded(tmp_path: Path) -> tuple[Path, Path]:
    """A capture of two connections, one of them to the port of TLS, and their key log."""
    talker = Talker()
    first, second = talker.talk(TALK), talker.talk(TALK)
    path, keys = tmp_path / "tls.pcap", tmp_path / "keys.log"
    path.write_bytes(builder.pcap(packets(first) + packets(second, port=5671, client=40001)))
    keys.write_bytes(talker.keys)
    return path, keys


def test_frames_are_shown(run, recorded):
    path, keys = recorded
    result = run("dissect", path, "--keylog", keys, "--fields", "conn,method", "--where", "method")
    assert (result.status, result.err) == (0, "")
    assert sum("basic.publish" in line for line in result.lines) == 4
    assert {line.split()[0] for line in result.lines[1:]} == {"0", "1"}


@pytest.mark.parametrize("command", ["stats", "connections", "top", "errors"])
def test_every_command_takes_a_key_log(run, recorded, command):
    path, keys = recorded
    result = run(command, path, "--keylog", keys)
    assert result.status == 0
    assert "TLS" not in result.err


@pytest.mark.parametrize("command", ["dissect", "stats", "connections"])
def test_what_is_needed_is_said(run, recorded, command):
    path, _ = recorded
    result = run(command, path)
    assert "2 connections are over TLS and not read (no key log was given); --keylog" in result.err
    assert result.status == 1


def test_a_key_log_of_other_connections(run, recorded, tmp_path):
    other = Talker()
    other.talk(TALK)
    keys = tmp_path / "other.log"
    keys.write_bytes(b"what is this?\n" + other.keys)
    result = run("dissect", recorded[0], "--keylog", keys)
    assert f"{keys}: the reader skips lines that are no secrets: 1" in result.err
    assert "(no key in the key log)" in result.err


def test_a_key_log_that_is_not_there(run, recorded, tmp_path):
    result = run("dissect", recorded[0], "--keylog", tmp_path / "absent")
    assert result.status == 2
    assert "absent: No such file" in result.err
