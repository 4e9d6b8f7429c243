"""amqpcodec replay: messages of captures and of tables to a broker made of the session."""

from __future__ import annotations

import itertools
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from amqpcodec import v0_9_1 as amqp
from tests.cli.conftest import BAD, PROPERTIES, TALK, message
from tests.cli.replay_server import Broker, brokers
from tests.cli.test_terminal_unit import on_terminal
from tests.support import recording as builder
from tests.support.amqp091_messages import list_entry, published, with_raw_headers

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("rich")

from amqpcodec.cli.errors import UsageError  # noqa: E402
from amqpcodec.cli.replay import player  # noqa: E402
from amqpcodec.cli.replay.journal import Journal, NumberRanges  # noqa: E402
from amqpcodec.cli.replay.mapping import Mapping  # noqa: E402
from amqpcodec.cli.replay.player import Pace  # noqa: E402
from amqpcodec.cli.replay.target import Target  # noqa: E402


@pytest.fixture
def broker() -> Iterator[Broker]:
    with brokers() as server:
        yield server


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """100 publications after a login, 10 of them a packet."""
    talk = list(TALK[:4])
    for at in range(0, 100, 10):
        sent = b"".join(message(f"k.{n}", b"%d" % n) for n in range(at, at + 10))
        talk.append(("client", sent))
    path = tmp_path / "many.pcap"
    path.write_bytes(builder.pcap(builder.dialogue(talk)))
    return path


def url(broker: Broker, login: str = "", path: str = "/") -> str:
    return f"amqp://{login}127.0.0.1:{broker.port}{path}"


def bodies(broker: Broker) -> list[bytes]:
    return [bytes(publication.body) for publication in broker.publications]


# --- what is sent ---------------------------------------------------------------------------------


def test_publications_of_a_capture(run, good, broker):
    result = run("replay", good, "--to", url(broker, "me:right@", "/my%2Fhost"), "--fast")
    assert (result.status, result.err) == (0, "")
    assert result.out == "2 sent, 2 confirmed\n"
    assert bodies(broker) == [b"first", b"\x00\xff\x1b[2J"]
    first = broker.publications[0]
    assert (first.method.exchange, first.method.routing_key) == ("orders", "eu.de")
    assert first.method.mandatory
    assert first.properties == PROPERTIES
    assert first.properties.raw_headers in message("eu.de", b"first"), "to the byte"
    assert broker.logins == [("me", "right", "my/host")]


def test_credentials_of_the_recording_are_not_used(run, tmp_path, broker, monkeypatch):
    start_ok = amqp.Connection.StartOk(mechanism="PLAIN", response=b"\0eve\0hunter2")
    talk = [TALK[0], ("client", amqp.encode(0, start_ok)), *TALK[1:]]
    path = tmp_path / "login.pcap"
    path.write_bytes(builder.pcap(builder.dialogue(talk)))
    assert run("replay", path, "--to", url(broker), "--fast").status == 0
    monkeypatch.setenv("AMQPCODEC_PASSWORD", "of the environment")
    assert run("replay", path, "--to", url(broker, "me@"), "--fast").status == 0
    assert broker.logins == [("guest", "guest", "/"), ("me", "of the environment", "/")]


def test_a_broker_that_was_recorded_is_refused(run, tmp_path, broker):
    """The server of the recording, as its packets say, is the target."""
    path = tmp_path / "own.pcap"
    here = [
        packet.replace(bytes((10, 0, 0, 2)), bytes((127, 0, 0, 1))).replace(
            (5672).to_bytes(2, "big"), broker.port.to_bytes(2, "big")
        )
        for packet in builder.dialogue(TALK)
    ]
    path.write_bytes(builder.pcap(here))
    common = ("replay", path, "--to", url(broker), "--fast", "--ports", broker.port)
    result = run(*common)
    assert result.status == 2
    assert "--to-recorded-broker" in result.err
    assert broker.publications == []
    assert broker.logins == []
    assert run(*common, "--to-recorded-broker").status == 0
    assert len(broker.publications) == 2


def test_where_and_map(run, many, broker):
    broker.exchanges = {"copy"}
    result = run(
        *("replay", many, "--to", url(broker), "--fast", "--where", "routing_key ~ '^k.1'"),
        *("--map", "orders=copy", "--map", "key:k.1*=new.*.1", "--map", "key:*=never"),
    )
    assert result.out == "11 sent, 11 confirmed\n"
    keys = [publication.method.routing_key for publication in broker.publications]
    assert keys == ["new..1", *(f"new.{n}.1" for n in range(10))]
    assert {publication.method.exchange for publication in broker.publications} == {"copy"}


def test_bad_rows_are_left_out_and_said(run, bad, broker):
    result = run("replay", bad, "--to", url(broker), "--fast")
    assert result.status == 1
    assert len(broker.publications) == 2
    assert BAD not in b"".join(bodies(broker))


def test_a_table_that_dissect_wrote(run, good, tmp_path, broker):
    table = tmp_path / "messages.parquet"
    assert run("dissect", good, "--level", "message", "-o", table).status == 0
    result = run("replay", table, "--to", url(broker), "--fast", "--where", "routing_key == us")
    assert (result.status, result.out) == (0, "1 sent, 1 confirmed\n")
    (only,) = broker.publications
    assert (only.body, only.method.routing_key) == (b"\x00\xff\x1b[2J", "us")
    assert dict(only.properties.headers) == {"n": 5, "who": "eve"}
    assert only.properties.content_type == "text/plain"


def test_a_table_of_ones_own(run, tmp_path, broker):
    table = tmp_path / "own.parquet"
    columns = {
        "exchange": ["orders"] * 3000,
        "routing_key": [f"k{n}" for n in range(3000)],
        "properties.message_id": [f"m{n}" for n in range(3000)],
        "body": [b"%d" % n for n in range(3000)],
        "somebody's": [1.5] * 3000,
    }
    pq.write_table(pa.table(columns), table)
    result = run("replay", table, "--to", url(broker), "--fast", "--window", 7)
    assert (result.status, result.out) == (0, "3,000 sent, 3,000 confirmed\n")
    assert bodies(broker) == [b"%d" % n for n in range(3000)]
    assert broker.publications[2999].properties.message_id == "m2999"


@pytest.mark.parametrize(
    ("columns", "status"), [({"a": [1]}, 2), ({"exchange": [1], "routing_key": ["x"]}, 1)]
)
def test_a_table_without_messages(run, tmp_path, broker, columns, status):
    table = tmp_path / "other.parquet"
    pq.write_table(pa.table(columns), table)
    result = run("replay", table, "--to", url(broker), "--fast")
    assert result.status == status
    assert "exchange" in result.err
    assert broker.publications == []


def test_user_id_of_somebody_else(run, tmp_path, broker):
    """RabbitMQ closes the channel of who publishes in another's name."""
    table = tmp_path / "users.parquet"
    columns = {"exchange": ["orders"] * 2, "routing_key": ["k"] * 2}
    pq.write_table(pa.table({**columns, "properties.user_id": ["eve", "guest"]}), table)
    result = run("replay", table, "--to", url(broker), "--fast")
    assert [publication.properties.user_id for publication in broker.publications] == [
        None,
        "guest",
    ]
    assert "user-id was taken off 1 messages" in result.err


# --- what may go wrong ----------------------------------------------------------------------------


def test_a_refused_login(run, good, broker):
    result = run("replay", good, "--to", url(broker, "me:wrong@"), "--fast")
    assert result.status == 2
    assert "the login of 'me' was refused: 403" in result.err
    assert "wrong" not in result.err


def test_nobody_is_there(run, good):
    with socket.socket() as nobody:  # it has a port, and does not listen
        nobody.bind(("127.0.0.1", 0))
        target = f"amqp://127.0.0.1:{nobody.getsockname()[1]}/"
        result = run("replay", good, "--to", target, "--fast")
    assert result.status == 2
    assert "refused" in result.err
    assert result.out == "0 sent, 0 confirmed\n"


def test_a_missing_exchange_is_named(run, many, broker):
    result = run("replay", many, "--to", url(broker), "--fast", "--map", "orders=gone")
    assert result.status == 2
    assert "no such exchange: 'gone' (404 NOT_FOUND - no exchange 'gone'" in result.err
    assert "--declare" in result.err
    assert broker.publications == []
    assert result.out == ""


def test_unroutable_and_refused_messages_are_counted(run, many, broker):
    broker.unroutable, broker.nacks = {"k.3", "k.4"}, {"k.5"}
    result = run("replay", many, "--to", url(broker), "--fast")
    assert result.status == 1
    assert result.out == "100 sent, 99 confirmed, 2 unroutable, 1 nacked\n"
    assert "1 unroutable: exchange 'orders', key 'k.3'" in result.err


#: Messages that are not delivered: the frame of each, and how a replay counts it.
UNDELIVERED = {
    "damaged": (b"no frame", "not sent, as damaged"),
    "unsendable": (
        with_raw_headers(list_entry(b"CC", b"a") * 2),
        "not sent, as CC or BCC stands twice",
    ),
    "unroutable": (published("orders", "unroutable"), "unroutable"),
    "nacked": (published("orders", "nacked"), "nacked"),
    "refused": (published("orders", "refused"), "refused"),
    "unencodable": (published("orders", "key that --map makes too long"), "not sent, as damaged"),
}


def undelivered(tmp_path: Path, kinds: Iterable[str]) -> Path:
    """A table with a message of each of these kinds."""
    path = tmp_path / "undelivered.parquet"
    pq.write_table(pa.table({"frame": [UNDELIVERED[kind][0] for kind in kinds]}), path)
    return path


@pytest.mark.parametrize("kinds", list(itertools.combinations(UNDELIVERED, 2)), ids="-".join)
def test_one_message_of_each_of_two_kinds_is_status_1(run, tmp_path, broker, kinds):
    """The status adds the counts of all kinds: none is subtracted from another."""
    broker.unroutable, broker.nacks = {"unroutable"}, {"nacked"}
    broker.refusals = {"refused": (406, "no")}
    rules = ("--map", f"key:key that --map makes too long={'k' * 256}")
    common = ("--to", url(broker), "--fast", "--window", 1, *rules)
    result = run("replay", undelivered(tmp_path, kinds), *common)
    assert result.status == 1
    for text, count in Counter(UNDELIVERED[kind][1] for kind in kinds).items():
        assert f", {count} {text}" in result.out


def test_a_message_refused_before_and_a_damaged_one_are_status_1(run, tmp_path, broker):
    broker.refusals = {"refused": (406, "no")}
    table = undelivered(tmp_path, ["refused", "damaged"])
    words = ("--to", url(broker), "--fast", "--journal", tmp_path / "journal")
    assert run("replay", table, *words).status == 1
    broker.refusals = {}
    result = run("replay", table, *words)
    assert result.status == 1
    assert result.out == (
        "0 sent, 0 confirmed, 1 skipped, as refused before, 1 not sent, as damaged\n"
    )


def test_over_tls(run, good, tmp_path):
    """Only to whom the certificate is of, and only where it is trusted."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
            *("-keyout", key, "-out", certificate),
        ],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with brokers(context) as broker:
        trusted = f"amqps://localhost:{broker.port}/"
        result = run("replay", good, "--to", trusted, "--fast", "--cafile", certificate)
        assert (result.status, result.err) == (0, "")
        assert bodies(broker) == [b"first", b"\x00\xff\x1b[2J"]
        for target, more in (
            (trusted, ()),
            (trusted.replace("localhost", "127.0.0.1"), ("--cafile", certificate)),
        ):
            result = run("replay", good, "--to", target, "--fast", *more)
            assert result.status == 2
            assert "its certificate is not trusted" in result.err
    assert len(broker.publications) == 2


def test_tls_to_a_broker_without(run, good, broker):
    target = url(broker).replace("amqp:", "amqps:")
    assert run("replay", good, "--to", target, "--fast").status == 2
    assert broker.logins == []


def test_a_broker_that_speaks_something_else(run, good):
    """Bytes that are no AMQP are an error, and neither a hang nor a traceback."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            link, _ = listener.accept()
            link.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" + bytes(100))
            link.recv(100)
            link.close()

        threading.Thread(target=answer, daemon=True).start()
        target = f"amqp://127.0.0.1:{listener.getsockname()[1]}/"
        result = run("replay", good, "--to", target, "--fast")
    assert result.status == 2
    assert result.err.startswith("amqpcodec: 127.0.0.1:")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--to", "http://x"], "--to wants amqp://"),
        (["--to", "amqp://u:sesame@h:port/"], "cannot be read"),
        (["--to", "amqp://h/a/b"], "virtual host"),
        (["--to", "amqp://h", "--map", "x"], "no = in it"),
        (["--to", "amqp://h", "--map", "a=b*"], "more *"),
        (["--to", "amqp://h", "--map", "****=b"], "3 *"),
        (["--to", "amqp://h", "--rate", "0"], "messages a second"),
        (["--to", "amqp://h", "--rate", "-1"], "messages a second"),
        (["--to", "amqp://h", "--rate", "nan"], "messages a second"),
        (["--to", "amqp://h", "--rate", "soon"], "messages a second"),
        (["--to", "amqp://h", "--rate", "1", "--fast"], "not allowed with"),
        (["--to", "amqp://h", "--window", "0"], "1 to 999999"),
        (["--to", "amqp://h", "--where", "nothing == 1"], "no column"),
        ([], "--to"),
    ],
)
def test_wrong_usage(run, good, words, message):
    result = run("replay", good, *words)
    assert result.status == 2
    assert message in result.err
    assert "sesame" not in result.err


def test_a_broker_that_takes_nothing_for_a_while(run, many, broker):
    broker.block_after = 20
    result = run("replay", many, "--to", url(broker), "--fast", "--window", 5)
    assert (result.status, result.out) == (0, "100 sent, 100 confirmed\n")
    assert result.err == "amqpcodec: the broker takes nothing for now: low on \\x1bmemory\n"
    assert 20 <= broker.while_blocked <= 30, "no more than was under way"


def test_on_a_terminal_there_is_a_bar(many, broker):
    status, shown = on_terminal("replay", many, "--to", url(broker), "--rate", "150", columns=100)
    assert status == 0
    assert re.search(r"[1-9][0-9]* sent, [0-9]+ confirmed", shown)
    assert re.search(r"[0-9]/s", shown)
    assert shown.rstrip().endswith("100 sent, 100 confirmed")


# --- when -----------------------------------------------------------------------------------------


@pytest.fixture
def waits(monkeypatch):
    """(when a message was due, when it was sent) of each, in seconds after the first was due."""
    due_times, sent_times = [], []
    due, send = Pace.due, player.Player._send

    def note_due(self, timestamp, now):
        due_times.append(due(self, timestamp, now))
        return due_times[-1]

    def note_sent(self, *arguments):
        sent_times.append(time.monotonic())
        return send(self, *arguments)

    monkeypatch.setattr(Pace, "due", note_due)
    monkeypatch.setattr(player.Player, "_send", note_sent)
    return lambda: [
        (when - due_times[0], sent - due_times[0])
        for when, sent in zip(due_times, sent_times, strict=True)
    ]


def test_by_rate(run, many, broker, waits):
    assert run("replay", many, "--to", url(broker), "--rate", "200").status == 0
    assert [when for when, _ in waits()] == pytest.approx([n / 200 for n in range(100)])
    assert all(sent >= when for when, sent in waits())


def test_as_recorded(run, tmp_path, broker, waits):
    table = tmp_path / "times.parquet"
    times = pa.array([0, 300_000, 100_000, 500_000], pa.timestamp("us", "UTC"))
    columns = {"exchange": ["orders"] * 4, "routing_key": list("abcd"), "timestamp": times}
    pq.write_table(pa.table(columns), table)
    assert run("replay", table, "--to", url(broker)).status == 0
    assert [publication.method.routing_key for publication in broker.publications] == list("abcd")
    assert [when for when, _ in waits()] == pytest.approx([0, 0.3, 0.1, 0.5])
    assert all(sent >= when for when, sent in waits())


@pytest.mark.parametrize("rate", ["0.5", "1", "999999999"])
def test_a_rate_is_a_number_above_zero(run, good, rate):
    assert run("replay", good, "--to", "amqp://h", "--dry-run", "--rate", rate).status == 0


def test_pace_by_hand():
    recorded = Pace(None, False)
    assert [recorded.due(t, 10.0) for t in (5_000_000, 6_000_000, None)] == [10.0, 11.0, 10.0]
    rated = Pace(4.0, False)
    assert [rated.due(None, 1.0) for _ in range(3)] == [1.0, 1.25, 1.5]
    fast = Pace(None, True)
    assert [fast.due(0, now) for now in (1.0, 2.0)] == [1.0, 2.0]


# --- dry run --------------------------------------------------------------------------------------


def test_dry_run_sends_nothing(run, many, broker):
    result = run(
        *("replay", many, "--to", url(broker), "--dry-run", "--map", "orders=copy"),
        *("--where", "routing_key in (k.1, k.2)"),
    )
    assert result.status == 0
    assert broker.logins == []
    assert result.lines[1:3] == [
        "        1             1  'orders', 'k.1'  ->  'copy', 'k.1'",
        "        1             1  'orders', 'k.2'  ->  'copy', 'k.2'",
    ]
    assert result.lines[-1].startswith("        2             2  would be sent")


def test_dry_run_moves_no_cursor(run, tmp_path):
    table = tmp_path / "control.parquet"
    columns = {"exchange": ["orders"], "routing_key": ["\x1b[2J"]}
    pq.write_table(pa.table(columns), table)
    assert "\x1b" not in run("replay", table, "--to", "amqp://h", "--dry-run").out


# --- again ----------------------------------------------------------------------------------------


def test_a_broken_replay_goes_on(run, many, broker, tmp_path):
    journal = tmp_path / "journal"
    broker.die_after = 37
    common = ("replay", many, "--to", url(broker), "--fast", "--journal", journal, "--window", 10)
    first = run(*common)
    assert first.status == 2
    assert "goes on from here" in first.err
    confirmed = int(first.out.split(", ")[1].split()[0])
    assert 0 < confirmed <= 37
    assert len(broker.publications) == 37
    del broker.publications[:]
    second = run(*common)
    assert second.status == 0
    assert f"{confirmed} skipped, as confirmed before" in second.out
    assert bodies(broker) == [b"%d" % n for n in range(confirmed, 100)]
    del broker.publications[:]
    third = run(*common)
    assert third.out == "0 sent, 0 confirmed, 100 skipped, as confirmed before\n"
    assert broker.publications == []
    assert "100" in run(*common, "--dry-run").lines[-1]


def test_what_was_refused_is_tried_again(run, many, broker, tmp_path):
    common = ("replay", many, "--to", url(broker), "--fast", "--journal", tmp_path / "journal")
    broker.nacks = {"k.5", "k.6", "k.50"}
    assert run(*common).status == 1
    del broker.publications[:]
    broker.nacks = set()
    assert run(*common).status == 0
    assert bodies(broker) == [b"5", b"6", b"50"]


def test_a_journal_of_another_replay(run, many, good, broker, tmp_path):
    journal = tmp_path / "journal"
    common = ("--to", url(broker), "--fast", "--journal", journal)
    assert run("replay", many, *common).status == 0
    before = journal.read_bytes()
    other = (("--map", "a=b"), ("--where", "channel"), ("--since", "+1s"))
    for words in ((good, *common), *((many, *common, *more) for more in other)):
        result = run("replay", *words)
        assert result.status == 2
        assert "is of another replay" in result.err
    assert journal.read_bytes() == before
    assert b"guest" not in before
    result = run("replay", good, "--to", url(broker), "--fast", "--journal", good)
    assert result.status == 2, "a recording is not taken for a journal, and not written over"
    result = run("replay", "-", *common)
    assert result.status == 2


def test_a_journal_with_a_torn_line(tmp_path):
    path = tmp_path / "journal"
    with Journal(path, {"a": 1}) as journal:
        journal.confirm([0, 1, 2, 7])
    assert path.read_text().splitlines()[1:] == ["0-2", "7"]
    for torn in ("1", "12-", "3-40"):
        with open(path, "a") as file:
            file.write(torn)
        with Journal(path, {"a": 1}) as journal:
            assert [n for n in range(50) if n in journal.confirmed] == [0, 1, 2, 7]
            with pytest.raises(UsageError, match="another replay is using"):
                Journal(path, {"a": 1})
    with Journal(path, {"a": 1}) as journal:
        journal.confirm([3])
    assert path.read_text().splitlines()[1:] == ["0-2", "7", "3"]
    for damage in ("x", "5-3", "-3", "", "9" * 5000):
        path.write_text(path.read_text() + damage + "\n")
        with pytest.raises(UsageError, match="line 5 is damaged"):
            Journal(path, {"a": 1})
        path.write_text("\n".join(path.read_text().splitlines()[:4]) + "\n")


def test_numbers_that_are_done():
    numbers, expected = NumberRanges(), set()
    added = (5, 9), (0, 2), (20, 20), (3, 3), (8, 12), (12, 14), (4, 4), (0, 30), (40, 41)
    for first, last in added:
        numbers.add(first, last)
        expected.update(range(first, last + 1))
        assert {n for n in range(60) if n in numbers} == expected
        assert len(numbers) == len(expected)
    numbers.add(10**15, 10**18)  # what a damaged journal claims
    assert 10**16 in numbers
    assert 42 not in numbers
    assert len(numbers) == len(expected) + 10**18 - 10**15 + 1


# --- pieces ---------------------------------------------------------------------------------------


def test_mapping_by_hand():
    mapping = Mapping(["=default", "a=b", "exchange:x.*.y*=*-*", "key:a:b=c:d", "key:*=all"])
    assert [mapping.exchange(name) for name in ("", "a", "x.1.y2", "x.y", "aa")] == [
        *("default", "b", "1-2", "x.y", "aa"),
    ]
    assert [mapping.key(name) for name in ("a:b", "a", "")] == ["c:d", "all", "all"]
    assert Mapping([]).key("k") == "k"


def test_a_name_that_nearly_fits_a_pattern():  # patterns have three * at most, names 255 bytes
    assert Mapping(["key:*a*a*b=x"]).key("a" * 255) == "a" * 255


def test_targets(monkeypatch):
    target = Target.of("amqp://me:p%40ss@Host:123/v%2Fh")
    assert (target.host, target.port, target.virtual_host) == ("host", 123, "v/h")
    assert (target.username, target.password, target.tls) == ("me", "p@ss", False)
    assert "p@ss" not in repr(target) + str(target)
    monkeypatch.setenv("AMQPCODEC_PASSWORD", "50%25/é@:")
    assert Target.of("amqp://me@h").password == "50%25/é@:", "it is no part of a URL"
    assert Target.of("amqp://me:@h").password == ""
    for wrong in ("amqp://%ff@h", "amqp://u:%ff@h", "amqp://h/%ff", "amqp://\udcff@h"):
        with pytest.raises(UsageError, match="are UTF-8"):
            Target.of(wrong)
    monkeypatch.setenv("AMQPCODEC_PASSWORD", "secret\udcff")
    with pytest.raises(UsageError, match="are UTF-8") as raised:
        Target.of("amqp://me@h")
    assert "secret" not in str(raised.value)
    monkeypatch.delenv("AMQPCODEC_PASSWORD")
    secure = Target.of("amqps://h")
    assert (secure.port, secure.virtual_host, secure.tls) == (5671, "/", True)
    assert Target.of("amqp://[::1]:5/").addresses() == {"[::1]:5"}


def test_help_tells_of_maps(run):
    text = run("replay", "--help").out
    assert "key:eu.*=staging.eu.*" in text
    assert "--journal" in text
    assert "{" not in text
