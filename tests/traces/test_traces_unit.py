"""RabbitMQ's traces to rows: text logs, JSON logs and messages of the firehose."""

from __future__ import annotations

import base64
import gzip
import io
import json
import zlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqpcodec import v0_9_1 as amqp
from tests.paths import shared_dir
from tests.support import recording as make
from tests.support import trace_logs as logs

pa = pytest.importorskip("pyarrow")

from amqpcodec import capture, traces  # noqa: E402
from amqpcodec.traces import _read, _rows, _terms  # noqa: E402


def rows(data: bytes, **options: Any) -> list[dict[str, Any]]:
    table: list[dict[str, Any]] = pa.table(traces.read(io.BytesIO(data), **options)).to_pylist()
    return table


LOG = logs.text(b"published", b"one\n\xff") + logs.text(b"received", b"", b"[]")


def test_text_log() -> None:
    published, delivered = rows(LOG)
    assert published["properties"]["headers"] == logs.HEADERS
    assert published["properties"]["delivery_mode"] == 2
    assert published["body"] == b"one\n\xff"
    assert published["timestamp"] == datetime(2026, 5, 1, 10, 0, 0, 250_000, UTC)
    assert (published["src"], published["dst"]) == ("[::1]:5001", "[::1]:5672")
    assert published["method"] == "basic.publish"
    assert published["routed_queues"] == ["q.1", "q.2"]
    assert published["queue"] is None
    assert (delivered["src"], delivered["dst"]) == ("[::1]:5672", "[::1]:5001")
    assert delivered["method"] == "basic.deliver"
    assert delivered["queue"] == "q.1"
    assert delivered["direction"] == "server"
    assert delivered["body"] == b""
    assert [row["error"] for row in (published, delivered)] == [None, None]
    assert LOG[delivered["offset"] :].startswith(b"2026-05-01T12:00:00.250+02:00: Message received")


def test_json_log() -> None:
    data = logs.json_line("published", b"\0\xff") + b"\n" + logs.json_line("received", b"x")
    published, delivered = rows(data)
    from_text = rows(LOG)
    for name in ("src", "dst", "channel", "method", "exchange", "routing_key", "routed_queues",
                 "queue", "node", "vhost", "user", "timestamp", "direction"):  # fmt: skip
        assert published[name] == from_text[0][name], name
        assert delivered[name] == from_text[1][name], name
    assert published["properties"]["headers"] == '{"n":-5}'
    assert published["body"] == b"\0\xff"
    assert data[delivered["offset"] :][:1] == b"{"


def test_what_json_has_no_word_for() -> None:
    headers = {"b": "Not UTF-8, base64 is: AAH/", "$k": [{"$m": 1}]}
    line = logs.json_line("published", b"", properties={"headers": headers, "cluster_id": "c"})
    twice = line.replace(b'"$k"', b'"b"')
    one, two = rows(line + twice)
    assert json.loads(one["properties"]["headers"]) == {
        "b": {"$binary": "AAH/"},
        "$$k": [{"$$m": 1}],
    }
    assert one["properties"]["reserved"] == "c"
    pairs = [["b", {"$binary": "AAH/"}], ["b", [{"$$m": 1}]]]
    assert json.loads(two["properties"]["headers"]) == {"$table": pairs}


def test_columns_are_those_of_messages() -> None:
    messages = pa.schema(capture.schema("message"))
    for field in traces.schema():
        if field.name in _rows.SHARED:
            assert field.type == messages.field(field.name).type
    assert traces.read(io.BytesIO(LOG), fields=["body", "node"]).schema.names == ["body", "node"]
    with pytest.raises(ValueError, match="no column 'ack'"):
        traces.read(io.BytesIO(LOG), fields=["ack"])


BAD = {
    "no JSON": b'{"type": "published"',
    "neither published nor received": b'{"type": "acked"}',
    "no base64": logs.json_line("published", b"").replace(b'"payload": ""', b'"payload": "?"'),
    "no property": logs.json_line("published", b"", properties={"colour": "red"}),
    "out of range": logs.json_line("published", b"", channel=1 << 40),
    "not UTF-8": logs.json_line("published", b"", vhost="\ud800"),
    "a number that JSON cannot say": logs.json_line("published", b"").replace(b"-5", b"1e999"),
    "a list is wanted": logs.json_line("published", b"", routing_keys="k"),
    "a time that is none": logs.json_line("published", b"", timestamp="soon"),
    "too deep": b'{"type": "published", "properties": {"headers": {"a": ' + b"[" * 60_000,
    "routing key is neither": b'{"routing_key": "x", "body_b64": "", "properties": {}}',
    "no JSON object": b'["type", "published"]',
    "a text is wanted, not int": logs.json_line("published", b"", user=5),
    "a table is wanted": logs.json_line("published", b"", properties="none"),
}


@pytest.mark.parametrize("why", BAD)
def test_bad_lines_are_rows(why: str) -> None:
    good = logs.json_line("received", b"x")
    trace_rows = rows(good + BAD[why].rstrip(b"\n") + b"\n" + good)
    assert [row["error"] is None for row in trace_rows] == [True, False, True]
    assert why in trace_rows[1]["error"] or (
        why == "too deep" and "no JSON" in trace_rows[1]["error"]
    )
    assert trace_rows[1]["record"] == BAD[why].rstrip(b"\n")


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        (b"[{<<1", "no Erlang term"),
        (b'[{<<"a">>,longstr}]', "no entry"),
        (b'[{<<"headers">>,table,[{<<"a">>,pid,self}]}]', "unknown here"),
        (b"[" * 200 + b"]" * 200, "within each other"),
        (b"[1,,2]", "comma too many"),
        (b"[1 2]", "comma is missing"),
        (b"[1}", "too many"),
        (b"[1,]", "too many"),
        (b"[<<300>>]", "no byte"),
        (b"5", "a table is wanted"),
        (b'[{<<"headers">>,table,[{<<"a">>,array,[1]}]}]', "an array with what is no value"),
        (b'[{<<"headers">>,table,[{<<"a">>,decimal,{256,1}}]}]', "too many places"),
        (b"[" + b"9" * 41 + b"]", "a number that is too long"),
        (b'[<<"\\x{d800}">>]', "an escape that is no character"),
    ],
)
def test_bad_records_are_rows(properties: bytes, why: str) -> None:
    bad = logs.text(b"published", b"x", properties)
    trace_rows = rows(LOG + bad + LOG)
    assert [row["error"] is None for row in trace_rows] == [True, True, False, True, True]
    assert why in trace_rows[2]["error"]
    assert trace_rows[2]["record"] in bad


def test_numbers_that_only_python_takes_for_json() -> None:
    for number in (b"NaN", b"-Infinity"):
        (row,) = rows(logs.json_line("published", b"").replace(b"-5", number))
        assert row["error"] == "no JSON"


def test_a_text_that_is_not_utf8_within_headers() -> None:
    properties = b'[{<<"headers">>,table,[{<<"a">>,longstr,<<"\xff">>}]}]'
    (row,) = rows(logs.text(b"published", b"", properties))
    assert row["properties"]["headers"] == '{"a":{"$binary":"/w=="}}'


def test_times_before_rabbitmq_3_9() -> None:
    """Without a zone, in UTC, with numbers of any width."""
    (row,) = rows(logs.text(b"published", b"", time=b"2019-3-7 9:05:3:25"))
    assert row["timestamp"] == datetime(2019, 3, 7, 9, 5, 3, 25_000, UTC)
    (row,) = rows(logs.text(b"published", b"", time=b"2019-3-7 25:05:3:25"))
    assert "a time that is none" in row["error"]


def test_what_a_record_does_not_say() -> None:
    """A message that the broker published has no connection, as an RPC of a plugin."""
    line = b'{"type": "published", "connection": "<none>", "routing_keys": []}'
    (row,) = rows(line)
    assert row["error"] is None
    for name in ("timestamp", "channel", "body", "src", "dst", "routing_key", "redelivered"):
        assert row[name] is None, name
    assert (row["connection_name"], row["routing_keys"]) == ("<none>", [])


def test_rows_of_a_batch_are_at_least_one() -> None:
    with pytest.raises(ValueError, match="batch_rows is at least 1, not 0"):
        traces.read(io.BytesIO(LOG), batch_rows=0)


def test_terms() -> None:
    parse = _terms.parse
    assert parse(b'<<"a\\n\\"\\\\\\x{41}\\101">>') == b'a\n"\\AA'
    assert parse(b" [ {a, 'B c', -1.5e3}, <<>>, \"ab\" ] ") == [
        ("a", "B c", -1500.0),
        b"",
        [97, 98],
    ]
    with pytest.raises(_terms.TermError, match="cut"):
        parse(b"")


def test_sizes_of_pieces_and_packed_files(tmp_path: Path, monkeypatch: Any) -> None:
    data = LOG * 50
    expected = rows(data)
    assert len(expected) == 100
    for size in (1, 97, 4096):

        class Slow(io.BytesIO):
            def readinto(self, room: Any, size: int = size) -> int:
                return super().readinto(memoryview(room)[:size])

        monkeypatch.setattr("amqpcodec.capture._files.COMPRESSED_CHUNK_BYTES", 300)
        assert pa.table(traces.read(Slow(data), batch_rows=7)).to_pylist() == expected
    path = tmp_path / "x.log.gz"
    path.write_bytes(gzip.compress(data))
    assert traces.is_trace(path)
    trace_rows = pa.table(traces.read(path)).to_pylist()
    assert trace_rows == [{**row, "file": str(path)} for row in expected]


def compress_exactly(data: bytes) -> bytes:
    """gzip without compression, whose cuts are cuts of the data whatever zlib is there."""
    packer = zlib.compressobj(level=0, wbits=31)
    return packer.compress(data) + packer.flush()


JSON_LOG = logs.json_line("published", b"one") + logs.json_line("received", b"two")


@pytest.mark.parametrize("log", [LOG, JSON_LOG], ids=["text", "json"])
def test_a_compressed_file_that_is_cut_ends_with_an_error(log: bytes) -> None:
    complete = rows(log * 3)
    packed = compress_exactly(log * 3)
    counts, remainders = set(), set()
    for size in range(len(packed) - 9, len(packed) - 9 - len(log) - 5, -5):
        *records, last = rows(packed[:size])
        assert "the compressed file is damaged or cut" in last["error"]
        # no record is shown that lacks some of its bytes, and none twice
        assert records == complete[: len(records)]
        assert last["body"] is None
        end = last["offset"] + len(last["record"])
        assert (log * 3)[last["offset"] : end] == last["record"]
        counts.add(len(records))
        remainders.add(last["record"])
    assert len(counts) >= 3
    assert len(remainders) > 50


@pytest.mark.parametrize("log", [LOG, JSON_LOG], ids=["text", "json"])
def test_a_compressed_file_that_becomes_too_large_ends_with_an_error(log: bytes) -> None:
    complete = rows(log * 3)
    packed = gzip.compress(log * 3)
    for size in range(len(log), len(log) * 2, 5):
        with pytest.warns(
            capture.CaptureWarning, match=f"larger than max_decompressed_bytes={size} "
        ):
            *records, last = rows(packed, max_decompressed_bytes=size)
        assert f"larger than max_decompressed_bytes={size} " in last["error"]
        assert records == complete[: len(records)]
        assert len(records) >= 1
    assert rows(packed, max_decompressed_bytes=len(log) * 3, max_compression_ratio=0) == complete


def test_a_record_that_is_too_long_in_a_compressed_file_that_is_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_read, "RECORD_LIMIT", 5000)
    for size in (10_000, 400_000):
        packed = compress_exactly(LOG + logs.text(b"published", b"x" * size))
        trace_rows = rows(packed[:-100])
        assert [row["error"] for row in trace_rows[:2]] == [None, None]
        assert "the compressed file is damaged or cut" in trace_rows[-1]["error"]
        assert all(len(row["record"] or b"") <= 5001 for row in trace_rows)


def test_a_payload_that_looks_like_a_line_of_the_log() -> None:
    payload = b"\n" + logs.LINE + b"\nnot a time: Message lost\n\nPayload: \n"
    trace_rows = rows(logs.text(b"published", payload) + logs.text(b"received", b"x"))
    assert [row["body"] for row in trace_rows] == [payload, b"x"]


def test_records_are_bounded(monkeypatch: Any) -> None:
    monkeypatch.setattr(_read, "RECORD_LIMIT", 5000)
    for one, kind in ((logs.text, b"published"), (logs.json_line, "published")):
        sizes = (10, 900_000, 20)
        trace_rows = rows(b"".join(one(kind, b"x" * size) for size in sizes))  # type: ignore[operator]
        assert [row["error"] is None for row in trace_rows] == [True, False, True]
        assert "more than 5000 bytes" in trace_rows[1]["error"]
        assert len(trace_rows[1]["record"]) == 5001
        assert len(trace_rows[2]["body"]) == 20


def test_lines_that_look_like_the_next_record() -> None:  # their cost: tests/protocol/linear.py
    assert len(rows(logs.LOOKALIKE * 400)) == 400


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no trace of RabbitMQ"):
        rows(make.pcap([]))
    assert rows(b"") == []
    assert not traces.is_trace(io.BytesIO(make.pcap([])))
    with pytest.raises(ValueError, match="format is"):
        traces.read(io.BytesIO(b""), format="xml")


@settings(max_examples=60, deadline=None)
@given(
    data=st.sampled_from([LOG, logs.json_line("published", b"abc") * 2]),
    damage=st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.binary(max_size=4), st.integers(0, 30))
    ),
)
def test_damage_gives_rows(data: bytes, damage: list[tuple[float, bytes, int]]) -> None:
    octets = bytearray(data)
    for place, put, drop in damage:
        at = int(place * len(octets))
        octets[at : at + drop] = put
    for format in ("text", "json"):
        trace_rows = rows(bytes(octets), format=format)
        assert all((row["error"] is None) == (row["record"] is None) for row in trace_rows)


def firehose(key: str, headers: dict[str, Any], body: bytes, tag: int) -> bytes:
    deliver = amqp.Basic.Deliver(
        consumer_tag="c", delivery_tag=tag, exchange="amq.rabbitmq.trace", routing_key=key
    )
    return amqp.encode_message(1, deliver, amqp.Basic.Properties(headers=headers), body)


def test_messages_of_the_firehose_in_a_capture() -> None:
    properties = {"content_type": "text/plain", "headers": {"$k": b"\xff", "n": 1}, "priority": 3}
    headers = {
        "exchange_name": "orders", "routing_keys": ["eu.de"], "properties": properties,
        "node": "rabbit@host", "vhost": "/", "connection": "1.2.3.4:5 -> 6.7.8.9:10",
        "channel": 2, "user": "guest",
    }  # fmt: skip
    messages_of_server = b"".join(
        [
            firehose("publish.orders", {**headers, "routed_queues": ["q"]}, b"one", 1),
            firehose("deliver.q.of.mine", {**headers, "redelivered": 1}, b"two", 2),
            firehose("strange", {}, b"three", 3),
            amqp.encode_message(1, amqp.Basic.Deliver(exchange="other"), None, b"four"),
        ]
    )
    packets = [
        *make.opening(),
        make.client(1001, amqp.PROTOCOL_HEADER),
        make.server(5001, messages_of_server),
    ]
    messages = capture.read(io.BytesIO(make.pcap(packets)), level="message")
    trace_rows = [row for batch in traces.unwrap(messages) for row in batch.to_pylist()]
    assert [row["body"] for row in trace_rows] == [b"one", b"two", None]
    one, two, strange = trace_rows
    assert (one["exchange"], one["routing_key"], one["src"]) == ("orders", "eu.de", "1.2.3.4:5")
    assert one["properties"]["headers"] == '{"$$k":{"$binary":"/w=="},"n":1}'
    assert one["properties"]["priority"] == 3
    assert (two["queue"], two["redelivered"], two["src"]) == ("q.of.mine", True, "6.7.8.9:10")
    assert "routing key is neither" in strange["error"]
    assert strange["record"] == b"three"
    assert one["timestamp"] is not None
    others = capture.read(io.BytesIO(make.pcap(packets[:-1])), level="message")
    assert list(traces.unwrap(others)) == []


def test_traces_of_rabbitmq() -> None:
    shared = shared_dir()
    if shared is None:
        pytest.skip("the shared recordings are not here")
    rows_of_files = {
        name: pa.table(traces.read(shared / "captures" / "trace" / name)).to_pylist()
        for name in ("texttrace.log", "jsontrace.log", "firehose.jsonl")
    }
    text = rows_of_files["texttrace.log"]
    assert len(text) == 10
    for other in rows_of_files.values():
        for row, expected in zip(other, text, strict=True):
            assert row["error"] is None
            for name in ("body", "direction", "exchange", "routing_keys", "routed_queues", "queue",
                         "channel", "src", "node"):  # fmt: skip
                assert row[name] == expected[name], name
            mine, its = row["properties"], expected["properties"]
            assert {**mine, "headers": None} == {**its, "headers": None}
    assert [row["timestamp"] for row in rows_of_files["firehose.jsonl"]] == [None] * 10


def test_command_line(tmp_path: Path, capsys: Any) -> None:
    pytest.importorskip("rich")
    from amqpcodec.cli.main import main

    path, other = tmp_path / "trace.log", tmp_path / "x.pcap"
    path.write_bytes(LOG + logs.text(b"published", b"x", b"[1"))
    other.write_bytes(make.pcap([]))
    assert main(["dissect", str(path), "--format", "json", "--fields", "queue,error"]) == 1
    out, err = capsys.readouterr()
    assert [json.loads(line)["queue"] for line in out.splitlines()] == [None, "q.1", None]
    assert "1 record with an error" in err
    options = ["--where", "direction == server", "--format", "json", "--fields", "routing_key"]
    assert main(["dissect", str(path), *options]) == 1
    assert capsys.readouterr().out == '{"routing_key":"eu.de"}\n'
    assert main(["dissect", str(path), "-o", str(tmp_path / "x.parquet")]) == 1
    import pyarrow.parquet as pq

    assert pq.read_table(tmp_path / "x.parquet").schema.equals(traces.schema())
    assert main(["dissect", str(path), str(other)]) == 2
    assert main(["dissect", str(path), "--fields", "method,nix"]) == 2
    assert "no column 'nix'" in capsys.readouterr().err


def test_command_line_names_the_limit_as_it_is_typed(tmp_path: Path, capsys: Any) -> None:
    pytest.importorskip("rich")
    from amqpcodec.cli.main import main

    path, size = tmp_path / "trace.log.gz", len(LOG) + 100
    path.write_bytes(gzip.compress(LOG * 3))
    command = ["dissect", str(path), "--format", "json", "--fields", "error"]
    assert main([*command, "--max-decompressed-bytes", str(size)]) == 1
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    error = "the compressed file becomes larger than --max-decompressed-bytes %d allows"
    assert last == {"error": error % size}


def test_command_line_orders_and_limits(tmp_path: Path, capsys: Any) -> None:
    pytest.importorskip("rich")
    from amqpcodec.cli.main import main

    path = tmp_path / "trace.log"
    path.write_bytes(b"".join(logs.text(b"published", body) for body in (b"b", b"c", b"a")))
    command = ["dissect", str(path), "--format", "json", "--fields", "body"]

    def bodies(*more: str) -> tuple[int, str]:
        status = main([*command, *more])
        lines = capsys.readouterr().out.splitlines()
        return status, "".join(
            base64.b64decode(json.loads(line)["body"]).decode() for line in lines
        )

    assert bodies() == (0, "bca")
    assert bodies("--limit", "2") == (0, "bc")
    assert bodies("--sort", "body") == (0, "abc")
    assert bodies("--sort", "-body", "--limit", "2") == (0, "cb")
    assert bodies("--where", "queue == none-such") == (0, "")
    assert main(["dissect", str(path), "--sort", "nix"]) == 2
    assert "no column 'nix'" in capsys.readouterr().err


def test_command_line_goes_on_after_a_file_that_is_not_there(tmp_path: Path, capsys: Any) -> None:
    pytest.importorskip("rich")
    from amqpcodec.cli.main import main

    path, missing = tmp_path / "trace.log", tmp_path / "missing.log"
    path.write_bytes(LOG)
    command = ["dissect", str(missing), str(path), "--format", "json", "--fields", "queue"]
    assert main(command) == 2
    out, err = capsys.readouterr()
    assert [json.loads(line)["queue"] for line in out.splitlines()] == [None, "q.1"]
    assert err == f"amqpcodec: {missing}: No such file or directory\n"
