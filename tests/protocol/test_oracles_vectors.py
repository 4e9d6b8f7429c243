"""Every recorded 0-9-1 frame decodes to what the reference says and encodes back to its bytes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import amqpcodec
from amqpcodec import v0_9_1 as amqp
from tests.paths import shared_dir
from tests.reference import Malformed, decode_frame
from tests.support.bridge import check

SHARED = shared_dir()
pytestmark = pytest.mark.skipif(SHARED is None, reason="no shared folder beside the repository")

# File and number of frames: a file that shrinks or is not found must not pass.
FILES = {
    "aiopika.pcapng": 2392,
    "kombu_celery.pcap": 1000,
    "perl_anyevent.pcap": 185,
    "pika_mtu1500.pcap": 3486,
    "pika_nano.pcap": 73,
    "pika_ops.pcap": 3719,
    "raw_alltypes.pcap": 225,
    "raw_errors.pcap": 143,
}

# The frames that are malformed on purpose: (stream, direction, number) -> error class. Found by
# the reference and read by eye; everything that is not listed here must decode.
MALFORMED: dict[str, dict[tuple[int, str, int], str]] = {
    "raw_alltypes.pcap": {
        (9, "c2s", 7): "UnknownTagError",  # C in the headers
        (10, "c2s", 5): "UnknownTagError",  # C in queue.declare's arguments
        (13, "c2s", 7): "UnknownTagError",  # N in the headers
        (14, "c2s", 5): "UnknownTagError",  # N in queue.declare's arguments
    },
    "raw_errors.pcap": {
        (0, "c2s", 5): "FrameEndError",  # 0xcd
        (3, "c2s", 5): "TruncatedError",  # queue.declare with a queue name of 32 bytes, 3 there
        (5, "c2s", 5): "UnknownMethodError",  # class 99, method 99
        (6, "c2s", 5): "FrameTypeError",  # type 9
        (8, "c2s", 5): "HeartbeatError",  # on channel 1
        (10, "c2s", 6): "HeaderError",  # content header of class 50
    },
}


def frames(name: str) -> Iterator[tuple[tuple[int, str, int], bytes]]:
    assert SHARED is not None
    path = SHARED / "captures" / "oracle" / f"{name}.jsonl.gz"
    with gzip.open(path, "rt", encoding="ascii") as lines:
        for line in lines:
            row = json.loads(line)
            yield (row["stream"], row["dir"], row["n"]), bytes.fromhex(row["hex"])


def test_every_oracle_is_run() -> None:
    assert SHARED is not None
    names = {
        Path(p).name.removesuffix(".jsonl.gz")
        for p in (SHARED / "captures" / "oracle").glob("*.jsonl.gz")
    }
    assert names == set(FILES)


@pytest.mark.parametrize("tables", ["plain", "typed"])
@pytest.mark.parametrize("name", FILES)
def test_frames(name: str, tables: str) -> None:
    malformed = dict(MALFORMED.get(name, {}))
    wrong: list[Any] = []
    count = 0
    for key, data in frames(name):
        count += 1
        error = malformed.pop(key, None)
        try:
            if error is not None:
                check_bad(data, error, tables)
            else:
                check_good(data, tables)
        except (AssertionError, amqpcodec.DecodeError, amqpcodec.EncodeError) as problem:
            wrong.append((key, data[:40].hex(), repr(problem)[:300]))
    assert not wrong, (len(wrong), wrong[:5])
    assert count == FILES[name]
    assert not malformed


def check_good(data: bytes, tables: str) -> None:
    want = decode_frame(data)
    assert want is not None
    consumed, channel, got = amqp.decode(data, tables=tables)
    assert (consumed, channel) == want[:2] == (len(data), channel)
    assert amqp.encode(channel, got) == data
    check(got, want[2], tables=tables)
    assert amqp.encode(channel, got) == data


def check_bad(data: bytes, error: str, tables: str) -> None:
    with pytest.raises(Malformed) as theirs:
        decode_frame(data)
    assert theirs.value.kind == error
    with pytest.raises(amqpcodec.DecodeError) as ours:
        amqp.decode(data, tables=tables)
    assert type(ours.value) is getattr(amqpcodec.errors, error)
    assert ours.value.reply_code == theirs.value.reply_code


@pytest.mark.parametrize("name", FILES)
def test_streams(name: str) -> None:
    """Each direction of each connection through one decoder: bad frames are data, no byte lost."""
    streams: dict[tuple[int, str], list[tuple[bytes, str | None]]] = {}
    for key, data in frames(name):
        error = MALFORMED.get(name, {}).get(key)
        streams.setdefault(key[:2], []).append((data, error))
    assert streams
    for stream in streams.values():
        stream_bytes = b"".join(data for data, _ in stream)
        decoder = amqp.Decoder(frame_max=0, errors="frame")
        # Pieces of an odd size, so that frames are cut everywhere.
        got = decoder_frames(
            decoder, [stream_bytes[i : i + 1021] for i in range(0, len(stream_bytes), 1021)]
        )
        for data, error in stream:
            if error == "FrameEndError":
                with pytest.raises(amqpcodec.errors.FrameEndError):
                    next(got)
                break
            channel, frame = next(got)
            if error is not None:
                assert type(frame) is amqp.BadFrame
                assert type(frame.error) is getattr(amqpcodec.errors, error)
                assert bytes(frame.raw) == data
            else:
                assert amqp.encode(channel, frame) == data
        else:
            assert next(got, None) is None
            decoder.eof()


def decoder_frames(decoder: Any, pieces: list[bytes]) -> Iterator[tuple[int, Any]]:
    for piece in pieces:
        yield from decoder.feed(piece)
