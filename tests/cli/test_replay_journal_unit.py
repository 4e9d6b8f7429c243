"""The journal of amqpcodec replay: what it takes, what it refuses, and what it never spoils."""

from __future__ import annotations

import argparse
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import TALK, message
from tests.cli.replay_server import Broker, brokers
from tests.support import recording as builder

pytest.importorskip("pyarrow")
pytest.importorskip("rich")

from amqpcodec.capture._limits import Limits
from amqpcodec.cli.arguments import LimitOption, parse_arguments, parser
from amqpcodec.cli.errors import UsageError
from amqpcodec.cli.options import ReplayOptions
from amqpcodec.cli.replay.identity import (
    CANNOT_CHANGE_MESSAGES,
    PARTS,
    identity_of,
)
from amqpcodec.cli.replay.journal import Journal
from amqpcodec.cli.replay.target import Target

IDENTITY = {"files": ["a"], "map": []}
FOREIGN = {
    "text without an end of line": b'{"precious": 1}',
    "text": b"milk\nbread\n",
    "JSON with a line": b'{"precious": 1}\n',
    "its first version": b'{"amqpcodec": "replay", "version": 1}\n0-5\n',
    "numbers": b"1\n2\n",
    "bytes": bytes(range(256)) * 300,
    "an end of line": b"\n",
    "deep JSON": b"[" * 10_000 + b"\n",
    "no object": b"17\n",
}


@pytest.fixture
def broker() -> Iterator[Broker]:
    with brokers() as server:
        yield server


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """60 publications."""
    sent = [("client", message(f"k.{n}", b"%d" % n)) for n in range(60)]
    path = tmp_path / "recording.pcap"
    path.write_bytes(builder.pcap(builder.dialogue([*TALK[:4], *sent])))
    return path


def replay(run: Any, recording: Path, broker: Broker, journal: Path, *more: object) -> Any:
    target = f"amqp://127.0.0.1:{broker.port}/"
    return run("replay", recording, "--to", target, "--fast", "--journal", journal, *more)


def bodies(broker: Broker) -> list[int]:
    return [int(bytes(published.body)) for published in broker.publications]


# --- files that are no journal --------------------------------------------------------------------


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("option", ["--dry-run", "--fast"])
def test_a_file_that_is_no_journal_stays_as_it_is(
    run, recording, broker, tmp_path, content, option
):
    path = tmp_path / "precious"
    path.write_bytes(content)
    result = replay(run, recording, broker, path, option)
    assert result.status == 2
    assert "is no journal" in result.err
    assert path.read_bytes() == content
    assert broker.logins == []


def test_inputs_are_no_journals(run, recording, broker):
    before = recording.read_bytes()
    result = replay(run, recording, broker, recording)
    assert result.status == 2
    assert "is a file that this command reads" in result.err
    assert recording.read_bytes() == before


def test_an_input_that_is_empty_is_no_journal(run, recording, broker, tmp_path):
    """An empty file is taken for a new journal, but for a key log that waits for its secrets."""
    keys = tmp_path / "keys.log"
    keys.touch()
    link = tmp_path / "journal"
    link.symlink_to(keys)
    for more in (("--keylog", keys), ("--cafile", keys)):
        result = replay(run, recording, broker, link, *more)
        assert result.status == 2
        assert f"--journal {link} is a file that this command reads" in result.err
        assert keys.read_bytes() == b""
    assert replay(run, recording, broker, link).status == 0


def test_only_regular_files_are_journals(run, recording, broker, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, Path("/dev/null")):
        result = replay(run, recording, broker, path)
        assert result.status == 2
        assert str(path) in result.err
    assert broker.logins == []


def test_a_dry_run_creates_no_journal_and_changes_none(run, recording, broker, tmp_path):
    path = tmp_path / "journal"
    assert replay(run, recording, broker, path, "--dry-run").status == 0
    assert not path.exists()
    broker.die_after = 20
    assert replay(run, recording, broker, path, "--window", "5").status == 2
    torn = path.read_bytes() + b"12"
    path.write_bytes(torn)
    result = replay(run, recording, broker, path, "--dry-run")
    assert "already, by the journal" in result.lines[-1]
    assert path.read_bytes() == torn


def test_another_version(tmp_path):
    path = tmp_path / "journal"
    Journal(path, IDENTITY).__exit__(None, None, None)
    path.write_text(path.read_text().replace('"version": 2', '"version": 3'))
    before = path.read_bytes()
    with pytest.raises(UsageError, match="of version 3 are not read, only those of version 2"):
        Journal(path, IDENTITY)
    assert path.read_bytes() == before


# --- cut and damaged ------------------------------------------------------------------------------


def test_a_journal_cut_at_every_byte(tmp_path):
    """What is in the remainder is not sent again, what is not is; a head that is cut is refused."""
    path = tmp_path / "journal"
    with Journal(path, IDENTITY) as journal:
        journal.confirm([0, 1, 2, 7])
        journal.refuse(5, 406, "PRECONDITION_FAILED - é\n\x1b")
        journal.confirm([10, 11, 123])
    complete = path.read_bytes()
    head, first, second, refused, *others = complete.splitlines(keepends=True)
    assert [first, second, *others] == [b"0-2\n", b"7\n", b"10-11\n", b"123\n"]
    records = [(first, {0, 1, 2}), (second, {7}), (refused, {5}), (others[0], {10, 11})]
    for size in range(len(complete) + 1):
        path.write_bytes(complete[:size])
        if 0 < size < len(head):
            with pytest.raises(UsageError, match="is no journal"):
                Journal(path, IDENTITY)
            assert path.read_bytes() == complete[:size]
            continue
        expected, end = set(), len(head)
        for line, numbers in [*records, (others[1], {123})]:
            end += len(line)
            if size >= end:
                expected |= numbers
        with Journal(path, IDENTITY) as journal:
            assert {number for number in range(200) if number in journal} == expected
            assert (5 in journal.refused) == (5 in expected)
            journal.confirm([150])
        with Journal(path, IDENTITY) as journal:
            assert {number for number in range(200) if number in journal} == expected | {150}


@pytest.mark.parametrize(
    "line",
    [
        *(b"x", b"5-3", b"-3", b"", b"9" * 5000, b"1 2", b"1 {}", b"1-2 {}", b"1 x", b"+1", b" 1"),
        *(b'1 {"reply_code": "x", "reply_text": ""}', b"1 {" + b"[" * 3000 + b"}", b"\xff", b"1\r"),
    ],
)
def test_a_damaged_line_is_refused_and_stays(tmp_path, line):
    path = tmp_path / "journal"
    with Journal(path, IDENTITY) as journal:
        journal.confirm([1])
    content = path.read_bytes() + line + b"\n3\n"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="line 3 is damaged"):
        Journal(path, IDENTITY)
    assert path.read_bytes() == content


def test_a_disk_that_is_full(run, recording, broker, tmp_path):
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full")
    journal = Journal(None, {})
    journal._path, journal._file = full, os.open(full, os.O_WRONLY)
    with pytest.raises(UsageError, match="/dev/full: No space left"):
        journal.confirm([1])
    os.close(journal._file)


# --- two at once ----------------------------------------------------------------------------------


def test_two_replays_with_one_journal_at_once(run, recording, broker, tmp_path):
    """The second is refused, and the first one's journal is complete."""
    path = tmp_path / "journal"
    broker.block_after = 10
    first: list[Any] = []
    words = ("--window", "1")
    target = f"amqp://127.0.0.1:{broker.port}/"
    command = ["replay", recording, "--to", target, "--fast", "--journal", path, *words]
    thread = threading.Thread(target=lambda: first.append(started(*command)))
    thread.start()
    while len(broker.publications) < 5:
        assert thread.is_alive()
    second = replay(run, recording, broker, path, *words)
    thread.join(60)
    assert second.status == 2
    assert "another replay is using this journal" in second.err
    assert first[0] == (0, "60 sent, 60 confirmed\n")
    assert bodies(broker) == list(range(60))


def started(*words: object) -> tuple[int, str]:
    import subprocess
    import sys

    from tests.cli.conftest import environment

    command = [sys.executable, "-m", "amqpcodec", *map(str, words)]
    ended = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60)
    return ended.returncode, ended.stdout


# --- whose journal it is --------------------------------------------------------------------------

#: Words after `replay FILE --to URL`, for each option, that have to make another identity.
CHANGES: dict[str, list[object]] = {
    "where": ["--where", "channel"],
    "since": ["--since", "+1s"],
    "until": ["--until", "+1s"],
    "arrangement": ["--files", "taps"],
    "ports": ["--ports", "5672,5673"],
    "protocol": ["--protocol", "0-9"],
    "map": ["--map", "a=b"],
    "to": ["--to", "amqp://other@localhost/"],
    **{name: [f"--{name.replace('_', '-')}", 1000] for name in vars(Limits())},
}


def options_of_replay() -> set[str]:
    top = parser()
    [commands] = (a for a in top._actions if isinstance(a, argparse._SubParsersAction))
    actions = commands.choices["replay"]._actions
    return {action.limit if isinstance(action, LimitOption) else action.dest for action in actions}


def identity(*words: object) -> dict[str, Any]:
    options = parse_arguments(["replay", *map(str, words)]).options
    assert isinstance(options, ReplayOptions)
    return identity_of(options, Target.of(options.to))


def test_every_option_is_in_the_identity_or_cannot_change_the_messages(recording, tmp_path):
    options = options_of_replay()
    assert options == set(PARTS) | set(vars(Limits())) | set(CANNOT_CHANGE_MESSAGES)
    assert not set(PARTS) & set(CANNOT_CHANGE_MESSAGES)
    assert all(CANNOT_CHANGE_MESSAGES.values()), "each has its reason"
    keys = tmp_path / "keys.log"
    keys.write_text("# no secrets\n")
    other = tmp_path / "other.pcap"
    other.write_bytes(recording.read_bytes()[:-1])
    changes = {
        **{
            name: [recording, "--to", "amqp://localhost/", *words]
            for name, words in CHANGES.items()
        },
        "files": [other, "--to", "amqp://localhost/"],
        "keylog": [recording, "--to", "amqp://localhost/", "--keylog", keys],
    }
    assert set(changes) == options - set(CANNOT_CHANGE_MESSAGES)
    usual = identity(recording, "--to", "amqp://localhost/")
    for name, words in changes.items():
        changed = identity(*words)
        assert {part for part in usual if usual[part] != changed[part]} == {name}
    unchanged = [
        *("--rate", "5", "--window", "3", "--journal", "x", "--dry-run", "--cafile", "x"),
        *("--to-recorded-broker", "--declare", "--fs", "a=b"),
    ]
    assert identity(recording, "--to", "amqp://localhost/", *unchanged) == usual
    assert identity(recording, "--to", "amqp://localhost/", "--fast") == usual


def test_the_content_of_files_counts_to_the_last_byte(recording, tmp_path):
    """A recording that has grown may have another order: message 5 may be another one."""
    large = tmp_path / "large.pcap"
    large.write_bytes(recording.read_bytes() + bytes(1 << 21))
    before = identity(large, "--to", "amqp://h/")
    content = bytearray(large.read_bytes())
    content[-1] = 1
    large.write_bytes(content)
    assert identity(large, "--to", "amqp://h/") != before


def test_names_of_files_count_where_rows_are_chosen_by_them(recording, tmp_path):
    renamed = recording.with_name("renamed.pcap")
    renamed.write_bytes(recording.read_bytes())
    for where, same in (("channel", True), ("file ~ recording", False), ("connection", False)):
        words = ("--to", "amqp://h/", "--where", where)
        assert (identity(recording, *words) == identity(renamed, *words)) == same


def test_each_secret_of_a_key_log_counts(recording, tmp_path):
    keys = tmp_path / "keys.log"
    identities = []
    for line in (
        "",
        f"CLIENT_RANDOM {'a' * 64} {'b' * 96}\n",
        f"CLIENT_RANDOM {'a' * 64} {'c' * 96}\n",
    ):
        keys.write_text(line)
        identities.append(identity(recording, "--to", "amqp://h/", "--keylog", keys)["keylog"])
    assert len({None, *identities}) == 4


def test_a_journal_of_another_selection_is_refused(run, recording, broker, tmp_path):
    path = tmp_path / "journal"
    keys = tmp_path / "keys.log"
    keys.write_text("# no secrets\n")
    assert replay(run, recording, broker, path).status == 0
    before = path.read_bytes()
    for words, options in (
        (["--keylog", keys], "--keylog"),
        (["--files", "taps"], "--files"),
        (["--frame-bytes", 1000], "--frame-bytes"),
        (["--map", "a=b", "--where", "channel"], "--map, --where"),
        (["--to", f"amqp://other@127.0.0.1:{broker.port}/"], "--to"),
    ):
        result = replay(run, recording, broker, path, *words)
        assert result.status == 2
        assert f"is of another replay, with other values of {options}: " in result.err
        assert path.read_bytes() == before
    assert len(broker.publications) == 60


def test_a_journal_names_nobody(run, recording, broker, tmp_path):
    path = tmp_path / "journal"
    target = f"amqp://eve:sesame@127.0.0.1:{broker.port}/"
    words = ("--journal", path, "--where", "routing_key != 'hidden'", "--fast")
    assert run("replay", recording, "--to", target, *words).status == 0
    for word in (b"eve", b"sesame", b"hidden", b"recording"):
        assert word not in path.read_bytes()


def test_a_pipe_has_no_journal(run, broker, tmp_path):
    pipe = tmp_path / "pipe.pcap"
    os.mkfifo(pipe)
    for file in (pipe, "-"):
        result = replay(run, file, broker, tmp_path / "journal")
        assert result.status == 2
        assert "cannot be read twice" in result.err


# --- refused messages -----------------------------------------------------------------------------


def test_refused_messages_are_in_the_journal(run, recording, broker, tmp_path):
    path = tmp_path / "journal"
    broker.refusals = {"k.7": (406, "PRECONDITION_FAILED - no\x1b"), "k.8": (406, "never")}
    result = replay(run, recording, broker, path, "--window", "1")
    assert result.status == 1
    assert result.out == "60 sent, 58 confirmed, 2 refused\n"
    assert "message 7 was refused: 406 PRECONDITION_FAILED - no\\x1b" in result.err
    expected = [number for number in range(60) if number not in (7, 8)]
    assert bodies(broker) == expected
    lines = path.read_text().splitlines()
    [record] = [line for line in lines if line.startswith("8 ")]
    assert json.loads(record[2:]) == {"reply_code": 406, "reply_text": "never"}
    broker.refusals = {}
    again = replay(run, recording, broker, path)
    assert again.status == 1, "they were never sent"
    assert again.out == (
        "0 sent, 0 confirmed, 58 skipped, as confirmed before, 2 skipped, as refused before\n"
    )
    assert "message 8 was refused before: 406 never" in again.err
    assert bodies(broker) == expected
