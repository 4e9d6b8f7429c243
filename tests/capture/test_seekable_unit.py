"""zstd in frames with a table of them is read from the middle; a wrong table is none."""

from __future__ import annotations

import gzip
import io
import random
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")

from amqpcodec import capture  # noqa: E402
from amqpcodec.capture import _files  # noqa: E402
from amqpcodec.capture._seekable import seek_table  # noqa: E402
from tests.support.batches import rows_of  # noqa: E402
from tests.support.capture_variants import DEMO  # noqa: E402
from tests.support.mangle import unpacked  # noqa: E402
from tests.support.seekable import in_frames, lying, seekable  # noqa: E402


@pytest.mark.parametrize("checksums", [False, True])
def test_the_table(checksums: bool) -> None:
    file = io.BytesIO(seekable([b"a" * 100, b"b" * 50, b"", b"c"], checksums))
    file.seek(7)
    table = seek_table(file)
    assert table is not None
    assert file.tell() == 7
    assert table.size == 151
    assert table.unpacked == [0, 100, 150, 150, 151]
    assert [table.frame_of(offset) for offset in (0, 99, 100, 149, 150, 151, 9999)] == [
        0, 0, 1, 1, 3, 3, 3,
    ]  # fmt: skip


def test_what_is_no_table() -> None:
    good = seekable([b"a" * 100, b"b" * 50])
    assert seek_table(io.BytesIO(good)) is not None
    for bad in (
        b"", good[:-1], good[1:], b"\0" + good, good[:-5] + b"\4" + good[-4:],
        good[:-9] + b"\xff\xff\xff\xff" + good[-5:], good[:-9] + bytes(4) + good[-5:],
    ):  # fmt: skip
        assert seek_table(io.BytesIO(bad)) is None


class Counted(io.BytesIO):
    """A file that counts the bytes that are read."""

    read_so_far = 0

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        self.read_so_far += len(data)
        return data


def test_only_the_frames_that_are_wanted_are_read() -> None:
    data = random.Random(1).randbytes(2_000_000)  # as large when packed
    packed = in_frames(data, 50_000)
    for offset in (0, 1, 49_999, 50_000, 1_234_567, len(data) - 1):
        file = Counted(packed)
        assert b"".join(_files.Pieces(file, offset)) == data[offset:]
        assert file.read_so_far < len(data) - offset + 300_000


@pytest.mark.parametrize("table", ["right", "none", "of something else"])
def test_a_reader_goes_on_from_a_state(tmp_path: Path, table: str) -> None:
    data = unpacked(DEMO)
    packed = in_frames(data, 5000)
    if table == "none":
        packed = packed[: packed.rindex(b"\x5e\x2a\x4d\x18")]
    if table == "of something else":
        packed = packed[:-30] + bytes(4) + packed[-26:]
    path = tmp_path / "x.pcap.zst"
    path.write_bytes(packed)

    def rows(reader: Any) -> list[dict[str, Any]]:
        return rows_of(reader)

    first = capture.Reader(path, order="none")
    first_rows = rows(first.read(stop=50_001))
    second = capture.Reader(path, order="none")
    second.resume(first.state())
    assert first_rows + rows(second) == rows(capture.Reader(path, order="none"))
    assert len(first_rows) > 100


@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize("size", [0, 1, 300])
@pytest.mark.parametrize("frame", [0, 3])
def test_a_table_that_is_wrong_is_told(tmp_path: Path, column: int, size: int, frame: int) -> None:
    data = unpacked(DEMO)
    path = tmp_path / "x.pcap.zst"
    path.write_bytes(lying(in_frames(data, 3000), column, frame, size))
    good = tmp_path / "y.pcap"
    good.write_bytes(data)
    reader = capture.Reader(path, fields=["packet_offset", "frame"])
    rows = rows_of(reader)
    plain_reader = capture.Reader(good, fields=["packet_offset", "frame"])
    assert rows == rows_of(plain_reader)
    assert "wrong about the frame at byte" in (reader.damaged or "")
    reader = capture.Reader(path)
    for _ in reader.read(stop=10_000):
        pass
    with pytest.raises(capture.StateError, match="its table of frames is wrong"):
        reader.state()


@pytest.mark.parametrize("parts", [[b""], [b"", b""]])
def test_empty_frames_are_an_empty_file(parts: list[bytes]) -> None:
    packed = [seekable(parts), pa.compress(b"", "zstd", asbytes=True), gzip.compress(b"")]
    for data in [b"", *packed]:
        assert [len(batch) for batch in capture.read(io.BytesIO(data))] == []
        assert capture.stats(io.BytesIO(data))["packets"] == 0


def test_a_window_beyond_what_can_be_read_is_the_reason() -> None:
    zstandard = pytest.importorskip("zstandard")
    parameters = zstandard.ZstdCompressionParameters(window_log=31, enable_ldm=True)
    stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    data = stream.compress(unpacked(DEMO)) + stream.flush()
    with pytest.raises(capture.CaptureError, match=r"larger window than 128 MiB.*--long=31"):
        list(capture.read(io.BytesIO(data)))
