"""Compressed files with damage: all that was decompressed before it becomes rows."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from random import Random

import pytest

from amqpcodec import capture
from amqpcodec import v0_9_1 as amqp
from tests.support import recording as make

pa = pytest.importorskip("pyarrow")

NOISE = Random(7)
MANY = [amqp.encode(1, amqp.Body(NOISE.randbytes(900))) for _ in range(1200)]
BODIES = MANY[:60]
FLAT = [amqp.encode(1, amqp.Body(bytes(900)))] * 60


def compressed(codec: str) -> Callable[[bytes], bytes]:
    return lambda data: pa.compress(data, codec, asbytes=True)


CODECS = {"gzip": gzip.compress, "zstd": compressed("zstd"), "lz4": compressed("lz4")}


def frames_in(data: bytes) -> int:
    """How many frames a file has that ends so."""
    return sum(len(batch) for batch in capture.read(io.BytesIO(data), fields=["method"]))


def read(data: bytes) -> tuple[int, str | None]:
    """(rows, what is said of the damage)"""
    reader = capture.read(io.BytesIO(data), fields=["frame"])
    rows = sum(len(batch) for batch in reader)
    return rows, reader.damaged


@pytest.mark.parametrize("bodies", [BODIES, FLAT], ids=["noise", "flat"])
@pytest.mark.parametrize("codec", CODECS)
def test_what_stands_before_a_damaged_part(codec: str, bodies: list[bytes]) -> None:
    """A second member or frame that is none, in the same block of the file."""
    data = make.pcap([*make.opening(), *make.talk(amqp.PROTOCOL_HEADER, *bodies)])
    middle = len(data) // 2
    first, second = CODECS[codec](data[:middle]), CODECS[codec](data[middle:])
    assert read(first + second) == (61, None)
    for damage in (b"\0\1\2\3" + second[4:], b"X", second[:4] + b"\xff" * 200):
        rows, damaged = read(first + damage)
        assert rows == frames_in(data[:middle]) > 20
        assert damaged is not None


@pytest.mark.parametrize("codec", CODECS)
def test_blocks_before_damage_within_a_part(codec: str) -> None:
    """Several blocks of a part, and one that is damaged or cut."""
    data = make.pcap([*make.opening(), *make.talk(amqp.PROTOCOL_HEADER, *MANY)])
    compressed = CODECS[codec](data)
    for end in (len(compressed) // 3, len(compressed) - 500):
        truncated_rows, damaged = read(compressed[:end])
        assert damaged is not None
        zeroed_rows, damaged = read(compressed[:end] + bytes(len(compressed) - end))
        if codec != "lz4":  # which has no checksum here, and zeros may be bytes like others
            assert damaged is not None
        for rows in (truncated_rows, zeroed_rows):
            # At most a block of 256 KiB (zstd: 128) is not complete, and packets of 1 KB.
            assert rows >= 1200 * end // len(compressed) - 300


def test_every_byte_before_damage_of_gzip() -> None:
    """Also where only the checksum at the end of a member is wrong."""
    data = make.pcap([*make.opening(), *make.talk(amqp.PROTOCOL_HEADER, *BODIES)])
    compressed = gzip.compress(data)
    reader = capture.read(io.BytesIO(compressed[:-8] + b"\0" * 8), fields=["frame"])
    assert sum(len(batch) for batch in reader) == 61
    assert reader.damaged == f"the compressed file is damaged or cut, after byte {len(data)}"


def test_padding_after_gzip() -> None:
    """Zeros are none of it; other bytes are damage."""
    compressed = gzip.compress(
        make.pcap([*make.opening(), *make.talk(amqp.PROTOCOL_HEADER, *BODIES)])
    )
    assert read(compressed + bytes(100_000)) == (61, None)
    assert read(compressed + bytes(10) + compressed[:0]) == (61, None)
    rows, damaged = read(compressed + bytes(10) + b"rest")
    assert (rows, damaged is not None) == (61, True)


class Pipe(io.RawIOBase):
    """A file that does not seek."""

    def __init__(self, data: bytes) -> None:
        self._file = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, room: memoryview) -> int:  # type: ignore[override]
        return self._file.readinto(room)


def test_a_damaged_file_that_does_not_seek() -> None:
    """It is read up to about the damage, and says so."""
    compressed = CODECS["zstd"](
        make.pcap([*make.opening(), *make.talk(amqp.PROTOCOL_HEADER, *MANY)])
    )
    reader = capture.read(Pipe(compressed[: len(compressed) // 2]), fields=["frame"])
    assert 0 < sum(len(batch) for batch in reader) < 620
    assert reader.damaged is not None
