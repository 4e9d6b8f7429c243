"""Limits of the bytes that a compressed file becomes, in all and by its size."""

from __future__ import annotations

import gzip
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")

from amqpcodec import capture  # noqa: E402
from amqpcodec.capture import _limits  # noqa: E402
from amqpcodec.capture._files import Pieces  # noqa: E402
from amqpcodec.capture._limits import Unpacking  # noqa: E402
from tests.paths import REPO  # noqa: E402
from tests.support.batches import rows_of  # noqa: E402
from tests.support.mangle import unpacked  # noqa: E402
from tests.support.seekable import in_frames  # noqa: E402

DATA = unpacked(REPO / "demo" / "kombu_celery.pcap.gz")

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "gzip in members": lambda data: gzip.compress(data[:5000]) + gzip.compress(data[5000:]),
    "zstd": lambda data: pa.compress(data, "zstd", asbytes=True),
    "zstd in frames": lambda data: in_frames(data, 20_000),
    "lz4": lambda data: pa.compress(data, "lz4", asbytes=True),
}
packers = pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)


def without_name(source: bytes, **how: Any) -> capture.Reader:
    fields = ["packet_offset", "position", "frame", "error"]
    return capture.Reader(io.BytesIO(source), fields=fields, **how)


@packers
@pytest.mark.parametrize("workers", [1, 2])
def test_bytes(pack: Callable[[bytes], bytes], workers: int) -> None:
    """What comes before the limit is read as of a file that is cut there."""
    packed = pack(DATA)
    for most in (100, 30_000, len(DATA) - 1):
        reader = without_name(packed, max_decompressed_bytes=most, workers=workers)
        with pytest.warns(capture.CaptureWarning, match="a capture: the compressed file becomes"):
            frame_rows = rows_of(reader)
        assert frame_rows == rows_of(without_name(DATA[:most]))
        at = reader.offset
        assert reader.damaged == (
            f"the compressed file becomes larger than max_decompressed_bytes={most} allows,"
            f" after byte {at}"
        )
        assert most - 70_000 < at <= most
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reader = without_name(packed, max_decompressed_bytes=len(DATA), workers=workers)
        assert rows_of(reader) == rows_of(without_name(DATA))
        assert reader.damaged is None


@packers
def test_a_ratio_of_what_was_read(
    pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No byte more is unpacked, whatever else the file has: the same of one twice as large."""
    monkeypatch.setattr(_limits, "UNPACKED_START", 1000)
    for size in (1 << 22, 1 << 23):
        packed = pack(bytes(size))
        for ratio in (1, 20):
            pieces = Pieces(io.BytesIO(packed), unpacking=Unpacking(max_compression_ratio=ratio))
            with pytest.warns(
                capture.CaptureWarning, match=f"larger than max_compression_ratio={ratio} "
            ):
                decompressed_size = sum(len(piece) for piece in pieces)
            assert decompressed_size == pieces.unpacked <= 1000 + ratio * len(packed)
            assert pieces.fault is not None
        for unbound in (
            Unpacking(max_compression_ratio=0),
            Unpacking(max_compression_ratio=1 << 16),
        ):
            pieces = Pieces(io.BytesIO(packed), unpacking=unbound)
            assert sum(len(piece) for piece in pieces) == size
            assert pieces.fault is None


def test_the_default_stops_what_no_recording_reaches() -> None:
    """2 GB of zeros, of which those are not unpacked that no capture of packets has room for."""
    step = pa.compress(bytes(1 << 28), "zstd", asbytes=True)
    packed = step * 8
    pieces = Pieces(io.BytesIO(packed))
    with pytest.warns(capture.CaptureWarning, match="max_compression_ratio=16384"):
        decompressed_size = sum(len(piece) for piece in pieces)
    assert decompressed_size <= (1 << 26) + (1 << 14) * len(packed) < 1 << 31


def test_the_lower_limit_is_told() -> None:
    limits = Unpacking(5000, 3)
    assert limits.of(0) == (5000, "max_decompressed_bytes")
    assert Unpacking(1 << 30, 3).of(10) == ((1 << 26) + 30, "max_compression_ratio")
    assert Unpacking(0, 0).of(1 << 40) is None


def two(folder: Path) -> list[Path]:
    """The same packets; the second file is no copy: it has another sigfigs, which readers skip."""
    paths = [folder / "a.pcap.zst", folder / "b.pcap.zst"]
    for path, unused in zip(paths, (0, 1), strict=True):
        path.write_bytes(PACKERS["zstd"](DATA[:12] + bytes([unused]) + DATA[13:]))
    return paths


@pytest.mark.filterwarnings("ignore::amqpcodec.capture.CaptureWarning")
@pytest.mark.parametrize("files", ["auto", "rotation", "separate", "taps"])
def test_several_files(tmp_path: Path, files: Any) -> None:
    """Looking at files for their order and their links has the same limits as reading them."""
    paths = two(tmp_path)
    with warnings.catch_warnings(record=True) as caught_warnings:
        warnings.simplefilter("always")
        reader = capture.Reader(paths, files=files, max_decompressed_bytes=30_000)
        for _ in reader:
            pass
    messages = [
        str(warning.message)
        for warning in caught_warnings
        if "max_decompressed_bytes=30000" in str(warning.message)
    ]
    looked = 1 if files == "auto" else 0
    for path in paths:
        assert len([text for text in messages if text.startswith(f"{path}: ")]) == 1 + looked
        assert f"{path}: the compressed file becomes larger" in (reader.damaged or "")
    counted = capture.stats(paths, files=files, max_decompressed_bytes=30_000)
    assert counted["packets"] == reader.stats()["packets"]
    assert counted["packets"] < capture.stats(paths, files=files)["packets"]


@pytest.mark.parametrize("pack", ["zstd", "zstd in frames"])
def test_a_reader_goes_on_to_the_same_limit(tmp_path: Path, pack: str) -> None:
    path = tmp_path / "x.pcap.zst"
    path.write_bytes(PACKERS[pack](DATA))
    truncated_reader = without_name(DATA[:70_000], order="none")
    limits = {"fields": ["packet_offset", "position", "frame", "error"], "order": "none"}
    first = capture.Reader(path, max_decompressed_bytes=70_000, **limits)  # type: ignore[arg-type]
    frame_rows = rows_of(first.read(stop=45_000))
    second = capture.Reader(path, max_decompressed_bytes=70_000, **limits)  # type: ignore[arg-type]
    second.resume(first.state())
    with pytest.warns(capture.CaptureWarning):
        assert frame_rows + rows_of(second) == rows_of(truncated_reader)
    assert "max_decompressed_bytes=70000" in (second.damaged or "")
