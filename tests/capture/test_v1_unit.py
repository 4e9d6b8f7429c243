"""Captures of AMQP 1.0: every frame, whatever happened to its packets."""

from __future__ import annotations

import gzip
import io
import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqpcodec import capture
from amqpcodec import v1_0 as v1
from tests.capture.rows import rows, streams
from tests.paths import shared_dir
from tests.support import mangle
from tests.support import recording as make
from tests.support.batches import rows_of
from tests.support.v1_talk import (
    AMQP,
    RECORDINGS,
    SASL,
    TLS,
    both_families,
    client_says,
    frames_of,
    init,
    old_message,
    opening,
    parts_of,
    path_of,
    server_says,
    talk,
    transfer,
)

pa = pytest.importorskip("pyarrow")

COUNTS = {"rabbit": {"client": 26, "server": 27}, "tx": {"client": 34, "server": 45}}


@pytest.fixture(scope="module", params=RECORDINGS)
def name(request: Any) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def parts(name: str) -> list[mangle.Part]:
    return parts_of(name)


@pytest.fixture(scope="module")
def expected_frames(parts: list[mangle.Part], name: str) -> dict[tuple[str, str], list[bytes]]:
    frames_by_stream = streams(make.pcap(mangle.records(parts)))
    assert {side: len(frames) for (_, side), frames in frames_by_stream.items()} == COUNTS[name]
    return frames_by_stream


# ---- the recordings


@pytest.mark.parametrize("protocol", [None, "1.0"])
def test_frames_of_the_oracle(name: str, protocol: str | None) -> None:
    shared = shared_dir()
    if shared is None:
        pytest.skip("the oracles are not beside the repository")
    oracle = shared / "captures" / "oracle" / f"amqp10_{name}.frames.json.gz"
    expected = defaultdict(list)
    for frame in json.loads(gzip.decompress(oracle.read_bytes())):
        side = {"C": "client", "S": "server"}[frame["from"]]
        expected[side].append((frame["hex"], frame.get("performative")))
    frames_by_side = defaultdict(list)
    for row in rows(path_of(name).read_bytes(), ports=(RECORDINGS[name],), protocol=protocol):
        assert row["error"] is None
        assert row["flags"] == []
        method = row["method" if protocol is None else "performative"]
        frames_by_side[row["direction"]].append((row["frame"].hex(), method))
    assert frames_by_side == expected


@pytest.mark.parametrize("size", [1, 7])
def test_tiny_segments(parts, expected_frames, size) -> None:
    assert streams(make.pcap(mangle.records(list(mangle.split(parts, size))))) == expected_frames


@pytest.mark.parametrize("protocol", [None, "1.0"])
@pytest.mark.parametrize("seed", range(3))
def test_reordered_repeated_wrapped(parts, expected_frames, seed, protocol) -> None:
    items = mangle.repeated(list(mangle.split(mangle.wrapped(parts), 300)), seed)
    octets = make.pcap(mangle.records(mangle.shuffled(items, seed)))
    assert streams(octets, protocol=protocol) == expected_frames


@pytest.mark.parametrize("syn", [True, False])
@pytest.mark.parametrize("side", ["client", "server"])
def test_one_direction(parts, expected_frames, side, syn) -> None:
    selected_parts = [part for part in parts if part.from_client == (side == "client")]
    selected_parts = [part for part in selected_parts if syn or not part.flags & make.SYN]
    expected = {key: frames for key, frames in expected_frames.items() if key[1] == side}
    assert streams(make.pcap(mangle.records(selected_parts))) == expected


@pytest.mark.parametrize("protocol", [None, "1.0"])
@pytest.mark.parametrize("seed", range(25))
def test_gaps(parts, expected_frames, seed, protocol) -> None:
    rng = random.Random(seed)
    items = list(mangle.split(parts, rng.choice([20, 50, 300, 1400])))
    loss = rng.choice([0.002, 0.02, 0.2])
    surviving_parts = [part for part in items if part.flags & make.SYN or rng.random() >= loss]
    octets = make.pcap(mangle.records(surviving_parts))
    assert streams(octets, protocol=protocol) == mangle.survivors(expected_frames, surviving_parts)


def test_begun_anywhere(parts, expected_frames) -> None:
    """Whatever packets come first: every frame that begins behind them, and nothing else."""
    for first in range(3, len(parts), 3):
        expected = {}
        for (client, side), frames in expected_frames.items():
            missed = sum(len(part.data) for part in parts[:first]
                         if part.from_client == (side == "client"))  # fmt: skip
            at, later_frames = 0, []
            for frame in frames:
                if at >= missed:
                    later_frames.append(frame)
                at += len(frame)
            if later_frames:
                expected[client, side] = later_frames
        assert streams(make.pcap(mangle.records(parts[first:]))) == expected


@pytest.mark.parametrize("seed", range(3))
def test_reading_in_pieces(tmp_path: Path, parts, seed) -> None:
    rng = random.Random(seed)
    items = [p for p in mangle.split(parts, 90) if p.flags & make.SYN or rng.random() > 0.03]
    octets = make.pcap(mangle.records(mangle.shuffled(items, seed)))
    path = tmp_path / "x.pcap"
    path.write_bytes(octets)

    def read(reader: Any, stop: int | None = None) -> list[Any]:
        return rows_of(reader.read(stop))

    for protocol in (None, "1.0"):
        expected = read(capture.Reader(path, protocol=protocol, order="none"))
        rows, state = [], None
        for stop in [*sorted(rng.randrange(len(octets)) for _ in range(12)), None]:
            reader = capture.Reader(path, protocol=protocol, order="none")
            if state is not None:
                reader.resume(state)
            rows += read(reader, stop)
            if stop is not None:
                state = reader.state()
        assert rows == expected
        assert reader.stats() == _read_all_stats(path, protocol)
    with pytest.raises(ValueError, match="state"):
        capture.Reader(path, protocol="0-9-1").resume(state)


def _read_all_stats(path: Path, protocol: str | None) -> dict[str, Any]:
    reader = capture.Reader(path, protocol=protocol, order="none")
    assert sum(map(len, reader)) > 0
    return reader.stats()


def test_a_chain_of_files(tmp_path: Path, parts, expected_frames) -> None:
    packets = mangle.records(list(mangle.split(parts, 100)))
    paths = []
    for at in range(0, len(packets), 7):
        paths.append(tmp_path / f"cap{at}.pcap")
        paths[-1].write_bytes(make.pcap(packets[at : at + 7]))
    frames_by_side = defaultdict(list)
    for batch in capture.read(paths, redact=False):
        for row in pa.record_batch(batch).to_pylist():
            if row["error"] is None:
                frames_by_side[row["direction"]].append(row["frame"])
    assert dict(frames_by_side) == {side: frames for (_, side), frames in expected_frames.items()}


# ---- which protocol a connection speaks


def test_pipelined_headers() -> None:
    frame_rows = rows(make.pcap(talk(client_says(), server_says())))
    for side, payload in (("client", client_says()), ("server", server_says())):
        assert [r["frame"] for r in frame_rows if r["direction"] == side] == frames_of(payload)
    assert [row["error"] for row in frame_rows] == [None] * len(frame_rows)
    kinds = [row["frame_type"] for row in frame_rows if row["direction"] == "client"]
    assert kinds[:4] == ["protocol-header", "sasl", "protocol-header", "amqp"]
    assert [r["frame_type"] for r in frame_rows if r["direction"] == "server"].count(
        "heartbeat"
    ) == 3


def test_both_families_in_one_capture() -> None:
    octets = both_families()
    frame_rows = rows(octets)
    for index in range(4):
        mine = [row for row in frame_rows if row["connection_index"] == index]
        assert [row["error"] for row in mine] == [None] * len(mine)
        methods = [row["method"] for row in mine if row["method"]]
        if index % 2:
            assert methods == 20 * ["basic.publish"]
        else:
            assert [row["frame"] for row in mine] == frames_of(client_says())
            assert methods.count("transfer") == 20
            assert [json.loads(row["arguments"])["delivery_id"] for row in mine
                    if row["method"] == "transfer"] == list(range(20))  # fmt: skip
    batches = [pa.record_batch(batch) for batch in capture.read(io.BytesIO(octets), batch_rows=5)]
    assert {batch.schema for batch in batches} == {pa.schema(capture.schema())}
    stats = capture.stats(io.BytesIO(octets))
    assert stats["versions"] == {"0-9-1": 2, "1.0": 2}
    assert (stats["methods"]["transfer"], stats["methods"]["basic.publish"]) == (40, 40)
    assert stats["frames"] == {
        **{"method": 40, "header": 40, "body": 40, "protocol-header": 6},
        **{"amqp": 2 * 26, "sasl": 2},
    }
    assert (stats["other_protocols"], stats["errors"]) == (0, 0)


def test_tls_is_left_out() -> None:
    hello = b"\x16\3\1\2\0\1" + bytes(500)
    octets = make.pcap(talk(TLS + hello, TLS + hello, size=100))
    assert [row["frame"] for row in rows(octets)] == [TLS, TLS]
    stats = capture.stats(io.BytesIO(octets))
    assert (stats["tls_connections"], stats["skipped_bytes"]) == (1, 2 * len(hello))
    assert (stats["other_protocols"], stats["versions"]) == (0, {})


def test_tls_that_is_refused() -> None:
    packets = [*talk(TLS, SASL), make.client(1009, client_says())]
    frames = [row["frame"] for row in rows(make.pcap(packets))]
    assert frames == [TLS, SASL, *frames_of(client_says())]


@pytest.mark.parametrize("refusal", [AMQP, SASL, b"AMQP\0\0\x09\x01"])
def test_a_server_that_speaks_another_version(refusal: bytes) -> None:
    for header in (b"AMQP\0\0\x09\x01", SASL, AMQP):
        frame_rows = rows(make.pcap(talk(header, refusal)))
        assert [row["frame"] for row in frame_rows] == [header, refusal]
        assert [row["error"] for row in frame_rows] == [None, None]


def test_a_line_before_the_header() -> None:
    line = b"PROXY TCP4 10.0.0.1 10.0.0.2 40000 5672\r\n"
    frame_rows = rows(make.pcap(talk(line + client_says())))
    assert [row["frame"] for row in frame_rows] == frames_of(client_says())


def test_midstream_octets_that_look_like_the_other_family() -> None:
    """Frames inside of bodies: the connection speaks what its own frames say."""
    inside = b"".join(frames_of(client_says())[4:])
    old = b"".join(old_message(b"x" * k + inside) for k in range(4))
    for offset in (0, 40, 300):
        frame_rows = rows(make.pcap(make.segments(old[offset:], 300, first=7_000_000)))
        assert {row["method"] for row in frame_rows if row["method"]} == {"basic.publish"}
    new = b"".join(transfer(b"x" * k + 9 * old_message(), k) for k in range(20))
    for offset in (0, 50, 300):
        frame_rows = rows(make.pcap(make.segments(new[offset:], 300, first=7_000_000)))
        assert {row["method"] for row in frame_rows if row["method"]} == {"transfer"}


def test_midstream_of_much() -> None:
    """A stream that goes on for long is read before it ends."""
    payload = b"".join(transfer(bytes(1000), k) for k in range(400))
    frame_rows = rows(make.pcap(make.segments(payload[500:], 1400, first=7_000_000)))
    assert [row["frame"] for row in frame_rows[1:]] == frames_of(payload)[1:]
    assert frame_rows[0]["flags"] == ["truncated", "midstream"]


# ---- frames that are not as they should be


def test_frames_larger_than_agreed() -> None:
    large = transfer(bytes(5000))
    client = AMQP + opening(70_000) + large + transfer(b"", 1)
    frame_rows = rows(make.pcap(talk(client, AMQP + opening(4096) + large)))
    assert [row["error"] for row in frame_rows] == [None] * len(frame_rows)
    assert [row["flags"] for row in frame_rows if row["frame"] == large] == [["oversize"], []]
    assert sum(map(bool, (row["flags"] for row in frame_rows))) == 1
    token = init(bytes(600))
    frame_rows = rows(make.pcap(talk(SASL + token + AMQP + opening())))
    assert [row["flags"] for row in frame_rows] == [[], ["oversize"], [], []]
    assert [row["error"] for row in frame_rows] == [None] * 4


@pytest.mark.parametrize(
    "bad",
    [b"\0\0\0\7\2\0\0\0", b"\0\0\0\x0c\1\0\0\0abcd", b"\0\0\0\x0c\4\0\0\0abcd", b"\x7fnoframe"],
)
def test_octets_that_are_no_frame(bad: bytes) -> None:
    client = AMQP + opening() + bad + transfer(b"", 1) + transfer(b"", 2)
    frame_rows = rows(make.pcap(talk(client)))
    assert [row["frame"] for row in frame_rows] == [*frames_of(AMQP + opening()), bad,
                                               transfer(b"", 1), transfer(b"", 2)]  # fmt: skip
    assert [row["error"] is None for row in frame_rows] == [True, True, False, True, True]
    assert frame_rows[3]["flags"] == ["resync"]


def test_frames_whose_content_is_wrong_stay_in_place() -> None:
    odd = b"\0\0\0\x0c\2\7\0\1abcd"
    unknown = b"\0\0\0\x0c\2\0\0\1\0\x53\x77\x45"
    extended = b"\0\0\0\x10\3\0\0\5abcd\0\x53\x17\x45"
    frame_rows = rows(make.pcap(talk(AMQP + opening() + odd + unknown + extended + transfer(b""))))
    assert [row["frame"] for row in frame_rows[2:]] == [odd, unknown, extended, transfer(b"")]
    assert [row["method"] for row in frame_rows[1:]] == ["open", None, None, "end", "transfer"]
    assert "frame type 7" in frame_rows[2]["error"]
    assert "no performative has the descriptor 0x77" in frame_rows[3]["error"]
    assert [row["channel"] for row in frame_rows[2:]] == [1, 1, 5, 0]
    stats = capture.stats(io.BytesIO(make.pcap(talk(AMQP + opening() + odd))))
    assert stats["frames"] == {"protocol-header": 1, "amqp": 1, "undefined": 1}


# ---- credentials

SECRET = b"\0guest\0hunter2"


def test_credentials_are_hidden() -> None:
    response = v1.encode(0, v1.SaslResponse(response=b"hunter2"))
    challenge = v1.encode(0, v1.SaslChallenge(challenge=b"nonce"))
    octets = make.pcap(talk(SASL + init() + response + AMQP + opening(), SASL + challenge))
    for protocol in (None, "1.0"):
        for level in ("frame", "message"):
            frame_rows = rows(octets, protocol=protocol, level=level, redact=True)
            assert "hunter2" not in repr(frame_rows)
            assert [row["error"] for row in frame_rows] == [None] * len(frame_rows)
            if level == "frame":
                assert "PLAIN" in repr(frame_rows)
                assert "nonce" not in repr(frame_rows)
            shown = rows(octets, protocol=protocol, level=level, fields=["frame"])
            assert b"hunter2" in b"".join(row["frame"] for row in shown)
    assert rows(octets, redact=True)[1]["frame"] == init().replace(SECRET, b"*" * len(SECRET))


def test_credentials_in_pieces_are_hidden() -> None:
    """Whatever is missing around them."""
    payload = SASL + init() + AMQP + opening()
    for start in range(len(payload)):
        for first, last in ((1001, start), (1001 + start, len(payload))):
            at = first - 1001
            packets = [
                *make.opening(),
                make.client(first, payload[at:last]),
                make.client(1900, opening()),
            ]
            frame_rows = rows(make.pcap(packets), redact=True)
            shown = b"".join(row["frame"] for row in frame_rows)
            assert b"hunter" not in shown
            assert b"unter2" not in shown or start > len(payload) - len(opening())
            assert any(row["method"] == "open" for row in frame_rows)


def test_credentials_in_odd_frames_are_hidden() -> None:
    body = init()[8:]
    forms = [
        bytes([0, 0, 0, len(init()) + 4, 3, 1, 0, 0]) + b"abcd" + body,  # an extended header
        init()[:5] + b"\0" + init()[6:],  # the other layer's type
        bytes([0, 0, 0, len(init()) + 7, 2, 1, 0, 0]) + b"\0\x80" + bytes(7) + b"\x41" + body[3:],
        init()[:3] + bytes([len(init()) + 3]) + init()[4:] + b"\0\0\0",  # bytes behind
    ]
    for form in forms:
        for octets in (
            make.pcap(talk(SASL + form + AMQP)),
            make.pcap(talk(AMQP + form + opening())),
        ):
            frame_rows = rows(octets, redact=True)
            assert b"hunter" not in b"".join(row["frame"] for row in frame_rows), form
            assert "hunter" not in repr(frame_rows)


# ---- anything else


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=12), st.integers(0, 40)), max_size=8),
    st.integers(1, 700),
)
def test_damage_of_any_kind(damage: list[tuple[float, bytes, int]], size: int) -> None:
    payload = bytearray(client_says())
    for place, put, drop in damage:
        at = 8 + int(place * (len(payload) - 8))
        payload[at : at + drop] = put
    if b"AMQP" in payload[8:].replace(AMQP, b"", 1):
        return  # another header may say that something else follows
    for protocol in (None, "1.0"):
        packets = talk(bytes(payload), server_says(), size)
        frame_rows = rows(make.pcap(packets), protocol=protocol)
        mine = [row["frame"] for row in frame_rows if row["direction"] == "client"]
        assert b"".join(mine) == payload
        assert [r["frame"] for r in frame_rows if r["direction"] == "server"] == frames_of(
            server_says()
        )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2000), st.binary(max_size=40), st.integers(0, 31))))
def test_segments_of_any_kind(segments: list[tuple[int, bytes, int]]) -> None:
    packets = [
        *talk(SASL + init() + AMQP),
        *(make.client(1001 + at, *arguments) for at, *arguments in segments),
    ]
    for protocol in (None, "1.0"):
        for batch in capture.read(io.BytesIO(make.pcap(packets)), protocol=protocol):
            pa.record_batch(batch).validate(full=True)


def test_names_of_both_families(name: str) -> None:
    octets = path_of(name).read_bytes()
    fields = ["method", "error", "packet"]
    frame_rows = rows(octets, ports=(RECORDINGS[name],), fields=fields)
    v1_rows = rows(octets, ports=(RECORDINGS[name],), protocol="1.0", fields=["method", "handle"])
    assert [row["method"] for row in frame_rows] == [row["method"] for row in v1_rows]
    assert any(row["handle"] is not None for row in v1_rows)
    assert any(row["handle"] == 0 for row in v1_rows)
