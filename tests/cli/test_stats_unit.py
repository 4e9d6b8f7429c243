"""amqpcodec stats: the reader's counts, for people and for programs."""

from __future__ import annotations

import json

import pytest

from amqpcodec import capture
from amqpcodec import v0_9_1 as amqp
from amqpcodec import v1_0 as v1
from tests.cli.conftest import TALK
from tests.support import recording as builder

pytest.importorskip("pyarrow")
pytest.importorskip("rich")


def test_json_is_what_the_reader_counts(run, good):
    result = run("stats", good, "--format", "json")
    assert (result.status, result.err) == (0, "")
    (expected,) = capture.stats(str(good))["files"]
    assert json.loads(result.out) == {**expected, "closes": {}}


def test_table_is_a_line_a_number(run, good):
    result = run("stats", good)
    assert (result.status, result.err) == (0, "")
    assert result.lines[0] == str(good)
    (counted,) = capture.stats(str(good))["files"]
    shown = {" ".join(line.split()[:-1]): line.split()[-1] for line in result.lines[1:]}
    assert shown["packets"] == "9"
    numbers = {name: value for name, value in counted.items() if isinstance(value, int)}
    assert numbers
    for name, value in numbers.items():
        assert shown[name.replace("_", " ").replace("octets", "bytes")] == f"{value:,}"


def test_bad_frames_and_cuts_give_a_status(run, bad, truncated_file):
    assert run("stats", bad).status == 1
    result = run("stats", truncated_file)
    assert result.status == 1
    assert result.lines[0] == str(truncated_file)
    assert result.err.startswith(f"amqpcodec: {truncated_file}: ")


def test_unreadable_files_do_not_keep_others_from_being_counted(run, good, tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("no recording at all, but long enough to be one of them")
    result = run("stats", text, tmp_path / "missing", good, "--format", "json")
    assert result.status == 2
    assert len(result.lines) == 1
    lines = result.err.splitlines()
    assert len(lines) == 2
    assert str(text) in lines[0]
    assert lines[1].endswith("missing: No such file or directory")


def test_ports_choose(run, good):
    stats = json.loads(run("stats", good, "--ports", "5673", "--format", "json").out)
    assert stats["packets"] == 9
    assert sum(stats["frames"].values()) == 0


def test_wrong_use(run, good):
    assert run("stats").status == 2
    assert run("stats", good, "--format", "parquet").status == 2
    assert run("stats", good, "--protocol", "7-7").status == 2


def test_closes_are_errors(run, tmp_path):
    refused = amqp.encode(1, amqp.Channel.Close(404, "NOT_FOUND", 50, 10))
    bye = amqp.encode(0, amqp.Connection.Close(200, "bye", 0, 0))
    path = tmp_path / "closed.pcap"
    talk = [*TALK, ("server", refused), ("client", bye)]
    path.write_bytes(builder.pcap(builder.dialogue(talk)))
    result = run("stats", path, "--format", "json")
    counted = json.loads(result.out)
    assert (counted["errors"], counted["closes"]) == (1, {"channel.close 404": 1})
    assert result.status == 0  # what was read is whole


@pytest.mark.parametrize(
    "ends", [(builder.CLIENT, builder.SERVER), (builder.CLIENT6, builder.SERVER6)]
)
def test_ports_of_protocol_headers_are_named(run, tmp_path, ends):
    client, (host, _) = ends
    wrap = builder.ipv4 if ends[0] == builder.CLIENT else builder.ipv6
    options = bytes(12)  # a TCP header with a time stamp
    sent = builder.tcp(client, (host, 5673), 1, amqp.PROTOCOL_HEADER, options=options)
    talk = builder.tcp(client, (host, 9999), 1, b"AMQP it is not")
    packet = builder.ethernet(wrap(client, (host, 5673), sent))
    # In 1.0 the server answers with a header; its client's port is no server's.
    answer = builder.tcp((host, 5673), client, 1, v1.PROTOCOL_HEADER, options=options)
    back = builder.ethernet(wrap((host, 5673), client, answer))
    other = builder.ethernet(wrap(client, (host, 9999), talk))
    path = tmp_path / "moved.pcap"
    path.write_bytes(builder.pcap([packet, back, other]))
    result = run("dissect", path, "--ports", "5672")
    assert (result.status, result.out) == (1, "")
    assert "a protocol header was sent to 5673: --ports 5673" in result.err
    result = run("stats", path, "--ports", "5672", "--format", "json")
    assert json.loads(result.out)["unread_header_ports"] == {"5673": 1}
    assert result.status == 1
    result = run("stats", path, "--format", "json")
    assert json.loads(result.out)["detected_ports"] == {"5673": 1}
    assert (result.status, json.loads(result.out)["frames"]) == (0, {"protocol-header": 2})
