"""What Arrow's consumers see of a file that is no capture: the exceptions that iterating raises."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from amqpcodec import capture
from tests.support.recording import pcap

pa = pytest.importorskip("pyarrow")

CONTENTS = {
    "text": b"hello, this is text\n" * 20,
    "nothing": b"",
    "short": b"\xd4\xc3",
    "no packet": pcap([]),
    "cut": pcap([b"x" * 60])[:50],
    "compressed text": gzip.compress(b"hello" * 100),
    "damaged": gzip.compress(pcap([b"x" * 60]))[:30],
}


def raised(read: Any) -> tuple[type[BaseException], str] | None:
    try:
        read()
    except Exception as error:
        return type(error), str(error)
    return None


@pytest.mark.filterwarnings("ignore::amqpcodec.capture.CaptureWarning")
@pytest.mark.parametrize("name", CONTENTS)
def test_a_table_raises_what_iterating_raises(name: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(CONTENTS[name])
    expected = raised(lambda: list(capture.read(path)))
    found = raised(lambda: pa.table(capture.read(path)))
    if name in ("text", "compressed text"):
        assert expected == found == (capture.CaptureError, f"{path}: neither pcap nor pcapng")
    elif expected is None:
        assert found is None
    else:
        assert found is not None
        assert expected[1] in found[1]


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        pa.table(capture.read(tmp_path / "missing.pcap"))


def test_nothing_is_read_before_the_stream_is(tmp_path: Path) -> None:
    path = tmp_path / "good.pcap"
    path.write_bytes(pcap([]))
    reader = capture.read(path)
    reader.__arrow_c_stream__()
    assert list(reader.read(stop=24)) == []
