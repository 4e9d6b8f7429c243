"""Captures to rows: what each column says, redaction, and what is left out."""

from __future__ import annotations

import gzip
import io
import struct
from datetime import timedelta
from typing import Any

import pytest

from amqpcodec import capture, types
from amqpcodec import v0_9_1 as amqp
from tests.capture.rows import rows
from tests.support import recording as make
from tests.support.recording import (
    ACK,
    CLIENT6,
    FIN,
    RST,
    SERVER6,
    SYN,
    client,
    opening,
    server,
    talk,
)

pa = pytest.importorskip("pyarrow")

HEARTBEAT = amqp.encode(0, amqp.Heartbeat())
PASSWORD = b"\0guest\0sesame"
START_OK = amqp.encode(0, amqp.Connection.StartOk(mechanism="PLAIN", response=PASSWORD))
BODY = amqp.encode(1, amqp.Body(bytes(range(256)) * 8))
HELLO = amqp.PROTOCOL_HEADER


def test_columns():
    packets = [
        *opening(),
        *talk(HELLO, HEARTBEAT + BODY[:100], BODY[100:]),
        server(5001, HEARTBEAT),
    ]
    frame_rows = rows(make.pcap(packets, nano=True), fields=None)
    assert [row["frame_type"] for row in frame_rows] == [
        "protocol-header", "heartbeat", "body", "heartbeat",
    ]  # fmt: skip
    assert [row["position"] for row in frame_rows] == [0, 0, 1, 0]
    assert [row["direction"] for row in frame_rows] == ["client"] * 3 + ["server"]
    assert {(row["src"], row["dst"]) for row in frame_rows[:3]} == {
        ("10.0.0.1:40000", "10.0.0.2:5672")
    }
    assert (frame_rows[3]["src"], frame_rows[3]["dst"]) == ("10.0.0.2:5672", "10.0.0.1:40000")
    step = 1_000_000
    requested_columns = [
        "timestamp_ns",
        "packet",
        "timestamp",
        "timestamp_last",
        "packet_offset",
        "file",
    ]
    body = rows(make.pcap(packets, nano=True), fields=requested_columns)[2]
    assert list(body) == requested_columns
    assert body["timestamp_ns"] == make.START_NS + 3 * step
    assert body["packet"] == 4
    assert body["packet_offset"] == 24 + sum(16 + len(packet) for packet in packets[:3])
    assert body["timestamp_last"] - body["timestamp"] == timedelta(milliseconds=1)
    assert "row" not in frame_rows[0]


def test_schema_is_that_of_batches():
    for fields in (None, ["frame", "flags", "properties", "packet"], []):
        batch = next(iter(capture.read(io.BytesIO(make.pcap(talk(HELLO))), fields=fields)))
        assert pa.record_batch(batch).schema == pa.schema(capture.schema(fields=fields))


@pytest.mark.parametrize("fields", [["row"], ["nothing"], ["file", "file"], "file"])
def test_fields_refused(fields):
    with pytest.raises((ValueError, TypeError)):
        capture.read(io.BytesIO(b""), fields=fields)


@pytest.mark.parametrize(
    ("level", "name", "nearest"),
    [
        ("frame", "conection", "connection"),
        ("message", "chanel", "channel"),
        ("frame", "quue", "queue"),
    ],
)
def test_the_nearest_column_is_named(level, name, nearest):
    with pytest.raises(ValueError, match=f"no column '{name}'.*mean '{nearest}'") as excinfo:
        capture.schema(level, [name])
    assert "There is file, connection," in str(excinfo.value)
    assert ", row," not in str(excinfo.value)


@pytest.mark.parametrize("octets", [b"GET / HTTP/1.1\r\n", b"\0" * 100])
def test_no_capture(octets):
    with pytest.raises(capture.CaptureError):
        rows(octets)


@pytest.mark.parametrize(
    ("resolution", "ticks", "expected"),
    [
        (6, 1_700_000_000_123_456, 1_700_000_000_123_456_000),
        (9, 1_700_000_000_123_456_789, 1_700_000_000_123_456_789),
        (3, 1_700_000_000_123, 1_700_000_000_123_000_000),
        (0x80 | 10, (1_700_000_000 << 10) + 512, 1_700_000_000_500_000_000),
        (0x80 | 33, (1_700_000_000 << 33) + 3, 1_700_000_000_000_000_000 + 3 * 10**9 // 2**33),
        (12, 1_700_000_000_123_456_789_012 % 2**64, None),
    ],
)
@pytest.mark.parametrize("order", "<>")
def test_clocks(resolution, ticks, expected, order):
    if expected is None:
        expected = ticks // 1000
    options = make.option(order, 9, bytes([resolution]))
    octets = make.section(order) + make.interface(order, 1, options=options)
    octets += make.enhanced(order, 0, ticks, client(1, HELLO))
    (row,) = rows(octets, fields=["timestamp_ns"])
    assert row["timestamp_ns"] == expected


def test_ipv6_with_extensions():
    segment = make.tcp(CLIENT6, SERVER6, 1001, HELLO)
    extensions = [(0, b"\0" + bytes(6)), (60, b"\1" + bytes(14)), (44, b"\7" + bytes(6))]
    packet = make.ipv6(CLIENT6, SERVER6, segment, extensions=extensions)
    (row,) = rows(make.pcap([make.ethernet(packet)]))
    assert (row["src"], row["frame"]) == ("[fd00::1]:40000", HELLO)


def test_fragments_are_reported():
    late = make.ethernet(make.ipv4(make.CLIENT, make.SERVER, bytes(40), fragment=7))
    stats = capture.stats(io.BytesIO(make.pcap([*opening(), *talk(HELLO), late])))
    assert stats["ip_fragments"] == 1
    assert stats["files"][0]["skipped"] == {"IP fragment": 1}


def test_gap_is_a_row_and_the_next_frame_is_found():
    packets = [*opening(), *talk(HELLO, BODY[:50])]
    at = 1001 + len(HELLO) + 150
    packets += talk(BODY[150:], HEARTBEAT * 3, first=at)
    frame_rows = rows(make.pcap(packets))
    assert [(row["frame"], row["flags"]) for row in frame_rows] == [
        (HELLO, []),
        (BODY[:50], ["truncated"]),
        (b"", ["gap"]),
        (BODY[150:], ["gap", "truncated"]),
        (HEARTBEAT, ["gap"]),
        (HEARTBEAT, []),
        (HEARTBEAT, []),
    ]
    assert frame_rows[2]["error"] == "100 bytes were not captured"
    keys = [(row["packet_offset"], row["position"]) for row in frame_rows]
    assert len(set(keys)) == len(keys)


def test_resync_where_the_header_was_lost():
    packets = [*opening(), *talk(HELLO), *talk(BODY[50:], HEARTBEAT * 3, first=1009 + 50)]
    frame_rows = rows(make.pcap(packets))
    assert [row["flags"] for row in frame_rows] == [
        [], ["gap"], ["gap", "truncated"], ["gap", "resync"], [], [],
    ]  # fmt: skip


def test_frames_inside_of_a_body_are_not_invented():
    inner = amqp.encode(1, amqp.Queue.Declare(queue="no")) * 40
    outer = amqp.encode(1, amqp.Body(bytes(100) + inner))
    packets = [*opening(), *talk(HELLO), *talk(outer[20:], HEARTBEAT * 2, first=1009 + 20)]
    frames = [row["frame"] for row in rows(make.pcap(packets)) if row["frame_type"]]
    assert frames == [HELLO, HEARTBEAT, HEARTBEAT]


def test_missing_at_the_end_by_the_peer():
    packets = [*opening(), *talk(HELLO), server(5001, HEARTBEAT, ACK, 1009 + 500)]
    assert [r["error"] for r in rows(make.pcap(packets)) if r["flags"] == ["gap"]] == [
        "500 bytes were not captured"
    ]


def test_the_last_acknowledgement_proves_no_lost_octet():
    packets = [*opening(), *talk(HELLO), client(1009, b"", FIN | ACK, 5001)]
    packets += [server(5001, b"", FIN | ACK, 1010), client(1010, b"", ACK, 5002)]
    assert [row["frame"] for row in rows(make.pcap(packets))] == [HELLO]


def test_ports_used_again():
    first = [*opening(), *talk(HELLO, HEARTBEAT)]
    second = [*opening(90000, 95000), *talk(HELLO, BODY, first=90001)]
    frame_rows = rows(make.pcap(first + second))
    assert [row["connection_index"] for row in frame_rows] == [0, 0, 1, 1]
    assert len({row["connection"] for row in frame_rows}) == 2
    assert frame_rows == rows(make.pcap(first + second))


@pytest.mark.parametrize("end", [RST | ACK, FIN | ACK])
def test_late_segments_of_a_closed_connection(end):
    packets = [*opening(), *talk(HELLO)]
    packets += [client(1017, b"", end), server(5001, b"", end), client(1009, HEARTBEAT)]
    assert [row["frame"] for row in rows(make.pcap(packets))] == [HELLO, HEARTBEAT]


@pytest.mark.parametrize("version", ["AMQP\4\1\0\0", "AMQP\0\2\0\0", "AMQP\1\1\x08\1"])
def test_other_protocols_are_counted(version):
    header = version.encode()
    packets = [*opening(), *talk(header, b"\0\0\0\x10" * 9), server(5001, header + bytes(10))]
    octets = make.pcap(packets)
    assert [row["frame"] for row in rows(octets)] == [header, header]
    stats = capture.stats(io.BytesIO(octets))
    assert (stats["other_protocols"], stats["skipped_bytes"]) == (1, 46)


def test_perls_header_is_0_9_1():
    packets = [*opening(), *talk(b"AMQP\1\1\0\x09", HEARTBEAT)]
    assert [row["frame"] for row in rows(make.pcap(packets))][1:] == [HEARTBEAT]


def test_tls():
    hello = b"\x16\3\1\2\0\1" + bytes(200)
    stats = capture.stats(io.BytesIO(make.pcap([*opening(), *talk(hello)])))
    assert (stats["tls_connections"], stats["skipped_bytes"]) == (1, len(hello))
    ends = make.CLIENT, ("10.0.0.2", 5671)
    packets = [
        make.segment(*ends, 1000, b"", SYN),
        make.segment(*reversed(ends), 5000, b"", SYN | make.ACK, 1001),
        make.segment(*ends, 1001, hello),
    ]
    stats = capture.stats(io.BytesIO(make.pcap(packets)))
    assert (stats["tls_connections"], stats["skipped"]) == (1, {"TLS port": 3})


@pytest.mark.parametrize("frame_max", [1, 4096])
def test_frame_max_of_tune_ok(frame_max):
    large = amqp.encode(1, amqp.Body(bytes(5000)))
    tune_ok = amqp.encode(0, amqp.Connection.TuneOk(frame_max=frame_max))
    frame_rows = rows(make.pcap([*opening(), *talk(HELLO, tune_ok, large)]))
    assert "larger than frame_max" in frame_rows[-1]["error"]
    assert rows(make.pcap([*opening(), *talk(HELLO, large)]))[-1]["error"] is None


SECRETS = {
    "start-ok": START_OK,
    "secure-ok": amqp.encode(0, amqp.Connection.SecureOk(response=PASSWORD)),
    "update-secret": amqp.encode(0, amqp.Connection.UpdateSecret(new_secret=PASSWORD, reason="x")),
}


@pytest.mark.parametrize("name", SECRETS)
def test_secrets_are_hidden(name):
    secret = SECRETS[name]
    octets = make.pcap([*opening(), *talk(HELLO, secret, HEARTBEAT)])
    hidden = rows(octets, redact=True)
    assert b"sesame" not in repr(hidden).encode()
    assert hidden[1]["frame"] == secret.replace(PASSWORD, b"*" * len(PASSWORD))
    assert hidden[1]["error"] is None
    assert rows(octets, redact=False)[1]["frame"] == secret


@pytest.mark.parametrize("name", SECRETS)
def test_secrets_are_hidden_in_what_remains(name):
    """With any bytes lost, no row shows what is left of the password."""
    stream = HELLO + SECRETS[name] + HEARTBEAT * 4
    start = stream.index(PASSWORD)
    for at in range(9, start):
        packets = [*opening(), client(1001, stream[:at]), client(1001 + start, stream[start:])]
        frame_rows = rows(make.pcap(packets), redact=True)
        assert not any(b"sesame" in row["frame"] for row in frame_rows), at
        assert sum(row["frame"] == HEARTBEAT for row in frame_rows) == 4
    for at in range(start + 1, start + len(PASSWORD)):
        packets = [*opening(), client(1001, stream[:at])]
        assert not any(b"guest" in row["frame"] for row in rows(make.pcap(packets), redact=True))


def test_reorder_buffer_is_bounded():
    """A hole is given up when too many bytes wait behind it."""
    big = amqp.encode(1, amqp.Body(bytes(60000)))
    packets = [*opening(), *talk(HELLO)]
    packets += talk(*[big] * 150, first=1009 + 100)
    packets += talk(bytes(100), first=1009)
    frame_rows = rows(make.pcap(packets), fields=["flags", "error", "frame_type"])
    assert frame_rows[1]["flags"] == ["gap"]
    assert sum(row["frame_type"] == "body" for row in frame_rows) == 150


def _gzip(octets: bytes) -> Any:
    return io.BytesIO(octets)


def test_gzip_members_and_damage():
    octets = make.pcap([*opening(), *talk(HELLO, *[BODY] * 300)])
    packed = gzip.compress(octets[:1000]) + gzip.compress(octets[1000:])
    expected = rows(octets, fields=["frame", "packet_offset"])
    assert rows(packed, fields=["frame", "packet_offset"]) == expected
    reader = capture.read(_gzip(packed[:-200]), fields=["frame"])
    n = sum(len(batch) for batch in reader)
    assert 1 < n < len(expected)
    assert reader.damaged
    broken = bytearray(packed)
    broken[-300:-290] = b"\xff" * 10
    assert 1 < len(rows(bytes(broken))) <= len(expected)


def test_simple_packets_have_no_time():
    octets = make.section() + make.interface("<", 1) + make.simple("<", client(1, HELLO))
    (row,) = rows(octets)
    assert row["timestamp"] is None


def test_a_record_that_is_none_ends_the_reading():
    octets = make.pcap([*opening(), *talk(HELLO)])
    reader = capture.read(io.BytesIO(octets + struct.pack("<IIII", 1, 1, 2**31, 2**31) + octets))
    assert sum(map(len, reader)) == 1
    assert reader.damaged == f"no record at byte {len(octets)}"


def test_times_beyond_the_calendar_in_python():
    """A batch gives the number of the wire; of pyarrow's own rows the guide has two ways."""
    number = 1_700_000_000_000
    properties = amqp.Basic.Properties(
        timestamp=types.Timestamp(number), headers={"when": types.Timestamp(number)}
    )
    sent = amqp.encode_message(1, amqp.Basic.Publish("", "q"), properties, b"x")
    octets = make.pcap([*opening(), *talk(HELLO, sent)])
    names = ["timestamp", "properties", "properties.timestamp", "headers.when:timestamp"]
    names += ["properties_json", "flags", "error"]
    reader = capture.read(io.BytesIO(octets), level="message", fields=names)
    batches = list(reader)
    row = batches[-1].to_pylist()[-1]
    assert list(row) == names
    for value in (row["properties"]["timestamp"], row[names[2]], row[names[3]]):
        assert (type(value), value) == (types.Timestamp, number)
    assert row["timestamp"].year == 2023
    batch = pa.record_batch(batches[-1])
    with pytest.raises(OverflowError, match="date value out of range"):
        batch.to_pylist()
    assert batch.column(names[2]).cast(pa.int64()).to_pylist()[-1] == number * 10**6
    assert f'{{"$timestamp":{number}}}' in batch.column("properties_json").to_pylist()[-1]
    numpy = pytest.importorskip("numpy")
    column = batches[-1].to_numpy("properties.timestamp")
    assert column[-1] == numpy.datetime64(number, "s")
    with pytest.raises(KeyError, match="no column 'nothing'"):
        batches[-1].to_numpy("nothing")
