"""Connections over TLS, read with their keys: every frame, as if there had been no TLS."""

from __future__ import annotations

import io
import json
import ssl
import struct
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import capture
from amqpcodec.capture import _layers
from amqpcodec.capture._layers import KeyLog, _derived, _keylog, _state, _suites, _tls
from amqpcodec.capture._outline import Part, apply_outlines, make_outline
from tests.capture.rows import rows
from tests.support import recording as make
from tests.support import v1_talk
from tests.support.plain_talk import TALK, message
from tests.support.recording import packets
from tests.support.tls_records import (
    secrets_block,
    tls10_record,
    with_secrets,
    with_wrong_secrets,
    without_labels,
)
from tests.support.tls_talk import CLIENT, SERVER, Payloads, Talker, split_segments

pytest.importorskip("cryptography")

TLS12, TLS13 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
SUITES12 = [
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-ECDSA-AES128-CCM",
    "ECDHE-ECDSA-AES256-CCM8",
    "ECDHE-ECDSA-AES128-SHA",
    "ECDHE-ECDSA-AES256-SHA",
    "ECDHE-ECDSA-AES128-SHA256",
    "ECDHE-ECDSA-AES256-SHA384",
]


def frames(octets: bytes, **options: Any) -> list[tuple[str, bytes]]:
    """(direction, frame) of each row. An error fails."""
    frame_rows = rows(octets, **options)
    assert [row["error"] for row in frame_rows if row["error"]] == []
    return [(row["direction"], row["frame"]) for row in frame_rows]


def stats(octets: bytes, **options: Any) -> dict[str, Any]:
    return capture.stats(io.BytesIO(octets), **options)


EXPECTED = frames(make.pcap(packets(TALK)))


@pytest.mark.parametrize("ciphers", [None, *SUITES12])
@pytest.mark.parametrize("sizes", [(1 << 20,), (1448,), (7, 300)])
def test_every_suite(ciphers: str | None, sizes: Sequence[int]):
    talker = Talker(TLS13 if ciphers is None else TLS12, ciphers)
    octets = make.pcap(packets(split_segments(talker.talk(TALK), sizes)))
    assert ciphers is None or talker.cipher == ciphers
    assert frames(octets, keylog=talker.keys) == EXPECTED
    counters = stats(octets, keylog=talker.keys)
    assert (counters["tls_connections"], counters["tls_decrypted"], counters["tls_reasons"]) == (
        1,
        1,
        {},
    )
    assert (counters["skipped_bytes"], counters["errors"]) == (0, 0)


def test_suites_are_those_of_the_registry():
    """All that OpenSSL knows of AES and ChaCha20, and what its names say of each."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_ciphers("ALL:@SECLEVEL=0")
    suites = set()
    for cipher in context.get_ciphers():
        name, bits = cipher["name"], cipher["alg_bits"]
        if "AES" not in name and "CHACHA20" not in name:
            continue
        suite = _suites.SUITES[cipher["id"] & 0xFFFF]
        suites.add(suite)
        assert suite.key * 8 == bits, name
        assert ("GCM" in name) == (suite.cipher == "gcm"), name
        assert ("CCM8" in name) == (suite.cipher == "ccm_8"), name
        assert ("CHACHA20" in name) == (suite.cipher == "chacha20"), name
        assert name.endswith("SHA384") == ("sha384" in (suite.mac or suite.prf)), name
    assert len(suites) >= 7


def test_rows_stand_where_the_last_packet_of_their_record_is():
    talker = Talker()
    payloads = split_segments(talker.talk(TALK), (500,))
    octets = make.pcap(packets(payloads))
    frame_rows = rows(
        octets, keylog=talker.keys, fields=["packet", "direction", "frame", "timestamp_ns"]
    )
    body = next(row for row in frame_rows if len(row["frame"]) > 20_000)
    spans = 0
    for number, (side, data) in enumerate(payloads, 3):
        spans += len(data) * (side == CLIENT)
        if number == body["packet"]:
            break
    assert spans > 16_384  # the record with its first byte is complete there
    assert body["timestamp_ns"] == make.START_NS // 1000 * 1000 + (body["packet"] - 1) * 1_000_000
    places = {(row["packet"], row["direction"]) for row in frame_rows}
    assert len(places) > 4


@pytest.mark.parametrize("version", [TLS12, TLS13])
@pytest.mark.parametrize("tickets", [True, False])
def test_resumed_sessions(version: ssl.TLSVersion, tickets: bool):
    talker = Talker(version, tickets=tickets)
    first = talker.talk(TALK)
    later = talker.talk(TALK)
    assert talker.resumed
    octets = make.pcap(packets(first) + packets(later, client=40001))
    assert sorted(frames(octets, keylog=talker.keys)) == sorted(EXPECTED * 2)


@pytest.mark.parametrize("tickets", [True, False])
def test_a_resumed_session_of_1_2_needs_the_key_of_its_first_handshake_alone(tickets: bool):
    talker = Talker(TLS12, tickets=tickets)
    first = talker.talk(TALK)
    keys = talker.keys
    later = talker.talk(TALK)
    assert talker.resumed
    octets = make.pcap(packets(first) + packets(later, client=40001))
    assert sorted(frames(octets, keylog=keys)) == sorted(EXPECTED * 2)
    assert stats(make.pcap(packets(later)), keylog=keys)["tls_reasons"] == {_derived.NO_KEY: 2}


@pytest.mark.parametrize("tickets", [True, False])
def test_a_server_hello_that_was_captured_before_the_client_hello(tickets: bool):
    """As where several taps record, or packets come out of order: the session is resumed, too."""
    talker = Talker(TLS12, tickets=tickets)
    first = packets(talker.talk(TALK))
    keys = talker.keys
    later = packets(talker.talk(TALK), client=40001)
    assert talker.resumed
    for conversation in (first, later):
        conversation[2], conversation[3] = conversation[3], conversation[2]
    octets = make.pcap(first + later)
    assert sorted(frames(octets, keylog=keys)) == sorted(EXPECTED * 2)
    assert stats(octets, keylog=keys)["tls_reasons"] == {}


def test_a_resumed_session_without_its_client_hello_is_counted():
    talker = Talker(TLS12)
    first = packets(talker.talk(TALK))
    later = packets(talker.talk(TALK), client=40001)
    assert talker.resumed
    del later[2]
    octets = make.pcap(first + later)
    assert rows(octets, keylog=talker.keys, fields=["connection_index", "method"])
    counters = stats(octets, keylog=talker.keys)
    assert (counters["tls_connections"], counters["tls_decrypted"]) == (2, 1)
    assert set(counters["tls_reasons"]) == {_tls.NO_HANDSHAKE}


def test_a_key_log_without_the_secrets_of_the_handshake():
    talker = Talker()
    octets = make.pcap(packets(talker.talk(TALK)))
    keys = without_labels(talker.keys, b"CLIENT_HANDSHAKE", b"SERVER_HANDSHAKE")
    assert frames(octets, keylog=keys) == EXPECTED


def test_a_key_log_of_one_direction():
    talker = Talker()
    octets = make.pcap(packets(talker.talk(TALK)))
    keys = without_labels(talker.keys, b"SERVER_TRAFFIC_SECRET_0")
    assert frames(octets, keylog=keys) == [
        expected_frame for expected_frame in EXPECTED if expected_frame[0] == "client"
    ]
    counters = stats(octets, keylog=keys)
    assert (counters["tls_decrypted"], counters["tls_reasons"]) == (1, {_derived.NO_KEY: 1})
    assert counters["skipped_bytes"] > 0


@pytest.mark.parametrize("version", [TLS12, TLS13])
def test_the_other_direction_comes_first(version: ssl.TLSVersion):
    """The server's packets stand before or after all of the client's, as of two taps."""
    talker = Talker(version)
    payloads = split_segments(talker.talk(TALK), (900,))
    for side in (CLIENT, SERVER):
        turned = sorted(payloads, key=lambda payload: payload[0] != side)
        captured_frames = frames(make.pcap(packets(turned)), keylog=talker.keys)
        assert sorted(captured_frames) == sorted(EXPECTED)


def test_segments_out_of_order():
    talker = Talker()
    sent = packets(split_segments(talker.talk(TALK), (700,)))
    for at in range(2, len(sent) - 1, 2):
        sent[at], sent[at + 1] = sent[at + 1], sent[at]
    assert sorted(frames(make.pcap(sent), keylog=talker.keys)) == sorted(EXPECTED)


@pytest.mark.parametrize("version", [TLS12, TLS13])
@pytest.mark.parametrize("seed", range(6))
def test_what_is_after_a_gap(version: ssl.TLSVersion, seed: int):
    """One segment is missing: all messages but those that it holds come out."""
    heartbeats = [(CLIENT, message(300, f"k{number}")) for number in range(60)]
    talker = Talker(version)
    payloads = split_segments(talker.talk(TALK[:1] + heartbeats, close=False), (1 << 20,))
    sent = packets([segment for part in payloads for segment in split_segments([part], (211,))])
    data = [at for at, segment in enumerate(sent) if len(segment) > 200]
    del sent[data[len(data) // 3 + 5 * seed]]
    frame_rows = rows(make.pcap(sent), keylog=talker.keys)
    keys = [row["arguments"] for row in frame_rows if row["method"] == "basic.publish"]
    assert len(keys) >= 57
    assert any("gap" in row["flags"] for row in frame_rows)
    count = stats(make.pcap(sent), keylog=talker.keys)
    assert (count["tls_decrypted"], count["tls_reasons"]) == (1, {})
    assert count["lost_bytes"] >= 211


@pytest.mark.parametrize("version", [TLS12, TLS13])
def test_many_records_are_missing(version: ssl.TLSVersion):
    talker = Talker(version)
    many = [(CLIENT, message(50, f"k{number}")) for number in range(90)]
    sent = packets(talker.talk(TALK[:1] + many, close=False))
    del sent[-60:-10]
    frame_rows = rows(make.pcap(sent), keylog=talker.keys)
    assert sum(row["method"] == "basic.publish" for row in frame_rows) == 40
    assert sum("gap" in row["flags"] and row["frame"] == b"" for row in frame_rows) == 1


@pytest.mark.parametrize("version", [TLS12, TLS13])
def test_the_handshake_was_not_captured(version: ssl.TLSVersion):
    talker = Talker(version)
    sent = packets(talker.talk(TALK, close=False))
    octets = make.pcap(sent[-4:])
    counters = stats(octets, keylog=talker.keys)
    assert set(counters["tls_reasons"]) == {_tls.NO_HANDSHAKE}
    assert counters["errors"] == 0
    assert rows(octets, keylog=talker.keys) == []


def test_one_way():
    talker = Talker()
    sent = packets([payload for payload in talker.talk(TALK) if payload[0] == CLIENT])
    counters = stats(make.pcap(sent), keylog=talker.keys)
    assert counters["tls_reasons"] == {_tls.NO_HANDSHAKE: 1}
    assert counters["skipped_bytes"] > 40_000


@pytest.mark.parametrize("keylog", [None, b"", b"CLIENT_RANDOM " + b"ab" * 32 + b" " + b"cd" * 48])
def test_no_key(keylog: bytes | None):
    payloads = Talker().talk(TALK)
    counters = stats(make.pcap(packets(payloads)), keylog=keylog)
    assert counters["tls_reasons"] == {_derived.NO_KEY if keylog else _derived.NO_LOG: 2}
    assert counters["skipped_bytes"] == sum(len(data) for _, data in payloads)
    assert (counters["tls_connections"], counters["tls_decrypted"], counters["errors"]) == (1, 0, 0)


def test_another_key():
    talker, other = Talker(TLS12), Talker(TLS12)
    payloads = talker.talk(TALK)
    other.talk(TALK)
    random = talker.keys.split()[-2]
    keys = b" ".join([b"CLIENT_RANDOM", random, other.keys.split()[-1]])
    assert stats(make.pcap(packets(payloads)), keylog=keys)["tls_reasons"] == {_tls.UNREADABLE: 2}


@pytest.mark.parametrize("version", [TLS12, TLS13])
@pytest.mark.parametrize("times", [0, 1, 6])
@pytest.mark.parametrize("close", [True, False])
def test_wrong_secrets_are_the_reason(version: ssl.TLSVersion, times: int, close: bool):
    """However few records there are."""
    talker = Talker(version)
    payloads = talker.talk(TALK[:2] + TALK[2:] * times, close=close)
    counters = stats(make.pcap(packets(payloads)), keylog=with_wrong_secrets(talker.keys))
    assert counters["tls_reasons"] == {_tls.UNREADABLE: 2}
    assert counters["tls_decrypted"] == 0
    assert rows(make.pcap(packets(payloads)), keylog=with_wrong_secrets(talker.keys)) == []


@pytest.mark.parametrize("version", [TLS12, TLS13])
@pytest.mark.parametrize("order", ["before", "after", "both"])
def test_a_line_with_another_secret_of_the_same_connection(version: ssl.TLSVersion, order: str):
    """The records say which line is right."""
    talker = Talker(version)
    octets = make.pcap(packets(talker.talk(TALK)))
    before = with_wrong_secrets(talker.keys) if order != "after" else b""
    after = with_wrong_secrets(talker.keys).replace(b"0", b"1") if order != "before" else b""
    keys = before + talker.keys + after
    assert frames(octets, keylog=keys) == EXPECTED
    assert stats(octets, keylog=keys)["tls_reasons"] == {}


def test_trying_records_is_bounded_for_a_direction(monkeypatch: pytest.MonkeyPatch):
    """Not for each gap: 200 gaps with places that look like records were 800,000 tries."""
    calls = [0]
    opened = _suites.Aead13.open

    def count(self: Any, *arguments: Any) -> bytes | None:
        calls[0] += 1
        return opened(self, *arguments)

    monkeypatch.setattr(_suites.Aead13, "open", count)
    talker = Talker(TLS13)
    payloads = talker.talk(TALK, close=False)
    sent = packets(payloads)
    place = 1001 + sum(len(data) for side, data in payloads if side == CLIENT)
    answered = 5001 + sum(len(data) for side, data in payloads if side == SERVER)
    junk = (b"\x17\x03\x03\x00\x20" + bytes(32)) * 18
    for _ in range(200):
        place += 60_000
        sent.append(make.client(place, junk))
        place += len(junk)
        sent.append(make.server(answered, b"", make.ACK, place))
    counters = stats(make.pcap(sent), keylog=talker.keys)
    size = sum(map(len, sent))
    assert calls[0] < (_tls.TRIAL_START + _tls.TRIAL_RATIO * size) // _tls.TRIAL_CALL + 100
    assert counters["tls_reasons"] == {_tls.TOO_MANY_TRIALS: 1}


def test_the_tls_port_is_read_where_there_are_keys():
    talker = Talker()
    octets = make.pcap(packets(talker.talk(TALK), port=5671))
    assert frames(octets, keylog=talker.keys) == EXPECTED
    counters = stats(octets)
    assert (counters["tls_connections"], set(counters["skipped"])) == (1, {"TLS port"})


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("port", [5671, 5672])
def test_keys_in_the_file(order: str, port: int):
    talker = Talker()
    sent = packets(talker.talk(TALK), port=port)
    blocks = [make.enhanced(order, 0, 10**9 + at, packet) for at, packet in enumerate(sent)]
    head = [make.section(order), make.interface(order, 1)]
    octets = b"".join([*head, secrets_block(talker.keys, order), *blocks])
    assert frames(octets) == EXPECTED
    other = b"".join([*head, secrets_block(talker.keys, order, kind=0x5353484B), *blocks])
    assert stats(other)["tls_decrypted"] == 0
    cut_short = b"".join([*head, make.block(order, 10, struct.pack(order + "II", 0x544C534B, 99))])
    assert "no record" in stats(cut_short)["files"][0]["damaged"]


def test_tls_after_the_header_of_amqp_1_0():
    talker = Talker()
    client, server = v1_talk.client_says(), v1_talk.server_says()
    payloads: Payloads = [(CLIENT, v1_talk.TLS), (SERVER, v1_talk.TLS)]
    payloads += talker.talk([(CLIENT, client), (SERVER, server)])
    frame_rows = rows(make.pcap(packets(split_segments(payloads, (100,)))), keylog=talker.keys)
    assert [row["error"] for row in frame_rows if row["error"]] == []
    for direction, expected in (("client", client), ("server", server)):
        sent = [row["frame"] for row in frame_rows if row["direction"] == direction]
        assert sent == [v1_talk.TLS, *v1_talk.frames_of(expected)]


def test_credentials_are_hidden_inside():
    talker = Talker()
    octets = make.pcap(packets(split_segments(talker.talk(TALK), (33,))))
    assert b"sesame" in repr(rows(octets, keylog=talker.keys)).encode()
    assert b"sesame" not in repr(rows(octets, keylog=talker.keys, redact=True)).encode()


def test_messages():
    talker = Talker()
    octets = make.pcap(packets(talker.talk(TALK)))
    message_rows = rows(octets, keylog=talker.keys, level="message")
    assert [len(row["body"]) for row in message_rows if row["method"] == "basic.publish"] == [
        40_000,
        10,
    ]


# ---- states ----


def in_two(
    octets: bytes, path: Path, stop: int, keys: bytes | None, **seal: Any
) -> tuple[list, bytes]:
    """Rows of a capture that two readers read, and the state between them."""
    path.write_bytes(octets)
    rows: list[Any] = []
    options: dict[str, Any] = {
        "keylog": keys,
        "redact": False,
        "fields": ["direction", "frame", "error"],
    }
    reader = capture.Reader(path, **options)
    for batch in reader.read(stop=stop):
        rows += capture_rows(batch)
    state = reader.state(**seal)
    assert state == reader.state(**seal)
    reader = capture.Reader(path, **options)
    reader.resume(state, **{name: value for name, value in seal.items() if name == "key"})
    for batch in reader:
        rows += capture_rows(batch)
    return rows, state


def capture_rows(batch: Any) -> list[tuple[str, bytes]]:
    import pyarrow as pa

    table = pa.record_batch(batch).to_pylist()
    assert [row["error"] for row in table if row["error"]] == []
    return [(row["direction"], row["frame"]) for row in table]


@pytest.mark.parametrize(
    "ciphers", [None, "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-AES128-SHA"]
)
def test_states(tmp_path: Path, ciphers: str | None):
    """Wherever the reading was interrupted, all goes on; and no key is in any state."""
    talker = Talker(TLS13 if ciphers is None else TLS12, ciphers)
    sent = packets(split_segments(talker.talk(TALK[:3] + TALK[4:]), (180,)))
    octets = make.pcap(sent)
    secret = [bytes.fromhex(line.split()[2].decode()) for line in talker.keys.splitlines()[1:]]
    expected = frames(make.pcap(packets(TALK[:3] + TALK[4:])))
    at = 24
    for packet in sent:
        at += 16 + len(packet)
        rows, state = in_two(octets, tmp_path / "x.pcap", at, talker.keys)
        assert rows == expected
        for key in secret:
            assert key not in state
            assert key.hex().encode() not in state


def test_a_state_without_the_key_log(tmp_path: Path):
    talker = Talker()
    sent = packets(split_segments(talker.talk(TALK), (500,)))
    path = tmp_path / "x.pcap"
    path.write_bytes(make.pcap(sent))
    reader = capture.Reader(path, keylog=talker.keys)
    stop = 24 + sum(16 + len(packet) for packet in sent[: len(sent) // 2])
    for _ in reader.read(stop=stop):
        pass
    state = reader.state()
    reader = capture.Reader(path)
    reader.resume(state)
    for _ in reader:
        pass
    assert reader.stats()["tls_reasons"] == {_derived.NO_LOG: 2}


@pytest.mark.parametrize("ciphers", [None, "ECDHE-ECDSA-AES256-GCM-SHA384"])
@pytest.mark.parametrize("port", [5671, 5672])
def test_states_have_the_secrets_of_files(tmp_path: Path, ciphers: str | None, port: int):
    """The next reader begins after their block."""
    talker = Talker(TLS13 if ciphers is None else TLS12, ciphers)
    octets, ends = with_secrets(talker, port, (180,))
    expected = frames(make.pcap(packets(TALK[:3] + TALK[4:])))
    for at in ends:
        assert in_two(octets, tmp_path / "x.pcapng", at, None)[0] == expected
    assert in_two(octets, tmp_path / "x.pcapng", ends[1], None)[1].count(b"CLIENT_") == 0


def test_secrets_of_one_file_open_the_next_one(tmp_path: Path):
    talker = Talker()
    octets, ends = with_secrets(talker, 5671, (180,))
    one, two = tmp_path / "1.pcapng", tmp_path / "2.pcapng"
    at = ends[len(ends) // 2]
    one.write_bytes(octets[:at])
    two.write_bytes(octets[: ends[1]] + octets[at:])
    options: dict[str, Any] = {"files": "rotation", "redact": False}
    fields = ["direction", "frame", "error"]
    both = capture.Reader([one, two], fields=fields, **options)
    expected = [row for batch in both for row in capture_rows(batch)]
    assert len(expected) == 10
    first = capture.Reader([one], fields=fields, **options)
    rows = [row for batch in first.read(end=False) for row in capture_rows(batch)]
    second = capture.Reader([two], fields=fields, **options)
    second.resume(first.state())
    rows += [row for batch in second for row in capture_rows(batch)]
    assert rows == expected
    # What outlined the second file alone had no keys: it left the port out.
    before = capture.Reader([one, two], fields=fields, **options)
    for _ in before.read((1, 0)):
        pass
    part_outline = make_outline(
        capture.Reader([one, two], fields=fields, **options), Part(1, 0, None), 1 << 30
    )
    assert part_outline is not None
    assert not apply_outlines(before, [(Part(1, 0, None), part_outline)])


def test_secrets_of_files_stay_with_their_reader(monkeypatch: pytest.MonkeyPatch):
    talker = Talker()
    octets = with_secrets(talker, 5672, (1000,))[0]
    keys = KeyLog(b"")
    assert stats(octets, keylog=keys)["tls_decrypted"] == 1
    assert repr(keys) == "<KeyLog of 0 secrets>"
    assert not keys
    lines = {"secrets": [], "reasons": {}, "websockets": 0, "sessions": [], "connections": {}}
    monkeypatch.setattr(_state, "KEPT_SECRETS", 10)
    for wrong in ({}, "x", 1, [""] * 11):
        state = json.dumps({**lines, "secrets": wrong}).encode()
        with pytest.raises(ValueError, match="damaged"):
            _layers.Layers().load(state)


def test_states_of_one_direction_over_tls():
    """Of a version that is not read: the other one, which was not captured, is left out as well."""
    hello = b"\2\0\0\x26\3\1" + bytes(32) + b"\0\0\x2f\0"
    octets = make.pcap([make.server(5000, b"", make.SYN), make.server(5001, tls10_record(hello))])
    reader = capture.Reader(io.BytesIO(octets))
    for _ in reader.read(stop=len(octets)):
        pass
    again = capture.Reader(io.BytesIO(octets))
    again.resume(reader.state())
    assert list(again) == []
    assert again.stats()["tls_reasons"] == {_tls.NO_VERSION: 2}


# ---- key logs ----


def test_key_logs_of_all_kinds(tmp_path: Path):
    talker = Talker()
    octets = make.pcap(packets(talker.talk(TALK)))
    path = tmp_path / "keys.log"
    path.write_bytes(talker.keys)
    lines = talker.keys.decode().splitlines()
    for keylog in (path, str(path), talker.keys, lines, iter(lines), talker.keys.splitlines()):
        assert frames(octets, keylog=keylog) == EXPECTED
    with pytest.raises(OSError, match="absent"):
        capture.read(io.BytesIO(octets), keylog=tmp_path / "absent")
    with pytest.raises(TypeError, match="a path, bytes or lines, not int"):
        capture.read(io.BytesIO(octets), keylog=7)  # type: ignore[arg-type]


def test_bad_lines_are_told_by_number_alone():
    talker = Talker()
    octets = make.pcap(packets(talker.talk(TALK)))
    secret = "c0ffee" * 11
    lines = ["# a comment", "", f"CLIENT_RANDOM {secret}", "EXPORTER_SECRET 1 2", "NONE_SUCH 1 2"]
    with pytest.warns(capture.CaptureWarning, match=r"that are no secrets: 3, 5$") as warning_list:
        captured_frames = frames(octets, keylog=[*lines, *talker.keys.decode().splitlines()])
    assert captured_frames == EXPECTED
    assert "c0ffee" not in str(warning_list[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        capture.read(io.BytesIO(octets), keylog=talker.keys)


def test_a_key_log_that_grows(tmp_path: Path):
    """As of a live recording: the client writes its secrets while it is read."""
    talker = Talker()
    octets = make.pcap(packets(talker.talk(TALK)))
    path = tmp_path / "keys.log"
    path.write_bytes(b"# nothing yet\n")
    reader = capture.read(io.BytesIO(octets), keylog=path, fields=["direction", "frame", "error"])
    path.write_bytes(talker.keys)
    assert sum(len(batch) for batch in reader) == len(EXPECTED)


def test_no_more_than_four_secrets_for_the_same_thing():
    log = KeyLog([f"CLIENT_RANDOM {0:064x} {number % 7:096x}" for number in range(100)])
    expected = tuple(number.to_bytes(48, "big") for number in range(4))
    assert log.find("CLIENT_RANDOM", bytes(32)) == expected
    assert len(log.lines()) == 4


def test_what_a_key_log_grows_by_is_read_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    talker = Talker()
    talker.talk(TALK)
    lines = [line + b"\n" for line in talker.keys.splitlines() if not line.startswith(b"#")]
    path = tmp_path / "keys.log"
    path.write_bytes(b"# a comment\n" * 10_000 + lines[0][:-9])
    log = KeyLog(path)
    line_sizes: list[int] = []
    lines_of = KeyLog._lines_of

    def watch(self: KeyLog, file: Any) -> Any:
        for line in lines_of(self, file):
            line_sizes.append(len(line))
            yield line

    monkeypatch.setattr(KeyLog, "_lines_of", watch)
    with path.open("ab") as file:  # the end of the line that was not complete, and all others
        file.write(lines[0][-9:] + b"".join(lines[1:]))
    labels = [(line.split()[0].decode(), bytes.fromhex(line.split()[1].decode())) for line in lines]
    for label, random in labels:
        assert log.find(label, random) or "EXPORTER" in label
    assert sum(line_sizes) == sum(map(len, lines))
    assert log.bad_lines == []


def test_a_key_log_that_was_written_anew(tmp_path: Path):
    """In place, and longer than before: nothing of it is passed over."""
    talker = Talker()
    octets = make.pcap(packets(talker.talk(TALK)))
    path = tmp_path / "keys.log"
    path.write_bytes(b"# a comment\n" * 3)
    log = KeyLog(path)
    path.write_bytes(talker.keys)
    assert frames(octets, keylog=log) == EXPECTED
    path.write_bytes(b"# gone\n")
    assert frames(octets, keylog=log) == EXPECTED  # what was read is known


def test_the_newest_secrets_of_files_are_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_keylog, "KEPT", 100)
    keys = _keylog.Keys()
    for number in range(1000):
        keys.bring([f"CLIENT_RANDOM {number:064x} {number:096x}"])
    assert repr(keys.brought) == "<KeyLog of 100 secrets>"
    assert keys.find("CLIENT_RANDOM", (899).to_bytes(32, "big")) == ()
    assert keys.find("CLIENT_RANDOM", (900).to_bytes(32, "big")) == ((900).to_bytes(48, "big"),)


def test_a_key_log_shows_no_secret():
    talker = Talker()
    talker.talk(TALK)
    reader = capture.Reader(io.BytesIO(), keylog=talker.keys)
    assert "keylog" not in repr(vars(reader))
    assert repr(KeyLog(talker.keys)) == "<KeyLog of 4 secrets>"


def test_without_cryptography(monkeypatch: pytest.MonkeyPatch):
    talker = Talker()
    sent = packets(talker.talk(TALK))
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(ImportError, match=r"amqpcodec\[crypto\]"):
        capture.read(io.BytesIO(make.pcap(sent)), keylog=talker.keys)
    blocks = [make.enhanced("<", 0, 10**9 + at, packet) for at, packet in enumerate(sent)]
    head = [make.section("<"), make.interface("<", 1), secrets_block(talker.keys)]
    counters = stats(b"".join([*head, *blocks]))
    assert counters["tls_reasons"] == {_layers.NO_PACKAGE: 2}


@pytest.mark.parametrize("size", [1 << 16, 3])
def test_after_a_proxy(size: int):
    """A balancer says whom it speaks for before TLS begins."""
    talker = Talker()
    line = b"PROXY TCP4 192.0.2.7 10.0.0.2 55000 5671\r\n"
    octets = make.pcap(packets(split_segments([(CLIENT, line), *talker.talk(TALK)], (size,))))
    assert frames(octets, keylog=talker.keys) == EXPECTED
    assert stats(octets, keylog=talker.keys)["proxied_connections"] == 1


def test_columns_that_threads_make(tmp_path: Path):
    talker = Talker()
    path = tmp_path / "x.pcap"
    path.write_bytes(make.pcap(packets(split_segments(talker.talk(TALK), (700,)))))
    options: dict[str, Any] = {"keylog": talker.keys, "redact": False, "batch_rows": 2}
    reader = capture.read(path, workers=3, fields=["direction", "frame", "error"], **options)
    assert [row for batch in reader for row in capture_rows(batch)] == EXPECTED


def test_two_taps(tmp_path: Path):
    """Each misses what the other one has; both have their own order."""
    talker = Talker()
    sent = make.records(packets(split_segments(talker.talk(TALK), (300,))))
    paths = [tmp_path / "1.pcap", tmp_path / "2.pcap"]
    for number, path in enumerate(paths):
        path.write_bytes(
            make.pcap([record for at, record in enumerate(sent) if at % 5 != number + 2])
        )
    fields = ["direction", "frame", "error"]
    reader = capture.read(paths, files="taps", keylog=talker.keys, redact=False, fields=fields)
    assert [row for batch in reader for row in capture_rows(batch)] == EXPECTED
