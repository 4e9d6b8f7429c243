"""amqpcodec show: one frame, part by part."""

from __future__ import annotations

import json
import random
import re

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("rich")

import pyarrow as pa

from amqpcodec import capture, v0_8, v0_9_1, v1_0
from amqpcodec.cli.show import amqp0, amqp1
from amqpcodec.cli.show.command import dissect_frame
from tests.cli.test_terminal_unit import ESCAPE, on_terminal
from tests.paths import shared_dir


def parts(run, *arguments: object) -> dict[str, dict]:
    result = run("show", *arguments, "--format", "json")
    assert result.status == 0
    unread = r"(amqpcodec: .*: not read to the end \(frame .* was reached\)\n)?"
    assert re.fullmatch(unread, result.err)
    return {row["name"]: row for row in map(json.loads, result.lines)}


def test_method(run, good):
    fields = parts(run, 5, good)
    texts = {name: (row["offset"], row["length"], row["text"]) for name, row in fields.items()}
    assert texts["type"] == (0, 1, "1")
    assert texts["class_id"] == (7, 2, "60")
    assert fields["method_id"]["note"] == "basic.publish"
    assert texts["exchange"] == (13, 7, "orders")
    assert texts["routing_key"] == (20, 6, "eu.de")
    assert texts["mandatory"] == (26, 1, "false")
    assert texts["frame_end"] == (27, 1, "0xce")


def test_content_header(run, good):
    fields = parts(run, 6, good)
    assert fields["property_flags"]["note"] == "content_type headers"
    assert (fields["headers"]["type"], fields["headers"]["text"]) == ("table", "2 entries")
    assert (fields["n"]["type"], fields["n"]["text"]) == ("I int32", "5")
    assert fields["who"]["depth"] == fields["headers"]["depth"] + 1
    assert fields["body_size"]["text"] == "5"


def test_tree_and_bytes_in_a_pipe(run, good):
    result = run("show", 5, good)
    assert result.status == 0
    assert result.lines[0] == "basic.publish  channel 1, 28 bytes, from the client"
    assert "\x1b" not in result.out
    assert any(line.startswith("000d+7") and "exchange: orders" in line for line in result.lines)
    assert result.lines[-1].startswith("0010  ")
    assert result.lines[-1].endswith(".eu.de..")


@pytest.mark.parametrize("columns", [80, 160])
def test_on_a_terminal(good, columns):
    status, got = on_terminal("show", 5, good, columns=columns)
    assert status == 0
    lines = [ESCAPE.sub("", line) for line in got.splitlines()]
    lines = [line for line in lines if "amqpcodec: " not in line]  # of stderr
    assert max(map(len, lines)) <= columns
    (exchange,) = (line for line in lines if "exchange: orders" in line)
    assert "00 3c 00" in "".join(lines)
    # Beside each other where there is room.
    beside = [line for line in lines if line.startswith("0000+1") and "01 00 01" in line]
    assert bool(beside) == (columns > 150)
    assert exchange.startswith("000d+7")


def test_place_instead_of_a_number(run, good):
    (row,) = map(
        json.loads,
        run(
            *("dissect", good, "--where", "n == 7", "--format", "json"),
            *("--fields", "packet_offset,position,payload"),
        ).lines,
    )
    fields = parts(run, f"{row['packet_offset']}:{row['position']}", good)
    assert fields["body"]["text"] == "first"


def test_no_such_frame(run, good):
    result = run("show", 13, good)
    assert result.status == 2
    assert "there is no frame 13: 12 were read" in result.err
    assert run("show", 0, good).status == 2
    assert run("show", "x", good).status == 2
    assert run("show", "1:2:3", good).status == 2


def test_credentials_are_hidden(run, tmp_path):
    from tests.cli.test_questions_unit import SHOP
    from tests.support import recording as builder

    path = tmp_path / "login.pcap"
    path.write_bytes(builder.pcap(builder.dialogue(SHOP)))
    result = run("show", 3, path)
    assert "response: ****" in result.out
    assert "s3cret" not in result.out
    assert "s3cret" in run("show", 3, path, "--show-secrets").out


def test_other_versions():
    octets = v0_8.encode(1, v0_8.Connection.Close(reply_code=200))
    walk = dissect_frame({"frame": octets, "frame_type": "method", "method": "connection.close"})
    assert next(node.note for node in walk if node.name == "method_id") == "connection.close"


def leaves(walk) -> list[tuple[int, int]]:
    """(offset, end) of the innermost parts; bits share a byte."""
    nodes = list(walk)
    if not nodes:
        return []
    places = []
    for node, after in zip(nodes, [*nodes[1:], None], strict=True):
        if after is None or after.depth <= node.depth:
            places.append((node.offset, node.offset + node.length))
    return places


def check(octets: bytes, walk) -> None:
    """Parts lie inside of what they are parts of, and all bytes belong to one."""
    covered = bytearray(len(octets))
    around: list = []
    for node in walk:
        assert 0 <= node.offset <= node.offset + node.length <= len(octets)
        del around[node.depth :]
        if around:
            outer = around[-1]
            assert outer.offset <= node.offset
            assert node.offset + node.length <= outer.offset + outer.length
        around.append(node)
    for start, end in leaves(walk):
        covered[start:end] = b"\1" * (end - start)
    for node in walk:  # names of entries, sizes and constructors belong to what they are of
        covered[node.offset : node.offset + node.length] = b"\1" * node.length
    assert all(covered)


RECORDINGS = ["pika_ops", "raw_alltypes", "raw_errors", "amqp10_rabbit", "amqp10_tx"]


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_frame_of_recordings(name):
    shared = shared_dir()
    if shared is None:
        pytest.skip("needs ../shared")
    path = str(shared / "captures" / f"{name}.pcap.gz")
    fields = ["frame", "frame_type", "method", "error"]
    count = 0
    for batch in capture.read(path, fields=fields, ports=(5672, 5680, 5681)):
        for row in pa.record_batch(batch).to_pylist():
            walk = dissect_frame(row)
            check(row["frame"], walk)
            count += 1
            # Only transfers that hold a part of a message have a rest.
            if row["error"] is None and row["method"] != "transfer":
                assert not any(node.name == "rest" for node in walk)
    assert count > 40


@pytest.mark.parametrize("seed", range(20))
def test_any_bytes(seed):
    chance = random.Random(seed)
    table = vars(v1_0)["TABLE"]
    starts = [v0_9_1.encode(1, v0_9_1.Queue.Declare(arguments={"a": [1, {"b": 2}]})), b"", b"AMQP"]
    starts.append(v1_0.encode(0, v1_0.Open("x", properties={v1_0.Symbol("a"): [1, 2]})))
    for _ in range(200):
        octets = bytearray(chance.choice(starts) + chance.randbytes(chance.randrange(40)))
        for _ in range(chance.randrange(4)):
            if octets:
                octets[chance.randrange(len(octets))] = chance.randrange(256)
        for walk in (
            amqp0.frame(bytes(octets), v0_9_1.TABLE),
            amqp1.frame(bytes(octets), table),
        ):
            check(bytes(octets), walk)


@pytest.mark.parametrize("piece", [b"\xc0\xff\xff", b"\xc0\xff\1", b"\0", b"\0\x53\x24\xc0\x7f\1"])
def test_deep_nesting_ends(piece):
    octets = b"\0\0\1\0\2\0\0\0" + piece * 3000
    walk = amqp1.frame(octets, vars(v1_0)["TABLE"])
    check(octets, walk)
    assert max(node.depth for node in walk) <= 66
    nested = b"\1aA\0\0\1\0" * 3000
    octets = b"\1\0\1\0\1\0\0" + b"\0\x3c\0\x0a" + b"\0" * 4 + nested
    check(octets, amqp0.frame(octets, v0_9_1.TABLE))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("amqpcodec conn", "connections"),
        ("amqpcodec errors --fields event,outc", "event,outcome"),
        ("amqpcodec dissect --level message --where rout", "routing_key"),
        ("amqpcodec dissect --form", "--format"),
        ("amqpcodec latency --sort p9", "p99_ms"),
    ],
)
def test_shell_completion(words, expected, tmp_path):
    pytest.importorskip("argcomplete")
    import subprocess
    import sys

    from tests.cli.conftest import environment

    out = tmp_path / "out"
    asks = {
        "_ARGCOMPLETE": "1", "COMP_LINE": words, "COMP_POINT": str(len(words)),
        "_ARGCOMPLETE_STDOUT_FILENAME": str(out), "_ARGCOMPLETE_SHELL": "fish",
    }  # fmt: skip
    program = "import sys; sys.argv[0] = 'amqpcodec'; from amqpcodec.cli.main import main; main()"
    subprocess.run(
        [sys.executable, "-c", program], env={**environment(), **asks}, timeout=60, check=False
    )
    completions = {line.split("\t")[0].strip() for line in out.read_text().splitlines()}
    assert expected in completions


def test_completion_scripts(run):
    pytest.importorskip("argcomplete")
    for shell in ("bash", "zsh", "fish"):
        assert "amqpcodec" in run("completion", shell).out
    assert run("completion", "cmd").status == 2
