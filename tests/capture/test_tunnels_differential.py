"""Tunnels and fragments against tshark, where it is installed: the same frames."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from tests.capture.rows import rows
from tests.support import mangle, wrap
from tests.support import recording as make

pytestmark = pytest.mark.skipif(
    shutil.which("tshark") is None, reason="tshark is not here (Debian: tshark)"
)


def by_tshark(path: Path) -> list[tuple[int, int, int]]:
    """(type, channel, bytes of the payload) of every frame."""
    command = ["tshark", "-r", str(path), "-Y", "amqp", "-T", "fields"]
    command += ["-o", "tcp.reassemble_out_of_order:TRUE", "-o", "ip.defragment:TRUE"]
    command += ["-d", "udp.port==8472,vxlan"]
    command += [word for name in ("type", "channel", "length") for word in ("-e", f"amqp.{name}")]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line.split("\t") for line in process.stdout.splitlines()]
    return [
        (int(kind), int(channel), int(size))
        for line in lines
        for kind, channel, size in zip(*(part.split(",") for part in line), strict=True)
        if kind
    ]


def by_us(octets: bytes) -> list[tuple[int, int, int]]:
    """The same of our rows; tshark does not know the protocol header."""
    frames = [row["frame"] for row in rows(octets) if row["frame_type"] != "protocol-header"]
    return [
        (frame[0], int.from_bytes(frame[1:3], "big"), int.from_bytes(frame[3:7], "big"))
        for frame in frames
    ]


#: What tshark shows as data.
UNKNOWN = {"erspan iii, ip", "mpls, pseudowire without control word"}
KNOWN = [name for name in wrap.TUNNELS if name not in UNKNOWN]


@pytest.mark.parametrize("name", KNOWN)
def test_tunnels(parts, name, tmp_path):
    octets = make.pcap(mangle.records(parts, wrap.TUNNELS[name]))
    path = tmp_path / "wrapped.pcap"
    path.write_bytes(octets)
    frames = by_us(octets)
    assert len(frames) > 900
    assert sorted(frames) == sorted(by_tshark(path))


@pytest.mark.parametrize("tunnel", [None, "vxlan", "gre, key"])
def test_fragments(parts, tunnel, tmp_path):
    packets = [part.raw() for part in parts]
    if tunnel is not None:
        packets = [wrap.TUNNELS[tunnel](packet)[14:] for packet in packets]
    octets = make.pcap(map(make.ethernet, wrap.fragmented(packets, 3)))
    path = tmp_path / "fragments.pcap"
    path.write_bytes(octets)
    frames = by_us(octets)
    assert len(frames) > 900
    assert sorted(frames) == sorted(by_tshark(path))
