"""Captures of 0-8 and 0-9: the version of each connection, by its header or by its frames."""

from __future__ import annotations

import io
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from amqpcodec import capture, v0_8, v0_9, v0_9_1
from tests.capture.rows import rows
from tests.support import recording as make
from tests.support import v1_talk
from tests.support.batches import rows_of
from tests.support.recording import opening
from tests.support.version_talk import HEADERS, consume, message, mixed, session


def talk(data: bytes, answer: bytes = b"", size: int = 0) -> list[bytes]:
    """What the client says in segments of that size, and what the server says."""
    return [
        *make.segments(data, size or max(len(data), 1)),
        *make.talk(answer, first=5001, side=make.server),
    ]


def methods(frame_rows: list[dict[str, Any]]) -> list[str]:
    return [row["method"] for row in frame_rows if row["method"]]


CLIENT_SAYS = [
    *("connection.start-ok", "connection.tune-ok", "queue.declare", "basic.consume"),
    *("basic.publish", "connection.close"),
]
SERVER_SAYS = ["connection.start", "channel.open-ok", "connection.close-ok"]


@pytest.mark.parametrize(
    ("name", "amqp"),
    [("0-9-1", v0_9_1), ("1 1 0 9", v0_9_1), ("1 1 8 0", v0_8), ("1 1 9 1", v0_8)],
)
@pytest.mark.parametrize("size", [0, 1, 7])
@pytest.mark.parametrize("level", ["frame", "message"])
def test_by_the_header(name: str, amqp: ModuleType, size: int, level: str) -> None:
    client, server = session(amqp, HEADERS[name])
    frame_rows = rows(make.pcap([*opening(), *talk(client, server, size=size)]), level=level)
    assert [row["error"] for row in frame_rows] == [None] * len(frame_rows)
    assert methods([row for row in frame_rows if row["direction"] == "client"]) == CLIENT_SAYS
    assert methods([row for row in frame_rows if row["direction"] == "server"]) == SERVER_SAYS
    (properties,) = (row["properties"] for row in frame_rows if row["properties"])
    assert (properties["content_type"], properties["headers"]) == ("text/plain", '{"h":"v"}')
    if level == "frame":
        (declare,) = (row for row in frame_rows if row["method"] == "queue.declare")
        assert ('"ticket":0' in declare["arguments"]) is (amqp is v0_8)
    else:
        (publish,) = (row for row in frame_rows if row["method"] == "basic.publish")
        assert (publish["exchange"], publish["routing_key"]) == ("e", "k")
        assert publish["body"] == b"body"
    stats = capture.stats(io.BytesIO(make.pcap([*opening(), *talk(client, server)])))
    assert (stats["other_protocols"], stats["errors"]) == (0, 0)
    assert stats["methods"]["connection.close"] == 1


@pytest.mark.parametrize("amqp", [v0_8, v0_9], ids=["0-8", "0-9"])
def test_forced(amqp: ModuleType) -> None:
    """With the protocol named, its own columns are there."""
    version = "0-8" if amqp is v0_8 else "0-9"
    client, server = session(amqp, HEADERS["0-9-1"])  # whatever the header says
    octets = make.pcap([*opening(), *talk(client, server)])
    for protocol in (version, amqp):
        frame_rows = rows(octets, protocol=protocol)
        assert [row["error"] for row in frame_rows] == [None] * len(frame_rows)
        assert methods(frame_rows) == [*CLIENT_SAYS, *SERVER_SAYS]
    names = [name for name, *_ in _children(capture.schema(protocol=version))]
    assert {"filename", "proxy_name", "cluster_id"} <= set(names)


def _children(schema: Any) -> list[Any]:
    import pyarrow as pa

    return [(field.name,) for field in pa.schema(schema).field("properties").type]


# ---- 1 1 0 9: 0-9-1 as long as the frames can be


def test_0_9_by_the_letter_where_only_it_can_be_read() -> None:
    transfer = v0_9.encode(1, v0_9.Message.Transfer(destination="d", body=b"octets"))
    client = HEADERS["1 1 0 9"] + message(v0_9) + 3 * transfer
    client += v0_9.encode(1, v0_9.Queue.Declare(queue="q"))
    frame_rows = rows(make.pcap([*opening(), *talk(client)]))
    assert [row["error"] for row in frame_rows] == [None] * len(frame_rows)
    assert methods(frame_rows) == ["basic.publish", *["message.transfer"] * 3, "queue.declare"]
    assert '"body":"octets"' in frame_rows[4]["arguments"]
    # Before that it was taken for 0-9-1, afterwards for 0-9.
    assert '"ticket"' not in frame_rows[1]["arguments"]
    assert '"ticket":0' in frame_rows[-1]["arguments"]


def test_0_9_1_stays_0_9_1_behind_the_header_of_0_9() -> None:
    client = HEADERS["1 1 0 9"] + v0_9_1.encode(1, v0_9_1.Confirm.Select())
    client += v0_9_1.encode(1, v0_9_1.Basic.Nack(delivery_tag=1))
    client += v0_9_1.encode(1, v0_9_1.Queue.Declare(queue="q"))
    frame_rows = rows(make.pcap([*opening(), *talk(client)]))
    assert methods(frame_rows) == ["confirm.select", "basic.nack", "queue.declare"]
    assert '"ticket"' not in frame_rows[-1]["arguments"]


def test_a_method_of_0_8_alone_is_none_of_0_9() -> None:
    alert = v0_8.encode(1, v0_8.Channel.Alert(1, "text"))
    frame_rows = rows(make.pcap([*opening(), *talk(HEADERS["1 1 0 9"] + alert)]))
    assert "no method with class id 20 and method id 30" in frame_rows[-1]["error"]
    frame_rows = rows(make.pcap([*opening(), *talk(HEADERS["1 1 8 0"] + alert)]))
    assert methods(frame_rows) == ["channel.alert"]


# ---- without a header


def midstream(data: bytes, **options: Any) -> list[dict[str, Any]]:
    """Rows of a stream whose beginning was not captured, cut in segments."""
    return rows(make.pcap(make.segments(data, 300, first=7_000_000)), **options)


@pytest.mark.parametrize("level", ["frame", "message"])
def test_midstream_0_8(level: str) -> None:
    """0-8's basic.consume has no table: 0-9-1 cannot read it."""
    data = 20 * message(v0_8) + consume(v0_8) + consume(v0_8) + 3 * message(v0_8)
    data += v0_8.encode(1, v0_8.Queue.Declare(queue="q"))
    data += v0_8.encode(0, v0_8.Connection.Close(200, "bye"))
    frame_rows = midstream(data, level=level)
    assert [row["error"] for row in frame_rows] == [None] * len(frame_rows)
    expected_methods = [*20 * ["basic.publish"], *2 * ["basic.consume"], *3 * ["basic.publish"]]
    assert methods(frame_rows) == [*expected_methods, "queue.declare", "connection.close"]
    assert frame_rows[0]["flags"] == ["midstream"]
    if level == "frame":
        (declare,) = (row for row in frame_rows if row["method"] == "queue.declare")
        assert '"ticket":0' in declare["arguments"]  # two frames have said so


def test_midstream_0_9() -> None:
    transfer = v0_9.encode(1, v0_9.Message.Transfer(destination="d", body=b"octets"))
    frame_rows = midstream(3 * transfer + message(v0_9) + v0_9.encode(1, v0_9.Channel.Ping()))
    assert [row["error"] for row in frame_rows] == [None] * len(frame_rows)
    assert methods(frame_rows) == [*3 * ["message.transfer"], "basic.publish", "channel.ping"]


def test_midstream_0_9_1_is_the_usual_one() -> None:
    data = 20 * message(v0_9_1) + consume(v0_9_1) + 2 * message(v0_9_1)
    frame_rows = midstream(data)
    assert methods(frame_rows) == [*20 * ["basic.publish"], "basic.consume", *2 * ["basic.publish"]]
    assert all('"ticket"' not in (row["arguments"] or "") for row in frame_rows)


def test_one_odd_frame_changes_no_connection() -> None:
    """What 0-9-1 alone cannot read may be a fault; two such frames are none."""
    declare = v0_9_1.encode(1, v0_9_1.Queue.Declare(queue="q"))
    data = 5 * message(v0_9_1) + consume(v0_8) + declare
    data += v0_9_1.encode(1, v0_9_1.Confirm.Select()) + declare
    frame_rows = midstream(data)
    declared = [row for row in frame_rows if row["method"] == "queue.declare"]
    assert all('"ticket"' not in row["arguments"] for row in declared)
    assert "confirm.select" in methods(frame_rows)


def test_a_bad_frame_of_a_known_version_stays_bad() -> None:
    client = HEADERS["0-9-1"] + consume(v0_8)
    frame_rows = rows(make.pcap([*opening(), *talk(client)]))
    assert "basic.consume.arguments: table needs" in frame_rows[-1]["error"]
    client = HEADERS["1 1 8 0"] + consume(v0_9_1)
    frame_rows = rows(make.pcap([*opening(), *talk(client)]))
    assert "bytes after the last field" in frame_rows[-1]["error"]


# ---- several versions in one file


@pytest.mark.parametrize("level", ["frame", "message"])
def test_one_schema_for_all(level: str) -> None:
    import pyarrow as pa

    octets = mixed()
    batches = [pa.record_batch(batch) for batch in capture.read(io.BytesIO(octets), level=level)]
    assert {batch.schema for batch in batches} == {pa.schema(capture.schema(level=level))}
    frame_rows = [row for batch in batches for row in batch.to_pylist()]
    assert [row["error"] for row in frame_rows] == [None] * len(frame_rows)
    third = {0: "basic.consume", 1: "basic.consume", 2: "channel.ping"}
    for index in range(3):
        mine = [row for row in frame_rows if row["connection_index"] == index]
        assert methods(mine) == 9 * ["basic.publish", third[index]]
    small = [r for b in capture.read(io.BytesIO(octets), level=level, batch_rows=3)
             for r in pa.record_batch(b).to_pylist()]  # fmt: skip
    assert small == frame_rows


def test_named_columns_of_all_versions() -> None:
    fields = ["connection_index", "method", "queue", "basic.consume.no_ack", "reserved_1",
              "properties.message_id", "headers.n:long", "error"]  # fmt: skip
    data = {
        amqp: HEADERS[name] + message(amqp, message_id="m", headers={"n": 7}) + consume(amqp)
        for name, amqp in (("0-9-1", v0_9_1), ("1 1 8 0", v0_8))
    }
    for client in data.values():
        fields_found = rows(make.pcap([*opening(), *talk(client)]), fields=fields[:4] + fields[5:])
        assert [row["error"] for row in fields_found] == [None] * len(fields_found)
        _, publish, header, _, last = fields_found
        assert publish["method"] == "basic.publish"
        assert (header["properties.message_id"], header["headers.n:long"]) == ("m", 7)
        assert (last["queue"], last["basic.consume.no_ack"]) == ("q", False)


def test_a_property_without_a_column_is_told() -> None:
    """0-9-1's columns have no file name; nothing is dropped in silence."""
    properties = v0_8.File.Properties(filename="name", message_id="m")
    content = v0_8.encode_message(1, v0_8.File.Stage(), properties, b"x")
    octets = make.pcap([*opening(), *talk(HEADERS["1 1 8 0"] + content + message(v0_8))])
    frame_rows = rows(octets)
    assert [row["error"] is None for row in frame_rows] == [
        True,
        True,
        False,
        True,
        True,
        True,
        True,
    ]
    assert "file.properties.filename: no column for this property of 0-8" in frame_rows[2]["error"]
    assert frame_rows[2]["properties"]["message_id"] == "m"
    narrow = rows(octets, fields=["properties", "error"])
    assert narrow == [{name: row[name] for name in narrow[0]} for row in frame_rows]
    forced = rows(octets, protocol="0-8")
    assert [row["error"] for row in forced] == [None] * len(forced)
    assert forced[2]["properties"]["filename"] == "name"
    # It has one that takes all properties, and none is missed where none was asked for.
    assert "filename" in rows(octets, fields=["properties_json"])[2]["properties_json"]
    assert not any(row["error"] for row in rows(octets, fields=["method", "error"]))
    assert capture.stats(io.BytesIO(octets))["errors"] == 0


def test_cluster_id_has_the_column_of_its_successor() -> None:
    data = HEADERS["1 1 8 0"] + message(v0_8, cluster_id="c")
    frame_rows = rows(make.pcap([*opening(), *talk(data)]))
    assert frame_rows[2]["properties"]["reserved"] == "c"


def test_reading_on_knows_the_versions(tmp_path: Path) -> None:
    path = tmp_path / "mixed.pcap"
    path.write_bytes(mixed())

    def read(reader: Any, stop: int | None = None) -> list[Any]:
        return rows_of(reader.read(stop))

    for level in ("frame", "message"):
        expected = read(capture.Reader(path, level=level, order="none"))
        for stop in range(1000, path.stat().st_size, 1501):
            first = capture.Reader(path, level=level, order="none")
            before = read(first, stop)
            second = capture.Reader(path, level=level, order="none")
            second.resume(first.state())
            assert before + read(second) == expected
    first = capture.Reader(path)
    read(first, 5000)
    with pytest.raises(ValueError, match="state"):
        capture.Reader(path, protocol="0-9-1").resume(first.state())


@pytest.mark.parametrize("second", ["0-9-1", "1 1 0 9"])
def test_a_header_after_that_of_0_8(second: str) -> None:
    """What it says counts: frames are found again after a gap, and the reader's state is taken."""
    frames = [v0_9_1.encode(1, v0_9_1.Basic.Ack(delivery_tag=k)) for k in range(40)]
    payloads = [HEADERS["1 1 8 0"], HEADERS[second], *frames]
    places = [1001 + sum(map(len, payloads[:k])) for k in range(len(payloads))]
    packets = [*opening(), *map(make.client, places, payloads)]
    del packets[12]
    octets = make.pcap(packets)
    frame_rows = rows(octets)
    assert [row["frame"] for row in frame_rows if not row["error"]] == [
        *payloads[:10],
        *payloads[11:],
    ]
    for stop in range(24, len(octets), 83):
        first = capture.Reader(io.BytesIO(octets))
        for _ in first.read(stop):
            pass
        capture.Reader(io.BytesIO(octets)).resume(first.state())


def test_secrets_of_0_8_are_hidden() -> None:
    start_ok = v0_8.Connection.StartOk({}, "PLAIN", b"\0guest\0hunter2", "en")
    data = HEADERS["1 1 8 0"] + v0_8.encode(0, start_ok)
    frame_rows = rows(make.pcap([*opening(), *talk(data)]), redact=True)
    assert "hunter2" not in repr(frame_rows)
    assert '"response":"**************"' in frame_rows[-1]["arguments"]
    shown = rows(make.pcap([*opening(), *talk(data)]), redact=False)
    assert "hunter2" in repr(shown)


@pytest.mark.parametrize("frame", [b"\1\0\1\0\0\0\2\0\x3c\xce", b"\2\0\1\0\0\0\5\7\7\0\0\0\xce"])
def test_a_frame_too_short_to_be_of_a_version_is_of_none(frame: bytes) -> None:
    """Neither 0-9-1 nor 0-9 reads it; what follows is as it was."""
    declare = v0_9_1.encode(1, v0_9_1.Queue.Declare(queue="q"))
    frame_rows = rows(make.pcap([*opening(), *talk(HEADERS["1 1 0 9"] + frame + declare)]))
    assert [row["frame"] for row in frame_rows[1:]] == [frame, declare]
    assert [row["error"] is None for row in frame_rows] == [True, False, True]
    assert '"ticket"' not in frame_rows[2]["arguments"]


def test_what_was_wrong_by_another_protocol_is_bytes_of_none() -> None:
    """A server shows that a connection speaks 1.0, after its client could not be read as 0-9-1."""
    frame = v1_talk.opening()
    junk = b"\1\0\0\0\0\0\1??"
    packets = [make.client(1001, junk), make.server(5001, frame), make.client(1010, frame)]
    frame_rows = rows(make.pcap([*opening(), *packets]))
    assert [row["frame"] for row in frame_rows] == [junk, frame, frame]
    assert frame_rows[0]["error"] == "9 bytes in which no frame was found"
    assert [row["error"] for row in frame_rows[1:]] == [None, None]


@pytest.mark.parametrize(
    "name", ["queue.declare-ok.message_count", "queue.declare_ok.message_count"]
)
def test_a_method_with_a_hyphen_in_columns_of_all_versions(name: str) -> None:
    for header, amqp in (("0-9-1", v0_9_1), ("1 1 8 0", v0_8)):
        answer = amqp.encode(1, amqp.Queue.DeclareOk("q", 7, 0))
        frame_rows = rows(
            make.pcap([*opening(), *talk(HEADERS[header], answer)]), fields=["method", name]
        )
        assert frame_rows[-1] == {"method": "queue.declare-ok", name: 7}
