"""Text of the wire and names of files that terminals, pages and spreadsheets would obey."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
from pathlib import Path

import pytest

from amqpcodec import v0_9_1 as amqp
from tests.cli.conftest import TALK
from tests.support import recording as builder

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("rich")

from amqpcodec._facade.escaping import escaped, escaped_json  # noqa: E402
from amqpcodec.cli.delimited import harmless  # noqa: E402

#: ESC, CSI of C1, right-to-left override, isolates, separators, zero width, BOM, soft hyphen, tags.
HOSTILE = "\x1b[31m\x9b31m\u202e\u2066\u2028\u2029\u200b\u200d\ufeff\xad\u061c\U000e0041\x7f"
#: Characters that must not be in any output, ends of lines and tabs apart.
OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
COMMANDS = [
    ("dissect",),
    ("dissect", "--level", "message"),
    ("dissect", "--fields", "file,n,arguments,properties.headers.who,payload"),
    ("stats",),
    *((name,) for name in ("connections", "topology", "messages", "latency", "errors", "unacked")),
    ("top",),
    *(("show", str(number)) for number in range(1, 12)),
]


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A recording that has such text wherever a peer chooses text."""
    text = HOSTILE
    start = amqp.Connection.Start(
        server_properties={"product": text, text: text}, mechanisms=b"PLAIN", locales=b"en_US"
    )
    start_ok = amqp.Connection.StartOk(
        client_properties={"product": text, "connection_name": text},
        mechanism="PLAIN",
        response=f"\0{text}\0secret".encode(),
        locale=text,
    )
    properties = amqp.Basic.Properties(
        message_id=text, correlation_id=text, headers={"who": text, text: [text]}, type=text
    )
    method = amqp.Basic.Publish(exchange=text, routing_key=text)
    deliver = amqp.Basic.Deliver(text, 1, False, text, text)
    talk = [
        TALK[0],
        ("server", amqp.encode(0, start)),
        ("client", amqp.encode(0, start_ok)),
        ("client", amqp.encode(0, amqp.Connection.Open(virtual_host=text))),
        ("client", amqp.encode(1, amqp.Queue.Declare(queue=text))),
        ("client", amqp.encode(1, amqp.Basic.Consume(queue=text, consumer_tag=text))),
        ("client", amqp.encode_message(1, method, properties, text.encode())),
        ("server", amqp.encode_message(1, deliver, properties, text.encode())),
        ("server", amqp.encode(1, amqp.Channel.Close(404, text, 60, 40))),
        ("server", amqp.encode(0, amqp.Connection.Close(320, text))),
    ]
    path = tmp_path / "hostile.pcap"
    path.write_bytes(builder.pcap(builder.dialogue(talk)))
    return path


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_no_output_moves_a_cursor(run, hostile, command, form):
    if command[0] == "stats" and form == "csv":
        pytest.skip("stats has no CSV")
    result = run(*command, hostile, "--format", form)
    assert result.status in (0, 1)
    assert result.out or command[0] in ("latency", "topology", "unacked")
    assert not OBEYED.search(result.out + result.err)


def test_json_means_the_same(run, hostile):
    rows = [
        json.loads(line)
        for line in run("dissect", hostile, "--level", "message", "--format", "json").lines
    ]
    [publish] = [row for row in rows if row["method"] == "basic.publish"]
    assert publish["routing_key"] == HOSTILE
    assert publish["properties"]["headers"] == {"who": HOSTILE, HOSTILE: [HOSTILE]}


def test_names_of_columns_move_none(run, good):
    result = run("dissect", good, "--fields", f"n,headers.{HOSTILE}")
    assert not OBEYED.search(result.out + result.err)
    for words in (["--where", f"{HOSTILE} == 1"], ["--sort", HOSTILE], ["--fields", HOSTILE]):
        result = run("dissect", good, *words)
        assert result.status == 2
        assert not OBEYED.search(result.err)


def test_a_page_shows_it_escaped(run, hostile, tmp_path):
    pytest.importorskip("bokeh")
    out = tmp_path / "page.html"
    assert run("report", hostile, "-o", out).status in (0, 1)
    text = out.read_text()
    body = text[text.rindex("<body") :]
    for character in set(HOSTILE) - set("[31m"):
        assert character not in re.sub(r"<script.*?</script>", "", body, flags=re.DOTALL)
    assert "\\u202e" in body


def test_the_plan_of_a_replay(run, hostile):
    result = run("replay", hostile, "--to", "amqp://host.invalid/", "--dry-run", "--declare")
    assert result.status == 0
    assert not OBEYED.search(result.out + result.err)
    assert "\\u202e" in result.out.replace("\\\\", "\\")


def test_characters_by_hand():
    assert escaped("a\tb\x1b") == "a\\tb\\x1b"
    assert escaped("\udcff\u202eé") == "\\udcff\\u202eé"
    assert escaped("plain 文字 🙂") == "plain 文字 🙂"
    for character in HOSTILE:
        text = json.dumps(f"a{character}", ensure_ascii=False)
        assert json.loads(escaped_json(text)) == f"a{character}"
        assert not OBEYED.search(escaped_json(text))
    assert escaped_json('{"a":\n"é"}') == '{"a":\n"é"}'


# --- CSV ------------------------------------------------------------------------------------------

FORMULAS = [
    *('=HYPERLINK("http://x","y")', "+1+1", "-2-3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1"),
    *("-", "+", "=", "-1,5", "+a", "- 1"),
]
NUMBERS = ["-5", "+5", "-1.5", "-.5", "+1e-3", "-0"]


def keyed(tmp_path: Path, keys: list[str]) -> Path:
    talk = [*TALK[:4]]
    for key in keys:
        method = amqp.Basic.Publish(routing_key=key)
        properties = amqp.Basic.Properties(headers={"n": -7, "t": key})
        talk.append(("client", amqp.encode_message(1, method, properties, key.encode())))
    path = tmp_path / "keys.pcap"
    path.write_bytes(builder.pcap(builder.dialogue(talk)))
    return path


def csv_rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("level", ["frame", "message"])
def test_formulas_are_text_and_numbers_stay_numbers(run, tmp_path, level):
    keys = [*FORMULAS, *NUMBERS, "a=b", HOSTILE]
    path = keyed(tmp_path, keys)
    name = "arguments.routing_key" if level == "frame" else "routing_key"
    fields = f"{name},headers.n,headers.t,channel"
    words = ("--level", level, "--fields", fields, "--where", "method == basic.publish")
    rows = csv_rows(run("dissect", path, *words, "--format", "csv").out)
    shown = [row[name] for row in rows]
    assert shown[: len(FORMULAS)] == [f"'{text}" for text in FORMULAS]
    assert shown[len(FORMULAS) :] == [*NUMBERS, "a=b", escaped(HOSTILE)]
    if level == "message":
        assert {row["headers.n"] for row in rows} == {"-7"}
        texts = [json.loads(row["headers.t"]) for row in rows[:-1]]  # a header is JSON
        assert texts == keys[:-1]


def test_csv_raw_is_what_was_sent(run, tmp_path):
    keys = [*FORMULAS, *NUMBERS, HOSTILE]
    path, out = keyed(tmp_path, keys), tmp_path / "raw.csv"
    words = ("--level", "message", "--fields", "routing_key", "--where", "routing_key")
    assert run("dissect", path, *words, "-o", out, "--csv-raw").status == 0
    rows = csv_rows(out.read_bytes().decode())
    assert [row["routing_key"] for row in rows] == keys
    for command in ("topology", "messages", "show"):
        words = (1, path) if command == "show" else (path,)
        assert run(command, *words, "--format", "csv", "--csv-raw").status == 0


@pytest.mark.parametrize("text", ["", "a", "5", "a\nb", "a\tb", "'=1"])
def test_harmless_text_stays_as_it_is(text):
    assert harmless(text) == text


# --- names of files -------------------------------------------------------------------------------

NAME = b"cap\xff\x1b[31m\xe2\x80\xae.pcap"


@pytest.fixture
def odd_name(good: Path) -> Path:
    """A recording whose name is not UTF-8, and moves a cursor."""
    path = good.with_name(os.fsdecode(NAME))
    try:
        good.rename(path)
    except OSError:
        pytest.skip("this file system takes UTF-8 alone")
    return path


@pytest.mark.parametrize("command", [*COMMANDS[:11], ("show", "3")], ids=" ".join)
@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_names_that_are_not_utf_8(run, odd_name, command, form):
    if command[0] == "stats" and form == "csv":
        pytest.skip("stats has no CSV")
    result = run(*command, odd_name, odd_name.with_name("missing\udcfe\x1b"), "--format", form)
    if command[0] != "show":  # which ends with the frame
        assert result.status == 2
        assert "missing\\udcfe\\x1b" in result.err
    assert not OBEYED.search(result.out + result.err)
    if form == "json":
        names = {json.loads(line).get("file") for line in result.lines} - {None}
        escaped_name = str(odd_name.with_name("cap\\udcff\x1b[31m\u202e.pcap"))
        assert names <= {escaped_name, f"{escaped_name} and 1 more"}


def test_two_names_that_are_not_utf_8_differ(run, odd_name):
    other = odd_name.with_name(os.fsdecode(NAME.replace(b"\xff", b"\xfe")))
    other.write_bytes(odd_name.read_bytes())
    rows = run(
        "dissect", odd_name, other, "--files", "separate", "--fields", "file", "--format", "json"
    )
    assert len({json.loads(line)["file"] for line in rows.lines}) == 2
    table = odd_name.with_name("names.parquet")
    words = ("--files", "separate", "--fields", "file", "-o", table)
    assert run("dissect", odd_name, other, *words).status == 0
    assert len(set(pq.read_table(table).column("file").to_pylist())) == 2


def test_closes_are_counted_whatever_the_name(run, odd_name):
    close = ("client", amqp.encode(0, amqp.Connection.Close(320, "x")))
    odd_name.write_bytes(builder.pcap(builder.dialogue([*TALK, close])))
    result = run("stats", odd_name, "--format", "json")
    assert json.loads(result.out)["closes"] == {"connection.close 320": 1}


def test_a_page_of_such_names(run, odd_name, tmp_path):
    pytest.importorskip("bokeh")
    out = tmp_path / "page.html"
    other = odd_name.with_name("other.pcap")
    other.write_bytes(odd_name.read_bytes())
    assert run("report", odd_name, other, "--files", "separate", "-o", out).status == 0
    text = out.read_text("utf-8")
    assert "cap\\udcff\\x1b[31m\\u202e.pcap" in text
    assert not re.search("\x1b|\u202e", text[text.rindex("<body") :])


def test_outputs_of_such_names(run, good, tmp_path):
    for ending in ("json", "csv", "parquet", "txt"):
        out = tmp_path / os.fsdecode(b"out\xff." + ending.encode())
        assert run("dissect", good, "-o", out).status == 0
        assert out.stat().st_size > 0


@pytest.mark.parametrize(
    "words",
    [
        ["dissect", "{}"],
        ["dissect", "x.pcap", "--keylog", "{}"],
        ["dissect", "x.pcap", "--ports", "{}"],
        ["show", "{}", "x.pcap"],
        ["report", "x.pcap", "-o", "{}"],
        ["fields", "{}"],
        ["{}"],
        ["replay", "x.pcap", "--to", "amqp://h", "--map", "{}"],
        ["replay", "{}", "--to", "amqp://h", "--journal", "j"],
        ["replay", "x.pcap", "--to", "amqp://h", "--dry-run", "--journal", "{}"],
    ],
)
def test_errors_move_no_cursor(run, tmp_path, monkeypatch, good, words):
    monkeypatch.chdir(tmp_path)
    good.rename("x.pcap")
    Path(HOSTILE).write_text("nothing")
    result = run(*(word.replace("{}", HOSTILE) for word in words))
    assert result.status == (0 if "--keylog" in words else 2)
    assert "\\x1b[31m" in result.err
    assert not OBEYED.search(result.err)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of POSIX")
def test_progress_moves_none(odd_name, tmp_path):
    from tests.cli.test_terminal_unit import on_terminal

    markup = odd_name.with_name("[red]\u202e\x9b.pcap")
    odd_name.rename(markup)
    status, shown = on_terminal("dissect", markup, "-o", tmp_path / "x.json", columns=100)
    assert status == 0
    assert "\u202e" not in shown
    assert "\x9b" not in shown
