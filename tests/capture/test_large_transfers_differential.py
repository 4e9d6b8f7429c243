"""Transfers of up to a megabyte against tshark, where it is installed: the same frames."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from amqpcodec import v1_0 as amqp
from tests.capture.rows import rows
from tests.support import recording as make

pytestmark = pytest.mark.skipif(
    shutil.which("tshark") is None, reason="tshark is not here (Debian: tshark)"
)

TRANSFER = "20"  # 0x14


def recorded(size: int, segment: int) -> bytes:
    """Five transfers with so many bytes of data, in segments of this size."""
    frames = [amqp.PROTOCOL_HEADER, amqp.encode(0, amqp.Open("c", max_frame_size=1 << 21))]
    for number in range(5):
        transfer = amqp.Transfer(handle=0, delivery_id=number, delivery_tag=b"t", message_format=0)
        frames.append(amqp.encode(0, transfer, amqp.Message(data=[bytes(size)]).encode()))
    stream = b"".join(frames)
    pieces = [stream[at : at + segment] for at in range(0, len(stream), segment)]
    return make.pcap(make.packets((0, piece) for piece in pieces))


@pytest.mark.parametrize("segment", [1448, 60_000])
@pytest.mark.parametrize("size", [1_000, 66_000, 1_000_000])
def test_large_transfers(size: int, segment: int, tmp_path: Path) -> None:
    data = recorded(size, segment)
    ours = [int.from_bytes(row["frame"][:4]) for row in rows(data) if row["method"] == "transfer"]
    assert len(ours) == 5
    path = tmp_path / "large.pcap"
    path.write_bytes(data)
    command = ["tshark", "-n", "-r", str(path), "-Y", "amqp", "-T", "fields"]
    command += ["-e", "amqp.performative", "-e", "amqp.length"]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    shown = (line.split("\t") for line in process.stdout.splitlines())
    theirs = [
        int(length, 0)
        for kinds, lengths in shown
        for kind, length in zip(kinds.split(","), lengths.split(","), strict=True)
        if kind == TRANSFER
    ]
    assert theirs == ours
