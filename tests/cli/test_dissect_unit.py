"""amqpcodec dissect: what comes out, in each form, and what is said of bad input."""

from __future__ import annotations

import base64
import gzip
import io
import json
from pathlib import Path

import pytest

from amqpcodec import capture
from amqpcodec import v0_9_1 as amqp
from amqpcodec.cli.main import main
from tests.cli.conftest import BAD, TALK
from tests.support import recording as builder

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("rich")

KINDS = [
    *("protocol-header", "connection.tune", "connection.tune-ok", "channel.open"),
    *("basic.publish", "header", "body", "basic.publish", "header", "body"),
    *("basic.ack", "heartbeat"),
]


def objects(result) -> list[dict]:
    return [json.loads(line) for line in result.lines]


def kinds(rows: list[dict]) -> list[str]:
    return [row["method"] or row["frame_type"] for row in rows]


# --- JSON Lines -----------------------------------------------------------------------------------


def test_json_holds_every_frame_and_column(run, good):
    result = run("dissect", good, "--format", "json")
    assert result.status == 0
    assert result.err == ""
    rows = objects(result)
    assert kinds(rows) == KINDS
    sent = {"client": b"", "server": b""}
    for row in rows:
        sent[row["direction"]] += base64.b64decode(row["frame"])
    for who, octets in sent.items():
        assert octets == b"".join(data for sender, data in TALK if sender == who)
    publish = rows[4]
    assert publish["arguments"]["exchange"] == "orders"
    assert publish["src"] == "10.0.0.1:40000"
    assert publish["timestamp"] == "2023-11-14T22:13:20.129456Z"
    header = rows[5]["properties"]
    assert header == {"content_type": "text/plain", "headers": {"n": 5, "who": "eve"}}
    assert {"file", "connection", "packet_offset", "position", "flags"} <= publish.keys()


def test_several_workers_show_the_same(run, good, bad):
    for path in (good, bad):
        one = run("dissect", path, "--format", "json")
        assert run("dissect", path, "--format", "json", "--workers", "3") == one
    assert "there is at least one" in run("dissect", good, "--workers", "0").err


def test_fields_are_columns_in_order(run, good):
    result = run("dissect", good, "--format", "json", "--fields", "payload, channel,method")
    assert [list(row) for row in objects(result)] == [["payload", "channel", "method"]] * 12
    assert objects(result)[6] == {"payload": "Zmlyc3Q=", "channel": 1, "method": None}


def test_where_chooses_rows(run, good):
    fields = ("--format", "json", "--fields", "method,channel")
    result = run("dissect", good, *fields, "--where", "method == basic.publish and channel > 1")
    assert result.lines == ['{"method":"basic.publish","channel":2}']
    result = run("dissect", good, *fields, "--where", "arguments.routing_key ~ ^eu")
    assert result.lines == ['{"method":"basic.publish","channel":1}']
    result = run("dissect", good, *fields, "--where", "headers.n == 5 or direction == server")
    assert [row["channel"] for row in objects(result)] == [0, 1, 2, 1]


def test_nothing_fits(run, good):
    result = run("dissect", good, "--format", "json", "--where", "error")
    assert result == (0, "", "")


# --- the table ------------------------------------------------------------------------------------


def test_table_in_a_pipe_is_plain_and_whole(run, good):
    result = run("dissect", good)
    assert result.status == 0
    assert "\x1b" not in result.out
    head, *rows = result.lines
    assert head.split() == ["n", "time", "conn", "from", "ch", "kind", "size", "details"]
    assert [row.split()[6] for row in rows] == KINDS
    assert '{"exchange":"orders","routing_key":"eu.de","mandatory":false' in rows[4]
    assert 'content_type=text/plain headers={"n":5,"who":"eve"}' in rows[5]
    assert rows[5].split()[7] == "5"
    assert rows[6].endswith("first")
    assert rows[9].endswith("0x00ff1b5b324a")
    starts = {row.index(kind) for row, kind in zip(rows, KINDS, strict=True)}
    assert len(starts) == 1


def test_table_of_chosen_columns(run, good):
    result = run("dissect", good, "--fields", "channel,arguments", "--where", "channel == 2")
    assert result.lines[0].split() == ["channel", "arguments"]
    assert result.lines[1].split(maxsplit=1)[1].startswith('{"exchange":"orders"')
    assert len(result.lines) == 4


def test_table_of_several_files_says_which(run, good, bad):
    """In the order of their first packets, as capture.read has it; here of their names."""
    result = run("dissect", good, bad, "--where", "channel == 2")
    assert [line.split()[0] for line in result.lines] == ["file", *[str(bad)] * 3, *[str(good)] * 3]


def test_error_stands_in_its_row(run, bad):
    result = run("dissect", bad)
    assert result.status == 1
    assert "! basic.deliver.consumer_tag" in result.lines[5]
    assert result.err == f"amqpcodec: {bad}: 13 rows read, 1 with an error\n"


# --- Parquet --------------------------------------------------------------------------------------


def test_parquet_holds_what_json_says(run, good, tmp_path):
    out = tmp_path / "out.parquet"
    assert run("dissect", good, "-o", out) == (0, "", "")
    table = pq.read_table(out)
    rows = objects(run("dissect", good, "--format", "json"))
    assert table.column_names == list(rows[0])
    assert table.num_rows == 12
    assert [base64.b64encode(value.as_py()).decode() for value in table["frame"]] == [
        row["frame"] for row in rows
    ]
    assert table.schema.field("timestamp").type == pa.timestamp("us", "UTC")


def test_parquet_through_a_pipe(good, tmp_path):
    from tests.cli.conftest import started

    process = started("dissect", good, "--format", "parquet", "--fields", "method", stdout=-1)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert pq.read_table(io.BytesIO(out)).column("method").null_count == 6


def test_parquet_without_a_row_has_its_columns(run, good, tmp_path):
    out = tmp_path / "out.pq"
    assert run("dissect", good, "-o", out, "--where", "error").status == 0
    table = pq.read_table(out)
    assert table.num_rows == 0
    assert "frame" in table.column_names


@pytest.mark.parametrize(
    ("name", "start"),
    [("x.jsonl", b"{"), ("x.ndjson", b"{"), ("x.csv", b"file,"), ("x", b" n  time")],
)
def test_name_of_the_output_says_the_form(run, good, tmp_path, name, start):
    out = tmp_path / name
    assert run("dissect", good, "-o", out) == (0, "", "")
    assert out.read_bytes().startswith(start)
    assert out.read_bytes().endswith(b"\n")


def test_form_asked_for_wins(run, good, tmp_path):
    out = tmp_path / "x.parquet"
    assert run("dissect", good, "-o", out, "--format", "json").status == 0
    assert out.read_bytes().startswith(b"{")


# --- bad input ------------------------------------------------------------------------------------


def test_bad_frame_is_a_row_and_a_status(run, bad):
    result = run("dissect", bad, "--format", "json")
    assert result.status == 1
    wrong = [row for row in objects(result) if row["error"]]
    assert [base64.b64decode(row["frame"]) for row in wrong] == [BAD]
    assert "1 with an error" in result.err


def test_bad_frame_is_told_of_where_nobody_asks(run, bad):
    """By the columns, or by the rows."""
    result = run("dissect", bad, "--format", "json", "--fields", "channel")
    assert (result.status, len(result.lines)) == (1, 13)
    result = run("dissect", bad, "--format", "json", "--where", "channel == 2")
    assert (result.status, len(result.lines)) == (1, 3)
    assert result.err == f"amqpcodec: {bad}: 13 rows read, 1 with an error\n"


def test_lost_octets_are_a_row(run, good):
    """The packet with both messages was not captured."""
    from tests.support import recording as builder

    path = good.with_name("gap.pcap")
    sent = builder.dialogue(TALK)
    path.write_bytes(builder.pcap([*sent[:6], *sent[7:]]))
    result = run("dissect", path, "--format", "json", "--where", "flags == gap")
    assert result.status == 1
    (lost,) = (row for row in objects(result) if row["error"])
    assert lost["direction"] == "client"
    assert str(len(TALK[4][1])) in lost["error"]
    row_kinds = kinds(objects(run("dissect", path, "--format", "json", "--where", "not error")))
    assert sorted(row_kinds) == sorted([*KINDS[:4], "basic.ack", "heartbeat"])


def test_cut_file_shows_what_came_before(run, truncated_file):
    result = run("dissect", truncated_file, "--format", "json")
    assert result.status == 1
    assert kinds(objects(result)) == KINDS[:-1]
    assert "cut.pcap" in result.err
    assert result.err.count("\n") == 1


def test_cut_gzip_shows_what_came_before(run, good):
    path = good.with_name("cut.pcap.gz")
    path.write_bytes(gzip.compress(good.read_bytes(), mtime=0)[:-12])
    result = run("dissect", path, "--format", "json")
    assert result.status == 1
    assert kinds(objects(result)) == KINDS[: len(result.lines)]
    assert "cut.pcap.gz" in result.err


def test_what_a_packed_file_becomes_is_bounded(run, good):
    path = good.with_name("large.pcap.gz")
    path.write_bytes(gzip.compress(good.read_bytes()))
    message = "larger than --max-decompressed-bytes 700 allows, after byte"
    result = run("dissect", path, "--format", "json", "--max-decompressed-bytes", 700)
    assert result.status == 1
    assert kinds(objects(result)) == KINDS[: len(result.lines)]
    assert 0 < len(result.lines) < len(KINDS)
    assert message in result.err
    assert result.err.count("\n") == 1
    for command in ("stats", "connections"):
        result = run(command, path, "--max-decompressed-bytes", 700)
        assert (result.status, message in result.err) == (1, True)
        assert (
            run(command, path, "--max-compression-ratio", 0, "--max-decompressed-bytes", 0).status
            == 0
        )
    assert run("dissect", path, "--max-compression-ratio", "-1").status == 2


def test_parquet_of_a_cut_file_can_be_read(run, truncated_file, tmp_path):
    out = tmp_path / "out.parquet"
    assert run("dissect", truncated_file, "-o", out).status == 1
    assert pq.read_table(out).num_rows == 11


def test_unreadable_files_do_not_keep_others_from_being_read(run, good, tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("no recording at all, but long enough to be one of them")
    missing = tmp_path / "missing.pcap"
    for files in ((text, missing, good), (missing, tmp_path), (tmp_path, missing, good)):
        result = run("dissect", *files, "--format", "json")
        assert result.status == 2
        assert kinds(objects(result)) == KINDS
        messages = sorted(result.err.splitlines())
        assert len(messages) == 2
        assert messages[0] == f"amqpcodec: {missing}: No such file or directory"
        assert str(text) in messages[1]


def test_empty_file_has_no_rows_and_is_told_of(run, tmp_path):
    path = tmp_path / "empty.pcap"
    path.touch()
    result = run("dissect", path)
    assert (result.status, result.out) == (1, "")
    assert "empty.pcap: no frame of AMQP (no packet was recorded)" in result.err
    assert len(run("errors", path).err.splitlines()) == 1  # and not that nothing went wrong


def test_a_filter_that_leaves_nothing_says_so(run, good):
    result = run("dissect", good, "--where", "method == basic.delivr")
    assert (result.status, result.out) == (0, "")
    assert "none of 12 rows is shown: --where or the time leaves none" in result.err
    assert run("dissect", good, "--where", "channel == 99", "--format", "json").err == ""


def test_files_may_be_uris(run, good):
    assert kinds(objects(run("dissect", good.as_uri(), "--format", "json"))) == KINDS
    result = run("connections", good.as_uri(), "--format", "json", "--fields", "published")
    assert json.loads(result.out) == {"published": 2}


# --- wrong use ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "FILE"),
        (("F", "--level", "packet"), "--level"),
        (("F", "--format", "xml"), "--format"),
        (("F", "--ports", "0"), "a port is a number from 1 to 65535"),
        (("F", "--ports", "5672,x"), "a port is a number from 1 to 65535"),
        (("F", "--fields", "channel,,method"), "a name is missing"),
        (("F", "--fields", "channel,channel"), "twice"),
        (("F", "--where", "channel =="), "a value is expected, not the end (character 11)"),
        (("F", "--where", "chanel == 1"), "chanel"),
        (("F", "--where", "channel == one"), "'one'"),
        (("F", "--fields", "chanel"), "chanel"),
        (("F", "-o", "F"), "is a file that this command reads"),
        (("F", "-o", "nowhere/x.json"), "nowhere/x.json: No such file or directory"),
    ],
)
def test_wrong_use(run, good, monkeypatch, arguments, text):
    monkeypatch.chdir(good.parent)
    before = good.read_bytes()
    result = run("dissect", *(good.name if word == "F" else word for word in arguments))
    assert result.status == 2
    assert result.out == ""
    assert text in result.err
    assert "Traceback" not in result.err
    assert good.read_bytes() == before
    assert {path.name for path in good.parent.iterdir()} == {good.name}


def test_no_command(run):
    assert run().status == 2


def test_help_and_version(run):
    for arguments in (["--help"], ["dissect", "--help"], ["stats", "--help"]):
        result = run(*arguments)
        assert result.status == 0
        assert "exit status" in result.out
    assert "arguments.exchange == orders" in run("dissect", "--help").out
    assert run("--version").out.startswith("amqpcodec ")


def test_missing_extra_is_named(run, good, monkeypatch):
    import builtins

    real = builtins.__import__

    def without(name, *arguments, **more):
        if name == "rich":
            raise ImportError("No module named 'rich'", name="rich")
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    result = run("dissect", good)
    assert (result.status, result.out) == (2, "")
    assert result.err == 'amqpcodec: rich is needed: pip install "amqpcodec[cli]"\n'


# --- credentials and ports ------------------------------------------------------------------------


@pytest.fixture
def login(tmp_path) -> Path:
    from tests.support import recording as builder

    start = amqp.Connection.StartOk(mechanism="PLAIN", response=b"\0guest\0s3cret", locale="en_US")
    path = tmp_path / "login.pcap"
    path.write_bytes(builder.pcap(builder.dialogue([TALK[0], ("client", amqp.encode(0, start))])))
    return path


def test_credentials_are_hidden_unless_asked_for(run, login):
    hidden = run("dissect", login, "--format", "json")
    shown = run("dissect", login, "--format", "json", "--show-secrets")
    assert "s3cret" in shown.out
    assert "s3cret" not in hidden.out
    for row in objects(hidden):
        assert b"s3cret" not in base64.b64decode(row["frame"])


def test_other_ports(run, good):
    result = run("dissect", good, "--ports", "5673", "--format", "json")
    assert (result.status, result.out) == (1, "")
    assert "; a protocol header was sent to 5672: --ports 5672)" in result.err
    assert len(run("dissect", good, "--ports", "5673,5672", "--format", "json").lines) == 12


# --- messages -------------------------------------------------------------------------------------


def reads_messages() -> bool:
    try:
        capture.schema("message")
    except ValueError:
        return False
    return True


messages = pytest.mark.skipif(not reads_messages(), reason="captures have no message level yet")


@messages
def test_messages(run, good):
    result = run("dissect", good, "--level", "message", "--format", "json")
    assert result.status == 0
    publications = [row for row in objects(result) if row["method"] == "basic.publish"]
    assert [(row["exchange"], row["routing_key"]) for row in publications] == [
        ("orders", "eu.de"),
        ("orders", "us"),
    ]
    assert [base64.b64decode(row["body"]) for row in publications] == [b"first", b"\x00\xff\x1b[2J"]


@messages
def test_message_table(run, good):
    result = run("dissect", good, "--level", "message", "--where", "exchange == orders")
    assert result.lines[0].split()[-5:] == ["method", "exchange", "routing_key", "size", "details"]
    assert [line.split()[5:9] for line in result.lines[1:]] == [
        ["basic.publish", "orders", "eu.de", "5"],
        ["basic.publish", "orders", "us", "6"],
    ]


def test_main_is_the_module(monkeypatch):
    import amqpcodec.__main__ as module

    assert module.main is main


@pytest.fixture
def numbered(tmp_path: Path) -> Path:
    """Messages c, a, b with the header n of 10, 9 and 100, and other kinds of t."""
    stream = amqp.PROTOCOL_HEADER
    for name, n, t in (("c", 10, {"a": 2}), ("a", 9, "x"), ("b", 100, {"a": 1})):
        properties = amqp.Basic.Properties(message_id=name, headers={"n": n, "t": t})
        stream += amqp.encode_message(1, amqp.Basic.Publish("x", "k"), properties, b"")
    path = tmp_path / "numbered.pcap"
    path.write_bytes(builder.pcap(builder.dialogue([("client", stream)])))
    return path


@pytest.mark.parametrize(
    ("key", "order"),
    [
        ("headers.n", "acb"),
        ("-headers.n", "bca"),
        ("headers.n:long", "acb"),
        ("headers.n:string", "cab"),  # none is a text: in the order of the recording
        ("properties.headers.n", "acb"),
        ("properties.headers.t.a", "bca"),
        ("properties.message_id", "abc"),
        ("headers.nix", "cab"),
    ],
)
def test_headers_that_are_numbers_are_sorted_as_numbers(run, numbered, key: str, order) -> None:
    fields = ("--level", "message", "--format", "json", "--fields", "properties.message_id")
    result = run("dissect", numbered, *fields, "--sort", key)
    assert result.status == 0
    assert "".join(row["properties.message_id"] for row in objects(result)) == order


def test_a_part_that_some_rows_lack_is_null_there(run, good, numbered) -> None:
    """The arguments of other methods, and what is in no row at all."""
    fields = ("--format", "json", "--fields", "kind,arguments.heartbeat,arguments.nix")
    rows = objects(run("dissect", good, *fields))
    assert {(row["kind"], row["arguments.heartbeat"]) for row in rows} >= {
        *(("connection.tune", 60), ("connection.tune-ok", 60), ("channel.open", None)),
        *(("basic.ack", None), ("heartbeat", None)),
    }
    assert {row["arguments.nix"] for row in rows} == {None}
    fields = ("--level", "message", "--format", "json", "--fields", "properties.headers.t.a")
    rows = objects(run("dissect", numbered, *fields))
    assert [row["properties.headers.t.a"] for row in rows] == [2, None, 1]
