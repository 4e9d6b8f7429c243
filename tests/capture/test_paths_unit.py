"""Files, folders and globs of this machine, alike wherever captures are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import capture
from tests.paths import REPO

pa = pytest.importorskip("pyarrow")

RECORDING = REPO / "demo" / "kombu_celery.pcap.gz"
ROWS = 1000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Captures in folders, and what is none in hidden files."""
    below = tmp_path / "day" / "night"
    below.mkdir(parents=True)
    for name in ("day/a.pcap.gz", "day/b[1].pcap.gz", "day/night/c.pcap.gz"):
        (tmp_path / name).write_bytes(RECORDING.read_bytes())
    (tmp_path / "day" / "_SUCCESS").write_text("no capture")
    (tmp_path / "day" / ".hidden").write_text("no capture")
    (tmp_path / "empty").mkdir()
    return tmp_path


def read(source: Any) -> int:
    """capture.read"""
    return sum(map(len, capture.read(source, fields=["method"], files="separate")))


def dataset(source: Any) -> int:
    """capture.dataset"""
    return int(capture.dataset(source, fields=["method"], files="separate").to_table().num_rows)


def scan(source: Any) -> int:
    """scan_captures"""
    polars = pytest.importorskip("polars")
    from amqpcodec.polars import scan_captures

    frame = scan_captures(source, fields=["method"], files="separate")
    return int(frame.select(polars.len()).collect().item())


def counted(source: Any) -> int:
    """capture.stats"""
    return sum(capture.stats(source, files="separate")["frames"].values())


FACES = [read, dataset, scan, counted]


@pytest.mark.filterwarnings("ignore::amqpcodec.capture.CaptureWarning")
@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize(
    ("path", "files"),
    [
        ("day", 2),
        ("day/*.gz", 2),
        ("day/{a,b?1?,x}.pcap.gz", 2),
        ("day/b[1].pcap.gz", 1),
        ("**/*.gz", 3),
        ("*/night", 1),
        ("da[xy]/n*", 1),
    ],
)
def test_files_folders_and_globs(
    folder: Path, face: Callable[[Any], int], path: str, files: int
) -> None:
    for source in (folder / path, str(folder / path), [f"file://{folder}/{path}"]):
        assert face(source) == files * ROWS


@pytest.mark.filterwarnings("ignore::amqpcodec.capture.CaptureWarning")
@pytest.mark.parametrize("face", FACES)
def test_a_file_that_is_named_again_is_read_once(folder: Path, face: Callable[[Any], int]) -> None:
    assert face([folder / "day/a.pcap.gz", folder / "day", f"{folder}/day/[!_]*"]) == 3 * ROWS


@pytest.mark.parametrize("face", FACES)
def test_a_glob_of_nothing_and_an_empty_folder(folder: Path, face: Callable[[Any], int]) -> None:
    for name in ("day/*.zst", "empty", "missing.pcap", "missing/*"):
        with pytest.raises(FileNotFoundError, match=name.replace("*", r"\*")):
            face(folder / name)


def test_what_is_missing_is_refused_at_once(folder: Path) -> None:
    for name in ("missing.pcap", "*.zst", "empty"):
        with pytest.raises(FileNotFoundError):
            capture.dataset(folder / name)
        with pytest.raises(FileNotFoundError):
            capture.dataset([folder / "day", folder / name])
        pytest.importorskip("polars")
        from amqpcodec.polars import scan_captures

        with pytest.raises(FileNotFoundError):
            scan_captures(folder / name)
    with pytest.raises(FileNotFoundError):
        capture.dataset("memory://nowhere/x.pcap")


def test_names_of_files_of_a_folder(folder: Path) -> None:
    reader = capture.read(folder / "day", files="separate")
    assert reader.files == [str(folder / "day" / name) for name in ("a.pcap.gz", "b[1].pcap.gz")]
    assert "files" in reader.stats()  # as of several
    assert capture.read(folder / "day" / "a.pcap.gz").files == [str(folder / "day" / "a.pcap.gz")]


def test_a_single_port() -> None:
    for ports in (5672, (5672,), [5672, 5673], {5672}):
        assert sum(map(len, capture.read(RECORDING, ports=ports))) == ROWS
        assert capture.stats(RECORDING, ports=ports)["frames"]["method"]
        assert capture.dataset(RECORDING, ports=ports).count_rows() == ROWS
    for wrong in (0, 65536, True, "5672"):
        with pytest.raises(ValueError, match="ports are numbers from 1 to 65535"):
            capture.read(RECORDING, ports=wrong)  # type: ignore[arg-type]
